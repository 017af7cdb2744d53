//! Signatures of public data: reading them and finding who made them. Nothing here handles a secret, so all of it may take as long as
//! the numbers make it take; signing has other arithmetic, and neither reaches the other. This one's is the crate `secp256k1`; `keys`
//! chooses what of it is used.

mod keys;

use alloy_primitives::keccak256;
pub use counterfoil_secp256k1::{comb, field, lockstep, point, product, scalar, short, signature};

pub use self::keys::{Claim, Keys, Made};
use self::point::Affine;
use self::signature::Signature;
use crate::address::Address;
use crate::error::{Code, Error};
use crate::hex;

/// The last 32 bytes of a signature wrapped for a contract wallet that is not deployed yet (ERC-6492).
const ERC6492_SUFFIX: &str = "6492649264926492649264926492649264926492649264926492649264926492";

/// Reads a 65-byte signature `r | s | v`; `v` 0 and 1 become 27 and 28. Errors: `contract_signature` for an ERC-6492
/// wrapper, `signature_invalid` for any other length (so also EIP-2098), other `v`, `r` or `s` of zero or not below the
/// group order, and `s` above half of it (EIP-2).
pub fn parse_signature(text: &str) -> Result<[u8; 65], Error> {
    let invalid = || Error::new(Code::SignatureInvalid, "");
    if text.len() > 2 + 130 && text.ends_with(ERC6492_SUFFIX) {
        hex::decode(text).map_err(|_| invalid())?;
        return Err(Error::new(Code::ContractSignature, ""));
    }
    let mut bytes: [u8; 65] = hex::decode_array(text).map_err(|_| invalid())?;
    low(&bytes).ok_or_else(invalid)?;
    if let Some(v) = bytes.last_mut() {
        *v = if *v < 27 { *v + 27 } else { *v };
    }
    Ok(bytes)
}

/// The two scalars, in range and `s` low, and whether the y of the signature's point is odd.
fn low(bytes: &[u8; 65]) -> Option<(Signature, bool)> {
    let (scalars, v) = bytes.split_first_chunk::<64>()?;
    let odd = match v {
        [0 | 27] => false,
        [1 | 28] => true,
        _ => return None,
    };
    let signature = Signature::from_be_bytes(scalars)?;
    (!signature.is_high()).then_some((signature, odd))
}

/// The address whose key made the signature over the digest. Error: `signature_invalid`, also when no key is found: never the
/// zero address.
pub fn recover(digest: &[u8; 32], signature: &[u8; 65]) -> Result<Address, Error> {
    low(signature)
        .and_then(|(signature, odd)| signature.recover(digest, odd))
        .map(|key| address_of(&key))
        .ok_or_else(|| Error::new(Code::SignatureInvalid, ""))
}

/// The address of a public key: the last 20 bytes of the Keccak-256 of its coordinates.
pub fn address_of(key: &Affine) -> Address {
    let [_, _, _, _, _, _, _, _, _, _, _, _, tail @ ..] = keccak256(key.to_be_bytes()).0;
    Address(tail)
}

/// How a signature is written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Encoding {
    /// ASN.1 DER.
    Der,
    /// `r | s`, 64 bytes (IEEE P1363).
    P1363,
}

/// Whether the signature over the digest was made by the public key (SEC1, compressed or not). Malformed signatures are
/// false. Error: `public_key_invalid`.
pub fn verify(
    public_key: &[u8],
    digest: &[u8; 32],
    signature: &[u8],
    encoding: Encoding,
    low_s: bool,
) -> Result<bool, Error> {
    let key = Affine::from_sec1(public_key).ok_or_else(|| Error::new(Code::PublicKeyInvalid, "publicKey"))?;
    let signature = match encoding {
        Encoding::Der => Signature::from_der(signature),
        Encoding::P1363 => signature.try_into().ok().and_then(Signature::from_be_bytes),
    };
    Ok(signature
        .filter(|signature| !(low_s && signature.is_high()))
        .is_some_and(|signature| signature.verifies(digest, &key)))
}
