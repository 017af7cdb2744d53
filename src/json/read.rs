//! Values from texts, and the faults of the reader as errors.

use counterfoil_json::{Container, Events, Fault, Number, Text};

use super::Json;
use crate::error::{Code, Error};
use crate::sorting::sort_by;

impl From<Fault> for Error {
    fn from(fault: Fault) -> Error {
        let code = match fault {
            Fault::TooLarge => Code::TooLarge,
            Fault::TooDeep => Code::JsonTooDeep,
            Fault::LoneSurrogate => Code::LoneSurrogate,
            Fault::DuplicateKey => Code::DuplicateKey,
            Fault::Invalid => Code::JsonInvalid,
            Fault::OutOfRange => Code::NumberOutOfRange,
        };
        Error::new(code, "")
    }
}

/// Parses one JSON text. Errors: `too_large`, `json_too_deep`, `lone_surrogate`, `duplicate_key`, `json_invalid`.
pub fn parse(text: &str) -> Result<Json, Error> {
    let mut builder = Builder::default();
    counterfoil_json::read(text, &mut builder)?;
    // A text that was read is one value.
    builder.value.ok_or_else(|| Fault::Invalid.into())
}

/// Parses UTF-8 bytes. A byte order mark, overlong forms and encoded surrogates are `json_invalid`.
pub fn parse_bytes(bytes: &[u8]) -> Result<Json, Error> {
    parse(utf8(bytes)?)
}

/// Bytes as the text that they are to be read from. Error: `json_invalid`.
pub fn utf8(bytes: &[u8]) -> Result<&str, Error> {
    core::str::from_utf8(bytes).map_err(|_| Fault::Invalid.into())
}

/// RFC 8785 text of one JSON text, without a value between. Errors: those of [`parse`], then `number_out_of_range`.
pub fn canonicalize(text: &str) -> Result<String, Error> {
    String::from_utf8(canonical_bytes(text)?).map_err(|_| Fault::Invalid.into())
}

/// The same in UTF-8, as it is hashed.
pub fn canonical_bytes(text: &str) -> Result<Vec<u8>, Error> {
    Ok(counterfoil_json::canonicalize(text)?)
}

/// Builds a value of what a text is said to hold.
#[derive(Default)]
struct Builder {
    /// The containers that are open, the innermost last, each with the name that its next value gets.
    open: Vec<(Json, String)>,
    value: Option<Json>,
}

impl Builder {
    fn put(&mut self, value: Json) {
        match self.open.last_mut() {
            Some((Json::Array(items), _)) => items.push(value),
            Some((Json::Object(members), name)) => members.push((core::mem::take(name), value)),
            _ => self.value = Some(value),
        }
    }
}

impl<'a> Events<'a> for Builder {
    fn word(&mut self, _: usize, value: Option<bool>) {
        self.put(value.map_or(Json::Null, Json::Bool));
    }

    fn number(&mut self, _: usize, number: Number<'a>) {
        self.put(Json::Number(number.literal.to_owned()));
    }

    fn string(&mut self, _: usize, text: Text<'a>) {
        self.put(Json::String(text.decoded().into_owned()));
    }

    fn name(&mut self, _: usize, name: Text<'a>) {
        if let Some((_, next)) = self.open.last_mut() {
            *next = name.decoded().into_owned();
        }
    }

    fn open(&mut self, _: usize, container: Container) {
        let empty = match container {
            Container::Array => Json::Array(Vec::new()),
            Container::Object => Json::Object(Vec::new()),
        };
        self.open.push((empty, String::new()));
    }

    fn close(&mut self, _: usize, _: Container) -> Result<(), Fault> {
        let Some((container, _)) = self.open.pop() else {
            return Ok(());
        };
        if matches!(&container, Json::Object(members) if has_duplicate(members)) {
            return Err(Fault::DuplicateKey);
        }
        self.put(container);
        Ok(())
    }
}

fn has_duplicate(members: &[(String, Json)]) -> bool {
    // Small objects, the usual case, need no allocation; large ones must not cost quadratic time.
    if members.len() <= 8 {
        return members
            .iter()
            .enumerate()
            .any(|(index, (name, _))| members.iter().skip(index + 1).any(|(other, _)| other == name));
    }
    let mut names: Vec<&str> = members.iter().map(|(name, _)| name.as_str()).collect();
    sort_by(&mut names, |left, right| left.cmp(right));
    names
        .windows(2)
        .any(|pair| matches!(pair, [left, right] if left == right))
}
