//! What crosses between two steps, and the settings of a payer.

use crate::amount::Amount;
use crate::attempt::Attempt;
use crate::error::{Code, Error, Money, Next};
use crate::fingerprint::Request;
use crate::json::Json;
use crate::time::Seconds;
use crate::tree::Place;

use super::effect::Failure;
use super::record::{Intent, Reservation, Wallet, WalletChange};
use super::start::Start;

/// What the machine waits for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// The series record.
    LoadSeries,
    /// The intent and wallet records.
    LoadIntent,
    /// The same again, after a conflict.
    Reload,
    /// A write.
    Persist,
    /// The answer to the unpaid request.
    Probe,
    /// A person.
    Ask,
    /// The chain, by this tag, before anything is signed.
    Inspect(String),
    /// The signer.
    Sign,
    /// The wallet contract, about what the signer gave.
    AskContract,
    /// The answer to the paid request.
    Send,
    /// The chain, by this tag, about what was sent.
    Read(String),
    /// Time.
    Wait,
    /// The end of the answer's body.
    Deliver,
}

/// What follows a write.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Then {
    /// Ask a person.
    Ask,
    /// Ask the signer.
    Sign,
    /// Send the paid request.
    Send,
    /// Find out what became of it.
    Settle,
    /// Paid: ask for the answer once more.
    FetchAnswer,
    /// Ask for the price.
    Probe,
    /// Meet the intent anew.
    Reenter,
    /// Hand the answer over.
    Deliver,
    /// Hand the stored answer over.
    Replay,
    /// Hand the signed claim over.
    Claimed,
    /// Hand the signed cancellation over.
    Cancelling,
    /// Give the hand-over out.
    HandedOver,
    /// End with this outcome.
    Done(String),
    /// End with this failure.
    Fail(Failure),
}

/// The state of one call.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct State {
    /// What the call began with.
    pub start: Start,
    /// What it waits for.
    pub phase: Phase,
    /// The intent; empty until known.
    pub intent_id: String,
    /// The durable record, as far as known.
    pub intent: Option<Intent>,
    /// Its revision in the store.
    pub intent_rev: Option<u64>,
    /// The wallet's record.
    pub wallet: Wallet,
    /// Its revision.
    pub wallet_rev: Option<u64>,
    /// Occurrence of an unnamed call.
    pub series: Option<u64>,
    /// Revision of its series.
    pub series_rev: Option<u64>,
    /// The write under way: what changes in the wallet.
    pub change: Option<WalletChange>,
    /// What follows the write under way.
    pub then: Option<Then>,
    /// The price under decision: `{header?, body?, date?, challenges?}` of the 402 answer.
    pub price: Option<Json>,
    /// A person said yes to this price.
    pub approved: bool,
    /// The approval that was signed for it in this call.
    pub granted: Option<Json>,
    /// The new authorization must repeat the terms of the last.
    pub same_terms: bool,
    /// Sends of this call beyond the first.
    pub resends: u64,
    /// Wait asked for by the last answer.
    pub retry_after: Option<Seconds>,
    /// Where the last answer says the payment can be asked after.
    pub poll: Option<String>,
    /// Conflicts met.
    pub conflicts: u64,
    /// When this call began to wait for another worker's call of the same intent.
    pub met: Option<Seconds>,
    /// Which authorization of the attempt is being signed or read.
    pub part: usize,
    /// The chain was read since the last send.
    pub read: bool,
    /// The claim or the hand-over that is being made, the question that a person is asked, or the signature that a wallet contract is asked about.
    pub draft: Option<Json>,
    /// Generation at which an intent without a record begins: nonces found cancelled are passed over.
    pub first_generation: u64,
    /// Findings to report with this step.
    pub alerts: Vec<Json>,
}

