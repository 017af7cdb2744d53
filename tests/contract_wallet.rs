//! A payer that is a contract: its signature is asked of the contract before anything is sent, and never called checked without.

#[path = "client/host.rs"]
mod host;

use counterfoil::json::Json;
use counterfoil::wasm;
use host::*;

const YES: &str = "0x1626ba7e00000000000000000000000000000000000000000000000000000000";
const NO: &str = "0xffffffff00000000000000000000000000000000000000000000000000000000";

fn wallet(chain: bool) -> Host {
    let mut host = Host::new(r#"{"perCall":"50000","maxWindow":60}"#, chain);
    host.config = host.config.replacen('{', r#"{"contractWallet":true,"#, 1);
    host
}

/// Up to the signer.
fn asked(host: &mut Host) -> Json {
    assert_eq!(text(&host.fetch(URL), "type"), "send");
    let mut effect = host.on(&price(10_000, SELLER));
    if text(&effect, "type") == "read_chain" {
        let unused = chain(SEPOLIA, &effect, 0, None);
        effect = host.evidence(&unused);
    }
    assert_eq!(text(&effect, "type"), "sign", "{}", effect.to_text());
    effect
}

fn signature(bytes: &str) -> String {
    format!(r#"{{"type":"signed","signature":"{bytes}"}}"#)
}

fn answer(text: &str) -> String {
    format!(r#"{{"type":"contract","answer":"{text}"}}"#)
}

/// `(address, bytes, bytes)` and the word that says so, by hand: three words, the call (empty), the signature of 70 bytes.
fn wrapped() -> String {
    let word = |number: u64| format!("{number:064x}");
    let inner = "ab".repeat(70);
    format!(
        "0x{}{}{}{}{}{inner}{}{}",
        word(0xfac),
        word(0x60),
        word(0x80),
        word(0),
        word(70),
        "00".repeat(26),
        "6492".repeat(16)
    )
}

#[test]
fn the_contract_is_asked_before_anything_is_sent() {
    let mut host = wallet(true);
    asked(&mut host);
    let long = format!("0x{}", "cd".repeat(130));
    let ask = host.on(&signature(&long));
    assert_eq!(text(&ask, "type"), "ask_contract", "{}", ask.to_text());
    let ask = ask.get("ask").unwrap();
    assert_eq!(text(ask, "network"), "eip155:84532");
    let payer = counterfoil::signing::address_of_key(&KEY).unwrap();
    assert_eq!(text(ask, "to"), payer.to_string());
    assert!(text(ask, "data").starts_with("0x1626ba7e"));
    assert!(record(&host).get("attempts").unwrap().as_array().unwrap()[0]
        .get("signature")
        .is_none());
    let sent = host.on(&answer(YES));
    assert_eq!(text(&sent, "type"), "send");
    assert!(sent.get("payment").is_some());
    let attempt = record(&host).get("attempts").unwrap().as_array().unwrap()[0].clone();
    assert_eq!(text(&attempt, "signature"), long);
    assert_eq!(record(&host).get("contractWallet"), Some(&Json::Bool(true)));
}

#[test]
fn what_the_contract_does_not_vouch_for_is_not_sent() {
    let long = format!("0x{}", "cd".repeat(130));
    for (event, code) in [
        (answer(NO), "signer_mismatch"),
        (answer("0x"), "signer_mismatch"),
        (answer("0x1626ba7e"), "signer_mismatch"),
        (answer(&YES.replace("00000000", "00000001")), "signer_mismatch"),
        (r#"{"type":"contract"}"#.to_owned(), "evidence_unreadable"),
        (r#"{"type":"aborted"}"#.to_owned(), "aborted"),
    ] {
        let mut host = wallet(true);
        asked(&mut host);
        assert_eq!(text(&host.on(&signature(&long)), "type"), "ask_contract");
        assert_fails(&host.on(&event), code, "none");
        assert!(host.states().is_empty(), "nothing was signed");
        let held = host
            .rows
            .iter()
            .find(|(key, _)| key.starts_with("wallet/"))
            .unwrap();
        assert!(held.1 .1.contains(r#""entries":[]"#));
    }
    // A signature by its owner's own key counts for nothing here: the token asks the contract, too.
    let mut host = wallet(true);
    let effect = asked(&mut host);
    assert_eq!(text(&host.on(&signed(&effect, &KEY)), "type"), "ask_contract");
    for bad in [
        "0x",
        &format!("0x{}", "6492".repeat(16)),
        &format!("0x{}", "ab".repeat(4097)),
    ] {
        let mut host = wallet(true);
        asked(&mut host);
        assert_fails(&host.on(&signature(bad)), "signature_invalid", "none");
    }
}

#[test]
fn a_wallet_that_is_not_deployed_yet() {
    let mut host = wallet(true);
    asked(&mut host);
    let ask = host.on(&signature(&wrapped()));
    // What is wrapped is asked for, and the whole is sent.
    assert!(text(ask.get("ask").unwrap(), "data").contains(&"ab".repeat(70)));
    assert!(!text(ask.get("ask").unwrap(), "data").contains("6492"));
    let sent = host.on(&answer("0x"));
    assert_eq!(text(&sent, "type"), "send", "{}", sent.to_text());
    let attempt = record(&host).get("attempts").unwrap().as_array().unwrap()[0].clone();
    assert_eq!(text(&attempt, "signature"), wrapped());
    // One that is there and says no is a no.
    let mut host = wallet(true);
    asked(&mut host);
    host.on(&signature(&wrapped()));
    assert_fails(&host.on(&answer(NO)), "signer_mismatch", "none");
}

#[test]
fn without_an_endpoint_it_is_sent_unchecked_and_never_called_checked() {
    let mut host = wallet(false);
    asked(&mut host);
    let sent = host.on(&signature(&format!("0x{}", "cd".repeat(130))));
    assert!(sent.get("payment").is_some(), "{}", sent.to_text());
    let payer = counterfoil::signing::address_of_key(&KEY).unwrap();
    let verdict = |record: &Json| {
        let bundle = format!(
            r#"{{"type":"counterfoil/bundle","v":1,"exportedAt":{NOW},"payer":"{payer}","intents":[{}]}}"#,
            record.to_text()
        );
        let input = Json::object([("receipt", Json::text(bundle)), ("material", Json::object([]))]);
        let report = wasm::call("verifyReceipt", &input.to_text(), None, None).unwrap();
        let checks = report.get("checks").unwrap().as_array().unwrap();
        let signature = checks
            .iter()
            .find(|check| text(check, "id") == "signature")
            .unwrap();
        (
            text(&report, "verdict").to_owned(),
            text(signature, "state").to_owned(),
        )
    };
    assert_eq!(
        verdict(&record(&host)),
        ("incomplete".to_owned(), "not_checked".to_owned())
    );
    // Without the payer's word that it is a contract, it is no signature at all.
    let mut members = record(&host).as_object().unwrap().to_vec();
    members.retain(|(name, _)| name != "contractWallet");
    assert_eq!(
        verdict(&Json::Object(members)),
        ("failed".to_owned(), "fail".to_owned())
    );
}

#[test]
fn what_only_a_key_can_sign_is_refused() {
    let mut host = wallet(false);
    asked(&mut host);
    host.on(&signature(&format!("0x{}", "cd".repeat(130))));
    host.on(r#"{"type":"answer","answer":{"transport":"timeout"}}"#);
    let ask = host.intent("cancel");
    assert_eq!(text(&ask, "type"), "sign");
    assert_fails(
        &host.on(&signature(&format!("0x{}", "cd".repeat(130)))),
        "contract_signature",
        "possible",
    );
}

#[test]
fn a_payer_that_is_no_contract_stays_strict() {
    let mut host = Host::plain();
    host.ask_signer();
    assert_fails(
        &host.on(&signature(&format!("0x{}", "cd".repeat(130)))),
        "signature_invalid",
        "none",
    );
    let mut host = Host::plain();
    host.ask_signer();
    assert_fails(&host.on(&signature(&wrapped())), "contract_signature", "none");
}
