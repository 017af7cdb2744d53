//! The list of checks behind a verdict, and its JSON.

mod table;

use core::fmt::Display;

use super::material::Subject;
use crate::hex;
use crate::json::Json;
use table::TABLE;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum State {
    Pass,
    Fail,
    NotChecked,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Check {
    prefix: String,
    id: &'static str,
    state: State,
    /// Empty for what the table says of it.
    why: String,
    sides: Option<(String, String)>,
    required: bool,
}

/// Checks in the order in which they were made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Checks {
    /// Stands before every id, such as `purchase[1].`.
    pub prefix: String,
    /// Only what was found counts: nobody reads why. Of the many lines of an audit the texts would be most of the work.
    silent: bool,
    list: Vec<Check>,
}

impl Check {
    fn is(&self, prefix: &str, id: &str) -> bool {
        self.id == id && self.prefix == prefix
    }

    fn name(&self) -> String {
        [self.prefix.as_str(), self.id].concat()
    }
}

impl Checks {
    /// None yet, of which nobody will read why where they are silent.
    pub fn new(silent: bool) -> Checks {
        Checks {
            silent,
            ..Checks::default()
        }
    }

    /// What only a reader of the report needs.
    pub fn told<T>(&self, text: impl FnOnce() -> T) -> Option<T> {
        (!self.silent).then(text)
    }

    fn add(
        &mut self,
        id: &'static str,
        required: bool,
        state: State,
        why: &str,
        sides: Option<(String, String)>,
    ) {
        let why = self.told(|| why.to_owned()).unwrap_or_default();
        self.list.push(Check {
            prefix: self.prefix.clone(),
            id,
            state,
            why,
            sides,
            required,
        });
    }

    /// An empty list under the same prefix.
    pub fn beside(&self) -> Checks {
        Checks {
            prefix: self.prefix.clone(),
            silent: self.silent,
            list: Vec::new(),
        }
    }

    /// A required check that passed.
    pub fn pass(&mut self, id: &'static str) {
        self.add(id, true, State::Pass, "", None);
    }

    /// A required check that passed, and why.
    pub fn pass_because(&mut self, id: &'static str, why: &str) {
        self.add(id, true, State::Pass, why, None);
    }

    /// A required check that failed.
    pub fn fail(&mut self, id: &'static str, why: &str) {
        self.add(id, true, State::Fail, why, None);
    }

    /// A required check for which something is missing.
    pub fn missing(&mut self, id: &'static str, why: &str) {
        self.add(id, true, State::NotChecked, why, None);
    }

    /// A check that this document does not need.
    pub fn skip(&mut self, id: &'static str, why: &str) {
        self.add(id, false, State::NotChecked, why, None);
    }

    /// A required check that two values are equal, both shown.
    pub fn equal<T: PartialEq + Display + ?Sized>(&mut self, id: &'static str, expected: &T, actual: &T) {
        self.compare(id, expected == actual, || {
            (expected.to_string(), actual.to_string())
        });
    }

    /// A required check that two digests are equal, both shown.
    pub fn equal_bytes(&mut self, id: &'static str, expected: &[u8; 32], actual: &[u8; 32]) {
        self.compare(id, expected == actual, || {
            (hex::encode(expected), hex::encode(actual))
        });
    }

    /// A required comparison made by the caller, both sides shown.
    pub fn compare(&mut self, id: &'static str, equal: bool, sides: impl FnOnce() -> (String, String)) {
        let (state, why) = if equal {
            (State::Pass, "")
        } else {
            (State::Fail, "The two sides differ.")
        };
        let sides = self.told(sides);
        self.add(id, true, state, why, sides);
    }

    /// A required comparison that failed, both sides shown, and why.
    pub fn differ(&mut self, id: &'static str, why: &str, sides: impl FnOnce() -> (String, String)) {
        let sides = self.told(sides);
        self.add(id, true, State::Fail, why, sides);
    }

    /// The check of this id, where it was not made, is one that this document does not need.
    pub fn relax(&mut self, id: &str) {
        let prefix = self.prefix.as_str();
        let open = |check: &&mut Check| check.state == State::NotChecked && check.is(prefix, id);
        if let Some(check) = self.list.iter_mut().find(open) {
            check.required = false;
        }
    }

