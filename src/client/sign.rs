//! The signature: asked for, checked, and with the payment's exact bytes written down before anything is sent.

use super::buy::BACKDATED;
use super::record::WalletChange;
use super::{persist, tree, Context, Effect, Failure, Phase, State, Then};
use crate::attempt::{self, Attempt, Header};
use crate::authorization::Method;
use crate::erc1271::{self, Answer};
use crate::error::{Code, Error, Money};
use crate::hex;
use crate::json::Json;
use crate::mpp::challenge::Challenge;
use crate::quote::Offered;
use crate::time::Seconds;

/// Asks the signer for exactly what is written down, part by part.
pub(super) fn begin(state: &mut State) -> Result<Effect, Error> {
    state.part = 0;
    ask_signer(state)
}

fn ask_signer(state: &mut State) -> Result<Effect, Error> {
    state.phase = Phase::Sign;
    let slot = state.current()?.slot(state.part);
    let slot = slot.ok_or_else(|| Error::new(Code::StateInvalid, "part"))?;
    let Json::Object(asked) = slot.authorization.to_sign()? else {
        return Err(Error::new(Code::StateInvalid, "part"));
    };
    let mut what = slot.authorization.write(Json::object([]));
    for (name, value) in asked {
        what.set(&name, value);
    }
    Ok(Effect::Sign(what))
}

/// The signature is checked; with the last one all are built into the header, and written down together with the send that
/// follows.
pub(super) fn on_signed(state: &mut State, signature: &str, context: Context<'_>) -> Result<Effect, Error> {
    let part = state.part;
    let attempt = state.current()?;
    let slot = attempt.slot(part);
    let slot = slot.ok_or_else(|| Error::new(Code::StateInvalid, "part"))?;
    if context.config.contract_wallet {
        return by_contract(state, signature, context);
    }
    match slot.authorization.recover(signature) {
        Ok(signer) if signer == context.config.payer => {}
        Ok(_) => return Ok(drop_unsigned(state, Code::SignerMismatch.into(), context)),
        Err(error) => return Ok(drop_unsigned(state, error.within("signature").into(), context)),
    }
    let signature = match slot.authorization.method() {
        Method::Tempo => signature.to_ascii_lowercase(),
        Method::Eip3009 | Method::Permit2 => normalised(signature)?,
    };
    accept(state, signature, context)
}

/// A contract's signature is its own to judge: it is asked before anything is sent, where it can be. Whoever configured it without an
/// endpoint answers for it.
fn by_contract(state: &mut State, signature: &str, context: Context<'_>) -> Result<Effect, Error> {
    let slot = state.current()?.slot(state.part);
    let slot = slot.ok_or_else(|| Error::new(Code::StateInvalid, "part"))?;
    let network = slot.authorization.network()?;
    let data = match erc1271::question(&slot.authorization.digest()?, signature) {
        Ok(data) => data,
        Err(error) => return Ok(drop_unsigned(state, error.within("signature").into(), context)),
    };
    let signature = signature.to_ascii_lowercase();
    if !context.config.can_read(&network) {
        return accept(state, signature, context);
    }
    state.draft = Some(Json::text(signature));
    state.phase = Phase::AskContract;
    Ok(Effect::AskContract(Json::object([
        ("network", network.to_json()),
        ("to", context.config.payer.to_json()),
        ("data", Json::text(data)),
    ])))
}

/// What the contract says. One that is not deployed yet says nothing: of a signature that is wrapped for such a one that is no refusal, whoever
/// settles it deploys the wallet first.
pub(super) fn on_contract(
    state: &mut State,
    answer: Option<&str>,
    context: Context<'_>,
) -> Result<Effect, Error> {
    let draft = state.draft.take();
    let draft = draft.ok_or_else(|| Error::new(Code::StateInvalid, "draft"))?;
    let signature = draft.as_string()?;
    match answer.map(erc1271::answer) {
        Some(Answer::Valid) => accept(state, signature, context),
        Some(Answer::Nobody) if erc1271::is_wrapped(&signature) => accept(state, signature, context),
        Some(_) => Ok(drop_unsigned(state, Code::SignerMismatch.into(), context)),
        None => {
            let failure = Failure::from(Code::EvidenceUnreadable).money(Money::None);
            Ok(drop_unsigned(state, failure, context))
        }
    }
}

