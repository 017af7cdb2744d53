//! What contradicts itself in one or many journals, and what is owed back.
//!
//! Bundles are believed here, as far as they go: [`crate::receipt`] says whether one is to be believed. Recorded chain reads are
//! judged again, and what they prove comes before what a journal or a seller says.
//!
//! | code | raised when |
//! |---|---|
//! | `duplicate_charge` | a second transfer settled for one intent, or for one quote that carries its own id |
//! | `transaction_claimed_twice` | two payments name one transaction, and the chain was not read for each |
//! | `payment_identifier_conflict` | one payment id stands for two things, or the seller answered so |
//! | `paid_wrong_terms` | the money moved on other terms than signed |
//! | `partly_paid` | of a split payment one part moved, and another never can |
//! | `late_confirmation` | an attempt was called dead or refused, and its transfer landed |
//! | `paid_not_delivered` | paid, no answer: the claim is open |
//! | `quotes_accumulating` | an open intent holds several offers that can still be paid |
//!
//! One finding for one fact: a late transfer that is also the second one is in two findings. Equal requests under two intents
//! are two purchases, and nothing is raised.

pub(crate) mod purchase;
mod refunds;

use std::collections::{BTreeMap, BTreeSet};

use crate::address::Address;
use crate::amount::Amount;
use crate::error::{Code, Error, Next};
use crate::finding::{Finding, Severity};
use crate::hex;
use crate::json::{self, Json};
use crate::network::Network;
use crate::receipt::record::{self, Attempt, Record};
use crate::sorting::{set, sort_by};
use purchase::{Purchase, SlotKey, Transfer};
pub use refunds::Given;
use refunds::{Owed, Returned};

/// The findings of the bundles, in an order that does not depend on the order of the bundles: by the text of the
/// code, then by intents and attempts. Errors, each at `bundles[n]`: those of the JSON reader, those of a bundle ([`crate::receipt::verify`]).
pub fn find_conflicts(bundles: &[&str]) -> Result<Vec<Finding>, Error> {
    find_conflicts_refunded(bundles, &[])
}

/// The same, knowing what went back: a finding of a second charge says how much (`refunded`), and is no alert once that is all of it.
/// A refund of anything else, or one that its evidence does not show ([`crate::evidence::refunded`], final blocks only), changes nothing.
pub fn find_conflicts_refunded(bundles: &[&str], given: &[Given]) -> Result<Vec<Finding>, Error> {
    let at = |index: usize| format!("bundles[{index}]");
    let mut texts = Vec::new();
    for (index, text) in bundles.iter().enumerate() {
        texts.push(json::parse(text).map_err(|error| error.within(&at(index)))?);
    }
    let mut read = Vec::new();
    for (index, json) in texts.iter().enumerate() {
        read.push(record::bundle(json).map_err(|error| error.within(&at(index)))?);
    }
    Ok(findings(&purchase::purchases(&read)?, given).0)
}

/// What is owed back of one transfer.
pub(crate) struct OwedBack {
    /// The intent that it was for.
    pub intent_id: String,
    /// What it moved.
    pub amount: (Amount, Address, Network),
    /// How much of it went back.
    pub refunded: Amount,
    /// The attempt that was charged, and which of its authorizations.
    pub attempt: (String, usize),
    /// The nonce under which it moved.
    pub slot: SlotKey,
    /// What gave it back.
    pub returns: Vec<Returned>,
}

/// The findings about these purchases, and what is owed back.
pub(crate) fn findings(purchases: &Purchases, given: &[Given]) -> (Vec<Finding>, Vec<OwedBack>) {
    let mut found = Vec::new();
    let owed = duplicates(purchases, &mut found);
    let returns = refunds::credit(&mut found, &owed, given);
    let back = owed.iter().filter_map(|one| {
        let finding = found.get(one.finding)?;
        Some(OwedBack {
            intent_id: one.transfer.intent_id.to_owned(),
            amount: finding.amount.clone()?,
            refunded: finding.refunded.unwrap_or(Amount::ZERO),
            attempt: (one.transfer.attempt.id.to_owned(), one.transfer.slot.part),
            slot: one.transfer.slot.clone(),
            returns: returns
                .iter()
                .filter(|(of, _)| *of == one.finding)
                .map(|(_, returned)| returned.clone())
                .collect(),
        })
    });
    let back = back.collect();
    shared_transactions(purchases, &mut found);
    payment_ids(purchases, &mut found);
    for (intent_id, purchase) in purchases {
        conflict_answers(intent_id, purchase, &mut found);
        transfers(purchase, &mut found);
        partly_paid(purchase, &mut found);
        undelivered(intent_id, purchase, &mut found);
        quotes(intent_id, purchase, &mut found);
    }
    fn key(one: &Finding) -> (&str, &[String], &[String], &[String], &str) {
        (
            one.code.as_str(),
            &one.intents,
            &one.attempts,
            &one.transactions,
            one.why,
        )
    }
    sort_by(&mut found, |one, other| key(one).cmp(&key(other)));
    (found, back)
}

