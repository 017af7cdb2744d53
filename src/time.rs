//! Unix seconds, and the dates of HTTP (RFC 9110 §5.6.7).

use crate::error::{Code, Error};
use crate::json::Json;

/// Unix time in seconds.
pub type Seconds = u64;

/// Whole seconds as a JSON number, or as digits. Error: `time_invalid`.
pub fn parse_seconds(json: &Json) -> Result<Seconds, Error> {
    let invalid = |_| Error::new(Code::TimeInvalid, "");
    match json {
        Json::String(text) => crate::amount::Amount::parse(text)
            .map_err(invalid)?
            .to_u64()
            .ok_or_else(|| Error::new(Code::TimeInvalid, "")),
        other => other.as_u64().map_err(invalid),
    }
}

const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

/// Reads the three forms of an HTTP date: IMF-fixdate, RFC 850, asctime. A two-digit year is taken from 1970 to 2069.
pub fn parse_http_date(text: &str) -> Option<Seconds> {
    let text = text.trim_matches([' ', '\t']);
    let words: Vec<&str> = text.split([' ', '-']).filter(|word| !word.is_empty()).collect();
    let (day, month, year, clock) = match words.as_slice() {
        [weekday, day, month, year, clock, "GMT"] if weekday.ends_with(',') => (day, month, year, clock),
        [_, month, day, clock, year] => (day, month, year, clock),
        _ => return None,
    };
    let month = MONTHS.iter().position(|name| name == month)? as u64 + 1;
    let year = match year.len() {
        4 => number(year)?,
        2 => number(year).map(|year| if year < 70 { 2000 + year } else { 1900 + year })?,
        _ => return None,
    };
    let mut parts = clock.split(':');
    let (hour, minute, second) = (
        number(parts.next()?)?,
        number(parts.next()?)?,
        number(parts.next()?)?,
    );
    let day = number(day)?;
    if parts.next().is_some() || hour > 23 || minute > 59 || second > 60 || !(1970..=9999).contains(&year) {
        return None;
    }
    if day == 0 || day > days_in_month(year, month) {
        return None;
    }
    Some(((days_before(year, month) + day - 1) * 24 + hour) * 3600 + minute * 60 + second)
}

fn number(text: &str) -> Option<u64> {
    (!text.is_empty() && text.len() <= 4 && text.bytes().all(|byte| byte.is_ascii_digit()))
        .then(|| text.parse().ok())
        .flatten()
}

fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

fn days_in_month(year: u64, month: u64) -> u64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from the epoch to the first of the month.
fn days_before(year: u64, month: u64) -> u64 {
    let leaps = |year: u64| year / 4 - year / 100 + year / 400;
    let years = (year - 1970) * 365 + leaps(year - 1) - leaps(1969);
    years + (1..month).map(|month| days_in_month(year, month)).sum::<u64>()
}
