//! The world as one small value, and everything that can happen in it.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use counterfoil::client::{Body, Effect, Event, Step};
use counterfoil::error::Code;
use counterfoil::json::Json;
use counterfoil::{base64, digest, hex};

use crate::chain::{Book, By, Chain, Read, Slot, View};
use crate::explore::{Broken, Space};
use crate::journal::{JournalId, Journals, Rows};
use crate::laws;
use crate::machine::{Input, Machine, StepId};
use crate::seller::{Answer, Quote};
use crate::setting::{Faults, Setting};

/// A worker: idle, or waiting for the answer to what its step asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Worker {
    pub at: Option<StepId>,
    /// Calls begun so far.
    pub calls: u8,
}

/// Everything that can differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct World {
    pub workers: [Worker; 2],
    pub journals: [JournalId; 2],
    /// Reading of the clock.
    pub clock: u8,
    pub chain: Chain,
    /// Cheques in others' hands, a bit each.
    pub sent: u64,
    pub left: Faults,
}

/// What happens next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// A worker begins its next call; on this intent of the journal.
    Start(u8, u8),
    /// A worker's effect is carried out, with this outcome.
    Effect(u8, Outcome),
    /// A worker dies before its effect. After it, before the machine hears of it, is before the next.
    Die(u8),
    /// The clock moves on.
    Tick,
    /// A block is added.
    Block,
    /// A cheque lands.
    Land(u8),
    /// The last block is replaced.
    Reorganise,
    /// The payer burns a nonce.
    Cancel(u8),
    /// A journal is lost.
    Lose(u8),
}

/// How an effect goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// Loads, writes, signs, waits.
    Done,
    /// A write or a signer fails, an answer breaks off.
    Failed,
    /// The caller gives up.
    Aborted,
    Quote(Quote),
    Answer(Answer),
    Read(Read),
}

/// How a call ended.
#[derive(Clone, Debug)]
pub struct End {
    pub code: String,
}

/// The world's tables: what a number in a [`World`] stands for.
pub struct Tables {
    pub setting: Setting,
    pub machine: Machine,
    pub journals: Journals,
    pub book: Book,
    pub payer: String,
    /// How the last call ended that ended.
    pub end: Option<End>,
    /// What happened at once in the last action.
    trail: Vec<&'static str>,
    starts: HashMap<(u8, String, u8), StepId>,
    written: HashMap<(JournalId, StepId), Option<JournalId>>,
    pub(crate) fair: HashSet<World>,
    pub(crate) driven: HashSet<World>,
}

impl Tables {
    pub fn new(setting: Setting) -> Tables {
        let machine = Machine::new(&setting.config());
        let mut book = Book::default();
        Tables {
            payer: machine.payer(),
            journals: Journals::new(&mut book),
            machine,
            book,
            setting,
            end: None,
            trail: Vec::new(),
            starts: HashMap::new(),
            written: HashMap::new(),
            fair: HashSet::new(),
            driven: HashSet::new(),
        }
    }

    /// The journal that a worker writes.
    pub fn rows(&self, world: &World, who: u8) -> Rc<Rows> {
        self.journals
            .get(world.journals[self.setting.workers[usize::from(who)].journal])
    }

    /// Whether two cheques compete for one nonce.
    pub fn same_slot(&self, one: u8, other: u8) -> bool {
        self.book.of(one).nonce == self.book.of(other).nonce
    }

    /// Whether a cheque can land now, or in the next block.
    pub fn can_land(&self, world: &World, cheque: u8) -> bool {
        let of = self.book.of(cheque);
        let head = world.chain.head;
        let block = if head > world.chain.last_final {
            head
        } else {
            head + 1
        };
        world.sent >> cheque & 1 == 1
            && world.chain.slots[usize::from(of.nonce)].is_none()
            && (of.after + 1..of.before).contains(&self.setting.block_time(block))
    }

