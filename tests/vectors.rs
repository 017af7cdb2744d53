//! Runs every vector through the dispatch that JavaScript uses. A vector is one file: `{id, source, call, input | inputText,
//! bytes?, secret?, expected | error}`; `inputText` is a JSON text handed over as it is, right or wrong; `bytes` and `secret`
//! are 0x texts, `error` is `{code, field?}` or a code.

use std::fs;
use std::path::{Path, PathBuf};

use counterfoil::json::{self, Json};
use counterfoil::{hex, wasm};

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "json") {
            found.push(path);
        }
    }
}

fn attachment(vector: &Json, name: &str) -> Option<Vec<u8>> {
    vector
        .get(name)
        .map(|text| hex::decode(text.as_str().unwrap()).unwrap())
}

fn run(vector: &Json) -> Result<(), String> {
    let call = vector
        .require("call")
        .and_then(Json::as_str)
        .map_err(|e| e.to_string())?;
    let input = match vector.get("inputText") {
        Some(text) => text.as_str().unwrap().to_owned(),
        None => vector.require("input").map_err(|e| e.to_string())?.to_text(),
    };
    let secret = attachment(vector, "secret").map(zeroize::Zeroizing::new);
    let actual = wasm::call(call, &input, attachment(vector, "bytes"), secret);
    // `get` would take an expected null for absence.
    let expected = vector
        .as_object()
        .unwrap()
        .iter()
        .find(|(name, _)| name == "expected");
    match (expected.map(|(_, value)| value), vector.get("error"), actual) {
        (Some(expected), None, Ok(actual)) => {
            let (want, got) = (expected.to_canonical().unwrap(), actual.to_canonical().unwrap());
            (want == got)
                .then_some(())
                .ok_or(format!("expected {want}\n     got {got}"))
        }
        (None, Some(error), Err(actual)) => {
            let code = error.get("code").unwrap_or(error).as_str().unwrap();
            let field = error.get("field").map(|field| field.as_str().unwrap());
            let same = code == actual.code.as_str() && field.is_none_or(|field| field == actual.field);
            same.then_some(())
                .ok_or(format!("expected error {code} {field:?}, got {actual}"))
        }
        (expected, error, actual) => Err(format!(
            "expected {expected:?} or error {error:?}, got {actual:?}"
        )),
    }
}

#[test]
fn every_vector() {
    let mut found = Vec::new();
    files(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors"),
        &mut found,
    );
    let mut failures = Vec::new();
    for path in &found {
        let vector = json::parse(&fs::read_to_string(path).unwrap()).unwrap();
        if let Err(why) = run(&vector) {
            failures.push(format!("{}\n     {why}", path.display()));
        }
    }
    assert!(!found.is_empty(), "no vector found");
    println!("{} vectors", found.len());
    assert!(
        failures.is_empty(),
        "{} of {} vectors fail:\n{}",
        failures.len(),
        found.len(),
        failures.join("\n")
    );
}
