//! Calls about the selling side's machine: decode, call, encode.

use super::Input;
use crate::call_key::{self, Rule};
use crate::error::{Code, Error};
use crate::fingerprint::Request;
use crate::json::Json;
use crate::problem::Problem;
use crate::sale::kept;
use crate::sale::presented::{self, Reading};
use crate::sale::rows::Rows;
use crate::sale::{self, Config};
use crate::time;

/// Answers the call when its name belongs here.
pub(super) fn call(name: &str, input: &Input) -> Option<Result<Json, Error>> {
    Some(match name {
        "saleConfig" => config(input).map(|config| config.to_json()),
        "saleId" => sale_id(input),
        "saleRead" => sale_read(input),
        "saleSlot" => Ok(kept::told_slot(&input.json).map_or(Json::Null, Json::String)),
        "saleKeys" => sale_keys(input),
        "saleStep" => sale_step(input),
        "saleProblem" => sale_problem(input),
        _ => return None,
    })
}

fn config(input: &Input) -> Result<Config, Error> {
    input.json.read("config", Config::from_json)
}

/// Input `{id, keyId}` and the secret.
fn sale_id(input: &Input) -> Result<Json, Error> {
    let id = input.json.read("id", Json::as_str)?;
    let key_id = input.json.read("keyId", Json::as_str)?;
    sale::keyed_id(id, key_id, input.secret("secret")?).map(Json::text)
}

/// Input `{header, method, url, call?: {tool, args, scope?, rule?, window?}, contract?}` and the body's bytes; answer
/// `{presented, keyed?: {key, window, tool, scope, args, rule?}}` or `{ask}`. The scope of a call is the paying wallet unless given.
fn sale_read(input: &Input) -> Result<Json, Error> {
    let json = &input.json;
    let header = json.read("header", Json::as_str)?;
    let contract = json.read_opt("contract", Json::as_str)?;
    let tool = json.read_opt("call", Tool::from_json)?;
    let fingerprint = match &tool {
        Some(tool) => tool.fingerprint()?,
        None => None,
    };
    let fingerprint = match fingerprint {
        Some(fingerprint) => fingerprint,
        None => {
            let method = json.read("method", Json::as_str)?;
            let url = json.read("url", Json::as_str)?;
            Request::new(method, url, input.bytes.as_deref().unwrap_or_default())?.fingerprint()?
        }
    };
    let reading = presented::read(header, &fingerprint, contract)?;
    let keyed = match (&reading, &tool) {
        (Reading::Ready(presented), Some(tool)) => tool.keyed(&presented.payer.to_string())?,
        _ => None,
    };
    Ok(reading.to_json().with_some("keyed", keyed))
}

struct Tool<'a> {
    name: &'a str,
    args: &'a Json,
    scope: Option<&'a str>,
    rule: Rule,
    rule_json: Option<&'a Json>,
    window: u64,
}

impl<'a> Tool<'a> {
    fn from_json(json: &'a Json) -> Result<Self, Error> {
        let (scope, window) = (
            json.read_opt("scope", Json::as_str)?,
            json.read_opt("window", Json::as_u64)?,
        );
        Ok(Tool {
            name: json.read("tool", Json::as_str)?,
            args: json.require("args")?,
            scope,
            rule: json.read_opt("rule", Rule::from_json)?.unwrap_or_default(),
            rule_json: json.get("rule"),
            window: window.unwrap_or(sale::CALL_WINDOW),
        })
    }

    /// What a keyed call is: its tool and arguments, however its request was worded.
    fn fingerprint(&self) -> Result<Option<[u8; 32]>, Error> {
        let key = call_key::call_key(self.name, self.args, "any", &self.rule)?;
        key.map(|key| sale::call_fingerprint(self.name, &key.args_hash))
            .transpose()
    }

    fn keyed(&self, payer: &str) -> Result<Option<Json>, Error> {
        let scope = self
            .scope
            .map_or_else(|| format!("wallet:{payer}"), str::to_owned);
        let key = call_key::call_key(self.name, self.args, &scope, &self.rule)?;
        Ok(key.map(|key| {
            Json::object([
                ("key", Json::text(key.key)),
                ("window", Json::number(self.window)),
                ("tool", Json::text(self.name)),
                ("scope", Json::text(scope.as_str())),
                ("args", self.args.clone()),
            ])
            .with_some("rule", self.rule_json.cloned())
        }))
    }
}

fn sale_keys(input: &Input) -> Result<Json, Error> {
    let keys = sale::keys(
        input.json.read("step", Json::as_str)?,
        input.json.require("input")?,
        &config(input)?,
    )?;
    Ok(Json::Array(keys.into_iter().map(Json::String).collect()))
}

fn sale_step(input: &Input) -> Result<Json, Error> {
    let json = &input.json;
    sale::step(
        json.read("step", Json::as_str)?,
        Rows::from_json(json.require("keys")?, json.require("rows")?)?,
        json.require("input")?,
        &config(input)?,
        json.read("now", time::parse_seconds)?,
    )
}

/// Input `{code}`; answer `{problem}`, as a request that can't be read is answered.
fn sale_problem(input: &Input) -> Result<Json, Error> {
    let text = input.json.read("code", Json::as_str)?;
    let code = Code::ALL.iter().find(|code| code.as_str() == text);
    let code = *code.unwrap_or(&Code::InternalError);
    let problem = Problem::new(code);
    let status = match code {
        Code::InternalError => 500,
        Code::NotFound => 404,
        Code::StoreUnavailable | Code::EvidenceUnreadable => 503,
        _ if problem.status == 500 => 400,
        _ => problem.status,
    };
    let problem = problem.with_status(status);
    let problem = if status == 503 {
        problem.with_retry_after(5)
    } else {
        problem
    };
    Ok(sale::told::Told::problem(problem).0)
}
