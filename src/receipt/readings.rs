//! Which bytes a digest of the answer is over. A receipt seldom says: the bytes as they were sent, what was under their content coding, or the RFC 8785
//! text of the JSON in them. Each is tried whole; a digest is never compared in part.

use super::checks::Checks;
use super::material::{Answer, Material};
use crate::digest;
use crate::hex;
use crate::json;

/// One way to read a digest of the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Reading {
    /// Over the bytes as they were handed in.
    Exact,
    /// Over what was under their content coding.
    Decoded,
    /// Over the RFC 8785 text of the JSON value in them.
    Canonical,
}

/// Every reading, in the order in which they are tried.
pub(super) const ALL: [Reading; 3] = [Reading::Exact, Reading::Decoded, Reading::Canonical];

impl Reading {
    /// The reading of this name.
    pub fn parse(name: &str) -> Option<Reading> {
        ALL.into_iter().find(|known| known.as_str() == name)
    }

    /// The name in a report and in a profile.
    pub const fn as_str(self) -> &'static str {
        match self {
            Reading::Exact => "exact",
            Reading::Decoded => "decoded",
            Reading::Canonical => "canonical",
        }
    }

    const fn says(self) -> &'static str {
        match self {
            Reading::Exact => "SHA-256 of the exact bytes equals the recorded digest.",
            Reading::Decoded => "SHA-256 of the bytes without their content coding equals the recorded digest.",
            Reading::Canonical => {
                "SHA-256 of the RFC 8785 text of the JSON equals the recorded digest; blanks, order of members and spelling are not covered."
            }
        }
    }
}

/// Largest answer for which a difference is looked for, in bytes.
const MAX_COMPARED: usize = 16 << 20;

/// Checks the answer that was handed in against the digest, by the readings that may count. Gives the one that matched. Without its bytes only
/// the answer's own digest can.
pub(super) fn check(
    checks: &mut Checks,
    sha256: &[u8; 32],
    answer: &Answer,
    material: &Material,
    readings: &[Reading],
) -> Option<Reading> {
    const ID: &str = "delivery.hash";
    let is = |bytes: &[u8]| digest::sha256(bytes) == *sha256;
    // Bytes that carry no coding are what is under it.
    let plain = material.decoded.or(material.body.filter(|_| !material.coded));
    let matched = readings.iter().copied().find(|reading| match reading {
        Reading::Exact => answer.sha256 == *sha256,
        Reading::Decoded => material.decoded.is_some_and(is) || (!material.coded && answer.sha256 == *sha256),
        Reading::Canonical => plain
            .and_then(|plain| json::utf8(plain).ok())
            .and_then(|text| json::canonicalize(text).ok())
            .map_or(
                answer.canonical == Some(Some(*sha256)),
                |text| is(text.as_bytes()),
            ),
    });
    let canonical = readings.contains(&Reading::Canonical);
    match matched {
        Some(reading) => checks.pass_because(ID, reading.says()),
        None if material.coded && plain.is_none() => checks.missing(
            ID,
            "The bytes still carry a content coding; hand in what is under it too.",
        ),
        // Of a digest alone no other reading can be told.
        None if canonical && plain.is_none() && answer.canonical.is_none() => checks.missing(
            ID,
            "The digest is not that of the exact bytes, and may be that of the JSON in them: hand in the answer itself.",
        ),
        None => differs(checks, sha256, &answer.sha256, plain),
    }
    matched
}

/// That the answer is not the one of the digest, and in what it differs, where its bytes are here and that can be told.
pub(super) fn differs(checks: &mut Checks, sha256: &[u8; 32], actual: &[u8; 32], bytes: Option<&[u8]>) {
    let found = bytes.and_then(|bytes| checks.told(|| difference(sha256, bytes))?);
    let why = found.unwrap_or("The two sides differ.");
    checks.differ("delivery.hash", why, || {
        (hex::encode(sha256), hex::encode(actual))
    });
}

