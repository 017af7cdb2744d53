//! The selling machine in a world that fails: several workers on one store, each of which may die between any two steps; a
//! facilitator that loses its answers, settles late or never, or refuses; buyers that send the same bytes again, sign afresh, or mean
//! something else under the same id; a chain source that lies low. Every run prints its seed on failure; `COUNTERFOIL_SEED` runs one
//! again and `COUNTERFOIL_RUNS` sets how many there are.

#[path = "sale/world.rs"]
mod world;

use world::{Chaos, World};

fn simulate(chaos: &Chaos, count: u64) {
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().unwrap());
    let seeds = match number("COUNTERFOIL_SEED") {
        Some(seed) => vec![seed],
        None => (0..number("COUNTERFOIL_RUNS").unwrap_or(count)).collect(),
    };
    let mut seen = std::collections::BTreeMap::<String, u64>::new();
    for seed in &seeds {
        let mut world = World::new(*seed, chaos.clone());
        if let Err(why) = world.play() {
            panic!("seed {seed}: {why}\n{}", world.story());
        }
        for (what, times) in &world.seen {
            *seen.entry(what.clone()).or_default() += times;
        }
    }
    println!("{seen:?}");
    if seeds.len() > 50 {
        for what in ["delivered", "replayed", "in flight", "conflict"] {
            assert!(seen.contains_key(what), "no run ever met {what}: {seen:?}");
        }
    }
}

#[test]
fn workers_that_die() {
    simulate(
        &Chaos {
            die: 12,
            ..Chaos::default()
        },
        60,
    );
}

#[test]
fn a_facilitator_that_loses_its_answers() {
    simulate(
        &Chaos {
            lose: 40,
            late: 30,
            refuse: 15,
            ..Chaos::default()
        },
        60,
    );
}

#[test]
fn a_chain_that_is_hard_to_read() {
    simulate(
        &Chaos {
            bad_rpc: 50,
            lose: 40,
            die: 5,
            ..Chaos::default()
        },
        60,
    );
}

#[test]
fn handlers_that_fail() {
    simulate(
        &Chaos {
            fail: 40,
            lose: 20,
            die: 5,
            ..Chaos::default()
        },
        60,
    );
}

#[test]
fn a_facilitator_that_nobody_watches() {
    simulate(
        &Chaos {
            unwatched: true,
            die: 5,
            lose: 25,
            late: 20,
            refuse: 10,
            never: 10,
            fail: 10,
            ..Chaos::default()
        },
        60,
    );
}

#[test]
fn everything_at_once() {
    simulate(
        &Chaos {
            die: 8,
            lose: 25,
            late: 20,
            refuse: 10,
            never: 15,
            bad_rpc: 20,
            fail: 15,
            unwatched: false,
        },
        100,
    );
}
