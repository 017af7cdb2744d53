//! The challenge: what a service asks for, and how `WWW-Authenticate` carries it (RFC 9110 §11.6.1).
//!
//! Several challenges stand in one field, next to those of other schemes; a comma inside a quoted string separates nothing.
//! What is wrong inside one challenge refuses that one. A field whose very elements can't be told apart is refused whole.

use alloy_primitives::keccak256;

use super::{decode, AUTHORIZATION, MAX_HEADER, MAX_REQUEST, PAYMENT_AUTHORIZATION, SCHEME};
use crate::base64;
use crate::digest;
use crate::error::{Code, Error};
use crate::json::Json;
use crate::time::{self, Seconds};

/// Shortest secret under which ids are bound, in bytes.
const MIN_SECRET: usize = 16;

/// One challenge, every text as it came.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Challenge {
    /// Names the challenge; opaque to the payer.
    pub id: String,
    /// Who asks.
    pub realm: String,
    /// Payment method, such as `evm`.
    pub method: String,
    /// What the payment is for, such as `charge`.
    pub intent: String,
    /// base64url text of the method's own JSON. Echoed byte for byte.
    pub request: String,
    /// RFC 3339 time after which nothing is sent for it.
    pub expires: Option<String>,
    /// SHA-256 of the body of the request that it is for, with or without the colons of RFC 9530.
    pub digest: Option<String>,
    /// The service's own data. Echoed byte for byte, never read.
    pub opaque: Option<String>,
    /// Display only.
    pub description: Option<String>,
    /// The field that the credential must travel in, where it is not `Authorization`.
    pub header: Option<String>,
}

/// The members that a challenge has, and whether each must be there.
const MEMBERS: [(&str, bool); 10] = [
    ("id", true),
    ("realm", true),
    ("method", true),
    ("intent", true),
    ("request", true),
    ("expires", false),
    ("digest", false),
    ("opaque", false),
    ("description", false),
    ("header", false),
];

impl Challenge {
    /// Reads the members as an object of texts. Errors, in the order of the members: `challenge_invalid`, and for `request`
    /// `too_large`, `base64_invalid` and those of the JSON reader.
    pub fn from_json(json: &Json) -> Result<Challenge, Error> {
        let mut params = Vec::new();
        for (name, _) in MEMBERS {
            let text = json.read_opt(name, Json::as_string);
            let text = text.map_err(|error| error.with_code(Code::ChallengeInvalid))?;
            params.extend(text.map(|text| (name.to_owned(), text)));
        }
        Challenge::read(params)
    }

