//! Strict JSON (RFC 8259 within I-JSON) and its canonical text (RFC 8785).
//!
//! A reader of our own, because money depends on what ordinary readers forgive or forget: duplicate members (found after
//! escapes are decoded), the literal text of a number, the order of members, lone surrogates. A [`Json`] printed with
//! [`Json::to_text`] keeps member order and number literals as they came.

use crate::error::{Code, Error};

/// Deepest nesting accepted.
pub const MAX_DEPTH: usize = 64;
/// Largest text accepted by [`parse`], in bytes.
pub const MAX_LEN: usize = 64 << 20;

/// One JSON value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Json {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// The literal as it stood in the text.
    Number(String),
    /// Decoded text.
    String(String),
    /// Array.
    Array(Vec<Json>),
    /// Members in their order; names are unique.
    Object(Vec<(String, Json)>),
}

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
    parse(core::str::from_utf8(bytes).map_err(|_| invalid())?)
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
            let plain = self
                .rest
                .bytes()
                .position(|byte| byte == b'"' || byte == b'\\' || byte < 0x20)
                .ok_or_else(invalid)?;
            out.push_str(self.split(plain)?);
            if self.take("\"") {
                return Ok(out);
            }
            if !self.take("\\") {
                return Err(invalid());
            }
            let escape = self.split(1)?;
            out.push(match escape {
                "\"" => '"',
                "\\" => '\\',
                "/" => '/',
                "b" => '\u{8}',
                "f" => '\u{c}',
                "n" => '\n',
                "r" => '\r',
                "t" => '\t',
                "u" => self.escaped_char()?,
                _ => return Err(invalid()),
            });
        }
    }

    fn escaped_char(&mut self) -> Result<char, Error> {
        let lone = || Error::new(Code::LoneSurrogate, "");
        let first = self.code_unit()?;
        let scalar = match first {
            0xd800..=0xdbff => {
                if !self.take("\\u") {
                    return Err(lone());
                }
                let second = self.code_unit()?;
                if !(0xdc00..=0xdfff).contains(&second) {
                    return Err(lone());
                }
                0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00)
            }
            unit => unit,
        };
        char::from_u32(scalar).ok_or_else(lone)
    }

    fn code_unit(&mut self) -> Result<u32, Error> {
        let digits = self.split(4)?;
        if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(invalid());
        }
        u32::from_str_radix(digits, 16).map_err(|_| invalid())
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
    names.sort_unstable();
    names
        .windows(2)
        .any(|pair| matches!(pair, [left, right] if left == right))
}

impl Json {
    /// Compact JSON text; member order and number literals as they are.
    pub fn to_text(&self) -> String {
        let mut out = String::new();
        self.write(
            &mut out,
            &mut |literal, out| {
                out.push_str(literal);
                Ok(())
            },
            false,
        )
        .map(|()| out)
        .unwrap_or_default()
    }

    /// RFC 8785 text. Error: `number_out_of_range` (overflow, or a whole number whose digits its double changes).
    pub fn to_canonical(&self) -> Result<String, Error> {
        let mut out = String::new();
        self.write(
            &mut out,
            &mut |literal, out| canonical_number(literal, true, out),
            true,
        )?;
        Ok(out)
    }

    /// RFC 8785 text exactly as the RFC has it, integers beyond 2^53 rounded. Error: `number_out_of_range` on overflow.
    pub fn to_plain_canonical(&self) -> Result<String, Error> {
        let mut out = String::new();
        self.write(
            &mut out,
            &mut |literal, out| canonical_number(literal, false, out),
            true,
        )?;
        Ok(out)
    }

    fn write(
        &self,
        out: &mut String,
        number: &mut dyn FnMut(&str, &mut String) -> Result<(), Error>,
        sorted: bool,
    ) -> Result<(), Error> {
        match self {
            Json::Null => out.push_str("null"),
            Json::Bool(true) => out.push_str("true"),
            Json::Bool(false) => out.push_str("false"),
            Json::Number(literal) => number(literal, out)?,
            Json::String(text) => write_string(text, out),
            Json::Array(items) => {
                out.push('[');
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    item.write(out, number, sorted)?;
                }
                out.push(']');
            }
            Json::Object(members) => {
                let mut order: Vec<&(String, Json)> = members.iter().collect();
                if sorted {
                    order.sort_by(|(left, _), (right, _)| left.encode_utf16().cmp(right.encode_utf16()));
                }
                out.push('{');
                for (index, (name, value)) in order.into_iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    write_string(name, out);
                    out.push(':');
                    value.write(out, number, sorted)?;
                }
                out.push('}');
            }
        }
        Ok(())
    }
}

fn write_string(text: &str, out: &mut String) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\u{c}' => out.push_str("\\f"),
            '\r' => out.push_str("\\r"),
            control if control < ' ' => {
                let code = u32::from(control);
                out.push_str("\\u00");
                out.push(if code < 16 { '0' } else { '1' });
                out.extend(char::from_digit(code % 16, 16));
            }
            other => out.push(other),
        }
    }
    out.push('"');
}

fn canonical_number(literal: &str, strict: bool, out: &mut String) -> Result<(), Error> {
    let range = || Error::new(Code::NumberOutOfRange, "");
    let double: f64 = literal.parse().map_err(|_| range())?;
    if !double.is_finite() {
        return Err(range());
    }
    let mut buffer = ryu_js::Buffer::new();
    let text = buffer.format(double);
    if strict {
        // A fraction is an approximation in any reader; a whole number is not, however it is spelt.
        let written = significand(literal);
        if written.1 >= 0 && written != significand(text) {
            return Err(range());
        }
    }
    out.push_str(text);
    Ok(())
}

