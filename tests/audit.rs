//! Lines of an audit beside `verifyReceipt`, which says the same of each of them alone; and what is kept between the two calls of one set of lines.

use counterfoil::audit::{across, Kind, Summary, Verdict};
use counterfoil::json::{self, Json};
use counterfoil::{hex, wasm};

/// Receipts of every form with their material, of which no line says what is under a content coding.
fn cases() -> Vec<(String, Json, Json, Option<Vec<u8>>)> {
    let mut all = Vec::new();
    for name in ["cases", "claims", "claims-of-every-rail", "signed"] {
        let path = format!("{}/tests/receipts/{name}.json", env!("CARGO_MANIFEST_DIR"));
        let file = json::parse(&std::fs::read_to_string(path).unwrap()).unwrap();
        for case in file.get("cases").unwrap().as_array().unwrap() {
            let mut material = case.get("material").unwrap().clone();
            if case.get("base").is_some() {
                for (name, value) in file.get("base").unwrap().as_object().unwrap() {
                    if material.get(name).is_none() {
                        material.set(name, value.clone());
                    }
                }
            }
            if case.get("decodedBody").is_none() {
                let id = case.get("id").unwrap().as_string().unwrap();
                let body = case
                    .get("body")
                    .map(|body| hex::decode(body.as_str().unwrap()).unwrap());
                all.push((id, case.get("receipt").unwrap().clone(), material, body));
            }
        }
    }
    all
}

/// What only the auditor brings, and the line with the rest.
fn parted(receipt: &Json, material: &Json, body: Option<&[u8]>) -> (Json, Json) {
    let trust = material.get("trust").cloned().unwrap_or(Json::Object(Vec::new()));
    let given = Json::object([("trust", trust.with("evidence", Json::Bool(true)))])
        .with_some("now", material.get("now").cloned())
        .with_some("profile", material.get("profile").cloned());
    let mut line = material
        .clone()
        .without("trust")
        .without("now")
        .without("profile");
    line.set("receipt", receipt.clone());
    let body = body.map(|body| Json::object([("base64", Json::text(counterfoil::base64::encode(body)))]));
    let body = body.or(material.get("bodySha256").cloned());
    (given, line.with_some("response", body))
}

fn call(name: &str, input: &Json) -> Result<Json, (String, String)> {
    wasm::call(name, &input.to_text(), None, None)
        .map_err(|error| (error.code.as_str().to_owned(), error.field.clone()))
}

fn lines(given: &Json, lines: &[Json]) -> Result<Vec<Json>, (String, String)> {
    let texts = lines.iter().map(|line| Json::text(line.to_text())).collect();
    let input = Json::object([
        ("input", Json::text("set")),
        ("given", given.clone()),
        ("lines", Json::Array(texts)),
    ]);
    let answer = call("auditLines", &input)?;
    Ok(answer.get("verdicts").unwrap().as_array().unwrap().to_vec())
}

fn text<'a>(json: &'a Json, name: &str) -> &'a str {
    json.get(name).unwrap().as_str().unwrap()
}

#[test]
fn a_line_is_judged_as_the_document_is_alone() {
    let mut seen = 0;
    for (id, receipt, material, body) in cases() {
        let (given, line) = parted(&receipt, &material, body.as_deref());
        let input = Json::object([("receipt", receipt), ("material", material)]);
        let alone = wasm::call("verifyReceipt", &input.to_text(), body, None);
        let told = match lines(&given, &[line]) {
            Ok(verdicts) => verdicts.first().unwrap().clone(),
            // What the auditor brings is at fault, and not the line.
            Err((code, field)) => {
                assert!(field.starts_with("given."), "{id}: {field}");
                assert_eq!(alone.unwrap_err().code.as_str(), code, "{id}");
                continue;
            }
        };
        match alone {
            Ok(report) => assert_eq!(text(&told, "verdict"), text(&report, "verdict"), "{id}"),
            Err(error) => {
                let codes = told.get("codes").unwrap().as_array().unwrap();
                assert_eq!(text(&told, "verdict"), "error", "{id}");
                assert_eq!(codes, [Json::text(error.code.as_str())], "{id}");
            }
        }
        seen += 1;
    }
    assert!(seen > 500, "{seen} cases");
}

