//! The paying machine on Tempo: what it orders from its signer, what of that it sends, and when it takes another challenge. The
//! transactions are signed by viem, the memos written by mppx (`client/tempo.json`).

#[path = "client/host.rs"]
mod host;

use counterfoil::json::{self, Json};
use counterfoil::mpp::credential;
use counterfoil::{base64, wasm};
use host::{assert_fails, held, record, text, Host, NOW, SELLER, URL};

const TOKEN: &str = "0x20C0000000000000000000000000000000000001";
const OTHER: &str = "0x2222222222222222222222222222222222222222";
const TIMEOUT: &str = r#"{"type":"answer","answer":{"transport":"timeout"}}"#;
const TRANSFER_WITH_MEMO: &str = "0x57bc7354aa85aed339e000bccffabbc529466af35f0772c8f8ee1145927de7f0";

fn fixture(group: &str, name: &str) -> String {
    let all = json::parse(include_str!("client/tempo.json")).unwrap();
    text(all.get(group).unwrap(), name).to_owned()
}

fn payer() -> Host {
    payer_with("", 0)
}

/// One that can read the chain, with more of a policy.
fn payer_with(more: &str, resends: u64) -> Host {
    let policy = format!(
        r#"{{"perCall":"50000","maxWindow":60,"assets":[{{"network":"eip155:42431","asset":"{TOKEN}"}}]{more}}}"#
    );
    let mut host = Host::resending(&policy, false, resends);
    host.config = host.config.replace(
        r#""readable":[]"#,
        r#""readable":["eip155:42431"],"signsTempo":true"#,
    );
    host
}

