//! What the machine asks of its host, and what the host reports back.

use crate::error::{Code, Error, Money, Next};
use crate::json::Json;
use crate::outcome::Answer;
use crate::time::Seconds;

/// How a call ends without an answer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Failure {
    /// The code.
    pub code: Code,
    /// The field at fault; empty when none is.
    pub field: String,
    /// What is safe to do now.
    pub next: Next,
    /// What is known about the money.
    pub money: Money,
    /// Seconds after which a new call can say more.
    pub retry_after: Option<Seconds>,
    /// Where the seller says the payment can be asked after.
    pub poll: Option<String>,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let (next, money) = (error.code.next(), error.code.money());
        Failure {
            code: error.code,
            field: error.field.clone(),
            next,
            money,
            retry_after: None,
            poll: None,
        }
    }
}

impl From<Code> for Failure {
    fn from(code: Code) -> Self {
        Error::new(code, "").into()
    }
}

impl Failure {
    /// The same failure with other knowledge about the money.
    pub fn money(mut self, money: Money) -> Self {
        self.money = money;
        self
    }

    /// The same failure with a time.
    pub fn after(mut self, seconds: Option<Seconds>) -> Self {
        self.retry_after = seconds;
        self
    }

    /// The same failure with a place to ask.
    pub fn at(mut self, poll: Option<String>) -> Self {
        self.poll = poll;
        self
    }

    /// As the boundary carries it.
    pub fn to_json(&self, intent_id: Option<&str>, attempt_id: Option<&str>) -> Json {
        Json::object([
            ("code", Json::text(self.code.as_str())),
            ("field", Json::text(self.field.as_str())),
            ("next", Json::text(self.next.as_str())),
            ("money", Json::text(self.money.as_str())),
            ("message", Json::text(self.code.meaning())),
        ])
        .with_some("intentId", intent_id.map(Json::text))
        .with_some("attemptId", attempt_id.map(Json::text))
        .with_some("retryAfter", self.retry_after.map(Json::number))
        .with_some("poll", self.poll.as_deref().map(Json::text))
    }
}

/// One key to write: all writes of a [`Effect::Persist`] happen, or none.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Write {
    /// The key.
    pub key: String,
    /// The revision that must still stand; `None` when the key must be absent.
    pub expect: Option<u64>,
    /// Canonical JSON.
    pub put: String,
}

/// What the host does next. All but `Alert` end a step; all but `Alert`, `Pass`, `Fail`, `Replay` and `Done` are answered by an
/// event.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    /// Read these keys; answered by `loaded`.
    Load(Vec<String>),
    /// Write durably; answered by `persisted`, `conflict` or `persist_failed`.
    Persist(Vec<Write>),
    /// Send the request, with this header when given; answered by `answer`.
    Send(Option<Json>),
    /// Sign `{authorization | permit2Authorization, domain, typedData, digest}`; answered by `signed` or `sign_failed`.
    Sign(Json),
    /// Call the payer's contract `{network, to, data}`; answered by `contract` or `aborted`.
    AskContract(Json),
    /// Read the chain `{network, asset, payer, nonce, tag, method?}`; answered by `evidence`.
    ReadChain(Json),
    /// Ask a person; answered by `approved`.
    Ask(Json),
    /// Wait; answered by `waited`.
    Wait(Seconds),
    /// Hand the answer over, with where the purchase stands, and report its bytes; answered by `body`.
    Deliver(Json),
    /// Hand over the stored answer: the end.
    Replay {
        /// The answer as it was stored.
        delivery: Json,
        /// Where the purchase stands.
        resolution: Json,
    },
    /// Hand over the unpaid answer, or the transport's own error: the end.
    Pass,
    /// The end, with an error.
    Fail(Json),
    /// The end, with a resolution.
    Done(Json),
    /// Tell the caller's alert hook; nothing is awaited.
    Alert(Json),
}

impl Effect {
    /// As the boundary carries it.
    pub fn to_json(&self) -> Json {
        let plain = |kind: &str| Json::object([("type", Json::text(kind))]);
        match self {
            Effect::Load(keys) => plain("load").with(
                "keys",
                Json::Array(keys.iter().map(|key| Json::text(key.as_str())).collect()),
            ),
            Effect::Persist(writes) => {
                let write = |write: &Write| {
                    Json::object([
                        ("key", Json::text(write.key.as_str())),
                        ("expect", write.expect.map_or(Json::text("absent"), Json::number)),
                        ("put", Json::text(write.put.as_str())),
                    ])
                };
                plain("persist").with("ops", Json::Array(writes.iter().map(write).collect()))
            }
            Effect::Send(payment) => plain("send").with_some("payment", payment.clone()),
            Effect::Sign(what) => plain("sign").with("sign", what.clone()),
            Effect::AskContract(what) => plain("ask_contract").with("ask", what.clone()),
            Effect::ReadChain(what) => plain("read_chain").with("read", what.clone()),
            Effect::Ask(what) => plain("ask").with("approval", what.clone()),
            Effect::Wait(seconds) => plain("wait").with("seconds", Json::number(*seconds)),
            Effect::Deliver(resolution) => plain("deliver").with("resolution", resolution.clone()),
            Effect::Replay { delivery, resolution } => plain("replay")
                .with("delivery", delivery.clone())
                .with("resolution", resolution.clone()),
            Effect::Pass => plain("pass"),
            Effect::Fail(error) => plain("fail").with("error", error.clone()),
            Effect::Done(resolution) => plain("done").with("resolution", resolution.clone()),
            Effect::Alert(finding) => plain("alert").with("finding", finding.clone()),
        }
    }
}

