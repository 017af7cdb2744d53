//! What one attempt signs, by whichever way of moving a token: everything that the paying side and its proofs need to know of it.

use crate::address::Address;
use crate::amount::Amount;
use crate::eip3009;
use crate::eip712::Domain;
use crate::error::{Code, Error};
use crate::hex;
use crate::json::Json;
use crate::network::Network;
use crate::permit2::Permit;
use crate::tempo::{Order, Transaction};

/// How the token is moved: `extra.assetTransferMethod` of an offer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Method {
    /// The token itself takes the signature.
    Eip3009,
    /// Permit2 does, for a token whose owner approved it once.
    Permit2,
    /// A whole transaction of the Tempo network, which somebody else broadcasts.
    Tempo,
}

impl Method {
    /// The text in an offer and in the journal.
    pub const fn as_str(self) -> &'static str {
        match self {
            Method::Eip3009 => "eip3009",
            Method::Permit2 => "permit2",
            Method::Tempo => "tempo",
        }
    }

    /// Reads that text. Error: `no_supported_payment_option`.
    pub fn from_json(json: &Json) -> Result<Method, Error> {
        let text = json.as_str()?;
        [Method::Eip3009, Method::Permit2, Method::Tempo]
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
    /// A transaction. What it is told apart by is its memo, of which there is one for each challenge.
    Tempo(Box<Order>),
}

impl Authorization {
    /// The way the token is moved.
    pub fn method(&self) -> Method {
        match self {
            Authorization::Eip3009(..) => Method::Eip3009,
            Authorization::Permit2(..) => Method::Permit2,
            Authorization::Tempo(_) => Method::Tempo,
        }
    }

    /// Payer.
    pub fn from(&self) -> Address {
        match self {
            Authorization::Eip3009(one, _) => one.from,
            Authorization::Permit2(permit, _) => permit.from,
            Authorization::Tempo(order) => order.payment.payer,
        }
    }

    /// Recipient, of a transaction with splits the main one.
    pub fn to(&self) -> Address {
        match self {
            Authorization::Eip3009(one, _) => one.to,
            Authorization::Permit2(permit, _) => permit.to,
            Authorization::Tempo(order) => order.payment.primary.to,
        }
    }

    /// Atomic units, splits included.
    pub fn value(&self) -> Amount {
        match self {
            Authorization::Eip3009(one, _) => one.value,
            Authorization::Permit2(permit, _) => permit.amount,
            Authorization::Tempo(order) => order.amount(),
        }
    }

    /// The most that the payer pays for its inclusion: on Tempo, where nobody sponsors it.
    pub fn fee(&self) -> Amount {
        match self {
            Authorization::Tempo(order) => order.max_fee,
            _ => Amount::ZERO,
        }
    }

    /// The most that it may cost the payer: its value and the fee beside it. Nothing where no amount is so large.
    pub fn cost(&self) -> Option<Amount> {
        self.value().checked_add(self.fee())
    }

