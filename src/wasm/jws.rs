//! The arithmetic of JWS, apart from what it decides.

use super::Input;
use crate::error::Error;
use crate::json::Json;
use crate::jws::{self, Task};

/// Answers the call when its name belongs here.
pub(super) fn call(name: &str, input: &Input) -> Option<Result<Json, Error>> {
    (name == "checkJws").then(|| check(&input.json))
}

/// Input `{alg, key, input, signature}`, the `needs` of `verifyReceipt`; answer whether the key made the signature, null where this build can't tell.
fn check(input: &Json) -> Result<Json, Error> {
    Ok(jws::check(&Task::from_json(input)?).map_or(Json::Null, Json::Bool))
}
