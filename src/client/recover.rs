//! From what was sent to what became of it: answers, chain evidence, sending the same bytes again, claims.

use super::record::{close_siblings, Intent, Status, WalletChange};
use super::{
    done, fail, hand_over, lost, may_sign, persist, price, probe, recheck, retry, sign, split, take_over,
    told, Context, Effect, Mode, Phase, State, Then,
};
use crate::amount::Amount;
use crate::attempt::{self, Attempt};
use crate::authorization::Authorization;
use crate::error::{Code, Error, Money, Next};
use crate::evidence::{self, Verdict, VerdictKind};
use crate::json::Json;
use crate::network::Network;
use crate::time::Seconds;
use crate::x402::settlement_response;

// ---------------------------------------------------------------- coming back to an intent

/// A call to buy meets an intent that has not ended.
pub(super) fn reenter(state: &mut State, context: Context<'_>) -> Result<Effect, Error> {
    let Some(attempt) = state.intent()?.current().cloned() else {
        // Written down and never signed for, or known to be used by a signature that was lost.
        return match state.intent()?.status {
            Status::PaidNotDelivered if lost::is_otherwise(state.intent()?) => {
                Ok(fail(state, Code::PaidWrongTerms.into()))
            }
            Status::PaidNotDelivered => Ok(fail(state, Code::AuthorizationUsed.into())),
            _ => Ok(probe(state, context)),
        };
    };
    let signs = may_sign(state, context) && !state.intent()?.is_conflicted();
    match attempt.state {
        attempt::State::Planned
            if signs
                && context.now < attempt.valid_before()
                && price::still_allowed(state, context).unwrap_or(false) =>
        {
            sign::begin(state)
        }
        // Its signature never became durable, so it was never sent: what forbids it now is said of the price that comes next.
        attempt::State::Planned => Ok(sign::forget_unsigned(state, Then::Reenter, context)),
        attempt::State::Sent => settle(state, context),
        attempt::State::Paid => retry::fetch_answer(state, context),
        attempt::State::Dead | attempt::State::Cancelled => Ok(probe(state, context)),
        attempt::State::WrongTerms => Ok(fail(state, Code::PaidWrongTerms.into())),
        attempt::State::PartlyPaid => Ok(fail(state, Code::PartlyPaid.into())),
    }
}

/// After a restart: ends what can be ended without a new signature.
pub(super) fn resume(state: &mut State, context: Context<'_>) -> Result<Effect, Error> {
    let Some(attempt) = state.intent()?.current().cloned() else {
        let outcome = match state.intent()?.status {
            Status::PaidNotDelivered => "paid_not_delivered",
            _ => "unpaid",
        };
        return Ok(done(state, outcome));
    };
    if state.intent()?.status == Status::Released {
        return Ok(done(state, "released"));
    }
    match attempt.state {
        attempt::State::Planned if context.now < attempt.valid_before() => Ok(done(state, "planned")),
        attempt::State::Planned => Ok(sign::forget_unsigned(state, Then::Reenter, context)),
        attempt::State::Sent => settle(state, context),
        attempt::State::Paid if state.intent()?.status == Status::Delivered => Ok(done(state, "delivered")),
        attempt::State::Paid => retry::fetch_answer(state, context),
        attempt::State::Dead | attempt::State::Cancelled if state.intent()?.status == Status::Delivered => {
            Ok(done(state, "delivered"))
        }
        attempt::State::Dead | attempt::State::Cancelled => Ok(done(state, "unpaid")),
        attempt::State::WrongTerms => Ok(done(state, "paid_wrong_terms")),
        attempt::State::PartlyPaid => Ok(done(state, "partly_paid")),
    }
}

