//! A paid request as it comes in: the payment in its header, who signed it, and what it is for.
//!
//! The payer is whoever the signature recovers to, never a name in a header. A contract wallet's signature is asked of the
//! contract itself (ERC-1271); until it has answered, nothing is known about the payer.

use crate::address::Address;
use crate::digest;
use crate::eip3009::Authorization;
use crate::eip712::Domain;
use crate::erc1271::{self, Answer};
use crate::error::{Code, Error};
use crate::hex;
use crate::json::Json;
use crate::network::{Network, KNOWN_TOKENS};
use crate::quote;
use crate::secp256k1;
use crate::x402::payment_required::Offer;
use crate::x402::{payment_identifier, payment_payload};

/// Domain tag of the hash of a whole payment, signature included.
pub const PAYLOAD_TAG: &str = "counterfoil/payment/v1";
/// Domain tag of the id of a payment that carries none.
pub const SLOT_TAG: &str = "counterfoil/payment-slot/v1";

/// A payment whose payer is known.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Presented {
    /// The idempotency key: the client's payment id, or one made of payer and nonce.
    pub id: String,
    /// Whether the client chose the id. One made of payer and nonce can be rebuilt by whoever reads the chain.
    pub chosen: bool,
    /// Who signed.
    pub payer: Address,
    /// The chain.
    pub network: Network,
    /// The token.
    pub asset: Address,
    /// What was signed.
    pub authorization: Authorization,
    /// What is paid for.
    pub fingerprint: [u8; 32],
    /// The requirements that the payment answers, with the fingerprint.
    pub quote_hash: [u8; 32],
    /// Of the whole payment.
    pub payload_hash: [u8; 32],
}

/// What a header turned out to be.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Reading {
    /// The payer is known.
    Ready(Box<Presented>),
    /// Only the wallet contract can tell: call it, and read again with what it answered.
    Ask {
        /// Where.
        network: Network,
        /// The payer's contract.
        to: Address,
        /// The call.
        data: String,
    },
}

impl Reading {
    /// `{presented}` or `{ask: {network, to, data}}`.
    pub fn to_json(&self) -> Json {
        match self {
            Reading::Ready(presented) => Json::object([("presented", presented.to_json())]),
            Reading::Ask { network, to, data } => {
                let ask = Json::object([
                    ("network", network.to_json()),
                    ("to", to.to_json()),
                    ("data", Json::text(data.as_str())),
                ]);
                Json::object([("ask", ask)])
            }
        }
    }
}

/// Reads a payment header. `fingerprint` says what is paid for. `contract` is the wallet contract's answer to a question asked
/// before. Errors in this order: those of the header and the payment, `no_supported_payment_option` (no EIP-3009
/// authorization of a known kind), those of the requirements, `network_invalid`, `contract_signature` (a wallet that is not
/// deployed yet), `signer_mismatch`.
pub fn read(header: &str, fingerprint: &[u8; 32], contract: Option<&str>) -> Result<Reading, Error> {
    let payment = payment_payload::parse(header)?;
    let unsupported = || Error::new(Code::NoSupportedOption, "payload.authorization");
    let payload = payment.require("payload")?;
    let authorization = payload.get("authorization").ok_or_else(unsupported)?;
    let authorization =
        Authorization::from_json(authorization).map_err(|e| e.within("payload.authorization"))?;
    let signature = payload
        .read("signature", Json::as_str)
        .map_err(|e| e.within("payload"))?;
    let (candidates, requirements) = terms(&payment, &authorization)?;
    let digests = candidates
        .iter()
        .map(|(network, domain)| Ok((network, domain, authorization.digest(domain)?.digest)))
        .collect::<Result<Vec<_>, Error>>()?;

    let signed = digests.iter().find(|(_, _, digest)| {
        secp256k1::parse_signature(signature)
            .and_then(|signature| secp256k1::recover(digest, &signature))
            .is_ok_and(|signer| signer == authorization.from)
    });
    let (network, domain) = match (signed, digests.as_slice()) {
        (Some((network, domain, _)), _) => (*network, *domain),
        (None, [(network, domain, digest)]) => match contract {
            Some(answer) if erc1271::answer(answer) == Answer::Valid => (*network, *domain),
            Some(_) => return Err(Error::new(Code::SignerMismatch, "payload.signature")),
            None => return ask(network, &authorization.from, digest, signature),
        },
        (None, _) => return Err(Error::new(Code::SignerMismatch, "payload.signature")),
    };

    let asset = domain.verifying_contract;
    let requirements = requirements.unwrap_or_else(|| version_1(network, &asset, &authorization));
    let chosen = payment_identifier::extract(&payment);
    Ok(Reading::Ready(Box::new(Presented {
        id: match chosen {
            Some(id) => id.to_owned(),
            None => slot_id(network, &asset, &authorization)?,
        },
        chosen: chosen.is_some(),
        payer: authorization.from,
        network: network.clone(),
        asset,
        fingerprint: *fingerprint,
        quote_hash: quote::quote_hash(&requirements, fingerprint)?,
        payload_hash: digest::tagged(PAYLOAD_TAG, &payment)?,
        authorization,
    })))
}

