//! Whose signature a document carries, and whether that key may speak for the seller. Two questions: any key makes valid signatures, and what a
//! document says of its own key is no answer to the second. Both are answered from the caller's trust.

use super::checks::Checks;
use super::entity::SignedEntity;
use super::material::Material;
use crate::address::Address;
use crate::did;
use crate::error::{Code, Error};
use crate::json::Json;
use crate::jwk::{Jwk, Key, Window};
use crate::jws::{Jws, Task};
use crate::secp256k1;
use crate::time::Seconds;
use crate::x402::offer_receipt::Proof;

use url::{Host, Url};

/// Answers whether a signature was made; nothing where the algorithm is not at hand.
pub type Made<'a> = &'a dyn Fn(&Task) -> Option<bool>;

const SIGNATURE: &str = "signature";
const SIGNER: &str = "signer.authorized";

/// Whom the caller trusts to sign.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Signers {
    accounts: Vec<Address>,
    kids: Vec<String>,
    keys: Vec<Jwk>,
    documents: Vec<did::Document>,
    controllers: Vec<did::Controllers>,
}

impl Signers {
    /// Reads `{signers?, keys?, didDocuments?, controllers?}`. A signer that begins with `0x` is an address, any other the `kid` of a JWS. Errors:
    /// `invalid_type`, those of addresses, keys, DID documents and records.
    pub fn read(json: &Json) -> Result<Signers, Error> {
        let list = |name: &str| json.read_opt(name, |list| list.as_list(Json::as_str));
        let (accounts, kids): (Vec<&str>, Vec<&str>) = list("signers")?
            .unwrap_or_default()
            .into_iter()
            .partition(|name| name.starts_with("0x"));
        let address = |text: &str| Address::parse(text).map_err(|error| error.within("signers"));
        Ok(Signers {
            accounts: accounts.into_iter().map(address).collect::<Result<_, _>>()?,
            kids: kids.into_iter().map(str::to_owned).collect(),
            keys: json
                .read_opt("keys", |keys| keys.as_list(named))?
                .unwrap_or_default(),
            documents: json
                .read_opt("didDocuments", |list| list.as_list(did::Document::from_json))?
                .unwrap_or_default(),
            controllers: json
                .read_opt("controllers", |list| list.as_list(did::Controllers::from_json))?
                .unwrap_or_default(),
        })
    }

    /// Whether nobody is named.
    pub fn is_empty(&self) -> bool {
        *self == Signers::default()
    }

    /// What must be checked under the key of that id.
    pub fn task(&self, jws: &Jws) -> Option<Task> {
        let (key, ..) = key_of(jws, self)?;
        jws.task(&key)
    }

    /// The controllers that the resource's domain names.
    fn controllers(&self, site: Option<&Site>) -> Vec<&str> {
        let host = site.map(|site| site.host.as_str());
        let of = self
            .controllers
            .iter()
            .filter(|records| host.is_some_and(|host| records.is_of(host)));
        of.flat_map(|records| records.dids().iter().map(String::as_str))
            .collect()
    }
}

fn named(json: &Json) -> Result<Jwk, Error> {
    let jwk = Jwk::from_json(json)?;
    match jwk.kid {
        Some(_) => Ok(jwk),
        None => Err(Error::new(Code::MissingField, "kid")),
    }
}

/// Where a resource is served from.
struct Site {
    host: String,
    /// With its port, where it is not the scheme's own.
    authority: String,
}

impl Site {
    fn of(resource: Option<&str>) -> Option<Site> {
        let url = Url::parse(resource?).ok()?;
        let plain = url.username().is_empty() && url.password().is_none();
        if !matches!(url.scheme(), "http" | "https") || !plain {
            return None;
        }
        let Host::Domain(host) = url.host()? else {
            return None;
        };
        let authority = match url.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        };
        Some(Site {
            host: host.to_owned(),
            authority,
        })
    }
}

