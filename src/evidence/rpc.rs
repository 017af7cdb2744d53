//! JSON-RPC results, read strictly. What can't be read whole is named by one short token and not guessed at.

use crate::hex;
use crate::json::Json;

/// Why an answer can't be used.
pub(super) type Reason = &'static str;

/// A 32-byte word.
pub(super) type Word = [u8; 32];

/// The tag a block was asked by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Tag {
    Latest,
    Safe,
    Finalized,
}

/// The block at which the state was read.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Block {
    pub number: u64,
    pub hash: Word,
    pub timestamp: u64,
    pub tag: Tag,
}

/// One event.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Log {
    pub address: [u8; 20],
    pub topics: Vec<Word>,
    pub data: Vec<u8>,
    pub block_number: u64,
    pub block_hash: Word,
    pub transaction: Word,
    pub index: u64,
}

/// The receipt of one transaction.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Receipt {
    pub transaction: Word,
    pub block_number: u64,
    pub block_hash: Word,
    pub succeeded: bool,
    pub logs: Vec<Log>,
}

/// Everything one source answered.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Source {
    /// Of which nonce this is, where it says so.
    pub nonce: Option<Word>,
    pub block: Block,
    pub used: bool,
    /// `None` when the logs were not to be had.
    pub logs: Option<Vec<Log>>,
    pub range: Option<(u64, u64)>,
    pub receipt: Option<Receipt>,
}

impl Block {
    /// Whether a log can have been read at this block: not one of a later block, of this very block if of its number, and within the
    /// range that was asked for.
    pub fn places(&self, range: Option<(u64, u64)>, log: &Log) -> Result<(), Reason> {
        if log.block_number > self.number {
            return Err("log_after_block");
        }
        if log.block_number == self.number && log.block_hash != self.hash {
            return Err("block_hash_differs");
        }
        match range.is_some_and(|(from, to)| !(from..=to).contains(&log.block_number)) {
            true => Err("log_outside_range"),
            false => Ok(()),
        }
    }
}

impl Source {
    /// Reads one source's answers about the chain `chain_id`.
    pub fn read(json: &Json, chain_id: u64) -> Result<Source, Reason> {
        let block = head(json, chain_id)?;
        let nonce = nonce(json)?;
        let used = match json.get("authorizationState") {
            None => return Err("state_missing"),
            Some(state) => state.as_str().ok().and_then(flag).ok_or("state_malformed")?,
        };
        let (logs, range, receipt) = told(json)?;
        Ok(Source {
            nonce,
            block,
            used,
            logs,
            range,
            receipt,
        })
    }

    /// Whether another source says the same in every point. Sources that differ are never counted against each other.
    pub fn agrees(&self, other: &Source) -> Result<(), Reason> {
        if self.block != other.block {
            Err("block_disagrees")
        } else if self.used != other.used {
            Err("state_disagrees")
        } else if (&self.logs, self.range) != (&other.logs, other.range) {
            Err("logs_disagree")
        } else if self.receipt != other.receipt {
            Err("receipt_disagrees")
        } else {
            Ok(())
        }
    }
}

/// The block that the chain `chain_id` was read at.
pub(super) fn head(json: &Json, chain_id: u64) -> Result<Block, Reason> {
    json.as_object().map_err(|_| "evidence_malformed")?;
    if member(json, "chainId")
        .and_then(quantity)
        .ok_or("chain_id_malformed")?
        != chain_id
    {
        return Err("chain_mismatch");
    }
    json.get("block").and_then(block).ok_or("block_malformed")
}

/// Of which nonce a source says that it speaks.
pub(super) fn nonce(json: &Json) -> Result<Option<Word>, Reason> {
    match json.get("nonce") {
        None => Ok(None),
        Some(nonce) => nonce
            .as_str()
            .ok()
            .and_then(bytes)
            .map(Some)
            .ok_or("nonce_malformed"),
    }
}

/// The logs, the blocks that were searched for them, and one receipt.
type Told = (Option<Vec<Log>>, Option<(u64, u64)>, Option<Receipt>);

