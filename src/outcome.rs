//! What an answer to a paid request means.
//!
//! A code in the body first, the status second, hints last. Whatever is not understood is *unknown*: the signed
//! authorization stays with the seller and can land, so nothing here ever says that paying again is safe.
//!
//! | answer | outcome | money | next | code |
//! |---|---|---|---|---|
//! | refused before anything was sent, first send | rejected | none | resend_same | `not_sent` |
//! | timeout, reset, abort, no status | unknown | possible | resend_same | `outcome_unknown` |
//! | the same, after a header that says settled | unknown | proven | resend_same | `body_truncated` |
//! | a conflict code | conflict | possible | stop | that code |
//! | an in-flight code | in_flight | possible | wait | that code |
//! | a code that says the authorization is used | unknown | possible | read_chain | that code |
//! | a code about the seller's order | unknown | possible | read_order | that code |
//! | 2xx, settlement `success:true` with a transaction hash | settled | proven | stop | `settled` |
//! | 2xx, a settlement that can't be read or names no hash | delivered | possible | read_chain | `delivered_unverified` |
//! | 2xx without settlement | unknown | possible | read_chain | `delivered_unconfirmed` |
//! | other status, settlement `success:true` | unknown | proven | resend_same | `paid_not_delivered` |
//! | 402, first send, a verify refusal of the list, no hash | rejected | possible | wait | that code |
//! | 402 else, also `settlement_pending` in the header | unknown | possible | read_chain | that code or `outcome_unknown` |
//! | bare 409, first send | in_flight | possible | wait | `payment_in_flight` |
//! | bare 409 on a resend, 3xx, other 4xx | unknown | possible | read_chain | `outcome_unknown` |
//! | 408, 425, 429 | unknown | possible | wait | `outcome_unknown` |
//! | 5xx | unknown | possible | resend_same | `outcome_unknown` |
//!
//! *Proven* here rests on the seller's word against itself; only the chain proves it to others.

mod codes;
mod retry_after;

use crate::error::{Error, Money, Next};
use crate::json::{self, Json};
use crate::x402::settlement_response::{self, SettlementResponse};
use crate::x402::{self, payment_required};
use codes::Family;

/// Code of an answer that came without a word about the settlement.
pub const DELIVERED_UNCONFIRMED: &str = "delivered_unconfirmed";

/// The classes of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// Delivered, and the seller names the transaction.
    Settled,
    /// Delivered, with a settlement statement that can't be used.
    Delivered,
    /// Refused; the seller may still hold an authorization that can land.
    Rejected,
    /// The seller is still working on this payment.
    InFlight,
    /// The seller holds another request under this id.
    Conflict,
    /// Anything else.
    Unknown,
}

impl Outcome {
    /// The text used on every boundary.
    pub const fn as_str(self) -> &'static str {
        match self {
            Outcome::Settled => "settled",
            Outcome::Delivered => "delivered",
            Outcome::Rejected => "rejected",
            Outcome::InFlight => "in_flight",
            Outcome::Conflict => "conflict",
            Outcome::Unknown => "unknown",
        }
    }
}

/// What came back, or what kept it from coming.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Answer {
    /// `timeout`, `reset`, `aborted` or `refused_before_send`; any other text counts as a failure after the send.
    pub transport: Option<String>,
    /// HTTP status.
    pub status: Option<u64>,
    /// Header names in any case, values.
    pub headers: Vec<(String, String)>,
    /// Body text; looked at up to 1 MiB.
    pub body: Option<String>,
    /// When it came, for a `Retry-After` date in an answer without `Date`.
    pub received_at: Option<u64>,
    /// Whether these bytes were sent before.
    pub resend: bool,
}

/// What an answer means.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Classification {
    /// The class.
    pub outcome: Outcome,
    /// What is known about the money.
    pub money: Money,
    /// What is safe to do.
    pub next: Next,
    /// A code of the registry, of the table above or of the lists of known codes; never other text of the seller.
    pub code: String,
    /// Seconds to wait, 1 to 300, where the seller said so.
    pub retry_after: Option<u64>,
    /// The transaction that the seller names, when it is a 32-byte hash.
    pub transaction: Option<String>,
    /// The settlement response, when it could be read.
    pub settlement: Option<SettlementResponse>,
}

