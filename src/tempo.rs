//! A signed Tempo transaction (type `0x76`), read back from its bytes.
//!
//! RLP of `chainId, maxPriorityFeePerGas, maxFeePerGas, gas, calls, accessList, nonceKey, nonce, validBefore, validAfter, feeToken,
//! feePayer, authorizationList, keyAuthorization?, signature`, behind one byte of type. Its hash is known before it is sent only when
//! the payer pays the fee: a sponsor puts fee token and signature in afterwards, which the payer's signature leaves open.

mod order;
mod payment;

use alloy_primitives::keccak256;

use crate::address::Address;
use crate::amount::Amount;
use crate::error::{Code, Error};
use crate::hex;
use crate::json::Json;
use crate::rlp;
use crate::secp256k1;
use crate::time::Seconds;

pub use order::{Due, Order};
pub use payment::{Payment, Transfer};

/// Largest transaction read, in bytes.
const MAX_TRANSACTION: usize = 64 << 10;
/// The type of a transaction.
const TYPE: u8 = 0x76;
/// The type that a transaction has on its way to a sponsor; it names the sender where the sponsor's signature goes.
const TO_SPONSOR: u8 = 0x78;
/// The lane of nonces that are good until `validBefore` and never after.
pub const EXPIRING: [u8; 32] = [0xff; 32];
/// Items that the sender signs, before the key authorization.
const SIGNED: usize = 13;

/// One call of a transaction.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Call {
    /// The contract; `None` creates one.
    pub to: Option<Address>,
    /// Of the native coin.
    pub value: Amount,
    /// Call data.
    pub input: Vec<u8>,
}

/// A signed transaction.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Transaction {
    /// EIP-155 chain id.
    pub chain_id: u64,
    /// At most this much for one unit of gas.
    pub max_fee_per_gas: Amount,
    /// At most this much gas.
    pub gas: u64,
    /// All of them happen or none.
    pub calls: Vec<Call>,
    /// The lane of the nonce.
    pub nonce_key: Amount,
    /// The nonce in its lane.
    pub nonce: u64,
    /// It lands in a block before this time only.
    pub valid_before: Option<Seconds>,
    /// It lands in a block after this time only.
    pub valid_after: Option<Seconds>,
    /// The token of the fee; of a sponsored one the sponsor's choice.
    pub fee_token: Option<Address>,
    /// Whether somebody else than the sender pays the fee.
    pub sponsored: bool,
    /// Whether it hands out power over the account as well: an authorization list or a key authorization.
    pub delegates: bool,
    /// The sender's signature, as it came.
    pub signature: Vec<u8>,
    /// Who signed it; `None` when not by a plain secp256k1 key.
    pub sender: Option<Address>,
    /// What the sender signed.
    pub digest: [u8; 32],
    /// The hash under which it lands; `None` when it is sponsored.
    pub hash: Option<[u8; 32]>,
}

impl Transaction {
    /// Reads the serialized bytes. Errors in this order: `too_large`, then `transaction_invalid` at the member at fault, or at the whole
    /// for bytes that are not one list of the right length behind a known type. There is exactly one encoding of every member; a
    /// plain signature has `v` 27 or 28 and a low `s`.
    pub fn decode(bytes: &[u8]) -> Result<Transaction, Error> {
        if bytes.len() > MAX_TRANSACTION {
            return Err(Error::new(Code::TooLarge, ""));
        }
        let (kind, list) = bytes
            .split_first()
            .filter(|(kind, _)| [TYPE, TO_SPONSOR].contains(*kind))
            .ok_or_else(|| invalid(""))?;
        let items = rlp::items(list).ok_or_else(|| invalid(""))?;
        let [chain_id, priority, fee, gas, calls, access, key, nonce, before, after, token, payer, authorizations, rest @ ..] =
            items.as_slice()
        else {
            return Err(invalid(""));
        };
        let (key_authorization, signature) = match rest {
            [signature] => (None, signature),
            [authorization, signature] => (Some(authorization), signature),
            _ => return Err(invalid("")),
        };
        let at = |field: &'static str| move || invalid(field);
        let chain_id = rlp::number(chain_id)
            .filter(|id| *id > 0)
            .ok_or_else(at("chainId"))?;
        amount(priority).ok_or_else(at("maxPriorityFeePerGas"))?;
        let max_fee_per_gas = amount(fee).ok_or_else(at("maxFeePerGas"))?;
        let gas = rlp::number(gas).ok_or_else(at("gas"))?;
        let calls = rlp::items(calls)
            .and_then(|calls| calls.into_iter().map(call).collect::<Option<Vec<_>>>())
            .filter(|calls| !calls.is_empty())
            .ok_or_else(at("calls"))?;
        rlp::items(access)
            .filter(|entries| entries.iter().all(|entry| is_access(entry)))
            .ok_or_else(at("accessList"))?;
        let nonce_key = amount(key).ok_or_else(at("nonceKey"))?;
        let nonce = rlp::number(nonce).ok_or_else(at("nonce"))?;
        let valid_before = time(before).ok_or_else(at("validBefore"))?;
        let valid_after = time(after).ok_or_else(at("validAfter"))?;
        if let (Some(before), Some(after)) = (valid_before, valid_after) {
            if before <= after {
                return Err(invalid("validBefore"));
            }
        }
        let fee_token = address(token).ok_or_else(at("feeToken"))?;
        let sponsor = Sponsor::read(*kind, payer).ok_or_else(at("feePayer"))?;
        let authorizations = rlp::items(authorizations).ok_or_else(at("authorizationList"))?;
        if let Some(authorization) = key_authorization {
            rlp::items(authorization).ok_or_else(at("keyAuthorization"))?;
        }
        let signature = rlp::string(signature)
            .filter(|bytes| !bytes.is_empty())
            .ok_or_else(at("signature"))?;
        let digest = digest(&items, sponsor != Sponsor::None);
        let sender = match <[u8; 65]>::try_from(signature) {
            Err(_) => None,
            Ok(plain) if plain.last() < Some(&27) => return Err(invalid("signature")),
            Ok(plain) => Some(secp256k1::recover(&digest, &plain).map_err(|_| invalid("signature"))?),
        };
        if matches!((sponsor, sender), (Sponsor::Asked(Some(named)), Some(sender)) if named != sender) {
            return Err(invalid("feePayer"));
        }
        Ok(Transaction {
            chain_id,
            max_fee_per_gas,
            gas,
            calls,
            nonce_key,
            nonce,
            valid_before,
            valid_after,
            fee_token,
            sponsored: sponsor != Sponsor::None,
            delegates: !authorizations.is_empty() || key_authorization.is_some(),
            signature: signature.to_vec(),
            sender,
            digest,
            hash: (sponsor == Sponsor::None).then(|| keccak256(bytes).0),
        })
    }

