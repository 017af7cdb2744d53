//! The rows of the store that a step works on. A step names the keys it needs; when it finds that it needs another, the host
//! locks that one too and runs the step again, so that everything it decides on is read and written in one transaction.

use crate::error::{Code, Error};
use crate::json::Json;
use crate::time::Seconds;

/// Why a step could not be finished.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Fault {
    /// This row is needed and was not locked.
    Need(String),
    /// Bad input, or a row that can't be read.
    Error(Error),
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Fault::Error(error)
    }
}

/// One write.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Put {
    key: String,
    value: Option<Json>,
    due: Option<Seconds>,
    body: bool,
}

/// The locked rows, and what is to be written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Rows {
    read: Vec<(String, Option<Json>)>,
    puts: Vec<Put>,
}

impl Rows {
    /// Of two lists of one length: keys, and the value of each or null. Errors: `invalid_type`, `state_invalid`.
    pub fn from_json(keys: &Json, values: &Json) -> Result<Self, Error> {
        let keys = keys.as_list(Json::as_string).map_err(|e| e.within("keys"))?;
        let values = values.as_array().map_err(|e| e.within("rows"))?;
        if keys.len() != values.len() {
            return Err(Error::new(Code::StateInvalid, "rows"));
        }
        let present = |value: &Json| Some(value.clone()).filter(|value| *value != Json::Null);
        Ok(Rows {
            read: keys.into_iter().zip(values.iter().map(present)).collect(),
            puts: Vec::new(),
        })
    }

    /// The row as it stands, what this step wrote included.
    pub fn get(&self, key: &str) -> Result<Option<&Json>, Fault> {
        if let Some(put) = self.puts.iter().rev().find(|put| put.key == key) {
            return Ok(put.value.as_ref());
        }
        match self.read.iter().find(|(known, _)| known == key) {
            Some((_, value)) => Ok(value.as_ref()),
            None => Err(Fault::Need(key.to_owned())),
        }
    }

    /// Writes a row. `due` is when it is looked at again; without one, never.
    pub fn put(&mut self, key: &str, value: Json, due: Option<Seconds>) -> Result<(), Fault> {
        self.write(key, Some(value), due, false)
    }

    /// Writes a row together with the answer's bytes, which the host has.
    pub fn put_body(&mut self, key: &str, value: Json, due: Option<Seconds>) -> Result<(), Fault> {
        self.write(key, Some(value), due, true)
    }

    /// Deletes a row.
    pub fn delete(&mut self, key: &str) -> Result<(), Fault> {
        self.write(key, None, None, false)
    }

    fn write(
        &mut self,
        key: &str,
        value: Option<Json>,
        due: Option<Seconds>,
        body: bool,
    ) -> Result<(), Fault> {
        self.get(key)?;
        self.puts.retain(|put| put.key != key);
        self.puts.push(Put {
            key: key.to_owned(),
            value,
            due,
            body,
        });
        Ok(())
    }

    /// Writes nothing of what this step wanted to write.
    pub fn forget(&mut self) {
        self.puts.clear();
    }

    /// `{puts, result}`, or `{puts: [], result: {again: keys}}`.
    pub fn finish(self, result: Result<Json, Fault>) -> Result<Json, Error> {
        let (puts, result) = match result {
            Ok(result) => (self.puts.iter().map(Put::to_json).collect(), result),
            Err(Fault::Error(error)) => return Err(error),
            Err(Fault::Need(key)) => {
                let keys = self.read.into_iter().map(|(key, _)| key).chain([key]);
                let again = Json::Array(keys.map(Json::String).collect());
                (Vec::new(), Json::object([("again", again)]))
            }
        };
        Ok(Json::object([("puts", Json::Array(puts)), ("result", result)]))
    }
}

impl Put {
    fn to_json(&self) -> Json {
        Json::object([
            ("key", Json::text(self.key.as_str())),
            ("value", self.value.clone().unwrap_or(Json::Null)),
            ("body", Json::Bool(self.body)),
        ])
        .with_some("expiresAt", self.due.map(Json::number))
    }
}
