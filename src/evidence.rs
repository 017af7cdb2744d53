//! Reading the chain: what raw JSON-RPC answers say about the authorizations signed under one nonce.
//!
//! | state | logs | verdict |
//! |---|---|---|
//! | unused, block before the last `validBefore` | none, or not to be had | `not_yet` |
//! | unused, final block at or past it | asked for and empty | `dead` |
//! | used | `AuthorizationUsed` and the signed Transfer | `paid` |
//! | used | `AuthorizationUsed`, another Transfer | `paid_wrong_terms` |
//! | used | a final `AuthorizationCanceled` with its receipt | `cancelled` |
//! | used | none that tells | `used_or_cancelled` |
//! | anything malformed, contradictory or disagreeing | | `unreadable` |
//!
//! The token demands `validAfter < block time < validBefore`, both strict: at a block whose time is `validBefore` the
//! authorization can no longer land, one second earlier it can.

mod bitmap_proof;
mod header;
mod history;
mod logs;
mod permit2;
mod proof;
mod receipt_proof;
mod refund;
mod rpc;
mod storage_proof;
mod tempo;
mod verdict;

use crate::address::Address;
use crate::amount::Amount;
use crate::authorization::Authorization as Signed;
use crate::eip3009::Authorization;
use crate::error::{Error, Money};
use crate::json::Json;
use crate::network::Network;
use crate::permit2::Permit;
use crate::tempo::Payment;
use logs::Event;
use proof::Proofs;
use rpc::{Log, Reason, Receipt, Source, Tag};

pub use bitmap_proof::{bitmap_slot, proves_permits};
pub use header::Header;
pub use history::{history, permit_nonces, Closed, History, How};
pub use receipt_proof::receipt_proof_from;
pub use refund::{refunded, Refund, Refunded};
pub use storage_proof::{implementation_slots, state_slots, Layout};
pub use tempo::decidable_at;
pub use verdict::{Verdict, VerdictKind};

/// Which token on which network is read, and what is trusted.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Context {
    /// The chain.
    pub network: Network,
    /// The token contract.
    pub asset: Address,
    /// Whether a `safe` block counts as final on this network.
    pub trust_safe: bool,
    /// The blocks, by hash, that are taken as final truth. With a list the sources are not trusted: what moves money or
    /// frees it must be proven under one of these headers. Without one, the sources are.
    pub trusted_blocks: Option<Vec<[u8; 32]>>,
    /// Token code that is known beside the pinned.
    pub layouts: Vec<Layout>,
}

impl Context {
    /// The sources are trusted, a `safe` block is not final.
    pub fn new(network: Network, asset: Address) -> Context {
        Context {
            network,
            asset,
            trust_safe: false,
            trusted_blocks: None,
            layouts: Vec::new(),
        }
    }

    /// Reads `{network, asset, trustSafe?, trustedBlocks?, layouts?}`. Errors in this order: those of the network, the asset, the
    /// flag, the hashes, the layouts.
    pub fn from_json(json: &Json) -> Result<Context, Error> {
        Ok(Context {
            network: json.read("network", Network::from_json)?,
            asset: json.read("asset", Address::from_json)?,
            trust_safe: json.read_opt("trustSafe", Json::as_bool)?.unwrap_or(false),
            trusted_blocks: json.read_opt("trustedBlocks", block_hashes)?,
            layouts: json.read_opt("layouts", layouts)?.unwrap_or_default(),
        })
    }

    fn trusts(&self, block: Option<[u8; 32]>) -> bool {
        let listed = |block| {
            self.trusted_blocks
                .as_ref()
                .is_some_and(|list| list.contains(&block))
        };
        block.is_some_and(listed)
    }
}

/// A list of block hashes. Errors: `invalid_type`, `hex_invalid`.
pub fn block_hashes(json: &Json) -> Result<Vec<[u8; 32]>, Error> {
    json.as_list(Json::as_hex)
}

/// A list of layouts. Errors: those of [`Layout::from_json`].
pub fn layouts(json: &Json) -> Result<Vec<Layout>, Error> {
    json.as_list(Layout::from_json)
}

/// The number of the block at which a source was read.
pub fn block_number(evidence: &Json) -> Option<u64> {
    Some(rpc::block(evidence.get("block")?)?.number)
}

