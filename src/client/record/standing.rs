//! How a record of the journal stands to one payer, whose journal others may share.

use super::Intent;
use crate::address::Address;
use crate::error::{Code, Money, Next};
use crate::json::{self, Json};

/// How an intent's record stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Standing {
    /// Another payer's: nobody else reads the chain for it, settles it or counts it.
    Another,
    /// There is nothing left to settle.
    Settled,
    /// It is to be settled.
    Open,
    /// It can't be read, by this version at least, and says so. What it paid is not known.
    Unreadable(Code),
}

impl Standing {
    /// How a record of this text stands.
    pub fn of(record: &str, payer: &Address) -> Standing {
        let parsed = json::parse(record);
        let principal = |json: &Json| json.read("principal", Address::from_json).ok();
        if parsed
            .as_ref()
            .ok()
            .and_then(principal)
            .is_some_and(|one| one != *payer)
        {
            return Standing::Another;
        }
        match parsed.and_then(|json| Intent::from_json(&json)) {
            Ok(intent) if intent.is_settled() => Standing::Settled,
            Ok(_) => Standing::Open,
            Err(error) => Standing::Unreadable(error.code),
        }
    }

    /// `{standing}`; of a record that can't be read with what is told of it: `{standing, outcome, money, next}`.
    pub fn to_json(self) -> Json {
        let (standing, code) = match self {
            Standing::Another => ("another", None),
            Standing::Settled => ("settled", None),
            Standing::Open => ("open", None),
            Standing::Unreadable(code) => ("unreadable", Some(code)),
        };
        Json::object([("standing", Json::text(standing))])
            .with_some("outcome", code.map(|code| Json::text(code.as_str())))
            .with_some("money", code.map(|_| Json::text(Money::Possible.as_str())))
            .with_some("next", code.map(|_| Json::text(Next::Stop.as_str())))
    }
}
