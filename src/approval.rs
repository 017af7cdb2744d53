//! An approval: a person's signed word that more may be spent than the policy allows by itself, and what for.
//!
//! It answers one request, and covers every call of the intent that it names and of all below it, up to an amount and until a time. The person
//! signs the EIP-712 message `Approval(address payer,string intentId,string network,address asset,uint256 amount,uint256
//! expiresAt,bytes32 request,bytes32 hash)` in the domain `{name: "counterfoil approval", version: "1"}`. docs/formats.md has it member by member.

mod answer;
mod refusal;

use crate::address::Address;
use crate::amount::Amount;
use crate::digest;
use crate::eip712;
use crate::error::{Code, Error};
use crate::hex;
use crate::json::Json;
use crate::network::Network;
use crate::time::Seconds;

pub use answer::Answer;
use answer::{head, tail};
pub use refusal::Refusal;

/// Domain tag of a request's hash.
pub const REQUEST_TAG: &str = "counterfoil/approval-request/v1";

const DOMAIN_NAME: &str = "counterfoil approval";
const DOMAIN_VERSION: &str = "1";

/// An approval without its signature.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Approval {
    /// When it was given, by the person's clock.
    pub at: Seconds,
    /// The first second at which it covers nothing more.
    pub expires_at: Seconds,
    /// The request that it answers.
    pub request: [u8; 32],
    /// Whose money.
    pub payer: Address,
    /// It covers this intent and all below it.
    pub intent_id: String,
    /// Network of the token.
    pub network: Network,
    /// The token.
    pub asset: Address,
    /// The most that all calls under it may spend together.
    pub amount: Amount,
}

/// The hash of a request, as the document names it. Error: `number_out_of_range`.
pub fn request_hash(request: &Json) -> Result<[u8; 32], Error> {
    digest::tagged(REQUEST_TAG, request)
}

impl Approval {
    /// Reads the document and its signature. Errors: `approval_invalid` (another type, a member that is not known or not in its one form,
    /// over before it began), `unsupported_version`, those of the fields with their path, `approval_altered` when it has another hash.
    pub fn from_json(json: &Json) -> Result<(Approval, String), Error> {
        head(json, Approval::TYPE)?;
        let approval = Approval {
            at: json.read("at", Json::as_u64)?,
            expires_at: json.read("expiresAt", Json::as_u64)?,
            request: json.read("request", Json::as_hex)?,
            payer: json.read("payer", Address::from_json)?,
            intent_id: json.read("intentId", Json::as_string)?,
            network: json.read("network", Network::from_json)?,
            asset: json.read("asset", Address::from_json)?,
            amount: json.read("amount", Amount::from_json)?,
        };
        let signature = tail(json, &approval)?;
        match approval.at < approval.expires_at {
            true => Ok((approval, signature)),
            false => Err(Error::new(Code::ApprovalInvalid, "expiresAt")),
        }
    }
}

impl Answer for Approval {
    const TYPE: &'static str = "counterfoil/approval";
    const TAG: &'static str = "counterfoil/approval/v1";

    fn body(&self) -> Json {
        Json::object([
            ("type", Json::text(Approval::TYPE)),
            ("v", Json::number(1)),
            ("at", Json::number(self.at)),
            ("expiresAt", Json::number(self.expires_at)),
            ("request", Json::text(hex::encode(self.request))),
            ("payer", self.payer.to_json()),
            ("intentId", Json::text(self.intent_id.as_str())),
            ("network", self.network.to_json()),
            ("asset", self.asset.to_json()),
            ("amount", self.amount.to_json()),
        ])
    }

    fn typed_data(&self) -> Result<Json, Error> {
        let members = [
            ("payer", "address", self.payer.to_json()),
            ("intentId", "string", Json::text(self.intent_id.as_str())),
            ("network", "string", self.network.to_json()),
            ("asset", "address", self.asset.to_json()),
            ("amount", "uint256", self.amount.to_json()),
            ("expiresAt", "uint256", Json::text(self.expires_at.to_string())),
            ("request", "bytes32", Json::text(hex::encode(self.request))),
            ("hash", "bytes32", Json::text(hex::encode(self.hash()?))),
        ];
        Ok(eip712::named_document(
            DOMAIN_NAME,
            DOMAIN_VERSION,
            "Approval",
            &members,
        ))
    }
}
