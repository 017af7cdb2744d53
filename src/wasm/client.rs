//! Calls about the journal and the paying machine.

use super::Input;
use crate::address::Address;
use crate::amount::Amount;
use crate::attempt;
use crate::client::history::{self, Token};
use crate::client::record::{self, Intent, Standing};
use crate::client::{self, telemetry, Config, Context, Event, Record, Start, State, Step};
use crate::error::{Code, Error, Money, Next};
use crate::evidence::{self, How};
use crate::hand_over::HandOver;
use crate::intent;
use crate::journal::{self, Entry, Head, Op, Value};
use crate::json::Json;
use crate::network::Network;
use crate::time;
use crate::{base64, hex};

/// Answers the call when its name belongs here.
pub(super) fn call(name: &str, input: &Input) -> Option<Result<Json, Error>> {
    Some(match name {
        "journalOpen" => input
            .bytes("bytes")
            .and_then(|bytes| Ok(opened_json(&journal::open(bytes)?))),
        "journalAppend" => journal_append(input),
        "clientConfig" => client_config(input),
        "clientStart" => client_start(input),
        "clientStep" => client_step(input),
        "intentIsSettled" => input.json.read("record", |text| {
            record::from_text(text.as_str()?, Intent::from_json).map(|intent| Json::Bool(intent.is_settled()))
        }),
        "intentStanding" => intent_standing(&input.json),
        "attemptProven" => input
            .json
            .read("state", attempt::State::from_json)
            .map(|state| proven_json(state.proven())),
        "unknownHistory" => Ok(proven_json(Some(history::UNKNOWN))),
        "historyKeys" => history_keys(input),
        "historyPage" => history_page(input),
        "historyPermits" => history_permits(input),
        "knownToIntent" => input.json.read("record", |text| {
            let intent = record::from_text(text.as_str()?, Intent::from_json)?;
            Ok(words(history::known(&intent)))
        }),
        "handOverDigest" => hand_over_digest(input),
        "clientIntend" => client_intend(input),
        "clientAccept" => client_accept(input),
        "clientRefuse" => client_refuse(input),
        "clientCallSpan" => client_call_span(&input.json),
        "clientSpans" => client_spans(&input.json),
        "clientSpanEnd" => client_span_end(&input.json),
        "requestIdentity" => request_identity(input),
        _ => return None,
    })
}

fn entry_json(entry: &Entry) -> Json {
    let (name, value) = match &entry.value {
        Value::Text(text) => ("text", text.clone()),
        Value::Bytes(bytes) => ("base64", base64::encode(bytes)),
    };
    Json::object([
        ("key", Json::text(entry.key.as_str())),
        ("rev", Json::number(entry.rev)),
        (name, Json::text(value)),
    ])
}

fn opened_json(opened: &journal::Opened) -> Json {
    let torn = (opened.torn > 0).then(|| {
        Json::object([
            ("at", Json::number(opened.head.length)),
            ("length", Json::number(opened.torn)),
        ])
    });
    Json::object([
        (
            "entries",
            Json::Array(opened.entries.iter().map(entry_json).collect()),
        ),
        ("head", opened.head.to_json()),
        ("torn", torn.unwrap_or(Json::Null)),
        ("needsNewline", Json::Bool(opened.needs_newline)),
    ])
}

fn journal_append(input: &Input) -> Result<Json, Error> {
    let head = input.json.read("head", Head::from_json)?;
    let ops = input.json.read("ops", |ops| ops.as_list(Op::from_json))?;
    let (line, head) = journal::append(&head, &ops)?;
    Ok(Json::object([
        ("line", Json::text(line)),
        ("head", head.to_json()),
    ]))
}

