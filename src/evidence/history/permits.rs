//! Transfers that no EIP-3009 nonce explains: which permit made them, by the call data of their transaction and the bitmap of the payer.

use alloy_primitives::U256;

use super::{name_of, recipient, Closed, How};
use crate::address::Address;
use crate::amount::Amount;
use crate::error::Error;
use crate::evidence::logs::{self, topic};
use crate::evidence::rpc::{self, Log, Reason, Word};
use crate::hex;
use crate::json::Json;
use crate::permit2;
use crate::time::Seconds;

/// Whoever settles hands Permit2 these words: token, amount, nonce, deadline, and behind them, with scheme `upto` after the amount that is
/// taken, the owner and the recipient.
const WORDS: usize = 7;

/// One permit that stands in call data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Called {
    nonce: Word,
    amount: Word,
    to: Word,
}

/// One transaction as a source tells it.
struct Call {
    hash: Word,
    from: [u8; 20],
    permits: Vec<Called>,
}

/// What the transactions of one source hold, and which of their nonces are set.
pub(super) struct Permits<'a> {
    payer: &'a Address,
    asset: &'a Address,
    calls: Vec<Call>,
    /// Those whose bit is set in the payer's bitmap at the block that was read.
    set: Vec<Word>,
}

/// Every permit in call data, wherever it stands: a wrapper carries it among its own arguments.
fn called(input: &[u8], payer: &Address, asset: &Address) -> Vec<Called> {
    let (token, owner) = (topic(asset), topic(payer));
    let read = |bytes: &[u8]| {
        let (words, _) = bytes.as_chunks::<32>();
        let [first, amount, nonce, _, fifth, sixth, seventh] = *words.first_chunk::<WORDS>()?;
        let to = match (fifth == owner, sixth == owner) {
            (true, _) => sixth,
            (_, true) => seventh,
            _ => return None,
        };
        (first == token).then_some(Called { nonce, amount, to })
    };
    input.windows(32 * WORDS).filter_map(read).collect()
}

/// The nonces of the payer's permits for a token in the call data of these transactions, `[{input}]`, in order. Errors: those of the members.
pub fn permit_nonces(
    payer: &Address,
    asset: &Address,
    transactions: &[Json],
) -> Result<Vec<[u8; 32]>, Error> {
    let mut found = Vec::new();
    for one in transactions {
        let input = one.read("input", |input| hex::decode(input.as_str()?))?;
        found.extend(called(&input, payer, asset).into_iter().map(|one| one.nonce));
    }
    Ok(found)
}

impl<'a> Permits<'a> {
    /// Reads `transactions` and `bitmaps` as far as these transfers need them. Reasons: `transaction_missing`, `transaction_malformed`,
    /// `state_malformed`.
    pub fn read(
        json: &Json,
        payer: &'a Address,
        asset: &'a Address,
        moved: &[&Log],
    ) -> Result<Permits<'a>, Reason> {
        let list = |name: &str| json.get(name).and_then(|list| list.as_array().ok());
        let call = |one: &Json| {
            Some(Call {
                hash: hex::decode_array(rpc::member(one, "hash")?).ok()?,
                from: hex::decode_array(rpc::member(one, "from")?).ok()?,
                permits: called(&hex::decode(rpc::member(one, "input")?).ok()?, payer, asset),
            })
        };
        let mut calls = Vec::new();
        for one in list("transactions").unwrap_or_default() {
            calls.push(call(one).ok_or("transaction_malformed")?);
        }
        let known = |log: &&Log| calls.iter().any(|one| one.hash == log.transaction);
        if !moved.iter().all(known) {
            return Err("transaction_missing");
        }
        let bit = |one: &Json| -> Option<(Word, bool)> {
            let nonce: Word = hex::decode_array(rpc::member(one, "nonce")?).ok()?;
            let word: Word = hex::decode_array(rpc::member(one, "nonceBitmap")?).ok()?;
            let (_, mask) = permit2::place(&nonce);
            Some((nonce, U256::from_be_bytes(word) & mask != U256::ZERO))
        };
        let mut set = Vec::new();
        for one in list("bitmaps").unwrap_or_default() {
            let (nonce, is_set) = bit(one).ok_or("state_malformed")?;
            set.extend(is_set.then_some(nonce));
        }
        Ok(Permits {
            payer,
            asset,
            calls,
            set,
        })
    }

    /// What one Transfer was: of a permit that no other one was of, or of an unknown nonce. `None` for one of the payer's own making, and
    /// for one of nothing that no permit explains.
    pub fn closed(&self, log: &Log, at: Seconds, before: &[Closed]) -> Result<Option<Closed>, Reason> {
        let transfer = logs::transfer_from(log, self.asset, self.payer)?.ok_or("log_foreign")?;
        let call = self.calls.iter().find(|one| one.hash == log.transaction);
        let call = call.ok_or("transaction_missing")?;
        let fits = |permit: &&Called| {
            let taken = before.iter().any(|one| one.nonce == permit.nonce);
            // Words of one length compare like the numbers they are.
            permit.to == transfer.to
                && transfer.value <= permit.amount
                && self.set.contains(&permit.nonce)
                && !taken
        };
        let permit = call.permits.iter().find(fits);
        let amount = Amount::from_be_bytes(transfer.value);
        let (nonce, how) = match permit {
            Some(permit) => (permit.nonce, How::Permitted),
            None if call.from == self.payer.0 || amount == Amount::ZERO => return Ok(None),
            None => (name_of(log)?, How::Unknown),
        };
        Ok(Some(Closed {
            nonce,
            how,
            to: recipient(&transfer.to),
            amount,
            transaction: log.transaction,
            block_number: log.block_number,
            at,
        }))
    }
}