/// Reads the evidence of one or several sources for the authorizations signed under one nonce.
///
/// Never fails: what can't be read is `unreadable`, with the reason. Several sources must agree on every point, the block
/// included; one may name its `nonce`, which must be this one (`nonce_differs`). Reasons on a verdict that stands: `not_final`, `safe_only`, `window_open`, `logs_missing`, `log_missing`,
/// `log_foreign`, `receipt_missing`, `transfer_missing`, `terms_differ`, `index_ambiguous`; of proofs `proved` (under the header of a
/// trusted block), `transaction_not_proved` (the transaction's hash is the source's word), `included_in_given_header` (proven, under a
/// header that nobody vouches for), `code_unknown`. A proof that does not hold, or shows something else than its source says,
/// makes all of it `unreadable`.
pub fn resolve(authorizations: &[Authorization], context: &Context, evidence: &[Json]) -> Verdict {
    decide(authorizations, context, evidence)
        .unwrap_or_else(|reason| Verdict::new(VerdictKind::Unreadable, &[reason]))
}

/// The same for the permits signed under one nonce of Permit2. The evidence has `nonceBitmap`, the payer's word of the bitmap at the
/// block, in place of `authorizationState`, and may name its `nonce`; `logs` are every Transfer of the token from the payer and every
/// `UnorderedNonceInvalidation` of the payer; of a used nonce `usedWithin: {after, by}`, each `{number, nonceBitmap}`, are two
/// reads between which it was used, and `transaction: {hash, input}` is the one among several that carries the nonce.
/// A permit of scheme `upto` is paid by a Transfer of at most its amount, which the verdict names; one of nothing is `paid` with the
/// amount 0 and no money moved. A use without any Transfer stays `used_or_cancelled`: a log that is missing proves nothing.
/// Reasons besides those of [`resolve`]: `use_not_found`, `logs_range_short`, `transfer_matches` (a Transfer as signed, of an
/// unused nonce), `transfer_and_invalidation`, `transfer_ambiguous`, `amount_ambiguous` (of several transfers in one transaction each could be it).
/// Of proofs: what became of a used nonce needs the word of the bitmap on both sides of its block, so that the bit is known to be set in it, and every
/// receipt of that block (`receipts_malformed`, `receipts_root_mismatch`; `receipts_disagree` where the source's logs are others): one payment and no
/// invalidation, or the other way round. A block without either is `cancelled`: the nonce went with another token. Which of several
/// payments on different terms was the nonce's, the source's call data says: that is not proven.
pub fn resolve_permits(permits: &[Permit], context: &Context, evidence: &[Json]) -> Verdict {
    permit2::decide(permits, context, evidence)
        .unwrap_or_else(|reason| Verdict::new(VerdictKind::Unreadable, &[reason]))
}

/// The same for one payment of a `tempo` charge. The evidence has no state: `receipt` is the answer by the transaction's hash, null for none,
/// of a payment without sponsor; `logs` are every `TransferWithMemo` of the token from the payer to the recipient within `logsRange`,
/// from a block `searchedFrom: {number, timestamp}` on that is six minutes older than `validBefore` or block 0, to the block of the read or to `searchedTo`, a
/// minute past `validBefore`; `settled` is the receipt of the
/// transaction that such a log names where it is another. A payment is `dead` a minute past `validBefore` at the earliest, and only by all
/// reads that apply. Reasons besides those of [`resolve`]: `other_transaction` (the challenge was paid, not by these bytes),
/// `duplicate_transfer` (twice: proven), `transfer_matches` (a dictated memo, which names no challenge), `reverted`,
/// `receipt_and_logs_disagree`, `receipt_after_block`, `network_differs`, `asset_differs`. There are no proofs under a header:
/// with trusted blocks only `not_yet` stands, and `not_provable` says so of the rest.
pub fn resolve_tempo(payment: &Payment, context: &Context, evidence: &[Json]) -> Verdict {
    tempo::decide(payment, context, evidence)
        .unwrap_or_else(|reason| Verdict::new(VerdictKind::Unreadable, &[reason]))
}

/// The same for what was signed of any method under one nonce: `authorizations_differ` where the methods do. Transactions for one
/// challenge compete for nothing: the evidence is of the last of them, for which every earlier one was proven dead.
pub fn resolve_signed(signed: &[Signed], context: &Context, evidence: &[Json]) -> Verdict {
    let (mut authorizations, mut permits, mut transactions) = (Vec::new(), Vec::new(), Vec::new());
    for one in signed {
        match one {
            Signed::Eip3009(authorization, _) => authorizations.push(authorization.clone()),
            Signed::Permit2(permit, _) => permits.push(permit.clone()),
            Signed::Tempo(order) => transactions.push(&order.payment),
        }
    }
    if let (true, true, Some(payment)) = (authorizations.is_empty(), permits.is_empty(), transactions.last())
    {
        return resolve_tempo(payment, context, evidence);
    }
    match (authorizations.is_empty(), permits.is_empty()) {
        (false, false) => Verdict::new(VerdictKind::Unreadable, &["authorizations_differ"]),
        _ if !transactions.is_empty() => Verdict::new(VerdictKind::Unreadable, &["authorizations_differ"]),
        (true, false) => resolve_permits(&permits, context, evidence),
        _ => resolve(&authorizations, context, evidence),
    }
}

