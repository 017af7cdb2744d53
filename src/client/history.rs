//! A journal that was lost, or begins: what the payer's own logs say of the past is written down, so that it counts as spent.
//!
//! Which intents those payments were for, the chain does not say. An intent whose derived nonce is among them is known as paid when it is
//! asked for again: it ends as paid, not delivered, with a claim, and nothing is signed.

use super::effect::{Record, Write};
use super::record::{self, Intent, Reservation, Wallet, WalletChange};
use super::Config;
use crate::address::Address;
use crate::amount::Amount;
use crate::attempt::Attempt;
use crate::authorization::Method;
use crate::error::{Code, Error, Money, Next};
use crate::evidence::{self, Closed, How};
use crate::hex;
use crate::json::Json;
use crate::network::Network;
use crate::policy::{Spent, SpentState};
use crate::sorting::sort_by;
use crate::time::Seconds;
use crate::x402::payment_required::Share;

/// What is reported of a journal that knows nothing.
pub const UNKNOWN: (&str, Money, Next) = ("unknown_history", Money::Possible, Next::ReadChain);

/// Whose history on which token.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Token {
    /// The chain.
    pub network: Network,
    /// The token.
    pub asset: Address,
}

impl Token {
    /// Under this id the wallet holds what was paid under a nonce that no intent of the journal is known for.
    pub fn reservation(&self, nonce: &[u8; 32]) -> String {
        format!("recovered/{}/{}/{}", self.network, self.asset, hex::encode(nonce))
    }

    /// What the wallet holds for such a payment.
    pub fn found(&self, nonce: &[u8; 32], amount: Amount, at: Seconds, to: Vec<Share>) -> WalletChange {
        WalletChange::Found(Box::new(Reservation {
            id: self.reservation(nonce),
            spent: Spent {
                network: self.network.clone(),
                asset: self.asset,
                amount,
                at,
                state: SpentState::Settled,
                to,
            },
            approval: None,
            call: None,
            place: None,
            approved: None,
            yes: false,
            nonce: None,
        }))
    }

    /// The journal key of a recovered nonce.
    pub fn key(&self, payer: &Address, nonce: &[u8; 32]) -> String {
        format!(
            "recovered/{payer}/{}/{}/{}",
            self.network,
            self.asset,
            hex::encode(nonce)
        )
    }

    /// The journal key under which it stands which blocks were read.
    pub fn history_key(&self, payer: &Address) -> String {
        format!("history/{payer}/{}/{}", self.network, self.asset)
    }
}

/// What one stretch of blocks adds to the journal.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Page {
    /// All or nothing.
    pub writes: Vec<Write>,
    /// What is new in it.
    pub found: Vec<Closed>,
}

/// Judges one stretch that every source was asked for. `records` are the wallet's and the history's as they stand; `known` are the nonces and the
/// transactions that intents or earlier recoveries hold already. Errors: `evidence_unreadable`, those of the records.
pub fn page(
    config: &Config,
    token: &Token,
    evidence: &[Json],
    records: &[Record],
    known: &[[u8; 32]],
    now: Seconds,
) -> Result<Page, Error> {
    let payer = &config.payer;
    let read = evidence::history(payer, &token.network, &token.asset, evidence);
    let read = read.map_err(|_| Error::new(Code::EvidenceUnreadable, "evidence"))?;
    // Of a transfer whose nonce is not known, the transaction says whether an intent holds it.
    let is_known = |one: &Closed| {
        known.contains(&one.nonce) || one.how == How::Unknown && known.contains(&one.transaction)
    };
    let found: Vec<Closed> = read.closed.into_iter().filter(|one| !is_known(one)).collect();
    let stands = |key: &str| records.iter().find(|record| record.key == key);
    let wallet_key = Wallet::key(payer);
    let wallet_stands = stands(&wallet_key);
    let mut wallet = wallet_stands
        .map(|found| record::from_text(&found.text, Wallet::from_json))
        .transpose()?
        .unwrap_or_default();
    let history_key = token.history_key(payer);
    let history_stands = stands(&history_key);
    let ranges = history_stands
        .map(|found| record::from_text(&found.text, ranges))
        .transpose()?
        .unwrap_or_default();
    let mut writes = Vec::new();
    for one in &found {
        writes.push(Write {
            key: token.key(payer, &one.nonce),
            expect: None,
            put: recovered(payer, token, one, now).to_canonical()?,
        });
        if one.how != How::Cancelled {
            wallet.apply(&token.found(&one.nonce, one.amount, one.at, shares(one)), now);
        }
    }
    // Written even where nothing is new: an intent that is begun in between then meets a conflict, or this does.
    writes.push(Write {
        key: wallet_key,
        expect: wallet_stands.map(|found| found.rev),
        put: wallet.to_json().to_canonical()?,
    });
    writes.push(Write {
        key: history_key,
        expect: history_stands.map(|found| found.rev),
        put: history(payer, token, &joined(ranges, (read.from, read.to)), now).to_canonical()?,
    });
    Ok(Page { writes, found })
}

