//! Lines that share a key, held against each other.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::joins::{Joins, Kind};
use super::payments::{payments, Payment};
use super::verdict::Verdict;
use crate::address::Address;
use crate::amount::Amount;
use crate::error::{Code, Next};
use crate::finding::{Finding, Severity};
use crate::json::Json;
use crate::network::Network;
use crate::receipt::web_url;
use crate::sorting::{set, sort_by};

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

/// The findings about lines that share a key of this kind: each a [`Finding`] without its attempts, and `key`, the kind;
/// `lines`, the first of them as `{input, line, id?}`; `count`, all of them. `lines` are the first at most [`MOST_COMPARED`] of
/// `count`, in their order.
pub fn across(kind: Kind, lines: &[Verdict], count: u64) -> Vec<Json> {
    let joins: Vec<&Joins> = lines.iter().map(|verdict| &verdict.joins).collect();
    let findings = match kind {
        Kind::Receipt => [repeated(&joins), None],
        Kind::Transaction => [claimed_twice(lines), None],
        Kind::Authorization => [used_twice(lines), None],
        Kind::Intent => bought_twice(&joins),
        Kind::PaymentId => paid_twice(&joins),
        Kind::Response => [shared(&joins), None],
    };
    let told = |finding| told(finding, kind, lines, count);
    findings.into_iter().flatten().map(told).collect()
}

