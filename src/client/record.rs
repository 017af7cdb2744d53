//! What the journal holds of one intent (`intent/<intentId>`), of one series of unnamed calls (`series/<key>`) and of one
//! wallet's spending (`wallet/<payer>`).

mod handed;
mod signed;
mod standing;
mod wallet;

use std::collections::BTreeMap;

use crate::address::Address;
use crate::amount::Amount;
use crate::attempt::{Attempt, State};
use crate::authorization::Method;
use crate::error::{Code, Error};
use crate::fingerprint::Request;
use crate::hex;
use crate::json::{self, Json};
use crate::network::Network;
use crate::outcome::Outcome;
use crate::policy::{Spent, SpentState};
use crate::quote::{Offered, Protocol};
use crate::time::Seconds;

pub use handed::Handed;
pub use standing::Standing;
pub use wallet::{Paths, Reservation, Wallet, WalletChange};

/// Where an intent stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Status {
    /// Not ended: unpaid, unknown, or paid and still without its answer.
    Open,
    /// The answer was had to its last byte.
    Delivered,
    /// Paid; the answer could not be had. A claim is held.
    PaidNotDelivered,
    /// Closed by the caller as a claim.
    Released,
}

impl Status {
    /// The text in the journal.
    pub const fn as_str(self) -> &'static str {
        match self {
            Status::Open => "open",
            Status::Delivered => "delivered",
            Status::PaidNotDelivered => "paid_not_delivered",
            Status::Released => "released",
        }
    }

    fn from_json(json: &Json) -> Result<Status, Error> {
        let text = json.as_str()?;
        [
            Status::Open,
            Status::Delivered,
            Status::PaidNotDelivered,
            Status::Released,
        ]
        .into_iter()
        .find(|status| status.as_str() == text)
        .ok_or_else(|| Error::new(Code::StateInvalid, ""))
    }
}

/// Payer, network, token and the way it is moved, fixed by the first attempt.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Rail {
    /// Network.
    pub network: Network,
    /// Token.
    pub asset: Address,
    /// Payer.
    pub payer: Address,
    /// How the token is moved.
    pub method: Method,
    /// Which protocol carries the payment.
    pub protocol: Protocol,
}

impl Rail {
    fn to_json(&self) -> Json {
        // Records from before there was another name none.
        let other = (self.protocol != Protocol::X402).then(|| Json::text(self.protocol.as_str()));
        Json::object([
            ("network", self.network.to_json()),
            ("asset", self.asset.to_json()),
            ("payer", self.payer.to_json()),
            ("method", Json::text(self.method.as_str())),
        ])
        .with_some("protocol", other)
    }

    fn from_json(json: &Json) -> Result<Rail, Error> {
        Ok(Rail {
            network: json.read("network", Network::from_json)?,
            asset: json.read("asset", Address::from_json)?,
            payer: json.read("payer", Address::from_json)?,
            method: json
                .read_opt("method", Method::from_json)?
                .unwrap_or(Method::Eip3009),
            protocol: json
                .read_opt("protocol", Protocol::from_json)?
                .unwrap_or(Protocol::X402),
        })
    }
}

/// How long a price is taken to hold where the seller says nothing: 15 minutes, as shops in the field hold a quote and its
/// stock.
pub const QUOTE_HELD: Seconds = 900;

/// One frozen offer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Quote {
    /// [`crate::quote::quote_hash`].
    pub quote_hash: [u8; 32],
    /// The offer as it came, and what belongs to it of the rest of the 402 answer.
    pub offered: Offered,
    /// When it was seen.
    pub seen_at: Seconds,
}

impl Quote {
    /// As the journal holds it.
    pub fn to_json(&self) -> Json {
        Json::object([
            ("quoteHash", Json::text(hex::encode(self.quote_hash))),
            ("requirements", self.offered.requirements()),
            ("required", self.offered.required()),
            ("seenAt", Json::number(self.seen_at)),
        ])
    }

    /// Reads [`Quote::to_json`]. Errors: those of the fields.
    pub fn from_json(json: &Json) -> Result<Quote, Error> {
        Ok(Quote {
            quote_hash: json.read("quoteHash", Json::as_hex)?,
            offered: Offered::read(json.require("required")?, json.require("requirements")?)?,
            seen_at: json.read("seenAt", Json::as_u64)?,
        })
    }
}

