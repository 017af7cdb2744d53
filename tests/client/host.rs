//! A host that is a script: it stores what it is told to, signs what it is asked to, and reports the events of the test.

#![allow(dead_code, reason = "each test takes what it needs")]

use std::collections::BTreeMap;

use counterfoil::json::Json;
use counterfoil::{base64, checked, hex, signing, wasm};
use zeroize::Zeroizing;

pub const KEY: [u8; 32] = [0x41; 32];
pub const OTHER_KEY: [u8; 32] = [0x42; 32];
pub const TOKEN: &str = "0x036CbD53842c5426634e7929541eC2318f3dCF7e";
pub const SELLER: &str = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C";
pub const USED: &str = "0x98de503528ee59b575ef0c0a2576a82497bfc029a5685b209e9ec333479b10a5";
pub const TRANSFER: &str = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";
pub const ID: &str = "order-0000000000000001";
pub const URL: &str = "https://api.example/x";
pub const NOW: u64 = 1_790_000_000;

pub fn text<'a>(json: &'a Json, name: &str) -> &'a str {
    json.get(name).unwrap().as_str().unwrap()
}

pub struct Host {
    pub config: String,
    pub now: u64,
    pub rows: BTreeMap<String, (u64, String)>,
    pub state: Json,
    /// What keys the nonces: two hosts with one secret derive the same.
    pub secret: u8,
    pub alerts: Vec<String>,
    pub findings: Vec<Json>,
}

impl Host {
    /// A payer with a policy and, when `chain`, an RPC endpoint.
    pub fn new(policy: &str, chain: bool) -> Host {
        Host::resending(policy, chain, 0)
    }

    /// The same payer with the same journal, which goes on by itself from here.
    pub fn copy(&self) -> Host {
        Host {
            config: self.config.clone(),
            now: self.now,
            rows: self.rows.clone(),
            state: self.state.clone(),
            secret: self.secret,
            alerts: Vec::new(),
            findings: Vec::new(),
        }
    }

