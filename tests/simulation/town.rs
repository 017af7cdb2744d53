//! A town: many buyers and shops, workers who share a journal and workers who have their own, a chain that is reorganised, and
//! every fault at once. One step is one effect of one worker; the laws are asked after each.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

use alloy_primitives::U256;
use counterfoil::client::{self, Config, Context, Effect, Event, Start, State, Step};
use counterfoil::json::{self, Json};
use counterfoil::mpp::credential;
use counterfoil::{base64, checked, conflict, digest, hex, intent, signing};

use crate::chain::{text, Chain, Cheque, Second, FINAL_LAG, GENESIS};
use crate::world::{loaded, signed_in};

const TOKENS: [&str; 2] = [
    "0x036CbD53842c5426634e7929541eC2318f3dCF7e",
    "0x5FbDB2315678afecb367f032d93F642f64180aa3",
];
const SHOPS: [&str; 3] = [
    "0x209693Bc6afc0C5328bA36FaF03C514EF312287C",
    "0x90F79bf6EB2c4f870365E785982E1f101E93b906",
    "0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65",
];
const SECRET: [u8; 32] = [7; 32];
/// Which journal each worker writes: four share one.
const JOURNAL_OF: [usize; 6] = [0, 0, 0, 0, 1, 2];
const JOURNALS: usize = 3;
const LEASE: u64 = 30;
/// Buyers, each with a wallet, and so many intents for each where there are more of them.
const BUYERS: usize = 12;
const OF_EACH: usize = 50;
/// From so many steps on a town tells how far it is.
const LONG: u64 = 20_000;

/// A town's size: intents, and seconds until it is left to settle, or steps, whichever end first.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    pub intents: usize,
    pub seconds: u64,
    pub steps: u64,
}

#[derive(Default)]
struct Journal {
    rows: BTreeMap<String, (u64, String)>,
    seq: u64,
    losses: u64,
    leases: BTreeMap<usize, (usize, u64)>,
}

/// A call under way.
struct Task {
    worker: usize,
    intent: usize,
    mode: &'static str,
    state: State,
    effect: Effect,
    until: u64,
}

#[derive(Clone, Debug, Default)]
pub struct Told {
    pub seconds: u64,
    pub steps: u64,
    pub calls: u64,
    pub kills: u64,
    pub landed: usize,
    pub reorganisations: u64,
    pub vanished: u64,
    pub duplicates: u64,
    pub ends: BTreeMap<String, u64>,
}

pub struct Town {
    random: u64,
    size: Size,
    now: u64,
    /// Nothing goes wrong any more.
    quiet: bool,
    chain: Chain,
    journals: Vec<Journal>,
    tasks: Vec<Task>,
    /// In the hands of the shops, with the second at which they are brought to the chain.
    cheques: Vec<(Option<u64>, Cheque)>,
    cancellations: Vec<(u64, String, String)>,
    answered: BTreeSet<(usize, String)>,
    keys: Vec<[u8; 32]>,
    configs: Vec<Config>,
    told: Told,
    story: Vec<String>,
}

impl Town {
    pub fn new(seed: u64, size: Size) -> Town {
        let buyers = BUYERS.max(size.intents / OF_EACH);
        let keys: Vec<[u8; 32]> = (0..buyers).map(|buyer| [buyer as u8 + 0x31; 32]).collect();
        let configs = keys.iter().map(config).collect();
        Town {
            random: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
            size,
            now: GENESIS + 10_000_000,
            quiet: false,
            chain: Chain::default(),
            journals: (0..JOURNALS).map(|_| Journal::default()).collect(),
            tasks: Vec::new(),
            cheques: Vec::new(),
            cancellations: Vec::new(),
            answered: BTreeSet::new(),
            keys,
            configs,
            told: Told::default(),
            story: Vec::new(),
        }
    }

    pub fn story(&self) -> String {
        let from = self.story.len().saturating_sub(1_000);
        self.story[from..].join("\n")
    }

    fn next(&mut self) -> u64 {
        self.random ^= self.random >> 12;
        self.random ^= self.random << 25;
        self.random ^= self.random >> 27;
        self.random.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }

    /// In a thousand; never once it is quiet.
    fn fault(&mut self, in_a_thousand: u64) -> bool {
        let hit = self.below(1_000) < in_a_thousand;
        hit && !self.quiet
    }

    fn tell(&mut self, line: String) {
        self.story
            .push(format!("{} {line}", self.now - GENESIS - 10_000_000));
    }

    fn id(&self, intent: usize) -> String {
        let payer = self.configs[intent % self.keys.len()].payer;
        intent::explicit_intent_id(&payer, &order(intent)).unwrap()
    }

