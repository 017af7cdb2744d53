//! The wallet's record stays short however much is bought, and says of caps and trees what a list of every purchase would say.

use counterfoil::address::Address;
use counterfoil::amount::Amount;
use counterfoil::client::record::{Reservation, Wallet, WalletChange};
use counterfoil::drift::Mark;
use counterfoil::json::{self, Json};
use counterfoil::policy::{Spent, SpentState};
use counterfoil::tree::Place;
use counterfoil::x402::payment_required::Share;

const DAY: u64 = 86_400;
const START: u64 = 1_700_000_000;

fn address(of: u64) -> Address {
    Address::from_json(&json::parse(&format!("\"0x{of:040x}\"")).unwrap()).unwrap()
}

fn holds(wallet: &Wallet, id: &str) -> bool {
    wallet.entries.iter().any(|entry| entry.id == id)
}

fn intent(number: u64) -> String {
    format!("0x{number:064x}")
}

fn reservation(number: u64, amount: u64, seller: u64, at: u64) -> Reservation {
    let network = json::parse("\"eip155:8453\"").unwrap();
    let read = Reservation::from_json(
        &json::parse(&format!(
            r#"{{"id":"{}#0","network":{},"asset":"{}","amount":"{amount}","at":{at},"state":"reserved"}}"#,
            intent(number),
            network.to_text(),
            address(0xa55e7),
        ))
        .unwrap(),
    )
    .unwrap();
    let to = vec![Share {
        to: address(seller),
        amount: Amount::from_u64(amount),
    }];
    Reservation {
        spent: Spent { to, ..read.spent },
        ..read
    }
}

fn place(number: u64, parent: Option<u64>, budget: Option<u64>) -> Place {
    Place {
        intent_id: intent(number),
        parent: parent.map(intent),
        budget: budget.map(Amount::from_u64),
        at: START,
        ..Place::default()
    }
}

fn buy(wallet: &mut Wallet, one: Reservation, now: u64) {
    let id = one.id.clone();
    wallet.apply(&WalletChange::Reserve(Box::new(one)), now);
    wallet.apply(&WalletChange::Spend(id), now);
}

fn total<'a>(entries: impl Iterator<Item = &'a Reservation>) -> u64 {
    let of = |entry: &Reservation| entry.spent.amount.to_string().parse::<u64>().unwrap();
    entries.map(of).sum()
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % end
    }
}

/// Four thousand purchases over a month, from three sellers, alone or under one of two roots, a few never ended. Beside the record a list of
/// all of them is kept, and every question is put to both.
#[test]
fn what_a_short_record_says_is_what_a_list_of_everything_says() {
    for seed in [1, 2, 3] {
        let mut random = Random(seed);
        let mut wallet = Wallet::default();
        for root in [1, 2] {
            wallet.apply(&WalletChange::Place(place(root, None, Some(9_000_000))), START);
        }
        let mut all: Vec<(Reservation, Option<u64>)> = Vec::new();
        let mut now = START;
        let mut longest = 0;
        for number in 100..4_100 {
            now += random.below(1_300);
            let root = Some(random.below(3)).filter(|root| *root > 0);
            let mut one = reservation(number, 1 + random.below(1_000), 1 + random.below(3), now);
            one.place = root.map(|root| place(number, Some(root), None));
            let known = Reservation {
                place: None,
                ..one.clone()
            };
            if random.below(400) == 0 {
                wallet.apply(&WalletChange::Reserve(Box::new(one)), now);
                all.push((known, root));
            } else {
                buy(&mut wallet, one, now);
                let spent = Spent {
                    state: SpentState::Settled,
                    ..known.spent
                };
                all.push((Reservation { spent, ..known }, root));
            }
            if number % 97 > 0 {
                continue;
            }
            longest = longest.max(wallet.to_json().to_text().len());
            let exactly = |seller: u64, window: u64| {
                let counts = |(one, _): &&(Reservation, Option<u64>)| {
                    one.spent.to.iter().any(|share| share.to == address(seller))
                        && (one.spent.state == SpentState::Reserved || one.spent.at + window > now)
                };
                total(all.iter().filter(counts).map(|(one, _)| one))
            };
            for (seller, window) in [(1, 60), (2, 3_600), (3, DAY), (1, 7 * DAY), (2, 30 * DAY)] {
                let counts = |one: &&Reservation| {
                    one.spent.to.iter().any(|share| share.to == address(seller))
                        && (one.spent.state == SpentState::Reserved || one.spent.at + window > now)
                };
                let said = total(wallet.entries.iter().filter(counts));
                assert!(
                    said >= exactly(seller, window),
                    "seed {seed}: {said} within {window} s is too little"
                );
                let late = exactly(seller, window + window / 8 + 1);
                assert!(
                    said <= late,
                    "seed {seed}: {said} within {window} s is of longer ago"
                );
            }
            let paths = wallet.paths(None);
            for root in [1, 2] {
                let under = |one: &&Reservation| {
                    paths
                        .of(one.intent_id())
                        .is_ok_and(|path| path.contains(&intent(root).as_str()))
                };
                let exact = total(
                    all.iter()
                        .filter(|(_, above)| *above == Some(root))
                        .map(|(one, _)| one),
                );
                assert_eq!(
                    total(wallet.entries.iter().filter(under)),
                    exact,
                    "seed {seed}, root {root}"
                );
            }
        }
        assert_eq!(
            total(wallet.entries.iter()),
            total(all.iter().map(|(one, _)| one))
        );
        // A list of all of them has about 1.2 million bytes.
        assert!(longest < 150_000, "seed {seed}: {longest} bytes");
    }
}

