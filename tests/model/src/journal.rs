//! Journals as values: what one holds, written all or nothing, and read once for the laws.

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use counterfoil::attempt::{self, Attempt, Slot};
use counterfoil::client::record::{self, Intent, Status, Wallet};
use counterfoil::client::{Event, Record, Write};

use crate::chain::Book;

/// One journal. Its number in the store stands for it everywhere else.
pub type JournalId = u32;

/// A signed attempt, as the journal has it.
pub struct Signed {
    pub intent: String,
    pub cheque: u8,
    pub state: attempt::State,
    pub held: bool,
}

/// Every row, and what the laws ask of them.
pub struct Rows {
    pub seq: u64,
    pub rows: BTreeMap<String, (u64, String)>,
    pub intents: Vec<Intent>,
    pub wallet: Wallet,
    pub signed: Vec<Signed>,
}

impl Rows {
    pub fn intent(&self, intent_id: &str) -> Option<&Intent> {
        self.intents.iter().find(|intent| intent.intent_id == intent_id)
    }
}

/// Rows by key, each with its revision.
type Content = BTreeMap<String, (u64, String)>;

/// Every journal content that was met, each once.
pub struct Journals {
    all: Vec<Rc<Rows>>,
    known: HashMap<(u64, Content), JournalId>,
}

impl Journals {
    /// With the empty journal as number 0.
    pub fn new(book: &mut Book) -> Journals {
        let mut journals = Journals {
            all: Vec::new(),
            known: HashMap::new(),
        };
        journals.enter(0, BTreeMap::new(), book);
        journals
    }

    pub fn get(&self, id: JournalId) -> Rc<Rows> {
        Rc::clone(&self.all[id as usize])
    }

    pub fn load(&self, id: JournalId, keys: &[String]) -> Event {
        let rows = &self.all[id as usize].rows;
        let found = keys.iter().filter_map(|key| {
            let (rev, text) = rows.get(key)?;
            Some(Record {
                key: key.clone(),
                rev: *rev,
                text: text.clone(),
            })
        });
        Event::Loaded {
            records: found.collect(),
            since: None,
        }
    }

    /// The journal after these writes; `None` when a key has moved.
    pub fn write(&mut self, id: JournalId, writes: &[Write], book: &mut Book) -> Option<JournalId> {
        let before = self.get(id);
        let stands = |write: &Write| before.rows.get(&write.key).map(|(rev, _)| *rev) == write.expect;
        if !writes.iter().all(stands) {
            return None;
        }
        let seq = before.seq + 1;
        let mut rows = before.rows.clone();
        for write in writes {
            rows.insert(write.key.clone(), (seq, write.put.clone()));
        }
        Some(self.enter(seq, rows, book))
    }

    fn enter(&mut self, seq: u64, rows: BTreeMap<String, (u64, String)>, book: &mut Book) -> JournalId {
        let key = (seq, rows);
        if let Some(id) = self.known.get(&key) {
            return *id;
        }
        let id = JournalId::try_from(self.all.len()).expect("few journals");
        self.all.push(Rc::new(read(seq, key.1.clone(), book)));
        self.known.insert(key, id);
        id
    }
}

fn read(seq: u64, rows: BTreeMap<String, (u64, String)>, book: &mut Book) -> Rows {
    let (mut intents, mut wallet) = (Vec::new(), Wallet::default());
    for (key, (_, text)) in &rows {
        if key.starts_with("intent/") {
            intents.push(record::from_text(text, Intent::from_json).expect("an intent"));
        } else if key.starts_with("wallet/") {
            wallet = record::from_text(text, Wallet::from_json).expect("a wallet");
        }
    }
    let mut signed = Vec::new();
    for intent in &intents {
        for attempt in &intent.attempts {
            let reservation = format!("{}#{}", intent.intent_id, attempt.generation);
            let cheques = book.enter(intent, attempt);
            signed.extend(
                cheques
                    .into_iter()
                    .zip(attempt.slots())
                    .map(|(cheque, slot)| Signed {
                        intent: intent.intent_id.clone(),
                        cheque,
                        state: state_of(attempt, &slot),
                        held: wallet.entries.iter().any(|entry| entry.id == reservation),
                    }),
            );
        }
    }
    Rows {
        seq,
        rows,
        intents,
        wallet,
        signed,
    }
}

/// What the record says of one part: of a payment that moved in part, each for itself.
fn state_of(attempt: &Attempt, slot: &Slot) -> attempt::State {
    let verdict = slot
        .verdict
        .and_then(|verdict| verdict.get("verdict")?.as_str().ok());
    match (attempt.state, verdict) {
        (attempt::State::PartlyPaid, Some("paid")) => attempt::State::Paid,
        (attempt::State::PartlyPaid, _) => attempt::State::Dead,
        (state, _) => state,
    }
}

/// Paid, as the journal says, and not delivered: then a claim must stand there.
pub fn claim_missing(intent: &Intent) -> bool {
    let paid = intent
        .attempts
        .iter()
        .any(|attempt| attempt.state == attempt::State::Paid);
    let owed = intent.status == Status::PaidNotDelivered || (intent.status == Status::Released && paid);
    owed && intent.claim.is_none()
}
