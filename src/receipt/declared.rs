//! A receipt of a form that is not known here, read by the caller's own description of it: where each member stands, how the digest of the answer is to
//! be read, and what is signed. docs/receipts.md has the format.
//!
//! Where the form is signed, members are read from what the signature covers and from nowhere else; types and domain come from the description, never
//! from the document.

use super::entity::SignedEntity;
use super::material::Subject;
use super::profiles;
use super::readings::{self, Reading};
use crate::address::Address;
use crate::amount::{self, Amount};
use crate::base64;
use crate::call_key::Pointer;
use crate::eip712;
use crate::error::{Code, Error};
use crate::hex;
use crate::json::{self, Json};
use crate::jws;
use crate::network::Network;
use crate::time::{self, Seconds};
use crate::x402::offer_receipt::Proof;

/// The kind of document.
const TYPE: &str = "counterfoil/profile";
/// What a receipt may say.
const MEMBERS: [&str; 10] = [
    "success",
    "network",
    "asset",
    "payer",
    "payTo",
    "amount",
    "resource",
    "transaction",
    "issuedAt",
    "validUntil",
];

/// How a digest is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Form {
    Hex,
    Prefixed(&'static str),
    Base64,
    Base64Url,
    DigestField,
}

/// In what unit times are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Clock {
    Seconds,
    Milliseconds,
    Rfc3339,
}

/// What is signed, and where the signature stands.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Signed {
    Nothing,
    /// A JWS holds the members: the document itself, or the text at a place in it.
    Jws(Option<Pointer>),
    /// A JWS without its payload, over the RFC 8785 text of the document without that signature.
    Detached(Pointer),
    /// A typed document of the description's types, its message at a place in the document.
    Eip712 {
        at: Pointer,
        message: Pointer,
        domain: Json,
        types: Json,
        primary: String,
    },
}

/// The description, read.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Declared {
    matching: Vec<(Pointer, Json)>,
    members: Vec<(&'static str, Pointer, bool)>,
    fixed: Json,
    clock: Clock,
    decimals: u8,
    hash: Option<(Pointer, Form, Vec<Reading>)>,
    signed: Signed,
}

fn invalid(field: &str) -> Error {
    Error::new(Code::ProfileInvalid, field)
}

fn pointer(json: &Json) -> Result<Pointer, Error> {
    Pointer::parse(json.as_str()?)
}

