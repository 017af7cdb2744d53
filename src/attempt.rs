//! One signed authorization of an intent and what became of it. Sending the same bytes again is not a new attempt.

mod part;

use crate::amount::Amount;
use crate::authorization::Authorization;
use crate::error::{Code, Error, Money, Next};
use crate::hex;
use crate::json::Json;
use crate::outcome::Classification;
use crate::time::Seconds;

use part::parts;
pub use part::{Part, Slot, SlotMut, MAX_PARTS};

/// Where an attempt stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum State {
    /// Written down, not signed.
    Planned,
    /// Signed and journalled with its first send: the bytes may have left.
    Sent,
    /// A matching transfer was read from the chain.
    Paid,
    /// Proven: it can never land.
    Dead,
    /// Proven: its nonce was burnt by a cancellation.
    Cancelled,
    /// The nonce was used by a transfer on other terms.
    WrongTerms,
    /// Of several authorizations some were paid, and the others are proven never to land.
    PartlyPaid,
}

impl State {
    const ALL: [State; 7] = [
        State::Planned,
        State::Sent,
        State::Paid,
        State::Dead,
        State::Cancelled,
        State::WrongTerms,
        State::PartlyPaid,
    ];

    /// The text in the journal.
    pub const fn as_str(self) -> &'static str {
        match self {
            State::Planned => "planned",
            State::Sent => "sent",
            State::Paid => "paid",
            State::Dead => "dead",
            State::Cancelled => "cancelled",
            State::WrongTerms => "wrong_terms",
            State::PartlyPaid => "partly_paid",
        }
    }

    /// Reads the text in the journal. Error: `state_invalid`.
    pub fn from_json(json: &Json) -> Result<State, Error> {
        let text = json.as_str()?;
        State::ALL
            .into_iter()
            .find(|state| state.as_str() == text)
            .ok_or_else(|| Error::new(Code::StateInvalid, ""))
    }

    /// It can still land, or it is not known whether it did.
    pub const fn is_live(self) -> bool {
        matches!(self, State::Planned | State::Sent)
    }

    /// What a state that is reached only by a proof says: the outcome, the money, and what is safe to do next.
    pub const fn proven(self) -> Option<(&'static str, Money, Next)> {
        match self {
            State::Planned | State::Sent => None,
            State::Paid => Some(("paid", Money::Proven, Next::LookupReceipt)),
            State::Dead => Some(("dead", Money::None, Next::SafeToResign)),
            State::Cancelled => Some(("cancelled", Money::None, Next::SafeToResign)),
            State::WrongTerms => Some(("paid_wrong_terms", Money::Proven, Next::AskHuman)),
            State::PartlyPaid => Some(("partly_paid", Money::Proven, Next::AskHuman)),
        }
    }

    /// Proven never to land.
    pub const fn is_void(self) -> bool {
        matches!(self, State::Dead | State::Cancelled)
    }
}

/// What one send brought back.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Observation {
    /// When.
    pub at: Seconds,
    /// HTTP status, when there was an answer.
    pub status: Option<u64>,
    /// `timeout`, `reset`, `aborted` or `refused_before_send`, when there was none.
    pub transport: Option<String>,
    /// Outcome of [`crate::outcome::classify`].
    pub outcome: String,
    /// Its code.
    pub code: String,
    /// Transaction named by the seller.
    pub transaction: Option<String>,
}

impl Observation {
    /// What a classified answer leaves behind.
    pub fn new(at: Seconds, status: Option<u64>, transport: Option<String>, seen: &Classification) -> Self {
        Observation {
            at,
            status,
            transport,
            outcome: seen.outcome.as_str().to_owned(),
            code: seen.code.clone(),
            transaction: seen.transaction.clone(),
        }
    }

    fn to_json(&self) -> Json {
        Json::object([("at", Json::number(self.at))])
            .with_some("status", self.status.map(Json::number))
            .with_some("transport", self.transport.clone().map(Json::String))
            .with("outcome", Json::text(self.outcome.as_str()))
            .with("code", Json::text(self.code.as_str()))
            .with_some("transaction", self.transaction.clone().map(Json::String))
    }

    fn from_json(json: &Json) -> Result<Self, Error> {
        Ok(Observation {
            at: json.read("at", Json::as_u64)?,
            status: json.read_opt("status", Json::as_u64)?,
            transport: json.read_opt("transport", Json::as_string)?,
            outcome: json.read("outcome", Json::as_string)?,
            code: json.read("code", Json::as_string)?,
            transaction: json.read_opt("transaction", Json::as_string)?,
        })
    }
}

/// The header that carried the payment: the exact bytes that may be sent again.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Header {
    /// `PAYMENT-SIGNATURE` or `X-PAYMENT`, `Authorization` or `Payment-Authorization`.
    pub name: String,
    /// Its value.
    pub value: String,
}

impl Header {
    /// `{name, value}`.
    pub fn to_json(&self) -> Json {
        Json::object([
            ("name", Json::text(self.name.as_str())),
            ("value", Json::text(self.value.as_str())),
        ])
    }

