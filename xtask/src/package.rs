//! The npm package in `target/npm`: template, glue, loaders, licences, checksums, tarball.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{bail, Context, Result};

use crate::build::{self, MODULES};
use crate::page;
use crate::shell::{command, digest, files, output, root, run, sha256, target};

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What the package takes from the workspace's top.
const FROM_ROOT: [&str; 3] = ["README.md", "LICENSE-APACHE", "LICENSE-MIT"];

/// Builds `target/npm/counterfoil`, unless nothing it is made of has changed, and the page from it.
pub fn build() -> Result<()> {
    npm()?;
    page::build(&folder())
}

fn npm() -> Result<()> {
    let wasm = build::wasm()?;
    let folder = folder();
    let stamp = target().join("npm/stamp");
    let want = inputs(&wasm)?;
    if folder.join("SHA256SUMS").is_file() && fs::read_to_string(&stamp).is_ok_and(|have| have == want) {
        return Ok(());
    }
    let _ = fs::remove_file(&stamp);
    // Assembled aside and put in place by one rename, so that a reader never meets half a package.
    let fresh = target().join("npm/fresh");
    let _ = fs::remove_dir_all(&fresh);
    assemble(&wasm, &fresh)?;
    let _ = fs::remove_dir_all(&folder);
    fs::rename(&fresh, &folder)?;
    println!("{}", folder.display());
    Ok(fs::write(stamp, want)?)
}

/// Builds, packs and gives the tarball's path.
pub fn pack() -> Result<PathBuf> {
    build()?;
    let tarball = target().join("npm").join(format!("counterfoil-{VERSION}.tgz"));
    let stamp = tarball.with_extension("stamp");
    let want = fs::read_to_string(target().join("npm/stamp"))?;
    if tarball.is_file() && fs::read_to_string(&stamp).is_ok_and(|have| have == want) {
        return Ok(tarball);
    }
    output(command("npm").current_dir(folder()).args([
        "pack",
        "--loglevel=error",
        "--pack-destination",
        "..",
    ]))?;
    fs::write(stamp, want)?;
    Ok(tarball)
}

fn folder() -> PathBuf {
    target().join("npm/counterfoil")
}

fn inputs(wasm: &Path) -> Result<String> {
    let root = root();
    let mut parts = vec![VERSION.as_bytes().to_vec(), include_bytes!("package.rs").to_vec()];
    let mut add = |path: PathBuf| -> Result<()> {
        parts.push(path.to_string_lossy().into_owned().into_bytes());
        parts.push(fs::read(path)?);
        Ok(())
    };
    for module in &MODULES {
        add(module.wasm(wasm))?;
        add(module.script(wasm))?;
    }
    add(root.join("xtask/bundle.mjs"))?;
    add(root.join("xtask/inspector.mjs"))?;
    add(root.join("package-lock.json"))?;
    for name in FROM_ROOT
        .iter()
        .map(|name| root.join(name))
        .filter(|path| path.is_file())
    {
        add(name)?;
    }
    for folder in [root.join("pkg-template"), root.join("www")] {
        for file in files(&folder)? {
            add(folder.join(file))?;
        }
    }
    Ok(digest(parts))
}

fn assemble(wasm: &Path, into: &Path) -> Result<()> {
    let root = root();
    copy_tree(&root.join("pkg-template"), into)?;
    let manifest = into.join("package.json");
    let text = fs::read_to_string(&manifest)?
        .replace("\"version\": \"0.0.0\"", &format!("\"version\": \"{VERSION}\""));
    fs::write(manifest, text)?;
    for name in FROM_ROOT.iter().filter(|name| root.join(name).is_file()) {
        fs::copy(root.join(name), into.join(name))?;
    }
    let folder = into.join("wasm");
    fs::create_dir_all(&folder)?;
    for module in &MODULES {
        fs::copy(module.wasm(wasm), folder.join(format!("{}_bg.wasm", module.name)))?;
        let glue = folder.join(format!("{}.mjs", module.glue));
        let script = fs::read(module.script(wasm))?;
        if fs::read(&glue).is_ok_and(|other| other != script) {
            bail!("{} can't share the glue of {}", module.name, module.glue);
        }
        fs::write(glue, script)?;
    }
    run(command("node").arg("xtask/bundle.mjs").arg(into))?;
    run(command("node").arg("xtask/inspector.mjs").arg(into))?;
    checksums(into)
}

/// Copies every file below a folder.
pub fn copy_tree(from: &Path, to: &Path) -> Result<()> {
    for file in files(from)? {
        let target = to.join(&file);
        fs::create_dir_all(target.parent().context("a file lies in a folder")?)?;
        fs::copy(from.join(&file), target)?;
    }
    Ok(())
}

/// One line a file, in the form that `sha256sum --check` reads.
fn checksums(folder: &Path) -> Result<()> {
    let mut lines = String::new();
    for file in files(folder)? {
        let name = file.to_string_lossy().replace('\\', "/");
        lines += &format!("{}  {name}\n", sha256(&fs::read(folder.join(&file))?));
    }
    Ok(fs::write(folder.join("SHA256SUMS"), lines)?)
}
