//! Who may be paid.

use crate::address::Address;
use crate::error::{Code, Error};
use crate::json::Json;
use crate::network::KNOWN_TOKENS;
use crate::x402::payment_required::{Signing, Terms};

/// Addresses that nobody holds a key of, where money is lost: besides zero and the 255 addresses after it (precompiles).
const BURN: [&str; 4] = [
    "0x000000000000000000000000000000000000dead",
    "0xdead000000000000000042069420694206942069",
    "0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee",
    "0xffffffffffffffffffffffffffffffffffffffff",
];

/// One entry of `policy.recipients`. A `0x` text must be a right address; other text names recipients of other rails.
/// Errors: `invalid_type`, `address_invalid`, `address_checksum`.
pub(super) fn read(entry: &Json) -> Result<String, Error> {
    match entry.as_str()? {
        text if text.starts_with("0x") => Ok(Address::parse(text)?.to_string()),
        text => Ok(text.to_owned()),
    }
}

/// Error: `recipient_forbidden`, at `payTo` or at the other recipient of a split payment, for zero, a precompile, a burn address, the token itself, another known token, the payer,
/// and whoever is not on the list when there is one.
pub(super) fn check(terms: &Terms, payer: &Address, allowed: Option<&[String]>) -> Result<(), Error> {
    for (index, share) in terms.shares.iter().enumerate() {
        if !may_receive(share.to, terms, payer, allowed) {
            let field = match (&terms.signing, index) {
                (_, 0) => "payTo",
                (Signing::Tempo(_), _) => "request.methodDetails.splits",
                _ => "extra.fee_split.fee_to",
            };
            return Err(Error::new(Code::RecipientForbidden, field));
        }
    }
    Ok(())
}

fn may_receive(to: Address, terms: &Terms, payer: &Address, allowed: Option<&[String]>) -> bool {
    let low = to.0.iter().rev().skip(1).all(|byte| *byte == 0);
    let burn = || {
        BURN.iter()
            .any(|text| Address::parse(text).is_ok_and(|burn| burn == to))
    };
    let token = || {
        KNOWN_TOKENS
            .iter()
            .any(|token| Address::parse(token.asset).is_ok_and(|token| token == to))
    };
    let listed = || {
        let text = to.to_string();
        allowed.is_none_or(|list| list.contains(&text))
    };
    !(low || burn() || token() || to == terms.asset || to == *payer) && listed()
}
