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
