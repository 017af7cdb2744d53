//! A payment that was seen below finality: every call reads it again until a final block shows it.
//!
//! Where its block was replaced the payment is unknown again: the amount is held as before, a claim that rested on it is gone, and
//! somebody is told. An answer that was had stays had.

use super::history::Token;
use super::record::{Intent, Status, WalletChange};
use super::{
    begin as begin_again, buy, persist, recover, split, told, Context, Effect, Mode, Phase, State, Then,
};
use crate::attempt;
use crate::authorization::Authorization;
use crate::error::{Code, Error, Next};
use crate::evidence::{self, Verdict, VerdictKind};
use crate::json::Json;

/// What every call begins with once its record is loaded: the read, where one is due and the chain can be read.
pub(super) fn begin(state: &mut State, context: Context<'_>) -> Result<Option<Effect>, Error> {
    // Whoever gives an intent away, or takes it, is refused while money is known to have moved.
    let passes_on = matches!(state.start.mode, Mode::HandOver | Mode::TakeOver);
    if !is_due(state) || passes_on || state.read || !recover::can_read(state, context) {
        return Ok(None);
    }
    match split::has_moved(state) {
        true => recover::read_all(state),
        false => read(state, "finalized", context),
    }
    .map(Some)
}

/// Whether all that is known of the money is what a block showed that can still be replaced.
pub(super) fn is_due(state: &State) -> bool {
    state.intent.as_ref().is_some_and(Intent::is_provisional)
}

fn read(state: &mut State, tag: &str, context: Context<'_>) -> Result<Effect, Error> {
    let (authorizations, _) = subject(state, context)?;
    let one = authorizations
        .last()
        .ok_or_else(|| Error::new(Code::StateInvalid, "attempts"))?;
    state.phase = Phase::Read(tag.to_owned());
    recover::read_effect(one, tag)
}

/// What was signed under the nonce, and where to look. Where the journal was lost: what would be signed now on the terms of the
/// quote that the claim names.
fn subject(state: &State, context: Context<'_>) -> Result<(Vec<Authorization>, evidence::Context), Error> {
    let invalid = |field: &str| Error::new(Code::StateInvalid, field);
    let intent = state.intent()?;
    let rail = intent.rail.clone().ok_or_else(|| invalid("rail"))?;
    let chain = context.config.chain(rail.network, rail.asset);
    if let Some(moved) = intent.moved() {
        return Ok((intent.signed_for(&moved.authorization.nonce()), chain));
    }
    let claim = intent.claim.as_ref().ok_or_else(|| invalid("claim"))?;
    let hash = claim.read("quoteHash", Json::as_hex)?;
    let quote = intent.quotes.iter().find(|quote| quote.quote_hash == hash);
    let terms = quote.ok_or_else(|| invalid("quotes"))?.offered.terms()?;
    let part = claim.read_opt("part", Json::as_u64)?.unwrap_or(0);
    let planned = buy::authorizations(state, &terms, context)?;
    let one = (0..).zip(planned).find(|(index, _)| *index == part);
    Ok((one.map(|(_, one)| one).into_iter().collect(), chain))
}

/// The chain's answer about a payment that was seen before.
pub(super) fn on_evidence(
    state: &mut State,
    tag: &str,
    evidence: &[Json],
    context: Context<'_>,
) -> Result<Effect, Error> {
    let (authorizations, chain) = subject(state, context)?;
    let verdict = evidence::resolve_signed(&authorizations, &chain, evidence);
    let token = Token {
        network: chain.network.clone(),
        asset: chain.asset,
    };
    let found = authorizations.first().map(|one| token.reservation(&one.nonce()));
    let vanished = |state: &mut State| vanished(state, found, &verdict, evidence, context);
    state.read = true;
    match verdict.verdict {
        VerdictKind::Paid | VerdictKind::PaidWrongTerms => stands(state, &verdict, evidence, context),
        VerdictKind::Dead => vanished(state),
        VerdictKind::Cancelled if verdict.next == Next::SafeToResign => vanished(state),
        // The final block lies behind the one in which it was seen.
        _ if tag == "finalized" => read(state, "latest", context),
        // A cancellation has come in its place, and may be replaced in turn.
        VerdictKind::UsedOrCancelled if verdict.is_provisional() => vanished(state),
        VerdictKind::NotYet if !lags(seen_at(state, &authorizations, &chain), evidence) => vanished(state),
        _ => begin_again(state, context),
    }
}

