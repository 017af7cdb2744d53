//! The identity of an intent, and what is derived from it: the nonce, the payment id, the payer's secret.
//!
//! Every value here is a digest over a tag, a line feed and the RFC 8785 text of one object, so that another machine, or
//! the same one after losing everything, derives it again. docs/formats.md has the objects and worked examples.

use hkdf::Hkdf;
use sha2::Sha256;

use crate::address::Address;
use crate::digest;
use crate::error::{Code, Error};
use crate::hex;
use crate::json::Json;
use crate::network::Network;

/// Domain tag of an intent id derived from what is wanted.
pub const TAG: &str = "counterfoil/intent/v1";
/// Domain tag of an intent id derived from the caller's own id.
pub const EXPLICIT_TAG: &str = "counterfoil/explicit-intent/v1";
/// Domain tag of the authorization nonce.
pub const NONCE_TAG: &str = "counterfoil/nonce/v1";
/// Domain tag of the Permit2 nonce.
pub const PERMIT2_NONCE_TAG: &str = "counterfoil/permit2-nonce/v1";
/// Domain tag of the payment id.
pub const PAYMENT_ID_TAG: &str = "counterfoil/payment-id/v1";
/// The `info` of the HKDF that makes the default secret.
pub const SECRET_INFO: &str = "counterfoil/secret/v1";

/// Identity of an intent: SHA-256, tag `counterfoil/intent/v1`, of `{"args","operation","parent"?,"principal","scope"}`.
/// A purpose or a label is no part of it. Errors: `missing_field` (empty operation or parent), `number_out_of_range`.
pub fn intent_id(
    principal: &Address,
    operation: &str,
    args: &Json,
    scope: &str,
    parent: Option<&str>,
) -> Result<String, Error> {
    for (name, text) in [("operation", Some(operation)), ("parent", parent)] {
        if text.is_some_and(str::is_empty) {
            return Err(Error::new(Code::MissingField, name));
        }
    }
    let intent = Json::object([
        ("principal", principal.to_json()),
        ("operation", Json::text(operation)),
        ("args", args.clone()),
        ("scope", Json::text(scope)),
    ])
    .with_some("parent", parent.map(Json::text));
    Ok(hex::encode(digest::tagged(TAG, &intent)?))
}

/// Identity of a call without an id of its own: [`intent_id`] with the operation `fetch` and the args `{"fingerprint",
/// "occurrence"}`. Errors: those of [`intent_id`].
pub fn unnamed_intent_id(
    principal: &Address,
    fingerprint: &[u8; 32],
    occurrence: u64,
    scope: &str,
    parent: Option<&str>,
) -> Result<String, Error> {
    let args = Json::object([
        ("fingerprint", Json::text(hex::encode(fingerprint))),
        ("occurrence", Json::number(occurrence)),
    ]);
    intent_id(principal, "fetch", &args, scope, parent)
}

/// Identity of an intent that the caller names: SHA-256, tag `counterfoil/explicit-intent/v1`, of `{"id","principal"}`.
/// The id's 16 to 256 characters (Unicode scalar values) count as they are, without trimming or folding. Error:
/// `intent_id_invalid`.
pub fn explicit_intent_id(principal: &Address, id: &str) -> Result<String, Error> {
    // The length in bytes is looked at first, so that a huge text is not walked.
    if id.len() > 4 * 256 || !(16..=256).contains(&id.chars().count()) {
        return Err(Error::new(Code::IntentIdInvalid, "id"));
    }
    let intent = Json::object([("principal", principal.to_json()), ("id", Json::text(id))]);
    Ok(hex::encode(digest::tagged(EXPLICIT_TAG, &intent)?))
}

/// The id of a purchase: by the caller's own id, else by the request, the scope and the number of the call. Errors: those of
/// [`explicit_intent_id`] and [`unnamed_intent_id`].
pub fn purchase_intent_id(
    principal: &Address,
    id: Option<&str>,
    fingerprint: &[u8; 32],
    occurrence: u64,
    scope: &str,
    parent: Option<&str>,
) -> Result<String, Error> {
    match id {
        Some(id) => explicit_intent_id(principal, id),
        None => unnamed_intent_id(principal, fingerprint, occurrence, scope, parent),
    }
}

