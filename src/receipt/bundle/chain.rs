//! What the chain says of a record's authorizations, each by the evidence about its own nonce.

use super::{Attempt, Record};
use crate::authorization::Authorization;
use crate::error::Error;
use crate::evidence::{self, Context, Verdict, VerdictKind};
use crate::json::Json;
use crate::receipt::checks::Checks;
use crate::receipt::material::Material;
use crate::receipt::settled::{self, Said};

/// The checks of the chain, of a split payment over every part: each shows the first that fails. A verdict for each part, in the order
/// of the parts.
pub(super) fn chain(
    record: &Record,
    attempt: Option<&Attempt>,
    material: &Material,
    all: &[Record],
    checks: &mut Checks,
) -> Result<Vec<Option<Verdict>>, Error> {
    let Some(attempt) = attempt else {
        let evidence = matching(None, material, all);
        let verdict = settled::check(checks, None, &evidence, Said::of(record.claims_paid()));
        return Ok(vec![verdict]);
    };
    let (mut each, mut verdicts) = (Vec::new(), Vec::new());
    for slot in attempt.slots() {
        let (siblings, context) = context(record, slot, material)?;
        let resolve = |evidence: &[Json]| evidence::resolve_signed(&siblings, &context, evidence);
        let evidence = matching(Some(slot), material, all);
        let mut one = checks.beside();
        let said = said(record, attempt, slot);
        verdicts.push(settled::check(&mut one, Some(&resolve), &evidence, said));
        each.push(one);
    }
    settled::CHAIN.iter().for_each(|id| checks.worst(id, &each));
    Ok(verdicts)
}

/// What the record says of one part. A payment that moved in part says it of each part for itself.
fn said(record: &Record, attempt: &Attempt, slot: &Attempt) -> Said {
    match (attempt.is_partly_paid(), slot.verdict()) {
        (true, Some("paid")) => Said::Moved,
        (true, Some("dead" | "cancelled")) => Said::Never,
        (true, _) => Said::Nothing,
        (false, _) => Said::of(record.claims_paid()),
    }
}

/// Of a split payment what the chain says of each part: `{payTo, amount, nonce, verdict?, transaction?}`.
pub(super) fn parts(attempt: &Attempt, verdicts: &[Option<Verdict>]) -> Option<Json> {
    let part = |(slot, verdict): (&Attempt, &Option<Verdict>)| {
        let signed = &slot.authorization;
        let verdict = verdict.as_ref();
        let transaction = verdict.and_then(|verdict| verdict.transaction.as_deref());
        Json::object([
            ("payTo", signed.to().to_json()),
            ("amount", signed.value().to_json()),
            ("nonce", Json::text(signed.nonce_text())),
        ])
        .with_some("verdict", verdict.map(|one| Json::text(one.verdict.as_str())))
        .with_some("transaction", transaction.map(Json::text))
    };
    let parts = attempt.slots().zip(verdicts).map(part);
    (!attempt.parts.is_empty()).then(|| Json::Array(parts.collect()))
}

/// The authorizations that compete with this attempt's for one nonce, this one included, and where to look.
pub(super) fn context(
    record: &Record,
    attempt: &Attempt,
    material: &Material,
) -> Result<(Vec<Authorization>, Context), Error> {
    let signed = &attempt.authorization;
    let siblings = record.slots().map(|one| &one.authorization);
    let siblings = siblings.filter(|one| signed.competes_with(one));
    let siblings = siblings.cloned().collect();
    let context = material.trust.context(signed.network()?, signed.asset());
    Ok((siblings, context))
}

/// The caller's evidence about this attempt: the nonce stands in its logs or beside them, or the bundle has but one nonce.
pub(super) fn matching(attempt: Option<&Attempt>, material: &Material, all: &[Record]) -> Vec<Json> {
    let Some(attempt) = attempt else { return Vec::new() };
    let nonce = attempt.authorization.nonce();
    let mut attempts = all.iter().flat_map(Record::slots);
    if attempts.all(|one| one.authorization.nonce() == nonce) {
        return material.evidence.clone();
    }
    material
        .evidence
        .iter()
        .filter(|evidence| settled::names(evidence, &nonce))
        .cloned()
        .collect()
}

/// The authorization whose terms the money followed: of several under one nonce the answered one need not be the paid one.
pub(super) fn moved<'a>(
    answered: &'a Authorization,
    siblings: &'a [Authorization],
    context: &Context,
    evidence: &[Json],
    verdict: Option<&Verdict>,
) -> Option<&'a Authorization> {
    let paid = |verdict: &Verdict| verdict.verdict == VerdictKind::Paid;
    let alone = || evidence::resolve_signed(core::slice::from_ref(answered), context, evidence);
    match verdict.filter(|verdict| paid(verdict)) {
        Some(verdict) if !paid(&alone()) => verdict.index.and_then(|index| siblings.get(index)),
        _ => Some(answered),
    }
}
