//! Where a purchase stands among the intents of its payer, and whether all of them together may spend what it costs.
//!
//! The wallet's record holds every place and every amount, and each reservation is written with it or not at all: whoever spends under one root, in
//! whatever process, meets what the others hold.

use super::effect::{Record, Write};
use super::record::{self, Intent, Paths, Reservation, Wallet, WalletChange};
use super::{drift, Config, Context, Start, State};
use crate::amount::Amount;
use crate::error::{Code, Error};
use crate::hand_over::HandOver;
use crate::intent;
use crate::policy::{passes, Decision, Spent};
use crate::time::Seconds;
use crate::tree::{Broken, Limits, Place};
use crate::x402::payment_required::Terms;

/// Where the purchase stands, as the wallet will hold it; nothing where it names neither parent nor limit. Errors: `bad_lineage`,
/// `lineage_wider`.
pub(super) fn place(state: &State, context: Context<'_>) -> Result<Option<Place>, Error> {
    let other_tree = || Error::new(Code::BadLineage, "intent.parent");
    let start = &state.start;
    let recorded = state.intent.as_ref();
    // What the record says holds; a call can repeat it and not change it.
    if let (Some(intent), Some(named)) = (recorded, &start.parent) {
        if intent.parent.as_ref() != Some(named) {
            return Err(other_tree());
        }
    }
    if let Some(known) = state.wallet.place(&state.intent_id) {
        let given = recorded.is_some_and(Intent::was_given);
        if !given && start.parent.is_some() && start.parent != known.parent {
            return Err(other_tree());
        }
        return Ok(Some(known.clone().narrowed(start.budget)));
    }
    let parent = match recorded {
        Some(intent) => intent.parent.clone(),
        None => start.parent.clone(),
    };
    let place = placed(start, &state.intent_id, parent, context.config, context.now);
    if place.is_worth_keeping() {
        check(&place, &state.wallet, context.config)?;
    }
    Ok(Some(place).filter(Place::is_worth_keeping))
}

fn placed(start: &Start, intent_id: &str, parent: Option<String>, config: &Config, now: Seconds) -> Place {
    Place {
        intent_id: intent_id.to_owned(),
        parent,
        purpose: start.purpose.clone(),
        actor: config.named_actor().map(str::to_owned),
        budget: start.budget,
        recipients: start.recipients.clone(),
        expires_at: start.expires_at,
        at: now,
    }
}

/// Whether a place fits in: its path leads to a root, and it widens nothing of what is above it. Errors: `bad_lineage`, `lineage_wider`.
fn check(place: &Place, wallet: &Wallet, config: &Config) -> Result<(), Error> {
    let paths = wallet.paths(Some(place));
    let path = paths.of(&place.intent_id)?;
    if config
        .root
        .as_ref()
        .is_some_and(|root| !path.contains(&root.as_str()))
    {
        return Err(Error::new(Code::BadLineage, "intent.root"));
    }
    let above = path.iter().skip(1).filter_map(|id| wallet.place(id));
    match above.filter_map(|above| place.widens(above)).next() {
        Some(field) => Err(Error::new(Code::LineageWider, field)),
        None => Ok(()),
    }
}

/// A purchase among the intents above it.
struct Branch<'a> {
    /// From the purchase up to its root; itself alone where its place does not hold.
    path: Vec<&'a str>,
    /// Those of them that have a place, in the same order.
    places: Vec<&'a Place>,
    paths: Paths<'a>,
}

/// `own`: the place of the purchase.
fn branch<'a>(state: &'a State, own: Option<&'a Place>) -> Branch<'a> {
    let paths = state.wallet.paths(own);
    let path = paths.of(&state.intent_id);
    let path = path.unwrap_or_else(|_| vec![state.intent_id.as_str()]);
    Branch {
        places: places_on(&path, own, &state.wallet),
        path,
        paths,
    }
}

