//! The token's events: which of them speak of a nonce, and which Transfer a used authorization made.

use super::rpc::{Log, Reason, Receipt, Word};
use crate::address::Address;
use crate::amount::Amount;
use crate::eip3009::Authorization;

/// `AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce)` of EIP-3009.
pub const AUTHORIZATION_USED: Word = [
    0x98, 0xde, 0x50, 0x35, 0x28, 0xee, 0x59, 0xb5, 0x75, 0xef, 0x0c, 0x0a, 0x25, 0x76, 0xa8, 0x24, 0x97,
    0xbf, 0xc0, 0x29, 0xa5, 0x68, 0x5b, 0x20, 0x9e, 0x9e, 0xc3, 0x33, 0x47, 0x9b, 0x10, 0xa5,
];
/// `AuthorizationCanceled(address indexed authorizer, bytes32 indexed nonce)` of EIP-3009.
pub const AUTHORIZATION_CANCELED: Word = [
    0x1c, 0xdd, 0x46, 0xff, 0x24, 0x27, 0x16, 0xcd, 0xaa, 0x72, 0xd1, 0x59, 0xd3, 0x39, 0xa4, 0x85, 0xb3,
    0x43, 0x83, 0x98, 0x34, 0x8d, 0x68, 0xf0, 0x9d, 0x7c, 0x8c, 0x0a, 0x59, 0x35, 0x3d, 0x81,
];
/// `Transfer(address indexed from, address indexed to, uint256 value)` of ERC-20.
pub const TRANSFER: Word = [
    0xdd, 0xf2, 0x52, 0xad, 0x1b, 0xe2, 0xc8, 0x9b, 0x69, 0xc2, 0xb0, 0x68, 0xfc, 0x37, 0x8d, 0xaa, 0x95,
    0x2b, 0xa7, 0xf1, 0x63, 0xc4, 0xa1, 0x16, 0x28, 0xf5, 0x5a, 0x4d, 0xf5, 0x23, 0xb3, 0xef,
];

/// What the token says happened to an authorization.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Event {
    Used,
    Cancelled,
}

/// An address as an indexed argument.
pub(super) fn topic(address: &Address) -> Word {
    let mut word = [0; 32];
    for (to, from) in word.iter_mut().skip(12).zip(address.0) {
        *to = from;
    }
    word
}

/// The event when `log` is the token's word on this payer and nonce.
pub(super) fn event(log: &Log, token: &Address, authorization: &Authorization) -> Option<Event> {
    let [kind, payer, nonce] = log.topics.as_slice() else {
        return None;
    };
    let ours = log.address == token.0
        && *payer == topic(&authorization.from)
        && *nonce == authorization.nonce
        && log.data.is_empty();
    match *kind {
        AUTHORIZATION_USED if ours => Some(Event::Used),
        AUTHORIZATION_CANCELED if ours => Some(Event::Cancelled),
        _ => None,
    }
}

/// A movement of the token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Transfer {
    pub to: Word,
    pub value: Word,
    /// Of its log, in the block.
    pub index: u64,
}

impl Transfer {
    /// Whether this is its recipient.
    pub fn goes_to(&self, to: &Address) -> bool {
        self.to == topic(to)
    }

    /// Whether it moved exactly this amount to exactly this recipient.
    pub fn is(&self, to: &Address, value: &Amount) -> bool {
        self.goes_to(to) && self.value == value.to_be_bytes()
    }
}

/// The movement when `log` is the token's Transfer from this payer.
pub(super) fn transfer_from(log: &Log, token: &Address, payer: &Address) -> Result<Option<Transfer>, Reason> {
    match log.topics.as_slice() {
        [TRANSFER, from, to] if log.address == token.0 && *from == topic(payer) => {
            let value = log.data.as_slice().try_into().map_err(|_| "logs_malformed")?;
            let index = log.index;
            Ok(Some(Transfer {
                to: *to,
                value,
                index,
            }))
        }
        _ => Ok(None),
    }
}

/// The token's first Transfer from the payer after `used` and before the payer's next `AuthorizationUsed`, so that in a
/// batch no transfer counts for two authorizations.
pub(super) fn transfer_after(
    used: &Log,
    receipt: &Receipt,
    token: &Address,
    payer: &Address,
) -> Result<Option<Transfer>, Reason> {
    let later = receipt
        .logs
        .iter()
        .filter(|log| log.index > used.index && log.address == token.0);
    for log in later {
        match log.topics.as_slice() {
            [AUTHORIZATION_USED, authorizer, ..] if *authorizer == topic(payer) => return Ok(None),
            [TRANSFER, from, to] if *from == topic(payer) => {
                let value = log.data.as_slice().try_into().map_err(|_| "receipt_malformed")?;
                let index = log.index;
                return Ok(Some(Transfer {
                    to: *to,
                    value,
                    index,
                }));
            }
            [TRANSFER, _, _] => {}
            [TRANSFER, ..] => return Err("receipt_malformed"),
            _ => {}
        }
    }
    Ok(None)
}
