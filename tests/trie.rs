//! Merkle-Patricia proofs against independent data, and against proofs made to deceive, through the dispatch that JavaScript uses.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use alloy_primitives::{keccak256, Bytes, B256};
use alloy_trie::Nibbles;
use counterfoil::json::{self, Json};
use counterfoil::{hex, trie, wasm};

fn corpus(name: &str) -> Json {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/corpora/mpt")
        .join(name);
    json::parse(&fs::read_to_string(path).unwrap()).unwrap()
}

fn list<'a>(json: &'a Json, name: &str) -> &'a [Json] {
    json.get(name).unwrap().as_array().unwrap()
}

fn text<'a>(json: &'a Json, name: &str) -> &'a str {
    json.get(name).unwrap().as_str().unwrap()
}

/// The value proven, or the code of the refusal.
fn verify(root: &str, key: &str, proof: &[Json]) -> Result<Json, &'static str> {
    let input = Json::object([
        ("root", Json::text(root)),
        ("key", Json::text(key)),
        ("proof", Json::Array(proof.to_vec())),
    ]);
    wasm::call("rawTrieVerify", &input.to_text(), None, None)
        .map(|answer| answer.as_object().unwrap()[0].1.clone())
        .map_err(|error| error.code.as_str())
}

#[test]
fn receipt_proofs_of_the_corpus() {
    let corpus = corpus("receipt-proofs.json");
    let mut seen = (0, 0);
    for set in list(&corpus, "sets") {
        let root = text(set, "receiptsRoot");
        for proof in list(set, "proofs") {
            let (key, nodes) = (text(proof, "key"), list(proof, "proof"));
            let index = proof.get("index").unwrap().as_u64().unwrap();
            assert_eq!(hex::encode(trie::index_key(index)), key);
            assert_eq!(
                verify(root, key, nodes),
                Ok(proof.get("receiptRlp").unwrap().clone()),
                "{} {key}",
                text(set, "name")
            );
            seen.0 += 1;
        }
        let absent = set.get("absent").unwrap();
        assert_eq!(
            verify(root, text(absent, "key"), list(absent, "proof")),
            Ok(Json::Null)
        );
        seen.1 += 1;
    }
    assert_eq!(seen, (32, 8));
}

#[test]
fn proofs_that_the_corpus_says_to_reject() {
    let expected = [
        ("leaf byte changed", "proof_node_mismatch"),
        ("root of another block", "proof_root_mismatch"),
        ("key of another index", "proof_node_mismatch"),
        ("empty proof", "proof_root_mismatch"),
        ("last node missing", "proof_incomplete"),
        ("extra trailing node", "proof_too_long"),
        ("nodes out of order", "proof_root_mismatch"),
        (
            "root node is the empty-trie hash preimage 0x80",
            "proof_root_mismatch",
        ),
    ];
    let corpus = corpus("receipt-proofs.json");
    let rejected: Vec<_> = list(&corpus, "mustReject")
        .iter()
        .map(|case| {
            let refused = verify(text(case, "receiptsRoot"), text(case, "key"), list(case, "proof"));
            (text(case, "why"), refused.unwrap_err())
        })
        .collect();
    assert_eq!(rejected, expected);
}

#[test]
fn a_block_of_mainnet() {
    let block = corpus("mainnet-46147.json");
    let leaf = hex::decode(text(&block, "receiptRlp")).unwrap();
    let entries = BTreeMap::from([(trie::index_key(0), leaf)]);
    let (root, proof) = trie::build(&entries, &trie::index_key(0)).unwrap();
    let receipts_root = text(block.get("header").unwrap(), "receiptsRoot");
    assert_eq!(hex::encode(root), receipts_root);
    let nodes: Vec<Json> = proof.iter().map(|node| Json::text(hex::encode(node))).collect();
    assert_eq!(
        verify(receipts_root, "0x80", &nodes),
        Ok(block.get("receiptRlp").unwrap().clone())
    );
}

