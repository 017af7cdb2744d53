//! Whether money that is owed back went back: one refund transaction, as raw JSON-RPC answers show it.

use super::logs::{topic, TRANSFER};
use super::proof;
use super::rpc::{self, Block, Log, Reason, Receipt, Word};
use super::{finality, Context};
use crate::address::Address;
use crate::amount::Amount;
use crate::error::Error;
use crate::json::Json;
use crate::network::Network;
use crate::time::Seconds;

/// A transfer that is owed back.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Refund {
    /// To whom.
    pub payer: Address,
    /// The chain.
    pub network: Network,
    /// The token.
    pub asset: Address,
    /// Atomic units.
    pub amount: Amount,
    /// The transaction that is owed back.
    pub transaction: [u8; 32],
}

/// A transaction that gives it back.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Refunded {
    /// Its hash.
    pub transaction: [u8; 32],
    /// The number of its block.
    pub block: u64,
    /// The time of the final block by which it was read.
    pub seen: Seconds,
    /// Indexes in the block of the transfers that are enough each, in order. One of them closes one record.
    pub transfers: Vec<u64>,
}

impl Refund {
    /// Reads `{payer, network, asset, amount, transaction}`. Errors: those of the fields with their path.
    pub fn from_json(json: &Json) -> Result<Refund, Error> {
        Ok(Refund {
            payer: json.read("payer", Address::from_json)?,
            network: json.read("network", Network::from_json)?,
            asset: json.read("asset", Address::from_json)?,
            amount: json.read("amount", Amount::from_json)?,
            transaction: json.read("transaction", Json::as_hex)?,
        })
    }
}

/// Whether one transaction gives back what is owed: it succeeded in a final block, is another one than the one that is owed
/// back, comes after it, and holds a Transfer of the token, from somebody else, to the payer, of at least the amount.
///
/// Each source: `{chainId, block: {number, hash, timestamp, tag}, receipt, charge}`, where `charge` is the receipt of the transaction that
/// is owed back; several must agree. The reasons, in this order: `network_unsupported`, `evidence_missing`; what can't be
/// read (`evidence_malformed`, `chain_id_malformed`, `chain_mismatch`, `block_malformed`, `receipt_missing`, `charge_missing`,
/// `receipt_malformed`, `receipt_mismatch`, `log_removed`); `block_disagrees`, `receipt_disagrees`; `same_transaction`, `charge_mismatch`
/// (the receipt of another transaction than the one owed back), `receipt_reverted`, `block_hash_differs`, `not_final`; `transfer_missing`
/// (none of the token to the payer), `transfer_own` (only from the payer's own account), `amount_short`; `charge_not_found` (the payer
/// moved none of the token there, so that nothing is owed back), `transfer_earlier` (what came before it can't give it back).
///
/// A source may prove both receipts: `receiptProof`, `chargeProof`. A proof that does not hold is refused for what is wrong with it. With trusted blocks both have to be
/// proven under one of them: else, after `block_hash_differs`, `not_proved` or `included_in_given_header`. A trusted block is final.
/// Of the context network and token are the refund's.
pub fn refunded(refund: &Refund, context: &Context, evidence: &[Json]) -> Result<Refunded, Reason> {
    let chain_id = refund.network.chain_id().ok_or("network_unsupported")?;
    let sources = evidence
        .iter()
        .map(|one| source(one, chain_id))
        .collect::<Result<Vec<_>, _>>()?;
    let (source, others) = sources.split_first().ok_or("evidence_missing")?;
    let Source {
        block,
        receipt,
        charge,
    } = source;
    if others.iter().any(|other| other.block != *block) {
        return Err("block_disagrees");
    }
    if others.iter().any(|other| other != source) {
        return Err("receipt_disagrees");
    }
    if receipt.transaction == refund.transaction {
        return Err("same_transaction");
    }
    if charge.transaction != refund.transaction {
        return Err("charge_mismatch");
    }
    if !receipt.succeeded {
        return Err("receipt_reverted");
    }
    let hashes = [
        (block.number, block.hash),
        (receipt.block_number, receipt.block_hash),
        (charge.block_number, charge.block_hash),
    ];
    let differs = |one: &(u64, Word)| hashes.iter().any(|other| other.0 == one.0 && other.1 != one.1);
    if hashes.iter().any(differs) {
        return Err("block_hash_differs");
    }
    let proven = proven(evidence, &sources)?;
    for block in proven.iter().filter(|_| context.trusted_blocks.is_some()) {
        match block {
            None => return Err("not_proved"),
            Some(_) if !context.trusts(*block) => return Err("included_in_given_header"),
            Some(_) => {}
        }
    }
    let [proof, _] = proven;
    let last = finality(block.tag, context, proof).is_some();
    if !last || !context.trusts(proof) && receipt.block_number > block.number {
        return Err("not_final");
    }
    let transfers = transfers(refund, receipt)?;
    let charged = charged(refund, charge).ok_or("charge_not_found")?;
    let later = |index: &u64| (receipt.block_number, *index) > (charge.block_number, charged);
    if !transfers.iter().all(later) {
        return Err("transfer_earlier");
    }
    Ok(Refunded {
        transaction: receipt.transaction,
        block: receipt.block_number,
        seen: block.timestamp,
        transfers,
    })
}

