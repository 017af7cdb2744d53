//! Properties of the cryptography that single vectors can't show: secrets stay inside, every signed bit counts, hostile
//! documents are bounded.

use counterfoil::address::Address;
use counterfoil::eip3009::Authorization;
use counterfoil::eip712::{hash_typed_data, Domain};
use counterfoil::error::{Code, Error};
use counterfoil::json::{self, Json};
use counterfoil::secp256k1::{parse_signature, recover, Keys};
use counterfoil::{base64, checked, hex, signing, wasm};
use zeroize::{ZeroizeOnDrop, Zeroizing};

const KEY: &str = "0x939382c55b532a218295c2bcaa780939bed6175d054a5646ff63cbc7f6fec0f5";
const AUTHORIZATION: &str = r#"{"from":"0x760326E8C94f38A9F0537b1FA45141cA995564C4","to":"0x5Fc1434a59Cdf13c71CA74bF1A9344d2E9464FCe",
    "value":"10000","validAfter":"1760000000","validBefore":"1760000600",
    "nonce":"0xe8e711e7932aad8774169b5a1450abaedbb118ec76120ed65e904c9d9c324486"}"#;
const DOMAIN: &str = r#"{"name":"USD Coin","version":"2","chainId":8453,
    "verifyingContract":"0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"}"#;

fn key() -> Vec<u8> {
    hex::decode(KEY).unwrap()
}

fn authorization() -> (Authorization, Domain) {
    (
        Authorization::from_json(&json::parse(AUTHORIZATION).unwrap()).unwrap(),
        Domain::from_json(&json::parse(DOMAIN).unwrap()).unwrap(),
    )
}

fn call(name: &str, input: &str, secret: Option<Vec<u8>>) -> Result<Json, Error> {
    wasm::call(name, input, None, secret.map(Zeroizing::new))
}

// ---------------------------------------------------------------- secrets

/// Ways in which the bytes could be told: hexadecimal, base64, decimal and Rust's own list, whole and in pieces of 8.
fn spellings(secret: &[u8]) -> Vec<String> {
    let mut found = Vec::new();
    for piece in secret.windows(8).chain([secret]) {
        let digits = hex::encode(piece).split_off(2);
        found.extend([digits.to_uppercase(), digits]);
        found.push(base64::encode(piece).trim_end_matches('=').to_owned());
        let decimals: Vec<String> = piece.iter().map(u8::to_string).collect();
        found.extend([decimals.join(", "), decimals.join(",")]);
    }
    found
}

