//! A hand-over: one worker's signed word that another one goes on with an intent, with what that one needs to know.
//!
//! The attempt stays with whoever made it, the intent goes. What may still land is listed without its bytes, so that its amount can be
//! held and its window waited for. One JSON object; `hash` is the digest of the object without `hash` and `signature`, and the
//! payer signs the EIP-712 message `HandOver(address payer,string intentId,string from,string to,uint256 budget,uint256
//! expiresAt,bytes32 hash)` in the domain `{name: "counterfoil hand-over", version: "1"}`. docs/formats.md has it member by member.

use crate::address::Address;
use crate::amount::Amount;
use crate::attempt::{Attempt, State};
use crate::authorization::{Authorization, Method};
use crate::digest;
use crate::eip712;
use crate::error::{Code, Error};
use crate::fingerprint::Request;
use crate::hex;
use crate::intent;
use crate::json::Json;
use crate::network::Network;
use crate::secp256k1;
use crate::time::Seconds;
use crate::tree::Limits;

/// The kind of document.
pub const TYPE: &str = "counterfoil/hand-over";
/// Domain tag of its hash.
pub const TAG: &str = "counterfoil/hand-over/v1";

const DOMAIN_NAME: &str = "counterfoil hand-over";
const DOMAIN_VERSION: &str = "1";
/// Longest name of an actor, in characters.
const MAX_ACTOR: usize = 128;

/// The place in the token contract that everything signed for the intent competes for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Slot {
    /// The chain.
    pub network: Network,
    /// The token.
    pub asset: Address,
    /// How the token is moved.
    pub method: Method,
    /// Nonces closed by a final cancellation.
    pub generation: u64,
    /// The nonce is keyed with the payer's secret.
    pub keyed: bool,
    /// The nonce of this generation.
    pub nonce: [u8; 32],
}

impl Slot {
    fn to_json(&self) -> Json {
        Json::object([
            ("network", self.network.to_json()),
            ("asset", self.asset.to_json()),
            ("method", Json::text(self.method.as_str())),
            ("generation", Json::number(self.generation)),
            ("keyed", Json::Bool(self.keyed)),
            ("nonce", Json::text(hex::encode(self.nonce))),
        ])
    }

    fn from_json(json: &Json) -> Result<Slot, Error> {
        Ok(Slot {
            network: json.read("network", Network::from_json)?,
            asset: json.read("asset", Address::from_json)?,
            method: json.read("method", Method::from_json)?,
            generation: json.read("generation", Json::as_u64)?,
            keyed: json.read("keyed", Json::as_bool)?,
            nonce: json.read("nonce", Json::as_hex)?,
        })
    }
}

/// A hand-over without its signature.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HandOver {
    /// When it was made, by the giver's clock.
    pub at: Seconds,
    /// The first second at which it can't be taken any more.
    pub expires_at: Seconds,
    /// Counts the hand-overs of the intent, from 1.
    pub serial: u64,
    /// The intent.
    pub intent_id: String,
    /// Whose intent it is.
    pub payer: Address,
    /// The actor that gives it.
    pub from: String,
    /// The actor that may take it.
    pub to: String,
    /// The most that the intent may cost from here on.
    pub budget: Amount,
    /// Whom it may pay and until when, where what is above it says so.
    pub limits: Limits,
    /// The caller's own id, when one was given.
    pub id: Option<String>,
    /// Display only.
    pub purpose: Option<String>,
    /// Run or session.
    pub scope: String,
    /// Parent intent.
    pub parent: Option<String>,
    /// Position among equal unnamed calls.
    pub occurrence: u64,
    /// What is bought.
    pub request: Request,
    /// Its digest, as the document names it.
    pub fingerprint: [u8; 32],
    /// Absent where nothing was ever signed.
    pub slot: Option<Slot>,
    /// What may still land, without its bytes: it stays with whoever signed it.
    pub live: Vec<Attempt>,
    /// The offers that those pay, as the journal holds them.
    pub quotes: Vec<Json>,
    /// What the giver read of them in the same call, raw: for whoever audits it. The taker reads again.
    pub reads: Vec<Json>,
}

