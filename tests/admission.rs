//! The table of `admit`: every state of a record against every difference of a request, under a lease that runs and one that
//! is over, whatever the record holds. The expected cells are written by hand from the sentences quoted beside them. The
//! vectors `admission/cell-*` are the cells, written down by `COUNTERFOIL_WRITE=1 cargo test --test admission --test order`.

#[path = "selling/cells.rs"]
mod cells;

use counterfoil::admission::{self, Admission, AdmissionRecord, AdmissionRequest, State};
use counterfoil::error::{Code, Money, Next};
use counterfoil::json;
use counterfoil::problem::Problem;
use serde_json::{json, Value};

const NOW: u64 = 1_790_000_000;
const ID: &str = "pay_7d5d747be160e280504c099d984bcfe0";
const PAYER: &str = "0x760326E8C94f38A9F0537b1FA45141cA995564C4";
const STRANGER: &str = "0xF1C0bB3E5dB39F2E4ecC8895F2dB2213301Ac1E7";

/// Where a request departs from the recorded one.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Difference {
    None,
    Payload,
    Authorization,
    PaymentId,
    Payer,
    Fingerprint,
    QuoteHash,
    FingerprintAndQuoteHash,
    Everything,
}
use Difference as D;

impl Difference {
    const ALL: [Difference; 9] = [
        D::None,
        D::Payload,
        D::Authorization,
        D::PaymentId,
        D::Payer,
        D::Fingerprint,
        D::QuoteHash,
        D::FingerprintAndQuoteHash,
        D::Everything,
    ];

    fn name(self) -> &'static str {
        match self {
            D::None => "same",
            D::Payload => "payload",
            D::Authorization => "authorization",
            D::PaymentId => "payment-id",
            D::Payer => "payer",
            D::Fingerprint => "fingerprint",
            D::QuoteHash => "quote",
            D::FingerprintAndQuoteHash => "fingerprint-quote",
            D::Everything => "everything",
        }
    }

    /// The request that differs so from the recorded one.
    fn request(self) -> Value {
        let mut request = recorded();
        let mut set = |name: &str, value: Value| request[name] = value;
        match self {
            D::None => {}
            D::Payload => set("payloadHash", hash("f5")),
            D::Authorization => {
                set("payloadHash", hash("f5"));
                set("authorizations", json!([slot("02")]));
            }
            D::PaymentId => set("paymentId", json!("pay_another_0000000000000000000")),
            D::Payer => set("payer", json!(STRANGER)),
            D::Fingerprint => set("fingerprint", hash("f1")),
            D::QuoteHash => set("quoteHash", hash("f2")),
            D::FingerprintAndQuoteHash => {
                set("fingerprint", hash("f1"));
                set("quoteHash", hash("f2"));
            }
            D::Everything => {
                set("payer", json!(STRANGER));
                set("fingerprint", hash("f1"));
                set("quoteHash", hash("f2"));
                set("payloadHash", hash("f5"));
                set("authorizations", json!([slot("02")]));
            }
        }
        request
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Lease {
    Running,
    Over,
}

impl Lease {
    const ALL: [Lease; 2] = [Lease::Running, Lease::Over];

    fn name(self) -> &'static str {
        match self {
            Lease::Running => "running",
            Lease::Over => "over",
        }
    }

    /// "The lease is over at `leaseUntil`": the last second that is still over is that one itself.
    fn until(self) -> u64 {
        match self {
            Lease::Running => NOW + 50,
            Lease::Over => NOW,
        }
    }
}

/// What a record holds beside its request.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Holds {
    Nothing,
    Answer,
    Receipt,
    Both,
}

impl Holds {
    const ALL: [Holds; 4] = [Holds::Nothing, Holds::Answer, Holds::Receipt, Holds::Both];

    fn name(self) -> &'static str {
        match self {
            Holds::Nothing => "nothing",
            Holds::Answer => "answer",
            Holds::Receipt => "receipt",
            Holds::Both => "both",
        }
    }

    /// What a record of that state holds in life; the other combinations are tried without a vector.
    fn of(state: State) -> &'static [Holds] {
        match state {
            State::InFlight | State::Settled | State::Failed => &[Holds::Nothing],
            State::Delivered => &Holds::ALL,
            State::Expired => &[Holds::Nothing, Holds::Receipt],
        }
    }
}

/// The expected answers.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Cell {
    Process,
    Replay,
    InFlight,
    Reconcile,
    Receipt,
    Conflict(&'static [&'static str]),
}

