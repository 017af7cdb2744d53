//! Giving an intent to another actor: the attempt stays with whoever made it, the intent goes.
//!
//! What may still land is read first, in the same call. From the write on the giver signs nothing for the intent any more: it can only
//! send bytes that are journalled and counted.

use super::record::{Handed, Intent, Status, WalletChange};
use super::{
    buy, done, fail, may_sign, persist, recover, retry, sign, tree, Context, Effect, Failure, Phase, State,
    Then,
};
use crate::amount::Amount;
use crate::attempt::{self, Attempt};
use crate::error::{Code, Error, Money, Next};
use crate::evidence::VerdictKind;
use crate::hand_over::{HandOver, Slot};
use crate::hex;
use crate::json::Json;
use crate::quote::Protocol;
use crate::time::Seconds;

/// How old a read may be when the hand-over is written: its block, and the time since.
const READ_KEPT: Seconds = 600;
/// How long a hand-over can be taken when nothing is said.
const EXPIRES_IN: Seconds = 3_600;
/// The longest that it can.
const MAX_EXPIRES_IN: Seconds = 86_400;

/// Reads what may still land, then asks for the signature. Refused, in this order: `missing_field` and `actor_invalid` at `to`,
/// `number_out_of_range` at `expiresIn`, `intent_unknown`, `intent_released`, `mpp_unsupported`, `hand_over_paid`, `payment_identifier_conflict`,
/// `intent_handed_over`, `hand_over_wider`, `missing_field` at `budget` where no cap bounds it; of an open authorization
/// `hand_over_unread`, `paid_wrong_terms`, `partly_paid`, `evidence_unreadable`, `used_or_cancelled`, `outcome_unknown`, `hand_over_stale`.
pub(super) fn begin(state: &mut State, context: Context<'_>) -> Result<Effect, Error> {
    state.draft = None;
    state.read = false;
    if let Some(failure) = refusal(state, context)? {
        return Ok(fail(state, failure));
    }
    let attempts = &state.intent()?.attempts;
    // Its signature never became durable, so it was never sent: whoever has it in hand meets another record.
    if attempts
        .last()
        .is_some_and(|last| last.state == attempt::State::Planned)
    {
        return Ok(sign::forget_unsigned(state, Then::Reenter, context));
    }
    match attempts.iter().any(|attempt| attempt.state.is_live()) {
        true if !recover::can_read(state, context) => Ok(fail(state, Code::HandOverUnread.into())),
        true => recover::read_all(state),
        false => propose(state, Vec::new(), context),
    }
}

fn to(state: &State) -> Result<&str, Error> {
    let to = state.start.to.as_deref();
    to.ok_or_else(|| Error::new(Code::MissingField, "to"))
}

fn refusal(state: &State, context: Context<'_>) -> Result<Option<Failure>, Error> {
    let to = to(state)?;
    if to == context.config.actor {
        return Err(Error::new(Code::ActorInvalid, "to"));
    }
    if !(1..=MAX_EXPIRES_IN).contains(&expires_in(state)) {
        return Err(Error::new(Code::NumberOutOfRange, "expiresIn"));
    }
    let Some(intent) = &state.intent else {
        return Ok(Some(Code::IntentUnknown.into()));
    };
    // One that nobody took may be written anew for the same actor, and for no other: it may have taken it elsewhere.
    let mine = |handed: &Handed| {
        (handed.from.as_str(), handed.to.as_str(), handed.taken_at) == (&context.config.actor, to, None)
    };
    if let Some(failure) = ended(state, intent) {
        return Ok(Some(failure));
    }
    if !may_sign(state, context) && !intent.handed.as_ref().is_some_and(mine) {
        return Ok(Some(Code::IntentHandedOver.into()));
    }
    budget(state, context).map(|_| None)
}

/// What there is nothing to hand over of.
pub(super) fn ended(state: &State, intent: &Intent) -> Option<Failure> {
    let moved = |attempt: &Attempt| {
        let proven = attempt.state.proven();
        proven.is_some_and(|(_, money, _)| money == Money::Proven)
    };
    let paid = matches!(intent.status, Status::Delivered | Status::PaidNotDelivered);
    match intent.status {
        Status::Released => Some(Code::IntentReleased.into()),
        // Whoever takes it could not tell by the slot that a challenge's nonce is open.
        _ if dictated(intent) => Some(Code::MppUnsupported.into()),
        _ if paid || intent.attempts.iter().any(moved) => Some(Code::HandOverPaid.into()),
        _ if intent.is_conflicted() => Some(retry::conflict_failure(state)),
        _ => None,
    }
}

