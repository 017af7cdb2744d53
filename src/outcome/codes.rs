//! The sellers' codes that are known, and where they stand in a body.

use crate::json::Json;

/// What a known code means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Family {
    /// Another request holds the id.
    Conflict,
    /// The same request is still running.
    InFlight,
    /// The authorization was used, or may have been: the chain tells.
    Used,
    /// The seller's order is in another state.
    Order,
    /// The payment was refused by verification, before anything was sent to the chain.
    Refusal,
    /// The seller wants another request, or none for now. What became of the payment is not said.
    Request,
}

/// A code and what it means.
pub(super) type Known = (&'static str, Family);

/// Every code that is known, with its family.
pub const fn known_codes() -> &'static [(&'static str, Family)] {
    KNOWN
}

/// Refusals are verify codes of the x402 specification and of the official facilitator. Codes of settling
/// (`invalid_transaction_state`, `unexpected_settle_error`, `*_transaction_failed`, `*_transfer_event_mismatch`) and of
/// simulation are left out, `invalid_permit2_signature` among them: they are given after a broadcast, or because one happened.
const KNOWN: &[(&str, Family)] = &[
    ("payment_identifier_conflict", Family::Conflict),
    ("idempotency_conflict", Family::Conflict),
    ("credential_bound_elsewhere", Family::Conflict),
    ("idempotency_error", Family::Conflict),
    ("payment_in_flight", Family::InFlight),
    ("idempotency_in_flight", Family::InFlight),
    ("idempotency_key_in_use", Family::InFlight),
    ("quote_already_paying", Family::InFlight),
    ("payment_pending", Family::InFlight),
    ("settlement_pending", Family::InFlight),
    ("credential_replayed", Family::Used),
    ("authorization_used", Family::Used),
    ("nonce_already_used", Family::Used),
    ("invalid_exact_evm_nonce_already_used", Family::Used),
    ("authorization_is_used_or_canceled", Family::Used),
    ("permit2_invalid_nonce", Family::Used),
    ("quote_not_open", Family::Order),
    ("out_of_stock", Family::Order),
    ("slot_unavailable", Family::Order),
    ("not_cancellable", Family::Order),
    ("quote_expired", Family::Order),
    ("merchant_unavailable", Family::Order),
    ("payment_amount_mismatch", Family::Request),
    ("pii_required", Family::Request),
    ("pii_plaintext_rejected", Family::Request),
    ("validation_failed", Family::Request),
    ("below_minimum", Family::Request),
    ("above_max_order", Family::Request),
    ("new_merchant_cap", Family::Request),
    ("terms_not_accepted", Family::Request),
    ("rate_limited", Family::Request),
    ("banned", Family::Request),
    ("test_sku_daily_cap", Family::Request),
    ("no_rail_available", Family::Request),
    ("idempotency_key_required", Family::Request),
    ("insufficient_funds", Family::Refusal),
    (
        "invalid_exact_evm_payload_authorization_valid_after",
        Family::Refusal,
    ),
    (
        "invalid_exact_evm_payload_authorization_valid_before",
        Family::Refusal,
    ),
    (
        "invalid_exact_evm_payload_authorization_value_mismatch",
        Family::Refusal,
    ),
    (
        "invalid_exact_evm_payload_authorization_value_too_low",
        Family::Refusal,
    ),
    ("invalid_exact_evm_payload_authorization_value", Family::Refusal),
    ("invalid_exact_evm_payload_signature", Family::Refusal),
    ("invalid_exact_evm_payload_recipient_mismatch", Family::Refusal),
    ("invalid_exact_evm_scheme", Family::Refusal),
    ("invalid_exact_evm_network_mismatch", Family::Refusal),
    ("invalid_exact_evm_missing_eip712_domain", Family::Refusal),
    ("invalid_exact_evm_recipient_mismatch", Family::Refusal),
    ("invalid_exact_evm_signature", Family::Refusal),
    ("invalid_exact_evm_authorization_value", Family::Refusal),
    ("invalid_exact_evm_token_name_mismatch", Family::Refusal),
    ("invalid_exact_evm_token_version_mismatch", Family::Refusal),
    ("invalid_exact_evm_eip3009_not_supported", Family::Refusal),
    ("invalid_exact_evm_insufficient_balance", Family::Refusal),
    ("invalid_exact_evm_failed_to_parse_signature", Family::Refusal),
    (
        "invalid_exact_evm_payload_undeployed_smart_wallet",
        Family::Refusal,
    ),
    ("invalid_permit2_spender", Family::Refusal),
    ("invalid_permit2_recipient_mismatch", Family::Refusal),
    ("permit2_deadline_expired", Family::Refusal),
    ("permit2_not_yet_valid", Family::Refusal),
    ("permit2_amount_mismatch", Family::Refusal),
    ("permit2_token_mismatch", Family::Refusal),
    ("permit2_allowance_required", Family::Refusal),
    ("permit2_insufficient_balance", Family::Refusal),
    ("permit2_proxy_not_deployed", Family::Refusal),
    ("asset_not_deployed_contract", Family::Refusal),
    ("invalid_network", Family::Refusal),
    ("invalid_payload", Family::Refusal),
    ("invalid_payment_requirements", Family::Refusal),
    ("invalid_scheme", Family::Refusal),
    ("unsupported_scheme", Family::Refusal),
    ("invalid_x402_version", Family::Refusal),
    ("unsupported_payload_type", Family::Refusal),
    ("extension_echo_mismatch", Family::Refusal),
    ("eip6492_factory_not_allowed", Family::Refusal),
    ("malformed_credential", Family::Refusal),
    ("method_unsupported", Family::Refusal),
];

