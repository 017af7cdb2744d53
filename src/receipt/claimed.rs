//! The profile of a payer's claim: paid, and no answer. The payer signed it; what it says of the money is checked against the
//! offer, the authorization, and the chain evidence that the caller hands in.

use super::bundle;
use super::checks::{Checks, Report};
use super::entity;
use super::material::{self, Material, Subject};
use super::settled::{self, Said};
use crate::amount::Amount;
use crate::authorization::{Authorization, Method};
use crate::claim::{self, Claim, Signed, Transfer};
use crate::error::Error;
use crate::evidence::{self, Verdict, VerdictKind};
use crate::hex;
use crate::intent;
use crate::json::Json;
use crate::mpp::charge;
use crate::mpp::receipt::{self, Receipt};
use crate::quote;
use crate::x402::payment_required::{Share, Signing, Terms};
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
pub(super) fn judge(text: &str, json: &Json, material: &Material) -> Result<Report, Error> {
    let (claim, signature) = Claim::from_json(json)?;
    let settlement = claim
        .settlement
        .as_deref()
        .map(settlement_response::parse)
        .transpose()
        .map_err(|error| error.within("settlement"))?;
    let receipt = claim
        .receipt
        .as_deref()
        .map(receipt::parse)
        .transpose()
        .map_err(|error| error.within("receipt"))?;
    let mut checks = Checks::new(material.silent);
    checks.pass("format");
    material::signed_by(&mut checks, "signature", &claim.payer, claim.recover(&signature));
    bought(&claim, &mut checks)?;
    authorized(&claim, &mut checks)?;
    let word = |found: Option<&'static str>, id: &'static str, checks: &mut Checks| match found {
        Some(why) => checks.fail(id, why),
        None => checks.pass(id),
    };
    word(claim.contradiction(), "record.consistent", &mut checks);
    word(claim.misstatement(), "claim.statement", &mut checks);
    let verdict = paid(
        &claim,
        settlement.as_ref(),
        receipt.as_ref(),
        material,
        &mut checks,
    )?;
    missing(&claim, material, &mut checks);
    if material.expect.max_age.is_some() {
        entity::written(&mut checks, Some(claim.at), material);
    }
    let subject = describe(&claim, verdict.as_ref());
    subject.compare_expected(&material.expect, &mut checks);
    let facts = checks.told(|| {
        subject
            .facts()
            .with("intentId", Json::text(claim.intent_id.as_str()))
            .with("status", Json::text(claim.statement.status.as_str()))
            .with("method", Json::text(claim.request.method.as_str()))
            .with("claimedAt", Json::number(claim.at))
            .with_some("final", claim.provisional.then_some(Json::Bool(false)))
            .with("why", Json::text(claim.statement.why.as_str()))
            .with_some("reason", claim.statement.reason.as_deref().map(Json::text))
            .with("statement", Json::text(claim::STATEMENT))
            .with("keccak256", Json::text(hex::encode(claim::file_hash(text))))
    });
    Ok(checks.report(facts, subject, DOES_NOT_PROVE))
}

/// The request and the offer.
fn bought(claim: &Claim, checks: &mut Checks) -> Result<(), Error> {
    let fingerprint = claim.request.fingerprint()?;
    checks.equal_bytes("quote.request", &fingerprint, &claim.fingerprint);
    let hash = quote::quote_hash(&claim.requirements, &fingerprint)?;
    checks.equal_bytes("quote.hash", &hash, &claim.quote_hash);
    match claim.terms() {
        Ok(terms) => as_offered(claim, &terms, checks),
        Err(error) => checks.fail("authorization.terms", error.code.meaning()),
    }
    Ok(())
}

/// Every transfer is a share of the offer, and every share a transfer.
fn as_offered(claim: &Claim, terms: &Terms, checks: &mut Checks) {
    const ID: &str = "authorization.terms";
    let shares = due(terms);
    let transfers = claim.parts.len() + 1;
    if shares.len() != transfers {
        return checks.equal(ID, &shares.len(), &transfers);
    }
    if terms.signing.method() != claim.method {
        return checks.equal(ID, &terms.signing.method().as_str(), &claim.method.as_str());
    }
    let each: Vec<_> = claim
        .transfers()
        .zip(&shares)
        .map(|(transfer, share)| {
            let mut one = checks.beside();
            one.compare(ID, is_share(claim, terms, transfer, share), || {
                let due = format!(
                    "{} of {} on {} to {}",
                    share.amount, terms.asset, terms.network, share.to
                );
                let claimed = format!(
                    "{} of {} on {} to {}",
                    transfer.amount, claim.asset, claim.network, transfer.pay_to
                );
                (due, claimed)
            });
            one
        })
        .collect();
    checks.worst(ID, &each);
}

