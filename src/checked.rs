//! Signatures that are handed out: made in constant time by one arithmetic, and found right by another one.

use crate::address::Address;
use crate::error::{Code, Error};
use crate::secp256k1::{self, Claim, Keys};
use crate::signing;

/// Signs a digest, as [`signing::sign_digest`] does. The signer is found from the signature before it is returned, so that a fault while signing,
/// which could betray the key, gives none. Errors: `private_key_invalid`, `signer_failed`.
pub fn sign_digest(digest: &[u8; 32], key: &[u8]) -> Result<[u8; 65], Error> {
    let signature = signing::sign_digest(digest, key)?;
    of_the_key(digest, signature, key)
}

/// The same signature, sooner where the key is that of `said`: whoever's signature it is found to be, the key is theirs, and need not be asked for its
/// address, which takes as long as signing. Where it is someone else's, its own address decides as ever. Errors: those of [`sign_digest`].
pub fn sign_digest_as(
    said: Address,
    digest: &[u8; 32],
    key: &[u8],
    keys: &mut Keys,
) -> Result<[u8; 65], Error> {
    let signature = signing::sign_digest(digest, key)?;
    let claim = Claim {
        digest: *digest,
        signature,
        signer: said,
    };
    match keys.verify(&[claim]).as_slice() {
        [true] => Ok(signature),
        _ => of_the_key(digest, signature, key),
    }
}

/// The signature, where it is one of the key. Errors: `private_key_invalid`, `signer_failed`.
pub fn of_the_key(digest: &[u8; 32], signature: [u8; 65], key: &[u8]) -> Result<[u8; 65], Error> {
    let signer = signing::address_of_key(key)?;
    match secp256k1::recover(digest, &signature) {
        Ok(found) if found == signer => Ok(signature),
        _ => Err(Error::new(Code::SignerFailed, "")),
    }
}
