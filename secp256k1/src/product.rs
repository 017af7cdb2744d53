//! a G + b Q for any point Q, in variable time.
//!
//! Both factors are taken apart into two halves (b by the endomorphism, a at bit 128), so that 128 doublings serve all four; each half is
//! written with few odd digits.

use std::sync::OnceLock;

use crate::field::Element;
use crate::point::{Affine, Jacobian, GENERATOR};
use crate::scalar::{Half, Scalar};

/// A cube root of 1: the point (BETA x, y) is λ (x, y).
pub(crate) const BETA: Element = Element::constant(&[
    0x7a, 0xe9, 0x6a, 0x2b, 0x65, 0x7c, 0x07, 0x10, 0x6e, 0x64, 0x47, 0x9e, 0xac, 0x34, 0x34, 0xe9, 0x9c,
    0xf0, 0x49, 0x75, 0x12, 0xf5, 0x89, 0x95, 0xc1, 0x39, 0x6c, 0x28, 0x71, 0x95, 0x01, 0xee,
]);

/// Bits of a digit for a point that is met once: eight odd multiples.
const WIDTH: u32 = 5;

/// Bits of a digit for the generator: 128 odd multiples of it and as many of 2^128 times it, 18 KB, made at the first use.
const GENERATOR_WIDTH: u32 = 9;

/// Digits of a half: each is 0 or odd, and of any `width` neighbours at most one is not 0.
type Digits = [i16; 130];

/// `a` times the generator plus `b` times `q`.
pub fn sum_of_products(a: &Scalar, q: &Affine, b: &Scalar) -> Jacobian {
    let (multiples, turned) = point_tables(q);
    let (low, high) = generator_tables();
    let (k, l) = b.split();
    let (a_low, a_high) = Half::of(a);
    let terms = [
        (digits(&k, WIDTH), multiples.as_slice()),
        (digits(&l, WIDTH), turned.as_slice()),
        (digits(&a_low, GENERATOR_WIDTH), low.as_slice()),
        (digits(&a_high, GENERATOR_WIDTH), high.as_slice()),
    ];
    let [(k, _), (l, _), (m, _), (n, _)] = &terms;
    let rows = k.iter().zip(l).zip(m.iter().zip(n));
    let mut sum = Jacobian::INFINITY;
    for ((k, l), (m, n)) in rows.rev() {
        sum = sum.doubled();
        for (digit, (_, table)) in [k, l, m, n].into_iter().zip(&terms) {
            let Some(point) = table
                .get(usize::from(digit.unsigned_abs() >> 1))
                .filter(|_| *digit != 0)
            else {
                continue;
            };
            sum = if *digit < 0 {
                sum.plus(&point.x, &point.y.negated())
            } else {
                sum.plus(&point.x, &point.y)
            };
        }
    }
    sum
}

/// The digits of a number, least significant first, each below 2^(width - 1) in absolute value.
fn digits(half: &Half, width: u32) -> Digits {
    let mut digits = [0; 130];
    let (mut rest, mut carry) = (half.magnitude, 0);
    let mut gap = 0;
    for digit in &mut digits {
        if gap > 0 {
            gap -= 1;
        } else if (rest as i32 & 1) + carry == 1 {
            // Odd: the digit takes `width` bits, as a negative number when it is large, which adds 1 above.
            let value = (rest as i32 & ((1 << width) - 1)) + carry;
            carry = value >> (width - 1);
            let value = (value - (carry << width)) as i16;
            *digit = if half.negative { -value } else { value };
            gap = width - 1;
        }
        rest >>= 1;
    }
    debug_assert!(rest == 0 && carry == 0);
    digits
}

/// The first `count` odd multiples of a point. No sum here is exceptional: the order of the group is prime, and far larger.
fn odd_multiples(point: &Affine, count: usize) -> Vec<Jacobian> {
    let double = Jacobian::from(*point).doubled();
    // On the isomorphic curve where the double has z = 1, it can be added as a pair of coordinates.
    let (x, y, z) = double.parts();
    let square = z.squared();
    let mut sum = Jacobian::from(Affine {
        x: point.x.times(&square),
        y: point.y.times(&square.times(z)),
    });
    let mut multiples = Vec::with_capacity(count);
    for _ in 0..count {
        multiples.push(sum.scaled(z));
        sum = sum.plus(x, y);
    }
    multiples
}

/// Odd multiples of a point and of λ times it.
fn point_tables(point: &Affine) -> (Vec<Affine>, Vec<Affine>) {
    // None is infinity: the order is prime.
    let multiples = Jacobian::all_to_affine(&odd_multiples(point, 1 << (WIDTH - 2))).unwrap_or_default();
    let turn = |point: &Affine| Affine {
        x: point.x.times(&BETA),
        y: point.y,
    };
    let turned = multiples.iter().map(turn).collect();
    (multiples, turned)
}

/// Odd multiples of the generator and of 2^128 times it.
fn generator_tables() -> &'static (Vec<Affine>, Vec<Affine>) {
    static TABLES: OnceLock<(Vec<Affine>, Vec<Affine>)> = OnceLock::new();
    TABLES.get_or_init(|| {
        let count = 1 << (GENERATOR_WIDTH - 2);
        let high = (0..128).fold(Jacobian::from(GENERATOR), |point, _| point.doubled());
        let mut all = odd_multiples(&GENERATOR, count);
        all.extend(
            high.to_affine()
                .map(|high| odd_multiples(&high, count))
                .unwrap_or_default(),
        );
        let mut low = Jacobian::all_to_affine(&all).unwrap_or_default();
        let high = low.split_off(count.min(low.len()));
        (low, high)
    })
}
