//! Compact JWS (RFC 7515), as signed offers and receipts come: read strictly, and split so that the arithmetic stands apart. [`Jws`] says what is
//! claimed, a [`Task`] what must be checked under which key, [`check`] answers it.
//!
//! A key that the document itself brings (`jwk`, `jku`, `x5u`, `x5c`) is never used. The key comes from the caller, by exactly the `kid` of the
//! header.

mod check;

pub use check::check;

use crate::base64;
use crate::error::{Code, Error};
use crate::hex;
use crate::json::{self, Json};
use crate::jwk::{Algorithm, Jwk, Key};

/// Largest text read, in bytes.
pub const MAX_JWS: usize = 256 << 10;

/// A JWS as read; nothing of it is checked yet.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Jws {
    /// The algorithm that the header names.
    pub algorithm: Algorithm,
    /// The name of the key, as the header has it.
    pub kid: String,
    /// The key that the document brings along: good for a comparison only.
    pub brought: Option<Key>,
    /// The payload's bytes.
    pub payload: Vec<u8>,
    input: String,
    signature: [u8; 64],
}

/// What must be checked: whether this key made this signature over this input.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Task {
    /// The caller's key, which says the algorithm.
    pub key: Key,
    /// What was signed.
    pub input: Vec<u8>,
    /// `r | s` or an Ed25519 signature: 64 bytes in all three algorithms.
    pub signature: [u8; 64],
}

fn invalid(field: &str) -> Error {
    Error::new(Code::JwsInvalid, field)
}

/// Whether a text is meant to be one: three parts in the alphabet of base64url.
pub fn is_jws(text: &str) -> bool {
    let part = |part: &str| {
        part.bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
    };
    text.split('.').count() == 3 && text.split('.').all(part)
}

/// Reads a compact JWS. Errors: `too_large`; `jws_invalid` for what is not three parts of unpadded base64url, at `header` for no JSON object, at
/// `header.alg` for any but the three algorithms, at `header.kid` for none, at `header.crit`, `header.b64`, `header.jku`, `header.x5u`,
/// `header.x5c` for what must not be there, at `header.jwk` for no public key of the algorithm, at `signature` for any length but 64.
pub fn parse(text: &str) -> Result<Jws, Error> {
    let (signed, signature) = text.rsplit_once('.').ok_or_else(|| invalid(""))?;
    let (header, payload) = signed.split_once('.').ok_or_else(|| invalid(""))?;
    read(text.len(), header, payload, signature)
}

/// Reads a JWS whose payload stands elsewhere: `header..signature` (RFC 7515, appendix F). Errors: those of [`parse`].
pub fn parse_detached(text: &str, payload: &[u8]) -> Result<Jws, Error> {
    let (header, signature) = text.split_once("..").ok_or_else(|| invalid(""))?;
    read(text.len(), header, &base64::encode_url(payload), signature)
}

fn read(length: usize, header: &str, payload: &str, signature: &str) -> Result<Jws, Error> {
    if length > MAX_JWS {
        return Err(Error::new(Code::TooLarge, ""));
    }
    let decoded = |part: &str| base64::decode_url(part).map_err(|_| invalid(""));
    let (fields, bytes) = (decoded(header)?, decoded(payload)?);
    let signature = decoded(signature)?;
    let fields = json::parse_bytes(&fields).map_err(|_| invalid("header"))?;
    fields.as_object().map_err(|_| invalid("header"))?;
    let text = |name: &str| fields.get(name).and_then(|value| value.as_str().ok());
    let algorithm = text("alg")
        .and_then(Algorithm::parse)
        .ok_or_else(|| invalid("header.alg"))?;
    let kid = text("kid").filter(|kid| !kid.is_empty());
    let kid = kid.ok_or_else(|| invalid("header.kid"))?.to_owned();
    // `has` and not `get`: a member that is null is there too.
    let has = |name: &str| {
        fields
            .as_object()
            .is_ok_and(|all| all.iter().any(|(key, _)| key == name))
    };
    for name in ["crit", "b64", "jku", "x5u", "x5c"] {
        if has(name) {
            return Err(invalid(&format!("header.{name}")));
        }
    }
    let brought = fields
        .get("jwk")
        .map(Jwk::from_json)
        .transpose()
        .ok()
        .map(|jwk| jwk.map(|jwk| jwk.key));
    let brought = brought.ok_or_else(|| invalid("header.jwk"))?;
    if brought.as_ref().is_some_and(|key| key.algorithm != algorithm) {
        return Err(invalid("header.jwk"));
    }
    Ok(Jws {
        algorithm,
        kid,
        brought,
        payload: bytes,
        input: format!("{header}.{payload}"),
        signature: signature.try_into().map_err(|_| invalid("signature"))?,
    })
}

impl Jws {
    /// What is signed.
    pub fn input(&self) -> &[u8] {
        self.input.as_bytes()
    }

    /// What must be checked under that key of the caller's. None where the key is for another algorithm than the header names: a header does
    /// not choose how a key is used.
    pub fn task(&self, key: &Key) -> Option<Task> {
        (key.algorithm == self.algorithm).then(|| Task {
            key: key.clone(),
            input: self.input.clone().into_bytes(),
            signature: self.signature,
        })
    }
}

impl Task {
    /// Reads `{alg, key, input, signature}`, each 0x text but the first. Errors: `missing_field`, `invalid_type`, `jwk_invalid`, `hex_invalid`.
    pub fn from_json(json: &Json) -> Result<Task, Error> {
        Ok(Task {
            key: Key::from_json(json)?,
            input: json.read("input", |input| hex::decode(input.as_str()?))?,
            signature: json.read("signature", Json::as_hex)?,
        })
    }

    /// `{alg, key, input, signature}`.
    pub fn to_json(&self) -> Json {
        self.key
            .to_json()
            .with("input", Json::text(hex::encode(&self.input)))
            .with("signature", Json::text(hex::encode(self.signature)))
    }
}
