//! Drift: calls that are allowed one by one, and together are not what was wanted. What each rule calls near, many and much.
//!
//! The lineage tells of what happened; the payer, where its policy says so, of what is about to be signed.

use crate::address::Address;
use crate::amount::Amount;
use crate::digest;
use crate::error::{Code, Error};
use crate::fingerprint::Request;
use crate::hex;
use crate::json::Json;
use crate::sorting::sort_by;
use crate::time::Seconds;

/// Seconds within which calls belong together.
pub const WINDOW: Seconds = 600;
/// Payments after which an operation has a habit.
pub const HABIT: usize = 3;
/// Payments that make a split.
pub const SPLIT: usize = 3;
/// Children that are many.
pub const MANY: usize = 8;
/// Domain tags of what a wallet's record holds of a call.
const OPERATION_TAG: &str = "counterfoil/operation/v1";
const ARGUMENTS_TAG: &str = "counterfoil/arguments/v1";

/// Parts of a request that change from page to page, or from try to try.
const VOLATILE: [&str; 14] = [
    "page",
    "cursor",
    "offset",
    "limit",
    "ts",
    "t",
    "time",
    "timestamp",
    "nonce",
    "requestid",
    "request_id",
    "traceid",
    "_",
    "cachebust",
];

/// A request as the rules look at it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Call {
    /// Method, origin and path.
    pub operation: String,
    /// The query without what is volatile in it, in one spelling and order.
    pub arguments: Vec<String>,
    /// What exactly was asked for.
    pub fingerprint: [u8; 32],
    body: [u8; 32],
}

impl Call {
    /// Error: that of the fingerprint.
    pub fn new(request: &Request) -> Result<Call, Error> {
        let (target, query) = request.url.split_once('?').unwrap_or((&request.url, ""));
        Ok(Call {
            operation: format!("{} {target}", request.method),
            arguments: arguments(query),
            fingerprint: request.fingerprint()?,
            body: request.body_sha256,
        })
    }

    /// Whether both ask for the same in other words. Of a body only the digest is known: another one is another call.
    pub fn repeats(&self, earlier: &Call) -> bool {
        self.fingerprint != earlier.fingerprint
            && (&self.operation, &self.arguments, self.body)
                == (&earlier.operation, &earlier.arguments, earlier.body)
    }

    /// What a wallet's record holds of it. Error: `number_out_of_range`.
    pub fn mark(&self) -> Result<Mark, Error> {
        let list = self.arguments.iter().map(Json::text).collect();
        let asked = Json::object([
            ("operation", Json::text(self.operation.as_str())),
            ("arguments", Json::Array(list)),
            ("bodySha256", Json::text(hex::encode(self.body))),
        ]);
        let operation = Json::object([("operation", Json::text(self.operation.as_str()))]);
        Ok(Mark {
            operation: digest::tagged(OPERATION_TAG, &operation)?,
            arguments: digest::tagged(ARGUMENTS_TAG, &asked)?,
            fingerprint: self.fingerprint,
            most: None,
        })
    }
}

/// A call by its digests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Mark {
    /// Of its operation.
    pub operation: [u8; 32],
    arguments: [u8; 32],
    fingerprint: [u8; 32],
    /// What it could cost at most, where less may be taken of that: so a price is compared with prices, not with what was used.
    pub most: Option<Amount>,
}

impl Mark {
    /// As [`Call::repeats`].
    pub fn repeats(&self, earlier: &Mark) -> bool {
        self.arguments == earlier.arguments && self.fingerprint != earlier.fingerprint
    }

    /// `{operation, arguments, fingerprint, most?}`.
    pub fn to_json(&self) -> Json {
        Json::object([
            ("operation", Json::text(hex::encode(self.operation))),
            ("arguments", Json::text(hex::encode(self.arguments))),
            ("fingerprint", Json::text(hex::encode(self.fingerprint))),
        ])
        .with_some("most", self.most.map(|most| most.to_json()))
    }

    /// Reads [`Mark::to_json`]. Errors: those of the fields with their path.
    pub fn from_json(json: &Json) -> Result<Mark, Error> {
        Ok(Mark {
            operation: json.read("operation", Json::as_hex)?,
            arguments: json.read("arguments", Json::as_hex)?,
            fingerprint: json.read("fingerprint", Json::as_hex)?,
            most: json.read_opt("most", Amount::from_json)?,
        })
    }
}

