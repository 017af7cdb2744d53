//! Failures that people reported of paid calls, made small: each by its number in the collection that they were gathered in, with the answer that is right. Most of them
//! have tests of their own that go further; here each is found by its number.

#[path = "client/host.rs"]
mod host;

use counterfoil::evidence::{resolve, Context};
use counterfoil::journal::{self, Head, Op, Value};
use counterfoil::json::{self, Json};
use counterfoil::order::{self, Event, Order};
use counterfoil::{conflict, hex, wasm};
use host::*;

const TIMEOUT: &str = r#"{"type":"answer","answer":{"transport":"timeout"}}"#;
const CANCELED: &str = "0x1cdd46ff242716cdaa72d159d339a485b3438398348d68f09d7c8c0a59353d81";

/// One that reads the chain, and what it asks for at first: nothing was used before.
fn buyer() -> Host {
    Host::with_chain()
}

fn unused(host: &mut Host, read: &Json, time: u64) -> Json {
    let evidence = chain_at(time, SEPOLIA, read, 0, None);
    host.evidence(&evidence)
}

/// Up to the paid request.
fn sent(host: &mut Host) -> Json {
    let read = host.fetch(URL);
    assert_eq!(text(&read, "type"), "send");
    let read = host.on(&price(10_000, SELLER));
    let asked = unused(host, &read, NOW);
    assert_eq!(text(&asked, "type"), "sign", "{}", asked.to_text());
    let paid = host.on(&signed(&asked, &KEY));
    assert_eq!(text(&paid, "type"), "send");
    paid
}

