//! The selling machine in a world that fails: several workers on one store, each of which may die between any two steps; a
//! facilitator that loses its answers, settles late or never, or refuses; buyers that send the same bytes again, sign afresh, or mean
//! something else under the same id; a chain source that lies low. Every run prints its seed on failure; `COUNTERFOIL_SEED` runs one
//! again and `COUNTERFOIL_RUNS` sets how many there are.

#[path = "sale/caps.rs"]
mod caps;
#[path = "sale/other_terms.rs"]
mod other_terms;
#[path = "sale/statements.rs"]
mod statements;
#[path = "sale/world.rs"]
mod world;

use counterfoil::json::{self, Json};
use world::{worker, Chaos, World, FINAL_LAG, LEASE, SELLER, TOKEN, WINDOW};

fn simulate(chaos: &Chaos, count: u64) {
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().unwrap());
    let seeds = match number("COUNTERFOIL_SEED") {
        Some(seed) => vec![seed],
        None => (0..number("COUNTERFOIL_RUNS").unwrap_or(count)).collect(),
    };
    let mut seen = std::collections::BTreeMap::<String, u64>::new();
    for seed in &seeds {
        let mut world = World::new(*seed, chaos.clone());
        if let Err(why) = world.play() {
            panic!("seed {seed}: {why}\n{}", world.story());
        }
        for (what, times) in &world.seen {
            *seen.entry(what.clone()).or_default() += times;
        }
    }
    println!("{seen:?}");
    if seeds.len() > 50 {
        for what in ["delivered", "replayed", "in flight", "conflict"] {
            assert!(seen.contains_key(what), "no run ever met {what}: {seen:?}");
        }
    }
}

#[test]
fn workers_that_die() {
    simulate(
        &Chaos {
            die: 12,
            ..Chaos::default()
        },
        60,
    );
}

#[test]
fn a_facilitator_that_loses_its_answers() {
    simulate(
        &Chaos {
            lose: 40,
            late: 30,
            refuse: 15,
            ..Chaos::default()
        },
        60,
    );
}

#[test]
fn a_chain_that_is_hard_to_read() {
    simulate(
        &Chaos {
            bad_rpc: 50,
            lose: 40,
            die: 5,
            ..Chaos::default()
        },
        60,
    );
}

#[test]
fn handlers_that_fail() {
    simulate(
        &Chaos {
            fail: 40,
            lose: 20,
            die: 5,
            ..Chaos::default()
        },
        60,
    );
}

#[test]
fn a_facilitator_that_nobody_watches() {
    simulate(
        &Chaos {
            unwatched: true,
            die: 5,
            lose: 25,
            late: 20,
            refuse: 10,
            never: 10,
            fail: 10,
            ..Chaos::default()
        },
        60,
    );
}

#[test]
fn everything_at_once() {
    simulate(
        &Chaos {
            die: 8,
            lose: 25,
            late: 20,
            refuse: 10,
            never: 15,
            bad_rpc: 20,
            fail: 15,
            unwatched: false,
        },
        100,
    );
}

fn decision(told: &Json) -> &str {
    told.require("decision").unwrap().as_str().unwrap()
}

fn code(told: &Json) -> &str {
    let problem = told.require("problem").unwrap();
    problem.require("code").unwrap().as_str().unwrap()
}

fn answer(status: u64) -> Json {
    let sha256 = "0x".to_owned() + &"ab".repeat(32);
    json::parse(&format!(
        r#"{{"status":{status},"headers":{{}},"sha256":"{sha256}","length":3}}"#
    ))
    .unwrap()
}

/// A sale whose first worker is gone, and the decisions of both workers.
fn taken_over(world: &mut World) -> (Json, Json) {
    let input = world.payment(0);
    let first = world.step("admit", &input);
    assert_eq!(decision(&first), "process");
    world.pass(LEASE);
    let read = world.step("admit", &input);
    assert_eq!(decision(&read), "read");
    let reading = world.reading(&read);
    let second = world.step("evidence", &reading);
    assert_eq!(decision(&second), "process");
    (first, second)
}