    /// Whether a cheque has landed.
    pub fn landed(&self, world: &World, cheque: u8) -> bool {
        let slot = world.chain.slots[usize::from(self.book.of(cheque).nonce)];
        slot.is_some_and(|slot| slot.by == By::Cheque(cheque))
    }

    fn effects(&self, world: &World, who: u8) -> Option<(StepId, Rc<Step>)> {
        let at = world.workers[usize::from(who)].at?;
        Some((at, self.machine.get(at)))
    }

    /// What can come of a worker's effect.
    fn outcomes(&self, world: &World, step: &Step) -> Vec<Outcome> {
        let mut outcomes = vec![Outcome::Done];
        let slips = world.left.slips > 0;
        match step.effects.last().expect("an effect") {
            Effect::Persist(_) | Effect::Deliver(_) if slips => outcomes.push(Outcome::Failed),
            Effect::Sign(_) if slips => outcomes.extend([Outcome::Failed, Outcome::Aborted]),
            Effect::Send(None) => {
                outcomes = self.setting.quotes.iter().copied().map(Outcome::Quote).collect()
            }
            Effect::Send(Some(_)) => {
                outcomes = self
                    .setting
                    .answers
                    .iter()
                    .copied()
                    .map(Outcome::Answer)
                    .collect();
            }
            Effect::ReadChain(_) => {
                outcomes = self.setting.reads.iter().copied().map(Outcome::Read).collect();
            }
            _ => {}
        }
        outcomes
    }

    /// Begins a call, on this intent of the journal where it is about one.
    pub fn start(&mut self, world: &World, who: u8, call: u8, intent: u8) -> Result<Option<World>, Broken> {
        let of = self.setting.workers[usize::from(who)].calls[usize::from(call)];
        let rows = self.rows(world, who);
        let intent_id = match rows.intents.get(usize::from(intent)) {
            Some(known) if of.of_journal() => known.intent_id.clone(),
            None if of.of_journal() => return Ok(None),
            _ if intent > 0 => return Ok(None),
            _ => String::new(),
        };
        self.begin(world, who, of, &intent_id).map(Some)
    }

    /// Begins any call.
    pub fn begin(
        &mut self,
        world: &World,
        who: u8,
        call: crate::setting::Call,
        intent_id: &str,
    ) -> Result<World, Broken> {
        let key = (who, format!("{call:?} {intent_id}"), world.clock);
        let at = match self.starts.get(&key) {
            Some(known) => *known,
            None => {
                let started = self
                    .machine
                    .start(&call.start(intent_id), self.setting.now(world.clock));
                let at = started.map_err(|why| Broken {
                    law: "every event fits",
                    why,
                })?;
                self.starts.insert(key, at);
                at
            }
        };
        let mut next = *world;
        let worker = &mut next.workers[usize::from(who)];
        worker.calls += 1;
        self.arrive(next, who, at, true)
    }

