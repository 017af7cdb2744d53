//! Base64 (RFC 4648) as HTTP headers carry it.

use base64::alphabet;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use base64::engine::DecodePaddingMode;
use base64::Engine;

use crate::error::{Code, Error};

const CONFIG: GeneralPurposeConfig = GeneralPurposeConfig::new()
    .with_decode_padding_mode(DecodePaddingMode::RequireNone)
    .with_decode_allow_trailing_bits(false);
const STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, CONFIG);
const URL_SAFE: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, CONFIG);
const URL_SAFE_BARE: GeneralPurpose =
    GeneralPurpose::new(&alphabet::URL_SAFE, CONFIG.with_encode_padding(false));

/// Standard alphabet, padded: the one form that is sent.
pub fn encode(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// URL-safe alphabet without padding, as the Payment scheme writes it.
pub fn encode_url(bytes: &[u8]) -> String {
    URL_SAFE_BARE.encode(bytes)
}

/// Bytes of [`encode_url`], in no other spelling. Error: `base64_invalid`.
pub fn decode_url(text: &str) -> Result<Vec<u8>, Error> {
    URL_SAFE_BARE
        .decode(text)
        .map_err(|_| Error::new(Code::Base64Invalid, ""))
}

/// Bytes of a header value: outer blanks trimmed (RFC 9110 §5.5), standard or URL-safe alphabet but not both, padding absent
/// or whole. Non-zero trailing bits, inner blanks and half a padding are refused, so that a value has no accidental
/// spellings. Error: `base64_invalid`.
pub fn decode_header(text: &str) -> Result<Vec<u8>, Error> {
    let invalid = || Error::new(Code::Base64Invalid, "");
    let text = text.trim_matches([' ', '\t']);
    // The engine alone would take one `=` where two belong.
    let digits = text.trim_end_matches('=');
    let padding = text.len() - digits.len();
    if padding > 0 && (padding > 2 || !text.len().is_multiple_of(4)) {
        return Err(invalid());
    }
    let engine = if digits.contains(['-', '_']) {
        &URL_SAFE
    } else {
        &STANDARD
    };
    engine.decode(digits).map_err(|_| invalid())
}
