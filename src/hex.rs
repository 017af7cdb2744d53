//! `0x` hexadecimal text. Input in any case, output in lower case.

use crate::error::{Code, Error};

/// Lower-case `0x` text of the bytes.
pub fn encode(bytes: impl AsRef<[u8]>) -> String {
    encoded(bytes.as_ref())
}

fn encoded(bytes: &[u8]) -> String {
    let digit = |nibble: u8| nibble + if nibble < 10 { b'0' } else { b'a' - 10 };
    let mut digits = vec![b'0'; 2 + bytes.len() * 2];
    let (head, pairs) = digits.split_at_mut(2);
    head.copy_from_slice(b"0x");
    for (pair, byte) in pairs.as_chunks_mut::<2>().0.iter_mut().zip(bytes) {
        *pair = [digit(byte >> 4), digit(byte & 15)];
    }
    // All of them are ASCII.
    String::from_utf8(digits).unwrap_or_default()
}

/// Bytes of a `0x` text with an even number of ASCII hexadecimal digits. Error: `hex_invalid`.
pub fn decode(text: &str) -> Result<Vec<u8>, Error> {
    let digits = text
        .strip_prefix("0x")
        .filter(|digits| digits.len().is_multiple_of(2));
    let digits = digits.ok_or_else(invalid)?;
    let mut bytes = vec![0; digits.len() / 2];
    fill(digits, &mut bytes)?;
    Ok(bytes)
}

/// Exactly `N` bytes. Error: `hex_invalid`.
pub fn decode_array<const N: usize>(text: &str) -> Result<[u8; N], Error> {
    // The length is checked before the digits, so that a huge text costs nothing.
    let digits = text.strip_prefix("0x").filter(|digits| digits.len() == 2 * N);
    let mut bytes = [0; N];
    fill(digits.ok_or_else(invalid)?, &mut bytes)?;
    Ok(bytes)
}

fn invalid() -> Error {
    Error::new(Code::HexInvalid, "")
}

/// Fills bytes with twice as many digits. Compiled once, not for each number of bytes.
#[inline(never)]
fn fill(digits: &str, bytes: &mut [u8]) -> Result<(), Error> {
    let mut all = 0;
    for (byte, pair) in bytes.iter_mut().zip(digits.as_bytes().as_chunks::<2>().0) {
        let [high, low] = pair.map(nibble);
        all |= high | low;
        *byte = high << 4 | low;
    }
    match all <= 15 {
        true => Ok(()),
        false => Err(invalid()),
    }
}

/// What each byte stands for as a digit; more than 15 for what is none.
const VALUES: [u8; 256] = {
    let mut values = [u8::MAX; 256];
    let mut at = 0;
    while at < 22 {
        let (digit, value) = match at {
            0..=9 => (b'0' + at, at),
            10..=15 => (b'a' + at - 10, at),
            _ => (b'A' + at - 16, at - 6),
        };
        // Counted by the compiler, which would refuse a place outside.
        #[allow(clippy::indexing_slicing)]
        {
            values[digit as usize] = value;
        }
        at += 1;
    }
    values
};

#[inline(always)]
fn nibble(digit: u8) -> u8 {
    VALUES.get(usize::from(digit)).copied().unwrap_or(u8::MAX)
}
