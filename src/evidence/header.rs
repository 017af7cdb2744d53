//! Block headers: from the members of an `eth_getBlockByNumber` answer or from RLP to the hash that the chain goes by.

use alloy_primitives::keccak256;

use super::rpc::Word;
use crate::error::{Code, Error};
use crate::hex;
use crate::json::Json;
use crate::rlp;

/// What proofs need of a header whose hash was computed here.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Header {
    /// Keccak-256 of the RLP.
    pub hash: Word,
    /// Hash of the header before it.
    pub parent_hash: Word,
    /// Height.
    pub number: u64,
    /// Unix seconds.
    pub timestamp: u64,
    /// Root of all accounts after the block.
    pub state_root: Word,
    /// Root of the block's receipts.
    pub receipts_root: Word,
    /// Root of the block's transactions.
    pub transactions_root: Word,
}

/// How a member stands in the header.
#[derive(Clone, Copy)]
enum Kind {
    Data(usize),
    Bytes,
    Quantity,
}
use Kind::{Bytes, Data, Quantity};

/// In the order of the RLP (Yellow Paper, section 4.4).
const MEMBERS: [(&str, Kind); 15] = [
    ("parentHash", Data(32)),
    ("sha3Uncles", Data(32)),
    ("miner", Data(20)),
    ("stateRoot", Data(32)),
    ("transactionsRoot", Data(32)),
    ("receiptsRoot", Data(32)),
    ("logsBloom", Data(256)),
    ("difficulty", Quantity),
    ("number", Quantity),
    ("gasLimit", Quantity),
    ("gasUsed", Quantity),
    ("timestamp", Quantity),
    ("extraData", Bytes),
    ("mixHash", Data(32)),
    ("nonce", Data(8)),
];
/// What forks added at the end: EIP-1559, 4895, 4844 (two), 4788, 7685. None stands without those before it.
const ADDED: [(&str, Kind); 6] = [
    ("baseFeePerGas", Quantity),
    ("withdrawalsRoot", Data(32)),
    ("blobGasUsed", Quantity),
    ("excessBlobGas", Quantity),
    ("parentBeaconBlockRoot", Data(32)),
    ("requestsHash", Data(32)),
];
/// Longer headers are none: the longest member without a limit, `extraData`, has 32 bytes on Ethereum and some more elsewhere.
const LONGEST: usize = 8 << 10;

impl Header {
    /// Reads the answer's members, or a `0x` text of the RLP, and computes the hash.
    ///
    /// Errors: `missing_field`, `hex_invalid`, `header_invalid`; `header_hash_mismatch` when the answer names another hash than
    /// its members give, as it also does on chains whose headers have members that are not known here.
    pub fn from_json(json: &Json) -> Result<Header, Error> {
        if let Ok(text) = json.as_str() {
            return Header::from_rlp(&hex::decode(text)?);
        }
        let header = Header::from_rlp(&encode(json)?)?;
        let named = json.read("hash", Json::as_hex)?;
        if header.hash != named {
            return Err(Error::new(Code::HeaderHashMismatch, "hash"));
        }
        Ok(header)
    }

    /// Reads the RLP of a header, of at least the fifteen members that every fork has. Error: `header_invalid`.
    pub fn from_rlp(bytes: &[u8]) -> Result<Header, Error> {
        read(bytes).ok_or_else(|| Error::new(Code::HeaderInvalid, ""))
    }
}

fn read(bytes: &[u8]) -> Option<Header> {
    if bytes.len() > LONGEST {
        return None;
    }
    let items = rlp::items(bytes)?;
    let mut known = MEMBERS.iter().zip(&items);
    let formed = known.all(|((_, kind), item)| match kind {
        Data(length) => rlp::string(item).is_some_and(|bytes| bytes.len() == *length),
        Bytes => rlp::string(item).is_some(),
        Quantity => rlp::string(item).is_some_and(|digits| digits.len() <= 32 && digits.first() != Some(&0)),
    });
    if !formed || items.len() < MEMBERS.len() {
        return None;
    }
    let at = |name: &str| {
        let place = MEMBERS.iter().position(|(known, _)| *known == name)?;
        items.get(place).copied()
    };
    Some(Header {
        hash: keccak256(bytes).0,
        parent_hash: rlp::array(at("parentHash")?)?,
        number: rlp::number(at("number")?)?,
        timestamp: rlp::number(at("timestamp")?)?,
        state_root: rlp::array(at("stateRoot")?)?,
        receipts_root: rlp::array(at("receiptsRoot")?)?,
        transactions_root: rlp::array(at("transactionsRoot")?)?,
    })
}

/// The RLP of the members of an `eth_getBlockByNumber` answer.
fn encode(json: &Json) -> Result<Vec<u8>, Error> {
    let member = |(name, kind): &(&str, Kind)| json.read(name, |value| item(value.as_str()?, *kind));
    let mut items = MEMBERS.iter().map(member).collect::<Result<Vec<_>, _>>()?;
    let present = ADDED.iter().take_while(|(name, _)| json.get(name).is_some());
    for added in present.clone() {
        items.push(member(added)?);
    }
    let mut after = ADDED.iter().skip(present.count());
    if let Some((name, _)) = after.find(|(name, _)| json.get(name).is_some()) {
        return Err(Error::new(Code::HeaderInvalid, *name));
    }
    Ok(rlp::list(&items))
}

fn item(text: &str, kind: Kind) -> Result<Vec<u8>, Error> {
    let bytes = match kind {
        Data(length) => Some(hex::decode(text)?).filter(|bytes| bytes.len() == length),
        Bytes => Some(hex::decode(text)?),
        Quantity => big_quantity(text),
    };
    bytes
        .map(|bytes| rlp::encode(&bytes))
        .ok_or_else(|| Error::new(Code::HeaderInvalid, ""))
}

/// A QUANTITY of the Ethereum JSON-RPC of up to 256 bits, as bytes without leading zeros.
pub(super) fn big_quantity(text: &str) -> Option<Vec<u8>> {
    let digits = text.strip_prefix("0x")?;
    if digits == "0" {
        return Some(Vec::new());
    }
    if digits.is_empty() || digits.len() > 64 || digits.starts_with('0') {
        return None;
    }
    let even = if digits.len().is_multiple_of(2) { "" } else { "0" };
    hex::decode(&format!("0x{even}{digits}")).ok()
}
