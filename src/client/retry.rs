//! The same bytes again: to be paid with them while they can land, and to have the answer while the seller keeps it. What is said when
//! neither leads anywhere.

use super::record::{Intent, Status};
use super::{persist, probe, recover, split, told, Context, Effect, Failure, Mode, Phase, State, Then};
use crate::attempt;
use crate::attempt::Attempt;
use crate::error::{Code, Error, Money, Next};
use crate::evidence::VerdictKind;
use crate::json::Json;
use crate::quote::Protocol;
use crate::time::Seconds;

/// Longest single wait between two reads of the chain that the caller is told of.
const MAX_RETRY_AFTER: Seconds = 3_600;
/// How long a seller is taken to keep an answer.
const RETENTION: Seconds = 86_400;
/// Still unknown. While the window is open the same bytes may go out again; after it a purchase goes on with a new window for
/// the same nonce, on the same terms.
pub(super) fn again_or_end(state: &mut State, context: Context<'_>) -> Result<Effect, Error> {
    if state.intent()?.is_conflicted() {
        let failure = conflict_failure(state);
        return Ok(persist(state, None, Then::Fail(failure), context));
    }
    let attempt = state.current()?;
    let open = context.now < attempt.valid_before();
    // A 409 without a known code may be a conflict: the same bytes go out once more, then only the state is read, and
    // nothing new is signed without a proof of death.
    let still_bare = attempt
        .observations
        .last()
        .is_some_and(|seen| seen.status == Some(409) && seen.code == Code::OutcomeUnknown.as_str());
    if still_bare && (!open || state.resends > 0) {
        let mut failure = unresolved_failure(state, context);
        failure.next = Next::ReadChain;
        return Ok(persist(state, None, Then::Fail(failure), context));
    }
    let unread = !recover::can_read(state, context);
    let unused = last_verdict(attempt) == Some(VerdictKind::NotYet.as_str());
    // Another challenge has another nonce: without a proof of death both could land.
    let own_nonce = state
        .intent()?
        .rail
        .as_ref()
        .is_some_and(|rail| rail.protocol == Protocol::X402);
    if !open && own_nonce && state.start.mode == Mode::Fetch && (unread || unused) && !state.same_terms {
        state.same_terms = true;
        return Ok(probe(state, context));
    }
    let held = attempt.header.is_some();
    if open && held && state.start.resendable && state.resends < context.config.resends {
        return pause(state, context);
    }
    let failure = unresolved_failure(state, context);
    if state.start.mode == Mode::Resume {
        return Ok(persist(state, None, Then::Done("unknown".to_owned()), context));
    }
    Ok(persist(state, None, Then::Fail(failure), context))
}

/// The seller holds another request under this id; what the chain says of the money stands beside it.
pub(super) fn conflict_failure(state: &State) -> Failure {
    let paid = state
        .attempt()
        .is_some_and(|attempt| attempt.state == attempt::State::Paid);
    let void = state.intent.as_ref().is_some_and(Intent::all_void);
    let changed = |attempt: &Attempt| {
        let last = attempt.observations.last();
        last.is_some_and(|seen| seen.code == Code::ChallengeChanged.as_str())
    };
    let code = match state.attempt().is_some_and(changed) {
        true => Code::ChallengeChanged,
        false => Code::PaymentConflict,
    };
    let failure = Failure::from(code);
    match (paid, void) {
        (true, _) => Failure {
            next: Next::Claim,
            ..failure.money(Money::Proven)
        },
        (false, true) => failure.money(Money::None),
        (false, false) => failure,
    }
}

pub(super) fn last_verdict(attempt: &Attempt) -> Option<&str> {
    if !attempt.parts.is_empty() {
        return split::standing(attempt);
    }
    attempt.verdict.as_ref()?.get("verdict")?.as_str().ok()
}

