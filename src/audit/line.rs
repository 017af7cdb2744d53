//! One line: the document, its material, and the answer that was paid for.

use std::sync::Arc;

use super::accounts::{Proven, Spelling};
use super::digests::Hashed;
use super::joins::Joins;
use super::verdict::{Standing, Verdict};
use super::{Canonical, Found, Given, Names, LONGEST_LINE};
use crate::base64;
use crate::error::{Code, Error};
use crate::hex;
use crate::json::{self, Json};
use crate::jws::Task;
use crate::receipt::{Answer, Document, Made, Material};

/// The longest id of a line, a purchase or an intent that is kept.
const LONGEST_ID: usize = 256;

/// A line that could be read.
pub struct Line {
    id: Option<String>,
    intent: Option<String>,
    payment_id: Option<String>,
    /// What makes two documents the same one: the digest of this.
    identity: Hashed,
    is_signed: bool,
    /// The transaction that the document names at its outset.
    transaction: Option<String>,
    document: Result<Document, Error>,
    response: Response,
    pub(super) material: Material<'static>,
}

/// The answer, as a line gives it.
enum Response {
    Absent,
    Known(Answer),
    /// Its exact bytes.
    Inside(Hashed),
    /// Under this name, where the host finds it.
    Named(String),
}

impl Line {
    /// Errors: those of the JSON reader, then those of the line's members.
    pub(super) fn read(bytes: &[u8], given: &Given, proven: &mut Proven) -> Result<Line, Error> {
        if bytes.len() > LONGEST_LINE {
            return Err(Error::new(Code::TooLarge, ""));
        }
        let mut json = match bytes.trim_ascii_start().first() {
            Some(b'{' | b'"' | b'[') => json::parse_bytes(bytes)?,
            // A header's value as it is.
            _ => Json::text(json::utf8(bytes)?.trim()),
        };
        let mut line = match json.get("receipt").is_some() {
            true => Line::with_material(&mut json, given, proven)?,
            false => {
                let id = payment_id(&json)?;
                Line::bare(&mut json, Material::default(), id, given, proven)
            }
        };
        line.material.trust = Arc::clone(&given.trust);
        line.material.now = given.now;
        line.material.silent = true;
        Ok(line)
    }

    fn bare(
        receipt: &mut Json,
        material: Material<'static>,
        payment_id: Option<String>,
        given: &Given,
        proven: &mut Proven,
    ) -> Line {
        let transaction = receipt.get("transaction").and_then(|text| text.as_string().ok());
        // In what is signed, letters count.
        let (texts, own) = match given.profile.is_some() || Document::is_signed(receipt) {
            true => (Vec::new(), None),
            false => {
                let own = identity(receipt);
                (
                    proven.plain(Some(receipt), &["payer", "payTo", "asset"]),
                    Some(own),
                )
            }
        };
        let document = given.read(receipt);
        // Neither how a signature is written nor what stands beside what is signed makes another document.
        let signed = document.as_ref().ok().and_then(Document::what_is_signed);
        let is_signed = signed.is_some();
        let identity = signed.map(Hashed::from).or(own);
        let identity = identity.unwrap_or_else(|| self::identity(receipt));
        if document.is_ok() {
            proven.extend(texts);
        }
        Line {
            id: None,
            intent: None,
            payment_id,
            identity,
            is_signed,
            transaction,
            document,
            response: Response::Absent,
            material,
        }
    }

    fn with_material(json: &mut Json, given: &Given, proven: &mut Proven) -> Result<Line, Error> {
        let evidence = taken(json, "evidence");
        let signed = proven.plain(member(json, "authorization"), &["from", "to"]);
        let token = proven.plain(member(json, "domain"), &["verifyingContract"]);
        let id = json.read_opt("id", id)?;
        let intent = json.read_opt("intent", self::id)?;
        let own = payment_id(json)?;
        let payment_id = match own {
            Some(id) => Some(id),
            None => json.read("receipt", payment_id)?,
        };
        let response = json.read_opt("response", response)?.unwrap_or(Response::Absent);
        let mut material = Material::fields(json)?;
        proven.extend(signed);
        proven.extend(token);
        // What was not read from nodes that the auditor trusts counts where it can be proven.
        if given.evidence || given.proofs {
            material.evidence = match evidence {
                None | Some(Json::Null) => Vec::new(),
                Some(Json::Array(several)) => several,
                Some(one) => vec![one],
            };
        }
        let mut receipt = taken(json, "receipt").unwrap_or(Json::Null);
        Ok(Line {
            id,
            intent,
            response,
            ..Line::bare(&mut receipt, material, payment_id, given, proven)
        })
    }

    /// Its texts whose digests are asked for.
    pub(super) fn hashed(&mut self) -> impl Iterator<Item = &mut Hashed> {
        let body = match &mut self.response {
            Response::Inside(body) => Some(body),
            _ => None,
        };
        [&mut self.identity].into_iter().chain(body)
    }

    /// What a seller's typed document is signed with, and what it is about.
    pub(super) fn signed(&self) -> Option<(&[u8; 32], &str, Option<&str>)> {
        self.document.as_ref().ok()?.signed()
    }

    /// What must be checked of a JWS.
    pub(super) fn task(&self) -> Option<Task> {
        self.document.as_ref().ok()?.task(&self.material.trust)
    }

