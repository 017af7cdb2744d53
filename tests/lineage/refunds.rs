//! What went back is a node, as far as evidence closes it: on the vectors of `findConflicts`, which say how much of each charge did.

use std::fs;

use counterfoil::json::{self, Json};

use super::host::text;
use super::town::call;

/// A sum of small decimal texts.
fn sum<'a>(amounts: impl Iterator<Item = &'a Json>) -> u64 {
    amounts
        .map(|amount| amount.as_str().unwrap().parse::<u64>().unwrap())
        .sum()
}

#[test]
fn what_went_back_is_a_node_and_nothing_else_is() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/vectors/conflict");
    let (mut with, mut without) = (0, 0);
    for entry in fs::read_dir(folder).unwrap() {
        let vector = json::parse(&fs::read_to_string(entry.unwrap().path()).unwrap()).unwrap();
        let input = vector.get("input").unwrap();
        let Some(Ok(findings)) = vector.get("expected").map(Json::as_array) else {
            continue;
        };
        if input.get("refunds").is_none() {
            continue;
        }
        let id = text(&vector, "id");
        let expected = sum(findings.iter().filter_map(|finding| finding.get("refunded")));
        let view = call("lineage", input).unwrap();
        let nodes = view.get("nodes").unwrap().as_array().unwrap();
        let kind = |node: &&Json| text(node, "kind") == "refund";
        let refunds: Vec<&Json> = nodes.iter().filter(kind).collect();
        assert_eq!(
            sum(refunds.iter().filter_map(|node| node.get("amount"))),
            expected,
            "{id}"
        );
        let totals = view.get("totals").unwrap().as_array().unwrap();
        assert_eq!(
            sum(totals.iter().filter_map(|cost| cost.get("refunded"))),
            expected,
            "{id}"
        );
        match refunds.is_empty() {
            true => without += 1,
            false => with += 1,
        }
        let charges: Vec<&str> = findings
            .iter()
            .flat_map(|finding| finding.get("attempts").unwrap().as_array().unwrap())
            .map(|attempt| attempt.as_str().unwrap())
            .collect();
        for refund in refunds {
            assert!(charges.contains(&text(refund, "attemptId")), "{id}");
            assert_eq!(text(refund, "actor"), "chain");
            let parents = refund.get("parents").unwrap().as_array().unwrap();
            let of = nodes
                .iter()
                .find(|node| node.get("id") == parents.first())
                .unwrap();
            assert_eq!(text(of, "kind"), "authorization", "{id}");
            assert_eq!(text(of, "attemptId"), text(refund, "attemptId"), "{id}");
        }
        // As provenance it is an entity that was derived from what was signed.
        let document = call("lineageProv", input).unwrap().to_text();
        assert_eq!(document.contains("cf:refund"), expected > 0, "{id}");
    }
    println!("{with} with refunds, {without} without");
    assert!(with >= 10 && without >= 20);
}

/// Each transfer that is owed back counts, of one token as of several: on the vectors of `findConflicts`, which name each.
#[test]
fn every_refund_that_is_owed_counts() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/vectors/conflict");
    let (mut none, mut one, mut several) = (0, 0, 0);
    for entry in fs::read_dir(folder).unwrap() {
        let vector = json::parse(&fs::read_to_string(entry.unwrap().path()).unwrap()).unwrap();
        let input = vector.get("input").unwrap();
        let Some(Ok(findings)) = vector.get("expected").map(Json::as_array) else {
            continue;
        };
        let Ok(view) = call("lineage", input) else {
            continue;
        };
        let open = findings
            .iter()
            .filter(|finding| {
                (text(finding, "code"), text(finding, "severity")) == ("duplicate_charge", "alert")
            })
            .count();
        let counters = view.get("counters").unwrap();
        assert_eq!(
            counters.get("refundOwed"),
            Some(&Json::number(open as u64)),
            "{}",
            text(&vector, "id")
        );
        match open {
            0 => none += 1,
            1 => one += 1,
            _ => several += 1,
        }
    }
    assert!(none > 0 && one > 0 && several > 0, "{none} {one} {several}");
}

/// Whatever the order in which the bundles are handed in: the same rows, sums, flags and nodes, and what stands as the payment before what is owed back.
#[test]
fn the_order_of_the_bundles_does_not_show() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/vectors/conflict");
    let (mut several, mut owed) = (0, 0);
    for entry in fs::read_dir(folder).unwrap() {
        let vector = json::parse(&fs::read_to_string(entry.unwrap().path()).unwrap()).unwrap();
        let input = vector.get("input").unwrap();
        let id = text(&vector, "id");
        let Some(Ok(bundles)) = input.get("bundles").map(Json::as_array) else {
            continue;
        };
        let Ok(view) = call("lineage", input) else {
            continue;
        };
        let mut turned = bundles.to_vec();
        for _ in 1..bundles.len() {
            turned.rotate_left(1);
            let mut back = turned.clone();
            back.reverse();
            for order in [turned.clone(), back] {
                let other = call("lineage", &input.clone().with("bundles", Json::Array(order))).unwrap();
                let plain = |view: &Json| view.clone().without("journals").to_canonical().unwrap();
                assert_eq!(plain(&other), plain(&view), "{id}");
                several += 1;
            }
        }
        let mut last: Option<(&str, bool)> = None;
        for row in view.get("rows").unwrap().as_array().unwrap() {
            if text(row, "kind") == "attempt" {
                let is_owed = row.get("owedBack").is_some();
                let intent = text(row, "intentId");
                assert!(is_owed || last != Some((intent, true)), "{id}");
                owed += usize::from(is_owed);
                last = Some((intent, is_owed));
            }
        }
    }
    assert!(several > 10 && owed > 3, "{several} orders, {owed} owed back");
}
