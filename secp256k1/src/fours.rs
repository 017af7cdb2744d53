//! Sums in step, four at once: as `lockstep`, with one field element in each lane of a vector, for machines that multiply several
//! numbers at once.
//!
//! # Why no sum overflows
//!
//! Vectors have no shift that keeps a sign of 64 bits. So no limb is below 0 here, and columns count from 0 to below 2^64. Let U = 2^29 + 2^15. Every limb of a
//! [`Loose<M>`] is at most M U, the last one at most M 2^24.
//!
//! - Twice the prime, limb by limb ([`TWICE`]), has limbs of at least 2^30 - 1954, the last 2^25 - 2: so it is not below a tight element in any limb, and not above twice the
//!   bounds of one. A difference of two elements with it added is a `Loose<3>`; four times the prime (limbs below 2^31) is not below the sum of two.
//! - A product is made of blocks of three limbs (Karatsuba): `a1 b0 + a0 b1 = a0 b0 + a1 b1 + (a0 - a1) (b1 - b0)`. What a block holds on the way is
//!   right modulo 2^64, and a whole column is a sum of at most nine products of numbers that are not below 0, so below A B 2^61.001: with A B at most 3, which the compiler
//!   checks, below 2^62.6.
//! - `reduce` is that of `field`, whose comment bounds each step: there the columns are below 0.751 · 2^63, here below 2^62.6 = 0.758 · 2^63, and what it adds is the same. So limb 1
//!   carries at most 2^14 into limb 2.

use crate::comb::Addend;
use crate::field::{self, Element, FOLD};
use crate::limbs::{Limbs, BITS, MASK};
use crate::point::Affine;
use crate::vector::{Narrow, Wide};

/// Four numbers modulo p whose limbs are at most `M` times those of an element.
#[derive(Clone, Copy, Debug)]
struct Loose<const M: i64>([Narrow; 9]);

/// Four numbers modulo p with tight limbs.
type Four = Loose<1>;

const fn times_prime(factor: i32) -> Limbs {
    let [l0, l1, l2, l3, l4, l5, l6, l7, l8] = field::PRIME;
    [
        l0 * factor,
        l1 * factor,
        l2 * factor,
        l3 * factor,
        l4 * factor,
        l5 * factor,
        l6 * factor,
        l7 * factor,
        l8 * factor,
    ]
}

const TWICE: Limbs = times_prime(2);
const FOUR_TIMES: Limbs = times_prime(4);

impl<const M: i64> Loose<M> {
    #[inline(always)]
    fn new(limbs: [Narrow; 9]) -> Loose<M> {
        debug_assert!(Loose::<M>(limbs).holds());
        Loose(limbs)
    }

    fn holds(&self) -> bool {
        let bounds = [(1 << 29) + (1 << 15); 8].into_iter().chain([1 << 24]);
        self.0.iter().zip(bounds).all(|(limb, most): (_, i64)| {
            limb.numbers()
                .iter()
                .all(|number| (0..=M * most).contains(&i64::from(*number)))
        })
    }

    /// The number in each lane.
    fn numbers(&self) -> [Element; 4] {
        let [l0, l1, l2, l3, l4, l5, l6, l7, l8] = self.0.map(Narrow::numbers);
        let lane = |place: usize| {
            let limbs =
                [l0, l1, l2, l3, l4, l5, l6, l7, l8].map(|limb| limb.get(place).copied().unwrap_or(0));
            // At most three times those of an element.
            field::Loose::<3>::from_limbs(limbs).map_or(Element::ZERO, |loose| loose.tight())
        };
        [lane(0), lane(1), lane(2), lane(3)]
    }

    /// The products.
    fn times<const N: i64>(&self, other: &Loose<N>) -> Four {
        const { assert!(M * N <= 3) };
        multiply(&self.0, &other.0)
    }

    /// The products less `third`.
    fn times_less<const N: i64>(&self, other: &Loose<N>, third: &Four) -> Four {
        const { assert!(M * N <= 3) };
        multiply_less(&self.0, &other.0, &third.0)
    }
}

