//! The tripwire: fields that make two tries of one call look like two calls, found in the calls themselves.
//!
//! Two things are reported, both as `canonicalization_missed_field` with the pointers at fault:
//!
//! - **one key, other arguments** (alert): a key that the caller chose stands for two calls;
//! - **a field that changes every time** (info): three calls of one tool and scope, each within the window of the next, that are
//!   equal but for fields that look volatile and have another value in each of the three.
//!
//! What looks volatile decides between a retry and an honest next call, which also differs every time. A value does when
//!
//! 1. it is a *time* no further from the call's own than the window: whole Unix seconds, milliseconds, microseconds or nanoseconds,
//!    or an RFC 3339 or HTTP date with its time of day; or
//! 2. its *name speaks of the call itself*: letter case, `_` and `-` aside it ends in `requestid`, `reqid`, `traceid`, `traceparent`, `spanid`,
//!    `correlationid`, `nonce`, `cursor`, `retry`, `retrycount`, `attempt`, `salt`, `idempotencykey`, `pagetoken`, `nexttoken` or
//!    `continuationtoken`; or
//! 3. it is *opaque* (16 characters or more of `A-Z a-z 0-9 . _ ~ + / = -`, changing at least six times between digits and letters), and
//!    its name does not point at a thing, as one does that ends in `id`, `ids`, `key`, `hash`, `address`, `account`, `wallet`, `tx`,
//!    `transaction`, `sku`, `code`, `contract`, `token`, `digest`, `url`, `path`, `name`, `file`, `to`, `from`, `recipient`, `owner` or `user`.
//!
//! So `page` 1, 2, 3 and `offset` 0, 50, 100 are three requests, and so are three words and three `orderId`s; `cursor`, `requestId`, a clock's
//! time and a stray UUID are not. Equal calls raise nothing. A protected field can't be declared volatile and is not reported.

use core::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use super::pointer::{is_protected, plain};
use super::{Pointer, Rule};
use crate::error::{Code, Error};
use crate::finding::{Finding, Severity};
use crate::json::Json;
use crate::sorting::{map, set, sort_by};
use crate::time::{self, Seconds};

/// Window when none is given.
pub const DEFAULT_WINDOW: Seconds = 15 * 60;
/// Most calls looked at together.
pub const MAX_CALLS: usize = 100_000;

/// A call that was made.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Call {
    /// The key that it was sent under, where the caller chose one.
    pub key: Option<String>,
    /// The tool.
    pub tool: String,
    /// Its arguments.
    pub args: Json,
    /// Session, run or wallet.
    pub scope: String,
    /// When.
    pub at: Seconds,
    /// What is known to be volatile.
    pub rule: Rule,
}

/// The findings, ordered by key and tool. Reads that their rule does not key count only under a key that the caller chose. The
/// time grows with the size of the calls, and with nothing else. Errors: `too_large` (calls: more than 100000), and at
/// `calls[n]`: `protected_field`, `number_out_of_range`.
pub fn missed_fields(calls: &[Call], window: Seconds) -> Result<Vec<Finding>, Error> {
    if calls.len() > MAX_CALLS {
        return Err(Error::new(Code::TooLarge, "calls"));
    }
    let mut seen = Vec::new();
    for (index, call) in calls.iter().enumerate() {
        let stable = call
            .rule
            .stable(&call.args)
            .map_err(|error| error.within("rule.volatile"));
        let read = stable.and_then(|args| {
            let text = args.to_canonical().map_err(|error| error.within("args"))?;
            Ok(Seen { call, args, text })
        });
        seen.push(read.map_err(|error| error.within(&format!("calls[{index}]")))?);
    }
    // The order of the log does not matter.
    sort_by(&mut seen, in_time);
    let mut found = reused_keys(&seen);
    found.extend(changing(&seen, window));
    Ok(found)
}

struct Seen<'a> {
    call: &'a Call,
    args: Json,
    text: String,
}

fn in_time(one: &Seen, other: &Seen) -> Ordering {
    (one.call.at, &one.text).cmp(&(other.call.at, &other.text))
}

fn reused_keys(seen: &[Seen]) -> Vec<Finding> {
    let mut keys: BTreeMap<&str, Vec<&Seen>> = BTreeMap::new();
    for one in seen {
        if let Some(key) = &one.call.key {
            keys.entry(key).or_default().push(one);
        }
    }
    let mut found = Vec::new();
    for (key, uses) in keys {
        let Some(first) = uses.first() else { continue };
        let mut fields = Fields::default();
        let mut tools = false;
        for other in &uses {
            tools |= other.call.tool != first.call.tool;
            if other.text != first.text {
                differences(&first.args, &other.args, &mut Vec::new(), &mut fields);
            }
        }
        if tools || !fields.is_empty() {
            let why = match tools {
                true => "One key was used for two tools.",
                false => "One key was used with other arguments, which differ in these fields.",
            };
            found.push(Finding {
                tool: Some(first.call.tool.clone()),
                key: Some(key.to_owned()),
                fields: fields.texts(),
                ..Finding::new(Code::CanonicalizationMissedField, Severity::Alert, why)
            });
        }
    }
    found
}