/// Closes a paid, undelivered purchase as a claim.
pub(super) fn release(state: &mut State, context: Context<'_>) -> Result<Effect, Error> {
    let reason = state.start.reason.clone();
    let Some(intent) = state.intent.as_mut() else {
        return Ok(fail(state, Code::IntentUnknown.into()));
    };
    let is = |intent: &Intent, wanted| intent.current().is_some_and(|attempt| attempt.state == wanted);
    let paid = intent.status == Status::PaidNotDelivered || is(intent, attempt::State::Paid);
    match intent.status {
        Status::Delivered => Ok(done(state, "delivered")),
        Status::Released => Ok(done(state, "released")),
        // For a person: there is nothing that a claim could say.
        Status::Open if is(intent, attempt::State::PartlyPaid) => Ok(fail(state, Code::PartlyPaid.into())),
        Status::Open if is(intent, attempt::State::WrongTerms) => {
            Ok(fail(state, Code::PaidWrongTerms.into()))
        }
        Status::Open if !paid && !intent.all_void() => {
            Ok(fail(state, retry::unresolved_failure(state, context)))
        }
        _ => {
            intent.status = Status::Released;
            intent.reason = reason;
            if paid && intent.claim.is_none() {
                let attempt = intent.current();
                let quote_hash = attempt.map_or([0; 32], |attempt| attempt.quote_hash);
                let transaction = attempt.and_then(Attempt::settled_in);
                intent.claim = Some(told::claim(
                    intent,
                    quote_hash,
                    transaction,
                    "released",
                    context.now,
                ));
            }
            intent.claim = intent
                .claim
                .take()
                .map(|claim| claim.with("releasedAt", Json::number(context.now)));
            Ok(persist(state, None, Then::Done("released".to_owned()), context))
        }
    }
}

/// The stored answer of a purchase that was delivered.
pub(super) fn replay(state: &mut State, context: Context<'_>) -> Result<Effect, Error> {
    let intent = state.intent_mut()?;
    let delivery = intent
        .delivery
        .clone()
        .ok_or_else(|| Error::new(Code::StateInvalid, "delivery"))?;
    if delivery.get("body").is_none() {
        return Ok(fail(state, Code::AnswerNotStored.into()));
    }
    if delivery.get("taken") == Some(&Json::Bool(false)) {
        intent.delivery = Some(delivery.with("taken", Json::Bool(true)));
        return Ok(persist(state, None, Then::Replay, context));
    }
    hand_out(state)
}

/// The stored answer goes to the caller.
pub(super) fn hand_out(state: &State) -> Result<Effect, Error> {
    let delivery = state.intent()?.delivery.clone();
    let delivery = delivery.ok_or_else(|| Error::new(Code::StateInvalid, "delivery"))?;
    Ok(Effect::Replay {
        delivery,
        resolution: told::resolution(state, "delivered"),
    })
}

// ---------------------------------------------------------------- unknown: read, or send the same bytes again

pub(super) fn can_read(state: &State, context: Context<'_>) -> bool {
    let rail = state.intent.as_ref().and_then(|intent| intent.rail.as_ref());
    rail.is_some_and(|rail| context.config.can_read(&rail.network))
}

/// What was sent has no known end: the chain is asked where it can be, else the same bytes go out again.
pub(super) fn settle(state: &mut State, context: Context<'_>) -> Result<Effect, Error> {
    if !state.read && can_read(state, context) {
        return read_all(state);
    }
    match state.start.mode {
        Mode::HandOver => return hand_over::undecided(state, context),
        Mode::TakeOver => return take_over::undecided(state, context),
        _ => {}
    }
    if state.intent()?.status == Status::Delivered {
        return Ok(done(state, "delivered"));
    }
    retry::again_or_end(state, context)
}

/// Reads every nonce of the attempt that counts, one after the other.
pub(super) fn read_all(state: &mut State) -> Result<Effect, Error> {
    state.part = 0;
    read(state, "finalized")
}

/// Reads the nonce whose turn it is.
pub(super) fn read(state: &mut State, tag: &str) -> Result<Effect, Error> {
    let intent = state.intent()?;
    let attempt = intent
        .current()
        .ok_or_else(|| Error::new(Code::StateInvalid, "attempts"))?;
    let slot = attempt.slot(state.part);
    let slot = slot.ok_or_else(|| Error::new(Code::StateInvalid, "part"))?;
    let effect = read_effect(slot.authorization, tag)?;
    state.phase = Phase::Read(tag.to_owned());
    Ok(effect)
}

