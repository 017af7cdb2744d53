//! Keeping a wallet's record short: what was settled a while ago is added up.
//!
//! Every purchase writes the record anew, so its length must not grow with their number. The newest settled amounts stand as they are; older ones
//! go into sums, each of one token, the same recipients, one approval and one place in the tree, over a stretch of time that is short beside
//! its age. What caps and budgets say of a sum is what they would say of its parts: all of it counts until its last part is past a window,
//! so nothing counts too short, and nothing by more than an eighth too long.
//!
//! What a policy looks at for drift stays longer: what is recent, and of every operation the newest payments that make its habit. Of a sum it is not known what was paid for.
//!
//! A sum's id is `sum/<intent>/<since>`: the intent right above those that it is of, empty where they stood in no tree, and when the first of them
//! was signed. Its `at` is when the last one was.

use std::collections::BTreeSet;

use super::{Reservation, Wallet};
use crate::address::Address;
use crate::drift;
use crate::json::Json;
use crate::policy::SpentState;
use crate::sorting::{map, set};
use crate::time::Seconds;

/// So many settled amounts stand as they are; with twice as many the older half is added up.
const SINGLE: usize = 64;
/// An approval stays so long past its end: by then the clock of no process that shares the wallet says that it still covers something.
const APPROVAL_KEPT: Seconds = 86_400;
/// A sum's stretch of time is at most this part of its age.
const PART_OF_AGE: Seconds = 8;

impl Reservation {
    /// Of a sum: the intent above those that it is of, and when the first of them was signed.
    pub(super) fn sum(&self) -> Option<(&str, Seconds)> {
        let (above, since) = self.id.strip_prefix("sum/")?.rsplit_once('/')?;
        Some((above, since.parse().ok()?))
    }

    /// Whether it is of several payments.
    pub fn is_sum(&self) -> bool {
        self.sum().is_some()
    }

    /// Whether it can be added up at all: a nonce that was recovered is known by its entry alone.
    fn is_single(&self) -> bool {
        self.spent.state == SpentState::Settled && self.id.contains('#')
    }

    fn into_sum(mut self, above: &str) -> Reservation {
        self.id = format!("sum/{above}/{}", self.spent.at);
        self.call = None;
        self.yes = false;
        self.nonce = None;
        self
    }

    /// One of both, where they are of one kind and close enough.
    fn joined(&self, later: &Reservation, now: Seconds) -> Option<Reservation> {
        let ((above, since), (other, others)) = (self.sum()?, later.sum()?);
        let alike = above == other
            && self.spent.asset == later.spent.asset
            && self.spent.network == later.spent.network
            && self.approval == later.approval
            && recipients(self).eq(recipients(later));
        if !alike {
            return None;
        }
        let (since, at) = (since.min(others), self.spent.at.max(later.spent.at));
        if at.saturating_sub(since).saturating_mul(PART_OF_AGE) > now.saturating_sub(at) {
            return None;
        }
        let mut sum = self.clone();
        sum.id = format!("sum/{above}/{since}");
        sum.spent.at = at;
        sum.spent.amount = self.spent.amount.checked_add(later.spent.amount)?;
        for (share, more) in sum.spent.to.iter_mut().zip(&later.spent.to) {
            share.amount = share.amount.checked_add(more.amount)?;
        }
        Some(sum)
    }
}

/// What an approval says of itself. One that says it falsely covers nothing, whatever becomes of it here.
struct Told<'a> {
    /// By which entries name it.
    hash: &'a str,
    intent_id: &'a str,
    end: Seconds,
}

fn told(document: &Json) -> Option<Told<'_>> {
    let text = |name: &str| document.get(name)?.as_str().ok();
    Some(Told {
        hash: text("hash")?,
        intent_id: text("intentId")?,
        end: document.get("expiresAt")?.as_u64().ok()?,
    })
}

fn recipients(one: &Reservation) -> impl Iterator<Item = Address> + '_ {
    one.spent.to.iter().map(|share| share.to)
}

