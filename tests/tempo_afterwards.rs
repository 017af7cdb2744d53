//! The paying machine on Tempo, once a transaction is sent: retries, what the chain says, and when another challenge is taken.

#[path = "client/host.rs"]
mod host;
#[path = "client/tempo.rs"]
mod tempo;

use counterfoil::json::Json;
use counterfoil::wasm;
use host::{assert_fails, held, record, text, Host, NOW, URL};
use tempo::*;

#[test]
fn a_retry_is_the_same_bytes_and_not_past_the_window() {
    let mut host = payer_with("", 1);
    host.config = host
        .config
        .replace(r#""readable":["eip155:42431"]"#, r#""readable":[]"#);
    let first = pay(&mut host);
    assert_eq!(text(&host.on(TIMEOUT), "type"), "wait");
    let again = host.on(r#"{"type":"waited"}"#);
    assert!(first.get("payment").is_some());
    assert_eq!(again.get("payment"), first.get("payment"));
    host.now += 60;
    assert_fails(&host.on(TIMEOUT), "outcome_unknown", "possible");
}

/// The classic double charge: the money is taken, and the answer is a fresh challenge.
#[test]
fn another_challenge_after_paying_is_never_signed() {
    let mut host = blind();
    pay(&mut host);
    assert_fails(&host.on(&asks("c2", "", "")), "outcome_unknown", "possible");
    for later in [1, 60, 86_400] {
        host.now = NOW + later;
        assert_fails(&host.fetch(URL), "outcome_unknown", "possible");
    }
    assert_eq!(
        (host.states(), held(&host)),
        (vec!["sent".to_owned()], vec!["reserved 60000".to_owned()])
    );
}

#[test]
fn landed_and_challenged_again_is_paid() {
    let mut host = payer();
    pay(&mut host);
    let read = host.on(&asks("c2", "", ""));
    let hash = fixture("hashes", "c1");
    host.on(&Told {
        receipt: Some((&hash, true)),
        logged: &[&hash],
        ..NOTHING
    }
    .of(&read));
    assert_eq!(
        (host.states(), held(&host)),
        (vec!["paid".to_owned()], vec!["settled 60000".to_owned()])
    );
    assert_fails(&host.fetch(URL), "paid_not_delivered", "proven");
    assert_fails(&host.intent("cancel"), "nothing_to_cancel", "proven");
}

/// Found by the memo alone: another transaction paid the challenge.
#[test]
fn paid_by_other_bytes_is_paid_and_said() {
    let (mut host, read) = lost_answer();
    let other = format!("0x{}", "0e".repeat(32));
    host.on(&Told {
        logged: &[&other],
        ..NOTHING
    }
    .of(&read));
    let attempt = attempt(&host);
    assert_eq!(
        (text(&attempt, "state"), text(&attempt, "transaction")),
        ("paid", other.as_str())
    );
    let reasons = attempt.get("verdict").unwrap().get("reasons").unwrap().to_text();
    assert!(reasons.contains("other_transaction"), "{reasons}");
}

#[test]
fn paid_twice_under_one_memo_wakes_somebody() {
    let (mut host, read) = lost_answer();
    let (hash, other) = (fixture("hashes", "c1"), format!("0x{}", "0e".repeat(32)));
    host.on(&Told {
        receipt: Some((&hash, true)),
        logged: &[&hash, &other],
        ..NOTHING
    }
    .of(&read));
    assert!(
        host.alerts.contains(&"duplicate_charge".to_owned()),
        "{:?}",
        host.alerts
    );
    let bundle = format!(
        r#"{{"type":"counterfoil/bundle","v":1,"exportedAt":{NOW},"payer":"{}","intents":[{}]}}"#,
        wasm_payer(),
        record(&host).to_text()
    );
    let found = counterfoil::conflict::find_conflicts(&[&bundle, &bundle]).unwrap();
    let twice: Vec<_> = found
        .iter()
        .filter(|one| one.code.as_str() == "duplicate_charge")
        .collect();
    assert_eq!(twice.len(), 1);
    let mut transactions = vec![hash, other];
    transactions.sort();
    assert_eq!(twice[0].transactions, transactions);
    assert_eq!(twice[0].amount.as_ref().unwrap().0.to_string(), "10000");
    assert!(!found
        .iter()
        .any(|one| one.code.as_str() == "transaction_claimed_twice"));
}

#[test]
fn over_is_not_yet_dead() {
    let (mut host, read) = lost_answer();
    host.now += 200;
    // A second short of the margin, then one that is not final.
    let latest = host.on(&Told {
        time: NOW + 84,
        ..NOTHING
    }
    .of(&read));
    assert_eq!(text(latest.get("read").unwrap(), "tag"), "latest");
    let end = host.on(&Told {
        time: NOW + 86,
        ..NOTHING
    }
    .of(&latest));
    assert_fails(&end, "outcome_unknown", "possible");
    assert_eq!(
        (host.states(), held(&host)),
        (vec!["sent".to_owned()], vec!["reserved 60000".to_owned()])
    );
}

#[test]
fn after_a_proof_of_death_another_challenge_is_taken() {
    for receipt in [None, Some((fixture("hashes", "c1"), false))] {
        let (mut host, read) = lost_answer();
        host.now += 200;
        let receipt = receipt
            .as_ref()
            .map(|(hash, succeeded)| (hash.as_str(), *succeeded));
        let probe = host.on(&Told {
            time: NOW + 85,
            receipt,
            logged: &[],
        }
        .of(&read));
        assert_eq!(
            (host.states(), text(&probe, "type")),
            (vec!["dead".to_owned()], "send")
        );
        assert_eq!((probe.get("payment"), held(&host)), (None, Vec::new()));
        let read = host.on(&asks("c2", "", ""));
        host.on(&Told {
            time: NOW + 200,
            ..NOTHING
        }
        .of(&read));
        let sent = host.on(&signed(&fixture("good", "c2")));
        assert_eq!(text(&sent, "type"), "send", "{}", sent.to_text());
        assert_eq!(
            (host.states(), held(&host)),
            (
                vec!["dead".to_owned(), "sent".to_owned()],
                vec!["reserved 60000".to_owned()]
            )
        );
    }
}

/// A search that stops short of the window is no proof, nor is one without an answer by hash.
#[test]
fn half_a_read_is_no_proof_of_death() {
    for (from, to) in [
        (r#""receipt":null,"#, ""),
        (r#""searchedFrom""#, r#""searchedWhere""#),
        (r#""from":"0x0""#, r#""from":"0x1""#),
        (r#""to":"0x78""#, r#""to":"0x77""#),
        (r#""logs":[],"#, ""),
    ] {
        let (mut host, read) = lost_answer();
        host.now += 200;
        let told = Told {
            time: NOW + 85,
            ..NOTHING
        };
        let changed = told.of(&read).replace(from, to);
        assert_ne!(changed, told.of(&read));
        let latest = host.on(&changed);
        let end = host.on(&told.of(&latest).replace(from, to));
        assert_eq!(text(&end, "type"), "fail", "{}", end.to_text());
        assert_eq!(
            (host.states(), held(&host)),
            (vec!["sent".to_owned()], vec!["reserved 60000".to_owned()])
        );
    }
    // Past the window nothing has to be searched.
    let (mut host, read) = lost_answer();
    host.now += 200;
    let told = Told {
        time: NOW + 999,
        ..NOTHING
    };
    let bounded = told
        .of(&read)
        .replace(r#""to":"0x78""#, r#""to":"0x70""#)
        .replace(
            r#""searchedFrom""#,
            &format!(
                r#""searchedTo":{{"number":"0x70","timestamp":"{:#x}"}},"searchedFrom""#,
                NOW + 85
            ),
        );
    host.on(&bounded);
    assert_eq!(host.states(), ["dead"]);
}

#[test]
fn a_journal_that_was_lost_meets_its_own_memo() {
    let mut host = payer();
    host.fetch(URL);
    let read = host.on(&asks("c1", "", ""));
    let hash = fixture("hashes", "c1");
    let end = host.on(&Told {
        logged: &[&hash],
        ..NOTHING
    }
    .of(&read));
    assert_fails(&end, "authorization_used", "proven");
    assert!(host.states().is_empty());
    assert_eq!(text(record(&host).get("claim").unwrap(), "transaction"), hash);
    // Nobody knows until when it could have landed.
    assert_fails(&host.intent("claim"), "mpp_unsupported", "proven");
}

/// The word of the token on what the transaction's inclusion cost.
fn with_fee(evidence: &str, hash: &str, fee: &str) -> String {
    let word = |digits: &str| format!("0x{:0>64}", digits.trim_start_matches("0x").to_lowercase());
    let log = format!(
        r#"{{"address":"{TOKEN}","topics":["0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef","{}","{}"],"data":"{}","blockNumber":"0x64","blockHash":"0x{}","transactionHash":"{hash}","transactionIndex":"0x0","logIndex":"0x9","removed":false}}"#,
        word(&wasm_payer()),
        word("feec"),
        word(fee),
        "ab".repeat(32)
    );
    let (before, receipt) = evidence
        .split_once(r#""transactionIndex":"0x0","logs":["#)
        .unwrap();
    let (logs, after) = receipt.split_once("]}").unwrap();
    format!(r#"{before}"transactionIndex":"0x0","logs":[{logs},{log}]}}{after}"#)
}

/// What is held is the price and the most that the fee could be; what is spent, what it was.
#[test]
fn the_fee_is_money_of_the_same_wallet() {
    let (mut host, read) = lost_answer();
    assert_eq!(held(&host), ["reserved 60000"]);
    let hash = fixture("hashes", "c1");
    let told = Told {
        receipt: Some((&hash, true)),
        logged: &[&hash],
        ..NOTHING
    };
    let mut other = host.copy();
    host.on(&with_fee(&told.of(&read), &hash, "4d2"));
    assert_eq!(held(&host), ["settled 11234"]);
    assert_eq!(text(attempt(&host).get("verdict").unwrap(), "fee"), "1234");
    let resumed = host.intent("resume");
    assert_eq!(
        text(resumed.get("resolution").unwrap(), "fee"),
        "1234",
        "{}",
        resumed.to_text()
    );
    // A receipt that shows no fee does not show that there was none.
    other.on(&told.of(&read));
    assert_eq!(held(&other), ["settled 60000"]);
    assert_eq!(attempt(&other).get("verdict").unwrap().get("fee"), None);
}

/// Whoever sponsors it, the payer owes the price alone, whatever else left it in that transaction.
#[test]
fn a_sponsored_transaction_costs_the_price() {
    let mut host = payer();
    ask_signer(&mut host, &asks("c1", r#","feePayer":true"#, ""));
    assert_eq!(held(&host), ["reserved 10000"]);
    host.on(&signed(&fixture("good", "sponsored")));
    let read = host.on(TIMEOUT);
    let hash = format!("0x{}", "5e".repeat(32));
    let told = Told {
        logged: &[&hash],
        ..NOTHING
    };
    host.on(&with_fee(&told.of(&read), &hash, "4d2"));
    assert_eq!(held(&host), ["settled 10000"]);
    assert_eq!(attempt(&host).get("verdict").unwrap().get("fee"), None);
}

#[test]
fn the_fee_counts_against_every_cap() {
    let wallet = |amount: u64| {
        payer_with(
            &format!(r#","perWallet":[{{"amount":"{amount}","window":60}}]"#),
            0,
        )
    };
    let mut host = wallet(59_999);
    host.fetch(URL);
    assert_fails(&host.on(&asks("c1", "", "")), "over_wallet_cap", "none");
    ask_signer(&mut wallet(60_000), &asks("c1", "", ""));
    let mut tree = payer_with(r#","perIntentTree":"59999""#, 0);
    tree.fetch(URL);
    assert_fails(&tree.on(&asks("c1", "", "")), "over_cap", "none");
    // The cap for one call bounds both: the fee may take what the price leaves.
    for (cap, fee) in [("60000", "50000"), ("15000", "5000"), ("10000", "0")] {
        let mut host = payer();
        host.config = host
            .config
            .replace(r#""perCall":"60000""#, &format!(r#""perCall":"{cap}""#));
        let asked = ask_signer(&mut host, &asks("c1", "", ""));
        let order = asked.get("sign").unwrap().get("transaction").unwrap();
        assert_eq!(text(order, "maxFee"), fee, "{cap}");
        assert_eq!(held(&host), [format!("reserved {cap}")]);
    }
    // A sponsor's fee is nobody's here.
    let mut host = wallet(10_000);
    ask_signer(&mut host, &asks("c1", r#","feePayer":true"#, ""));
}

#[test]
fn what_is_not_passed_on() {
    let (mut host, read) = lost_answer();
    // The window of 25 seconds, and the margin behind it.
    let end = host.intent("cancel");
    assert_fails(&end, "ends_by_itself", "possible");
    let error = end.get("error").unwrap();
    assert_eq!(
        (text(error, "next"), error.get("retryAfter").unwrap().to_text()),
        ("wait", "85".to_owned())
    );
    host.now += 200;
    let late = host.intent("cancel");
    assert_eq!(
        late.get("error").unwrap().get("retryAfter").unwrap().to_text(),
        "1"
    );
    host.now -= 200;
    let id = host::intent_id(&host);
    let start = format!(r#"{{"mode":"hand_over","intentId":"{id}","to":"worker-b"}}"#);
    assert_fails(&host.start(&start), "mpp_unsupported", "possible");
    assert_eq!(text(read.get("read").unwrap(), "network"), "eip155:42431");
    // A record keeps what it holds, to the byte.
    let before = record(&host).to_text();
    let read_again = wasm::call(
        "intentIsSettled",
        &Json::object([("record", Json::text(before))]).to_text(),
        None,
        None,
    );
    assert_eq!(read_again.unwrap(), Json::Bool(false));
}

/// What a lineage says of all that this host did: settled, reserved, owed back.
fn totals(host: &Host) -> [String; 3] {
    let bundle = format!(
        r#"{{"type":"counterfoil/bundle","v":1,"exportedAt":{NOW},"payer":"{}","intents":[{}]}}"#,
        wasm_payer(),
        record(host).to_text()
    );
    let view = wasm::call(
        "lineage",
        &Json::object([("bundles", Json::Array(vec![Json::text(bundle)]))]).to_text(),
        None,
        None,
    );
    let view = view.unwrap();
    let [total] = view.get("totals").unwrap().as_array().unwrap() else {
        panic!("{}", view.to_text());
    };
    ["settled", "reserved", "refundOwed"].map(|name| text(total, name).to_owned())
}

#[test]
fn a_lineage_counts_the_fee_as_the_wallet_does() {
    let (mut host, read) = lost_answer();
    assert_eq!(totals(&host), ["0", "60000", "0"]);
    let (hash, other) = (fixture("hashes", "c1"), format!("0x{}", "0e".repeat(32)));
    let told = Told {
        receipt: Some((&hash, true)),
        logged: &[&hash],
        ..NOTHING
    };
    let mut untold = host.copy();
    let mut twice = host.copy();
    host.on(&with_fee(&told.of(&read), &hash, "4d2"));
    assert_eq!(totals(&host), ["11234", "0", "0"]);
    untold.on(&told.of(&read));
    assert_eq!(totals(&untold), ["60000", "0", "0"]);
    // What was paid a second time under the memo left the wallet, too.
    let told = Told {
        logged: &[&hash, &other],
        ..told
    };
    twice.on(&with_fee(&told.of(&read), &hash, "4d2"));
    assert_eq!(totals(&twice), ["21234", "0", "10000"]);
    assert_eq!(held(&twice), ["settled 21234"]);
}

/// A purchase of its own, up to the signer, and what became of it: what it asks instead.
fn next_purchase(host: &mut Host, n: u64, intent: &str, amount: &str) -> Json {
    let nothing = counterfoil::hex::encode(counterfoil::digest::sha256(b""));
    let start = host.start(&format!(
        r#"{{"mode":"fetch","request":{{"method":"GET","url":"{URL}","bodySha256":"{nothing}"}},"intent":{{"id":"order-00000000000000{n:02}"{intent}}}}}"#
    ));
    assert_eq!(text(&start, "type"), "send", "{}", start.to_text());
    let mut effect = host.on(&priced(&format!(
        r#"Payment id="c{n}", realm="api.example", method="tempo", intent="charge", request="{}""#,
        request(amount, "")
    )));
    if text(&effect, "type") == "read_chain" {
        let nothing = NOTHING.of(&effect);
        effect = host.on(&nothing);
    }
    effect
}

fn asked_for(effect: &Json) -> &str {
    assert_eq!(text(effect, "type"), "ask", "{}", effect.to_text());
    let reasons = effect.get("approval").unwrap().get("reasons").unwrap();
    reasons.as_array().unwrap()[0].as_str().unwrap()
}

fn drifting(rules: &str) -> Host {
    payer_with(&format!(r#","approve":true,"drift":{rules}"#), 0)
}

/// Three times 60,000, fee included, stay just below 70,000; 10,000 do not.
#[test]
fn what_is_split_is_counted_with_the_fee() {
    let mut host = drifting(r#"{"split":"ask","threshold":"70000"}"#);
    for n in 1..3 {
        assert_eq!(text(&next_purchase(&mut host, n, "", "10000"), "type"), "sign");
    }
    assert_eq!(
        asked_for(&next_purchase(&mut host, 3, "", "10000")),
        "drift_split"
    );
    let mut host = drifting(r#"{"split":"ask","threshold":"12000"}"#);
    for n in 1..4 {
        assert_eq!(text(&next_purchase(&mut host, n, "", "10000"), "type"), "sign");
    }
}

/// Eight times 60,000 are nine tenths of 500,000.
#[test]
fn the_end_of_a_budget_comes_with_the_fees() {
    let mut host = drifting(r#"{"capApproach":"ask"}"#);
    let input = format!(
        r#"{{"config":{},"now":{NOW},"start":{{"mode":"fetch","intent":{{"id":"plan-0000000000000001","budget":"500000"}}}}}}"#,
        host.config
    );
    let written = wasm::call("clientIntend", &input, None, None).unwrap();
    host.persisted(&written);
    let under = format!(r#","parent":"{}""#, text(&written, "intentId"));
    for n in 1..8 {
        assert_eq!(
            text(&next_purchase(&mut host, n, &under, "10000"), "type"),
            "sign"
        );
    }
    assert_eq!(
        asked_for(&next_purchase(&mut host, 8, &under, "10000")),
        "drift_cap_approach"
    );
}

/// Only the seller's part of what is held is its price: more than twice of that is a step, whatever the fee could be.
#[test]
fn a_fee_hides_no_step_of_the_price() {
    let mut host = drifting(r#"{"priceStep":"ask"}"#);
    for n in 1..4 {
        assert_eq!(text(&next_purchase(&mut host, n, "", "10000"), "type"), "sign");
    }
    let mut same = host.copy();
    assert_eq!(text(&next_purchase(&mut same, 4, "", "20000"), "type"), "sign");
    assert_eq!(
        asked_for(&next_purchase(&mut host, 4, "", "20001")),
        "drift_price_step"
    );
}

/// The fee of a payment that landed is not the recipient's.
#[test]
fn a_recipient_has_the_price_alone() {
    for (cap, signs) in [("20000", true), ("19999", false)] {
        let more = format!(r#","perRecipient":[{{"amount":"{cap}","window":600}}]"#);
        let mut host = payer_with(&more, 0);
        pay(&mut host);
        let read = host.on(TIMEOUT);
        let hash = fixture("hashes", "c1");
        let told = Told {
            receipt: Some((&hash, true)),
            logged: &[&hash],
            ..NOTHING
        };
        host.on(&with_fee(&told.of(&read), &hash, "4d2"));
        assert_eq!(held(&host), ["settled 11234"]);
        let next = next_purchase(&mut host, 2, "", "10000");
        match signs {
            true => assert_eq!(text(&next, "type"), "sign", "{}", next.to_text()),
            false => assert_fails(&next, "over_recipient_cap", "none"),
        }
    }
}

/// Seen in a block that was replaced, and the wallet's record was lost in between: what may still land is held again, and its fee with it.
#[test]
fn what_vanished_is_held_again_with_its_fee() {
    let (mut host, mut effect) = lost_answer();
    let hash = fixture("hashes", "c1");
    let seen = Told {
        receipt: Some((&hash, true)),
        logged: &[&hash],
        ..NOTHING
    };
    while text(&effect, "type") == "read_chain" {
        let evidence = match text(effect.get("read").unwrap(), "tag") {
            "finalized" => NOTHING.of(&effect),
            _ => with_fee(&seen.of(&effect), &hash, "4d2"),
        };
        effect = host.on(&evidence);
    }
    assert_fails(&effect, "paid_not_delivered", "proven");
    assert_eq!(held(&host), ["reserved 60000"]);
    host.rows.retain(|key, _| !key.starts_with("wallet/"));
    let mut effect = host.intent("resume");
    while text(&effect, "type") == "read_chain" {
        effect = host.on(&NOTHING.of(&effect));
    }
    assert_eq!(host.alerts.last().map(String::as_str), Some("payment_vanished"));
    assert_eq!(held(&host), ["reserved 60000"]);
}
