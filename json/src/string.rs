//! Strings: finding their end, decoding and writing their escapes, and the order of names.

use core::cmp::Ordering;
use std::borrow::Cow;

use crate::copy::append;
use crate::Fault;

/// A string as it stands in a text, without its quotation marks.
#[derive(Clone, Copy, Debug)]
pub struct Text<'a> {
    /// How it is written.
    pub written: &'a str,
    /// Whether escapes are in it.
    pub(crate) escaped: bool,
}

impl<'a> Text<'a> {
    /// The string that begins here, behind its quotation mark. Faults: `LoneSurrogate`, `Invalid`.
    #[inline(always)]
    pub(crate) fn read(text: &'a str, start: usize) -> Result<Text<'a>, Fault> {
        let bytes = text.as_bytes();
        let (mut at, mut escaped) = (start, false);
        loop {
            at += plain_prefix(bytes.get(at..).unwrap_or_default());
            match bytes.get(at) {
                Some(b'"') => {
                    let written = text.get(start..at).ok_or(Fault::Invalid)?;
                    return Ok(Text { written, escaped });
                }
                Some(b'\\') => {
                    escaped = true;
                    let (_, length) = escape(text.get(at + 1..).unwrap_or_default())?;
                    at += 1 + length;
                }
                _ => return Err(Fault::Invalid),
            }
        }
    }

    /// What it says.
    #[inline]
    pub fn decoded(&self) -> Cow<'a, str> {
        if self.escaped {
            Cow::Owned(self.unescaped())
        } else {
            Cow::Borrowed(self.written)
        }
    }

    fn unescaped(&self) -> String {
        let mut text = String::with_capacity(self.written.len());
        self.pieces(|plain, character| {
            text.push_str(plain);
            text.extend(character);
        });
        text
    }

    /// Writes it, its quotation marks and the escapes that RFC 8785 gives it.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        out.push(b'"');
        self.pieces(|plain, character| {
            append(out, plain.as_bytes());
            if let Some(character) = character {
                write_char(character, out);
            }
        });
        out.push(b'"');
    }

    /// What stands before each escape, and what the escape stands for; last what is behind them all.
    fn pieces(&self, mut piece: impl FnMut(&str, Option<char>)) {
        let mut rest = self.written;
        while let Some((plain, after)) = rest.split_once('\\') {
            // Every escape was read once already.
            let Ok((character, length)) = escape(after) else {
                return;
            };
            piece(plain, Some(character));
            rest = after.get(length..).unwrap_or_default();
        }
        piece(rest, None);
    }
}

/// How many bytes stand before the first one that is written with an escape.
#[inline]
fn plain_prefix(bytes: &[u8]) -> usize {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    const HIGH: u64 = ONES << 7;
    // Eight at a time: not zero exactly where some byte of the word is below `n`, for `n` up to 128; the lowest such byte is told exactly.
    let below = |word: u64, n: u64| word.wrapping_sub(ONES * n) & !word & HIGH;
    let (words, tail) = bytes.as_chunks::<8>();
    for (place, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        let quote = below(word ^ (ONES * u64::from(b'"')), 1);
        let backslash = below(word ^ (ONES * u64::from(b'\\')), 1);
        let special = quote | backslash | below(word, 0x20);
        if special != 0 {
            return place * 8 + special.trailing_zeros() as usize / 8;
        }
    }
    let special = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..=0x1f);
    bytes.len() - tail.len() + tail.iter().position(special).unwrap_or(tail.len())
}

/// The character of an escape, whose backslash stands before, and the escape's length. Faults: `LoneSurrogate`, `Invalid`.
fn escape(rest: &str) -> Result<(char, usize), Fault> {
    let character = match rest.as_bytes().first() {
        Some(b'"') => '"',
        Some(b'\\') => '\\',
        Some(b'/') => '/',
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{c}',
        Some(b'n') => '\n',
        Some(b'r') => '\r',
        Some(b't') => '\t',
        Some(b'u') => {
            let first = code_unit(rest, 1)?;
            if !(0xd800..=0xdbff).contains(&first) {
                return Ok((char::from_u32(first).ok_or(Fault::LoneSurrogate)?, 5));
            }
            if rest.get(5..7) != Some("\\u") {
                return Err(Fault::LoneSurrogate);
            }
            let second = code_unit(rest, 7)?;
            if !(0xdc00..=0xdfff).contains(&second) {
                return Err(Fault::LoneSurrogate);
            }
            let scalar = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
            return Ok((char::from_u32(scalar).ok_or(Fault::LoneSurrogate)?, 11));
        }
        _ => return Err(Fault::Invalid),
    };
    Ok((character, 1))
}

fn code_unit(rest: &str, at: usize) -> Result<u32, Fault> {
    let digits = rest.get(at..at + 4).ok_or(Fault::Invalid)?;
    if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(Fault::Invalid);
    }
    u32::from_str_radix(digits, 16).map_err(|_| Fault::Invalid)
}

/// Writes a text as a string, with the escapes that RFC 8785 gives it.
pub fn write_string(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    let mut rest = text;
    loop {
        let plain = plain_prefix(rest.as_bytes());
        append(out, rest.get(..plain).unwrap_or_default().as_bytes());
        let mut after = rest.get(plain..).unwrap_or_default().chars();
        match after.next() {
            Some(special) => write_char(special, out),
            None => break,
        }
        rest = after.as_str();
    }
    out.push(b'"');
}

/// One character of a text, with the escape that RFC 8785 gives it.
fn write_char(character: char, out: &mut Vec<u8>) {
    match character {
        '"' => append(out, b"\\\""),
        '\\' => append(out, b"\\\\"),
        '\u{8}' => append(out, b"\\b"),
        '\t' => append(out, b"\\t"),
        '\n' => append(out, b"\\n"),
        '\u{c}' => append(out, b"\\f"),
        '\r' => append(out, b"\\r"),
        control if control < ' ' => {
            let code = control as u8;
            let low = code % 16;
            append(out, b"\\u00");
            out.push(b'0' + code / 16);
            out.push(if low < 10 { b'0' + low } else { b'a' + low - 10 });
        }
        other => append(out, other.encode_utf8(&mut [0; 4]).as_bytes()),
    }
}

/// Names, in UTF-8, by their UTF-16 code units (RFC 8785 section 3.2.3). That is the order of their bytes, except that what takes four bytes takes
/// surrogates, which come before U+E000.
pub fn utf16_order(left: &[u8], right: &[u8]) -> Ordering {
    let rank = |byte: u8| match byte {
        0xf0.. => 0xee,
        0xee..=0xef => byte + 0x10,
        _ => byte,
    };
    let differing = left.iter().zip(right).find(|(left, right)| left != right);
    match differing {
        // Two of four bytes are in the order of their bytes already.
        Some((left @ 0xf0.., right @ 0xf0..)) => left.cmp(right),
        Some((left, right)) => rank(*left).cmp(&rank(*right)),
        None => left.len().cmp(&right.len()),
    }
}
