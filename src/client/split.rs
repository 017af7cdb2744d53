//! What became of a split payment: the nonce of each part is read for itself, and the parts are judged together.
//!
//! | parts | the attempt |
//! |---|---|
//! | all paid | `paid` |
//! | none paid, none can land any more | `dead`, or `cancelled` where a nonce was burnt |
//! | some paid, the others can never land | `partly_paid`: a person decides, nothing is signed again |
//! | one on other terms than signed | `wrong_terms` |
//! | one of which neither is known | still `sent` |

use super::record::{close_siblings, Intent, Status, WalletChange};
use super::{persist, recheck, recover, told, Context, Effect, State, Then};
use crate::amount::Amount;
use crate::attempt::{self, Attempt};
use crate::error::{Code, Error, Money};
use crate::evidence::{self, VerdictKind};
use crate::json::Json;

/// The chain's answer about one part. What decides it is kept, and the next part is read; behind the last one they are judged.
pub(super) fn on_evidence(
    state: &mut State,
    tag: &str,
    evidence: &[Json],
    context: Context<'_>,
) -> Result<Effect, Error> {
    let invalid = |field: &str| Error::new(Code::StateInvalid, field);
    let (part, intent) = (state.part, state.intent()?);
    let rail = intent.rail.clone().ok_or_else(|| invalid("rail"))?;
    let attempt = state.current()?;
    let (parts, slot) = (attempt.parts.len(), attempt.slot(part));
    let nonce = slot.ok_or_else(|| invalid("part"))?.authorization.nonce();
    let rivals = intent.signed_for(&nonce);
    let chain = context.config.chain(rail.network, rail.asset);
    let verdict = evidence::resolve_signed(&rivals, &chain, evidence);
    let decided = verdict.decides();
    if !decided && tag == "finalized" {
        return recover::read(state, "latest");
    }
    // What was seen to move stays seen while nothing says that it is gone.
    let says_nothing = || {
        let slot = state.current().ok()?.slot(part)?;
        let before = evidence::resolve_signed(&rivals, &chain, slot.evidence);
        let seen = before.position.map(|(block, _)| block);
        let silent = match verdict.verdict {
            VerdictKind::NotYet => recheck::lags(seen, evidence),
            VerdictKind::UsedOrCancelled => !verdict.is_provisional(),
            kind => kind == VerdictKind::Unreadable,
        };
        Some(silent && before.money == Money::Proven)
    };
    if !(state.current()?.has_moved() && says_nothing() == Some(true)) {
        let slot = state.current_mut()?.slot_mut(part);
        let slot = slot.ok_or_else(|| invalid("part"))?;
        *slot.verdict = Some(verdict.to_json().with("readAt", Json::number(context.now)));
        let paid = is_paid(verdict.verdict.as_str());
        *slot.transaction = verdict.transaction.filter(|_| paid);
        if decided {
            *slot.evidence = evidence.to_vec();
        }
    }
    if part < parts {
        state.part = part + 1;
        return recover::read(state, "finalized");
    }
    state.part = 0;
    state.read = true;
    judge(state, context)
}

fn is_paid(verdict: &str) -> bool {
    verdict == VerdictKind::Paid.as_str()
}

fn is_void(verdict: &str) -> bool {
    verdict == VerdictKind::Dead.as_str() || verdict == VerdictKind::Cancelled.as_str()
}

/// What was last read of each part.
fn verdicts(attempt: &Attempt) -> Vec<&str> {
    attempt
        .slots()
        .map(|slot| {
            slot.verdict
                .and_then(|verdict| verdict.get("verdict")?.as_str().ok())
        })
        .map(Option::unwrap_or_default)
        .collect()
}

/// The one verdict that stands for all parts while they are not decided: the least that is known. `None` where a part was paid or
/// burnt and another can still land: that is nothing to sign anything new on.
pub(super) fn standing(attempt: &Attempt) -> Option<&str> {
    let verdicts = verdicts(attempt);
    let unclear = [VerdictKind::Unreadable, VerdictKind::UsedOrCancelled].map(VerdictKind::as_str);
    let first = unclear.into_iter().find(|one| verdicts.contains(one));
    let open = |verdict: &&str| *verdict == VerdictKind::NotYet.as_str();
    first.or_else(|| verdicts.iter().all(open).then(|| verdicts.first().copied())?)
}

/// Whether a part is proven to have moved while the attempt as a whole is open.
pub(super) fn moved(attempt: &Attempt) -> bool {
    !attempt.parts.is_empty() && verdicts(attempt).into_iter().any(is_paid)
}

/// Whether the attempt that moved money is a split one.
pub(super) fn has_moved(state: &State) -> bool {
    let moved = state.intent.as_ref().and_then(Intent::moved);
    moved.is_some_and(|attempt| !attempt.parts.is_empty())
}