fn decide(authorizations: &[Authorization], context: &Context, evidence: &[Json]) -> Result<Verdict, Reason> {
    let (first, siblings) = authorizations.split_first().ok_or("authorization_missing")?;
    if siblings
        .iter()
        .any(|sibling| (sibling.from, sibling.nonce) != (first.from, first.nonce))
    {
        return Err("authorizations_differ");
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
        proofs = proofs.or(Proofs::read(json, source, context, first)?);
    }
    let found = find(source, context, first)?;
    let verdict = match (source.used, found) {
        (false, Found::Event(..)) => Err("state_and_logs_disagree"),
        (false, found) => unused(source, context, &proofs, authorizations, &found),
        (true, Found::Event(event, log)) => used(source, context, &proofs, authorizations, event, log),
        (true, Found::NotAsked) => Ok(Verdict::new(VerdictKind::UsedOrCancelled, &["logs_missing"])),
        (true, Found::Nothing { foreign: false }) => {
            Ok(Verdict::new(VerdictKind::UsedOrCancelled, &["log_missing"]))
        }
        (true, Found::Nothing { foreign: true }) => Ok(Verdict::new(
            VerdictKind::UsedOrCancelled,
            &["log_missing", "log_foreign"],
        )),
    }?;
    Ok(weigh(verdict, context, &proofs))
}

/// Whether a verdict stands: on the word of the sources, or proven under the header of a trusted block.
fn weigh(mut verdict: Verdict, context: &Context, proofs: &Proofs) -> Verdict {
    use VerdictKind::{Cancelled, Dead, NotYet, Paid, PaidWrongTerms};
    let on_state = matches!(verdict.verdict, Dead | NotYet);
    let on_receipt = matches!(verdict.verdict, Paid | PaidWrongTerms | Cancelled);
    let proof = match on_state {
        true => proofs.state,
        false => proofs.receipt.filter(|_| on_receipt),
    };
    let limit = match proof {
        Some(block) if context.trusts(Some(block)) => {
            verdict.proved_in = Some(block);
            verdict.reasons.push("proved".to_owned());
            if on_receipt {
                verdict.reasons.push("transaction_not_proved".to_owned());
            }
            return verdict;
        }
        Some(_) => Some("included_in_given_header"),
        None => Some("code_unknown").filter(|_| on_state && proofs.code_unknown),
    };
    let decides = on_receipt || verdict.verdict == Dead;
    if context.trusted_blocks.is_some() && decides {
        return Verdict::new(VerdictKind::Unreadable, &[limit.unwrap_or("not_proved")]);
    }
    verdict.reasons.extend(limit.map(str::to_owned));
    verdict
}

/// Whether a verdict stands of which nothing is ever proven under a header: with trusted blocks none that decides does.
fn unprovable(verdict: Verdict, context: &Context) -> Verdict {
    use VerdictKind::{NotYet, Unreadable, UsedOrCancelled};
    let open = matches!(verdict.verdict, NotYet | UsedOrCancelled | Unreadable);
    match context.trusted_blocks.is_some() && !open {
        true => Verdict::new(Unreadable, &["not_provable"]),
        false => verdict,
    }
}

/// What the logs hold about the nonce.
enum Found<'a> {
    NotAsked,
    /// `foreign`: there are logs that the question did not ask for, so it may have been another question.
    Nothing {
        foreign: bool,
    },
    Event(Event, &'a Log),
}

fn find<'a>(source: &'a Source, context: &Context, of: &Authorization) -> Result<Found<'a>, Reason> {
    let Some(logs) = &source.logs else {
        return Ok(Found::NotAsked);
    };
    let mut found = logs
        .iter()
        .filter_map(|log| Some((logs::event(log, &context.asset, of)?, log)));
    let Some((event, log)) = found.next() else {
        return Ok(Found::Nothing {
            foreign: !logs.is_empty(),
        });
    };
    // A nonce is used or cancelled once.
    if found.next().is_some() {
        return Err("logs_conflict");
    }
    source.block.places(source.range, log)?;
    Ok(Found::Event(event, log))
}

