//! The only task runner: `cargo xtask build | pack | test | demo | bench`.

mod build;
mod demo;
mod model;
mod package;
mod page;
mod shell;
mod test;

use anyhow::{bail, Result};

const USAGE: &str = "\
cargo xtask <task>

  build                      wasm, npm package → target/npm/counterfoil, page → target/www
  pack                       build, then target/npm/counterfoil-<version>.tgz
  test [--all] [--only NAME] formatting, lints, Rust, package, examples, page, demo, bench; --all adds the long runs
  model [--all] [--mutation NAME]
                             every state of small worlds, and that the model sees each law broken; --all: larger worlds, all laws
  demo [--json] [--serve] …  build, then the demo on a local chain; arguments go through
  bench …                    build, then the benchmarks of tests/bench; arguments go through";

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let Err(error) = run(&args) {
        eprintln!("{error:#}");
        std::process::exit(1);
    }
}

fn run(args: &[String]) -> Result<()> {
    let (task, rest) = match args.split_first() {
        Some((task, rest)) => (task.as_str(), rest),
        None => bail!("{USAGE}"),
    };
    match task {
        "build" => package::build(),
        "pack" => package::pack().map(|tarball| println!("{}", tarball.display())),
        "test" => test::run(rest),
        "demo" => demo::demo(rest),
        "bench" => demo::bench(rest),
        "model" => model::model(rest),
        "help" | "--help" | "-h" => {
            println!("{USAGE}");
            Ok(())
        }
        _ => bail!("unknown task {task}\n\n{USAGE}"),
    }
}