fn arguments(query: &str) -> Vec<String> {
    let mut pairs: Vec<String> = query
        .split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| {
            let plain = pair.replace('+', " ").replace("%20", " ").to_ascii_lowercase();
            plain.split_whitespace().collect::<Vec<_>>().join(" ")
        })
        .filter(|pair| {
            let name = pair.split('=').next().unwrap_or_default().trim();
            !VOLATILE.contains(&name)
        })
        .map(|pair| pair.split('=').map(str::trim).collect::<Vec<_>>().join("="))
        .collect();
    sort_by(&mut pairs, |one, other| one.cmp(other));
    pairs
}

/// What an operation was paid for so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Habit {
    payments: usize,
    /// Whom alone; none where there were several.
    only: Option<Address>,
    most: Option<Amount>,
}

impl Habit {
    /// One payment more.
    pub fn add(&mut self, to: Address, amount: Amount) {
        self.only = match self.payments {
            0 => Some(to),
            _ => self.only.filter(|only| *only == to),
        };
        self.most = self.most.max(Some(amount));
        self.payments += 1;
    }

    /// Whether one recipient alone was paid so far, and this is another.
    pub fn is_new_recipient(&self, to: Address) -> bool {
        self.payments >= HABIT && self.only.is_some_and(|only| only != to)
    }

    /// Whether it is more than twice the most so far.
    pub fn is_price_step(&self, amount: Amount) -> bool {
        self.payments >= HABIT && self.most.is_some_and(|most| amount > times(most, 2))
    }
}

/// Whether so much spent by many small children is nine tenths of a budget.
pub fn is_approach(budget: Amount, mut children: impl ExactSizeIterator<Item = Amount> + Clone) -> bool {
    children.len() >= MANY
        && times(children.clone().fold(Amount::ZERO, Amount::saturating_add), 10) >= times(budget, 9)
        && children.all(|spent| times(spent, 4) <= budget)
}

/// Whether it stays just below what a person is asked for: from four fifths up to it.
pub fn is_just_below(threshold: Amount, amount: Amount) -> bool {
    amount <= threshold && times(amount, 5) >= times(threshold, 4)
}

fn times(amount: Amount, n: usize) -> Amount {
    (0..n).fold(Amount::ZERO, |sum, _| sum.saturating_add(amount))
}

/// What becomes of a call that drifts, before anything is signed for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rule {
    /// A person is asked; where nobody can be, it is refused.
    Ask,
    /// It is refused.
    Refuse,
}

/// The rules that a policy names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Rules {
    /// The same again in other words, while the end of an earlier one is not known.
    pub near_repeat: Option<Rule>,
    /// [`Habit::is_new_recipient`].
    pub new_recipient: Option<Rule>,
    /// [`Habit::is_price_step`].
    pub price_step: Option<Rule>,
    /// [`is_approach`]: told of the call with which it comes to that.
    pub cap_approach: Option<Rule>,
    /// [`is_just_below`] this, [`SPLIT`] times to one recipient.
    pub split: Option<(Rule, Amount)>,
}

impl Rules {
    /// Reads `"ask"` or `"refuse"` for all but a split, or `{nearRepeat?, newRecipient?, priceStep?, capApproach?, split?, threshold?}`, each a rule, and the amount that a split
    /// is about. Errors: `policy_invalid` (another member or rule, one of `split` and `threshold` without the other), those of the amount.
    pub fn from_json(json: &Json) -> Result<Rules, Error> {
        let invalid = || Error::new(Code::PolicyInvalid, "");
        let rule = |json: &Json| match json.as_str()? {
            "ask" => Ok(Rule::Ask),
            "refuse" => Ok(Rule::Refuse),
            _ => Err(invalid()),
        };
        if let Json::String(_) = json {
            let all = Some(rule(json)?);
            return Ok(Rules {
                near_repeat: all,
                new_recipient: all,
                price_step: all,
                cap_approach: all,
                split: None,
            });
        }
        const MEMBERS: [&str; 6] = [
            "nearRepeat",
            "newRecipient",
            "priceStep",
            "capApproach",
            "split",
            "threshold",
        ];
        let known = |(name, _): &(String, Json)| MEMBERS.contains(&name.as_str());
        if !json.as_object()?.iter().all(known) {
            return Err(invalid());
        }
        let threshold = json.read_opt("threshold", Amount::from_json)?;
        let split = json.read_opt("split", rule)?;
        if split.is_some() != threshold.is_some() {
            return Err(Error::new(Code::PolicyInvalid, "threshold"));
        }
        Ok(Rules {
            near_repeat: json.read_opt("nearRepeat", rule)?,
            new_recipient: json.read_opt("newRecipient", rule)?,
            price_step: json.read_opt("priceStep", rule)?,
            cap_approach: json.read_opt("capApproach", rule)?,
            split: split.zip(threshold),
        })
    }
}