fn dictated(intent: &Intent) -> bool {
    let rail = intent.rail.as_ref();
    rail.is_some_and(|rail| rail.protocol == Protocol::Mpp)
}

fn expires_in(state: &State) -> Seconds {
    state.start.expires_in.unwrap_or(EXPIRES_IN)
}

/// What may be spent from here on: never more than may be spent here, and than is left of every budget above. Errors: `hand_over_wider`, `missing_field`.
fn budget(state: &State, context: Context<'_>) -> Result<Amount, Error> {
    let recorded = state.intent()?.budget;
    let left = tree::left(state, context);
    let allowed = recorded
        .into_iter()
        .chain(context.config.policy.cap())
        .chain(left)
        .min();
    match (state.start.budget, allowed) {
        (Some(asked), Some(allowed)) if asked > allowed => Err(Error::new(Code::HandOverWider, "budget")),
        (asked, allowed) => asked
            .or(allowed)
            .ok_or_else(|| Error::new(Code::MissingField, "budget")),
    }
}

/// The chain's answer about what may still land: what it decides is written down like any other end.
pub(super) fn on_evidence(
    state: &mut State,
    tag: &str,
    evidence: &[Json],
    context: Context<'_>,
) -> Result<Effect, Error> {
    if tag == "latest" {
        let slot = state.current()?.slot(state.part);
        let read = slot
            .ok_or_else(|| Error::new(Code::StateInvalid, "part"))?
            .authorization;
        let read = Json::object([
            ("at", Json::number(context.now)),
            ("tag", Json::text(tag)),
            ("payer", read.from().to_json()),
            ("asset", read.asset().to_json()),
            ("nonce", Json::text(read.nonce_text())),
            ("evidence", Json::Array(evidence.to_vec())),
        ]);
        let mut reads = reads(state)?;
        reads.push(read);
        state.draft = Some(Json::Array(reads));
    }
    recover::on_evidence(state, tag, evidence, context)
}

/// What this call has read so far.
fn reads(state: &State) -> Result<Vec<Json>, Error> {
    let reads = state.draft.as_ref().map(Json::as_array).transpose()?;
    Ok(reads.unwrap_or_default().to_vec())
}

/// Read, and without an end: the intent may go, when what was read says for certain that nothing has moved yet.
pub(super) fn undecided(state: &mut State, context: Context<'_>) -> Result<Effect, Error> {
    if let Some(failure) = unread(state.current()?) {
        return Ok(fail(state, failure));
    }
    let reads = reads(state)?;
    let fresh = |read: &Json| {
        let evidence = read.get("evidence").and_then(|list| list.as_array().ok());
        evidence.is_some_and(|list| list.iter().all(|one| is_fresh(one, context.now)))
    };
    match reads.iter().all(fresh) {
        true => propose(state, reads, context),
        false => Ok(fail(state, Code::HandOverStale.into())),
    }
}

/// Why what was read of an attempt does not say that nothing has moved.
pub(super) fn unread(attempt: &Attempt) -> Option<Failure> {
    let verdict = retry::last_verdict(attempt);
    let is = |kind: VerdictKind| verdict == Some(kind.as_str());
    match verdict {
        _ if is(VerdictKind::NotYet) => None,
        _ if is(VerdictKind::Unreadable) => Some(Code::EvidenceUnreadable.into()),
        Some(_) => Some(Code::UsedOrCancelled.into()),
        // Of a split payment one part has its end and another has not.
        None => Some(Code::OutcomeUnknown.into()),
    }
}

/// Whether a source's block is of now.
fn is_fresh(evidence: &Json, now: Seconds) -> bool {
    let timestamp = evidence
        .get("block")
        .and_then(|block| block.get("timestamp")?.as_str().ok());
    let digits = timestamp.and_then(|text| text.strip_prefix("0x"));
    let at = digits.and_then(|digits| Seconds::from_str_radix(digits, 16).ok());
    at.is_some_and(|at| now.saturating_sub(at) <= READ_KEPT)
}

