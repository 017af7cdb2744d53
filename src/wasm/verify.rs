//! Reading the chain and verifying receipts.

use super::Input;
use crate::eip3009::Authorization;
use crate::error::Error;
use crate::evidence::{self, Context};
use crate::json::Json;
use crate::permit2::Permit;
use crate::{conflict, receipt};

/// Answers the call when its name belongs here.
pub(super) fn call(name: &str, input: &Input) -> Option<Result<Json, Error>> {
    match name {
        "resolve" => Some(resolve(&input.json)),
        "verifyReceipt" => Some(verify_receipt(input)),
        "findConflicts" => Some(find_conflicts(&input.json)),
        "bundleEvidenceTargets" => Some(
            input
                .json
                .read("receipt", Json::as_str)
                .and_then(receipt::evidence_targets),
        ),
        _ => None,
    }
}

fn resolve(input: &Json) -> Result<Json, Error> {
    // All siblings are of the first one's method: they share a nonce.
    let permits = input.read("authorizations", |list| {
        Ok(list
            .as_array()?
            .first()
            .is_some_and(|one| one.get("permitted").is_some()))
    })?;
    if permits {
        let permits = input.read("authorizations", |list| list.as_list(Permit::from_json))?;
        let context = input.read("ctx", Context::from_json)?;
        let evidence = input.read("evidence", Json::as_array)?;
        return Ok(evidence::resolve_permits(&permits, &context, evidence).to_json());
    }
    let authorizations = input.read("authorizations", |list| list.as_list(Authorization::from_json))?;
    let context = input.read("ctx", Context::from_json)?;
    let evidence = input.read("evidence", Json::as_array)?;
    Ok(evidence::resolve(&authorizations, &context, evidence).to_json())
}

fn verify_receipt(input: &Input) -> Result<Json, Error> {
    let none = Json::Object(Vec::new());
    let receipt = input.json.read("receipt", Json::as_str)?;
    receipt::verify(
        receipt,
        input.json.get("material").unwrap_or(&none),
        input.bytes.as_deref(),
    )
}

/// Input `{bundles: [text]}`; answer the findings.
fn find_conflicts(input: &Json) -> Result<Json, Error> {
    let bundles = input.read("bundles", |list| list.as_list(Json::as_str))?;
    Ok(conflict::to_json(&conflict::find_conflicts(&bundles)?))
}
