//! The paying machine on Tempo, once a transaction is sent: retries, what the chain says, and when another challenge is taken.

#[path = "client/host.rs"]
mod host;
#[path = "client/tempo.rs"]
mod tempo;

use counterfoil::json::Json;
use counterfoil::wasm;
use host::{assert_fails, held, record, text, NOW, URL};
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
