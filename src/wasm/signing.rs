//! Calls that sign.

use super::core::{authorization, encoded, permit};
use super::Input;
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
    checked::sign_digest(&digest, input.secret("privateKey")?).map(encoded)
}

fn sign_permit2(input: &Input) -> Result<Json, Error> {
    let (permit, chain_id) = permit(input)?;
    checked::sign_digest(&permit.digest(chain_id).digest, input.secret("privateKey")?).map(encoded)
}

/// Input `{typedData}` and the key; answer the signature.
fn sign_typed_data(input: &Input) -> Result<Json, Error> {
    let digest = input.json.read("typedData", eip712::hash_typed_data)?;
    checked::sign_digest(&digest, input.secret("privateKey")?).map(encoded)
}

fn sign_digest(input: &Input) -> Result<Json, Error> {
    let digest = input.json.read("digest", Json::as_hex)?;
    checked::sign_digest(&digest, input.secret("privateKey")?).map(encoded)
}
