//! What happened to a purchase, step by step, by the payer's clock.

use super::invalid;
use crate::attempt::Attempt;
use crate::error::Error;
use crate::hex;
use crate::json::Json;
use crate::time::Seconds;

/// One step.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Event {
    /// When.
    pub at: Seconds,
    /// Of which attempt, counted from 0; none for what concerns the whole purchase.
    pub attempt: Option<u64>,
    /// What.
    pub what: What,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum What {
    /// The authorization was written down.
    Planned,
    /// The payer signed it.
    Signed,
    /// The signed bytes went out, the first time or again.
    Sent,
    /// What one send brought back.
    Observed {
        /// HTTP status, when there was an answer.
        status: Option<u64>,
        /// How the transport failed, when there was none.
        transport: Option<String>,
        /// What it was taken for.
        outcome: String,
        /// Its code.
        code: String,
        /// The transaction that the seller named.
        transaction: Option<String>,
    },
    /// The last read of the chain.
    Read {
        /// Of which further part of a split payment, counted from 1; none for the first.
        part: Option<u64>,
        /// What it said.
        verdict: String,
        /// The transaction that it showed.
        transaction: Option<String>,
    },
    /// The answer was given up.
    Claimed {
        /// Why.
        why: String,
    },
    /// The purchase was closed.
    Released {
        /// Why, in the payer's words.
        reason: Option<String>,
    },
}

impl What {
    const fn as_str(&self) -> &'static str {
        match self {
            What::Planned => "planned",
            What::Signed => "signed",
            What::Sent => "sent",
            What::Observed { .. } => "observed",
            What::Read { .. } => "read",
            What::Claimed { .. } => "claimed",
            What::Released { .. } => "released",
        }
    }
}

impl Event {
    /// The steps of one attempt, in the order in which a record keeps them.
    pub fn of_attempt(number: u64, attempt: &Attempt) -> Vec<Event> {
        let event = |at, what| Event {
            at,
            attempt: Some(number),
            what,
        };
        let mut events = vec![event(attempt.planned_at, What::Planned)];
        events.extend(attempt.signed_at.map(|at| event(at, What::Signed)));
        events.extend(attempt.sends.iter().map(|at| event(*at, What::Sent)));
        events.extend(attempt.observations.iter().map(|seen| {
            let what = What::Observed {
                status: seen.status,
                transport: seen.transport.clone(),
                outcome: seen.outcome.clone(),
                code: seen.code.clone(),
                transaction: seen.transaction.clone(),
            };
            event(seen.at, what)
        }));
        let reads = (0..).zip(attempt.slots()).filter_map(|(part, slot)| {
            let verdict = slot.verdict?;
            let text = |name: &str| verdict.get(name).and_then(|text| text.as_string().ok());
            let at = verdict.get("readAt").and_then(|at| at.as_u64().ok())?;
            Some(event(
                at,
                What::Read {
                    part: Some(part).filter(|part| *part > 0),
                    verdict: text("verdict")?,
                    transaction: text("transaction"),
                },
            ))
        });
        events.extend(reads);
        events
    }

    /// Reads [`Event::to_json`]. Errors: `receipt_invalid` for a step that is not known, those of the fields.
    pub fn from_json(json: &Json) -> Result<Event, Error> {
        let text = |name: &str| json.read(name, Json::as_string);
        let hash = |json: &Json| hex::decode_array::<32>(json.as_str()?).and(json.as_string());
        let what = match json.read("event", Json::as_str)? {
            "planned" => What::Planned,
            "signed" => What::Signed,
            "sent" => What::Sent,
            "observed" => What::Observed {
                status: json.read_opt("status", Json::as_u64)?,
                transport: json.read_opt("transport", Json::as_string)?,
                outcome: text("outcome")?,
                code: text("code")?,
                transaction: json.read_opt("transaction", Json::as_string)?,
            },
            "read" => What::Read {
                part: json.read_opt("part", Json::as_u64)?,
                verdict: text("verdict")?,
                transaction: json.read_opt("transaction", hash)?,
            },
            "claimed" => What::Claimed { why: text("why")? },
            "released" => What::Released {
                reason: json.read_opt("reason", Json::as_string)?,
            },
            _ => return Err(invalid("event")),
        };
        Ok(Event {
            at: json.read("at", Json::as_u64)?,
            attempt: json.read_opt("attempt", Json::as_u64)?,
            what,
        })
    }

    /// `{at, event, attempt?, …}`.
    pub fn to_json(&self) -> Json {
        let some = |text: &Option<String>| text.as_deref().map(Json::text);
        let event = Json::object([
            ("at", Json::number(self.at)),
            ("event", Json::text(self.what.as_str())),
        ])
        .with_some("attempt", self.attempt.map(Json::number));
        match &self.what {
            What::Planned | What::Signed | What::Sent => event,
            What::Observed {
                status,
                transport,
                outcome,
                code,
                transaction,
            } => event
                .with_some("status", status.map(Json::number))
                .with_some("transport", some(transport))
                .with("outcome", Json::text(outcome.as_str()))
                .with("code", Json::text(code.as_str()))
                .with_some("transaction", some(transaction)),
            What::Read {
                part,
                verdict,
                transaction,
            } => event
                .with_some("part", part.map(Json::number))
                .with("verdict", Json::text(verdict.as_str()))
                .with_some("transaction", some(transaction)),
            What::Claimed { why } => event.with("why", Json::text(why.as_str())),
            What::Released { reason } => event.with_some("reason", some(reason)),
        }
    }
}
