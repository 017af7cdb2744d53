//! An intent goes from one actor to another: on one journal, and between journals that know nothing of each other.

#[path = "client/host.rs"]
mod host;

use counterfoil::json::{self, Json};
use counterfoil::{checked, hex, signing, wasm};
use host::*;

const CAPS: &str = r#"{"perCall":"50000","maxWindow":60}"#;

fn worker(actor: &str) -> Host {
    worker_with(actor, CAPS, true)
}

fn worker_with(actor: &str, policy: &str, chain: bool) -> Host {
    let mut host = Host::resending(policy, chain, 1);
    host.config = host.config.replacen('{', &format!(r#"{{"actor":"{actor}","#), 1);
    host
}

fn give(host: &mut Host, to: &str, more: &str) -> Json {
    let id = intent_id(host);
    host.start(&format!(
        r#"{{"mode":"hand_over","intentId":"{id}","to":"{to}"{more}}}"#
    ))
}

/// The chain knows nothing of the nonce yet, whichever block is asked.
fn unused(host: &mut Host, mut effect: Json) -> Json {
    while text(&effect, "type") == "read_chain" {
        let evidence = chain_at(host.now, SEPOLIA, &effect, 0, None);
        effect = host.evidence(&evidence);
    }
    effect
}

/// A hand-over of what may still land, signed.
fn given(host: &mut Host, to: &str, more: &str) -> Json {
    let effect = give(host, to, more);
    let asked = unused(host, effect);
    assert_eq!(text(&asked, "type"), "sign", "{}", asked.to_text());
    let end = host.on(&signed(&asked, &KEY));
    handed(&end)
}

fn handed(end: &Json) -> Json {
    assert_eq!(text(end, "type"), "done", "{}", end.to_text());
    let resolution = end.get("resolution").unwrap();
    assert_eq!(text(resolution, "outcome"), "handed_over");
    resolution.get("handOver").unwrap().clone()
}

fn take(host: &mut Host, document: &Json) -> Json {
    let start = format!(r#"{{"mode":"take_over","handOver":{}}}"#, document.to_text());
    host.start(&start)
}

fn taken(host: &mut Host, document: &Json) {
    let effect = take(host, document);
    let end = unused(host, effect);
    assert_eq!(text(&end, "type"), "done", "{}", end.to_text());
    assert_eq!(text(end.get("resolution").unwrap(), "outcome"), "taken_over");
}

/// The code with which a hand-over is refused before the journal is looked into.
fn refused(host: &Host, document: &Json) -> String {
    let start = format!(
        r#"{{"config":{},"now":{},"start":{{"mode":"take_over","handOver":{}}}}}"#,
        host.config,
        host.now,
        document.to_text()
    );
    let secret = Some(zeroize::Zeroizing::new(vec![7; 32]));
    let error = wasm::call("clientStart", &start, None, secret).unwrap_err();
    error.code.as_str().to_owned()
}

fn code(effect: &Json) -> String {
    assert_eq!(text(effect, "type"), "fail", "{}", effect.to_text());
    text(effect.get("error").unwrap(), "code").to_owned()
}

/// The document with one member changed, hashed and signed anew, as a writer with that key would.
fn rewritten(document: &Json, key: &[u8; 32], change: impl FnOnce(&mut Vec<(String, Json)>)) -> Json {
    let mut members = document.as_object().unwrap().to_vec();
    members.retain(|(name, _)| name != "hash" && name != "signature");
    change(&mut members);
    let body = Json::Object(members);
    let hash = counterfoil::digest::tagged("counterfoil/hand-over/v1", &body).unwrap();
    let unsigned = body.with("hash", Json::text(hex::encode(hash)));
    let input = format!(r#"{{"handOver":{}}}"#, unsigned.to_text());
    let Ok(told) = wasm::call("handOverDigest", &input, None, None) else {
        return unsigned;
    };
    let digest = hex::decode_array(text(&told, "digest")).unwrap();
    let signature = checked::sign_digest(&digest, key).unwrap();
    unsigned.with("signature", Json::text(hex::encode(signature)))
}

fn set(members: &mut [(String, Json)], name: &str, value: Json) {
    members.iter_mut().find(|(known, _)| known == name).unwrap().1 = value;
}

/// A, whose payment is on its way, and the hand-over to B.
fn under_way() -> (Host, Json) {
    let mut a = worker("a");
    let effect = a.fetch(URL);
    assert_eq!(text(&effect, "type"), "send");
    let effect = a.on(&price(10_000, SELLER));
    let asked = unused(&mut a, effect);
    let paid = a.on(&signed(&asked, &KEY));
    assert!(paid.get("payment").is_some(), "{}", paid.to_text());
    let mut effect = a.on(r#"{"type":"answer","answer":{"transport":"timeout"}}"#);
    for _ in 0..8 {
        effect = match text(&effect, "type") {
            "read_chain" => {
                let evidence = chain_at(a.now, SEPOLIA, &effect, 0, None);
                a.evidence(&evidence)
            }
            "wait" => a.on(r#"{"type":"waited"}"#),
            "send" => a.on(r#"{"type":"answer","answer":{"transport":"timeout"}}"#),
            _ => break,
        };
    }
    assert_fails(&effect, "outcome_unknown", "possible");
    let document = given(&mut a, "b", "");
    (a, document)
}

#[test]
fn nothing_leaves_the_giver_without_a_fresh_read_of_what_may_land() {
    let (mut a, _) = under_way();
    // The same again, from the start of the call: it reads before it asks to sign.
    let effect = give(&mut a, "b", "");
    assert_eq!(text(&effect, "type"), "read_chain");
    let finalized = chain_at(a.now, SEPOLIA, &effect, 0, None);
    let effect = a.evidence(&finalized);
    assert_eq!(text(effect.get("read").unwrap(), "tag"), "latest");
    // Eleven minutes old is not fresh, ten are.
    let old = chain_at(a.now - 601, SEPOLIA, &effect, 0, None);
    assert_eq!(code(&a.evidence(&old)), "hand_over_stale");
    let effect = give(&mut a, "b", "");
    let finalized = chain_at(a.now, SEPOLIA, &effect, 0, None);
    let effect = a.evidence(&finalized);
    let kept = chain_at(a.now - 600, SEPOLIA, &effect, 0, None);
    let asked = a.evidence(&kept);
    assert_eq!(text(&asked, "type"), "sign");
    // The signer takes too long: what was read is old by then.
    a.now += 601;
    let before = record(&a);
    assert_eq!(code(&a.on(&signed(&asked, &KEY))), "hand_over_stale");
    assert_eq!(record(&a), before);
    // Unreadable is no read.
    let effect = give(&mut a, "b", "");
    let foreign = chain(SEPOLIA, &effect, 0, None).replace(SEPOLIA, "0x1");
    let effect = a.evidence(&foreign);
    let foreign = chain(SEPOLIA, &effect, 0, None).replace(SEPOLIA, "0x1");
    assert_eq!(code(&a.evidence(&foreign)), "evidence_unreadable");
    // Nor is there one without an endpoint.
    let mut blind = worker_with("a", CAPS, false);
    blind.rows = a.rows.clone();
    assert_eq!(code(&give(&mut blind, "b", "")), "hand_over_unread");
}

#[test]
fn the_document_lists_what_is_in_flight_without_its_bytes() {
    let (a, document) = under_way();
    let live = document.get("live").unwrap().as_array().unwrap();
    assert_eq!(live.len(), 1);
    let attempt = &record(&a).get("attempts").unwrap().as_array().unwrap()[0].clone();
    assert!(attempt.get("signature").is_some() && attempt.get("header").is_some());
    for name in ["signature", "header", "evidence", "observations"] {
        assert!(live[0].get(name).is_none(), "{name}");
    }
    let signed = |attempt: &Json| attempt.get("authorization").unwrap().to_canonical().unwrap();
    assert_eq!(signed(&live[0]), signed(attempt));
    assert_eq!(text(&live[0], "givenBy"), "a");
    let [read] = document.get("reads").unwrap().as_array().unwrap() else {
        panic!("one read");
    };
    assert_eq!(
        (text(read, "tag"), text(read, "nonce")),
        ("latest", text(attempt.get("authorization").unwrap(), "nonce"))
    );
    assert_eq!(text(&document, "budget"), "50000");
    assert!(!document.to_text().contains(text(attempt, "signature")));
}

#[test]
fn the_giver_sends_what_is_journalled_and_signs_nothing_more() {
    let (mut a, _) = under_way();
    // While it can land the same bytes may go out again: they are journalled and counted.
    let effect = a.fetch(URL);
    let mut effect = unused(&mut a, effect);
    if text(&effect, "type") == "wait" {
        effect = a.on(r#"{"type":"waited"}"#);
    }
    let header = record(&a).get("attempts").unwrap().as_array().unwrap()[0]
        .get("header")
        .unwrap()
        .clone();
    assert_eq!(effect.get("payment"), Some(&header));
    // After its window a purchase would sign anew for the same nonce: not this actor.
    a.now += 61;
    let effect = a.fetch(URL);
    let end = unused(&mut a, effect);
    assert_fails(&end, "intent_handed_over", "none");
    // Nor does it cancel, nor give the intent to a third.
    let (mut a, document) = under_way();
    assert_fails(&a.intent("cancel"), "intent_handed_over", "possible");
    assert_fails(&give(&mut a, "c", ""), "intent_handed_over", "possible");
    // Whoever was given it signs nothing before it has taken it.
    let mut b = worker("b");
    b.rows = a.rows.clone();
    b.now += 61;
    let effect = b.fetch(URL);
    let end = unused(&mut b, effect);
    assert_fails(&end, "intent_handed_over", "none");
    b.now -= 61;
    let (mut b, mut c) = (worker("b"), worker("b"));
    b.rows = a.rows.clone();
    taken(&mut b, &document);
    c.rows = b.rows.clone();
    // B goes on: the answer is had with the very bytes that A wrote down.
    let effect = b.fetch(URL);
    let mut effect = unused(&mut b, effect);
    if text(&effect, "type") == "wait" {
        effect = b.on(r#"{"type":"waited"}"#);
    }
    assert_eq!(effect.get("payment"), Some(&header));
    // And signs, once nothing can land.
    c.now += 61;
    let effect = c.fetch(URL);
    let effect = unused(&mut c, effect);
    assert_eq!(text(&effect, "type"), "send");
    let effect = c.on(&price(10_000, SELLER));
    let asked = unused(&mut c, effect);
    assert_eq!(text(&asked, "type"), "sign", "{}", asked.to_text());
}

#[test]
fn a_signature_that_comes_after_the_hand_over_is_dropped() {
    let mut a = worker("a");
    assert_eq!(text(&a.fetch(URL), "type"), "send");
    let effect = a.on(&price(10_000, SELLER));
    let asked = unused(&mut a, effect);
    assert_eq!(text(&asked, "type"), "sign");
    let (waiting, rows) = (a.state.clone(), a.rows.clone());
    // Another worker of this actor gives the intent away while the signer is asked.
    let document = given(&mut a, "b", "");
    assert_eq!(document.get("live"), Some(&Json::Array(Vec::new())));
    assert!(held_entries(&a).is_empty());
    a.state = waiting;
    let effect = a.event(&signed(&asked, &KEY));
    assert_eq!(text(&effect, "type"), "persist");
    assert_ne!(a.rows, rows);
    let effect = a.event(r#"{"type":"conflict"}"#);
    let end = a.storing(effect);
    assert_fails(&end, "intent_handed_over", "none");
    assert!(record(&a).get("attempts").unwrap().as_array().unwrap().is_empty());
}

#[test]
fn in_another_journal_what_is_open_is_held_and_waited_for() {
    let (a, document) = under_way();
    let mut b = worker_with(
        "b",
        r#"{"perCall":"50000","perWallet":[{"amount":"15000","window":3600}],"maxWindow":60}"#,
        true,
    );
    taken(&mut b, &document);
    let entries = held_entries(&b);
    let [entry] = entries.as_slice() else {
        panic!("one reservation")
    };
    assert_eq!(
        (text(entry, "amount"), text(entry, "state")),
        ("10000", "reserved")
    );
    let known = record(&b);
    assert_eq!(text(known.get("handOver").unwrap(), "to"), "b");
    // It competes for the same nonce, and no other purchase gets what is held.
    let other = format!(
        r#"{{"mode":"fetch","request":{{"method":"GET","url":"{URL}2","bodySha256":"{}"}},"intent":{{"id":"order-0000000000000002"}}}}"#,
        hex::encode(counterfoil::digest::sha256(b""))
    );
    assert_eq!(text(&b.start(&other), "type"), "send");
    assert_eq!(code(&b.on(&price(10_000, SELLER))), "over_wallet_cap");
    // While it can land, nothing is sent or signed here: the bytes are A's.
    let effect = b.fetch(URL);
    let end = unused(&mut b, effect);
    assert_fails(&end, "outcome_unknown", "possible");
    // After its window a new one is signed, for the same nonce.
    b.now += 61;
    let effect = b.fetch(URL);
    let effect = unused(&mut b, effect);
    assert_eq!(text(&effect, "type"), "send");
    let effect = b.on(&price(10_000, SELLER));
    let asked = unused(&mut b, effect);
    assert_eq!(text(&asked, "type"), "sign", "{}", asked.to_text());
    let nonce = |json: &Json| text(json.get("authorization").unwrap(), "nonce").to_owned();
    let theirs = record(&a).get("attempts").unwrap().as_array().unwrap()[0].clone();
    assert_eq!(nonce(asked.get("sign").unwrap()), nonce(&theirs));
    let held: Vec<String> = held_entries(&b)
        .iter()
        .map(|entry| text(entry, "amount").to_owned())
        .collect();
    assert_eq!(held, ["10000"], "one nonce, one amount");
}

#[test]
fn what_lands_elsewhere_ends_as_paid_with_a_claim() {
    let (_, document) = under_way();
    let mut b = worker("b");
    taken(&mut b, &document);
    let effect = b.fetch(URL);
    let paid = chain(SEPOLIA, &effect, 1, Some((SELLER, 10_000)));
    assert_fails(&b.evidence(&paid), "paid_not_delivered", "proven");
    assert_eq!(b.states(), ["paid"]);
    let asked = b.intent("claim");
    assert_eq!(text(&asked, "type"), "sign", "{}", asked.to_text());
    let end = b.on(&signed(&asked, &KEY));
    let claim = json::parse(text(end.get("resolution").unwrap(), "claim")).unwrap();
    assert_eq!(text(claim.get("statement").unwrap(), "why"), "history_lost");
    let entries = held_entries(&b);
    assert_eq!(text(&entries[0], "state"), "settled");
}

#[test]
fn the_takers_reads_decide_not_the_givers() {
    for shared in [false, true] {
        let (a, document) = under_way();
        let fresh = || {
            let mut b = worker("b");
            if shared {
                b.rows = a.rows.clone();
            }
            b
        };
        // It has landed since.
        let mut b = fresh();
        let effect = take(&mut b, &document);
        assert_eq!(text(&effect, "type"), "read_chain");
        let paid = chain(SEPOLIA, &effect, 1, Some((SELLER, 10_000)));
        assert_fails(&b.evidence(&paid), "hand_over_paid", "proven");
        assert_eq!(b.states(), ["paid"]);
        let entries = held_entries(&b);
        let spent: Vec<_> = entries
            .iter()
            .map(|entry| (text(entry, "amount"), text(entry, "state")))
            .collect();
        assert_eq!(spent, [("10000", "settled")]);
        // It is dead: nothing is held for it.
        let mut b = fresh();
        let effect = take(&mut b, &document);
        let dead = chain_at(b.now + 61, SEPOLIA, &effect, 0, None);
        let end = b.evidence(&dead);
        assert_eq!(text(end.get("resolution").unwrap(), "outcome"), "taken_over");
        assert_eq!(b.states(), ["dead"]);
        let held = wallet_record(&b)
            .get("entries")
            .map_or(0, |list| list.as_array().unwrap().len());
        assert_eq!(held, 0);
        // It can't be read, or not be read at all.
        let mut b = fresh();
        let effect = take(&mut b, &document);
        let foreign = chain(SEPOLIA, &effect, 0, None).replace(SEPOLIA, "0x1");
        let effect = b.evidence(&foreign);
        let foreign = chain(SEPOLIA, &effect, 0, None).replace(SEPOLIA, "0x1");
        assert_fails(&b.evidence(&foreign), "evidence_unreadable", "possible");
        // It counts all the same, and is not this actor's yet.
        let entries = held_entries(&b);
        let held: Vec<_> = entries
            .iter()
            .map(|entry| (text(entry, "amount"), text(entry, "state")))
            .collect();
        assert_eq!(held, [("10000", "reserved")]);
        assert!(record(&b).get("handOver").unwrap().get("takenAt").is_none());
        let mut blind = worker_with("b", CAPS, false);
        blind.rows = fresh().rows;
        assert_fails(&take(&mut blind, &document), "hand_over_unread", "possible");
        // Used, and no log tells how.
        let mut b = fresh();
        let effect = take(&mut b, &document);
        let used = chain(SEPOLIA, &effect, 1, None);
        let effect = b.evidence(&used);
        let used = chain(SEPOLIA, &effect, 1, None);
        assert_fails(&b.evidence(&used), "used_or_cancelled", "possible");
    }
}

#[test]
fn one_hand_over_is_taken_once() {
    let (a, document) = under_way();
    for shared in [false, true] {
        let mut b = worker("b");
        if shared {
            b.rows = a.rows.clone();
        }
        taken(&mut b, &document);
        assert_fails(&take(&mut b, &document), "hand_over_taken", "possible");
        // Given on to C, the first one is over.
        let next = given(&mut b, "c", "");
        assert_eq!(next.get("serial"), Some(&Json::number(2)));
        assert_fails(&take(&mut b, &document), "hand_over_replayed", "possible");
        // And back to A: A's own journal knows that it had given it to B.
        let mut c = worker("c");
        taken(&mut c, &next);
        let back = given(&mut c, "b", "");
        taken(&mut b, &back);
        assert_fails(&take(&mut b, &document), "hand_over_replayed", "possible");
        let mut a = worker("a");
        a.rows = under_way().0.rows;
        let theft = rewritten(&document, &KEY, |members| {
            set(members, "from", Json::text("c"));
            set(members, "to", Json::text("a"));
            set(members, "serial", Json::number(2));
            set(members, "live", Json::Array(Vec::new()));
        });
        assert_fails(&take(&mut a, &theft), "hand_over_replayed", "possible");
    }
}

#[test]
fn what_is_no_hand_over_for_this_payer_actor_or_time_is_refused_at_once() {
    let (_, document) = under_way();
    let b = worker("b");
    assert_eq!(refused(&worker("c"), &document), "hand_over_other_actor");
    let mut late = worker("b");
    late.now += 3_599;
    let effect = take(&mut late, &document);
    assert_eq!(text(&effect, "type"), "read_chain");
    late.now += 1;
    assert_eq!(refused(&late, &document), "hand_over_expired");
    let mut other = worker("b");
    let payer = signing::address_of_key(&OTHER_KEY).unwrap().to_string();
    other.config = other
        .config
        .replace(&signing::address_of_key(&KEY).unwrap().to_string(), &payer);
    assert_eq!(refused(&other, &document), "hand_over_other_payer");
    let altered = |name: &str, value: Json| {
        let mut members = document.as_object().unwrap().to_vec();
        set(&mut members, name, value);
        refused(&b, &Json::Object(members))
    };
    assert_eq!(altered("budget", Json::text("50001")), "hand_over_altered");
    assert_eq!(altered("to", Json::text("c")), "hand_over_altered");
    assert_eq!(altered("expiresAt", Json::number(NOW * 2)), "hand_over_altered");
    assert_eq!(altered("live", Json::Array(Vec::new())), "hand_over_altered");
    assert_eq!(altered("reads", Json::Array(Vec::new())), "hand_over_altered");
    assert_eq!(
        altered("hash", Json::text(format!("0x{}", "11".repeat(32)))),
        "hand_over_altered"
    );
    assert_eq!(
        altered("type", Json::text("counterfoil/claim")),
        "hand_over_invalid"
    );
    assert_eq!(altered("v", Json::number(2)), "unsupported_version");
    let more = document.clone().with("note", Json::text("x"));
    assert_eq!(refused(&b, &more), "hand_over_invalid");
}

/// Every leaf is bound: whatever is changed, it is refused, and with the hash made right again it has no signature that counts.
#[test]
fn no_leaf_can_be_changed() {
    let (_, document) = under_way();
    let mut count = 0;
    let (hash, signature) = (
        text(&document, "hash").to_owned(),
        text(&document, "signature").to_owned(),
    );
    let whole = document.to_text();
    for found in whole.match_indices('"') {
        // A digit or letter inside of a text, in turn.
        let at = found.0 + 1;
        let Some(old) = whole[at..].chars().next().filter(char::is_ascii_alphanumeric) else {
            continue;
        };
        if whole[at..].starts_with(&hash[..6]) && whole[at..].starts_with(&hash)
            || whole[at..].starts_with(&signature)
        {
            continue;
        }
        let new = if old == '1' { '2' } else { '1' };
        let changed = format!("{}{new}{}", &whole[..at], &whole[at + 1..]);
        let Ok(changed) = json::parse(&changed) else {
            continue;
        };
        let input = format!(r#"{{"handOver":{}}}"#, changed.to_text());
        assert!(
            wasm::call("handOverDigest", &input, None, None).is_err(),
            "{changed:?}"
        );
        count += 1;
    }
    assert!(count > 120, "{count}");
}

#[test]
fn only_the_payer_and_known_writers_are_believed_in_another_journal() {
    let (a, document) = under_way();
    let mut unsigned = document.as_object().unwrap().to_vec();
    unsigned.retain(|(name, _)| name != "signature");
    let unsigned = Json::Object(unsigned);
    assert_fails(&take(&mut worker("b"), &unsigned), "hand_over_untrusted", "none");
    let stranger = rewritten(&document, &OTHER_KEY, |_| ());
    assert_fails(&take(&mut worker("b"), &stranger), "hand_over_untrusted", "none");
    let mut knows = worker("b");
    let writer = signing::address_of_key(&OTHER_KEY).unwrap();
    knows.config = knows
        .config
        .replacen('{', &format!(r#"{{"knownWriters":["{writer}"],"#), 1);
    taken(&mut knows, &stranger);
    // Where the giver wrote it down itself, no signature is needed.
    let mut b = worker("b");
    b.rows = a.rows.clone();
    taken(&mut b, &unsigned);
    // One that only looks like it is not the one in the journal.
    let mut b = worker("b");
    b.rows = a.rows.clone();
    let similar = rewritten(&unsigned, &OTHER_KEY, |members| {
        set(members, "serial", Json::number(2))
    });
    assert_fails(&take(&mut b, &similar), "hand_over_untrusted", "possible");
}

#[test]
fn a_signer_that_does_not_sign_leaves_it_in_the_journal_alone() {
    let (mut a, _) = under_way();
    let effect = give(&mut a, "b", "");
    let asked = unused(&mut a, effect);
    assert_eq!(text(&asked, "type"), "sign");
    let document = handed(&a.on(r#"{"type":"sign_failed"}"#));
    assert!(document.get("signature").is_none());
    assert_fails(&take(&mut worker("b"), &document), "hand_over_untrusted", "none");
    let mut b = worker("b");
    b.rows = a.rows.clone();
    taken(&mut b, &document);
    // Another key's signature is no signature: nothing is written.
    let (mut a, _) = under_way();
    let before = record(&a);
    let effect = give(&mut a, "b", "");
    let asked = unused(&mut a, effect);
    assert_eq!(code(&a.on(&signed(&asked, &OTHER_KEY))), "signer_mismatch");
    assert_eq!(record(&a), before);
}

#[test]
fn a_budget_narrows() {
    let (mut a, _) = under_way();
    assert_eq!(
        code(&give(&mut a, "b", r#","intent":{"budget":"50001"}"#)),
        "hand_over_wider"
    );
    let document = given(&mut a, "b", r#","intent":{"budget":"9000"}"#);
    assert_eq!(text(&document, "budget"), "9000");
    assert_eq!(
        code(&give(&mut a, "b", r#","intent":{"budget":"9001"}"#)),
        "hand_over_wider"
    );
    // B's own cap is larger; the hand-over's holds, on this journal and on another.
    for shared in [false, true] {
        let mut b = worker("b");
        if shared {
            b.rows = a.rows.clone();
        }
        taken(&mut b, &document);
        b.now += 61;
        let effect = b.fetch(URL);
        let effect = unused(&mut b, effect);
        assert_eq!(text(&effect, "type"), "send");
        assert_fails(&b.on(&price(10_000, SELLER)), "over_cap", "none");
        // A wider one from the giver that gave it: refused.
        let wider = rewritten(&document, &KEY, |members| {
            set(members, "serial", Json::number(7));
            set(members, "budget", Json::text("9001"));
        });
        b.now -= 61;
        assert_fails(&take(&mut b, &wider), "hand_over_wider", "none");
    }
    // Without any cap there is none to narrow.
    let mut asks = worker_with("a", r#"{"approve":true,"maxWindow":60}"#, true);
    asks.rows = under_way().0.rows;
    for (rev, row) in asks.rows.values_mut() {
        let mut members = json::parse(row).unwrap().as_object().unwrap().to_vec();
        members.retain(|(name, _)| !["budget", "handOver", "places"].contains(&name.as_str()));
        *row = Json::Object(members).to_canonical().unwrap();
        *rev += 1;
    }
    assert_eq!(code(&give(&mut asks, "b", "")), "missing_field");
}

#[test]
fn what_is_paid_released_or_in_conflict_is_not_given() {
    let (mut a, _) = under_way();
    let effect = give(&mut a, "b", "");
    let paid = chain(SEPOLIA, &effect, 1, Some((SELLER, 10_000)));
    assert_fails(&a.evidence(&paid), "hand_over_paid", "proven");
    assert_eq!(a.states(), ["paid"]);
    assert_fails(&give(&mut a, "b", ""), "hand_over_paid", "proven");
    let (mut a, _) = under_way();
    let effect = give(&mut a, "b", "");
    let other = chain(SEPOLIA, &effect, 1, Some((SELLER, 9_999)));
    assert_fails(&a.evidence(&other), "paid_wrong_terms", "proven");
    // Proven dead on the way: nothing is in flight any more, and it can go.
    let (mut a, _) = under_way();
    let effect = give(&mut a, "b", "");
    let dead = chain_at(a.now + 61, SEPOLIA, &effect, 0, None);
    let asked = a.evidence(&dead);
    let document = handed(&a.on(&signed(&asked, &KEY)));
    assert_eq!(document.get("live"), Some(&Json::Array(Vec::new())));
    let mut nobody = worker("a");
    nobody.rows.insert("intent/0x00".to_owned(), (1, String::new()));
    let unknown = nobody.start(r#"{"mode":"hand_over","intentId":"0x01","to":"b"}"#);
    assert_eq!(code(&unknown), "intent_unknown");
    assert_eq!(code(&give(&mut a, "a", "")), "actor_invalid");
    assert_eq!(
        code(&give(&mut a, "b", r#","expiresIn":86401"#)),
        "number_out_of_range"
    );
    let end = a.intent("release");
    assert_eq!(text(end.get("resolution").unwrap(), "outcome"), "released");
    assert_eq!(code(&give(&mut a, "b", "")), "intent_released");
}

#[test]
fn another_secret_derives_another_nonce_and_is_refused() {
    let (_, document) = under_way();
    let mut b = worker("b");
    let start = format!(
        r#"{{"config":{},"now":{},"start":{{"mode":"take_over","handOver":{}}}}}"#,
        b.config,
        b.now,
        document.to_text()
    );
    let other = || Some(zeroize::Zeroizing::new(vec![8; 32]));
    let step = wasm::call("clientStart", &start, None, other()).unwrap();
    let event = r#"{"type":"loaded","records":[]}"#;
    let next = format!(
        r#"{{"config":{},"now":{},"state":{},"event":{event}}}"#,
        b.config,
        b.now,
        step.get("state").unwrap().to_text()
    );
    let step = wasm::call("clientStep", &next, None, other()).unwrap();
    assert_eq!(
        code(&step.get("effects").unwrap().as_array().unwrap()[0]),
        "hand_over_other_secret"
    );
    // With the right one it is read.
    assert_eq!(text(&take(&mut b, &document), "type"), "read_chain");
}

/// A challenge brings its own nonce: nothing that the taker derives would compete for it.
#[test]
fn what_pays_a_challenge_is_not_taken_into_another_journal() {
    let (_, document) = under_way();
    let challenge = r#"{"id":"c1","realm":"api.example","method":"evm","intent":"charge","request":"e30"}"#;
    let changed = rewritten(&document, &host::KEY, |members| {
        let quotes = document.get("quotes").unwrap().as_array().unwrap();
        let quotes = quotes.iter().map(|quote| {
            quote
                .clone()
                .with("requirements", json::parse(challenge).unwrap())
                .with("required", json::parse(r#"{"scheme":"Payment"}"#).unwrap())
        });
        set(members, "quotes", Json::Array(quotes.collect()));
    });
    assert_eq!(code(&take(&mut worker("b"), &changed)), "mpp_unsupported");
}

/// A generation that is passed over has to be burnt on the chain, one by one.
#[test]
fn generations_are_walked() {
    let cancelled = |read: &Json, now: u64| {
        let used = chain_at(now, SEPOLIA, read, 1, Some((SELLER, 1)));
        used.replace(
            USED,
            "0x1cdd46ff242716cdaa72d159d339a485b3438398348d68f09d7c8c0a59353d81",
        )
    };
    let mut a = worker("a");
    assert_eq!(text(&a.fetch(URL), "type"), "send");
    let effect = a.on(&price(10_000, SELLER));
    // The first nonce was burnt: the second is signed for.
    let burnt = cancelled(&effect, a.now);
    let effect = a.evidence(&burnt);
    let burnt = cancelled(&effect, a.now);
    let effect = a.evidence(&burnt);
    let asked = unused(&mut a, effect);
    let paid = a.on(&signed(&asked, &KEY));
    assert!(paid.get("payment").is_some());
    let document = given(&mut a, "b", "");
    assert_eq!(
        document.get("slot").unwrap().get("generation"),
        Some(&Json::number(1))
    );
    let mut b = worker("b");
    let effect = take(&mut b, &document);
    assert_ne!(
        text(effect.get("read").unwrap(), "nonce"),
        text(document.get("slot").unwrap(), "nonce")
    );
    let unburnt = chain(SEPOLIA, &effect, 0, None);
    assert_fails(&b.evidence(&unburnt), "hand_over_unproven", "possible");
    let effect = take(&mut b, &document);
    let burnt = cancelled(&effect, b.now);
    let effect = b.evidence(&burnt);
    assert_eq!(
        text(effect.get("read").unwrap(), "nonce"),
        text(document.get("slot").unwrap(), "nonce")
    );
    let end = unused(&mut b, effect);
    assert_eq!(text(end.get("resolution").unwrap(), "outcome"), "taken_over");
    assert_eq!(record(&b).get("generation"), Some(&Json::number(1)));
}

/// An unnamed call is found again by its number, also in a journal where nothing was bought before.
#[test]
fn an_unnamed_purchase_keeps_its_number() {
    let nothing = hex::encode(counterfoil::digest::sha256(b""));
    let fetch =
        format!(r#"{{"mode":"fetch","request":{{"method":"GET","url":"{URL}","bodySha256":"{nothing}"}}}}"#);
    let mut a = worker("a");
    assert_eq!(text(&a.start(&fetch), "type"), "send");
    let effect = a.on(&price(10_000, SELLER));
    unused(&mut a, effect);
    let end = a.intent("release");
    assert_eq!(text(&end, "type"), "fail", "it is planned");
    let first = intent_id(&a);
    // The planned one is forgotten with the hand-over.
    let document = given(&mut a, "b", "");
    assert!(document.get("id").is_none());
    let mut b = worker("b");
    taken(&mut b, &document);
    assert_eq!(text(&b.start(&fetch), "type"), "send");
    assert_eq!(text(&b.state, "intentId"), first);
    assert!(b.rows.keys().any(|key| key.starts_with("series/")));
}

#[test]
fn a_bundle_with_what_was_given_holds_together() {
    let (_, document) = under_way();
    let mut b = worker("b");
    taken(&mut b, &document);
    let payer = signing::address_of_key(&KEY).unwrap();
    let bundle = format!(
        r#"{{"type":"counterfoil/bundle","v":1,"exportedAt":{NOW},"payer":"{payer}","intents":[{}]}}"#,
        record(&b).to_text()
    );
    let input = Json::object([("receipt", Json::text(bundle)), ("material", Json::object([]))]);
    let report = wasm::call("verifyReceipt", &input.to_text(), None, None).unwrap();
    assert_eq!(text(&report, "verdict"), "incomplete", "{}", report.to_text());
    let checks = report.get("checks").unwrap().as_array().unwrap();
    let signature = checks
        .iter()
        .find(|check| text(check, "id") == "signature")
        .unwrap();
    assert_eq!(text(signature, "state"), "not_checked");
    assert!(checks.iter().all(|check| text(check, "state") != "fail"));
}

/// What stands above an intent goes with it: whoever takes it elsewhere knows nothing of the tree.
#[test]
fn the_limits_of_the_tree_go_with_it() {
    let mut a = worker("a");
    let end = NOW + 20;
    let root = format!(
        r#"{{"config":{},"now":{NOW},"start":{{"mode":"fetch","intent":{{"id":"root-000000000000000001","budget":"12000","recipients":["{SELLER}"],"expiresAt":{end}}}}}}}"#,
        a.config
    );
    let root = wasm::call("clientIntend", &root, None, None).unwrap();
    a.persisted(&root);
    let nothing = hex::encode(counterfoil::digest::sha256(b""));
    let start = |more: &str| {
        format!(
            r#"{{"mode":"fetch","request":{{"method":"GET","url":"{URL}","bodySha256":"{nothing}"}},"intent":{{"id":"{ID}"{more}}}}}"#
        )
    };
    let parent = format!(r#","parent":"{}""#, text(&root, "intentId"));
    a.start(&start(&parent));
    let effect = a.on(&price(10_000, SELLER));
    assert_eq!(text(&unused(&mut a, effect), "type"), "sign");
    a.on(r#"{"type":"sign_failed"}"#);
    let document = given(&mut a, "b", "");
    let limits = document.get("limits").unwrap();
    assert_eq!(text(&document, "budget"), "12000");
    assert_eq!(
        limits.to_text(),
        format!(r#"{{"recipients":["{SELLER}"],"expiresAt":{end}}}"#)
    );

    let mut b = worker("b");
    taken(&mut b, &document);
    let other = "0x5Fc1434a59Cdf13c71CA74bF1A9344d2E9464FCe";
    for (amount, to, code) in [
        (10_000, other, "recipient_forbidden"),
        (12_001, SELLER, "over_cap"),
    ] {
        b.start(&start(""));
        assert_fails(&b.on(&price(amount, to)), code, "none");
    }
    b.now = end;
    b.start(&start(""));
    assert_fails(&b.on(&price(10_000, SELLER)), "intent_expired", "none");
}
