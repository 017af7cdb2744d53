//! Merkle-Patricia tries: what a proof shows under a root, and the proof of one entry of a trie that is at hand.
//!
//! Nodes, their hashes and whole tries are those of `alloy-trie`. Its `verify_proof` is not used: it stops the program at a path
//! of more than 64 nibbles, lets nodes follow that no answer needs, takes an extension without a path and a branch with one
//! child, knows no root shorter than its hash, and does not say what it found. The walk here is strict about all of that: there is one proof of each answer.

use std::collections::BTreeMap;

use alloy_primitives::{keccak256, B256};
use alloy_rlp::Decodable;
use alloy_trie::nodes::{BranchNode, RlpNode, TrieNode};
use alloy_trie::proof::ProofRetainer;
use alloy_trie::{HashBuilder, Nibbles, EMPTY_ROOT_HASH};

use crate::error::{Code, Error};

/// The longest key, in bytes: a Keccak-256 hash.
const LONGEST_KEY: usize = 32;
/// The RLP of nothing, which some nodes send as the only node of an empty trie.
const EMPTY: &[u8] = &[0x80];
/// A node this long or longer stands in its parent as its hash.
const HASHED_FROM: usize = 32;
/// What stands before a hash.
const HASH: u8 = 0xa0;

/// What the trie of that root holds under `key`: its value, or `None` when the proof shows that there is nothing.
///
/// The nodes run from the root to the answer and end there. Errors: `proof_root_mismatch`, `proof_too_long`,
/// `proof_node_mismatch`, `proof_malformed`, `proof_incomplete`. Values inside branches don't occur where no key is the start of
/// another, which holds for state, storage, receipts and transactions; here they are malformed.
pub fn prove(root: &[u8; 32], key: &[u8], proof: &[Vec<u8>]) -> Result<Option<Vec<u8>>, Error> {
    let fail = |code| Err(Error::new(code, ""));
    let empty = proof.is_empty() || matches!(proof, [only] if only.as_slice() == EMPTY);
    if empty {
        return match EMPTY_ROOT_HASH.0 == *root {
            true => Ok(None),
            false => fail(Code::ProofRootMismatch),
        };
    }
    // Every node but the last takes at least one nibble of the key.
    if proof.len() > 2 * key.len() + 1 {
        return fail(Code::ProofTooLong);
    }
    let key: Vec<u8> = key.iter().flat_map(|byte| [byte >> 4, byte & 15]).collect();
    let mut place = Place {
        key: &key,
        below_extension: false,
    };
    let mut expected = B256::from(*root);
    let mut nodes = proof.iter();
    for (depth, node) in nodes.by_ref().enumerate() {
        if keccak256(node) != expected {
            return fail(match depth {
                0 => Code::ProofRootMismatch,
                _ => Code::ProofNodeMismatch,
            });
        }
        match place.step(node)? {
            Step::Down(child) => expected = child,
            Step::Answer(answer) if nodes.as_slice().is_empty() => return Ok(answer),
            Step::Answer(_) => return fail(Code::ProofTooLong),
        }
    }
    fail(Code::ProofIncomplete)
}

/// Where the walk stands.
struct Place<'a> {
    /// The nibbles still to go.
    key: &'a [u8],
    /// Only a branch may follow.
    below_extension: bool,
}

enum Step {
    Down(B256),
    Answer(Option<Vec<u8>>),
}

impl Place<'_> {
    /// Goes through one node and those that stand inside it.
    fn step(&mut self, node: &[u8]) -> Result<Step, Error> {
        const NOTHING: Result<Step, Error> = Ok(Step::Answer(None));
        match canonical(node).ok_or_else(malformed)? {
            TrieNode::Branch(branch) => {
                self.below_extension = false;
                if branch.stack.len() < 2 {
                    return Err(malformed());
                }
                let Some((next, rest)) = self.key.split_first() else {
                    return NOTHING;
                };
                self.key = rest;
                match child(&branch, *next) {
                    Some(child) => self.down(&child),
                    None => NOTHING,
                }
            }
            TrieNode::Extension(extension) if !extension.key.is_empty() && !self.below_extension => {
                self.below_extension = true;
                match self.key.strip_prefix(extension.key.to_vec().as_slice()) {
                    Some(rest) => {
                        self.key = rest;
                        self.down(&extension.child)
                    }
                    None => NOTHING,
                }
            }
            TrieNode::Leaf(leaf) if !leaf.value.is_empty() && !self.below_extension => {
                let found = self.key == leaf.key.to_vec();
                Ok(Step::Answer(found.then_some(leaf.value)))
            }
            TrieNode::Extension(_) | TrieNode::Leaf(_) | TrieNode::EmptyRoot => Err(malformed()),
        }
    }

    /// A child is the hash of a long node, or a short node itself.
    fn down(&mut self, child: &RlpNode) -> Result<Step, Error> {
        match child.split_first() {
            Some((&HASH, hash)) if hash.len() == 32 => Ok(Step::Down(B256::from_slice(hash))),
            _ if child.len() < HASHED_FROM => self.step(child),
            _ => Err(malformed()),
        }
    }
}

fn malformed() -> Error {
    Error::new(Code::ProofMalformed, "")
}

/// The node, when these bytes are its one encoding.
fn canonical(bytes: &[u8]) -> Option<TrieNode> {
    let node = TrieNode::decode(&mut &*bytes).ok()?;
    (alloy_rlp::encode(&node) == bytes).then_some(node)
}

fn child(branch: &BranchNode, nibble: u8) -> Option<RlpNode> {
    let branch = branch.as_ref();
    let mut children = branch.children();
    let (_, child) = children.find(|(index, _)| *index == nibble)?;
    child.cloned()
}

/// The root of the trie of these entries, and the proof of what it holds under `key`.
///
/// Error: `proof_malformed` for a key that is empty, longer than 32 bytes or the start of another, and for an empty value.
pub fn build(entries: &BTreeMap<Vec<u8>, Vec<u8>>, key: &[u8]) -> Result<([u8; 32], Vec<Vec<u8>>), Error> {
    let fits = |key: &[u8]| (1..=LONGEST_KEY).contains(&key.len());
    if !fits(key) {
        return Err(malformed());
    }
    let wanted = ProofRetainer::new(vec![Nibbles::unpack(key)]);
    let mut builder = HashBuilder::default().with_proof_retainer(wanted);
    let mut last: &[u8] = &[];
    for (key, value) in entries {
        // In their order a key comes right before those that it is the start of.
        if !fits(key) || value.is_empty() || (!last.is_empty() && key.starts_with(last)) {
            return Err(malformed());
        }
        builder.add_leaf(Nibbles::unpack(key), value);
        last = key;
    }
    let root = builder.root();
    let nodes = builder.take_proof_nodes().into_nodes_sorted();
    // Short nodes stand inside their parents; the root always stands for itself.
    let proof = nodes
        .into_iter()
        .filter(|(path, node)| path.is_empty() || node.len() >= HASHED_FROM)
        .map(|(_, node)| node.to_vec())
        .collect();
    Ok((root.0, proof))
}

/// The key of an item of an ordered list, such as the receipts of a block: the RLP of its index.
pub fn index_key(index: u64) -> Vec<u8> {
    alloy_rlp::encode(index)
}
