//! One line of a journal, read without the values in it: of most of them a later line holds a newer one.

use std::borrow::Cow;

use super::{Op, Value, TAG};
use crate::error::{Code, Error};
use crate::hex;
use crate::json::{self, Json, Part};

/// Line, operations, operation.
const DEPTH: usize = 3;
/// `hash`, `ops`, `prev`, `seq`, `v`.
const MEMBERS: usize = 5;

/// What a line says, whatever came before it.
pub struct Line<'a> {
    pub seq: u64,
    pub prev: [u8; 32],
    /// As it names itself.
    pub hash: [u8; 32],
    /// Its text behind that.
    rest: &'a str,
    pub ops: Vec<LineOp<'a>>,
}

/// One change of one key, where it can be as it stands in the line: of a long journal a second copy would be as long.
pub struct LineOp<'a> {
    pub key: String,
    /// The new value; `None` deletes.
    pub put: Option<Put<'a>>,
}

/// A value in a line.
pub enum Put<'a> {
    Text(Cow<'a, str>),
    Bytes(Vec<u8>),
}

impl From<Put<'_>> for Value {
    fn from(put: Put) -> Value {
        match put {
            Put::Text(text) => Value::Text(text.into_owned()),
            Put::Bytes(bytes) => Value::Bytes(bytes),
        }
    }
}

impl<'a> Line<'a> {
    /// Reads a line, without its line feed. Errors: those of the JSON reader and of its members, `unsupported_version`, `journal_corrupt` for another text than the one
    /// form of its content.
    pub fn read(text: &'a str) -> Result<Line<'a>, Error> {
        let canonical = json::canonical_bytes(text)?;
        let whole = json::outline(text, DEPTH)?;
        if member(&whole, "v")?.as_u64()? != 1 {
            return Err(Error::new(Code::UnsupportedVersion, "v"));
        }
        let hash: [u8; 32] = member(&whole, "hash")?.as_hex()?;
        // In its one spelling: it is the only member that its own content does not hold.
        let before = format!("{{\"hash\":\"{}\",", hex::encode(hash));
        let after = text
            .strip_prefix(&before)
            .filter(|_| canonical == text.as_bytes());
        match (after, &whole, whole.get("ops")) {
            (Some(after), Part::Object(members), Some(Part::Array(ops))) if members.len() == MEMBERS => {
                Ok(Line {
                    seq: member(&whole, "seq")?.as_u64()?,
                    prev: member(&whole, "prev")?.as_hex()?,
                    hash,
                    rest: after,
                    ops: ops.iter().map(op).collect::<Result<_, _>>()?,
                })
            }
            _ => Err(Error::new(Code::JournalCorrupt, "")),
        }
    }

    /// What its hash is to be the SHA-256 of: its canonical text without that hash, tagged.
    pub fn hashed(&self) -> String {
        format!("{TAG}\n{{{}", self.rest)
    }
}

/// A member's value. Errors: `missing_field`, `invalid_type` for a container that was taken apart.
fn member(part: &Part, name: &'static str) -> Result<Json, Error> {
    match part.get(name) {
        Some(Part::Written(text)) => json::parse(text),
        Some(_) => Err(Error::new(Code::InvalidType, name)),
        None => Err(Error::new(Code::MissingField, name)),
    }
}

fn op<'a>(part: &Part<'a>) -> Result<LineOp<'a>, Error> {
    let key = member(part, "key")?.as_string()?;
    if part.get("delete").is_some() {
        return Ok(LineOp { key, put: None });
    }
    let put = match part.get("put") {
        Some(Part::Written(text)) => Put::Text(Cow::Borrowed(*text)),
        _ => {
            let given = |name| part.get(name).map(|_| member(part, name)).transpose();
            let told = Json::object([("key", Json::text(&key))])
                .with_some("text", given("text")?)
                .with_some("base64", given("base64")?);
            match Op::from_json(&told)?.put {
                Some(Value::Text(text)) => Put::Text(Cow::Owned(text)),
                Some(Value::Bytes(bytes)) => Put::Bytes(bytes),
                None => return Err(Error::new(Code::MissingField, "put")),
            }
        }
    };
    Ok(LineOp { key, put: Some(put) })
}
