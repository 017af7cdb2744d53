//! The settlement response: what the seller says became of the payment. A statement, not a proof.

use super::{decode_header, shape};
use crate::address::Address;
use crate::amount::Amount;
use crate::error::{Code, Error};
use crate::hex;
use crate::json::Json;
use crate::network::Network;

/// A settlement response, of either version.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SettlementResponse {
    /// Whether the seller says the transfer happened.
    pub success: bool,
    /// What the seller names as the transaction; empty when there is none. Not checked to be a hash.
    pub transaction: String,
    /// The network, CAIP-2.
    pub network: Network,
    /// The settled amount, where the seller states it.
    pub amount: Option<Amount>,
    /// The payer, where the seller states it and it is an address; other text stays in `json` only.
    pub payer: Option<Address>,
    /// Why it failed: a code or any text.
    pub error_reason: Option<String>,
    /// The whole response; verbatim except for `network`, which is CAIP-2.
    pub json: Json,
}

/// Reads the header value. Errors in this order: `too_large`, `base64_invalid`, those of the JSON reader,
/// `settlement_invalid` (shape), `network_invalid`, `amount_must_be_string`, `amount_invalid`.
pub fn parse(value: &str) -> Result<SettlementResponse, Error> {
    SettlementResponse::from_json(&decode_header(value)?)
}

impl SettlementResponse {
    /// Reads the JSON value. Errors: those of [`parse`] after decoding.
    pub fn from_json(json: &Json) -> Result<Self, Error> {
        SettlementResponse::read(json).map_err(shape(Code::SettlementInvalid))
    }

    fn read(json: &Json) -> Result<Self, Error> {
        let success = json.read("success", Json::as_bool)?;
        let transaction = json.read("transaction", Json::as_string)?;
        let network = json.read("network", |value| {
            let name = value.as_str()?;
            Network::parse(name).or_else(|_| Network::from_v1_name(name))
        })?;
        let amount = json.read_opt("amount", Amount::from_json)?;
        let payer = json
            .read_opt("payer", Json::as_str)?
            .and_then(|payer| Address::parse(payer).ok());
        let error_reason = json.read_opt("errorReason", Json::as_string)?;
        json.read_opt("extensions", Json::as_object)?;
        let json = json.clone().with("network", network.to_json());
        Ok(SettlementResponse {
            success,
            transaction,
            network,
            amount,
            payer,
            error_reason,
            json,
        })
    }

    /// The transaction, when it is the 32-byte hash of one; lower case.
    pub fn transaction_hash(&self) -> Option<String> {
        hex::decode_array::<32>(&self.transaction)
            .ok()
            .filter(|hash| *hash != [0; 32])
            .map(hex::encode)
    }
}
