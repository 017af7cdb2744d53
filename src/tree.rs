//! The tree that intents form: who descends from whom, and what a child may not widen.
//!
//! A place is what one intent says of itself: its parent, and what it and all below it may cost, whom they may pay, until when.
//! Nothing here is a sum that somebody keeps: what a tree cost is added up from what was signed under it, each time.

use crate::address::Address;
use crate::amount::Amount;
use crate::error::{Code, Error};
use crate::json::Json;
use crate::time::Seconds;

/// Intents on one path, the first and the last included. Deeper trees are refused.
pub const MAX_DEPTH: usize = 32;

/// What an intent says of its place in a tree. Limits hold for it and for all below it together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Place {
    /// The intent.
    pub intent_id: String,
    /// The intent above it.
    pub parent: Option<String>,
    /// Display only.
    pub purpose: Option<String>,
    /// Who wrote it down, where that one has a name.
    pub actor: Option<String>,
    /// The most that may be spent, of one token: the first payment says of which.
    pub budget: Option<Amount>,
    /// Nobody else may be paid.
    pub recipients: Option<Vec<Address>>,
    /// The first second at which nothing is signed any more.
    pub expires_at: Option<Seconds>,
    /// When it was written down.
    pub at: Seconds,
}

/// Whom an intent and all below it may pay, and until when.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Limits {
    /// Nobody else may be paid.
    pub recipients: Option<Vec<Address>>,
    /// The first second at which nothing is signed any more.
    pub expires_at: Option<Seconds>,
}

impl Limits {
    /// What both allow: a limit is not lifted by another.
    #[must_use]
    pub fn and(self, other: Limits) -> Limits {
        Limits {
            recipients: match (self.recipients, other.recipients) {
                (Some(mut own), Some(other)) => {
                    own.retain(|recipient| other.contains(recipient));
                    Some(own)
                }
                (own, other) => own.or(other),
            },
            expires_at: self.expires_at.into_iter().chain(other.expires_at).min(),
        }
    }

    /// `{recipients?, expiresAt?}`.
    pub fn to_json(&self) -> Json {
        let list = |list: &Vec<Address>| Json::Array(list.iter().map(Address::to_json).collect());
        Json::object([])
            .with_some("recipients", self.recipients.as_ref().map(list))
            .with_some("expiresAt", self.expires_at.map(Json::number))
    }

    /// Reads [`Limits::to_json`]. Errors: those of the fields with their path.
    pub fn from_json(json: &Json) -> Result<Limits, Error> {
        Ok(Limits {
            recipients: json.read_opt("recipients", recipients)?,
            expires_at: json.read_opt("expiresAt", Json::as_u64)?,
        })
    }
}

/// Why a path does not lead to a root.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Broken {
    /// An intent on it is not known.
    Unknown,
    /// It comes back to itself.
    Cycle,
    /// It has more than [`MAX_DEPTH`] intents.
    TooDeep,
}

impl From<Broken> for Error {
    /// `bad_lineage`, at a field that says which.
    fn from(broken: Broken) -> Error {
        let field = match broken {
            Broken::Unknown => "intent.parent",
            Broken::Cycle => "intent.parent.cycle",
            Broken::TooDeep => "intent.parent.depth",
        };
        Error::new(Code::BadLineage, field)
    }
}

/// The path from an intent to its root, both included. `parent` says whom an intent has above it: nobody (`Some(None)`), or that it is not
/// known (`None`).
pub fn path<'a>(
    from: &'a str,
    parent: impl Fn(&'a str) -> Option<Option<&'a str>>,
) -> Result<Vec<&'a str>, Broken> {
    let mut path = vec![from];
    let mut last = from;
    while let Some(above) = parent(last).ok_or(Broken::Unknown)? {
        if path.contains(&above) {
            return Err(Broken::Cycle);
        }
        if path.len() >= MAX_DEPTH {
            return Err(Broken::TooDeep);
        }
        path.push(above);
        last = above;
    }
    Ok(path)
}

impl Place {
    /// Whether it limits anything itself.
    pub fn limits(&self) -> bool {
        self.budget.is_some() || self.recipients.is_some() || self.expires_at.is_some()
    }

    /// Whether it stands in a tree: it names a parent or a limit.
    pub fn is_worth_keeping(&self) -> bool {
        self.parent.is_some() || self.limits()
    }

    /// What a child would widen, by the name of the field. What a child does not say it has from above.
    pub fn widens(&self, above: &Place) -> Option<&'static str> {
        let more =
            |own: Option<u64>, above: Option<u64>| own.zip(above).is_some_and(|(own, above)| own > above);
        let budget = self.budget.zip(above.budget);
        let others = self.recipients.as_ref().zip(above.recipients.as_ref());
        let stranger = others.is_some_and(|(own, above)| own.iter().any(|to| !above.contains(to)));
        let rules = [
            ("intent.budget", budget.is_some_and(|(own, above)| own > above)),
            ("intent.recipients", stranger),
            ("intent.expiresAt", more(self.expires_at, above.expires_at)),
        ];
        rules
            .into_iter()
            .find(|(_, widens)| *widens)
            .map(|(field, _)| field)
    }

    /// Whom it lets be paid, and until when.
    pub fn bounds(&self) -> Limits {
        Limits {
            recipients: self.recipients.clone(),
            expires_at: self.expires_at,
        }
    }

    /// The same place with the narrower of both budgets.
    #[must_use]
    pub fn narrowed(mut self, budget: Option<Amount>) -> Place {
        self.budget = self.budget.into_iter().chain(budget).min();
        self
    }

    /// `{intentId, parent?, purpose?, actor?, budget?, recipients?, expiresAt?, at}`.
    pub fn to_json(&self) -> Json {
        let list = |list: &Vec<Address>| Json::Array(list.iter().map(Address::to_json).collect());
        Json::object([("intentId", Json::text(self.intent_id.as_str()))])
            .with_some("parent", self.parent.as_deref().map(Json::text))
            .with_some("purpose", self.purpose.as_deref().map(Json::text))
            .with_some("actor", self.actor.as_deref().map(Json::text))
            .with_some("budget", self.budget.map(|budget| budget.to_json()))
            .with_some("recipients", self.recipients.as_ref().map(list))
            .with_some("expiresAt", self.expires_at.map(Json::number))
            .with("at", Json::number(self.at))
    }

    /// Reads [`Place::to_json`]. Errors: those of the fields with their path.
    pub fn from_json(json: &Json) -> Result<Place, Error> {
        Ok(Place {
            intent_id: json.read("intentId", Json::as_string)?,
            parent: json.read_opt("parent", Json::as_string)?,
            purpose: json.read_opt("purpose", Json::as_string)?,
            actor: json.read_opt("actor", Json::as_string)?,
            budget: json.read_opt("budget", Amount::from_json)?,
            recipients: json.read_opt("recipients", recipients)?,
            expires_at: json.read_opt("expiresAt", Json::as_u64)?,
            at: json.read("at", Json::as_u64)?,
        })
    }
}

/// Recipients by address, each in its one form. Errors: `address_invalid`, `address_checksum`.
pub fn recipients(json: &Json) -> Result<Vec<Address>, Error> {
    json.as_list(Address::from_json)
}
