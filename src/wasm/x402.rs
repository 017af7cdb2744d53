//! Messages, hashes and decisions: decode, call, encode.

use super::Input;
use crate::address::Address;
use crate::amount::Amount;
use crate::authorization::Method;
use crate::call_key::{self, Rule};
use crate::eip3009::Authorization;
use crate::error::{Code, Error};
use crate::finding::Finding;
use crate::fingerprint::Request;
use crate::hex;
use crate::json::Json;
use crate::network::Network;
use crate::outcome::{self, Answer};
use crate::permit2::Permit;
use crate::policy::{Chosen, Offers, Pinned, Policy, Spent};
use crate::quote::Protocol;
use crate::x402::payment_required::{self, Offer, PaymentRequired, Signing};
use crate::x402::{payment_identifier, payment_payload, settlement_response};
use crate::{intent, quote, time};

/// Answers the call when its name belongs here.
pub(super) fn call(name: &str, input: &Input) -> Option<Result<Json, Error>> {
    let function = match name {
        "parsePaymentRequired" => parse_payment_required,
        "encodePayment" => encode_payment,
        "parsePayment" => parse_payment,
        "buildPayment" => build_payment,
        "parseSettlement" => parse_settlement,
        "paymentIdValid" => payment_id_valid,
        "paymentIdentifierOf" => payment_identifier_of,
        "requestFingerprint" => request_fingerprint,
        "quoteHash" => quote_hash,
        "quoteKey" => quote_key,
        "callKey" => call_key,
        "findMissedFields" => find_missed_fields,
        "intentId" => intent_id,
        "explicitIntentId" => explicit_intent_id,
        "authorizationNonce" => authorization_nonce,
        "permit2Nonce" => permit2_nonce,
        "paymentId" => payment_id,
        "defaultSecret" => default_secret,
        "classify" => classify,
        "policyChoose" => policy_choose,
        "policyDecide" => policy_decide,
        _ => return None,
    };
    Some(function(input))
}

fn price(json: &Json) -> Result<PaymentRequired, Error> {
    payment_required::parse(
        json.read_opt("header", Json::as_str)?,
        json.read_opt("body", Json::as_str)?,
    )
}

fn parse_payment_required(input: &Input) -> Result<Json, Error> {
    Ok(price(&input.json)?.to_json())
}

fn encode_payment(input: &Input) -> Result<Json, Error> {
    let (header, value) = input.json.read("payload", payment_payload::encode)?;
    Ok(Json::object([
        ("header", Json::text(header)),
        ("value", Json::text(value)),
    ]))
}

fn parse_payment(input: &Input) -> Result<Json, Error> {
    input
        .json
        .read("headerValue", |value| payment_payload::parse(value.as_str()?))
}

/// Input `{header? | body?, index, authorization | permit2Authorization, signature, paymentId?}`; answer `{payload, header, value}`.
fn build_payment(input: &Input) -> Result<Json, Error> {
    let required = price(&input.json)?;
    let index = input.json.read("index", Json::as_u64)?;
    let offer = usize::try_from(index)
        .ok()
        .and_then(|index| required.offers.get(index))
        .ok_or_else(|| Error::new(Code::NumberOutOfRange, "index"))?;
    let permit = input.json.read_opt("permit2Authorization", Permit::from_json)?;
    let authorization = match permit {
        Some(_) => None,
        None => Some(input.json.read("authorization", Authorization::from_json)?),
    };
    let signature = input.json.read("signature", Json::as_str)?;
    let payment_id = input.json.read_opt("paymentId", Json::as_str)?;
    let payload = match (&permit, &authorization) {
        (Some(permit), _) => payment_payload::build_permit2(&required, offer, permit, signature, payment_id)?,
        (None, Some(one)) => payment_payload::build(&required, offer, one, signature, payment_id)?,
        (None, None) => return Err(Error::new(Code::MissingField, "authorization")),
    };
    let (header, value) = payment_payload::encode(&payload)?;
    Ok(Json::object([
        ("payload", payload),
        ("header", Json::text(header)),
        ("value", Json::text(value)),
    ]))
}

fn parse_settlement(input: &Input) -> Result<Json, Error> {
    input.json.read("headerValue", |value| {
        Ok(settlement_response::parse(value.as_str()?)?.json)
    })
}

fn payment_id_valid(input: &Input) -> Result<Json, Error> {
    Ok(Json::Bool(payment_identifier::is_valid(
        input.json.read("id", Json::as_str)?,
    )))
}

