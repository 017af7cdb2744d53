//! Receipts in their block: the proof that a receipt stands under a header's receipts root, what it says, the making of
//! such a proof from all receipts of the block, and what all of them say.

use alloy_primitives::{Bloom, BloomInput};

use super::header::Header;
use super::rpc::{quantity, Log, Reason, Word};
use crate::error::{Code, Error};
use crate::hex;
use crate::json::Json;
use crate::rlp;
use crate::sorting::map;
use crate::trie;

/// What a receipt inside a block says.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Proven {
    /// Whether the transaction took effect.
    pub succeeded: bool,
    /// Its events, in their order.
    pub logs: Vec<Event>,
}

/// One event: who emitted it, its topics and its data.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Event {
    pub address: [u8; 20],
    pub topics: Vec<Word>,
    pub data: Vec<u8>,
}

/// A transaction of the OP stack that the chain itself puts into a block.
const DEPOSIT: u8 = 0x7e;

/// The receipt at `index` of the block, out of its proof. Reasons: the codes of [`trie::prove`], `receipt_not_in_block` when the proof
/// shows that there is none, the codes of [`decode`].
pub(super) fn prove(header: &Header, index: u64, proof: &[Vec<u8>]) -> Result<Proven, Reason> {
    let code = |error: Error| error.code.as_str();
    let receipt = trie::prove(&header.receipts_root, &trie::index_key(index), proof).map_err(code)?;
    decode(&receipt.ok_or("receipt_not_in_block")?).map_err(code)
}

/// Every event of the block, in its order, out of all its receipts as `eth_getBlockReceipts` gives them. Reasons: `receipts_malformed`;
/// `receipts_root_mismatch` when they are not those of the block, one missing or more included.
pub(super) fn events(header: &Header, receipts: &Json) -> Result<Vec<Event>, Reason> {
    let read = receipts.as_list(encode).map_err(|_| "receipts_malformed")?;
    let (encoded, events): (Vec<_>, Vec<_>) = read.into_iter().unzip();
    let (root, _) = built(encoded, 0).map_err(|_| "receipts_malformed")?;
    match root == header.receipts_root {
        true => Ok(events.concat()),
        false => Err("receipts_root_mismatch"),
    }
}

/// Reads a receipt as it stands in the trie: a list, or a type byte (EIP-2718) and a list. Errors: `unsupported_receipt_type`;
/// `proof_malformed` also for a receipt of before Byzantium, which names no status.
pub(super) fn decode(bytes: &[u8]) -> Result<Proven, Error> {
    let malformed = || Error::new(Code::ProofMalformed, "");
    let (deposit, list) = match bytes.split_first() {
        Some((0xc0.., _)) => (false, bytes),
        Some((1..=4, list)) => (false, list),
        Some((&DEPOSIT, list)) => (true, list),
        Some(_) => return Err(Error::new(Code::UnsupportedReceiptType, "")),
        None => return Err(malformed()),
    };
    read(list, deposit).ok_or_else(malformed)
}

fn read(list: &[u8], deposit: bool) -> Option<Proven> {
    let items = rlp::items(list)?;
    let [status, gas, bloom, logs, more @ ..] = items.as_slice() else {
        return None;
    };
    // A deposit's receipt ends with its nonce (Regolith) and its version (Canyon).
    let most = if deposit { 2 } else { 0 };
    let numbers = more.iter().all(|item| rlp::number(item).is_some());
    if more.len() > most || !numbers || rlp::number(gas).is_none() || rlp::array::<256>(bloom).is_none() {
        return None;
    }
    Some(Proven {
        succeeded: match rlp::number(status)? {
            0 => false,
            1 => true,
            _ => return None,
        },
        logs: rlp::items(logs)?.into_iter().map(event).collect::<Option<_>>()?,
    })
}

fn event(item: &[u8]) -> Option<Event> {
    let items = rlp::items(item)?;
    let [address, topics, data] = items.as_slice() else {
        return None;
    };
    let topics = rlp::items(topics)?;
    if topics.len() > 4 {
        return None;
    }
    Some(Event {
        address: rlp::array(address)?,
        topics: topics.into_iter().map(rlp::array).collect::<Option<_>>()?,
        data: rlp::string(data)?.to_vec(),
    })
}

