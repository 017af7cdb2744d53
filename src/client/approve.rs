//! What a person is asked, and what a signed answer covers.
//!
//! With approvers on the policy's list a host's yes is not enough: the answer is a document that one of them signed. The question is written down
//! before it is asked, one for an intent, and the wallet's record says how much of each answer is used.

use super::effect::{Record, Write};
use super::offers::Choice;
use super::record::{self, Wallet};
use super::{price, Config, Context, State};
use crate::address::Address;
use crate::amount::Amount;
use crate::approval::{request_hash, Answer, Approval, Refusal};
use crate::error::{Code, Error};
use crate::fingerprint::Request;
use crate::hex;
use crate::json::Json;
use crate::policy::Spent;
use crate::time::Seconds;
use crate::x402::payment_required::Terms;

/// What happens where the answer is no, or none comes.
const IF_NO: &str =
    "Nothing is signed and nothing is paid. The call ends with an error, and the same call asks again.";

/// The question, with everything that a person needs to answer it.
pub(super) fn request(state: &State, choice: &Choice, reasons: &[String], context: Context<'_>) -> Json {
    let terms = &choice.terms;
    let wallet = &state.wallet;
    let spent = sum(wallet.entries.iter().map(|entry| &entry.spent), terms);
    let shares = terms
        .shares
        .iter()
        .map(|share| Json::object([("payTo", share.to.to_json()), ("amount", share.amount.to_json())]));
    let parts = (terms.shares.len() > 1).then(|| Json::Array(shares.collect()));
    let paid = |to: Address| {
        let entries = wallet.entries.iter();
        entries
            .flat_map(|entry| &entry.spent.to)
            .any(|share| share.to == to)
    };
    let new = terms.shares.iter().any(|share| !paid(share.to));
    let path = super::tree::path(state, context);
    let request = state.start.request.as_ref().map(Request::to_json);
    let intent = state.intent.as_ref();
    let parent = intent
        .and_then(|intent| intent.parent.clone())
        .or_else(|| state.start.parent.clone());
    Json::object([
        ("intentId", Json::text(state.intent_id.as_str())),
        ("reason", Json::text(reasons.first().map_or("", String::as_str))),
        ("reasons", Json::Array(reasons.iter().map(Json::text).collect())),
        ("amount", terms.cost().to_json()),
        ("network", terms.network.to_json()),
        ("asset", terms.asset.to_json()),
        ("payTo", terms.pay_to.to_json()),
        ("spent", spent.to_json()),
        ("payer", context.config.payer.to_json()),
        ("actor", Json::text(context.config.actor.as_str())),
        ("at", Json::number(context.now)),
        ("newRecipient", Json::Bool(new)),
        ("ifNo", Json::text(IF_NO)),
    ])
    .with_some("parts", parts)
    .with_some("purpose", state.start.purpose.as_deref().map(Json::text))
    .with_some("parent", parent.map(Json::String))
    .with(
        "path",
        Json::Array(path.iter().map(|id| Json::text(id.as_str())).collect()),
    )
    .with_some("request", request)
}

/// What is held and spent of one token. A sum that overflows is the largest number there is.
pub(super) fn sum<'a>(entries: impl Iterator<Item = &'a Spent>, terms: &Terms) -> Amount {
    entries
        .filter(|entry| entry.is_on(terms))
        .map(|entry| entry.amount)
        .fold(Amount::ZERO, Amount::saturating_add)
}

/// Whether two questions about one intent are the same: what was spent since, and when it was asked, may differ.
pub(super) fn is_same(one: &Json, other: &Json) -> bool {
    [
        "intentId", "amount", "network", "asset", "payTo", "parts", "reasons", "payer",
    ]
    .iter()
    .all(|name| one.get(name) == other.get(name))
}