/// One that may send the same bytes again, and what it sends.
fn paying() -> (Host, Json) {
    let mut host = Host::resending(r#"{"perCall":"50000","maxWindow":60}"#, false, 2);
    let asked = host.ask_signer();
    let paid = host.on(&signed(&asked, &KEY));
    (host, paid.get("payment").unwrap().clone())
}

/// What a nonce is, by what a source says of it.
fn verdict(evidence: &str) -> Json {
    let authorization = counterfoil::eip3009::Authorization::from_json(
        &json::parse(&format!(
            r#"{{"from":"0x760326E8C94f38A9F0537b1FA45141cA995564C4","to":"0x5Fc1434a59Cdf13c71CA74bF1A9344d2E9464FCe","value":"10000","validAfter":"0","validBefore":"1760000600","nonce":"{CASE_NONCE}"}}"#
        ))
        .unwrap(),
    )
    .unwrap();
    let context = Context::from_json(
        &json::parse(&format!(r#"{{"network":"eip155:84532","asset":"{TOKEN}"}}"#)).unwrap(),
    );
    resolve(
        &[authorization],
        &context.unwrap(),
        &[json::parse(evidence).unwrap()],
    )
    .to_json()
}

const CASE_NONCE: &str = "0xe8e711e7932aad8774169b5a1450abaedbb118ec76120ed65e904c9d9c324486";

/// A source's answers about that nonce at a final block of this time.
fn told(state: u8, time: u64, logs: &str, receipt: &str) -> String {
    format!(
        r#"{{"chainId":"0x14a34","block":{{"number":"0x78","hash":"0x{}","timestamp":"{time:#x}","tag":"finalized"}},"authorizationState":"0x{state:064x}","logs":[{logs}],"logsRange":{{"from":"0x0","to":"0x78"}},"receipt":{receipt}}}"#,
        "ab".repeat(32)
    )
}

/// x402-foundation/x402#3226.
#[test]
fn case_023_a_nonce_that_is_used_and_no_transfer_was_cancelled() {
    let hash = format!("0x{}", "ab".repeat(32));
    let log = format!(
        r#"{{"address":"{TOKEN}","blockNumber":"0x64","blockHash":"{hash}","transactionHash":"{hash}","transactionIndex":"0x0","logIndex":"0x0","removed":false,"topics":["{CANCELED}","0x000000000000000000000000760326e8c94f38a9f0537b1fa45141ca995564c4","{CASE_NONCE}"],"data":"0x"}}"#
    );
    let receipt = format!(
        r#"{{"status":"0x1","transactionHash":"{hash}","blockNumber":"0x64","blockHash":"{hash}","transactionIndex":"0x0","logs":[{log}]}}"#
    );
    let found = verdict(&told(1, 1_760_000_300, &log, &receipt));
    let said = |found: &Json| {
        ["verdict", "money", "next"]
            .map(|name| text(found, name).to_owned())
            .join(" ")
    };
    assert_eq!(said(&found), "cancelled none safe_to_resign");
    // The state alone is one bit for both.
    let found = verdict(&told(1, 1_760_000_300, "", "null"));
    assert_eq!(text(&found, "verdict"), "used_or_cancelled");
}

/// x402-foundation/x402#2294, x402-foundation/x402#1062.
#[test]
fn case_025_an_unused_nonce_is_live_until_its_end() {
    let found = verdict(&told(0, 1_760_000_300, "", "null"));
    assert_eq!(
        (text(&found, "verdict"), text(&found, "money")),
        ("not_yet", "possible")
    );
    assert_eq!(found.get("decidableAt").unwrap().to_text(), "1760000600");
}

/// x402-foundation/x402#2294.
#[test]
fn case_026_an_unused_nonce_past_its_end_in_a_final_block_is_dead() {
    let found = verdict(&told(0, 1_760_000_601, "", "null"));
    assert_eq!(
        (text(&found, "verdict"), text(&found, "next")),
        ("dead", "safe_to_resign")
    );
    assert_eq!(
        text(&verdict(&told(0, 1_760_000_599, "", "null")), "verdict"),
        "not_yet"
    );
}

/// aws-samples/sample-agentcore-cloudfront-x402-payments#40, qntx/facilitator#73.
#[test]
fn case_028_a_fresh_402_after_a_settlement_timed_out_is_unknown() {
    let mut host = buyer();
    sent(&mut host);
    let fresh = r#"{"type":"answer","answer":{"status":402,"headers":{},"body":"{\"error\":\"settlement_failed\",\"transaction\":\"\"}"}}"#;
    let read = host.on(fresh);
    assert_eq!(text(&read, "type"), "read_chain", "{}", read.to_text());
    let mut end = read;
    while text(&end, "type") == "read_chain" {
        end = unused(&mut host, &end, NOW);
    }
    assert_fails(&end, "outcome_unknown", "possible");
    assert_eq!(host.states(), ["sent"]);
}

/// BofAI/x402#82.
#[test]
fn case_029_an_internal_error_although_it_was_mined_is_paid() {
    let mut host = buyer();
    sent(&mut host);
    let error = r#"{"type":"answer","answer":{"status":500,"headers":{},"body":"{\"success\":false,\"errorReason\":\"internal_error\"}"}}"#;
    let read = host.on(error);
    let landed = chain(SEPOLIA, &read, 1, Some((SELLER, 10_000)));
    // Where a call may send again, the same bytes fetch the answer; here it may not.
    assert_fails(&host.evidence(&landed), "paid_not_delivered", "proven");
    assert_eq!(host.states(), ["paid"]);
}

/// tempoxyz/mpp-rs#337, x402-foundation/x402#3438.
#[test]
fn case_030_another_challenge_after_paying_makes_no_second_credential() {
    let mut host = buyer();
    sent(&mut host);
    // The retry is answered with another price: it is not met.
    let end = host.on(&price(10_000, SELLER));
    assert_eq!(text(&end, "type"), "read_chain", "{}", end.to_text());
    let mut end = end;
    while text(&end, "type") == "read_chain" {
        end = unused(&mut host, &end, NOW);
    }
    assert_fails(&end, "outcome_unknown", "possible");
    assert_eq!(host.states().len(), 1);
}

/// x402-rs/x402-rs#108, unbrowse-ai/unbrowse#139, nirholas/agenti#125.
#[test]
fn case_031_a_retry_wrapper_that_calls_again_sends_what_was_signed() {
    let (mut host, payment) = paying();
    let reset = r#"{"type":"answer","answer":{"transport":"reset"}}"#;
    let again = host.on(reset);
    assert_eq!(text(&again, "type"), "wait", "{}", again.to_text());
    // The library around it does not wait: it calls anew.
    assert_eq!(text(&host.fetch(URL), "type"), "wait");
    let again = host.on(r#"{"type":"waited"}"#);
    assert_eq!(again.get("payment"), Some(&payment), "{}", again.to_text());
    assert_eq!(host.states().len(), 1);
}

/// x402-foundation/x402#808.
#[test]
fn case_032_of_two_that_confirmed_the_first_is_kept_and_the_other_is_owed_back() {
    // Two journals, neither of which knew of the other.
    let recorded = |journal: u8, block: u64| {
        let mut host = buyer();
        host.secret = journal;
        sent(&mut host);
        let read = host.on(TIMEOUT);
        let landed = chain(SEPOLIA, &read, 1, Some((SELLER, 10_000)));
        let landed = landed
            .replace(
                r#""blockNumber":"0x64""#,
                &format!(r#""blockNumber":"{block:#x}""#),
            )
            .replace(
                &format!(r#""transactionHash":"0x{}""#, "ab".repeat(32)),
                &format!(
                    r#""transactionHash":"0x{}""#,
                    hex::encode([journal; 32]).trim_start_matches("0x")
                ),
            );
        host.evidence(&landed);
        let config = json::parse(&host.config).unwrap();
        format!(
            r#"{{"type":"counterfoil/bundle","v":1,"exportedAt":{NOW},"payer":"{}","intents":[{}]}}"#,
            text(&config, "payer"),
            record(&host).to_text()
        )
    };
    let (later, earlier) = (recorded(0xa1, 0x65), recorded(0xa2, 0x64));
    let found = conflict::find_conflicts(&[&later, &earlier]).unwrap();
    let twice = found.iter().find(|one| one.code.as_str() == "duplicate_charge");
    let twice = twice.unwrap_or_else(|| panic!("{}", conflict::to_json(&found).to_text()));
    assert_eq!(twice.amount.as_ref().unwrap().0.to_string(), "10000");
    // The order on the chain decides: what is owed back is the later one.
    let owed = hex::encode([0xa1; 32]);
    assert!(twice.transactions.contains(&owed), "{:?}", twice.transactions);
}

/// kychee-com/run402#500.
#[test]
fn case_043_dead_between_signing_and_sending_is_sent_or_read_and_not_signed_again() {
    let (host, payment) = paying();
    // Whatever was in memory is gone; the journal says that it was signed.
    let mut after = host.copy();
    after.state = Json::Null;
    assert_eq!(text(&after.fetch(URL), "type"), "wait");
    let again = after.on(r#"{"type":"waited"}"#);
    assert_eq!(again.get("payment"), Some(&payment), "{}", again.to_text());
    assert_eq!(after.states().len(), 1);
}

/// bloom-directory/bloom#47.
#[test]
fn case_044_what_can_not_be_written_is_not_sent() {
    let mut host = Host::plain();
    let asked = host.ask_signer();
    let persist = host.event(&signed(&asked, &KEY));
    assert_eq!(text(&persist, "type"), "persist");
    let end = host.event(r#"{"type":"persist_failed"}"#);
    assert_fails(&end, "journal_unavailable", "none");
}

/// Lines of a journal, each of one key.
fn lines(keys: &[&str]) -> (String, Head) {
    keys.iter()
        .fold((String::new(), Head::EMPTY), |(all, head), key| {
            let op = Op {
                key: (*key).to_owned(),
                put: Some(Value::Text(format!(r#"{{"t":"{key}"}}"#))),
            };
            let (line, head) = journal::append(&head, &[op]).unwrap();
            (all + &line, head)
        })
}

fn keys(opened: &journal::Opened) -> Vec<&str> {
    opened.entries.iter().map(|entry| entry.key.as_str()).collect()
}

/// matrixarkai/TemporalStore#527, letta-ai/letta-code#3590.
#[test]
fn case_045_a_torn_last_line_is_dropped_and_what_was_before_it_counts() {
    let (whole, _) = lines(&["intent", "signed"]);
    let first = whole.find('\n').unwrap() + 1;
    for cut in first + 1..whole.len() - 1 {
        let opened = journal::open(&whole.as_bytes()[..cut]).unwrap();
        assert_eq!(
            (keys(&opened), opened.torn),
            (vec!["intent"], (cut - first) as u64)
        );
    }
}

/// outlmd/outl#157, echoVic/boss-skill#29, earendil-works/pi#7902.
#[test]
fn case_046_what_is_written_after_a_torn_line_is_not_glued_to_it() {
    let (whole, _) = lines(&["a", "b"]);
    let torn = &whole[..whole.len() - 9];
    let opened = journal::open(torn.as_bytes()).unwrap();
    let op = Op {
        key: "c".to_owned(),
        put: Some(Value::Text(r#"{"t":"c"}"#.to_owned())),
    };
    let (line, _) = journal::append(&opened.head, &[op]).unwrap();
    let kept = &torn[..opened.head.length as usize];
    let again = journal::open(format!("{kept}{line}").as_bytes()).unwrap();
    assert_eq!((keys(&again), again.torn), (vec!["a", "c"], 0));
    // Glued on, it would be no journal any more, and is not read as one.
    let glued = journal::open(format!("{torn}{line}").as_bytes()).unwrap_err();
    assert_eq!(glued.code.as_str(), "journal_corrupt");
}

/// elizaOS/eliza#30879.
#[test]
fn case_049_a_whole_line_without_its_end_is_taken_every_time() {
    let (whole, head) = lines(&["a", "b"]);
    let bytes = whole.trim_end().as_bytes();
    let opened = journal::open(bytes).unwrap();
    assert_eq!(
        (keys(&opened), opened.needs_newline, opened.torn),
        (vec!["a", "b"], true, 0)
    );
    assert_eq!(opened.head, head);
    assert_eq!(journal::open(bytes).unwrap(), opened);
}

/// everruns/everruns#2623, vercel/eve#555.
#[test]
fn case_097_children_debit_the_root_and_not_one_unit_more() {
    let mut host = Host::new(r#"{"perCall":"100000"}"#, false);
    let start = r#""start":{"mode":"fetch","intent":{"id":"root-000000000000000001","budget":"50000"}}"#;
    let input = format!(r#"{{"config":{},"now":{NOW},{start}}}"#, host.config);
    let written = wasm::call("clientIntend", &input, None, None).unwrap();
    host.persisted(&written);
    let root = text(&written, "intentId").to_owned();
    let nothing = hex::encode(counterfoil::digest::sha256(b""));
    let mut child = |id: &str, amount: u64| {
        host.start(&format!(
            r#"{{"mode":"fetch","request":{{"method":"GET","url":"{URL}","bodySha256":"{nothing}"}},"intent":{{"id":"{id}","parent":"{root}"}}}}"#
        ));
        let asked = host.on(&price(amount, SELLER));
        if text(&asked, "type") == "sign" {
            host.on(&signed(&asked, &KEY));
        }
        asked
    };
    assert_eq!(text(&child("child-00000000000001", 30_000), "type"), "sign");
    for (amount, signs) in [(30_000, false), (20_001, false), (20_000, true)] {
        let asked = child("child-00000000000002", amount);
        match signs {
            true => assert_eq!(text(&asked, "type"), "sign"),
            false => assert_fails(&asked, "over_budget", "none"),
        }
    }
}

/// a public thread on idempotency layers: final after 24 h, then it lands.
#[test]
fn case_099_an_order_that_was_called_failed_is_paid_when_the_transfer_lands() {
    let event = |json: &str| Event::from_json(&json::parse(json).unwrap()).unwrap();
    let order = Order::from_json(
        &json::parse(
            r#"{"id":"order-1","quoteHash":"0x95129172eb8febaca2e65c57f439f2795180c0733a107252c558284691dadf81","state":"quoted","quoteUntil":1790000900,"stockHeld":true}"#,
        )
        .unwrap(),
    )
    .unwrap();
    let (expired, _) = order::advance(order, &event(r#"{"type":"expire"}"#), NOW + 86_400).unwrap();
    let landed = format!(
        r#"{{"type":"payment_confirmed","transaction":"0x{}","late":"refund"}}"#,
        "a1".repeat(32)
    );
    let (after, effects) = order::advance(expired, &event(&landed), NOW + 90_000).unwrap();
    assert_eq!(text(&after.to_json(), "state"), "refund_pending");
    assert!(effects.iter().any(|effect| effect.as_str() == "refund_owed"));
    // And the payer, whose journal had given it up, holds what shows it.
    let mut host = buyer();
    sent(&mut host);
    let mut end = host.on(TIMEOUT);
    while text(&end, "type") == "read_chain" {
        end = unused(&mut host, &end, NOW);
    }
    let read = host.intent("resume");
    let landed = chain(SEPOLIA, &read, 1, Some((SELLER, 10_000)));
    host.evidence(&landed);
    let claim = record(&host).get("claim").cloned().unwrap();
    assert_eq!(text(&claim, "transaction"), format!("0x{}", "ab".repeat(32)));
}
