//! What every profile of a single statement is read to: who paid whom what and when, over which bytes, and by which key. The checks see nothing else of
//! the document, so that a new form adds a reader and no rule.

use super::checks::{Checks, Report};
use super::material::{self, Material, Subject};
use super::readings::{self, Reading};
use super::settled::{self, Said};
use super::signer::{self, Made};
use crate::error::Error;
use crate::evidence::{self, Verdict};
use crate::hex;
use crate::json::Json;
use crate::time::Seconds;
use crate::x402::offer_receipt::Proof;

/// A service's clock may be this far ahead, in seconds.
const AHEAD: Seconds = 300;
/// Times before 2020 and after the year 5138 are no times of a receipt, but another unit or a slip.
const EARLIEST: Seconds = 1_577_836_800;
const LATEST: Seconds = 100_000_000_000;

/// A receipt without a transaction is not taken for that of a payment whose window ends more than so many seconds later.
const BEFORE: Seconds = 86_400;

/// One statement about one purchase.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct SignedEntity {
    /// Whether it says that the payment was settled.
    pub success: Option<bool>,
    /// SHA-256 of what was under the response's content coding, where it is said apart.
    pub decoded: Option<[u8; 32]>,
    /// Who paid whom how much for what.
    pub subject: Subject,
    /// When it was written.
    pub issued_at: Option<Seconds>,
    /// The last second for which it holds.
    pub valid_until: Option<Seconds>,
    /// What it is signed with.
    pub proof: Option<Proof>,
    /// Of what two documents in one say: whether they agree. The signature is then that of one of them.
    pub agrees: Option<bool>,
    /// Of two documents in one: the signed one names no transaction, and only its time can link it to the payment.
    pub linked_by_time: bool,
    /// How its digest of the answer may be read.
    pub readings: Vec<Reading>,
    /// What no report on it proves.
    pub does_not_prove: &'static [&'static str],
}

impl SignedEntity {
    /// The digest of the answer that counts: bytes that still carry their coding are those that were sent, others are what was under it. And
    /// whether it may be that of the exact bytes, and of the canonical text.
    pub fn digest(&self, coded: bool) -> Option<([u8; 32], bool, bool)> {
        let decoded = self.decoded.filter(|_| !coded);
        let may = |reading| self.readings.contains(&reading);
        let sha256 = decoded.or(self.subject.sha256)?;
        Some((sha256, may(Reading::Exact), may(Reading::Canonical)))
    }

    /// An unsigned settlement response with the seller's signed receipt inside: one statement, signed as far as the receipt goes.
    pub fn confirmed_by(self, receipt: SignedEntity) -> SignedEntity {
        let (said, signed) = (&self.subject, &receipt.subject);
        let network = said.network == signed.network;
        let (one, other) = (said.account("payer"), signed.account("payer"));
        let payer = one.is_none() || other.is_none() || one == other;
        let same = |one: &str, other: &str| one.eq_ignore_ascii_case(other);
        let both = said.transaction.as_deref().zip(signed.transaction.as_deref());
        let transaction = both.is_none_or(|(one, other)| same(one, other));
        SignedEntity {
            agrees: Some(network && payer && transaction),
            linked_by_time: signed.transaction.is_none(),
            subject: Subject {
                payer: said.payer.or(signed.payer),
                resource: signed.resource.clone(),
                transaction: said.transaction.clone().or(signed.transaction.clone()),
                foreign: match signed.foreign.is_empty() {
                    true => said.foreign.clone(),
                    false => signed.foreign.clone(),
                },
                ..self.subject
            },
            issued_at: receipt.issued_at,
            proof: receipt.proof,
            does_not_prove: receipt.does_not_prove,
            ..self
        }
    }
}

