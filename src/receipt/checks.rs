//! The list of checks behind a verdict, and its JSON.

use core::fmt::Display;

use super::material::Subject;
use crate::hex;
use crate::json::Json;

/// Every check there is: its permanent id, its title, and what a pass says.
pub(crate) const TABLE: &[(&str, &str, &str)] = &[
    (
        "format",
        "The document is well formed",
        "Every field that is read has its type and range.",
    ),
    (
        "intent.id",
        "The intent is its digest",
        "The id is the digest of the payer and of what was wanted.",
    ),
    (
        "quote.request",
        "The quote is for this request",
        "Method, URL and body digest give the recorded fingerprint.",
    ),
    (
        "quote.hash",
        "The offer was not changed",
        "The recorded terms and request give the recorded quote hash.",
    ),
    (
        "authorization.terms",
        "What was signed is what was offered",
        "Recipient, amount, network and token equal the offer's.",
    ),
    (
        "authorization.domain",
        "The token is the one it says",
        "The signing domain is that of a known token on this network.",
    ),
    (
        "authorization.digest",
        "The digest is that of what was signed",
        "Authorization and domain give the recorded digest.",
    ),
    (
        "authorization.nonce",
        "The nonce belongs to the intent",
        "The nonce is the one derived from the intent.",
    ),
    (
        "authorization.signature",
        "The payer signed the payment",
        "The authorization's signature recovers to the payer.",
    ),
    (
        "payment.header",
        "What was sent is what was signed",
        "The payment header holds this offer, authorization and signature.",
    ),
    (
        "signature",
        "It is signed by whom it says",
        "The signature over exactly these members is that of the key or account named.",
    ),
    (
        "signer.authorized",
        "The signer may speak for the seller",
        "The key is one that you trust for this.",
    ),
    (
        "offer.expiry",
        "The offer still holds",
        "The time that it names is not over.",
    ),
    (
        "record.consistent",
        "The record agrees with itself",
        "References, states and repeated values inside the record agree.",
    ),
    (
        "claim.statement",
        "The statement fits the time line",
        "What the payer says, and why, is what the recorded steps lead to.",
    ),
    (
        "claim.amount",
        "What is claimed is what moved",
        "The amount that the chain shows, of the most that was signed for, is the one claimed.",
    ),
    (
        "receipt.challenge",
        "The receipt is for the challenge that was paid",
        "Method, challenge and the service's own name of the purchase agree, where the receipt says them.",
    ),
    (
        "receipt.time",
        "The receipt's time fits",
        "The time that it names is plausible, not in the future and not older than you allow.",
    ),
    (
        "settlement.success",
        "The seller says that it settled",
        "The settlement response reports success.",
    ),
    (
        "settlement.network",
        "Settled on the network that was signed for",
        "The networks are equal.",
    ),
    (
        "settlement.payer",
        "Settled for this payer",
        "The payers are equal.",
    ),
    (
        "settlement.payTo",
        "Settled to this recipient",
        "The recipients are equal.",
    ),
    (
        "settlement.asset",
        "Settled in this token",
        "The tokens are equal.",
    ),
    (
        "settlement.amount",
        "Settled for this amount",
        "The amounts are equal.",
    ),
    (
        "settlement.transaction",
        "The seller names the transaction that paid",
        "The transactions are equal.",
    ),
    (
        "chain.source",
        "The chain was read",
        "The caller handed in readable chain evidence, and trusts its source.",
    ),
    (
        "chain.authorization",
        "The authorization was used",
        "The token's AuthorizationUsed names this payer and nonce.",
    ),
    (
        "chain.transfer",
        "The money moved as signed",
        "The token's Transfer has exactly this payer, recipient and amount.",
    ),
    (
        "chain.finality",
        "It can't be undone",
        "The block that was read is final.",
    ),
    (
        "journal.form",
        "The journal is well formed",
        "Every line is in its one form.",
    ),
    (
        "journal.hash",
        "No line was rewritten",
        "The content of every line has the hash that it names.",
    ),
    (
        "journal.order",
        "Every line follows the one it names",
        "Nothing was reordered, put in between or changed underneath.",
    ),
    (
        "journal.complete",
        "Nothing is missing before the last line",
        "The lines are numbered from 1 without a gap.",
    ),
    (
        "lineage.parents",
        "Every parent is there",
        "Each intent's parents lead to a root.",
    ),
    (
        "lineage.acyclic",
        "No intent descends from itself",
        "Going up from any intent ends.",
    ),
    (
        "lineage.depth",
        "The tree is not too deep",
        "No path has more than 32 intents.",
    ),
    (
        "lineage.tree",
        "Each intent stands in one tree",
        "What is said of an intent's parent agrees everywhere.",
    ),
    (
        "lineage.principal",
        "One payer from the root down",
        "Every intent of a tree has its root's payer.",
    ),
    (
        "lineage.scope",
        "Children only narrow",
        "No budget, list of recipients or time is wider than what is above it.",
    ),
    (
        "lineage.budget",
        "No budget was passed",
        "What is settled, held or unknown below each budget fits into it, or a signed approval covers the rest.",
    ),
    (
        "lineage.state",
        "Every state follows from evidence",
        "What is called over is shown to be over by the recorded reads.",
    ),
    (
        "lineage.approvals",
        "Approvals are what was signed",
        "Each one's signature recovers, and what names it fits into it.",
    ),
    (
        "delivery.hash",
        "The answer is the recorded one",
        "SHA-256 of the exact bytes equals the recorded digest.",
    ),
    (
        "delivery.length",
        "The answer is complete",
        "The number of bytes equals the recorded length.",
    ),
    (
        "expect.kind",
        "It is the kind of document expected",
        "The kinds are equal.",
    ),
    (
        "expect.payer",
        "It is the payer expected",
        "The payers are equal.",
    ),
    (
        "expect.payTo",
        "It is the recipient expected",
        "The recipients are equal.",
    ),
    (
        "expect.resource",
        "It is the resource expected",
        "The URLs are equal in every part.",
    ),
    (
        "expect.amount",
        "It is the amount expected",
        "The amounts are equal.",
    ),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum State {
    Pass,
    Fail,
    NotChecked,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Check {
    prefix: String,
    id: &'static str,
    state: State,
    /// Empty for what the table says of it.
    why: String,
    sides: Option<(String, String)>,
    required: bool,
}

/// Checks in the order in which they were made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Checks {
    /// Stands before every id, such as `purchase[1].`.
    pub prefix: String,
    /// Only what was found counts: nobody reads why. Of the many lines of an audit the texts would be most of the work.
    silent: bool,
    list: Vec<Check>,
}

impl Check {
    fn is(&self, prefix: &str, id: &str) -> bool {
        self.id == id && self.prefix == prefix
    }

    fn name(&self) -> String {
        [self.prefix.as_str(), self.id].concat()
    }
}

impl Checks {
    /// None yet, of which nobody will read why where they are silent.
    pub fn new(silent: bool) -> Checks {
        Checks {
            silent,
            ..Checks::default()
        }
    }

    /// What only a reader of the report needs.
    pub fn told<T>(&self, text: impl FnOnce() -> T) -> Option<T> {
        (!self.silent).then(text)
    }

    fn add(
        &mut self,
        id: &'static str,
        required: bool,
        state: State,
        why: &str,
        sides: Option<(String, String)>,
    ) {
        let why = self.told(|| why.to_owned()).unwrap_or_default();
        self.list.push(Check {
            prefix: self.prefix.clone(),
            id,
            state,
            why,
            sides,
            required,
        });
    }

    /// An empty list under the same prefix.
    pub fn beside(&self) -> Checks {
        Checks {
            prefix: self.prefix.clone(),
            silent: self.silent,
            list: Vec::new(),
        }
    }

    /// A required check that passed.
    pub fn pass(&mut self, id: &'static str) {
        self.add(id, true, State::Pass, "", None);
    }

    /// A required check that passed, and why.
    pub fn pass_because(&mut self, id: &'static str, why: &str) {
        self.add(id, true, State::Pass, why, None);
    }

    /// A required check that failed.
    pub fn fail(&mut self, id: &'static str, why: &str) {
        self.add(id, true, State::Fail, why, None);
    }

    /// A required check for which something is missing.
    pub fn missing(&mut self, id: &'static str, why: &str) {
        self.add(id, true, State::NotChecked, why, None);
    }

    /// A check that this document does not need.
    pub fn skip(&mut self, id: &'static str, why: &str) {
        self.add(id, false, State::NotChecked, why, None);
    }

    /// A required check that two values are equal, both shown.
    pub fn equal<T: PartialEq + Display + ?Sized>(&mut self, id: &'static str, expected: &T, actual: &T) {
        self.compare(id, expected == actual, || {
            (expected.to_string(), actual.to_string())
        });
    }

    /// A required check that two digests are equal, both shown.
    pub fn equal_bytes(&mut self, id: &'static str, expected: &[u8; 32], actual: &[u8; 32]) {
        self.compare(id, expected == actual, || {
            (hex::encode(expected), hex::encode(actual))
        });
    }

    /// A required comparison made by the caller, both sides shown.
    pub fn compare(&mut self, id: &'static str, equal: bool, sides: impl FnOnce() -> (String, String)) {
        let (state, why) = if equal {
            (State::Pass, "")
        } else {
            (State::Fail, "The two sides differ.")
        };
        let sides = self.told(sides);
        self.add(id, true, state, why, sides);
    }

    /// A required comparison that failed, both sides shown, and why.
    pub fn differ(&mut self, id: &'static str, why: &str, sides: impl FnOnce() -> (String, String)) {
        let sides = self.told(sides);
        self.add(id, true, State::Fail, why, sides);
    }

    /// The check of this id, where it was not made, is one that this document does not need.
    pub fn relax(&mut self, id: &str) {
        let prefix = self.prefix.as_str();
        let open = |check: &&mut Check| check.state == State::NotChecked && check.is(prefix, id);
        if let Some(check) = self.list.iter_mut().find(open) {
            check.required = false;
        }
    }

    /// Takes the check of this id from several lists: the first that failed, else the first that was not made, else the
    /// last.
    pub fn worst(&mut self, id: &str, lists: &[Checks]) {
        let prefix = self.prefix.as_str();
        let made = || {
            lists
                .iter()
                .filter_map(|checks| checks.list.iter().find(|check| check.is(prefix, id)))
        };
        let state =
            |state| made().find(|check| check.state == state && (state == State::Fail || check.required));
        let worst = state(State::Fail)
            .or_else(|| state(State::NotChecked))
            .or_else(|| made().next_back());
        self.list.extend(worst.cloned());
    }

    /// Whether the check of this id, under the present prefix, passed.
    pub fn passed(&self, id: &str) -> bool {
        self.is(id, State::Pass)
    }

    /// Whether the check of this id, under the present prefix, failed.
    pub fn failed(&self, id: &str) -> bool {
        self.is(id, State::Fail)
    }

    fn is(&self, id: &str, state: State) -> bool {
        self.list
            .iter()
            .any(|check| check.state == state && check.is(&self.prefix, id))
    }

    fn of(&self, wanted: fn(&Check) -> bool) -> impl Iterator<Item = String> + '_ {
        self.list
            .iter()
            .filter(move |check| wanted(check))
            .map(Check::name)
    }

    fn verdict(&self) -> &'static str {
        if self.list.iter().any(|check| check.state == State::Fail) {
            "failed"
        } else if self
            .list
            .iter()
            .all(|check| !check.required || check.state == State::Pass)
        {
            "verified"
        } else {
            "incomplete"
        }
    }

    /// The report on them.
    pub fn report(
        self,
        facts: Option<Json>,
        subject: Subject,
        does_not_prove: &'static [&'static str],
    ) -> Report {
        Report {
            checks: self,
            facts: facts.unwrap_or(Json::Null),
            subject,
            does_not_prove,
        }
    }
}