impl State {
    /// The state before anything is known.
    pub fn new(start: Start) -> State {
        State {
            start,
            phase: Phase::LoadIntent,
            intent_id: String::new(),
            intent: None,
            intent_rev: None,
            wallet: Wallet::default(),
            wallet_rev: None,
            series: None,
            series_rev: None,
            change: None,
            then: None,
            price: None,
            approved: false,
            granted: None,
            same_terms: false,
            resends: 0,
            retry_after: None,
            poll: None,
            conflicts: 0,
            met: None,
            part: 0,
            read: false,
            draft: None,
            first_generation: 0,
            alerts: Vec::new(),
        }
    }

    /// The attempt that counts, when there is one.
    pub(super) fn attempt(&self) -> Option<&Attempt> {
        self.intent.as_ref()?.current()
    }

    /// The intent's record, which this phase can't do without. Error: `state_invalid`.
    pub(super) fn intent(&self) -> Result<&Intent, Error> {
        self.intent
            .as_ref()
            .ok_or_else(|| Error::new(Code::StateInvalid, "intent"))
    }

    /// The intent's record, to change. Error: `state_invalid`.
    pub(super) fn intent_mut(&mut self) -> Result<&mut Intent, Error> {
        self.intent
            .as_mut()
            .ok_or_else(|| Error::new(Code::StateInvalid, "intent"))
    }

    /// The attempt that counts, which this phase can't do without. Error: `state_invalid`.
    pub(super) fn current(&self) -> Result<&Attempt, Error> {
        self.intent()?
            .current()
            .ok_or_else(|| Error::new(Code::StateInvalid, "attempts"))
    }

    /// The attempt that counts, to change. Error: `state_invalid`.
    pub(super) fn current_mut(&mut self) -> Result<&mut Attempt, Error> {
        self.intent_mut()?
            .current_mut()
            .ok_or_else(|| Error::new(Code::StateInvalid, "attempts"))
    }

    /// The request that is bought. Error: `missing_field`.
    pub(super) fn request(&self) -> Result<&Request, Error> {
        self.start
            .request
            .as_ref()
            .ok_or_else(|| Error::new(Code::MissingField, "request"))
    }

    /// As it crosses the boundary. Errors: those of the request's fingerprint.
    pub fn to_json(&self) -> Result<Json, Error> {
        let intent = self.intent.as_ref().map(Intent::to_json).transpose()?;
        let part = u64::try_from(self.part).ok();
        Ok(Json::object([
            ("start", self.start.to_json()),
            ("phase", self.phase.to_json()),
            ("intentId", Json::text(self.intent_id.as_str())),
        ])
        .with_some("intent", intent)
        .with_some("intentRev", self.intent_rev.map(Json::number))
        .with("wallet", self.wallet.to_json())
        .with_some("walletRev", self.wallet_rev.map(Json::number))
        .with_some("series", self.series.map(Json::number))
        .with_some("seriesRev", self.series_rev.map(Json::number))
        .with_some("change", self.change.as_ref().map(change_to_json))
        .with_some("then", self.then.as_ref().map(Then::to_json))
        .with_some("price", self.price.clone())
        .with("approved", Json::Bool(self.approved))
        .with_some("granted", self.granted.clone())
        .with("sameTerms", Json::Bool(self.same_terms))
        .with("resends", Json::number(self.resends))
        .with_some("retryAfter", self.retry_after.map(Json::number))
        .with_some("poll", self.poll.as_deref().map(Json::text))
        .with("conflicts", Json::number(self.conflicts))
        .with_some("met", self.met.map(Json::number))
        .with_some("part", part.filter(|part| *part > 0).map(Json::number))
        .with("read", Json::Bool(self.read))
        .with_some("draft", self.draft.clone())
        .with("firstGeneration", Json::number(self.first_generation))
        .with("alerts", Json::Array(self.alerts.clone())))
    }

