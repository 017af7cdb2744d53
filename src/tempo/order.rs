//! A payment that the payer orders from its signer: everything that decides about money is fixed before, and the signed bytes are
//! held against it before they are used.
//!
//! The signer adds gas and gas prices, which the cap on the fee bounds, and the signature. Tempo counts gas in 10^-18 dollars and takes
//! the fee in a token of six decimals, rounded up.

use alloy_primitives::U256;

use super::{Call, Payment, Transaction, Transfer, EXPIRING};
use crate::address::Address;
use crate::amount::Amount;
use crate::error::{Code, Error};
use crate::hex;
use crate::json::Json;
use crate::time::Seconds;

/// 10^-18 dollars in one atomic unit of a fee token.
const PRICES_IN_UNIT: u64 = 1_000_000_000_000;

/// What a charge is due: the transfers of one transaction.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Due {
    /// To the recipient, net of the splits, with the memo.
    pub primary: Transfer,
    /// That memo.
    pub memo: [u8; 32],
    /// To the others, in the order of the challenge.
    pub splits: Vec<Transfer>,
    /// Whether the service pays the fee.
    pub sponsored: bool,
}

/// One transaction as it is to be signed, or was.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Order {
    /// What it pays. The hash is there once it is signed, of one that nobody sponsors.
    pub payment: Payment,
    /// Whether the service pays the fee.
    pub sponsored: bool,
    /// The most that the payer pays for its inclusion, in atomic units of the fee token.
    pub max_fee: Amount,
}

impl Order {
    /// What these dues make of a payer, a token and a window.
    pub fn new(
        due: &Due,
        payer: Address,
        (chain_id, currency): (u64, Address),
        valid_before: Seconds,
        max_fee: Amount,
    ) -> Order {
        Order {
            payment: Payment {
                chain_id,
                currency,
                payer,
                primary: due.primary.clone(),
                memo: due.memo,
                dictated: false,
                splits: due.splits.clone(),
                valid_before,
                hash: None,
            },
            sponsored: due.sponsored,
            max_fee: match due.sponsored {
                true => Amount::ZERO,
                false => max_fee,
            },
        }
    }

    fn transfers(&self) -> impl Iterator<Item = &Transfer> {
        core::iter::once(&self.payment.primary).chain(&self.payment.splits)
    }

    /// Atomic units of the token, all transfers together. A sum that overflows is the largest number there is.
    pub fn amount(&self) -> Amount {
        self.transfers()
            .map(|one| one.amount)
            .fold(Amount::ZERO, Amount::saturating_add)
    }

    /// Whether it is what these dues make, by whatever window.
    pub fn pays(&self, due: &Due) -> bool {
        let own = (
            &self.payment.primary,
            self.payment.memo,
            &self.payment.splits,
            self.sponsored,
        );
        own == (&due.primary, due.memo, &due.splits, due.sponsored)
    }

