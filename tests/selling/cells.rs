//! What the tables of the selling side share: a cell is asked of the core, and kept as a vector of its own.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use counterfoil::wasm;
use serde_json::{json, Value};

/// An expected answer, or the code and field of an expected error.
pub type Expected<T> = Result<T, (&'static str, &'static str)>;

/// Asks the core and compares.
pub fn assert_says(call: &str, input: &Value, expected: Expected<&Value>, name: &str) {
    let actual = match wasm::call(call, &input.to_string(), None, None) {
        Ok(answer) => serde_json::from_str(&answer.to_text()).unwrap(),
        Err(error) => json!({ "error": error.code.as_str(), "field": error.field }),
    };
    let expected = match expected {
        Ok(answer) => answer.clone(),
        Err((code, field)) => json!({ "error": code, "field": field }),
    };
    assert_eq!(actual, expected, "{name}");
}

/// The vectors of one table, by name.
pub struct Vectors {
    area: &'static str,
    texts: BTreeMap<String, String>,
}

impl Vectors {
    pub fn of(area: &'static str) -> Vectors {
        let texts = BTreeMap::new();
        Vectors { area, texts }
    }

    pub fn add(&mut self, name: &str, source: &str, call: &str, input: Value, expected: Expected<Value>) {
        let name = format!("cell-{}", name.replace('_', "-"));
        let id = format!("{}/{name}", self.area);
        let mut vector = json!({ "id": id, "source": format!("rule of this project: {source}"), "call": call, "input": input });
        match expected {
            Ok(expected) => vector["expected"] = expected,
            Err((code, field)) => vector["error"] = json!({ "code": code, "field": field }),
        }
        let text = serde_json::to_string_pretty(&vector).unwrap() + "\n";
        assert_eq!(
            self.texts.insert(name.clone(), text),
            None,
            "{name} stands for two cells"
        );
    }

    /// Every cell has its file, as it stands here, and no file is left of a cell that is gone.
    pub fn check(&self) {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/vectors")
            .join(self.area);
        if std::env::var_os("COUNTERFOIL_WRITE").is_some() {
            files(&folder)
                .into_values()
                .for_each(|path| fs::remove_file(path).unwrap());
            for (name, text) in &self.texts {
                fs::write(folder.join(format!("{name}.json")), text).unwrap();
            }
        }
        let kept: BTreeMap<String, String> = files(&folder)
            .into_iter()
            .map(|(name, path)| (name, fs::read_to_string(path).unwrap()))
            .collect();
        let names = |vectors: &BTreeMap<String, String>| vectors.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&kept), names(&self.texts), "cells and vectors");
        for (name, text) in &self.texts {
            assert_eq!(&kept[name], text, "{name}");
        }
    }
}

fn files(folder: &Path) -> BTreeMap<String, PathBuf> {
    fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.file_stem().unwrap().to_str().unwrap().to_owned(), path))
        .filter(|(name, _)| name.starts_with("cell-"))
        .collect()
}

/// Reproducible chance: splitmix64.
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Dice {
        Dice(seed)
    }

    /// One of `sides` numbers from 0.
    pub fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % sides as u64) as usize
    }
}
