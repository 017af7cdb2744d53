//! The records of a bundle, read strictly.

use super::{Attempt, Claim, Delivery, Observation, Quote, Rail, Record};
use crate::address::Address;
use crate::attempt::{is_not_final, MAX_PARTS};
use crate::authorization::{Authorization, Method};
use crate::error::{Code, Error};
use crate::fingerprint::Request;
use crate::hex;
use crate::json::Json;
use crate::mpp;
use crate::network::Network;
use crate::quote::{Offered, Protocol};
use crate::receipt::bundle::invalid;

/// The payer and the records. Errors: `receipt_invalid` (type, kind, a state that is not known), `unsupported_version`, those of
/// the fields with their path.
pub(crate) fn bundle(json: &Json) -> Result<(Address, Vec<Record<'_>>), Error> {
    known(json, "type", &["counterfoil/bundle"])?;
    version(json)?;
    Ok((
        json.read("payer", Address::from_json)?,
        json.read("intents", |list| list.as_list(record))?,
    ))
}

fn version(json: &Json) -> Result<(), Error> {
    match json.read("v", Json::as_u64)? {
        1 => Ok(()),
        _ => Err(Error::new(Code::UnsupportedVersion, "v")),
    }
}

fn known<'a>(json: &'a Json, name: &str, texts: &[&str]) -> Result<&'a str, Error> {
    let text = json.read(name, Json::as_str)?;
    texts.contains(&text).then_some(text).ok_or_else(|| invalid(name))
}

fn record(json: &Json) -> Result<Record<'_>, Error> {
    let split = |attempt: &Json| attempt.get("parts").is_some();
    let attempts = json.read("attempts", Json::as_array)?;
    let quotes = json.read("quotes", |list| list.as_list(quote))?;
    let dictated = quotes.iter().any(|quote| quote.offered.challenge().is_some());
    match (
        json.read("v", Json::as_u64)?,
        dictated || attempts.iter().any(split),
    ) {
        (1, false) | (2, true) => {}
        _ => return Err(Error::new(Code::UnsupportedVersion, "v")),
    }
    known(json, "kind", &["intent"])?;
    Ok(Record {
        json,
        intent_id: json.read("intentId", Json::as_str)?,
        principal: json.read("principal", Address::from_json)?,
        id: json.read_opt("id", Json::as_str)?,
        scope: json.read("scope", Json::as_str)?,
        parent: json.read_opt("parent", Json::as_str)?,
        occurrence: json.read("occurrence", Json::as_u64)?,
        request: json.read("request", Request::from_json)?,
        fingerprint: json.read("request", |request| request.read("fingerprint", Json::as_hex))?,
        status: known(
            json,
            "status",
            &["open", "delivered", "paid_not_delivered", "released"],
        )?,
        rail: json.read_opt("rail", rail)?,
        generation: json.read("generation", Json::as_u64)?,
        keyed: json.read("keyed", Json::as_bool)?,
        contract_wallet: json.read_opt("contractWallet", Json::as_bool)?.unwrap_or(false),
        quotes,
        attempts: json.read("attempts", |list| list.as_list(attempt))?,
        delivery: json.read_opt("delivery", delivery)?,
        claim: json.read_opt("claim", claim)?,
    })
}

fn rail(json: &Json) -> Result<Rail, Error> {
    known(json, "method", &["eip3009", "permit2", "tempo"])?;
    Ok(Rail {
        method: json.read("method", Method::from_json)?,
        protocol: json
            .read_opt("protocol", Protocol::from_json)?
            .unwrap_or(Protocol::X402),
        network: json.read("network", Network::from_json)?,
        asset: json.read("asset", Address::from_json)?,
        payer: json.read("payer", Address::from_json)?,
    })
}

fn quote(json: &Json) -> Result<Quote<'_>, Error> {
    let requirements = json.require("requirements")?;
    Ok(Quote {
        hash: json.read("quoteHash", Json::as_hex)?,
        requirements,
        offered: json.read("required", |required| Offered::read(required, requirements))?,
    })
}

