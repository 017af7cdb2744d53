//! Law 8 and the end of everything: from every state, honest answers and time end every call and every attempt.

use counterfoil::attempt;
use counterfoil::client::Effect;

use crate::chain::{By, Read};
use crate::explore::Broken;
use crate::seller::{Answer, Quote};
use crate::setting::{Call, Faults};
use crate::world::{Outcome, Tables, Worker, World};

/// More steps than any call takes.
const STEPS: usize = 150;
const LAW: &str = "every attempt can end";

fn stuck<T>(why: impl Into<String>) -> Result<T, Broken> {
    Err(Broken {
        law: LAW,
        why: why.into(),
    })
}

/// Follows what is fair from here: running calls end, and after a restart, long past every window, so does every attempt.
pub fn ends(tables: &mut Tables, world: &World) -> Result<(), Broken> {
    for who in 0..tables.setting.workers.len() {
        if world.workers[who].at.is_some() {
            let mut alone = *world;
            alone.workers[1 - who] = Worker::default();
            alone.workers[who].calls = 0;
            alone.left = Faults::default();
            drive(tables, alone, who as u8, true)?;
        }
    }
    after_a_restart(tables, world)
}

fn after_a_restart(tables: &mut Tables, world: &World) -> Result<(), Broken> {
    let mut later = *world;
    later.workers = [Worker::default(); 2];
    later.left = Faults::default();
    later.clock = tables.setting.far();
    later.chain.last_final = tables.setting.last_block() + 1;
    later.chain.head = later.chain.last_final + 1;
    if !tables.fair.insert(later) {
        return Ok(());
    }
    for who in 0..tables.setting.workers.len() as u8 {
        let intents: Vec<String> = tables
            .rows(&later, who)
            .intents
            .iter()
            .map(|intent| intent.intent_id.clone())
            .collect();
        for intent in &intents {
            let begun = tables.begin(&later, who, Call::Resume, intent)?;
            later = drive(tables, begun, who, false)?;
            if tables.setting.readable && !tables.setting.lied_to() {
                resolved(tables, &later, who, intent)?;
            }
        }
        for call in tables.setting.workers[usize::from(who)].calls {
            if !call.of_journal() {
                let begun = tables.begin(&later, who, *call, "")?;
                later = drive(tables, begun, who, false)?;
                crate::laws::one_transfer(tables, &later)?;
                bought(tables)?;
            }
        }
    }
    Ok(())
}

/// After a resumed worker has read the final chain, its record says what the chain says.
fn resolved(tables: &Tables, world: &World, who: u8, intent_id: &str) -> Result<(), Broken> {
    let rows = tables.rows(world, who);
    let of: Vec<_> = rows.signed.iter().filter(|one| one.intent == intent_id).collect();
    let attempts = rows
        .intent(intent_id)
        .into_iter()
        .flat_map(|intent| &intent.attempts);
    if let Some(open) = attempts.into_iter().find(|one| one.state.is_live()) {
        return stuck(format!("{} is still {}", open.attempt_id, open.state.as_str()));
    }
    for one in of.iter().filter(|one| tables.landed(world, one.cheque)) {
        let known = of.iter().any(|other| {
            tables.same_slot(other.cheque, one.cheque)
                && matches!(other.state, attempt::State::Paid | attempt::State::WrongTerms)
        });
        if !known {
            return stuck(format!("cheque {} has landed and no attempt is paid", one.cheque));
        }
    }
    Ok(())
}

/// How a purchase may end, long afterwards, before an honest seller and a readable chain.
fn bought(tables: &Tables) -> Result<(), Broken> {
    let end = tables.end.as_ref().map_or("", |end| end.code.as_str());
    let ended = [
        "delivered",
        "paid_not_delivered",
        "authorization_used",
        "attempts_exhausted",
        "paid_wrong_terms",
        "partly_paid",
        "used_or_cancelled",
        "intent_conflict",
        "intent_released",
        "over_wallet_cap",
        "payment_identifier_conflict",
    ];
    if ended.contains(&end) || tables.setting.lied_to() {
        return Ok(());
    }
    stuck(format!("a fetch before honest answers ends with {end}"))
}

/// Lets one worker go on before honest answers until its call ends. In the `near` future no cheque moves by itself.
fn drive(tables: &mut Tables, mut world: World, who: u8, near: bool) -> Result<World, Broken> {
    for _ in 0..STEPS {
        let Some(at) = world.workers[usize::from(who)].at else {
            return Ok(world);
        };
        if near && !tables.driven.insert(world) {
            return Ok(world);
        }
        let step = tables.machine.get(at);
        let outcome = match step.effects.last() {
            Some(Effect::Send(None)) => {
                Outcome::Quote(tables.setting.quotes.first().copied().unwrap_or(Quote::Usual))
            }
            Some(Effect::Send(Some(header))) => {
                let value = header
                    .get("value")
                    .and_then(|value| value.as_str().ok())
                    .unwrap_or_default();
                let cheques = tables.book.cheques_of(value).unwrap_or_default();
                Outcome::Answer(honest(tables, &mut world, &cheques, near))
            }
            Some(Effect::ReadChain(_)) => Outcome::Read(Read::Honest),
            _ => Outcome::Done,
        };
        world = match tables.perform(&world, who, outcome)? {
            Some(next) => next,
            None => return stuck(format!("nothing comes of {outcome:?}")),
        };
    }
    stuck("a call does not end")
}

/// An honest seller cashes what it is given, all parts of it, and keeps its answers.
fn honest(tables: &mut Tables, world: &mut World, cheques: &[u8], near: bool) -> Answer {
    if cheques.is_empty() {
        return Answer::Lost;
    }
    for cheque in cheques {
        let slot = usize::from(tables.book.of(*cheque).nonce);
        match world.chain.slots[slot].map(|slot| slot.by) {
            Some(By::Cheque(_)) => continue,
            Some(By::Cancelled) => return Answer::Used,
            None => {}
        }
        world.sent |= 1 << cheque;
        match tables.land(world, *cheque) {
            Some(landed) if !near => *world = landed,
            _ => return Answer::Refused,
        }
    }
    Answer::Settled
}
