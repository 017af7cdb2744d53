//! The payment of a `tempo` charge: what a challenge wants a transaction to do, and whether a signed one does exactly that.

use super::challenge::Challenge;
use super::charge::{self, Charge, TEMPO};
use crate::address::Address;
use crate::amount::Amount;
use crate::error::{Code, Error};
use crate::hex;
use crate::json::Json;
use crate::tempo::{self, Due, Payment, Transaction, Transfer};

/// The mode in which the service broadcasts what it is given.
const PULL: &str = "pull";

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
        ("nonceKey", transaction.nonce_key.to_be_bytes() == tempo::EXPIRING),
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

/// What this charge is due, in full and by the memo of the challenge itself. Errors at `request`: those of [`read`] about the
/// charge, and `no_supported_payment_option` where the challenge dictates the memo, for then nothing on the chain would name it, and where it
/// takes no transaction that the service broadcasts.
pub(super) fn due(challenge: &Challenge, charge: &Charge) -> Result<Due, Error> {
    let demanded = Demanded::read(charge)?;
    let unsupported = |field: &str| Error::new(Code::NoSupportedOption, field);
    if demanded.memo.is_some() {
        return Err(unsupported("methodDetails.memo"));
    }
    let modes = charge.details.get("supportedModes").map(Json::as_array);
    if !modes.is_none_or(|modes| modes.is_ok_and(|modes| modes.contains(&Json::text(PULL)))) {
        return Err(unsupported("methodDetails.supportedModes"));
    }
    let memo = charge::memo(challenge, None);
    if demanded
        .splits
        .iter()
        .any(|split| Payment::names(memo, split.memo))
    {
        return Err(Error::new(Code::ChallengeInvalid, "methodDetails.splits"));
    }
    Ok(Due {
        primary: Transfer {
            to: demanded.recipient,
            amount: demanded.amount,
            memo: Some(memo),
        },
        memo,
        splits: demanded.splits,
        sponsored: demanded.sponsored,
    })
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
            None => Payment::names(charge::memo(challenge, None), Some(*memo)),
        }
    }
}
