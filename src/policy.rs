//! What the payer allows: which rail, which recipients, how much. No, yes, or ask.
//!
//! Amounts are summed per (network, asset) and never across. What is signed and not resolved counts as spent.

mod recipient;
mod spent;

use crate::address::Address;
use crate::amount::Amount;
use crate::authorization::Method;
use crate::drift::{Rule, Rules};
use crate::error::{Code, Error};
use crate::json::Json;
use crate::mpp::challenge::Challenge;
use crate::mpp::charge::Charge;
use crate::network::{Network, KNOWN_TOKENS};
use crate::quote::Protocol;
use crate::x402::payment_required::{Offer, PaymentRequired, Signing, Terms};
use spent::Cap;
pub use spent::{Spent, SpentState};

/// Longest window of an authorization when the policy names none, in seconds.
pub const DEFAULT_WINDOW: u64 = 600;
/// Signatures for one intent when the policy names no number.
pub const DEFAULT_ATTEMPTS: u64 = 3;

/// The most that the payer pays for the inclusion of one transaction when the policy names no number: five cents, what sponsors in the
/// field pay at most.
pub const DEFAULT_FEE: u64 = 50_000;

/// Longest window of a cap, in seconds: 400 days. What was spent is remembered that long.
pub const MAX_CAP_WINDOW: u64 = 400 * 86_400;

const MEMBERS: [&str; 13] = [
    "maxWindow",
    "perCall",
    "perIntentTree",
    "perWallet",
    "perRecipient",
    "attempts",
    "maxFee",
    "assets",
    "recipients",
    "approve",
    "approvers",
    "upto",
    "drift",
];

/// The payer's rules. Without a cap for one call and without an approval nothing is paid.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Policy {
    max_window: Option<u64>,
    per_call: Option<Amount>,
    per_intent_tree: Option<Amount>,
    per_wallet: Vec<Cap>,
    per_recipient: Vec<Cap>,
    attempts: Option<u64>,
    max_fee: Option<Amount>,
    assets: Option<Vec<(Network, Address)>>,
    recipients: Option<Vec<String>>,
    approve: bool,
    approvers: Vec<Address>,
    upto: bool,
    drift: Option<Rules>,
}

/// The policy's answer when it is not a refusal.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Decision {
    /// Within every cap.
    Allow,
    /// A person is to be asked.
    Ask {
        /// Why: `no_cap`, `over_cap`, `over_tree_cap`, `over_wallet_cap`, `over_recipient_cap`, `over_budget`, or the code of a drift.
        reason: String,
    },
}

impl Decision {
    /// `{decision: "allow"}` or `{decision: "ask", reason}`.
    pub fn to_json(&self) -> Json {
        match self {
            Decision::Allow => Json::object([("decision", Json::text("allow"))]),
            Decision::Ask { reason } => Json::object([
                ("decision", Json::text("ask")),
                ("reason", Json::text(reason.as_str())),
            ]),
        }
    }
}

/// What a 402 answer offers, by either protocol.
#[derive(Clone, Copy, Debug)]
pub struct Offers<'a> {
    /// The x402 price, when there is one.
    pub required: Option<&'a PaymentRequired>,
    /// The challenges of the Payment scheme.
    pub challenges: &'a [Challenge],
}

/// Which offer was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Chosen {
    /// An entry of the x402 price.
    Offer(usize),
    /// A challenge.
    Challenge(usize),
}

/// Where and how an earlier attempt pays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Pinned<'a> {
    /// Network.
    pub network: &'a Network,
    /// Token.
    pub asset: &'a Address,
    /// How the token is moved.
    pub method: Method,
    /// Which protocol carries it.
    pub protocol: Protocol,
}