/// The same without an endpoint.
fn blind() -> Host {
    let mut host = payer();
    host.config = host
        .config
        .replace(r#""readable":["eip155:42431"]"#, r#""readable":[]"#);
    host
}

fn request(amount: &str, details: &str) -> String {
    let request = format!(
        r#"{{"amount":"{amount}","currency":"{TOKEN}","methodDetails":{{"chainId":42431{details}}},"recipient":"{SELLER}"}}"#
    );
    base64::encode_url(request.as_bytes())
}

/// The 402 answer with one challenge.
fn asks(id: &str, details: &str, more: &str) -> String {
    priced(&format!(
        r#"Payment id="{id}", realm="api.example", method="tempo", intent="charge", request="{}"{more}"#,
        request("10000", details)
    ))
}

fn priced(challenges: &str) -> String {
    let headers = Json::object([("www-authenticate", Json::text(challenges))]);
    let answer = Json::object([
        ("status", Json::number(402)),
        ("headers", headers),
        ("body", Json::text("{}")),
    ]);
    Json::object([("type", Json::text("answer")), ("answer", answer)]).to_text()
}

fn signed(transaction: &str) -> String {
    format!(r#"{{"type":"signed","signature":"{transaction}"}}"#)
}

/// What an endpoint says of the transaction that it is asked for. The search covers the whole window.
struct Told<'a> {
    time: u64,
    receipt: Option<(&'a str, bool)>,
    /// Transactions that carry the memo.
    logged: &'a [&'a str],
}

const NOTHING: Told = Told {
    time: NOW,
    receipt: None,
    logged: &[],
};

impl Told<'_> {
    fn of(&self, effect: &Json) -> String {
        assert_eq!(text(effect, "type"), "read_chain", "{}", effect.to_text());
        let read = effect.get("read").unwrap();
        assert_eq!((text(read, "method"), text(read, "recipient")), ("tempo", SELLER));
        let word = |digits: &str| format!("0x{:0>64}", digits.trim_start_matches("0x").to_lowercase());
        let block = format!("0x{}", "ab".repeat(32));
        let place = |hash: &str, index: usize| {
            format!(
                r#""address":"{TOKEN}","blockNumber":"0x64","blockHash":"{block}","transactionHash":"{hash}","transactionIndex":"0x0","logIndex":"{index:#x}","removed":false"#
            )
        };
        let log = |hash: &str, index: usize| {
            format!(
                r#"{{{},"topics":["{TRANSFER_WITH_MEMO}","{}","{}","{}"],"data":"{}"}}"#,
                place(hash, index),
                word(text(read, "payer")),
                word(SELLER),
                text(read, "nonce"),
                word("2710")
            )
        };
        let receipt = |hash: &str, succeeded: bool, index: usize| {
            let (status, logs) = match succeeded {
                true => ("0x1", log(hash, index)),
                false => ("0x0", String::new()),
            };
            format!(
                r#"{{"status":"{status}","transactionHash":"{hash}","blockNumber":"0x64","blockHash":"{block}","transactionIndex":"0x0","logs":[{logs}]}}"#
            )
        };
        let logs: Vec<String> = (0..)
            .zip(self.logged)
            .map(|(index, hash)| log(hash, index))
            .collect();
        let asked = read.get("hash").map(|_| match self.receipt {
            None => r#""receipt":null,"#.to_owned(),
            Some((hash, succeeded)) => format!(r#""receipt":{},"#, receipt(hash, succeeded, 0)),
        });
        let settled = self.logged.first().filter(|_| self.receipt.is_none());
        let settled = settled.map(|hash| format!(r#""settled":{},"#, receipt(hash, true, 0)));
        format!(
            r#"{{"type":"evidence","evidence":[{{"chainId":"0xa5bf",{}{}"block":{{"number":"0x78","hash":"0x{}","timestamp":"{:#x}","tag":"{}"}},"logs":[{}],"logsRange":{{"from":"0x0","to":"0x78"}},"searchedFrom":{{"number":"0x0","timestamp":"{:#x}"}}}}]}}"#,
            asked.unwrap_or_default(),
            settled.unwrap_or_default(),
            "cd".repeat(32),
            self.time,
            text(read, "tag"),
            logs.join(","),
            NOW - 900,
        )
    }
}

/// Up to the signer: the memo was looked for, and nobody has paid the challenge yet.
fn ask_signer(host: &mut Host, answer: &str) -> Json {
    assert_eq!(text(&host.fetch(URL), "type"), "send");
    let mut effect = host.on(answer);
    if text(&effect, "type") == "read_chain" {
        assert_eq!(effect.get("read").unwrap().get("hash"), None);
        let nothing = Told {
            time: host.now,
            ..NOTHING
        };
        effect = host.on(&nothing.of(&effect));
    }
    assert_eq!(text(&effect, "type"), "sign", "{}", effect.to_text());
    effect
}

/// Up to the paid request.
fn pay(host: &mut Host) -> Json {
    ask_signer(host, &asks("c1", "", ""));
    let sent = host.on(&signed(&fixture("good", "c1")));
    assert_eq!(text(&sent, "type"), "send", "{}", sent.to_text());
    sent
}

/// Up to the chain's word on what was sent.
fn lost_answer() -> (Host, Json) {
    let mut host = payer();
    pay(&mut host);
    let read = host.on(TIMEOUT);
    assert_eq!(text(read.get("read").unwrap(), "hash"), fixture("hashes", "c1"));
    (host, read)
}

fn attempt(host: &Host) -> Json {
    record(host).get("attempts").unwrap().as_array().unwrap()[0].clone()
}

#[test]
fn what_is_ordered_and_sent() {
    let mut host = payer();
    let asked = ask_signer(&mut host, &asks("c1", "", ""));
    let order = asked.get("sign").unwrap().get("transaction").unwrap();
    let call = &order.get("calls").unwrap().as_array().unwrap()[0];
    assert_eq!((text(call, "to"), text(call, "value")), (TOKEN, "0"));
    let data = format!(
        "0x95777d59{:0>64}{:0>64}{}",
        SELLER.trim_start_matches("0x").to_lowercase(),
        "2710",
        fixture("memos", "c1").trim_start_matches("0x")
    );
    assert_eq!(text(call, "data"), data);
    for (name, value) in [
        ("chainId", "42431".to_owned()),
        (
            "nonceKey",
            format!(
                r#""{}""#,
                "115792089237316195423570985008687907853269984665640564039457584007913129639935"
            ),
        ),
        ("nonce", "0".to_owned()),
        ("validBefore", (NOW + 25).to_string()),
        ("feePayer", "false".to_owned()),
        ("feeToken", format!(r#""{TOKEN}""#)),
        ("maxFee", r#""50000""#.to_owned()),
    ] {
        assert_eq!(order.get(name).unwrap().to_text(), value, "{name}");
    }
    let sent = host.on(&signed(&fixture("good", "c1")));
    let header = sent.get("payment").unwrap();
    assert_eq!(text(header, "name"), "Authorization");
    let credential = credential::parse(text(header, "value")).unwrap();
    assert_eq!(credential.challenge.request, request("10000", ""));
    let payer = wasm_payer();
    assert_eq!(
        credential.source.unwrap(),
        format!("did:pkh:eip155:42431:{payer}")
    );
    assert_eq!(
        (
            text(&credential.payload, "type"),
            text(&credential.payload, "signature")
        ),
        ("transaction", fixture("good", "c1").as_str())
    );
}

fn wasm_payer() -> String {
    let all = json::parse(include_str!("client/tempo.json")).unwrap();
    text(&all, "payer").to_owned()
}

/// Every write before the send is cut off in turn: nothing was sent, and the next call signs no second transaction.
#[test]
fn the_journal_holds_the_bytes_before_anything_is_sent() {
    let mut host = payer();
    ask_signer(&mut host, &asks("c1", "", ""));
    assert_eq!(
        (text(&attempt(&host), "state"), held(&host)),
        ("planned", vec!["reserved 10000".to_owned()])
    );
    let unwritten = host.event(&signed(&fixture("good", "c1")));
    assert_eq!(text(&unwritten, "type"), "persist");
    let end = host.event(r#"{"type":"persist_failed"}"#);
    assert_fails(&end, "journal_unavailable", "none");
    // After a restart: the same order, and it may be signed again, for what was signed never left.
    let asked = host.fetch(URL);
    assert_eq!(text(&asked, "type"), "sign", "{}", asked.to_text());
    let sent = host.on(&signed(&fixture("good", "again")));
    assert_eq!(text(&sent, "type"), "send");
    let attempt = attempt(&host);
    assert_eq!(attempt.get("header"), sent.get("payment"));
    assert_eq!(text(&attempt, "signature"), fixture("good", "again"));
    assert_eq!(
        text(attempt.get("tempoPayment").unwrap(), "hash"),
        fixture("hashes", "again")
    );
    assert_eq!(record(&host).get("v").unwrap().to_text(), "2");
}

#[test]
fn what_is_signed_otherwise_is_not_sent() {
    let all = json::parse(include_str!("client/tempo.json")).unwrap();
    let wrong = all.get("wrong").unwrap().as_object().unwrap();
    assert_eq!(wrong.len(), 20);
    for (name, transaction) in wrong {
        let mut host = payer();
        ask_signer(&mut host, &asks("c1", "", ""));
        let end = host.on(&signed(transaction.as_str().unwrap()));
        assert_fails(&end, "transaction_differs", "none");
        let field = match name.as_str() {
            "fee_rounded_up" => "maxFee",
            "earlier" => "validBefore",
            "no_fee_token" => "feeToken",
            "amount" | "less" | "recipient" | "memo" | "client" | "no_memo" | "token" | "twice" | "more"
            | "value" => "calls",
            same => same,
        };
        assert_eq!(
            text(end.get("error").unwrap(), "field"),
            format!("signature.{field}"),
            "{name}"
        );
        assert!(host.states().is_empty() && held(&host).is_empty(), "{name}");
    }
    for (signature, code) in [
        (fixture("good", "c2"), "transaction_differs"),
        ("0x76c0".to_owned(), "transaction_invalid"),
        ("0x".to_owned(), "transaction_invalid"),
        (
            fixture("good", "c1").replacen("0x76", "0x77", 1),
            "transaction_invalid",
        ),
    ] {
        let mut host = payer();
        ask_signer(&mut host, &asks("c1", "", ""));
        assert_fails(&host.on(&signed(&signature)), code, "none");
    }
    let all = text(&all, "stranger").to_owned();
    let mut host = payer();
    ask_signer(&mut host, &asks("c1", "", ""));
    assert_fails(&host.on(&signed(&all)), "signer_mismatch", "none");
}

#[test]
fn a_fee_of_exactly_the_cap() {
    let mut host = payer();
    ask_signer(&mut host, &asks("c1", "", ""));
    assert_eq!(text(&host.on(&signed(&fixture("good", "cap"))), "type"), "send");
    let mut host = payer_with(r#","maxFee":"49999""#, 0);
    ask_signer(&mut host, &asks("c1", "", ""));
    assert_fails(
        &host.on(&signed(&fixture("good", "cap"))),
        "transaction_differs",
        "none",
    );
}

#[test]
fn the_splits_stand_behind_the_main_transfer() {
    let splits = format!(
        r#","splits":[{{"amount":"2000","recipient":"{OTHER}"}},{{"amount":"1000","memo":"0x{}","recipient":"0xaAB4A9ED5ab9c0C03B8B2bbE15Ea4b6F4a1BfBa7"}}]"#,
        "07".repeat(32)
    );
    let all = json::parse(include_str!("client/tempo.json")).unwrap();
    let splits = splits.replace("0xaAB4A9ED5ab9c0C03B8B2bbE15Ea4b6F4a1BfBa7", text(&all, "second"));
    let mut host = payer();
    let asked = ask_signer(&mut host, &asks("c1", &splits, ""));
    let order = asked.get("sign").unwrap().get("transaction").unwrap();
    assert_eq!(order.get("calls").unwrap().as_array().unwrap().len(), 3);
    assert_eq!(held(&host), ["reserved 10000"]);
    assert_fails(
        &copy(&host).on(&signed(&fixture("good", "c1"))),
        "transaction_differs",
        "none",
    );
    assert_eq!(
        text(&host.on(&signed(&fixture("good", "splits"))), "type"),
        "send"
    );
    // Whoever is not on the list gets no share.
    let mut host = payer_with(&format!(r#","recipients":["{SELLER}"]"#), 0);
    host.fetch(URL);
    assert_fails(&host.on(&asks("c1", &splits, "")), "recipient_forbidden", "none");
}

fn copy(host: &Host) -> Host {
    Host {
        config: host.config.clone(),
        now: host.now,
        rows: host.rows.clone(),
        state: host.state.clone(),
        secret: host.secret,
        alerts: Vec::new(),
        findings: Vec::new(),
    }
}

#[test]
fn a_sponsor_pays_the_fee() {
    let mut host = payer();
    let asked = ask_signer(&mut host, &asks("c1", r#","feePayer":true"#, ""));
    let order = asked.get("sign").unwrap().get("transaction").unwrap();
    assert_eq!((order.get("feeToken"), order.get("maxFee")), (None, None));
    assert_fails(
        &copy(&host).on(&signed(&fixture("good", "c1"))),
        "transaction_differs",
        "none",
    );
    assert_eq!(
        text(&host.on(&signed(&fixture("good", "sponsored"))), "type"),
        "send"
    );
    // The sponsor signs after the payer: there is no hash to ask for.
    let read = host.on(TIMEOUT);
    assert_eq!(read.get("read").unwrap().get("hash"), None);
    let hash = format!("0x{}", "5e".repeat(32));
    host.on(&Told {
        logged: &[&hash],
        ..NOTHING
    }
    .of(&read));
    assert_eq!(
        (host.states(), text(&attempt(&host), "transaction")),
        (vec!["paid".to_owned()], hash.as_str())
    );
}

#[test]
fn what_is_not_taken() {
    let details = |details: &str| asks("c1", details, "");
    let swap = |from: &str, to: &str| asks("c1", "", "").replace(from, to);
    let terms = |amount: &str| swap(&request("10000", ""), &request(amount, ""));
    let cases = [
        (
            details(&format!(r#","memo":"0x{}""#, "11".repeat(32))),
            "no_supported_payment_option",
        ),
        (
            details(r#","supportedModes":["push"]"#),
            "no_supported_payment_option",
        ),
        (
            details(r#","supportedModes":"pull""#),
            "no_supported_payment_option",
        ),
        (details(r#","feePayer":"yes""#), "challenge_invalid"),
        (details(r#","memo":"0x11""#), "challenge_invalid"),
        (
            details(&format!(
                r#","splits":[{{"amount":"1","memo":"{}","recipient":"{OTHER}"}}]"#,
                fixture("memos", "c1")
            )),
            "challenge_invalid",
        ),
        (terms("0"), "challenge_invalid"),
        (terms("50001"), "over_cap"),
        (swap("charge", "session"), "no_supported_payment_option"),
        (
            asks("c1", "", r#", expires="2026-09-21T14:13:20Z""#),
            "challenge_expired",
        ),
        (
            swap(r#"method=\"tempo\""#, r#"method=\"tempoo\""#),
            "no_supported_payment_option",
        ),
    ];
    for (answer, code) in cases {
        let mut host = payer();
        host.fetch(URL);
        assert_fails(&host.on(&answer), code, "none");
        assert!(host.rows.is_empty(), "{code}");
    }
    // Another chain, or another token there, than the policy lists.
    let mut host = payer();
    host.config = host.config.replace(
        r#""asset":"0x20C0000000000000000000000000000000000001""#,
        r#""asset":"0x20C0000000000000000000000000000000000002""#,
    );
    host.fetch(URL);
    assert_fails(&host.on(&asks("c1", "", "")), "unknown_asset", "none");
    for (from, to) in [
        (r#","signsTempo":true"#, ""),
        (
            r#""signsTempo":true"#,
            r#""signsTempo":true,"contractWallet":true"#,
        ),
        (
            r#","assets":[{"network":"eip155:42431","asset":"0x20C0000000000000000000000000000000000001"}]"#,
            "",
        ),
    ] {
        let mut host = payer();
        assert!(host.config.contains(from));
        host.config = host.config.replace(from, to);
        host.fetch(URL);
        assert_fails(
            &host.on(&asks("c1", "", "")),
            "no_supported_payment_option",
            "none",
        );
    }
}

#[test]
fn the_window_is_short_whatever_the_policy_allows() {
    let mut host = payer();
    // A seller whose clock runs ahead moves nothing.
    let ahead = asks("c1", "", "").replace(
        r#""headers":{"#,
        r#""headers":{"date":"Mon, 21 Sep 2026 14:15:20 GMT","#,
    );
    let asked = ask_signer(&mut host, &ahead);
    let order = asked.get("sign").unwrap().get("transaction").unwrap();
    assert_eq!(
        order.get("validBefore").unwrap().to_text(),
        (NOW + 25).to_string()
    );
    let mut late = copy(&host);
    host.now += 24;
    late.now += 25;
    assert_eq!(text(&host.on(&signed(&fixture("good", "c1"))), "type"), "send");
    assert_fails(
        &late.on(&signed(&fixture("good", "c1"))),
        "expired_before_send",
        "none",
    );
    // Ten seconds from NOW, by the challenge or by the policy.
    let mut host = payer();
    ask_signer(&mut host, &asks("c1", "", r#", expires="2026-09-21T14:13:30Z""#));
    assert_eq!(text(&host.on(&signed(&fixture("good", "ends"))), "type"), "send");
    let mut host = payer();
    host.config = host.config.replace(r#""maxWindow":60"#, r#""maxWindow":10"#);
    ask_signer(&mut host, &asks("c1", "", ""));
    assert_eq!(text(&host.on(&signed(&fixture("good", "ends"))), "type"), "send");
}

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
        (vec!["sent".to_owned()], vec!["reserved 10000".to_owned()])
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
        (vec!["paid".to_owned()], vec!["settled 10000".to_owned()])
    );
    assert_fails(&host.fetch(URL), "paid_not_delivered", "proven");
    for (mode, code) in [("claim", "mpp_unsupported"), ("cancel", "nothing_to_cancel")] {
        assert_fails(&host.intent(mode), code, "proven");
    }
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
        (vec!["sent".to_owned()], vec!["reserved 10000".to_owned()])
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
                vec!["reserved 10000".to_owned()]
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
            (vec!["sent".to_owned()], vec!["reserved 10000".to_owned()])
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
}

#[test]
fn what_is_not_passed_on() {
    let (mut host, read) = lost_answer();
    assert_fails(&host.intent("cancel"), "mpp_unsupported", "possible");
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
