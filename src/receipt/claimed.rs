//! The profile of a payer's claim: paid, and no answer. The payer signed it; what it says of the money is checked against the
//! offer, the authorization, and the chain evidence that the caller hands in.

use super::bundle;
use super::checks::Checks;
use super::material::{self, Material, Subject};
use crate::claim::{self, Claim, Signed};
use crate::error::Error;
use crate::evidence::{self, Verdict};
use crate::hex;
use crate::intent;
use crate::json::Json;
use crate::quote;
use crate::x402::payment_required::Offer;
use crate::x402::settlement_response::{self, SettlementResponse};

const DOES_NOT_PROVE: &[&str] = &[
    "That no answer was delivered: that is the claimant's word.",
    "That the answer was wrong, where one came after all.",
    "Who operates the recipient's address.",
    "That the offer came from the seller: an offer is not signed.",
    "When each step happened: the times are the claimant's own clock.",
    "What the claimant read from the chain: only evidence that you hand in counts.",
];

/// The report on a claim; `text` is the document as it came.
pub(super) fn judge(text: &str, json: &Json, material: &Material) -> Result<Json, Error> {
    let (claim, signature) = Claim::from_json(json)?;
    let settlement = claim
        .settlement
        .as_deref()
        .map(settlement_response::parse)
        .transpose()
        .map_err(|error| error.within("settlement"))?;
    let mut checks = Checks::default();
    checks.pass("format");
    material::signed_by(&mut checks, "signature", &claim.payer, claim.recover(&signature));
    bought(&claim, &mut checks)?;
    match &claim.signed {
        Some(signed) => authorized(&claim, signed, &mut checks)?,
        None => lost(&claim, &mut checks)?,
    }
    let word = |found: Option<&'static str>, id: &str, checks: &mut Checks| match found {
        Some(why) => checks.fail(id, why),
        None => checks.pass(id),
    };
    word(claim.contradiction(), "record.consistent", &mut checks);
    word(claim.misstatement(), "claim.statement", &mut checks);
    let verdict = paid(&claim, settlement.as_ref(), material, &mut checks)?;
    missing(&claim, material, &mut checks);
    let subject = describe(&claim, verdict.as_ref());
    subject.compare_expected(&material.expect, &mut checks);
    let facts = subject
        .facts()
        .with("intentId", Json::text(claim.intent_id.as_str()))
        .with("status", Json::text(claim.statement.status.as_str()))
        .with("method", Json::text(claim.request.method.as_str()))
        .with("claimedAt", Json::number(claim.at))
        .with_some("final", claim.provisional.then_some(Json::Bool(false)))
        .with("why", Json::text(claim.statement.why.as_str()))
        .with_some("reason", claim.statement.reason.as_deref().map(Json::text))
        .with("statement", Json::text(claim::STATEMENT))
        .with("keccak256", Json::text(hex::encode(claim::file_hash(text))));
    Ok(checks.report(facts, DOES_NOT_PROVE))
}

/// The request and the offer.
fn bought(claim: &Claim, checks: &mut Checks) -> Result<(), Error> {
    let fingerprint = claim.request.fingerprint()?;
    checks.equal(
        "quote.request",
        &hex::encode(fingerprint),
        &hex::encode(claim.fingerprint),
    );
    let hash = quote::quote_hash(&claim.requirements, &fingerprint)?;
    checks.equal("quote.hash", &hex::encode(hash), &hex::encode(claim.quote_hash));
    let offer = Offer {
        requirements: claim.requirements.clone(),
    };
    // A claim is about an EIP-3009 authorization, and so is its offer.
    match offer
        .terms()
        .and_then(|terms| terms.domain().map(|_| terms.clone()))
    {
        Ok(terms) => checks.equal_text(
            "authorization.terms",
            (terms.pay_to, terms.amount) == (claim.pay_to, claim.amount)
                && (terms.network.clone(), terms.asset) == (claim.network.clone(), claim.asset),
            format!(
                "{} of {} on {} to {}",
                terms.amount, terms.asset, terms.network, terms.pay_to
            ),
            format!(
                "{} of {} on {} to {}",
                claim.amount, claim.asset, claim.network, claim.pay_to
            ),
        ),
        Err(error) => checks.fail("authorization.terms", error.code.meaning()),
    }
    Ok(())
}

