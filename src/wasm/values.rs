//! Calls about values: canonical JSON, hashes, base64, amounts, addresses, networks, times, and the registry of codes.

use super::Input;
use crate::address::Address;
use crate::amount::{self, Amount};
use crate::error::{Code, Error, Money, Next};
use crate::json::{self, Json};
use crate::network::{self, Network};
use crate::{base64, digest, hex, time};

/// Answers the call when its name belongs here.
pub(super) fn call(name: &str, input: &Input) -> Option<Result<Json, Error>> {
    let json = &input.json;
    Some(match name {
        "canonicalize" => json
            .read("json", |text| json::canonicalize(text.as_str()?))
            .map(Json::String),
        "canonicalSha256" => json
            .read("json", |text| json::canonicalize(text.as_str()?))
            .map(|text| Json::text(hex::encode(digest::sha256(text.as_bytes())))),
        "rawCanonicalize" => json
            .read("json", |text| json::parse(text.as_str()?)?.to_plain_canonical())
            .map(Json::String),
        "sha256" => input
            .bytes("bytes")
            .map(|bytes| Json::text(hex::encode(digest::sha256(bytes)))),
        "rawBase64Decode" => json
            .read("text", |text| base64::decode_header(text.as_str()?))
            .map(|bytes| Json::text(hex::encode(bytes))),
        "rawBase64Encode" => input
            .bytes("bytes")
            .map(|bytes| Json::text(base64::encode(bytes))),
        "rawChecksumAddress" => json
            .read("address", Address::from_json)
            .map(|address| address.to_json()),
        "parseAmount" => json
            .read("value", Amount::from_json)
            .map(|amount| amount.to_json()),
        "parseUnits" => parse_units(json),
        "parseNetwork" => parse_network(json).map(|network| network.to_json()),
        "knownToken" => known_token(json),
        "parseSeconds" => json.read("value", time::parse_seconds).map(Json::number),
        "parseHttpDate" => json
            .read("text", |text| Ok(time::parse_http_date(text.as_str()?)))
            .map(|seconds| seconds.map_or(Json::Null, Json::number)),
        "errorWords" => Ok(error_words()),
        "errorCodes" => Ok(Json::Array(Code::ALL.iter().copied().map(code_json).collect())),
        _ => return None,
    })
}

fn parse_units(json: &Json) -> Result<Json, Error> {
    let decimals = json.read("decimals", |decimals| {
        u8::try_from(decimals.as_u64()?)
            .ok()
            .filter(|decimals| *decimals <= 77)
            .ok_or_else(|| Error::new(Code::NumberOutOfRange, ""))
    })?;
    json.read("value", |value| amount::parse_units(value.as_str()?, decimals))
        .map(|amount| amount.to_json())
}

/// Input `{network, asset}`; answer `{name, decimals}` of a token that is known here, else null.
fn known_token(json: &Json) -> Result<Json, Error> {
    let network = json.read("network", Network::from_json)?;
    let asset = json.read("asset", Address::from_json)?;
    Ok(
        network::known_token(&network, &asset).map_or(Json::Null, |token| {
            Json::object([
                ("name", Json::text(token.name)),
                ("decimals", Json::number(u64::from(token.decimals))),
            ])
        }),
    )
}

fn parse_network(json: &Json) -> Result<Network, Error> {
    match json.read_opt("x402Version", Json::as_u64)? {
        Some(1) => json.read("value", |value| {
            let name = value.as_str()?;
            Network::from_v1_name(name).or_else(|_| Network::parse(name))
        }),
        None | Some(2) => json.read("value", Network::from_json),
        Some(_) => Err(Error::new(Code::UnsupportedVersion, "x402Version")),
    }
}

/// What each `next` and each `money` means: `{next, money}`, both by their texts.
fn error_words() -> Json {
    let next = Next::ALL.iter();
    let next = next.map(|next| (next.as_str().to_owned(), Json::text(next.meaning())));
    let money = Money::ALL.iter();
    let money = money.map(|money| (money.as_str().to_owned(), Json::text(money.meaning())));
    Json::object([
        ("next", Json::Object(next.collect())),
        ("money", Json::Object(money.collect())),
    ])
}

fn code_json(code: Code) -> Json {
    Json::object([
        ("code", Json::text(code.as_str())),
        ("meaning", Json::text(code.meaning())),
        ("next", Json::text(code.next().as_str())),
        ("money", Json::text(code.money().as_str())),
    ])
}
