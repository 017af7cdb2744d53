//! RFC 8785 text of a JSON text in one pass over its bytes, without building a value.
//!
//! Members are written where they stand and moved only where their names are out of order. The same rules as [`super::parse`]
//! followed by [`super::Json::to_canonical`], and the same errors in the same order: a test compares the two.

use core::cmp::Ordering;
use core::ops::Range;

use super::write::{canonical_number, plain_prefix, write_char};
use super::{MAX_DEPTH, MAX_LEN};
use crate::error::{Code, Error};
use crate::sorting::sort_by;

/// RFC 8785 text of one JSON text. Errors: `too_large`, `json_too_deep`, `lone_surrogate`, `duplicate_key`, `json_invalid`, then
/// `number_out_of_range`.
pub fn canonicalize(text: &str) -> Result<String, Error> {
    if text.len() > MAX_LEN {
        return Err(Error::new(Code::TooLarge, ""));
    }
    let mut pass = Pass {
        text,
        at: 0,
        out: String::with_capacity(text.len()),
        members: Vec::new(),
        moved: String::new(),
        range: None,
    };
    pass.value(0)?;
    pass.space();
    if pass.at < text.len() {
        return Err(invalid());
    }
    match pass.range {
        // As when the whole text is read before a number is looked at.
        Some(error) => Err(error),
        None => Ok(pass.out),
    }
}

fn invalid() -> Error {
    Error::new(Code::JsonInvalid, "")
}

struct Pass<'a> {
    text: &'a str,
    at: usize,
    out: String,
    /// Those of every object that is open, the innermost last.
    members: Vec<Member>,
    /// Scratch for an object whose members move.
    moved: String,
    /// The first number that has no canonical form.
    range: Option<Error>,
}

/// Where one member of an object stands in the output.
struct Member {
    /// From its name's quotation mark to the end of its value.
    whole: Range<usize>,
    /// Its name as written, without quotation marks.
    name: Range<usize>,
    /// Its name, where writing it took escapes.
    unescaped: Option<String>,
}

impl Member {
    fn name<'a>(&'a self, out: &'a str) -> &'a str {
        self.unescaped
            .as_deref()
            .or_else(|| out.get(self.name.clone()))
            .unwrap_or_default()
    }
}

