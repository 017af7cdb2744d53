//! The real machine, asked once for every question: `client::step` is pure, so an answer can be kept.

use std::collections::HashMap;
use std::rc::Rc;

use counterfoil::client::{self, Config, Context, Effect, Event, Start, Step};
use counterfoil::json::{self, Json};
use counterfoil::{checked, hex, signing};

use crate::chain::View;
use crate::erase::erase;
use crate::seller::{Answer, Quote};

/// A step the machine can be in. Its number stands for it everywhere else.
pub type StepId = u32;

/// What a step is given, small enough to be compared quickly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Input {
    /// The journal of this number.
    Loaded(u32),
    /// Durable under this sequence number.
    Persisted(u64),
    Conflict,
    PersistFailed,
    Quote(Quote),
    Answer(Answer),
    Signed,
    SignFailed,
    Aborted,
    Evidence(View),
    Approved(bool),
    Waited,
    Body(bool),
}

/// The machine of one payer.
pub struct Machine {
    config: Config,
    key: [u8; 32],
    secret: [u8; 32],
    steps: Vec<Rc<Step>>,
    known: HashMap<Rc<Step>, StepId>,
    answers: HashMap<(StepId, Input, u64), StepId>,
    signatures: HashMap<String, String>,
}

impl Machine {
    pub fn new(config: &str) -> Machine {
        let key = [0x41; 32];
        let payer = signing::address_of_key(&key).expect("a key");
        let config = json::parse(config).expect("JSON").with("payer", payer.to_json());
        Machine {
            config: Config::from_json(&config).expect("a configuration"),
            key,
            secret: [7; 32],
            steps: Vec::new(),
            known: HashMap::new(),
            answers: HashMap::new(),
            signatures: HashMap::new(),
        }
    }

    pub fn payer(&self) -> String {
        self.config.payer.to_string()
    }

    pub fn get(&self, id: StepId) -> Rc<Step> {
        Rc::clone(&self.steps[id as usize])
    }

    /// Begins a call.
    pub fn start(&mut self, start: &Start, now: u64) -> Result<StepId, String> {
        let step = client::start(start, self.context(now)).map_err(|error| error.to_string())?;
        Ok(self.enter(step))
    }

    /// Moves by one event; `event` is only built when this was not asked before.
    pub fn step(
        &mut self,
        at: StepId,
        input: Input,
        now: u64,
        event: impl FnOnce(&Effect) -> Event,
    ) -> Result<StepId, String> {
        if let Some(known) = self.answers.get(&(at, input, now)) {
            return Ok(*known);
        }
        let before = self.get(at);
        let event = event(before.effects.last().expect("an effect"));
        let next = client::step(before.state.clone(), event, self.context(now))
            .map_err(|error| format!("{:?} does not take {input:?}: {error}", before.state.phase))?;
        let id = self.enter(next);
        self.answers.insert((at, input, now), id);
        Ok(id)
    }

    /// How many questions were asked.
    pub fn asked(&self) -> usize {
        self.answers.len()
    }

    /// The signature under what a `Sign` effect shows.
    pub fn sign(&mut self, what: &Json) -> Event {
        let digest = what
            .get("digest")
            .and_then(|digest| digest.as_str().ok())
            .expect("a digest");
        let key = &self.key;
        let signature = self.signatures.entry(digest.to_owned()).or_insert_with(|| {
            let bytes = hex::decode_array(digest).expect("32 bytes");
            hex::encode(checked::sign_digest(&bytes, key).expect("a signature"))
        });
        Event::Signed(signature.clone())
    }

    fn context(&self, now: u64) -> Context<'_> {
        Context {
            config: &self.config,
            secret: Some(&self.secret),
            now,
        }
    }

    fn enter(&mut self, step: Step) -> StepId {
        let step = erase(step);
        if let Some(id) = self.known.get(&step) {
            return *id;
        }
        let id = StepId::try_from(self.steps.len()).expect("few steps");
        let step = Rc::new(step);
        self.steps.push(Rc::clone(&step));
        self.known.insert(step, id);
        id
    }
}
