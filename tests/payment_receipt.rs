//! What a `Payment-Receipt` proves: alone nothing, with the challenge and reads of the chain as much as they confirm.

#[path = "client/host.rs"]
mod host;

use counterfoil::json::{self, Json};
use counterfoil::{base64, signing, wasm};
use host::{chain, text, KEY, NOW, SELLER, SEPOLIA, TOKEN};

/// What every transaction of the reads is called.
const HASH: &str = "0xabababababababababababababababababababababababababababababababab";
/// Keccak-256 of `c1api.example`, by viem.
const NONCE: &str = "0x83cf482312169b9466e725bfc114888750c31835e003a2ad74de8c68447c3b7a";

fn receipt(members: &str) -> Json {
    let json = format!(
        r#"{{"method":"evm","reference":"{HASH}","status":"success","timestamp":"2026-09-21T14:13:20Z"}}"#
    );
    let mut receipt = json::parse(&json).unwrap();
    let more = json::parse(&format!("{{{members}}}")).unwrap();
    for (name, value) in more.as_object().unwrap() {
        receipt.set(name, value.clone());
    }
    receipt
}

fn header(receipt: &Json) -> String {
    base64::encode_url(receipt.to_text().as_bytes())
}

fn challenge(id: &str) -> String {
    let request = format!(
        r#"{{"amount":"10000","currency":"{TOKEN}","externalId":"order-1","methodDetails":{{"chainId":84532,"credentialTypes":["authorization"]}},"recipient":"{SELLER}"}}"#
    );
    let request = base64::encode_url(request.as_bytes());
    format!(
        r#""challenge":{{"id":"{id}","realm":"api.example","method":"evm","intent":"charge","request":"{request}"}}"#
    )
}

fn authorization(nonce: &str, value: u64) -> String {
    let payer = signing::address_of_key(&KEY).unwrap();
    format!(
        r#""authorization":{{"from":"{payer}","to":"{SELLER}","value":"{value}","validAfter":"0","validBefore":"{}","nonce":"{nonce}"}},"domain":{{"name":"USDC","version":"2","chainId":84532,"verifyingContract":"{TOKEN}"}}"#,
        NOW + 60
    )
}