fn bytes(text: &str) -> Vec<u8> {
    hex::decode(text).unwrap_or_else(|_| text.as_bytes().to_vec())
}

/// What is left after the inserts and deletions of a case.
fn entries(case: &Json, hashed: bool) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let pairs: Vec<(&str, &Json)> = match case.get("in").unwrap() {
        Json::Object(members) => members.iter().map(|(key, value)| (key.as_str(), value)).collect(),
        pairs => pairs
            .as_array()
            .unwrap()
            .iter()
            .map(|pair| {
                (
                    pair.as_array().unwrap()[0].as_str().unwrap(),
                    &pair.as_array().unwrap()[1],
                )
            })
            .collect(),
    };
    let mut entries = BTreeMap::new();
    for (key, value) in pairs {
        let key = match hashed {
            true => keccak256(bytes(key)).to_vec(),
            false => bytes(key),
        };
        match value {
            Json::Null => drop(entries.remove(&key)),
            value => drop(entries.insert(key, bytes(value.as_str().unwrap()))),
        }
    }
    entries
}

#[test]
fn roots_of_the_trie_tests() {
    let (mut built, mut refused) = (0, Vec::new());
    for (file, hashed) in [
        ("trietest.json", false),
        ("trieanyorder.json", false),
        ("hex_encoded_securetrie_test.json", true),
    ] {
        for (name, case) in corpus(file).as_object().unwrap() {
            let entries = entries(case, hashed);
            let absent = vec![0x7b; 32];
            let Ok((root, proof)) = trie::build(&entries, &absent) else {
                refused.push(name.clone());
                continue;
            };
            assert_eq!(hex::encode(root), text(case, "root"), "{file} {name}");
            assert_eq!(trie::prove(&root, &absent, &proof), Ok(None), "{file} {name}");
            for (key, value) in &entries {
                let (_, proof) = trie::build(&entries, key).unwrap();
                assert_eq!(trie::prove(&root, key, &proof), Ok(Some(value.clone())));
            }
            built += 1;
        }
    }
    assert_eq!(built, 7);
    // Here one key is the start of another, which no trie of a block has.
    assert_eq!(
        refused,
        ["emptyValues", "dogs", "puppy", "foo", "smallValues", "testy"]
    );
}

/// Every proof of tries of every size, against the verifier of alloy-trie: what is shown, and that any changed byte is refused.
#[test]
fn every_proof_and_every_changed_byte() {
    for size in [1_u64, 2, 3, 16, 17, 127, 128, 129, 300] {
        let value = |index: u64| [vec![2], index.to_be_bytes().repeat(5 + index as usize % 5)].concat();
        let entries: BTreeMap<_, _> = (0..size)
            .map(|index| (trie::index_key(index), value(index)))
            .collect();
        for index in [0, 1, size - 1, size, size + 5] {
            let key = trie::index_key(index);
            let (root, proof) = trie::build(&entries, &key).unwrap();
            let expected = (index < size).then(|| value(index));
            assert_eq!(
                trie::prove(&root, &key, &proof),
                Ok(expected.clone()),
                "{size} {index}"
            );
            let nodes: Vec<Bytes> = proof.iter().map(|node| Bytes::from(node.clone())).collect();
            let unpacked = Nibbles::unpack(&key);
            alloy_trie::proof::verify_proof(B256::from(root), unpacked, expected, &nodes).unwrap();
            for (node, at) in
                (0..proof.len()).flat_map(|node| (0..proof[node].len()).map(move |at| (node, at)))
            {
                let mut changed = proof.clone();
                changed[node][at] ^= 1;
                assert!(
                    trie::prove(&root, &key, &changed).is_err(),
                    "{size} {index} {node} {at}"
                );
            }
        }
    }
}

/// A root and the nodes under it.
type Proof = ([u8; 32], Vec<Vec<u8>>);
/// A node that holds a child by its hash.
type Parent = fn(&[u8; 32]) -> Vec<u8>;

