//! The body of an answer that is no answer: RFC 9457 problem details, with the members that every client needs.
//!
//! Everything in it comes from the registry of codes. Nothing of the request, and nothing of what the seller keeps, is
//! repeated: a stranger who guesses an id learns from a problem only that it is taken.

use crate::error::{Code, Error, Money, Next};
use crate::json::Json;

/// What stands before the code in a problem's `type`. The manual's list of codes is what such an address shows.
pub const TYPE_BASE: &str = "https://counterfoil.dev/codes#";
/// Bounds of a wait, in seconds; what a client of ours would clamp it to anyway.
const WAIT: core::ops::RangeInclusive<u64> = 1..=300;
/// Longest `poll`, in bytes.
const MAX_POLL: usize = 2048;

/// One problem. Built by [`Problem::new`] from a code, then told what its case knows better.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Problem {
    /// The code; `type`, `title` and `detail` follow from it.
    pub code: Code,
    /// HTTP status, the answer's own.
    pub status: u16,
    /// What is known about the money.
    pub money: Money,
    /// What is safe to do.
    pub next: Next,
    /// When to ask again, in seconds: the header `Retry-After` too.
    pub retry_after: Option<u64>,
    /// Where to ask: a path of this origin, or a tool of this server.
    pub poll: Option<String>,
}

impl Problem {
    /// What the registry says of the code, under the status that fits it: 409 and 410 for a request that meets another state
    /// than it needs, 413 and 400 for a request that is wrong in itself, 503 where waiting helps, 500 otherwise.
    pub const fn new(code: Code) -> Problem {
        Problem {
            code,
            status: status(code),
            money: code.money(),
            next: code.next(),
            retry_after: None,
            poll: None,
        }
    }

    /// The same problem under another status.
    #[must_use]
    pub const fn with_status(mut self, status: u16) -> Problem {
        self.status = status;
        self
    }

    /// The same problem where more is known about the money.
    #[must_use]
    pub const fn with_money(mut self, money: Money) -> Problem {
        self.money = money;
        self
    }

    /// The same problem where something else is safe to do.
    #[must_use]
    pub const fn with_next(mut self, next: Next) -> Problem {
        self.next = next;
        self
    }

    /// The same problem with a wait, clamped to 1 to 300 seconds.
    #[must_use]
    pub fn with_retry_after(mut self, seconds: u64) -> Problem {
        self.retry_after = Some(seconds.clamp(*WAIT.start(), *WAIT.end()));
        self
    }

    /// The same problem with the place to ask again. A client ignores what leads to another origin, so only what cannot is
    /// taken: a path from `/`, or the name of a tool (`A-Z a-z 0-9 . _ -`). Error: `poll_invalid`.
    pub fn with_poll(mut self, poll: &str) -> Result<Problem, Error> {
        // `//host` and `/\host` name another host.
        let path = poll
            .strip_prefix('/')
            .is_some_and(|rest| !rest.starts_with(['/', '\\']))
            && poll.bytes().all(|byte| byte.is_ascii_graphic());
        let tool = !poll.is_empty()
            && poll
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-'));
        if poll.len() > MAX_POLL || !(path || tool) {
            return Err(Error::new(Code::PollInvalid, "poll"));
        }
        self.poll = Some(poll.to_owned());
        Ok(self)
    }

    /// The URI of this kind of problem.
    pub fn type_uri(&self) -> String {
        format!("{TYPE_BASE}{}", self.code.as_str())
    }

    /// The code in words.
    pub fn title(&self) -> String {
        let mut letters = self.code.as_str().chars();
        let first = letters.next().map(|letter| letter.to_ascii_uppercase());
        first
            .into_iter()
            .chain(letters)
            .map(|letter| if letter == '_' { ' ' } else { letter })
            .collect()
    }

    /// The body, media type `application/problem+json`.
    pub fn to_json(&self) -> Json {
        Json::object([
            ("type", Json::text(self.type_uri())),
            ("title", Json::text(self.title())),
            ("status", Json::number(u64::from(self.status))),
            ("detail", Json::text(self.code.meaning())),
            ("code", Json::text(self.code.as_str())),
            ("money", Json::text(self.money.as_str())),
            ("next", Json::text(self.next.as_str())),
        ])
        .with_some("retryAfter", self.retry_after.map(Json::number))
        .with_some("poll", self.poll.as_deref().map(Json::text))
    }
}

const fn status(code: Code) -> u16 {
    match code {
        Code::PaymentInFlight
        | Code::PaymentConflict
        | Code::QuoteAlreadyPaying
        | Code::QuoteNotOpen
        | Code::OrderMoveIllegal
        | Code::TermsChanged => 409,
        Code::QuoteExpired => 410,
        Code::TooLarge => 413,
        _ => match code.next() {
            Next::FixInput => 400,
            Next::Wait => 503,
            _ => 500,
        },
    }
}
