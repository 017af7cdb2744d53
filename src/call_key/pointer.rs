//! JSON Pointers (RFC 6901) with one addition: `*` stands for any index of an array.

use crate::error::{Code, Error};
use crate::json::Json;

/// Longest pointer accepted, in bytes.
const MAX_LEN: usize = 1024;
/// Deeper than any JSON text accepted goes, no pointer reaches.
const MAX_TOKENS: usize = crate::json::MAX_DEPTH;
/// Names that carry money or say who pays whom for what.
const PROTECTED: [&str; 6] = ["amount", "payto", "asset", "network", "resource", "payer"];

/// The way to one field, or with `*` to the same field of every element of an array.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Pointer(pub(super) Vec<String>);

impl Pointer {
    /// Reads a pointer. Errors: `pointer_invalid` (no leading `/`, a `~` that is neither `~0` nor `~1`, longer than 1024 bytes
    /// or 64 tokens).
    pub fn parse(text: &str) -> Result<Pointer, Error> {
        let invalid = || Error::new(Code::PointerInvalid, "");
        if text.is_empty() {
            return Ok(Pointer(Vec::new()));
        }
        let tokens = text.strip_prefix('/').ok_or_else(invalid)?;
        if text.len() > MAX_LEN || tokens.split('/').count() > MAX_TOKENS {
            return Err(invalid());
        }
        tokens
            .split('/')
            .map(|token| unescaped(token).ok_or_else(invalid))
            .collect::<Result<_, _>>()
            .map(Pointer)
    }

    /// The pointer of a field that may be left out of a key. Errors: those of [`Pointer::parse`], `protected_field`: the empty
    /// pointer, and one that goes to or through amount, payTo, asset, network, resource or payer.
    pub fn volatile(text: &str) -> Result<Pointer, Error> {
        let pointer = Pointer::parse(text)?;
        match pointer.0.is_empty() || pointer.0.iter().any(|token| is_protected(token)) {
            true => Err(Error::new(Code::ProtectedField, "")),
            false => Ok(pointer),
        }
    }

    /// What stands there, by RFC 6901 alone: `*` is a name like any other.
    pub fn find<'a>(&self, value: &'a Json) -> Option<&'a Json> {
        self.0.iter().try_fold(value, |value, token| match value {
            Json::Object(members) => members
                .iter()
                .find(|(name, _)| name == token)
                .map(|(_, value)| value),
            // An index has no leading zeros.
            Json::Array(items) => {
                let index: usize = token.parse().ok()?;
                items.get(index).filter(|_| index.to_string() == *token)
            }
            _ => None,
        })
    }

    /// The value without the member that stands there; an element of an array stays.
    pub fn removed(&self, value: &Json) -> Json {
        removed(value, &self.0)
    }

    /// The first step of the way.
    pub fn first(&self) -> Option<&str> {
        self.0.first().map(String::as_str)
    }

    /// The text of RFC 6901.
    pub fn to_text(&self) -> String {
        self.0
            .iter()
            .map(|token| format!("/{}", token.replace('~', "~0").replace('/', "~1")))
            .collect()
    }
}

fn removed(value: &Json, way: &[String]) -> Json {
    let Some((token, rest)) = way.split_first() else {
        return value.clone();
    };
    match value {
        Json::Object(_) if rest.is_empty() => value.clone().without(token),
        Json::Object(members) => Json::Object(
            members
                .iter()
                .map(|(name, value)| match name == token {
                    true => (name.clone(), removed(value, rest)),
                    false => (name.clone(), value.clone()),
                })
                .collect(),
        ),
        other => other.clone(),
    }
}

fn unescaped(token: &str) -> Option<String> {
    let mut parts = token.split('~');
    let mut out = parts.next()?.to_owned();
    for part in parts {
        let (mark, rest) = match (part.strip_prefix('0'), part.strip_prefix('1')) {
            (Some(rest), _) => ('~', rest),
            (_, Some(rest)) => ('/', rest),
            _ => return None,
        };
        out.push(mark);
        out.push_str(rest);
    }
    Some(out)
}

/// Whatever the case and the separators: `pay_to` and `PayTo` are `payTo`.
pub(super) fn is_protected(name: &str) -> bool {
    PROTECTED.contains(&plain(name).as_str())
}

/// A name without case and separators.
pub(super) fn plain(name: &str) -> String {
    name.chars()
        .filter(|c| !matches!(c, '_' | '-'))
        .map(|c| c.to_ascii_lowercase())
        .collect()
}

/// The value without the fields that the pointers lead to; a pointer that leads nowhere is fine. All of them are followed in
/// the value as it came, so that taking out `/list/0` does not move `/list/1`. Error: `protected_field`, when what would
/// be taken out holds a protected name at any depth.
pub(super) fn without(value: &Json, pointers: &[&[String]]) -> Result<Json, Error> {
    if pointers.is_empty() {
        return Ok(value.clone());
    }
    match value {
        Json::Object(members) => {
            let mut kept = Vec::new();
            for (name, value) in members {
                let value = child(value, pointers, |token| token == name)?;
                kept.extend(value.map(|value| (name.clone(), value)));
            }
            Ok(Json::Object(kept))
        }
        Json::Array(items) => {
            let mut kept = Vec::new();
            for (index, item) in items.iter().enumerate() {
                // RFC 6901 has no leading zeros in an index, and neither has this text.
                let index = index.to_string();
                kept.extend(child(item, pointers, |token| token == "*" || token == index)?);
            }
            Ok(Json::Array(kept))
        }
        other => Ok(other.clone()),
    }
}

fn child(value: &Json, pointers: &[&[String]], here: impl Fn(&str) -> bool) -> Result<Option<Json>, Error> {
    let below: Vec<&[String]> = pointers
        .iter()
        .filter_map(|pointer| pointer.split_first())
        .filter(|(token, _)| here(token))
        .map(|(_, rest)| rest)
        .collect();
    if !below.iter().any(|rest| rest.is_empty()) {
        return without(value, &below).map(Some);
    }
    match holds_protected(value) {
        true => Err(Error::new(Code::ProtectedField, "")),
        false => Ok(None),
    }
}

fn holds_protected(value: &Json) -> bool {
    match value {
        Json::Object(members) => members
            .iter()
            .any(|(name, value)| is_protected(name) || holds_protected(value)),
        Json::Array(items) => items.iter().any(holds_protected),
        _ => false,
    }
}
