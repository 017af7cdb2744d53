//! The answer to a paid request, and its body.

use super::record::{Status, WalletChange};
use super::{fail, persist, told, Body, Context, Effect, Mode, State, Then};
use crate::attempt::{self, Observation};
use crate::error::{Code, Error};
use crate::json::Json;
use crate::outcome::{self, Answer, Outcome};

pub(super) fn on_answer(state: &mut State, answer: &Answer, context: Context<'_>) -> Result<Effect, Error> {
    let mut answer = answer.clone();
    answer.url = Some(state.intent()?.request.url.clone());
    let attempt = state.current_mut()?;
    answer.resend = answer.resend || attempt.sends.len() > 1;
    let seen = outcome::classify(&answer);
    attempt.observe(Observation::new(
        context.now,
        answer.status,
        answer.transport.clone(),
        &seen,
    ));
    if seen.is_delivery() {
        if seen.outcome == Outcome::Settled {
            attempt.settlement = answer.settlement_text().map(str::to_owned);
        }
        return Ok(persist(state, None, Then::Deliver, context));
    }
    let attempt_id = attempt.attempt_id.clone();
    let paid = attempt.state == attempt::State::Paid;
    state.retry_after = seen.retry_after;
    state.poll = seen.poll;
    state.read = false;
    match seen.outcome {
        Outcome::Conflict => {
            let finding = told::finding(state, Code::PaymentConflict)
                .with("attempts", Json::Array(vec![Json::text(attempt_id)]));
            state.alerts.push(finding);
            // Before anything else the chain is asked what became of the nonce.
            let then = if paid { Then::FetchAnswer } else { Then::Settle };
            Ok(persist(state, None, then, context))
        }
        _ if paid => Ok(persist(state, None, Then::FetchAnswer, context)),
        _ => Ok(persist(state, None, Then::Settle, context)),
    }
}

/// The last byte has passed, or the answer broke off.
pub(super) fn on_body(state: &mut State, body: &Body, context: Context<'_>) -> Effect {
    if !body.complete {
        return fail(state, Code::BodyTruncated.into());
    }
    let taken = state.start.mode == Mode::Fetch;
    let Some(intent) = state.intent.as_mut() else {
        return fail(state, Code::StateInvalid.into());
    };
    let Some(attempt) = intent.current() else {
        return fail(state, Code::StateInvalid.into());
    };
    let attempt_id = attempt.attempt_id.clone();
    let settled = attempt.state == attempt::State::Paid || attempt.settlement.is_some();
    let reservation = intent.reservation();
    intent.delivery = Some(
        Json::object([
            ("at", Json::number(context.now)),
            ("attemptId", Json::text(attempt_id.as_str())),
            ("status", Json::number(body.status)),
            ("headers", body.headers.clone()),
            ("sha256", Json::text(body.sha256.as_str())),
            ("length", Json::number(body.length)),
        ])
        .with_some("body", body.stored.clone().map(Json::String))
        .with("taken", Json::Bool(taken)),
    );
    intent.status = Status::Delivered;
    intent.claim = None;
    let change = settled.then_some(WalletChange::Spend(reservation));
    persist(state, change, Then::Done("delivered".to_owned()), context)
}
