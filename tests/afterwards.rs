//! What is done about a purchase that has no answer, through the dispatch that JavaScript uses: nothing signed leaves before it is
//! written down.

#[path = "client/host.rs"]
mod host;

use counterfoil::json::{self, Json};
use counterfoil::wasm;
use host::*;

/// Sent, with a chain that can be read and held nothing before.
fn sent() -> Host {
    let mut host = Host::with_chain();
    host.fetch(URL);
    let read = host.on(&price(10_000, SELLER));
    let asked = host.evidence(&chain(SEPOLIA, &read, 0, None));
    assert_eq!(text(&asked, "type"), "sign");
    assert_eq!(text(&host.on(&signed(&asked, &KEY)), "type"), "send");
    host
}

/// Paid on the chain, and the answer is gone. The evidence that says so.
fn paid() -> (Host, String) {
    let mut host = sent();
    let read = host.on(r#"{"type":"answer","answer":{"transport":"timeout"}}"#);
    let evidence = chain(SEPOLIA, &read, 1, Some((SELLER, 10_000)));
    assert_fails(&host.evidence(&evidence), "paid_not_delivered", "proven");
    (host, evidence)
}

fn verified(claim: &str, evidence: &str) -> Json {
    let input = format!(
        r#"{{"receipt":{},"material":{{"evidence":{evidence}}}}}"#,
        Json::text(claim).to_text()
    );
    wasm::call("verifyReceipt", &input, None, None).unwrap()
}

fn claim_of(done: &Json) -> &str {
    assert_eq!(text(done, "type"), "done", "{}", done.to_text());
    text(done.get("resolution").unwrap(), "claim")
}

#[test]
fn a_claim_is_written_down_before_it_leaves() {
    let (mut host, evidence) = paid();
    let asked = host.intent("claim");
    assert_eq!(text(&asked, "type"), "sign", "{}", asked.to_text());
    let persist = host.event(&signed(&asked, &KEY));
    assert_eq!(text(&persist, "type"), "persist");
    let event = host.persisted(&persist);
    let kept = record(&host);
    let done = host.event(&event);
    let claim = claim_of(&done);
    assert_eq!(text(kept.get("claim").unwrap(), "file"), claim);
    let report = verified(claim, &evidence);
    assert_eq!(text(&report, "verdict"), "verified", "{}", report.to_text());

    // Later, and the same: the same bytes, without a signature.
    host.now += 1_000;
    let again = host.intent("claim");
    assert_eq!(claim_of(&again), claim);
}

#[test]
fn a_claim_that_can_not_be_written_down_does_not_leave() {
    let (mut host, _) = paid();
    let asked = host.intent("claim");
    let persist = host.event(&signed(&asked, &KEY));
    assert_eq!(text(&persist, "type"), "persist");
    let end = host.on(r#"{"type":"persist_failed"}"#);
    assert_fails(&end, "journal_unavailable", "proven");
    assert!(!end.to_text().contains("counterfoil/claim"));
}

#[test]
fn a_claim_signed_by_another_key_is_none() {
    let (mut host, _) = paid();
    let before = record(&host);
    let asked = host.intent("claim");
    assert_fails(&host.on(&signed(&asked, &OTHER_KEY)), "signer_mismatch", "proven");
    let _asked = host.intent("claim");
    assert_fails(&host.on(r#"{"type":"sign_failed"}"#), "signer_failed", "proven");
    assert_eq!(record(&host), before);
}

#[test]
fn a_release_is_in_the_claim() {
    let (mut host, evidence) = paid();
    host.now += 50;
    let id = text(&record(&host), "intentId").to_owned();
    host.start(&format!(
        r#"{{"mode":"release","intentId":"{id}","reason":"given up"}}"#
    ));
    host.now += 50;
    let asked = host.intent("claim");
    let done = host.on(&signed(&asked, &KEY));
    let report = verified(claim_of(&done), &evidence);
    assert_eq!(text(&report, "verdict"), "verified", "{}", report.to_text());
    let claim = json::parse(claim_of(&done)).unwrap();
    let last = claim
        .get("timeline")
        .unwrap()
        .as_array()
        .unwrap()
        .last()
        .unwrap()
        .clone();
    assert_eq!(
        (text(&last, "event"), text(&last, "reason")),
        ("released", "given up")
    );
    assert_eq!(last.get("at"), Some(&Json::number(NOW + 50)));
}

/// The journal was lost, and the chain alone tells of the payment: a claim all the same.
#[test]
fn a_lost_history_is_claimed() {
    let mut host = Host::with_chain();
    host.fetch(URL);
    let read = host.on(&price(10_000, SELLER));
    let evidence = chain(SEPOLIA, &read, 1, Some((SELLER, 10_000)));
    assert_fails(&host.evidence(&evidence), "authorization_used", "proven");
    // What was read there was not final yet: it is read again.
    assert_eq!(text(&host.intent("claim"), "type"), "read_chain");
    let asked = host.evidence(&evidence.replace("latest", "finalized"));
    let done = host.on(&signed(&asked, &KEY));
    let claim = json::parse(claim_of(&done)).unwrap();
    assert!(claim.get("authorization").is_none());
    assert_eq!(text(claim.get("statement").unwrap(), "why"), "history_lost");
    let report = verified(claim_of(&done), &evidence.replace("latest", "finalized"));
    assert_eq!(text(&report, "verdict"), "verified", "{}", report.to_text());
}

/// Somebody else's question, and another purchase of the same payer.
fn another(host: &mut Host) -> Json {
    let nothing = counterfoil::hex::encode(counterfoil::digest::sha256(b""));
    host.start(&format!(
        r#"{{"mode":"fetch","request":{{"method":"GET","url":"{URL}","bodySha256":"{nothing}"}},"intent":{{"id":"another-00000000000001"}}}}"#
    ));
    host.on(&price(10_000, SELLER))
}

#[test]
fn what_a_lost_history_cost_counts_while_it_stands() {
    let policy = r#"{"perCall":"50000","maxWindow":60,"perWallet":[{"amount":"15000","window":86400}]}"#;
    let mut host = Host::new(policy, true);
    host.fetch(URL);
    let read = host.on(&price(10_000, SELLER));
    let used = chain(SEPOLIA, &read, 1, Some((SELLER, 10_000)));
    assert_fails(&host.evidence(&used), "authorization_used", "proven");
    assert_eq!(held(&host), ["settled 10000"]);
    assert_fails(&another(&mut host), "over_wallet_cap", "none");
    // Read again, once: final by now, and counted once.
    host.intent("resume");
    host.evidence(&used.replace("latest", "finalized"));
    assert_eq!(held(&host), ["settled 10000"]);
}

#[test]
fn what_a_lost_history_cost_is_free_again_where_it_is_gone() {
    let mut host = Host::with_chain();
    host.fetch(URL);
    let read = host.on(&price(10_000, SELLER));
    host.evidence(&chain(SEPOLIA, &read, 1, Some((SELLER, 10_000))));
    let read = host.intent("resume");
    let gone = chain_at(NOW + 30, SEPOLIA, &read, 0, None);
    let latest = host.evidence(&gone);
    assert_eq!(text(&latest, "type"), "read_chain", "{}", latest.to_text());
    host.evidence(&gone);
    assert_eq!(host.alerts.last().map(String::as_str), Some("payment_vanished"));
    assert!(held(&host).is_empty());
}

/// What moved is not what is offered today: nobody signs a claim of what nobody knows.
#[test]
fn a_lost_history_on_other_terms_is_for_a_person() {
    for (to, value, counts) in [
        (SELLER, 12_000, "settled 12000"),
        (TOKEN, 10_000, "settled 10000"),
    ] {
        let mut host = Host::with_chain();
        host.fetch(URL);
        let read = host.on(&price(10_000, SELLER));
        let used = chain(SEPOLIA, &read, 1, Some((to, value)));
        assert_fails(&host.evidence(&used), "paid_wrong_terms", "proven");
        assert_eq!(held(&host), [counts]);
        let used = used.replace("latest", "finalized");
        host.intent("claim");
        assert_fails(&host.evidence(&used), "paid_wrong_terms", "proven");
        assert_fails(&host.intent("claim"), "paid_wrong_terms", "proven");
        assert_fails(&host.fetch(URL), "paid_wrong_terms", "proven");
    }
}

#[test]
fn a_claim_stands_while_nothing_changes() {
    let (mut host, _) = paid();
    let asked = host.intent("claim");
    host.on(&signed(&asked, &KEY));
    let claimed = record(&host).get("claim").cloned();
    let told = host.alerts.len();
    host.now += 1_000;
    for _ in 0..2 {
        assert_eq!(text(&host.intent("resume"), "type"), "done");
        assert_fails(&host.fetch(URL), "paid_not_delivered", "proven");
    }
    assert_eq!(record(&host).get("claim").cloned(), claimed);
    assert_eq!(host.alerts.len(), told);
}

/// The journal was put back to an older copy, from before the payment. Nothing in it says so: the chain is read before anything is signed, and shows it.
#[test]
fn an_older_copy_of_the_journal_pays_nothing_again() {
    let mut host = Host::with_chain();
    let price_of = |host: &mut Host, id: &str| {
        let nothing = counterfoil::hex::encode(counterfoil::digest::sha256(b""));
        host.start(&format!(
            r#"{{"mode":"fetch","request":{{"method":"GET","url":"{URL}","bodySha256":"{nothing}"}},"intent":{{"id":"{id}"}}}}"#
        ));
        host.on(&price(10_000, SELLER))
    };
    let paid = |host: &mut Host, id: &str| {
        let read = price_of(host, id);
        let sign = host.evidence(&chain(SEPOLIA, &read, 0, None));
        assert_eq!(text(&sign, "type"), "sign", "{}", sign.to_text());
        assert_eq!(text(&host.on(&signed(&sign, &KEY)), "type"), "send");
    };
    paid(&mut host, "another-00000000000001");
    let older = host.rows.clone();
    paid(&mut host, "the-one-00000000000001");
    host.rows = older;
    let read = price_of(&mut host, "the-one-00000000000001");
    assert_eq!(text(&read, "type"), "read_chain", "{}", read.to_text());
    let evidence = chain(SEPOLIA, &read, 1, Some((SELLER, 10_000)));
    assert_fails(&host.evidence(&evidence), "authorization_used", "proven");
}

#[test]
fn a_cancellation_is_written_down_before_it_leaves() {
    let mut host = sent();
    let asked = host.intent("cancel");
    assert_eq!(text(&asked, "type"), "sign", "{}", asked.to_text());
    let persist = host.event(&signed(&asked, &KEY));
    assert_eq!(text(&persist, "type"), "persist");
    let event = host.persisted(&persist);
    let attempt = record(&host).get("attempts").unwrap().as_array().unwrap()[0].clone();
    let signature = text(attempt.get("cancellation").unwrap(), "signature").to_owned();
    let done = host.event(&event);
    let call = done
        .get("resolution")
        .unwrap()
        .get("cancellation")
        .unwrap()
        .clone();
    assert!(text(&call, "data").contains(&signature[2..130]));
    assert_eq!(
        (text(&call, "to"), text(&call, "network")),
        (TOKEN, "eip155:84532")
    );
    // The same again, without a signature; the payment is as open as before.
    let again = host.intent("cancel");
    assert_eq!(again.get("resolution").unwrap().get("cancellation"), Some(&call));
    assert_eq!(host.states(), ["sent"]);
}

#[test]
fn a_cancellation_that_can_not_be_written_down_or_is_another_s_does_not_leave() {
    let mut host = sent();
    let asked = host.intent("cancel");
    host.event(&signed(&asked, &KEY));
    let end = host.on(r#"{"type":"persist_failed"}"#);
    assert_fails(&end, "journal_unavailable", "possible");
    let asked = host.intent("cancel");
    assert_fails(
        &host.on(&signed(&asked, &OTHER_KEY)),
        "signer_mismatch",
        "possible",
    );
    assert!(!record(&host).to_text().contains("cancellation"));
}

/// Who has the answer has nothing to stop, though the chain was never read: the seller is owed this payment.
#[test]
fn what_was_delivered_is_not_cancelled() {
    let mut host = Host::plain();
    host.send_payment();
    let deliver = host.on(r#"{"type":"answer","answer":{"status":200,"headers":{}}}"#);
    assert_eq!(text(&deliver, "type"), "deliver", "{}", deliver.to_text());
    let nothing = format!("0x{}", "00".repeat(32));
    host.on(&format!(
        r#"{{"type":"body","status":200,"headers":{{}},"sha256":"{nothing}","length":0,"complete":true}}"#
    ));
    assert_eq!(text(&record(&host), "status"), "delivered");
    assert_eq!(host.states(), ["sent"]);
    assert_fails(&host.intent("cancel"), "nothing_to_cancel", "possible");
    assert_fails(&host.intent("claim"), "claim_delivered", "proven");
}
