//! `docs/codes.md` is the registry, written out. `COUNTERFOIL_WRITE=1 cargo test --test manual` writes it anew.

use counterfoil::error::Code;
use std::fmt::Write;

#[test]
fn the_manual_lists_every_code_as_the_registry_has_it() {
    let mut text = String::from(
        "# Error codes\n\nEvery error is a `CounterfoilError` with a permanent `code`, the `field` at fault where there is one, \
         what is known about the `money`, and `next`: the one thing that is safe to do now. Where a call knows more than \
         its code says, `money` and `next` of the error say so.\n\n| code | meaning | next | money |\n|---|---|---|---|\n",
    );
    for code in Code::ALL {
        let (name, next, money) = (code.as_str(), code.next().as_str(), code.money().as_str());
        writeln!(text, "| `{name}` | {} | `{next}` | `{money}` |", code.meaning()).unwrap();
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/codes.md");
    if std::env::var_os("COUNTERFOIL_WRITE").is_some() {
        std::fs::write(path, &text).unwrap();
    }
    assert_eq!(
        std::fs::read_to_string(path).unwrap_or_default(),
        text,
        "docs/codes.md is out of date"
    );
}

/// One cell of README's table: the phrase of a word, which the word's assertion in `tests/js/crash/rows.mjs` stands for.
fn phrase<'a>(table: &'a serde_json::Value, row: &serde_json::Value, column: &str) -> &'a str {
    let word = row[column].as_str().unwrap();
    let phrase = table[column][word].as_str();
    phrase.unwrap_or_else(|| panic!("{}: nothing is said about {column} {word}", row["id"]))
}

#[test]
fn the_readme_says_what_happens_after_a_crash_as_the_tests_prove_it() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let table = std::fs::read_to_string(root.join("tests/crash/rows.json")).unwrap();
    let table: serde_json::Value = serde_json::from_str(&table).unwrap();
    let mut text = String::from(
        "| the process dies | the journal holds | after the restart | killed there by |\n|---|---|---|---|\n",
    );
    let mut seen = std::collections::BTreeSet::new();
    for row in table["rows"].as_array().unwrap() {
        let (id, dies, test) = (&row["id"], &row["dies"], &row["test"]);
        let [id, dies, test] = [id, dies, test].map(|value| value.as_str().unwrap());
        assert!(seen.insert(id), "two rows are called {id}");
        // A test that reads the rows which name it fails when one of them is not met.
        let proof =
            std::fs::read_to_string(root.join(test)).unwrap_or_else(|error| panic!("{id}: {test}: {error}"));
        assert!(
            proof.contains("rowsOf(import.meta.url)"),
            "{id}: {test} proves no rows"
        );
        let (holds, then) = (phrase(&table, row, "holds"), phrase(&table, row, "then"));
        phrase(&table, row, "ends");
        writeln!(text, "| {dies} | {holds} | {then} | [{id}]({test}) |").unwrap();
    }
    let path = root.join("README.md");
    let readme = std::fs::read_to_string(&path).unwrap();
    let (begin, end) = ("<!-- tests/crash/rows.json -->\n", "<!-- end -->\n");
    let (head, rest) = readme.split_once(begin).unwrap();
    let (old, tail) = rest.split_once(end).unwrap();
    if std::env::var_os("COUNTERFOIL_WRITE").is_some() {
        std::fs::write(&path, [head, begin, &text, end, tail].concat()).unwrap();
    } else {
        assert_eq!(old, text, "README.md is out of date");
    }
}
