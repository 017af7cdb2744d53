//! Independent data for the values, through the dispatch that JavaScript uses: RFC 8785, NIST's SHA-256, base64, EIP-55, units.

use std::fs;
use std::path::{Path, PathBuf};

use counterfoil::error::{Code, Error};
use counterfoil::json::{self, Json};
use counterfoil::{digest, hex, wasm};

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/corpora")
        .join(name)
}

fn read(name: &str) -> String {
    fs::read_to_string(path(name)).unwrap()
}

fn text<'a>(json: &'a Json, name: &str) -> &'a str {
    json.get(name).unwrap().as_str().unwrap()
}

fn call<const N: usize>(name: &str, params: [(&str, &str); N]) -> Result<Json, Error> {
    let params = Json::object(params.map(|(name, value)| (name, Json::text(value))));
    wasm::call(name, &params.to_text(), None, None)
}

#[test]
fn rfc_8785_documents() {
    for name in ["arrays", "french", "structures", "unicode", "values", "weird"] {
        let input = read(&format!("jcs/input/{name}.json"));
        let output = read(&format!("jcs/output/{name}.json"));
        for text in [input.as_str(), output.as_str()] {
            for function in ["canonicalize", "rawCanonicalize"] {
                assert_eq!(
                    call(function, [("json", text)]),
                    Ok(Json::text(output.as_str())),
                    "{name}"
                );
            }
        }
    }
}

#[test]
fn rfc_8785_numbers() {
    let numbers = read("jcs/es6numbers-first1000.txt");
    for line in numbers.lines() {
        let (bits, want) = line.split_once(',').unwrap();
        let double = f64::from_bits(u64::from_str_radix(bits, 16).unwrap());
        // Two spellings of the same double that are not the answer itself, and the answer.
        for literal in [format!("{double:e}"), format!("{double}"), want.to_owned()] {
            assert_eq!(
                call("rawCanonicalize", [("json", &literal)]),
                Ok(Json::text(want)),
                "{literal}"
            );
        }
        assert_eq!(call("canonicalize", [("json", want)]), Ok(Json::text(want)));
    }
    assert_eq!(numbers.lines().count(), 1000);
}

/// The values of one name in a NIST response file.
fn nist(file: &str, name: &str) -> Vec<String> {
    read(file)
        .lines()
        .filter_map(|line| line.strip_prefix(name)?.strip_prefix(" = "))
        .map(str::to_owned)
        .collect()
}

fn unhex(digits: &str) -> Vec<u8> {
    hex::decode(&format!("0x{digits}")).unwrap()
}

#[test]
fn nist_sha256_short_messages() {
    let file = "nist-sha256/SHA256ShortMsg.rsp";
    let (lengths, messages, digests) = (nist(file, "Len"), nist(file, "Msg"), nist(file, "MD"));
    assert_eq!([lengths.len(), messages.len(), digests.len()], [65; 3]);
    for ((length, message), want) in lengths.iter().zip(&messages).zip(&digests) {
        let mut message = unhex(message);
        message.truncate(length.parse::<usize>().unwrap() / 8);
        let answer = wasm::call("sha256", "{}", Some(message), None);
        assert_eq!(answer, Ok(Json::text(format!("0x{want}"))), "{length} bits");
    }
}

#[test]
fn messages_hashed_four_at_a_time_are_hashed_as_one_at_a_time() {
    let file = "nist-sha256/SHA256ShortMsg.rsp";
    let (lengths, messages, digests) = (nist(file, "Len"), nist(file, "Msg"), nist(file, "MD"));
    let short = lengths.iter().zip(&messages).map(|(length, message)| {
        let mut message = unhex(message);
        message.truncate(length.parse::<usize>().unwrap() / 8);
        message
    });
    let short: Vec<Vec<u8>> = short.collect();
    let all: Vec<&[u8]> = short.iter().map(Vec::as_slice).collect();
    let want = digests.iter().map(|digits| unhex(digits).try_into().unwrap());
    let want: Vec<[u8; 32]> = want.collect();
    assert_eq!(counterfoil_sha256::digests(&all), want);

    // Lists of every small length, with messages of any length: a few blocks, and now and then many.
    let mut state = 1_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) as usize
    };
    for count in 0..100 {
        let message = |number: usize| {
            let length = if number.is_multiple_of(9) {
                next() % 5000
            } else {
                next() % 200
            };
            (0..length).map(|_| next() as u8).collect::<Vec<u8>>()
        };
        let messages: Vec<Vec<u8>> = (0..count).map(message).collect();
        let all: Vec<&[u8]> = messages.iter().map(Vec::as_slice).collect();
        let want: Vec<[u8; 32]> = all.iter().map(|message| digest::sha256(message)).collect();
        assert_eq!(counterfoil_sha256::digests(&all), want, "{count} messages");
        assert_eq!(digest::sha256_of_all(&all), want, "{count} messages");
    }
}

