//! What many verdicts add up to. Summaries merge, in any order and by any parts: everything here is a sum, a union, or the least of something.

use std::collections::BTreeMap;

use super::verdict::{Standing, Verdict};
use crate::amount::Amount;
use crate::error::{Code, Error};
use crate::json::Json;
use crate::sorting::sort_by;

/// How many failures are listed.
const MOST_FAILURES: usize = 20;
/// How many pairs of network and token are told apart for one verdict or code: whoever writes lines could invent any number.
const MOST_ASSETS: usize = 1000;

/// Lines and their money.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Tally {
    lines: u64,
    /// Unknown once it passes 2^256-1.
    amount: Option<Amount>,
}

/// Tallies by network and token, in their order. The first of them are told apart, of the others the lines are counted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Money {
    lines: u64,
    by: Vec<(String, String, Tally)>,
    others: u64,
}

/// Where a line stands, and why it is listed.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Place {
    /// The input.
    pub input: String,
    /// From 1.
    pub line: u64,
    id: Option<String>,
    standing: Standing,
    codes: Vec<String>,
    field: Option<String>,
}

/// The sums over any number of verdicts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Summary {
    /// By verdict.
    verdicts: BTreeMap<Standing, Money>,
    /// By code.
    codes: BTreeMap<String, Money>,
    /// The first lines that failed or are unusable.
    failures: Vec<Place>,
    /// The files that were read, by name and digest.
    inputs: BTreeMap<(String, String), Json>,
}

/// What one line moved: network, token, and how much, where that is known.
type Moved<'a> = Option<(&'a str, &'a str, Option<Amount>)>;

fn moved(verdict: &Verdict) -> Moved<'_> {
    let joins = &verdict.joins;
    let amount = Amount::parse(joins.amount.as_deref()?).ok();
    Some((joins.network.as_deref()?, joins.asset.as_deref()?, amount))
}

impl Money {
    fn add(&mut self, moved: Moved) {
        self.lines += 1;
        if let Some((network, asset, amount)) = moved {
            self.put(network, asset, Tally { lines: 1, amount });
        }
    }

    fn put(&mut self, network: &str, asset: &str, more: Tally) {
        let place = self
            .by
            .binary_search_by(|(one, other, _)| (one.as_str(), other.as_str()).cmp(&(network, asset)));
        match place {
            Ok(at) => {
                if let Some((.., tally)) = self.by.get_mut(at) {
                    tally.lines += more.lines;
                    let both = tally.amount.zip(more.amount);
                    tally.amount = both.and_then(|(sum, more)| sum.checked_add(more));
                }
            }
            Err(at) => {
                self.by.insert(at, (network.to_owned(), asset.to_owned(), more));
                if self.by.len() > MOST_ASSETS {
                    self.others += self.by.pop().map_or(0, |(.., tally)| tally.lines);
                }
            }
        }
    }

    fn merge(&mut self, other: &Money) {
        self.lines += other.lines;
        self.others += other.others;
        for (network, asset, tally) in &other.by {
            self.put(network, asset, *tally);
        }
    }

    fn members(&self) -> Json {
        let amounts = self.by.iter().map(|(network, asset, tally)| {
            Json::object([
                ("network", Json::text(network.as_str())),
                ("asset", Json::text(asset.as_str())),
                ("lines", Json::number(tally.lines)),
                (
                    "amount",
                    tally.amount.map_or(Json::Null, |amount| amount.to_json()),
                ),
            ])
        });
        let others = (self.others > 0).then(|| Json::number(self.others));
        Json::object([("lines", Json::number(self.lines))])
            .with("amounts", Json::Array(amounts.collect()))
            .with_some("others", others)
    }

    fn read(json: &Json) -> Result<Money, Error> {
        let mut money = Money {
            lines: json.read("lines", Json::as_u64)?,
            others: json.read_opt("others", Json::as_u64)?.unwrap_or(0),
            by: Vec::new(),
        };
        let amounts = json.read("amounts", |list| {
            list.as_list(|one| {
                let network = one.read("network", Json::as_str)?;
                let asset = one.read("asset", Json::as_str)?;
                let lines = one.read("lines", Json::as_u64)?;
                let amount = one.read_opt("amount", Amount::from_json)?;
                Ok((network, asset, Tally { lines, amount }))
            })
        })?;
        for (network, asset, tally) in amounts {
            money.put(network, asset, tally);
        }
        Ok(money)
    }
}

impl Place {
    fn of(verdict: &Verdict) -> Place {
        Place {
            input: verdict.input.clone(),
            line: verdict.line,
            id: verdict.id.clone(),
            standing: verdict.standing,
            codes: verdict.codes.clone(),
            field: verdict.field.clone(),
        }
    }

    fn to_json(&self) -> Json {
        let codes = self.codes.iter().map(|code| Json::text(code.as_str()));
        Json::object([
            ("input", Json::text(self.input.as_str())),
            ("line", Json::number(self.line)),
        ])
        .with_some("id", self.id.as_deref().map(Json::text))
        .with("verdict", Json::text(self.standing.as_str()))
        .with("codes", Json::Array(codes.collect()))
        .with_some("field", self.field.as_deref().map(Json::text))
    }