/// An intent, as the journal holds it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Intent {
    /// Its digest.
    pub intent_id: String,
    /// The payer.
    pub principal: Address,
    /// The caller's own id, when one was given.
    pub id: Option<String>,
    /// Display only.
    pub purpose: Option<String>,
    /// Run or session.
    pub scope: String,
    /// Parent intent.
    pub parent: Option<String>,
    /// Position among equal unnamed calls.
    pub occurrence: u64,
    /// What is bought.
    pub request: Request,
    /// When it was written down.
    pub created_at: Seconds,
    /// When it was last changed.
    pub updated_at: Seconds,
    /// Where it stands.
    pub status: Status,
    /// Why it was released.
    pub reason: Option<String>,
    /// Fixed by the first attempt.
    pub rail: Option<Rail>,
    /// Nonces closed by a final cancellation.
    pub generation: u64,
    /// Nonce and payment id are keyed with the payer's secret.
    pub keyed: bool,
    /// The payer is a contract: its signatures are its own to judge.
    pub contract_wallet: bool,
    /// Every offer that an attempt pays.
    pub quotes: Vec<Quote>,
    /// Every attempt.
    pub attempts: Vec<Attempt>,
    /// The most that it may cost, where the first call or a hand-over said so.
    pub budget: Option<Amount>,
    /// The last time it was handed over.
    pub handed: Option<Handed>,
    /// `{at, attemptId, status, headers, sha256, length, body?, taken}`.
    pub delivery: Option<Json>,
    /// `{at, intentId, quoteHash, transaction, sha256, why, final?, releasedAt?, file?}`; `file` is the text of the signed claim, `final` is false
    /// while the block of the payment can still be replaced.
    pub claim: Option<Json>,
}

impl Intent {
    /// The journal key of an intent.
    pub fn key(intent_id: &str) -> String {
        format!("intent/{intent_id}")
    }

    /// Under this id the wallet holds the amount of the current generation.
    pub fn reservation(&self) -> String {
        format!("{}#{}", self.intent_id, self.generation)
    }

    /// What is to be held for it: the most that can still land, of what competes for one nonce the largest amount, of several nonces the sum. Who
    /// has it is not said, so it counts against every recipient. Errors: `state_invalid` (nothing was signed), `amount_invalid`.
    pub fn held(&self, now: Seconds) -> Result<Reservation, Error> {
        let rail = self.rail.as_ref();
        let rail = rail.ok_or_else(|| Error::new(Code::StateInvalid, "rail"))?;
        let too_much = || Error::new(Code::AmountInvalid, "attempts");
        let live = self.attempts.iter().filter(|attempt| attempt.state.is_live());
        let mut largest = BTreeMap::new();
        for slot in live.flat_map(Attempt::slots) {
            let amount = slot.authorization.cost().ok_or_else(too_much)?;
            let entry = largest.entry(slot.authorization.nonce()).or_insert(amount);
            *entry = amount.max(*entry);
        }
        let sum = largest.into_values().try_fold(Amount::ZERO, Amount::checked_add);
        Ok(Reservation {
            id: self.reservation(),
            spent: Spent {
                network: rail.network.clone(),
                asset: rail.asset,
                amount: sum.ok_or_else(too_much)?,
                at: now,
                state: SpentState::Reserved,
                to: Vec::new(),
            },
            approval: None,
            place: None,
            call: None,
            approved: None,
            yes: false,
            nonce: None,
        })
    }

    /// The attempt that counts: the one that was paid, else the last.
    pub fn current(&self) -> Option<&Attempt> {
        self.attempts.get(self.counting()?)
    }

    /// The attempt that counts, to change.
    pub fn current_mut(&mut self) -> Option<&mut Attempt> {
        let at = self.counting()?;
        self.attempts.get_mut(at)
    }

    fn counting(&self) -> Option<usize> {
        let paid = self
            .attempts
            .iter()
            .position(|attempt| attempt.state == State::Paid);
        paid.or_else(|| self.attempts.len().checked_sub(1))
    }

    /// Keeps an offer, where it is not kept yet.
    pub fn keep(&mut self, quote: Quote) {
        let known = |known: &Quote| known.quote_hash == quote.quote_hash;
        if !self.quotes.iter().any(known) {
            self.quotes.push(quote);
        }
    }