/// A signature that counts; behind the last one comes the send.
fn accept(state: &mut State, signature: String, context: Context<'_>) -> Result<Effect, Error> {
    let part = state.part;
    let attempt = state.current()?;
    if context.now >= attempt.planned_at.saturating_add(length(attempt)) {
        return Ok(drop_unsigned(state, Code::ExpiredBeforeSend.into(), context));
    }
    if tree::is_over(state, context) {
        let failure = Error::new(Code::IntentExpired, "intent.expiresAt");
        return Ok(drop_unsigned(state, failure.into(), context));
    }
    let offered = state.intent()?.quote_of(attempt).map(|quote| &quote.offered);
    let challenge = offered.and_then(Offered::challenge);
    // The window may stand in the seller's time; when a challenge ends is told by ours.
    if challenge
        .and_then(Challenge::expires_at)
        .is_some_and(|at| context.now >= at)
    {
        return Ok(drop_unsigned(state, Code::ExpiredBeforeSend.into(), context));
    }
    let attempt = state.current_mut()?;
    if part == 0 {
        attempt.authorization = attempt.authorization.clone().signed(&signature)?;
    }
    if let Some(slot) = attempt.slot_mut(part) {
        *slot.signature = Some(signature);
    }
    if part < attempt.parts.len() {
        state.part += 1;
        return ask_signer(state);
    }
    // One that is too large for a header, say: nothing is sent, so nothing is held.
    let header = match payment_header(state) {
        Ok(header) => header,
        Err(error) => return Ok(drop_unsigned(state, error.into(), context)),
    };
    let attempt = state.current_mut()?;
    attempt.header = Some(header);
    attempt.signed_at = Some(context.now);
    attempt.sends.push(context.now);
    attempt.state = attempt::State::Sent;
    state.read = false;
    Ok(persist(state, None, Then::Send, context))
}

/// How long the window was when it was planned. The bounds themselves may stand in the seller's time; that of a transaction stands in ours.
fn length(attempt: &Attempt) -> Seconds {
    let begins = match attempt.authorization.method() {
        Method::Tempo => attempt.planned_at,
        Method::Eip3009 | Method::Permit2 => {
            let after = attempt.authorization.valid_after().to_u64().unwrap_or(0);
            after.saturating_add(BACKDATED)
        }
    };
    attempt.valid_before().saturating_sub(begins)
}

/// A signature as it is written down: its last byte 27 or 28.
pub(super) fn normalised(signature: &str) -> Result<String, Error> {
    Ok(hex::encode(crate::secp256k1::parse_signature(signature)?))
}

fn payment_header(state: &State) -> Result<Header, Error> {
    let invalid = || Error::new(Code::StateInvalid, "quotes");
    let intent = state.intent.as_ref().ok_or_else(invalid)?;
    let attempt = state.current()?;
    let quote = intent.quote_of(attempt).ok_or_else(invalid)?;
    let signed: Vec<_> = attempt
        .slots()
        .filter_map(|slot| Some((slot.authorization, slot.signature?)))
        .collect();
    let payment = quote.offered.payment(&signed, attempt.payment_id.as_deref())?;
    Ok(Header {
        name: payment.name.to_owned(),
        value: payment.value,
    })
}

/// Forgets an attempt that was never sent, with its reservation, and ends the call.
pub(super) fn drop_unsigned(state: &mut State, failure: Failure, context: Context<'_>) -> Effect {
    forget_unsigned(state, Then::Fail(failure), context)
}

/// Forgets an attempt whose signature never became durable: it was never sent. Its reservation stays while an earlier
/// authorization of the same nonce is live.
pub(super) fn forget_unsigned(state: &mut State, then: Then, context: Context<'_>) -> Effect {
    let mut change = None;
    if let Some(intent) = state.intent.as_mut() {
        intent.attempts.pop();
        if !intent.attempts.iter().any(|attempt| attempt.state.is_live()) {
            change = Some(WalletChange::Release(intent.reservation()));
        }
    }
    persist(state, change, then, context)
}