/// The approval that these terms are covered by, where they need one: by its hash. Errors: those of [`price::reasons`].
pub(super) fn covering(
    state: &State,
    terms: &Terms,
    besides: &str,
    context: Context<'_>,
) -> Result<Option<String>, Error> {
    let approvers = context.config.policy.approvers();
    if approvers.is_empty() || price::reasons(state, terms, besides, context)?.is_empty() {
        return Ok(None);
    }
    let path = super::tree::path(state, context);
    let known = state.wallet.approvals.iter().chain(&state.granted);
    let mut covering = known.filter_map(|document| {
        let (approval, signature) = Approval::from_json(document).ok()?;
        approval.check_signer(&signature, approvers).ok()?;
        let hash = hex::encode(approval.hash().ok()?);
        let covers = approval.payer == context.config.payer
            && context.now < approval.expires_at
            && path.contains(&approval.intent_id)
            && fits(&approval, &hash, terms, &state.wallet, besides);
        covers.then_some(hash)
    });
    Ok(covering.next())
}

/// Whether the price fits into what is left of an approval.
fn fits(approval: &Approval, hash: &str, terms: &Terms, wallet: &Wallet, besides: &str) -> bool {
    let used = wallet
        .entries
        .iter()
        .filter(|entry| entry.id != besides && entry.approval.as_deref() == Some(hash));
    let used = sum(used.map(|entry| &entry.spent), terms);
    (&approval.network, approval.asset) == (&terms.network, terms.asset)
        && used
            .checked_add(terms.cost())
            .is_some_and(|sum| sum <= approval.amount)
}

/// The answer that came in the call itself. Errors: those of [`meet`], `approval_untrusted` where there is none, `approval_exceeded`.
pub(super) fn granted(
    state: &State,
    choice: &Choice,
    answer: Option<&Json>,
    context: Context<'_>,
) -> Result<(), Error> {
    let answer = answer.ok_or_else(|| Error::new(Code::ApprovalUntrusted, "approval"))?;
    let asked = state.draft.as_ref();
    let asked = asked.ok_or_else(|| Error::new(Code::StateInvalid, "draft"))?;
    let within = |error: Error| error.within("approval");
    let approval = meet(
        context.config,
        answer,
        core::slice::from_ref(asked),
        &state.wallet,
        context.now,
    )
    .map_err(within)?;
    let hash = hex::encode(approval.hash()?);
    match fits(&approval, &hash, &choice.terms, &state.wallet, "") {
        true => Ok(()),
        false => Err(Error::new(Code::ApprovalExceeded, "approval.amount")),
    }
}

/// Whether an approval answers one of these questions. Errors in this order: those of [`Approval::from_json`], `approval_other_payer`,
/// `approval_untrusted`, `approval_expired`, `approval_replayed`, `approval_other_request`, `approval_other_intent`, `approval_exceeded`.
pub(super) fn meet(
    config: &Config,
    document: &Json,
    asked: &[Json],
    wallet: &Wallet,
    now: Seconds,
) -> Result<Approval, Error> {
    let (approval, signature) = Approval::from_json(document)?;
    let refuse = |code: Code, field: &str| Err(Error::new(code, field));
    if approval.payer != config.payer {
        return refuse(Code::ApprovalOtherPayer, "payer");
    }
    approval.check_signer(&signature, config.policy.approvers())?;
    if now >= approval.expires_at {
        return refuse(Code::ApprovalExpired, "expiresAt");
    }
    // What somebody else signed answers nothing, so that it stands in nobody's way.
    let signed = |known: &Json| {
        let approval = Approval::from_json(known);
        approval.is_ok_and(|(one, signature)| one.check_signer(&signature, config.policy.approvers()).is_ok())
    };
    let same = |known: &Json| known.get("request") == document.get("request");
    if wallet.approvals.iter().any(|known| same(known) && signed(known)) {
        return refuse(Code::ApprovalReplayed, "request");
    }
    let answered = asked
        .iter()
        .find(|asked| request_hash(asked) == Ok(approval.request));
    let Some(asked) = answered else {
        return refuse(Code::ApprovalOtherRequest, "request");
    };
    let path = asked.read("path", |path| path.as_list(Json::as_str))?;
    if !path.contains(&approval.intent_id.as_str()) {
        return refuse(Code::ApprovalOtherIntent, "intentId");
    }
    let named = |name: &str, value: Json| asked.get(name) == Some(&value);
    let token = named("network", approval.network.to_json()) && named("asset", approval.asset.to_json());
    let amount = asked.read("amount", Amount::from_json)?;
    match token && amount <= approval.amount {
        true => Ok(approval),
        false => refuse(Code::ApprovalExceeded, "amount"),
    }
}

