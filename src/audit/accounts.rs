//! Addresses with their checksum, which is a hash: in many lines the same ones come again, and a hash for each would be most of the work.

use std::collections::{BTreeMap, BTreeSet};

use crate::address::Address;
use crate::json::Json;

/// The most texts that are remembered: whoever writes lines could invent any number.
const MOST: usize = 4096;

/// Texts of addresses that were read before, so that their checksum is known to be right.
#[derive(Default)]
pub(super) struct Proven(BTreeSet<String>);

impl Proven {
    /// Writes those of the members that are proven in one case, in which no checksum is read from them. Gives the others.
    pub fn plain(&self, json: Option<&mut Json>, names: &[&str]) -> Vec<String> {
        let Some(Json::Object(members)) = json else {
            return Vec::new();
        };
        let mut others = Vec::new();
        for (name, value) in members {
            if let Json::String(text) = value {
                if text.len() == 42 && names.contains(&name.as_str()) {
                    match self.0.contains(text.as_str()) {
                        true => text.make_ascii_lowercase(),
                        false => others.push(text.clone()),
                    }
                }
            }
        }
        others
    }

    /// Remembers texts of which an address was read.
    pub fn extend(&mut self, texts: Vec<String>) {
        if self.0.len() + texts.len() <= MOST {
            self.0.extend(texts);
        }
    }
}

/// Addresses as they are written.
#[derive(Default)]
pub(super) struct Spelling(BTreeMap<Address, String>);

impl Spelling {
    pub fn of(&mut self, address: Address) -> String {
        self.0
            .entry(address)
            .or_insert_with(|| address.to_string())
            .clone()
    }
}