fn invalid(field: &str) -> Error {
    Error::new(Code::HandOverInvalid, field)
}

/// An actor's name: 1 to 128 characters. Error: `actor_invalid`.
pub fn actor(text: &str) -> Result<String, Error> {
    let fits = text.len() <= 4 * MAX_ACTOR && (1..=MAX_ACTOR).contains(&text.chars().count());
    fits.then(|| text.to_owned())
        .ok_or_else(|| Error::new(Code::ActorInvalid, ""))
}

impl HandOver {
    /// Reads the document: the hand-over, the hash that it names, and its signature when it has one. Errors: `hand_over_invalid`
    /// (another type, a member that is not known or not in its one form, an intent id that does not follow from the rest, what is
    /// listed as open is not), `unsupported_version`, those of the fields with their path, `hand_over_altered` when it has another hash.
    pub fn from_json(json: &Json) -> Result<(HandOver, Option<String>), Error> {
        if json.read("type", Json::as_str)? != TYPE {
            return Err(invalid("type"));
        }
        if json.read("v", Json::as_u64)? != 1 {
            return Err(Error::new(Code::UnsupportedVersion, "v"));
        }
        let hand_over = HandOver {
            at: json.read("at", Json::as_u64)?,
            expires_at: json.read("expiresAt", Json::as_u64)?,
            serial: json.read("serial", Json::as_u64)?,
            intent_id: json.read("intentId", Json::as_string)?,
            payer: json.read("payer", Address::from_json)?,
            from: json.read("from", |name| actor(name.as_str()?))?,
            to: json.read("to", |name| actor(name.as_str()?))?,
            budget: json.read("budget", Amount::from_json)?,
            limits: json.read_opt("limits", Limits::from_json)?.unwrap_or_default(),
            id: json.read_opt("id", Json::as_string)?,
            purpose: json.read_opt("purpose", Json::as_string)?,
            scope: json.read("scope", Json::as_string)?,
            parent: json.read_opt("parent", Json::as_string)?,
            occurrence: json.read("occurrence", Json::as_u64)?,
            request: json.read("request", Request::from_json)?,
            fingerprint: json.read("request", |request| request.read("fingerprint", Json::as_hex))?,
            slot: json.read_opt("slot", Slot::from_json)?,
            live: json.read("live", |live| live.as_list(Attempt::from_json))?,
            quotes: json.read("quotes", Json::as_array)?.to_vec(),
            reads: json.read("reads", Json::as_array)?.to_vec(),
        };
        let hash = json.read("hash", Json::as_hex)?;
        let signature = json.read_opt("signature", Json::as_string)?;
        // One document has one text: nothing stands in it that is not read, and nothing in two forms.
        let whole = hand_over.body()?.with("hash", Json::text(hex::encode(hash)));
        let whole = whole.with_some("signature", signature.clone().map(Json::String));
        if whole.to_canonical()? != json.to_canonical()? {
            return Err(invalid(""));
        }
        if hand_over.hash()? != hash {
            return Err(Error::new(Code::HandOverAltered, "hash"));
        }
        hand_over.check()?;
        Ok((hand_over, signature))
    }

    /// Whether it holds together.
    fn check(&self) -> Result<(), Error> {
        let fingerprint = self.request.fingerprint()?;
        let intent_id = intent::purchase_intent_id(
            &self.payer,
            self.id.as_deref(),
            &fingerprint,
            self.occurrence,
            &self.scope,
            self.parent.as_deref(),
        )?;
        let open = |attempt: &Attempt| {
            attempt.state == State::Sent
                && *attempt == attempt.in_flight(&self.from)
                && attempt
                    .slots()
                    .all(|slot| self.is_own(slot.authorization, attempt.generation))
        };
        let rules = [
            ("request.fingerprint", fingerprint == self.fingerprint),
            ("intentId", intent_id == self.intent_id),
            ("serial", self.serial > 0),
            ("to", self.to != self.from),
            ("expiresAt", self.at < self.expires_at),
            ("live", self.live.iter().all(open)),
        ];
        match rules.into_iter().find(|(_, holds)| !holds) {
            Some((field, _)) => Err(invalid(field)),
            None => Ok(()),
        }
    }

