//! EIP-712: the digest of a typed document.

use std::collections::BTreeSet;

use alloy_primitives::{keccak256, U256};

use crate::address::Address;
use crate::error::{Code, Error};
use crate::hex;
use crate::json::{Json, MAX_DEPTH};

/// The domain of a token: the four fields that EIP-3009 tokens use.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Domain {
    /// Name of the token's domain, not its symbol.
    pub name: String,
    /// Version.
    pub version: String,
    /// EIP-155 chain id.
    pub chain_id: u64,
    /// The token.
    pub verifying_contract: Address,
}

impl Domain {
    /// Reads `{name, version, chainId, verifyingContract}`; `chainId` as a number, decimal or `0x` text. Errors:
    /// `missing_field`, `invalid_type`, `typed_data_invalid` at `chainId`, `address_invalid`, `address_checksum`.
    pub fn from_json(json: &Json) -> Result<Domain, Error> {
        Ok(Domain {
            name: json.read("name", Json::as_string)?,
            version: json.read("version", Json::as_string)?,
            chain_id: json.read("chainId", |id| {
                u64::try_from(unsigned(id, 256)?)
                    .ok()
                    .filter(|id| *id < (1 << 53))
                    .ok_or_else(invalid)
            })?,
            verifying_contract: json.read("verifyingContract", Address::from_json)?,
        })
    }

    /// In the order of the domain type.
    pub fn to_json(&self) -> Json {
        Json::object([
            ("name", Json::text(self.name.as_str())),
            ("version", Json::text(self.version.as_str())),
            ("chainId", Json::number(self.chain_id)),
            ("verifyingContract", self.verifying_contract.to_json()),
        ])
    }

    /// `hashStruct` of the domain; it can't fail for any value of this type.
    pub fn separator(&self) -> Result<[u8; 32], Error> {
        const TYPE: &str =
            "EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)";
        let words = [
            keccak256(TYPE).0,
            keccak256(&self.name).0,
            keccak256(&self.version).0,
            U256::from(self.chain_id).to_be_bytes(),
            self.verifying_contract.to_word(),
        ];
        Ok(keccak256(words.concat()).0)
    }
}

fn invalid() -> Error {
    Error::new(Code::TypedDataInvalid, "")
}

/// `keccak256(0x1901 | domainSeparator | structHash)`.
pub fn digest(domain_separator: &[u8; 32], struct_hash: &[u8; 32]) -> [u8; 32] {
    keccak256([&[0x19, 0x01], &domain_separator[..], &struct_hash[..]].concat()).0
}

/// The digest of any document `{domain, types, primaryType, message}`. `EIP712Domain` is derived from the domain's own fields
/// when `types` lacks it; when it is there it must list exactly the present fields. Error: `typed_data_invalid`, or that of a
/// value, with its path.
pub fn hash_typed_data(document: &Json) -> Result<[u8; 32], Error> {
    let types = Types::read(document.require("types")?).map_err(|error| error.within("types"))?;
    let primary = document.read("primaryType", Json::as_str)?;
    let domain_json = document.require("domain")?;
    let separator = domain_separator(&types, domain_json).map_err(|error| error.within("domain"))?;
    if primary == "EIP712Domain" {
        return Ok(keccak256([&[0x19, 0x01][..], &separator].concat()).0);
    }
    let message = document.require("message")?;
    let hash = types
        .hash_struct(primary, message, 0)
        .map_err(|error| error.within("message"))?;
    Ok(digest(&separator, &hash))
}

const DOMAIN_FIELDS: [(&str, &str); 5] = [
    ("name", "string"),
    ("version", "string"),
    ("chainId", "uint256"),
    ("verifyingContract", "address"),
    ("salt", "bytes32"),
];

