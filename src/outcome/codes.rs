//! The sellers' codes that are known, and where they stand in a body.

use crate::json::Json;

/// What a known code means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
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
}

/// Refusals are verify codes of the x402 specification and of the official facilitator. Codes of settling
/// (`invalid_transaction_state`, `unexpected_settle_error`, `*_transaction_failed`, `*_transfer_event_mismatch`) and of
/// simulation are left out: they are given after a broadcast, or because one happened.
const KNOWN: &[(&str, Family)] = &[
    ("payment_identifier_conflict", Family::Conflict),
    ("idempotency_conflict", Family::Conflict),
    ("credential_bound_elsewhere", Family::Conflict),
    ("payment_in_flight", Family::InFlight),
    ("idempotency_in_flight", Family::InFlight),
    ("quote_already_paying", Family::InFlight),
    ("payment_pending", Family::InFlight),
    ("settlement_pending", Family::InFlight),
    ("credential_replayed", Family::Used),
    ("authorization_used", Family::Used),
    ("nonce_already_used", Family::Used),
    ("invalid_exact_evm_nonce_already_used", Family::Used),
    ("authorization_is_used_or_canceled", Family::Used),
    ("quote_not_open", Family::Order),
    ("out_of_stock", Family::Order),
    ("slot_unavailable", Family::Order),
    ("not_cancellable", Family::Order),
    ("quote_expired", Family::Order),
    ("merchant_unavailable", Family::Order),
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
];

/// The longest text that is compared with a code, in bytes.
const MAX_TEXT: usize = 256;

/// The code that the text is, whatever its case and with hyphens or spaces for underscores.
pub(super) fn known(text: &str) -> Option<(&'static str, Family)> {
    if text.len() > MAX_TEXT {
        return None;
    }
    let folded = text.trim().to_ascii_lowercase().replace(['-', ' '], "_");
    KNOWN
        .iter()
        .find(|(code, _)| *code == folded)
        .copied()
        .or_else(|| used_text(&folded))
}

/// The token contract's own words, wherever a seller passes them on.
fn used_text(folded: &str) -> Option<(&'static str, Family)> {
    folded
        .contains("authorization_is_used_or_canceled")
        .then_some(("authorization_used", Family::Used))
}

/// The first known code of a body, in this order: tail of the problem `type`, `code`, `error_code`, `error`, `error.code`,
/// `errorReason`.
pub(super) fn in_body(body: Option<&Json>) -> Option<(&'static str, Family)> {
    let body = body?;
    let text = |value: Option<&Json>| value.and_then(|value| value.as_str().ok()).and_then(known);
    let tail = body.get("type").and_then(|value| value.as_str().ok());
    tail.and_then(|uri| uri.rsplit(['/', '#', ':']).next())
        .and_then(known)
        .or_else(|| {
            ["code", "error_code", "error"]
                .iter()
                .find_map(|name| text(body.get(name)))
        })
        .or_else(|| text(body.get("error")?.get("code")))
        .or_else(|| text(body.get("errorReason")))
}

/// Whether a body is a JSON-RPC error that asks for payment, which HTTP carries under 200.
pub(super) fn asks_again(body: Option<&Json>) -> bool {
    let code = body
        .and_then(|body| body.get("error"))
        .and_then(|error| error.get("code"));
    matches!(code, Some(Json::Number(literal)) if literal == "402" || literal == "-32042")
}
