//! An answer that was delivered on a payment seen below finality: it is looked for until a final block shows it. Where its block was
//! replaced the buyer owes for what was delivered; the same bytes can still be settled while their window is open.

use super::kept::{Sale, Seen};
use super::rows::{Fault, Rows};
use super::told;
use crate::error::Code;
use crate::evidence::{Verdict, VerdictKind};
use crate::json::Json;
use crate::time::Seconds;

/// The row of what a buyer owes for a sale that was delivered.
pub fn key(sale: &str) -> String {
    format!("unpaid/{sale}")
}

/// What a look at the payment of a delivered sale comes to.
pub(super) enum Looked {
    /// The final block is past the place where it stood: whether it has moved, the latest one says.
    Again,
    /// Whom to tell.
    Done(Vec<Json>),
}

/// Where a payment stands that a block shows which can still be replaced.
pub(super) fn seen(verdict: &Verdict) -> Option<Seen> {
    let (block, _) = verdict.position.filter(|_| verdict.is_provisional())?;
    Some(Seen { block, gone: false })
}

/// Looks at the payment that a sale was delivered for. `block`: the number that every source had reached.
pub(super) fn look(
    rows: &mut Rows,
    sale: &mut Sale,
    verdict: &Verdict,
    block: Option<u64>,
    tag: &str,
    now: Seconds,
) -> Result<Looked, Fault> {
    let Some(before) = sale.seen else {
        return Ok(Looked::Done(Vec::new()));
    };
    let mut alerts = Vec::new();
    match verdict.verdict {
        VerdictKind::Paid => {
            sale.transaction = verdict.transaction.clone();
            sale.seen = seen(verdict);
            if sale.seen.is_none() {
                sale.forget_bytes();
                close(rows, sale, now)?;
            }
        }
        VerdictKind::PaidWrongTerms if !verdict.is_provisional() => {
            sale.seen = None;
            alerts.push(told::finding(Code::PaidWrongTerms, sale).to_json());
        }
        VerdictKind::Dead | VerdictKind::Cancelled if verdict.decides() => {
            // Its bytes are of no use any more.
            sale.forget_bytes();
            alerts.extend(gone(rows, sale, before, now)?);
            sale.seen = None;
        }
        // A source that has not come so far can't know whether it is there.
        VerdictKind::NotYet if block >= Some(before.block) && tag == "finalized" => return Ok(Looked::Again),
        VerdictKind::NotYet if block >= Some(before.block) => alerts.extend(gone(rows, sale, before, now)?),
        _ => {}
    }
    sale.record.lease_until = now;
    Ok(Looked::Done(alerts))
}

/// It is not there any more: what is owed is written down, and the seller is told, once.
fn gone(rows: &mut Rows, sale: &mut Sale, before: Seen, now: Seconds) -> Result<Option<Json>, Fault> {
    if before.gone {
        return Ok(None);
    }
    sale.seen = Some(Seen { gone: true, ..before });
    let payment = sale.payment()?;
    let row = Json::object([
        ("v", Json::number(1)),
        ("sale", Json::text(sale.id())),
        ("payer", payment.authorization.from.to_json()),
        ("network", payment.network.to_json()),
        ("asset", payment.asset.to_json()),
        ("amount", payment.authorization.value.to_json()),
        ("openedAt", Json::number(now)),
        ("state", Json::text("open")),
    ])
    .with_some("transaction", sale.transaction.as_deref().map(Json::text))
    .with_some("receipt", sale.record.receipt_id.as_deref().map(Json::text))
    .with_some("order", sale.order.as_deref().map(Json::text))
    .with_some("payment", payment.header.as_ref().map(super::kept::header_json));
    rows.put(&key(sale.id()), row, None)?;
    Ok(Some(told::finding(Code::PaymentVanished, sale).to_json()))
}

/// A final block shows the payment: nothing is owed.
fn close(rows: &mut Rows, sale: &Sale, now: Seconds) -> Result<(), Fault> {
    let key = key(sale.id());
    let open = rows.get(&key)?.cloned();
    if let Some(row) = open.filter(|row| row.get("state") == Some(&Json::text("open"))) {
        let row = row
            .without("payment")
            .with("state", Json::text("closed"))
            .with("closedAt", Json::number(now))
            .with_some("paidIn", sale.transaction.as_deref().map(Json::text));
        rows.put(&key, row, None)?;
    }
    Ok(())
}
