//! The payment of a `tempo` charge: whether a signed transaction pays exactly one challenge.

use super::super::challenge::Challenge;
use super::super::charge::{self, Charge, TEMPO};
use super::Transaction;
use crate::address::Address;
use crate::amount::Amount;
use crate::error::{Code, Error};
use crate::hex;
use crate::json::Json;
use crate::time::Seconds;

/// The lane of nonces that are good until `validBefore` and never after.
const EXPIRING: [u8; 32] = [0xff; 32];
/// `transfer(address to, uint256 amount)`.
const TRANSFER: [u8; 4] = [0xa9, 0x05, 0x9c, 0xbb];
/// `transferWithMemo(address to, uint256 amount, bytes32 memo)` of TIP-20.
const TRANSFER_WITH_MEMO: [u8; 4] = [0x95, 0x77, 0x7d, 0x59];

/// One transfer of the charge's token.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Transfer {
    /// Who gets it.
    pub to: Address,
    /// Atomic units.
    pub amount: Amount,
    /// What it carries.
    pub memo: Option<[u8; 32]>,
}

impl Transfer {
    /// The transfer when the call data is exactly that of one.
    fn read(input: &[u8]) -> Option<Transfer> {
        let (selector, arguments) = input.split_first_chunk::<4>()?;
        let (words, []) = arguments.as_chunks::<32>() else {
            return None;
        };
        let (to, value, memo) = match (*selector, words) {
            (TRANSFER, [to, value]) => (to, value, None),
            (TRANSFER_WITH_MEMO, [to, value, memo]) => (to, value, Some(*memo)),
            _ => return None,
        };
        let (zeros, to) = to.split_first_chunk::<12>()?;
        (*zeros == [0; 12]).then_some(Transfer {
            to: Address(to.try_into().ok()?),
            amount: Amount::from_be_bytes(*value),
            memo,
        })
    }

    fn to_json(&self) -> Json {
        Json::object([("to", self.to.to_json()), ("amount", self.amount.to_json())])
            .with_some("memo", self.memo.map(|memo| Json::text(hex::encode(memo))))
    }
}

/// A transaction that pays exactly one challenge.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Payment {
    /// EIP-155 chain id.
    pub chain_id: u64,
    /// The token.
    pub currency: Address,
    /// Who pays.
    pub payer: Address,
    /// The transfer to the charge's recipient, net of the splits, with the memo.
    pub primary: Transfer,
    /// The memo of the primary transfer.
    pub memo: [u8; 32],
    /// Whether the challenge dictates the memo, so that nothing in it names the challenge.
    pub dictated: bool,
    /// The other transfers.
    pub splits: Vec<Transfer>,
    /// It lands in a block before this time only.
    pub valid_before: Seconds,
    /// The hash under which it lands; `None` when it is sponsored.
    pub hash: Option<[u8; 32]>,
}

impl Payment {
    /// The payment that the transaction is. Errors in this order: `no_supported_payment_option` at `challenge.method` for any but
    /// `tempo`, those of [`Charge::read`] below `challenge`, below `challenge.request` `challenge_invalid` for a charge of nothing,
    /// without recipient, with a memo that is none, or whose split can't be told from the rest; `contract_signature` for another
    /// signature than that of a plain key; `transaction_differs` below `transaction` at `chainId`, `nonceKey` (not the lane of expiring
    /// nonces), `sponsored`, `delegates`, `calls` (more or fewer than the transfers due), `validBefore` (absent or past `expires`) and at
    /// the first of `calls` that is not the transfer due in its place: first the recipient's, then the splits in their order.
    /// Whoever calls limits the fee.
    pub fn read(transaction: &Transaction, challenge: &Challenge) -> Result<Payment, Error> {
        if challenge.method != TEMPO {
            return Err(Error::new(Code::NoSupportedOption, "challenge.method"));
        }
        let charge = Charge::read(challenge).map_err(|error| error.within("challenge"))?;
        let demanded = Demanded::read(&charge).map_err(|error| error.within("challenge.request"))?;
        let payer = transaction
            .sender
            .ok_or_else(|| Error::new(Code::ContractSignature, "transaction.signature"))?;
        let differs = |field: &str| Error::new(Code::TransactionDiffers, format!("transaction.{field}"));
        let terms = [
            ("chainId", transaction.chain_id == charge.chain_id),
            ("nonceKey", transaction.nonce_key.to_be_bytes() == EXPIRING),
            ("sponsored", transaction.sponsored == demanded.sponsored),
            ("delegates", !transaction.delegates),
            ("calls", transaction.calls.len() == 1 + demanded.splits.len()),
        ];
        if let Some((field, _)) = terms.iter().find(|(_, holds)| !holds) {
            return Err(differs(field));
        }
        let valid_before = transaction
            .valid_before
            .filter(|before| challenge.expires_at().is_none_or(|expires| *before <= expires))
            .ok_or_else(|| differs("validBefore"))?;
        let mut transfers = Vec::new();
        for (at, call) in transaction.calls.iter().enumerate() {
            let plain = call.to == Some(charge.currency) && call.value == Amount::ZERO;
            let transfer = Transfer::read(&call.input).filter(|_| plain);
            transfers.push(transfer.ok_or_else(|| differs(&format!("calls[{at}]")))?);
        }
        let mut transfers = transfers.into_iter();
        let primary = transfers.next().ok_or_else(|| differs("calls"))?;
        let dues = (primary.to, primary.amount) == (demanded.recipient, demanded.amount);
        let memo = primary
            .memo
            .filter(|memo| dues && demanded.takes(memo, challenge))
            .ok_or_else(|| differs("calls[0]"))?;
        let splits: Vec<_> = transfers.collect();
        if let Some(at) = splits
            .iter()
            .zip(&demanded.splits)
            .position(|(is, due)| is != due)
        {
            return Err(differs(&format!("calls[{}]", at + 1)));
        }
        let payment = Payment {
            chain_id: charge.chain_id,
            currency: charge.currency,
            payer,
            primary,
            memo,
            dictated: demanded.memo.is_some(),
            splits,
            valid_before,
            hash: transaction.hash,
        };
        // On the chain such a split would read as a second payment.
        match payment
            .splits
            .iter()
            .any(|split| payment.is_for_the_same(split.memo))
        {
            true => Err(Error::new(
                Code::ChallengeInvalid,
                "challenge.request.methodDetails.splits",
            )),
            false => Ok(payment),
        }
    }

