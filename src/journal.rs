//! The journal's framing: one line a commit, each line chained to the one before by its hash.
//!
//! A line is the RFC 8785 text of `{"hash","ops","prev","seq","v":1}` and a line feed. `seq` counts from 1, `prev` is the hash
//! of the line before (32 zero bytes for the first), `hash` is [`digest::tagged`] with the tag `counterfoil/journal/v1`
//! over the same object without `hash`. An operation is `{"key","put": JSON}`, `{"key","text": string}` or
//! `{"key","base64": string}` for values that are no canonical JSON, or `{"delete":true,"key"}`.
//!
//! What a crash may leave is a last line that is incomplete: it was never acknowledged, hence nothing was sent on the strength
//! of it, and it is dropped. Damage anywhere else is `journal_corrupt`: a file that lost what it once acknowledged
//! must not decide about money.

mod line;

use crate::error::{Code, Error};
use crate::json::{self, Json};
use crate::{base64, digest, hex};
pub(crate) use line::{Line, LineOp, Put};

/// Domain tag of a line's hash.
pub const TAG: &str = "counterfoil/journal/v1";

/// Where the chain ends.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Head {
    /// Sequence number of the last line, 0 for an empty journal.
    pub seq: u64,
    /// Hash of the last line.
    pub hash: [u8; 32],
    /// Bytes up to the end of the last line, its line feed included.
    pub length: u64,
}

impl Head {
    /// The head of an empty journal.
    pub const EMPTY: Head = Head {
        seq: 0,
        hash: [0; 32],
        length: 0,
    };

    /// As it crosses the boundary.
    pub fn to_json(&self) -> Json {
        Json::object([
            ("seq", Json::number(self.seq)),
            ("hash", Json::text(hex::encode(self.hash))),
            ("length", Json::number(self.length)),
        ])
    }

    /// Reads [`Head::to_json`]. Errors: `missing_field`, `invalid_type`, `hex_invalid`.
    pub fn from_json(json: &Json) -> Result<Head, Error> {
        Ok(Head {
            seq: json.read("seq", Json::as_u64)?,
            hash: json.read("hash", Json::as_hex)?,
            length: json.read("length", Json::as_u64)?,
        })
    }
}

/// A stored value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Value {
    /// UTF-8 text, most often canonical JSON.
    Text(String),
    /// Any other bytes.
    Bytes(Vec<u8>),
}

/// One change of one key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Op {
    /// The key.
    pub key: String,
    /// The new value; `None` deletes.
    pub put: Option<Value>,
}

impl Op {
    /// Reads `{key, text | base64 | delete}`. Errors: `missing_field`, `invalid_type`, `base64_invalid`.
    pub fn from_json(json: &Json) -> Result<Op, Error> {
        let key = json.read("key", Json::as_string)?;
        let text = json.read_opt("text", Json::as_string)?.map(Value::Text);
        let bytes = json
            .read_opt("base64", |value| base64::decode_header(value.as_str()?))?
            .map(Value::Bytes);
        Ok(Op {
            key,
            put: text.or(bytes),
        })
    }

    /// The form that stands in a line. Canonical JSON is embedded as JSON, so that a person can read it.
    fn to_line_json(&self) -> Json {
        let key = Json::text(self.key.as_str());
        match &self.put {
            None => Json::object([("key", key), ("delete", Json::Bool(true))]),
            Some(Value::Bytes(bytes)) => {
                Json::object([("key", key), ("base64", Json::text(base64::encode(bytes)))])
            }
            Some(Value::Text(text)) => {
                // Four levels are left for the line around the value.
                let embedded = json::parse(&format!("[[[[{text}]]]]"))
                    .ok()
                    .and(json::parse(text).ok())
                    .filter(|value| value.to_canonical().is_ok_and(|canonical| canonical == *text));
                match embedded {
                    Some(value) => Json::object([("key", key), ("put", value)]),
                    None => Json::object([("key", key), ("text", Json::text(text.as_str()))]),
                }
            }
        }
    }
}

