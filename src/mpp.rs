//! MPP: payment as an HTTP authentication scheme named `Payment`.
//!
//! A 402 answer carries challenges in `WWW-Authenticate`; the payer answers one of them with a credential; a paid answer may
//! carry a `Payment-Receipt`. A challenge dictates the nonce of the authorization that pays it, so what keeps two challenges of
//! one purchase from being paid twice is the journal alone. Texts that are signed for or echoed are never re-written.

pub mod challenge;
pub mod charge;
pub mod credential;
pub mod proof;
pub mod receipt;
pub mod tempo;

use crate::base64;
use crate::error::{Code, Error};
use crate::json::{self, Json};

/// Name of the scheme, in any case.
pub const SCHEME: &str = "Payment";
/// The header of the challenges.
pub const CHALLENGES: &str = "WWW-Authenticate";
/// Where a credential travels when the challenge names no other field.
pub const AUTHORIZATION: &str = "Authorization";
/// The other field that a challenge may name, for services whose own authentication takes the first.
pub const PAYMENT_AUTHORIZATION: &str = "Payment-Authorization";
/// The header of the receipt, on a success only.
pub const RECEIPT: &str = "Payment-Receipt";

/// Largest `request` parameter that is decoded, in bytes.
pub const MAX_REQUEST: usize = 16 << 10;
/// Largest header value read, in bytes: several challenges stand in one.
pub const MAX_HEADER: usize = 64 << 10;

/// The JSON value of one base64url text without padding. Errors: `too_large`, `base64_invalid`, those of the JSON reader.
fn decode(text: &str, limit: usize) -> Result<Json, Error> {
    if text.len() > limit {
        return Err(Error::new(Code::TooLarge, ""));
    }
    json::parse_bytes(&base64::decode_url(text)?)
}
