//! Public keys of documents that others signed, written as JWK (RFC 7517, 7518 §6.2, 8037, 8812) or as Multikey. They are read and compared here,
//! and used elsewhere.

use crate::base64;
use crate::error::{Code, Error};
use crate::json::Json;
use crate::time::{self, Seconds};

/// A signature algorithm: there is no other than these, and each goes with keys of one curve only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Algorithm {
    /// ECDSA on secp256k1 over SHA-256 (RFC 8812).
    Es256k,
    /// ECDSA on P-256 over SHA-256 (RFC 7518 §3.4).
    Es256,
    /// Ed25519 (RFC 8037).
    EdDsa,
}

impl Algorithm {
    const ALL: [Algorithm; 3] = [Algorithm::Es256k, Algorithm::Es256, Algorithm::EdDsa];

    /// The algorithm of this name, in exactly this spelling.
    pub fn parse(name: &str) -> Option<Algorithm> {
        Self::ALL.into_iter().find(|known| known.as_str() == name)
    }

    /// The name in a header.
    pub const fn as_str(self) -> &'static str {
        match self {
            Algorithm::Es256k => "ES256K",
            Algorithm::Es256 => "ES256",
            Algorithm::EdDsa => "EdDSA",
        }
    }

    /// Type and curve of its keys.
    const fn kind(self) -> (&'static str, &'static str) {
        match self {
            Algorithm::Es256k => ("EC", "secp256k1"),
            Algorithm::Es256 => ("EC", "P-256"),
            Algorithm::EdDsa => ("OKP", "Ed25519"),
        }
    }

    /// The multicodec prefix of its keys.
    const fn prefix(self) -> [u8; 2] {
        match self {
            Algorithm::Es256k => [0xe7, 0x01],
            Algorithm::Es256 => [0x80, 0x24],
            Algorithm::EdDsa => [0xed, 0x01],
        }
    }
}

/// A public key, for one algorithm: a point in SEC 1 form, compressed or not, or the 32 bytes of an Ed25519 key. Whether it is on the curve
/// is found out where it is used.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    /// The one algorithm that it is for.
    pub algorithm: Algorithm,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// When a key may have signed: from one second to before another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Window {
    from: Option<Seconds>,
    until: Option<Seconds>,
}

/// A key with its name and the time for which it is good.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Jwk {
    /// The name under which headers ask for it.
    pub kid: Option<String>,
    /// The key.
    pub key: Key,
    /// When it may have signed.
    pub window: Window,
}

fn invalid(field: &str) -> Error {
    Error::new(Code::JwkInvalid, field)
}

impl Key {
    /// Whether it is the same key, in whatever form its point is written.
    pub fn is(&self, other: &Key) -> bool {
        self.algorithm == other.algorithm && self.compressed() == other.compressed()
    }

    fn compressed(&self) -> Vec<u8> {
        match self.bytes.as_slice() {
            [4, both @ ..] if both.len() == 64 => {
                let odd = both.last().is_some_and(|last| last & 1 == 1);
                let sign = if odd { 3 } else { 2 };
                core::iter::once(sign)
                    .chain(both.iter().copied().take(32))
                    .collect()
            }
            bytes => bytes.to_vec(),
        }
    }

    /// Reads a Multikey: `z` and base58btc over a multicodec prefix and the key, a point compressed. Error: `jwk_invalid`.
    pub fn from_multikey(text: &str) -> Result<Key, Error> {
        let digits = text.strip_prefix('z').ok_or_else(|| invalid(""))?;
        let bytes = base58(digits).ok_or_else(|| invalid(""))?;
        let (prefix, key) = bytes.split_first_chunk::<2>().ok_or_else(|| invalid(""))?;
        let algorithm = Algorithm::ALL
            .into_iter()
            .find(|known| known.prefix() == *prefix)
            .ok_or_else(|| invalid(""))?;
        let whole = match (algorithm, key) {
            (Algorithm::EdDsa, key) => key.len() == 32,
            (_, [2 | 3, x @ ..]) => x.len() == 32,
            _ => false,
        };
        whole
            .then(|| Key {
                algorithm,
                bytes: key.to_vec(),
            })
            .ok_or_else(|| invalid(""))
    }