    /// The same, whose calls send the same bytes again up to so many times.
    pub fn resending(policy: &str, chain: bool, resends: u64) -> Host {
        let payer = signing::address_of_key(&KEY).unwrap();
        let readable = if chain { r#"["eip155:84532"]"# } else { "[]" };
        Host {
            config: format!(
                r#"{{"payer":"{payer}","policy":{policy},"readable":{readable},"resends":{resends}}}"#
            ),
            now: NOW,
            rows: BTreeMap::new(),
            state: Json::Null,
            secret: 7,
            alerts: Vec::new(),
            findings: Vec::new(),
        }
    }

    pub fn plain() -> Host {
        Host::new(r#"{"perCall":"50000","maxWindow":60}"#, false)
    }

    pub fn with_chain() -> Host {
        Host::new(r#"{"perCall":"50000","maxWindow":60}"#, true)
    }

    pub fn call(&mut self, name: &str, params: &str) -> Json {
        let input = format!(r#"{{"config":{},"now":{},{params}}}"#, self.config, self.now);
        let step = wasm::call(name, &input, None, Some(Zeroizing::new(vec![self.secret; 32]))).unwrap();
        self.state = step.get("state").unwrap().clone();
        let mut effects = step.get("effects").unwrap().as_array().unwrap().to_vec();
        let last = effects.pop().unwrap();
        for alert in effects {
            let finding = alert.get("finding").unwrap();
            self.alerts.push(text(finding, "code").to_owned());
            self.findings.push(finding.clone());
        }
        last
    }

    pub fn event(&mut self, event: &str) -> Json {
        let state = self.state.to_text();
        self.call("clientStep", &format!(r#""state":{state},"event":{event}"#))
    }

    pub fn loaded(&self, effect: &Json) -> String {
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

    pub fn persisted(&mut self, effect: &Json) -> String {
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
    pub fn storing(&mut self, mut effect: Json) -> Json {
        loop {
            let event = match text(&effect, "type") {
                "load" => self.loaded(&effect),
                "persist" => self.persisted(&effect),
                _ => return effect,
            };
            effect = self.event(&event);
        }
    }

    pub fn start(&mut self, start: &str) -> Json {
        let effect = self.call("clientStart", &format!(r#""start":{start}"#));
        self.storing(effect)
    }

    pub fn fetch(&mut self, url: &str) -> Json {
        let nothing = hex::encode(counterfoil::digest::sha256(b""));
        self.start(&format!(
            r#"{{"mode":"fetch","request":{{"method":"GET","url":"{url}","bodySha256":"{nothing}"}},"intent":{{"id":"{ID}"}}}}"#
        ))
    }

    pub fn intent(&mut self, mode: &str) -> Json {
        let id = intent_id(self);
        self.start(&format!(r#"{{"mode":"{mode}","intentId":"{id}"}}"#))
    }

    pub fn on(&mut self, event: &str) -> Json {
        let effect = self.event(event);
        self.storing(effect)
    }

    /// Up to the signer.
    pub fn ask_signer(&mut self) -> Json {
        assert_eq!(text(&self.fetch(URL), "type"), "send");
        let effect = self.on(&price(10_000, SELLER));
        assert_eq!(text(&effect, "type"), "sign");
        effect
    }

    /// Up to the paid request.
    pub fn send_payment(&mut self) {
        let asked = self.ask_signer();
        let paid = self.on(&signed(&asked, &KEY));
        assert_eq!(text(&paid, "type"), "send");
        assert!(paid.get("payment").is_some());
    }

    /// Paid, and nobody knows what became of it.
    pub fn lose_answer(&mut self) {
        self.send_payment();
        let end = self.on(r#"{"type":"answer","answer":{"transport":"timeout"}}"#);
        assert_fails(&end, "outcome_unknown", "possible");
    }

    /// Where the attempts stand, as the journal has it.
    pub fn states(&self) -> Vec<String> {
        let record = record(self);
        let attempts = record.get("attempts").unwrap().as_array().unwrap();
        attempts
            .iter()
            .map(|attempt| text(attempt, "state").to_owned())
            .collect()
    }

    pub fn evidence(&mut self, evidence: &str) -> Json {
        self.on(&format!(r#"{{"type":"evidence","evidence":[{evidence}]}}"#))
    }
}

/// The first row under keys that begin so.
fn row(host: &Host, prefix: &str) -> Option<Json> {
    let (_, (_, text)) = host.rows.iter().find(|(key, _)| key.starts_with(prefix))?;
    Some(counterfoil::json::parse(text).unwrap())
}

/// The intent's record.
pub fn record(host: &Host) -> Json {
    row(host, "intent/").unwrap()
}

pub fn intent_id(host: &Host) -> String {
    let key = host.rows.keys().find(|key| key.starts_with("intent/")).unwrap();
    key.trim_start_matches("intent/").to_owned()
}

/// The wallet's record; null before there is one.
pub fn wallet_record(host: &Host) -> Json {
    row(host, "wallet/").unwrap_or(Json::Null)
}

/// What stands in the wallet's record.
pub fn held_entries(host: &Host) -> Vec<Json> {
    let wallet = wallet_record(host);
    wallet.get("entries").unwrap().as_array().unwrap().to_vec()
}

/// `state amount` of everything the wallet holds.
pub fn held(host: &Host) -> Vec<String> {
    held_entries(host)
        .iter()
        .map(|entry| format!("{} {}", text(entry, "state"), text(entry, "amount")))
        .collect()
}

/// The permit that the signer is asked for.
pub fn permit(asked: &Json) -> &Json {
    let sign = asked.get("sign").unwrap_or_else(|| panic!("{}", asked.to_text()));
    sign.get("permit2Authorization").unwrap()
}

pub fn assert_fails(effect: &Json, code: &str, money: &str) {
    assert_eq!(text(effect, "type"), "fail", "{}", effect.to_text());
    let error = effect.get("error").unwrap();
    assert_eq!((text(error, "code"), text(error, "money")), (code, money));
}

pub fn price(amount: u64, seller: &str) -> String {
    price_of(TOKEN, amount, seller)
}

/// The price in any token.
pub fn price_of(token: &str, amount: u64, seller: &str) -> String {
    let price = format!(
        r#"{{"x402Version":2,"resource":{{"url":"{URL}"}},"accepts":[{{"scheme":"exact","network":"eip155:84532","amount":"{amount}","asset":"{token}","payTo":"{seller}","maxTimeoutSeconds":60,"extra":{{"name":"USDC","version":"2"}}}}]}}"#
    );
    priced(&price)
}

/// The 402 answer that asks this price.
pub fn priced(price: &str) -> String {
    let header = base64::encode(price.as_bytes());
    format!(
        r#"{{"type":"answer","answer":{{"status":402,"headers":{{"payment-required":"{header}"}},"body":"{{}}"}}}}"#
    )
}

pub fn signed(asked: &Json, key: &[u8; 32]) -> String {
    let digest = hex::decode_array(text(asked.get("sign").unwrap(), "digest")).unwrap();
    let signature = hex::encode(checked::sign_digest(&digest, key).unwrap());
    format!(r#"{{"type":"signed","signature":"{signature}"}}"#)
}

/// What an RPC endpoint says of a nonce: `state` is the contract's word, `used` the transfer that its log points to.
pub fn chain(id: &str, read: &Json, state: u8, used: Option<(&str, u64)>) -> String {
    chain_at(NOW, id, read, state, used)
}

/// The same, at a block of another time.
pub fn chain_at(time: u64, id: &str, read: &Json, state: u8, used: Option<(&str, u64)>) -> String {
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
        r#"{{"chainId":"{id}","block":{{"number":"0x78","hash":"{hash}","timestamp":"{time:#x}","tag":"{}"}},"authorizationState":"{}","logs":[{logs}],"logsRange":{{"from":"0x0","to":"0x78"}},"receipt":{receipt}}}"#,
        text(read, "tag"),
        word(&state.to_string())
    )
}

pub const SEPOLIA: &str = "0x14a34";
