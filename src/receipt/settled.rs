//! What the chain shows, held against what a document says of it.

use super::checks::Checks;
use crate::evidence::{Verdict, VerdictKind};
use crate::hex;
use crate::json::Json;
use crate::network::Network;

/// What the evidence says of the authorizations in question.
pub(super) type Judge<'a> = &'a dyn Fn(&[Json]) -> Verdict;

/// The ids of [`check`]'s checks.
pub(super) const CHAIN: [&str; 4] = [
    "chain.source",
    "chain.authorization",
    "chain.transfer",
    "chain.finality",
];

/// What a document says of the money of one authorization.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Said {
    /// It moved.
    Moved,
    /// It never moved, and never can.
    Never,
    /// Neither.
    Nothing,
}

impl Said {
    /// Of a document that says that the money moved, or does not say it.
    pub fn of(moved: bool) -> Said {
        match moved {
            true => Said::Moved,
            false => Said::Nothing,
        }
    }
}

/// Whether the evidence is about this nonce. Where its reader did not write down which one was read, the log of an EIP-3009 nonce says it.
pub(super) fn names(evidence: &Json, nonce: &[u8; 32]) -> bool {
    let named = |topic: &Json| {
        topic
            .as_str()
            .is_ok_and(|text| hex::decode_array(text) == Ok(*nonce))
    };
    if let Some(own) = evidence.get("nonce") {
        return named(own);
    }
    let logs = evidence
        .get("logs")
        .and_then(|logs| logs.as_array().ok())
        .unwrap_or_default();
    logs.iter()
        .filter_map(|log| log.get("topics")?.as_array().ok())
        .any(|topics| topics.get(2).is_some_and(named))
}

/// The four checks of the chain. `subject` judges the evidence where it is known what to look for.
pub(super) fn check(
    checks: &mut Checks,
    subject: Option<Judge>,
    evidence: &[Json],
    said: Said,
) -> Option<Verdict> {
    fn missing(checks: &mut Checks, from: usize, why: &str) {
        CHAIN.iter().skip(from).for_each(|id| checks.missing(id, why));
    }
    if evidence.is_empty() {
        missing(checks, 0, "No chain evidence was handed in for this payment.");
        return None;
    }
    let Some(subject) = subject else {
        missing(
            checks,
            0,
            "Which authorization and token to look for is not known.",
        );
        return None;
    };
    let verdict = subject(evidence);
    let reasons = checks.told(|| match verdict.reasons.as_slice() {
        [] => format!("The chain says {}.", verdict.verdict.as_str()),
        reasons => format!(
            "The chain says {}: {}.",
            verdict.verdict.as_str(),
            reasons.join(", ")
        ),
    });
    let reasons = reasons.unwrap_or_default();
    if verdict.verdict == VerdictKind::Unreadable {
        missing(checks, 0, &reasons);
        return Some(verdict);
    }
    match verdict.proved_in {
        Some(block) => checks.pass_because(
            "chain.source",
            &format!(
                "Proven under the header of block {}, which the caller trusts.",
                hex::encode(block)
            ),
        ),
        None => checks.pass("chain.source"),
    }
    match verdict.verdict {
        VerdictKind::Dead | VerdictKind::Cancelled if said == Said::Never && verdict.decides() => {
            checks.pass_because(
                "chain.authorization",
                "It never moved money and never can, as the record says.",
            );
            checks.pass_because("chain.transfer", "Nothing moved, as the record says.");
            checks.pass("chain.finality");
        }
        VerdictKind::Paid | VerdictKind::PaidWrongTerms if said == Said::Never => {
            const WHY: &str = "The record says that it never moved, and the chain shows that it did.";
            checks.fail("chain.authorization", WHY);
            missing(checks, 2, WHY);
        }
        VerdictKind::Dead | VerdictKind::Cancelled if said == Said::Moved => {
            checks.fail(
                "chain.authorization",
                "The chain proves that this authorization never moved money.",
            );
            missing(checks, 2, "Nothing moved.");
        }
        VerdictKind::Paid | VerdictKind::PaidWrongTerms => {
            checks.pass("chain.authorization");
            match verdict.verdict {
                VerdictKind::Paid => checks.pass("chain.transfer"),
                _ => checks.fail("chain.transfer", "The token's Transfer is not the one signed."),
            }
            if verdict.reasons.iter().any(|reason| reason == "not_final") {
                checks.missing("chain.finality", "The block that was read can still be replaced.");
            } else {
                checks.pass("chain.finality");
            }
        }
        _ => missing(checks, 1, &reasons),
    }
    Some(verdict)
}

/// Checks that the named transaction is the one that paid.
pub(super) fn transaction(
    checks: &mut Checks,
    network: Option<&Network>,
    named: Option<&str>,
    verdict: Option<&Verdict>,
) {
    const ID: &str = "settlement.transaction";
    let Some(named) = named.filter(|named| !named.is_empty()) else {
        return checks.missing(ID, "The document names no transaction.");
    };
    if network.is_some_and(|network| network.chain_id().is_none()) {
        return checks.missing(ID, "Transactions of this network can't be checked here.");
    }
    let Ok(hash) = hex::decode_array::<32>(named) else {
        return checks.fail(ID, "Not the hash of a transaction.");
    };
    let word =
        verdict.is_some_and(|verdict| verdict.reasons.iter().any(|one| one == "transaction_not_proved"));
    match verdict.and_then(|verdict| verdict.transaction.as_ref()) {
        Some(found) if word && *found == hex::encode(hash) => checks.skip(
            ID,
            "It is the one that the source names. What is proven is the receipt in its block, which does not hold the hash.",
        ),
        Some(found) => checks.equal(ID, found, &hex::encode(hash)),
        None => checks.missing(ID, "The chain evidence shows no transaction to compare with."),
    }
}
