//! The public receipt: who paid whom how much in which transaction, for which bytes. It never expires, and carries the keyed hash
//! of every retry id that led to it, so that a caller who comes back after the answer is gone still finds it.

use crate::digest;
use crate::error::{Code, Error};
use crate::hex;
use crate::json::Json;
use crate::time::Seconds;

use super::close::Answer;
use super::kept::Sale;
use super::rows::{Fault, Rows};

/// Domain tag of a receipt's id.
pub const TAG: &str = "counterfoil/receipt-id/v1";
/// The kind of document.
pub const TYPE: &str = "counterfoil/seller-receipt";

/// The row of a receipt.
pub fn key(id: &str) -> String {
    format!("receipt/{id}")
}

/// Writes the receipt of a sale that is being delivered, and gives its id: 64 hexadecimal digits of the digest of network, payer,
/// nonce and transaction.
pub fn issue(rows: &mut Rows, sale: &Sale, answer: &Answer, now: Seconds) -> Result<String, Fault> {
    let payment = sale.payment()?;
    let (authorization, request) = (&payment.authorization, &sale.record.request);
    let missing = || Error::new(Code::RecordInvalid, "transaction");
    let transaction = sale.transaction.as_deref().ok_or_else(missing)?;
    let what = Json::object([
        ("network", payment.network.to_json()),
        ("nonce", Json::text(hex::encode(authorization.nonce))),
        ("payer", authorization.from.to_json()),
        ("transaction", Json::text(transaction)),
    ]);
    let id = hex::encode(digest::tagged(TAG, &what)?).replacen("0x", "", 1);
    let retry_ids = core::iter::once(sale.id()).chain(sale.aliases.iter().map(String::as_str));
    let receipt = Json::object([
        ("type", Json::text(TYPE)),
        ("v", Json::number(1)),
        ("receiptId", Json::text(id.as_str())),
        ("issuedAt", Json::number(now)),
        ("payer", authorization.from.to_json()),
        ("payTo", authorization.to.to_json()),
        ("amount", authorization.value.to_json()),
        ("asset", payment.asset.to_json()),
        ("network", payment.network.to_json()),
        ("transaction", Json::text(transaction)),
        ("fingerprint", Json::text(hex::encode(request.fingerprint))),
        ("quoteHash", Json::text(hex::encode(request.quote_hash))),
        ("response", response(answer)),
        ("retryIds", Json::Array(retry_ids.map(Json::text).collect())),
    ]);
    rows.put(&key(&id), receipt, None)?;
    Ok(id)
}

/// The digest of the bytes as they were sent, and beside it that of what was under their content coding.
fn response(answer: &Answer) -> Json {
    let decoded = answer.decoded.as_ref().map(|decoded| {
        Json::object([
            ("contentCoding", Json::text(decoded.coding.as_str())),
            ("sha256", Json::text(hex::encode(decoded.sha256))),
            ("length", Json::number(decoded.length)),
        ])
    });
    Json::object([
        ("status", Json::number(u64::from(answer.status))),
        ("sha256", Json::text(hex::encode(answer.sha256))),
        ("length", Json::number(answer.length)),
        ("reading", Json::text("as_sent")),
    ])
    .with_some("contentType", answer.header("content-type").map(Json::text))
    .with_some("decoded", decoded)
}

/// Another id that led to the sale stands on its receipt too, when there is one already.
pub fn add_alias(rows: &mut Rows, sale: &Sale, alias: &str) -> Result<(), Fault> {
    let Some(id) = &sale.record.receipt_id else {
        return Ok(());
    };
    let Some(receipt) = rows.get(&key(id))?.cloned() else {
        return Ok(());
    };
    let mut ids = receipt.read("retryIds", |list| list.as_list(Json::as_string))?;
    ids.push(alias.to_owned());
    let ids = Json::Array(ids.into_iter().map(Json::String).collect());
    rows.put(&key(id), receipt.with("retryIds", ids), None)
}