    /// Carries a worker's effect out and hands the machine its event.
    pub fn perform(&mut self, world: &World, who: u8, outcome: Outcome) -> Result<Option<World>, Broken> {
        let Some((at, step)) = self.effects(world, who) else {
            return Ok(None);
        };
        let mut next = *world;
        let journal = self.setting.workers[usize::from(who)].journal;
        let slip = |next: &mut World| {
            next.left.slips = next.left.slips.saturating_sub(1);
        };
        let input = match (step.effects.last().expect("an effect"), outcome) {
            (Effect::Load(_), _) => Input::Loaded(world.journals[journal]),
            (Effect::Persist(_), Outcome::Failed) => {
                slip(&mut next);
                Input::PersistFailed
            }
            (Effect::Persist(_), _) => match self.write(world, who, at, &step) {
                Some(written) => {
                    next.journals[journal] = written;
                    Input::Persisted(self.journals.get(written).seq)
                }
                None => Input::Conflict,
            },
            (Effect::Send(None), Outcome::Quote(quote)) => Input::Quote(quote),
            (Effect::Send(Some(header)), Outcome::Answer(answer)) => {
                self.send(&mut next, who, &step, header, answer)?;
                Input::Answer(answer)
            }
            (Effect::Sign(what), Outcome::Done) => {
                laws::signs_what_is_written(self, world, who, &step, what)?;
                Input::Signed
            }
            (Effect::Sign(_), Outcome::Aborted) => {
                slip(&mut next);
                Input::Aborted
            }
            (Effect::Sign(_), _) => {
                slip(&mut next);
                Input::SignFailed
            }
            (Effect::ReadChain(what), Outcome::Read(read)) => match self.view(world, what, read) {
                Some(view) => Input::Evidence(view),
                None => return Ok(None),
            },
            (Effect::Ask(_), outcome) => Input::Approved(outcome == Outcome::Done),
            (Effect::Wait(_), _) => Input::Waited,
            (Effect::Deliver(_), Outcome::Failed) => {
                slip(&mut next);
                Input::Body(false)
            }
            (Effect::Deliver(_), _) => Input::Body(true),
            _ => return Ok(None),
        };
        let at = self.ask(at, input, self.setting.now(world.clock))?;
        if input == Input::Answer(Answer::Conflict) {
            laws::conflict_alerts(&self.machine.get(at))?;
        }
        self.arrive(next, who, at, input == Input::Conflict).map(Some)
    }

    fn ask(&mut self, at: StepId, input: Input, now: u64) -> Result<StepId, Broken> {
        // The machine is asked with the event built from tables that it does not see.
        let step = self.machine.get(at);
        let event = match input {
            Input::Signed => match step.effects.last() {
                Some(Effect::Sign(what)) => Some(self.machine.sign(what)),
                _ => None,
            },
            _ => None,
        };
        let (journals, book, payer) = (&self.journals, &self.book, &self.payer);
        let setting = &self.setting;
        let asked = self.machine.step(at, input, now, |effect| match (input, effect) {
            (Input::Loaded(journal), Effect::Load(keys)) => journals.load(journal, keys),
            (Input::Persisted(seq), Effect::Persist(writes)) => {
                Event::Persisted(writes.iter().map(|write| (write.key.clone(), seq)).collect())
            }
            (Input::Conflict, _) => Event::Conflict,
            (Input::PersistFailed, _) => Event::PersistFailed(Code::JournalUnavailable),
            (Input::Quote(quote), _) => quote.event(),
            (Input::Answer(answer), _) => answer.event(),
            (Input::Signed, _) => event.expect("signed"),
            (Input::Aborted, _) => Event::Aborted,
            (Input::Evidence(view), _) => {
                Event::Evidence(vec![book.evidence(&view, setting.block_time(view.block), payer)])
            }
            (Input::Approved(yes), _) => Event::Approved(yes),
            (Input::Waited, _) => Event::Waited,
            (Input::Body(complete), _) => Event::Body(Box::new(body(complete))),
            _ => Event::SignFailed,
        });
        asked.map_err(|why| Broken {
            law: "every event fits",
            why,
        })
    }

    /// The machine has moved: a call that ended leaves its worker idle. `reads`: nothing has been done since that a later
    /// reading of the journal would not do as well, so it reads now.
    fn arrive(&mut self, mut world: World, who: u8, at: StepId, reads: bool) -> Result<World, Broken> {
        let step = self.machine.get(at);
        let last = step.effects.last().expect("an effect");
        let ended = match last {
            Effect::Fail(told) | Effect::Done(told) => Some((told.clone(), false)),
            Effect::Replay { resolution, .. } => Some((resolution.clone(), true)),
            Effect::Pass => Some((Json::object([]), false)),
            _ => None,
        };
        let Some((told, replayed)) = ended else {
            world.workers[usize::from(who)].at = Some(at);
            return self.at_once(world, who, last, reads);
        };
        laws::told_is_true(self, &world, who, &step, &told, replayed)?;
        let worker = &mut world.workers[usize::from(who)];
        worker.at = None;
        let text = |name: &str| {
            told.get(name)
                .and_then(|text| text.as_str().ok())
                .map(str::to_owned)
        };
        self.end = Some(End {
            code: text("code")
                .or(text("outcome"))
                .unwrap_or_else(|| "pass".to_owned()),
        });
        Ok(world)
    }

