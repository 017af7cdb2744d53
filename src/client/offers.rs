//! What a 402 answer offers, by either protocol, and which of it this call can take.

use super::record::Intent;
use super::{told, Context, State};
use crate::authorization::Method;
use crate::error::{Code, Error};
use crate::evidence;
use crate::json::Json;
use crate::mpp::challenge::{self, Challenge};
use crate::mpp::charge::TEMPO;
use crate::mpp::CHALLENGES;
use crate::outcome::Answer;
use crate::policy::{Chosen, Offers, Pinned};
use crate::quote::{self, Offered};
use crate::x402::payment_required::{self, Offer, PaymentRequired, Terms};

/// The offer chosen, its terms and its hash.
pub(super) struct Choice {
    pub offered: Offered,
    pub terms: Terms,
    pub quote_hash: [u8; 32],
}

/// What is kept of the answer while the price is decided: `{header?, body?, date?, challenges?}`.
pub(super) fn price(answer: &Answer) -> Json {
    let header = |name: &str| answer.header(name).flatten().map(Json::text);
    Json::object([])
        .with_some("header", header("payment-required"))
        .with_some("body", answer.body.clone().map(Json::String))
        .with_some("date", header("date"))
        .with_some("challenges", header(CHALLENGES))
}

/// Chooses by the policy among what can be taken. Errors: `challenge_changed`; those of the price and of the field where nothing else is
/// offered; those of [`crate::policy::Policy::choose`]; where that leaves nothing, why the first challenge could not be taken, else why the first entry can't be read.
pub(super) fn choose(state: &State, context: Context<'_>) -> Result<Choice, Error> {
    let price = state
        .price
        .as_ref()
        .ok_or_else(|| Error::new(Code::StateInvalid, "price"))?;
    let text = |name: &str| price.get(name).map(Json::as_str).transpose();
    let header = text("header")?;
    let required = payment_required::parse(header, text("body")?);
    let found = text("challenges")?.map_or(Ok(Vec::new()), challenge::parse);
    let (required, found) = match (required, found) {
        // The header is canonical: broken, it is no reason to look for another price.
        (Err(error), _) if header.is_some_and(|value| !value.trim().is_empty()) => return Err(error),
        (Ok(required), found) => (Some(required), found.unwrap_or_default()),
        (Err(error), Ok(found)) if found.is_empty() => return Err(error),
        (Err(_), found) => (None, found?),
    };
    let (challenges, refused) = sift(state, found, context)?;
    let (required, left_out) = provable(required, context);
    let unread = required.as_ref().and_then(|required| required.unread.clone());
    let refused = refused.or(left_out).or(unread);
    // The rail stays until every authorization on it is proven void.
    let rail = state
        .intent
        .as_ref()
        .filter(|intent| !intent.all_void())
        .and_then(|intent| intent.rail.as_ref());
    let pinned = rail.map(|rail| Pinned {
        network: &rail.network,
        asset: &rail.asset,
        method: rail.method,
        protocol: rail.protocol,
    });
    let offers = Offers {
        required: required.as_ref(),
        challenges: &challenges,
    };
    let chosen = context
        .config
        .policy
        .choose(offers, &context.config.payer, pinned);
    let (chosen, terms) = chosen.map_err(|error| match (error.code, pinned, refused) {
        (Code::NoSupportedOption | Code::RailChanged, _, Some(refused))
            if refused.code == Code::RailNotProvable =>
        {
            refused
        }
        (Code::NoSupportedOption, Some(_), _) => Error::new(Code::RailChanged, ""),
        (Code::NoSupportedOption, None, Some(refused)) => refused,
        _ => error,
    })?;
    let missing = || Error::new(Code::NoSupportedOption, "");
    let offered = match (chosen, required) {
        (Chosen::Offer(index), Some(required)) => Offered::entry(&required, index)?,
        (Chosen::Offer(_), None) => return Err(missing()),
        (Chosen::Challenge(index), _) => {
            let challenge = challenges.into_iter().nth(index).ok_or_else(missing)?;
            Offered::Mpp(Box::new(challenge))
        }
    };
    let quote_hash = quote::quote_hash(&offered.requirements(), &state.request()?.fingerprint()?)?;
    Ok(Choice {
        offered,
        terms,
        quote_hash,
    })
}