/// Signatures of one call are found out together, by who signed the first of a site; whoever signed the others.
#[test]
fn many_signatures_are_those_of_one_by_one() {
    let mut sets: Vec<(Json, Vec<Json>)> = Vec::new();
    for (_, receipt, material, body) in cases() {
        let (given, line) = parted(&receipt, &material, body.as_deref());
        match sets.iter_mut().find(|(known, _)| *known == given) {
            Some((_, set)) => set.push(line),
            None => sets.push((given, vec![line])),
        }
    }
    let mut together = 0;
    for (given, set) in sets {
        // Each three times, so that some of one signer are enough to be verified in step.
        let thrice: Vec<Json> = set.iter().flat_map(|line| [line; 3]).cloned().collect();
        let Ok(told) = lines(&given, &thrice) else {
            continue;
        };
        for (line, told) in thrice.iter().zip(told) {
            let alone = lines(&given, core::slice::from_ref(line)).unwrap();
            let plain = |verdict: &Json| verdict.clone().without("line");
            assert_eq!(plain(&told), plain(alone.first().unwrap()));
        }
        together = together.max(set.len());
    }
    assert!(together > 20, "{together} at once");
}

/// Lines are read once: what was found of their answers comes with the second call, by the number of the first.
#[test]
fn lines_are_kept_until_their_answers_are_known() {
    let answer = digest("answer");
    let receipt = |sha256: &str| {
        Json::object([
            ("responseSha256", Json::text(sha256)),
            ("transaction", Json::text(digest("transaction"))),
        ])
    };
    let named = Json::object([("receipt", receipt(&answer)), ("response", Json::text("a.bin"))]);
    let set = vec![
        Json::text(receipt(&digest("other")).to_text()),
        Json::text(""),
        Json::text(named.to_text()),
    ];
    let ask = Json::object([("input", Json::text("set")), ("lines", Json::Array(set))])
        .with("first", Json::number(7));
    let held = |ask: &Json| call("auditHold", ask).unwrap();
    let first = held(&ask);
    let names = first.get("names").unwrap().as_array().unwrap();
    assert_eq!(names.get(1), Some(&Json::Null));
    assert_eq!(names.get(2), Some(&Json::text("a.bin")));
    let unless = first.get("unless").unwrap().as_array().unwrap();
    assert_eq!(unless.get(2), Some(&Json::text(answer.as_str())));

    let take = |held: &Json| {
        let found = Json::object([("sha256", Json::text(answer.as_str()))]);
        let found = Json::Array(vec![Json::Null, Json::Null, found]);
        let input = Json::object([("held", held.get("held").unwrap().clone()), ("found", found)]);
        call("auditLines", &input)
    };
    let second = held(&ask);
    let gone = take(&first).unwrap_err();
    assert_eq!(gone, ("missing_field".to_owned(), "held".to_owned()));
    let told = take(&second).unwrap();
    let told = told.get("verdicts").unwrap().as_array().unwrap();
    let numbers: Vec<_> = told
        .iter()
        .map(|one| one.get("line").unwrap().as_u64().unwrap())
        .collect();
    assert_eq!(numbers, [7, 9]);
    let unchecked = |at: usize| {
        told.get(at)
            .unwrap()
            .get("codes")
            .unwrap()
            .to_text()
            .contains("delivery.hash")
    };
    assert_eq!([unchecked(0), unchecked(1)], [true, false]);
    assert!(take(&second).is_err(), "they are given out once");
}

fn digest(text: &str) -> String {
    hex::encode(counterfoil::digest::sha256(text.as_bytes()))
}

/// They are compared without a look at their checksum.
#[test]
fn known_tokens_carry_their_checksum() {
    for token in counterfoil::network::KNOWN_TOKENS {
        assert!(
            counterfoil::address::Address::parse(token.asset).is_ok(),
            "{}",
            token.asset
        );
    }
}