/// Pointers, those that differ only in the indices of arrays told apart by these indices.
#[derive(Default)]
struct Fields(BTreeMap<Vec<String>, BTreeSet<Vec<String>>>);

impl Fields {
    fn add(&mut self, path: &[Step]) {
        let any = path.iter().map(|step| step.text(true)).collect();
        let one = path.iter().map(|step| step.text(false)).collect();
        let places = self.0.entry(any).or_default();
        // Two are enough to know that there are many.
        if places.len() < 2 {
            places.insert(one);
        }
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// `*` where a field of many elements is meant.
    fn texts(&self) -> Vec<String> {
        let text = |(any, places): (&Vec<String>, &BTreeSet<Vec<String>>)| match places.first() {
            Some(one) if places.len() == 1 => Pointer(one.clone()).to_text(),
            _ => Pointer(any.clone()).to_text(),
        };
        set(self.0.iter().map(text)).into_iter().collect()
    }
}

/// One step of the way to a field.
#[derive(Clone, Copy)]
enum Step<'a> {
    Member(&'a str),
    Index(usize),
}

impl Step<'_> {
    fn text(self, any: bool) -> String {
        match self {
            Step::Member(name) => name.to_owned(),
            Step::Index(_) if any => "*".to_owned(),
            Step::Index(index) => index.to_string(),
        }
    }
}

fn differences<'a>(one: &'a Json, other: &'a Json, path: &mut Vec<Step<'a>>, fields: &mut Fields) {
    let mut step = |step, one: Option<&'a Json>, other: Option<&'a Json>| {
        path.push(step);
        match (one, other) {
            (Some(one), Some(other)) => differences(one, other, path, fields),
            _ => fields.add(path),
        }
        path.pop();
    };
    match (one, other) {
        (Json::Object(left), Json::Object(right)) => {
            // Looked up by name in a map, so that wide objects cost no more than their size.
            let right = map(members(right));
            let names = set(left.iter().map(|(name, _)| name.as_str()));
            for (name, value) in members(left) {
                step(Step::Member(name), Some(value), right.get(name).copied());
            }
            for (name, value) in right.into_iter().filter(|(name, _)| !names.contains(name)) {
                step(Step::Member(name), None, Some(value));
            }
        }
        (Json::Array(left), Json::Array(right)) => {
            for index in 0..left.len().max(right.len()) {
                step(Step::Index(index), left.get(index), right.get(index));
            }
        }
        // Whatever has no text was refused before.
        (one, other) if one.to_canonical() == other.to_canonical() => {}
        _ => fields.add(path),
    }
}

fn members(object: &[(String, Json)]) -> impl Iterator<Item = (&str, &Json)> {
    object.iter().map(|(name, value)| (name.as_str(), value))
}

/// Calls that are equal but for the leaves, by their whole arguments.
type Group<'a> = BTreeMap<&'a str, (&'a Seen<'a>, Vec<Leaf<'a>>)>;

fn changing(seen: &[Seen], window: Seconds) -> Vec<Finding> {
    // Equal but for what looks volatile: one group. In a group each different call counts once.
    let mut groups: BTreeMap<(&str, &str, String), Group> = BTreeMap::new();
    for one in seen.iter().filter(|one| one.call.rule.keys()) {
        let mut leaves = Vec::new();
        let rest = Lookout {
            at: one.call.at,
            window,
        }
        .blank(&one.args, &mut Vec::new(), &mut leaves);
        let rest = rest.to_text();
        groups
            .entry((&one.call.tool, &one.call.scope, rest))
            .or_default()
            .entry(&one.text)
            .or_insert((one, leaves));
    }
    let mut tools: BTreeMap<&str, Fields> = BTreeMap::new();
    for ((tool, ..), calls) in &groups {
        let mut calls: Vec<_> = calls.values().collect();
        sort_by(&mut calls, |(one, _), (other, _)| in_time(one, other));
        for three in calls.windows(3) {
            let [(one, a), (_, b), (other, c)] = three else {
                continue;
            };
            if other.call.at - one.call.at > window {
                continue;
            }
            // The rest being equal, the same leaves stand at the same places.
            for ((a, b), c) in a.iter().zip(b).zip(c) {
                if a.value != b.value && b.value != c.value && a.value != c.value {
                    tools.entry(tool).or_default().add(&a.path);
                }
            }
        }
    }
    let finding = |(tool, fields): (&str, Fields)| {
        Finding {
        tool: Some(tool.to_owned()),
        fields: fields.texts(),
        ..Finding::new(
            Code::CanonicalizationMissedField,
            Severity::Info,
            "Calls that are equal but for these fields, which change every time; they may have to be declared volatile.",
        )
    }
    };
    tools.into_iter().map(finding).collect()
}

/// A value that looks volatile, and where it stands.
struct Leaf<'a> {
    path: Vec<Step<'a>>,
    value: &'a Json,
}

