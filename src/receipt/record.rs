//! The intent records of a bundle, read strictly, and whether a record contradicts itself.

use super::bundle::invalid;
use crate::address::Address;
use crate::amount::Amount;
use crate::attempt::{is_not_final, MAX_PARTS};
use crate::authorization::{Authorization, Method};
use crate::error::{Code, Error};
use crate::evidence::{self, Context, VerdictKind};
use crate::fingerprint::Request;
use crate::hex;
use crate::json::Json;
use crate::mpp::{self, receipt::Receipt};
use crate::network::Network;
use crate::quote::{Offered, Protocol};
use crate::x402::settlement_response::{self, SettlementResponse};

/// One purpose and everything that was done for it.
pub(crate) struct Record<'a> {
    pub intent_id: &'a str,
    pub principal: Address,
    pub id: Option<&'a str>,
    pub scope: &'a str,
    pub parent: Option<&'a str>,
    pub occurrence: u64,
    pub request: Request,
    pub fingerprint: [u8; 32],
    pub status: &'a str,
    pub keyed: bool,
    /// The payer says that it is a contract.
    pub contract_wallet: bool,
    pub quotes: Vec<Quote<'a>>,
    pub attempts: Vec<Attempt<'a>>,
    pub delivery: Option<Delivery<'a>>,
    generation: u64,
    rail: Option<Rail>,
    claim: Option<Claim<'a>>,
}

/// What the first attempt fixed.
struct Rail {
    network: Network,
    asset: Address,
    payer: Address,
    method: Method,
    protocol: Protocol,
}

/// A frozen offer.
pub(crate) struct Quote<'a> {
    pub hash: [u8; 32],
    pub requirements: &'a Json,
    /// With the rest of the price, without its other offers.
    pub offered: Offered,
}

/// A signed authorization and what came of it.
pub(crate) struct Attempt<'a> {
    pub id: &'a str,
    pub quote_hash: [u8; 32],
    pub payment_id: Option<&'a str>,
    pub generation: u64,
    pub authorization: Authorization,
    pub signature: Option<&'a str>,
    pub header: Option<(&'a str, &'a str)>,
    pub settlement: Option<&'a str>,
    pub receipt: Option<Receipt>,
    pub transaction: Option<&'a str>,
    pub state: &'a str,
    pub observed: Vec<Observation<'a>>,
    pub evidence: &'a [Json],
    /// The further authorizations of a split payment, from index 1: what is this attempt's is theirs too.
    pub parts: Vec<Attempt<'a>>,
    /// Signed by another actor, whose journal has its bytes.
    pub given: bool,
    /// The last read was of a block that can still be replaced.
    pub provisional: bool,
    verdict: Option<(&'a str, Option<&'a str>)>,
}

/// What one send brought back.
pub(crate) struct Observation<'a> {
    pub outcome: &'a str,
    pub transaction: Option<&'a str>,
    status: Option<u64>,
}

/// The answer, as it was recorded.
pub(crate) struct Delivery<'a> {
    pub sha256: [u8; 32],
    pub length: u64,
    pub body: Option<&'a str>,
    attempt_id: &'a str,
    status: u64,
    settlement: Option<&'a str>,
}

struct Claim<'a> {
    intent_id: &'a str,
    quote_hash: [u8; 32],
    transaction: Option<&'a str>,
    sha256: Option<[u8; 32]>,
}

/// The payer and the records. Errors: `receipt_invalid` (type, kind, a state that is not known), `unsupported_version`, those of
/// the fields with their path.
pub(crate) fn bundle(json: &Json) -> Result<(Address, Vec<Record<'_>>), Error> {
    known(json, "type", &["counterfoil/bundle"])?;
    version(json)?;
    Ok((
        json.read("payer", Address::from_json)?,
        json.read("intents", |list| list.as_list(record))?,
    ))
}

fn version(json: &Json) -> Result<(), Error> {
    match json.read("v", Json::as_u64)? {
        1 => Ok(()),
        _ => Err(Error::new(Code::UnsupportedVersion, "v")),
    }
}

fn known<'a>(json: &'a Json, name: &str, texts: &[&str]) -> Result<&'a str, Error> {
    let text = json.read(name, Json::as_str)?;
    texts.contains(&text).then_some(text).ok_or_else(|| invalid(name))
}