/// Input `{payload}`; answer the well-formed payment id in it, or null.
fn payment_identifier_of(input: &Input) -> Result<Json, Error> {
    let payload = input.json.require("payload")?;
    Ok(payment_identifier::extract(payload).map_or(Json::Null, Json::text))
}

fn request_fingerprint(input: &Input) -> Result<Json, Error> {
    let method = input.json.read("method", Json::as_str)?;
    let url = input.json.read("url", Json::as_str)?;
    let request = Request::new(method, url, input.bytes.as_deref().unwrap_or_default())?;
    Ok(Json::text(hex::encode(request.fingerprint()?)))
}

fn quote_hash(input: &Input) -> Result<Json, Error> {
    let requirements = input.json.require("requirements")?;
    let fingerprint = input.json.read("fingerprint", Json::as_hex)?;
    Ok(Json::text(hex::encode(quote::quote_hash(
        requirements,
        &fingerprint,
    )?)))
}

fn quote_key(input: &Input) -> Result<Json, Error> {
    let buyer = input.json.read("buyer", Address::from_json)?;
    let intent_id = input.json.read("intentId", Json::as_str)?;
    quote::quote_key(&buyer, intent_id, any(&input.json, "request")?).map(Json::text)
}

fn intent_id(input: &Input) -> Result<Json, Error> {
    let principal = input.json.read("principal", Address::from_json)?;
    let operation = input.json.read("operation", Json::as_str)?;
    let scope = input.json.read("scope", Json::as_str)?;
    let parent = input.json.read_opt("parent", Json::as_str)?;
    intent::intent_id(&principal, operation, any(&input.json, "args")?, scope, parent).map(Json::text)
}

/// `null` is a value of its own here, unlike an absent member.
fn any<'a>(json: &'a Json, wanted: &str) -> Result<&'a Json, Error> {
    match json.as_object()?.iter().find(|(name, _)| name == wanted) {
        Some((_, value)) => Ok(value),
        None => json.require(wanted),
    }
}

/// Input `{tool, args, scope, rule?}`; answer `{key, argsHash}`, or null for a read that is not keyed.
fn call_key(input: &Input) -> Result<Json, Error> {
    let tool = input.json.read("tool", Json::as_str)?;
    let scope = input.json.read("scope", Json::as_str)?;
    let rule = input.json.read_opt("rule", Rule::from_json)?.unwrap_or_default();
    let key = call_key::call_key(tool, any(&input.json, "args")?, scope, &rule)?;
    Ok(key.map_or(Json::Null, |key| key.to_json()))
}

/// Input `{calls: [{key?, tool, args, scope, at, rule?}], window?}`; answer the findings.
fn find_missed_fields(input: &Input) -> Result<Json, Error> {
    let calls = input.json.read("calls", |list| list.as_list(call_made))?;
    let window = input.json.read_opt("window", time::parse_seconds)?;
    let found = call_key::missed_fields(&calls, window.unwrap_or(call_key::DEFAULT_WINDOW))?;
    Ok(Json::Array(found.iter().map(Finding::to_json).collect()))
}

fn call_made(json: &Json) -> Result<call_key::Call, Error> {
    Ok(call_key::Call {
        key: json.read_opt("key", Json::as_string)?,
        tool: json.read("tool", Json::as_string)?,
        args: any(json, "args")?.clone(),
        scope: json.read("scope", Json::as_string)?,
        at: json.read("at", time::parse_seconds)?,
        rule: json.read_opt("rule", Rule::from_json)?.unwrap_or_default(),
    })
}

fn explicit_intent_id(input: &Input) -> Result<Json, Error> {
    let principal = input.json.read("principal", Address::from_json)?;
    intent::explicit_intent_id(&principal, input.json.read("id", Json::as_str)?).map(Json::text)
}

fn authorization_nonce(input: &Input) -> Result<Json, Error> {
    let nonce = intent::authorization_nonce(
        input.json.read("intentId", Json::as_str)?,
        &input.json.read("payer", Address::from_json)?,
        &input.json.read("network", Network::from_json)?,
        &input.json.read("asset", Address::from_json)?,
        input.json.read("generation", Json::as_u64)?,
        input.json.read_opt("index", Json::as_u64)?.unwrap_or(0),
        secret(input),
    )?;
    Ok(Json::text(hex::encode(nonce)))
}

