//! From the 402 answer to a price that the policy allows.

use super::offers::{self, choose};
use super::record::{Intent, Reservation, WalletChange};
use super::{approve, buy, drift, fail, persist, told, tree, Context, Effect, Phase, State, Then};
use crate::amount::Amount;
use crate::approval;
use crate::authorization::Authorization;
use crate::error::{Code, Error};
use crate::hex;
use crate::json::Json;
use crate::outcome::Answer;
use crate::policy::Decision;
use crate::x402::payment_required::{Signing, Terms};

/// The answer to the unpaid request.
pub(super) fn on_price(
    state: &mut State,
    answer: &Answer,
    redirected: bool,
    context: Context<'_>,
) -> Result<Effect, Error> {
    if answer.transport.is_some() || answer.status != Some(402) {
        return Ok(Effect::Pass);
    }
    if redirected {
        return Ok(fail(state, Code::Redirected.into()));
    }
    state.price = Some(offers::price(answer));
    // A person says yes to one price.
    state.approved = false;
    decide(state, context)
}

/// Policy first: what is refused costs no read and no signature.
fn decide(state: &mut State, context: Context<'_>) -> Result<Effect, Error> {
    let choice = choose(state, context).map_err(|error| offers::tell(state, error))?;
    if state.same_terms {
        let same = state.attempt().is_some_and(|last| {
            let signed = last
                .slots()
                .map(|slot| (slot.authorization.to(), slot.authorization.value()));
            let offered = choice.terms.shares.iter().map(|share| (share.to, share.amount));
            signed.eq(offered) && same_signing(&last.authorization, &choice.terms)
        });
        if !same {
            let finding = told::finding(state, Code::TermsChanged);
            state.alerts.push(finding);
            return Ok(fail(state, Code::TermsChanged.into()));
        }
    }
    let signed = state
        .intent
        .as_ref()
        .map_or(0, |intent| intent.attempts.len() as u64);
    if signed >= context.config.policy.attempts() {
        return Ok(fail(state, Code::AttemptsExhausted.into()));
    }
    if budget(state).is_some_and(|budget| choice.terms.cost() > budget) {
        return Ok(fail(state, Error::new(Code::OverCap, "intent.budget").into()));
    }
    let besides = own_reservation(state);
    let reasons = reasons(state, &choice.terms, &besides, context)?;
    if reasons.is_empty() || state.approved {
        return buy::inspect_or_plan(state, &choice, context);
    }
    if approve::covering(state, &choice.terms, &besides, context)?.is_some() {
        return buy::inspect_or_plan(state, &choice, context);
    }
    let request = approve::request(state, &choice, &reasons, context);
    if context.config.policy.approvers().is_empty() {
        state.phase = Phase::Ask;
        return Ok(Effect::Ask(request));
    }
    if approve::is_refused(&state.wallet, &request, context) {
        return Ok(fail(state, Code::ApprovalDenied.into()));
    }
    // What waits for a signature is written down first, once: the slot is held, and whoever approves finds it.
    let mut asked = state.wallet.asked.iter();
    let stands = asked.find(|asked| approve::is_same(asked, &request)).cloned();
    state.draft = Some(stands.clone().unwrap_or(request.clone()));
    if stands.is_some() {
        return ask(state, context);
    }
    state.intent = Some(buy::intent_for(state, &choice, context)?);
    Ok(persist(
        state,
        Some(WalletChange::Ask(request)),
        Then::Ask,
        context,
    ))
}

/// Asks the person who is there, else leaves the question for whoever comes.
pub(super) fn ask(state: &mut State, context: Context<'_>) -> Result<Effect, Error> {
    if !context.config.policy.asks_at_once() {
        return Ok(fail(state, Code::ApprovalNeeded.into()));
    }
    let request = state.draft.clone();
    let request = request.ok_or_else(|| Error::new(Code::StateInvalid, "draft"))?;
    state.phase = Phase::Ask;
    let hash = hex::encode(approval::request_hash(&request)?);
    Ok(Effect::Ask(request.with("hash", Json::text(hash))))
}

