//! What was spent, and so much within so many seconds.

use crate::address::Address;
use crate::amount::Amount;
use crate::error::{Code, Error};
use crate::json::Json;
use crate::network::Network;
use crate::x402::payment_required::{Share, Terms};

/// So much within so many seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Cap {
    pub amount: Amount,
    pub window: u64,
}

impl Cap {
    /// Whether an amount still counts: held at any age, settled within the window.
    pub fn counts(self, entry: &Spent, now: u64) -> bool {
        match entry.state {
            SpentState::Reserved => true,
            SpentState::Settled => entry.at.saturating_add(self.window) > now,
        }
    }

    /// Whether one recipient would have more than that, of these terms and of what was spent on the same rail.
    pub fn is_passed_by(self, to: Address, terms: &Terms, spent: &[Spent], now: u64) -> bool {
        let counted = spent
            .iter()
            .filter(|entry| entry.is_on(terms) && self.counts(entry, now));
        received(&terms.shares, to)
            .chain(counted.flat_map(|entry| entry.received_by(to)))
            .try_fold(Amount::ZERO, Amount::checked_add)
            .is_none_or(|sum| sum > self.amount)
    }
}

/// One payment of the wallet, as the journal holds it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Spent {
    /// Network of the payment.
    pub network: Network,
    /// Token of the payment.
    pub asset: Address,
    /// Its amount.
    pub amount: Amount,
    /// When it was signed, or settled.
    pub at: u64,
    /// Whether its end is known.
    pub state: SpentState,
    /// Who receives what of it. Where that is not known, it counts against the cap of every recipient.
    pub to: Vec<Share>,
}

/// Whether the end of a payment is known. One proven dead is not in the list at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SpentState {
    /// Signed, its end unknown: counts at any age.
    Reserved,
    /// Settled: counts within the window of a cap.
    Settled,
}

impl SpentState {
    /// The text in the journal.
    pub const fn as_str(self) -> &'static str {
        match self {
            SpentState::Reserved => "reserved",
            SpentState::Settled => "settled",
        }
    }
}

impl Spent {
    /// `{network, asset, amount, at, state, to?: [{payTo, amount}]}`. Errors: `missing_field`, those of the values, `policy_invalid` (state).
    pub fn from_json(json: &Json) -> Result<Self, Error> {
        Ok(Spent {
            network: json.read("network", Network::from_json)?,
            asset: json.read("asset", Address::from_json)?,
            amount: json.read("amount", Amount::from_json)?,
            at: json.read("at", Json::as_u64)?,
            state: json.read("state", |state| match state.as_str()? {
                "reserved" => Ok(SpentState::Reserved),
                "settled" => Ok(SpentState::Settled),
                _ => Err(Error::new(Code::PolicyInvalid, "")),
            })?,
            to: json
                .read_opt("to", |list| list.as_list(Spent::share))?
                .unwrap_or_default(),
        })
    }

    /// Whether it was of the token that these terms are of.
    pub fn is_on(&self, terms: &Terms) -> bool {
        self.network == terms.network && self.asset == terms.asset
    }

    fn share(json: &Json) -> Result<Share, Error> {
        Ok(Share {
            to: json.read("payTo", Address::from_json)?,
            amount: json.read("amount", Amount::from_json)?,
        })
    }

    /// What the recipients have of it: a fee goes to nobody among them. Where they are not known, all of it.
    pub fn price(&self) -> Amount {
        match self.to.as_slice() {
            [] => self.amount,
            known => known
                .iter()
                .map(|share| share.amount)
                .fold(Amount::ZERO, Amount::saturating_add),
        }
    }

    /// What this recipient has of it.
    fn received_by(&self, to: Address) -> Vec<Amount> {
        match self.to.as_slice() {
            [] => vec![self.amount],
            known => received(known, to).collect(),
        }
    }
}

fn received(shares: &[Share], to: Address) -> impl Iterator<Item = Amount> + '_ {
    let own = shares.iter().filter(move |share| share.to == to);
    own.map(|share| share.amount)
}
