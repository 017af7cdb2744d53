//! What the evidence says, and what it rests on.

use super::rpc::{Log, Reason};
use crate::amount::Amount;
use crate::error::{Money, Next};
use crate::hex;
use crate::json::Json;
use crate::time::Seconds;

/// What the evidence says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum VerdictKind {
    /// Unused, and it can still land or its end is not final.
    NotYet,
    /// It never landed and never can.
    Dead,
    /// It landed, and the money moved as signed.
    Paid,
    /// The nonce was used and the Transfer is not the one signed.
    PaidWrongTerms,
    /// The payer burnt the nonce; nothing moved.
    Cancelled,
    /// Used or cancelled, and no log tells which.
    UsedOrCancelled,
    /// The answers are missing, malformed or contradict each other.
    Unreadable,
}

impl VerdictKind {
    /// The text used on every boundary.
    pub const fn as_str(self) -> &'static str {
        match self {
            VerdictKind::NotYet => "not_yet",
            VerdictKind::Dead => "dead",
            VerdictKind::Paid => "paid",
            VerdictKind::PaidWrongTerms => "paid_wrong_terms",
            VerdictKind::Cancelled => "cancelled",
            VerdictKind::UsedOrCancelled => "used_or_cancelled",
            VerdictKind::Unreadable => "unreadable",
        }
    }
}

/// A verdict with what it rests on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Verdict {
    /// The verdict.
    pub verdict: VerdictKind,
    /// What is known about the money.
    pub money: Money,
    /// The one thing to do now.
    pub next: Next,
    /// The earliest block time at which a `not_yet` can be decided.
    pub decidable_at: Option<Seconds>,
    /// The transaction that used or cancelled the nonce.
    pub transaction: Option<String>,
    /// Where the event of the nonce stands: block number, then the log's index in the block. The order of two of them is
    /// the order in which they happened.
    pub position: Option<(u64, u64)>,
    /// How much moved, where less could than was signed for: scheme `upto`.
    pub amount: Option<Amount>,
    /// How much moved on other terms than were signed, where that is known.
    pub otherwise: Option<Amount>,
    /// What the transaction's inclusion cost the payer in the same token, where its receipt shows that. Only on Tempo.
    pub fee: Option<Amount>,
    /// Where money moved again for the same, in the order of the chain: `(transaction, place)` of each further transfer on the same terms.
    /// Only on Tempo, where nothing keeps one challenge from being paid twice.
    pub again: Vec<([u8; 32], (u64, u64))>,
    /// Which authorization was paid; absent when several were signed on the terms that were paid.
    pub index: Option<usize>,
    /// The trusted block under whose header it is proven.
    pub proved_in: Option<[u8; 32]>,
    /// Short tokens: what limits the verdict, or what could not be read.
    pub reasons: Vec<String>,
}

impl Verdict {
    pub(super) fn new(verdict: VerdictKind, reasons: &[Reason]) -> Verdict {
        let (money, next) = match verdict {
            VerdictKind::NotYet => (Money::Possible, Next::Wait),
            VerdictKind::Dead | VerdictKind::Cancelled => (Money::None, Next::SafeToResign),
            VerdictKind::Paid => (Money::Proven, Next::LookupReceipt),
            VerdictKind::PaidWrongTerms => (Money::Proven, Next::AskHuman),
            VerdictKind::UsedOrCancelled | VerdictKind::Unreadable => (Money::Possible, Next::ReadChain),
        };
        let reasons = reasons.iter().map(|reason| (*reason).to_owned()).collect();
        Verdict {
            verdict,
            money,
            next,
            decidable_at: None,
            transaction: None,
            position: None,
            amount: None,
            otherwise: None,
            fee: None,
            again: Vec::new(),
            index: None,
            proved_in: None,
            reasons,
        }
    }

    pub(super) fn by(mut self, log: &Log) -> Verdict {
        self.transaction = Some(hex::encode(log.transaction));
        self.position = Some((log.block_number, log.index));
        self
    }

    /// Whether it is a proof: of a payment, or that there never will be one.
    pub fn decides(&self) -> bool {
        match self.verdict {
            VerdictKind::Paid | VerdictKind::PaidWrongTerms | VerdictKind::Dead => true,
            VerdictKind::Cancelled => self.next == Next::SafeToResign,
            VerdictKind::NotYet | VerdictKind::UsedOrCancelled | VerdictKind::Unreadable => false,
        }
    }

    /// Whether the block it was read from can still be replaced, so that the next read may say something else.
    pub fn is_provisional(&self) -> bool {
        self.reasons.iter().any(|reason| reason == "not_final")
    }

    /// `{verdict, money, next, decidableAt?, transaction?, amount?, fee?, again?, index?, provedIn?, reasons}`; `again` are transactions.
    pub fn to_json(&self) -> Json {
        let again = self.again.iter().map(|(hash, _)| Json::text(hex::encode(hash)));
        let again: Vec<Json> = again.collect();
        Json::object([
            ("verdict", Json::text(self.verdict.as_str())),
            ("money", Json::text(self.money.as_str())),
            ("next", Json::text(self.next.as_str())),
        ])
        .with_some("decidableAt", self.decidable_at.map(Json::number))
        .with_some("transaction", self.transaction.as_deref().map(Json::text))
        .with_some("amount", self.amount.map(|amount| amount.to_json()))
        .with_some("fee", self.fee.map(|fee| fee.to_json()))
        .with_some("again", (!again.is_empty()).then_some(Json::Array(again)))
        .with_some(
            "index",
            self.index
                .and_then(|index| u64::try_from(index).ok())
                .map(Json::number),
        )
        .with_some(
            "provedIn",
            self.proved_in.map(|hash| Json::text(hex::encode(hash))),
        )
        .with(
            "reasons",
            Json::Array(self.reasons.iter().map(Json::text).collect()),
        )
    }
}
