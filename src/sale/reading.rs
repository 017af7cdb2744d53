//! What the chain says about the payments of a sale whose worker is gone, or whose settlement has no known end.

use crate::admission::State;
use crate::error::{Code, Error};
use crate::evidence::{self, Verdict, VerdictKind};
use crate::json::Json;
use crate::order::LateRule;
use crate::problem::Problem;
use crate::time::Seconds;

use super::kept::{Payment, Sale};
use super::rows::{Fault, Rows};
use super::settle::{self, Confirmed, Worker};
use super::told::{self, Told};
use super::{admit, unpaid, Config};

/// How long a sale that could not be read waits for the next try.
const TRY_AGAIN: Seconds = 5;

/// The verdicts are in. Paid: the work is done without charging. All dead: the sale failed, and the request is admitted anew; where
/// a nonce went to other terms instead, the payer hears that, and the seller once.
/// One can still land: the work goes on with the payment that was shown first; never with a second one. Nothing to be read:
/// in flight. `idle` is a reader that has no request to go on with.
pub fn read(
    rows: &mut Rows,
    worker: &Worker,
    input: &Json,
    config: &Config,
    now: Seconds,
) -> Result<Told, Fault> {
    let (mut sale, holds) = worker.load(rows)?;
    let poll = input.read_opt("poll", Json::as_str)?.unwrap_or("/");
    if !holds {
        return Ok(Told::problem(admit::in_flight(poll)?));
    }
    let idle = input.read_opt("idle", Json::as_bool)?.unwrap_or(false);
    let tag = input.read("tag", Json::as_str)?;
    let late = settle::late_rule(input)?;
    let (verdicts, blocks): (Vec<_>, Vec<_>) = verdicts(&sale, input, config)?.into_iter().unzip();
    if sale.record.receipt_id.is_some() {
        let (verdict, block) = (verdicts.last(), blocks.last().copied().flatten());
        let looked = match verdict {
            Some(verdict) => unpaid::look(rows, &mut sale, verdict, block, tag, now)?,
            None => unpaid::Looked::Done(Vec::new()),
        };
        return match looked {
            unpaid::Looked::Again => Ok(told::read(&sale, "latest")),
            unpaid::Looked::Done(alerts) => watch(rows, &mut sale, &verdicts, alerts, config, now),
        };
    }
    let any = |kind: VerdictKind| verdicts.iter().any(|verdict| verdict.verdict == kind);
    let was_failed = sale.record.state == State::Failed;
    let given_up = was_failed && now >= sale.kept_until(config.retention);

    if any(VerdictKind::Paid) {
        let (confirmed, mut alerts) = paid(rows, &mut sale, &verdicts, late, config, now)?;
        match confirmed {
            Confirmed::Ask(ask) => return Ok(ask),
            Confirmed::Owed(more) => {
                alerts.extend(more);
                sale.watching = !verdicts.iter().all(is_done);
                admit::save(rows, &sale, config)?;
                return Ok(told::refund_owed().with_alerts(alerts));
            }
            Confirmed::Paid => {}
        }
        if was_failed {
            alerts.push(told::finding(Code::LateConfirmation, &sale).to_json());
        }
        sale.record.lease_until = if idle {
            now
        } else {
            now.saturating_add(config.lease)
        };
        admit::save(rows, &sale, config)?;
        let told = match idle {
            true => Told::plain("paid"),
            false => told::process(&sale, config)?,
        };
        return Ok(told.with_alerts(alerts));
    }
    if verdicts.iter().all(is_closed) || given_up {
        if was_failed {
            return forget(rows, &sale);
        }
        settle::failed(rows, &mut sale, config, now)?;
        if !any(VerdictKind::PaidWrongTerms) {
            return Ok(Told::plain("admit"));
        }
        // The row says failed from now on, so that this is told once.
        let alert = told::finding(Code::PaidWrongTerms, &sale).to_json();
        let problem = Problem::new(Code::PaidWrongTerms).with_status(409);
        return Ok(Told::problem(problem).with_alerts(vec![alert]));
    }
    if any(VerdictKind::Unreadable) || any(VerdictKind::UsedOrCancelled) {
        return wait(rows, &mut sale, poll, config, now);
    }
    // Its window is over, so it will not land any more; that it did not land before, only a final block proves.
    if tag != "finalized" && now >= sale.last_valid() {
        return Ok(told::read(&sale, "finalized"));
    }
    // The nonce is gone in a block that can still be replaced: nothing is to be done with it, and nothing is over.
    let gone = |verdict: &Verdict| {
        use VerdictKind::{Cancelled, PaidWrongTerms};
        matches!(verdict.verdict, Cancelled | PaidWrongTerms) && !is_closed(verdict)
    };
    if verdicts.iter().any(gone) {
        return wait(rows, &mut sale, poll, config, now);
    }
    if idle || was_failed || sale.payment()?.header.is_none() {
        sale.record.lease_until = now;
        admit::save(rows, &sale, config)?;
        return Ok(Told::problem(admit::in_flight(poll)?));
    }
    // Where nobody tells when a broadcast begins, this run may be another one.
    sale.broadcasts += u64::from(!config.watched);
    admit::save(rows, &sale, config)?;
    Ok(told::process(&sale, config)?)
}

/// In flight, until somebody looks again.
fn wait(rows: &mut Rows, sale: &mut Sale, poll: &str, config: &Config, now: Seconds) -> Result<Told, Fault> {
    sale.record.lease_until = now.saturating_add(TRY_AGAIN);
    admit::save(rows, sale, config)?;
    Ok(Told::problem(admit::in_flight(poll)?))
}

