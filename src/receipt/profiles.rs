//! The readers of single statements: an x402 settlement response, a gateway's receipt with the SHA-256 of the response, and the signed offers and
//! receipts of x402. Each gives a [`SignedEntity`]; what is then checked is the same for all.

use super::entity::SignedEntity;
use super::material::Subject;
use super::readings::{self, Reading};
use crate::address::Address;
use crate::amount::{self, Amount};
use crate::base64;
use crate::digest;
use crate::error::{Code, Error};
use crate::hex;
use crate::json::Json;
use crate::network::Network;
use crate::sale;
use crate::time::{self, Seconds};
use crate::x402::offer_receipt::{Artifact, Kind, Name};
use crate::x402::settlement_response::SettlementResponse;

const STATEMENT: &[&str] = &[
    "That the answer was correct, complete or useful.",
    "Who operates the recipient's address.",
    "That the seller wrote this document: it carries no signature of the seller.",
    "That the payer received the answer.",
];
const OFFER: &[&str] = &[
    "That anybody paid, or was served: an offer is made before.",
    "That this offer is the one that was accepted, unless price and authorization were handed in and compared.",
    "Who operates the recipient's address.",
    "That the key's owner made it: a key may have been stolen.",
];
const RECEIPT: &[&str] = &[
    "That the answer was correct, complete or useful.",
    "Which answer was delivered: the receipt holds no digest of it.",
    "How much was paid, to whom and in which token: the receipt does not say it; what is shown of it is what you handed in.",
    "That this receipt is for one payment only: without a transaction it fits every payment of this payer at that time.",
    "Who operates the recipient's address.",
    "That the key's owner made it: a key may have been stolen.",
];

const SIGNED: &[&str] = &[
    "That the answer was correct, complete or useful.",
    "Who operates the recipient's address.",
    "That the key's owner made it: a key may have been stolen.",
    "That your description of its form is the signer's own.",
];

/// What a receipt of a described form does not prove, signed or not.
pub(super) const fn limits(signed: bool) -> &'static [&'static str] {
    if signed {
        SIGNED
    } else {
        STATEMENT
    }
}

/// Which answer a seller's receipt says was bought, in which transaction and by whom.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Named {
    pub sha256: Option<[u8; 32]>,
    pub transaction: Option<String>,
    pub payer: Option<Address>,
}

impl From<SignedEntity> for Named {
    fn from(entity: SignedEntity) -> Named {
        Named {
            sha256: entity.decoded.or(entity.subject.sha256),
            transaction: entity.subject.transaction,
            payer: entity.subject.payer,
        }
    }
}

/// A settlement response whose payer, if it names one, is an address: what a client may overlook, a proof must not. Errors:
/// `address_invalid`, `address_checksum`.
pub(super) fn exact(response: SettlementResponse) -> Result<SettlementResponse, Error> {
    if response.network.chain_id().is_some() {
        response.json.read_opt("payer", Address::from_json)?;
    }
    Ok(response)
}

impl From<SettlementResponse> for SignedEntity {
    fn from(response: SettlementResponse) -> SignedEntity {
        let payer = response.json.get("payer").and_then(|payer| payer.as_str().ok());
        let foreign = payer.filter(|_| response.network.chain_id().is_none());
        SignedEntity {
            success: Some(response.success),
            subject: Subject {
                kind: "settlement",
                network: Some(response.network),
                payer: response.payer,
                amount: response.amount,
                transaction: Some(response.transaction).filter(|hash| !hash.is_empty()),
                foreign: foreign
                    .map(|payer| ("payer", payer.to_owned()))
                    .into_iter()
                    .collect(),
                ..Subject::default()
            },
            does_not_prove: STATEMENT,
            ..SignedEntity::default()
        }
    }
}

impl From<Artifact> for SignedEntity {
    fn from(artifact: Artifact) -> SignedEntity {
        let said = artifact.payload;
        let (kind, does_not_prove) = match said.kind {
            Kind::Offer => ("offer", OFFER),
            Kind::Receipt => ("receipt", RECEIPT),
        };
        let mut foreign = Vec::new();
        let mut read = |member: &'static str, name: Option<Name>| match name? {
            Name::Address(address) => Some(address),
            Name::Text(text) => {
                foreign.push((member, text));
                None
            }
        };
        let asset = read("asset", said.asset);
        let payer = read("payer", said.payer);
        let pay_to = read("payTo", said.pay_to);
        foreign.extend(said.scheme.map(|scheme| ("scheme", scheme)));
        SignedEntity {
            subject: Subject {
                kind,
                network: Some(said.network),
                asset,
                payer,
                pay_to,
                amount: said.amount,
                resource: Some(said.resource_url),
                transaction: said.transaction,
                foreign,
                ..Subject::default()
            },
            issued_at: said.issued_at,
            valid_until: said.valid_until,
            proof: Some(artifact.proof),
            does_not_prove,
            ..SignedEntity::default()
        }
    }
}

