//! The laws, each as one question to a world. A mutation names the law that must break.

use counterfoil::attempt;
use counterfoil::authorization::Authorization;
use counterfoil::client::record::Intent;
use counterfoil::client::{Effect, Step};
use counterfoil::json::Json;

use crate::chain::By;
use crate::explore::Broken;
use crate::journal::{self, Rows};
use crate::world::{Tables, World};

fn broken(law: &'static str, why: impl Into<String>) -> Result<(), Broken> {
    Err(Broken { law, why: why.into() })
}

fn text<'a>(json: &'a Json, name: &str) -> &'a str {
    json.get(name)
        .and_then(|text| text.as_str().ok())
        .unwrap_or_default()
}

/// What holds in every state.
pub fn hold(tables: &Tables, world: &World) -> Result<(), Broken> {
    one_transfer(tables, world)?;
    for journal in 0..2 {
        let rows = tables.journals.get(world.journals[journal]);
        record_is_sound(tables, &rows)?;
        if !tables.setting.lied_to() {
            dead_is_dead(tables, world, &rows)?;
            unknown_is_held(tables, world, &rows)?;
        }
    }
    nothing_sent_is_forgotten(tables, world)?;
    within_the_cap(tables, world)
}

/// Law 4: a record keeps every authorization that left, whatever the answer was.
fn nothing_sent_is_forgotten(tables: &Tables, world: &World) -> Result<(), Broken> {
    if tables.setting.faults.losses > 0 {
        return Ok(());
    }
    let kept = world.journals.iter().flat_map(|journal| {
        let rows = tables.journals.get(*journal);
        rows.signed.iter().map(|one| one.cheque).collect::<Vec<_>>()
    });
    let forgotten = kept.fold(world.sent, |sent, cheque| sent & !(1 << cheque));
    if forgotten != 0 {
        return broken(
            "nothing sent is forgotten",
            format!(
                "cheque {} has left and no record has it",
                forgotten.trailing_zeros()
            ),
        );
    }
    Ok(())
}

/// Laws 3 and 5: one transfer an intent on one rail, whatever was lost or lied about; and one at all where one journal
/// knows everything and nobody lies.
pub fn one_transfer(tables: &Tables, world: &World) -> Result<(), Broken> {
    let landed: Vec<_> = world
        .chain
        .slots
        .iter()
        .flatten()
        .filter_map(|slot| match slot.by {
            By::Cheque(cheque) => Some(tables.book.of(cheque)),
            By::Cancelled => None,
        })
        .collect();
    for (at, one) in landed.iter().enumerate() {
        for other in &landed[at + 1..] {
            // What another challenge dictates has a slot of its own: there the journal alone protects.
            let same_rail = one.asset == other.asset && !one.dictated && !other.dictated;
            let knows = tables.setting.one_memory() && !tables.setting.lied_to();
            // The parts of one split payment are no second transfer to each other.
            if one.intent == other.intent && one.part == other.part && (same_rail || knows) {
                return broken(
                    "one transfer",
                    format!("{} and {} have both landed", one.attempt, other.attempt),
                );
            }
        }
    }
    Ok(())
}

/// Laws 2, 5 and 10, as far as a record shows them by itself.
fn record_is_sound(tables: &Tables, rows: &Rows) -> Result<(), Broken> {
    for intent in &rows.intents {
        if journal::claim_missing(intent) {
            return broken("a claim is kept", "paid, not delivered, and no claim");
        }
        let signed: Vec<_> = intent
            .attempts
            .iter()
            .filter(|one| one.signature.is_some())
            .collect();
        for (at, later) in signed.iter().enumerate() {
            for earlier in signed[..at]
                .iter()
                .filter(|one| one.state == attempt::State::Sent)
            {
                let (was, is) = (&earlier.authorization, &later.authorization);
                if later.signed_at < Some(earlier.valid_before()) {
                    return broken(
                        "a retry is the same bytes",
                        format!(
                            "{} was signed in the window of {}",
                            later.attempt_id, earlier.attempt_id
                        ),
                    );
                }
                let terms =
                    |one: &Authorization| (one.to(), one.value(), one.asset(), one.chain_id(), one.method());
                let same = terms(was) == terms(is);
                if !same && !tables.setting.lied_to() {
                    return broken(
                        "new terms need a proof of death",
                        format!("{} has other terms than {}", later.attempt_id, earlier.attempt_id),
                    );
                }
            }
        }
    }
    Ok(())
}

