//! The verdict on one line, as it is written down and read back.

use super::joins::{Join, Joins, Shared};
use crate::error::{Code, Error};
use crate::json::{self, Json};

/// How a line stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Standing {
    /// Every required check passed.
    Verified,
    /// A check failed.
    Failed,
    /// Nothing failed, but required checks could not be made.
    Incomplete,
    /// The line is no document that can be judged.
    Error,
}

impl Standing {
    /// In the order in which they are listed.
    pub const ALL: [Standing; 4] = [
        Standing::Verified,
        Standing::Failed,
        Standing::Incomplete,
        Standing::Error,
    ];

    /// The text used on every boundary.
    pub const fn as_str(self) -> &'static str {
        match self {
            Standing::Verified => "verified",
            Standing::Failed => "failed",
            Standing::Incomplete => "incomplete",
            Standing::Error => "error",
        }
    }

    pub(super) fn parse(text: &str) -> Result<Standing, Error> {
        let found = Standing::ALL.into_iter().find(|one| one.as_str() == text);
        found.ok_or_else(|| Error::new(Code::ReceiptInvalid, ""))
    }
}

/// The most codes that are kept of one line; a bundle of very many purchases has more.
const MOST_CODES: usize = 32;

/// The verdict on one line.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Verdict {
    /// Where the line stands.
    pub input: String,
    /// From 1.
    pub line: u64,
    /// What the line calls itself.
    pub id: Option<String>,
    /// How it stands.
    pub standing: Standing,
    /// Of a failed line the checks that failed, of an incomplete one those that could not be made, of an unusable one its error.
    pub codes: Vec<String>,
    /// Where the error is.
    pub field: Option<String>,
    /// The kind of document.
    pub kind: Option<String>,
    /// What it is joined by.
    pub joins: Joins,
}

impl Verdict {
    pub(super) fn new(input: &str, line: u64, standing: Standing, mut codes: Vec<String>) -> Verdict {
        if codes.len() > MOST_CODES {
            // What refutes the document is kept first: without it the line would stand for a payment.
            let (refuting, rest): (Vec<_>, Vec<_>) = codes.into_iter().partition(|code| refutes(plain(code)));
            codes = refuting.into_iter().chain(rest).take(MOST_CODES).collect();
        }
        Verdict {
            input: input.to_owned(),
            line,
            id: None,
            standing,
            codes,
            field: None,
            kind: None,
            joins: Joins::default(),
        }
    }

    /// Of an input that could not be read from this line on.
    pub fn unreadable(input: &str, line: u64) -> Verdict {
        Verdict::unusable(input, line, &Error::new(Code::InputUnreadable, ""))
    }

    pub(super) fn unusable(input: &str, line: u64, error: &Error) -> Verdict {
        let code = vec![error.code.as_str().to_owned()];
        Verdict {
            field: Some(error.field.clone()).filter(|field| !field.is_empty()),
            ..Verdict::new(input, line, Standing::Error, code)
        }
    }

    pub(super) fn named(mut self, id: Option<String>) -> Verdict {
        self.id = id;
        self
    }

    pub(super) fn also(mut self, code: Option<Code>) -> Verdict {
        self.codes.extend(code.map(|code| code.as_str().to_owned()));
        self
    }

    pub(super) fn about(mut self, kind: &str, joins: Joins) -> Verdict {
        self.kind = Some(kind.to_owned());
        self.joins = joins;
        self
    }

    /// The codes without the purchase of a bundle that they belong to.
    pub(super) fn plain_codes(&self) -> impl Iterator<Item = &str> {
        self.codes.iter().map(|code| plain(code))
    }

    /// Whether the document may stand for a payment. One that is forged, or that the chain or its own words refute, is refuted by
    /// its own verdict, and nothing is concluded from it.
    fn stands_for_a_payment(&self) -> bool {
        match self.standing {
            Standing::Error => false,
            Standing::Verified | Standing::Incomplete => true,
            Standing::Failed => !self.plain_codes().any(refutes),
        }
    }

    /// What other lines may share; nothing where the document stands for no payment.
    pub fn shared(&self) -> Vec<Shared> {
        match self.stands_for_a_payment() {
            true => self.joins.shared(),
            false => Vec::new(),
        }
    }

    /// The keys of that.
    pub fn keys(&self) -> Vec<Join> {
        Join::of_all(&self.shared())
    }

    /// `{v, input, line, id?, verdict, codes, field?, kind?, keys: {receipt?, intent?, …, shown?, signed?}}`.
    pub fn to_json(&self) -> Json {
        // What was written there is JSON.
        json::parse(&self.to_line()).unwrap_or(Json::Null)
    }

