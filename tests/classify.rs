//! What an answer means, seller by seller and rule by rule. The rows are an enum and the table is an exhaustive match over
//! it: a row without a cell does not compile, and neither does an outcome or a family of codes without rows of its own. The
//! cells are written by hand from the sentence that each row cites. Every row has its vector, written from the cell, never
//! from what `classify` says: `COUNTERFOIL_WRITE=1 cargo test --test classify`.

#[path = "classify/rows.rs"]
mod rows;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use counterfoil::json::{self, Json};
use counterfoil::outcome::{classify, known_codes, Answer, Family, Outcome};
use rows::{case, Case, Row};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/classify")
}

/// `GatewayInFlight` → `gateway-in-flight`.
fn name(row: Row) -> String {
    let mut name = String::new();
    for letter in format!("{row:?}").chars() {
        if letter.is_uppercase() && !name.is_empty() {
            name.push('-');
        }
        name.push(letter.to_ascii_lowercase());
    }
    name
}

fn expected(case: &Case) -> Json {
    let [outcome, money, next, code] = case.cell.split(' ').collect::<Vec<_>>()[..] else {
        panic!("four words: {}", case.cell)
    };
    let more = if case.more.is_empty() { "" } else { "," };
    json::parse(&format!(
        r#"{{"outcome":"{outcome}","money":"{money}","next":"{next}","code":"{code}"{more}{}}}"#,
        case.more
    ))
    .unwrap()
}

fn answer(text: &str) -> Answer {
    Answer::from_json(&json::parse(text).unwrap()).unwrap()
}

#[test]
fn every_row_means_what_its_sentence_says() {
    for row in Row::ALL {
        let case = case(*row);
        let got = classify(&answer(case.answer)).to_json();
        let (want, got) = (
            expected(&case).to_canonical().unwrap(),
            got.to_canonical().unwrap(),
        );
        assert_eq!(want, got, "{row:?}: {}", case.cited);
    }
}

#[test]
fn every_row_has_its_vector_and_every_vector_its_row() {
    let mut names = BTreeSet::new();
    for row in Row::ALL {
        let (case, name) = (case(*row), name(*row));
        let vector = Json::object([
            ("id", Json::text(format!("classify/{name}"))),
            ("source", Json::text(case.cited)),
            ("call", Json::text("classify")),
            (
                "input",
                Json::object([("answer", json::parse(case.answer).unwrap())]),
            ),
            ("expected", expected(&case)),
        ]);
        let path = folder().join(format!("{name}.json"));
        if std::env::var_os("COUNTERFOIL_WRITE").is_some() {
            fs::write(&path, format!("{}\n", vector.to_text())).unwrap();
        }
        let found = fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(found.trim(), vector.to_text(), "{row:?}");
        names.insert(format!("{name}.json"));
    }
    let found: BTreeSet<String> = fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(found, names);
}

/// Rows that show an outcome. A new outcome does not compile without.
fn showing(outcome: Outcome) -> &'static [Row] {
    match outcome {
        Outcome::Settled => &[Row::GatewayPaid, Row::AcpReplayedAndSettled],
        Outcome::Delivered => &[Row::BadReceipt, Row::ReturnCheckConfirmed],
        Outcome::Rejected => &[
            Row::RefusedBeforeSend,
            Row::RefusedInvalidPayload,
            Row::MppMalformed,
        ],
        Outcome::InFlight => &[Row::GatewayInFlight, Row::IetfStillRunning, Row::CdpPending],
        Outcome::Conflict => &[Row::GatewayConflict, Row::AcpConflict, Row::CircleBoundElsewhere],
        Outcome::Unknown => &[Row::TimedOut, Row::IetfOtherPayload, Row::StillChallenged],
    }
}

/// Rows that show a family of codes, and the outcome that its codes have wherever they stand, if it is one.
fn shown(family: Family) -> (&'static [Row], Option<Outcome>) {
    match family {
        Family::Conflict => (
            &[Row::GatewayConflict, Row::GatewayConflictOn422],
            Some(Outcome::Conflict),
        ),
        Family::InFlight => (
            &[Row::GatewayPending, Row::InFlightOn503],
            Some(Outcome::InFlight),
        ),
        Family::Used => (&[Row::GatewayReplayedCredential], Some(Outcome::Unknown)),
        Family::Order => (
            &[Row::GatewayOutOfStock, Row::GatewayQuoteExpired],
            Some(Outcome::Unknown),
        ),
        Family::Refusal => (&[Row::RefusedInsufficientFunds, Row::RefusedOnResend], None),
        Family::Request => (
            &[Row::GatewayPiiRequired, Row::GatewayRateLimited],
            Some(Outcome::Unknown),
        ),
    }
}

#[test]
fn every_outcome_has_its_rows() {
    for outcome in Outcome::ALL {
        for row in showing(*outcome) {
            assert!(case(*row).cell.starts_with(outcome.as_str()), "{row:?}");
        }
    }
}

/// The same code under every status that is no success means the same; no code and no status says that money did not move,
/// and none makes a new signature safe.
#[test]
fn every_known_code_means_one_thing_under_every_status() {
    for (code, family) in known_codes() {
        let (rows, outcome) = shown(*family);
        let codes: Vec<&str> = rows
            .iter()
            .map(|row| case(*row).cell.rsplit(' ').next().unwrap())
            .collect();
        for shown in codes {
            assert!(
                known_codes().contains(&(shown, *family)),
                "{shown} is not of {family:?}"
            );
        }
        for status in [
            400, 402, 403, 404, 409, 410, 412, 422, 425, 428, 429, 500, 502, 503,
        ] {
            for resend in [false, true] {
                let seen = classify(&answer(&format!(
                    r#"{{"status":{status},"resend":{resend},"body":"{{\"code\":\"{code}\"}}"}}"#
                )));
                let got = (seen.outcome, seen.money.as_str(), seen.next.as_str());
                if let Some(outcome) = outcome {
                    assert_eq!((seen.outcome, seen.code.as_str()), (outcome, *code), "{status}");
                }
                assert_eq!(got.1, "possible", "{code} under {status}");
                assert!(!["safe_to_resign", "requote", "fix_input"].contains(&got.2));
                let refused = *family == Family::Refusal && matches!(status, 402 | 412) && !resend;
                assert_eq!(
                    seen.outcome == Outcome::Rejected,
                    refused,
                    "{code} under {status}"
                );
            }
        }
    }
}

/// Every code that decides by itself stands in a vector's expectation. The refusals, one family with one meaning, are all
/// run above.
#[test]
fn every_deciding_code_has_a_row() {
    let rows: BTreeSet<&str> = Row::ALL
        .iter()
        .map(|row| case(*row).cell.rsplit(' ').next().unwrap())
        .collect();
    let without: Vec<&str> = known_codes()
        .iter()
        .filter(|(_, family)| *family != Family::Refusal)
        .map(|(code, _)| *code)
        .filter(|code| !rows.contains(code))
        .collect();
    assert!(without.is_empty(), "{without:?}");
}
