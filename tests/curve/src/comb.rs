//! Sums of products by tables and in step, with whatever can make a sum exceptional put in their way.

use counterfoil::secp256k1::comb::{by_fours, by_ones, Comb, Job};
use counterfoil::secp256k1::point::GENERATOR;
use counterfoil::secp256k1::product::sum_of_products;
use counterfoil::secp256k1::scalar::{places, Scalar};
use counterfoil::secp256k1::short::{self, Short};
use k256::elliptic_curve::ops::Reduce;
use k256::ProjectivePoint;
use num_bigint::{BigInt, Sign};

use crate::point::{multiple, ours};
use crate::random::Random;
use crate::scalar::{edges, ORDER};
use crate::{hex, Counts};

fn theirs(bytes: &[u8; 32]) -> k256::Scalar {
    <k256::Scalar as Reduce<k256::FieldBytes>>::reduce(&(*bytes).into())
}

/// Products of any point: by few odd digits, and by tables.
pub fn products(seed: u64, rounds: u64, counts: &Counts) {
    let random = &mut Random::new(seed, 10);
    let edges = edges();
    let generators = [8, 11, 13].map(|width| Comb::new(&GENERATOR, width).expect("tables"));
    let mut point = None;
    let mut points = 0;
    for round in 0..rounds {
        if round % 64 == 0 {
            let logarithm = random.bytes(&edges);
            let theirs = multiple(&logarithm);
            if let Some(affine) = ours(&theirs) {
                let width = 8 + random.below(4) as usize;
                point = Some((
                    theirs,
                    affine,
                    Comb::new(&affine, width).expect("tables"),
                    logarithm,
                ));
                points += 1;
            }
        }
        let Some((their_point, affine, comb, logarithm)) = &point else {
            continue;
        };
        let (a, mut b) = (random.bytes(&edges), random.bytes(&edges));
        if random.below(8) == 0 {
            // The sum is infinity: b is minus a divided by the point's logarithm.
            let inverse = theirs(logarithm).invert_vartime();
            let value = -(theirs(&a) * Option::<k256::Scalar>::from(inverse).expect("not 0"));
            b = value.to_bytes().into();
        }
        let wanted = ours(&(ProjectivePoint::GENERATOR * theirs(&a) + *their_point * theirs(&b)));
        let (a, b) = (Scalar::reduced(&a), Scalar::reduced(&b));
        assert_eq!(sum_of_products(&a, affine, &b).to_affine(), wanted);
        let generator = &generators[random.below(3) as usize];
        assert_eq!(generator.sum_of_products(&a, comb, &b).to_affine(), wanted);
        counts.add("sums of products", 2);
    }
    assert!(points > 0);
}

/// Products in step of several points that are met a few times, by their small tables.
pub fn several(seed: u64, rounds: u64, counts: &Counts) {
    let random = &mut Random::new(seed, 12);
    let edges = edges();
    let generators = [8, 11].map(|width| Comb::new(&GENERATOR, width).expect("tables"));
    let [generator, _] = &generators;
    // Of nothing there are no sums, however they are made.
    assert_eq!(short::by_fours(generator, &GENERATOR, &[]), Some(Vec::new()));
    assert_eq!(by_fours(generator, &GENERATOR, &[]), Some(Vec::new()));
    assert_eq!(by_ones(generator, &GENERATOR, &[]), Some(Vec::new()));
    for _ in 0..rounds {
        let start = ours(&multiple(&random.uniform())).expect("a point");
        let some = 1 + random.below(4) as usize;
        let points: Vec<_> = (0..some)
            .map(|_| multiple(&random.bytes(&edges)))
            .filter_map(|theirs| Some((theirs, ours(&theirs)?)))
            .collect();
        let affine: Vec<_> = points.iter().map(|(_, affine)| *affine).collect();
        let Some(tables) = Short::all(&affine, &start) else {
            continue;
        };
        let mut wanted = Vec::new();
        let mut jobs = Vec::new();
        for ((theirs_point, _), other) in points.iter().zip(&tables) {
            for _ in 0..1 + random.below(7) {
                let (a, b) = (random.bytes(&edges), random.bytes(&edges));
                wanted.push(ours(
                    &(ProjectivePoint::GENERATOR * theirs(&a) + *theirs_point * theirs(&b)),
                ));
                let (a, b) = (Scalar::reduced(&a), Scalar::reduced(&b));
                jobs.push(short::Job { a, other, b });
            }
        }
        let generator = &generators[random.below(2) as usize];
        assert_eq!(
            short::sums_of_products(generator, &start, &jobs),
            Some(wanted.clone())
        );
        assert_eq!(short::by_fours(generator, &start, &jobs), Some(wanted.clone()));
        counts.add("sums of products by small tables", 2 * wanted.len() as u64);
    }
}

