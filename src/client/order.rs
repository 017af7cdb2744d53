//! What is ordered from a signer of transactions on Tempo.

use super::Context;
use crate::authorization::Authorization;
use crate::error::{Code, Error};
use crate::tempo::{Due, Order};
use crate::x402::payment_required::Terms;

/// One transaction that pays all that is due, from now to the end of the window. Error: `network_invalid`.
pub(super) fn transaction(terms: &Terms, due: &Due, context: Context<'_>) -> Result<Authorization, Error> {
    let payer = context.config.payer;
    let chain_id = terms.network.chain_id();
    let chain_id = chain_id.ok_or_else(|| Error::new(Code::NetworkInvalid, "network"))?;
    // The chain judges it by its own clock, to which ours is as near as the seller's.
    let length = terms.max_timeout.min(context.config.policy.max_window());
    let end = context.now.saturating_add(length);
    let expires = terms.dictated.and_then(|dictated| dictated.expires);
    let before = expires.map_or(end, |expires| end.min(expires));
    let order = Order::new(due, payer, (chain_id, terms.asset), before, terms.fee);
    Ok(Authorization::Tempo(Box::new(order)))
}
