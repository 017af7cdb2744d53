//! Orders: what a quote froze, where it stands, which sale pays it, and the effects that wait to be carried out.
//!
//! An effect is written with the move that caused it and stays until the host says that it is done, so that a crash in
//! between loses none. A host that died with one in hand, or takes longer than its lease, sees it again, under the same number.

use crate::address::Address;
use crate::amount::Amount;
use crate::digest;
use crate::error::{Code, Error};
use crate::hex;
use crate::json::Json;
use crate::network::Network;
use crate::order::{self, Effect, Event, Order, State};
use crate::quote;
use crate::time::Seconds;

use super::presented::Presented;
use super::rows::{Fault, Rows};
use super::Config;

/// Domain tag of an order's id.
pub const ID_TAG: &str = "counterfoil/order-id/v1";
/// Domain tag of what an order froze.
pub const TERMS_TAG: &str = "counterfoil/order-terms/v1";

/// Bounds of a quote, in seconds.
const QUOTE_SECONDS: core::ops::RangeInclusive<u64> = 1..=86_400;

/// What a quote froze about the money.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Terms {
    /// The chain.
    pub network: Network,
    /// The token.
    pub asset: Address,
    /// The seller's address.
    pub pay_to: Address,
    /// Atomic units.
    pub amount: Amount,
}

impl Terms {
    fn from_json(json: &Json) -> Result<Terms, Error> {
        Ok(Terms {
            network: json.read("network", Network::from_json)?,
            asset: json.read("asset", Address::from_json)?,
            pay_to: json.read("payTo", Address::from_json)?,
            amount: json.read("amount", Amount::from_json)?,
        })
    }

    fn to_json(&self) -> Json {
        Json::object([
            ("network", self.network.to_json()),
            ("asset", self.asset.to_json()),
            ("payTo", self.pay_to.to_json()),
            ("amount", self.amount.to_json()),
        ])
    }

    /// The terms of a payment.
    pub fn of(presented: &Presented) -> Terms {
        Terms {
            network: presented.network.clone(),
            asset: presented.asset,
            pay_to: presented.authorization.to,
            amount: presented.authorization.value,
        }
    }
}

/// One effect that the host has not yet carried out.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Pending {
    number: u64,
    effect: String,
    transaction: Option<String>,
    /// Until then somebody is at it.
    until: Option<Seconds>,
}

/// An order's row.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Quoted {
    /// The order.
    pub order: Order,
    /// What its quote froze.
    pub terms: Terms,
    /// The only payer it is for.
    pub buyer: Option<Address>,
    /// What was asked for, as the seller wants to see it again.
    pub about: Json,
    /// The sale that pays or paid it.
    pub sale: Option<String>,
    pending: Vec<Pending>,
    next_number: u64,
}

/// The row of an order.
pub fn key(id: &str) -> String {
    format!("order/{id}")
}

/// The row of a quote key.
pub fn quote_row(quote_key: &str) -> String {
    format!("quote/{quote_key}")
}

/// What an order's quote hash is a hash of: the order and its terms, whatever request pays it.
pub fn terms_hash(id: &str, terms: &Terms) -> Result<[u8; 32], Error> {
    digest::tagged(TERMS_TAG, &terms.to_json().with("order", Json::text(id)))
}

impl Quoted {
    /// The order of this id. Errors: `order_invalid` when there is none, those of its row.
    pub fn load(rows: &Rows, id: &str) -> Result<Quoted, Fault> {
        let row = rows.get(&key(id))?;
        let row = row.ok_or_else(|| Error::new(Code::OrderInvalid, "order"))?;
        Ok(Quoted::from_json(row)?)
    }

    /// Writes the row. An open quote and one with something pending are looked at again.
    pub fn save(&self, rows: &mut Rows) -> Result<(), Fault> {
        let due = match self.order.state {
            _ if !self.pending.is_empty() => Some(0),
            State::Quoted | State::PaymentFailed => Some(self.order.quote_until),
            _ => None,
        };
        rows.put(&key(&self.order.id), self.to_json(), due)
    }

    /// Whether what was ordered is delivered for the money: not after it was called off, or is owed back.
    pub fn is_delivered(&self) -> bool {
        matches!(self.order.state, State::Paid | State::Fulfilled)
    }

