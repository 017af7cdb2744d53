//! Tables of a point that is met often: its odd multiples at every eighth bit, so that a product is 32 sums and no doubling.

use crate::fours::Fours;
use crate::lockstep::Lanes;
use crate::point::{Affine, Jacobian};
use crate::scalar::Scalar;

/// Digits of a scalar, and bits of each.
const DIGITS: usize = 32;
const WIDTH: usize = 8;
/// Odd multiples in a window: 1, 3, … 255 times 256^place times the point.
const MULTIPLES: usize = 1 << (WIDTH - 1);

/// 32 windows of 128 points, whose coordinates are below p: 288 KB.
pub struct Comb(Vec<Affine>);

/// A point with a sign: what one digit adds.
#[derive(Clone, Copy)]
pub struct Addend<'a> {
    /// The point.
    pub point: &'a Affine,
    /// Whether it is subtracted.
    pub negative: bool,
}

/// A scalar as digits, none of which adds nothing.
#[derive(Clone, Copy)]
pub struct Digits {
    digits: [u8; DIGITS],
    negative: bool,
}

impl From<&Scalar> for Digits {
    fn from(scalar: &Scalar) -> Digits {
        let (digits, negative) = scalar.odd_digits();
        Digits { digits, negative }
    }
}

impl Comb {
    /// The tables of a point. No sum in it is exceptional: the order of the group is prime, and far above the 256th part of itself, so
    /// different small multiples of a point are neither equal nor opposite.
    pub fn new(point: &Affine) -> Option<Comb> {
        let mut doubles = vec![Jacobian::from(*point)];
        while let (Some(last), true) = (doubles.last(), doubles.len() < DIGITS * WIDTH) {
            let next = last.doubled();
            doubles.push(next);
        }
        let doubles = Jacobian::all_to_affine(&doubles)?;
        let bases: Vec<&[Affine]> = doubles.chunks_exact(WIDTH).collect();
        let mut windows: Vec<Vec<Affine>> = bases
            .iter()
            .map(|powers| powers.iter().copied().take(1).collect())
            .collect();
        // Each round adds twice the number of multiples that are there already to each of them.
        for round in 1..WIDTH {
            let mut lanes = Lanes::new(windows.iter().flatten().copied().collect());
            let mut addends = Vec::new();
            for (window, powers) in windows.iter().zip(&bases) {
                let point = powers.get(round)?;
                addends.extend(window.iter().map(|_| Addend {
                    point,
                    negative: false,
                }));
            }
            lanes.add(&addends);
            let mut sums = lanes.into_sums().into_iter();
            for window in &mut windows {
                let more: Option<Vec<Affine>> = sums.by_ref().take(window.len()).collect();
                window.extend(more?);
            }
        }
        let points = windows.into_iter().flatten();
        Some(Comb(points.map(|point| point.settled()).collect()))
    }

    /// What the digit at a place adds.
    pub fn addend(&self, digits: &Digits, place: usize) -> Option<Addend<'_>> {
        let digit = usize::from(*digits.digits.get(place)?);
        // The digit stands for 2 digit - 255.
        let below = digit < MULTIPLES;
        let multiple = if below {
            MULTIPLES - 1 - digit
        } else {
            digit - MULTIPLES
        };
        Some(Addend {
            point: self.0.get(place * MULTIPLES + multiple)?,
            negative: digits.negative != below,
        })
    }

    /// `a` times this point plus `b` times the other one.
    pub fn sum_of_products(&self, a: &Scalar, other: &Comb, b: &Scalar) -> Jacobian {
        let (a, b) = (Digits::from(a), Digits::from(b));
        (0..DIGITS)
            .flat_map(|place| [self.addend(&a, place), other.addend(&b, place)])
            .flatten()
            .fold(Jacobian::INFINITY, |sum, addend| {
                sum.plus(&addend.point.x, &addend.point.y.turned(addend.negative))
            })
    }
}

/// A sum of products that is to be made together with others: `a` times one point plus `b` times another one.
pub struct Job<'a> {
    /// The factor of the first point.
    pub a: Scalar,
    /// The second point.
    pub other: &'a Comb,
    /// Its factor.
    pub b: Scalar,
}

/// Every sum of products with the same first point, in step; `None` for those that met an exceptional sum on the way, or are infinity.
///
/// Each begins at `start`, which is taken off at the end. Nobody knows a number that it is of any other point: so whoever chooses the
/// factors and the keys can't choose that a sum on the way is exceptional; only the last one can be, where the result is known.
pub fn sums_of_products(first: &Comb, start: &Affine, jobs: &[Job]) -> Option<Vec<Option<Affine>>> {
    if cfg!(target_feature = "simd128") {
        by_fours(first, start, jobs)
    } else {
        by_ones(first, start, jobs)
    }
}

/// [`sums_of_products`], one by one in each step.
pub fn by_ones(first: &Comb, start: &Affine, jobs: &[Job]) -> Option<Vec<Option<Affine>>> {
    let digits: Vec<(Digits, Digits)> = jobs
        .iter()
        .map(|job| (Digits::from(&job.a), Digits::from(&job.b)))
        .collect();
    let mut lanes = Lanes::new(vec![*start; jobs.len()]);
    let mut addends = Vec::with_capacity(jobs.len());
    for place in 0..DIGITS {
        for (a, _) in &digits {
            addends.push(first.addend(a, place)?);
        }
        lanes.add(&addends);
        addends.clear();
        for (job, (_, b)) in jobs.iter().zip(&digits) {
            addends.push(job.other.addend(b, place)?);
        }
        lanes.add(&addends);
        addends.clear();
    }
    let back = Addend {
        point: start,
        negative: true,
    };
    lanes.add(&vec![back; jobs.len()]);
    Some(lanes.into_sums())
}

/// [`sums_of_products`], four at once in each step.
pub fn by_fours(first: &Comb, start: &Affine, jobs: &[Job]) -> Option<Vec<Option<Affine>>> {
    let mut all: Vec<(Digits, Digits, &Comb)> = jobs
        .iter()
        .map(|job| (Digits::from(&job.a), Digits::from(&job.b), job.other))
        .collect();
    // The last one fills up the last four.
    while let (Some(last), false) = (all.last(), all.len().is_multiple_of(4)) {
        all.push(*last);
    }
    let (fours, _) = all.as_chunks::<4>();
    let mut sums = Fours::new(start, fours.len());
    let mut addends = Vec::with_capacity(fours.len());
    for place in 0..DIGITS {
        for [(a, ..), (b, ..), (c, ..), (d, ..)] in fours {
            let of = |digits| first.addend(digits, place);
            addends.push([of(a)?, of(b)?, of(c)?, of(d)?]);
        }
        sums.add(&addends);
        addends.clear();
        for four in fours {
            let [a, b, c, d] = four
                .each_ref()
                .map(|(_, digits, other)| other.addend(digits, place));
            addends.push([a?, b?, c?, d?]);
        }
        sums.add(&addends);
        addends.clear();
    }
    let start = start.settled();
    let back = Addend {
        point: &start,
        negative: true,
    };
    sums.add(&vec![[back; 4]; fours.len()]);
    Some(sums.into_sums().take(jobs.len()).collect())
}