impl Declared {
    /// Reads `{type, v, match?, members?, optional?, fixed?, time?, decimals?, hash?, signature?}`. Errors: `missing_field`, `invalid_type`,
    /// `pointer_invalid`; `unsupported_version` at `v`; `profile_invalid` at `type`, at a member that is not known, that is named twice or that is not
    /// covered by the signature, at `members` where nothing is named, at `time`, `decimals`, `hash.form`, `hash.readings`, `signature.form`;
    /// `typed_data_invalid`.
    pub fn read(json: &Json) -> Result<Declared, Error> {
        json.read("type", |kind| match kind.as_str()? {
            TYPE => Ok(()),
            _ => Err(invalid("")),
        })?;
        if json.require("v")? != &Json::number(1) {
            return Err(Error::new(Code::UnsupportedVersion, "v"));
        }
        let matching = json.read_opt("match", |all| {
            let one = |(at, value): &(String, Json)| Ok((Pointer::parse(at)?, value.clone()));
            all.as_object()?
                .iter()
                .map(one)
                .collect::<Result<Vec<_>, Error>>()
        })?;
        let mut members: Vec<(&'static str, Pointer, bool)> = Vec::new();
        for (list, required) in [("members", true), ("optional", false)] {
            let read = |all: &Json| {
                for (name, at) in all.as_object()? {
                    let known = MEMBERS.iter().find(|known| *known == name);
                    let known = known.ok_or_else(|| invalid(name))?;
                    if members.iter().any(|(taken, ..)| taken == known) {
                        return Err(invalid(name));
                    }
                    let at = pointer(at).map_err(|error| error.within(name))?;
                    members.push((*known, at, required));
                }
                Ok(())
            };
            json.read_opt(list, read)?;
        }
        let fixed = json.get("fixed").cloned().unwrap_or(Json::Object(Vec::new()));
        for (name, _) in fixed.as_object().map_err(|error| error.within("fixed"))? {
            // What the describer knows of every receipt of this form: on which network and in which token.
            let free = !members.iter().any(|(taken, ..)| taken == name);
            if !(free && matches!(name.as_str(), "network" | "asset" | "payTo")) {
                return Err(invalid(name).within("fixed"));
            }
        }
        let hash = json.read_opt("hash", hash)?;
        if members.is_empty() && hash.is_none() {
            return Err(invalid("members"));
        }
        let declared = Declared {
            matching: matching.unwrap_or_default(),
            members,
            fixed,
            clock: json
                .read_opt("time", |clock| match clock.as_str()? {
                    "seconds" => Ok(Clock::Seconds),
                    "milliseconds" => Ok(Clock::Milliseconds),
                    "rfc3339" => Ok(Clock::Rfc3339),
                    _ => Err(invalid("")),
                })?
                .unwrap_or(Clock::Seconds),
            decimals: json
                .read_opt("decimals", |places| {
                    u8::try_from(places.as_u64()?)
                        .ok()
                        .filter(|places| *places <= 36)
                        .ok_or_else(|| invalid(""))
                })?
                .unwrap_or(0),
            hash,
            signed: json.read_opt("signature", signed)?.unwrap_or(Signed::Nothing),
        };
        declared.covered()?;
        Ok(declared)
    }

    /// Every member that is read stands in what is signed.
    fn covered(&self) -> Result<(), Error> {
        let Signed::Eip712 { types, primary, .. } = &self.signed else {
            return Ok(());
        };
        let fields = names(types, primary)?;
        let within = |at: &Pointer| at.first().is_some_and(|first| fields.contains(&first));
        for (name, at, _) in &self.members {
            if !within(at) {
                return Err(invalid(name).within("members"));
            }
        }
        match &self.hash {
            Some((at, ..)) if !within(at) => Err(invalid("hash")),
            _ => Ok(()),
        }
    }

    /// Reads a document of this form. Errors: those of the JSON reader; `receipt_invalid` for one that does not match, whose signature is not where it
    /// should be, whose digest is in another form, or whose time is none; `missing_field`, `invalid_type` and those of the values, each at the member's name; those of
    /// [`jws::parse`] and [`eip712::hash_typed_data`].
    pub(super) fn entity(&self, text: &str) -> Result<SignedEntity, Error> {
        let (json, proof) = self.opened(text)?;
        let get = |name: &str| {
            let member = self.members.iter().find(|(known, ..)| *known == name);
            let Some((_, at, required)) = member else {
                return Ok(self.fixed.get(name));
            };
            match at.find(&json).filter(|value| **value != Json::Null) {
                None if *required => Err(Error::new(Code::MissingField, name)),
                found => Ok(found),
            }
        };
        let network = read(&get, "network", |name| {
            let name = name.as_str()?;
            Network::parse(name).or_else(|error| Network::from_v1_name(name).map_err(|_| error))
        })?;
        let evm = network
            .as_ref()
            .is_none_or(|network| network.chain_id().is_some());
        let mut foreign = Vec::new();
        let mut account = |name: &'static str| {
            if evm {
                return read(&get, name, Address::from_json);
            }
            let text = read(&get, name, Json::as_string)?;
            foreign.extend(text.map(|text| (name, text)));
            Ok(None)
        };
        let (asset, payer, pay_to) = (account("asset")?, account("payer")?, account("payTo")?);
        let malformed = || Error::new(Code::ReceiptInvalid, "");
        let time = |at: &Json| self.clock.read(at).ok_or_else(malformed);
        let transaction = read(&get, "transaction", |hash| match hash.as_str()? {
            hash if !evm => Ok(hash.to_owned()),
            hash => hex::decode_array::<32>(hash)
                .map(hex::encode)
                .map_err(|_| malformed()),
        })?;
        let digest = |(at, form, _): &(Pointer, Form, _)| {
            let found = at.find(&json).filter(|value| **value != Json::Null);
            found.map(|text| form.read(text.as_str()?)).transpose()
        };
        let sha256 = self.hash.as_ref().map(digest).transpose();
        let readings = self.hash.as_ref().map(|(_, _, readings)| readings.clone());
        Ok(SignedEntity {
            success: read(&get, "success", Json::as_bool)?,
            subject: Subject {
                kind: "receipt",
                network,
                asset,
                payer,
                pay_to,
                amount: read(&get, "amount", |amount| match self.decimals {
                    0 => Amount::from_json(amount),
                    places => amount::parse_units(amount.as_str()?, places),
                })?,
                resource: read(&get, "resource", Json::as_string)?,
                transaction,
                sha256: sha256.map_err(|error| error.within("hash"))?.flatten(),
                foreign,
                ..Subject::default()
            },
            issued_at: read(&get, "issuedAt", time)?,
            valid_until: read(&get, "validUntil", time)?,
            does_not_prove: profiles::limits(proof.is_some()),
            proof,
            agrees: None,
            linked_by_time: false,
            readings: readings.unwrap_or_default(),
            decoded: None,
        })
    }

