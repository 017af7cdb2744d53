//! `0x` hexadecimal text. Input in any case, output in lower case.

use crate::error::{Code, Error};

/// Lower-case `0x` text of the bytes.
pub fn encode(bytes: impl AsRef<[u8]>) -> String {
    let digit = |nibble: u8| {
        char::from(if nibble < 10 {
            b'0' + nibble
        } else {
            b'a' - 10 + nibble
        })
    };
    let bytes = bytes.as_ref();
    let mut out = String::with_capacity(2 + bytes.len() * 2);
    out.push_str("0x");
    for byte in bytes {
        out.push(digit(byte >> 4));
        out.push(digit(byte & 15));
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
    let invalid = || Error::new(Code::HexInvalid, "");
    let digits = text.strip_prefix("0x").filter(|digits| digits.len() == 2 * N);
    let (pairs, _) = digits.ok_or_else(invalid)?.as_bytes().as_chunks::<2>();
    let mut bytes = [0; N];
    for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
        *byte = nibble(*high)
            .zip(nibble(*low))
            .map(|(high, low)| high << 4 | low)
            .ok_or_else(invalid)?;
    }
    Ok(bytes)
}

fn nibble(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    }
}