/// Whether what moved was seen in final blocks only, so that nothing else under these nonces can land.
fn is_final(attempt: &Attempt) -> bool {
    let moved = |verdict: &&Json| {
        let kind = verdict.get("verdict").and_then(|kind| kind.as_str().ok());
        kind.is_some_and(|kind| is_paid(kind) || kind == VerdictKind::PaidWrongTerms.as_str())
    };
    !attempt
        .slots()
        .filter_map(|slot| slot.verdict)
        .filter(moved)
        .any(attempt::is_not_final)
}

fn judge(state: &mut State, context: Context<'_>) -> Result<Effect, Error> {
    let before = state.current()?.state;
    let verdicts = verdicts(state.current()?);
    let wrong = verdicts.contains(&VerdictKind::PaidWrongTerms.as_str());
    let stands = match before {
        attempt::State::Paid => verdicts.iter().all(|verdict| is_paid(verdict)),
        attempt::State::WrongTerms => wrong,
        attempt::State::PartlyPaid => verdicts
            .iter()
            .all(|verdict| is_paid(verdict) || is_void(verdict)),
        _ => true,
    };
    if !stands {
        recheck::forget(state)?;
    }
    let attempt = state.current()?;
    let verdicts = self::verdicts(attempt);
    let all = |is: fn(&str) -> bool| verdicts.iter().all(|verdict| is(verdict));
    if verdicts.contains(&VerdictKind::PaidWrongTerms.as_str()) {
        return end(state, attempt::State::WrongTerms, None, context);
    }
    if all(is_paid) {
        return paid(state, context);
    }
    if all(is_void) {
        let burnt = verdicts.contains(&VerdictKind::Cancelled.as_str());
        return void(state, burnt, context);
    }
    if all(|verdict| is_paid(verdict) || is_void(verdict)) {
        let paid = attempt
            .slots()
            .zip(&verdicts)
            .filter(|(_, verdict)| is_paid(verdict));
        let sum = paid.fold(Amount::ZERO, |sum, (slot, _)| {
            sum.checked_add(slot.authorization.value()).unwrap_or(sum)
        });
        return end(state, attempt::State::PartlyPaid, Some(sum), context);
    }
    if !stands {
        let held = WalletChange::Hold(Box::new(state.intent()?.held(context.now)?));
        return Ok(persist(state, Some(held), Then::Reenter, context));
    }
    recover::settle(state, context)
}

/// For a person: money moved, and not as agreed. `sum` is what moved, where that is known; the rest is free again.
fn end(
    state: &mut State,
    how: attempt::State,
    sum: Option<Amount>,
    context: Context<'_>,
) -> Result<Effect, Error> {
    let last = is_final(state.current()?);
    let intent = state.intent_mut()?;
    let reservation = intent.reservation();
    if last {
        close_siblings(intent, attempt::State::Dead);
    }
    state.current_mut()?.state = how;
    let code = match how {
        attempt::State::PartlyPaid => Code::PartlyPaid,
        _ => Code::PaidWrongTerms,
    };
    let finding = told::finding(state, code);
    state.alerts.push(finding);
    let change = match sum {
        Some(sum) => WalletChange::SpendOnly(reservation, sum),
        None => WalletChange::Spend(reservation),
    };
    let change = last.then_some(change);
    Ok(persist(state, change, Then::Fail(code.into()), context))
}

/// Every part moved as signed. Parts of several windows may have, each under its own nonce: they are one payment.
fn paid(state: &mut State, context: Context<'_>) -> Result<Effect, Error> {
    let (last, again) = (is_final(state.current()?), state.current()?.has_moved());
    let intent = state.intent_mut()?;
    let delivered = intent.status == Status::Delivered;
    let reservation = intent.reservation();
    if last {
        close_siblings(intent, attempt::State::Dead);
        let claim = intent.claim.take();
        intent.claim = claim.map(|claim| claim.without("final").without("file"));
    }
    state.current_mut()?.state = attempt::State::Paid;
    let then = match again {
        true => Then::Reenter,
        false => recover::after_payment(state.start.mode, delivered),
    };
    let change = last.then_some(WalletChange::Spend(reservation));
    Ok(persist(state, change, then, context))
}

/// No part moved, and none ever will.
fn void(state: &mut State, burnt: bool, context: Context<'_>) -> Result<Effect, Error> {
    recover::tell_if_said(state)?;
    let mode = state.start.mode;
    let intent = state.intent_mut()?;
    let reservation = intent.reservation();
    let how = match burnt {
        true => attempt::State::Cancelled,
        false => attempt::State::Dead,
    };
    close_siblings(intent, how);
    intent.generation += u64::from(burnt);
    let then = recover::after_death(mode, intent.status == Status::Delivered);
    Ok(persist(
        state,
        Some(WalletChange::Release(reservation)),
        then,
        context,
    ))
}
