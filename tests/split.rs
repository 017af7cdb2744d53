//! A split payment: every part is signed before the first byte leaves, and what became of them is judged together.

#[path = "client/host.rs"]
mod host;

use counterfoil::json::{self, Json};
use counterfoil::{base64, wasm};
use host::{
    assert_fails, chain, chain_at, held, priced, record, signed, text, Host, KEY, NOW, SELLER, SEPOLIA,
    TOKEN, URL,
};
use zeroize::Zeroizing;

const FEE: &str = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
const CANCELLED: &str = "0x1cdd46ff242716cdaa72d159d339a485b3438398348d68f09d7c8c0a59353d81";
const TIMEOUT: &str = r#"{"type":"answer","answer":{"transport":"timeout"}}"#;
/// After every window that a test signs for.
const LATER: u64 = NOW + 1_000;

/// The seller's price of 10000, of which the fee is this much.
fn price(fee: u64, fee_to: &str) -> String {
    let offer = format!(
        r#"{{"scheme":"exact","network":"eip155:84532","amount":"10000","asset":"{TOKEN}","payTo":"{SELLER}","maxTimeoutSeconds":60,"extra":{{"name":"USDC","version":"2","fee_split":{{"v":1,"fee_to":"{fee_to}","fee_amount":"{fee}","merchant_amount":"{}"}}}}}}"#,
        10_000 - fee
    );
    let price = format!(r#"{{"x402Version":2,"resource":{{"url":"{URL}"}},"accepts":[{offer}]}}"#);
    priced(&price)
}

fn kind(effect: &Json) -> &str {
    text(effect, "type")
}

fn authorization(asked: &Json) -> &Json {
    let sign = asked.get("sign").unwrap_or_else(|| panic!("{}", asked.to_text()));
    sign.get("authorization").unwrap()
}

/// Signs every part; gives the nonces and what comes then.
fn sign_all(host: &mut Host, mut effect: Json) -> (Vec<String>, Json) {
    let mut nonces = Vec::new();
    while kind(&effect) == "sign" {
        nonces.push(text(authorization(&effect), "nonce").to_owned());
        effect = host.on(&signed(&effect, &KEY));
    }
    (nonces, effect)
}

/// Up to the paid request, with nothing known to the chain.
fn send(host: &mut Host) -> Vec<String> {
    assert_eq!(kind(&host.fetch(URL)), "send");
    let mut effect = host.on(&price(300, FEE));
    while kind(&effect) == "read_chain" {
        let unused = chain(SEPOLIA, &effect, 0, None);
        effect = host.evidence(&unused);
    }
    let (nonces, sent) = sign_all(host, effect);
    assert_eq!(kind(&sent), "send");
    nonces
}

/// The answer is lost; the chain is asked.
fn lose(host: &mut Host) -> (Vec<String>, Json) {
    let nonces = send(host);
    (nonces, host.on(TIMEOUT))
}

fn nonce_of(read: &Json) -> &str {
    text(read.get("read").unwrap(), "nonce")
}

/// A final cancellation of the nonce that is read.
fn cancelled(read: &Json) -> String {
    let used = chain(SEPOLIA, read, 1, Some((SELLER, 1)));
    used.replace(host::USED, CANCELLED)
}

/// The fate of a part on chain.
#[derive(Clone, Copy)]
enum Fate {
    Paid(&'static str, u64),
    Open,
    Dead,
    Cancelled,
}

const SOLD: Fate = Fate::Paid(SELLER, 9_700);
const FEED: Fate = Fate::Paid(FEE, 300);

/// Answers every read by its nonce's fate, until the machine wants something else.
fn reading(host: &mut Host, nonces: &[String], fates: &[Fate], mut effect: Json) -> Json {
    while kind(&effect) == "read_chain" {
        let at = nonces.iter().position(|nonce| nonce == nonce_of(&effect));
        let answer = match fates[at.unwrap()] {
            Fate::Paid(to, value) => chain(SEPOLIA, &effect, 1, Some((to, value))),
            Fate::Open => chain(SEPOLIA, &effect, 0, None),
            Fate::Dead => chain_at(LATER, SEPOLIA, &effect, 0, None),
            Fate::Cancelled => cancelled(&effect),
        };
        effect = host.evidence(&answer);
    }
    effect
}

/// Sent, answer lost, and the chain read.
fn lost_with(fates: &[Fate]) -> (Host, Vec<String>, Json) {
    let mut host = Host::with_chain();
    let (nonces, read) = lose(&mut host);
    let end = reading(&mut host, &nonces, fates, read);
    (host, nonces, end)
}

#[test]
fn every_part_is_signed_and_written_down_before_the_first_byte_leaves() {
    let mut host = Host::plain();
    host.fetch(URL);
    let first = host.on(&price(300, FEE));
    let (to, value) = (
        text(authorization(&first), "to"),
        text(authorization(&first), "value"),
    );
    assert_eq!((to, value), (SELLER, "9700"));
    // Before the signer is asked, both are planned and the whole price is held.
    let planned = record(&host);
    assert_eq!(host.states(), ["planned"]);
    assert_eq!(held(&host), ["reserved 10000"]);
    assert_eq!(planned.get("v").unwrap(), &Json::number(2));
    let second = host.on(&signed(&first, &KEY));
    assert_eq!(kind(&second), "sign");
    assert_eq!(record(&host), planned, "a part alone is not written down");
    let (to, value) = (
        text(authorization(&second), "to"),
        text(authorization(&second), "value"),
    );
    assert_eq!((to, value), (FEE, "300"));
    let sent = host.on(&signed(&second, &KEY));
    assert_eq!(kind(&sent), "send");
    assert_eq!(host.states(), ["sent"]);

    let payment =
        json::parse_bytes(&base64::decode_header(text(sent.get("payment").unwrap(), "value")).unwrap())
            .unwrap();
    let payload = payment.get("payload").unwrap();
    let fee = payload.get("feeAuthorization").unwrap();
    let attempt = record(&host).get("attempts").unwrap().as_array().unwrap()[0].clone();
    let part = &attempt.get("parts").unwrap().as_array().unwrap()[0];
    for (carried, kept) in [(payload, &attempt), (fee, part)] {
        for name in ["authorization", "signature"] {
            let canonical = |json: &Json| json.get(name).unwrap().to_canonical().unwrap();
            assert_eq!(canonical(carried), canonical(kept));
        }
    }
    for (index, carried) in [payload, fee].into_iter().enumerate() {
        let slot = format!(
            r#"{{"intentId":"{}","payer":"{}","network":"eip155:84532","asset":"{TOKEN}","generation":0,"index":{index}}}"#,
            text(&record(&host), "intentId"),
            text(authorization(&first), "from"),
        );
        let nonce = wasm::call(
            "authorizationNonce",
            &slot,
            None,
            Some(Zeroizing::new(vec![7; 32])),
        );
        assert_eq!(
            carried.get("authorization").unwrap().get("nonce"),
            nonce.ok().as_ref()
        );
    }
}

#[test]
fn a_signer_that_fails_at_a_part_leaves_nothing_behind() {
    let mut host = Host::plain();
    host.fetch(URL);
    let first = host.on(&price(300, FEE));
    let second = host.on(&signed(&first, &KEY));
    assert_eq!(kind(&second), "sign");
    let end = host.on(r#"{"type":"sign_failed"}"#);
    assert_fails(&end, "signer_failed", "none");
    assert!(host.states().is_empty());
    assert!(held(&host).is_empty());
}

#[test]
fn a_part_signed_by_another_key_is_not_sent() {
    let mut host = Host::plain();
    host.fetch(URL);
    let first = host.on(&price(300, FEE));
    let second = host.on(&signed(&first, &KEY));
    let end = host.on(&signed(&second, &host::OTHER_KEY));
    assert_fails(&end, "signer_mismatch", "none");
    assert!(host.states().is_empty());
}

#[test]
fn a_plan_whose_signatures_were_lost_is_signed_again_from_the_first_part() {
    let mut host = Host::plain();
    host.fetch(URL);
    let first = host.on(&price(300, FEE));
    host.on(&signed(&first, &KEY));
    let again = host.fetch(URL);
    assert_eq!(authorization(&again), authorization(&first));
    let (nonces, sent) = sign_all(&mut host, again);
    assert_eq!((nonces.len(), kind(&sent)), (2, "send"));
}

#[test]
fn paid_when_every_part_is() {
    let (host, _, end) = lost_with(&[SOLD, FEED]);
    assert_eq!(host.states(), ["paid"]);
    assert_eq!(held(&host), ["settled 10000"]);
    assert_fails(&end, "paid_not_delivered", "proven");
    let record = record(&host);
    let attempt = &record.get("attempts").unwrap().as_array().unwrap()[0];
    let part = &attempt.get("parts").unwrap().as_array().unwrap()[0];
    assert!(part.get("transaction").is_some());
}

#[test]
fn partly_paid_is_for_a_person_and_never_signed_again() {
    for (fates, spent) in [
        ([SOLD, Fate::Dead], "settled 9700"),
        ([Fate::Dead, FEED], "settled 300"),
        ([SOLD, Fate::Cancelled], "settled 9700"),
        ([Fate::Cancelled, FEED], "settled 300"),
    ] {
        let (mut host, _, end) = lost_with(&fates);
        assert_fails(&end, "partly_paid", "proven");
        assert_eq!(text(end.get("error").unwrap(), "next"), "ask_human");
        assert_eq!(host.states(), ["partly_paid"]);
        assert_eq!(host.alerts, ["partly_paid"]);
        assert_eq!(held(&host), [spent]);
        host.now = LATER;
        assert_fails(&host.fetch(URL), "partly_paid", "proven");
        let resumed = host.intent("resume");
        let resolution = resumed.get("resolution").unwrap();
        assert_eq!(
            (text(resolution, "outcome"), text(resolution, "next")),
            ("partly_paid", "ask_human")
        );
        for mode in ["claim", "release"] {
            assert_fails(&host.intent(mode), "partly_paid", "proven");
        }
        assert_fails(&host.intent("cancel"), "nothing_to_cancel", "proven");
    }
}

#[test]
fn a_part_paid_while_another_can_land_is_waited_for() {
    for fates in [[SOLD, Fate::Open], [Fate::Open, FEED]] {
        let (mut host, nonces, end) = lost_with(&fates);
        assert_fails(&end, "outcome_unknown", "proven");
        assert_eq!(host.states(), ["sent"]);
        assert_eq!(held(&host), ["reserved 10000"]);
        // By our clock the window is over; the chain's final block is not past it.
        host.now = LATER;
        let read = host.fetch(URL);
        let end = reading(&mut host, &nonces, &fates, read);
        assert_fails(&end, "outcome_unknown", "proven");
        assert_eq!(host.states(), ["sent"], "nothing new was signed");
        // The rest lands after all.
        let read = host.fetch(URL);
        let end = reading(&mut host, &nonces, &[SOLD, FEED], read);
        assert_fails(&end, "paid_not_delivered", "proven");
        assert_eq!(host.states(), ["paid"]);
    }
}

#[test]
fn dead_when_every_part_is_and_signed_again_for_the_same_nonces() {
    let mut host = Host::with_chain();
    let (nonces, read) = lose(&mut host);
    host.now = LATER;
    let probe = reading(&mut host, &nonces, &[Fate::Dead, Fate::Dead], read);
    assert_eq!((kind(&probe), host.states()), ("send", vec!["dead".to_owned()]));
    assert!(held(&host).is_empty());
    let effect = host.on(&price(500, FEE));
    let (again, sent) = sign_all(&mut host, effect);
    assert_eq!((again, kind(&sent)), (nonces, "send"));
}

#[test]
fn a_cancelled_part_ends_the_generation_once_the_others_are_dead() {
    let mut host = Host::with_chain();
    let (nonces, read) = lose(&mut host);
    let end = reading(&mut host, &nonces, &[Fate::Cancelled, Fate::Open], read);
    assert_fails(&end, "outcome_unknown", "possible");
    assert_eq!(host.states(), ["sent"]);
    host.now = LATER;
    let read = host.fetch(URL);
    let probe = reading(&mut host, &nonces, &[Fate::Cancelled, Fate::Dead], read);
    assert_eq!(
        (kind(&probe), host.states()),
        ("send", vec!["cancelled".to_owned()])
    );
    let mut effect = host.on(&price(300, FEE));
    while kind(&effect) == "read_chain" {
        assert!(!nonces.iter().any(|nonce| nonce == nonce_of(&effect)));
        let unused = chain(SEPOLIA, &effect, 0, None);
        effect = host.evidence(&unused);
    }
    let (again, sent) = sign_all(&mut host, effect);
    assert_eq!(kind(&sent), "send");
    assert!(again.iter().all(|nonce| !nonces.contains(nonce)));
}

#[test]
fn a_part_on_other_terms_is_for_a_person() {
    for fates in [[SOLD, Fate::Paid(FEE, 301)], [Fate::Paid(FEE, 9_700), Fate::Open]] {
        let (mut host, _, end) = lost_with(&fates);
        assert_fails(&end, "paid_wrong_terms", "proven");
        assert_eq!(host.states(), ["wrong_terms"]);
        assert_eq!(held(&host), ["settled 10000"]);
        assert_fails(&host.fetch(URL), "paid_wrong_terms", "proven");
    }
}

/// An empty journal: what the chain says of the nonces decides whether anything is signed.
fn lost_journal(fates: &[Fate]) -> (Host, Json) {
    let mut known = Host::with_chain();
    let nonces = send(&mut known);
    let mut host = Host::with_chain();
    host.fetch(URL);
    let read = host.on(&price(300, FEE));
    let mut effect = read;
    while kind(&effect) == "read_chain" && nonces.iter().any(|nonce| nonce == nonce_of(&effect)) {
        let at = nonces
            .iter()
            .position(|nonce| nonce == nonce_of(&effect))
            .unwrap();
        let answer = match fates[at] {
            Fate::Paid(to, value) => chain(SEPOLIA, &effect, 1, Some((to, value))),
            Fate::Cancelled => cancelled(&effect),
            Fate::Open | Fate::Dead => chain(SEPOLIA, &effect, 0, None),
        };
        effect = host.evidence(&answer);
    }
    (host, effect)
}

#[test]
fn a_lost_journal_signs_nothing_when_any_part_was_used() {
    for fates in [[SOLD, Fate::Open], [Fate::Open, FEED], [Fate::Cancelled, FEED]] {
        let (mut host, end) = lost_journal(&fates);
        assert_fails(&end, "authorization_used", "proven");
        // The read was of the latest block; the claim is asked for with a final one at hand.
        let mut effect = host.intent("claim");
        while kind(&effect) == "read_chain" {
            let (to, value) = if matches!(fates[0], Fate::Paid(..)) {
                (SELLER, 9_700)
            } else {
                (FEE, 300)
            };
            let used = chain(SEPOLIA, &effect, 1, Some((to, value)));
            effect = host.evidence(&used);
        }
        assert_fails(&effect, "split_unsupported", "proven");
    }
    for fates in [[Fate::Cancelled, Fate::Open], [Fate::Open, Fate::Cancelled]] {
        let (_, end) = lost_journal(&fates);
        assert_fails(&end, "used_or_cancelled", "possible");
    }
}

#[test]
fn a_lost_journal_passes_over_a_generation_whose_parts_are_all_burnt() {
    let (mut host, mut effect) = lost_journal(&[Fate::Cancelled, Fate::Cancelled]);
    let mut reads = 0;
    while kind(&effect) == "read_chain" {
        let unused = chain(SEPOLIA, &effect, 0, None);
        effect = host.evidence(&unused);
        reads += 1;
    }
    assert_eq!((reads, kind(&effect)), (2, "sign"));
    let (_, sent) = sign_all(&mut host, effect);
    assert_eq!(kind(&sent), "send");
    assert_eq!(record(&host).get("generation").unwrap(), &Json::number(1));
}

#[test]
fn after_the_window_the_same_split_is_signed_and_no_other() {
    let mut host = Host::plain();
    let (nonces, end) = lose(&mut host);
    assert_fails(&end, "outcome_unknown", "possible");
    host.now = LATER;
    for other in [
        price(400, FEE),
        price(300, "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"),
    ] {
        assert_eq!(kind(&host.fetch(URL)), "send");
        assert_fails(&host.on(&other), "terms_changed", "possible");
    }
    assert_eq!(kind(&host.fetch(URL)), "send");
    let plain = host::price(10_000, SELLER);
    assert_fails(&host.on(&plain), "terms_changed", "possible");
    assert_eq!(kind(&host.fetch(URL)), "send");
    let effect = host.on(&price(300, FEE));
    let (again, sent) = sign_all(&mut host, effect);
    assert_eq!((again, kind(&sent)), (nonces, "send"));
    assert_eq!(host.states(), ["sent", "sent"]);
}

#[test]
fn parts_that_landed_from_two_windows_are_one_payment() {
    let mut host = Host::plain();
    let (nonces, _) = lose(&mut host);
    host.now = LATER;
    host.fetch(URL);
    let effect = host.on(&price(300, FEE));
    sign_all(&mut host, effect);
    host.config = Host::with_chain().config;
    let read = host.on(TIMEOUT);
    let end = reading(&mut host, &nonces, &[SOLD, FEED], read);
    assert_fails(&end, "paid_not_delivered", "proven");
    assert_eq!(host.states(), ["dead", "paid"]);
    assert_eq!(held(&host), ["settled 10000"]);
}

#[test]
fn every_nonce_is_cancelled() {
    let mut host = Host::plain();
    lose(&mut host);
    let first = host.intent("cancel");
    assert_eq!(kind(&first), "sign");
    let second = host.on(&signed(&first, &KEY));
    assert_eq!(kind(&second), "sign");
    let digest = |asked: &Json| text(asked.get("sign").unwrap(), "digest").to_owned();
    assert_ne!(digest(&first), digest(&second));
    let done = host.on(&signed(&second, &KEY));
    let call = |done: &Json| {
        let call = done.get("resolution").unwrap().get("cancellation").unwrap();
        let further = call.get("further").unwrap().as_array().unwrap();
        assert_eq!(further.len(), 1);
        assert_eq!(text(call, "to"), TOKEN);
        assert_ne!(text(call, "data"), text(&further[0], "data"));
        call.clone()
    };
    // Asked again, the same are handed out without a signature.
    assert_eq!(call(&done), call(&host.intent("cancel")));
}

#[test]
fn the_record_says_that_there_is_more_than_one_authorization() {
    let mut host = Host::plain();
    send(&mut host);
    let key = host
        .rows
        .keys()
        .find(|key| key.starts_with("intent/"))
        .unwrap()
        .clone();
    let (rev, record) = host.rows[&key].clone();
    assert!(record.ends_with(r#""v":2}"#));
    // Who knows version 1 alone reads no part of it, and a version says what it holds.
    let as_1 = record.replace(r#""v":2}"#, r#""v":1}"#);
    host.rows.insert(key.clone(), (rev, as_1));
    assert_fails(&host.intent("resume"), "unsupported_version", "none");

    let mut plain = Host::plain();
    plain.send_payment();
    let (rev, record) = plain.rows[&key].clone();
    assert!(record.ends_with(r#""v":1}"#));
    let as_2 = record.replace(r#""v":1}"#, r#""v":2}"#);
    plain.rows.insert(key, (rev, as_2));
    assert_fails(&plain.intent("resume"), "unsupported_version", "none");
}

#[test]
fn the_whole_price_counts_against_every_cap() {
    let mut host = Host::new(r#"{"perCall":"9999","maxWindow":60}"#, false);
    host.fetch(URL);
    assert_fails(&host.on(&price(300, FEE)), "over_cap", "none");
    let policy = r#"{"perCall":"9999","maxWindow":60,"approve":true}"#;
    let mut host = Host::new(policy, false);
    host.fetch(URL);
    let ask = host.on(&price(300, FEE));
    let approval = ask.get("approval").unwrap();
    assert_eq!(text(approval, "amount"), "10000");
    let parts = approval.get("parts").unwrap().as_array().unwrap();
    let told: Vec<_> = parts
        .iter()
        .map(|part| (text(part, "payTo"), text(part, "amount")))
        .collect();
    assert_eq!(told, [(SELLER, "9700"), (FEE, "300")]);
}

/// The findings about what the journal holds, each with its amount.
fn conflicts(host: &Host) -> Vec<(String, String)> {
    let record = record(host);
    let bundle = Json::object([
        ("type", Json::text("counterfoil/bundle")),
        ("v", Json::number(1)),
        ("payer", record.get("principal").unwrap().clone()),
        ("intents", Json::Array(vec![record])),
    ]);
    let found = counterfoil::conflict::find_conflicts(&[&bundle.to_text()]).unwrap();
    let amount = |one: &counterfoil::finding::Finding| {
        let amount = one.amount.as_ref().map(|(amount, ..)| amount.to_string());
        amount.unwrap_or_default()
    };
    found
        .iter()
        .map(|one| (one.code.as_str().to_owned(), amount(one)))
        .collect()
}

#[test]
fn the_parts_of_one_payment_are_no_duplicates_and_what_moved_is_summed() {
    let told = |code: &str, amount: &str| vec![(code.to_owned(), amount.to_owned())];
    let (host, ..) = lost_with(&[SOLD, FEED]);
    assert_eq!(conflicts(&host), told("paid_not_delivered", "10000"));
    let (host, ..) = lost_with(&[SOLD, Fate::Dead]);
    assert_eq!(conflicts(&host), told("partly_paid", "9700"));
    let (host, ..) = lost_with(&[Fate::Dead, FEED]);
    assert_eq!(conflicts(&host), told("partly_paid", "300"));
}

/// Evidence names its nonce: so each part of a payment that moved in part is decided by its own.
#[test]
fn a_partly_paid_bundle_is_decided_part_by_part() {
    let (host, nonces, _) = lost_with(&[SOLD, Fate::Dead]);
    let record = record(&host);
    let payer = record.get("principal").unwrap().clone();
    let bundle = Json::object([
        ("type", Json::text("counterfoil/bundle")),
        ("v", Json::number(1)),
        ("payer", payer.clone()),
        ("intents", Json::Array(vec![record])),
    ])
    .to_text();
    let told = |part: usize, fate: Fate| {
        let read = Json::object([
            ("payer", payer.clone()),
            ("nonce", Json::text(nonces[part].as_str())),
            ("tag", Json::text("finalized")),
        ]);
        let effect = Json::object([("read", read)]);
        let evidence = match fate {
            Fate::Paid(to, value) => chain(SEPOLIA, &effect, 1, Some((to, value))),
            _ => chain_at(LATER, SEPOLIA, &effect, 0, None),
        };
        let nonce = Json::text(nonces[part].as_str());
        json::parse(&evidence).unwrap().with("nonce", nonce)
    };
    let report = |evidence: Vec<Json>| {
        let material = Json::object([("evidence", Json::Array(evidence))]);
        let input = Json::object([("receipt", Json::text(bundle.as_str())), ("material", material)]);
        wasm::call("verifyReceipt", &input.to_text(), None, None).unwrap()
    };
    let verdict = |evidence: Vec<Json>| text(&report(evidence), "verdict").to_owned();
    let (sold, dead) = (told(0, SOLD), told(1, Fate::Dead));
    let good = report(vec![sold.clone(), dead.clone()]);
    assert_eq!(text(&good, "verdict"), "verified", "{}", good.to_text());
    let facts = good.get("facts").unwrap();
    assert_eq!(text(facts, "amount"), "9700");
    let parts = facts.get("parts").unwrap().as_array().unwrap();
    let told_of: Vec<&str> = parts.iter().map(|part| text(part, "verdict")).collect();
    assert_eq!(told_of, ["paid", "dead"]);
    // One part alone, or a dead one that does not say which it is, decides nothing of the other.
    assert_eq!(verdict(vec![sold.clone()]), "incomplete");
    assert_eq!(verdict(vec![dead.clone()]), "incomplete");
    assert_eq!(
        verdict(vec![sold.clone(), dead.clone().without("nonce")]),
        "incomplete"
    );
    // The chain says otherwise than the record.
    assert_eq!(verdict(vec![told(0, Fate::Dead), dead]), "failed");
    assert_eq!(verdict(vec![sold, told(1, FEED)]), "failed");
}
