//! One quote, one payment: the seller's order, moved by one event at a time.
//!
//! | event | from | to | effects |
//! |---|---|---|---|
//! | pay | quoted, payment_failed, while the quote is open | paying | broadcast |
//! | payment_failed | paying | payment_failed | release_stock, when the quote is over |
//! | payment_confirmed | paying | paid | fulfil |
//! | payment_confirmed, late: fulfil | payment_failed, expired, cancelled | paid | hold_stock if given back, fulfil |
//! | payment_confirmed, late: refund | payment_failed, expired, cancelled | refund_pending | release_stock, refund_owed |
//! | payment_confirmed again, same transaction | paid, fulfilled, refund_pending, refunded | the same | none |
//! | payment_confirmed, another transaction | paid, fulfilled, refund_pending, refunded | the same | refund_owed |
//! | fulfilled | paid | fulfilled | none |
//! | expire | quoted, payment_failed, once the quote is over | expired | release_stock |
//! | cancel | quoted, payment_failed | cancelled | release_stock |
//! | refund | paid, fulfilled | refund_pending | release_stock, refund_owed |
//! | refunded | refund_pending | refunded | none |
//!
//! Stock is released only while it is held. The host writes the order before it carries an effect out: `broadcast` above all, so
//! that a second payment meets an order that is being paid already. An order that is being paid never expires, and
//! none that failed is final against the chain: what lands late is fulfilled or owed back, as the seller's rule says.

mod event;

pub use event::{Event, LateRule};

use crate::error::{Code, Error};
use crate::hex;
use crate::json::Json;
use crate::time::Seconds;

/// Where an order stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum State {
    /// Offered, not paid.
    Quoted,
    /// A payment is on its way.
    Paying,
    /// The payment failed as far as is known; it may still land.
    PaymentFailed,
    /// One transfer is proven.
    Paid,
    /// Paid and delivered.
    Fulfilled,
    /// The quote ended unpaid.
    Expired,
    /// Called off unpaid.
    Cancelled,
    /// Money is owed back.
    RefundPending,
    /// Money was given back, with the transaction that shows it.
    Refunded,
}

impl State {
    /// All of them.
    pub const ALL: [State; 9] = [
        State::Quoted,
        State::Paying,
        State::PaymentFailed,
        State::Paid,
        State::Fulfilled,
        State::Expired,
        State::Cancelled,
        State::RefundPending,
        State::Refunded,
    ];

    /// The text in the order.
    pub const fn as_str(self) -> &'static str {
        match self {
            State::Quoted => "quoted",
            State::Paying => "paying",
            State::PaymentFailed => "payment_failed",
            State::Paid => "paid",
            State::Fulfilled => "fulfilled",
            State::Expired => "expired",
            State::Cancelled => "cancelled",
            State::RefundPending => "refund_pending",
            State::Refunded => "refunded",
        }
    }

    /// Reads the text in the order. Errors: `invalid_type`, `order_invalid`.
    pub fn from_json(json: &Json) -> Result<State, Error> {
        let text = json.as_str()?;
        State::ALL
            .into_iter()
            .find(|state| state.as_str() == text)
            .ok_or_else(|| Error::new(Code::OrderInvalid, ""))
    }
}

/// What the host has to do once the moved order is durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    /// Hand the authorization to the chain.
    Broadcast,
    /// Take stock again; when none is left, a `refund` event follows.
    HoldStock,
    /// Give stock back.
    ReleaseStock,
    /// Deliver.
    Fulfil,
    /// Open a record of money owed, under the transaction of the event, or of the order when the event names none.
    RefundOwed,
}

impl Effect {
    /// The text used on every boundary.
    pub const fn as_str(self) -> &'static str {
        match self {
            Effect::Broadcast => "broadcast",
            Effect::HoldStock => "hold_stock",
            Effect::ReleaseStock => "release_stock",
            Effect::Fulfil => "fulfil",
            Effect::RefundOwed => "refund_owed",
        }
    }
}

