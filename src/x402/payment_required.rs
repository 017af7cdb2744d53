//! The price: the answer 402 with what the seller accepts.

use super::{decode_header, fee_split, shape, version, MAX_BODY};
use crate::address::Address;
use crate::amount::Amount;
use crate::authorization::Method;
use crate::eip712::Domain;
use crate::error::{Code, Error};
use crate::json::{self, Json};
use crate::network::{known_token, Network};
use crate::tempo::Due;
use crate::time::Seconds;

/// A price as read, offers in the seller's order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PaymentRequired {
    /// 1 or 2.
    pub version: u8,
    /// The URL that the seller says is priced. A claim: it is not compared with the request.
    pub resource_url: Option<String>,
    /// `resource` of version 2, verbatim.
    pub resource: Option<Json>,
    /// What the seller accepts, as far as it can be read; at least one.
    pub offers: Vec<Offer>,
    /// Where each of them stands in `accepts`.
    pub places: Vec<usize>,
    /// Why the first of the other entries can't be read.
    pub unread: Option<Error>,
    /// `extensions` of version 2, verbatim.
    pub extensions: Option<Json>,
    /// The seller's error text.
    pub error: Option<String>,
}

/// One entry of `accepts`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Offer {
    /// The entry verbatim; one of version 1 has `network` as CAIP-2, and `amount` beside `maxAmountRequired`.
    pub requirements: Json,
}

/// One recipient's part of a price.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Share {
    /// The recipient.
    pub to: Address,
    /// Atomic units of the asset.
    pub amount: Amount,
}

/// What an offer demands.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Terms {
    /// An `eip155` network.
    pub network: Network,
    /// The token contract.
    pub asset: Address,
    /// The recipient.
    pub pay_to: Address,
    /// Atomic units of the asset: all of the price, and with scheme `upto` the most of it.
    pub amount: Amount,
    /// The most that its inclusion may cost the payer besides, in the same token: of a transaction on Tempo that nobody sponsors, as the
    /// policy bounds it; else nothing.
    pub fee: Amount,
    /// Who receives it, each by an authorization of its own: the recipient alone, or of a split payment the recipient and the others. On Tempo
    /// one transaction pays all of them.
    pub shares: Vec<Share>,
    /// Seconds the seller wants the authorization to be good for; the policy's window still bounds it.
    pub max_timeout: u64,
    /// How the token is to be moved.
    pub signing: Signing,
    /// What the seller dictates of the authorization; nothing where the payer picks the nonce.
    pub dictated: Option<Dictated>,
}

/// A nonce that the payer does not pick: that of a Payment challenge, on Tempo its memo.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Dictated {
    /// The nonce.
    pub nonce: [u8; 32],
    /// The second at which the authorization ends at the latest.
    pub expires: Option<Seconds>,
}

/// Under which domain the terms are signed, or what else is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Signing {
    /// By EIP-3009: the token's own.
    Eip3009(Domain),
    /// Permit2's, on the terms' network.
    Permit2,
    /// The same for scheme `upto`: this facilitator alone settles it, and takes at most the amount.
    Upto(Address),
    /// None: a whole transaction of the Tempo network is signed.
    Tempo(Box<Due>),
}

impl Signing {
    /// The way the token is moved.
    pub fn method(&self) -> Method {
        match self {
            Signing::Eip3009(_) => Method::Eip3009,
            Signing::Permit2 | Signing::Upto(_) => Method::Permit2,
            Signing::Tempo(_) => Method::Tempo,
        }
    }
}

impl Terms {
    /// What may leave the wallet in all. A sum that overflows is the largest number there is.
    pub fn cost(&self) -> Amount {
        self.amount.saturating_add(self.fee)
    }

