//! What drifts is asked of a person or refused before anything is signed, where the policy says so; and nothing else is.

use counterfoil::json::{self, Json};
use counterfoil::{base64, hex};

use super::host::{signed, text, Host, KEY, SELLER};
use super::{answer, asking, fetch, host, intend, meet, question, refused, spend, ROOT};

const OTHER: &str = "0x5Fc1434a59Cdf13c71CA74bF1A9344d2E9464FCe";
/// A person can be asked at once.
const ASKING: &str = r#"{"perCall":"1000","approve":true,"drift":"ask"}"#;

/// The price comes to `to`: what the machine does then.
fn meet_at(host: &mut Host, url: &str, intent: &str, amount: u64, to: &str) -> Json {
    let effect = fetch(host, url, intent);
    assert_eq!(text(&effect, "type"), "send", "{}", effect.to_text());
    host.on(&super::host::price(amount, to))
}

/// Bought, settled and delivered.
fn bought(host: &mut Host, url: &str, intent: &str, amount: u64) {
    let sign = meet(host, url, intent, amount);
    delivered(host, &sign);
}

/// What is asked to be signed is signed, sent and answered.
fn delivered(host: &mut Host, sign: &Json) {
    signs(sign);
    host.on(&signed(sign, &KEY));
    let payer = json::parse(&host.config).unwrap();
    let said = format!(
        r#"{{"success":true,"transaction":"0x{:064x}","network":"eip155:84532","payer":"{}"}}"#,
        host.rows.len(),
        text(&payer, "payer")
    );
    let said = base64::encode(said.as_bytes());
    let deliver = host.on(&format!(
        r#"{{"type":"answer","answer":{{"status":200,"headers":{{"payment-response":"{said}"}}}}}}"#
    ));
    assert_eq!(text(&deliver, "type"), "deliver", "{}", deliver.to_text());
    let sha256 = hex::encode(counterfoil::digest::sha256(b"answer"));
    let body = base64::encode(b"answer");
    host.on(&format!(
        r#"{{"type":"body","status":200,"headers":{{}},"sha256":"{sha256}","length":6,"body":"{body}","complete":true}}"#
    ));
}

fn reasons(effect: &Json) -> Vec<String> {
    assert_eq!(text(effect, "type"), "ask", "{}", effect.to_text());
    let reasons = effect.get("approval").unwrap().get("reasons").unwrap();
    reasons.as_list(|reason| reason.as_string()).unwrap()
}

fn signs(effect: &Json) {
    assert_eq!(text(effect, "type"), "sign", "{}", effect.to_text());
}

fn refuses(effect: &Json, rule: &str) {
    refused(effect, "drift_refused", &format!("policy.drift.{rule}"));
}

/// Three payments of one operation to one recipient.
fn habit(policy: &str) -> Host {
    let mut host = host(policy, "");
    for n in 0..3 {
        bought(&mut host, &format!("https://api.example/rates?n={n}"), "{}", 100);
    }
    host
}

