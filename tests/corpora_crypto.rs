//! Independent data for the cryptography, through the dispatch that JavaScript uses: Wycheproof's ECDSA signatures on
//! secp256k1, published RFC 6979 nonces, and the EIP-712 documents of ethers.

use std::fs;
use std::path::Path;

use counterfoil::json::{self, Json};
use counterfoil::secp256k1::comb::{sums_of_products, Comb, Job};
use counterfoil::secp256k1::field::Element;
use counterfoil::secp256k1::point::{Affine, GENERATOR};
use counterfoil::secp256k1::signature::Signature;
use counterfoil::{digest, hex, wasm};
use zeroize::Zeroizing;

fn corpus(name: &str) -> Json {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/corpora")
        .join(name);
    json::parse(&fs::read_to_string(path).unwrap()).unwrap()
}

fn list<'a>(json: &'a Json, name: &str) -> &'a [Json] {
    json.get(name).unwrap().as_array().unwrap()
}

fn text<'a>(json: &'a Json, name: &str) -> &'a str {
    json.get(name).unwrap().as_str().unwrap()
}

fn bytes(digits: &str) -> Vec<u8> {
    hex::decode(&format!("0x{digits}")).unwrap()
}

fn call(name: &str, input: &Json, secret: Option<Vec<u8>>) -> Result<Json, counterfoil::error::Error> {
    wasm::call(name, &input.to_text(), None, secret.map(Zeroizing::new))
}

/// Alone, and in step with another one, which must come to the same point.
fn verifies_by_tables(signature: &Signature, digest: &[u8; 32], generator: &Comb, tables: &Comb) -> bool {
    let (a, b) = signature.factors(digest, &signature.s().inverse().unwrap());
    let alone = generator.sum_of_products(&a, tables, &b);
    let other = tables;
    let start = Affine::from_x(Element::ONE, false).unwrap();
    let jobs = [Job { a, other, b }, Job { a: b, other, b: a }];
    let together = sums_of_products(generator, &start, &jobs).unwrap();
    assert_eq!(together[0], alone.to_affine());
    signature.is_of(&alone)
}

/// Runs one file, by the key and by tables of the key; gives how many signatures were valid and invalid.
fn wycheproof(name: &str, encoding: &str, low_s: bool) -> (usize, usize) {
    let corpus = corpus(&format!("wycheproof/{name}"));
    let mut seen = (0, 0);
    let generator = Comb::new(&GENERATOR, 11).unwrap();
    for group in list(&corpus, "testGroups") {
        let key = text(group.get("publicKey").unwrap(), "uncompressed");
        let tables = Comb::new(&Affine::from_sec1(&bytes(key)).unwrap(), 8).unwrap();
        for test in list(group, "tests") {
            let id = test.get("tcId").unwrap().to_text();
            let input = Json::object([
                ("publicKey", Json::text(format!("0x{key}"))),
                (
                    "digest",
                    Json::text(hex::encode(digest::sha256(&bytes(text(test, "msg"))))),
                ),
                ("signature", Json::text(format!("0x{}", text(test, "sig")))),
                ("encoding", Json::text(encoding)),
                ("lowS", Json::Bool(low_s)),
            ]);
            let valid = match text(test, "result") {
                "valid" => true,
                "invalid" => false,
                other => panic!("{name} {id}: {other}"),
            };
            assert_eq!(
                call("rawVerify", &input, None),
                Ok(Json::Bool(valid)),
                "{name} {id}"
            );
            let signature = bytes(text(test, "sig"));
            let signature = match encoding {
                "der" => Signature::from_der(&signature),
                _ => signature
                    .as_slice()
                    .try_into()
                    .ok()
                    .and_then(Signature::from_be_bytes),
            };
            let hash = digest::sha256(&bytes(text(test, "msg")));
            let known = signature.is_some_and(|signature| {
                !(low_s && signature.is_high()) && verifies_by_tables(&signature, &hash, &generator, &tables)
            });
            assert_eq!(known, valid, "{name} {id}, with tables of the key");
            if valid {
                seen.0 += 1;
            } else {
                seen.1 += 1;
            }
        }
    }
    seen
}

#[test]
fn wycheproof_der_with_low_s() {
    assert_eq!(
        wycheproof("ecdsa_secp256k1_sha256_bitcoin_test.min.json", "der", true),
        (162, 301)
    );
}

#[test]
fn wycheproof_der() {
    assert_eq!(
        wycheproof("ecdsa_secp256k1_sha256_test.min.json", "der", false),
        (168, 308)
    );
}

#[test]
fn wycheproof_p1363() {
    assert_eq!(
        wycheproof("ecdsa_secp256k1_sha256_p1363_test.json", "p1363", false),
        (167, 85)
    );
}

#[test]
fn rfc6979_nonces() {
    let corpus = corpus("rfc6979/secp256k1-sha256.json");
    let vectors = list(&corpus, "vectors");
    for vector in vectors {
        let v = match vector.get("yParity").unwrap().as_u64().unwrap() {
            0 => "1b",
            _ => "1c",
        };
        let want = format!("0x{}{}{v}", text(vector, "r"), text(vector, "s_low"));
        let key = bytes(text(vector, "privateKey"));
        let message = text(vector, "message");
        let input = Json::object([("digest", Json::text(format!("0x{}", text(vector, "sha256"))))]);
        assert_eq!(bytes(text(vector, "sha256")), digest::sha256(message.as_bytes()));
        assert_eq!(
            call("rawSignDigest", &input, Some(key.clone())),
            Ok(Json::text(want.clone())),
            "{message}"
        );
        let address = call("addressOfKey", &Json::object([]), Some(key)).unwrap();
        let recovered = call("rawRecover", &input.with("signature", Json::text(want)), None);
        assert_eq!(recovered, Ok(address), "{message}");
    }
    assert_eq!(vectors.len(), 6);
}

#[test]
fn ethers_typed_data() {
    let corpus = corpus("eip712/ethers-eip712-subset.json");
    let documents = corpus.as_array().unwrap();
    let mut signed = 0;
    for document in documents {
        let name = text(document, "name");
        let typed_data = Json::object([
            ("domain", document.get("domain").unwrap().clone()),
            ("types", document.get("types").unwrap().clone()),
            ("primaryType", document.get("primaryType").unwrap().clone()),
            ("message", document.get("data").unwrap().clone()),
        ]);
        let input = Json::object([("typedData", typed_data)]);
        let digest = Json::text(text(document, "digest"));
        assert_eq!(call("hashTypedData", &input, None), Ok(digest.clone()), "{name}");
        if let (Some(key), Some(signature)) = (document.get("privateKey"), document.get("signature")) {
            let key = hex::decode(key.as_str().unwrap()).unwrap();
            let input = Json::object([("digest", digest)]);
            assert_eq!(
                call("rawSignDigest", &input, Some(key)),
                Ok(signature.clone()),
                "{name}"
            );
            signed += 1;
        }
    }
    assert_eq!((documents.len(), signed), (185, 1));
}