impl Four {
    /// Numbers from 0 to below p.
    fn of([a, b, c, d]: [&Element; 4]) -> Four {
        let lanes = [a.limbs(), b.limbs(), c.limbs(), d.limbs()];
        let mut four = [Narrow::all(0); 9];
        for (place, limb) in four.iter_mut().enumerate() {
            *limb = Narrow::of(lanes.map(|limbs| limbs.get(place).copied().unwrap_or(0)));
        }
        Loose::new(four)
    }

    /// The differences.
    #[inline(always)]
    fn minus(&self, other: &Four) -> Loose<3> {
        Loose::new(each3(&TWICE, &self.0, &other.0, |twice, one, other| {
            one.plus(twice.minus(other))
        }))
    }

    /// The squares less the sums of `one` and `other`.
    fn squared_less_sum(&self, one: &Four, other: &Four) -> Four {
        square_less(
            &self.0,
            &each3(&FOUR_TIMES, &one.0, &other.0, |four_times, one, other| {
                four_times.minus(one.plus(other))
            }),
        )
    }
}

#[inline(always)]
fn each3(
    constant: &Limbs,
    a: &[Narrow; 9],
    b: &[Narrow; 9],
    act: impl Fn(Narrow, Narrow, Narrow) -> Narrow,
) -> [Narrow; 9] {
    let mut limbs = *a;
    for ((limb, b), constant) in limbs.iter_mut().zip(b).zip(constant) {
        *limb = act(Narrow::all(*constant), *limb, *b);
    }
    limbs
}

/// One column of four numbers.
#[derive(Clone, Copy)]
struct Column([Wide; 2]);

impl Column {
    #[inline(always)]
    fn with(self, other: Column, act: impl Fn(Wide, Wide) -> Wide) -> Column {
        let ([a, b], [c, d]) = (self.0, other.0);
        Column([act(a, c), act(b, d)])
    }

    #[inline(always)]
    fn plus(self, other: Column) -> Column {
        self.with(other, Wide::plus)
    }

    #[inline(always)]
    fn minus(self, other: Column) -> Column {
        self.with(other, Wide::minus)
    }

    #[inline(always)]
    fn up(self, bits: u32) -> Column {
        Column(self.0.map(|half| half.up(bits)))
    }

    #[inline(always)]
    fn down(self, bits: u32) -> Column {
        Column(self.0.map(|half| half.down(bits)))
    }

    #[inline(always)]
    fn kept(self, mask: i64) -> Column {
        Column(self.0.map(|half| half.common(Wide::all(mask))))
    }

    #[inline(always)]
    fn narrow(self) -> Narrow {
        Narrow::low(self.0)
    }
}

#[inline(always)]
fn product(a: Narrow, b: Narrow) -> Column {
    Column(a.times(b))
}

/// Three limbs of a number, and the columns of a product of two such.
type Part = [Narrow; 3];
type Block = [Column; 5];

#[inline(always)]
fn block_product([a0, a1, a2]: Part, [b0, b1, b2]: Part) -> Block {
    [
        product(a0, b0),
        product(a0, b1).plus(product(a1, b0)),
        product(a0, b2).plus(product(a1, b1)).plus(product(a2, b0)),
        product(a1, b2).plus(product(a2, b1)),
        product(a2, b2),
    ]
}

/// Of numbers whose double fits in a lane.
#[inline(always)]
fn block_square([a0, a1, a2]: Part) -> Block {
    let (d0, d1) = (a0.plus(a0), a1.plus(a1));
    [
        product(a0, a0),
        product(d0, a1),
        product(d0, a2).plus(product(a1, a1)),
        product(d1, a2),
        product(a2, a2),
    ]
}

#[inline(always)]
fn difference([a0, a1, a2]: Part, [b0, b1, b2]: Part) -> Part {
    [a0.minus(b0), a1.minus(b1), a2.minus(b2)]
}