/// A checksum is looked at in every line, also where its text was read before in another case.
#[test]
fn addresses_of_earlier_lines_do_not_excuse_a_wrong_checksum() {
    const RIGHT: &str = "0x5Fc1434a59Cdf13c71CA74bF1A9344d2E9464FCe";
    const WRONG: &str = "0x5fC1434a59Cdf13c71CA74bF1A9344d2E9464FCe";
    let line = |payer: &str| {
        Json::object([
            ("payer", Json::text(payer)),
            ("transaction", Json::text(digest("transaction"))),
        ])
    };
    let set = [RIGHT, WRONG, RIGHT, WRONG].map(line);
    let told = lines(&Json::Object(Vec::new()), &set).unwrap();
    let verdicts: Vec<&str> = told.iter().map(|one| text(one, "verdict")).collect();
    assert_eq!(verdicts, ["incomplete", "error", "incomplete", "error"]);
    let identity = |at: usize| text(told.get(at).unwrap().get("keys").unwrap(), "receipt").to_owned();
    assert_eq!(
        identity(0),
        digest(&set[0].to_canonical().unwrap()),
        "as it was written"
    );
    assert_eq!(identity(2), identity(0));
}

/// A claim's signature is over its letters: also where its addresses were read in lines before it.
#[test]
fn addresses_of_earlier_lines_change_no_letter_of_a_claim() {
    let all = cases();
    let mut seen = 0;
    for (id, receipt, material, body) in &all {
        let Some(claim) = receipt
            .as_str()
            .ok()
            .filter(|text| text.contains("counterfoil/claim"))
        else {
            continue;
        };
        let Ok(claim) = json::parse(claim) else { continue };
        let (given, line) = parted(&claim, material, body.as_deref());
        let Ok(told) = lines(&given, &[line.clone(), line]) else {
            continue;
        };
        let verdicts: Vec<Json> = told.iter().map(|one| one.clone().without("line")).collect();
        assert_eq!(verdicts[0], verdicts[1], "{id}");
        seen += usize::from(text(&verdicts[0], "verdict") == "verified");
    }
    assert!(seen > 5, "{seen} good claims");
}

/// A verdict as it is written down, with these members and keys.
fn verdict(standing: &str, codes: &[&str], keys: &[(&str, &str)]) -> Verdict {
    let codes = codes.iter().map(|code| Json::text(*code)).collect();
    let keys = keys
        .iter()
        .map(|(name, value)| ((*name).to_owned(), Json::text(*value)));
    let line = Json::object([
        ("v", Json::number(1)),
        ("input", Json::text("set")),
        ("line", Json::number(1)),
        ("verdict", Json::text(standing)),
        ("codes", Json::Array(codes)),
        ("keys", Json::Object(keys.collect())),
    ]);
    Verdict::from_line(line.to_text().as_bytes()).unwrap()
}

fn keys_of(line: &Json) -> Json {
    let told = lines(&Json::Object(Vec::new()), core::slice::from_ref(line)).unwrap();
    told.first().unwrap().get("keys").unwrap().clone()
}

#[test]
fn what_a_line_says_beside_its_document_joins_it() {
    let hash = format!("0x{}", "AB".repeat(32));
    let settlement = |network: &str| {
        Json::object([
            ("success", Json::Bool(true)),
            ("transaction", Json::text(hash.as_str())),
            ("network", Json::text(network)),
        ])
    };
    let document = settlement("eip155:8453");
    let keys = keys_of(&document);
    assert_eq!(text(&keys, "transaction"), hash.to_lowercase());
    // A header's value is the document in it.
    let header = Json::text(counterfoil::base64::encode(document.to_text().as_bytes()));
    assert_eq!(text(&keys_of(&header), "receipt"), text(&keys, "receipt"));
    let receipt = document.with("paymentId", Json::text("pay_0123456789abcdef"));
    let line = Json::object([("receipt", receipt), ("intent", Json::text("intent of the line"))]);
    let keys = keys_of(&line);
    assert_eq!(text(&keys, "paymentId"), "pay_0123456789abcdef");
    assert_eq!(text(&keys, "intent"), "intent of the line");
}

