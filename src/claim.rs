//! A claim: the payer's signed word that a request was paid for and its answer never came, with what shows the payment.
//!
//! One JSON object with exactly one text, RFC 8785. The payer signs the EIP-712 message `Claim(address payer,string
//! intentId,bytes32 quoteHash,string statement,bytes32 body)` in the domain `{name: "counterfoil claim", version: "1", chainId}`;
//! `body` is the digest of the whole object without its signature. docs/formats.md has it member by member.

mod timeline;

pub use timeline::{Event, What};

use alloy_primitives::keccak256;

use crate::address::Address;
use crate::amount::Amount;
use crate::digest;
use crate::eip3009::Authorization;
use crate::eip712::{self, Domain};
use crate::error::{Code, Error};
use crate::evidence::{self, Context, Verdict, VerdictKind};
use crate::fingerprint::Request;
use crate::hex;
use crate::json::{self, Json};
use crate::network::Network;
use crate::secp256k1;
use crate::time::Seconds;

/// The kind of document.
pub const TYPE: &str = "counterfoil/claim";
/// Domain tag of what is signed.
pub const TAG: &str = "counterfoil/claim/v1";
/// Domain tag of the hash that stands for the payment id.
pub const PAYMENT_ID_TAG: &str = "counterfoil/claim-payment-id/v1";
/// What the payer says, and sees when asked to sign.
pub const STATEMENT: &str = "I paid for this request as shown and have not received its answer.";

const DOMAIN_NAME: &str = "counterfoil claim";
const DOMAIN_VERSION: &str = "1";

/// The authorization that paid, as it was signed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Signed {
    /// Its place among the attempts of the time line.
    pub attempt: u64,
    /// What was signed.
    pub authorization: Authorization,
    /// Domain of the token.
    pub domain: Domain,
    /// Its EIP-712 digest.
    pub digest: [u8; 32],
    /// The payer's signature.
    pub signature: String,
}

/// What the payer says.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Statement {
    /// `paid_not_delivered`, or `released` once the purchase was closed.
    pub status: String,
    /// Why the answer could not be had: `answer_not_had`, `past_retention`, `conflict`, `history_lost` or `released`.
    pub why: String,
    /// Why it was released, in the payer's words.
    pub reason: Option<String>,
}

/// A claim without its signature.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Claim {
    /// When it was made, by the payer's clock.
    pub at: Seconds,
    /// The intent.
    pub intent_id: String,
    /// What was asked for.
    pub request: Request,
    /// The request's digest, as the claim names it.
    pub fingerprint: [u8; 32],
    /// [`crate::quote::quote_hash`] of the offer that was paid.
    pub quote_hash: [u8; 32],
    /// That offer as it came.
    pub requirements: Json,
    /// Who paid.
    pub payer: Address,
    /// To whom.
    pub pay_to: Address,
    /// Atomic units.
    pub amount: Amount,
    /// The token.
    pub asset: Address,
    /// The chain.
    pub network: Network,
    /// The place in the token contract that the payment took.
    pub nonce: [u8; 32],
    /// Generation of the nonce.
    pub generation: u64,
    /// The nonce is keyed with the payer's secret and can't be derived from the intent alone.
    pub keyed: bool,
    /// [`payment_id_hash`], where the payment had an id.
    pub payment_id_hash: Option<[u8; 32]>,
    /// Absent where the payer's journal was lost and the chain alone told of the payment.
    pub signed: Option<Signed>,
    /// The transaction that paid.
    pub transaction: Option<String>,
    /// The payment was only seen in a block that can still be replaced; `final: false` in the file.
    pub provisional: bool,
    /// What the seller said about the settlement, as it came.
    pub settlement: Option<String>,
    /// The payer's own reads of the chain.
    pub evidence: Vec<Json>,
    /// SHA-256 of the answer, where it is known which answer is missing.
    pub response_sha256: Option<[u8; 32]>,
    /// What happened, in order.
    pub timeline: Vec<Event>,
    /// What the payer says.
    pub statement: Statement,
}

/// What stands for a payment id in a claim: a hash. Whoever holds the id, as the seller does, can check it; whoever reads the
/// claim does not learn the id. Error: `number_out_of_range`, never for a text.
pub fn payment_id_hash(id: &str) -> Result<[u8; 32], Error> {
    digest::tagged(PAYMENT_ID_TAG, &Json::object([("paymentId", Json::text(id))]))
}

/// Keccak-256 of the exact bytes of a file: what a feedback or a validation on chain points at.
pub fn file_hash(text: &str) -> [u8; 32] {
    keccak256(text).0
}

