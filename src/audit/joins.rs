//! What a line is joined by, and the keys that lines share.

use super::accounts::Spelling;
use crate::address::Address;
use crate::digest;
use crate::hex;
use crate::json::Json;
use crate::network::Network;
use crate::receipt::Subject;

/// What a document says about its payment. Hexadecimal texts are in lower case, addresses with their checksum.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Joins {
    /// SHA-256 of what is signed, where the document is; else of its RFC 8785 text.
    pub receipt: Option<String>,
    /// The intent it was for.
    pub intent: Option<String>,
    /// The payment id it went under.
    pub payment_id: Option<String>,
    /// CAIP-2 network.
    pub network: Option<String>,
    /// Token.
    pub asset: Option<String>,
    /// Payer.
    pub payer: Option<String>,
    /// Recipient.
    pub pay_to: Option<String>,
    /// Atomic units.
    pub amount: Option<String>,
    /// Of the authorization.
    pub nonce: Option<String>,
    /// That settled it.
    pub transaction: Option<String>,
    /// SHA-256 of the answer that was bought.
    pub response: Option<String>,
    /// What was bought.
    pub resource: Option<String>,
    /// The chain shows this payment in this transaction.
    pub shown: bool,
    /// The document is one that somebody signed.
    pub signed: bool,
}

/// The longest resource that is kept.
const LONGEST_RESOURCE: usize = 2048;

impl Joins {
    /// What a document says.
    pub(super) fn of(subject: &Subject, spelling: &mut Spelling) -> Joins {
        let foreign = |name: &str| subject.foreign.iter().find(|(member, _)| *member == name);
        let mut account = |name: &str, address: Option<Address>| match foreign(name) {
            Some((_, text)) => Some(text.clone()),
            None => address.map(|address| spelling.of(address)),
        };
        let lower = |text: &String| match text.starts_with("0x") {
            true => text.to_ascii_lowercase(),
            // Hashes of other networks tell cases apart.
            false => text.clone(),
        };
        Joins {
            receipt: None,
            intent: subject.intent.clone(),
            payment_id: None,
            network: subject.network.as_ref().map(Network::to_string),
            asset: account("asset", subject.asset),
            payer: account("payer", subject.payer),
            pay_to: account("payTo", subject.pay_to),
            amount: subject.amount.map(|amount| amount.to_string()),
            nonce: None,
            transaction: subject.transaction.as_ref().map(lower),
            response: subject.sha256.map(hex::encode),
            resource: subject
                .resource
                .clone()
                .filter(|resource| resource.len() <= LONGEST_RESOURCE),
            shown: false,
            signed: false,
        }
    }

    /// Of what a payer's record says to read from the chain the nonce of the attempt that paid, else of the last one.
    pub(super) fn recorded(&self, targets: &Json) -> Option<String> {
        let targets = targets.as_array().ok()?;
        let named = |target: &&Json| {
            let named = target.get("transaction").and_then(|named| named.as_str().ok());
            let own = self.transaction.as_deref();
            named.is_some_and(|named| own.is_some_and(|own| named.eq_ignore_ascii_case(own)))
        };
        let target = targets.iter().find(named).or(targets.last())?;
        target.get("nonce")?.as_string().ok()
    }

