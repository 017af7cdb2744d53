//! The claim of a purchase that was paid and not delivered: put together from the record, signed, written down, handed over.

use super::record::{Intent, Rail, Status};
use super::{
    buy, done, fail, lost, persist, retry, sign, told, Context, Effect, Failure, Phase, State, Then,
};
use crate::address::Address;
use crate::amount::Amount;
use crate::attempt::{self, Attempt, Slot};
use crate::authorization::Method;
use crate::claim::{self, Claim, Event, Signed, Statement, Transfer, What};
use crate::error::{Code, Error, Money};
use crate::hex;
use crate::json::Json;
use crate::receipt;
use crate::sorting::sort_by;
use crate::x402::payment_required::Terms;
use crate::x402::settlement_response;

/// Asks for the signature, unless the same claim was signed before. Refused, in this order: `intent_unknown`, `claim_delivered`,
/// `paid_wrong_terms`, `partly_paid`, an intent that is unresolved with the code that says how, `payment_in_flight` while the answer may
/// still be had, `claim_unpaid`, `mpp_unsupported` for a transaction on Tempo, `split_unsupported` for a split payment, whose signatures are not in this journal; `receipt_invalid` for a
/// receipt that is about another payment.
pub(super) fn begin(state: &mut State, context: Context<'_>) -> Result<Effect, Error> {
    if let Some(failure) = refusal(state, context) {
        return Ok(fail(state, failure));
    }
    let claim = gathered(state, context)?;
    if signed_before(state.intent()?, &claim) {
        return hand_out(state);
    }
    state.draft = Some(claim.to_json());
    state.phase = Phase::Sign;
    Ok(Effect::Sign(Json::object([
        ("typedData", claim.typed_data()?),
        ("digest", Json::text(hex::encode(claim.digest()?))),
    ])))
}

fn refusal(state: &State, context: Context<'_>) -> Option<Failure> {
    let Some(intent) = &state.intent else {
        return Some(Code::IntentUnknown.into());
    };
    let is = |wanted: attempt::State| intent.current().is_some_and(|attempt| attempt.state == wanted);
    match intent.status {
        Status::Delivered => Some(Code::ClaimDelivered.into()),
        _ if is(attempt::State::WrongTerms) => Some(Code::PaidWrongTerms.into()),
        _ if is(attempt::State::PartlyPaid) => Some(Code::PartlyPaid.into()),
        Status::Open if is(attempt::State::Sent) => Some(retry::unresolved_failure(state, context)),
        Status::Open if is(attempt::State::Paid) => {
            Some(Failure::from(Code::PaymentInFlight).money(Money::Proven))
        }
        // What moved is not what was offered: a claim would say what nobody knows.
        _ if lost::is_otherwise(intent) => Some(Code::PaidWrongTerms.into()),
        _ if intent.claim.is_none() || moved_nothing(intent) => Some(Code::ClaimUnpaid.into()),
        // Of a transaction the memo alone does not say when to look for it.
        _ if is_on_tempo(intent) && paid(intent).is_none() => {
            Some(Failure::from(Code::MppUnsupported).money(Money::Proven))
        }
        _ if is_split(intent) && paid(intent).is_none() => {
            Some(Failure::from(Code::SplitUnsupported).money(Money::Proven))
        }
        _ => None,
    }
}

/// By scheme `upto` a seller may settle nothing: there is nothing to claim.
fn moved_nothing(intent: &Intent) -> bool {
    let paid = paid(intent).map(|(_, attempt)| attempt);
    paid.is_some_and(|attempt| attempt.slots().all(|slot| moved(attempt, &slot) == Amount::ZERO))
}

fn is_on_tempo(intent: &Intent) -> bool {
    let rail = intent.rail.as_ref();
    rail.is_some_and(|rail| rail.method == Method::Tempo)
}

/// Where the journal was lost, the offer says how many transfers there were; of which of them the chain told is known of one alone.
fn is_split(intent: &Intent) -> bool {
    let hash = |json: &Json| hex::decode_array::<32>(json.as_str()?);
    let paid = intent
        .claim
        .as_ref()
        .and_then(|held| held.read("quoteHash", hash).ok());
    let quote = intent.quotes.iter().find(|quote| Some(quote.quote_hash) == paid);
    let terms = quote.and_then(|quote| quote.offered.terms().ok());
    terms.is_some_and(|terms| terms.shares.len() > 1)
}

