//! A nonce that is used, and this journal does not know by which signature: it was lost, or put back to an older copy.

use super::buy::{authorizations, intent_for};
use super::history::Token;
use super::offers::Choice;
use super::record::{Intent, Status};
use super::{persist, recheck, told, Context, Effect, State, Then};
use crate::authorization::{Authorization, Method};
use crate::error::{Code, Error};
use crate::evidence::{Verdict, VerdictKind};
use crate::json::Json;
use crate::policy::Spent;
use crate::x402::payment_required::{Share, Signing, Terms};

/// What the wallet holds for the first of the nonces that is known to be used, by what was read of the payer's history, and the share that it was
/// planned for.
pub(super) fn recovered<'a>(
    state: &'a State,
    terms: &'a Terms,
    planned: &[Authorization],
) -> Option<(&'a Spent, &'a Share)> {
    let token = token(terms);
    let held = |(one, share): (&Authorization, &'a Share)| {
        let id = token.reservation(&one.nonce());
        let entry = state.wallet.entries.iter().find(|entry| entry.id == id)?;
        Some((&entry.spent, share))
    };
    planned.iter().zip(&terms.shares).find_map(held)
}

fn token(terms: &Terms) -> Token {
    Token {
        network: terms.network.clone(),
        asset: terms.asset,
    }
}

/// Whether what moved is something else than what is offered now, so that nothing in this journal says what was bought.
pub(super) fn is_otherwise(intent: &Intent) -> bool {
    let claim = intent.claim.as_ref();
    claim.and_then(|claim| claim.get("otherwise")) == Some(&Json::Bool(true))
}

/// The nonce was used, by what was read now or before, and this journal does not know by which signature: paid, not delivered, with a claim.
pub(super) fn paid(
    state: &mut State,
    choice: &Choice,
    verdict: Option<&Verdict>,
    context: Context<'_>,
) -> Result<Effect, Error> {
    let mut intent = intent_for(state, choice, context)?;
    intent.status = Status::PaidNotDelivered;
    let claim = told::claim(
        &intent,
        choice.quote_hash,
        verdict.and_then(|verdict| verdict.transaction.clone()),
        "history_lost",
        context.now,
    );
    let part = u64::try_from(state.part).ok().filter(|part| *part > 0);
    let terms = &choice.terms;
    let planned = authorizations(state, terms, context)?;
    let known = recovered(state, terms, &planned);
    let upto = matches!(terms.signing, Signing::Upto(_));
    // With scheme `upto` less may have moved than is offered.
    let amount = match verdict {
        Some(verdict) => verdict.amount,
        None => known.filter(|_| upto).map(|(spent, _)| spent.amount),
    };
    let otherwise = match (verdict, known) {
        (Some(verdict), _) => verdict.verdict == VerdictKind::PaidWrongTerms,
        (None, Some((spent, share))) => {
            let as_offered = match upto {
                true => spent.amount <= share.amount,
                false => {
                    terms.shares.len() > 1 || spent.amount == terms.amount || spent.amount == terms.cost()
                }
            };
            !as_offered || spent.to.iter().any(|to| to.to != share.to)
        }
        (None, None) => false,
    };
    let claim = claim
        .with_some("part", part.map(Json::number))
        .with_some("amount", amount.map(|amount| amount.to_json()))
        .with_some("otherwise", otherwise.then_some(Json::Bool(true)));
    // What a recovery wrote down was final. And a transaction that is not known by its hash is found by its memo for a while only: a later read that
    // finds nothing says nothing.
    let again = verdict.filter(|_| terms.signing.method() != Method::Tempo);
    intent.claim = Some(match again {
        Some(verdict) => recheck::with_finality(claim, verdict),
        None => claim,
    });
    // What was found counts, as what a recovery finds.
    let one = usize::try_from(part.unwrap_or(0))
        .ok()
        .and_then(|part| planned.get(part));
    let found = verdict.filter(|_| known.is_none()).zip(one);
    let change = found.map(|(verdict, one)| {
        let moved = verdict.amount.or(verdict.otherwise);
        let to = match otherwise {
            true => Vec::new(),
            false => terms.shares.clone(),
        };
        token(terms).found(&one.nonce(), moved.unwrap_or(terms.cost()), context.now, to)
    });
    state.intent = Some(intent);
    let code = match otherwise {
        true => Code::PaidWrongTerms,
        false => Code::AuthorizationUsed,
    };
    Ok(persist(state, change, Then::Fail(code.into()), context))
}