/// In what alone the bytes differ from those that the digest is over, when it is one of the things that tools change without a word.
fn difference(sha256: &[u8; 32], bytes: &[u8]) -> Option<&'static str> {
    const MARK: &[u8] = &[0xef, 0xbb, 0xbf];
    if bytes.len() > MAX_COMPARED {
        return None;
    }
    let is = |bytes: &[u8]| digest::sha256(bytes) == *sha256;
    let without = |end: &[u8]| bytes.strip_suffix(end).is_some_and(is);
    let with = |end: &[u8]| is(&[bytes, end].concat());
    if bytes.strip_prefix(MARK).is_some_and(is) || is(&[MARK, bytes].concat()) {
        return Some("The bytes differ in a byte order mark at their beginning, and in nothing else.");
    }
    if without(b"\n") || without(b"\r\n") || with(b"\n") || with(b"\r\n") {
        return Some("The bytes differ in the line end after the last line, and in nothing else.");
    }
    if is(&unix_lines(bytes)) || is(&dos_lines(bytes)) {
        return Some("The bytes differ in their line ends (CRLF or LF), and in nothing else.");
    }
    encodings(bytes)
        .into_iter()
        .any(|other| is(&other))
        .then_some("The text is the same in another encoding; its bytes differ.")
}

fn unix_lines(bytes: &[u8]) -> Vec<u8> {
    let next = bytes.iter().skip(1).map(Some).chain([None]);
    bytes
        .iter()
        .zip(next)
        .filter(|pair| *pair != (&b'\r', Some(&b'\n')))
        .map(|(byte, _)| *byte)
        .collect()
}

fn dos_lines(bytes: &[u8]) -> Vec<u8> {
    let lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
    let bare = lines.iter().map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    // The last one has no line end behind it, and its carriage return is its own.
    let last = lines.len().saturating_sub(1);
    let lines: Vec<&[u8]> = bare
        .zip(&lines)
        .enumerate()
        .map(|(at, (bare, line))| if at == last { *line } else { bare })
        .collect();
    lines.join(&b"\r\n"[..])
}

/// The same text in the other encodings in which services send text: UTF-8, ISO 8859-1, UTF-16 with and without its mark.
fn encodings(bytes: &[u8]) -> Vec<Vec<u8>> {
    let wide = |text: &str, little: bool, mark: bool| -> Vec<u8> {
        let units = mark.then_some(0xfeff).into_iter().chain(text.encode_utf16());
        units
            .flat_map(|unit| {
                if little {
                    unit.to_le_bytes()
                } else {
                    unit.to_be_bytes()
                }
            })
            .collect()
    };
    let narrow = |text: &str| -> Option<Vec<u8>> {
        text.chars()
            .map(|letter| u8::try_from(u32::from(letter)).ok())
            .collect()
    };
    let mut texts = Vec::new();
    match json::utf8(bytes) {
        Ok(text) => texts.push(text.to_owned()),
        Err(_) => texts.push(bytes.iter().map(|byte| char::from(*byte)).collect()),
    }
    for little in [true, false] {
        let units: Vec<u16> = bytes
            .chunks_exact(2)
            .filter_map(|pair| <[u8; 2]>::try_from(pair).ok())
            .map(|pair| {
                if little {
                    u16::from_le_bytes(pair)
                } else {
                    u16::from_be_bytes(pair)
                }
            })
            .collect();
        let text = String::from_utf16(&units)
            .ok()
            .filter(|_| bytes.len().is_multiple_of(2));
        texts.extend(text.map(|text| text.trim_start_matches('\u{feff}').to_owned()));
    }
    let mut others = Vec::new();
    for text in texts {
        others.extend(narrow(&text));
        for (little, mark) in [(true, false), (true, true), (false, false), (false, true)] {
            others.push(wide(&text, little, mark));
        }
        others.push(text.into_bytes());
    }
    others
}