/// The two checks. Gives `{signer, signedAs}` for the facts, where it is known who signed.
pub(super) fn judge(
    checks: &mut Checks,
    entity: &SignedEntity,
    material: &Material,
    made: Made,
) -> Vec<(&'static str, Json)> {
    let site = Site::of(entity.subject.resource.as_deref());
    match &entity.proof {
        None => Vec::new(),
        Some(Proof::Eip712 { digest, signature }) => {
            let signed = match material.issuer {
                Some(issuer) => Ok(issuer),
                None => secp256k1::parse_signature(signature)
                    .and_then(|signature| secp256k1::recover(digest, &signature)),
            };
            by_account(checks, signed, material, site.as_ref())
        }
        Some(Proof::Jws(jws)) => by_key(checks, jws, entity, material, site.as_ref(), made),
    }
}

/// The recipient's own accounts, by what the caller says of it: never by the document.
fn recipients(material: &Material) -> Vec<Address> {
    let terms = material.terms.as_ref().map(|terms| terms.pay_to);
    let signed = material.authorization.as_ref().map(|signed| signed.to);
    material
        .expect
        .recipient()
        .into_iter()
        .chain(terms)
        .chain(signed)
        .collect()
}

fn by_account(
    checks: &mut Checks,
    signed: Result<Address, Error>,
    material: &Material,
    site: Option<&Site>,
) -> Vec<(&'static str, Json)> {
    let signer = match signed {
        Ok(signer) => signer,
        Err(error) if error.code == Code::ContractSignature => {
            let why = "A contract wallet's signature can only be checked by its contract.";
            checks.missing(SIGNATURE, why);
            checks.missing(SIGNER, why);
            return Vec::new();
        }
        Err(error) => {
            checks.fail(SIGNATURE, error.code.meaning());
            checks.missing(SIGNER, "There is no signer to go by.");
            return Vec::new();
        }
    };
    let signers = &material.trust.signers;
    let controllers = signers.controllers(site);
    let named: Vec<Address> = controllers.iter().filter_map(|one| did::account(one)).collect();
    let why = if signers.accounts.contains(&signer) {
        Some("You named this account.")
    } else if recipients(material).contains(&signer) {
        Some("It is the recipient's own account, by what you handed in.")
    } else if named.contains(&signer) {
        Some("The resource's domain names this account as its controller.")
    } else {
        None
    };
    let trusted: Vec<&Address> = signers.accounts.iter().chain(&named).collect();
    match why {
        Some(why) => {
            checks.pass(SIGNATURE);
            checks.pass_because(SIGNER, why);
        }
        // Any signature recovers to some account: whether what was signed was changed, or a stranger signed it, can't be told apart.
        None if !trusted.is_empty() => {
            for id in [SIGNATURE, SIGNER] {
                checks.compare(id, false, || (listed(&trusted), signer.to_string()));
            }
        }
        None => {
            checks.missing(
                SIGNATURE,
                "It recovers to an account, as any signature does; which is the seller's is for you to say.",
            );
            checks.missing(SIGNER, "No account of the seller's was named.");
        }
    }
    vec![("signer", signer.to_json()), ("signedAs", Json::text("eip712"))]
}

fn listed(accounts: &[&Address]) -> String {
    let texts: Vec<String> = accounts.iter().map(|account| account.to_string()).collect();
    texts.join(", ")
}

/// The key of this `kid`, when it was good, and whether the caller named it itself.
fn key_of(jws: &Jws, signers: &Signers) -> Option<(Key, Window, bool)> {
    let own = signers
        .keys
        .iter()
        .find(|one| one.kid.as_deref() == Some(jws.kid.as_str()));
    if let Some(own) = own {
        return Some((own.key.clone(), own.window, true));
    }
    if let Some(Ok(key)) = did::embedded(&jws.kid) {
        return Some((key, Window::default(), false));
    }
    let subject = did::of(&jws.kid);
    let mut documents = signers.documents.iter().filter(|one| one.id == subject);
    documents.find_map(|document| {
        let (key, window) = document.method(&jws.kid)?;
        Some((key.clone(), window, false))
    })
}

