//! The further authorizations of a split payment, and one view of all of them.

use crate::authorization::Authorization;
use crate::error::{Code, Error};
use crate::json::Json;

/// One authorization of a split payment beyond the first, with what became of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Part {
    /// What is signed, and under which domain.
    pub authorization: Authorization,
    /// Present once signed.
    pub signature: Option<String>,
    /// The transaction that paid it, read from the chain.
    pub transaction: Option<String>,
    /// The last verdict on its nonce, with `readAt`.
    pub verdict: Option<Json>,
    /// The reads behind it.
    pub evidence: Vec<Json>,
    /// The signature over a cancellation of its nonce: `{at, signature}`.
    pub cancellation: Option<Json>,
}

/// One authorization of an attempt with what is known of it, the first and the parts alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Slot<'a> {
    /// What is signed.
    pub authorization: &'a Authorization,
    /// Present once signed.
    pub signature: Option<&'a str>,
    /// The last verdict on its nonce.
    pub verdict: Option<&'a Json>,
    /// The reads behind it.
    pub evidence: &'a [Json],
    /// The signature over a cancellation of its nonce.
    pub cancellation: Option<&'a Json>,
}

/// The same, to change. What is signed never does.
#[derive(Debug)]
pub struct SlotMut<'a> {
    /// Present once signed.
    pub signature: &'a mut Option<String>,
    /// The transaction that paid it.
    pub transaction: &'a mut Option<String>,
    /// The last verdict on its nonce.
    pub verdict: &'a mut Option<Json>,
    /// The reads behind it.
    pub evidence: &'a mut Vec<Json>,
    /// The signature over a cancellation of its nonce.
    pub cancellation: &'a mut Option<Json>,
}

/// Authorizations of one attempt at most.
pub const MAX_PARTS: usize = 8;

impl Part {
    /// Not signed yet.
    pub fn planned(authorization: Authorization) -> Part {
        Part {
            authorization,
            signature: None,
            transaction: None,
            verdict: None,
            evidence: Vec::new(),
            cancellation: None,
        }
    }

    pub(super) fn slot(&self) -> Slot<'_> {
        Slot {
            authorization: &self.authorization,
            signature: self.signature.as_deref(),
            verdict: self.verdict.as_ref(),
            evidence: &self.evidence,
            cancellation: self.cancellation.as_ref(),
        }
    }

    pub(super) fn to_json(&self) -> Json {
        let evidence = (!self.evidence.is_empty()).then(|| Json::Array(self.evidence.clone()));
        self.authorization
            .write(Json::object([]))
            .with_some("signature", self.signature.clone().map(Json::String))
            .with_some("transaction", self.transaction.clone().map(Json::String))
            .with_some("verdict", self.verdict.clone())
            .with_some("evidence", evidence)
            .with_some("cancellation", self.cancellation.clone())
    }

    fn from_json(json: &Json) -> Result<Part, Error> {
        Ok(Part {
            authorization: Authorization::read(json)?,
            signature: json.read_opt("signature", Json::as_string)?,
            transaction: json.read_opt("transaction", Json::as_string)?,
            verdict: json.get("verdict").cloned(),
            evidence: json
                .read_opt("evidence", |list| list.as_list(|item| Ok(item.clone())))?
                .unwrap_or_default(),
            cancellation: json.get("cancellation").cloned(),
        })
    }
}

/// The further authorizations of a record. Error: `state_invalid` for more than [`MAX_PARTS`] in all.
pub(super) fn parts(json: &Json) -> Result<Vec<Part>, Error> {
    let list = json.as_list(Part::from_json)?;
    match list.len() < MAX_PARTS {
        true => Ok(list),
        false => Err(Error::new(Code::StateInvalid, "")),
    }
}
