//! A bundle made by really signing, then tampered with in every leaf: each change must be noticed.

use counterfoil::address::Address;
use counterfoil::amount::Amount;
use counterfoil::eip3009::Authorization;
use counterfoil::eip712::Domain;
use counterfoil::fingerprint::Request;
use counterfoil::json::{self, Json};
use counterfoil::network::Network;
use counterfoil::x402::payment_payload;
use counterfoil::x402::payment_required::{self, PaymentRequired};
use counterfoil::{base64, digest, hex, intent, quote, wasm};

/// Public test keys: Keccak-256 of fixed labels, with no value anywhere.
const PAYER_KEY: &str = "0x939382c55b532a218295c2bcaa780939bed6175d054a5646ff63cbc7f6fec0f5";
const PAYER: &str = "0x760326E8C94f38A9F0537b1FA45141cA995564C4";
const SELLER: &str = "0x5Fc1434a59Cdf13c71CA74bF1A9344d2E9464FCe";
const ATTACKER: &str = "0xAFb80591eB0765fF13138847b8434B1B6409597c";
const TOKEN: &str = "0x036CbD53842c5426634e7929541eC2318f3dCF7e";
const TRANSACTION: &str = "0xa8581cbb4164925fb9f24b50f50d4258b9be6dba2750f1465ddbd7f7afdbf60e";
const BODY: &[u8] = b"{\"price\": 101.50, \"symbol\":\"ABC\"}\n";

/// Leaves whose change does not show, each with the reason. `*` stands for one index or member.
const UNCOVERED: &[(&str, &str)] = &[
    ("exportedAt", "the payer's clock; no verdict rests on it"),
    ("intents[*].createdAt", "the payer's clock"),
    ("intents[*].updatedAt", "the payer's clock"),
    ("intents[*].quotes[*].seenAt", "the payer's clock"),
    ("intents[*].attempts[*].plannedAt", "the payer's clock"),
    ("intents[*].attempts[*].signedAt", "the payer's clock"),
    ("intents[*].attempts[*].sends[*]", "the payer's clock"),
    ("intents[*].attempts[*].observations[*].at", "the payer's clock"),
    ("intents[*].attempts[*].verdict.readAt", "the payer's clock"),
    ("intents[*].delivery.at", "the payer's clock"),
    ("intents[*].purpose", "display text"),
    ("intents[*].scope", "an explicit id decides alone"),
    (
        "intents[*].attempts[*].observations[*].code",
        "a diagnosis that repeats the outcome in more words",
    ),
    (
        "intents[*].attempts[*].observations[*].money",
        "a diagnosis that repeats the outcome in more words",
    ),
    ("intents[*].attempts[*].verdict.money", "follows from the verdict"),
    ("intents[*].attempts[*].verdict.next", "follows from the verdict"),
    ("intents[*].attempts[*].verdict.index", "follows from the verdict"),
    (
        "intents[*].delivery.headers.content-type",
        "HTTP metadata that nobody signed or hashed",
    ),
    // The payer's own reads are no evidence; they must only lead to the recorded verdict.
    (
        "intents[*].attempts[*].evidence[*].block.timestamp",
        "a used authorization does not depend on the time",
    ),
    (
        "intents[*].attempts[*].evidence[*].block.number",
        "any later block says the same",
    ),
    (
        "intents[*].attempts[*].evidence[*].block.hash",
        "any later block says the same",
    ),
    (
        "intents[*].attempts[*].evidence[*].receipt.from",
        "the relayer, never the payer",
    ),
];

fn text(value: impl AsRef<str>) -> Json {
    Json::text(value)
}

fn word(address: &str) -> Json {
    text(format!("0x{}{}", "00".repeat(12), address[2..].to_lowercase()))
}

fn log(topics: Vec<Json>, data: String, index: &str) -> Json {
    Json::object([
        ("address", text(TOKEN.to_lowercase())),
        ("topics", Json::Array(topics)),
        ("data", text(data)),
        ("blockNumber", text("0x64")),
        ("blockHash", text(format!("0x{}", "b1".repeat(32)))),
        ("transactionHash", text(TRANSACTION)),
        ("logIndex", text(index)),
        ("removed", Json::Bool(false)),
    ])
}

