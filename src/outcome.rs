//! What an answer to a paid request means.
//!
//! A code in the body first, the status second, hints last. Whatever is not understood is *unknown*: the signed
//! authorization stays with the seller and can land, so nothing here ever says that paying again is safe.
//!
//! | answer | outcome | money | next | code |
//! |---|---|---|---|---|
//! | refused before anything was sent, first send | rejected | none | resend_same | `not_sent` |
//! | timeout, reset, abort, no status; a success whose JSON stops in the middle | unknown | possible | resend_same | `outcome_unknown` |
//! | the same, with a header that says settled | unknown | proven | resend_same | `body_truncated` |
//! | a conflict code | conflict | possible | stop | that code |
//! | an in-flight code | in_flight | possible | wait | that code |
//! | 2xx, settlement `success:true` or a `Payment-Receipt` with a transaction hash | settled | proven | stop | `settled` |
//! | other status, settlement `success:true` | unknown | proven | resend_same | `paid_not_delivered` |
//! | a code that says the authorization is used | unknown | possible | read_chain | that code |
//! | a code about the seller's order | unknown | possible | read_order | that code |
//! | 2xx, a settlement that can't be read or names no hash | delivered | possible | read_chain | `delivered_unverified` |
//! | 2xx without settlement | unknown | possible | read_chain | `delivered_unconfirmed` |
//! | one of these successes as 202: the work goes on | in_flight | possible or proven | wait | `payment_in_flight` |
//! | the same 202, kept from an earlier run | unknown | possible or proven | read_chain | `outcome_unknown` |
//! | 402 or 412, first send, a verify refusal of the list, no hash | rejected | possible | wait | that code |
//! | 402 or 412 else, also `settlement_pending` in the header | unknown | possible | read_chain | that code or `outcome_unknown` |
//! | a stored answer of an earlier run, else | unknown | possible | read_chain | `outcome_unknown` |
//! | bare 409, first send | in_flight | possible | wait | `payment_in_flight` |
//! | bare 409 on a resend, bare 422, 3xx, other 4xx | unknown | possible | read_chain | `outcome_unknown` |
//! | 408, 425, 429 | unknown | possible | wait | `outcome_unknown` |
//! | 5xx | unknown | possible | resend_same | `outcome_unknown` |
//!
//! *Proven* here rests on the seller's word against itself; only the chain proves it to others. A conflict or in-flight code
//! beside a settlement that says settled has the money proven; behind a success other than 202 that body is the goods and
//! its codes are not looked at. 202 is never a delivery, paid or not (RFC 9110, section 15.3.3): what was bought is still to
//! come, and the next identical call asks for it with the same payment. In place of `outcome_unknown` stands a code about the request where the seller gave one.
//!
//! A bare 422 stays unknown. A server that follows the IETF draft means by it that the key was used for another payload,
//! but every framework answers so to input it does not like: the status alone raises no alert. Nothing is lost by that:
//! neither reading signs anew, and both end in a read of the chain.

mod answer;
mod codes;
mod hints;
mod poll;
mod retry_after;

pub use answer::Answer;
pub use codes::{known_codes, Family};

use crate::error::{Money, Next};
use crate::json::Json;
use crate::x402::settlement_response::SettlementResponse;
use crate::x402::{self, payment_required};
use answer::Settlement;
use hints::ReturnCheck;

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
    /// Every class there is.
    pub const ALL: &'static [Outcome] = &[
        Outcome::Settled,
        Outcome::Delivered,
        Outcome::Rejected,
        Outcome::InFlight,
        Outcome::Conflict,
        Outcome::Unknown,
    ];

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
    /// Where the seller says the payment can be asked after: a URL of the origin that was asked, or the name of a tool of
    /// the same server. Anything else that stood there is left out.
    pub poll: Option<String>,
    /// The transaction that the seller names, when it is a 32-byte hash.
    pub transaction: Option<String>,
    /// The settlement response, when it could be read.
    pub settlement: Option<SettlementResponse>,
}

