//! What is reserved and spent of a wallet, as the journal holds it.

use super::version;
use crate::address::Address;
use crate::amount::Amount;
use crate::error::Error;
use crate::json::Json;
use crate::policy::{Spent, SpentState};
use crate::time::Seconds;

/// One amount held or spent under one nonce.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Reservation {
    /// [`Intent::reservation`]: however often one nonce is signed for, one amount is held.
    pub id: String,
    /// The amount, in the terms of [`Spent`].
    pub spent: Spent,
}

impl Reservation {
    /// As the journal holds it.
    pub fn to_json(&self) -> Json {
        Json::object([
            ("id", Json::text(self.id.as_str())),
            ("network", self.spent.network.to_json()),
            ("asset", self.spent.asset.to_json()),
            ("amount", self.spent.amount.to_json()),
            ("at", Json::number(self.spent.at)),
            ("state", Json::text(self.spent.state.as_str())),
        ])
    }

    /// Reads [`Reservation::to_json`]. Errors: those of the fields.
    pub fn from_json(json: &Json) -> Result<Reservation, Error> {
        Ok(Reservation {
            id: json.read("id", Json::as_string)?,
            spent: Spent::from_json(json)?,
        })
    }
}

/// What a change does to a wallet's record. Applied to whatever the record holds by then.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum WalletChange {
    /// Holds the amount before anything is signed.
    Reserve(Reservation),
    /// The money moved.
    Spend(String),
    /// So much of it moved, and the rest never will.
    SpendOnly(String, Amount),
    /// Proven unspent, or never signed.
    Release(String),
    /// What was taken for spent is unknown again, and held as before.
    Hold(String),
}

/// What one wallet holds and has spent. Unknown counts as spent.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct Wallet {
    /// The entries, oldest first.
    pub entries: Vec<Reservation>,
}

/// A settled amount is remembered this long, longer than any cap's window: 400 days.
const SPENT_KEPT: Seconds = 400 * 86_400;

impl Wallet {
    /// The journal key of a payer's wallet.
    pub fn key(payer: &Address) -> String {
        format!("wallet/{payer}")
    }

    /// Applies a change. Settled amounts past every window are dropped on the way.
    pub fn apply(&mut self, change: &WalletChange, now: Seconds) {
        match change {
            WalletChange::Reserve(reservation) => {
                self.entries.retain(|entry| entry.id != reservation.id);
                self.entries.retain(|entry| {
                    entry.spent.state == SpentState::Reserved || entry.spent.at + SPENT_KEPT > now
                });
                self.entries.push(reservation.clone());
            }
            WalletChange::Spend(id) => {
                for entry in self.entries.iter_mut().filter(|entry| entry.id == *id) {
                    entry.spent.state = SpentState::Settled;
                }
            }
            WalletChange::SpendOnly(id, amount) => {
                for entry in self.entries.iter_mut().filter(|entry| entry.id == *id) {
                    entry.spent.state = SpentState::Settled;
                    entry.spent.amount = *amount;
                }
            }
            WalletChange::Release(id) => {
                self.entries.retain(|entry| entry.id != *id);
            }
            WalletChange::Hold(id) => {
                for entry in self.entries.iter_mut().filter(|entry| entry.id == *id) {
                    entry.spent.state = SpentState::Reserved;
                }
            }
        }
    }

    /// The amounts, without the one that is held under this id.
    pub fn spent_besides(&self, id: &str) -> Vec<Spent> {
        self.entries
            .iter()
            .filter(|entry| entry.id != id)
            .map(|entry| entry.spent.clone())
            .collect()
    }

    /// Whether an amount is held or was spent under this id.
    pub fn holds(&self, id: &str) -> bool {
        self.entries.iter().any(|entry| entry.id == id)
    }

    /// The amount that is held or was spent under this id.
    pub fn amount_of(&self, id: &str) -> Option<Amount> {
        let entry = self.entries.iter().find(|entry| entry.id == id);
        entry.map(|entry| entry.spent.amount)
    }

    /// As the journal holds it.
    pub fn to_json(&self) -> Json {
        Json::object([
            ("v", Json::number(1)),
            ("kind", Json::text("wallet")),
            (
                "entries",
                Json::Array(self.entries.iter().map(Reservation::to_json).collect()),
            ),
        ])
    }

    /// Reads [`Wallet::to_json`]. Errors: `unsupported_version`, `state_invalid`, those of the fields.
    pub fn from_json(json: &Json) -> Result<Wallet, Error> {
        version(json, "wallet", &[1])?;
        Ok(Wallet {
            entries: json.read("entries", |entries| entries.as_list(Reservation::from_json))?,
        })
    }
}
