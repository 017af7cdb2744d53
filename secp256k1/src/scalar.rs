//! Numbers that points are multiplied by: integers modulo the group order n, in variable time. They are always canonical.

use crate::field::Element;
use crate::inverse::Modulus;
use crate::limbs::{self, Columns, Limbs, BITS, MASK};

const ORDER: Limbs = limbs::from_be_bytes(&[
    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe, 0xba,
    0xae, 0xdc, 0xe6, 0xaf, 0x48, 0xa0, 0x3b, 0xbf, 0xd2, 0x5e, 0x8c, 0xd0, 0x36, 0x41, 0x41,
]);

const MODULUS: Modulus = Modulus::new(&ORDER);

/// Half the order, rounded down.
const HALF: Limbs = limbs::from_be_bytes(&[
    0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x5d,
    0x57, 0x6e, 0x73, 0x57, 0xa4, 0x50, 0x1d, 0xdf, 0xe9, 0x2f, 0x46, 0x68, 0x1b, 0x20, 0xa0,
]);

/// 2^256 - n, 129 bits.
const REST: Limbs = [
    0x0fc9_bebf,
    0x016d_0b99,
    0x0dd7_f110,
    0x0246_32a1,
    0x1455,
    0,
    0,
    0,
    0,
];

/// 2^261 - 32 n, 134 bits: what 2^261 is worth.
const FOLD: [i64; 5] = [0x1937_d7e0, 0x0da1_732f, 0x1afe_2201, 0x08c6_542d, 0x2_8aa2];

/// An integer from 0 to below n.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scalar(Limbs);

/// A part of a scalar: below 2^128 in absolute value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Half {
    /// The absolute value.
    pub magnitude: u128,
    /// Whether it is below 0.
    pub negative: bool,
}

impl Scalar {
    /// Nothing.
    pub const ZERO: Scalar = Scalar([0; 9]);
    /// One.
    pub const ONE: Scalar = Scalar([1, 0, 0, 0, 0, 0, 0, 0, 0]);

    /// The number of 32 big-endian bytes, when it is below n.
    pub fn from_be_bytes(bytes: &[u8; 32]) -> Option<Scalar> {
        let limbs = limbs::from_be_bytes(bytes);
        let below = limbs.iter().rev().lt(ORDER.iter().rev());
        below.then_some(Scalar(limbs))
    }

    /// The number of 32 big-endian bytes, modulo n.
    pub fn reduced(bytes: &[u8; 32]) -> Scalar {
        // Below 2 n.
        Scalar(less_order(limbs::from_be_bytes(bytes)))
    }

    /// 32 big-endian bytes.
    pub fn to_be_bytes(&self) -> [u8; 32] {
        limbs::to_be_bytes(&self.0)
    }

    /// The same number as a coordinate.
    pub fn to_element(&self) -> Element {
        Element::from_canonical(self.0)
    }

    /// Whether it is 0.
    pub fn is_zero(&self) -> bool {
        self.0 == [0; 9]
    }

    /// Whether it is odd.
    pub fn is_odd(&self) -> bool {
        let [low, ..] = self.0;
        low & 1 == 1
    }

    /// Whether it is above half the order, and so the larger of itself and its negative (EIP-2).
    pub fn is_high(&self) -> bool {
        self.0.iter().rev().gt(HALF.iter().rev())
    }

    /// The number that adds up with this one to 0.
    pub fn negated(&self) -> Scalar {
        if self.is_zero() {
            return Scalar::ZERO;
        }
        let mut limbs = ORDER;
        for (limb, other) in limbs.iter_mut().zip(&self.0) {
            *limb -= other;
        }
        Scalar(limbs::carried(limbs))
    }

    /// The product.
    pub fn times(&self, other: &Scalar) -> Scalar {
        reduce(&limbs::product(&self.0, &other.0))
    }

    /// The number whose product with this one is 1; 0 has none.
    pub fn inverse(&self) -> Option<Scalar> {
        MODULUS.inverse(&self.0).map(Scalar)
    }

    /// Replaces every number by its inverse, with one inversion for all (Montgomery's trick). `None` when one of them is 0; then
    /// what they hold means nothing.
    pub fn invert_all(numbers: &mut [Scalar]) -> Option<()> {
        let mut product = Scalar::ONE;
        let mut before = Vec::with_capacity(numbers.len());
        for number in numbers.iter() {
            before.push(product);
            product = product.times(number);
        }
        let mut inverse = product.inverse()?;
        for (number, before) in numbers.iter_mut().zip(before).rev() {
            let own = inverse.times(&before);
            inverse = inverse.times(number);
            *number = own;
        }
        Some(())
    }

