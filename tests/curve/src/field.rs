//! The field against big integers: every sum of products that it offers, with limbs up to their bounds.

use counterfoil::secp256k1::field::{Element, Loose};
use num_bigint::{BigInt, BigUint, Sign};

use crate::random::Random;
use crate::{hex, Counts};

pub const PRIME: &str = "fffffffffffffffffffffffffffffffffffffffffffffffffffffffefffffc2f";

const U: i32 = (1 << 29) + (1 << 15);
const U8: i32 = (1 << 24) + 1;
const FULL: i32 = (1 << 29) - 1;
const SLACK: i32 = 1 << 14;
const LEAST: [i32; 9] = [0, 0, -SLACK, 0, 0, 0, 0, 0, 0];
const MOST: [i32; 9] = [
    FULL,
    FULL,
    FULL + 1 + SLACK,
    FULL,
    FULL,
    FULL,
    FULL,
    FULL,
    1 << 24,
];

/// Where something could go wrong: around 0, p, 2^256 and the limbs' borders.
pub fn edges() -> Vec<[u8; 32]> {
    let mut edges = vec![[0; 32], hex(PRIME), [0xff; 32]];
    for limb in 1..9 {
        let mut bytes = [0; 32];
        let bit = limb * 29;
        bytes[31 - bit / 8] = 1 << (bit % 8);
        edges.push(bytes);
    }
    edges
}

fn loose<const M: i64>(random: &mut Random) -> (Loose<M>, BigInt) {
    let most: [i32; 9] = std::array::from_fn(|at| M as i32 * if at == 8 { U8 } else { U });
    let limbs = random.limbs(&most.map(|limb| -limb), &most);
    (
        Loose::from_limbs(limbs).expect("within the bounds"),
        value(&limbs),
    )
}

fn tight(random: &mut Random) -> (Element, BigInt) {
    let limbs = random.limbs(&LEAST, &MOST);
    (Element::from_limbs(limbs).expect("tight"), value(&limbs))
}

fn value(limbs: &[i32; 9]) -> BigInt {
    limbs
        .iter()
        .rev()
        .fold(BigInt::from(0), |sum, limb| (sum << 29) + limb)
}

fn number(bytes: &[u8; 32]) -> BigInt {
    BigInt::from_bytes_be(Sign::Plus, bytes)
}

struct Ring {
    prime: BigInt,
}

impl Ring {
    fn reduced(&self, value: &BigInt) -> [u8; 32] {
        let rest = ((value % &self.prime) + &self.prime) % &self.prime;
        let bytes = rest.to_bytes_be().1;
        let mut padded = [0; 32];
        padded[32 - bytes.len()..].copy_from_slice(&bytes);
        padded
    }

    fn same(&self, element: &Element, wanted: &BigInt, what: &str) {
        assert_eq!(element.to_be_bytes(), self.reduced(wanted), "{what}");
    }
}

