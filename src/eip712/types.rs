//! The struct types of a document: `encodeType`, `encodeData` and `hashStruct`.

use std::collections::{BTreeMap, BTreeSet};

use alloy_primitives::keccak256;

use super::atom::Atom;
use super::invalid;
use crate::error::{Code, Error};
use crate::json::{Json, MAX_DEPTH};

/// Most structs in a document, and most fields in all of them. `encodeType` repeats every type that a type reaches, so that
/// without a bound a document could make the work grow with the square of its size.
const MAX_STRUCTS: usize = 256;
const MAX_FIELDS: usize = 4096;

/// One member of a struct.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Field {
    pub(super) name: String,
    pub(super) kind: String,
}

/// The structs by name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Types(BTreeMap<String, Vec<Field>>);

fn is_identifier(text: &str) -> bool {
    let head = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_' || byte == b'$';
    text.bytes().next().is_some_and(head) && text.bytes().all(|byte| head(byte) || byte.is_ascii_digit())
}

/// `T[n]` or `T[]` split at its last bracket. Error: `typed_data_invalid`.
fn array_of(kind: &str) -> Result<Option<(&str, Option<usize>)>, Error> {
    let Some(open) = kind.strip_suffix(']') else {
        return Ok(None);
    };
    let (item, length) = open.rsplit_once('[').ok_or_else(invalid)?;
    if length.is_empty() {
        return Ok(Some((item, None)));
    }
    if length.starts_with(['0', '+']) {
        return Err(invalid());
    }
    let count: u32 = length.parse().map_err(|_| invalid())?;
    Ok(Some((item, Some(usize::try_from(count).map_err(|_| invalid())?))))
}

/// What stands below all brackets of an array type. Error: `typed_data_invalid`.
fn base_of(mut kind: &str) -> Result<&str, Error> {
    // Each level takes a level of the document too, which the reader of JSON bounds.
    for _ in 0..=MAX_DEPTH {
        match array_of(kind)? {
            Some((item, _)) => kind = item,
            None => return Ok(kind),
        }
    }
    Err(invalid())
}

impl Types {
    /// A document's `types`. Errors: `invalid_type`, `missing_field`, `too_large`, `typed_data_invalid` for a name that is no
    /// identifier or reads like an atom, a field named twice, and a field whose type is unknown or misspelt.
    pub(super) fn read(json: &Json) -> Result<Types, Error> {
        let field = |json: &Json| {
            Ok(Field {
                name: json.read("name", Json::as_string)?,
                kind: json.read("type", Json::as_string)?,
            })
        };
        let mut types = BTreeMap::new();
        let mut count = 0;
        for (name, fields) in json.as_object()? {
            let fields = fields.as_list(field).map_err(|error| error.within(name))?;
            count += fields.len();
            types.insert(name.clone(), fields);
            if types.len() > MAX_STRUCTS || count > MAX_FIELDS {
                return Err(Error::new(Code::TooLarge, ""));
            }
        }
        let types = Types(types);
        for (name, fields) in &types.0 {
            types.check(name, fields).map_err(|error| error.within(name))?;
        }
        Ok(types)
    }

    /// The types of one struct that is known to be well formed.
    pub(super) fn single(name: &str, fields: Vec<Field>) -> Types {
        Types(BTreeMap::from([(name.to_owned(), fields)]))
    }

    fn check(&self, name: &str, fields: &[Field]) -> Result<(), Error> {
        let mut seen = BTreeSet::new();
        let known = |kind: &str| Ok(Atom::parse(kind).is_some() || self.0.contains_key(kind));
        let named = is_identifier(name) && !Atom::resembles(name);
        for field in fields {
            if !named || !is_identifier(&field.name) || !seen.insert(&field.name) {
                return Err(invalid());
            }
            if !base_of(&field.kind).and_then(known)? {
                return Err(invalid());
            }
        }
        named.then_some(()).ok_or_else(invalid)
    }

    /// The fields of a struct, when there is one of this name.
    pub(super) fn fields(&self, name: &str) -> Option<&[Field]> {
        self.0.get(name).map(Vec::as_slice)
    }

    /// `hashStruct` of a value. Errors: `typed_data_invalid`, or that of a value, with its path.
    pub(super) fn hash(&self, name: &str, value: &Json) -> Result<[u8; 32], Error> {
        let mut type_hashes = BTreeMap::new();
        for reached in self.reached(name)? {
            type_hashes.insert(reached, keccak256(self.encode_type(reached)?).0);
        }
        Hasher {
            types: self,
            type_hashes,
        }
        .hash_struct(name, value, 0)
    }

    /// The struct and every one below it.
    fn reached<'a>(&'a self, primary: &'a str) -> Result<BTreeSet<&'a str>, Error> {
        let mut reached = BTreeSet::new();
        let mut open = vec![primary];
        while let Some(name) = open.pop() {
            if !reached.insert(name) {
                continue;
            }
            for field in self.fields(name).ok_or_else(invalid)? {
                let base = base_of(&field.kind)?;
                if Atom::parse(base).is_none() {
                    open.push(base);
                }
            }
        }
        Ok(reached)
    }

    /// The type and, after it in the order of names, every struct that it reaches.
    fn encode_type(&self, primary: &str) -> Result<String, Error> {
        let mut below = self.reached(primary)?;
        below.remove(primary);
        let mut text = String::new();
        for name in core::iter::once(primary).chain(below) {
            let fields: Vec<String> = self
                .fields(name)
                .ok_or_else(invalid)?
                .iter()
                .map(|field| format!("{} {}", field.kind, field.name))
                .collect();
            text.push_str(&format!("{name}({})", fields.join(",")));
        }
        Ok(text)
    }
}

/// Hashes values of types whose own hashes are known.
struct Hasher<'a> {
    types: &'a Types,
    type_hashes: BTreeMap<&'a str, [u8; 32]>,
}

impl Hasher<'_> {
    fn hash_struct(&self, name: &str, value: &Json, depth: usize) -> Result<[u8; 32], Error> {
        // A document that was read as JSON is never this deep; one that was built may be.
        if depth > MAX_DEPTH {
            return Err(invalid());
        }
        value.as_object()?;
        let mut encoded = self.type_hashes.get(name).ok_or_else(invalid)?.to_vec();
        for field in self.types.fields(name).ok_or_else(invalid)? {
            let word = self.encode(&field.kind, value.get(&field.name), depth);
            encoded.extend(word.map_err(|error| error.within(&field.name))?);
        }
        Ok(keccak256(encoded).0)
    }

    fn encode(&self, kind: &str, value: Option<&Json>, depth: usize) -> Result<[u8; 32], Error> {
        if let Some((item, length)) = array_of(kind)? {
            let items = value.ok_or_else(missing)?.as_array()?;
            if depth > MAX_DEPTH || length.is_some_and(|length| length != items.len()) {
                return Err(invalid());
            }
            let mut encoded = Vec::with_capacity(items.len() * 32);
            for (index, value) in items.iter().enumerate() {
                let word = self.encode(item, Some(value), depth + 1);
                encoded.extend(word.map_err(|error| error.within(&format!("[{index}]")))?);
            }
            return Ok(keccak256(encoded).0);
        }
        match (Atom::parse(kind), value) {
            (Some(atom), Some(value)) => atom.encode(value),
            (Some(_), None) => Err(missing()),
            (None, Some(value)) => self.hash_struct(kind, value, depth + 1),
            // A struct that is absent is 32 zero bytes, as wallets have it: that is how recursive types end.
            (None, None) => Ok([0; 32]),
        }
    }
}

fn missing() -> Error {
    Error::new(Code::MissingField, "")
}
