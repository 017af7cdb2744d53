//! The request that is asked about, and the record that is kept of one.

use crate::address::Address;
use crate::amount::Amount;
use crate::eip3009;
use crate::error::{Code, Error};
use crate::hex;
use crate::json::Json;
use crate::network::Network;
use crate::time::Seconds;
use crate::x402::payment_identifier;

/// Where a paid request stands with its seller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum State {
    /// Being worked on, or its worker died, or its settlement's end is not known.
    InFlight,
    /// Paid, not delivered.
    Settled,
    /// Delivered.
    Delivered,
    /// Refused before any broadcast, or proven dead.
    Failed,
    /// The answer is past its retention.
    Expired,
}

impl State {
    /// All of them.
    pub const ALL: [State; 5] = [
        State::InFlight,
        State::Settled,
        State::Delivered,
        State::Failed,
        State::Expired,
    ];

    /// The text in the record.
    pub const fn as_str(self) -> &'static str {
        match self {
            State::InFlight => "in_flight",
            State::Settled => "settled",
            State::Delivered => "delivered",
            State::Failed => "failed",
            State::Expired => "expired",
        }
    }

    /// Reads the text in the record. Errors: `invalid_type`, `record_invalid`.
    pub fn from_json(json: &Json) -> Result<State, Error> {
        let text = json.as_str()?;
        State::ALL
            .into_iter()
            .find(|state| state.as_str() == text)
            .ok_or_else(|| Error::new(Code::RecordInvalid, ""))
    }
}

/// One authorization that a request carried: what to look for on the chain, and until when.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AuthorizationSlot {
    /// CAIP-2.
    pub network: Network,
    /// The token.
    pub asset: Address,
    /// The nonce.
    pub nonce: [u8; 32],
    /// It can land before this time only.
    pub valid_before: Amount,
}

impl AuthorizationSlot {
    fn from_json(json: &Json) -> Result<AuthorizationSlot, Error> {
        Ok(AuthorizationSlot {
            network: json.read("network", Network::from_json)?,
            asset: json.read("asset", Address::from_json)?,
            nonce: json.read("nonce", eip3009::nonce)?,
            valid_before: json.read("validBefore", Amount::from_json)?,
        })
    }

    fn to_json(&self) -> Json {
        Json::object([
            ("network", self.network.to_json()),
            ("asset", self.asset.to_json()),
            ("nonce", Json::text(hex::encode(self.nonce))),
            ("validBefore", self.valid_before.to_json()),
        ])
    }

    /// Whether both compete for one slot in one token.
    fn same_slot(&self, other: &AuthorizationSlot) -> bool {
        (&self.network, self.asset, self.nonce) == (&other.network, other.asset, other.nonce)
    }
}

/// A paid request, its payer recovered from the signature.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AdmissionRequest {
    /// The payment id, or the call key of a request without one.
    pub payment_id: String,
    /// Who signed.
    pub payer: Address,
    /// What is being paid for.
    pub fingerprint: [u8; 32],
    /// The frozen offer.
    pub quote_hash: [u8; 32],
    /// The signed bytes; a fresh signature changes them and nothing else.
    pub payload_hash: [u8; 32],
    /// The authorizations inside, one for each slot.
    pub authorizations: Vec<AuthorizationSlot>,
}

impl AdmissionRequest {
    /// Reads the members, others are left out. Errors, in this order of fields: `missing_field`, `invalid_type`,
    /// `payment_id_invalid`, `address_invalid`, `address_checksum`, `hex_invalid`, those of the authorizations.
    pub fn from_json(json: &Json) -> Result<AdmissionRequest, Error> {
        let id = json.read("paymentId", |id| {
            let id = id.as_str()?;
            payment_identifier::is_valid(id)
                .then(|| id.to_owned())
                .ok_or_else(|| Error::new(Code::PaymentIdInvalid, ""))
        })?;
        AdmissionRequest::under(id, json)
    }

    /// The members beside the id.
    fn under(payment_id: String, json: &Json) -> Result<AdmissionRequest, Error> {
        let mut request = AdmissionRequest {
            payment_id,
            payer: json.read("payer", Address::from_json)?,
            fingerprint: json.read("fingerprint", Json::as_hex)?,
            quote_hash: json.read("quoteHash", Json::as_hex)?,
            payload_hash: json.read("payloadHash", Json::as_hex)?,
            authorizations: Vec::new(),
        };
        let authorizations = json.read_opt("authorizations", |list| {
            list.as_list(AuthorizationSlot::from_json)
        })?;
        request.know(&authorizations.unwrap_or_default());
        Ok(request)
    }

    /// The contract's members; `authorizations` when there are any.
    pub fn to_json(&self) -> Json {
        let authorizations = (!self.authorizations.is_empty()).then(|| {
            Json::Array(
                self.authorizations
                    .iter()
                    .map(AuthorizationSlot::to_json)
                    .collect(),
            )
        });
        Json::object([
            ("paymentId", Json::text(self.payment_id.as_str())),
            ("payer", self.payer.to_json()),
            ("fingerprint", Json::text(hex::encode(self.fingerprint))),
            ("quoteHash", Json::text(hex::encode(self.quote_hash))),
            ("payloadHash", Json::text(hex::encode(self.payload_hash))),
        ])
        .with_some("authorizations", authorizations)
    }

