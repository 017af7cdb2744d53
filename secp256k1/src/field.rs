//! The field of coordinates: integers modulo p = 2^256 - 2^32 - 977, in variable time.
//!
//! # Why no sum overflows
//!
//! Let U = 2^29 + 2^15. Every limb of a [`Loose<M>`] has an absolute value of at most M U, the last one at most M (2^24 + 1).
//!
//! - An [`Element`] is tight: limbs 0, 1 and 3 to 7 lie in [0, 2^29), limb 2 in [-2^14, 2^29 + 2^14], limb 8 in [0, 2^24]. So it
//!   is a `Loose<1>`, and, as its limbs are hardly negative, the difference of two elements is one as well.
//! - A column is a sum of at most nine products, of which two hold a last limb whenever there are nine; so the product of a `Loose<A>` and a
//!   `Loose<B>` has columns of at most A B (8 U² + small) < A B 2^61.001. Every function below forms products whose A B, times
//!   the factor in front, add up to at most 3, which the compiler checks: 3 · 2^61.001 < 0.751 · 2^63. The rest of 2^61 holds what
//!   `reduce` adds: three elements, the fold (below 2^45) and a carry (below 2^35).
//! - `reduce` gives a tight element of the same class: its comment bounds each step.
//!
//! These bounds are those of types; the assertions of a debug build check them on values.

use core::ops::Deref;

use crate::inverse::Modulus;
use crate::limbs::{self, Columns, Limbs, BITS, MASK};

pub(crate) const PRIME: Limbs = limbs::from_be_bytes(&[
    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe, 0xff, 0xff, 0xfc, 0x2f,
]);

const MODULUS: Modulus = Modulus::new(&PRIME);

/// 2^261 = 2^5 (2^32 + 977) = 2^29 · 2^8 + 31264 modulo p.
pub(crate) const FOLD: i64 = 31264;

/// A number modulo p whose limbs are at most `M` times those of an element, of either sign.
#[derive(Clone, Copy, Debug)]
pub struct Loose<const M: i64>(Limbs);

/// A number modulo p with tight limbs.
#[derive(Clone, Copy, Debug)]
pub struct Element(Loose<1>);

impl Deref for Element {
    type Target = Loose<1>;

    fn deref(&self) -> &Loose<1> {
        &self.0
    }
}

impl<const M: i64> Loose<M> {
    #[inline(always)]
    fn new(limbs: Limbs) -> Loose<M> {
        debug_assert!(Loose::<M>::holds(&limbs));
        Loose(limbs)
    }

    /// The number of these limbs, when they are within the bounds.
    pub fn from_limbs(limbs: Limbs) -> Option<Loose<M>> {
        Loose::<M>::holds(&limbs).then_some(Loose(limbs))
    }

    fn holds(limbs: &Limbs) -> bool {
        let bounds = [(1 << 29) + (1 << 15); 8].into_iter().chain([(1 << 24) + 1]);
        limbs
            .iter()
            .zip(bounds)
            .all(|(limb, most): (_, i64)| i64::from(*limb).abs() <= M * most)
    }

    /// The product.
    pub fn times<const N: i64>(&self, other: &Loose<N>) -> Element {
        const { assert!(M * N <= 3) };
        multiply(&self.0, &other.0)
    }

    /// The product less `third`.
    pub fn times_less<const N: i64>(&self, other: &Loose<N>, third: &Element) -> Element {
        const { assert!(M * N <= 3) };
        multiply_less(&self.0, &other.0, &third.0 .0)
    }

    /// The square.
    pub fn squared(&self) -> Element {
        const { assert!(M * M <= 3) };
        square(&self.0)
    }

    /// Three times the square.
    pub fn squared_thrice(&self) -> Element {
        const { assert!(3 * M * M <= 3) };
        square_thrice(&self.0)
    }

    /// Twice the square.
    pub fn squared_twice(&self) -> Element {
        const { assert!(2 * M * M <= 3) };
        square_twice(&self.0)
    }

    /// Twice the product.
    pub fn times_twice<const N: i64>(&self, other: &Loose<N>) -> Element {
        const { assert!(2 * M * N <= 3) };
        multiply_twice(&self.0, &other.0)
    }

    /// The square less `other`.
    pub fn squared_less<const N: i64>(&self, other: &Loose<N>) -> Element {
        const { assert!(M * M <= 3 && N <= 3) };
        square_less(&self.0, &other.0)
    }

    /// `self · other - c · d`.
    pub fn times_less_product<const N: i64, const C: i64, const D: i64>(
        &self,
        other: &Loose<N>,
        c: &Loose<C>,
        d: &Loose<D>,
    ) -> Element {
        const { assert!(M * N + C * D <= 3) };
        multiply_less_product(&self.0, &other.0, &c.0, &d.0)
    }

