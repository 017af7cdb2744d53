//! Strict JSON (RFC 8259 within I-JSON) and its canonical text (RFC 8785).
//!
//! A reader of our own, because money depends on what ordinary readers forgive or forget: duplicate members (found after
//! escapes are decoded), the literal text of a number, the order of members, lone surrogates. It is the crate `json`; a value, and what is read
//! from one, stands here. A [`Json`] printed with [`Json::to_text`] keeps member order and number literals as they came.

mod outline;
mod read;
mod write;

pub use counterfoil_json::{MAX_DEPTH, MAX_LEN};
pub use outline::{outline, Part};
pub use read::{canonical_bytes, canonicalize, parse, parse_bytes, utf8};

use crate::error::{Code, Error};
use crate::hex;

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

impl Json {
    /// An object from its members, in this order.
    pub fn object<const N: usize>(mut members: [(&str, Json); N]) -> Json {
        Json::object_of(&mut members)
    }

    /// Takes the values out. Compiled once, not for each number of members.
    #[inline(never)]
    fn object_of(members: &mut [(&str, Json)]) -> Json {
        let mut object = Vec::with_capacity(members.len());
        for (name, value) in members {
            object.push((name.to_owned(), core::mem::replace(value, Json::Null)));
        }
        Json::Object(object)
    }

    /// A string value.
    pub fn text(text: impl AsRef<str>) -> Json {
        Json::text_of(text.as_ref())
    }

    #[inline(never)]
    fn text_of(text: &str) -> Json {
        Json::String(text.to_owned())
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

    /// The same object without a member.
    #[must_use]
    pub fn without(mut self, name: &str) -> Json {
        if let Json::Object(members) = &mut self {
            members.retain(|(key, _)| key != name);
        }
        self
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
        // A loop: adapters that collect results are compiled anew for every kind of item.
        let items = self.as_array()?;
        let mut list = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            list.push(read(item).map_err(|error| error.within_item(index))?);
        }
        Ok(list)
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

    /// Exactly `N` bytes, as `0x` text. Errors: `invalid_type`, `hex_invalid`.
    pub fn as_hex<const N: usize>(&self) -> Result<[u8; N], Error> {
        hex::decode_array(self.as_str()?)
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
