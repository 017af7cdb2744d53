//! A payer on Tempo for the scripted host: challenges, what a signer gives back, and what an endpoint says of a transaction. The
//! transactions are signed by viem, the memos written by mppx (`tempo.json`).

#![allow(dead_code, reason = "each test takes what it needs")]

use counterfoil::base64;
use counterfoil::json::{self, Json};

use crate::host::{record, text, Host, NOW, SELLER, URL};

pub const TOKEN: &str = "0x20C0000000000000000000000000000000000001";
pub const OTHER: &str = "0x2222222222222222222222222222222222222222";
pub const TIMEOUT: &str = r#"{"type":"answer","answer":{"transport":"timeout"}}"#;
pub const TRANSFER_WITH_MEMO: &str = "0x57bc7354aa85aed339e000bccffabbc529466af35f0772c8f8ee1145927de7f0";

pub fn fixture(group: &str, name: &str) -> String {
    let all = json::parse(include_str!("tempo.json")).unwrap();
    text(all.get(group).unwrap(), name).to_owned()
}

pub fn payer() -> Host {
    payer_with("", 0)
}

/// One that can read the chain, with more of a policy.
pub fn payer_with(more: &str, resends: u64) -> Host {
    let policy = format!(
        r#"{{"perCall":"60000","maxWindow":60,"assets":[{{"network":"eip155:42431","asset":"{TOKEN}"}}]{more}}}"#
    );
    let mut host = Host::resending(&policy, false, resends);
    host.config = host.config.replace(
        r#""readable":[]"#,
        r#""readable":["eip155:42431"],"signsTempo":true"#,
    );
    host
}

/// The same without an endpoint.
pub fn blind() -> Host {
    let mut host = payer();
    host.config = host
        .config
        .replace(r#""readable":["eip155:42431"]"#, r#""readable":[]"#);
    host
}

pub fn request(amount: &str, details: &str) -> String {
    let request = format!(
        r#"{{"amount":"{amount}","currency":"{TOKEN}","methodDetails":{{"chainId":42431{details}}},"recipient":"{SELLER}"}}"#
    );
    base64::encode_url(request.as_bytes())
}

/// The 402 answer with one challenge.
pub fn asks(id: &str, details: &str, more: &str) -> String {
    priced(&format!(
        r#"Payment id="{id}", realm="api.example", method="tempo", intent="charge", request="{}"{more}"#,
        request("10000", details)
    ))
}

pub fn priced(challenges: &str) -> String {
    let headers = Json::object([("www-authenticate", Json::text(challenges))]);
    let answer = Json::object([
        ("status", Json::number(402)),
        ("headers", headers),
        ("body", Json::text("{}")),
    ]);
    Json::object([("type", Json::text("answer")), ("answer", answer)]).to_text()
}

pub fn signed(transaction: &str) -> String {
    format!(r#"{{"type":"signed","signature":"{transaction}"}}"#)
}

/// What an endpoint says of the transaction that it is asked for. The search covers the whole window.
pub struct Told<'a> {
    pub time: u64,
    pub receipt: Option<(&'a str, bool)>,
    /// Transactions that carry the memo.
    pub logged: &'a [&'a str],
}

pub const NOTHING: Told = Told {
    time: NOW,
    receipt: None,
    logged: &[],
};

impl Told<'_> {
    pub fn of(&self, effect: &Json) -> String {
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
pub fn ask_signer(host: &mut Host, answer: &str) -> Json {
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
pub fn pay(host: &mut Host) -> Json {
    ask_signer(host, &asks("c1", "", ""));
    let sent = host.on(&signed(&fixture("good", "c1")));
    assert_eq!(text(&sent, "type"), "send", "{}", sent.to_text());
    sent
}

/// Up to the chain's word on what was sent.
pub fn lost_answer() -> (Host, Json) {
    let mut host = payer();
    pay(&mut host);
    let read = host.on(TIMEOUT);
    assert_eq!(text(read.get("read").unwrap(), "hash"), fixture("hashes", "c1"));
    (host, read)
}

pub fn attempt(host: &Host) -> Json {
    record(host).get("attempts").unwrap().as_array().unwrap()[0].clone()
}

pub fn wasm_payer() -> String {
    let all = json::parse(include_str!("tempo.json")).unwrap();
    text(&all, "payer").to_owned()
}
