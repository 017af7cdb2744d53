//! Money that is owed back is owed until a transfer shows that it went back. One transfer closes one record.

use crate::address::Address;
use crate::amount::Amount;
use crate::error::{Code, Error};
use crate::evidence::{self, Refund};
use crate::hex;
use crate::json::Json;
use crate::network::Network;
use crate::order::{Event, State};
use crate::time::Seconds;

use super::quoted::{self, Quoted};
use super::rows::{Fault, Rows};
use super::told::Told;
use super::{admit, Config};

/// The row of a record: the sale's id, and the transaction that is owed back.
pub fn key(sale: &str, transaction: &str) -> String {
    format!("refund/{sale}/{}", transaction.to_ascii_lowercase())
}

/// The row that says which record a transfer closed.
fn spent_key(refund: &Refund, transaction: &str, index: u64) -> String {
    format!("refunded/{}/{transaction}/{index}", refund.network)
}

/// The record that `{refund: {sale, transaction}}` names.
pub fn first_key(input: &Json) -> Result<String, Error> {
    input.read("refund", |refund| {
        Ok(key(
            refund.read("sale", Json::as_str)?,
            refund.read("transaction", Json::as_str)?,
        ))
    })
}

/// What is owed, to whom.
pub(super) struct Owed<'a> {
    /// The sale; the order's id where no sale paid it.
    pub sale: &'a str,
    /// The order, where there is one.
    pub order: Option<&'a str>,
    pub payer: Address,
    pub network: &'a Network,
    pub asset: Address,
    pub amount: Amount,
    /// The transaction that is owed back.
    pub transaction: &'a str,
}

/// Opens the record. False when there is one already.
pub(super) fn open(rows: &mut Rows, owed: &Owed, now: Seconds) -> Result<bool, Fault> {
    let key = key(owed.sale, owed.transaction);
    if rows.get(&key)?.is_some() {
        return Ok(false);
    }
    let row = Json::object([
        ("v", Json::number(1)),
        ("sale", Json::text(owed.sale)),
        ("payer", owed.payer.to_json()),
        ("network", owed.network.to_json()),
        ("asset", owed.asset.to_json()),
        ("amount", owed.amount.to_json()),
        ("transaction", Json::text(owed.transaction)),
        ("openedAt", Json::number(now)),
        ("state", Json::text("open")),
    ])
    .with_some("order", owed.order.map(Json::text));
    rows.put(&key, row, None)?;
    Ok(true)
}

/// Closes the record with `evidence` of a refund, and the order whose payment it was. `closed` with the record as it stands, also
/// when it was closed before; `open` with the reason: those of [`evidence::refunded`], or `transfer_spent` when every transfer that
/// would do has closed another record. Error: `record_invalid` for a record that is not there.
pub fn close(rows: &mut Rows, input: &Json, config: &Config, now: Seconds) -> Result<Told, Fault> {
    let key = first_key(input)?;
    let evidence = input.read("evidence", Json::as_array)?;
    match prove(rows, &key, evidence, config, now)? {
        Ok(row) => {
            settle_order(rows, &row, now)?;
            Ok(Told::plain("closed").with("refund", row))
        }
        Err((row, reason)) => Ok(Told::plain("open")
            .with("reason", Json::text(reason))
            .with("refund", row)),
    }
}

/// The record as it stands closed, or as it stays open with the reason.
fn prove(
    rows: &mut Rows,
    key: &str,
    evidence: &[Json],
    config: &Config,
    now: Seconds,
) -> Result<Result<Json, (Json, &'static str)>, Fault> {
    let missing = || Error::new(Code::RecordInvalid, "refund");
    let row = rows.get(key)?.cloned().ok_or_else(missing)?;
    if row.read("state", Json::as_str)? != "open" {
        return Ok(Ok(row));
    }
    let refund = Refund::from_json(&row)?;
    let refunded = match evidence::refunded(&refund, &config.chain(&refund.network, refund.asset), evidence) {
        Ok(refunded) => refunded,
        Err(reason) => return Ok(Err((row, reason))),
    };
    let transaction = hex::encode(refunded.transaction);
    for index in refunded.transfers {
        let spent = spent_key(&refund, &transaction, index);
        if rows.get(&spent)?.is_some() {
            continue;
        }
        let row = row
            .with("state", Json::text("closed"))
            .with("closedAt", Json::number(now))
            .with("refundedIn", Json::text(transaction.as_str()))
            .with("logIndex", Json::number(index))
            .with("evidence", Json::Array(evidence.to_vec()));
        rows.put(&spent, Json::object([("refund", Json::text(key))]), None)?;
        rows.put(key, row.clone(), None)?;
        return Ok(Ok(row));
    }
    Ok(Err((row, "transfer_spent")))
}