fn word(json: &Json) -> Result<[u8; 32], Error> {
    hex::decode_array(json.as_str()?)
}

fn record(json: &Json) -> Result<Record<'_>, Error> {
    let split = |attempt: &Json| attempt.get("parts").is_some();
    let attempts = json.read("attempts", Json::as_array)?;
    let quotes = json.read("quotes", |list| list.as_list(quote))?;
    let dictated = quotes.iter().any(|quote| quote.offered.challenge().is_some());
    match (
        json.read("v", Json::as_u64)?,
        dictated || attempts.iter().any(split),
    ) {
        (1, false) | (2, true) => {}
        _ => return Err(Error::new(Code::UnsupportedVersion, "v")),
    }
    known(json, "kind", &["intent"])?;
    Ok(Record {
        intent_id: json.read("intentId", Json::as_str)?,
        principal: json.read("principal", Address::from_json)?,
        id: json.read_opt("id", Json::as_str)?,
        scope: json.read("scope", Json::as_str)?,
        parent: json.read_opt("parent", Json::as_str)?,
        occurrence: json.read("occurrence", Json::as_u64)?,
        request: json.read("request", Request::from_json)?,
        fingerprint: json.read("request", |request| request.read("fingerprint", word))?,
        status: known(
            json,
            "status",
            &["open", "delivered", "paid_not_delivered", "released"],
        )?,
        rail: json.read_opt("rail", rail)?,
        generation: json.read("generation", Json::as_u64)?,
        keyed: json.read("keyed", Json::as_bool)?,
        contract_wallet: json.read_opt("contractWallet", Json::as_bool)?.unwrap_or(false),
        quotes,
        attempts: json.read("attempts", |list| list.as_list(attempt))?,
        delivery: json.read_opt("delivery", delivery)?,
        claim: json.read_opt("claim", claim)?,
    })
}

fn rail(json: &Json) -> Result<Rail, Error> {
    known(json, "method", &["eip3009", "permit2"])?;
    Ok(Rail {
        method: json.read("method", Method::from_json)?,
        protocol: json
            .read_opt("protocol", Protocol::from_json)?
            .unwrap_or(Protocol::X402),
        network: json.read("network", Network::from_json)?,
        asset: json.read("asset", Address::from_json)?,
        payer: json.read("payer", Address::from_json)?,
    })
}

fn quote(json: &Json) -> Result<Quote<'_>, Error> {
    let requirements = json.require("requirements")?;
    Ok(Quote {
        hash: json.read("quoteHash", word)?,
        requirements,
        offered: json.read("required", |required| Offered::read(required, requirements))?,
    })
}

fn attempt(json: &Json) -> Result<Attempt<'_>, Error> {
    let header = |header: &'_ Json| -> Result<_, Error> {
        Ok((
            header.read("name", Json::as_string)?,
            header.read("value", Json::as_string)?,
        ))
    };
    json.read_opt("header", header)?;
    let parts = json.read_opt("parts", Json::as_array)?.unwrap_or_default();
    if parts.len() >= MAX_PARTS {
        return Err(invalid("parts"));
    }
    let parts = parts.iter().enumerate().map(|(index, part)| {
        let within = |error: Error| error.within(&format!("parts[{index}]"));
        of(json, part).map_err(within)
    });
    Ok(Attempt {
        parts: parts.collect::<Result<_, _>>()?,
        ..of(json, json)?
    })
}

/// The attempt with this one of its authorizations.
fn of<'a>(json: &'a Json, signed: &'a Json) -> Result<Attempt<'a>, Error> {
    let header = |name: &str| {
        json.get("header")
            .and_then(|header| header.get(name)?.as_str().ok())
    };
    let verdict = signed.read_opt("verdict", |verdict| {
        Ok((
            known(verdict, "verdict", VERDICTS)?,
            verdict.read_opt("transaction", transaction)?,
        ))
    })?;
    Ok(Attempt {
        parts: Vec::new(),
        id: json.read("attemptId", Json::as_str)?,
        quote_hash: json.read("quoteHash", word)?,
        payment_id: json.read_opt("paymentId", Json::as_str)?,
        generation: json.read("generation", Json::as_u64)?,
        authorization: Authorization::read(signed)?,
        signature: signed.read_opt("signature", Json::as_str)?,
        header: header("name").zip(header("value")),
        settlement: json.read_opt("settlement", Json::as_str)?,
        receipt: json.read_opt("receipt", |value| mpp::receipt::parse(value.as_str()?))?,
        transaction: signed.read_opt("transaction", transaction)?,
        state: known(
            json,
            "state",
            &[
                "planned",
                "signed",
                "sent",
                "paid",
                "dead",
                "cancelled",
                "wrong_terms",
                "partly_paid",
            ],
        )?,
        observed: json
            .read_opt("observations", |list| list.as_list(observation))?
            .unwrap_or_default(),
        verdict,
        provisional: signed.get("verdict").is_some_and(is_not_final),
        evidence: signed.read_opt("evidence", Json::as_array)?.unwrap_or_default(),
        given: json.read_opt("givenBy", Json::as_str)?.is_some(),
    })
}