fn domain_separator(types: &Types, domain: &Json) -> Result<[u8; 32], Error> {
    let present: Vec<Field> = DOMAIN_FIELDS
        .iter()
        .filter(|(name, _)| domain.get(name).is_some())
        .map(|(name, kind)| Field {
            name: (*name).to_owned(),
            kind: (*kind).to_owned(),
        })
        .collect();
    if domain
        .as_object()?
        .iter()
        .any(|(name, _)| !DOMAIN_FIELDS.iter().any(|(known, _)| known == name))
    {
        return Err(invalid());
    }
    match types.fields("EIP712Domain") {
        Ok(declared) => {
            let mut names: Vec<&str> = declared.iter().map(|field| field.name.as_str()).collect();
            let mut wanted: Vec<&str> = present.iter().map(|field| field.name.as_str()).collect();
            names.sort_unstable();
            wanted.sort_unstable();
            if names != wanted {
                return Err(invalid());
            }
            types.hash_struct("EIP712Domain", domain, 0)
        }
        Err(_) => Types(vec![("EIP712Domain".to_owned(), present)]).hash_struct("EIP712Domain", domain, 0),
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Field {
    name: String,
    kind: String,
}

struct Types(Vec<(String, Vec<Field>)>);

fn is_identifier(text: &str) -> bool {
    let head = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_' || byte == b'$';
    text.bytes().next().is_some_and(head) && text.bytes().all(|byte| head(byte) || byte.is_ascii_digit())
}

/// `T[n]` or `T[]` split at its last bracket.
fn array_of(kind: &str) -> Result<Option<(&str, Option<usize>)>, Error> {
    let Some(open) = kind.strip_suffix(']') else {
        return Ok(None);
    };
    let (item, length) = open.rsplit_once('[').ok_or_else(invalid)?;
    if length.is_empty() {
        return Ok(Some((item, None)));
    }
    let count = length.parse().map_err(|_| invalid())?;
    if length.starts_with('0') || length.starts_with('+') {
        return Err(invalid());
    }
    Ok(Some((item, Some(count))))
}

/// The struct name at the bottom of an array type.
fn base_of(kind: &str) -> &str {
    kind.split('[').next().unwrap_or(kind)
}

impl Types {
    fn read(json: &Json) -> Result<Types, Error> {
        let field = |json: &Json| {
            Ok(Field {
                name: json.read("name", Json::as_string)?,
                kind: json.read("type", Json::as_string)?,
            })
        };
        let mut types = Vec::new();
        for (name, fields) in json.as_object()? {
            let fields = fields.as_list(field).map_err(|error| error.within(name))?;
            let names: BTreeSet<&str> = fields.iter().map(|field| field.name.as_str()).collect();
            let well_formed = is_identifier(name)
                && names.len() == fields.len()
                && fields.iter().all(|field| is_identifier(&field.name));
            if !well_formed || Atom::parse(name).is_some() {
                return Err(invalid());
            }
            types.push((name.clone(), fields));
        }
        Ok(Types(types))
    }

    fn fields(&self, name: &str) -> Result<&[Field], Error> {
        self.0
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, fields)| fields.as_slice())
            .ok_or_else(invalid)
    }

    /// The type and, after it in the order of names, every struct that it reaches.
    fn encode_type(&self, primary: &str) -> Result<String, Error> {
        let mut reached = BTreeSet::new();
        let mut open = vec![primary];
        while let Some(name) = open.pop() {
            if !reached.insert(name) {
                continue;
            }
            for field in self.fields(name)? {
                let base = base_of(&field.kind);
                if Atom::parse(base).is_none() {
                    open.push(base);
                }
            }
        }
        reached.remove(primary);
        let mut text = String::new();
        for name in core::iter::once(primary).chain(reached) {
            let fields: Vec<String> = self
                .fields(name)?
                .iter()
                .map(|field| format!("{} {}", field.kind, field.name))
                .collect();
            text.push_str(&format!("{name}({})", fields.join(",")));
        }
        Ok(text)
    }

    fn hash_struct(&self, name: &str, value: &Json, depth: usize) -> Result<[u8; 32], Error> {
        if depth > MAX_DEPTH {
            return Err(Error::new(Code::JsonTooDeep, ""));
        }
        value.as_object()?;
        let mut encoded = keccak256(self.encode_type(name)?).to_vec();
        for field in self.fields(name)? {
            let word = self.encode(&field.kind, value.get(&field.name), depth + 1);
            encoded.extend(word.map_err(|error| error.within(&field.name))?);
        }
        Ok(keccak256(encoded).0)
    }

    fn encode(&self, kind: &str, value: Option<&Json>, depth: usize) -> Result<[u8; 32], Error> {
        if depth > MAX_DEPTH {
            return Err(Error::new(Code::JsonTooDeep, ""));
        }
        if let Some((item, length)) = array_of(kind)? {
            let items = value.ok_or_else(missing)?.as_array()?;
            if length.is_some_and(|length| length != items.len()) {
                return Err(invalid());
            }
            let mut encoded = Vec::with_capacity(items.len() * 32);
            for (index, value) in items.iter().enumerate() {
                let word = self.encode(item, Some(value), depth + 1);
                encoded.extend(word.map_err(|error| error.within(&format!("[{index}]")))?);
            }
            return Ok(keccak256(encoded).0);
        }
        match Atom::parse(kind) {
            Some(atom) => atom.encode(value.ok_or_else(missing)?),
            // A struct that is absent encodes as 32 zero bytes, which is how recursive types end.
            None => match value {
                Some(value) => self.hash_struct(kind, value, depth + 1),
                None => self.fields(kind).map(|_| [0; 32]),
            },
        }
    }
}