    /// Whether it is the payer's, on the rail and of the generation of the slot.
    fn is_own(&self, signed: &Authorization, generation: u64) -> bool {
        let fits = |slot: &Slot| {
            slot.network.chain_id() == Some(signed.chain_id())
                && (slot.asset, slot.method, slot.generation) == (signed.asset(), signed.method(), generation)
        };
        signed.from() == self.payer && self.slot.as_ref().is_some_and(fits)
    }

    /// The object that is hashed. Error: that of the fingerprint.
    fn body(&self) -> Result<Json, Error> {
        let request = self
            .request
            .to_json()
            .with("fingerprint", Json::text(hex::encode(self.fingerprint)));
        let limits = self.limits != Limits::default();
        Ok(Json::object([
            ("type", Json::text(TYPE)),
            ("v", Json::number(1)),
            ("at", Json::number(self.at)),
            ("expiresAt", Json::number(self.expires_at)),
            ("serial", Json::number(self.serial)),
            ("intentId", Json::text(self.intent_id.as_str())),
            ("payer", self.payer.to_json()),
            ("from", Json::text(self.from.as_str())),
            ("to", Json::text(self.to.as_str())),
            ("budget", self.budget.to_json()),
        ])
        .with_some("limits", limits.then(|| self.limits.to_json()))
        .with_some("id", self.id.clone().map(Json::String))
        .with_some("purpose", self.purpose.clone().map(Json::String))
        .with("scope", Json::text(self.scope.as_str()))
        .with_some("parent", self.parent.clone().map(Json::String))
        .with("occurrence", Json::number(self.occurrence))
        .with("request", request)
        .with_some("slot", self.slot.as_ref().map(Slot::to_json))
        .with(
            "live",
            Json::Array(self.live.iter().map(Attempt::to_json).collect()),
        )
        .with("quotes", Json::Array(self.quotes.clone()))
        .with("reads", Json::Array(self.reads.clone())))
    }

    /// The document, signed or not. Errors: those of [`HandOver::hash`].
    pub fn to_json(&self, signature: Option<&str>) -> Result<Json, Error> {
        let document = self.body()?.with("hash", Json::text(hex::encode(self.hash()?)));
        Ok(document.with_some("signature", signature.map(Json::text)))
    }

    /// The tag, a line feed, and the text of the object without hash and signature. Error: `number_out_of_range`.
    pub fn hash(&self) -> Result<[u8; 32], Error> {
        digest::tagged(TAG, &self.body()?)
    }

    /// The EIP-712 digest that the payer signs. Error: that of [`HandOver::hash`].
    pub fn digest(&self) -> Result<[u8; 32], Error> {
        eip712::hash_typed_data(&self.typed_data()?)
    }

    /// The whole EIP-712 document, for signers outside. Error: that of [`HandOver::hash`].
    pub fn typed_data(&self) -> Result<Json, Error> {
        let members = [
            ("payer", "address", self.payer.to_json()),
            ("intentId", "string", Json::text(self.intent_id.as_str())),
            ("from", "string", Json::text(self.from.as_str())),
            ("to", "string", Json::text(self.to.as_str())),
            ("budget", "uint256", self.budget.to_json()),
            ("expiresAt", "uint256", Json::text(self.expires_at.to_string())),
            ("hash", "bytes32", Json::text(hex::encode(self.hash()?))),
        ];
        Ok(eip712::named_document(
            DOMAIN_NAME,
            DOMAIN_VERSION,
            "HandOver",
            &members,
        ))
    }

    /// Who signed it. Errors: `contract_signature`, `signature_invalid`, those of [`HandOver::digest`].
    pub fn recover(&self, signature: &str) -> Result<Address, Error> {
        let signature = secp256k1::parse_signature(signature)?;
        secp256k1::recover(&self.digest()?, &signature)
    }
}
