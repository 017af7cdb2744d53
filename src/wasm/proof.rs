//! Calls about Merkle proofs.

use std::collections::BTreeMap;

use super::Input;
use crate::error::Error;
use crate::hex;
use crate::json::Json;
use crate::trie;

/// Answers the call when its name belongs here.
pub(super) fn call(name: &str, input: &Input) -> Option<Result<Json, Error>> {
    Some(match name {
        "rawTrieVerify" => verify(&input.json),
        "rawTrieProof" => proof(&input.json),
        _ => return None,
    })
}

fn data(json: &Json) -> Result<Vec<u8>, Error> {
    hex::decode(json.as_str()?)
}

fn texts(nodes: &[Vec<u8>]) -> Json {
    Json::Array(nodes.iter().map(|node| Json::text(hex::encode(node))).collect())
}

/// `{root, key, proof}` → `{value}`, null when the proof shows that there is none.
fn verify(json: &Json) -> Result<Json, Error> {
    let root = json.read("root", |root| hex::decode_array(root.as_str()?))?;
    let key = json.read("key", data)?;
    let proof = json.read("proof", |nodes| nodes.as_list(data))?;
    let value = trie::prove(&root, &key, &proof).map_err(|error| error.within("proof"))?;
    let value = value.map_or(Json::Null, |value| Json::text(hex::encode(value)));
    Ok(Json::object([("value", value)]))
}

/// `{entries: [{key, value}], key}` → `{root, proof}`.
fn proof(json: &Json) -> Result<Json, Error> {
    let entry = |entry: &Json| Ok((entry.read("key", data)?, entry.read("value", data)?));
    let entries = json.read("entries", |entries| entries.as_list(entry))?;
    let entries: BTreeMap<_, _> = entries.into_iter().collect();
    let key = json.read("key", data)?;
    let (root, proof) = trie::build(&entries, &key).map_err(|error| error.within("entries"))?;
    Ok(Json::object([
        ("root", Json::text(hex::encode(root))),
        ("proof", texts(&proof)),
    ]))
}
