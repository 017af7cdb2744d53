//! Signed offers and receipts, the x402 extension `offer-receipt`: what a seller commits to before a payment, and what it confirms after one.
//!
//! Both come as `{format: "eip712", payload, signature}`, as `{format: "jws", signature}`, or as the bare JWS. Only members that the signature
//! covers are read: `acceptIndex`, members of an EIP-712 payload that its type does not name, and types, domain or primary type sent along are
//! passed over. The addresses of the EIP-712 form are signed as text, so that their letter case counts.

use core::fmt;

use crate::address::Address;
use crate::amount::Amount;
use crate::eip712;
use crate::error::{Code, Error};
use crate::hex;
use crate::json::{self, Json};
use crate::jws::{self, Jws};
use crate::network::Network;
use crate::time::Seconds;

/// Which of the two it is. Nothing in a JWS says so but its members.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Terms that a seller commits to.
    Offer,
    /// The confirmation that somebody paid and was served.
    Receipt,
}

/// An account or a token: an address on an EVM network, any text elsewhere.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Name {
    /// On an `eip155` network.
    Address(Address),
    /// On another network, or the word `native` for a token.
    Text(String),
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Name::Address(address) => address.fmt(f),
            Name::Text(text) => f.write_str(text),
        }
    }
}

/// What the signature covers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Payload {
    /// Offer or receipt.
    pub kind: Kind,
    /// The network.
    pub network: Network,
    /// What is or was bought.
    pub resource_url: String,
    /// Of an offer: the scheme.
    pub scheme: Option<String>,
    /// Of an offer: the token.
    pub asset: Option<Name>,
    /// Of an offer: the recipient.
    pub pay_to: Option<Name>,
    /// Of an offer: the price.
    pub amount: Option<Amount>,
    /// Of an offer: the last second at which it holds; none when it names none or 0.
    pub valid_until: Option<Seconds>,
    /// Of a receipt: who paid.
    pub payer: Option<Name>,
    /// Of a receipt: when it was written.
    pub issued_at: Option<Seconds>,
    /// Of a receipt: the transaction; none when it names none or the empty text.
    pub transaction: Option<String>,
}

/// How it is signed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Proof {
    /// By EIP-712: whoever the signature over this digest recovers to.
    Eip712 {
        /// The digest.
        digest: [u8; 32],
        /// The signature as it came.
        signature: String,
    },
    /// By a JWS.
    Jws(Box<Jws>),
}

/// An offer or a receipt as read; its signature is not checked yet.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Artifact {
    /// What it says.
    pub payload: Payload,
    /// What it is signed with.
    pub proof: Proof,
}

/// Whether this object is meant to be one.
pub fn is_artifact(json: &Json) -> bool {
    let format = json.get("format").and_then(|format| format.as_str().ok());
    matches!(format, Some("eip712" | "jws")) && json.get("signature").is_some()
}

/// The signed receipt in the extension of a settlement response, where there is one. Errors, below `extensions.offer-receipt.info.receipt`: those of
/// [`Artifact::from_json`] and [`Artifact::from_jws`]; `receipt_invalid` for an offer.
pub fn within(response: &Json) -> Result<Option<Artifact>, Error> {
    const EXTENSION: &str = "offer-receipt";
    let info = response
        .get("extensions")
        .and_then(|all| all.get(EXTENSION)?.get("info"));
    let Some(receipt) = info.and_then(|info| info.get("receipt")) else {
        return Ok(None);
    };
    let read = || {
        let artifact = match receipt {
            Json::String(jws) => Artifact::from_jws(jws)?,
            envelope => Artifact::from_json(envelope)?,
        };
        match artifact.payload.kind {
            Kind::Receipt => Ok(Some(artifact)),
            Kind::Offer => Err(invalid("")),
        }
    };
    read().map_err(|error: Error| {
        ["receipt", "info", EXTENSION, "extensions"]
            .into_iter()
            .fold(error, Error::within)
    })
}

fn invalid(field: &str) -> Error {
    Error::new(Code::ReceiptInvalid, field)
}

impl Artifact {
    /// Reads the envelope. Errors: `missing_field`, `invalid_type`; `receipt_invalid` at `format`, at `payload` beside a JWS; those of
    /// [`Artifact::from_jws`] at `signature`; those of [`Payload::from_json`] at `payload`.
    pub fn from_json(envelope: &Json) -> Result<Artifact, Error> {
        match envelope.read("format", Json::as_str)? {
            "eip712" => {
                let payload = envelope.read("payload", Payload::from_json)?;
                let message = envelope.require("payload")?;
                Ok(Artifact {
                    proof: Proof::Eip712 {
                        digest: payload.digest(message)?,
                        signature: envelope.read("signature", Json::as_string)?,
                    },
                    payload,
                })
            }
            "jws" if envelope.get("payload").is_some() => Err(invalid("payload")),
            "jws" => envelope.read("signature", |jws| Artifact::from_jws(jws.as_str()?)),
            _ => Err(invalid("format")),
        }
    }

    /// Reads a compact JWS. Errors: those of [`jws::parse`]; those of the JSON reader and of [`Payload::from_json`] at `payload`.
    pub fn from_jws(text: &str) -> Result<Artifact, Error> {
        let jws = jws::parse(text)?;
        let payload = json::parse_bytes(&jws.payload)
            .and_then(|json| Payload::from_json(&json))
            .map_err(|error| error.within("payload"))?;
        Ok(Artifact {
            payload,
            proof: Proof::Jws(Box::new(jws)),
        })
    }
}