    /// What the members are read from, and what signs it.
    fn opened(&self, text: &str) -> Result<(Json, Option<Proof>), Error> {
        let malformed = |field: &str| Error::new(Code::ReceiptInvalid, field);
        let (json, proof) = match &self.signed {
            Signed::Nothing => (json::parse(text)?, None),
            Signed::Jws(at) => {
                let document = at.as_ref().map(|_| json::parse(text)).transpose()?;
                let token = match (at, &document) {
                    (Some(at), Some(document)) => at.find(document).and_then(|token| token.as_str().ok()),
                    _ => Some(text.trim()),
                };
                let jws = jws::parse(token.ok_or_else(|| malformed("signature"))?)?;
                (json::parse_bytes(&jws.payload)?, Some(Proof::Jws(Box::new(jws))))
            }
            Signed::Detached(at) => {
                let document = json::parse(text)?;
                let token = at.find(&document).and_then(|token| token.as_str().ok());
                let token = token.ok_or_else(|| malformed("signature"))?;
                let rest = at.removed(&document);
                let jws = jws::parse_detached(token, rest.to_canonical()?.as_bytes())?;
                (rest, Some(Proof::Jws(Box::new(jws))))
            }
            Signed::Eip712 {
                at,
                message,
                domain,
                types,
                primary,
            } => {
                let document = json::parse(text)?;
                let signature = at.find(&document).and_then(|text| text.as_str().ok());
                let signature = signature.ok_or_else(|| malformed("signature"))?.to_owned();
                let whole = message.find(&document).ok_or_else(|| malformed("message"))?;
                let typed = pruned(whole, types, primary)?;
                let digest = eip712::hash_typed_data(&eip712::document(
                    domain.clone(),
                    types.clone(),
                    primary,
                    typed.clone(),
                ))?;
                (typed, Some(Proof::Eip712 { digest, signature }))
            }
        };
        let fits = |(at, value): &(Pointer, Json)| at.find(&json) == Some(value);
        match self.matching.iter().all(fits) {
            true => Ok((json, proof)),
            false => Err(malformed("")),
        }
    }
}

fn read<'a, T>(
    get: &impl Fn(&str) -> Result<Option<&'a Json>, Error>,
    name: &str,
    read: impl FnOnce(&'a Json) -> Result<T, Error>,
) -> Result<Option<T>, Error> {
    get(name)?
        .map(read)
        .transpose()
        .map_err(|error| error.within(name))
}

impl Clock {
    fn read(self, at: &Json) -> Option<Seconds> {
        match self {
            Clock::Rfc3339 => time::parse_rfc3339(at.as_str().ok()?),
            Clock::Seconds => time::parse_seconds(at).ok(),
            Clock::Milliseconds => time::parse_seconds(at)
                .ok()
                .map(|milliseconds| milliseconds / 1000),
        }
    }
}

