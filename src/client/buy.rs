//! From the price to the signed bytes.

use super::offers::{choose, Choice};
use super::record::{Intent, Quote, Rail, Reservation, Status, WalletChange};
use super::{approve, drift, lost, order, recover, told, tree};
use super::{fail, persist, Context, Effect, Failure, Phase, State, Then};
use crate::amount::Amount;
use crate::attempt::{self, Attempt, Part};
use crate::authorization::{Authorization, Method};
use crate::eip3009;
use crate::error::{Code, Error, Money, Next};
use crate::evidence::{self, VerdictKind};
use crate::intent;
use crate::json::Json;
use crate::permit2::Permit;
use crate::policy::{Spent, SpentState};
use crate::quote::Protocol;
use crate::time::{self, Seconds};
use crate::x402::payment_required::{Share, Signing, Terms};

/// The lower bound lies this far back, for a block's clock is not ours.
pub(super) const BACKDATED: Seconds = 600;
/// The seller's clock moves a window by at most this much.
const MAX_SHIFT: Seconds = 120;
/// Open quotes of one intent that are nothing to speak of: one, and another after a lost answer or a changed price. Each new
/// one above that number is told once, for the record: an open quote holds stock at the seller but no money of ours, since
/// all of them compete for one nonce.
const MAX_OPEN_QUOTES: usize = 2;
/// Nonces closed by a cancellation that are passed over at most.
const MAX_GENERATION: u64 = 64;

/// Before the first signature for a nonce it is looked up, where the host can read: a journal that was lost
/// must not pay again, and a nonce burnt by a cancellation is of no use.
pub(super) fn inspect_or_plan(
    state: &mut State,
    choice: &Choice,
    context: Context<'_>,
) -> Result<Effect, Error> {
    onto_rail(state, &choice.terms, context);
    let planned = authorizations(state, &choice.terms, context)?;
    let burnt = |one: &Authorization| {
        let intent = state.intent.as_ref();
        let mut siblings = intent
            .into_iter()
            .flat_map(|intent| intent.siblings(&one.nonce()));
        siblings.any(|sibling| sibling.state == attempt::State::Cancelled)
    };
    // One challenge is one purchase: what is paid under it for another intent is no payment of this one.
    let elsewhere = |one: &Authorization| state.wallet.is_dictated_elsewhere(&one.nonce(), &state.intent_id);
    if choice.terms.dictated.is_some() && planned.iter().any(elsewhere) {
        return Err(Error::new(Code::ChallengeInvalid, "challenges"));
    }
    // The nonce of a challenge is burnt for good: only another challenge brings another.
    if planned.iter().any(burnt) {
        return Ok(fail(
            state,
            Failure::from(Code::UsedOrCancelled).money(Money::None),
        ));
    }
    let fresh = |one: &Authorization| {
        let intent = state.intent.as_ref();
        intent.is_none_or(|intent| intent.siblings(&one.nonce()).is_empty())
    };
    if planned.iter().any(fresh) && context.config.can_read(&choice.terms.network) {
        return inspect(state, choice, 0, "latest", context);
    }
    if lost::recovered(state, &choice.terms, &planned).is_some() {
        return lost::paid(state, choice, None, context);
    }
    plan(state, choice, context)
}

/// Another rail has nonces of its own, and generations of its own: they go on from what was signed there before, not from what was
/// cancelled elsewhere. Else two journals that came there on different ways would sign for two nonces.
fn onto_rail(state: &mut State, terms: &Terms, context: Context<'_>) {
    let rail = rail_of(terms, context);
    let Some(intent) = state.intent.as_mut() else {
        return;
    };
    if intent.rail.as_ref().is_none_or(|pinned| *pinned == rail) {
        return;
    }
    let last = intent.attempts_on(&rail).next_back();
    intent.generation = last.map_or(0, |last| {
        last.generation + u64::from(last.state == attempt::State::Cancelled)
    });
    intent.rail = Some(rail);
}

fn rail_of(terms: &Terms, context: Context<'_>) -> Rail {
    Rail {
        network: terms.network.clone(),
        asset: terms.asset,
        payer: context.config.payer,
        method: terms.signing.method(),
        protocol: Protocol::of(terms),
    }
}