fn sorted(texts: impl IntoIterator<Item = impl Into<String>>) -> Vec<String> {
    set(texts.into_iter().map(Into::into)).into_iter().collect()
}

/// A finding about transfers.
fn about(finding: Finding, transfers: &[&Transfer]) -> Finding {
    Finding {
        intents: sorted(transfers.iter().map(|one| one.intent_id)),
        attempts: sorted(transfers.iter().map(|one| one.attempt.id)),
        transactions: sorted(transfers.iter().filter_map(|one| one.transaction.clone())),
        ..finding
    }
}

pub(crate) type Purchases<'a> = BTreeMap<&'a str, Purchase<'a>>;

/// The first transfer of an intent, or of a quote that only one payment can be for, is kept; every other one is owed back.
fn duplicates<'a>(purchases: &Purchases<'a>, found: &mut Vec<Finding>) -> Vec<Owed<'a>> {
    // The parts of one split payment are no second transfer to each other.
    let mut intents: BTreeMap<(&str, usize), Vec<&Transfer>> = BTreeMap::new();
    for (intent_id, purchase) in purchases {
        for transfer in &purchase.transfers {
            let key = (*intent_id, transfer.slot.part);
            intents.entry(key).or_default().push(transfer);
        }
    }
    let mut groups: Vec<Vec<&Transfer>> = intents.into_values().collect();
    let mut quotes: BTreeMap<([u8; 32], usize), Vec<&Transfer>> = BTreeMap::new();
    for purchase in purchases.values() {
        for transfer in &purchase.transfers {
            let hash = transfer.attempt.quote_hash;
            if purchase.records.iter().any(|record| names_itself(record, &hash)) {
                let key = (hash, transfer.slot.part);
                quotes.entry(key).or_default().push(transfer);
            }
        }
    }
    groups.extend(quotes.into_values());
    let (mut owed, mut told) = (BTreeSet::new(), Vec::new());
    for mut group in groups {
        sort_by(&mut group, |one, other| one.order().cmp(&other.order()));
        let mut counted: Vec<&Transfer> = Vec::new();
        for transfer in group {
            if counted.iter().any(|other| other.same(transfer)) {
                continue;
            }
            counted.push(transfer);
            let Some(kept) = counted.first().filter(|kept| kept.slot != transfer.slot) else {
                continue;
            };
            if !owed.insert((transfer.slot.clone(), transfer.transaction.clone())) {
                continue;
            }
            told.push(Owed {
                transfer: transfer.clone(),
                finding: found.len(),
            });
            let proven = kept.proven && transfer.proven;
            let finding = about(
                Finding::new(
                    Code::DuplicateCharge,
                    Severity::Alert,
                    "Money moved a second time for one purchase: the first transfer stands as the payment, and the amount of the second one is owed back.",
                ),
                &[kept, transfer],
            );
            found.push(Finding {
                amount: transfer.sum(),
                next: if proven {
                    Code::DuplicateCharge.next()
                } else {
                    Next::ReadChain
                },
                ..finding
            });
        }
    }
    told
}

/// Whether the offer carries an id of its own, so that it is not the standing price of a resource but one quote.
fn names_itself(record: &Record, hash: &[u8; 32]) -> bool {
    let id = |quote: &record::Quote| {
        let extra = quote.requirements.get("extra");
        extra.is_some_and(|extra| extra.get("quoteId").or(extra.get("quote_id")).is_some())
    };
    let challenge = |quote: &record::Quote| quote.offered.challenge().is_some();
    record
        .quotes
        .iter()
        .any(|quote| quote.hash == *hash && (challenge(quote) || id(quote)))
}

