//! Tables of points that are met a few times, made for many of them together, and sums of products with them in step.
//!
//! A factor is taken apart into two halves by the endomorphism. A half is 32 digits of four bits, each of them odd, so that all lanes do the same
//! and there is no doubling.

use crate::comb::{in_step, in_step_by_fours, odd_multiple, Addend, Comb, Digits};
use crate::point::{Affine, Jacobian};
use crate::product::BETA;
use crate::scalar::{Half, Scalar};

/// Digits of a half, and bits of each.
const PLACES: usize = 32;
const WIDTH: usize = 4;
/// Odd multiples in a window: 1, 3, … 15 times 16^place times the point.
const MULTIPLES: usize = 1 << (WIDTH - 1);

/// The multiples of a point, those of λ times it, and what is taken off at the end: 38 KB.
pub struct Short {
    multiples: Vec<Affine>,
    turned: Vec<Affine>,
    /// The start; with the point, with λ times it, and with both.
    back: [Affine; 4],
}

/// The odd number next to a half, away from 0 where that is above and towards it where that is below, and whether it is one more than the half.
struct Odd {
    digits: [u8; PLACES],
    negative: bool,
    more: bool,
}

impl From<&Half> for Odd {
    /// For odd m below 2^128, let e = 2^127 + (m - 1) / 2. Then 2 e - (2^128 - 1) = m, and 2^128 - 1 is the sum of 15 · 16^place.
    fn from(half: &Half) -> Odd {
        let more = half.magnitude & 1 == 0;
        let negative = half.negative && half.magnitude > 0;
        // A half is below 0.64 · 2^128.
        let odd = match (more, negative) {
            (false, _) => half.magnitude,
            (true, false) => half.magnitude + 1,
            (true, true) => half.magnitude - 1,
        };
        let rest = 1 << 127 | odd >> 1;
        let mut digits = [0; PLACES];
        for (place, digit) in digits.iter_mut().enumerate() {
            *digit = (rest >> (WIDTH * place)) as u8 & 15;
        }
        Odd {
            digits,
            negative,
            more,
        }
    }
}

impl Short {
    /// Tables of every point, for sums that begin at `start`. None when a sum on the way was exceptional, which for a start whose logarithm nobody
    /// knows is not to be had.
    pub fn all(points: &[Affine], start: &Affine) -> Option<Vec<Short>> {
        let mut bases = Vec::with_capacity(2 * PLACES * points.len());
        for point in points {
            let mut power = Jacobian::from(*point);
            for _ in 0..PLACES {
                let double = power.doubled();
                bases.extend([power, double]);
                power = (1..WIDTH).fold(double, |power, _| power.doubled());
            }
        }
        let bases = Jacobian::all_to_affine(&bases)?;
        let (pairs, _) = bases.as_chunks::<2>();
        let doubles: Vec<Affine> = pairs.iter().map(|[_, double]| double.settled()).collect();
        let mut rounds = vec![pairs.iter().map(|[base, _]| base.settled()).collect::<Vec<_>>()];
        // Different small multiples of a point are neither equal nor opposite.
        while let (Some(last), true) = (rounds.last(), rounds.len() < MULTIPLES) {
            rounds.push(sums(last, &doubles)?);
        }
        let turn = |point: &Affine| {
            Affine {
                x: point.x.times(&BETA),
                y: point.y,
            }
            .settled()
        };
        let turned: Vec<Affine> = points.iter().map(turn).collect();
        let settled: Vec<Affine> = points.iter().map(Affine::settled).collect();
        let starts = vec![start.settled(); points.len()];
        let with = sums(&starts, &settled)?;
        let with_turned = sums(&starts, &turned)?;
        let with_both = sums(&with, &turned)?;
        let backs = with.iter().zip(&with_turned).zip(&with_both);
        let short = |(place, ((with, with_turned), with_both)): (usize, ((&Affine, &Affine), &Affine))| {
            let mut multiples = Vec::with_capacity(PLACES * MULTIPLES);
            for at in place * PLACES..(place + 1) * PLACES {
                multiples.extend(rounds.iter().filter_map(|round| round.get(at)));
            }
            Short {
                turned: multiples.iter().map(turn).collect(),
                multiples,
                back: [start.settled(), *with, *with_turned, *with_both],
            }
        };
        Some(backs.enumerate().map(short).collect())
    }
}

/// The sums of each with the other, settled.
fn sums(ones: &[Affine], others: &[Affine]) -> Option<Vec<Affine>> {
    let addend = |lane: usize, _| {
        others.get(lane).map(|point| Addend {
            point,
            negative: false,
        })
    };
    let sums = in_step(ones, 1, addend)?;
    sums.into_iter().map(|sum| sum.map(|sum| sum.settled())).collect()
}

/// As [`comb::Job`](crate::comb::Job), with a point of few uses.
pub struct Job<'a> {
    /// The factor of the first point.
    pub a: Scalar,
    /// The second point.
    pub other: &'a Short,
    /// Its factor.
    pub b: Scalar,
}

/// As [`comb::sums_of_products`](crate::comb::sums_of_products); the tables of all second points were made for this start.
pub fn sums_of_products(first: &Comb, start: &Affine, jobs: &[Job]) -> Option<Vec<Option<Affine>>> {
    let steps = Steps::new(first, jobs);
    in_step(&vec![*start; jobs.len()], steps.count(), |lane, step| {
        steps.addend(lane, step)
    })
}

/// [`sums_of_products`], four at once in each step.
pub fn by_fours(first: &Comb, start: &Affine, jobs: &[Job]) -> Option<Vec<Option<Affine>>> {
    let steps = Steps::new(first, jobs);
    in_step_by_fours(&vec![*start; jobs.len()], steps.count(), |lane, step| {
        steps.addend(lane, step)
    })
}

/// The digits of the first factor, those of both halves of the second, and what is taken off.
struct Steps<'a> {
    first: &'a Comb,
    jobs: Vec<(Digits, &'a Short, Odd, Odd)>,
}

impl<'a> Steps<'a> {
    fn new(first: &'a Comb, jobs: &[Job<'a>]) -> Steps<'a> {
        let job = |job: &Job<'a>| {
            let (k, l) = job.b.split();
            (first.digits(&job.a), job.other, Odd::from(&k), Odd::from(&l))
        };
        Steps {
            first,
            jobs: jobs.iter().map(job).collect(),
        }
    }

    fn count(&self) -> usize {
        self.first.places() + 2 * PLACES + 1
    }

    fn addend(&self, lane: usize, step: usize) -> Option<Addend<'a>> {
        let (a, short, k, l) = self.jobs.get(lane)?;
        let Some(step) = step.checked_sub(self.first.places()) else {
            return self.first.addend(a, step);
        };
        match step / PLACES {
            0 => k.addend(&short.multiples, step),
            1 => l.addend(&short.turned, step - PLACES),
            _ => Some(Addend {
                point: short.back.get(usize::from(k.more) + 2 * usize::from(l.more))?,
                negative: true,
            }),
        }
    }
}

impl Odd {
    fn addend<'a>(&self, multiples: &'a [Affine], place: usize) -> Option<Addend<'a>> {
        odd_multiple(
            multiples,
            MULTIPLES,
            place,
            u16::from(*self.digits.get(place)?),
            self.negative,
        )
    }
}
