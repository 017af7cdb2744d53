//! What is reserved and spent of a wallet, as the journal holds it.

mod folding;

use super::version;
use crate::address::Address;
use crate::amount::Amount;
use crate::drift::Mark;
use crate::error::Error;
use crate::hex;
use crate::json::Json;
use crate::policy::{Spent, SpentState, MAX_CAP_WINDOW};
use crate::sorting::{map, set};
use crate::time::Seconds;
use crate::tree::{self, Broken, Place};
use crate::x402::payment_required::Share;

/// One amount held or spent under one nonce.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Reservation {
    /// [`Intent::reservation`]: however often one nonce is signed for, one amount is held.
    pub id: String,
    /// The amount, in the terms of [`Spent`].
    pub spent: Spent,
    /// The approval that covers it, by its hash.
    pub approval: Option<String>,
    /// Where its intent stands in a tree. Goes with a change; the wallet keeps it among its places.
    pub place: Option<Place>,
    /// What it paid for, by digests, where the policy looked at drift.
    pub call: Option<Mark>,
    /// The approval itself, where it came with this call. Goes with a change, too.
    pub approved: Option<Json>,
    /// A person was asked in the call that planned it, and said yes.
    pub yes: bool,
    /// The nonce that a challenge dictated: no other intent may take it for its own.
    pub nonce: Option<[u8; 32]>,
}

impl Reservation {
    /// As the journal holds it.
    pub fn to_json(&self) -> Json {
        let share =
            |share: &Share| Json::object([("payTo", share.to.to_json()), ("amount", share.amount.to_json())]);
        let to = &self.spent.to;
        Json::object([
            ("id", Json::text(self.id.as_str())),
            ("network", self.spent.network.to_json()),
            ("asset", self.spent.asset.to_json()),
            ("amount", self.spent.amount.to_json()),
            ("at", Json::number(self.spent.at)),
            ("state", Json::text(self.spent.state.as_str())),
        ])
        .with_some(
            "to",
            (!to.is_empty()).then(|| Json::Array(to.iter().map(share).collect())),
        )
        .with_some("approval", self.approval.as_deref().map(Json::text))
        .with_some("call", self.call.map(|call| call.to_json()))
        .with_some("place", self.place.as_ref().map(Place::to_json))
        .with_some("approved", self.approved.clone())
        .with_some("yes", self.yes.then_some(Json::Bool(true)))
        .with_some("nonce", self.nonce.map(|nonce| Json::text(hex::encode(nonce))))
    }

    /// The intent that it is for; of a payment that was recovered, its id; of a sum, the intent right above those that it is of, or nothing.
    pub fn intent_id(&self) -> &str {
        if let Some((above, _)) = self.sum() {
            return above;
        }
        self.id
            .rsplit_once('#')
            .map_or(self.id.as_str(), |(intent_id, _)| intent_id)
    }

    /// Reads [`Reservation::to_json`]. Errors: those of the fields.
    pub fn from_json(json: &Json) -> Result<Reservation, Error> {
        Ok(Reservation {
            id: json.read("id", Json::as_string)?,
            spent: Spent::from_json(json)?,
            approval: json.read_opt("approval", Json::as_string)?,
            place: json.read_opt("place", Place::from_json)?,
            call: json.read_opt("call", Mark::from_json)?,
            approved: json.get("approved").cloned(),
            yes: json.read_opt("yes", Json::as_bool)?.unwrap_or(false),
            nonce: json.read_opt("nonce", Json::as_hex)?,
        })
    }
}

/// What a change does to a wallet's record. Applied to whatever the record holds by then.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum WalletChange {
    /// Holds the amount before anything is signed.
    Reserve(Box<Reservation>),
    /// The money moved.
    Spend(String),
    /// So much of it moved, and the rest never will.
    SpendOnly(String, Amount),
    /// Proven unspent, or never signed.
    Release(String),
    /// What was taken for spent is unknown again, and held as before; what is in a sum by now is held beside it.
    Hold(Box<Reservation>),
    /// The chain tells of a payment under a nonce that nothing here was known for.
    Found(Box<Reservation>),
    /// Where an intent stands in a tree, or that its budget was narrowed.
    Place(Place),
    /// What a person is asked, in the place of an earlier question about the same intent.
    Ask(Json),
}

/// What one wallet holds and has spent. Unknown counts as spent.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct Wallet {
    /// The entries, oldest first.
    pub entries: Vec<Reservation>,
    /// The places of intents in trees, as they were written down.
    pub places: Vec<Place>,
    /// Signed approvals. What is used of one is what the entries say that name it.
    pub approvals: Vec<Json>,
    /// Approval requests without an answer, one for an intent.
    pub asked: Vec<Json>,
    /// Approval requests that a person refused, one for an intent: `{intentId, request, refusal}`.
    pub refused: Vec<Json>,
}

impl Wallet {
    /// The journal key of a payer's wallet.
    pub fn key(payer: &Address) -> String {
        format!("wallet/{payer}")
    }