impl Payload {
    /// Reads the members that a signature covers. Errors: `unsupported_version` at `version` unless it is the number 1; `receipt_invalid` for what has
    /// the members of both kinds or of neither; `missing_field`, `invalid_type`, `number_out_of_range`, `network_invalid`,
    /// `address_invalid`, `address_checksum`, `amount_invalid`, `amount_must_be_string`; `receipt_invalid` for an empty text, at `payer` for nobody's
    /// address, at `transaction` for what is no hash on an EVM network.
    pub fn from_json(json: &Json) -> Result<Payload, Error> {
        json.as_object()?;
        // No other spelling of the number: a later version is not to be read as this one.
        if json.get("version") != Some(&Json::number(1)) {
            return Err(Error::new(Code::UnsupportedVersion, "version"));
        }
        let all = |names: &[&str]| names.iter().all(|name| json.get(name).is_some());
        let offer = all(&["scheme", "asset", "payTo", "amount"]);
        let kind = match (offer, all(&["payer", "issuedAt"])) {
            (true, false) => Kind::Offer,
            (false, true) => Kind::Receipt,
            (false, false) if json.get("payer").is_some() || json.get("issuedAt").is_some() => Kind::Receipt,
            (false, false) if json.get("scheme").is_some() => Kind::Offer,
            _ => return Err(invalid("")),
        };
        let network = json.read("network", Network::from_json)?;
        let evm = network.chain_id().is_some();
        let name = |name: &Json| match name.as_str()? {
            "" => Err(invalid("")),
            _ if evm => Address::from_json(name).map(Name::Address),
            text => Ok(Name::Text(text.to_owned())),
        };
        let text = |text: &Json| match text.as_str()? {
            "" => Err(invalid("")),
            text => Ok(text.to_owned()),
        };
        let mut payload = Payload {
            kind,
            network,
            resource_url: json.read("resourceUrl", text)?,
            scheme: None,
            asset: None,
            pay_to: None,
            amount: None,
            valid_until: None,
            payer: None,
            issued_at: None,
            transaction: None,
        };
        if kind == Kind::Offer {
            payload.scheme = Some(json.read("scheme", text)?);
            payload.asset = Some(json.read("asset", |asset| match asset.as_str()? {
                "native" => Ok(Name::Text("native".into())),
                _ => name(asset),
            })?);
            payload.pay_to = Some(json.read("payTo", name)?);
            payload.amount = Some(json.read("amount", Amount::from_json)?);
            payload.valid_until = json.read_opt("validUntil", Json::as_u64)?.filter(|at| *at > 0);
            return Ok(payload);
        }
        payload.payer = Some(json.read("payer", |payer| match name(payer)? {
            Name::Address(nobody) if nobody.is_zero() => Err(invalid("")),
            payer => Ok(payer),
        })?);
        payload.issued_at = Some(json.read("issuedAt", Json::as_u64)?);
        let hash = |hash: &Json| match hash.as_str()? {
            hash if hash.is_empty() || !evm => Ok(hash.to_owned()),
            hash => hex::decode_array::<32>(hash)
                .map(hex::encode)
                .map_err(|_| invalid("")),
        };
        let transaction = json.read_opt("transaction", hash)?;
        payload.transaction = transaction.filter(|hash| !hash.is_empty());
        Ok(payload)
    }

    /// The digest of the EIP-712 form. Texts are those of `message`, letter by letter; an optional member that is absent is signed as 0 or as
    /// the empty text.
    fn digest(&self, message: &Json) -> Result<[u8; 32], Error> {
        const OFFER: [(&str, &str); 8] = [
            ("version", "uint256"),
            ("resourceUrl", "string"),
            ("scheme", "string"),
            ("network", "string"),
            ("asset", "string"),
            ("payTo", "string"),
            ("amount", "string"),
            ("validUntil", "uint256"),
        ];
        const RECEIPT: [(&str, &str); 6] = [
            ("version", "uint256"),
            ("network", "string"),
            ("resourceUrl", "string"),
            ("payer", "string"),
            ("issuedAt", "uint256"),
            ("transaction", "string"),
        ];
        let (primary, name, fields) = match self.kind {
            Kind::Offer => ("Offer", "x402 offer", &OFFER[..]),
            Kind::Receipt => ("Receipt", "x402 receipt", &RECEIPT[..]),
        };
        let unused = |kind: &str| match kind {
            "string" => Json::text(""),
            _ => Json::number(0),
        };
        let member = |(name, kind): &(&str, &str)| {
            let value = message.get(name).cloned();
            ((*name).to_owned(), value.unwrap_or_else(|| unused(kind)))
        };
        // The chain is always 1: the signature is for no chain, and the payload says on which one was paid.
        let domain = Json::object([
            ("name", Json::text(name)),
            ("version", Json::text("1")),
            ("chainId", Json::number(1)),
        ]);
        let message = Json::Object(fields.iter().map(member).collect());
        let types = Json::object([(primary, eip712::fields(fields))]);
        eip712::hash_typed_data(&eip712::document(domain, types, primary, message))
    }
}
