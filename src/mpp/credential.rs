//! The credential: the answer to one challenge, which it echoes byte for byte.

use super::challenge::Challenge;
use super::{MAX_HEADER, SCHEME};
use crate::address::Address;
use crate::base64;
use crate::eip3009::Authorization;
use crate::error::{Code, Error};
use crate::json::{self, Json};
use crate::tempo::Order;

/// A credential as read.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Credential {
    /// The challenge that it answers.
    pub challenge: Challenge,
    /// Who pays, as a DID.
    pub source: Option<String>,
    /// The method's own proof of payment.
    pub payload: Json,
}

impl Credential {
    /// The credential of an EIP-3009 authorization by this payer.
    pub fn of_authorization(
        challenge: Challenge,
        chain_id: u64,
        one: &Authorization,
        signature: &str,
    ) -> Credential {
        let Json::Object(signed) = one.to_json() else {
            return Credential {
                challenge,
                source: None,
                payload: Json::Null,
            };
        };
        let mut payload = Json::object([("type", Json::text("authorization"))]);
        for (name, value) in signed {
            payload.set(&name, value);
        }
        Credential {
            challenge,
            source: Some(source(&one.from, chain_id)),
            payload: payload.with("signature", Json::text(signature)),
        }
    }

    /// The credential of a signed transaction, which the service broadcasts.
    pub fn of_transaction(challenge: Challenge, order: &Order, signed: &str) -> Credential {
        Credential {
            challenge,
            source: Some(source(&order.payment.payer, order.payment.chain_id)),
            payload: Json::object([
                ("signature", Json::text(signed)),
                ("type", Json::text("transaction")),
            ]),
        }
    }

    /// `{challenge, source?, payload}`.
    pub fn to_json(&self) -> Json {
        Json::object([("challenge", self.challenge.to_json())])
            .with_some("source", self.source.as_deref().map(Json::text))
            .with("payload", self.payload.clone())
    }

    /// Reads the object. Errors: those of the challenge below `challenge`; `credential_invalid` for the rest.
    pub fn from_json(json: &Json) -> Result<Credential, Error> {
        let invalid = |field: &str| Error::new(Code::CredentialInvalid, field);
        let challenge = json.get("challenge").ok_or_else(|| invalid("challenge"))?;
        let source = json.read_opt("source", Json::as_string);
        let payload = json.get("payload").filter(|payload| payload.as_object().is_ok());
        Ok(Credential {
            challenge: Challenge::from_json(challenge).map_err(|error| error.within("challenge"))?,
            source: source.map_err(|_| invalid("source"))?,
            payload: payload.ok_or_else(|| invalid("payload"))?.clone(),
        })
    }

    /// The header value: the scheme and base64url of the JSON.
    pub fn encode(&self) -> String {
        format!(
            "{SCHEME} {}",
            base64::encode_url(self.to_json().to_text().as_bytes())
        )
    }
}

/// `did:pkh` of an account.
pub fn source(payer: &Address, chain_id: u64) -> String {
    format!("did:pkh:eip155:{chain_id}:{payer}")
}

/// Reads a header value: exactly one credential. Errors: `too_large`, `credential_invalid` (another scheme, or several values),
/// `base64_invalid`, those of the JSON reader and of [`Credential::from_json`].
pub fn parse(value: &str) -> Result<Credential, Error> {
    if value.len() > MAX_HEADER {
        return Err(Error::new(Code::TooLarge, ""));
    }
    let invalid = || Error::new(Code::CredentialInvalid, "");
    let (scheme, text) = value
        .trim_matches([' ', '\t'])
        .split_once([' ', '\t'])
        .ok_or_else(invalid)?;
    let text = text.trim_start_matches([' ', '\t']);
    if !scheme.eq_ignore_ascii_case(SCHEME) || text.contains([',', ' ', '\t']) {
        return Err(invalid());
    }
    Credential::from_json(&json::parse_bytes(&base64::decode_url(text)?)?)
}
