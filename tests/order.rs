//! The table of `advanceOrder`: every event in every state, while the quote is open and at its end, with goods set aside and
//! without. The expected cells are written by hand from the sentences quoted beside them; `order/cell-*` are the cells.

#[path = "selling/cells.rs"]
mod cells;

use counterfoil::hex;
use counterfoil::order::{self, Effect, Event, LateRule, Order, State};
use serde_json::{json, Value};
use State as S;

const NOW: u64 = 1_790_000_000;
const FIRST: &str = "pay_7d5d747be160e280504c099d984bcfe0";
const SECOND: &str = "pay_2222222222222222";
const QUOTE: [u8; 32] = [0xe2; 32];
const OTHER_QUOTE: [u8; 32] = [0xf2; 32];
const TX: [u8; 32] = [0xa1; 32];
const OTHER_TX: [u8; 32] = [0xa2; 32];

/// Every event with each kind of content that matters, by name.
fn events() -> Vec<(&'static str, Event)> {
    let pay = |quote_hash| Event::Pay {
        payment_id: SECOND.to_owned(),
        quote_hash,
    };
    let failed = |payment_id: Option<&str>| Event::PaymentFailed {
        payment_id: payment_id.map(str::to_owned),
    };
    let confirmed = |transaction, late| Event::PaymentConfirmed { transaction, late };
    vec![
        ("pay", pay(QUOTE)),
        ("pay-other-quote", pay(OTHER_QUOTE)),
        ("failed", failed(None)),
        ("failed-named", failed(Some(FIRST))),
        ("failed-another", failed(Some(SECOND))),
        ("confirmed", confirmed(TX, None)),
        ("confirmed-fulfil", confirmed(TX, Some(LateRule::Fulfil))),
        ("confirmed-refund", confirmed(TX, Some(LateRule::Refund))),
        ("confirmed-another", confirmed(OTHER_TX, None)),
        (
            "confirmed-another-fulfil",
            confirmed(OTHER_TX, Some(LateRule::Fulfil)),
        ),
        ("fulfilled", Event::Fulfilled),
        ("expire", Event::Expire),
        ("cancel", Event::Cancel),
        ("refund", Event::Refund),
        (
            "refunded",
            Event::Refunded {
                transaction: OTHER_TX,
            },
        ),
        ("refunded-by-payment", Event::Refunded { transaction: TX }),
    ]
}

/// The event as the boundary carries it.
fn event_json(event: &Event) -> Value {
    let tx = |hash: &[u8; 32]| json!(hex::encode(hash));
    match event {
        Event::Pay {
            payment_id,
            quote_hash,
        } => json!({ "type": "pay", "paymentId": payment_id, "quoteHash": tx(quote_hash) }),
        Event::PaymentFailed { payment_id: None } => json!({ "type": "payment_failed" }),
        Event::PaymentFailed { payment_id } => json!({ "type": "payment_failed", "paymentId": payment_id }),
        Event::PaymentConfirmed { transaction, late } => {
            let mut event = json!({ "type": "payment_confirmed", "transaction": tx(transaction) });
            match late {
                None => {}
                Some(LateRule::Fulfil) => event["late"] = json!("fulfil"),
                Some(LateRule::Refund) => event["late"] = json!("refund"),
            }
            event
        }
        Event::Fulfilled => json!({ "type": "fulfilled" }),
        Event::Expire => json!({ "type": "expire" }),
        Event::Cancel => json!({ "type": "cancel" }),
        Event::Refund => json!({ "type": "refund" }),
        Event::Refunded { transaction } => json!({ "type": "refunded", "transaction": tx(transaction) }),
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Cell {
    /// The new state, whether goods stay set aside, and what the host has to do.
    Moves(State, bool, &'static [&'static str]),
    /// Nothing changes.
    Stays(&'static [&'static str]),
    /// The code and the field.
    Refused(&'static str, &'static str),
}
use Cell::{Moves, Refused, Stays};

