//! The boundary: the one place that knows JavaScript.
//!
//! Every function of the package is a named call. Its parameters come as one JSON text and, where bytes are needed, as an
//! attachment; the answer is `{"ok": …}` or `{"error": {"code","field","next","money"}}`. The same
//! dispatch serves the vectors, so that Rust and JavaScript run one path. Modules below decode, call and encode.
//!
//! The package has several WebAssembly modules of one source. Features of the crate say which calls a module answers, and so what of the
//! crate is in it: `verify` reads and verifies, `pay` pays and sells, `jws` knows two more algorithms. Nothing else depends on them.

#[cfg(feature = "verify")]
mod approval;
#[cfg(feature = "verify")]
mod audit;
#[cfg(feature = "pay")]
mod client;
#[cfg(feature = "verify")]
mod core;
mod jws;
#[cfg(feature = "pay")]
mod mpp;
#[cfg(feature = "verify")]
mod proof;
#[cfg(feature = "pay")]
mod prover;
#[cfg(feature = "pay")]
mod sale;
#[cfg(feature = "pay")]
mod seller;
#[cfg(feature = "pay")]
mod signing;
#[cfg(feature = "verify")]
mod values;
#[cfg(feature = "verify")]
mod verify;
#[cfg(feature = "pay")]
mod x402;

use zeroize::Zeroizing;

use crate::error::{Code, Error};
use crate::json::{self, Json};

/// What one call gets.
pub struct Input {
    /// The parameters, an object.
    pub json: Json,
    /// Bytes that belong to the call, such as a body.
    pub bytes: Option<Vec<u8>>,
    /// A key or secret; wiped when the call ends.
    pub secret: Option<Zeroizing<Vec<u8>>>,
}

impl Input {
    /// The attached bytes. Error: `missing_field`.
    pub fn bytes(&self, field: &str) -> Result<&[u8], Error> {
        self.bytes
            .as_deref()
            .ok_or_else(|| Error::new(Code::MissingField, field))
    }

    /// The attached secret. Error: `missing_field`.
    pub fn secret(&self, field: &str) -> Result<&[u8], Error> {
        self.secret
            .as_ref()
            .map(|secret| secret.as_slice())
            .ok_or_else(|| Error::new(Code::MissingField, field))
    }
}

/// Answers the call of that name, when it is one of its own.
type Module = fn(&str, &Input) -> Option<Result<Json, Error>>;

/// Runs the call of that name. Errors: `unknown_call`, those of the JSON reader, those of the function.
pub fn call(
    name: &str,
    input: &str,
    bytes: Option<Vec<u8>>,
    secret: Option<Zeroizing<Vec<u8>>>,
) -> Result<Json, Error> {
    take_room(input.len());
    let secretive = secret.is_some();
    let answer = run(name, input, bytes, secret);
    if secretive {
        overwrite_stack();
    }
    answer
}

/// Takes the memory that a large input will need from the engine at once, and gives it to the allocator, which would else fetch it in steps of one page:
/// after each of them a JavaScript engine counts the module's memory anew and collects garbage, for longer than the work itself takes.
fn take_room(length: usize) {
    /// From this length on.
    const LARGE: usize = 1 << 20;
    /// A lineage takes fourteen times the length of its bundles.
    const TIMES: usize = 14;
    const MOST: usize = 1 << 30;
    if length >= LARGE {
        let mut room: Vec<u8> = Vec::new();
        // Without it the call is slower, and nothing else.
        let _ = room.try_reserve_exact(length.saturating_mul(TIMES).min(MOST));
        std::hint::black_box(&room);
    }
}

/// A frame of its own, so that everything it and its callees left behind lies below the caller's.
#[inline(never)]
fn run(
    name: &str,
    input: &str,
    bytes: Option<Vec<u8>>,
    secret: Option<Zeroizing<Vec<u8>>>,
) -> Result<Json, Error> {
    let input = Input {
        json: json::parse(input)?,
        bytes,
        secret,
    };
    let modules: &[Module] = &[
        #[cfg(feature = "verify")]
        values::call,
        #[cfg(feature = "verify")]
        core::call,
        #[cfg(feature = "verify")]
        verify::call,
        jws::call,
        #[cfg(feature = "verify")]
        approval::call,
        #[cfg(feature = "verify")]
        audit::call,
        #[cfg(feature = "verify")]
        proof::call,
        #[cfg(feature = "pay")]
        prover::call,
        #[cfg(feature = "pay")]
        signing::call,
        #[cfg(feature = "pay")]
        x402::call,
        #[cfg(feature = "pay")]
        mpp::call,
        #[cfg(feature = "pay")]
        client::call,
        #[cfg(feature = "pay")]
        seller::call,
        #[cfg(feature = "pay")]
        sale::call,
    ];
    modules
        .iter()
        .find_map(|module| module(name, &input))
        .unwrap_or_else(|| Err(Error::new(Code::UnknownCall, "")))
}

