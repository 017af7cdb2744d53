//! A token, a seller, a clock, journals and workers, all driven by one seed.

// Two test programs share this world, and each uses a part of it.
#![allow(dead_code)]

use std::collections::BTreeMap;

use counterfoil::amount::Amount;
use counterfoil::client::{self, Config, Context, Effect, Event, Start, State};
use counterfoil::json::{self, Json};
use counterfoil::{base64, checked, digest, hex, journal, signing};

const TOKEN: &str = "0x036CbD53842c5426634e7929541eC2318f3dCF7e";
const SELLERS: [&str; 2] = [
    "0x209693Bc6afc0C5328bA36FaF03C514EF312287C",
    "0x90F79bf6EB2c4f870365E785982E1f101E93b906",
];
const FEE: &str = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
const USED: &str = "0x98de503528ee59b575ef0c0a2576a82497bfc029a5685b209e9ec333479b10a5";
const TRANSFER: &str = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";
const FINAL_LAG: u64 = 20;

/// How likely each fault is, in percent of its occasions.
#[derive(Clone)]
pub struct Chaos {
    pub workers: usize,
    pub lose_answer: u64,
    pub settle_late: u64,
    pub never_settle: u64,
    pub bad_rpc: u64,
    pub lose_journal: u64,
    pub new_terms: u64,
    pub bad_store: u64,
    pub kill: u64,
    pub rpc: bool,
    /// The seller takes Permit2, and nothing else.
    pub permit2: bool,
    /// The seller asks for a split payment.
    pub split: bool,
    /// Of a split payment one part lands, and the other late or never.
    pub cut_in_two: u64,
}

impl Default for Chaos {
    fn default() -> Self {
        Chaos {
            workers: 1,
            lose_answer: 0,
            settle_late: 0,
            never_settle: 0,
            bad_rpc: 0,
            lose_journal: 0,
            new_terms: 0,
            bad_store: 0,
            kill: 0,
            rpc: true,
            permit2: false,
            split: false,
            cut_in_two: 0,
        }
    }
}

/// Who buys, and what.
pub struct Buyer {
    pub key: [u8; 32],
    pub secret: [u8; 32],
    pub url: String,
    pub intent: String,
}

impl Default for Buyer {
    fn default() -> Self {
        Buyer {
            key: [0x41; 32],
            secret: [7; 32],
            url: "https://api.example/x".to_owned(),
            intent: "order-0000000000000001".to_owned(),
        }
    }
}

pub struct Landed {
    pub at: u64,
    pub to: String,
    pub value: String,
    pub transaction: String,
}

pub struct Cheque {
    pub lands_at: Option<u64>,
    pub authorization: Json,
}

#[derive(Default)]
pub struct Journal {
    pub file: Vec<u8>,
    pub rows: BTreeMap<String, (u64, String)>,
    pub head: Option<journal::Head>,
}

pub struct Signed {
    pub worker: usize,
    pub epoch: u64,
    pub digest: String,
    pub valid_before: u64,
    /// The part of a split payment that is not the seller's.
    pub fee: bool,
}

pub struct World {
    random: u64,
    chaos: Chaos,
    pub buyer: Buyer,
    pub sellers: [String; 2],
    pub now: u64,
    pub landed: BTreeMap<String, Landed>,
    pub transfers: u64,
    pub cheques: Vec<Cheque>,
    pub answers: BTreeMap<String, Vec<u8>>,
    pub journals: Vec<Journal>,
    epochs: Vec<u64>,
    pub signed: Vec<Signed>,
    price: (usize, u64),
    pub keeps_answers: bool,
    story: Vec<String>,
}

enum End {
    Delivered,
    Failed(String),
    Killed,
}

fn text(json: &Json, name: &str) -> String {
    json.get(name)
        .and_then(|value| value.as_str().ok())
        .unwrap_or_default()
        .to_owned()
}

