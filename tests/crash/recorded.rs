//! What a restarted process finds: a recorded journal up to some byte, and a chain on which the payment landed, did not, or
//! lands while nobody looks.

use counterfoil::authorization::Authorization;
use counterfoil::client::record::{Intent, Status};
use counterfoil::json::{self, Json};
use counterfoil::{attempt, digest, hex, journal};

use crate::world::{signed_in, Buyer, Chaos, Cheque, Landed, Signed, World};

/// anvil's public development key, with which the journals were recorded.
const KEY: &str = "0x5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a";
/// When nothing is recorded yet.
const BEGIN: u64 = 1_795_000_000;

/// What became of a payment that may have left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    NeverArrived,
    Landed,
    LandsLater,
}

/// One recorded run.
pub struct Recorded {
    pub name: &'static str,
    pub bytes: &'static [u8],
}

macro_rules! recorded {
    ($($name:literal),*) => {
        [$(Recorded { name: $name, bytes: include_bytes!(concat!("../journals/", $name, ".jsonl")) }),*]
    };
}

pub const RECORDED: [Recorded; 4] = recorded!(
    "delivered",
    "answer-lost",
    "answer-lost-for-good",
    "expired-and-signed-again"
);

impl Recorded {
    /// Where each line ends, its line feed included.
    pub fn ends(&self) -> Vec<usize> {
        let feeds = self.bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
        feeds.map(|(at, _)| at + 1).collect()
    }

    /// The intent as the whole journal holds it.
    fn last(&self) -> Intent {
        intent(self.bytes).expect("a recorded journal holds an intent")
    }

    /// What of this purchase is in a journal of these bytes, read with another JSON reader and by lines alone.
    pub fn lines(&self, count: usize) -> std::collections::BTreeMap<String, (u64, serde_json::Value)> {
        let text = std::str::from_utf8(self.bytes).unwrap();
        let mut keys = std::collections::BTreeMap::new();
        for (at, line) in text.lines().take(count).enumerate() {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            for op in line["ops"].as_array().unwrap() {
                keys.insert(
                    op["key"].as_str().unwrap().to_owned(),
                    (at as u64 + 1, op["put"].clone()),
                );
            }
        }
        keys
    }

    /// The fates that a journal of these bytes leaves open.
    pub fn fates(bytes: &[u8]) -> Vec<Fate> {
        let current = intent(bytes).and_then(|intent| Some((intent.status, intent.current()?.clone())));
        match current {
            Some((Status::Open, last)) if last.state == attempt::State::Sent && last.settlement.is_none() => {
                vec![Fate::NeverArrived, Fate::Landed, Fate::LandsLater]
            }
            Some((_, last)) if matches!(last.state, attempt::State::Sent | attempt::State::Paid) => {
                vec![Fate::Landed]
            }
            _ => vec![Fate::NeverArrived],
        }
    }

    /// The world after a crash that left these bytes; a process has opened them again.
    pub fn world(&self, bytes: &[u8], seed: u64, chaos: Chaos, fate: Fate) -> Result<World, String> {
        let whole = self.last();
        let mut world = World::new(seed, chaos);
        world.buyer = Buyer {
            key: hex::decode_array(KEY).unwrap(),
            secret: digest::sha256(b"crash test"),
            url: whole.request.url.clone(),
            intent: whole.id.clone().unwrap(),
        };
        let terms = &whole.attempts[0].authorization;
        world.sellers[0] = terms.to().to_string();
        world.journals[0].file = bytes.to_vec();
        world.reopen(0)?;
        let found = intent(bytes);
        world.now = found.as_ref().map_or(BEGIN, last_second);
        for attempt in found.iter().flat_map(|intent| &intent.attempts) {
            // What is planned may have been signed in the moment before the crash.
            world.signed.push(Signed {
                worker: 0,
                epoch: 0,
                digest: hex::encode(attempt.authorization.digest().unwrap()),
                valid_before: attempt.valid_before(),
                fee: false,
            });
        }
        let Some(last) = found.as_ref().and_then(Intent::current) else {
            return Ok(world);
        };
        match fate {
            Fate::NeverArrived => {}
            Fate::Landed => {
                let nonce = last.authorization.nonce_text();
                world.transfers = 1;
                world.answers.insert(nonce.clone(), b"goods".to_vec());
                world.landed.insert(
                    nonce,
                    landed(&last.authorization, last.sends[0], last.settled_in()),
                );
            }
            Fate::LandsLater => world.cheques.push(Cheque {
                lands_at: Some(world.now + 5),
                authorization: signed_in(&last.authorization.write(Json::object([]))),
            }),
        }
        Ok(world)
    }
}

fn landed(authorization: &Authorization, at: u64, transaction: Option<String>) -> Landed {
    Landed {
        at,
        to: authorization.to().to_string(),
        value: authorization.value().to_string(),
        transaction: transaction.unwrap_or_else(|| hex::encode(digest::sha256(b"transaction"))),
    }
}

/// The latest second that a record speaks of.
fn last_second(intent: &Intent) -> u64 {
    let attempts = intent.attempts.iter();
    let sends = attempts.flat_map(|attempt| attempt.sends.iter().copied().chain([attempt.planned_at]));
    sends.chain([intent.updated_at]).max().unwrap_or(BEGIN)
}

/// The intent in a journal of these bytes.
pub fn intent(bytes: &[u8]) -> Option<Intent> {
    let opened = journal::open(bytes).unwrap();
    let record = opened
        .entries
        .iter()
        .find(|entry| entry.key.starts_with("intent/"))?;
    let journal::Value::Text(text) = &record.value else {
        panic!("an intent is text");
    };
    let json: Json = json::parse(text).unwrap();
    Some(Intent::from_json(&json).unwrap())
}