impl Policy {
    /// The policy from JSON. A member that is not known is refused: a misspelt cap must not be no cap. Errors:
    /// `policy_invalid` (unknown member, zero where a positive number is meant, a cap's window above [`MAX_CAP_WINDOW`]), those of the values.
    pub fn from_json(json: &Json) -> Result<Self, Error> {
        let positive = |value: &Json| match value.as_u64()? {
            0 => Err(Error::new(Code::PolicyInvalid, "")),
            number => Ok(number),
        };
        if json
            .as_object()?
            .iter()
            .any(|(name, _)| !MEMBERS.contains(&name.as_str()))
        {
            return Err(Error::new(Code::PolicyInvalid, ""));
        }
        let rail = |entry: &Json| {
            Ok((
                entry.read("network", Network::from_json)?,
                entry.read("asset", Address::from_json)?,
            ))
        };
        let window = |value: &Json| match positive(value)? {
            window if window > MAX_CAP_WINDOW => Err(Error::new(Code::PolicyInvalid, "")),
            window => Ok(window),
        };
        let cap = |entry: &Json| {
            Ok(Cap {
                amount: entry.read("amount", Amount::from_json)?,
                window: entry.read("window", window)?,
            })
        };
        Ok(Policy {
            max_window: json.read_opt("maxWindow", positive)?,
            per_call: json.read_opt("perCall", Amount::from_json)?,
            per_intent_tree: json.read_opt("perIntentTree", Amount::from_json)?,
            per_wallet: json
                .read_opt("perWallet", |caps| caps.as_list(cap))?
                .unwrap_or_default(),
            per_recipient: json
                .read_opt("perRecipient", |caps| caps.as_list(cap))?
                .unwrap_or_default(),
            attempts: json.read_opt("attempts", positive)?,
            max_fee: json.read_opt("maxFee", Amount::from_json)?,
            assets: json.read_opt("assets", |assets| assets.as_list(rail))?,
            recipients: json.read_opt("recipients", |list| list.as_list(recipient::read))?,
            approve: json.read_opt("approve", Json::as_bool)?.unwrap_or(false),
            approvers: json
                .read_opt("approvers", |list| list.as_list(Address::from_json))?
                .unwrap_or_default(),
            upto: json.read_opt("upto", Json::as_bool)?.unwrap_or(false),
            drift: json.read_opt("drift", Rules::from_json)?,
        })
    }

    /// Longest window of an authorization, in seconds.
    pub fn max_window(&self) -> u64 {
        self.max_window.unwrap_or(DEFAULT_WINDOW)
    }

    /// What one call may cost at most, where no approval can raise it.
    pub fn cap(&self) -> Option<Amount> {
        self.per_call.filter(|_| !self.can_ask())
    }

    /// Whose signed approvals count. With nobody on the list the host's word does.
    pub fn approvers(&self) -> &[Address] {
        &self.approvers
    }

    /// Whether there is a person to ask at once. Else what has to be asked is written down, for whoever approves.
    pub fn asks_at_once(&self) -> bool {
        self.approve
    }

    /// What becomes of a call that drifts; nothing where the policy does not say.
    pub fn drift(&self) -> Option<Rules> {
        self.drift
    }

    /// To be asked about drift or refused for it, as the rule says. Error: `drift_refused`.
    pub fn ask_of(&self, rule: Rule, reason: Code, name: &str) -> Result<Decision, Error> {
        let field = format!("policy.drift.{name}");
        match rule {
            Rule::Ask => self.ask(reason.as_str(), Code::DriftRefused, &field),
            Rule::Refuse => Err(Error::new(Code::DriftRefused, field)),
        }
    }

    fn can_ask(&self) -> bool {
        self.approve || !self.approvers.is_empty()
    }

    /// The most that the payer pays for the inclusion of what these terms demand: `maxFee`, and no more than the cap for one call leaves
    /// beside the price. Nothing where somebody else includes it.
    fn fee(&self, terms: &Terms) -> Amount {
        match &terms.signing {
            Signing::Tempo(due) if !due.sponsored => {
                let most = self.max_fee.unwrap_or(Amount::from_u64(DEFAULT_FEE));
                let left = self.per_call.and_then(|cap| cap.checked_sub(terms.amount));
                left.map_or(most, |left| left.min(most))
            }
            _ => Amount::ZERO,
        }
    }

    /// Signatures allowed for one intent.
    pub fn attempts(&self) -> u64 {
        self.attempts.unwrap_or(DEFAULT_ATTEMPTS)
    }

