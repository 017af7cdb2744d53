//! Where a payment stands, for whoever paid it.

use crate::admission::State;
use crate::error::{Error, Money, Next};
use crate::json::Json;
use crate::time::Seconds;

use super::kept::{self, Sale};
use super::presented::Presented;
use super::rows::{Fault, Rows};
use super::told::Told;
use super::{admit, Config};

/// The status under an id: `{id, ids, presented}`, the id as it was asked for, its keyed hashes, and a payment that the asker shows. It
/// has to be one of the sale, or another one of the same payer to the same recipient under this very id; nothing is said to others, not
/// even that there is something.
pub fn status(rows: &mut Rows, input: &Json, config: &Config, now: Seconds) -> Result<Told, Fault> {
    let id = input.read("id", Json::as_str)?;
    let presented = input.read("presented", Presented::from_json)?;
    let ids = input.read("ids", |list| list.as_list(Json::as_string))?;
    let mut found = None;
    for id in &ids {
        if found.is_none() {
            found = admit::load(rows, id)?;
        }
    }
    match found.filter(|sale| is_theirs(sale, &presented, id)) {
        Some(sale) => Ok(told(&sale, id, config, now)?),
        None => Ok(Told::plain("unknown")),
    }
}

/// A signature that the payer gave another seller shows nothing here: it is made out to another recipient.
fn is_theirs(sale: &Sale, presented: &Presented, id: &str) -> bool {
    let authorization = &presented.authorization;
    let slot = kept::slot_key(
        &presented.network,
        &presented.asset,
        &authorization.from,
        &authorization.nonce,
    );
    let own = |payment: &kept::Payment| payment.slot_key() == slot;
    let like = |payment: &kept::Payment| {
        (&payment.network, payment.asset, payment.authorization.to)
            == (&presented.network, presented.asset, presented.authorization.to)
    };
    let named = presented.chosen && presented.id == id;
    sale.record.request.payer == presented.payer
        && (sale.payments.iter().any(own) || (named && sale.payments.iter().any(like)))
}

fn told(sale: &Sale, id: &str, config: &Config, now: Seconds) -> Result<Told, Error> {
    let (money, next) = match sale.record.state {
        State::InFlight => (Money::Possible, Next::Wait),
        State::Delivered if sale.seen.is_some_and(|seen| seen.gone) => (Money::Possible, Next::Wait),
        State::Settled | State::Delivered => (Money::Proven, Next::ResendSame),
        State::Expired => (Money::Proven, Next::LookupReceipt),
        // Refused; until its window is over the payment could still land.
        State::Failed if now < sale.last_valid() => (Money::Possible, Next::ResendSame),
        State::Failed => (Money::None, Next::ResendSame),
    };
    let waiting = matches!(sale.record.state, State::InFlight | State::Settled);
    let left = sale.record.lease_until.saturating_sub(now).clamp(1, 5);
    let receipt = sale.record.receipt_id.as_deref();
    let status = Json::object([
        ("paymentId", Json::text(id)),
        ("state", Json::text(sale.record.state.as_str())),
        ("money", Json::text(money.as_str())),
        ("next", Json::text(next.as_str())),
    ])
    .with_some("retryAfter", waiting.then(|| Json::number(left)))
    .with_some("transaction", sale.transaction.as_deref().map(Json::text))
    .with_some("final", sale.seen.map(|_| Json::Bool(false)))
    .with_some("receipt", receipt.map(|id| Json::text(config.receipt_path(id))));
    let headers = match waiting {
        true => Json::object([("retry-after", Json::text(left.to_string()))]),
        false => Json::object([]),
    };
    Ok(Told::plain("status")
        .with("status", status)
        .with("headers", headers))
}
