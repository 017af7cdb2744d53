//! What a record keeps for people and no rule reads: when things were written, and copies of the evidence. The model forgets
//! it, so that worlds that differ in nothing else are one. The seeded simulation keeps it.

use counterfoil::client::record::{self, Intent, Wallet};
use counterfoil::client::{Effect, Step, Then};
use counterfoil::json::Json;
use counterfoil::outcome::Outcome;

use crate::chain::START;

/// The step without it, in the machine's state and in what it writes.
pub fn erase(mut step: Step) -> Step {
    if let Some(intent) = &mut step.state.intent {
        erase_intent(intent);
    }
    erase_wallet(&mut step.state.wallet);
    if let Some(record::WalletChange::Reserve(reservation)) = &mut step.state.change {
        reservation.spent.at = START;
    }
    if let Some(Then::Fail(failure)) = &mut step.state.then {
        failure.retry_after = None;
    }
    for effect in &mut step.effects {
        if let Effect::Persist(writes) = effect {
            for write in writes {
                if let Some(erased) = erase_text(&write.key, &write.put) {
                    write.put = erased;
                }
            }
        }
    }
    step
}

fn erase_text(key: &str, text: &str) -> Option<String> {
    let json = if key.starts_with("intent/") {
        let mut intent = record::from_text(text, Intent::from_json).expect("an intent");
        erase_intent(&mut intent);
        intent.to_json().expect("an intent")
    } else if key.starts_with("wallet/") {
        let mut wallet = record::from_text(text, Wallet::from_json).expect("a wallet");
        erase_wallet(&mut wallet);
        wallet.to_json()
    } else {
        return None;
    };
    Some(json.to_canonical().expect("canonical"))
}

fn erase_intent(intent: &mut Intent) {
    (intent.created_at, intent.updated_at) = (START, START);
    intent.quotes.iter_mut().for_each(|quote| quote.seen_at = START);
    for attempt in &mut intent.attempts {
        attempt.sends.fill(START);
        // The last answer decides, and a conflict however long ago; of the others only that there were some.
        let last = attempt.observations.len();
        let mut at = 0;
        attempt.observations.retain(|seen| {
            at += 1;
            at == last || seen.outcome == Outcome::Conflict.as_str()
        });
        attempt.observations.iter_mut().for_each(|seen| seen.at = START);
        attempt.evidence.clear();
        attempt.parts.iter_mut().for_each(|part| part.evidence.clear());
        let parts = attempt.parts.iter_mut().map(|part| &mut part.verdict);
        for verdict in parts.chain([&mut attempt.verdict]).flatten() {
            verdict.set("readAt", Json::number(START));
        }
    }
    for told in [&mut intent.delivery, &mut intent.claim].into_iter().flatten() {
        told.set("at", Json::number(START));
    }
}

fn erase_wallet(wallet: &mut Wallet) {
    wallet.entries.iter_mut().for_each(|entry| entry.spent.at = START);
}
