//! EIP-3009 `CancelAuthorization`: burns a nonce that is still unused.

use alloy_primitives::keccak256;

use super::Authorization;
use crate::address::Address;
use crate::eip712::{self, Domain};
use crate::error::Error;
use crate::hex;
use crate::json::Json;
use crate::secp256k1;

/// The type as EIP-712 encodes it.
const TYPE: &str = "CancelAuthorization(address authorizer,bytes32 nonce)";
/// The function that takes it, with the signature in three parts.
const FUNCTION: &str = "cancelAuthorization(address,bytes32,uint8,bytes32,bytes32)";

/// A cancellation. It has no window: while the nonce is unused it can land.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Cancellation {
    /// Whose nonce.
    pub authorizer: Address,
    /// The nonce.
    pub nonce: [u8; 32],
}

impl Cancellation {
    /// The one that stops this authorization, and every other one for its nonce.
    pub fn of(authorization: &Authorization) -> Cancellation {
        Cancellation {
            authorizer: authorization.from,
            nonce: authorization.nonce,
        }
    }

    /// Reads `{authorizer, nonce}`. Errors: `missing_field`, `address_invalid`, `address_checksum`, `nonce_invalid`.
    pub fn from_json(json: &Json) -> Result<Cancellation, Error> {
        Ok(Cancellation {
            authorizer: json.read("authorizer", Address::from_json)?,
            nonce: json.read("nonce", super::nonce)?,
        })
    }

    /// The EIP-712 digest. Error: never for a domain read by [`Domain::from_json`].
    pub fn digest(&self, domain: &Domain) -> Result<[u8; 32], Error> {
        let words = [keccak256(TYPE).0, self.authorizer.to_word(), self.nonce];
        Ok(eip712::digest(&domain.separator()?, &keccak256(words.concat()).0))
    }

    /// The whole EIP-712 document, for signers outside.
    pub fn typed_data(&self, domain: &Domain) -> Json {
        let own = eip712::fields(&[("authorizer", "address"), ("nonce", "bytes32")]);
        let primary = "CancelAuthorization";
        let types = Json::object([("EIP712Domain", Domain::fields()), (primary, own)]);
        let message = Json::object([
            ("authorizer", self.authorizer.to_json()),
            ("nonce", Json::text(hex::encode(self.nonce))),
        ]);
        eip712::document(domain.to_json(), types, primary, message)
    }

    /// The address that signed. Errors: `contract_signature`, `signature_invalid`.
    pub fn recover(&self, domain: &Domain, signature: &str) -> Result<Address, Error> {
        let signature = secp256k1::parse_signature(signature)?;
        secp256k1::recover(&self.digest(domain)?, &signature)
    }

    /// What is sent to the token, by anyone: selector, authorizer, nonce, `v`, `r`, `s`. Errors: `contract_signature`,
    /// `signature_invalid`.
    pub fn calldata(&self, signature: &str) -> Result<Vec<u8>, Error> {
        let signature = secp256k1::parse_signature(signature)?;
        let (rs, v) = signature.split_at(64);
        let selector = keccak256(FUNCTION).0;
        let mut word = [0; 32];
        word.iter_mut().rev().zip(v).for_each(|(to, from)| *to = *from);
        let parts: [&[u8]; 5] = [
            selector.get(..4).unwrap_or_default(),
            &self.authorizer.to_word(),
            &self.nonce,
            &word,
            rs,
        ];
        Ok(parts.concat())
    }
}