pub(super) fn unresolved_failure(state: &State, context: Context<'_>) -> Failure {
    let Some(attempt) = state.attempt() else {
        return Code::OutcomeUnknown.into();
    };
    let verdict = last_verdict(attempt);
    let seen = attempt.observations.last();
    let code = match (verdict, seen.map(|seen| seen.outcome.as_str())) {
        (Some("unreadable"), _) => Code::EvidenceUnreadable,
        (Some("used_or_cancelled"), _) => Code::UsedOrCancelled,
        (_, Some("rejected")) => Code::PaymentRejected,
        (_, Some("in_flight")) => Code::PaymentInFlight,
        _ => Code::OutcomeUnknown,
    };
    let read = attempt.verdict.as_ref();
    let decidable = read.and_then(|verdict| verdict.get("decidableAt")?.as_u64().ok());
    let decidable = decidable
        .unwrap_or(0)
        .max(attempt.valid_before())
        .saturating_sub(context.now)
        .clamp(1, MAX_RETRY_AFTER);
    let failure = match split::moved(attempt) {
        true => Failure::from(code).money(Money::Proven),
        false => Failure::from(code),
    };
    failure
        .after(Some(state.retry_after.unwrap_or(decidable)))
        .at(state.poll.clone())
}

/// Waits before the same bytes go out again: as long as the seller asked, else 1, 2, 4 … seconds.
fn pause(state: &mut State, context: Context<'_>) -> Result<Effect, Error> {
    let wait = state.retry_after.unwrap_or(1 << state.resends.min(8));
    if wait > context.config.max_wait {
        let failure = match state.current()?.state {
            attempt::State::Paid => Failure::from(Code::PaymentInFlight)
                .money(Money::Proven)
                .at(state.poll.clone()),
            _ => unresolved_failure(state, context),
        };
        let then = match state.start.mode {
            Mode::Resume => Then::Done("unknown".to_owned()),
            _ => Then::Fail(failure.after(Some(wait))),
        };
        return Ok(persist(state, None, then, context));
    }
    state.phase = Phase::Wait;
    Ok(Effect::Wait(wait))
}

/// The same bytes again; the send is written down first.
pub(super) fn resend(state: &mut State, context: Context<'_>) -> Result<Effect, Error> {
    state.resends += 1;
    let attempt = state.current_mut()?;
    attempt.sends.push(context.now);
    Ok(persist(state, None, Then::Send, context))
}

/// Paid, and the answer is still to be had: the same bytes fetch it while the seller keeps it. After that a claim is held.
pub(super) fn fetch_answer(state: &mut State, context: Context<'_>) -> Result<Effect, Error> {
    let attempt = state.current()?;
    let kept = attempt
        .signed_at
        .is_some_and(|at| context.now < at.saturating_add(RETENTION));
    let last = attempt
        .observations
        .last()
        .map(|seen| (seen.status, seen.outcome.as_str()));
    // A definite answer to a resend of these bytes will not change by asking again.
    let refused = attempt.sends.len() > 1
        && state.resends > 0
        && matches!(last, Some((Some(400..=499), outcome)) if outcome != "in_flight");
    let held = attempt.header.is_some();
    let conflicted = state.intent()?.is_conflicted();
    if kept
        && held
        && !refused
        && !conflicted
        && state.start.resendable
        && state.resends < context.config.resends
    {
        // The first resend of a call goes out at once: the money has moved, nothing is gained by waiting.
        return match state.resends {
            0 if state.retry_after.is_none() => resend(state, context),
            _ => pause(state, context),
        };
    }
    let (quote_hash, transaction) = (attempt.quote_hash, attempt.settled_in());
    let mode = state.start.mode;
    let intent = state.intent_mut()?;
    intent.status = Status::PaidNotDelivered;
    let why = match (conflicted, kept) {
        (true, _) => "conflict",
        // Its bytes are in another worker's journal.
        (false, _) if !held => "history_lost",
        (false, true) => "answer_not_had",
        (false, false) => "past_retention",
    };
    let claim = told::claim(intent, quote_hash, transaction, why, context.now);
    // While nothing changed it is the same claim: what was signed for it stands, and nobody is told again.
    let same = |held: &Json| {
        ["quoteHash", "transaction", "why"]
            .iter()
            .all(|name| held.get(name) == claim.get(name))
    };
    if !intent.claim.as_ref().is_some_and(same) {
        intent.claim = Some(claim);
        let finding = told::finding(state, Code::PaidNotDelivered);
        state.alerts.push(finding);
    }
    let then = match mode {
        Mode::Resume => Then::Done("paid_not_delivered".to_owned()),
        _ if conflicted => Then::Fail(conflict_failure(state)),
        // What the seller takes its time for is asked after there.
        _ => Then::Fail(Failure::from(Code::PaidNotDelivered).at(state.poll.clone())),
    };
    Ok(persist(state, None, then, context))
}
