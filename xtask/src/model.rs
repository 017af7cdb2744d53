//! The model of `tests/model`: the core as it is, where every law holds, and the core with one line of a law taken out, where
//! the model must find a story that breaks it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{bail, Context, Result};

use crate::shell::{cargo, files, root, run, target};

const MUTATIONS: &str = "tests/model/mutations";
/// What the scratch copy needs to build the model.
const COPIED: [&str; 11] = [
    "Cargo.toml",
    "Cargo.lock",
    "rust-toolchain.toml",
    "src",
    "json",
    "secp256k1",
    "sha256",
    "modules",
    "tests/curve",
    "tests/model",
    "xtask",
];
/// Tried in every run: one that breaks a proof, and one after which attempts hang.
const EVERY_DAY: [&str; 2] = ["law-5-unfinal-proof.patch", "law-8-planned-forever.patch"];
/// So long a run goes on to the next mutation; the others are only built.
const BUDGET: Duration = Duration::from_secs(100);

/// One patch, with what must come of it.
struct Mutation {
    name: String,
    patch: PathBuf,
    space: String,
    law: String,
}

/// `cargo xtask model [--all] [--mutation NAME]`.
pub fn model(args: &[String]) -> Result<()> {
    let (mut all, mut only) = (false, None);
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--all" => all = true,
            "--mutation" => only = Some(args.next().context("--mutation wants a name")?),
            other => bail!("unknown argument {other}"),
        }
    }
    if let Some(name) = only {
        let chosen: Vec<_> = mutations()?
            .into_iter()
            .filter(|one| one.name.contains(name.as_str()))
            .collect();
        if chosen.is_empty() {
            bail!("there is no mutation {name}");
        }
        return broken_each(&chosen);
    }
    run(explorer(&root().join("Cargo.toml"), &target()).args(all.then_some("--all")))?;
    match all {
        true => broken_each(&mutations()?),
        false => as_many_as_fit(mutations()?),
    }
}

/// Which mutation of the rest is first: the day's, or the one that `COUNTERFOIL_SEED` names again.
fn seed() -> Result<u64> {
    match std::env::var("COUNTERFOIL_SEED") {
        Ok(seed) => seed.parse().context("COUNTERFOIL_SEED is no number"),
        Err(_) => Ok(SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs() / 86_400),
    }
}

/// Those of every run and as many of the rest as the budget allows, beginning with another one each day; what is left must apply and
/// build, so that no patch rots unseen.
fn as_many_as_fit(mutations: Vec<Mutation>) -> Result<()> {
    let (mut first, mut rest): (Vec<_>, Vec<_>) = mutations
        .into_iter()
        .partition(|one| EVERY_DAY.contains(&one.name.as_str()));
    let seed = seed()?;
    if !rest.is_empty() {
        let at = usize::try_from(seed % rest.len() as u64)?;
        rest.rotate_left(at);
    }
    first.extend(rest);
    println!("mutations in the order of COUNTERFOIL_SEED={seed}");
    let (started, mut failures, mut built) = (Instant::now(), Vec::new(), 0);
    for (at, mutation) in first.iter().enumerate() {
        let tried = at < EVERY_DAY.len() || started.elapsed() < BUDGET;
        let told = match tried {
            true => broken(mutation).map(|story| format!("as it must, {story}")),
            false => checked(mutation).map(|()| "builds".to_owned()),
        };
        built += usize::from(!tried);
        match told.with_context(|| mutation.name.clone()) {
            Ok(told) => println!("{}: {told}", mutation.name),
            Err(error) => failures.push(format!("{error:#}")),
        }
    }
    if !failures.is_empty() {
        bail!("{}", failures.join("\n"));
    }
    println!("{} mutations found, {built} more build", first.len() - built);
    Ok(())
}

fn explorer(manifest: &Path, target: &Path) -> Command {
    let mut command = cargo();
    command.env("CARGO_TARGET_DIR", target);
    command.args(["run", "--quiet", "--locked", "--package", "counterfoil-model"]);
    command.arg("--manifest-path").arg(manifest).arg("--");
    command
}

