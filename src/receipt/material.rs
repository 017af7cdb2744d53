//! What the caller brings: the bytes, the authorization, the chain evidence and what is expected. All trust comes from here.

use std::sync::Arc;

use super::checks::Checks;
use super::readings;
use super::signer::Signers;
use crate::address::Address;
use crate::amount::Amount;
use crate::digest;
use crate::eip3009::Authorization;
use crate::eip712::Domain;
use crate::error::{Code, Error};
use crate::evidence::{self, Context, Layout};
use crate::fingerprint::Request;
use crate::hex;
use crate::json::Json;
use crate::mpp::challenge::Challenge;
use crate::network::{known_token, Network};
use crate::time::Seconds;
use crate::x402::offer_receipt::Name;
use crate::x402::payment_required::{Offer, Terms};

/// The answer that was paid for, as the caller has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Answer {
    pub sha256: [u8; 32],
    /// In bytes; a digest that was made elsewhere need not tell it.
    pub length: Option<u64>,
    /// SHA-256 of the RFC 8785 text of the JSON in it, where whoever has the bytes made that too: none where there is no JSON in it.
    pub canonical: Option<Option<[u8; 32]>>,
}

impl Answer {
    /// Of its exact bytes.
    pub fn of(body: &[u8]) -> Answer {
        Answer {
            sha256: digest::sha256(body),
            length: Some(body.len() as u64),
            canonical: None,
        }
    }
}

/// The caller's material, read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Material<'a> {
    pub answer: Option<Answer>,
    /// The bytes of the answer, where they are here.
    pub body: Option<&'a [u8]>,
    /// What is under their content coding, by the host that removed it.
    pub decoded: Option<&'a [u8]>,
    /// The answer's bytes still carry a content coding.
    pub coded: bool,
    pub authorization: Option<Authorization>,
    pub domain: Option<Domain>,
    pub signature: Option<String>,
    /// Whose the signature over the authorization is, where that was found out before.
    pub signer: Option<Address>,
    /// Whose the document's own signature is, where that was found out before.
    pub issuer: Option<Address>,
    /// That the document's JWS was made by the key of its id was found out before.
    pub made: bool,
    pub terms: Option<Terms>,
    pub challenge: Option<Challenge>,
    pub now: Option<Seconds>,
    pub evidence: Vec<Json>,
    pub trust: Arc<Trust>,
    pub expect: Expect,
    /// Only the verdict counts: no text of the report is made.
    pub silent: bool,
}

/// What the caller vouches for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Trust {
    block_hashes: Option<Vec<[u8; 32]>>,
    layouts: Vec<Layout>,
    /// Who may sign for the seller.
    pub(super) signers: Signers,
}

impl Trust {
    /// Reads `{blockHashes?, layouts?}` and what [`Signers::read`] reads.
    pub fn read(json: &Json) -> Result<Trust, Error> {
        json.as_object()?;
        Ok(Trust {
            block_hashes: json.read_opt("blockHashes", evidence::block_hashes)?,
            layouts: json.read_opt("layouts", evidence::layouts)?.unwrap_or_default(),
            signers: Signers::read(json)?,
        })
    }

    /// Where to read, with this trust.
    pub fn context(&self, network: Network, asset: Address) -> Context {
        Context {
            trusted_blocks: self.block_hashes.clone(),
            layouts: self.layouts.clone(),
            ..Context::new(network, asset)
        }
    }
}

/// What the caller says the document should be about.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Expect {
    kind: Option<String>,
    payer: Option<Name>,
    pay_to: Option<Name>,
    resource: Option<String>,
    amount: Option<Amount>,
    /// The most seconds that a receipt may be old.
    pub max_age: Option<Seconds>,
}

