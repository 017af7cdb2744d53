//! A journal's own chain, line by line: what was rewritten, reordered, spliced in or left out is named as such.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::digest;
use crate::journal::{Line, LineOp, Put};
use crate::json;
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
    /// As it names itself.
    hash: [u8; 32],
    /// As its content is hashed.
    own: [u8; 32],
}

/// How many lines are hashed together.
const TOGETHER: usize = 64;

/// Whether a text looks like a journal. One that is just made is empty, or holds the beginning of its first line, as after a crash: that is no
/// JSON, and a bundle always is.
pub fn is_journal(text: &str) -> bool {
    const BEGINS: &str = "{\"hash\":\"0x";
    let first = text.lines().next().unwrap_or_default();
    match json::outline(first, 1) {
        Ok(line) => line.get("ops").is_some() && line.get("prev").is_some(),
        Err(_) => {
            let begins = text.starts_with(BEGINS) || BEGINS.starts_with(text);
            begins && !text.contains('\n')
        }
    }
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
    let mut unhashed = Vec::new();
    let mut texts = (1..).zip(text.split('\n')).peekable();
    while let Some((at, text)) = texts.next() {
        let last = texts.peek().is_none();
        if last && text.is_empty() {
            continue;
        }
        match Line::read(text) {
            Ok(line) => {
                links.push(Link {
                    at,
                    seq: line.seq,
                    prev: line.prev,
                    hash: line.hash,
                    own: [0; 32],
                });
                unhashed.push(line.hashed());
                if unhashed.len() == TOGETHER {
                    hash(&mut unhashed, &mut links);
                }
                chain.take(line.ops);
            }
            // What a crash leaves: it was never acknowledged.
            Err(_) if last => chain.torn = true,
            Err(_) => chain.found(Fault::Malformed, at),
        }
    }
    hash(&mut unhashed, &mut links);
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

/// Hashes what the last links are to be the hashes of.
fn hash(texts: &mut Vec<String>, links: &mut [Link]) {
    let bytes: Vec<&[u8]> = texts.iter().map(String::as_bytes).collect();
    let digests = digest::sha256_of_all(&bytes);
    for (link, own) in links.iter_mut().rev().zip(digests.into_iter().rev()) {
        link.own = own;
    }
    texts.clear();
}

impl<'a> Chain<'a> {
    fn take(&mut self, ops: Vec<LineOp<'a>>) {
        for op in ops {
            match op.put {
                Some(Put::Text(text)) => drop(self.latest.insert(op.key, text)),
                Some(Put::Bytes(_)) | None => drop(self.latest.remove(&op.key)),
            }
        }
    }

    fn found(&mut self, fault: Fault, at: u64) {
        if self.fault.is_none_or(|(_, known)| at < known) {
            self.fault = Some((fault, at));
        }
    }
}
