//! Every code of the registry is produced by a case: a vector, or the test named here.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use counterfoil::error::Code;
use counterfoil::json::{self, Json};

/// Codes that no single call gives, by the test that produces them.
const ELSEWHERE: &[(&str, &[&str])] = &[
    (
        "tests/refusals.rs",
        &[
            "aborted",
            "answer_not_stored",
            "approval_denied",
            "attempts_exhausted",
            "chain_mismatch",
            "expired_before_send",
            "intent_released",
            "journal_conflict",
            "journal_unavailable",
            "payment_rejected",
            "redirected",
            "signer_failed",
            "used_or_cancelled",
        ],
    ),
    ("tests/permit2.rs", &["permit2_unsupported"]),
    ("tests/split.rs", &["partly_paid"]),
    ("tests/tree/drift.rs", &["drift_refused"]),
    (
        "tests/hand_over.rs",
        &[
            "hand_over_other_secret",
            "hand_over_paid",
            "hand_over_replayed",
            "hand_over_stale",
            "hand_over_taken",
            "hand_over_unproven",
            "hand_over_unread",
            "hand_over_untrusted",
            "hand_over_wider",
            "intent_handed_over",
        ],
    ),
    (
        "tests/js/audit.test.mjs",
        &["input_unreadable", "response_unreadable"],
    ),
    (
        "tests/tree.rs",
        &[
            "approval_needed",
            "bad_lineage",
            "intent_expired",
            "lineage_wider",
            "over_budget",
            "over_recipient_cap",
        ],
    ),
    (
        "tests/lineage.rs",
        &[
            "drift_cap_approach",
            "drift_near_repeat",
            "drift_new_recipient",
            "drift_other_actor",
            "drift_price_step",
            "drift_split",
        ],
    ),
    ("tests/upto.rs", &["settlement_differs"]),
    ("tests/tempo.rs", &["rail_not_provable"]),
    ("tests/tempo_afterwards.rs", &["ends_by_itself"]),
    ("tests/finality.rs", &["payment_vanished", "settlement_vanished"]),
    (
        "tests/mpp.rs",
        &[
            "challenge_changed",
            "challenge_expired",
            "mpp_unsupported",
            "transport_insecure",
        ],
    ),
    ("tests/gateway/gateway.test.mjs", &["answer_expired", "not_found"]),
    ("tests/gateway/afterwards.test.mjs", &["refund_owed"]),
    (
        "tests/js/file-journal.test.mjs",
        &["journal_corrupt", "journal_locked"],
    ),
    ("tests/js/journal-suite.mjs", &["journal_closed"]),
    ("tests/gateway/store-suite.mjs", &["store_unavailable"]),
    ("tests/gateway/postgres-journal.test.mjs", &["journal_unknown"]),
    ("tests/js/lease.test.mjs", &["intent_in_flight"]),
    (
        "tests/js/boundary.test.mjs",
        &["cyclic_input", "internal_error", "not_loaded"],
    ),
    ("tests/js/payer-refusals.test.mjs", &["request_body_unsupported"]),
    (
        "tests/js/claims.test.mjs",
        &[
            "claim_delivered",
            "claim_unpaid",
            "intent_unknown",
            "nothing_to_cancel",
        ],
    ),
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every member `code`.
fn collect(json: &Json, codes: &mut BTreeSet<String>) {
    match json {
        Json::Object(members) => members.iter().for_each(|(name, value)| match value {
            Json::String(code) if name == "code" => drop(codes.insert(code.clone())),
            other => collect(other, codes),
        }),
        Json::Array(items) => items.iter().for_each(|item| collect(item, codes)),
        _ => {}
    }
}

fn of_vectors(folder: &Path, codes: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            of_vectors(&path, codes);
        } else if path.extension().is_some_and(|extension| extension == "json") {
            let vector = json::parse(&fs::read_to_string(&path).unwrap()).unwrap();
            match vector.get("error") {
                Some(Json::String(code)) => drop(codes.insert(code.clone())),
                Some(error) => collect(error, codes),
                None => vector
                    .get("expected")
                    .into_iter()
                    .for_each(|value| collect(value, codes)),
            }
        }
    }
}

#[test]
fn every_code_has_a_case() {
    let mut produced = BTreeSet::new();
    of_vectors(&root().join("tests/vectors"), &mut produced);
    for (file, codes) in ELSEWHERE {
        let test = fs::read_to_string(root().join(file)).unwrap();
        for code in *codes {
            assert!(
                test.contains(&format!("\"{code}\"")),
                "{file} does not speak of {code}"
            );
            assert!(
                !produced.contains(*code),
                "{code} has a vector: strike it from ELSEWHERE"
            );
        }
        produced.extend(codes.iter().map(|code| (*code).to_owned()));
    }
    let known = |code: &str| Code::ALL.iter().any(|known| known.as_str() == code);
    for code in ELSEWHERE.iter().flat_map(|(_, codes)| *codes) {
        assert!(known(code), "the registry has no {code}");
    }
    let without: Vec<&str> = Code::ALL
        .iter()
        .map(|code| code.as_str())
        .filter(|code| !produced.contains(*code))
        .collect();
    assert!(without.is_empty(), "codes without a case: {without:?}");
}

#[test]
fn codes_are_unique_and_well_spelt() {
    let texts: BTreeSet<&str> = Code::ALL.iter().map(|code| code.as_str()).collect();
    assert_eq!(texts.len(), Code::ALL.len());
    for code in Code::ALL {
        let text = code.as_str();
        assert!(
            text.bytes()
                .all(|byte| byte == b'_' || byte.is_ascii_lowercase() || byte.is_ascii_digit()),
            "{text}"
        );
        assert!(code.meaning().ends_with('.'), "{text}");
    }
}