/// The shares of the offer; one transaction pays them all.
fn due(terms: &Terms) -> Vec<Share> {
    match terms.signing {
        Signing::Tempo(_) => vec![Share {
            to: terms.pay_to,
            amount: terms.amount,
        }],
        _ => terms.shares.clone(),
    }
}

/// What was signed is the share; with scheme `upto` no more than it moved, and the facilitator is the offer's.
fn is_share(claim: &Claim, terms: &Terms, transfer: &Transfer, share: &Share) -> bool {
    let upto = matches!(terms.signing, Signing::Upto(_));
    let signed = transfer.signed.as_ref().map(|signed| &signed.authorization);
    let whole = signed.is_none_or(|signed| signed.value() == share.amount);
    let as_dictated = match signed {
        Some(Authorization::Permit2(permit, _)) => match terms.signing {
            Signing::Upto(facilitator) => permit.facilitator == Some(facilitator),
            _ => permit.facilitator.is_none(),
        },
        Some(Authorization::Tempo(order)) => {
            matches!(&terms.signing, Signing::Tempo(due) if order.pays(due))
        }
        _ => true,
    };
    let amount = match upto {
        true => transfer.amount <= share.amount,
        false => transfer.amount == share.amount,
    };
    (transfer.pay_to, &terms.network, terms.asset) == (share.to, &claim.network, claim.asset)
        && amount
        && whole
        && as_dictated
}

/// The authorizations that paid, each check over all of them.
fn authorized(claim: &Claim, checks: &mut Checks) -> Result<(), Error> {
    const IDS: [&str; 4] = [
        "authorization.domain",
        "authorization.digest",
        "authorization.nonce",
        "authorization.signature",
    ];
    let mut each = Vec::new();
    for (index, transfer) in (0..).zip(claim.transfers()) {
        let mut one = checks.beside();
        match &transfer.signed {
            Some(signed) => of_signed(claim, signed, &mut one)?,
            None => lost(&mut one),
        }
        nonce(claim, transfer, index, &mut one)?;
        each.push(one);
    }
    IDS.iter().for_each(|id| checks.worst(id, &each));
    Ok(())
}

fn of_signed(claim: &Claim, signed: &Signed, checks: &mut Checks) -> Result<(), Error> {
    match &signed.authorization {
        Authorization::Eip3009(_, domain) => material::domain(checks, domain),
        // It was read as Permit2's own, which is the same for every token.
        Authorization::Permit2(..) => checks.pass("authorization.domain"),
        Authorization::Tempo(_) => {
            checks.skip("authorization.domain", "A transaction is signed under no domain.")
        }
    }
    let digest = signed.authorization.digest_in(&signed.signature)?;
    checks.equal_bytes("authorization.digest", &digest, &signed.digest);
    let signer = signed.authorization.recover(&signed.signature);
    material::signed_by(checks, "authorization.signature", &claim.payer, signer);
    Ok(())
}

/// The payer's journal was lost: the nonce alone says which payment it was.
fn lost(checks: &mut Checks) {
    const WHY: &str = "The payer's journal was lost; the chain alone told of the payment.";
    for id in [
        "authorization.domain",
        "authorization.digest",
        "authorization.signature",
    ] {
        checks.skip(id, WHY);
    }
}

fn nonce(claim: &Claim, transfer: &Transfer, index: u64, checks: &mut Checks) -> Result<(), Error> {
    const ID: &str = "authorization.nonce";
    let Claim {
        payer,
        network,
        asset,
        ..
    } = claim;
    let (id, generation) = (&claim.intent_id, claim.generation);
    let expected = match (claim.challenge()?, claim.method) {
        (Some(challenge), Method::Tempo) => charge::memo(&challenge, None),
        (Some(challenge), _) => challenge.nonce(),
        (None, _) if claim.keyed => {
            checks.skip(
                ID,
                "It is keyed with the payer's secret, which is not in the claim.",
            );
            return Ok(());
        }
        (None, Method::Eip3009) => {
            intent::authorization_nonce(id, payer, network, asset, generation, index, None)?
        }
        (None, Method::Tempo) => {
            checks.fail(ID, "Only a challenge is paid so.");
            return Ok(());
        }
        (None, Method::Permit2) => intent::permit2_nonce(id, payer, network, asset, generation, index, None)?,
    };
    checks.equal_bytes(ID, &expected, &transfer.nonce);
    Ok(())
}

