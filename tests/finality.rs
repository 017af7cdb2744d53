//! Payments that were seen in a block that can still be replaced: read again by every call until a final block shows them, and
//! unknown again where they are gone.

#[path = "client/host.rs"]
mod host;

use counterfoil::json::{self, Json};
use counterfoil::{base64, wasm};
use host::*;

const TIMEOUT: &str = r#"{"type":"answer","answer":{"transport":"timeout"}}"#;

fn is_settled(host: &Host) -> bool {
    let input = format!(r#"{{"record":{}}}"#, Json::text(record(host).to_text()).to_text());
    wasm::call("intentIsSettled", &input, None, None).unwrap() == Json::Bool(true)
}

/// States of what the wallet holds.
fn states_held(host: &Host) -> Vec<String> {
    let wallet = wallet_record(host);
    let entries = wallet.get("entries").unwrap().as_array().unwrap();
    entries
        .iter()
        .map(|entry| text(entry, "state").to_owned())
        .collect()
}

fn is_read(effect: &Json, tag: &str) {
    assert_eq!(text(effect, "type"), "read_chain", "{}", effect.to_text());
    assert_eq!(text(effect.get("read").unwrap(), "tag"), tag);
}

fn resolution(effect: &Json) -> Json {
    assert_eq!(text(effect, "type"), "done", "{}", effect.to_text());
    effect.get("resolution").unwrap().clone()
}

/// The answers of a source, by the tag that is asked for; `seen` is the transfer that it shows.
fn answered(host: &mut Host, read: &Json, state: u8, seen: Option<(&str, u64)>) -> Json {
    let evidence = chain(SEPOLIA, read, state, seen);
    host.evidence(&evidence)
}

/// A final block that lies before whatever happened, then the latest one as given.
fn latest(host: &mut Host, read: &Json, state: u8, seen: Option<(&str, u64)>) -> Json {
    is_read(read, "finalized");
    let read = answered(host, read, 0, None);
    is_read(&read, "latest");
    answered(host, &read, state, seen)
}

/// Sent, then the answer is lost.
fn lost_answer() -> (Host, Json) {
    let mut host = Host::with_chain();
    host.fetch(URL);
    let read = host.on(&price(10_000, SELLER));
    let asked = answered(&mut host, &read, 0, None);
    assert_eq!(text(&host.on(&signed(&asked, &KEY)), "type"), "send");
    let read = host.on(TIMEOUT);
    (host, read)
}

/// Paid as far as the latest block says, and not delivered.
fn seen() -> Host {
    let (mut host, read) = lost_answer();
    let end = latest(&mut host, &read, 1, Some((SELLER, 10_000)));
    assert_fails(&end, "paid_not_delivered", "proven");
    assert_eq!(
        (host.states(), states_held(&host)),
        (vec!["paid".to_owned()], vec!["reserved".to_owned()])
    );
    host
}

#[test]
fn it_is_read_until_a_final_block_shows_it() {
    let mut host = seen();
    for _ in 0..2 {
        let read = host.intent("resume");
        let end = resolution(&latest(&mut host, &read, 1, Some((SELLER, 10_000))));
        assert_eq!(
            (text(&end, "outcome"), end.get("final")),
            ("paid_not_delivered", Some(&Json::Bool(false)))
        );
        assert_eq!(states_held(&host), ["reserved"]);
    }
    let read = host.intent("resume");
    let end = resolution(&answered(&mut host, &read, 1, Some((SELLER, 10_000))));
    assert_eq!(
        (text(&end, "outcome"), end.get("final")),
        ("paid_not_delivered", None)
    );
    assert_eq!(states_held(&host), ["settled"]);
    // Final: nothing is left to read.
    assert_eq!(
        text(&resolution(&host.intent("resume")), "outcome"),
        "paid_not_delivered"
    );
    assert!(!host.alerts.contains(&"payment_vanished".to_owned()));
}

#[test]
fn every_call_reads_it() {
    for mode in ["resume", "release", "claim", "cancel"] {
        is_read(&seen().intent(mode), "finalized");
    }
    is_read(&seen().fetch(URL), "finalized");
}

#[test]
fn where_it_is_gone_it_is_unknown_again() {
    let mut host = seen();
    assert!(record(&host).get("claim").is_some());
    host.now += 100;
    let read = host.intent("resume");
    let end = resolution(&latest(&mut host, &read, 0, None));
    assert_eq!(
        (text(&end, "outcome"), text(&end, "money")),
        ("unknown", "possible")
    );
    assert_eq!(
        (host.states(), states_held(&host)),
        (vec!["sent".to_owned()], vec!["reserved".to_owned()])
    );
    let kept = record(&host);
    assert_eq!((text(&kept, "status"), kept.get("claim")), ("open", None));
    assert_eq!(host.alerts.last().map(String::as_str), Some("payment_vanished"));
    assert_eq!(text(host.findings.last().unwrap(), "severity"), "alert");

    // It lands again, and is final.
    let read = host.intent("resume");
    let end = resolution(&answered(&mut host, &read, 1, Some((SELLER, 10_000))));
    assert_eq!(text(&end, "outcome"), "paid_not_delivered");
    assert_eq!(states_held(&host), ["settled"]);
}

/// While its window is open the same bytes go out again: nothing new is signed.
#[test]
fn what_is_gone_is_sent_again_as_it_was() {
    let mut host = Host::resending(r#"{"perCall":"50000","maxWindow":60}"#, true, 2);
    host.fetch(URL);
    let read = host.on(&price(10_000, SELLER));
    let asked = answered(&mut host, &read, 0, None);
    let first = host.on(&signed(&asked, &KEY));
    let read = host.on(TIMEOUT);
    let again = latest(&mut host, &read, 1, Some((SELLER, 10_000)));
    assert_eq!(again.get("payment"), first.get("payment"));
    let read = host.fetch(URL);
    let wait = latest(&mut host, &read, 0, None);
    assert_eq!(text(&wait, "type"), "wait", "{}", wait.to_text());
    assert_eq!(
        host.on(r#"{"type":"waited"}"#).get("payment"),
        first.get("payment")
    );
}

#[test]
fn proven_dead_after_it_was_seen() {
    let mut host = seen();
    let read = host.intent("resume");
    let evidence = chain_at(NOW + 1_000, SEPOLIA, &read, 0, None);
    let end = resolution(&host.evidence(&evidence));
    assert_eq!((text(&end, "outcome"), text(&end, "money")), ("unpaid", "none"));
    assert_eq!(
        (host.states(), states_held(&host)),
        (vec!["dead".to_owned()], Vec::new())
    );
    assert_eq!(host.alerts.last().map(String::as_str), Some("payment_vanished"));
}

/// A node that has not come as far as the block of the payment can't know.
#[test]
fn a_node_that_lags_says_nothing() {
    let mut host = seen();
    let before = record(&host);
    let read = host.intent("resume");
    let read = answered(&mut host, &read, 0, None);
    let behind = chain(SEPOLIA, &read, 0, None).replace("0x78", "0x63");
    let end = resolution(&host.evidence(&behind));
    assert_eq!(text(&end, "outcome"), "paid_not_delivered");
    assert_eq!(host.states(), ["paid"]);
    assert_eq!(
        record(&host).get("claim").unwrap().get("at"),
        before.get("claim").unwrap().get("at")
    );
    for silent in [r#"{"error":"unreachable"}"#, "{}"] {
        let read = host.intent("resume");
        is_read(&read, "finalized");
        is_read(&host.evidence(silent), "latest");
        assert_eq!(
            text(&resolution(&host.evidence(silent)), "outcome"),
            "paid_not_delivered"
        );
    }
    assert!(!host.alerts.contains(&"payment_vanished".to_owned()));
}

#[test]
fn another_block_may_hold_it_under_another_transaction() {
    let mut host = seen();
    let read = host.intent("claim");
    let asked = latest(&mut host, &read, 1, Some((SELLER, 10_000)));
    let done = host.on(&signed(&asked, &KEY));
    let first = json::parse(text(done.get("resolution").unwrap(), "claim")).unwrap();
    assert_eq!(first.get("final"), Some(&Json::Bool(false)));

    let read = host.intent("claim");
    let elsewhere =
        chain(SEPOLIA, &read, 1, Some((SELLER, 10_000))).replace(&"ab".repeat(32), &"cd".repeat(32));
    let asked = host.evidence(&elsewhere);
    assert_eq!(text(&asked, "type"), "sign", "{}", asked.to_text());
    let done = host.on(&signed(&asked, &KEY));
    let file = text(done.get("resolution").unwrap(), "claim");
    let claim = json::parse(file).unwrap();
    assert_eq!(claim.get("final"), None);
    assert_eq!(text(&claim, "transaction"), format!("0x{}", "cd".repeat(32)));
    let input = format!(
        r#"{{"receipt":{},"material":{{"evidence":{elsewhere}}}}}"#,
        Json::text(file).to_text()
    );
    let report = wasm::call("verifyReceipt", &input, None, None).unwrap();
    assert_eq!(text(&report, "verdict"), "verified", "{}", report.to_text());
}

/// A claim made before its payment is final says so, and can't hide it.
#[test]
fn a_claim_says_that_its_payment_is_not_final() {
    let mut host = seen();
    let read = host.intent("claim");
    let asked = latest(&mut host, &read, 1, Some((SELLER, 10_000)));
    let done = host.on(&signed(&asked, &KEY));
    let file = text(done.get("resolution").unwrap(), "claim");
    let judged = |file: &str| {
        let input = format!(r#"{{"receipt":{}}}"#, Json::text(file).to_text());
        wasm::call("verifyReceipt", &input, None, None).unwrap()
    };
    let report = judged(file);
    assert_eq!(
        report.get("facts").unwrap().get("final"),
        Some(&Json::Bool(false))
    );
    let consistent = |report: &Json| {
        let checks = report.get("checks").unwrap().as_array().unwrap();
        let check = checks
            .iter()
            .find(|check| text(check, "id") == "record.consistent");
        text(check.unwrap(), "state").to_owned()
    };
    assert_eq!(consistent(&report), "pass");
    assert_eq!(
        consistent(&judged(&file.replace(r#""final":false,"#, ""))),
        "fail"
    );
    let bundle = format!(
        r#"{{"type":"counterfoil/bundle","v":1,"payer":{},"intents":[{}]}}"#,
        record(&host).get("principal").unwrap().to_text(),
        record(&host).to_text()
    );
    assert_eq!(
        judged(&bundle).get("facts").unwrap().get("final"),
        Some(&Json::Bool(false))
    );
}

/// The answer was had: it stays had, and the money is watched until it is final.
#[test]
fn a_delivered_purchase_is_watched_until_its_payment_is_final() {
    let mut host = Host::resending(r#"{"perCall":"50000","maxWindow":60}"#, true, 2);
    host.fetch(URL);
    let read = host.on(&price(10_000, SELLER));
    let asked = answered(&mut host, &read, 0, None);
    host.on(&signed(&asked, &KEY));
    let read = host.on(TIMEOUT);
    latest(&mut host, &read, 1, Some((SELLER, 10_000)));
    let deliver = host.on(r#"{"type":"answer","answer":{"status":200,"headers":{}}}"#);
    assert_eq!(text(&deliver, "type"), "deliver");
    let goods = counterfoil::hex::encode(counterfoil::digest::sha256(b"goods"));
    let stored = base64::encode(b"goods");
    host.on(&format!(
        r#"{{"type":"body","status":200,"headers":{{}},"sha256":"{goods}","length":5,"body":"{stored}","complete":true}}"#
    ));
    assert!(!is_settled(&host));

    // Whoever asks for it again gets it, and the chain is read on the way.
    let read = host.fetch(URL);
    assert_eq!(
        text(&latest(&mut host, &read, 1, Some((SELLER, 10_000))), "type"),
        "replay"
    );
    let read = host.intent("resume");
    let end = resolution(&latest(&mut host, &read, 0, None));
    assert_eq!(
        (text(&end, "outcome"), text(&end, "money")),
        ("delivered", "possible")
    );
    assert_eq!(
        (host.states(), states_held(&host)),
        (vec!["sent".to_owned()], vec!["reserved".to_owned()])
    );
    assert_eq!(host.alerts.last().map(String::as_str), Some("payment_vanished"));
    assert!(record(&host).get("delivery").is_some());

    let read = host.intent("resume");
    let end = resolution(&answered(&mut host, &read, 1, Some((SELLER, 10_000))));
    assert_eq!(
        (text(&end, "outcome"), text(&end, "money")),
        ("delivered", "proven")
    );
    assert_eq!(states_held(&host), ["settled"]);
    assert!(is_settled(&host));
}

/// Two windows of one nonce: while the one that was seen may go, the other may come.
#[test]
fn its_siblings_live_until_it_is_final() {
    let (mut host, read) = lost_answer();
    assert_fails(&latest(&mut host, &read, 0, None), "outcome_unknown", "possible");
    host.now += 100;
    let read = host.fetch(URL);
    let probe = latest(&mut host, &read, 0, None);
    assert_eq!(text(&probe, "type"), "send", "{}", probe.to_text());
    let asked = host.on(&price(10_000, SELLER));
    host.on(&signed(&asked, &KEY));
    let read = host.on(TIMEOUT);
    assert_fails(
        &latest(&mut host, &read, 1, Some((SELLER, 10_000))),
        "paid_not_delivered",
        "proven",
    );
    assert_eq!(host.states(), ["sent", "paid"]);
    let read = host.intent("resume");
    answered(&mut host, &read, 1, Some((SELLER, 10_000)));
    assert_eq!(host.states(), ["dead", "paid"]);
}

#[test]
fn other_terms_may_go_as_well() {
    let (mut host, read) = lost_answer();
    let end = latest(&mut host, &read, 1, Some((SELLER, 9_999)));
    assert_fails(&end, "paid_wrong_terms", "proven");
    assert_eq!(
        (host.states(), states_held(&host)),
        (vec!["wrong_terms".to_owned()], vec!["reserved".to_owned()])
    );
    let read = host.intent("resume");
    let end = resolution(&latest(&mut host, &read, 0, None));
    assert_eq!(
        (text(&end, "outcome"), text(&end, "money")),
        ("unknown", "possible")
    );
    assert_eq!(host.states(), ["sent"]);

    let read = host.intent("resume");
    assert_fails(
        &answered(&mut host, &read, 1, Some((SELLER, 9_999))),
        "paid_wrong_terms",
        "proven",
    );
    assert_eq!(states_held(&host), ["settled"]);
}

#[test]
fn what_was_released_is_watched_too() {
    let mut host = seen();
    let read = host.intent("release");
    let end = resolution(&latest(&mut host, &read, 1, Some((SELLER, 10_000))));
    assert_eq!(
        (text(&end, "outcome"), end.get("final")),
        ("released", Some(&Json::Bool(false)))
    );
    assert!(!is_settled(&host));
    let read = host.intent("resume");
    let end = resolution(&latest(&mut host, &read, 0, None));
    assert_eq!(text(&end, "outcome"), "unknown");
    assert_eq!(text(&record(&host), "status"), "open");
}

/// The journal was lost and the latest block alone told of the payment.
#[test]
fn a_lost_history_may_go_as_well() {
    let mut host = Host::with_chain();
    host.fetch(URL);
    let read = host.on(&price(10_000, SELLER));
    let end = answered(&mut host, &read, 1, Some((SELLER, 10_000)));
    assert_fails(&end, "authorization_used", "proven");
    let read = host.intent("resume");
    let end = resolution(&latest(&mut host, &read, 1, Some((SELLER, 10_000))));
    assert_eq!(
        (text(&end, "outcome"), end.get("final")),
        ("paid_not_delivered", Some(&Json::Bool(false)))
    );

    let read = host.fetch(URL);
    let probe = latest(&mut host, &read, 0, None);
    assert_eq!(host.alerts.last().map(String::as_str), Some("payment_vanished"));
    assert_eq!(text(&probe, "type"), "send", "{}", probe.to_text());
    assert!(probe.get("payment").is_none());
    is_read(&host.on(&price(10_000, SELLER)), "latest");
}

/// The seller's word on a settlement is spent money until a final block was read; where the chain refutes it, somebody is told.
#[test]
fn what_a_seller_said_is_watched_until_a_final_block_shows_it() {
    let delivered = || {
        let mut host = Host::resending(r#"{"perCall":"50000","maxWindow":60}"#, true, 2);
        host.fetch(URL);
        let read = host.on(&price(10_000, SELLER));
        let asked = answered(&mut host, &read, 0, None);
        host.on(&signed(&asked, &KEY));
        let settlement = format!(
            r#"{{"success":true,"transaction":"0x{}","network":"eip155:84532"}}"#,
            "ab".repeat(32)
        );
        let settlement = base64::encode(settlement.as_bytes());
        host.on(&format!(
            r#"{{"type":"answer","answer":{{"status":200,"headers":{{"payment-response":"{settlement}"}}}}}}"#
        ));
        let goods = counterfoil::hex::encode(counterfoil::digest::sha256(b"goods"));
        let end = host.on(&format!(
            r#"{{"type":"body","status":200,"headers":{{}},"sha256":"{goods}","length":5,"body":"Z29vZHM=","complete":true}}"#
        ));
        assert_eq!(text(&resolution(&end), "money"), "proven");
        assert_eq!(states_held(&host), ["settled"]);
        assert!(!is_settled(&host));
        host
    };
    // Not there, and it can still land: nothing is concluded.
    let mut host = delivered();
    let read = host.intent("resume");
    latest(&mut host, &read, 0, None);
    assert_eq!(
        (host.states(), states_held(&host)),
        (vec!["sent".to_owned()], vec!["settled".to_owned()])
    );
    assert!(host.alerts.is_empty() && !is_settled(&host));
    // There, and final.
    let read = host.intent("resume");
    answered(&mut host, &read, 1, Some((SELLER, 10_000)));
    assert_eq!(
        (host.states(), states_held(&host)),
        (vec!["paid".to_owned()], vec!["settled".to_owned()])
    );
    assert!(host.alerts.is_empty() && is_settled(&host));
    // Never there, and never will be.
    let mut host = delivered();
    host.now += 1_000;
    let read = host.intent("resume");
    let evidence = chain_at(NOW + 1_000, SEPOLIA, &read, 0, None);
    let end = resolution(&host.evidence(&evidence));
    let said = |end: &Json| (text(end, "outcome").to_owned(), text(end, "money").to_owned());
    assert_eq!(said(&end), ("delivered".to_owned(), "none".to_owned()));
    assert_eq!(host.alerts, ["settlement_vanished"]);
    assert_eq!(
        (host.states(), states_held(&host)),
        (vec!["dead".to_owned()], Vec::new())
    );
    assert!(record(&host).get("delivery").is_some() && is_settled(&host));
    let end = resolution(&host.intent("resume"));
    assert_eq!(said(&end), ("delivered".to_owned(), "none".to_owned()));
    assert_eq!(host.alerts.len(), 1);
}
