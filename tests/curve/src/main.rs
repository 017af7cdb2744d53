//! `counterfoil-curve [--all] [--seed N] [AREA]…`: the arithmetic that verifies signatures, against big integers, k256 and libsecp256k1.
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

/// An area: its name, what it runs, and with how many rounds in a short and in a long run.
type Area = (&'static str, fn(u64, u64, &Counts), u64, u64);

/// The longest first, so that no core waits for the last one.
const AREAS: [Area; 13] = [
    ("lists", verdict::lists, 6_000, 400_000),
    ("one-by-one", verdict::one_by_one, 3_000, 300_000),
    ("wrapped", verdict::wrapped, 200, 210_000),
    ("field-sums", field::sums, 40_000, 4_500_000),
    ("scalars", scalar::functions, 100_000, 9_500_000),
    ("rare", verdict::rare, 4_200, 10_000),
    ("frequent", verdict::frequent, 20, 200),
    ("products", comb::products, 2_000, 300_000),
    ("several", comb::several, 60, 20_000),
    ("exceptional", comb::exceptional, 320, 20_000),
    ("field-inverses", field::inverses, 10_000, 1_000_000),
    ("points", point::sums, 10_000, 1_000_000),
    ("public-keys", point::keys, 5_000, 200_000),
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
    let names = args
        .iter()
        .filter(|arg| !arg.starts_with("--") && arg.parse::<u64>().is_err());
    let names: Vec<&str> = names.map(String::as_str).collect();
    if let Some(unknown) = names
        .iter()
        .find(|name| AREAS.iter().all(|(known, ..)| known != *name))
    {
        eprintln!("there is no area {unknown}");
        return ExitCode::from(2);
    }
    let chosen = AREAS
        .iter()
        .filter(|(name, ..)| names.is_empty() || names.contains(name));
    let started = Instant::now();
    let counts = Counts::default();
    let queue = Mutex::new(chosen);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| loop {
                let next = queue.lock().expect("no thread panicked").next();
                let Some((_, area, short, long)) = next else { break };
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
