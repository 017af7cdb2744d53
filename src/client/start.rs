//! What a call begins with: the payer's settings, what is wanted, and the parameters.

use crate::address::Address;
use crate::amount::Amount;
use crate::error::{Code, Error};
use crate::evidence::{self, Layout};
use crate::fingerprint::Request;
use crate::hand_over;
use crate::json::Json;
use crate::network::Network;
use crate::policy::Policy;
use crate::time::Seconds;
use crate::traceparent;
use crate::tree;

/// Settings of a payer, the same for every call.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Config {
    /// Who pays.
    pub payer: Address,
    /// What may be paid.
    pub policy: Policy,
    /// Networks that the host can read.
    pub readable: Vec<Network>,
    /// How often the same bytes are sent again within one call.
    pub resends: u64,
    /// Longest wait within one call; a longer one ends the call with `retryAfter`.
    pub max_wait: Seconds,
    /// Which worker this is, where intents are handed over; the payer's address when nothing is said.
    pub actor: String,
    /// Whose signed hand-overs are taken, beside the payer's own.
    pub known_writers: Vec<Address>,
    /// With a list no source is trusted: an unknown ends only by a proof under one of these blocks.
    pub trusted_blocks: Option<Vec<[u8; 32]>>,
    /// Token code that is known beside the pinned.
    pub layouts: Vec<Layout>,
    /// The payer is a contract: its signatures are its own to judge (ERC-1271).
    pub contract_wallet: bool,
    /// The host has a signer of transactions on Tempo.
    pub signs_tempo: bool,
    /// The intent that everything is bought under.
    pub root: Option<String>,
}

impl Config {
    /// Reads `{payer, policy?, readable?, resends?, maxWait?, actor?, knownWriters?, trustedBlocks?, layouts?,
    /// contractWallet?, signsTempo?, root?}`. Errors: those of the fields with their path.
    pub fn from_json(json: &Json) -> Result<Config, Error> {
        let empty = Json::object([]);
        let policy = json.get("policy").unwrap_or(&empty);
        let payer = json.read("payer", Address::from_json)?;
        Ok(Config {
            payer,
            policy: Policy::from_json(policy).map_err(|error| error.within("policy"))?,
            readable: json
                .read_opt("readable", |list| list.as_list(Network::from_json))?
                .unwrap_or_default(),
            resends: json.read_opt("resends", Json::as_u64)?.unwrap_or(3),
            max_wait: json.read_opt("maxWait", Json::as_u64)?.unwrap_or(10),
            actor: json
                .read_opt("actor", |name| hand_over::actor(name.as_str()?))?
                .unwrap_or_else(|| payer.to_string()),
            known_writers: json
                .read_opt("knownWriters", |list| list.as_list(Address::from_json))?
                .unwrap_or_default(),
            trusted_blocks: json.read_opt("trustedBlocks", evidence::block_hashes)?,
            layouts: json.read_opt("layouts", evidence::layouts)?.unwrap_or_default(),
            contract_wallet: json.read_opt("contractWallet", Json::as_bool)?.unwrap_or(false),
            signs_tempo: json.read_opt("signsTempo", Json::as_bool)?.unwrap_or(false),
            root: json.read_opt("root", Json::as_string)?,
        })
    }

    /// The actor, where one was named: the payer's address is no name.
    pub(super) fn named_actor(&self) -> Option<&str> {
        Some(self.actor.as_str()).filter(|actor| *actor != self.payer.to_string())
    }

    /// How the chain's answers about a token are judged.
    pub(super) fn chain(&self, network: Network, asset: Address) -> evidence::Context {
        evidence::Context {
            trusted_blocks: self.trusted_blocks.clone(),
            layouts: self.layouts.clone(),
            ..evidence::Context::new(network, asset)
        }
    }

    /// Whether the host can read that network.
    pub fn can_read(&self, network: &Network) -> bool {
        self.readable.contains(network)
    }
}

/// What a call is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// Buy, or have the answer already bought.
    Fetch,
    /// Settle what is open.
    Resume,
    /// Close a paid, undelivered purchase as a claim.
    Release,
    /// Sign the claim of a paid, undelivered purchase.
    Claim,
    /// Sign a cancellation of an authorization that is still open.
    Cancel,
    /// Give the intent to another actor.
    HandOver,
    /// Go on with an intent that another actor gave.
    TakeOver,
}

