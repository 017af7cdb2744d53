//! What went back of the second charges.

use super::purchase::Transfer;
use crate::amount::Amount;
use crate::error::{Error, Next};
use crate::evidence::{self, Context, Refund};
use crate::finding::{Finding, Severity};
use crate::hex;
use crate::json::Json;
use crate::sorting::sort_by;
use crate::time::Seconds;

/// A refund that is said to have been made, and the raw reads that show it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Given {
    refund: Refund,
    evidence: Vec<Json>,
}

impl Given {
    /// Reads `{refund, evidence}`, the evidence of one source or a list. Errors: those of the fields with their path.
    pub fn from_json(json: &Json) -> Result<Given, Error> {
        Ok(Given {
            refund: json.read("refund", Refund::from_json)?,
            evidence: json.read("evidence", |told| match told {
                Json::Object(_) => Ok(vec![told.clone()]),
                list => Ok(list.as_array()?.to_vec()),
            })?,
        })
    }
}

/// What a refund transaction gave back of a charge.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Returned {
    pub amount: Amount,
    /// The transaction that gave it back.
    pub transaction: String,
    /// The time of the final block by which it was read.
    pub seen: Seconds,
}

/// A second charge, and the finding that tells of it.
pub(super) struct Owed<'a> {
    pub transfer: Transfer<'a>,
    pub finding: usize,
}

impl Owed<'_> {
    /// Whether the refund is of this very transfer.
    fn is_of(&self, refund: &Refund) -> bool {
        let slot = &self.transfer.slot;
        let transaction = Some(hex::encode(refund.transaction));
        (slot.payer, &slot.network, slot.asset) == (refund.payer, &refund.network, refund.asset)
            && self.transfer.transaction == transaction
    }
}

/// Writes into the findings how much of each second charge went back, and gives each such return with its finding; what went back whole wakes nobody. A refund counts for what it
/// says, never for more than is open. One transfer counts once: the larger refunds choose first, so that none takes what only another fits.
pub(super) fn credit(found: &mut [Finding], owed: &[Owed], given: &[Given]) -> Vec<(usize, Returned)> {
    let mut returns = Vec::new();
    let mut given: Vec<(&Given, String)> = given
        .iter()
        .filter(|one| one.refund.amount > Amount::ZERO)
        .map(|one| (one, Json::Array(one.evidence.clone()).to_text()))
        .collect();
    sort_by(&mut given, |one, other| {
        (other.0.refund.amount, &one.1).cmp(&(one.0.refund.amount, &other.1))
    });
    let mut counted = Vec::new();
    for (Given { refund, evidence }, _) in given {
        // Two charges in one transaction: the one that it makes whole comes first, then the one of which most is open.
        let charges = owed.iter().filter(|one| one.is_of(refund));
        let open = charges.filter_map(|one| Some((open(found.get(one.finding)?)?, one)));
        let Some((open, charge)) = open.max_by_key(|(open, _)| (*open == refund.amount, *open)) else {
            continue;
        };
        let context = Context::new(refund.network.clone(), refund.asset);
        let Ok(back) = evidence::refunded(refund, &context, evidence) else {
            continue;
        };
        let slot = |index: u64| (refund.network.clone(), back.transaction, index);
        // Where a bundle proves when the charge was, another word about it does not count.
        let later = |index: &u64| {
            let proven = charge.transfer.position.filter(|_| charge.transfer.proven);
            proven.is_none_or(|charged| (back.block, *index) > charged)
        };
        let mut enough = back.transfers.iter().copied().filter(later);
        let Some(index) = enough.find(|index| !counted.contains(&slot(*index))) else {
            continue;
        };
        counted.push(slot(index));
        if let Some(finding) = found.get_mut(charge.finding) {
            let before = finding.refunded.unwrap_or(Amount::ZERO);
            finding.refunded = before.checked_add(refund.amount.min(open));
            let returned = Returned {
                amount: refund.amount.min(open),
                transaction: hex::encode(back.transaction),
                seen: back.seen,
            };
            returns.push((charge.finding, returned));
            if refund.amount >= open {
                finding.severity = Severity::Info;
                finding.next = Next::Stop;
                finding.why = "Money moved a second time for one purchase, and went back.";
            }
        }
    }
    returns
}

/// How much of what a finding tells has not gone back; none when all has, or when it is not known how much moved.
fn open(finding: &Finding) -> Option<Amount> {
    let (amount, ..) = finding.amount.as_ref()?;
    let open = amount.checked_sub(finding.refunded.unwrap_or(Amount::ZERO))?;
    (open > Amount::ZERO).then_some(open)
}
