//! Writing the record with what changes beside it, all or nothing; and what a call does when another one wrote in between.

use super::record::{Intent, Series, Status, Wallet, WalletChange};
use super::{
    begin, cancel, claim, done, fail, hand_over, keys, on_intent, on_series, price, probe, recover, retry,
    series_key, sign, take_records, takes_unnamed, told, Context, Effect, Mode, Phase, Record, State, Then,
    Write,
};
use crate::error::{Code, Error};

/// How often the intent may have been changed by another worker before the call gives up. A wallet that moved does not count:
/// some other purchase got on, so every purchase does in the end.
const MAX_CONFLICTS: u64 = 32;

/// Writes the intent and, with it, what changes in the wallet and the series: all or nothing.
pub(super) fn persist(
    state: &mut State,
    change: Option<WalletChange>,
    then: Then,
    context: Context<'_>,
) -> Effect {
    state.change = change;
    state.then = Some(then);
    state.phase = Phase::Persist;
    match writes(state, context) {
        Ok(writes) => Effect::Persist(writes),
        Err(error) => fail(state, error.into()),
    }
}

/// The series moves together with the first record of its occurrence.
fn moves_series(state: &State) -> bool {
    let buys = matches!(state.start.mode, Mode::Fetch | Mode::TakeOver);
    state.intent_rev.is_none() && state.start.id.is_none() && buys
}

fn writes(state: &mut State, context: Context<'_>) -> Result<Vec<Write>, Error> {
    state.intent_mut()?.updated_at = context.now;
    let mut writes = vec![Write {
        key: Intent::key(&state.intent_id),
        expect: state.intent_rev,
        put: state.intent()?.to_json()?.to_canonical()?,
    }];
    if let Some(change) = &state.change {
        let mut wallet = state.wallet.clone();
        wallet.apply(change, context.now);
        writes.push(Write {
            key: Wallet::key(&context.config.payer),
            expect: state.wallet_rev,
            put: wallet.to_json().to_canonical()?,
        });
    }
    if moves_series(state) {
        let occurrence = state.series.unwrap_or(0);
        writes.push(Write {
            key: series_key(state, context)?,
            expect: state.series_rev,
            put: Series { occurrence }.to_json().to_canonical()?,
        });
    }
    Ok(writes)
}

pub(super) fn on_persisted(
    state: &mut State,
    revs: &[(String, u64)],
    context: Context<'_>,
) -> Result<Effect, Error> {
    let rev = |key: &str| revs.iter().find(|(known, _)| known == key).map(|(_, rev)| *rev);
    state.intent_rev = rev(&Intent::key(&state.intent_id)).or(state.intent_rev);
    if let Some(change) = state.change.take() {
        state.wallet.apply(&change, context.now);
        state.wallet_rev = rev(&Wallet::key(&context.config.payer)).or(state.wallet_rev);
    }
    match state.then.take() {
        Some(Then::Ask) => price::ask(state, context),
        Some(Then::Sign) => sign::begin(state),
        Some(Then::Send) => {
            state.phase = Phase::Send;
            let header = state.attempt().and_then(|attempt| attempt.header.as_ref());
            let header = header.ok_or_else(|| Error::new(Code::StateInvalid, "header"))?;
            Ok(Effect::Send(Some(header.to_json())))
        }
        Some(Then::Settle) => recover::settle(state, context),
        Some(Then::FetchAnswer) => retry::fetch_answer(state, context),
        Some(Then::Probe) => Ok(probe(state, context)),
        Some(Then::Reenter) => begin(state, context),
        Some(Then::Deliver) => {
            state.phase = Phase::Deliver;
            Ok(Effect::Deliver(told::resolution(state, "settled")))
        }
        Some(Then::Replay) => recover::hand_out(state),
        Some(Then::Claimed) => claim::hand_out(state),
        Some(Then::Cancelling) => cancel::hand_out(state),
        Some(Then::HandedOver) => hand_over::hand_out(state),
        Some(Then::Done(outcome)) => Ok(done(state, &outcome)),
        Some(Then::Fail(failure)) => Ok(fail(state, failure)),
        None => Err(Error::new(Code::StateInvalid, "then")),
    }
}

/// The call begins again with what others wrote, up to a limit.
fn again(
    state: &mut State,
    begin: impl FnOnce(&mut State) -> Result<Effect, Error>,
) -> Result<Effect, Error> {
    state.conflicts += 1;
    if state.conflicts > MAX_CONFLICTS {
        return Ok(fail(state, Code::JournalConflict.into()));
    }
    state.change = None;
    state.then = None;
    begin(state)
}

/// Reads again what the write that met a conflict stood on.
pub(super) fn reload(state: &mut State, context: Context<'_>) -> Result<Effect, Error> {
    state.phase = Phase::Reload;
    let mut keys = keys(state, context)?;
    if moves_series(state) && !takes_unnamed(state) {
        keys.push(series_key(state, context)?);
    }
    Ok(Effect::Load(keys))
}

/// Another call changed a record in between. Where only the wallet moved, the same change is applied to what it holds now;
/// where the intent itself moved, the call begins again with what the other worker wrote.
pub(super) fn on_reload(
    state: &mut State,
    records: &[Record],
    context: Context<'_>,
) -> Result<Effect, Error> {
    if moves_series(state) {
        let key = series_key(state, context)?;
        let found = records.iter().find(|record| record.key == key);
        if found.map(|found| found.rev) != state.series_rev {
            if takes_unnamed(state) {
                return again(state, |state| on_intent(state, records, context));
            }
            // Another occurrence has begun: which one this call is, is judged anew.
            return again(state, |state| on_series(state, records, context));
        }
    }
    let (mine, my_rev) = (state.intent.clone(), state.intent_rev);
    take_records(state, records, context)?;
    let delivered = mine.as_ref().is_some_and(|mine| mine.status == Status::Delivered);
    if state.intent_rev != my_rev && delivered {
        // The bytes have reached the caller: whatever else was written in between, that stands.
        if let (Some(theirs), Some(mine)) = (state.intent.as_mut(), mine) {
            theirs.status = Status::Delivered;
            theirs.delivery = mine.delivery;
            theirs.claim = None;
        }
        state.phase = Phase::Persist;
        return writes(state, context).map(Effect::Persist);
    }
    if state.intent_rev != my_rev {
        return again(state, |state| begin(state, context));
    }
    state.intent = mine;
    // What another worker has signed counts, whatever the caps are.
    let priced = state.price.is_some();
    if let Some(WalletChange::Reserve(mut reservation)) = state.change.clone().filter(|_| priced) {
        price::recheck(state, &mut reservation, context)?;
        state.change = Some(WalletChange::Reserve(reservation));
    }
    state.phase = Phase::Persist;
    writes(state, context).map(Effect::Persist)
}
