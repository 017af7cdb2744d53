//! A journal's own chain, line by line: what was rewritten, reordered, spliced in or left out is named as such.

use std::borrow::Cow;
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
pub struct Chain<'a> {
    /// The latest text of each key, where it can be as it stands in the journal: of a long one a second copy would be as long.
    pub latest: BTreeMap<String, Cow<'a, str>>,
    /// The first fault, and the line it is at, from 1.
    pub fault: Option<(Fault, u64)>,
    /// The last line is incomplete, as after a crash.
    pub torn: bool,
    /// Number and hash of the last line.
    pub head: (u64, [u8; 32]),
}

/// What is kept of a line while the others are read: of a long journal the texts would take many times its length.
struct Link {
    at: u64,
    seq: u64,
    prev: [u8; 32],
    hash: [u8; 32],
    own: [u8; 32],
}

/// Whether a text looks like a journal.
pub fn is_journal(text: &str) -> bool {
    let first = text.lines().next().unwrap_or_default();
    json::parse(first).is_ok_and(|json| json.get("ops").is_some() && json.get("prev").is_some())
}

/// Reads a journal. Errors: none for what is wrong with it; that is in the chain.
pub fn read(text: &str) -> Chain<'_> {
    let mut chain = Chain {
        latest: BTreeMap::new(),
        fault: None,
        torn: false,
        head: (0, [0; 32]),
    };
    let mut links = Vec::new();
    let mut texts = (1..).zip(text.split('\n')).peekable();
    while let Some((at, text)) = texts.next() {
        let last = texts.peek().is_none();
        if last && text.is_empty() {
            continue;
        }
        match line(at, text) {
            Ok((link, ops)) => {
                links.push(link);
                chain.take(text, ops);
            }
            // What a crash leaves: it was never acknowledged.
            Err(_) if last => chain.torn = true,
            Err(_) => chain.found(Fault::Malformed, at),
        }
    }
    let known = set(links.iter().map(|link| link.hash));
    let mut before = (0, [0; 32]);
    for line in &links {
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
    }
    chain.head = before;
    chain
}

impl<'a> Chain<'a> {
    fn take(&mut self, line: &'a str, ops: Vec<Op>) {
        for op in ops {
            match op.put {
                Some(Value::Text(text)) => {
                    // A line is canonical, and so is what is put in it.
                    let stands = line.find(&text).and_then(|at| line.get(at..at + text.len()));
                    let text = stands.map_or(Cow::Owned(text), Cow::Borrowed);
                    self.latest.insert(op.key, text);
                }
                Some(Value::Bytes(_)) | None => drop(self.latest.remove(&op.key)),
            }
        }
    }

    fn found(&mut self, fault: Fault, at: u64) {
        if self.fault.is_none_or(|(_, known)| at < known) {
            self.fault = Some((fault, at));
        }
    }
}

fn line(at: u64, text: &str) -> Result<(Link, Vec<Op>), Error> {
    let json = json::parse(text)?;
    if json.read("v", Json::as_u64)? != 1 || json.to_canonical()? != text {
        return Err(Error::new(Code::JournalCorrupt, ""));
    }
    let ops = json.read("ops", |ops| ops.as_list(Op::from_line_json))?;
    let link = Link {
        at,
        seq: json.read("seq", Json::as_u64)?,
        prev: json.read("prev", Json::as_hex)?,
        hash: json.read("hash", Json::as_hex)?,
        own: digest::tagged(TAG, &json.without("hash"))?,
    };
    Ok((link, ops))
}
