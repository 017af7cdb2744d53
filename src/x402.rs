//! The x402 messages, versions 1 and 2, as HTTP carries them.
//!
//! Headers hold base64 of UTF-8 JSON. Nothing is decoded before its size is checked, and nothing that is signed or
//! echoed is ever re-written: member order, number literals and unknown members stay as they came.

pub mod fee_split;
pub mod offer_receipt;
pub mod payment_identifier;
pub mod payment_payload;
pub mod payment_required;
pub mod settlement_response;

use crate::base64;
use crate::error::{Code, Error};
use crate::json::{self, Json};

/// Largest header value read or written, in bytes.
pub const MAX_HEADER: usize = 16 << 10;
/// Largest body looked at, in bytes.
pub const MAX_BODY: usize = 1 << 20;

/// The price, version 2.
pub const PAYMENT_REQUIRED: &str = "PAYMENT-REQUIRED";
/// The payment, version 2.
pub const PAYMENT_SIGNATURE: &str = "PAYMENT-SIGNATURE";
/// The payment, version 1.
pub const X_PAYMENT: &str = "X-PAYMENT";
/// The settlement response, version 2.
pub const PAYMENT_RESPONSE: &str = "PAYMENT-RESPONSE";
/// The settlement response, version 1.
pub const X_PAYMENT_RESPONSE: &str = "X-PAYMENT-RESPONSE";

/// The JSON value in a header. Errors: `too_large`, `base64_invalid`, those of the JSON reader.
fn decode_header(value: &str) -> Result<Json, Error> {
    if value.len() > MAX_HEADER {
        return Err(Error::new(Code::TooLarge, ""));
    }
    json::parse_bytes(&base64::decode_header(value)?)
}

/// `x402Version`. Errors: `malformed` when it is absent or no whole number, `unsupported_version`.
fn version(json: &Json, malformed: Code) -> Result<u8, Error> {
    match json.read("x402Version", Json::as_u64) {
        Ok(1) => Ok(1),
        Ok(2) => Ok(2),
        Ok(_) => Err(Error::new(Code::UnsupportedVersion, "x402Version")),
        Err(_) => Err(Error::new(malformed, "x402Version")),
    }
}

/// The same error, a plain fault of shape named by the message's own code.
fn shape(code: Code) -> impl Fn(Error) -> Error {
    move |error| match error.code {
        Code::InvalidType | Code::MissingField => error.with_code(code),
        _ => error,
    }
}