impl Answer {
    /// The answer from JSON. Errors: `invalid_type`, `number_out_of_range`.
    pub fn from_json(json: &Json) -> Result<Self, Error> {
        json.as_object()?;
        let headers = json.read_opt("headers", |headers| {
            let text = |(name, value): &(String, Json)| {
                value
                    .as_string()
                    .map(|value| (name.clone(), value))
                    .map_err(|error| error.within(name))
            };
            headers
                .as_object()?
                .iter()
                .filter(|(_, value)| *value != Json::Null)
                .map(text)
                .collect()
        })?;
        Ok(Answer {
            transport: json.read_opt("transport", Json::as_string)?,
            status: json.read_opt("status", Json::as_u64)?,
            headers: headers.unwrap_or_default(),
            body: json.read_opt("body", Json::as_string)?,
            received_at: json.read_opt("receivedAt", Json::as_u64)?,
            resend: json.read_opt("resend", Json::as_bool)?.unwrap_or(false),
        })
    }

    /// The value of a header. Two headers of one name that differ are as good as none: `Some(None)`.
    pub fn header(&self, name: &str) -> Option<Option<&str>> {
        let mut values = self
            .headers
            .iter()
            .filter(|(key, _)| key.eq_ignore_ascii_case(name));
        let (_, first) = values.next()?;
        Some(values.all(|(_, other)| other == first).then_some(first.as_str()))
    }

    fn body_json(&self) -> Option<Json> {
        let body = self.body.as_deref().filter(|body| body.len() <= x402::MAX_BODY)?;
        json::parse(body).ok()
    }

    /// The raw settlement header, by either name; the outer `None` when there is none.
    fn settlement_header(&self) -> Option<Option<&str>> {
        self.header(x402::PAYMENT_RESPONSE)
            .or_else(|| self.header(x402::X_PAYMENT_RESPONSE))
    }

    /// The raw value of the settlement header, when there is one and no other that differs.
    pub fn settlement_text(&self) -> Option<&str> {
        self.settlement_header().flatten()
    }

    fn settlement(&self) -> Settlement {
        match self.settlement_header() {
            None => Settlement::Absent,
            Some(value) => match value.map(settlement_response::parse) {
                Some(Ok(response)) => Settlement::Read(response),
                _ => Settlement::Unreadable,
            },
        }
    }
}

enum Settlement {
    Absent,
    Unreadable,
    Read(SettlementResponse),
}

impl Classification {
    /// Whether the answer's body is what was bought. A success that says "still working" or "not settled" is no delivery,
    /// whatever its status: taken for one, the next identical call would pay again.
    pub fn is_delivery(&self) -> bool {
        matches!(self.outcome, Outcome::Settled | Outcome::Delivered) || self.code == DELIVERED_UNCONFIRMED
    }

    /// `{outcome, money, next, code, retryAfter?, transaction?}`.
    pub fn to_json(&self) -> Json {
        Json::object([
            ("outcome", Json::text(self.outcome.as_str())),
            ("money", Json::text(self.money.as_str())),
            ("next", Json::text(self.next.as_str())),
            ("code", Json::text(self.code.as_str())),
        ])
        .with_some("retryAfter", self.retry_after.map(Json::number))
        .with_some("transaction", self.transaction.as_deref().map(Json::text))
    }
}

