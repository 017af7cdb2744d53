//! Payments on Tempo: the token logs the memo, by which a challenge is known.

use super::{receipt_of, recipient, Closed, How};
use crate::address::Address;
use crate::amount::Amount;
use crate::evidence::logs::{topic, transfer_from};
use crate::evidence::rpc::{Log, Reason, Receipt, Word};
use crate::evidence::tempo::TRANSFER_WITH_MEMO;
use crate::tempo::Payment;
use crate::time::Seconds;

/// Recipient and memo, when the log is the token's word on a transfer of the payer's that carries one.
pub(super) fn memo(log: &Log, payer: &Address, asset: &Address) -> Option<(Word, Word)> {
    match log.topics.as_slice() {
        [TRANSFER_WITH_MEMO, from, to, memo] if log.address == asset.0 && *from == topic(payer) => {
            Some((*to, *memo))
        }
        _ => None,
    }
}

/// Adds what a memo of the Payment scheme was paid with: all that left the payer in its transaction, splits and fee are no less spent.
/// Nothing on the chain keeps one challenge from being paid twice; what left in one transaction counts once.
pub(super) fn add(
    closed: &mut Vec<Closed>,
    (log, to, memo): (&Log, Word, Word),
    receipts: &[Receipt],
    at: Seconds,
    (payer, asset): (&Address, &Address),
) -> Result<(), Reason> {
    let mut amount = Amount::ZERO;
    for log in &receipt_of(log, receipts)?.logs {
        if let Some(moved) = transfer_from(log, asset, payer)? {
            let moved = Amount::from_be_bytes(moved.value);
            amount = amount.checked_add(moved).ok_or("logs_malformed")?;
        }
    }
    let nonce = Payment::anonymous(memo);
    if let Some(known) = closed.iter_mut().find(|known| known.nonce == nonce) {
        if known.transaction != log.transaction {
            known.amount = known.amount.checked_add(amount).ok_or("logs_malformed")?;
        }
        return Ok(());
    }
    closed.push(Closed {
        nonce,
        how: How::Used,
        to: recipient(&to),
        amount,
        transaction: log.transaction,
        block_number: log.block_number,
        at,
    });
    Ok(())
}
