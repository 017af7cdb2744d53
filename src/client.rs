//! The paying side as a machine without input or output: `step(state, event) → {state, effects}`.
//!
//! One machine serves one call: a purchase, the settling of one intent after a restart, a release, a claim, a
//! cancellation, or a hand-over. The durable part of its
//! state is the intent record; the rest crosses as a value between steps. Rules that hold in every path:
//!
//! - `Send` with a payment comes out only after `persisted` has covered its exact bytes and the send itself.
//! - `Sign` comes out only after the authorization and the reservation are durable.
//! - While an authorization may land, only its own bytes are sent again. A new one is signed for the same nonce: after
//!   the window on the same terms, on other terms only with a proof of death.
//! - After a conflict nothing is signed or sent for the intent again; the chain is read where it can be.
//! - Once an intent is handed over, whoever gave it signs nothing for it, and only sends what is written down.
//! - A reservation ends with a proof (spent, dead, cancelled) or when the attempt was never signed.
//! - A payment that was seen below finality is read again by every call until a final block shows it.

mod answer;
pub mod approve;
mod buy;
mod cancel;
mod claim;
mod drift;
mod effect;
mod hand_over;
pub mod history;
mod lost;
mod offers;
mod order;
mod price;
mod recheck;
pub mod record;
mod recover;
mod retry;
mod sign;
mod split;
mod start;
mod state;
mod take_over;
pub mod telemetry;
mod told;
pub mod tree;
mod write;

pub use effect::{Body, Effect, Event, Failure, Record, Write};
pub use start::{Config, Mode, Start};
pub use state::{Phase, State, Then};

use crate::digest;
use crate::error::{Code, Error, Money, Next};
use crate::hex;
use crate::intent;
use crate::json::Json;
use crate::time::Seconds;
use record::{Intent, Series, Status, Wallet};
use write::{on_persisted, on_reload, persist, reload};

/// A state and what the host does next.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Step {
    /// The state to hand back with the next event.
    pub state: State,
    /// In this order; only the last is awaited.
    pub effects: Vec<Effect>,
}

/// What every step is given besides state and event.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// The payer's settings.
    pub config: &'a Config,
    /// Keys nonces and payment ids.
    pub secret: Option<&'a [u8]>,
    /// The host's clock.
    pub now: Seconds,
}

/// Begins a call. Errors: `intent_id_invalid`, `url_invalid`, `method_invalid`, `missing_field`.
pub fn start(start: &Start, context: Context<'_>) -> Result<Step, Error> {
    let mut state = State::new(start.clone());
    // Under a root, what names no parent is bought right below it.
    if start.mode == Mode::Fetch && start.parent.is_none() {
        state.start.parent = context.config.root.clone();
    }
    let effect = match (&start.mode, &start.id, &start.intent_id) {
        (Mode::Resume | Mode::Release | Mode::Claim | Mode::Cancel | Mode::HandOver, _, Some(intent_id)) => {
            state.intent_id = intent_id.clone();
            load_intent(&mut state, context)?
        }
        (Mode::TakeOver, ..) => {
            take_over::meet(&mut state, context)?;
            load_intent(&mut state, context)?
        }
        (Mode::Fetch, Some(id), _) => {
            state.intent_id =
                intent::explicit_intent_id(&context.config.payer, id).map_err(|e| e.within("intent"))?;
            // The root itself has nothing above it here.
            if start.parent.is_none() && context.config.root.as_ref() == Some(&state.intent_id) {
                state.start.parent = None;
            }
            load_intent(&mut state, context)?
        }
        (Mode::Fetch, None, _) => {
            state.phase = Phase::LoadSeries;
            Effect::Load(vec![series_key(&state, context)?])
        }
        _ => return Err(Error::new(Code::MissingField, "intentId")),
    };
    Ok(Step {
        state,
        effects: vec![effect],
    })
}

