//! Integers below 2^261 as nine limbs of 29 bits, least significant first: the form that both rings compute in.
//!
//! 29 is what lets a machine with 64-bit products, but no wider ones, add up a whole column of a 256-bit product before it has
//! to carry.

/// Bits of a limb.
pub const BITS: u32 = 29;

/// The largest value of a limb whose carry is done.
pub const MASK: i64 = (1 << BITS) - 1;

/// Nine limbs. They have a sign, so that a difference needs neither a carry nor a multiple of the modulus.
pub type Limbs = [i32; 9];

/// Column `k` is the sum of all products of limbs whose places add up to `k`.
pub type Columns = [i64; 17];

/// The limbs of 32 big-endian bytes, each at least 0 and at most [`MASK`], the last below 2^24.
pub const fn from_be_bytes(bytes: &[u8; 32]) -> Limbs {
    let [b0, b1, b2, b3, b4, b5, b6, b7, c0, c1, c2, c3, c4, c5, c6, c7, d0, d1, d2, d3, d4, d5, d6, d7, e0, e1, e2, e3, e4, e5, e6, e7] =
        *bytes;
    let w3 = u64::from_be_bytes([b0, b1, b2, b3, b4, b5, b6, b7]);
    let w2 = u64::from_be_bytes([c0, c1, c2, c3, c4, c5, c6, c7]);
    let w1 = u64::from_be_bytes([d0, d1, d2, d3, d4, d5, d6, d7]);
    let w0 = u64::from_be_bytes([e0, e1, e2, e3, e4, e5, e6, e7]);
    let mask = MASK as u64;
    [
        (w0 & mask) as i32,
        (w0 >> 29 & mask) as i32,
        ((w0 >> 58 | w1 << 6) & mask) as i32,
        (w1 >> 23 & mask) as i32,
        ((w1 >> 52 | w2 << 12) & mask) as i32,
        (w2 >> 17 & mask) as i32,
        ((w2 >> 46 | w3 << 18) & mask) as i32,
        (w3 >> 11 & mask) as i32,
        (w3 >> 40) as i32,
    ]
}

/// The 32 big-endian bytes of limbs whose carries are done and whose value is below 2^256.
pub fn to_be_bytes(limbs: &Limbs) -> [u8; 32] {
    let [l0, l1, l2, l3, l4, l5, l6, l7, l8] = limbs.map(|limb| limb as u64);
    let words = [
        l6 >> 18 | l7 << 11 | l8 << 40,
        l4 >> 12 | l5 << 17 | l6 << 46,
        l2 >> 6 | l3 << 23 | l4 << 52,
        l0 | l1 << 29 | l2 << 58,
    ];
    let mut bytes = [0; 32];
    for (place, word) in bytes.chunks_exact_mut(8).zip(words) {
        place.copy_from_slice(&word.to_be_bytes());
    }
    bytes
}

/// Carries; the last limb keeps what is above, and the sign.
#[rustfmt::skip]
pub fn carried([l0, l1, l2, l3, l4, l5, l6, l7, l8]: Limbs) -> Limbs {
    let l1 = l1 + (l0 >> BITS);
    let l2 = l2 + (l1 >> BITS);
    let l3 = l3 + (l2 >> BITS);
    let l4 = l4 + (l3 >> BITS);
    let l5 = l5 + (l4 >> BITS);
    let l6 = l6 + (l5 >> BITS);
    let l7 = l7 + (l6 >> BITS);
    let l8 = l8 + (l7 >> BITS);
    let [l0, l1, l2, l3, l4, l5, l6, l7] = [l0, l1, l2, l3, l4, l5, l6, l7].map(|limb| limb & MASK as i32);
    [l0, l1, l2, l3, l4, l5, l6, l7, l8]
}

/// The columns of a product: 81 multiplications.
#[inline(always)]
#[rustfmt::skip]
pub fn product(a: &Limbs, b: &Limbs) -> Columns {
    let [a0, a1, a2, a3, a4, a5, a6, a7, a8] = a.map(i64::from);
    let [b0, b1, b2, b3, b4, b5, b6, b7, b8] = b.map(i64::from);
    [
        a0 * b0,
        a0 * b1 + a1 * b0,
        a0 * b2 + a1 * b1 + a2 * b0,
        a0 * b3 + a1 * b2 + a2 * b1 + a3 * b0,
        a0 * b4 + a1 * b3 + a2 * b2 + a3 * b1 + a4 * b0,
        a0 * b5 + a1 * b4 + a2 * b3 + a3 * b2 + a4 * b1 + a5 * b0,
        a0 * b6 + a1 * b5 + a2 * b4 + a3 * b3 + a4 * b2 + a5 * b1 + a6 * b0,
        a0 * b7 + a1 * b6 + a2 * b5 + a3 * b4 + a4 * b3 + a5 * b2 + a6 * b1 + a7 * b0,
        a0 * b8 + a1 * b7 + a2 * b6 + a3 * b5 + a4 * b4 + a5 * b3 + a6 * b2 + a7 * b1 + a8 * b0,
        a1 * b8 + a2 * b7 + a3 * b6 + a4 * b5 + a5 * b4 + a6 * b3 + a7 * b2 + a8 * b1,
        a2 * b8 + a3 * b7 + a4 * b6 + a5 * b5 + a6 * b4 + a7 * b3 + a8 * b2,
        a3 * b8 + a4 * b7 + a5 * b6 + a6 * b5 + a7 * b4 + a8 * b3,
        a4 * b8 + a5 * b7 + a6 * b6 + a7 * b5 + a8 * b4,
        a5 * b8 + a6 * b7 + a7 * b6 + a8 * b5,
        a6 * b8 + a7 * b7 + a8 * b6,
        a7 * b8 + a8 * b7,
        a8 * b8,
    ]
}

/// The columns of a square: 45 multiplications.
#[inline(always)]
#[rustfmt::skip]
pub fn square(a: &Limbs) -> Columns {
    let [a0, a1, a2, a3, a4, a5, a6, a7, a8] = a.map(i64::from);
    let [d0, d1, d2, d3, d4, d5, d6, d7, _] = a.map(|limb| i64::from(limb) << 1);
    [
        a0 * a0,
        d0 * a1,
        d0 * a2 + a1 * a1,
        d0 * a3 + d1 * a2,
        d0 * a4 + d1 * a3 + a2 * a2,
        d0 * a5 + d1 * a4 + d2 * a3,
        d0 * a6 + d1 * a5 + d2 * a4 + a3 * a3,
        d0 * a7 + d1 * a6 + d2 * a5 + d3 * a4,
        d0 * a8 + d1 * a7 + d2 * a6 + d3 * a5 + a4 * a4,
        d1 * a8 + d2 * a7 + d3 * a6 + d4 * a5,
        d2 * a8 + d3 * a7 + d4 * a6 + a5 * a5,
        d3 * a8 + d4 * a7 + d5 * a6,
        d4 * a8 + d5 * a7 + a6 * a6,
        d5 * a8 + d6 * a7,
        d6 * a8 + a7 * a7,
        d7 * a8,
        a8 * a8,
    ]
}
