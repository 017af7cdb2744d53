//! What one vector a file can't say: sizes, order of members, the page of formats, types that don't cross the boundary.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that fails panics"
)]

use std::fs;

use counterfoil::address::Address;
use counterfoil::error::{Code, Money, Next};
use counterfoil::json::{self, Json};
use counterfoil::outcome::{classify, Answer, Outcome};
use counterfoil::policy::{Chosen, Offers, Policy};
use counterfoil::x402::{payment_payload, payment_required, settlement_response};
use counterfoil::{quote, wasm};

const OFFER: &str = r#"{"scheme":"exact","network":"eip155:8453","amount":"10000","asset":"0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913","payTo":"0x5Fc1434a59Cdf13c71CA74bF1A9344d2E9464FCe","maxTimeoutSeconds":60}"#;

fn price(offer: &str) -> String {
    format!(r#"{{"x402Version":2,"accepts":[{offer}]}}"#)
}

/// The digests on the page of formats are those of the vectors.
#[test]
fn formats_page() {
    let root = env!("CARGO_MANIFEST_DIR");
    let page = fs::read_to_string(format!("{root}/docs/formats.md")).unwrap();
    for name in [
        "quote/quote-plain",
        "quote/key-plain",
        "intent/explicit-plain",
        "intent/derived-plain",
        "intent/nonce-unkeyed",
        "intent/nonce-keyed",
        "intent/payment-id-unkeyed",
        "intent/payment-id-keyed",
        "intent/secret-default",
    ] {
        let vector = fs::read_to_string(format!("{root}/tests/vectors/{name}.json")).unwrap();
        let vector = json::parse(&vector).unwrap();
        let expected = vector.require("expected").unwrap().as_str().unwrap();
        assert!(page.contains(expected), "{name} is not on the page");
        if let Some(fingerprint) = vector.require("input").unwrap().get("fingerprint") {
            assert!(page.contains(fingerprint.as_str().unwrap()));
        }
    }
}

#[test]
fn sizes_are_checked_before_decoding() {
    // Neither is base64 or JSON: whoever decodes first says so.
    let header = "%".repeat(100 << 20);
    let body = "{".repeat((1 << 20) + 1);
    assert_eq!(
        payment_required::parse(Some(&header), None).unwrap_err().code,
        Code::TooLarge
    );
    assert_eq!(payment_payload::parse(&header).unwrap_err().code, Code::TooLarge);
    assert_eq!(
        settlement_response::parse(&header).unwrap_err().code,
        Code::TooLarge
    );
    assert_eq!(
        payment_required::parse(None, Some(&body)).unwrap_err().code,
        Code::TooLarge
    );
    let fits = format!("{}{}", price(OFFER), " ".repeat((1 << 20) - price(OFFER).len()));
    assert!(payment_required::parse(None, Some(&fits)).is_ok());
    let digits = OFFER.replace("10000", &"9".repeat(1_000_000));
    assert_eq!(
        payment_required::parse(None, Some(&price(&digits)))
            .unwrap_err()
            .code,
        Code::AmountInvalid
    );
}

/// A hostile price of many members or many offers costs time in proportion. Nothing is timed: by the square of their number, this
/// would not end within an hour.
#[test]
fn many_members_and_offers() {
    let members: Vec<String> = (0..1_000_000).map(|n| format!(r#""m{n}":{n}"#)).collect();
    let requirements = json::parse(&format!("{{{}}}", members.join(","))).unwrap();
    quote::quote_hash(&requirements, &[0; 32]).unwrap();
    let offers = vec!["[]"; 300_000].join(",");
    assert!(payment_required::parse(None, Some(&price(&offers))).is_err());
}

#[test]
fn a_body_above_the_limit_is_not_looked_at() {
    let body = |padding: usize| {
        let padding = "x".repeat(padding);
        Some(format!(
            r#"{{"code":"payment_identifier_conflict","padding":"{padding}"}}"#
        ))
    };
    let answer = |padding| Answer {
        status: Some(409),
        body: body(padding),
        ..Answer::default()
    };
    assert_eq!(classify(&answer(1 << 10)).outcome, Outcome::Conflict);
    assert_eq!(classify(&answer(1 << 20)).outcome, Outcome::InFlight);
}

/// Nothing that comes after a send says that the money is safe or that signing again is.
#[test]
fn no_answer_frees_the_money() {
    let bodies = [
        None,
        Some(r#"{"money":"none","next":"safe_to_resign","code":"insufficient_funds"}"#),
        Some(r#"{"errorReason":"invalid_payload","payment_state":"unused","retry_action":"resign"}"#),
        Some(r#"{"code":"payment_identifier_conflict"}"#),
        Some("not json"),
    ];
    for status in 0..700 {
        for body in bodies {
            for resend in [false, true] {
                let body = body.map(str::to_owned);
                let meaning = classify(&Answer {
                    status: Some(status),
                    body,
                    resend,
                    ..Answer::default()
                });
                assert_eq!(meaning.money, Money::Possible, "{status}");
                assert!(
                    !matches!(meaning.next, Next::SafeToResign | Next::Requote | Next::FixInput),
                    "{status}"
                );
                assert!(!matches!(meaning.outcome, Outcome::Settled), "{status}");
            }
        }
    }
}

/// The text of a seller never becomes a code, and never stands in an error.
#[test]
fn no_input_in_codes_or_errors() {
    let body = Some(r#"{"code":"zebra","error":"zebra zebra","type":"https://x/zebra"}"#.to_owned());
    for status in [200, 402, 409, 422, 500] {
        let meaning = classify(&Answer {
            status: Some(status),
            body: body.clone(),
            ..Answer::default()
        });
        assert!(!meaning.to_json().to_text().contains("zebra"));
    }
    let input = r#"{"policy":{"zebra":1},"header":"zebra!","payer":"zebra","method":"ze bra","url":"zebra","id":"zebra"}"#;
    for name in [
        "policyChoose",
        "parsePaymentRequired",
        "requestFingerprint",
        "explicitIntentId",
    ] {
        let error = wasm::call(name, input, None, None).unwrap_err();
        assert!(!wasm::error_json(&error).to_text().contains("zebra"), "{name}");
    }
}

#[test]
fn defaults_of_the_policy() {
    let policy = Policy::default();
    assert_eq!((policy.max_window(), policy.attempts()), (600, 3));
    let policy = Policy::from_json(&json::parse(r#"{"maxWindow":60,"attempts":1}"#).unwrap()).unwrap();
    assert_eq!((policy.max_window(), policy.attempts()), (60, 1));
    let required = payment_required::parse(None, Some(&price(OFFER))).unwrap();
    let payer = Address::parse("0x760326E8C94f38A9F0537b1FA45141cA995564C4").unwrap();
    let offers = Offers {
        required: Some(&required),
        challenges: &[],
    };
    let (chosen, terms) = policy.choose(offers, &payer, None).unwrap();
    assert_eq!(chosen, Chosen::Offer(0));
    assert_eq!(
        policy.decide(&terms, &[], 0).unwrap_err().code,
        Code::PolicyMissing
    );
}

/// A price read once, written out and read again is the same price, of either version.
#[test]
fn a_price_survives_the_journal() {
    let old = price(OFFER)
        .replace("\"x402Version\":2", "\"x402Version\":1")
        .replace("eip155:8453", "base");
    for text in [price(OFFER), old.replace("\"amount\"", "\"maxAmountRequired\"")] {
        let once = payment_required::parse(None, Some(&text)).unwrap();
        let again = payment_required::PaymentRequired::from_json(&once.to_json()).unwrap();
        assert_eq!(once, again);
        assert_eq!(once.offers[0].terms().unwrap().amount.to_string(), "10000");
        assert!(matches!(&once.offers[0].requirements, Json::Object(members) if members[0].0 == "scheme"));
    }
}