/// That the money moved: what the seller said, and what the caller's evidence says. The verdict is that of the first transfer.
fn paid(
    claim: &Claim,
    settlement: Option<&SettlementResponse>,
    receipt: Option<&Receipt>,
    material: &Material,
    checks: &mut Checks,
) -> Result<Option<Verdict>, Error> {
    let context = material.trust.context(claim.network.clone(), claim.asset);
    let (mut each, mut verdicts) = (Vec::new(), Vec::new());
    for transfer in claim.transfers() {
        let slot = [claim.authorization(transfer)];
        let resolve = |evidence: &[Json]| evidence::resolve_signed(&slot, &context, evidence);
        let evidence = evidence_for(claim, transfer, material);
        let mut one = checks.beside();
        let verdict = settled::check(&mut one, Some(&resolve), &evidence, Said::Moved);
        moved(transfer, verdict.as_ref(), &mut one);
        verdicts.push(verdict);
        each.push(one);
    }
    let ids = settled::CHAIN.iter().chain([&"claim.amount"]);
    ids.for_each(|id| checks.worst(id, &each));
    let verdict = verdicts.into_iter().next().flatten();
    let named = claim.first.transaction.as_deref();
    let signed = claim
        .first
        .signed
        .as_ref()
        .map(|_| (claim.network.clone(), claim.payer, claim.total()));
    match (receipt, claim.challenge()?) {
        (Some(receipt), Some(challenge)) => {
            bundle::receipted(receipt, Some(&challenge), verdict.as_ref(), checks);
        }
        (Some(receipt), None) => bundle::receipted(receipt, None, verdict.as_ref(), checks),
        (None, _) => {
            bundle::settled(signed, settlement, verdict.as_ref(), checks);
            if settlement.is_none() {
                // The payer itself names the transaction.
                settled::transaction(checks, Some(&claim.network), named, verdict.as_ref());
            }
        }
    }
    Ok(verdict)
}

/// Of several transfers each has its own.
fn evidence_for(claim: &Claim, transfer: &Transfer, material: &Material) -> Vec<Json> {
    let about = |one: &&Json| claim.parts.is_empty() || settled::names(one, &transfer.nonce);
    material.evidence.iter().filter(about).cloned().collect()
}

/// Where the chain says how much of what was signed for has moved, that is what is claimed.
fn moved(transfer: &Transfer, verdict: Option<&Verdict>, checks: &mut Checks) {
    let shown = verdict.filter(|one| one.verdict == VerdictKind::Paid);
    if let Some(amount) = shown.and_then(|one| one.amount) {
        checks.equal::<Amount>("claim.amount", &amount, &transfer.amount);
    }
}

/// Which answer is missing, and whether it is the one handed in.
fn missing(claim: &Claim, material: &Material, checks: &mut Checks) {
    match (&claim.response_sha256, material.given()) {
        (Some(hash), Some(found)) => material::delivery(checks, hash, None, found),
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
        pay_to: Some(claim.first.pay_to),
        amount: Some(claim.total()),
        resource: Some(claim.request.url.clone()),
        transaction: proven.or_else(|| claim.first.transaction.clone()),
        sha256: claim.response_sha256,
        intent: Some(claim.intent_id.clone()),
        ..Subject::default()
    }
}

/// What a host should read from the chain: every transfer of the payment.
pub(super) fn targets(json: &Json) -> Result<Json, Error> {
    let (claim, _) = Claim::from_json(json)?;
    let number = claim.first.signed.as_ref().map_or(0, |signed| signed.attempt);
    let attempt_id = format!("{}/{number}", claim.intent_id);
    let target = |transfer: &Transfer| {
        let transaction = transfer.transaction.as_deref().map(Json::text);
        let target = claim.authorization(transfer).target()?;
        Ok(target
            .with("attemptId", Json::text(attempt_id.as_str()))
            .with_some("transaction", transaction))
    };
    let targets = claim.transfers().map(target).collect::<Result<_, Error>>();
    Ok(Json::Array(targets?))
}