/// What a node answers for a paid authorization.
fn evidence(nonce: &str, to: &str, value: u64, tag: &str) -> Json {
    let used = log(
        vec![
            text("0x98de503528ee59b575ef0c0a2576a82497bfc029a5685b209e9ec333479b10a5"),
            word(PAYER),
            text(nonce),
        ],
        "0x".into(),
        "0x4",
    );
    let transfer = log(
        vec![
            text("0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"),
            word(PAYER),
            word(to),
        ],
        format!("0x{value:064x}"),
        "0x5",
    );
    Json::object([
        ("chainId", text("0x14a34")),
        (
            "block",
            Json::object([
                ("number", text("0x78")),
                ("hash", text(format!("0x{}", "f7".repeat(32)))),
                ("timestamp", text("0x68e77998")),
                ("tag", text(tag)),
            ]),
        ),
        ("authorizationState", text(format!("0x{:064x}", 1))),
        ("logs", Json::Array(vec![used.clone()])),
        (
            "receipt",
            Json::object([
                ("transactionHash", text(TRANSACTION)),
                ("blockNumber", text("0x64")),
                ("blockHash", text(format!("0x{}", "b1".repeat(32)))),
                ("status", text("0x1")),
                ("from", text(ATTACKER.to_lowercase())),
                ("logs", Json::Array(vec![used, transfer])),
            ]),
        ),
    ])
}

/// A final block, past the window, at which the nonce was never used.
fn unused(nonce: &str) -> Json {
    let mut unused = evidence(nonce, SELLER, 10000, "finalized");
    unused.set("authorizationState", text(format!("0x{:064x}", 0)));
    unused.set("logs", Json::Array(Vec::new()));
    unused.set("receipt", Json::Null);
    unused
}

/// A delivered purchase, as the journal holds it, and its nonce.
fn record(id: &str) -> (Json, String) {
    let payer = Address::parse(PAYER).unwrap();
    let (network, asset) = (
        Network::parse("eip155:84532").unwrap(),
        Address::parse(TOKEN).unwrap(),
    );
    let secret = [7; 32];
    let request = Request::new("POST", "https://api.example.com/price?symbol=ABC", b"{}").unwrap();
    let fingerprint = request.fingerprint().unwrap();
    let price = json::parse(&format!(
        r#"{{"x402Version":2,"resource":{{"url":"https://api.example.com/price","description":"A price"}},
            "accepts":[{{"scheme":"exact","network":"eip155:84532","amount":"10000","asset":"{TOKEN}","payTo":"{SELLER}",
            "maxTimeoutSeconds":60,"extra":{{"name":"USDC","version":"2"}}}}],
            "extensions":{{"payment-identifier":{{"info":{{"required":true}},"schema":{{}}}}}}}}"#
    ))
    .unwrap();
    let required: PaymentRequired = payment_required::parse(None, Some(&price.to_text())).unwrap();
    let offer = &required.offers[0];
    let quote_hash = quote::quote_hash(&offer.requirements, &fingerprint).unwrap();
    let intent_id = intent::explicit_intent_id(&payer, id).unwrap();
    let nonce =
        intent::authorization_nonce(&intent_id, &payer, &network, &asset, 0, 0, Some(&secret)).unwrap();
    let payment_id = intent::payment_id(&intent_id, &quote_hash, 0, Some(&secret)).unwrap();
    let authorization = Authorization {
        from: payer,
        to: Address::parse(SELLER).unwrap(),
        value: Amount::parse("10000").unwrap(),
        valid_after: Amount::ZERO,
        valid_before: Amount::parse("1760000060").unwrap(),
        nonce,
    };
    let domain = Domain {
        name: "USDC".into(),
        version: "2".into(),
        chain_id: 84532,
        verifying_contract: asset,
    };
    let params = Json::object([
        ("authorization", authorization.to_json()),
        ("domain", domain.to_json()),
    ]);
    let key = Some(hex::decode(PAYER_KEY).unwrap().into());
    let signature = wasm::call("signAuthorization", &params.to_text(), None, key).unwrap();
    let signature = signature.as_str().unwrap();
    let payment =
        payment_payload::build(&required, offer, &authorization, signature, Some(&payment_id)).unwrap();
    let (name, value) = payment_payload::encode(&payment).unwrap();
    let settlement = base64::encode(
        format!(
            r#"{{"success":true,"transaction":"{TRANSACTION}","network":"eip155:84532","payer":"{PAYER}"}}"#
        )
        .as_bytes(),
    );
    let nonce = hex::encode(nonce);
    let attempt_id = format!("{intent_id}/0");
    let record = json::parse(&format!(
        r#"{{"v":1,"kind":"intent","intentId":"{intent_id}","principal":"{PAYER}","id":"{id}","purpose":"a price",
        "scope":"default","occurrence":0,"createdAt":1760000000,"updatedAt":1760000005,"status":"delivered",
        "rail":{{"network":"eip155:84532","asset":"{TOKEN}","payer":"{PAYER}","method":"eip3009"}},
        "generation":0,"keyed":true}}"#
    ))
    .unwrap()
    .with("request", request.to_json().with("fingerprint", text(hex::encode(fingerprint))))
    .with(
        "quotes",
        Json::Array(vec![Json::object([
            ("quoteHash", text(hex::encode(quote_hash))),
            ("requirements", offer.requirements.clone()),
            (
                "required",
                Json::object([
                    ("x402Version", Json::number(2)),
                    ("resource", required.resource.clone().unwrap()),
                    ("extensions", required.extensions.clone().unwrap()),
                ]),
            ),
            ("seenAt", Json::number(1760000000)),
        ])]),
    )
    .with(
        "attempts",
        Json::Array(vec![json::parse(&format!(
            r#"{{"attemptId":"{attempt_id}","paymentId":"{payment_id}","generation":0,"signature":"{signature}",
            "plannedAt":1760000000,"signedAt":1760000001,"sends":[1760000001],"settlement":"{settlement}",
            "observations":[{{"at":1760000003,"status":200,"outcome":"settled","code":"settled","money":"proven",
            "transaction":"{TRANSACTION}"}}],"state":"paid","transaction":"{TRANSACTION}",
            "verdict":{{"verdict":"paid","money":"proven","next":"lookup_receipt","transaction":"{TRANSACTION}","index":0,
            "reasons":[],"readAt":1760000004}}}}"#
        ))
        .unwrap()
        .with("quoteHash", text(hex::encode(quote_hash)))
        .with("authorization", authorization.to_json())
        .with("domain", domain.to_json())
        .with("header", Json::object([("name", text(name)), ("value", text(value))]))
        .with("evidence", Json::Array(vec![evidence(&nonce, SELLER, 10000, "latest")]))]),
    )
    .with(
        "delivery",
        json::parse(&format!(
            r#"{{"at":1760000003,"attemptId":"{attempt_id}","status":200,"sha256":"{}","length":{},"body":"{}",
            "headers":{{"content-type":"application/json","payment-response":"{settlement}"}}}}"#,
            hex::encode(digest::sha256(BODY)),
            BODY.len(),
            base64::encode(BODY)
        ))
        .unwrap(),
    );
    (record, nonce)
}

