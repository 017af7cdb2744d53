//! Scheme `upto`: the maximum is signed and held, what the chain shows of it is spent, and the rest is free again.

#[path = "client/bitmap.rs"]
mod bitmap;
#[path = "client/host.rs"]
mod host;

use bitmap::{unused, used};
use counterfoil::json::{self, Json};
use counterfoil::{base64, wasm};
use host::{assert_fails, held, permit, priced, text, Host, KEY, NOW, SELLER, TOKEN, URL};
use zeroize::Zeroizing;

const FACILITATOR: &str = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
const SPENDER: &str = "0x4020A4f3b7b90ccA423B9fabCc0CE57C6C240002";
const TIMEOUT: &str = r#"{"type":"answer","answer":{"transport":"timeout"}}"#;

fn payer(chain: bool) -> Host {
    let policy = format!(
        r#"{{"perCall":"50000","maxWindow":60,"upto":true,"drift":{{"priceStep":"refuse"}},"assets":[{{"network":"eip155:84532","asset":"{TOKEN}"}}]}}"#
    );
    Host::new(&policy, chain)
}

/// At most 10000, settled by this facilitator.
fn price(facilitator: &str) -> String {
    at_most(10_000, facilitator)
}

fn at_most(amount: u64, facilitator: &str) -> String {
    let price = format!(
        r#"{{"x402Version":2,"resource":{{"url":"{URL}"}},"accepts":[{{"scheme":"upto","network":"eip155:84532","amount":"{amount}","asset":"{TOKEN}","payTo":"{SELLER}","maxTimeoutSeconds":60,"extra":{{"name":"USDC","version":"2","assetTransferMethod":"permit2","facilitatorAddress":"{facilitator}"}}}}]}}"#
    );
    priced(&price)
}

/// Up to the paid request.
fn send(chain: bool) -> (Host, String) {
    let mut host = payer(chain);
    host.fetch(URL);
    let mut asked = host.on(&price(FACILITATOR));
    if chain {
        asked = host.evidence(&unused(&asked, NOW));
    }
    let nonce = text(permit(&asked), "nonce").to_owned();
    let sent = host.on(&host::signed(&asked, &KEY));
    assert_eq!(text(&sent, "type"), "send");
    (host, nonce)
}