    /// Two numbers of half the length, `k` and `l`, with `self = k + l λ` modulo n (Gallant, Lambert, Vanstone), where λ times a point
    /// multiplies its x by a cube root of 1.
    ///
    /// The pairs (a, b) with a + b λ = 0 modulo n form a lattice with the basis (A1, -B1), (A2, A1). Up to a rounding, `self` is
    /// (A1 n self - ...) / n: let c1 and c2 be `self` times A1 / n and B1 / n, rounded to integers. Then (self, 0) - c1 (A1, -B1) - c2 (A2, A1)
    /// is the same number, and a combination of the basis with factors of at most 1/2 + 2^-129, where the last part comes from rounding the
    /// constants to 384 bits. So |k| ≤ 0.501 (A1 + A2) < 0.637 · 2^128, and |l| ≤ 0.501 (B1 + A1) < 0.542 · 2^128.
    pub fn split(&self) -> (Half, Half) {
        let c1 = self.rounded(&TIMES_A1);
        let c2 = self.rounded(&TIMES_B1);
        let [k0, k1, k2, k3, k4, ..] = self.0.map(i64::from);
        let k = less_product(less_product([k0, k1, k2, k3, k4], &c1, &A1), &c2, &A2);
        let l = less_product(less_product([0; 5], &c1, &MINUS_B1), &c2, &A1);
        (Half::from_limbs(k), Half::from_limbs(l))
    }

    /// `self` times `factor` / 2^384, rounded; below 2^128.
    fn rounded(&self, factor: &Limbs) -> [i64; 5] {
        let limbs = spread(&limbs::product(&self.0, factor));
        let [_, _, _, _, _, _, _, _, _, _, _, _, _, l13, l14, l15, l16, l17] = limbs;
        // Bit 384 is bit 7 of limb 13; the bit below rounds.
        let next = |low: i64, high: i64| low >> 7 | (high << 22 & MASK);
        let [n0, n1, n2, n3, n4] = [
            next(l13, l14) + (l13 >> 6 & 1),
            next(l14, l15),
            next(l15, l16),
            next(l16, l17),
            l17 >> 7,
        ];
        [n0, n1, n2, n3, n4]
    }

    /// `width` bits a digit, from 8 to 16, least significant first, for a sum without zeros: the number is the sum of (2 digit + 1 - 2^width) 2^(width place), over the
    /// [`places`] of that width, when it is odd, and the negative of that sum, which is then the number's negative, when it is even, as n is odd. Tells which as well.
    ///
    /// For odd k and d bits in all, let e = 2^(d-1) + (k - 1) / 2. Then 2 e - (2^d - 1) = k, and 2^d - 1 is the sum of (2^width - 1) 2^(width place).
    pub fn odd_digits(&self, width: usize) -> ([u16; 32], bool) {
        let even = !self.is_odd();
        let mut limbs = self.0;
        if even {
            // Not canonical for 0, of which n times a point is as good.
            limbs = ORDER;
            for (limb, other) in limbs.iter_mut().zip(&self.0) {
                *limb -= other;
            }
            limbs = limbs::carried(limbs);
        }
        let bytes = limbs::to_be_bytes(&limbs);
        let mut bytes = bytes.iter().rev();
        // Bits that are not in a digit yet, without the lowest one.
        let mut rest = bytes.next().map_or(0, |byte| u32::from(*byte) >> 1);
        let mut held = 7;
        let mut digits = [0; 32];
        let places = places(width);
        for (place, digit) in digits.iter_mut().enumerate().take(places) {
            while held < width {
                rest |= bytes.next().map_or(0, |byte| u32::from(*byte)) << held;
                held += 8;
            }
            let top = u32::from(place + 1 == places) << (width - 1);
            *digit = (rest & ((1 << width) - 1) | top) as u16;
            rest >>= width;
            held -= width;
        }
        (digits, even)
    }
}

/// How many digits of so many bits a scalar has.
pub const fn places(width: usize) -> usize {
    256_usize.div_ceil(width)
}