fn places_on<'a>(path: &[&'a str], own: Option<&'a Place>, wallet: &'a Wallet) -> Vec<&'a Place> {
    let place = |id: &&str| match own {
        Some(own) if own.intent_id == **id => Some(own),
        _ => wallet.place(id),
    };
    path.iter().filter_map(place).collect()
}

/// What is held and was spent under an intent, its own included.
fn under<'a>(
    above: &'a str,
    paths: &'a Paths<'a>,
    wallet: &'a Wallet,
) -> impl Iterator<Item = &'a Reservation> {
    let below = move |entry: &&Reservation| {
        let path = paths.of(entry.intent_id());
        path.is_ok_and(|path| path.contains(&above))
    };
    wallet.entries.iter().filter(below)
}

/// The intents from a purchase up to its root, itself first; itself alone where its place does not hold.
pub(super) fn path(state: &State, context: Context<'_>) -> Vec<String> {
    let own = place(state, context).ok().flatten();
    let branch = branch(state, own.as_ref());
    branch.path.into_iter().map(str::to_owned).collect()
}

/// Whether the time of the purchase, or of what is above it, is over.
pub(super) fn is_over(state: &State, context: Context<'_>) -> bool {
    limits(state, context)
        .expires_at
        .is_some_and(|end| context.now >= end)
}

/// What the places above a purchase, its own included, say of its terms, beside what is held under another id than `besides`. Errors in this
/// order: those of [`place`], `bad_lineage` (the payer's root is not above it), `intent_expired`, `recipient_forbidden`, and with nobody to ask
/// `over_budget`, `drift_refused` and `over_cap`.
pub(super) fn decide(
    state: &State,
    terms: &Terms,
    besides: &str,
    context: Context<'_>,
) -> Result<Vec<Decision>, Error> {
    let own = place(state, context)?;
    let (wallet, policy) = (&state.wallet, &context.config.policy);
    let paths = wallet.paths(own.as_ref());
    let path = match paths.of(&state.intent_id) {
        Ok(path) => path,
        // It names nobody, and nothing was paid for it yet: it is a root.
        Err(Broken::Unknown) if own.is_none() => vec![state.intent_id.as_str()],
        Err(broken) => return Err(broken.into()),
    };
    let given = state.intent.as_ref().is_some_and(Intent::was_given);
    let root = context.config.root.as_deref();
    if root.is_some_and(|root| !given && !path.contains(&root)) {
        return Err(Error::new(Code::BadLineage, "intent.root"));
    }
    let places = places_on(&path, own.as_ref(), wallet);
    if places
        .iter()
        .any(|place| place.expires_at.is_some_and(|end| context.now >= end))
    {
        return Err(Error::new(Code::IntentExpired, "intent.expiresAt"));
    }
    let stranger = |place: &&Place| {
        let known = place.recipients.as_ref();
        known.is_some_and(|known| terms.shares.iter().any(|share| !known.contains(&share.to)))
    };
    if places.iter().any(stranger) {
        return Err(Error::new(Code::RecipientForbidden, "intent.recipients"));
    }
    let others = |above| -> Vec<&Reservation> {
        let entries = under(above, &paths, wallet);
        entries.filter(|entry| entry.id != besides).collect()
    };
    let mut decisions = Vec::new();
    for place in places {
        let Some(budget) = place.budget else { continue };
        let spent = others(&place.intent_id);
        // A budget is of one token: another one would be new room.
        let mixed = spent.iter().any(|entry| !entry.spent.is_on(terms));
        if mixed || passes(budget, terms, spent.iter().map(|entry| &entry.spent)) {
            decisions.push(policy.ask("over_budget", Code::OverBudget, "intent.parent")?);
        }
        decisions.extend(drift::approach(place, &path, &paths, terms, &spent, context)?);
    }
    let root = path.last().copied().unwrap_or_default();
    let tree: Vec<Spent> = others(root)
        .into_iter()
        .map(|entry| entry.spent.clone())
        .collect();
    decisions.push(policy.decide_tree(terms, &tree)?);
    Ok(decisions)
}

