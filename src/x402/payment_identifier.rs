//! The extension `payment-identifier`: the client's idempotency key inside a payment.

use super::payment_required::PaymentRequired;
use crate::json::Json;

/// Key of the extension.
pub const KEY: &str = "payment-identifier";

/// 16 to 128 characters of `A-Z a-z 0-9 _ -`.
pub fn is_valid(id: &str) -> bool {
    (16..=128).contains(&id.len())
        && id
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
}

/// Whether the seller takes an id, and whether it demands one; `None` when it does not declare the extension.
pub fn declared(required: &PaymentRequired) -> Option<bool> {
    let info = required.extensions.as_ref()?.get(KEY)?.get("info")?;
    info.as_object().ok()?;
    Some(info.get("required") == Some(&Json::Bool(true)))
}

/// The id inside a payment, when it carries a well-formed one.
pub fn extract(payment: &Json) -> Option<&str> {
    payment
        .get("extensions")?
        .get(KEY)?
        .get("info")?
        .get("id")?
        .as_str()
        .ok()
        .filter(|id| is_valid(id))
}
