//! Who may sign for whom, by decentralised identifiers: keys that stand in the identifier (`did:key`, `did:jwk`), documents of `did:web`, and the
//! TXT records at `_controllers.<domain>` of x402 offers and receipts (§4.5.1). Documents and records come from the host; nothing is fetched here.

use crate::address::Address;
use crate::base64;
use crate::error::{Code, Error};
use crate::json::{self, Json};
use crate::jwk::{Jwk, Key, Window};

fn invalid(field: &str) -> Error {
    Error::new(Code::DidInvalid, field)
}

/// The identifier in a DID URL: what stands before its fragment.
pub fn of(kid: &str) -> &str {
    kid.split_once('#').map_or(kid, |(did, _)| did)
}

/// The key that the DID URL itself holds, for `did:key` and `did:jwk`: the one fragment that each has is demanded. None for any other text. Error:
/// `did_invalid`.
pub fn embedded(kid: &str) -> Option<Result<Key, Error>> {
    let (did, fragment) = kid.split_once('#').unwrap_or((kid, ""));
    if let Some(multikey) = did.strip_prefix("did:key:") {
        let key = Key::from_multikey(multikey).map_err(|_| invalid(""));
        return Some(key.and_then(|key| (fragment == multikey).then_some(key).ok_or_else(|| invalid(""))));
    }
    let jwk = did.strip_prefix("did:jwk:")?;
    let read = || {
        let bytes = base64::decode_url(jwk).map_err(|_| invalid(""))?;
        let jwk = json::parse_bytes(&bytes).and_then(|json| Jwk::from_json(&json));
        (fragment == "0")
            .then_some(jwk.map_err(|_| invalid(""))?.key)
            .ok_or_else(|| invalid(""))
    };
    Some(read())
}

/// Host, and port where there is one, of a `did:web` that speaks for its whole domain: one without a path.
pub fn web_host(did: &str) -> Option<String> {
    let host = did.strip_prefix("did:web:")?;
    let (name, port) = match host.split_once("%3A").or_else(|| host.split_once("%3a")) {
        Some((name, port)) => (name, Some(port)),
        None => (host, None),
    };
    // A colon, behind which a path stands, is none of these.
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'.';
    let digits = |port: &str| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    if name.is_empty() || !name.bytes().all(plain) || !port.is_none_or(digits) {
        return None;
    }
    let name = name.to_ascii_lowercase();
    Some(port.map_or(name.clone(), |port| format!("{name}:{port}")))
}

/// The account that a `did:pkh` on an EVM chain names.
pub fn account(did: &str) -> Option<Address> {
    let (chain, address) = did.strip_prefix("did:pkh:eip155:")?.split_once(':')?;
    let digits = !chain.is_empty() && chain.bytes().all(|byte| byte.is_ascii_digit());
    Address::parse(address).ok().filter(|_| digits)
}

/// A DID document: the keys by which its subject makes assertions.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Document {
    /// The identifier that it is about.
    pub id: String,
    methods: Vec<(String, Key, Window)>,
}

impl Document {
    /// Reads a document (DID Core §5). Of its verification methods those count that the subject controls, whose key is of a known algorithm, in
    /// `publicKeyJwk` or `publicKeyMultibase`, and that `assertionMethod` names or holds; where the document has no such member, all that it lists, as
    /// x402 has it. One that is `revoked` or `expires` counts until then. Errors: `missing_field`, `invalid_type`; `did_invalid` at `id`;
    /// `time_invalid`.
    pub fn from_json(json: &Json) -> Result<Document, Error> {
        let id = json.read("id", |id| match id.as_str()? {
            did if did.starts_with("did:") && !did.contains('#') => Ok(did.to_owned()),
            _ => Err(invalid("")),
        })?;
        let absolute = |name: &str| match name.starts_with('#') {
            true => format!("{id}{name}"),
            false => name.to_owned(),
        };
        let purposes = json.read_opt("assertionMethod", Json::as_array)?;
        let asserting = purposes.unwrap_or_default();
        let named: Vec<String> = asserting
            .iter()
            .filter_map(|one| one.as_str().ok())
            .map(absolute)
            .collect();
        let listed = json
            .read_opt("verificationMethod", Json::as_array)?
            .unwrap_or_default();
        let mut methods = Vec::new();
        for (one, inside) in listed
            .iter()
            .map(|one| (one, false))
            .chain(asserting.iter().map(|one| (one, true)))
        {
            if one.as_str().is_ok() {
                continue;
            }
            let name = absolute(one.read("id", Json::as_str)?);
            let own = one
                .read_opt("controller", Json::as_str)?
                .is_none_or(|did| did == id);
            if !own || !(inside || purposes.is_none() || named.contains(&name)) {
                continue;
            }
            let key = match (one.get("publicKeyJwk"), one.get("publicKeyMultibase")) {
                (Some(jwk), None) => Jwk::from_json(jwk).map(|jwk| jwk.key),
                (None, Some(text)) => text.as_str().and_then(Key::from_multikey),
                _ => Err(invalid("")),
            };
            let window = Window::of_method(one)?;
            // A document may hold keys for other purposes, in forms that are not known here.
            methods.extend(key.ok().map(|key| (name, key, window)));
        }
        Ok(Document { id, methods })
    }

    /// The key of exactly this name, and when it was good.
    pub fn method(&self, kid: &str) -> Option<(&Key, Window)> {
        let found = self.methods.iter().find(|(name, ..)| name == kid)?;
        Some((&found.1, found.2))
    }
}

/// The controllers that a domain names in its TXT records at `_controllers.<domain>`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Controllers {
    domain: String,
    dids: Vec<String>,
}

impl Controllers {
    /// Reads `{domain, records: [text]}`: the records as they stand in the DNS, each `v=1` and controllers between semicolons. A record of another
    /// version says nothing. Errors: `missing_field`, `invalid_type`; `did_invalid` at `domain` and at a record whose parts are none of these.
    pub fn from_json(json: &Json) -> Result<Controllers, Error> {
        let domain = json.read("domain", |domain| match domain.as_str()? {
            name if !name.is_empty() && !name.contains(['/', ':', '@']) => Ok(name.to_ascii_lowercase()),
            _ => Err(invalid("")),
        })?;
        let record = |record: &Json| {
            let mut parts = record.as_str()?.split(';').map(str::trim);
            if parts.next() != Some("v=1") {
                return Ok(Vec::new());
            }
            parts
                .filter(|part| !part.is_empty())
                .map(|part| match part.strip_prefix("controller=") {
                    Some(did) if did.starts_with("did:") => Ok(did.to_owned()),
                    _ => Err(invalid("")),
                })
                .collect()
        };
        let dids: Vec<Vec<String>> = json.read("records", |records| records.as_list(record))?;
        Ok(Controllers {
            domain,
            dids: dids.concat(),
        })
    }

    /// Whether this is the host, without its port, whose records these are.
    pub fn is_of(&self, host: &str) -> bool {
        self.domain == host
    }

    /// The identifiers.
    pub fn dids(&self) -> &[String] {
        &self.dids
    }
}
