//! What some sellers say beside the code and the status. Worth reading, never trusted alone: nothing here says that money
//! did not move, and nothing here makes a new signature safe.

use super::answer::{Answer, Settlement};
use super::codes::{Family, Known};
use crate::json::Json;

/// Headers under which servers mark an answer that they kept from an earlier run.
const REPLAYED: [&str; 3] = [
    "Idempotent-Replayed",
    "Idempotency-Replay",
    "Idempotency-Replayed",
];

/// The values of `X-ReturnCheck-Settlement`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum ReturnCheck {
    Confirmed,
    Pending,
    Unconfirmed,
    NotCharged,
    Replay,
}

pub(super) fn return_check(answer: &Answer) -> Option<ReturnCheck> {
    let value = answer.header("X-ReturnCheck-Settlement").flatten()?;
    Some(match value.trim().to_ascii_lowercase().as_str() {
        "confirmed" => ReturnCheck::Confirmed,
        "pending" => ReturnCheck::Pending,
        "unconfirmed" => ReturnCheck::Unconfirmed,
        "not_charged" => ReturnCheck::NotCharged,
        "replay" => ReturnCheck::Replay,
        _ => return None,
    })
}

/// Whether the answer is one that the seller kept from an earlier run of this request.
pub(super) fn replayed(answer: &Answer) -> bool {
    let marked = |name: &&str| {
        answer
            .header(name)
            .flatten()
            .is_some_and(|value| value.trim().eq_ignore_ascii_case("true"))
    };
    REPLAYED.iter().any(marked) || return_check(answer) == Some(ReturnCheck::Replay)
}

/// What the member `payment_state` of an error body says, else a settlement that ReturnCheck calls pending. `unused` says
/// nothing: the seller can still use it.
pub(super) fn said(answer: &Answer, body: Option<&Json>, settlement: &Settlement) -> Option<Known> {
    let success = answer.status.is_some_and(|status| (200..300).contains(&status));
    let state = body
        .filter(|_| !success)
        .and_then(|body| body.get("payment_state"))
        .and_then(|state| state.as_str().ok());
    let pending = || {
        let absent = matches!(settlement, Settlement::Absent);
        (absent && return_check(answer) == Some(ReturnCheck::Pending))
            .then_some(("payment_pending", Family::InFlight))
    };
    match state {
        Some("in_flight") => Some(("payment_in_flight", Family::InFlight)),
        Some("settled") => Some(("authorization_used", Family::Used)),
        _ => pending(),
    }
}

/// Whether a body that is called JSON opens with a bracket and does not end with one: it stopped in the middle.
pub(super) fn json_cut(answer: &Answer) -> bool {
    let json = answer.header("Content-Type").flatten().is_some_and(|value| {
        let kind = value
            .split(';')
            .next()
            .unwrap_or_default()
            .trim()
            .to_ascii_lowercase();
        kind == "application/json" || kind.ends_with("+json")
    });
    let body = answer.body.as_deref().unwrap_or_default().trim();
    json && body.starts_with(['{', '[']) && !body.ends_with(['}', ']'])
}