    // ------------------------------------------------------------ the course of things

    pub fn live(&mut self) -> Result<Told, String> {
        let begun = self.now;
        let mut hour = 0;
        while self.now - begun < self.size.seconds && self.told.steps < self.size.steps {
            self.turn()?;
            if (self.now - begun) / 3_600 > hour {
                hour = (self.now - begun) / 3_600;
                self.progress(&format!("hour {hour}"));
            }
        }
        self.told.seconds = self.now - begun;
        self.settle()?;
        self.books()?;
        self.told.landed = self
            .chain
            .slots
            .values()
            .filter(|slot| slot.cheque.is_some())
            .count();
        self.told.reorganisations = self.chain.reorganisations;
        Ok(self.told.clone())
    }

    /// Past the capture of the test's output: a long run is watched while it lasts.
    fn progress(&self, when: &str) {
        if self.size.steps >= LONG {
            let Told {
                steps, calls, kills, ..
            } = self.told;
            let landed = self.chain.slots.len();
            let line =
                format!("town {when}: {steps} steps, {calls} calls, {kills} kills, {landed} nonces used\n");
            let _ = std::io::stderr().write_all(line.as_bytes());
        }
    }

    fn turn(&mut self) -> Result<(), String> {
        if self.below(4) == 0 {
            let seconds = self.below(4);
            self.pass(seconds)?;
        }
        if self.fault(8) {
            let depth = 1 + self.below(FINAL_LAG - 1);
            for cheque in self.chain.reorganise(depth, self.now) {
                let again = (self.below(3) > 0).then(|| self.now + self.random % 90);
                self.cheques.push((again, cheque));
            }
            self.tell("chain: reorganised".to_owned());
        }
        if self.fault(1) && self.below(12) == 0 {
            let journal = self.below(JOURNALS as u64) as usize;
            self.lose(journal);
        }
        let worker = self.below(JOURNAL_OF.len() as u64) as usize;
        match self.tasks.iter().position(|task| task.worker == worker) {
            Some(at) if self.tasks[at].until <= self.now => {
                let task = self.tasks.swap_remove(at);
                self.go_on(task)
            }
            // Nothing to do before this worker's time has come.
            Some(_) => self.pass(1),
            None => {
                let intent = self.below(self.size.intents as u64) as usize;
                let mode = match self.below(20) {
                    0 => "cancel",
                    1 => "release",
                    2 => "claim",
                    3..=6 => "resume",
                    _ => "fetch",
                };
                self.call(worker, intent, mode)
            }
        }
    }

    fn lose(&mut self, journal: usize) {
        self.tell(format!("journal {journal}: lost"));
        self.tasks.retain(|task| JOURNAL_OF[task.worker] != journal);
        let losses = self.journals[journal].losses + 1;
        self.journals[journal] = Journal {
            losses,
            ..Journal::default()
        };
    }

    fn pass(&mut self, seconds: u64) -> Result<(), String> {
        for _ in 0..seconds.max(1) {
            self.now += 1;
            let now = self.now;
            let due: Vec<Cheque> = self
                .cheques
                .iter_mut()
                .filter(|(at, _)| at.is_some_and(|at| at <= now))
                .map(|(at, cheque)| {
                    *at = None;
                    cheque.clone()
                })
                .collect();
            for cheque in due {
                self.land(&cheque)?;
            }
            let (due, later) = std::mem::take(&mut self.cancellations)
                .into_iter()
                .partition(|(at, ..)| *at <= now);
            self.cancellations = later;
            let due: Vec<(u64, String, String)> = due;
            for (_, asset, nonce) in due {
                self.chain.cancel(&asset, &nonce, now);
            }
        }
        Ok(())
    }

    /// Law 5, from the other side: what lands is dead in no journal.
    fn land(&mut self, cheque: &Cheque) -> Result<bool, String> {
        if !self.chain.land(cheque, self.now) {
            return Ok(false);
        }
        self.tell(format!("chain: {} paid by {}", cheque.intent, cheque.nonce));
        for journal in 0..JOURNALS {
            for attempt in attempts(self.record(journal, cheque.intent).as_ref()) {
                let state = text(&attempt, "state");
                if matches!(state.as_str(), "dead" | "cancelled") && of(cheque.intent, &attempt) == *cheque {
                    return Err(format!(
                        "journal {journal}: {state}, and it has landed: {}",
                        attempt.to_text()
                    ));
                }
            }
        }
        let twice = self.chain.slots.values().filter(|slot| {
            let landed = slot.cheque.as_ref();
            landed.is_some_and(|one| (one.intent, &one.asset) == (cheque.intent, &cheque.asset))
        });
        let twice: Vec<_> = twice.collect();
        // Another challenge is another nonce: there a journal alone protects, as long as it was not lost.
        let known_to = |journal: &usize| {
            let known = attempts(self.record(*journal, cheque.intent).as_ref());
            let nonces: Vec<String> = known.iter().map(|one| of(cheque.intent, one).nonce).collect();
            let landed = twice.iter().filter_map(|slot| slot.cheque.as_ref());
            landed.filter(|one| nonces.contains(&one.nonce)).count()
        };
        let kept = (0..JOURNALS).filter(|journal| self.journals[*journal].losses == 0);
        match twice.len() {
            1 => Ok(true),
            _ if dictated(cheque.intent) && kept.clone().all(|journal| known_to(&journal) < 2) => Ok(true),
            _ => Err(format!(
                "several transfers for intent {} on one rail: {twice:?}",
                cheque.intent
            )),
        }
    }

