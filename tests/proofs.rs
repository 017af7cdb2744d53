//! Evidence with proofs, every alteration of it refused for its own reason, and what a receipt's report makes of proofs.

use std::fs;
use std::path::Path;

use counterfoil::json::{self, Json};
use counterfoil::wasm;

fn recorded() -> Json {
    recorded_in("cases.json")
}

fn recorded_in(file: &str) -> Json {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/proofs")
        .join(file);
    json::parse(&fs::read_to_string(path).unwrap()).unwrap()
}

/// The member of that path, to be replaced.
fn at<'a>(json: &'a mut Json, path: &str) -> &'a mut Json {
    path.split('.').fold(json, |json, name| match json {
        Json::Array(items) => &mut items[name.parse::<usize>().unwrap()],
        Json::Object(members) => {
            if !members.iter().any(|(known, _)| known == name) {
                members.push((name.to_owned(), Json::Null));
            }
            let member = members.iter_mut().find(|(known, _)| known == name);
            &mut member.unwrap().1
        }
        _ => panic!("{path}: nothing is at {name}"),
    })
}

/// `{repeat, times}` stands for a long array.
fn spelt(value: &Json) -> Json {
    match value.get("times") {
        Some(times) => Json::Array(vec![
            value.get("repeat").unwrap().clone();
            times.as_u64().unwrap() as usize
        ]),
        None => value.clone(),
    }
}

fn resolve(base: &Json) -> Json {
    let input = Json::object([
        (
            "authorizations",
            Json::Array(vec![base.get("authorization").unwrap().clone()]),
        ),
        ("ctx", base.get("ctx").unwrap().clone()),
        (
            "evidence",
            Json::Array(vec![base.get("evidence").unwrap().clone()]),
        ),
    ]);
    wasm::call("resolve", &input.to_text(), None, None).unwrap()
}

#[test]
fn every_alteration_is_refused_for_its_own_reason() {
    assert!(refused(&recorded()) > 60);
}

#[test]
fn every_alteration_of_what_permit2_holds_is_refused_for_its_own_reason() {
    assert!(refused(&recorded_in("permit2.json")) > 30);
}

/// How many of these cases are unreadable, each as it says.
fn refused(recorded: &Json) -> usize {
    let mut unreadable = 0;
    for case in recorded.get("cases").unwrap().as_array().unwrap() {
        let base = case.get("of").unwrap().as_str().unwrap();
        let mut base = recorded.get("bases").unwrap().get(base).unwrap().clone();
        for (path, value) in case.get("set").unwrap().as_object().unwrap() {
            *at(&mut base, path) = spelt(value);
        }
        let found = resolve(&base);
        let both = |json: &Json| (json.get("verdict").cloned(), json.get("reasons").cloned());
        assert_eq!(both(&found), both(case), "{}", case.get("why").unwrap().to_text());
        let proved = case
            .get("reasons")
            .unwrap()
            .as_array()
            .unwrap()
            .contains(&Json::text("proved"));
        assert_eq!(found.get("provedIn").is_some(), proved);
        unreadable += usize::from(found.get("verdict") == Some(&Json::text("unreadable")));
    }
    unreadable
}

/// A bare settlement response with the recorded evidence; `trust` is the caller's.
fn report(trust: Json, transaction: Option<&str>) -> Json {
    let recorded = recorded();
    let paid = recorded.get("bases").unwrap().get("paid").unwrap();
    let (authorization, evidence) = (paid.get("authorization").unwrap(), paid.get("evidence").unwrap());
    let own = evidence.get("receipt").unwrap().get("transactionHash").unwrap();
    let settlement = Json::object([
        ("success", Json::Bool(true)),
        ("network", Json::text("eip155:84532")),
        ("transaction", transaction.map_or(own.clone(), Json::text)),
        ("payer", authorization.get("from").unwrap().clone()),
    ]);
    let domain = Json::object([
        ("name", Json::text("USDC")),
        ("version", Json::text("2")),
        ("chainId", Json::number(84532)),
        (
            "verifyingContract",
            Json::text("0x036CbD53842c5426634e7929541eC2318f3dCF7e"),
        ),
    ]);
    let material = Json::object([
        ("authorization", authorization.clone()),
        ("domain", domain),
        ("evidence", evidence.clone()),
        ("trust", trust),
    ]);
    let input = Json::object([
        ("receipt", Json::text(settlement.to_text())),
        ("material", material),
    ]);
    wasm::call("verifyReceipt", &input.to_text(), None, None).unwrap()
}

