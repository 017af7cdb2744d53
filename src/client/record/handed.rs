//! That an intent was handed over: who gave it to whom, and whether it was taken.

use crate::error::Error;
use crate::hand_over::HandOver;
use crate::hex;
use crate::json::Json;
use crate::time::Seconds;

/// The last hand-over of an intent, as the journal holds it. From the moment it is written the giving actor signs nothing for the
/// intent any more, and the other one nothing before it has taken it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Handed {
    /// Counts the hand-overs of the intent, from 1.
    pub serial: u64,
    /// [`crate::hand_over::HandOver::hash`].
    pub hash: [u8; 32],
    /// Who gave it.
    pub from: String,
    /// Who may take it.
    pub to: String,
    /// When it was written.
    pub at: Seconds,
    /// Until when it can be taken.
    pub expires_at: Seconds,
    /// When it was taken.
    pub taken_at: Option<Seconds>,
}

impl Handed {
    /// That this document was written down, and taken at that time. Error: those of its hash.
    pub fn of(given: &HandOver, taken_at: Option<Seconds>) -> Result<Handed, Error> {
        Ok(Handed {
            serial: given.serial,
            hash: given.hash()?,
            from: given.from.clone(),
            to: given.to.clone(),
            at: given.at,
            expires_at: given.expires_at,
            taken_at,
        })
    }

    /// As the journal holds it.
    pub fn to_json(&self) -> Json {
        Json::object([
            ("serial", Json::number(self.serial)),
            ("hash", Json::text(hex::encode(self.hash))),
            ("from", Json::text(self.from.as_str())),
            ("to", Json::text(self.to.as_str())),
            ("at", Json::number(self.at)),
            ("expiresAt", Json::number(self.expires_at)),
        ])
        .with_some("takenAt", self.taken_at.map(Json::number))
    }

    /// Reads [`Handed::to_json`]. Errors: those of the fields.
    pub fn from_json(json: &Json) -> Result<Handed, Error> {
        Ok(Handed {
            serial: json.read("serial", Json::as_u64)?,
            hash: json.read("hash", Json::as_hex)?,
            from: json.read("from", Json::as_string)?,
            to: json.read("to", Json::as_string)?,
            at: json.read("at", Json::as_u64)?,
            expires_at: json.read("expiresAt", Json::as_u64)?,
            taken_at: json.read_opt("takenAt", Json::as_u64)?,
        })
    }
}