fn attempt(json: &Json) -> Result<Attempt<'_>, Error> {
    let header = |header: &'_ Json| -> Result<_, Error> {
        Ok((
            header.read("name", Json::as_string)?,
            header.read("value", Json::as_string)?,
        ))
    };
    json.read_opt("header", header)?;
    let parts = json.read_opt("parts", Json::as_array)?.unwrap_or_default();
    if parts.len() >= MAX_PARTS {
        return Err(invalid("parts"));
    }
    let parts = parts.iter().enumerate().map(|(index, part)| {
        let within = |error: Error| error.within(&format!("parts[{index}]"));
        of(json, part).map_err(within)
    });
    Ok(Attempt {
        parts: parts.collect::<Result<_, _>>()?,
        ..of(json, json)?
    })
}

/// The attempt with this one of its authorizations.
fn of<'a>(json: &'a Json, signed: &'a Json) -> Result<Attempt<'a>, Error> {
    let header = |name: &str| {
        json.get("header")
            .and_then(|header| header.get(name)?.as_str().ok())
    };
    let verdict = signed.read_opt("verdict", |verdict| {
        Ok((
            known(verdict, "verdict", VERDICTS)?,
            verdict.read_opt("transaction", transaction)?,
        ))
    })?;
    Ok(Attempt {
        json,
        parts: Vec::new(),
        id: json.read("attemptId", Json::as_str)?,
        quote_hash: json.read("quoteHash", Json::as_hex)?,
        payment_id: json.read_opt("paymentId", Json::as_str)?,
        generation: json.read("generation", Json::as_u64)?,
        authorization: Authorization::read(signed)?,
        signature: signed.read_opt("signature", Json::as_str)?,
        header: header("name").zip(header("value")),
        settlement: json.read_opt("settlement", Json::as_str)?,
        receipt: json.read_opt("receipt", |value| mpp::receipt::parse(value.as_str()?))?,
        transaction: signed.read_opt("transaction", transaction)?,
        state: known(
            json,
            "state",
            &[
                "planned",
                "signed",
                "sent",
                "paid",
                "dead",
                "cancelled",
                "wrong_terms",
                "partly_paid",
            ],
        )?,
        observed: json
            .read_opt("observations", |list| list.as_list(observation))?
            .unwrap_or_default(),
        verdict,
        provisional: signed.get("verdict").is_some_and(is_not_final),
        evidence: signed.read_opt("evidence", Json::as_array)?.unwrap_or_default(),
        given: json.read_opt("givenBy", Json::as_str)?.is_some(),
    })
}

const VERDICTS: &[&str] = &[
    "not_yet",
    "dead",
    "paid",
    "paid_wrong_terms",
    "cancelled",
    "used_or_cancelled",
    "unreadable",
];

fn transaction(json: &Json) -> Result<&str, Error> {
    let text = json.as_str()?;
    hex::decode_array::<32>(text).map(|_| text)
}

fn observation(json: &Json) -> Result<Observation<'_>, Error> {
    const OUTCOMES: &[&str] = &[
        "settled",
        "delivered",
        "rejected",
        "in_flight",
        "conflict",
        "unknown",
    ];
    Ok(Observation {
        status: json.read_opt("status", Json::as_u64)?,
        outcome: known(json, "outcome", OUTCOMES)?,
        transaction: json.read_opt("transaction", Json::as_str)?,
    })
}

fn delivery(json: &Json) -> Result<Delivery<'_>, Error> {
    let headers = json.read("headers", Json::as_object)?;
    let named = |name: &str| {
        ["payment-response", "x-payment-response"]
            .iter()
            .any(|known| known.eq_ignore_ascii_case(name))
    };
    Ok(Delivery {
        attempt_id: json.read("attemptId", Json::as_str)?,
        status: json.read("status", Json::as_u64)?,
        sha256: json.read("sha256", Json::as_hex)?,
        length: json.read("length", Json::as_u64)?,
        body: json.read_opt("body", Json::as_str)?,
        settlement: headers
            .iter()
            .find(|(name, _)| named(name))
            .and_then(|(_, value)| value.as_str().ok()),
    })
}

fn claim(json: &Json) -> Result<Claim<'_>, Error> {
    Ok(Claim {
        intent_id: json.read("intentId", Json::as_str)?,
        quote_hash: json.read("quoteHash", Json::as_hex)?,
        transaction: json.read_opt("transaction", transaction)?,
        sha256: json.read_opt("sha256", Json::as_hex)?,
    })
}
