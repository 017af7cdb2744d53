//! Going on with an intent that another actor gave. What it says of the chain is read again; what it lists as open is held like
//! money spent.
//!
//! Where both write one journal, the record is there with all its bytes. Elsewhere it is made from the document, and written down before
//! anything else: what may still land stands in it without bytes, under the same nonce, so that its window is waited for and its amount
//! is counted. From there on both are one.

use super::record::{Handed, Intent, Quote, Rail, Reservation, WalletChange};
use super::{buy, drift, fail, hand_over, persist, recover, tree, Context, Effect, Phase, State, Then};
use crate::attempt::{self, Attempt};
use crate::authorization::Authorization;
use crate::error::{Code, Error, Next};
use crate::evidence::{self, VerdictKind};
use crate::hand_over::{HandOver, Slot};
use crate::json::Json;
use crate::quote::Protocol;
use crate::time::Seconds;

/// What can be said of a hand-over by itself. Errors, in this order: `missing_field`, those of [`HandOver::from_json`],
/// `hand_over_other_payer`, `hand_over_other_actor`, `hand_over_expired`.
pub(super) fn meet(state: &mut State, context: Context<'_>) -> Result<(), Error> {
    let (hand_over, _) = document(state)?;
    let refused = [
        (Code::HandOverOtherPayer, hand_over.payer != context.config.payer),
        (Code::HandOverOtherActor, hand_over.to != context.config.actor),
        (Code::HandOverExpired, context.now >= hand_over.expires_at),
    ];
    if let Some((code, _)) = refused.into_iter().find(|(_, refused)| *refused) {
        return Err(Error::new(code, "handOver"));
    }
    state.intent_id = hand_over.intent_id;
    // Under these an unnamed call is found again.
    state.start.request = Some(hand_over.request);
    state.start.id = hand_over.id;
    state.start.scope = hand_over.scope;
    state.start.parent = hand_over.parent;
    Ok(())
}

fn document(state: &State) -> Result<(HandOver, Option<String>), Error> {
    let document = state.start.hand_over.as_ref();
    let document = document.ok_or_else(|| Error::new(Code::MissingField, "handOver"))?;
    HandOver::from_json(document).map_err(|error| error.within("handOver"))
}

/// The record meets the document. Refused, in this order: `hand_over_expired`, `hand_over_taken`, `hand_over_replayed`,
/// `hand_over_untrusted`, `intent_conflict`, `rail_changed`, `hand_over_wider`, `intent_released`, `hand_over_paid`, `payment_identifier_conflict`,
/// `mpp_unsupported` (what is open pays a challenge, in another journal), `hand_over_other_secret`; of an open authorization `hand_over_unread`, `hand_over_unproven`, `paid_wrong_terms`, `partly_paid`,
/// `evidence_unreadable`, `used_or_cancelled`, `outcome_unknown`.
pub(super) fn begin(state: &mut State, context: Context<'_>) -> Result<Effect, Error> {
    state.read = false;
    let (given, signature) = document(state)?;
    if let Some(code) = refusal(state, &given, signature.as_deref(), context)? {
        return Ok(fail(state, code.into()));
    }
    let ended = |intent| hand_over::ended(state, intent);
    if let Some(failure) = state.intent.as_ref().and_then(ended) {
        return Ok(fail(state, failure));
    }
    let known = in_journal(state, &given)?;
    if !known {
        state.first_generation = state.intent.as_ref().map_or(0, |intent| intent.generation);
        state.intent = Some(merged(state, &given, context)?);
    }
    let intent = state.intent()?;
    let dictated = |one: &Attempt| {
        let quote = intent.quote_of(one);
        quote.is_some_and(|quote| quote.offered.challenge().is_some())
    };
    // A challenge brought its nonce: nothing of this actor's would compete for it.
    if !known && given.live.iter().any(dictated) {
        return Ok(fail(state, Code::MppUnsupported.into()));
    }
    if !same_nonces(intent, &given, known, context)? {
        return Ok(fail(state, Code::HandOverOtherSecret.into()));
    }
    let open = intent.attempts.iter().any(|attempt| attempt.state.is_live());
    match (open, known) {
        (true, _) if !recover::can_read(state, context) => Ok(fail(state, Code::HandOverUnread.into())),
        (true, true) => recover::read_all(state),
        (true, false) => {
            state.part = 0;
            walk(state, &given, context)
        }
        (false, _) => take(state, &given, context),
    }
}

