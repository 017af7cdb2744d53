//! `counterfoil-model [--all] [NAME]…`: explores small worlds whole: agents, sellers, a chain, journals and
//! an RPC around the real paying machine. A broken law comes with a shortest story that breaks it.
//!
//! A story line begins with the readings `[clock|newest block]`, in seconds. The last line of a story about what *can* end, or
//! what a call is told, is followed by honest answers and time.

mod chain;
mod erase;
mod explore;
mod fair;
mod journal;
mod laws;
mod machine;
mod seller;
mod setting;
mod spaces;
mod world;

use std::process::ExitCode;
use std::sync::Mutex;
use std::time::Instant;

use explore::{explore, Size};
use setting::Setting;
use world::Tables;

/// A space with more states than this was built too large to be explored whole.
const MOST: usize = 12_000_000;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let all = args.iter().any(|arg| arg == "--all");
    let names: Vec<&String> = args.iter().filter(|arg| !arg.starts_with("--")).collect();
    let mut spaces = spaces::all();
    if let Some(unknown) = names
        .iter()
        .find(|name| !spaces.iter().any(|space| space.name == name.as_str()))
    {
        eprintln!("there is no space {unknown}");
        return ExitCode::from(2);
    }
    spaces.retain(|space| match names.is_empty() {
        true => all || !space.long,
        false => names.iter().any(|name| name.as_str() == space.name),
    });
    // Spaces know nothing of each other: each core takes the next one.
    let queue = Mutex::new(spaces.into_iter());
    let total = Mutex::new(Some((0, 0)));
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                while let Some(setting) = next(&queue) {
                    let size = walk(setting);
                    let mut total = total.lock().expect("no thread panicked");
                    *total = total
                        .zip(size)
                        .map(|(sum, size)| (sum.0 + size.states, sum.1 + size.transitions));
                }
            });
        }
    });
    match total.into_inner().expect("no thread panicked") {
        Some((states, transitions)) => {
            println!("{states} states and {transitions} transitions, explored whole; every law holds");
            ExitCode::SUCCESS
        }
        None => ExitCode::FAILURE,
    }
}

fn next(queue: &Mutex<std::vec::IntoIter<Setting>>) -> Option<Setting> {
    queue.lock().expect("no thread panicked").next()
}

/// Explores one space and says what came of it; `None` when a law broke or the space was cut off.
fn walk(setting: Setting) -> Option<Size> {
    let (name, started) = (setting.name, Instant::now());
    let mut tables = Tables::new(setting);
    match explore(&mut tables, MOST) {
        Ok(size) if size.whole => {
            println!(
                "{name}: {} states, {} transitions, {} deep, {} questions to the machine, {:.1} s",
                size.states,
                size.transitions,
                size.depth,
                tables.machine.asked(),
                started.elapsed().as_secs_f64()
            );
            Some(size)
        }
        Ok(size) => {
            println!("{name}: cut off at {} states", size.states);
            None
        }
        Err(counterexample) => {
            println!("{name}: {counterexample}");
            None
        }
    }
}
