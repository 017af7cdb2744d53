//! `counterfoil-curve [--all] [--seed N]`: the arithmetic that verifies signatures, against big integers, k256 and libsecp256k1.
//!
//! Every case comes from the seed, so a failure comes again; the numbers printed at the end say how many there were. `--all` is the
//! long run, which wants a release build.

mod comb;
mod field;
mod point;
mod random;
mod scalar;
mod verdict;

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Mutex;
use std::time::Instant;

/// How many cases of what were tried.
#[derive(Default)]
pub struct Counts(Mutex<BTreeMap<&'static str, u64>>);

impl Counts {
    pub fn add(&self, what: &'static str, count: u64) {
        *self
            .0
            .lock()
            .expect("no thread panicked")
            .entry(what)
            .or_default() += count;
    }
}

pub fn hex(text: &str) -> [u8; 32] {
    counterfoil::hex::decode_array(&format!("0x{text}")).expect("64 digits")
}

/// An area: what it runs, and with how many rounds in a short and in a long run.
type Area = (fn(u64, u64, &Counts), u64, u64);

const AREAS: [Area; 11] = [
    (field::sums, 40_000, 4_000_000),
    (field::inverses, 10_000, 1_000_000),
    (scalar::functions, 100_000, 8_000_000),
    (point::sums, 10_000, 1_000_000),
    (point::keys, 5_000, 200_000),
    (comb::products, 2_000, 300_000),
    (comb::exceptional, 320, 20_000),
    (verdict::one_by_one, 3_000, 350_000),
    (verdict::wrapped, 150, 100_000),
    (verdict::lists, 6_000, 700_000),
    (verdict::signers, 20, 400),
];

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let all = args.iter().any(|arg| arg == "--all");
    let seed = args.iter().position(|arg| arg == "--seed");
    let seed = match seed.map(|at| args.get(at + 1).and_then(|seed| seed.parse().ok())) {
        None => 1,
        Some(Some(seed)) => seed,
        Some(None) => {
            eprintln!("--seed wants a number");
            return ExitCode::from(2);
        }
    };
    let started = Instant::now();
    let counts = Counts::default();
    let queue = Mutex::new(AREAS.iter());
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| loop {
                let next = queue.lock().expect("no thread panicked").next();
                let Some((area, short, long)) = next else { break };
                area(seed, if all { *long } else { *short }, &counts);
            });
        }
    });
    for (what, count) in counts.0.into_inner().expect("no thread panicked") {
        println!("{what}: {count}");
    }
    println!(
        "all as the other libraries have it; seed {seed}, {:.0} s",
        started.elapsed().as_secs_f64()
    );
    ExitCode::SUCCESS
}
