//! The last step: what the seller's handler answered becomes the answer of the sale, or does not.

use crate::admission::{self, Response, State};
use crate::error::Error;
use crate::json::Json;
use crate::outcome;
use crate::time::Seconds;
use crate::x402::{payment_required, settlement_response};

use super::kept::{self, Payment, Sale};
use super::quoted::Quoted;
use super::rows::{Fault, Rows};
use super::settle::{self, Confirmed, Worker};
use super::told::{self, Told};
use super::{admit, receipt, Config};

/// What the handler answered.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Answer {
    /// HTTP status.
    pub status: u16,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    /// Of the bytes as they are sent.
    pub sha256: [u8; 32],
    /// Their number.
    pub length: u64,
    /// The bytes without their content coding.
    pub decoded: Option<Decoded>,
}

/// Another reading of the bytes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Decoded {
    /// The coding that was taken off.
    pub coding: String,
    /// Of what was under it.
    pub sha256: [u8; 32],
    /// Its length.
    pub length: u64,
}

impl Answer {
    /// Reads `{status, headers, sha256, length, decoded?: {coding, sha256, length}}`.
    pub fn from_json(json: &Json) -> Result<Answer, Error> {
        let decoded = |json: &Json| -> Result<Decoded, Error> {
            Ok(Decoded {
                coding: json.read("coding", Json::as_string)?,
                sha256: json.read("sha256", Json::as_hex)?,
                length: json.read("length", Json::as_u64)?,
            })
        };
        Ok(Answer {
            status: json.read("status", admission::status)?,
            headers: json.read("headers", admission::headers)?,
            sha256: json.read("sha256", Json::as_hex)?,
            length: json.read("length", Json::as_u64)?,
            decoded: json.read_opt("decoded", decoded)?,
        })
    }

    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str())
    }

    fn is_success(&self) -> bool {
        (200..400).contains(&self.status)
    }

    /// What the seller's middleware says about the settlement of this payment, where nobody watches the facilitator.
    fn claimed(&self, payment: &Payment) -> Option<(String, Json)> {
        let value = self
            .header("payment-response")
            .or_else(|| self.header("x-payment-response"))?;
        let response = settlement_response::parse(value).ok()?;
        let transaction = response.transaction_hash().filter(|_| response.success)?;
        let same = settle::differs(&response, payment).is_empty();
        same.then_some((transaction, response.json))
    }

    /// A price with a known verify code, and no word of a settlement: refused before anything was sent to the chain.
    fn is_refusal(&self) -> bool {
        let settled = ["payment-response", "x-payment-response"]
            .iter()
            .any(|name| self.header(name).is_some());
        let price = || payment_required::parse(Some(self.header("payment-required")?), None).ok();
        self.status == 402
            && !settled
            && price()
                .and_then(|price| price.error)
                .is_some_and(|code| outcome::is_refusal(&code))
    }
}

/// The handler ended: `answer`, or nothing when it threw. `send` lets its answer pass, with the receipt's headers when it was
/// delivered; anything else is answered instead. A failed call is not billed; a call that failed after a broadcast began
/// stays in flight, and a paid one is owed.
pub fn close(
    rows: &mut Rows,
    worker: &Worker,
    input: &Json,
    config: &Config,
    now: Seconds,
) -> Result<Told, Fault> {
    let answer = input.read_opt("answer", Answer::from_json)?;
    let poll = input.read("poll", Json::as_str)?;
    let late = settle::late_rule(input)?;
    let (mut sale, holds) = worker.load(rows)?;
    if !holds {
        return overtaken(&sale, config, poll);
    }
    let success = answer.as_ref().filter(|answer| answer.is_success());
    // Where nobody watches the facilitator, the statement beside a successful answer is all there is.
    let payment = sale.payment()?;
    let claimed = success
        .filter(|_| sale.settlement.is_none() && !config.watched)
        .and_then(|answer| answer.claimed(payment));
    if let Some((transaction, said)) = claimed {
        if let Confirmed::Ask(ask) =
            settle::confirmed(rows, &mut sale, &transaction, said, late, config, now)?
        {
            return Ok(ask);
        }
    }
    if sale.record.state == State::Expired || is_called_off(rows, &sale)? {
        sale.record.lease_until = now;
        admit::save(rows, &sale, config)?;
        return Ok(told::refund_owed());
    }
    if sale.settlement.is_some() {
        return match success {
            Some(answer) => deliver(rows, sale, answer, config, now),
            None => {
                sale.record.lease_until = now;
                admit::save(rows, &sale, config)?;
                Ok(told::owed(poll)?)
            }
        };
    }
    let refused = answer.as_ref().is_some_and(Answer::is_refusal);
    if sale.broadcasts == 0 || (sale.broadcasts == 1 && !config.watched && refused) {
        settle::failed(rows, &mut sale, config, now)?;
        return Ok(Told::plain("send"));
    }
    sale.record.lease_until = now;
    admit::save(rows, &sale, config)?;
    Ok(Told::problem(admit::in_flight(poll)?))
}

/// The order that a sale paid was refunded while the work was done: it is not delivered as well.
fn is_called_off(rows: &Rows, sale: &Sale) -> Result<bool, Fault> {
    match &sale.order {
        Some(order) if sale.settlement.is_some() => Ok(!Quoted::load(rows, order)?.is_delivered()),
        _ => Ok(false),
    }
}

/// Another worker took over meanwhile: its answer counts.
fn overtaken(sale: &Sale, config: &Config, poll: &str) -> Result<Told, Fault> {
    match sale.record.state {
        State::Delivered => Ok(told::replay(sale, config)),
        _ => Ok(Told::problem(admit::in_flight(poll)?)),
    }
}

fn deliver(
    rows: &mut Rows,
    mut sale: Box<Sale>,
    answer: &Answer,
    config: &Config,
    now: Seconds,
) -> Result<Told, Fault> {
    let id = receipt::issue(rows, &sale, answer, now)?;
    sale.record.state = State::Delivered;
    sale.record.receipt_id = Some(id.clone());
    sale.record.lease_until = now;
    sale.broadcasts = 0;
    // One that can still be replaced is to be had again by the same bytes.
    if sale.seen.is_none() {
        sale.forget_bytes();
    }
    // Larger ones are not kept: the receipt has their digest.
    if answer.length <= config.max_stored {
        sale.record.response = Some(Response {
            status: answer.status,
            headers: answer.headers.clone(),
            body_sha256: answer.sha256,
        });
        let row = Json::object([("sale", Json::text(sale.id()))]);
        rows.put_body(&kept::answer_key(sale.id()), row, sale.due(config.retention))?;
    }
    admit::save(rows, &sale, config)?;
    Ok(Told::plain("send").with_receipt(&id, config))
}
