//! The tests: from formatting to the demo, each part on what the part before it made.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;
use std::{env, fs};

use anyhow::{bail, Context, Result};

use crate::package;
use crate::shell::{
    available, cargo, command, in_ci, installing, npm_ci, output, root, run as run_command, target,
};

/// What a part or a runner counted.
#[derive(Clone, Copy, Default)]
struct Count {
    passed: u64,
    failed: u64,
    skipped: u64,
}

const ONE: Count = Count {
    passed: 1,
    failed: 0,
    skipped: 0,
};

/// A part: its name and what it runs; `all` asks for the long runs too.
type Part = (&'static str, fn(all: bool) -> Result<Count>);

const PARTS: [Part; 12] = [
    ("fmt", |_| {
        run_command(cargo().args(["fmt", "--all", "--check"])).map(|()| ONE)
    }),
    ("clippy", |_| clippy()),
    ("rust", rust),
    ("curve", curve),
    ("model", model),
    ("package", |_| package::pack().map(|_| ONE)),
    ("js", js),
    ("gateway", gateway),
    ("examples", examples),
    ("page", |_| page()),
    ("demo", demo),
    ("bench", |_| bench()),
];

/// Runs the parts and fails when one failed. Later parts run all the same: one run tells everything.
pub fn run(args: &[String]) -> Result<()> {
    let (mut all, mut only) = (false, Vec::new());
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--all" => all = true,
            "--only" => only.push(args.next().context("--only wants the name of a part")?.as_str()),
            other => bail!("unknown argument {other}"),
        }
    }
    let names: Vec<_> = PARTS.iter().map(|(name, _)| *name).collect();
    if let Some(unknown) = only.iter().find(|name| !names.contains(name)) {
        bail!("there is no part {unknown}; the parts are {}", names.join(", "));
    }
    if in_ci() && only.is_empty() {
        std::thread::spawn(ahead);
    }
    let mut total = Count::default();
    for (name, part) in PARTS
        .iter()
        .filter(|(name, _)| only.is_empty() || only.contains(name))
    {
        let started = Instant::now();
        println!("== {name}");
        let count = part(all).unwrap_or_else(|error| {
            eprintln!("{error:#}");
            Count {
                failed: 1,
                ..Count::default()
            }
        });
        let verdict = if count.failed > 0 { "FAILED" } else { "ok" };
        println!(
            "== {name} {verdict} {:.1} min",
            started.elapsed().as_secs_f64() / 60.0
        );
        total.passed += count.passed;
        total.failed += count.failed;
        total.skipped += count.skipped;
    }
    let skipped = if total.skipped > 0 {
        format!(", {} skipped", total.skipped)
    } else {
        String::new()
    };
    println!("{} passed, {} failed{skipped}", total.passed, total.failed);
    if total.failed > 0 {
        std::process::exit(1);
    }
    Ok(())
}

/// Brings what the later parts install while the first ones compile; most of that is waiting. What fails here is tried again and told by
/// the part that needs it.
fn ahead() {
    let _ = chromium().and_then(|_| firefox());
    for folder in ["", "demo", "tests/js/mppx", "examples", "tests/bench"] {
        let _ = npm_ci(&root().join(folder));
    }
}

/// The crate under its own lints; tests and tools may unwrap, for them a panic is a report.
fn clippy() -> Result<Count> {
    run_command(cargo().args(["clippy", "--locked", "--lib", "--", "-D", "warnings"]))?;
    let mut rest = cargo();
    rest.args([
        "clippy",
        "--locked",
        "--workspace",
        "--all-targets",
        "--",
        "-D",
        "warnings",
    ]);
    for lint in ["unwrap_used", "expect_used", "panic", "indexing_slicing"] {
        rest.args(["-A", &format!("clippy::{lint}")]);
    }
    run_command(&mut rest)?;
    Ok(ONE)
}

fn rust(all: bool) -> Result<Count> {
    let mut tests = cargo();
    tests.args(["test", "--locked", "--no-fail-fast"]);
    if all {
        tests.args(["--", "--include-ignored"]);
    }
    counted(&mut tests)
}

