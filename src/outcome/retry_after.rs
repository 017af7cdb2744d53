//! How long the seller asks to wait.

use super::answer::Answer;
use crate::json::Json;
use crate::time;

/// Bounds of a wait, in seconds.
const SHORTEST: u64 = 1;
const LONGEST: u64 = 300;

/// The longest wait named by the header `Retry-After` (seconds, or a date counted from the answer's own `Date`, else from
/// when it came) and the body's `retry_after`, `retryAfter` (seconds) and `retry_after_ms`; 1 to 300. What can't be read
/// is as good as absent.
pub(super) fn seconds(answer: &Answer, body: Option<&Json>) -> Option<u64> {
    let header = answer.header("Retry-After").flatten().and_then(|value| {
        let value = value.trim();
        whole(value).or_else(|| {
            let date = answer.header("Date").flatten().and_then(time::parse_http_date);
            Some(time::parse_http_date(value)?.saturating_sub(date.or(answer.received_at)?))
        })
    });
    let member = |name: &str, unit: f64| {
        body.and_then(|body| body.get(name))
            .and_then(|value| waited(value, unit))
    };
    [
        header,
        member("retry_after", 1.0),
        member("retryAfter", 1.0),
        member("retry_after_ms", 1000.0),
    ]
    .into_iter()
    .flatten()
    .max()
    .map(|seconds| seconds.clamp(SHORTEST, LONGEST))
}

/// Digits only; a number too large to hold is as long as can be.
fn whole(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().unwrap_or(u64::MAX))
}

/// A JSON number or digits in a string, rounded up. Time, not money, so a double will do.
fn waited(value: &Json, unit: f64) -> Option<u64> {
    let number: f64 = match value {
        Json::Number(literal) => literal.parse().ok()?,
        Json::String(text) => whole(text)? as f64,
        _ => return None,
    };
    (number >= 0.0).then(|| (number / unit).ceil() as u64)
}
