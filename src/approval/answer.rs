//! What a person signs, a yes or a no: one text, its hash, and a signature under its EIP-712 message.

use crate::address::Address;
use crate::digest;
use crate::eip712;
use crate::error::{Code, Error};
use crate::hex;
use crate::json::Json;
use crate::secp256k1;

/// A person's answer to a request.
pub trait Answer {
    /// The kind of document.
    const TYPE: &'static str;
    /// Domain tag of its hash.
    const TAG: &'static str;

    /// The object that is hashed.
    fn body(&self) -> Json;

    /// The whole EIP-712 document, for signers outside. Error: that of [`Answer::hash`].
    fn typed_data(&self) -> Result<Json, Error>;

    /// The document. Error: that of [`Answer::hash`].
    fn to_json(&self, signature: &str) -> Result<Json, Error> {
        let hash = Json::text(hex::encode(self.hash()?));
        Ok(self
            .body()
            .with("hash", hash)
            .with("signature", Json::text(signature)))
    }

    /// The tag, a line feed, and the text of the object without hash and signature. Error: `number_out_of_range`.
    fn hash(&self) -> Result<[u8; 32], Error> {
        digest::tagged(Self::TAG, &self.body())
    }

    /// The EIP-712 digest that the person signs. Error: that of [`Answer::hash`].
    fn digest(&self) -> Result<[u8; 32], Error> {
        eip712::hash_typed_data(&self.typed_data()?)
    }

    /// Who signed it. Errors: `contract_signature`, `signature_invalid`, those of [`Answer::digest`].
    fn recover(&self, signature: &str) -> Result<Address, Error> {
        secp256k1::recover(&self.digest()?, &secp256k1::parse_signature(signature)?)
    }

    /// Whether it is one of these who signed it. Error: `approval_untrusted`.
    fn check_signer(&self, signature: &str, approvers: &[Address]) -> Result<Address, Error> {
        self.recover(signature)
            .ok()
            .filter(|signer| approvers.contains(signer))
            .ok_or_else(|| Error::new(Code::ApprovalUntrusted, "signature"))
    }
}

/// The first members of an answer. Errors: those of the fields, `approval_invalid`, `unsupported_version`.
pub(super) fn head(json: &Json, kind: &str) -> Result<(), Error> {
    if json.read("type", Json::as_str)? != kind {
        return Err(Error::new(Code::ApprovalInvalid, "type"));
    }
    match json.read("v", Json::as_u64)? {
        1 => Ok(()),
        _ => Err(Error::new(Code::UnsupportedVersion, "v")),
    }
}

/// The signature of an answer that says nothing but what was read of it. Errors: those of the fields, `approval_invalid`, `approval_altered`.
pub(super) fn tail(json: &Json, answer: &impl Answer) -> Result<String, Error> {
    let hash: [u8; 32] = json.read("hash", Json::as_hex)?;
    let signature = json.read("signature", Json::as_string)?;
    // One document has one text: nothing stands in it that is not read, and nothing in two forms.
    let whole = answer.body().with("hash", Json::text(hex::encode(hash)));
    let whole = whole.with("signature", Json::text(signature.as_str()));
    if whole.to_canonical()? != json.to_canonical()? {
        return Err(Error::new(Code::ApprovalInvalid, ""));
    }
    match answer.hash()? == hash {
        true => Ok(signature),
        false => Err(Error::new(Code::ApprovalAltered, "hash")),
    }
}
