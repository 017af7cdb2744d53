//! What rows cost as they are told one after the other: so far in all, and below each budget.

use std::collections::BTreeMap;

use super::cost::Token;
use crate::amount::Amount;

/// The sums up to the last row.
#[derive(Default)]
pub(super) struct Running {
    totals: BTreeMap<Token, Amount>,
    /// The budgets above the next row, the innermost last.
    open: Vec<Open>,
}

/// A budget, and what the rows below it cost so far.
struct Open {
    depth: usize,
    budget: Amount,
    sums: BTreeMap<Token, Amount>,
    passed: bool,
}

impl Running {
    /// The next rows are below an intent at this depth, which may have a budget.
    pub fn below(&mut self, depth: usize, budget: Option<Amount>) {
        self.open.retain(|open| open.depth < depth);
        self.open.extend(budget.map(|budget| Open {
            depth,
            budget,
            sums: BTreeMap::new(),
            passed: false,
        }));
    }

    /// The total of a token with this cost, and whether with it what counts below a budget above is more than the budget, and was not before.
    pub fn add(&mut self, token: &Token, cost: Amount) -> (Amount, bool) {
        let mut passes = false;
        for open in &mut self.open {
            if added(&mut open.sums, token, cost) > open.budget && !open.passed {
                open.passed = true;
                passes = true;
            }
        }
        (added(&mut self.totals, token, cost), passes)
    }
}

fn added(sums: &mut BTreeMap<Token, Amount>, token: &Token, cost: Amount) -> Amount {
    let sum = sums.entry(token.clone()).or_insert(Amount::ZERO);
    *sum = sum.saturating_add(cost);
    *sum
}