/// Who had it.
fn shares(one: &Closed) -> Vec<Share> {
    let share = |to| Share {
        to,
        amount: one.amount,
    };
    one.to.map(share).into_iter().collect()
}

fn recovered(payer: &Address, token: &Token, one: &Closed, now: Seconds) -> Json {
    let event = match one.how {
        How::Used | How::Permitted => "used",
        How::Cancelled => "cancelled",
        How::Unknown => "unknown",
    };
    let method = (one.how == How::Permitted).then(|| Json::text(Method::Permit2.as_str()));
    Json::object([
        ("v", Json::number(1)),
        ("kind", Json::text("recovered")),
        ("payer", payer.to_json()),
        ("network", token.network.to_json()),
        ("asset", token.asset.to_json()),
        ("nonce", Json::text(hex::encode(one.nonce))),
        ("event", Json::text(event)),
        ("amount", one.amount.to_json()),
        ("transaction", Json::text(hex::encode(one.transaction))),
        ("blockNumber", Json::number(one.block_number)),
        ("at", Json::number(one.at)),
        ("recoveredAt", Json::number(now)),
    ])
    .with_some("to", one.to.map(|to| to.to_json()))
    .with_some("method", method)
}

fn history(payer: &Address, token: &Token, ranges: &[(u64, u64)], now: Seconds) -> Json {
    let range =
        |(from, to): &(u64, u64)| Json::object([("from", Json::number(*from)), ("to", Json::number(*to))]);
    Json::object([
        ("v", Json::number(1)),
        ("kind", Json::text("history")),
        ("payer", payer.to_json()),
        ("network", token.network.to_json()),
        ("asset", token.asset.to_json()),
        ("blocks", Json::Array(ranges.iter().map(range).collect())),
        ("at", Json::number(now)),
    ])
}

fn ranges(json: &Json) -> Result<Vec<(u64, u64)>, Error> {
    let range = |json: &Json| Ok((json.read("from", Json::as_u64)?, json.read("to", Json::as_u64)?));
    json.read("blocks", |list| list.as_list(range))
}

/// Stretches that touch are one.
fn joined(mut ranges: Vec<(u64, u64)>, new: (u64, u64)) -> Vec<(u64, u64)> {
    ranges.push(new);
    sort_by(&mut ranges, |one, other| one.cmp(other));
    let mut whole: Vec<(u64, u64)> = Vec::new();
    for (from, to) in ranges {
        match whole.last_mut() {
            Some((_, end)) if from <= end.saturating_add(1) => *end = to.max(*end),
            _ => whole.push((from, to)),
        }
    }
    whole
}

/// The nonces that an intent's record holds, and the transactions that it knows to have paid it.
pub fn known(intent: &Intent) -> Vec<[u8; 32]> {
    let slots = intent.attempts.iter().flat_map(Attempt::slots);
    let nonces = slots.map(|slot| slot.authorization.nonce());
    let settled = intent.attempts.iter().filter_map(Attempt::settled_in);
    let parts = intent.attempts.iter().flat_map(|attempt| &attempt.parts);
    let settled = settled.chain(parts.filter_map(|part| part.transaction.clone()));
    let hashes = settled.filter_map(|hash| hex::decode_array(&hash).ok());
    nonces.chain(hashes).collect()
}