    fn read(json: &Json) -> Result<Place, Error> {
        Ok(Place {
            input: json.read("input", Json::as_string)?,
            line: json.read("line", Json::as_u64)?,
            id: json.read_opt("id", Json::as_string)?,
            standing: json.read("verdict", |text| Standing::parse(text.as_str()?))?,
            codes: json.read("codes", |list| list.as_list(Json::as_string))?,
            field: json.read_opt("field", Json::as_string)?,
        })
    }
}

impl Summary {
    /// Adds one verdict.
    pub fn add(&mut self, verdict: &Verdict) {
        let moved = moved(verdict);
        self.verdicts.entry(verdict.standing).or_default().add(moved);
        let mut seen: Vec<&str> = Vec::new();
        for code in verdict.plain_codes() {
            if !seen.contains(&code) {
                seen.push(code);
                match self.codes.get_mut(code) {
                    Some(money) => money.add(moved),
                    None => self.codes.entry(code.to_owned()).or_default().add(moved),
                }
            }
        }
        if matches!(verdict.standing, Standing::Failed | Standing::Error) {
            self.list(Place::of(verdict));
        }
    }

    fn list(&mut self, place: Place) {
        let full = self.failures.len() >= MOST_FAILURES;
        if full && self.failures.last().is_some_and(|last| *last <= place) {
            return;
        }
        self.failures.push(place);
        sort_by(&mut self.failures, |one, other| one.cmp(other));
        self.failures.truncate(MOST_FAILURES);
    }

    /// Adds a file that was read: `{name, sha256, bytes, lines}`. Errors: those of the members.
    pub fn read_from(&mut self, input: &Json) -> Result<(), Error> {
        let name = input.read("name", Json::as_string)?;
        let sha256 = input.read("sha256", Json::as_string)?;
        let file = Json::object([
            ("name", Json::text(name.as_str())),
            ("sha256", Json::text(sha256.as_str())),
            ("bytes", Json::number(input.read("bytes", Json::as_u64)?)),
            ("lines", Json::number(input.read("lines", Json::as_u64)?)),
        ]);
        self.inputs.insert((name, sha256), file);
        Ok(())
    }

    /// Adds another summary. The order in which summaries are added, and how they are put together before, does not show. A file
    /// that both have read is the same file.
    pub fn merge(&mut self, other: &Summary) {
        for (standing, money) in &other.verdicts {
            self.verdicts.entry(*standing).or_default().merge(money);
        }
        for (code, money) in &other.codes {
            self.codes.entry(code.clone()).or_default().merge(money);
        }
        for place in &other.failures {
            self.list(place.clone());
        }
        for (key, file) in &other.inputs {
            self.inputs.insert(key.clone(), file.clone());
        }
    }

    /// `{v, inputs, lines, verdicts: {verified, failed, incomplete, error}, codes: {…}, failures}`; each verdict and code is
    /// `{lines, amounts: [{network, asset, lines, amount}], others?}`. An amount that no 256 bits hold is null.
    pub fn to_json(&self) -> Json {
        let none = Money::default();
        let verdicts = Standing::ALL.map(|standing| {
            let money = self.verdicts.get(&standing).unwrap_or(&none);
            (standing.as_str(), money.members())
        });
        let codes = self
            .codes
            .iter()
            .map(|(code, money)| (code.clone(), money.members()));
        let lines = self.verdicts.values().map(|money| money.lines).sum();
        Json::object([
            ("v", Json::number(1)),
            ("inputs", Json::Array(self.inputs.values().cloned().collect())),
            ("lines", Json::number(lines)),
            ("verdicts", Json::object(verdicts)),
            ("codes", Json::Object(codes.collect())),
            (
                "failures",
                Json::Array(self.failures.iter().map(Place::to_json).collect()),
            ),
        ])
    }

    /// Reads what [`Summary::to_json`] wrote. Errors: `unsupported_version`, those of the members.
    pub fn from_json(json: &Json) -> Result<Summary, Error> {
        let mut summary = Summary::default();
        if json.read("v", Json::as_u64)? != 1 {
            return Err(Error::new(Code::UnsupportedVersion, "v"));
        }
        let verdicts = json.require("verdicts")?;
        for standing in Standing::ALL {
            let money = verdicts
                .read(standing.as_str(), Money::read)
                .map_err(|error| error.within("verdicts"))?;
            if money.lines > 0 {
                summary.verdicts.insert(standing, money);
            }
        }
        for (code, money) in json.read("codes", Json::as_object)? {
            let money = Money::read(money).map_err(|error| error.within("codes"))?;
            summary.codes.insert(code.clone(), money);
        }
        for place in json.read("failures", |list| list.as_list(Place::read))? {
            summary.list(place);
        }
        for input in json.read("inputs", Json::as_array)? {
            summary.read_from(input).map_err(|error| error.within("inputs"))?;
        }
        Ok(summary)
    }
}
