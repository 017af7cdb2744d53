//! How long a request counts as being worked on. A worker that died says nothing; past its lease the next caller looks.

use crate::error::{Code, Error};
use crate::time::Seconds;

/// The lease when none is given.
pub const DEFAULT_LEASE: Seconds = 60;
/// The longest lease: a day, after which an answer is past its retention anyway.
pub const MAX_LEASE: Seconds = 86_400;
/// The largest time that crosses the boundary.
const LAST_SECOND: Seconds = (1 << 53) - 1;

/// When a lease taken now is over. Errors: `lease_invalid`, `time_invalid`.
pub(super) fn end(now: Seconds, lease: Option<Seconds>) -> Result<Seconds, Error> {
    let lease = lease.unwrap_or(DEFAULT_LEASE);
    if !(1..=MAX_LEASE).contains(&lease) {
        return Err(Error::new(Code::LeaseInvalid, "lease"));
    }
    now.checked_add(lease)
        .filter(|end| *end <= LAST_SECOND)
        .ok_or_else(|| Error::new(Code::TimeInvalid, "now"))
}
