//! A nonce that was used, and not for what was signed here.

use counterfoil::json::{self, Json};

use super::world::{worker, Chaos, World, FINAL_LAG, LEASE, WINDOW};
use super::{alerts, answer, code, decision, quoted, settle};

/// A payment whose broadcast began, and whose nonce then went to a transfer of another amount.
fn wrong_terms(world: &mut World) -> (Json, Json, Json) {
    let id = quoted(world);
    let input = world.payment(0).with("order", id.clone());
    let process = world.step("admit", &input);
    assert_eq!(decision(&world.step("settling", &worker(&process))), "settle");
    world.land(0, &World::authorization(&process).unwrap()).unwrap();
    world.step("answer", &worker(&process));
    (id, input, process)
}

/// What the chain says, when the transfer was of one unit.
fn of_one_unit(world: &mut World, read: &Json) -> Json {
    let amount = |value: &str| format!("0x{value:0>64}");
    let reading = world.reading(read).to_text();
    assert!(reading.contains(&amount("2710")));
    json::parse(&reading.replace(&amount("2710"), &amount("1"))).unwrap()
}

/// It can never land any more: the sale ends as failed, its order is to be had again, the seller hears of it once, and no sweep meets it for ever.
#[test]
fn a_nonce_that_went_to_other_terms_for_good_ends_its_sale() {
    let mut world = World::new(1, Chaos::default());
    let (id, _, process) = wrong_terms(&mut world);
    world.pass(WINDOW + FINAL_LAG + LEASE + 1);
    let due = Json::object([("sale", process.require("sale").unwrap().clone())]);
    let read = world.step("due", &due);
    assert_eq!(decision(&read), "read");
    let reading = of_one_unit(&mut world, &read).with("idle", Json::Bool(true));
    let told = world.step("evidence", &reading);
    assert_eq!(code(&told), "paid_wrong_terms");
    assert_eq!(alerts(&told), ["paid_wrong_terms"]);
    let order = world.step("orderDue", &Json::object([("order", id)]));
    let state = order.require("order").unwrap().require("state").unwrap();
    assert_eq!(state, &Json::text("payment_failed"));

    let read = world.step("due", &due);
    let reading = of_one_unit(&mut world, &read).with("idle", Json::Bool(true));
    let told = world.step("evidence", &reading);
    assert_eq!(decision(&told), "gone");
    assert_eq!(alerts(&told), [""; 0]);
    assert_eq!(decision(&world.step("due", &due)), "gone");
}

/// While its block can still be replaced nothing is over: the buyer waits, and nobody is alerted.
#[test]
fn a_nonce_that_went_to_other_terms_below_finality_is_waited_for() {
    let mut world = World::new(1, Chaos::default());
    let (_, input, _) = wrong_terms(&mut world);
    world.pass(LEASE);
    let read = world.step("admit", &input);
    assert_eq!(decision(&read), "read");
    let reading = of_one_unit(&mut world, &read);
    let told = world.step("evidence", &reading);
    assert_eq!(code(&told), "payment_in_flight");
    assert_eq!(alerts(&told), [""; 0]);
    assert_eq!(code(&world.step("admit", &input)), "payment_in_flight");
}

/// One sale that was asked for twice with payments of its own, the first of which was refused.
fn two_payments(world: &mut World, about: impl Fn(Json) -> Json) -> (Json, Json) {
    let input = about(world.payment(0));
    let first = world.step("admit", &input);
    world.step("answer", &worker(&first).with("answer", answer(402)));
    loop {
        let input = about(world.payment(0));
        let fresh = world.step("admit", &input);
        if fresh.require("slot") != first.require("slot") {
            return (first, fresh);
        }
        world.step("answer", &worker(&fresh).with("answer", answer(402)));
    }
}

/// An earlier payment of a delivered sale is looked for until it can't land any more; one whose nonce went to other terms can't.
#[test]
fn an_earlier_payment_on_other_terms_is_not_looked_for_for_ever() {
    let mut world = World::new(1, Chaos::default());
    let (first, fresh) = two_payments(&mut world, |input| input);
    settle(&mut world, &fresh);
    let sent = world.step("answer", &worker(&fresh).with("answer", answer(200)));
    assert_eq!(decision(&sent), "send");
    for process in [&first, &fresh] {
        world.land(0, &World::authorization(process).unwrap()).unwrap();
    }
    world.pass(WINDOW + FINAL_LAG + 1);
    let due = Json::object([("sale", first.require("sale").unwrap().clone())]);
    let read = world.step("due", &due);
    let reading = of_one_unit(&mut world, &read).with("idle", Json::Bool(true));
    assert_eq!(decision(&world.step("evidence", &reading)), "watched");
    assert_eq!(decision(&world.step("due", &due)), "wait");
}

/// What is owed back is told once too: a sale of which nothing more can land is not looked at again.
#[test]
fn a_sale_that_is_owed_back_is_not_looked_for_for_ever() {
    let mut world = World::new(1, Chaos::default());
    let id = quoted(&mut world);
    let (first, fresh) = two_payments(&mut world, |input| input.with("order", id.clone()));
    world.step("answer", &worker(&fresh).with("answer", answer(402)));
    let other = world.payment(1).with("order", id.clone());
    let other = world.step("admit", &other);
    settle(&mut world, &other);
    world.step("answer", &worker(&other).with("answer", answer(200)));
    world.land(0, &World::authorization(&fresh).unwrap()).unwrap();
    world.pass(WINDOW + FINAL_LAG + 1);
    let due = Json::object([("sale", first.require("sale").unwrap().clone())]);
    let read = world.step("due", &due);
    let reading = world.reading(&read).with("idle", Json::Bool(true));
    assert_eq!(alerts(&world.step("evidence", &reading)), ["refund_owed"]);
    assert_eq!(decision(&world.step("due", &due)), "wait");
}