/// Laws 4 and 5: what is called dead, cancelled or failed has not landed and can't.
fn dead_is_dead(tables: &Tables, world: &World, rows: &Rows) -> Result<(), Broken> {
    for one in rows.signed.iter().filter(|one| one.state.is_void()) {
        let paid = rows.signed.iter().any(|other| {
            tables.same_slot(other.cheque, one.cheque)
                && matches!(other.state, attempt::State::Paid | attempt::State::WrongTerms)
        });
        if paid {
            continue;
        }
        let what = match (
            tables.landed(world, one.cheque),
            tables.can_land(world, one.cheque),
        ) {
            (true, _) => "has landed",
            (_, true) => "can still land",
            _ => continue,
        };
        return broken(
            "dead is dead",
            format!(
                "cheque {} is called {} and {what}",
                one.cheque,
                one.state.as_str()
            ),
        );
    }
    Ok(())
}

/// Law 6: what has landed or can land is held in the wallet.
fn unknown_is_held(tables: &Tables, world: &World, rows: &Rows) -> Result<(), Broken> {
    let free = rows
        .signed
        .iter()
        .find(|one| !one.held && (tables.landed(world, one.cheque) || tables.can_land(world, one.cheque)));
    match free {
        Some(one) => broken(
            "unknown counts as spent",
            format!(
                "the wallet holds nothing for cheque {}, which has landed or can",
                one.cheque
            ),
        ),
        None => Ok(()),
    }
}

/// Law 6: all that has landed or can land stays within the wallet's cap.
fn within_the_cap(tables: &Tables, world: &World) -> Result<(), Broken> {
    let Some(cap) = tables.setting.cap else {
        return Ok(());
    };
    let most = |nonce: usize| {
        let cheques = (0..tables.book.cheques.len() as u8).filter(|cheque| {
            usize::from(tables.book.of(*cheque).nonce) == nonce
                && (tables.landed(world, *cheque) || tables.can_land(world, *cheque))
        });
        cheques
            .map(|cheque| tables.book.of(cheque).value)
            .max()
            .unwrap_or(0)
    };
    let sum: u64 = (0..tables.book.nonces()).map(most).sum();
    if sum > cap {
        return broken("within the cap", format!("{sum} has landed or can, of {cap}"));
    }
    Ok(())
}

/// Law 1, before the signer: the authorization is in the journal, unless another worker has changed the record since.
pub fn signs_what_is_written(
    tables: &Tables,
    world: &World,
    who: u8,
    step: &Step,
    what: &Json,
) -> Result<(), Broken> {
    let rows = tables.rows(world, who);
    let key = format!("intent/{}", step.state.intent_id);
    let rev = rows.rows.get(&key).map(|(rev, _)| *rev);
    if rev.is_some() && rev != step.state.intent_rev {
        return Ok(());
    }
    let written = rows.intent(&step.state.intent_id).is_some_and(|intent| {
        intent
            .attempts
            .iter()
            .flat_map(attempt::Attempt::slots)
            .any(|slot| Authorization::read(what).is_ok_and(|asked| *slot.authorization == asked))
    });
    if rows
        .intent(&step.state.intent_id)
        .is_some_and(Intent::is_conflicted)
    {
        return broken(
            "a conflict ends it",
            "the signer is asked for an intent in conflict",
        );
    }
    let held = rows
        .wallet
        .entries
        .iter()
        .any(|entry| entry.id.starts_with(&step.state.intent_id));
    match (written, held) {
        (true, true) => Ok(()),
        _ => broken(
            "written before it is signed",
            "the signer is shown what the journal does not hold",
        ),
    }
}

