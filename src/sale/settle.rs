//! The money: that a broadcast begins, what came of it, and what follows from a transfer that is known.

use crate::admission::State;
use crate::error::{Code, Error};
use crate::hex;
use crate::json::Json;
use crate::order::{Event, LateRule};
use crate::outcome;
use crate::time::Seconds;
use crate::x402::settlement_response::SettlementResponse;

use super::admit;
use super::kept::{Payment, Sale};
use super::quoted::Quoted;
use super::rows::{Fault, Rows};
use super::told::{self, Told};
use super::{refund, wallet, Config};

/// The worker of a sale: the row's id, and the turn that must still be the row's.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Worker {
    /// The sale.
    pub sale: String,
    /// Its turn when the worker began.
    pub turn: u64,
}

impl Worker {
    /// Reads `{sale, turn}`.
    pub fn from_json(json: &Json) -> Result<Worker, Error> {
        Ok(Worker {
            sale: json.read("sale", Json::as_string)?,
            turn: json.read("turn", Json::as_u64)?,
        })
    }

    /// The sale, and whether this worker still holds it.
    pub fn load(&self, rows: &Rows) -> Result<(Box<Sale>, bool), Fault> {
        let sale = admit::load(rows, &self.sale)?.ok_or_else(|| Error::new(Code::RecordInvalid, "sale"))?;
        let holds = sale.turn == self.turn;
        Ok((sale, holds))
    }
}

/// The rule for a late confirmation, once the host was asked.
pub fn late_rule(json: &Json) -> Result<Option<LateRule>, Error> {
    json.read_opt("late", LateRule::from_json)
}

/// The worker is alive: its lease runs anew. Nothing when another one took over.
pub fn renew(rows: &mut Rows, worker: &Worker, config: &Config, now: Seconds) -> Result<Told, Fault> {
    let (mut sale, holds) = worker.load(rows)?;
    if holds && matches!(sale.record.state, State::InFlight | State::Settled) {
        sale.record.lease_until = now.saturating_add(config.lease);
        admit::save(rows, &sale, config)?;
    }
    Ok(Told::plain("renewed"))
}

/// May this payment be broadcast now? `settle` once the row says so; `settled` with the statement when it was paid before; a
/// worker that was taken over gets `refuse`.
pub fn settling(rows: &mut Rows, worker: &Worker, config: &Config, now: Seconds) -> Result<Told, Fault> {
    let (mut sale, holds) = worker.load(rows)?;
    if let Some(settlement) = &sale.settlement {
        return Ok(Told::plain("settled").with("settlement", settlement.clone()));
    }
    if !holds || sale.record.state != State::InFlight {
        return Ok(Told::plain("refuse").with("reason", Json::text(Code::PaymentInFlight.as_str())));
    }
    sale.broadcasts += 1;
    sale.record.lease_until = now.saturating_add(config.lease);
    admit::save(rows, &sale, config)?;
    Ok(Told::plain("settle"))
}

/// What the facilitator said. A success counts whoever asked, when it speaks of this sale's payment; a refusal only as one when it is
/// known to come before any broadcast and names no transaction; everything else leaves the payment unknown.
pub fn settled(
    rows: &mut Rows,
    worker: &Worker,
    input: &Json,
    config: &Config,
    now: Seconds,
) -> Result<Told, Fault> {
    let (mut sale, holds) = worker.load(rows)?;
    let response = input.read("settlement", |said| Ok(SettlementResponse::from_json(said).ok()))?;
    match response {
        Some(response) if response.success => {
            let differs = differs(&response, sale.payment()?);
            if !differs.is_empty() {
                return Ok(Told::plain("noted").with_alerts(vec![told::differs(&sale, &differs)]));
            }
            if let Some(transaction) = response.transaction_hash() {
                let late = late_rule(input)?;
                let alerts = match confirmed(rows, &mut sale, &transaction, response.json, late, config, now)?
                {
                    Confirmed::Ask(ask) => return Ok(ask),
                    Confirmed::Owed(alerts) => alerts,
                    Confirmed::Paid => Vec::new(),
                };
                admit::save(rows, &sale, config)?;
                return Ok(Told::plain("noted").with_alerts(alerts));
            }
        }
        Some(response) if holds && response.transaction.is_empty() => {
            if let Some(code) = response
                .error_reason
                .as_deref()
                .filter(|code| outcome::is_refusal(code))
            {
                sale.broadcasts = sale.broadcasts.saturating_sub(1);
                sale.refused = Some(code.to_owned());
                admit::save(rows, &sale, config)?;
            }
        }
        _ => {}
    }
    Ok(Told::plain("noted"))
}

/// In what a statement speaks of another payment than this one: such a one says nothing about it.
pub fn differs(said: &SettlementResponse, payment: &Payment) -> Vec<&'static str> {
    let authorization = &payment.authorization;
    let differing = [
        ("network", said.network != payment.network),
        (
            "payer",
            said.payer.is_some_and(|payer| payer != authorization.from),
        ),
        (
            "amount",
            said.amount.is_some_and(|amount| amount != authorization.value),
        ),
    ];
    differing
        .into_iter()
        .filter_map(|(field, differs)| differs.then_some(field))
        .collect()
}

