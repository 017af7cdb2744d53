//! What a caller is told, and what a seller's answer must never start: replay, in flight and conflict are three answers of
//! which one alerts, a timeout is no new attempt, and an id stays what it is while its authorization lives.

#[path = "client/host.rs"]
mod host;

use counterfoil::json::Json;
use counterfoil::{base64, hex, wasm};
use host::*;
use zeroize::Zeroizing;

const POLICY: &str = r#"{"perCall":"50000","maxWindow":60}"#;
const TIMEOUT: &str = r#"{"type":"answer","answer":{"transport":"timeout"}}"#;
const WAITED: &str = r#"{"type":"waited"}"#;

/// An answer with a JSON body.
fn said(status: u64, body: &str) -> String {
    let body = Json::text(body).to_text();
    format!(r#"{{"type":"answer","answer":{{"status":{status},"headers":{{}},"body":{body}}}}}"#)
}

fn settled() -> String {
    let settlement = base64::encode(
        format!(
            r#"{{"success":true,"transaction":"0x{}","network":"eip155:84532"}}"#,
            "ab".repeat(32)
        )
        .as_bytes(),
    );
    format!(
        r#"{{"type":"answer","answer":{{"status":200,"headers":{{"payment-response":"{settlement}","idempotency-replay":"true"}}}}}}"#
    )
}

fn body() -> String {
    let sha256 = hex::encode(counterfoil::digest::sha256(b"goods"));
    let stored = base64::encode(b"goods");
    format!(
        r#"{{"type":"body","status":200,"headers":{{}},"sha256":"{sha256}","length":5,"body":"{stored}","complete":true}}"#
    )
}

/// A price with terms of its own beyond amount and recipient, from a seller that takes a payment id.
fn quoted(amount: u64, extra: &str) -> String {
    let price = format!(
        r#"{{"x402Version":2,"resource":{{"url":"{URL}"}},"accepts":[{{"scheme":"exact","network":"eip155:84532","amount":"{amount}","asset":"{TOKEN}","payTo":"{SELLER}","maxTimeoutSeconds":60,"extra":{{"name":"USDC","version":"2","quoteId":"{extra}"}}}}],"extensions":{{"payment-identifier":{{"info":{{"required":false}}}}}}}}"#
    );
    priced(&price)
}

fn attempts(host: &Host) -> Vec<Json> {
    record(host).get("attempts").unwrap().as_array().unwrap().to_vec()
}

/// Payment header and id of every attempt, and how often it was sent.
fn sent(host: &Host) -> Vec<(String, Option<String>, usize)> {
    let of = |attempt: &Json| {
        let header = attempt.get("header").map_or(String::new(), Json::to_text);
        let id = attempt.get("paymentId").map(|id| id.as_string().unwrap());
        let sends = attempt
            .get("sends")
            .map_or(0, |sends| sends.as_array().unwrap().len());
        (header, id, sends)
    };
    attempts(host).iter().map(of).collect()
}

fn is(effect: &Json, kind: &str) {
    assert_eq!(text(effect, "type"), kind, "{}", effect.to_text());
}

/// Up to the paid request, where the chain can be read.
fn send_payment_with_chain(host: &mut Host) {
    is(&host.fetch(URL), "send");
    let read = host.on(&price(10_000, SELLER));
    let asked = host.evidence(&chain(SEPOLIA, &read, 0, None));
    is(&host.on(&signed(&asked, &KEY)), "send");
}

const CONFLICT: &str =
    r#"{"code":"payment_identifier_conflict","suggested_action":"retry_after_delay","retry_after":1}"#;

// ---------------------------------------------------------------- the three answers

#[test]
fn a_payment_in_flight_waits_and_alerts_nobody() {
    let mut host = Host::resending(POLICY, false, 3);
    host.send_payment();
    let first = sent(&host);
    for _ in 0..2 {
        let wait = host.on(&said(409, r#"{"code":"payment_in_flight","retry_after":2}"#));
        is(&wait, "wait");
        assert_eq!(wait.get("seconds"), Some(&Json::number(2)));
        let again = host.on(WAITED);
        is(&again, "send");
        assert_eq!(again.get("payment").unwrap().to_text(), first[0].0);
    }
    is(&host.on(&settled()), "deliver");
    is(&host.on(&body()), "done");
    assert_eq!(
        sent(&host),
        [(first[0].0.clone(), first[0].1.clone(), 3)],
        "one attempt, three sends"
    );
    assert!(host.alerts.is_empty(), "{:?}", host.alerts);
    // And the stored answer, asked for again, is a replay that alerts nobody either.
    is(&host.fetch(URL), "replay");
    assert!(host.alerts.is_empty());
}

#[test]
fn where_to_ask_is_told_when_it_is_the_sellers_own() {
    for (poll, told) in [
        ("shop.order.get", Some("shop.order.get")),
        ("/orders/1", Some("https://api.example/orders/1")),
        ("https://evil.example/orders/1", None),
        ("javascript:alert(1)", None),
    ] {
        let mut host = Host::plain();
        host.send_payment();
        let end = host.on(&said(
            409,
            &format!(r#"{{"code":"payment_in_flight","retry_after":60,"poll":"{poll}"}}"#),
        ));
        assert_fails(&end, "payment_in_flight", "possible");
        let error = end.get("error").unwrap();
        assert_eq!(error.get("retryAfter"), Some(&Json::number(60)));
        assert_eq!(error.get("poll").map(|poll| poll.as_str().unwrap()), told);
    }
}

#[test]
fn a_conflict_alerts_and_is_never_signed_for_again() {
    let mut host = Host::resending(POLICY, false, 3);
    host.send_payment();
    let end = host.on(&said(409, CONFLICT));
    assert_fails(&end, "payment_identifier_conflict", "possible");
    assert_eq!(text(end.get("error").unwrap(), "next"), "stop");
    assert!(end.get("error").unwrap().get("retryAfter").is_none());
    assert_eq!(host.alerts, ["payment_identifier_conflict"]);
    let finding = &host.findings[0];
    assert_eq!(
        (text(finding, "severity"), text(finding, "next")),
        ("alert", "stop")
    );
    assert_eq!(text(finding, "amount"), "10000");
    assert_eq!(
        finding.get("attempts").unwrap().as_array().unwrap(),
        &[attempts(&host)[0].get("attemptId").unwrap().clone()]
    );
    // Later calls, within the window and long after it, send nothing, sign nothing and do not alert again.
    let before = sent(&host);
    for later in [1, 61, 100_000] {
        host.now = NOW + later;
        assert_fails(&host.fetch(URL), "payment_identifier_conflict", "possible");
        assert_fails(&host.intent("resume"), "payment_identifier_conflict", "possible");
        assert_eq!(sent(&host), before);
    }
    assert_eq!(host.alerts.len(), 1);
}

/// The nonce of the first payment is read on the chain before anything else.
#[test]
fn a_conflict_reads_the_chain_first() {
    // Unused and still open: unknown.
    let mut host = Host::resending(POLICY, true, 3);
    send_payment_with_chain(&mut host);
    let nonce = attempts(&host)[0]
        .get("authorization")
        .unwrap()
        .get("nonce")
        .unwrap()
        .clone();
    let read = host.on(&said(409, CONFLICT));
    is(&read, "read_chain");
    assert_eq!(read.get("read").unwrap().get("nonce"), Some(&nonce));
    let latest = host.evidence(&chain(SEPOLIA, &read, 0, None));
    is(&latest, "read_chain");
    let end = host.evidence(&chain(SEPOLIA, &latest, 0, None));
    assert_fails(&end, "payment_identifier_conflict", "possible");

    // Proven dead: no money moved, and still nothing new is signed under this id.
    host.now = NOW + 1_000;
    let read = host.fetch(URL);
    let end = host.evidence(&chain_at(NOW + 1_000, SEPOLIA, &read, 0, None));
    assert_fails(&end, "payment_identifier_conflict", "none");
    assert_fails(&host.fetch(URL), "payment_identifier_conflict", "none");
    assert_eq!(attempts(&host).len(), 1);
    assert_eq!(sent(&host)[0].2, 1);
    let done = host.intent("release");
    is(&done, "done");
}

#[test]
fn a_conflict_over_money_that_moved_is_a_claim() {
    let mut host = Host::resending(POLICY, true, 3);
    send_payment_with_chain(&mut host);
    let read = host.on(&said(409, CONFLICT));
    let end = host.evidence(&chain(SEPOLIA, &read, 1, Some((SELLER, 10_000))));
    assert_fails(&end, "payment_identifier_conflict", "proven");
    assert_eq!(text(end.get("error").unwrap(), "next"), "claim");
    let record = record(&host);
    assert_eq!(text(&record, "status"), "paid_not_delivered");
    assert_eq!(text(record.get("claim").unwrap(), "why"), "conflict");
    assert_eq!(host.alerts, ["payment_identifier_conflict", "paid_not_delivered"]);
    assert_eq!(
        sent(&host)[0].2,
        1,
        "nothing is sent to whom holds another request"
    );
}

// ---------------------------------------------------------------- a 409 without a word

#[test]
fn a_bare_409_is_waited_for_once_and_then_read() {
    let mut host = Host::resending(POLICY, false, 3);
    host.send_payment();
    let first = sent(&host);
    is(&host.on(&said(409, "")), "wait");
    let again = host.on(WAITED);
    assert_eq!(
        again.get("payment").unwrap().to_text(),
        first[0].0,
        "the same bytes"
    );
    let end = host.on(&said(409, ""));
    assert_fails(&end, "outcome_unknown", "possible");
    assert_eq!(text(end.get("error").unwrap(), "next"), "read_chain");
    assert!(host.alerts.is_empty(), "not known to be a conflict");
    // After the window nothing new is signed: it may be a conflict.
    host.now += 61;
    assert_fails(&host.fetch(URL), "outcome_unknown", "possible");
    assert_eq!(attempts(&host).len(), 1);
    assert_eq!(sent(&host)[0].2, 2);
}

#[test]
fn a_bare_409_ends_with_a_proof_of_death() {
    let mut host = Host::resending(POLICY, true, 1);
    send_payment_with_chain(&mut host);
    let mut effect = host.on(&said(409, ""));
    while text(&effect, "type") == "read_chain" {
        effect = host.evidence(&chain(SEPOLIA, &effect, 0, None));
    }
    is(&effect, "wait");
    host.on(WAITED);
    let mut effect = host.on(&said(409, ""));
    while text(&effect, "type") == "read_chain" {
        effect = host.evidence(&chain(SEPOLIA, &effect, 0, None));
    }
    assert_fails(&effect, "outcome_unknown", "possible");
    host.now += 1_000;
    let read = host.fetch(URL);
    let asked = host.evidence(&chain_at(host.now, SEPOLIA, &read, 0, None));
    is(&asked, "send");
    assert!(asked.get("payment").is_none(), "a new price is asked for");
}

// ---------------------------------------------------------------- one live attempt

/// A call whose answer does not come holds the slot: every later call, whatever it is answered, sends the same bytes.
#[test]
fn a_timeout_starts_no_other_attempt() {
    let mut host = Host::resending(POLICY, false, 2);
    host.send_payment();
    let first = sent(&host);
    let mut effect = host.on(TIMEOUT);
    let answers = [
        said(503, ""),
        said(429, ""),
        said(402, r#"{"challengeId":"c2"}"#),
        said(403, r#"{"code":"credential_replayed"}"#),
        said(422, ""),
        said(410, r#"{"code":"quote_expired"}"#),
        said(500, r#"{"payment_state":"unused","retry_action":"new_payment"}"#),
        TIMEOUT.to_owned(),
    ];
    for answer in &answers {
        // Until the call ends, and then a new call of the same purchase.
        loop {
            match text(&effect, "type") {
                "wait" => effect = host.on(WAITED),
                "send" => {
                    assert_eq!(effect.get("payment").unwrap().to_text(), first[0].0);
                    effect = host.on(answer);
                }
                "fail" => break,
                other => panic!("{other} after {answer}"),
            }
        }
        assert_eq!(text(effect.get("error").unwrap(), "money"), "possible");
        host.now += 1;
        effect = host.fetch(URL);
    }
    let now = sent(&host);
    assert_eq!(now.len(), 1, "one attempt");
    assert_eq!((&now[0].0, &now[0].1), (&first[0].0, &first[0].1));
    assert!(host.alerts.is_empty(), "{:?}", host.alerts);
}

/// Two workers over one journal: whoever comes second finds the plan or the send of the first, never starts one of its own.
#[test]
fn two_workers_share_one_attempt() {
    let mut first = Host::plain();
    let asked = first.ask_signer();
    let mut second = Host::plain();
    second.rows = first.rows.clone();
    let asked_too = second.fetch(URL);
    is(&asked_too, "sign");
    assert_eq!(
        asked_too.get("sign"),
        asked.get("sign"),
        "the same authorization, to the byte"
    );
    is(&first.on(&signed(&asked, &KEY)), "send");
    // The second's write meets the first's.
    let persist = second.event(&signed(&asked_too, &KEY));
    is(&persist, "persist");
    second.rows = first.rows.clone();
    let end = second.on(r#"{"type":"conflict"}"#);
    assert_fails(&end, "outcome_unknown", "possible");
    assert_eq!(attempts(&second).len(), 1);
    assert_eq!(sent(&second), sent(&first));
}

#[test]
fn the_budget_of_attempts_holds_over_restarts() {
    let mut host = Host::new(r#"{"perCall":"50000","maxWindow":60,"attempts":2}"#, false);
    host.lose_answer();
    let mut effect = Json::Null;
    for _ in 0..4 {
        host.now += 61;
        host.state = Json::Null;
        is(&host.fetch(URL), "send");
        effect = host.on(&price(10_000, SELLER));
        if text(&effect, "type") == "sign" {
            is(&host.on(&signed(&effect, &KEY)), "send");
            host.on(TIMEOUT);
        }
    }
    assert_fails(&effect, "attempts_exhausted", "possible");
    let nonces: Vec<Json> = attempts(&host)
        .iter()
        .map(|attempt| {
            attempt
                .get("authorization")
                .unwrap()
                .get("nonce")
                .unwrap()
                .clone()
        })
        .collect();
    assert_eq!(nonces.len(), 2);
    assert_eq!(nonces[0], nonces[1], "one slot on chain");
}

/// What is unknown counts as spent, whatever the seller said about it.
#[test]
fn the_caps_hold_what_is_unknown() {
    let policy = r#"{"perCall":"50000","maxWindow":60,"perWallet":[{"amount":"15000","window":86400}]}"#;
    for answer in [
        TIMEOUT.to_owned(),
        said(402, r#"{"error":"insufficient_funds"}"#),
        said(402, r#"{"payment_state":"unused"}"#),
        said(409, CONFLICT),
        said(422, ""),
    ] {
        let mut host = Host::new(policy, false);
        host.send_payment();
        is(&host.on(&answer), "fail");
        host.now += 100;
        let nothing = hex::encode(counterfoil::digest::sha256(b""));
        let other = host.start(&format!(
            r#"{{"mode":"fetch","request":{{"method":"GET","url":"{URL}/2","bodySha256":"{nothing}"}},"intent":{{"id":"order-0000000000000002"}}}}"#
        ));
        is(&other, "send");
        assert_fails(&host.on(&price(10_000, SELLER)), "over_wallet_cap", "none");
    }
}

// ---------------------------------------------------------------- the id

/// A restart anywhere between price and answer derives the same id, so that no second one is minted for the purchase.
#[test]
fn a_restart_in_the_middle_keeps_the_payment_id() {
    let mut host = Host::plain();
    is(&host.fetch(URL), "send");
    // Dies with the price in hand: nothing is written, and the next life asks again and is quoted the same.
    host.on(&quoted(10_000, "q1"));
    let planned = sent(&host)[0].1.clone().unwrap();
    let mut empty = Host::plain();
    is(&empty.fetch(URL), "send");
    empty.on(&quoted(10_000, "q1"));
    assert_eq!(
        sent(&empty)[0].1.as_deref(),
        Some(planned.as_str()),
        "after losing everything"
    );

    // Dies at the signer.
    let asked = host.fetch(URL);
    is(&asked, "sign");
    is(&host.on(&signed(&asked, &KEY)), "send");
    // Dies with the request out; the next life sends the same bytes.
    host.state = Json::Null;
    assert_fails(&host.fetch(URL), "outcome_unknown", "possible");
    let bytes = sent(&host);
    assert_eq!(bytes[0].1.as_deref(), Some(planned.as_str()));

    // The id is that of intent, quote and generation.
    let record = record(&host);
    let quote = record.get("quotes").unwrap().as_array().unwrap()[0].clone();
    let input = format!(
        r#"{{"intentId":"{}","quoteHash":"{}","generation":0}}"#,
        text(&record, "intentId"),
        text(&quote, "quoteHash")
    );
    let secret = Some(Zeroizing::new(vec![7; 32]));
    let derived = wasm::call("paymentId", &input, None, secret).unwrap();
    assert_eq!(derived, Json::text(planned.as_str()));
}

/// After the window, without a proof of death, the same terms are signed for again: the nonce and the id stay, though the
/// seller words its offer anew.
#[test]
fn the_payment_id_stays_while_an_authorization_may_land() {
    let mut host = Host::plain();
    is(&host.fetch(URL), "send");
    let asked = host.on(&quoted(10_000, "q1"));
    is(&host.on(&signed(&asked, &KEY)), "send");
    host.on(TIMEOUT);
    host.now += 61;
    is(&host.fetch(URL), "send");
    let asked = host.on(&quoted(10_000, "q2"));
    is(&asked, "sign");
    is(&host.on(&signed(&asked, &KEY)), "send");
    let attempts = attempts(&host);
    assert_ne!(attempts[0].get("quoteHash"), attempts[1].get("quoteHash"));
    assert!(attempts[0].get("paymentId").is_some());
    assert_eq!(attempts[0].get("paymentId"), attempts[1].get("paymentId"));
}

// ---------------------------------------------------------------- money and quotes

#[test]
fn terms_that_were_not_signed_alert() {
    let mut host = Host::with_chain();
    send_payment_with_chain(&mut host);
    let read = host.on(TIMEOUT);
    let end = host.evidence(&chain(SEPOLIA, &read, 1, Some((SELLER, 20_000))));
    assert_fails(&end, "paid_wrong_terms", "proven");
    assert_eq!(host.alerts, ["paid_wrong_terms"]);
    assert_eq!(text(&host.findings[0], "severity"), "alert");
    assert_eq!(text(&host.findings[0], "next"), "ask_human");
}

/// A signer that fails leaves each quote open: from the third on each is told once, for the record.
#[test]
fn quotes_that_accumulate_are_told_once_each() {
    let mut host = Host::plain();
    let mut told = Vec::new();
    for quote in ["q1", "q2", "q2", "q3", "q3", "q1", "q4"] {
        is(&host.fetch(URL), "send");
        is(&host.on(&quoted(10_000, quote)), "sign");
        host.on(r#"{"type":"sign_failed"}"#);
        told.push(host.alerts.len());
    }
    assert_eq!(told, [0, 0, 0, 1, 1, 1, 2]);
    assert!(host.alerts.iter().all(|code| code == "quotes_accumulating"));
    assert_eq!(text(&host.findings[0], "severity"), "info");
    assert_eq!(text(&host.findings[0], "next"), "read_order");
}

/// A quote that was seen a quarter of an hour ago is not open any more.
#[test]
fn quotes_that_ended_do_not_count() {
    let mut host = Host::plain();
    for quote in ["q1", "q2", "q3", "q4", "q5"] {
        is(&host.fetch(URL), "send");
        is(&host.on(&quoted(10_000, quote)), "sign");
        host.on(r#"{"type":"sign_failed"}"#);
        host.now += 450;
    }
    assert!(host.alerts.is_empty(), "{:?}", host.alerts);
}
