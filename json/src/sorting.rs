//! One stable sort for everything that is brought into order.
//!
//! The standard library's is compiled anew for every type that is sorted, and was a fifth of the WebAssembly module. This one orders places, and
//! is compiled once; what is sorted here is short.

use core::cmp::Ordering;

/// As many items as are brought into order without more memory.
const SHORT: usize = 20;

/// Brings items into order; equal ones stay as they were.
pub fn sort_by<T>(items: &mut [T], compare: impl Fn(&T, &T) -> Ordering) {
    if items.len() <= SHORT {
        return sort_short(items, compare);
    }
    let mut places = places(
        items.len(),
        &|left, right| match (items.get(left), items.get(right)) {
            (Some(left), Some(right)) => compare(left, right),
            _ => Ordering::Equal,
        },
    );
    // Along each cycle, every item goes to where it belongs, and the first one is carried to the end of it.
    for start in 0..items.len() {
        let mut at = start;
        while let Some(place) = places.get_mut(at) {
            let from = core::mem::replace(place, at);
            if from == start || from == at {
                break;
            }
            items.swap(at, from);
            at = from;
        }
    }
}

/// Every item goes down to its place among those before it.
fn sort_short<T>(items: &mut [T], compare: impl Fn(&T, &T) -> Ordering) {
    for place in 1..items.len() {
        let mut at = place;
        while let Some([before, item]) = items.get(at.wrapping_sub(1)..=at) {
            if compare(item, before) != Ordering::Less {
                break;
            }
            items.swap(at - 1, at);
            at -= 1;
        }
    }
}

/// The places below `count` in their order: merged from runs of one, two, four and so on.
fn places(count: usize, compare: &dyn Fn(usize, usize) -> Ordering) -> Vec<usize> {
    let mut sorted: Vec<usize> = (0..count).collect();
    let mut width = 1;
    while width < count {
        sorted = sorted
            .chunks(2 * width)
            .flat_map(|pair| {
                let (left, right) = pair.split_at_checked(width).unwrap_or((pair, &[]));
                merged(left, right, compare)
            })
            .collect();
        width *= 2;
    }
    sorted
}

fn merged(left: &[usize], right: &[usize], compare: &dyn Fn(usize, usize) -> Ordering) -> Vec<usize> {
    let mut merged = Vec::with_capacity(left.len() + right.len());
    let (mut left, mut right) = (left, right);
    while let ([first, left_rest @ ..], [second, right_rest @ ..]) = (left, right) {
        if compare(*second, *first) == Ordering::Less {
            merged.push(*second);
            right = right_rest;
        } else {
            merged.push(*first);
            left = left_rest;
        }
    }
    merged.extend(left.iter().chain(right));
    merged
}

#[cfg(test)]
mod tests {
    use super::sort_by;

    /// Beside the standard library's, with many equal keys, so that an unstable order would show.
    #[test]
    fn as_the_standard_library_does() {
        let mut state = 7_u32;
        for count in (0..70).chain([127, 128, 129, 1000]) {
            let mut items: Vec<(u32, usize)> = (0..count)
                .map(|place| {
                    state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    ((state >> 16) % 7, place)
                })
                .collect();
            let mut wanted = items.clone();
            wanted.sort_by_key(|(key, _)| *key);
            sort_by(&mut items, |left, right| left.0.cmp(&right.0));
            assert_eq!(items, wanted, "{count}");
        }
    }
}
