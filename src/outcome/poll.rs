//! Where the seller says that a payment can be asked after.

use url::Url;

use super::answer::Answer;
use crate::json::Json;

/// The longest target that is looked at, in bytes.
const MAX_TARGET: usize = 2048;
/// The longest name of a tool, in bytes.
const MAX_TOOL: usize = 128;

/// The member `poll` of a body, else of its error, else the `Location` of a 202, as something that is safe to follow: the name of a tool of the same
/// server as it is, or a URL or path of the origin that was asked, made absolute and without fragment. Whatever leads
/// elsewhere, carries credentials or holds a blank or a control character is as good as absent.
pub(super) fn target(answer: &Answer, body: Option<&Json>) -> Option<String> {
    let member = |of: &Json| of.get("poll").and_then(|poll| poll.as_string().ok());
    let error = body.and_then(|body| body.get("error"));
    let said = body
        .and_then(member)
        .or_else(|| member(error?))
        .or_else(|| member(error?.get("data")?));
    let named = said.is_some();
    let location = || answer.header("Location").flatten().map(str::to_owned);
    let text = said.or_else(|| location().filter(|_| answer.status == Some(202)))?;
    if text.is_empty() || text.len() > MAX_TARGET || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return None;
    }
    if named && is_tool(&text) {
        return Some(text);
    }
    let asked = Url::parse(answer.url.as_deref()?).ok()?;
    let mut target = asked.join(&text).ok()?;
    let web = matches!(target.scheme(), "http" | "https");
    let plain = target.username().is_empty() && target.password().is_none();
    if !web || !plain || target.origin() != asked.origin() {
        return None;
    }
    target.set_fragment(None);
    Some(target.into())
}

/// Letters, digits, dots, hyphens and underscores, none of the marks that make a path or a URL.
fn is_tool(text: &str) -> bool {
    let name = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    text.len() <= MAX_TOOL
        && text.bytes().all(name)
        && text
            .bytes()
            .next()
            .is_some_and(|first| first.is_ascii_alphanumeric())
}
