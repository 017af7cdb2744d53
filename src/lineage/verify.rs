//! What one bundle or journal proves about the lineage in it, as a list of named checks.

use std::collections::BTreeMap;

use super::chain::{Chain, Fault};
use super::cost::{self, Costs, Slot, Slots};
use super::family::{list, Family, Member};
use super::{Source, Sources};
use crate::address::Address;
use crate::amount::Amount;
use crate::approval::{request_hash, Answer, Approval, Refusal};
use crate::conflict::{self, purchase, Purchases};
use crate::error::{Code, Error};
use crate::hex;
use crate::intent;
use crate::json::Json;
use crate::receipt::checks::Checks;
use crate::receipt::record::Record;
use crate::receipt::Subject;
use crate::tree::Broken;

const DOES_NOT_PROVE: &[&str] = &[
    "That nothing was written after the last line: a file cut off at its end looks like an older one. Keep its head elsewhere, or read the chain by payer.",
    "That the writer kept no other journal: intents outside this document are not seen.",
    "That the writer told the truth about itself: a chain of hashes has no key, so whoever rewrites all of it makes a new one. Signatures and chain reads in it are others' word.",
    "When each step happened: the times are the writer's own clock.",
    "That the recorded reads came from the chain: they are the writer's. Check payments with evidence of your own (verifyReceipt).",
    "That those who approved were allowed to: their addresses are in the facts, whether they may is yours to say.",
];

/// The report on the lineage in a bundle or a journal. Errors: those of the JSON reader and of a bundle ([`crate::receipt::verify`]).
pub fn verify(text: &str) -> Result<Json, Error> {
    let unplaced = |error: Error| Error::new(error.code, error.field.replacen("bundles[0].", "", 1));
    let sources = Sources::read(&[text]).map_err(unplaced)?;
    let read = sources.records().map_err(unplaced)?;
    let report = sources.list.first();
    let report = report.map(|source| alone(source, &sources.bundles, &read));
    report.unwrap_or(Ok(Json::Null)).map_err(unplaced)
}

/// The same on one of several texts, by what stands in it alone. Errors: those of the places.
pub(super) fn alone(
    source: &Source,
    bundles: &[Json],
    read: &[(Address, Vec<Record>)],
) -> Result<Json, Error> {
    let own = source.bundles.clone();
    let read = read.get(own.clone()).unwrap_or_default();
    let purchases = purchase::purchases(read)?;
    let bundles = bundles.get(own).unwrap_or_default();
    let family = Family::new(read, bundles, &|_| 0)?;
    report(source, bundles, &family, &purchases)
}

/// The report on a text, of whose bundles these are made. Error: `number_out_of_range`.
pub(super) fn report(
    source: &Source,
    bundles: &[Json],
    family: &Family,
    purchases: &Purchases,
) -> Result<Json, Error> {
    let mut checks = Checks::default();
    checks.pass("format");
    let chain = source.chain.as_ref();
    journal(chain, &mut checks);
    identity(family, &mut checks)?;
    tree(family, &mut checks);
    let (_, back) = conflict::findings(purchases, &[]);
    let slots = cost::slots(purchases);
    let own = cost::own(purchases, &slots, &back);
    let sums = cost::cumulative(family, &own);
    let signers = approvals(bundles, &mut checks);
    budgets(family, &sums, bundles, &mut checks);
    states(family, &slots, &mut checks);
    let total = cost::total(own.values());
    let facts = Json::object([
        (
            "kind",
            Json::text(if chain.is_some() { "journal" } else { "bundle" }),
        ),
        ("intents", Json::number(family.all().count() as u64)),
        (
            "totals",
            Json::Array(total.iter().map(|(token, cost)| cost.to_json(token)).collect()),
        ),
        (
            "approvers",
            Json::Array(signers.into_iter().map(Json::String).collect()),
        ),
    ])
    .with_some(
        "head",
        chain.map(|chain| {
            let (seq, hash) = chain.head;
            Json::object([
                ("seq", Json::number(seq)),
                ("hash", Json::text(hex::encode(hash))),
            ])
        }),
    );
    Ok(checks
        .report(Some(facts), Subject::default(), DOES_NOT_PROVE)
        .to_json())
}

