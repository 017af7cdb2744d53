//! What the chain says about one payment of a `tempo` charge.
//!
//! It is read by its hash, which is known unless somebody sponsors it, and by the token's `TransferWithMemo` from the payer to the
//! recipient, whose memo names the challenge. A nonce of the expiring lane is good for at most [`LEAD`] before `validBefore` and never
//! after, so that both reads over that stretch show all there will ever be.
//!
//! | by hash | by memo | verdict |
//! |---|---|---|
//! | succeeded, every transfer due is in it | it too, or not asked | `paid` |
//! | succeeded, not every one | | `paid_wrong_terms` |
//! | nothing, or sponsored | one of another transaction, with its receipt | `paid`, or `paid_wrong_terms` |
//! | nothing, or reverted | nothing, block before `validBefore` and [`MARGIN`], or not final | `not_yet` |
//! | nothing, reverted or sponsored | nothing in the whole stretch, final block at or past it | `dead` |
//! | one says what the other does not, or one is missing | | `unreadable` |
//!
//! A memo that the challenge dictates names no challenge: what is found by it alone is not called paid, and stands in the way
//! of `dead`. All of it follows the token standard TIP-20 and the transactions of Tempo as published, and was run on a local node, on no live
//! network.

use super::logs::TRANSFER;
use super::rpc::{self, Block, Log, Reason, Receipt, Word};
use super::{finality, unprovable, Context, Verdict, VerdictKind};
use crate::address::Address;
use crate::amount::Amount;
use crate::error::{Money, Next};
use crate::hex;
use crate::json::Json;
use crate::sorting::sort_by;
use crate::tempo::{Payment, Transfer};
use crate::time::Seconds;

/// `TransferWithMemo(address indexed from, address indexed to, uint256 amount, bytes32 indexed memo)` of TIP-20.
pub(super) const TRANSFER_WITH_MEMO: Word = [
    0x57, 0xbc, 0x73, 0x54, 0xaa, 0x85, 0xae, 0xd3, 0x39, 0xe0, 0x00, 0xbc, 0xcf, 0xfa, 0xbb, 0xc5, 0x29,
    0x46, 0x6a, 0xf3, 0x5f, 0x07, 0x72, 0xc8, 0xf8, 0xee, 0x11, 0x45, 0x92, 0x7d, 0xe7, 0xf0,
];
/// How far past `validBefore` a final block must be before nothing means never.
const MARGIN: Seconds = 60;
/// How long before its `validBefore` a transaction of the expiring lane can land at most.
const LEAD: Seconds = 300;

/// Everything one source answered.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Source {
    block: Block,
    /// By the transaction's hash; the outer `None` when it was not asked.
    own: Option<Option<Receipt>>,
    /// Of another transaction, that a log names.
    settled: Option<Receipt>,
    logs: Option<Vec<Log>>,
    range: Option<(u64, u64)>,
    /// Number and time of a block from which on all logs are there.
    start: Option<(u64, Seconds)>,
    /// Number and time of a block up to which they are, where that is not the block of the read.
    end: Option<(u64, Seconds)>,
}

impl Source {
    fn read(json: &Json, chain_id: u64) -> Result<Source, Reason> {
        let block = rpc::head(json, chain_id)?;
        let (logs, range, receipt) = rpc::told(json)?;
        let members = json.as_object().map_err(|_| "evidence_malformed")?;
        let asked = members.iter().any(|(name, _)| name == "receipt");
        let searched = |name| match json.get(name) {
            None => Ok(None),
            Some(block) => instant(block).map(Some).ok_or("logs_range_malformed"),
        };
        let (start, end) = (searched("searchedFrom")?, searched("searchedTo")?);
        let settled = json.get("settled").map(rpc::receipt).transpose()?;
        let source = Source {
            block,
            own: asked.then_some(receipt),
            settled,
            logs,
            range,
            start,
            end,
        };
        let mut receipts = source.own.iter().flatten().chain(&source.settled);
        receipts.try_for_each(|receipt| source.places(receipt))?;
        Ok(source)
    }

