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
//! | `authorization_claimed_twice` | receipts name different transactions for one payer and nonce |
//! | `duplicate_charge` | several payments were made for one intent, or under one payment id |
//! | `intent_conflict` | one intent id stands for two purchases |
//! | `payment_identifier_conflict` | one payment id stands for two things |
//! | `response_shared` | different payments were answered with the same bytes; for information |
//!
//! What a line brings is its author's word. Chain evidence in a line counts where the caller says that it comes from nodes the
//! caller trusts, or where it is proven under a block that the caller trusts; everything else that is trusted comes from the
//! caller alone.

mod across;
mod joins;
mod line;
mod summary;
mod verdict;

use crate::error::Error;
use crate::json::Json;
use crate::receipt::{Answer, Made, Trust};
use crate::secp256k1::{Claim, Keys};
use crate::time::Seconds;
pub use across::{across, MOST_COMPARED};
pub use joins::{Join, Joins, Kind};
use line::Line;
pub use summary::{Place, Summary};
pub use verdict::{Standing, Verdict};

/// What the auditor brings to every line.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Given {
    trust: Trust,
    /// The chain evidence in the lines comes from nodes that the auditor trusts.
    evidence: bool,
    proofs: bool,
    now: Option<Seconds>,
}

impl Given {
    /// Reads `{trust?: {evidence?, …}, now?}`; the rest of `trust` is that of [`crate::receipt::verify`].
    pub fn from_json(json: &Json) -> Result<Given, Error> {
        let trust = |trust: &Json| {
            let evidence = trust.read_opt("evidence", Json::as_bool)?.unwrap_or(false);
            let proofs = trust.get("blockHashes").is_some();
            Ok((Trust::read(trust)?, evidence, proofs))
        };
        let (trust, evidence, proofs) = json.read_opt("trust", trust)?.unwrap_or_default();
        Ok(Given {
            trust,
            evidence,
            proofs,
            now: json.read_opt("now", Json::as_u64)?,
        })
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
        /// SHA-256 of the RFC 8785 text of the JSON in them, where they are JSON.
        canonical: Option<[u8; 32]>,
    },
    /// It is named and could not be read.
    Unreadable,
}

/// The longest line that is read, in bytes. A host may cut a longer one off behind this many and one.
pub const LONGEST_LINE: usize = 16 << 20;

/// One line of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Text<'a> {
    /// Where it stands, from 1.
    pub number: u64,
    /// What stands there.
    pub bytes: &'a [u8],
    /// The answer that it names, where the host looked for one.
    pub found: Option<Found>,
}

/// The verdicts on the lines, in their order. All signatures of a call are checked together, but those of JWS, of which `made` says whether they were made.
pub fn audit(input: &str, lines: &[Text], given: &Given, keys: &mut Keys, made: Made) -> Vec<Verdict> {
    let mut read: Vec<Result<Line, Error>> = lines.iter().map(|text| Line::read(text, given)).collect();
    let claimed: Vec<Option<Claim>> = read
        .iter()
        .map(|line| line.as_ref().ok().and_then(|line| line.material.claim()))
        .collect();
    let claims: Vec<Claim> = claimed.iter().flatten().copied().collect();
    let mut right = keys.verify(&claims).into_iter();
    for (line, claim) in read.iter_mut().zip(claimed) {
        // Of a signature that is not the payer's, verification finds out whose it is.
        if let (Ok(line), Some(claim)) = (line, claim) {
            line.material.signer = right.next().unwrap_or(false).then_some(claim.signer);
        }
    }
    lines
        .iter()
        .zip(read)
        .map(|(text, line)| match line {
            Ok(line) => line.judge(input, text, made),
            Err(error) => Verdict::unusable(input, text.number, &error),
        })
        .collect()
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

/// Under which names a host may find the answer of a line.
pub fn names(line: &[u8]) -> Names {
    line::names(line).unwrap_or(Names::None)
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