/// So many of ten units each, one every ten minutes, the first under number 100.
fn bought(count: u64) -> (Wallet, u64) {
    let mut wallet = Wallet::default();
    let mut now = START;
    for number in 100..100 + count {
        now += 600;
        buy(&mut wallet, reservation(number, 10, 1, now), now);
    }
    (wallet, now)
}

#[test]
fn a_sum_reads_back_as_it_was_written() {
    let (wallet, _) = bought(500);
    let text = wallet.to_json().to_text();
    assert!(text.contains("\"sum//1700000600\""));
    assert_eq!(Wallet::from_json(&json::parse(&text).unwrap()).unwrap(), wallet);
}

/// A sum has no way back to its parts: what must be held again is held beside it, and rather counts twice than not at all.
#[test]
fn what_is_unknown_again_is_held_even_if_it_is_in_a_sum() {
    let (mut wallet, now) = bought(500);
    let again = reservation(100, 10, 1, now);
    assert!(!holds(&wallet, &again.id));
    wallet.apply(&WalletChange::Hold(Box::new(again.clone())), now);
    let held = wallet
        .entries
        .iter()
        .filter(|entry| entry.spent.state == SpentState::Reserved);
    assert_eq!(
        held.map(|entry| entry.id.as_str()).collect::<Vec<_>>(),
        [again.id.as_str()]
    );
    wallet.apply(&WalletChange::Release(again.id.clone()), now);
    assert_eq!(total(wallet.entries.iter()), 5_000);
}

#[test]
fn what_is_held_or_recovered_or_stands_above_others_is_in_no_sum() {
    let mut wallet = Wallet::default();
    let held = reservation(1, 7, 1, START);
    wallet.apply(&WalletChange::Reserve(Box::new(held.clone())), START);
    let mut recovered = reservation(2, 7, 1, START);
    recovered.id = format!("recovered/eip155:8453/{}/{}", address(0xa55e7), intent(2));
    recovered.spent.state = SpentState::Settled;
    wallet.entries.push(recovered.clone());
    // Another is bought under the third; the fourth limits itself.
    buy(&mut wallet, reservation(3, 7, 1, START), START);
    let mut child = reservation(5, 7, 1, START);
    child.place = Some(place(5, Some(3), None));
    buy(&mut wallet, child, START);
    let mut limited = reservation(4, 7, 1, START);
    limited.place = Some(place(4, Some(3), Some(100)));
    buy(&mut wallet, limited, START);
    let mut now = START;
    for number in 100..600 {
        now += 600;
        buy(&mut wallet, reservation(number, 10, 1, now), now);
    }
    let stands = |id: &str| holds(&wallet, id);
    for id in [
        held.id,
        recovered.id,
        format!("{}#0", intent(3)),
        format!("{}#0", intent(4)),
    ] {
        assert!(stands(&id), "{id}");
    }
    assert!(!stands(&format!("{}#0", intent(5))));
    let paths = wallet.paths(None);
    let under = |one: &&Reservation| {
        paths
            .of(one.intent_id())
            .is_ok_and(|path| path.contains(&intent(3).as_str()))
    };
    assert_eq!(total(wallet.entries.iter().filter(under)), 21);
    assert!(wallet.place(&intent(5)).is_none());
}

/// What the rules of drift look at: the newest payments of each operation, and everything of the last ten minutes.
#[test]
fn what_makes_a_habit_or_is_recent_is_in_no_sum() {
    let mut wallet = Wallet::default();
    let mut now = START;
    let mark = |of: u8| {
        let word = |byte: u8| format!("0x{}", format!("{byte:02x}").repeat(32));
        let (operation, arguments, fingerprint) = (word(of), word(0xa0), word(of));
        let text = format!(
            r#"{{"operation":"{operation}","arguments":"{arguments}","fingerprint":"{fingerprint}"}}"#
        );
        Mark::from_json(&json::parse(&text).unwrap()).unwrap()
    };
    let mut call = |number: u64, of: u8, pause: u64| {
        now += pause;
        let one = reservation(number, 10, 1, now);
        buy(
            &mut wallet,
            Reservation {
                call: Some(mark(of)),
                ..one
            },
            now,
        );
    };
    (1..6).for_each(|number| call(number, 1, 600));
    (100..600).for_each(|number| call(number, 2, 600));
    (1_000..1_400).for_each(|number| call(number, 3, 1));
    let stands = |number: u64| holds(&wallet, &format!("{}#0", intent(number)));
    assert_eq!(
        (1..6).map(stands).collect::<Vec<_>>(),
        [false, false, true, true, true]
    );
    assert_eq!(
        (594..600).map(stands).collect::<Vec<_>>(),
        [false, false, false, true, true, true]
    );
    assert!((1_000..1_400).all(stands));
}