impl<'a> Material<'a> {
    /// Reads the material. `bytes` are those of the answer, and behind them what is under its content coding where `bodyEnds` says that they end
    /// earlier. Errors: those of its fields, below `material`; `number_out_of_range` at `bodyEnds`.
    pub fn read(json: &Json, bytes: Option<&'a [u8]>) -> Result<Material<'a>, Error> {
        let read = || {
            let mut material = Material::fields(json)?;
            let split = json.read_opt("bodyEnds", |end| {
                let range = || Error::new(Code::NumberOutOfRange, "");
                let end = usize::try_from(end.as_u64()?).map_err(|_| range())?;
                bytes.unwrap_or_default().split_at_checked(end).ok_or_else(range)
            })?;
            (material.body, material.decoded) = match split {
                Some((body, decoded)) => (Some(body), Some(decoded)),
                None => (bytes, None),
            };
            material.answer = material.body.map(Answer::of).or(material.answer);
            Ok(material)
        };
        read().map_err(|error: Error| error.within("material"))
    }

    /// Its fields, of which the answer's digest stands for its bytes.
    pub fn fields(json: &Json) -> Result<Material<'a>, Error> {
        json.as_object()?;
        let length = json.read_opt("bodyLength", Json::as_u64)?;
        let coding = json.read_opt("bodyEncoding", Json::as_str)?.unwrap_or("identity");
        let terms = |requirements: &Json| {
            Offer {
                requirements: requirements.clone(),
            }
            .terms()
        };
        Ok(Material {
            answer: json.read_opt("bodySha256", Json::as_hex)?.map(|sha256| Answer {
                sha256,
                length,
                canonical: None,
            }),
            body: None,
            decoded: None,
            coded: !coding.is_empty() && !coding.eq_ignore_ascii_case("identity"),
            authorization: json.read_opt("authorization", Authorization::from_json)?,
            domain: json.read_opt("domain", Domain::from_json)?,
            signature: json.read_opt("signature", Json::as_string)?,
            signer: None,
            issuer: None,
            made: false,
            terms: json.read_opt("requirements", terms)?,
            challenge: json.read_opt("challenge", Challenge::from_json)?,
            now: json.read_opt("now", Json::as_u64)?,
            evidence: match json.get("evidence") {
                None => Vec::new(),
                Some(Json::Array(several)) => several.clone(),
                Some(one) => vec![one.clone()],
            },
            trust: Arc::new(json.read_opt("trust", Trust::read)?.unwrap_or_default()),
            expect: json.read_opt("expect", Expect::read)?.unwrap_or_default(),
            silent: false,
        })
    }
}

impl Material<'_> {
    /// The answer as a payer records it, without its content coding; whether it still carries one; and its bytes, where they are here.
    pub fn given(&self) -> Option<Delivered<'_>> {
        let plain = self.decoded.map(|plain| (Answer::of(plain), false, Some(plain)));
        plain.or(self.answer.map(|answer| (answer, self.coded, self.body)))
    }
}

impl Expect {
    /// The recipient, where it is an address.
    pub fn recipient(&self) -> Option<Address> {
        match &self.pay_to {
            Some(Name::Address(address)) => Some(*address),
            _ => None,
        }
    }

    fn read(json: &Json) -> Result<Expect, Error> {
        json.as_object()?;
        Ok(Expect {
            kind: json.read_opt("kind", Json::as_string)?,
            payer: json.read_opt("payer", account)?,
            pay_to: json.read_opt("payTo", account)?,
            resource: json.read_opt("resource", |url| web_url(url.as_str()?))?,
            amount: json.read_opt("amount", Amount::from_json)?,
            max_age: json.read_opt("maxAge", Json::as_u64)?,
        })
    }
}

/// An address, or an account of Solana, in the base 58 of 32 bytes.
fn account(json: &Json) -> Result<Name, Error> {
    let digit = |byte: u8| byte.is_ascii_alphanumeric() && !b"0OIl".contains(&byte);
    match json.as_str()? {
        text if (32..=44).contains(&text.len()) && text.bytes().all(digit) => Ok(Name::Text(text.to_owned())),
        _ => Address::from_json(json).map(Name::Address),
    }
}

/// A URL in the form that a request is recorded in. Errors: those of [`Request::new`].
pub(crate) fn web_url(text: &str) -> Result<String, Error> {
    Request::new("GET", text, &[])
        .map(|request| request.url)
        .map_err(|error| Error::new(error.code, ""))
}

/// What a document says about one purchase, as far as it says it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Subject {
    pub kind: &'static str,
    pub network: Option<Network>,
    pub asset: Option<Address>,
    pub payer: Option<Address>,
    pub pay_to: Option<Address>,
    pub amount: Option<Amount>,
    pub resource: Option<String>,
    pub transaction: Option<String>,
    pub sha256: Option<[u8; 32]>,
    pub delivered: bool,
    /// The intent that it was for.
    pub intent: Option<String>,
    /// What it says of accounts and tokens on networks that are not read here.
    pub foreign: Vec<(&'static str, String)>,
}

impl Subject {
    /// The account under this name: `payer`, or else `payTo`.
    pub fn account(&self, name: &str) -> Option<Name> {
        let address = match name {
            "payer" => self.payer,
            _ => self.pay_to,
        };
        let foreign = self.foreign.iter().find(|(member, _)| *member == name);
        foreign
            .map(|(_, text)| Name::Text(text.clone()))
            .or(address.map(Name::Address))
    }