/// The longest text that is compared with a code, in bytes.
const MAX_TEXT: usize = 256;

fn folded(text: &str) -> String {
    text.trim().to_ascii_lowercase().replace(['-', ' '], "_")
}

/// The code that the text is, whatever its case and with hyphens or spaces for underscores.
pub(super) fn known(text: &str) -> Option<Known> {
    if text.len() > MAX_TEXT {
        return None;
    }
    let folded = folded(text);
    KNOWN
        .iter()
        .find(|(code, _)| *code == folded)
        .copied()
        .or_else(|| used_text(&folded))
}

/// The token contract's own words and what sellers make of them, wherever they pass them on.
fn used_text(folded: &str) -> Option<Known> {
    [
        "authorization_is_used",
        "authorization_was_used",
        "authorization_already_used",
        "authorization_is_already_used",
        "authorization_has_already_been_used",
    ]
    .iter()
    .any(|words| folded.contains(words))
    .then_some(("authorization_used", Family::Used))
}

fn text<'a>(of: &'a Json, name: &str) -> Option<&'a str> {
    of.get(name)?.as_str().ok()
}

/// The first known code of a body, in this order: tail of the problem `type`, `code`, `error_code`, `error`, `error.code`,
/// `error.type`, `errorReason`, the same members of a JSON-RPC error's `data`; last a message that tells of a used
/// authorization.
pub(super) fn in_body(body: Option<&Json>) -> Option<Known> {
    let body = body?;
    let error = body.get("error");
    of_members(body)
        .or_else(|| of_members(error?.get("data")?))
        .or_else(|| message(body))
        .or_else(|| message(error?))
}

fn of_members(of: &Json) -> Option<Known> {
    let named = |of: &Json, name: &str| text(of, name).and_then(known);
    text(of, "type")
        .and_then(|uri| uri.rsplit(['/', '#', ':']).next())
        .and_then(known)
        .or_else(|| {
            ["code", "error_code", "error"]
                .iter()
                .find_map(|name| named(of, name))
        })
        .or_else(|| {
            let error = of.get("error")?;
            named(error, "code").or_else(|| named(error, "type"))
        })
        .or_else(|| named(of, "errorReason"))
}

/// What people are told, read for one thing only.
fn message(of: &Json) -> Option<Known> {
    ["detail", "message", "title", "errorMessage"]
        .iter()
        .filter_map(|name| text(of, name))
        .filter(|text| text.len() <= MAX_TEXT)
        .find_map(|text| used_text(&folded(text)))
}

/// Whether a body asks for the payment, or refuses it, under a status that says success: a JSON-RPC error with one of the
/// codes for that, or the price as the result of a tool.
pub(super) fn asks_again(body: Option<&Json>) -> bool {
    let Some(body) = body else { return false };
    let code = body.get("error").and_then(|error| error.get("code"));
    let refused = matches!(code, Some(Json::Number(literal)) if ["402", "-32042", "-32043"].contains(&literal.as_str()));
    let price = |result: &Json| {
        result.get("isError") == Some(&Json::Bool(true))
            && result
                .get("structuredContent")
                .is_some_and(|price| price.get("accepts").is_some())
    };
    refused || body.get("result").is_some_and(price)
}