    /// What touches nothing that is shared, and can go one way only, happens at once: signing, waiting, asking the price where
    /// there is one, handing the answer over. A death in between leaves what a death before it leaves.
    fn at_once(&mut self, world: World, who: u8, effect: &Effect, reads: bool) -> Result<World, Broken> {
        let (kind, outcome) = match effect {
            Effect::Sign(_) if world.left.slips == 0 => ("signs", Outcome::Done),
            Effect::Deliver(_) if world.left.slips == 0 => ("delivers", Outcome::Done),
            Effect::Wait(_) => ("waits", Outcome::Done),
            Effect::Load(_) if reads => ("loads", Outcome::Done),
            Effect::Send(None) => match self.setting.quotes {
                [only] => ("asks the price", Outcome::Quote(*only)),
                _ => return Ok(world),
            },
            _ => return Ok(world),
        };
        self.trail.push(kind);
        Ok(self.perform(&world, who, outcome)?.unwrap_or(world))
    }

    /// What the journal holds after the writes of a step.
    fn write(&mut self, world: &World, who: u8, at: StepId, step: &Step) -> Option<JournalId> {
        let journal = world.journals[self.setting.workers[usize::from(who)].journal];
        if let Some(known) = self.written.get(&(journal, at)) {
            return *known;
        }
        let Some(Effect::Persist(writes)) = step.effects.last() else {
            return None;
        };
        let written = self.journals.write(journal, writes, &mut self.book);
        self.written.insert((journal, at), written);
        written
    }

    /// Bytes leave.
    fn send(
        &mut self,
        world: &mut World,
        who: u8,
        step: &Step,
        header: &Json,
        answer: Answer,
    ) -> Result<(), Broken> {
        let cheques = laws::sends_what_is_written(self, world, who, step, header)?;
        if answer.arrived() {
            world.sent |= cheques.iter().fold(0, |bits, cheque| bits | 1 << cheque);
        }
        Ok(())
    }

    /// What an RPC shows of the chain; `None` where it would be the same as the honest answer.
    fn view(&mut self, world: &World, what: &Json, read: Read) -> Option<View> {
        let text = |name: &str| {
            what.get(name)
                .and_then(|text| text.as_str().ok())
                .unwrap_or_default()
        };
        let nonce = self.book.nonce(text("asset"), text("nonce"));
        let is_final = text("tag") == "finalized";
        let chain = &world.chain;
        let block = match (is_final, read) {
            (_, Read::Liar) | (true, Read::FalselyFinal) => chain.head,
            (false, Read::FalselyFinal) => return None,
            (true, Read::Stale) => chain.last_final.checked_sub(1)?,
            (false, Read::Stale) => chain.last_final,
            (true, _) => chain.last_final,
            (false, _) => chain.head,
        };
        let slot = chain.slots[usize::from(nonce)].filter(|slot| slot.block <= block);
        if slot.is_none() && matches!(read, Read::Empty | Read::Liar) && !(is_final && read == Read::Liar) {
            return None;
        }
        let second = |block: u8| chain.branch.is_some_and(|from| block >= from);
        let silent = matches!(read, Read::Silent | Read::Null);
        Some(View {
            is_final,
            block: if silent { 0 } else { block },
            second_branch: !silent && second(block),
            nonce,
            slot: slot.filter(|_| !silent && read != Read::Liar),
            slot_second_branch: !silent && slot.is_some_and(|slot| second(slot.block)),
            read,
        })
    }

