//! A token on a chain whose newest blocks may be replaced, and what two sources say of a nonce. A block a second.

use std::collections::BTreeMap;

use counterfoil::amount::Amount;
use counterfoil::json::{self, Json};
use counterfoil::{digest, hex};

/// Second of block 0.
pub const GENESIS: u64 = 1_780_000_000;
/// So many blocks may still be replaced.
pub const FINAL_LAG: u64 = 60;

const USED: &str = "0x98de503528ee59b575ef0c0a2576a82497bfc029a5685b209e9ec333479b10a5";
const CANCELED: &str = "0x1cdd46ff242716cdaa72d159d339a485b3438398348d68f09d7c8c0a59353d81";
const TRANSFER: &str = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";

/// A signed authorization, in the hands of a seller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cheque {
    pub intent: usize,
    pub asset: String,
    pub payer: String,
    pub nonce: String,
    pub to: String,
    pub value: u64,
    pub after: u64,
    pub before: u64,
}

/// What became of a nonce.
#[derive(Clone, Debug)]
pub struct Slot {
    pub at: u64,
    pub transaction: String,
    /// The transfer; none for a cancellation.
    pub cheque: Option<Cheque>,
}

/// How the second source answers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Second {
    Honest,
    Silent,
    /// It has no logs.
    Empty,
    /// It says the other thing about the nonce.
    Lies,
}

#[derive(Default)]
pub struct Chain {
    /// By token and nonce.
    pub slots: BTreeMap<(String, String), Slot>,
    /// From this second on the blocks are those of this branch.
    branches: Vec<(u64, u64)>,
    pub reorganisations: u64,
}

impl Chain {
    fn hash(&self, second: u64) -> String {
        let on = self.branches.iter().rev().find(|(from, _)| *from <= second);
        let branch = on.map_or(0, |(_, branch)| *branch);
        hex::encode(digest::sha256(format!("{second} {branch}").as_bytes()))
    }

    /// What the token contract does: one use of a nonce, within the window.
    pub fn land(&mut self, cheque: &Cheque, now: u64) -> bool {
        let key = (cheque.asset.clone(), cheque.nonce.clone());
        if self.slots.contains_key(&key) || now >= cheque.before || now <= cheque.after {
            return false;
        }
        self.take(key, now, Some(cheque.clone()));
        true
    }

    /// The payer burns the nonce.
    pub fn cancel(&mut self, asset: &str, nonce: &str, now: u64) {
        let key = (asset.to_owned(), nonce.to_owned());
        if !self.slots.contains_key(&key) {
            self.take(key, now, None);
        }
    }

    fn take(&mut self, key: (String, String), at: u64, cheque: Option<Cheque>) {
        let transaction = hex::encode(digest::sha256(format!("{} {at}", key.1).as_bytes()));
        self.slots.insert(
            key,
            Slot {
                at,
                transaction,
                cheque,
            },
        );
    }

    /// Whether nothing can change about it any more.
    pub fn is_final(&self, at: u64, now: u64) -> bool {
        at + FINAL_LAG <= now
    }

    /// The newest blocks are replaced by empty ones; the cheques that were in them.
    pub fn reorganise(&mut self, depth: u64, now: u64) -> Vec<Cheque> {
        let from = now - depth.min(FINAL_LAG - 1);
        let gone: Vec<_> = self
            .slots
            .iter()
            .filter(|(_, slot)| slot.at >= from)
            .map(|(key, _)| key.clone())
            .collect();
        self.reorganisations += 1;
        self.branches.push((from, self.reorganisations));
        gone.iter()
            .filter_map(|key| self.slots.remove(key)?.cheque)
            .collect()
    }

    /// What two sources say of a nonce at one block; they look back by `lag` seconds.
    pub fn evidence(&self, read: &Json, now: u64, lag: u64, second: Second) -> Vec<Json> {
        let behind = match text(read, "tag").as_str() {
            "finalized" => FINAL_LAG,
            _ => 0,
        };
        let top = now - behind - lag;
        let first = self.source(read, top, Second::Honest);
        vec![first, self.source(read, top, second)]
    }