    /// Reads `{alg, key}`, the form of [`Key::to_json`].
    pub fn from_json(json: &Json) -> Result<Key, Error> {
        Ok(Key {
            algorithm: json.read("alg", |name| {
                Algorithm::parse(name.as_str()?).ok_or_else(|| invalid(""))
            })?,
            bytes: json.read("key", |key| crate::hex::decode(key.as_str()?))?,
        })
    }

    /// `{alg, key}`, the bytes as 0x text.
    pub fn to_json(&self) -> Json {
        Json::object([
            ("alg", Json::text(self.algorithm.as_str())),
            ("key", Json::text(crate::hex::encode(&self.bytes))),
        ])
    }
}

impl Window {
    /// Whether the key was good at that time.
    pub fn holds(&self, at: Seconds) -> bool {
        self.from.is_none_or(|from| from <= at) && self.until.is_none_or(|until| at < until)
    }

    /// The window of a verification method: until it `expires` or was `revoked`, whichever came first, each a date of RFC 3339. Error:
    /// `time_invalid`.
    pub fn of_method(json: &Json) -> Result<Window, Error> {
        let date =
            |at: &Json| time::parse_rfc3339(at.as_str()?).ok_or_else(|| Error::new(Code::TimeInvalid, ""));
        let ends = [json.read_opt("expires", date)?, json.read_opt("revoked", date)?];
        Ok(Window {
            from: None,
            until: ends.into_iter().flatten().min(),
        })
    }
}

impl Jwk {
    /// Reads a public JWK; members that are not known are passed over. `nbf` and `exp`, in seconds, bound the time for which it is good.
    /// Errors: `invalid_type`; `jwk_invalid` at `kty`, `crv`, `x`, `y`, at `d` for a private key, and at `alg`, `use`, `key_ops` that
    /// don't let it check signatures of its curve; `time_invalid`.
    pub fn from_json(json: &Json) -> Result<Jwk, Error> {
        let text = |name: &str| json.read_opt(name, Json::as_str);
        json.as_object()?;
        let (kty, crv) = (text("kty")?, text("crv")?);
        let of = |known: &Algorithm| kty == Some(known.kind().0) && crv == Some(known.kind().1);
        let algorithm = Algorithm::ALL
            .into_iter()
            .find(of)
            .ok_or_else(|| invalid(if kty.is_none() { "kty" } else { "crv" }))?;
        if json.get("d").is_some() {
            return Err(invalid("d"));
        }
        let coordinate = |name: &str| {
            let bytes = base64::decode_url(text(name)?.unwrap_or_default()).unwrap_or_default();
            (bytes.len() == 32).then_some(bytes).ok_or_else(|| invalid(name))
        };
        let bytes = match algorithm {
            Algorithm::EdDsa => coordinate("x")?,
            _ => [vec![4], coordinate("x")?, coordinate("y")?].concat(),
        };
        if text("alg")?.is_some_and(|name| name != algorithm.as_str()) {
            return Err(invalid("alg"));
        }
        if text("use")?.is_some_and(|purpose| purpose != "sig") {
            return Err(invalid("use"));
        }
        let operations = json.read_opt("key_ops", |list| list.as_list(Json::as_str))?;
        if operations.is_some_and(|list| !list.contains(&"verify")) {
            return Err(invalid("key_ops"));
        }
        Ok(Jwk {
            kid: json.read_opt("kid", Json::as_string)?,
            key: Key { algorithm, bytes },
            window: Window {
                from: json.read_opt("nbf", time::parse_seconds)?,
                until: json.read_opt("exp", time::parse_seconds)?,
            },
        })
    }
}

/// Longest base58 text read: a key of 35 bytes takes 48.
const MAX_BASE58: usize = 64;

/// Bitcoin's base58, as Multibase's `z` takes it.
fn base58(text: &str) -> Option<Vec<u8>> {
    const DIGITS: &[u8] = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
    if text.is_empty() || text.len() > MAX_BASE58 {
        return None;
    }
    // The number, its lowest byte first.
    let mut bytes: Vec<u8> = Vec::new();
    for digit in text.bytes() {
        let mut carry = DIGITS.iter().position(|known| *known == digit)?;
        for byte in &mut bytes {
            carry += usize::from(*byte) * 58;
            *byte = carry as u8;
            carry >>= 8;
        }
        while carry > 0 {
            bytes.push(carry as u8);
            carry >>= 8;
        }
    }
    bytes.extend(text.bytes().take_while(|digit| *digit == b'1').map(|_| 0));
    bytes.reverse();
    Some(bytes)
}