/// The very purchase with which the rest is added up stands under one of them.
#[test]
fn what_a_child_is_bought_under_is_in_no_sum() {
    let (mut wallet, now) = bought(128);
    let mut child = reservation(1, 5, 1, now);
    child.place = Some(place(1, Some(100), None));
    wallet.apply(&WalletChange::Reserve(Box::new(child)), now);
    assert!(
        wallet.entries.iter().any(|entry| !entry.is_sum()) && wallet.entries.iter().any(Reservation::is_sum)
    );
    let (paths, above) = (wallet.paths(None), intent(100));
    let under = |one: &&Reservation| {
        paths
            .of(one.intent_id())
            .is_ok_and(|path| path.contains(&above.as_str()))
    };
    assert_eq!(total(wallet.entries.iter().filter(under)), 15);
}

#[test]
fn nobody_stands_under_a_sum() {
    let (wallet, _) = bought(500);
    for name in ["", "sum", "sum/", "sum//1700000600"] {
        assert!(wallet.paths(None).of(name).is_err(), "{name}");
    }
}

/// An approval about this intent that ends then, as it stands in a record. Who signed it is for those who use it.
fn approval(number: u64, end: u64) -> Json {
    let request = format!(
        r#"{{"payer":"{}","intentId":"{}","network":"eip155:8453","asset":"{}","amount":"1000"}}"#,
        address(0x9a7e),
        intent(number),
        address(0xa55e7)
    );
    let input = format!(
        r#"{{"request":{request},"at":{START},"expiresAt":{end},"signature":"0x{}"}}"#,
        "11".repeat(65)
    );
    let document = counterfoil::wasm::call("approvalDocument", &input, None, None).unwrap();
    document.get("approval").unwrap().clone()
}

fn hash(approval: &Json) -> String {
    approval.get("hash").unwrap().as_string().unwrap()
}

/// What is over is dropped a day later, once nothing names it but a sum; what covers something, stands in a tree or is named stays.
#[test]
fn approvals_that_are_over_go_and_no_other() {
    let (mut wallet, mut now) = bought(1);
    let end = now + 600;
    let over = approval(100, end);
    let open = approval(101, now + 400 * DAY);
    let in_a_tree = approval(7, end);
    wallet.apply(&WalletChange::Place(place(7, None, Some(1_000))), now);
    wallet.approvals = vec![over.clone(), open.clone(), in_a_tree.clone()];
    wallet.entries[0].approval = Some(hash(&over));
    let mut longest = 0;
    for number in 200..600 {
        now += 3_600;
        buy(&mut wallet, reservation(number, 10, 1, now), now);
        let single = wallet
            .entries
            .iter()
            .any(|one| !one.is_sum() && one.approval.is_some());
        if now < end + DAY || single {
            assert!(wallet.approvals.contains(&over), "at {}", now - START);
        }
        longest = longest.max(wallet.to_json().to_text().len());
    }
    assert_eq!(wallet.approvals, [open, in_a_tree]);
    // A sum that only the name of what is gone kept apart has grown together with the others.
    assert!(wallet.entries.iter().all(|entry| entry.approval.is_none()));
    assert_eq!(total(wallet.entries.iter()), 10 + 10 * 400);
    assert!(longest < 100_000, "{longest}");
}

/// However many people have answered: the record is as short as before.
#[test]
fn three_hundred_approvals_leave_a_short_record() {
    let mut wallet = Wallet::default();
    let mut now = START;
    for number in 0..300 {
        now += 3_600;
        let document = approval(number, now + 600);
        let one = Reservation {
            approval: Some(hash(&document)),
            approved: Some(document),
            ..reservation(number, 10, 1, now)
        };
        buy(&mut wallet, one, now);
    }
    assert!(wallet.approvals.len() < 200, "{}", wallet.approvals.len());
    assert_eq!(total(wallet.entries.iter()), 3_000);
}

/// What a person allowed below a root says for as long as the root stands why it was passed: the purchase keeps its place, though not its entry.
#[test]
fn an_approval_below_a_root_keeps_its_place() {
    let mut wallet = Wallet::default();
    let mut now = START;
    wallet.apply(&WalletChange::Place(place(7, None, Some(1_000))), now);
    wallet.approvals = vec![approval(100, now + 600)];
    for number in 100..400 {
        now += 3_600;
        let one = Reservation {
            place: Some(place(number, Some(7), None)),
            ..reservation(number, 1, 1, now)
        };
        buy(&mut wallet, one, now);
    }
    assert!(!wallet.entries.iter().any(|one| one.intent_id() == intent(100)));
    assert!(wallet.place(&intent(100)).is_some() && wallet.place(&intent(101)).is_none());
    assert_eq!(wallet.approvals.len(), 1);
}