/// The blocks in which the refund and the charge are proven to stand, by whichever source.
fn proven(evidence: &[Json], sources: &[Source]) -> Result<[Option<Word>; 2], Reason> {
    let mut proven = [None; 2];
    for (json, source) in evidence.iter().zip(sources) {
        let receipts = [("receiptProof", &source.receipt), ("chargeProof", &source.charge)];
        for (known, (name, receipt)) in proven.iter_mut().zip(receipts) {
            if let Some(proof) = json.get(name) {
                *known = Some(proof::receipt_block(proof, receipt)?);
            }
        }
    }
    Ok(proven)
}

/// Where in its block the charge moved the payer's tokens.
fn charged(refund: &Refund, charge: &Receipt) -> Option<u64> {
    let moved = |log: &&Log| {
        log.address == refund.asset.0
            && matches!(log.topics.as_slice(), [TRANSFER, from, _] if *from == topic(&refund.payer))
    };
    let log = charge.logs.iter().find(moved)?;
    charge.succeeded.then_some(log.index)
}

/// What one source says.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Source {
    block: Block,
    receipt: Receipt,
    charge: Receipt,
}

fn source(json: &Json, chain_id: u64) -> Result<Source, Reason> {
    json.as_object().map_err(|_| "evidence_malformed")?;
    let told = rpc::member(json, "chainId").and_then(rpc::quantity);
    if told.ok_or("chain_id_malformed")? != chain_id {
        return Err("chain_mismatch");
    }
    let block = json.get("block").and_then(rpc::block).ok_or("block_malformed")?;
    let receipt = json.get("receipt").ok_or("receipt_missing")?;
    let charge = json.get("charge").ok_or("charge_missing")?;
    Ok(Source {
        block,
        receipt: rpc::receipt(receipt)?,
        charge: rpc::receipt(charge)?,
    })
}

fn transfers(refund: &Refund, receipt: &Receipt) -> Result<Vec<u64>, Reason> {
    let payer = topic(&refund.payer);
    let back = |log: &Log| -> Option<(Word, Word, u64)> {
        let [TRANSFER, from, to] = log.topics.as_slice() else {
            return None;
        };
        let value = log.data.as_slice().try_into().ok()?;
        (log.address == refund.asset.0 && *to == payer).then_some((*from, value, log.index))
    };
    let to_payer: Vec<_> = receipt.logs.iter().filter_map(back).collect();
    let foreign: Vec<_> = to_payer.iter().filter(|(from, ..)| *from != payer).collect();
    // Words of one length compare like the numbers they are.
    let enough: Vec<u64> = foreign
        .iter()
        .filter(|(_, value, _)| *value >= refund.amount.to_be_bytes())
        .map(|(.., index)| *index)
        .collect();
    match (to_payer.is_empty(), foreign.is_empty(), enough.is_empty()) {
        (true, ..) => Err("transfer_missing"),
        (_, true, _) => Err("transfer_own"),
        (.., true) => Err("amount_short"),
        _ => Ok(enough),
    }
}