/// The read of one nonce.
pub(super) fn read_effect(authorization: &Authorization, tag: &str) -> Result<Effect, Error> {
    let target = authorization.target()?;
    Ok(Effect::ReadChain(target.with("tag", Json::text(tag))))
}

/// Whether a source serves another chain than the offer names.
pub(super) fn wrong_chain(evidence: &[Json], network: &Network) -> bool {
    let expected = network.chain_id().map(|id| format!("{id:#x}"));
    let named = |item: &Json| {
        item.get("chainId")
            .and_then(|id| id.as_str().ok())
            .map(str::to_ascii_lowercase)
    };
    evidence.iter().filter_map(named).any(|id| Some(id) != expected)
}

/// The chain's answer about what was sent.
pub(super) fn on_evidence(
    state: &mut State,
    tag: &str,
    evidence: &[Json],
    context: Context<'_>,
) -> Result<Effect, Error> {
    if recheck::is_due(state) && !split::has_moved(state) {
        return recheck::on_evidence(state, tag, evidence, context);
    }
    if !state.current()?.parts.is_empty() {
        return split::on_evidence(state, tag, evidence, context);
    }
    let intent = state.intent()?;
    let rail = intent
        .rail
        .clone()
        .ok_or_else(|| Error::new(Code::StateInvalid, "rail"))?;
    let authorizations = intent.signed_for(&state.current()?.authorization.nonce());
    let chain = context.config.chain(rail.network, rail.asset);
    let verdict = evidence::resolve_signed(&authorizations, &chain, evidence);
    state.read = true;
    match verdict.verdict {
        VerdictKind::Paid => {
            let change = mark_paid(state, &verdict, evidence, context.now)?;
            let delivered = state.intent()?.status == Status::Delivered;
            let then = after_payment(state.start.mode, delivered);
            Ok(persist(state, change, then, context))
        }
        VerdictKind::PaidWrongTerms => {
            let change = mark_wrong_terms(state, &verdict, evidence, context.now)?;
            let then = Then::Fail(Code::PaidWrongTerms.into());
            Ok(persist(state, change, then, context))
        }
        VerdictKind::Dead => {
            tell_if_said(state)?;
            on_void(state, attempt::State::Dead, &verdict, evidence, context)
        }
        VerdictKind::Cancelled if verdict.next == Next::SafeToResign => {
            tell_if_said(state)?;
            on_void(state, attempt::State::Cancelled, &verdict, evidence, context)
        }
        // The final block may lie behind a payment that has just landed.
        _ if tag == "finalized" => read(state, "latest"),
        _ => {
            remember(state, &verdict, &[], context.now)?;
            settle(state, context)
        }
    }
}

pub(super) fn remember(
    state: &mut State,
    verdict: &Verdict,
    evidence: &[Json],
    now: Seconds,
) -> Result<(), Error> {
    let attempt = state.current_mut()?;
    attempt.verdict = Some(verdict.to_json().with("readAt", Json::number(now)));
    if !evidence.is_empty() {
        attempt.evidence = evidence.to_vec();
    }
    Ok(())
}

/// One sibling landed and is the one that counts from now; the others share its nonce, and once the block is final they never
/// can. What changes in the wallet: the money is spent when the block is final.
pub(super) fn mark_paid(
    state: &mut State,
    verdict: &Verdict,
    evidence: &[Json],
    now: Seconds,
) -> Result<Option<WalletChange>, Error> {
    let nonce = state.current()?.authorization.nonce();
    let intent = state.intent_mut()?;
    let siblings = intent.siblings(&nonce);
    let at = verdict.index.unwrap_or(siblings.len().saturating_sub(1));
    let id = siblings.get(at).map(|attempt| attempt.attempt_id.clone());
    let id = id.ok_or_else(|| Error::new(Code::StateInvalid, "index"))?;
    let change = spent(intent, verdict);
    if let Some(paid) = intent
        .attempts
        .iter_mut()
        .find(|attempt| attempt.attempt_id == id)
    {
        paid.state = attempt::State::Paid;
        paid.transaction = verdict.transaction.clone();
    }
    remember(state, verdict, evidence, now)?;
    if verdict.money == Money::ProvenTwice {
        let finding = told::finding(state, Code::DuplicateCharge);
        state.alerts.push(finding);
    }
    if overstated(state.current()?, verdict) {
        let finding = told::finding(state, Code::SettlementDiffers);
        state.alerts.push(finding);
    }
    Ok(change)
}

