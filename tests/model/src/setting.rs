//! One small world: who buys what, what can go wrong and how often. Everything in it is finite, so all of it is explored.

use counterfoil::client::Start;
use counterfoil::digest;
use counterfoil::hex;
use counterfoil::json;

use crate::chain::{Read, START};
use crate::seller::{Answer, Quote, OTHER_TOKEN, TOKEN};

/// A call that a worker makes when it has nothing else to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Call {
    /// Buys request `request` under the explicit id `id`.
    Fetch { id: u8, request: u8 },
    /// Buys request `request` without an id.
    Unnamed { request: u8 },
    /// Settles an intent of the journal.
    Resume,
    /// Releases an intent of the journal.
    Release,
}

impl Call {
    /// How the machine is told; `intent` for the calls on an intent of the journal.
    pub fn start(self, intent: &str) -> Start {
        let request = |request: u8| {
            let empty = hex::encode(digest::sha256(b""));
            format!(
                r#""request":{{"method":"GET","url":"https://api.example/x{request}","bodySha256":"{empty}"}}"#
            )
        };
        let start = match self {
            Call::Fetch { id, request: of } => {
                format!(
                    r#"{{"mode":"fetch",{},"intent":{{"id":"order-000000000000000{id}"}}}}"#,
                    request(of)
                )
            }
            Call::Unnamed { request: of } => format!(r#"{{"mode":"fetch",{}}}"#, request(of)),
            Call::Resume => format!(r#"{{"mode":"resume","intentId":"{intent}"}}"#),
            Call::Release => format!(r#"{{"mode":"release","intentId":"{intent}","reason":"given up"}}"#),
        };
        json::parse(&start)
            .and_then(|json| Start::from_json(&json))
            .expect("a start")
    }

    /// Whether it is about an intent that the journal holds already.
    pub fn of_journal(self) -> bool {
        matches!(self, Call::Resume | Call::Release)
    }
}

/// A worker: the journal it writes, and the calls it makes, one after the other.
#[derive(Clone, Debug)]
pub struct Worker {
    pub journal: usize,
    pub calls: &'static [Call],
}

/// What can still go wrong, and how often.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Faults {
    /// A process dies, before or after any effect.
    pub crashes: u8,
    /// A journal is lost, and the processes that write it with it.
    pub losses: u8,
    /// The last block is replaced.
    pub reorgs: u8,
    /// The payer burns a nonce.
    pub cancels: u8,
    /// A write or a signer fails, a caller gives up, an answer breaks off.
    pub slips: u8,
}

/// A world to explore.
#[derive(Clone, Debug)]
pub struct Setting {
    pub name: &'static str,
    /// Only explored when the long runs are asked for.
    pub long: bool,
    pub workers: Vec<Worker>,
    /// Readings of the workers' clock, in seconds after the start.
    pub clock: &'static [u64],
    /// Times of the blocks after the first, likewise. No block is ahead of the clock.
    pub blocks: &'static [u64],
    pub quotes: &'static [Quote],
    pub answers: &'static [Answer],
    pub reads: &'static [Read],
    pub readable: bool,
    pub resends: u8,
    pub attempts: u8,
    /// What the wallet may spend.
    pub cap: Option<u64>,
    pub faults: Faults,
}

impl Setting {
    /// The payer's settings, without the payer.
    pub fn config(&self) -> String {
        let readable = if self.readable {
            r#"["eip155:84532"]"#
        } else {
            "[]"
        };
        let cap = self.cap.map_or(String::new(), |cap| {
            format!(r#","perWallet":[{{"amount":"{cap}","window":86400}}]"#)
        });
        format!(
            r#"{{"policy":{{"perCall":"50000","maxWindow":60,"attempts":{},"assets":[{{"network":"eip155:84532","asset":"{TOKEN}"}},{{"network":"eip155:84532","asset":"{OTHER_TOKEN}"}}]{cap}}},"readable":{readable},"resends":{}}}"#,
            self.attempts, self.resends
        )
    }

    /// The time at a reading of the clock; the one past the last is far in the future.
    pub fn now(&self, reading: u8) -> u64 {
        let last = START + FAR_AHEAD;
        self.clock
            .get(usize::from(reading))
            .map_or(last, |seconds| START + seconds)
    }

    /// The reading that is far in the future.
    pub fn far(&self) -> u8 {
        u8::try_from(self.clock.len()).expect("few readings")
    }

    /// The time of a block: long before the start for the first; two far in the future for those past the last.
    pub fn block_time(&self, block: u8) -> u64 {
        match usize::from(block).checked_sub(1) {
            None => START - 1_000,
            Some(at) => match self.blocks.get(at) {
                Some(seconds) => START + seconds,
                None => START + FAR_AHEAD - 10 + (at - self.blocks.len()) as u64,
            },
        }
    }

    /// The last block of those that grow by themselves.
    pub fn last_block(&self) -> u8 {
        u8::try_from(self.blocks.len()).expect("few blocks")
    }

    /// Whether a single journal knows everything that this payer signs.
    pub fn one_memory(&self) -> bool {
        self.faults.losses == 0 && self.workers.iter().all(|worker| worker.journal == 0)
    }

    /// Whether an RPC tells coherent lies here: then the nonce alone protects.
    pub fn lied_to(&self) -> bool {
        self.reads
            .iter()
            .any(|read| matches!(read, Read::Liar | Read::FalselyFinal))
    }
}

/// Past every window and every retention.
const FAR_AHEAD: u64 = 10_000_000;
