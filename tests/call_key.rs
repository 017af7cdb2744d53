//! Call keys where a vector would be too long: bounds, and what a rule leaves out at the bottom of deep arguments.

use counterfoil::call_key::{call_key, missed_fields, Call, Rule, MAX_CALLS};
use counterfoil::error::Code;
use counterfoil::json::{self, Json};

fn rule(pointer: &str) -> Rule {
    let text = Json::object([
        ("effect", Json::text("write")),
        ("volatile", Json::Array(vec![Json::text(pointer)])),
    ]);
    Rule::from_json(&text).unwrap()
}

fn nested(depth: usize, leaf: &str) -> Json {
    json::parse(&format!("{}{leaf}{}", "{\"a\":".repeat(depth), "}".repeat(depth))).unwrap()
}

#[test]
fn the_deepest_field_can_be_left_out() {
    let pointer = rule(&"/a".repeat(60));
    let key = |leaf: &str, rule: &Rule| call_key("t", &nested(60, leaf), "s", rule).unwrap().unwrap();
    assert_eq!(key("1", &pointer), key("2", &pointer));
    let plain = Rule::default();
    assert_ne!(key("1", &plain).args_hash, key("2", &plain).args_hash);
    assert_ne!(key("1", &plain).key, key("2", &plain).key);
}

#[test]
fn a_removed_field_that_hides_a_protected_one_is_refused_at_any_depth() {
    let args = Json::object([("meta", nested(50, r#"{"payTo":"x"}"#))]);
    let error = call_key("t", &args, "s", &rule("/meta")).unwrap_err();
    assert_eq!(error.code, Code::ProtectedField);
}

fn calls(count: usize) -> Vec<Call> {
    let call = |number: usize| Call {
        key: None,
        tool: "t".to_owned(),
        args: Json::object([("q", Json::text("x")), ("nonce", Json::number(number as u64))]),
        scope: "s".to_owned(),
        at: number as u64,
        rule: Rule::default(),
    };
    (0..count).map(call).collect()
}

#[test]
fn calls_are_bounded() {
    let error = missed_fields(&calls(MAX_CALLS + 1), 900).unwrap_err();
    assert_eq!((error.code, error.field.as_str()), (Code::TooLarge, "calls"));
    let found = missed_fields(&calls(MAX_CALLS), 900).unwrap();
    let [one] = found.as_slice() else {
        panic!("{found:?}")
    };
    assert_eq!(one.fields, ["/nonce"]);
}

#[test]
fn the_order_of_the_calls_does_not_matter() {
    let mut mixed = calls(50);
    for (index, call) in mixed.iter_mut().enumerate() {
        call.key = Some(format!("key-{}", index % 3));
    }
    let expected = missed_fields(&mixed, 900).unwrap();
    assert_eq!(expected.len(), 4);
    mixed.reverse();
    assert_eq!(missed_fields(&mixed, 900).unwrap(), expected);
    mixed.rotate_left(17);
    assert_eq!(missed_fields(&mixed, 900).unwrap(), expected);
}
