//! A claim: the payer's signed word that a request was paid for and its answer never came, with what shows the payment.
//!
//! One JSON object with exactly one text, RFC 8785. The payer signs the EIP-712 message `Claim(address payer,string
//! intentId,bytes32 quoteHash,string statement,bytes32 body)` in the domain `{name: "counterfoil claim", version: "1", chainId}`;
//! `body` is the digest of the whole object without its signature. docs/formats.md has it member by member.

mod agreement;
mod statement;
mod timeline;
mod transfer;

pub use statement::Statement;
pub use timeline::{Event, What};
pub use transfer::{Signed, Transfer};

use alloy_primitives::keccak256;

use crate::address::Address;
use crate::amount::Amount;
use crate::attempt::MAX_PARTS;
use crate::authorization::Method;
use crate::digest;
use crate::eip712;
use crate::error::{Code, Error};
use crate::fingerprint::Request;
use crate::hex;
use crate::json::{self, Json};
use crate::mpp::challenge::Challenge;
use crate::mpp::charge::Charge;
use crate::network::Network;
use crate::quote::Protocol;
use crate::secp256k1;
use crate::time::Seconds;
use crate::x402::payment_required::{Offer, Terms};

/// The kind of document.
pub const TYPE: &str = "counterfoil/claim";
/// Domain tag of what is signed.
pub const TAG: &str = "counterfoil/claim/v1";
/// Domain tag of the hash that stands for the payment id.
pub const PAYMENT_ID_TAG: &str = "counterfoil/claim-payment-id/v1";
/// What the payer says, and sees when asked to sign.
pub const STATEMENT: &str = "I paid for this request as shown and have not received its answer.";

const DOMAIN_NAME: &str = "counterfoil claim";
const DOMAIN_VERSION: &str = "1";

/// A claim without its signature.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Claim {
    /// When it was made, by the payer's clock.
    pub at: Seconds,
    /// The intent.
    pub intent_id: String,
    /// What was asked for.
    pub request: Request,
    /// The request's digest, as the claim names it.
    pub fingerprint: [u8; 32],
    /// [`crate::quote::quote_hash`] of the offer that was paid.
    pub quote_hash: [u8; 32],
    /// That offer as it came.
    pub requirements: Json,
    /// What carried the payment.
    pub protocol: Protocol,
    /// How the token was moved.
    pub method: Method,
    /// Who paid.
    pub payer: Address,
    /// The token.
    pub asset: Address,
    /// The chain.
    pub network: Network,
    /// The transfer that paid; of a split payment the first.
    pub first: Transfer,
    /// The further transfers of a split payment.
    pub parts: Vec<Transfer>,
    /// Generation of the nonce.
    pub generation: u64,
    /// The nonce is keyed with the payer's secret and can't be derived from the intent alone.
    pub keyed: bool,
    /// [`payment_id_hash`], where the payment had an id.
    pub payment_id_hash: Option<[u8; 32]>,
    /// The payment was only seen in a block that can still be replaced; `final: false` in the file.
    pub provisional: bool,
    /// What the seller said about the settlement, as it came.
    pub settlement: Option<String>,
    /// The `Payment-Receipt` of the Payment scheme, as it came.
    pub receipt: Option<String>,
    /// SHA-256 of the answer, where it is known which answer is missing.
    pub response_sha256: Option<[u8; 32]>,
    /// What happened, in order.
    pub timeline: Vec<Event>,
    /// What the payer says.
    pub statement: Statement,
}

/// What stands for a payment id in a claim: a hash. Whoever holds the id, as the seller does, can check it; whoever reads the
/// claim does not learn the id. Error: `number_out_of_range`, never for a text.
pub fn payment_id_hash(id: &str) -> Result<[u8; 32], Error> {
    digest::tagged(PAYMENT_ID_TAG, &Json::object([("paymentId", Json::text(id))]))
}

/// Keccak-256 of the exact bytes of a file: what a feedback or a validation on chain points at.
pub fn file_hash(text: &str) -> [u8; 32] {
    keccak256(text).0
}

fn invalid(field: &str) -> Error {
    Error::new(Code::ReceiptInvalid, field)
}

fn encoded(bytes: &[u8; 32]) -> Json {
    Json::text(hex::encode(bytes))
}