    /// Takes the check of this id from several lists: the first that failed, else the first that was not made, else the
    /// last.
    pub fn worst(&mut self, id: &str, lists: &[Checks]) {
        let prefix = self.prefix.as_str();
        let made = || {
            lists
                .iter()
                .filter_map(|checks| checks.list.iter().find(|check| check.is(prefix, id)))
        };
        let state =
            |state| made().find(|check| check.state == state && (state == State::Fail || check.required));
        let worst = state(State::Fail)
            .or_else(|| state(State::NotChecked))
            .or_else(|| made().next_back());
        self.list.extend(worst.cloned());
    }

    /// Whether the check of this id, under the present prefix, passed.
    pub fn passed(&self, id: &str) -> bool {
        self.is(id, State::Pass)
    }

    /// Whether the check of this id, under the present prefix, failed.
    pub fn failed(&self, id: &str) -> bool {
        self.is(id, State::Fail)
    }

    fn is(&self, id: &str, state: State) -> bool {
        self.list
            .iter()
            .any(|check| check.state == state && check.is(&self.prefix, id))
    }

    fn of(&self, wanted: fn(&Check) -> bool) -> impl Iterator<Item = String> + '_ {
        self.list
            .iter()
            .filter(move |check| wanted(check))
            .map(Check::name)
    }

    fn verdict(&self) -> &'static str {
        if self.list.iter().any(|check| check.state == State::Fail) {
            "failed"
        } else if self
            .list
            .iter()
            .all(|check| !check.required || check.state == State::Pass)
        {
            "verified"
        } else {
            "incomplete"
        }
    }

    /// The report on them.
    pub fn report(
        self,
        facts: Option<Json>,
        subject: Subject,
        does_not_prove: &'static [&'static str],
    ) -> Report {
        Report {
            checks: self,
            facts: facts.unwrap_or(Json::Null),
            subject,
            does_not_prove,
        }
    }
}

/// What is known about one document.
pub(crate) struct Report {
    checks: Checks,
    /// What the document says; null of one that was judged in silence.
    facts: Json,
    /// What it is about.
    pub subject: Subject,
    does_not_prove: &'static [&'static str],
}

impl Report {
    /// `failed` when any check failed, `verified` when every required one passed, else `incomplete`.
    pub fn verdict(&self) -> &'static str {
        self.checks.verdict()
    }

    /// The ids of the checks that failed, in their order.
    pub fn failed(&self) -> impl Iterator<Item = String> + '_ {
        self.checks.of(|check| check.state == State::Fail)
    }

    /// The ids of the required checks that were not made, in their order.
    pub fn missing(&self) -> impl Iterator<Item = String> + '_ {
        self.checks
            .of(|check| check.state == State::NotChecked && check.required)
    }

    /// Whether the check of this id passed.
    pub fn passed(&self, id: &str) -> bool {
        self.checks.passed(id)
    }

    /// `{verdict, checks, facts, doesNotProve}`.
    pub fn to_json(&self) -> Json {
        let verdict = Json::text(self.verdict());
        let checks = self.checks.list.iter().map(|check| {
            let known = TABLE.iter().find(|(known, ..)| *known == check.id);
            let (_, title, says) = known.unwrap_or(&("", "", ""));
            let why = Some(check.why.as_str()).filter(|why| !why.is_empty());
            let (expected, actual) = check.sides.as_ref().map(|(one, other)| (one, other)).unzip();
            Json::object([
                ("id", Json::text(check.name())),
                (
                    "state",
                    Json::text(match check.state {
                        State::Pass => "pass",
                        State::Fail => "fail",
                        State::NotChecked => "not_checked",
                    }),
                ),
                ("title", Json::text(*title)),
                ("why", Json::text(why.unwrap_or(says))),
            ])
            .with_some("expected", expected.map(Json::text))
            .with_some("actual", actual.map(Json::text))
            .with("required", Json::Bool(check.required))
        });
        Json::object([
            ("verdict", verdict),
            ("checks", Json::Array(checks.collect())),
            ("facts", self.facts.clone()),
            (
                "doesNotProve",
                Json::Array(self.does_not_prove.iter().map(|text| Json::text(*text)).collect()),
            ),
        ])
    }
}