const VERDICTS: &[&str] = &[
    "not_yet",
    "dead",
    "paid",
    "paid_wrong_terms",
    "cancelled",
    "used_or_cancelled",
    "unreadable",
];

fn transaction(json: &Json) -> Result<&str, Error> {
    let text = json.as_str()?;
    hex::decode_array::<32>(text).map(|_| text)
}

fn observation(json: &Json) -> Result<Observation<'_>, Error> {
    const OUTCOMES: &[&str] = &[
        "settled",
        "delivered",
        "rejected",
        "in_flight",
        "conflict",
        "unknown",
    ];
    Ok(Observation {
        status: json.read_opt("status", Json::as_u64)?,
        outcome: known(json, "outcome", OUTCOMES)?,
        transaction: json.read_opt("transaction", Json::as_str)?,
    })
}

fn delivery(json: &Json) -> Result<Delivery<'_>, Error> {
    let headers = json.read("headers", Json::as_object)?;
    let named = |name: &str| {
        ["payment-response", "x-payment-response"]
            .iter()
            .any(|known| known.eq_ignore_ascii_case(name))
    };
    Ok(Delivery {
        attempt_id: json.read("attemptId", Json::as_str)?,
        status: json.read("status", Json::as_u64)?,
        sha256: json.read("sha256", word)?,
        length: json.read("length", Json::as_u64)?,
        body: json.read_opt("body", Json::as_str)?,
        settlement: headers
            .iter()
            .find(|(name, _)| named(name))
            .and_then(|(_, value)| value.as_str().ok()),
    })
}

fn claim(json: &Json) -> Result<Claim<'_>, Error> {
    Ok(Claim {
        intent_id: json.read("intentId", Json::as_str)?,
        quote_hash: json.read("quoteHash", word)?,
        transaction: json.read_opt("transaction", transaction)?,
        sha256: json.read_opt("sha256", word)?,
    })
}

/// Chain, token and way of a signed payment.
fn rail_of(signed: &Authorization) -> (u64, Address, Method) {
    (signed.chain_id(), signed.asset(), signed.method())
}

