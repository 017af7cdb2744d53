//! EIP-712: the digest of a typed document.

mod atom;
mod types;

use alloy_primitives::{keccak256, U256};

use types::{Field, Types};

use crate::address::Address;
use crate::error::{Code, Error};
use crate::json::Json;

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
                u64::try_from(atom::unsigned(id, 256)?)
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

    /// The type of the domain, field by field, as a document lists it.
    pub fn fields() -> Json {
        fields(&[
            ("name", "string"),
            ("version", "string"),
            ("chainId", "uint256"),
            ("verifyingContract", "address"),
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

/// The fields of a struct type, each with its name and its type, as a document lists them.
pub fn fields(fields: &[(&str, &str)]) -> Json {
    let field = |(name, kind): &(&str, &str)| {
        Json::object([("name", Json::text(*name)), ("type", Json::text(*kind))])
    };
    Json::Array(fields.iter().map(field).collect())
}

/// The whole document, for signers outside and for [`hash_typed_data`].
pub fn document(domain: Json, types: Json, primary: &str, message: Json) -> Json {
    Json::object([
        ("domain", domain),
        ("types", types),
        ("primaryType", Json::text(primary)),
        ("message", message),
    ])
}

/// The whole document of one struct, of its members' name, type and value, in a domain of name and version alone.
pub fn named_document(name: &str, version: &str, primary: &str, members: &[(&str, &str, Json)]) -> Json {
    let own: Vec<_> = members.iter().map(|(name, kind, _)| (*name, *kind)).collect();
    let domain_type = fields(&[("name", "string"), ("version", "string")]);
    let types = Json::object([("EIP712Domain", domain_type), (primary, fields(&own))]);
    let domain = Json::object([("name", Json::text(name)), ("version", Json::text(version))]);
    let values = members
        .iter()
        .map(|(name, _, value)| ((*name).to_owned(), value.clone()));
    document(domain, types, primary, Json::Object(values.collect()))
}

/// `keccak256(0x1901 | domainSeparator | structHash)`.
pub fn digest(domain_separator: &[u8; 32], struct_hash: &[u8; 32]) -> [u8; 32] {
    keccak256([&[0x19, 0x01], &domain_separator[..], &struct_hash[..]].concat()).0
}

/// The digest of any document `{domain, types, primaryType, message}`. `EIP712Domain` is derived from the domain's own fields
/// when `types` lacks it; when it is there it must list exactly the present fields, each with its type. Members of the
/// message that its type does not name are not signed, and don't count. Errors: `missing_field`, `invalid_type`, `too_large`,
/// `typed_data_invalid`, or that of a value, with its path.
pub fn hash_typed_data(document: &Json) -> Result<[u8; 32], Error> {
    let types = document.read("types", Types::read)?;
    let primary = document.read("primaryType", Json::as_str)?;
    let separator = document.read("domain", |domain| domain_separator(&types, domain))?;
    if primary == DOMAIN {
        return Ok(keccak256([&[0x19, 0x01][..], &separator].concat()).0);
    }
    if types.fields(primary).is_none() {
        return Err(Error::new(Code::TypedDataInvalid, "primaryType"));
    }
    let hash = document.read("message", |message| types.hash(primary, message))?;
    Ok(digest(&separator, &hash))
}

const DOMAIN: &str = "EIP712Domain";

const DOMAIN_FIELDS: [(&str, &str); 5] = [
    ("name", "string"),
    ("version", "string"),
    ("chainId", "uint256"),
    ("verifyingContract", "address"),
    ("salt", "bytes32"),
];

/// `hashStruct` of the domain by the type that lists its present fields, in the order declared or else of the standard.
fn domain_separator(types: &Types, domain: &Json) -> Result<[u8; 32], Error> {
    let known = |name: &str| DOMAIN_FIELDS.iter().any(|(field, _)| *field == name);
    if !domain.as_object()?.iter().all(|(name, _)| known(name)) {
        return Err(invalid());
    }
    let present: Vec<Field> = DOMAIN_FIELDS
        .iter()
        .filter(|(name, _)| domain.get(name).is_some())
        .map(|(name, kind)| Field {
            name: (*name).to_owned(),
            kind: (*kind).to_owned(),
        })
        .collect();
    match types.fields(DOMAIN) {
        // Names are unique on both sides, so equal length and inclusion are equality.
        Some(declared)
            if declared.len() != present.len() || !declared.iter().all(|field| present.contains(field)) =>
        {
            Err(invalid())
        }
        Some(declared) => Types::single(DOMAIN, declared.to_vec()).hash(DOMAIN, domain),
        None => Types::single(DOMAIN, present).hash(DOMAIN, domain),
    }
}
