//! SHA-256, the domain-separated hash of a JSON value, and keyed hashes.

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

use crate::error::{Code, Error};
use crate::json::Json;

/// SHA-256 of the bytes (FIPS 180-4).
pub fn sha256(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

/// SHA-256 of each: four at a time where the machine adds four words at once.
pub fn sha256_of_all(all: &[&[u8]]) -> Vec<[u8; 32]> {
    match cfg!(target_feature = "simd128") {
        true => counterfoil_sha256::digests(all),
        false => all.iter().map(|bytes| sha256(bytes)).collect(),
    }
}

/// SHA-256 over `tag`, a line feed and the RFC 8785 text of `value`. Error: `number_out_of_range`.
pub fn tagged(tag: &str, value: &Json) -> Result<[u8; 32], Error> {
    Ok(Sha256::new()
        .chain_update(tag)
        .chain_update("\n")
        .chain_update(value.to_canonical()?)
        .finalize()
        .into())
}

/// HMAC-SHA-256 (RFC 2104) of the bytes. Error: `secret_invalid`.
pub fn hmac(key: &[u8], bytes: &[u8]) -> Result<[u8; 32], Error> {
    Ok(mac(key)?.chain_update(bytes).finalize().into_bytes().into())
}

/// Whether this is that HMAC, told in the same time wherever it differs. Error: `secret_invalid`.
pub fn hmac_is(key: &[u8], bytes: &[u8], expected: &[u8]) -> Result<bool, Error> {
    Ok(mac(key)?.chain_update(bytes).verify_slice(expected).is_ok())
}

fn mac(key: &[u8]) -> Result<Hmac<Sha256>, Error> {
    Hmac::<Sha256>::new_from_slice(key).map_err(|_| Error::new(Code::SecretInvalid, "secret"))
}

/// HMAC-SHA-256 (RFC 2104) over `tag`, a line feed and the RFC 8785 text of `value`. Errors: `number_out_of_range`,
/// `secret_invalid`.
pub fn keyed(key: &[u8], tag: &str, value: &Json) -> Result<[u8; 32], Error> {
    let mut mac = mac(key)?;
    mac.update(tag.as_bytes());
    mac.update(b"\n");
    mac.update(value.to_canonical()?.as_bytes());
    Ok(mac.finalize().into_bytes().into())
}