    /// Whether a memo names the same challenge: this very one where it is dictated, else one that differs in the client at most.
    pub fn is_for_the_same(&self, memo: Option<[u8; 32]>) -> bool {
        memo.is_some_and(|memo| match self.dictated {
            true => memo == self.memo,
            false => anonymous(memo) == anonymous(self.memo),
        })
    }

    /// `{payer, memo, validBefore, transfers: [{to, amount, memo?}], hash?}`, the primary transfer first.
    pub fn to_json(&self) -> Json {
        let transfers = [&self.primary].into_iter().chain(&self.splits);
        Json::object([
            ("payer", self.payer.to_json()),
            ("memo", Json::text(hex::encode(self.memo))),
            ("validBefore", Json::number(self.valid_before)),
            (
                "transfers",
                Json::Array(transfers.map(Transfer::to_json).collect()),
            ),
        ])
        .with_some("hash", self.hash.map(|hash| Json::text(hex::encode(hash))))
    }
}

/// An attribution memo without the bytes of the client.
fn anonymous(mut memo: [u8; 32]) -> [u8; 32] {
    memo.iter_mut().skip(15).take(10).for_each(|byte| *byte = 0);
    memo
}

/// What a charge demands of a transaction.
struct Demanded {
    recipient: Address,
    amount: Amount,
    memo: Option<[u8; 32]>,
    splits: Vec<Transfer>,
    sponsored: bool,
}

impl Demanded {
    fn read(charge: &Charge) -> Result<Demanded, Error> {
        let invalid = |field: &str| Error::new(Code::ChallengeInvalid, field);
        let word = |json: &Json, at: &str| {
            json.read_opt("memo", |memo| hex::decode_array::<32>(memo.as_str()?))
                .map_err(|_| invalid(at))
        };
        let recipient = charge.recipient.ok_or_else(|| invalid("recipient"))?;
        let memo = word(&charge.details, "methodDetails.memo")?;
        let empty = Json::Array(Vec::new());
        let listed = charge.details.get("splits").unwrap_or(&empty).as_array()?;
        let mut splits = Vec::new();
        let mut amount = charge.amount;
        for (split, json) in charge.splits.iter().zip(listed) {
            splits.push(Transfer {
                to: split.recipient,
                amount: split.amount,
                memo: word(json, "methodDetails.splits")?,
            });
            amount = amount
                .checked_sub(split.amount)
                .ok_or_else(|| invalid("methodDetails.splits"))?;
        }
        let sponsored = charge
            .details
            .read_opt("feePayer", Json::as_bool)
            .map_err(|_| invalid("methodDetails.feePayer"))?;
        match amount == Amount::ZERO {
            true => Err(invalid("amount")),
            false => Ok(Demanded {
                recipient,
                amount,
                memo,
                splits,
                sponsored: sponsored.unwrap_or(false),
            }),
        }
    }

    /// Whether the memo is the one dictated, or without one the challenge's own, of whatever client.
    fn takes(&self, memo: &[u8; 32], challenge: &Challenge) -> bool {
        match self.memo {
            Some(dictated) => *memo == dictated,
            None => anonymous(*memo) == charge::memo(challenge, None),
        }
    }
}
