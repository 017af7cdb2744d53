//! `traceparent` of W3C Trace Context: where a purchase stands in somebody's trace.
//!
//! A cross-reference and nothing else: any hop may drop or forge it, and a retry has another. No digest, no nonce and no decision rests on it.

/// Of version 00, to which what a later version says more is cut.
const LENGTH: usize = 55;

/// The value in the form of version 00. Nothing for what is none: a trace that can't be read is begun anew, and no error.
pub fn parse(text: &str) -> Option<String> {
    let head = text.get(..LENGTH)?;
    let more = text.get(LENGTH..)?;
    let mut fields = head.split('-');
    let (version, trace, span, flags) = (fields.next()?, fields.next()?, fields.next()?, fields.next()?);
    let form = [(version, 2), (trace, 32), (span, 16), (flags, 2)]
        .iter()
        .all(|(field, length)| field.len() == *length && field.bytes().all(is_digit));
    let zero = |field: &str| field.bytes().all(|digit| digit == b'0');
    let more = match version {
        "00" => more.is_empty(),
        "ff" => false,
        _ => more.is_empty() || more.starts_with('-'),
    };
    (form && fields.next().is_none() && !zero(trace) && !zero(span) && more)
        .then(|| format!("00-{trace}-{span}-{flags}"))
}

/// Upper case is none.
const fn is_digit(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'a'..=b'f')
}
