//! The strict JSON reader beside an independent one: what both refuse, what only ours refuses, and sizes at which quadratic
//! work would never end.

use counterfoil::error::Code;
use counterfoil::json::{self, Json, MAX_DEPTH};

/// The same value as the other reader has it; numbers by their literal, members by their order.
fn same(ours: &Json, theirs: &serde_json::Value) -> bool {
    use serde_json::Value;
    match (ours, theirs) {
        (Json::Null, Value::Null) => true,
        (Json::Bool(ours), Value::Bool(theirs)) => ours == theirs,
        (Json::Number(ours), Value::Number(theirs)) => {
            // The other reader writes `1E5` and `1e5` as `1e+5`, and `-0` as `0`.
            let spelt = |literal: &str| literal.to_lowercase().replace("e+", "e");
            spelt(ours) == spelt(theirs.as_str()) || (ours == "-0" && theirs.as_str() == "0")
        }
        (Json::String(ours), Value::String(theirs)) => ours == theirs,
        (Json::Array(ours), Value::Array(theirs)) => {
            ours.len() == theirs.len() && ours.iter().zip(theirs).all(|(ours, theirs)| same(ours, theirs))
        }
        (Json::Object(ours), Value::Object(theirs)) => {
            ours.len() == theirs.len()
                && ours
                    .iter()
                    .zip(theirs)
                    .all(|((name, ours), (other, theirs))| name == other && same(ours, theirs))
        }
        _ => false,
    }
}

/// Compares the readers on one text.
fn compare(text: &str, seen: &mut [usize; 3]) {
    one_pass(text);
    let theirs = serde_json::from_str::<serde_json::Value>(text);
    match json::parse(text) {
        Ok(ours) => {
            assert!(
                theirs.as_ref().is_ok_and(|theirs| same(&ours, theirs)),
                "{text:?}: {theirs:?}"
            );
            assert_eq!(json::parse(&ours.to_text()).as_ref(), Ok(&ours), "{text:?}");
            if let Ok(canonical) = ours.to_plain_canonical() {
                let again = json::parse(&canonical).unwrap().to_plain_canonical();
                assert_eq!(again.as_ref(), Ok(&canonical), "{text:?}");
            }
            seen[0] += 1;
        }
        Err(error) if error.code == Code::DuplicateKey => seen[2] += 1,
        Err(error) => {
            assert!(
                matches!(error.code, Code::JsonInvalid | Code::LoneSurrogate),
                "{text:?}: {error}"
            );
            assert!(theirs.is_err(), "{text:?}: {error}");
            seen[1] += 1;
        }
    }
}

/// The canonical text without a value between, beside the one that is written from a value.
fn one_pass(text: &str) {
    let by_value = json::parse(text).and_then(|value| value.to_canonical());
    assert_eq!(json::canonicalize(text), by_value, "{text:?}");
}

#[test]
fn every_small_change_of_a_document() {
    let documents = [
        r#" {"a":[1,-0.5e+3,0,true,false,null],"b":{"":"x\u00e9\ud83d\ude00\\\"\/\b\f\n\r\t"},"é😀":-1E9} "#,
        r#"[[],{},"",0,-0,10.01e-10,[[[{"k":[]}]]]]"#,
        r#"{"x402Version":2,"accepts":[{"amount":"10000","maxTimeoutSeconds":60,"extra":null}]}"#,
        r#""\u0000\uD834\uDD1E\uFFFF""#,
        "1.5e300",
    ];
    let pieces = [
        "", "\"", "\\", "{", "}", "[", "]", ",", ":", "0", "9", "-", "+", ".", "e", "E", "u", "t", "n", " ",
        "\t", "\n", "\r", "\u{0}", "\u{b}", "\u{1f}", "\u{7f}", "\u{a0}", "\u{feff}", "\u{2028}", "é", "😀",
        "\\u", "\\ud800", "\\udc00", "\\u0061", "//", "/**/", "'", "NaN", "null", "\"a\":1,", "1,",
    ];
    let mut seen = [0; 3];
    for document in documents {
        let cuts: Vec<usize> = document
            .char_indices()
            .map(|(at, _)| at)
            .chain([document.len()])
            .collect();
        for pair in cuts.windows(2) {
            let (head, one, tail) = (
                &document[..pair[0]],
                &document[pair[0]..pair[1]],
                &document[pair[1]..],
            );
            compare(head, &mut seen);
            for piece in pieces {
                compare(&[head, piece, tail].concat(), &mut seen);
                compare(&[head, piece, one, tail].concat(), &mut seen);
            }
        }
    }
    let [accepted, refused, duplicate] = seen;
    assert!(accepted > 3_000 && refused > 10_000 && duplicate > 0, "{seen:?}");
}

