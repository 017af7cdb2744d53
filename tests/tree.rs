//! Children narrow: what is bought under an intent counts against it, whoever buys it and whatever it is called; and what a person is asked.

#[path = "tree/drift.rs"]
mod drift;
#[path = "client/host.rs"]
mod host;
#[path = "tree/workers.rs"]
mod workers;

use counterfoil::json::{self, Json};
use counterfoil::{hex, signing, wasm};
use host::*;
use workers::{Town, Worker};

const ROOT: &str = "root-000000000000000001";
const PERSON: [u8; 32] = [0x51; 32];

/// A host with this policy, and further settings.
fn host(policy: &str, more: &str) -> Host {
    let mut host = Host::new(policy, false);
    if !more.is_empty() {
        let end = host.config.len() - 1;
        host.config = format!("{},{more}}}", &host.config[..end]);
    }
    host
}

fn wallet_key(host: &Host) -> String {
    let config = json::parse(&host.config).unwrap();
    format!("wallet/{}", text(&config, "payer"))
}

/// Writes what a call without the machine wants written, onto what stands.
fn through(host: &mut Host, call: &str, params: &str) -> Result<Json, String> {
    let key = wallet_key(host);
    let stands = host.rows.get(&key).map(|(rev, record)| {
        let record = Json::text(record.as_str()).to_text();
        format!(r#","wallet":{{"key":"{key}","rev":{rev},"text":{record}}}"#)
    });
    let (config, now) = (&host.config, host.now);
    let input = format!(
        r#"{{"config":{config},"now":{now},{params}{}}}"#,
        stands.unwrap_or_default()
    );
    let answer = wasm::call(call, &input, None, None);
    let answer = answer.map_err(|error| format!("{} {}", error.code.as_str(), error.field))?;
    if answer.get("ops").is_some() {
        host.persisted(&answer);
    }
    Ok(answer)
}

/// Writes an intent down.
fn intend(host: &mut Host, intent: &str) -> Result<String, String> {
    let params = format!(r#""start":{{"mode":"fetch","intent":{intent}}}"#);
    through(host, "clientIntend", &params).map(|answer| text(&answer, "intentId").to_owned())
}

fn fetch(host: &mut Host, url: &str, intent: &str) -> Json {
    let nothing = hex::encode(counterfoil::digest::sha256(b""));
    let effect = host.start(&format!(
        r#"{{"mode":"fetch","request":{{"method":"GET","url":"{url}","bodySha256":"{nothing}"}},"intent":{intent}}}"#
    ));
    assert_eq!(text(&effect, "type"), "send", "{}", effect.to_text());
    effect
}

/// Asks for the price and meets this one.
fn meet(host: &mut Host, url: &str, intent: &str, amount: u64) -> Json {
    fetch(host, url, intent);
    host.on(&price(amount, SELLER))
}

/// Buys, and the answer is lost.
fn spend(host: &mut Host, url: &str, intent: &str, amount: u64) {
    let asked = meet(host, url, intent, amount);
    assert_eq!(text(&asked, "type"), "sign", "{}", asked.to_text());
    host.on(&signed(&asked, &KEY));
    host.on(r#"{"type":"answer","answer":{"transport":"timeout"}}"#);
}

fn refused(effect: &Json, code: &str, field: &str) {
    assert_fails(effect, code, "none");
    assert_eq!(text(effect.get("error").unwrap(), "field"), field);
}

const CAPS: &str = r#"{"perCall":"100000"}"#;

// ---------------------------------------------------------------- budgets

/// everruns/everruns#2623, vercel/eve#555: cumulative cost follows the root intent, not the session or the agent.
#[test]
fn children_debit_the_root_budget() {
    let mut host = host(CAPS, "");
    let root = intend(&mut host, &format!(r#"{{"id":"{ROOT}","budget":"50000"}}"#)).unwrap();
    spend(&mut host, URL, &format!(r#"{{"parent":"{root}"}}"#), 30_000);
    let second = format!(r#"{{"parent":"{root}","scope":"another session"}}"#);
    refused(
        &meet(&mut host, URL, &second, 30_000),
        "over_budget",
        "intent.parent",
    );
    // What is left is 20000, and not one more.
    refused(
        &meet(&mut host, URL, &second, 20_001),
        "over_budget",
        "intent.parent",
    );
    assert_eq!(text(&meet(&mut host, URL, &second, 20_000), "type"), "sign");
}

/// A relabelled alias, a changed argument, a new session, a sub-agent below: none is new room.
#[test]
fn another_name_is_no_new_room() {
    let mut host = host(CAPS, "");
    let root = intend(&mut host, &format!(r#"{{"id":"{ROOT}","budget":"50000"}}"#)).unwrap();
    spend(&mut host, URL, &format!(r#"{{"parent":"{root}"}}"#), 50_000);
    let sub = format!(r#"{{"id":"sub-agent-0000000001","parent":"{root}","purpose":"Entirely new"}}"#);
    let sub = intend(&mut host, &sub).unwrap();
    let others = [
        (
            URL,
            format!(r#"{{"parent":"{root}","id":"an-alias-0000000001"}}"#),
        ),
        (
            "https://api.example/x?page=2",
            format!(r#"{{"parent":"{root}"}}"#),
        ),
        ("https://api.example/X", format!(r#"{{"parent":"{root}"}}"#)),
        (URL, format!(r#"{{"parent":"{root}","scope":"new session"}}"#)),
        (URL, format!(r#"{{"parent":"{sub}"}}"#)),
    ];
    for (url, intent) in &others {
        let mut other = Host {
            rows: host.rows.clone(),
            config: host.config.clone(),
            ..Host::plain()
        };
        refused(&meet(&mut other, url, intent, 1), "over_budget", "intent.parent");
    }
    // Under another label it is the same call: its payment is open, and nothing is signed beside it.
    let nothing = hex::encode(counterfoil::digest::sha256(b""));
    let same = format!(
        r#"{{"mode":"fetch","request":{{"method":"GET","url":"{URL}","bodySha256":"{nothing}"}},"intent":{{"parent":"{root}","purpose":"new label"}}}}"#
    );
    assert_fails(&host.start(&same), "outcome_unknown", "possible");
}

#[test]
fn a_cap_over_the_tree_counts_parents_and_children() {
    let mut host = host(r#"{"perCall":"100000","perIntentTree":"50000"}"#, "");
    spend(&mut host, URL, &format!(r#"{{"id":"{ROOT}"}}"#), 30_000);
    let root = intent_id(&host);
    let child = format!(r#"{{"parent":"{root}"}}"#);
    refused(
        &meet(&mut host, URL, &child, 20_001),
        "over_cap",
        "policy.perIntentTree",
    );
    assert_eq!(text(&meet(&mut host, URL, &child, 20_000), "type"), "sign");
}

#[test]
fn a_cap_for_one_recipient_counts_every_intent() {
    let mut host = host(
        r#"{"perCall":"100000","perRecipient":[{"amount":"50000","window":60}]}"#,
        "",
    );
    spend(&mut host, URL, r#"{"id":"first-000000000000001"}"#, 30_000);
    let second = r#"{"id":"second-00000000000001"}"#;
    refused(
        &meet(&mut host, URL, second, 20_001),
        "over_recipient_cap",
        "policy.perRecipient[0]",
    );
    // Another recipient has its own.
    fetch(&mut host, URL, second);
    let other = host.on(&price(50_000, "0x5Fc1434a59Cdf13c71CA74bF1A9344d2E9464FCe"));
    assert_eq!(text(&other, "type"), "sign");
}

#[test]
fn a_budget_is_of_one_token() {
    let other = "0x00000000000000000000000000000000000000ab";
    let policy = format!(
        r#"{{"perCall":"100000","assets":[{{"network":"eip155:84532","asset":"{TOKEN}"}},{{"network":"eip155:84532","asset":"{other}"}}]}}"#
    );
    let mut host = host(&policy, "");
    let root = intend(&mut host, &format!(r#"{{"id":"{ROOT}","budget":"50000"}}"#)).unwrap();
    let child = format!(r#"{{"parent":"{root}"}}"#);
    spend(&mut host, URL, &child, 100);
    fetch(&mut host, "https://api.example/y", &child);
    refused(
        &host.on(&price_of(other, 100, SELLER)),
        "over_budget",
        "intent.parent",
    );
}

#[test]
fn recipients_and_time_of_what_is_above_hold() {
    let mut host = host(CAPS, "");
    let other = "0x5Fc1434a59Cdf13c71CA74bF1A9344d2E9464FCe";
    let end = NOW + 100;
    let root = format!(r#"{{"id":"{ROOT}","recipients":["{SELLER}"],"expiresAt":{end}}}"#);
    let root = intend(&mut host, &root).unwrap();
    let child = format!(r#"{{"parent":"{root}"}}"#);
    fetch(&mut host, URL, &child);
    refused(
        &host.on(&price(1, other)),
        "recipient_forbidden",
        "intent.recipients",
    );
    assert_eq!(text(&meet(&mut host, URL, &child, 1), "type"), "sign");
    host.now = end;
    let late = format!(r#"{{"parent":"{root}","scope":"late"}}"#);
    refused(
        &meet(&mut host, URL, &late, 1),
        "intent_expired",
        "intent.expiresAt",
    );
}

/// The time ends while a signer, or a person, takes its own.
#[test]
fn nothing_is_signed_once_the_time_is_over() {
    let end = NOW + 30;
    let root = format!(r#"{{"id":"{ROOT}","expiresAt":{end}}}"#);
    let until = |policy: &str| {
        let mut host = host(policy, "");
        let root = intend(&mut host, &root).unwrap();
        (host, format!(r#"{{"parent":"{root}"}}"#))
    };
    let over = |effect: &Json| refused(effect, "intent_expired", "intent.expiresAt");

    let (mut host, child) = until(CAPS);
    let asked = meet(&mut host, URL, &child, 1);
    host.now = end;
    over(&host.on(&signed(&asked, &KEY)));
    assert!(held(&host).is_empty());

    let (mut host, child) = until(r#"{"perCall":"1","approve":true}"#);
    assert_eq!(text(&meet(&mut host, URL, &child, 2), "type"), "ask");
    host.now = end;
    over(&host.on(r#"{"type":"approved","yes":true}"#));

    // What was planned before a crash is decided anew after it.
    let (mut host, child) = until(CAPS);
    assert_eq!(text(&meet(&mut host, URL, &child, 1), "type"), "sign");
    host.now = end;
    over(&meet(&mut host, URL, &child, 1));
    assert!(held(&host).is_empty());
}

#[test]
fn what_was_planned_under_other_rules_is_not_signed() {
    let else_where = "0x5Fc1434a59Cdf13c71CA74bF1A9344d2E9464FCe";
    for (rules, code) in [
        (r#"{"perCall":"9999"}"#.to_owned(), "over_cap"),
        (
            format!(r#"{{"perCall":"100000","recipients":["{else_where}"]}}"#),
            "recipient_forbidden",
        ),
    ] {
        let mut host = host(CAPS, "");
        assert_eq!(text(&meet(&mut host, URL, BOUGHT, 10_000), "type"), "sign");
        host.config = host.config.replace(CAPS, &rules);
        assert_fails(&meet(&mut host, URL, BOUGHT, 10_000), code, "none");
        assert!(held(&host).is_empty());
        // Under the old rules it goes on, under the same nonce.
        host.config = host.config.replace(&rules, CAPS);
        assert_eq!(text(&meet(&mut host, URL, BOUGHT, 10_000), "type"), "sign");
    }
}

/// A crash after the yes: it is not asked again, and the same bytes are asked for.
#[test]
fn a_yes_stands_for_what_it_planned() {
    let mut host = Host::new(r#"{"perCall":"9999","approve":true}"#, false);
    host.fetch(URL);
    assert_eq!(text(&host.on(&price(10_000, SELLER)), "type"), "ask");
    let asked = host.on(r#"{"type":"approved","yes":true}"#);
    assert_eq!(text(&asked, "type"), "sign", "{}", asked.to_text());
    host.now += 5;
    assert_eq!(host.fetch(URL), asked);
    // Without it the cap would stand in the way.
    let mut capped = host.copy();
    let key = wallet_key(&capped);
    let (_, row) = capped.rows.get_mut(&key).unwrap();
    *row = row.replace(r#","yes":true"#, "");
    assert_eq!(text(&capped.fetch(URL), "type"), "send");
}

#[test]
fn a_yes_is_to_one_price() {
    let policy = r#"{"perCall":"10000","approve":true,"maxWindow":60}"#;
    let mut host = Host::new(policy, true);
    host.fetch(URL);
    assert_eq!(text(&host.on(&price(20_000, SELLER)), "type"), "ask");
    let read = host.on(r#"{"type":"approved","yes":true}"#);
    let asked = host.evidence(&chain("0x14a34", &read, 0, None));
    assert_eq!(text(&asked, "type"), "sign", "{}", asked.to_text());
    host.on(&signed(&asked, &KEY));
    let read = host.on(r#"{"type":"answer","answer":{"status":503,"headers":{}}}"#);
    assert_eq!(text(&read, "type"), "read_chain", "{}", read.to_text());
    // Dead within the same call: the seller asks for another price, and the person is asked again.
    host.now += 120;
    let probe = host.evidence(&chain_at(NOW + 120, "0x14a34", &read, 0, None));
    assert_eq!(text(&probe, "type"), "send", "{}", probe.to_text());
    let again = host.on(&price(9_000_000, SELLER));
    assert_eq!(text(&again, "type"), "ask", "{}", again.to_text());
}

#[test]
fn a_child_widens_nothing() {
    let mut host = host(CAPS, "");
    let other = "0x5Fc1434a59Cdf13c71CA74bF1A9344d2E9464FCe";
    let end = NOW + 100;
    let root = format!(r#"{{"id":"{ROOT}","budget":"50000","recipients":["{SELLER}"],"expiresAt":{end}}}"#);
    let root = intend(&mut host, &root).unwrap();
    let middle = format!(r#"{{"id":"middle-0000000000001","parent":"{root}"}}"#);
    let middle = intend(&mut host, &middle).unwrap();
    let wider = [
        (r#""budget":"50001""#.to_owned(), "intent.budget"),
        (
            format!(r#""recipients":["{SELLER}","{other}"]"#),
            "intent.recipients",
        ),
        (format!(r#""expiresAt":{}"#, end + 1), "intent.expiresAt"),
    ];
    for (limit, field) in &wider {
        // Said of an intent, or of a purchase; right below, or further down.
        for parent in [&root, &middle] {
            let child = format!(r#"{{"id":"child-00000000000001","parent":"{parent}",{limit}}}"#);
            assert_eq!(intend(&mut host, &child), Err(format!("lineage_wider {field}")));
            refused(&meet(&mut host, URL, &child, 1), "lineage_wider", field);
        }
    }
    let narrow = format!(
        r#"{{"id":"child-00000000000001","parent":"{middle}","budget":"50000","recipients":["{SELLER}"],"expiresAt":{end}}}"#
    );
    intend(&mut host, &narrow).unwrap();
    // The same again is nothing new; on other terms it is another intent under the same name.
    intend(&mut host, &narrow).unwrap();
    let changed = narrow.replace("50000", "49999");
    assert_eq!(
        intend(&mut host, &changed),
        Err("intent_conflict intent".to_owned())
    );
    assert_eq!(intend(&mut host, "{}"), Err("missing_field intent.id".to_owned()));
    let over = format!(r#"{{"id":"over-000000000000001","expiresAt":{NOW}}}"#);
    assert_eq!(
        intend(&mut host, &over),
        Err("intent_expired intent.expiresAt".to_owned())
    );
}

// ---------------------------------------------------------------- forged lineage

#[test]
fn a_parent_that_is_not_known_is_refused() {
    let mut host = host(CAPS, "");
    let unknown = format!(r#"{{"parent":"0x{}"}}"#, "11".repeat(32));
    refused(&meet(&mut host, URL, &unknown, 1), "bad_lineage", "intent.parent");
    assert!(host.rows.is_empty());
    let child = unknown.replace('{', r#"{"id":"child-00000000000001","#);
    assert_eq!(
        intend(&mut host, &child),
        Err("bad_lineage intent.parent".to_owned())
    );
}

#[test]
fn a_parent_of_another_tree_is_refused() {
    let mut host = host(CAPS, "");
    let [one, other] = ["one", "two"].map(|name| {
        intend(
            &mut host,
            &format!(r#"{{"id":"{name}-000000000000000001","budget":"50000"}}"#),
        )
        .unwrap()
    });
    let child = |parent: &str| format!(r#"{{"id":"child-00000000000001","parent":"{parent}"}}"#);
    spend(&mut host, URL, &child(&one), 10);
    host.now += 1000;
    // It was bought under the one: it is not moved to the other.
    let effect = {
        let nothing = hex::encode(counterfoil::digest::sha256(b""));
        let intent = child(&other);
        host.start(&format!(
            r#"{{"mode":"fetch","request":{{"method":"GET","url":"{URL}","bodySha256":"{nothing}"}},"intent":{intent}}}"#
        ))
    };
    // The open payment is sent again, and nothing is signed; the record keeps its parent.
    assert_ne!(text(&effect, "type"), "sign");
    assert_eq!(text(&record(&host), "parent"), one);
    // A worker that is to stay under one root can't buy under another.
    let root = format!(r#""root":"{one}""#);
    let mut bound = self::host(CAPS, &root);
    bound.rows = host.rows.clone();
    let elsewhere = format!(r#"{{"parent":"{other}"}}"#);
    refused(
        &meet(&mut bound, "https://api.example/z", &elsewhere, 1),
        "bad_lineage",
        "intent.root",
    );
    assert_eq!(
        intend(
            &mut bound,
            &format!(r#"{{"id":"escape-00000000000001","parent":"{other}"}}"#)
        ),
        Err("bad_lineage intent.root".to_owned())
    );
    // What names no parent is bought right below the root.
    assert_eq!(
        text(&meet(&mut bound, "https://api.example/z", "{}", 1), "type"),
        "sign"
    );
    let wallet = wallet_record(&bound);
    let places = wallet.get("places").unwrap().as_array().unwrap();
    assert_eq!(text(places.last().unwrap(), "parent"), one);
}

#[test]
fn cycles_and_depth_are_refused() {
    let mut host = host(CAPS, "");
    // No call writes a cycle; a forged record can hold one.
    let (a, b) = (format!("0x{}", "aa".repeat(32)), format!("0x{}", "bb".repeat(32)));
    let place = |id: &str, parent: &str| format!(r#"{{"at":1,"intentId":"{id}","parent":"{parent}"}}"#);
    let wallet = |places: &str| format!(r#"{{"entries":[],"kind":"wallet","places":[{places}],"v":2}}"#);
    let key = wallet_key(&host);
    host.rows.insert(
        key.clone(),
        (1, wallet(&format!("{},{}", place(&a, &b), place(&b, &a)))),
    );
    let child = format!(r#"{{"parent":"{a}"}}"#);
    refused(
        &meet(&mut host, URL, &child, 1),
        "bad_lineage",
        "intent.parent.cycle",
    );
    // 10,000 deep: walked step by step, and given up at the limit.
    let id = |n: u64| format!("0x{n:064x}");
    let deep: Vec<String> = (1..10_000).map(|n| place(&id(n), &id(n - 1))).collect();
    let root = format!(r#"{{"at":1,"budget":"5","intentId":"{}"}}"#, id(0));
    host.rows
        .insert(key, (2, wallet(&format!("{root},{}", deep.join(",")))));
    let child = |n: u64| format!(r#"{{"parent":"{}"}}"#, id(n));
    refused(
        &meet(&mut host, URL, &child(9_999), 1),
        "bad_lineage",
        "intent.parent.depth",
    );
    refused(
        &meet(&mut host, URL, &child(31), 1),
        "bad_lineage",
        "intent.parent.depth",
    );
    assert_eq!(text(&meet(&mut host, URL, &child(30), 1), "type"), "sign");
}

// ---------------------------------------------------------------- a property, over interleavings

/// Whatever a few workers of one journal do at once, and in whatever order their steps fall: nothing that was signed under an intent passes
/// its budget, and nothing passes the caps.
#[test]
fn no_interleaving_widens_a_budget() {
    let (mut signed, mut refused) = (0, 0);
    let first = std::env::var("COUNTERFOIL_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok());
    let seeds: Vec<u64> = first.map_or_else(|| (1..=100).collect(), |seed| vec![seed]);
    for seed in seeds {
        println!("seed {seed}");
        let mut town = Town::new(
            seed,
            &host(
                r#"{"perCall":"60","perIntentTree":"150","perRecipient":[{"amount":"140","window":100000}]}"#,
                "",
            )
            .config,
        );
        let mut workers: Vec<Worker> = (0..4).map(|_| Worker::default()).collect();
        for _ in 0..400 {
            let at = town.pick(workers.len());
            town.move_one(&mut workers[at]);
            town.check();
        }
        signed += town.signed;
        refused += town.refused;
    }
    println!("{signed} signed, {refused} refused for a budget or a cap");
    assert!(signed > 100 && refused > 100);
}

// ---------------------------------------------------------------- a person is asked

fn person() -> String {
    signing::address_of_key(&PERSON).unwrap().to_string()
}

fn asking(more: &str) -> Host {
    let policy = format!(r#"{{"perCall":"10000","approvers":["{}"]{more}}}"#, person());
    host(&policy, "")
}

fn question(host: &Host) -> Json {
    let wallet = wallet_record(host);
    let asked = wallet.get("asked").unwrap().as_array().unwrap();
    assert_eq!(asked.len(), 1);
    asked[0].clone()
}

/// What the person signs, with a key.
fn answer(request: &Json, more: &str, key: &[u8; 32]) -> Json {
    let (at, end) = (NOW, NOW + 600);
    let defaults = format!(
        r#""request":{},"at":{at},"expiresAt":{end}{more}"#,
        request.to_text()
    );
    let document = wasm::call("approvalDocument", &format!("{{{defaults}}}"), None, None).unwrap();
    let digest = hex::decode_array(text(&document, "digest")).unwrap();
    let signature = hex::encode(counterfoil::checked::sign_digest(&digest, key).unwrap());
    let input = format!(r#"{{{defaults},"signature":"{signature}"}}"#);
    let signed = wasm::call("approvalDocument", &input, None, None).unwrap();
    signed.get("approval").unwrap().clone()
}

fn accept(host: &mut Host, approval: &Json) -> Result<(), String> {
    let params = format!(r#""approval":{}"#, approval.to_text());
    through(host, "clientAccept", &params).map(drop)
}

const BOUGHT: &str = r#"{"id":"bought-00000000000001","purpose":"Maps"}"#;

#[test]
fn what_needs_a_person_is_written_down_and_waits() {
    let mut host = asking("");
    refused(&meet(&mut host, URL, BOUGHT, 20_000), "approval_needed", "");
    let request = question(&host);
    for (name, value) in [
        ("reason", "over_cap"),
        ("amount", "20000"),
        ("payTo", SELLER),
        ("purpose", "Maps"),
        ("spent", "0"),
    ] {
        assert_eq!(text(&request, name), value);
    }
    assert!(text(&request, "ifNo").contains("Nothing is signed"));
    assert_eq!(text(request.get("request").unwrap(), "url"), URL);
    // Asked again it is the same question.
    refused(&meet(&mut host, URL, BOUGHT, 20_000), "approval_needed", "");
    assert_eq!(question(&host), request);
    // Nothing was signed and nothing is held.
    assert!(record(&host)
        .get("attempts")
        .unwrap()
        .as_array()
        .unwrap()
        .is_empty());
    accept(&mut host, &answer(&request, "", &PERSON)).unwrap();
    let asked = meet(&mut host, URL, BOUGHT, 20_000);
    assert_eq!(text(&asked, "type"), "sign");
    let wallet = wallet_record(&host);
    let entry = &wallet.get("entries").unwrap().as_array().unwrap()[0];
    let approval = &wallet.get("approvals").unwrap().as_array().unwrap()[0];
    assert_eq!(text(entry, "approval"), text(approval, "hash"));
    // The answer was for this price: one that is higher is asked about anew.
    host.on(r#"{"type":"sign_failed"}"#);
    refused(&meet(&mut host, URL, BOUGHT, 20_001), "approval_needed", "");
}

/// One approval covers several calls, up to its amount and until its time.
#[test]
fn one_answer_covers_what_it_says_and_no_more() {
    let mut host = asking("");
    let root = intend(&mut host, &format!(r#"{{"id":"{ROOT}"}}"#)).unwrap();
    let call = |n: u64| format!(r#"{{"id":"call-{n:020}","parent":"{root}"}}"#);
    refused(&meet(&mut host, URL, &call(1), 20_000), "approval_needed", "");
    let scope = format!(r#","intentId":"{root}","amount":"45000""#);
    let approval = answer(&question(&host), &scope, &PERSON);
    accept(&mut host, &approval).unwrap();
    spend(&mut host, URL, &call(1), 20_000);
    spend(&mut host, URL, &call(2), 20_000);
    // 5000 are left of it; what is below the policy's own cap needs none.
    refused(&meet(&mut host, URL, &call(3), 10_001), "approval_needed", "");
    spend(&mut host, URL, &call(4), 10_000);
    // Outside of the tree it is of no use.
    refused(
        &meet(&mut host, URL, r#"{"id":"elsewhere-00000000001"}"#, 10_001),
        "approval_needed",
        "",
    );
    host.now += 600;
    refused(&meet(&mut host, URL, &call(5), 10_001), "approval_needed", "");
}

#[test]
fn answers_are_refused_each_for_its_own_reason() {
    let mut host = asking("");
    let root = intend(&mut host, &format!(r#"{{"id":"{ROOT}"}}"#)).unwrap();
    let call = format!(r#"{{"id":"call-0000000000000001","parent":"{root}"}}"#);
    refused(&meet(&mut host, URL, &call, 20_000), "approval_needed", "");
    let request = question(&host);
    let good = answer(&request, "", &PERSON);
    let forged = answer(&request, "", &OTHER_KEY);
    let widened = good.clone().with("amount", Json::text("90000"));
    let other_intent = answer(
        &request,
        &format!(r#","intentId":"0x{}""#, "11".repeat(32)),
        &PERSON,
    );
    let short = answer(&request, r#","amount":"19999""#, &PERSON);
    let other = request.clone().with("amount", Json::text("30000"));
    let other_payer = request.clone().with("payer", Json::text(SELLER));
    let twice = good.clone().with("extra", Json::Bool(true));
    let rows = [
        (twice, "approval_invalid approval"),
        (
            good.clone().with("type", Json::text("counterfoil/claim")),
            "approval_invalid approval.type",
        ),
        (
            good.clone().with("v", Json::number(2)),
            "unsupported_version approval.v",
        ),
        (widened, "approval_altered approval.hash"),
        (forged, "approval_untrusted approval.signature"),
        (
            answer(&other_payer, "", &PERSON),
            "approval_other_payer approval.payer",
        ),
        (
            answer(&other, "", &PERSON),
            "approval_other_request approval.request",
        ),
        (other_intent, "approval_other_intent approval.intentId"),
        (short, "approval_exceeded approval.amount"),
    ];
    for (approval, why) in &rows {
        assert_eq!(accept(&mut host, approval), Err((*why).to_owned()));
    }
    host.now = NOW + 600;
    assert_eq!(
        accept(&mut host, &good),
        Err("approval_expired approval.expiresAt".to_owned())
    );
    host.now = NOW;
    accept(&mut host, &good).unwrap();
    assert_eq!(
        accept(&mut host, &good),
        Err("approval_replayed approval.request".to_owned())
    );
    // Nor does another answer to the same question make more room.
    let more = answer(&request, r#","amount":"90000""#, &PERSON);
    assert_eq!(
        accept(&mut host, &more),
        Err("approval_replayed approval.request".to_owned())
    );
}

/// One that got into the record another way covers nothing, and stands in the way of nothing.
#[test]
fn a_forged_answer_in_the_journal_covers_nothing() {
    let mut host = asking("");
    refused(&meet(&mut host, URL, BOUGHT, 20_000), "approval_needed", "");
    let forged = answer(&question(&host), "", &OTHER_KEY);
    let key = wallet_key(&host);
    let wallet = wallet_record(&host).with("approvals", Json::Array(vec![forged]));
    host.rows.insert(key, (99, wallet.to_canonical().unwrap()));
    refused(&meet(&mut host, URL, BOUGHT, 20_000), "approval_needed", "");
    let good = answer(&question(&host), "", &PERSON);
    accept(&mut host, &good).unwrap();
    assert_eq!(text(&meet(&mut host, URL, BOUGHT, 20_000), "type"), "sign");
}

#[test]
fn a_callback_brings_what_was_signed() {
    let mut host = asking(r#","approve":true"#);
    let ask = meet(&mut host, URL, BOUGHT, 20_000);
    assert_eq!(text(&ask, "type"), "ask");
    let request = ask.get("approval").unwrap().clone();
    assert_eq!(text(&request, "reason"), "over_cap");
    // The host's own yes is nobody's signature.
    let yes = |approval: &Json| {
        format!(
            r#"{{"type":"approved","yes":true,"approval":{}}}"#,
            approval.to_text()
        )
    };
    refused(
        &host.on(r#"{"type":"approved","yes":true}"#),
        "approval_untrusted",
        "approval",
    );
    for (approval, code, field) in [
        (
            answer(&request, "", &OTHER_KEY),
            "approval_untrusted",
            "approval.signature",
        ),
        (
            answer(&request, r#","amount":"19999""#, &PERSON),
            "approval_exceeded",
            "approval.amount",
        ),
    ] {
        meet(&mut host, URL, BOUGHT, 20_000);
        refused(&host.on(&yes(&approval)), code, field);
    }
    meet(&mut host, URL, BOUGHT, 20_000);
    assert_fails(
        &host.on(r#"{"type":"approved","yes":false}"#),
        "approval_denied",
        "none",
    );
    meet(&mut host, URL, BOUGHT, 20_000);
    let asked = host.on(&yes(&answer(&request, "", &PERSON)));
    assert_eq!(text(&asked, "type"), "sign", "{}", asked.to_text());
    let wallet = wallet_record(&host);
    assert_eq!(wallet.get("approvals").unwrap().as_array().unwrap().len(), 1);
    assert!(wallet.get("asked").is_none());
}

/// A budget above is widened by a person alone.
#[test]
fn a_person_can_widen_a_budget() {
    let mut host = asking("");
    let root = intend(&mut host, &format!(r#"{{"id":"{ROOT}","budget":"100"}}"#)).unwrap();
    let call = format!(r#"{{"parent":"{root}"}}"#);
    refused(&meet(&mut host, URL, &call, 101), "approval_needed", "");
    let request = question(&host);
    assert_eq!(text(&request, "reason"), "over_budget");
    accept(&mut host, &answer(&request, "", &PERSON)).unwrap();
    assert_eq!(text(&meet(&mut host, URL, &call, 101), "type"), "sign");
}

/// Past its end it goes from the record, and is still good for nothing, whatever the clock says.
#[test]
fn an_approval_that_was_dropped_is_not_taken_again() {
    let mut host = asking("");
    meet(&mut host, URL, BOUGHT, 20_000);
    let approval = answer(&question(&host), "", &PERSON);
    accept(&mut host, &approval).unwrap();
    let approvals = |host: &Host| wallet_record(host).get("approvals").is_some();
    for (later, stays) in [(86_400 + 599, true), (86_400 + 600, false)] {
        let mut host = host.copy();
        host.now += later;
        spend(&mut host, URL, r#"{"id":"later-0000000000000001"}"#, 10);
        assert_eq!(approvals(&host), stays, "{later}");
        let again = accept(&mut host, &approval).unwrap_err();
        assert_eq!(again, "approval_expired approval.expiresAt");
        host.now = NOW;
        let code = if stays {
            "approval_replayed"
        } else {
            "approval_other_request"
        };
        assert_eq!(
            accept(&mut host, &approval).unwrap_err(),
            format!("{code} approval.request")
        );
    }
}
