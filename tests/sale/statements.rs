//! What a facilitator says, and of which payment.

use counterfoil::base64;
use counterfoil::json::Json;

use super::world::{worker, Chaos, World, SELLER, TOKEN};
use super::{alerts, answer, code, decision, settlement};

/// What a facilitator says of another network, payer or amount says nothing of this payment: the sale stays unknown, and the seller hears of it.
#[test]
fn a_statement_about_another_payment_settles_nothing() {
    let stranger = r#""network":"eip155:84532","payer":"0x209693Bc6afc0C5328bA36FaF03C514EF312287C""#;
    let less = r#""network":"eip155:84532","amount":"9999""#;
    for members in [
        r#""network":"eip155:8453""#,
        r#""network":"base""#,
        stranger,
        less,
    ] {
        let mut world = World::new(1, Chaos::default());
        let input = world.payment(0);
        let process = world.step("admit", &input);
        world.step("settling", &worker(&process));
        let told = world.step(
            "settled",
            &worker(&process).with("settlement", settlement(members)),
        );
        assert_eq!(alerts(&told), ["settlement_differs"], "{members}");
        let told = world.step("answer", &worker(&process).with("answer", answer(200)));
        assert_eq!(code(&told), "payment_in_flight", "{members}");
    }
    for members in [
        r#""network":"base-sepolia""#,
        r#""network":"eip155:84532","payer":"0x","amount":"10000""#,
    ] {
        let mut world = World::new(1, Chaos::default());
        let input = world.payment(0);
        let process = world.step("admit", &input);
        world.step("settling", &worker(&process));
        let settled = worker(&process).with("settlement", settlement(members));
        assert_eq!(alerts(&world.step("settled", &settled)), [""; 0], "{members}");
        let told = world.step("answer", &worker(&process).with("answer", answer(200)));
        assert_eq!(decision(&told), "send", "{members}");
    }
}

/// The same where nobody watches the facilitator, and the statement beside the answer is all there is.
#[test]
fn an_unwatched_statement_about_another_payment_settles_nothing() {
    for (members, expected) in [
        (r#""network":"eip155:8453""#, "problem"),
        (r#""network":"eip155:84532""#, "send"),
    ] {
        let chaos = Chaos {
            unwatched: true,
            ..Chaos::default()
        };
        let mut world = World::new(1, chaos);
        let input = world.payment(0);
        let process = world.step("admit", &input);
        let header = base64::encode(settlement(members).to_text().as_bytes());
        let headers = Json::object([("payment-response", Json::text(header))]);
        let answer = worker(&process).with("answer", answer(200).with("headers", headers));
        assert_eq!(decision(&world.step("answer", &answer)), expected);
    }
}

/// A payment stands under its chain, token, payer and nonce, however a facilitator is told of them; what is no such payment under nothing.
#[test]
fn a_nonce_is_another_one_on_every_rail() {
    let mut world = World::new(1, Chaos::default());
    let input = world.payment(0);
    let process = world.step("admit", &input);
    let authorization = World::authorization(&process).unwrap();
    let told = |network: &str, asset: &str| {
        let told = Json::object([
            ("network", Json::text(network)),
            ("asset", Json::text(asset)),
            ("from", authorization.require("from").unwrap().clone()),
            ("nonce", authorization.require("nonce").unwrap().clone()),
        ]);
        counterfoil::wasm::call("saleSlot", &told.to_text(), None, None).unwrap()
    };
    let slot = process.require("slot").unwrap();
    let lower = TOKEN.to_ascii_lowercase();
    let unsummed = TOKEN.replace("CbD", "cBd");
    for (network, asset) in [
        ("eip155:84532", TOKEN),
        ("base-sepolia", TOKEN),
        ("eip155:84532", &lower),
        ("eip155:84532", &unsummed),
    ] {
        assert_eq!(&told(network, asset), slot);
    }
    for (network, asset) in [("eip155:8453", TOKEN), ("base", TOKEN), ("eip155:84532", SELLER)] {
        let other = told(network, asset);
        assert!(other != Json::Null && &other != slot, "{network} {asset}");
    }
    for (network, asset) in [("", TOKEN), ("eip155:84532", ""), ("nowhere", TOKEN)] {
        assert_eq!(told(network, asset), Json::Null);
    }
    let none = counterfoil::wasm::call("saleSlot", "{}", None, None);
    assert_eq!(none.unwrap(), Json::Null);
}
