//! Signing: the only place that handles a private key. Constant-time arithmetic of k256, nonces by RFC 6979, no randomness.

use alloy_primitives::keccak256;
use k256::ecdsa::{SigningKey, VerifyingKey};

use crate::address::Address;
use crate::error::{Code, Error};

/// The key, which wipes itself when dropped. Exactly 32 bytes: a shorter key is a mistake, not one to be padded.
fn signing_key(key: &[u8]) -> Result<SigningKey, Error> {
    let invalid = || Error::new(Code::PrivateKeyInvalid, "privateKey");
    if key.len() != 32 {
        return Err(invalid());
    }
    SigningKey::from_slice(key).map_err(|_| invalid())
}

/// Signs a digest: 65 bytes `r | s | v`, low `s`, `v` 27 or 28, the same for the same input; and the address of the key. What a fault while
/// signing made is not found out here: `checked` does that. Errors: `private_key_invalid`, `signer_failed`.
pub fn sign_digest(digest: &[u8; 32], key: &[u8]) -> Result<([u8; 65], Address), Error> {
    let key = signing_key(key)?;
    let failed = || Error::new(Code::SignerFailed, "");
    let (signature, recovery) = key.sign_prehash_recoverable(digest);
    let mut bytes = signature.to_bytes().to_vec();
    bytes.push(27 + recovery.to_byte());
    let bytes = bytes.try_into().map_err(|_| failed())?;
    Ok((bytes, address(key.verifying_key())?))
}

/// The address of a private key. Error: `private_key_invalid`.
pub fn address_of_key(key: &[u8]) -> Result<Address, Error> {
    address(signing_key(key)?.verifying_key())
}

fn address(key: &VerifyingKey) -> Result<Address, Error> {
    let point = key.to_sec1_point(false);
    let hash = keccak256(point.as_bytes().get(1..).unwrap_or_default());
    let tail = hash.get(12..).and_then(|tail| tail.try_into().ok());
    tail.map(Address)
        .ok_or_else(|| Error::new(Code::PrivateKeyInvalid, "privateKey"))
}

/// The uncompressed public key, 65 bytes. Error: `private_key_invalid`.
pub fn public_key(key: &[u8]) -> Result<Vec<u8>, Error> {
    Ok(signing_key(key)?
        .verifying_key()
        .to_sec1_point(false)
        .as_bytes()
        .to_vec())
}
