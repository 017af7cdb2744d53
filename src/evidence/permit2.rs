//! What the chain says about the permits signed under one nonce of Permit2.
//!
//! Permit2 keeps one bit for a nonce and emits nothing when it is used, so the use is found by the state: between a block
//! at which the bit is unset and a later one at which it is set (`usedWithin`). Only two things set it: a permit, which makes
//! the token emit a Transfer from the payer, and `invalidateUnorderedNonces`, which emits `UnorderedNonceInvalidation`. With
//! every Transfer from the payer and every invalidation of these blocks at hand, one alone is the answer. An invalidation by
//! itself is none: it can name a bit that a payment has set before.
//!
//! | bit | between the two reads | verdict |
//! |---|---|---|
//! | unset, block time at most the last deadline | | `not_yet` |
//! | unset, final block past it | logs asked for, no Transfer as signed | `dead` |
//! | set | one Transfer, as signed | `paid` |
//! | set, scheme `upto` | one Transfer of at most the amount signed | `paid`, with the amount |
//! | set | one Transfer, on other terms | `paid_wrong_terms` |
//! | set | a final invalidation and no Transfer | `cancelled` |
//! | set | none of them, and every receipt of that block is proven | `cancelled` |
//! | set | both, none, several that no call data tells apart, or no such reads | `used_or_cancelled` |

use alloy_primitives::U256;

use super::logs::{self, Transfer};
use super::proof::Proofs;
use super::rpc::{self, Block, Log, Reason, Receipt, Word};
use super::{finality, weigh, Context, Verdict, VerdictKind};
use crate::amount::Amount;
use crate::error::Money;
use crate::hex;
use crate::json::Json;
use crate::permit2::{Permit, CONTRACT};

/// `UnorderedNonceInvalidation(address indexed owner, uint256 word, uint256 mask)`.
const INVALIDATION: Word = [
    0x37, 0x04, 0x90, 0x2f, 0x96, 0x37, 0x66, 0xa4, 0xe5, 0x61, 0xbb, 0xaa, 0xb6, 0xe6, 0xcd, 0xc1, 0xb1,
    0xdd, 0x12, 0xf6, 0xe9, 0xe9, 0x96, 0x48, 0xda, 0x88, 0x43, 0xb3, 0xf4, 0x6b, 0x91, 0x8d,
];

/// The payer's word of the bitmap at one block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Reading {
    number: u64,
    word: Word,
}

/// Everything one source answered.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Source {
    /// Of which nonce this is, where it says so.
    nonce: Option<Word>,
    block: Block,
    word: Word,
    /// The bit is unset at the first and set at the second.
    within: Option<(Reading, Reading)>,
    logs: Option<Vec<Log>>,
    range: Option<(u64, u64)>,
    receipt: Option<Receipt>,
    /// Hash and call data of one transaction.
    transaction: Option<(Word, Vec<u8>)>,
}

impl Source {
    fn read(json: &Json, chain_id: u64) -> Result<Source, Reason> {
        let block = rpc::head(json, chain_id)?;
        let nonce = rpc::nonce(json)?;
        let word = match json.get("nonceBitmap") {
            None => return Err("state_missing"),
            Some(_) => word(json, "nonceBitmap").ok_or("state_malformed")?,
        };
        let within = match json.get("usedWithin") {
            None => None,
            Some(ends) => Some(within(ends).ok_or("state_malformed")?),
        };
        let (logs, range, receipt) = rpc::told(json)?;
        let transaction = match json.get("transaction") {
            None => None,
            Some(one) => Some(call_data(one).ok_or("transaction_malformed")?),
        };
        Ok(Source {
            nonce,
            block,
            word,
            within,
            logs,
            range,
            receipt,
            transaction,
        })
    }

    fn agrees(&self, other: &Source) -> Result<(), Reason> {
        if self.block != other.block {
            Err("block_disagrees")
        } else if (&self.word, &self.within) != (&other.word, &other.within) {
            Err("state_disagrees")
        } else if (&self.logs, self.range) != (&other.logs, other.range) {
            Err("logs_disagree")
        } else if (&self.receipt, &self.transaction) != (&other.receipt, &other.transaction) {
            Err("receipt_disagrees")
        } else {
            Ok(())
        }
    }
}

fn word(json: &Json, name: &str) -> Option<Word> {
    hex::decode_array(rpc::member(json, name)?).ok()
}