#[inline(always)]
fn both(a: Block, b: Block, act: impl Fn(Column, Column) -> Column) -> Block {
    let [a0, a1, a2, a3, a4] = a;
    let [b0, b1, b2, b3, b4] = b;
    [act(a0, b0), act(a1, b1), act(a2, b2), act(a3, b3), act(a4, b4)]
}

#[inline(always)]
fn parts([l0, l1, l2, l3, l4, l5, l6, l7, l8]: &[Narrow; 9]) -> [Part; 3] {
    [[*l0, *l1, *l2], [*l3, *l4, *l5], [*l6, *l7, *l8]]
}

/// The columns, from the blocks at limbs 0, 3, 6, 9 and 12.
#[inline(always)]
fn columns(b0: Block, b3: Block, b6: Block, b9: Block, b12: Block) -> [Column; 17] {
    let [c0, c1, c2, c3, c4] = b0;
    let [d3, d4, c5, c6, c7] = b3;
    let [d6, d7, c8, c9, c10] = b6;
    let [d9, d10, c11, c12, c13] = b9;
    let [d12, d13, c14, c15, c16] = b12;
    [
        c0,
        c1,
        c2,
        c3.plus(d3),
        c4.plus(d4),
        c5,
        c6.plus(d6),
        c7.plus(d7),
        c8,
        c9.plus(d9),
        c10.plus(d10),
        c11,
        c12.plus(d12),
        c13.plus(d13),
        c14,
        c15,
        c16,
    ]
}

/// The columns of a product: 54 multiplications.
#[inline(always)]
fn products(a: &[Narrow; 9], b: &[Narrow; 9]) -> [Column; 17] {
    let ([a0, a1, a2], [b0, b1, b2]) = (parts(a), parts(b));
    let p00 = block_product(a0, b0);
    let p11 = block_product(a1, b1);
    let p22 = block_product(a2, b2);
    let low = both(p00, p11, Column::plus);
    let high = both(p11, p22, Column::plus);
    let p01 = block_product(difference(a0, a1), difference(b1, b0));
    let p02 = block_product(difference(a0, a2), difference(b2, b0));
    let p12 = block_product(difference(a1, a2), difference(b2, b1));
    columns(
        p00,
        both(low, p01, Column::plus),
        both(both(low, p22, Column::plus), p02, Column::plus),
        both(high, p12, Column::plus),
        p22,
    )
}

/// The columns of a square of tight numbers: 36 multiplications.
#[inline(always)]
fn squares(a: &[Narrow; 9]) -> [Column; 17] {
    let [a0, a1, a2] = parts(a);
    let (p00, p11, p22) = (block_square(a0), block_square(a1), block_square(a2));
    let low = both(p00, p11, Column::plus);
    let high = both(p11, p22, Column::plus);
    let square = |one, other| block_square(difference(one, other));
    columns(
        p00,
        both(low, square(a0, a1), Column::minus),
        both(both(low, p22, Column::plus), square(a0, a2), Column::minus),
        both(high, square(a1, a2), Column::minus),
        p22,
    )
}

