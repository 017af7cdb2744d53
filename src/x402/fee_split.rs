//! `extra.fee_split` of an offer: a part of the price goes to another recipient, by an authorization of its own.
//!
//! `{"v": 1, "fee_to", "fee_amount", "merchant_amount"}`, amounts in atomic units of the asset. The seller's part goes to `payTo`, the
//! other to `fee_to`, and together they are the offer's `amount`. The payment carries the second authorization in
//! `payload.feeAuthorization`, `{authorization, signature}` as the payload itself carries the first.

use super::payment_required::Share;
use crate::address::Address;
use crate::amount::Amount;
use crate::error::{Code, Error};
use crate::json::Json;

/// Its name in `extra`.
pub const MEMBER: &str = "fee_split";
/// The name of the second authorization in a payment's `payload`.
pub const AUTHORIZATION: &str = "feeAuthorization";

/// A member that is not known here may mean a part that would not be signed for.
const MEMBERS: [&str; 4] = ["v", "fee_to", "fee_amount", "merchant_amount"];

/// The parts of a price in the order of their nonces' index: the seller's, then the fee. Errors in this order: `split_unsupported` (no
/// object, another `v`, a member that is not known), those of the members, `split_invalid` (a part of zero, parts that do not add up to
/// the price).
pub(super) fn shares(split: &Json, pay_to: Address, price: Amount) -> Result<Vec<Share>, Error> {
    let unsupported = |field: &str| Error::new(Code::SplitUnsupported, field);
    let Json::Object(members) = split else {
        return Err(unsupported(""));
    };
    if split.get("v") != Some(&Json::number(1)) {
        return Err(unsupported("v"));
    }
    if members.iter().any(|(name, _)| !MEMBERS.contains(&name.as_str())) {
        return Err(unsupported(""));
    }
    let fee = Share {
        to: split.read("fee_to", Address::from_json)?,
        amount: split.read("fee_amount", Amount::from_json)?,
    };
    let seller = Share {
        to: pay_to,
        amount: split.read("merchant_amount", Amount::from_json)?,
    };
    for (share, field) in [(&fee, "fee_amount"), (&seller, "merchant_amount")] {
        if share.amount == Amount::ZERO {
            return Err(Error::new(Code::SplitInvalid, field));
        }
    }
    match seller.amount.checked_add(fee.amount) {
        Some(sum) if sum == price => Ok(vec![seller, fee]),
        _ => Err(Error::new(Code::SplitInvalid, "")),
    }
}
