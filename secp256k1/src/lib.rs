//! Signatures of public data: finding who made them, and whether somebody did. Nothing here handles a secret, so all of it may take as long as
//! the numbers make it take. A crate of its own, so that it depends on nothing, and is compiled for speed where the rest is compiled for size.
//!
//! `limbs` and `inverse`, on which `field` and `scalar` stand; `point`; `product`, of any key; `lockstep`, `fours` and `comb`, of keys that
//! are met often; `short`, of those that are met a few times; `signature`.

pub mod comb;
pub mod field;
pub mod fours;
mod inverse;
mod limbs;
pub mod lockstep;
pub mod point;
pub mod product;
pub mod scalar;
pub mod short;
pub mod signature;
mod vector;