/// Whether the nonces of the document are those that are derived here: else two signatures would not compete for one.
fn same_nonces(intent: &Intent, given: &HandOver, known: bool, context: Context<'_>) -> Result<bool, Error> {
    let (Some(slot), Some(rail)) = (&given.slot, &intent.rail) else {
        return Ok(true);
    };
    let derive = |index| buy::nonce(&intent.intent_id, rail, slot.generation, index, context);
    let mut same = derive(0)? == slot.nonce;
    // In this very journal a nonce may come from a challenge: the record alone protects it.
    for attempt in given.live.iter().filter(|_| !known) {
        for (index, one) in (0..).zip(attempt.slots()) {
            same &= derive(index)? == one.authorization.nonce();
        }
    }
    Ok(same)
}

/// Whether the giver wrote it into this very journal.
fn in_journal(state: &State, given: &HandOver) -> Result<bool, Error> {
    let hash = given.hash()?;
    let handed = state.intent.as_ref().and_then(|intent| intent.handed.as_ref());
    Ok(handed.is_some_and(|handed| handed.hash == hash))
}

fn refusal(
    state: &State,
    given: &HandOver,
    signature: Option<&str>,
    context: Context<'_>,
) -> Result<Option<Code>, Error> {
    if context.now >= given.expires_at {
        return Ok(Some(Code::HandOverExpired));
    }
    let shared = in_journal(state, given)?;
    let intent = state.intent.as_ref();
    if let Some(handed) = intent.and_then(|intent| intent.handed.as_ref()) {
        // The next one comes from whoever the last one was for.
        let follows = given.serial > handed.serial && given.from == handed.to;
        // It was written anew for the same actor, which may have taken the first one here.
        let anew = given.serial > handed.serial && (&given.from, &given.to) == (&handed.from, &handed.to);
        match shared {
            true if handed.taken_at.is_some() => return Ok(Some(Code::HandOverTaken)),
            false if !follows && !anew => return Ok(Some(Code::HandOverReplayed)),
            _ => {}
        }
    }
    let known = |signer| signer == given.payer || context.config.known_writers.contains(&signer);
    let signed = || {
        let signer = signature.and_then(|signature| given.recover(signature).ok());
        signer.is_some_and(known)
    };
    if !shared && !signed() {
        return Ok(Some(Code::HandOverUntrusted));
    }
    let Some(intent) = intent else {
        return Ok(None);
    };
    if intent.request.fingerprint()? != given.fingerprint {
        return Ok(Some(Code::IntentConflict));
    }
    let rail = |slot: &Slot| {
        let same = |rail: &Rail| {
            (&rail.network, rail.asset, rail.method) == (&slot.network, slot.asset, slot.method)
        };
        intent.all_void() || intent.rail.as_ref().is_none_or(same)
    };
    if !given.slot.as_ref().is_none_or(rail) {
        return Ok(Some(Code::RailChanged));
    }
    let wider = intent.budget.is_some_and(|budget| given.budget > budget);
    Ok(wider.then_some(Code::HandOverWider))
}

/// The record as it is in a journal that the giver does not write: what is known here, and what the document lists as open.
fn merged(state: &State, given: &HandOver, context: Context<'_>) -> Result<Intent, Error> {
    let mut intent = match &state.intent {
        Some(intent) => intent.clone(),
        // The rest is that of the document since it was met.
        None => Intent {
            purpose: given.purpose.clone(),
            occurrence: given.occurrence,
            budget: None,
            ..buy::opened(state, context)?
        },
    };
    // Its signature never became durable.
    intent
        .attempts
        .retain(|attempt| attempt.state != attempt::State::Planned);
    let Some(slot) = &given.slot else {
        return Ok(intent);
    };
    intent.rail = Some(Rail {
        network: slot.network.clone(),
        asset: slot.asset,
        payer: given.payer,
        protocol: Protocol::X402,
        method: slot.method,
    });
    // Where nothing is open, the next purchase finds by itself which nonces are closed.
    if !given.live.is_empty() {
        intent.generation = intent.generation.max(slot.generation);
    }
    for quote in &given.quotes {
        let quote = Quote::from_json(quote).map_err(|error| error.within("handOver.quotes"))?;
        intent.keep(quote);
    }
    for attempt in &given.live {
        let known = |known: &Attempt| known.in_flight("").slots().eq(attempt.slots());
        if !intent.attempts.iter().any(known) {
            let attempt_id = format!("{}/{}", intent.intent_id, intent.attempts.len());
            intent.attempts.push(Attempt {
                attempt_id,
                ..attempt.clone()
            });
        }
    }
    Ok(intent)
}