    /// The token's domain. Error: `no_supported_payment_option` at `extra.assetTransferMethod`, where EIP-3009 is not the method.
    pub fn domain(&self) -> Result<&Domain, Error> {
        match &self.signing {
            Signing::Eip3009(domain) => Ok(domain),
            Signing::Permit2 | Signing::Upto(_) | Signing::Tempo(_) => {
                Err(Error::new(Code::NoSupportedOption, "extra.assetTransferMethod"))
            }
        }
    }
}

/// Reads the price from the header, or from the body when there is no header. The header is canonical: where both are
/// there the body is not looked at. Fields of errors start with `header` or `body`. Errors in this order: `missing_field`
/// (neither), `too_large`, `base64_invalid`, those of the JSON reader, `payment_required_invalid` (shape),
/// `unsupported_version`, and where no offer can be read those of the first: `network_invalid`, `amount_must_be_string`, `amount_invalid`,
/// `timeout_invalid` and, for scheme `exact` on an `eip155` network, `address_invalid` and `address_checksum`. An offer that can't be read
/// beside one that can is passed over: sellers add schemes and networks that are not known here.
pub fn parse(header: Option<&str>, body: Option<&str>) -> Result<PaymentRequired, Error> {
    let (json, from) = match (header.filter(|value| !value.trim().is_empty()), body) {
        (Some(header), _) => (decode_header(header), "header"),
        (None, Some(body)) => (parse_body(body), "body"),
        (None, None) => return Err(Error::new(Code::MissingField, "header")),
    };
    let mut required = json
        .and_then(|json| PaymentRequired::from_json(&json))
        .map_err(|error| error.within(from))?;
    required.unread = required.unread.map(|error| error.within(from));
    Ok(required)
}

fn parse_body(body: &str) -> Result<Json, Error> {
    if body.len() > MAX_BODY {
        return Err(Error::new(Code::TooLarge, ""));
    }
    json::parse(body)
}

impl PaymentRequired {
    /// The price from its JSON value, either version. Errors: those of [`parse`] after decoding.
    pub fn from_json(json: &Json) -> Result<Self, Error> {
        PaymentRequired::read(json).map_err(shape(Code::PaymentRequiredInvalid))
    }

    /// The price that a quote froze: its one offer put back into the rest of the answer. Errors: those of
    /// [`PaymentRequired::from_json`].
    pub fn of_quote(required: &Json, requirements: &Json) -> Result<Self, Error> {
        let accepts = Json::Array(vec![requirements.clone()]);
        PaymentRequired::from_json(&required.clone().with("accepts", accepts))
    }

    fn read(json: &Json) -> Result<Self, Error> {
        json.as_object()?;
        let version = version(json, Code::PaymentRequiredInvalid)?;
        let (mut offers, mut places, mut unread) = (Vec::new(), Vec::new(), None);
        for (index, entry) in json.read("accepts", Json::as_array)?.iter().enumerate() {
            match Offer::read(entry, version) {
                Ok(offer) => {
                    offers.push(offer);
                    places.push(index);
                }
                Err(error) if unread.is_none() => {
                    unread = Some(error.within(&format!("[{index}]")).within("accepts"));
                }
                Err(_) => {}
            }
        }
        let Some(first) = offers.first() else {
            let none = || Error::new(Code::PaymentRequiredInvalid, "accepts");
            return Err(unread.unwrap_or_else(none));
        };
        let object = |value: &Json| value.as_object().map(|_| value.clone());
        let resource = if version == 2 {
            json.read_opt("resource", object)?
        } else {
            None
        };
        let resource_url = match &resource {
            Some(resource) => Some(
                resource
                    .read("url", Json::as_string)
                    .map_err(|e| e.within("resource"))?,
            ),
            None => first
                .requirements
                .read_opt("resource", Json::as_string)
                .unwrap_or_default(),
        };
        Ok(PaymentRequired {
            version,
            resource_url,
            resource,
            extensions: if version == 2 {
                json.read_opt("extensions", object)?
            } else {
                None
            },
            error: json.read_opt("error", Json::as_string)?,
            offers,
            places,
            unread: unread.map(shape(Code::PaymentRequiredInvalid)),
        })
    }