    /// Reads [`State::to_json`]. Errors: those of the fields with their path.
    pub fn from_json(json: &Json) -> Result<State, Error> {
        Ok(State {
            start: json.read("start", Start::from_json)?,
            phase: json.read("phase", Phase::from_json)?,
            intent_id: json.read("intentId", Json::as_string)?,
            intent: json.read_opt("intent", Intent::from_json)?,
            intent_rev: json.read_opt("intentRev", Json::as_u64)?,
            wallet: json.read("wallet", Wallet::from_json)?,
            wallet_rev: json.read_opt("walletRev", Json::as_u64)?,
            series: json.read_opt("series", Json::as_u64)?,
            series_rev: json.read_opt("seriesRev", Json::as_u64)?,
            change: json.read_opt("change", change_from_json)?,
            then: json.read_opt("then", Then::from_json)?,
            price: json.get("price").cloned(),
            approved: json.read("approved", Json::as_bool)?,
            granted: json.get("granted").cloned(),
            same_terms: json.read("sameTerms", Json::as_bool)?,
            resends: json.read("resends", Json::as_u64)?,
            retry_after: json.read_opt("retryAfter", Json::as_u64)?,
            poll: json.read_opt("poll", Json::as_string)?,
            conflicts: json.read("conflicts", Json::as_u64)?,
            met: json.read_opt("met", Json::as_u64)?,
            part: json
                .read_opt("part", Json::as_u64)?
                .and_then(|part| usize::try_from(part).ok())
                .unwrap_or(0),
            read: json.read("read", Json::as_bool)?,
            draft: json.get("draft").cloned(),
            first_generation: json.read("firstGeneration", Json::as_u64)?,
            alerts: json.read("alerts", |list| list.as_list(|item| Ok(item.clone())))?,
        })
    }
}

fn change_to_json(change: &WalletChange) -> Json {
    match change {
        WalletChange::Reserve(reservation) => Json::object([("reserve", reservation.to_json())]),
        WalletChange::Spend(id) => Json::object([("spend", Json::text(id.as_str()))]),
        WalletChange::SpendOnly(id, amount) => {
            Json::object([("spend", Json::text(id.as_str())), ("amount", amount.to_json())])
        }
        WalletChange::Release(id) => Json::object([("release", Json::text(id.as_str()))]),
        WalletChange::Hold(reservation) => Json::object([("hold", reservation.to_json())]),
        WalletChange::Found(reservation) => Json::object([("found", reservation.to_json())]),
        WalletChange::Place(place) => Json::object([("place", place.to_json())]),
        WalletChange::Ask(request) => Json::object([("ask", request.clone())]),
    }
}

fn change_from_json(json: &Json) -> Result<WalletChange, Error> {
    if let Some(reservation) = json.read_opt("reserve", Reservation::from_json)? {
        return Ok(WalletChange::Reserve(Box::new(reservation)));
    }
    if let Some(id) = json.read_opt("spend", Json::as_string)? {
        return Ok(match json.read_opt("amount", Amount::from_json)? {
            Some(amount) => WalletChange::SpendOnly(id, amount),
            None => WalletChange::Spend(id),
        });
    }
    if let Some(reservation) = json.read_opt("hold", Reservation::from_json)? {
        return Ok(WalletChange::Hold(Box::new(reservation)));
    }
    if let Some(reservation) = json.read_opt("found", Reservation::from_json)? {
        return Ok(WalletChange::Found(Box::new(reservation)));
    }
    if let Some(place) = json.read_opt("place", Place::from_json)? {
        return Ok(WalletChange::Place(place));
    }
    if let Some(request) = json.get("ask") {
        return Ok(WalletChange::Ask(request.clone()));
    }
    json.read("release", Json::as_string).map(WalletChange::Release)
}

