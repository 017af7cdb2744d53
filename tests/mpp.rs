//! The paying machine on the Payment scheme: which challenge it takes, what it signs and sends, and when it takes another.

#[path = "client/host.rs"]
mod host;

use counterfoil::json::{self, Json};
use counterfoil::mpp::credential;
use counterfoil::{base64, wasm};
use host::{
    assert_fails, chain, chain_at, record, text, wallet_record, Host, KEY, NOW, OTHER_KEY, SELLER, SEPOLIA,
    TOKEN, URL,
};

const REALM: &str = "api.example";
const TIMEOUT: &str = r#"{"type":"answer","answer":{"transport":"timeout"}}"#;

fn request(amount: u64, more: &str) -> String {
    let request = format!(
        r#"{{"amount":"{amount}","currency":"{TOKEN}","methodDetails":{{"chainId":84532,"credentialTypes":["authorization"]{more}}},"recipient":"{SELLER}"}}"#
    );
    base64::encode_url(request.as_bytes())
}

/// A challenge as the header has it.
fn asks(id: &str, amount: u64, more: &str) -> String {
    let request = request(amount, "");
    format!(r#"Payment id="{id}", realm="{REALM}", method="evm", intent="charge", request="{request}"{more}"#)
}

/// The 402 answer that carries it, and an x402 price when there is one.
fn priced(challenges: &str, x402: Option<&str>) -> String {
    let header = |name: &str, value: &str| (name.to_owned(), Json::text(value));
    let mut headers = vec![header("www-authenticate", challenges)];
    headers.extend(x402.map(|price| header("payment-required", price)));
    let problem = r#"{"type":"https://paymentauth.org/problems/payment-required","status":402}"#;
    let answer = Json::object([
        ("status", Json::number(402)),
        ("headers", Json::Object(headers)),
        ("body", Json::text(problem)),
    ]);
    Json::object([("type", Json::text("answer")), ("answer", answer)]).to_text()
}

fn once(id: &str) -> String {
    priced(&asks(id, 10_000, ""), None)
}

/// The header value of an x402 price for the same.
fn x402() -> String {
    let event = json::parse(&host::price(10_000, SELLER)).unwrap();
    let headers = event.get("answer").unwrap().get("headers").unwrap();
    text(headers, "payment-required").to_owned()
}

/// Up to the signer.
fn ask_signer(host: &mut Host, answer: &str) -> Json {
    assert_eq!(text(&host.fetch(URL), "type"), "send");
    let asked = host.on(answer);
    assert_eq!(text(&asked, "type"), "sign", "{}", asked.to_text());
    asked
}

/// Up to the paid request.
fn pay(host: &mut Host, answer: &str) -> Json {
    let asked = ask_signer(host, answer);
    let sent = host.on(&host::signed(&asked, &KEY));
    assert_eq!(text(&sent, "type"), "send", "{}", sent.to_text());
    sent
}

fn authorization(asked: &Json) -> &Json {
    asked.get("sign").unwrap().get("authorization").unwrap()
}

/// Keccak-256 of `c1api.example`, by viem: the nonce that this challenge dictates.
const NONCE_C1: &str = "0x83cf482312169b9466e725bfc114888750c31835e003a2ad74de8c68447c3b7a";

#[test]
fn what_is_signed_and_sent() {
    let mut host = Host::plain();
    let asked = ask_signer(&mut host, &once("c1"));
    let signed = authorization(&asked).clone();
    assert_eq!(text(&signed, "nonce"), NONCE_C1);
    assert_eq!((text(&signed, "to"), text(&signed, "value")), (SELLER, "10000"));
    // Without an end of its own the policy's window counts.
    assert_eq!(text(&signed, "validBefore"), (NOW + 60).to_string());
    let sent = host.on(&host::signed(&asked, &KEY));
    let header = sent.get("payment").unwrap();
    assert_eq!(text(header, "name"), "Authorization");
    let credential = credential::parse(text(header, "value")).unwrap();
    assert_eq!(credential.challenge.request, request(10_000, ""));
    assert_eq!(
        credential.source.unwrap(),
        format!("did:pkh:eip155:84532:{}", text(&signed, "from"))
    );
    assert_eq!(text(&credential.payload, "type"), "authorization");
    for name in ["from", "to", "value", "validAfter", "validBefore", "nonce"] {
        assert_eq!(credential.payload.get(name), signed.get(name));
    }
}

#[test]
fn the_journal_holds_challenge_and_credential_before_anything_is_sent() {
    let mut host = Host::plain();
    let sent = pay(&mut host, &once("c1"));
    let record = record(&host);
    let rail = record.get("rail").unwrap();
    assert_eq!((text(rail, "method"), text(rail, "protocol")), ("eip3009", "mpp"));
    let quote = &record.get("quotes").unwrap().as_array().unwrap()[0];
    assert_eq!(text(quote.get("requirements").unwrap(), "id"), "c1");
    let attempt = &record.get("attempts").unwrap().as_array().unwrap()[0];
    assert_eq!(attempt.get("header"), sent.get("payment"));
}

#[test]
fn the_field_that_the_challenge_names() {
    let mut host = Host::plain();
    let named = asks("c1", 10_000, r#", header="payment-authorization""#);
    let sent = pay(&mut host, &priced(&named, None));
    assert_eq!(
        text(sent.get("payment").unwrap(), "name"),
        "Payment-Authorization"
    );
}

/// Buys with a request that has an `Authorization` of its own.
fn authenticated(host: &mut Host) {
    let nothing = counterfoil::hex::encode(counterfoil::digest::sha256(b""));
    host.start(&format!(
        r#"{{"mode":"fetch","authenticated":true,"request":{{"method":"GET","url":"{URL}","bodySha256":"{nothing}"}},"intent":{{"id":"{}"}}}}"#,
        host::ID
    ));
}

#[test]
fn the_callers_own_authorization_is_never_overwritten() {
    let mut host = Host::plain();
    authenticated(&mut host);
    assert_fails(&host.on(&once("c1")), "no_supported_payment_option", "none");
    authenticated(&mut host);
    let both = format!(
        r#"{}, {}"#,
        asks("c1", 10_000, ""),
        asks("c2", 10_000, r#", header="Payment-Authorization""#)
    );
    let asked = host.on(&priced(&both, None));
    assert_ne!(text(authorization(&asked), "nonce"), NONCE_C1);
}

#[test]
fn x402_comes_first_on_the_same_rail() {
    let mut host = Host::plain();
    let asked = ask_signer(&mut host, &priced(&asks("c1", 10_000, ""), Some(&x402())));
    assert_ne!(text(authorization(&asked), "nonce"), NONCE_C1);
    assert_eq!(record(&host).get("rail").unwrap().get("protocol"), None);
}

/// The policy's order decides before the protocol does.
#[test]
fn the_first_rail_of_the_policy_decides() {
    let base = r#"{"network":"eip155:8453","asset":"0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"}"#;
    let policy = format!(
        r#"{{"perCall":"50000","maxWindow":60,"assets":[{base},{{"network":"eip155:84532","asset":"{TOKEN}"}}]}}"#
    );
    let mut host = Host::new(&policy, false);
    let on_base = asks("c1", 10_000, "").replace(
        &request(10_000, ""),
        &base64::encode_url(format!(r#"{{"amount":"10000","currency":"0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913","methodDetails":{{"chainId":8453,"credentialTypes":["authorization"]}},"recipient":"{SELLER}"}}"#).as_bytes()),
    );
    let asked = ask_signer(&mut host, &priced(&on_base, Some(&x402())));
    assert_eq!(text(authorization(&asked), "nonce"), NONCE_C1);
}

#[test]
fn what_is_not_taken() {
    let swap = |from: &str, to: &str| priced(&asks("c1", 10_000, "").replace(from, to), None);
    let terms = |request: &str| {
        let text = base64::encode_url(request.as_bytes());
        swap(&self::request(10_000, ""), &text)
    };
    let expired = |more: &str| priced(&asks("c1", 10_000, more), None);
    let charge = |currency: &str, details: &str, rest: &str| {
        terms(&format!(
            r#"{{"amount":"10000","currency":"{currency}","methodDetails":{{{details}}}{rest}}}"#
        ))
    };
    let to = format!(r#","recipient":"{SELLER}""#);
    let pull = r#""chainId":84532,"credentialTypes":["authorization"]"#;
    let other = "0x2222222222222222222222222222222222222222";
    let cases = [
        (swap("evm", "stripe"), "no_supported_payment_option"),
        (swap("charge", "session"), "no_supported_payment_option"),
        (swap("Payment id", "Bearer id"), "payment_required_invalid"),
        (swap("realm=", "rhelm="), "challenge_invalid"),
        (
            charge(TOKEN, r#""chainId":84532"#, &to),
            "no_supported_payment_option",
        ),
        (
            charge(TOKEN, r#""chainId":84532,"credentialTypes":["permit2"]"#, &to),
            "no_supported_payment_option",
        ),
        (
            charge(
                TOKEN,
                &format!(r#"{pull},"splits":[{{"amount":"1","recipient":"{other}"}}]"#),
                &to,
            ),
            "no_supported_payment_option",
        ),
        (charge(TOKEN, pull, ""), "challenge_invalid"),
        (charge(other, pull, &to), "unknown_asset"),
        (
            charge(TOKEN, pull, &format!(r#","recipient":"{TOKEN}""#)),
            "recipient_forbidden",
        ),
        (
            charge(TOKEN, r#""chainId":1,"credentialTypes":["authorization"]"#, &to),
            "unknown_asset",
        ),
        (terms(r#"{"amount":10000}"#), "no_supported_payment_option"),
        (swap(&request(10_000, ""), &request(60_000, "")), "over_cap"),
        (
            expired(r#", expires="2026-09-21T14:13:20Z""#),
            "challenge_expired",
        ),
        (
            expired(r#", digest="sha-256=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=""#),
            "challenge_invalid",
        ),
        (expired(r#", header="Cookie""#), "challenge_invalid"),
        (expired(r#", description="not closed"#), "challenge_invalid"),
    ];
    assert_eq!(
        NOW, 1_790_000_000,
        "the expired one ends in the second of the call"
    );
    for (answer, code) in cases {
        let mut host = Host::plain();
        host.fetch(URL);
        assert_fails(&host.on(&answer), code, "none");
        assert!(host.rows.is_empty(), "{code}");
    }
}

#[test]
fn a_broken_challenge_beside_a_good_price_or_challenge() {
    for (challenges, price) in [
        (r#"Payment id="open"#.to_owned(), Some(x402())),
        (format!(r#"Payment id="c0", {}"#, asks("c1", 10_000, "")), None),
        (
            format!(
                r#"{}, {}"#,
                asks("c0", 10_000, r#", expires="2020-01-01T00:00:00Z""#),
                asks("c1", 10_000, "")
            ),
            None,
        ),
    ] {
        ask_signer(&mut Host::plain(), &priced(&challenges, price.as_deref()));
    }
}

#[test]
fn tls_only() {
    let mut host = Host::plain();
    host.fetch("http://api.example/x");
    assert_fails(&host.on(&once("c1")), "transport_insecure", "none");
    for url in ["http://127.0.0.1:8080/x", "http://[::1]/x", "http://localhost/x"] {
        let mut host = Host::plain();
        host.fetch(url);
        assert_eq!(text(&host.on(&once("c1")), "type"), "sign");
    }
    // A name that only begins like this machine.
    host = Host::plain();
    host.fetch("http://localhost.example/x");
    assert_fails(&host.on(&once("c1")), "transport_insecure", "none");
}

#[test]
fn the_digest_of_the_body_that_is_sent() {
    // SHA-256 of nothing, in both spellings.
    for digest in [
        "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=",
        ":47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:",
    ] {
        let more = format!(r#", digest="sha-256={digest}""#);
        ask_signer(&mut Host::plain(), &priced(&asks("c1", 10_000, &more), None));
    }
}

#[test]
fn the_end_of_the_challenge_bounds_the_window() {
    let mut host = Host::plain();
    // Thirty seconds from NOW, where the policy allows sixty.
    let ends = priced(&asks("c1", 10_000, r#", expires="2026-09-21T14:13:50Z""#), None);
    let asked = ask_signer(&mut host, &ends);
    assert_eq!(text(authorization(&asked), "validBefore"), (NOW + 30).to_string());
    host.now += 30;
    let end = host.on(&host::signed(&asked, &KEY));
    assert_fails(&end, "expired_before_send", "none");
    assert!(host.states().is_empty());
}

/// A seller whose clock is behind moves the window, never the end of the challenge.
#[test]
fn the_end_is_told_by_our_clock() {
    let mut host = Host::plain();
    let ends = priced(&asks("c1", 10_000, r#", expires="2026-09-21T14:13:50Z""#), None).replace(
        r#""headers":{"#,
        r#""headers":{"date":"Mon, 21 Sep 2026 14:11:20 GMT","#,
    );
    let asked = ask_signer(&mut host, &ends);
    host.now += 29;
    let mut late = Host {
        now: NOW + 30,
        ..host.copy()
    };
    assert_eq!(text(&host.on(&host::signed(&asked, &KEY)), "type"), "send");
    assert_fails(
        &late.on(&host::signed(&asked, &KEY)),
        "expired_before_send",
        "none",
    );
}

#[test]
fn signer_mismatch() {
    let mut host = Host::plain();
    let asked = ask_signer(&mut host, &once("c1"));
    assert_fails(
        &host.on(&host::signed(&asked, &OTHER_KEY)),
        "signer_mismatch",
        "none",
    );
}

#[test]
fn a_retry_is_the_same_bytes_and_not_past_the_window() {
    let mut host = Host::resending(r#"{"perCall":"50000","maxWindow":60}"#, false, 1);
    let first = pay(&mut host, &once("c1"));
    assert_eq!(text(&host.on(TIMEOUT), "type"), "wait");
    let again = host.on(r#"{"type":"waited"}"#);
    assert_eq!(again.get("payment"), first.get("payment"));
    assert!(first.get("payment").is_some());
    host.now += 60;
    assert_fails(&host.on(TIMEOUT), "outcome_unknown", "possible");
}

/// The classic double charge: the money is taken, and the answer is a fresh challenge.
#[test]
fn another_challenge_after_paying_is_never_signed() {
    let mut host = Host::plain();
    pay(&mut host, &once("c1"));
    assert_fails(&host.on(&once("c2")), "outcome_unknown", "possible");
    // Nor by the next call, inside the window or after it: nobody can say what became of the first.
    for later in [1, 60, 86_400] {
        host.now = NOW + later;
        let end = host.fetch(URL);
        assert_fails(&end, "outcome_unknown", "possible");
    }
    assert_eq!(host.states(), ["sent"]);
    assert_eq!(record(&host).get("quotes").unwrap().as_array().unwrap().len(), 1);
}

/// Up to the chain's word on what was sent.
fn lost_answer() -> (Host, Json) {
    let mut host = Host::with_chain();
    host.fetch(URL);
    let read = host.on(&once("c1"));
    let asked = host.evidence(&chain(SEPOLIA, &read, 0, None));
    assert_eq!(text(authorization(&asked), "nonce"), NONCE_C1);
    host.on(&host::signed(&asked, &KEY));
    let read = host.on(&once("c2"));
    assert_eq!(text(read.get("read").unwrap(), "nonce"), NONCE_C1);
    (host, read)
}

#[test]
fn settled_and_challenged_again_is_paid() {
    let (mut host, read) = lost_answer();
    host.evidence(&chain(SEPOLIA, &read, 1, Some((SELLER, 10_000))));
    assert_eq!(host.states(), ["paid"]);
    // Whatever is asked for from then on, the claim stands.
    let end = host.fetch(URL);
    assert_fails(&end, "paid_not_delivered", "proven");
}

#[test]
fn unused_and_the_window_over_is_not_yet_dead() {
    let (mut host, read) = lost_answer();
    host.now += 61;
    // The block is not final, or one second early: no new challenge.
    let latest = host.evidence(&chain_at(NOW + 59, SEPOLIA, &read, 0, None));
    assert_eq!(text(latest.get("read").unwrap(), "tag"), "latest");
    let end = host.evidence(&chain_at(NOW + 61, SEPOLIA, &latest, 0, None));
    assert_fails(&end, "outcome_unknown", "possible");
    assert_eq!(host.states(), ["sent"]);
}

#[test]
fn after_a_proof_of_death_another_challenge_is_taken() {
    let (mut host, read) = lost_answer();
    host.now += 61;
    let probe = host.evidence(&chain_at(NOW + 60, SEPOLIA, &read, 0, None));
    assert_eq!(
        (host.states(), text(&probe, "type")),
        (vec!["dead".to_owned()], "send")
    );
    let read = host.on(&once("c2"));
    assert_ne!(text(read.get("read").unwrap(), "nonce"), NONCE_C1);
    let asked = host.evidence(&chain_at(NOW + 61, SEPOLIA, &read, 0, None));
    host.on(&host::signed(&asked, &KEY));
    assert_eq!(host.states(), ["dead", "sent"]);
    assert_eq!(host.alerts, Vec::<String>::new());
    // The second is as unresolved as the first was.
    let read = host.on(&once("c3"));
    assert_eq!(text(&read, "type"), "read_chain");
}

#[test]
fn a_cancelled_challenge_is_not_signed_for_again() {
    let (mut host, read) = lost_answer();
    let used = chain(SEPOLIA, &read, 1, Some((SELLER, 10_000)));
    let cancelled = cancelled(&used);
    let probe = host.evidence(&cancelled);
    assert_eq!(
        (host.states(), text(&probe, "type")),
        (vec!["cancelled".to_owned()], "send")
    );
    let end = host.on(&once("c1"));
    assert_fails(&end, "used_or_cancelled", "none");
    // Another challenge brings another nonce.
    host.fetch(URL);
    let read = host.on(&once("c2"));
    assert_eq!(text(&read, "type"), "read_chain");
}

/// The same logs, of a cancellation.
fn cancelled(used: &str) -> String {
    const CANCELED: &str = "0x1cdd46ff242716cdaa72d159d339a485b3438398348d68f09d7c8c0a59353d81";
    let mut evidence = json::parse(&used.replace(host::USED, CANCELED)).unwrap();
    let mut receipt = evidence.get("receipt").unwrap().clone();
    let logs = receipt.get("logs").unwrap().as_array().unwrap()[..1].to_vec();
    receipt.set("logs", Json::Array(logs));
    evidence.set("receipt", receipt);
    evidence.to_text()
}

#[test]
fn a_challenge_paid_before_this_journal_began() {
    let mut host = Host::with_chain();
    host.fetch(URL);
    let read = host.on(&once("c1"));
    let end = host.evidence(&chain(SEPOLIA, &read, 1, Some((SELLER, 10_000))));
    assert_fails(&end, "authorization_used", "proven");
}

/// One challenge is one purchase: what was paid under it is no payment of another intent.
#[test]
fn a_challenge_that_another_intent_pays() {
    let mut host = Host::with_chain();
    host.fetch(URL);
    let read = host.on(&once("c1"));
    let asked = host.evidence(&chain(SEPOLIA, &read, 0, None));
    host.on(&host::signed(&asked, &KEY));
    host.on(TIMEOUT);
    let nothing = counterfoil::hex::encode(counterfoil::digest::sha256(b""));
    let second = |host: &mut Host, challenge: &str| {
        host.start(&format!(
            r#"{{"mode":"fetch","request":{{"method":"GET","url":"{URL}","bodySha256":"{nothing}"}},"intent":{{"id":"second-000000000000001"}}}}"#
        ));
        host.on(challenge)
    };
    assert_fails(&second(&mut host, &once("c1")), "challenge_invalid", "none");
    // One of its own is taken.
    assert_eq!(text(&second(&mut host, &once("c2")), "type"), "read_chain");
}

#[test]
fn the_same_id_with_other_terms_before_anything_is_signed() {
    let (mut host, read) = lost_answer();
    host.now += 61;
    host.evidence(&chain_at(NOW + 60, SEPOLIA, &read, 0, None));
    let end = host.on(&priced(&asks("c1", 9_999, ""), None));
    assert_fails(&end, "challenge_changed", "possible");
    assert_eq!(host.alerts, ["challenge_changed"]);
}

#[test]
fn one_id_twice_in_one_answer() {
    let mut host = Host::plain();
    host.fetch(URL);
    let both = format!("{}, {}", asks("c1", 10_000, ""), asks("c1", 20_000, ""));
    assert_fails(&host.on(&priced(&both, None)), "challenge_changed", "possible");
    assert_eq!(host.alerts, ["challenge_changed"]);
    // Said twice in the same words it is one.
    let twice = format!(
        "{}, {}",
        asks("c1", 10_000, ""),
        asks("c1", 10_000, r#", description="again""#)
    );
    ask_signer(&mut Host::plain(), &priced(&twice, None));
}

#[test]
fn the_same_id_with_other_terms_after_paying() {
    let mut host = Host::resending(r#"{"perCall":"50000","maxWindow":60}"#, false, 3);
    pay(&mut host, &once("c1"));
    let end = host.on(&priced(&asks("c1", 10_000, r#", opaque="e30""#), None));
    assert_fails(&end, "challenge_changed", "possible");
    assert_eq!(host.alerts, ["challenge_changed"]);
    // Nothing more is sent, let alone signed.
    host.now += 3_600;
    assert_fails(&host.fetch(URL), "challenge_changed", "possible");
    assert_eq!(host.states(), ["sent"]);
}

#[test]
fn it_is_not_handed_over() {
    let mut host = Host::plain();
    host.config = host.config.replacen('{', r#"{"actor":"a","#, 1);
    pay(&mut host, &once("c1"));
    host.on(TIMEOUT);
    let id = text(&record(&host), "intentId").to_owned();
    let end = host.start(&format!(
        r#"{{"mode":"hand_over","intentId":"{id}","to":"b","intent":{{"budget":"1"}}}}"#
    ));
    assert_fails(&end, "mpp_unsupported", "possible");
}

#[test]
fn no_change_of_protocol_while_the_first_may_land() {
    let mut host = Host::plain();
    let asked = ask_signer(&mut host, &priced(r#"Payment id="open"#, Some(&x402())));
    host.on(&host::signed(&asked, &KEY));
    host.on(TIMEOUT);
    host.now += 600;
    assert_eq!(text(&host.fetch(URL), "type"), "send");
    assert_fails(&host.on(&once("c1")), "rail_changed", "possible");
}

fn receipt(members: &str) -> String {
    let json = format!(
        r#"{{"method":"evm","reference":"0x{}","status":"success","timestamp":"2026-09-21T14:13:21Z"{members}}}"#,
        "cd".repeat(32)
    );
    let value = base64::encode_url(json.as_bytes());
    format!(r#"{{"type":"answer","answer":{{"status":200,"headers":{{"payment-receipt":"{value}"}}}}}}"#)
}

/// The answer's end, and what is held of the amount.
fn delivered(host: &mut Host, answer: &str) -> (String, String) {
    let resolution = host.on(answer);
    assert_eq!(text(&resolution, "type"), "deliver", "{}", resolution.to_text());
    let hash = counterfoil::hex::encode(counterfoil::digest::sha256(b"x"));
    host.on(&format!(
        r#"{{"type":"body","status":200,"headers":{{}},"sha256":"{hash}","length":1,"body":"eA==","complete":true}}"#
    ));
    let wallet = wallet_record(host);
    let entry = &wallet.get("entries").unwrap().as_array().unwrap()[0];
    let resolution = resolution.get("resolution").unwrap();
    (
        text(resolution, "outcome").to_owned(),
        text(entry, "state").to_owned(),
    )
}

#[test]
fn a_receipt_that_names_the_transaction_settles_it() {
    let mut host = Host::plain();
    pay(&mut host, &once("c1"));
    let answer = receipt(r#","challengeId":"c1","chainId":84532"#);
    assert_eq!(
        delivered(&mut host, &answer),
        ("settled".into(), "settled".into())
    );
    let attempt = record(&host).get("attempts").unwrap().as_array().unwrap()[0].clone();
    assert!(attempt.get("receipt").is_some() && attempt.get("settlement").is_none());
}

#[test]
fn no_receipt_is_no_failure() {
    let mut host = Host::plain();
    pay(&mut host, &once("c1"));
    let bare = r#"{"type":"answer","answer":{"status":200,"headers":{}}}"#;
    assert_eq!(delivered(&mut host, bare).1, "reserved");
}

#[test]
fn a_receipt_of_something_else_settles_nothing() {
    for members in [r#","challengeId":"c2""#, r#","method":"tempo""#] {
        let mut host = Host::plain();
        pay(&mut host, &once("c1"));
        let other = match members.contains("tempo") {
            true => receipt("").replace(
                &receipt("")[receipt("").find("eyJ").unwrap()..receipt("").rfind("\"}}}").unwrap()],
                &base64::encode_url(
                    format!(
                        r#"{{"method":"tempo","reference":"0x{}","status":"success","timestamp":"2026-09-21T14:13:21Z"}}"#,
                        "cd".repeat(32)
                    )
                    .as_bytes(),
                ),
            ),
            false => receipt(members),
        };
        assert_eq!(delivered(&mut host, &other).1, "reserved", "{members}");
    }
}

#[test]
fn a_receipt_on_an_error_says_nothing() {
    let mut host = Host::plain();
    pay(&mut host, &once("c1"));
    let end = host.on(&receipt("").replace("200", "500"));
    assert_fails(&end, "outcome_unknown", "possible");
    assert_eq!(
        record(&host).get("attempts").unwrap().as_array().unwrap()[0].get("receipt"),
        None
    );
}

/// The exported records of a purchase, with one text in them replaced.
fn verified(host: &Host, from: &str, to: &str) -> (String, Vec<String>) {
    let payer = text(&record(host), "principal").to_owned();
    let row = host
        .rows
        .iter()
        .find(|(key, _)| key.starts_with("intent/"))
        .unwrap();
    let changed = row.1 .1.replace(from, to);
    assert!(from.is_empty() || changed != row.1 .1, "{from} is there");
    let bundle = format!(
        r#"{{"type":"counterfoil/bundle","v":1,"exportedAt":{NOW},"payer":"{payer}","intents":[{changed}]}}"#
    );
    let input = Json::object([("receipt", Json::text(bundle)), ("material", Json::object([]))]);
    let report = wasm::call("verifyReceipt", &input.to_text(), None, None).unwrap();
    let checks = report.get("checks").unwrap().as_array().unwrap();
    let failed = checks.iter().filter(|check| text(check, "state") == "fail");
    (
        text(&report, "verdict").to_owned(),
        failed.map(|check| text(check, "id").to_owned()).collect(),
    )
}

#[test]
fn its_bundle_agrees_with_itself_and_no_changed_one_does() {
    let mut host = Host::plain();
    pay(&mut host, &once("c1"));
    delivered(&mut host, &receipt(r#","challengeId":"c1""#));
    assert_eq!(verified(&host, "", ""), ("incomplete".to_owned(), Vec::new()));
    let nonce = NONCE_C1.replace("0x83", "0x84");
    for (from, to, id) in [
        (NONCE_C1, nonce.as_str(), "authorization.nonce"),
        (r#""id":"c1""#, r#""id":"c9""#, "quote.hash"),
        (r#""protocol":"mpp""#, r#""protocol":"x402""#, "record.consistent"),
        (
            r#""name":"Authorization""#,
            r#""name":"Payment-Authorization""#,
            "payment.header",
        ),
    ] {
        let (verdict, failed) = verified(&host, from, to);
        assert_eq!(verdict, "failed");
        assert!(failed.iter().any(|one| one == id), "{id}: {failed:?}");
    }
}

#[test]
fn a_bundle_of_two_challenges() {
    let (mut host, read) = lost_answer();
    host.now += 61;
    host.evidence(&chain_at(NOW + 60, SEPOLIA, &read, 0, None));
    let read = host.on(&once("c2"));
    let asked = host.evidence(&chain_at(NOW + 61, SEPOLIA, &read, 0, None));
    host.on(&host::signed(&asked, &KEY));
    delivered(&mut host, &receipt(r#","challengeId":"c2""#));
    assert_eq!(verified(&host, "", "").1, Vec::<String>::new());
    // The second signed while the first could still land.
    assert_eq!(
        verified(&host, r#""state":"dead""#, r#""state":"sent""#).1,
        ["record.consistent"]
    );
}
