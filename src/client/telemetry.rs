//! What of a call an observer's trace is told: which spans are open, and what they are called.
//!
//! Names are those of OpenTelemetry where it has some (`gen_ai.*`, `error.type`, `http.request.method`, `server.address`), `payment.*` for what is paid, and `counterfoil.*` for what
//! only this crate knows. No signature, header, URL, body, purpose or id of the caller's own is among them. Nothing here changes a call.

use super::start::Mode;
use super::{Config, Start, State};
use crate::attempt::Attempt;
use crate::json::Json;

/// The span of the whole call: `{name, attributes}`.
pub fn call(start: &Start, config: &Config) -> Json {
    let tool = match start.mode {
        Mode::Fetch => "payer.fetch",
        Mode::Resume => "payer.resume",
        Mode::Release => "payer.release",
        Mode::Claim => "payer.claim",
        Mode::Cancel => "payer.cancel",
        Mode::HandOver => "payer.handOver",
        Mode::TakeOver => "payer.takeOver",
    };
    let scope = Some(start.scope.as_str()).filter(|scope| *scope != "default");
    let request = start.request.as_ref();
    let host = request.and_then(|request| request.url.split('/').nth(2));
    let attributes = Json::object([
        ("gen_ai.operation.name", Json::text("execute_tool")),
        ("gen_ai.tool.name", Json::text(tool)),
        ("payment.payer", config.payer.to_json()),
    ])
    .with_some("gen_ai.agent.name", config.named_actor().map(Json::text))
    .with_some("gen_ai.conversation.id", scope.map(Json::text))
    .with_some(
        "http.request.method",
        request.map(|request| Json::text(request.method.as_str())),
    )
    .with_some("server.address", host.map(Json::text))
    .with_some("counterfoil.parent.id", start.parent.as_deref().map(Json::text));
    span(format!("execute_tool {tool}"), attributes)
}

/// The spans below it that are open while an effect of this type is carried out, the outer first: `[{key, name, attributes}]`. An attempt is open from its signature, and its
/// settlement from its first send, until the call ends. Nothing where the effect changes neither. `paid`: a send carries the payment.
pub fn spans(state: &State, effect: &str, paid: bool) -> Option<Vec<Json>> {
    let buys = matches!(
        state.start.mode,
        Mode::Fetch | Mode::Resume | Mode::Release | Mode::TakeOver
    );
    let settles = match effect {
        "sign" | "ask_contract" if buys => false,
        "send" if paid => true,
        "read_chain" | "deliver" => true,
        _ => return None,
    };
    let attempt = state.attempt()?;
    let own = attributes(state, attempt);
    let named = |key: String, name: &str| span(name.to_owned(), own.clone()).with("key", Json::String(key));
    let mut open = vec![named(
        format!("attempt {}", attempt.attempt_id),
        "payment attempt",
    )];
    if settles {
        open.push(named(format!("settle {}", attempt.attempt_id), "payment settle"));
    }
    Some(open)
}

/// What every open span is told when the call ends with this error or resolution, as the effect has it: `{attributes}`.
pub fn end(state: &State, error: Option<&Json>, resolution: Option<&Json>) -> Json {
    let told = error.or(resolution);
    let fact = |name: &str| told?.get(name).cloned();
    let outcome = resolution.and_then(|resolution| resolution.get("outcome").cloned());
    let known = Some(state.intent_id.as_str()).filter(|id| !id.is_empty());
    let attributes = Json::object([])
        .with_some("gen_ai.tool.call.id", known.map(Json::text))
        .with_some("counterfoil.intent.id", known.map(Json::text))
        .with_some("counterfoil.outcome", outcome)
        .with_some("counterfoil.money", fact("money"))
        .with_some("counterfoil.next", fact("next"))
        .with_some("payment.transaction", fact("transaction"));
    let code = error.and_then(|error| error.get("code").cloned());
    Json::object([("attributes", attributes.with_some("error.type", code))])
}

fn attributes(state: &State, attempt: &Attempt) -> Json {
    let signed = &attempt.authorization;
    let rail = state.intent.as_ref().and_then(|intent| intent.rail.as_ref());
    Json::object([
        ("counterfoil.intent.id", Json::text(state.intent_id.as_str())),
        ("counterfoil.attempt.id", Json::text(attempt.attempt_id.as_str())),
        ("payment.amount", attempt.value().to_json()),
        ("payment.asset", signed.asset().to_json()),
        ("payment.recipient", signed.to().to_json()),
    ])
    .with_some("payment.network", rail.map(|rail| rail.network.to_json()))
    .with_some(
        "payment.method",
        rail.map(|rail| Json::text(rail.method.as_str())),
    )
    .with_some(
        "payment.protocol",
        rail.map(|rail| Json::text(rail.protocol.as_str())),
    )
}

fn span(name: String, attributes: Json) -> Json {
    Json::object([("name", Json::String(name)), ("attributes", attributes)])
}
