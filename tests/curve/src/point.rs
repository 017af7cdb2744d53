//! Points against k256 and libsecp256k1: every way two points can be, in every form.

use counterfoil::secp256k1::field::Element;
use counterfoil::secp256k1::point::{Affine, Jacobian, GENERATOR};
use k256::elliptic_curve::sec1::{FromSec1Point, ToSec1Point};
use k256::{AffinePoint, ProjectivePoint};

use crate::random::Random;
use crate::{field, scalar, Counts};

/// A point of the library, from its own multiplication.
pub fn multiple(scalar: &[u8; 32]) -> ProjectivePoint {
    use k256::elliptic_curve::ops::Reduce;
    ProjectivePoint::GENERATOR * <k256::Scalar as Reduce<k256::FieldBytes>>::reduce(&(*scalar).into())
}

/// The same point here; `None` for infinity.
pub fn ours(point: &ProjectivePoint) -> Option<Affine> {
    Affine::from_sec1(point.to_affine().to_sec1_point(false).as_bytes())
}

fn same(ours: &Jacobian, theirs: &ProjectivePoint, what: &str) {
    let theirs = theirs.to_affine().to_sec1_point(false);
    match ours.to_affine() {
        None => {
            assert!(ours.is_infinity());
            assert_eq!(theirs.as_bytes(), [0], "{what}");
        }
        Some(point) => {
            assert_eq!(theirs.as_bytes()[1..], point.to_be_bytes(), "{what}");
            assert!(ours.has_x(&point.x) && !ours.has_x(&point.y));
        }
    }
}

/// Sums of equal, opposite and other points and infinity, whose z is 1 or not.
pub fn sums(seed: u64, rounds: u64, counts: &Counts) {
    let random = &mut Random::new(seed, 4);
    let edges = scalar::edges();
    assert_eq!(Some(GENERATOR), ours(&ProjectivePoint::GENERATOR));
    let (mut a, mut theirs) = (Jacobian::INFINITY, ProjectivePoint::IDENTITY);
    let (mut known, mut theirs_known) = (GENERATOR, ProjectivePoint::GENERATOR);
    let plus = |a: &Jacobian, b: &Affine| a.plus(&b.x, &b.y);
    for round in 0..rounds {
        // Another point now and then; else sums of sums, whose z is anything.
        if round % 16 == 0 {
            theirs_known = multiple(&random.bytes(&edges));
            match ours(&theirs_known) {
                Some(point) => known = point,
                None => theirs_known = ours_back(&known),
            }
        }
        match random.below(8) {
            0 => (a, theirs) = (a.doubled(), theirs.double()),
            1 => (a, theirs) = (plus(&a, &known.negated()), theirs - theirs_known),
            2 => (a, theirs) = (known.into(), theirs_known),
            3 => {
                // The same point, and its negative, with another z.
                if let Some(point) = a.to_affine() {
                    same(&plus(&a, &point), &theirs.double(), "the same point");
                    same(
                        &a.plus(&point.x, &point.y.negated()),
                        &ProjectivePoint::IDENTITY,
                        "its negative",
                    );
                    // The same x by the endomorphism's side: other x, same y.
                    counts.add("exceptional sums", 2);
                    if random.below(4) == 0 {
                        (a, theirs) = (plus(&a, &point.negated()), ProjectivePoint::IDENTITY);
                    }
                }
            }
            _ => (a, theirs) = (plus(&a, &known), theirs + theirs_known),
        }
        same(&a, &theirs, "a sum");
        counts.add("points", 1);
    }
}

fn ours_back(point: &Affine) -> ProjectivePoint {
    let mut sec1 = vec![4];
    sec1.extend(point.to_be_bytes());
    AffinePoint::from_sec1_bytes(&sec1).expect("on the curve").into()
}

/// Public keys in every form, right and wrong, against libsecp256k1; and many points at once.
pub fn keys(seed: u64, rounds: u64, counts: &Counts) {
    let random = &mut Random::new(seed, 5);
    let edges = field::edges();
    for _ in 0..rounds {
        let (x, mut y) = (random.bytes(&edges), random.bytes(&edges));
        let odd = random.below(2) == 1;
        let point = Element::from_be_bytes(&x).and_then(|x| Affine::from_x(x, odd));
        if let (Some(point), true) = (point, random.below(4) > 0) {
            y = point.y.to_be_bytes();
        }
        let tag = *random.one_of(&[2, 3, 4, 4, 4, 0, 1, 5, 0x80]);
        let mut bytes = vec![tag];
        bytes.extend(x);
        if random.below(16) == 0 {
            bytes.truncate(random.below(34) as usize);
        } else if !matches!(tag, 2 | 3) || random.below(16) == 0 {
            bytes.extend(y);
        }
        let found = Affine::from_sec1(&bytes);
        let theirs = secp256k1::PublicKey::from_slice(&bytes).ok();
        assert_eq!(
            found.map(|point| point.to_be_bytes().to_vec()),
            theirs.map(|key| key.serialize_uncompressed()[1..].to_vec()),
            "{bytes:?}"
        );
        counts.add("public keys", 1);
        if let Some(point) = point {
            let mut points = vec![Jacobian::from(point)];
            for _ in 0..random.below(20) {
                let last = points[points.len() - 1];
                points.push(if random.below(2) == 0 {
                    last.doubled()
                } else {
                    last.plus(&GENERATOR.x, &GENERATOR.y)
                });
            }
            let one_by_one: Option<Vec<Affine>> = points.iter().map(Jacobian::to_affine).collect();
            assert_eq!(Jacobian::all_to_affine(&points), one_by_one);
            points.push(Jacobian::INFINITY);
            assert_eq!(Jacobian::all_to_affine(&points), None);
        }
    }
}