/// Members under which gateways publish the hexadecimal SHA-256 of the response.
const HASH: &[&str] = &[
    "responseSha256",
    "response_sha256",
    "responseHash",
    "response_hash",
    "bodySha256",
    "body_sha256",
    "sha256",
];
/// Members in the syntax of the `Digest` header fields.
const DIGEST: &[&str] = &[
    "contentDigest",
    "content-digest",
    "reprDigest",
    "repr-digest",
    "digest",
];
const TRANSACTION: &[&str] = &["transaction", "txHash", "tx_hash", "transactionHash"];

fn any(json: &Json, names: &[&str]) -> bool {
    names.iter().any(|name| json.get(name).is_some())
}

/// The older form of a gateway's receipt: the payment in an object of its own, and the answer itself in place of its digest.
fn payment(json: &Json) -> Option<&Json> {
    json.get("payment").filter(|payment| any(payment, TRANSACTION))
}

/// Whether this object carries a digest of the response, which a settlement response never does.
pub(super) fn has_digest(json: &Json) -> bool {
    any(json, HASH) || any(json, DIGEST) || described(json).is_some()
}

/// The member that describes the response in a seller's receipt of ours: its digest, and that of what was under its coding.
fn described(json: &Json) -> Option<&Json> {
    json.get("response")
        .filter(|response| response.get("sha256").is_some())
}

/// Whether this object looks like a gateway's receipt: a digest of the response, or a payer and a transaction.
pub(super) fn is_gateway(json: &Json) -> bool {
    payment(json).is_some() || has_digest(json) || (any(json, TRANSACTION) && any(json, &["payer"]))
}

/// When a seller's receipt of ours was written: its other members mean nothing in another version. Errors: `unsupported_version`,
/// `missing_field`, `number_out_of_range`.
fn issued(json: &Json) -> Result<Option<Seconds>, Error> {
    if json.get("type") != Some(&Json::text(sale::receipt::TYPE)) {
        return Ok(None);
    }
    if json.get("v") != Some(&Json::number(1)) {
        return Err(Error::new(Code::UnsupportedVersion, "v"));
    }
    json.read("issuedAt", Json::as_u64).map(Some)
}

/// Reads a gateway's receipt. Errors: those of [`issued`]; `receipt_invalid` when a digest or a transaction is malformed, or one thing is said in two
/// ways; those of the fields.
pub(super) fn gateway(json: &Json) -> Result<SignedEntity, Error> {
    let issued_at = issued(json)?;
    if let Some(payment) = payment(json) {
        return older(json, payment).map_err(|error| error.within("payment"));
    }
    let hash = |hash: &Json| sha256(hash.as_str()?);
    let within = |error: Error| error.within("response");
    let sent = described(json)
        .map(|response| response.read("sha256", hash))
        .transpose()
        .map_err(within)?;
    let decoded = described(json)
        .map(|response| response.read_opt("decoded", |decoded| decoded.read("sha256", hash)))
        .transpose()
        .map_err(within)?
        .flatten();
    let bare = field(json, HASH, hash)?;
    if bare.is_some() && sent.is_some() && bare != sent {
        return Err(Error::new(Code::ReceiptInvalid, "response.sha256"));
    }
    let bare = bare.or(sent);
    let header = field(json, DIGEST, |hash| digest_field(hash.as_str()?))?;
    if bare.is_some() && header.is_some() && bare != header {
        return Err(Error::new(Code::ReceiptInvalid, "digest"));
    }
    let network = field(json, &["network"], |name| {
        let name = name.as_str()?;
        Network::parse(name).or_else(|error| Network::from_v1_name(name).map_err(|_| error))
    })?;
    let foreign = network
        .as_ref()
        .is_some_and(|network| network.chain_id().is_none());
    let transaction = field(json, TRANSACTION, |hash| match hash.as_str()? {
        hash if foreign => Ok(hash.to_owned()),
        hash => hex::decode_array::<32>(hash)
            .map(hex::encode)
            .map_err(|_| Error::new(Code::ReceiptInvalid, "")),
    })?;
    let mut others = Vec::new();
    let mut account = |member: &'static str, names: &[&str]| match foreign {
        true => {
            let text = field(json, names, Json::as_string)?;
            others.extend(text.map(|text| (member, text)));
            Ok(None)
        }
        false => field(json, names, Address::from_json),
    };
    let asset = account("asset", &["asset", "token"])?;
    let payer = account("payer", &["payer", "from"])?;
    let pay_to = account("payTo", &["payTo", "pay_to", "recipient", "to"])?;
    Ok(SignedEntity {
        success: json.read_opt("success", Json::as_bool)?,
        issued_at,
        decoded,
        readings: readings::ALL.to_vec(),
        does_not_prove: STATEMENT,
        subject: Subject {
            kind: "receipt",
            network,
            asset,
            payer,
            pay_to,
            foreign: others,
            amount: field(json, &["amount", "value"], Amount::from_json)?,
            resource: field(
                json,
                &["resource", "resourceUrl", "resource_url", "url"],
                |resource| resource.get("url").unwrap_or(resource).as_string(),
            )?,
            transaction,
            sha256: bare.or(header),
            ..Subject::default()
        },
        ..SignedEntity::default()
    })
}

