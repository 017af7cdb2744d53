//! Proving a payment afterwards: one document, the caller's material, and a list of named checks.
//!
//! Profiles: a bare x402 settlement response or `Payment-Receipt` (header value or JSON), a gateway's receipt with the SHA-256 of the response, x402's
//! signed offers and receipts, a form that the caller describes, a counterfoil bundle, and a payer's claim. Trust comes from the material
//! alone; what a document says of the chain or of its own key is never believed.
//!
//! The verdict is `failed` when any check failed, `verified` when every required check passed, else `incomplete`. The ids
//! of the checks are permanent: `format`, `intent.id`, `quote.request`, `quote.hash`, `authorization.{terms,domain,digest,nonce,signature}`,
//! `payment.header`, `signature`, `signer.authorized`, `record.consistent`, `claim.{statement,amount}`, `receipt.{challenge,time}`, `offer.expiry`,
//! `settlement.{success,network,payer,payTo,asset,amount,transaction}`,
//! `chain.{source,authorization,transfer,finality}`, `delivery.{hash,length}`,
//! `expect.{kind,payer,payTo,resource,amount}`. In a bundle of several purchases each but `format` stands after
//! `purchase[n].`.

mod bundle;
pub(crate) mod checks;
mod claimed;
mod declared;
mod entity;
mod material;
mod payment;
mod profiles;
mod readings;
pub(crate) mod record;
mod settled;
mod signer;

use crate::base64;
use crate::claim;
use crate::error::Error;
use crate::json::{self, Json};
use crate::jws::{self, Task};
use crate::mpp::{
    self,
    receipt::{Receipt, MAX_RECEIPT},
};
use crate::sale;
use crate::x402::offer_receipt::{self, Artifact, Proof};
use crate::x402::settlement_response::{self, SettlementResponse};
use entity::SignedEntity;

pub(crate) use checks::Report;
pub(crate) use declared::Declared;
pub(crate) use material::{web_url, Answer, Material, Subject, Trust};
pub use signer::Made;

fn ours(json: &Json) -> bool {
    let kind = json.get("type").and_then(|kind| kind.as_str().ok());
    kind.is_some_and(|kind| kind.starts_with("counterfoil/"))
}

/// A document of a known profile.
enum Profile {
    Bundle(Json),
    Claim(Json),
    Statement(Box<SignedEntity>),
    Payment(Box<Receipt>),
}

/// A document that was recognised and read; nothing of it is checked yet.
pub(crate) struct Document {
    profile: Profile,
    /// As it came, of a claim.
    text: String,
}

/// Verifies one document and reports. `bytes` are the answer's exact bytes, and behind them, where `material.bodyEnds` says so, what is under their
/// content coding. `made` says whether the signature of a JWS was made.
///
/// Errors in this order: those of the description in `material.profile`; those of the JSON reader, `receipt_invalid` (no known profile), those of the
/// profile's fields; those of the material's other fields.
pub fn verify(receipt: &str, material: &Json, bytes: Option<&[u8]>, made: Made) -> Result<Json, Error> {
    let described = material
        .read_opt("profile", Declared::read)
        .map_err(|error| error.within("material"))?;
    let document = match described {
        Some(described) => Document::described(receipt, &described)?,
        None => Document::read(receipt)?,
    };
    let material = Material::read(material, bytes)?;
    document.judge(&material, made).map(|report| report.to_json())
}

impl Document {
    /// Errors: those of [`verify`] for the document.
    pub fn read(receipt: &str) -> Result<Document, Error> {
        Ok(Document::of(profile(receipt)?, || receipt.to_owned()))
    }

    fn of(profile: Profile, text: impl FnOnce() -> String) -> Document {
        let text = match profile {
            Profile::Claim(_) => text(),
            _ => String::new(),
        };
        Document { profile, text }
    }

    /// Whether it is one of those whose members are signed as they are spelt.
    pub fn is_signed(json: &Json) -> bool {
        ours(json) || offer_receipt::is_artifact(json)
    }

    /// One that stands inside another: an object, or a text as it comes alone. Errors: those of [`verify`] for the document.
    pub fn inside(document: &Json) -> Result<Document, Error> {
        match document {
            Json::String(text) => Document::read(text),
            Json::Object(_) => Ok(Document::of(of_object(document)?, || document.to_text())),
            _ => Err(bundle::invalid("")),
        }
    }

    /// One of the form that the caller describes. Errors: those of [`verify`] for the document.
    pub fn described(receipt: &str, form: &Declared) -> Result<Document, Error> {
        let statement = Profile::Statement(Box::new(form.entity(receipt)?));
        Ok(Document::of(statement, String::new))
    }

    /// The report on it.
    pub fn judge(self, material: &Material, made: Made) -> Result<Report, Error> {
        match self.profile {
            Profile::Bundle(json) => bundle::judge(&json, material),
            Profile::Claim(json) => claimed::judge(&self.text, &json, material),
            Profile::Statement(statement) => entity::judge(*statement, material, made),
            Profile::Payment(receipt) => payment::judge(&receipt, material),
        }
    }

    /// What a host should read from the chain to verify it.
    pub fn targets(&self) -> Result<Json, Error> {
        match &self.profile {
            Profile::Bundle(json) => bundle::targets(json),
            Profile::Claim(json) => claimed::targets(json),
            Profile::Statement(_) | Profile::Payment(_) => Ok(Json::Array(Vec::new())),
        }
    }

