//! A payer's word of Permit2's bitmap out of an `eth_getProof` answer.
//!
//! Pinned here:
//! - [`BITMAP_SLOT`], measured: with Permit2's own code on a local chain a payment and an invalidation change this slot of the payer's and no
//!   other of those that the bitmap could be in; `tests/js/permit2-proofs.test.mjs` measures it again.
//! - [`CODE_HASHES`], derived: Permit2 can't be changed, and its address is that of its creation code under CREATE2, so what stands there is what that code
//!   leaves behind, with the chain's id and domain in it. The same test derives each of them, and deploys one. Code that is not listed proves nothing.

use alloy_primitives::{b256, B256};

use super::rpc::{Reason, Word};
use super::storage_proof::{mapping_slot, Account, Layout};
use crate::address::Address;
use crate::json::Json;
use crate::network::Network;
use crate::permit2::{self, Permit, CONTRACT};

/// Base slot of `nonceBitmap`.
const BITMAP_SLOT: u64 = 0;
/// Keccak-256 of Permit2's code on the networks whose tokens are known here, by chain id.
const CODE_HASHES: [(u64, B256); 14] = [
    (
        8453,
        b256!("a67739abc3ede9dbdc0491636c67d6a14ac07fab9030c3f509b1eb7b11dff8ed"),
    ),
    (
        84_532,
        b256!("dcde65555316946c298e4c60c6213eb5c3aeab4354d1f3fac5427236bcbb9ebe"),
    ),
    (
        1,
        b256!("c67d1657868aa5146eaf24fb879fb1fdec3d2d493b3683a61c9c2f4fb2851131"),
    ),
    (
        43_114,
        b256!("081beff14e75c5a5c1e60740445f58d54ba0fef228148a11d3e4287dc3551cbb"),
    ),
    (
        137,
        b256!("db0dd198c1767513d04589d8b3da05423ddc97e543440f84afe0e216693af9bb"),
    ),
    (
        42_161,
        b256!("9e51dcb64cf56fc09a82cb41edbc17c6a2250f18dbd1b91e884c0aca02acd57c"),
    ),
    (
        421_614,
        b256!("055d90ff6146107f315c7c306b841138ec59c541a8e4e04df787c38ce400a1e4"),
    ),
    (
        143,
        b256!("332f9ca0fbd282f4a9b16f5332870dc98addc5172dd5e48ab6fa7c9be3d10fa0"),
    ),
    (
        42_220,
        b256!("556c591dce0fb9bc236493e7e3e1add37e6bc81fdbfa621ac79667597de7eb91"),
    ),
    (
        1329,
        b256!("80ca6d08ef34fff4e8b993b088e3a1430f53620535db5668a95b22227a2347a3"),
    ),
    (
        1328,
        b256!("91e52257f07cdacc0812f13c126fe94c2b628c93f1712cff38f22aecc78da004"),
    ),
    (
        14,
        b256!("859874ff2634f197572532e8e0f0357a0b09308e3dc54ad63b47b2aba8cb7570"),
    ),
    (
        988,
        b256!("be9c4cc776a12df99a99c7c47a352381553593cbfe8b99a547abb446971b94b4"),
    ),
    (
        2201,
        b256!("f2d645f854e7efc284b0f3b1d44206b88f33f08f3481755ac85c5a1b95043ed8"),
    ),
];

/// Whether what Permit2 keeps on this network can be proven: its code there is pinned, or the caller declares some.
pub fn proves_permits(network: &Network, layouts: &[Layout]) -> bool {
    let here = |(chain_id, _): &(u64, B256)| network.chain_id() == Some(*chain_id);
    !layouts.is_empty() || CODE_HASHES.iter().any(here)
}

/// The slot of a payer's word: `keccak(word . keccak(payer . base))`.
pub fn bitmap_slot(payer: &Address, nonce: &Word) -> Word {
    let (word, _) = permit2::place(nonce);
    mapping_slot(BITMAP_SLOT, payer, &word.to_be_bytes())
}

/// Reads Permit2's `eth_getProof` answer under a state root: the payer's word, or nothing where the code at its address is not known. Of code that the
/// caller declares only the hash counts: where Permit2 keeps its bitmap is no choice.
pub(super) fn prove(
    state_root: &Word,
    answer: &Json,
    layouts: &[Layout],
    permit: &Permit,
) -> Result<Option<Word>, Reason> {
    let account = Account::prove(state_root, answer, &CONTRACT)?;
    let pinned = CODE_HASHES.iter().any(|(_, hash)| hash.0 == account.code_hash);
    let declared = layouts.iter().any(|one| one.code_hash == account.code_hash);
    match pinned || declared {
        true => account.word(&bitmap_slot(&permit.from, &permit.nonce)).map(Some),
        false => Ok(None),
    }
}
