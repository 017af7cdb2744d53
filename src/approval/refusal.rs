//! A refusal: a person's signed no to one request.
//!
//! The person signs the EIP-712 message `Refusal(address payer,string intentId,uint256 at,bytes32 request,bytes32 hash)` in the domain
//! `{name: "counterfoil refusal", version: "1"}`. docs/formats.md has it member by member.

use super::answer::{head, tail};
use super::Answer;
use crate::address::Address;
use crate::eip712;
use crate::error::Error;
use crate::hex;
use crate::json::Json;
use crate::time::Seconds;

const DOMAIN_NAME: &str = "counterfoil refusal";
const DOMAIN_VERSION: &str = "1";

/// A refusal without its signature.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Refusal {
    /// When it was given, by the person's clock.
    pub at: Seconds,
    /// The request that it answers.
    pub request: [u8; 32],
    /// Whose money.
    pub payer: Address,
    /// The intent that asked.
    pub intent_id: String,
}

impl Refusal {
    /// Reads the document and its signature. Errors: `approval_invalid` (another type, a member that is not known or not in its one form),
    /// `unsupported_version`, those of the fields with their path, `approval_altered` when it has another hash.
    pub fn from_json(json: &Json) -> Result<(Refusal, String), Error> {
        head(json, Refusal::TYPE)?;
        let refusal = Refusal {
            at: json.read("at", Json::as_u64)?,
            request: json.read("request", Json::as_hex)?,
            payer: json.read("payer", Address::from_json)?,
            intent_id: json.read("intentId", Json::as_string)?,
        };
        let signature = tail(json, &refusal)?;
        Ok((refusal, signature))
    }
}

impl Answer for Refusal {
    const TYPE: &'static str = "counterfoil/refusal";
    const TAG: &'static str = "counterfoil/refusal/v1";

    fn body(&self) -> Json {
        Json::object([
            ("type", Json::text(Refusal::TYPE)),
            ("v", Json::number(1)),
            ("at", Json::number(self.at)),
            ("request", Json::text(hex::encode(self.request))),
            ("payer", self.payer.to_json()),
            ("intentId", Json::text(self.intent_id.as_str())),
        ])
    }

    fn typed_data(&self) -> Result<Json, Error> {
        let members = [
            ("payer", "address", self.payer.to_json()),
            ("intentId", "string", Json::text(self.intent_id.as_str())),
            ("at", "uint256", Json::text(self.at.to_string())),
            ("request", "bytes32", Json::text(hex::encode(self.request))),
            ("hash", "bytes32", Json::text(hex::encode(self.hash()?))),
        ];
        Ok(eip712::named_document(
            DOMAIN_NAME,
            DOMAIN_VERSION,
            "Refusal",
            &members,
        ))
    }
}
