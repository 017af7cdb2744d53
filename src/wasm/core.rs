//! Calls about typed data, authorizations and signatures that are there.

use std::sync::{Mutex, PoisonError};

use super::Input;
use crate::address::Address;
use crate::eip3009::{Authorization, AuthorizationDigest, Cancellation};
use crate::eip712::{self, Domain};
use crate::erc1271::{self, Answer};
use crate::error::{Code, Error};
use crate::hex;
use crate::json::Json;
use crate::network::Network;
use crate::permit2::Permit;
use crate::secp256k1::{self, Claim, Encoding, Keys};

/// Answers the call when its name belongs here.
pub(super) fn call(name: &str, input: &Input) -> Option<Result<Json, Error>> {
    Some(match name {
        "authorizationDigest" => authorization_digest(input),
        "recoverPayer" => recover_payer(input),
        "permit2Digest" => permit2_digest(input),
        "permit2TypedData" => permit(input).map(|(permit, chain_id)| permit.typed_data(chain_id)),
        "recoverPermit2Payer" => recover_permit2_payer(input),
        "cancellationDigest" => cancellation_digest(input),
        "cancellationCalldata" => cancellation_calldata(input),
        "hashTypedData" => hash_typed_data(input),
        "contractQuestion" => contract_question(input),
        "contractAnswer" => input.json.read("answer", Json::as_str).map(|text| {
            Json::text(match erc1271::answer(text) {
                Answer::Valid => "valid",
                Answer::Invalid => "invalid",
                Answer::Nobody => "nobody",
            })
        }),
        "verifySignatures" => verify_signatures(input),
        "verifySignaturesPacked" => input.bytes("packed").map(verify_packed),
        "forgetKeys" => Ok(forget_keys()),
        "rawRecover" => recover(input),
        "rawVerify" => verify(input),
        _ => return None,
    })
}

/// Input `{digest, signature}`: the call of a wallet contract, and whether the signature is wrapped for one that is not deployed yet.
fn contract_question(input: &Input) -> Result<Json, Error> {
    let digest = input.json.read("digest", Json::as_hex)?;
    let signature = input.json.read("signature", Json::as_str)?;
    let data = erc1271::question(&digest, signature).map_err(|error| error.within("signature"))?;
    Ok(Json::object([
        ("data", Json::text(data)),
        ("wrapped", Json::Bool(erc1271::is_wrapped(signature))),
    ]))
}

pub(super) fn encoded(bytes: impl AsRef<[u8]>) -> Json {
    Json::text(hex::encode(bytes))
}

pub(super) fn authorization(input: &Input) -> Result<(Authorization, Domain), Error> {
    let authorization = input.json.read("authorization", Authorization::from_json)?;
    Ok((authorization, input.json.read("domain", Domain::from_json)?))
}

fn authorization_digest(input: &Input) -> Result<Json, Error> {
    let (authorization, domain) = authorization(input)?;
    authorization.digest(&domain).map(|digest| hashes(&digest))
}

fn hashes(digest: &AuthorizationDigest) -> Json {
    Json::object([
        ("domainSeparator", encoded(digest.domain_separator)),
        ("structHash", encoded(digest.struct_hash)),
        ("digest", encoded(digest.digest)),
    ])
}

/// The permit and the chain that it is signed for.
pub(super) fn permit(input: &Input) -> Result<(Permit, u64), Error> {
    let permit = input.json.read("permit", Permit::from_json)?;
    let network = input.json.read("network", Network::from_json)?;
    let chain_id = network
        .chain_id()
        .ok_or_else(|| Error::new(Code::NetworkInvalid, "network"))?;
    Ok((permit, chain_id))
}

fn permit2_digest(input: &Input) -> Result<Json, Error> {
    permit(input).map(|(permit, chain_id)| hashes(&permit.digest(chain_id)))
}

fn recover_permit2_payer(input: &Input) -> Result<Json, Error> {
    let (permit, chain_id) = permit(input)?;
    let recover = |signature: &Json| permit.recover(chain_id, signature.as_str()?);
    input
        .json
        .read("signature", recover)
        .map(|address| address.to_json())
}

fn recover_payer(input: &Input) -> Result<Json, Error> {
    let (authorization, domain) = authorization(input)?;
    let recover = |signature: &Json| authorization.recover(&domain, signature.as_str()?);
    input
        .json
        .read("signature", recover)
        .map(|address| address.to_json())
}