#[test]
fn a_line_is_not_longer_than_the_longest_and_its_evidence_is_not_trusted() {
    let long = Json::Array(vec![Json::text("x".repeat(counterfoil::audit::LONGEST_LINE))]);
    let told = lines(&Json::Object(Vec::new()), &[long]).unwrap();
    assert_eq!(
        told.first().unwrap().get("codes"),
        Some(&Json::Array(vec![Json::text("too_large")]))
    );

    let all = cases();
    let (_, receipt, material, body) = all.iter().find(|(id, ..)| id == "receipt-proven").unwrap();
    let (given, line) = parted(receipt, material, body.as_deref());
    let standing = |given: &Json| {
        text(
            lines(given, core::slice::from_ref(&line))
                .unwrap()
                .first()
                .unwrap(),
            "verdict",
        )
        .to_owned()
    };
    assert_eq!(standing(&given), "verified");
    let trust = given.get("trust").unwrap().clone().without("evidence");
    assert_eq!(standing(&given.clone().with("trust", trust)), "incomplete");
    // What it names could not be read: that is not verified, whatever the document says.
    let unreadable = Json::object([
        ("input", Json::text("set")),
        ("given", given),
        ("lines", Json::Array(vec![Json::text(line.to_text())])),
        ("found", Json::Array(vec![Json::text("unreadable")])),
    ]);
    let told = call("auditLines", &unreadable).unwrap();
    let told = told
        .get("verdicts")
        .unwrap()
        .as_array()
        .unwrap()
        .first()
        .unwrap()
        .clone();
    assert_eq!(text(&told, "verdict"), "incomplete");
    assert!(told
        .get("codes")
        .unwrap()
        .to_text()
        .contains("response_unreadable"));
}

#[test]
fn what_is_refuted_is_joined_with_nothing() {
    let transaction = [("transaction", "0xab"), ("network", "eip155:1")];
    let joined = |codes: &[&str]| !verdict("failed", codes, &transaction).keys().is_empty();
    for code in [
        "signature",
        "chain.transfer",
        "settlement.payer",
        "record.consistent",
        "claim.amount",
        "purchase[1].signature",
    ] {
        assert!(!joined(&[code]), "{code}");
        assert!(!joined(&["delivery.hash", code]), "{code}");
    }
    assert!(joined(&["delivery.hash"]));
    assert!(verdict("error", &["json_invalid"], &transaction)
        .keys()
        .is_empty());
    // A hash is one transaction on one network.
    let elsewhere = [("transaction", "0xab"), ("network", "eip155:8453")];
    let key = |keys: &[(&str, &str)]| verdict("verified", &[], keys).keys();
    assert_ne!(key(&transaction), key(&elsewhere));
    // The hash of 32 bytes names its network, and joins a document that does not.
    let hash = format!("0x{}", "ab".repeat(32));
    let (named, unnamed) = (
        [("transaction", hash.as_str()), ("network", "eip155:1")],
        [("transaction", hash.as_str())],
    );
    assert_eq!(key(&named), key(&unnamed));
}

#[test]
fn sums_count_a_line_once_and_tell_a_thousand_tokens_apart() {
    let mut summary = Summary::default();
    summary.add(&verdict(
        "incomplete",
        &["purchase[0].chain.source", "purchase[1].chain.source"],
        &[],
    ));
    let lines = |json: &Json, group: &str, name: &str| {
        json.get(group)
            .unwrap()
            .get(name)
            .unwrap()
            .get("lines")
            .unwrap()
            .as_u64()
            .unwrap()
    };
    assert_eq!(lines(&summary.to_json(), "codes", "chain.source"), 1);

    let (mut all, mut other) = (Summary::default(), Summary::default());
    for number in 0..1003 {
        let asset = format!("token {number:04}");
        let keys = [
            ("network", "eip155:1"),
            ("asset", asset.as_str()),
            ("amount", "5"),
        ];
        all.add(&verdict("verified", &[], &keys));
        other.add(&verdict("verified", &[], &keys));
    }
    all.merge(&other);
    let json = all.to_json();
    let verified = json.get("verdicts").unwrap().get("verified").unwrap();
    let amounts = verified.get("amounts").unwrap().as_array().unwrap();
    assert_eq!(
        (amounts.len(), verified.get("others")),
        (1000, Some(&Json::number(6)))
    );
    assert_eq!(amounts.first().unwrap().get("amount"), Some(&Json::text("10")));
    assert_eq!(lines(&json, "verdicts", "verified"), 2006);
}