    /// Whether the receipt can have been read at the block.
    fn places(&self, receipt: &Receipt) -> Result<(), Reason> {
        let (number, hash) = (receipt.block_number, receipt.block_hash);
        if number > self.block.number {
            return Err("receipt_after_block");
        }
        match number == self.block.number && hash != self.block.hash {
            true => Err("block_hash_differs"),
            false => Ok(()),
        }
    }

    fn agrees(&self, other: &Source) -> Result<(), Reason> {
        if self.block != other.block {
            Err("block_disagrees")
        } else if (&self.logs, self.range, self.start, self.end)
            != (&other.logs, other.range, other.start, other.end)
        {
            Err("logs_disagree")
        } else if (&self.own, &self.settled) != (&other.own, &other.settled) {
            Err("receipt_disagrees")
        } else {
            Ok(())
        }
    }
}

fn instant(json: &Json) -> Option<(u64, Seconds)> {
    let quantity = |name| rpc::quantity(rpc::member(json, name)?);
    Some((quantity("number")?, quantity("timestamp")?))
}

pub(super) fn decide(payment: &Payment, context: &Context, evidence: &[Json]) -> Result<Verdict, Reason> {
    if context.asset != payment.currency {
        return Err("asset_differs");
    }
    if context.network.chain_id() != Some(payment.chain_id) {
        return Err("network_differs");
    }
    let sources = evidence
        .iter()
        .map(|one| Source::read(one, payment.chain_id))
        .collect::<Result<Vec<_>, _>>()?;
    let (source, others) = sources.split_first().ok_or("evidence_missing")?;
    others.iter().try_for_each(|other| source.agrees(other))?;

    let own = source.own.as_ref().and_then(Option::as_ref);
    if own.is_some_and(|receipt| Some(receipt.transaction) != payment.hash) {
        return Err("receipt_mismatch");
    }
    let found = Found::read(source, payment)?;
    let verdict = match own.filter(|receipt| receipt.succeeded) {
        Some(receipt) => {
            found.agrees(source, payment, receipt)?;
            settled(source, context, payment, receipt, &found)?
        }
        None => match found.ours.first() {
            None => nothing(source, context, payment, &found)?,
            Some(_) => by_memo(source, context, payment, &found)?,
        },
    };
    Ok(unprovable(verdict, context))
}

/// What the logs hold.
struct Found<'a> {
    /// Transfers to the recipient under the challenge's memo.
    ours: Vec<(&'a Log, Transfer)>,
    /// There are logs that the question did not ask for.
    foreign: bool,
}

impl<'a> Found<'a> {
    fn read(source: &'a Source, payment: &Payment) -> Result<Found<'a>, Reason> {
        let mut found = Found {
            ours: Vec::new(),
            foreign: false,
        };
        for log in source.logs.iter().flatten() {
            source.block.places(source.range, log)?;
            match moved(log, payment)? {
                Some(transfer) if transfer.memo.is_some() && transfer.to == payment.primary.to => {
                    if payment.is_for_the_same(transfer.memo) {
                        found.ours.push((log, transfer));
                    }
                }
                _ => found.foreign = true,
            }
        }
        let place = |log: &Log| (log.block_number, log.index);
        let twice = |at: usize, log: &Log| {
            found
                .ours
                .iter()
                .skip(at + 1)
                .any(|(other, _)| place(other) == place(log))
        };
        match found.ours.iter().enumerate().any(|(at, (log, _))| twice(at, log)) {
            true => Err("logs_conflict"),
            false => Ok(found),
        }
    }

    /// Whether the logs hold of the transaction what its receipt does.
    fn agrees(&self, source: &Source, payment: &Payment, receipt: &Receipt) -> Result<(), Reason> {
        let covered = source
            .range
            .is_none_or(|(from, to)| (from..=to).contains(&receipt.block_number));
        let asked = source.logs.is_some() && covered;
        let listed = |log: &Log| self.ours.iter().any(|(one, _)| *one == log);
        for log in &receipt.logs {
            let ours = moved(log, payment)?
                .is_some_and(|one| one.to == payment.primary.to && payment.is_for_the_same(one.memo));
            if ours && asked && !listed(log) {
                return Err("receipt_and_logs_disagree");
            }
        }
        let mut told = self.ours.iter().map(|(log, _)| *log);
        match told.any(|log| log.transaction == receipt.transaction && !receipt.logs.contains(log)) {
            true => Err("receipt_log_missing"),
            false => Ok(()),
        }
    }
}

/// The transfer when `log` is the token's word on one from the payer.
fn moved(log: &Log, payment: &Payment) -> Result<Option<Transfer>, Reason> {
    let (from, to, memo) = match log.topics.as_slice() {
        [TRANSFER, from, to] => (from, to, None),
        [TRANSFER_WITH_MEMO, from, to, memo] => (from, to, Some(*memo)),
        _ => return Ok(None),
    };
    if log.address != payment.currency.0 || *from != payment.payer.to_word() {
        return Ok(None);
    }
    let amount = log.data.as_slice().try_into().map_err(|_| "logs_malformed")?;
    let [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, to @ ..] = *to else {
        return Err("logs_malformed");
    };
    Ok(Some(Transfer {
        to: Address(to),
        amount: Amount::from_be_bytes(amount),
        memo,
    }))
}

/// The payer's transfers in a receipt. One with a memo stands there twice, as `Transfer` and as `TransferWithMemo`, side by side.
fn transfers<'a>(receipt: &'a Receipt, payment: &Payment) -> Result<Vec<(&'a Log, Transfer)>, Reason> {
    let mut all: Vec<(&Log, Transfer)> = Vec::new();
    let mut open = None;
    for log in &receipt.logs {
        let Some(one) = moved(log, payment)? else {
            continue;
        };
        let pair = all.last_mut().filter(|(before, other)| {
            open == Some(before.index)
                && before.index.checked_add(1) == Some(log.index)
                && (other.to, other.amount) == (one.to, one.amount)
                && other.memo.is_some() != one.memo.is_some()
        });
        match pair {
            Some((_, other)) => {
                other.memo = other.memo.or(one.memo);
                open = None;
            }
            None => {
                all.push((log, one));
                open = Some(log.index);
            }
        }
    }
    Ok(all)
}

