//! Signatures that are handed out: made in constant time by one arithmetic, and found right by another one.

use crate::error::{Code, Error};
use crate::{secp256k1, signing};

/// Signs a digest, as [`signing::sign_digest`] does. The signer is found from the signature before it is returned, so that a fault while signing,
/// which could betray the key, gives none. Errors: `private_key_invalid`, `signer_failed`.
pub fn sign_digest(digest: &[u8; 32], key: &[u8]) -> Result<[u8; 65], Error> {
    let (signature, signer) = signing::sign_digest(digest, key)?;
    match secp256k1::recover(digest, &signature) {
        Ok(found) if found == signer => Ok(signature),
        _ => Err(Error::new(Code::SignerFailed, "")),
    }
}