/// Reads the older form. Its amount is in atomic units, or where it has a point in whole ones of a token with six places, which is what such gateways
/// take; the answer in it counts as its RFC 8785 text, or as its bytes where it is text.
fn older(json: &Json, payment: &Json) -> Result<SignedEntity, Error> {
    let token = payment.read_opt("token", Json::as_str)?;
    let symbol = token.filter(|token| !token.starts_with("0x"));
    let (sha256, readings) = match json.get("response") {
        None => (None, Vec::new()),
        Some(Json::String(text)) => (
            Some(digest::sha256(text.as_bytes())),
            vec![Reading::Exact, Reading::Decoded],
        ),
        Some(value) => (
            Some(digest::sha256(value.to_canonical()?.as_bytes())),
            vec![Reading::Canonical],
        ),
    };
    let said = gateway(&payment.clone().without("amount").without("token"))?;
    let amount = payment.read_opt("amount", |amount| match amount.as_str() {
        Ok(units) if units.contains('.') => amount::parse_units(units, 6),
        _ => Amount::from_json(amount),
    })?;
    let asset = payment.read_opt("token", |token| match symbol {
        Some(_) => Ok(None),
        None => Address::from_json(token).map(Some),
    })?;
    let payer = field(json, &["payer"], Address::from_json)?;
    if payer.is_some() && said.subject.payer.is_some() && payer != said.subject.payer {
        return Err(Error::new(Code::ReceiptInvalid, "payer"));
    }
    Ok(SignedEntity {
        subject: Subject {
            amount,
            asset: asset.flatten(),
            payer: payer.or(said.subject.payer),
            sha256,
            foreign: symbol
                .map(|symbol| ("symbol", symbol.to_owned()))
                .into_iter()
                .chain(said.subject.foreign)
                .collect(),
            ..said.subject
        },
        readings,
        issued_at: payment.read_opt("confirmed_at", |at| {
            let seconds = match at {
                Json::String(text) => time::parse_rfc3339(text),
                number => time::parse_seconds(number).ok(),
            };
            seconds.ok_or_else(|| Error::new(Code::TimeInvalid, ""))
        })?,
        ..said
    })
}

/// The member under any of these names; under several they must say the same.
fn field<T: PartialEq>(
    json: &Json,
    names: &[&str],
    read: impl Fn(&Json) -> Result<T, Error>,
) -> Result<Option<T>, Error> {
    let mut found = None;
    for name in names {
        let value = json.read_opt(name, &read)?;
        if found.is_some() && value.is_some() && found != value {
            return Err(Error::new(Code::ReceiptInvalid, *name));
        }
        found = found.or(value);
    }
    Ok(found)
}

/// 64 hexadecimal digits in any case, bare or after `0x` or `sha256:`. Error: `receipt_invalid`.
fn sha256(text: &str) -> Result<[u8; 32], Error> {
    let digits = text
        .strip_prefix("sha256:")
        .or_else(|| text.strip_prefix("0x"))
        .unwrap_or(text);
    hex::decode_array(&format!("0x{digits}")).map_err(|_| Error::new(Code::ReceiptInvalid, ""))
}

/// `sha-256=:<base64>:` of RFC 9530. Error: `receipt_invalid`.
pub(super) fn digest_field(text: &str) -> Result<[u8; 32], Error> {
    text.strip_prefix("sha-256=:")
        .and_then(|rest| rest.strip_suffix(':'))
        .and_then(|encoded| base64::decode_header(encoded).ok())
        .and_then(|bytes| bytes.try_into().ok())
        .ok_or_else(|| Error::new(Code::ReceiptInvalid, ""))
}
