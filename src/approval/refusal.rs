//! A refusal: a person's signed no to one request.
//!
//! The person signs the EIP-712 message `Refusal(address payer,string intentId,uint256 at,bytes32 request,bytes32 hash)` in the domain
//! `{name: "counterfoil refusal", version: "1"}`. docs/formats.md has it member by member.

use crate::address::Address;
use crate::digest;
use crate::eip712;
use crate::error::{Code, Error};
use crate::hex;
use crate::json::Json;
use crate::time::Seconds;

/// The kind of document.
pub const TYPE: &str = "counterfoil/refusal";
/// Domain tag of its hash.
pub const TAG: &str = "counterfoil/refusal/v1";

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
        super::head(json, TYPE)?;
        let refusal = Refusal {
            at: json.read("at", Json::as_u64)?,
            request: json.read("request", Json::as_hex)?,
            payer: json.read("payer", Address::from_json)?,
            intent_id: json.read("intentId", Json::as_string)?,
        };
        let signature = super::tail(json, refusal.body(), TAG)?;
        Ok((refusal, signature))
    }

    /// The object that is hashed.
    fn body(&self) -> Json {
        Json::object([
            ("type", Json::text(TYPE)),
            ("v", Json::number(1)),
            ("at", Json::number(self.at)),
            ("request", Json::text(hex::encode(self.request))),
            ("payer", self.payer.to_json()),
            ("intentId", Json::text(self.intent_id.as_str())),
        ])
    }

    /// The document. Error: that of [`Refusal::hash`].
    pub fn to_json(&self, signature: &str) -> Result<Json, Error> {
        let hash = Json::text(hex::encode(self.hash()?));
        Ok(self
            .body()
            .with("hash", hash)
            .with("signature", Json::text(signature)))
    }

    /// The tag, a line feed, and the text of the object without hash and signature. Error: `number_out_of_range`.
    pub fn hash(&self) -> Result<[u8; 32], Error> {
        digest::tagged(TAG, &self.body())
    }

    /// The EIP-712 digest that the person signs. Error: that of [`Refusal::hash`].
    pub fn digest(&self) -> Result<[u8; 32], Error> {
        eip712::hash_typed_data(&self.typed_data()?)
    }

    /// The whole EIP-712 document, for signers outside. Error: that of [`Refusal::hash`].
    pub fn typed_data(&self) -> Result<Json, Error> {
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

    /// Who signed it. Errors: `contract_signature`, `signature_invalid`, those of [`Refusal::digest`].
    pub fn recover(&self, signature: &str) -> Result<Address, Error> {
        super::signer(&self.digest()?, signature)
    }

    /// Whether it is one of these who signed it. Error: `approval_untrusted`.
    pub fn check_signer(&self, signature: &str, approvers: &[Address]) -> Result<Address, Error> {
        self.recover(signature)
            .ok()
            .filter(|signer| approvers.contains(signer))
            .ok_or_else(|| Error::new(Code::ApprovalUntrusted, "signature"))
    }
}
