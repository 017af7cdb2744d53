//! The profile of a counterfoil bundle: the payer's own records, checked against themselves, the signatures, the seller's
//! answers, and the chain evidence that the caller hands in.

mod chain;
mod signed;

use super::checks::{Checks, Report};
use super::entity;
use super::material::{self, Answer, Material, Subject};
use super::record::{Attempt, Record};
use super::settled;
use crate::address::Address;
use crate::amount::Amount;
use crate::authorization::{Authorization, Method};
use crate::base64;
use crate::error::{Code, Error};
use crate::evidence::{Verdict, VerdictKind};
use crate::intent;
use crate::json::Json;
use crate::mpp::challenge::Challenge;
use crate::mpp::receipt::Receipt;
use crate::network::Network;
use crate::quote;
use crate::x402::settlement_response::{self, SettlementResponse};

/// The last of it is about a payment on Tempo alone.
static DOES_NOT_PROVE: [&str; 7] = [
    "That the answer was correct, complete or useful.",
    "Who operates the recipient's address.",
    "That the seller sent these bytes: the payer recorded the answer, the seller did not sign it.",
    "That the offer came from the seller: an offer is not signed.",
    "When each step happened: the times are the payer's own clock.",
    "That the payer kept no other journal: purchases outside this bundle are not seen.",
    "That a Tempo network settles as its published rules say: they were followed, and run on a local node alone.",
];

/// The report on a bundle.
pub(super) fn judge(bundle: &Json, material: &Material) -> Result<Report, Error> {
    let (payer, records) = super::record::bundle(bundle)?;
    let mut checks = Checks::new(material.silent);
    checks.pass("format");
    let several = records.len() > 1;
    let mut purchases = Vec::new();
    for (index, record) in records.iter().enumerate() {
        if several {
            checks.prefix = format!("purchase[{index}].");
        }
        let within = |error: Error| error.within(&format!("intents[{index}]"));
        let foreign = (record.principal != payer).then_some("The bundle is another payer's.");
        purchases.push(purchase(record, foreign, material, &records, &mut checks).map_err(within)?);
    }
    if records.is_empty() {
        checks.missing("chain.source", "The bundle holds no purchase.");
    }
    let count = Json::number(purchases.len() as u64);
    let (subject, facts) = match purchases.pop() {
        Some((subject, facts)) if purchases.is_empty() => (subject, facts.with("purchases", count)),
        last => {
            purchases.extend(last);
            let subject = Subject {
                kind: "bundle",
                payer: Some(payer),
                ..Subject::default()
            };
            let items = purchases.into_iter().map(|(_, facts)| facts).collect();
            let facts = Json::object([
                ("kind", Json::text("bundle")),
                ("payer", payer.to_json()),
                ("purchases", count),
            ]);
            (subject, facts.with("items", Json::Array(items)))
        }
    };
    let mut slots = records.iter().flat_map(Record::slots);
    let tempo = slots.any(|one| one.authorization.method() == Method::Tempo);
    let elsewhere = DOES_NOT_PROVE.split_last().filter(|_| !tempo);
    let limits = elsewhere.map_or(&DOES_NOT_PROVE[..], |(_, plain)| plain);
    Ok(checks.report(Some(facts), subject, limits))
}

