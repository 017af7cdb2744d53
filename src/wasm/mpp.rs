//! Calls about the Payment HTTP scheme: decode, call, encode.

use super::Input;
use crate::error::Error;
use crate::hex;
use crate::json::Json;
use crate::mpp::challenge::{self, Challenge};
use crate::mpp::charge;
use crate::mpp::credential::{self, Credential};
use crate::mpp::{proof, receipt, tempo};
use crate::tempo::Transaction;

/// Answers the call when its name belongs here.
pub(super) fn call(name: &str, input: &Input) -> Option<Result<Json, Error>> {
    let function = match name {
        "parseChallenges" => parse_challenges,
        "challengeId" => challenge_id,
        "isOwnChallenge" => is_own_challenge,
        "challengeNonce" => challenge_nonce,
        "challengeMemo" => challenge_memo,
        "encodeCredential" => encode_credential,
        "parseCredential" => parse_credential,
        "chargeProof" => charge_proof,
        "parsePaymentReceipt" => parse_payment_receipt,
        "tempoTransaction" => tempo_transaction,
        "tempoPayment" => tempo_payment,
        _ => return None,
    };
    Some(function(input))
}

/// Answer `{challenges, refused: [{code, field}]}`.
fn parse_challenges(input: &Input) -> Result<Json, Error> {
    let found = input
        .json
        .read("headerValue", |value| challenge::parse(value.as_str()?))?;
    let (mut challenges, mut refused) = (Vec::new(), Vec::new());
    for one in found {
        match one {
            Ok(challenge) => challenges.push(challenge.to_json()),
            Err(error) => refused.push(Json::object([
                ("code", Json::text(error.code.as_str())),
                ("field", Json::text(&error.field)),
            ])),
        }
    }
    Ok(Json::object([
        ("challenges", Json::Array(challenges)),
        ("refused", Json::Array(refused)),
    ]))
}

fn challenge_of(input: &Input) -> Result<Challenge, Error> {
    input.json.read("challenge", Challenge::from_json)
}

/// The challenge may come without an id.
fn challenge_id(input: &Input) -> Result<Json, Error> {
    let without = |json: &Json| match json.get("id") {
        Some(_) => Challenge::from_json(json),
        None => Challenge::from_json(&json.clone().with("id", Json::text("-"))),
    };
    let challenge = input.json.read("challenge", without)?;
    challenge.bound_id(input.secret("secret")?).map(Json::String)
}

fn is_own_challenge(input: &Input) -> Result<Json, Error> {
    challenge_of(input)?
        .is_bound(input.secret("secret")?)
        .map(Json::Bool)
}

fn challenge_nonce(input: &Input) -> Result<Json, Error> {
    Ok(Json::text(hex::encode(challenge_of(input)?.nonce())))
}

fn challenge_memo(input: &Input) -> Result<Json, Error> {
    let client_id = input.json.read_opt("clientId", Json::as_str)?;
    Ok(Json::text(hex::encode(charge::memo(
        &challenge_of(input)?,
        client_id,
    ))))
}

/// Answer `{header, value}`.
fn encode_credential(input: &Input) -> Result<Json, Error> {
    let credential = input.json.read("credential", Credential::from_json)?;
    Ok(Json::object([
        ("header", Json::text(credential.challenge.carrier())),
        ("value", Json::String(credential.encode())),
    ]))
}

fn parse_credential(input: &Input) -> Result<Json, Error> {
    input
        .json
        .read("headerValue", |value| credential::parse(value.as_str()?))
        .map(|credential| credential.to_json())
}

/// Answer the form, or null.
fn charge_proof(input: &Input) -> Result<Json, Error> {
    let credential = input.json.read("credential", Credential::from_json)?;
    let form = proof::form(&credential).map_err(|error| error.within("credential"))?;
    Ok(form.map_or(Json::Null, |form| Json::text(form.as_str())))
}

fn parse_payment_receipt(input: &Input) -> Result<Json, Error> {
    input
        .json
        .read("headerValue", |value| receipt::parse(value.as_str()?))
        .map(|receipt| receipt.to_json())
}

fn tempo_transaction(input: &Input) -> Result<Json, Error> {
    let transaction = input.json.read("transaction", Transaction::from_json)?;
    Ok(transaction.to_json())
}

fn tempo_payment(input: &Input) -> Result<Json, Error> {
    let transaction = input.json.read("transaction", Transaction::from_json)?;
    tempo::read(&transaction, &challenge_of(input)?).map(|payment| payment.to_json())
}
