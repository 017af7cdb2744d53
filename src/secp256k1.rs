//! Signatures of public data: reading them and finding who made them. Nothing here handles a secret.

pub mod field;
mod inverse;
mod limbs;
pub mod point;
pub mod scalar;

use alloy_primitives::keccak256;
use k256::ecdsa::{RecoveryId, Signature, VerifyingKey};

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
    split(&bytes).ok_or_else(invalid)?;
    if let Some(v) = bytes.last_mut() {
        *v = if *v < 27 { *v + 27 } else { *v };
    }
    Ok(bytes)
}

/// The two scalars and the recovery id, when they are in range and `s` is low.
fn split(bytes: &[u8; 65]) -> Option<(Signature, RecoveryId)> {
    let (v, scalars) = bytes.split_last()?;
    let parity = match v {
        0 | 27 => 0,
        1 | 28 => 1,
        _ => return None,
    };
    let signature = Signature::from_slice(scalars).ok()?;
    if signature.normalize_s() != signature {
        return None;
    }
    Some((signature, RecoveryId::from_byte(parity)?))
}

/// The address whose key made the signature over the digest. Error: `signature_invalid`, also when no key is found: never the
/// zero address.
pub fn recover(digest: &[u8; 32], signature: &[u8; 65]) -> Result<Address, Error> {
    let invalid = || Error::new(Code::SignatureInvalid, "");
    let (signature, recovery) = split(signature).ok_or_else(invalid)?;
    let key = VerifyingKey::recover_from_prehash(digest, &signature, recovery).map_err(|_| invalid())?;
    address_of(&key).ok_or_else(invalid)
}

/// The address of a public key: the last 20 bytes of the Keccak-256 of its coordinates.
pub fn address_of(key: &VerifyingKey) -> Option<Address> {
    let point = key.to_sec1_point(false);
    let hash = keccak256(point.as_bytes().get(1..)?);
    hash.get(12..)?.try_into().ok().map(Address)
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
    use k256::ecdsa::signature::hazmat::PrehashVerifier;
    let invalid = || Error::new(Code::PublicKeyInvalid, "publicKey");
    // The library also reads points without a sign bit, which no Ethereum key is.
    if !matches!(public_key, [2..=4, ..]) {
        return Err(invalid());
    }
    let key = VerifyingKey::from_sec1_bytes(public_key).map_err(|_| invalid())?;
    let parsed = match encoding {
        Encoding::Der => Signature::from_der(signature),
        Encoding::P1363 => Signature::from_slice(signature),
    };
    let Ok(signature) = parsed else {
        return Ok(false);
    };
    let normal = signature.normalize_s();
    if low_s && normal != signature {
        return Ok(false);
    }
    Ok(key.verify_prehash(digest, &normal).is_ok())
}
