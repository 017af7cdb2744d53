//! What bundles say, put together: one purchase for each intent, one slot for each nonce, at most one transfer in a slot.

use std::collections::BTreeMap;

use alloy_primitives::keccak256;

use crate::address::Address;
use crate::amount::Amount;
use crate::authorization::Authorization;
use crate::error::Error;
use crate::evidence::{self, Context, VerdictKind};
use crate::hex;
use crate::mpp::receipt::Receipt;
use crate::network::Network;
use crate::receipt::record::{Attempt, Record};
use crate::sorting::sort_by;
use crate::x402::settlement_response;

/// The slot in the token contract that authorizations compete for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SlotKey {
    pub network: Network,
    pub asset: Address,
    pub payer: Address,
    /// Of a transaction on Tempo its hash where that is known, for one memo can be in several.
    nonce: [u8; 32],
    /// Which part of a split payment it is for, 0 of any other.
    pub part: usize,
}

/// Everything that the bundles hold of one intent.
pub(crate) struct Purchase<'a> {
    pub records: Vec<&'a Record<'a>>,
    pub slots: BTreeMap<SlotKey, Vec<&'a Attempt<'a>>>,
    /// In the order in which they are kept: the first one is what was bought, every other one is owed back.
    pub transfers: Vec<Transfer<'a>>,
}

/// Money that moved under one nonce, as far as the bundles say.
#[derive(Clone)]
pub(crate) struct Transfer<'a> {
    pub intent_id: &'a str,
    pub slot: SlotKey,
    pub attempt: &'a Attempt<'a>,
    /// Unknown when it moved on other terms than signed.
    pub amount: Option<Amount>,
    /// What its inclusion cost the payer besides; unless the chain shows that, the most that it could.
    pub fee: Amount,
    pub transaction: Option<String>,
    /// The recorded reads of a final block prove it; else journal or seller say so.
    pub proven: bool,
    /// Block number and log index.
    pub position: Option<(u64, u64)>,
}

impl Purchase<'_> {
    /// Whether any journal has the answer.
    pub fn delivered(&self) -> bool {
        self.records.iter().any(|record| record.delivery.is_some())
    }
}

impl Transfer<'_> {
    /// What it cost the payer.
    pub fn cost(&self) -> Option<Amount> {
        self.amount.map(|amount| amount.saturating_add(self.fee))
    }

    /// What it moved.
    pub fn sum(&self) -> Option<(Amount, Address, Network)> {
        let SlotKey { network, asset, .. } = &self.slot;
        self.amount.map(|amount| (amount, *asset, network.clone()))
    }

    /// Earlier on chain is kept. What the chain was not read for comes after what it was read for, in the order of the attempts.
    pub fn order(&self) -> impl Ord + '_ {
        let unread = self.position.is_none();
        let SlotKey { network, nonce, .. } = &self.slot;
        (unread, network, self.position, self.attempt.id, *nonce)
    }

    /// Whether both are said to be one and the same transfer: one transaction, and the chain was not read for each.
    pub fn same(&self, other: &Transfer) -> bool {
        self.slot.network == other.slot.network
            && self.transaction.is_some()
            && self.transaction == other.transaction
            && (self.slot == other.slot || !(self.proven && other.proven))
    }
}

/// The purchases by intent. The order of the bundles does not matter, and a record that stands in two of them counts once.
/// Errors: those of a settlement response, with its path.
pub(crate) fn purchases<'a>(
    bundles: &'a [(Address, Vec<Record<'a>>)],
) -> Result<BTreeMap<&'a str, Purchase<'a>>, Error> {
    let mut found: BTreeMap<&str, Purchase> = BTreeMap::new();
    for (at, (_, records)) in bundles.iter().enumerate() {
        for (index, record) in records.iter().enumerate() {
            let purchase = found.entry(record.intent_id).or_insert_with(|| Purchase {
                records: Vec::new(),
                slots: BTreeMap::new(),
                transfers: Vec::new(),
            });
            purchase.records.push(record);
            for (number, attempt) in record.attempts.iter().enumerate() {
                let field = || format!("bundles[{at}].intents[{index}].attempts[{number}]");
                for (part, slot) in attempt.slots().enumerate() {
                    let key = slot_key(slot, part).map_err(|error| error.within(&field()))?;
                    purchase.slots.entry(key).or_default().push(slot);
                }
                if let Some(settlement) = attempt.settlement {
                    settlement_response::parse(settlement)
                        .map_err(|error| error.within("settlement").within(&field()))?;
                }
            }
        }
    }
    for (intent_id, purchase) in &mut found {
        for (key, attempts) in &mut purchase.slots {
            sort_by(attempts, |one, other| {
                (one.id, one.state, one.authorization.valid_before()).cmp(&(
                    other.id,
                    other.state,
                    other.authorization.valid_before(),
                ))
            });
            purchase.transfers.extend(transfer(intent_id, key, attempts));
        }
        let slots = purchase.slots.iter();
        let further: Vec<_> = slots
            .flat_map(|(key, attempts)| further(intent_id, key, attempts))
            .collect();
        for transfer in further {
            if !purchase.transfers.iter().any(|known| known.slot == transfer.slot) {
                purchase.transfers.push(transfer);
            }
        }
        sort_by(&mut purchase.transfers, |one, other| {
            one.order().cmp(&other.order())
        });
    }
    Ok(found)
}

