//! Journals of real purchases, cut at every byte and damaged at every byte. A cut is what a crash leaves: the journal opens
//! with exactly the lines that were whole, and the purchase goes on from there and is paid once. Damage is what a crash
//! can't leave: it is refused.

#[path = "crash/recorded.rs"]
mod recorded;
#[path = "simulation/world.rs"]
mod world;

use counterfoil::error::Code;
use counterfoil::journal::{self, Op, Opened, Value};
use recorded::{Fate, Recorded, RECORDED};
use world::Chaos;

/// The shortest journal at each byte; the longer ones around each end of a line and, between, at every 13th byte.
fn cuts(recorded: &Recorded, every: bool) -> Vec<usize> {
    let ends = recorded.ends();
    let near = |at: usize| ends.iter().any(|end| at.abs_diff(*end) < 32);
    let all = 0..=recorded.bytes.len();
    all.filter(|at| every || recorded.name == "delivered" || near(*at) || at % 13 == 0)
        .collect()
}

/// How many lines are whole in the first bytes. A line that lacks only its line feed is.
fn whole_lines(recorded: &Recorded, length: usize) -> usize {
    recorded.ends().iter().filter(|end| **end <= length + 1).count()
}

fn assert_holds(recorded: &Recorded, opened: &Opened, lines: usize, about: &str) {
    let expected = recorded.lines(lines);
    assert_eq!(opened.entries.len(), expected.len(), "{about}");
    for entry in &opened.entries {
        let Value::Text(text) = &entry.value else {
            panic!("{about}: bytes where text was written");
        };
        let value: serde_json::Value = serde_json::from_str(text).unwrap();
        assert_eq!((entry.rev, value), expected[&entry.key], "{about}: {}", entry.key);
    }
    assert_eq!(opened.head.seq, lines as u64, "{about}");
}

/// As the file store does when it opens: the torn tail goes, a missing line feed comes.
fn repaired(bytes: &[u8], opened: &Opened) -> Vec<u8> {
    let mut file = bytes.to_vec();
    file.truncate(opened.head.length as usize);
    if opened.needs_newline {
        file.push(b'\n');
    }
    file
}

fn cut_and_append(every: bool) {
    let note = Op {
        key: "note".to_owned(),
        put: Some(Value::Text("{\"after\":\"the crash\"}".to_owned())),
    };
    for recorded in &RECORDED {
        let ends = recorded.ends();
        for length in cuts(recorded, every) {
            let about = format!("{} cut at {length}", recorded.name);
            let bytes = &recorded.bytes[..length];
            let lines = whole_lines(recorded, length);
            let opened = journal::open(bytes).unwrap_or_else(|error| panic!("{about}: {error}"));
            let end = lines.checked_sub(1).map_or(0, |last| ends[last]);
            assert_eq!(opened.head.length as usize, end, "{about}");
            assert_eq!(opened.torn as usize, length.saturating_sub(end), "{about}");
            assert_eq!(opened.needs_newline, length + 1 == end, "{about}");
            // Reading with the other reader costs the most; once for each number of lines, torn and not, is enough.
            if end.abs_diff(length) < 3 || length % 512 == 0 {
                assert_holds(recorded, &opened, lines, &about);
                assert_eq!(
                    journal::open(bytes).unwrap(),
                    opened,
                    "{about}: another answer the second time"
                );
            }

            // The next line does not stick to the torn one, and nothing before it is lost.
            let mut file = repaired(bytes, &opened);
            let (line, head) = journal::append(&opened.head, std::slice::from_ref(&note)).unwrap();
            file.extend(line.as_bytes());
            let again =
                journal::open(&file).unwrap_or_else(|error| panic!("{about}, then written to: {error}"));
            assert_eq!((&again.head, again.torn), (&head, 0), "{about}");
            let mut kept = again.entries;
            kept.retain(|entry| entry.key != "note");
            assert_eq!(kept, opened.entries, "{about}: lost by writing on");
        }
    }
}

#[test]
fn a_cut_leaves_exactly_the_whole_lines_and_the_file_can_be_written_on() {
    cut_and_append(false);
}

#[test]
#[ignore = "each byte of each journal; minutes"]
fn a_cut_at_each_byte_of_each_journal() {
    cut_and_append(true);
}