/// The cell of a request that meets a record, and the sentence it follows from.
fn cell(state: State, difference: Difference, lease: Lease, holds: Holds) -> (Cell, &'static str) {
    const BINDS: &str = "Payer, fingerprint and quote hash bind the id, at every age and in every state";
    match difference {
        D::Payer => (Cell::Conflict(&["payer"]), BINDS),
        D::Fingerprint => (Cell::Conflict(&["fingerprint"]), BINDS),
        D::QuoteHash => (Cell::Conflict(&["quoteHash"]), BINDS),
        D::FingerprintAndQuoteHash => (Cell::Conflict(&["fingerprint", "quoteHash"]), BINDS),
        D::Everything => (Cell::Conflict(&["payer", "fingerprint", "quoteHash"]), BINDS),
        // "A fresh signature of the same request is the same request"; an id is kept as a digest, or a call key stands for it.
        D::None | D::Payload | D::Authorization | D::PaymentId => match (state, lease, holds) {
            (
                State::InFlight,
                Lease::Running,
                Holds::Nothing | Holds::Answer | Holds::Receipt | Holds::Both,
            ) => (
                Cell::InFlight,
                "Same request running: 409, retryable with the same id",
            ),
            (
                State::InFlight,
                Lease::Over,
                Holds::Nothing | Holds::Answer | Holds::Receipt | Holds::Both,
            ) => (
                Cell::Reconcile,
                "A dead worker is not a running one: past the lease the next caller reads the chain first",
            ),
            (
                State::Settled,
                Lease::Running,
                Holds::Nothing | Holds::Answer | Holds::Receipt | Holds::Both,
            ) => (Cell::InFlight, "Settled: in flight within the lease"),
            (State::Settled, Lease::Over, Holds::Nothing | Holds::Answer | Holds::Receipt | Holds::Both) => (
                Cell::Reconcile,
                "Settled: past the lease reconcile, deliver without charging",
            ),
            (State::Delivered, Lease::Running | Lease::Over, Holds::Answer | Holds::Both) => (
                Cell::Replay,
                "Same request finished: the stored answer (payment-identifier: same id and same request, cached response)",
            ),
            (State::Delivered, Lease::Running | Lease::Over, Holds::Receipt) => (
                Cell::Receipt,
                "Answers outlive their retention: the receipt tells what was delivered",
            ),
            (State::Delivered, Lease::Running | Lease::Over, Holds::Nothing) => (
                Cell::Reconcile,
                "Delivered, and neither answer nor receipt kept: reconcile, never charge again",
            ),
            (
                State::Failed,
                Lease::Running | Lease::Over,
                Holds::Nothing | Holds::Answer | Holds::Receipt | Holds::Both,
            ) => (
                Cell::Process,
                "Failed: refused before any broadcast, or proven dead; a failed call isn't billed, trying again is a fair new purchase",
            ),
            (State::Expired, Lease::Running | Lease::Over, Holds::Receipt | Holds::Both) => (
                Cell::Receipt,
                "The answer is past its retention, the receipt is not",
            ),
            (State::Expired, Lease::Running | Lease::Over, Holds::Nothing | Holds::Answer) => {
                (Cell::Reconcile, "Expired without a receipt: reconcile")
            }
        },
    }
}

fn hash(byte: &str) -> Value {
    json!(format!("0x{}", byte.repeat(32)))
}

fn slot(byte: &str) -> Value {
    json!({
        "network": "eip155:8453", "asset": "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
        "nonce": hash(byte), "validBefore": "1790000060",
    })
}

fn recorded() -> Value {
    json!({
        "paymentId": ID, "payer": PAYER, "fingerprint": hash("e1"), "quoteHash": hash("e2"), "payloadHash": hash("e5"),
        "authorizations": [slot("01")],
    })
}

fn record(state: State, lease: Lease, holds: Holds) -> Value {
    let mut record = recorded();
    record["state"] = json!(state.as_str());
    record["openedAt"] = json!(NOW - 10);
    record["leaseUntil"] = json!(lease.until());
    if matches!(holds, Holds::Answer | Holds::Both) {
        record["response"] =
            json!({ "status": 200, "headers": { "Content-Type": "text/plain" }, "bodySha256": hash("ab") });
    }
    if matches!(holds, Holds::Receipt | Holds::Both) {
        record["receiptId"] = json!("rcpt_1");
    }
    record
}