/// A transaction that landed, by its receipt.
fn settled(
    source: &Source,
    context: &Context,
    payment: &Payment,
    receipt: &Receipt,
    found: &Found,
) -> Result<Verdict, Reason> {
    let limits = finality(source.block.tag, context, None).unwrap_or(&["not_final"]);
    let all = transfers(receipt, payment)?;
    let primary = |one: &Transfer| {
        (one.to, one.amount) == (payment.primary.to, payment.primary.amount)
            && payment.is_for_the_same(one.memo)
    };
    let mut left: Vec<_> = all.iter().map(|(_, one)| one).collect();
    let mut take = |due: &dyn Fn(&Transfer) -> bool| {
        let at = left.iter().position(|one| due(one));
        at.map(|at| left.swap_remove(at)).is_some()
    };
    let mut whole = take(&primary);
    for split in &payment.splits {
        whole &= take(&|one| one == split);
    }
    let due = |one: &Transfer| {
        one.to == payment.primary.to || payment.splits.iter().any(|split| split.to == one.to)
    };
    let mut verdict = match (whole, all.iter().any(|(_, one)| due(one))) {
        (true, _) => Verdict::new(VerdictKind::Paid, limits),
        (false, true) => Verdict::new(VerdictKind::PaidWrongTerms, &[limits, &["terms_differ"]].concat()),
        (false, false) => Verdict {
            money: Money::Possible,
            ..Verdict::new(
                VerdictKind::PaidWrongTerms,
                &[limits, &["transfer_missing"]].concat(),
            )
        },
    };
    if whole && payment.hash == Some(receipt.transaction) {
        verdict.fee = fee(&all, payment);
    }
    verdict.transaction = Some(hex::encode(receipt.transaction));
    verdict.position = all
        .iter()
        .find(|(_, one)| payment.is_for_the_same(one.memo))
        .map(|(log, _)| (log.block_number, log.index));
    // This transaction's own come first.
    let here = all.iter().filter(|(_, one)| primary(one));
    let elsewhere = found
        .ours
        .iter()
        .filter(|(log, one)| primary(one) && log.transaction != receipt.transaction);
    let place = |(log, _): &(&Log, Transfer)| (log.transaction, (log.block_number, log.index));
    let mut again: Vec<_> = here.chain(elsewhere).map(place).skip(1).collect();
    // One challenge pays once. Splits do not count: none of them has its memo.
    if !payment.dictated && !again.is_empty() {
        sort_by(&mut again, |one, other| one.1.cmp(&other.1));
        verdict.again = again;
        verdict.money = Money::ProvenTwice;
        verdict.next = Next::AskHuman;
        verdict.reasons.push("duplicate_transfer".to_owned());
    }
    Ok(verdict)
}