const ILLEGAL: Cell = Refused("order_move_illegal", "order.state");

/// Goods that are set aside go back first.
const fn gives_back(to: State, held: bool) -> Cell {
    match held {
        true => Moves(to, false, &["release_stock"]),
        false => Moves(to, false, &[]),
    }
}

const fn owes(held: bool) -> Cell {
    match held {
        true => Moves(S::RefundPending, false, &["release_stock", "refund_owed"]),
        false => Moves(S::RefundPending, false, &["refund_owed"]),
    }
}

/// The cell of an event, and the sentence it follows from.
fn cell(state: State, event: &Event, open: bool, held: bool) -> (Cell, &'static str) {
    match event {
        Event::Pay { quote_hash, .. } => match state {
            S::Quoted | S::PaymentFailed if !open => (
                Refused("quote_expired", "now"),
                "A failed order takes a new payment only while the quote is open; after it, a new quote",
            ),
            S::Quoted | S::PaymentFailed if *quote_hash != QUOTE => (
                Refused("terms_changed", "event.quoteHash"),
                "Each payment pins exactly one quote",
            ),
            S::Quoted | S::PaymentFailed => (
                Moves(S::Paying, held, &["broadcast"]),
                "The row is written and the order moved to paying; only then the authorization is broadcast",
            ),
            S::Paying => (
                Refused("quote_already_paying", "order.state"),
                "A second attempt that arrives while the order is being paid is refused before anything goes to the chain",
            ),
            S::Expired => (Refused("quote_expired", "order.state"), "The quote is over: a new quote"),
            S::Paid | S::Fulfilled | S::Cancelled | S::RefundPending | S::Refunded => (
                Refused("quote_not_open", "order.state"),
                "One quote, one payment: read the order before anything else",
            ),
        },
        Event::PaymentFailed { payment_id } => match state {
            S::Paying if payment_id.as_deref() == Some(SECOND) => (
                Refused("order_move_illegal", "event.paymentId"),
                "A failure of another payment does not fail the one on its way",
            ),
            S::Paying if open => (
                Moves(S::PaymentFailed, held, &[]),
                "Inside the quote window a failed order can still take a new payment, so its goods stay",
            ),
            S::Paying => (
                gives_back(S::PaymentFailed, held),
                "Given up after the quote's end: payment failed, reservation released",
            ),
            S::Quoted
            | S::PaymentFailed
            | S::Paid
            | S::Fulfilled
            | S::Expired
            | S::Cancelled
            | S::RefundPending
            | S::Refunded => (ILLEGAL, "Only a payment on its way can fail"),
        },
        Event::PaymentConfirmed { transaction, late } => match state {
            S::Quoted => (ILLEGAL, "Nothing is broadcast for an order that was never being paid"),
            S::Paying => (
                Moves(S::Paid, held, &["fulfil"]),
                "Paying to paid, once a payment row is confirmed on chain",
            ),
            S::PaymentFailed | S::Expired | S::Cancelled => match late {
                None => (
                    Refused("late_rule_missing", "event.late"),
                    "A confirmation after the order was marked failed and the stock released needs its own rule",
                ),
                Some(LateRule::Fulfil) if held => (
                    Moves(S::Paid, true, &["fulfil"]),
                    "Payment failed to paid by late confirmation; the goods were still set aside",
                ),
                Some(LateRule::Fulfil) => (
                    Moves(S::Paid, true, &["hold_stock", "fulfil"]),
                    "A late confirmation needs a stock story: the reservation was released",
                ),
                Some(LateRule::Refund) => (
                    owes(held),
                    "Any transfer that lands after its order was called failed opens a refund-owed record",
                ),
            },
            S::Paid | S::Fulfilled | S::RefundPending | S::Refunded => match *transaction == TX {
                true => (Stays(&[]), "One transfer is counted once, however often it is read"),
                false => (
                    Stays(&["refund_owed"]),
                    "Any second settled transfer is owed back, on every rail",
                ),
            },
        },
        Event::Fulfilled => match state {
            S::Paid => (
                Moves(S::Fulfilled, false, &[]),
                "Confirmed to fulfilled; the goods have left",
            ),
            S::Quoted
            | S::Paying
            | S::PaymentFailed
            | S::Fulfilled
            | S::Expired
            | S::Cancelled
            | S::RefundPending
            | S::Refunded => (ILLEGAL, "Only what is paid is delivered"),
        },
        Event::Expire => match state {
            S::Quoted | S::PaymentFailed if open => (
                Refused("order_move_illegal", "now"),
                "A quote is open until its time",
            ),
            S::Quoted | S::PaymentFailed => (
                gives_back(S::Expired, held),
                "Quote expired, reservation released",
            ),
            S::Paying => (
                ILLEGAL,
                "An order that is being paid never expires: unknown is not failed",
            ),
            S::Paid | S::Fulfilled | S::Expired | S::Cancelled | S::RefundPending | S::Refunded => {
                (ILLEGAL, "Only what is unpaid expires")
            }
        },
        Event::Cancel => match state {
            S::Quoted | S::PaymentFailed => (
                gives_back(S::Cancelled, held),
                "Quoted to cancelled, reservation released",
            ),
            S::Paying => (
                ILLEGAL,
                "A payment on its way can't be called off: it may land",
            ),
            S::Paid | S::Fulfilled | S::Expired | S::Cancelled | S::RefundPending | S::Refunded => {
                (ILLEGAL, "What is paid is refunded, not cancelled")
            }
        },
        Event::Refund => match state {
            S::Paid | S::Fulfilled => (owes(held), "Paid or fulfilled to refund pending"),
            S::Quoted
            | S::Paying
            | S::PaymentFailed
            | S::Expired
            | S::Cancelled
            | S::RefundPending
            | S::Refunded => (ILLEGAL, "Nothing is owed back that was not paid"),
        },
        Event::Refunded { transaction } => match state {
            S::RefundPending => match *transaction == TX {
                true => (
                    Refused("order_event_invalid", "event.transaction"),
                    "A refund closes with evidence of its own, not with the payment",
                ),
                false => (
                    Moves(S::Refunded, held, &[]),
                    "A refund-owed record closes only with evidence: the transaction that gave the money back",
                ),
            },
            S::Quoted
            | S::Paying
            | S::PaymentFailed
            | S::Paid
            | S::Fulfilled
            | S::Expired
            | S::Cancelled
            | S::Refunded => (ILLEGAL, "Only what is owed back is given back"),
        },
    }
}

