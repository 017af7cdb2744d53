//! Approvals and refusals: what a person signs, and the document that comes of it.

use super::Input;
use crate::address::Address;
use crate::amount::Amount;
use crate::approval::{self, Answer, Approval, Refusal};
use crate::error::Error;
use crate::hex;
use crate::json::Json;
use crate::network::Network;

/// Answers the call when its name belongs here.
pub(super) fn call(name: &str, input: &Input) -> Option<Result<Json, Error>> {
    match name {
        "approvalDocument" => Some(document(&input.json)),
        "refusalDocument" => Some(refusal(&input.json)),
        _ => None,
    }
}

/// Input `{request, at, expiresAt, intentId?, amount?, signature?}`: what a person signs to answer this request, and with the signature the document.
/// The intent and the amount are the request's own where nothing is said; answer `{typedData, digest, hash, requestHash, approval?}`.
fn document(json: &Json) -> Result<Json, Error> {
    // A host shows the request with its hash; the hash is of the request itself.
    let request = json.require("request")?.clone().without("hash");
    let within = |error: Error| error.within("request");
    let own = |name: &str| request.require(name).map_err(within);
    let approval = Approval {
        at: json.read("at", Json::as_u64)?,
        expires_at: json.read("expiresAt", Json::as_u64)?,
        request: approval::request_hash(&request)?,
        payer: request.read("payer", Address::from_json).map_err(within)?,
        intent_id: json
            .get("intentId")
            .map_or_else(|| own("intentId"), Ok)?
            .as_string()?,
        network: request.read("network", Network::from_json).map_err(within)?,
        asset: request.read("asset", Address::from_json).map_err(within)?,
        amount: Amount::from_json(json.get("amount").map_or_else(|| own("amount"), Ok)?)
            .map_err(|error| error.within("amount"))?,
    };
    let document = signed(json, &approval)?;
    if let Some(document) = &document {
        Approval::from_json(document)?;
    }
    Ok(told(&approval, approval.request)?.with_some("approval", document))
}

/// Input `{request, at, signature?}`: what a person signs to refuse this request, and with the signature the document; answer `{typedData, digest, hash, requestHash,
/// refusal?}`.
fn refusal(json: &Json) -> Result<Json, Error> {
    let request = json.require("request")?.clone().without("hash");
    let within = |error: Error| error.within("request");
    let refusal = Refusal {
        at: json.read("at", Json::as_u64)?,
        request: approval::request_hash(&request)?,
        payer: request.read("payer", Address::from_json).map_err(within)?,
        intent_id: request.read("intentId", Json::as_string).map_err(within)?,
    };
    let document = signed(json, &refusal)?;
    Ok(told(&refusal, refusal.request)?.with_some("refusal", document))
}

/// The document, once there is a signature.
fn signed(json: &Json, answer: &impl Answer) -> Result<Option<Json>, Error> {
    let signature = json.read_opt("signature", Json::as_str)?;
    signature.map(|signature| answer.to_json(signature)).transpose()
}

fn told(answer: &impl Answer, request: [u8; 32]) -> Result<Json, Error> {
    Ok(Json::object([
        ("typedData", answer.typed_data()?),
        ("digest", Json::text(hex::encode(answer.digest()?))),
        ("hash", Json::text(hex::encode(answer.hash()?))),
        ("requestHash", Json::text(hex::encode(request))),
    ]))
}