/// Puts it together and asks for the signature.
fn propose(state: &mut State, reads: Vec<Json>, context: Context<'_>) -> Result<Effect, Error> {
    let hand_over = gathered(state, reads, context)?;
    let effect = Effect::Sign(Json::object([
        ("typedData", hand_over.typed_data()?),
        ("digest", Json::text(hex::encode(hand_over.digest()?))),
    ]));
    state.draft = Some(hand_over.to_json(None)?);
    state.phase = Phase::Sign;
    Ok(effect)
}

fn gathered(state: &State, reads: Vec<Json>, context: Context<'_>) -> Result<HandOver, Error> {
    let intent = state.intent()?;
    let live: Vec<Attempt> = intent
        .attempts
        .iter()
        .filter(|attempt| attempt.state.is_live())
        .map(|attempt| attempt.in_flight(&context.config.actor))
        .collect();
    let quotes = intent.quotes.iter();
    let quotes = quotes.filter(|quote| live.iter().any(|one| one.quote_hash == quote.quote_hash));
    Ok(HandOver {
        at: context.now,
        expires_at: context.now.saturating_add(expires_in(state)),
        serial: intent.handed.as_ref().map_or(1, |handed| handed.serial + 1),
        intent_id: intent.intent_id.clone(),
        payer: context.config.payer,
        from: context.config.actor.clone(),
        to: to(state)?.to_owned(),
        budget: budget(state, context)?,
        limits: tree::limits(state, context),
        id: intent.id.clone(),
        purpose: intent.purpose.clone(),
        scope: intent.scope.clone(),
        parent: intent.parent.clone(),
        occurrence: intent.occurrence,
        request: intent.request.clone(),
        fingerprint: intent.request.fingerprint()?,
        slot: slot(intent, context)?,
        quotes: quotes.map(super::record::Quote::to_json).collect(),
        live,
        reads,
    })
}

/// The place that everything signed for the intent competes for.
fn slot(intent: &Intent, context: Context<'_>) -> Result<Option<Slot>, Error> {
    let slot = |rail: &super::record::Rail| {
        Ok(Slot {
            network: rail.network.clone(),
            asset: rail.asset,
            method: rail.method,
            generation: intent.generation,
            keyed: context.secret.is_some(),
            nonce: buy::own_nonce(intent, rail, 0, context)?,
        })
    };
    intent.rail.as_ref().map(slot).transpose()
}

/// It is written down before it leaves; without a signature it stands in this journal alone.
pub(super) fn on_signed(
    state: &mut State,
    signature: Option<&str>,
    context: Context<'_>,
) -> Result<Effect, Error> {
    let draft = state.draft.take();
    let draft = draft.ok_or_else(|| Error::new(Code::StateInvalid, "draft"))?;
    let (hand_over, _) = HandOver::from_json(&draft)?;
    let signature = match signature.map(|signature| (signature, hand_over.recover(signature))) {
        Some((signature, Ok(signer))) if signer == hand_over.payer => Some(sign::normalised(signature)?),
        Some((_, Ok(_))) => return Ok(fail(state, Code::SignerMismatch.into())),
        // What a wallet contract signs, nobody can check without the chain.
        Some(_) if context.config.contract_wallet => None,
        Some((_, Err(error))) if error.code == Code::ContractSignature => None,
        Some((_, Err(error))) => return Ok(fail(state, error.within("signature").into())),
        None => None,
    };
    if context.now.saturating_sub(hand_over.at) > READ_KEPT {
        return Ok(fail(state, Code::HandOverStale.into()));
    }
    let intent = state.intent_mut()?;
    intent.budget = Some(hand_over.budget);
    intent.handed = Some(Handed::of(&hand_over, None)?);
    state.draft = Some(hand_over.to_json(signature.as_deref())?);
    let place = tree::handed(state, &hand_over, context)?;
    Ok(persist(
        state,
        Some(WalletChange::Place(place)),
        Then::HandedOver,
        context,
    ))
}

/// The document.
pub(super) fn hand_out(state: &State) -> Result<Effect, Error> {
    let document = state.draft.clone();
    let document = document.ok_or_else(|| Error::new(Code::StateInvalid, "draft"))?;
    match done(state, "handed_over") {
        Effect::Done(resolution) => {
            let money = super::told::money(state);
            let next = if money == Money::None {
                Next::Stop
            } else {
                Next::Wait
            };
            Ok(Effect::Done(
                resolution
                    .with("money", Json::text(money.as_str()))
                    .with("next", Json::text(next.as_str()))
                    .with("handOver", document),
            ))
        }
        other => Ok(other),
    }
}
