//! Calls about Merkle proofs that are there.

use super::Input;
use crate::address::Address;
use crate::error::Error;
use crate::evidence::{self, Header};
use crate::hex;
use crate::json::Json;
use crate::trie;

/// Answers the call when its name belongs here.
pub(super) fn call(name: &str, input: &Input) -> Option<Result<Json, Error>> {
    Some(match name {
        "rawTrieVerify" => verify(&input.json),
        "rawBlockHeader" => header(&input.json),
        "proofSlots" => slots(&input.json),
        _ => return None,
    })
}

pub(super) fn data(json: &Json) -> Result<Vec<u8>, Error> {
    hex::decode(json.as_str()?)
}

/// `{root, key, proof}` → `{value}`, null when the proof shows that there is none.
fn verify(json: &Json) -> Result<Json, Error> {
    let root = json.read("root", Json::as_hex)?;
    let key = json.read("key", data)?;
    let proof = json.read("proof", |nodes| nodes.as_list(data))?;
    let value = trie::prove(&root, &key, &proof).map_err(|error| error.within("proof"))?;
    let value = value.map_or(Json::Null, |value| Json::text(hex::encode(value)));
    Ok(Json::object([("value", value)]))
}

/// `{header}` → `{hash, number, timestamp, stateRoot, receiptsRoot, transactionsRoot}`.
fn header(json: &Json) -> Result<Json, Error> {
    let header = json.read("header", Header::from_json)?;
    let word = |word: [u8; 32]| Json::text(hex::encode(word));
    Ok(Json::object([
        ("hash", word(header.hash)),
        ("number", Json::text(format!("0x{:x}", header.number))),
        ("timestamp", Json::text(format!("0x{:x}", header.timestamp))),
        ("stateRoot", word(header.state_root)),
        ("receiptsRoot", word(header.receipts_root)),
        ("transactionsRoot", word(header.transactions_root)),
    ]))
}

/// `{payer, nonce, layouts?, method?}` → `{implementation, state}`, the slots that `eth_getProof` is to be asked for: of the token, or with `method`
/// "permit2" of Permit2, in front of which is no proxy.
fn slots(json: &Json) -> Result<Json, Error> {
    let payer = json.read("payer", Address::from_json)?;
    let nonce = json.read("nonce", Json::as_hex)?;
    let layouts = json.read_opt("layouts", evidence::layouts)?.unwrap_or_default();
    let texts =
        |slots: Vec<[u8; 32]>| Json::Array(slots.iter().map(|slot| Json::text(hex::encode(slot))).collect());
    if json.read_opt("method", Json::as_str)? == Some("permit2") {
        return Ok(Json::object([
            ("implementation", texts(Vec::new())),
            ("state", texts(vec![evidence::bitmap_slot(&payer, &nonce)])),
        ]));
    }
    Ok(Json::object([
        ("implementation", texts(evidence::implementation_slots(&layouts))),
        ("state", texts(evidence::state_slots(&layouts, &payer, &nonce))),
    ]))
}