    /// `self · other - 2 c²`.
    pub fn times_less_squared_twice<const N: i64, const C: i64>(
        &self,
        other: &Loose<N>,
        c: &Loose<C>,
    ) -> Element {
        const { assert!(M * N + 2 * C * C <= 3) };
        multiply_less_square_twice(&self.0, &other.0, &c.0)
    }

    /// The difference, without a carry.
    #[inline(always)]
    pub fn less<const N: i64, const D: i64>(&self, other: &Loose<N>) -> Loose<D> {
        const { assert!(M + N <= D) };
        Loose::new(difference(&self.0, &other.0))
    }

    /// The number or, when asked for, its negative.
    #[inline(always)]
    pub fn turned(&self, negative: bool) -> Loose<M> {
        // All ones or all zeros: no branch, which would be wrong every second time.
        let mask = -i32::from(negative);
        Loose::new(self.0.map(|limb| (limb ^ mask) - mask))
    }

    /// The same number, of the other sign.
    #[inline(always)]
    pub fn negated(&self) -> Loose<M> {
        Loose::new(self.0.map(|limb| -limb))
    }

    /// The same number with tight limbs.
    pub fn tight(&self) -> Element {
        reduce([0; 17], &self.0.map(i64::from))
    }
}

impl Element {
    /// Nothing.
    pub const ZERO: Element = Element(Loose([0; 9]));
    /// One.
    pub const ONE: Element = Element(Loose([1, 0, 0, 0, 0, 0, 0, 0, 0]));

    #[inline(always)]
    fn new(limbs: Limbs) -> Element {
        debug_assert!(Element::holds(&limbs));
        Element(Loose(limbs))
    }

    /// The number of these limbs, when they are tight; it need not be below p.
    pub fn from_limbs(limbs: Limbs) -> Option<Element> {
        Element::holds(&limbs).then_some(Element(Loose(limbs)))
    }

    fn holds([l0, l1, l2, l3, l4, l5, l6, l7, l8]: &Limbs) -> bool {
        let usual = 0..1 << BITS;
        [l0, l1, l3, l4, l5, l6, l7]
            .iter()
            .all(|limb| usual.contains(*limb))
            && (-(1 << 14)..=(1 << BITS) + (1 << 14)).contains(l2)
            && (0..=1 << 24).contains(l8)
    }

    /// The number of 32 big-endian bytes, when it is below p.
    pub fn from_be_bytes(bytes: &[u8; 32]) -> Option<Element> {
        let limbs = limbs::from_be_bytes(bytes);
        let below = limbs.iter().rev().lt(PRIME.iter().rev());
        below.then_some(Element(Loose(limbs)))
    }

    /// A constant that is known to be below p.
    pub(crate) const fn constant(bytes: &[u8; 32]) -> Element {
        Element(Loose(limbs::from_be_bytes(bytes)))
    }

    /// A canonical number below the group order, which is below p.
    pub(crate) const fn from_canonical(limbs: Limbs) -> Element {
        Element(Loose(limbs))
    }

    /// The limbs.
    #[inline(always)]
    pub(crate) fn limbs(&self) -> &Limbs {
        &self.0 .0
    }

    /// The same number, from 0 to below p.
    pub fn settled(&self) -> Element {
        Element::new(self.canonical())
    }

    /// The one number from 0 to below p, as 32 big-endian bytes.
    pub fn to_be_bytes(&self) -> [u8; 32] {
        limbs::to_be_bytes(&self.canonical())
    }

    /// The difference of two elements, without a carry: as no limb is much below 0, none of a difference is larger than one of an
    /// element.
    #[inline(always)]
    pub fn minus(&self, other: &Element) -> Loose<1> {
        Loose::new(difference(&self.0 .0, &other.0 .0))
    }

    /// The sum, without a carry.
    #[inline(always)]
    pub fn plus(&self, other: &Element) -> Loose<2> {
        Loose::new(sum(&self.0 .0, &other.0 .0))
    }

    /// The sum with twice another one, without a carry: below 3 (2^29 + 2^15) < 2^31.
    #[inline(always)]
    pub fn plus_twice(&self, other: &Element) -> Loose<3> {
        Loose::new(sum(&self.plus(other).0, &other.0 .0))
    }

    /// Whether this is 0 modulo p. A tight number lies above -2^73 and below 2^256 + 2^73, so it is 0 or p then, whose lowest limbs are
    /// known: nearly every other number is seen in one comparison.
    #[inline(always)]
    pub fn is_zero(&self) -> bool {
        let [low, ..] = self.0 .0;
        let [low_of_prime, ..] = PRIME;
        (low == 0 || low == low_of_prime) && self.canonical() == [0; 9]
    }