/// The authorization that paid.
fn authorized(claim: &Claim, signed: &Signed, checks: &mut Checks) -> Result<(), Error> {
    material::domain(checks, &signed.domain);
    let digest = signed.authorization.digest(&signed.domain)?.digest;
    checks.equal(
        "authorization.digest",
        &hex::encode(digest),
        &hex::encode(signed.digest),
    );
    nonce(claim, checks)?;
    material::signed_by(
        checks,
        "authorization.signature",
        &claim.payer,
        signed.authorization.recover(&signed.domain, &signed.signature),
    );
    Ok(())
}

/// The payer's journal was lost: the nonce alone says which payment it was.
fn lost(claim: &Claim, checks: &mut Checks) -> Result<(), Error> {
    const WHY: &str = "The payer's journal was lost; the chain alone told of the payment.";
    for id in [
        "authorization.domain",
        "authorization.digest",
        "authorization.signature",
    ] {
        checks.skip(id, WHY);
    }
    nonce(claim, checks)
}

fn nonce(claim: &Claim, checks: &mut Checks) -> Result<(), Error> {
    const ID: &str = "authorization.nonce";
    let Claim {
        payer,
        network,
        asset,
        ..
    } = claim;
    if claim.keyed {
        checks.skip(
            ID,
            "It is keyed with the payer's secret, which is not in the claim.",
        );
        return Ok(());
    }
    let (id, generation) = (&claim.intent_id, claim.generation);
    let expected = intent::authorization_nonce(id, payer, network, asset, generation, 0, None)?;
    checks.equal(ID, &hex::encode(expected), &hex::encode(claim.nonce));
    Ok(())
}

/// That the money moved: what the seller said, and what the caller's evidence says.
fn paid(
    claim: &Claim,
    settlement: Option<&SettlementResponse>,
    material: &Material,
    checks: &mut Checks,
) -> Result<Option<Verdict>, Error> {
    let slot = [claim.slot()];
    let context = material.trust.context(claim.network.clone(), claim.asset);
    let resolve = |evidence: &[Json]| evidence::resolve(&slot, &context, evidence);
    let verdict = material::chain(checks, Some(&resolve), &material.evidence, true);
    let signed = claim.signed.as_ref().map(|signed| {
        let (one, network) = (&signed.authorization, material::network_of(&signed.domain)?);
        Ok::<_, Error>((network, one.from, one.value))
    });
    bundle::settled(signed.transpose()?, settlement, verdict.as_ref(), checks);
    if settlement.is_none() {
        // The payer itself names the transaction.
        material::transaction(
            checks,
            Some(&claim.network),
            claim.transaction.as_deref(),
            verdict.as_ref(),
        );
    }
    Ok(verdict)
}

/// Which answer is missing, and whether it is the one handed in.
fn missing(claim: &Claim, material: &Material, checks: &mut Checks) {
    match (&claim.response_sha256, material.body) {
        (Some(hash), Some(body)) => material::delivery(checks, hash, None, body, material.coded),
        (Some(_), None) => checks.skip(
            "delivery.hash",
            "The claim names the digest of the answer that it misses; hand in an answer to compare.",
        ),
        (None, _) => checks.skip(
            "delivery.hash",
            "The payer saw no answer and knows no digest of it; what the seller sent can't be compared.",
        ),
    }
}

fn describe(claim: &Claim, verdict: Option<&Verdict>) -> Subject {
    let proven = verdict.and_then(|verdict| verdict.transaction.clone());
    Subject {
        kind: "claim",
        network: Some(claim.network.clone()),
        asset: Some(claim.asset),
        payer: Some(claim.payer),
        pay_to: Some(claim.pay_to),
        amount: Some(claim.amount),
        resource: Some(claim.request.url.clone()),
        transaction: proven.or_else(|| claim.transaction.clone()),
        sha256: claim.response_sha256,
        delivered: false,
    }
}

/// What a host should read from the chain: the one payment.
pub(super) fn targets(json: &Json) -> Result<Json, Error> {
    let (claim, _) = Claim::from_json(json)?;
    let number = claim.signed.as_ref().map_or(0, |signed| signed.attempt);
    let target = Json::object([
        ("network", claim.network.to_json()),
        ("asset", claim.asset.to_json()),
        ("payer", claim.payer.to_json()),
        ("nonce", Json::text(hex::encode(claim.nonce))),
        ("attemptId", Json::text(format!("{}/{number}", claim.intent_id))),
    ])
    .with_some("transaction", claim.transaction.as_deref().map(Json::text));
    Ok(Json::Array(vec![target]))
}
