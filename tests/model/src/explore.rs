//! Breadth first through every state that can be reached, so that the first broken law comes with a shortest story.
//!
//! A checker of our own and not a library: the property that matters most, *from every state some fair continuation ends
//! every attempt*, is none of those that path-based checkers know (always, sometimes, eventually on every path).

use std::collections::HashMap;
use std::fmt;
use std::hash::Hash;

/// What is explored.
pub trait Space {
    /// A state; equal states are one.
    type State: Clone + Eq + Hash;
    /// What leads from one state to the next.
    type Action: Copy;

    /// Where it begins.
    fn first(&self) -> Self::State;
    /// Everything that can happen in a state.
    fn actions(&mut self, state: &Self::State) -> Vec<Self::Action>;
    /// The state after an action; `None` when it can't happen here.
    fn apply(&mut self, state: &Self::State, action: Self::Action) -> Result<Option<Self::State>, Broken>;
    /// The laws that hold of a state by itself, and of what can still become of it.
    fn check(&mut self, state: &Self::State) -> Result<(), Broken>;
    /// An action in words, told from the state it happens in.
    fn tell(&mut self, state: &Self::State, action: Self::Action) -> String;
}

/// A law that did not hold.
#[derive(Clone, Debug)]
pub struct Broken {
    /// The law, as the mutations name it.
    pub law: &'static str,
    /// What was seen.
    pub why: String,
}

/// A broken law and how to get there.
pub struct Counterexample {
    /// The law.
    pub broken: Broken,
    /// The actions, in words.
    pub story: Vec<String>,
}

impl fmt::Display for Counterexample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "BROKEN {}: {}", self.broken.law, self.broken.why)?;
        for (at, line) in self.story.iter().enumerate() {
            writeln!(f, "  {:>2} {line}", at + 1)?;
        }
        Ok(())
    }
}

/// What was walked through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    /// Different states.
    pub states: usize,
    /// Ways from one to the next.
    pub transitions: usize,
    /// Longest shortest way.
    pub depth: usize,
    /// All of it was walked through.
    pub whole: bool,
}

/// Walks through the whole space, or through `most` states of it, until a law breaks.
pub fn explore<S: Space>(space: &mut S, most: usize) -> Result<Size, Counterexample> {
    let first = space.first();
    let mut seen = HashMap::from([(first.clone(), 0_u32)]);
    let mut came_by: Vec<(u32, Option<S::Action>)> = vec![(0, None)];
    let mut layer = vec![(0_u32, first)];
    let mut size = Size {
        states: 1,
        whole: true,
        ..Size::default()
    };
    while !layer.is_empty() {
        let mut next = Vec::new();
        for (at, state) in layer {
            if let Err(broken) = space.check(&state) {
                return Err(counterexample(space, &came_by, at, None, broken));
            }
            for action in space.actions(&state) {
                let reached = match space.apply(&state, action) {
                    Ok(Some(reached)) => reached,
                    Ok(None) => continue,
                    Err(broken) => return Err(counterexample(space, &came_by, at, Some(action), broken)),
                };
                size.transitions += 1;
                if seen.contains_key(&reached) {
                    continue;
                }
                if seen.len() >= most {
                    size.whole = false;
                    continue;
                }
                let place = u32::try_from(came_by.len()).expect("fewer than 2^32 states");
                came_by.push((at, Some(action)));
                seen.insert(reached.clone(), place);
                next.push((place, reached));
            }
        }
        layer = next;
        size.depth += usize::from(!layer.is_empty());
    }
    size.states = seen.len();
    Ok(size)
}

fn counterexample<S: Space>(
    space: &mut S,
    came_by: &[(u32, Option<S::Action>)],
    mut at: u32,
    last: Option<S::Action>,
    broken: Broken,
) -> Counterexample {
    let mut actions: Vec<S::Action> = last.into_iter().collect();
    while let (before, Some(action)) = came_by[at as usize] {
        actions.push(action);
        at = before;
    }
    actions.reverse();
    let mut state = space.first();
    let mut story = Vec::new();
    for action in actions {
        story.push(space.tell(&state, action));
        if let Ok(Some(reached)) = space.apply(&state, action) {
            state = reached;
        }
    }
    Counterexample { broken, story }
}
