//! The selling side as a machine without input or output: one paid request, from the payment in its header to the answer that is
//! kept, step by step over rows that a store locks.
//!
//! | step | what it decides |
//! |---|---|
//! | `admit` | new, running, repeated, another one's, past its retention, or left behind by a dead worker |
//! | `evidence` | what the chain says about a sale that was left behind |
//! | `renew` | the worker is alive |
//! | `settling` | whether the payment may be broadcast now |
//! | `settled` | what the facilitator's word means |
//! | `answer` | whether the handler's answer is the answer of the sale |
//! | `status` | where a payment stands, for its payer |
//! | `due` | what the clock alone changes |
//! | `refunded` | whether money that was owed back went back |
//! | `quote`, `order`, `effect`, `orderDue` | orders, one payment each |
//!
//! Each step reads and writes in one transaction. It names the rows that it needs; one that it finds out about later makes it run
//! again with that row locked too. Rules that hold in every path:
//!
//! - The record, its payment and the order's move are durable before any work begins, and that a broadcast begins is durable
//!   before it does.
//! - What was broadcast and has no known end is never taken for failed, whoever threw what.
//! - A worker that was taken over can't write any more; what it learns about money is noted all the same.
//! - One purchase is worked on with one payment: whoever takes over goes on with the first one.

pub mod admit;
pub mod close;
pub mod kept;
pub mod presented;
pub mod quoted;
pub mod reading;
pub mod receipt;
pub mod refund;
pub mod rows;
pub mod settle;
pub mod status;
pub mod told;
pub mod tripwire;
pub mod unpaid;
pub mod wallet;

use crate::address::Address;
use crate::admission;
use crate::digest;
use crate::error::{Code, Error};
use crate::evidence::{self, Layout};
use crate::hex;
use crate::json::Json;
use crate::network::Network;
use crate::time::Seconds;
use rows::{Fault, Rows};
use settle::Worker;
use wallet::Cap;

/// Domain tag of the keyed hash of a payment id.
pub const ID_TAG: &str = "counterfoil/retry-id/v1";

/// How long an answer is kept unless told otherwise: a day.
const RETENTION: Seconds = 86_400;
/// The window of a keyed call unless told otherwise, in seconds.
pub const CALL_WINDOW: Seconds = 600;
/// Largest answer that is kept unless told otherwise.
const MAX_STORED: u64 = 1 << 20;

/// The gateway's settings.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Config {
    /// How long a worker is believed to be at work without a sign of life.
    pub lease: Seconds,
    /// How long an answer is kept.
    pub retention: Seconds,
    /// Largest answer that is kept, in bytes.
    pub max_stored: u64,
    /// Path under which the gateway's own routes are.
    pub base: String,
    /// Caps per paying wallet.
    pub caps: Vec<Cap>,
    /// Whether a `safe` block counts as final.
    pub trust_safe: bool,
    /// With a list no source is trusted: an unknown ends only by a proof under one of these blocks.
    pub trusted_blocks: Option<Vec<[u8; 32]>>,
    /// Token code that is known beside the pinned.
    pub layouts: Vec<Layout>,
    /// Whether an answer is repeated for a payment without an id, which whoever reads the chain can copy.
    pub replay_unnamed: bool,
    /// Whether the facilitator is seen through the gateway, so that it is known when a broadcast begins.
    pub watched: bool,
}

impl Config {
    /// Reads `{lease?, retention?, maxStoredBody?, base?, walletCaps?, trustSafe?, trustedBlocks?, layouts?,
    /// replayUnnamed?, watched?}`. Errors: those
    /// of the members at the field, `lease_invalid`, `number_out_of_range`.
    pub fn from_json(json: &Json) -> Result<Config, Error> {
        let seconds = |name: &str, default: Seconds, least: Seconds| {
            let value = json.read_opt(name, Json::as_u64)?.unwrap_or(default);
            match value >= least && value <= 1 << 40 {
                true => Ok(value),
                false => Err(Error::new(Code::NumberOutOfRange, name)),
            }
        };
        let lease = json
            .read_opt("lease", Json::as_u64)?
            .unwrap_or(admission::DEFAULT_LEASE);
        if !(1..=admission::MAX_LEASE).contains(&lease) {
            return Err(Error::new(Code::LeaseInvalid, "lease"));
        }
        let flag = |name: &str| {
            json.read_opt(name, Json::as_bool)
                .map(|flag| flag.unwrap_or(false))
        };
        Ok(Config {
            lease,
            retention: seconds("retention", RETENTION, 1)?,
            max_stored: seconds("maxStoredBody", MAX_STORED, 0)?,
            base: json
                .read_opt("base", Json::as_string)?
                .unwrap_or_else(|| "/counterfoil".to_owned()),
            caps: json
                .read_opt("walletCaps", |list| list.as_list(Cap::from_json))?
                .unwrap_or_default(),
            trust_safe: flag("trustSafe")?,
            trusted_blocks: json.read_opt("trustedBlocks", evidence::block_hashes)?,
            layouts: json.read_opt("layouts", evidence::layouts)?.unwrap_or_default(),
            replay_unnamed: flag("replayUnnamed")?,
            watched: flag("watched")?,
        })
    }

    /// How the chain's answers about a token are judged.
    pub(super) fn chain(&self, network: &Network, asset: Address) -> evidence::Context {
        evidence::Context {
            trust_safe: self.trust_safe,
            trusted_blocks: self.trusted_blocks.clone(),
            layouts: self.layouts.clone(),
            ..evidence::Context::new(network.clone(), asset)
        }
    }

