//! Whose the signatures in many lines are, found out together.
//!
//! Nothing but speed depends on it: what is not found out here is recovered where it is judged.

use std::collections::BTreeMap;

use super::line::Line;
use super::Read;
use crate::address::Address;
use crate::digest;
use crate::eip712::Domain;
use crate::error::Error;
use crate::jwk::Algorithm;
use crate::jws::Task;
use crate::secp256k1::point::Affine;
use crate::secp256k1::{self, Claim, Keys, Made};

/// Separators of domains that lines name again and again.
#[derive(Default)]
struct Separators(Vec<(Domain, [u8; 32])>);

/// The most that are kept: whoever writes lines could invent any number.
const MOST_SEPARATORS: usize = 64;

impl Separators {
    fn of(&mut self, domain: &Domain) -> Result<[u8; 32], Error> {
        if let Some((_, separator)) = self.0.iter().find(|(known, _)| known == domain) {
            return Ok(*separator);
        }
        let separator = domain.separator()?;
        if self.0.len() < MOST_SEPARATORS {
            self.0.push((domain.clone(), separator));
        }
        Ok(separator)
    }
}

/// What a claim is of.
#[derive(Clone, Copy)]
enum Of {
    Payer,
    Issuer,
}

/// Notes in each line that its JWS on secp256k1 was made by its key.
fn find_made(read: &mut [Read], keys: &mut Keys) {
    let (mut all, mut places) = (Vec::new(), Vec::new());
    let mut points: BTreeMap<Vec<u8>, Option<Affine>> = BTreeMap::new();
    for (place, read) in read.iter().enumerate() {
        let task = read.line.as_ref().ok().and_then(Line::task);
        let Some(task) = task.filter(|task| task.key.algorithm == Algorithm::Es256k) else {
            continue;
        };
        let Task {
            key,
            input,
            signature,
        } = task;
        let point = match points.get(&key.bytes) {
            Some(known) => *known,
            None => {
                let point = Affine::from_sec1(&key.bytes);
                points.insert(key.bytes, point);
                point
            }
        };
        if let Some(key) = point {
            all.push(Made {
                digest: digest::sha256(&input),
                signature,
                key,
            });
            places.push(place);
        }
    }
    for (made, place) in keys.verify_made(&all).into_iter().zip(places) {
        if let Some(Ok(line)) = read.get_mut(place).map(|read| read.line.as_mut()) {
            line.material.made = made;
        }
    }
}

/// Notes in each line who signed its authorization, and who its document.
pub(super) fn find(read: &mut [Read], keys: &mut Keys) {
    find_made(read, keys);
    let (mut claims, mut claimed) = (Vec::new(), Vec::new());
    let mut separators = Separators::default();
    let mut issuers: BTreeMap<String, Address> = BTreeMap::new();
    for (place, read) in read.iter_mut().enumerate() {
        let Ok(line) = &mut read.line else { continue };
        if let Some(claim) = payer(line, &mut separators) {
            claims.push(claim);
            claimed.push((place, Of::Payer));
        }
        let Some((claim, site)) = issuer(line) else {
            continue;
        };
        match issuers.get(&site) {
            // A seller signs all that is of one site: who signed the first is claimed of the others.
            Some(known) => {
                claims.push(Claim {
                    signer: *known,
                    ..claim
                });
                claimed.push((place, Of::Issuer));
            }
            None => {
                let signer = secp256k1::recover(&claim.digest, &claim.signature).ok();
                issuers.extend(signer.map(|signer| (site, signer)));
                line.material.issuer = signer;
            }
        }
    }
    let right = keys.verify(&claims);
    for ((right, claim), (place, of)) in right.into_iter().zip(claims).zip(claimed) {
        let line = read.get_mut(place).and_then(|read| read.line.as_mut().ok());
        if let Some(line) = line.filter(|_| right) {
            match of {
                Of::Payer => line.material.signer = Some(claim.signer),
                Of::Issuer => line.material.issuer = Some(claim.signer),
            }
        }
    }
}

/// The payer's signature, where all of it is here and well formed.
fn payer(line: &Line, separators: &mut Separators) -> Option<Claim> {
    let material = &line.material;
    let (authorization, domain) = (material.authorization.as_ref()?, material.domain.as_ref()?);
    Some(Claim {
        digest: authorization.digest_under(separators.of(domain).ok()?).digest,
        signature: secp256k1::parse_signature(material.signature.as_deref()?).ok()?,
        signer: authorization.from,
    })
}

/// The seller's signature under a typed document, of nobody yet, and the site that the document is about.
fn issuer(line: &Line) -> Option<(Claim, String)> {
    let (digest, signature, resource) = line.signed()?;
    let claim = Claim {
        digest: *digest,
        signature: secp256k1::parse_signature(signature).ok()?,
        signer: Address([0; 20]),
    };
    let site = resource.unwrap_or_default().split('/').take(3);
    Some((claim, site.collect::<Vec<_>>().join("/")))
}