/// What is owed back is a sum in one token, or it is not told.
#[test]
fn amounts_of_different_tokens_are_no_sum() {
    let paid = |transaction: &str, asset: &str| {
        let keys = [
            ("intent", "one"),
            ("network", "eip155:8453"),
            ("asset", asset),
            ("amount", "7"),
            ("transaction", transaction),
        ];
        verdict("verified", &[], &keys)
    };
    const ONE: &str = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913";
    const OTHER: &str = "0x036CbD53842c5426634e7929541eC2318f3dCF7e";
    let owed = |last: &str| {
        let set = [paid("0x01", ONE), paid("0x02", ONE), paid("0x03", last)];
        let finding = across(Kind::Intent, &set, 3).remove(0);
        assert_eq!(text(&finding, "code"), "duplicate_charge");
        finding.get("amount").cloned()
    };
    assert_eq!(owed(ONE), Some(Json::text("14")));
    assert_eq!(owed(OTHER), None);
}

/// The payer's own record of the page's sample: one purchase, settled and delivered.
fn bundle() -> Json {
    let path = format!("{}/www/sample/bundle.json", env!("CARGO_MANIFEST_DIR"));
    json::parse(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn first<'a>(json: &'a Json, list: &str) -> &'a Json {
    json.get(list).unwrap().as_array().unwrap().first().unwrap()
}

/// More codes than are kept: what makes the document worthless is among those that are.
#[test]
fn the_codes_that_are_kept_are_those_that_refute() {
    let bundle = bundle();
    let intent = first(&bundle, "intents");
    let mut delivery = intent.get("delivery").unwrap().clone();
    delivery.set("sha256", Json::text(format!("0x{}", "00".repeat(32))));
    let altered = intent.clone().with("delivery", delivery);
    let mut attempt = first(&altered, "attempts").clone();
    attempt.set("signature", Json::text(format!("0x{}1b", "11".repeat(64))));
    let forged = altered.clone().with("attempts", Json::Array(vec![attempt]));
    let told = |last: &Json| {
        let mut all = vec![altered.clone(); 40];
        all.push(last.clone());
        let line = Json::object([("receipt", bundle.clone().with("intents", Json::Array(all)))]);
        lines(&Json::Object(Vec::new()), &[line]).unwrap().remove(0)
    };
    for (last, refuted) in [(&altered, false), (&forged, true)] {
        let verdict = told(last);
        assert_eq!(verdict.get("codes").unwrap().as_array().unwrap().len(), 32);
        let verdict = Verdict::from_json(&verdict).unwrap();
        assert_eq!(verdict.keys().is_empty(), refuted, "{:?}", verdict.codes);
    }
}

/// Of several signed attempts the line is joined by the one that its transaction settled, and by the last where none is named.
#[test]
fn the_nonce_is_that_of_the_attempt_that_paid() {
    let bundle = bundle();
    let intent = first(&bundle, "intents");
    let paid = first(intent, "attempts");
    let nonce = |attempt: &Json| text(attempt.get("authorization").unwrap(), "nonce").to_owned();
    let mut other = paid.clone().without("transaction").without("settlement");
    other.set("attemptId", Json::text(format!("{}/1", text(intent, "intentId"))));
    let mut signed = paid.get("authorization").unwrap().clone();
    signed.set("nonce", Json::text(digest("another nonce")));
    other.set("authorization", signed);
    other.set("state", Json::text("dead"));
    let with = |attempts: [&Json; 2]| {
        let attempts = Json::Array(attempts.map(Clone::clone).to_vec());
        let intent = intent.clone().with("attempts", attempts);
        Json::object([(
            "receipt",
            bundle.clone().with("intents", Json::Array(vec![intent])),
        )])
    };
    for attempts in [[paid, &other], [&other, paid]] {
        assert_eq!(text(&keys_of(&with(attempts)), "nonce"), nonce(paid));
    }
}