/// The chain of a journal. A bundle has none: it is what a journal held at one time.
fn journal(chain: Option<&Chain>, checks: &mut Checks) {
    let ids = [
        ("journal.form", &[Fault::Malformed][..]),
        ("journal.hash", &[Fault::Rewritten]),
        ("journal.order", &[Fault::Reordered, Fault::Spliced]),
        ("journal.complete", &[Fault::Truncated]),
    ];
    for (id, faults) in ids {
        match chain.map(|chain| chain.fault) {
            None => checks.skip(
                id,
                "A bundle is what a journal held at one time: it has no chain of its own.",
            ),
            Some(Some((fault, line))) if faults.contains(&fault) => {
                let why = match fault {
                    Fault::Malformed => "a line is no line of a journal, or not in its one form",
                    Fault::Rewritten => "its content is not what its hash names: it was rewritten",
                    Fault::Reordered => "the line that it names before it stands elsewhere: lines were reordered or repeated",
                    Fault::Spliced => "it names another line before it: what stands there was changed, or this comes from another journal",
                    Fault::Truncated => "lines before it are missing",
                };
                checks.fail(id, &format!("{}, line {line}: {why}.", fault.as_str()));
            }
            Some(Some(_)) => checks.missing(id, "The chain is broken before all of it could be checked."),
            Some(None) => checks.pass(id),
        }
    }
}

/// Each intent is the digest of what was wanted and by whom.
fn identity(family: &Family, checks: &mut Checks) -> Result<(), Error> {
    let mut wrong = None;
    for record in family.all().flat_map(|member| &member.records) {
        let expected = intent::purchase_intent_id(
            &record.principal,
            record.id,
            &record.request.fingerprint()?,
            record.occurrence,
            record.scope,
            record.parent,
        )?;
        if expected != record.intent_id && wrong.is_none() {
            wrong = Some((expected, record.intent_id.to_owned()));
        }
    }
    match wrong {
        Some((expected, actual)) => checks.equal("intent.id", &expected, &actual),
        None => checks.pass("intent.id"),
    }
    Ok(())
}

/// One check over all members: the first for whom `why` says something.
fn each<'a>(
    family: &Family<'a>,
    id: &'static str,
    checks: &mut Checks,
    why: impl Fn(&Member<'a>) -> Option<String>,
) {
    match family.all().find_map(|member| Some((member.id, why(member)?))) {
        Some((intent, why)) => checks.fail(id, &format!("{why} ({intent})")),
        None => checks.pass(id),
    }
}

fn tree(family: &Family, checks: &mut Checks) {
    let broken = |member: &Member, kind: Broken| family.path(member.id).err() == Some(kind);
    let unknown = family.all().find(|member| broken(member, Broken::Unknown));
    match unknown {
        Some(member) => checks.missing(
            "lineage.parents",
            &format!(
                "An intent above is in another bundle or journal: hand that in too. ({})",
                member.id
            ),
        ),
        None => checks.pass("lineage.parents"),
    }
    let because = |holds: bool, why: &str| (!holds).then(|| why.to_owned());
    each(family, "lineage.acyclic", checks, |member| {
        because(
            !broken(member, Broken::Cycle),
            "bad_lineage: it descends from itself.",
        )
    });
    each(family, "lineage.depth", checks, |member| {
        because(
            !broken(member, Broken::TooDeep),
            "bad_lineage: more than 32 intents stand above it.",
        )
    });
    each(family, "lineage.tree", checks, |member| {
        because(
            !member.torn,
            "bad_lineage: two parents are named for it, of two trees.",
        )
    });
    each(family, "lineage.principal", checks, |member| {
        let above = family.above(member.id);
        let payers = above
            .iter()
            .filter_map(|id| family.get(id))
            .map(|above| above.payer);
        let mut records = member.records.iter().map(|record| record.principal);
        let one = payers.chain(&mut records).all(|payer| payer == member.payer);
        because(one, "bad_lineage: its payer is not that of what is above it.")
    });
    each(family, "lineage.scope", checks, |member| {
        let own = member.place.as_ref()?;
        let above = family.above(member.id);
        let above = above
            .iter()
            .skip(1)
            .filter_map(|id| family.get(id)?.place.as_ref());
        let field = above.filter_map(|above| own.widens(above)).next()?;
        Some(format!("bad_lineage: it widens {field} of what is above it."))
    });
}