/// Law 1, before the send: the exact bytes are in the journal with the send itself. Law 7: nothing is sent for an
/// intent in conflict, and one intent buys one request. Gives the cheques.
pub fn sends_what_is_written(
    tables: &Tables,
    world: &World,
    who: u8,
    step: &Step,
    header: &Json,
) -> Result<Vec<u8>, Broken> {
    let rows = tables.rows(world, who);
    let value = text(header, "value");
    let known = rows.intent(&step.state.intent_id).and_then(|intent| {
        let holds = |one: &&attempt::Attempt| one.header.as_ref().is_some_and(|header| header.value == value);
        Some((intent, intent.attempts.iter().find(holds)?))
    });
    let Some((intent, attempt)) = known else {
        // Another worker may have closed and changed the record; the bytes are still those of a record once written.
        let once = tables.book.cheques_of(value);
        return match once {
            Some(cheques) if moved(&rows, step) => Ok(cheques),
            _ => Err(Broken {
                law: "written before it is sent",
                why: "bytes leave that the journal does not hold".to_owned(),
            }),
        };
    };
    let mine = step.state.intent.iter().flat_map(|intent| &intent.attempts);
    let mine = mine
        .filter(|one| one.attempt_id == attempt.attempt_id)
        .map(|one| one.sends.len())
        .sum();
    if attempt.sends.is_empty() || (!moved(&rows, step) && attempt.sends.len() < mine) {
        broken(
            "written before it is sent",
            "a send leaves that the journal does not know of",
        )?;
    }
    if intent.is_conflicted() {
        broken("a conflict ends it", "bytes leave for an intent in conflict")?;
    }
    let asked = step.state.start.request.as_ref();
    if asked.is_some_and(|asked| asked != &intent.request) {
        broken(
            "one request an intent",
            "the payment of one request leaves with another",
        )?;
    }
    Ok(tables.book.cheques_of(value).expect("a journal holds it"))
}

/// Whether the record was changed by another worker since this one knew it.
fn moved(rows: &Rows, step: &Step) -> bool {
    let key = format!("intent/{}", step.state.intent_id);
    rows.rows.get(&key).map(|(rev, _)| *rev) != step.state.intent_rev
}

/// Law 7: a conflict is told at once.
pub fn conflict_alerts(step: &Step) -> Result<(), Broken> {
    let told = |effect: &Effect| match effect {
        Effect::Alert(finding) => text(finding, "code") == "payment_identifier_conflict",
        _ => false,
    };
    if step.effects.iter().any(told) {
        return Ok(());
    }
    broken("a conflict ends it", "a conflict was not told")
}

/// Law 4: who is told that no money moved, or that signing again is safe, is told the truth; and a stored answer goes only to
/// the request that bought it.
pub fn told_is_true(
    tables: &Tables,
    world: &World,
    who: u8,
    step: &Step,
    told: &Json,
    replayed: bool,
) -> Result<(), Broken> {
    let rows = tables.rows(world, who);
    let state = &step.state;
    if replayed {
        let bought = rows.intent(&state.intent_id).map(|intent| &intent.request);
        if state
            .start
            .request
            .as_ref()
            .is_some_and(|asked| Some(asked) != bought)
        {
            return broken("one request an intent", "a stored answer went to another request");
        }
    }
    let says_unpaid = text(told, "money") == "none"
        || text(told, "next") == "safe_to_resign"
        || text(told, "outcome") == "unpaid";
    if !says_unpaid || tables.setting.lied_to() {
        return Ok(());
    }
    // An intent that another request holds is not this call's.
    if text(told, "code") == "intent_conflict" {
        return Ok(());
    }
    for one in rows.signed.iter().filter(|one| one.intent == state.intent_id) {
        let what = match (
            tables.landed(world, one.cheque),
            tables.can_land(world, one.cheque),
        ) {
            (true, _) => "has landed",
            (_, true) => "can still land",
            _ => continue,
        };
        return broken(
            "unknown is not failed",
            format!("told {} while cheque {} {what}", told.to_text(), one.cheque),
        );
    }
    Ok(())
}
