//! What a step tells the host: one decision, the headers that go with it, and whom to alert.

use crate::error::{Code, Error, Money, Next};
use crate::finding::{Finding, Severity};
use crate::json::Json;
use crate::problem::Problem;

use super::kept::{self, Payment, Sale};
use super::Config;

/// A decision.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Told(pub Json);

impl Told {
    /// A decision without more to it.
    pub fn plain(decision: &str) -> Told {
        Told(Json::object([("decision", Json::text(decision))]))
    }

    /// Answer with this problem, and `Retry-After` where it says so.
    pub fn problem(problem: Problem) -> Told {
        let headers = match problem.retry_after {
            Some(seconds) => Json::object([("retry-after", Json::text(seconds.to_string()))]),
            None => Json::object([]),
        };
        Told::plain("problem")
            .with("problem", problem.to_json())
            .with("headers", headers)
    }

    /// The same with one more member.
    #[must_use]
    pub fn with(self, name: &str, value: Json) -> Told {
        Told(self.0.with(name, value))
    }

    /// The same with more findings for the seller.
    #[must_use]
    pub fn with_alerts(self, more: Vec<Json>) -> Told {
        let mut alerts = match self.0.get("alerts") {
            Some(Json::Array(alerts)) => alerts.clone(),
            _ => Vec::new(),
        };
        alerts.extend(more);
        match alerts.is_empty() {
            true => self,
            false => self.with("alerts", Json::Array(alerts)),
        }
    }

    fn with_header(self, name: &str, value: String) -> Told {
        let mut headers = self.0.get("headers").cloned().unwrap_or(Json::object([]));
        headers.set(name, Json::String(value));
        self.with("headers", headers)
    }
}

/// Never repeated, and someone is told. Under one id two requests are two purchases that one record can't hold.
pub fn conflict(sale: &Sale, differs: &[&str]) -> Told {
    let mut alert = finding(Code::PaymentConflict, sale);
    alert.fields = differs.iter().map(|field| (*field).to_owned()).collect();
    Told::problem(Problem::new(Code::PaymentConflict)).with_alerts(vec![alert.to_json()])
}

/// Carry it out, with the payment in use: the request's own, or the one that was shown first.
pub fn process(sale: &Sale, config: &Config) -> Result<Told, Error> {
    let charged = sale.settlement.is_some();
    if charged && !config.watched {
        // Nothing here stands between the seller's middleware and a second refusal of a spent payment.
        return Ok(not_stored(sale, config));
    }
    let payment = sale.payment()?;
    let header = payment.header.as_ref().map(kept::header_json);
    Ok(Told::plain("process")
        .with("sale", Json::text(sale.id()))
        .with("turn", Json::number(sale.turn))
        .with("slot", Json::text(payment.slot_key()))
        .with("header", header.unwrap_or(Json::Null))
        .with("charged", Json::Bool(charged))
        .with("renewEvery", Json::number((config.lease / 3).max(1))))
}

/// Read the chain at this tag for every payment of the sale.
pub fn read(sale: &Sale, tag: &str) -> Told {
    let one = |payment: &Payment| {
        Json::object([
            ("slot", Json::text(payment.slot_key())),
            ("network", payment.network.to_json()),
            ("asset", payment.asset.to_json()),
            ("payer", payment.authorization.from.to_json()),
            (
                "nonce",
                Json::text(crate::hex::encode(payment.authorization.nonce)),
            ),
        ])
    };
    Told::plain("read")
        .with("sale", Json::text(sale.id()))
        .with("turn", Json::number(sale.turn))
        .with("tag", Json::text(tag))
        .with("reads", Json::Array(sale.payments.iter().map(one).collect()))
}

/// The stored answer; `otherwise` when its bytes are gone already.
pub fn replay(sale: &Sale, config: &Config) -> Told {
    let Some(response) = &sale.record.response else {
        return not_stored(sale, config);
    };
    let headers = response
        .headers
        .iter()
        .map(|(name, value)| (name.clone(), Json::text(value.as_str())))
        .collect();
    let told = Told::plain("replay")
        .with("answer", Json::text(kept::answer_key(sale.id())))
        .with("status", Json::number(u64::from(response.status)))
        .with("headers", Json::Object(headers))
        .with_header("idempotency-replayed", "true".to_owned());
    let told = match &sale.record.receipt_id {
        Some(receipt) => told.with_receipt(receipt, config),
        None => told,
    };
    told.with("otherwise", not_stored(sale, config).0)
}

/// Delivered, and the answer is not to be had: the receipt is.
pub fn not_stored(sale: &Sale, config: &Config) -> Told {
    receipt_problem(Code::AnswerNotStored, sale.record.receipt_id.as_deref(), config)
}

/// Delivered, and past its retention.
pub fn expired(receipt: &str, config: &Config) -> Told {
    receipt_problem(Code::AnswerExpired, Some(receipt), config)
}

fn receipt_problem(code: Code, receipt: Option<&str>, config: &Config) -> Told {
    let problem = Problem::new(code).with_status(410);
    match receipt {
        None => Told::problem(problem),
        Some(receipt) => {
            let body = problem
                .to_json()
                .with("receipt", Json::text(config.receipt_path(receipt)));
            Told::problem(problem)
                .with("problem", body)
                .with_receipt(receipt, config)
        }
    }
}

impl Told {
    /// Where the receipt is, in the headers.
    pub fn with_receipt(self, receipt: &str, config: &Config) -> Told {
        let link = format!("<{}>; rel=\"receipt\"", config.receipt_path(receipt));
        self.with_header("receipt-id", receipt.to_owned())
            .with_header("link", link)
    }
}

/// Paid, and the work is not done: the next call with the same id gets it without being charged.
pub fn owed(poll: &str) -> Result<Told, Error> {
    let problem = Problem::new(Code::PaymentInFlight)
        .with_money(Money::Proven)
        .with_next(Next::ResendSame)
        .with_retry_after(1)
        .with_poll(poll)?;
    Ok(Told::problem(problem))
}

/// The money moved and is owed back: its order is not delivered for it.
pub fn refund_owed() -> Told {
    let problem = Problem::new(Code::RefundOwed).with_status(409);
    Told::problem(problem.with_money(Money::Proven).with_next(Next::Claim))
}

/// The facilitator's word is about another payment: what became of this one is still to be found out.
pub fn differs(sale: &Sale, fields: &[&str]) -> Json {
    let mut alert = finding(Code::SettlementDiffers, sale);
    alert.fields = fields.iter().map(|field| (*field).to_owned()).collect();
    alert.to_json()
}

/// A finding for the seller.
pub fn finding(code: Code, sale: &Sale) -> Finding {
    let mut finding = Finding::new(code, Severity::Alert, code.meaning());
    finding.attempts = vec![sale.id().to_owned()];
    finding.transactions = sale.transaction.iter().cloned().collect();
    finding.amount = sale
        .payments
        .last()
        .map(|one| (one.authorization.value, one.asset, one.network.clone()));
    finding
}
