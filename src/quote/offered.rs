//! One offer of either protocol: an entry of an x402 price, or one challenge of the Payment scheme. What a quote freezes, how it is
//! paid, and what the payment looks like on the wire.

use crate::authorization::Authorization;
use crate::error::{Code, Error};
use crate::json::Json;
use crate::mpp::challenge::Challenge;
use crate::mpp::charge::Charge;
use crate::mpp::credential::{self, Credential};
use crate::mpp::SCHEME;
use crate::x402::payment_required::{Offer, PaymentRequired, Terms};
use crate::x402::{payment_identifier, payment_payload};

/// Which protocol carries the payment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// x402: the payer picks the nonce.
    X402,
    /// The Payment scheme: the challenge dictates it.
    Mpp,
}

impl Protocol {
    /// The protocol whose terms these are: a dictated nonce is a challenge's.
    pub const fn of(terms: &Terms) -> Protocol {
        match terms.dictated {
            Some(_) => Protocol::Mpp,
            None => Protocol::X402,
        }
    }

    /// The text in the journal.
    pub const fn as_str(self) -> &'static str {
        match self {
            Protocol::X402 => "x402",
            Protocol::Mpp => "mpp",
        }
    }

    /// Reads that text. Error: `no_supported_payment_option`.
    pub fn from_json(json: &Json) -> Result<Protocol, Error> {
        let text = json.as_str()?;
        [Protocol::X402, Protocol::Mpp]
            .into_iter()
            .find(|protocol| protocol.as_str() == text)
            .ok_or_else(|| Error::new(Code::NoSupportedOption, ""))
    }
}

/// One offer, with what belongs to it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Offered {
    /// An entry of an x402 price, and the price with this entry alone.
    X402(Box<(Offer, PaymentRequired)>),
    /// A challenge.
    Mpp(Box<Challenge>),
}

/// A payment as it is sent: the field, its value, and what the value holds.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Payment {
    /// Name of the header field.
    pub name: &'static str,
    /// Its value.
    pub value: String,
    /// The value, decoded.
    pub content: Json,
}

impl Offered {
    /// Reads what [`Offered::requirements`] and [`Offered::required`] wrote. Errors: those of the price or of the challenge.
    pub fn read(required: &Json, requirements: &Json) -> Result<Offered, Error> {
        if required.get("scheme") == Some(&Json::text(SCHEME)) {
            let challenge = Challenge::from_json(requirements)?;
            return Ok(Offered::Mpp(Box::new(challenge)));
        }
        let required = PaymentRequired::of_quote(required, requirements)?;
        let offer = Offer {
            requirements: requirements.clone(),
        };
        Ok(Offered::X402(Box::new((offer, required))))
    }

    /// An entry of this price. Error: `no_supported_payment_option` when there is none at that place.
    pub fn entry(required: &PaymentRequired, index: usize) -> Result<Offered, Error> {
        let missing = || Error::new(Code::NoSupportedOption, "");
        let offer = required.offers.get(index).ok_or_else(missing)?.clone();
        let alone = PaymentRequired {
            offers: vec![offer.clone()],
            places: vec![0],
            unread: None,
            ..required.clone()
        };
        Ok(Offered::X402(Box::new((offer, alone))))
    }

    /// The protocol.
    pub fn protocol(&self) -> Protocol {
        match self {
            Offered::X402(_) => Protocol::X402,
            Offered::Mpp(_) => Protocol::Mpp,
        }
    }

    /// The challenge, where it is one.
    pub fn challenge(&self) -> Option<&Challenge> {
        match self {
            Offered::X402(_) => None,
            Offered::Mpp(challenge) => Some(challenge),
        }
    }

    /// The offer as it came: what [`super::quote_hash`] hashes.
    pub fn requirements(&self) -> Json {
        match self {
            Offered::X402(both) => both.0.requirements.clone(),
            Offered::Mpp(challenge) => challenge.to_json(),
        }
    }

    /// The rest of the answer: version, resource and extensions of x402, or the scheme.
    pub fn required(&self) -> Json {
        match self {
            Offered::X402(both) => {
                let mut required = both.1.to_json();
                if let Json::Object(members) = &mut required {
                    members.retain(|(name, _)| name != "accepts");
                }
                required
            }
            Offered::Mpp(_) => Json::object([("scheme", Json::text(SCHEME))]),
        }
    }

    /// Whether the seller takes a payment id beside the payment.
    pub fn takes_payment_id(&self) -> bool {
        match self {
            Offered::X402(both) => payment_identifier::declared(&both.1).is_some(),
            Offered::Mpp(_) => false,
        }
    }

    /// What is to be signed. Errors: those of [`Offer::terms`] or of [`Charge::terms`].
    pub fn terms(&self) -> Result<Terms, Error> {
        match self {
            Offered::X402(both) => both.0.terms(),
            Offered::Mpp(challenge) => Charge::terms(challenge),
        }
    }

    /// The payment of what was signed, one authorization for each share of the terms. Errors: those of the payload;
    /// `typed_data_invalid` where that is not one EIP-3009 authorization or one transaction, which alone pay a challenge.
    pub fn payment(
        &self,
        signed: &[(&Authorization, &str)],
        payment_id: Option<&str>,
    ) -> Result<Payment, Error> {
        match (self, signed) {
            (Offered::X402(both), _) => {
                let (offer, required) = both.as_ref();
                let content = payment_payload::build_signed(required, offer, signed, payment_id)?;
                let (name, value) = payment_payload::encode(&content)?;
                Ok(Payment { name, value, content })
            }
            (Offered::Mpp(challenge), [(one, signature)]) => {
                let own = challenge.as_ref().clone();
                let credential = match one {
                    Authorization::Eip3009(one, domain) => {
                        Credential::of_authorization(own, domain.chain_id, one, signature)
                    }
                    Authorization::Tempo(order) => Credential::of_transaction(own, order, signature),
                    Authorization::Permit2(..) => return Err(Error::new(Code::TypedDataInvalid, "")),
                };
                Ok(Payment {
                    name: challenge.carrier(),
                    value: credential.encode(),
                    content: credential.to_json(),
                })
            }
            (Offered::Mpp(_), _) => Err(Error::new(Code::TypedDataInvalid, "")),
        }
    }

    /// What a header value of this protocol holds. Errors: those of the payload or of the credential.
    pub fn content(&self, value: &str) -> Result<Json, Error> {
        match self {
            Offered::X402(_) => payment_payload::parse(value),
            Offered::Mpp(_) => credential::parse(value).map(|credential| credential.to_json()),
        }
    }
}
