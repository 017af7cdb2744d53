//! Tables of a point that is met often: its odd multiples at every eighth bit, so that a product is 32 sums and no doubling; or, of one that is met
//! very often, at bits further apart.

use crate::fours::Fours;
use crate::lockstep::Lanes;
use crate::point::{Affine, Jacobian};
use crate::scalar::{places, Scalar};

/// Odd multiples in a window: 1, 3, … times 2^(width place) times the point.
const fn multiples(width: usize) -> usize {
    1 << (width - 1)
}

/// Windows of odd multiples, one for each digit of a scalar, whose coordinates are below p: 32 of 128 points or 288 KB at a width of 8, and 26 of 512 or 936 KB at one of 10.
pub struct Comb {
    points: Vec<Affine>,
    width: usize,
    /// Digits of a scalar: looked at for each digit.
    places: usize,
}

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
    digit: u16,
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

/// A scalar as digits of one comb, none of which adds nothing.
#[derive(Clone, Copy)]
pub struct Digits {
    digits: [u16; 32],
    negative: bool,
}

impl Comb {
    /// The tables of a point for digits of so many bits, from 8 to 16. No sum in it is exceptional: the order of the group is prime, and far above the 256th part of itself, so
    /// different small multiples of a point are neither equal nor opposite.
    pub fn new(point: &Affine, width: usize) -> Option<Comb> {
        let places = places(width);
        let mut doubles = vec![Jacobian::from(*point)];
        while let (Some(last), true) = (doubles.last(), doubles.len() < places * width) {
            let next = last.doubled();
            doubles.push(next);
        }
        let doubles = Jacobian::all_to_affine(&doubles)?;
        let bases: Vec<&[Affine]> = doubles.chunks_exact(width).collect();
        let mut windows: Vec<Vec<Affine>> = bases
            .iter()
            .map(|powers| powers.iter().copied().take(1).collect())
            .collect();
        // Each round adds twice the number of multiples that are there already to each of them.
        for round in 1..width {
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
        Some(Comb {
            points: points.map(|point| point.settled()).collect(),
            width,
            places,
        })
    }

    /// Bits of a digit.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Digits of a scalar.
    pub fn places(&self) -> usize {
        self.places
    }

    /// The digits of a scalar.
    pub fn digits(&self, scalar: &Scalar) -> Digits {
        let (digits, negative) = scalar.odd_digits(self.width);
        Digits { digits, negative }
    }

    /// What the digit at a place adds.
    pub fn addend(&self, digits: &Digits, place: usize) -> Option<Addend<'_>> {
        odd_multiple(
            &self.points,
            multiples(self.width),
            place,
            *digits.digits.get(place)?,
            digits.negative,
        )
    }

    /// `a` times this point plus `b` times the other one.
    pub fn sum_of_products(&self, a: &Scalar, other: &Comb, b: &Scalar) -> Jacobian {
        let (a, b) = (self.digits(a), other.digits(b));
        let ones = (0..self.places()).filter_map(|place| self.addend(&a, place));
        let others = (0..other.places()).filter_map(|place| other.addend(&b, place));
        ones.chain(others).fold(Jacobian::INFINITY, |sum, addend| {
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

/// Every sum of products with the same first point, in step; `None` for those that met an exceptional sum on the way, or are infinity. Nothing when the
/// tables of the second points are not of one width.
///
/// Each begins at `start`, which is taken off at the end. Nobody knows a number that it is of any other point: so whoever chooses the
/// factors and the keys can't choose that a sum on the way is exceptional; only the last one can be, where the result is known.
pub fn sums_of_products(first: &Comb, start: &Affine, jobs: &[Job]) -> Option<Vec<Option<Affine>>> {
    let steps = Steps::new(first, start, jobs);
    in_step(&vec![*start; jobs.len()], steps.count(), |lane, step| {
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
    in_step_by_ones(&vec![*start; jobs.len()], steps.count(), |lane, step| {
        steps.addend(lane, step)
    })
}

/// [`sums_of_products`], four at once in each step.
pub fn by_fours(first: &Comb, start: &Affine, jobs: &[Job]) -> Option<Vec<Option<Affine>>> {
    let steps = Steps::new(first, start, jobs);
    in_step_by_fours(&vec![*start; jobs.len()], steps.count(), |lane, step| {
        steps.addend(lane, step)
    })
}

/// The digits of the first factor, those of the second, and the start off again.
struct Steps<'a> {
    first: &'a Comb,
    start: Affine,
    jobs: Vec<(Digits, &'a Comb, Digits)>,
    /// How many digits the second factor has.
    others: usize,
}

impl<'a> Steps<'a> {
    fn new(first: &'a Comb, start: &Affine, jobs: &[Job<'a>]) -> Steps<'a> {
        let job = |job: &Job<'a>| (first.digits(&job.a), job.other, job.other.digits(&job.b));
        Steps {
            first,
            start: start.settled(),
            jobs: jobs.iter().map(job).collect(),
            others: jobs.first().map_or(0, |job| job.other.places()),
        }
    }

    fn count(&self) -> usize {
        self.first.places() + self.others + 1
    }

    fn addend(&self, lane: usize, step: usize) -> Option<Addend<'_>> {
        let (a, other, b) = self.jobs.get(lane)?;
        if other.places() != self.others {
            return None;
        }
        let Some(place) = step.checked_sub(self.first.places()) else {
            return self.first.addend(a, step);
        };
        if place == self.others {
            return Some(Addend {
                point: &self.start,
                negative: true,
            });
        }
        other.addend(b, place)
    }
}
