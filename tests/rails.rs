//! What law 3 promises on one rail holds for journals that came there on different ways.

#[path = "client/host.rs"]
mod host;

use host::*;

const OTHER: &str = "0x5FbDB2315678afecb367f032d93F642f64180aa3";
const CANCELED: &str = "0x1cdd46ff242716cdaa72d159d339a485b3438398348d68f09d7c8c0a59353d81";

fn of_two_tokens() -> Host {
    let assets = [TOKEN, OTHER].map(|token| format!(r#"{{"network":"eip155:84532","asset":"{token}"}}"#));
    let policy = format!(
        r#"{{"perCall":"50000","maxWindow":60,"assets":[{}]}}"#,
        assets.join(",")
    );
    Host::new(&policy, true)
}

/// The nonce that is asked to be signed for once the price is in this token.
fn asked(host: &mut Host, token: &str) -> String {
    let read = host.on(&price_of(token, 10_000, SELLER));
    let evidence = chain(SEPOLIA, &read, 0, None);
    let asked = host.evidence(&evidence);
    assert_eq!(text(&asked, "type"), "sign", "{}", asked.to_text());
    let nonce = text(asked.get("sign").unwrap().get("authorization").unwrap(), "nonce").to_owned();
    host.on(&signed(&asked, &KEY));
    nonce
}

#[test]
fn a_cancellation_on_one_rail_opens_no_generation_on_another() {
    let mut first = of_two_tokens();
    first.fetch(URL);
    asked(&mut first, TOKEN);
    let read = first.on(r#"{"type":"answer","answer":{"transport":"timeout"}}"#);
    let burnt = chain(SEPOLIA, &read, 1, Some((SELLER, 10_000))).replace(USED, CANCELED);
    let probe = first.evidence(&burnt);
    assert_eq!(text(&probe, "type"), "send", "{}", probe.to_text());
    let here = asked(&mut first, OTHER);

    let mut second = of_two_tokens();
    second.fetch(URL);
    assert_eq!(asked(&mut second, OTHER), here);
}

/// A payer that came to its journal with another secret, or with none.
#[test]
fn another_secret_on_the_same_journal_signs_for_the_same_nonce() {
    let mut host = Host::with_chain();
    host.fetch(URL);
    let first = asked(&mut host, TOKEN);
    host.on(r#"{"type":"answer","answer":{"transport":"timeout"}}"#);
    // The window is over, the chain has not said so yet, and what was sent may still land.
    host.now += 70;
    host.secret = 8;
    let read = host.fetch(URL);
    assert_eq!(text(&read, "type"), "read_chain", "{}", read.to_text());
    let evidence = chain_at(NOW + 40, SEPOLIA, &read, 0, None);
    let latest = host.evidence(&evidence);
    assert_eq!(text(&latest, "type"), "read_chain", "{}", latest.to_text());
    let probe = host.evidence(&evidence);
    assert_eq!(text(&probe, "type"), "send", "{}", probe.to_text());
    let again = host.on(&price_of(TOKEN, 10_000, SELLER));
    assert_eq!(text(&again, "type"), "sign", "{}", again.to_text());
    let again = again.get("sign").unwrap().get("authorization").unwrap();
    assert_eq!(text(again, "nonce"), first);
}
