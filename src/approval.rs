//! An approval: a person's signed word that more may be spent than the policy allows by itself, and what for.
//!
//! It answers one request, and covers every call of the intent that it names and of all below it, up to an amount and until a time. The person
//! signs the EIP-712 message `Approval(address payer,string intentId,string network,address asset,uint256 amount,uint256
//! expiresAt,bytes32 request,bytes32 hash)` in the domain `{name: "counterfoil approval", version: "1"}`. docs/formats.md has it member by member.

mod refusal;

use crate::address::Address;
use crate::amount::Amount;
use crate::digest;
use crate::eip712;
use crate::error::{Code, Error};
use crate::hex;
use crate::json::Json;
use crate::network::Network;
use crate::secp256k1;
use crate::time::Seconds;

pub use refusal::Refusal;

/// The kind of document.
pub const TYPE: &str = "counterfoil/approval";
/// Domain tag of its hash.
pub const TAG: &str = "counterfoil/approval/v1";
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

/// The first members of a person's answer. Errors: those of the fields, `approval_invalid`, `unsupported_version`.
fn head(json: &Json, kind: &str) -> Result<(), Error> {
    if json.read("type", Json::as_str)? != kind {
        return Err(Error::new(Code::ApprovalInvalid, "type"));
    }
    match json.read("v", Json::as_u64)? {
        1 => Ok(()),
        _ => Err(Error::new(Code::UnsupportedVersion, "v")),
    }
}

/// The last members: the signature of an answer that is nothing but `body`, hash and signature. Errors: those of the fields, `approval_invalid`, `approval_altered`.
fn tail(json: &Json, body: Json, tag: &str) -> Result<String, Error> {
    let hash: [u8; 32] = json.read("hash", Json::as_hex)?;
    let signature = json.read("signature", Json::as_string)?;
    let own = digest::tagged(tag, &body)?;
    // One document has one text: nothing stands in it that is not read, and nothing in two forms.
    let whole = body.with("hash", Json::text(hex::encode(hash)));
    let whole = whole.with("signature", Json::text(signature.as_str()));
    if whole.to_canonical()? != json.to_canonical()? {
        return Err(Error::new(Code::ApprovalInvalid, ""));
    }
    match own == hash {
        true => Ok(signature),
        false => Err(Error::new(Code::ApprovalAltered, "hash")),
    }
}

/// Who signed an answer. Errors: `contract_signature`, `signature_invalid`.
fn signer(digest: &[u8; 32], signature: &str) -> Result<Address, Error> {
    secp256k1::recover(digest, &secp256k1::parse_signature(signature)?)
}

impl Approval {
    /// Reads the document and its signature. Errors: `approval_invalid` (another type, a member that is not known or not in its one form,
    /// over before it began), `unsupported_version`, those of the fields with their path, `approval_altered` when it has another hash.
    pub fn from_json(json: &Json) -> Result<(Approval, String), Error> {
        head(json, TYPE)?;
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
        let signature = tail(json, approval.body(), TAG)?;
        match approval.at < approval.expires_at {
            true => Ok((approval, signature)),
            false => Err(Error::new(Code::ApprovalInvalid, "expiresAt")),
        }
    }

    /// The object that is hashed.
    fn body(&self) -> Json {
        Json::object([
            ("type", Json::text(TYPE)),
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

    /// The document. Error: that of [`Approval::hash`].
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

    /// The EIP-712 digest that the person signs. Error: that of [`Approval::hash`].
    pub fn digest(&self) -> Result<[u8; 32], Error> {
        eip712::hash_typed_data(&self.typed_data()?)
    }

    /// The whole EIP-712 document, for signers outside. Error: that of [`Approval::hash`].
    pub fn typed_data(&self) -> Result<Json, Error> {
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

    /// Who signed it. Errors: `contract_signature`, `signature_invalid`, those of [`Approval::digest`].
    pub fn recover(&self, signature: &str) -> Result<Address, Error> {
        signer(&self.digest()?, signature)
    }

    /// Whether it is one of these who signed it. Error: `approval_untrusted`.
    pub fn check_signer(&self, signature: &str, approvers: &[Address]) -> Result<Address, Error> {
        let signer = self.recover(signature).ok();
        signer
            .filter(|signer| approvers.contains(signer))
            .ok_or_else(|| Error::new(Code::ApprovalUntrusted, "signature"))
    }
}
