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
mod verify;
mod view;

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::address::Address;
use crate::amount::Amount;
use crate::conflict::{self, purchase, Given};
use crate::error::Error;
use crate::json::{self, Json};
use crate::receipt::record::{self, Record};
use crate::sorting::map;
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
}

impl Options {
    /// Reads `{root?, refunds?, threshold?, nodes?}`. Errors: those of the fields with their path.
    pub fn from_json(json: &Json) -> Result<Options, Error> {
        Ok(Options {
            root: json.read_opt("root", Json::as_string)?,
            refunds: json
                .read_opt("refunds", |list| list.as_list(Given::from_json))?
                .unwrap_or_default(),
            threshold: json.read_opt("threshold", Amount::from_json)?,
            nodeless: json.read_opt("nodes", Json::as_bool)? == Some(false),
        })
    }
}

/// The lineage in these bundles and journals, ready to be shown: `{root, nodes, rows, totals, counters, actions, flags, journals}`. A record that stands in two of them counts once, and
/// their order does not matter. Errors, each at `bundles[n]`: those of the JSON reader, those of a bundle ([`crate::receipt::verify`]), `intent_unknown` at `root`.
pub fn lineage(texts: &[&str], options: &Options) -> Result<Json, Error> {
    let sources = Sources::read(texts)?;
    let read = sources.records()?;
    let purchases = purchase::purchases(&read)?;
    let family = Family::rooted(&read, &sources.bundles, options)?;
    view::view(&family, &purchases, &sources.chains, options)
}

/// The graph behind it as a PROV-JSON document. Errors: those of [`lineage`].
pub fn prov(texts: &[&str], options: &Options) -> Result<Json, Error> {
    let sources = Sources::read(texts)?;
    let read = sources.records()?;
    let purchases = purchase::purchases(&read)?;
    let (_, back) = conflict::findings(&purchases, &options.refunds);
    let family = Family::rooted(&read, &sources.bundles, options)?;
    let walked = family.walk(options.root.as_deref());
    let members: Vec<_> = walked.iter().map(|(member, _)| *member).collect();
    Ok(prov::document(&node::nodes(&family, &members, &back)?))
}

/// The bundles, and the chains of those that came as journals.
struct Sources<'a> {
    bundles: Vec<Json>,
    /// Which text each bundle came from.
    from: Vec<usize>,
    chains: Vec<Option<Chain<'a>>>,
}

impl<'a> Sources<'a> {
    fn read(texts: &[&'a str]) -> Result<Sources<'a>, Error> {
        let mut sources = Sources {
            bundles: Vec::new(),
            from: Vec::new(),
            chains: Vec::new(),
        };
        for (index, text) in texts.iter().enumerate() {
            let within = |error: Error| error.within(&format!("bundles[{index}]"));
            match chain::is_journal(text) {
                true => {
                    let mut chain = chain::read(text);
                    for bundle in bundles_of(core::mem::take(&mut chain.latest)).map_err(within)? {
                        sources.bundles.push(bundle);
                        sources.from.push(index);
                    }
                    sources.chains.push(Some(chain));
                }
                false => {
                    sources.bundles.push(json::parse(text).map_err(within)?);
                    sources.from.push(index);
                    sources.chains.push(None);
                }
            }
        }
        Ok(sources)
    }

    fn records(&self) -> Result<Vec<(Address, Vec<Record<'_>>)>, Error> {
        let read = self.bundles.iter().zip(&self.from).map(|(bundle, index)| {
            record::bundle(bundle).map_err(|error| error.within(&format!("bundles[{index}]")))
        });
        read.collect()
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
