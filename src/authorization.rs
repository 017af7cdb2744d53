//! What one attempt signs, by either way of moving a token: everything that the paying side and its proofs need to know of it.

use crate::address::Address;
use crate::amount::Amount;
use crate::eip3009;
use crate::eip712::Domain;
use crate::error::{Code, Error};
use crate::hex;
use crate::json::Json;
use crate::network::Network;
use crate::permit2::Permit;

/// How the token is moved: `extra.assetTransferMethod` of an offer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Method {
    /// The token itself takes the signature.
    Eip3009,
    /// Permit2 does, for a token whose owner approved it once.
    Permit2,
}

impl Method {
    /// The text in an offer and in the journal.
    pub const fn as_str(self) -> &'static str {
        match self {
            Method::Eip3009 => "eip3009",
            Method::Permit2 => "permit2",
        }
    }

    /// Reads that text. Error: `no_supported_payment_option`.
    pub fn from_json(json: &Json) -> Result<Method, Error> {
        let text = json.as_str()?;
        [Method::Eip3009, Method::Permit2]
            .into_iter()
            .find(|method| method.as_str() == text)
            .ok_or_else(|| Error::new(Code::NoSupportedOption, ""))
    }
}

/// One authorization, with the domain under which it is signed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Authorization {
    /// Under the token's domain.
    Eip3009(eip3009::Authorization, Domain),
    /// Under Permit2's domain on this chain.
    Permit2(Permit, u64),
}

impl Authorization {
    /// The way the token is moved.
    pub fn method(&self) -> Method {
        match self {
            Authorization::Eip3009(..) => Method::Eip3009,
            Authorization::Permit2(..) => Method::Permit2,
        }
    }

    /// Payer.
    pub fn from(&self) -> Address {
        match self {
            Authorization::Eip3009(one, _) => one.from,
            Authorization::Permit2(permit, _) => permit.from,
        }
    }

    /// Recipient.
    pub fn to(&self) -> Address {
        match self {
            Authorization::Eip3009(one, _) => one.to,
            Authorization::Permit2(permit, _) => permit.to,
        }
    }

    /// Atomic units.
    pub fn value(&self) -> Amount {
        match self {
            Authorization::Eip3009(one, _) => one.value,
            Authorization::Permit2(permit, _) => permit.amount,
        }
    }

    /// Whether less may move than was signed for: scheme `upto`.
    pub fn is_upto(&self) -> bool {
        matches!(self, Authorization::Permit2(permit, _) if permit.facilitator.is_some())
    }

    /// The token.
    pub fn asset(&self) -> Address {
        match self {
            Authorization::Eip3009(_, domain) => domain.verifying_contract,
            Authorization::Permit2(permit, _) => permit.token,
        }
    }

    /// EIP-155 chain id.
    pub fn chain_id(&self) -> u64 {
        match self {
            Authorization::Eip3009(_, domain) => domain.chain_id,
            Authorization::Permit2(_, chain_id) => *chain_id,
        }
    }

    /// The network that is signed for. Error: `network_invalid`.
    pub fn network(&self) -> Result<Network, Error> {
        Network::parse(&format!("eip155:{}", self.chain_id()))
    }

    /// The nonce, for Permit2 a number in its big-endian bytes.
    pub fn nonce(&self) -> [u8; 32] {
        match self {
            Authorization::Eip3009(one, _) => one.nonce,
            Authorization::Permit2(permit, _) => permit.nonce,
        }
    }

    /// The same, for another nonce.
    #[must_use]
    pub fn with_nonce(&self, nonce: [u8; 32]) -> Authorization {
        let mut other = self.clone();
        match &mut other {
            Authorization::Eip3009(one, _) => one.nonce = nonce,
            Authorization::Permit2(permit, _) => permit.nonce = nonce,
        }
        other
    }

    /// The lower bound.
    pub fn valid_after(&self) -> Amount {
        match self {
            Authorization::Eip3009(one, _) => one.valid_after,
            Authorization::Permit2(permit, _) => permit.valid_after,
        }
    }

    /// The first second at which it can no longer land.
    pub fn valid_before(&self) -> Amount {
        match self {
            Authorization::Eip3009(one, _) => one.valid_before,
            Authorization::Permit2(permit, _) => permit.ends_at(),
        }
    }

    /// What is signed. Error: those of the domain.
    pub fn digest(&self) -> Result<[u8; 32], Error> {
        Ok(match self {
            Authorization::Eip3009(one, domain) => one.digest(domain)?.digest,
            Authorization::Permit2(permit, chain_id) => permit.digest(*chain_id).digest,
        })
    }

    /// The whole EIP-712 document, for signers outside.
    pub fn typed_data(&self) -> Json {
        match self {
            Authorization::Eip3009(one, domain) => one.typed_data(domain),
            Authorization::Permit2(permit, chain_id) => permit.typed_data(*chain_id),
        }
    }

    /// The address that signed. Errors: `contract_signature`, `signature_invalid`.
    pub fn recover(&self, signature: &str) -> Result<Address, Error> {
        match self {
            Authorization::Eip3009(one, domain) => one.recover(domain, signature),
            Authorization::Permit2(permit, chain_id) => permit.recover(*chain_id, signature),
        }
    }

    /// Adds its members to a record: `authorization` or `permit2Authorization`, and `domain`.
    #[must_use]
    pub fn write(&self, record: Json) -> Json {
        match self {
            Authorization::Eip3009(one, domain) => record
                .with("authorization", one.to_json())
                .with("domain", domain.to_json()),
            Authorization::Permit2(permit, chain_id) => record
                .with("permit2Authorization", permit.to_json())
                .with("domain", Permit::domain_json(*chain_id)),
        }
    }

    /// Reads the members that [`Authorization::write`] adds. Errors: those of the fields with their path, and `typed_data_invalid`
    /// at `domain` where a permit's is not that of Permit2.
    pub fn read(record: &Json) -> Result<Authorization, Error> {
        let Some(permit) = record.read_opt("permit2Authorization", Permit::from_json)? else {
            return Ok(Authorization::Eip3009(
                record.read("authorization", eip3009::Authorization::from_json)?,
                record.read("domain", Domain::from_json)?,
            ));
        };
        let chain_id = record.read("domain", Permit::chain_of)?;
        Ok(Authorization::Permit2(permit, chain_id))
    }

    /// The nonce as its own interface writes it: 0x text, or the decimal text of a permit.
    pub fn nonce_text(&self) -> String {
        match self {
            Authorization::Eip3009(one, _) => hex::encode(one.nonce),
            Authorization::Permit2(permit, _) => Amount::from_be_bytes(permit.nonce).to_string(),
        }
    }
}