/// The arithmetic of verification against other libraries: in a debug build, which checks the bounds of every limb; with `all` on
/// very many cases.
fn curve(all: bool) -> Result<Count> {
    let mut curve = cargo();
    curve.args(["run", "--quiet", "--locked", "--package", "counterfoil-curve"]);
    run_command(curve.args(if all {
        &["--release", "--", "--all"][..]
    } else {
        &[]
    }))
    .map(|()| ONE)
}

/// Every state of small worlds around the paying machine; with `all` the larger ones, and every law taken out once.
fn model(all: bool) -> Result<Count> {
    let how: &[String] = if all { &["--all".to_owned()] } else { &[] };
    crate::model::model(how).map(|()| ONE)
}

/// `tests/js` on the packed tarball, installed as a user would. The chain and the seller are those of the demo.
fn js(all: bool) -> Result<Count> {
    install()?;
    npm_ci(&root().join("demo"))?;
    npm_ci(&root().join("tests/js/mppx"))?;
    node_tests("tests/js", 2, |node| {
        node.env("COUNTERFOIL_ALL", if all { "1" } else { "" });
    })
}

/// `tests/gateway` on the same tarball: the stores on a PostgreSQL and on SQLite files of their own.
fn gateway(all: bool) -> Result<Count> {
    install()?;
    npm_ci(&root().join("demo"))?;
    node_tests("tests/gateway", 2, |node| {
        node.env("COUNTERFOIL_ALL", if all { "1" } else { "" });
    })
}

/// `examples/test`: the examples as a user would copy them, on the same tarball, chain and PostgreSQL.
fn examples(all: bool) -> Result<Count> {
    install()?;
    npm_ci(&root().join("demo"))?;
    npm_ci(&root().join("examples"))?;
    node_tests("examples/test", 1, |node| {
        node.env("COUNTERFOIL_ALL", if all { "1" } else { "" });
    })
}

fn page() -> Result<Count> {
    if !has_tests(Path::new("tests/page"))? {
        return Ok(Count::default());
    }
    let Some(chromium) = chromium()? else {
        let how = "Chromium is missing; `apt-get install chromium` brings it, or CHROMIUM names one";
        if in_ci() {
            bail!("{how}");
        }
        println!("page tests left out: {how}");
        return Ok(Count {
            skipped: 1,
            ..Count::default()
        });
    };
    let firefox = firefox()?;
    if firefox.is_none() && in_ci() {
        bail!("Firefox is missing; `apt-get install firefox-esr` brings it, or FIREFOX names one");
    }
    install()?;
    // The chain and the seller of the purchases in a page, and viem.
    npm_ci(&root().join("demo"))?;
    node_tests("tests/page", 1, |node| {
        node.env("CHROMIUM", &chromium);
        if let Some(firefox) = &firefox {
            node.env("FIREFOX", firefox);
        }
    })
}

fn demo(all: bool) -> Result<Count> {
    let size: &[String] = &["--json".to_owned()];
    crate::demo::demo(if all { &[] } else { size }).map(|()| ONE)
}

/// A few calls each: that all give the same answers. What they take is never judged.
fn bench() -> Result<Count> {
    crate::demo::bench(&["--quick".to_owned()]).map(|()| ONE)
}

/// Installs the tarball below `target` and lets the tests find it by its name.
fn install() -> Result<()> {
    let tarball = package::pack()?;
    npm_ci(&root())?;
    let folder = target().join("test-install");
    let stamp = folder.join("stamp");
    let want = fs::read_to_string(target().join("npm/stamp"))?;
    if !fs::read_to_string(&stamp).is_ok_and(|have| have == want) {
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder)?;
        fs::write(
            folder.join("package.json"),
            r#"{ "name": "test-install", "private": true }"#,
        )?;
        let mut npm = command("npm");
        npm.current_dir(&folder).args([
            "install",
            "--no-save",
            "--no-package-lock",
            "--offline",
            "--loglevel=error",
        ]);
        output(npm.arg(&tarball))?;
        fs::write(&stamp, want)?;
    }
    let link = root().join("node_modules/counterfoil");
    let _ = fs::remove_file(&link);
    #[cfg(unix)]
    std::os::unix::fs::symlink(folder.join("node_modules/counterfoil"), link)?;
    #[cfg(windows)]
    std::os::windows::fs::symlink_dir(folder.join("node_modules/counterfoil"), link)?;
    Ok(())
}