fn by_key(
    checks: &mut Checks,
    jws: &Jws,
    entity: &SignedEntity,
    material: &Material,
    site: Option<&Site>,
    made: Made,
) -> Vec<(&'static str, Json)> {
    let signers = &material.trust.signers;
    let Some((key, window, own)) = key_of(jws, signers) else {
        checks.missing(SIGNATURE, "No key of exactly this id was handed in.");
        match signers.kids.contains(&jws.kid) {
            true => checks.missing(SIGNER, "You named this key, and did not hand it in."),
            false => authorized(checks, None, jws, signers),
        }
        return Vec::new();
    };
    let brought = jws.brought.as_ref().is_none_or(|brought| brought.is(&key));
    let answer = match material.made {
        true => Some(Some(true)),
        false => jws.task(&key).map(|task| made(&task)),
    };
    match answer {
        _ if !brought => checks.fail(SIGNATURE, "It brings another key along than the one of its id."),
        None => checks.fail(SIGNATURE, "The key of this id is for another algorithm."),
        Some(Some(true)) => checks.pass(SIGNATURE),
        Some(Some(false)) => checks.fail(SIGNATURE, "The key of this id did not sign these bytes."),
        Some(None) => checks.missing(SIGNATURE, "The part that checks this algorithm was not loaded."),
    }
    let controllers = signers.controllers(site);
    let subject = did::of(&jws.kid);
    let account = account_of(&key);
    let why = if own || signers.kids.contains(&jws.kid) {
        Some("You named this key.")
    } else if account.is_some_and(|account| signers.accounts.contains(&account)) {
        Some("You named the account of this key.")
    } else if did::web_host(subject).is_some_and(|host| site.is_some_and(|site| site.authority == host)) {
        Some("It stands in the document of the resource's own domain.")
    } else if controllers.iter().any(|one| *one == subject || *one == jws.kid) {
        Some("The resource's domain names its holder as controller.")
    } else if account.is_some_and(|account| recipients(material).contains(&account)) {
        Some("It is the key of the recipient's own account, by what you handed in.")
    } else {
        None
    };
    match why.filter(|_| window != Window::default()) {
        Some(_) => in_time(checks, window, entity.issued_at.or(material.now), why),
        None => authorized(checks, why, jws, signers),
    }
    if !checks.passed(SIGNATURE) {
        return Vec::new();
    }
    vec![
        ("signer", Json::text(jws.kid.as_str())),
        ("signedAs", Json::text("jws")),
        ("algorithm", Json::text(jws.algorithm.as_str())),
    ]
}

/// The account that a key on secp256k1 controls.
fn account_of(key: &Key) -> Option<Address> {
    let on_curve = key.algorithm == crate::jwk::Algorithm::Es256k;
    let point = secp256k1::point::Affine::from_sec1(&key.bytes).filter(|_| on_curve)?;
    Some(secp256k1::address_of(&point))
}

/// A key is judged as of the time at which the document says it was written: what is revoked later was good before.
fn in_time(checks: &mut Checks, window: Window, at: Option<Seconds>, why: Option<&str>) {
    match (at, why) {
        (Some(at), Some(why)) if window.holds(at) => checks.pass_because(SIGNER, why),
        (Some(_), _) => checks.fail(SIGNER, "The key was not good when this was signed."),
        (None, _) => checks.missing(
            SIGNER,
            "The key is good for a time only, and when this was signed is not known.",
        ),
    }
}

fn authorized(checks: &mut Checks, why: Option<&str>, jws: &Jws, signers: &Signers) {
    match why {
        Some(why) => checks.pass_because(SIGNER, why),
        None if signers.is_empty() => {
            checks.missing(SIGNER, "No key of the seller's was named.");
        }
        None => checks.differ(
            SIGNER,
            "The key is none of those that you named, nor of the resource's domain.",
            || ("a key that speaks for the seller".to_owned(), jws.kid.clone()),
        ),
    }
}