fn slot_key(attempt: &Attempt, part: usize) -> Result<SlotKey, Error> {
    Ok(SlotKey {
        part,
        network: attempt.network()?,
        asset: attempt.authorization.asset(),
        payer: attempt.authorization.from(),
        nonce: match &attempt.authorization {
            Authorization::Tempo(order) => order.payment.hash.unwrap_or(order.payment.memo),
            signed => signed.nonce(),
        },
    })
}

/// The transfer of a slot: what a recorded read proves, else what the journal or the seller says.
fn transfer<'a>(intent_id: &'a str, slot: &SlotKey, attempts: &[&'a Attempt<'a>]) -> Option<Transfer<'a>> {
    let read = || {
        attempts
            .iter()
            .filter_map(|one| read(intent_id, slot, attempts, one))
    };
    let by_proof = read().find(|transfer| transfer.proven).or_else(|| read().next());
    by_proof.or_else(|| attempts.iter().find_map(|attempt| said(intent_id, slot, attempt)))
}

/// Further transfers that the recorded reads prove beside that of the slot.
fn further<'a>(intent_id: &'a str, slot: &SlotKey, attempts: &[&'a Attempt<'a>]) -> Vec<Transfer<'a>> {
    let mut found = Vec::new();
    for attempt in attempts {
        let Authorization::Tempo(order) = &attempt.authorization else {
            continue;
        };
        let context = Context::new(slot.network.clone(), slot.asset);
        let signed = core::slice::from_ref(&attempt.authorization);
        let verdict = evidence::resolve_signed(signed, &context, attempt.evidence);
        let proven = !verdict.is_provisional();
        for (transaction, position) in verdict.again {
            let transaction_text = hex::encode(transaction);
            let (_, index) = position;
            // In the same transaction as the first it is told from that by its place.
            let nonce = match verdict.transaction.as_deref() == Some(&transaction_text) {
                true => keccak256([transaction.as_slice(), &index.to_be_bytes()].concat()).0,
                false => transaction,
            };
            found.push(Transfer {
                intent_id,
                slot: SlotKey {
                    nonce,
                    ..slot.clone()
                },
                attempt,
                amount: Some(order.payment.primary.amount),
                fee: Amount::ZERO,
                transaction: Some(transaction_text),
                proven,
                position: Some(position),
            });
        }
    }
    found
}

fn read<'a>(
    intent_id: &'a str,
    slot: &SlotKey,
    siblings: &[&'a Attempt<'a>],
    attempt: &'a Attempt<'a>,
) -> Option<Transfer<'a>> {
    if attempt.evidence.is_empty() {
        return None;
    }
    // One authorization that stands in two bundles is one.
    let mut signed: Vec<(Authorization, &Attempt)> = Vec::new();
    for sibling in siblings {
        if !attempt.authorization.competes_with(&sibling.authorization) {
            continue;
        }
        if !signed.iter().any(|(known, _)| *known == sibling.authorization) {
            signed.push((sibling.authorization.clone(), sibling));
        }
    }
    let authorizations: Vec<_> = signed.iter().map(|(one, _)| one.clone()).collect();
    let context = Context::new(slot.network.clone(), slot.asset);
    let verdict = evidence::resolve_signed(&authorizations, &context, attempt.evidence);
    let wrong = match verdict.verdict {
        // With scheme `upto` a settlement may be of nothing.
        VerdictKind::Paid if verdict.money == crate::error::Money::None => return None,
        VerdictKind::Paid => false,
        VerdictKind::PaidWrongTerms if verdict.money == crate::error::Money::Proven => true,
        _ => return None,
    };
    let paid = verdict
        .index
        .and_then(|index| signed.get(index))
        .map(|(_, paid)| *paid);
    let paid = paid.unwrap_or(attempt);
    Some(Transfer {
        intent_id,
        slot: slot.clone(),
        attempt: paid,
        amount: (!wrong).then_some(verdict.amount.unwrap_or(paid.authorization.value())),
        fee: verdict.fee.unwrap_or(paid.authorization.fee()),
        transaction: verdict.transaction,
        proven: !verdict.reasons.iter().any(|reason| reason == "not_final"),
        position: verdict.position,
    })
}

fn said<'a>(intent_id: &'a str, slot: &SlotKey, attempt: &'a Attempt<'a>) -> Option<Transfer<'a>> {
    let lower = |hash: &str| hex::decode_array::<32>(hash).ok().map(hex::encode);
    let response = attempt
        .settlement
        .and_then(|value| settlement_response::parse(value).ok())
        .filter(|response| response.success);
    let settlement = response.as_ref().and_then(|response| response.transaction_hash());
    let signed = attempt.authorization.value();
    let amount = match attempt.authorization.is_upto() {
        true => response.and_then(|response| response.amount).unwrap_or(signed),
        false => signed,
    };
    let observed = attempt
        .observed
        .iter()
        .filter(|seen| matches!(seen.outcome, "settled" | "delivered"))
        .find_map(|seen| lower(seen.transaction?));
    let receipt = attempt.receipt.as_ref().and_then(Receipt::transaction);
    let transaction = attempt.transaction.and_then(lower);
    let transaction = transaction.or(settlement).or(receipt).or(observed);
    let wrong = attempt.state == "wrong_terms";
    // Of these the journal says itself which part moved; the seller's word is about all of them.
    let apart = attempt.state == "partly_paid";
    let paid = attempt.state == "paid" || apart && attempt.verdict() == Some("paid");
    (wrong || paid || transaction.is_some() && !apart).then(|| Transfer {
        intent_id,
        slot: slot.clone(),
        attempt,
        amount: (!wrong).then_some(amount),
        fee: attempt.authorization.fee(),
        transaction,
        proven: false,
        position: None,
    })
}