/// Every patch names its space and the law that breaks in its head: `space: …` and `law: …`.
fn mutations() -> Result<Vec<Mutation>> {
    let folder = root().join(MUTATIONS);
    let mut found = Vec::new();
    for file in files(&folder)? {
        let patch = folder.join(&file);
        let text = fs::read_to_string(&patch)?;
        let head = |name: &str| {
            let line = text
                .lines()
                .find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
            line.map(str::to_owned)
                .with_context(|| format!("{} names no {name}", file.display()))
        };
        found.push(Mutation {
            name: file.to_string_lossy().into_owned(),
            space: head("space")?,
            law: head("law")?,
            patch,
        });
    }
    Ok(found)
}

fn broken_each(mutations: &[Mutation]) -> Result<()> {
    let mut unbroken = Vec::new();
    for mutation in mutations {
        match broken(mutation).with_context(|| mutation.name.clone()) {
            Ok(story) => println!("{}: as it must, {story}", mutation.name),
            Err(error) => unbroken.push(format!("{error:#}")),
        }
    }
    if !unbroken.is_empty() {
        bail!("{}", unbroken.join("\n"));
    }
    println!("{} mutations, each found", mutations.len());
    Ok(())
}

/// Where copies are made.
fn scratch() -> PathBuf {
    target().join("model")
}

/// One folder for all copies: what the core depends on is built once. It is not the workspace's own, where cargo takes a broken core for
/// the true one: what it keeps of a member is named by its path within the workspace.
fn built() -> PathBuf {
    scratch().join("target")
}

/// A fresh copy of the sources with one patch applied: its manifest.
fn mutated(mutation: &Mutation) -> Result<PathBuf> {
    let tree = scratch().join("tree");
    copy(&tree)?;
    let mut git = Command::new("git");
    // The copy lies below a repository and is none: paths are those of the patch.
    git.current_dir(&tree).env("GIT_CEILING_DIRECTORIES", scratch());
    run(git.args(["apply", "--whitespace=nowarn"]).arg(&mutation.patch))
        .context("the patch no longer applies")?;
    Ok(tree.join("Cargo.toml"))
}

/// Lets cargo do this with the model of a copy.
fn cargo_on(manifest: &Path, command: &str) -> Result<()> {
    let mut build = cargo();
    build.env("CARGO_TARGET_DIR", built());
    build.args([command, "--quiet", "--locked", "--package", "counterfoil-model"]);
    run(build.arg("--manifest-path").arg(manifest)).context("the mutated core does not build")
}

/// Applies one patch and wants the model to build with it.
fn checked(mutation: &Mutation) -> Result<()> {
    cargo_on(&mutated(mutation)?, "check")
}

/// Applies one patch and wants the model to fail with the law that it names.
fn broken(mutation: &Mutation) -> Result<String> {
    let manifest = mutated(mutation)?;
    cargo_on(&manifest, "build")?;
    let output = explorer(&manifest, &built()).arg(&mutation.space).output()?;
    let told = String::from_utf8_lossy(&output.stdout);
    let Some(at) = told.find("BROKEN ") else {
        bail!("no law broke\n{told}{}", String::from_utf8_lossy(&output.stderr));
    };
    let story = &told[at..];
    if output.status.success() || !story.starts_with(&format!("BROKEN {}:", mutation.law)) {
        bail!("another law broke than {}\n{story}", mutation.law);
    }
    if story.lines().count() < 2 {
        bail!("no story is told\n{story}");
    }
    Ok(story.trim_end().to_owned())
}

/// The sources as they are. A file that is the same is left alone, so that it is not built again.
fn copy(tree: &Path) -> Result<()> {
    for part in COPIED {
        let from = root().join(part);
        let parts = if from.is_dir() {
            files(&from)?
        } else {
            vec![PathBuf::new()]
        };
        for file in parts {
            let (from, to) = match file.as_os_str().is_empty() {
                true => (from.clone(), tree.join(part)),
                false => (from.join(&file), tree.join(part).join(&file)),
            };
            let text = fs::read(&from)?;
            if fs::read(&to).is_ok_and(|have| have == text) {
                continue;
            }
            fs::create_dir_all(to.parent().context("a folder")?)?;
            fs::write(&to, text)?;
        }
    }
    Ok(())
}
