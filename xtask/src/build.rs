//! The `.wasm` and its glue: cargo, wasm-bindgen, wasm-opt.

use std::path::{Path, PathBuf};
use std::{env, fs};

use anyhow::{bail, Context, Result};
use wasm_bindgen_cli_support::Bindgen;

use crate::shell::{available, cargo, command, digest, npm_ci, output, root, run, target};

const TARGET: &str = "wasm32-unknown-unknown";

/// Builds `target/wasm/{counterfoil_bg.wasm, counterfoil.js}` and gives their folder. The two slow steps after cargo are
/// left out while the linked module and the tools are the same.
pub fn wasm() -> Result<PathBuf> {
    let linked = compile()?;
    npm_ci(&root())?;
    let out = target().join("wasm");
    let stamp = out.join("stamp");
    let want = digest([
        fs::read(&linked)?,
        fs::read(root().join("package-lock.json"))?,
        include_bytes!("build.rs").to_vec(),
    ]);
    if !fs::read_to_string(&stamp).is_ok_and(|have| have == want) {
        let _ = fs::remove_dir_all(&out);
        bind(&linked, &out)?;
        optimise(&out.join("counterfoil_bg.wasm"))?;
        fs::write(stamp, want)?;
    }
    Ok(out)
}

/// The same bytes on every machine: paths of the builder are taken out of the panic locations.
fn compile() -> Result<PathBuf> {
    add_target()?;
    let home = cargo_home()?;
    let flags = [
        format!(
            "--remap-path-prefix={}=/cargo",
            home.join("registry/src").display()
        ),
        format!("--remap-path-prefix={}=/src", root().display()),
    ];
    let folder = target().join("build");
    let mut build = cargo();
    build.args([
        "build",
        "--quiet",
        "--locked",
        "--release",
        "--package",
        "counterfoil",
        "--lib",
        "--target",
        TARGET,
    ]);
    build
        .env("CARGO_ENCODED_RUSTFLAGS", flags.join("\u{1f}"))
        .env("CARGO_TARGET_DIR", &folder);
    run(&mut build)?;
    Ok(folder.join(TARGET).join("release/counterfoil.wasm"))
}

/// `rust-toolchain.toml` names the target, but rustup does not install it by itself where its automatic installs are off.
fn add_target() -> Result<()> {
    let sysroot = output(command("rustc").args(["--print", "sysroot"]))?;
    if Path::new(sysroot.trim())
        .join("lib/rustlib")
        .join(TARGET)
        .is_dir()
    {
        return Ok(());
    }
    if !available("rustup") {
        bail!("Rust has no target {TARGET} and there is no rustup to add it");
    }
    run(command("rustup").args(["target", "add", TARGET]))
}

fn cargo_home() -> Result<PathBuf> {
    let set = env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = || {
        env::var_os("HOME")
            .or_else(|| env::var_os("USERPROFILE"))
            .map(|home| Path::new(&home).join(".cargo"))
    };
    set.or_else(home).context("neither CARGO_HOME nor HOME is set")
}

fn bind(linked: &Path, out: &Path) -> Result<()> {
    let mut bindgen = Bindgen::new();
    bindgen
        .input_path(linked)
        .out_name("counterfoil")
        .typescript(false)
        .omit_default_module_path(true);
    bindgen
        .remove_name_section(true)
        .remove_producers_section(true)
        .reset_state_function(true);
    bindgen.web(true)?;
    bindgen.generate(out).context("wasm-bindgen")
}

fn optimise(wasm: &Path) -> Result<()> {
    let tool = root().join("node_modules/binaryen/bin/wasm-opt");
    let mut opt = command("node");
    opt.arg(tool)
        .arg(wasm)
        .args(["-O3", "--strip-producers", "-o"])
        .arg(wasm);
    run(&mut opt)
}