/// What is left for the purchase of every budget on its path, without what it holds itself; nothing where there is none.
pub(super) fn left(state: &State, context: Context<'_>) -> Option<Amount> {
    let own = place(state, context).ok().flatten();
    let branch = branch(state, own.as_ref());
    let left = |place: &&Place| {
        let entries = under(&place.intent_id, &branch.paths, &state.wallet);
        let others = entries.filter(|entry| entry.intent_id() != state.intent_id);
        let spent = others.fold(Amount::ZERO, |sum, entry| sum.saturating_add(entry.spent.amount));
        Some(place.budget?.checked_sub(spent).unwrap_or(Amount::ZERO))
    };
    branch.places.iter().filter_map(left).min()
}

/// Whom everything on the path lets be paid, and until when.
pub(super) fn limits(state: &State, context: Context<'_>) -> Limits {
    let own = place(state, context).ok().flatten();
    let places = branch(state, own.as_ref()).places.into_iter();
    places.map(Place::bounds).reduce(Limits::and).unwrap_or_default()
}

/// The place of an intent that goes to another actor, or came from one, with what it may cost from here on, whom it may pay and until when. A parent that
/// is not known here bounds nothing: the hand-over does.
pub(super) fn handed(state: &State, given: &HandOver, context: Context<'_>) -> Result<Place, Error> {
    let intent = state.intent()?;
    let paths = state.wallet.paths(None);
    let known = |parent: &&String| paths.of(parent).is_ok();
    Ok(Place {
        intent_id: intent.intent_id.clone(),
        parent: intent.parent.as_ref().filter(known).cloned(),
        purpose: intent.purpose.clone(),
        actor: context.config.named_actor().map(str::to_owned),
        budget: Some(given.budget),
        recipients: given.limits.recipients.clone(),
        expires_at: given.limits.expires_at,
        at: context.now,
    })
}

/// Writes an intent down that buys nothing itself, or buys later: under it others do. Gives its id, and what is to be written; nothing where it stands
/// already as it is asked for. Errors: `intent_id_invalid`, `missing_field` (no id), `intent_conflict` (it stands otherwise), `bad_lineage`, `lineage_wider`,
/// `intent_expired`, those of the wallet's record.
pub fn intend(
    config: &Config,
    start: &Start,
    stands: Option<&Record>,
    now: Seconds,
) -> Result<(String, Option<Write>), Error> {
    let id = start.id.as_deref();
    let id = id.ok_or_else(|| Error::new(Code::MissingField, "intent.id"))?;
    let intent_id = intent::explicit_intent_id(&config.payer, id).map_err(|error| error.within("intent"))?;
    let mut wallet = stands
        .map(|found| record::from_text(&found.text, Wallet::from_json))
        .transpose()?
        .unwrap_or_default();
    let parent = start.parent.clone().or_else(|| config.root.clone());
    let parent = parent.filter(|parent| *parent != intent_id);
    let place = placed(start, &intent_id, parent, config, now);
    if let Some(known) = wallet.place(&intent_id) {
        let same = |place: &Place| {
            (
                place.parent.clone(),
                place.budget,
                place.recipients.clone(),
                place.expires_at,
            )
        };
        return match same(known) == same(&place) {
            true => Ok((intent_id, None)),
            false => Err(Error::new(Code::IntentConflict, "intent")),
        };
    }
    // What was bought under this id is no root of others afterwards: its terms would change behind its back.
    if wallet.entries.iter().any(|entry| entry.intent_id() == intent_id) {
        return Err(Error::new(Code::IntentConflict, "intent"));
    }
    if place.expires_at.is_some_and(|end| now >= end) {
        return Err(Error::new(Code::IntentExpired, "intent.expiresAt"));
    }
    check(&place, &wallet, config)?;
    wallet.apply(&WalletChange::Place(place), now);
    let write = Write {
        key: Wallet::key(&config.payer),
        expect: stands.map(|found| found.rev),
        put: wallet.to_json().to_canonical()?,
    };
    Ok((intent_id, Some(write)))
}