    fn record(&self, journal: usize, intent: usize) -> Option<Json> {
        let key = format!("intent/{}", self.id(intent));
        let (_, text) = self.journals[journal].rows.get(&key)?;
        json::parse(text).ok()
    }

    // ------------------------------------------------------------ calls

    fn call(&mut self, worker: usize, intent: usize, mode: &'static str) -> Result<(), String> {
        let journal = JOURNAL_OF[worker];
        let lease = self.journals[journal].leases.get(&intent).copied();
        if lease.is_some_and(|(holder, until)| holder != worker && until > self.now) {
            return Ok(());
        }
        let known = self.record(journal, intent).is_some();
        if mode != "fetch" && !known {
            return Ok(());
        }
        self.journals[journal]
            .leases
            .insert(intent, (worker, self.now + LEASE));
        let id = self.id(intent);
        let start = match mode {
            "fetch" => format!(
                r#"{{"mode":"fetch","request":{{"method":"GET","url":"https://shop.example/{intent}","bodySha256":"{}"}},"intent":{{"id":"{}"}}}}"#,
                hex::encode(digest::sha256(b"")),
                order(intent)
            ),
            _ => format!(r#"{{"mode":"{mode}","intentId":"{id}"}}"#),
        };
        let start = Start::from_json(&json::parse(&start).unwrap()).unwrap();
        self.told.calls += 1;
        self.tell(format!("worker {worker}: {mode} {intent}"));
        let step = client::start(&start, self.context(worker, intent)).map_err(|error| error.to_string())?;
        self.took(worker, intent, mode, step)
    }

    fn context(&self, worker: usize, intent: usize) -> Context<'_> {
        // Clocks differ by up to a minute either way; no longer once it is quiet.
        let skew = [0, 40, 0, 20, 60, 10][worker];
        let now = match worker % 2 {
            _ if self.quiet => self.now,
            0 => self.now - skew,
            _ => self.now + skew,
        };
        Context {
            config: &self.configs[intent % self.keys.len()],
            secret: Some(&SECRET),
            now,
        }
    }

    /// A step's effects: the alerts are heard, the last effect waits for its turn, or ends the call.
    fn took(&mut self, worker: usize, intent: usize, mode: &'static str, step: Step) -> Result<(), String> {
        let mut effects = step.effects;
        let effect = effects.pop().ok_or("a step without effects")?;
        for alert in effects {
            let finding = alert.to_json();
            let code = finding
                .get("finding")
                .map(|finding| text(finding, "code"))
                .unwrap_or_default();
            self.told.vanished += u64::from(code == "payment_vanished");
            self.tell(format!("worker {worker}: {intent} alert {code}"));
        }
        let until = match &effect {
            Effect::Wait(seconds) => self.now + seconds,
            _ => self.now,
        };
        let said = match &effect {
            Effect::Fail(error) => Some(error.clone()),
            Effect::Done(resolution) | Effect::Replay { resolution, .. } => Some(resolution.clone()),
            Effect::Pass => Some(Json::object([])),
            _ => None,
        };
        let Some(said) = said else {
            self.tasks.push(Task {
                worker,
                intent,
                mode,
                state: step.state,
                effect,
                until,
            });
            return Ok(());
        };
        self.end(worker, intent, mode, &said)
    }