/// The price without the offers of which nothing could ever be proven to a payer that trusts no source: by Permit2 on a network
/// where its code is not known. And why there are fewer.
fn provable(
    mut required: Option<PaymentRequired>,
    context: Context<'_>,
) -> (Option<PaymentRequired>, Option<Error>) {
    let config = context.config;
    let provable = |offer: &Offer| {
        let (Some(Method::Permit2), Some((network, _))) = (offer.method(), offer.rail()) else {
            return true;
        };
        config.trusted_blocks.is_none() || evidence::proves_permits(&network, &config.layouts)
    };
    let mut left_out = None;
    if let Some(required) = &mut required {
        let mut placed = required.offers.iter().zip(&required.places);
        let first = placed.find(|(offer, _)| !provable(offer));
        left_out = first.map(|(_, place)| Error::new(Code::RailNotProvable, format!("accepts[{place}]")));
        required.retain(provable);
    }
    (required, left_out)
}

/// The challenges that can be taken, and why the first of the others can't. Error: `challenge_changed`.
fn sift(
    state: &State,
    found: Vec<Result<Challenge, Error>>,
    context: Context<'_>,
) -> Result<(Vec<Challenge>, Option<Error>), Error> {
    let (mut taken, mut refused) = (Vec::new(), None);
    for (index, one) in found.into_iter().enumerate() {
        let judged = one.and_then(|challenge| usable(state, &challenge, context).map(|()| challenge));
        match judged {
            Ok(challenge) => taken.push(challenge),
            Err(error) => {
                refused.get_or_insert(error.within(&format!("challenges[{index}]")));
            }
        }
    }
    unchanged(state.intent.as_ref(), &taken)?;
    Ok((taken, refused))
}

/// Whether a credential may be sent for it by this call. Errors in this order: `challenge_expired`, `challenge_invalid` (for another
/// body), `no_supported_payment_option` (the request has an `Authorization` of its own; on Tempo there is no signer, or the payer is a
/// contract), `rail_not_provable` (on Tempo, with trusted blocks), `transport_insecure`.
fn usable(state: &State, challenge: &Challenge, context: Context<'_>) -> Result<(), Error> {
    let request = state.request()?;
    if challenge.expires_at().is_some_and(|at| context.now >= at) {
        return Err(Error::new(Code::ChallengeExpired, "expires"));
    }
    if challenge
        .body_sha256()
        .is_some_and(|hash| hash != request.body_sha256)
    {
        return Err(Error::new(Code::ChallengeInvalid, "digest"));
    }
    if state.start.authenticated && challenge.header.is_none() {
        return Err(Error::new(Code::NoSupportedOption, "header"));
    }
    let signs_tempo = context.config.signs_tempo && !context.config.contract_wallet;
    if challenge.method == TEMPO && !signs_tempo {
        return Err(Error::new(Code::NoSupportedOption, "method"));
    }
    if challenge.method == TEMPO && context.config.trusted_blocks.is_some() {
        return Err(Error::new(Code::RailNotProvable, "method"));
    }
    if !request.is_private() {
        return Err(Error::new(Code::TransportInsecure, ""));
    }
    Ok(())
}

/// One id is one challenge: for the quotes of this intent and for each other. Error: `challenge_changed`.
fn unchanged(intent: Option<&Intent>, challenges: &[Challenge]) -> Result<(), Error> {
    let quotes = intent.map_or([].as_slice(), |intent| &intent.quotes);
    let known = || {
        quotes
            .iter()
            .filter_map(|quote| quote.offered.challenge())
            .chain(challenges)
    };
    let changed = |one: &Challenge| known().any(|other| one.id == other.id && !one.is_same(other));
    match challenges.iter().any(changed) {
        true => Err(Error::new(Code::ChallengeChanged, "")),
        false => Ok(()),
    }
}

/// Whether an answer brings a known challenge back under other terms.
pub(super) fn is_changed(state: &State, answer: &Answer) -> bool {
    let field = answer.header(CHALLENGES).flatten();
    let found = field
        .and_then(|field| challenge::parse(field).ok())
        .unwrap_or_default();
    let read: Vec<Challenge> = found.into_iter().flatten().collect();
    unchanged(state.intent.as_ref(), &read).is_err()
}

/// Tells of a challenge that was changed; any other error is for the caller alone.
pub(super) fn tell(state: &mut State, error: Error) -> Error {
    if error.code == Code::ChallengeChanged {
        let finding = told::finding(state, Code::ChallengeChanged);
        state.alerts.push(finding);
    }
    error
}
