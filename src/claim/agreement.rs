//! Whether a claim agrees with itself: what was signed, what was read, what is said.

use super::{Claim, Event, Transfer, What};
use crate::amount::Amount;
use crate::authorization::{Authorization, Method};
use crate::eip3009;
use crate::eip712::Domain;
use crate::evidence::{self, Context, Verdict, VerdictKind};
use crate::permit2::Permit;
use crate::time::Seconds;
use crate::x402::payment_required::Signing;

impl Claim {
    /// The authorization to look for on the chain. Where it was lost, one with the same effect: an end that never comes, so that
    /// nothing is concluded from a nonce that is still unused. Of that one the nonce, the recipient and the amount count alone.
    pub fn authorization(&self, transfer: &Transfer) -> Authorization {
        if let Some(signed) = &transfer.signed {
            return signed.authorization.clone();
        }
        let chain_id = self.network.chain_id().unwrap_or(0);
        let (from, to, nonce) = (self.payer, transfer.pay_to, transfer.nonce);
        let end = Amount::from_u64(u64::MAX);
        match self.method {
            // A claim of a transaction has it: reading refuses one without.
            Method::Eip3009 | Method::Tempo => {
                let one = eip3009::Authorization {
                    from,
                    to,
                    value: transfer.amount,
                    valid_after: Amount::ZERO,
                    valid_before: end,
                    nonce,
                };
                let domain = Domain {
                    name: String::new(),
                    version: String::new(),
                    chain_id,
                    verifying_contract: self.asset,
                };
                Authorization::Eip3009(one, domain)
            }
            Method::Permit2 => {
                let signing = self.terms().ok().map(|terms| terms.signing);
                let facilitator = match signing {
                    Some(Signing::Upto(facilitator)) => Some(facilitator),
                    _ => None,
                };
                let permit = Permit {
                    from,
                    token: self.asset,
                    amount: transfer.amount,
                    nonce,
                    deadline: end,
                    to,
                    facilitator,
                    valid_after: Amount::ZERO,
                };
                Authorization::Permit2(permit, chain_id)
            }
        }
    }

    /// The first thing in which the claim contradicts itself, its statement aside.
    pub fn contradiction(&self) -> Option<&'static str> {
        let all = |holds: fn(&Claim, &Transfer) -> bool| self.transfers().all(|one| holds(self, one));
        let rules: [(&'static str, bool); 5] = [
            (
                "The authorizations are not all there, or not all lost.",
                self.all_or_none(),
            ),
            (
                "The authorization is about another payment.",
                all(Claim::one_payment),
            ),
            (
                "The payer's own reads do not show this transaction.",
                all(|claim, one| one.evidence.is_empty() || claim.was_read(one)),
            ),
            (
                "Whether the payment is final is not what the payer's own reads say.",
                self.same_finality(),
            ),
            (
                "A transaction is named that nothing here shows.",
                all(Claim::is_named),
            ),
        ];
        rules.into_iter().find(|(_, holds)| !holds).map(|(why, _)| why)
    }

    /// One attempt signed all of them.
    fn all_or_none(&self) -> bool {
        let attempt = |one: &Transfer| one.signed.as_ref().map(|signed| signed.attempt);
        self.parts
            .iter()
            .all(|part| attempt(part) == attempt(&self.first))
    }

    /// With scheme `upto` less may have moved than was signed for.
    fn one_payment(&self, transfer: &Transfer) -> bool {
        transfer.signed.as_ref().is_none_or(|signed| {
            let one = &signed.authorization;
            let amount = match one.is_upto() {
                true => transfer.amount <= one.value(),
                false => transfer.amount == one.value(),
            };
            amount
                && (one.from(), one.to(), one.nonce()) == (self.payer, transfer.pay_to, transfer.nonce)
                && (Some(one.chain_id()), one.asset()) == (self.network.chain_id(), self.asset)
        })
    }

    /// What the payer's own reads say of one transfer.
    fn verdict(&self, transfer: &Transfer) -> Verdict {
        let context = Context::new(self.network.clone(), self.asset);
        evidence::resolve_signed(&[self.authorization(transfer)], &context, &transfer.evidence)
    }

    fn was_read(&self, transfer: &Transfer) -> bool {
        let verdict = self.verdict(transfer);
        verdict.verdict == VerdictKind::Paid
            && verdict.transaction == transfer.transaction
            && verdict.amount.is_none_or(|moved| moved == transfer.amount)
    }

    /// One part that can still be replaced is enough.
    fn same_finality(&self) -> bool {
        let mut reads = self.transfers().filter(|one| !one.evidence.is_empty()).peekable();
        reads.peek().is_none() || reads.any(|one| self.verdict(one).is_provisional()) == self.provisional
    }

    /// A transaction comes from a read of the chain or from the seller.
    fn is_named(&self, transfer: &Transfer) -> bool {
        let Some(named) = transfer.transaction.as_deref() else {
            return true;
        };
        let tells = |event: &Event| match &event.what {
            What::Observed { transaction, .. } | What::Read { transaction, .. } => transaction
                .as_deref()
                .is_some_and(|one| one.eq_ignore_ascii_case(named)),
            _ => false,
        };
        transfer.signed.is_none() || self.timeline.iter().any(tells)
    }

    /// The first thing in which the statement does not fit the time line.
    pub fn misstatement(&self) -> Option<&'static str> {
        let times: Vec<Seconds> = self.timeline.iter().map(|event| event.at).collect();
        let last = times.last().copied().unwrap_or(0);
        let rules: [(&'static str, bool); 4] = [
            (
                "The time line is not in order, or ends after the claim was made.",
                times.is_sorted() && last <= self.at,
            ),
            (
                "The payment was not planned, signed and sent in this order.",
                self.sent(),
            ),
            (
                "The time line does not hold this claim, once and for this reason.",
                self.claimed(),
            ),
            ("Status and time line differ about a release.", self.released()),
        ];
        rules.into_iter().find(|(_, holds)| !holds).map(|(why, _)| why)
    }

    fn sent(&self) -> bool {
        let Some(signed) = &self.first.signed else {
            return !self.timeline.iter().any(|event| event.attempt.is_some());
        };
        let at = |what: &What| {
            let own = |event: &Event| event.attempt == Some(signed.attempt) && event.what == *what;
            self.timeline.iter().position(own)
        };
        let steps = [at(&What::Planned), at(&What::Signed), at(&What::Sent)];
        steps.iter().all(Option::is_some) && steps.is_sorted()
    }

    fn claimed(&self) -> bool {
        let mut whys = self.timeline.iter().filter_map(|event| match &event.what {
            What::Claimed { why } => Some(why),
            _ => None,
        });
        whys.next() == Some(&self.statement.why) && whys.next().is_none()
    }

    fn released(&self) -> bool {
        let mut reasons = self.timeline.iter().filter_map(|event| match &event.what {
            What::Released { reason } => Some(reason),
            _ => None,
        });
        match reasons.next() {
            None => self.statement.status == "paid_not_delivered" && self.statement.reason.is_none(),
            Some(reason) => {
                self.statement.status == "released"
                    && *reason == self.statement.reason
                    && reasons.next().is_none()
            }
        }
    }
}