/// One order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Order {
    /// The seller's own id.
    pub id: String,
    /// The frozen offer that it is for.
    pub quote_hash: [u8; 32],
    /// Where it stands.
    pub state: State,
    /// The offer is open before this time only.
    pub quote_until: Seconds,
    /// Whether goods are set aside.
    pub stock_held: bool,
    /// The payment that is or was last on its way.
    pub payment_id: Option<String>,
    /// The transaction that paid it.
    pub transaction: Option<[u8; 32]>,
}

impl Order {
    /// Reads the members, others are left out. Errors, in this order of fields: `missing_field`, `invalid_type`,
    /// `hex_invalid`, `order_invalid`, `number_out_of_range`.
    pub fn from_json(json: &Json) -> Result<Order, Error> {
        Ok(Order {
            id: json.read("id", Json::as_string)?,
            quote_hash: json.read("quoteHash", Json::as_hex)?,
            state: json.read("state", State::from_json)?,
            quote_until: json.read("quoteUntil", Json::as_u64)?,
            stock_held: json.read("stockHeld", Json::as_bool)?,
            payment_id: json.read_opt("paymentId", Json::as_string)?,
            transaction: json.read_opt("transaction", Json::as_hex)?,
        })
    }

    /// The contract's members.
    pub fn to_json(&self) -> Json {
        Json::object([
            ("id", Json::text(self.id.as_str())),
            ("quoteHash", Json::text(hex::encode(self.quote_hash))),
            ("state", Json::text(self.state.as_str())),
            ("quoteUntil", Json::number(self.quote_until)),
            ("stockHeld", Json::Bool(self.stock_held)),
        ])
        .with_some("paymentId", self.payment_id.as_deref().map(Json::text))
        .with_some(
            "transaction",
            self.transaction.map(|hash| Json::text(hex::encode(hash))),
        )
    }

    fn in_state(mut self, state: State) -> Order {
        self.state = state;
        self
    }

    /// The order without its stock, and the effect that gives the stock back.
    fn without_stock(mut self) -> (Order, Vec<Effect>) {
        let effects = self.stock_held.then_some(Effect::ReleaseStock);
        self.stock_held = false;
        (self, effects.into_iter().collect())
    }

    /// The transaction that paid it. Error: `missing_field`.
    fn paid_by(&self) -> Result<[u8; 32], Error> {
        self.transaction
            .ok_or_else(|| Error::new(Code::MissingField, "order.transaction"))
    }
}

/// Moves an order by one event. On an error nothing moved. Errors: `order_move_illegal` at `order.state`, or at `now` for an
/// `expire` before its time; of `pay`, in this order: `quote_already_paying`, `quote_not_open`, `quote_expired`,
/// `terms_changed`; of a late confirmation: `late_rule_missing`; of `payment_failed`: `order_move_illegal` at
/// `event.paymentId` when it speaks of another payment than the one on its way; of `refunded`: `order_event_invalid` at
/// `event.transaction` when it names the payment itself; `missing_field` at `order.transaction` where a paid order names none.
pub fn advance(order: Order, event: &Event, now: Seconds) -> Result<(Order, Vec<Effect>), Error> {
    match event {
        Event::Pay {
            payment_id,
            quote_hash,
        } => pay(order, payment_id, quote_hash, now),
        Event::PaymentFailed { payment_id } => payment_failed(order, payment_id.as_deref(), now),
        Event::PaymentConfirmed { transaction, late } => confirmed(order, *transaction, *late),
        Event::Fulfilled => match order.state {
            State::Paid => {
                let mut order = order.in_state(State::Fulfilled);
                order.stock_held = false;
                Ok((order, Vec::new()))
            }
            _ => Err(illegal()),
        },
        Event::Expire => match order.state {
            State::Quoted | State::PaymentFailed if now < order.quote_until => {
                Err(Error::new(Code::OrderMoveIllegal, "now"))
            }
            State::Quoted | State::PaymentFailed => Ok(order.in_state(State::Expired).without_stock()),
            _ => Err(illegal()),
        },
        Event::Cancel => match order.state {
            State::Quoted | State::PaymentFailed => Ok(order.in_state(State::Cancelled).without_stock()),
            _ => Err(illegal()),
        },
        Event::Refund => match order.state {
            State::Paid | State::Fulfilled => Ok(owed_back(order)),
            _ => Err(illegal()),
        },
        Event::Refunded { transaction } => refunded(order, transaction),
    }
}