    /// Whether the number from 0 to below p is odd.
    pub fn is_odd(&self) -> bool {
        let [low, ..] = self.canonical();
        low & 1 == 1
    }

    /// The limbs of the one number from 0 to below p.
    fn canonical(&self) -> Limbs {
        let [l0, l1, l2, l3, l4, l5, l6, l7, l8] = limbs::carried(self.0 .0);
        // -1, 0 or 1 times 2^256: this subtracts as many p. What remains lies in [0, 2^256).
        let over = l8 >> 24;
        let once = limbs::carried([
            l0 + 977 * over,
            l1 + 8 * over,
            l2,
            l3,
            l4,
            l5,
            l6,
            l7,
            l8 & 0xff_ffff,
        ]);
        // It reaches p when adding 2^256 - p reaches 2^256.
        let [l0, l1, l2, l3, l4, l5, l6, l7, l8] = once;
        let [l0, l1, l2, l3, l4, l5, l6, l7, l8] =
            limbs::carried([l0 + 977, l1 + 8, l2, l3, l4, l5, l6, l7, l8]);
        if l8 >> 24 == 1 {
            [l0, l1, l2, l3, l4, l5, l6, l7, l8 & 0xff_ffff]
        } else {
            once
        }
    }

    /// `self` squared `count` times.
    fn squared_often(&self, count: u32) -> Element {
        let mut power = *self;
        for _ in 0..count {
            power = power.squared();
        }
        power
    }

    /// The number whose product with this one is 1; 0 has none.
    pub fn inverse(&self) -> Option<Element> {
        let limbs = MODULUS.inverse(&self.canonical())?;
        Some(Element::new(limbs))
    }

    /// Replaces every element by its inverse, with one inversion for all (Montgomery's trick). `None` when one of them is 0; then what
    /// they hold means nothing.
    pub fn invert_all(elements: &mut [Element]) -> Option<()> {
        let mut product = Element::ONE;
        let mut before = Vec::with_capacity(elements.len());
        for element in elements.iter() {
            before.push(product);
            product = product.times(element);
        }
        let mut inverse = product.inverse()?;
        for (element, before) in elements.iter_mut().zip(before).rev() {
            let own = inverse.times(&before);
            inverse = inverse.times(element);
            *element = own;
        }
        Some(())
    }

    /// A number whose square this is, when there is one: the power (p + 1) / 4, checked.
    pub fn square_root(&self) -> Option<Element> {
        // The exponent in binary: 223 ones, a zero, 22 ones, four zeros, two ones, two zeros.
        let ones2 = self.squared().times(self);
        let ones3 = ones2.squared().times(self);
        let ones6 = ones3.squared_often(3).times(&ones3);
        let ones9 = ones6.squared_often(3).times(&ones3);
        let ones11 = ones9.squared_often(2).times(&ones2);
        let ones22 = ones11.squared_often(11).times(&ones11);
        let ones44 = ones22.squared_often(22).times(&ones22);
        let ones88 = ones44.squared_often(44).times(&ones44);
        let ones176 = ones88.squared_often(88).times(&ones88);
        let ones220 = ones176.squared_often(44).times(&ones44);
        let ones223 = ones220.squared_often(3).times(&ones3);
        let root = ones223
            .squared_often(23)
            .times(&ones22)
            .squared_often(6)
            .times(&ones2)
            .squared_often(2);
        (root.squared() == *self).then_some(root)
    }
}

impl PartialEq for Element {
    fn eq(&self, other: &Element) -> bool {
        self.canonical() == other.canonical()
    }
}

impl Eq for Element {}

#[inline(always)]
fn sum(a: &Limbs, b: &Limbs) -> Limbs {
    let mut limbs = *a;
    for (limb, other) in limbs.iter_mut().zip(b) {
        *limb += other;
    }
    limbs
}

#[inline(always)]
fn difference(a: &Limbs, b: &Limbs) -> Limbs {
    let mut limbs = *a;
    for (limb, other) in limbs.iter_mut().zip(b) {
        *limb -= other;
    }
    limbs
}