fn invalid(field: &str) -> Error {
    Error::new(Code::ReceiptInvalid, field)
}

fn word(json: &Json) -> Result<[u8; 32], Error> {
    hex::decode_array(json.as_str()?)
}

fn encoded(bytes: &[u8; 32]) -> Json {
    Json::text(hex::encode(bytes))
}

impl Claim {
    /// Reads a claim and its signature. Errors: `receipt_invalid` (another type, a member that is not known or not in its one form),
    /// `unsupported_version`, those of the fields with their path.
    pub fn from_json(file: &Json) -> Result<(Claim, String), Error> {
        if file.read("type", Json::as_str)? != TYPE {
            return Err(invalid("type"));
        }
        if file.read("v", Json::as_u64)? != 1 {
            return Err(Error::new(Code::UnsupportedVersion, "v"));
        }
        let claim = Claim::unsigned(file)?;
        let signature = file.read("signature", Json::as_string)?;
        // One claim has one text: nothing stands in it that is not read, and nothing in two forms.
        let whole = claim.file(&signature)?;
        let given = file.to_canonical()?;
        (whole == given).then_some((claim, signature)).ok_or(invalid(""))
    }

    /// Reads the members beside type, version and signature. Errors: those of the fields with their path.
    pub fn unsigned(json: &Json) -> Result<Claim, Error> {
        let transaction = |json: &Json| word(json).map(hex::encode);
        Ok(Claim {
            at: json.read("at", Json::as_u64)?,
            intent_id: json.read("intentId", Json::as_string)?,
            request: json.read("request", Request::from_json)?,
            fingerprint: json.read("request", |request| request.read("fingerprint", word))?,
            quote_hash: json.read("quoteHash", word)?,
            requirements: json.require("requirements")?.clone(),
            payer: json.read("payer", Address::from_json)?,
            pay_to: json.read("payTo", Address::from_json)?,
            amount: json.read("amount", Amount::from_json)?,
            asset: json.read("asset", Address::from_json)?,
            network: json.read("network", |name| {
                Network::from_json(name).and_then(|network| {
                    network
                        .chain_id()
                        .map(|_| network)
                        .ok_or_else(|| Error::new(Code::NetworkInvalid, ""))
                })
            })?,
            nonce: json.read("nonce", word)?,
            generation: json.read("generation", Json::as_u64)?,
            keyed: json.read("keyed", Json::as_bool)?,
            payment_id_hash: json.read_opt("paymentIdHash", word)?,
            signed: json.read_opt("authorization", Signed::from_json)?,
            transaction: json.read_opt("transaction", transaction)?,
            provisional: json.read_opt("final", Json::as_bool)? == Some(false),
            settlement: json.read_opt("settlement", Json::as_string)?,
            evidence: json.read("evidence", Json::as_array)?.to_vec(),
            response_sha256: json.read_opt("responseSha256", word)?,
            timeline: json.read("timeline", |list| list.as_list(Event::from_json))?,
            statement: json.read("statement", Statement::from_json)?,
        })
    }

    /// The object that is hashed. `proof_of_payment` has the four keys under which feedback files of ERC-8004 name a payment.
    pub fn to_json(&self) -> Json {
        let request = self
            .request
            .to_json()
            .with("fingerprint", encoded(&self.fingerprint));
        Json::object([
            ("type", Json::text(TYPE)),
            ("v", Json::number(1)),
            ("at", Json::number(self.at)),
            ("intentId", Json::text(self.intent_id.as_str())),
            ("request", request),
            ("quoteHash", encoded(&self.quote_hash)),
            ("requirements", self.requirements.clone()),
            ("payer", self.payer.to_json()),
            ("payTo", self.pay_to.to_json()),
            ("amount", self.amount.to_json()),
            ("asset", self.asset.to_json()),
            ("network", self.network.to_json()),
            ("nonce", encoded(&self.nonce)),
            ("generation", Json::number(self.generation)),
            ("keyed", Json::Bool(self.keyed)),
            ("evidence", Json::Array(self.evidence.clone())),
            (
                "responseSha256",
                self.response_sha256.as_ref().map_or(Json::Null, encoded),
            ),
            (
                "timeline",
                Json::Array(self.timeline.iter().map(Event::to_json).collect()),
            ),
            ("statement", self.statement.to_json()),
        ])
        .with_some("paymentIdHash", self.payment_id_hash.as_ref().map(encoded))
        .with_some("authorization", self.signed.as_ref().map(Signed::to_json))
        .with_some("transaction", self.transaction.as_deref().map(Json::text))
        .with_some("final", self.provisional.then_some(Json::Bool(false)))
        .with_some("settlement", self.settlement.as_deref().map(Json::text))
        .with_some("proof_of_payment", self.proof_of_payment())
    }

