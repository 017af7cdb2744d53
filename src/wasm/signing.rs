//! Calls that sign.

use std::sync::PoisonError;

use super::core::{authorization, encoded, permit, KEYS};
use super::Input;
use crate::address::Address;
use crate::error::Error;
use crate::json::Json;
use crate::{checked, eip712, signing};

/// Answers the call when its name belongs here.
pub(super) fn call(name: &str, input: &Input) -> Option<Result<Json, Error>> {
    Some(match name {
        "signAuthorization" => sign_authorization(input),
        "signPermit2" => sign_permit2(input),
        "signTypedData" => sign_typed_data(input),
        "addressOfKey" => input
            .secret("privateKey")
            .and_then(signing::address_of_key)
            .map(|key| key.to_json()),
        "rawSignDigest" => sign_digest(input),
        "rawPublicKey" => input
            .secret("privateKey")
            .and_then(signing::public_key)
            .map(encoded),
        _ => return None,
    })
}

fn sign_authorization(input: &Input) -> Result<Json, Error> {
    let (authorization, domain) = authorization(input)?;
    let digest = authorization.digest(&domain)?.digest;
    sign(input, &digest, Some(authorization.from))
}

fn sign_permit2(input: &Input) -> Result<Json, Error> {
    let (permit, chain_id) = permit(input)?;
    sign(input, &permit.digest(chain_id).digest, Some(permit.from))
}

/// Input `{typedData, signer?}` and the key, which is said to be the signer's; answer the signature.
fn sign_typed_data(input: &Input) -> Result<Json, Error> {
    let digest = input.json.read("typedData", eip712::hash_typed_data)?;
    let signer = input.json.read_opt("signer", Address::from_json)?;
    sign(input, &digest, signer)
}

fn sign(input: &Input, digest: &[u8; 32], said: Option<Address>) -> Result<Json, Error> {
    let key = input.secret("privateKey")?;
    match said {
        None => checked::sign_digest(digest, key),
        Some(said) => {
            let mut keys = KEYS.lock().unwrap_or_else(PoisonError::into_inner);
            checked::sign_digest_as(said, digest, key, &mut keys)
        }
    }
    .map(encoded)
}

fn sign_digest(input: &Input) -> Result<Json, Error> {
    let digest = input.json.read("digest", Json::as_hex)?;
    sign(input, &digest, None)
}