    /// The facts of a report about it.
    pub fn facts(&self) -> Json {
        let mut facts = Json::object([("kind", Json::text(self.kind))])
            .with_some("payer", self.payer.map(|payer| payer.to_json()))
            .with_some("payTo", self.pay_to.map(|pay_to| pay_to.to_json()))
            .with_some("amount", self.amount.map(|amount| amount.to_json()))
            .with_some("asset", self.asset.map(|asset| asset.to_json()))
            .with_some("network", self.network.as_ref().map(Network::to_json))
            .with_some("token", self.token())
            .with_some("resource", self.resource.as_deref().map(Json::text))
            .with_some("transaction", self.transaction.as_deref().map(Json::text))
            .with("delivered", Json::Bool(self.delivered))
            .with_some(
                "bodySha256",
                self.sha256.map(|hash| Json::text(hex::encode(hash))),
            );
        for (name, text) in &self.foreign {
            facts.set(name, Json::text(text.as_str()));
        }
        facts
    }

    /// Name and decimal places of the token, when it is a known one.
    fn token(&self) -> Option<Json> {
        let token = known_token(self.network.as_ref()?, &self.asset?)?;
        let decimals = Json::number(u64::from(token.decimals));
        Some(Json::object([
            ("name", Json::text(token.name)),
            ("decimals", decimals),
        ]))
    }

    /// One check for each thing that the caller expects.
    pub fn compare_expected(&self, expect: &Expect, checks: &mut Checks) {
        one(checks, "expect.kind", expect.kind.as_deref(), Some(self.kind));
        for (id, name, want) in [
            ("expect.payer", "payer", &expect.payer),
            ("expect.payTo", "payTo", &expect.pay_to),
        ] {
            if want.is_some() {
                one(checks, id, want.as_ref(), self.account(name).as_ref());
            }
        }
        // Only where somebody asks: to read a URL is more work than all the rest of these.
        let said = self.resource.as_deref().filter(|_| expect.resource.is_some());
        let resource = said.map(|url| web_url(url).unwrap_or_else(|_| url.to_owned()));
        one(
            checks,
            "expect.resource",
            expect.resource.as_ref(),
            resource.as_ref(),
        );
        one(
            checks,
            "expect.amount",
            expect.amount.as_ref(),
            self.amount.as_ref(),
        );
    }
}

fn one<T: PartialEq + core::fmt::Display + ?Sized>(
    checks: &mut Checks,
    id: &'static str,
    want: Option<&T>,
    have: Option<&T>,
) {
    match (want, have) {
        (Some(want), Some(have)) => checks.equal(id, want, have),
        (Some(_), None) => checks.missing(id, "The document does not say it."),
        (None, _) => {}
    }
}

/// Checks the signing domain against the table of known tokens.
pub(super) fn domain(checks: &mut Checks, domain: &Domain) {
    let known = network_of(domain)
        .ok()
        .and_then(|network| known_token(&network, &domain.verifying_contract));
    match known {
        Some(token) => checks.compare(
            "authorization.domain",
            (token.name, token.version) == (domain.name.as_str(), domain.version.as_str()),
            || {
                let known = format!("{} / {}", token.name, token.version);
                (known, format!("{} / {}", domain.name, domain.version))
            },
        ),
        None => checks.missing(
            "authorization.domain",
            "The token is not in the table of known tokens.",
        ),
    }
}

/// The network of a signing domain.
pub(super) fn network_of(domain: &Domain) -> Result<Network, Error> {
    Network::parse(&format!("eip155:{}", domain.chain_id))
}

/// Checks who signed, as far as it could be read.
pub(super) fn signed_by(
    checks: &mut Checks,
    id: &'static str,
    expected: &Address,
    signer: Result<Address, Error>,
) {
    match signer {
        Ok(signer) => checks.equal(id, expected, &signer),
        Err(error) if error.code == Code::ContractSignature => {
            checks.missing(
                id,
                "A contract wallet's signature can only be checked by its contract.",
            );
        }
        Err(error) => checks.fail(id, error.code.meaning()),
    }
}

/// An answer, whether it still carries a content coding, and its bytes where they are here.
pub(super) type Delivered<'a> = (Answer, bool, Option<&'a [u8]>);

/// Checks the answer against the recorded digest and, where both are known, its length against the recorded one.
pub(super) fn delivery(
    checks: &mut Checks,
    sha256: &[u8; 32],
    length: Option<u64>,
    (answer, coded, bytes): Delivered,
) {
    let actual = answer.sha256;
    if coded && actual != *sha256 {
        checks.missing(
            "delivery.hash",
            "The bytes still carry a content coding; remove it and check again.",
        );
        return;
    }
    if actual == *sha256 {
        checks.equal_bytes("delivery.hash", sha256, &actual);
    } else {
        readings::differs(checks, sha256, &actual, bytes);
    }
    if let (Some(length), Some(actual)) = (length, answer.length) {
        checks.equal("delivery.length", &length, &actual);
    }
}