    /// A cheque reaches the token.
    pub fn land(&self, world: &World, cheque: u8) -> Option<World> {
        if world.chain.head <= world.chain.last_final || !self.can_land(world, cheque) {
            return None;
        }
        let mut next = *world;
        next.chain.slots[usize::from(self.book.of(cheque).nonce)] = Some(Slot {
            block: world.chain.head,
            by: By::Cheque(cheque),
        });
        Some(next)
    }

    fn die(&self, world: &World, who: u8) -> Option<World> {
        let mut next = *world;
        next.left.crashes = next.left.crashes.checked_sub(1)?;
        next.workers[usize::from(who)].at.take()?;
        Some(next)
    }
}

fn body(complete: bool) -> Body {
    Body {
        status: 200,
        headers: Json::object([]),
        sha256: hex::encode(digest::sha256(b"goods")),
        length: 5,
        stored: Some(base64::encode(b"goods")),
        complete,
    }
}

impl Space for Tables {
    type State = World;
    type Action = Action;

    fn first(&self) -> World {
        World {
            workers: [Worker::default(); 2],
            journals: [0; 2],
            clock: 0,
            chain: Chain::FIRST,
            sent: 0,
            left: self.setting.faults,
        }
    }

    fn actions(&mut self, world: &World) -> Vec<Action> {
        let mut actions = Vec::new();
        for who in 0..u8::try_from(self.setting.workers.len()).expect("few workers") {
            let worker = world.workers[usize::from(who)];
            match self.effects(world, who) {
                Some((_, step)) => {
                    let outcomes = self.outcomes(world, &step);
                    actions.extend(outcomes.into_iter().map(|outcome| Action::Effect(who, outcome)));
                    actions.push(Action::Die(who));
                }
                None if usize::from(worker.calls) < self.setting.workers[usize::from(who)].calls.len() => {
                    let intents = self.rows(world, who).intents.len().max(1) as u8;
                    actions.extend((0..intents).map(|intent| Action::Start(who, intent)));
                }
                None => {}
            }
        }
        actions.extend([Action::Tick, Action::Block, Action::Reorganise]);
        actions.extend((0..self.book.cheques.len() as u8).map(Action::Land));
        if world.left.cancels > 0 {
            actions.extend((0..self.book.nonces() as u8).map(Action::Cancel));
        }
        if world.left.losses > 0 {
            actions.extend([Action::Lose(0), Action::Lose(1)]);
        }
        actions
    }

    fn apply(&mut self, world: &World, action: Action) -> Result<Option<World>, Broken> {
        let mut next = *world;
        self.trail.clear();
        Ok(match action {
            Action::Start(who, intent) => {
                return self.start(world, who, world.workers[usize::from(who)].calls, intent)
            }
            Action::Effect(who, outcome) => return self.perform(world, who, outcome),
            Action::Die(who) => self.die(world, who),
            Action::Tick => {
                next.clock += 1;
                (next.clock < self.setting.far()).then_some(next)
            }
            Action::Block => {
                let grows = world.chain.head < self.setting.last_block()
                    && self.setting.block_time(world.chain.head + 1) <= self.setting.now(world.clock);
                next.chain.grow();
                grows.then_some(next)
            }
            Action::Land(cheque) => self.land(world, cheque),
            Action::Reorganise => match next.left.reorgs.checked_sub(1) {
                Some(left) => {
                    next.left.reorgs = left;
                    next.chain.reorganise().then_some(next)
                }
                None => None,
            },
            Action::Cancel(nonce) => {
                next.left.cancels -= 1;
                let slot = &mut next.chain.slots[usize::from(nonce)];
                let open = slot.is_none() && world.chain.head > world.chain.last_final;
                *slot = Some(Slot {
                    block: world.chain.head,
                    by: By::Cancelled,
                });
                open.then_some(next)
            }
            Action::Lose(journal) => {
                next.left.losses -= 1;
                next.journals[usize::from(journal)] = 0;
                for (worker, of) in next.workers.iter_mut().zip(&self.setting.workers) {
                    if of.journal == usize::from(journal) {
                        worker.at = None;
                    }
                }
                (world.journals[usize::from(journal)] != 0).then_some(next)
            }
        })
    }