fn bundle(records: Vec<Json>) -> Json {
    Json::object([
        ("type", text("counterfoil/bundle")),
        ("v", Json::number(1)),
        ("exportedAt", Json::number(1760000010)),
        ("payer", text(PAYER)),
        ("intents", Json::Array(records)),
    ])
}

fn verify(receipt: &Json, material: &Json, body: Option<&[u8]>) -> Result<Json, counterfoil::error::Error> {
    let input = Json::object([
        ("receipt", text(receipt.to_text())),
        ("material", material.clone()),
    ]);
    wasm::call("verifyReceipt", &input.to_text(), body.map(<[u8]>::to_vec), None)
}

fn verdict(report: &Json) -> &str {
    report.get("verdict").unwrap().as_str().unwrap()
}

fn state<'a>(report: &'a Json, id: &str) -> &'a str {
    let checks = report.get("checks").unwrap().as_array().unwrap();
    let check = checks.iter().find(|check| check.get("id") == Some(&text(id)));
    check
        .unwrap_or_else(|| panic!("no check {id}"))
        .get("state")
        .unwrap()
        .as_str()
        .unwrap()
}

fn material(evidence: Json) -> Json {
    Json::object([("evidence", evidence)])
}

fn set(json: &mut Json, path: &[&str], value: Json) {
    let [name, rest @ ..] = path else {
        return *json = value;
    };
    match json {
        Json::Array(items) => set(&mut items[name.parse::<usize>().unwrap()], rest, value),
        Json::Object(members) => match members.iter_mut().find(|(key, _)| key == name) {
            Some((_, member)) => set(member, rest, value),
            None => members.push(((*name).to_owned(), value)),
        },
        _ => panic!("no member {name}"),
    }
}