/// A tight element of the same class as the columns plus `added`, whose limbs are below 2^33.
///
/// Let C < 0.751 · 2^63 bound the columns. Carrying columns 9 to 16 adds less than 2^35 to each; a7 b8 + a8 b7 < 3 · 2^54.1, so what
/// leaves column 16 is below 2^22. The folds add less than 2^29 · 31264 + 2^29 · 2^8 < 2^45 to a column, and the carry less than 2^35: no sum
/// reaches 2^63. What leaves column 8 above bit 256 is below 2^63 / 2^24 = 2^39; 977 times it is below 2^49, so the carry into limb 1 is below
/// 2^20, limb 1 below 2^42 + 2^29 + 2^20 in absolute value, and the carry into limb 2 at most 2^13 + 2.
#[inline(always)]
#[rustfmt::skip]
fn reduce(columns: Columns, added: &[i64; 9]) -> Element {
    let [c0, c1, c2, c3, c4, c5, c6, c7, c8, h0, h1, h2, h3, h4, h5, h6, h7] = columns;
    let [s0, s1, s2, s3, s4, s5, s6, s7, s8] = *added;
    let h1 = h1 + (h0 >> BITS);
    let h2 = h2 + (h1 >> BITS);
    let h3 = h3 + (h2 >> BITS);
    let h4 = h4 + (h3 >> BITS);
    let h5 = h5 + (h4 >> BITS);
    let h6 = h6 + (h5 >> BITS);
    let h7 = h7 + (h6 >> BITS);
    let h8 = h7 >> BITS;
    let [h0, h1, h2, h3, h4, h5, h6, h7] = [h0, h1, h2, h3, h4, h5, h6, h7].map(|high| high & MASK);
    let l0 = c0 + s0 + h0 * FOLD + h8 * (FOLD << 8);
    let l1 = c1 + s1 + h1 * FOLD + (h0 << 8) + (h8 << 16) + (l0 >> BITS);
    let l2 = c2 + s2 + h2 * FOLD + (h1 << 8) + (l1 >> BITS);
    let l3 = c3 + s3 + h3 * FOLD + (h2 << 8) + (l2 >> BITS);
    let l4 = c4 + s4 + h4 * FOLD + (h3 << 8) + (l3 >> BITS);
    let l5 = c5 + s5 + h5 * FOLD + (h4 << 8) + (l4 >> BITS);
    let l6 = c6 + s6 + h6 * FOLD + (h5 << 8) + (l5 >> BITS);
    let l7 = c7 + s7 + h7 * FOLD + (h6 << 8) + (l6 >> BITS);
    let l8 = c8 + s8 + h8 * FOLD + (h7 << 8) + (l7 >> BITS);
    let over = l8 >> 24;
    let l0 = (l0 & MASK) + over * 977;
    let l1 = (l1 & MASK) + (over << 3) + (l0 >> BITS);
    let l2 = (l2 & MASK) + (l1 >> BITS);
    Element::new([
        (l0 & MASK) as i32, (l1 & MASK) as i32, l2 as i32,
        (l3 & MASK) as i32, (l4 & MASK) as i32, (l5 & MASK) as i32,
        (l6 & MASK) as i32, (l7 & MASK) as i32, (l8 & 0xff_ffff) as i32,
    ])
}

const NOTHING: [i64; 9] = [0; 9];

#[inline(always)]
fn scaled(columns: Columns, factor: i64) -> Columns {
    columns.map(|column| column * factor)
}

#[inline(always)]
fn less(a: Columns, b: Columns) -> Columns {
    let mut columns = a;
    for (column, other) in columns.iter_mut().zip(b) {
        *column -= other;
    }
    columns
}

// One function each, not inlined: the module stays small, and an engine compiles short functions better than long ones.

#[inline(never)]
fn multiply(a: &Limbs, b: &Limbs) -> Element {
    reduce(limbs::product(a, b), &NOTHING)
}

#[inline(never)]
fn multiply_less(a: &Limbs, b: &Limbs, c: &Limbs) -> Element {
    reduce(limbs::product(a, b), &c.map(|limb| -i64::from(limb)))
}

#[inline(never)]
fn multiply_twice(a: &Limbs, b: &Limbs) -> Element {
    reduce(scaled(limbs::product(a, b), 2), &NOTHING)
}

#[inline(never)]
fn multiply_less_product(a: &Limbs, b: &Limbs, c: &Limbs, d: &Limbs) -> Element {
    reduce(less(limbs::product(a, b), limbs::product(c, d)), &NOTHING)
}

#[inline(never)]
fn multiply_less_square_twice(a: &Limbs, b: &Limbs, c: &Limbs) -> Element {
    reduce(less(limbs::product(a, b), scaled(limbs::square(c), 2)), &NOTHING)
}

#[inline(never)]
fn square(a: &Limbs) -> Element {
    reduce(limbs::square(a), &NOTHING)
}

#[inline(never)]
fn square_twice(a: &Limbs) -> Element {
    reduce(scaled(limbs::square(a), 2), &NOTHING)
}

#[inline(never)]
fn square_thrice(a: &Limbs) -> Element {
    reduce(scaled(limbs::square(a), 3), &NOTHING)
}

#[inline(never)]
fn square_less(a: &Limbs, b: &Limbs) -> Element {
    reduce(limbs::square(a), &b.map(|limb| -i64::from(limb)))
}
