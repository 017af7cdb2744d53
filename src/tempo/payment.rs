//! A payment on Tempo: the transfers that a transaction makes, as far as one challenge is concerned.

use crate::address::Address;
use crate::amount::Amount;
use crate::error::Error;
use crate::hex;
use crate::json::Json;
use crate::time::Seconds;

/// The first bytes of every memo of the Payment scheme: of Keccak-256 of `mpp`, and version 1.
const MARK: [u8; 5] = [0xef, 0x1e, 0xd7, 0x12, 0x01];
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
    pub fn read(input: &[u8]) -> Option<Transfer> {
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

    /// The call data of exactly this transfer.
    pub fn input(&self) -> Vec<u8> {
        let selector = match self.memo {
            None => TRANSFER,
            Some(_) => TRANSFER_WITH_MEMO,
        };
        let words = [self.to.to_word(), self.amount.to_be_bytes()];
        let mut input = selector.to_vec();
        words
            .into_iter()
            .chain(self.memo)
            .for_each(|word| input.extend(word));
        input
    }

    /// Reads [`Transfer::to_json`]. Errors: those of the fields.
    pub fn from_json(json: &Json) -> Result<Transfer, Error> {
        Ok(Transfer {
            to: json.read("to", Address::from_json)?,
            amount: json.read("amount", Amount::from_json)?,
            memo: json.read_opt("memo", Json::as_hex)?,
        })
    }

    /// `{to, amount, memo?}`.
    pub fn to_json(&self) -> Json {
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
    /// Whether a memo names the same challenge: this very one where it is dictated, else one that differs in the client at most.
    pub fn is_for_the_same(&self, memo: Option<[u8; 32]>) -> bool {
        memo.is_some_and(|memo| match self.dictated {
            true => memo == self.memo,
            false => Payment::names(self.memo, Some(memo)),
        })
    }

    /// Whether two memos that no challenge dictates name one challenge: whatever client put them there.
    pub fn names(one: [u8; 32], other: Option<[u8; 32]>) -> bool {
        other.is_some_and(|other| Payment::anonymous(one) == Payment::anonymous(other))
    }

    /// A memo without the bytes of the client.
    pub fn anonymous(mut memo: [u8; 32]) -> [u8; 32] {
        memo.iter_mut().skip(15).take(10).for_each(|byte| *byte = 0);
        memo
    }

    /// Whether a memo has the mark and the version of the Payment scheme.
    pub fn is_marked(memo: &[u8; 32]) -> bool {
        memo.starts_with(&MARK)
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
