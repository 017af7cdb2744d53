//! JSON texts (RFC 8259 within I-JSON), read strictly, and their canonical text (RFC 8785).
//!
//! A crate of its own because nearly every byte that is audited goes through it: it is compiled for speed, and what stands on it for size. It
//! knows no value: [`read`] tells what stands in a text, [`canonicalize`] writes it down again.

mod canonical;
mod copy;
mod number;
mod read;
mod sorting;
mod string;

pub use canonical::canonicalize;
pub use number::{canonical_number, Number};
pub use read::{read, Container, Events};
pub use sorting::sort_by;
pub use string::{utf16_order, write_string, Text};

/// Deepest nesting accepted.
pub const MAX_DEPTH: usize = 64;
/// Largest text accepted, in bytes.
pub const MAX_LEN: usize = 64 << 20;

/// Why a text is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fault {
    /// It is longer than [`MAX_LEN`].
    TooLarge,
    /// It nests deeper than [`MAX_DEPTH`].
    TooDeep,
    /// An escape stands for half a surrogate pair.
    LoneSurrogate,
    /// Two members of an object have one name, once escapes are decoded.
    DuplicateKey,
    /// It is no JSON text.
    Invalid,
    /// A number has no canonical form: it overflows, or is a whole number whose digits its double changes.
    OutOfRange,
}