impl Half {
    /// From a number modulo 2^145 in five limbs, whose upper half stands for the negative ones.
    fn from_limbs(limbs: [i64; 5]) -> Half {
        let [.., top] = limbs;
        let negative = top >> (BITS - 1) & 1 == 1;
        let signed = |limb: i64| if negative { -limb } else { limb };
        let [l0, l1, l2, l3, l4] = masked(limbs.map(signed));
        debug_assert!(l4 < 1 << (128 - 4 * BITS));
        let low = (l0 | l1 << 29) as u128 | ((l2 | l3 << 29) as u128) << 58;
        Half {
            magnitude: low | (l4 as u128) << 116,
            negative,
        }
    }

    /// The lower and the upper half of a scalar.
    pub fn of(scalar: &Scalar) -> (Half, Half) {
        let bytes = scalar.to_be_bytes();
        let mut halves = bytes.chunks_exact(16).rev().map(|half| {
            let magnitude = half.iter().fold(0, |sum, byte| sum << 8 | u128::from(*byte));
            Half {
                magnitude,
                negative: false,
            }
        });
        let none = Half {
            magnitude: 0,
            negative: false,
        };
        let low = halves.next().unwrap_or(none);
        (low, halves.next().unwrap_or(none))
    }
}

/// Coordinates of the basis in [`Scalar::split`].
const A1: [i64; 5] = [0x1284_eb15, 0x0364_8724, 0x151a_f37a, 0x0da4_434f, 0x308];
const MINUS_B1: [i64; 5] = [-0x0abf_e4c3, -0x1aa3_fd48, -0x03a2_0a1b, -0x06fd_ac02, -0xe44];
const A2: [i64; 5] = [0x1d44_cfd8, 0x1e08_846c, 0x18bc_fd95, 0x14a1_ef51, 0x114c];
/// 2^384 A1 / n and 2^384 B1 / n, rounded.
const TIMES_A1: Limbs = limbs::from_be_bytes(&[
    0x30, 0x86, 0xd2, 0x21, 0xa7, 0xd4, 0x6b, 0xcd, 0xe8, 0x6c, 0x90, 0xe4, 0x92, 0x84, 0xeb, 0x15, 0x3d,
    0xaa, 0x8a, 0x14, 0x71, 0xe8, 0xca, 0x7f, 0xe8, 0x93, 0x20, 0x9a, 0x45, 0xdb, 0xb0, 0x31,
]);
const TIMES_B1: Limbs = limbs::from_be_bytes(&[
    0xe4, 0x43, 0x7e, 0xd6, 0x01, 0x0e, 0x88, 0x28, 0x6f, 0x54, 0x7f, 0xa9, 0x0a, 0xbf, 0xe4, 0xc4, 0x22,
    0x12, 0x08, 0xac, 0x9d, 0xf5, 0x06, 0xc6, 0x15, 0x71, 0xb4, 0xae, 0x8a, 0xc4, 0x7f, 0x71,
]);

/// `sum - a b` modulo 2^145. Fifteen products below 2^58.1 at most five in a column: far from 2^63.
#[rustfmt::skip]
fn less_product(sum: [i64; 5], a: &[i64; 5], b: &[i64; 5]) -> [i64; 5] {
    let ([s0, s1, s2, s3, s4], [a0, a1, a2, a3, a4], [b0, b1, b2, b3, b4]) = (sum, *a, *b);
    masked([
        s0 - a0 * b0,
        s1 - a0 * b1 - a1 * b0,
        s2 - a0 * b2 - a1 * b1 - a2 * b0,
        s3 - a0 * b3 - a1 * b2 - a2 * b1 - a3 * b0,
        s4 - a0 * b4 - a1 * b3 - a2 * b2 - a3 * b1 - a4 * b0,
    ])
}

/// Carries, and drops what is above 145 bits.
fn masked([l0, l1, l2, l3, l4]: [i64; 5]) -> [i64; 5] {
    let l1 = l1 + (l0 >> BITS);
    let l2 = l2 + (l1 >> BITS);
    let l3 = l3 + (l2 >> BITS);
    let l4 = l4 + (l3 >> BITS);
    [l0, l1, l2, l3, l4].map(|limb| limb & MASK)
}