/// The EIP-3009 nonce of an intent: tag `counterfoil/nonce/v1` over
/// `{"asset","generation","index","intentId","network","payer"}`; HMAC-SHA-256 under the secret, plain SHA-256 without
/// one. Terms, windows and quotes are no part of it, so every signature of the intent competes for one slot. Never all
/// zero. Errors: `intent_id_invalid`, `secret_invalid`, `number_out_of_range`, `nonce_invalid`.
#[allow(
    clippy::too_many_arguments,
    reason = "each one is a named part of the derivation"
)]
pub fn authorization_nonce(
    intent_id: &str,
    payer: &Address,
    network: &Network,
    asset: &Address,
    generation: u64,
    index: u64,
    secret: Option<&[u8]>,
) -> Result<[u8; 32], Error> {
    let slot = slot(intent_id, payer, network, asset, generation, index)?;
    nonce(NONCE_TAG, &slot, secret)
}

/// The Permit2 nonce of an intent, the big-endian bytes of a 256-bit number: as [`authorization_nonce`], under the tag
/// `counterfoil/permit2-nonce/v1`. Errors: those of [`authorization_nonce`].
#[allow(
    clippy::too_many_arguments,
    reason = "each one is a named part of the derivation"
)]
pub fn permit2_nonce(
    intent_id: &str,
    payer: &Address,
    network: &Network,
    asset: &Address,
    generation: u64,
    index: u64,
    secret: Option<&[u8]>,
) -> Result<[u8; 32], Error> {
    let slot = slot(intent_id, payer, network, asset, generation, index)?;
    nonce(PERMIT2_NONCE_TAG, &slot, secret)
}

fn slot(
    intent_id: &str,
    payer: &Address,
    network: &Network,
    asset: &Address,
    generation: u64,
    index: u64,
) -> Result<Json, Error> {
    Ok(Json::object([
        ("intentId", known_id(intent_id)?),
        ("payer", payer.to_json()),
        ("network", network.to_json()),
        ("asset", asset.to_json()),
        ("generation", Json::number(generation)),
        ("index", Json::number(index)),
    ]))
}

fn nonce(tag: &str, slot: &Json, secret: Option<&[u8]>) -> Result<[u8; 32], Error> {
    match derived(tag, slot, secret)? {
        nonce if nonce == [0; 32] => Err(Error::new(Code::NonceInvalid, "nonce")),
        nonce => Ok(nonce),
    }
}

/// The client's idempotency key: `pay_` and the 64 digits of the digest, tag `counterfoil/payment-id/v1`, of
/// `{"generation","intentId","quoteHash"}`; HMAC-SHA-256 under the secret, plain SHA-256 without one. Errors:
/// `intent_id_invalid`, `secret_invalid`, `number_out_of_range`.
pub fn payment_id(
    intent_id: &str,
    quote_hash: &[u8; 32],
    generation: u64,
    secret: Option<&[u8]>,
) -> Result<String, Error> {
    let bound = Json::object([
        ("intentId", known_id(intent_id)?),
        ("quoteHash", Json::text(hex::encode(quote_hash))),
        ("generation", Json::number(generation)),
    ]);
    Ok(hex::encode(derived(PAYMENT_ID_TAG, &bound, secret)?).replacen("0x", "pay_", 1))
}

/// The payer's secret when none is configured: HKDF-SHA-256 (RFC 5869) of the 32-byte private key, no salt, info
/// `counterfoil/secret/v1`, 32 bytes. Error: `private_key_invalid`.
pub fn default_secret(private_key: &[u8]) -> Result<[u8; 32], Error> {
    let invalid = || Error::new(Code::PrivateKeyInvalid, "privateKey");
    if private_key.len() != 32 || private_key.iter().all(|byte| *byte == 0) {
        return Err(invalid());
    }
    let mut secret = [0; 32];
    Hkdf::<Sha256>::new(None, private_key)
        .expand(SECRET_INFO.as_bytes(), &mut secret)
        .map_err(|_| invalid())?;
    Ok(secret)
}

fn known_id(intent_id: &str) -> Result<Json, Error> {
    if intent_id.is_empty() || intent_id.len() > 4 * 256 {
        return Err(Error::new(Code::IntentIdInvalid, "intentId"));
    }
    Ok(Json::text(intent_id))
}

fn derived(tag: &str, value: &Json, secret: Option<&[u8]>) -> Result<[u8; 32], Error> {
    match secret {
        None => digest::tagged(tag, value),
        Some(secret) => check_secret(secret).and_then(|()| digest::keyed(secret, tag, value)),
    }
}

/// Whether a secret is 16 to 64 bytes long. Error: `secret_invalid`.
pub fn check_secret(secret: &[u8]) -> Result<(), Error> {
    match secret.len() {
        16..=64 => Ok(()),
        _ => Err(Error::new(Code::SecretInvalid, "secret")),
    }
}
