//! Caps per wallet.

use counterfoil::json::Json;

use super::world::{worker, Chaos, World, FINAL_LAG, TOKEN, WINDOW};
use super::{alerts, answer, code, decision, settlement, PAID};

const CAP_WINDOW: u64 = 60;

fn capped(amount: &str) -> World {
    let mut world = World::new(1, Chaos::default());
    world.caps = format!(
        r#"[{{"network":"eip155:84532","asset":"{TOKEN}","amount":"{amount}","window":{CAP_WINDOW}}}]"#
    );
    world
}

/// Purchases 0 and 2 are of one wallet. What has no known end counts however long ago it began, and its row is not dropped; what is settled counts for the
/// window; what is dead does not count.
#[test]
fn a_wallet_s_cap_counts_what_has_no_known_end_at_any_age() {
    let mut world = capped("10000");
    let first_input = world.payment(0);
    let first = world.step("admit", &first_input);
    world.step("settling", &worker(&first));
    world.step("answer", &worker(&first));
    let wallet = |world: &World| world.due.keys().any(|key| key.starts_with("wallet/"));
    world.pass(CAP_WINDOW + 1);
    let other = world.payment(2);
    assert_eq!(code(&world.step("admit", &other)), "over_wallet_cap");
    assert!(
        !wallet(&world),
        "a row with an open payment is dropped by a sweep"
    );

    let settled = worker(&first).with("settlement", settlement(PAID));
    world.step("settled", &settled);
    assert!(wallet(&world), "the row of what is known is never dropped");
    assert_eq!(code(&world.step("admit", &other)), "over_wallet_cap");
    world.pass(CAP_WINDOW);
    assert_eq!(decision(&world.step("admit", &other)), "process");
}

/// A payment that lands after its sale was called failed is money spent as well.
#[test]
fn a_wallet_s_cap_counts_what_lands_late() {
    let mut world = capped("10000");
    let input = world.payment(0);
    let first = world.step("admit", &input);
    world.step("answer", &worker(&first).with("answer", answer(402)));
    world.land(0, &World::authorization(&first).unwrap()).unwrap();
    world.pass(WINDOW + FINAL_LAG + 1);
    let due = Json::object([("sale", first.require("sale").unwrap().clone())]);
    let read = world.step("due", &due);
    let reading = world.reading(&read).with("idle", Json::Bool(true));
    assert_eq!(alerts(&world.step("evidence", &reading)), ["late_confirmation"]);
    let other = world.payment(2);
    assert_eq!(code(&world.step("admit", &other)), "over_wallet_cap");
}
