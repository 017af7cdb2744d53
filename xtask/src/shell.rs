//! Paths, commands and digests.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::{env, fs};

use anyhow::{bail, Context, Result};
use sha2::{Digest, Sha256};

/// The workspace.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("xtask lies in the workspace")
        .to_owned()
}

/// Where everything that is built goes: as cargo resolves it.
pub fn target() -> PathBuf {
    root().join(env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into()))
}

/// A command that runs at the workspace's top.
pub fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.current_dir(root());
    command
}

/// The cargo that runs us.
pub fn cargo() -> Command {
    command(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Runs to its end; anything but success is an error that names the command.
pub fn run(command: &mut Command) -> Result<()> {
    let shown = show(command);
    let status = command
        .status()
        .with_context(|| format!("could not start {shown}"))?;
    if !status.success() {
        bail!("{shown}: {status}");
    }
    Ok(())
}

/// Runs to its end and gives its standard output.
pub fn output(command: &mut Command) -> Result<String> {
    let shown = show(command);
    let output = command
        .output()
        .with_context(|| format!("could not start {shown}"))?;
    if !output.status.success() {
        bail!(
            "{shown}: {}\n{}",
            output.status,
            String::from_utf8_lossy(&output.stderr)
        );
    }
    Ok(String::from_utf8(output.stdout)?)
}

fn show(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words
        .map(|word| word.to_string_lossy())
        .collect::<Vec<_>>()
        .join(" ")
}

/// True when the program is there and answers.
pub fn available(program: &str) -> bool {
    Command::new(program)
        .arg("--version")
        .output()
        .is_ok_and(|output| output.status.success())
}

/// True in CI, where a missing tool is a failure and not a reason to leave something out.
pub fn in_ci() -> bool {
    env::var("CI").is_ok_and(|value| !value.is_empty() && value != "false" && value != "0")
}

/// What is installed is installed one thing at a time: whoever comes second finds it there.
static INSTALLING: Mutex<()> = Mutex::new(());

/// Does one thing that installs something, while nothing else is being installed.
pub fn installing<T>(install: impl FnOnce() -> T) -> T {
    let _alone = INSTALLING.lock().unwrap_or_else(PoisonError::into_inner);
    install()
}

/// Brings `node_modules` of a folder to its lock file; does nothing when it is there already.
pub fn npm_ci(folder: &Path) -> Result<()> {
    installing(|| npm_ci_alone(folder))
}

fn npm_ci_alone(folder: &Path) -> Result<()> {
    let lock = folder.join("package-lock.json");
    let stamp = folder.join("node_modules/.counterfoil-lock");
    let want = digest([fs::read(&lock).with_context(|| format!("{} is missing", lock.display()))?]);
    if fs::read_to_string(&stamp).is_ok_and(|have| have == want) {
        return Ok(());
    }
    let mut npm = command("npm");
    npm.current_dir(folder)
        .args(["ci", "--no-fund", "--no-audit", "--loglevel=error"]);
    run(&mut npm)?;
    Ok(fs::write(stamp, want)?)
}

/// SHA-256 over parts, in hexadecimal; each part is preceded by its length.
pub fn digest<T: AsRef<[u8]>>(parts: impl IntoIterator<Item = T>) -> String {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update((part.as_ref().len() as u64).to_be_bytes());
        hasher.update(part.as_ref());
    }
    hex(&hasher.finalize())
}

/// Plain SHA-256 of bytes, as `sha256sum` prints it.
pub fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Every file below a folder, sorted, as paths from that folder; `node_modules` is passed over.
pub fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut open = vec![PathBuf::new()];
    while let Some(below) = open.pop() {
        for entry in fs::read_dir(folder.join(&below)).with_context(|| format!("{}", folder.display()))? {
            let entry = entry?;
            let path = below.join(entry.file_name());
            if !entry.file_type()?.is_dir() {
                found.push(path);
            } else if entry.file_name() != "node_modules" {
                open.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}