impl Claim {
    /// Reads a claim and its signature. Errors: `receipt_invalid` (another type, a member that is not known or not in its one form),
    /// `unsupported_version`, those of the fields with their path.
    pub fn from_json(file: &Json) -> Result<(Claim, String), Error> {
        if file.read("type", Json::as_str)? != TYPE {
            return Err(invalid("type"));
        }
        if !matches!(file.read("v", Json::as_u64)?, 1 | 2) {
            return Err(Error::new(Code::UnsupportedVersion, "v"));
        }
        let claim = Claim::unsigned(file)?;
        let signature = file.read("signature", Json::as_string)?;
        // One claim has one text: nothing stands in it that is not read, and nothing in two forms.
        let whole = claim.file(&signature)?;
        let given = file.to_canonical()?;
        (whole == given).then_some((claim, signature)).ok_or(invalid(""))
    }

    /// Reads the members beside type, version and signature. Errors: those of the fields with their path.
    pub fn unsigned(json: &Json) -> Result<Claim, Error> {
        let method = json
            .read_opt("method", Method::from_json)?
            .unwrap_or(Method::Eip3009);
        let parts = json.read_opt("parts", |list| {
            list.as_list(|part| Transfer::from_json(part, method))
        })?;
        let parts = parts.unwrap_or_default();
        if parts.len() >= MAX_PARTS {
            return Err(invalid("parts"));
        }
        Ok(Claim {
            at: json.read("at", Json::as_u64)?,
            intent_id: json.read("intentId", Json::as_string)?,
            request: json.read("request", Request::from_json)?,
            fingerprint: json.read("request", |request| request.read("fingerprint", Json::as_hex))?,
            quote_hash: json.read("quoteHash", Json::as_hex)?,
            requirements: json.require("requirements")?.clone(),
            protocol: json
                .read_opt("protocol", Protocol::from_json)?
                .unwrap_or(Protocol::X402),
            method,
            payer: json.read("payer", Address::from_json)?,
            first: Transfer::from_json(json, method)?,
            parts,
            asset: json.read("asset", Address::from_json)?,
            network: json.read("network", |name| {
                Network::from_json(name).and_then(|network| {
                    network
                        .chain_id()
                        .map(|_| network)
                        .ok_or_else(|| Error::new(Code::NetworkInvalid, ""))
                })
            })?,
            generation: json.read("generation", Json::as_u64)?,
            keyed: json.read("keyed", Json::as_bool)?,
            payment_id_hash: json.read_opt("paymentIdHash", Json::as_hex)?,
            provisional: json.read_opt("final", Json::as_bool)? == Some(false),
            settlement: json.read_opt("settlement", Json::as_string)?,
            receipt: json.read_opt("receipt", Json::as_string)?,
            response_sha256: json.read_opt("responseSha256", Json::as_hex)?,
            timeline: json.read("timeline", |list| list.as_list(Event::from_json))?,
            statement: json.read("statement", Statement::from_json)?,
        })
    }

    /// Who knows version 1 alone must not take what is of another rail, or the first of several transfers, for all of it.
    fn version(&self) -> u64 {
        let first = (Protocol::X402, Method::Eip3009);
        match (self.protocol, self.method) == first && self.parts.is_empty() && self.receipt.is_none() {
            true => 1,
            false => 2,
        }
    }

    /// The object that is hashed. `proof_of_payment` has the four keys under which feedback files of ERC-8004 name a payment.
    pub fn to_json(&self) -> Json {
        let request = self
            .request
            .to_json()
            .with("fingerprint", encoded(&self.fingerprint));
        let parts = self
            .parts
            .iter()
            .map(|part| part.write(Json::object([]), self.method));
        let parts = (!self.parts.is_empty()).then(|| Json::Array(parts.collect()));
        let of_mpp = self.protocol == Protocol::Mpp;
        let named = self.method != Method::Eip3009;
        let whole = Json::object([
            ("type", Json::text(TYPE)),
            ("v", Json::number(self.version())),
            ("at", Json::number(self.at)),
            ("intentId", Json::text(self.intent_id.as_str())),
            ("request", request),
            ("quoteHash", encoded(&self.quote_hash)),
            ("requirements", self.requirements.clone()),
            ("payer", self.payer.to_json()),
            ("asset", self.asset.to_json()),
            ("network", self.network.to_json()),
            ("generation", Json::number(self.generation)),
            ("keyed", Json::Bool(self.keyed)),
            (
                "responseSha256",
                self.response_sha256.as_ref().map_or(Json::Null, encoded),
            ),
            (
                "timeline",
                Json::Array(self.timeline.iter().map(Event::to_json).collect()),
            ),
            ("statement", self.statement.to_json()),
        ]);
        self.first
            .write(whole, self.method)
            .with_some("protocol", of_mpp.then(|| Json::text(self.protocol.as_str())))
            .with_some("method", named.then(|| Json::text(self.method.as_str())))
            .with_some("parts", parts)
            .with_some("paymentIdHash", self.payment_id_hash.as_ref().map(encoded))
            .with_some("final", self.provisional.then_some(Json::Bool(false)))
            .with_some("settlement", self.settlement.as_deref().map(Json::text))
            .with_some("receipt", self.receipt.as_deref().map(Json::text))
            .with_some("proof_of_payment", self.proof_of_payment())
    }