fn purchase(
    record: &Record,
    foreign: Option<&'static str>,
    material: &Material,
    all: &[Record],
    checks: &mut Checks,
) -> Result<(Subject, Json), Error> {
    identity(record, checks)?;
    signed::signed(record, checks)?;
    let settlement = record
        .attempts
        .iter()
        .map(|attempt| attempt.settlement.map(settlement_response::parse).transpose())
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| error.within("settlement"))?;
    let at = record.paying();
    let attempt = at.and_then(|at| record.attempts.get(at));
    let settlement = at.and_then(|at| settlement.get(at)).and_then(Option::as_ref);
    match foreign.or_else(|| record.contradiction(settlement)) {
        Some(why) => checks.fail("record.consistent", why),
        None => checks.pass("record.consistent"),
    }

    let evidence = chain::matching(attempt, material, all);
    let subject = attempt
        .map(|attempt| chain::context(record, attempt, material))
        .transpose()?;
    let subject = subject
        .as_ref()
        .map(|(siblings, context)| (siblings.as_slice(), context.clone()));
    let verdicts = chain::chain(record, attempt, material, all, checks)?;
    let parts = attempt.and_then(|attempt| chain::parts(attempt, &verdicts));
    let verdict = verdicts.into_iter().next().flatten();
    let amount = amount(attempt, settlement, verdict.as_ref());
    let signed = attempt
        .zip(amount)
        .map(|(attempt, amount)| (&attempt.authorization, amount));
    let signed = signed
        .map(|(signed, value)| Ok::<_, Error>((signed.network()?, signed.from(), value)))
        .transpose()?;
    match attempt.and_then(|attempt| attempt.receipt.as_ref().zip(record.quote_of(attempt))) {
        Some((receipt, quote)) => {
            receipted(receipt, quote.offered.challenge(), verdict.as_ref(), checks);
        }
        None => settled(signed, settlement, verdict.as_ref(), checks),
    }
    let delivered = delivered(record, material, all, checks)?;

    let moved = attempt.zip(subject).map(|(attempt, (siblings, context))| {
        chain::moved(
            &attempt.authorization,
            siblings,
            &context,
            &evidence,
            verdict.as_ref(),
        )
    });
    let subject = describe(
        record,
        attempt,
        moved.flatten(),
        settlement,
        verdict.as_ref(),
        delivered,
    )?;
    // What a payer's record says of times is its own clock, which nobody signed.
    entity::written(checks, None, material);
    subject.compare_expected(&material.expect, checks);
    let seen = verdict.filter(|verdict| verdict.verdict == VerdictKind::Paid);
    let provisional = match seen {
        Some(verdict) => verdict.is_provisional(),
        None => attempt.is_some_and(|attempt| attempt.state == "paid" && attempt.provisional),
    };
    let facts = checks.told(|| {
        subject
            .facts()
            .with_some("final", provisional.then_some(Json::Bool(false)))
            .with("intentId", Json::text(record.intent_id))
            .with("status", Json::text(record.status))
            .with("method", Json::text(record.request.method.as_str()))
            .with("attempts", Json::number(record.attempts.len() as u64))
            .with_some("parts", parts)
    });
    Ok((subject, facts.unwrap_or(Json::Null)))
}

/// What the attempt moves: what was signed for, all parts together or those that moved. With scheme `upto` what the chain shows, else what the seller
/// says, as long as that is no more than was signed for.
fn amount(
    attempt: Option<&Attempt>,
    settlement: Option<&SettlementResponse>,
    verdict: Option<&Verdict>,
) -> Option<Amount> {
    let signed = attempt?.value();
    let said = || {
        settlement
            .and_then(|said| said.amount)
            .filter(|said| *said <= signed)
    };
    match attempt?.authorization.is_upto() {
        true => verdict
            .and_then(|verdict| verdict.amount)
            .or_else(said)
            .or(Some(signed)),
        false => Some(signed),
    }
}

/// Who wants what: the intent's id, the request, the offers.
fn identity(record: &Record, checks: &mut Checks) -> Result<(), Error> {
    let expected = intent::purchase_intent_id(
        &record.principal,
        record.id,
        &record.fingerprint,
        record.occurrence,
        record.scope,
        record.parent,
    )?;
    checks.equal("intent.id", &expected.as_str(), &record.intent_id);
    let fingerprint = record.request.fingerprint()?;
    checks.equal_bytes("quote.request", &fingerprint, &record.fingerprint);
    if record.quotes.is_empty() {
        checks.missing("quote.hash", "The record holds no offer.");
    }
    let mut hashes = Vec::new();
    for quote in &record.quotes {
        hashes.push((quote::quote_hash(quote.requirements, &fingerprint)?, quote.hash));
    }
    let changed = hashes.iter().find(|(computed, recorded)| computed != recorded);
    if let Some((computed, recorded)) = changed.or(hashes.last()) {
        checks.equal_bytes("quote.hash", computed, recorded);
    }
    Ok(())
}

/// What a receipt of the Payment scheme says of the authorization that counts.
pub(super) fn receipted(
    receipt: &Receipt,
    challenge: Option<&Challenge>,
    verdict: Option<&Verdict>,
    checks: &mut Checks,
) {
    const ID: &str = "receipt.challenge";
    match challenge.map(|challenge| receipt.contradicts(challenge)) {
        Some(None) => checks.pass(ID),
        Some(Some(why)) => checks.fail(ID, why),
        None => checks.fail(ID, "What was paid is no challenge."),
    }
    settled::transaction(checks, None, receipt.transaction().as_deref(), verdict);
}