/// Another's authorization took the nonce.
pub(super) fn mark_wrong_terms(
    state: &mut State,
    verdict: &Verdict,
    evidence: &[Json],
    now: Seconds,
) -> Result<Option<WalletChange>, Error> {
    remember(state, verdict, evidence, now)?;
    let change = spent(state.intent_mut()?, verdict);
    state.current_mut()?.state = attempt::State::WrongTerms;
    let finding = told::finding(state, Code::PaidWrongTerms);
    state.alerts.push(finding);
    Ok(change)
}

/// The nonce is used: in a final block, nothing else that was signed for it can land any more.
fn spent(intent: &mut Intent, verdict: &Verdict) -> Option<WalletChange> {
    let last = !verdict.is_provisional();
    let signed = intent.current().map(|attempt| &attempt.authorization);
    // With scheme `upto` the maximum was held, and only this much moved; on Tempo with the most that the fee could be.
    let moved = verdict
        .amount
        .or_else(|| signed?.value().checked_add(verdict.fee?));
    let moved = match (signed, verdict.again.len()) {
        (Some(signed @ Authorization::Tempo(order)), 1..) => {
            let once = moved.unwrap_or(signed.bounded_cost());
            let again = verdict.again.iter().map(|_| order.payment.primary.amount);
            Some(again.fold(once, Amount::saturating_add))
        }
        _ => moved,
    };
    last.then(|| {
        close_siblings(intent, attempt::State::Dead);
        match moved {
            Some(amount) => WalletChange::SpendOnly(intent.reservation(), amount),
            None => WalletChange::Spend(intent.reservation()),
        }
    })
}

/// What follows once it is known that the money moved as signed.
pub(super) fn after_payment(mode: Mode, delivered: bool) -> Then {
    match mode {
        _ if delivered => Then::Done("delivered".to_owned()),
        Mode::HandOver | Mode::TakeOver => Then::Fail(Code::HandOverPaid.into()),
        _ => Then::FetchAnswer,
    }
}

/// What follows once it is known that nothing signed can land any more.
pub(super) fn after_death(mode: Mode, delivered: bool) -> Then {
    match mode {
        _ if delivered => Then::Done("delivered".to_owned()),
        Mode::Fetch => Then::Probe,
        Mode::Resume => Then::Done("unpaid".to_owned()),
        _ => Then::Reenter,
    }
}

/// Whether the seller named another amount than the chain shows.
fn overstated(attempt: &Attempt, verdict: &Verdict) -> bool {
    let said = attempt.settlement.as_deref().map(settlement_response::parse);
    let said = said.and_then(Result::ok).and_then(|response| response.amount);
    matches!((said, verdict.amount), (Some(said), Some(moved)) if said != moved)
}

/// Nothing moved and nothing can any more. Where the seller said otherwise, that is told: an answer that was had stays had.
pub(super) fn tell_if_said(state: &mut State) -> Result<(), Error> {
    if state.current()?.is_said_settled() {
        let finding = told::finding(state, Code::SettlementVanished);
        state.alerts.push(finding);
    }
    Ok(())
}

/// Proven: nothing signed under this nonce can land any more.
pub(super) fn on_void(
    state: &mut State,
    how: attempt::State,
    verdict: &Verdict,
    evidence: &[Json],
    context: Context<'_>,
) -> Result<Effect, Error> {
    remember(state, verdict, evidence, context.now)?;
    let mode = state.start.mode;
    let intent = state.intent_mut()?;
    let reservation = intent.reservation();
    close_siblings(intent, how);
    if how == attempt::State::Cancelled {
        intent.generation += 1;
    }
    let delivered = intent.status == Status::Delivered;
    let then = after_death(mode, delivered);
    Ok(persist(
        state,
        Some(WalletChange::Release(reservation)),
        then,
        context,
    ))
}
