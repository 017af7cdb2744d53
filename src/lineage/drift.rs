//! Behaviour that drifts: what no single call shows, and what a person may want to be asked about.
//!
//! | code | raised when | default |
//! |---|---|---|
//! | `drift_near_repeat` | a call of one operation (method, origin, path) with other arguments that are the same but for case, blanks, order, paging and request ids, and the same body, while an earlier one is still open | within 600 s |
//! | `drift_new_recipient` | an operation that paid one recipient so far pays another | after 3 payments |
//! | `drift_price_step` | an operation costs more than twice the most that it ever cost, of one token | after 3 payments |
//! | `drift_cap_approach` | nine tenths of a budget are gone to many children, each of which took a quarter of it at most | 8 children |
//! | `drift_other_actor` | below one intent a second actor pays that nothing was handed over to | |
//! | `drift_split` | payments to one recipient, each just below what a person is asked for (from four fifths up to it) and together above it | 3 within 600 s; with a threshold |
//!
//! One finding for one intent and code. What was proven never to move counts in none of them.

use std::collections::BTreeMap;

use super::cost::{Slots, Standing, Token};
use super::family::{time, Family, Member};
use super::Options;
use crate::address::Address;
use crate::amount::Amount;
use crate::drift::{self, is_approach, is_just_below, Habit, SPLIT, WINDOW};
use crate::error::Code;
use crate::finding::{Finding, Severity};
use crate::sorting::sort_by;
use crate::time::Seconds;

/// One purchase, as the rules look at it.
struct Call<'a> {
    member: &'a Member<'a>,
    at: Seconds,
    asked: drift::Call,
    /// Whether its end was known: when, where a record says so.
    open_until: Seconds,
    token: Token,
    to: Address,
    /// What the recipients ask for.
    price: Amount,
    /// The same and the most that its inclusion may cost.
    cost: Amount,
    agent: String,
}

/// The findings, oldest first.
pub(super) fn findings(family: &Family, slots: &Slots, options: &Options) -> Vec<Finding> {
    let mut calls: Vec<Call> = family.all().filter_map(|member| call(member, slots)).collect();
    sort_by(&mut calls, |one, other| {
        (one.at, one.member.id).cmp(&(other.at, other.member.id))
    });
    let mut found = Vec::new();
    let mut habits: BTreeMap<(&str, &Token), Habit> = BTreeMap::new();
    // The calls of one operation that ask for the same, each in its own words.
    let mut groups: BTreeMap<(&str, &[String]), Vec<&Call>> = BTreeMap::new();
    for call in &calls {
        let operation = call.asked.operation.as_str();
        let alike = groups.entry((operation, &call.asked.arguments)).or_default();
        // What is over, or long ago, is nobody's first any more.
        alike.retain(|earlier| earlier.open_until > call.at && call.at.saturating_sub(earlier.at) <= WINDOW);
        if let Some(earlier) = alike.iter().rev().find(|earlier| repeats(call, earlier)) {
            found.push(about(Code::DriftNearRepeat, &[earlier, call]));
        }
        alike.push(call);
        let habit = habits.entry((operation, &call.token)).or_default();
        if habit.is_new_recipient(call.to) {
            found.push(about(Code::DriftNewRecipient, &[call]));
        }
        if habit.is_price_step(call.price) {
            found.push(about(Code::DriftPriceStep, &[call]));
        }
        habit.add(call.to, call.price);
    }
    approaches(family, &calls, &mut found);
    actors(&calls, &mut found);
    if let Some(threshold) = options.threshold {
        splits(&calls, threshold, &mut found);
    }
    found
}

fn about(code: Code, calls: &[&Call]) -> Finding {
    let last = calls.last();
    Finding {
        intents: calls.iter().map(|call| call.member.id.to_owned()).collect(),
        amount: last.map(|call| (call.cost, call.token.1, call.token.0.clone())),
        ..Finding::new(code, Severity::Alert, code.meaning())
    }
}

/// What was signed for an intent and may have moved.
fn call<'a>(member: &'a Member<'a>, slots: &Slots) -> Option<Call<'a>> {
    let record = member.records.first()?;
    let counts = slots.get(member.id)?.iter();
    let counts = counts.filter(|slot| !matches!(slot.standing, Standing::Unsigned | Standing::Void));
    let slot = counts.min_by_key(|slot| slot.key.part)?;
    let first = slot.attempts.first()?;
    let at = time(first.json, "plannedAt").unwrap_or(member.created_at);
    let delivered = record
        .json
        .get("delivery")
        .and_then(|delivery| time(delivery, "at"));
    Some(Call {
        member,
        at,
        asked: drift::Call::new(&record.request).ok()?,
        open_until: delivered.unwrap_or(Seconds::MAX),
        token: (slot.key.network.clone(), slot.key.asset),
        to: first.authorization.to(),
        price: first.value(),
        cost: first.cost(),
        agent: member.agent(at),
    })
}

/// The same again in other words, while the first is open.
fn repeats(call: &Call, earlier: &Call) -> bool {
    call.asked.repeats(&earlier.asked)
        && call.member.id != earlier.member.id
        && call.token.1 == earlier.token.1
}

/// A budget that many small children use up.
fn approaches(family: &Family, calls: &[Call], found: &mut Vec<Finding>) {
    // What each child of an intent took, and the last call below it.
    let mut below: BTreeMap<&str, (BTreeMap<&str, Amount>, &Call)> = BTreeMap::new();
    for call in calls {
        for step in family.above(call.member.id).windows(2) {
            let [child, above] = step else { continue };
            let (children, last) = below.entry(above).or_insert_with(|| (BTreeMap::new(), call));
            let sum = children.entry(child).or_insert(Amount::ZERO);
            *sum = sum.saturating_add(call.cost);
            *last = call;
        }
    }
    for (id, (children, last)) in below {
        let place = family.get(id).and_then(|member| member.place.as_ref());
        let Some(budget) = place.and_then(|place| place.budget) else {
            continue;
        };
        if is_approach(budget, children.values().copied()) {
            found.push(Finding {
                intents: vec![id.to_owned()],
                ..about(Code::DriftCapApproach, &[last])
            });
        }
    }
}

/// Two who pay below one intent, and nothing was handed over.
fn actors(calls: &[Call], found: &mut Vec<Finding>) {
    let mut first: BTreeMap<&str, &Call> = BTreeMap::new();
    for call in calls {
        let Some(parent) = call.member.parent.as_deref() else {
            continue;
        };
        let known = first.entry(parent).or_insert(call);
        if known.agent != call.agent && call.member.handed().is_none() && known.member.handed().is_none() {
            found.push(about(Code::DriftOtherActor, &[known, call]));
        }
    }
}

/// Payments that stay just below what a person is asked for.
fn splits(calls: &[Call], threshold: Amount, found: &mut Vec<Finding>) {
    let just_below = |call: &&Call| is_just_below(threshold, call.cost);
    let mut runs: BTreeMap<(Address, &Token), Vec<&Call>> = BTreeMap::new();
    for call in calls.iter().filter(just_below) {
        let run = runs.entry((call.to, &call.token)).or_default();
        run.retain(|earlier| call.at.saturating_sub(earlier.at) <= WINDOW);
        run.push(call);
        if run.len() == SPLIT {
            found.push(about(Code::DriftSplit, run));
        }
    }
}