/// As `authorizationNonce`; answer the decimal text that a permit carries.
fn permit2_nonce(input: &Input) -> Result<Json, Error> {
    let nonce = intent::permit2_nonce(
        input.json.read("intentId", Json::as_str)?,
        &input.json.read("payer", Address::from_json)?,
        &input.json.read("network", Network::from_json)?,
        &input.json.read("asset", Address::from_json)?,
        input.json.read("generation", Json::as_u64)?,
        input.json.read_opt("index", Json::as_u64)?.unwrap_or(0),
        secret(input),
    )?;
    Ok(Amount::from_be_bytes(nonce).to_json())
}

fn payment_id(input: &Input) -> Result<Json, Error> {
    let id = intent::payment_id(
        input.json.read("intentId", Json::as_str)?,
        &input.json.read("quoteHash", Json::as_hex)?,
        input.json.read("generation", Json::as_u64)?,
        secret(input),
    )?;
    Ok(Json::text(id))
}

fn secret(input: &Input) -> Option<&[u8]> {
    input.secret.as_ref().map(|secret| secret.as_slice())
}

fn default_secret(input: &Input) -> Result<Json, Error> {
    Ok(Json::text(hex::encode(intent::default_secret(
        input.secret("privateKey")?,
    )?)))
}

fn classify(input: &Input) -> Result<Json, Error> {
    Ok(outcome::classify(&input.json.read("answer", Answer::from_json)?).to_json())
}

/// Input `{policy, header? | body?, payer, pinned?: {network, asset, method?}}`; answer `{index, terms}`.
fn policy_choose(input: &Input) -> Result<Json, Error> {
    let policy = input.json.read("policy", Policy::from_json)?;
    let required = price(&input.json)?;
    let payer = input.json.read("payer", Address::from_json)?;
    let pinned = input.json.read_opt("pinned", |rail| {
        Ok((
            rail.read("network", Network::from_json)?,
            rail.read("asset", Address::from_json)?,
            rail.read_opt("method", Method::from_json)?
                .unwrap_or(Method::Eip3009),
        ))
    })?;
    let pinned = pinned.as_ref().map(|(network, asset, method)| Pinned {
        network,
        asset,
        method: *method,
        protocol: Protocol::X402,
    });
    let offers = Offers {
        required: Some(&required),
        challenges: &[],
    };
    let (Chosen::Offer(index) | Chosen::Challenge(index), terms) = policy.choose(offers, &payer, pinned)?;
    let shown = Json::object([
        ("network", terms.network.to_json()),
        ("asset", terms.asset.to_json()),
        ("payTo", terms.pay_to.to_json()),
        ("amount", terms.amount.to_json()),
        ("maxTimeoutSeconds", Json::number(terms.max_timeout)),
    ]);
    let parts = terms
        .shares
        .iter()
        .map(|share| Json::object([("payTo", share.to.to_json()), ("amount", share.amount.to_json())]));
    let parts: Vec<Json> = parts.collect();
    let shown = shown.with_some("parts", (parts.len() > 1).then_some(Json::Array(parts)));
    let shown = match &terms.signing {
        Signing::Eip3009(domain) => shown.with("domain", domain.to_json()),
        Signing::Permit2 => shown.with("method", Json::text(Method::Permit2.as_str())),
        Signing::Upto(facilitator) => shown
            .with("method", Json::text(Method::Permit2.as_str()))
            .with("scheme", Json::text("upto"))
            .with("facilitator", facilitator.to_json()),
        Signing::Tempo(_) => shown.with("method", Json::text(Method::Tempo.as_str())),
    };
    Ok(Json::object([
        ("index", Json::number(index as u64)),
        ("terms", shown),
    ]))
}

/// Input `{policy, terms: requirements of one offer, spent: [], tree?: [], now}`; answer as [`crate::policy::Decision`].
fn policy_decide(input: &Input) -> Result<Json, Error> {
    let policy = input.json.read("policy", Policy::from_json)?;
    let terms = input.json.read("terms", |terms| {
        Offer {
            requirements: terms.clone(),
        }
        .terms()
    })?;
    let list = |name| input.json.read_opt(name, |list| list.as_list(Spent::from_json));
    let now = input.json.read("now", Json::as_u64)?;
    let decision = policy.decide(&terms, &list("spent")?.unwrap_or_default(), now)?;
    match list("tree")? {
        Some(tree) if decision == crate::policy::Decision::Allow => {
            Ok(policy.decide_tree(&terms, &tree)?.to_json())
        }
        _ => Ok(decision.to_json()),
    }
}