/// Every leaf with other values for it.
fn leaves(json: &Json, path: &str, found: &mut Vec<(String, Vec<Json>)>) {
    match json {
        Json::Object(members) => {
            for (name, value) in members {
                leaves(
                    value,
                    &if path.is_empty() {
                        name.clone()
                    } else {
                        format!("{path}\u{1}{name}")
                    },
                    found,
                );
            }
        }
        Json::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                leaves(item, &format!("{path}\u{1}{index}"), found);
            }
        }
        Json::Bool(value) => found.push((path.to_owned(), vec![Json::Bool(!value)])),
        Json::Number(number) => {
            let number: u64 = number.parse().unwrap();
            found.push((
                path.to_owned(),
                vec![Json::number(number + 1), Json::number(number + 1000)],
            ));
        }
        Json::String(old) if Address::parse(old).is_ok() => {
            found.push((path.to_owned(), vec![text(ATTACKER.to_lowercase())]));
        }
        Json::String(old) => {
            let changed = |at: usize| {
                let new = if old.as_bytes()[at] == b'1' { "2" } else { "1" };
                text(format!("{}{new}{}", &old[..at], &old[at + 1..]))
            };
            // A few places spread over the text; for a digest or a signature each of them counts.
            let places = [old.len() - 1, old.len() / 2, old.len() / 3, old.len() / 5];
            let changes = if old.is_empty() {
                vec![text("1")]
            } else {
                places.map(changed).to_vec()
            };
            found.push((path.to_owned(), changes));
        }
        Json::Null => found.push((path.to_owned(), vec![text("x")])),
    }
}

/// `intents[0].attempts[0].sends[0]`, and the same with `*` for the indices.
fn shown(path: &str) -> String {
    let mut out = String::new();
    for part in path.split('\u{1}') {
        if part.bytes().all(|byte| byte.is_ascii_digit()) {
            out.push_str("[*]");
        } else {
            out.push_str(if out.is_empty() { "" } else { "." });
            out.push_str(part);
        }
    }
    out
}

#[test]
fn a_good_bundle_is_verified_and_no_leaf_can_be_changed() {
    let (record, nonce) = record("order-2025-10-09-0001");
    let good = bundle(vec![record]);
    let material = material(evidence(&nonce, SELLER, 10000, "finalized"));
    let report = verify(&good, &material, None).unwrap();
    assert_eq!(verdict(&report), "verified", "{}", report.to_text());
    assert_eq!(
        report.get("facts").unwrap().get("transaction"),
        Some(&text(TRANSACTION))
    );

    let mut found = Vec::new();
    leaves(&good, "", &mut found);
    assert!(found.len() > 100, "{}", found.len());
    let mut unnoticed = Vec::new();
    let mut excused = vec![false; UNCOVERED.len()];
    for (path, changes) in &found {
        let name = shown(path);
        for change in changes {
            let mut bad = good.clone();
            set(&mut bad, &path.split('\u{1}').collect::<Vec<_>>(), change.clone());
            let noticed = verify(&bad, &material, None).is_err_and(|_| true)
                || verify(&bad, &material, None).is_ok_and(|report| verdict(&report) == "failed");
            match UNCOVERED.iter().position(|(path, _)| *path == name) {
                Some(at) if !noticed => excused[at] = true,
                None if !noticed => unnoticed.push(name.clone()),
                _ => {}
            }
        }
    }
    unnoticed.dedup();
    assert!(unnoticed.is_empty(), "changed without notice: {unnoticed:#?}");
    let needless: Vec<_> = UNCOVERED
        .iter()
        .zip(&excused)
        .filter(|(_, used)| !**used)
        .collect();
    assert!(needless.is_empty(), "listed without need: {needless:#?}");
}

#[test]
fn trust_comes_from_the_caller_alone() {
    let (record, nonce) = record("order-2025-10-09-0001");
    let good = bundle(vec![record]);
    let none = Json::Object(Vec::new());
    // The bundle's own reads are no evidence.
    let report = verify(&good, &none, None).unwrap();
    assert_eq!(
        (verdict(&report), state(&report, "chain.source")),
        ("incomplete", "not_checked")
    );
    // A block that can be replaced is not enough.
    let report = verify(&good, &material(evidence(&nonce, SELLER, 10000, "latest")), None).unwrap();
    assert_eq!(
        (verdict(&report), state(&report, "chain.finality")),
        ("incomplete", "not_checked")
    );
    // The money went elsewhere, or another amount did.
    for (to, value) in [(ATTACKER, 10000), (SELLER, 9999), (SELLER, 10001)] {
        let report = verify(&good, &material(evidence(&nonce, to, value, "finalized")), None).unwrap();
        assert_eq!(
            (verdict(&report), state(&report, "chain.transfer")),
            ("failed", "fail")
        );
    }
    // Two sources that differ are no vote.
    let two = Json::Array(vec![
        evidence(&nonce, SELLER, 10000, "finalized"),
        evidence(&nonce, ATTACKER, 10000, "finalized"),
    ]);
    let report = verify(&good, &material(two), None).unwrap();
    assert_eq!(
        (verdict(&report), state(&report, "chain.source")),
        ("incomplete", "not_checked")
    );
    // Evidence about another nonce is not about this payment.
    let other = format!("0x{}", "11".repeat(32));
    let report = verify(
        &good,
        &material(evidence(&other, SELLER, 10000, "finalized")),
        None,
    )
    .unwrap();
    assert_eq!(verdict(&report), "incomplete");
    // The chain proves that nothing moved, the record says that it did.
    let report = verify(&good, &material(unused(&nonce)), None).unwrap();
    assert_eq!(
        (verdict(&report), state(&report, "chain.authorization")),
        ("failed", "fail")
    );
}

