//! Whether money that is owed back went back: one refund transaction, as raw JSON-RPC answers show it.

use super::logs::{topic, TRANSFER};
use super::rpc::{self, Block, Log, Reason, Receipt, Tag, Word};
use crate::address::Address;
use crate::amount::Amount;
use crate::error::Error;
use crate::hex;
use crate::json::Json;
use crate::network::Network;

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
            transaction: json.read("transaction", |hash| hex::decode_array(hash.as_str()?))?,
        })
    }
}

/// Whether one transaction gives back what is owed: it succeeded in a final block, is another one than the one that is owed
/// back, and holds a Transfer of the token, from somebody else, to the payer, of at least the amount.
///
/// Each source: `{chainId, block: {number, hash, timestamp, tag}, receipt}`; several must agree. The reasons, in this order:
/// `network_unsupported`, `evidence_missing`; what can't be read (`evidence_malformed`, `chain_id_malformed`, `chain_mismatch`,
/// `block_malformed`, `receipt_missing`, `receipt_malformed`, `receipt_mismatch`, `log_removed`); `block_disagrees`,
/// `receipt_disagrees`; `same_transaction`, `receipt_reverted`, `block_hash_differs`, `not_final`; `transfer_missing` (none of the
/// token to the payer), `transfer_own` (only from the payer's own account), `amount_short`.
pub fn refunded(refund: &Refund, trust_safe: bool, evidence: &[Json]) -> Result<Refunded, Reason> {
    let chain_id = refund.network.chain_id().ok_or("network_unsupported")?;
    let sources = evidence
        .iter()
        .map(|one| source(one, chain_id))
        .collect::<Result<Vec<_>, _>>()?;
    let ((block, receipt), others) = sources.split_first().ok_or("evidence_missing")?;
    if others.iter().any(|(other, _)| other != block) {
        return Err("block_disagrees");
    }
    if others.iter().any(|(_, other)| other != receipt) {
        return Err("receipt_disagrees");
    }
    if receipt.transaction == refund.transaction {
        return Err("same_transaction");
    }
    if !receipt.succeeded {
        return Err("receipt_reverted");
    }
    if receipt.block_number == block.number && receipt.block_hash != block.hash {
        return Err("block_hash_differs");
    }
    let last = block.tag == Tag::Finalized || (trust_safe && block.tag == Tag::Safe);
    if !last || receipt.block_number > block.number {
        return Err("not_final");
    }
    Ok(Refunded {
        transaction: receipt.transaction,
        transfers: transfers(refund, receipt)?,
    })
}

fn source(json: &Json, chain_id: u64) -> Result<(Block, Receipt), Reason> {
    json.as_object().map_err(|_| "evidence_malformed")?;
    let told = rpc::member(json, "chainId").and_then(rpc::quantity);
    if told.ok_or("chain_id_malformed")? != chain_id {
        return Err("chain_mismatch");
    }
    let block = json.get("block").and_then(rpc::block).ok_or("block_malformed")?;
    let receipt = json.get("receipt").ok_or("receipt_missing")?;
    Ok((block, rpc::receipt(receipt)?))
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
