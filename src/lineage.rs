//! The lineage of intents: who bought what for whom, out of one or several bundles and journals, what all of it cost, and what a person has to do.
//!
//! States are computed from what was signed, answered and read, never believed. Sums are of one token each; what is in flight or unknown counts as spent. What
//! the chain or a seller says is told apart from what a journal says of itself.

mod chain;
mod cost;
mod drift;
mod family;
mod node;
mod prov;
mod running;
mod verify;
mod view;

use core::ops::Range;
use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::address::Address;
use crate::amount::Amount;
use crate::conflict::{self, purchase, Given};
use crate::error::Error;
use crate::json::{self, Json};
use crate::receipt::record::{self, Record};
use crate::sorting::{map, sort_by};
use chain::Chain;
use family::Family;
pub use verify::verify;

/// What a caller says beside the bundles.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Options {
    /// Only this intent and what is below it.
    pub root: Option<String>,
    /// What is said to have gone back.
    pub refunds: Vec<Given>,
    /// Above this a person is asked for one payment: several just below it are told.
    pub threshold: Option<Amount>,
    /// Without the nodes of the graph, which are longer than everything else.
    pub nodeless: bool,
    /// With the report of [`verify()`] on each text, for which none of them is read again.
    pub reports: bool,
}

impl Options {
    /// Reads `{root?, refunds?, threshold?, nodes?, reports?}`. Errors: those of the fields with their path.
    pub fn from_json(json: &Json) -> Result<Options, Error> {
        Ok(Options {
            root: json.read_opt("root", Json::as_string)?,
            refunds: json
                .read_opt("refunds", |list| list.as_list(Given::from_json))?
                .unwrap_or_default(),
            threshold: json.read_opt("threshold", Amount::from_json)?,
            nodeless: json.read_opt("nodes", Json::as_bool)? == Some(false),
            reports: json.read_opt("reports", Json::as_bool)? == Some(true),
        })
    }
}

/// The lineage in these bundles and journals, ready to be shown: `{root, nodes, rows, totals, counters, actions, flags, journals}`. A record that stands in two of them counts once, and
/// their order does not matter. Errors, each at `bundles[n]`: those of the JSON reader, those of a bundle ([`crate::receipt::verify`]), `intent_unknown` at `root`.
pub fn lineage(texts: &[&str], options: &Options) -> Result<Json, Error> {
    let sources = Sources::read(texts)?;
    let read = sources.records()?;
    let purchases = purchase::purchases(&read)?;
    let family = Family::rooted(&read, &sources.bundles, options, &|at| sources.place_of(at))?;
    let shown = view::view(&family, &purchases, &sources, options)?;
    if !options.reports {
        return Ok(shown);
    }
    let mut reports = Vec::new();
    for source in sources.as_given() {
        let within = |error: Error| error.within(&format!("bundles[{}]", source.place));
        let report = match sources.list.as_slice() {
            [_] => verify::report(source, &sources.bundles, &family, &purchases),
            _ => verify::alone(source, &sources.bundles, &read),
        };
        reports.push(report.map_err(within)?);
    }
    Ok(shown.with("reports", Json::Array(reports)))
}

/// The graph behind it as a PROV-JSON document. Errors: those of [`lineage`].
pub fn prov(texts: &[&str], options: &Options) -> Result<Json, Error> {
    let sources = Sources::read(texts)?;
    let read = sources.records()?;
    let purchases = purchase::purchases(&read)?;
    let (_, back) = conflict::findings(&purchases, &options.refunds);
    let family = Family::rooted(&read, &sources.bundles, options, &|at| sources.place_of(at))?;
    let walked = family.walk(options.root.as_deref());
    let members: Vec<_> = walked.iter().map(|(member, _)| *member).collect();
    Ok(prov::document(&node::nodes(&family, &members, &back)?))
}

/// What the texts hold, put together in an order of their own: nothing that is said of them follows the order in which they were handed in.
struct Sources<'a> {
    bundles: Vec<Json>,
    /// The texts.
    list: Vec<Source<'a>>,
}

/// One text: which of the bundles come from it, and its chain where it is a journal.
struct Source<'a> {
    /// Among the texts as they were handed in.
    place: usize,
    bundles: Range<usize>,
    chain: Option<Chain<'a>>,
}

impl<'a> Sources<'a> {
    fn read(texts: &[&'a str]) -> Result<Sources<'a>, Error> {
        let mut read = Vec::new();
        for (place, text) in texts.iter().copied().enumerate() {
            let within = |error: Error| error.within(&format!("bundles[{place}]"));
            let (bundles, chain) = match chain::is_journal(text) {
                true => {
                    let mut chain = chain::read(text);
                    let latest = core::mem::take(&mut chain.latest);
                    (bundles_of(latest).map_err(within)?, Some(chain))
                }
                false => (vec![json::parse(text).map_err(within)?], None),
            };
            read.push((text, place, bundles, chain));
        }
        sort_by(&mut read, |(one, ..), (other, ..)| one.cmp(other));
        let mut sources = Sources {
            bundles: Vec::new(),
            list: Vec::new(),
        };
        for (_, place, bundles, chain) in read {
            let first = sources.bundles.len();
            sources.bundles.extend(bundles);
            sources.list.push(Source {
                place,
                bundles: first..sources.bundles.len(),
                chain,
            });
        }
        Ok(sources)
    }

    /// In the order in which they were handed in.
    fn as_given(&self) -> Vec<&Source<'a>> {
        let mut list: Vec<_> = self.list.iter().collect();
        sort_by(&mut list, |one, other| one.place.cmp(&other.place));
        list
    }

    /// In which text a bundle stands.
    fn place_of(&self, bundle: usize) -> usize {
        let found = self.list.iter().find(|source| source.bundles.contains(&bundle));
        found.map_or(0, |source| source.place)
    }

    fn records(&self) -> Result<Vec<(Address, Vec<Record<'_>>)>, Error> {
        let mut read = Vec::new();
        for source in &self.list {
            let place = source.place;
            for bundle in self.bundles.get(source.bundles.clone()).unwrap_or_default() {
                let records = record::bundle(bundle);
                read.push(records.map_err(|error| error.within(&format!("bundles[{place}]")))?);
            }
        }
        Ok(read)
    }
}

/// What a journal holds, as the bundle of each of its payers. A text is let go when it was read. Errors: those of the records.
fn bundles_of(latest: BTreeMap<String, Cow<'_, str>>) -> Result<Vec<Json>, Error> {
    let mut wallets = map(Vec::new());
    for (key, text) in &latest {
        if let Some(payer) = key.strip_prefix("wallet/") {
            wallets.insert(payer.to_owned(), (json::parse(text)?, Vec::new()));
        }
    }
    for (key, text) in latest {
        if key.starts_with("intent/") {
            let record = json::parse(&text)?;
            let payer = record.read("principal", Address::from_json)?.to_string();
            let empty = || (Json::object([]), Vec::new());
            wallets.entry(payer).or_insert_with(empty).1.push(record);
        }
    }
    let bundles = wallets.into_iter().map(|(payer, (wallet, intents))| {
        let member = |name: &str| wallet.get(name).cloned();
        Json::object([
            ("type", Json::text("counterfoil/bundle")),
            ("v", Json::number(1)),
            ("payer", Json::String(payer)),
            ("intents", Json::Array(intents)),
        ])
        .with_some("places", member("places"))
        .with_some("approvals", member("approvals"))
        .with_some("asked", member("asked"))
        .with_some("refused", member("refused"))
        .with_some("entries", member("entries"))
    });
    Ok(bundles.collect())
}