/// "Drop the attempt, keep the intent": whoever was taken over does not broadcast any more.
#[test]
fn an_overtaken_worker_does_not_broadcast() {
    let mut world = World::new(1, Chaos::default());
    let (first, second) = taken_over(&mut world);
    assert_eq!(decision(&world.step("settling", &worker(&first))), "refuse");
    assert_eq!(decision(&world.step("settling", &worker(&second))), "settle");
}

/// It does not answer either, nor close what the other one works on.
#[test]
fn an_overtaken_worker_does_not_close_the_sale() {
    let mut world = World::new(1, Chaos::default());
    let (first, second) = taken_over(&mut world);
    for status in [200, 500] {
        let told = world.step("answer", &worker(&first).with("answer", answer(status)));
        assert_eq!(code(&told), "payment_in_flight");
    }
    assert_eq!(decision(&world.step("settling", &worker(&second))), "settle");
}

/// The first payment goes on: a fresh signature of the same request is not a second cheque to cash.
#[test]
fn whoever_takes_over_goes_on_with_the_first_payment() {
    let mut world = World::new(1, Chaos::default());
    let (first, second) = taken_over(&mut world);
    assert_eq!(first.require("header"), second.require("header"));
    assert_eq!(first.require("slot"), second.require("slot"));
}

/// A dead authorization is no reason to wait: the request's own payment is used.
#[test]
fn a_payment_proven_dead_makes_room_for_the_next() {
    let mut world = World::new(1, Chaos::default());
    let input = world.payment(0);
    let first = world.step("admit", &input);
    assert_eq!(decision(&world.step("settling", &worker(&first))), "settle");
    world.pass(WINDOW + 60);
    let fresh = loop {
        let input = world.payment(0);
        let read = world.step("admit", &input);
        if decision(&read) == "read" {
            let latest = world.reading(&read);
            let again = world.step("evidence", &latest);
            assert_eq!(decision(&again), "read");
            assert_eq!(again.require("tag").unwrap(), &Json::text("finalized"));
            let finalized = world.reading(&again);
            assert_eq!(decision(&world.step("evidence", &finalized)), "admit");
        }
        let told = world.step("admit", &input);
        if decision(&told) == "process" && told.require("slot") != first.require("slot") {
            break told;
        }
        world.step("answer", &worker(&told).with("answer", answer(402)));
    };
    assert_eq!(decision(&world.step("settling", &worker(&fresh))), "settle");
}

/// A renewal by a living worker keeps others waiting; one by an overtaken worker does nothing.
#[test]
fn a_sign_of_life_keeps_the_lease() {
    let mut world = World::new(1, Chaos::default());
    let input = world.payment(0);
    let first = world.step("admit", &input);
    world.pass(LEASE - 1);
    world.step("renew", &worker(&first));
    world.pass(LEASE - 1);
    assert_eq!(code(&world.step("admit", &input)), "payment_in_flight");
    world.pass(1);
    assert_eq!(decision(&world.step("admit", &input)), "read");
    world.pass(LEASE - 1);
    world.step("renew", &worker(&first));
    world.pass(1);
    assert_eq!(decision(&world.step("admit", &input)), "read");
}

/// An order of purchase 0's price.
fn quoted(world: &mut World) -> Json {
    let quote = json::parse(&format!(
        r#"{{"key":"quote-0123456789","terms":{{"network":"eip155:84532","asset":"{TOKEN}","payTo":"{SELLER}","amount":"10000"}}}}"#
    ));
    let order = world.step("quote", &quote.unwrap());
    order.require("order").unwrap().require("id").unwrap().clone()
}

/// The members of a statement that this sale was paid.
const PAID: &str = r#""network":"eip155:84532""#;

/// A facilitator's statement of success with these members.
fn settlement(members: &str) -> Json {
    let transaction = "0x".to_owned() + &"cd".repeat(32);
    json::parse(&format!(
        r#"{{"success":true,"transaction":"{transaction}",{members}}}"#
    ))
    .unwrap()
}

/// The worker settles its payment.
fn settle(world: &mut World, process: &Json) {
    assert_eq!(decision(&world.step("settling", &worker(process))), "settle");
    let settled = worker(process).with("settlement", settlement(PAID));
    assert_eq!(decision(&world.step("settled", &settled)), "noted");
}

