//! The arithmetic of JWS, apart from what it decides: a module that knows an algorithm checks, one that does not asks.

use core::cell::RefCell;
use std::collections::BTreeMap;

use super::Input;
use crate::error::Error;
use crate::json::Json;
use crate::jws::{self, Task};

/// Answers the call when its name belongs here.
pub(super) fn call(name: &str, input: &Input) -> Option<Result<Json, Error>> {
    (name == "checkJws").then(|| check(&input.json))
}

/// Input `{alg, key, input, signature}`; answer whether the key made the signature, null where this module can't tell.
fn check(input: &Json) -> Result<Json, Error> {
    Ok(jws::check(&Task::from_json(input)?).map_or(Json::Null, Json::Bool))
}

/// What another module has to find out for a call to have its answer. The first time it is asked for as `{needs: [{alg, key, input, signature}]}`, each
/// what `checkJws` takes; then the same call comes again with `answers`, the same list with a member `made` each. What is not answered then counts as not
/// checked.
#[cfg_attr(not(feature = "verify"), allow(dead_code))]
pub(super) struct Asked {
    /// By the text of what was to be checked.
    answers: Option<BTreeMap<String, bool>>,
    needs: RefCell<Vec<Json>>,
}

#[cfg_attr(not(feature = "verify"), allow(dead_code))]
impl Asked {
    /// Reads `{answers?}`.
    pub fn read(json: &Json) -> Result<Asked, Error> {
        let answer = |answer: &Json| {
            let made = answer.read("made", Json::as_bool)?;
            Ok((Task::from_json(answer)?.to_json().to_text(), made))
        };
        let answers = json.read_opt("answers", |list| list.as_list(answer))?;
        Ok(Asked {
            answers: answers.map(crate::sorting::map),
            needs: RefCell::default(),
        })
    }

    /// Whether the signature was made, where that is known.
    pub fn made(&self, task: &Task) -> Option<bool> {
        jws::check(task).or_else(|| {
            let task = task.to_json();
            match &self.answers {
                Some(answers) => answers.get(&task.to_text()).copied(),
                None => {
                    self.needs.borrow_mut().push(task);
                    None
                }
            }
        })
    }

    /// Whether something is to be asked for first.
    pub fn is_open(&self) -> bool {
        !self.needs.borrow().is_empty()
    }

    /// What is to be asked for first.
    pub fn needs(self) -> Option<Json> {
        let needs = self.needs.into_inner();
        (!needs.is_empty()).then(|| Json::object([("needs", Json::Array(needs))]))
    }
}
