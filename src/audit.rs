//! Auditing many documents: one line, one verdict; and what only shows across lines.
//!
//! A line is a document that [`crate::receipt`] knows, bare, or an object `{receipt, …}` with the material that belongs to it. Its
//! [`Verdict`] is that of [`crate::receipt::verify`] and carries the keys by which lines are joined. Verdicts are added up in a
//! [`Summary`], which merges: of parts in any order it is the summary of the whole. Lines that share a key are held against each other by
//! [`across()`]:
//!
//! | code | raised when |
//! |---|---|
//! | `receipt_repeated` | one receipt stands in several lines |
//! | `transaction_claimed_twice` | several receipts name one transaction, and the chain does not show a transfer for each |
//! | `authorization_claimed_twice` | receipts name different transactions for one payer and nonce, or several receipts are for it |
//! | `duplicate_charge` | several payments were made for one intent, or under one payment id |
//! | `intent_conflict` | one intent id stands for two purchases |
//! | `payment_identifier_conflict` | one payment id stands for two things |
//! | `response_shared` | different payments were answered with the same bytes; for information |
//!
//! What a line brings is its author's word. Chain evidence in a line counts where the caller says that it comes from nodes the
//! caller trusts, or where it is proven under a block that the caller trusts; everything else that is trusted comes from the
//! caller alone.

mod accounts;
mod across;
mod digests;
mod joins;
mod line;
mod payments;
mod signatures;
mod summary;
mod verdict;

use std::sync::Arc;

use crate::error::Error;
use crate::json::Json;
use crate::jwk::Algorithm;
use crate::jws::Task;
use crate::receipt::{Answer, Declared, Document, Made, Trust};
use crate::secp256k1::Keys;
use crate::time::Seconds;
use accounts::{Proven, Spelling};
pub use across::{across, MOST_COMPARED};
pub use joins::{Join, Joins, Kind, Shared};
use line::Line;
pub use summary::{Place, Summary};
pub use verdict::{Standing, Verdict};

/// What the auditor brings to every line.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Given {
    trust: Arc<Trust>,
    /// The chain evidence in the lines comes from nodes that the auditor trusts.
    evidence: bool,
    proofs: bool,
    now: Option<Seconds>,
    /// The form of every document, where it is not one that is known here.
    profile: Option<Declared>,
}

impl Given {
    /// Reads `{trust?: {evidence?, …}, now?, profile?}`; the rest is as [`crate::receipt::verify`] has it.
    pub fn from_json(json: &Json) -> Result<Given, Error> {
        let trust = |trust: &Json| {
            let evidence = trust.read_opt("evidence", Json::as_bool)?.unwrap_or(false);
            let proofs = trust.get("blockHashes").is_some();
            Ok((Trust::read(trust)?, evidence, proofs))
        };
        let (trust, evidence, proofs) = json.read_opt("trust", trust)?.unwrap_or_default();
        Ok(Given {
            trust: Arc::new(trust),
            evidence,
            proofs,
            now: json.read_opt("now", Json::as_u64)?,
            profile: json.read_opt("profile", Declared::read)?,
        })
    }

    /// A line's document, by the auditor's form or by those that are known.
    fn read(&self, document: &Json) -> Result<Document, Error> {
        match (&self.profile, document) {
            (None, _) => Document::inside(document),
            (Some(form), Json::String(text)) => Document::described(text, form),
            (Some(form), _) => Document::described(&document.to_text(), form),
        }
    }
}

/// The answer that a line names, as the host found it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Found {
    /// Its digest and its length.
    Answer {
        /// SHA-256 of its exact bytes.
        sha256: [u8; 32],
        /// How many they are, where that is known.
        length: Option<u64>,
        /// SHA-256 of the RFC 8785 text of the JSON in them, where the host made it: none where they are no JSON.
        canonical: Option<Option<[u8; 32]>>,
    },
    /// It is named and could not be read.
    Unreadable,
}

/// The longest line that is read, in bytes. A host may cut a longer one off behind this many and one.
pub const LONGEST_LINE: usize = 16 << 20;

/// A line that was read and is not judged yet.
pub struct Read {
    /// Where it stands, from 1.
    pub number: u64,
    /// The answer that it names, where the host looked for one.
    pub found: Option<Found>,
    line: Result<Line, Error>,
}

/// Reads one line after the other.
pub struct Reader<'a> {
    given: &'a Given,
    proven: Proven,
}

impl Reader<'_> {
    /// With what the auditor brings.
    pub fn new(given: &Given) -> Reader<'_> {
        Reader {
            given,
            proven: Proven::default(),
        }
    }

    /// Reads one line, of which `found` is not known yet.
    pub fn read(&mut self, number: u64, bytes: &[u8]) -> Read {
        Read {
            number,
            found: None,
            line: Line::read(bytes, self.given, &mut self.proven),
        }
    }
}

impl Read {
    /// Under which names a host may find its answer.
    pub fn names(&self) -> Names {
        self.line.as_ref().map_or(Names::None, Line::names)
    }

    /// What must be checked of its JWS, where that is not on secp256k1.
    pub fn elsewhere(&self) -> Option<Task> {
        let task = self.line.as_ref().ok()?.task()?;
        (task.key.algorithm != Algorithm::Es256k).then_some(task)
    }

    /// When the digest of the answer's canonical text decides something.
    pub fn canonical(&self) -> Canonical {
        self.line.as_ref().map_or(Canonical::Never, Line::canonical)
    }
}

/// The verdicts on lines that were read, in their order. Texts of a call are hashed together; signatures on secp256k1 of a call are checked together; of the other ones `made` says whether they
/// were made.
pub fn judge(input: &str, mut read: Vec<Read>, keys: &mut Keys, made: Made) -> Vec<Verdict> {
    digests::find(&mut read);
    signatures::find(&mut read, keys);
    let mut spelling = Spelling::default();
    let verdict = |read: Read| match read.line {
        Ok(line) => line.judge(input, read.number, read.found, &mut spelling, made),
        Err(error) => Verdict::unusable(input, read.number, &error),
    };
    read.into_iter().map(verdict).collect()
}

/// When the digest of an answer's canonical text decides something: canonical texts of many answers are much work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Canonical {
    /// The document is read over the exact bytes, or holds no digest.
    Never,
    /// Unless the exact bytes have this digest.
    Unless([u8; 32]),
    /// Always.
    Always,
}

/// Under which names a host may find the answer of a line.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Names {
    /// The line has it, or can't be read.
    None,
    /// The line says where.
    Said(String),
    /// It does not say; the first of these that is there.
    Any(Vec<String>),
}

/// What is known of an answer.
impl From<Found> for Option<Answer> {
    fn from(found: Found) -> Option<Answer> {
        match found {
            Found::Answer {
                sha256,
                length,
                canonical,
            } => Some(Answer {
                sha256,
                length,
                canonical,
            }),
            Found::Unreadable => None,
        }
    }
}