/// The claim as the record tells it now.
fn gathered(state: &State, context: Context<'_>) -> Result<Claim, Error> {
    let invalid = |field: &str| Error::new(Code::StateInvalid, field);
    let intent = state.intent()?;
    let rail = intent.rail.clone().ok_or_else(|| invalid("rail"))?;
    let held = intent.claim.as_ref().ok_or_else(|| invalid("claim"))?;
    let quote_hash = held.read("quoteHash", Json::as_hex)?;
    let quote = intent.quotes.iter().find(|quote| quote.quote_hash == quote_hash);
    let offered = quote.ok_or_else(|| invalid("quotes"))?.offered.clone();
    let paid = paid(intent);
    let attempt = paid.map(|(_, attempt)| attempt);
    let payment_id = attempt.and_then(|attempt| attempt.payment_id.as_deref());
    let transaction = held
        .read_opt("transaction", Json::as_string)?
        .map(|hash| hash.to_ascii_lowercase());
    let missing = match &state.start.receipt {
        Some(text) => Some(missing(text, &rail.payer, transaction.as_deref())?),
        None => held.read_opt("sha256", Json::as_hex)?,
    };
    let transfers = match paid {
        Some((number, attempt)) => signed(number, attempt, transaction.as_deref())?,
        None => {
            let amount = held.read_opt("amount", Amount::from_json)?;
            let one = lost(intent, &rail, &offered.terms()?, amount, context)?;
            vec![Transfer { transaction, ..one }]
        }
    };
    let mut transfers = transfers.into_iter();
    let first = transfers.next().ok_or_else(|| invalid("quotes"))?;
    Ok(Claim {
        at: context.now.max(intent.updated_at),
        intent_id: intent.intent_id.clone(),
        fingerprint: intent.request.fingerprint()?,
        request: intent.request.clone(),
        quote_hash,
        requirements: offered.requirements(),
        protocol: rail.protocol,
        method: rail.method,
        payer: rail.payer,
        asset: rail.asset,
        network: rail.network,
        first,
        parts: transfers.collect(),
        generation: attempt.map_or(intent.generation, |attempt| attempt.generation),
        keyed: intent.keyed,
        payment_id_hash: payment_id.map(claim::payment_id_hash).transpose()?,
        provisional: intent.is_provisional(),
        settlement: attempt.and_then(|attempt| attempt.settlement.clone()),
        receipt: attempt.and_then(|attempt| attempt.receipt.clone()),
        response_sha256: missing,
        timeline: timeline(intent, held, attempt.is_some())?,
        statement: Statement {
            status: intent.status.as_str().to_owned(),
            why: held.read("why", Json::as_string)?,
            reason: intent.reason.clone(),
        },
    })
}

/// The digest of the answer that the seller's receipt for this very payment names. Errors, at `receipt`: those of the document,
/// `receipt_invalid` when it is about another payment or names no digest.
fn missing(text: &str, payer: &Address, transaction: Option<&str>) -> Result<[u8; 32], Error> {
    let within = |error: Error| error.within("receipt");
    let named = receipt::named(text).map_err(within)?;
    let same = named.payer.is_none_or(|one| one == *payer)
        && named.transaction.is_some()
        && named.transaction.as_deref() == transaction;
    let invalid = || Error::new(Code::ReceiptInvalid, "receipt");
    named.sha256.filter(|_| same).ok_or_else(invalid)
}

/// The attempt that paid, with its number among the attempts. One that another worker signed, whose journal has its signatures, is as
/// good as lost.
fn paid(intent: &Intent) -> Option<(u64, &Attempt)> {
    let mut numbered = (0..).zip(&intent.attempts);
    let (number, attempt) = numbered.find(|(_, attempt)| attempt.state == attempt::State::Paid)?;
    let all_signed = attempt.slots().all(|slot| slot.signature.is_some());
    all_signed.then_some((number, attempt))
}

/// What moved under one authorization: with scheme `upto` what the chain shows, else what the seller says, as long as that is no more
/// than was signed for.
fn moved(attempt: &Attempt, slot: &Slot) -> Amount {
    let signed = slot.authorization.value();
    if !slot.authorization.is_upto() {
        return signed;
    }
    let shown = slot.verdict.and_then(told::amount);
    let said = || {
        let response = settlement_response::parse(attempt.settlement.as_deref()?).ok()?;
        response.amount.filter(|said| *said <= signed)
    };
    shown.or_else(said).unwrap_or(signed)
}