#[test]
fn what_a_document_says_of_foreign_accounts_and_long_resources() {
    let all = cases();
    let document = |id: &str| all.iter().find(|(own, ..)| own == id).unwrap();
    // Base58 tells cases apart, and no checksum of another kind is written into it.
    const ASSET: &str = "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGkZwyTDt1v";
    const ACCOUNT: &str = "CKPKJWNdJEqa81x7CkZ14BVPiY6y16Sxs7owznqtWYp5";
    let offer = keys_of(&document("official-jws-ES256K-key-2-offer").1);
    assert_eq!([text(&offer, "asset"), text(&offer, "payTo")], [ASSET, ACCOUNT]);
    let receipt = keys_of(&document("official-jws-ES256K-key-2-receipt").1);
    assert_eq!(text(&receipt, "payer"), ACCOUNT);
    let settlement = keys_of(&document("settlement-on-solana").1);
    let hash = "5VERv8NMvzbJMEkV8xnrLkEaWRtSz9CosKDYjCJjBRnbJLgp8uirBgmQpjKhoR4tjF3ZpRzrFmBV6UjKdiSZkQUW";
    assert_eq!(text(&settlement, "transaction"), hash);
    let of = |length: usize| {
        let resource = format!("https://api.example.com/{}", "x".repeat(length - 24));
        let receipt = Json::object([
            ("transaction", Json::text(digest("transaction"))),
            ("responseSha256", Json::text(digest("answer"))),
            ("resource", Json::text(resource.as_str())),
        ]);
        (keys_of(&receipt).get("resource").cloned(), resource)
    };
    let (kept, resource) = of(2048);
    assert_eq!(kept, Some(Json::text(resource)));
    assert_eq!(of(2049).0, None);
}

/// Two documents of one transaction can both be right where the chain shows both transfers: a line says whether it does.
#[test]
fn a_line_says_whether_the_chain_shows_its_payment() {
    let all = cases();
    let (_, receipt, material, body) = all.iter().find(|(id, ..)| id == "receipt-proven").unwrap();
    let (given, line) = parted(receipt, material, body.as_deref());
    let shown = |line: Json| {
        let told = lines(&given, &[line]).unwrap();
        let keys = told.first().unwrap().get("keys").unwrap();
        keys.get("shown").cloned()
    };
    assert_eq!(shown(line.clone()), Some(Json::Bool(true)));
    assert_eq!(shown(line.without("evidence")), None);
}

