//! Account addresses with the EIP-55 checksum.

use core::fmt;

use crate::error::{Code, Error};
use crate::hex;
use crate::json::Json;

/// 20 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Address(pub [u8; 20]);

impl Address {
    /// Reads `0x` and 40 ASCII hexadecimal digits: all of one case, or mixed with the right EIP-55 checksum. Errors:
    /// `address_invalid`, `address_checksum`.
    pub fn parse(text: &str) -> Result<Address, Error> {
        let bytes = hex::decode_array(text).map_err(|_| Error::new(Code::AddressInvalid, ""))?;
        let address = Address(bytes);
        let digits = text.get(2..).unwrap_or_default();
        let mixed = digits.bytes().any(|digit| digit.is_ascii_lowercase())
            && digits.bytes().any(|digit| digit.is_ascii_uppercase());
        if mixed && address.to_string() != text {
            return Err(Error::new(Code::AddressChecksum, ""));
        }
        Ok(address)
    }

    /// Reads a JSON string. Errors: `invalid_type`, `address_invalid`, `address_checksum`.
    pub fn from_json(json: &Json) -> Result<Address, Error> {
        Address::parse(json.as_str()?)
    }

    /// EIP-55 text.
    pub fn to_json(&self) -> Json {
        Json::text(self.to_string())
    }

    /// Whether all bytes are zero: nobody's address, and what a failed `ecrecover` gives on chain.
    pub fn is_zero(&self) -> bool {
        self.0 == [0; 20]
    }

    /// The 32 bytes of an ABI word.
    pub fn to_word(&self) -> [u8; 32] {
        let mut word = [0; 32];
        for (slot, byte) in word.iter_mut().skip(12).zip(self.0) {
            *slot = byte;
        }
        word
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&alloy_primitives::Address::from(self.0).to_checksum(None))
    }
}