/// One record read back.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Record {
    /// Its key.
    pub key: String,
    /// Its revision.
    pub rev: u64,
    /// Its text.
    pub text: String,
}

impl Record {
    /// Reads `{key, rev, text}`. Errors: those of the fields.
    pub fn from_json(json: &Json) -> Result<Record, Error> {
        Ok(Record {
            key: json.read("key", Json::as_string)?,
            rev: json.read("rev", Json::as_u64)?,
            text: json.read("text", Json::as_string)?,
        })
    }
}

/// The bytes of an answer, once they have all passed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Body {
    /// HTTP status.
    pub status: u64,
    /// Headers as an object, names in lower case.
    pub headers: Json,
    /// SHA-256, `0x` text.
    pub sha256: String,
    /// Length in bytes.
    pub length: u64,
    /// The bytes in base64, when they are to be kept.
    pub stored: Option<String>,
    /// Whether the body reached its end.
    pub complete: bool,
}

/// What the host reports.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Event {
    /// The keys asked for.
    Loaded {
        /// Those that exist.
        records: Vec<Record>,
        /// When this call met another worker's call of the same intent, which has ended since; `None` when it met none.
        since: Option<Seconds>,
    },
    /// The writes are durable; the new revisions.
    Persisted(Vec<(String, u64)>),
    /// A key had another revision; nothing was written.
    Conflict,
    /// The store failed; nothing was written.
    PersistFailed(Code),
    /// The answer, or the way the transport failed.
    Answer {
        /// What `classify` takes.
        answer: Box<Answer>,
        /// The answer came from another URL than the one asked.
        redirected: bool,
    },
    /// 65 bytes, `0x` text.
    Signed(String),
    /// The signer gave nothing.
    SignFailed,
    /// What the payer's contract answered; nothing where it could not be asked, or its sources disagree.
    Contract(Option<String>),
    /// Raw evidence, one value a source.
    Evidence(Vec<Json>),
    /// The person's answer.
    Approved(bool),
    /// What the person signed.
    Granted(Json),
    /// The time has passed.
    Waited,
    /// The answer's bytes have passed.
    Body(Box<Body>),
    /// The caller gave up before anything was sent.
    Aborted,
}

impl Event {
    /// Reads an event. Errors: `state_invalid` for an unknown type, those of the fields with their path.
    pub fn from_json(json: &Json) -> Result<Event, Error> {
        let rev = |json: &Json| {
            Ok((
                json.read("key", Json::as_string)?,
                json.read("rev", Json::as_u64)?,
            ))
        };
        Ok(match json.read("type", Json::as_str)? {
            "loaded" => Event::Loaded {
                records: json.read("records", |list| list.as_list(Record::from_json))?,
                since: json.read_opt("since", Json::as_u64)?,
            },
            "persisted" => Event::Persisted(json.read("revs", |list| list.as_list(rev))?),
            "conflict" => Event::Conflict,
            "persist_failed" => {
                let code = json.read_opt("code", Json::as_str)?.unwrap_or_default();
                let known = Code::ALL.iter().copied().find(|known| known.as_str() == code);
                Event::PersistFailed(known.unwrap_or(Code::JournalUnavailable))
            }
            "answer" => Event::Answer {
                answer: Box::new(json.read("answer", Answer::from_json)?),
                redirected: json.read_opt("redirected", Json::as_bool)?.unwrap_or(false),
            },
            "signed" => Event::Signed(json.read("signature", Json::as_string)?),
            "sign_failed" => Event::SignFailed,
            "contract" => Event::Contract(json.read_opt("answer", Json::as_string)?),
            "evidence" => {
                Event::Evidence(json.read("evidence", |list| list.as_list(|item| Ok(item.clone())))?)
            }
            "approved" => match json.get("approval") {
                Some(approval) => Event::Granted(approval.clone()),
                None => Event::Approved(json.read("yes", Json::as_bool)?),
            },
            "waited" => Event::Waited,
            "body" => Event::Body(Box::new(Body {
                status: json.read("status", Json::as_u64)?,
                headers: json.require("headers")?.clone(),
                sha256: json.read("sha256", Json::as_string)?,
                length: json.read("length", Json::as_u64)?,
                stored: json.read_opt("body", Json::as_string)?,
                complete: json.read("complete", Json::as_bool)?,
            })),
            "aborted" => Event::Aborted,
            _ => return Err(Error::new(Code::StateInvalid, "type")),
        })
    }
}