/// Block in which the payment was seen.
fn seen_at(state: &State, authorizations: &[Authorization], chain: &evidence::Context) -> Option<u64> {
    let moved = state.intent.as_ref().and_then(Intent::moved)?;
    let before = evidence::resolve_signed(authorizations, chain, &moved.evidence);
    before.position.map(|(block, _)| block)
}

/// Whether a source has not yet reached the block in which the payment was seen: it can't know whether it is there.
pub(super) fn lags(seen: Option<u64>, evidence: &[Json]) -> bool {
    evidence.iter().filter_map(evidence::block_number).min() < seen
}

/// It is still there, or in another block by now, or final.
fn stands(
    state: &mut State,
    verdict: &Verdict,
    evidence: &[Json],
    context: Context<'_>,
) -> Result<Effect, Error> {
    let intent = state.intent()?;
    let moved = intent.moved();
    let now = verdict.to_json();
    let before = match moved {
        Some(moved) => moved.verdict.as_ref(),
        None => intent.claim.as_ref(),
    };
    let same = |name: &str| before.and_then(|before| before.get(name)) == now.get(name);
    if verdict.is_provisional() && same("transaction") && (moved.is_none() || same("verdict")) {
        return begin_again(state, context);
    }
    let mut change = None;
    if moved.is_some() {
        unknown_again(state.intent_mut()?);
        change = match verdict.verdict {
            VerdictKind::Paid => recover::mark_paid(state, verdict, evidence, context.now)?,
            _ => recover::mark_wrong_terms(state, verdict, evidence, context.now)?,
        };
    }
    let intent = state.intent_mut()?;
    intent.claim = intent.claim.take().map(|claim| {
        let claim = claim
            .with_some("transaction", verdict.transaction.as_deref().map(Json::text))
            .with_some("amount", verdict.amount.map(|amount| amount.to_json()));
        with_finality(claim, verdict)
    });
    Ok(persist(state, change, Then::Reenter, context))
}

/// The claim as this read leaves it. What was signed for an earlier one says something else.
pub(super) fn with_finality(claim: Json, verdict: &Verdict) -> Json {
    let claim = claim.without("file").without("final");
    claim.with_some("final", verdict.is_provisional().then_some(Json::Bool(false)))
}

fn unknown_again(intent: &mut Intent) {
    for attempt in intent.attempts.iter_mut().filter(|one| one.has_moved()) {
        attempt.state = attempt::State::Sent;
        if attempt.parts.is_empty() {
            attempt.transaction = None;
        }
    }
}

/// What rested on the payment that is gone: an answer that was had stays.
pub(super) fn forget(state: &mut State) -> Result<(), Error> {
    let finding = told::finding(state, Code::PaymentVanished);
    state.alerts.push(finding);
    let intent = state.intent_mut()?;
    unknown_again(intent);
    intent.claim = None;
    if intent.status != Status::Delivered {
        intent.status = Status::Open;
        intent.reason = None;
    }
    Ok(())
}

/// It is not there any more. What the journal did not know before it was seen, the wallet holds under the id `found`.
fn vanished(
    state: &mut State,
    found: Option<String>,
    verdict: &Verdict,
    evidence: &[Json],
    context: Context<'_>,
) -> Result<Effect, Error> {
    let known = state.intent()?.moved().is_some();
    forget(state)?;
    match verdict.verdict {
        // Nothing of it is in this journal: the next purchase looks at the nonce anew.
        _ if !known => Ok(persist(
            state,
            found.map(WalletChange::Release),
            Then::Reenter,
            context,
        )),
        VerdictKind::Dead => recover::on_void(state, attempt::State::Dead, verdict, evidence, context),
        VerdictKind::Cancelled => {
            recover::on_void(state, attempt::State::Cancelled, verdict, evidence, context)
        }
        _ => {
            recover::remember(state, verdict, evidence, context.now)?;
            let held = WalletChange::Hold(Box::new(state.intent()?.held(context.now)?));
            Ok(persist(state, Some(held), Then::Reenter, context))
        }
    }
}