impl Record<'_> {
    /// The attempt that counts: the one that was answered, else the one that was paid, else the last.
    pub fn paying(&self) -> Option<usize> {
        let answered = self.delivery.as_ref().map(|delivery| delivery.attempt_id);
        let at = |one: &dyn Fn(&Attempt) -> bool| self.attempts.iter().position(one);
        at(&|attempt| answered == Some(attempt.id))
            .or_else(|| at(&|attempt| attempt.state == "paid"))
            .or_else(|| self.attempts.len().checked_sub(1))
    }

    /// Whether the record says that money moved.
    pub fn claims_paid(&self) -> bool {
        matches!(self.status, "delivered" | "paid_not_delivered")
            || self.claim.is_some()
            || self
                .attempts
                .iter()
                .any(|one| one.state == "paid" || one.settlement.is_some() || one.receipt.is_some())
    }

    /// Whether a claim is held: paid, not delivered.
    pub fn holds_claim(&self) -> bool {
        self.claim.is_some() || self.status == "paid_not_delivered"
    }

    /// Every authorization: each part of a split payment for itself.
    pub fn slots(&self) -> impl Iterator<Item = &Attempt<'_>> {
        self.attempts.iter().flat_map(Attempt::slots)
    }

    /// The first thing in which the record contradicts itself.
    pub fn contradiction(&self, settlement: Option<&SettlementResponse>) -> Option<&'static str> {
        let rules: [(&'static str, bool); 12] = [
            (
                "An explicit id has no occurrences.",
                self.id.is_none() || self.occurrence == 0,
            ),
            ("The rail is not the one that was signed for.", self.on_rail()),
            ("The attempts are not numbered in order.", self.numbered()),
            ("A generation does not fit the nonces.", self.generations()),
            (
                "A sent attempt has no signature or header.",
                self.attempts.iter().all(Attempt::complete),
            ),
            (
                "Status and answer contradict each other.",
                (self.status == "delivered") == self.delivery.is_some(),
            ),
            ("The answer belongs to no live attempt.", self.answered()),
            (
                "The answer's settlement is not the attempt's.",
                self.same_settlement(settlement),
            ),
            ("Status and claim contradict each other.", self.claimable()),
            (
                "The claim is about something else.",
                self.claim.as_ref().is_none_or(|claim| self.claims(claim)),
            ),
            ("The transactions differ.", self.one_transaction(settlement)),
            (
                "The recorded reads do not give the recorded verdict.",
                self.slots().all(|one| self.read(one)),
            ),
        ];
        rules.into_iter().find(|(_, holds)| !holds).map(|(why, _)| why)
    }

    fn on_rail(&self) -> bool {
        let Some(rail) = &self.rail else {
            return self.attempts.is_empty();
        };
        let pinned = |attempt: &Attempt| {
            attempt
                .slots()
                .map(|one| rail_of(&one.authorization))
                .all(|signed| {
                    (rail.network.chain_id(), rail.asset, rail.method) == (Some(signed.0), signed.1, signed.2)
                })
        };
        // Once every authorization was void, another protocol or another rail may have carried the next.
        let last = self.attempts.last().and_then(|last| self.protocol(last));
        last.is_none_or(|last| last == rail.protocol)
            && rail.payer == self.principal
            && self.attempts.last().is_none_or(pinned)
            && self
                .attempts
                .iter()
                .all(|attempt| attempt.is_void() || pinned(attempt))
    }

    fn numbered(&self) -> bool {
        let ids = (0..).map(|number: u64| format!("{}/{number}", self.intent_id));
        self.attempts
            .iter()
            .zip(ids)
            .all(|(attempt, id)| attempt.id == id)
    }

    /// The offer that an attempt pays.
    pub fn quote_of(&self, attempt: &Attempt) -> Option<&Quote<'_>> {
        self.quotes.iter().find(|quote| quote.hash == attempt.quote_hash)
    }

    fn protocol(&self, attempt: &Attempt) -> Option<Protocol> {
        self.quote_of(attempt).map(|quote| quote.offered.protocol())
    }

    /// One nonce for each generation where the payer picks it; a challenge brings its own, and then every one before is void. And the record's generation is the last one or the one after a cancelled one.
    fn generations(&self) -> bool {
        let one_nonce = self
            .attempts
            .iter()
            .zip(self.attempts.iter().skip(1))
            .all(|(before, after)| {
                // Another rail has nonces and generations of its own.
                let rail = |one: &Attempt| (rail_of(&one.authorization), self.protocol(one));
                if rail(before) != rail(after) {
                    return before.is_void();
                }
                let same = before.authorization.nonce() == after.authorization.nonce();
                let dictated = [before, after]
                    .map(|one| self.protocol(one))
                    .contains(&Some(Protocol::Mpp));
                let fits = match dictated {
                    true => same || before.is_void(),
                    false => (before.generation == after.generation) == same,
                };
                before.generation <= after.generation && fits
            });
        one_nonce
            && self.attempts.last().is_none_or(|last| {
                let next = last.state == "cancelled" && self.generation == last.generation + 1;
                next || self.generation == last.generation
            })
    }

    fn answered(&self) -> bool {
        self.delivery.as_ref().is_none_or(|delivery| {
            let at = self.attempts.iter().find(|one| one.id == delivery.attempt_id);
            at.is_some_and(|attempt| {
                attempt.header.is_some()
                    && !matches!(attempt.state, "planned" | "signed" | "dead" | "cancelled")
                    && attempt
                        .observed
                        .iter()
                        .any(|seen| seen.status == Some(delivery.status))
            })
        })
    }

    /// The seller may word its response anew when it answers again; what it says must stay.
    fn same_settlement(&self, settlement: Option<&SettlementResponse>) -> bool {
        let header = self.delivery.as_ref().and_then(|delivery| delivery.settlement);
        let (Some(header), Some(one)) = (header, settlement) else {
            return true;
        };
        settlement_response::parse(header).is_ok_and(|other| {
            (
                one.success,
                one.transaction_hash(),
                &one.network,
                one.payer,
                one.amount,
            ) == (
                other.success,
                other.transaction_hash(),
                &other.network,
                other.payer,
                other.amount,
            )
        })
    }

    fn claimable(&self) -> bool {
        self.claim.is_none() || matches!(self.status, "paid_not_delivered" | "released")
    }

    fn claims(&self, claim: &Claim) -> bool {
        let delivered = self.delivery.as_ref().map(|delivery| delivery.sha256);
        let named = self.attempts.iter().filter_map(|one| one.transaction);
        claim.intent_id == self.intent_id
            && (self.attempts.is_empty() || self.quotes.iter().any(|quote| quote.hash == claim.quote_hash))
            && claim
                .sha256
                .is_none_or(|hash| delivered.is_none_or(|delivered| delivered == hash))
            && claim
                .transaction
                .is_none_or(|hash| named.clone().count() == 0 || named.clone().any(|one| one == hash))
    }

    /// The attempt that counts, what the seller said of it and what was read of it name one transaction.
    fn one_transaction(&self, settlement: Option<&SettlementResponse>) -> bool {
        let Some(attempt) = self.paying().and_then(|at| self.attempts.get(at)) else {
            return true;
        };
        let said = settlement.and_then(SettlementResponse::transaction_hash);
        let said = said.or(attempt.receipt.as_ref().and_then(Receipt::transaction));
        let Some(one) = attempt.transaction.or(said.as_deref()) else {
            return true;
        };
        let same = |other: &str| other.eq_ignore_ascii_case(one);
        let successes = attempt
            .observed
            .iter()
            .filter(|seen| matches!(seen.outcome, "settled" | "delivered"));
        said.as_deref().is_none_or(same) && successes.filter_map(|seen| seen.transaction).all(same)
    }

    /// A recorded `paid` follows from the recorded reads, where those were kept.
    fn read(&self, attempt: &Attempt) -> bool {
        let Some(("paid", transaction)) = attempt.verdict else {
            return true;
        };
        let Some(rail) = &self.rail else {
            return false;
        };
        if attempt.evidence.is_empty() {
            return true;
        }
        let nonce = attempt.authorization.nonce();
        let siblings: Vec<_> = self
            .slots()
            .filter(|one| one.authorization.nonce() == nonce)
            .map(|one| one.authorization.clone())
            .collect();
        let context = Context::new(rail.network.clone(), rail.asset);
        let verdict = evidence::resolve_signed(&siblings, &context, attempt.evidence);
        verdict.verdict == VerdictKind::Paid && verdict.transaction.as_deref() == transaction
    }
}