type Verdict = (Outcome, Money, Next, &'static str);

const fn unknown(next: Next, code: &'static str) -> Verdict {
    (Outcome::Unknown, Money::Possible, next, code)
}

/// Classifies an answer by the table at the head of this file. Never fails.
pub fn classify(answer: &Answer) -> Classification {
    let body = answer.body_json();
    let settlement = answer.settlement();
    let (outcome, money, next, code) = verdict(answer, body.as_ref(), &settlement);
    let settlement = match settlement {
        Settlement::Read(response) => Some(response),
        _ => None,
    };
    let done = matches!(outcome, Outcome::Settled | Outcome::Delivered);
    Classification {
        outcome,
        money,
        next,
        code: code.to_owned(),
        retry_after: if done {
            None
        } else {
            retry_after::seconds(answer, body.as_ref())
        },
        transaction: settlement.as_ref().and_then(SettlementResponse::transaction_hash),
        settlement,
    }
}

fn verdict(answer: &Answer, body: Option<&Json>, settlement: &Settlement) -> Verdict {
    let claimed = match settlement {
        Settlement::Read(response) => response.success && response.transaction_hash().is_some(),
        _ => false,
    };
    if answer.transport.as_deref() == Some("refused_before_send") && answer.status.is_none() && !answer.resend
    {
        return (Outcome::Rejected, Money::None, Next::ResendSame, "not_sent");
    }
    let Some(status) = answer.status.filter(|_| answer.transport.is_none()) else {
        return match claimed {
            true => (
                Outcome::Unknown,
                Money::Proven,
                Next::ResendSame,
                "body_truncated",
            ),
            false => unknown(Next::ResendSame, "outcome_unknown"),
        };
    };
    let delivered = (200..300).contains(&status);
    if claimed {
        return match delivered {
            true => (Outcome::Settled, Money::Proven, Next::Stop, "settled"),
            false => (
                Outcome::Unknown,
                Money::Proven,
                Next::ResendSame,
                "paid_not_delivered",
            ),
        };
    }
    match codes::in_body(body) {
        Some((code, Family::Conflict)) => return (Outcome::Conflict, Money::Possible, Next::Stop, code),
        Some((code, Family::InFlight)) => return (Outcome::InFlight, Money::Possible, Next::Wait, code),
        Some((code, Family::Used)) => return unknown(Next::ReadChain, code),
        Some((code, Family::Order)) => return unknown(Next::ReadOrder, code),
        Some((_, Family::Refusal)) | None => {}
    }
    match status {
        200..=299 if codes::asks_again(body) => unknown(Next::ReadChain, "outcome_unknown"),
        200..=299 => match settlement {
            Settlement::Absent => unknown(Next::ReadChain, DELIVERED_UNCONFIRMED),
            Settlement::Read(response) if !response.success => unknown(Next::ReadChain, reason(response)),
            _ => (
                Outcome::Delivered,
                Money::Possible,
                Next::ReadChain,
                "delivered_unverified",
            ),
        },
        402 => payment_required(answer, body, settlement),
        409 if !answer.resend => (
            Outcome::InFlight,
            Money::Possible,
            Next::Wait,
            "payment_in_flight",
        ),
        408 | 425 | 429 => unknown(Next::Wait, "outcome_unknown"),
        500..=599 => unknown(Next::ResendSame, "outcome_unknown"),
        _ => unknown(Next::ReadChain, "outcome_unknown"),
    }
}

/// 402 after paying. A refusal counts as one only on the first send, only with a code of the list, and only when no
/// transaction is named: then the seller refused before it settled. It holds the authorization all the same.
fn payment_required(answer: &Answer, body: Option<&Json>, settlement: &Settlement) -> Verdict {
    let stated = match settlement {
        Settlement::Read(response) => response.error_reason.as_deref().and_then(codes::known),
        Settlement::Unreadable => None,
        Settlement::Absent => codes::in_body(body).or_else(|| {
            let price = payment_required::parse(Some(answer.header(x402::PAYMENT_REQUIRED)??), None).ok()?;
            codes::known(price.error.as_deref()?)
        }),
    };
    let named = matches!(settlement, Settlement::Read(response) if !response.transaction.is_empty());
    match stated {
        Some((code, Family::Refusal)) if !answer.resend && !named => {
            (Outcome::Rejected, Money::Possible, Next::Wait, code)
        }
        Some((code, _)) => unknown(Next::ReadChain, code),
        None => unknown(Next::ReadChain, "outcome_unknown"),
    }
}

fn reason(response: &SettlementResponse) -> &'static str {
    response
        .error_reason
        .as_deref()
        .and_then(codes::known)
        .map_or("outcome_unknown", |(code, _)| code)
}