    /// Whether this actor may sign for it: it was never handed over, or this one was given it and has taken it.
    pub fn may_sign(&self, actor: &str) -> bool {
        self.handed
            .as_ref()
            .is_none_or(|handed| handed.to == actor && handed.taken_at.is_some())
    }

    /// Whether it was ever handed over: its limits are those of the hand-over.
    pub fn was_given(&self) -> bool {
        self.handed.is_some()
    }

    /// Whether the seller ever said that another request holds the payment id. Nothing is signed for such an intent again,
    /// and nothing more is sent: the chain alone says where its money is.
    pub fn is_conflicted(&self) -> bool {
        self.attempts
            .iter()
            .flat_map(|attempt| &attempt.observations)
            .any(|seen| seen.outcome == Outcome::Conflict.as_str())
    }

    /// Quotes that no attempt has paid and whose price may still hold: seen less than [`QUOTE_HELD`] ago.
    pub fn open_quotes(&self, now: Seconds) -> usize {
        let paid = |quote: &&Quote| {
            self.attempts
                .iter()
                .any(|attempt| attempt.state == State::Paid && attempt.quote_hash == quote.quote_hash)
        };
        self.quotes
            .iter()
            .filter(|quote| now < quote.seen_at.saturating_add(QUOTE_HELD))
            .filter(|quote| !paid(quote))
            .count()
    }

    /// The attempt that is known to have moved money.
    pub fn moved(&self) -> Option<&Attempt> {
        self.attempts.iter().find(|attempt| attempt.has_moved())
    }

    /// Whether the money that is known to have moved was only seen in a block that can still be replaced.
    pub fn is_provisional(&self) -> bool {
        let claimed = self.claim.as_ref().and_then(|claim| claim.get("final"));
        match self.moved() {
            Some(attempt) => attempt.is_provisional(),
            // A lost journal: the claim is all there is.
            None => claimed == Some(&Json::Bool(false)),
        }
    }

    /// Whether every attempt is proven never to land.
    pub fn all_void(&self) -> bool {
        self.attempts.iter().all(|attempt| attempt.state.is_void())
    }

    /// Whether a person or [`crate::client`] still has something to settle.
    pub fn is_settled(&self) -> bool {
        match self.status {
            Status::Open => self.attempts.is_empty() || self.all_void(),
            Status::Delivered | Status::Released => {
                !self.is_provisional() && self.attempts.iter().all(|attempt| !attempt.state.is_live())
            }
            Status::PaidNotDelivered => false,
        }
    }

    /// Who knows version 1 alone must not take the first authorization of a split payment for all of it, nor sign with a nonce of
    /// its own beside one that a challenge dictated.
    fn version(&self) -> u64 {
        let split = self.attempts.iter().any(|attempt| !attempt.parts.is_empty());
        let dictated = self
            .quotes
            .iter()
            .any(|quote| quote.offered.challenge().is_some());
        match split || dictated {
            true => 2,
            false => 1,
        }
    }

    /// As the journal holds it.
    pub fn to_json(&self) -> Result<Json, Error> {
        let request = self.request.to_json().with(
            "fingerprint",
            Json::text(hex::encode(self.request.fingerprint()?)),
        );
        Ok(Json::object([
            ("v", Json::number(self.version())),
            ("kind", Json::text("intent")),
            ("intentId", Json::text(self.intent_id.as_str())),
            ("principal", self.principal.to_json()),
        ])
        .with_some("id", self.id.clone().map(Json::String))
        .with_some("purpose", self.purpose.clone().map(Json::String))
        .with("scope", Json::text(self.scope.as_str()))
        .with_some("parent", self.parent.clone().map(Json::String))
        .with("occurrence", Json::number(self.occurrence))
        .with("request", request)
        .with("createdAt", Json::number(self.created_at))
        .with("updatedAt", Json::number(self.updated_at))
        .with("status", Json::text(self.status.as_str()))
        .with_some("reason", self.reason.clone().map(Json::String))
        .with_some("rail", self.rail.as_ref().map(Rail::to_json))
        .with("generation", Json::number(self.generation))
        .with("keyed", Json::Bool(self.keyed))
        .with_some("contractWallet", self.contract_wallet.then_some(Json::Bool(true)))
        .with(
            "quotes",
            Json::Array(self.quotes.iter().map(Quote::to_json).collect()),
        )
        .with(
            "attempts",
            Json::Array(self.attempts.iter().map(Attempt::to_json).collect()),
        )
        .with_some("budget", self.budget.map(|budget| budget.to_json()))
        .with_some("handOver", self.handed.as_ref().map(Handed::to_json))
        .with_some("delivery", self.delivery.clone())
        .with_some("claim", self.claim.clone()))
    }

