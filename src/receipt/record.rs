//! The intent records of a bundle, read strictly, and whether a record contradicts itself.

mod read;

use crate::address::Address;
use crate::amount::Amount;
use crate::authorization::{Authorization, Method};
use crate::error::Error;
use crate::evidence::{self, Context, VerdictKind};
use crate::fingerprint::Request;
use crate::json::Json;
use crate::mpp::receipt::Receipt;
use crate::network::Network;
use crate::quote::{Offered, Protocol};
use crate::x402::settlement_response::{self, SettlementResponse};

pub(crate) use read::bundle;

/// One purpose and everything that was done for it.
pub(crate) struct Record<'a> {
    /// As it came.
    pub json: &'a Json,
    pub intent_id: &'a str,
    pub principal: Address,
    pub id: Option<&'a str>,
    pub scope: &'a str,
    pub parent: Option<&'a str>,
    pub occurrence: u64,
    pub request: Request,
    pub fingerprint: [u8; 32],
    pub status: &'a str,
    pub keyed: bool,
    /// The payer says that it is a contract.
    pub contract_wallet: bool,
    pub quotes: Vec<Quote<'a>>,
    pub attempts: Vec<Attempt<'a>>,
    pub delivery: Option<Delivery<'a>>,
    generation: u64,
    rail: Option<Rail>,
    claim: Option<Claim<'a>>,
}

/// What the first attempt fixed.
struct Rail {
    network: Network,
    asset: Address,
    payer: Address,
    method: Method,
    protocol: Protocol,
}

/// A frozen offer.
pub(crate) struct Quote<'a> {
    pub hash: [u8; 32],
    pub requirements: &'a Json,
    /// With the rest of the price, without its other offers.
    pub offered: Offered,
}

/// A signed authorization and what came of it.
pub(crate) struct Attempt<'a> {
    /// As it came.
    pub json: &'a Json,
    pub id: &'a str,
    pub quote_hash: [u8; 32],
    pub payment_id: Option<&'a str>,
    pub generation: u64,
    pub authorization: Authorization,
    pub signature: Option<&'a str>,
    pub header: Option<(&'a str, &'a str)>,
    pub settlement: Option<&'a str>,
    pub receipt: Option<Receipt>,
    pub transaction: Option<&'a str>,
    pub state: &'a str,
    pub observed: Vec<Observation<'a>>,
    pub evidence: &'a [Json],
    /// The further authorizations of a split payment, from index 1: what is this attempt's is theirs too.
    pub parts: Vec<Attempt<'a>>,
    /// Signed by another actor, whose journal has its bytes.
    pub given: bool,
    /// The last read was of a block that can still be replaced.
    pub provisional: bool,
    verdict: Option<(&'a str, Option<&'a str>)>,
}

/// What one send brought back.
pub(crate) struct Observation<'a> {
    pub outcome: &'a str,
    pub transaction: Option<&'a str>,
    status: Option<u64>,
}

/// The answer, as it was recorded.
pub(crate) struct Delivery<'a> {
    pub sha256: [u8; 32],
    pub length: u64,
    pub body: Option<&'a str>,
    attempt_id: &'a str,
    status: u64,
    settlement: Option<&'a str>,
}

struct Claim<'a> {
    intent_id: &'a str,
    quote_hash: [u8; 32],
    transaction: Option<&'a str>,
    sha256: Option<[u8; 32]>,
}

/// Chain, token and way of a signed payment.
fn rail_of(signed: &Authorization) -> (u64, Address, Method) {
    (signed.chain_id(), signed.asset(), signed.method())
}