    fn proof_of_payment(&self) -> Option<Json> {
        let chain_id = self.network.chain_id()?;
        Some(Json::object([
            ("fromAddress", self.payer.to_json()),
            ("toAddress", self.first.pay_to.to_json()),
            ("chainId", Json::text(chain_id.to_string())),
            ("txHash", Json::text(self.first.transaction.as_deref()?)),
        ]))
    }

    /// Every transfer of the payment, in the order of the offer's shares.
    pub fn transfers(&self) -> impl Iterator<Item = &Transfer> {
        core::iter::once(&self.first).chain(&self.parts)
    }

    /// What moved in all. A sum that overflows is the largest number there is.
    pub fn total(&self) -> Amount {
        self.transfers()
            .map(|one| one.amount)
            .fold(Amount::ZERO, Amount::saturating_add)
    }

    /// The challenge that was paid, where it was one. Errors: those of the challenge.
    pub fn challenge(&self) -> Result<Option<Challenge>, Error> {
        match self.protocol {
            Protocol::X402 => Ok(None),
            Protocol::Mpp => Challenge::from_json(&self.requirements).map(Some),
        }
    }

    /// What the offer demands. Errors: those of the offer or the challenge.
    pub fn terms(&self) -> Result<Terms, Error> {
        match self.challenge()? {
            Some(challenge) => Charge::terms(&challenge),
            None => {
                let requirements = self.requirements.clone();
                Offer { requirements }.terms()
            }
        }
    }

    /// The exact text of the file with this signature.
    pub fn file(&self, signature: &str) -> Result<String, Error> {
        self.to_json()
            .with("signature", Json::text(signature))
            .to_canonical()
    }

    /// The member `body` of what is signed: the tag, a line feed, and the text of the object without its signature.
    pub fn body(&self) -> Result<[u8; 32], Error> {
        digest::tagged(TAG, &self.to_json())
    }

    /// The EIP-712 digest that the payer signs. Error: `network_invalid`.
    pub fn digest(&self) -> Result<[u8; 32], Error> {
        match self.network.chain_id() {
            Some(_) => eip712::hash_typed_data(&self.typed_data()?),
            None => Err(Error::new(Code::NetworkInvalid, "network")),
        }
    }

    /// The whole EIP-712 document, for signers outside.
    pub fn typed_data(&self) -> Result<Json, Error> {
        let domain_type = [("name", "string"), ("version", "string"), ("chainId", "uint256")];
        let own = eip712::fields(&[
            ("payer", "address"),
            ("intentId", "string"),
            ("quoteHash", "bytes32"),
            ("statement", "string"),
            ("body", "bytes32"),
        ]);
        let types = Json::object([("EIP712Domain", eip712::fields(&domain_type)), ("Claim", own)]);
        let domain = Json::object([
            ("name", Json::text(DOMAIN_NAME)),
            ("version", Json::text(DOMAIN_VERSION)),
        ])
        .with_some("chainId", self.network.chain_id().map(Json::number));
        let message = Json::object([
            ("payer", self.payer.to_json()),
            ("intentId", Json::text(self.intent_id.as_str())),
            ("quoteHash", encoded(&self.quote_hash)),
            ("statement", Json::text(STATEMENT)),
            ("body", encoded(&self.body()?)),
        ]);
        Ok(eip712::document(domain, types, "Claim", message))
    }

    /// Who signed it. Errors: `contract_signature`, `signature_invalid`, those of [`Claim::digest`].
    pub fn recover(&self, signature: &str) -> Result<Address, Error> {
        let signature = secp256k1::parse_signature(signature)?;
        secp256k1::recover(&self.digest()?, &signature)
    }
}

/// Reads the text of a claim. Errors: those of the JSON reader and of [`Claim::from_json`].
pub fn parse(text: &str) -> Result<(Claim, String), Error> {
    Claim::from_json(&json::parse(text)?)
}