/// A signed document is what is signed: neither the spelling of its signature nor what stands beside it makes another one.
#[test]
fn a_signed_document_is_what_is_signed() {
    let told = |receipt: Json| {
        let line = Json::object([("receipt", receipt)]);
        let told = lines(&Json::Object(Vec::new()), &[line]).unwrap();
        let told = told.first().unwrap();
        let keys = told.get("keys").unwrap();
        (
            text(keys, "receipt").to_owned(),
            keys.get("signed") == Some(&Json::Bool(true)),
        )
    };
    let all = cases();
    let case = |id: &str| {
        let (.., receipt, _, _) = all.iter().find(|(known, ..)| known == id).unwrap();
        receipt.as_str().unwrap().to_owned()
    };
    let typed = case("receipt-without-transaction-proven");
    let envelope = json::parse(&typed).unwrap();
    let signature = text(&envelope, "signature").to_owned();
    assert!(signature.ends_with("1c"));
    let same = [
        // v as 28 and as 1, digits in upper case, members that nobody signed, another order of members, a text and an object.
        Json::text(typed.clone()),
        envelope.clone(),
        envelope
            .clone()
            .with("signature", Json::text(format!("{}01", &signature[..130]))),
        envelope.clone().with("acceptIndex", Json::number(0)),
        Json::object([
            ("signature", Json::text(signature)),
            ("format", Json::text("eip712")),
            (
                "payload",
                envelope
                    .get("payload")
                    .unwrap()
                    .clone()
                    .with("note", Json::text("unsigned")),
            ),
        ]),
    ];
    let first = told(same[0].clone());
    assert!(first.1);
    for receipt in same {
        assert_eq!(told(receipt.clone()), first, "{}", receipt.to_text());
    }
    let payload = envelope.get("payload").unwrap().clone();
    for (name, value) in [
        ("resourceUrl", Json::text("https://api.example.com/v1/other")),
        ("issuedAt", Json::number(1_795_965_841)),
        ("payer", Json::text("0x90F79bf6EB2c4f870365E785982E1f101E93b906")),
    ] {
        let other = envelope
            .clone()
            .with("payload", payload.clone().with(name, value));
        assert_ne!(told(other).0, first.0, "{name}");
    }
    let jws = case("receipt-jws-ES256K-proven");
    let enveloped = Json::object([
        ("format", Json::text("jws")),
        ("signature", Json::text(jws.clone())),
    ]);
    let (input, _) = jws.rsplit_once('.').unwrap();
    // By hand: SHA-256 of the text before the last point.
    assert_eq!(told(Json::text(jws.clone())), (digest(input), true));
    assert_eq!(told(enveloped.clone()).0, digest(input));
    assert_eq!(
        told(enveloped.with("acceptIndex", Json::number(1))).0,
        digest(input)
    );
    // A settlement response with a signed receipt inside is nobody's signed document.
    let settlement = told(Json::text(case("settlement-with-its-receipt")));
    assert!(!settlement.1);
    assert_ne!(settlement.0, told(Json::text(case("receipt-proven"))).0);
}

/// One payment, used for two receipts that name no transaction: each is verified alone, and what they share tells.
#[test]
fn one_payment_for_two_signed_receipts_is_told() {
    let all = cases();
    let (_, receipt, material, _) = all
        .iter()
        .find(|(id, ..)| id == "receipt-without-transaction-proven")
        .unwrap();
    let envelope = json::parse(receipt.as_str().unwrap()).unwrap();
    let payload = envelope.get("payload").unwrap().clone();
    let other = payload.with("resourceUrl", Json::text("https://api.example.com/v1/other"));
    // Whoever that signature now recovers to: without a word of whom to trust it is somebody's.
    let material = material.clone().without("trust");
    let found = |receipts: &[Json], kind: Kind| -> Vec<String> {
        let (given, _) = parted(&receipts[0], &material, None);
        let set: Vec<Json> = receipts
            .iter()
            .map(|one| parted(one, &material, None).1)
            .collect();
        let told = lines(&given, &set).unwrap();
        let verdicts: Vec<Verdict> = told.iter().map(|one| Verdict::from_json(one).unwrap()).collect();
        let sharing = |verdict: &Verdict| verdict.keys().iter().find(|key| key.0[0] == kind.byte()).copied();
        let first = sharing(&verdicts[0]);
        assert!(first.is_some());
        if verdicts.iter().any(|verdict| sharing(verdict) != first) {
            return Vec::new();
        }
        let found = across(kind, &verdicts, 2);
        found.iter().map(|one| text(one, "code").to_owned()).collect()
    };
    let two = [envelope.clone(), envelope.clone().with("payload", other)];
    assert_eq!(found(&two, Kind::Authorization), ["authorization_claimed_twice"]);
    assert_eq!(found(&two, Kind::Receipt), Vec::<String>::new());
    let again = [envelope.clone(), envelope.with("acceptIndex", Json::number(0))];
    assert_eq!(found(&again, Kind::Receipt), ["receipt_repeated"]);
    assert_eq!(found(&again, Kind::Authorization), Vec::<String>::new());
}