fn within(json: &Json) -> Option<(Reading, Reading)> {
    let reading = |name: &str| {
        let json = json.get(name)?;
        Some(Reading {
            number: rpc::quantity(rpc::member(json, "number")?)?,
            word: word(json, "nonceBitmap")?,
        })
    };
    Some((reading("after")?, reading("by")?))
}

fn call_data(json: &Json) -> Option<(Word, Vec<u8>)> {
    let input = hex::decode(rpc::member(json, "input")?).ok()?;
    Some((word(json, "hash")?, input))
}

/// What the logs of the question tell.
struct Told<'a> {
    moved: Vec<(&'a Log, Transfer)>,
    burnt: Vec<&'a Log>,
    /// There are logs that the question did not ask for.
    foreign: bool,
}

impl Told<'_> {
    /// Whether the answer is the same, whichever of the transfers was the nonce's.
    fn is_one(&self, permits: &[Permit]) -> bool {
        let mut moved = self.moved.iter().map(|(_, transfer)| transfer);
        let Some(first) = moved.next() else {
            return true;
        };
        let as_signed = |to: &Transfer| permits.iter().any(|one| covers(one, to));
        let mut others = moved.peekable();
        others.peek().is_none()
            || as_signed(first) && others.all(|other| (other.to, other.value) == (first.to, first.value))
    }
}

/// Whether a log of this address and these topics is one that the question about a permit's nonce asks for.
pub(super) fn asks(address: &[u8; 20], topics: &[Word], context: &Context, of: &Permit) -> bool {
    let from = of.from.to_word();
    match topics {
        [logs::TRANSFER, payer, _] => *address == context.asset.0 && *payer == from,
        [INVALIDATION, payer] => *address == CONTRACT.0 && *payer == from,
        _ => false,
    }
}

pub(super) fn decide(permits: &[Permit], context: &Context, evidence: &[Json]) -> Result<Verdict, Reason> {
    let (first, siblings) = permits.split_first().ok_or("authorization_missing")?;
    let slot = |permit: &Permit| (permit.from, permit.nonce);
    if siblings.iter().any(|sibling| slot(sibling) != slot(first)) {
        return Err("authorizations_differ");
    }
    if permits.iter().any(|permit| permit.token != context.asset) {
        return Err("asset_differs");
    }
    let chain_id = context.network.chain_id().ok_or("network_unsupported")?;
    let sources = evidence
        .iter()
        .map(|one| Source::read(one, chain_id))
        .collect::<Result<Vec<_>, _>>()?;
    let (source, others) = sources.split_first().ok_or("evidence_missing")?;
    others.iter().try_for_each(|other| source.agrees(other))?;
    let other_nonce = |source: &Source| source.nonce.is_some_and(|nonce| nonce != first.nonce);
    if sources.iter().any(other_nonce) {
        return Err("nonce_differs");
    }
    let mut proofs = Proofs::default();
    for (json, source) in evidence.iter().zip(&sources) {
        let said = (
            &source.block,
            &source.word,
            source.logs.as_deref().unwrap_or_default(),
        );
        proofs = proofs.or(Proofs::of_permit(json, said, context, first)?);
    }
    let told = told(source, context, first)?;
    // Which of several transfers was this nonce's, is the source's word.
    if !told.as_ref().is_some_and(|told| told.is_one(permits)) {
        proofs.receipt = None;
    }
    let verdict = match is_set(&source.word, first) {
        false => unused(source, context, &proofs, permits, told),
        true => used(source, context, &proofs, permits, told),
    }?;
    Ok(weigh(verdict, context, &proofs))
}

fn is_set(word: &Word, permit: &Permit) -> bool {
    let (_, mask) = permit.slot();
    U256::from_be_bytes(*word) & mask != U256::ZERO
}

/// Sorts the logs; `None` when they were not to be had.
fn told<'a>(source: &'a Source, context: &Context, of: &Permit) -> Result<Option<Told<'a>>, Reason> {
    let Some(logs) = &source.logs else {
        return Ok(None);
    };
    let mut told = Told {
        moved: Vec::new(),
        burnt: Vec::new(),
        foreign: false,
    };
    for log in logs {
        source.block.places(source.range, log)?;
        if let Some(transfer) = logs::transfer_from(log, &context.asset, &of.from)? {
            told.moved.push((log, transfer));
        } else if let Some(burns) = invalidates(log, of) {
            told.burnt.extend(burns.then_some(log));
        } else {
            told.foreign = true;
        }
    }
    Ok(Some(told))
}

