//! The worlds that are explored.

use crate::chain::Read;
use crate::seller::{Answer, Quote};
use crate::setting::{Call, Faults, Setting, Worker};

const BUY: Call = Call::Fetch { id: 1, request: 1 };
const BUY_OTHER_REQUEST: Call = Call::Fetch { id: 1, request: 2 };
const BUY_SECOND: Call = Call::Fetch { id: 2, request: 2 };

const UNNAMED: Call = Call::Unnamed { request: 1 };

const BROKEN: &[Read] = &[
    Read::Honest,
    Read::Stale,
    Read::Silent,
    Read::Null,
    Read::Empty,
    Read::NoLogs,
    Read::WrongChain,
];
const LYING: &[Read] = &[Read::Honest, Read::Liar, Read::FalselyFinal];
const EVERY_ANSWER: &[Answer] = &[
    Answer::Lost,
    Answer::NotSent,
    Answer::Settled,
    Answer::Unconfirmed,
    Answer::Unsettled,
    Answer::Refused,
    Answer::Used,
    Answer::NewPrice,
    Answer::Conflict,
    Answer::InFlight,
    Answer::Broken,
];
const FEW_ANSWERS: &[Answer] = &[Answer::Lost, Answer::Settled];

const fn worker(journal: usize, calls: &'static [Call]) -> Worker {
    Worker { journal, calls }
}

/// No fault at all.
const NONE: Faults = Faults {
    crashes: 0,
    losses: 0,
    reorgs: 0,
    cancels: 0,
    slips: 0,
};

/// One worker that buys twice under one id, before a seller that cashes whenever it likes and a chain that can be read.
fn base(name: &'static str) -> Setting {
    Setting {
        name,
        long: false,
        workers: vec![worker(0, &[BUY, BUY])],
        clock: &[0, 62],
        blocks: &[0, 59, 60, 61, 62],
        quotes: &[Quote::Usual],
        answers: FEW_ANSWERS,
        reads: &[Read::Honest],
        readable: true,
        resends: 1,
        attempts: 2,
        cap: None,
        faults: NONE,
    }
}

/// Every space, those for every day first.
pub fn all() -> Vec<Setting> {
    let mut spaces = vec![
        Setting {
            faults: Faults {
                crashes: 1,
                slips: 1,
                ..NONE
            },
            ..base("one worker")
        },
        Setting {
            workers: vec![worker(0, &[BUY])],
            answers: EVERY_ANSWER,
            ..base("lying seller")
        },
        Setting {
            quotes: &[Quote::Usual, Quote::Dearer, Quote::OtherRecipient, Quote::Lost],
            answers: &[Answer::Lost, Answer::NewPrice],
            resends: 0,
            ..base("changing price")
        },
        Setting {
            reads: BROKEN,
            faults: Faults { reorgs: 1, ..NONE },
            ..base("broken rpc")
        },
        Setting {
            faults: Faults {
                reorgs: 1,
                cancels: 1,
                ..NONE
            },
            ..base("burnt nonce")
        },
        Setting {
            reads: LYING,
            faults: Faults { losses: 1, ..NONE },
            ..base("lying rpc")
        },
        Setting {
            readable: false,
            faults: Faults {
                crashes: 1,
                losses: 1,
                ..NONE
            },
            ..base("no chain")
        },
        Setting {
            quotes: &[Quote::Usual, Quote::OtherRail],
            faults: Faults { reorgs: 1, ..NONE },
            ..base("two rails")
        },
        Setting {
            faults: Faults {
                losses: 1,
                crashes: 1,
                ..NONE
            },
            ..base("lost journal")
        },
        Setting {
            workers: vec![worker(0, &[BUY, Call::Release, BUY])],
            answers: &[Answer::Lost, Answer::Settled, Answer::Used],
            resends: 0,
            ..base("release")
        },
        Setting {
            resends: 0,
            blocks: &[0, 60, 61, 62],
            workers: vec![worker(0, &[BUY]), worker(0, &[BUY])],
            faults: Faults { crashes: 1, ..NONE },
            ..base("two workers")
        },
        Setting {
            resends: 0,
            blocks: &[0, 60, 61, 62],
            workers: vec![worker(0, &[BUY]), worker(1, &[BUY])],
            quotes: &[Quote::Usual, Quote::OtherRecipient],
            ..base("two journals")
        },
        Setting {
            workers: vec![worker(0, &[BUY]), worker(0, &[BUY_OTHER_REQUEST])],
            ..base("two requests")
        },
        Setting {
            workers: vec![worker(0, &[BUY]), worker(0, &[BUY_SECOND])],
            cap: Some(15_000),
            ..base("two intents")
        },
        Setting {
            resends: 0,
            blocks: &[0, 60, 61, 62],
            workers: vec![worker(0, &[UNNAMED]), worker(0, &[UNNAMED])],
            ..base("no ids")
        },
        Setting {
            quotes: &[Quote::Challenge, Quote::OtherChallenge],
            answers: &[Answer::Lost, Answer::Unconfirmed, Answer::Challenged],
            resends: 0,
            faults: Faults {
                crashes: 1,
                cancels: 1,
                ..NONE
            },
            ..base("challenges")
        },
        Setting {
            quotes: &[Quote::Split],
            resends: 0,
            blocks: &[0, 60, 61, 62],
            faults: Faults { crashes: 1, ..NONE },
            ..base("split payment")
        },
        Setting {
            quotes: &[Quote::Split],
            resends: 0,
            blocks: &[0, 60, 61, 62],
            faults: Faults { losses: 1, ..NONE },
            ..base("split payment, lost journal")
        },
    ];
    spaces.extend(long());
    spaces
}

/// The larger ones.
fn long() -> Vec<Setting> {
    let long = |name| Setting {
        long: true,
        resends: 0,
        blocks: &[0, 60, 61, 62],
        ..base(name)
    };
    vec![
        Setting {
            workers: vec![worker(0, &[BUY]), worker(0, &[BUY, Call::Resume])],
            ..long("two workers, settling")
        },
        Setting {
            workers: vec![worker(0, &[BUY, BUY]), worker(1, &[BUY])],
            quotes: &[Quote::Usual, Quote::OtherRecipient],
            faults: Faults {
                crashes: 1,
                losses: 1,
                ..NONE
            },
            ..long("two journals, one lost")
        },
        Setting {
            workers: vec![worker(0, &[UNNAMED]), worker(0, &[UNNAMED])],
            faults: Faults { crashes: 1, ..NONE },
            ..long("no ids, and a crash")
        },
        Setting {
            workers: vec![worker(0, &[BUY]), worker(0, &[BUY])],
            quotes: &[Quote::Challenge, Quote::OtherChallenge],
            answers: &[Answer::Lost, Answer::Challenged],
            ..long("challenges, two workers")
        },
        Setting {
            blocks: &[0, 59, 60, 61, 62],
            reads: &[Read::Honest, Read::Stale, Read::Empty],
            faults: Faults {
                crashes: 1,
                reorgs: 1,
                cancels: 1,
                ..NONE
            },
            ..long("one worker, everything")
        },
    ]
}
