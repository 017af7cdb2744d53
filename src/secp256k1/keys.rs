//! Keys that were met: many signatures at once, each compared with the address that is said to have made it.
//!
//! An address is no key: the first signature of a signer costs a recovery. After that the key is known, and whoever is met often gets
//! tables. They speed up a yes and decide nothing else: whatever does not verify by them is recovered after all, so every verdict is
//! that of [`super::recover`].

use std::collections::BTreeMap;

use super::comb::{sums_of_products, Comb, Job};
use super::field::Element;
use super::point::{Affine, GENERATOR};
use super::product::sum_of_products;
use super::scalar::Scalar;
use super::signature::Signature;
use super::{address_of, low};
use crate::address::Address;
use crate::digest::sha256;

/// The most keys that are remembered, about 200 bytes each, and the most that have tables, 288 KB each.
const MOST_KEYS: usize = 4096;
const MOST_TABLES: usize = 16;

/// Signatures of one signer after which its tables pay for themselves.
const OFTEN: usize = 32;

/// Fewer signatures than this are verified one by one, as they would share an inversion with too few; more than that in blocks.
const FEW: usize = 6;
const BLOCK: usize = 256;

/// A signature that is said to be someone's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Claim {
    /// What is signed.
    pub digest: [u8; 32],
    /// `r | s | v`, where `v` is 0, 1, 27 or 28.
    pub signature: [u8; 65],
    /// Whose it is said to be.
    pub signer: Address,
}

/// The keys of signers that were met, no more than a bounded number of them.
pub struct Keys {
    known: BTreeMap<Address, Known>,
    generator: Option<(Comb, Affine)>,
    /// Counts signers met, to know which one was not met for longest.
    clock: u64,
}

struct Known {
    key: Affine,
    tables: Option<Comb>,
    met: usize,
    last: u64,
}

/// A claim that is well-formed, with its place in the list.
struct Checked {
    place: usize,
    digest: [u8; 32],
    signature: Signature,
    odd: bool,
}

impl Keys {
    /// None yet.
    pub const fn new() -> Keys {
        Keys {
            known: BTreeMap::new(),
            generator: None,
            clock: 0,
        }
    }

    /// Forgets all keys and gives their memory back. Nothing but speed depends on them.
    pub fn clear(&mut self) {
        *self = Keys::new();
    }

    /// How many keys are remembered, and how many of them have tables: at most 4096 and 16.
    pub fn remembered(&self) -> (usize, usize) {
        let tables = self.known.values().filter(|known| known.tables.is_some());
        (self.known.len(), tables.count())
    }

    /// Whether [`super::recover`] gives the signer, for each claim; a malformed one is false.
    pub fn verify(&mut self, claims: &[Claim]) -> Vec<bool> {
        let mut verdicts = vec![false; claims.len()];
        let mut signers: BTreeMap<Address, Vec<Checked>> = BTreeMap::new();
        for (place, claim) in claims.iter().enumerate() {
            if let Some((signature, odd)) = low(&claim.signature) {
                signers.entry(claim.signer).or_default().push(Checked {
                    place,
                    digest: claim.digest,
                    signature,
                    odd,
                });
            }
        }
        for (signer, checked) in signers {
            let mut decide = |one: &Checked, verdict| {
                if let Some(place) = verdicts.get_mut(one.place) {
                    *place = verdict;
                }
            };
            let rest = self.recover_first(&signer, &checked, &mut decide);
            let quick = self.verify_known(&signer, rest);
            for (one, quick) in rest.iter().zip(quick) {
                decide(
                    one,
                    quick || one.key().is_some_and(|key| address_of(&key) == signer),
                );
            }
        }
        verdicts
    }