/// Whether an invalidation by the payer covers this nonce; `None` for any other log.
fn invalidates(log: &Log, of: &Permit) -> Option<bool> {
    let [INVALIDATION, owner] = log.topics.as_slice() else {
        return None;
    };
    let (word, mask) = log.data.split_first_chunk::<32>()?;
    let mask: &Word = mask.try_into().ok()?;
    if log.address != CONTRACT.0 || *owner != of.from.to_word() {
        return None;
    }
    let (at, bit) = of.slot();
    Some(U256::from_be_bytes(*word) == at && U256::from_be_bytes(*mask) & bit != U256::ZERO)
}

fn unused(
    source: &Source,
    context: &Context,
    proofs: &Proofs,
    permits: &[Permit],
    told: Option<Told>,
) -> Result<Verdict, Reason> {
    let first = permits.first().ok_or("authorization_missing")?;
    let burnt = |receipt: &Receipt| {
        receipt
            .logs
            .iter()
            .any(|log| invalidates(log, first) == Some(true))
    };
    if source.within.is_some()
        || told.as_ref().is_some_and(|told| !told.burnt.is_empty())
        || source.receipt.as_ref().is_some_and(burnt)
    {
        return Err("state_and_logs_disagree");
    }
    if told.as_ref().is_some_and(|told| told.foreign) {
        return Err("log_foreign");
    }
    let last = permits
        .iter()
        .map(|permit| permit.deadline)
        .max()
        .ok_or("authorization_missing")?;
    let last = last.to_u64().unwrap_or(u64::MAX);
    let not_yet = |reason| {
        let mut verdict = Verdict::new(VerdictKind::NotYet, &[reason]);
        verdict.decidable_at = last.checked_add(1).filter(|at| *at < 1 << 53);
        Ok(verdict)
    };
    if source.block.timestamp <= last {
        return not_yet("window_open");
    }
    let Some(limits) = finality(source.block.tag, context, proofs.state) else {
        return not_yet("not_final");
    };
    let told = told.ok_or("logs_missing")?;
    if source.range.is_some_and(|(_, to)| to < source.block.number) {
        return Err("logs_range_short");
    }
    // It may belong to another purchase on the same terms; while it stands in the way, a later block decides.
    let signed = |transfer: &Transfer| permits.iter().any(|one| covers(one, transfer));
    if told.moved.iter().any(|(_, transfer)| signed(transfer)) {
        return not_yet("transfer_matches");
    }
    Ok(Verdict::new(VerdictKind::Dead, limits))
}

fn used(
    source: &Source,
    context: &Context,
    proofs: &Proofs,
    permits: &[Permit],
    told: Option<Told>,
) -> Result<Verdict, Reason> {
    let first = permits.first().ok_or("authorization_missing")?;
    let unknown = |reasons: &[Reason]| Ok(Verdict::new(VerdictKind::UsedOrCancelled, reasons));
    let Some(told) = told else {
        return unknown(&["logs_missing"]);
    };
    let Some((after, by)) = source.within else {
        return unknown(&["use_not_found"]);
    };
    let bracket = after.number < by.number
        && by.number <= source.block.number
        && (by.number < source.block.number || by.word == source.word);
    if !bracket || is_set(&after.word, first) || !is_set(&by.word, first) {
        return Err("state_contradicts");
    }
    if !source
        .range
        .is_some_and(|(from, to)| from <= after.number + 1 && to >= by.number)
    {
        return unknown(&["logs_range_short"]);
    }
    let inside = |log: &Log| log.block_number > after.number && log.block_number <= by.number;
    let moved: Vec<_> = told.moved.iter().filter(|(log, _)| inside(log)).collect();
    let mut burnt = told.burnt.iter().filter(|log| inside(log));
    match (moved.as_slice(), burnt.next()) {
        // The block in which the nonce was used is known whole, and in it nothing moved: it was used for something else.
        ([], None) if context.trusts(proofs.receipt) => Ok(Verdict::new(VerdictKind::Cancelled, &[])),
        ([], None) if told.foreign => unknown(&["log_missing", "log_foreign"]),
        ([], None) => unknown(&["log_missing"]),
        ([], Some(log)) => {
            if let Err(reason) = confirmed(source, log)? {
                return unknown(&[reason]);
            }
            match finality(source.block.tag, context, proofs.receipt) {
                Some(limits) => Ok(Verdict::new(VerdictKind::Cancelled, limits).by(log)),
                None => unknown(&["not_final"]),
            }
        }
        (_, Some(_)) => unknown(&["transfer_and_invalidation"]),
        ([(log, transfer)], None) => {
            if let Err(reason) = confirmed(source, log)? {
                return unknown(&[reason]);
            }
            Ok(paid(source, context, proofs, permits, &[(log, *transfer)]).by(log))
        }
        (several, None) => {
            let ours: Vec<_> = several
                .iter()
                .filter(|(log, _)| carries(source, log, first))
                .map(|(log, transfer)| (*log, *transfer))
                .collect();
            let Some((log, _)) = ours.first() else {
                return unknown(&["transfer_ambiguous"]);
            };
            for (log, _) in &ours {
                if let Err(reason) = confirmed(source, log)? {
                    return unknown(&[reason]);
                }
            }
            Ok(paid(source, context, proofs, permits, &ours).by(log))
        }
    }
}