#[test]
fn all_texts_of_few_characters() {
    let letters = [
        '{', '}', '[', ']', ',', ':', '"', '\\', '0', '1', '-', '.', 'e', ' ', 'u', '\u{0}',
    ];
    let mut seen = [0; 3];
    let mut texts = vec![String::new()];
    for _ in 0..4 {
        texts = texts
            .iter()
            .flat_map(|text| letters.iter().map(move |letter| format!("{text}{letter}")))
            .collect();
        texts.iter().for_each(|text| compare(text, &mut seen));
    }
    assert_eq!(seen.iter().sum::<usize>(), 16 + 256 + 4096 + 65_536);
}

#[test]
fn depth() {
    let nested = |depth: usize, open: &str, inner: &str, close: &str| {
        format!("{}{inner}{}", open.repeat(depth), close.repeat(depth))
    };
    for (open, inner, close) in [("[", "", "]"), ("{\"a\":", "1", "}"), ("[{\"a\":", "[]", "}]")] {
        let levels = open.matches(['[', '{']).count();
        let deepest = (MAX_DEPTH - inner.matches('[').count()) / levels;
        let text = nested(deepest, open, inner, close);
        assert_eq!(json::parse(&text).unwrap().to_canonical(), Ok(text));
        for depth in [deepest + 1, 10_000, 100_000] {
            let code = json::parse(&nested(depth, open, inner, close)).unwrap_err().code;
            assert_eq!(code, Code::JsonTooDeep);
        }
    }
    // Beside each other is not inside each other.
    let wide = format!("[{}[]]", "[],".repeat(100_000));
    assert!(json::parse(&wide).is_ok());
}

#[test]
fn bytes_that_are_no_utf_8() {
    let cases: [&[u8]; 12] = [
        b"\"\xc0\xaf\"",
        b"\"\xe0\x80\xaf\"",
        b"\"\xed\xa0\x80\"",
        b"\"\xed\xa0\xbd\xed\xb8\x80\"",
        b"\"\xf4\x90\x80\x80\"",
        b"\"\xf8\x88\x80\x80\x80\"",
        b"\"\xe2\x82\"",
        b"\"\x80\"",
        b"\xef\xbb\xbf{}",
        b"\xff\xfe{\0}\0",
        b"\0{\0}",
        b"\xff",
    ];
    for bytes in cases {
        assert_eq!(
            json::parse_bytes(bytes).unwrap_err().code,
            Code::JsonInvalid,
            "{bytes:x?}"
        );
    }
    assert_eq!(json::parse_bytes("\"₮😀\"".as_bytes()), Ok(Json::text("₮😀")));
}

/// At these sizes work that grows with the square would take hours.
#[test]
fn large_texts() {
    let names = |count: usize| {
        (0..count)
            .map(|index| format!("\"k{index:07}\":{index}"))
            .collect::<Vec<_>>()
            .join(",")
    };
    let many = format!("{{{}}}", names(200_000));
    assert_eq!(json::parse(&many).unwrap().to_canonical().as_ref(), Ok(&many));
    let twice = format!("{{{},\"\\u006b0000000\":1}}", names(200_000));
    assert_eq!(json::parse(&twice).unwrap_err().code, Code::DuplicateKey);

    let long_name = format!("{{\"{0}b\":1,\"{0}a\":2}}", "n".repeat(1 << 20));
    assert!(json::parse(&long_name).unwrap().to_canonical().is_ok());
    let escapes = format!("\"{}\"", "\\u0041\\n".repeat(1 << 20));
    assert_eq!(json::parse(&escapes), Ok(Json::text("A\n".repeat(1 << 20))));

    let digits = "7".repeat(1 << 20);
    for literal in [digits.clone(), format!("-{digits}"), format!("1e{digits}")] {
        assert_eq!(
            json::parse(&literal).unwrap().to_canonical().unwrap_err().code,
            Code::NumberOutOfRange
        );
    }
    assert_eq!(
        json::parse(&format!("0.{digits}"))
            .unwrap()
            .to_canonical()
            .as_deref(),
        Ok("0.7777777777777778")
    );
    let unclosed = "[1,".repeat(50).to_owned() + &"1,".repeat(1 << 20);
    assert_eq!(json::parse(&unclosed).unwrap_err().code, Code::JsonInvalid);
}