    /// One line of plain ASCII, so that no reader and no terminal can stumble over it.
    pub fn to_line(&self) -> String {
        let mut out = String::with_capacity(1024);
        self.write(&mut out);
        out
    }

    /// Adds that line, by hand: a tree of values would cost more than the verdict.
    pub fn write(&self, out: &mut String) {
        let some = |out: &mut String, name: &str, text: &Option<String>| {
            if let Some(text) = text {
                out.push_str(name);
                quote(text, out);
            }
        };
        out.push_str("{\"v\":1,\"input\":");
        quote(&self.input, out);
        out.push_str(",\"line\":");
        out.push_str(&self.line.to_string());
        some(out, ",\"id\":", &self.id);
        out.push_str(",\"verdict\":");
        quote(self.standing.as_str(), out);
        out.push_str(",\"codes\":[");
        for (at, code) in self.codes.iter().enumerate() {
            if at > 0 {
                out.push(',');
            }
            quote(code, out);
        }
        out.push(']');
        some(out, ",\"field\":", &self.field);
        some(out, ",\"kind\":", &self.kind);
        out.push_str(",\"keys\":{");
        let mut comma = "";
        for (name, text) in self.joins.members() {
            if let Some(text) = text {
                out.push_str(comma);
                quote(name, out);
                out.push(':');
                quote(text, out);
                comma = ",";
            }
        }
        for (name, is) in [("shown", self.joins.shown), ("signed", self.joins.signed)] {
            if is {
                out.push_str(comma);
                quote(name, out);
                out.push_str(":true");
                comma = ",";
            }
        }
        out.push_str("}}");
    }

    /// Reads what [`Verdict::to_line`] wrote. Errors: those of the JSON reader, `unsupported_version`, `receipt_invalid`, those of the members.
    pub fn from_line(line: &[u8]) -> Result<Verdict, Error> {
        Verdict::from_json(&json::parse_bytes(line)?)
    }

    /// The same of a value.
    pub fn from_json(json: &Json) -> Result<Verdict, Error> {
        if json.read("v", Json::as_u64)? != 1 {
            return Err(Error::new(Code::UnsupportedVersion, "v"));
        }
        let text = |name: &str| json.read_opt(name, Json::as_string);
        let keys = json.require("keys")?;
        let key = |name: &str| {
            keys.read_opt(name, Json::as_string)
                .map_err(|error| error.within("keys"))
        };
        Ok(Verdict {
            input: json.read("input", Json::as_string)?,
            line: json.read("line", Json::as_u64)?,
            id: text("id")?,
            standing: json.read("verdict", |text| Standing::parse(text.as_str()?))?,
            codes: json.read("codes", |list| list.as_list(Json::as_string))?,
            field: text("field")?,
            kind: text("kind")?,
            joins: Joins {
                receipt: key("receipt")?,
                intent: key("intent")?,
                payment_id: key("paymentId")?,
                network: key("network")?,
                asset: key("asset")?,
                payer: key("payer")?,
                pay_to: key("payTo")?,
                amount: key("amount")?,
                nonce: key("nonce")?,
                transaction: key("transaction")?,
                response: key("response")?,
                resource: key("resource")?,
                shown: keys.read_opt("shown", Json::as_bool)?.unwrap_or(false),
                signed: keys.read_opt("signed", Json::as_bool)?.unwrap_or(false),
            },
        })
    }
}

/// A code without the purchase of a bundle that it belongs to.
fn plain(code: &str) -> &str {
    code.rsplit_once("].").map_or(code, |(_, code)| code)
}

/// Whether the failed check of that name leaves nothing of the payment that the document tells of.
fn refutes(code: &str) -> bool {
    const REFUTED: [&str; 6] = [
        "signature",
        "authorization.",
        "settlement.",
        "chain.",
        "record.",
        "claim.",
    ];
    REFUTED.iter().any(|start| code.starts_with(start))
}

/// A text as JSON has it, with everything that is not plain ASCII escaped.
fn quote(text: &str, out: &mut String) {
    let plain = |byte: u8| (0x20..0x7f).contains(&byte);
    if text
        .bytes()
        .all(|byte| plain(byte) && byte != b'"' && byte != b'\\')
    {
        out.push('"');
        out.push_str(text);
        out.push('"');
        return;
    }
    for character in Json::text(text).to_text().chars() {
        if character.is_ascii() && plain(character as u8) {
            out.push(character);
            continue;
        }
        let mut units = [0; 2];
        for unit in character.encode_utf16(&mut units) {
            out.push_str(&format!("\\u{unit:04x}"));
        }
    }
}