impl Record<'_> {
    /// The attempt that counts: the one that was answered, else the one that was paid, else the last.
    pub fn paying(&self) -> Option<usize> {
        let answered = self.delivery.as_ref().map(|delivery| delivery.attempt_id);
        let at = |one: &dyn Fn(&Attempt) -> bool| self.attempts.iter().position(one);
        at(&|attempt| answered == Some(attempt.id))
            .or_else(|| at(&|attempt| attempt.state == "paid"))
            .or_else(|| self.attempts.len().checked_sub(1))
    }

    /// Whether the record says that money moved.
    pub fn claims_paid(&self) -> bool {
        matches!(self.status, "delivered" | "paid_not_delivered")
            || self.claim.is_some()
            || self
                .attempts
                .iter()
                .any(|one| one.state == "paid" || one.settlement.is_some() || one.receipt.is_some())
    }

    /// Whether a claim is held: paid, not delivered.
    pub fn holds_claim(&self) -> bool {
        self.claim.is_some() || self.status == "paid_not_delivered"
    }

    /// Every authorization: each part of a split payment for itself.
    pub fn slots(&self) -> impl Iterator<Item = &Attempt<'_>> {
        self.attempts.iter().flat_map(Attempt::slots)
    }

    /// The first thing in which the record contradicts itself.
    pub fn contradiction(&self, settlement: Option<&SettlementResponse>) -> Option<&'static str> {
        let rules: [(&'static str, bool); 12] = [
            (
                "An explicit id has no occurrences.",
                self.id.is_none() || self.occurrence == 0,
            ),
            ("The rail is not the one that was signed for.", self.on_rail()),
            ("The attempts are not numbered in order.", self.numbered()),
            ("A generation does not fit the nonces.", self.generations()),
            (
                "A sent attempt has no signature or header.",
                self.attempts.iter().all(Attempt::complete),
            ),
            (
                "Status and answer contradict each other.",
                (self.status == "delivered") == self.delivery.is_some(),
            ),
            ("The answer belongs to no live attempt.", self.answered()),
            (
                "The answer's settlement is not the attempt's.",
                self.same_settlement(settlement),
            ),
            ("Status and claim contradict each other.", self.claimable()),
            (
                "The claim is about something else.",
                self.claim.as_ref().is_none_or(|claim| self.claims(claim)),
            ),
            ("The transactions differ.", self.one_transaction(settlement)),
            (
                "The recorded reads do not give the recorded verdict.",
                self.slots().all(|one| self.read(one)),
            ),
        ];
        rules.into_iter().find(|(_, holds)| !holds).map(|(why, _)| why)
    }

    fn on_rail(&self) -> bool {
        let Some(rail) = &self.rail else {
            return self.attempts.is_empty();
        };
        let pinned = |attempt: &Attempt| {
            attempt
                .slots()
                .map(|one| rail_of(&one.authorization))
                .all(|signed| {
                    (rail.network.chain_id(), rail.asset, rail.method) == (Some(signed.0), signed.1, signed.2)
                })
        };
        // Once every authorization was void, another protocol or another rail may have carried the next.
        let last = self.attempts.last().and_then(|last| self.protocol(last));
        last.is_none_or(|last| last == rail.protocol)
            && rail.payer == self.principal
            && self.attempts.last().is_none_or(pinned)
            && self
                .attempts
                .iter()
                .all(|attempt| attempt.is_void() || pinned(attempt))
    }

    fn numbered(&self) -> bool {
        let ids = (0..).map(|number: u64| format!("{}/{number}", self.intent_id));
        self.attempts
            .iter()
            .zip(ids)
            .all(|(attempt, id)| attempt.id == id)
    }

    /// The offer that an attempt pays.
    pub fn quote_of(&self, attempt: &Attempt) -> Option<&Quote<'_>> {
        self.quotes.iter().find(|quote| quote.hash == attempt.quote_hash)
    }

    fn protocol(&self, attempt: &Attempt) -> Option<Protocol> {
        self.quote_of(attempt).map(|quote| quote.offered.protocol())
    }

    /// One nonce for each generation where the payer picks it; a challenge brings its own, and then every one before is void. And the record's generation is the last one or the one after a cancelled one.
    fn generations(&self) -> bool {
        let one_nonce = self
            .attempts
            .iter()
            .zip(self.attempts.iter().skip(1))
            .all(|(before, after)| {
                // Another rail has nonces and generations of its own.
                let rail = |one: &Attempt| (rail_of(&one.authorization), self.protocol(one));
                if rail(before) != rail(after) {
                    return before.is_void();
                }
                let same = before.authorization.nonce() == after.authorization.nonce();
                let dictated = [before, after]
                    .map(|one| self.protocol(one))
                    .contains(&Some(Protocol::Mpp));
                let fits = match dictated {
                    true => same || before.is_void(),
                    false => (before.generation == after.generation) == same,
                };
                before.generation <= after.generation && fits
            });
        one_nonce
            && self.attempts.last().is_none_or(|last| {
                let next = last.state == "cancelled" && self.generation == last.generation + 1;
                next || self.generation == last.generation
            })
    }

    fn answered(&self) -> bool {
        self.delivery.as_ref().is_none_or(|delivery| {
            let at = self.attempts.iter().find(|one| one.id == delivery.attempt_id);
            at.is_some_and(|attempt| {
                attempt.header.is_some()
                    && !matches!(attempt.state, "planned" | "signed" | "dead" | "cancelled")
                    && attempt
                        .observed
                        .iter()
                        .any(|seen| seen.status == Some(delivery.status))
            })
        })
    }

    /// The seller may word its response anew when it answers again; what it says must stay.
    fn same_settlement(&self, settlement: Option<&SettlementResponse>) -> bool {
        let header = self.delivery.as_ref().and_then(|delivery| delivery.settlement);
        let (Some(header), Some(one)) = (header, settlement) else {
            return true;
        };
        settlement_response::parse(header).is_ok_and(|other| {
            (
                one.success,
                one.transaction_hash(),
                &one.network,
                one.payer,
                one.amount,
            ) == (
                other.success,
                other.transaction_hash(),
                &other.network,
                other.payer,
                other.amount,
            )
        })
    }

    fn claimable(&self) -> bool {
        self.claim.is_none() || matches!(self.status, "paid_not_delivered" | "released")
    }

    fn claims(&self, claim: &Claim) -> bool {
        let delivered = self.delivery.as_ref().map(|delivery| delivery.sha256);
        let named = self.attempts.iter().filter_map(|one| one.transaction);
        claim.intent_id == self.intent_id
            && (self.attempts.is_empty() || self.quotes.iter().any(|quote| quote.hash == claim.quote_hash))
            && claim
                .sha256
                .is_none_or(|hash| delivered.is_none_or(|delivered| delivered == hash))
            && claim
                .transaction
                .is_none_or(|hash| named.clone().count() == 0 || named.clone().any(|one| one == hash))
    }

    /// The attempt that counts, what the seller said of it and what was read of it name one transaction.
    fn one_transaction(&self, settlement: Option<&SettlementResponse>) -> bool {
        let Some(attempt) = self.paying().and_then(|at| self.attempts.get(at)) else {
            return true;
        };
        let said = settlement.and_then(SettlementResponse::transaction_hash);
        let said = said.or(attempt.receipt.as_ref().and_then(Receipt::transaction));
        let Some(one) = attempt.transaction.or(said.as_deref()) else {
            return true;
        };
        let same = |other: &str| other.eq_ignore_ascii_case(one);
        let successes = attempt
            .observed
            .iter()
            .filter(|seen| matches!(seen.outcome, "settled" | "delivered"));
        said.as_deref().is_none_or(same) && successes.filter_map(|seen| seen.transaction).all(same)
    }

    /// A recorded `paid` follows from the recorded reads, where those were kept.
    fn read(&self, attempt: &Attempt) -> bool {
        let Some(("paid", transaction)) = attempt.verdict else {
            return true;
        };
        let Some(rail) = &self.rail else {
            return false;
        };
        if attempt.evidence.is_empty() {
            return true;
        }
        let signed = &attempt.authorization;
        let siblings = self.slots().map(|one| &one.authorization);
        let siblings: Vec<_> = siblings
            .filter(|one| signed.competes_with(one))
            .cloned()
            .collect();
        let context = Context::new(rail.network.clone(), rail.asset);
        let verdict = evidence::resolve_signed(&siblings, &context, attempt.evidence);
        verdict.verdict == VerdictKind::Paid && verdict.transaction.as_deref() == transaction
    }
}

