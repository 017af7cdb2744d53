//! Pay for API calls at most once, provably, and check it afterwards.
//!
//! 402 answer → quote → policy → intent → attempt → journal → signer → authorization → journal, durable → send those bytes →
//! outcome → evidence when unknown → receipt checked. Everything here is pure: no clock, no randomness, no input or
//! output. Time and entropy are arguments; effects are values that a host carries out.

#![warn(missing_docs)]

pub mod error;

pub mod sorting;

pub mod hex;

pub mod base64;

pub mod rlp;

pub mod json;

pub mod amount;

pub mod address;

pub mod network;

pub mod time;

pub mod digest;

pub mod eip712;

pub mod signing;

pub mod secp256k1;

pub mod jwk;

pub mod jws;

pub mod did;

pub mod checked;

pub mod erc1271;

pub mod eip3009;

pub mod permit2;

pub mod tempo;

pub mod authorization;

pub mod x402;

pub mod mpp;

pub mod fingerprint;

pub mod quote;

pub mod finding;

pub mod call_key;

pub mod problem;

pub mod intent;

pub mod traceparent;

pub mod tree;

pub mod approval;

pub mod drift;

pub mod outcome;

pub mod attempt;

pub mod policy;

pub mod journal;

pub mod trie;

pub mod order;

pub mod admission;

pub mod evidence;

pub mod sale;

pub mod claim;

pub mod hand_over;

pub mod receipt;

pub mod conflict;

pub mod audit;

pub mod lineage;

pub mod client;

pub mod wasm;