/// Moves by one event. Error: `state_invalid` for an event that does not fit the phase. Whatever goes wrong with the purchase
/// itself is not an error here but an effect `Fail`.
pub fn step(mut state: State, event: Event, context: Context<'_>) -> Result<Step, Error> {
    let phase = state.phase.clone();
    let effect = match (phase, event) {
        (Phase::LoadSeries, Event::Loaded { records, .. }) => on_series(&mut state, &records, context),
        (Phase::LoadIntent, Event::Loaded { records, since }) => {
            state.met = since;
            on_intent(&mut state, &records, context)
        }
        (Phase::Reload, Event::Loaded { records, .. }) => on_reload(&mut state, &records, context),
        (Phase::Persist, Event::Persisted(revs)) => on_persisted(&mut state, &revs, context),
        (Phase::Persist, Event::Conflict) => reload(&mut state, context),
        (Phase::Persist, Event::PersistFailed(code)) => Ok(fail(&state, code.into())),
        (Phase::Probe, Event::Answer { answer, redirected }) => {
            price::on_price(&mut state, &answer, redirected, context)
        }
        (Phase::Ask, Event::Approved(yes)) => price::on_approved(&mut state, yes, None, context),
        (Phase::Ask, Event::Granted(approval)) => {
            price::on_approved(&mut state, true, Some(&approval), context)
        }
        (Phase::Inspect(tag), Event::Evidence(evidence)) => {
            buy::on_inspected(&mut state, &tag, &evidence, context)
        }
        (Phase::Sign, Event::Signed(signature)) => on_signed(&mut state, &signature, context),
        (Phase::Sign, Event::SignFailed) => Ok(unsigned(&mut state, Code::SignerFailed, context)),
        (Phase::Sign, Event::Aborted) => Ok(unsigned(&mut state, Code::Aborted, context)),
        (Phase::AskContract, Event::Contract(answer)) => {
            sign::on_contract(&mut state, answer.as_deref(), context)
        }
        (Phase::AskContract, Event::Aborted) => Ok(unsigned(&mut state, Code::Aborted, context)),
        (Phase::Send, Event::Answer { answer, .. }) => answer::on_answer(&mut state, &answer, context),
        (Phase::Read(tag), Event::Evidence(evidence)) => on_read(&mut state, &tag, &evidence, context),
        (Phase::Wait, Event::Waited) => retry::resend(&mut state, context),
        (Phase::Deliver, Event::Body(body)) => Ok(answer::on_body(&mut state, &body, context)),
        _ => return Err(Error::new(Code::StateInvalid, "event")),
    };
    let effect = effect.unwrap_or_else(|error| fail(&state, error.into()));
    let mut effects: Vec<Effect> = state.alerts.drain(..).map(Effect::Alert).collect();
    effects.push(effect);
    Ok(Step { state, effects })
}

// ---------------------------------------------------------------- which call is the same purchase

fn series_key(state: &State, context: Context<'_>) -> Result<String, Error> {
    let value = Json::object([
        (
            "fingerprint",
            Json::text(hex::encode(state.request()?.fingerprint()?)),
        ),
        ("payer", context.config.payer.to_json()),
        ("scope", Json::text(state.start.scope.as_str())),
    ])
    .with_some("parent", state.start.parent.clone().map(Json::String));
    Ok(format!(
        "series/{}",
        hex::encode(digest::tagged("counterfoil/series/v1", &value)?)
    ))
}

fn on_series(state: &mut State, records: &[Record], context: Context<'_>) -> Result<Effect, Error> {
    let key = series_key(state, context)?;
    let found = records.iter().find(|record| record.key == key);
    let series = found
        .map(|found| record::from_text(&found.text, Series::from_json))
        .transpose()?;
    state.series_rev = found.map(|found| found.rev);
    state.series = Some(series.map_or(0, |series| series.occurrence));
    state.intent_id = occurrence_id(state, context)?;
    load_intent(state, context)
}

fn occurrence_id(state: &State, context: Context<'_>) -> Result<String, Error> {
    let fingerprint = state.request()?.fingerprint()?;
    let (scope, parent) = (&state.start.scope, state.start.parent.as_deref());
    intent::unnamed_intent_id(
        &context.config.payer,
        &fingerprint,
        state.series.unwrap_or(0),
        scope,
        parent,
    )
}