    fn proof_of_payment(&self) -> Option<Json> {
        let chain_id = self.network.chain_id()?;
        Some(Json::object([
            ("fromAddress", self.payer.to_json()),
            ("toAddress", self.pay_to.to_json()),
            ("chainId", Json::text(chain_id.to_string())),
            ("txHash", Json::text(self.transaction.as_deref()?)),
        ]))
    }

    /// The exact text of the file with this signature.
    pub fn file(&self, signature: &str) -> Result<String, Error> {
        self.to_json()
            .with("signature", Json::text(signature))
            .to_canonical()
    }

    /// The member `body` of what is signed: the tag, a line feed, and the text of the object without its signature.
    pub fn body(&self) -> Result<[u8; 32], Error> {
        digest::tagged(TAG, &self.to_json())
    }

    /// The EIP-712 digest that the payer signs. Error: `network_invalid`.
    pub fn digest(&self) -> Result<[u8; 32], Error> {
        match self.network.chain_id() {
            Some(_) => eip712::hash_typed_data(&self.typed_data()?),
            None => Err(Error::new(Code::NetworkInvalid, "network")),
        }
    }

    /// The whole EIP-712 document, for signers outside.
    pub fn typed_data(&self) -> Result<Json, Error> {
        let domain_type = [("name", "string"), ("version", "string"), ("chainId", "uint256")];
        let own = eip712::fields(&[
            ("payer", "address"),
            ("intentId", "string"),
            ("quoteHash", "bytes32"),
            ("statement", "string"),
            ("body", "bytes32"),
        ]);
        let types = Json::object([("EIP712Domain", eip712::fields(&domain_type)), ("Claim", own)]);
        let domain = Json::object([
            ("name", Json::text(DOMAIN_NAME)),
            ("version", Json::text(DOMAIN_VERSION)),
        ])
        .with_some("chainId", self.network.chain_id().map(Json::number));
        let message = Json::object([
            ("payer", self.payer.to_json()),
            ("intentId", Json::text(self.intent_id.as_str())),
            ("quoteHash", encoded(&self.quote_hash)),
            ("statement", Json::text(STATEMENT)),
            ("body", encoded(&self.body()?)),
        ]);
        Ok(eip712::document(domain, types, "Claim", message))
    }

    /// Who signed it. Errors: `contract_signature`, `signature_invalid`, those of [`Claim::digest`].
    pub fn recover(&self, signature: &str) -> Result<Address, Error> {
        let signature = secp256k1::parse_signature(signature)?;
        secp256k1::recover(&self.digest()?, &signature)
    }

    /// The authorization to look for on the chain. Where it was lost, one with the same effect: an end that never comes, so that
    /// nothing is concluded from a nonce that is still unused.
    pub fn slot(&self) -> Authorization {
        match &self.signed {
            Some(signed) => signed.authorization.clone(),
            None => Authorization {
                from: self.payer,
                to: self.pay_to,
                value: self.amount,
                valid_after: Amount::ZERO,
                valid_before: Amount::from_u64(u64::MAX),
                nonce: self.nonce,
            },
        }
    }

    /// The first thing in which the claim contradicts itself, its statement aside.
    pub fn contradiction(&self) -> Option<&'static str> {
        let rules: [(&'static str, bool); 4] = [
            ("The authorization is about another payment.", self.one_payment()),
            (
                "The payer's own reads do not show this transaction.",
                self.evidence.is_empty() || self.read(),
            ),
            (
                "Whether the payment is final is not what the payer's own reads say.",
                self.evidence.is_empty() || self.verdict().is_provisional() == self.provisional,
            ),
            ("A transaction is named that nothing here shows.", self.named()),
        ];
        rules.into_iter().find(|(_, holds)| !holds).map(|(why, _)| why)
    }

    fn one_payment(&self) -> bool {
        self.signed.as_ref().is_none_or(|signed| {
            let one = &signed.authorization;
            (one.from, one.to, one.value, one.nonce) == (self.payer, self.pay_to, self.amount, self.nonce)
                && self.network.chain_id() == Some(signed.domain.chain_id)
                && self.asset == signed.domain.verifying_contract
        })
    }

    /// What the payer's own reads say.
    fn verdict(&self) -> Verdict {
        let context = Context::new(self.network.clone(), self.asset);
        evidence::resolve(&[self.slot()], &context, &self.evidence)
    }

