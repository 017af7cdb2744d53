//! A one-time charge: what a challenge of intent `charge` demands, and what ties a transfer on the chain to it.

use alloy_primitives::keccak256;

use super::challenge::Challenge;
use super::tempo;
use crate::address::Address;
use crate::amount::Amount;
use crate::authorization::Method;
use crate::eip712::Domain;
use crate::error::{Code, Error};
use crate::json::Json;
use crate::network::{known_token, Network};
use crate::time::Seconds;
use crate::x402::payment_required::{Dictated, Share, Signing, Terms};

/// The intent of a charge.
pub const INTENT: &str = "charge";
/// The method of tokens on EVM networks.
pub const EVM: &str = "evm";
/// The method of the Tempo network.
pub const TEMPO: &str = "tempo";
/// The credential that is an EIP-3009 authorization.
const AUTHORIZATION_CREDENTIAL: &str = "authorization";
/// The chain that a challenge of method `tempo` means when it names none.
const TEMPO_CHAIN: u64 = 42_431;
/// How long a transaction on Tempo is good for at most, as with the official client: the chain takes those of the expiring lane up to 30
/// seconds ahead, or 300, depending on its version.
const TEMPO_WINDOW: Seconds = 25;
/// Version of the memo.
const VERSION: u8 = 1;
/// Recipients besides the main one, at most.
const MAX_SPLITS: usize = 10;

/// One share of a charge that goes to somebody else.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Split {
    /// Atomic units.
    pub amount: Amount,
    /// Who gets them.
    pub recipient: Address,
}

/// What is charged.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Charge {
    /// Atomic units, splits included.
    pub amount: Amount,
    /// The token.
    pub currency: Address,
    /// Who is paid.
    pub recipient: Option<Address>,
    /// The service's own name of the purchase.
    pub external_id: Option<String>,
    /// EIP-155 chain id.
    pub chain_id: u64,
    /// `methodDetails`, verbatim.
    pub details: Json,
    /// Shares that go to others; less in sum than the amount.
    pub splits: Vec<Split>,
}

impl Charge {
    /// Reads what a challenge demands. Errors: `no_supported_payment_option` at `method` or `intent` for any but a charge on `evm` or
    /// `tempo`, those of the request's text, then below `request` those of the members and `challenge_invalid` for a member
    /// that is missing or of another type, for more than ten splits and for splits that leave nothing.
    pub fn read(challenge: &Challenge) -> Result<Charge, Error> {
        let unsupported = |field: &str| Error::new(Code::NoSupportedOption, field);
        let fallback = match challenge.method.as_str() {
            EVM => None,
            TEMPO => Some(TEMPO_CHAIN),
            _ => return Err(unsupported("method")),
        };
        if challenge.intent != INTENT {
            return Err(unsupported("intent"));
        }
        let shape = |error: Error| match error.code {
            Code::InvalidType | Code::MissingField | Code::NumberOutOfRange => {
                error.with_code(Code::ChallengeInvalid)
            }
            _ => error,
        };
        Charge::members(&challenge.terms()?, fallback).map_err(|error| shape(error).within("request"))
    }

    fn members(json: &Json, fallback: Option<u64>) -> Result<Charge, Error> {
        let empty = Json::object([]);
        let details = json.get("methodDetails").unwrap_or(&empty).clone();
        let below = |error: Error| error.within("methodDetails");
        let split = |split: &Json| {
            Ok(Split {
                amount: split.read("amount", Amount::from_json)?,
                recipient: split.read("recipient", Address::from_json)?,
            })
        };
        let amount = json.read("amount", Amount::from_json)?;
        let currency = json.read("currency", Address::from_json)?;
        let recipient = json.read_opt("recipient", Address::from_json)?;
        let external_id = json.read_opt("externalId", Json::as_string)?;
        let named = details.read_opt("chainId", Json::as_u64).map_err(below)?;
        let chain_id = named.or(fallback);
        let splits = details
            .read_opt("splits", |splits| splits.as_list(split))
            .map_err(below)?
            .unwrap_or_default();
        let shared = splits
            .iter()
            .try_fold(Amount::ZERO, |sum, split| sum.checked_add(split.amount));
        let leaves = splits.is_empty() || shared.is_some_and(|shared| shared < amount);
        if splits.len() > MAX_SPLITS || !leaves {
            return Err(Error::new(Code::ChallengeInvalid, "methodDetails.splits"));
        }
        Ok(Charge {
            amount,
            currency,
            recipient,
            external_id,
            chain_id: chain_id
                .filter(|id| *id > 0)
                .ok_or_else(|| Error::new(Code::ChallengeInvalid, "methodDetails.chainId"))?,
            details,
            splits,
        })
    }