fn inspect(
    state: &mut State,
    choice: &Choice,
    part: usize,
    tag: &str,
    context: Context<'_>,
) -> Result<Effect, Error> {
    state.phase = Phase::Inspect(tag.to_owned());
    state.part = part;
    let planned = authorizations(state, &choice.terms, context)?;
    let one = planned
        .get(part)
        .ok_or_else(|| Error::new(Code::StateInvalid, "part"))?;
    recover::read_effect(one, tag)
}

/// What the chain says of the nonce that is about to be signed for. A split payment has several: a generation is passed over only
/// when all of its nonces are burnt, for the others may have been signed by whoever burnt the one.
pub(super) fn on_inspected(
    state: &mut State,
    tag: &str,
    evidence: &[Json],
    context: Context<'_>,
) -> Result<Effect, Error> {
    let choice = choose(state, context)?;
    if recover::wrong_chain(evidence, &choice.terms.network) {
        return Ok(fail(state, Code::ChainMismatch.into()));
    }
    let planned = authorizations(state, &choice.terms, context)?;
    let recovered = lost::recovered(state, &choice.terms, &planned).is_some();
    let (part, last) = (state.part, state.part + 1 == planned.len());
    let authorization = planned.into_iter().nth(part);
    let authorization = authorization.ok_or_else(|| Error::new(Code::StateInvalid, "part"))?;
    // A final block is asked where the latest one calls the nonce taken, and for the further parts behind a burnt one.
    let taken = tag == "finalized";
    let chain = context
        .config
        .chain(choice.terms.network.clone(), choice.terms.asset);
    let verdict = evidence::resolve_signed(&[authorization], &chain, evidence);
    let ended = |code: Code| Ok(fail(state, code.into()));
    match verdict.verdict {
        VerdictKind::NotYet | VerdictKind::Dead if taken => ended(Code::UsedOrCancelled),
        // A source that has forgotten what was read of it before.
        VerdictKind::NotYet | VerdictKind::Dead if recovered => lost::paid(state, &choice, None, context),
        VerdictKind::NotYet | VerdictKind::Dead if last => plan(state, &choice, context),
        VerdictKind::NotYet | VerdictKind::Dead => inspect(state, &choice, part + 1, "latest", context),
        VerdictKind::Cancelled if choice.terms.dictated.is_some() => ended(Code::UsedOrCancelled),
        VerdictKind::Cancelled if tag == "finalized" && verdict.next == Next::SafeToResign => {
            if !last {
                return inspect(state, &choice, part + 1, "finalized", context);
            }
            let generation = generation(state) + 1;
            if generation > MAX_GENERATION {
                return ended(Code::UsedOrCancelled);
            }
            match state.intent.as_mut() {
                Some(intent) => intent.generation = generation,
                None => state.first_generation = generation,
            }
            inspect(state, &choice, 0, "latest", context)
        }
        VerdictKind::Cancelled | VerdictKind::UsedOrCancelled if part == 0 && !taken => {
            inspect(state, &choice, 0, "finalized", context)
        }
        VerdictKind::Paid => lost::paid(state, &choice, Some(&verdict), context),
        VerdictKind::PaidWrongTerms => {
            let finding = told::finding(state, Code::AuthorizationUsed);
            state.alerts.push(finding);
            lost::paid(state, &choice, Some(&verdict), context)
        }
        VerdictKind::Cancelled | VerdictKind::UsedOrCancelled => ended(Code::UsedOrCancelled),
        // Nothing was signed here, and nothing is while the chain can't be read.
        VerdictKind::Unreadable => Ok(fail(
            state,
            Failure::from(Code::EvidenceUnreadable).money(Money::None),
        )),
    }
}

fn generation(state: &State) -> u64 {
    state
        .intent
        .as_ref()
        .map_or(state.first_generation, |intent| intent.generation)
}

