//! What the caller is told: claims, findings, and where a finished call stands.

use super::record::Intent;
use super::{State, Then};
use crate::amount::Amount;
use crate::attempt::{self, Attempt};
use crate::error::{Code, Money, Next};
use crate::finding::{Finding, Severity};
use crate::hex;
use crate::json::Json;
use crate::time::Seconds;

/// What was bought, the proof that it was paid, and the absence of the answer: its digest, once one was named.
pub(super) fn claim(
    intent: &Intent,
    quote_hash: [u8; 32],
    transaction: Option<String>,
    why: &str,
    now: Seconds,
) -> Json {
    Json::object([
        ("at", Json::number(now)),
        ("intentId", Json::text(intent.intent_id.as_str())),
        ("quoteHash", Json::text(hex::encode(quote_hash))),
    ])
    .with_some("transaction", transaction.map(Json::String))
    .with_some("final", intent.is_provisional().then_some(Json::Bool(false)))
    .with(
        "sha256",
        [&intent.delivery, &intent.claim]
            .into_iter()
            .find_map(|kept| kept.as_ref()?.get("sha256"))
            .cloned()
            .unwrap_or(Json::Null),
    )
    .with("why", Json::text(why))
}

/// A finding that wakes somebody up.
pub(super) fn finding(state: &State, code: Code) -> Json {
    finding_of(state, code, Severity::Alert)
}

/// A finding for the record: nothing is lost by it.
pub(super) fn notice(state: &State, code: Code) -> Json {
    finding_of(state, code, Severity::Info)
}

fn finding_of(state: &State, code: Code, severity: Severity) -> Json {
    let attempt = state.attempt();
    let rail = state.intent.as_ref().and_then(|intent| intent.rail.as_ref());
    let mut finding = Finding::new(code, severity, code.meaning());
    finding.intents = vec![state.intent_id.clone()];
    finding.attempts = attempt.iter().map(|attempt| attempt.attempt_id.clone()).collect();
    finding.amount = attempt.zip(rail).map(|(attempt, rail)| {
        (
            attempt.value(),
            attempt.authorization.asset(),
            rail.network.clone(),
        )
    });
    finding.to_json()
}

/// What moved by this verdict, where less could than was signed for.
pub(super) fn amount(verdict: &Json) -> Option<Amount> {
    Amount::from_json(verdict.get("amount")?).ok()
}

fn settled_amount(attempt: &Attempt) -> Option<Json> {
    attempt
        .verdict
        .as_ref()
        .and_then(amount)
        .map(|amount| amount.to_json())
}

/// Where a purchase stands: `{intentId, attemptId, outcome, money, next, amount?, fee?, transaction?, final?, receipt?}`; `amount` is what the
/// chain shows of a payment by scheme `upto`, `fee` what it shows of a fee on Tempo, `final` is false while the block of the payment can still be replaced.
pub(super) fn resolution(state: &State, outcome: &str) -> Json {
    let attempt = state.attempt();
    let (money, next) = standing(state, outcome);
    Json::object([
        ("intentId", Json::text(state.intent_id.as_str())),
        (
            "attemptId",
            Json::text(attempt.map_or("", |attempt| attempt.attempt_id.as_str())),
        ),
        ("outcome", Json::text(outcome)),
        ("money", Json::text(money.as_str())),
        ("next", Json::text(next.as_str())),
    ])
    .with_some("amount", attempt.and_then(settled_amount))
    .with_some(
        "fee",
        attempt
            .and_then(|attempt| attempt.verdict.as_ref()?.get("fee"))
            .cloned(),
    )
    .with_some(
        "transaction",
        attempt.and_then(Attempt::settled_in).map(Json::String),
    )
    .with_some(
        "final",
        state
            .intent
            .as_ref()
            .filter(|intent| intent.is_provisional())
            .map(|_| Json::Bool(false)),
    )
    .with_some(
        "receipt",
        attempt
            .and_then(|attempt| attempt.settlement.clone().or_else(|| attempt.receipt.clone()))
            .map(Json::String),
    )
}

/// What the record says about the money of its authorizations. A send that is still being written down did not happen.
pub(super) fn money(state: &State) -> Money {
    let Some(intent) = &state.intent else {
        return Money::None;
    };
    if intent.moved().is_some() {
        return Money::Proven;
    }
    let sent = intent.attempts.iter().filter(|attempt| attempt.state.is_live());
    let sends = sent.map(|attempt| attempt.sends.len()).sum::<usize>();
    match sends > usize::from(state.then == Some(Then::Send)) {
        true => Money::Possible,
        false => Money::None,
    }
}

/// What is known about the money, and what is safe to do next.
fn standing(state: &State, outcome: &str) -> (Money, Next) {
    let settled = state
        .attempt()
        .is_some_and(|attempt| attempt.state == attempt::State::Paid || attempt.is_said_settled());
    let void = state.attempt().is_some() && state.intent.as_ref().is_some_and(Intent::all_void);
    match outcome {
        // Whatever the seller said, the chain proves that nothing moved.
        "delivered" if void => (Money::None, Next::Stop),
        "settled" | "delivered" if settled => (Money::Proven, Next::Stop),
        "settled" | "delivered" => (Money::Possible, Next::ReadChain),
        "paid_not_delivered" | "released" => (Money::Proven, Next::Claim),
        "paid_wrong_terms" | "partly_paid" => (Money::Proven, Next::AskHuman),
        "unpaid" => (Money::None, Next::SafeToResign),
        "planned" => (money(state), Next::ResendSame),
        _ => (Money::Possible, Next::Wait),
    }
}
