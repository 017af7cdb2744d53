//! What happens to an order.

use crate::error::{Code, Error};
use crate::json::Json;
use crate::x402::payment_identifier;

/// What a seller does with a payment that lands after its order was closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LateRule {
    /// Deliver after all.
    Fulfil,
    /// Owe the money back.
    Refund,
}

impl LateRule {
    /// Reads the text. Errors: `invalid_type`, `order_event_invalid`.
    pub fn from_json(json: &Json) -> Result<LateRule, Error> {
        match json.as_str()? {
            "fulfil" => Ok(LateRule::Fulfil),
            "refund" => Ok(LateRule::Refund),
            _ => Err(Error::new(Code::OrderEventInvalid, "")),
        }
    }
}

/// One event. Transactions are hashes of 32 bytes, not all zero.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Event {
    /// A payment was presented and checked.
    Pay {
        /// Its id.
        payment_id: String,
        /// The offer that it pays.
        quote_hash: [u8; 32],
    },
    /// The payment on its way was refused, or is given up as far as is known.
    PaymentFailed {
        /// Which payment; the one on its way when absent.
        payment_id: Option<String>,
    },
    /// A transfer for this order was read from the chain.
    PaymentConfirmed {
        /// Where.
        transaction: [u8; 32],
        /// The seller's rule for a confirmation that comes late; not looked at otherwise.
        late: Option<LateRule>,
    },
    /// Delivered.
    Fulfilled,
    /// The quote is over.
    Expire,
    /// Buyer or seller called it off.
    Cancel,
    /// The seller gives the money back.
    Refund,
    /// The money went back.
    Refunded {
        /// Where.
        transaction: [u8; 32],
    },
}

impl Event {
    /// Reads `{type, …}`; members that the type does not have are left out. Errors: `missing_field`, `invalid_type`,
    /// `order_event_invalid` (unknown type or late rule, a transaction of zeros), `payment_id_invalid`, `hex_invalid`.
    pub fn from_json(json: &Json) -> Result<Event, Error> {
        let kind = json.read("type", Json::as_str)?;
        Ok(match kind {
            "pay" => Event::Pay {
                payment_id: json.read("paymentId", payment_id)?,
                quote_hash: json.read("quoteHash", Json::as_hex)?,
            },
            "payment_failed" => Event::PaymentFailed {
                payment_id: json.read_opt("paymentId", Json::as_string)?,
            },
            "payment_confirmed" => Event::PaymentConfirmed {
                transaction: json.read("transaction", transaction)?,
                late: json.read_opt("late", LateRule::from_json)?,
            },
            "fulfilled" => Event::Fulfilled,
            "expire" => Event::Expire,
            "cancel" => Event::Cancel,
            "refund" => Event::Refund,
            "refunded" => Event::Refunded {
                transaction: json.read("transaction", transaction)?,
            },
            _ => return Err(Error::new(Code::OrderEventInvalid, "type")),
        })
    }
}

fn payment_id(json: &Json) -> Result<String, Error> {
    let id = json.as_str()?;
    payment_identifier::is_valid(id)
        .then(|| id.to_owned())
        .ok_or_else(|| Error::new(Code::PaymentIdInvalid, ""))
}

fn transaction(json: &Json) -> Result<[u8; 32], Error> {
    match json.as_hex()? {
        hash if hash == [0; 32] => Err(Error::new(Code::OrderEventInvalid, "")),
        hash => Ok(hash),
    }
}