    /// The verdict of this line, which stands under this number.
    pub(super) fn judge(
        self,
        input: &str,
        number: u64,
        found: Option<Found>,
        spelling: &mut Spelling,
        made: Made,
    ) -> Verdict {
        let document = match self.document {
            Ok(document) => document,
            Err(error) => return Verdict::unusable(input, number, &error).named(self.id),
        };
        let mut material: Material = self.material;
        material.answer = match &self.response {
            Response::Known(answer) => Some(*answer),
            Response::Inside(body) => Some(digest_alone(body.sha256(), Some(body.bytes.len() as u64))),
            Response::Absent | Response::Named(_) => found.and_then(Into::into),
        };
        if let Response::Inside(body) = &self.response {
            material.body = Some(&body.bytes);
        }
        let targets = document.targets();
        let report = match document.judge(&material, made) {
            Ok(report) => report,
            Err(error) => return Verdict::unusable(input, number, &error).named(self.id),
        };
        let unreadable = found == Some(Found::Unreadable);
        let (standing, codes) = match report.verdict() {
            "failed" => (Standing::Failed, report.failed().collect()),
            "verified" if !unreadable => (Standing::Verified, Vec::new()),
            _ => (Standing::Incomplete, report.missing().collect::<Vec<_>>()),
        };
        let mut joins = Joins::of(&report.subject, spelling);
        joins.receipt = Some(hex::encode(self.identity.sha256()));
        joins.intent = joins.intent.or(self.intent);
        joins.payment_id = self.payment_id;
        let recorded = targets.ok().and_then(|targets| joins.recorded(&targets));
        let signed = material.authorization.as_ref();
        joins.nonce = recorded.or(signed.map(|signed| hex::encode(signed.nonce)));
        joins.signed = self.is_signed;
        joins.shown = report.passed("chain.transfer") && report.passed("settlement.transaction");
        Verdict::new(input, number, standing, codes)
            .also(unreadable.then_some(Code::ResponseUnreadable))
            .about(report.subject.kind, joins)
            .named(self.id)
    }

    /// When the digest of the answer's canonical text decides something.
    pub(super) fn canonical(&self) -> Canonical {
        let document = self.document.as_ref().ok();
        match document.and_then(|document| document.digest(self.material.coded)) {
            None | Some((.., false)) => Canonical::Never,
            Some((sha256, true, true)) => Canonical::Unless(sha256),
            Some((_, false, true)) => Canonical::Always,
        }
    }

    /// Under which names a host may find the answer: the name that the line says, else its id, its payment id and its transaction.
    pub(super) fn names(&self) -> Names {
        match &self.response {
            Response::Known(_) | Response::Inside(_) => Names::None,
            Response::Named(name) => Names::Said(name.clone()),
            Response::Absent => {
                let names = [&self.id, &self.payment_id, &self.transaction];
                Names::Any(names.into_iter().flatten().cloned().collect())
            }
        }
    }
}

/// A member of an object.
fn member<'a>(json: &'a mut Json, name: &str) -> Option<&'a mut Json> {
    match json {
        Json::Object(members) => members
            .iter_mut()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value),
        _ => None,
    }
}

/// A member of an object, taken out of it.
fn taken(json: &mut Json, name: &str) -> Option<Json> {
    member(json, name).map(|value| core::mem::replace(value, Json::Null))
}

/// What makes two unsigned documents the same one: the RFC 8785 text of what it says, else its text.
fn identity(receipt: &Json) -> Hashed {
    let canonical = |json: &Json| json.to_canonical().ok();
    let text = match receipt {
        Json::String(text) => match text.trim().starts_with('{') {
            true => json::parse(text).ok(),
            false => base64::decode_header(text.trim())
                .ok()
                .and_then(|bytes| json::parse_bytes(&bytes).ok()),
        }
        .and_then(|json| canonical(&json)),
        json => canonical(json),
    };
    Hashed::from(text.unwrap_or_else(|| receipt.to_text()).into_bytes())
}

fn payment_id(json: &Json) -> Result<Option<String>, Error> {
    json.read_opt("paymentId", id)
}

fn id(json: &Json) -> Result<String, Error> {
    let text = match json {
        // A database's own number.
        Json::Number(literal) => literal.as_str(),
        other => other.as_str()?,
    };
    match text.len() <= LONGEST_ID {
        true => Ok(text.to_owned()),
        false => Err(Error::new(Code::TooLarge, "")),
    }
}

/// A digest (64 hexadecimal digits, bare or after `0x` or `sha256:`) or a name; or `{sha256, length?}`, `{path}`, `{text}`, `{base64}`.
fn response(json: &Json) -> Result<Response, Error> {
    if let Json::String(text) = json {
        return Ok(match sha256(text) {
            Some(sha256) => Response::Known(digest_alone(sha256, None)),
            None => Response::Named(text.clone()),
        });
    }
    let invalid = || Error::new(Code::HexInvalid, "");
    let digest = json.read_opt("sha256", |text| sha256(text.as_str()?).ok_or_else(invalid))?;
    if let Some(sha256) = digest {
        let length = json.read_opt("length", Json::as_u64)?;
        return Ok(Response::Known(digest_alone(sha256, length)));
    }
    if let Some(text) = json.read_opt("text", Json::as_str)? {
        return Ok(Response::Inside(text.as_bytes().to_vec().into()));
    }
    if let Some(body) = json.read_opt("base64", |text| base64::decode_header(text.as_str()?))? {
        return Ok(Response::Inside(body.into()));
    }
    json.read("path", Json::as_string).map(Response::Named)
}

fn digest_alone(sha256: [u8; 32], length: Option<u64>) -> Answer {
    Answer {
        sha256,
        length,
        canonical: None,
    }
}

fn sha256(text: &str) -> Option<[u8; 32]> {
    let digits = text
        .strip_prefix("sha256:")
        .or_else(|| text.strip_prefix("0x"))
        .unwrap_or(text);
    (digits.len() == 64).then(|| hex::decode_array(&format!("0x{digits}")).ok())?
}