#[test]
fn above_the_limit() {
    let text = " ".repeat(json::MAX_LEN) + "1";
    assert_eq!(json::parse(&text).unwrap_err().code, Code::TooLarge);
    assert_eq!(json::parse(&text[1..]), Ok(Json::number(1)));
}

/// Texts at random, with names that differ late, need escapes, or sort otherwise in bytes than in UTF-16.
#[test]
fn canonical_text_in_one_pass() {
    let names = [
        "",
        "a",
        "b",
        "aa",
        "ab",
        "\\u0061",
        "\\n",
        "\\u000a",
        "\\\"",
        "\\/",
        "/",
        "\\\\",
        "\u{7f}",
        "\u{80}",
        "\u{7ff}",
        "\u{800}",
        "\u{d7ff}",
        "\u{e000}",
        "\u{ffff}",
        "\u{10000}",
        "\u{10ffff}",
        "\\ud800\\udc00",
        "\\ue000",
        "x\u{e000}",
        "x\u{10000}",
        "x\u{10001}",
        "eight by",
        "eight byt\u{e9}",
        "eight b\\ty",
        "sixteen bytes and\\u001f",
    ];
    let numbers = [
        "0",
        "-0",
        "-0.0",
        "1",
        "-1",
        "10",
        "999999999999999",
        "9007199254740991",
        "9007199254740992",
        "9007199254740993",
        "1e3",
        "1.0",
        "0.1",
        "1e-7",
        "123456789012345678",
        "1e400",
        "-1e21",
        "1E+2",
        "5e-324",
        "4.50",
    ];
    let mut state = 0x5eed_u64;
    let mut next = move |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) as usize % below
    };
    fn write(
        out: &mut String,
        depth: usize,
        next: &mut impl FnMut(usize) -> usize,
        names: &[&str],
        numbers: &[&str],
    ) {
        let spaces = ["", "", "", " ", "\n\t", "\r "];
        out.push_str(spaces[next(6)]);
        match if depth == 0 { next(4) } else { next(8) } {
            0 => out.push_str(["true", "false", "null"][next(3)]),
            1 | 2 => {
                let seldom = usize::from(next(9) > 0) * 8;
                out.push_str(numbers[next(numbers.len() - seldom)]);
            }
            3 => {
                out.push('"');
                (0..next(4)).for_each(|_| out.push_str(names[next(names.len())]));
                out.push('"');
            }
            4 => {
                out.push('[');
                for index in 0..next(5) {
                    out.push_str(if index > 0 { "," } else { "" });
                    write(out, depth - 1, next, names, numbers);
                }
                out.push(']');
            }
            _ => {
                out.push('{');
                for index in 0..next(7) {
                    out.push_str(if index > 0 { "," } else { "" });
                    out.push('"');
                    (0..1 + next(3)).for_each(|_| out.push_str(names[next(names.len())]));
                    out.push_str("\" :");
                    write(out, depth - 1, next, names, numbers);
                }
                out.push('}');
            }
        }
        out.push_str(spaces[next(6)]);
    }
    let mut written = 0;
    for _ in 0..40_000 {
        let mut text = String::new();
        write(&mut text, 5, &mut next, &names, &numbers);
        one_pass(&text);
        written += usize::from(json::canonicalize(&text).is_ok());
        // And cut short, or with one character gone.
        let cut = text.char_indices().nth(next(text.chars().count())).unwrap().0;
        one_pass(&text[..cut]);
        let mut less = text.clone();
        less.remove(cut);
        one_pass(&less);
    }
    assert!(written > 20_000, "{written}");
    for depth in [MAX_DEPTH, MAX_DEPTH + 1] {
        one_pass(&format!("{}{}", "[".repeat(depth), "]".repeat(depth)));
        one_pass(&format!(
            "{}1{}",
            "{\"b\":0,\"a\":".repeat(depth),
            "}".repeat(depth)
        ));
    }
}