    /// Moves the order; its effects wait in the row. Errors: those of [`order::advance`].
    pub fn advance(&mut self, event: &Event, now: Seconds) -> Result<(), Error> {
        let (order, effects) = order::advance(self.order.clone(), event, now)?;
        let transaction = match event {
            Event::PaymentConfirmed { transaction, .. } | Event::Refunded { transaction } => {
                Some(hex::encode(transaction))
            }
            _ => order.transaction.map(hex::encode),
        };
        self.order = order;
        // The gateway itself sees to the broadcast.
        for effect in effects.into_iter().filter(|effect| *effect != Effect::Broadcast) {
            self.push(effect, transaction.clone());
        }
        Ok(())
    }

    fn push(&mut self, effect: Effect, transaction: Option<String>) {
        self.pending.push(Pending {
            number: self.next_number,
            effect: effect.as_str().to_owned(),
            transaction,
            until: None,
        });
        self.next_number += 1;
    }

    /// `{order, terms, buyer?, about, effects: [{number, effect, transaction?}]}`, for the host.
    pub fn told(&self) -> Json {
        Json::object([
            ("order", self.order.to_json()),
            ("terms", self.terms.to_json()),
            ("about", self.about.clone()),
            ("effects", self.pending_json()),
        ])
        .with_some("buyer", self.buyer.map(|buyer| buyer.to_json()))
    }

    fn pending_json(&self) -> Json {
        let one = |pending: &Pending| {
            Json::object([
                ("number", Json::number(pending.number)),
                ("effect", Json::text(pending.effect.as_str())),
            ])
            .with_some("transaction", pending.transaction.as_deref().map(Json::text))
            .with_some("until", pending.until.map(Json::number))
        };
        Json::Array(self.pending.iter().map(one).collect())
    }

    fn from_json(json: &Json) -> Result<Quoted, Error> {
        let pending = |json: &Json| -> Result<Pending, Error> {
            Ok(Pending {
                number: json.read("number", Json::as_u64)?,
                effect: json.read("effect", Json::as_string)?,
                transaction: json.read_opt("transaction", Json::as_string)?,
                until: json.read_opt("until", Json::as_u64)?,
            })
        };
        Ok(Quoted {
            order: json.read("order", Order::from_json)?,
            terms: json.read("terms", Terms::from_json)?,
            buyer: json.read_opt("buyer", Address::from_json)?,
            about: json.get("about").cloned().unwrap_or(Json::Null),
            sale: json.read_opt("sale", Json::as_string)?,
            pending: json.read("effects", |list| list.as_list(pending))?,
            next_number: json.read("nextNumber", Json::as_u64)?,
        })
    }

    fn to_json(&self) -> Json {
        self.told()
            .with_some("sale", self.sale.as_deref().map(Json::text))
            .with("nextNumber", Json::number(self.next_number))
    }
}

/// Opens a quote, or finds the one that was opened before under the same key: whoever lost the answer gets the same order.
/// One that ended unpaid is followed by a new one. Input `{key? | buyer, intentId, request; terms, quoteSeconds?, stock?,
/// about?}`; the key is [`quote::quote_key`] unless given. Errors, in this order: those of the members,
/// `number_out_of_range` (not 1 second to a day), `terms_changed` (an open quote of this key froze other terms).
pub fn open(rows: &mut Rows, input: &Json, now: Seconds) -> Result<Json, Fault> {
    let buyer = input.read_opt("buyer", Address::from_json)?;
    let terms = input.read("terms", Terms::from_json)?;
    let seconds = input.read_opt("quoteSeconds", Json::as_u64)?.unwrap_or(900);
    if !QUOTE_SECONDS.contains(&seconds) {
        return Err(Error::new(Code::NumberOutOfRange, "quoteSeconds").into());
    }
    let stock = input.read_opt("stock", Json::as_bool)?.unwrap_or(false);
    let quote_key = key_of(input, buyer.as_ref())?;
    let pointer = rows.get(&quote_row(&quote_key))?;
    let round = match pointer {
        None => 0,
        Some(pointer) => {
            let round = pointer.read("round", Json::as_u64)?;
            let id = order_id(&quote_key, round)?;
            let mut known = Quoted::load(rows, &id)?;
            if matches!(known.order.state, State::Quoted | State::PaymentFailed)
                && now >= known.order.quote_until
            {
                known.advance(&Event::Expire, now)?;
                known.save(rows)?;
            }
            let open = matches!(known.order.state, State::Quoted | State::PaymentFailed);
            if open && known.terms != terms {
                return Err(Error::new(Code::TermsChanged, "terms").into());
            }
            if !matches!(known.order.state, State::Expired | State::Cancelled) {
                return Ok(known.told().with("replayed", Json::Bool(true)));
            }
            round + 1
        }
    };
    let id = order_id(&quote_key, round)?;
    rows.get(&key(&id))?;
    let mut quoted = Quoted {
        order: Order {
            quote_hash: terms_hash(&id, &terms)?,
            id,
            state: State::Quoted,
            quote_until: now.saturating_add(seconds),
            stock_held: stock,
            payment_id: None,
            transaction: None,
        },
        terms,
        buyer,
        about: input.get("about").cloned().unwrap_or(Json::Null),
        sale: None,
        pending: Vec::new(),
        next_number: 0,
    };
    if stock {
        quoted.push(Effect::HoldStock, None);
    }
    rows.put(
        &quote_row(&quote_key),
        Json::object([("round", Json::number(round))]),
        None,
    )?;
    quoted.save(rows)?;
    Ok(quoted.told().with("replayed", Json::Bool(false)))
}