    fn read(mut params: Vec<(String, String)>) -> Result<Challenge, Error> {
        let invalid = |name: &str| Error::new(Code::ChallengeInvalid, name);
        for (name, required) in MEMBERS {
            let count = params.iter().filter(|(key, _)| key == name).count();
            if count > 1 || (required && count == 0) {
                return Err(invalid(name));
            }
        }
        let mut take = |name: &str| {
            let at = params.iter().position(|(key, _)| key == name)?;
            Some(params.swap_remove(at).1)
        };
        let challenge = Challenge {
            id: take("id").unwrap_or_default(),
            realm: take("realm").unwrap_or_default(),
            method: take("method").unwrap_or_default(),
            intent: take("intent").unwrap_or_default(),
            request: take("request").unwrap_or_default(),
            expires: take("expires"),
            digest: take("digest"),
            opaque: take("opaque"),
            description: take("description"),
            // `Authorization` says nothing: it is the default and no part of what the id binds.
            header: take("header").filter(|name| !name.eq_ignore_ascii_case(AUTHORIZATION)),
        };
        let lower = |name: &str| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase());
        let known = |name: &String| name.eq_ignore_ascii_case(PAYMENT_AUTHORIZATION);
        let checks = [
            ("id", !challenge.id.is_empty()),
            ("method", lower(&challenge.method)),
            ("intent", !challenge.intent.is_empty()),
            (
                "expires",
                challenge.expires.is_none() || challenge.expires_at().is_some(),
            ),
            (
                "digest",
                challenge.digest.is_none() || challenge.body_sha256().is_some(),
            ),
            (
                "opaque",
                challenge
                    .opaque
                    .as_ref()
                    .is_none_or(|text| text.len() <= MAX_REQUEST),
            ),
            // A service must not choose which of the request's own fields are overwritten.
            ("header", challenge.header.as_ref().is_none_or(known)),
        ];
        if let Some((name, _)) = checks.iter().find(|(_, holds)| !holds) {
            return Err(invalid(name));
        }
        challenge.terms()?;
        Ok(challenge)
    }

    /// In the order in which it is put on the wire; the request as its text.
    pub fn to_json(&self) -> Json {
        let text = |text: &Option<String>| text.as_deref().map(Json::text);
        Json::object([
            ("id", Json::text(self.id.as_str())),
            ("realm", Json::text(self.realm.as_str())),
            ("method", Json::text(self.method.as_str())),
            ("intent", Json::text(self.intent.as_str())),
            ("request", Json::text(self.request.as_str())),
        ])
        .with_some("description", text(&self.description))
        .with_some("digest", text(&self.digest))
        .with_some("expires", text(&self.expires))
        .with_some("header", text(&self.header))
        .with_some("opaque", text(&self.opaque))
    }

    /// The method's own JSON, out of `request`. Errors at `request`: `too_large`, `base64_invalid`, those of the JSON reader,
    /// `challenge_invalid` (no object).
    pub fn terms(&self) -> Result<Json, Error> {
        let json = decode(&self.request, MAX_REQUEST).map_err(|error| error.within("request"))?;
        match json {
            Json::Object(_) => Ok(json),
            _ => Err(Error::new(Code::ChallengeInvalid, "request")),
        }
    }

    /// The second at which nothing may be sent for it any more.
    pub fn expires_at(&self) -> Option<Seconds> {
        time::parse_rfc3339(self.expires.as_deref()?)
    }

    /// The SHA-256 that the request's body must have.
    pub fn body_sha256(&self) -> Option<[u8; 32]> {
        let text = self.digest.as_deref()?.strip_prefix("sha-256=")?;
        let text = match text.strip_prefix(':') {
            Some(colons) => colons.strip_suffix(':')?,
            None => text,
        };
        // Half an alphabet or an outer blank would be another spelling of the same bytes.
        let bytes = base64::decode_header(text).ok()?;
        (base64::encode(&bytes) == text).then_some(())?;
        bytes.try_into().ok()
    }

    /// The field that the credential travels in.
    pub fn carrier(&self) -> &'static str {
        match self.header {
            Some(_) => PAYMENT_AUTHORIZATION,
            None => AUTHORIZATION,
        }
    }

    /// Whether it says the same. The description is not looked at: it is for people, and bound by nothing.
    pub fn is_same(&self, other: &Challenge) -> bool {
        (&self.id, self.binding()) == (&other.id, other.binding())
    }

    /// What an id is bound to: realm, method, intent, request, expires, digest and opaque, joined by bars, absent ones as
    /// empty texts; the named field stands before opaque, where there is one.
    fn binding(&self) -> String {
        let text = |text: &'_ Option<String>| text.clone().unwrap_or_default();
        let mut slots = vec![
            self.realm.clone(),
            self.method.clone(),
            self.intent.clone(),
            self.request.clone(),
            text(&self.expires),
            text(&self.digest),
        ];
        slots.extend(self.header.clone());
        slots.push(text(&self.opaque));
        slots.join("|")
    }

    /// The id that binds all of it but the description: base64url of HMAC-SHA-256 under the service's secret. Error:
    /// `secret_invalid`, for one of fewer than 16 bytes.
    pub fn bound_id(&self, secret: &[u8]) -> Result<String, Error> {
        let mac = digest::hmac(long_enough(secret)?, self.binding().as_bytes())?;
        Ok(base64::encode_url(&mac))
    }

    /// Whether its id is [`Challenge::bound_id`]: whether this service issued exactly this. Error: `secret_invalid`.
    pub fn is_bound(&self, secret: &[u8]) -> Result<bool, Error> {
        let secret = long_enough(secret)?;
        match base64::decode_url(&self.id) {
            Ok(id) => digest::hmac_is(secret, self.binding().as_bytes(), &id),
            Err(_) => Ok(false),
        }
    }

    /// The nonce of the EIP-3009 authorization that pays it: Keccak-256 of id and realm, nothing between them.
    pub fn nonce(&self) -> [u8; 32] {
        keccak256([self.id.as_bytes(), self.realm.as_bytes()].concat()).0
    }
}

fn long_enough(secret: &[u8]) -> Result<&[u8], Error> {
    match secret.len() {
        MIN_SECRET.. => Ok(secret),
        _ => Err(Error::new(Code::SecretInvalid, "secret")),
    }
}

// ---------------------------------------------------------------- the header field