    /// Applies a change. With a reservation, settled amounts past every window are dropped, and older ones added up.
    pub fn apply(&mut self, change: &WalletChange, now: Seconds) {
        match change {
            WalletChange::Reserve(reservation) => {
                self.entries.retain(|entry| entry.id != reservation.id);
                // First of all, so that nothing is added up that it stands under.
                if let Some(place) = &reservation.place {
                    self.put(place.clone());
                }
                self.forget(now);
                self.fold(now);
                self.drop_approvals(now);
                self.answered(reservation.intent_id());
                if let Some(approved) = &reservation.approved {
                    self.approvals.push(approved.clone());
                }
                self.entries.push(Reservation {
                    place: None,
                    approved: None,
                    ..Reservation::clone(reservation)
                });
            }
            WalletChange::Place(place) => self.put(place.clone()),
            WalletChange::Ask(request) => {
                if let Some(id) = request.get("intentId").and_then(|id| id.as_str().ok()) {
                    self.answered(id);
                }
                self.asked.push(request.clone());
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
                    // Of several, which one moved stands in the intent's record: each counts in full here. A fee is not the recipient's.
                    if let [only] = entry.spent.to.as_mut_slice() {
                        only.amount = only.amount.min(*amount);
                    }
                }
            }
            WalletChange::Release(id) => {
                self.entries.retain(|entry| entry.id != *id);
            }
            WalletChange::Found(found) => {
                self.entries.retain(|entry| entry.id != found.id);
                self.entries.push(Reservation::clone(found));
            }
            WalletChange::Hold(held) => {
                let found = self.entries.iter_mut().find(|entry| entry.id == held.id);
                match found {
                    Some(entry) => entry.spent.state = SpentState::Reserved,
                    None => self.entries.push(Reservation::clone(held)),
                }
            }
        }
    }

    /// No question about this intent stands any more, nor a no to one.
    pub fn answered(&mut self, intent_id: &str) {
        self.asked.retain(|asked| !is_about(asked, intent_id));
        self.refused.retain(|refused| !is_about(refused, intent_id));
    }

    /// Drops what is past every window. What a tree cost is not forgotten while the tree stands.
    fn forget(&mut self, now: Seconds) {
        let ids = self
            .places
            .iter()
            .flat_map(|place| [Some(place.intent_id.as_str()), place.parent.as_deref()]);
        let trees = set(ids.flatten());
        self.entries.retain(|entry| {
            entry.spent.state == SpentState::Reserved
                || entry.spent.at.saturating_add(MAX_CAP_WINDOW) > now
                || trees.contains(entry.intent_id())
        });
    }

    /// The amounts, without the one that is held under this id.
    pub fn spent_besides(&self, id: &str) -> Vec<Spent> {
        self.entries
            .iter()
            .filter(|entry| entry.id != id)
            .map(|entry| entry.spent.clone())
            .collect()
    }

    /// Whether another intent pays the challenge that this nonce is of.
    pub fn is_dictated_elsewhere(&self, nonce: &[u8; 32], intent_id: &str) -> bool {
        let mut entries = self.entries.iter();
        entries.any(|entry| entry.nonce.as_ref() == Some(nonce) && entry.intent_id() != intent_id)
    }

    /// Keeps a place. One that is known stays where it is, and its budget only narrows.
    fn put(&mut self, place: Place) {
        match self
            .places
            .iter_mut()
            .find(|known| known.intent_id == place.intent_id)
        {
            Some(known) => *known = known.clone().narrowed(place.budget),
            None => self.places.push(place),
        }
    }

    /// The place of an intent, where one was written down.
    pub fn place(&self, intent_id: &str) -> Option<&Place> {
        self.places.iter().find(|place| place.intent_id == intent_id)
    }

    /// The path from each place to its root, by intent; of an intent that paid and has no place, itself. `own` is added to them.
    pub fn paths<'a>(&'a self, own: Option<&'a Place>) -> Paths<'a> {
        let named = self.entries.iter().map(Reservation::intent_id);
        let entries = named.filter(|id| !id.is_empty()).map(|id| (id, None));
        let places = self.places.iter().chain(own);
        let parents = places.map(|place| (place.intent_id.as_str(), place.parent.as_deref()));
        Paths(map(entries.chain(parents)))
    }

    /// As the journal holds it. With places or approvals it has `v` 2: who reads version 1 alone would write it back without them.
    pub fn to_json(&self) -> Json {
        let some = |list: Vec<Json>| (!list.is_empty()).then_some(Json::Array(list));
        let plain = self.places.is_empty() && self.approvals.is_empty() && self.asked.is_empty();
        let plain = plain && self.refused.is_empty();
        Json::object([
            ("v", Json::number(if plain { 1 } else { 2 })),
            ("kind", Json::text("wallet")),
            (
                "entries",
                Json::Array(self.entries.iter().map(Reservation::to_json).collect()),
            ),
        ])
        .with_some("places", some(self.places.iter().map(Place::to_json).collect()))
        .with_some("approvals", some(self.approvals.clone()))
        .with_some("asked", some(self.asked.clone()))
        .with_some("refused", some(self.refused.clone()))
    }

    /// Reads [`Wallet::to_json`]. Errors: `unsupported_version`, `state_invalid`, those of the fields.
    pub fn from_json(json: &Json) -> Result<Wallet, Error> {
        version(json, "wallet", &[1, 2])?;
        let kept = |list: &Json| list.as_array().map(<[Json]>::to_vec);
        Ok(Wallet {
            entries: json.read("entries", |entries| entries.as_list(Reservation::from_json))?,
            places: json
                .read_opt("places", |places| places.as_list(Place::from_json))?
                .unwrap_or_default(),
            approvals: json.read_opt("approvals", kept)?.unwrap_or_default(),
            asked: json.read_opt("asked", kept)?.unwrap_or_default(),
            refused: json.read_opt("refused", kept)?.unwrap_or_default(),
        })
    }
}

fn is_about(request: &Json, intent_id: &str) -> bool {
    request.get("intentId").and_then(|id| id.as_str().ok()) == Some(intent_id)
}

/// Who stands above whom, as one wallet knows it.
pub struct Paths<'a>(std::collections::BTreeMap<&'a str, Option<&'a str>>);

impl<'a> Paths<'a> {
    /// From this intent up to its root. Errors: those of [`tree::path`].
    pub fn of(&self, intent_id: &'a str) -> Result<Vec<&'a str>, Broken> {
        tree::path(intent_id, |id| self.0.get(id).copied())
    }
}