    /// Chooses the offer to pay: the first rail of the policy's list (of the known tokens, when it has none) that is
    /// offered, whatever the seller's order; never a rail that is not on the list. Of one rail EIP-3009 comes first; Permit2
    /// only where the policy lists the token itself, and in version 2; scheme `upto` by Permit2 after it, and only where the policy
    /// says so; a Payment challenge last of all, for there the payer does not pick the nonce, and on Tempo only where the policy lists the
    /// token itself. A rail, method and protocol pinned by
    /// an earlier attempt leave no other choice. Errors in this order: `rail_changed` (the pinned rail is not offered), `unknown_asset` (an
    /// allowed network, another token), `no_supported_payment_option`, those of [`Offer::terms`],
    /// `split_unsupported` (version 1), `recipient_forbidden` of any recipient.
    pub fn choose(
        &self,
        offers: Offers,
        payer: &Address,
        pinned: Option<Pinned>,
    ) -> Result<(Chosen, Terms), Error> {
        let rails = self.rails();
        let accepts = offers.required.map_or([].as_slice(), |price| &price.offers);
        // An approval of Permit2 is for any spender it lets in: without a list of the payer's own it is not made use of.
        let permits = self.assets.is_some() && offers.required.is_some_and(|price| price.version == 2);
        let ways = [
            Some((Protocol::X402, Method::Eip3009, false)),
            permits.then_some((Protocol::X402, Method::Permit2, false)),
            (permits && self.upto).then_some((Protocol::X402, Method::Permit2, true)),
            Some((Protocol::Mpp, Method::Eip3009, false)),
            self.assets
                .is_some()
                .then_some((Protocol::Mpp, Method::Tempo, false)),
        ];
        let open = rails.iter().flat_map(|rail| {
            let ways = ways.iter().flatten();
            ways.map(move |way| (rail, *way))
        });
        let open = open.filter(|((network, asset), (protocol, method, _))| {
            let (protocol, method) = (*protocol, *method);
            let way = Pinned {
                network,
                asset,
                method,
                protocol,
            };
            pinned.is_none_or(|pinned| pinned == way)
        });
        for (rail, (protocol, method, upto)) in open {
            let found = match protocol {
                Protocol::X402 => first(accepts, |offer| {
                    let kind = (offer.method(), offer.is_upto()) == (Some(method), upto);
                    let here = kind && offer.rail().as_ref() == Some(rail);
                    here.then(|| offer.terms())
                }),
                Protocol::Mpp => first(offers.challenges, |challenge| {
                    let (way, there) = Charge::rail(challenge)?;
                    (way == method && there == *rail).then(|| Charge::terms(challenge))
                }),
            };
            if let Some((index, terms)) = found {
                let chosen = match protocol {
                    Protocol::X402 => Chosen::Offer(index),
                    Protocol::Mpp => Chosen::Challenge(index),
                };
                // Entries that can't be read are left out of the price: where it stands is told as the seller counts.
                let path = match (&chosen, offers.required) {
                    (Chosen::Offer(index), Some(price)) => {
                        format!("accepts[{}]", price.places.get(*index).unwrap_or(index))
                    }
                    _ => format!("challenges[{index}]"),
                };
                let within = |error: Error| error.within(&path);
                let terms = terms.map_err(within)?;
                let old = offers.required.is_some_and(|price| price.version != 2);
                if matches!(chosen, Chosen::Offer(_)) && terms.shares.len() > 1 && old {
                    return Err(within(Error::new(Code::SplitUnsupported, "extra.fee_split")));
                }
                return Ok((chosen, self.admit(terms, payer).map_err(within)?));
            }
        }
        let other_token = |rail: (Network, Address)| {
            rails.iter().any(|(network, _)| *network == rail.0) && !rails.contains(&rail)
        };
        let exact = |offer: &&Offer| offer.requirements.get("scheme") == Some(&Json::text("exact"));
        let mut rails_offered = accepts.iter().filter(exact).filter_map(Offer::rail).chain(
            offers
                .challenges
                .iter()
                .filter_map(Charge::rail)
                .map(|(_, rail)| rail),
        );
        let code = match pinned {
            Some(_) => Code::RailChanged,
            None if rails_offered.any(other_token) => Code::UnknownAsset,
            None => Code::NoSupportedOption,
        };
        Err(Error::new(code, "accepts"))
    }

