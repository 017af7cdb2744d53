//! One transfer of a payment: who was to receive how much, under which nonce, and what shows it.

use super::encoded;
use crate::address::Address;
use crate::amount::Amount;
use crate::authorization::{Authorization, Method};
use crate::eip3009;
use crate::eip712::Domain;
use crate::error::{Code, Error};
use crate::hex;
use crate::json::Json;
use crate::permit2::Permit;
use crate::tempo::Order;

/// One transfer that the payment is made of.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Transfer {
    /// To whom.
    pub pay_to: Address,
    /// Atomic units that moved; with scheme `upto` it can be less than was signed for.
    pub amount: Amount,
    /// The place in the token contract, or in Permit2, that the payment took; of Permit2 a number in its big-endian bytes, on Tempo the memo.
    pub nonce: [u8; 32],
    /// Absent where the payer's journal was lost and the chain alone told of the payment; never of a transaction on Tempo.
    pub signed: Option<Signed>,
    /// The transaction that paid.
    pub transaction: Option<String>,
    /// The payer's own reads of the chain.
    pub evidence: Vec<Json>,
}

/// The authorization that paid, as it was signed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Signed {
    /// Its place among the attempts of the time line.
    pub attempt: u64,
    /// What was signed, and under which domain.
    pub authorization: Authorization,
    /// What was signed: its EIP-712 digest, or that of the transaction.
    pub digest: [u8; 32],
    /// The payer's signature, or the signed transaction.
    pub signature: String,
}

impl Transfer {
    /// Reads the members that [`Transfer::write`] adds. Errors: those of the fields with their path, `missing_field` at `authorization` on Tempo.
    pub(super) fn from_json(json: &Json, method: Method) -> Result<Transfer, Error> {
        let number = |json: &Json| match Amount::parse(json.as_str()?) {
            Ok(number) => Ok(number.to_be_bytes()),
            Err(_) => Err(Error::new(Code::NonceInvalid, "")),
        };
        let signed = json.read_opt("authorization", |json| Signed::from_json(json, method))?;
        // A memo alone is looked for in a stretch that only the transaction's end names.
        if signed.is_none() && method == Method::Tempo {
            return Err(Error::new(Code::MissingField, "authorization"));
        }
        Ok(Transfer {
            pay_to: json.read("payTo", Address::from_json)?,
            amount: json.read("amount", Amount::from_json)?,
            nonce: match method {
                Method::Eip3009 | Method::Tempo => json.read("nonce", Json::as_hex)?,
                Method::Permit2 => json.read("nonce", number)?,
            },
            signed,
            transaction: json.read_opt("transaction", |json| json.as_hex::<32>().map(hex::encode))?,
            evidence: json.read("evidence", Json::as_array)?.to_vec(),
        })
    }

    /// Adds its members to an object; the nonce as its own contract's interface writes it.
    pub(super) fn write(&self, json: Json, method: Method) -> Json {
        let nonce = match method {
            Method::Eip3009 | Method::Tempo => encoded(&self.nonce),
            Method::Permit2 => Amount::from_be_bytes(self.nonce).to_json(),
        };
        json.with("payTo", self.pay_to.to_json())
            .with("amount", self.amount.to_json())
            .with("nonce", nonce)
            .with("evidence", Json::Array(self.evidence.clone()))
            .with_some("authorization", self.signed.as_ref().map(Signed::to_json))
            .with_some("transaction", self.transaction.as_deref().map(Json::text))
    }
}

impl Signed {
    fn from_json(json: &Json, method: Method) -> Result<Signed, Error> {
        let authorization = match method {
            Method::Eip3009 => Authorization::Eip3009(
                json.read("message", eip3009::Authorization::from_json)?,
                json.read("domain", Domain::from_json)?,
            ),
            Method::Permit2 => Authorization::Permit2(
                json.read("message", Permit::from_json)?,
                json.read("domain", Permit::chain_of)?,
            ),
            Method::Tempo => Authorization::Tempo(Box::new(json.read("message", Order::from_json)?)),
        };
        Ok(Signed {
            attempt: json.read("attempt", Json::as_u64)?,
            authorization,
            digest: json.read("digest", Json::as_hex)?,
            signature: json.read("signature", Json::as_string)?,
        })
    }

    fn to_json(&self) -> Json {
        let (message, domain) = match &self.authorization {
            Authorization::Eip3009(one, domain) => (one.to_json(), Some(domain.to_json())),
            Authorization::Permit2(permit, chain_id) => {
                (permit.to_json(), Some(Permit::domain_json(*chain_id)))
            }
            Authorization::Tempo(order) => (order.to_json(), None),
        };
        Json::object([
            ("attempt", Json::number(self.attempt)),
            ("message", message),
            ("digest", encoded(&self.digest)),
            ("signature", Json::text(self.signature.as_str())),
        ])
        .with_some("domain", domain)
    }
}
