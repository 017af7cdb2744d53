//! Money: unsigned 256-bit integers of atomic units.

use core::fmt;

use alloy_primitives::U256;

use crate::error::{Code, Error};
use crate::json::Json;

/// An amount in atomic units of its asset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Amount(U256);

/// 2^256-1 has 78 decimal digits.
const MAX_DIGITS: usize = 78;

impl Amount {
    /// Nothing.
    pub const ZERO: Amount = Amount(U256::ZERO);

    /// Reads ASCII digits without sign or leading zeros. Error: `amount_invalid`.
    pub fn parse(text: &str) -> Result<Amount, Error> {
        let invalid = || Error::new(Code::AmountInvalid, "");
        // The length is checked first, so that a megabyte of digits costs nothing.
        if text.is_empty() || text.len() > MAX_DIGITS || (text.len() > 1 && text.starts_with('0')) {
            return Err(invalid());
        }
        if !text.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(invalid());
        }
        U256::from_str_radix(text, 10).map(Amount).map_err(|_| invalid())
    }

    /// Reads a JSON string. Errors: `amount_must_be_string` for a number, `invalid_type`, `amount_invalid`.
    pub fn from_json(json: &Json) -> Result<Amount, Error> {
        match json {
            Json::Number(_) => Err(Error::new(Code::AmountMustBeString, "")),
            other => Amount::parse(other.as_str()?),
        }
    }

    /// Decimal text.
    pub fn to_json(&self) -> Json {
        Json::text(self.to_string())
    }

    /// Sum, unless it passes 2^256-1.
    pub fn checked_add(self, other: Amount) -> Option<Amount> {
        self.0.checked_add(other.0).map(Amount)
    }

    /// Sum. One that overflows is the largest number there is.
    pub fn saturating_add(self, other: Amount) -> Amount {
        Amount(self.0.saturating_add(other.0))
    }

    /// Difference, unless it is below zero.
    pub fn checked_sub(self, other: Amount) -> Option<Amount> {
        self.0.checked_sub(other.0).map(Amount)
    }

    /// The 32 bytes of an ABI word.
    pub fn to_be_bytes(self) -> [u8; 32] {
        self.0.to_be_bytes()
    }

    /// Reads an ABI word.
    pub fn from_be_bytes(bytes: [u8; 32]) -> Amount {
        Amount(U256::from_be_bytes(bytes))
    }

    /// A small amount.
    pub fn from_u64(value: u64) -> Amount {
        Amount(U256::from(value))
    }

    /// The value, when it fits.
    pub fn to_u64(self) -> Option<u64> {
        u64::try_from(self.0).ok()
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Atomic units of a decimal text such as `0.01`: digits, at most one point with digits on both sides, no more places than
/// `decimals`. Error: `amount_invalid`.
pub fn parse_units(text: &str, decimals: u8) -> Result<Amount, Error> {
    let invalid = || Error::new(Code::AmountInvalid, "");
    let (whole, fraction) = match text.split_once('.') {
        Some((_, "")) => return Err(invalid()),
        Some(parts) => parts,
        None => (text, ""),
    };
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    Amount::parse(whole)?;
    let places = usize::from(decimals);
    if fraction.len() > places || !digits(fraction) {
        return Err(invalid());
    }
    let joined = format!("{whole}{fraction:0<places$}");
    let significant = joined.trim_start_matches('0');
    Amount::parse(if significant.is_empty() { "0" } else { significant })
}