/// Carries the columns of a product of two numbers below 2^261, each of which is below 9 · 2^58.
fn spread(columns: &Columns) -> [i64; 18] {
    let mut limbs = [0; 18];
    let mut carry = 0;
    for (limb, column) in limbs.iter_mut().zip(columns.iter().chain(&[0])) {
        let sum = column + carry;
        *limb = sum & MASK;
        carry = sum >> BITS;
    }
    debug_assert!(carry == 0);
    limbs
}

/// The product of two canonical numbers, below 2^512, in columns; modulo n.
///
/// What is above 2^261 is below 2^251; times [`FOLD`] it is below 2^385, so the sum is below 2^386. What is then above 2^261 is below 2^125, and
/// times the fold below 2^259: the sum is below 2^262. What is then above 2^256 is at most 63; times [`REST`] it is below 2^135, so the sum
/// is below 2^256 + 2^135 < 2 n. No column holds more than five products below 2^58, a limb and a carry.
#[rustfmt::skip]
fn reduce(columns: &Columns) -> Scalar {
    let [f0, f1, f2, f3, f4] = FOLD;
    let [l0, l1, l2, l3, l4, l5, l6, l7, l8, h0, h1, h2, h3, h4, h5, h6, h7, h8] = spread(columns);
    let [l0, l1, l2, l3, l4, l5, l6, l7, l8, h0, h1, h2, h3, h4, ..] = spread(&[
        l0 + h0 * f0,
        l1 + h0 * f1 + h1 * f0,
        l2 + h0 * f2 + h1 * f1 + h2 * f0,
        l3 + h0 * f3 + h1 * f2 + h2 * f1 + h3 * f0,
        l4 + h0 * f4 + h1 * f3 + h2 * f2 + h3 * f1 + h4 * f0,
        l5 + h1 * f4 + h2 * f3 + h3 * f2 + h4 * f1 + h5 * f0,
        l6 + h2 * f4 + h3 * f3 + h4 * f2 + h5 * f1 + h6 * f0,
        l7 + h3 * f4 + h4 * f3 + h5 * f2 + h6 * f1 + h7 * f0,
        l8 + h4 * f4 + h5 * f3 + h6 * f2 + h7 * f1 + h8 * f0,
        h5 * f4 + h6 * f3 + h7 * f2 + h8 * f1,
        h6 * f4 + h7 * f3 + h8 * f2,
        h7 * f4 + h8 * f3,
        h8 * f4,
        0, 0, 0, 0,
    ]);
    let [l0, l1, l2, l3, l4, l5, l6, l7, l8, l9, ..] = spread(&[
        l0 + h0 * f0,
        l1 + h0 * f1 + h1 * f0,
        l2 + h0 * f2 + h1 * f1 + h2 * f0,
        l3 + h0 * f3 + h1 * f2 + h2 * f1 + h3 * f0,
        l4 + h0 * f4 + h1 * f3 + h2 * f2 + h3 * f1 + h4 * f0,
        l5 + h1 * f4 + h2 * f3 + h3 * f2 + h4 * f1,
        l6 + h2 * f4 + h3 * f3 + h4 * f2,
        l7 + h3 * f4 + h4 * f3,
        l8 + h4 * f4,
        0, 0, 0, 0, 0, 0, 0, 0,
    ]);
    let over = l8 >> 24 | l9 << 5;
    let [r0, r1, r2, r3, r4, ..] = REST.map(i64::from);
    let [l0, l1, l2, l3, l4, l5, l6, l7, l8, ..] = spread(&[
        l0 + over * r0, l1 + over * r1, l2 + over * r2, l3 + over * r3, l4 + over * r4,
        l5, l6, l7, l8 & 0xff_ffff,
        0, 0, 0, 0, 0, 0, 0, 0,
    ]);
    Scalar(less_order([l0, l1, l2, l3, l4, l5, l6, l7, l8].map(|limb| limb as i32)))
}

/// Subtracts n once when the number, below 2 n, reaches it: when adding 2^256 - n reaches 2^256.
fn less_order(limbs: Limbs) -> Limbs {
    let mut sum = limbs;
    for (limb, rest) in sum.iter_mut().zip(&REST) {
        *limb += rest;
    }
    let [l0, l1, l2, l3, l4, l5, l6, l7, l8] = limbs::carried(sum);
    if l8 >> 24 == 0 {
        limbs
    } else {
        [l0, l1, l2, l3, l4, l5, l6, l7, l8 & 0xff_ffff]
    }
}