/// The domains under which the authorization may have been signed, and the requirements where the payment repeats them.
/// Version 1 names no token: every known one of its network is tried, and at most one recovers to the payer.
#[allow(clippy::type_complexity)]
fn terms(
    payment: &Json,
    authorization: &Authorization,
) -> Result<(Vec<(Network, Domain)>, Option<Json>), Error> {
    if let Some(accepted) = payment.get("accepted") {
        let offer = Offer {
            requirements: accepted.clone(),
        };
        if offer.is_upto() {
            return Err(Error::new(Code::NoSupportedOption, "accepted.scheme"));
        }
        let terms = offer.terms().map_err(|error| error.within("accepted"))?;
        let domain = terms.domain().map_err(|error| error.within("accepted"))?.clone();
        // One authorization is settled here: taken as the whole of a split price, the rest would never be collected.
        if terms.shares.len() > 1 {
            return Err(Error::new(Code::SplitUnsupported, "accepted.extra.fee_split"));
        }
        let differs = |field: &str| Error::new(Code::PaymentPayloadInvalid, field);
        if authorization.to != terms.pay_to {
            return Err(differs("payload.authorization.to"));
        }
        if authorization.value != terms.amount {
            return Err(differs("payload.authorization.value"));
        }
        return Ok((vec![(terms.network, domain)], Some(accepted.clone())));
    }
    if payment.get("scheme") != Some(&Json::text("exact")) {
        return Err(Error::new(Code::NoSupportedOption, "scheme"));
    }
    let network = payment.read("network", |name| Network::from_v1_name(name.as_str()?))?;
    let known = KNOWN_TOKENS
        .iter()
        .filter(|token| token.network == network.as_str());
    let domains = known
        .map(|token| {
            let domain = Domain {
                name: token.name.to_owned(),
                version: token.version.to_owned(),
                chain_id: network
                    .chain_id()
                    .ok_or_else(|| Error::new(Code::NetworkInvalid, "network"))?,
                verifying_contract: Address::parse(token.asset)?,
            };
            Ok((network.clone(), domain))
        })
        .collect::<Result<Vec<_>, Error>>()?;
    match domains.is_empty() {
        true => Err(Error::new(Code::NoSupportedOption, "network")),
        false => Ok((domains, None)),
    }
}

/// What a version 1 payment says about its terms, which is what was signed.
fn version_1(network: &Network, asset: &Address, authorization: &Authorization) -> Json {
    Json::object([
        ("scheme", Json::text("exact")),
        ("network", network.to_json()),
        ("asset", asset.to_json()),
        ("payTo", authorization.to.to_json()),
        ("amount", authorization.value.to_json()),
    ])
}

fn slot_id(network: &Network, asset: &Address, authorization: &Authorization) -> Result<String, Error> {
    let slot = Json::object([
        ("asset", asset.to_json()),
        ("network", network.to_json()),
        ("nonce", Json::text(hex::encode(authorization.nonce))),
        ("payer", authorization.from.to_json()),
    ]);
    Ok(hex::encode(digest::tagged(SLOT_TAG, &slot)?).replacen("0x", "slot_", 1))
}

fn ask(network: &Network, to: &Address, digest: &[u8; 32], signature: &str) -> Result<Reading, Error> {
    match secp256k1::parse_signature(signature) {
        // The wrapper of a wallet that is not deployed yet: there is no contract to ask.
        Err(error) if error.code == Code::ContractSignature => return Err(error.within("payload.signature")),
        _ => {}
    }
    let data = erc1271::question(digest, signature).map_err(|error| error.within("payload.signature"))?;
    Ok(Reading::Ask {
        network: network.clone(),
        to: *to,
        data,
    })
}

impl Presented {
    /// Reads what [`Presented::to_json`] wrote.
    pub fn from_json(json: &Json) -> Result<Self, Error> {
        Ok(Presented {
            id: json.read("id", |id| {
                let id = id.as_string()?;
                match payment_identifier::is_valid(&id) {
                    true => Ok(id),
                    false => Err(Error::new(Code::PaymentIdInvalid, "")),
                }
            })?,
            chosen: json.read("chosen", Json::as_bool)?,
            payer: json.read("payer", Address::from_json)?,
            network: json.read("network", Network::from_json)?,
            asset: json.read("asset", Address::from_json)?,
            authorization: json.read("authorization", Authorization::from_json)?,
            fingerprint: json.read("fingerprint", Json::as_hex)?,
            quote_hash: json.read("quoteHash", Json::as_hex)?,
            payload_hash: json.read("payloadHash", Json::as_hex)?,
        })
    }

    /// `{id, chosen, payer, network, asset, authorization, fingerprint, quoteHash, payloadHash}`.
    pub fn to_json(&self) -> Json {
        Json::object([
            ("id", Json::text(self.id.as_str())),
            ("chosen", Json::Bool(self.chosen)),
            ("payer", self.payer.to_json()),
            ("network", self.network.to_json()),
            ("asset", self.asset.to_json()),
            ("authorization", self.authorization.to_json()),
            ("fingerprint", Json::text(hex::encode(self.fingerprint))),
            ("quoteHash", Json::text(hex::encode(self.quote_hash))),
            ("payloadHash", Json::text(hex::encode(self.payload_hash))),
        ])
    }
}