fn check(report: &Json, id: &str) -> (String, String) {
    let checks = report.get("checks").unwrap().as_array().unwrap();
    let check = checks
        .iter()
        .find(|check| check.get("id") == Some(&Json::text(id)))
        .unwrap();
    let text = |name: &str| check.get(name).unwrap().as_str().unwrap().to_owned();
    (text("state"), text("why"))
}

fn trusting(hashes: &[&str]) -> Json {
    let hashes = hashes.iter().map(|hash| Json::text(*hash)).collect();
    Json::object([("blockHashes", Json::Array(hashes))])
}

#[test]
fn a_receipt_is_verified_by_proof_under_the_callers_block_hash() {
    let recorded = recorded();
    let evidence = recorded
        .get("bases")
        .unwrap()
        .get("paid")
        .unwrap()
        .get("evidence")
        .unwrap();
    let block = evidence.get("receipt").unwrap().get("blockHash").unwrap();
    let proven = report(trusting(&[block.as_str().unwrap()]), None);
    let (state, why) = check(&proven, "chain.source");
    assert_eq!(state, "pass");
    assert!(why.contains(block.as_str().unwrap()), "{why}");
    for id in ["chain.authorization", "chain.transfer", "chain.finality"] {
        assert_eq!(check(&proven, id).0, "pass", "{id}");
    }
    // The receipt in the block does not hold the transaction's hash; another one is still a contradiction.
    assert_eq!(check(&proven, "settlement.transaction").0, "not_checked");
    let other = format!("0x{}", "77".repeat(32));
    let differs = report(trusting(&[block.as_str().unwrap()]), Some(&other));
    assert_eq!(check(&differs, "settlement.transaction").0, "fail");

    // Another block's hash, or none: the source is not trusted, and nothing is proven.
    for hashes in [&[other.as_str()][..], &[]] {
        let unproven = report(trusting(hashes), None);
        assert_eq!(unproven.get("verdict"), Some(&Json::text("incomplete")));
        let (state, why) = check(&unproven, "chain.source");
        assert_eq!(state, "not_checked");
        assert!(why.contains("included_in_given_header"), "{why}");
        assert_eq!(check(&unproven, "chain.transfer").0, "not_checked");
    }
    // Without block hashes the source is trusted, as ever.
    let told = report(Json::object([]), None);
    assert_eq!(check(&told, "chain.transfer").0, "pass");
    assert!(!check(&told, "chain.source").1.contains("Proven"));
}

#[test]
fn trust_that_is_no_list_of_hashes_is_an_error() {
    for (trust, code, field) in [
        (Json::text("0x"), "invalid_type", "material.trust"),
        (
            trusting(&["0x11"]),
            "hex_invalid",
            "material.trust.blockHashes[0]",
        ),
        (
            Json::object([("layouts", Json::Array(vec![Json::object([])]))]),
            "missing_field",
            "material.trust.layouts[0].codeHash",
        ),
    ] {
        let input = Json::object([
            (
                "receipt",
                Json::text(r#"{"success":true,"network":"eip155:84532","transaction":"0x"}"#),
            ),
            ("material", Json::object([("trust", trust)])),
        ]);
        let error = wasm::call("verifyReceipt", &input.to_text(), None, None).unwrap_err();
        assert_eq!((error.code.as_str(), error.field.as_str()), (code, field));
    }
}
