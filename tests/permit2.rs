//! The paying machine on its second rail: what it signs, what it refuses, and when it signs again.

#[path = "client/bitmap.rs"]
mod bitmap;
#[path = "client/host.rs"]
mod host;

use bitmap::{unused, used};
use counterfoil::json::{self, Json};
use counterfoil::{base64, wasm};
use host::{
    assert_fails, intent_id, permit, priced, record, text, Host, KEY, NOW, OTHER_KEY, SELLER, TOKEN, URL,
};
use zeroize::Zeroizing;

const SPENDER: &str = "0x402085c248EeA27D92E8b30b2C58ed07f9E20001";

fn listed(chain: bool) -> Host {
    let policy = format!(
        r#"{{"perCall":"50000","maxWindow":60,"assets":[{{"network":"eip155:84532","asset":"{TOKEN}"}}]}}"#
    );
    Host::new(&policy, chain)
}

/// The price in the same token, by these methods in this order.
fn price(methods: &[&str]) -> String {
    let offers: Vec<String> = methods
        .iter()
        .map(|method| {
            format!(
                r#"{{"scheme":"exact","network":"eip155:84532","amount":"10000","asset":"{TOKEN}","payTo":"{SELLER}","maxTimeoutSeconds":60,"extra":{{"name":"USDC","version":"2","assetTransferMethod":"{method}"}}}}"#
            )
        })
        .collect();
    let price = format!(
        r#"{{"x402Version":2,"resource":{{"url":"{URL}"}},"accepts":[{}]}}"#,
        offers.join(",")
    );
    priced(&price)
}

/// A call to buy from a seller who takes Permit2, up to the signer.
fn ask_signer(host: &mut Host) -> Json {
    host.fetch(URL);
    let asked = host.on(&price(&["permit2"]));
    assert_eq!(text(&asked, "type"), "sign", "{}", asked.to_text());
    asked
}

const TIMEOUT: &str = r#"{"type":"answer","answer":{"transport":"timeout"}}"#;

#[test]
fn what_is_signed_and_sent() {
    let mut host = listed(false);
    let asked = ask_signer(&mut host);
    let permit = permit(&asked);
    assert_eq!(text(permit, "spender"), SPENDER);
    assert_eq!(text(permit.get("permitted").unwrap(), "token"), TOKEN);
    assert_eq!(text(permit.get("permitted").unwrap(), "amount"), "10000");
    assert_eq!(text(permit.get("witness").unwrap(), "to"), SELLER);
    // The last second is part of the window: 60 of them are NOW to NOW + 59.
    assert_eq!(text(permit, "deadline"), (NOW + 59).to_string());
    let slot = format!(
        r#"{{"intentId":"{}","payer":"{}","network":"eip155:84532","asset":"{TOKEN}","generation":0}}"#,
        intent_id(&host),
        text(permit, "from")
    );
    let nonce = wasm::call("permit2Nonce", &slot, None, Some(Zeroizing::new(vec![7; 32]))).unwrap();
    assert_eq!(text(permit, "nonce"), nonce.as_str().unwrap());
    let signed_permit = permit.clone();
    let sent = host.on(&host::signed(&asked, &KEY));
    let header = sent.get("payment").unwrap();
    assert_eq!(text(header, "name"), "PAYMENT-SIGNATURE");
    let payment = json::parse_bytes(&base64::decode_header(text(header, "value")).unwrap()).unwrap();
    let payload = payment.get("payload").unwrap();
    assert_eq!(payload.get("permit2Authorization"), Some(&signed_permit));
    assert_eq!(payload.get("authorization"), None);
}

#[test]
fn the_journal_keeps_the_method() {
    let mut host = listed(false);
    ask_signer(&mut host);
    let record = record(&host);
    assert_eq!(text(record.get("rail").unwrap(), "method"), "permit2");
    let attempts = record.get("attempts").unwrap().as_array().unwrap();
    assert_eq!(attempts[0].get("authorization"), None);
    assert_eq!(text(attempts[0].get("domain").unwrap(), "name"), "Permit2");
}

#[test]
fn a_token_that_the_payer_does_not_list() {
    let mut host = Host::plain();
    host.fetch(URL);
    let end = host.on(&price(&["permit2"]));
    assert_fails(&end, "no_supported_payment_option", "none");
}