    /// Reads [`Intent::to_json`]. Errors: `unsupported_version`, those of the fields with their path, `state_invalid` when the
    /// fingerprint is not that of the request.
    pub fn from_json(json: &Json) -> Result<Intent, Error> {
        version(json, "intent", &[1, 2])?;
        let request = json.read("request", Request::from_json)?;
        let fingerprint = json.read("request", |request| {
            request.read("fingerprint", |hash| hex::decode_array::<32>(hash.as_str()?))
        })?;
        if fingerprint != request.fingerprint()? {
            return Err(Error::new(Code::StateInvalid, "request.fingerprint"));
        }
        let intent = Intent {
            intent_id: json.read("intentId", Json::as_string)?,
            principal: json.read("principal", Address::from_json)?,
            id: json.read_opt("id", Json::as_string)?,
            purpose: json.read_opt("purpose", Json::as_string)?,
            scope: json.read("scope", Json::as_string)?,
            parent: json.read_opt("parent", Json::as_string)?,
            occurrence: json.read("occurrence", Json::as_u64)?,
            request,
            created_at: json.read("createdAt", Json::as_u64)?,
            updated_at: json.read("updatedAt", Json::as_u64)?,
            status: json.read("status", Status::from_json)?,
            reason: json.read_opt("reason", Json::as_string)?,
            rail: json.read_opt("rail", Rail::from_json)?,
            generation: json.read("generation", Json::as_u64)?,
            keyed: json.read("keyed", Json::as_bool)?,
            contract_wallet: json.read_opt("contractWallet", Json::as_bool)?.unwrap_or(false),
            quotes: json.read("quotes", |quotes| quotes.as_list(Quote::from_json))?,
            attempts: json.read("attempts", |attempts| attempts.as_list(Attempt::from_json))?,
            budget: json.read_opt("budget", Amount::from_json)?,
            handed: json.read_opt("handOver", Handed::from_json)?,
            delivery: json.get("delivery").cloned(),
            claim: json.get("claim").cloned(),
        };
        match json.read("v", Json::as_u64)? == intent.version() {
            true => Ok(intent),
            false => Err(Error::new(Code::UnsupportedVersion, "v")),
        }
    }
}

/// Checks `v` and `kind` of a record. Errors: `unsupported_version`, `state_invalid`.
fn version(json: &Json, kind: &str, known: &[u64]) -> Result<(), Error> {
    if !known.contains(&json.read("v", Json::as_u64)?) {
        return Err(Error::new(Code::UnsupportedVersion, "v"));
    }
    if json.read("kind", Json::as_str)? != kind {
        return Err(Error::new(Code::StateInvalid, "kind"));
    }
    Ok(())
}

/// The last occurrence of a series of unnamed calls.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Series {
    /// Occurrence number, from 0.
    pub occurrence: u64,
}

impl Series {
    /// As the journal holds it.
    pub fn to_json(&self) -> Json {
        Json::object([
            ("v", Json::number(1)),
            ("kind", Json::text("series")),
            ("occurrence", Json::number(self.occurrence)),
        ])
    }

    /// Reads [`Series::to_json`]. Errors: `unsupported_version`, `state_invalid`.
    pub fn from_json(json: &Json) -> Result<Series, Error> {
        version(json, "series", &[1])?;
        Ok(Series {
            occurrence: json.read("occurrence", Json::as_u64)?,
        })
    }
}

/// Reads a record's text. Errors: those of the JSON reader and of `read`.
pub fn from_text<T>(text: &str, read: impl FnOnce(&Json) -> Result<T, Error>) -> Result<T, Error> {
    read(&json::parse(text)?)
}

/// Marks every live attempt of the current generation.
pub fn close_siblings(intent: &mut Intent, state: State) {
    let generation = intent.generation;
    for attempt in intent.attempts.iter_mut() {
        if attempt.generation == generation && attempt.state.is_live() {
            attempt.state = state;
        }
    }
}
