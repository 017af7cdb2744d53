//! Every way in which a purchase ends without an answer, one by one, through the dispatch that JavaScript uses.

#[path = "client/host.rs"]
mod host;

use counterfoil::json::Json;
use counterfoil::{base64, hex, wasm};
use host::*;

// ---------------------------------------------------------------- before anything is signed

#[test]
fn redirected() {
    let mut host = Host::plain();
    host.fetch(URL);
    let event = price(10_000, SELLER).replace(r#""answer","#, r#""answer","redirected":true,"#);
    assert_fails(&host.on(&event), "redirected", "none");
    assert!(host.rows.is_empty());
}

#[test]
fn policy_missing() {
    let mut host = Host::new("{}", false);
    host.fetch(URL);
    assert_fails(&host.on(&price(10_000, SELLER)), "policy_missing", "none");
}

#[test]
fn over_cap() {
    let mut host = Host::plain();
    host.fetch(URL);
    assert_fails(&host.on(&price(50_001, SELLER)), "over_cap", "none");
}

#[test]
fn approval_denied() {
    let mut host = Host::new(r#"{"perCall":"9999","approve":true}"#, false);
    host.fetch(URL);
    assert_eq!(text(&host.on(&price(10_000, SELLER)), "type"), "ask");
    assert_fails(
        &host.on(r#"{"type":"approved","yes":false}"#),
        "approval_denied",
        "none",
    );
}

#[test]
fn chain_mismatch() {
    let mut host = Host::with_chain();
    host.fetch(URL);
    let read = host.on(&price(10_000, SELLER));
    assert_fails(
        &host.evidence(&chain("0x2105", &read, 0, None)),
        "chain_mismatch",
        "none",
    );
}

#[test]
fn evidence_unreadable_before_signing() {
    let mut host = Host::with_chain();
    host.fetch(URL);
    host.on(&price(10_000, SELLER));
    assert_fails(
        &host.evidence(r#"{"error":"unreachable"}"#),
        "evidence_unreadable",
        "none",
    );
}

#[test]
fn used_or_cancelled_before_signing() {
    let mut host = Host::with_chain();
    host.fetch(URL);
    let read = host.on(&price(10_000, SELLER));
    // What the latest block calls taken may be a cancellation, which only a final block knows.
    let again = host.evidence(&chain(SEPOLIA, &read, 1, None));
    assert_eq!(text(again.get("read").unwrap(), "tag"), "finalized");
    assert_fails(
        &host.evidence(&chain(SEPOLIA, &again, 1, None)),
        "used_or_cancelled",
        "possible",
    );
    host.fetch(URL);
    let read = host.on(&price(10_000, SELLER));
    let again = host.evidence(&chain(SEPOLIA, &read, 1, None));
    // The final block lies behind: nothing is signed for a nonce that is taken.
    assert_fails(
        &host.evidence(&chain(SEPOLIA, &again, 0, None)),
        "used_or_cancelled",
        "possible",
    );
}

#[test]
fn a_lost_journal_passes_over_a_nonce_that_was_cancelled() {
    let mut host = Host::with_chain();
    host.fetch(URL);
    let read = host.on(&price(10_000, SELLER));
    let cancelled = |read: &Json| {
        let used = chain(SEPOLIA, read, 1, Some((SELLER, 1)));
        let kind = "0x1cdd46ff242716cdaa72d159d339a485b3438398348d68f09d7c8c0a59353d81";
        used.replace(host::USED, kind)
    };
    let again = host.evidence(&cancelled(&read));
    assert_eq!(text(again.get("read").unwrap(), "tag"), "finalized");
    let next = host.evidence(&cancelled(&again));
    let nonce = |read: &Json| text(read.get("read").unwrap(), "nonce").to_owned();
    assert_ne!(nonce(&next), nonce(&read));
    let asked = host.evidence(&chain(SEPOLIA, &next, 0, None));
    let signed_for = text(asked.get("sign").unwrap().get("authorization").unwrap(), "nonce").to_owned();
    assert_eq!(signed_for, nonce(&next));
}

#[test]
fn authorization_used_with_a_claim() {
    let mut host = Host::with_chain();
    host.fetch(URL);
    let read = host.on(&price(10_000, SELLER));
    let end = host.evidence(&chain(SEPOLIA, &read, 1, Some((SELLER, 10_000))));
    assert_fails(&end, "authorization_used", "proven");
    assert!(host
        .rows
        .values()
        .any(|(_, record)| record.contains(r#""why":"history_lost""#)));
}

// ---------------------------------------------------------------- at the signer

#[test]
fn signer_failed() {
    let mut host = Host::plain();
    host.ask_signer();
    assert_fails(&host.on(r#"{"type":"sign_failed"}"#), "signer_failed", "none");
}

/// A price that fits its header, and a payment that does not: it was signed, never sent, and nothing is held for it.
#[test]
fn too_large_to_send() {
    let mut host = Host::plain();
    host.fetch(URL);
    let note = "x".repeat(11_850);
    let asked = host.on(&priced(&format!(
        r#"{{"x402Version":2,"resource":{{"url":"{URL}"}},"accepts":[{{"scheme":"exact","network":"eip155:84532","amount":"10000","asset":"{TOKEN}","payTo":"{SELLER}","maxTimeoutSeconds":60,"extra":{{"name":"USDC","version":"2"}}}}],"extensions":{{"note":{{"text":"{note}"}}}}}}"#
    )));
    assert_eq!(text(&asked, "type"), "sign");
    assert_fails(&host.on(&signed(&asked, &KEY)), "too_large", "none");
    assert!(host.states().is_empty());
    assert!(held(&host).is_empty());
}

#[test]
fn aborted() {
    let mut host = Host::plain();
    host.ask_signer();
    assert_fails(&host.on(r#"{"type":"aborted"}"#), "aborted", "none");
}

#[test]
fn signer_mismatch() {
    let mut host = Host::plain();
    let asked = host.ask_signer();
    assert_fails(&host.on(&signed(&asked, &OTHER_KEY)), "signer_mismatch", "none");
}

#[test]
fn signature_invalid() {
    let mut host = Host::plain();
    host.ask_signer();
    let end = host.on(r#"{"type":"signed","signature":"0x00"}"#);
    assert_fails(&end, "signature_invalid", "none");
}

#[test]
fn expired_before_send() {
    let mut host = Host::plain();
    let asked = host.ask_signer();
    host.now += 60;
    assert_fails(&host.on(&signed(&asked, &KEY)), "expired_before_send", "none");
}

/// What ends a call, by the code it ends with.
type Ending = Box<dyn Fn(&mut Host) -> Json>;

/// Whatever fails at a second signature, the first authorization may have landed: no failure says that no money moved.
#[test]
fn a_failure_after_a_send_leaves_the_money_possible() {
    let mut endings: Vec<(&str, Ending)> = vec![
        (
            "policy_missing",
            Box::new(|host| {
                host.config = host.config.replace(r#""perCall":"50000","#, "");
                host.on(&price(10_000, SELLER))
            }),
        ),
        (
            "over_cap",
            Box::new(|host| {
                host.config = host.config.replace("50000", "5000");
                host.on(&price(10_000, SELLER))
            }),
        ),
        (
            "payment_required_invalid",
            Box::new(|host| host.on(r#"{"type":"answer","answer":{"status":402,"headers":{},"body":"{}"}}"#)),
        ),
    ];
    for (code, event) in [
        ("signer_failed", r#"{"type":"sign_failed"}"#),
        ("aborted", r#"{"type":"aborted"}"#),
        ("signature_invalid", r#"{"type":"signed","signature":"0x00"}"#),
    ] {
        endings.push((
            code,
            Box::new(move |host| {
                assert_eq!(text(&host.on(&price(10_000, SELLER)), "type"), "sign");
                host.on(event)
            }),
        ));
    }
    for (code, end) in endings {
        let mut host = Host::plain();
        host.lose_answer();
        host.now += 61;
        assert_eq!(text(&host.fetch(URL), "type"), "send");
        assert_fails(&end(&mut host), code, "possible");
    }
    // A planned authorization is nothing; the one before it is not.
    let mut host = Host::plain();
    host.lose_answer();
    host.now += 61;
    host.fetch(URL);
    host.on(&price(10_000, SELLER));
    let done = host.intent("resume");
    let resolution = done.get("resolution").unwrap();
    assert_eq!(
        (text(resolution, "outcome"), text(resolution, "money")),
        ("planned", "possible")
    );
}

/// What was never sent is no attempt: it can be released without a claim, and holds no money.
#[test]
fn intent_released() {
    let mut host = Host::plain();
    host.ask_signer();
    host.on(r#"{"type":"sign_failed"}"#);
    let done = host.intent("release");
    assert_eq!(text(&done, "type"), "done", "{}", done.to_text());
    let end = host.fetch(URL);
    assert_eq!(text(end.get("error").unwrap(), "code"), "intent_released");
}

// ---------------------------------------------------------------- the journal

#[test]
fn journal_unavailable() {
    let mut host = Host::plain();
    host.fetch(URL);
    let persist = host.event(&price(10_000, SELLER));
    assert_eq!(text(&persist, "type"), "persist");
    assert_fails(
        &host.on(r#"{"type":"persist_failed"}"#),
        "journal_unavailable",
        "none",
    );
}

/// Without the write that covers them the signed bytes don't leave.
#[test]
fn journal_unavailable_after_signing() {
    let mut host = Host::plain();
    let asked = host.ask_signer();
    let persist = host.event(&signed(&asked, &KEY));
    assert_eq!(text(&persist, "type"), "persist");
    let end = host.on(r#"{"type":"persist_failed","code":"journal_unavailable"}"#);
    assert_eq!(text(&end, "type"), "fail");
    assert_eq!(text(end.get("error").unwrap(), "code"), "journal_unavailable");
}

#[test]
fn journal_conflict() {
    let mut host = Host::plain();
    host.ask_signer();
    host.on(r#"{"type":"sign_failed"}"#);
    host.fetch(URL);
    let mut effect = host.event(&price(10_000, SELLER));
    for _ in 0..1000 {
        effect = match text(&effect, "type") {
            "persist" => {
                // Another worker was quicker, each time.
                for (rev, _) in host.rows.values_mut() {
                    *rev += 100;
                }
                host.event(r#"{"type":"conflict"}"#)
            }
            "load" => {
                let event = host.loaded(&effect);
                host.event(&event)
            }
            "send" => host.event(&price(10_000, SELLER)),
            _ => break,
        };
    }
    assert_fails(&effect, "journal_conflict", "possible");
}

/// Two unnamed calls at once: the other one's purchase began, and ended, between this call's look at the series and its
/// first write. This call is then another purchase; it must not try the same write for ever.
#[test]
fn a_series_that_moved() {
    let mut other = Host::plain();
    let nothing = hex::encode(counterfoil::digest::sha256(b""));
    let start =
        format!(r#"{{"mode":"fetch","request":{{"method":"GET","url":"{URL}","bodySha256":"{nothing}"}}}}"#);
    other.start(&start);
    let asked = other.on(&price(10_000, SELLER));
    other.on(&signed(&asked, &KEY));
    other.on(r#"{"type":"answer","answer":{"status":200,"headers":{}}}"#);
    let body = hex::encode(counterfoil::digest::sha256(b"goods"));
    let event = format!(
        r#"{{"type":"body","status":200,"headers":{{}},"sha256":"{body}","length":5,"complete":true}}"#
    );
    assert_eq!(text(&other.on(&event), "type"), "done");

    let mut host = Host::plain();
    let series = host.call("clientStart", &format!(r#""start":{start}"#));
    let empty = host.loaded(&series);
    host.rows = other.rows;
    let intent = host.event(&empty);
    assert_eq!(text(&host.storing(intent), "type"), "send");
    // Written over a series that is taken to be absent.
    let write = host.event(&price(10_000, SELLER));
    assert_eq!(text(&write, "type"), "persist");
    let reload = host.event(r#"{"type":"conflict"}"#);
    assert_eq!(text(&host.storing(reload), "type"), "send");
    assert_eq!(text(&host.on(&price(10_000, SELLER)), "type"), "sign");
    let count = |prefix: &str| host.rows.keys().filter(|key| key.starts_with(prefix)).count();
    assert_eq!((count("intent/"), count("series/")), (2, 1));
    let (_, (_, series)) = host
        .rows
        .iter()
        .find(|(key, _)| key.starts_with("series/"))
        .unwrap();
    assert!(series.contains(r#""occurrence":1"#), "{series}");
}

#[test]
fn intent_conflict() {
    let mut host = Host::plain();
    host.lose_answer();
    assert_fails(&host.fetch("https://api.example/y"), "intent_conflict", "none");
    assert_eq!(host.alerts, ["intent_conflict"]);
}

#[test]
fn state_invalid() {
    let mut host = Host::plain();
    host.fetch(URL);
    for event in [
        r#"{"type":"waited"}"#,
        r#"{"type":"approved","yes":true}"#,
        r#"{"type":"signed","signature":"0x"}"#,
        r#"{"type":"persisted","revs":[]}"#,
        r#"{"type":"sent"}"#,
    ] {
        let params = format!(
            r#"{{"config":{},"now":{NOW},"state":{},"event":{event}}}"#,
            host.config,
            host.state.to_text()
        );
        let error = wasm::call("clientStep", &params, None, None).unwrap_err();
        assert_eq!(error.code.as_str(), "state_invalid", "{event}");
    }
}

// ---------------------------------------------------------------- after the money may have moved

#[test]
fn outcome_unknown() {
    Host::plain().lose_answer();
}

#[test]
fn payment_rejected() {
    let mut host = Host::plain();
    host.send_payment();
    let refused = price(10_000, SELLER).replace(r#""{}""#, r#""{\"error\":\"insufficient_funds\"}""#);
    assert_fails(&host.on(&refused), "payment_rejected", "possible");
}

#[test]
fn payment_in_flight() {
    let mut host = Host::plain();
    host.send_payment();
    let body = r#"{\"error\":\"payment_in_flight\"}"#;
    let answer = format!(
        r#"{{"type":"answer","answer":{{"status":409,"headers":{{"retry-after":"60"}},"body":"{body}"}}}}"#
    );
    assert_fails(&host.on(&answer), "payment_in_flight", "possible");
}

/// A 2xx that says that the work or the payment is not done is no delivery: the purchase stays open.
#[test]
fn a_success_that_is_none() {
    let settlement = |json: &str| {
        format!(
            r#""headers":{{"payment-response":"{}"}}"#,
            base64::encode(json.as_bytes())
        )
    };
    let unsettled =
        r#"{"success":false,"transaction":"","network":"eip155:84532","errorReason":"socket hang up"}"#;
    let pending =
        r#"{"success":false,"transaction":"","network":"eip155:84532","errorReason":"settlement_pending"}"#;
    let cases = [
        (
            format!(r#""status":200,{}"#, settlement(unsettled)),
            "outcome_unknown",
        ),
        (
            format!(r#""status":200,{}"#, settlement(pending)),
            "outcome_unknown",
        ),
        (
            r#""status":202,"body":"{\"code\":\"payment_pending\"}""#.to_owned(),
            "payment_in_flight",
        ),
        (
            r#""status":200,"body":"{\"error\":{\"code\":402}}""#.to_owned(),
            "outcome_unknown",
        ),
    ];
    for (answer, code) in cases {
        let mut host = Host::plain();
        host.send_payment();
        let end = host.on(&format!(r#"{{"type":"answer","answer":{{{answer}}}}}"#));
        assert_fails(&end, code, "possible");
        let record = host
            .rows
            .iter()
            .find(|(key, _)| key.starts_with("intent/"))
            .unwrap();
        assert!(record.1 .1.contains(r#""status":"open""#) && !record.1 .1.contains("delivery"));
    }
}

/// Without a word about the settlement the answer is handed over, and the money stays unknown.
#[test]
fn an_answer_without_a_settlement() {
    let mut host = Host::plain();
    host.send_payment();
    let effect = host.on(r#"{"type":"answer","answer":{"status":200}}"#);
    assert_eq!(text(&effect, "type"), "deliver");
    let body = hex::encode(counterfoil::digest::sha256(b"goods"));
    let done = host.on(&format!(
        r#"{{"type":"body","status":200,"headers":{{}},"sha256":"{body}","length":5,"complete":true}}"#
    ));
    let resolution = done.get("resolution").unwrap();
    assert_eq!(
        (text(resolution, "money"), text(resolution, "next")),
        ("possible", "read_chain")
    );
}

#[test]
fn terms_changed() {
    for (amount, seller) in [
        (10_001, SELLER),
        (9_999, SELLER),
        (10_000, "0x90F79bf6EB2c4f870365E785982E1f101E93b906"),
    ] {
        let mut host = Host::plain();
        host.lose_answer();
        host.now += 61;
        assert_eq!(text(&host.fetch(URL), "type"), "send");
        assert_fails(&host.on(&price(amount, seller)), "terms_changed", "possible");
        assert_eq!(host.alerts, ["terms_changed"]);
    }
}

#[test]
fn attempts_exhausted() {
    let mut host = Host::new(r#"{"perCall":"50000","maxWindow":60,"attempts":1}"#, false);
    host.lose_answer();
    host.now += 61;
    host.fetch(URL);
    assert_fails(&host.on(&price(10_000, SELLER)), "attempts_exhausted", "possible");
}

/// Up to the read of the final block after a lost answer.
fn lost_answer_to_read() -> (Host, Json) {
    let mut host = Host::with_chain();
    host.fetch(URL);
    let read = host.on(&price(10_000, SELLER));
    let asked = host.evidence(&chain(SEPOLIA, &read, 0, None));
    host.on(&signed(&asked, &KEY));
    let read = host.on(r#"{"type":"answer","answer":{"transport":"timeout"}}"#);
    assert_eq!(text(&read, "type"), "read_chain");
    (host, read)
}

#[test]
fn paid_wrong_terms() {
    for (to, value) in [(TOKEN, 10_000), (SELLER, 9_999)] {
        let (mut host, read) = lost_answer_to_read();
        let end = host.evidence(&chain(SEPOLIA, &read, 1, Some((to, value))));
        assert_fails(&end, "paid_wrong_terms", "proven");
        assert_eq!(host.alerts, ["paid_wrong_terms"]);
        // Nor is it given up as if nobody knew.
        let released = host.intent("release");
        assert_fails(&released, "paid_wrong_terms", "proven");
    }
}

/// Another authorization took the nonce: it is taken from every signature of this journal, not only from the last.
#[test]
fn paid_wrong_terms_ends_every_attempt() {
    let (mut host, read) = lost_answer_to_read();
    host.now += 61;
    let latest = host.evidence(&chain(SEPOLIA, &read, 0, None));
    assert_eq!(
        text(&host.evidence(&chain(SEPOLIA, &latest, 0, None)), "type"),
        "send"
    );
    let asked = host.on(&price(10_000, SELLER));
    host.on(&signed(&asked, &KEY));
    let read = host.on(r#"{"type":"answer","answer":{"transport":"timeout"}}"#);
    let end = host.evidence(&chain(SEPOLIA, &read, 1, Some((TOKEN, 10_000))));
    assert_fails(&end, "paid_wrong_terms", "proven");
    assert_eq!(host.states(), ["dead", "wrong_terms"]);
}

/// Proven dead on one rail, paid on another: the second is read by its own nonce, and looked up before it is signed for.
#[test]
fn another_rail_has_a_nonce_of_its_own() {
    let other = "0x9999999999999999999999999999999999999999";
    let rails = format!(
        r#""assets":[{{"network":"eip155:84532","asset":"{TOKEN}"}},{{"network":"eip155:84532","asset":"{other}"}}]"#
    );
    let mut host = Host::new(&format!(r#"{{"perCall":"50000","maxWindow":60,{rails}}}"#), true);
    host.fetch(URL);
    let read = host.on(&price(10_000, SELLER));
    let asked = host.evidence(&chain(SEPOLIA, &read, 0, None));
    host.on(&signed(&asked, &KEY));
    let read = host.on(r#"{"type":"answer","answer":{"transport":"timeout"}}"#);
    host.now += 61;
    let past = |read: &Json, token: &str| chain_at(NOW + 200, SEPOLIA, read, 0, None).replace(TOKEN, token);
    assert_eq!(text(&host.evidence(&past(&read, TOKEN)), "type"), "send");
    let lookup = host.on(&price_of(other, 10_000, SELLER));
    assert_eq!(text(&lookup, "type"), "read_chain", "{}", lookup.to_text());
    assert_eq!(text(lookup.get("read").unwrap(), "asset"), other);
    let asked = host.evidence(&past(&lookup, other));
    host.on(&signed(&asked, &KEY));
    let read = host.on(r#"{"type":"answer","answer":{"transport":"timeout"}}"#);
    assert_eq!(text(&read, "type"), "read_chain");
    assert_eq!(text(read.get("read").unwrap(), "asset"), other);
    // Past the second window, too: this one is decided by itself.
    assert_eq!(text(&host.evidence(&past(&read, other)), "type"), "send");
    assert_eq!(host.states(), ["dead", "dead"]);
}

#[test]
fn used_or_cancelled() {
    let (mut host, read) = lost_answer_to_read();
    let latest = host.evidence(&chain(SEPOLIA, &read, 1, None));
    let end = host.evidence(&chain(SEPOLIA, &latest, 1, None));
    assert_fails(&end, "used_or_cancelled", "possible");
}

#[test]
fn evidence_unreadable() {
    let (mut host, _) = lost_answer_to_read();
    host.evidence(r#"{"error":"unreachable"}"#);
    let end = host.evidence(r#"{"error":"unreachable"}"#);
    assert_fails(&end, "evidence_unreadable", "possible");
}

#[test]
fn paid_not_delivered() {
    let (mut host, read) = lost_answer_to_read();
    let end = host.evidence(&chain(SEPOLIA, &read, 1, Some((SELLER, 10_000))));
    assert_fails(&end, "paid_not_delivered", "proven");
    assert!(host
        .rows
        .values()
        .any(|(_, record)| record.contains(r#""claim":{"#)));
}

#[test]
fn answer_not_stored() {
    let mut host = Host::plain();
    host.send_payment();
    let settlement = base64::encode(
        format!(
            r#"{{"success":true,"transaction":"0x{}","network":"eip155:84532"}}"#,
            "ab".repeat(32)
        )
        .as_bytes(),
    );
    let delivered = host.on(&format!(
        r#"{{"type":"answer","answer":{{"status":200,"headers":{{"payment-response":"{settlement}"}}}}}}"#
    ));
    assert_eq!(text(&delivered, "type"), "deliver");
    let body = hex::encode(counterfoil::digest::sha256(b"goods"));
    let event = format!(
        r#"{{"type":"body","status":200,"headers":{{}},"sha256":"{body}","length":5,"complete":true}}"#
    );
    assert_eq!(text(&host.on(&event), "type"), "done");
    assert_fails(&host.fetch(URL), "answer_not_stored", "proven");
}