    fn source(&self, read: &Json, top: u64, how: Second) -> Json {
        if how == Second::Silent {
            return json::parse(r#"{"error":"unreachable"}"#).unwrap();
        }
        let (asset, nonce, payer) = (text(read, "asset"), text(read, "nonce"), text(read, "payer"));
        let found = self.slots.get(&(asset.clone(), nonce.clone()));
        let found = found.filter(|slot| slot.at <= top && how != Second::Lies);
        let number = |second: u64| format!("{:#x}", second - GENESIS);
        let block = format!(
            r#""chainId":"0x14a34","block":{{"number":"{}","hash":"{}","timestamp":"{top:#x}","tag":"{}"}}"#,
            number(top),
            self.hash(top),
            text(read, "tag")
        );
        let permit2 = text(read, "method") == "permit2";
        let (mut set, mut unset) = ([0_u8; 32], [0_u8; 32]);
        if permit2 {
            let bit = Amount::parse(&nonce).unwrap().to_be_bytes()[31];
            set[31 - usize::from(bit / 8)] = 1 << (bit % 8);
        } else {
            set[31] = 1;
        }
        if how == Second::Lies && !self.slots.contains_key(&(asset.clone(), nonce.clone())) {
            std::mem::swap(&mut set, &mut unset);
        }
        let state = if permit2 {
            "nonceBitmap"
        } else {
            "authorizationState"
        };
        let Some(slot) = found else {
            return json::parse(&format!(
                r#"{{{block},"{state}":"{}","logs":[],"logsRange":{{"from":"0x0","to":"{}"}},"receipt":null}}"#,
                hex::encode(unset),
                number(top)
            ))
            .unwrap();
        };
        let pad = |text: &str| format!("0x{:0>64}", text.trim_start_matches("0x").to_ascii_lowercase());
        let (at, hash) = (number(slot.at), self.hash(slot.at));
        let log = |index: u8, topics: &str, data: &str| {
            format!(
                r#"{{"address":"{asset}","topics":[{topics}],"data":"{data}","blockNumber":"{at}","blockHash":"{hash}","transactionHash":"{}","logIndex":"{index:#x}","removed":false}}"#,
                slot.transaction
            )
        };
        let event = if slot.cheque.is_some() { USED } else { CANCELED };
        let used = log(0, &format!(r#""{event}","{}","{nonce}""#, pad(&payer)), "0x");
        let moved = slot.cheque.as_ref().map(|cheque| {
            let topics = format!(r#""{TRANSFER}","{}","{}""#, pad(&payer), pad(&cheque.to));
            log(1, &topics, &pad(&format!("{:x}", cheque.value)))
        });
        let (logs, all) = match (&moved, permit2) {
            (Some(moved), true) => (moved.clone(), moved.clone()),
            (Some(moved), false) => (used.clone(), format!("{used},{moved}")),
            (None, _) => (used.clone(), used),
        };
        let (from, to, within) = match permit2 {
            true => (
                at.clone(),
                at.clone(),
                format!(
                    r#","usedWithin":{{"after":{{"number":"{}","nonceBitmap":"{}"}},"by":{{"number":"{at}","nonceBitmap":"{}"}}}}"#,
                    number(slot.at - 1),
                    hex::encode(unset),
                    hex::encode(set)
                ),
            ),
            false => ("0x0".to_owned(), number(top), String::new()),
        };
        let logs = if how == Second::Empty { "" } else { &logs };
        json::parse(&format!(
            r#"{{{block},"{state}":"{}"{within},"logs":[{logs}],"logsRange":{{"from":"{from}","to":"{to}"}},"receipt":{{"status":"0x1","transactionHash":"{}","blockNumber":"{at}","blockHash":"{hash}","logs":[{all}]}}}}"#,
            hex::encode(set),
            slot.transaction
        ))
        .unwrap()
    }
}

pub fn text(json: &Json, name: &str) -> String {
    json.get(name)
        .and_then(|value| value.as_str().ok())
        .unwrap_or_default()
        .to_owned()
}