fn order(state: State, open: bool, held: bool) -> Value {
    let mut order = json!({
        "id": "order-1", "quoteHash": hex::encode(QUOTE), "state": state.as_str(),
        // "A quote is open before quoteUntil": at that second it is over.
        "quoteUntil": if open { NOW + 1 } else { NOW }, "stockHeld": held,
    });
    match state {
        S::Quoted => {}
        S::Paying | S::PaymentFailed | S::Expired | S::Cancelled => order["paymentId"] = json!(FIRST),
        S::Paid | S::Fulfilled | S::RefundPending | S::Refunded => {
            order["paymentId"] = json!(FIRST);
            order["transaction"] = json!(hex::encode(TX));
        }
    }
    order
}

/// The answer that a cell stands for, member by member.
fn answer(cell: Cell, order: &Value, event: &Value) -> cells::Expected<Value> {
    let mut order = order.clone();
    let effects = match cell {
        Refused(code, field) => return Err((code, field)),
        Stays(effects) => effects,
        Moves(to, held, effects) => {
            order["state"] = json!(to.as_str());
            order["stockHeld"] = json!(held);
            if event["type"] == "pay" {
                order["paymentId"] = event["paymentId"].clone();
            }
            if event["type"] == "payment_confirmed" {
                order["transaction"] = event["transaction"].clone();
            }
            effects
        }
    };
    Ok(json!({ "order": order, "effects": effects }))
}

