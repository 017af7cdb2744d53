//! One line: the document, its material, and the answer that was paid for.

use super::joins::Joins;
use super::verdict::{Standing, Verdict};
use super::{Found, Given, Names, Text, LONGEST_LINE};
use crate::base64;
use crate::digest;
use crate::error::{Code, Error};
use crate::hex;
use crate::json::{self, Json};
use crate::receipt::{self, Answer, Made, Material};

/// The longest id of a line, a purchase or an intent that is kept.
const LONGEST_ID: usize = 256;

/// A line that could be read.
pub(super) struct Line {
    id: Option<String>,
    intent: Option<String>,
    payment_id: Option<String>,
    receipt: Json,
    response: Response,
    pub material: Material<'static>,
}

/// The answer, as a line gives it.
enum Response {
    Absent,
    Known(Answer),
    /// Its exact bytes.
    Inside(Vec<u8>),
    /// Under this name, where the host finds it.
    Named(String),
}

impl Line {
    /// Errors: those of the JSON reader, then those of the line's members.
    pub fn read(text: &Text, given: &Given) -> Result<Line, Error> {
        let mut line = Line::of(text.bytes)?;
        let material = &mut line.material;
        material.trust = given.trust.clone();
        material.now = given.now;
        if !given.evidence && !given.proofs {
            material.evidence.clear();
        }
        material.answer = match line.response {
            Response::Known(answer) => Some(answer),
            Response::Inside(ref body) => Some(Answer::of(body)),
            Response::Absent | Response::Named(_) => text.found.and_then(Into::into),
        };
        Ok(line)
    }

    fn of(bytes: &[u8]) -> Result<Line, Error> {
        if bytes.len() > LONGEST_LINE {
            return Err(Error::new(Code::TooLarge, ""));
        }
        let json = match bytes.trim_ascii_start().first() {
            Some(b'{' | b'"' | b'[') => json::parse_bytes(bytes)?,
            // A header's value as it is.
            _ => Json::text(json::utf8(bytes)?.trim()),
        };
        let Some(receipt) = json.get("receipt") else {
            return Ok(Line {
                id: None,
                intent: None,
                payment_id: payment_id(&json)?,
                receipt: json,
                response: Response::Absent,
                material: Material::default(),
            });
        };
        Ok(Line {
            id: json.read_opt("id", id)?,
            intent: json.read_opt("intent", id)?,
            payment_id: match payment_id(&json)? {
                Some(id) => Some(id),
                None => payment_id(receipt).map_err(|error| error.within("receipt"))?,
            },
            response: json.read_opt("response", response)?.unwrap_or(Response::Absent),
            material: Material::fields(&json)?,
            receipt: receipt.clone(),
        })
    }

    /// The verdict of this line.
    pub fn judge(self, input: &str, text: &Text, made: Made) -> Verdict {
        let mut material: Material = self.material;
        if let Response::Inside(body) = &self.response {
            material.body = Some(body);
        }
        let report = match receipt::judge_inside(&self.receipt, &material, made) {
            Ok(report) => report,
            Err(error) => return Verdict::unusable(input, text.number, &error).named(self.id),
        };
        let unreadable = text.found == Some(Found::Unreadable);
        let (standing, codes) = match report.verdict() {
            "failed" => (Standing::Failed, report.failed().map(str::to_owned).collect()),
            "verified" if !unreadable => (Standing::Verified, Vec::new()),
            _ => (
                Standing::Incomplete,
                report.missing().map(str::to_owned).collect::<Vec<_>>(),
            ),
        };
        let mut joins = Joins::of(&report.facts, &self.receipt);
        joins.receipt = Some(hex::encode(identity(&self.receipt)));
        joins.intent = joins.intent.or(self.intent);
        joins.payment_id = self.payment_id;
        let signed = material.authorization.as_ref();
        joins.nonce = joins.nonce.or(signed.map(|signed| hex::encode(signed.nonce)));
        joins.shown = report.passed("chain.transfer") && report.passed("settlement.transaction");
        Verdict::new(input, text.number, standing, codes)
            .also(unreadable.then_some(Code::ResponseUnreadable))
            .about(&report.facts, joins)
            .named(self.id)
    }
}

/// The name that the line says, else its id, its payment id and its transaction.
pub(super) fn names(bytes: &[u8]) -> Result<Names, Error> {
    let line = Line::of(bytes)?;
    Ok(match line.response {
        Response::Known(_) | Response::Inside(_) => Names::None,
        Response::Named(name) => Names::Said(name),
        Response::Absent => {
            let transaction = line
                .receipt
                .get("transaction")
                .and_then(|text| text.as_string().ok());
            let names = [line.id, line.payment_id, transaction];
            Names::Any(names.into_iter().flatten().collect())
        }
    })
}

/// What makes two documents the same one: the RFC 8785 text of what it says, else its text.
fn identity(receipt: &Json) -> [u8; 32] {
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
    digest::sha256(text.unwrap_or_else(|| receipt.to_text()).as_bytes())
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
        return Ok(Response::Inside(text.as_bytes().to_vec()));
    }
    if let Some(body) = json.read_opt("base64", |text| base64::decode_header(text.as_str()?))? {
        return Ok(Response::Inside(body));
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