/// Whether this payment can never land any more: a nonce that went to other terms for good is as dead as a cancelled one.
fn is_closed(verdict: &Verdict) -> bool {
    match verdict.verdict {
        VerdictKind::Dead => true,
        VerdictKind::Cancelled => verdict.decides(),
        VerdictKind::PaidWrongTerms => !verdict.is_provisional(),
        _ => false,
    }
}

/// Whether nothing more is to be heard of this payment.
fn is_done(verdict: &Verdict) -> bool {
    verdict.verdict == VerdictKind::Paid || is_closed(verdict)
}

/// What the sources say of each payment, and the block that they were read at.
fn verdicts(sale: &Sale, input: &Json, config: &Config) -> Result<Vec<(Verdict, Option<u64>)>, Error> {
    let read = input.read("evidence", |list| {
        list.as_list(|one| {
            Ok((
                one.read("slot", Json::as_str)?,
                one.read("evidence", Json::as_array)?,
            ))
        })
    })?;
    let verdict = |payment: &Payment| {
        let context = config.chain(&payment.network, payment.asset);
        let slot = payment.slot_key();
        let found = read.iter().find(|(read, _)| *read == slot);
        let sources = found.map_or(&[][..], |(_, sources)| *sources);
        let block = sources.iter().filter_map(evidence::block_number).min();
        let verdict = evidence::resolve(core::slice::from_ref(&payment.authorization), &context, sources);
        (verdict, block)
    };
    Ok(sale.payments.iter().map(verdict).collect())
}

/// The first transfer pays the sale; any other is owed back.
fn paid(
    rows: &mut Rows,
    sale: &mut Sale,
    verdicts: &[Verdict],
    late: Option<LateRule>,
    config: &Config,
    now: Seconds,
) -> Result<(Confirmed, Vec<Json>), Fault> {
    let payments = sale.payments.clone();
    let landed: Vec<(&Payment, &str, &Verdict)> = payments
        .iter()
        .zip(verdicts)
        .filter(|(_, verdict)| verdict.verdict == VerdictKind::Paid)
        .filter_map(|(payment, verdict)| Some((payment, verdict.transaction.as_deref()?, verdict)))
        .collect();
    let known = sale.transaction.clone();
    let first = landed
        .iter()
        .find(|(_, transaction, _)| Some(*transaction) == known.as_deref());
    let Some((payment, transaction, verdict)) = first.or(landed.first()).copied() else {
        return Err(Error::new(Code::EvidenceUnreadable, "evidence").into());
    };
    sale.use_payment(payment.clone());
    sale.seen = unpaid::seen(verdict);
    let statement = settle::statement(payment, transaction);
    let confirmed = settle::confirmed(rows, sale, transaction, statement, late, config, now)?;
    let mut alerts = Vec::new();
    if !matches!(confirmed, Confirmed::Ask(_)) {
        for (other, twice, _) in landed.iter().filter(|(_, other, _)| *other != transaction) {
            alerts.extend(settle::second(rows, sale, other, twice, now)?);
        }
    }
    Ok((confirmed, alerts))
}

/// A sale that was delivered, and has earlier payments beside the one that paid it: what landed of them is owed back.
fn watch(
    rows: &mut Rows,
    sale: &mut Sale,
    verdicts: &[Verdict],
    mut alerts: Vec<Json>,
    config: &Config,
    now: Seconds,
) -> Result<Told, Fault> {
    for (payment, verdict) in sale.payments.iter().zip(verdicts) {
        let landed = verdict.verdict == VerdictKind::Paid;
        if let Some(transaction) = verdict.transaction.as_deref().filter(|_| landed) {
            if sale.transaction.as_deref() != Some(transaction) {
                alerts.extend(settle::second(rows, sale, payment, transaction, now)?);
            }
        }
    }
    sale.watching = !verdicts.iter().all(is_done);
    admit::save(rows, sale, config)?;
    Ok(Told::plain("watched").with_alerts(alerts))
}

/// Nothing of a failed sale can land any more, or nobody waits for it: its rows go.
fn forget(rows: &mut Rows, sale: &Sale) -> Result<Told, Fault> {
    for payment in &sale.payments {
        rows.delete(&payment.slot_key())?;
    }
    for alias in &sale.aliases {
        rows.delete(&super::kept::key(alias))?;
    }
    rows.delete(&super::kept::key(sale.id()))?;
    Ok(Told::plain("gone"))
}

/// A sale that is due without anybody asking: `{sale}`. Past its retention only the receipt is left; one in flight is read; one that
/// failed is read once nothing of it can land any more.
pub fn due(rows: &mut Rows, input: &Json, config: &Config, now: Seconds) -> Result<Told, Fault> {
    let id = input.read("sale", Json::as_string)?;
    let Some(mut sale) = admit::load(rows, &id)? else {
        return Ok(Told::plain("gone"));
    };
    if sale.id() != id || sale.due(config.retention).is_none_or(|due| now < due) {
        return Ok(Told::plain("wait"));
    }
    match sale.record.state {
        State::Delivered if now >= sale.kept_until(config.retention) => {
            admit::retire(rows, &mut sale, config, now)?;
            Ok(Told::plain("expired"))
        }
        State::Delivered | State::Expired => Ok(told::read(&sale, "finalized")),
        State::InFlight | State::Failed => {
            sale.turn += 1;
            sale.record.lease_until = now.saturating_add(config.lease);
            admit::save(rows, &sale, config)?;
            Ok(told::read(&sale, "finalized"))
        }
        State::Settled => Ok(Told::plain("wait")),
    }
}
