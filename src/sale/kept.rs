//! What a store keeps of one sale: the admission record, the payments that were shown for it, and how far it got.
//!
//! The payment id itself is never kept, only a keyed hash of it: receipts are public, and ids may mean something to those who
//! chose them. The payment's bytes are kept until the answer is delivered, so that whoever takes over can go on with the
//! first payment instead of a second one.

use crate::address::Address;
use crate::admission::{AdmissionRecord, AdmissionRequest, AuthorizationSlot, State};
use crate::eip3009::Authorization;
use crate::error::{Code, Error};
use crate::hex;
use crate::json::Json;
use crate::network::Network;
use crate::time::Seconds;

use super::presented::Presented;

/// The header that carries a payment: name and value.
pub type Header = (String, String);

/// One payment that was shown for a sale.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Payment {
    /// Its bytes, until they are of no use any more.
    pub header: Option<Header>,
    /// The chain.
    pub network: Network,
    /// The token.
    pub asset: Address,
    /// What was signed.
    pub authorization: Authorization,
}

/// One sale.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Sale {
    /// The admission record; its `paymentId` is the keyed hash.
    pub record: AdmissionRecord,
    /// Every payment shown, the one in use last.
    pub payments: Vec<Payment>,
    /// Whether the client chose the id.
    pub chosen: bool,
    /// Grows with every worker that begins or takes over: an earlier one can't write any more.
    pub turn: u64,
    /// Broadcasts that may have begun and whose end is not known: a refusal ends its own, not an earlier one.
    pub broadcasts: u64,
    /// Whether an earlier payment of it may still land, beside the one that paid it.
    pub watching: bool,
    /// Where its payment was seen, while that block can still be replaced.
    pub seen: Option<Seen>,
    /// Why the facilitator refused it before it broadcast anything.
    pub refused: Option<String>,
    /// What the facilitator said when it was paid, or what stands for it when the chain said so.
    pub settlement: Option<Json>,
    /// The settling transaction.
    pub transaction: Option<String>,
    /// The order that it pays.
    pub order: Option<String>,
    /// Keyed hashes of other ids under which the same purchase was asked for.
    pub aliases: Vec<String>,
}

/// A payment that was seen below finality.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Seen {
    /// The number of its block.
    pub block: u64,
    /// It was not there any more when it was last looked for.
    pub gone: bool,
}

impl Seen {
    fn from_json(json: &Json) -> Result<Seen, Error> {
        Ok(Seen {
            block: json.read("block", Json::as_u64)?,
            gone: json.read("gone", Json::as_bool)?,
        })
    }

    fn to_json(self) -> Json {
        Json::object([
            ("block", Json::number(self.block)),
            ("gone", Json::Bool(self.gone)),
        ])
    }
}

/// Between two looks at a payment that is not final, in seconds.
const LOOK_AGAIN: Seconds = 60;

/// A keyed hash: the id of the key, `_`, 64 hexadecimal digits.
pub fn key(id: &str) -> String {
    format!("sale/{id}")
}

/// The row that keeps the bytes of the answer.
pub fn answer_key(id: &str) -> String {
    format!("answer/{id}")
}

/// The row that finds a sale by its place in the token contract: one nonce of one payer is another one on every chain and token.
pub fn slot_key(network: &Network, asset: &Address, payer: &Address, nonce: &[u8; 32]) -> String {
    let nonce = hex::encode(nonce);
    format!("slot/{network}/{asset}/{payer}/{nonce}").to_ascii_lowercase()
}

/// The same place as a facilitator is told of it: `{network, asset, from, nonce}`, the network by either version's name. None for
/// what is no EIP-3009 payment. A checksum that a seller wrote wrong is no reason to lose sight of a payment.
pub fn told_slot(told: &Json) -> Option<String> {
    let name = told.get("network")?.as_str().ok()?;
    let network = Network::parse(name).or_else(|_| Network::from_v1_name(name));
    let asset = told.get("asset")?.as_str().ok()?.to_ascii_lowercase();
    let payer = told.read("from", Address::from_json).ok()?;
    let nonce: [u8; 32] = told.read("nonce", Json::as_hex).ok()?;
    Some(slot_key(
        &network.ok()?,
        &Address::parse(&asset).ok()?,
        &payer,
        &nonce,
    ))
}

/// What a sale row holds.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Row {
    /// A sale.
    Sale(Box<Sale>),
    /// Another id of a sale: that sale's id.
    Alias(String),
}

impl Row {
    /// Reads the value of a row. Errors: those of the record, at the field.
    pub fn from_json(json: &Json) -> Result<Row, Error> {
        match json.read_opt("alias", Json::as_string)? {
            Some(id) => Ok(Row::Alias(id)),
            None => Sale::from_json(json).map(Box::new).map(Row::Sale),
        }
    }
}

impl Payment {
    /// Of a presented payment.
    pub fn new(presented: &Presented, header: Header) -> Payment {
        Payment {
            header: Some(header),
            network: presented.network.clone(),
            asset: presented.asset,
            authorization: presented.authorization.clone(),
        }
    }

    /// The row that finds its sale by its place in the token contract.
    pub fn slot_key(&self) -> String {
        let Authorization { from, nonce, .. } = &self.authorization;
        slot_key(&self.network, &self.asset, from, nonce)
    }

    fn from_json(json: &Json) -> Result<Payment, Error> {
        let header = |json: &Json| -> Result<Header, Error> {
            Ok((
                json.read("name", Json::as_string)?,
                json.read("value", Json::as_string)?,
            ))
        };
        Ok(Payment {
            header: json.read_opt("header", header)?,
            network: json.read("network", Network::from_json)?,
            asset: json.read("asset", Address::from_json)?,
            authorization: json.read("authorization", Authorization::from_json)?,
        })
    }