/// The digits of a number between its outer zeros, and the power of ten of the last one.
fn significand(literal: &str) -> (String, i64) {
    let (mantissa, exponent) = literal.split_once(['e', 'E']).unwrap_or((literal, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all = [whole.trim_start_matches('-'), fraction].concat();
    let digits = all.trim_end_matches('0');
    if digits.is_empty() {
        return (String::new(), 0);
    }
    // An exponent that no i64 holds belongs to zero or to an overflow, which ends before this matters.
    let shift: i64 = exponent.parse().unwrap_or(i64::MIN / 2);
    let dropped = (all.len() - digits.len()) as i64 - fraction.len() as i64;
    (
        digits.trim_start_matches('0').to_owned(),
        shift.saturating_add(dropped),
    )
}

// ---------------------------------------------------------------- reading values with their field's path

impl Json {
    /// An object from its members, in this order.
    pub fn object<const N: usize>(members: [(&str, Json); N]) -> Json {
        Json::Object(
            members
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect(),
        )
    }

    /// A string value.
    pub fn text(text: impl Into<String>) -> Json {
        Json::String(text.into())
    }

    /// A whole number. Exact up to 2^53, the largest that JavaScript carries.
    pub fn number(number: u64) -> Json {
        Json::Number(number.to_string())
    }

    /// Adds or replaces a member of an object; anything else is left alone.
    pub fn set(&mut self, name: &str, value: Json) {
        if let Json::Object(members) = self {
            match members.iter_mut().find(|(key, _)| key == name) {
                Some((_, old)) => *old = value,
                None => members.push((name.to_owned(), value)),
            }
        }
    }

    /// The same object with a member added or replaced.
    #[must_use]
    pub fn with(mut self, name: &str, value: Json) -> Json {
        self.set(name, value);
        self
    }

    /// The same object with a member, when there is a value.
    #[must_use]
    pub fn with_some(self, name: &str, value: Option<Json>) -> Json {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    /// A member that is there and not null.
    pub fn get(&self, name: &str) -> Option<&Json> {
        match self {
            Json::Object(members) => members
                .iter()
                .find(|(key, _)| key == name)
                .map(|(_, value)| value)
                .filter(|value| **value != Json::Null),
            _ => None,
        }
    }

    /// A required member. Errors: `invalid_type` when this is no object, `missing_field`.
    pub fn require(&self, name: &str) -> Result<&Json, Error> {
        self.as_object()?;
        self.get(name).ok_or_else(|| Error::new(Code::MissingField, name))
    }

    /// A required member read by `read`, whose error gets the member's name.
    pub fn read<'a, T>(
        &'a self,
        name: &str,
        read: impl FnOnce(&'a Json) -> Result<T, Error>,
    ) -> Result<T, Error> {
        read(self.require(name)?).map_err(|error| error.within(name))
    }

    /// An optional member read by `read`; absent and null are `None`.
    pub fn read_opt<'a, T>(
        &'a self,
        name: &str,
        read: impl FnOnce(&'a Json) -> Result<T, Error>,
    ) -> Result<Option<T>, Error> {
        self.get(name)
            .map(read)
            .transpose()
            .map_err(|error| error.within(name))
    }

    /// Members. Error: `invalid_type`.
    pub fn as_object(&self) -> Result<&[(String, Json)], Error> {
        match self {
            Json::Object(members) => Ok(members),
            _ => Err(Error::new(Code::InvalidType, "")),
        }
    }

    /// Items. Error: `invalid_type`.
    pub fn as_array(&self) -> Result<&[Json], Error> {
        match self {
            Json::Array(items) => Ok(items),
            _ => Err(Error::new(Code::InvalidType, "")),
        }
    }

    /// Each item read by `read`, whose error gets the index.
    pub fn as_list<'a, T>(
        &'a self,
        mut read: impl FnMut(&'a Json) -> Result<T, Error>,
    ) -> Result<Vec<T>, Error> {
        self.as_array()?
            .iter()
            .enumerate()
            .map(|(index, item)| read(item).map_err(|error| error.within(&format!("[{index}]"))))
            .collect()
    }

    /// Text. Error: `invalid_type`.
    pub fn as_str(&self) -> Result<&str, Error> {
        match self {
            Json::String(text) => Ok(text),
            _ => Err(Error::new(Code::InvalidType, "")),
        }
    }

    /// Text, owned. Error: `invalid_type`.
    pub fn as_string(&self) -> Result<String, Error> {
        self.as_str().map(str::to_owned)
    }

    /// Truth value. Error: `invalid_type`.
    pub fn as_bool(&self) -> Result<bool, Error> {
        match self {
            Json::Bool(value) => Ok(*value),
            _ => Err(Error::new(Code::InvalidType, "")),
        }
    }

    /// A whole number from 0 to 2^53-1, also spelt `5.0`. Errors: `invalid_type`, `number_out_of_range`.
    pub fn as_u64(&self) -> Result<u64, Error> {
        let Json::Number(literal) = self else {
            return Err(Error::new(Code::InvalidType, ""));
        };
        let range = || Error::new(Code::NumberOutOfRange, "");
        let whole = match literal.split_once('.') {
            Some((whole, fraction)) if fraction.bytes().all(|digit| digit == b'0') => whole,
            _ => literal,
        };
        match whole.parse::<u64>() {
            Ok(number) if number <= 9_007_199_254_740_991 => Ok(number),
            _ => Err(range()),
        }
    }
}
