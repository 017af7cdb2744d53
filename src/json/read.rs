//! The reader: one text, one value, or the first reason why not.

use super::write::plain_prefix;
use super::{Json, MAX_DEPTH, MAX_LEN};
use crate::error::{Code, Error};
use crate::sorting::sort_by;

/// Parses one JSON text. Errors: `too_large`, `json_too_deep`, `lone_surrogate`, `duplicate_key`, `json_invalid`.
pub fn parse(text: &str) -> Result<Json, Error> {
    if text.len() > MAX_LEN {
        return Err(Error::new(Code::TooLarge, ""));
    }
    let mut reader = Reader { rest: text };
    let value = reader.value(0)?;
    reader.space();
    if reader.rest.is_empty() {
        Ok(value)
    } else {
        Err(invalid())
    }
}

/// Parses UTF-8 bytes. A byte order mark, overlong forms and encoded surrogates are `json_invalid`.
pub fn parse_bytes(bytes: &[u8]) -> Result<Json, Error> {
    parse(utf8(bytes)?)
}

/// Bytes as the text that they are to be read from. Error: `json_invalid`.
pub fn utf8(bytes: &[u8]) -> Result<&str, Error> {
    core::str::from_utf8(bytes).map_err(|_| invalid())
}

fn invalid() -> Error {
    Error::new(Code::JsonInvalid, "")
}

struct Reader<'a> {
    rest: &'a str,
}

impl<'a> Reader<'a> {
    fn space(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\n', '\r']);
    }

    fn take(&mut self, token: &str) -> bool {
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn split(&mut self, at: usize) -> Result<&'a str, Error> {
        let head = self.rest.get(..at).ok_or_else(invalid)?;
        self.rest = self.rest.get(at..).ok_or_else(invalid)?;
        Ok(head)
    }

    fn value(&mut self, depth: usize) -> Result<Json, Error> {
        self.space();
        match self.rest.as_bytes().first() {
            Some(b'{') => self.object(depth + 1),
            Some(b'[') => self.array(depth + 1),
            Some(b'"') => Ok(Json::String(self.string()?)),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ if self.take("true") => Ok(Json::Bool(true)),
            _ if self.take("false") => Ok(Json::Bool(false)),
            _ if self.take("null") => Ok(Json::Null),
            _ => Err(invalid()),
        }
    }

    fn array(&mut self, depth: usize) -> Result<Json, Error> {
        self.enter("[", depth)?;
        let mut items = Vec::new();
        self.space();
        if self.take("]") {
            return Ok(Json::Array(items));
        }
        loop {
            items.push(self.value(depth)?);
            self.space();
            if self.take("]") {
                return Ok(Json::Array(items));
            }
            if !self.take(",") {
                return Err(invalid());
            }
        }
    }

    fn object(&mut self, depth: usize) -> Result<Json, Error> {
        self.enter("{", depth)?;
        let mut members: Vec<(String, Json)> = Vec::new();
        self.space();
        if self.take("}") {
            return Ok(Json::Object(members));
        }
        loop {
            self.space();
            let name = self.string()?;
            self.space();
            if !self.take(":") {
                return Err(invalid());
            }
            members.push((name, self.value(depth)?));
            self.space();
            if self.take("}") {
                return if has_duplicate(&members) {
                    Err(Error::new(Code::DuplicateKey, ""))
                } else {
                    Ok(Json::Object(members))
                };
            }
            if !self.take(",") {
                return Err(invalid());
            }
        }
    }

    fn enter(&mut self, open: &str, depth: usize) -> Result<(), Error> {
        if depth > MAX_DEPTH {
            return Err(Error::new(Code::JsonTooDeep, ""));
        }
        if self.take(open) {
            Ok(())
        } else {
            Err(invalid())
        }
    }

    fn number(&mut self) -> Result<Json, Error> {
        let bytes = self.rest.as_bytes();
        let digits = |from: usize| {
            bytes
                .iter()
                .skip(from)
                .take_while(|byte| byte.is_ascii_digit())
                .count()
        };
        let mut at = usize::from(bytes.first() == Some(&b'-'));
        let whole = digits(at);
        if whole == 0 || (whole > 1 && bytes.get(at) == Some(&b'0')) {
            return Err(invalid());
        }
        at += whole;
        if bytes.get(at) == Some(&b'.') {
            let fraction = digits(at + 1);
            if fraction == 0 {
                return Err(invalid());
            }
            at += 1 + fraction;
        }
        if matches!(bytes.get(at), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
            let exponent = digits(at + 1 + sign);
            if exponent == 0 {
                return Err(invalid());
            }
            at += 1 + sign + exponent;
        }
        Ok(Json::Number(self.split(at)?.to_owned()))
    }

    fn string(&mut self) -> Result<String, Error> {
        if !self.take("\"") {
            return Err(invalid());
        }
        let mut out = String::new();
        loop {
            let plain = plain_prefix(self.rest.as_bytes());
            out.push_str(self.split(plain)?);
            if self.take("\"") {
                return Ok(out);
            }
            if !self.take("\\") {
                return Err(invalid());
            }
            let (character, length) = escape(self.rest)?;
            out.push(character);
            self.split(length)?;
        }
    }
}

/// The character of an escape, whose backslash stands before, and the escape's length. Errors: `lone_surrogate`, `json_invalid`.
pub(super) fn escape(rest: &str) -> Result<(char, usize), Error> {
    let lone = || Error::new(Code::LoneSurrogate, "");
    let character = match rest.as_bytes().first() {
        Some(b'"') => '"',
        Some(b'\\') => '\\',
        Some(b'/') => '/',
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{c}',
        Some(b'n') => '\n',
        Some(b'r') => '\r',
        Some(b't') => '\t',
        Some(b'u') => {
            let first = code_unit(rest, 1)?;
            if !(0xd800..=0xdbff).contains(&first) {
                return Ok((char::from_u32(first).ok_or_else(lone)?, 5));
            }
            if rest.get(5..7) != Some("\\u") {
                return Err(lone());
            }
            let second = code_unit(rest, 7)?;
            if !(0xdc00..=0xdfff).contains(&second) {
                return Err(lone());
            }
            let scalar = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
            return Ok((char::from_u32(scalar).ok_or_else(lone)?, 11));
        }
        _ => return Err(invalid()),
    };
    Ok((character, 1))
}

fn code_unit(rest: &str, at: usize) -> Result<u32, Error> {
    let digits = rest.get(at..at + 4).ok_or_else(invalid)?;
    if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(invalid());
    }
    u32::from_str_radix(digits, 16).map_err(|_| invalid())
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
