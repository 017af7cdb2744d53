//! Money that is owed back is owed until a transfer shows that it went back. One transfer closes one record.

use crate::error::{Code, Error};
use crate::evidence::{self, Refund};
use crate::hex;
use crate::json::Json;
use crate::time::Seconds;

use super::rows::{Fault, Rows};
use super::told::Told;
use super::Config;

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

/// Closes the record with `evidence` of a refund. `closed` with the record as it stands, also when it was closed before; `open`
/// with the reason: those of [`evidence::refunded`], or `transfer_spent` when every transfer that would do has closed another
/// record. Error: `record_invalid` for a record that is not there.
pub fn close(rows: &mut Rows, input: &Json, config: &Config, now: Seconds) -> Result<Told, Fault> {
    let key = first_key(input)?;
    let missing = || Error::new(Code::RecordInvalid, "refund");
    let row = rows.get(&key)?.cloned().ok_or_else(missing)?;
    let open = row.read("state", Json::as_str)? == "open";
    if !open {
        return Ok(Told::plain("closed").with("refund", row));
    }
    let refund = Refund::from_json(&row)?;
    let evidence = input.read("evidence", Json::as_array)?;
    let refunded = match evidence::refunded(&refund, config.trust_safe, evidence) {
        Ok(refunded) => refunded,
        Err(reason) => return Ok(still_open(row, reason)),
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
            .with("logIndex", Json::number(index));
        rows.put(&spent, Json::object([("refund", Json::text(key.as_str()))]), None)?;
        rows.put(&key, row.clone(), None)?;
        return Ok(Told::plain("closed").with("refund", row));
    }
    Ok(still_open(row, "transfer_spent"))
}

fn still_open(row: Json, reason: &str) -> Told {
    Told::plain("open")
        .with("reason", Json::text(reason))
        .with("refund", row)
}