fn illegal() -> Error {
    Error::new(Code::OrderMoveIllegal, "order.state")
}

fn pay(
    mut order: Order,
    payment_id: &str,
    quote_hash: &[u8; 32],
    now: Seconds,
) -> Result<(Order, Vec<Effect>), Error> {
    match order.state {
        State::Paying => Err(Error::new(Code::QuoteAlreadyPaying, "order.state")),
        State::Paid | State::Fulfilled | State::Cancelled | State::RefundPending | State::Refunded => {
            Err(Error::new(Code::QuoteNotOpen, "order.state"))
        }
        State::Expired => Err(Error::new(Code::QuoteExpired, "order.state")),
        State::Quoted | State::PaymentFailed if now >= order.quote_until => {
            Err(Error::new(Code::QuoteExpired, "now"))
        }
        State::Quoted | State::PaymentFailed if *quote_hash != order.quote_hash => {
            Err(Error::new(Code::TermsChanged, "event.quoteHash"))
        }
        State::Quoted | State::PaymentFailed => {
            order.payment_id = Some(payment_id.to_owned());
            Ok((order.in_state(State::Paying), vec![Effect::Broadcast]))
        }
    }
}

/// A failure reported late must not fail the payment that came after it.
fn payment_failed(
    order: Order,
    payment_id: Option<&str>,
    now: Seconds,
) -> Result<(Order, Vec<Effect>), Error> {
    if order.state != State::Paying {
        return Err(illegal());
    }
    if payment_id.is_some() && payment_id != order.payment_id.as_deref() {
        return Err(Error::new(Code::OrderMoveIllegal, "event.paymentId"));
    }
    let over = now >= order.quote_until;
    let order = order.in_state(State::PaymentFailed);
    Ok(match over {
        true => order.without_stock(),
        false => (order, Vec::new()),
    })
}

fn confirmed(
    mut order: Order,
    transaction: [u8; 32],
    late: Option<LateRule>,
) -> Result<(Order, Vec<Effect>), Error> {
    match order.state {
        State::Quoted => Err(illegal()),
        State::Paying => {
            order.transaction = Some(transaction);
            Ok((order.in_state(State::Paid), vec![Effect::Fulfil]))
        }
        State::PaymentFailed | State::Expired | State::Cancelled => {
            let late = late.ok_or_else(|| Error::new(Code::LateRuleMissing, "event.late"))?;
            order.transaction = Some(transaction);
            Ok(match late {
                LateRule::Refund => owed_back(order),
                LateRule::Fulfil => {
                    let hold = (!order.stock_held).then_some(Effect::HoldStock);
                    order.stock_held = true;
                    let effects = hold.into_iter().chain([Effect::Fulfil]).collect();
                    (order.in_state(State::Paid), effects)
                }
            })
        }
        State::Paid | State::Fulfilled | State::RefundPending | State::Refunded => {
            let twice = (order.paid_by()? != transaction).then_some(Effect::RefundOwed);
            Ok((order, twice.into_iter().collect()))
        }
    }
}

fn owed_back(order: Order) -> (Order, Vec<Effect>) {
    let (order, mut effects) = order.in_state(State::RefundPending).without_stock();
    effects.push(Effect::RefundOwed);
    (order, effects)
}

/// Closes only with evidence: the transaction that gave the money back.
fn refunded(order: Order, transaction: &[u8; 32]) -> Result<(Order, Vec<Effect>), Error> {
    if order.state != State::RefundPending {
        return Err(illegal());
    }
    if order.paid_by()? == *transaction {
        return Err(Error::new(Code::OrderEventInvalid, "event.transaction"));
    }
    Ok((order.in_state(State::Refunded), Vec::new()))
}
