//! What is being paid for: one HTTP request, and its fingerprint.
//!
//! The fingerprint is SHA-256 over the tag `counterfoil/fingerprint/v1`, a line feed and the RFC 8785 text of
//! `{"bodySha256","method","url"}`; docs/formats.md has a worked example. Headers are no part of it: they carry tokens
//! that change between two tries of one purchase.

use url::{Host, Url};

use crate::digest;
use crate::error::{Code, Error};
use crate::hex;
use crate::json::Json;

/// Domain tag of the fingerprint.
pub const TAG: &str = "counterfoil/fingerprint/v1";
/// Longest URL accepted, in bytes.
pub const MAX_URL: usize = 16 << 10;
/// Longest method accepted, in bytes.
const MAX_METHOD: usize = 64;

/// One HTTP request, normalised.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Request {
    /// The method, an RFC 9110 token in upper case.
    pub method: String,
    /// The URL as the WHATWG standard serialises it, without fragment.
    pub url: String,
    /// SHA-256 of the exact body bytes; of no bytes when there is no body.
    pub body_sha256: [u8; 32],
}

impl Request {
    /// Normalises a request. Errors: `method_invalid`, `too_large` (url), `url_invalid` (not absolute, not http or https,
    /// or with userinfo).
    pub fn new(method: &str, url: &str, body: &[u8]) -> Result<Self, Error> {
        Request::with_digest(method, url, digest::sha256(body))
    }

    fn with_digest(method: &str, url: &str, body_sha256: [u8; 32]) -> Result<Self, Error> {
        Ok(Request {
            method: normal_method(method)?,
            url: normal_url(url)?,
            body_sha256,
        })
    }

    /// The request from `{method, url, bodySha256}`. Errors: `missing_field`, `invalid_type`, `hex_invalid`, those of
    /// [`Request::new`].
    pub fn from_json(json: &Json) -> Result<Self, Error> {
        let method = json.read("method", Json::as_str)?;
        let url = json.read("url", Json::as_str)?;
        let body = json.read("bodySha256", Json::as_hex)?;
        Request::with_digest(method, url, body)
    }

    /// Whether what is sent with it stays between the two: over TLS, or on this machine.
    pub fn is_private(&self) -> bool {
        let Ok(url) = Url::parse(&self.url) else {
            return false;
        };
        let loopback = match url.host() {
            Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
            Some(Host::Ipv4(address)) => address.is_loopback(),
            Some(Host::Ipv6(address)) => address.is_loopback(),
            None => false,
        };
        url.scheme() == "https" || loopback
    }

    /// `{method, url, bodySha256}`.
    pub fn to_json(&self) -> Json {
        Json::object([
            ("method", Json::text(self.method.as_str())),
            ("url", Json::text(self.url.as_str())),
            ("bodySha256", Json::text(hex::encode(self.body_sha256))),
        ])
    }

    /// The digest that names this request.
    pub fn fingerprint(&self) -> Result<[u8; 32], Error> {
        digest::tagged(TAG, &self.to_json())
    }
}

fn normal_method(method: &str) -> Result<String, Error> {
    let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if method.is_empty() || method.len() > MAX_METHOD || !method.bytes().all(token) {
        return Err(Error::new(Code::MethodInvalid, "method"));
    }
    Ok(method.to_ascii_uppercase())
}

fn normal_url(text: &str) -> Result<String, Error> {
    let invalid = || Error::new(Code::UrlInvalid, "url");
    if text.len() > MAX_URL {
        return Err(Error::new(Code::TooLarge, "url"));
    }
    let mut url = Url::parse(text).map_err(|_| invalid())?;
    let web = matches!(url.scheme(), "http" | "https") && url.has_host();
    if !web || !url.username().is_empty() || url.password().is_some() {
        return Err(invalid());
    }
    url.set_fragment(None);
    Ok(url.into())
}