fn load_intent(state: &mut State, context: Context<'_>) -> Result<Effect, Error> {
    state.phase = Phase::LoadIntent;
    state.read = false;
    Ok(Effect::Load(keys(state, context)?))
}

fn keys(state: &State, context: Context<'_>) -> Result<Vec<String>, Error> {
    let mut keys = vec![Intent::key(&state.intent_id), Wallet::key(&context.config.payer)];
    if takes_unnamed(state) {
        keys.push(series_key(state, context)?);
    }
    Ok(keys)
}

/// An unnamed call is found again only by its number.
fn takes_unnamed(state: &State) -> bool {
    state.start.mode == Mode::TakeOver && state.start.id.is_none()
}

/// Asks for the price: the way to every new signature. An intent in conflict has none, nor one that was handed over.
fn probe(state: &mut State, context: Context<'_>) -> Effect {
    if state.intent.as_ref().is_some_and(Intent::is_conflicted) {
        return fail(state, retry::conflict_failure(state));
    }
    if !may_sign(state, context) {
        return fail(state, Code::IntentHandedOver.into());
    }
    state.phase = Phase::Probe;
    Effect::Send(None)
}

/// Whether the intent is this actor's to sign for.
fn may_sign(state: &State, context: Context<'_>) -> bool {
    let intent = state.intent.as_ref();
    intent.is_none_or(|intent| intent.may_sign(&context.config.actor))
}

fn take_records(state: &mut State, records: &[Record], context: Context<'_>) -> Result<(), Error> {
    let (intent_key, wallet_key) = (Intent::key(&state.intent_id), Wallet::key(&context.config.payer));
    let find = |key: &str| records.iter().find(|record| record.key == key);
    let wallet = find(&wallet_key);
    state.wallet_rev = wallet.map(|found| found.rev);
    state.wallet = wallet
        .map(|found| record::from_text(&found.text, Wallet::from_json))
        .transpose()?
        .unwrap_or_default();
    if takes_unnamed(state) {
        let series = find(&series_key(state, context)?);
        state.series_rev = series.map(|found| found.rev);
        state.series = series
            .map(|found| record::from_text(&found.text, Series::from_json))
            .transpose()?
            .map(|series| series.occurrence);
    }
    let found = find(&intent_key);
    let intent = found
        .map(|found| record::from_text(&found.text, Intent::from_json))
        .transpose()?;
    // Another payer's, on a journal that is shared: its money is in another wallet.
    if intent
        .as_ref()
        .is_some_and(|intent| intent.principal != context.config.payer)
    {
        return Err(Error::new(Code::IntentUnknown, "intentId"));
    }
    state.intent_rev = found.map(|found| found.rev);
    state.intent = intent;
    Ok(())
}

fn on_intent(state: &mut State, records: &[Record], context: Context<'_>) -> Result<Effect, Error> {
    take_records(state, records, context)?;
    begin(state, context)
}

/// The records are there: what the call is for decides what comes next.
fn begin(state: &mut State, context: Context<'_>) -> Result<Effect, Error> {
    if state.start.mode == Mode::Fetch {
        return enter(state, context);
    }
    if let Some(read) = recheck::begin(state, context)? {
        return Ok(read);
    }
    match state.start.mode {
        Mode::Fetch => enter(state, context),
        Mode::Resume => recover::resume(state, context),
        Mode::Release => recover::release(state, context),
        Mode::Claim => claim::begin(state, context),
        Mode::Cancel => cancel::begin(state, context),
        Mode::HandOver => hand_over::begin(state, context),
        Mode::TakeOver => take_over::begin(state, context),
    }
}

/// The chain's answer, about whatever this call had it read for.
fn on_read(state: &mut State, tag: &str, evidence: &[Json], context: Context<'_>) -> Result<Effect, Error> {
    match state.start.mode {
        Mode::HandOver => hand_over::on_evidence(state, tag, evidence, context),
        Mode::TakeOver => take_over::on_evidence(state, tag, evidence, context),
        _ => recover::on_evidence(state, tag, evidence, context),
    }
}

