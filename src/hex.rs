//! `0x` hexadecimal text. Input in any case, output in lower case.

use crate::error::{Code, Error};

/// Lower-case `0x` text of the bytes.
pub fn encode(bytes: impl AsRef<[u8]>) -> String {
    const DIGITS: [char; 16] = [
        '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f',
    ];
    let bytes = bytes.as_ref();
    let mut out = String::with_capacity(2 + bytes.len() * 2);
    out.push_str("0x");
    for byte in bytes {
        for nibble in [byte >> 4, byte & 15] {
            out.extend(DIGITS.get(usize::from(nibble)));
        }
    }
    out
}

/// Bytes of a `0x` text with an even number of ASCII hexadecimal digits. Error: `hex_invalid`.
pub fn decode(text: &str) -> Result<Vec<u8>, Error> {
    let invalid = || Error::new(Code::HexInvalid, "");
    let digits = text.strip_prefix("0x").ok_or_else(invalid)?.as_bytes();
    if !digits.len().is_multiple_of(2) {
        return Err(invalid());
    }
    digits
        .chunks_exact(2)
        .map(|pair| match pair {
            [high, low] => Some(nibble(*high)? << 4 | nibble(*low)?),
            _ => None,
        })
        .collect::<Option<Vec<u8>>>()
        .ok_or_else(invalid)
}

/// Exactly `N` bytes. Error: `hex_invalid`.
pub fn decode_array<const N: usize>(text: &str) -> Result<[u8; N], Error> {
    // The length is checked before the digits, so that a huge text costs nothing.
    if text.len() != 2 + 2 * N {
        return Err(Error::new(Code::HexInvalid, ""));
    }
    decode(text)?
        .try_into()
        .map_err(|_| Error::new(Code::HexInvalid, ""))
}

fn nibble(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    }
}
