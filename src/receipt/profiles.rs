//! The profiles of a single statement by a seller: an x402 settlement response, or a gateway's receipt with the SHA-256 of
//! the response. Neither is signed, so each proves only what the caller's material confirms.

use super::checks::{Checks, Report};
use super::material::{self, Material, Said, Subject};
use crate::address::Address;
use crate::amount::Amount;
use crate::base64;
use crate::error::{Code, Error};
use crate::evidence;
use crate::hex;
use crate::json::Json;
use crate::network::Network;
use crate::x402::settlement_response::SettlementResponse;

const DOES_NOT_PROVE: &[&str] = &[
    "That the answer was correct, complete or useful.",
    "Who operates the recipient's address.",
    "That the seller wrote this document: it carries no signature of the seller.",
    "That the payer received the answer.",
];

/// An unsigned statement of a seller.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Statement {
    success: Option<bool>,
    /// SHA-256 of what was under the response's content coding.
    decoded: Option<[u8; 32]>,
    subject: Subject,
}

/// Which answer a seller's receipt says was bought, in which transaction and by whom.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Named {
    pub sha256: Option<[u8; 32]>,
    pub transaction: Option<String>,
    pub payer: Option<Address>,
}

impl From<Statement> for Named {
    fn from(statement: Statement) -> Named {
        Named {
            sha256: statement.decoded.or(statement.subject.sha256),
            transaction: statement.subject.transaction,
            payer: statement.subject.payer,
        }
    }
}

/// A settlement response whose payer, if it names one, is an address: what a client may overlook, a proof must not. Errors:
/// `address_invalid`, `address_checksum`.
pub(super) fn exact(response: SettlementResponse) -> Result<SettlementResponse, Error> {
    if response.network.chain_id().is_some() {
        response.json.read_opt("payer", Address::from_json)?;
    }
    Ok(response)
}

impl From<SettlementResponse> for Statement {
    fn from(response: SettlementResponse) -> Statement {
        Statement {
            success: Some(response.success),
            decoded: None,
            subject: Subject {
                kind: "settlement",
                network: Some(response.network),
                payer: response.payer,
                amount: response.amount,
                transaction: Some(response.transaction).filter(|hash| !hash.is_empty()),
                ..Subject::default()
            },
        }
    }
}

/// Members under which gateways publish the hexadecimal SHA-256 of the response.
const HASH: &[&str] = &[
    "responseSha256",
    "response_sha256",
    "responseHash",
    "response_hash",
    "bodySha256",
    "body_sha256",
    "sha256",
];
/// Members in the syntax of the `Digest` header fields.
const DIGEST: &[&str] = &[
    "contentDigest",
    "content-digest",
    "reprDigest",
    "repr-digest",
    "digest",
];
const TRANSACTION: &[&str] = &["transaction", "txHash", "tx_hash", "transactionHash"];

fn any(json: &Json, names: &[&str]) -> bool {
    names.iter().any(|name| json.get(name).is_some())
}

/// Whether this object carries a digest of the response, which a settlement response never does.
pub(super) fn has_digest(json: &Json) -> bool {
    any(json, HASH) || any(json, DIGEST) || described(json).is_some()
}

/// The member that describes the response in a seller's receipt of ours: its digest, and that of what was under its coding.
fn described(json: &Json) -> Option<&Json> {
    json.get("response")
        .filter(|response| response.get("sha256").is_some())
}

/// Whether this object looks like a gateway's receipt: a digest of the response, or a payer and a transaction.
pub(super) fn is_gateway(json: &Json) -> bool {
    has_digest(json) || (any(json, TRANSACTION) && any(json, &["payer"]))
}

