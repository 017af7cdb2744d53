//! The token: signed cheques, one slot a nonce, blocks of which the last may be replaced, and what an RPC says of them.

use std::collections::HashMap;

use counterfoil::attempt::Attempt;
use counterfoil::client::record::Intent;
use counterfoil::json::{self, Json};
use counterfoil::mpp::credential;
use counterfoil::{base64, digest, hex};

/// Second at which every world begins.
pub const START: u64 = 1_790_000_000;
/// So many nonces fit into one world.
pub const SLOTS: usize = 6;

const USED: &str = "0x98de503528ee59b575ef0c0a2576a82497bfc029a5685b209e9ec333479b10a5";
const CANCELED: &str = "0x1cdd46ff242716cdaa72d159d339a485b3438398348d68f09d7c8c0a59353d81";
const TRANSFER: &str = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";

/// A signed authorization as it stands in a header: whoever holds the bytes can bring it to the token.
#[derive(Clone, Debug)]
pub struct Cheque {
    pub intent: String,
    pub attempt: String,
    /// Which part of a split payment.
    pub part: usize,
    /// The nonce is a challenge's.
    pub dictated: bool,
    pub nonce: u8,
    pub after: u64,
    pub before: u64,
    pub to: String,
    pub value: u64,
    pub asset: String,
}

/// What became of a nonce, and in which block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Slot {
    pub block: u8,
    pub by: By,
}

/// Who closed a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum By {
    /// A transfer, by this cheque.
    Cheque(u8),
    /// The payer.
    Cancelled,
}

/// The chain as it stands. Blocks are numbered by the time points of the setting; `head` may be replaced while it is not
/// final, and then what it held is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Chain {
    pub head: u8,
    pub last_final: u8,
    /// Blocks from here on stand on the second branch.
    pub branch: Option<u8>,
    pub slots: [Option<Slot>; SLOTS],
}

impl Chain {
    /// A final block without anything, and an open one.
    pub const FIRST: Chain = Chain {
        head: 1,
        last_final: 0,
        branch: None,
        slots: [None; SLOTS],
    };

    /// The next block; the one two before it is final from now on.
    pub fn grow(&mut self) {
        self.head += 1;
        self.last_final = self.last_final.max(self.head - 2);
    }

    /// Another block takes the place of the last, and what that held is undone. False when it is final.
    pub fn reorganise(&mut self) -> bool {
        if self.head <= self.last_final + 1 {
            return false;
        }
        for slot in &mut self.slots {
            if slot.is_some_and(|slot| slot.block == self.head) {
                *slot = None;
            }
        }
        self.branch = Some(self.head);
        self.head -= 1;
        true
    }
}

/// One read: which block, what it says of the nonce, and how the RPC behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct View {
    pub is_final: bool,
    pub block: u8,
    pub second_branch: bool,
    pub nonce: u8,
    pub slot: Option<Slot>,
    pub slot_second_branch: bool,
    pub read: Read,
}

/// How an RPC answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Read {
    /// As it is.
    Honest,
    /// As it was some blocks ago.
    Stale,
    /// Not at all.
    Silent,
    /// `null` for the block.
    Null,
    /// The state, and `[]` for logs whatever they are.
    Empty,
    /// The state, and no logs.
    NoLogs,
    /// As it is, for another chain.
    WrongChain,
    /// Unused, with all the marks of truth.
    Liar,
    /// The newest block under the name of a final one.
    FalselyFinal,
}

/// The cheques and nonces met so far.
#[derive(Default)]
pub struct Book {
    pub cheques: Vec<Cheque>,
    by_header: HashMap<String, Vec<u8>>,
    nonces: Vec<(String, String)>,
}

fn text(json: &Json, name: &str) -> String {
    json.get(name)
        .and_then(|value| value.as_str().ok())
        .unwrap_or_default()
        .to_owned()
}

fn number(json: &Json, name: &str) -> u64 {
    text(json, name).parse().expect("a decimal")
}

impl Book {
    /// Enters a signed attempt, read as a seller reads it: from the bytes of its header. One cheque for each authorization.
    pub fn enter(&mut self, intent: &Intent, attempt: &Attempt) -> Vec<u8> {
        let Some(header) = attempt.header.as_ref().map(|header| &header.value) else {
            return Vec::new();
        };
        if let Some(known) = self.by_header.get(header) {
            return known.clone();
        }
        let dictated = credential::parse(header)
            .ok()
            .map(|credential| credential.payload);
        let (payloads, asset) = match &dictated {
            Some(payload) => (vec![payload.clone()], attempt.authorization.asset().to_string()),
            None => {
                let payment =
                    json::parse_bytes(&base64::decode_header(header).expect("base64")).expect("JSON");
                let payload = payment.get("payload").expect("a payment");
                let of = |json: &Json| json.get("authorization").cloned();
                let parts = [Some(payload), payload.get("feeAuthorization")];
                let signed = parts.into_iter().flatten().filter_map(of).collect();
                (signed, text(payment.get("accepted").expect("version 2"), "asset"))
            }
        };
        let mut found = Vec::new();
        for (part, authorization) in payloads.iter().enumerate() {
            let nonce = self.nonce(&asset, &text(authorization, "nonce"));
            let at = u8::try_from(self.cheques.len()).expect("few cheques");
            assert!(at < 64, "the bits of a world name 64 cheques");
            self.cheques.push(Cheque {
                intent: intent.intent_id.clone(),
                attempt: attempt.attempt_id.clone(),
                part,
                dictated: dictated.is_some(),
                nonce,
                after: number(authorization, "validAfter"),
                before: number(authorization, "validBefore"),
                to: text(authorization, "to"),
                value: number(authorization, "value"),
                asset: asset.clone(),
            });
            found.push(at);
        }
        self.by_header.insert(header.clone(), found.clone());
        found
    }

