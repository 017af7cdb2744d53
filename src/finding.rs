//! One thing that a person, or another rule, should look at.

use crate::address::Address;
use crate::amount::Amount;
use crate::error::{Code, Next};
use crate::json::Json;
use crate::network::Network;

/// Whether somebody has to be woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Severity {
    /// Worth knowing.
    Info,
    /// Money or identity is at stake.
    Alert,
}

impl Severity {
    /// The text used on every boundary.
    pub const fn as_str(self) -> &'static str {
        match self {
            Severity::Info => "info",
            Severity::Alert => "alert",
        }
    }
}

/// A finding: what, how urgent, about whom, and the one thing to do.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Finding {
    /// Of the registry.
    pub code: Code,
    /// How urgent.
    pub severity: Severity,
    /// Intents concerned.
    pub intents: Vec<String>,
    /// Attempts concerned.
    pub attempts: Vec<String>,
    /// Transactions concerned.
    pub transactions: Vec<String>,
    /// What is owed or claimed, with its token and network.
    pub amount: Option<(Amount, Address, Network)>,
    /// How much of it went back, as the chain shows.
    pub refunded: Option<Amount>,
    /// The tool, where plain calls are concerned.
    pub tool: Option<String>,
    /// The key that was used twice.
    pub key: Option<String>,
    /// Names or pointers of the fields at fault.
    pub fields: Vec<String>,
    /// The one thing to do now.
    pub next: Next,
    /// One plain sentence.
    pub why: &'static str,
}

impl Finding {
    /// A finding about nobody yet, with the code's own `next`.
    pub fn new(code: Code, severity: Severity, why: &'static str) -> Finding {
        Finding {
            code,
            severity,
            intents: Vec::new(),
            attempts: Vec::new(),
            transactions: Vec::new(),
            amount: None,
            refunded: None,
            tool: None,
            key: None,
            fields: Vec::new(),
            next: code.next(),
            why,
        }
    }

    /// `{code, severity, intents, attempts, transactions?, amount?, refunded?, asset?, network?, tool?, key?, fields?, next, why}`.
    pub fn to_json(&self) -> Json {
        let texts = |list: &[String]| Json::Array(list.iter().map(Json::text).collect());
        let some = |list: &[String]| (!list.is_empty()).then(|| texts(list));
        let of = self.amount.as_ref();
        Json::object([
            ("code", Json::text(self.code.as_str())),
            ("severity", Json::text(self.severity.as_str())),
            ("intents", texts(&self.intents)),
            ("attempts", texts(&self.attempts)),
        ])
        .with_some("transactions", some(&self.transactions))
        .with_some("amount", of.map(|(amount, ..)| amount.to_json()))
        .with_some("refunded", self.refunded.map(|amount| amount.to_json()))
        .with_some("asset", of.map(|(_, asset, _)| asset.to_json()))
        .with_some("network", of.map(|(.., network)| network.to_json()))
        .with_some("tool", self.tool.as_deref().map(Json::text))
        .with_some("key", self.key.as_deref().map(Json::text))
        .with_some("fields", some(&self.fields))
        .with("next", Json::text(self.next.as_str()))
        .with("why", Json::text(self.why))
    }
}