#[test]
fn no_error_tells_of_the_key() {
    let right = key();
    let order = hex::decode("0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141").unwrap();
    let keys = [
        right[..31].to_vec(),
        [&right[..], b"\n"].concat(),
        [&right[..], &right[..]].concat(),
        hex::encode(&right).into_bytes(),
        order,
    ];
    let inputs = [
        (
            "rawSignDigest",
            format!(r#"{{"digest":"{}"}}"#, hex::encode([7; 32])),
        ),
        ("addressOfKey", "{}".to_owned()),
        ("rawPublicKey", "{}".to_owned()),
        (
            "signAuthorization",
            format!(r#"{{"authorization":{AUTHORIZATION},"domain":{DOMAIN}}}"#),
        ),
    ];
    for bad in &keys {
        for (name, input) in &inputs {
            let error = call(name, input, Some(bad.clone())).unwrap_err();
            assert_eq!(
                (error.code, error.field.as_str()),
                (Code::PrivateKeyInvalid, "privateKey")
            );
            let told = format!(
                "{error} {error:?} {error:#?} {}",
                wasm::error_json(&error).to_text()
            );
            for spelling in spellings(bad) {
                assert!(!told.contains(&spelling), "{name} tells {} bytes", bad.len());
            }
        }
    }
    // The right key with wrong parameters.
    for (name, input) in [
        ("rawSignDigest", r#"{"digest":"0x"}"#),
        ("signAuthorization", "{}"),
    ] {
        let error = call(name, input, Some(right.clone())).unwrap_err();
        let told = format!("{error} {error:?} {}", wasm::error_json(&error).to_text());
        assert!(
            spellings(&right).iter().all(|spelling| !told.contains(spelling)),
            "{name}"
        );
    }
}

#[test]
fn no_signature_or_address_holds_a_piece_of_the_key() {
    let key = key();
    let signature = hex::encode(checked::sign_digest(&[7; 32], &key).unwrap());
    let address = signing::address_of_key(&key).unwrap().to_string();
    let public = hex::encode(signing::public_key(&key).unwrap());
    for spelling in spellings(&key) {
        assert!(![&signature, &address, &public]
            .iter()
            .any(|text| text.contains(&spelling)));
    }
}

#[test]
fn what_holds_a_key_wipes_it() {
    fn wiped<T: ZeroizeOnDrop>(_: Option<T>) {}
    wiped(None::<k256::SecretKey>);
    wiped(None::<Zeroizing<k256::NonZeroScalar>>);
    // A call's secret; the annotation fails to compile when the boundary stops wrapping it.
    let input: Option<wasm::Input> = None;
    wiped(input.and_then(|input| -> Option<Zeroizing<Vec<u8>>> { input.secret }));
}

// ---------------------------------------------------------------- signing

#[test]
fn a_signature_is_the_same_every_time_low_and_its_own() {
    let address = signing::address_of_key(&key()).unwrap();
    let half = hex::decode("0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0").unwrap();
    let mut nonces = std::collections::BTreeSet::new();
    for seed in 0..64u8 {
        let digest = counterfoil::digest::sha256(&[seed]);
        let signature = checked::sign_digest(&digest, &key()).unwrap();
        assert_eq!(checked::sign_digest(&digest, &key()).unwrap(), signature);
        assert!(signature[32..64] <= half[..] && matches!(signature[64], 27 | 28));
        assert_eq!(recover(&digest, &signature), Ok(address));
        assert_eq!(parse_signature(&hex::encode(signature)), Ok(signature));
        assert!(
            nonces.insert(signature[..32].to_vec()),
            "two digests share a nonce"
        );
    }
}

#[test]
fn who_is_said_to_sign_decides_nothing_but_how_soon() {
    let own = signing::address_of_key(&key()).unwrap();
    let oracle = k256::ecdsa::SigningKey::from_slice(&key()).unwrap();
    let mut keys = Keys::new();
    // Often enough that the key's tables are there, for which a signer is met 32 times.
    for seed in 0..40u8 {
        let digest = counterfoil::digest::sha256(&[seed]);
        let (scalars, recovery) = oracle.sign_prehash_recoverable(&digest);
        let expected = [&scalars.to_bytes()[..], &[27 + recovery.to_byte()]].concat();
        for said in [own, Address([0; 20]), Address([seed; 20])] {
            let signature = checked::sign_digest_as(said, &digest, &key(), &mut keys).unwrap();
            assert_eq!(signature[..], expected);
        }
        assert_eq!(signing::sign_digest(&digest, &key()).unwrap()[..], expected);
    }
    assert_eq!(keys.remembered(), (1, 1));
}

#[test]
fn a_signature_that_is_not_the_keys_is_not_handed_out() {
    let digest = [7; 32];
    let right = signing::sign_digest(&digest, &key()).unwrap();
    assert_eq!(checked::of_the_key(&digest, right, &key()), Ok(right));
    let failed = Err(Error::new(Code::SignerFailed, ""));
    let others = signing::sign_digest(&digest, &[1; 32]).unwrap();
    for (digest, signature) in [
        ([8; 32], right),
        (digest, others),
        (digest, [0; 65]),
        (digest, [0xff; 65]),
    ] {
        assert_eq!(checked::of_the_key(&digest, signature, &key()), failed);
    }
    for bit in 0..right.len() * 8 {
        let mut faulty = right;
        faulty[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(checked::of_the_key(&digest, faulty, &key()), failed, "bit {bit}");
    }
}

#[test]
fn every_bit_of_a_signature_counts() {
    let digest = counterfoil::digest::sha256(b"every bit");
    let address = signing::address_of_key(&key()).unwrap();
    let signature = checked::sign_digest(&digest, &key()).unwrap();
    for bit in 0..65 * 8 {
        let mut changed = signature;
        changed[bit / 8] ^= 1 << (bit % 8);
        // A recovery byte of 0 or 1 is another spelling, not one bit away from 27 or 28.
        let read = parse_signature(&hex::encode(changed)).and_then(|changed| recover(&digest, &changed));
        assert_ne!(read, Ok(address), "bit {bit}");
        assert_ne!(recover(&digest, &changed), Ok(address), "bit {bit}");
    }
    for bit in 0..32 * 8 {
        let mut changed = digest;
        changed[bit / 8] ^= 1 << (bit % 8);
        assert_ne!(recover(&changed, &signature), Ok(address), "bit {bit}");
    }
}

#[test]
fn every_field_of_an_authorization_is_signed() {
    let (signed, domain) = authorization();
    let digest = signed.digest(&domain).unwrap().digest;
    let signature = hex::encode(checked::sign_digest(&digest, &key()).unwrap());
    assert_eq!(signed.recover(&domain, &signature), Ok(signed.from));
    let refused = |other: &Authorization, domain: &Domain, field: &str| {
        assert_ne!(other.digest(domain).unwrap().digest, digest, "{field}");
        assert_ne!(other.recover(domain, &signature), Ok(signed.from), "{field}");
    };
    let one_more = |amount: counterfoil::amount::Amount| {
        amount
            .checked_add(counterfoil::amount::Amount::from_u64(1))
            .unwrap()
    };
    refused(
        &Authorization {
            from: signed.to,
            ..signed.clone()
        },
        &domain,
        "from",
    );
    refused(
        &Authorization {
            to: signed.from,
            ..signed.clone()
        },
        &domain,
        "to",
    );
    refused(
        &Authorization {
            value: one_more(signed.value),
            ..signed.clone()
        },
        &domain,
        "value",
    );
    refused(
        &Authorization {
            valid_after: one_more(signed.valid_after),
            ..signed.clone()
        },
        &domain,
        "validAfter",
    );
    refused(
        &Authorization {
            valid_before: one_more(signed.valid_before),
            ..signed.clone()
        },
        &domain,
        "validBefore",
    );
    for bit in 0..256 {
        let mut nonce = signed.nonce;
        nonce[bit / 8] ^= 1 << (bit % 8);
        refused(
            &Authorization {
                nonce,
                ..signed.clone()
            },
            &domain,
            "nonce",
        );
    }
    refused(
        &signed,
        &Domain {
            name: "USDC".into(),
            ..domain.clone()
        },
        "name",
    );
    refused(
        &signed,
        &Domain {
            version: "1".into(),
            ..domain.clone()
        },
        "version",
    );
    refused(
        &signed,
        &Domain {
            chain_id: 1,
            ..domain.clone()
        },
        "chainId",
    );
    refused(
        &signed,
        &Domain {
            verifying_contract: signed.to,
            ..domain.clone()
        },
        "verifyingContract",
    );
}

// ---------------------------------------------------------------- typed data

#[test]
fn the_whole_document_hashes_like_the_authorization() {
    let (authorization, domain) = authorization();
    let document = authorization.typed_data(&domain);
    let digest = authorization.digest(&domain).unwrap().digest;
    assert_eq!(hash_typed_data(&document), Ok(digest));
    // It survives being written and read, and the derived domain type is the declared one.
    let read = json::parse(&document.to_text()).unwrap();
    assert_eq!(hash_typed_data(&read), Ok(digest));
    let Json::Object(mut types) = read.get("types").unwrap().clone() else {
        panic!("types are no object")
    };
    types.retain(|(name, _)| name != "EIP712Domain");
    assert_eq!(
        hash_typed_data(&read.with("types", Json::Object(types))),
        Ok(digest)
    );
    assert_eq!(
        Authorization::from_json(&authorization.to_json()),
        Ok(authorization)
    );
    assert_eq!(Domain::from_json(&domain.to_json()), Ok(domain));
}

fn fields(list: &[(String, String)]) -> Json {
    let field = |(name, kind): &(String, String)| {
        Json::object([
            ("name", Json::text(name.as_str())),
            ("type", Json::text(kind.as_str())),
        ])
    };
    Json::Array(list.iter().map(field).collect())
}

fn document(types: Vec<(String, Json)>, primary: &str, message: Json) -> Json {
    Json::object([
        ("domain", Json::object([])),
        ("types", Json::Object(types)),
        ("primaryType", Json::text(primary)),
        ("message", message),
    ])
}

/// `S0` holds `S1`, and so on: every type repeats all types after it.
fn chain(length: usize) -> Json {
    let types = (0..length)
        .map(|at| {
            let next = (at + 1 < length).then(|| ("next".to_owned(), format!("S{}", at + 1)));
            (format!("S{at}"), fields(&next.into_iter().collect::<Vec<_>>()))
        })
        .collect();
    document(types, "S0", Json::object([]))
}

#[test]
fn the_number_of_types_is_bounded() {
    assert!(hash_typed_data(&chain(256)).is_ok());
    assert_eq!(
        hash_typed_data(&chain(257)),
        Err(Error::new(Code::TooLarge, "types"))
    );
    let wide = |count: usize| {
        let list: Vec<_> = (0..count)
            .map(|at| (format!("f{at}"), "T[]".to_owned()))
            .collect();
        let empty = list
            .iter()
            .map(|(name, _)| (name.clone(), Json::Array(vec![])))
            .collect();
        document(vec![("T".to_owned(), fields(&list))], "T", Json::Object(empty))
    };
    assert!(hash_typed_data(&wide(4096)).is_ok());
    assert_eq!(
        hash_typed_data(&wide(4097)),
        Err(Error::new(Code::TooLarge, "types"))
    );
}

#[test]
fn work_grows_with_the_document_only() {
    // Many small values of a type that reaches many types: its hash must be made once.
    let mut types: Vec<(String, Json)> = match chain(255).get("types") {
        Some(Json::Object(types)) => types.clone(),
        _ => panic!("no types"),
    };
    types.push((
        "Top".to_owned(),
        fields(&[("items".to_owned(), "S0[]".to_owned())]),
    ));
    let items = Json::Array(vec![Json::object([]); 100_000]);
    assert!(hash_typed_data(&document(types, "Top", Json::object([("items", items)]))).is_ok());
    // Kinds that are long, or full of brackets.
    for kind in [
        "[".repeat(1 << 20),
        "]".repeat(1 << 20),
        "T".to_owned() + &"[]".repeat(1 << 19),
    ] {
        let types = vec![("T".to_owned(), fields(&[("v".to_owned(), kind)]))];
        let bad = document(types, "T", Json::object([("v", Json::Array(vec![]))]));
        assert_eq!(
            hash_typed_data(&bad),
            Err(Error::new(Code::TypedDataInvalid, "types.T"))
        );
    }
    // Nothing is timed: without the bounds this would take minutes.
}

#[test]
fn a_value_that_nests_without_end_is_an_error() {
    let node = vec![(
        "Node".to_owned(),
        fields(&[("next".to_owned(), "Node".to_owned())]),
    )];
    let nest = |depth: usize| (0..depth).fold(Json::object([]), |value, _| Json::object([("next", value)]));
    assert!(hash_typed_data(&document(node.clone(), "Node", nest(60))).is_ok());
    for depth in [65, 66, 500] {
        let error = hash_typed_data(&document(node.clone(), "Node", nest(depth))).unwrap_err();
        assert_eq!(error.code, Code::TypedDataInvalid);
    }
    let list = vec![(
        "List".to_owned(),
        fields(&[("next".to_owned(), "List[]".to_owned())]),
    )];
    let nest = |depth: usize| {
        (0..depth).fold(Json::object([("next", Json::Array(vec![]))]), |value, _| {
            Json::object([("next", Json::Array(vec![value]))])
        })
    };
    assert!(hash_typed_data(&document(list.clone(), "List", nest(30))).is_ok());
    let error = hash_typed_data(&document(list, "List", nest(500))).unwrap_err();
    assert_eq!(error.code, Code::TypedDataInvalid);
}

#[test]
fn as_text_the_reader_bounds_the_depth() {
    let text = format!(
        r#"{{"typedData":{{"domain":{{}},"types":{{"T":[]}},"primaryType":"T","message":{}1{}}}}}"#,
        r#"{"a":"#.repeat(100),
        "}".repeat(100)
    );
    assert_eq!(
        call("hashTypedData", &text, None).unwrap_err().code,
        Code::JsonTooDeep
    );
}

#[test]
fn a_failed_recovery_is_never_the_zero_address() {
    for signature in [[0; 65], [0xff; 65]] {
        assert_eq!(
            recover(&[0; 32], &signature).unwrap_err().code,
            Code::SignatureInvalid
        );
    }
    for first in 0..=255u8 {
        let mut signature = [first; 65];
        signature[64] = 27;
        assert!(!recover(&[first; 32], &signature).is_ok_and(|address| address == Address([0; 20])));
    }
}
