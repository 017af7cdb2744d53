//! What the token logged of a payer over a range of blocks, whoever signed it and whatever journal knew of it.
//!
//! EIP-3009 logs the nonce. Permit2 does not, and the contracts that settle by it log no payer: what there is is the token's Transfer, the call
//! that made it, in which the permit stands, and the payer's bitmap, in which its nonce is set. A Transfer that none of these explains was made by
//! somebody else's transaction all the same: it counts, and which nonce it was for is not known.

mod memos;
mod permits;

use super::logs::{self, topic, transfer_after, AUTHORIZATION_CANCELED, AUTHORIZATION_USED};
use super::rpc::{self, Block, Log, Reason, Receipt, Tag, Word};
use crate::address::Address;
use crate::amount::Amount;
use crate::digest;
use crate::hex;
use crate::json::Json;
use crate::network::Network;
use crate::tempo::Payment;
use crate::time::Seconds;

pub use permits::permit_nonces;

/// What is known of how it came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum How {
    /// By EIP-3009.
    Used,
    /// Burnt by its payer; nothing moved.
    Cancelled,
    /// By Permit2.
    Permitted,
    /// In another's transaction, by an allowance or by Permit2; the nonce is not known.
    Unknown,
}

/// Domain tag of the name of a transfer whose nonce is not known.
const TRANSFER_TAG: &str = "counterfoil/recovered-transfer/v1";

/// One nonce that was used or cancelled, or one transfer whose nonce is not known.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Closed {
    /// The nonce; of a transfer whose nonce is not known, the digest of where it stands.
    pub nonce: [u8; 32],
    /// How it came.
    pub how: How,
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

/// Reads one stretch. Each source: `{chainId, block: {number, hash, timestamp, tag}, logs, logsRange: {from, to}, receipts, blocks, transactions?,
/// bitmaps?}`: every log of the token about a nonce of the payer, every Transfer and on Tempo every `TransferWithMemo` from the payer in that range, the receipt of each,
/// `{number, hash, timestamp}` of each log's block, of each Transfer `{hash, from, input}` of its transaction, and of each nonce of
/// [`permit_nonces`] `{nonce, nonceBitmap}` at the block. Several sources must agree. Reasons: `network_unsupported`, `evidence_missing`, those of what can't be read, `not_final` (the range ends after the
/// block, or that one is not finalized), `logs_missing`, `log_foreign` (about something else), `log_outside_range`, `logs_conflict` (a nonce twice),
/// `receipt_missing`, `receipt_reverted`, `block_missing`, `transaction_missing`, `history_disagrees`.
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
    let (mut closed, mut moved): (Vec<Closed>, Vec<&Log>) = (Vec::new(), Vec::new());
    // Which Transfer a used authorization made, by transaction and index.
    let mut explained = Vec::new();
    let mut by_memo = Vec::new();
    for log in &logs {
        block.places(Some((from, to)), log)?;
        if logs::transfer_from(log, asset, payer)?.is_some() {
            moved.push(log);
            continue;
        }
        let at = time_of(blocks, log).ok_or("block_missing")?;
        if let Some((to, memo)) = memos::memo(log, payer, asset) {
            if Payment::is_marked(&memo) {
                memos::add(&mut closed, (log, to, memo), &receipts, at, (payer, asset))?;
                by_memo.push(log.transaction);
            }
            continue;
        }
        let (one, transfer) = closed_by(log, &receipts, at, payer, asset)?;
        if closed.iter().any(|known| known.nonce == one.nonce) {
            return Err("logs_conflict");
        }
        explained.extend(transfer.map(|index| (one.transaction, index)));
        closed.push(one);
    }
    moved.retain(|log| {
        !by_memo.contains(&log.transaction) && !explained.contains(&(log.transaction, log.index))
    });
    let permits = permits::Permits::read(json, payer, asset, &moved)?;
    for log in moved {
        let at = time_of(blocks, log).ok_or("block_missing")?;
        receipt_of(log, &receipts)?;
        closed.extend(permits.closed(log, at, &closed)?);
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
) -> Result<(Closed, Option<u64>), Reason> {
    let (kind, nonce) = match log.topics.as_slice() {
        [kind, from, nonce] if log.address == asset.0 && *from == topic(payer) && log.data.is_empty() => {
            (*kind, *nonce)
        }
        _ => return Err("log_foreign"),
    };
    let how = match kind {
        AUTHORIZATION_USED => How::Used,
        AUTHORIZATION_CANCELED => How::Cancelled,
        _ => return Err("log_foreign"),
    };
    let receipt = receipt_of(log, receipts)?;
    let moved = match how {
        How::Used => transfer_after(log, receipt, asset, payer)?,
        _ => None,
    };
    let closed = Closed {
        nonce,
        how,
        to: moved.and_then(|moved| recipient(&moved.to)),
        amount: moved.map_or(Amount::ZERO, |moved| Amount::from_be_bytes(moved.value)),
        transaction: log.transaction,
        block_number: log.block_number,
        at,
    };
    Ok((closed, moved.map(|moved| moved.index)))
}

fn receipt_of<'a>(log: &Log, receipts: &'a [Receipt]) -> Result<&'a Receipt, Reason> {
    let receipt = receipts.iter().find(|receipt| receipt.logs.contains(log));
    let receipt = receipt.ok_or("receipt_missing")?;
    match receipt.succeeded {
        true => Ok(receipt),
        false => Err("receipt_reverted"),
    }
}

/// What stands for the nonce of a transfer whose nonce is not known.
fn name_of(log: &Log) -> Result<[u8; 32], Reason> {
    let place = Json::object([
        ("logIndex", Json::number(log.index)),
        ("transaction", Json::text(hex::encode(log.transaction))),
    ]);
    digest::tagged(TRANSFER_TAG, &place).map_err(|_| "logs_malformed")
}

/// The address in an indexed argument.
fn recipient(word: &Word) -> Option<Address> {
    word.get(12..)?.try_into().ok().map(Address)
}