    fn to_json(&self) -> Json {
        Json::object([
            ("network", self.network.to_json()),
            ("asset", self.asset.to_json()),
            ("authorization", self.authorization.to_json()),
        ])
        .with_some("header", self.header.as_ref().map(header_json))
    }
}

/// `{name, value}`.
pub fn header_json((name, value): &Header) -> Json {
    Json::object([
        ("name", Json::text(name.as_str())),
        ("value", Json::text(value.as_str())),
    ])
}

impl Sale {
    /// A sale that begins now.
    pub fn open(record: AdmissionRecord, payment: Payment, chosen: bool, order: Option<String>) -> Sale {
        Sale {
            record,
            payments: vec![payment],
            chosen,
            turn: 1,
            broadcasts: 0,
            watching: false,
            seen: None,
            refused: None,
            settlement: None,
            transaction: None,
            order,
            aliases: Vec::new(),
        }
    }

    /// The keyed hash under which it is kept.
    pub fn id(&self) -> &str {
        &self.record.request.payment_id
    }

    /// The payment in use.
    pub fn payment(&self) -> Result<&Payment, Error> {
        self.payments
            .last()
            .ok_or_else(|| Error::new(Code::RecordInvalid, "payments"))
    }

    /// Uses this payment from now on; one of the same nonce takes the place of the earlier one.
    pub fn use_payment(&mut self, payment: Payment) {
        let slot = payment.slot_key();
        self.payments.retain(|known| known.slot_key() != slot);
        self.payments.push(payment);
        self.watching = self.payments.len() > 1;
    }

    /// The payments' bytes are of no use any more.
    pub fn forget_bytes(&mut self) {
        for payment in &mut self.payments {
            payment.header = None;
        }
    }

    /// The last second at which one of its authorizations can land.
    pub fn last_valid(&self) -> Seconds {
        let ends = self.payments.iter().map(|payment| {
            payment
                .authorization
                .valid_before
                .to_u64()
                .unwrap_or(Seconds::MAX)
        });
        ends.max().unwrap_or(0)
    }

    /// When its answer is past its retention.
    pub fn kept_until(&self, retention: Seconds) -> Seconds {
        self.record.opened_at.saturating_add(retention)
    }

    /// When the row is looked at again without anybody asking; never once only the receipt is left.
    pub fn due(&self, retention: Seconds) -> Option<Seconds> {
        let kept_until = self.kept_until(retention);
        match self.record.state {
            State::InFlight => Some(self.record.lease_until),
            State::Settled => None,
            State::Delivered => {
                let others = self.watching.then(|| self.last_valid());
                let again = self.record.lease_until.saturating_add(LOOK_AGAIN);
                let looks = [others, self.seen.map(|_| again)];
                Some(looks.into_iter().flatten().fold(kept_until, Seconds::min))
            }
            State::Failed => Some(self.last_valid().min(kept_until)),
            State::Expired => self.watching.then(|| self.last_valid()),
        }
    }

    /// Reads what [`Sale::to_json`] wrote. Errors: those of the record and the payments, at the field.
    pub fn from_json(json: &Json) -> Result<Sale, Error> {
        if json.read("v", Json::as_u64)? != 1 {
            return Err(Error::new(Code::UnsupportedVersion, "v"));
        }
        Ok(Sale {
            record: json.read("record", AdmissionRecord::from_json)?,
            payments: json.read("payments", |list| list.as_list(Payment::from_json))?,
            chosen: json.read("chosen", Json::as_bool)?,
            turn: json.read("turn", Json::as_u64)?,
            broadcasts: json.read("broadcasts", Json::as_u64)?,
            watching: json.read("watching", Json::as_bool)?,
            seen: json.read_opt("seen", Seen::from_json)?,
            refused: json.read_opt("refused", Json::as_string)?,
            settlement: json.get("settlement").cloned(),
            transaction: json.read_opt("transaction", Json::as_string)?,
            order: json.read_opt("order", Json::as_string)?,
            aliases: json
                .read_opt("aliases", |list| list.as_list(Json::as_string))?
                .unwrap_or_default(),
        })
    }

    /// The value of its row.
    pub fn to_json(&self) -> Json {
        let texts = |list: &[String]| Json::Array(list.iter().map(Json::text).collect());
        Json::object([
            ("v", Json::number(1)),
            ("record", self.record.to_json()),
            (
                "payments",
                Json::Array(self.payments.iter().map(Payment::to_json).collect()),
            ),
            ("chosen", Json::Bool(self.chosen)),
            ("turn", Json::number(self.turn)),
            ("broadcasts", Json::number(self.broadcasts)),
            ("watching", Json::Bool(self.watching)),
        ])
        .with_some("seen", self.seen.map(Seen::to_json))
        .with_some("refused", self.refused.as_deref().map(Json::text))
        .with_some("settlement", self.settlement.clone())
        .with_some("transaction", self.transaction.as_deref().map(Json::text))
        .with_some("order", self.order.as_deref().map(Json::text))
        .with("aliases", texts(&self.aliases))
    }
}

/// The request of a presented payment as admission knows it.
pub fn request(presented: &Presented, id: &str, quote_hash: [u8; 32]) -> AdmissionRequest {
    let admitted = AuthorizationSlot {
        network: presented.network.clone(),
        asset: presented.asset,
        nonce: presented.authorization.nonce,
        valid_before: presented.authorization.valid_before,
    };
    AdmissionRequest {
        payment_id: id.to_owned(),
        payer: presented.payer,
        fingerprint: presented.fingerprint,
        quote_hash,
        payload_hash: presented.payload_hash,
        authorizations: vec![admitted],
    }
}