impl<'a> Attempt<'a> {
    /// Whether it was signed: here, or by whom it was taken over from.
    pub fn is_signed(&self) -> bool {
        self.signature.is_some() || self.given
    }

    /// Its authorizations in the order of the nonces' index.
    pub fn slots(&self) -> impl Iterator<Item = &Attempt<'a>> {
        core::iter::once(self).chain(&self.parts)
    }

    /// What all its authorizations move together, or those that are said to have moved where only some did. A sum that overflows is the
    /// largest number there is.
    pub fn value(&self) -> Amount {
        self.counted()
            .map(|one| one.authorization.value())
            .fold(Amount::ZERO, Amount::saturating_add)
    }

    /// The most that all its authorizations may cost the payer together, fees included, as [`Attempt::value`] counts them.
    pub fn cost(&self) -> Amount {
        self.counted()
            .map(|one| one.authorization.bounded_cost())
            .fold(Amount::ZERO, Amount::saturating_add)
    }

    fn counted(&self) -> impl Iterator<Item = &Attempt<'a>> {
        self.slots()
            .filter(|one| !self.is_partly_paid() || one.verdict() == Some("paid"))
    }

    /// What the last read of this authorization says.
    pub fn verdict(&self) -> Option<&'a str> {
        self.verdict.map(|(verdict, _)| verdict)
    }

    /// The network that was signed for. Error: `network_invalid`.
    pub fn network(&self) -> Result<Network, Error> {
        self.authorization.network()
    }

    /// Whether one part moved and another never can.
    pub fn is_partly_paid(&self) -> bool {
        self.state == "partly_paid"
    }

    /// Whether the journal calls it proven never to land.
    pub fn is_void(&self) -> bool {
        matches!(self.state, "dead" | "cancelled")
    }

    fn complete(&self) -> bool {
        match self.state {
            "planned" | "dead" | "cancelled" => true,
            "signed" => self.signature.is_some(),
            _ if self.is_partly_paid() && self.parts.is_empty() => false,
            _ if self.given => true,
            _ => self.slots().all(|one| one.signature.is_some()) && self.header.is_some(),
        }
    }
}
