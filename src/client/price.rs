//! From the 402 answer to a price that the policy allows.

use super::offers::{self, choose};
use super::record::{Intent, Reservation};
use super::{buy, fail, told, Context, Effect, Phase, State};
use crate::amount::Amount;
use crate::authorization::Authorization;
use crate::error::{Code, Error};
use crate::json::Json;
use crate::outcome::Answer;
use crate::policy::{Decision, Spent};
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
    if budget(state).is_some_and(|budget| choice.terms.amount > budget) {
        return Ok(fail(state, Error::new(Code::OverCap, "intent.budget").into()));
    }
    let spent = others_spent(state);
    match context.config.policy.decide(&choice.terms, &spent, context.now)? {
        Decision::Ask { reason } if !state.approved => {
            state.phase = Phase::Ask;
            let total = spent
                .iter()
                .filter(|entry| entry.network == choice.terms.network && entry.asset == choice.terms.asset)
                .try_fold(Amount::ZERO, |sum, entry| sum.checked_add(entry.amount));
            let shares = choice.terms.shares.iter().map(|share| {
                Json::object([("payTo", share.to.to_json()), ("amount", share.amount.to_json())])
            });
            let split = choice.terms.shares.len() > 1;
            let ask = Json::object([
                ("intentId", Json::text(state.intent_id.as_str())),
                ("reason", Json::text(reason)),
                ("amount", choice.terms.amount.to_json()),
                ("network", choice.terms.network.to_json()),
                ("asset", choice.terms.asset.to_json()),
                ("payTo", choice.terms.pay_to.to_json()),
                ("spent", total.unwrap_or(Amount::ZERO).to_json()),
            ]);
            let parts = split.then(|| Json::Array(shares.collect()));
            Ok(Effect::Ask(ask.with_some("parts", parts)))
        }
        _ => buy::inspect_or_plan(state, &choice, context),
    }
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

/// What the wallet holds, without what it holds for this intent: the new attempt competes for the same nonce.
fn others_spent(state: &State) -> Vec<Spent> {
    let own = state.intent.as_ref().map(Intent::reservation).unwrap_or_default();
    state.wallet.spent_besides(&own)
}

/// The wallet moved while a reservation was being written: the caps are asked again.
pub(super) fn recheck(state: &State, reservation: &Reservation, context: Context<'_>) -> Result<(), Error> {
    let choice = choose(state, context)?;
    let spent = state.wallet.spent_besides(&reservation.id);
    match context.config.policy.decide(&choice.terms, &spent, context.now)? {
        Decision::Ask { .. } if !state.approved => Err(Error::new(Code::OverWalletCap, "")),
        _ => Ok(()),
    }
}

/// The person's answer.
pub(super) fn on_approved(state: &mut State, yes: bool, context: Context<'_>) -> Result<Effect, Error> {
    if !yes {
        return Ok(fail(state, Code::ApprovalDenied.into()));
    }
    state.approved = true;
    let choice = choose(state, context)?;
    buy::inspect_or_plan(state, &choice, context)
}