    /// The members of a verdict's `keys`, by name.
    pub(super) fn members(&self) -> [(&'static str, &Option<String>); 12] {
        [
            ("receipt", &self.receipt),
            ("intent", &self.intent),
            ("paymentId", &self.payment_id),
            ("network", &self.network),
            ("asset", &self.asset),
            ("payer", &self.payer),
            ("payTo", &self.pay_to),
            ("amount", &self.amount),
            ("nonce", &self.nonce),
            ("transaction", &self.transaction),
            ("response", &self.response),
            ("resource", &self.resource),
        ]
    }

    /// Which payment it is, as far as the document says: the transaction, else the authorization.
    pub(super) fn payment(&self) -> Option<(&str, &str)> {
        let network = self.network.as_deref().unwrap_or_default();
        let payment = self.transaction.as_deref().or(self.nonce.as_deref());
        payment.map(|payment| (network, payment))
    }

    /// The transaction. The hash of one on an EVM network names that network too, so that it is one for a document that does not.
    pub(super) fn settled_in(&self) -> Option<(&str, &str)> {
        let transaction = self.transaction.as_deref()?;
        let network = self.network.as_deref().unwrap_or_default();
        match transaction.starts_with("0x") && transaction.len() == 66 {
            true => Some(("", transaction)),
            false => Some((network, transaction)),
        }
    }

    /// The authorization's place in its token.
    pub(super) fn slot(&self) -> Option<[&str; 4]> {
        Some([
            self.network.as_deref().unwrap_or_default(),
            self.asset.as_deref().unwrap_or_default(),
            self.payer.as_deref()?,
            self.nonce.as_deref()?,
        ])
    }

    /// What other lines may share.
    pub(super) fn shared(&self) -> Vec<Shared> {
        let one = |text: &Option<String>, kind| text.as_deref().map(|text| Shared::of(kind, &[text]));
        let settled = self.settled_in();
        [
            one(&self.receipt, Kind::Receipt),
            settled.map(|(network, transaction)| Shared::of(Kind::Transaction, &[network, transaction])),
            self.slot().map(|slot| Shared::of(Kind::Authorization, &slot)),
            one(&self.intent, Kind::Intent),
            one(&self.payment_id, Kind::PaymentId),
            one(&self.response, Kind::Response),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

/// What a shared key is a key of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// One document.
    Receipt,
    /// A transaction.
    Transaction,
    /// A payer's nonce in a token.
    Authorization,
    /// An intent.
    Intent,
    /// A payment id.
    PaymentId,
    /// The bytes of an answer.
    Response,
}

impl Kind {
    /// All of them; the place is the number that stands in a key.
    pub const ALL: [Kind; 6] = [
        Kind::Receipt,
        Kind::Transaction,
        Kind::Authorization,
        Kind::Intent,
        Kind::PaymentId,
        Kind::Response,
    ];

    /// The text used on every boundary.
    pub const fn as_str(self) -> &'static str {
        match self {
            Kind::Receipt => "receipt",
            Kind::Transaction => "transaction",
            Kind::Authorization => "authorization",
            Kind::Intent => "intent",
            Kind::PaymentId => "paymentId",
            Kind::Response => "response",
        }
    }

    /// The byte that a key of this kind begins with.
    pub const fn byte(self) -> u8 {
        match self {
            Kind::Receipt => 0,
            Kind::Transaction => 1,
            Kind::Authorization => 2,
            Kind::Intent => 3,
            Kind::PaymentId => 4,
            Kind::Response => 5,
        }
    }
}

/// A key in 16 bytes: its kind, and 120 bits of the SHA-256 of what is shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Join(pub [u8; 16]);

/// What is shared, before it is hashed.
pub struct Shared {
    kind: Kind,
    text: String,
}

impl Shared {
    fn of(kind: Kind, parts: &[&str]) -> Shared {
        // No part holds a line feed, but an id may: it is always the only one.
        Shared {
            kind,
            text: parts.join("\n"),
        }
    }
}

impl Join {
    /// The keys of what is shared, hashed together.
    pub fn of_all(shared: &[Shared]) -> Vec<Join> {
        let texts: Vec<&[u8]> = shared.iter().map(|one| one.text.as_bytes()).collect();
        let hashes = digest::sha256_of_all(&texts);
        let all = shared.iter().zip(hashes);
        all.map(|(one, hash)| {
            let mut key = [0; 16];
            key.iter_mut().zip(hash).for_each(|(key, byte)| *key = byte);
            if let Some(first) = key.first_mut() {
                *first = one.kind.byte();
            }
            Join(key)
        })
        .collect()
    }
}