/// What is known about one document.
pub(crate) struct Report {
    checks: Checks,
    /// What the document says; null of one that was judged in silence.
    facts: Json,
    /// What it is about.
    pub subject: Subject,
    does_not_prove: &'static [&'static str],
}

impl Report {
    /// `failed` when any check failed, `verified` when every required one passed, else `incomplete`.
    pub fn verdict(&self) -> &'static str {
        self.checks.verdict()
    }

    /// The ids of the checks that failed, in their order.
    pub fn failed(&self) -> impl Iterator<Item = String> + '_ {
        self.checks.of(|check| check.state == State::Fail)
    }

    /// The ids of the required checks that were not made, in their order.
    pub fn missing(&self) -> impl Iterator<Item = String> + '_ {
        self.checks
            .of(|check| check.state == State::NotChecked && check.required)
    }

    /// Whether the check of this id passed.
    pub fn passed(&self, id: &str) -> bool {
        self.checks.passed(id)
    }

    /// `{verdict, checks, facts, doesNotProve}`.
    pub fn to_json(&self) -> Json {
        let verdict = Json::text(self.verdict());
        let checks = self.checks.list.iter().map(|check| {
            let known = TABLE.iter().find(|(known, ..)| *known == check.id);
            let (_, title, says) = known.unwrap_or(&("", "", ""));
            let why = Some(check.why.as_str()).filter(|why| !why.is_empty());
            let (expected, actual) = check.sides.as_ref().map(|(one, other)| (one, other)).unzip();
            Json::object([
                ("id", Json::text(check.name())),
                (
                    "state",
                    Json::text(match check.state {
                        State::Pass => "pass",
                        State::Fail => "fail",
                        State::NotChecked => "not_checked",
                    }),
                ),
                ("title", Json::text(*title)),
                ("why", Json::text(why.unwrap_or(says))),
            ])
            .with_some("expected", expected.map(Json::text))
            .with_some("actual", actual.map(Json::text))
            .with("required", Json::Bool(check.required))
        });
        Json::object([
            ("verdict", verdict),
            ("checks", Json::Array(checks.collect())),
            ("facts", self.facts.clone()),
            (
                "doesNotProve",
                Json::Array(self.does_not_prove.iter().map(|text| Json::text(*text)).collect()),
            ),
        ])
    }
}
