//! One frozen offer: payment requirements and the request they are for, hashed.
//!
//! What is normalised, so that one offer has one hash, and nothing else:
//! - `network`: a version 1 name becomes CAIP-2 (`base` → `eip155:8453`);
//! - `maxAmountRequired` (version 1) becomes `amount`;
//! - `asset` and `payTo` on an `eip155` network: letter case becomes EIP-55.
//!
//! Every other member, known or not, counts as it stands: a changed description, timeout or `extra` is another quote.
//! JSON's own freedom (member order, spaces, `10` and `10.0`, escapes) does not count, by RFC 8785.

mod offered;

pub use offered::{Offered, Payment, Protocol};

use crate::address::Address;
use crate::amount::Amount;
use crate::digest;
use crate::error::{Code, Error};
use crate::hex;
use crate::json::Json;
use crate::network::Network;

/// Domain tag of the quote hash.
pub const TAG: &str = "counterfoil/quote/v1";
/// Domain tag of the quote key.
pub const KEY_TAG: &str = "counterfoil/quote-key/v1";

/// SHA-256 over the tag `counterfoil/quote/v1`, a line feed and the RFC 8785 text of `{"fingerprint","requirements"}`,
/// the requirements normalised as the head of this file says. Errors: `invalid_type`, `network_invalid`,
/// `amount_must_be_string`, `amount_invalid`, `payment_required_invalid` (two different amounts), `address_invalid`,
/// `address_checksum`, `number_out_of_range`.
pub fn quote_hash(requirements: &Json, fingerprint: &[u8; 32]) -> Result<[u8; 32], Error> {
    let terms = normalised(requirements).map_err(|error| error.within("requirements"))?;
    let quote = Json::object([
        ("fingerprint", Json::text(hex::encode(fingerprint))),
        ("requirements", terms),
    ]);
    digest::tagged(TAG, &quote)
}

/// The key that a buyer sends when asking for a quote, so that a lost answer finds the same quote again: `quote_` and the
/// 64 digits of SHA-256 over the tag `counterfoil/quote-key/v1`, a line feed and the RFC 8785 text of
/// `{"buyer","intentId","request"}`. The intent is part of it: two honest identical purchases are two quotes. Errors:
/// `intent_id_invalid`, `number_out_of_range`.
pub fn quote_key(buyer: &Address, intent_id: &str, request: &Json) -> Result<String, Error> {
    if intent_id.is_empty() {
        return Err(Error::new(Code::IntentIdInvalid, "intentId"));
    }
    let key = Json::object([
        ("buyer", buyer.to_json()),
        ("intentId", Json::text(intent_id)),
        ("request", request.clone()),
    ]);
    let digest = hex::encode(digest::tagged(KEY_TAG, &key)?);
    Ok(digest.replacen("0x", "quote_", 1))
}

fn normalised(requirements: &Json) -> Result<Json, Error> {
    let network = requirements.read_opt("network", any_network)?;
    let evm = network
        .as_ref()
        .is_some_and(|network| network.chain_id().is_some());
    let old = requirements.read_opt("maxAmountRequired", Amount::from_json)?;
    let new = requirements.read_opt("amount", Amount::from_json)?;
    if old.is_some() && new.is_some() && old != new {
        return Err(Error::new(Code::PaymentRequiredInvalid, "maxAmountRequired"));
    }
    let mut members = Vec::new();
    for (name, value) in requirements.as_object()? {
        let value = match name.as_str() {
            "maxAmountRequired" if old.is_some() => continue,
            "asset" | "payTo" if evm => Address::from_json(value)
                .map_err(|error| error.within(name))?
                .to_json(),
            _ => value.clone(),
        };
        members.push((name.clone(), value));
    }
    let mut out = Json::Object(members);
    if let Some(network) = network {
        out.set("network", network.to_json());
    }
    if let Some(amount) = new.or(old) {
        out.set("amount", amount.to_json());
    }
    Ok(out)
}

/// A CAIP-2 network or the version 1 name of one.
fn any_network(json: &Json) -> Result<Network, Error> {
    let text = json.as_str()?;
    Network::parse(text).or_else(|_| Network::from_v1_name(text))
}