    /// The digest of the answer, as of bytes that still carry their content coding or of others; and whether it may be that of the exact bytes, and of
    /// the canonical text.
    pub fn digest(&self, coded: bool) -> Option<([u8; 32], bool, bool)> {
        match &self.profile {
            Profile::Statement(statement) => statement.digest(coded),
            _ => None,
        }
    }

    /// What is signed, of a document that is: the digest of a typed one, the input of a JWS, or a claim without its signature. Not of one with
    /// a signed one inside.
    pub fn what_is_signed(&self) -> Option<Vec<u8>> {
        match &self.profile {
            Profile::Statement(statement) if statement.agrees.is_none() => match statement.proof.as_ref()? {
                Proof::Eip712 { digest, .. } => Some(digest.to_vec()),
                Proof::Jws(jws) => Some(jws.input().to_vec()),
            },
            Profile::Claim(json) => {
                let text = json.clone().without("signature").to_canonical();
                text.ok().map(String::into_bytes)
            }
            _ => None,
        }
    }

    /// What a seller's typed document is signed with: the digest, the signature as it came, and what it is about.
    pub fn signed(&self) -> Option<(&[u8; 32], &str, Option<&str>)> {
        let Profile::Statement(statement) = &self.profile else {
            return None;
        };
        match statement.proof.as_ref()? {
            Proof::Eip712 { digest, signature } => {
                Some((digest, signature, statement.subject.resource.as_deref()))
            }
            Proof::Jws(_) => None,
        }
    }

    /// What must be checked of a JWS, where its key is at hand.
    pub fn task(&self, trust: &Trust) -> Option<Task> {
        let Profile::Statement(statement) = &self.profile else {
            return None;
        };
        match statement.proof.as_ref()? {
            Proof::Jws(jws) => trust.signers.task(jws),
            Proof::Eip712 { .. } => None,
        }
    }
}

/// What a host should read from the chain to verify this document: `[{network, asset, payer, nonce, attemptId,
/// transaction?}]`, of a bundle or a claim; empty for anything else. Errors: those of [`verify`] for the document.
pub fn evidence_targets(receipt: &str) -> Result<Json, Error> {
    Document::read(receipt)?.targets()
}

/// Which answer a seller's receipt says was bought. Errors: those of [`verify`] for the document; `receipt_invalid` for any other
/// profile.
pub(crate) fn named(receipt: &str) -> Result<profiles::Named, Error> {
    match profile(receipt)? {
        Profile::Statement(statement) => Ok((*statement).into()),
        Profile::Bundle(_) | Profile::Claim(_) | Profile::Payment(_) => Err(bundle::invalid("")),
    }
}

fn profile(receipt: &str) -> Result<Profile, Error> {
    let text = receipt.trim();
    if jws::is_jws(text) {
        return Artifact::from_jws(text).map(artifact);
    }
    if !text.starts_with('{') {
        let Some(bytes) = base64::decode_header(text).ok().filter(|_| !text.is_empty()) else {
            return Err(bundle::invalid(""));
        };
        if text.len() <= MAX_RECEIPT
            && json::parse_bytes(&bytes).is_ok_and(|json| mpp::receipt::is_receipt(&json))
        {
            return mpp::receipt::parse(text).map(|receipt| Profile::Payment(Box::new(receipt)));
        }
        return settlement_response::parse(text).and_then(settlement);
    }
    of_object(&json::parse(text)?)
}

fn of_object(json: &Json) -> Result<Profile, Error> {
    let is = |kind: &str| json.get("type").and_then(|own| own.as_str().ok()) == Some(kind);
    if is("counterfoil/bundle") {
        Ok(Profile::Bundle(json.clone()))
    } else if is(claim::TYPE) {
        Ok(Profile::Claim(json.clone()))
    } else if ours(json) && !is(sale::receipt::TYPE) {
        // A document of ours that is not known here is not taken for a seller's.
        Err(bundle::invalid(""))
    } else if is(sale::receipt::TYPE) {
        profiles::gateway(json).map(|statement| Profile::Statement(Box::new(statement)))
    } else if offer_receipt::is_artifact(json) {
        Artifact::from_json(json).map(artifact)
    } else if json.get("success").is_some() && json.get("network").is_some() && !profiles::has_digest(json) {
        SettlementResponse::from_json(json).and_then(settlement)
    } else if mpp::receipt::is_receipt(json) && !profiles::is_gateway(json) {
        Receipt::from_json(json).map(|receipt| Profile::Payment(Box::new(receipt)))
    } else if profiles::is_gateway(json) {
        profiles::gateway(json).map(|statement| Profile::Statement(Box::new(statement)))
    } else {
        Err(bundle::invalid(""))
    }
}

/// A settlement response, with the signed receipt that it may bring along.
fn settlement(response: SettlementResponse) -> Result<Profile, Error> {
    let receipt = offer_receipt::within(&response.json)?;
    let response = profiles::exact(response)?;
    let statement = SignedEntity::from(response);
    Ok(Profile::Statement(Box::new(match receipt {
        Some(receipt) => statement.confirmed_by(receipt.into()),
        None => statement,
    })))
}

fn artifact(artifact: Artifact) -> Profile {
    Profile::Statement(Box::new(artifact.into()))
}