#[test]
fn the_answer_is_its_exact_bytes() {
    let (mut record, nonce) = record("order-2025-10-09-0001");
    let material = material(evidence(&nonce, SELLER, 10000, "finalized"));
    let good = bundle(vec![record.clone()]);
    for (body, expected) in [
        (BODY, "verified"),
        (BODY.strip_suffix(b"\n").unwrap(), "failed"),
        (b"{\"price\":101.5,\"symbol\":\"ABC\"}", "failed"),
        (b"", "failed"),
    ] {
        assert_eq!(verdict(&verify(&good, &material, Some(body)).unwrap()), expected);
    }
    // Only the digest was kept: the caller brings the bytes.
    if let Some(Json::Object(delivery)) = record.get("delivery").cloned() {
        record.set(
            "delivery",
            Json::Object(delivery.into_iter().filter(|(name, _)| name != "body").collect()),
        );
    }
    let lean = bundle(vec![record]);
    let report = verify(&lean, &material, None).unwrap();
    assert_eq!(
        (verdict(&report), state(&report, "delivery.hash")),
        ("incomplete", "not_checked")
    );
    assert_eq!(
        verdict(&verify(&lean, &material, Some(BODY)).unwrap()),
        "verified"
    );
    assert_eq!(verdict(&verify(&lean, &material, Some(b"x")).unwrap()), "failed");
    let coded = material.with("bodyEncoding", text("gzip"));
    assert_eq!(verdict(&verify(&lean, &coded, Some(b"x")).unwrap()), "incomplete");
}

#[test]
fn expectations_are_compared_exactly() {
    let (record, nonce) = record("order-2025-10-09-0001");
    let good = bundle(vec![record]);
    let material = material(evidence(&nonce, SELLER, 10000, "finalized"));
    for (name, value, expected) in [
        ("payer", PAYER, "verified"),
        ("payer", ATTACKER, "failed"),
        ("payTo", SELLER, "verified"),
        ("payTo", PAYER, "failed"),
        ("amount", "10000", "verified"),
        ("amount", "1000", "failed"),
        ("kind", "settlement", "failed"),
        ("resource", "https://api.example.com/price?symbol=ABC", "verified"),
        (
            "resource",
            "HTTPS://API.example.com:443/x/../price?symbol=ABC#top",
            "verified",
        ),
        ("resource", "http://api.example.com/price?symbol=ABC", "failed"),
        ("resource", "https://api.example.com/price", "failed"),
        ("resource", "https://api.example.com/Price?symbol=ABC", "failed"),
        (
            "resource",
            "https://api.example.com.evil.test/price?symbol=ABC",
            "failed",
        ),
    ] {
        let material = material
            .clone()
            .with("expect", Json::object([(name, text(value))]));
        assert_eq!(
            verdict(&verify(&good, &material, None).unwrap()),
            expected,
            "{name} {value}"
        );
    }
    let material = material.with(
        "expect",
        Json::object([("resource", text("https://api.example.com@evil.test/"))]),
    );
    let error = verify(&good, &material, None).unwrap_err();
    assert_eq!(
        (error.code.as_str(), error.field.as_str()),
        ("url_invalid", "material.expect.resource")
    );
}

