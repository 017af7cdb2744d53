//! Keys that were met: many signatures at once, each compared with the address that is said to have made it.
//!
//! An address is no key: the first signature of a signer costs a recovery. After that the key is known. Whoever is met often gets
//! tables that are kept; those met a few times in one call get small ones, made for many of them at once and dropped again. Tables speed up a yes and
//! decide nothing else: whatever does not verify by them is recovered after all, so every verdict is that of [`super::recover`].

use std::collections::BTreeMap;

use super::comb::{sums_of_products, Comb, Job};
use super::field::Element;
use super::point::{Affine, GENERATOR};
use super::product::sum_of_products;
use super::scalar::Scalar;
use super::short::{self, Short};
use super::signature::Signature;
use super::{address_of, low};
use crate::address::Address;
use crate::digest::sha256;

/// The most keys that are remembered, about 200 bytes each, and the most that have tables, 288 KB each or, of those met very often, 936 KB.
const MOST_KEYS: usize = 4096;
const MOST_TABLES: usize = 16;

/// Signatures of one signer after which its tables pay for themselves, and bits of a digit in them.
const OFTEN: usize = 32;
const WIDTH: usize = 8;

/// The same of wide ones; those of the generator (1.7 MB) are made for all signers together.
const VERY_OFTEN: usize = 1024;
const WIDE: usize = 10;
const GENERATOR_WIDE: usize = 11;

/// Fewer signatures than this are verified one by one, as they would share an inversion with too few; more than that in blocks.
const FEW: usize = 6;
const BLOCK: usize = 1024;
const FEWEST: usize = 32;

/// Signatures of one signer in a call from which on small tables pay for themselves, and of how many signers they are made at once.
const SEVERAL: usize = 4;
const TOGETHER: usize = 16;

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
    /// Sums that were made in step, with the generator's tables.
    sums: usize,
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
    /// Whether the y of its point is odd, where the signature says so.
    odd: Option<bool>,
}

/// A signature by a key that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Made {
    /// What is signed.
    pub digest: [u8; 32],
    /// `r | s`.
    pub signature: [u8; 64],
    /// The key.
    pub key: Affine,
}

