//! The `.wasm` files and their glue: cargo, wasm-bindgen, wasm-opt.

use std::path::{Path, PathBuf};
use std::time::Instant;
use std::{env, fs, thread};

use anyhow::{bail, Context, Result};
use wasm_bindgen_cli_support::Bindgen;

use crate::shell::{available, cargo, command, digest, npm_ci, output, root, run, target};

const TARGET: &str = "wasm32-unknown-unknown";

/// A WebAssembly module of the package. Its library is `modules/<glue>`, whose manifest says which features of the crate it has; in the
/// package it is `wasm/<name>_bg.wasm` with the glue `wasm/<glue>.mjs`.
pub struct Module {
    pub name: &'static str,
    /// Two modules that are used in the same way share it.
    pub glue: &'static str,
    /// For machines that multiply several numbers at once. Its parts are compiled for it too, in a folder of their own.
    lanes: bool,
}

pub const MODULES: [Module; 4] = [
    Module::new("counterfoil", "counterfoil"),
    Module::new("verify", "verify"),
    Module {
        lanes: true,
        ..Module::new("verify_simd", "verify")
    },
    Module::new("jws", "jws"),
];

impl Module {
    const fn new(name: &'static str, glue: &'static str) -> Module {
        Module {
            name,
            glue,
            lanes: false,
        }
    }

    /// Whether its parts are compiled for it alone.
    fn alone(&self) -> bool {
        self.lanes && !hurried()
    }

    /// The optimised module.
    pub fn wasm(&self, folder: &Path) -> PathBuf {
        folder.join(self.name).join(format!("{}_bg.wasm", self.glue))
    }

    /// The script that calls it.
    pub fn script(&self, folder: &Path) -> PathBuf {
        folder.join(self.name).join(format!("{}.js", self.glue))
    }
}

/// Builds every module with its glue, each in a folder of its name, and gives the folder of those. The two slow steps after cargo are left
/// out while the linked module and the tools are the same.
pub fn wasm() -> Result<PathBuf> {
    add_target()?;
    npm_ci(&root())?;
    let folder = target().join("wasm");
    let (beside, others): (Vec<_>, Vec<_>) = MODULES.iter().partition(|module| module.alone());
    // Linking takes one core only, and what is compiled in a folder of its own waits for nobody.
    thread::scope(|scope| {
        let beside = scope.spawn(|| build_each(&beside, &folder));
        build_each(&others, &folder)?;
        beside
            .join()
            .unwrap_or_else(|_| bail!("a module could not be built"))
    })?;
    Ok(folder)
}

fn build_each(modules: &[&Module], folder: &Path) -> Result<()> {
    for module in modules {
        let started = Instant::now();
        let linked = compile(module)?;
        let out = folder.join(module.name);
        let stamp = out.join("stamp");
        let want = digest([
            fs::read(&linked)?,
            fs::read(root().join("package-lock.json"))?,
            include_bytes!("build.rs").to_vec(),
            vec![u8::from(named())],
        ]);
        if !fs::read_to_string(&stamp).is_ok_and(|have| have == want) {
            let _ = fs::remove_dir_all(&out);
            bind(module, &linked, &out)?;
            if !hurried() {
                optimise(&module.wasm(folder))?;
            }
            fs::write(stamp, want)?;
            println!(
                "{}: {:.1} minutes",
                module.name,
                started.elapsed().as_secs_f64() / 60.0
            );
        }
    }
    Ok(())
}

/// Whether the environment asks for a build that is soon there and not for one that is to be measured or published: then nothing is
/// optimised after cargo, and the module for several numbers at once is the other one again.
fn hurried() -> bool {
    env::var("CARGO_PROFILE_RELEASE_LTO").is_ok_and(|lto| lto == "off")
}

/// Whether functions keep their names, for `node --cpu-prof` and for `twiggy`: `COUNTERFOIL_NAMES=1`. Everything else is as it is published.
fn named() -> bool {
    env::var("COUNTERFOIL_NAMES").is_ok_and(|names| names == "1")
}

/// The same bytes on every machine: paths of the builder are taken out of the panic locations.
fn compile(module: &Module) -> Result<PathBuf> {
    let home = cargo_home()?;
    let mut flags = vec![
        format!(
            "--remap-path-prefix={}=/cargo",
            home.join("registry/src").display()
        ),
        format!("--remap-path-prefix={}=/src", root().display()),
        // Else the library that signs multiplies numbers of 64 bits to 128, which WebAssembly can't: half as fast, and larger.
        "--cfg=cpubits=\"32\"".to_owned(),
    ];
    let mut folder = target().join("build");
    let alone = module.alone();
    if alone {
        flags.push("-Ctarget-feature=+simd128".to_owned());
        folder.push("simd");
    }
    let package = format!("module-{}", module.glue);
    let mut build = cargo();
    build.args(["build", "--quiet", "--locked", "--release", "--target", TARGET]);
    build.args(["--package", &package]);
    build
        .env("CARGO_ENCODED_RUSTFLAGS", flags.join("\u{1f}"))
        .env("CARGO_TARGET_DIR", &folder);
    if alone {
        // It is for many documents at once: a tenth larger, and a line of an audit takes a quarter less time.
        build.env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "s");
    }
    run(&mut build)?;
    Ok(folder
        .join(TARGET)
        .join("release")
        .join(format!("{}.wasm", package.replace('-', "_"))))
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

fn bind(module: &Module, linked: &Path, out: &Path) -> Result<()> {
    let mut bindgen = Bindgen::new();
    bindgen
        .input_path(linked)
        .out_name(module.glue)
        .typescript(false)
        .omit_default_module_path(true);
    bindgen
        .remove_name_section(!named())
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
        .args(["-Oz", "--strip-producers", "-o"])
        .arg(wasm)
        .args(named().then_some("-g"));
    run(&mut opt)
}
