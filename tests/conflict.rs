//! Conflicts in really recorded journals, and that neither the order of the bundles nor a bundle given twice changes anything.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use counterfoil::conflict::{find_conflicts, to_json};
use counterfoil::json::{self, Json};

/// The bundle of a recorded journal: the last state of every intent.
fn bundle(name: &str, edit: impl Fn(&mut Json)) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/journals")
        .join(name);
    let mut intents = BTreeMap::new();
    for line in fs::read_to_string(path).unwrap().lines() {
        let line = json::parse(line).unwrap();
        for op in line.require("ops").unwrap().as_array().unwrap() {
            let key = op.require("key").unwrap().as_string().unwrap();
            if let Some(put) = op.get("put").filter(|_| key.starts_with("intent/")) {
                let mut put = put.clone();
                edit(&mut put);
                intents.insert(key, put);
            }
        }
    }
    assert!(!intents.is_empty(), "{name} holds no intent");
    let payer = intents
        .values()
        .next()
        .unwrap()
        .require("principal")
        .unwrap()
        .clone();
    Json::object([
        ("type", Json::text("counterfoil/bundle")),
        ("v", Json::number(1)),
        ("payer", payer),
        ("intents", Json::Array(intents.into_values().collect())),
    ])
    .to_text()
}

fn codes(bundles: &[&str]) -> Vec<String> {
    find_conflicts(bundles)
        .unwrap()
        .iter()
        .map(|finding| finding.code.as_str().to_owned())
        .collect()
}

const HONEST: [&str; 3] = [
    "answer-lost.jsonl",
    "delivered.jsonl",
    "expired-and-signed-again.jsonl",
];

#[test]
fn recorded_purchases_that_went_well_raise_nothing() {
    let bundles: Vec<String> = HONEST.iter().map(|name| bundle(name, |_| {})).collect();
    let texts: Vec<&str> = bundles.iter().map(String::as_str).collect();
    for text in &texts {
        assert_eq!(codes(&[text]), Vec::<String>::new());
    }
    assert_eq!(codes(&texts), Vec::<String>::new());
    assert_eq!(codes(&[texts.clone(), texts].concat()), Vec::<String>::new());
}

#[test]
fn a_recorded_loss_is_an_open_claim() {
    let lost = bundle("answer-lost-for-good.jsonl", |_| {});
    let found = find_conflicts(&[&lost, &lost]).unwrap();
    let [claim] = found.as_slice() else {
        panic!("{found:?}")
    };
    assert_eq!(claim.code.as_str(), "paid_not_delivered");
    assert_eq!(claim.next.as_str(), "claim");
    let (amount, ..) = claim.amount.clone().unwrap();
    assert_eq!(amount.to_string(), "10000");
    assert_eq!(claim.transactions.len(), 1);
}

/// Another machine with another secret: the same intent, another nonce, another transaction.
fn elsewhere(record: &mut Json) {
    let other = record
        .to_text()
        .replace("0x3797d0369295d486", "0x4797d0369295d486")
        .replace("0x98e46ec229de4a05", "0xa8e46ec229de4a05");
    // What the seller said is base64; the observation names the transaction as well.
    let mut other = json::parse(&other).unwrap();
    let attempts = other.require("attempts").unwrap().as_array().unwrap();
    let attempts = attempts.iter().cloned().map(|attempt| {
        let Json::Object(members) = attempt else { panic!() };
        Json::Object(
            members
                .into_iter()
                .filter(|(name, _)| name != "settlement")
                .collect(),
        )
    });
    let attempts = Json::Array(attempts.collect());
    other.set("attempts", attempts);
    *record = other;
}

#[test]
fn the_order_of_the_bundles_does_not_matter() {
    let (here, there) = ("expired-and-signed-again.jsonl", "answer-lost-for-good.jsonl");
    let bundles = [
        bundle(here, |_| {}),
        bundle(there, |_| {}),
        bundle(here, elsewhere),
    ];
    let [a, b, c] = [bundles[0].as_str(), bundles[1].as_str(), bundles[2].as_str()];
    let expected = to_json(&find_conflicts(&[a, b, c]).unwrap());
    assert_eq!(codes(&[a, b, c]), ["duplicate_charge", "paid_not_delivered"]);
    for order in [[a, c, b], [b, a, c], [b, c, a], [c, a, b], [c, b, a]] {
        assert_eq!(to_json(&find_conflicts(&order).unwrap()), expected);
    }
    assert_eq!(to_json(&find_conflicts(&[a, b, c, b, a]).unwrap()), expected);
}