/// What the seller says of the authorization that counts.
pub(super) fn settled(
    signed: Option<(Network, Address, Amount)>,
    settlement: Option<&SettlementResponse>,
    verdict: Option<&Verdict>,
    checks: &mut Checks,
) {
    let (Some((network, from, value)), Some(settlement)) = (signed, settlement) else {
        return checks.skip(
            "settlement.success",
            "The record holds no settlement response; the chain decides.",
        );
    };
    checks.equal("settlement.success", &true, &settlement.success);
    checks.equal("settlement.network", &network, &settlement.network);
    match &settlement.payer {
        Some(payer) => checks.equal("settlement.payer", &from, payer),
        None if settlement.json.get("payer").is_some() => {
            checks.fail(
                "settlement.payer",
                "What the seller names as the payer is no address.",
            );
        }
        None => checks.skip("settlement.payer", "The settlement response names no payer."),
    }
    if let Some(amount) = &settlement.amount {
        checks.equal("settlement.amount", &value, amount);
    }
    settled::transaction(
        checks,
        Some(&settlement.network),
        Some(&settlement.transaction),
        verdict,
    );
}

/// What arrived. False when nothing did, or not these bytes.
fn delivered(
    record: &Record,
    material: &Material,
    all: &[Record],
    checks: &mut Checks,
) -> Result<bool, Error> {
    let Some(delivery) = &record.delivery else {
        checks.skip("delivery.hash", "The record says that no answer was received.");
        return Ok(false);
    };
    let stored = delivery
        .body
        .map(base64::decode_header)
        .transpose()
        .map_err(|e| e.within("delivery.body"))?;
    let stored = stored
        .as_deref()
        .map(|body| (Answer::of(body), false, Some(body)));
    // Bytes handed in are about the one purchase that was delivered; among several they would be about none.
    let only = all.iter().filter(|record| record.delivery.is_some()).count() == 1;
    let given = material.given().filter(|_| only);
    // Where both are there, the one that differs is shown.
    let differs = |(answer, coded, _): &(Answer, bool, _)| !coded && answer.sha256 != delivery.sha256;
    match stored
        .filter(differs)
        .or(given.filter(|(_, coded, _)| !coded))
        .or(stored)
        .or(given)
    {
        Some(found) => {
            material::delivery(checks, &delivery.sha256, Some(delivery.length), found);
        }
        None => {
            checks.missing(
                "delivery.hash",
                "The record keeps the digest only; hand in the exact bytes of the answer.",
            );
        }
    }
    Ok(!checks.failed("delivery.hash"))
}

fn describe(
    record: &Record,
    attempt: Option<&Attempt>,
    moved: Option<&Authorization>,
    settlement: Option<&SettlementResponse>,
    verdict: Option<&Verdict>,
    delivered: bool,
) -> Result<Subject, Error> {
    let proven = verdict.and_then(|verdict| verdict.transaction.clone());
    let said = settlement.and_then(SettlementResponse::transaction_hash);
    let said = said.or_else(|| attempt?.receipt.as_ref()?.transaction());
    Ok(Subject {
        kind: "bundle",
        network: attempt
            .map(|attempt| attempt.authorization.network())
            .transpose()?,
        asset: attempt.map(|attempt| attempt.authorization.asset()),
        payer: Some(record.principal),
        pay_to: moved.map(Authorization::to),
        amount: moved.map(|moved| match attempt {
            Some(attempt) if moved.is_upto() || !attempt.parts.is_empty() => {
                amount(Some(attempt), settlement, verdict).unwrap_or(moved.value())
            }
            _ => moved.value(),
        }),
        resource: Some(record.request.url.clone()),
        transaction: proven
            .or(said)
            .or(attempt.and_then(|attempt| attempt.transaction.map(str::to_owned))),
        sha256: record.delivery.as_ref().map(|delivery| delivery.sha256),
        intent: Some(record.intent_id.to_owned()),
        delivered,
        ..Subject::default()
    })
}

/// What a host should read from the chain: one entry for each nonce of each record.
pub(super) fn targets(bundle: &Json) -> Result<Json, Error> {
    let (_, records) = super::record::bundle(bundle)?;
    let mut seen = Vec::new();
    let mut targets = Vec::new();
    for attempt in records.iter().flat_map(Record::slots) {
        let signed = &attempt.authorization;
        let target = signed.target()?;
        if attempt.signature.is_none() || seen.contains(&target) {
            continue;
        }
        let transaction = match attempt.transaction {
            Some(transaction) => Some(transaction.to_owned()),
            None => attempt
                .settlement
                .and_then(|said| settlement_response::parse(said).ok()?.transaction_hash())
                .or_else(|| attempt.receipt.as_ref()?.transaction()),
        };
        targets.push(
            target
                .clone()
                .with("attemptId", Json::text(attempt.id))
                .with_some("transaction", transaction.map(Json::String)),
        );
        seen.push(target);
    }
    Ok(Json::Array(targets))
}

/// The error of a bundle that is none.
pub(super) fn invalid(field: &str) -> Error {
    Error::new(Code::ReceiptInvalid, field)
}