    /// Recovers one by one until the signer's key is known; gives those that are left.
    fn recover_first<'a>(
        &mut self,
        signer: &Address,
        checked: &'a [Checked],
        decide: &mut impl FnMut(&Checked, bool),
    ) -> &'a [Checked] {
        let mut rest = checked;
        while let (Some((one, others)), false) = (rest.split_first(), self.known.contains_key(signer)) {
            let key = one.key().filter(|key| address_of(key) == *signer);
            decide(one, key.is_some());
            if let Some(key) = key {
                self.remember(*signer, key);
            }
            rest = others;
        }
        rest
    }

    fn remember(&mut self, signer: Address, key: Affine) {
        if self.known.len() >= MOST_KEYS {
            let oldest = self.known.iter().min_by_key(|(_, known)| known.last);
            if let Some(oldest) = oldest.map(|(signer, _)| *signer) {
                self.known.remove(&oldest);
            }
        }
        self.clock += 1;
        let known = Known {
            key,
            tables: None,
            met: 0,
            last: self.clock,
        };
        self.known.insert(signer, known);
    }

    /// Whether each signature is one of the known key; false also when that was not found out.
    fn verify_known(&mut self, signer: &Address, checked: &[Checked]) -> Vec<bool> {
        let mut inverses: Vec<Scalar> = checked.iter().map(|one| *one.signature.s()).collect();
        // No s is 0.
        let inverted = Scalar::invert_all(&mut inverses);
        self.prepare(signer, checked.len());
        let (Some(known), Some(())) = (self.known.get(signer), inverted) else {
            return vec![false; checked.len()];
        };
        let all: Vec<(&Checked, (Scalar, Scalar))> = checked
            .iter()
            .zip(&inverses)
            .map(|(one, inverse)| (one, one.signature.factors(&one.digest, inverse)))
            .collect();
        let one_by_one = |one: &Checked, (a, b): &(Scalar, Scalar)| {
            let point = match (&self.generator, &known.tables) {
                (Some((generator, _)), Some(tables)) => generator.sum_of_products(a, tables, b),
                _ => sum_of_products(a, &known.key, b),
            };
            point
                .to_affine()
                .is_some_and(|point| one.signature.is_of_recovered(&point, one.odd))
        };
        let together = |block: &[(&Checked, (Scalar, Scalar))]| {
            let ((generator, start), tables) = self.generator.as_ref().zip(known.tables.as_ref())?;
            let job = |(_, (a, b)): &(&Checked, (Scalar, Scalar))| Job {
                a: *a,
                other: tables,
                b: *b,
            };
            let jobs: Vec<Job> = block.iter().map(job).collect();
            sums_of_products(generator, start, &jobs)
        };
        let mut verdicts = Vec::with_capacity(checked.len());
        for block in all.chunks(BLOCK) {
            let points = Some(block).filter(|block| block.len() >= FEW).and_then(together);
            let points = points.unwrap_or_else(|| vec![None; block.len()]);
            verdicts.extend(
                block
                    .iter()
                    .zip(points)
                    .map(|((one, factors), point)| match point {
                        Some(point) => one.signature.is_of_recovered(&point, one.odd),
                        None => one_by_one(one, factors),
                    }),
            );
        }
        verdicts
    }

    /// Notes that a signer was met, and makes its tables when it is met often; those not used for longest make room.
    fn prepare(&mut self, signer: &Address, times: usize) {
        self.clock += 1;
        let Some(known) = self.known.get_mut(signer) else {
            return;
        };
        known.last = self.clock;
        known.met = known.met.saturating_add(times);
        if known.tables.is_some() || known.met < OFTEN {
            return;
        }
        known.tables = Comb::new(&known.key);
        if self.generator.is_none() {
            self.generator = Comb::new(&GENERATOR).zip(start());
        }
        let mut with_tables: Vec<&mut Known> = self
            .known
            .values_mut()
            .filter(|known| known.tables.is_some())
            .collect();
        if with_tables.len() > MOST_TABLES {
            if let Some(oldest) = with_tables.iter_mut().min_by_key(|known| known.last) {
                oldest.tables = None;
                oldest.met = 0;
            }
        }
    }
}

impl Default for Keys {
    fn default() -> Keys {
        Keys::new()
    }
}

impl Checked {
    fn key(&self) -> Option<Affine> {
        self.signature.recover(&self.digest, self.odd)
    }
}

/// Where sums in step begin: the first point whose x is a hash of a sentence and a counter. So nobody knows its logarithm.
fn start() -> Option<Affine> {
    (0..=u8::MAX).find_map(|counter| {
        let mut text = b"counterfoil: where sums in step begin".to_vec();
        text.push(counter);
        Element::from_be_bytes(&sha256(&text)).and_then(|x| Affine::from_x(x, false))
    })
}
