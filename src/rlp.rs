//! RLP as blocks and transactions use it: lists, strings and whole numbers, each in its one encoding.

use alloy_rlp::{Header, PayloadView};

/// The items of exactly one list, each with its own header.
pub(crate) fn items(bytes: &[u8]) -> Option<Vec<&[u8]>> {
    match whole(bytes)? {
        PayloadView::List(items) => Some(items),
        PayloadView::String(_) => None,
    }
}

/// The bytes of exactly one string.
pub(crate) fn string(item: &[u8]) -> Option<&[u8]> {
    match whole(item)? {
        PayloadView::String(bytes) => Some(bytes),
        PayloadView::List(_) => None,
    }
}

/// A string of that length.
pub(crate) fn array<const N: usize>(item: &[u8]) -> Option<[u8; N]> {
    string(item)?.try_into().ok()
}

/// A whole number without leading zeros.
pub(crate) fn number(item: &[u8]) -> Option<u64> {
    let digits = string(item)?;
    if digits.len() > 8 || digits.first() == Some(&0) {
        return None;
    }
    Some(
        digits
            .iter()
            .fold(0, |number, digit| number << 8 | u64::from(*digit)),
    )
}

/// A whole number of at most 32 bytes without leading zeros, widened to a word.
pub(crate) fn word(item: &[u8]) -> Option<[u8; 32]> {
    let digits = string(item)?;
    let zeros = 32_usize.checked_sub(digits.len())?;
    if digits.first() == Some(&0) {
        return None;
    }
    let mut word = [0; 32];
    word.iter_mut()
        .skip(zeros)
        .zip(digits)
        .for_each(|(at, digit)| *at = *digit);
    Some(word)
}

fn whole(mut bytes: &[u8]) -> Option<PayloadView<'_>> {
    let view = Header::decode_raw(&mut bytes).ok()?;
    bytes.is_empty().then_some(view)
}

/// One string.
pub(crate) fn encode(bytes: &[u8]) -> Vec<u8> {
    alloy_rlp::encode(bytes)
}

/// One whole number.
pub(crate) fn encode_number(number: u64) -> Vec<u8> {
    alloy_rlp::encode(number)
}

/// One list of items that are encoded already.
pub(crate) fn list(items: &[Vec<u8>]) -> Vec<u8> {
    let payload_length = items.iter().map(Vec::len).sum();
    let mut bytes = Vec::new();
    let header = Header {
        list: true,
        payload_length,
    };
    header.encode(&mut bytes);
    items.iter().for_each(|item| bytes.extend(item));
    bytes
}