    fn from_json(json: &Json) -> Result<Self, Error> {
        Ok(Header {
            name: json.read("name", Json::as_string)?,
            value: json.read("value", Json::as_string)?,
        })
    }
}

/// One attempt, as the journal holds it. A split payment has several authorizations: the first stands here, the others are its
/// parts, and `state` is that of all of them together.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Attempt {
    /// `<intentId>/<index>`.
    pub attempt_id: String,
    /// The frozen offer that it pays.
    pub quote_hash: [u8; 32],
    /// The id under which the seller can find the work again.
    pub payment_id: Option<String>,
    /// Generation of the nonce.
    pub generation: u64,
    /// What is signed, and under which domain.
    pub authorization: Authorization,
    /// Present once signed.
    pub signature: Option<String>,
    /// The authorizations beyond the first, in the order of their nonces' index, from 1.
    pub parts: Vec<Part>,
    /// Present once signed.
    pub header: Option<Header>,
    /// When it was written down.
    pub planned_at: Seconds,
    /// When the signature was journalled.
    pub signed_at: Option<Seconds>,
    /// Every send, written down before it happens.
    pub sends: Vec<Seconds>,
    /// The latest answers.
    pub observations: Vec<Observation>,
    /// Raw `PAYMENT-RESPONSE` value of the answer that reported success.
    pub settlement: Option<String>,
    /// Raw `Payment-Receipt` value of that answer, where the Payment scheme carried the payment.
    pub receipt: Option<String>,
    /// Where it stands.
    pub state: State,
    /// The transaction that paid it, read from the chain.
    pub transaction: Option<String>,
    /// The last verdict of `resolve` on the chain evidence, with `readAt`.
    pub verdict: Option<Json>,
    /// The reads behind it.
    pub evidence: Vec<Json>,
    /// The signature over a cancellation of its nonce, written down before it is handed out: `{at, signature}`.
    pub cancellation: Option<Json>,
    /// The actor that signed it and handed the intent over without its bytes: they are in that one's journal alone.
    pub given_by: Option<String>,
    /// Where the call that planned it stands in a trace ([`crate::traceparent`]).
    pub traceparent: Option<String>,
}

/// Whether a recorded verdict is about a block that can still be replaced.
pub fn is_not_final(verdict: &Json) -> bool {
    let reasons = verdict.get("reasons").and_then(|list| list.as_array().ok());
    reasons.is_some_and(|list| list.contains(&Json::text("not_final")))
}

fn moved(verdict: &Json) -> bool {
    let kind = verdict.get("verdict").and_then(|kind| kind.as_str().ok());
    matches!(kind, Some("paid" | "paid_wrong_terms"))
}

/// Observations kept; older ones are dropped so that a record's size stays bounded.
const OBSERVATIONS_KEPT: usize = 16;

impl Attempt {
    /// Remembers an answer.
    pub fn observe(&mut self, observation: Observation) {
        if self.observations.len() >= OBSERVATIONS_KEPT {
            self.observations.remove(0);
        }
        self.observations.push(observation);
    }

    /// What another worker is told of it: everything but its bytes and what came back.
    #[must_use]
    pub fn in_flight(&self, by: &str) -> Attempt {
        Attempt {
            signature: None,
            parts: self
                .parts
                .iter()
                .map(|part| Part::planned(part.authorization.clone()))
                .collect(),
            header: None,
            observations: Vec::new(),
            settlement: None,
            transaction: None,
            verdict: None,
            evidence: Vec::new(),
            cancellation: None,
            given_by: Some(self.given_by.clone().unwrap_or_else(|| by.to_owned())),
            traceparent: None,
            ..self.clone()
        }
    }

    /// Last second at which it can land, plus one. Authorizations here are signed by us, so the value fits.
    pub fn valid_before(&self) -> Seconds {
        self.authorization.valid_before().to_u64().unwrap_or(u64::MAX)
    }