    /// Leaves out the offers for which `keep` says no.
    pub fn retain(&mut self, keep: impl Fn(&Offer) -> bool) {
        let (offers, places) = (
            core::mem::take(&mut self.offers),
            core::mem::take(&mut self.places),
        );
        let kept = offers.into_iter().zip(places).filter(|(offer, _)| keep(offer));
        (self.offers, self.places) = kept.unzip();
    }

    /// `{x402Version, error?, resource?, accepts, extensions?}`.
    pub fn to_json(&self) -> Json {
        let accepts = self
            .offers
            .iter()
            .map(|offer| offer.requirements.clone())
            .collect();
        Json::object([("x402Version", Json::number(self.version.into()))])
            .with_some("error", self.error.as_deref().map(Json::text))
            .with_some("resource", self.resource.clone())
            .with("accepts", Json::Array(accepts))
            .with_some("extensions", self.extensions.clone())
    }
}

impl Offer {
    fn read(entry: &Json, version: u8) -> Result<Self, Error> {
        let scheme = entry.read("scheme", Json::as_str)?;
        let mut requirements = entry.clone();
        let network = if version == 1 {
            entry.read("network", v1_network)?
        } else {
            entry.read("network", Network::from_json)?
        };
        if version == 1 {
            requirements.set("network", network.to_json());
            let amount = entry.read("maxAmountRequired", Amount::from_json)?;
            if entry
                .read_opt("amount", Amount::from_json)?
                .is_some_and(|other| other != amount)
            {
                return Err(Error::new(Code::PaymentRequiredInvalid, "amount"));
            }
            requirements.set("amount", amount.to_json());
        } else {
            entry.read("amount", Amount::from_json)?;
        }
        timeout(entry)?;
        for name in ["asset", "payTo"] {
            entry.read(name, Json::as_str)?;
            if scheme == "exact" && network.chain_id().is_some() {
                entry.read(name, Address::from_json)?;
            }
        }
        entry.read_opt("extra", Json::as_object)?;
        Ok(Offer { requirements })
    }

    /// Network and asset, when the offer is on an `eip155` network. The scheme is not looked at.
    pub fn rail(&self) -> Option<(Network, Address)> {
        let network = self.requirements.read("network", Network::from_json).ok()?;
        let asset = self.requirements.read("asset", Address::from_json).ok()?;
        network.chain_id().map(|_| (network, asset))
    }

    /// Whether its scheme is `upto`: a price of which the seller settles as much as was used.
    pub fn is_upto(&self) -> bool {
        self.requirements.get("scheme") == Some(&Json::text("upto"))
    }

    /// The method that the offer names; when it names none EIP-3009, with scheme `upto` Permit2. `None` for one that is not known
    /// here.
    pub fn method(&self) -> Option<Method> {
        let extra = self.requirements.get("extra");
        match extra.and_then(|extra| extra.get("assetTransferMethod")) {
            None if self.is_upto() => Some(Method::Permit2),
            None => Some(Method::Eip3009),
            Some(method) => Method::from_json(method).ok().filter(|one| *one != Method::Tempo),
        }
    }

    /// The terms, when the offer is one that is paid here: scheme `exact` with EIP-3009 or Permit2, scheme `upto` with Permit2 and an
    /// `extra.facilitatorAddress`; an `eip155` network, plain authorization flow. Errors in this order: `no_supported_payment_option`, those of the typed members,
    /// `timeout_invalid`, `payment_required_invalid` (no domain in `extra` and no known token),
    /// `domain_mismatch_known_asset`, those of a fee split, which is known for EIP-3009 alone.
    pub fn terms(&self) -> Result<Terms, Error> {
        self.read_terms().map_err(shape(Code::PaymentRequiredInvalid))
    }