fn told(finding: Finding, kind: Kind, lines: &[Verdict], count: u64) -> Json {
    let joins = || lines.iter().map(|verdict| &verdict.joins);
    let finding = Finding {
        intents: sorted(joins().map(|joins| &joins.intent)),
        transactions: sorted(joins().map(|joins| &joins.transaction)),
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
    finding
        .to_json()
        .without("attempts")
        .with("count", Json::number(count))
        .with("lines", Json::Array(listed.collect()))
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

/// A form of document: one payment may have one of each.
fn form(verdict: &Verdict) -> (Option<&str>, bool) {
    (verdict.kind.as_deref(), verdict.joins.signed)
}

/// Several receipts for one transaction. It can hold several transfers, where the chain shows each; and one payment may have documents
/// of several forms. One that names no network may be of any.
fn claimed_twice(lines: &[Verdict]) -> Option<Finding> {
    let networks = set(lines.iter().filter_map(|line| line.joins.network.as_deref()));
    let of = |network: Option<&str>| {
        let meant = |line: &&Verdict| match (network, line.joins.network.as_deref()) {
            (Some(network), Some(own)) => network == own,
            _ => true,
        };
        lines.iter().filter(meant).collect::<Vec<_>>()
    };
    let twice = match networks.is_empty() {
        true => one_too_many(&of(None)),
        false => networks.iter().any(|network| one_too_many(&of(Some(network)))),
    };
    let found = Finding::new(
        Code::TransactionClaimedTwice,
        Severity::Alert,
        "Several receipts name one transaction, and the chain does not show a transfer for each.",
    );
    twice.then_some(found)
}

/// Whether more is claimed of one transaction than the chain shows.
fn one_too_many(lines: &[&Verdict]) -> bool {
    // The same document again is told of as such.
    let documents = set(lines
        .iter()
        .map(|line| (&line.joins.receipt, form(line), line.joins.slot())));
    let uses = different(documents.iter().map(|(_, form, slot)| (form, slot)));
    let slots = set(documents.iter().map(|(.., slot)| *slot));
    let of = |slot: &Option<[&str; 4]>| {
        let joins = lines.iter().map(|line| &line.joins);
        joins.filter(|joins| joins.slot() == *slot).collect::<Vec<_>>()
    };
    let shown = slots.len() == 1 || slots.iter().all(|slot| of(slot).iter().any(|joins| joins.shown));
    let one_thing = || {
        slots
            .iter()
            .all(|slot| differing(&of(slot), &["resource"]).is_empty())
    };
    let fair = !slots.contains(&None) && uses == documents.len() && shown && one_thing();
    documents.len() > 1 && !fair
}

/// Several transactions for one authorization, or several receipts of one form, of which not every one says the transaction: where all do, that is what
/// they are joined by.
fn used_twice(lines: &[Verdict]) -> Option<Finding> {
    let named = different(lines.iter().filter_map(|line| line.joins.transaction.as_ref()));
    let forms = set(lines.iter().map(form));
    let again = forms.iter().any(|one| {
        let joins: Vec<&Joins> = lines
            .iter()
            .filter(|line| form(line) == *one)
            .map(|line| &line.joins)
            .collect();
        let several = match one.0 {
            // Of a price before it is paid there may be any number.
            Some("offer") => false,
            // A seller signs one for one payment.
            Some("receipt") if one.1 => receipts(&joins) > 1,
            _ => !differing(&joins, &["resource"]).is_empty(),
        };
        several && joins.iter().any(|joins| joins.transaction.is_none())
    });
    let found = Finding::new(
        Code::AuthorizationClaimedTwice,
        Severity::Alert,
        match named > 1 {
            true => {
                "Receipts name different transactions for one authorization, which can be used once only."
            }
            false => "Several receipts are for one authorization, which can be used once only.",
        },
    );
    (named > 1 || again).then_some(found)
}

fn conflict(code: Code, fields: Vec<String>, why: &'static str) -> Option<Finding> {
    (!fields.is_empty()).then(|| Finding {
        fields,
        ..Finding::new(code, Severity::Alert, why)
    })
}

/// What no line can hide by naming something else under the same intent is told beside it.
fn bought_twice(joins: &[&Joins]) -> [Option<Finding>; 2] {
    const PURCHASE: &[&str] = &["payer", "resource"];
    let conflict = conflict(
        Code::IntentConflict,
        differing(joins, PURCHASE),
        "One intent stands for two purchases that differ in these fields.",
    );
    [conflict, charged_twice(joins, PURCHASE)]
}

fn paid_twice(joins: &[&Joins]) -> [Option<Finding>; 2] {
    let conflict = conflict(
        Code::PaymentConflict,
        differing(joins, &[]),
        "One payment id stands for two things that differ in these fields.",
    );
    // Of one intent its own key tells.
    let own_key = joins.iter().all(|joins| joins.intent.is_some());
    [conflict, charged_twice(joins, &[]).filter(|_| !own_key)]
}

/// A second payment for one purchase, which is what does not differ in any of these parts: the first is kept, and what the others moved is owed back.
fn charged_twice(joins: &[&Joins], of: &[&str]) -> Option<Finding> {
    let payments = payments(joins);
    let again: Vec<&Payment> = again(&payments, of);
    if again.is_empty() {
        return None;
    }
    let proven = payments
        .iter()
        .all(|payment| payment.iter().any(|joins| joins.shown));
    Some(Finding {
        amount: owed(&again),
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

/// The payments that are not the first ones of their purchase.
fn again<'a, 'b>(payments: &'b [Payment<'a>], of: &[&str]) -> Vec<&'b Payment<'a>> {
    let parts: Vec<_> = PARTS.iter().filter(|(name, _)| takes(of, name)).collect();
    // What a payment's lines say of the purchase; what they do not say comes last, so that it finds what it may belong to.
    let said = |payment: &Payment| -> Vec<(bool, Option<String>)> {
        let least = |part: &&Part| values(payment, part).into_iter().next();
        parts
            .iter()
            .map(least)
            .map(|value| (value.is_none(), value.map(Cow::into_owned)))
            .collect()
    };
    let mut sorted: Vec<_> = payments.iter().map(said).zip(0_usize..).collect();
    sort_by(&mut sorted, |one, other| one.cmp(other));
    let mut purchases: Vec<(Vec<Option<String>>, Vec<usize>)> = Vec::new();
    for (said, at) in sorted {
        let fits = |known: &[Option<String>]| {
            let both = known.iter().zip(&said);
            both.into_iter()
                .all(|(known, (_, own))| known.is_none() || own.is_none() || known == own)
        };
        match purchases.iter_mut().find(|(known, _)| fits(known)) {
            Some((known, payments)) => {
                for (known, (_, own)) in known.iter_mut().zip(said) {
                    *known = known.take().or(own);
                }
                payments.push(at);
            }
            None => purchases.push((said.into_iter().map(|(_, own)| own).collect(), vec![at])),
        }
    }
    let firsts = purchases.iter().filter_map(|(_, payments)| payments.iter().min());
    let firsts = set(firsts.copied());
    let later = payments.iter().enumerate();
    later
        .filter(|(at, _)| !firsts.contains(at))
        .map(|(_, payment)| payment)
        .collect()
}

/// Which of the documents of one payment says its amount: one that the chain bears out before the others.
fn telling<'a>(payment: &Payment<'a>) -> Option<&'a Joins> {
    let said = || payment.iter().copied().filter(|joins| joins.amount.is_some());
    said().find(|joins| joins.shown).or(said().next())
}

/// The sum, where it is in one token.
fn owed(again: &[&Payment]) -> Option<(Amount, Address, Network)> {
    let again = again.iter().copied().map(telling);
    let again: Vec<&Joins> = again.collect::<Option<_>>()?;
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
    (payments(joins).len() > 1 && receipts(joins) > 1).then_some(found)
}

/// Whether a part of that name is among these, which are all where none is named.
fn takes(of: &[&str], name: &str) -> bool {
    of.is_empty() || of.contains(&name)
}

/// What the lines say of a part; one URL in two spellings is one.
fn values<'a>(joins: &[&'a Joins], (name, part): &Part) -> BTreeSet<Cow<'a, str>> {
    let said = set(joins.iter().filter_map(|joins| part(joins).as_deref()));
    let url = *name == "resource";
    set(said.into_iter().map(|text| match url {
        true => web_url(text).map_or(Cow::Borrowed(text), Cow::Owned),
        false => Cow::Borrowed(text),
    }))
}

/// The names of the parts that two lines say differently, of these or of all.
fn differing(joins: &[&Joins], of: &[&str]) -> Vec<String> {
    PARTS
        .iter()
        .filter(|(name, _)| takes(of, name))
        .filter(|part| values(joins, part).len() > 1)
        .map(|(name, _)| (*name).to_owned())
        .collect()
}