/// `nodes`, each hashed into the one before it by `parent`, under the root that fits: all that an attacker can do who also
/// chooses the root.
fn chain(mut last: Vec<u8>, parents: &[Parent]) -> Proof {
    let mut nodes = vec![last.clone()];
    for parent in parents {
        last = parent(&keccak256(&last).0);
        nodes.insert(0, last.clone());
    }
    (keccak256(&last).0, nodes)
}

fn rlp_list(items: &[&[u8]]) -> Vec<u8> {
    let payload = items.concat();
    let mut list = Vec::new();
    alloy_rlp::Header {
        list: true,
        payload_length: payload.len(),
    }
    .encode(&mut list);
    [list, payload].concat()
}

fn string(bytes: &[u8]) -> Vec<u8> {
    alloy_rlp::encode(bytes)
}

/// A branch with these children; the rest is empty.
fn branch(children: &[(usize, &[u8])]) -> Vec<u8> {
    let mut items: Vec<&[u8]> = vec![&[0x80]; 17];
    for (at, child) in children {
        items[*at] = child;
    }
    rlp_list(&items)
}

fn leaf(path: &[u8], value: &[u8]) -> Vec<u8> {
    rlp_list(&[&string(path), &string(value)])
}

const VALUE: &[u8; 40] = &[7; 40];

#[test]
fn nodes_made_to_deceive() {
    let whole = |node: Vec<u8>| (keccak256(&node).0, vec![node]);
    // A proof of key 0x05 that would show VALUE, were its node well formed.
    let good = leaf(&[0x20, 0x05], VALUE);
    let (root, proof) = whole(good.clone());
    assert_eq!(trie::prove(&root, &[5], &proof), Ok(Some(VALUE.to_vec())));

    let item = string(VALUE);
    let hash = string(&[9; 32]);
    let long_form = [vec![0xb8, 2, 0x20, 0x05], item.clone()].concat();
    let mut cases: Vec<(String, Proof)> = vec![
        (
            "a byte after the node".into(),
            whole([good.clone(), vec![0]].concat()),
        ),
        ("a string for a list".into(), whole(string(&good))),
        ("a path of no byte".into(), whole(leaf(&[], VALUE))),
        (
            "a padding nibble that is not 0".into(),
            whole(leaf(&[0x21, 0x05], VALUE)),
        ),
        ("a leaf of nothing".into(), whole(leaf(&[0x20, 0x05], &[]))),
        (
            "three items".into(),
            whole(rlp_list(&[&string(&[0x20, 5]), &item, &item])),
        ),
        (
            "a list as the value".into(),
            whole(rlp_list(&[&string(&[0x20, 5]), &rlp_list(&[&item])])),
        ),
        (
            "the long form of a short string".into(),
            whole([vec![0xc0 + 45], long_form].concat()),
        ),
        (
            "a length with a leading zero".into(),
            whole([vec![0xf9, 0, good.len() as u8 - 1], good[1..].to_vec()].concat()),
        ),
        (
            "a single byte in the form of a string".into(),
            whole(rlp_list(&[&[0x81, 0x35], &item])),
        ),
        ("a branch of one child".into(), whole(branch(&[(0, &hash)]))),
        (
            "a branch with a value".into(),
            whole(branch(&[(0, &hash), (1, &hash), (16, &item)])),
        ),
        (
            "a child that is a list of 33 bytes".into(),
            whole(branch(&[(0, &[vec![0xe0], vec![1; 32]].concat()), (1, &hash)])),
        ),
        (
            "a child that is a short string".into(),
            whole(branch(&[(0, &string(&[1; 5])), (1, &hash)])),
        ),
        (
            "a child of 32 bytes that is not hashed".into(),
            whole(branch(&[(0, &leaf(&[0x35], &[7; 29])), (1, &hash)])),
        ),
        ("an extension of nothing".into(), whole(rlp_list(&[&[0], &hash]))),
        (
            "an extension to nothing".into(),
            whole(rlp_list(&[&[0x10], &[0x80]])),
        ),
        (
            "an extension to an extension".into(),
            chain(
                rlp_list(&[&[0x15], &hash]),
                &[|hash| rlp_list(&[&[0x10], &string(hash)])],
            ),
        ),
        (
            "an extension to a leaf".into(),
            chain(
                leaf(&[0x35], VALUE),
                &[|hash| rlp_list(&[&[0x10], &string(hash)])],
            ),
        ),
        (
            "a path of 65 nibbles".into(),
            whole(leaf(&[&[0x30][..], &[0; 32]].concat(), VALUE)),
        ),
    ];
    for flag in 4..16_u8 {
        cases.push((
            format!("path flag {flag}"),
            whole(leaf(&[flag << 4, 0x05], VALUE)),
        ));
    }
    for (title, (root, proof)) in cases {
        let refused = trie::prove(&root, &[5], &proof).map_err(|error| error.code.as_str());
        assert_eq!(refused, Err("proof_malformed"), "{title}");
    }
}