/// The signer's answer, about whatever this call had it sign.
fn on_signed(state: &mut State, signature: &str, context: Context<'_>) -> Result<Effect, Error> {
    match state.start.mode {
        Mode::Claim => claim::on_signed(state, signature, context),
        Mode::Cancel => cancel::on_signed(state, signature, context),
        Mode::HandOver => hand_over::on_signed(state, Some(signature), context),
        Mode::Fetch | Mode::Resume | Mode::Release | Mode::TakeOver => {
            sign::on_signed(state, signature, context)
        }
    }
}

/// No signature: an authorization that was planned is forgotten, of anything else nothing was written down.
fn unsigned(state: &mut State, code: Code, context: Context<'_>) -> Effect {
    match state.start.mode {
        Mode::Claim | Mode::Cancel => fail(state, code.into()),
        // Where no signer can sign, it stands in the journal alone.
        Mode::HandOver => match hand_over::on_signed(state, None, context) {
            Ok(effect) => effect,
            Err(error) => fail(state, error.into()),
        },
        Mode::Fetch | Mode::Resume | Mode::Release | Mode::TakeOver => {
            sign::drop_unsigned(state, code.into(), context)
        }
    }
}

/// A call to buy meets what the journal holds of its intent.
fn enter(state: &mut State, context: Context<'_>) -> Result<Effect, Error> {
    let Some(intent) = state.intent.clone() else {
        return Ok(probe(state, context));
    };
    if intent.request.fingerprint()? != state.request()?.fingerprint()? {
        let finding = told::finding(state, Code::IntentConflict);
        state.alerts.push(finding);
        // It is another request's record: it says nothing about this one.
        state.intent = None;
        return Ok(fail(state, Code::IntentConflict.into()));
    }
    // An unnamed call whose last occurrence has ended is an honest second purchase. One that was delivered to another
    // worker while this call waited for it was the same call at the same time: one purchase.
    let delivery = intent.delivery.as_ref();
    let taken = delivery.and_then(|delivery| delivery.get("taken")) != Some(&Json::Bool(false));
    let at = delivery
        .and_then(|delivery| delivery.get("at"))
        .and_then(|at| at.as_u64().ok());
    let shared = state.met.is_some_and(|met| at.is_some_and(|at| at >= met));
    let ended = intent.status == Status::Released || (intent.status == Status::Delivered && taken && !shared);
    if intent.id.is_none() && ended {
        state.series = Some(intent.occurrence + 1);
        state.intent_id = occurrence_id(state, context)?;
        return load_intent(state, context);
    }
    if let Some(read) = recheck::begin(state, context)? {
        return Ok(read);
    }
    match intent.status {
        Status::Released => {
            let mut failure = Failure::from(Code::IntentReleased);
            if intent.claim.is_some() {
                (failure.money, failure.next) = (Money::Proven, Next::Claim);
            }
            Ok(fail(state, failure))
        }
        Status::Delivered => recover::replay(state, context),
        Status::Open | Status::PaidNotDelivered => recover::reenter(state, context),
    }
}

// ---------------------------------------------------------------- the ends of a call

/// A call that fails says no less about the money than the record: whatever went wrong now, an earlier authorization may land.
fn fail(state: &State, failure: Failure) -> Effect {
    let failure = match failure.money {
        Money::None => failure.money(told::money(state)),
        _ => failure,
    };
    let attempt = state.attempt().map(|attempt| attempt.attempt_id.as_str());
    let id = (!state.intent_id.is_empty()).then_some(state.intent_id.as_str());
    Effect::Fail(failure.to_json(id, attempt))
}

fn done(state: &State, outcome: &str) -> Effect {
    let delivery = state.intent.as_ref().and_then(|intent| intent.delivery.clone());
    Effect::Done(told::resolution(state, outcome).with_some("delivery", delivery))
}