    /// The cheques of these bytes, when a journal has held them.
    pub fn cheques_of(&self, header: &str) -> Option<Vec<u8>> {
        self.by_header.get(header).cloned()
    }

    /// The slot of a nonce.
    pub fn nonce(&mut self, asset: &str, nonce: &str) -> u8 {
        let known = (asset.to_ascii_lowercase(), nonce.to_owned());
        let at = self
            .nonces
            .iter()
            .position(|slot| *slot == known)
            .unwrap_or_else(|| {
                self.nonces.push(known);
                assert!(self.nonces.len() <= SLOTS, "more nonces than slots");
                self.nonces.len() - 1
            });
        u8::try_from(at).expect("few nonces")
    }

    /// How many slots are in use.
    pub fn nonces(&self) -> usize {
        self.nonces.len()
    }

    pub fn of(&self, cheque: u8) -> &Cheque {
        &self.cheques[usize::from(cheque)]
    }

    /// The answers that stand behind a view, as a host hands them over.
    pub fn evidence(&self, view: &View, time: u64, payer: &str) -> Json {
        match view.read {
            Read::Silent => return Json::object([("error", Json::text("unreachable"))]),
            Read::Null => return json::parse(r#"{"chainId":"0x14a34","block":null}"#).expect("JSON"),
            _ => {}
        }
        let (asset, nonce) = &self.nonces[usize::from(view.nonce)];
        let chain = if view.read == Read::WrongChain {
            "0x1"
        } else {
            "0x14a34"
        };
        let (at, hash) = block(view.block, view.second_branch);
        let tag = if view.is_final { "finalized" } else { "latest" };
        let slot = view
            .slot
            .filter(|slot| slot.block <= view.block && view.read != Read::Liar);
        let word = hex::encode([&[0; 31][..], &[u8::from(slot.is_some())]].concat());
        let head = format!(
            r#""chainId":"{chain}","block":{{"number":"{at}","hash":"{hash}","timestamp":"{time:#x}","tag":"{tag}"}},"authorizationState":"{word}""#
        );
        let range = format!(r#""logsRange":{{"from":"0x0","to":"{at}"}}"#);
        let (logs, receipt) = match slot {
            Some(slot) => self.told(slot, view.slot_second_branch, asset, nonce, payer),
            None => (String::new(), "null".to_owned()),
        };
        let rest = match view.read {
            Read::NoLogs => String::new(),
            Read::Empty => format!(r#","logs":[],{range},"receipt":null"#),
            _ => format!(r#","logs":[{logs}],{range},"receipt":{receipt}"#),
        };
        json::parse(&format!("{{{head}{rest}}}")).expect("JSON")
    }

    /// The nonce's log, and the receipt of its transaction.
    fn told(&self, slot: Slot, second: bool, asset: &str, nonce: &str, payer: &str) -> (String, String) {
        let (at, hash) = block(slot.block, second);
        // The same transaction may stand in another block after a reorganisation.
        let transaction = hex::encode(digest::sha256(format!("{nonce} {:?}", slot.by).as_bytes()));
        let log = |index: u8, topics: &str, data: &str| {
            format!(
                r#"{{"address":"{asset}","blockNumber":"{at}","blockHash":"{hash}","transactionHash":"{transaction}","transactionIndex":"0x0","logIndex":"{index:#x}","removed":false,"topics":[{topics}],"data":"{data}"}}"#
            )
        };
        let word = |hexadecimal: &str| {
            format!(
                "0x{:0>64}",
                hexadecimal.trim_start_matches("0x").to_ascii_lowercase()
            )
        };
        let kind = if slot.by == By::Cancelled { CANCELED } else { USED };
        let own = log(0, &format!(r#""{kind}","{}","{nonce}""#, word(payer)), "0x");
        let mut all = own.clone();
        if let By::Cheque(cheque) = slot.by {
            let cheque = self.of(cheque);
            let topics = format!(r#""{TRANSFER}","{}","{}""#, word(payer), word(&cheque.to));
            all = format!("{own},{}", log(1, &topics, &word(&format!("{:x}", cheque.value))));
        }
        let receipt = format!(
            r#"{{"status":"0x1","transactionHash":"{transaction}","blockNumber":"{at}","blockHash":"{hash}","transactionIndex":"0x0","logs":[{all}]}}"#
        );
        (own, receipt)
    }
}

/// Number and hash of a block.
fn block(at: u8, second_branch: bool) -> (String, String) {
    let hash = digest::sha256(format!("block {at} {second_branch}").as_bytes());
    (format!("{:#x}", u64::from(at) + 100), hex::encode(hash))
}
