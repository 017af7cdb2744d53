//! Behaviour that drifts: what no single call shows, and what a person may want to be asked about.
//!
//! | code | raised when | default |
//! |---|---|---|
//! | `drift_near_repeat` | a call of one operation (method, origin, path) with other arguments that are the same but for case, blanks, order, paging and request ids, while an earlier one is still open | within 600 s |
//! | `drift_new_recipient` | an operation that paid one recipient so far pays another | after 3 payments |
//! | `drift_price_step` | an operation costs more than twice the most that it ever cost, of one token | after 3 payments |
//! | `drift_cap_approach` | nine tenths of a budget are gone to many children, each of which took a quarter of it at most | 8 children |
//! | `drift_other_actor` | below one intent a second actor pays that nothing was handed over to | |
//! | `drift_split` | payments to one recipient, each just below what a person is asked for (from four fifths up to it) and together above it | 3 within 600 s; with a threshold |
//!
//! One finding for one intent and code. What was proven never to move counts in none of them.

use std::collections::BTreeMap;

use super::cost::{self, plus, Standing, Token};
use super::family::{time, Family, Member};
use super::Options;
use crate::address::Address;
use crate::amount::Amount;
use crate::conflict::Purchases;
use crate::error::Code;
use crate::finding::{Finding, Severity};
use crate::sorting::{set, sort_by};
use crate::time::Seconds;

/// Seconds within which calls belong together.
const WINDOW: Seconds = 600;
/// Payments after which an operation has a habit.
const HABIT: usize = 3;
/// Payments that make a split.
const SPLIT: usize = 3;
/// Children that are many.
const MANY: usize = 8;
/// Parts of a request that change from page to page, or from try to try.
const VOLATILE: [&str; 14] = [
    "page",
    "cursor",
    "offset",
    "limit",
    "ts",
    "t",
    "time",
    "timestamp",
    "nonce",
    "requestid",
    "request_id",
    "traceid",
    "_",
    "cachebust",
];

/// One purchase, as the rules look at it.
struct Call<'a> {
    member: &'a Member<'a>,
    at: Seconds,
    operation: String,
    arguments: Vec<String>,
    fingerprint: [u8; 32],
    /// Whether its end was known: when, where a record says so.
    open_until: Seconds,
    token: Token,
    to: Address,
    amount: Amount,
    agent: String,
}

/// The findings, oldest first.
pub(super) fn findings(family: &Family, purchases: &Purchases, options: &Options) -> Vec<Finding> {
    let mut calls: Vec<Call> = family
        .all()
        .filter_map(|member| call(member, purchases))
        .collect();
    sort_by(&mut calls, |one, other| {
        (one.at, one.member.id).cmp(&(other.at, other.member.id))
    });
    let mut found = Vec::new();
    let mut habits: BTreeMap<(&str, &Token), Vec<&Call>> = BTreeMap::new();
    let mut groups: BTreeMap<&str, Vec<&Call>> = BTreeMap::new();
    for call in &calls {
        let operations = groups.entry(&call.operation).or_default();
        let near = operations
            .iter()
            .rev()
            .take_while(|earlier| call.at.saturating_sub(earlier.at) <= WINDOW);
        let mut near = near.filter(|earlier| repeats(call, earlier));
        if let Some(earlier) = near.next() {
            found.push(about(Code::DriftNearRepeat, &[earlier, call]));
        }
        operations.push(call);
        let habit = habits.entry((&call.operation, &call.token)).or_default();
        if habit.len() >= HABIT {
            let recipients = set(habit.iter().map(|earlier| earlier.to));
            if recipients.len() == 1 && !recipients.contains(&call.to) {
                found.push(about(Code::DriftNewRecipient, &[call]));
            }
            let most = habit
                .iter()
                .map(|earlier| earlier.amount)
                .max()
                .unwrap_or(Amount::ZERO);
            if call.amount > times(most, 2) {
                found.push(about(Code::DriftPriceStep, &[call]));
            }
        }
        habit.push(call);
    }
    approaches(family, &calls, &mut found);
    actors(&calls, &mut found);
    if let Some(threshold) = options.threshold {
        splits(&calls, threshold, &mut found);
    }
    found
}

fn times(amount: Amount, n: usize) -> Amount {
    (0..n).fold(Amount::ZERO, |sum, _| plus(sum, amount))
}

fn about(code: Code, calls: &[&Call]) -> Finding {
    let last = calls.last();
    Finding {
        intents: calls.iter().map(|call| call.member.id.to_owned()).collect(),
        amount: last.map(|call| (call.amount, call.token.1, call.token.0.clone())),
        ..Finding::new(code, Severity::Alert, code.meaning())
    }
}

/// What was signed for an intent and may have moved.
fn call<'a>(member: &'a Member<'a>, purchases: &Purchases) -> Option<Call<'a>> {
    let purchase = purchases.get(member.id)?;
    let record = member.records.first()?;
    let counts = purchase.slots.iter().filter(|(key, attempts)| {
        let standing = cost::standing(purchase, key, attempts);
        !matches!(standing, Standing::Unsigned | Standing::Void)
    });
    let (key, attempts) = counts.min_by_key(|(key, _)| key.part)?;
    let first = attempts.first()?;
    let at = time(first.json, "plannedAt").unwrap_or(member.created_at);
    let delivered = record
        .json
        .get("delivery")
        .and_then(|delivery| time(delivery, "at"));
    let (target, query) = record
        .request
        .url
        .split_once('?')
        .unwrap_or((&record.request.url, ""));
    Some(Call {
        member,
        at,
        operation: format!("{} {target}", record.request.method),
        arguments: arguments(query),
        fingerprint: record.fingerprint,
        open_until: delivered.unwrap_or(Seconds::MAX),
        token: (key.network.clone(), key.asset),
        to: first.authorization.to(),
        amount: first.value(),
        agent: member.agent(at),
    })
}

/// The query without what is volatile in it, in one spelling.
fn arguments(query: &str) -> Vec<String> {
    let mut pairs: Vec<String> = query
        .split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| {
            let plain = pair.replace('+', " ").replace("%20", " ").to_ascii_lowercase();
            plain.split_whitespace().collect::<Vec<_>>().join(" ")
        })
        .filter(|pair| {
            let name = pair.split('=').next().unwrap_or_default().trim();
            !VOLATILE.contains(&name)
        })
        .map(|pair| pair.split('=').map(str::trim).collect::<Vec<_>>().join("="))
        .collect();
    sort_by(&mut pairs, |one, other| one.cmp(other));
    pairs
}

/// The same again in other words, while the first is open.
fn repeats(call: &Call, earlier: &Call) -> bool {
    call.fingerprint != earlier.fingerprint
        && earlier.open_until > call.at
        && call.arguments == earlier.arguments
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
            *sum = plus(*sum, call.amount);
            *last = call;
        }
    }
    for (id, (children, last)) in below {
        let place = family.get(id).and_then(|member| member.place.as_ref());
        let Some(budget) = place.and_then(|place| place.budget) else {
            continue;
        };
        let total = children.values().copied().fold(Amount::ZERO, plus);
        let small = children.values().all(|spent| times(*spent, 4) <= budget);
        if children.len() >= MANY && small && times(total, 10) >= times(budget, 9) {
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
    let just_below = |call: &&Call| call.amount <= threshold && times(call.amount, 5) >= times(threshold, 4);
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
