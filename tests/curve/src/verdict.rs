//! Signatures, good and bad, against k256 and libsecp256k1: with the key, by recovery, and many at once under keys that were met.

use counterfoil::address::Address;
use counterfoil::hex;
use counterfoil::secp256k1::{self, Claim, Encoding, Keys};
use k256::ecdsa::signature::hazmat::PrehashVerifier;
use k256::ecdsa::{RecoveryId, Signature, SigningKey, VerifyingKey};
use num_bigint::{BigInt, Sign};

use crate::random::Random;
use crate::scalar::{edges, ORDER};
use crate::{field, Counts};

/// Numbers modulo the group order, to choose signatures by.
struct Ring(BigInt);

impl Ring {
    fn new() -> Ring {
        Ring(BigInt::from_bytes_be(Sign::Plus, &crate::hex(ORDER)))
    }

    fn number(&self, bytes: &[u8; 32]) -> BigInt {
        BigInt::from_bytes_be(Sign::Plus, bytes) % &self.0
    }

    fn bytes(&self, value: BigInt) -> [u8; 32] {
        let value = ((value % &self.0) + &self.0) % &self.0;
        let bytes = value.to_bytes_be().1;
        let mut padded = [0; 32];
        padded[32 - bytes.len()..].copy_from_slice(&bytes);
        padded
    }

    fn inverse(&self, value: &BigInt) -> BigInt {
        value.modpow(&(&self.0 - 2), &self.0)
    }
}

/// A key with the address that Ethereum gives it.
#[derive(Clone)]
struct Signer {
    key: SigningKey,
    secret: BigInt,
    address: Address,
}

impl Signer {
    fn new(random: &mut Random, ring: &Ring) -> Signer {
        loop {
            if let Some(signer) = Signer::of(&random.bytes(&edges()), ring) {
                return signer;
            }
        }
    }

    fn of(secret: &[u8; 32], ring: &Ring) -> Option<Signer> {
        let key = SigningKey::from_slice(secret).ok()?;
        Some(Signer {
            address: address(key.verifying_key()),
            secret: ring.number(secret),
            key,
        })
    }

    /// 65 bytes, s low.
    fn sign(&self, digest: &[u8; 32]) -> [u8; 65] {
        let (signature, v) = self.key.sign_prehash_recoverable(digest);
        let mut bytes = [0; 65];
        bytes[..64].copy_from_slice(&signature.to_bytes());
        bytes[64] = 27 + v.to_byte();
        bytes
    }

    /// A signature whose point is infinity: over this digest, r is minus the digest divided by the key, and s is anything.
    fn infinite(&self, ring: &Ring, digest: &[u8; 32], random: &mut Random) -> [u8; 65] {
        let r = -ring.number(digest) * ring.inverse(&self.secret);
        joined(ring.bytes(r), low(ring, ring.number(&random.uniform())), random)
    }
}

fn low(ring: &Ring, s: BigInt) -> [u8; 32] {
    let other = &ring.0 - &s;
    ring.bytes(s.min(other))
}

fn joined(r: [u8; 32], s: [u8; 32], random: &mut Random) -> [u8; 65] {
    let mut bytes = [0; 65];
    bytes[..32].copy_from_slice(&r);
    bytes[32..64].copy_from_slice(&s);
    bytes[64] = 27 + random.below(2) as u8;
    bytes
}

fn address(key: &VerifyingKey) -> Address {
    use k256::elliptic_curve::sec1::ToSec1Point;
    let point = key.as_affine().to_sec1_point(false);
    let hash = alloy_primitives::keccak256(&point.as_bytes()[1..]);
    Address(hash[12..].try_into().expect("20 bytes"))
}

/// What k256 recovers, and that libsecp256k1 recovers the same.
fn recovered(digest: &[u8; 32], signature: &[u8; 65]) -> Option<Address> {
    let odd = match signature[64] {
        0 | 27 => 0,
        1 | 28 => 1,
        _ => return None,
    };
    let parsed = Signature::from_slice(&signature[..64]).ok()?;
    if parsed.normalize_s() != parsed {
        return None;
    }
    let key = VerifyingKey::recover_from_prehash(digest, &parsed, RecoveryId::from_byte(odd)?).ok();
    let id = ::secp256k1::ecdsa::RecoveryId::from_u8_masked(odd);
    let other = ::secp256k1::ecdsa::RecoverableSignature::from_compact(&signature[..64], id)
        .ok()
        .and_then(|other| {
            let message = ::secp256k1::Message::from_digest(*digest);
            ::secp256k1::Secp256k1::verification_only()
                .recover_ecdsa(message, &other)
                .ok()
        });
    let bytes = key.map(|key| key.to_sec1_point(false).as_bytes().to_vec());
    assert_eq!(
        bytes,
        other.map(|key| key.serialize_uncompressed().to_vec()),
        "the oracles differ"
    );
    key.as_ref().map(address)
}