struct Lookout {
    at: Seconds,
    window: Seconds,
}

impl Lookout {
    /// The value in canonical order with `null` in the place of every leaf that looks volatile.
    fn blank<'a>(&self, value: &'a Json, path: &mut Vec<Step<'a>>, leaves: &mut Vec<Leaf<'a>>) -> Json {
        match value {
            Json::Object(object) => {
                let sorted = map(members(object));
                let mut out = Vec::new();
                for (name, value) in sorted {
                    path.push(Step::Member(name));
                    out.push((name.to_owned(), self.blank(value, path, leaves)));
                    path.pop();
                }
                Json::Object(out)
            }
            Json::Array(items) => {
                let mut out = Vec::new();
                for (index, item) in items.iter().enumerate() {
                    path.push(Step::Index(index));
                    out.push(self.blank(item, path, leaves));
                    path.pop();
                }
                Json::Array(out)
            }
            leaf if self.looks_volatile(leaf, path) => {
                leaves.push(Leaf {
                    path: path.clone(),
                    value,
                });
                Json::Null
            }
            // `10` and `10.0` are one number.
            number @ Json::Number(_) => number.to_canonical().map_or(Json::Null, Json::Number),
            other => other.clone(),
        }
    }

    fn looks_volatile(&self, value: &Json, path: &[Step]) -> bool {
        let names = || {
            path.iter().filter_map(|step| match step {
                Step::Member(name) => Some(*name),
                Step::Index(_) => None,
            })
        };
        let name = plain(names().next_back().unwrap_or_default());
        let scalar = matches!(value, Json::String(_) | Json::Number(_));
        scalar
            && !names().any(is_protected)
            && (self.is_now(value)
                || OF_THE_CALL.iter().any(|end| name.ends_with(end))
                || value.as_str().is_ok_and(is_opaque) && !OF_A_THING.iter().any(|end| name.ends_with(end)))
    }

    fn is_now(&self, value: &Json) -> bool {
        let near = |seconds: Seconds| seconds.abs_diff(self.at) <= self.window;
        match value {
            Json::Number(digits) => unix_time(digits).any(near),
            Json::String(text) => {
                let date = time::parse_rfc3339(text).or_else(|| time::parse_http_date(text));
                date.is_some_and(near) || unix_time(text).any(near)
            }
            _ => false,
        }
    }
}

/// The second that a whole number means: in seconds, milli-, micro- or nanoseconds. From 2001 on, so that no count is taken
/// for a time.
fn unix_time(digits: &str) -> impl Iterator<Item = Seconds> {
    let number = digits
        .parse::<u64>()
        .ok()
        .filter(|number| *number >= 1_000_000_000);
    number
        .into_iter()
        .flat_map(|number| [1, 1_000, 1_000_000, 1_000_000_000].map(|unit| number / unit))
}

const OF_THE_CALL: [&str; 16] = [
    "requestid",
    "reqid",
    "traceid",
    "traceparent",
    "spanid",
    "correlationid",
    "nonce",
    "cursor",
    "retry",
    "retrycount",
    "attempt",
    "salt",
    "idempotencykey",
    "pagetoken",
    "nexttoken",
    "continuationtoken",
];
const OF_A_THING: [&str; 23] = [
    "id",
    "ids",
    "key",
    "hash",
    "address",
    "account",
    "wallet",
    "tx",
    "transaction",
    "sku",
    "code",
    "contract",
    "token",
    "digest",
    "url",
    "path",
    "name",
    "file",
    "to",
    "from",
    "recipient",
    "owner",
    "user",
];

fn is_opaque(text: &str) -> bool {
    let known = |byte: u8| byte.is_ascii_alphanumeric() || b"._~+/=-".contains(&byte);
    let kinds: Vec<bool> = text
        .bytes()
        .filter(u8::is_ascii_alphanumeric)
        .map(|byte| byte.is_ascii_digit())
        .collect();
    let changes = kinds
        .iter()
        .zip(kinds.iter().skip(1))
        .filter(|(one, next)| one != next);
    text.len() >= 16 && text.bytes().all(known) && changes.count() >= 6
}
