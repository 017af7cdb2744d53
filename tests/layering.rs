//! The architecture, checked: modules import only from above, the core has no clock, randomness, input or output, and
//! only the boundary knows JavaScript.

use std::fs;
use std::path::{Path, PathBuf};

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else {
            found.push(path);
        }
    }
}

/// Every source file with the module of the crate root that it belongs to.
fn files() -> Vec<(String, PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    sources(&root, &mut found);
    found
        .into_iter()
        .map(|path| {
            let first = path.strip_prefix(&root).unwrap().components().next().unwrap();
            let module = first
                .as_os_str()
                .to_str()
                .unwrap()
                .trim_end_matches(".rs")
                .to_owned();
            let text = fs::read_to_string(&path).unwrap();
            (module, path, text)
        })
        .filter(|(module, ..)| module != "lib")
        .collect()
}

fn order() -> Vec<String> {
    include_str!("../src/lib.rs")
        .lines()
        .filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';'))
        .map(str::to_owned)
        .collect()
}

/// Modules named after `crate::`, inside groups too.
fn imported(text: &str) -> Vec<String> {
    let word = |text: &str| {
        text.chars()
            .take_while(|c| c.is_alphanumeric() || *c == '_')
            .collect::<String>()
    };
    let mut names = Vec::new();
    for part in text.split("crate::").skip(1) {
        match part.strip_prefix('{') {
            Some(group) => names.extend(
                group
                    .split('}')
                    .next()
                    .unwrap()
                    .split(',')
                    .map(|name| word(name.trim())),
            ),
            None => names.push(word(part)),
        }
    }
    names.retain(|name| name.chars().next().is_some_and(char::is_lowercase));
    names
}

#[test]
fn modules_import_only_from_above() {
    let order = order();
    let place = |name: &str| order.iter().position(|known| known == name);
    let mut wrong = Vec::new();
    for (module, path, text) in files() {
        let own = place(&module).unwrap_or_else(|| panic!("lib.rs does not list {module}"));
        for name in imported(&text) {
            let other = place(&name).unwrap_or_else(|| panic!("{}: no module {name}", path.display()));
            if other > own {
                wrong.push(format!(
                    "{}: {module} imports {name}, which stands below it",
                    path.display()
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_core_is_pure() {
    let forbidden = [
        "std::time",
        "std::fs",
        "std::net",
        "std::env",
        "std::thread",
        "std::process",
        "std::io",
        "SystemTime",
        "Instant::",
        "getrandom",
        "rand::",
        "OsRng",
        "async fn",
        "static mut",
        "thread_local",
        "println!",
        "eprintln!",
    ];
    for (module, path, text) in files() {
        for word in forbidden {
            assert!(!text.contains(word), "{}: {word}", path.display());
        }
        let javascript = text.contains("wasm_bindgen") || text.contains("js_sys");
        assert!(
            !javascript || module == "wasm",
            "{} knows JavaScript",
            path.display()
        );
    }
}

/// Verification runs in variable time: no module between the two may pass a secret on.
#[test]
fn signing_and_fast_verification_do_not_reach_each_other() {
    let files = files();
    let reached = |from: &str| {
        let mut reached = std::collections::BTreeSet::from([from.to_owned()]);
        loop {
            let more: Vec<String> = files
                .iter()
                .filter(|(module, ..)| reached.contains(module))
                .flat_map(|(.., text)| imported(text))
                .filter(|name| !reached.contains(name))
                .collect();
            if more.is_empty() {
                return reached;
            }
            reached.extend(more);
        }
    };
    let (signing, secp256k1) = (reached("signing"), reached("secp256k1"));
    assert!(signing.contains("address") && secp256k1.contains("address"));
    assert!(!signing.contains("secp256k1"), "{signing:?}");
    assert!(!secp256k1.contains("signing"), "{secp256k1:?}");
    // Its arithmetic is its own: the libraries that it is tested against, and that signing uses, have no part in it.
    for (_, path, text) in files
        .iter()
        .filter(|(_, path, _)| path.parent().unwrap().ends_with("secp256k1"))
    {
        assert!(
            !text.contains("k256::") && !text.contains("zeroize"),
            "{}",
            path.display()
        );
    }
}

#[test]
fn the_wasm_tree_has_no_source_of_randomness() {
    let lock = include_str!("../Cargo.lock");
    // Not offline: on a fresh machine the crates of another target are not fetched yet.
    let output = std::process::Command::new(env!("CARGO"))
        .args([
            "tree",
            "--locked",
            "--package",
            "counterfoil",
            "--edges",
            "normal",
        ])
        .args(["--target", "wasm32-unknown-unknown", "--prefix", "none"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    let tree = String::from_utf8(output.stdout).unwrap();
    assert!(
        tree.contains("k256 ") && lock.contains("name = \"k256\""),
        "cargo tree says nothing: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(!tree.contains("getrandom"), "{tree}");
}