    /// A call ends. Law 4: what it says about the money is no less than what its journal knows.
    fn end(&mut self, worker: usize, intent: usize, mode: &str, said: &Json) -> Result<(), String> {
        let name = if said.get("code").is_some() {
            "code"
        } else {
            "outcome"
        };
        let what = format!("{mode} {}", text(said, name));
        self.tell(format!(
            "worker {worker}: {intent} {what}, money {}",
            text(said, "money")
        ));
        *self.told.ends.entry(what.clone()).or_default() += 1;
        let journal = JOURNAL_OF[worker];
        if self.journals[journal]
            .leases
            .get(&intent)
            .is_some_and(|(holder, _)| *holder == worker)
        {
            self.journals[journal].leases.remove(&intent);
        }
        if text(said, "money") == "none" {
            for attempt in attempts(self.record(journal, intent).as_ref()) {
                let open = matches!(text(&attempt, "state").as_str(), "sent" | "paid" | "wrong_terms");
                if open && attempt.get("signature").is_some() && self.has_landed(intent, &attempt) {
                    return Err(format!("{what}: money none, and it has landed"));
                }
            }
        }
        if let Some(call) = said.get("cancellation") {
            let attempt = attempts(self.record(journal, intent).as_ref()).pop();
            if let Some(attempt) = attempt.filter(|_| self.below(3) > 0) {
                let nonce = text(&signed_in(&attempt), "nonce");
                let at = self.now + self.below(60);
                self.cancellations.push((at, text(call, "to"), nonce));
            }
        }
        Ok(())
    }

    fn has_landed(&self, intent: usize, attempt: &Json) -> bool {
        let cheque = of(intent, attempt);
        let key = (cheque.asset.clone(), cheque.nonce.clone());
        let landed = self.chain.slots.get(&key).and_then(|slot| slot.cheque.as_ref());
        landed == Some(&cheque)
    }

    fn go_on(&mut self, task: Task) -> Result<(), String> {
        let Task {
            worker,
            intent,
            mode,
            state,
            effect,
            ..
        } = task;
        self.told.steps += 1;
        let killed = self.fault(12);
        if killed && self.below(2) == 0 {
            self.tell(format!(
                "worker {worker}: killed before {}",
                text(&effect.to_json(), "type")
            ));
            self.told.kills += 1;
            return Ok(());
        }
        let event = self.perform(worker, intent, &effect)?;
        if killed {
            self.tell(format!(
                "worker {worker}: killed after {}",
                text(&effect.to_json(), "type")
            ));
            self.told.kills += 1;
            return Ok(());
        }
        let step =
            client::step(state, event, self.context(worker, intent)).map_err(|error| error.to_string())?;
        self.took(worker, intent, mode, step)
    }

