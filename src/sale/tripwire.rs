//! The tripwire: the last calls of one tool and scope, looked at for fields that its rule misses.
//!
//! A field that changes on every try makes each try another call, and another charge. It shows in the calls themselves, so the
//! seller hears of it at the first purchases instead of from a buyer. Arguments are kept for that as long as the window is, and
//! only those of keyed calls.

use crate::call_key::{self, Call, Rule};
use crate::digest;
use crate::error::{Code, Error};
use crate::hex;
use crate::json::Json;
use crate::time::{self, Seconds};

use super::rows::{Fault, Rows};

/// Domain tag of the row of a tool and scope.
pub const TAG: &str = "counterfoil/calls/v1";
/// Calls that are looked at together.
const KEPT: usize = 16;
/// Larger arguments are not kept.
const MAX_ARGS: usize = 4096;

/// A keyed call as the host told it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Keyed {
    /// Its key.
    pub key: String,
    /// How long the key holds.
    pub window: Seconds,
    tool: String,
    scope: String,
    args: Json,
    rule: Rule,
}

impl Keyed {
    /// Reads `{key, window, tool, scope, args, rule?}`.
    pub fn from_json(json: &Json) -> Result<Keyed, Error> {
        Ok(Keyed {
            key: json.read("key", Json::as_string)?,
            window: json.read("window", Json::as_u64)?,
            tool: json.read("tool", Json::as_string)?,
            scope: json.read("scope", Json::as_string)?,
            args: json.get("args").cloned().unwrap_or(Json::Null),
            rule: json.read_opt("rule", Rule::from_json)?.unwrap_or_default(),
        })
    }

    /// The row of its key.
    pub fn row(&self) -> String {
        format!("call/{}", self.key)
    }

    /// The row of its tool and scope.
    pub fn calls_row(&self) -> Result<String, Error> {
        let what = Json::object([
            ("scope", Json::text(self.scope.as_str())),
            ("tool", Json::text(self.tool.as_str())),
        ]);
        Ok(format!("calls/{}", hex::encode(digest::tagged(TAG, &what)?)))
    }

    /// Adds the call, made under this id, to those kept, and gives what it shows that was not told before.
    pub fn look(&self, rows: &mut Rows, id: &str, now: Seconds) -> Result<Vec<Json>, Fault> {
        let key = self.calls_row()?;
        let row = rows.get(&key)?.cloned().unwrap_or_else(|| Json::object([]));
        let mut calls = row
            .read_opt("calls", |list| list.as_list(|one| self.kept(one)))?
            .unwrap_or_default();
        let mut told = row
            .read_opt("told", |list| list.as_list(Json::as_string))?
            .unwrap_or_default();
        if self.args.to_text().len() > MAX_ARGS {
            return Ok(Vec::new());
        }
        calls.push(self.call(id.to_owned(), self.args.clone(), now));
        let first = calls.len().saturating_sub(KEPT);
        calls.drain(..first);
        let found = match call_key::missed_fields(&calls, call_key::DEFAULT_WINDOW) {
            // Arguments that the rule must not touch were refused before; of older ones nothing is to be said.
            Err(error) if error.code == Code::ProtectedField => Vec::new(),
            found => found?,
        };
        let mut news = Vec::new();
        for finding in found {
            if finding.fields.iter().any(|field| !told.contains(field)) {
                told.extend(finding.fields.iter().cloned());
                news.push(finding.to_json());
            }
        }
        let one = |call: &Call| {
            Json::object([
                ("id", call.key.as_deref().map_or(Json::Null, Json::text)),
                ("args", call.args.clone()),
                ("at", Json::number(call.at)),
            ])
        };
        let row = Json::object([
            ("calls", Json::Array(calls.iter().map(one).collect())),
            ("told", Json::Array(told.into_iter().map(Json::String).collect())),
        ]);
        let due = now.saturating_add(self.window.max(call_key::DEFAULT_WINDOW));
        rows.put(&key, row, Some(due))?;
        Ok(news)
    }

    fn kept(&self, json: &Json) -> Result<Call, Error> {
        let id = json.read("id", Json::as_string)?;
        let args = json.get("args").cloned().unwrap_or(Json::Null);
        Ok(self.call(id, args, json.read("at", time::parse_seconds)?))
    }

    fn call(&self, id: String, args: Json, at: Seconds) -> Call {
        Call {
            key: Some(id),
            tool: self.tool.clone(),
            args,
            scope: self.scope.clone(),
            at,
            rule: self.rule.clone(),
        }
    }
}