    /// The rail of a charge, and how it is paid there; `None` for a challenge that is none.
    pub fn rail(challenge: &Challenge) -> Option<(Method, (Network, Address))> {
        let charge = Charge::read(challenge).ok()?;
        let method = match challenge.method.as_str() {
            TEMPO => Method::Tempo,
            _ => Method::Eip3009,
        };
        Some((method, (charge.network().ok()?, charge.currency)))
    }

    /// The terms of a charge. Errors in this order: those of [`Charge::read`]; on `evm`, where an EIP-3009 authorization pays one recipient
    /// in a token whose domain is known, for the challenge names none, `no_supported_payment_option` (splits, another credential
    /// type), `challenge_invalid` (no recipient), `network_invalid`, `unknown_asset`; on `tempo`, where a transaction pays, below `request`
    /// those of [`tempo::read`] about the charge, `no_supported_payment_option` (a dictated memo, no mode `pull`), then `network_invalid`.
    pub fn terms(challenge: &Challenge) -> Result<Terms, Error> {
        let charge = Charge::read(challenge)?;
        match challenge.method.as_str() {
            TEMPO => charge.tempo_terms(challenge),
            _ => charge.evm_terms(challenge),
        }
    }

    fn tempo_terms(self, challenge: &Challenge) -> Result<Terms, Error> {
        let due = tempo::due(challenge, &self).map_err(|error| error.within("request"))?;
        let shares = core::iter::once(&due.primary).chain(&due.splits);
        let shares = shares.map(|one| Share {
            to: one.to,
            amount: one.amount,
        });
        Ok(Terms {
            network: self.network()?,
            asset: self.currency,
            pay_to: due.primary.to,
            shares: shares.collect(),
            amount: self.amount,
            fee: Amount::ZERO,
            max_timeout: TEMPO_WINDOW,
            dictated: Some(Dictated {
                nonce: due.memo,
                expires: challenge.expires_at(),
            }),
            signing: Signing::Tempo(Box::new(due)),
        })
    }

    fn evm_terms(self, challenge: &Challenge) -> Result<Terms, Error> {
        let charge = self;
        let unsupported = |field: &str| Error::new(Code::NoSupportedOption, field);
        if !charge.splits.is_empty() {
            return Err(unsupported("request.methodDetails.splits"));
        }
        let kinds = charge.details.get("credentialTypes").map(Json::as_array);
        let accepted =
            matches!(kinds, Some(Ok(kinds)) if kinds.contains(&Json::text(AUTHORIZATION_CREDENTIAL)));
        if !accepted {
            return Err(unsupported("request.methodDetails.credentialTypes"));
        }
        let pay_to = charge
            .recipient
            .ok_or_else(|| Error::new(Code::ChallengeInvalid, "request.recipient"))?;
        let network = charge.network()?;
        let token = known_token(&network, &charge.currency)
            .ok_or_else(|| Error::new(Code::UnknownAsset, "request.currency"))?;
        Ok(Terms {
            network,
            asset: charge.currency,
            pay_to,
            shares: vec![Share {
                to: pay_to,
                amount: charge.amount,
            }],
            amount: charge.amount,
            fee: Amount::ZERO,
            max_timeout: u64::MAX,
            signing: Signing::Eip3009(Domain {
                name: token.name.to_owned(),
                version: token.version.to_owned(),
                chain_id: charge.chain_id,
                verifying_contract: charge.currency,
            }),
            dictated: Some(Dictated {
                nonce: challenge.nonce(),
                expires: challenge.expires_at(),
            }),
        })
    }

    /// The network that is paid on. Error: `network_invalid`.
    pub fn network(&self) -> Result<Network, Error> {
        Network::parse(&format!("eip155:{}", self.chain_id))
    }
}

/// The memo that ties a transfer on Tempo to the challenge it pays, where the challenge dictates none: the scheme's mark, version
/// 1, ten bytes of the realm's hash, ten of the client's id or zeros, and the [`tail`].
pub fn memo(challenge: &Challenge, client_id: Option<&str>) -> [u8; 32] {
    let client = client_id.map_or([0; 32], |id| keccak256(id).0);
    let [mark, realm] = ["mpp", challenge.realm.as_str()].map(|text| keccak256(text).0);
    let bytes = first::<4>(&mark)
        .into_iter()
        .chain([VERSION])
        .chain(first::<10>(&realm))
        .chain(first::<10>(&client))
        .chain(tail(&challenge.id));
    let mut memo = [0; 32];
    memo.iter_mut().zip(bytes).for_each(|(at, byte)| *at = byte);
    memo
}

/// The last seven bytes of a memo: who reads the chain finds the challenge by them.
pub fn tail(challenge_id: &str) -> [u8; 7] {
    first(&keccak256(challenge_id).0)
}

fn first<const N: usize>(hash: &[u8; 32]) -> [u8; N] {
    hash.first_chunk::<N>().copied().unwrap_or([0; N])
}
