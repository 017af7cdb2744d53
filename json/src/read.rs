//! The grammar: one text, and what stands in it, or the first reason why it is refused.

use crate::number::Number;
use crate::string::Text;
use crate::{Fault, MAX_DEPTH, MAX_LEN};

/// What holds other values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Container {
    /// `[…]`
    Array,
    /// `{…}`
    Object,
}

/// Is told what stands in a text, in its order, and at which byte of it each thing begins. What it was told before a fault means nothing.
pub trait Events<'a> {
    /// `null`, or a truth value.
    fn word(&mut self, at: usize, value: Option<bool>);
    /// A number.
    fn number(&mut self, at: usize, number: Number<'a>);
    /// A string.
    fn string(&mut self, at: usize, text: Text<'a>);
    /// The name of a member, whose value is told next.
    fn name(&mut self, at: usize, name: Text<'a>);
    /// A container begins.
    fn open(&mut self, at: usize, container: Container);
    /// The colon behind a name, or the comma before another item or member.
    fn mark(&mut self, _at: usize) {}
    /// The innermost container ends. Fault: `DuplicateKey`, which only who keeps the names can know.
    fn close(&mut self, at: usize, container: Container) -> Result<(), Fault>;
}

/// Reads one JSON text. Faults: `TooLarge`, `TooDeep`, `LoneSurrogate`, `DuplicateKey`, `Invalid`.
pub fn read<'a>(text: &'a str, events: &mut dyn Events<'a>) -> Result<(), Fault> {
    tell(text, events)
}

/// The same, compiled for one listener.
#[inline]
pub(crate) fn tell<'a, E: Events<'a> + ?Sized>(text: &'a str, events: &mut E) -> Result<(), Fault> {
    if text.len() > MAX_LEN {
        return Err(Fault::TooLarge);
    }
    let mut reader = Reader { text, at: 0, events };
    reader.value(0)?;
    reader.space();
    if reader.at < text.len() {
        return Err(Fault::Invalid);
    }
    Ok(())
}

struct Reader<'a, 'b, E: ?Sized> {
    text: &'a str,
    at: usize,
    events: &'b mut E,
}

impl<'a, E: Events<'a> + ?Sized> Reader<'a, '_, E> {
    #[inline(always)]
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    #[inline(always)]
    fn space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    #[inline(always)]
    fn take(&mut self, byte: u8) -> bool {
        let there = self.peek() == Some(byte);
        self.at += usize::from(there);
        there
    }

    fn word(&mut self, word: &str, value: Option<bool>) -> Result<(), Fault> {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        if !rest.starts_with(word.as_bytes()) {
            return Err(Fault::Invalid);
        }
        self.events.word(self.at, value);
        self.at += word.len();
        Ok(())
    }

    fn value(&mut self, depth: usize) -> Result<(), Fault> {
        self.space();
        match self.peek() {
            Some(b'{') => self.object(depth + 1),
            Some(b'[') => self.array(depth + 1),
            Some(b'"') => {
                let at = self.at;
                let text = self.string()?;
                self.events.string(at, text);
                Ok(())
            }
            Some(b'-' | b'0'..=b'9') => {
                let at = self.at;
                let number = Number::read(self.text, at)?;
                self.at += number.literal.len();
                self.events.number(at, number);
                Ok(())
            }
            Some(b't') => self.word("true", Some(true)),
            Some(b'f') => self.word("false", Some(false)),
            _ => self.word("null", None),
        }
    }

    fn string(&mut self) -> Result<Text<'a>, Fault> {
        if !self.take(b'"') {
            return Err(Fault::Invalid);
        }
        let text = Text::read(self.text, self.at)?;
        self.at += text.written.len() + 1;
        Ok(text)
    }

    /// Past the bracket that was seen.
    fn enter(&mut self, container: Container, depth: usize) -> Result<(), Fault> {
        if depth > MAX_DEPTH {
            return Err(Fault::TooDeep);
        }
        self.events.open(self.at, container);
        self.at += 1;
        self.space();
        Ok(())
    }

    /// After an item: true where another one follows.
    #[inline(always)]
    fn more(&mut self, end: u8) -> Result<bool, Fault> {
        self.space();
        if self.take(end) {
            return Ok(false);
        }
        if !self.take(b',') {
            return Err(Fault::Invalid);
        }
        self.events.mark(self.at - 1);
        Ok(true)
    }

    fn array(&mut self, depth: usize) -> Result<(), Fault> {
        self.enter(Container::Array, depth)?;
        if !self.take(b']') {
            self.value(depth)?;
            while self.more(b']')? {
                self.value(depth)?;
            }
        }
        self.events.close(self.at - 1, Container::Array)
    }

    fn object(&mut self, depth: usize) -> Result<(), Fault> {
        self.enter(Container::Object, depth)?;
        if !self.take(b'}') {
            self.member(depth)?;
            while self.more(b'}')? {
                self.member(depth)?;
            }
        }
        self.events.close(self.at - 1, Container::Object)
    }

    #[inline(always)]
    fn member(&mut self, depth: usize) -> Result<(), Fault> {
        self.space();
        let at = self.at;
        let name = self.string()?;
        self.events.name(at, name);
        self.space();
        if !self.take(b':') {
            return Err(Fault::Invalid);
        }
        self.events.mark(self.at - 1);
        self.value(depth)
    }
}