#[test]
fn nist_sha256_monte_carlo() {
    let file = "nist-sha256/SHA256Monte.rsp";
    let mut seed = unhex(&nist(file, "Seed")[0]);
    let checkpoints = nist(file, "MD");
    assert_eq!(checkpoints.len(), 100);
    for want in &checkpoints {
        let mut last = [seed.clone(), seed.clone(), seed.clone()];
        for _ in 0..1000 {
            let next = digest::sha256(&last.concat()).to_vec();
            last.rotate_left(1);
            last[2] = next;
        }
        seed = last[2].clone();
        assert_eq!(hex::encode(&seed), format!("0x{want}"));
    }
}

#[test]
fn base64() {
    let corpus = json::parse(&read("base64/base64-vectors.json")).unwrap();
    let valid = corpus.get("valid").unwrap().as_array().unwrap();
    for vector in valid {
        let bytes = unhex(text(vector, "hex"));
        for (alphabet, padded) in [("std", true), ("url", true), ("std", false), ("url", false)] {
            let given = text(vector, alphabet);
            let given = if padded {
                given
            } else {
                given.trim_end_matches('=')
            };
            assert_eq!(
                call("rawBase64Decode", [("text", given)]),
                Ok(Json::text(hex::encode(&bytes)))
            );
        }
        let encoded = wasm::call("rawBase64Encode", "{}", Some(bytes), None);
        assert_eq!(encoded, Ok(Json::text(text(vector, "std"))));
    }
    // What a header may be and a strict decoder does not take: no padding, the other alphabet.
    let taken = [("Zg", "0x66"), ("Zm-_", "0x666fbf")];
    let refused = corpus.get("strictReject").unwrap().as_array().unwrap();
    for vector in refused {
        let given = text(vector, "text");
        let want = match taken.iter().find(|(text, _)| *text == given) {
            Some((_, bytes)) => Ok(Json::text(*bytes)),
            None => Err(Error::new(Code::Base64Invalid, "text")),
        };
        assert_eq!(call("rawBase64Decode", [("text", given)]), want, "{given}");
    }
    assert_eq!((valid.len(), refused.len()), (11, 14));
}

#[test]
fn eip_55() {
    let corpus = json::parse(&read("ethers/accounts.json")).unwrap();
    let accounts = corpus.as_array().unwrap();
    for account in accounts {
        let want = text(account, "checksumAddress");
        let upper = format!("0x{}", want[2..].to_uppercase());
        for given in [text(account, "address"), want, &want.to_lowercase(), &upper] {
            let answer = call("rawChecksumAddress", [("address", given)]);
            assert_eq!(answer, Ok(Json::text(want)), "{given}");
        }
        // One letter in the other case, wherever it stands, is another text than the checksum demands. An address that
        // then has one case only says nothing.
        for (at, letter) in want
            .char_indices()
            .skip(2)
            .filter(|(_, c)| c.is_ascii_alphabetic())
        {
            let mut flipped = want.to_owned();
            let other = (letter as u8 ^ 0x20) as char;
            flipped.replace_range(at..=at, other.encode_utf8(&mut [0; 4]));
            let digits = &flipped[2..];
            if digits != digits.to_lowercase() && digits != digits.to_uppercase() {
                assert_eq!(
                    call("rawChecksumAddress", [("address", &flipped)]),
                    Err(Error::new(Code::AddressChecksum, "address"))
                );
            }
        }
    }
    assert_eq!(accounts.len(), 1038);
}

#[test]
fn units() {
    let corpus = json::parse(&read("ethers/units.json")).unwrap();
    let mut seen = (0, 0);
    for case in corpus.as_array().unwrap() {
        let (value, wei) = (text(case, "ether"), text(case, "wei"));
        let params = Json::object([("value", Json::text(value)), ("decimals", Json::number(18))]);
        let answer = wasm::call("parseUnits", &params.to_text(), None, None);
        // A sign, a leading zero and a bare point are refused here.
        let bare = value.starts_with(['-', '.']) || (value.starts_with('0') && !value.starts_with("0."));
        if bare {
            assert_eq!(answer, Err(Error::new(Code::AmountInvalid, "value")), "{value}");
            seen.1 += 1;
        } else {
            assert_eq!(answer, Ok(Json::text(wei)), "{value}");
            seen.0 += 1;
        }
    }
    assert_eq!(seen, (10, 10));
}