#[test]
fn proofs_of_great_length_end_early() {
    // A branch that holds its own parent's place: as many nodes as wanted, each rightly hashed into the next.
    let down: fn(&[u8; 32]) -> Vec<u8> = |hash| branch(&[(0, &string(hash)), (1, &string(&[9; 32]))]);
    let (root, proof) = chain(leaf(&[0x20, 0x05], VALUE), &vec![down; 10_000]);
    let key = [0; 32];
    assert_eq!(
        trie::prove(&root, &key, &proof).map_err(|error| error.code.as_str()),
        Err("proof_too_long")
    );
    // 64 nibbles are one for each of 64 branches; the 65th node is the last that a key leads to.
    let (root, proof) = chain(leaf(&[0x20], VALUE), &[down; 64]);
    assert_eq!(trie::prove(&root, &key, &proof), Ok(Some(VALUE.to_vec())));
    let (root, proof) = chain(leaf(&[0x20], VALUE), &[down; 65]);
    assert!(trie::prove(&root, &key, &proof).is_err());
    // A path beyond 64 nibbles in sum, where the verifier of alloy-trie would stop the program.
    let (root, proof) = chain(leaf(&[&[0x20][..], &[0; 32]].concat(), VALUE), &[down]);
    assert_eq!(trie::prove(&root, &key, &proof), Ok(None));
}

#[test]
fn the_empty_trie() {
    let root = "0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421";
    let empty = Json::text("0x80");
    assert_eq!(verify(root, "0x80", &[]), Ok(Json::Null));
    assert_eq!(verify(root, "0x80", std::slice::from_ref(&empty)), Ok(Json::Null));
    assert_eq!(
        verify(root, "0x80", &[empty.clone(), empty]),
        Err("proof_malformed")
    );
    assert_eq!(
        verify(&root.replace('5', "6"), "0x80", &[]),
        Err("proof_root_mismatch")
    );
}

#[test]
fn entries_that_no_trie_of_a_block_has() {
    let build = |entries: &[(&[u8], &[u8])], key: &[u8]| {
        let entries = entries.iter().map(|(key, value)| (key.to_vec(), value.to_vec()));
        trie::build(&entries.collect(), key).map_err(|error| error.code.as_str())
    };
    assert!(build(&[(&[1], &[1])], &[2]).is_ok());
    for (entries, key) in [
        (vec![(&[][..], &[1][..])], &[2][..]),
        (vec![(&[1], &[])], &[2]),
        (vec![(&[0; 33], &[1])], &[2]),
        (vec![(&[1], &[1]), (&[1, 2], &[1])], &[2]),
        (vec![(&[1], &[1])], &[]),
        (vec![(&[1], &[1])], &[0; 33]),
    ] {
        assert_eq!(build(&entries, key), Err("proof_malformed"));
    }
}
