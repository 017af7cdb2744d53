//! A journal as a host writes it: every commit a line of the chain. And agents who buy.

use counterfoil::journal::{self, Head, Op, Value};
use counterfoil::json::{self, Json};
use counterfoil::{base64, hex, wasm};

use super::host::{price, signed, text, Host, KEY};

pub const SELLER: &str = super::host::SELLER;
pub const OTHER: &str = "0x5Fc1434a59Cdf13c71CA74bF1A9344d2E9464FCe";

pub struct Town {
    pub host: Host,
    pub lines: Vec<String>,
    head: Head,
    rows: std::collections::BTreeMap<String, (u64, String)>,
}

impl Town {
    pub fn new(policy: &str) -> Town {
        Town {
            host: Host::resending(policy, false, 1),
            lines: Vec::new(),
            head: Head::EMPTY,
            rows: std::collections::BTreeMap::new(),
        }
    }

    /// Who acts from here on.
    pub fn as_actor(&mut self, actor: &str) {
        let config = json::parse(&self.host.config).unwrap();
        self.host.config = config.with("actor", Json::text(actor)).to_text();
    }

    /// What was written since becomes one line.
    pub fn write_down(&mut self) {
        let changed = self
            .host
            .rows
            .iter()
            .filter(|(key, row)| self.rows.get(*key) != Some(row));
        let ops: Vec<Op> = changed
            .map(|(key, (_, record))| Op {
                key: key.clone(),
                put: Some(Value::Text(record.clone())),
            })
            .collect();
        if !ops.is_empty() {
            let (line, head) = journal::append(&self.head, &ops).unwrap();
            self.lines.push(line);
            self.head = head;
        }
        self.rows = self.host.rows.clone();
    }

    pub fn journal(&self) -> String {
        self.lines.concat()
    }

    pub fn bundle(&self) -> Json {
        let config = json::parse(&self.host.config).unwrap();
        let wallet = super::host::wallet_record(&self.host);
        let intents = self
            .host
            .rows
            .iter()
            .filter(|(key, _)| key.starts_with("intent/"));
        let intents = intents.map(|(_, (_, record))| json::parse(record).unwrap());
        let mut bundle = Json::object([
            ("type", Json::text("counterfoil/bundle")),
            ("v", Json::number(1)),
            ("exportedAt", Json::number(self.host.now)),
            ("payer", config.get("payer").unwrap().clone()),
            ("intents", Json::Array(intents.collect())),
        ]);
        for name in ["places", "approvals", "asked"] {
            bundle = bundle.with_some(name, wallet.get(name).cloned());
        }
        bundle
    }

    /// Writes an intent down.
    pub fn intend(&mut self, intent: &str) -> String {
        let config = json::parse(&self.host.config).unwrap();
        let key = format!("wallet/{}", text(&config, "payer"));
        let stands = self.host.rows.get(&key).map(|(rev, record)| {
            let record = Json::text(record.as_str()).to_text();
            format!(r#","wallet":{{"key":"{key}","rev":{rev},"text":{record}}}"#)
        });
        let input = format!(
            r#"{{"config":{},"now":{},"start":{{"mode":"fetch","intent":{intent}}}{}}}"#,
            self.host.config,
            self.host.now,
            stands.unwrap_or_default()
        );
        let answer = wasm::call("clientIntend", &input, None, None).unwrap();
        if answer.get("ops").is_some() {
            self.host.persisted(&answer);
        }
        self.write_down();
        text(&answer, "intentId").to_owned()
    }

    /// Asks, signs and sends: the paid request is under way then.
    pub fn send(&mut self, url: &str, intent: &str, amount: u64, to: &str) {
        let nothing = hex::encode(counterfoil::digest::sha256(b""));
        let effect = self.host.start(&format!(
            r#"{{"mode":"fetch","request":{{"method":"GET","url":"{url}","bodySha256":"{nothing}"}},"intent":{intent}}}"#
        ));
        assert_eq!(text(&effect, "type"), "send", "{}", effect.to_text());
        let asked = self.host.on(&price(amount, to));
        assert_eq!(text(&asked, "type"), "sign", "{}", asked.to_text());
        self.write_down();
        let sent = self.host.on(&signed(&asked, &KEY));
        assert_eq!(text(&sent, "type"), "send");
        self.write_down();
    }

    /// Paid and delivered.
    pub fn deliver(&mut self) {
        let payer = text(&json::parse(&self.host.config).unwrap(), "payer").to_owned();
        let n = self.lines.len();
        let said = format!(
            r#"{{"success":true,"transaction":"0x{n:064x}","network":"eip155:84532","payer":"{payer}"}}"#
        );
        let said = base64::encode(said.as_bytes());
        let answer = format!(
            r#"{{"type":"answer","answer":{{"status":200,"headers":{{"payment-response":"{said}"}}}}}}"#
        );
        let effect = self.host.on(&answer);
        assert_eq!(text(&effect, "type"), "deliver", "{}", effect.to_text());
        self.write_down();
        let sha256 = hex::encode(counterfoil::digest::sha256(b"answer"));
        let body = base64::encode(b"answer");
        self.host.on(&format!(
            r#"{{"type":"body","status":200,"headers":{{}},"sha256":"{sha256}","length":6,"body":"{body}","complete":true}}"#
        ));
        self.write_down();
    }

    /// The answer is lost, and so is that of the same bytes sent again.
    pub fn lose(&mut self) {
        while self.lose_once() {}
    }

    /// The answer is lost. Whether the same bytes are under way again.
    pub fn lose_once(&mut self) -> bool {
        let mut effect = self
            .host
            .on(r#"{"type":"answer","answer":{"transport":"timeout"}}"#);
        while text(&effect, "type") == "wait" {
            effect = self.host.on(r#"{"type":"waited"}"#);
        }
        self.write_down();
        text(&effect, "type") == "send"
    }

    pub fn buy(&mut self, url: &str, intent: &str, amount: u64, to: &str) {
        self.send(url, intent, amount, to);
        self.deliver();
        self.host.now += 7;
    }
}

pub fn call(name: &str, input: &Json) -> Result<Json, String> {
    let answer = wasm::call(name, &input.to_text(), None, None);
    answer.map_err(|error| format!("{} {}", error.code.as_str(), error.field))
}

pub fn verify(text: &str) -> Json {
    call("verifyLineage", &Json::object([("bundle", Json::text(text))])).unwrap()
}

pub fn view(texts: &[&str]) -> Json {
    view_with(texts, Json::object([]))
}

pub fn view_with(texts: &[&str], options: Json) -> Json {
    let bundles = texts.iter().map(|one| Json::text(*one)).collect();
    call("lineage", &options.with("bundles", Json::Array(bundles))).unwrap()
}

/// `id state` of every check that did not pass, and its reason.
pub fn troubles(report: &Json) -> Vec<(String, String)> {
    let checks = report.get("checks").unwrap().as_array().unwrap();
    let fails = checks.iter().filter(|check| text(check, "state") == "fail");
    fails
        .map(|check| (text(check, "id").to_owned(), text(check, "why").to_owned()))
        .collect()
}

/// The codes of a view's flags.
pub fn flags(view: &Json) -> Vec<String> {
    let flags = view.get("flags").unwrap().as_array().unwrap();
    flags.iter().map(|flag| text(flag, "code").to_owned()).collect()
}

pub const POLICY: &str = r#"{"perCall":"1000000"}"#;