impl Phase {
    fn to_json(&self) -> Json {
        Json::text(match self {
            Phase::LoadSeries => "load_series",
            Phase::LoadIntent => "load_intent",
            Phase::Reload => "reload",
            Phase::Persist => "persist",
            Phase::Probe => "probe",
            Phase::Ask => "ask",
            Phase::Inspect(tag) => return Json::text(format!("inspect {tag}")),
            Phase::Sign => "sign",
            Phase::AskContract => "ask_contract",
            Phase::Send => "send",
            Phase::Read(tag) => return Json::text(format!("read {tag}")),
            Phase::Wait => "wait",
            Phase::Deliver => "deliver",
        })
    }

    fn from_json(json: &Json) -> Result<Phase, Error> {
        let text = json.as_str()?;
        Ok(match text {
            "load_series" => Phase::LoadSeries,
            "load_intent" => Phase::LoadIntent,
            "reload" => Phase::Reload,
            "persist" => Phase::Persist,
            "probe" => Phase::Probe,
            "ask" => Phase::Ask,
            "sign" => Phase::Sign,
            "ask_contract" => Phase::AskContract,
            "send" => Phase::Send,
            "wait" => Phase::Wait,
            "deliver" => Phase::Deliver,
            other => match other.split_once(' ') {
                Some(("inspect", tag)) => Phase::Inspect(tag.to_owned()),
                Some(("read", tag)) => Phase::Read(tag.to_owned()),
                _ => return Err(Error::new(Code::StateInvalid, "")),
            },
        })
    }
}

impl Then {
    fn to_json(&self) -> Json {
        let plain = |kind: &str| Json::object([("do", Json::text(kind))]);
        match self {
            Then::Ask => plain("ask"),
            Then::Sign => plain("sign"),
            Then::Send => plain("send"),
            Then::Settle => plain("settle"),
            Then::FetchAnswer => plain("fetch_answer"),
            Then::Probe => plain("probe"),
            Then::Reenter => plain("reenter"),
            Then::Deliver => plain("deliver"),
            Then::Replay => plain("replay"),
            Then::Claimed => plain("claimed"),
            Then::Cancelling => plain("cancelling"),
            Then::HandedOver => plain("handed_over"),
            Then::Done(outcome) => plain("done").with("outcome", Json::text(outcome.as_str())),
            Then::Fail(failure) => plain("fail").with("failure", failure.to_json(None, None)),
        }
    }

    fn from_json(json: &Json) -> Result<Then, Error> {
        Ok(match json.read("do", Json::as_str)? {
            "ask" => Then::Ask,
            "sign" => Then::Sign,
            "send" => Then::Send,
            "settle" => Then::Settle,
            "fetch_answer" => Then::FetchAnswer,
            "probe" => Then::Probe,
            "reenter" => Then::Reenter,
            "deliver" => Then::Deliver,
            "replay" => Then::Replay,
            "claimed" => Then::Claimed,
            "cancelling" => Then::Cancelling,
            "handed_over" => Then::HandedOver,
            "done" => Then::Done(json.read("outcome", Json::as_string)?),
            "fail" => Then::Fail(json.read("failure", failure_from_json)?),
            _ => return Err(Error::new(Code::StateInvalid, "do")),
        })
    }
}

fn failure_from_json(json: &Json) -> Result<Failure, Error> {
    let invalid = || Error::new(Code::StateInvalid, "");
    let code = json.read("code", |code| {
        let text = code.as_str()?;
        Code::ALL
            .iter()
            .copied()
            .find(|code| code.as_str() == text)
            .ok_or_else(invalid)
    })?;
    let money = json.read("money", |money| Money::parse(money.as_str()?).ok_or_else(invalid))?;
    let next = json.read("next", |next| Next::parse(next.as_str()?).ok_or_else(invalid))?;
    let field = json.read("field", Json::as_string)?;
    let retry_after = json.read_opt("retryAfter", Json::as_u64)?;
    let poll = json.read_opt("poll", Json::as_string)?;
    Ok(Failure {
        code,
        field,
        next,
        money,
        retry_after,
        poll,
    })
}
