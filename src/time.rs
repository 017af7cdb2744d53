//! Unix seconds, the dates of HTTP (RFC 9110 §5.6.7) and of RFC 3339.

use crate::amount::Amount;
use crate::error::{Code, Error};
use crate::json::Json;

/// Unix time in seconds.
pub type Seconds = u64;

/// Whole seconds from 0 to 2^53-1, as a JSON number or as digits. Error: `time_invalid`.
pub fn parse_seconds(json: &Json) -> Result<Seconds, Error> {
    let seconds = match json {
        Json::String(text) => Amount::parse(text)
            .ok()
            .and_then(Amount::to_u64)
            .filter(|seconds| *seconds < 1 << 53),
        other => other.as_u64().ok(),
    };
    seconds.ok_or_else(|| Error::new(Code::TimeInvalid, ""))
}

/// What a host's clock says. Error: `time_invalid` past the year 5138: a clock of milliseconds, by which no window would ever end.
pub fn clock(json: &Json) -> Result<Seconds, Error> {
    let seconds = json.as_u64()?;
    match seconds < 100_000_000_000 {
        true => Ok(seconds),
        false => Err(Error::new(Code::TimeInvalid, "")),
    }
}

const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
/// The long names without their `day`.
const LONG_DAYS: [&str; 7] = ["Mon", "Tues", "Wednes", "Thurs", "Fri", "Satur", "Sun"];
const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

/// Reads the three forms of an HTTP date: IMF-fixdate, RFC 850, asctime. The day of the week is not compared with the date; a
/// two-digit year is taken from 1970 to 2069.
pub fn parse_http_date(text: &str) -> Option<Seconds> {
    let words: Vec<&str> = text.trim_matches([' ', '\t']).split(' ').collect();
    let weekday = words.first()?;
    let short = |suffix| {
        weekday
            .strip_suffix(suffix)
            .is_some_and(|name| DAYS.contains(&name))
    };
    let long = || {
        weekday
            .strip_suffix("day,")
            .is_some_and(|name| LONG_DAYS.contains(&name))
    };
    let (day, month, year, clock) = match words.as_slice() {
        [_, day, month, year, clock, "GMT"] if short(",") => {
            (digits(day, 2)?, *month, digits(year, 4)?, clock)
        }
        [_, date, clock, "GMT"] if long() => match date.split('-').collect::<Vec<_>>().as_slice() {
            [day, month, year] => {
                let year = digits(year, 2)?;
                let century = if year < 70 { 2000 } else { 1900 };
                (digits(day, 2)?, *month, century + year, clock)
            }
            _ => return None,
        },
        // A day of one digit stands behind a second blank.
        [_, month, "", day, clock, year] if short("") => (digits(day, 1)?, *month, digits(year, 4)?, clock),
        [_, month, day, clock, year] if short("") => (digits(day, 2)?, *month, digits(year, 4)?, clock),
        _ => return None,
    };
    let month = MONTHS.iter().position(|name| *name == month)? as u64 + 1;
    let seconds = seconds_of_day(clock)?;
    if year < 1970 || day == 0 || day > days_in_month(year, month) {
        return None;
    }
    Some((days_before(year, month) + day - 1) * 86_400 + seconds)
}

/// Reads a date with its time of day in the profile of RFC 3339, any fraction of a second dropped, at `Z` or an offset.
pub fn parse_rfc3339(text: &str) -> Option<Seconds> {
    let (date, clock) = text.split_once(['T', 't', ' '])?;
    let (year, month, day) = match date.split('-').collect::<Vec<_>>().as_slice() {
        [year, month, day] => (digits(year, 4)?, digits(month, 2)?, digits(day, 2)?),
        _ => return None,
    };
    if year < 1970 || !(1..=12).contains(&month) || day == 0 || day > days_in_month(year, month) {
        return None;
    }
    let (clock, offset) = match clock.strip_suffix(['Z', 'z']) {
        Some(clock) => (clock, 0),
        None => {
            let (clock, zone) = clock.split_at_checked(clock.rfind(['+', '-'])?)?;
            let (hours, minutes) = zone.get(1..)?.split_once(':')?;
            let minutes = digits(hours, 2).filter(|hours| *hours < 24)? * 60
                + digits(minutes, 2).filter(|minutes| *minutes < 60)?;
            let seconds = i64::try_from(minutes * 60).ok()?;
            (clock, if zone.starts_with('-') { -seconds } else { seconds })
        }
    };
    let (clock, fraction) = clock.split_once('.').unwrap_or((clock, "0"));
    if fraction.is_empty() || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let local = (days_before(year, month) + day - 1) * 86_400 + seconds_of_day(clock)?;
    local.checked_add_signed(-offset)
}

/// Date and time of day in the profile of RFC 3339, at `Z`; nothing past the year 9999.
pub fn to_rfc3339(seconds: Seconds) -> Option<String> {
    let (days, clock) = (seconds / 86_400, seconds % 86_400);
    // No year is longer than 366 days: from there it is not far.
    let year = (1970 + days / 366..=9999).find(|year| days < days_before(year + 1, 1))?;
    let month = (1..=12).rev().find(|month| days_before(year, *month) <= days)?;
    let day = days - days_before(year, month) + 1;
    let (hour, minute, second) = (clock / 3600, clock / 60 % 60, clock % 60);
    Some(format!(
        "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z"
    ))
}

/// `hh:mm:ss`, a leap second included.
fn seconds_of_day(clock: &str) -> Option<u64> {
    let (hour, minute, second) = match clock.split(':').collect::<Vec<_>>().as_slice() {
        [hour, minute, second] => (digits(hour, 2)?, digits(minute, 2)?, digits(second, 2)?),
        _ => return None,
    };
    (hour < 24 && minute < 60 && second <= 60).then_some(hour * 3600 + minute * 60 + second)
}

fn digits(text: &str, length: usize) -> Option<u64> {
    (text.len() == length && text.bytes().all(|byte| byte.is_ascii_digit()))
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
