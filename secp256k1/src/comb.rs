//! Tables of a point that is met often: its odd multiples at every eighth bit, so that a product is 32 sums and no doubling.

use crate::fours::Fours;
use crate::lockstep::Lanes;
use crate::point::{Affine, Jacobian};
use crate::scalar::Scalar;

/// Digits of a scalar, and bits of each.
pub(crate) const DIGITS: usize = 32;
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

/// What a digit at a place adds, of windows of so many odd multiples, 1, 3, and so on; all of it is subtracted where that is `negative`. With m of them the digit
/// stands for 2 digit + 1 - 2 m.
pub(crate) fn odd_multiple(
    points: &[Affine],
    multiples: usize,
    place: usize,
    digit: u8,
    negative: bool,
) -> Option<Addend<'_>> {
    let digit = usize::from(digit);
    let below = digit < multiples;
    let multiple = if below {
        multiples - 1 - digit
    } else {
        digit - multiples
    };
    Some(Addend {
        point: points.get(place * multiples + multiple)?,
        negative: negative != below,
    })
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
        odd_multiple(
            &self.0,
            MULTIPLES,
            place,
            *digits.digits.get(place)?,
            digits.negative,
        )
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
    let steps = Steps::new(first, start, jobs);
    in_step(&vec![*start; jobs.len()], STEPS, |lane, step| {
        steps.addend(lane, step)
    })
}

/// In step, for each start the sum of it and of `addend(lane, step)` for every step; `None` for those that met an exceptional sum on the way,
/// or are infinity. All points but the starts are settled.
pub(crate) fn in_step<'a>(
    starts: &[Affine],
    steps: usize,
    addend: impl Fn(usize, usize) -> Option<Addend<'a>>,
) -> Option<Vec<Option<Affine>>> {
    if cfg!(target_feature = "simd128") {
        in_step_by_fours(starts, steps, addend)
    } else {
        in_step_by_ones(starts, steps, addend)
    }
}

fn in_step_by_ones<'a>(
    starts: &[Affine],
    steps: usize,
    addend: impl Fn(usize, usize) -> Option<Addend<'a>>,
) -> Option<Vec<Option<Affine>>> {
    let mut lanes = Lanes::new(starts.to_vec());
    let mut addends = Vec::with_capacity(starts.len());
    for step in 0..steps {
        for lane in 0..starts.len() {
            addends.push(addend(lane, step)?);
        }
        lanes.add(&addends);
        addends.clear();
    }
    Some(lanes.into_sums())
}

pub(crate) fn in_step_by_fours<'a>(
    starts: &[Affine],
    steps: usize,
    addend: impl Fn(usize, usize) -> Option<Addend<'a>>,
) -> Option<Vec<Option<Affine>>> {
    // The last one fills up the last four.
    let Some(last) = starts.len().checked_sub(1) else {
        return Some(Vec::new());
    };
    let settled: Vec<Affine> = starts.iter().map(Affine::settled).collect();
    let fours = starts.len().div_ceil(4);
    let four = |four: usize| [0, 1, 2, 3].map(|lane| last.min(4 * four + lane));
    let mut places = Vec::with_capacity(fours);
    for all in (0..fours).map(four) {
        let [a, b, c, d] = all.map(|lane| settled.get(lane));
        places.push([a?, b?, c?, d?]);
    }
    let mut sums = Fours::new(&places);
    let mut addends = Vec::with_capacity(fours);
    for step in 0..steps {
        for all in (0..fours).map(four) {
            let [a, b, c, d] = all.map(|lane| addend(lane, step));
            addends.push([a?, b?, c?, d?]);
        }
        sums.add(&addends);
        addends.clear();
    }
    Some(sums.into_sums().take(starts.len()).collect())
}

/// [`sums_of_products`], one by one in each step.
pub fn by_ones(first: &Comb, start: &Affine, jobs: &[Job]) -> Option<Vec<Option<Affine>>> {
    let steps = Steps::new(first, start, jobs);
    in_step_by_ones(&vec![*start; jobs.len()], STEPS, |lane, step| {
        steps.addend(lane, step)
    })
}

/// [`sums_of_products`], four at once in each step.
pub fn by_fours(first: &Comb, start: &Affine, jobs: &[Job]) -> Option<Vec<Option<Affine>>> {
    let steps = Steps::new(first, start, jobs);
    in_step_by_fours(&vec![*start; jobs.len()], STEPS, |lane, step| {
        steps.addend(lane, step)
    })
}

/// The digits of both factors in turn, and the start off again.
const STEPS: usize = 2 * DIGITS + 1;

struct Steps<'a> {
    first: &'a Comb,
    start: Affine,
    jobs: Vec<(Digits, &'a Comb, Digits)>,
}

impl<'a> Steps<'a> {
    fn new(first: &'a Comb, start: &Affine, jobs: &[Job<'a>]) -> Steps<'a> {
        let job = |job: &Job<'a>| (Digits::from(&job.a), job.other, Digits::from(&job.b));
        Steps {
            first,
            start: start.settled(),
            jobs: jobs.iter().map(job).collect(),
        }
    }

    fn addend(&self, lane: usize, step: usize) -> Option<Addend<'_>> {
        let (a, other, b) = self.jobs.get(lane)?;
        match (step / 2, step % 2) {
            (DIGITS, _) => Some(Addend {
                point: &self.start,
                negative: true,
            }),
            (place, 0) => self.first.addend(a, place),
            (place, _) => other.addend(b, place),
        }
    }
}
