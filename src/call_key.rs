//! The key of a plain tool call, so that a retry finds the first call's answer although the tool takes no key itself.
//!
//! The key is a digest of the tool, the canonical arguments without the fields that change by themselves, and the scope: a
//! session, a run or the paying wallet. Two honest identical calls in one scope have one key; what keeps them apart is
//! that whoever stores answers under keys forgets them after minutes, and that reads get no key at all. That window is
//! the store's; nothing here knows the time.
//!
//! Arguments are any JSON, and only JSON's own freedom is normalised, by RFC 8785: member order, spaces, escapes, `10` and `10.0`.
//! Text stays as it is: `"0.0010"` is not `"0.001"`, and `"base"` is not `"eip155:8453"`, because only a schema could say that it
//! is a network ([`crate::quote`] has one, tool arguments have not).

mod missed;
mod pointer;

pub use missed::{missed_fields, Call, DEFAULT_WINDOW, MAX_CALLS};
pub use pointer::Pointer;

use crate::digest;
use crate::error::{Code, Error};
use crate::hex;
use crate::json::Json;

/// Domain tag of the digest of the arguments.
pub const ARGS_TAG: &str = "counterfoil/call-args/v1";
/// Domain tag of the key.
pub const TAG: &str = "counterfoil/call-key/v1";
/// Most volatile fields that a rule may name.
pub const MAX_VOLATILE: usize = 64;

/// What a tool's calls are keyed by.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct Rule {
    /// The tool changes nothing: its calls are not keyed.
    pub read: bool,
    /// Key the calls although the tool only reads.
    pub key_reads: bool,
    /// Fields that differ between two tries of one call.
    pub volatile: Vec<Pointer>,
}

impl Rule {
    /// Reads `{effect: "read" | "write", volatile?, keyReads?}`. Errors: `missing_field`, `invalid_type`, `too_large` (more
    /// than 64 volatile fields), `pointer_invalid`, `protected_field`.
    pub fn from_json(json: &Json) -> Result<Rule, Error> {
        let read = json.read("effect", |effect| match effect.as_str()? {
            "read" => Ok(true),
            "write" => Ok(false),
            _ => Err(Error::new(Code::InvalidType, "")),
        })?;
        let volatile = json.read_opt("volatile", |list| {
            if list.as_array()?.len() > MAX_VOLATILE {
                return Err(Error::new(Code::TooLarge, ""));
            }
            list.as_list(|pointer| Pointer::volatile(pointer.as_str()?))
        })?;
        Ok(Rule {
            read,
            key_reads: json.read_opt("keyReads", Json::as_bool)?.unwrap_or(false),
            volatile: volatile.unwrap_or_default(),
        })
    }

    /// Whether calls get a key.
    pub fn keys(&self) -> bool {
        !self.read || self.key_reads
    }

    /// The arguments without the volatile fields. Error: `protected_field`, when one of them holds a protected name.
    pub fn stable(&self, args: &Json) -> Result<Json, Error> {
        let pointers: Vec<&[String]> = self.volatile.iter().map(|pointer| pointer.0.as_slice()).collect();
        pointer::without(args, &pointers)
    }
}

/// A call's key and the digest of its arguments.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CallKey {
    /// `call_` and 64 hexadecimal digits: a valid payment id and `Idempotency-Key`.
    pub key: String,
    /// Digest of the arguments that count. One key with two of them means that the arguments were read too loosely.
    pub args_hash: [u8; 32],
}

impl CallKey {
    /// `{key, argsHash}`.
    pub fn to_json(&self) -> Json {
        Json::object([
            ("key", Json::text(self.key.as_str())),
            ("argsHash", Json::text(hex::encode(self.args_hash))),
        ])
    }
}

/// The key of a call; `None` for a read that its rule does not key. The default rule is a write without volatile fields.
///
/// `argsHash` is SHA-256 over the tag `counterfoil/call-args/v1`, a line feed and the RFC 8785 text of `{"args"}`, the arguments
/// without the volatile fields. The key is `call_` and the 64 digits of SHA-256 over the tag `counterfoil/call-key/v1`, a line
/// feed and the RFC 8785 text of `{"argsHash","scope","tool"}`.
///
/// Errors in this order: `missing_field` (empty tool, empty scope), `protected_field` (at `rule.volatile`: one of its
/// fields holds a protected name in these arguments), `number_out_of_range`.
pub fn call_key(tool: &str, args: &Json, scope: &str, rule: &Rule) -> Result<Option<CallKey>, Error> {
    for (name, text) in [("tool", tool), ("scope", scope)] {
        if text.is_empty() {
            return Err(Error::new(Code::MissingField, name));
        }
    }
    if !rule.keys() {
        return Ok(None);
    }
    let args = rule.stable(args).map_err(|error| error.within("rule.volatile"))?;
    let args_hash = args_hash(&args)?;
    let call = Json::object([
        ("tool", Json::text(tool)),
        ("argsHash", Json::text(hex::encode(args_hash))),
        ("scope", Json::text(scope)),
    ]);
    let key = hex::encode(digest::tagged(TAG, &call)?).replacen("0x", "call_", 1);
    Ok(Some(CallKey { key, args_hash }))
}

fn args_hash(args: &Json) -> Result<[u8; 32], Error> {
    digest::tagged(ARGS_TAG, &Json::object([("args", args.clone())])).map_err(|error| error.within("args"))
}