    /// The names of the fields that bind an id and are not the same.
    pub fn differs(&self, other: &AdmissionRequest) -> Vec<&'static str> {
        [
            ("payer", self.payer != other.payer),
            ("fingerprint", self.fingerprint != other.fingerprint),
            ("quoteHash", self.quote_hash != other.quote_hash),
        ]
        .into_iter()
        .filter_map(|(name, differs)| differs.then_some(name))
        .collect()
    }

    /// Adds authorizations. Of two for one slot the later end holds: before it the slot is not proven dead.
    pub fn know(&mut self, authorizations: &[AuthorizationSlot]) {
        for new in authorizations {
            match self.authorizations.iter_mut().find(|known| known.same_slot(new)) {
                Some(known) => known.valid_before = known.valid_before.max(new.valid_before),
                None => self.authorizations.push(new.clone()),
            }
        }
    }
}

/// The stored answer, but for its body.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Response {
    /// HTTP status.
    pub status: u16,
    /// Header names and values.
    pub headers: Vec<(String, String)>,
    /// SHA-256 of the exact body bytes.
    pub body_sha256: [u8; 32],
}

impl Response {
    fn from_json(json: &Json) -> Result<Response, Error> {
        Ok(Response {
            status: json.read("status", status)?,
            headers: json.read("headers", headers)?,
            body_sha256: json.read("bodySha256", Json::as_hex)?,
        })
    }

    fn to_json(&self) -> Json {
        let header = |(name, value): &(String, String)| (name.clone(), Json::text(value.as_str()));
        Json::object([
            ("status", Json::number(u64::from(self.status))),
            ("headers", Json::Object(self.headers.iter().map(header).collect())),
            ("bodySha256", Json::text(hex::encode(self.body_sha256))),
        ])
    }
}

/// An HTTP status. Errors: `invalid_type`, `number_out_of_range`.
pub fn status(json: &Json) -> Result<u16, Error> {
    u16::try_from(json.as_u64()?)
        .ok()
        .filter(|status| (100..600).contains(status))
        .ok_or_else(|| Error::new(Code::NumberOutOfRange, ""))
}

/// Header names and values. A name is the caller's text, so an error names the list. Error: `invalid_type`.
pub fn headers(json: &Json) -> Result<Vec<(String, String)>, Error> {
    let one = |(name, value): &(String, Json)| Ok((name.clone(), value.as_string()?));
    json.as_object()?.iter().map(one).collect()
}

/// What is kept of a paid request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AdmissionRecord {
    /// The request; its `payment_id` may be a digest of the id.
    pub request: AdmissionRequest,
    /// Where it stands.
    pub state: State,
    /// When work on it began.
    pub opened_at: Seconds,
    /// Until then someone works on it; at this second it is over.
    pub lease_until: Seconds,
    /// The answer, while it is kept.
    pub response: Option<Response>,
    /// The receipt, once there is one.
    pub receipt_id: Option<String>,
}

impl AdmissionRecord {
    /// A record of a request that is begun now, which remembers authorizations of earlier tries.
    pub(super) fn open(
        request: &AdmissionRequest,
        earlier: &[AuthorizationSlot],
        now: Seconds,
        lease_until: Seconds,
    ) -> AdmissionRecord {
        let mut begun = request.clone();
        begun.authorizations = earlier.to_vec();
        begun.know(&request.authorizations);
        AdmissionRecord {
            request: begun,
            state: State::InFlight,
            opened_at: now,
            lease_until,
            response: None,
            receipt_id: None,
        }
    }

    /// Reads the members, others are left out. Errors: those of [`AdmissionRequest::from_json`], but the id may be any text; then, in
    /// this order of fields, `record_invalid` (unknown state, empty receipt id), `number_out_of_range`, those of the response.
    pub fn from_json(json: &Json) -> Result<AdmissionRecord, Error> {
        let receipt_id = |id: &Json| match id.as_str()? {
            "" => Err(Error::new(Code::RecordInvalid, "")),
            id => Ok(id.to_owned()),
        };
        Ok(AdmissionRecord {
            request: AdmissionRequest::under(json.read("paymentId", Json::as_string)?, json)?,
            state: json.read("state", State::from_json)?,
            opened_at: json.read("openedAt", Json::as_u64)?,
            lease_until: json.read("leaseUntil", Json::as_u64)?,
            response: json.read_opt("response", Response::from_json)?,
            receipt_id: json.read_opt("receiptId", receipt_id)?,
        })
    }

    /// The contract's members.
    pub fn to_json(&self) -> Json {
        self.request
            .to_json()
            .with("state", Json::text(self.state.as_str()))
            .with("openedAt", Json::number(self.opened_at))
            .with("leaseUntil", Json::number(self.lease_until))
            .with_some("response", self.response.as_ref().map(Response::to_json))
            .with_some("receiptId", self.receipt_id.as_deref().map(Json::text))
    }
}