/// Nothing of the torn line has any influence, hence the bytes before it stand for each cut inside it.
#[test]
fn after_a_cut_the_purchase_goes_on_and_is_paid_once() {
    let chaos = |rpc, faults| Chaos {
        rpc,
        lose_answer: faults,
        kill: faults / 2,
        ..Chaos::default()
    };
    let mut played = std::collections::BTreeMap::<String, u64>::new();
    for recorded in &RECORDED {
        let inside = recorded.ends().into_iter().flat_map(|end| [end, end + 7]);
        for length in inside
            .chain([0, 7])
            .filter(|length| *length <= recorded.bytes.len())
        {
            let bytes = &recorded.bytes[..length];
            for fate in Recorded::fates(bytes) {
                // At once, within the window, after it, and after the seller has forgotten.
                for later in [0, 15, 400, 90_000] {
                    for (seed, rpc, faults) in [(1, true, 0), (2, true, 40), (3, false, 20)] {
                        for keeps_answers in [true, false] {
                            let about = format!(
                                "{} cut at {length}, {fate:?}, {later} s later, seed {seed}, {keeps_answers}",
                                recorded.name
                            );
                            let mut world = recorded.world(bytes, seed, chaos(rpc, faults), fate).unwrap();
                            world.keeps_answers = keeps_answers;
                            if later > 5 {
                                world.pass(5);
                                world.pass(later - 5);
                            }
                            let end = world
                                .play()
                                .unwrap_or_else(|why| panic!("{about}: {why}\n{}", world.story()));
                            assert!(world.transfers <= 1, "{about}");
                            if rpc {
                                assert!(
                                    end == "delivered" || end == "claim",
                                    "{about}: {end}\n{}",
                                    world.story()
                                );
                                assert_eq!(world.transfers, 1, "{about}\n{}", world.story());
                            }
                            if end == "claim" {
                                let found = recorded::intent(&world.journals[0].file).unwrap();
                                assert!(found.claim.is_some() || found.delivery.is_some(), "{about}");
                            }
                            *played.entry(format!("{fate:?} {end}")).or_default() += 1;
                        }
                    }
                }
            }
        }
    }
    println!("{played:?}");
    for fate in [Fate::NeverArrived, Fate::Landed, Fate::LandsLater] {
        assert!(played.contains_key(&format!("{fate:?} delivered")), "{played:?}");
    }
    assert!(played.contains_key("Landed claim"), "{played:?}");
}

fn refused(bytes: &[u8], about: impl Fn() -> String) {
    match journal::open(bytes) {
        Err(error) if matches!(error.code, Code::JournalCorrupt | Code::UnsupportedVersion) => {}
        Err(error) => panic!("{}: {error}", about()),
        Ok(opened) => panic!("{}: opened with {} lines", about(), opened.head.seq),
    }
}

#[test]
fn a_changed_byte_in_a_whole_line_is_never_read_as_something_else() {
    let recorded = &RECORDED[0];
    let last = recorded.ends().iter().rev().nth(1).copied().unwrap();
    for at in 0..recorded.bytes.len() {
        let byte = recorded.bytes[at];
        for changed in [byte ^ (1 << (at % 8)), [b'\n', b' ', byte ^ 0x80, b'}'][at % 4]] {
            // Zero bytes in the last line are blocks that were never written.
            if changed == byte || (changed == 0 && at >= last) {
                continue;
            }
            let mut bytes = recorded.bytes.to_vec();
            bytes[at] = changed;
            refused(&bytes, || format!("byte {at} from {byte:#x} to {changed:#x}"));
        }
    }
}

#[test]
fn lines_left_out_doubled_or_exchanged_are_refused() {
    for recorded in &RECORDED {
        let ends = recorded.ends();
        let starts: Vec<usize> = std::iter::once(0).chain(ends.iter().copied()).collect();
        let line = |at: usize| &recorded.bytes[starts[at]..ends[at]];
        let count = ends.len();
        for at in 0..count {
            let about = |what: &str| format!("{}: line {at} {what}", recorded.name);
            let parts = |order: Vec<usize>| order.into_iter().map(line).collect::<Vec<_>>().concat();
            if at + 1 < count {
                refused(&parts((0..count).filter(|i| *i != at).collect()), || {
                    about("left out")
                });
                refused(
                    &parts(
                        (0..count)
                            .map(|i| {
                                if i == at {
                                    i + 1
                                } else if i == at + 1 {
                                    at
                                } else {
                                    i
                                }
                            })
                            .collect(),
                    ),
                    || about("exchanged"),
                );
            }
            refused(
                &parts(
                    (0..count)
                        .flat_map(|i| if i == at { vec![i, i] } else { vec![i] })
                        .collect(),
                ),
                || about("doubled"),
            );
            if at > 0 {
                // Half a line with another line after it is no torn tail.
                let half = &line(at - 1)[..line(at - 1).len() / 2];
                let glued = [&recorded.bytes[..starts[at - 1]], half, b"\n", line(at)].concat();
                refused(&glued, || about("after half a line"));
            }
        }
    }
}

#[test]
fn blocks_that_were_allotted_and_never_written_are_a_torn_tail() {
    for recorded in &RECORDED {
        let ends = recorded.ends();
        for (at, end) in ends.iter().enumerate() {
            let next = ends.get(at + 1).copied().unwrap_or(*end);
            for written in [0, 1, (next - end) / 2, (next - end).saturating_sub(2)]
                .map(|written| written.min(next - end))
            {
                for zeros in [1, 511, 4096] {
                    for tail in ["", "\n"] {
                        let bytes =
                            [&recorded.bytes[..end + written], &vec![0; zeros], tail.as_bytes()].concat();
                        let about = format!(
                            "{}: {written} bytes after line {at} and {zeros} zeros",
                            recorded.name
                        );
                        let opened = journal::open(&bytes).unwrap_or_else(|error| panic!("{about}: {error}"));
                        assert_eq!(opened.torn as usize, bytes.len() - end, "{about}");
                        assert_eq!(opened.head.seq as usize, at + 1, "{about}");
                        assert_eq!(journal::open(&bytes).unwrap(), opened, "{about}");
                    }
                }
            }
            if next > *end {
                // Zeros and then a whole line: what lies between was once acknowledged.
                let bytes = [
                    &recorded.bytes[..*end],
                    &[0; 64],
                    b"\n",
                    &recorded.bytes[*end..next],
                ]
                .concat();
                refused(&bytes, || format!("{}: zeros after line {at}", recorded.name));
            }
        }
    }
}
