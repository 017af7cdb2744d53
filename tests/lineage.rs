//! The lineage of intents: what it cost up the tree, what is forged in it, and what drifts.

#[path = "client/host.rs"]
mod host;
#[path = "lineage/prov.rs"]
mod prov;
#[path = "lineage/refunds.rs"]
mod refunds;
#[path = "lineage/town.rs"]
mod town;

use counterfoil::json::{self, Json};
use counterfoil::{digest, hex};
use host::text;
use town::*;

const ROOT: &str = "root-000000000000000001";

fn rows(view: &Json) -> &[Json] {
    view.get("rows").unwrap().as_array().unwrap()
}

fn total<'a>(view: &'a Json, name: &str) -> &'a str {
    text(&view.get("totals").unwrap().as_array().unwrap()[0], name)
}

/// A planner with a budget, two buyers below, one answer lost.
fn trip() -> (Town, String) {
    let mut town = Town::new(POLICY);
    town.as_actor("planner");
    let root = town.intend(&format!(r#"{{"id":"{ROOT}","purpose":"Trip","budget":"50000"}}"#));
    town.as_actor("buyer");
    let child = format!(r#"{{"id":"hotel-00000000000001","parent":"{root}","budget":"40000"}}"#);
    let hotel = town.intend(&child);
    town.buy(
        "https://hotel.example/room?n=1",
        &format!(r#"{{"parent":"{hotel}"}}"#),
        30_000,
        SELLER,
    );
    town.send(
        "https://maps.example/oslo",
        &format!(r#"{{"parent":"{hotel}","scope":"maps"}}"#),
        10_000,
        OTHER,
    );
    town.lose();
    (town, root)
}

// ---------------------------------------------------------------- what it cost

/// everruns/everruns#2623, vercel/eve#555: children debit the root's budget; what is unknown counts.
#[test]
fn cost_is_summed_up_the_tree_and_unknown_counts() {
    let (town, root) = trip();
    for source in [town.journal(), town.bundle().to_text()] {
        let view = view(&[&source]);
        assert_eq!(text(&view, "root"), root);
        assert_eq!(
            (total(&view, "settled"), total(&view, "reserved")),
            ("30000", "10000")
        );
        let rows = rows(&view);
        let shown: Vec<(String, String, String)> = rows
            .iter()
            .map(|row| {
                let depth = row.get("depth").unwrap().as_u64().unwrap();
                (
                    format!("{depth} {}", text(row, "kind")),
                    text(row, "state").to_owned(),
                    text(row, "agent").to_owned(),
                )
            })
            .collect();
        let want = [
            ("0 intent", "unknown", "planner"),
            ("1 intent", "prepared", "buyer"),
            ("2 intent", "settled", "buyer"),
            ("3 attempt", "settled", "buyer"),
            ("2 intent", "unknown", "buyer"),
            ("3 attempt", "unknown", "buyer"),
        ];
        assert_eq!(
            shown[1..]
                .iter()
                .map(|(a, b, c)| (a.as_str(), b.as_str(), c.as_str()))
                .collect::<Vec<_>>(),
            want[1..]
        );
        assert_eq!(shown[0].0, "0 intent");
        assert_eq!(text(&rows[0], "label"), "Trip");
        let spent = &rows[0].get("spent").unwrap().as_array().unwrap()[0];
        assert_eq!(
            (text(spent, "settled"), text(spent, "reserved")),
            ("30000", "10000")
        );
        assert_eq!(text(&rows[3], "by"), "seller");
        assert_eq!(text(&rows[5], "runningTotal"), "40000");
        let actions = view.get("actions").unwrap().as_array().unwrap();
        assert_eq!(
            actions.iter().map(|one| text(one, "code")).collect::<Vec<_>>(),
            ["outcome_unknown"]
        );
        assert!(flags(&view).is_empty(), "{:?}", flags(&view));
    }
}

#[test]
fn a_record_in_two_bundles_counts_once_in_any_order() {
    let (town, _) = trip();
    let (mut other, _) = trip();
    other.host.now += 50;
    other.buy(
        "https://else.example/",
        r#"{"id":"else-000000000000001"}"#,
        7,
        SELLER,
    );
    let (one, two) = (town.bundle().to_text(), other.journal());
    let [forth, back] = [view(&[&one, &two]), view(&[&two, &one])];
    let apart = |view: &Json| view.clone().without("journals").to_canonical().unwrap();
    assert_eq!(apart(&forth), apart(&back));
    assert_eq!(
        (total(&forth, "settled"), total(&forth, "reserved")),
        ("30007", "10000")
    );
    assert_eq!(text(&forth, "root"), "");
    assert_eq!(
        call(
            "lineage",
            &Json::object([("bundles", Json::Array(vec![Json::text("{}")]))])
        ),
        Err("missing_field bundles[0].type".to_owned())
    );
    let asked = Json::object([
        ("bundles", Json::Array(vec![Json::text(one)])),
        ("root", Json::text("0x00")),
    ]);
    assert_eq!(call("lineage", &asked), Err("intent_unknown root".to_owned()));
}

/// Of two budgets that are told of one intent the narrower one holds, whichever is read first.
#[test]
fn the_narrowest_limits_hold() {
    let (town, root) = trip();
    let bundle = town.bundle();
    let budget = |amount: &str| {
        placed(&bundle, |places| {
            for place in places.iter_mut().filter(|place| text(place, "intentId") == root) {
                place.set("budget", Json::text(amount));
            }
        })
    };
    let (wide, narrow) = (budget("200000"), budget("1"));
    let over = |texts: &[&str]| {
        let view = view(texts);
        let row = rows(&view)
            .iter()
            .find(|row| text(row, "intentId") == root)
            .unwrap();
        (
            text(row, "budget").to_owned(),
            row.get("flags").unwrap().to_text().contains("over_budget"),
        )
    };
    assert_eq!(over(&[&wide]), ("200000".to_owned(), false));
    for texts in [[&narrow, &wide], [&wide, &narrow]] {
        assert_eq!(over(&[texts[0], texts[1]]), ("1".to_owned(), true));
    }
}

/// The ids are computed here again, from docs/formats.md.
#[test]
fn nodes_are_addressed_by_their_content_and_chained_by_writer() {
    let (town, _) = trip();
    let view = view(&[&town.journal()]);
    let nodes = view.get("nodes").unwrap().as_array().unwrap();
    let mut heads = std::collections::BTreeMap::new();
    let mut known = std::collections::BTreeSet::new();
    for node in nodes {
        let body = node.clone().without("id").to_canonical().unwrap();
        let id = hex::encode(digest::sha256(
            format!("counterfoil/lineage-node/v1\n{body}").as_bytes(),
        ));
        assert_eq!(text(node, "id"), id);
        let prev = node.get("prev").map(|prev| prev.as_str().unwrap().to_owned());
        assert_eq!(heads.insert(text(node, "actor").to_owned(), id.clone()), prev);
        for parent in node.get("parents").unwrap().as_array().unwrap() {
            assert!(known.contains(parent.as_str().unwrap()));
        }
        known.insert(id);
    }
    let kinds: std::collections::BTreeSet<&str> = nodes.iter().map(|node| text(node, "kind")).collect();
    for kind in [
        "intent",
        "quote",
        "attempt",
        "authorization",
        "send",
        "observation",
        "receipt",
    ] {
        assert!(kinds.contains(kind), "{kind}");
    }
    assert_eq!(heads.len(), 2);
}

// ---------------------------------------------------------------- journals that were tampered with

fn judged(journal: &str) -> (String, Vec<(String, String)>) {
    let report = verify(journal);
    (text(&report, "verdict").to_owned(), troubles(&report))
}

/// A journal that was just made holds nothing, or what a crash left of its first line.
#[test]
fn a_fresh_journal_is_a_journal() {
    let (town, _) = trip();
    let whole = town.journal();
    let shown = |texts: &[&str]| view(texts).without("journals");
    let first = whole.lines().next().unwrap();
    let journal = |text: &str| {
        let seen = view(&[text]);
        let journals = seen.get("journals").unwrap().as_array().unwrap();
        assert!(rows(&seen).is_empty());
        assert_eq!(judged(text), ("verified".to_owned(), vec![]), "{text}");
        journals[0].get("torn") == Some(&Json::Bool(true))
    };
    assert!(!journal(""));
    for length in [1, 5, 11, 12, 40, first.len() - 1] {
        assert!(journal(&first[..length]), "{length}");
        assert_eq!(shown(&[&whole, &first[..length]]), shown(&[&whole]));
    }
    assert_eq!(shown(&["", &whole]), shown(&[&whole]));
    let refused = |text: &str| {
        let bundles = Json::Array(vec![Json::text(whole.as_str()), Json::text(text)]);
        call("lineage", &Json::object([("bundles", bundles)])).unwrap_err()
    };
    let bundle = town.bundle().to_text();
    // A bundle that was cut off, other texts, and more than one line of which the first is none.
    for text in [
        &bundle[..bundle.len() - 1],
        &bundle[..12],
        "\n",
        " ",
        "[",
        "null and more",
        "{\"hash\":\"1\"",
        "{\"hash\":\"0x\n{\"hash\":\"0x",
    ] {
        assert_eq!(refused(text), "json_invalid bundles[1]", "{text}");
    }
}

#[test]
fn a_journal_that_was_tampered_with_is_named_as_such() {
    let (town, _) = trip();
    let lines = &town.lines;
    assert_eq!(judged(&town.journal()), ("verified".to_owned(), vec![]));
    let at = 4;
    let rewritten = lines[at].replace("30000", "90000");
    assert_ne!(rewritten, lines[at]);
    let rehashed = |line: &str, prev: Option<String>| {
        let line = json::parse(line.trim_end()).unwrap().without("hash");
        let line = match prev {
            Some(prev) => line.without("prev").with("prev", Json::String(prev)),
            None => line,
        };
        let hash = digest::tagged("counterfoil/journal/v1", &line).unwrap();
        format!(
            "{}\n",
            line.with("hash", Json::text(hex::encode(hash)))
                .to_canonical()
                .unwrap()
        )
    };
    let with = |at: usize, line: &str| {
        let mut lines = lines.clone();
        lines[at] = line.to_owned();
        lines.concat()
    };
    let without = |at: usize| {
        let mut lines = lines.clone();
        lines.remove(at);
        lines.concat()
    };
    let mut swapped = lines.clone();
    swapped.swap(at, at + 1);
    let mut repeated = lines.clone();
    repeated.insert(at, lines[at - 1].clone());
    // Another journal of the same length before the cut.
    let mut other = Town::new(POLICY);
    for n in 0..6 {
        other.buy(
            "https://other.example/",
            &format!(r#"{{"id":"other-{n:020}"}}"#),
            5,
            SELLER,
        );
    }
    let spliced = [&other.lines[..at], &lines[at..]].concat().concat();
    let prev = |at: usize| text(&json::parse(lines[at].trim_end()).unwrap(), "prev").to_owned();
    let elsewhere = format!("0x{}", "5a".repeat(32));
    let foreign = [&lines[..at], &other.lines[at..=at], &lines[at..]]
        .concat()
        .concat();
    let rows = [
        (with(at, &rewritten), "journal.hash", "rewritten, line 5"),
        (
            with(at, &rehashed(&rewritten, None)),
            "journal.order",
            "spliced, line 6",
        ),
        (
            with(at, &lines[at].replace(&prev(at), &elsewhere)),
            "journal.hash",
            "rewritten, line 5",
        ),
        (
            with(at, &rehashed(&lines[at], Some(elsewhere))),
            "journal.order",
            "spliced, line 5",
        ),
        (
            with(at, &rehashed(&lines[at], Some(prev(at - 1)))),
            "journal.order",
            "reordered, line 5",
        ),
        (foreign, "journal.order", "spliced, line 5"),
        (
            with(at, &lines[at].replacen("{\"hash\"", "{\"a\":1,\"hash\"", 1)),
            "journal.form",
            "malformed, line 5",
        ),
        (spliced, "journal.order", "spliced, line 5"),
        (swapped.concat(), "journal.order", "reordered, line 5"),
        (repeated.concat(), "journal.order", "reordered, line 5"),
        (without(at), "journal.complete", "truncated, line 5"),
        (without(0), "journal.complete", "truncated, line 1"),
        (with(at, "{}\n"), "journal.form", "malformed, line 5"),
        (
            with(at, &lines[at].replacen('{', "{ ", 1)),
            "journal.form",
            "malformed, line 5",
        ),
    ];
    for (journal, id, why) in &rows {
        let (verdict, troubles) = judged(journal);
        assert_eq!(verdict, "failed", "{why}");
        assert!(
            troubles
                .iter()
                .any(|(found, because)| found == id && because.starts_with(why)),
            "{why}: {troubles:?}"
        );
        let view = view(&[journal]);
        let fault = text(&view.get("journals").unwrap().as_array().unwrap()[0], "fault");
        assert!(why.starts_with(fault));
    }
    // Cut off at its end it is an older journal, and the report says so; a torn last line is a crash.
    let cut = lines[..lines.len() - 2].concat();
    let report = verify(&cut);
    assert_eq!(text(&report, "verdict"), "verified");
    let limits = report.get("doesNotProve").unwrap().as_array().unwrap();
    assert!(limits[0].as_str().unwrap().contains("cut off at its end"));
    let torn = town.journal();
    assert_eq!(judged(&torn[..torn.len() - 40]).0, "verified");
}

/// "failed" is never accepted without chain evidence: the line is well chained, for a chain of hashes has no key.
#[test]
fn a_forged_end_is_not_believed() {
    let (mut town, _) = trip();
    let key = town
        .host
        .rows
        .keys()
        .find(|key| key.starts_with("intent/") && town.host.rows[*key].1.contains("timeout"));
    let key = key.unwrap().clone();
    let (rev, record) = town.host.rows[&key].clone();
    let forged = record.replace(r#""state":"sent""#, r#""state":"dead""#);
    assert_ne!(forged, record);
    town.host.rows.insert(key, (rev + 1, forged));
    town.write_down();
    let (verdict, troubles) = judged(&town.journal());
    assert_eq!(verdict, "failed");
    assert_eq!(troubles[0].0, "lineage.state");
    // It counts as spent all the same.
    let view = view(&[&town.journal()]);
    assert_eq!(total(&view, "reserved"), "10000");
    let row = rows(&view).last().unwrap();
    assert_eq!(text(row, "state"), "unknown");
    assert!(row.to_text().contains("unproven_state"));
}

// ---------------------------------------------------------------- where a budget was passed

/// Room for 30000, map for 10000: the root and the child have a budget each.
#[test]
fn the_payment_that_passes_a_budget_is_told() {
    let (town, _) = trip();
    let cases = [
        ("40000", "40000", [false, false]),
        ("39999", "40000", [false, true]),
        ("50000", "39999", [false, true]),
        ("39999", "29999", [true, true]),
        ("29999", "29999", [true, false]),
    ];
    for (root, hotel, expected) in cases {
        let view = view(&[&placed(&town.bundle(), |places| {
            places[0].set("budget", Json::text(root));
            places[1].set("budget", Json::text(hotel));
        })]);
        let attempts = rows(&view).iter().filter(|row| row.get("attemptId").is_some());
        let told: Vec<bool> = attempts
            .map(|row| row.get("passesBudget") == Some(&Json::Bool(true)))
            .collect();
        assert_eq!(told, expected, "{root}, {hotel}");
    }
}

// ---------------------------------------------------------------- lineage that was forged

fn placed(bundle: &Json, change: impl Fn(&mut Vec<Json>)) -> String {
    let mut places = bundle.get("places").unwrap().as_array().unwrap().to_vec();
    change(&mut places);
    bundle.clone().with("places", Json::Array(places)).to_text()
}

#[test]
fn forged_lineage_is_refused_each_for_its_own_reason() {
    let (town, root) = trip();
    let bundle = town.bundle();
    assert_eq!(judged(&bundle.to_text()), ("verified".to_owned(), vec![]));
    let places = bundle.get("places").unwrap().as_array().unwrap();
    let hotel = text(&places[1], "intentId").to_owned();
    let place = |id: &str, parent: &str| {
        Json::object([
            ("intentId", Json::text(id)),
            ("parent", Json::text(parent)),
            ("at", Json::number(1)),
        ])
    };
    let set = |at: usize, name: &'static str, value: Json| {
        placed(&bundle, move |places| places[at].set(name, value.clone()))
    };
    let elsewhere = placed(&bundle, |places| {
        places.push(Json::object([
            ("intentId", Json::text("0x0e")),
            ("at", Json::number(1)),
        ]));
        places[2].set("parent", Json::text("0x0e"));
    });
    let cycle = placed(&bundle, |places| {
        places[0].set("parent", Json::text(hotel.as_str()))
    });
    let id = |n: usize| format!("0x{n:064x}");
    let deep = placed(&bundle, |places| {
        places.extend((1..10_000).map(|n| {
            place(&id(n), if n == 1 { &root } else { "" }).with(
                "parent",
                Json::text(if n == 1 { root.clone() } else { id(n - 1) }),
            )
        }))
    });
    let rows = [
        (cycle, "lineage.acyclic"),
        (deep, "lineage.depth"),
        (elsewhere, "lineage.tree"),
        (set(1, "budget", Json::text("60000")), "lineage.scope"),
        (set(0, "budget", Json::text("39999")), "lineage.budget"),
        (set(1, "budget", Json::text("39999")), "lineage.budget"),
    ];
    for (forged, id) in &rows {
        let (verdict, troubles) = judged(forged);
        assert_eq!(verdict, "failed", "{id}");
        let found = troubles.iter().find(|(found, _)| found == id);
        assert!(
            found.is_some_and(|(_, why)| why.starts_with("bad_lineage: ")),
            "{id}: {troubles:?}"
        );
        // It is shown all the same, and nothing runs in a circle.
        view(&[forged]);
    }
    // A parent that is in another journal is asked for, and not called forged.
    let alone = placed(&bundle, |places| drop(places.remove(0)));
    let report = verify(&alone);
    assert_eq!(text(&report, "verdict"), "incomplete");
    assert!(troubles(&report).is_empty());
    // A purchase whose parent was rewritten is no longer the digest of what was wanted.
    let moved = bundle.to_text().replacen(
        &format!(r#""parent":"{hotel}""#),
        &format!(r#""parent":"{root}""#),
        1,
    );
    assert!(judged(&moved)
        .1
        .iter()
        .any(|(id, _)| id == "intent.id" || id == "lineage.tree"));
}

// ---------------------------------------------------------------- drift: one honest and one dishonest journal for each rule

fn told(town: &Town, code: &str) -> bool {
    let options = Json::object([("threshold", Json::text("1000"))]);
    let found = flags(&view_with(&[&town.journal()], options));
    assert!(found.iter().all(|found| found == code), "{code}: {found:?}");
    !found.is_empty()
}

fn under_root(budget: &str) -> (Town, String) {
    let mut town = Town::new(POLICY);
    town.as_actor("planner");
    let root = town.intend(&format!(r#"{{"id":"{ROOT}","budget":"{budget}"}}"#));
    (town, root)
}

#[test]
fn drift_near_repeat() {
    let url = "https://api.example/search?q=oslo+hotel&page=1";
    // Honest: the pages of a list, each delivered; and the same call again after a lost answer.
    let mut honest = Town::new(POLICY);
    for page in 1..6 {
        honest.buy(
            &format!("https://api.example/search?q=oslo+hotel&page={page}"),
            "{}",
            100,
            SELLER,
        );
    }
    honest.send("https://api.example/news?q=a", "{}", 100, SELLER);
    honest.lose();
    honest.host.now += 700;
    honest.buy("https://api.example/news?q=b", "{}", 100, SELLER);
    assert!(!told(&honest, "drift_near_repeat"));
    // Dishonest: the answer is lost, and the same is asked in other words, which is another purchase.
    for again in [
        "https://api.example/search?q=Oslo+Hotel&page=1",
        "https://api.example/search?q=oslo++hotel&page=1",
        "https://api.example/search?page=2&q=oslo%20hotel",
        "https://api.example/search?q=oslo+hotel&page=1&requestId=77",
    ] {
        let mut town = Town::new(POLICY);
        town.send(url, "{}", 100, SELLER);
        town.lose();
        town.host.now += 30;
        town.buy(again, "{}", 100, SELLER);
        assert!(told(&town, "drift_near_repeat"), "{again}");
    }
}

#[test]
fn drift_new_recipient() {
    let run = |last: &str| {
        let mut town = Town::new(POLICY);
        for n in 0..3 {
            town.buy(&format!("https://api.example/rates?n={n}"), "{}", 100, SELLER);
        }
        // Another operation has another recipient from the start.
        town.buy("https://maps.example/", "{}", 100, OTHER);
        town.buy("https://api.example/rates?n=9", "{}", 100, last);
        town
    };
    assert!(!told(&run(SELLER), "drift_new_recipient"));
    assert!(told(&run(OTHER), "drift_new_recipient"));
}

#[test]
fn drift_price_step() {
    let run = |last: u64| {
        let mut town = Town::new(POLICY);
        for (n, amount) in [80, 100, 90, last].into_iter().enumerate() {
            town.buy(&format!("https://api.example/rates?n={n}"), "{}", amount, SELLER);
        }
        town
    };
    assert!(!told(&run(200), "drift_price_step"));
    assert!(told(&run(201), "drift_price_step"));
}

#[test]
fn drift_cap_approach() {
    let run = |children: usize, amount: u64| {
        let (mut town, root) = under_root("800");
        for n in 0..children {
            town.buy(
                &format!("https://api{n}.example/"),
                &format!(r#"{{"parent":"{root}"}}"#),
                amount,
                SELLER,
            );
        }
        town
    };
    // Honest: a few that use their budget up, or many that do not.
    assert!(!told(&run(4, 200), "drift_cap_approach"));
    assert!(!told(&run(8, 80), "drift_cap_approach"));
    assert!(told(&run(8, 90), "drift_cap_approach"));
}

#[test]
fn drift_other_actor() {
    let run = |second: &str, own_intent: bool| {
        let (mut town, root) = under_root("5000");
        town.as_actor("buyer");
        town.buy(
            "https://a.example/",
            &format!(r#"{{"parent":"{root}"}}"#),
            10,
            SELLER,
        );
        town.as_actor(second);
        let parent = match own_intent {
            true => town.intend(&format!(
                r#"{{"id":"own-0000000000000001","parent":"{root}","budget":"100"}}"#
            )),
            false => root,
        };
        town.buy(
            "https://b.example/",
            &format!(r#"{{"parent":"{parent}"}}"#),
            10,
            SELLER,
        );
        town
    };
    assert!(!told(&run("buyer", false), "drift_other_actor"));
    assert!(!told(&run("helper", true), "drift_other_actor"));
    assert!(told(&run("stranger", false), "drift_other_actor"));
}

#[test]
fn drift_split() {
    // A person is asked above 1000.
    let run = |amounts: &[u64], apart: u64| {
        let mut town = Town::new(POLICY);
        for (n, amount) in amounts.iter().enumerate() {
            town.buy(&format!("https://api{n}.example/"), "{}", *amount, SELLER);
            town.host.now += apart;
        }
        town
    };
    assert!(!told(&run(&[900, 900], 10), "drift_split"));
    assert!(!told(&run(&[400, 300, 500, 790, 100], 10), "drift_split"));
    assert!(!told(&run(&[900, 900, 900], 400), "drift_split"));
    assert!(told(&run(&[900, 1000, 800], 10), "drift_split"));
}

/// At least a thousand honest calls of mixed shapes: nothing is raised.
#[test]
fn an_honest_corpus_raises_nothing() {
    let seed = std::env::var("COUNTERFOIL_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok())
        .unwrap_or(20_261_130_u64);
    println!("seed {seed}");
    let mut random = seed | 1;
    let mut pick = |below: u64| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random % below
    };
    let (mut calls, mut raised, mut towns) = (0, Vec::new(), 0);
    while calls < 1_000 {
        let mut town = Town::new(POLICY);
        town.as_actor("planner");
        let mut parents = vec![String::new()];
        for n in 0..pick(4) {
            let parent = parents[pick(parents.len() as u64) as usize].clone();
            let root = town.intend(&format!(
                r#"{{"id":"intent-{n:020}","budget":"{}"{parent}}}"#,
                400_000
            ));
            parents.push(format!(r#","parent":"{root}""#));
        }
        while calls < 1_000 && town.lines.len() < 260 {
            let host = pick(6);
            let to = if host % 2 == 0 { SELLER } else { OTHER };
            let usual = 200 + host * 100;
            let amount = |pick: &mut dyn FnMut(u64) -> u64| usual * (80 + pick(60)) / 100;
            let parent = parents[pick(parents.len() as u64) as usize].clone();
            let scope = pick(5);
            let intent = format!(r#"{{"scope":"run-{scope}"{parent}}}"#);
            match pick(5) {
                // The pages of a list, each delivered.
                0 => {
                    for page in 0..1 + pick(4) {
                        let price = amount(&mut pick);
                        town.buy(
                            &format!("https://shop{host}.example/list?q=w{}&page={page}", pick(4)),
                            &intent,
                            price,
                            to,
                        );
                        calls += 1;
                    }
                }
                // The same price looked up again.
                1 => {
                    for _ in 0..1 + pick(3) {
                        let price = amount(&mut pick);
                        town.buy(
                            &format!("https://shop{host}.example/rate?pair=EUR"),
                            &intent,
                            price,
                            to,
                        );
                        calls += 1;
                    }
                }
                // The answer is lost, and the same call has it in the end.
                2 => {
                    let url = format!("https://shop{host}.example/report?id={}", calls);
                    let price = amount(&mut pick);
                    town.send(&url, &intent, price, to);
                    assert!(town.lose_once());
                    town.deliver();
                    calls += 1;
                }
                // An answer that never comes.
                3 if pick(4) == 0 => {
                    let price = amount(&mut pick);
                    town.send(
                        &format!("https://shop{host}.example/slow?id={calls}"),
                        &intent,
                        price,
                        to,
                    );
                    town.lose();
                    calls += 1;
                }
                _ => {
                    let price = amount(&mut pick);
                    town.buy(
                        &format!("https://shop{host}.example/item?id={}&lang=no", pick(50)),
                        &intent,
                        price,
                        to,
                    );
                    calls += 1;
                }
            }
            town.host.now += pick(90);
        }
        let options = Json::object([("threshold", Json::text("100000"))]);
        raised.extend(flags(&view_with(&[&town.journal()], options)));
        let report = verify(&town.journal());
        assert_eq!(text(&report, "verdict"), "verified", "{:?}", troubles(&report));
        towns += 1;
    }
    println!(
        "{calls} honest calls in {towns} journals: {} raised",
        raised.len()
    );
    assert!(raised.is_empty(), "{raised:?}");
}
