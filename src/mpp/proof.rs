//! The proof of a charge of nothing: the payer signs that it holds its account, and nothing moves.
//!
//! There are two forms of what is signed, and services take one or the other: the draft's, which names the challenge alone, and that of
//! the official SDK, which names the account and the realm as well. Both are tried, and which one it was is told.

use alloy_primitives::{keccak256, U256};

use super::charge::{Charge, TEMPO};
use super::credential::{self, Credential};
use crate::address::Address;
use crate::amount::Amount;
use crate::eip712;
use crate::error::{Code, Error};
use crate::json::Json;
use crate::secp256k1;

const DOMAIN_TYPE: &str = "EIP712Domain(string name,string version,uint256 chainId)";
const DOMAIN_NAME: &str = "MPP";

/// What was signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// The draft's: domain version 1, `Proof(string challengeId)`.
    Draft,
    /// That of mppx: domain version 3, `Proof(address account,string challengeId,string realm)`.
    Mppx,
}

impl Form {
    /// The text used on every boundary.
    pub const fn as_str(self) -> &'static str {
        match self {
            Form::Draft => "draft",
            Form::Mppx => "mppx",
        }
    }

    /// What is signed for this challenge by this account.
    pub fn digest(self, challenge_id: &str, realm: &str, account: &Address, chain_id: u64) -> [u8; 32] {
        let text = |text: &str| keccak256(text).0;
        let (version, message) = match self {
            Form::Draft => (
                "1",
                [text("Proof(string challengeId)"), text(challenge_id)].concat(),
            ),
            Form::Mppx => (
                "3",
                [
                    text("Proof(address account,string challengeId,string realm)"),
                    account.to_word(),
                    text(challenge_id),
                    text(realm),
                ]
                .concat(),
            ),
        };
        let domain = [
            text(DOMAIN_TYPE),
            text(DOMAIN_NAME),
            text(version),
            U256::from(chain_id).to_be_bytes(),
        ];
        eip712::digest(&keccak256(domain.concat()).0, &keccak256(message).0)
    }
}

/// The form in which the payer that the credential names signed it; `None` when it did in neither. Errors, in this order: those of
/// the charge below `challenge`, `challenge_invalid` at `challenge.request.amount` (not nothing, or another method than `tempo`),
/// `credential_invalid` at `payload.type` and `source` (not `did:pkh` of an account on the charge's chain), `contract_signature`
/// and `signature_invalid` at `payload.signature`.
pub fn form(credential: &Credential) -> Result<Option<Form>, Error> {
    let invalid = |field: &str| Error::new(Code::CredentialInvalid, field);
    let challenge = &credential.challenge;
    let charge = Charge::read(challenge).map_err(|error| error.within("challenge"))?;
    if charge.amount != Amount::ZERO || challenge.method != TEMPO {
        return Err(Error::new(Code::ChallengeInvalid, "challenge.request.amount"));
    }
    let payload = &credential.payload;
    if payload.get("type") != Some(&Json::text("proof")) {
        return Err(invalid("payload.type"));
    }
    let named = credential
        .source
        .as_deref()
        .and_then(|source| source.rsplit_once(':'));
    let account = named
        .and_then(|(_, account)| Address::parse(account).ok())
        .filter(|account| {
            let expected = credential::source(account, charge.chain_id);
            let said = credential.source.as_deref();
            said.is_some_and(|said| said.eq_ignore_ascii_case(&expected))
        })
        .ok_or_else(|| invalid("source"))?;
    let at = |error: Error| error.within("payload.signature");
    let signature = payload.get("signature").and_then(|text| text.as_str().ok());
    let signature = secp256k1::parse_signature(signature.unwrap_or_default()).map_err(at)?;
    let (id, realm, chain_id) = (&challenge.id, &challenge.realm, charge.chain_id);
    let signed = |form: &Form| {
        let digest = form.digest(id, realm, &account, chain_id);
        secp256k1::recover(&digest, &signature) == Ok(account)
    };
    Ok([Form::Draft, Form::Mppx].into_iter().find(signed))
}
