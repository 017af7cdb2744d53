//! The profile of a `Payment-Receipt`. It is unsigned: alone it says only what some service claims. What it can be brought to stands
//! in `facts.standing`, each step on the one before: `parsed`, `consistent_with_challenge`, `reference_found_on_chain`,
//! `amount_recipient_currency_match`, `bound_to_challenge`. The last rests on the nonce, which the challenge dictates.

use super::checks::{Checks, Report};
use super::entity;
use super::material::{Material, Subject};
use super::settled::{self, Said};
use crate::error::Error;
use crate::evidence::{self, VerdictKind};
use crate::json::Json;
use crate::mpp::charge::Charge;
use crate::mpp::receipt::Receipt;

const DOES_NOT_PROVE: &[&str] = &[
    "That the answer was correct, complete or useful.",
    "Who operates the recipient's address.",
    "That the seller wrote this document: it carries no signature of the seller.",
    "That the challenge came from the seller: its id is bound by a secret that only the seller has.",
    "That the payer received the answer.",
];

/// The report on a receipt.
pub(super) fn judge(receipt: &Receipt, material: &Material) -> Result<Report, Error> {
    let mut checks = Checks::new(material.silent);
    checks.pass("format");
    let challenge = material.challenge.as_ref();
    match challenge.map(|challenge| receipt.contradicts(challenge)) {
        Some(None) => checks.pass("receipt.challenge"),
        Some(Some(why)) => checks.fail("receipt.challenge", why),
        None => checks.missing("receipt.challenge", "Hand in the challenge that was paid."),
    }
    entity::written(&mut checks, Some(receipt.timestamp), material);
    // The terms are the challenge's; the request's own offer is of another protocol.
    let charge = challenge.map(Charge::terms);
    let terms = charge.and_then(Result::ok);
    let material = &Material {
        terms: terms.clone(),
        ..material.clone()
    };
    entity::authorized(&mut checks, material, "signature")?;
    let signed = material.authorization.as_ref();
    match (signed, challenge) {
        (Some(signed), Some(challenge)) => {
            checks.equal_bytes("authorization.nonce", &challenge.nonce(), &signed.nonce);
        }
        _ => checks.missing(
            "authorization.nonce",
            "Hand in the challenge and the authorization that paid it.",
        ),
    }
    let known = signed.zip(terms.as_ref()).map(|(signed, terms)| {
        let context = material.trust.context(terms.network.clone(), terms.asset);
        move |evidence: &[Json]| evidence::resolve(core::slice::from_ref(signed), &context, evidence)
    });
    let resolve = known.as_ref().map(|resolve| resolve as settled::Judge);
    let verdict = settled::check(&mut checks, resolve, &material.evidence, Said::Moved);
    let transaction = receipt.transaction();
    let network = terms.as_ref().map(|terms| &terms.network);
    settled::transaction(&mut checks, network, transaction.as_deref(), verdict.as_ref());
    checks.skip("delivery.hash", "This document holds no digest of the answer.");

    let paid = verdict.as_ref().map(|verdict| verdict.verdict);
    let found = checks.passed("receipt.challenge") && checks.passed("settlement.transaction");
    let standing = match paid {
        Some(VerdictKind::Paid) if found && checks.passed("authorization.nonce") => "bound_to_challenge",
        Some(VerdictKind::Paid) if found => "amount_recipient_currency_match",
        _ if found => "reference_found_on_chain",
        _ if checks.passed("receipt.challenge") => "consistent_with_challenge",
        _ => "parsed",
    };
    let subject = Subject {
        kind: "payment_receipt",
        network: network.cloned(),
        asset: terms.as_ref().map(|terms| terms.asset),
        payer: signed.map(|signed| signed.from),
        pay_to: terms.as_ref().map(|terms| terms.pay_to),
        amount: terms.as_ref().map(|terms| terms.amount),
        transaction,
        ..Subject::default()
    };
    subject.compare_expected(&material.expect, &mut checks);
    let facts = checks.told(|| {
        subject
            .facts()
            .with("paymentMethod", Json::text(receipt.method.as_str()))
            .with("settledAt", Json::number(receipt.timestamp))
            .with("standing", Json::text(standing))
    });
    Ok(checks.report(facts, subject, DOES_NOT_PROVE))
}