fn test_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let at = root().join(folder);
    if !at.is_dir() {
        return Ok(Vec::new());
    }
    let mut files: Vec<_> = crate::shell::files(&at)?
        .into_iter()
        .map(|file| at.join(file))
        .collect();
    files.retain(|file| file.to_string_lossy().ends_with(".test.mjs"));
    Ok(files)
}

fn has_tests(folder: &Path) -> Result<bool> {
    Ok(!test_files(folder)?.is_empty())
}

/// The tests of a folder, so many files at once: most of their time they wait for blocks and leases, and by itself Node takes one file less than
/// there are cores.
fn node_tests(folder: &str, at_once: usize, prepare: impl FnOnce(&mut Command)) -> Result<Count> {
    let files = test_files(Path::new(folder))?;
    if files.is_empty() {
        bail!("{folder} holds no test");
    }
    let mut node = command("node");
    node.args(["--test", "--test-reporter=spec"])
        .arg(format!("--test-concurrency={at_once}"))
        .args(files);
    prepare(&mut node);
    counted(&mut node)
}

fn chromium() -> Result<Option<PathBuf>> {
    let known = ["chromium", "chromium-browser", "google-chrome"];
    installing(|| browser("CHROMIUM", &known, "chromium"))
}

fn firefox() -> Result<Option<PathBuf>> {
    installing(|| browser("FIREFOX", &["firefox-esr", "firefox"], "firefox-esr"))
}

/// A browser's path: what the variable names, one of the known commands, or what the Debian package brings where that can be installed.
fn browser(variable: &str, known: &[&str], package: &str) -> Result<Option<PathBuf>> {
    let find = || known.iter().find(|name| available(name)).map(PathBuf::from);
    let set = env::var_os(variable)
        .filter(|path| !path.is_empty())
        .map(PathBuf::from);
    if let Some(path) = set.or_else(find) {
        return output(command("which").arg(path)).map(|path| Some(path.trim().into()));
    }
    let root_user = output(command("id").arg("-u")).is_ok_and(|id| id.trim() == "0");
    if !root_user || !available("apt-get") {
        return Ok(None);
    }
    let mut apt = command("sh");
    apt.arg("-c").arg(format!(
        "apt-get update -q >&2 && apt-get install -q -y --no-install-recommends {package} >&2"
    ));
    apt.env("DEBIAN_FRONTEND", "noninteractive");
    run_command(&mut apt)?;
    output(command("which").arg(package)).map(|path| Some(path.trim().into()))
}

/// Runs a test runner, shows what it prints, and adds up the sums that cargo and Node print.
fn counted(command: &mut Command) -> Result<Count> {
    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .context("could not start the tests")?;
    let lines = BufReader::new(child.stdout.take().context("no output")?).lines();
    let mut count = Count::default();
    for line in lines {
        let line = line?;
        println!("{line}");
        count_line(&line, &mut count);
    }
    let status = child.wait()?;
    if !status.success() && count.failed == 0 {
        count.failed = 1;
    }
    if count.passed + count.failed == 0 {
        bail!("no test ran");
    }
    Ok(count)
}

/// `test result: ok. 3 passed; 0 failed; 1 ignored; …` of cargo, `ℹ pass 3` of Node.
fn count_line(line: &str, count: &mut Count) {
    let words: Vec<&str> = line.split([' ', ';']).filter(|word| !word.is_empty()).collect();
    let mut add = |number: &str, kind: &str| {
        let number: u64 = number.parse().unwrap_or(0);
        match kind {
            "passed" | "pass" => count.passed += number,
            "failed" | "fail" => count.failed += number,
            "ignored" | "skipped" => count.skipped += number,
            _ => {}
        }
    };
    match words.as_slice() {
        ["test", "result:", ..] => words.windows(2).for_each(|pair| add(pair[0], pair[1])),
        ["ℹ", kind, number] => add(number, kind),
        _ => {}
    }
}