/// Why a person has to be asked, beside what is held under another id than `besides`; empty where nobody has to. Errors: those of
/// [`tree::decide`], of [`drift::decide`] and of [`crate::policy::Policy::decide`].
pub(super) fn reasons(
    state: &State,
    terms: &Terms,
    besides: &str,
    context: Context<'_>,
) -> Result<Vec<String>, Error> {
    let spent = state.wallet.spent_besides(besides);
    let own = context.config.policy.decide(terms, &spent, context.now)?;
    let tree = tree::decide(state, terms, besides, context)?;
    let drifts = drift::decide(state, terms, besides, context)?;
    let asked = core::iter::once(own)
        .chain(tree)
        .chain(drifts)
        .filter_map(|decision| match decision {
            Decision::Ask { reason } => Some(reason),
            Decision::Allow => None,
        });
    Ok(asked.collect())
}

/// What the intent may cost: the call can narrow what the record says, and not widen it.
fn budget(state: &State) -> Option<Amount> {
    let recorded = state.intent.as_ref().and_then(|intent| intent.budget);
    recorded.into_iter().chain(state.start.budget).min()
}

/// Whether the terms would be signed for the same token under the same domain.
fn same_signing(last: &Authorization, terms: &Terms) -> bool {
    let same = match (last, &terms.signing) {
        (Authorization::Eip3009(_, domain), Signing::Eip3009(other)) => domain == other,
        (Authorization::Permit2(permit, _), Signing::Permit2) => permit.facilitator.is_none(),
        (Authorization::Permit2(permit, _), Signing::Upto(named)) => permit.facilitator == Some(*named),
        (Authorization::Tempo(order), Signing::Tempo(due)) => order.pays(due),
        _ => false,
    };
    same && last.asset() == terms.asset && terms.network.chain_id() == Some(last.chain_id())
}

/// Under this id the wallet holds what this intent holds: a new attempt competes for the same nonce.
fn own_reservation(state: &State) -> String {
    state.intent.as_ref().map(Intent::reservation).unwrap_or_default()
}

/// The wallet moved while a reservation was being written: the caps are asked again. Errors: those of [`reasons`], `over_wallet_cap`.
pub(super) fn recheck(
    state: &State,
    reservation: &mut Reservation,
    context: Context<'_>,
) -> Result<(), Error> {
    let choice = choose(state, context)?;
    let reasons = reasons(state, &choice.terms, &reservation.id, context)?;
    reservation.approval = approve::covering(state, &choice.terms, &reservation.id, context)?;
    match reasons.is_empty() || state.approved || reservation.approval.is_some() {
        true => Ok(()),
        false => Err(Error::new(Code::OverWalletCap, "")),
    }
}

/// Whether what is planned may still be signed: time went by since, and the rules may be others. A person's yes to it stands. Errors: those of [`crate::policy::Policy::admit`] and of [`reasons`].
pub(super) fn still_allowed(state: &State, context: Context<'_>) -> Result<bool, Error> {
    let quote = state.intent()?.quote_of(state.current()?);
    let quote = quote.ok_or_else(|| Error::new(Code::StateInvalid, "quotes"))?;
    let (policy, payer) = (&context.config.policy, &context.config.payer);
    let terms = policy.admit(quote.offered.terms()?, payer)?;
    let besides = own_reservation(state);
    let reasons = reasons(state, &terms, &besides, context)?;
    let mut held = state.wallet.entries.iter();
    let yes = held.any(|entry| entry.id == besides && entry.yes);
    Ok(reasons.is_empty() || yes || approve::covering(state, &terms, &besides, context)?.is_some())
}

/// The person's answer, which took its time: everything is decided anew. With approvers on the list it is what one of them signed. Errors: those
/// of [`approve::granted`] and of [`reasons`].
pub(super) fn on_approved(
    state: &mut State,
    yes: bool,
    approval: Option<&Json>,
    context: Context<'_>,
) -> Result<Effect, Error> {
    if !yes {
        return Ok(fail(state, Code::ApprovalDenied.into()));
    }
    match context.config.policy.approvers().is_empty() {
        true => state.approved = true,
        false => {
            let choice = choose(state, context)?;
            approve::granted(state, &choice, approval, context)?;
            state.granted = approval.cloned();
        }
    }
    decide(state, context)
}
