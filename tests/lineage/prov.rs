//! The lineage as PROV-JSON: what stands in it, by the W3C's submission. That another library reads it is `tests/js/prov.test.mjs`.

use std::collections::BTreeSet;

use super::host::text;
use super::town::*;
use counterfoil::json::Json;
use counterfoil::time::{parse_rfc3339, to_rfc3339};

fn members<'a>(document: &'a Json, kind: &str) -> &'a [(String, Json)] {
    document.get(kind).map_or(&[], |kind| kind.as_object().unwrap())
}

fn prov(texts: &[&str]) -> Json {
    let bundles = texts.iter().map(|one| Json::text(*one)).collect();
    call("lineageProv", &Json::object([("bundles", Json::Array(bundles))])).unwrap()
}

/// A purchase below a trip, and one whose answer was lost.
fn trip() -> Town {
    let mut town = Town::new(POLICY);
    town.as_actor("planner");
    let root = town.intend(r#"{"id":"root-000000000000000001","purpose":"Trip","budget":"50000"}"#);
    town.as_actor("buyer/1");
    let below = format!(r#"{{"parent":"{root}"}}"#);
    town.buy("https://hotel.example/room?n=1", &below, 30_000, SELLER);
    town.send("https://maps.example/oslo", &below, 10_000, OTHER);
    town.lose();
    town
}

/// Every node is one element under its id, and every end of a relation is an element of the right kind.
#[test]
fn each_node_is_an_element_and_no_relation_hangs() {
    let town = trip();
    let view = view(&[&town.journal()]);
    let document = prov(&[&town.journal()]);
    let names = |kind: &str| {
        members(&document, kind)
            .iter()
            .map(|(name, _)| name.clone())
            .collect::<BTreeSet<_>>()
    };
    let (entities, activities, agents) = (names("entity"), names("activity"), names("agent"));
    let nodes = view.get("nodes").unwrap().as_array().unwrap();
    assert_eq!(entities.len() + activities.len(), nodes.len());
    assert!(entities.is_disjoint(&activities));
    for node in nodes {
        let name = format!("node:{}", text(node, "id"));
        let active = matches!(
            text(node, "kind"),
            "attempt" | "send" | "observation" | "resolution" | "hand_over"
        );
        assert_eq!(
            (activities.contains(&name), entities.contains(&name)),
            (active, !active)
        );
    }
    let ends = [
        ("used", "prov:activity", &activities, "prov:entity", &entities),
        (
            "wasGeneratedBy",
            "prov:entity",
            &entities,
            "prov:activity",
            &activities,
        ),
        (
            "wasDerivedFrom",
            "prov:generatedEntity",
            &entities,
            "prov:usedEntity",
            &entities,
        ),
        (
            "wasAssociatedWith",
            "prov:activity",
            &activities,
            "prov:agent",
            &agents,
        ),
        ("wasAttributedTo", "prov:entity", &entities, "prov:agent", &agents),
        (
            "actedOnBehalfOf",
            "prov:delegate",
            &agents,
            "prov:responsible",
            &agents,
        ),
    ];
    for (relation, from, left, to, right) in ends {
        let found = members(&document, relation);
        assert!(!found.is_empty(), "{relation}");
        for (name, told) in found {
            assert!(name.starts_with("_:"));
            assert!(
                left.contains(text(told, from)) && right.contains(text(told, to)),
                "{relation} {}",
                told.to_text()
            );
        }
    }
    assert_eq!(
        agents
            .iter()
            .filter(|name| !name.starts_with("actor:0x"))
            .collect::<Vec<_>>(),
        ["actor:buyer%2F1", "actor:planner"]
    );
    // What is signed to be paid is bytes that somebody could send: they are not in it.
    let bundle = town.bundle().to_text();
    let signature = bundle.split(r#""signature":""#).nth(1).unwrap();
    let signature = signature.split('"').next().unwrap();
    assert_eq!(signature.len(), 132);
    assert!(!document.to_text().contains(signature));
}

/// `date -u -d @… +%FT%TZ`
#[test]
fn a_time_is_written_as_it_is_read() {
    for (seconds, text) in [
        (0, "1970-01-01T00:00:00Z"),
        (68_169_599, "1972-02-28T23:59:59Z"),
        (68_169_600, "1972-02-29T00:00:00Z"),
        (94_694_399, "1972-12-31T23:59:59Z"),
        (951_868_799, "2000-02-29T23:59:59Z"),
        (1_796_029_200, "2026-11-30T09:00:00Z"),
        (4_107_542_400, "2100-03-01T00:00:00Z"),
        (253_402_300_799, "9999-12-31T23:59:59Z"),
    ] {
        assert_eq!(to_rfc3339(seconds).as_deref(), Some(text));
        assert_eq!(parse_rfc3339(text), Some(seconds));
    }
    for late in [253_402_300_800, 1 << 53, u64::MAX] {
        assert_eq!(to_rfc3339(late), None);
    }
}
