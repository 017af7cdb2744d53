//! Short copies. A call of the engine's own copying costs more than most texts of a JSON document take to copy.

/// Adds the bytes. Those of up to 32 are moved as two pieces of a length that the compiler knows, which overlap.
#[inline(always)]
pub fn append(out: &mut Vec<u8>, bytes: &[u8]) {
    match bytes.len() {
        0..4 => bytes.iter().for_each(|byte| out.push(*byte)),
        4..8 => overlapping::<4>(out, bytes),
        8..16 => overlapping::<8>(out, bytes),
        16..=32 => overlapping::<16>(out, bytes),
        _ => out.extend_from_slice(bytes),
    }
}

#[inline(always)]
fn overlapping<const N: usize>(out: &mut Vec<u8>, bytes: &[u8]) {
    if let (Some(first), Some(last)) = (bytes.first_chunk::<N>(), bytes.last_chunk::<N>()) {
        let end = out.len() + bytes.len();
        out.extend_from_slice(first);
        out.truncate(end - N);
        out.extend_from_slice(last);
    }
}