/// Overwrites the stack below the caller's frame. Types that wipe themselves do so where they end; moving them leaves copies
/// where they were, and hashing and curve arithmetic leave intermediate values, from which a key can be had as well. In a
/// browser or an agent's process all of it would stay readable in linear memory.
#[inline(never)]
fn overwrite_stack() {
    // Three times the deepest use by signing, which is 20 kB.
    let mut frame = [0_u64; 8192];
    // Whoever is handed it may read and write all of it, so it is filled. Word by word, as `zeroize` fills it, takes a tenth of the time of signing.
    std::hint::black_box(&mut frame);
}

/// An error as the boundary carries it.
pub fn error_json(error: &Error) -> Json {
    Json::object([
        ("code", Json::text(error.code.as_str())),
        ("field", Json::text(error.field.as_str())),
        ("next", Json::text(error.code.next().as_str())),
        ("money", Json::text(error.code.money().as_str())),
    ])
}

#[cfg(target_arch = "wasm32")]
mod bindings {
    use wasm_bindgen::prelude::wasm_bindgen;
    use zeroize::Zeroizing;

    use crate::json::{self, Json};

    /// The one entry for JavaScript; see [`super::call`]. The parameters come as UTF-8: the generated glue would read a text
    /// character by character.
    #[wasm_bindgen]
    pub fn call(name: &str, input: &[u8], bytes: Option<Vec<u8>>, secret: Option<Vec<u8>>) -> String {
        let answer =
            json::utf8(input).and_then(|input| super::call(name, input, bytes, secret.map(Zeroizing::new)));
        match answer {
            Ok(value) => Json::object([("ok", value)]),
            Err(error) => Json::object([("error", super::error_json(&error))]),
        }
        .to_text()
    }

    /// Verdicts on many lines, without the detour through text within text; see [`super::audit::packed`]. `again`: the lines are verdicts
    /// that were written down.
    #[cfg(feature = "verify")]
    #[wasm_bindgen]
    pub fn audit(input: &[u8], lines: Vec<u8>, again: bool) -> Vec<u8> {
        let answer = json::utf8(input).and_then(json::parse).and_then(|json| {
            let input = super::Input {
                json,
                bytes: Some(lines),
                secret: None,
            };
            super::audit::packed(&input, again)
        });
        let (head, text, keys) = match answer {
            Ok((head, text, keys)) => (Json::object([("ok", head)]), text, keys),
            Err(error) => {
                let head = Json::object([("error", super::error_json(&error))]);
                (head, String::new(), Vec::new())
            }
        };
        let head = head.to_text();
        let length = |text: &str| u32::try_from(text.len()).unwrap_or(u32::MAX).to_le_bytes();
        [
            &length(&head),
            &length(&text),
            head.as_bytes(),
            text.as_bytes(),
            &keys,
        ]
        .concat()
    }

    /// SHA-256 without the detour through text.
    #[cfg(feature = "verify")]
    #[wasm_bindgen]
    pub fn sha256(bytes: &[u8]) -> Vec<u8> {
        crate::digest::sha256(bytes).to_vec()
    }

    /// RFC 8785 text, without the detour through text within text. Nothing where the call of this name has an error to tell.
    #[cfg(feature = "verify")]
    #[wasm_bindgen]
    pub fn canonicalize(json: &[u8]) -> Option<String> {
        json::utf8(json).and_then(json::canonicalize).ok()
    }

    /// The same text in UTF-8, for the host to hash.
    #[cfg(feature = "verify")]
    #[wasm_bindgen(js_name = canonicalBytes)]
    pub fn canonical_bytes(json: &[u8]) -> Option<Vec<u8>> {
        json::utf8(json).and_then(json::canonical_bytes).ok()
    }

    /// SHA-256 of that text, in one crossing.
    #[cfg(feature = "verify")]
    #[wasm_bindgen(js_name = canonicalSha256)]
    pub fn canonical_sha256(json: &[u8]) -> Option<Vec<u8>> {
        canonical_bytes(json).map(|bytes| sha256(&bytes))
    }
}