/// The answer that a cell stands for, member by member.
fn answer(cell: Cell, record: &Value, request: &Value) -> Value {
    match cell {
        Cell::Process => {
            let mut begun = request.clone();
            begun["authorizations"] = match request["authorizations"] == record["authorizations"] {
                true => json!([slot("01")]),
                false => json!([slot("01"), slot("02")]),
            };
            begun["state"] = json!("in_flight");
            begun["openedAt"] = json!(NOW);
            begun["leaseUntil"] = json!(NOW + 60);
            json!({ "decision": "process", "record": begun })
        }
        Cell::Replay => json!({ "decision": "replay", "record": record }),
        Cell::Reconcile => json!({ "decision": "reconcile", "record": record }),
        Cell::Receipt => json!({ "decision": "receipt", "receiptId": "rcpt_1" }),
        Cell::InFlight => json!({ "decision": "in_flight", "problem": {
            "type": "https://counterfoil.dev/codes#payment_in_flight", "title": "Payment in flight", "status": 409,
            "detail": "The seller is still working on this payment.", "code": "payment_in_flight",
            "money": "possible", "next": "wait", "retryAfter": 5,
        } }),
        Cell::Conflict(differs) => {
            json!({ "decision": "conflict", "alert": true, "differs": differs, "problem": {
                "type": "https://counterfoil.dev/codes#payment_identifier_conflict", "title": "Payment identifier conflict", "status": 409,
                "detail": "The seller holds another request under this payment id.", "code": "payment_identifier_conflict",
                "money": "possible", "next": "stop",
            } })
        }
    }
}

#[test]
fn every_cell_of_the_table_is_what_admit_says_and_has_its_vector() {
    let mut vectors = cells::Vectors::of("admission");
    for difference in Difference::ALL {
        let request = difference.request();
        for state in State::ALL {
            for lease in Lease::ALL {
                for holds in Holds::ALL {
                    let record = record(state, lease, holds);
                    let (cell, source) = cell(state, difference, lease, holds);
                    let name = [state.as_str(), difference.name(), lease.name(), holds.name()].join("-");
                    let input = json!({ "record": record, "request": request, "now": NOW });
                    let expected = answer(cell, &record, &request);
                    cells::assert_says("admit", &input, Ok(&expected), &name);
                    if Holds::of(state).contains(&holds) {
                        vectors.add(&name, source, "admit", input, Ok(expected));
                    }
                }
            }
        }
        // Without a record there is nothing to differ from.
        let mut begun = request.clone();
        begun["state"] = json!("in_flight");
        begun["openedAt"] = json!(NOW);
        begun["leaseUntil"] = json!(NOW + 60);
        let input = json!({ "record": null, "request": request, "now": NOW });
        let expected = json!({ "decision": "process", "record": begun });
        let name = format!("none-{}", difference.name());
        cells::assert_says("admit", &input, Ok(&expected), &name);
        vectors.add(
            &name,
            "payment-identifier: a new id is processed",
            "admit",
            input,
            Ok(expected),
        );
    }
    vectors.check();
}

fn read<T>(value: &Value, read: impl FnOnce(&json::Json) -> Result<T, counterfoil::error::Error>) -> T {
    read(&json::parse(&value.to_string()).unwrap()).unwrap()
}

/// A random record and request: any state, any lease around now, any holding, any of four values in every field.
fn random(dice: &mut cells::Dice) -> (AdmissionRecord, AdmissionRequest) {
    let request = |dice: &mut cells::Dice| {
        let payer = [PAYER, STRANGER][dice.roll(2)];
        let digest = |dice: &mut cells::Dice| hash(["01", "02", "03", "04"][dice.roll(4)]);
        let slots: Vec<Value> = (0..dice.roll(4))
            .map(|_| slot(["01", "02", "03"][dice.roll(3)]))
            .collect();
        // One value in three of four draws, so that equal requests are as common as different ones.
        let mostly = |dice: &mut cells::Dice| match dice.roll(4) {
            0 => digest(dice),
            _ => hash("01"),
        };
        json!({
            "paymentId": ID, "payer": payer, "fingerprint": mostly(dice), "quoteHash": mostly(dice), "payloadHash": digest(dice),
            "authorizations": slots,
        })
    };
    let mut record = request(dice);
    record["state"] = json!(State::ALL[dice.roll(5)].as_str());
    record["openedAt"] = json!(NOW - 100);
    record["leaseUntil"] = json!(NOW - 50 + dice.roll(100) as u64);
    if dice.roll(2) == 0 {
        record["receiptId"] = json!("rcpt_1");
    }
    if dice.roll(2) == 0 {
        record["response"] = json!({ "status": 200, "headers": {}, "bodySha256": hash("ab") });
    }
    let request = request(dice);
    (
        read(&record, AdmissionRecord::from_json),
        read(&request, AdmissionRequest::from_json),
    )
}

