//! Calls of this area.

use super::Input;
use crate::error::Error;
use crate::json::Json;

/// Answers the call when its name belongs here.
pub(super) fn call(name: &str, _input: &Input) -> Option<Result<Json, Error>> {
    match name {
        _ => None,
    }
}