/// The report.
pub(super) fn judge(mut entity: SignedEntity, material: &Material, made: Made) -> Result<Report, Error> {
    entity.subject.sha256 = entity.digest(material.coded).map(|(sha256, ..)| sha256);
    let mut checks = Checks::new(material.silent);
    checks.pass("format");
    if let Some(success) = entity.success {
        checks.equal("settlement.success", &true, &success);
    }
    match entity.agrees {
        Some(true) if entity.linked_by_time && !in_window(entity.issued_at, material) => checks.missing(
            "record.consistent",
            "The signed receipt names no transaction, and its time is not that of a payment that was handed in.",
        ),
        Some(true) => checks.pass("record.consistent"),
        Some(false) => checks.fail(
            "record.consistent",
            "The settlement response and the signed receipt in it name another network, payer or transaction.",
        ),
        None => {}
    }
    let signer = signer::judge(&mut checks, &entity, material, made);
    if entity.agrees.is_some() && material.trust.signers.is_empty() {
        // Whoever asks for nobody's word is not left without a verdict because the seller gave it.
        for id in ["signature", "signer.authorized", "record.consistent"] {
            checks.relax(id);
        }
    }
    times(&mut checks, &entity, material);
    let id = match entity.proof {
        Some(_) => "authorization.signature",
        None => "signature",
    };
    authorized(&mut checks, material, id)?;
    let verdict = settled(&mut checks, &mut entity, material)?;

    let mut reading = None;
    match (&entity.subject.sha256, &material.answer) {
        (Some(hash), Some(answer)) => {
            reading = readings::check(&mut checks, hash, answer, material, &entity.readings);
        }
        (Some(_), None) => checks.missing("delivery.hash", "Hand in the exact bytes of the answer."),
        (None, _) => checks.skip("delivery.hash", "This document holds no digest of the answer."),
    }
    entity.subject.delivered = reading.is_some();

    // What was signed says more than what the seller repeats of it; where both speak, they were compared above.
    let subject = &mut entity.subject;
    let authorization = material.authorization.as_ref();
    subject.payer = subject.payer.or(authorization.map(|one| one.from));
    subject.pay_to = subject.pay_to.or(authorization.map(|one| one.to));
    subject.amount = subject.amount.or(authorization.map(|one| one.value));
    subject.compare_expected(&material.expect, &mut checks);
    let paid = verdict.filter(|_| checks.passed("chain.transfer"));
    let nonce = authorization.filter(|_| paid.is_some()).map(|one| one.nonce);
    let facts = checks.told(|| {
        let mut facts = subject.facts();
        for (name, value) in signer {
            facts.set(name, value);
        }
        facts
            .with_some("issuedAt", entity.issued_at.map(Json::number))
            .with_some("validUntil", entity.valid_until.map(Json::number))
            // With network, token and payer it names the one payment, of which a second receipt is a second use.
            .with_some("nonce", nonce.map(|nonce| Json::text(hex::encode(nonce))))
            .with_some("bodyReading", reading.map(|reading| Json::text(reading.as_str())))
    });
    Ok(checks.report(facts, entity.subject, entity.does_not_prove))
}

fn plausible(at: Seconds) -> bool {
    (EARLIEST..LATEST).contains(&at)
}

/// When it was written, as far as it says; whoever allows an age wants to know it.
pub(super) fn written(checks: &mut Checks, at: Option<Seconds>, material: &Material) {
    const ID: &str = "receipt.time";
    let age = material.expect.max_age;
    match (at, material.now) {
        (None, _) if age.is_some() => {
            checks.missing(
                ID,
                "It names no time at which it was written: its age is not known.",
            );
        }
        (None, _) => {}
        (Some(at), _) if !plausible(at) => checks.fail(
            ID,
            "The time that it names is implausible: it may be in another unit than seconds.",
        ),
        (Some(at), Some(now)) if at > now.saturating_add(AHEAD) => {
            checks.fail(ID, "It names a time that has not come.");
        }
        (Some(at), Some(now)) if age.is_some_and(|age| at < now.saturating_sub(age)) => {
            checks.fail(ID, "It is older than you allow.");
        }
        (Some(_), Some(_)) => checks.pass(ID),
        (Some(_), None) if age.is_some() => {
            checks.missing(ID, "The present time was not handed in: its age is not known.");
        }
        (Some(_), None) => checks.skip(ID, "The present time was not handed in."),
    }
}

/// When it was written, and whether it still holds.
fn times(checks: &mut Checks, entity: &SignedEntity, material: &Material) {
    const HOLDS: &str = "offer.expiry";
    written(checks, entity.issued_at, material);
    match (entity.valid_until, material.now) {
        (Some(until), _) if !plausible(until) => checks.fail(
            HOLDS,
            "The time that it names is implausible: it may be in another unit than seconds.",
        ),
        (Some(until), Some(now)) if now > until => checks.fail(HOLDS, "It held until a time that is over."),
        (Some(_), Some(_)) => checks.pass(HOLDS),
        (Some(_), None) => checks.skip(HOLDS, "The present time was not handed in."),
        (None, _) if entity.subject.kind == "offer" => checks.skip(HOLDS, "It names no end."),
        (None, _) => {}
    }
}

