//! Workers of one journal, moved one step at a time in an order that a seed gives.

use std::collections::BTreeMap;

use counterfoil::json::{self, Json};
use counterfoil::{checked, hex, wasm};
use zeroize::Zeroizing;

use super::host::{price, text, KEY, NOW};

const SELLERS: [&str; 2] = [
    "0x209693Bc6afc0C5328bA36FaF03C514EF312287C",
    "0x5Fc1434a59Cdf13c71CA74bF1A9344d2E9464FCe",
];

/// One call under way: the machine's state, and what it wants next.
#[derive(Default)]
pub struct Worker {
    under_way: Option<(Json, Json)>,
}

/// The journal that they share, and the tree in it.
pub struct Town {
    random: u64,
    config: String,
    now: u64,
    rows: BTreeMap<String, (u64, String)>,
    rev: u64,
    /// Intents that others can be bought under.
    intents: Vec<String>,
    pub signed: u64,
    pub refused: u64,
}

impl Town {
    pub fn new(seed: u64, config: &str) -> Town {
        let mut town = Town {
            random: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
            config: config.to_owned(),
            now: NOW,
            rows: BTreeMap::new(),
            rev: 0,
            intents: Vec::new(),
            signed: 0,
            refused: 0,
        };
        for n in 0..5 {
            town.intend(n);
        }
        town
    }

