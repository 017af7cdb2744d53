//! A wallet that is a contract: its signature is bytes of any length, and only the contract says whether they are one (ERC-1271). A wallet
//! that is not deployed yet wraps them with what deploys it (ERC-6492).

use crate::amount::Amount;
use crate::error::{Code, Error};
use crate::hex;

/// `isValidSignature(bytes32,bytes)`; the answer of a contract that says yes begins with the same four bytes.
const MAGIC: [u8; 4] = [0x16, 0x26, 0xba, 0x7e];
/// Longest signature that is carried to the chain.
const MAX_SIGNATURE: usize = 4096;
/// What every byte pair of the last word of a wrapper is.
const WRAPPER: [u8; 2] = [0x64, 0x92];

/// What a contract answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Answer {
    /// The signature is the wallet's.
    Valid,
    /// It is not.
    Invalid,
    /// There is no contract at this address.
    Nobody,
}

/// The call that asks the wallet whether it signed the digest: of a wrapper the inner signature is asked for. Error: `signature_invalid` for
/// what is no hexadecimal text, empty, longer than 4096 bytes, or a wrapper that is not well formed.
pub fn question(digest: &[u8; 32], signature: &str) -> Result<String, Error> {
    let invalid = || Error::new(Code::SignatureInvalid, "");
    let whole = hex::decode(signature).map_err(|_| invalid())?;
    if whole.is_empty() || whole.len() > MAX_SIGNATURE {
        return Err(invalid());
    }
    let bytes = match is_wrapped(signature) {
        true => inner(&whole).ok_or_else(invalid)?,
        false => &whole,
    };
    let word = |number: usize| Amount::from_u64(number as u64).to_be_bytes();
    let padding = bytes.len().wrapping_neg() % 32;
    let mut data = MAGIC.to_vec();
    data.extend_from_slice(digest);
    data.extend_from_slice(&word(0x40));
    data.extend_from_slice(&word(bytes.len()));
    data.extend_from_slice(bytes);
    data.resize(data.len() + padding, 0);
    Ok(hex::encode(data))
}

/// Whether the signature is wrapped for a wallet that may not be deployed yet.
pub fn is_wrapped(signature: &str) -> bool {
    let bytes = hex::decode(signature).unwrap_or_default();
    let last = bytes.len().checked_sub(32).and_then(|at| bytes.get(at..));
    last.is_some_and(|last| last.chunks(2).all(|pair| pair == WRAPPER))
}

/// The third member of `(address factory, bytes call, bytes signature)` in front of the last word.
fn inner(wrapper: &[u8]) -> Option<&[u8]> {
    let tuple = wrapper.get(..wrapper.len().checked_sub(32)?)?;
    let number = |at: usize| {
        let word: [u8; 32] = tuple.get(at..at.checked_add(32)?)?.try_into().ok()?;
        usize::try_from(Amount::from_be_bytes(word).to_u64()?).ok()
    };
    let at = number(64)?;
    let from = at.checked_add(32)?;
    tuple.get(from..from.checked_add(number(at)?)?)
}

/// Reads the answer: one word that begins with the selector and goes on with zeros is a yes; an account without code answers with nothing.
pub fn answer(text: &str) -> Answer {
    let yes =
        |word: [u8; 32]| word.starts_with(&MAGIC) && word.iter().skip(MAGIC.len()).all(|byte| *byte == 0);
    match hex::decode_array::<32>(text) {
        Ok(word) if yes(word) => Answer::Valid,
        _ if text == "0x" => Answer::Nobody,
        _ => Answer::Invalid,
    }
}