fn missing() -> Error {
    Error::new(Code::MissingField, "")
}

/// A type that is no struct and no array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Atom {
    Address,
    Bool,
    String,
    Bytes,
    BytesN(usize),
    Uint(usize),
    Int(usize),
}

impl Atom {
    fn parse(kind: &str) -> Option<Atom> {
        let sized = |prefix: &str, step: usize, max: usize| {
            let digits = kind.strip_prefix(prefix)?;
            let size: usize = digits.parse().ok()?;
            (!digits.starts_with(['0', '+']) && size.is_multiple_of(step) && (1..=max).contains(&size))
                .then_some(size)
        };
        match kind {
            "address" => Some(Atom::Address),
            "bool" => Some(Atom::Bool),
            "string" => Some(Atom::String),
            "bytes" => Some(Atom::Bytes),
            _ => sized("bytes", 1, 32)
                .map(Atom::BytesN)
                .or_else(|| sized("uint", 8, 256).map(Atom::Uint))
                .or_else(|| sized("int", 8, 256).map(Atom::Int)),
        }
    }

    fn encode(self, value: &Json) -> Result<[u8; 32], Error> {
        match self {
            Atom::Address => Ok(Address::from_json(value)?.to_word()),
            Atom::Bool => Ok(U256::from(u8::from(value.as_bool()?)).to_be_bytes()),
            Atom::String => Ok(keccak256(value.as_str()?).0),
            Atom::Bytes => Ok(keccak256(hex::decode(value.as_str()?)?).0),
            Atom::BytesN(size) => {
                let bytes = hex::decode(value.as_str()?)?;
                if bytes.len() != size {
                    return Err(Error::new(Code::HexInvalid, ""));
                }
                let mut word = [0; 32];
                for (slot, byte) in word.iter_mut().zip(bytes) {
                    *slot = byte;
                }
                Ok(word)
            }
            Atom::Uint(bits) => Ok(unsigned(value, bits)?.to_be_bytes()),
            Atom::Int(bits) => signed(value, bits),
        }
    }
}

/// The digits of an integer: a JSON number without fraction, decimal text without leading zeros, or `0x` text.
fn magnitude(text: &str) -> Result<U256, Error> {
    let (digits, radix) = match text.strip_prefix("0x") {
        Some(digits) => (digits, 16),
        None => (text, 10),
    };
    let plain = if radix == 16 {
        digits.len() <= 64 && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
    } else {
        digits.len() <= 78
            && digits.bytes().all(|byte| byte.is_ascii_digit())
            && (digits.len() == 1 || !digits.starts_with('0'))
    };
    if digits.is_empty() || !plain {
        return Err(invalid());
    }
    U256::from_str_radix(digits, radix).map_err(|_| invalid())
}

/// Text of the integer and its sign. A number literal must be an integer that its double carries unchanged, for else two
/// readers of one document would sign two digests.
fn integer(value: &Json) -> Result<(bool, U256), Error> {
    let text = match value {
        Json::Number(_) => value.to_canonical()?,
        other => other.as_str()?.to_owned(),
    };
    match text.strip_prefix('-') {
        Some(digits) => Ok((true, magnitude(digits)?)),
        None => Ok((false, magnitude(&text)?)),
    }
}

fn unsigned(value: &Json, bits: usize) -> Result<U256, Error> {
    let (negative, magnitude) = integer(value)?;
    if negative || magnitude.bit_len() > bits {
        return Err(invalid());
    }
    Ok(magnitude)
}

fn signed(value: &Json, bits: usize) -> Result<[u8; 32], Error> {
    let (negative, magnitude) = integer(value)?;
    let limit = U256::ONE << (bits - 1);
    let fits = if negative {
        magnitude <= limit
    } else {
        magnitude < limit
    };
    if !fits {
        return Err(invalid());
    }
    Ok(if negative {
        magnitude.wrapping_neg()
    } else {
        magnitude
    }
    .to_be_bytes())
}