/// `rounds` times every function.
pub fn sums(seed: u64, rounds: u64, counts: &Counts) {
    let random = &mut Random::new(seed, 1);
    let ring = Ring {
        prime: number(&hex(PRIME)),
    };
    for _ in 0..rounds {
        let ((a, va), (b, vb), (c, vc), (d, vd)) = (
            loose::<1>(random),
            loose::<1>(random),
            loose::<1>(random),
            loose::<1>(random),
        );
        let ((wide, vwide), (three, vthree)) = (loose::<2>(random), loose::<3>(random));
        let ((e, ve), (f, vf)) = (tight(random), tight(random));
        let (ab, aa, cc) = (&va * &vb, &va * &va, &vc * &vc);
        ring.same(&a.times(&b), &ab, "a b");
        ring.same(&three.times(&b), &(&vthree * &vb), "3 b");
        ring.same(&a.times(&wide), &(&va * &vwide), "a 2");
        ring.same(&a.times_less(&b, &e), &(&ab - &ve), "a b - e");
        ring.same(&a.times_twice(&b), &(&ab * 2), "2 a b");
        ring.same(&a.times_less_product(&b, &c, &d), &(&ab - &vc * &vd), "a b - c d");
        ring.same(
            &a.times_less_product(&wide, &c, &d),
            &(&va * &vwide - &vc * &vd),
            "a 2 - c d",
        );
        ring.same(
            &a.times_less_squared_twice(&b, &c),
            &(&ab - &cc * 2),
            "a b - 2 c²",
        );
        ring.same(&a.squared(), &aa, "a²");
        ring.same(&a.squared_twice(), &(&aa * 2), "2 a²");
        ring.same(&a.squared_thrice(), &(&aa * 3), "3 a²");
        ring.same(&a.squared_less(&e.plus(&f)), &(&aa - &ve - &vf), "a² - e - f");
        ring.same(
            &a.squared_less(&e.plus_twice(&f)),
            &(&aa - &ve - &vf * 2),
            "a² - e - 2 f",
        );
        ring.same(&a.squared_less(&three), &(&aa - &vthree), "a² - 3");
        ring.same(&wide.turned(true).tight(), &-&vwide, "turned");
        ring.same(&wide.turned(false).tight(), &vwide, "not turned");
        ring.same(&e.minus(&f).tight(), &(&ve - &vf), "e - f");
        ring.same(&three.tight(), &vthree, "3");
        ring.same(&a.less::<1, 2>(&b).negated().tight(), &(&vb - &va), "-(a - b)");
        let e_bytes = ring.reduced(&ve);
        assert_eq!(e.to_be_bytes(), e_bytes);
        assert_eq!(e.is_odd(), e_bytes[31] & 1 == 1);
        assert_eq!(e.is_zero(), e_bytes == [0; 32]);
        assert_eq!(e == f, e_bytes == ring.reduced(&vf));
        counts.add("field operations", 23);
    }
}

/// `rounds` inverses, one by one and many at once, and square roots.
pub fn inverses(seed: u64, rounds: u64, counts: &Counts) {
    let random = &mut Random::new(seed, 2);
    let edges = edges();
    let prime = number(&hex(PRIME));
    let exponent = ((&prime.to_biguint().unwrap()) + 1_u32) / 4_u32;
    let mut batch: Vec<Element> = Vec::new();
    for round in 0..rounds {
        let bytes = random.bytes(&edges);
        let Some(element) = Element::from_be_bytes(&bytes) else {
            assert!(number(&bytes) >= prime);
            continue;
        };
        assert!(number(&bytes) < prime);
        assert_eq!(element.to_be_bytes(), bytes);
        match element.inverse() {
            Some(inverse) => assert_eq!(inverse.times(&element), Element::ONE, "{bytes:?}"),
            None => assert_eq!(bytes, [0; 32]),
        }
        counts.add("field inverses", 1);
        if round % 4 == 0 {
            // Of a square there is a root, and the library says whether another number has one.
            let square = element.squared();
            let root = square.square_root().expect("a square");
            assert!(root == element || root == element.negated().tight());
            let root = element.square_root();
            if round % 64 == 0 {
                let power = number(&bytes)
                    .to_biguint()
                    .unwrap()
                    .modpow(&exponent, &prime.to_biguint().unwrap());
                let is_square = BigInt::from(&power * &power) % &prime == number(&bytes);
                assert_eq!(
                    root.map(|root| BigUint::from_bytes_be(&root.to_be_bytes())),
                    is_square.then_some(power)
                );
            }
            counts.add("square roots", 2);
        }
        batch.push(element);
        if batch.len() as u64 > random.below(100) {
            let mut inverted = batch.clone();
            let zero = batch.iter().any(Element::is_zero);
            let done = Element::invert_all(&mut inverted);
            assert_eq!(done.is_none(), zero);
            if done.is_some() {
                for (element, inverse) in batch.iter().zip(&inverted) {
                    assert_eq!(element.times(inverse), Element::ONE);
                }
            }
            batch.clear();
            counts.add("batch inversions", 1);
        }
    }
}
