//! The paying machine in a world that fails: answers get lost, sellers settle late or twice as slow, the process dies at any
//! effect, the journal is deleted, two workers race. Every run prints its seed on failure; `COUNTERFOIL_SEED` runs one again
//! and `COUNTERFOIL_RUNS` sets how many there are.

#[path = "simulation/chain.rs"]
mod chain;
#[path = "simulation/town.rs"]
mod town;
#[path = "simulation/world.rs"]
mod world;

use town::{Size, Town};
use world::{Chaos, World};

fn runs(default: u64) -> Vec<u64> {
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().unwrap());
    match number("COUNTERFOIL_SEED") {
        Some(seed) => vec![seed],
        None => (0..number("COUNTERFOIL_RUNS").unwrap_or(default)).collect(),
    }
}

fn simulate(chaos: Chaos, count: u64) {
    let mut ends = std::collections::BTreeMap::<String, u64>::new();
    for seed in runs(count) {
        let mut world = World::new(seed, chaos.clone());
        match world.play() {
            Ok(end) => *ends.entry(end).or_default() += 1,
            Err(why) => panic!("seed {seed}: {why}\n{}", world.story()),
        }
    }
    println!("{ends:?}");
    if runs(count).len() > 50 {
        assert!(ends.contains_key("delivered"), "no run ever delivered: {ends:?}");
    }
}

#[test]
fn answers_lost_and_processes_killed() {
    simulate(
        Chaos {
            lose_answer: 40,
            kill: 15,
            ..Chaos::default()
        },
        100,
    );
}

#[test]
fn sellers_that_settle_late_or_never() {
    simulate(
        Chaos {
            settle_late: 40,
            never_settle: 30,
            kill: 5,
            ..Chaos::default()
        },
        100,
    );
}

#[test]
fn no_chain_to_read() {
    simulate(
        Chaos {
            rpc: false,
            lose_answer: 40,
            settle_late: 20,
            never_settle: 20,
            kill: 10,
            ..Chaos::default()
        },
        100,
    );
}

#[test]
fn a_chain_that_lies_or_is_silent() {
    simulate(
        Chaos {
            bad_rpc: 40,
            lose_answer: 30,
            kill: 10,
            ..Chaos::default()
        },
        100,
    );
}

#[test]
fn split_payments_that_land_in_parts() {
    simulate(
        Chaos {
            split: true,
            cut_in_two: 40,
            lose_answer: 20,
            settle_late: 20,
            never_settle: 20,
            bad_rpc: 10,
            new_terms: 20,
            kill: 10,
            ..Chaos::default()
        },
        150,
    );
}

#[test]
fn split_payments_of_two_workers_whose_journals_are_lost() {
    simulate(
        Chaos {
            split: true,
            workers: 2,
            cut_in_two: 30,
            lose_answer: 30,
            lose_journal: 10,
            kill: 10,
            ..Chaos::default()
        },
        100,
    );
}

#[test]
fn the_journal_is_deleted() {
    simulate(
        Chaos {
            lose_journal: 20,
            lose_answer: 30,
            kill: 10,
            ..Chaos::default()
        },
        100,
    );
}

#[test]
fn prices_and_recipients_change() {
    simulate(
        Chaos {
            new_terms: 50,
            never_settle: 40,
            lose_answer: 20,
            kill: 10,
            ..Chaos::default()
        },
        100,
    );
}

#[test]
fn a_store_that_fails() {
    simulate(
        Chaos {
            bad_store: 15,
            lose_answer: 30,
            kill: 5,
            ..Chaos::default()
        },
        100,
    );
}

#[test]
fn two_workers_with_a_journal_each() {
    simulate(
        Chaos {
            workers: 2,
            lose_answer: 30,
            settle_late: 20,
            kill: 10,
            ..Chaos::default()
        },
        100,
    );
}

#[test]
fn everything_at_once() {
    simulate(
        Chaos {
            workers: 2,
            lose_answer: 25,
            settle_late: 20,
            never_settle: 15,
            bad_rpc: 15,
            lose_journal: 5,
            new_terms: 15,
            bad_store: 5,
            kill: 10,
            rpc: true,
            permit2: false,
            split: false,
            cut_in_two: 0,
        },
        200,
    );
}

/// The same machine on the other rail: nothing in it may hang on what a token of EIP-3009 emits.
#[test]
fn by_permit2() {
    let permit2 = Chaos {
        permit2: true,
        lose_answer: 40,
        kill: 15,
        ..Chaos::default()
    };
    simulate(permit2.clone(), 100);
    let late = Chaos {
        settle_late: 40,
        never_settle: 30,
        new_terms: 30,
        ..permit2.clone()
    };
    simulate(late, 100);
    let blind = Chaos {
        rpc: false,
        settle_late: 20,
        never_settle: 20,
        ..permit2.clone()
    };
    simulate(blind, 50);
    let worst = Chaos {
        workers: 2,
        settle_late: 20,
        never_settle: 15,
        bad_rpc: 15,
        lose_journal: 10,
        new_terms: 15,
        bad_store: 5,
        ..permit2
    };
    simulate(worst, 200);
}

/// Seeds that once broke a law, with the number of intents: they are lived again before any new one.
const ONCE_FAILED: &str = include_str!("simulation/seeds.txt");

fn town(seed: u64, size: Size) {
    let mut town = Town::new(seed, size);
    match town.live() {
        Ok(told) => println!("seed {seed}, {} intents: {told:?}", size.intents),
        Err(why) => panic!(
            "seed {seed}, {} intents: {why}\nadd the line `{seed} {}` to tests/simulation/seeds.txt\n{}",
            size.intents,
            size.intents,
            town.story()
        ),
    }
}

/// Seeds that failed, then new ones: of each so many, so large, so many steps at most.
fn towns(new: u64, intents: usize, steps: u64) {
    let lines = ONCE_FAILED
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty());
    let kept = lines.map(|line| {
        let (seed, intents) = line.split_once(' ').unwrap();
        (seed.parse().unwrap(), intents.parse().unwrap())
    });
    let new = runs(new).into_iter().map(|seed| (seed, intents));
    for (seed, intents) in kept.chain(new).collect::<Vec<(u64, usize)>>() {
        let seconds = 20 * intents as u64;
        town(
            seed,
            Size {
                intents,
                seconds,
                steps,
            },
        );
    }
}

/// Most of an hour of a town with all faults at once.
#[test]
fn a_town_where_everything_fails() {
    towns(4, 150, 10_000);
}

/// Thousands of intents through many hours, every fault at once. `cargo test --test simulation -- --ignored`
#[test]
#[ignore = "minutes"]
fn a_large_town_where_everything_fails() {
    towns(6, 3_000, 60_000);
}