    pub fn pick(&mut self, below: usize) -> usize {
        // xorshift64
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random % below as u64) as usize
    }

    fn call(&self, name: &str, params: &str) -> Result<Json, String> {
        let input = format!(r#"{{"config":{},"now":{},{params}}}"#, self.config, self.now);
        wasm::call(name, &input, None, Some(Zeroizing::new(vec![7; 32]))).map_err(|e| e.to_string())
    }

    fn wallet(&self) -> Option<(&String, &(u64, String))> {
        self.rows.iter().find(|(key, _)| key.starts_with("wallet/"))
    }

    /// A root, or an intent below one that is there, with a budget that is sometimes too wide.
    fn intend(&mut self, n: u64) {
        let parent = match self.intents.len() {
            0 => None,
            some => {
                let at = self.pick(some);
                Some(self.intents[at].clone())
            }
        };
        let parent = parent.map_or(String::new(), |parent| format!(r#","parent":"{parent}""#));
        let budget = 20 + self.pick(100);
        let stands = self.wallet().map(|(key, (rev, record))| {
            format!(
                r#","wallet":{{"key":"{key}","rev":{rev},"text":{}}}"#,
                Json::text(record.as_str()).to_text()
            )
        });
        let params = format!(
            r#""start":{{"mode":"fetch","intent":{{"id":"intent-{n:020}","budget":"{budget}"{parent}}}}}{}"#,
            stands.unwrap_or_default()
        );
        if let Ok(answer) = self.call("clientIntend", &params) {
            self.write(answer.get("ops").unwrap());
            self.intents.push(text(&answer, "intentId").to_owned());
        }
    }

    /// All or nothing, and only onto what was read.
    fn write(&mut self, ops: &Json) -> Option<Vec<Json>> {
        let ops = ops.as_array().unwrap();
        let stands = ops.iter().all(|op| {
            let rev = self.rows.get(text(op, "key")).map(|(rev, _)| *rev);
            match op.get("expect").unwrap() {
                Json::Number(expect) => rev.is_some_and(|rev| rev.to_string() == *expect),
                _ => rev.is_none(),
            }
        });
        if !stands {
            return None;
        }
        self.rev += 1;
        let rev = Json::number(self.rev);
        let written = ops.iter().map(|op| {
            let key = text(op, "key").to_owned();
            self.rows
                .insert(key.clone(), (self.rev, text(op, "put").to_owned()));
            Json::object([("key", Json::text(key)), ("rev", rev.clone())])
        });
        Some(written.collect())
    }

    /// One step of one worker; or it dies, and what it had in hand is gone.
    pub fn move_one(&mut self, worker: &mut Worker) {
        self.now += self.pick(3) as u64;
        let Some((state, effect)) = worker.under_way.take() else {
            worker.under_way = self.begin();
            return;
        };
        if self.pick(40) == 0 {
            return;
        }
        let event = match text(&effect, "type") {
            "load" => {
                let keys = effect.get("keys").unwrap().as_array().unwrap();
                let found = keys.iter().filter_map(|key| {
                    let (rev, record) = self.rows.get(key.as_str().unwrap())?;
                    Some(Json::object([
                        ("key", key.clone()),
                        ("rev", Json::number(*rev)),
                        ("text", Json::text(record.as_str())),
                    ]))
                });
                Json::object([
                    ("type", Json::text("loaded")),
                    ("records", Json::Array(found.collect())),
                ])
            }
            "persist" => match self.write(effect.get("ops").unwrap()) {
                Some(revs) => Json::object([("type", Json::text("persisted")), ("revs", Json::Array(revs))]),
                None => Json::object([("type", Json::text("conflict"))]),
            },
            "send" if effect.get("payment").is_none() => {
                let (amount, seller) = (1 + self.pick(60) as u64, SELLERS[self.pick(2)]);
                json::parse(&price(amount, seller)).unwrap()
            }
            "send" => {
                let lost = [
                    r#"{"type":"answer","answer":{"transport":"timeout"}}"#,
                    r#"{"type":"answer","answer":{"status":402,"headers":{},"body":"{}"}}"#,
                ];
                json::parse(lost[self.pick(2)]).unwrap()
            }
            "sign" if self.pick(8) == 0 => json::parse(r#"{"type":"sign_failed"}"#).unwrap(),
            "sign" => {
                self.signed += 1;
                let digest = hex::decode_array(text(effect.get("sign").unwrap(), "digest")).unwrap();
                let signature = hex::encode(checked::sign_digest(&digest, &KEY).unwrap());
                json::parse(&format!(r#"{{"type":"signed","signature":"{signature}"}}"#)).unwrap()
            }
            "wait" => json::parse(r#"{"type":"waited"}"#).unwrap(),
            "fail" => {
                let code = text(effect.get("error").unwrap(), "code");
                self.refused += u64::from(matches!(code, "over_budget" | "over_cap" | "over_recipient_cap"));
                return;
            }
            other => panic!("{other}"),
        };
        let params = format!(r#""state":{},"event":{}"#, state.to_text(), event.to_text());
        worker.under_way = Some(ended(self.call("clientStep", &params).unwrap()));
    }

    fn begin(&mut self) -> Option<(Json, Json)> {
        let at = self.pick(self.intents.len());
        let parent = self.intents[at].clone();
        let nothing = hex::encode(counterfoil::digest::sha256(b""));
        let (call, scope) = (self.pick(6), self.pick(4));
        let budget = match self.pick(4) {
            0 => format!(r#","budget":"{}""#, 1 + self.pick(100)),
            _ => String::new(),
        };
        let start = format!(
            r#""start":{{"mode":"fetch","request":{{"method":"GET","url":"https://api.example/x?page={call}","bodySha256":"{nothing}"}},"intent":{{"parent":"{parent}","scope":"{scope}"{budget}}}}}"#
        );
        Some(ended(self.call("clientStart", &start).unwrap()))
    }

    /// What the journal holds, added up anew and in another way: by what was signed, up the parents that the records name.
    pub fn check(&self) {
        let Some((_, (_, wallet))) = self.wallet() else {
            return;
        };
        let wallet = json::parse(wallet).unwrap();
        let places = wallet.get("places").unwrap().as_array().unwrap();
        let parents: BTreeMap<&str, Option<&str>> = places
            .iter()
            .map(|place| {
                (
                    text(place, "intentId"),
                    place.get("parent").map(|id| id.as_str().unwrap()),
                )
            })
            .collect();
        let mut spent: BTreeMap<String, u64> = BTreeMap::new();
        let mut received: BTreeMap<String, u64> = BTreeMap::new();
        for (_, record) in self
            .rows
            .iter()
            .filter(|(key, _)| key.starts_with("intent/"))
            .map(|(_, row)| row)
        {
            let record = json::parse(record).unwrap();
            // Of what was signed under one nonce at most one lands: the largest counts.
            let attempts = record.get("attempts").unwrap().as_array().unwrap();
            let live = attempts
                .iter()
                .filter(|attempt| attempt.get("signature").is_some());
            let values = live.map(|attempt| {
                let signed = attempt.get("authorization").unwrap();
                (
                    text(signed, "value").parse::<u64>().unwrap(),
                    text(signed, "to").to_owned(),
                )
            });
            let Some((most, to)) = values.max() else { continue };
            *received.entry(to).or_default() += most;
            let mut above = Some(text(&record, "intentId"));
            while let Some(id) = above {
                *spent.entry(id.to_owned()).or_default() += most;
                above = parents.get(id).copied().flatten();
            }
        }
        for place in places {
            let id = text(place, "intentId");
            let total = spent.get(id).copied().unwrap_or(0);
            if let Some(budget) = place.get("budget") {
                let budget: u64 = budget.as_str().unwrap().parse().unwrap();
                assert!(total <= budget, "{id} has {total} of {budget}");
            }
            assert!(total <= 150, "the tree of {id} has {total}");
        }
        for (to, total) in &received {
            assert!(*total <= 140, "{to} has {total}");
        }
    }
}

/// The state, and the effect that is waited for.
fn ended(step: Json) -> (Json, Json) {
    let effects = step.get("effects").unwrap().as_array().unwrap();
    (
        step.get("state").unwrap().clone(),
        effects.last().unwrap().clone(),
    )
}
