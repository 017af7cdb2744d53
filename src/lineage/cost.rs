//! What intents cost, up the tree: each token by itself, what is in flight or unknown as spent.

use std::collections::BTreeMap;

use super::family::Family;
use crate::address::Address;
use crate::amount::Amount;
use crate::authorization::Authorization;
use crate::conflict::purchase::{Purchase, SlotKey, Transfer};
use crate::conflict::{OwedBack, Purchases};
use crate::evidence::{self, Context, VerdictKind};
use crate::json::Json;
use crate::network::Network;
use crate::receipt::record::Attempt;
use crate::sorting::map;

/// One token.
pub(super) type Token = (Network, Address);

/// What was spent of one token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Cost {
    /// Moved.
    pub settled: Amount,
    /// Signed, and it may still land or have landed.
    pub reserved: Amount,
    /// Moved a second time, and not back yet.
    pub owed: Amount,
    /// Moved a second time, and back again.
    pub refunded: Amount,
}

impl Cost {
    pub const NONE: Cost = Cost {
        settled: Amount::ZERO,
        reserved: Amount::ZERO,
        owed: Amount::ZERO,
        refunded: Amount::ZERO,
    };

    /// Both together.
    pub fn and(self, other: Cost) -> Cost {
        Cost {
            settled: self.settled.saturating_add(other.settled),
            reserved: self.reserved.saturating_add(other.reserved),
            owed: self.owed.saturating_add(other.owed),
            refunded: self.refunded.saturating_add(other.refunded),
        }
    }

    /// What counts against a cap.
    pub fn spent(self) -> Amount {
        self.settled.saturating_add(self.reserved)
    }

    pub fn to_json(self, (network, asset): &Token) -> Json {
        Json::object([
            ("network", network.to_json()),
            ("asset", asset.to_json()),
            ("settled", self.settled.to_json()),
            ("reserved", self.reserved.to_json()),
            ("refundOwed", self.owed.to_json()),
            ("refunded", self.refunded.to_json()),
        ])
    }
}

/// Costs by token.
pub(super) type Costs = BTreeMap<Token, Cost>;

fn add(costs: &mut Costs, token: Token, cost: Cost) {
    let sum = costs.entry(token).or_insert(Cost::NONE);
    *sum = sum.and(cost);
}

/// How one nonce stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Standing {
    /// Nothing was signed for it.
    Unsigned,
    /// Signed and under way: no answer has come.
    Sent,
    /// Signed, and its end is not known.
    Unknown,
    /// The recorded reads prove that it never can land.
    Void,
    /// Money moved: shown by the chain, said by the seller, or by the journal alone.
    Moved(By),
}

/// Who says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum By {
    Chain,
    Seller,
    Journal,
}

impl By {
    pub const fn as_str(self) -> &'static str {
        match self {
            By::Chain => "chain",
            By::Seller => "seller",
            By::Journal => "journal",
        }
    }
}

/// One nonce: what was signed for it, and how it stands by what was answered and read.
pub(super) struct Slot<'b, 'a> {
    pub key: &'b SlotKey,
    pub attempts: &'b [&'a Attempt<'a>],
    /// The transfer under it.
    pub moved: Option<&'b Transfer<'a>>,
    /// The recorded reads prove that it never can land; not asked where they prove that it did.
    pub void: bool,
    pub standing: Standing,
}

/// The nonces of each intent, each judged once.
pub(super) type Slots<'b, 'a> = BTreeMap<&'b str, Vec<Slot<'b, 'a>>>;

pub(super) fn slots<'b, 'a>(purchases: &'b Purchases<'a>) -> Slots<'b, 'a> {
    let judged = purchases.iter().map(|(id, purchase)| {
        let slots = purchase.slots.iter();
        (
            *id,
            slots
                .map(|(key, attempts)| slot(purchase, key, attempts))
                .collect(),
        )
    });
    map(judged)
}

