//! A journal's own chain, line by line: what was rewritten, reordered, spliced in or left out is named as such.

use std::collections::BTreeMap;

use crate::digest;
use crate::error::{Code, Error};
use crate::journal::{Op, Value, TAG};
use crate::json::{self, Json};
use crate::sorting::set;

/// What is wrong with a journal's chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fault {
    /// A line is no line of a journal.
    Malformed,
    /// The content of a line is not what its hash names.
    Rewritten,
    /// A line names one before it that stands elsewhere in the file.
    Reordered,
    /// Lines are missing before this one.
    Truncated,
    /// A line names another one before it: what stood there was changed, or this comes from another journal.
    Spliced,
}

impl Fault {
    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Fault::Malformed => "malformed",
            Fault::Rewritten => "rewritten",
            Fault::Reordered => "reordered",
            Fault::Truncated => "truncated",
            Fault::Spliced => "spliced",
        }
    }
}

/// A journal, read for what it says, whatever is wrong with its chain.
pub struct Chain {
    /// The latest text of each key.
    pub latest: BTreeMap<String, String>,
    /// The first fault, and the line it is at, from 1.
    pub fault: Option<(Fault, u64)>,
    /// The last line is incomplete, as after a crash.
    pub torn: bool,
    /// Number and hash of the last line.
    pub head: (u64, [u8; 32]),
}

struct Line {
    at: u64,
    seq: u64,
    prev: [u8; 32],
    hash: [u8; 32],
    own: [u8; 32],
    ops: Vec<Op>,
}

/// Whether a text looks like a journal.
pub fn is_journal(text: &str) -> bool {
    let first = text.lines().next().unwrap_or_default();
    json::parse(first).is_ok_and(|json| json.get("ops").is_some() && json.get("prev").is_some())
}

/// Reads a journal. Errors: none for what is wrong with it; that is in the chain.
pub fn read(text: &str) -> Chain {
    let mut chain = Chain {
        latest: BTreeMap::new(),
        fault: None,
        torn: false,
        head: (0, [0; 32]),
    };
    let mut lines = Vec::new();
    let texts: Vec<&str> = text.split('\n').collect();
    for (index, text) in texts.iter().enumerate() {
        let last = index + 1 == texts.len();
        if last && text.is_empty() {
            continue;
        }
        match line(text) {
            Ok(line) => lines.push(Line {
                at: index as u64 + 1,
                ..line
            }),
            // What a crash leaves: it was never acknowledged.
            Err(_) if last => chain.torn = true,
            Err(_) => chain.found(Fault::Malformed, index as u64 + 1),
        }
    }
    let known = set(lines.iter().map(|line| line.hash));
    let mut before = (0, [0; 32]);
    for line in &lines {
        let at = line.at;
        if line.own != line.hash {
            chain.found(Fault::Rewritten, at);
        } else if line.prev != before.1 || line.seq != before.0 + 1 {
            let elsewhere = known.contains(&line.prev) && line.prev != before.1;
            let missing = line.seq > before.0 + 1;
            let fault = match (elsewhere, missing) {
                (true, _) => Fault::Reordered,
                (false, true) => Fault::Truncated,
                (false, false) => Fault::Spliced,
            };
            chain.found(fault, at);
        }
        before = (line.seq, line.hash);
        for op in &line.ops {
            match &op.put {
                Some(Value::Text(text)) => drop(chain.latest.insert(op.key.clone(), text.clone())),
                Some(Value::Bytes(_)) | None => drop(chain.latest.remove(&op.key)),
            }
        }
    }
    chain.head = before;
    chain
}

impl Chain {
    fn found(&mut self, fault: Fault, at: u64) {
        if self.fault.is_none_or(|(_, known)| at < known) {
            self.fault = Some((fault, at));
        }
    }
}

fn line(text: &str) -> Result<Line, Error> {
    let json = json::parse(text)?;
    let body = json.clone().without("hash");
    if json.read("v", Json::as_u64)? != 1 || json.to_canonical()? != text {
        return Err(Error::new(Code::JournalCorrupt, ""));
    }
    Ok(Line {
        at: 0,
        seq: json.read("seq", Json::as_u64)?,
        prev: json.read("prev", Json::as_hex)?,
        hash: json.read("hash", Json::as_hex)?,
        own: digest::tagged(TAG, &body)?,
        ops: json.read("ops", |ops| ops.as_list(Op::from_line_json))?,
    })
}