/// Every transfer of the attempt that paid.
fn signed(number: u64, attempt: &Attempt, transaction: Option<&str>) -> Result<Vec<Transfer>, Error> {
    let parts = attempt.parts.iter().map(|part| part.transaction.as_deref());
    let transactions = core::iter::once(transaction).chain(parts);
    let transfer = |(slot, transaction): (Slot, Option<&str>)| {
        let one = slot.authorization;
        let signature = slot.signature.unwrap_or_default();
        Ok(Transfer {
            pay_to: one.to(),
            amount: moved(attempt, &slot),
            nonce: one.nonce(),
            signed: Some(Signed {
                attempt: number,
                authorization: one.clone(),
                digest: one.digest_in(signature)?,
                signature: signature.to_owned(),
            }),
            transaction: transaction.map(str::to_ascii_lowercase),
            evidence: slot.evidence.to_vec(),
        })
    };
    attempt.slots().zip(transactions).map(transfer).collect()
}

/// The one transfer of a payment that the chain alone told of.
fn lost(
    intent: &Intent,
    rail: &Rail,
    terms: &Terms,
    amount: Option<Amount>,
    context: Context<'_>,
) -> Result<Transfer, Error> {
    let nonce = match terms.dictated {
        Some(dictated) => dictated.nonce,
        None => buy::own_nonce(intent, rail, 0, context)?,
    };
    Ok(Transfer {
        pay_to: terms.pay_to,
        amount: amount.unwrap_or(terms.amount),
        nonce,
        signed: None,
        transaction: None,
        evidence: Vec::new(),
    })
}

/// Where the attempt that paid was lost, the attempts that are known did not pay.
fn timeline(intent: &Intent, held: &Json, known: bool) -> Result<Vec<Event>, Error> {
    let whole = |at, what| Event {
        at,
        attempt: None,
        what,
    };
    let mut events: Vec<Event> = (0..)
        .zip(intent.attempts.iter().filter(|_| known))
        .flat_map(|(number, attempt)| Event::of_attempt(number, attempt))
        .collect();
    let why = held.read("why", Json::as_string)?;
    events.push(whole(held.read("at", Json::as_u64)?, What::Claimed { why }));
    if intent.status == Status::Released {
        let at = held
            .read_opt("releasedAt", Json::as_u64)?
            .unwrap_or(intent.updated_at);
        let reason = intent.reason.clone();
        events.push(whole(at, What::Released { reason }));
    }
    sort_by(&mut events, |one, other| one.at.cmp(&other.at));
    Ok(events)
}

/// The same claim is the same bytes: only when it is made is no reason to sign it anew.
fn signed_before(intent: &Intent, claim: &Claim) -> bool {
    let held = intent.claim.as_ref();
    let file = held.and_then(|held| held.get("file")?.as_str().ok());
    let before = file.and_then(|file| claim::parse(file).ok());
    before.is_some_and(|(before, _)| {
        let again = Claim {
            at: before.at,
            ..claim.clone()
        };
        matches!((before.body(), again.body()), (Ok(before), Ok(again)) if before == again)
    })
}

/// The signature is the payer's, and the file is written down before it leaves.
pub(super) fn on_signed(state: &mut State, signature: &str, context: Context<'_>) -> Result<Effect, Error> {
    let draft = state
        .draft
        .take()
        .ok_or_else(|| Error::new(Code::StateInvalid, "draft"))?;
    let claim = Claim::unsigned(&draft)?;
    if context.config.contract_wallet {
        // A claim is checked by whoever reads it, without the chain.
        return Ok(fail(state, Code::ContractSignature.into()));
    }
    match claim.recover(signature) {
        Ok(signer) if signer == claim.payer => {}
        Ok(_) => return Ok(fail(state, Code::SignerMismatch.into())),
        Err(error) => return Ok(fail(state, error.within("signature").into())),
    }
    let file = claim.file(&sign::normalised(signature)?)?;
    let sha256 = claim.response_sha256.map(|hash| Json::text(hex::encode(hash)));
    let intent = state.intent_mut()?;
    intent.claim = intent
        .claim
        .take()
        .map(|held| held.with_some("sha256", sha256).with("file", Json::text(file)));
    Ok(persist(state, None, Then::Claimed, context))
}

/// The exact text of the file.
pub(super) fn hand_out(state: &State) -> Result<Effect, Error> {
    let intent = state.intent()?;
    let file = intent.claim.as_ref().and_then(|held| held.get("file")).cloned();
    let file = file.ok_or_else(|| Error::new(Code::StateInvalid, "claim"))?;
    match done(state, intent.status.as_str()) {
        Effect::Done(resolution) => Ok(Effect::Done(resolution.with("claim", file))),
        other => Ok(other),
    }
}