/// Tight numbers of the same classes as the columns plus `added`, whose limbs are not below 0.
#[inline(always)]
#[rustfmt::skip]
fn reduce(columns: [Column; 17], added: Option<&[Narrow; 9]>) -> Four {
    let [c0, c1, c2, c3, c4, c5, c6, c7, c8, h0, h1, h2, h3, h4, h5, h6, h7] = columns;
    let h1 = h1.plus(h0.down(BITS));
    let h2 = h2.plus(h1.down(BITS));
    let h3 = h3.plus(h2.down(BITS));
    let h4 = h4.plus(h3.down(BITS));
    let h5 = h5.plus(h4.down(BITS));
    let h6 = h6.plus(h5.down(BITS));
    let h7 = h7.plus(h6.down(BITS));
    let h8 = h7.down(BITS);
    let [h0, h1, h2, h3, h4, h5, h6, h7] = [h0, h1, h2, h3, h4, h5, h6, h7].map(|high| high.kept(MASK));
    let [s0, s1, s2, s3, s4, s5, s6, s7, s8] = match added {
        Some(added) => {
            let [s0, s1, s2, s3, s4, s5, s6, s7, s8] = added.map(|limb| Column(limb.wide()));
            [s0.plus(c0), s1.plus(c1), s2.plus(c2), s3.plus(c3), s4.plus(c4), s5.plus(c5), s6.plus(c6), s7.plus(c7), s8.plus(c8)]
        }
        None => [c0, c1, c2, c3, c4, c5, c6, c7, c8],
    };
    let fold = |high: Column, times: i64| product(high.narrow(), Narrow::all(times as i32));
    let l0 = s0.plus(fold(h0, FOLD)).plus(fold(h8, FOLD << 8));
    let l1 = s1.plus(fold(h1, FOLD)).plus(h0.up(8)).plus(h8.up(16)).plus(l0.down(BITS));
    let l2 = s2.plus(fold(h2, FOLD)).plus(h1.up(8)).plus(l1.down(BITS));
    let l3 = s3.plus(fold(h3, FOLD)).plus(h2.up(8)).plus(l2.down(BITS));
    let l4 = s4.plus(fold(h4, FOLD)).plus(h3.up(8)).plus(l3.down(BITS));
    let l5 = s5.plus(fold(h5, FOLD)).plus(h4.up(8)).plus(l4.down(BITS));
    let l6 = s6.plus(fold(h6, FOLD)).plus(h5.up(8)).plus(l5.down(BITS));
    let l7 = s7.plus(fold(h7, FOLD)).plus(h6.up(8)).plus(l6.down(BITS));
    let l8 = s8.plus(fold(h8, FOLD)).plus(h7.up(8)).plus(l7.down(BITS));
    let over = l8.down(24);
    // 977 = 2^10 - 2^5 - 2^4 + 1.
    let l0 = l0.kept(MASK).plus(over.up(10).minus(over.up(5)).minus(over.up(4)).plus(over));
    let l1 = l1.kept(MASK).plus(over.up(3)).plus(l0.down(BITS));
    let l2 = l2.kept(MASK).plus(l1.down(BITS));
    let [l0, l1, l3, l4, l5, l6, l7] = [l0, l1, l3, l4, l5, l6, l7].map(|limb| limb.kept(MASK));
    Loose::new([l0, l1, l2, l3, l4, l5, l6, l7, l8.kept(0xff_ffff)].map(Column::narrow))
}

#[inline(never)]
fn multiply(a: &[Narrow; 9], b: &[Narrow; 9]) -> Four {
    reduce(products(a, b), None)
}

#[inline(never)]
fn multiply_less(a: &[Narrow; 9], b: &[Narrow; 9], c: &[Narrow; 9]) -> Four {
    let added = each3(&TWICE, c, c, |twice, c, _| twice.minus(c));
    reduce(products(a, b), Some(&added))
}

/// The square of tight numbers, and something added.
#[inline(never)]
fn square_less(a: &[Narrow; 9], added: &[Narrow; 9]) -> Four {
    reduce(squares(a), Some(added))
}

/// One running sum a lane.
pub struct Fours {
    sums: Vec<(Four, Four)>,
    /// Whether a lane met an addend with the same x, so that its sum means nothing from there on.
    exceptional: Vec<[bool; 4]>,
    /// The addends' first coordinates, and what they are less those of the sums.
    added: Vec<Four>,
    differences: Vec<Loose<3>>,
    /// The product of the differences before, lane by lane.
    before: Vec<Four>,
}

impl Fours {
    /// Lanes that begin with these points, which are settled.
    pub fn new(starts: &[[&Affine; 4]]) -> Fours {
        let count = starts.len();
        let four = |points: &[&Affine; 4]| {
            (
                Four::of(points.map(|point| &point.x)),
                Four::of(points.map(|point| &point.y)),
            )
        };
        Fours {
            sums: starts.iter().map(four).collect(),
            exceptional: vec![[false; 4]; count],
            added: Vec::with_capacity(count),
            differences: Vec::with_capacity(count),
            before: Vec::with_capacity(count),
        }
    }