// ---------------------------------------------------------------- reading again

/// Reads the nonces of the generations that are passed over; then what is open is written down, before it is read itself.
fn walk(state: &mut State, given: &HandOver, context: Context<'_>) -> Result<Effect, Error> {
    let last = given.slot.as_ref().map_or(0, |slot| slot.generation);
    if state.first_generation >= last {
        return adopt(state, given, context);
    }
    let passed = passed(state, context)?;
    let effect = recover::read_effect(&passed, "finalized")?;
    state.phase = Phase::Read("finalized".to_owned());
    Ok(effect)
}

/// What an authorization of the generation that is looked at would be.
fn passed(state: &State, context: Context<'_>) -> Result<Authorization, Error> {
    let invalid = |field: &str| Error::new(Code::StateInvalid, field);
    let intent = state.intent()?;
    let rail = intent.rail.as_ref().ok_or_else(|| invalid("rail"))?;
    let slot = state.current()?.slot(state.part).ok_or_else(|| invalid("part"))?;
    let index = u64::try_from(state.part).map_err(|_| invalid("part"))?;
    let nonce = buy::nonce(&intent.intent_id, rail, state.first_generation, index, context)?;
    Ok(slot.authorization.with_nonce(nonce))
}

/// The chain's answer, about a generation that is passed over or about what may still land.
pub(super) fn on_evidence(
    state: &mut State,
    tag: &str,
    evidence: &[Json],
    context: Context<'_>,
) -> Result<Effect, Error> {
    let (given, _) = document(state)?;
    if in_journal(state, &given)? {
        return recover::on_evidence(state, tag, evidence, context);
    }
    let one = passed(state, context)?;
    let chain = context.config.chain(one.network()?, one.asset());
    let verdict = evidence::resolve_signed(&[one], &chain, evidence);
    match verdict.verdict {
        VerdictKind::Cancelled if verdict.next == Next::SafeToResign => {
            // A generation is passed over only where all of its nonces are burnt.
            match state.part < state.current()?.parts.len() {
                true => state.part += 1,
                false => {
                    state.part = 0;
                    state.first_generation += 1;
                }
            }
            walk(state, &given, context)
        }
        VerdictKind::Unreadable => Ok(fail(state, Code::EvidenceUnreadable.into())),
        _ => Ok(fail(state, Code::HandOverUnproven.into())),
    }
}

/// Read, and without an end.
pub(super) fn undecided(state: &mut State, context: Context<'_>) -> Result<Effect, Error> {
    match hand_over::unread(state.current()?) {
        Some(failure) => Ok(fail(state, failure)),
        None => {
            let (given, _) = document(state)?;
            take(state, &given, context)
        }
    }
}

// ---------------------------------------------------------------- taking it

/// What is open elsewhere counts as spent here from now on, whatever the caps are and whatever comes of this call.
fn adopt(state: &mut State, given: &HandOver, context: Context<'_>) -> Result<Effect, Error> {
    note(state, given, None)?;
    let intent = state.intent()?;
    let reservation = Reservation {
        call: drift::mark(&intent.request, context)?,
        place: Some(tree::handed(state, given, context)?),
        ..intent.held(context.now)?
    };
    let change = WalletChange::Reserve(Box::new(reservation));
    Ok(persist(state, Some(change), Then::Reenter, context))
}

/// From here on it is this actor's to sign for.
fn take(state: &mut State, given: &HandOver, context: Context<'_>) -> Result<Effect, Error> {
    note(state, given, Some(context.now))?;
    let change = WalletChange::Place(tree::handed(state, given, context)?);
    Ok(persist(
        state,
        Some(change),
        Then::Done("taken_over".to_owned()),
        context,
    ))
}

fn note(state: &mut State, given: &HandOver, taken_at: Option<Seconds>) -> Result<(), Error> {
    // An unnamed call is found by its number.
    state.series = state.series.max(Some(given.occurrence));
    let intent = state.intent_mut()?;
    intent.budget = Some(given.budget);
    intent.handed = Some(Handed::of(given, taken_at)?);
    Ok(())
}