/// One transaction can hold two transfers, but only where the chain shows both.
fn shared_transactions(purchases: &Purchases, found: &mut Vec<Finding>) {
    let mut named: BTreeMap<_, Vec<&Transfer>> = BTreeMap::new();
    // Of a split payment the first part speaks for all.
    let transfers = purchases.values().flat_map(|purchase| &purchase.transfers);
    for transfer in transfers.filter(|transfer| transfer.slot.part == 0) {
        if let Some(transaction) = &transfer.transaction {
            named
                .entry((transfer.slot.network.clone(), transaction))
                .or_default()
                .push(transfer);
        }
    }
    for claims in named.values().filter(|claims| claims.len() > 1) {
        let slots = set(claims.iter().map(|claim| &claim.slot));
        let shown = slots.len() == claims.len() && claims.iter().all(|claim| claim.proven);
        if !shown {
            let finding = Finding::new(
                Code::TransactionClaimedTwice,
                Severity::Alert,
                "Two payments name one transaction, and the recorded reads do not show a transfer for each.",
            );
            found.push(about(finding, claims));
        }
    }
}

/// What a payment id stands for, by the name of each part.
fn binding(record: &Record, attempt: &Attempt) -> [(&'static str, String); 8] {
    let signed = &attempt.authorization;
    [
        ("intentId", record.intent_id.to_owned()),
        ("payer", signed.from().to_string()),
        ("fingerprint", hex::encode(record.fingerprint)),
        ("quoteHash", hex::encode(attempt.quote_hash)),
        ("amount", attempt.value().to_string()),
        ("payTo", signed.to().to_string()),
        ("network", signed.chain_id().to_string()),
        ("asset", signed.asset().to_string()),
    ]
}

fn payment_ids(purchases: &Purchases, found: &mut Vec<Finding>) {
    let mut ids: BTreeMap<&str, Vec<(&Record, &Attempt)>> = BTreeMap::new();
    let records = purchases.values().flat_map(|purchase| &purchase.records);
    for (record, attempt) in records.flat_map(|record| record.attempts.iter().map(move |one| (record, one))) {
        if let Some(id) = attempt.payment_id {
            ids.entry(id).or_default().push((record, attempt));
        }
    }
    for uses in ids.values() {
        let mut parts: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
        for (record, attempt) in uses {
            for (name, value) in binding(record, attempt) {
                parts.entry(name).or_default().insert(value);
            }
        }
        let differs: Vec<&str> = parts
            .iter()
            .filter(|(_, values)| values.len() > 1)
            .map(|(name, _)| *name)
            .collect();
        if !differs.is_empty() {
            found.push(Finding {
                intents: sorted(uses.iter().map(|(record, _)| record.intent_id)),
                attempts: sorted(uses.iter().map(|(_, attempt)| attempt.id)),
                fields: sorted(differs),
                ..Finding::new(
                    Code::PaymentConflict,
                    Severity::Alert,
                    "One payment id stands for two things that differ in these fields.",
                )
            });
        }
    }
}

fn conflict_answers(intent_id: &str, purchase: &Purchase, found: &mut Vec<Finding>) {
    let answered = |attempt: &&&Attempt| attempt.observed.iter().any(|seen| seen.outcome == "conflict");
    let attempts = sorted(
        purchase
            .slots
            .values()
            .flatten()
            .filter(answered)
            .map(|attempt| attempt.id),
    );
    if !attempts.is_empty() {
        found.push(Finding {
            intents: vec![intent_id.to_owned()],
            attempts,
            ..Finding::new(
                Code::PaymentConflict,
                Severity::Alert,
                "The seller answered that it holds another request under this payment id.",
            )
        });
    }
}

/// Transfers on other terms, and transfers of authorizations that were called dead or refused.
fn transfers(purchase: &Purchase, found: &mut Vec<Finding>) {
    for transfer in &purchase.transfers {
        if transfer.amount.is_none() {
            let finding = Finding::new(
                Code::PaidWrongTerms,
                Severity::Alert,
                "A transfer happened under this nonce on other terms than signed.",
            );
            found.push(about(finding, &[transfer]));
        }
        // Another authorization for the same nonce may well be dead: only what was said of this one counts.
        let sightings = purchase.slots.get(&transfer.slot).into_iter().flatten();
        let mut own = sightings.filter(|one| one.authorization == transfer.attempt.authorization);
        let refused = |one: &Attempt| {
            let first = one.observed.first();
            !purchase.delivered() && first.is_some_and(|seen| seen.outcome == "rejected")
        };
        if own.any(|one| one.is_void() || refused(one)) {
            let finding = Finding::new(
                Code::LateConfirmation,
                Severity::Alert,
                "The attempt was called dead or refused, and its transfer landed after all.",
            );
            found.push(Finding {
                amount: transfer.sum(),
                ..about(finding, &[transfer])
            });
        }
    }
}

/// What moved of a split payment whose rest never can.
fn partly_paid(purchase: &Purchase, found: &mut Vec<Finding>) {
    let kept = purchase.transfers.first();
    if let Some(transfer) = kept.filter(|kept| kept.attempt.state == "partly_paid") {
        let finding = Finding::new(Code::PartlyPaid, Severity::Alert, Code::PartlyPaid.meaning());
        found.push(Finding {
            amount: sum(purchase, transfer),
            ..about(finding, &[transfer])
        });
    }
}

/// What an attempt moved, all its parts together. Unknown where one moved on other terms.
fn sum(purchase: &Purchase, of: &Transfer) -> Option<(Amount, Address, Network)> {
    let (_, asset, network) = of.sum()?;
    let mut parts = purchase
        .transfers
        .iter()
        .filter(|one| one.attempt.id == of.attempt.id);
    let sum = parts.try_fold(Amount::ZERO, |sum, one| sum.checked_add(one.amount?));
    Some((sum?, asset, network))
}

fn undelivered(intent_id: &str, purchase: &Purchase, found: &mut Vec<Finding>) {
    let claim = purchase.records.iter().any(|record| record.holds_claim());
    let kept = purchase.transfers.first();
    let partly = kept.is_some_and(|kept| kept.attempt.state == "partly_paid");
    if purchase.delivered() || partly || !(claim || kept.is_some()) {
        return;
    }
    let released = purchase.records.iter().any(|record| record.status == "released");
    let (severity, why) = match released {
        true => (
            Severity::Info,
            "Paid and not delivered; closed by the caller as a claim.",
        ),
        false => (
            Severity::Alert,
            "Paid and not delivered: the answer, or the money, is yours to claim.",
        ),
    };
    let finding = Finding::new(Code::PaidNotDelivered, severity, why);
    let finding = about(finding, &kept.into_iter().collect::<Vec<_>>());
    found.push(Finding {
        intents: vec![intent_id.to_owned()],
        amount: kept.and_then(|kept| sum(purchase, kept)),
        ..finding
    });
}

fn quotes(intent_id: &str, purchase: &Purchase, found: &mut Vec<Finding>) {
    let ended = purchase.records.iter().any(|record| record.status != "open");
    if ended || !purchase.transfers.is_empty() {
        return;
    }
    let attempts = || purchase.slots.values().flatten();
    let of = |hash: [u8; 32]| attempts().filter(move |attempt| attempt.quote_hash == hash);
    let payable = |hash: &[u8; 32]| of(*hash).next().is_none() || of(*hash).any(|attempt| !attempt.is_void());
    let held = purchase.records.iter().flat_map(|record| &record.quotes);
    let open = set(held.map(|quote| quote.hash).filter(payable));
    if open.len() > 1 {
        let paying = attempts().filter(|attempt| open.contains(&attempt.quote_hash));
        found.push(Finding {
            intents: vec![intent_id.to_owned()],
            attempts: sorted(paying.map(|attempt| attempt.id)),
            ..Finding::new(
                Code::QuotesAccumulating,
                Severity::Info,
                "One open intent holds several offers that can still be paid; a quote key finds the first one again.",
            )
        });
    }
}

/// As it crosses the boundary.
pub fn to_json(findings: &[Finding]) -> Json {
    Json::Array(findings.iter().map(Finding::to_json).collect())
}