/// Whether goods are set aside in that state in life.
fn usually_held(state: State) -> bool {
    match state {
        S::Quoted | S::Paying | S::PaymentFailed | S::Paid => true,
        S::Fulfilled | S::Expired | S::Cancelled | S::RefundPending | S::Refunded => false,
    }
}

#[test]
fn every_cell_of_the_table_is_what_advance_says_and_has_its_vector() {
    let mut vectors = cells::Vectors::of("order");
    for state in State::ALL {
        for (name, event) in events() {
            // As it is in life first; beyond that a vector for each answer of its own.
            let life = usually_held(state);
            let mut written = Vec::new();
            for (open, held) in [(true, life), (false, life), (true, !life), (false, !life)] {
                let (cell, source) = cell(state, &event, open, held);
                let order = order(state, open, held);
                let input = json!({ "order": order, "event": event_json(&event), "now": NOW });
                let expected = answer(cell, &order, &input["event"]);
                let time = if open { "open" } else { "over" };
                let stock = if held { "held" } else { "free" };
                let name = [state.as_str(), name, time, stock].join("-");
                let said = expected.as_ref().map_err(|error| *error);
                cells::assert_says("advanceOrder", &input, said, &name);
                if !written.contains(&(cell, source)) {
                    vectors.add(&name, source, "advanceOrder", input, expected);
                    written.push((cell, source));
                }
            }
        }
    }
    vectors.check();
}

/// Orders driven at random, with the goods counted and every transfer followed.
#[test]
fn stock_balances_and_no_transfer_is_forgotten() {
    let mut ends = std::collections::BTreeSet::new();
    for seed in 0..20_000 {
        let mut dice = cells::Dice::new(seed);
        let mut order = Order {
            id: "order-1".to_owned(),
            quote_hash: QUOTE,
            state: State::Quoted,
            quote_until: NOW + 20,
            stock_held: dice.roll(4) > 0,
            payment_id: None,
            transaction: None,
        };
        let (mut goods, mut now) = (u8::from(order.stock_held), NOW);
        let mut owed = Vec::new();
        for step in 0..12 {
            let (name, event) = events().swap_remove(dice.roll(events().len()));
            now += dice.roll(6) as u64;
            let before = order.clone();
            let Ok((after, effects)) = order::advance(order.clone(), &event, now) else {
                continue;
            };
            for effect in &effects {
                match effect {
                    Effect::ReleaseStock => {
                        goods = goods
                            .checked_sub(1)
                            .unwrap_or_else(|| panic!("seed {seed}: given back twice"))
                    }
                    Effect::HoldStock => goods += 1,
                    Effect::Broadcast => {
                        let payable = matches!(before.state, S::Quoted | S::PaymentFailed);
                        assert!(payable && now < before.quote_until, "seed {seed}");
                    }
                    Effect::Fulfil => assert_eq!(after.state, S::Paid, "seed {seed}"),
                    Effect::RefundOwed => {}
                }
            }
            if after.state == S::Fulfilled && before.state == S::Paid {
                goods -= u8::from(before.stock_held);
            }
            assert_eq!(
                goods,
                u8::from(after.stock_held),
                "seed {seed} step {step} {name}"
            );
            if let Event::PaymentConfirmed { transaction, .. } = event {
                let counted = after.transaction == Some(transaction);
                if effects.contains(&Effect::RefundOwed) {
                    owed.push(transaction);
                }
                assert!(
                    counted || owed.contains(&transaction),
                    "seed {seed}: a transfer forgotten"
                );
            }
            if before.transaction.is_some() {
                assert_eq!(
                    after.transaction, before.transaction,
                    "seed {seed}: paid by another transfer"
                );
            }
            order = after;
        }
        ends.insert(order.state.as_str());
    }
    assert_eq!(
        ends.len(),
        State::ALL.len(),
        "every state has to come up for this to say anything: {ends:?}"
    );
}