#[test]
fn a_binding_difference_is_a_conflict_and_nothing_charged_is_processed_again() {
    let mut seen = std::collections::BTreeMap::<String, u32>::new();
    for seed in 0..20_000 {
        let (record, request) = random(&mut cells::Dice::new(seed));
        let same = record.request.payer == request.payer
            && record.request.fingerprint == request.fingerprint
            && record.request.quote_hash == request.quote_hash;
        let admission = admission::admit(Some(&record), &request, NOW, None, None).unwrap();
        let conflict = matches!(admission, Admission::Conflict { .. });
        assert_eq!(conflict, !same, "seed {seed}");
        if matches!(
            record.state,
            State::InFlight | State::Settled | State::Delivered | State::Expired
        ) {
            assert!(!matches!(admission, Admission::Process(_)), "seed {seed}");
        }
        if let Admission::Process(begun) = &admission {
            for known in record
                .request
                .authorizations
                .iter()
                .chain(&request.authorizations)
            {
                assert!(begun.request.authorizations.contains(known), "seed {seed}");
            }
        }
        let over = record.lease_until <= NOW;
        let taken = admission::take_over(&record, &request, NOW, Some(30));
        let free = over && matches!(admission, Admission::Reconcile(_));
        assert_eq!(taken.is_ok(), free, "seed {seed}: {taken:?}");
        if let Ok(taken) = taken {
            assert_eq!((taken.lease_until, taken.state), (NOW + 30, record.state));
            for known in record
                .request
                .authorizations
                .iter()
                .chain(&request.authorizations)
            {
                assert!(taken.request.authorizations.contains(known), "seed {seed}");
            }
            // Whoever comes next waits, or is told that nothing is left to take.
            assert!(admission::take_over(&taken, &request, NOW + 29, None).is_err());
        }
        *seen
            .entry(admission.to_json().get("decision").unwrap().to_text())
            .or_default() += 1;
    }
    assert_eq!(
        seen.len(),
        6,
        "every decision has to come up for this to say anything: {seen:?}"
    );
}

#[test]
fn a_conflict_tells_a_stranger_nothing_of_the_record() {
    let answers: std::collections::BTreeSet<String> = State::ALL
        .into_iter()
        .flat_map(|state| Holds::ALL.map(|holds| record(state, Lease::Running, holds)))
        .map(|record| {
            let (record, request) = (
                read(&record, AdmissionRecord::from_json),
                read(&D::Payer.request(), AdmissionRequest::from_json),
            );
            match admission::admit(Some(&record), &request, NOW, None, Some("/orders/o1")).unwrap() {
                Admission::Conflict { problem, .. } => problem.to_json().to_text(),
                other => panic!("{other:?}"),
            }
        })
        .collect();
    assert_eq!(answers.len(), 1, "{answers:?}");
}

#[test]
fn a_problem_says_what_the_registry_says_until_it_is_told_better() {
    for code in Code::ALL {
        let problem = Problem::new(*code);
        assert_eq!((problem.money, problem.next), (code.money(), code.next()));
        assert!((400..600).contains(&problem.status), "{code:?}");
        let title = problem.title();
        assert!(
            title.starts_with(|c: char| c.is_ascii_uppercase()) && !title.contains('_'),
            "{title}"
        );
        assert_eq!(
            problem.to_json().get("detail").unwrap().as_str().unwrap(),
            code.meaning()
        );
    }
    let told = Problem::new(Code::JournalUnavailable)
        .with_status(503)
        .with_money(Money::Possible)
        .with_next(Next::Wait)
        .with_retry_after(9000);
    let body: Value = serde_json::from_str(&told.to_json().to_text()).unwrap();
    assert_eq!(
        body,
        json!({
            "type": "https://counterfoil.dev/codes#journal_unavailable", "title": "Journal unavailable", "status": 503,
            "detail": "The journal could not be written; nothing was sent.", "code": "journal_unavailable",
            "money": "possible", "next": "wait", "retryAfter": 300,
        })
    );
    assert_eq!(told.with_retry_after(0).retry_after, Some(1));
    let statuses = [
        (Code::PaymentInFlight, 409),
        (Code::PaymentConflict, 409),
        (Code::QuoteAlreadyPaying, 409),
        (Code::QuoteNotOpen, 409),
        (Code::QuoteExpired, 410),
        (Code::TooLarge, 413),
        (Code::PaymentIdInvalid, 400),
        (Code::JournalLocked, 503),
        (Code::InternalError, 500),
    ];
    for (code, status) in statuses {
        assert_eq!(Problem::new(code).status, status, "{code:?}");
    }
}
