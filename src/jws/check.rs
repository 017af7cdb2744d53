//! The arithmetic behind a JWS. P-256 and Ed25519 are the feature `jws`, so that a build without it stays small; secp256k1 is that of `verify`.

use super::Task;
use crate::digest;
use crate::jwk::Algorithm;
#[cfg(feature = "verify")]
use crate::secp256k1::{self, Encoding};

/// Whether the key made the signature; a key that is not on its curve made none. Nothing, where this build does not know the algorithm.
///
/// ES256K takes the lower of ±s only, as whatever else here checks secp256k1. ES256 takes both: RFC 7518 has no such rule, and half of all
/// signatures made by its libraries are of the other kind. Ed25519 is strict: a canonical s, and no point of small order.
pub fn check(task: &Task) -> Option<bool> {
    match task.key.algorithm {
        #[cfg(feature = "verify")]
        Algorithm::Es256k => {
            let digest = digest::sha256(&task.input);
            let made = secp256k1::verify(&task.key.bytes, &digest, &task.signature, Encoding::P1363, true);
            Some(made.unwrap_or(false))
        }
        #[cfg(feature = "jws")]
        Algorithm::Es256 => Some(es256(task).is_some()),
        #[cfg(feature = "jws")]
        Algorithm::EdDsa => Some(ed25519(task).is_some()),
        #[cfg(not(feature = "verify"))]
        Algorithm::Es256k => None,
        #[cfg(not(feature = "jws"))]
        Algorithm::Es256 | Algorithm::EdDsa => None,
    }
}

#[cfg(feature = "jws")]
fn es256(task: &Task) -> Option<()> {
    use p256::ecdsa::signature::hazmat::PrehashVerifier;
    use p256::ecdsa::{Signature, VerifyingKey};

    let key = VerifyingKey::from_sec1_bytes(&task.key.bytes).ok()?;
    let signature = Signature::from_slice(&task.signature).ok()?;
    key.verify_prehash(&digest::sha256(&task.input), &signature).ok()
}

#[cfg(feature = "jws")]
fn ed25519(task: &Task) -> Option<()> {
    use ed25519_dalek::{Signature, VerifyingKey};

    let key = VerifyingKey::from_bytes(task.key.bytes.as_slice().try_into().ok()?).ok()?;
    key.verify_strict(&task.input, &Signature::from_bytes(&task.signature))
        .ok()
}
