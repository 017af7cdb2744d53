//! A claim can't be changed: whatever leaf is another, it is no claim any more or not its payer's.

use counterfoil::json::{self, Json};
use counterfoil::wasm;

/// One claim of every rail with the evidence that proves it.
fn proven() -> Vec<(Json, Json)> {
    let mut found = Vec::new();
    for name in ["claims", "claims-of-every-rail"] {
        let path = format!("{}/tests/receipts/{name}.json", env!("CARGO_MANIFEST_DIR"));
        let file = json::parse(&std::fs::read_to_string(path).unwrap()).unwrap();
        for case in file.get("cases").unwrap().as_array().unwrap() {
            if case.get("id").unwrap().as_str().unwrap().ends_with("-proven") {
                let claim = json::parse(case.get("receipt").unwrap().as_str().unwrap()).unwrap();
                found.push((claim, case.get("material").unwrap().clone()));
            }
        }
    }
    assert_eq!(found.len(), 5);
    found
}

/// The verdict, or the code of the error. What is no claim any more is told so.
fn verdict(claim: &Json, material: &Json) -> String {
    let input = Json::object([
        ("receipt", Json::text(claim.to_text())),
        ("material", material.clone()),
    ]);
    match wasm::call("verifyReceipt", &input.to_text(), None, None) {
        Ok(report) if report.get("facts").unwrap().get("kind") != Some(&Json::text("claim")) => {
            "none".to_owned()
        }
        Ok(report) => report.get("verdict").unwrap().as_string().unwrap(),
        Err(error) => error.code.as_str().to_owned(),
    }
}

/// Another value of the same kind.
fn another(leaf: &Json) -> Json {
    match leaf {
        Json::Bool(value) => Json::Bool(!value),
        Json::Number(number) => Json::Number(format!("{number}1")),
        Json::String(text) => {
            // A digit before the last, so that a checksum or a prefix is not what tells.
            let last = text.chars().last().unwrap_or('0');
            let digit = if last == '1' { '2' } else { '1' };
            Json::text(format!("{}{digit}", &text[..text.len() - last.len_utf8()]))
        }
        Json::Null => Json::text(format!("0x{}", "11".repeat(32))),
        other => other.clone(),
    }
}

/// Every value that differs from `json` in one leaf, or lacks one member.
fn changes(json: &Json) -> Vec<Json> {
    let mut found = Vec::new();
    match json {
        Json::Object(members) => {
            for (at, (name, value)) in members.iter().enumerate() {
                for changed in changes(value) {
                    let mut other = members.clone();
                    other[at] = (name.clone(), changed);
                    found.push(Json::Object(other));
                }
                let mut without = members.clone();
                without.remove(at);
                found.push(Json::Object(without));
            }
        }
        Json::Array(items) => {
            for at in 0..items.len() {
                for changed in changes(&items[at]) {
                    let mut other = items.clone();
                    other[at] = changed;
                    found.push(Json::Array(other));
                }
                let mut without = items.clone();
                without.remove(at);
                found.push(Json::Array(without));
            }
        }
        leaf => found.push(another(leaf)),
    }
    found
}

#[test]
fn every_change_is_noticed() {
    for (claim, material) in proven() {
        assert_eq!(verdict(&claim, &material), "verified");
        let changes = changes(&claim);
        assert!(changes.len() > 200, "{} changes", changes.len());
        for changed in changes {
            let verdict = verdict(&changed, &material);
            assert!(
                verdict != "verified" && verdict != "incomplete",
                "{verdict}: {}",
                changed.to_text()
            );
        }
    }
}

/// Where the member stands says nothing: a claim is its members.
#[test]
fn order_of_members_does_not_count() {
    for (claim, material) in proven() {
        let mut members = claim.as_object().unwrap().to_vec();
        members.reverse();
        assert_eq!(verdict(&Json::Object(members), &material), "verified");
    }
}
