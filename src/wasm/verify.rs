//! Reading the chain.

use super::Input;
use crate::eip3009::Authorization;
use crate::error::Error;
use crate::evidence::{self, Context};
use crate::json::Json;

/// Answers the call when its name belongs here.
pub(super) fn call(name: &str, input: &Input) -> Option<Result<Json, Error>> {
    match name {
        "resolve" => Some(resolve(&input.json)),
        _ => None,
    }
}

fn resolve(input: &Json) -> Result<Json, Error> {
    let authorizations = input.read("authorizations", |list| list.as_list(Authorization::from_json))?;
    let context = input.read("ctx", Context::from_json)?;
    let evidence = input.read("evidence", Json::as_array)?;
    Ok(evidence::resolve(&authorizations, &context, evidence).to_json())
}