/// The window, shifted by the seller's clock within bounds and never longer than the policy allows.
fn window(state: &State, terms: &Terms, context: Context<'_>) -> (Seconds, Seconds) {
    let date = state
        .price
        .as_ref()
        .and_then(|price| price.get("date"))
        .and_then(|date| date.as_str().ok());
    let seller = date.and_then(time::parse_http_date).unwrap_or(context.now);
    let now = seller.clamp(
        context.now.saturating_sub(MAX_SHIFT),
        context.now.saturating_add(MAX_SHIFT),
    );
    let length = terms.max_timeout.min(context.config.policy.max_window());
    let expires = terms.dictated.and_then(|dictated| dictated.expires);
    let end = now.saturating_add(length);
    (
        now.saturating_sub(BACKDATED),
        expires.map_or(end, |expires| end.min(expires)),
    )
}

/// What is signed for these terms: one authorization for each share, each with a nonce of its own; or one transaction.
pub(super) fn authorizations(
    state: &State,
    terms: &Terms,
    context: Context<'_>,
) -> Result<Vec<Authorization>, Error> {
    // One transaction pays them all.
    if let Signing::Tempo(due) = &terms.signing {
        return Ok(vec![order::transaction(terms, due, context)?]);
    }
    (0..)
        .zip(&terms.shares)
        .map(|(index, share)| authorization(state, terms, index, share, context))
        .collect()
}

/// The nonce that everything signed on this rail for this share of the intent competes for.
pub(super) fn nonce(
    intent_id: &str,
    rail: &Rail,
    generation: u64,
    index: u64,
    context: Context<'_>,
) -> Result<[u8; 32], Error> {
    let derive = match rail.method {
        Method::Eip3009 => intent::authorization_nonce,
        Method::Permit2 => intent::permit2_nonce,
        // The challenge's memo names it, and nothing of ours.
        Method::Tempo => return Err(Error::new(Code::MppUnsupported, "rail")),
    };
    let Rail {
        network,
        asset,
        payer,
        ..
    } = rail;
    derive(
        intent_id,
        payer,
        network,
        asset,
        generation,
        index,
        context.secret,
    )
}

/// The same for an intent that has a record: what was signed for stands, for another secret would give another nonce, which could land beside it.
pub(super) fn own_nonce(
    intent: &Intent,
    rail: &Rail,
    index: u64,
    context: Context<'_>,
) -> Result<[u8; 32], Error> {
    match intent.nonce_on(rail, intent.generation, index) {
        Some(signed) => Ok(signed),
        None => nonce(&intent.intent_id, rail, intent.generation, index, context),
    }
}

fn authorization(
    state: &State,
    terms: &Terms,
    index: u64,
    share: &Share,
    context: Context<'_>,
) -> Result<Authorization, Error> {
    let payer = &context.config.payer;
    let (after, before) = window(state, terms, context);
    let rail = rail_of(terms, context);
    let nonce = match (&terms.dictated, &state.intent) {
        (Some(dictated), _) => dictated.nonce,
        (None, Some(intent)) => own_nonce(intent, &rail, index, context)?,
        (None, None) => nonce(&state.intent_id, &rail, generation(state), index, context)?,
    };
    Ok(match &terms.signing {
        Signing::Eip3009(domain) => {
            let authorization = eip3009::Authorization {
                from: *payer,
                to: share.to,
                value: share.amount,
                valid_after: Amount::from_u64(after),
                valid_before: Amount::from_u64(before),
                nonce,
            };
            Authorization::Eip3009(authorization, domain.clone())
        }
        Signing::Permit2 | Signing::Upto(_) => {
            let facilitator = match terms.signing {
                Signing::Upto(facilitator) => Some(facilitator),
                _ => None,
            };
            let chain_id = terms.network.chain_id();
            let chain_id = chain_id.ok_or_else(|| Error::new(Code::NetworkInvalid, "network"))?;
            let permit = Permit {
                from: *payer,
                token: terms.asset,
                amount: share.amount,
                nonce,
                // Inclusive, where the window's end is not.
                deadline: Amount::from_u64(before.saturating_sub(1)),
                to: share.to,
                facilitator,
                valid_after: Amount::from_u64(after),
            };
            Authorization::Permit2(permit, chain_id)
        }
        Signing::Tempo(due) => order::transaction(terms, due, context)?,
    })
}