fn with_context<T>(input: &Input, run: impl FnOnce(Context<'_>) -> Result<T, Error>) -> Result<T, Error> {
    let config = input.json.read("config", Config::from_json)?;
    let secret = input.secret.as_ref().map(|secret| secret.as_slice());
    run(Context {
        config: &config,
        secret,
        now: input.json.read("now", time::clock)?,
    })
}

fn step_json(step: &Step) -> Result<Json, Error> {
    Ok(Json::object([
        ("state", step.state.to_json()?),
        (
            "effects",
            Json::Array(step.effects.iter().map(client::Effect::to_json).collect()),
        ),
    ]))
}

/// Settings are checked before the first call needs them, and what the clock says, where that comes along.
fn client_config(input: &Input) -> Result<Json, Error> {
    let config = input.json.read("config", Config::from_json)?;
    input.json.read_opt("clock", time::clock)?;
    if let Some(secret) = &input.secret {
        intent::check_secret(secret)?;
    }
    Ok(Json::object([
        ("payer", config.payer.to_json()),
        ("maxWindow", Json::number(config.policy.max_window())),
    ]))
}

fn client_start(input: &Input) -> Result<Json, Error> {
    let start = input.json.read("start", Start::from_json)?;
    step_json(&with_context(input, |context| client::start(&start, context))?)
}

fn client_step(input: &Input) -> Result<Json, Error> {
    let state = input.json.read("state", State::from_json)?;
    let event = input.json.read("event", Event::from_json)?;
    step_json(&with_context(input, |context| {
        client::step(state, event, context)
    })?)
}

/// `{outcome, money, next}` of a state that is reached only by a proof; null for the others.
fn proven_json(proven: Option<(&str, Money, Next)>) -> Json {
    proven.map_or(Json::Null, |(outcome, money, next)| {
        Json::object([
            ("outcome", Json::text(outcome)),
            ("money", Json::text(money.as_str())),
            ("next", Json::text(next.as_str())),
        ])
    })
}

fn token(json: &Json) -> Result<Token, Error> {
    Ok(Token {
        network: json.read("network", Network::from_json)?,
        asset: json.read("asset", Address::from_json)?,
    })
}

/// Input `{config, network, asset}`: the records that a page of history stands on, and where what it finds is written.
fn history_keys(input: &Input) -> Result<Json, Error> {
    let config = input.json.read("config", Config::from_json)?;
    let token = token(&input.json)?;
    let history = token.history_key(&config.payer);
    Ok(Json::object([
        ("wallet", Json::text(record::Wallet::key(&config.payer))),
        ("history", Json::text(history.as_str())),
        (
            "recovered",
            Json::text(format!("{}/", history.replacen("history", "recovered", 1))),
        ),
    ]))
}

fn words(list: Vec<[u8; 32]>) -> Json {
    Json::Array(
        list.into_iter()
            .map(|word| Json::text(hex::encode(word)))
            .collect(),
    )
}

/// Input `{config, network, asset, transactions}`: the nonces whose words of the bitmap are to be read.
fn history_permits(input: &Input) -> Result<Json, Error> {
    let config = input.json.read("config", Config::from_json)?;
    let token = token(&input.json)?;
    input.json.read("transactions", |list| {
        let nonces = evidence::permit_nonces(&config.payer, &token.asset, list.as_array()?)?;
        Ok(words(nonces))
    })
}

/// Input `{record, payer}`: the record's text as the journal holds it.
fn intent_standing(json: &Json) -> Result<Json, Error> {
    let payer = json.read("payer", Address::from_json)?;
    let record = json.read("record", Json::as_str)?;
    Ok(Standing::of(record, &payer).to_json())
}

/// Input `{config, now, network, asset, evidence, records, known}`.
fn history_page(input: &Input) -> Result<Json, Error> {
    let config = input.json.read("config", Config::from_json)?;
    let token = token(&input.json)?;
    let now = input.json.read("now", time::clock)?;
    let evidence = input.json.read("evidence", Json::as_array)?;
    let records = input
        .json
        .read("records", |list| list.as_list(Record::from_json))?;
    let known = input.json.read("known", |list| list.as_list(Json::as_hex))?;
    let page = history::page(&config, &token, evidence, &records, &known, now)?;
    let moved = page.found.iter().filter(|one| one.how != How::Cancelled);
    let spent = moved
        .clone()
        .try_fold(Amount::ZERO, |sum, one| sum.checked_add(one.amount))
        .ok_or_else(|| Error::new(Code::AmountInvalid, "evidence"))?;
    let moved = moved.count() as u64;
    let unknown = page.found.iter().filter(|one| one.how == How::Unknown);
    let unknown = unknown.count() as u64;
    match client::Effect::Persist(page.writes).to_json().get("ops") {
        Some(ops) => Ok(Json::object([
            ("ops", ops.clone()),
            ("used", Json::number(moved - unknown)),
            ("cancelled", Json::number(page.found.len() as u64 - moved)),
            ("spent", spent.to_json()),
        ])
        .with_some("unknown", (unknown > 0).then(|| Json::number(unknown)))),
        None => Err(Error::new(Code::InternalError, "")),
    }
}

/// The record that a write stands on.
fn stands(input: &Input) -> Result<Option<Record>, Error> {
    input.json.read_opt("wallet", Record::from_json)
}

fn write_json(write: client::Write) -> Result<Json, Error> {
    client::Effect::Persist(vec![write])
        .to_json()
        .get("ops")
        .cloned()
        .ok_or_else(|| Error::new(Code::InternalError, ""))
}

/// Input `{config, now, start, wallet?}`; answer `{intentId, ops?}`: nothing to write where the intent stands already.
fn client_intend(input: &Input) -> Result<Json, Error> {
    let config = input.json.read("config", Config::from_json)?;
    let start = input.json.read("start", Start::from_json)?;
    let now = input.json.read("now", time::clock)?;
    let (intent_id, write) = client::tree::intend(&config, &start, stands(input)?.as_ref(), now)?;
    let ops = write.map(write_json).transpose()?;
    Ok(Json::object([("intentId", Json::text(intent_id))]).with_some("ops", ops))
}

/// Input `{config, now, approval, wallet?}`; answer `{ops}`.
fn client_accept(input: &Input) -> Result<Json, Error> {
    let config = input.json.read("config", Config::from_json)?;
    let now = input.json.read("now", time::clock)?;
    let document = input.json.require("approval")?;
    let write = client::approve::accept(&config, document, stands(input)?.as_ref(), now)?;
    Ok(Json::object([("ops", write_json(write)?)]))
}

/// Input `{config, refusal, wallet?}`; answer `{ops}`.
fn client_refuse(input: &Input) -> Result<Json, Error> {
    let config = input.json.read("config", Config::from_json)?;
    let document = input.json.require("refusal")?;
    let write = client::approve::refuse(&config, document, stands(input)?.as_ref())?;
    Ok(Json::object([("ops", write_json(write)?)]))
}

/// Input `{handOver}`: what the payer signs of it, and who did.
fn hand_over_digest(input: &Input) -> Result<Json, Error> {
    let (hand_over, signature) = input.json.read("handOver", HandOver::from_json)?;
    let signer = signature
        .map(|signature| hand_over.recover(&signature))
        .transpose()
        .map_err(|error| error.within("handOver.signature"))?;
    Ok(Json::object([
        ("hash", Json::text(hex::encode(hand_over.hash()?))),
        ("digest", Json::text(hex::encode(hand_over.digest()?))),
        ("typedData", hand_over.typed_data()?),
    ])
    .with_some("signer", signer.map(|signer| signer.to_json())))
}

/// Input `{config, start}`.
fn client_call_span(json: &Json) -> Result<Json, Error> {
    let config = json.read("config", Config::from_json)?;
    let start = json.read("start", Start::from_json)?;
    Ok(telemetry::call(&start, &config))
}

/// Input `{state, effect, paid?}`; answer the spans, or null where the open ones stay.
fn client_spans(json: &Json) -> Result<Json, Error> {
    let state = json.read("state", State::from_json)?;
    let effect = json.read("effect", Json::as_str)?;
    let paid = json.read_opt("paid", Json::as_bool)?.unwrap_or(false);
    Ok(telemetry::spans(&state, effect, paid).map_or(Json::Null, Json::Array))
}

/// Input `{state, error?, resolution?}`.
fn client_span_end(json: &Json) -> Result<Json, Error> {
    let state = json.read("state", State::from_json)?;
    Ok(telemetry::end(&state, json.get("error"), json.get("resolution")))
}

/// The request as the journal names it, from its method, URL and body.
fn request_identity(input: &Input) -> Result<Json, Error> {
    let body = input.bytes.as_deref().unwrap_or_default();
    let method = input.json.read("method", Json::as_string)?;
    let url = input.json.read("url", Json::as_string)?;
    let request = crate::fingerprint::Request::new(&method, &url, body)?;
    let fingerprint = hex::encode(request.fingerprint()?);
    Ok(request.to_json().with("fingerprint", Json::text(fingerprint)))
}
