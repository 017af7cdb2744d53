//! Whether a call drifts from what this wallet did so far, before anything is signed for it.
//!
//! What the wallet's record holds is looked at, so that every process that shares it meets what the others did. Who pays beside whom is not told here: hand-overs stand
//! in the records of their intents.

use std::collections::BTreeMap;

use super::record::{Paths, Reservation};
use super::{Context, State};
use crate::amount::Amount;
use crate::authorization::Authorization;
use crate::drift::{self, Call, Habit, Mark, Rule};
use crate::error::{Code, Error};
use crate::fingerprint::Request;
use crate::policy::{Decision, SpentState};
use crate::sorting::map;
use crate::tree::Place;
use crate::x402::payment_required::Terms;

/// What is written down of a call, where the policy looks at drift. Error: that of the request's fingerprint.
pub(super) fn mark(request: &Request, context: Context<'_>) -> Result<Option<Mark>, Error> {
    let wanted = context.config.policy.drift().is_some();
    wanted.then(|| Call::new(request)?.mark()).transpose()
}

/// The same of a call for which this is signed. Error: that of [`mark`].
pub(super) fn signed(
    request: &Request,
    authorization: &Authorization,
    context: Context<'_>,
) -> Result<Option<Mark>, Error> {
    let mut mark = mark(request, context)?;
    if let Some(mark) = mark.as_mut().filter(|_| authorization.is_upto()) {
        mark.most = Some(authorization.value());
    }
    Ok(mark)
}

/// What the rules about one operation and one recipient say of these terms, beside what is held under another id than `besides`. Errors: `missing_field`, that of [`mark`], `drift_refused`.
pub(super) fn decide(
    state: &State,
    terms: &Terms,
    besides: &str,
    context: Context<'_>,
) -> Result<Vec<Decision>, Error> {
    let policy = &context.config.policy;
    let (Some(rules), Some(mark)) = (policy.drift(), mark(state.request()?, context)?) else {
        return Ok(Vec::new());
    };
    let other = |entry: &&Reservation| entry.id != besides && entry.intent_id() != state.intent_id;
    let entries = || {
        state
            .wallet
            .entries
            .iter()
            .filter(other)
            .filter(|entry| entry.spent.is_on(terms))
    };
    let recent = |entry: &&Reservation| context.now.saturating_sub(entry.spent.at) <= drift::WINDOW;
    let mut habit = Habit::default();
    for entry in entries() {
        let call = entry.call.filter(|call| call.operation == mark.operation);
        if let (Some(call), Some(share)) = (call, entry.spent.to.first()) {
            habit.add(share.to, call.most.unwrap_or(entry.spent.price()));
        }
    }
    let open = |entry: &Reservation| entry.spent.state == SpentState::Reserved;
    let repeats = |entry: &Reservation| open(entry) && entry.call.is_some_and(|call| mark.repeats(&call));
    let mut decisions = Vec::new();
    let mut tell = |rule: Option<Rule>, drifts: bool, code: Code, name: &str| -> Result<(), Error> {
        if let Some(rule) = rule.filter(|_| drifts) {
            decisions.push(policy.ask_of(rule, code, name)?);
        }
        Ok(())
    };
    tell(
        rules.near_repeat,
        entries().filter(recent).any(repeats),
        Code::DriftNearRepeat,
        "nearRepeat",
    )?;
    tell(
        rules.new_recipient,
        habit.is_new_recipient(terms.pay_to),
        Code::DriftNewRecipient,
        "newRecipient",
    )?;
    tell(
        rules.price_step,
        habit.is_price_step(terms.amount),
        Code::DriftPriceStep,
        "priceStep",
    )?;
    if let Some((rule, threshold)) = rules.split {
        let below = |amount: Amount| drift::is_just_below(threshold, amount);
        let to = |entry: &&Reservation| {
            entry
                .spent
                .to
                .first()
                .is_some_and(|share| share.to == terms.pay_to)
        };
        let before = entries()
            .filter(recent)
            .filter(to)
            .filter(|entry| below(entry.spent.amount))
            .count();
        let splits = below(terms.cost()) && before + 1 >= drift::SPLIT;
        tell(Some(rule), splits, Code::DriftSplit, "split")?;
    }
    Ok(decisions)
}

/// Whether a budget comes to its end with this call, by many small children. Only the call with which it does so is told: later ones are the budget's to refuse.
pub(super) fn approach(
    place: &Place,
    path: &[&str],
    paths: &Paths,
    terms: &Terms,
    entries: &[&Reservation],
    context: Context<'_>,
) -> Result<Option<Decision>, Error> {
    let policy = &context.config.policy;
    let rule = policy.drift().and_then(|rules| rules.cap_approach);
    let (Some(rule), Some(budget)) = (rule, place.budget) else {
        return Ok(None);
    };
    let below = |path: &[&str]| {
        let at = path.iter().position(|id| *id == place.intent_id)?;
        path.get(at.checked_sub(1)?).map(|id| (*id).to_owned())
    };
    let Some(own) = below(path) else {
        return Ok(None);
    };
    let mut children: BTreeMap<String, Amount> = map([]);
    for entry in entries {
        let path = paths.of(entry.intent_id()).unwrap_or_default();
        // What is added up stood right below the intent that it names.
        let summed = entry.is_sum() && entry.intent_id() == place.intent_id;
        if let Some(child) = below(&path).or_else(|| summed.then(|| entry.id.clone())) {
            let sum = children.entry(child).or_insert(Amount::ZERO);
            *sum = sum.saturating_add(entry.spent.amount);
        }
    }
    let before = drift::is_approach(budget, children.values().copied());
    let sum = children.entry(own).or_insert(Amount::ZERO);
    *sum = sum.saturating_add(terms.cost());
    match !before && drift::is_approach(budget, children.values().copied()) {
        true => policy
            .ask_of(rule, Code::DriftCapApproach, "capApproach")
            .map(Some),
        false => Ok(None),
    }
}