/// Who signed which approval; that none of them was altered, and that no more names one than it says.
fn approvals(bundles: &[Json], checks: &mut Checks) -> Vec<String> {
    let used = used(bundles);
    let mut signers = Vec::new();
    let mut wrong: Option<&str> = None;
    for document in bundles.iter().flat_map(|bundle| list(bundle, "approvals")) {
        let read = Approval::from_json(document).and_then(|(approval, signature)| {
            Ok((approval.hash()?, approval.recover(&signature)?, approval.amount))
        });
        let (hash, signer, amount) = match read {
            Ok(read) => read,
            Err(error) => {
                wrong = wrong.or(Some(error.code.meaning()));
                continue;
            }
        };
        if !signers.contains(&signer.to_string()) {
            signers.push(signer.to_string());
        }
        let used = used.get(&hex::encode(hash)).copied();
        if used.is_some_and(|used| used > amount) {
            wrong = wrong.or(Some("More names one than it covers."));
        }
    }
    for refused in bundles.iter().flat_map(|bundle| list(bundle, "refused")) {
        let read = refused.read("refusal", |document| {
            let (refusal, signature) = Refusal::from_json(document)?;
            let signer = refusal.recover(&signature)?;
            Ok((signer, refusal.request, refusal.intent_id))
        });
        let asked = refused.get("request").and_then(|asked| request_hash(asked).ok());
        match read {
            Ok((_, _, intent)) if refused.get("intentId") != Some(&Json::String(intent.clone())) => {
                wrong = wrong.or(Some(Code::ApprovalOtherIntent.meaning()));
            }
            Ok((signer, request, _)) if asked == Some(request) => {
                if !signers.contains(&signer.to_string()) {
                    signers.push(signer.to_string());
                }
            }
            Ok(_) => wrong = wrong.or(Some(Code::ApprovalOtherRequest.meaning())),
            Err(error) => wrong = wrong.or(Some(error.code.meaning())),
        }
    }
    match wrong {
        Some(why) => checks.fail("lineage.approvals", why),
        None => checks.pass("lineage.approvals"),
    }
    signers
}

/// What the wallet's entries say that name each approval.
fn used(bundles: &[Json]) -> BTreeMap<String, Amount> {
    let mut used: BTreeMap<String, Amount> = BTreeMap::new();
    for entry in bundles.iter().flat_map(|bundle| list(bundle, "entries")) {
        let named = entry.get("approval").and_then(|hash| hash.as_string().ok());
        let amount = entry
            .get("amount")
            .and_then(|amount| Amount::from_json(amount).ok());
        if let Some((hash, amount)) = named.zip(amount) {
            let sum = used.entry(hash).or_insert(Amount::ZERO);
            *sum = sum.saturating_add(amount);
        }
    }
    used
}

/// What was spent below each budget. What an approval covers may lie above it.
fn budgets(family: &Family, sums: &BTreeMap<String, Costs>, bundles: &[Json], checks: &mut Checks) {
    let documents = bundles.iter().flat_map(|bundle| list(bundle, "approvals"));
    let read = documents.filter_map(|document| Approval::from_json(document).ok());
    // One document that stands in two bundles covers once.
    let approvals: Vec<Approval> = read.fold(Vec::new(), |mut known, (approval, _)| {
        if !known.contains(&approval) {
            known.push(approval);
        }
        known
    });
    each(family, "lineage.budget", checks, |member| {
        let budget = member.place.as_ref()?.budget?;
        let spent = sums.get(member.id)?;
        let mut tokens = spent.iter().filter(|(_, cost)| cost.spent() > Amount::ZERO);
        let ((network, asset), cost) = tokens.next()?;
        if tokens.next().is_some() {
            return Some("bad_lineage: more than one token was spent under one budget.".to_owned());
        }
        if cost.spent() <= budget {
            return None;
        }
        let covers = |approval: &&Approval| {
            (&approval.network, approval.asset) == (network, *asset)
                && (family.above(&approval.intent_id).contains(&member.id)
                    || family.above(member.id).contains(&approval.intent_id.as_str()))
        };
        let covered = approvals.iter().filter(covers);
        let room = covered.fold(budget, |sum, approval| sum.saturating_add(approval.amount));
        let why = format!(
            "bad_lineage: {} of {budget} is spent, held or unknown below it.",
            cost.spent()
        );
        (cost.spent() > room).then_some(why)
    });
}

/// A payment is over where the reads show it, and not where a journal says so.
fn states(family: &Family, slots: &Slots, checks: &mut Checks) {
    let wrong = |id: &str, slots: &[Slot]| {
        let unproven = slots.iter().find(|slot| {
            let signed = slot.attempts.iter().any(|one| one.is_signed());
            signed && slot.attempts.iter().all(|one| one.is_void()) && !slot.void
        });
        let undone = slots.iter().find(|slot| slot.moved.is_some() && slot.void);
        let why = match (unproven, undone) {
            (Some(_), _) => {
                "A payment is called over, and nothing recorded shows that it is: it counts as spent."
            }
            (None, Some(_)) => "A payment is called made, and the recorded reads prove that it never was.",
            (None, None) => return None,
        };
        Some(format!("{why} ({id})"))
    };
    match slots.iter().find_map(|(id, slots)| wrong(id, slots)) {
        Some(why) => checks.fail("lineage.state", &why),
        None if family.all().all(|member| member.records.is_empty()) => {
            checks.skip("lineage.state", "Nothing was bought.");
        }
        None => checks.pass("lineage.state"),
    }
}