    fn perform(&mut self, worker: usize, intent: usize, effect: &Effect) -> Result<Event, String> {
        let journal = JOURNAL_OF[worker];
        Ok(match effect {
            Effect::Load(keys) => loaded(&self.journals[journal].rows, keys),
            Effect::Persist(writes) => self.persist(journal, intent, writes)?,
            Effect::Sign(what) => self.sign(journal, intent, what)?,
            Effect::Send(None) if self.fault(100) => answer(r#"{"transport":"reset"}"#),
            Effect::Send(None) => self.price(intent),
            Effect::Send(Some(header)) => self.sell(journal, intent, header)?,
            Effect::ReadChain(read) => {
                let lag = if self.fault(100) { self.below(300) } else { 0 };
                let second = match self.below(20) {
                    0 if !self.quiet => Second::Silent,
                    1 if !self.quiet => Second::Empty,
                    2 if !self.quiet => Second::Lies,
                    _ => Second::Honest,
                };
                Event::Evidence(self.chain.evidence(read, self.now, lag, second))
            }
            Effect::Wait(_) => Event::Waited,
            Effect::Ask(_) => Event::Approved(false),
            Effect::Deliver(_) => Event::Body(Box::new(client::Body {
                status: 200,
                headers: Json::object([]),
                sha256: hex::encode(digest::sha256(b"goods")),
                length: 5,
                stored: Some(base64::encode(b"goods")),
                complete: !self.fault(100),
            })),
            other => return Err(format!("nothing to perform: {other:?}")),
        })
    }

    fn persist(&mut self, journal: usize, intent: usize, writes: &[client::Write]) -> Result<Event, String> {
        if self.fault(30) {
            return Ok(Event::PersistFailed(counterfoil::error::Code::JournalUnavailable));
        }
        let rows = &mut self.journals[journal].rows;
        let moved = |write: &client::Write| rows.get(&write.key).map(|(rev, _)| *rev) != write.expect;
        if writes.iter().any(moved) {
            return Ok(Event::Conflict);
        }
        self.journals[journal].seq += 1;
        let seq = self.journals[journal].seq;
        for write in writes {
            let row = (seq, write.put.clone());
            self.journals[journal].rows.insert(write.key.clone(), row);
        }
        self.written(journal, intent)?;
        Ok(Event::Persisted(
            writes.iter().map(|write| (write.key.clone(), seq)).collect(),
        ))
    }

    /// Laws 5 and 6 and 10 of a record that was just written.
    fn written(&self, journal: usize, intent: usize) -> Result<(), String> {
        let Some(record) = self.record(journal, intent) else {
            return Ok(());
        };
        let status = text(&record, "status");
        if status == "paid_not_delivered" && record.get("claim").is_none() {
            return Err("paid, not delivered, and no claim".to_owned());
        }
        let mut held = false;
        for attempt in attempts(Some(&record)) {
            let (state, cheque) = (text(&attempt, "state"), of(intent, &attempt));
            held |= matches!(state.as_str(), "planned" | "sent");
            let slot = self
                .chain
                .slots
                .get(&(cheque.asset.clone(), cheque.nonce.clone()));
            let closed = slot.is_some_and(|slot| {
                self.chain.is_final(slot.at, self.now) && slot.cheque.as_ref() != Some(&cheque)
            });
            // Of two windows on the same terms the logs can't tell which one was paid: the purchase is, once.
            let paid = |one: &Json| {
                let other = of(intent, one);
                text(one, "state") == "paid"
                    && (other.nonce, other.to, other.value)
                        == (cheque.nonce.clone(), cheque.to.clone(), cheque.value)
            };
            let mine = slot.is_some_and(|slot| slot.cheque.as_ref() == Some(&cheque));
            let twin = mine && attempts(Some(&record)).iter().any(paid);
            let over = cheque.before + FINAL_LAG <= self.now && (!mine || twin);
            let void = matches!(state.as_str(), "dead" | "cancelled");
            if void && attempt.get("signature").is_some() && !closed && !over {
                let read = attempt.get("verdict").map(Json::to_text);
                return Err(format!(
                    "journal {journal}: called {state} while it can land: {cheque:?}, now {}, chain {slot:?}, read {read:?}",
                    self.now
                ));
            }
        }
        let entry = format!("{}#", self.id(intent));
        let wallet = format!("wallet/{}", self.configs[intent % self.keys.len()].payer);
        let wallet = self.journals[journal].rows.get(&wallet);
        if held && !wallet.is_some_and(|(_, wallet)| wallet.contains(&entry)) {
            return Err(format!(
                "journal {journal}: intent {intent} can land and nothing is held for it"
            ));
        }
        Ok(())
    }

    fn sign(&mut self, journal: usize, intent: usize, what: &Json) -> Result<Event, String> {
        if self.fault(20) {
            return Ok(Event::SignFailed);
        }
        let payment = what
            .get("authorization")
            .or(what.get("permit2Authorization"))
            .is_some();
        let nonce = if payment {
            text(&signed_in(what), "nonce")
        } else {
            String::new()
        };
        let planned = self
            .record(journal, intent)
            .is_some_and(|record| record.to_text().contains(&nonce));
        if !planned {
            // Its journal was lost in between: no host would know, and the nonce is the same.
            if self.journals[journal].losses == 0 {
                return Err("asked to sign what is not written down".to_owned());
            }
        }
        let digest = hex::decode_array(&text(what, "digest")).unwrap();
        let bytes = checked::sign_digest(&digest, &self.keys[intent % self.keys.len()])
            .map_err(|error| error.to_string())?;
        Ok(Event::Signed(hex::encode(bytes)))
    }

    // ------------------------------------------------------------ shops

    /// The price of the hour: some shops change recipient, amount or token as they go.
    fn required(&mut self, intent: usize) -> String {
        let hour = if intent.is_multiple_of(5) {
            self.now / 600
        } else {
            0
        };
        let amount = 1_000 + intent as u64 % 7 + hour % 3;
        let shop = SHOPS[(intent + hour as usize / 2) % SHOPS.len()];
        let token = TOKENS[if intent.is_multiple_of(25) {
            (hour % 2) as usize
        } else {
            0
        }];
        let method = if intent % 3 == 1 {
            r#","assetTransferMethod":"permit2""#
        } else {
            ""
        };
        let price = format!(
            r#"{{"x402Version":2,"resource":{{"url":"https://shop.example/{intent}"}},"accepts":[{{"scheme":"exact","network":"eip155:84532","amount":"{amount}","asset":"{token}","payTo":"{shop}","maxTimeoutSeconds":120,"extra":{{"name":"USDC","version":"2"{method}}}}}],"extensions":{{"payment-identifier":{{"info":{{"required":false}}}}}}}}"#
        );
        base64::encode(price.as_bytes())
    }

    /// The challenge of the quarter of an hour.
    fn challenge(&mut self, intent: usize) -> Event {
        let (hour, amount) = (self.now / 900, 1_000 + intent as u64 % 7);
        let shop = SHOPS[intent % SHOPS.len()];
        let request = base64::encode_url(
            format!(
                r#"{{"amount":"{amount}","currency":"{}","methodDetails":{{"chainId":84532,"credentialTypes":["authorization"]}},"recipient":"{shop}"}}"#,
                TOKENS[0]
            )
            .as_bytes(),
        );
        let challenge = format!(
            r#"Payment id="c-{intent}-{hour}", realm="shop.example", method="evm", intent="charge", request="{request}""#
        );
        let headers = Json::object([("www-authenticate", Json::text(challenge))]);
        let told = Json::object([
            ("status", Json::number(402)),
            ("headers", headers),
            ("body", Json::text("{}")),
        ]);
        answer(&told.to_text())
    }

    fn price(&mut self, intent: usize) -> Event {
        if dictated(intent) {
            return self.challenge(intent);
        }
        let required = self.required(intent);
        answer(&format!(
            r#"{{"status":402,"headers":{{"payment-required":"{required}"}},"body":"{{}}"}}"#
        ))
    }

    fn refused(&mut self, intent: usize, error: &str) -> Event {
        // The scheme has no word for a refusal but another challenge.
        if dictated(intent) {
            return self.challenge(intent);
        }
        let required = self.required(intent);
        answer(&format!(
            r#"{{"status":402,"headers":{{"payment-required":"{required}"}},"body":"{{\"error\":\"{error}\"}}"}}"#
        ))
    }

    fn sell(&mut self, journal: usize, intent: usize, header: &Json) -> Result<Event, String> {
        let value = text(header, "value");
        let durable = self
            .record(journal, intent)
            .is_some_and(|record| record.to_text().contains(&value));
        if !durable && self.journals[journal].losses == 0 {
            return Err("bytes were sent that the journal does not hold".to_owned());
        }
        let cheque = match credential::parse(&value) {
            Ok(credential) => {
                let holder = Json::object([("authorization", credential.payload)]);
                cheque_of(intent, TOKENS[0], &holder)
            }
            Err(_) => {
                let bytes = base64::decode_header(&value).map_err(|error| error.to_string())?;
                let payment = json::parse_bytes(&bytes).unwrap();
                let accepted = payment.get("accepted").unwrap().clone();
                cheque_of(intent, &text(&accepted, "asset"), payment.get("payload").unwrap())
            }
        };
        let lost = self.fault(150);
        let nonce = (intent, cheque.nonce.clone());
        if !self.cheques.iter().any(|(_, known)| *known == cheque) {
            self.cheques.push((None, cheque.clone()));
        }
        if self.answered.contains(&nonce) {
            return Ok(match self.below(4) {
                _ if lost => answer(r#"{"transport":"reset"}"#),
                0 => self.refused(intent, "invalid_exact_evm_nonce_already_used"),
                _ => self.delivered(&cheque),
            });
        }
        let what = if self.quiet { 99 } else { self.below(100) };
        let late = self.now + self.below(200);
        let own = self.cheques.iter_mut().find(|(_, known)| *known == cheque);
        match what {
            // It keeps the cheque, and says no.
            0..=9 => return Ok(self.refused(intent, "busy")),
            10..=24 => {
                own.unwrap().0 = Some(late);
                return Ok(answer(match what {
                    10..=13 => r#"{"status":500,"body":"oops"}"#,
                    14..=17 => {
                        r#"{"status":409,"headers":{"retry-after":"5"},"body":"{\"code\":\"payment_in_flight\"}"}"#
                    }
                    18..=20 => r#"{"status":202,"body":"{}"}"#,
                    _ => r#"{"transport":"timeout"}"#,
                }));
            }
            // It says that it was paid, and brings the cheque to nobody.
            25..=27 => return Ok(self.delivered(&cheque)),
            // It brings every cheque that it was ever given for this.
            28..=31 => {
                for (at, known) in &mut self.cheques {
                    if known.intent == intent {
                        *at = Some(late);
                    }
                }
            }
            32 => {
                return Ok(answer(
                    r#"{"status":409,"body":"{\"code\":\"payment_identifier_conflict\"}"}"#,
                ))
            }
            _ => {}
        }
        if !self.land(&cheque)? {
            return Ok(self.refused(intent, "invalid_exact_evm_nonce_already_used"));
        }
        self.answered.insert(nonce);
        Ok(if lost {
            answer(r#"{"transport":"reset"}"#)
        } else {
            self.delivered(&cheque)
        })
    }

    fn delivered(&self, cheque: &Cheque) -> Event {
        let slot = self
            .chain
            .slots
            .get(&(cheque.asset.clone(), cheque.nonce.clone()));
        let transaction = slot.map_or(format!("0x{}", "99".repeat(32)), |slot| slot.transaction.clone());
        if dictated(cheque.intent) {
            let receipt = base64::encode_url(
                format!(r#"{{"status":"success","method":"evm","timestamp":"2026-09-21T14:14:20Z","reference":"{transaction}"}}"#)
                    .as_bytes(),
            );
            return answer(&format!(
                r#"{{"status":200,"headers":{{"payment-receipt":"{receipt}"}}}}"#
            ));
        }
        let settlement = base64::encode(
            format!(r#"{{"success":true,"transaction":"{transaction}","network":"eip155:84532"}}"#)
                .as_bytes(),
        );
        answer(&format!(
            r#"{{"status":200,"headers":{{"payment-response":"{settlement}"}}}}"#
        ))
    }

    // ------------------------------------------------------------ the end

    /// No more faults: time passes, and every record is taken up until it has ended.
    fn settle(&mut self) -> Result<(), String> {
        self.quiet = true;
        self.tasks.clear();
        self.pass(400)?;
        for (at, _) in &mut self.cheques {
            *at = None;
        }
        self.pass(2 * FINAL_LAG)?;
        for journal in 0..JOURNALS {
            self.progress(&format!("settling journal {journal}"));
            let worker = JOURNAL_OF.iter().position(|of| *of == journal).unwrap();
            for intent in 0..self.size.intents {
                if self.record(journal, intent).is_none() {
                    continue;
                }
                for _ in 0..3 {
                    self.journals[journal].leases.clear();
                    self.call(worker, intent, "resume")?;
                    while let Some(mut task) = self.tasks.pop() {
                        // The answer to a resend may be waited for.
                        self.now = self.now.max(task.until);
                        task.until = 0;
                        self.go_on(task)?;
                    }
                }
                self.ended(journal, intent)?;
            }
        }
        Ok(())
    }

    /// Every attempt has its end, and it is the chain's.
    fn ended(&self, journal: usize, intent: usize) -> Result<(), String> {
        let record = self.record(journal, intent);
        for attempt in attempts(record.as_ref()) {
            let (state, cheque) = (text(&attempt, "state"), of(intent, &attempt));
            let slot = self
                .chain
                .slots
                .get(&(cheque.asset.clone(), cheque.nonce.clone()));
            let by = slot.map(|slot| slot.cheque.as_ref());
            let all: Vec<String> = attempts(record.as_ref())
                .iter()
                .map(|one| text(one, "state"))
                .collect();
            let known = ["paid", "wrong_terms"]
                .iter()
                .any(|state| all.contains(&(*state).to_owned()));
            let right = match (state.as_str(), by) {
                ("sent", _) => false,
                ("planned", _) => attempt.get("signature").is_none(),
                ("paid", Some(Some(by))) => (&by.to, by.value) == (&cheque.to, cheque.value),
                ("wrong_terms", Some(Some(by))) => *by != cheque,
                ("paid" | "wrong_terms", _) => false,
                // Another journal may have signed a later window of the same nonce: that one is paid there.
                ("dead", Some(Some(by))) => known || *by != cheque,
                ("cancelled", Some(Some(_))) => false,
                _ => true,
            };
            if !right {
                return Err(format!(
                    "journal {journal}: at the end {state}, chain {by:?}: {}",
                    record.map(|record| record.to_text()).unwrap_or_default()
                ));
            }
        }
        Ok(())
    }

    /// The books: what each wallet spent is what the chain moved, and money that moved twice is found.
    fn books(&mut self) -> Result<(), String> {
        for journal in 0..JOURNALS {
            let (mut settled, mut moved) = (0, 0);
            let mut found = BTreeSet::new();
            for buyer in 0..self.keys.len() {
                let key = format!("wallet/{}", self.configs[buyer].payer);
                let Some((_, wallet)) = self.journals[journal].rows.get(&key) else {
                    continue;
                };
                let wallet = json::parse(wallet).unwrap();
                for entry in wallet.get("entries").unwrap().as_array().unwrap() {
                    let amount = text(entry, "amount").parse::<u64>().unwrap();
                    match text(entry, "id").strip_prefix("recovered/") {
                        None => settled += amount,
                        // The chain told of it, and no attempt of this journal paid under that nonce.
                        Some(slot) if self.moved_under(slot) == Some(amount) => {
                            found.insert(slot.rsplit_once('/').unwrap().1.parse::<U256>().unwrap());
                        }
                        Some(slot) => return Err(format!("journal {journal}: {amount} under {slot}")),
                    }
                }
            }
            for intent in 0..self.size.intents {
                for attempt in attempts(self.record(journal, intent).as_ref()) {
                    let state = text(&attempt, "state");
                    let cheque = of(intent, &attempt);
                    if found.contains(&cheque.nonce.parse().unwrap()) && state != "dead" {
                        return Err(format!(
                            "journal {journal}: {state} and found under {}",
                            cheque.nonce
                        ));
                    }
                    moved += match state.as_str() {
                        "paid" | "wrong_terms" | "planned" => cheque.value,
                        _ => 0,
                    };
                }
            }
            if settled != moved {
                return Err(format!(
                    "journal {journal}: the wallets say {settled}, the attempts {moved}"
                ));
            }
        }
        self.duplicates()
    }

    /// What the chain moved under `<network>/<asset>/<nonce>`.
    fn moved_under(&self, slot: &str) -> Option<u64> {
        let (rest, nonce) = slot.rsplit_once('/').unwrap();
        let (_, asset) = rest.rsplit_once('/').unwrap();
        let nonce: U256 = nonce.parse().unwrap();
        let mut slots = self.chain.slots.iter();
        let found = slots.find(|((of, key), _)| of == asset && key.parse() == Ok(nonce));
        found.and_then(|(_, slot)| Some(slot.cheque.as_ref()?.value))
    }

    fn duplicates(&mut self) -> Result<(), String> {
        let mut landed: BTreeMap<usize, u64> = BTreeMap::new();
        for slot in self.chain.slots.values() {
            if let Some(cheque) = &slot.cheque {
                *landed.entry(cheque.intent).or_default() += 1;
            }
        }
        let twice: Vec<usize> = landed
            .into_iter()
            .filter(|(_, times)| *times > 1)
            .map(|(intent, _)| intent)
            .collect();
        for intent in twice {
            self.told.duplicates += 1;
            let bundles: Vec<String> = (0..JOURNALS)
                .filter_map(|journal| self.record(journal, intent))
                .map(|record| {
                    let payer = record.get("principal").unwrap().clone();
                    Json::object([
                        ("type", Json::text("counterfoil/bundle")),
                        ("v", Json::number(1)),
                        ("payer", payer),
                        ("intents", Json::Array(vec![record])),
                    ])
                    .to_text()
                })
                .collect();
            let texts: Vec<&str> = bundles.iter().map(String::as_str).collect();
            let found = conflict::find_conflicts(&texts).map_err(|error| error.to_string())?;
            let lost = self.journals.iter().any(|journal| journal.losses > 0);
            let told = found.iter().any(|one| one.code.as_str() == "duplicate_charge");
            if !told && !lost {
                return Err(format!(
                    "intent {intent} was paid twice across rails, and nothing is found"
                ));
            }
        }
        Ok(())
    }
}

/// Whether a shop of this intent speaks the Payment scheme.
fn dictated(intent: usize) -> bool {
    intent % 6 == 2
}

fn order(intent: usize) -> String {
    format!("order-of-the-town-{intent:08}")
}

fn config(key: &[u8; 32]) -> Config {
    let payer = signing::address_of_key(key).unwrap();
    let assets = TOKENS
        .map(|token| format!(r#"{{"network":"eip155:84532","asset":"{token}"}}"#))
        .join(",");
    let config = format!(
        r#"{{"payer":"{payer}","policy":{{"perCall":"50000","maxWindow":120,"attempts":8,"assets":[{assets}]}},"readable":["eip155:84532"]}}"#
    );
    Config::from_json(&json::parse(&config).unwrap()).unwrap()
}

fn answer(json: &str) -> Event {
    let answer = json::parse(json)
        .and_then(|json| counterfoil::outcome::Answer::from_json(&json))
        .unwrap();
    Event::Answer {
        answer: Box::new(answer),
        redirected: false,
    }
}

fn attempts(record: Option<&Json>) -> Vec<Json> {
    record
        .and_then(|record| record.get("attempts")?.as_array().ok())
        .map(<[Json]>::to_vec)
        .unwrap_or_default()
}

/// An attempt as the shop holds it.
fn of(intent: usize, attempt: &Json) -> Cheque {
    let asset = match attempt.get("permit2Authorization") {
        Some(permit) => text(permit.get("permitted").unwrap(), "token"),
        None => text(attempt.get("domain").unwrap(), "verifyingContract"),
    };
    cheque_of(intent, &asset, attempt)
}

fn cheque_of(intent: usize, asset: &str, holder: &Json) -> Cheque {
    let signed = signed_in(holder);
    Cheque {
        intent,
        asset: asset.to_owned(),
        payer: text(&signed, "from"),
        nonce: text(&signed, "nonce"),
        to: text(&signed, "to"),
        value: text(&signed, "value").parse().unwrap(),
        after: text(&signed, "validAfter").parse().unwrap(),
        before: text(&signed, "validBefore").parse().unwrap(),
    }
}