    /// What [`Config::from_json`] reads, defaults filled in. Which blocks are trusted the host says anew in each step.
    pub fn to_json(&self) -> Json {
        Json::object([
            ("lease", Json::number(self.lease)),
            ("retention", Json::number(self.retention)),
            ("maxStoredBody", Json::number(self.max_stored)),
            ("base", Json::text(self.base.as_str())),
            (
                "walletCaps",
                Json::Array(self.caps.iter().map(Cap::to_json).collect()),
            ),
            ("trustSafe", Json::Bool(self.trust_safe)),
            ("replayUnnamed", Json::Bool(self.replay_unnamed)),
            ("watched", Json::Bool(self.watched)),
        ])
    }

    /// Whether wallets are capped.
    pub fn capped(&self) -> bool {
        !self.caps.is_empty()
    }

    /// Where the payer asks how a payment stands.
    pub fn poll(&self, id: &str) -> String {
        format!("{}/payments/{id}", self.base)
    }

    /// Where anyone reads a receipt.
    pub fn receipt_path(&self, id: &str) -> String {
        format!("{}/receipts/{id}", self.base)
    }
}

/// The id under which a payment id is kept and shown: the id of the key, `_`, and the 64 digits of HMAC-SHA-256 over the tag
/// `counterfoil/retry-id/v1`, a line feed and the RFC 8785 text of `{"paymentId"}`. Errors: `payment_id_invalid`,
/// `secret_invalid` (under 16 bytes), `invalid_type` at `keyId` (not 1 to 16 letters and digits).
pub fn keyed_id(id: &str, key_id: &str, secret: &[u8]) -> Result<String, Error> {
    if !crate::x402::payment_identifier::is_valid(id) {
        return Err(Error::new(Code::PaymentIdInvalid, "id"));
    }
    crate::intent::check_secret(secret)?;
    let short = (1..=16).contains(&key_id.len());
    if !short || !key_id.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return Err(Error::new(Code::InvalidType, "keyId"));
    }
    let what = Json::object([("paymentId", Json::text(id))]);
    let hash = hex::encode(digest::keyed(secret, ID_TAG, &what)?);
    Ok(hash.replacen("0x", &format!("{key_id}_"), 1))
}

/// What a keyed call is paid for: SHA-256 over the tag `counterfoil/call/v1`, a line feed and the RFC 8785 text of
/// `{"argsHash","tool"}`, instead of the request's own fingerprint, which holds the volatile fields.
pub fn call_fingerprint(tool: &str, args_hash: &[u8; 32]) -> Result<[u8; 32], Error> {
    let what = Json::object([
        ("argsHash", Json::text(hex::encode(args_hash))),
        ("tool", Json::text(tool)),
    ]);
    digest::tagged("counterfoil/call/v1", &what)
}

/// The rows that a step looks at first, each once.
pub fn keys(step: &str, input: &Json, config: &Config) -> Result<Vec<String>, Error> {
    let mut keys = first_keys(step, input, config)?;
    let mut seen = Vec::new();
    keys.retain(|key| {
        let new = !seen.contains(key);
        seen.push(key.clone());
        new
    });
    Ok(keys)
}

fn first_keys(step: &str, input: &Json, config: &Config) -> Result<Vec<String>, Error> {
    let sale = || Ok(vec![kept::key(input.read("sale", Json::as_str)?)]);
    let order = || Ok(vec![quoted::key(input.read("order", Json::as_str)?)]);
    match step {
        "admit" => Ok(admit::Input::from_json(input)?.keys(config)),
        "status" => {
            let ids = input.read("ids", |list| list.as_list(Json::as_str))?;
            Ok(ids.into_iter().map(kept::key).collect())
        }
        "evidence" | "renew" | "settling" | "settled" | "answer" | "due" => sale(),
        "refunded" => Ok(vec![refund::first_key(input)?]),
        "quote" => quoted::open_keys(input),
        "order" | "effect" | "orderDue" => order(),
        _ => Err(Error::new(Code::UnknownCall, "step")),
    }
}

/// One step. `{puts: [{key, value, body, expiresAt?}], result}`; a result with `again` names the rows to lock for another run.
/// Errors: `unknown_call`, those of input and rows.
pub fn step(step: &str, mut rows: Rows, input: &Json, config: &Config, now: Seconds) -> Result<Json, Error> {
    let result = decide(step, &mut rows, input, config, now);
    rows.finish(result)
}

fn decide(step: &str, rows: &mut Rows, input: &Json, config: &Config, now: Seconds) -> Result<Json, Fault> {
    let worker = || Worker::from_json(input);
    let told = match step {
        "admit" => admit::admit(rows, &admit::Input::from_json(input)?, config, now)?,
        "evidence" => reading::read(rows, &worker()?, input, config, now)?,
        "renew" => settle::renew(rows, &worker()?, config, now)?,
        "settling" => settle::settling(rows, &worker()?, config, now)?,
        "settled" => settle::settled(rows, &worker()?, input, config, now)?,
        "answer" => close::close(rows, &worker()?, input, config, now)?,
        "status" => status::status(rows, input, config, now)?,
        "due" => reading::due(rows, input, config, now)?,
        "refunded" => refund::close(rows, input, config, now)?,
        "quote" => return quoted::open(rows, input, now),
        "order" => return refund::event(rows, input, config, now),
        "effect" => return quoted::effect(rows, input, config, now),
        "orderDue" => return quoted::due(rows, input, now),
        _ => return Err(Error::new(Code::UnknownCall, "step").into()),
    };
    Ok(told.0)
}
