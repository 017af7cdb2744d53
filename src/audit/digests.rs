//! The digests of texts in many lines, found out together.
//!
//! Nothing but speed depends on it: what is not found out here is hashed where it is asked for.

use super::line::Line;
use super::Read;
use crate::digest::{sha256, sha256_of_all};

/// A text whose digest is asked for.
pub(super) struct Hashed {
    pub bytes: Vec<u8>,
    digest: Option<[u8; 32]>,
}

impl Hashed {
    pub fn sha256(&self) -> [u8; 32] {
        self.digest.unwrap_or_else(|| sha256(&self.bytes))
    }
}

impl From<Vec<u8>> for Hashed {
    fn from(bytes: Vec<u8>) -> Hashed {
        Hashed { bytes, digest: None }
    }
}

/// Hashes the texts of all lines.
pub(super) fn find(read: &mut [Read]) {
    let lines = read.iter_mut().filter_map(|read| read.line.as_mut().ok());
    let mut all: Vec<&mut Hashed> = lines.flat_map(Line::hashed).collect();
    let texts: Vec<&[u8]> = all.iter().map(|text| text.bytes.as_slice()).collect();
    let digests = sha256_of_all(&texts);
    for (text, digest) in all.iter_mut().zip(digests) {
        text.digest = Some(digest);
    }
}