/// A digest and a signature over it, or nearly, or not at all.
fn case(random: &mut Random, ring: &Ring, signer: &Signer) -> ([u8; 32], [u8; 65]) {
    let edges = edges();
    let mut digest = random.bytes(&edges);
    let mut signature = signer.sign(&digest);
    match random.below(16) {
        0..=7 => {}
        8 => signature[random.below(65) as usize] ^= 1 << random.below(8),
        9 => digest[random.below(32) as usize] ^= 1 << random.below(8),
        10 => signature[64] = *random.one_of(&[0, 1, 2, 3, 26, 29, 30, 255, signature[64] ^ 7]),
        11 => {
            // The other s.
            let s = ring.number(signature[32..64].try_into().expect("32 bytes"));
            signature[32..64].copy_from_slice(&ring.bytes(-s));
            if random.below(2) == 0 {
                signature[64] = 55 - signature[64];
            }
        }
        12 => signature = joined(random.bytes(&edges), random.bytes(&edges), random),
        13 => signature[..32].copy_from_slice(&random.bytes(&edges)),
        14 => signature[32..64].copy_from_slice(&random.bytes(&edges)),
        _ => signature = signer.infinite(ring, &digest, random),
    }
    (digest, signature)
}

/// Any key: recovery and verification.
pub fn one_by_one(seed: u64, rounds: u64, counts: &Counts) {
    let random = &mut Random::new(seed, 6);
    let ring = Ring::new();
    let context = ::secp256k1::Secp256k1::verification_only();
    let mut signer = Signer::new(random, &ring);
    for round in 0..rounds {
        if round % 8 == 0 {
            signer = Signer::new(random, &ring);
        }
        let (digest, signature) = case(random, &ring, &signer);
        let wanted = recovered(&digest, &signature);
        assert_eq!(
            secp256k1::recover(&digest, &signature).ok(),
            wanted,
            "{} {}",
            hex::encode(digest),
            hex::encode(signature)
        );
        counts.add("recoveries", 1);

        let key = signer.key.verifying_key();
        let sec1 = key.to_sec1_point(round % 2 == 0);
        let parsed = Signature::from_slice(&signature[..64]).ok();
        let wanted = parsed.is_some_and(|parsed| key.verify_prehash(&digest, &parsed.normalize_s()).is_ok());
        let other = ::secp256k1::ecdsa::Signature::from_compact(&signature[..64]).is_ok_and(|mut other| {
            other.normalize_s();
            let key = ::secp256k1::PublicKey::from_slice(sec1.as_bytes()).expect("a key");
            let message = ::secp256k1::Message::from_digest(digest);
            context.verify_ecdsa(message, &other, &key).is_ok()
        });
        assert_eq!(wanted, other, "the oracles differ");
        let high = parsed.is_some_and(|parsed| parsed.normalize_s() != parsed);
        for low_s in [false, true] {
            let ours = secp256k1::verify(sec1.as_bytes(), &digest, &signature[..64], Encoding::P1363, low_s);
            assert_eq!(ours, Ok(wanted && !(low_s && high)), "{}", hex::encode(signature));
        }
        if let Some(parsed) = parsed {
            let mut der = parsed.to_der().as_bytes().to_vec();
            assert_eq!(
                secp256k1::verify(sec1.as_bytes(), &digest, &der, Encoding::Der, false),
                Ok(wanted)
            );
            // One byte changed, added or left out.
            let at = random.below(der.len() as u64) as usize;
            match random.below(3) {
                0 => der[at] ^= 1 << random.below(8),
                1 => der.insert(at, random.below(256) as u8),
                _ => drop(der.remove(at)),
            }
            let wanted = Signature::from_der(&der)
                .is_ok_and(|parsed| key.verify_prehash(&digest, &parsed.normalize_s()).is_ok());
            let ours = secp256k1::verify(sec1.as_bytes(), &digest, &der, Encoding::Der, false);
            assert_eq!(ours, Ok(wanted), "{}", hex::encode(der));
        }
        counts.add("verifications", 3);
    }
}