    fn read(&self) -> bool {
        let verdict = self.verdict();
        verdict.verdict == VerdictKind::Paid && verdict.transaction == self.transaction
    }

    /// A transaction comes from a read of the chain or from the seller.
    fn named(&self) -> bool {
        let Some(named) = self.transaction.as_deref() else {
            return true;
        };
        let tells = |event: &Event| match &event.what {
            What::Observed { transaction, .. } | What::Read { transaction, .. } => transaction
                .as_deref()
                .is_some_and(|one| one.eq_ignore_ascii_case(named)),
            _ => false,
        };
        self.signed.is_none() || self.timeline.iter().any(tells)
    }

    /// The first thing in which the statement does not fit the time line.
    pub fn misstatement(&self) -> Option<&'static str> {
        let times: Vec<Seconds> = self.timeline.iter().map(|event| event.at).collect();
        let last = times.last().copied().unwrap_or(0);
        let rules: [(&'static str, bool); 4] = [
            (
                "The time line is not in order, or ends after the claim was made.",
                times.is_sorted() && last <= self.at,
            ),
            (
                "The payment was not planned, signed and sent in this order.",
                self.sent(),
            ),
            (
                "The time line does not hold this claim, once and for this reason.",
                self.claimed(),
            ),
            ("Status and time line differ about a release.", self.released()),
        ];
        rules.into_iter().find(|(_, holds)| !holds).map(|(why, _)| why)
    }

    fn sent(&self) -> bool {
        let Some(signed) = &self.signed else {
            return !self.timeline.iter().any(|event| event.attempt.is_some());
        };
        let at = |what: &What| {
            let own = |event: &Event| event.attempt == Some(signed.attempt) && event.what == *what;
            self.timeline.iter().position(own)
        };
        let steps = [at(&What::Planned), at(&What::Signed), at(&What::Sent)];
        steps.iter().all(Option::is_some) && steps.is_sorted()
    }

    fn claimed(&self) -> bool {
        let mut whys = self.timeline.iter().filter_map(|event| match &event.what {
            What::Claimed { why } => Some(why),
            _ => None,
        });
        whys.next() == Some(&self.statement.why) && whys.next().is_none()
    }

    fn released(&self) -> bool {
        let mut reasons = self.timeline.iter().filter_map(|event| match &event.what {
            What::Released { reason } => Some(reason),
            _ => None,
        });
        match reasons.next() {
            None => self.statement.status == "paid_not_delivered" && self.statement.reason.is_none(),
            Some(reason) => {
                self.statement.status == "released"
                    && *reason == self.statement.reason
                    && reasons.next().is_none()
            }
        }
    }
}

impl Signed {
    fn from_json(json: &Json) -> Result<Signed, Error> {
        Ok(Signed {
            attempt: json.read("attempt", Json::as_u64)?,
            authorization: json.read("message", Authorization::from_json)?,
            domain: json.read("domain", Domain::from_json)?,
            digest: json.read("digest", word)?,
            signature: json.read("signature", Json::as_string)?,
        })
    }

    fn to_json(&self) -> Json {
        Json::object([
            ("attempt", Json::number(self.attempt)),
            ("message", self.authorization.to_json()),
            ("domain", self.domain.to_json()),
            ("digest", encoded(&self.digest)),
            ("signature", Json::text(self.signature.as_str())),
        ])
    }
}

impl Statement {
    fn from_json(json: &Json) -> Result<Statement, Error> {
        let known = |name: &str, texts: &[&str]| {
            let text = json.read(name, Json::as_str)?;
            texts
                .contains(&text)
                .then(|| text.to_owned())
                .ok_or_else(|| invalid(name))
        };
        Ok(Statement {
            status: known("status", &["paid_not_delivered", "released"])?,
            why: known(
                "why",
                &[
                    "answer_not_had",
                    "past_retention",
                    "conflict",
                    "history_lost",
                    "released",
                ],
            )?,
            reason: json.read_opt("reason", Json::as_string)?,
        })
    }

    fn to_json(&self) -> Json {
        Json::object([
            ("delivered", Json::Bool(false)),
            ("status", Json::text(self.status.as_str())),
            ("why", Json::text(self.why.as_str())),
            ("text", Json::text(STATEMENT)),
        ])
        .with_some("reason", self.reason.as_deref().map(Json::text))
    }
}

/// Reads the text of a claim. Errors: those of the JSON reader and of [`Claim::from_json`].
pub fn parse(text: &str) -> Result<(Claim, String), Error> {
    Claim::from_json(&json::parse(text)?)
}