    /// These terms with the most that their inclusion may cost, where the token and the recipients are the payer's to pay. Errors: `unknown_asset`,
    /// `recipient_forbidden`.
    pub fn admit(&self, terms: Terms, payer: &Address) -> Result<Terms, Error> {
        if !self.rails().contains(&(terms.network.clone(), terms.asset)) {
            return Err(Error::new(Code::UnknownAsset, "asset"));
        }
        recipient::check(&terms, payer, self.recipients.as_deref())?;
        Ok(Terms {
            fee: self.fee(&terms),
            ..terms
        })
    }

    /// Decides whether these terms may be signed now, given what the wallet spent. An amount of zero is within any cap.
    /// Errors: `policy_missing` (neither `perCall` nor anybody to ask), `over_cap`, `over_wallet_cap` and `over_recipient_cap` (nobody
    /// to ask).
    pub fn decide(&self, terms: &Terms, spent: &[Spent], now: u64) -> Result<Decision, Error> {
        match self.per_call {
            None if !self.can_ask() => return Err(Error::new(Code::PolicyMissing, "policy.perCall")),
            None => return self.ask("no_cap", Code::OverCap, "policy.perCall"),
            Some(cap) if terms.cost() > cap => return self.ask("over_cap", Code::OverCap, "policy.perCall"),
            Some(_) => {}
        }
        for (index, cap) in self.per_wallet.iter().enumerate() {
            let counted = spent.iter().filter(|entry| cap.counts(entry, now));
            if passes(cap.amount, terms, counted) {
                let field = format!("policy.perWallet[{index}]");
                return self.ask("over_wallet_cap", Code::OverWalletCap, &field);
            }
        }
        for (index, cap) in self.per_recipient.iter().enumerate() {
            if terms
                .shares
                .iter()
                .any(|share| cap.is_passed_by(share.to, terms, spent, now))
            {
                let field = format!("policy.perRecipient[{index}]");
                return self.ask("over_recipient_cap", Code::OverRecipientCap, &field);
            }
        }
        Ok(Decision::Allow)
    }

    /// Decides on the cap of an intent and its descendants, given everything that tree spent at any time. Error:
    /// `over_cap` (no `approve` to ask).
    pub fn decide_tree(&self, terms: &Terms, tree: &[Spent]) -> Result<Decision, Error> {
        match self.per_intent_tree {
            Some(cap) if passes(cap, terms, tree.iter()) => {
                self.ask("over_tree_cap", Code::OverCap, "policy.perIntentTree")
            }
            _ => Ok(Decision::Allow),
        }
    }

    /// To be asked, where there is somebody to ask; else the error.
    pub fn ask(&self, reason: &str, code: Code, field: &str) -> Result<Decision, Error> {
        match self.can_ask() {
            true => Ok(Decision::Ask {
                reason: reason.to_owned(),
            }),
            false => Err(Error::new(code, field)),
        }
    }

    fn rails(&self) -> Vec<(Network, Address)> {
        let pinned = || {
            let read = |network: &str, asset: &str| {
                Some((Network::parse(network).ok()?, Address::parse(asset).ok()?))
            };
            KNOWN_TOKENS
                .iter()
                .filter_map(|token| read(token.network, token.asset))
                .collect()
        };
        self.assets.clone().unwrap_or_else(pinned)
    }
}

/// The first offer that is on the rail and of a supported kind, and its terms. One of the right kind whose terms are wrong ends
/// the search: a seller must not steer the choice by breaking its first entry.
fn first<T>(
    offers: &[T],
    terms: impl Fn(&T) -> Option<Result<Terms, Error>>,
) -> Option<(usize, Result<Terms, Error>)> {
    offers
        .iter()
        .enumerate()
        .filter_map(|(index, offer)| Some((index, terms(offer)?)))
        .find(|(_, terms)| !matches!(terms, Err(error) if error.code == Code::NoSupportedOption))
}

/// Whether these terms and what was spent on the same rail pass the cap. A sum that overflows does.
pub fn passes<'a>(cap: Amount, terms: &Terms, spent: impl Iterator<Item = &'a Spent>) -> bool {
    spent
        .filter(|entry| entry.is_on(terms))
        .try_fold(terms.cost(), |sum, entry| sum.checked_add(entry.amount))
        .is_none_or(|sum| sum > cap)
}