/// Signatures whose point has an x that is not below the group order: r is that x less the order.
pub fn wrapped(seed: u64, rounds: u64, counts: &Counts) {
    let random = &mut Random::new(seed, 7);
    let ring = Ring::new();
    let prime = BigInt::from_bytes_be(Sign::Plus, &crate::hex(field::PRIME));
    let context = ::secp256k1::Secp256k1::verification_only();
    for round in 0..rounds {
        // The smallest, the largest, and some between; half of all x are of a point.
        let offset = match round % 3 {
            0 => BigInt::from(1 + round / 3),
            1 => &prime - &ring.0 - 1 - round / 3,
            _ => BigInt::from_bytes_be(Sign::Plus, &random.uniform()[..16]) + 1,
        };
        let x: [u8; 32] = (&ring.0 + &offset).to_bytes_be().1.try_into().expect("32 bytes");
        let r = ring.bytes(offset);
        let (digest, s) = (random.uniform(), low(&ring, ring.number(&random.uniform())));
        let mut signature = joined(r, s, random);
        // As recovery ids 2 and 3 have it, which are no v here.
        let id = ::secp256k1::ecdsa::RecoveryId::from_u8_masked(2 + (signature[64] - 27));
        let message = ::secp256k1::Message::from_digest(digest);
        let found = ::secp256k1::ecdsa::RecoverableSignature::from_compact(&signature[..64], id)
            .and_then(|other| context.recover_ecdsa(message, &other));
        let mut compressed = vec![2];
        compressed.extend(x);
        assert_eq!(
            found.is_ok(),
            ::secp256k1::PublicKey::from_slice(&compressed).is_ok()
        );
        if let Ok(key) = found {
            let sec1 = key.serialize_uncompressed();
            assert_eq!(
                secp256k1::verify(&sec1, &digest, &signature[..64], Encoding::P1363, true),
                Ok(true)
            );
            let mut other = digest;
            other[7] ^= 1;
            assert_eq!(
                secp256k1::verify(&sec1, &other, &signature[..64], Encoding::P1363, true),
                Ok(false)
            );
            let owner = address(&VerifyingKey::from_sec1_bytes(&sec1).expect("a key"));
            // By address the point is the one with r itself as x, whose key is another one.
            let wanted = recovered(&digest, &signature);
            assert_ne!(wanted, Some(owner));
            let claim = |signer| Claim {
                digest,
                signature,
                signer,
            };
            let mut claims = vec![claim(owner); 3];
            claims.extend(wanted.map(claim));
            let verdicts = Keys::new().verify(&claims);
            assert_eq!(verdicts[..3], [false; 3]);
            assert_eq!(verdicts.get(3), wanted.map(|_| &true));
            counts.add("x not below the order", 1);
        }
        signature[64] += 2;
        assert!(secp256k1::recover(&digest, &signature).is_err());
    }
}

/// Lists of claims in any order, any of them bad, with keys met before or not: the verdicts are those of k256 one by one.
pub fn lists(seed: u64, rounds: u64, counts: &Counts) {
    let random = &mut Random::new(seed, 8);
    let ring = Ring::new();
    let mut signers: Vec<Signer> = (0..6).map(|_| Signer::new(random, &ring)).collect();
    let mut keys = Keys::new();
    let mut done = 0;
    while done < rounds {
        if random.below(12) == 0 {
            keys.clear();
        }
        let replaced = random.below(6) as usize;
        if random.below(3) == 0 {
            signers[replaced] = Signer::new(random, &ring);
        }
        // Beyond 1024 of one signer its tables are wide ones.
        let length = [0, 1, 5, 40, 300, 700, 1400][random.below(7) as usize];
        let all_bad = random.below(10) == 0;
        let few = 1 + random.below(6) as usize;
        let mut claims = Vec::new();
        let mut wanted = Vec::new();
        for _ in 0..length {
            let signer = random.one_of(&signers[..few]).clone();
            let (digest, mut signature) = case(random, &ring, &signer);
            if all_bad {
                signature = signer.infinite(&ring, &digest, random);
            }
            let said = match random.below(20) {
                0 => random.one_of(&signers).address,
                1 => Address([0; 20]),
                _ => signer.address,
            };
            claims.push(Claim {
                digest,
                signature,
                signer: said,
            });
            wanted.push(recovered(&digest, &signature) == Some(said));
        }
        let verdicts = keys.verify(&claims);
        assert_eq!(verdicts, wanted);
        counts.add("claims in lists", length);
        counts.add("lists", 1);
        done += length.max(1);
    }
}

/// Many signers who come often, more than are remembered with tables.
pub fn frequent(seed: u64, rounds: u64, counts: &Counts) {
    let random = &mut Random::new(seed, 9);
    let ring = Ring::new();
    let mut keys = Keys::new();
    for round in 1..=rounds {
        // No edges: each is another one.
        let signer = Signer::of(&random.uniform(), &ring).expect("a key");
        let mut claims = Vec::new();
        let mut wanted = Vec::new();
        for _ in 0..80 {
            let (digest, signature) = case(random, &ring, &signer);
            wanted.push(recovered(&digest, &signature) == Some(signer.address));
            claims.push(Claim {
                digest,
                signature,
                signer: signer.address,
            });
        }
        assert_eq!(keys.verify(&claims), wanted);
        assert_eq!(keys.remembered().1 as u64, round.min(16));
        counts.add("signers with tables", 1);
    }
    keys.clear();
    assert_eq!(keys.remembered(), (0, 0));
}

/// Many signers who come once or twice, more than are remembered.
pub fn rare(seed: u64, rounds: u64, counts: &Counts) {
    let random = &mut Random::new(seed, 12);
    let ring = Ring::new();
    let mut keys = Keys::new();
    for round in 1..=rounds {
        // No edges: each is another one.
        let signer = Signer::of(&random.uniform(), &ring).expect("a key");
        let digest = random.uniform();
        let claim = Claim {
            digest,
            signature: signer.sign(&digest),
            signer: signer.address,
        };
        let mut other = claim;
        other.digest[0] ^= 1;
        assert_eq!(keys.verify(&[claim]), [true]);
        assert!(keys.remembered().0 as u64 <= round.min(4096));
        if round % 16 == 0 {
            assert_eq!(keys.verify(&[other, claim]), [false, true]);
        }
        counts.add("signers met once or twice", 1);
    }
    assert_eq!(keys.remembered(), (rounds.min(4096) as usize, 0));
}