/// What a call begins with.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Start {
    /// What the call is for.
    pub mode: Mode,
    /// The request, when buying.
    pub request: Option<Request>,
    /// The intent, when settling or releasing.
    pub intent_id: Option<String>,
    /// The caller's own id.
    pub id: Option<String>,
    /// Display only.
    pub purpose: Option<String>,
    /// Run or session.
    pub scope: String,
    /// Parent intent.
    pub parent: Option<String>,
    /// Most that this intent, and all below it, may cost.
    pub budget: Option<Amount>,
    /// Nobody else is paid for it, nor for what is below it.
    pub recipients: Option<Vec<Address>>,
    /// The first second at which nothing is signed for it, nor for what is below it.
    pub expires_at: Option<Seconds>,
    /// Why it is released.
    pub reason: Option<String>,
    /// The seller's receipt that names the missing answer, when a claim is made.
    pub receipt: Option<String>,
    /// The actor that the intent is handed over to.
    pub to: Option<String>,
    /// How long that one has to take it.
    pub expires_in: Option<Seconds>,
    /// The hand-over that is taken.
    pub hand_over: Option<Json>,
    /// The host can send the request again. After a restart it can't when there was a body.
    pub resendable: bool,
    /// The caller's request has an `Authorization` of its own, which no payment may take the place of.
    pub authenticated: bool,
    /// Where the call stands in a trace, where that can be read.
    pub traceparent: Option<String>,
}

impl Start {
    /// Reads `{mode, request?, intentId?, intent?: {id, purpose, scope, parent, budget, recipients, expiresAt}, reason?, receipt?, to?, expiresIn?, handOver?,
    /// resendable?, authenticated?, traceparent?}`. Errors: those of the fields with their path, `state_invalid` for an unknown mode.
    pub fn from_json(json: &Json) -> Result<Start, Error> {
        let mode = match json.read("mode", Json::as_str)? {
            "fetch" => Mode::Fetch,
            "resume" => Mode::Resume,
            "release" => Mode::Release,
            "claim" => Mode::Claim,
            "cancel" => Mode::Cancel,
            "hand_over" => Mode::HandOver,
            "take_over" => Mode::TakeOver,
            _ => return Err(Error::new(Code::StateInvalid, "mode")),
        };
        let empty = Json::object([]);
        let init = json.get("intent").unwrap_or(&empty);
        let text = |name: &str| {
            init.read_opt(name, Json::as_string)
                .map_err(|error| error.within("intent"))
        };
        Ok(Start {
            mode,
            request: json.read_opt("request", Request::from_json)?,
            intent_id: json.read_opt("intentId", Json::as_string)?,
            id: text("id")?,
            purpose: text("purpose")?,
            scope: text("scope")?.unwrap_or_else(|| "default".to_owned()),
            parent: text("parent")?,
            budget: init
                .read_opt("budget", Amount::from_json)
                .map_err(|error| error.within("intent"))?,
            recipients: init
                .read_opt("recipients", tree::recipients)
                .map_err(|error| error.within("intent"))?,
            expires_at: init
                .read_opt("expiresAt", Json::as_u64)
                .map_err(|error| error.within("intent"))?,
            reason: json.read_opt("reason", Json::as_string)?,
            receipt: json.read_opt("receipt", Json::as_string)?,
            to: json.read_opt("to", |name| hand_over::actor(name.as_str()?))?,
            expires_in: json.read_opt("expiresIn", Json::as_u64)?,
            hand_over: json.get("handOver").cloned(),
            resendable: json.read_opt("resendable", Json::as_bool)?.unwrap_or(true),
            authenticated: json.read_opt("authenticated", Json::as_bool)?.unwrap_or(false),
            // What is none is no reason to pay otherwise.
            traceparent: json
                .get("traceparent")
                .and_then(|text| traceparent::parse(text.as_str().ok()?)),
        })
    }

    pub(super) fn to_json(&self) -> Json {
        let recipients = |list: &Vec<Address>| Json::Array(list.iter().map(Address::to_json).collect());
        let mode = match self.mode {
            Mode::Fetch => "fetch",
            Mode::Resume => "resume",
            Mode::Release => "release",
            Mode::Claim => "claim",
            Mode::Cancel => "cancel",
            Mode::HandOver => "hand_over",
            Mode::TakeOver => "take_over",
        };
        let intent = Json::object([])
            .with_some("id", self.id.clone().map(Json::String))
            .with_some("purpose", self.purpose.clone().map(Json::String))
            .with("scope", Json::text(self.scope.as_str()))
            .with_some("parent", self.parent.clone().map(Json::String))
            .with_some("budget", self.budget.map(|budget| budget.to_json()))
            .with_some("recipients", self.recipients.as_ref().map(recipients))
            .with_some("expiresAt", self.expires_at.map(Json::number));
        Json::object([("mode", Json::text(mode))])
            .with_some("request", self.request.as_ref().map(Request::to_json))
            .with_some("intentId", self.intent_id.clone().map(Json::String))
            .with("intent", intent)
            .with_some("reason", self.reason.clone().map(Json::String))
            .with_some("receipt", self.receipt.clone().map(Json::String))
            .with_some("to", self.to.clone().map(Json::String))
            .with_some("expiresIn", self.expires_in.map(Json::number))
            .with_some("handOver", self.hand_over.clone())
            .with("resendable", Json::Bool(self.resendable))
            .with("authenticated", Json::Bool(self.authenticated))
            .with_some("traceparent", self.traceparent.clone().map(Json::String))
    }
}
