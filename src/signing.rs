//! Signing: the only place that handles a private key. Constant-time arithmetic of k256, nonces by RFC 6979, no randomness.

use alloy_primitives::keccak256;
use ecdsa::hazmat::sign_prehashed_rfc6979;
use k256::elliptic_curve::sec1::ToSec1Point;
use k256::{PublicKey, Secp256k1, SecretKey};
use sha2::Sha256;
use zeroize::Zeroizing;

use crate::address::Address;
use crate::error::{Code, Error};

/// The key, which wipes itself when dropped. Exactly 32 bytes: a shorter key is a mistake, not one to be padded.
fn secret_key(key: &[u8]) -> Result<SecretKey, Error> {
    let invalid = || Error::new(Code::PrivateKeyInvalid, "privateKey");
    if key.len() != 32 {
        return Err(invalid());
    }
    SecretKey::from_slice(key).map_err(|_| invalid())
}

/// Signs a digest: 65 bytes `r | s | v`, low `s`, `v` 27 or 28, the same for the same input. What a fault while signing made is not found out here:
/// `checked` does that. The public key, half of the work of k256's own `SigningKey`, has no part in it. Errors: `private_key_invalid`, `signer_failed`.
pub fn sign_digest(digest: &[u8; 32], key: &[u8]) -> Result<[u8; 65], Error> {
    let scalar = Zeroizing::new(secret_key(key)?.to_nonzero_scalar());
    let failed = || Error::new(Code::SignerFailed, "");
    let (signature, recovery) = sign_prehashed_rfc6979::<Secp256k1, Sha256>(&scalar, digest, &[]);
    let mut bytes = signature.to_bytes().to_vec();
    bytes.push(27 + recovery.to_byte());
    bytes.try_into().map_err(|_| failed())
}

/// The address of a private key. Error: `private_key_invalid`.
pub fn address_of_key(key: &[u8]) -> Result<Address, Error> {
    let public = public_key(key)?;
    let hash = keccak256(public.get(1..).unwrap_or_default());
    let tail = hash.get(12..).and_then(|tail| tail.try_into().ok());
    tail.map(Address)
        .ok_or_else(|| Error::new(Code::PrivateKeyInvalid, "privateKey"))
}

/// The uncompressed public key, 65 bytes. Error: `private_key_invalid`.
pub fn public_key(key: &[u8]) -> Result<Vec<u8>, Error> {
    let public: PublicKey = secret_key(key)?.public_key();
    Ok(public.to_sec1_point(false).as_bytes().to_vec())
}