/// Whether the receipt at hand is that of the log's transaction and holds the log. The outer error contradicts, the inner one is a gap.
fn confirmed(source: &Source, log: &Log) -> Result<Result<(), Reason>, Reason> {
    let Some(receipt) = &source.receipt else {
        return Ok(Err("receipt_missing"));
    };
    if (receipt.transaction, receipt.block_hash, receipt.block_number)
        != (log.transaction, log.block_hash, log.block_number)
    {
        return Err("receipt_mismatch");
    }
    if !receipt.succeeded {
        return Err("receipt_reverted");
    }
    match receipt.logs.contains(log) {
        true => Ok(Ok(())),
        false => Err("receipt_log_missing"),
    }
}

/// Whether the log's transaction was called with this nonce.
fn carries(source: &Source, log: &Log, permit: &Permit) -> bool {
    source.transaction.as_ref().is_some_and(|(hash, input)| {
        *hash == log.transaction && input.windows(32).any(|word| word == permit.nonce)
    })
}

/// Whether the transfer is what the permit was signed for.
fn covers(permit: &Permit, transfer: &Transfer) -> bool {
    transfer.goes_to(&permit.to) && permit.covers(&Amount::from_be_bytes(transfer.value))
}

/// The transfers are of one transaction, and one of them is the use of the nonce.
fn paid(
    source: &Source,
    context: &Context,
    proofs: &Proofs,
    permits: &[Permit],
    moved: &[(&Log, Transfer)],
) -> Verdict {
    let limits = finality(source.block.tag, context, proofs.receipt).unwrap_or(&["not_final"]);
    let signed = |permit: &Permit| moved.iter().any(|(_, one)| covers(permit, one));
    let mut paid = permits
        .iter()
        .enumerate()
        .filter(|(_, permit)| signed(permit))
        .map(|(index, _)| index);
    let found = match (paid.next(), paid.next()) {
        (None, _) => Verdict {
            otherwise: match moved {
                [(_, only)] => Some(Amount::from_be_bytes(only.value)),
                _ => None,
            },
            ..Verdict::new(VerdictKind::PaidWrongTerms, &[limits, &["terms_differ"]].concat())
        },
        (Some(index), None) => Verdict {
            index: Some(index),
            ..Verdict::new(VerdictKind::Paid, limits)
        },
        // Later windows of the same terms: paid as signed, and the logs can't tell by which of them.
        (Some(_), Some(_)) => Verdict::new(VerdictKind::Paid, &[limits, &["index_ambiguous"]].concat()),
    };
    let upto = permits.iter().any(|permit| permit.facilitator.is_some());
    match upto && found.verdict == VerdictKind::Paid {
        true => with_amount(found, permits, moved),
        false => found,
    }
}

/// What moved, when it is one amount.
fn with_amount(mut paid: Verdict, permits: &[Permit], moved: &[(&Log, Transfer)]) -> Verdict {
    let counts = |one: &Transfer| permits.iter().any(|permit| covers(permit, one));
    let amounts = moved.iter().map(|(_, one)| one).filter(|one| counts(one));
    let mut amounts = amounts.map(|one| Amount::from_be_bytes(one.value));
    let first = amounts.next();
    match amounts.all(|other| Some(other) == first) {
        true => paid.amount = first,
        false => paid.reasons.push("amount_ambiguous".to_owned()),
    }
    if paid.amount == Some(Amount::ZERO) {
        paid.money = Money::None;
    }
    paid
}