#[test]
fn several_purchases_are_told_apart() {
    let ((first, one), (second, two)) = (record("order-2025-10-09-0001"), record("order-2025-10-09-0002"));
    let good = bundle(vec![first, second]);
    let both = |one: Json, two: Json| material(Json::Array(vec![one, two]));
    let paid = |nonce: &str, value| evidence(nonce, SELLER, value, "finalized");
    let report = verify(&good, &both(paid(&one, 10000), paid(&two, 10000)), None).unwrap();
    assert_eq!(verdict(&report), "verified", "{}", report.to_text());
    assert_eq!(
        report.get("facts").unwrap().get("purchases"),
        Some(&Json::number(2))
    );
    let report = verify(&good, &both(paid(&one, 10000), paid(&two, 9000)), None).unwrap();
    assert_eq!(state(&report, "purchase[0].chain.transfer"), "pass");
    assert_eq!(state(&report, "purchase[1].chain.transfer"), "fail");
    let report = verify(&good, &material(paid(&two, 10000)), None).unwrap();
    assert_eq!(state(&report, "purchase[0].chain.source"), "not_checked");
    assert_eq!(verdict(&report), "incomplete");

    let input = Json::object([("receipt", text(good.to_text()))]);
    let targets = wasm::call("bundleEvidenceTargets", &input.to_text(), None, None).unwrap();
    let nonces: Vec<_> = targets
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one.get("nonce").unwrap().clone())
        .collect();
    assert_eq!(nonces, [text(one), text(two)]);
}

#[test]
fn facts_follow_the_authorization_that_was_paid() {
    // Two quotes under one nonce: 10000 was answered; the seller had spent the earlier one of 12000.
    let (record, nonce) = record("order-2025-10-09-0001");
    let quote = record.get("quotes").unwrap().as_array().unwrap()[0].clone();
    let attempt = record.get("attempts").unwrap().as_array().unwrap()[0].clone();
    let request = Request::from_json(record.get("request").unwrap()).unwrap();
    let requirements = quote
        .get("requirements")
        .unwrap()
        .clone()
        .with("amount", text("12000"));
    let hash = quote::quote_hash(&requirements, &request.fingerprint().unwrap()).unwrap();
    let dearer = quote
        .clone()
        .with("quoteHash", text(hex::encode(hash)))
        .with("requirements", requirements);
    let signed = attempt
        .get("authorization")
        .unwrap()
        .clone()
        .with("value", text("12000"));
    let kept = ["attemptId", "generation", "domain"];
    let earlier = Json::Object(
        attempt
            .as_object()
            .unwrap()
            .iter()
            .filter(|(name, _)| kept.contains(&name.as_str()))
            .cloned()
            .collect(),
    )
    .with("quoteHash", text(hex::encode(hash)))
    .with("authorization", signed)
    .with("state", text("planned"));
    let (id, next) = (attempt.get("attemptId").unwrap().as_str().unwrap(), "/1");
    let next = id.replace("/0", next);
    let answered = attempt
        .clone()
        .with("attemptId", text(next.as_str()))
        .with("evidence", Json::Null);
    let delivery = record
        .get("delivery")
        .unwrap()
        .clone()
        .with("attemptId", text(next));
    let mut two = record.with("delivery", delivery);
    two.set("quotes", Json::Array(vec![quote.clone(), dearer]));
    two.set("attempts", Json::Array(vec![earlier, answered]));
    let two = bundle(vec![two]);
    for (value, fact) in [(12000, "12000"), (10000, "10000")] {
        let report = verify(
            &two,
            &material(evidence(&nonce, SELLER, value, "finalized")),
            None,
        )
        .unwrap();
        assert_eq!(state(&report, "chain.transfer"), "pass", "{}", report.to_text());
        assert_eq!(report.get("facts").unwrap().get("amount"), Some(&text(fact)));
    }
}

#[test]
fn an_open_purchase_is_not_a_failed_one() {
    let (record, nonce) = record("order-2025-10-09-0001");
    let attempt = &record.get("attempts").unwrap().as_array().unwrap()[0];
    let kept = [
        "attemptId",
        "quoteHash",
        "paymentId",
        "generation",
        "authorization",
        "domain",
        "signature",
        "header",
    ];
    let attempt = Json::Object(
        attempt
            .as_object()
            .unwrap()
            .iter()
            .filter(|(name, _)| kept.contains(&name.as_str()))
            .cloned()
            .collect(),
    );
    let mut open = record.with("status", text("open")).with("delivery", Json::Null);
    open.set("attempts", Json::Array(vec![attempt.with("state", text("sent"))]));
    let open = bundle(vec![open]);
    let report = verify(&open, &material(unused(&nonce)), None).unwrap();
    assert_eq!(
        (verdict(&report), state(&report, "chain.source")),
        ("incomplete", "pass")
    );
    // It did land: paid, and nothing was delivered.
    let report = verify(
        &open,
        &material(evidence(&nonce, SELLER, 10000, "finalized")),
        None,
    )
    .unwrap();
    assert_eq!(verdict(&report), "verified", "{}", report.to_text());
    assert_eq!(
        report.get("facts").unwrap().get("delivered"),
        Some(&Json::Bool(false))
    );
}

