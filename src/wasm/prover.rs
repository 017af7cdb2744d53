//! Calls that make Merkle proofs: who only verifies needs none of them.

use super::proof::data;
use super::Input;
use crate::error::{Code, Error};
use crate::evidence;
use crate::hex;
use crate::json::Json;
use crate::sorting::map;
use crate::trie;

/// Answers the call when its name belongs here.
pub(super) fn call(name: &str, input: &Input) -> Option<Result<Json, Error>> {
    Some(match name {
        "rawTrieProof" => proof(&input.json),
        "receiptProofFrom" => receipt_proof_from(&input.json),
        _ => return None,
    })
}

fn texts(nodes: &[Vec<u8>]) -> Json {
    Json::Array(nodes.iter().map(|node| Json::text(hex::encode(node))).collect())
}

/// `{entries: [{key, value}], key}` → `{root, proof}`.
fn proof(json: &Json) -> Result<Json, Error> {
    let entry = |entry: &Json| Ok((entry.read("key", data)?, entry.read("value", data)?));
    let entries = json.read("entries", |entries| entries.as_list(entry))?;
    let entries = map(entries);
    let key = json.read("key", data)?;
    let (root, proof) = trie::build(&entries, &key).map_err(|error| error.within("entries"))?;
    Ok(Json::object([
        ("root", Json::text(hex::encode(root))),
        ("proof", texts(&proof)),
    ]))
}

/// `{receipts, index}` → `{receiptsRoot, index, proof}`.
fn receipt_proof_from(json: &Json) -> Result<Json, Error> {
    let receipts = json.require("receipts")?;
    let index = json.read("index", Json::as_u64)?;
    evidence::receipt_proof_from(receipts, index).map_err(|error| match error.code {
        Code::NumberOutOfRange => error,
        _ => error.within("receipts"),
    })
}