fn unused(
    source: &Source,
    context: &Context,
    proofs: &Proofs,
    authorizations: &[Authorization],
    found: &Found,
) -> Result<Verdict, Reason> {
    let told = |receipt: &Receipt| {
        let mut logs = receipt.logs.iter();
        logs.any(|log| {
            authorizations
                .iter()
                .any(|one| logs::event(log, &context.asset, one).is_some())
        })
    };
    if source.receipt.as_ref().is_some_and(told) {
        return Err("state_and_logs_disagree");
    }
    if matches!(found, Found::Nothing { foreign: true }) {
        return Err("log_foreign");
    }
    let last = authorizations
        .iter()
        .map(|one| one.valid_before)
        .max()
        .ok_or("authorization_missing")?;
    let last = last.to_u64().unwrap_or(u64::MAX);
    let not_yet = |reason| {
        let mut verdict = Verdict::new(VerdictKind::NotYet, &[reason]);
        verdict.decidable_at = Some(last).filter(|at| *at < 1 << 53);
        Ok(verdict)
    };
    if source.block.timestamp < last {
        return not_yet("window_open");
    }
    let Some(limits) = finality(source.block.tag, context, proofs.state) else {
        return not_yet("not_final");
    };
    match (found, source.range) {
        (Found::NotAsked, _) => Err("logs_missing"),
        (_, Some((_, to))) if to < source.block.number => Err("logs_range_short"),
        _ => Ok(Verdict::new(VerdictKind::Dead, limits)),
    }
}

/// What limits a final block's word, or `None` when the block is not final. A trusted header is final by whatever tag its block
/// was asked.
fn finality(tag: Tag, context: &Context, proof: Option<[u8; 32]>) -> Option<&'static [Reason]> {
    match tag {
        _ if context.trusts(proof) => Some(&[]),
        Tag::Finalized => Some(&[]),
        Tag::Safe if context.trust_safe => Some(&["safe_only"]),
        Tag::Safe | Tag::Latest => None,
    }
}

fn used(
    source: &Source,
    context: &Context,
    proofs: &Proofs,
    authorizations: &[Authorization],
    event: Event,
    log: &Log,
) -> Result<Verdict, Reason> {
    let Some(receipt) = &source.receipt else {
        return Ok(Verdict::new(VerdictKind::UsedOrCancelled, &["receipt_missing"]).by(log));
    };
    if (receipt.transaction, receipt.block_hash, receipt.block_number)
        != (log.transaction, log.block_hash, log.block_number)
    {
        return Err("receipt_mismatch");
    }
    if !receipt.succeeded {
        return Err("receipt_reverted");
    }
    if !receipt.logs.contains(log) {
        return Err("receipt_log_missing");
    }
    let limits = finality(source.block.tag, context, proofs.receipt);
    if event == Event::Cancelled {
        return Ok(match limits {
            Some(limits) => Verdict::new(VerdictKind::Cancelled, limits),
            None => Verdict::new(VerdictKind::UsedOrCancelled, &["not_final"]),
        }
        .by(log));
    }
    paid(
        authorizations,
        context,
        receipt,
        log,
        limits.unwrap_or(&["not_final"]),
    )
}

fn paid(
    authorizations: &[Authorization],
    context: &Context,
    receipt: &Receipt,
    log: &Log,
    limits: &[Reason],
) -> Result<Verdict, Reason> {
    let payer = authorizations.first().ok_or("authorization_missing")?.from;
    let transfer = logs::transfer_after(log, receipt, &context.asset, &payer)?;
    let wrong = |reason| Verdict::new(VerdictKind::PaidWrongTerms, &[limits, &[reason]].concat()).by(log);
    let Some(transfer) = transfer else {
        // The token says used, and no token moved: nothing is proven about the money.
        return Ok(Verdict {
            money: Money::Possible,
            ..wrong("transfer_missing")
        });
    };
    let mut signed = authorizations
        .iter()
        .enumerate()
        .filter(|(_, one)| transfer.is(&one.to, &one.value))
        .map(|(index, _)| index);
    let Some(index) = signed.next() else {
        return Ok(Verdict {
            otherwise: Some(Amount::from_be_bytes(transfer.value)),
            ..wrong("terms_differ")
        });
    };
    if signed.next().is_some() {
        // Later windows of the same terms: paid as signed, and the logs can't tell by which of them.
        return Ok(Verdict::new(VerdictKind::Paid, &[limits, &["index_ambiguous"]].concat()).by(log));
    }
    Ok(Verdict {
        index: Some(index),
        ..Verdict::new(VerdictKind::Paid, limits).by(log)
    })
}