#[test]
fn an_unnamed_call_is_bound_to_its_scope_and_number() {
    let (record, nonce) = record("order-2025-10-09-0001");
    let payer = Address::parse(PAYER).unwrap();
    let fingerprint = record.get("request").unwrap().get("fingerprint").unwrap().clone();
    let args = Json::object([("fingerprint", fingerprint), ("occurrence", Json::number(3))]);
    let unnamed = intent::intent_id(&payer, "fetch", &args, "default", None).unwrap();
    let named = record.get("intentId").unwrap().as_str().unwrap().to_owned();
    let text_of = record.to_text().replace(&named, &unnamed);
    let record = json::parse(&text_of)
        .unwrap()
        .with("id", Json::Null)
        .with("occurrence", Json::number(3));
    let material = material(evidence(&nonce, SELLER, 10000, "finalized"));
    let good = bundle(vec![record]);
    assert_eq!(verdict(&verify(&good, &material, None).unwrap()), "verified");
    for (name, value) in [
        ("scope", text("other")),
        ("occurrence", Json::number(4)),
        ("parent", text("0x01")),
        ("keyed", Json::Bool(false)),
    ] {
        let mut bad = good.clone();
        set(&mut bad, &["intents", "0", name], value);
        assert_eq!(
            verdict(&verify(&bad, &material, None).unwrap()),
            "failed",
            "{name}"
        );
    }
}

#[test]
fn what_is_no_bundle_is_an_error() {
    let (record, _) = record("order-2025-10-09-0001");
    let good = bundle(vec![record]);
    for (path, value, code, field) in [
        ("type", text("counterfoil/other"), "receipt_invalid", ""),
        ("v", Json::number(2), "unsupported_version", "v"),
        ("payer", text("0x00"), "address_invalid", "payer"),
        ("intents", Json::Null, "missing_field", "intents"),
        (
            "intents.0.v",
            Json::number(0),
            "unsupported_version",
            "intents[0].v",
        ),
        (
            "intents.0.kind",
            text("order"),
            "receipt_invalid",
            "intents[0].kind",
        ),
        (
            "intents.0.status",
            text("paid"),
            "receipt_invalid",
            "intents[0].status",
        ),
        ("intents.0.keyed", text("yes"), "invalid_type", "intents[0].keyed"),
        (
            "intents.0.attempts.0.state",
            text("lost"),
            "receipt_invalid",
            "intents[0].attempts[0].state",
        ),
        (
            "intents.0.attempts.0.header",
            text("x"),
            "invalid_type",
            "intents[0].attempts[0].header",
        ),
        (
            "intents.0.delivery.sha256",
            text("0x00"),
            "hex_invalid",
            "intents[0].delivery.sha256",
        ),
        (
            "intents.0.delivery.body",
            text("%%"),
            "base64_invalid",
            "intents[0].delivery.body",
        ),
    ] {
        let mut bad = good.clone();
        set(&mut bad, &path.split('.').collect::<Vec<_>>(), value);
        let error = verify(&bad, &Json::Object(Vec::new()), None).expect_err(path);
        assert_eq!(
            (error.code.as_str(), error.field.as_str()),
            (code, field),
            "{path}"
        );
    }
}

/// Documents of every profile with the caller's material, and the verdict and checks that are expected of them.
#[test]
fn every_case() {
    for (name, least) in [
        ("cases", 81),
        ("claims", 40),
        ("claims-of-every-rail", 90),
        ("signed", 300),
    ] {
        let path = format!("{}/tests/receipts/{name}.json", env!("CARGO_MANIFEST_DIR"));
        every_case_of(&path, least);
    }
}