impl Classification {
    /// Whether the answer's body is what was bought. A success that says "still working" or "not settled" is no delivery,
    /// whatever its status: taken for one, the next identical call would pay again.
    pub fn is_delivery(&self) -> bool {
        delivers(self.outcome, &self.code)
    }

    /// `{outcome, money, next, code, retryAfter?, poll?, transaction?}`.
    pub fn to_json(&self) -> Json {
        Json::object([
            ("outcome", Json::text(self.outcome.as_str())),
            ("money", Json::text(self.money.as_str())),
            ("next", Json::text(self.next.as_str())),
            ("code", Json::text(self.code.as_str())),
        ])
        .with_some("retryAfter", self.retry_after.map(Json::number))
        .with_some("poll", self.poll.as_deref().map(Json::text))
        .with_some("transaction", self.transaction.as_deref().map(Json::text))
    }
}

fn delivers(outcome: Outcome, code: &str) -> bool {
    matches!(outcome, Outcome::Settled | Outcome::Delivered) || code == DELIVERED_UNCONFIRMED
}

type Verdict = (Outcome, Money, Next, &'static str);

const fn unknown(next: Next, code: &'static str) -> Verdict {
    (Outcome::Unknown, Money::Possible, next, code)
}

/// Classifies an answer by the table at the head of this file. Never fails.
pub fn classify(answer: &Answer) -> Classification {
    let body = answer.body_json();
    let settlement = answer.settlement();
    let (outcome, money, next, code) = match verdict(answer, body.as_ref(), &settlement) {
        (outcome, money, _, code) if answer.status == Some(202) && delivers(outcome, code) => {
            accepted(answer, money)
        }
        verdict => verdict,
    };
    let transaction = settlement.transaction();
    let settlement = match settlement {
        Settlement::Read(response) => Some(response),
        _ => None,
    };
    let done = matches!(outcome, Outcome::Settled | Outcome::Delivered);
    let (retry_after, poll) = match done {
        true => (None, None),
        false => (
            retry_after::seconds(answer, body.as_ref()),
            poll::target(answer, body.as_ref()),
        ),
    };
    Classification {
        outcome,
        money,
        next,
        code: code.to_owned(),
        retry_after,
        poll,
        transaction,
        settlement,
    }
}

fn verdict(answer: &Answer, body: Option<&Json>, settlement: &Settlement) -> Verdict {
    let claimed = settlement.claimed();
    let money = if claimed { Money::Proven } else { Money::Possible };
    if answer.transport.as_deref() == Some("refused_before_send") && answer.status.is_none() && !answer.resend
    {
        return (Outcome::Rejected, Money::None, Next::ResendSame, "not_sent");
    }
    let cut = match claimed {
        true => (Outcome::Unknown, money, Next::ResendSame, "body_truncated"),
        false => unknown(Next::ResendSame, "outcome_unknown"),
    };
    let Some(status) = answer.status.filter(|_| answer.transport.is_none()) else {
        return cut;
    };
    let success = (200..300).contains(&status);
    if success && hints::json_cut(answer) {
        return cut;
    }
    let said = said(answer, body, settlement, status);
    // Behind a settled success the body is the goods, and goods may say anything. 202 promises none.
    let goods = claimed && success && status != 202;
    match said {
        Some((code, Family::Conflict)) if !goods => return (Outcome::Conflict, money, Next::Stop, code),
        Some((code, Family::InFlight)) if !goods => return (Outcome::InFlight, money, Next::Wait, code),
        _ if claimed && success => return (Outcome::Settled, money, Next::Stop, "settled"),
        _ if claimed => return (Outcome::Unknown, money, Next::ResendSame, "paid_not_delivered"),
        Some((code, Family::Used)) => return unknown(Next::ReadChain, code),
        Some((code, Family::Order)) => return unknown(Next::ReadOrder, code),
        _ => {}
    }
    let code = match said {
        Some((code, Family::Request)) => code,
        _ => "outcome_unknown",
    };
    let replayed = hints::replayed(answer);
    match status {
        200..=299 => without_claim(answer, body, settlement),
        // 412 is what servers say where the payer never approved Permit2.
        402 | 412 => payment_required(answer, body, settlement, replayed),
        // The answer of an earlier run, kept: asking again brings the same one.
        _ if replayed => unknown(Next::ReadChain, code),
        409 if !answer.resend && code == "outcome_unknown" => (
            Outcome::InFlight,
            Money::Possible,
            Next::Wait,
            "payment_in_flight",
        ),
        408 | 425 | 429 => unknown(Next::Wait, code),
        500..=599 => unknown(Next::ResendSame, code),
        _ => unknown(Next::ReadChain, code),
    }
}

/// 202 says that the work goes on: what was bought is still to come. A kept one says so for ever.
fn accepted(answer: &Answer, money: Money) -> Verdict {
    match hints::replayed(answer) {
        true => (Outcome::Unknown, money, Next::ReadChain, "outcome_unknown"),
        false => (Outcome::InFlight, money, Next::Wait, "payment_in_flight"),
    }
}

/// The first code that is known: in the body, in the settlement's reason, in what some sellers say beside it. The reason of
/// a success and of a 402 answer has a meaning of its own.
fn said(answer: &Answer, body: Option<&Json>, settlement: &Settlement, status: u64) -> Option<codes::Known> {
    let reason = || match status {
        200..=299 | 402 | 412 => None,
        _ => settlement.reason(),
    };
    codes::in_body(body)
        .or_else(reason)
        .or_else(|| hints::said(answer, body, settlement))
}

/// A success without a settlement that names its transaction.
fn without_claim(answer: &Answer, body: Option<&Json>, settlement: &Settlement) -> Verdict {
    const UNVERIFIED: Verdict = (
        Outcome::Delivered,
        Money::Possible,
        Next::ReadChain,
        "delivered_unverified",
    );
    if codes::asks_again(body) {
        return unknown(Next::ReadChain, "outcome_unknown");
    }
    match settlement {
        Settlement::Absent => match hints::return_check(answer) {
            Some(ReturnCheck::Confirmed | ReturnCheck::Replay) => UNVERIFIED,
            Some(ReturnCheck::Pending | ReturnCheck::Unconfirmed | ReturnCheck::NotCharged) => {
                unknown(Next::ReadChain, "outcome_unknown")
            }
            None => unknown(Next::ReadChain, DELIVERED_UNCONFIRMED),
        },
        Settlement::Read(response) if !response.success => unknown(
            Next::ReadChain,
            settlement.reason().map_or("outcome_unknown", |(code, _)| code),
        ),
        _ => UNVERIFIED,
    }
}

/// 402 after paying. A refusal counts as one only on the first send, only with a code of the list, and only when nothing
/// beside it speaks of a settlement: then the seller refused before it settled. It holds the authorization all the same.
fn payment_required(
    answer: &Answer,
    body: Option<&Json>,
    settlement: &Settlement,
    replayed: bool,
) -> Verdict {
    let stated = match settlement {
        Settlement::Read(_) | Settlement::Receipt(_) => settlement.reason(),
        Settlement::Unreadable => None,
        Settlement::Absent => codes::in_body(body).or_else(|| {
            let price = payment_required::parse(Some(answer.header(x402::PAYMENT_REQUIRED)??), None).ok()?;
            codes::known(price.error.as_deref()?)
        }),
    };
    let named = matches!(settlement, Settlement::Read(response) if !response.transaction.is_empty());
    let again = answer.resend || replayed;
    let doubted = named || hints::said(answer, body, settlement).is_some();
    match stated {
        Some((code, Family::Refusal)) if !again && !doubted => {
            (Outcome::Rejected, Money::Possible, Next::Wait, code)
        }
        Some((code, _)) => unknown(Next::ReadChain, code),
        None => unknown(Next::ReadChain, "outcome_unknown"),
    }
}

/// Whether a code is one of the known refusals by verification, which come before anything is sent to the chain.
pub fn is_refusal(code: &str) -> bool {
    matches!(codes::known(code), Some((_, Family::Refusal)))
}