/// Reads in which this amount moved under the nonce.
fn moved(nonce: &str, value: u64) -> String {
    let payer = signing::address_of_key(&KEY).unwrap();
    let read = format!(r#"{{"read":{{"payer":"{payer}","nonce":"{nonce}","tag":"finalized"}}}}"#);
    let evidence = chain(SEPOLIA, &json::parse(&read).unwrap(), 1, Some((SELLER, value)));
    format!(r#""evidence":[{evidence}]"#)
}

/// Verdict, standing, and the checks that failed.
fn judged(receipt: &str, material: &[&str]) -> (String, String, Vec<String>) {
    let material = json::parse(&format!("{{{}}}", material.join(","))).unwrap();
    let input = Json::object([("receipt", Json::text(receipt)), ("material", material)]);
    let report = wasm::call("verifyReceipt", &input.to_text(), None, None).unwrap();
    let facts = report.get("facts").unwrap();
    assert_eq!(text(facts, "kind"), "payment_receipt");
    let proves_no_author = report.get("doesNotProve").unwrap().to_text();
    assert!(proves_no_author.contains("no signature of the seller"));
    let failed = report.get("checks").unwrap().as_array().unwrap().iter();
    let failed = failed.filter(|check| text(check, "state") == "fail");
    (
        text(&report, "verdict").to_owned(),
        text(facts, "standing").to_owned(),
        failed.map(|check| text(check, "id").to_owned()).collect(),
    )
}

fn stands(receipt: &Json, material: &[&str], verdict: &str, standing: &str, failed: &[&str]) {
    // As a header value and as the JSON that a tool call carries.
    for form in [header(receipt), receipt.to_text()] {
        let (got, stood, found) = judged(&form, material);
        assert_eq!((got.as_str(), stood.as_str()), (verdict, standing));
        assert_eq!(found, failed);
    }
}

#[test]
fn each_step_needs_the_one_before() {
    let plain = receipt("");
    let (c1, signed, chain) = (
        challenge("c1"),
        authorization(NONCE, 10_000),
        moved(NONCE, 10_000),
    );
    stands(&plain, &[], "incomplete", "parsed", &[]);
    stands(&plain, &[&c1], "incomplete", "consistent_with_challenge", &[]);
    stands(&plain, &[&signed, &chain], "incomplete", "parsed", &[]);
    stands(
        &plain,
        &[&c1, &signed],
        "incomplete",
        "consistent_with_challenge",
        &[],
    );
    stands(
        &plain,
        &[&c1, &signed, &chain],
        "verified",
        "bound_to_challenge",
        &[],
    );
}

#[test]
fn what_contradicts_the_challenge() {
    let (c1, signed, chain) = (
        challenge("c1"),
        authorization(NONCE, 10_000),
        moved(NONCE, 10_000),
    );
    for members in [
        r#""method":"tempo""#,
        r#""challengeId":"c2""#,
        r#""externalId":"order-2""#,
    ] {
        let other = receipt(members);
        let material = [c1.as_str(), &signed, &chain];
        stands(&other, &material, "failed", "parsed", &["receipt.challenge"]);
    }
    let same = receipt(r#""challengeId":"c1","externalId":"order-1","chainId":84532"#);
    stands(
        &same,
        &[&c1, &signed, &chain],
        "verified",
        "bound_to_challenge",
        &[],
    );
}

#[test]
fn another_transaction_is_not_the_one_that_paid() {
    let (c1, signed, chain) = (
        challenge("c1"),
        authorization(NONCE, 10_000),
        moved(NONCE, 10_000),
    );
    let other = receipt(&format!(r#""reference":"0x{}""#, "cd".repeat(32)));
    let failed = ["settlement.transaction"];
    stands(
        &other,
        &[&c1, &signed, &chain],
        "failed",
        "consistent_with_challenge",
        &failed,
    );
    // What is no transaction can't be compared with one.
    let none = receipt(r#""reference":"c1""#);
    stands(
        &none,
        &[&c1, &signed, &chain],
        "incomplete",
        "consistent_with_challenge",
        &[],
    );
}

#[test]
fn another_amount_moved() {
    let (c1, signed, chain) = (challenge("c1"), authorization(NONCE, 10_000), moved(NONCE, 9_999));
    let failed = ["chain.transfer"];
    stands(
        &receipt(""),
        &[&c1, &signed, &chain],
        "failed",
        "reference_found_on_chain",
        &failed,
    );
}

#[test]
fn another_amount_was_signed_than_asked() {
    let (c1, signed, chain) = (challenge("c1"), authorization(NONCE, 9_999), moved(NONCE, 9_999));
    let failed = ["authorization.terms"];
    stands(
        &receipt(""),
        &[&c1, &signed, &chain],
        "failed",
        "bound_to_challenge",
        &failed,
    );
}

/// A payment of the same amount to the same recipient that was made for something else.
#[test]
fn another_nonce_is_another_challenge() {
    let nonce = format!("0x{}", "11".repeat(32));
    let (signed, chain) = (authorization(&nonce, 10_000), moved(&nonce, 10_000));
    let failed = ["authorization.nonce"];
    let standing = "amount_recipient_currency_match";
    stands(
        &receipt(""),
        &[&challenge("c1"), &signed, &chain],
        "failed",
        standing,
        &failed,
    );
}

#[test]
fn a_time_that_has_not_come() {
    for (now, verdict, failed) in [
        (NOW, "incomplete", vec![]),
        (NOW - 300, "incomplete", vec![]),
        (NOW - 301, "failed", vec!["receipt.time"]),
    ] {
        let now = format!(r#""now":{now}"#);
        stands(&receipt(""), &[&now], verdict, "parsed", &failed);
    }
}

#[test]
fn a_settlement_response_and_a_gateways_receipt_stay_what_they_are() {
    for (document, kind) in [
        (
            r#"{"success":true,"transaction":"","network":"eip155:84532","payer":"0x209693Bc6afc0C5328bA36FaF03C514EF312287C"}"#,
            "settlement",
        ),
        (
            r#"{"status":"success","method":"GET","timestamp":"2026-09-21T14:13:20Z","sha256":"0xabababababababababababababababababababababababababababababababab"}"#,
            "receipt",
        ),
    ] {
        let input = Json::object([("receipt", Json::text(document)), ("material", Json::object([]))]);
        let report = wasm::call("verifyReceipt", &input.to_text(), None, None).unwrap();
        assert_eq!(text(report.get("facts").unwrap(), "kind"), kind);
    }
}

#[test]
fn a_malformed_one_is_refused() {
    for members in [
        r#""status":"pending""#,
        r#""timestamp":"now""#,
        r#""reference":"""#,
        r#""reference":7"#,
    ] {
        for form in [header(&receipt(members)), receipt(members).to_text()] {
            let input = Json::object([("receipt", Json::text(form)), ("material", Json::object([]))]);
            let error = wasm::call("verifyReceipt", &input.to_text(), None, None).unwrap_err();
            assert_eq!(error.code.as_str(), "receipt_invalid", "{members}");
        }
    }
}