    fn read_terms(&self) -> Result<Terms, Error> {
        let entry = &self.requirements;
        let unsupported = |field: &str| Error::new(Code::NoSupportedOption, field);
        let upto = self.is_upto();
        if entry.read("scheme", Json::as_str)? != "exact" && !upto {
            return Err(unsupported("scheme"));
        }
        let network = entry.read("network", Network::from_json)?;
        let chain_id = network.chain_id().ok_or_else(|| unsupported("network"))?;
        let extra = |name: &str| entry.get("extra").and_then(|extra| extra.get(name));
        let method = self
            .method()
            .ok_or_else(|| unsupported("extra.assetTransferMethod"))?;
        if extra("paymentFlow").is_some_and(|flow| *flow != Json::text("authorization")) {
            return Err(unsupported("extra.paymentFlow"));
        }
        let asset = entry.read("asset", Address::from_json)?;
        let pay_to = entry.read("payTo", Address::from_json)?;
        let amount = entry.read("amount", Amount::from_json)?;
        let max_timeout = timeout(entry)?;
        let signing = match method {
            Method::Permit2 if upto => {
                let facilitator = entry.read("extra", |extra| {
                    extra.read("facilitatorAddress", Address::from_json)
                });
                Signing::Upto(facilitator?)
            }
            Method::Eip3009 if upto => return Err(unsupported("extra.assetTransferMethod")),
            Method::Tempo => return Err(unsupported("extra.assetTransferMethod")),
            Method::Eip3009 => Signing::Eip3009(domain(entry, &network, chain_id, asset)?),
            Method::Permit2 => Signing::Permit2,
        };
        let whole = Share { to: pay_to, amount };
        let shares = match (extra(fee_split::MEMBER), method) {
            (None, _) => Ok(vec![whole]),
            (Some(split), Method::Eip3009) => fee_split::shares(split, pay_to, amount),
            (Some(_), Method::Permit2 | Method::Tempo) => Err(Error::new(Code::SplitUnsupported, "")),
        };
        let shares = shares.map_err(|error| error.within(fee_split::MEMBER).within("extra"))?;
        Ok(Terms {
            shares,
            network,
            asset,
            pay_to,
            amount,
            fee: Amount::ZERO,
            max_timeout,
            signing,
            dictated: None,
        })
    }
}

/// The domain the offer names, which must be the token's own where that is known; a known token needs no naming.
fn domain(entry: &Json, network: &Network, chain_id: u64, asset: Address) -> Result<Domain, Error> {
    let known = known_token(network, &asset);
    let part = |name: &str, pinned: Option<&str>| -> Result<String, Error> {
        let field = format!("extra.{name}");
        let value = match entry.get("extra").and_then(|extra| extra.get(name)) {
            Some(value) => Some(value.as_str().map_err(|error| error.within(&field))?),
            None => None,
        };
        match (value, pinned) {
            (Some(value), Some(pinned)) if value != pinned => Err(Error::new(Code::DomainMismatch, field)),
            (Some(value), _) | (None, Some(value)) => Ok(value.to_owned()),
            (None, None) => Err(Error::new(Code::MissingField, field)),
        }
    };
    Ok(Domain {
        name: part("name", known.map(|token| token.name))?,
        version: part("version", known.map(|token| token.version))?,
        chain_id,
        verifying_contract: asset,
    })
}

/// A version 1 network is a name; CAIP-2 text is read as well, since a price that was read once carries it.
fn v1_network(json: &Json) -> Result<Network, Error> {
    let name = json.as_str()?;
    Network::from_v1_name(name).or_else(|_| Network::parse(name))
}

fn timeout(entry: &Json) -> Result<u64, Error> {
    match entry.get("maxTimeoutSeconds").map(Json::as_u64) {
        Some(Ok(seconds)) if seconds > 0 => Ok(seconds),
        _ => Err(Error::new(Code::TimeoutInvalid, "maxTimeoutSeconds")),
    }
}