fn every_case_of(path: &str, least: usize) {
    let file = json::parse(&std::fs::read_to_string(path).unwrap()).unwrap();
    let cases = file.get("cases").unwrap().as_array().unwrap();
    let mut failures = Vec::new();
    for case in cases {
        let id = case.get("id").unwrap().as_str().unwrap();
        let bytes = |name| {
            case.get(name)
                .map(|body| hex::decode(body.as_str().unwrap()).unwrap())
        };
        // Members of the case stand before those that the cases share.
        let mut material = case.get("material").unwrap().clone();
        if case.get("base").is_some() {
            for (name, value) in file.get("base").unwrap().as_object().unwrap() {
                if material.get(name).is_none() {
                    material.set(name, value.clone());
                }
            }
        }
        let mut body = bytes("body");
        if let (Some(body), Some(decoded)) = (&mut body, bytes("decodedBody")) {
            material.set("bodyEnds", Json::number(body.len() as u64));
            body.extend(decoded);
        }
        let input = Json::object([
            ("receipt", case.get("receipt").unwrap().clone()),
            ("material", material),
        ]);
        let report = match (
            wasm::call("verifyReceipt", &input.to_text(), body, None),
            case.get("error"),
        ) {
            (Ok(report), None) => report,
            (Err(error), Some(wanted)) => {
                let is = |name: &str| wanted.get(name).unwrap().as_str().unwrap();
                if (error.code.as_str(), error.field.as_str()) != (is("code"), is("field")) {
                    failures.push(format!("{id}: {error}"));
                }
                continue;
            }
            (Err(error), None) => {
                failures.push(format!("{id}: {error}"));
                continue;
            }
            (Ok(report), Some(_)) => {
                failures.push(format!("{id}: {} and no error", verdict(&report)));
                continue;
            }
        };
        for absent in case
            .get("absent")
            .map(|names| names.as_array().unwrap())
            .unwrap_or_default()
        {
            if report
                .get("facts")
                .unwrap()
                .get(absent.as_str().unwrap())
                .is_some()
            {
                failures.push(format!("{id}: fact {} is there", absent.to_text()));
            }
        }
        for (check, wanted) in case
            .get("why")
            .map(|whys| whys.as_object().unwrap())
            .unwrap_or_default()
        {
            let checks = report.get("checks").unwrap().as_array().unwrap();
            let found = checks
                .iter()
                .find(|one| one.get("id") == Some(&Json::text(check.as_str())));
            if found.and_then(|one| one.get("why")) != Some(wanted) {
                failures.push(format!("{id}: {check} is not for that reason"));
            }
        }
        let expected = case.get("verdict").unwrap().as_str().unwrap();
        if verdict(&report) != expected {
            let checks = report.get("checks").unwrap().to_text();
            failures.push(format!(
                "{id}: {} instead of {expected}\n{checks}",
                verdict(&report)
            ));
        }
        for (check, wanted) in case.get("states").unwrap().as_object().unwrap() {
            if state(&report, check) != wanted.as_str().unwrap() {
                failures.push(format!("{id}: {check} is {}", state(&report, check)));
            }
        }
        for (fact, wanted) in case
            .get("facts")
            .map(|facts| facts.as_object().unwrap())
            .unwrap_or_default()
        {
            if report.get("facts").unwrap().get(fact) != Some(wanted) {
                failures.push(format!("{id}: fact {fact}"));
            }
        }
    }
    assert!(cases.len() >= least, "{} cases", cases.len());
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Every letter of a signed receipt is covered: with another in its place it is refused or not verified.
#[test]
fn no_letter_of_a_signed_receipt_can_be_changed() {
    let path = format!("{}/tests/receipts/signed.json", env!("CARGO_MANIFEST_DIR"));
    let file = json::parse(&std::fs::read_to_string(path).unwrap()).unwrap();
    let base = file.get("base").unwrap().as_object().unwrap();
    let cases = file.get("cases").unwrap().as_array().unwrap();
    for id in [
        "receipt-proven",
        "receipt-jws-ES256K-proven",
        "receipt-jws-EdDSA-proven",
        "receipt-jws-ES256-proven",
    ] {
        let case = cases
            .iter()
            .find(|case| case.get("id") == Some(&text(id)))
            .unwrap();
        let mut material = case.get("material").unwrap().clone();
        base.iter()
            .for_each(|(name, value)| material.set(name, value.clone()));
        let verdict_of = |receipt: &str| {
            let input = Json::object([("receipt", text(receipt)), ("material", material.clone())]);
            wasm::call("verifyReceipt", &input.to_text(), None, None)
                .map_or("refused".to_owned(), |report| verdict(&report).to_owned())
        };
        let receipt = case.get("receipt").unwrap().as_str().unwrap();
        assert_eq!(verdict_of(receipt), "verified", "{id}");
        for at in 0..receipt.len() {
            for other in ["A", "0"] {
                let changed = format!("{}{other}{}", &receipt[..at], &receipt[at + 1..]);
                // The case of a hexadecimal digit in a signature or hash is no other value.
                if changed != receipt && !changed.eq_ignore_ascii_case(receipt) {
                    assert_ne!(verdict_of(&changed), "verified", "{id}: {other} at {at}");
                }
            }
        }
    }
}
