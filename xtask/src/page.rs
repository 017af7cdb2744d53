//! The inspector page in `target/www`: `www`, beside it what it takes from the package, and the package's `inspector.html`, which is all of it in one file.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use crate::package::copy_tree;
use crate::shell::{root, target};

/// What the page takes from the package beside what `www/core.mjs` imports: the modules of which the browser fetches those it needs.
const MODULES: [&str; 3] = [
    "wasm/verify_bg.wasm",
    "wasm/verify_simd_bg.wasm",
    "wasm/jws_bg.wasm",
];

/// Builds `target/www` from the package in `package`.
pub fn build(package: &Path) -> Result<()> {
    let folder = target().join("www");
    let fresh = target().join("www-fresh");
    let _ = fs::remove_dir_all(&fresh);
    copy_tree(&root().join("www"), &fresh)?;
    for file in from_package(package)? {
        let to = fresh.join("counterfoil").join(&file);
        fs::create_dir_all(to.parent().context("a file lies in a folder")?)?;
        fs::copy(package.join(&file), to).with_context(|| format!("{file} of the package"))?;
    }
    fs::copy(package.join("inspector.html"), fresh.join("inspector.html"))?;
    let _ = fs::remove_dir_all(&folder);
    Ok(fs::rename(&fresh, &folder)?)
}

/// The files of the package that `www/core.mjs` imports, and what those import in turn.
fn from_package(package: &Path) -> Result<BTreeSet<String>> {
    let door = fs::read_to_string(root().join("www/core.mjs"))?;
    let mut files = BTreeSet::from(MODULES.map(str::to_owned));
    let mut open: Vec<String> = imports(&door)
        .filter_map(|path| Some(path.strip_prefix("./counterfoil/")?.to_owned()))
        .collect();
    while let Some(file) = open.pop() {
        let text =
            fs::read_to_string(package.join(&file)).with_context(|| format!("{file} of the package"))?;
        let (folder, _) = file.rsplit_once('/').context("a script lies in a folder")?;
        for path in imports(&text) {
            let path = match path.strip_prefix("../") {
                Some(path) => path.to_owned(),
                None => format!("{folder}/{}", path.trim_start_matches("./")),
            };
            if !files.contains(&path) {
                open.push(path);
            }
        }
        files.insert(file);
    }
    Ok(files)
}

/// The relative paths behind `from`.
fn imports(script: &str) -> impl Iterator<Item = &str> {
    let paths = script.split("from \"").skip(1);
    paths
        .filter_map(|rest| rest.split('"').next())
        .filter(|path| path.starts_with('.'))
}