#[test]
fn eip3009_comes_first_whatever_the_order() {
    let mut host = listed(false);
    host.fetch(URL);
    let asked = host.on(&price(&["permit2", "eip3009"]));
    assert!(
        asked.get("sign").unwrap().get("authorization").is_some(),
        "{}",
        asked.to_text()
    );
}

#[test]
fn rail_changed() {
    for (first, second) in [("permit2", "eip3009"), ("eip3009", "permit2")] {
        let mut host = listed(false);
        host.fetch(URL);
        let asked = host.on(&price(&[first]));
        host.on(&host::signed(&asked, &KEY));
        host.on(TIMEOUT);
        // Past its window the seller is asked for the price again; what was sent first may still have landed.
        host.now += 600;
        let end = host.fetch(URL);
        assert_eq!(text(&end, "type"), "send", "{}", end.to_text());
        let end = host.on(&price(&[second]));
        assert_fails(&end, "rail_changed", "possible");
    }
}

#[test]
fn signer_mismatch() {
    let mut host = listed(false);
    let asked = ask_signer(&mut host);
    let end = host.on(&host::signed(&asked, &OTHER_KEY));
    assert_fails(&end, "signer_mismatch", "none");
}

#[test]
fn a_missing_approval_is_a_refusal_that_frees_no_money() {
    let mut host = listed(false);
    let asked = ask_signer(&mut host);
    host.on(&host::signed(&asked, &KEY));
    let end = host.on(
        r#"{"type":"answer","answer":{"status":412,"body":"{\"error\":\"permit2_allowance_required\"}"}}"#,
    );
    assert_fails(&end, "payment_rejected", "possible");
}

/// Signed, sent, no answer; the machine reads the chain.
fn lost_answer() -> (Host, Json, String) {
    let mut host = listed(true);
    host.fetch(URL);
    let read = host.on(&price(&["permit2"]));
    assert_eq!(
        text(read.get("read").unwrap(), "method"),
        "permit2",
        "{}",
        read.to_text()
    );
    let asked = host.evidence(&unused(&read, NOW));
    let nonce = text(permit(&asked), "nonce").to_owned();
    host.on(&host::signed(&asked, &KEY));
    let read = host.on(TIMEOUT);
    assert_eq!(text(&read, "type"), "read_chain", "{}", read.to_text());
    assert_eq!(text(read.get("read").unwrap(), "nonce"), nonce);
    (host, read, nonce)
}

#[test]
fn a_transfer_as_signed_is_paid() {
    let (mut host, read, _) = lost_answer();
    let again = host.evidence(&used(&read, Some(10_000)));
    assert_eq!(host.states(), ["paid"], "{}", again.to_text());
}

#[test]
fn a_transfer_on_other_terms() {
    let (mut host, read, _) = lost_answer();
    let end = host.evidence(&used(&read, Some(9_999)));
    assert_fails(&end, "paid_wrong_terms", "proven");
    assert_eq!(host.states(), ["wrong_terms"]);
}

#[test]
fn past_the_deadline_it_is_dead_and_the_same_nonce_is_signed_again() {
    let (mut host, read, nonce) = lost_answer();
    host.now += 60;
    // At the deadline itself it could still land.
    let latest = host.evidence(&unused(&read, NOW + 59));
    assert_eq!(text(latest.get("read").unwrap(), "tag"), "latest");
    assert_eq!(host.states(), ["sent"]);
    let (mut host, read, _) = lost_answer();
    host.now += 60;
    host.evidence(&unused(&read, NOW + 60));
    assert_eq!(host.states(), ["dead"]);
    let asked = host.on(&price(&["permit2"]));
    assert_eq!(text(permit(&asked), "nonce"), nonce);
}

#[test]
fn after_a_proof_of_death_another_method_is_free() {
    let (mut host, read, _) = lost_answer();
    host.now += 60;
    host.evidence(&unused(&read, NOW + 60));
    let read = host.on(&price(&["eip3009"]));
    assert_eq!(text(&read, "type"), "read_chain", "{}", read.to_text());
    assert_eq!(read.get("read").unwrap().get("method"), None);
}