pub(super) fn intent_for(state: &State, choice: &Choice, context: Context<'_>) -> Result<Intent, Error> {
    let mut intent = match &state.intent {
        Some(intent) => intent.clone(),
        None => opened(state, context)?,
    };
    intent.rail = Some(rail_of(&choice.terms, context));
    intent.keep(Quote {
        quote_hash: choice.quote_hash,
        offered: choice.offered.clone(),
        seen_at: context.now,
    });
    Ok(intent)
}

/// The record of an intent that this journal meets for the first time.
pub(super) fn opened(state: &State, context: Context<'_>) -> Result<Intent, Error> {
    Ok(Intent {
        intent_id: state.intent_id.clone(),
        principal: context.config.payer,
        id: state.start.id.clone(),
        purpose: state.start.purpose.clone(),
        scope: state.start.scope.clone(),
        parent: state.start.parent.clone(),
        occurrence: state.series.unwrap_or(0),
        request: state.request()?.clone(),
        created_at: context.now,
        updated_at: context.now,
        status: Status::Open,
        reason: None,
        rail: None,
        generation: state.first_generation,
        keyed: context.secret.is_some(),
        contract_wallet: context.config.contract_wallet,
        quotes: Vec::new(),
        attempts: Vec::new(),
        budget: state.start.budget,
        handed: None,
        delivery: None,
        claim: None,
    })
}

/// Writes the authorization down, with its reservation, before the signer sees it.
fn plan(state: &mut State, choice: &Choice, context: Context<'_>) -> Result<Effect, Error> {
    let mut planned = authorizations(state, &choice.terms, context)?.into_iter();
    let authorization = planned.next();
    let authorization = authorization.ok_or_else(|| Error::new(Code::StateInvalid, "shares"))?;
    let parts = planned.map(Part::planned).collect();
    let mut intent = intent_for(state, choice, context)?;
    let known = state.intent.as_ref().map_or(0, |intent| intent.quotes.len());
    let accumulating = intent.quotes.len() > known && intent.open_quotes(context.now) > MAX_OPEN_QUOTES;
    let attempt_id = format!("{}/{}", intent.intent_id, intent.attempts.len());
    // While an earlier authorization may land, the id under which the seller knows the work stays, though the quote be new.
    let kept = intent
        .siblings(&authorization.nonce())
        .into_iter()
        .find(|attempt| attempt.state.is_live())
        .and_then(|attempt| attempt.payment_id.clone());
    let payment_id = choice
        .offered
        .takes_payment_id()
        .then(|| match kept {
            Some(id) => Ok(id),
            None => intent::payment_id(
                &intent.intent_id,
                &choice.quote_hash,
                intent.generation,
                context.secret,
            ),
        })
        .transpose()?;
    let spent = Spent {
        network: choice.terms.network.clone(),
        asset: choice.terms.asset,
        amount: choice.terms.cost(),
        at: context.now,
        state: SpentState::Reserved,
        to: choice.terms.shares.clone(),
    };
    let besides = intent.reservation();
    let nonce = authorization.nonce();
    let approval = approve::covering(state, &choice.terms, &besides, context)?;
    let place = tree::place(state, context)?;
    let call = drift::signed(&intent.request, &authorization, context)?;
    intent.attempts.push(Attempt {
        attempt_id,
        quote_hash: choice.quote_hash,
        payment_id,
        generation: intent.generation,
        authorization,
        signature: None,
        parts,
        header: None,
        planned_at: context.now,
        signed_at: None,
        sends: Vec::new(),
        observations: Vec::new(),
        settlement: None,
        receipt: None,
        state: attempt::State::Planned,
        transaction: None,
        verdict: None,
        evidence: Vec::new(),
        cancellation: None,
        given_by: None,
        traceparent: state.start.traceparent.clone(),
    });
    intent.status = Status::Open;
    let change = WalletChange::Reserve(Box::new(Reservation {
        id: intent.reservation(),
        spent,
        approval,
        call,
        place,
        approved: state.granted.clone(),
        yes: state.approved,
        nonce: choice.terms.dictated.is_some().then_some(nonce),
    }));
    state.intent = Some(intent);
    if accumulating {
        let notice = told::notice(state, Code::QuotesAccumulating);
        state.alerts.push(notice);
    }
    Ok(persist(state, Some(change), Then::Sign, context))
}
