//! Scalars against big integers: products, inverses, and the ways to take them apart.

use counterfoil::secp256k1::scalar::{places, Half, Scalar};
use num_bigint::{BigInt, Sign};

use crate::field;
use crate::random::Random;
use crate::{hex, Counts};

pub const ORDER: &str = "fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141";
/// Times a point multiplies its x by a cube root of 1.
const LAMBDA: &str = "5363ad4cc05c30e0a5261c028812645a122e22ea20816678df02967c1b23bd72";
/// Short vectors of the lattice in which scalars are split.
const A1: &str = "000000000000000000000000000000003086d221a7d46bcde86c90e49284eb15";
const B1: &str = "00000000000000000000000000000000e4437ed6010e88286f547fa90abfe4c3";

fn number(bytes: &[u8; 32]) -> BigInt {
    BigInt::from_bytes_be(Sign::Plus, bytes)
}

/// Around 0, n, n / 2, λ, 2^128 and where the rounding of a split turns.
pub fn edges() -> Vec<[u8; 32]> {
    let mut edges = field::edges();
    for text in [
        ORDER,
        LAMBDA,
        "7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0",
        A1,
        B1,
        "0000000000000000000000000000000114ca50f7a8e2f3f657c1108d9d44cfd8",
    ] {
        edges.push(hex(text));
    }
    // Half-way between two coefficients of a split: there one rounds the other way.
    let order = number(&hex(ORDER));
    for basis in [A1, B1] {
        for odd in [1, 3, 0xffff_ffff, u64::MAX] {
            edges.push(padded(&(&order * odd / (number(&hex(basis)) * 2) % &order)));
        }
    }
    edges
}

fn padded(value: &BigInt) -> [u8; 32] {
    let bytes = value.to_bytes_be().1;
    let mut padded = [0; 32];
    padded[32 - bytes.len()..].copy_from_slice(&bytes);
    padded
}

fn value(half: &Half) -> BigInt {
    let magnitude = BigInt::from(half.magnitude);
    if half.negative {
        -magnitude
    } else {
        magnitude
    }
}

/// `rounds` times every function.
pub fn functions(seed: u64, rounds: u64, counts: &Counts) {
    let random = &mut Random::new(seed, 3);
    let edges = edges();
    let order = &number(&hex(ORDER));
    let lambda = number(&hex(LAMBDA));
    let reduced = |value: BigInt| padded(&(((value % order) + order) % order));
    let mut batch: Vec<Scalar> = Vec::new();
    for round in 0..rounds {
        let (a_bytes, b_bytes) = (random.bytes(&edges), random.bytes(&edges));
        let (va, vb) = (number(&a_bytes), number(&b_bytes));
        let (a, b) = (Scalar::reduced(&a_bytes), Scalar::reduced(&b_bytes));
        assert_eq!(Scalar::from_be_bytes(&a_bytes), (&va < order).then_some(a));
        assert_eq!(a.to_be_bytes(), reduced(va.clone()));
        assert_eq!(
            a.times(&b).to_be_bytes(),
            reduced(&va * &vb),
            "{a_bytes:?} {b_bytes:?}"
        );
        assert_eq!(a.times(&a).to_be_bytes(), reduced(&va * &va));
        assert_eq!(a.negated().to_be_bytes(), reduced(-&va));
        let va = number(&a.to_be_bytes());
        assert_eq!(a.is_zero(), va == BigInt::from(0));
        assert_eq!(a.is_odd(), va.bit(0));
        assert_eq!(a.is_high(), &va * 2 > *order);
        counts.add("scalar operations", 8);

        let (k, l) = a.split();
        let (k, l) = (value(&k), value(&l));
        assert_eq!(reduced(&k + &l * &lambda), a.to_be_bytes());
        // The bounds of the comment: 0.637 and 0.542 of 2^128.
        let within = |half: &BigInt, most: u64| {
            let most: BigInt = BigInt::from(most) << 128;
            half * 1000 < most && half * -1000 < most
        };
        assert!(within(&k, 637), "{k}");
        assert!(within(&l, 542), "{l}");
        let (low, high) = Half::of(&a);
        assert_eq!(value(&low) + (value(&high) << 128), va);
        let width = 8 + random.below(9) as usize;
        let (digits, negative) = a.odd_digits(width);
        assert!(digits.iter().skip(places(width)).all(|digit| *digit == 0));
        let sum = digits[..places(width)]
            .iter()
            .rev()
            .fold(BigInt::from(0), |sum, digit| {
                assert!(u32::from(*digit) < 1 << width);
                (sum << width) + (2 * i64::from(*digit) + 1 - (1 << width))
            });
        assert_eq!(reduced(if negative { -sum } else { sum }), a.to_be_bytes());
        counts.add("scalar splits", 3);

        if round % 8 == 0 {
            match a.inverse() {
                Some(inverse) => assert_eq!(inverse.times(&a), Scalar::ONE, "{a_bytes:?}"),
                None => assert!(a.is_zero()),
            }
            counts.add("scalar inverses", 1);
            batch.push(a);
            if batch.len() as u64 > random.below(50) {
                let mut inverted = batch.clone();
                match Scalar::invert_all(&mut inverted) {
                    None => assert!(batch.iter().any(Scalar::is_zero)),
                    Some(()) => {
                        for (a, inverse) in batch.iter().zip(&inverted) {
                            assert_eq!(a.times(inverse), Scalar::ONE);
                        }
                    }
                }
                batch.clear();
            }
        }
    }
}