/// What it says of the payment, held against what was signed, and both against the chain.
fn settled(
    checks: &mut Checks,
    entity: &mut SignedEntity,
    material: &Material,
) -> Result<Option<Verdict>, Error> {
    let subject = &mut entity.subject;
    let network = match (&material.domain, &material.terms) {
        (Some(domain), _) => Some(material::network_of(domain)?),
        (None, Some(terms)) => Some(terms.network.clone()),
        (None, None) => None,
    };
    let authorization = material.authorization.as_ref();
    let terms = material.terms.as_ref();
    let why = "Hand in the authorization and its domain.";
    compare(
        checks,
        "settlement.network",
        network.as_ref(),
        subject.network.as_ref(),
        why,
    );
    let payer = authorization.map(|one| &one.from);
    compare(checks, "settlement.payer", payer, subject.payer.as_ref(), why);
    let recipient = authorization
        .map(|one| one.to)
        .or(terms.map(|terms| terms.pay_to));
    compare(
        checks,
        "settlement.payTo",
        recipient.as_ref(),
        subject.pay_to.as_ref(),
        why,
    );
    let value = authorization
        .map(|one| one.value)
        .or(terms.map(|terms| terms.amount));
    compare(
        checks,
        "settlement.amount",
        value.as_ref(),
        subject.amount.as_ref(),
        why,
    );
    let asset = material.domain.as_ref().map(|domain| domain.verifying_contract);
    let asset = asset.or(terms.map(|terms| terms.asset)).or(subject.asset);
    let network = network.or(subject.network.clone());
    compare(
        checks,
        "settlement.asset",
        asset.as_ref(),
        subject.asset.as_ref(),
        why,
    );

    let known = authorization
        .zip(network.clone())
        .zip(asset)
        .map(|((authorization, network), asset)| {
            (
                core::slice::from_ref(authorization),
                material.trust.context(network, asset),
            )
        });
    let resolve = known.map(|(authorizations, context)| {
        move |evidence: &[Json]| evidence::resolve(authorizations, &context, evidence)
    });
    let resolve = resolve.as_ref().map(|resolve| resolve as settled::Judge);
    let verdict = settled::check(
        checks,
        resolve,
        &material.evidence,
        Said::of(entity.success != Some(false) && subject.kind != "offer"),
    );
    transaction(
        checks,
        subject,
        entity.proof.is_some(),
        entity.issued_at,
        material,
        verdict.as_ref(),
    );
    subject.network = subject.network.take().or(network);
    subject.asset = subject.asset.or(asset);
    Ok(verdict)
}

/// The transaction that it names. A signed receipt need not name one: then its time must fit the payment's.
fn transaction(
    checks: &mut Checks,
    subject: &Subject,
    signed: bool,
    issued_at: Option<Seconds>,
    material: &Material,
    verdict: Option<&Verdict>,
) {
    const ID: &str = "settlement.transaction";
    if subject.kind == "offer" {
        return checks.skip(ID, "An offer is made before there is a transaction.");
    }
    if !signed || subject.transaction.is_some() {
        return settled::transaction(
            checks,
            subject.network.as_ref(),
            subject.transaction.as_deref(),
            verdict,
        );
    }
    match in_window(issued_at, material) {
        true => checks.skip(
            ID,
            "It names no transaction; that this payment is meant, payer, network and time say.",
        ),
        false => checks.missing(
            ID,
            "It names no transaction, and its time is not that of a payment that was handed in.",
        ),
    }
}

/// Whether this time is that of the payment that was handed in.
fn in_window(issued_at: Option<Seconds>, material: &Material) -> bool {
    issued_at
        .zip(material.authorization.as_ref())
        .is_some_and(|(at, signed)| {
            let until = signed.valid_before.to_u64().unwrap_or(u64::MAX);
            let after = signed.valid_after.to_u64().unwrap_or(u64::MAX);
            at >= after.max(until.saturating_sub(BEFORE)) && at <= until.saturating_add(AHEAD)
        })
}

/// The checks on what was signed, as far as it was handed in; `id` is that of the payer's signature.
pub(super) fn authorized(checks: &mut Checks, material: &Material, id: &'static str) -> Result<(), Error> {
    let (authorization, domain) = (&material.authorization, &material.domain);
    if let (Some(authorization), Some(terms)) = (authorization, &material.terms) {
        let signed = (authorization.to, authorization.value);
        let rail = match domain {
            Some(domain) => (material::network_of(domain)?, domain.verifying_contract),
            None => (terms.network.clone(), terms.asset),
        };
        checks.compare(
            "authorization.terms",
            signed == (terms.pay_to, terms.amount) && rail == (terms.network.clone(), terms.asset),
            || {
                let due = format!(
                    "{} of {} on {} to {}",
                    terms.amount, terms.asset, terms.network, terms.pay_to
                );
                let signed = format!("{} of {} on {} to {}", signed.1, rail.1, rail.0, signed.0);
                (due, signed)
            },
        );
    }
    if let Some(domain) = domain {
        material::domain(checks, domain);
    }
    match (authorization, domain, &material.signature) {
        (Some(authorization), Some(domain), Some(signature)) => {
            let signer = match material.signer {
                Some(signer) => Ok(signer),
                None => authorization.recover(domain, signature),
            };
            material::signed_by(checks, id, &authorization.from, signer);
        }
        (_, _, Some(_)) => checks.missing(id, "Hand in the authorization and its domain."),
        _ => checks.skip(
            id,
            "No signature was handed in; the token checks it before it moves money.",
        ),
    }
    Ok(())
}

/// Compares what the seller says with what is known, when the seller says it.
fn compare<T: PartialEq + core::fmt::Display>(
    checks: &mut Checks,
    id: &'static str,
    known: Option<&T>,
    said: Option<&T>,
    why: &str,
) {
    match (known, said) {
        (Some(known), Some(said)) => checks.equal(id, known, said),
        (None, Some(_)) => checks.missing(id, why),
        (_, None) => checks.skip(id, "The document does not say it."),
    }
}