/// Reads a gateway's receipt. Errors: `receipt_invalid` when a digest or a transaction is malformed, or one thing is said in two
/// ways; those of the fields.
pub(super) fn gateway(json: &Json) -> Result<Statement, Error> {
    let hash = |hash: &Json| sha256(hash.as_str()?);
    let within = |error: Error| error.within("response");
    let sent = described(json)
        .map(|response| response.read("sha256", hash))
        .transpose()
        .map_err(within)?;
    let decoded = described(json)
        .map(|response| response.read_opt("decoded", |decoded| decoded.read("sha256", hash)))
        .transpose()
        .map_err(within)?
        .flatten();
    let bare = field(json, HASH, hash)?;
    if bare.is_some() && sent.is_some() && bare != sent {
        return Err(Error::new(Code::ReceiptInvalid, "response.sha256"));
    }
    let bare = bare.or(sent);
    let header = field(json, DIGEST, |hash| digest_field(hash.as_str()?))?;
    if bare.is_some() && header.is_some() && bare != header {
        return Err(Error::new(Code::ReceiptInvalid, "digest"));
    }
    let network = field(json, &["network"], |name| {
        let name = name.as_str()?;
        Network::parse(name).or_else(|error| Network::from_v1_name(name).map_err(|_| error))
    })?;
    let foreign = network
        .as_ref()
        .is_some_and(|network| network.chain_id().is_none());
    let transaction = field(json, TRANSACTION, |hash| match hash.as_str()? {
        hash if foreign => Ok(hash.to_owned()),
        hash => hex::decode_array::<32>(hash)
            .map(hex::encode)
            .map_err(|_| Error::new(Code::ReceiptInvalid, "")),
    })?;
    Ok(Statement {
        success: json.read_opt("success", Json::as_bool)?,
        decoded,
        subject: Subject {
            kind: "receipt",
            network,
            asset: field(json, &["asset", "token"], Address::from_json)?,
            payer: field(json, &["payer", "from"], Address::from_json)?,
            pay_to: field(json, &["payTo", "pay_to", "recipient", "to"], Address::from_json)?,
            amount: field(json, &["amount", "value"], Amount::from_json)?,
            resource: field(
                json,
                &["resource", "resourceUrl", "resource_url", "url"],
                |resource| resource.get("url").unwrap_or(resource).as_string(),
            )?,
            transaction,
            sha256: bare.or(header),
            delivered: false,
        },
    })
}

/// The member under any of these names; under several they must say the same.
fn field<T: PartialEq>(
    json: &Json,
    names: &[&str],
    read: impl Fn(&Json) -> Result<T, Error>,
) -> Result<Option<T>, Error> {
    let mut found = None;
    for name in names {
        let value = json.read_opt(name, &read)?;
        if found.is_some() && value.is_some() && found != value {
            return Err(Error::new(Code::ReceiptInvalid, *name));
        }
        found = found.or(value);
    }
    Ok(found)
}

/// 64 hexadecimal digits in any case, bare or after `0x` or `sha256:`. Error: `receipt_invalid`.
fn sha256(text: &str) -> Result<[u8; 32], Error> {
    let digits = text
        .strip_prefix("sha256:")
        .or_else(|| text.strip_prefix("0x"))
        .unwrap_or(text);
    hex::decode_array(&format!("0x{digits}")).map_err(|_| Error::new(Code::ReceiptInvalid, ""))
}

/// `sha-256=:<base64>:` of RFC 9530. Error: `receipt_invalid`.
fn digest_field(text: &str) -> Result<[u8; 32], Error> {
    text.strip_prefix("sha-256=:")
        .and_then(|rest| rest.strip_suffix(':'))
        .and_then(|encoded| base64::decode_header(encoded).ok())
        .and_then(|bytes| bytes.try_into().ok())
        .ok_or_else(|| Error::new(Code::ReceiptInvalid, ""))
}