impl Form {
    fn parse(name: &str) -> Option<Form> {
        Some(match name {
            "hex" => Form::Hex,
            "0x" => Form::Prefixed("0x"),
            "sha256:" => Form::Prefixed("sha256:"),
            "base64" => Form::Base64,
            "base64url" => Form::Base64Url,
            "digest" => Form::DigestField,
            _ => return None,
        })
    }

    /// The 32 bytes. Error: `receipt_invalid`.
    fn read(self, text: &str) -> Result<[u8; 32], Error> {
        let malformed = || Error::new(Code::ReceiptInvalid, "");
        let digits = |digits: &str| hex::decode_array(&format!("0x{digits}")).map_err(|_| malformed());
        let bytes = match self {
            Form::Hex => return digits(text),
            Form::Prefixed(prefix) => return digits(text.strip_prefix(prefix).ok_or_else(malformed)?),
            Form::DigestField => return profiles::digest_field(text),
            Form::Base64 => base64::decode_header(text),
            Form::Base64Url => base64::decode_url(text),
        };
        bytes
            .ok()
            .and_then(|bytes| bytes.try_into().ok())
            .ok_or_else(malformed)
    }
}

/// `{at, form, readings?}`.
fn hash(json: &Json) -> Result<(Pointer, Form, Vec<Reading>), Error> {
    let form = |form: &Json| Form::parse(form.as_str()?).ok_or_else(|| invalid(""));
    let reading = |name: &Json| Reading::parse(name.as_str()?).ok_or_else(|| invalid(""));
    let readings = json.read_opt("readings", |list| list.as_list(reading))?;
    let readings = readings.unwrap_or_else(|| readings::ALL.to_vec());
    if readings.is_empty() {
        return Err(invalid("readings"));
    }
    Ok((json.read("at", pointer)?, json.read("form", form)?, readings))
}

/// `{form, at?, …}`.
fn signed(json: &Json) -> Result<Signed, Error> {
    match json.read("form", Json::as_str)? {
        "none" => Ok(Signed::Nothing),
        "jws" => Ok(Signed::Jws(json.read_opt("at", pointer)?)),
        "jws-detached" => Ok(Signed::Detached(json.read("at", pointer)?)),
        "eip712" => Ok(Signed::Eip712 {
            at: json.read("at", pointer)?,
            message: json.read_opt("message", pointer)?.unwrap_or(Pointer::parse("")?),
            domain: json.require("domain")?.clone(),
            types: json.require("types")?.clone(),
            primary: json.read("primaryType", Json::as_string)?,
        }),
        _ => Err(invalid("form")),
    }
}

/// The names of a struct type's fields. Errors: `missing_field`, `invalid_type`, at `signature.types`.
fn names<'a>(types: &'a Json, name: &str) -> Result<Vec<&'a str>, Error> {
    let fields = types.read(name, |fields| {
        fields.as_list(|field| field.read("name", Json::as_str))
    });
    fields.map_err(|error| error.within("types").within("signature"))
}

/// The message without the members that its types do not name, at every depth: those are not signed.
fn pruned(message: &Json, types: &Json, kind: &str) -> Result<Json, Error> {
    let base = kind.split('[').next().unwrap_or(kind);
    if types.get(base).is_none() {
        return Ok(message.clone());
    }
    if let (Json::Array(items), true) = (message, kind.ends_with(']')) {
        let inner = kind.rsplit_once('[').map_or(kind, |(inner, _)| inner);
        return Ok(Json::Array(
            items
                .iter()
                .map(|item| pruned(item, types, inner))
                .collect::<Result<_, _>>()?,
        ));
    }
    let mut kept = Vec::new();
    for field in types.read(base, Json::as_array)? {
        let (name, kind) = (
            field.read("name", Json::as_str)?,
            field.read("type", Json::as_str)?,
        );
        let value = message.get(name).map(|value| pruned(value, types, kind));
        kept.extend(value.transpose()?.map(|value| (name.to_owned(), value)));
    }
    Ok(Json::Object(kept))
}