/// The order that waited for this refund has it.
fn settle_order(rows: &mut Rows, row: &Json, now: Seconds) -> Result<(), Fault> {
    let Some(id) = row.read_opt("order", Json::as_string)? else {
        return Ok(());
    };
    let mut quoted = Quoted::load(rows, &id)?;
    let owed = row.read("transaction", Json::as_hex)?;
    if quoted.order.state != State::RefundPending || quoted.order.transaction != Some(owed) {
        return Ok(());
    }
    let transaction = row.read("refundedIn", Json::as_hex)?;
    quoted.advance(&Event::Refunded { transaction }, now)?;
    quoted.save(rows)
}

/// Moves an order by an event of the host: `{order, event, evidence?}`. A refund opens the record of what is owed; `refunded` needs what
/// closes it, and closes it. Errors: those of [`quoted::event`]; `missing_field` at `event.payer` where neither a sale nor the
/// quote tells who paid; of `refunded`, once the order can be moved so: `missing_field` at `evidence`, `refund_unproven`.
pub fn event(rows: &mut Rows, input: &Json, config: &Config, now: Seconds) -> Result<Json, Fault> {
    let event = input.read("event", Event::from_json)?;
    let Event::Refunded { transaction } = event else {
        let told = quoted::event(rows, input, now)?;
        if event == Event::Refund {
            owe_order(rows, input, now)?;
        }
        return Ok(told);
    };
    // Whether the order can be moved so at all comes first.
    let mut quoted = Quoted::load(rows, input.read("order", Json::as_str)?)?;
    quoted.advance(&event, now)?;
    let evidence = input.read("evidence", Json::as_array)?;
    let key = owe_order(rows, input, now)?;
    let proven = prove(rows, &key, evidence, config, now)?.ok();
    let named = |row: &Json| row.get("refundedIn") == Some(&Json::text(hex::encode(transaction)));
    if !proven.as_ref().is_some_and(named) {
        return Err(Error::new(Code::RefundUnproven, "event.transaction").into());
    }
    quoted.save(rows)?;
    Ok(quoted.told())
}

/// The record of what an order owes back: its row, opened now unless it was before.
fn owe_order(rows: &mut Rows, input: &Json, now: Seconds) -> Result<String, Fault> {
    let quoted = Quoted::load(rows, input.read("order", Json::as_str)?)?;
    let paid_by = quoted.order.transaction.map(hex::encode);
    let transaction = paid_by.ok_or_else(|| Error::new(Code::MissingField, "order.transaction"))?;
    let sale = match &quoted.sale {
        Some(id) => admit::load(rows, id)?,
        None => None,
    };
    let paid = sale.as_ref().map(|sale| sale.payment()).transpose()?;
    let named = input.read("event", |event| event.read_opt("payer", Address::from_json))?;
    let payer = paid
        .map(|paid| paid.authorization.from)
        .or(quoted.buyer)
        .or(named);
    let owed = Owed {
        sale: sale.as_ref().map_or(quoted.order.id.as_str(), |sale| sale.id()),
        order: Some(&quoted.order.id),
        payer: payer.ok_or_else(|| Error::new(Code::MissingField, "event.payer"))?,
        network: &quoted.terms.network,
        asset: quoted.terms.asset,
        amount: quoted.terms.amount,
        transaction: &transaction,
    };
    open(rows, &owed, now)?;
    Ok(key(owed.sale, &transaction))
}
