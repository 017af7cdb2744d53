//! RFC 8785 text of a JSON text in one pass over its bytes, without building a value.
//!
//! What is canonical as it stands is copied in runs that are as long as they can be. Members are written where they stand, and moved only
//! where their names are out of order.

use core::cmp::Ordering;
use core::ops::Range;
use std::borrow::Cow;

use crate::copy::append;
use crate::number::{canonical_number, Number};
use crate::read::{tell, Container, Events};
use crate::sorting::sort_by;
use crate::string::{utf16_order, Text};
use crate::Fault;

/// RFC 8785 text of one JSON text, in UTF-8. Faults: those of [`read`](crate::read()), then `OutOfRange`.
pub fn canonicalize(text: &str) -> Result<Vec<u8>, Fault> {
    let mut writer = Writer {
        text: text.as_bytes(),
        run: 0..0,
        out: Vec::with_capacity(text.len()),
        members: Vec::new(),
        objects: Vec::new(),
        moved: Vec::new(),
        range: Ok(()),
    };
    tell(text, &mut writer)?;
    writer.flush();
    // As when the whole text is read before a number is looked at.
    writer.range.map(|()| writer.out)
}

struct Writer<'a> {
    text: &'a [u8],
    /// What of the text is to be written next, as it stands.
    run: Range<usize>,
    out: Vec<u8>,
    /// Those of every object that is open, the innermost last.
    members: Vec<Member<'a>>,
    /// Every object that is open, the innermost last.
    objects: Vec<Object>,
    /// Scratch for an object whose members move.
    moved: Vec<u8>,
    /// The first number that has no canonical form.
    range: Result<(), Fault>,
}

struct Object {
    /// Where its members begin in the list of all.
    first: usize,
    in_order: bool,
}

/// One member of an object, and where it stands in the output.
struct Member<'a> {
    name: Cow<'a, str>,
    place: Range<usize>,
}

impl<'a> Writer<'a> {
    /// Keeps bytes of the text as they stand.
    #[inline(always)]
    fn keep(&mut self, at: usize, length: usize) {
        if at != self.run.end {
            self.flush();
            self.run.start = at;
        }
        self.run.end = at + length;
    }

    fn flush(&mut self) {
        let kept = self.text.get(self.run.clone()).unwrap_or_default();
        append(&mut self.out, kept);
        self.run = 0..0;
    }

    /// Where the next byte comes to stand in the output.
    #[inline(always)]
    fn end(&self) -> usize {
        self.out.len() + self.run.len()
    }

    #[inline(always)]
    fn write_string(&mut self, at: usize, text: &Text<'a>) {
        if text.escaped {
            self.flush();
            text.write(&mut self.out);
        } else {
            self.keep(at, text.written.len() + 2);
        }
    }

    /// Brings the members of the object that ends here into order. Fault: `DuplicateKey`.
    fn sort(&mut self, first: usize) -> Result<(), Fault> {
        self.flush();
        let out = &mut self.out;
        let members = self.members.get_mut(first..).unwrap_or_default();
        let mut end = out.len();
        for member in members.iter_mut().rev() {
            member.place.end = end;
            end = member.place.start.saturating_sub(1);
        }
        let begin = end + 1;
        let order = |left: &Member, right: &Member| utf16_order(left.name.as_bytes(), right.name.as_bytes());
        sort_by(members, order);
        let twice = |pair: &[Member]| matches!(pair, [left, right] if left.name == right.name);
        if members.windows(2).any(twice) {
            return Err(Fault::DuplicateKey);
        }
        self.moved.clear();
        for member in members {
            append(&mut self.moved, out.get(member.place.clone()).unwrap_or_default());
            self.moved.push(b',');
        }
        self.moved.pop();
        out.truncate(begin);
        out.extend_from_slice(&self.moved);
        Ok(())
    }
}

impl<'a> Events<'a> for Writer<'a> {
    #[inline(always)]
    fn word(&mut self, at: usize, value: Option<bool>) {
        self.keep(at, if value == Some(false) { 5 } else { 4 });
    }

    #[inline(always)]
    fn number(&mut self, at: usize, number: Number<'a>) {
        if number.settled {
            return self.keep(at, number.literal.len());
        }
        self.flush();
        let written = canonical_number(number.literal, true, &mut self.out);
        self.range = self.range.and(written);
    }

    #[inline(always)]
    fn string(&mut self, at: usize, text: Text<'a>) {
        self.write_string(at, &text);
    }

    #[inline(always)]
    fn name(&mut self, at: usize, name: Text<'a>) {
        let start = self.end();
        self.write_string(at, &name);
        let name = name.decoded();
        if let Some(object) = self.objects.last_mut() {
            let before = self.members.get(object.first..).and_then(<[Member]>::last);
            object.in_order &= before
                .is_none_or(|before| utf16_order(before.name.as_bytes(), name.as_bytes()) == Ordering::Less);
        }
        let place = start..start;
        self.members.push(Member { name, place });
    }

    #[inline(always)]
    fn mark(&mut self, at: usize) {
        self.keep(at, 1);
    }

    #[inline(always)]
    fn open(&mut self, at: usize, container: Container) {
        self.keep(at, 1);
        if container == Container::Object {
            self.objects.push(Object {
                first: self.members.len(),
                in_order: true,
            });
        }
    }

    #[inline(always)]
    fn close(&mut self, at: usize, container: Container) -> Result<(), Fault> {
        if container == Container::Object {
            if let Some(object) = self.objects.pop() {
                if !object.in_order {
                    self.sort(object.first)?;
                }
                self.members.truncate(object.first);
            }
        }
        self.keep(at, 1);
        Ok(())
    }
}
