//! Which payments some lines tell of. Several documents may be of one: those of one authorization, and those that name one transaction, but where
//! the chain shows a transfer for each of two authorizations. None of it depends on the order of the lines.

use std::collections::BTreeMap;

use super::joins::Joins;
use crate::sorting::sort_by;

/// The authorization's place in its token.
type Slot<'a> = [&'a str; 4];

/// The lines of one payment, in their order.
pub(super) type Payment<'a> = Vec<&'a Joins>;

/// Lines, each with the payment it is of, and of each payment the authorization that the chain shows.
struct Groups<'a> {
    of: Vec<usize>,
    shown: BTreeMap<usize, Slot<'a>>,
}

impl Groups<'_> {
    /// Puts the payments of two lines together, unless the chain shows that they are two.
    fn unite(&mut self, one: usize, other: usize) {
        let (Some(&one), Some(&other)) = (self.of.get(one), self.of.get(other)) else {
            return;
        };
        match (self.shown.get(&one), self.shown.get(&other).copied()) {
            (Some(slot), Some(also)) if *slot != also => return,
            (None, Some(slot)) => drop(self.shown.insert(one, slot)),
            _ => {}
        }
        self.of
            .iter_mut()
            .filter(|group| **group == other)
            .for_each(|group| *group = one);
    }
}

/// The payments that these lines tell of, in the order of their first lines.
pub(super) fn payments<'a>(joins: &[&'a Joins]) -> Vec<Payment<'a>> {
    let lines: Vec<&Joins> = joins
        .iter()
        .copied()
        .filter(|joins| joins.payment().is_some())
        .collect();
    let mut groups = Groups {
        of: (0..lines.len()).collect(),
        shown: BTreeMap::new(),
    };
    let (mut slots, mut named): (BTreeMap<Slot, Vec<usize>>, BTreeMap<_, Vec<_>>) = Default::default();
    for (at, joins) in lines.iter().enumerate() {
        let slot = joins.slot();
        if let Some(slot) = slot {
            slots.entry(slot).or_default().push(at);
            if joins.shown {
                groups.shown.insert(at, slot);
            }
        }
        let name = match slot {
            Some(_) => joins.settled_in(),
            None => joins.settled_in().or(joins.payment()),
        };
        if let Some(name) = name {
            // What the chain shows comes first: what it does not show is taken for one of these.
            named.entry(name).or_default().push((!joins.shown, slot, at));
        }
    }
    for lines in slots.values() {
        let (first, others) = lines.split_first().unzip();
        others
            .into_iter()
            .flatten()
            .for_each(|other| groups.unite(*first.unwrap_or(other), *other));
    }
    for lines in named.values_mut() {
        sort_by(lines, |one, other| one.cmp(other));
        let (first, others) = lines.split_first().unzip();
        others
            .into_iter()
            .flatten()
            .for_each(|other| groups.unite(first.unwrap_or(other).2, other.2));
    }
    let mut payments: Vec<(usize, Payment)> = Vec::new();
    for (joins, group) in lines.into_iter().zip(groups.of) {
        match payments.iter_mut().find(|(known, _)| *known == group) {
            Some((_, payment)) => payment.push(joins),
            None => payments.push((group, vec![joins])),
        }
    }
    payments.into_iter().map(|(_, payment)| payment).collect()
}