impl Keys {
    /// None yet.
    pub const fn new() -> Keys {
        Keys {
            known: BTreeMap::new(),
            generator: None,
            sums: 0,
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
                    odd: Some(odd),
                });
            }
        }
        let mut several = Vec::new();
        for (signer, checked) in &signers {
            let rest = self.recover_first(signer, checked, &mut verdicts);
            self.prepare(signer, rest.len());
            let tables = self.known.get(signer).is_some_and(|known| known.tables.is_some());
            if rest.len() < SEVERAL || tables {
                settle(signer, rest, self.verify_known(signer, rest), &mut verdicts);
                continue;
            }
            several.push((*signer, rest));
            if several.len() == TOGETHER {
                self.settle_several(&several, &mut verdicts);
                several.clear();
            }
        }
        self.settle_several(&several, &mut verdicts);
        verdicts
    }

    fn settle_several(&mut self, several: &[(Address, &[Checked])], verdicts: &mut [bool]) {
        let mut all = self.verify_several(several).map(Vec::into_iter);
        for (signer, checked) in several {
            let quick = all.as_mut().and_then(Iterator::next);
            let quick = quick.unwrap_or_else(|| self.verify_known(signer, checked));
            settle(signer, checked, quick, verdicts);
        }
    }

    /// Whether [`super::verify`] says yes, for each signature by a key, of which the lower s alone counts.
    pub fn verify_made(&mut self, all: &[Made]) -> Vec<bool> {
        let mut verdicts = vec![false; all.len()];
        let mut signers: Vec<(Affine, Vec<Checked>)> = Vec::new();
        for (place, one) in all.iter().enumerate() {
            let signature = Signature::from_be_bytes(&one.signature);
            let Some(signature) = signature.filter(|signature| !signature.is_high()) else {
                continue;
            };
            let checked = Checked {
                place,
                digest: one.digest,
                signature,
                odd: None,
            };
            match signers.iter_mut().find(|(key, _)| *key == one.key) {
                Some((_, list)) => list.push(checked),
                None => signers.push((one.key, vec![checked])),
            }
        }
        for (key, checked) in signers {
            let signer = address_of(&key);
            if !self.known.contains_key(&signer) {
                self.remember(signer, key);
            }
            self.prepare(&signer, checked.len());
            let quick = self.verify_known(&signer, &checked);
            for (one, quick) in checked.iter().zip(quick) {
                decide(
                    one,
                    quick || one.signature.verifies(&one.digest, &key),
                    &mut verdicts,
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
        verdicts: &mut [bool],
    ) -> &'a [Checked] {
        let mut rest = checked;
        while let (Some((one, others)), false) = (rest.split_first(), self.known.contains_key(signer)) {
            let key = one.key().filter(|key| address_of(key) == *signer);
            decide(one, key.is_some(), verdicts);
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
            point.to_affine().is_some_and(|point| one.is_of(&point))
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
                        Some(point) => one.is_of(&point),
                        None => one_by_one(one, factors),
                    }),
            );
        }
        verdicts
    }

    /// The same of several signers together, whose keys have no tables; nothing when they are too few for it.
    fn verify_several(&mut self, signers: &[(Address, &[Checked])]) -> Option<Vec<Vec<bool>>> {
        let all = signers.iter().flat_map(|(_, checked)| *checked);
        let mut inverses: Vec<Scalar> = all.clone().map(|one| *one.signature.s()).collect();
        if inverses.len() < FEWEST {
            return None;
        }
        self.prepare_generator(inverses.len());
        let (generator, start) = self.generator.as_ref()?;
        // No s is 0.
        Scalar::invert_all(&mut inverses)?;
        let keys = signers.iter().map(|(signer, _)| self.known.get(signer));
        let keys: Option<Vec<Affine>> = keys.map(|known| known.map(|known| known.key)).collect();
        let tables = Short::all(&keys?, start)?;
        let others = signers
            .iter()
            .zip(&tables)
            .flat_map(|((_, checked), tables)| checked.iter().map(move |_| tables));
        let jobs: Vec<short::Job> = all
            .clone()
            .zip(&inverses)
            .zip(others)
            .map(|((one, inverse), other)| {
                let (a, b) = one.signature.factors(&one.digest, inverse);
                short::Job { a, other, b }
            })
            .collect();
        let points = short::sums_of_products(generator, start, &jobs)?;
        let mut quick = all
            .zip(points)
            .map(|(one, point)| point.is_some_and(|point| one.is_of(&point)));
        let each = signers
            .iter()
            .map(|(_, checked)| quick.by_ref().take(checked.len()).collect());
        Some(each.collect())
    }

    /// Makes the generator's tables, for so many sums more, and the point where sums in step begin.
    fn prepare_generator(&mut self, times: usize) {
        self.sums = self.sums.saturating_add(times);
        let width = if self.sums < VERY_OFTEN {
            WIDTH
        } else {
            GENERATOR_WIDE
        };
        if self
            .generator
            .as_ref()
            .is_none_or(|(comb, _)| comb.width() != width)
        {
            self.generator = Comb::new(&GENERATOR, width).zip(start());
        }
    }

    /// Notes that a signer was met, and makes its tables when it is met often; those not used for longest make room.
    fn prepare(&mut self, signer: &Address, times: usize) {
        self.clock += 1;
        let Some(known) = self.known.get_mut(signer) else {
            return;
        };
        known.last = self.clock;
        known.met = known.met.saturating_add(times);
        if known.met < OFTEN {
            return;
        }
        let width = if known.met < VERY_OFTEN { WIDTH } else { WIDE };
        let wanted = known.tables.as_ref().is_none_or(|comb| comb.width() != width);
        if wanted {
            known.tables = Comb::new(&known.key, width);
        }
        self.prepare_generator(times);
        if wanted {
            self.make_room();
        }
    }

    /// Drops the tables that were not used for longest, where there are too many.
    fn make_room(&mut self) {
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

fn decide(one: &Checked, verdict: bool, verdicts: &mut [bool]) {
    if let Some(place) = verdicts.get_mut(one.place) {
        *place = verdict;
    }
}

/// Decides on signatures of which some are known to be the signer's; the others are recovered.
fn settle(signer: &Address, checked: &[Checked], quick: Vec<bool>, verdicts: &mut [bool]) {
    for (one, quick) in checked.iter().zip(quick) {
        let made = quick || one.key().is_some_and(|key| address_of(&key) == *signer);
        decide(one, made, verdicts);
    }
}

impl Default for Keys {
    fn default() -> Keys {
        Keys::new()
    }
}

impl Checked {
    fn key(&self) -> Option<Affine> {
        self.signature.recover(&self.digest, self.odd?)
    }

    /// Whether a point is the signature's, so far as that shows without looking for another point of the same r.
    fn is_of(&self, point: &Affine) -> bool {
        let is = |odd| self.signature.is_of_recovered(point, odd);
        match self.odd {
            Some(odd) => is(odd),
            None => is(false) || is(true),
        }
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