/// What left the payer in its own transaction beside the payment, which is nothing else than the payment. A receipt that shows nothing of it
/// proves nothing: then it is not known.
fn fee(all: &[(&Log, Transfer)], payment: &Payment) -> Option<Amount> {
    let add = |sum: Amount, one: &Transfer| sum.checked_add(one.amount);
    let mut left = all.iter().map(|(_, one)| one);
    let mut due = core::iter::once(&payment.primary).chain(&payment.splits);
    let (left, due) = (
        left.try_fold(Amount::ZERO, add)?,
        due.try_fold(Amount::ZERO, add)?,
    );
    left.checked_sub(due).filter(|fee| *fee > Amount::ZERO)
}

/// Logs tell of the memo, and no receipt by hash does.
fn by_memo(source: &Source, context: &Context, payment: &Payment, found: &Found) -> Result<Verdict, Reason> {
    let mut told = found.ours.iter().map(|(log, _)| *log);
    if told.any(|log| Some(log.transaction) == payment.hash) {
        return Err(match source.own {
            Some(_) => "receipt_and_logs_disagree",
            None => "receipt_missing",
        });
    }
    if payment.dictated {
        return Ok(Verdict::new(VerdictKind::NotYet, &["transfer_matches"]));
    }
    let receipt = source.settled.as_ref().ok_or("receipt_missing")?;
    let mut told = found.ours.iter().map(|(log, _)| *log);
    let log = told
        .find(|log| log.transaction == receipt.transaction)
        .ok_or("receipt_mismatch")?;
    if (receipt.block_hash, receipt.block_number) != (log.block_hash, log.block_number) {
        return Err("receipt_mismatch");
    }
    if !receipt.succeeded {
        return Err("receipt_reverted");
    }
    found.agrees(source, payment, receipt)?;
    let mut verdict = settled(source, context, payment, receipt, found)?;
    if payment.hash.is_some() {
        verdict.reasons.push("other_transaction".to_owned());
    }
    Ok(verdict)
}

/// The time of the first block at which nothing means never.
pub fn decidable_at(payment: &Payment) -> Seconds {
    payment.valid_before.saturating_add(MARGIN)
}

/// Neither read tells of money that moved.
fn nothing(source: &Source, context: &Context, payment: &Payment, found: &Found) -> Result<Verdict, Reason> {
    let over = decidable_at(payment);
    let not_yet = |reason| {
        let mut verdict = Verdict::new(VerdictKind::NotYet, &[reason]);
        verdict.decidable_at = Some(over);
        Ok(verdict)
    };
    if source.settled.is_some() {
        return Err("receipt_and_logs_disagree");
    }
    if source.block.timestamp < over {
        return not_yet("window_open");
    }
    let Some(limits) = finality(source.block.tag, context, None) else {
        return not_yet("not_final");
    };
    if source.logs.is_none() {
        return Err("logs_missing");
    }
    if found.foreign {
        return Err("log_foreign");
    }
    if payment.hash.is_some() && source.own.is_none() {
        return Err("receipt_missing");
    }
    let early = payment.valid_before.saturating_sub(LEAD + MARGIN);
    let whole = source.range.is_some_and(|(from, to)| {
        let covers = |number: u64| (from..=to).contains(&number);
        // Nothing is before block 0.
        let begins = source
            .start
            .is_some_and(|(number, time)| covers(number) && (number == 0 || time <= early));
        // In a block past the window it can't be, nor in any after that.
        let ends = source
            .end
            .is_some_and(|(number, time)| covers(number) && time >= over);
        begins && (ends || to >= source.block.number)
    });
    if !whole {
        return Err("logs_range_short");
    }
    let reverted: &[Reason] = match source.own {
        Some(Some(_)) => &["reverted"],
        _ => &[],
    };
    Ok(Verdict::new(VerdictKind::Dead, &[limits, reverted].concat()))
}
