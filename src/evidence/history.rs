//! What the token logged of a payer's nonces over a range of blocks, whoever signed them and whatever journal knew of it.

use super::logs::{topic, transfer_after, AUTHORIZATION_CANCELED, AUTHORIZATION_USED};
use super::rpc::{self, Block, Log, Reason, Receipt, Tag, Word};
use crate::address::Address;
use crate::amount::Amount;
use crate::json::Json;
use crate::network::Network;
use crate::time::Seconds;

/// One nonce that was used or cancelled.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Closed {
    /// The nonce.
    pub nonce: [u8; 32],
    /// Burnt by its payer; nothing moved.
    pub cancelled: bool,
    /// Who was paid; absent where nothing moved.
    pub to: Option<Address>,
    /// What moved.
    pub amount: Amount,
    /// In which transaction.
    pub transaction: [u8; 32],
    /// In which block.
    pub block_number: u64,
    /// That block's time.
    pub at: Seconds,
}

/// A stretch of blocks, both ends in it, and what happened there.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct History {
    /// The first block.
    pub from: u64,
    /// The last block.
    pub to: u64,
    /// In the order of the logs.
    pub closed: Vec<Closed>,
}

/// Reads one stretch. Each source: `{chainId, block: {number, hash, timestamp, tag}, logs, logsRange: {from, to}, receipts, blocks}`: every log
/// of the token about a nonce of the payer in that range, the receipt of each, and `{number, hash, timestamp}` of each log's block. Several
/// sources must agree. Reasons: `network_unsupported`, `evidence_missing`, those of what can't be read, `not_final` (the range ends after the
/// block, or that one is not finalized), `logs_missing`, `log_foreign` (about something else), `log_outside_range`, `logs_conflict` (a nonce twice),
/// `receipt_missing`, `receipt_reverted`, `block_missing`, `history_disagrees`.
pub fn history(
    payer: &Address,
    network: &Network,
    asset: &Address,
    evidence: &[Json],
) -> Result<History, Reason> {
    let chain_id = network.chain_id().ok_or("network_unsupported")?;
    let read = |one| source(one, chain_id, payer, asset);
    let mut sources = evidence.iter().map(read);
    let first = sources.next().ok_or("evidence_missing")??;
    for other in sources {
        if other? != first {
            return Err("history_disagrees");
        }
    }
    Ok(first)
}

fn source(json: &Json, chain_id: u64, payer: &Address, asset: &Address) -> Result<History, Reason> {
    let block = rpc::head(json, chain_id)?;
    let (logs, range, _) = rpc::told(json)?;
    let (logs, (from, to)) = logs.zip(range).ok_or("logs_missing")?;
    if block.tag != Tag::Finalized || to > block.number {
        return Err("not_final");
    }
    let list = |name: &str| json.get(name).and_then(|list| list.as_array().ok());
    let receipts = list("receipts").ok_or("receipt_missing")?;
    let receipts = receipts.iter().map(rpc::receipt).collect::<Result<Vec<_>, _>>()?;
    let blocks = list("blocks").ok_or("block_missing")?;
    let mut closed: Vec<Closed> = Vec::new();
    for log in &logs {
        block.places(Some((from, to)), log)?;
        let at = time_of(blocks, log).ok_or("block_missing")?;
        let one = closed_by(log, &receipts, at, payer, asset)?;
        if closed.iter().any(|known| known.nonce == one.nonce) {
            return Err("logs_conflict");
        }
        closed.push(one);
    }
    Ok(History { from, to, closed })
}

fn time_of(blocks: &[Json], log: &Log) -> Option<Seconds> {
    blocks
        .iter()
        .filter_map(|json| rpc::block(&json.clone().with("tag", Json::text("finalized"))))
        .find(|block: &Block| (block.number, block.hash) == (log.block_number, log.block_hash))
        .map(|block| block.timestamp)
}

fn closed_by(
    log: &Log,
    receipts: &[Receipt],
    at: Seconds,
    payer: &Address,
    asset: &Address,
) -> Result<Closed, Reason> {
    let (kind, nonce) = match log.topics.as_slice() {
        [kind, from, nonce] if log.address == asset.0 && *from == topic(payer) && log.data.is_empty() => {
            (*kind, *nonce)
        }
        _ => return Err("log_foreign"),
    };
    let cancelled = match kind {
        AUTHORIZATION_USED => false,
        AUTHORIZATION_CANCELED => true,
        _ => return Err("log_foreign"),
    };
    let receipt = receipts.iter().find(|receipt| receipt.logs.contains(log));
    let receipt = receipt.ok_or("receipt_missing")?;
    if !receipt.succeeded {
        return Err("receipt_reverted");
    }
    let moved = match cancelled {
        true => None,
        false => transfer_after(log, receipt, asset, payer)?,
    };
    Ok(Closed {
        nonce,
        cancelled,
        to: moved.and_then(|moved| recipient(&moved.to)),
        amount: moved.map_or(Amount::ZERO, |moved| Amount::from_be_bytes(moved.value)),
        transaction: log.transaction,
        block_number: log.block_number,
        at,
    })
}

/// The address in an indexed argument.
fn recipient(word: &Word) -> Option<Address> {
    word.get(12..)?.try_into().ok().map(Address)
}
