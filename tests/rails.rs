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