    fn calls(&self) -> impl Iterator<Item = Call> + '_ {
        self.transfers().map(|transfer| Call {
            to: Some(self.payment.currency),
            value: Amount::ZERO,
            input: transfer.input(),
        })
    }

    /// The token of the fee: the one that is paid with, where the payer pays it.
    fn fee_token(&self) -> Option<Address> {
        (!self.sponsored).then_some(self.payment.currency)
    }

    /// What the signer is asked for: `{chainId, calls: [{to, value, data}], nonceKey, nonce, validBefore, feeToken?, feePayer, maxFee?}`.
    pub fn request(&self) -> Json {
        let call = |call: Call| {
            Json::object([
                ("to", self.payment.currency.to_json()),
                ("value", call.value.to_json()),
                ("data", Json::text(hex::encode(call.input))),
            ])
        };
        let own_fee = (!self.sponsored).then(|| self.max_fee.to_json());
        Json::object([
            ("chainId", Json::number(self.payment.chain_id)),
            ("calls", Json::Array(self.calls().map(call).collect())),
            ("nonceKey", Amount::from_be_bytes(EXPIRING).to_json()),
            ("nonce", Json::number(0)),
            ("validBefore", Json::number(self.payment.valid_before)),
            ("feePayer", Json::Bool(self.sponsored)),
        ])
        .with_some("feeToken", self.fee_token().map(|token| token.to_json()))
        .with_some("maxFee", own_fee)
    }

    /// Who signed exactly what was ordered. Errors in this order: `hex_invalid`, those of [`Transaction::decode`], `contract_signature` for
    /// another signature than that of a plain key; `transaction_differs` at `chainId`, `nonceKey`, `nonce`, `validBefore`, `validAfter`, `sponsored`,
    /// `feeToken`, `delegates`, `calls`, `maxFee` (gas at its price comes to more) and, where the hash is known, at `hash`.
    pub fn signer(&self, signed: &str) -> Result<Address, Error> {
        let transaction = Transaction::decode(&hex::decode(signed)?)?;
        let sender = transaction
            .sender
            .ok_or_else(|| Error::new(Code::ContractSignature, ""))?;
        let payment = &self.payment;
        let same = [
            ("chainId", transaction.chain_id == payment.chain_id),
            ("nonceKey", transaction.nonce_key.to_be_bytes() == EXPIRING),
            ("nonce", transaction.nonce == 0),
            (
                "validBefore",
                transaction.valid_before == Some(payment.valid_before),
            ),
            ("validAfter", transaction.valid_after.is_none()),
            ("sponsored", transaction.sponsored == self.sponsored),
            ("feeToken", transaction.fee_token == self.fee_token()),
            ("delegates", !transaction.delegates),
            ("calls", transaction.calls.iter().cloned().eq(self.calls())),
            ("maxFee", self.sponsored || self.covers(&transaction)),
            ("hash", payment.hash.is_none() || payment.hash == transaction.hash),
        ];
        match same.iter().find(|(_, holds)| !holds) {
            Some((field, _)) => Err(Error::new(Code::TransactionDiffers, *field)),
            None => Ok(sender),
        }
    }

    /// Whether the fee can't be more than was allowed.
    fn covers(&self, transaction: &Transaction) -> bool {
        let word = |amount: Amount| U256::from_be_bytes(amount.to_be_bytes());
        let fee = word(transaction.max_fee_per_gas).checked_mul(U256::from(transaction.gas));
        let unit = U256::from(PRICES_IN_UNIT);
        fee.is_some_and(|fee| fee.div_ceil(unit) <= word(self.max_fee))
    }

    /// The same once these bytes are signed: from here on its hash is known, unless a sponsor signs after the payer. Errors:
    /// `hex_invalid`, those of [`Transaction::decode`].
    pub fn signed(mut self, signed: &str) -> Result<Order, Error> {
        self.payment.hash = Transaction::decode(&hex::decode(signed)?)?.hash;
        Ok(self)
    }

    /// As the journal holds it: `{chainId, currency, payer, validBefore, transfers: [{to, amount, memo?}], sponsored, maxFee, hash?}`, the
    /// transfer with the memo first.
    pub fn to_json(&self) -> Json {
        let payment = &self.payment;
        Json::object([
            ("chainId", Json::number(payment.chain_id)),
            ("currency", payment.currency.to_json()),
            ("payer", payment.payer.to_json()),
            ("validBefore", Json::number(payment.valid_before)),
            (
                "transfers",
                Json::Array(self.transfers().map(Transfer::to_json).collect()),
            ),
            ("sponsored", Json::Bool(self.sponsored)),
            ("maxFee", self.max_fee.to_json()),
        ])
        .with_some("hash", payment.hash.map(|hash| Json::text(hex::encode(hash))))
    }

    /// Reads [`Order::to_json`]. Errors: those of the fields, `missing_field` at `transfers` where the first has no memo.
    pub fn from_json(json: &Json) -> Result<Order, Error> {
        let chain_id = json.read("chainId", Json::as_u64)?;
        let currency = json.read("currency", Address::from_json)?;
        let payer = json.read("payer", Address::from_json)?;
        let valid_before = json.read("validBefore", Json::as_u64)?;
        let mut transfers = json
            .read("transfers", |list| list.as_list(Transfer::from_json))?
            .into_iter();
        let missing = || Error::new(Code::MissingField, "transfers");
        let primary = transfers.next().ok_or_else(missing)?;
        Ok(Order {
            sponsored: json.read("sponsored", Json::as_bool)?,
            max_fee: json.read("maxFee", Amount::from_json)?,
            payment: Payment {
                chain_id,
                currency,
                payer,
                memo: primary.memo.ok_or_else(missing)?,
                primary,
                dictated: false,
                splits: transfers.collect(),
                valid_before,
                hash: json.read_opt("hash", Json::as_hex)?,
            },
        })
    }
}