/// The line that records a commit, line feed included, and the head after it. Error: `number_out_of_range` never for values
/// taken by [`Op::from_json`].
pub fn append(head: &Head, ops: &[Op]) -> Result<(String, Head), Error> {
    let seq = head.seq + 1;
    let body = line_body(
        seq,
        &head.hash,
        Json::Array(ops.iter().map(Op::to_line_json).collect()),
    );
    let hash = digest::tagged(TAG, &body)?;
    let mut line = body.with("hash", Json::text(hex::encode(hash))).to_canonical()?;
    line.push('\n');
    let length = head.length + line.len() as u64;
    Ok((line, Head { seq, hash, length }))
}

fn line_body(seq: u64, prev: &[u8; 32], ops: Json) -> Json {
    Json::object([
        ("ops", ops),
        ("prev", Json::text(hex::encode(prev))),
        ("seq", Json::number(seq)),
        ("v", Json::number(1)),
    ])
}

/// A key's latest value and the `seq` of the line that wrote it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Entry {
    /// The key.
    pub key: String,
    /// `seq` of the line that wrote the value.
    pub rev: u64,
    /// The value.
    pub value: Value,
}

/// A journal as read back.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Opened {
    /// Latest value of each key, in the order of keys.
    pub entries: Vec<Entry>,
    /// Where the next line goes.
    pub head: Head,
    /// Bytes of an incomplete last line, to be cut off before the next append.
    pub torn: u64,
    /// The last line is whole and lacks only its line feed.
    pub needs_newline: bool,
}

/// Reads a journal. The same bytes always give the same answer. Errors: `journal_corrupt` at `byte N`, `unsupported_version`.
pub fn open(bytes: &[u8]) -> Result<Opened, Error> {
    let mut keys = std::collections::BTreeMap::new();
    let mut head = Head::EMPTY;
    let mut needs_newline = false;
    let mut torn = 0;
    let mut rest = bytes;
    while !rest.is_empty() {
        let end = rest.iter().position(|byte| *byte == b'\n');
        let (line, after) = match end.and_then(|end| Some((rest.get(..end)?, rest.get(end + 1..)?))) {
            Some(parts) => parts,
            None => (rest, &[][..]),
        };
        match read_line(line, &head) {
            Ok((ops, hash)) => {
                head.seq += 1;
                head.hash = hash;
                head.length += line.len() as u64 + 1;
                needs_newline = end.is_none();
                for op in ops {
                    match op.put {
                        Some(put) => keys.insert(op.key, (head.seq, put)),
                        None => keys.remove(&op.key),
                    };
                }
            }
            Err(error) if error.code == Code::UnsupportedVersion => return Err(error),
            // Zero bytes are blocks that the file system had allotted and not yet written.
            Err(_) if after.is_empty() && (line.contains(&0) || end.is_none() && is_part(line, &head)) => {
                torn = rest.len() as u64;
            }
            Err(_) => return Err(Error::new(Code::JournalCorrupt, format!("byte {}", head.length))),
        }
        rest = after;
    }
    let entries = keys
        .into_iter()
        .map(|(key, (rev, put))| Entry {
            key,
            rev,
            value: put.into(),
        })
        .collect();
    Ok(Opened {
        entries,
        head,
        torn,
        needs_newline,
    })
}

/// Whether a write that broke off can have left this: a whole line with another byte in the place of its line feed was
/// acknowledged once, and is damaged.
fn is_part(line: &[u8], head: &Head) -> bool {
    !matches!(line.split_last(), Some((_, whole)) if read_line(whole, head).is_ok())
}

/// The operations of the next line, and its hash.
fn read_line<'a>(line: &'a [u8], head: &Head) -> Result<(Vec<LineOp<'a>>, [u8; 32]), Error> {
    let line = Line::read(json::utf8(line)?)?;
    // One text for one commit: what differs in a single byte is not this chain's next line.
    let next = (line.seq, line.prev) == (head.seq + 1, head.hash)
        && line.hash == digest::sha256(line.hashed().as_bytes());
    match next {
        true => Ok((line.ops, line.hash)),
        false => Err(Error::new(Code::JournalCorrupt, "")),
    }
}
