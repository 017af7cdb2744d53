//! Lines that share a key, held against each other.

use std::collections::BTreeSet;

use super::joins::{Joins, Kind};
use super::verdict::Verdict;
use crate::address::Address;
use crate::amount::Amount;
use crate::error::{Code, Next};
use crate::finding::{Finding, Severity};
use crate::json::Json;
use crate::network::Network;
use crate::sorting::set;

/// The most lines of one key that are held against each other; the others are counted.
pub const MOST_COMPARED: usize = 1000;
/// The most lines that a finding lists.
const MOST_LISTED: usize = 20;

/// What two lines can differ in.
type Part = (&'static str, fn(&Joins) -> &Option<String>);

const PARTS: [Part; 7] = [
    ("amount", |joins| &joins.amount),
    ("asset", |joins| &joins.asset),
    ("intent", |joins| &joins.intent),
    ("network", |joins| &joins.network),
    ("payTo", |joins| &joins.pay_to),
    ("payer", |joins| &joins.payer),
    ("resource", |joins| &joins.resource),
];

/// The finding about lines that share a key of this kind, if there is one: [`Finding`] without its attempts, and `key`, the kind;
/// `lines`, the first of them as `{input, line, id?}`; `count`, all of them. `lines` are the first at most [`MOST_COMPARED`] of
/// `count`, in their order.
pub fn across(kind: Kind, lines: &[Verdict], count: u64) -> Option<Json> {
    let joins: Vec<&Joins> = lines.iter().map(|verdict| &verdict.joins).collect();
    let finding = match kind {
        Kind::Receipt => repeated(&joins),
        Kind::Transaction => claimed_twice(lines),
        Kind::Authorization => used_twice(&joins),
        Kind::Intent => bought_twice(&joins),
        Kind::PaymentId => paid_twice(&joins),
        Kind::Response => shared(&joins),
    }?;
    let finding = Finding {
        intents: sorted(joins.iter().map(|joins| &joins.intent)),
        transactions: sorted(joins.iter().map(|joins| &joins.transaction)),
        key: Some(kind.as_str().to_owned()),
        ..finding
    };
    let listed = lines.iter().take(MOST_LISTED).map(|verdict| {
        Json::object([
            ("input", Json::text(verdict.input.as_str())),
            ("line", Json::number(verdict.line)),
        ])
        .with_some("id", verdict.id.as_deref().map(Json::text))
    });
    Some(
        finding
            .to_json()
            .without("attempts")
            .with("count", Json::number(count))
            .with("lines", Json::Array(listed.collect())),
    )
}

fn sorted<'a>(texts: impl Iterator<Item = &'a Option<String>>) -> Vec<String> {
    set(texts.flatten().cloned())
        .into_iter()
        .take(MOST_LISTED)
        .collect()
}

/// How many different ones there are.
fn different<T: Ord>(items: impl Iterator<Item = T>) -> usize {
    set(items).len()
}

fn receipts(joins: &[&Joins]) -> usize {
    different(joins.iter().map(|joins| &joins.receipt))
}

fn repeated(joins: &[&Joins]) -> Option<Finding> {
    let found = Finding::new(
        Code::ReceiptRepeated,
        Severity::Alert,
        Code::ReceiptRepeated.meaning(),
    );
    (joins.len() > 1).then_some(found)
}

/// Several receipts for one transaction. It can hold several transfers, where the chain shows each; and one payment may have documents
/// of several kinds.
fn claimed_twice(lines: &[Verdict]) -> Option<Finding> {
    let joins: Vec<&Joins> = lines.iter().map(|verdict| &verdict.joins).collect();
    // The same document again is told of as such.
    let documents = set(lines
        .iter()
        .map(|verdict| (&verdict.joins.receipt, &verdict.kind, verdict.joins.slot())));
    let kinds = different(documents.iter().map(|(_, kind, _)| kind));
    let slots: BTreeSet<_> = set(documents.iter().map(|(.., slot)| slot));
    let known = documents.iter().all(|(.., slot)| slot.is_some());
    let shown = joins.iter().all(|joins| joins.shown) && slots.len() == documents.len();
    let one_payment =
        kinds == documents.len() && slots.len() == 1 && differing(&joins, &["resource"]).is_empty();
    if documents.len() < 2 || known && (shown || one_payment) {
        return None;
    }
    Some(Finding::new(
        Code::TransactionClaimedTwice,
        Severity::Alert,
        "Several receipts name one transaction, and the chain does not show a transfer for each.",
    ))
}