/// The seller's answer with its settlement response of this amount.
fn answer(amount: &str, transaction: &str) -> String {
    let settlement = format!(
        r#"{{"success":true,"transaction":"{transaction}","network":"eip155:84532","amount":"{amount}"}}"#
    );
    let header = base64::encode(settlement.as_bytes());
    format!(r#"{{"type":"answer","answer":{{"status":200,"headers":{{"payment-response":"{header}"}}}}}}"#)
}

/// The answer is taken in whole.
fn deliver(host: &mut Host, answer: &str) -> Json {
    let effect = host.on(answer);
    assert_eq!(text(&effect, "type"), "deliver", "{}", effect.to_text());
    let sha256 = counterfoil::hex::encode(counterfoil::digest::sha256(b"x"));
    let done = host.on(&format!(
        r#"{{"type":"body","status":200,"headers":{{}},"sha256":"{sha256}","length":1,"complete":true}}"#
    ));
    assert_eq!(text(&done, "type"), "done", "{}", done.to_text());
    done
}

fn transaction() -> String {
    format!("0x{}", "ab".repeat(32))
}

#[test]
fn what_is_signed_sent_and_held() {
    let mut host = payer(false);
    host.fetch(URL);
    let asked = host.on(&price(FACILITATOR));
    let signed = permit(&asked).clone();
    assert_eq!(text(&signed, "spender"), SPENDER);
    let witness = signed.get("witness").unwrap();
    assert_eq!(
        (text(witness, "to"), text(witness, "facilitator")),
        (SELLER, FACILITATOR)
    );
    assert_eq!(text(signed.get("permitted").unwrap(), "amount"), "10000");
    assert_eq!(held(&host), ["reserved 10000"]);
    let sent = host.on(&host::signed(&asked, &KEY));
    let value = text(sent.get("payment").unwrap(), "value").to_owned();
    let payment = json::parse_bytes(&base64::decode_header(&value).unwrap()).unwrap();
    let payload = payment.get("payload").unwrap();
    assert_eq!(payload.get("permit2Authorization"), Some(&signed));
    assert_eq!(text(payment.get("accepted").unwrap(), "scheme"), "upto");
}

#[test]
fn the_nonce_is_that_of_any_other_permit_of_the_intent() {
    let (host, nonce) = send(false);
    let key = host.rows.keys().find(|key| key.starts_with("intent/")).unwrap();
    let slot = format!(
        r#"{{"intentId":"{}","payer":"{}","network":"eip155:84532","asset":"{TOKEN}","generation":0}}"#,
        key.trim_start_matches("intent/"),
        counterfoil::signing::address_of_key(&KEY).unwrap(),
    );
    let derived = wasm::call("permit2Nonce", &slot, None, Some(Zeroizing::new(vec![7; 32]))).unwrap();
    assert_eq!(derived.as_str().unwrap(), nonce);
}

#[test]
fn off_unless_the_policy_says_so() {
    let policy = format!(
        r#"{{"perCall":"50000","maxWindow":60,"assets":[{{"network":"eip155:84532","asset":"{TOKEN}"}}]}}"#
    );
    let mut host = Host::new(&policy, false);
    host.fetch(URL);
    assert_fails(
        &host.on(&price(FACILITATOR)),
        "no_supported_payment_option",
        "none",
    );
}

#[test]
fn what_the_chain_shows_is_spent_and_the_rest_is_free() {
    for (moved, spent) in [(10_000, "settled 10000"), (1, "settled 1"), (0, "settled 0")] {
        let (mut host, _) = send(true);
        let read = host.on(TIMEOUT);
        let end = host.evidence(&used(&read, Some(moved)));
        assert_eq!(host.states(), ["paid"], "{}", end.to_text());
        assert_eq!(held(&host), [spent]);
    }
}

#[test]
fn a_maximum_is_compared_with_maxima_and_not_with_what_was_taken() {
    let (mut host, _) = send(true);
    let nothing = counterfoil::hex::encode(counterfoil::digest::sha256(b""));
    let fetch = |host: &mut Host, number: u64, most: u64| {
        host.start(&format!(
            r#"{{"mode":"fetch","request":{{"method":"GET","url":"{URL}","bodySha256":"{nothing}"}},"intent":{{"id":"the-call-of-number-{number}"}}}}"#
        ));
        host.on(&at_most(most, FACILITATOR))
    };
    let read = host.on(TIMEOUT);
    host.evidence(&used(&read, Some(100)));
    for number in 1..=3 {
        let asked = fetch(&mut host, number, 10_000);
        let asked = host.evidence(&unused(&asked, NOW));
        host.on(&host::signed(&asked, &KEY));
        let read = host.on(TIMEOUT);
        host.evidence(&used(&read, Some(100)));
    }
    assert_eq!(held(&host), ["settled 100"; 4]);
    // Twice the largest maximum is what a price may come to.
    assert_fails(&fetch(&mut host, 4, 20_001), "drift_refused", "none");
    let asked = fetch(&mut host, 5, 20_000);
    assert_eq!(text(&host.evidence(&unused(&asked, NOW)), "type"), "sign");
}

#[test]
fn more_than_was_signed_is_for_a_person() {
    let (mut host, _) = send(true);
    let read = host.on(TIMEOUT);
    let end = host.evidence(&used(&read, Some(10_001)));
    assert_fails(&end, "paid_wrong_terms", "proven");
    assert_eq!(held(&host), ["settled 10000"]);
}

#[test]
fn the_sellers_word_frees_nothing_and_the_chain_does() {
    let (mut host, _) = send(true);
    let done = deliver(&mut host, &answer("300", &transaction()));
    assert_eq!(done.get("resolution").unwrap().get("amount"), None);
    assert_eq!(held(&host), ["settled 10000"]);
    let read = host.intent("resume");
    let done = host.evidence(&used(&read, Some(300)));
    let resolution = done.get("resolution").unwrap();
    assert_eq!(
        (text(resolution, "outcome"), text(resolution, "amount")),
        ("delivered", "300")
    );
    assert_eq!(held(&host), ["settled 300"]);
    assert!(host.alerts.is_empty());
}

#[test]
fn a_seller_that_takes_more_than_it_says_is_told_of() {
    let (mut host, _) = send(true);
    deliver(&mut host, &answer("300", &transaction()));
    let read = host.intent("resume");
    host.evidence(&used(&read, Some(10_000)));
    assert_eq!(host.alerts, ["settlement_differs"]);
    assert_eq!(held(&host), ["settled 10000"]);
}

#[test]
fn a_settlement_of_nothing_without_a_transaction_is_proven_by_the_deadline() {
    // The official facilitator says success, names no transaction, and leaves the nonce unused.
    let (mut host, _) = send(true);
    deliver(&mut host, &answer("0", ""));
    assert_eq!(held(&host), ["reserved 10000"]);
    let read = host.intent("resume");
    let latest = host.evidence(&unused(&read, NOW + 59));
    host.evidence(&unused(&latest, NOW + 59));
    assert_eq!(held(&host), ["reserved 10000"], "it can still be settled");
    host.now += 60;
    let read = host.intent("resume");
    let done = host.evidence(&unused(&read, NOW + 60));
    assert_eq!(text(done.get("resolution").unwrap(), "outcome"), "delivered");
    assert_eq!(host.states(), ["dead"]);
    assert!(held(&host).is_empty());
}

#[test]
fn after_the_window_the_same_maximum_and_facilitator_are_signed_again() {
    let (mut host, nonce) = send(false);
    host.on(TIMEOUT);
    host.now += 600;
    host.fetch(URL);
    assert_fails(&host.on(&price(SELLER)), "terms_changed", "possible");
    host.fetch(URL);
    // Scheme exact at the same price is another thing to sign.
    let exact = price(FACILITATOR);
    let header = text(
        json::parse(&exact)
            .unwrap()
            .get("answer")
            .unwrap()
            .get("headers")
            .unwrap(),
        "payment-required",
    )
    .to_owned();
    let offer = String::from_utf8(base64::decode_header(&header).unwrap()).unwrap();
    let offer = offer.replace(r#""scheme":"upto""#, r#""scheme":"exact""#);
    let exact = exact.replace(&header, &base64::encode(offer.as_bytes()));
    assert_fails(&host.on(&exact), "terms_changed", "possible");
    host.fetch(URL);
    let asked = host.on(&price(FACILITATOR));
    assert_eq!(text(permit(&asked), "nonce"), nonce);
}

#[test]
fn cancel_is_refused_as_for_any_permit_and_nothing_moved_is_no_claim() {
    let (mut host, _) = send(true);
    let read = host.on(TIMEOUT);
    let latest = host.evidence(&unused(&read, NOW));
    host.evidence(&unused(&latest, NOW));
    assert_fails(&host.intent("cancel"), "permit2_unsupported", "possible");
    let read = host.intent("resume");
    host.evidence(&used(&read, Some(0)));
    let end = host.intent("claim");
    assert_eq!(text(end.get("error").unwrap(), "code"), "claim_unpaid");
}
