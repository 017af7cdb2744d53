//! The inspector page in `target/www`: `www`, and beside it what it takes from the package.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use crate::package::copy_tree;
use crate::shell::{root, target};

/// What `www/core.mjs` imports, and what that imports in turn.
const FROM_PACKAGE: [&str; 8] = [
    "src/boundary.mjs",
    "src/codes.mjs",
    "src/display.mjs",
    "src/errors.mjs",
    "src/verify.mjs",
    "src/wasm.mjs",
    "wasm/counterfoil_bg.wasm",
    "wasm/glue.mjs",
];

/// Builds `target/www` from the package in `package`.
pub fn build(package: &Path) -> Result<()> {
    let folder = target().join("www");
    let fresh = target().join("www-fresh");
    let _ = fs::remove_dir_all(&fresh);
    copy_tree(&root().join("www"), &fresh)?;
    for file in FROM_PACKAGE {
        let to = fresh.join("counterfoil").join(file);
        fs::create_dir_all(to.parent().context("a file lies in a folder")?)?;
        fs::copy(package.join(file), to).with_context(|| format!("{file} of the package"))?;
    }
    let _ = fs::remove_dir_all(&folder);
    Ok(fs::rename(&fresh, &folder)?)
}