/// The report on a seller's statement.
pub(super) fn judge(statement: Statement, material: &Material) -> Result<Report, Error> {
    let Statement {
        success,
        decoded,
        mut subject,
    } = statement;
    // Bytes that still carry their coding are those that were sent; others are what was under it.
    if !material.coded {
        subject.sha256 = decoded.or(subject.sha256);
    }
    let mut checks = Checks::default();
    checks.pass("format");
    if let Some(success) = success {
        checks.equal("settlement.success", &true, &success);
    }
    authorized(&mut checks, material)?;

    let network = match (&material.domain, &material.terms) {
        (Some(domain), _) => Some(material::network_of(domain)?),
        (None, Some(terms)) => Some(terms.network.clone()),
        (None, None) => None,
    };
    let authorization = material.authorization.as_ref();
    let why = "Hand in the authorization and its domain.";
    compare(
        &mut checks,
        "settlement.network",
        network.as_ref(),
        subject.network.as_ref(),
        why,
    );
    compare(
        &mut checks,
        "settlement.payer",
        authorization.map(|one| &one.from),
        subject.payer.as_ref(),
        why,
    );
    let recipient = authorization.map(|one| one.to);
    compare(
        &mut checks,
        "settlement.payTo",
        recipient.as_ref(),
        subject.pay_to.as_ref(),
        why,
    );
    compare(
        &mut checks,
        "settlement.amount",
        authorization.map(|one| &one.value),
        subject.amount.as_ref(),
        why,
    );

    let asset = material.domain.as_ref().map(|domain| domain.verifying_contract);
    let asset = asset
        .or(material.terms.as_ref().map(|terms| terms.asset))
        .or(subject.asset);
    let network = network.or(subject.network.clone());
    compare(
        &mut checks,
        "settlement.asset",
        asset.as_ref(),
        subject.asset.as_ref(),
        why,
    );
    let known = authorization
        .zip(network.clone())
        .zip(asset)
        .map(|((authorization, network), asset)| {
            (
                core::slice::from_ref(authorization),
                material.trust.context(network, asset),
            )
        });
    let resolve = known.map(|(authorizations, context)| {
        move |evidence: &[Json]| evidence::resolve(authorizations, &context, evidence)
    });
    let resolve = resolve.as_ref().map(|resolve| resolve as material::Judge);
    let verdict = material::chain(
        &mut checks,
        resolve,
        &material.evidence,
        Said::of(success != Some(false)),
    );
    material::transaction(
        &mut checks,
        subject.network.as_ref(),
        subject.transaction.as_deref(),
        verdict.as_ref(),
    );

    match (&subject.sha256, &material.answer) {
        (Some(hash), Some(answer)) => material::delivery(&mut checks, hash, None, answer, material.coded),
        (Some(_), None) => checks.missing("delivery.hash", "Hand in the exact bytes of the answer."),
        (None, _) => checks.skip("delivery.hash", "This document holds no digest of the answer."),
    }
    subject.delivered = checks.passed("delivery.hash");

    // What was signed says more than what the seller repeats of it; where both speak, they were compared above.
    subject.network = subject.network.or(network);
    subject.asset = subject.asset.or(asset);
    subject.payer = subject.payer.or(authorization.map(|one| one.from));
    subject.pay_to = subject.pay_to.or(authorization.map(|one| one.to));
    subject.amount = subject.amount.or(authorization.map(|one| one.value));
    subject.compare_expected(&material.expect, &mut checks);
    Ok(checks.report(subject.facts(), DOES_NOT_PROVE))
}

/// The checks on what was signed, as far as it was handed in.
pub(super) fn authorized(checks: &mut Checks, material: &Material) -> Result<(), Error> {
    let (authorization, domain) = (&material.authorization, &material.domain);
    if let (Some(authorization), Some(terms)) = (authorization, &material.terms) {
        let signed = (authorization.to, authorization.value);
        let rail = match domain {
            Some(domain) => (material::network_of(domain)?, domain.verifying_contract),
            None => (terms.network.clone(), terms.asset),
        };
        checks.equal_text(
            "authorization.terms",
            signed == (terms.pay_to, terms.amount) && rail == (terms.network.clone(), terms.asset),
            format!(
                "{} of {} on {} to {}",
                terms.amount, terms.asset, terms.network, terms.pay_to
            ),
            format!("{} of {} on {} to {}", signed.1, rail.1, rail.0, signed.0),
        );
    }
    if let Some(domain) = domain {
        material::domain(checks, domain);
    }
    match (authorization, domain, &material.signature) {
        (Some(authorization), Some(domain), Some(signature)) => {
            let signer = match material.signer {
                Some(signer) => Ok(signer),
                None => authorization.recover(domain, signature),
            };
            material::signed_by(checks, "signature", &authorization.from, signer);
        }
        (_, _, Some(_)) => checks.missing("signature", "Hand in the authorization and its domain."),
        _ => checks.skip(
            "signature",
            "No signature was handed in; the token checks it before it moves money.",
        ),
    }
    Ok(())
}

/// Compares what the seller says with what is known, when the seller says it.
fn compare<T: PartialEq + core::fmt::Display>(
    checks: &mut Checks,
    id: &str,
    known: Option<&T>,
    said: Option<&T>,
    why: &str,
) {
    match (known, said) {
        (Some(known), Some(said)) => checks.equal(id, known, said),
        (None, Some(_)) => checks.missing(id, why),
        (_, None) => checks.skip(id, "The document does not say it."),
    }
}
