//! What a seller does with a paid request: carry it out, answer it again, ask to wait, or refuse it as another one.
//!
//! | record | same request | another payer, fingerprint or quote |
//! |---|---|---|
//! | none | process | – |
//! | in_flight, lease running | in flight, 409 | conflict, 409, alert |
//! | in_flight, lease over | reconcile: read the chain by payer and nonce first | conflict |
//! | settled, lease running | in flight | conflict |
//! | settled, lease over | reconcile: deliver without charging | conflict |
//! | delivered, answer kept | replay | conflict |
//! | delivered, answer gone | receipt, or reconcile without one | conflict |
//! | failed | process, its earlier authorizations kept | conflict |
//! | expired | receipt, or reconcile without one | conflict |
//!
//! `failed` means refused before any broadcast, or proven dead. A settle whose end is not known stays `in_flight`, also when
//! the handler threw: taken for failed, the next call would charge again. A payment id is no secret between payer and
//! seller, so the payer has to be recovered from the signature before anything here is asked.

mod lease;
mod record;

pub use lease::{DEFAULT_LEASE, MAX_LEASE};
pub use record::{headers, status, AdmissionRecord, AdmissionRequest, AuthorizationSlot, Response, State};

use crate::error::{Code, Error};
use crate::json::Json;
use crate::problem::Problem;
use crate::time::Seconds;

/// Longest wait asked for: most requests end within seconds, whatever their lease.
const LONGEST_WAIT: Seconds = 5;

/// What to do.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Admission {
    /// Write the record, then carry the request out.
    Process(AdmissionRecord),
    /// Answer as the record says.
    Replay(AdmissionRecord),
    /// 409: ask again with the same id.
    InFlight(Problem),
    /// 409, never to be repeated, and someone is to be told.
    Conflict {
        /// `payer`, `fingerprint`, `quoteHash`: what is not the record's, for the seller's eyes.
        differs: Vec<&'static str>,
        /// The answer.
        problem: Problem,
    },
    /// Nobody works on it any more: [`take_over`], then read the chain by payer and nonce.
    Reconcile(AdmissionRecord),
    /// The answer is past its retention, the receipt is not.
    Receipt(String),
}

impl Admission {
    /// As the boundary carries it.
    pub fn to_json(&self) -> Json {
        let decision = |name: &str| Json::object([("decision", Json::text(name))]);
        match self {
            Admission::Process(record) => decision("process").with("record", record.to_json()),
            Admission::Replay(record) => decision("replay").with("record", record.to_json()),
            Admission::InFlight(problem) => decision("in_flight").with("problem", problem.to_json()),
            Admission::Conflict { differs, problem } => decision("conflict")
                .with("alert", Json::Bool(true))
                .with(
                    "differs",
                    Json::Array(differs.iter().copied().map(Json::text).collect()),
                )
                .with("problem", problem.to_json()),
            Admission::Reconcile(record) => decision("reconcile").with("record", record.to_json()),
            Admission::Receipt(id) => decision("receipt").with("receiptId", Json::text(id.as_str())),
        }
    }
}

/// What to do with a request, given the record kept under its payment id or call key. The record's own `paymentId` is not
/// compared, since a store may keep a digest in its place. The lease of a new record is 60 seconds unless given; `poll` is where
/// an in-flight answer sends the caller ([`Problem::with_poll`]). Errors, in this order: `lease_invalid` (not 1 second to
/// one day), `time_invalid` (the lease would end past 2^53-1), `poll_invalid`.
pub fn admit(
    record: Option<&AdmissionRecord>,
    request: &AdmissionRequest,
    now: Seconds,
    lease: Option<Seconds>,
    poll: Option<&str>,
) -> Result<Admission, Error> {
    let lease_until = lease::end(now, lease)?;
    let waiting = Problem::new(Code::PaymentInFlight);
    let waiting = match poll {
        Some(poll) => waiting.with_poll(poll)?,
        None => waiting,
    };
    let Some(record) = record else {
        return Ok(Admission::Process(AdmissionRecord::open(
            request,
            &[],
            now,
            lease_until,
        )));
    };
    let differs = record.request.differs(request);
    if !differs.is_empty() {
        let problem = Problem::new(Code::PaymentConflict);
        return Ok(Admission::Conflict { differs, problem });
    }
    let left = record.lease_until.saturating_sub(now);
    let receipt_or_reconcile = || match &record.receipt_id {
        Some(id) => Admission::Receipt(id.clone()),
        None => Admission::Reconcile(record.clone()),
    };
    Ok(match record.state {
        State::InFlight | State::Settled if left > 0 => {
            Admission::InFlight(waiting.with_retry_after(left.min(LONGEST_WAIT)))
        }
        State::InFlight | State::Settled => Admission::Reconcile(record.clone()),
        State::Delivered if record.response.is_some() => Admission::Replay(record.clone()),
        State::Delivered | State::Expired => receipt_or_reconcile(),
        State::Failed => {
            let known = &record.request.authorizations;
            Admission::Process(AdmissionRecord::open(request, known, now, lease_until))
        }
    })
}

/// The record with its lease renewed, for the one caller that reconciles it: written before the chain is read, so that others
/// are told to wait. Its state stays; the request's authorizations are added, because each may be the one that landed. Errors,
/// in this order: `lease_invalid`, `time_invalid`, `payment_identifier_conflict`, `payment_in_flight` (the lease is
/// running), `record_invalid` at `record.state` (there is nothing to reconcile).
pub fn take_over(
    record: &AdmissionRecord,
    request: &AdmissionRequest,
    now: Seconds,
    lease: Option<Seconds>,
) -> Result<AdmissionRecord, Error> {
    let lease_until = lease::end(now, lease)?;
    match admit(Some(record), request, now, lease, None)? {
        Admission::Conflict { .. } => Err(Error::new(Code::PaymentConflict, "")),
        // A delivered or expired record can be asked about before its lease is over, and is taken over by one at a time too.
        Admission::InFlight(_) | Admission::Reconcile(_) if now < record.lease_until => {
            Err(Error::new(Code::PaymentInFlight, ""))
        }
        Admission::Reconcile(mut record) => {
            record.lease_until = lease_until;
            record.request.know(&request.authorizations);
            Ok(record)
        }
        Admission::InFlight(_) | Admission::Process(_) | Admission::Replay(_) | Admission::Receipt(_) => {
            Err(Error::new(Code::RecordInvalid, "record.state"))
        }
    }
}
