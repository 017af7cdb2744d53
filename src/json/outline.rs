//! Where the values of a text stand, without the values themselves: of a long text most is never looked at.

use counterfoil_json::{Container, Events, Fault, Number, Text};

use crate::error::Error;

/// A value down to a depth; what lies deeper stays as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part<'a> {
    /// The members in their order. Whether a name stands twice is not asked.
    Object(Vec<(String, Part<'a>)>),
    /// The items.
    Array(Vec<Part<'a>>),
    /// The text of a value: a container that lies deeper, or what is no container.
    Written(&'a str),
}

impl<'a> Part<'a> {
    /// The member of that name; none where this is no object.
    pub fn get(&self, name: &str) -> Option<&Part<'a>> {
        match self {
            Part::Object(members) => members.iter().find(|(own, _)| own == name).map(|(_, part)| part),
            Part::Array(_) | Part::Written(_) => None,
        }
    }
}

/// Reads one JSON text, of which the containers of the first `depth` levels are taken apart. Errors: `too_large`, `json_too_deep`, `lone_surrogate`, `json_invalid`.
pub fn outline(text: &str, depth: usize) -> Result<Part<'_>, Error> {
    let mut outline = Outline {
        text,
        depth,
        level: 0,
        start: 0,
        open: Vec::new(),
        whole: None,
    };
    counterfoil_json::read(text, &mut outline)?;
    outline.whole.ok_or_else(|| Fault::Invalid.into())
}

struct Outline<'a> {
    text: &'a str,
    depth: usize,
    /// How many containers are open.
    level: usize,
    /// Where the one begins that lies too deep.
    start: usize,
    /// Those that are taken apart, the innermost last, each with the name that its next value gets.
    open: Vec<(Part<'a>, String)>,
    whole: Option<Part<'a>>,
}

impl<'a> Outline<'a> {
    fn put(&mut self, part: Part<'a>) {
        match self.open.last_mut() {
            Some((Part::Array(items), _)) => items.push(part),
            Some((Part::Object(members), name)) => members.push((core::mem::take(name), part)),
            _ => self.whole = Some(part),
        }
    }

    fn written(&mut self, start: usize, length: usize) {
        if self.level <= self.depth {
            let text = self.text.get(start..start + length).unwrap_or_default();
            self.put(Part::Written(text));
        }
    }
}

impl<'a> Events<'a> for Outline<'a> {
    fn word(&mut self, at: usize, value: Option<bool>) {
        self.written(at, if value == Some(false) { 5 } else { 4 });
    }

    fn number(&mut self, at: usize, number: Number<'a>) {
        self.written(at, number.literal.len());
    }

    fn string(&mut self, at: usize, text: Text<'a>) {
        self.written(at, text.written.len() + 2);
    }

    fn name(&mut self, _: usize, name: Text<'a>) {
        if self.level <= self.depth {
            if let Some((_, next)) = self.open.last_mut() {
                *next = name.decoded().into_owned();
            }
        }
    }

    fn open(&mut self, at: usize, container: Container) {
        if self.level < self.depth {
            let empty = match container {
                Container::Array => Part::Array(Vec::new()),
                Container::Object => Part::Object(Vec::new()),
            };
            self.open.push((empty, String::new()));
        } else if self.level == self.depth {
            self.start = at;
        }
        self.level += 1;
    }

    fn close(&mut self, at: usize, _: Container) -> Result<(), Fault> {
        self.level -= 1;
        if self.level < self.depth {
            if let Some((part, _)) = self.open.pop() {
                self.put(part);
            }
        } else {
            self.written(self.start, at + 1 - self.start);
        }
        Ok(())
    }
}