    /// Reads a 0x text. Errors: `hex_invalid`, those of [`Transaction::decode`].
    pub fn from_json(json: &Json) -> Result<Transaction, Error> {
        Transaction::decode(&hex::decode(json.as_str()?)?)
    }

    /// `{chainId, calls: [{to?, value, input}], nonceKey, nonce, validBefore?, validAfter?, feeToken?, gas, maxFeePerGas, sponsored,
    /// delegates, signature, sender?, hash?}`, the nonce a text.
    pub fn to_json(&self) -> Json {
        let call = |call: &Call| {
            Json::object([
                ("value", call.value.to_json()),
                ("input", Json::text(hex::encode(&call.input))),
            ])
            .with_some("to", call.to.map(|to| to.to_json()))
        };
        Json::object([
            ("chainId", Json::number(self.chain_id)),
            ("calls", Json::Array(self.calls.iter().map(call).collect())),
            ("nonceKey", self.nonce_key.to_json()),
            ("nonce", Json::text(self.nonce.to_string())),
            ("gas", Json::text(self.gas.to_string())),
            ("maxFeePerGas", self.max_fee_per_gas.to_json()),
            ("sponsored", Json::Bool(self.sponsored)),
            ("delegates", Json::Bool(self.delegates)),
            ("signature", Json::text(hex::encode(&self.signature))),
        ])
        .with_some("validBefore", self.valid_before.map(Json::number))
        .with_some("validAfter", self.valid_after.map(Json::number))
        .with_some("feeToken", self.fee_token.map(|token| token.to_json()))
        .with_some("sender", self.sender.map(|sender| sender.to_json()))
        .with_some("hash", self.hash.map(|hash| Json::text(hex::encode(hash))))
    }
}

/// What stands in the place of the sponsor's signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sponsor {
    None,
    /// A sponsor is still to sign; on the way to one the sender is named.
    Asked(Option<Address>),
    Signed,
}

impl Sponsor {
    fn read(kind: u8, item: &[u8]) -> Option<Sponsor> {
        if let Some(parts) = rlp::items(item) {
            let [parity, r, s] = parts.as_slice() else {
                return None;
            };
            let whole = rlp::number(parity)? < 2 && amount(r).is_some() && amount(s).is_some();
            return (kind == TYPE && whole).then_some(Sponsor::Signed);
        }
        match (kind, rlp::string(item)?) {
            (TYPE, []) => Some(Sponsor::None),
            (TYPE, [0]) => Some(Sponsor::Asked(None)),
            (TO_SPONSOR, named) => Some(Sponsor::Asked(Some(Address(named.try_into().ok()?)))),
            _ => None,
        }
    }
}

/// What the sender signs: everything before the signature. With a sponsor the fee token is left open and one zero byte stands for
/// the sponsor.
fn digest(items: &[&[u8]], sponsored: bool) -> [u8; 32] {
    let signed: Vec<Vec<u8>> = items
        .iter()
        .take(items.len().saturating_sub(1).max(SIGNED))
        .enumerate()
        .map(|(at, item)| match at {
            10 if sponsored => rlp::encode(&[]),
            11 if sponsored => rlp::encode(&[0]),
            _ => item.to_vec(),
        })
        .collect();
    keccak256([&[TYPE], rlp::list(&signed).as_slice()].concat()).0
}

fn invalid(field: &str) -> Error {
    Error::new(Code::TransactionInvalid, field)
}

fn amount(item: &[u8]) -> Option<Amount> {
    rlp::word(item).map(Amount::from_be_bytes)
}

/// A time, or nothing; zero is written as nothing and means it.
fn time(item: &[u8]) -> Option<Option<Seconds>> {
    let time = rlp::number(item)?;
    (time < 1 << 53).then_some(Some(time).filter(|time| *time > 0))
}

/// An address, or nothing.
fn address(item: &[u8]) -> Option<Option<Address>> {
    match rlp::string(item)? {
        [] => Some(None),
        bytes => Some(Some(Address(bytes.try_into().ok()?))),
    }
}

/// An address and the words of its storage.
fn is_access(item: &[u8]) -> bool {
    let [of, slots] = rlp::items(item).unwrap_or_default()[..] else {
        return false;
    };
    let words = |slots: Vec<&[u8]>| slots.into_iter().all(|slot| rlp::array::<32>(slot).is_some());
    rlp::array::<20>(of).is_some() && rlp::items(slots).is_some_and(words)
}

fn call(item: &[u8]) -> Option<Call> {
    let items = rlp::items(item)?;
    let [to, value, input] = items.as_slice() else {
        return None;
    };
    Some(Call {
        to: address(to)?,
        value: amount(value)?,
        input: rlp::string(input)?.to_vec(),
    })
}