    /// The same as a part of a sum: one that no amount holds is the largest there is.
    pub fn bounded_cost(&self) -> Amount {
        self.value().saturating_add(self.fee())
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
            Authorization::Tempo(order) => order.payment.currency,
        }
    }

    /// EIP-155 chain id.
    pub fn chain_id(&self) -> u64 {
        match self {
            Authorization::Eip3009(_, domain) => domain.chain_id,
            Authorization::Permit2(_, chain_id) => *chain_id,
            Authorization::Tempo(order) => order.payment.chain_id,
        }
    }

    /// The network that is signed for. Error: `network_invalid`.
    pub fn network(&self) -> Result<Network, Error> {
        Network::parse(&format!("eip155:{}", self.chain_id()))
    }

    /// The nonce, for Permit2 a number in its big-endian bytes, for Tempo the memo.
    pub fn nonce(&self) -> [u8; 32] {
        match self {
            Authorization::Eip3009(one, _) => one.nonce,
            Authorization::Permit2(permit, _) => permit.nonce,
            Authorization::Tempo(order) => order.payment.memo,
        }
    }

    /// The same, for another nonce; a memo stays, for the challenge dictates it.
    #[must_use]
    pub fn with_nonce(&self, nonce: [u8; 32]) -> Authorization {
        let mut other = self.clone();
        match &mut other {
            Authorization::Eip3009(one, _) => one.nonce = nonce,
            Authorization::Permit2(permit, _) => permit.nonce = nonce,
            Authorization::Tempo(_) => {}
        }
        other
    }

    /// The lower bound; a transaction has none.
    pub fn valid_after(&self) -> Amount {
        match self {
            Authorization::Eip3009(one, _) => one.valid_after,
            Authorization::Permit2(permit, _) => permit.valid_after,
            Authorization::Tempo(_) => Amount::ZERO,
        }
    }

    /// The first second at which it can no longer land.
    pub fn valid_before(&self) -> Amount {
        match self {
            Authorization::Eip3009(one, _) => one.valid_before,
            Authorization::Permit2(permit, _) => permit.ends_at(),
            Authorization::Tempo(order) => Amount::from_u64(order.payment.valid_before),
        }
    }

    /// What is signed. Errors: those of the domain; `typed_data_invalid` for a transaction, whose digest its signer makes.
    pub fn digest(&self) -> Result<[u8; 32], Error> {
        match self {
            Authorization::Eip3009(one, domain) => Ok(one.digest(domain)?.digest),
            Authorization::Permit2(permit, chain_id) => Ok(permit.digest(*chain_id).digest),
            Authorization::Tempo(_) => Err(Error::new(Code::TypedDataInvalid, "")),
        }
    }

    /// What this signature is of: [`Authorization::digest`], or what the sender of these very bytes signed. Errors: those of the digest; of
    /// a transaction `hex_invalid` and those of [`Transaction::decode`].
    pub fn digest_in(&self, signature: &str) -> Result<[u8; 32], Error> {
        match self {
            Authorization::Tempo(_) => Ok(Transaction::decode(&hex::decode(signature)?)?.digest),
            _ => self.digest(),
        }
    }

    /// What a signer outside is asked for: `{typedData, digest}`, the whole EIP-712 document, or `{transaction}`. Errors: those of
    /// the domain.
    pub fn to_sign(&self) -> Result<Json, Error> {
        let typed = |document: Json| {
            let digest = Json::text(hex::encode(self.digest()?));
            Ok(Json::object([("typedData", document), ("digest", digest)]))
        };
        match self {
            Authorization::Eip3009(one, domain) => typed(one.typed_data(domain)),
            Authorization::Permit2(permit, chain_id) => typed(permit.typed_data(*chain_id)),
            Authorization::Tempo(order) => Ok(Json::object([("transaction", order.request())])),
        }
    }

    /// The address that signed. Errors: `contract_signature`, `signature_invalid`; of a transaction those of [`Order::signer`].
    pub fn recover(&self, signature: &str) -> Result<Address, Error> {
        match self {
            Authorization::Eip3009(one, domain) => one.recover(domain, signature),
            Authorization::Permit2(permit, chain_id) => permit.recover(*chain_id, signature),
            Authorization::Tempo(order) => order.signer(signature),
        }
    }

    /// The same once it is signed so: a transaction is known by its hash from here on. Errors: those of [`Order::signed`].
    pub fn signed(self, signature: &str) -> Result<Authorization, Error> {
        match self {
            Authorization::Tempo(order) => Ok(Authorization::Tempo(Box::new(order.signed(signature)?))),
            other => Ok(other),
        }
    }

    /// Whether at most one of both can land. Transactions of Tempo share nothing on the chain: each has an end of its own.
    pub fn competes_with(&self, other: &Authorization) -> bool {
        match self {
            Authorization::Tempo(_) => self == other,
            _ => self.nonce() == other.nonce(),
        }
    }

    /// What is to be read of the chain about it: `{network, asset, payer, nonce, method?}`, and of a transaction `{recipient, validBefore,
    /// hash?}`. Error: `network_invalid`.
    pub fn target(&self) -> Result<Json, Error> {
        let method = self.method();
        let named = (method != Method::Eip3009).then(|| Json::text(method.as_str()));
        let target = Json::object([
            ("network", self.network()?.to_json()),
            ("asset", self.asset().to_json()),
            ("payer", self.from().to_json()),
            ("nonce", Json::text(self.nonce_text())),
        ])
        .with_some("method", named);
        Ok(match self {
            Authorization::Tempo(order) => target
                .with("recipient", self.to().to_json())
                .with("validBefore", Json::number(order.payment.valid_before))
                .with_some(
                    "hash",
                    order.payment.hash.map(|hash| Json::text(hex::encode(hash))),
                ),
            _ => target,
        })
    }

    /// Adds its members to a record: `authorization` or `permit2Authorization`, and `domain`; or `tempoPayment`.
    #[must_use]
    pub fn write(&self, record: Json) -> Json {
        match self {
            Authorization::Eip3009(one, domain) => record
                .with("authorization", one.to_json())
                .with("domain", domain.to_json()),
            Authorization::Permit2(permit, chain_id) => record
                .with("permit2Authorization", permit.to_json())
                .with("domain", Permit::domain_json(*chain_id)),
            Authorization::Tempo(order) => record.with("tempoPayment", order.to_json()),
        }
    }

    /// Reads the members that [`Authorization::write`] adds. Errors: those of the fields with their path, and `typed_data_invalid`
    /// at `domain` where a permit's is not that of Permit2.
    pub fn read(record: &Json) -> Result<Authorization, Error> {
        if let Some(order) = record.read_opt("tempoPayment", Order::from_json)? {
            return Ok(Authorization::Tempo(Box::new(order)));
        }
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
            Authorization::Eip3009(..) | Authorization::Tempo(_) => hex::encode(self.nonce()),
            Authorization::Permit2(permit, _) => Amount::from_be_bytes(permit.nonce).to_string(),
        }
    }
}