/// What a transfer that is known makes of its sale.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Confirmed {
    /// It is paid, and owed its answer.
    Paid,
    /// Its order was paid by another transfer, or is not delivered any more: this one is owed back. Whom to tell.
    Owed(Vec<Json>),
    /// The order was closed before, and the seller's rule has to be asked for.
    Ask(Told),
}

/// A transfer for this sale is known: the sale is paid, and so is its order. Where the order was closed before, the seller's rule
/// decides, and has to be given: without it, nothing is written and the answer asks for it.
pub fn confirmed(
    rows: &mut Rows,
    sale: &mut Sale,
    transaction: &str,
    settlement: Json,
    late: Option<LateRule>,
    config: &Config,
    now: Seconds,
) -> Result<Confirmed, Fault> {
    let hash = hex::decode_array(transaction).map_err(|error| error.within("transaction"))?;
    wallet::spent(rows, sale, config, now)?;
    if let Some(id) = sale.order.clone() {
        let mut order = Quoted::load(rows, &id)?;
        match order.advance(
            &Event::PaymentConfirmed {
                transaction: hash,
                late,
            },
            now,
        ) {
            Err(error) if error.code == Code::LateRuleMissing => {
                rows.forget();
                return Ok(Confirmed::Ask(Told::plain("late").with("order", order.told())));
            }
            moved => moved?,
        }
        // The order heard of a transfer that is owed back when that became known, and not again whenever somebody asks.
        if rows.get(&refund::key(sale.id(), transaction))?.is_none() {
            order.save(rows)?;
        }
        if !order.is_delivered() || order.order.transaction != Some(hash) {
            sale.record.state = State::Expired;
            sale.record.lease_until = now;
            sale.transaction = Some(transaction.to_owned());
            let payment = sale.payment()?.clone();
            let alerts = owe(rows, sale, &payment, transaction, now)?;
            return Ok(Confirmed::Owed(alerts.into_iter().collect()));
        }
    }
    if sale.record.state != State::Delivered {
        sale.record.state = State::Settled;
    }
    sale.settlement = Some(settlement);
    sale.transaction = Some(transaction.to_owned());
    Ok(Confirmed::Paid)
}

/// The statement that stands for a transfer that the chain told of.
pub fn statement(payment: &Payment, transaction: &str) -> Json {
    Json::object([
        ("success", Json::Bool(true)),
        ("transaction", Json::text(transaction)),
        ("network", payment.network.to_json()),
        ("payer", payment.authorization.from.to_json()),
    ])
}

/// Refused before any broadcast, or proven dead: nothing was charged, and the same id may be tried again.
pub fn failed(rows: &mut Rows, sale: &mut Sale, config: &Config, now: Seconds) -> Result<(), Fault> {
    sale.record.state = State::Failed;
    sale.record.lease_until = now;
    sale.broadcasts = 0;
    sale.forget_bytes();
    if let Some(id) = sale.order.clone() {
        let mut order = Quoted::load(rows, &id)?;
        let event = Event::PaymentFailed {
            payment_id: Some(sale.id().to_owned()),
        };
        match order.advance(&event, now) {
            // Another payment is on its way, or the order was moved by hand: this failure is not about that.
            Err(error) if error.code == Code::OrderMoveIllegal => {}
            moved => {
                moved?;
                order.save(rows)?;
            }
        }
    }
    wallet::release(rows, sale, config, now)?;
    admit::save(rows, sale, config)
}

/// A second transfer for one purchase: it is owed back, and its order hears of it. The finding, the first time.
pub fn second(
    rows: &mut Rows,
    sale: &Sale,
    payment: &Payment,
    transaction: &str,
    now: Seconds,
) -> Result<Option<Json>, Fault> {
    let finding = owe(rows, sale, payment, transaction, now)?;
    if let (Some(id), Some(_)) = (&sale.order, &finding) {
        let event = Event::PaymentConfirmed {
            transaction: hex::decode_array(transaction).map_err(|error| error.within("transaction"))?,
            late: Some(LateRule::Refund),
        };
        let mut order = Quoted::load(rows, id)?;
        order.advance(&event, now)?;
        order.save(rows)?;
    }
    Ok(finding)
}

/// Money that is owed back, until someone shows that it went back. The finding, the first time.
fn owe(
    rows: &mut Rows,
    sale: &Sale,
    payment: &Payment,
    transaction: &str,
    now: Seconds,
) -> Result<Option<Json>, Fault> {
    let owed = refund::Owed {
        sale: sale.id(),
        order: sale.order.as_deref(),
        payer: payment.authorization.from,
        network: &payment.network,
        asset: payment.asset,
        amount: payment.authorization.value,
        transaction,
    };
    if !refund::open(rows, &owed, now)? {
        return Ok(None);
    }
    let mut finding = told::finding(Code::RefundOwed, sale);
    finding.amount = Some((
        payment.authorization.value,
        payment.asset,
        payment.network.clone(),
    ));
    finding.transactions.push(transaction.to_owned());
    Ok(Some(finding.to_json()))
}
