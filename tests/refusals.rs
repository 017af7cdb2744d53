//! Every way in which a purchase ends without an answer, one by one, through the dispatch that JavaScript uses. The host is a
//! script: it stores what it is told to, signs what it is asked to, and reports the events of the test.

use std::collections::BTreeMap;

use counterfoil::json::Json;
use counterfoil::{base64, hex, signing, wasm};
use zeroize::Zeroizing;

const KEY: [u8; 32] = [0x41; 32];
const OTHER_KEY: [u8; 32] = [0x42; 32];
const TOKEN: &str = "0x036CbD53842c5426634e7929541eC2318f3dCF7e";
const SELLER: &str = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C";
const USED: &str = "0x98de503528ee59b575ef0c0a2576a82497bfc029a5685b209e9ec333479b10a5";
const TRANSFER: &str = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";
const ID: &str = "order-0000000000000001";
const URL: &str = "https://api.example/x";
const NOW: u64 = 1_790_000_000;

fn text<'a>(json: &'a Json, name: &str) -> &'a str {
    json.get(name).unwrap().as_str().unwrap()
}

struct Host {
    config: String,
    now: u64,
    rows: BTreeMap<String, (u64, String)>,
    state: Json,
    alerts: Vec<String>,
}

impl Host {
    /// A payer with a policy and, when `chain`, an RPC endpoint.
    fn new(policy: &str, chain: bool) -> Host {
        let payer = signing::address_of_key(&KEY).unwrap();
        let readable = if chain { r#"["eip155:84532"]"# } else { "[]" };
        Host {
            config: format!(r#"{{"payer":"{payer}","policy":{policy},"readable":{readable},"resends":0}}"#),
            now: NOW,
            rows: BTreeMap::new(),
            state: Json::Null,
            alerts: Vec::new(),
        }
    }

    fn plain() -> Host {
        Host::new(r#"{"perCall":"50000","maxWindow":60}"#, false)
    }

    fn with_chain() -> Host {
        Host::new(r#"{"perCall":"50000","maxWindow":60}"#, true)
    }

    fn call(&mut self, name: &str, params: &str) -> Json {
        let input = format!(r#"{{"config":{},"now":{},{params}}}"#, self.config, self.now);
        let step = wasm::call(name, &input, None, Some(Zeroizing::new(vec![7; 32]))).unwrap();
        self.state = step.get("state").unwrap().clone();
        let mut effects = step.get("effects").unwrap().as_array().unwrap().to_vec();
        let last = effects.pop().unwrap();
        for alert in effects {
            self.alerts
                .push(text(alert.get("finding").unwrap(), "code").to_owned());
        }
        last
    }

    fn event(&mut self, event: &str) -> Json {
        let state = self.state.to_text();
        self.call("clientStep", &format!(r#""state":{state},"event":{event}"#))
    }

    fn loaded(&self, effect: &Json) -> String {
        let keys = effect.get("keys").unwrap().as_array().unwrap();
        let records: Vec<Json> = keys
            .iter()
            .filter_map(|key| {
                let (rev, text) = self.rows.get(key.as_str().unwrap())?;
                Some(Json::object([
                    ("key", key.clone()),
                    ("rev", Json::number(*rev)),
                    ("text", Json::text(text.as_str())),
                ]))
            })
            .collect();
        Json::object([("type", Json::text("loaded")), ("records", Json::Array(records))]).to_text()
    }

    fn persisted(&mut self, effect: &Json) -> String {
        let mut revs = Vec::new();
        for op in effect.get("ops").unwrap().as_array().unwrap() {
            let rev = self.rows.values().map(|(rev, _)| rev + 1).max().unwrap_or(1);
            self.rows
                .insert(text(op, "key").to_owned(), (rev, text(op, "put").to_owned()));
            revs.push(Json::object([
                ("key", op.get("key").unwrap().clone()),
                ("rev", Json::number(rev)),
            ]));
        }
        Json::object([("type", Json::text("persisted")), ("revs", Json::Array(revs))]).to_text()
    }

    /// Loads and persists until the machine wants something else.
    fn storing(&mut self, mut effect: Json) -> Json {
        loop {
            let event = match text(&effect, "type") {
                "load" => self.loaded(&effect),
                "persist" => self.persisted(&effect),
                _ => return effect,
            };
            effect = self.event(&event);
        }
    }

    fn start(&mut self, start: &str) -> Json {
        let effect = self.call("clientStart", &format!(r#""start":{start}"#));
        self.storing(effect)
    }

    fn fetch(&mut self, url: &str) -> Json {
        let nothing = hex::encode(counterfoil::digest::sha256(b""));
        self.start(&format!(
            r#"{{"mode":"fetch","request":{{"method":"GET","url":"{url}","bodySha256":"{nothing}"}},"intent":{{"id":"{ID}"}}}}"#
        ))
    }

    fn intent(&mut self, mode: &str) -> Json {
        let key = self.rows.keys().find(|key| key.starts_with("intent/")).unwrap();
        let id = key.trim_start_matches("intent/").to_owned();
        self.start(&format!(r#"{{"mode":"{mode}","intentId":"{id}"}}"#))
    }

    fn on(&mut self, event: &str) -> Json {
        let effect = self.event(event);
        self.storing(effect)
    }

    /// Up to the signer.
    fn ask_signer(&mut self) -> Json {
        assert_eq!(text(&self.fetch(URL), "type"), "send");
        let effect = self.on(&price(10_000, SELLER));
        assert_eq!(text(&effect, "type"), "sign");
        effect
    }

    /// Up to the paid request.
    fn send_payment(&mut self) {
        let asked = self.ask_signer();
        let paid = self.on(&signed(&asked, &KEY));
        assert_eq!(text(&paid, "type"), "send");
        assert!(paid.get("payment").is_some());
    }

    /// Paid, and nobody knows what became of it.
    fn lose_answer(&mut self) {
        self.send_payment();
        let end = self.on(r#"{"type":"answer","answer":{"transport":"timeout"}}"#);
        assert_fails(&end, "outcome_unknown", "possible");
    }

    fn evidence(&mut self, evidence: &str) -> Json {
        self.on(&format!(r#"{{"type":"evidence","evidence":[{evidence}]}}"#))
    }
}

fn assert_fails(effect: &Json, code: &str, money: &str) {
    assert_eq!(text(effect, "type"), "fail", "{}", effect.to_text());
    let error = effect.get("error").unwrap();
    assert_eq!((text(error, "code"), text(error, "money")), (code, money));
}

fn price(amount: u64, seller: &str) -> String {
    let price = format!(
        r#"{{"x402Version":2,"resource":{{"url":"{URL}"}},"accepts":[{{"scheme":"exact","network":"eip155:84532","amount":"{amount}","asset":"{TOKEN}","payTo":"{seller}","maxTimeoutSeconds":60,"extra":{{"name":"USDC","version":"2"}}}}]}}"#
    );
    let header = base64::encode(price.as_bytes());
    format!(
        r#"{{"type":"answer","answer":{{"status":402,"headers":{{"payment-required":"{header}"}},"body":"{{}}"}}}}"#
    )
}

fn signed(asked: &Json, key: &[u8; 32]) -> String {
    let digest = hex::decode_array(text(asked.get("sign").unwrap(), "digest")).unwrap();
    let signature = hex::encode(signing::sign_digest(&digest, key).unwrap());
    format!(r#"{{"type":"signed","signature":"{signature}"}}"#)
}

/// What an RPC endpoint says of a nonce: `state` is the contract's word, `used` the transfer that its log points to.
fn chain(id: &str, read: &Json, state: u8, used: Option<(&str, u64)>) -> String {
    let read = read.get("read").unwrap();
    let (payer, nonce) = (text(read, "payer"), text(read, "nonce"));
    let word = |digits: &str| format!("0x{:0>64}", digits.trim_start_matches("0x").to_lowercase());
    let hash = format!("0x{}", "ab".repeat(32));
    let place = |index: u8| {
        format!(
            r#""address":"{TOKEN}","blockNumber":"0x64","blockHash":"{hash}","transactionHash":"{hash}","transactionIndex":"0x0","logIndex":"{index:#x}","removed":false"#
        )
    };
    let payer = word(payer);
    let (logs, receipt) = match used {
        None => (String::new(), "null".to_owned()),
        Some((to, value)) => {
            let log = format!(
                r#"{{{},"topics":["{USED}","{payer}","{nonce}"],"data":"0x"}}"#,
                place(0)
            );
            let (to, value) = (word(to), word(&format!("{value:x}")));
            let transfer = format!(
                r#"{{{},"topics":["{TRANSFER}","{payer}","{to}"],"data":"{value}"}}"#,
                place(1)
            );
            let receipt = format!(
                r#"{{"status":"0x1","transactionHash":"{hash}","blockNumber":"0x64","blockHash":"{hash}","transactionIndex":"0x0","logs":[{log},{transfer}]}}"#
            );
            (log, receipt)
        }
    };
    format!(
        r#"{{"chainId":"{id}","block":{{"number":"0x78","hash":"{hash}","timestamp":"{NOW:#x}","tag":"{}"}},"authorizationState":"{}","logs":[{logs}],"logsRange":{{"from":"0x0","to":"0x78"}},"receipt":{receipt}}}"#,
        text(read, "tag"),
        word(&state.to_string())
    )
}

const SEPOLIA: &str = "0x14a34";

// ---------------------------------------------------------------- before anything is signed

#[test]
fn redirected() {
    let mut host = Host::plain();
    host.fetch(URL);
    let event = price(10_000, SELLER).replace(r#""answer","#, r#""answer","redirected":true,"#);
    assert_fails(&host.on(&event), "redirected", "none");
    assert!(host.rows.is_empty());
}

#[test]
fn policy_missing() {
    let mut host = Host::new("{}", false);
    host.fetch(URL);
    assert_fails(&host.on(&price(10_000, SELLER)), "policy_missing", "none");
}

#[test]
fn over_cap() {
    let mut host = Host::plain();
    host.fetch(URL);
    assert_fails(&host.on(&price(50_001, SELLER)), "over_cap", "none");
}

#[test]
fn approval_denied() {
    let mut host = Host::new(r#"{"perCall":"9999","approve":true}"#, false);
    host.fetch(URL);
    assert_eq!(text(&host.on(&price(10_000, SELLER)), "type"), "ask");
    assert_fails(
        &host.on(r#"{"type":"approved","yes":false}"#),
        "approval_denied",
        "none",
    );
}

#[test]
fn chain_mismatch() {
    let mut host = Host::with_chain();
    host.fetch(URL);
    let read = host.on(&price(10_000, SELLER));
    assert_fails(
        &host.evidence(&chain("0x2105", &read, 0, None)),
        "chain_mismatch",
        "none",
    );
}

#[test]
fn evidence_unreadable_before_signing() {
    let mut host = Host::with_chain();
    host.fetch(URL);
    host.on(&price(10_000, SELLER));
    assert_fails(
        &host.evidence(r#"{"error":"unreachable"}"#),
        "evidence_unreadable",
        "none",
    );
}

#[test]
fn used_or_cancelled_before_signing() {
    let mut host = Host::with_chain();
    host.fetch(URL);
    let read = host.on(&price(10_000, SELLER));
    assert_fails(
        &host.evidence(&chain(SEPOLIA, &read, 1, None)),
        "used_or_cancelled",
        "possible",
    );
}

#[test]
fn authorization_used_with_a_claim() {
    let mut host = Host::with_chain();
    host.fetch(URL);
    let read = host.on(&price(10_000, SELLER));
    let end = host.evidence(&chain(SEPOLIA, &read, 1, Some((SELLER, 10_000))));
    assert_fails(&end, "authorization_used", "proven");
    assert!(host
        .rows
        .values()
        .any(|(_, record)| record.contains(r#""why":"history_lost""#)));
}

// ---------------------------------------------------------------- at the signer

#[test]
fn signer_failed() {
    let mut host = Host::plain();
    host.ask_signer();
    assert_fails(&host.on(r#"{"type":"sign_failed"}"#), "signer_failed", "none");
}

#[test]
fn aborted() {
    let mut host = Host::plain();
    host.ask_signer();
    assert_fails(&host.on(r#"{"type":"aborted"}"#), "aborted", "none");
}

#[test]
fn signer_mismatch() {
    let mut host = Host::plain();
    let asked = host.ask_signer();
    assert_fails(&host.on(&signed(&asked, &OTHER_KEY)), "signer_mismatch", "none");
}

#[test]
fn signature_invalid() {
    let mut host = Host::plain();
    host.ask_signer();
    let end = host.on(r#"{"type":"signed","signature":"0x00"}"#);
    assert_fails(&end, "signature_invalid", "none");
}

#[test]
fn expired_before_send() {
    let mut host = Host::plain();
    let asked = host.ask_signer();
    host.now += 60;
    assert_fails(&host.on(&signed(&asked, &KEY)), "expired_before_send", "none");
}

/// What was never sent is no attempt: it can be released without a claim, and holds no money.
#[test]
fn intent_released() {
    let mut host = Host::plain();
    host.ask_signer();
    host.on(r#"{"type":"sign_failed"}"#);
    let done = host.intent("release");
    assert_eq!(text(&done, "type"), "done", "{}", done.to_text());
    let end = host.fetch(URL);
    assert_eq!(text(end.get("error").unwrap(), "code"), "intent_released");
}

// ---------------------------------------------------------------- the journal

#[test]
fn journal_unavailable() {
    let mut host = Host::plain();
    host.fetch(URL);
    let persist = host.event(&price(10_000, SELLER));
    assert_eq!(text(&persist, "type"), "persist");
    assert_fails(
        &host.on(r#"{"type":"persist_failed"}"#),
        "journal_unavailable",
        "none",
    );
}

/// Without the write that covers them the signed bytes don't leave.
#[test]
fn journal_unavailable_after_signing() {
    let mut host = Host::plain();
    let asked = host.ask_signer();
    let persist = host.event(&signed(&asked, &KEY));
    assert_eq!(text(&persist, "type"), "persist");
    let end = host.on(r#"{"type":"persist_failed","code":"journal_unavailable"}"#);
    assert_eq!(text(&end, "type"), "fail");
    assert_eq!(text(end.get("error").unwrap(), "code"), "journal_unavailable");
}

#[test]
fn journal_conflict() {
    let mut host = Host::plain();
    host.ask_signer();
    host.on(r#"{"type":"sign_failed"}"#);
    host.fetch(URL);
    let mut effect = host.event(&price(10_000, SELLER));
    for _ in 0..1000 {
        effect = match text(&effect, "type") {
            "persist" => {
                // Another worker was quicker, each time.
                for (rev, _) in host.rows.values_mut() {
                    *rev += 100;
                }
                host.event(r#"{"type":"conflict"}"#)
            }
            "load" => {
                let event = host.loaded(&effect);
                host.event(&event)
            }
            "send" => host.event(&price(10_000, SELLER)),
            _ => break,
        };
    }
    assert_fails(&effect, "journal_conflict", "possible");
}

#[test]
fn intent_conflict() {
    let mut host = Host::plain();
    host.lose_answer();
    assert_fails(&host.fetch("https://api.example/y"), "intent_conflict", "none");
    assert_eq!(host.alerts, ["intent_conflict"]);
}

#[test]
fn state_invalid() {
    let mut host = Host::plain();
    host.fetch(URL);
    for event in [
        r#"{"type":"waited"}"#,
        r#"{"type":"approved","yes":true}"#,
        r#"{"type":"signed","signature":"0x"}"#,
        r#"{"type":"persisted","revs":[]}"#,
        r#"{"type":"sent"}"#,
    ] {
        let params = format!(
            r#"{{"config":{},"now":{NOW},"state":{},"event":{event}}}"#,
            host.config,
            host.state.to_text()
        );
        let error = wasm::call("clientStep", &params, None, None).unwrap_err();
        assert_eq!(error.code.as_str(), "state_invalid", "{event}");
    }
}

// ---------------------------------------------------------------- after the money may have moved

#[test]
fn outcome_unknown() {
    Host::plain().lose_answer();
}

#[test]
fn payment_rejected() {
    let mut host = Host::plain();
    host.send_payment();
    let refused = price(10_000, SELLER).replace(r#""{}""#, r#""{\"error\":\"insufficient_funds\"}""#);
    assert_fails(&host.on(&refused), "payment_rejected", "possible");
}

#[test]
fn payment_in_flight() {
    let mut host = Host::plain();
    host.send_payment();
    let body = r#"{\"error\":\"payment_in_flight\"}"#;
    let answer = format!(
        r#"{{"type":"answer","answer":{{"status":409,"headers":{{"retry-after":"60"}},"body":"{body}"}}}}"#
    );
    assert_fails(&host.on(&answer), "payment_in_flight", "possible");
}

/// A 2xx that says that the work or the payment is not done is no delivery: the purchase stays open.
#[test]
fn a_success_that_is_none() {
    let settlement = |json: &str| {
        format!(
            r#""headers":{{"payment-response":"{}"}}"#,
            base64::encode(json.as_bytes())
        )
    };
    let unsettled =
        r#"{"success":false,"transaction":"","network":"eip155:84532","errorReason":"socket hang up"}"#;
    let pending =
        r#"{"success":false,"transaction":"","network":"eip155:84532","errorReason":"settlement_pending"}"#;
    let cases = [
        (
            format!(r#""status":200,{}"#, settlement(unsettled)),
            "outcome_unknown",
        ),
        (
            format!(r#""status":200,{}"#, settlement(pending)),
            "outcome_unknown",
        ),
        (
            r#""status":202,"body":"{\"code\":\"payment_pending\"}""#.to_owned(),
            "payment_in_flight",
        ),
        (
            r#""status":200,"body":"{\"error\":{\"code\":402}}""#.to_owned(),
            "outcome_unknown",
        ),
    ];
    for (answer, code) in cases {
        let mut host = Host::plain();
        host.send_payment();
        let end = host.on(&format!(r#"{{"type":"answer","answer":{{{answer}}}}}"#));
        assert_fails(&end, code, "possible");
        let record = host
            .rows
            .iter()
            .find(|(key, _)| key.starts_with("intent/"))
            .unwrap();
        assert!(record.1 .1.contains(r#""status":"open""#) && !record.1 .1.contains("delivery"));
    }
}

/// Without a word about the settlement the answer is handed over, and the money stays unknown.
#[test]
fn an_answer_without_a_settlement() {
    let mut host = Host::plain();
    host.send_payment();
    let effect = host.on(r#"{"type":"answer","answer":{"status":200}}"#);
    assert_eq!(text(&effect, "type"), "deliver");
    let body = hex::encode(counterfoil::digest::sha256(b"goods"));
    let done = host.on(&format!(
        r#"{{"type":"body","status":200,"headers":{{}},"sha256":"{body}","length":5,"complete":true}}"#
    ));
    let resolution = done.get("resolution").unwrap();
    assert_eq!(
        (text(resolution, "money"), text(resolution, "next")),
        ("possible", "read_chain")
    );
}

#[test]
fn terms_changed() {
    for (amount, seller) in [
        (10_001, SELLER),
        (9_999, SELLER),
        (10_000, "0x90F79bf6EB2c4f870365E785982E1f101E93b906"),
    ] {
        let mut host = Host::plain();
        host.lose_answer();
        host.now += 61;
        assert_eq!(text(&host.fetch(URL), "type"), "send");
        assert_fails(&host.on(&price(amount, seller)), "terms_changed", "possible");
        assert_eq!(host.alerts, ["terms_changed"]);
    }
}

#[test]
fn attempts_exhausted() {
    let mut host = Host::new(r#"{"perCall":"50000","maxWindow":60,"attempts":1}"#, false);
    host.lose_answer();
    host.now += 61;
    host.fetch(URL);
    assert_fails(&host.on(&price(10_000, SELLER)), "attempts_exhausted", "possible");
}

/// Up to the read of the final block after a lost answer.
fn lost_answer_to_read() -> (Host, Json) {
    let mut host = Host::with_chain();
    host.fetch(URL);
    let read = host.on(&price(10_000, SELLER));
    let asked = host.evidence(&chain(SEPOLIA, &read, 0, None));
    host.on(&signed(&asked, &KEY));
    let read = host.on(r#"{"type":"answer","answer":{"transport":"timeout"}}"#);
    assert_eq!(text(&read, "type"), "read_chain");
    (host, read)
}

#[test]
fn paid_wrong_terms() {
    for (to, value) in [(TOKEN, 10_000), (SELLER, 9_999)] {
        let (mut host, read) = lost_answer_to_read();
        let end = host.evidence(&chain(SEPOLIA, &read, 1, Some((to, value))));
        assert_fails(&end, "paid_wrong_terms", "proven");
        assert_eq!(host.alerts, ["paid_wrong_terms"]);
    }
}

#[test]
fn used_or_cancelled() {
    let (mut host, read) = lost_answer_to_read();
    let latest = host.evidence(&chain(SEPOLIA, &read, 1, None));
    let end = host.evidence(&chain(SEPOLIA, &latest, 1, None));
    assert_fails(&end, "used_or_cancelled", "possible");
}

#[test]
fn evidence_unreadable() {
    let (mut host, _) = lost_answer_to_read();
    host.evidence(r#"{"error":"unreachable"}"#);
    let end = host.evidence(r#"{"error":"unreachable"}"#);
    assert_fails(&end, "evidence_unreadable", "possible");
}

#[test]
fn paid_not_delivered() {
    let (mut host, read) = lost_answer_to_read();
    let end = host.evidence(&chain(SEPOLIA, &read, 1, Some((SELLER, 10_000))));
    assert_fails(&end, "paid_not_delivered", "proven");
    assert!(host
        .rows
        .values()
        .any(|(_, record)| record.contains(r#""claim":{"#)));
}

#[test]
fn answer_not_stored() {
    let mut host = Host::plain();
    host.send_payment();
    let settlement = base64::encode(
        format!(
            r#"{{"success":true,"transaction":"0x{}","network":"eip155:84532"}}"#,
            "ab".repeat(32)
        )
        .as_bytes(),
    );
    let delivered = host.on(&format!(
        r#"{{"type":"answer","answer":{{"status":200,"headers":{{"payment-response":"{settlement}"}}}}}}"#
    ));
    assert_eq!(text(&delivered, "type"), "deliver");
    let body = hex::encode(counterfoil::digest::sha256(b"goods"));
    let event = format!(
        r#"{{"type":"body","status":200,"headers":{{}},"sha256":"{body}","length":5,"complete":true}}"#
    );
    assert_eq!(text(&host.on(&event), "type"), "done");
    assert_fails(&host.fetch(URL), "answer_not_stored", "proven");
}
