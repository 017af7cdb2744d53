//! EIP-3009 `TransferWithAuthorization`: what is signed, its digest and its signer; and what cancels it.

mod cancellation;

pub use cancellation::Cancellation;

use alloy_primitives::keccak256;

use crate::address::Address;
use crate::amount::Amount;
use crate::eip712::{self, Domain};
use crate::error::{Code, Error};
use crate::hex;
use crate::json::Json;
use crate::secp256k1;

/// Keccak-256 of the type as EIP-712 encodes it:
/// `TransferWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)`.
const TYPE_HASH: [u8; 32] = [
    0x7c, 0x7c, 0x6c, 0xdb, 0x67, 0xa1, 0x87, 0x43, 0xf4, 0x9e, 0xc6, 0xfa, 0x9b, 0x35, 0xf5, 0x0d, 0x52,
    0xed, 0x05, 0xcb, 0xed, 0x4c, 0xc5, 0x92, 0xe1, 0x3b, 0x44, 0x50, 0x1c, 0x1a, 0x22, 0x67,
];

/// One authorization. Both bounds are exclusive: it can land when `valid_after < block time < valid_before`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Authorization {
    /// Payer.
    pub from: Address,
    /// Recipient.
    pub to: Address,
    /// Atomic units.
    pub value: Amount,
    /// Exclusive lower bound.
    pub valid_after: Amount,
    /// Exclusive upper bound.
    pub valid_before: Amount,
    /// Used at most once per payer and token.
    pub nonce: [u8; 32],
}

/// The hashes that lead to the signed digest.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AuthorizationDigest {
    /// Of the token's domain.
    pub domain_separator: [u8; 32],
    /// Of the authorization.
    pub struct_hash: [u8; 32],
    /// What is signed.
    pub digest: [u8; 32],
}

/// A nonce. Errors: `invalid_type`, `nonce_invalid`.
pub fn nonce(json: &Json) -> Result<[u8; 32], Error> {
    hex::decode_array(json.as_str()?).map_err(|_| Error::new(Code::NonceInvalid, ""))
}

impl Authorization {
    /// Reads the members of `payload.authorization`. Errors, in this order of fields: `missing_field`, `address_invalid`,
    /// `address_checksum`, `amount_invalid`, `amount_must_be_string`, `nonce_invalid`.
    pub fn from_json(json: &Json) -> Result<Authorization, Error> {
        Ok(Authorization {
            from: json.read("from", Address::from_json)?,
            to: json.read("to", Address::from_json)?,
            value: json.read("value", Amount::from_json)?,
            valid_after: json.read("validAfter", Amount::from_json)?,
            valid_before: json.read("validBefore", Amount::from_json)?,
            nonce: json.read("nonce", nonce)?,
        })
    }

    /// In the order of the type.
    pub fn to_json(&self) -> Json {
        Json::object([
            ("from", self.from.to_json()),
            ("to", self.to.to_json()),
            ("value", self.value.to_json()),
            ("validAfter", self.valid_after.to_json()),
            ("validBefore", self.valid_before.to_json()),
            ("nonce", Json::text(hex::encode(self.nonce))),
        ])
    }

    /// The EIP-712 hashes. Error: `typed_data_invalid` never for a domain read by [`Domain::from_json`].
    pub fn digest(&self, domain: &Domain) -> Result<AuthorizationDigest, Error> {
        Ok(self.digest_under(domain.separator()?))
    }

    /// The same under a domain of which the separator is known.
    pub fn digest_under(&self, domain_separator: [u8; 32]) -> AuthorizationDigest {
        let words = [
            TYPE_HASH,
            self.from.to_word(),
            self.to.to_word(),
            self.value.to_be_bytes(),
            self.valid_after.to_be_bytes(),
            self.valid_before.to_be_bytes(),
            self.nonce,
        ];
        let struct_hash = keccak256(words.concat()).0;
        let digest = eip712::digest(&domain_separator, &struct_hash);
        AuthorizationDigest {
            domain_separator,
            struct_hash,
            digest,
        }
    }

    /// The whole EIP-712 document, for signers outside.
    pub fn typed_data(&self, domain: &Domain) -> Json {
        let own = eip712::fields(&[
            ("from", "address"),
            ("to", "address"),
            ("value", "uint256"),
            ("validAfter", "uint256"),
            ("validBefore", "uint256"),
            ("nonce", "bytes32"),
        ]);
        let primary = "TransferWithAuthorization";
        let types = Json::object([("EIP712Domain", Domain::fields()), (primary, own)]);
        eip712::document(domain.to_json(), types, primary, self.to_json())
    }

    /// The address that signed. Errors: `contract_signature`, `signature_invalid`.
    pub fn recover(&self, domain: &Domain, signature: &str) -> Result<Address, Error> {
        let signature = secp256k1::parse_signature(signature)?;
        secp256k1::recover(&self.digest(domain)?.digest, &signature)
    }
}