/// The records under these keys, as a journal's rows hold them.
pub fn loaded(rows: &BTreeMap<String, (u64, String)>, keys: &[String]) -> Event {
    let found = keys.iter().filter_map(|key| {
        let (rev, text) = rows.get(key)?;
        Some(client::Record {
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

/// What was signed, as this world keeps it: of a permit the members that mean the same.
pub fn signed_in(holder: &Json) -> Json {
    let Some(permit) = holder.get("permit2Authorization") else {
        return holder.get("authorization").unwrap().clone();
    };
    let (permitted, witness) = (permit.get("permitted").unwrap(), permit.get("witness").unwrap());
    let deadline: u64 = text(permit, "deadline").parse().unwrap();
    Json::object([
        ("from", permit.get("from").unwrap().clone()),
        ("to", witness.get("to").unwrap().clone()),
        ("value", permitted.get("amount").unwrap().clone()),
        ("validAfter", witness.get("validAfter").unwrap().clone()),
        // The deadline is the last second itself.
        ("validBefore", Json::text((deadline + 1).to_string())),
        ("nonce", permit.get("nonce").unwrap().clone()),
    ])
}

/// Every authorization of an attempt or a payment.
fn all_signed_in(holder: &Json) -> Vec<Json> {
    let parts = holder.get("parts").and_then(|parts| parts.as_array().ok());
    let fee = holder.get("feeAuthorization");
    let further = parts.unwrap_or_default().iter().chain(fee);
    core::iter::once(holder).chain(further).map(signed_in).collect()
}

impl World {
    pub fn new(seed: u64, chaos: Chaos) -> World {
        let mut world = World {
            random: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
            journals: (0..chaos.workers).map(|_| Journal::default()).collect(),
            epochs: vec![0; chaos.workers],
            chaos,
            buyer: Buyer::default(),
            sellers: SELLERS.map(str::to_owned),
            now: 1_790_000_000,
            landed: BTreeMap::new(),
            transfers: 0,
            cheques: Vec::new(),
            answers: BTreeMap::new(),
            signed: Vec::new(),
            price: (0, 10_000),
            keeps_answers: true,
            story: Vec::new(),
        };
        world.keeps_answers = world.chance(50);
        world
    }

    pub fn story(&self) -> String {
        self.story.join("\n")
    }

    fn next(&mut self) -> u64 {
        // xorshift64*, enough to pick faults with.
        self.random ^= self.random >> 12;
        self.random ^= self.random << 25;
        self.random ^= self.random >> 27;
        self.random.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.next() % 100 < percent
    }

    fn tell(&mut self, line: impl Into<String>) {
        self.story
            .push(format!("{} {}", self.now - 1_790_000_000, line.into()));
    }

    pub fn pass(&mut self, seconds: u64) {
        self.now += seconds;
        let now = self.now;
        let due: Vec<Json> = self
            .cheques
            .iter_mut()
            .filter(|cheque| cheque.lands_at.is_some_and(|at| at <= now))
            .map(|cheque| {
                cheque.lands_at = None;
                cheque.authorization.clone()
            })
            .collect();
        for authorization in due {
            self.land(&authorization);
        }
    }

    /// What the token contract does: one transfer a nonce, within the window.
    fn land(&mut self, authorization: &Json) -> bool {
        let nonce = text(authorization, "nonce");
        let before: u64 = text(authorization, "validBefore").parse().unwrap();
        let after: u64 = text(authorization, "validAfter").parse().unwrap();
        if self.landed.contains_key(&nonce) || self.now >= before || self.now <= after {
            return false;
        }
        self.transfers += 1;
        let transaction = hex::encode(digest::sha256(nonce.as_bytes()));
        self.tell(format!("token: transfer of {}", text(authorization, "value")));
        self.landed.insert(
            nonce,
            Landed {
                at: self.now,
                to: text(authorization, "to"),
                value: text(authorization, "value"),
                transaction,
            },
        );
        true
    }

    /// One buyer wants one thing and tries until it has it, or the claim for it. Then the books are checked.
    pub fn play(&mut self) -> Result<String, String> {
        let mut ends = vec![None; self.chaos.workers];
        for round in 0..40 {
            for (worker, end) in ends.iter_mut().enumerate() {
                if self.chance(self.chaos.lose_journal) {
                    self.tell(format!("worker {worker}: journal deleted"));
                    self.journals[worker] = Journal::default();
                    self.epochs[worker] += 1;
                    *end = None;
                }
                if end.is_some() {
                    continue;
                }
                self.settle(worker)?;
                match self.call(worker, "fetch", None)? {
                    End::Delivered => *end = Some("delivered".to_owned()),
                    End::Failed(code) if code == "paid_not_delivered" || code == "authorization_used" => {
                        *end = Some("claim".to_owned());
                    }
                    End::Failed(code) if matches!(code.as_str(), "attempts_exhausted" | "partly_paid") => {
                        *end = Some(code);
                    }
                    _ => {}
                }
                self.check()?;
            }
            if ends.iter().all(Option::is_some) && round > 2 {
                break;
            }
            let wait = self.next() % 120;
            self.pass(wait);
        }
        self.pass(100_000);
        for worker in 0..self.chaos.workers {
            self.chaos = Chaos {
                rpc: self.chaos.rpc,
                split: self.chaos.split,
                workers: self.chaos.workers,
                ..Chaos::default()
            };
            self.settle(worker)?;
            self.check()?;
            self.nothing_lost(worker)?;
        }
        Ok(ends[0].clone().unwrap_or_else(|| "open".to_owned()))
    }

    fn check(&self) -> Result<(), String> {
        let fees = self.landed.values().filter(|landed| landed.to == FEE).count() as u64;
        if self.transfers - fees > 1 || fees > 1 {
            return Err(format!("{} transfers for one purchase", self.transfers));
        }
        Ok(())
    }

    /// At the end a settled payment is known to whoever sent it, unless no chain can be read.
    fn nothing_lost(&self, worker: usize) -> Result<(), String> {
        for (key, (_, record)) in &self.journals[worker].rows {
            if !key.starts_with("intent/") {
                continue;
            }
            let record = json::parse(record).map_err(|e| e.to_string())?;
            let sent = |attempt: &Json| text(attempt, "state") == "sent";
            let open = record
                .get("attempts")
                .unwrap()
                .as_array()
                .unwrap()
                .iter()
                .any(sent);
            let status = text(&record, "status");
            if self.chaos.rpc && open {
                return Err(format!(
                    "worker {worker} left an attempt open: {}",
                    record.to_text()
                ));
            }
            let mine = record
                .get("attempts")
                .unwrap()
                .as_array()
                .unwrap()
                .iter()
                .flat_map(all_signed_in)
                .any(|signed| self.landed.contains_key(&text(&signed, "nonce")));
            // On other terms than this worker signed for, another worker's, or only in part: a person's to decide.
            let wrong = record
                .get("attempts")
                .unwrap()
                .as_array()
                .unwrap()
                .iter()
                .any(|a| matches!(text(a, "state").as_str(), "wrong_terms" | "partly_paid"));
            if self.chaos.rpc
                && mine
                && !wrong
                && !matches!(status.as_str(), "delivered" | "paid_not_delivered")
            {
                return Err(format!("worker {worker} lost a settled payment: status {status}"));
            }
        }
        Ok(())
    }

    fn settle(&mut self, worker: usize) -> Result<(), String> {
        let keys: Vec<String> = self.journals[worker].rows.keys().cloned().collect();
        for key in keys {
            if let Some(id) = key.strip_prefix("intent/") {
                self.call(worker, "resume", Some(id))?;
            }
        }
        Ok(())
    }

    fn config(&self) -> Config {
        let readable = if self.chaos.rpc {
            "[\"eip155:84532\"]"
        } else {
            "[]"
        };
        let payer = signing::address_of_key(&self.buyer.key).unwrap();
        let assets = if self.chaos.permit2 {
            format!(r#","assets":[{{"network":"eip155:84532","asset":"{TOKEN}"}}]"#)
        } else {
            String::new()
        };
        let config = format!(
            r#"{{"payer":"{payer}","policy":{{"perCall":"50000","maxWindow":60,"attempts":4{assets}}},"readable":{readable}}}"#
        );
        Config::from_json(&json::parse(&config).unwrap()).unwrap()
    }

    fn call(&mut self, worker: usize, mode: &str, intent: Option<&str>) -> Result<End, String> {
        let start = match intent {
            Some(id) => format!(r#"{{"mode":"{mode}","intentId":"{id}"}}"#),
            None => format!(
                r#"{{"mode":"{mode}","request":{{"method":"GET","url":"{}","bodySha256":"{}"}},"intent":{{"id":"{}"}}}}"#,
                self.buyer.url,
                hex::encode(digest::sha256(b"")),
                self.buyer.intent
            ),
        };
        self.tell(format!("worker {worker}: {mode}"));
        let start = Start::from_json(&json::parse(&start).unwrap()).map_err(|e| e.to_string())?;
        let config = self.config();
        let secret = self.buyer.secret;
        let context = |now| Context {
            config: &config,
            secret: Some(&secret),
            now,
        };
        let mut step = client::start(&start, context(self.now)).map_err(|e| e.to_string())?;
        for _ in 0..200 {
            let mut event = None;
            for effect in std::mem::take(&mut step.effects) {
                if self.chance(self.chaos.kill) {
                    // The effect may have happened and its report may be lost: what was written stays written.
                    let last = matches!(
                        effect,
                        Effect::Alert(_)
                            | Effect::Pass
                            | Effect::Replay { .. }
                            | Effect::Fail(_)
                            | Effect::Done(_)
                    );
                    if !last && self.chance(50) {
                        let _ = self.perform(worker, &effect)?;
                    }
                    self.tell(format!(
                        "worker {worker}: killed at {}",
                        text(&effect.to_json(), "type")
                    ));
                    self.reopen(worker)?;
                    return Ok(End::Killed);
                }
                match effect {
                    Effect::Alert(_) => {}
                    Effect::Pass => return Ok(End::Failed("pass".to_owned())),
                    Effect::Replay { .. } => return Ok(End::Delivered),
                    Effect::Fail(error) => {
                        let code = text(&error, "code");
                        self.tell(format!("worker {worker}: fails, {code}"));
                        if self.transfers > 0 && code == "payment_rejected" && text(&error, "money") == "none"
                        {
                            return Err("money said to be none after a send".to_owned());
                        }
                        return Ok(End::Failed(code));
                    }
                    Effect::Done(resolution) => {
                        let outcome = text(&resolution, "outcome");
                        self.tell(format!("worker {worker}: done, {outcome}"));
                        return Ok(if outcome == "delivered" {
                            End::Delivered
                        } else {
                            End::Failed(outcome)
                        });
                    }
                    other => event = Some(self.perform(worker, &other)?),
                }
            }
            let event = event.ok_or("a step without an effect to wait for")?;
            // The state crosses as a value, as it does between JavaScript and the core.
            let state = step
                .state
                .to_json()
                .and_then(|json| State::from_json(&json))
                .map_err(|e| e.to_string())?;
            if state != step.state {
                return Err("the state changed on its way through JSON".to_owned());
            }
            step = client::step(state, event, context(self.now)).map_err(|e| e.to_string())?;
        }
        Err("the call does not end".to_owned())
    }

    /// A restarted process reads the file, whatever the rows in memory said.
    pub fn reopen(&mut self, worker: usize) -> Result<(), String> {
        let journal = &mut self.journals[worker];
        let opened = journal::open(&journal.file).map_err(|e| e.to_string())?;
        // As the file store does: a torn tail is cut off, a missing line feed is added.
        journal.file.truncate(opened.head.length as usize);
        if opened.needs_newline {
            journal.file.push(b'\n');
        }
        journal.rows = opened
            .entries
            .into_iter()
            .map(|entry| match entry.value {
                journal::Value::Text(text) => (entry.key, (entry.rev, text)),
                journal::Value::Bytes(_) => unreachable!("the machine writes text"),
            })
            .collect();
        journal.head = Some(opened.head);
        Ok(())
    }

    fn perform(&mut self, worker: usize, effect: &Effect) -> Result<Event, String> {
        let spent = self.next() % 3;
        self.pass(spent);
        Ok(match effect {
            Effect::Load(keys) => loaded(&self.journals[worker].rows, keys),
            Effect::Persist(writes) => self.persist(worker, writes)?,
            Effect::Sign(what) => self.sign(worker, what)?,
            Effect::Send(None) => self.quote(),
            Effect::Send(Some(header)) => self.sell(worker, header)?,
            Effect::ReadChain(read) => Event::Evidence(vec![self.evidence(read)]),
            Effect::Wait(seconds) => {
                self.pass(*seconds);
                Event::Waited
            }
            Effect::Ask(_) => Event::Approved(false),
            Effect::Deliver(_) => Event::Body(Box::new(client::Body {
                status: 200,
                headers: Json::object([]),
                sha256: hex::encode(digest::sha256(b"goods")),
                length: 5,
                stored: Some(base64::encode(b"goods")),
                complete: !self.chance(self.chaos.lose_answer / 2),
            })),
            other => return Err(format!("nothing to perform: {other:?}")),
        })
    }

    fn persist(&mut self, worker: usize, writes: &[client::Write]) -> Result<Event, String> {
        if self.chance(self.chaos.bad_store) {
            return Ok(Event::PersistFailed(counterfoil::error::Code::JournalUnavailable));
        }
        let journal = &mut self.journals[worker];
        if writes
            .iter()
            .any(|write| journal.rows.get(&write.key).map(|(rev, _)| *rev) != write.expect)
        {
            return Ok(Event::Conflict);
        }
        let ops: Vec<journal::Op> = writes
            .iter()
            .map(|write| journal::Op {
                key: write.key.clone(),
                put: Some(journal::Value::Text(write.put.clone())),
            })
            .collect();
        let head = journal.head.clone().unwrap_or(journal::Head::EMPTY);
        let (line, head) = journal::append(&head, &ops).map_err(|e| e.to_string())?;
        journal.file.extend(line.as_bytes());
        for write in writes {
            journal
                .rows
                .insert(write.key.clone(), (head.seq, write.put.clone()));
        }
        let revs = writes.iter().map(|write| (write.key.clone(), head.seq)).collect();
        journal.head = Some(head);
        Ok(Event::Persisted(revs))
    }

    /// The signer keeps a list of its own: while one digest can land, no other is signed from the same journal.
    fn sign(&mut self, worker: usize, what: &Json) -> Result<Event, String> {
        let digest = text(what, "digest");
        let authorization = &signed_in(what);
        let valid_before: u64 = text(authorization, "validBefore").parse().unwrap();
        let planned = self.journals[worker]
            .rows
            .values()
            .any(|(_, record)| record.contains(&text(authorization, "nonce")));
        if !planned {
            return Err("asked to sign what is not written down".to_owned());
        }
        let epoch = self.epochs[worker];
        let fee = text(authorization, "to") == FEE;
        let live = self.signed.iter().find(|signed| {
            signed.worker == worker
                && signed.epoch == epoch
                && signed.digest != digest
                && signed.fee == fee
                && self.now < signed.valid_before
        });
        if live.is_some() {
            return Err("a second digest was signed while the first can land".to_owned());
        }
        self.signed.push(Signed {
            worker,
            epoch,
            digest: digest.clone(),
            valid_before,
            fee,
        });
        let bytes = checked::sign_digest(&hex::decode_array(&digest).unwrap(), &self.buyer.key)
            .map_err(|e| e.to_string())?;
        Ok(Event::Signed(hex::encode(bytes)))
    }

    fn answer(&self, json: String) -> Event {
        let answer = json::parse(&json)
            .and_then(|json| counterfoil::outcome::Answer::from_json(&json))
            .unwrap();
        Event::Answer {
            answer: Box::new(answer),
            redirected: false,
        }
    }

    fn required(&mut self) -> String {
        if self.chance(self.chaos.new_terms) {
            self.price = ((self.next() % 2) as usize, 10_000 + self.next() % 3);
        }
        let (seller, amount) = self.price;
        let method = if self.chaos.permit2 {
            r#","assetTransferMethod":"permit2""#
        } else {
            ""
        };
        let split = match self.chaos.split {
            true => format!(
                r#","fee_split":{{"v":1,"fee_to":"{FEE}","fee_amount":"300","merchant_amount":"{}"}}"#,
                amount - 300
            ),
            false => String::new(),
        };
        let price = format!(
            r#"{{"x402Version":2,"resource":{{"url":"https://api.example/x"}},"accepts":[{{"scheme":"exact","network":"eip155:84532","amount":"{amount}","asset":"{TOKEN}","payTo":"{}","maxTimeoutSeconds":60,"extra":{{"name":"USDC","version":"2"{method}{split}}}}}]}}"#,
            self.sellers[seller]
        );
        base64::encode(price.as_bytes())
    }

    fn quote(&mut self) -> Event {
        if self.chance(self.chaos.lose_answer / 2) {
            return self.answer(r#"{"transport":"reset"}"#.to_owned());
        }
        let required = self.required();
        self.answer(format!(
            r#"{{"status":402,"headers":{{"payment-required":"{required}"}},"body":"{{}}"}}"#
        ))
    }

    fn sell(&mut self, worker: usize, header: &Json) -> Result<Event, String> {
        let value = text(header, "value");
        // Law 1: nothing leaves that the file does not hold.
        let durable = String::from_utf8_lossy(&self.journals[worker].file).contains(&value);
        if !durable {
            return Err("bytes were sent that the journal does not hold".to_owned());
        }
        let payload = json::parse_bytes(&base64::decode_header(&value).map_err(|e| e.to_string())?).unwrap();
        let parts = all_signed_in(payload.get("payload").unwrap());
        let nonce = text(&parts[0], "nonce");
        let lost = self.chance(self.chaos.lose_answer);
        if self.answers.contains_key(&nonce) {
            self.tell("seller: has delivered that before");
            return Ok(match (self.keeps_answers, lost) {
                (_, true) => self.answer(r#"{"transport":"reset"}"#.to_owned()),
                (true, _) => self.delivered(&nonce),
                (false, _) => self.refused("invalid_exact_evm_nonce_already_used"),
            });
        }
        if self.chance(self.chaos.never_settle) {
            self.tell("seller: takes the cheque and does not cash it");
            return Ok(if lost {
                self.answer(r#"{"transport":"timeout"}"#.to_owned())
            } else {
                self.refused("busy")
            });
        }
        if self.chance(self.chaos.settle_late) {
            let at = self.now + self.next() % 90;
            self.tell("seller: cashes later");
            for authorization in parts {
                self.cheques.push(Cheque {
                    lands_at: Some(at),
                    authorization,
                });
            }
            return Ok(self.answer(r#"{"status":500,"body":"oops"}"#.to_owned()));
        }
        if parts.len() > 1 && self.chance(self.chaos.cut_in_two) {
            let first = (self.next() % 2) as usize;
            self.tell("seller: one part alone lands now");
            self.land(&parts[first]);
            let late = self.next() % 180;
            self.cheques.push(Cheque {
                lands_at: Some(self.now + late),
                authorization: parts[1 - first].clone(),
            });
            return Ok(self.answer(r#"{"status":500,"body":"oops"}"#.to_owned()));
        }
        let landed: Vec<bool> = parts.iter().map(|part| self.land(part)).collect();
        if landed.contains(&false) {
            return Ok(self.refused("invalid_exact_evm_nonce_already_used"));
        }
        self.answers.insert(nonce.clone(), b"goods".to_vec());
        Ok(if lost {
            self.answer(r#"{"transport":"reset"}"#.to_owned())
        } else {
            self.delivered(&nonce)
        })
    }

    fn delivered(&self, nonce: &str) -> Event {
        let landed = &self.landed[nonce];
        let settlement = base64::encode(
            format!(
                r#"{{"success":true,"transaction":"{}","network":"eip155:84532"}}"#,
                landed.transaction
            )
            .as_bytes(),
        );
        self.answer(format!(
            r#"{{"status":200,"headers":{{"payment-response":"{settlement}"}}}}"#
        ))
    }

    fn refused(&mut self, error: &str) -> Event {
        let required = self.required();
        self.answer(format!(
            r#"{{"status":402,"headers":{{"payment-required":"{required}"}},"body":"{{\"error\":\"{error}\"}}"}}"#
        ))
    }

    /// What an honest RPC says of a nonce, or what a bad one does.
    fn evidence(&mut self, read: &Json) -> Json {
        let bad = self.chance(self.chaos.bad_rpc);
        if bad && self.chance(50) {
            return json::parse(r#"{"error":"unreachable"}"#).unwrap();
        }
        let tag = text(read, "tag");
        let block_time = if tag == "finalized" {
            self.now - FINAL_LAG
        } else {
            self.now
        };
        let number = format!("{:#x}", block_time - 1_780_000_000);
        let hash = hex::encode(digest::sha256(number.as_bytes()));
        let block =
            format!(r#"{{"number":"{number}","hash":"{hash}","timestamp":"{block_time:#x}","tag":"{tag}"}}"#);
        let nonce = text(read, "nonce");
        let used = self
            .landed
            .get(&nonce)
            .filter(|landed| landed.at <= block_time && !bad);
        if text(read, "method") == "permit2" {
            return self.bitmap_evidence(&nonce, used, &block, block_time - 1_780_000_000);
        }
        let word = hex::encode([&[0; 31][..], &[u8::from(used.is_some())]].concat());
        let range = format!(r#"{{"from":"0x0","to":"{number}"}}"#);
        let Some(landed) = used else {
            return json::parse(&format!(
                r#"{{"chainId":"0x14a34","block":{block},"authorizationState":"{word}","logs":[],"logsRange":{range},"receipt":null}}"#
            ))
            .unwrap();
        };
        let pad = |address: &str| format!("0x{:0>64}", address.trim_start_matches("0x").to_ascii_lowercase());
        let payer = signing::address_of_key(&self.buyer.key).unwrap().to_string();
        let at = format!("{:#x}", landed.at - 1_780_000_000);
        let block_hash = hex::encode(digest::sha256(at.as_bytes()));
        let transaction = &landed.transaction;
        let place = |index: u64| {
            format!(
                r#""address":"{TOKEN}","blockNumber":"{at}","blockHash":"{block_hash}","transactionHash":"{transaction}","transactionIndex":"0x0","logIndex":"{index:#x}","removed":false"#
            )
        };
        let log = format!(
            r#"{{{},"topics":["{USED}","{}","{nonce}"],"data":"0x"}}"#,
            place(0),
            pad(&payer)
        );
        let value = format!("{:#x}", landed.value.parse::<u64>().unwrap());
        let transfer = format!(
            r#"{{{},"topics":["{TRANSFER}","{}","{}"],"data":"{}"}}"#,
            place(1),
            pad(&payer),
            pad(&landed.to),
            pad(&value)
        );
        json::parse(&format!(
            r#"{{"chainId":"0x14a34","block":{block},"authorizationState":"{word}","logs":[{log}],"logsRange":{range},"receipt":{{"status":"0x1","transactionHash":"{transaction}","blockNumber":"{at}","blockHash":"{block_hash}","transactionIndex":"0x0","logs":[{log},{transfer}]}}}}"#
        ))
        .unwrap()
    }

    /// The same of a nonce of Permit2: its word of the bitmap, and the block in which the bit was set.
    fn bitmap_evidence(&self, nonce: &str, used: Option<&Landed>, block: &str, top: u64) -> Json {
        let bit = Amount::parse(nonce).unwrap().to_be_bytes()[31];
        let mut set = [0_u8; 32];
        set[31 - usize::from(bit / 8)] = 1 << (bit % 8);
        let (set, unset) = (hex::encode(set), hex::encode([0_u8; 32]));
        let Some(landed) = used else {
            return json::parse(&format!(
                r#"{{"chainId":"0x14a34","block":{block},"nonceBitmap":"{unset}","logs":[],"logsRange":{{"from":"0x0","to":"{top:#x}"}},"receipt":null}}"#
            ))
            .unwrap();
        };
        let pad = |text: &str| format!("0x{:0>64}", text.trim_start_matches("0x").to_ascii_lowercase());
        let payer = signing::address_of_key(&self.buyer.key).unwrap().to_string();
        let at = landed.at - 1_780_000_000;
        let (before, at) = (format!("{:#x}", at - 1), format!("{at:#x}"));
        let block_hash = hex::encode(digest::sha256(at.as_bytes()));
        let transaction = &landed.transaction;
        let value = format!("{:#x}", landed.value.parse::<u64>().unwrap());
        let log = format!(
            r#"{{"address":"{TOKEN}","blockNumber":"{at}","blockHash":"{block_hash}","transactionHash":"{transaction}","logIndex":"0x1","removed":false,"topics":["{TRANSFER}","{}","{}"],"data":"{}"}}"#,
            pad(&payer),
            pad(&landed.to),
            pad(&value)
        );
        json::parse(&format!(
            r#"{{"chainId":"0x14a34","block":{block},"nonceBitmap":"{set}","usedWithin":{{"after":{{"number":"{before}","nonceBitmap":"{unset}"}},"by":{{"number":"{at}","nonceBitmap":"{set}"}}}},"logs":[{log}],"logsRange":{{"from":"{at}","to":"{at}"}},"receipt":{{"status":"0x1","transactionHash":"{transaction}","blockNumber":"{at}","blockHash":"{block_hash}","logs":[{log}]}}}}"#
        ))
        .unwrap()
    }
}