impl<'a> Attempt<'a> {
    /// Its authorizations in the order of the nonces' index.
    pub fn slots(&self) -> impl Iterator<Item = &Attempt<'a>> {
        core::iter::once(self).chain(&self.parts)
    }

    /// What all its authorizations move together. A sum that overflows is the largest number there is.
    pub fn value(&self) -> Amount {
        self.slots()
            .try_fold(Amount::ZERO, |sum, one| {
                sum.checked_add(one.authorization.value())
            })
            .unwrap_or(Amount::from_be_bytes([0xff; 32]))
    }

    /// What the last read of this authorization says.
    pub fn verdict(&self) -> Option<&'a str> {
        self.verdict.map(|(verdict, _)| verdict)
    }

    /// The network that was signed for. Error: `network_invalid`.
    pub fn network(&self) -> Result<Network, Error> {
        self.authorization.network()
    }

    /// Whether the journal calls it proven never to land.
    pub fn is_void(&self) -> bool {
        matches!(self.state, "dead" | "cancelled")
    }

    fn complete(&self) -> bool {
        match self.state {
            "planned" | "dead" | "cancelled" => true,
            "signed" => self.signature.is_some(),
            "partly_paid" if self.parts.is_empty() => false,
            _ if self.given => true,
            _ => self.slots().all(|one| one.signature.is_some()) && self.header.is_some(),
        }
    }
}