    fn check(&mut self, world: &World) -> Result<(), Broken> {
        laws::hold(self, world)?;
        crate::fair::ends(self, world)
    }

    fn tell(&mut self, world: &World, action: Action) -> String {
        let time = |world: &World| {
            let clock = self.setting.clock.get(usize::from(world.clock));
            let block = self
                .setting
                .blocks
                .get(usize::from(world.chain.head).saturating_sub(1));
            format!("[{:>3}|{:>3}]", clock.unwrap_or(&9999), block.unwrap_or(&9999))
        };
        let cheque = |cheque: u8| {
            let of = self.book.of(cheque);
            format!(
                "cheque {cheque} ({} to {}…, nonce {}, until {})",
                of.value,
                &of.to[..6],
                of.nonce,
                of.before - crate::chain::START
            )
        };
        let does = |who: u8| match self.effects(world, who) {
            Some((_, step)) => {
                let last = step.effects.last().expect("an effect");
                let kind = last.to_json();
                let kind = kind
                    .get("type")
                    .and_then(|kind| kind.as_str().ok())
                    .unwrap_or_default()
                    .to_owned();
                match last {
                    Effect::Send(Some(header)) => {
                        let value = header
                            .get("value")
                            .and_then(|value| value.as_str().ok())
                            .unwrap_or_default();
                        match self.book.cheques_of(value) {
                            Some(of) => {
                                let told: Vec<String> = of.into_iter().map(cheque).collect();
                                format!("sends {}", told.join(" and "))
                            }
                            None => "sends bytes that no journal holds".to_owned(),
                        }
                    }
                    Effect::Send(None) => "asks the price".to_owned(),
                    Effect::ReadChain(what) => {
                        format!(
                            "reads {}",
                            what.get("tag")
                                .and_then(|tag| tag.as_str().ok())
                                .unwrap_or_default()
                        )
                    }
                    Effect::Persist(writes) => format!("writes {}", told_writes(writes)),
                    _ => kind,
                }
            }
            None => "idle".to_owned(),
        };
        let what = match action {
            Action::Start(who, intent) => {
                let calls = self.setting.workers[usize::from(who)].calls;
                let call = calls.get(usize::from(world.workers[usize::from(who)].calls));
                format!("worker {who}: begins {call:?} (intent {intent})")
            }
            Action::Effect(who, Outcome::Done) => format!("worker {who}: {}", does(who)),
            Action::Effect(who, outcome) => format!("worker {who}: {} → {outcome:?}", does(who)),
            Action::Die(who) => format!("worker {who}: dies before it {}", does(who)),
            Action::Tick => "the clock moves on".to_owned(),
            Action::Block => "a block is added".to_owned(),
            Action::Land(of) => format!("token: {} lands", cheque(of)),
            Action::Reorganise => "the last block is replaced".to_owned(),
            Action::Cancel(nonce) => format!("the payer burns nonce {nonce}"),
            Action::Lose(journal) => format!("journal {journal} is lost"),
        };
        let before = time(world);
        let _ = self.apply(world, action);
        let then: String = self.trail.iter().map(|kind| format!(", {kind}")).collect();
        format!("{before} {what}{then}")
    }
}

/// Status and attempts that the intent's write leaves.
fn told_writes(writes: &[counterfoil::client::Write]) -> String {
    let told = |write: &counterfoil::client::Write| {
        let json = counterfoil::json::parse(&write.put).ok()?;
        let attempts = json.get("attempts")?.as_array().ok()?;
        let states: Vec<&str> = attempts
            .iter()
            .filter_map(|one| one.get("state")?.as_str().ok())
            .collect();
        Some(format!("{} {states:?}", json.get("status")?.as_str().ok()?))
    };
    writes.iter().find_map(told).unwrap_or_default()
}