/// What the source tells of events; each `None` where it was not to be had.
pub(super) fn told(json: &Json) -> Result<Told, Reason> {
    let logs = match json.get("logs") {
        None => None,
        Some(list) => Some(logs(list).ok_or("logs_malformed")??),
    };
    let range = match json.get("logsRange") {
        None => None,
        Some(range) => Some(ends(range).ok_or("logs_range_malformed")?),
    };
    Ok((logs, range, json.get("receipt").map(receipt).transpose()?))
}

pub(super) fn member<'a>(json: &'a Json, name: &str) -> Option<&'a str> {
    json.get(name)?.as_str().ok()
}

/// A QUANTITY of the Ethereum JSON-RPC: `0x`, no leading zeros, at least one digit.
pub(super) fn quantity(text: &str) -> Option<u64> {
    let digits = text.strip_prefix("0x")?;
    let hexadecimal = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    if !hexadecimal || (digits.starts_with('0') && digits != "0") {
        return None;
    }
    u64::from_str_radix(digits, 16).ok()
}

fn bytes<const N: usize>(text: &str) -> Option<[u8; N]> {
    hex::decode_array(text).ok()
}

/// The word of a Solidity `bool`: exactly 0 or 1.
fn flag(text: &str) -> Option<bool> {
    match bytes::<32>(text)? {
        [rest @ .., last @ (0 | 1)] if rest.iter().all(|byte| *byte == 0) => Some(last == 1),
        _ => None,
    }
}

pub(super) fn block(json: &Json) -> Option<Block> {
    Some(Block {
        number: quantity(member(json, "number")?)?,
        hash: bytes(member(json, "hash")?)?,
        timestamp: quantity(member(json, "timestamp")?)?,
        tag: match member(json, "tag")? {
            "latest" => Tag::Latest,
            "safe" => Tag::Safe,
            "finalized" => Tag::Finalized,
            _ => return None,
        },
    })
}

fn ends(json: &Json) -> Option<(u64, u64)> {
    let (from, to) = (quantity(member(json, "from")?)?, quantity(member(json, "to")?)?);
    (from <= to).then_some((from, to))
}

/// `None` when malformed; a removed log is a reorganised chain, which has its own name.
fn logs(json: &Json) -> Option<Result<Vec<Log>, Reason>> {
    let mut read = Vec::new();
    for item in json.as_array().ok()? {
        if let Some(removed) = item.get("removed") {
            if removed.as_bool().ok()? {
                return Some(Err("log_removed"));
            }
        }
        read.push(log(item)?);
    }
    Some(Ok(read))
}

fn log(json: &Json) -> Option<Log> {
    let topics = json.get("topics")?.as_array().ok()?;
    if topics.len() > 4 {
        return None;
    }
    Some(Log {
        address: bytes(member(json, "address")?)?,
        topics: topics
            .iter()
            .map(|topic| bytes(topic.as_str().ok()?))
            .collect::<Option<_>>()?,
        data: hex::decode(member(json, "data")?).ok()?,
        block_number: quantity(member(json, "blockNumber")?)?,
        block_hash: bytes(member(json, "blockHash")?)?,
        transaction: bytes(member(json, "transactionHash")?)?,
        index: quantity(member(json, "logIndex")?)?,
    })
}

pub(super) fn receipt(json: &Json) -> Result<Receipt, Reason> {
    let logs = json.get("logs").and_then(logs).ok_or("receipt_malformed")??;
    let receipt = header(json, logs).ok_or("receipt_malformed")?;
    let own = |log: &Log| {
        (log.transaction, log.block_hash, log.block_number)
            == (receipt.transaction, receipt.block_hash, receipt.block_number)
    };
    if !receipt.logs.iter().all(own) {
        return Err("receipt_mismatch");
    }
    // Events stand in the order in which they happened; the search for the Transfer relies on it.
    if !receipt
        .logs
        .iter()
        .map(|log| log.index)
        .is_sorted_by(|before, after| before < after)
    {
        return Err("receipt_malformed");
    }
    Ok(receipt)
}

fn header(json: &Json, logs: Vec<Log>) -> Option<Receipt> {
    Some(Receipt {
        transaction: bytes(member(json, "transactionHash")?)?,
        block_number: quantity(member(json, "blockNumber")?)?,
        block_hash: bytes(member(json, "blockHash")?)?,
        succeeded: match member(json, "status")? {
            "0x1" => true,
            "0x0" => false,
            _ => return None,
        },
        logs,
    })
}