fn used_twice(joins: &[&Joins]) -> Option<Finding> {
    let named = different(joins.iter().filter_map(|joins| joins.transaction.as_ref()));
    let found = Finding::new(
        Code::AuthorizationClaimedTwice,
        Severity::Alert,
        Code::AuthorizationClaimedTwice.meaning(),
    );
    (named > 1).then_some(found)
}

fn bought_twice(joins: &[&Joins]) -> Option<Finding> {
    let differs = differing(joins, &["payer", "resource"]);
    if differs.is_empty() {
        return charged_twice(joins);
    }
    Some(Finding {
        fields: differs,
        ..Finding::new(
            Code::IntentConflict,
            Severity::Alert,
            "One intent stands for two purchases that differ in these fields.",
        )
    })
}

fn paid_twice(joins: &[&Joins]) -> Option<Finding> {
    let differs = differing(joins, &[]);
    if !differs.is_empty() {
        return Some(Finding {
            fields: differs,
            ..Finding::new(
                Code::PaymentConflict,
                Severity::Alert,
                "One payment id stands for two things that differ in these fields.",
            )
        });
    }
    // Of one intent its own key tells.
    let one_intent = joins.iter().all(|joins| joins.intent.is_some());
    charged_twice(joins).filter(|_| !one_intent)
}

/// A second payment for one purchase: the first is kept, and what the others moved is owed back.
fn charged_twice(joins: &[&Joins]) -> Option<Finding> {
    let mut kept: Vec<&Joins> = Vec::new();
    for joins in joins.iter().filter(|joins| joins.payment().is_some()) {
        if !kept.iter().any(|other| same_payment(other, joins)) {
            kept.push(joins);
        }
    }
    let (_, again) = kept.split_first().filter(|(_, again)| !again.is_empty())?;
    let proven = kept.iter().all(|joins| joins.shown);
    Some(Finding {
        amount: owed(again),
        next: if proven {
            Code::DuplicateCharge.next()
        } else {
            Next::ReadChain
        },
        ..Finding::new(
            Code::DuplicateCharge,
            Severity::Alert,
            "Several payments were made for one purchase: the first is kept and the amount of the others is owed back.",
        )
    })
}

/// Whether two lines are of one payment: one transaction, or one authorization where a transaction is not named.
fn same_payment(one: &Joins, other: &Joins) -> bool {
    match (&one.transaction, &other.transaction) {
        (Some(_), Some(_)) => one.payment() == other.payment(),
        _ => one.slot().is_some() && one.slot() == other.slot(),
    }
}

/// The sum, where it is in one token.
fn owed(again: &[&Joins]) -> Option<(Amount, Address, Network)> {
    let first = again.first()?;
    let asset = Address::parse(first.asset.as_deref()?).ok()?;
    let network = Network::parse(first.network.as_deref()?).ok()?;
    let sum = again.iter().try_fold(Amount::ZERO, |sum, joins| {
        let same = joins.asset == first.asset && joins.network == first.network;
        let amount = Amount::parse(joins.amount.as_deref().filter(|_| same)?).ok()?;
        sum.checked_add(amount)
    })?;
    Some((sum, asset, network))
}

fn shared(joins: &[&Joins]) -> Option<Finding> {
    let found = Finding::new(
        Code::ResponseShared,
        Severity::Info,
        Code::ResponseShared.meaning(),
    );
    let payments = different(joins.iter().filter_map(|joins| joins.payment()));
    (payments > 1 && receipts(joins) > 1).then_some(found)
}

/// The names of the parts that two lines say differently, of these or of all.
fn differing(joins: &[&Joins], of: &[&str]) -> Vec<String> {
    PARTS
        .iter()
        .filter(|(name, _)| of.is_empty() || of.contains(name))
        .filter(|(_, part)| different(joins.iter().filter_map(|joins| part(joins).as_ref())) > 1)
        .map(|(name, _)| (*name).to_owned())
        .collect()
}