    /// Every authorization, in the order of the nonces' index.
    pub fn slots(&self) -> impl Iterator<Item = Slot<'_>> {
        let first = Slot {
            authorization: &self.authorization,
            signature: self.signature.as_deref(),
            verdict: self.verdict.as_ref(),
            evidence: &self.evidence,
            cancellation: self.cancellation.as_ref(),
        };
        core::iter::once(first).chain(self.parts.iter().map(Part::slot))
    }

    /// The authorization at that index.
    pub fn slot(&self, index: usize) -> Option<Slot<'_>> {
        self.slots().nth(index)
    }

    /// The authorization at that index, to change.
    pub fn slot_mut(&mut self, index: usize) -> Option<SlotMut<'_>> {
        let Some(at) = index.checked_sub(1) else {
            return Some(SlotMut {
                signature: &mut self.signature,
                transaction: &mut self.transaction,
                verdict: &mut self.verdict,
                evidence: &mut self.evidence,
                cancellation: &mut self.cancellation,
            });
        };
        let part = self.parts.get_mut(at)?;
        Some(SlotMut {
            signature: &mut part.signature,
            transaction: &mut part.transaction,
            verdict: &mut part.verdict,
            evidence: &mut part.evidence,
            cancellation: &mut part.cancellation,
        })
    }

    /// What is signed for this nonce.
    pub fn signed_for(&self, nonce: &[u8; 32]) -> Option<&Authorization> {
        self.slots()
            .find(|slot| {
                let signed = slot.signature.is_some() || self.given_by.is_some();
                signed && slot.authorization.nonce() == *nonce
            })
            .map(|slot| slot.authorization)
    }

    /// The atomic units of all its authorizations together. A sum that overflows is the largest number there is.
    pub fn value(&self) -> Amount {
        self.slots()
            .map(|slot| slot.authorization.value())
            .fold(Amount::ZERO, Amount::saturating_add)
    }

    /// Whether money was seen to move in a block that can still be replaced, and in no final one.
    pub fn is_provisional(&self) -> bool {
        let provisional = |slot: Slot| {
            slot.verdict
                .is_some_and(|verdict| moved(verdict) && is_not_final(verdict))
        };
        self.has_moved() && self.slots().any(provisional)
    }

    /// Whether money was seen to move under one of its nonces.
    pub const fn has_moved(&self) -> bool {
        matches!(self.state.proven(), Some((_, Money::Proven, _)))
    }

    /// Whether the seller said that it settled.
    pub fn is_said_settled(&self) -> bool {
        self.settlement.is_some() || self.receipt.is_some()
    }

    /// The transaction that settled it: read from the chain, else as the seller named it.
    pub fn settled_in(&self) -> Option<String> {
        let named = || {
            self.observations
                .iter()
                .rev()
                .find_map(|seen| seen.transaction.clone())
        };
        self.transaction.clone().or_else(named)
    }

    /// As the journal holds it.
    pub fn to_json(&self) -> Json {
        let list = |items: Vec<Json>| (!items.is_empty()).then_some(Json::Array(items));
        let record = Json::object([
            ("attemptId", Json::text(self.attempt_id.as_str())),
            ("quoteHash", Json::text(hex::encode(self.quote_hash))),
        ])
        .with_some("paymentId", self.payment_id.clone().map(Json::String))
        .with("generation", Json::number(self.generation));
        self.authorization
            .write(record)
            .with_some("signature", self.signature.clone().map(Json::String))
            .with_some("parts", list(self.parts.iter().map(Part::to_json).collect()))
            .with_some("header", self.header.as_ref().map(Header::to_json))
            .with("plannedAt", Json::number(self.planned_at))
            .with_some("signedAt", self.signed_at.map(Json::number))
            .with_some(
                "sends",
                list(self.sends.iter().copied().map(Json::number).collect()),
            )
            .with_some(
                "observations",
                list(self.observations.iter().map(Observation::to_json).collect()),
            )
            .with_some("settlement", self.settlement.clone().map(Json::String))
            .with_some("receipt", self.receipt.clone().map(Json::String))
            .with("state", Json::text(self.state.as_str()))
            .with_some("transaction", self.transaction.clone().map(Json::String))
            .with_some("verdict", self.verdict.clone())
            .with_some("evidence", list(self.evidence.clone()))
            .with_some("cancellation", self.cancellation.clone())
            .with_some("givenBy", self.given_by.clone().map(Json::String))
            .with_some("traceparent", self.traceparent.clone().map(Json::String))
    }

    /// Reads [`Attempt::to_json`]. Errors: those of the fields, with their path.
    pub fn from_json(json: &Json) -> Result<Attempt, Error> {
        Ok(Attempt {
            attempt_id: json.read("attemptId", Json::as_string)?,
            quote_hash: json.read("quoteHash", Json::as_hex)?,
            payment_id: json.read_opt("paymentId", Json::as_string)?,
            generation: json.read("generation", Json::as_u64)?,
            authorization: Authorization::read(json)?,
            signature: json.read_opt("signature", Json::as_string)?,
            parts: json.read_opt("parts", parts)?.unwrap_or_default(),
            header: json.read_opt("header", Header::from_json)?,
            planned_at: json.read("plannedAt", Json::as_u64)?,
            signed_at: json.read_opt("signedAt", Json::as_u64)?,
            sends: json
                .read_opt("sends", |sends| sends.as_list(Json::as_u64))?
                .unwrap_or_default(),
            observations: json
                .read_opt("observations", |seen| seen.as_list(Observation::from_json))?
                .unwrap_or_default(),
            settlement: json.read_opt("settlement", Json::as_string)?,
            receipt: json.read_opt("receipt", Json::as_string)?,
            state: json.read("state", State::from_json)?,
            transaction: json.read_opt("transaction", Json::as_string)?,
            verdict: json.get("verdict").cloned(),
            evidence: json
                .read_opt("evidence", |list| list.as_list(|item| Ok(item.clone())))?
                .unwrap_or_default(),
            cancellation: json.get("cancellation").cloned(),
            given_by: json.read_opt("givenBy", Json::as_string)?,
            traceparent: json.read_opt("traceparent", Json::as_string)?,
        })
    }
}
