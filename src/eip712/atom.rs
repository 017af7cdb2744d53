//! The values of EIP-712 that are no struct and no array, as the 32 bytes that stand for them.

use alloy_primitives::{keccak256, U256};

use super::invalid;
use crate::address::Address;
use crate::error::{Code, Error};
use crate::hex;
use crate::json::Json;

/// A type that is no struct and no array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Atom {
    Address,
    Bool,
    String,
    Bytes,
    BytesN(usize),
    Uint(usize),
    Int(usize),
}

impl Atom {
    /// The atom of that name, exactly as the standard spells it: no `uint` for `uint256`, no leading zero.
    pub(super) fn parse(kind: &str) -> Option<Atom> {
        let sized = |prefix: &str, step: usize, max: usize| {
            let digits = kind.strip_prefix(prefix)?;
            let size: usize = digits.parse().ok()?;
            (!digits.starts_with(['0', '+']) && size.is_multiple_of(step) && (1..=max).contains(&size))
                .then_some(size)
        };
        match kind {
            "address" => Some(Atom::Address),
            "bool" => Some(Atom::Bool),
            "string" => Some(Atom::String),
            "bytes" => Some(Atom::Bytes),
            _ => sized("bytes", 1, 32)
                .map(Atom::BytesN)
                .or_else(|| sized("uint", 8, 256).map(Atom::Uint))
                .or_else(|| sized("int", 8, 256).map(Atom::Int)),
        }
    }

    /// Whether a struct of this name would read like an atom: `uint`, `int7`, `bytes33`.
    pub(super) fn resembles(name: &str) -> bool {
        let digits = ["uint", "int", "bytes"]
            .iter()
            .find_map(|prefix| name.strip_prefix(prefix));
        Atom::parse(name).is_some()
            || digits.is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))
    }

    /// `encodeData` of one value. Errors: `invalid_type`, those of addresses, `hex_invalid` also for a `bytesN` of another
    /// length, `number_out_of_range`, `typed_data_invalid` for a number that does not fit its type.
    pub(super) fn encode(self, value: &Json) -> Result<[u8; 32], Error> {
        match self {
            Atom::Address => Ok(Address::from_json(value)?.to_word()),
            Atom::Bool => Ok(U256::from(u8::from(value.as_bool()?)).to_be_bytes()),
            Atom::String => Ok(keccak256(value.as_str()?).0),
            Atom::Bytes => Ok(keccak256(hex::decode(value.as_str()?)?).0),
            Atom::BytesN(size) => {
                let bytes = hex::decode(value.as_str()?)?;
                if bytes.len() != size {
                    return Err(Error::new(Code::HexInvalid, ""));
                }
                let mut word = [0; 32];
                for (slot, byte) in word.iter_mut().zip(bytes) {
                    *slot = byte;
                }
                Ok(word)
            }
            Atom::Uint(bits) => Ok(unsigned(value, bits)?.to_be_bytes()),
            Atom::Int(bits) => signed(value, bits),
        }
    }
}

/// The digits of an integer: decimal text without leading zeros, or `0x` text.
fn magnitude(text: &str) -> Result<U256, Error> {
    let (digits, radix) = match text.strip_prefix("0x") {
        Some(digits) => (digits, 16),
        None => (text, 10),
    };
    // The length is checked first, so that a megabyte of digits costs nothing.
    let plain = if radix == 16 {
        digits.len() <= 64 && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
    } else {
        digits.len() <= 78
            && digits.bytes().all(|byte| byte.is_ascii_digit())
            && (digits.len() == 1 || !digits.starts_with('0'))
    };
    if digits.is_empty() || !plain {
        return Err(invalid());
    }
    U256::from_str_radix(digits, radix).map_err(|_| invalid())
}

/// The sign of the integer and its magnitude. A number literal must be an integer that its double carries unchanged, for else
/// two readers of one document would sign two digests; so `-0` is refused as text, where it is no double.
fn integer(value: &Json) -> Result<(bool, U256), Error> {
    let text = match value {
        Json::Number(_) => value.to_canonical()?,
        other => other.as_string()?,
    };
    match text.strip_prefix('-') {
        Some(digits) => match magnitude(digits)? {
            U256::ZERO => Err(invalid()),
            magnitude => Ok((true, magnitude)),
        },
        None => Ok((false, magnitude(&text)?)),
    }
}

/// A `uintN` as a number, decimal or `0x` text. Errors: `invalid_type`, `number_out_of_range`, `typed_data_invalid`.
pub(super) fn unsigned(value: &Json, bits: usize) -> Result<U256, Error> {
    let (negative, magnitude) = integer(value)?;
    if negative || magnitude.bit_len() > bits {
        return Err(invalid());
    }
    Ok(magnitude)
}

/// An `intN` in two's complement over the whole word.
fn signed(value: &Json, bits: usize) -> Result<[u8; 32], Error> {
    let (negative, magnitude) = integer(value)?;
    let limit = U256::ONE << (bits - 1);
    let word = match negative {
        true if magnitude <= limit => magnitude.wrapping_neg(),
        false if magnitude < limit => magnitude,
        _ => return Err(invalid()),
    };
    Ok(word.to_be_bytes())
}
