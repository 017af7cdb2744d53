//! The answer to a paid request, and its body.

use super::record::{Status, WalletChange};
use super::{fail, offers, persist, told, Body, Context, Effect, Mode, State, Then};
use crate::attempt::{self, Observation};
use crate::error::{Code, Error, Money, Next};
use crate::json::Json;
use crate::mpp;
use crate::outcome::{self, Answer, Outcome};

pub(super) fn on_answer(state: &mut State, answer: &Answer, context: Context<'_>) -> Result<Effect, Error> {
    let mut answer = answer.clone();
    answer.url = Some(state.intent()?.request.url.clone());
    let changed = answer.status == Some(402) && offers::is_changed(state, &answer);
    let challenge = state.intent()?.current().and_then(|attempt| {
        let quote = state.intent.as_ref()?.quote_of(attempt)?;
        quote.offered.challenge().cloned()
    });
    let attempt = state.current_mut()?;
    answer.resend = answer.resend || attempt.sends.len() > 1;
    let mut seen = outcome::classify(&answer);
    let receipt = answer.receipt_text().map(str::to_owned);
    if let (Outcome::Settled, Some(text), Some(challenge)) = (seen.outcome, &receipt, &challenge) {
        // A receipt of something else says nothing of this payment.
        if mpp::receipt::parse(text).is_ok_and(|receipt| receipt.contradicts(challenge).is_some()) {
            (seen.outcome, seen.money, seen.next) = (Outcome::Delivered, Money::Possible, Next::ReadChain);
            (seen.code, seen.transaction) = ("delivered_unverified".to_owned(), None);
        }
    }
    if changed {
        // Whoever says so under a known id is not to be paid, nor asked again.
        (seen.outcome, seen.next) = (Outcome::Conflict, Next::Stop);
        seen.code = Code::ChallengeChanged.as_str().to_owned();
    }
    attempt.observe(Observation::new(
        context.now,
        answer.status,
        answer.transport.clone(),
        &seen,
    ));
    if seen.is_delivery() {
        if seen.outcome == Outcome::Settled {
            attempt.settlement = answer.settlement_text().map(str::to_owned);
            attempt.receipt = receipt;
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
            let code = if changed {
                Code::ChallengeChanged
            } else {
                Code::PaymentConflict
            };
            let finding =
                told::finding(state, code).with("attempts", Json::Array(vec![Json::text(attempt_id)]));
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
    let settled = attempt.state == attempt::State::Paid || attempt.is_said_settled();
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
