//! What the payer says in a claim, and why.

use super::{invalid, STATEMENT};
use crate::error::Error;
use crate::json::Json;

/// What the payer says.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Statement {
    /// `paid_not_delivered`, or `released` once the purchase was closed.
    pub status: String,
    /// Why the answer could not be had: `answer_not_had`, `past_retention`, `conflict`, `history_lost` or `released`.
    pub why: String,
    /// Why it was released, in the payer's words.
    pub reason: Option<String>,
}

impl Statement {
    pub(super) fn from_json(json: &Json) -> Result<Statement, Error> {
        let known = |name: &str, texts: &[&str]| {
            let text = json.read(name, Json::as_str)?;
            texts
                .contains(&text)
                .then(|| text.to_owned())
                .ok_or_else(|| invalid(name))
        };
        Ok(Statement {
            status: known("status", &["paid_not_delivered", "released"])?,
            why: known(
                "why",
                &[
                    "answer_not_had",
                    "past_retention",
                    "conflict",
                    "history_lost",
                    "released",
                ],
            )?,
            reason: json.read_opt("reason", Json::as_string)?,
        })
    }

    pub(super) fn to_json(&self) -> Json {
        Json::object([
            ("delivered", Json::Bool(false)),
            ("status", Json::text(self.status.as_str())),
            ("why", Json::text(self.why.as_str())),
            ("text", Json::text(STATEMENT)),
        ])
        .with_some("reason", self.reason.as_deref().map(Json::text))
    }
}