#[test]
fn a_new_recipient_is_asked_about_once() {
    let url = "https://api.example/rates?n=9";
    let mut host = habit(ASKING);
    assert_eq!(
        reasons(&meet_at(&mut host, url, "{}", 100, OTHER)),
        ["drift_new_recipient"]
    );
    // No: nothing is held, and the same is asked again.
    refused(
        &host.on(r#"{"type":"approved","yes":false}"#),
        "approval_denied",
        "",
    );
    let asked = meet_at(&mut host, url, "{}", 100, OTHER);
    assert_eq!(reasons(&asked), ["drift_new_recipient"]);
    let sign = host.on(r#"{"type":"approved","yes":true}"#);
    delivered(&mut host, &sign);
    // Yes: from here on both are known.
    signs(&meet_at(
        &mut host,
        "https://api.example/rates?n=10",
        "{}",
        100,
        OTHER,
    ));
    // Another operation has another recipient from the start, and the known one is nothing new.
    let mut host = habit(ASKING);
    signs(&meet_at(&mut host, "https://maps.example/", "{}", 100, OTHER));
    let mut host = habit(ASKING);
    signs(&meet_at(&mut host, url, "{}", 100, SELLER));
}

#[test]
fn a_price_step_is_asked_about() {
    let mut host = habit(ASKING);
    signs(&meet(&mut host, "https://api.example/rates?n=9", "{}", 200));
    let mut host = habit(ASKING);
    let asked = meet(&mut host, "https://api.example/rates?n=9", "{}", 201);
    assert_eq!(reasons(&asked), ["drift_price_step"]);
}

#[test]
fn the_same_in_other_words_is_asked_about_while_the_first_is_open() {
    let first = "https://api.example/search?q=oslo+hotel&page=1";
    for again in [
        "https://api.example/search?q=Oslo+Hotel&page=1",
        "https://api.example/search?page=2&q=oslo%20hotel",
        "https://api.example/search?q=oslo+hotel&page=1&requestId=77",
    ] {
        let mut host = host(ASKING, "");
        spend(&mut host, first, "{}", 100);
        host.now += 30;
        assert_eq!(
            reasons(&meet(&mut host, again, "{}", 100)),
            ["drift_near_repeat"],
            "{again}"
        );
        // Another process of the same journal, under another scope.
        let mut other = host.copy();
        let asked = meet(&mut other, again, r#"{"scope":"another"}"#, 100);
        assert_eq!(reasons(&asked), ["drift_near_repeat"], "{again}");
    }
    // Other arguments, and the same call once more, are honest; so is the next page once the first has come, and anything much later.
    for honest in [
        "https://api.example/search?q=bergen",
        "https://api.example/news?q=oslo+hotel",
    ] {
        let mut host = host(ASKING, "");
        spend(&mut host, first, "{}", 100);
        signs(&meet(&mut host, honest, "{}", 100));
    }
    let next = "https://api.example/search?q=oslo+hotel&page=2";
    let mut host = host(ASKING, "");
    bought(&mut host, first, "{}", 100);
    signs(&meet(&mut host, next, "{}", 100));
    let mut host = super::host(ASKING, "");
    spend(&mut host, first, "{}", 100);
    host.now += 601;
    signs(&meet(&mut host, next, "{}", 100));
}

#[test]
fn many_small_children_at_the_end_of_a_budget_are_asked_about_once() {
    let mut host = host(ASKING, "");
    let root = intend(&mut host, &format!(r#"{{"id":"{ROOT}","budget":"800"}}"#)).unwrap();
    let below = format!(r#"{{"parent":"{root}"}}"#);
    for n in 0..7 {
        bought(&mut host, &format!("https://api{n}.example/"), &below, 90);
    }
    let asked = meet(&mut host, "https://api8.example/", &below, 90);
    assert_eq!(reasons(&asked), ["drift_cap_approach"]);
    let sign = host.on(r#"{"type":"approved","yes":true}"#);
    delivered(&mut host, &sign);
    // It was said once: the rest of the budget is the budget's to refuse.
    signs(&meet(&mut host, "https://api9.example/", &below, 80));
    // A few that use their budget up are none of this.
    let mut few = super::host(ASKING, "");
    let root = intend(&mut few, &format!(r#"{{"id":"{ROOT}","budget":"800"}}"#)).unwrap();
    let below = format!(r#"{{"parent":"{root}"}}"#);
    for n in 0..3 {
        bought(&mut few, &format!("https://api{n}.example/"), &below, 200);
    }
    signs(&meet(&mut few, "https://api8.example/", &below, 200));
}

#[test]
fn a_budget_that_is_split_is_asked_about() {
    let policy = r#"{"perCall":"5000","approve":true,"drift":{"split":"ask","threshold":"1000"}}"#;
    let run = |amounts: [u64; 2], apart: u64| {
        let mut host = host(policy, "");
        for (n, amount) in amounts.into_iter().enumerate() {
            bought(&mut host, &format!("https://api{n}.example/"), "{}", amount);
            host.now += apart;
        }
        meet(&mut host, "https://api9.example/", "{}", 800)
    };
    assert_eq!(reasons(&run([900, 1000], 10)), ["drift_split"]);
    signs(&run([900, 799], 10));
    signs(&run([900, 1001], 10));
    signs(&run([900, 1000], 601));
}

/// Where nobody can be asked, or the policy says so, it is refused: nothing is signed, and nothing is held.
#[test]
fn what_nobody_can_be_asked_about_is_refused() {
    for policy in [
        r#"{"perCall":"1000","drift":"ask"}"#,
        r#"{"perCall":"1000","approve":true,"drift":"refuse"}"#,
        r#"{"perCall":"1000","approve":true,"drift":{"newRecipient":"refuse","priceStep":"refuse"}}"#,
    ] {
        let mut host = habit(policy);
        let held = super::host::wallet_record(&host);
        refuses(
            &meet_at(&mut host, "https://api.example/rates?n=9", "{}", 100, OTHER),
            "newRecipient",
        );
        refuses(
            &meet(&mut host, "https://api.example/rates?n=9", "{}", 300),
            "priceStep",
        );
        assert_eq!(super::host::wallet_record(&host), held);
    }
    // Only what is named.
    let mut host = habit(r#"{"perCall":"1000","drift":{"priceStep":"refuse"}}"#);
    signs(&meet_at(
        &mut host,
        "https://api.example/rates?n=9",
        "{}",
        100,
        OTHER,
    ));
    // And without a word about drift, nothing.
    let mut host = habit(r#"{"perCall":"1000","approve":true}"#);
    signs(&meet_at(
        &mut host,
        "https://api.example/rates?n=9",
        "{}",
        900,
        OTHER,
    ));
}

/// One answer that a person signed covers all of the tree up to its amount: drift below it is not asked about call by call.
#[test]
fn a_signed_answer_covers_drift_within_its_scope() {
    let mut host = asking(r#","drift":"ask""#);
    let root = intend(&mut host, &format!(r#"{{"id":"{ROOT}"}}"#)).unwrap();
    let below = format!(r#"{{"parent":"{root}"}}"#);
    for n in 0..3 {
        bought(&mut host, &format!("https://api.example/rates?n={n}"), &below, 10);
    }
    let waits = meet_at(&mut host, "https://api.example/rates?n=7", &below, 10, OTHER);
    refused(&waits, "approval_needed", "");
    let request = question(&host);
    assert_eq!(
        request.get("reasons").unwrap().to_text(),
        r#"["drift_new_recipient"]"#
    );
    let approval = answer(
        &request,
        &format!(r#","intentId":"{root}","amount":"100""#),
        &super::PERSON,
    );
    super::accept(&mut host, &approval).unwrap();
    signs(&meet_at(
        &mut host,
        "https://api.example/rates?n=7",
        &below,
        10,
        OTHER,
    ));
    let mut other = host.copy();
    let step = meet(&mut other, "https://api.example/rates?n=8", &below, 50);
    signs(&step);
    // Outside of the tree it covers nothing, and above its amount neither.
    for intent in ["{}", &below] {
        let url = "https://api.example/rates?n=11";
        refused(&meet(&mut other, url, intent, 101), "approval_needed", "");
    }
}

#[test]
fn a_rule_that_is_not_known_is_refused() {
    for drift in [
        r#""allow""#,
        r#"{"nearRepeats":"ask"}"#,
        r#"{"nearRepeat":"maybe"}"#,
        r#"{"split":"ask"}"#,
        r#"{"threshold":"10"}"#,
        "true",
        "[]",
    ] {
        let config = format!(r#"{{"payer":"{SELLER}","policy":{{"perCall":"1","drift":{drift}}}}}"#);
        let input = format!(r#"{{"config":{config}}}"#);
        let error = counterfoil::wasm::call("clientConfig", &input, None, None).unwrap_err();
        let code = error.code.as_str();
        assert!(
            matches!(code, "policy_invalid" | "invalid_type"),
            "{drift}: {code}"
        );
        assert!(
            error.field.starts_with("config.policy.drift") || error.field.starts_with("policy.drift"),
            "{}",
            error.field
        );
    }
}
