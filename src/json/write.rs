//! The texts of a value: as it came, and canonical (RFC 8785).

use super::canonical::utf16_order;
use super::Json;
use crate::error::{Code, Error};
use crate::sorting::sort_by;

impl Json {
    /// Compact JSON text; member order and number literals as they are.
    pub fn to_text(&self) -> String {
        let mut out = String::new();
        self.write(
            &mut out,
            &mut |literal, out| {
                out.push_str(literal);
                Ok(())
            },
            false,
        )
        .map(|()| out)
        .unwrap_or_default()
    }

    /// RFC 8785 text. Error: `number_out_of_range` (overflow, or a whole number whose digits its double changes).
    pub fn to_canonical(&self) -> Result<String, Error> {
        let mut out = String::new();
        self.write(
            &mut out,
            &mut |literal, out| canonical_number(literal, true, out),
            true,
        )?;
        Ok(out)
    }

    /// RFC 8785 text exactly as the RFC has it, integers beyond 2^53 rounded. Error: `number_out_of_range` on overflow.
    pub fn to_plain_canonical(&self) -> Result<String, Error> {
        let mut out = String::new();
        self.write(
            &mut out,
            &mut |literal, out| canonical_number(literal, false, out),
            true,
        )?;
        Ok(out)
    }

    fn write(
        &self,
        out: &mut String,
        number: &mut dyn FnMut(&str, &mut String) -> Result<(), Error>,
        sorted: bool,
    ) -> Result<(), Error> {
        match self {
            Json::Null => out.push_str("null"),
            Json::Bool(true) => out.push_str("true"),
            Json::Bool(false) => out.push_str("false"),
            Json::Number(literal) => number(literal, out)?,
            Json::String(text) => write_string(text, out),
            Json::Array(items) => {
                out.push('[');
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    item.write(out, number, sorted)?;
                }
                out.push(']');
            }
            Json::Object(members) => {
                let mut order: Vec<&(String, Json)> = members.iter().collect();
                if sorted {
                    sort_by(&mut order, |(left, _), (right, _)| utf16_order(left, right));
                }
                out.push('{');
                for (index, (name, value)) in order.into_iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    write_string(name, out);
                    out.push(':');
                    value.write(out, number, sorted)?;
                }
                out.push('}');
            }
        }
        Ok(())
    }
}

fn write_string(text: &str, out: &mut String) {
    out.push('"');
    let mut rest = text;
    loop {
        let plain = plain_prefix(rest.as_bytes());
        out.push_str(rest.get(..plain).unwrap_or_default());
        let mut after = rest.get(plain..).unwrap_or_default().chars();
        match after.next() {
            Some(special) => write_char(special, out),
            None => break,
        }
        rest = after.as_str();
    }
    out.push('"');
}

/// How many bytes stand before the first one that is written with an escape.
pub(super) fn plain_prefix(bytes: &[u8]) -> usize {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    const HIGH: u64 = ONES << 7;
    // Eight at a time: not zero exactly where some byte of the word is below `n`, for `n` up to 128.
    let below = |word: u64, n: u64| word.wrapping_sub(ONES * n) & !word & HIGH;
    let (words, _) = bytes.as_chunks::<8>();
    let clean = words
        .iter()
        .map(|word| u64::from_le_bytes(*word))
        .take_while(|word| {
            let quote = below(word ^ (ONES * u64::from(b'"')), 1);
            let backslash = below(word ^ (ONES * u64::from(b'\\')), 1);
            quote | backslash | below(*word, 0x20) == 0
        })
        .count()
        * 8;
    let special = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..=0x1f);
    let tail = bytes.get(clean..).unwrap_or_default();
    clean + tail.iter().position(special).unwrap_or(tail.len())
}

/// One character of a text, with the escape that RFC 8785 gives it.
pub(super) fn write_char(character: char, out: &mut String) {
    match character {
        '"' => out.push_str("\\\""),
        '\\' => out.push_str("\\\\"),
        '\u{8}' => out.push_str("\\b"),
        '\t' => out.push_str("\\t"),
        '\n' => out.push_str("\\n"),
        '\u{c}' => out.push_str("\\f"),
        '\r' => out.push_str("\\r"),
        control if control < ' ' => {
            let code = u32::from(control);
            out.push_str("\\u00");
            out.push(if code < 16 { '0' } else { '1' });
            out.extend(char::from_digit(code % 16, 16));
        }
        other => out.push(other),
    }
}

pub(super) fn canonical_number(literal: &str, strict: bool, out: &mut String) -> Result<(), Error> {
    let range = || Error::new(Code::NumberOutOfRange, "");
    let double: f64 = literal.parse().map_err(|_| range())?;
    if !double.is_finite() {
        return Err(range());
    }
    let mut buffer = ryu_js::Buffer::new();
    let text = buffer.format(double);
    // A fraction is an approximation in any reader; a whole number is not, however it is spelt.
    if strict && !is_plain_fraction(literal) {
        let written = significand(literal);
        if written.1 >= 0 && written != significand(text) {
            return Err(range());
        }
    }
    out.push_str(text);
    Ok(())
}

/// Whether digits other than zero stand behind the point, and no exponent moves it.
fn is_plain_fraction(literal: &str) -> bool {
    let fraction = literal.split_once('.').map_or("", |(_, fraction)| fraction);
    fraction.bytes().any(|digit| digit != b'0') && fraction.bytes().all(|digit| digit.is_ascii_digit())
}

/// The digits of a number between its outer zeros, and the power of ten of the last one.
fn significand(literal: &str) -> (String, i64) {
    let (mantissa, exponent) = literal.split_once(['e', 'E']).unwrap_or((literal, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all = [whole.trim_start_matches('-'), fraction].concat();
    let digits = all.trim_end_matches('0');
    if digits.is_empty() {
        return (String::new(), 0);
    }
    // An exponent that no i64 holds belongs to zero or to an overflow, which ends before this matters.
    let shift: i64 = exponent.parse().unwrap_or(i64::MIN / 2);
    let dropped = (all.len() - digits.len()) as i64 - fraction.len() as i64;
    (
        digits.trim_start_matches('0').to_owned(),
        shift.saturating_add(dropped),
    )
}