/// The row that [`open`] needs first.
pub fn open_keys(input: &Json) -> Result<Vec<String>, Error> {
    let buyer = input.read_opt("buyer", Address::from_json)?;
    Ok(vec![quote_row(&key_of(input, buyer.as_ref())?)])
}

fn key_of(input: &Json, buyer: Option<&Address>) -> Result<String, Error> {
    if let Some(key) = input.read_opt("key", Json::as_string)? {
        return match crate::x402::payment_identifier::is_valid(&key) {
            true => Ok(key),
            false => Err(Error::new(Code::PaymentIdInvalid, "key")),
        };
    }
    let buyer = buyer.ok_or_else(|| Error::new(Code::MissingField, "buyer"))?;
    quote::quote_key(
        buyer,
        input.read("intentId", Json::as_str)?,
        input.require("request")?,
    )
}

fn order_id(quote_key: &str, round: u64) -> Result<String, Error> {
    let what = Json::object([
        ("quoteKey", Json::text(quote_key)),
        ("round", Json::number(round)),
    ]);
    Ok(hex::encode(digest::tagged(ID_TAG, &what)?).replacen("0x", "order_", 1))
}

/// Moves an order by an event of the host: `{order, event}`. Errors: those of the order and the event.
pub fn event(rows: &mut Rows, input: &Json, now: Seconds) -> Result<Json, Fault> {
    let id = input.read("order", Json::as_string)?;
    let event = input.read("event", Event::from_json)?;
    if matches!(event, Event::Pay { .. }) {
        // A payment comes with a sale, or two could be on their way at once.
        return Err(Error::new(Code::OrderEventInvalid, "event.type").into());
    }
    let mut quoted = Quoted::load(rows, &id)?;
    quoted.advance(&event, now)?;
    quoted.save(rows)?;
    Ok(quoted.told())
}

/// One effect of an order is about to be carried out, was, or could not be: `{order, number, move: "begin" | "done" |
/// "failed"}`. `mine` says whether the caller may begin: not while another one is at it, who is believed to be until the lease
/// is over, and not before the effects that come first are done. Errors: those of the row, `order_event_invalid` at `move`.
pub fn effect(rows: &mut Rows, input: &Json, config: &Config, now: Seconds) -> Result<Json, Fault> {
    let id = input.read("order", Json::as_string)?;
    let number = input.read("number", Json::as_u64)?;
    let mut quoted = Quoted::load(rows, &id)?;
    let mut mine = false;
    match input.read("move", Json::as_str)? {
        "begin" => {
            if let Some(first) = quoted.pending.first_mut() {
                mine = first.number == number && first.until.is_none_or(|until| now >= until);
                if mine {
                    first.until = Some(now.saturating_add(config.lease));
                }
            }
        }
        "done" => quoted.pending.retain(|pending| pending.number != number),
        "failed" => {
            let failed = quoted.pending.iter_mut().find(|pending| pending.number == number);
            if let Some(failed) = failed {
                failed.until = None;
            }
        }
        _ => return Err(Error::new(Code::OrderEventInvalid, "move").into()),
    }
    quoted.save(rows)?;
    Ok(quoted.told().with("mine", Json::Bool(mine)))
}

/// The clock moved an order: an open quote that is over ends.
pub fn due(rows: &mut Rows, input: &Json, now: Seconds) -> Result<Json, Fault> {
    let id = input.read("order", Json::as_string)?;
    let mut quoted = Quoted::load(rows, &id)?;
    if matches!(quoted.order.state, State::Quoted | State::PaymentFailed) && now >= quoted.order.quote_until {
        quoted.advance(&Event::Expire, now)?;
        quoted.save(rows)?;
    }
    Ok(quoted.told())
}