#[test]
fn a_final_invalidation_moves_to_the_next_nonce() {
    let (mut host, read, nonce) = lost_answer();
    host.evidence(&used(&read, None));
    assert_eq!(host.states(), ["cancelled"]);
    let read = host.on(&price(&["permit2"]));
    assert_ne!(text(read.get("read").unwrap(), "nonce"), nonce);
}

#[test]
fn a_nonce_used_before_this_journal_began() {
    let mut host = listed(true);
    host.fetch(URL);
    let read = host.on(&price(&["permit2"]));
    let end = host.evidence(&used(&read, Some(10_000)));
    assert_fails(&end, "authorization_used", "proven");
    assert!(host.states().is_empty());
}

#[test]
fn evidence_of_the_other_method_is_none() {
    let (mut host, read, _) = lost_answer();
    let wrong = |read: &Json| unused(read, NOW + 600).replace("nonceBitmap", "authorizationState");
    let latest = host.evidence(&wrong(&read));
    let end = host.evidence(&wrong(&latest));
    assert_fails(&end, "evidence_unreadable", "possible");
    assert_eq!(host.states(), ["sent"]);
}

#[test]
fn what_only_eip3009_has_is_refused_and_changes_nothing() {
    let (mut host, _, _) = lost_answer();
    let before = host.rows.clone();
    let end = host.intent("cancel");
    assert_fails(&end, "permit2_unsupported", "possible");
    assert_eq!(host.rows, before);
}

/// With trusted blocks only what can be proven is signed: by Permit2 where its code is known, and anything else that is offered before nothing.
#[test]
fn trusted_blocks_leave_out_what_can_never_be_proven() {
    // Abstract: no code of Permit2 is pinned for it.
    let elsewhere = "eip155:2741";
    let trusting = |network: &str, layouts: &str| {
        let policy = format!(
            r#"{{"perCall":"50000","maxWindow":60,"assets":[{{"network":"{network}","asset":"{TOKEN}"}}]}}"#
        );
        let mut host = Host::new(&policy, false);
        host.config = host.config.replace(
            r#""readable":"#,
            &format!(r#""trustedBlocks":[],"layouts":[{layouts}],"readable":"#),
        );
        host
    };
    let offer = |network: &str, method: &str| {
        format!(
            r#"{{"scheme":"exact","network":"{network}","asset":"{TOKEN}","amount":"10000","payTo":"{SELLER}","maxTimeoutSeconds":60,"extra":{{"name":"USDC","version":"2","assetTransferMethod":"{method}"}}}}"#
        )
    };
    let ends = |host: &mut Host, offers: &[String]| {
        host.fetch(URL);
        let price = format!(
            r#"{{"x402Version":2,"resource":{{"url":"{URL}"}},"accepts":[{}]}}"#,
            offers.join(",")
        );
        host.on(&priced(&price))
    };
    let by_permit = offer(elsewhere, "permit2");
    let refused = ends(&mut trusting(elsewhere, ""), core::slice::from_ref(&by_permit));
    assert_fails(&refused, "rail_not_provable", "none");
    assert_eq!(text(refused.get("error").unwrap(), "field"), "accepts[0]");
    // Something else that is offered is taken.
    let other = ends(
        &mut trusting(elsewhere, ""),
        &[by_permit.clone(), offer(elsewhere, "eip3009")],
    );
    assert_eq!(text(&other, "type"), "sign", "{}", other.to_text());
    // The caller knows the code; the code is pinned; the sources are trusted.
    let declared = format!(r#"{{"codeHash":"0x{}"}}"#, "0c".repeat(32));
    for (host, network) in [
        (&mut trusting(elsewhere, &declared), elsewhere),
        (&mut trusting("eip155:84532", ""), "eip155:84532"),
    ] {
        let signs = ends(host, &[offer(network, "permit2")]);
        assert_eq!(text(&signs, "type"), "sign", "{}", signs.to_text());
    }
    let mut believing = trusting(elsewhere, "");
    believing.config = believing.config.replace(r#""trustedBlocks":[],"#, "");
    assert_eq!(text(&ends(&mut believing, &[by_permit]), "type"), "sign");
}
