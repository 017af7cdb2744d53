//! Closing an unknown early: a cancellation of the nonce is signed on request, written down, and handed to whoever pays its gas. A
//! split payment has a nonce for each part and is closed by cancelling all of them.
//!
//! It races with the payment, and the token decides: whichever lands first ends the nonce. Which one it was is read from the chain
//! like any other end: a final cancellation closes the generation, a transfer is the purchase.

use super::record::{Intent, Status};
use super::{done, fail, may_sign, persist, sign, Context, Effect, Failure, Phase, State, Then};
use crate::attempt::{self, Attempt};
use crate::authorization::Authorization;
use crate::eip3009::Cancellation;
use crate::eip712::Domain;
use crate::error::{Code, Error};
use crate::evidence;
use crate::hex;
use crate::json::Json;

/// Asks for the signature, unless it was given before. Refused, in this order: `intent_unknown`, `nothing_to_cancel`: the intent
/// has an answer, or no authorization of it is sent and unresolved; `intent_handed_over`; `permit2_unsupported`: Permit2 takes no signature for it, its owner
/// invalidates the nonce with a transaction of its own; `ends_by_itself`: a transaction on Tempo, with the seconds until its end can be read.
pub(super) fn begin(state: &mut State, context: Context<'_>) -> Result<Effect, Error> {
    let Some(intent) = &state.intent else {
        return Ok(fail(state, Code::IntentUnknown.into()));
    };
    let Some(attempt) = open(intent) else {
        return Ok(fail(state, Code::NothingToCancel.into()));
    };
    if attempt.slots().all(|slot| slot.cancellation.is_some()) {
        return hand_out(state);
    }
    if !may_sign(state, context) {
        return Ok(fail(state, Code::IntentHandedOver.into()));
    }
    state.part = 0;
    ask_signer(state, context)
}

fn ask_signer(state: &mut State, context: Context<'_>) -> Result<Effect, Error> {
    let slot = state.current()?.slot(state.part);
    let slot = slot.ok_or_else(|| Error::new(Code::StateInvalid, "part"))?;
    let Some((cancellation, domain)) = cancellation(slot.authorization) else {
        return Ok(fail(state, uncancellable(slot.authorization, context)));
    };
    let effect = Effect::Sign(Json::object([
        ("typedData", cancellation.typed_data(domain)),
        ("domain", domain.to_json()),
        ("digest", Json::text(hex::encode(cancellation.digest(domain)?))),
    ]));
    state.phase = Phase::Sign;
    Ok(effect)
}

/// The authorization that may still land. Who has the answer has nothing to stop: the seller is owed this payment.
fn open(intent: &Intent) -> Option<&Attempt> {
    let sent = |attempt: &&Attempt| attempt.state == attempt::State::Sent;
    intent
        .current()
        .filter(sent)
        .filter(|_| intent.status == Status::Open)
}

/// What ends the nonce, under the token's domain.
fn cancellation(signed: &Authorization) -> Option<(Cancellation, &Domain)> {
    match signed {
        Authorization::Eip3009(one, domain) => Some((Cancellation::of(one), domain)),
        Authorization::Permit2(..) | Authorization::Tempo(_) => None,
    }
}

/// Why there is none: no signature burns the nonce of a permit, and a transaction ends by itself.
fn uncancellable(signed: &Authorization, context: Context<'_>) -> Failure {
    match signed {
        Authorization::Tempo(order) => {
            let over = evidence::decidable_at(&order.payment);
            Failure::from(Code::EndsByItself).after(Some(over.saturating_sub(context.now).max(1)))
        }
        Authorization::Eip3009(..) | Authorization::Permit2(..) => Code::Permit2Unsupported.into(),
    }
}

/// The signature is the payer's, and with those of the other parts is written down before it leaves.
pub(super) fn on_signed(state: &mut State, signature: &str, context: Context<'_>) -> Result<Effect, Error> {
    let part = state.part;
    let attempt = state.current()?;
    let slot = attempt.slot(part);
    let slot = slot.ok_or_else(|| Error::new(Code::StateInvalid, "part"))?;
    let Some((cancellation, domain)) = cancellation(slot.authorization) else {
        return Ok(fail(state, uncancellable(slot.authorization, context)));
    };
    if context.config.contract_wallet {
        // `v`, `r`, `s` is all that this call of the token takes.
        return Ok(fail(state, Code::ContractSignature.into()));
    }
    match cancellation.recover(domain, signature) {
        Ok(signer) if signer == context.config.payer => {}
        Ok(_) => return Ok(fail(state, Code::SignerMismatch.into())),
        Err(error) => return Ok(fail(state, error.within("signature").into())),
    }
    let signature = sign::normalised(signature)?;
    let attempt = state.current_mut()?;
    if let Some(slot) = attempt.slot_mut(part) {
        *slot.cancellation = Some(Json::object([
            ("at", Json::number(context.now)),
            ("signature", Json::text(signature)),
        ]));
    }
    if part < attempt.parts.len() {
        state.part += 1;
        return ask_signer(state, context);
    }
    Ok(persist(state, None, Then::Cancelling, context))
}

/// `{to, data, network}` of the transaction; of a split payment with `further`, those of its other nonces.
pub(super) fn hand_out(state: &State) -> Result<Effect, Error> {
    let rail = state.intent()?.rail.as_ref();
    let invalid = |field: &str| Error::new(Code::StateInvalid, field);
    let network = &rail.ok_or_else(|| invalid("rail"))?.network;
    let mut calls = Vec::new();
    for slot in state.current()?.slots() {
        let kept = slot.cancellation.ok_or_else(|| invalid("cancellation"))?;
        let signature = kept.read("signature", Json::as_str)?;
        let (cancellation, domain) =
            cancellation(slot.authorization).ok_or_else(|| invalid("cancellation"))?;
        calls.push(Json::object([
            ("to", domain.verifying_contract.to_json()),
            ("data", Json::text(hex::encode(cancellation.calldata(signature)?))),
            ("network", network.to_json()),
        ]));
    }
    let mut calls = calls.into_iter();
    let first = calls.next().ok_or_else(|| invalid("cancellation"))?;
    let further: Vec<Json> = calls.collect();
    let call = first.with_some("further", (!further.is_empty()).then_some(Json::Array(further)));
    match done(state, "unknown") {
        Effect::Done(resolution) => Ok(Effect::Done(resolution.with("cancellation", call))),
        other => Ok(other),
    }
}