/// Input `{cancellation: {authorizer, nonce}, domain}`; answer the EIP-712 digest.
fn cancellation_digest(input: &Input) -> Result<Json, Error> {
    let cancellation = input.json.read("cancellation", Cancellation::from_json)?;
    let domain = input.json.read("domain", Domain::from_json)?;
    cancellation.digest(&domain).map(encoded)
}

/// Input `{cancellation, signature}`; answer the call of the token.
fn cancellation_calldata(input: &Input) -> Result<Json, Error> {
    let cancellation = input.json.read("cancellation", Cancellation::from_json)?;
    let calldata = |signature: &Json| cancellation.calldata(signature.as_str()?);
    input.json.read("signature", calldata).map(encoded)
}

fn hash_typed_data(input: &Input) -> Result<Json, Error> {
    input.json.read("typedData", eip712::hash_typed_data).map(encoded)
}

fn recover(input: &Input) -> Result<Json, Error> {
    let digest = input.json.read("digest", Json::as_hex)?;
    let recover =
        |signature: &Json| secp256k1::recover(&digest, &secp256k1::parse_signature(signature.as_str()?)?);
    input
        .json
        .read("signature", recover)
        .map(|address| address.to_json())
}

fn verify(input: &Input) -> Result<Json, Error> {
    let key = input.json.read("publicKey", |key| hex::decode(key.as_str()?))?;
    let digest = input.json.read("digest", Json::as_hex)?;
    let signature = input
        .json
        .read("signature", |signature| hex::decode(signature.as_str()?))?;
    let encoding = input.json.read("encoding", |encoding| match encoding.as_str()? {
        "der" => Ok(Encoding::Der),
        "p1363" => Ok(Encoding::P1363),
        _ => Err(Error::new(Code::InvalidType, "")),
    })?;
    let low_s = input.json.read("lowS", Json::as_bool)?;
    secp256k1::verify(&key, &digest, &signature, encoding, low_s).map(Json::Bool)
}

/// Keys of signers met by earlier calls. Answers don't depend on them, only how soon they come.
pub(super) static KEYS: Mutex<Keys> = Mutex::new(Keys::new());

/// The verdicts, in order; what could not be read is false.
fn verdicts(items: Vec<Option<Claim>>) -> Vec<bool> {
    let claims: Vec<Claim> = items.iter().flatten().copied().collect();
    let mut keys = KEYS.lock().unwrap_or_else(PoisonError::into_inner);
    let mut verdicts = keys.verify(&claims).into_iter();
    items
        .iter()
        .map(|item| item.is_some() && verdicts.next().unwrap_or(false))
        .collect()
}

/// A malformed item is false, not an error: one bad line must not hide the verdicts of the others.
fn verify_signatures(input: &Input) -> Result<Json, Error> {
    let claim = |item: &Json| -> Result<Claim, Error> {
        Ok(Claim {
            digest: item.read("digest", Json::as_hex)?,
            signature: item.read("signature", |text| secp256k1::parse_signature(text.as_str()?))?,
            signer: item.read("signer", Address::from_json)?,
        })
    };
    let items = input.json.read("items", Json::as_array)?;
    let claims = items.iter().map(|item| claim(item).ok()).collect();
    Ok(Json::Array(
        verdicts(claims).into_iter().map(Json::Bool).collect(),
    ))
}

/// Digest 32, signature 65, signer 20 bytes an item; one byte an answer. A rest shorter than an item is one false answer.
fn verify_packed(packed: &[u8]) -> Json {
    let claim = |item: &[u8]| -> Option<Claim> {
        let (digest, rest) = item.split_first_chunk::<32>()?;
        let (signature, signer) = rest.split_first_chunk::<65>()?;
        Some(Claim {
            digest: *digest,
            signature: *signature,
            signer: Address(signer.try_into().ok()?),
        })
    };
    let verdicts = verdicts(packed.chunks(117).map(claim).collect());
    encoded(verdicts.into_iter().map(u8::from).collect::<Vec<u8>>())
}

/// Gives the memory of the keys met back.
fn forget_keys() -> Json {
    KEYS.lock().unwrap_or_else(PoisonError::into_inner).clear();
    Json::Null
}
