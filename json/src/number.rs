//! Numbers: as they are written, and as ECMAScript writes them.

use crate::copy::append;
use crate::Fault;

/// A number as it stands in a text.
#[derive(Clone, Copy, Debug)]
pub struct Number<'a> {
    /// How it is written.
    pub literal: &'a str,
    /// Whether that is known to be its canonical form already.
    pub(crate) settled: bool,
}

impl<'a> Number<'a> {
    /// The number that begins here. Fault: `Invalid`.
    #[inline]
    pub(crate) fn read(text: &'a str, start: usize) -> Result<Number<'a>, Fault> {
        let bytes = text.as_bytes();
        let digits = |from: usize| {
            let rest = bytes.get(from..).unwrap_or_default();
            rest.iter()
                .position(|byte| !byte.is_ascii_digit())
                .unwrap_or(rest.len())
        };
        let negative = bytes.get(start) == Some(&b'-');
        let mut at = start + usize::from(negative);
        let zero = bytes.get(at) == Some(&b'0');
        let whole = digits(at);
        if whole == 0 || (whole > 1 && zero) {
            return Err(Fault::Invalid);
        }
        at += whole;
        // Fifteen digits are exact in a double, and their own shortest form; only zero loses its sign.
        let mut settled = whole <= 15 && !(negative && zero);
        if bytes.get(at) == Some(&b'.') {
            let fraction = digits(at + 1);
            if fraction == 0 {
                return Err(Fault::Invalid);
            }
            let written = bytes.get(at + 1..at + 1 + fraction).unwrap_or_default();
            // Such a fraction ends with a digit that counts. What is below 0.000001 is written with an exponent.
            settled = whole + fraction <= 15
                && written.last() != Some(&b'0')
                && !(zero && written.starts_with(b"000000"));
            at += 1 + fraction;
        }
        if matches!(bytes.get(at), Some(b'e' | b'E')) {
            settled = false;
            let sign = usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
            let exponent = digits(at + 1 + sign);
            if exponent == 0 {
                return Err(Fault::Invalid);
            }
            at += 1 + sign + exponent;
        }
        let literal = text.get(start..at).ok_or(Fault::Invalid)?;
        Ok(Number { literal, settled })
    }
}

/// Writes the canonical form of a number that was read. Fault: `OutOfRange` on overflow and, when asked to be strict, for a whole number whose
/// digits its double changes.
pub fn canonical_number(literal: &str, strict: bool, out: &mut Vec<u8>) -> Result<(), Fault> {
    let double: f64 = literal.parse().map_err(|_| Fault::OutOfRange)?;
    if !double.is_finite() {
        return Err(Fault::OutOfRange);
    }
    let mut buffer = ryu_js::Buffer::new();
    let text = buffer.format(double);
    // A fraction is an approximation in any reader; a whole number is not, however it is spelt.
    if strict && text != literal && !is_plain_fraction(literal) {
        let written = significand(literal);
        if written.1 >= 0 && written != significand(text) {
            return Err(Fault::OutOfRange);
        }
    }
    append(out, text.as_bytes());
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