    /// As `Lanes::add`. The points are settled.
    pub fn add(&mut self, addends: &[[Addend; 4]]) {
        self.added.clear();
        self.differences.clear();
        for ((sum, _), addends) in self.sums.iter().zip(addends) {
            let x = Four::of(addends.each_ref().map(|addend| &addend.point.x));
            self.added.push(x);
            self.differences.push(x.minus(sum));
        }
        let mut products = self.multiply_differences().numbers();
        if products.iter().any(Element::is_zero) {
            self.set_exceptional_aside();
            products = self.multiply_differences().numbers();
        }
        let mut inverse = inverses(&products);
        let lanes = self.sums.iter_mut().zip(addends);
        let lanes = lanes.zip(self.added.iter().zip(&self.differences).zip(&self.before));
        for (((x, y), addends), ((added, difference), before)) in lanes.rev() {
            let own = inverse.times(before);
            inverse = inverse.times(difference);
            // Minus the slope: its square is the same, and the rest is turned around.
            let slope = own.times(&rise(y, addends));
            let next = slope.squared_less_sum(x, added);
            *y = slope.times_less(&next.minus(x), y);
            *x = next;
        }
    }

    /// The product of the differences, lane by lane.
    fn multiply_differences(&mut self) -> Four {
        self.before.clear();
        let mut product = Four::of([&Element::ONE; 4]);
        for difference in &self.differences {
            self.before.push(product);
            product = product.times(difference);
        }
        product
    }

    /// Puts 1 in the place of every difference that is 0.
    fn set_exceptional_aside(&mut self) {
        for (difference, exceptional) in self.differences.iter_mut().zip(&mut self.exceptional) {
            let numbers = difference.numbers();
            let zero = numbers.each_ref().map(Element::is_zero);
            if zero == [false; 4] {
                continue;
            }
            for (exceptional, zero) in exceptional.iter_mut().zip(zero) {
                *exceptional |= zero;
            }
            let [a, b, c, d] = numbers.map(|number| {
                if number.is_zero() {
                    Element::ONE
                } else {
                    number.settled()
                }
            });
            let Loose(limbs) = Four::of([&a, &b, &c, &d]);
            *difference = Loose(limbs);
        }
    }

    /// The sums, lane after lane; `None` for one that met an exceptional one.
    pub fn into_sums(self) -> impl Iterator<Item = Option<Affine>> {
        let both = self.sums.into_iter().zip(self.exceptional);
        both.flat_map(|((x, y), exceptional)| {
            let points = x.numbers().into_iter().zip(y.numbers());
            points
                .zip(exceptional)
                .map(|((x, y), exceptional)| (!exceptional).then_some(Affine { x, y }))
        })
    }
}

/// The inverses of four numbers, none of which is 0.
fn inverses([a, b, c, d]: &[Element; 4]) -> Four {
    let (ab, cd) = (a.times(b), c.times(d));
    let inverse = ab.times(&cd).inverse().unwrap_or(Element::ZERO);
    let (of_ab, of_cd) = (inverse.times(&cd), inverse.times(&ab));
    let [a, b, c, d] =
        [of_ab.times(b), of_ab.times(a), of_cd.times(d), of_cd.times(c)].map(|number| number.settled());
    Four::of([&a, &b, &c, &d])
}

/// The sums' second coordinates less those of the addends, each with its sign.
#[inline(always)]
fn rise(sums: &Four, addends: &[Addend; 4]) -> Loose<3> {
    let y = Four::of(addends.each_ref().map(|addend| &addend.point.y));
    // All ones where the addend's own sign is to be turned.
    let turned = Narrow::of(addends.each_ref().map(|addend| i32::from(addend.negative) - 1));
    Loose::new(each3(&TWICE, &sums.0, &y.0, |twice, sum, y| {
        let turned_y = y.differing(turned).minus(turned).plus(twice.common(turned));
        sum.plus(turned_y)
    }))
}