fn slot<'b, 'a>(
    purchase: &'b Purchase<'a>,
    key: &'b SlotKey,
    attempts: &'b [&'a Attempt<'a>],
) -> Slot<'b, 'a> {
    let moved = purchase.transfers.iter().find(|transfer| transfer.slot == *key);
    let void = !moved.is_some_and(|moved| moved.proven) && is_void(key, attempts);
    let mut signed = attempts.iter().filter(|one| one.is_signed()).peekable();
    let standing = match (moved, signed.peek()) {
        (Some(transfer), _) => Standing::Moved(by(transfer)),
        (None, None) => Standing::Unsigned,
        (None, Some(_)) if void => Standing::Void,
        (None, Some(_)) => {
            let quiet = |one: &&Attempt| one.observed.is_empty() && one.evidence.is_empty() && !one.is_void();
            match signed.all(quiet) {
                true => Standing::Sent,
                false => Standing::Unknown,
            }
        }
    };
    Slot {
        key,
        attempts,
        moved,
        void,
        standing,
    }
}

fn by(transfer: &Transfer) -> By {
    let said = transfer.attempt.settlement.is_some()
        || transfer.attempt.receipt.is_some()
        || transfer
            .attempt
            .observed
            .iter()
            .any(|seen| seen.transaction.is_some());
    match (transfer.proven, said) {
        (true, _) => By::Chain,
        (false, true) => By::Seller,
        (false, false) => By::Journal,
    }
}

/// Whether the recorded reads prove that nothing signed for this nonce can land any more.
fn is_void(key: &SlotKey, attempts: &[&Attempt]) -> bool {
    let mut signed: Vec<Authorization> = Vec::new();
    for attempt in attempts {
        if !signed.contains(&attempt.authorization) {
            signed.push(attempt.authorization.clone());
        }
    }
    let context = Context::new(key.network.clone(), key.asset);
    attempts.iter().filter(|one| !one.evidence.is_empty()).any(|one| {
        let verdict = evidence::resolve_signed(&signed, &context, one.evidence);
        matches!(verdict.verdict, VerdictKind::Dead | VerdictKind::Cancelled) && verdict.decides()
    })
}

/// What each intent itself cost.
pub(super) fn own(purchases: &Purchases, slots: &Slots, back: &[OwedBack]) -> BTreeMap<String, Costs> {
    let mut costs: BTreeMap<String, Costs> = BTreeMap::new();
    // What moved under none of the nonces that were signed for: on Tempo the same memo in another transaction.
    for (id, purchase) in purchases {
        let beside = purchase.transfers.iter();
        for transfer in beside.filter(|one| !purchase.slots.contains_key(&one.slot)) {
            let token = (transfer.slot.network.clone(), transfer.slot.asset);
            let cost = Cost {
                settled: transfer.cost().unwrap_or(Amount::ZERO),
                ..Cost::NONE
            };
            add(costs.entry((*id).to_owned()).or_default(), token, cost);
        }
    }
    for (id, slots) in slots {
        let own = costs.entry((*id).to_owned()).or_default();
        for slot in slots {
            let token = (slot.key.network.clone(), slot.key.asset);
            let costs = slot.attempts.iter().map(|one| one.authorization.bounded_cost());
            let largest = costs.max().unwrap_or(Amount::ZERO);
            let cost = match slot.standing {
                Standing::Unsigned | Standing::Void => continue,
                Standing::Sent | Standing::Unknown => Cost {
                    reserved: largest,
                    ..Cost::NONE
                },
                Standing::Moved(_) => Cost {
                    settled: slot.moved.and_then(Transfer::cost).unwrap_or(largest),
                    ..Cost::NONE
                },
            };
            add(own, token, cost);
        }
    }
    for one in back {
        let (amount, asset, network) = &one.amount;
        let cost = Cost {
            owed: amount.checked_sub(one.refunded).unwrap_or(Amount::ZERO),
            refunded: one.refunded,
            ..Cost::NONE
        };
        let own = costs.entry(one.intent_id.clone()).or_default();
        add(own, (network.clone(), *asset), cost);
    }
    costs
}

/// What each intent and all below it cost.
pub(super) fn cumulative(family: &Family, own: &BTreeMap<String, Costs>) -> BTreeMap<String, Costs> {
    let mut sums: BTreeMap<String, Costs> = BTreeMap::new();
    for (id, costs) in own {
        for above in family.above(id) {
            let sum = sums.entry(above.to_owned()).or_default();
            costs
                .iter()
                .for_each(|(token, cost)| add(sum, token.clone(), *cost));
        }
    }
    sums
}

/// The costs added up.
pub(super) fn total<'a>(costs: impl Iterator<Item = &'a Costs>) -> Costs {
    let mut total = Costs::new();
    for (token, cost) in costs.flatten() {
        add(&mut total, token.clone(), *cost);
    }
    total
}
