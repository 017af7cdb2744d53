//! The demo and the benchmarks: Node programs that use the packed package.

use anyhow::{bail, Result};

use crate::package;
use crate::shell::{command, npm_ci, root, run};

/// `node demo/run.mjs` with the arguments given.
pub fn demo(args: &[String]) -> Result<()> {
    node("demo", "run.mjs", args)
}

/// `node tests/bench/run.mjs` with the arguments given.
pub fn bench(args: &[String]) -> Result<()> {
    node("tests/bench", "run.mjs", args)
}

fn node(folder: &str, script: &str, args: &[String]) -> Result<()> {
    let folder = root().join(folder);
    if !folder.join(script).is_file() {
        bail!("{} is missing", folder.join(script).display());
    }
    package::pack()?;
    npm_ci(&folder)?;
    run(command("node").current_dir(&folder).arg(script).args(args))
}