/// The proof of one receipt, made from all receipts of its block as `eth_getBlockReceipts` gives them:
/// `{receiptsRoot, index, proof}`.
///
/// Whether these are the block's receipts, the header's root tells. Errors, by receipt: `missing_field`, `invalid_type`,
/// `hex_invalid`, `unsupported_receipt_type`, `proof_malformed` (a number or list out of range); `number_out_of_range` for the index.
pub fn receipt_proof_from(receipts: &Json, index: u64) -> Result<Json, Error> {
    let receipts = receipts.as_list(|receipt| encode(receipt).map(|(bytes, _)| bytes))?;
    if index >= receipts.len() as u64 {
        return Err(Error::new(Code::NumberOutOfRange, "index"));
    }
    let (root, proof) = built(receipts, index)?;
    let proof = proof.into_iter().map(|node| Json::text(hex::encode(node)));
    Ok(Json::object([
        ("receiptsRoot", Json::text(hex::encode(root))),
        ("index", Json::text(format!("0x{index:x}"))),
        ("proof", Json::Array(proof.collect())),
    ]))
}

/// The root of these receipts, and the proof of one of them.
fn built(receipts: Vec<Vec<u8>>, index: u64) -> Result<(Word, Vec<Vec<u8>>), Error> {
    let numbered = (0_u64..).zip(receipts);
    let entries = map(numbered.map(|(at, receipt)| (trie::index_key(at), receipt)));
    trie::build(&entries, &trie::index_key(index))
}

/// A receipt of the JSON-RPC as it stands in the trie, and its events. Its bloom is computed from its logs.
fn encode(json: &Json) -> Result<(Vec<u8>, Vec<Event>), Error> {
    let kind = match json.read_opt("type", number)?.unwrap_or(0) {
        0 => None,
        kind @ 1..=4 => u8::try_from(kind).ok(),
        kind if kind == u64::from(DEPOSIT) => Some(DEPOSIT),
        _ => return Err(Error::new(Code::UnsupportedReceiptType, "type")),
    };
    let events = json.read("logs", |logs| logs.as_list(Event::from_json))?;
    let mut bloom = Bloom::ZERO;
    for log in &events {
        bloom.accrue(BloomInput::Raw(&log.address));
        log.topics
            .iter()
            .for_each(|topic| bloom.accrue(BloomInput::Raw(topic)));
    }
    let logs: Vec<_> = events.iter().map(Event::encode).collect();
    // Before Byzantium the state root stood in the status's place.
    let status = match json.get("status") {
        Some(_) => rlp::encode_number(json.read("status", number)?),
        None => json.read("root", |root| Ok(rlp::encode(&hex::decode(root.as_str()?)?)))?,
    };
    let mut items = vec![
        status,
        rlp::encode_number(json.read("cumulativeGasUsed", number)?),
        rlp::encode(bloom.as_slice()),
        rlp::list(&logs),
    ];
    if kind == Some(DEPOSIT) {
        for name in ["depositNonce", "depositReceiptVersion"] {
            items.extend(json.read_opt(name, number)?.map(rlp::encode_number));
        }
    }
    Ok((kind.into_iter().chain(rlp::list(&items)).collect(), events))
}

fn number(json: &Json) -> Result<u64, Error> {
    quantity(json.as_str()?).ok_or_else(|| Error::new(Code::ProofMalformed, ""))
}

impl Event {
    /// Whether a source's log is this event.
    pub fn is(&self, log: &Log) -> bool {
        (log.address, &log.topics, &log.data) == (self.address, &self.topics, &self.data)
    }

    fn from_json(json: &Json) -> Result<Event, Error> {
        Ok(Event {
            address: json.read("address", Json::as_hex)?,
            topics: json.read("topics", |topics| topics.as_list(Json::as_hex))?,
            data: json.read("data", |data| hex::decode(data.as_str()?))?,
        })
    }

    fn encode(&self) -> Vec<u8> {
        let topics: Vec<_> = self.topics.iter().map(|topic| rlp::encode(topic)).collect();
        rlp::list(&[
            rlp::encode(&self.address),
            rlp::list(&topics),
            rlp::encode(&self.data),
        ])
    }
}