/// Writes a signed answer down beside the question, for the call that asked. Errors: `approval_other_request` where there is no wallet, those of
/// [`meet`], those of the wallet's record.
pub fn accept(
    config: &Config,
    document: &Json,
    stands: Option<&Record>,
    now: Seconds,
) -> Result<Write, Error> {
    let within = |error: Error| error.within("approval");
    let found = stands.ok_or_else(|| Error::new(Code::ApprovalOtherRequest, "approval.request"))?;
    let mut wallet = record::from_text(&found.text, Wallet::from_json)?;
    // Whoever said no may say yes later.
    let refused = wallet.refused.iter().filter_map(|refused| refused.get("request"));
    let asked: Vec<Json> = wallet.asked.iter().chain(refused).cloned().collect();
    let approval = meet(config, document, &asked, &wallet, now).map_err(within)?;
    let answered = asked
        .iter()
        .find(|asked| request_hash(asked) == Ok(approval.request));
    if let Some(id) = answered.and_then(|asked| asked.get("intentId")?.as_str().ok()) {
        wallet.answered(id);
    }
    wallet.approvals.push(document.clone());
    written(config, found, &wallet)
}

/// Writes a signed no down in the place of the question: the call that asked ends as `approval_denied`, and so does every one that would ask the same. Errors in this
/// order: `approval_other_request` where there is no wallet, those of [`Refusal::from_json`], `approval_other_payer`, `approval_untrusted`, `approval_replayed`,
/// `approval_other_request`, `approval_other_intent`, those of the wallet's record.
pub fn refuse(config: &Config, document: &Json, stands: Option<&Record>) -> Result<Write, Error> {
    let refused = |code: Code, field: &str| Err(Error::new(code, field).within("refusal"));
    let Some(found) = stands else {
        return refused(Code::ApprovalOtherRequest, "request");
    };
    let mut wallet = record::from_text(&found.text, Wallet::from_json)?;
    let within = |error: Error| error.within("refusal");
    let (refusal, signature) = Refusal::from_json(document).map_err(within)?;
    if refusal.payer != config.payer {
        return refused(Code::ApprovalOtherPayer, "payer");
    }
    let approvers = config.policy.approvers();
    refusal.check_signer(&signature, approvers).map_err(within)?;
    let same = |known: &Json| {
        let request = known.get("refusal").and_then(|refusal| refusal.get("request"));
        request == document.get("request") && is_answered(known, approvers)
    };
    if wallet.refused.iter().any(same) {
        return refused(Code::ApprovalReplayed, "request");
    }
    let answered = wallet
        .asked
        .iter()
        .find(|asked| request_hash(asked) == Ok(refusal.request));
    let Some(asked) = answered.cloned() else {
        return refused(Code::ApprovalOtherRequest, "request");
    };
    if asked.read("intentId", Json::as_str)? != refusal.intent_id {
        return refused(Code::ApprovalOtherIntent, "intentId");
    }
    wallet.answered(&refusal.intent_id);
    wallet.refused.push(Json::object([
        ("intentId", Json::text(refusal.intent_id.as_str())),
        ("request", asked),
        ("refusal", document.clone()),
    ]));
    written(config, found, &wallet)
}

fn written(config: &Config, found: &Record, wallet: &Wallet) -> Result<Write, Error> {
    Ok(Write {
        key: Wallet::key(&config.payer),
        expect: Some(found.rev),
        put: wallet.to_json().to_canonical()?,
    })
}

/// Whether a no that was written down is one of these people's, to the request beside it.
fn is_answered(refused: &Json, approvers: &[Address]) -> bool {
    let read = refused
        .get("refusal")
        .map(Refusal::from_json)
        .and_then(Result::ok);
    let hash = refused.get("request").map(request_hash).and_then(Result::ok);
    read.is_some_and(|(refusal, signature)| {
        hash == Some(refusal.request) && refusal.check_signer(&signature, approvers).is_ok()
    })
}

/// Whether a person refused what would be asked.
pub(super) fn is_refused(wallet: &Wallet, request: &Json, context: Context<'_>) -> bool {
    let approvers = context.config.policy.approvers();
    wallet.refused.iter().any(|refused| {
        let same = refused
            .get("request")
            .is_some_and(|asked| is_same(asked, request));
        same && is_answered(refused, approvers)
    })
}