impl Pass<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn rest(&self) -> &[u8] {
        self.text.as_bytes().get(self.at..).unwrap_or_default()
    }

    fn space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    fn take(&mut self, byte: u8) -> bool {
        let there = self.peek() == Some(byte);
        self.at += usize::from(there);
        there
    }

    fn word(&mut self, word: &str) -> Result<(), Error> {
        if !self.rest().starts_with(word.as_bytes()) {
            return Err(invalid());
        }
        self.at += word.len();
        self.out.push_str(word);
        Ok(())
    }

    fn value(&mut self, depth: usize) -> Result<(), Error> {
        self.space();
        match self.peek() {
            Some(b'{') => self.object(depth + 1),
            Some(b'[') => self.array(depth + 1),
            Some(b'"') => self.string().map(|_| ()),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word("true"),
            Some(b'f') => self.word("false"),
            _ => self.word("null"),
        }
    }

    /// Past the bracket that was seen.
    fn enter(&mut self, bracket: char, depth: usize) -> Result<(), Error> {
        if depth > MAX_DEPTH {
            return Err(Error::new(Code::JsonTooDeep, ""));
        }
        self.at += 1;
        self.out.push(bracket);
        self.space();
        Ok(())
    }

    /// After an item: true where another one follows.
    fn more(&mut self, end: u8) -> Result<bool, Error> {
        self.space();
        if self.take(end) {
            return Ok(false);
        }
        if !self.take(b',') {
            return Err(invalid());
        }
        Ok(true)
    }

    fn array(&mut self, depth: usize) -> Result<(), Error> {
        self.enter('[', depth)?;
        if !self.take(b']') {
            self.value(depth)?;
            while self.more(b']')? {
                self.out.push(',');
                self.value(depth)?;
            }
        }
        self.out.push(']');
        Ok(())
    }

    fn object(&mut self, depth: usize) -> Result<(), Error> {
        self.enter('{', depth)?;
        let mine = self.members.len();
        let mut in_order = true;
        if !self.take(b'}') {
            in_order &= self.member(mine, depth)?;
            while self.more(b'}')? {
                self.out.push(',');
                in_order &= self.member(mine, depth)?;
            }
        }
        if !in_order {
            self.sort(mine)?;
        }
        self.members.truncate(mine);
        self.out.push('}');
        Ok(())
    }

    /// Writes one member; true where its name comes after the one before.
    fn member(&mut self, mine: usize, depth: usize) -> Result<bool, Error> {
        let start = self.out.len();
        self.space();
        let escaped = self.string()?;
        let end = self.out.len();
        self.space();
        if !self.take(b':') {
            return Err(invalid());
        }
        self.out.push(':');
        let name = start + 1..end - 1;
        let member = Member {
            unescaped: escaped.then(|| unescape(self.out.get(name.clone()).unwrap_or_default())),
            name,
            whole: start..end,
        };
        let before = self.members.get(mine..).and_then(<[Member]>::last);
        let follows = before.is_none_or(|before| {
            utf16_order(before.name(&self.out), member.name(&self.out)) == Ordering::Less
        });
        self.value(depth)?;
        let end = self.out.len();
        self.members.push(Member {
            whole: start..end,
            ..member
        });
        Ok(follows)
    }

    /// Brings the members of the object that ends here into order. Error: `duplicate_key`.
    fn sort(&mut self, mine: usize) -> Result<(), Error> {
        let out = &mut self.out;
        let mut members = self.members.split_off(mine);
        let first = members.first().map_or(out.len(), |member| member.whole.start);
        sort_by(&mut members, |left, right| {
            utf16_order(left.name(out), right.name(out))
        });
        let twice = |pair: &[Member]| matches!(pair, [left, right] if left.name(out) == right.name(out));
        if members.windows(2).any(twice) {
            return Err(Error::new(Code::DuplicateKey, ""));
        }
        self.moved.clear();
        for member in &members {
            if !self.moved.is_empty() {
                self.moved.push(',');
            }
            self.moved
                .push_str(out.get(member.whole.clone()).unwrap_or_default());
        }
        out.truncate(first);
        out.push_str(&self.moved);
        Ok(())
    }

    fn digits(&mut self) -> usize {
        let start = self.at;
        while let Some(b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
        self.at - start
    }

    fn number(&mut self) -> Result<(), Error> {
        let start = self.at;
        let negative = self.take(b'-');
        let leading_zero = self.peek() == Some(b'0');
        let whole = self.digits();
        if whole == 0 || (whole > 1 && leading_zero) {
            return Err(invalid());
        }
        let mut integer = true;
        if self.take(b'.') {
            integer = false;
            if self.digits() == 0 {
                return Err(invalid());
            }
        }
        if let Some(b'e' | b'E') = self.peek() {
            integer = false;
            self.at += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            if self.digits() == 0 {
                return Err(invalid());
            }
        }
        let literal = self.text.get(start..self.at).unwrap_or_default();
        // Fifteen digits are exact in a double, and their own shortest form; only zero loses its sign.
        if integer && whole <= 15 && !(negative && leading_zero) {
            self.out.push_str(literal);
        } else if let Err(error) = canonical_number(literal, true, &mut self.out) {
            self.range.get_or_insert(error);
        }
        Ok(())
    }

    /// Writes the text that begins here; true where writing it took escapes.
    fn string(&mut self) -> Result<bool, Error> {
        if !self.take(b'"') {
            return Err(invalid());
        }
        let start = self.out.len();
        self.out.push('"');
        let mut escaped = false;
        loop {
            let end = self.at + plain_prefix(self.rest());
            self.out
                .push_str(self.text.get(self.at..end).ok_or_else(invalid)?);
            self.at = end;
            if self.take(b'"') {
                escaped &= self
                    .out
                    .as_bytes()
                    .get(start..)
                    .is_some_and(|text| text.contains(&b'\\'));
                self.out.push('"');
                return Ok(escaped);
            }
            if !self.take(b'\\') {
                return Err(invalid());
            }
            escaped = true;
            let (character, length) = super::read::escape(self.text.get(self.at..).unwrap_or_default())?;
            write_char(character, &mut self.out);
            self.at += length;
        }
    }
}

/// Names by their UTF-16 code units (RFC 8785 section 3.2.3). That is the order of their bytes, except that what takes four bytes takes
/// surrogates, which come before U+E000.
pub(super) fn utf16_order(left: &str, right: &str) -> Ordering {
    let rank = |byte: u8| match byte {
        0xf0.. => 0xee,
        0xee..=0xef => byte + 0x10,
        _ => byte,
    };
    let differing = left
        .bytes()
        .zip(right.bytes())
        .find(|(left, right)| left != right);
    match differing {
        // Two of four bytes are in the order of their bytes already.
        Some((left @ 0xf0.., right @ 0xf0..)) => left.cmp(&right),
        Some((left, right)) => rank(left).cmp(&rank(right)),
        None => left.len().cmp(&right.len()),
    }
}

/// The name that was written with escapes by [`Pass::string`].
fn unescape(written: &str) -> String {
    let mut name = String::new();
    let mut rest = written;
    while let Some((plain, after)) = rest.split_once('\\') {
        name.push_str(plain);
        match super::read::escape(after) {
            Ok((character, length)) => {
                name.push(character);
                rest = after.get(length..).unwrap_or_default();
            }
            // Not reached: only whole escapes are written.
            Err(_) => return name,
        }
    }
    name.push_str(rest);
    name
}
