//! One stable sort for everything that is brought into order, and maps and sets that are made without another one.

use std::collections::{BTreeMap, BTreeSet};

pub use counterfoil_json::sort_by;

/// The pairs as a map, put in one by one; of two with one key the later stays.
pub fn map<K: Ord, V>(pairs: impl IntoIterator<Item = (K, V)>) -> BTreeMap<K, V> {
    let mut map = BTreeMap::new();
    map.extend(pairs);
    map
}

/// The items as a set, put in one by one.
pub fn set<T: Ord>(items: impl IntoIterator<Item = T>) -> BTreeSet<T> {
    let mut set = BTreeSet::new();
    set.extend(items);
    set
}
