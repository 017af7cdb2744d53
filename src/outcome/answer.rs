//! An answer as the host saw it, and what can be read of it.

use super::codes::{self, Known};
use crate::error::Error;
use crate::json::{self, Json};
use crate::mpp;
use crate::mpp::receipt::{self, Receipt};
use crate::x402;
use crate::x402::settlement_response::{self, SettlementResponse};

/// What came back, or what kept it from coming.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Answer {
    /// `timeout`, `reset`, `aborted` or `refused_before_send`; any other text counts as a failure after the send.
    pub transport: Option<String>,
    /// HTTP status.
    pub status: Option<u64>,
    /// Header names in any case, values.
    pub headers: Vec<(String, String)>,
    /// Body text; looked at up to 1 MiB.
    pub body: Option<String>,
    /// When it came, for a `Retry-After` date in an answer without `Date`.
    pub received_at: Option<u64>,
    /// Whether these bytes were sent before.
    pub resend: bool,
    /// The URL that was asked, so that a `poll` of its own origin is told from any other.
    pub url: Option<String>,
}

impl Answer {
    /// The answer from JSON. Errors: `invalid_type`, `number_out_of_range`.
    pub fn from_json(json: &Json) -> Result<Self, Error> {
        json.as_object()?;
        let headers = json.read_opt("headers", |headers| {
            let text = |(name, value): &(String, Json)| {
                value
                    .as_string()
                    .map(|value| (name.clone(), value))
                    .map_err(|error| error.within(name))
            };
            headers
                .as_object()?
                .iter()
                .filter(|(_, value)| *value != Json::Null)
                .map(text)
                .collect()
        })?;
        Ok(Answer {
            transport: json.read_opt("transport", Json::as_string)?,
            status: json.read_opt("status", Json::as_u64)?,
            headers: headers.unwrap_or_default(),
            body: json.read_opt("body", Json::as_string)?,
            received_at: json.read_opt("receivedAt", Json::as_u64)?,
            resend: json.read_opt("resend", Json::as_bool)?.unwrap_or(false),
            url: json.read_opt("url", Json::as_string)?,
        })
    }

    /// The value of a header. Two headers of one name that differ are as good as none: `Some(None)`.
    pub fn header(&self, name: &str) -> Option<Option<&str>> {
        let mut values = self
            .headers
            .iter()
            .filter(|(key, _)| key.eq_ignore_ascii_case(name));
        let (_, first) = values.next()?;
        Some(values.all(|(_, other)| other == first).then_some(first.as_str()))
    }

    pub(super) fn body_json(&self) -> Option<Json> {
        let body = self.body.as_deref().filter(|body| body.len() <= x402::MAX_BODY)?;
        json::parse(body).ok()
    }

    /// The raw settlement header, by either name; the outer `None` when there is none.
    fn settlement_header(&self) -> Option<Option<&str>> {
        self.header(x402::PAYMENT_RESPONSE)
            .or_else(|| self.header(x402::X_PAYMENT_RESPONSE))
    }

    /// The raw value of the settlement header, when there is one and no other that differs.
    pub fn settlement_text(&self) -> Option<&str> {
        self.settlement_header().flatten()
    }

    /// The raw value of `Payment-Receipt`, which counts on a success and beside no settlement header.
    pub fn receipt_text(&self) -> Option<&str> {
        let success = self.status.is_some_and(|status| (200..300).contains(&status));
        let alone = success && self.settlement_header().is_none();
        self.header(mpp::RECEIPT).filter(|_| alone).flatten()
    }

    pub(super) fn settlement(&self) -> Settlement {
        match self.settlement_header() {
            None => match self.receipt_text().map(receipt::parse) {
                Some(Ok(receipt)) => Settlement::Receipt(receipt),
                Some(Err(_)) => Settlement::Unreadable,
                None => Settlement::Absent,
            },
            Some(value) => match value.map(settlement_response::parse) {
                Some(Ok(response)) => Settlement::Read(response),
                _ => Settlement::Unreadable,
            },
        }
    }
}

/// The settlement header, as far as it can be read.
pub(super) enum Settlement {
    Absent,
    Unreadable,
    Read(SettlementResponse),
    /// The receipt of the Payment scheme, which there is of a success only.
    Receipt(Receipt),
}

impl Settlement {
    /// A success that names its transaction: the seller's word that the money moved.
    pub(super) fn claimed(&self) -> bool {
        match self {
            Settlement::Read(response) => response.success && response.transaction_hash().is_some(),
            Settlement::Receipt(receipt) => receipt.transaction().is_some(),
            Settlement::Absent | Settlement::Unreadable => false,
        }
    }

    /// The transaction that it names, when it is a 32-byte hash.
    pub(super) fn transaction(&self) -> Option<String> {
        match self {
            Settlement::Read(response) => response.transaction_hash(),
            Settlement::Receipt(receipt) => receipt.transaction(),
            Settlement::Absent | Settlement::Unreadable => None,
        }
    }

    /// The known code of a settlement that gives a reason.
    pub(super) fn reason(&self) -> Option<Known> {
        match self {
            Settlement::Read(response) => response.error_reason.as_deref().and_then(codes::known),
            _ => None,
        }
    }
}