impl Wallet {
    /// Adds up all settled amounts but the newest. The place of a purchase that is in a sum goes too, where nobody stands under it and it
    /// limits nothing: its own record says where it stood.
    pub(super) fn fold(&mut self, now: Seconds) {
        let singles = self.entries.iter().filter(|entry| entry.is_single()).count();
        if singles < 2 * SINGLE {
            return;
        }
        let (mut folded, mut sums, mut rest) = (Vec::new(), Vec::new(), Vec::new());
        let above = self.summands(singles - SINGLE, now);
        for (entry, above) in self.entries.drain(..).zip(above) {
            match above {
                _ if entry.is_sum() => sums.push(entry),
                None => rest.push(entry),
                Some(above) => {
                    folded.push(entry.intent_id().to_owned());
                    sums.push(entry.into_sum(&above));
                }
            }
        }
        let folded = set(folded);
        let approved = set(self.approvals.iter().filter_map(|one| Some(told(one)?.intent_id)));
        self.places.retain(|place| {
            !folded.contains(&place.intent_id) || approved.contains(place.intent_id.as_str())
        });
        // Sums grow together as they age.
        for sum in sums {
            let joined = |known: &Reservation| known.joined(&sum, now);
            let last = self
                .entries
                .iter_mut()
                .rev()
                .find_map(|known| Some((joined(known)?, known)));
            match last {
                Some((joined, known)) => *known = joined,
                None => self.entries.push(sum),
            }
        }
        self.entries.append(&mut rest);
    }

    /// Drops the approvals that are over. By their own signed end they cover nothing and answer nothing any more, so none can be used a second time.
    /// What is about an intent in a tree stays with its place, for it says why a budget was passed; so does what an entry names that stands by itself.
    pub(super) fn drop_approvals(&mut self, now: Seconds) {
        let single = self.entries.iter().filter(|entry| !entry.is_sum());
        let in_use = set(single.filter_map(|entry| entry.approval.as_deref()));
        let placed = set(self.places.iter().map(|place| place.intent_id.as_str()));
        let over = |document: &Json| {
            told(document).is_some_and(|told| {
                told.end.saturating_add(APPROVAL_KEPT) <= now
                    && !placed.contains(told.intent_id)
                    && !in_use.contains(told.hash)
            })
        };
        self.approvals.retain(|document| !over(document));
        let kept = set(self.approvals.iter().filter_map(|one| Some(told(one)?.hash)));
        for sum in self.entries.iter_mut().filter(|entry| entry.is_sum()) {
            sum.approval = sum.approval.take().filter(|hash| kept.contains(hash.as_str()));
        }
    }

    /// For each entry, where it is among so many oldest ones and can be added up, the intent above it, empty where it stands in no tree.
    fn summands(&self, mut old: usize, now: Seconds) -> Vec<Option<String>> {
        let places = map(self.places.iter().map(|place| (place.intent_id.as_str(), place)));
        let parents = self.places.iter().filter_map(|place| place.parent.as_deref());
        let summed = self.entries.iter().filter_map(Reservation::sum);
        let parents = set(parents.chain(summed.map(|(above, _)| above)));
        let mut entries_of = map::<&str, usize>([]);
        for entry in &self.entries {
            *entries_of.entry(entry.intent_id()).or_default() += 1;
        }
        let drifting = self.drifting(now);
        let above = |entry: &Reservation| {
            if old == 0 || !entry.is_single() {
                return None;
            }
            old -= 1;
            let id = entry.intent_id();
            if entries_of.get(id) != Some(&1) || parents.contains(id) || drifting.contains(entry.id.as_str())
            {
                return None;
            }
            match places.get(id) {
                None => Some(String::new()),
                Some(place) if place.limits() => None,
                Some(place) => place.parent.clone(),
            }
        };
        self.entries.iter().map(above).collect()
    }

    /// The entries that the rules of drift look at: what is recent, and of every operation the newest.
    fn drifting(&self, now: Seconds) -> BTreeSet<&str> {
        let mut habits = map::<[u8; 32], usize>([]);
        let mut found = set([]);
        for entry in self.entries.iter().rev() {
            let Some(call) = entry.call else { continue };
            let newer = habits.entry(call.operation).or_default();
            if *newer < drift::HABIT || entry.spent.at.saturating_add(drift::WINDOW) > now {
                found.insert(entry.id.as_str());
            }
            *newer += 1;
        }
        found
    }
}