/// Sums in step that begin at a point whose logarithm is known, chosen so that a certain sum of a certain lane is exceptional: every lane but that one
/// comes out right, and that one is told.
pub fn exceptional(seed: u64, rounds: u64, counts: &Counts) {
    let random = &mut Random::new(seed, 11);
    let edges = edges();
    let order = BigInt::from_bytes_be(Sign::Plus, &hex(ORDER));
    let number = |bytes: &[u8; 32]| BigInt::from_bytes_be(Sign::Plus, bytes);
    let reduced = |value: BigInt| {
        let bytes = (((value % &order) + &order) % &order).to_bytes_be().1;
        let mut padded = [0; 32];
        padded[32 - bytes.len()..].copy_from_slice(&bytes);
        padded
    };
    let logarithm = random.uniform();
    let point = ours(&multiple(&logarithm)).expect("a point");
    let combs = [(8, 8), (11, 10), (8, 10)].map(|(ones, others)| {
        let comb = |point, width| Comb::new(point, width).expect("tables");
        (comb(&GENERATOR, ones), comb(&point, others))
    });
    // What each digit adds, as a multiple of the generator.
    let addends = |a: &Scalar, b: &Scalar, (generator, comb): &(Comb, Comb)| -> Vec<BigInt> {
        let digits = |scalar: &Scalar, width: usize| {
            let (digits, negative) = scalar.odd_digits(width);
            let signed = move |(place, digit): (usize, u16)| {
                let value = BigInt::from(2 * i64::from(digit) + 1 - (1 << width)) << (width * place);
                value * if negative { -1 } else { 1 }
            };
            digits.into_iter().take(places(width)).enumerate().map(signed)
        };
        let others = digits(b, comb.width()).map(|value| value * number(&logarithm));
        digits(a, generator.width()).chain(others).collect()
    };
    for round in 0..rounds {
        let lanes = 2 + random.below(6) as usize;
        let factors: Vec<(Scalar, Scalar)> = (0..lanes)
            .map(|_| {
                (
                    Scalar::reduced(&random.bytes(&edges)),
                    Scalar::reduced(&random.bytes(&edges)),
                )
            })
            .collect();
        let chosen = random.below(lanes as u64) as usize;
        let combs = &combs[random.below(3) as usize];
        let (generator, comb) = combs;
        let steps = addends(&factors[chosen].0, &factors[chosen].1, combs);
        let step = round as usize % steps.len();
        let before: BigInt = steps[..step].iter().sum();
        let sign = if random.below(2) == 0 { 1 } else { -1 };
        let start = reduced(&steps[step] * sign - before);
        let Some(start_point) = ours(&multiple(&start)) else {
            continue;
        };
        let jobs: Vec<Job> = factors
            .iter()
            .map(|(a, b)| Job {
                a: *a,
                other: comb,
                b: *b,
            })
            .collect();
        let sums = by_ones(generator, &start_point, &jobs).expect("tables are whole");
        assert_eq!(by_fours(generator, &start_point, &jobs), Some(sums.clone()));
        for (lane, ((a, b), sum)) in factors.iter().zip(&sums).enumerate() {
            let all = addends(a, b, combs);
            let mut at = number(&start);
            let mut met = false;
            for addend in all.iter().chain([&-number(&start)]) {
                let (now, addend_reduced) = (reduced(at.clone()), reduced(addend.clone()));
                met |= now == addend_reduced || now == reduced(-addend) || now == [0; 32];
                at += addend;
            }
            assert!(lane != chosen || met);
            match sum {
                None => assert!(met, "lane {lane} met nothing exceptional"),
                Some(sum) => {
                    assert!(!met, "lane {lane} was to be told");
                    assert_eq!(Some(*sum), ours(&multiple(&reduced(at))));
                }
            }
        }
        counts.add("exceptional sums in step", 1);
    }
}