/// The challenges of scheme `Payment` in their order, each read or refused on its own; those of other schemes are passed over.
/// Errors: `too_large`, `challenge_invalid` for a field that is not made of challenges.
pub fn parse(field: &str) -> Result<Vec<Result<Challenge, Error>>, Error> {
    if field.len() > MAX_HEADER {
        return Err(Error::new(Code::TooLarge, ""));
    }
    let found = elements(field).ok_or_else(|| Error::new(Code::ChallengeInvalid, ""))?;
    let ours = found
        .into_iter()
        .filter(|one| one.scheme.eq_ignore_ascii_case(SCHEME));
    let read = |one: Element| match one.fault {
        Some(name) => Err(Error::new(Code::ChallengeInvalid, name)),
        None => Challenge::read(one.params),
    };
    Ok(ours.map(read).collect())
}

/// One challenge of any scheme.
struct Element {
    scheme: String,
    params: Vec<(String, String)>,
    /// A parameter whose value can't be read, though its end is known.
    fault: Option<String>,
}

fn elements(field: &str) -> Option<Vec<Element>> {
    let mut found: Vec<Element> = Vec::new();
    let mut rest = field;
    loop {
        rest = rest.trim_start_matches([' ', '\t', ',']);
        if rest.is_empty() {
            return Some(found);
        }
        let (word, after) = token(rest)?;
        let inner = blanks(after);
        rest = if inner.starts_with('=') {
            parameter(found.last_mut()?, word, inner)?
        } else {
            found.push(Element {
                scheme: word.to_owned(),
                params: Vec::new(),
                fault: None,
            });
            match inner.len() < after.len() {
                true => first_parameter(found.last_mut()?, inner)?,
                false => inner,
            }
        };
        rest = blanks(rest);
        if !rest.is_empty() && !rest.starts_with(',') {
            return None;
        }
    }
}

/// What follows the name of a scheme: nothing, one token68, or the first parameter.
fn first_parameter<'a>(element: &mut Element, text: &'a str) -> Option<&'a str> {
    let after = text
        .trim_start_matches(|c: char| c.is_ascii_alphanumeric() || "-._~+/".contains(c))
        .trim_start_matches('=');
    let ends = |text: &str| text.is_empty() || text.starts_with(',');
    if ends(text) || ends(blanks(after)) {
        return Some(after);
    }
    let (name, after) = token(text)?;
    parameter(element, name, blanks(after))
}

/// Reads `= value`; the name counts in any case.
fn parameter<'a>(element: &mut Element, name: &str, text: &'a str) -> Option<&'a str> {
    let name = name.to_ascii_lowercase();
    let text = blanks(text.strip_prefix('=')?);
    let (value, rest) = match text.strip_prefix('"') {
        Some(quoted) => unquote(quoted)?,
        None => {
            let end = text.find([',', ' ', '\t']).unwrap_or(text.len());
            let (bare, rest) = text.split_at_checked(end)?;
            (
                token(bare)
                    .filter(|(_, more)| more.is_empty())
                    .map(|_| bare.to_owned()),
                rest,
            )
        }
    };
    match value {
        Some(value) => element.params.push((name, value)),
        None => element.fault = Some(name),
    }
    Some(rest)
}

/// A quoted string behind its first mark: what it says, when that is text, and what follows it. `\uXXXX` is a UTF-16 unit, as
/// services write what a header field can't hold; before any other character the backslash only hides it.
fn unquote(text: &str) -> Option<(Option<String>, &str)> {
    let mut units: Vec<u16> = Vec::new();
    let mut chars = text.chars();
    let mut buffer = [0; 2];
    loop {
        let c = match chars.next()? {
            '"' => return Some((String::from_utf16(&units).ok(), chars.as_str())),
            '\\' => match unit(chars.as_str()) {
                Some((unit, rest)) => {
                    units.push(unit);
                    chars = rest.chars();
                    continue;
                }
                None => chars.next()?,
            },
            c => c,
        };
        // A line end here is an attempt to be two fields.
        if c.is_control() && c != '\t' {
            return None;
        }
        units.extend_from_slice(c.encode_utf16(&mut buffer));
    }
}

/// `uXXXX`.
fn unit(text: &str) -> Option<(u16, &str)> {
    let (digits, rest) = text.strip_prefix('u')?.split_at_checked(4)?;
    let hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    let unit = hex.then(|| u16::from_str_radix(digits, 16).ok()).flatten()?;
    Some((unit, rest))
}

fn blanks(text: &str) -> &str {
    text.trim_start_matches([' ', '\t'])
}

/// A token of at least one character (RFC 9110 §5.6.2) and what follows it.
fn token(text: &str) -> Option<(&str, &str)> {
    let rest = text.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c));
    let (token, rest) = text.split_at_checked(text.len() - rest.len())?;
    (!token.is_empty()).then_some((token, rest))
}
