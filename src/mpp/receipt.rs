//! The receipt: what a service says of a payment in `Payment-Receipt`, on a success only. It carries no signature, so it
//! proves what the payer's own challenge and reads of the chain confirm, and its absence says nothing.

use super::challenge::Challenge;
use crate::base64;
use crate::error::{Code, Error};
use crate::hex;
use crate::json::{self, Json};
use crate::time::{self, Seconds};

/// Largest receipt read, in bytes.
pub const MAX_RECEIPT: usize = 16 << 10;

/// A receipt as read.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Receipt {
    /// Payment method; that of the challenge.
    pub method: String,
    /// When it was settled.
    pub timestamp: Seconds,
    /// The method's own name of the payment: a transaction hash, or the challenge's id where nothing was to be paid. Where a
    /// tool call carried it there may be none.
    pub reference: Option<String>,
    /// The service's own name of the purchase; that of the challenge's request, where both are there.
    pub external_id: Option<String>,
    /// The challenge that was paid.
    pub challenge_id: Option<String>,
    /// EIP-155 chain id.
    pub chain_id: Option<u64>,
}

/// Reads a header value. Errors: `too_large`, `base64_invalid`, those of the JSON reader and of [`Receipt::from_json`].
pub fn parse(value: &str) -> Result<Receipt, Error> {
    if value.len() > MAX_RECEIPT {
        return Err(Error::new(Code::TooLarge, ""));
    }
    Receipt::from_json(&json::parse_bytes(&base64::decode_header(value)?)?)
}

/// Whether this object is meant to be one: no other receipt has these three.
pub fn is_receipt(json: &Json) -> bool {
    ["status", "method", "timestamp"]
        .iter()
        .all(|name| json.get(name).is_some())
        && json.get("success").is_none()
}

impl Receipt {
    /// Reads the object, members that are not known passed over. Error: `receipt_invalid`, fields in this order: `status`
    /// (there is none but `success`), `method`, `timestamp`, `externalId`, `challengeId`, `chainId`, `reference` (required where there is no
    /// `challengeId`).
    pub fn from_json(json: &Json) -> Result<Receipt, Error> {
        Receipt::read(json).map_err(|error| error.with_code(Code::ReceiptInvalid))
    }

    fn read(json: &Json) -> Result<Receipt, Error> {
        let invalid = || Error::new(Code::ReceiptInvalid, "");
        let text = |text: &Json| match text.as_string()? {
            empty if empty.is_empty() => Err(invalid()),
            text => Ok(text),
        };
        json.read("status", |status| match status.as_str()? {
            "success" => Ok(()),
            _ => Err(invalid()),
        })?;
        let method = json.read("method", text)?;
        let timestamp = json.read("timestamp", |at| {
            time::parse_rfc3339(at.as_str()?).ok_or_else(invalid)
        })?;
        let external_id = json.read_opt("externalId", Json::as_string)?;
        let challenge_id = json.read_opt("challengeId", text)?;
        let chain_id = json.read_opt("chainId", Json::as_u64)?;
        let reference = match challenge_id {
            Some(_) => json.read_opt("reference", text)?,
            None => Some(json.read("reference", text)?),
        };
        Ok(Receipt {
            method,
            timestamp,
            reference,
            external_id,
            challenge_id,
            chain_id,
        })
    }

    /// The transaction that it names, in lower case, when the reference is a 32-byte hash.
    pub fn transaction(&self) -> Option<String> {
        let hash = hex::decode_array::<32>(self.reference.as_deref()?).ok()?;
        Some(hex::encode(hash))
    }

    /// In what it contradicts the challenge that it should be of: the method, its id, or the service's own name of the purchase.
    pub fn contradicts(&self, challenge: &Challenge) -> Option<&'static str> {
        let named = challenge.terms().ok().and_then(|terms| {
            let id = terms.get("externalId")?;
            id.as_string().ok()
        });
        let rules = [
            (
                "The receipt is of another payment method.",
                self.method == challenge.method,
            ),
            (
                "The receipt is of another challenge.",
                self.challenge_id.as_ref().is_none_or(|id| *id == challenge.id),
            ),
            (
                "The receipt is of another purchase.",
                self.external_id
                    .as_ref()
                    .is_none_or(|id| named.as_ref().is_none_or(|named| named == id)),
            ),
        ];
        rules.into_iter().find(|(_, holds)| !holds).map(|(why, _)| why)
    }

    /// The members that are known.
    pub fn to_json(&self) -> Json {
        let text = |text: &Option<String>| text.as_deref().map(Json::text);
        Json::object([
            ("method", Json::text(self.method.as_str())),
            ("timestamp", Json::number(self.timestamp)),
        ])
        .with_some("reference", text(&self.reference))
        .with_some("externalId", text(&self.external_id))
        .with_some("challengeId", text(&self.challenge_id))
        .with_some("chainId", self.chain_id.map(Json::number))
    }
}