fn refund(world: &mut World, order: Json) {
    let event = Json::object([("type", Json::text("refund"))]);
    world.step("order", &Json::object([("order", order), ("event", event)]));
}

fn alerts(told: &Json) -> Vec<&str> {
    let alerts = told
        .get("alerts")
        .map_or(&[][..], |list| list.as_array().unwrap());
    let code = alerts.iter().map(|alert| alert.require("code").unwrap());
    code.map(|code| code.as_str().unwrap()).collect()
}

/// What the seller gives back is not delivered as well.
#[test]
fn a_paid_order_that_is_refunded_is_not_delivered() {
    let mut world = World::new(1, Chaos::default());
    let id = quoted(&mut world);
    let input = world.payment(0).with("order", id.clone());
    let process = world.step("admit", &input);
    settle(&mut world, &process);
    world.pass(LEASE);
    refund(&mut world, id);
    assert_eq!(code(&world.step("admit", &input)), "refund_owed");
}

/// Nor by the worker who was at it already.
#[test]
fn an_order_refunded_while_the_work_is_done_is_not_delivered() {
    let mut world = World::new(1, Chaos::default());
    let id = quoted(&mut world);
    let input = world.payment(0).with("order", id.clone());
    let process = world.step("admit", &input);
    settle(&mut world, &process);
    refund(&mut world, id);
    let told = world.step("answer", &worker(&process).with("answer", answer(200)));
    assert_eq!(code(&told), "refund_owed");
    assert_eq!(code(&world.step("admit", &input)), "refund_owed");
}

/// One order, two buyers: the second paid it, and the cheque of the first, refused before, lands all the same. That money is owed back, and
/// buys nothing.
#[test]
fn a_late_transfer_for_an_order_that_another_paid_is_owed_back() {
    let mut world = World::new(1, Chaos::default());
    let id = quoted(&mut world);

    let first_input = world.payment(0).with("order", id.clone());
    let first = world.step("admit", &first_input);
    assert_eq!(decision(&first), "process");
    let refused = world.step("answer", &worker(&first).with("answer", answer(402)));
    assert_eq!(decision(&refused), "send");

    let second_input = world.payment(1).with("order", id);
    let second = world.step("admit", &second_input);
    assert_eq!(decision(&second), "process");
    assert_eq!(decision(&world.step("settling", &worker(&second))), "settle");
    let settlement = settlement(PAID);
    world.step("settled", &worker(&second).with("settlement", settlement));
    let sent = world.step("answer", &worker(&second).with("answer", answer(200)));
    assert_eq!(decision(&sent), "send");

    world.land(0, &World::authorization(&first).unwrap()).unwrap();
    world.pass(WINDOW + FINAL_LAG + LEASE + 1);
    let due = Json::object([("sale", first.require("sale").unwrap().clone())]);
    let read = world.step("due", &due);
    assert_eq!(decision(&read), "read");
    let reading = world.reading(&read).with("idle", Json::Bool(true));
    let told = world.step("evidence", &reading);
    assert_eq!(code(&told), "refund_owed");
    let alerts = told.require("alerts").unwrap().as_array().unwrap();
    assert_eq!(alerts.len(), 1);
    assert_eq!(alerts[0].require("code").unwrap(), &Json::text("refund_owed"));
    assert_eq!(decision(&world.step("due", &due)), "wait");

    // The first buyer hears of the money, and is not served with what the other one bought.
    let read = world.step("admit", &first_input);
    let reading = world.reading(&read);
    assert_eq!(code(&world.step("evidence", &reading)), "refund_owed");
}

/// One authorization is one purchase: under another id it is neither a second one nor a stranger's key to the first.
#[test]
fn a_payment_under_another_id_is_a_conflict() {
    let mut world = World::new(1, Chaos::default());
    let input = world.payment(0);
    assert_eq!(decision(&world.step("admit", &input)), "process");
    let other = input.with("ids", Json::Array(vec![Json::text("k1_other")]));
    let told = world.step("admit", &other);
    assert_eq!(code(&told), "payment_identifier_conflict");
    let alerts = told.require("alerts").unwrap().as_array().unwrap();
    let fields = alerts[0].require("fields").unwrap();
    assert_eq!(fields, &Json::Array(vec![Json::text("paymentId")]));
}
