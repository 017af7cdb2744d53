//! The paying machine on Tempo: what it orders from its signer, and what of that it sends.

#[path = "client/host.rs"]
mod host;
#[path = "client/tempo.rs"]
mod tempo;

use counterfoil::json;
use counterfoil::mpp::credential;
use host::{assert_fails, held, record, text, Host, NOW, SELLER, URL};
use tempo::*;

#[test]
fn what_is_ordered_and_sent() {
    let mut host = payer();
    let asked = ask_signer(&mut host, &asks("c1", "", ""));
    let order = asked.get("sign").unwrap().get("transaction").unwrap();
    let call = &order.get("calls").unwrap().as_array().unwrap()[0];
    assert_eq!((text(call, "to"), text(call, "value")), (TOKEN, "0"));
    let data = format!(
        "0x95777d59{:0>64}{:0>64}{}",
        SELLER.trim_start_matches("0x").to_lowercase(),
        "2710",
        fixture("memos", "c1").trim_start_matches("0x")
    );
    assert_eq!(text(call, "data"), data);
    for (name, value) in [
        ("chainId", "42431".to_owned()),
        (
            "nonceKey",
            format!(
                r#""{}""#,
                "115792089237316195423570985008687907853269984665640564039457584007913129639935"
            ),
        ),
        ("nonce", "0".to_owned()),
        ("validBefore", (NOW + 25).to_string()),
        ("feePayer", "false".to_owned()),
        ("feeToken", format!(r#""{TOKEN}""#)),
        ("maxFee", r#""50000""#.to_owned()),
    ] {
        assert_eq!(order.get(name).unwrap().to_text(), value, "{name}");
    }
    let sent = host.on(&signed(&fixture("good", "c1")));
    let header = sent.get("payment").unwrap();
    assert_eq!(text(header, "name"), "Authorization");
    let credential = credential::parse(text(header, "value")).unwrap();
    assert_eq!(credential.challenge.request, request("10000", ""));
    let payer = wasm_payer();
    assert_eq!(
        credential.source.unwrap(),
        format!("did:pkh:eip155:42431:{payer}")
    );
    assert_eq!(
        (
            text(&credential.payload, "type"),
            text(&credential.payload, "signature")
        ),
        ("transaction", fixture("good", "c1").as_str())
    );
}

/// Every write before the send is cut off in turn: nothing was sent, and the next call signs no second transaction.
#[test]
fn the_journal_holds_the_bytes_before_anything_is_sent() {
    let mut host = payer();
    ask_signer(&mut host, &asks("c1", "", ""));
    assert_eq!(
        (text(&attempt(&host), "state"), held(&host)),
        ("planned", vec!["reserved 60000".to_owned()])
    );
    let unwritten = host.event(&signed(&fixture("good", "c1")));
    assert_eq!(text(&unwritten, "type"), "persist");
    let end = host.event(r#"{"type":"persist_failed"}"#);
    assert_fails(&end, "journal_unavailable", "none");
    // After a restart: the same order, and it may be signed again, for what was signed never left.
    let asked = host.fetch(URL);
    assert_eq!(text(&asked, "type"), "sign", "{}", asked.to_text());
    let sent = host.on(&signed(&fixture("good", "again")));
    assert_eq!(text(&sent, "type"), "send");
    let attempt = attempt(&host);
    assert_eq!(attempt.get("header"), sent.get("payment"));
    assert_eq!(text(&attempt, "signature"), fixture("good", "again"));
    assert_eq!(
        text(attempt.get("tempoPayment").unwrap(), "hash"),
        fixture("hashes", "again")
    );
    assert_eq!(record(&host).get("v").unwrap().to_text(), "2");
}

#[test]
fn what_is_signed_otherwise_is_not_sent() {
    let all = json::parse(include_str!("client/tempo.json")).unwrap();
    let wrong = all.get("wrong").unwrap().as_object().unwrap();
    assert_eq!(wrong.len(), 20);
    for (name, transaction) in wrong {
        let mut host = payer();
        ask_signer(&mut host, &asks("c1", "", ""));
        let end = host.on(&signed(transaction.as_str().unwrap()));
        assert_fails(&end, "transaction_differs", "none");
        let field = match name.as_str() {
            "fee_rounded_up" => "maxFee",
            "earlier" => "validBefore",
            "no_fee_token" => "feeToken",
            "amount" | "less" | "recipient" | "memo" | "client" | "no_memo" | "token" | "twice" | "more"
            | "value" => "calls",
            same => same,
        };
        assert_eq!(
            text(end.get("error").unwrap(), "field"),
            format!("signature.{field}"),
            "{name}"
        );
        assert!(host.states().is_empty() && held(&host).is_empty(), "{name}");
    }
    for (signature, code) in [
        (fixture("good", "c2"), "transaction_differs"),
        ("0x76c0".to_owned(), "transaction_invalid"),
        ("0x".to_owned(), "transaction_invalid"),
        (
            fixture("good", "c1").replacen("0x76", "0x77", 1),
            "transaction_invalid",
        ),
    ] {
        let mut host = payer();
        ask_signer(&mut host, &asks("c1", "", ""));
        assert_fails(&host.on(&signed(&signature)), code, "none");
    }
    let all = text(&all, "stranger").to_owned();
    let mut host = payer();
    ask_signer(&mut host, &asks("c1", "", ""));
    assert_fails(&host.on(&signed(&all)), "signer_mismatch", "none");
}

#[test]
fn a_fee_of_exactly_the_cap() {
    let mut host = payer();
    ask_signer(&mut host, &asks("c1", "", ""));
    assert_eq!(text(&host.on(&signed(&fixture("good", "cap"))), "type"), "send");
    let mut host = payer_with(r#","maxFee":"49999""#, 0);
    ask_signer(&mut host, &asks("c1", "", ""));
    assert_fails(
        &host.on(&signed(&fixture("good", "cap"))),
        "transaction_differs",
        "none",
    );
}

#[test]
fn the_splits_stand_behind_the_main_transfer() {
    let splits = format!(
        r#","splits":[{{"amount":"2000","recipient":"{OTHER}"}},{{"amount":"1000","memo":"0x{}","recipient":"0xaAB4A9ED5ab9c0C03B8B2bbE15Ea4b6F4a1BfBa7"}}]"#,
        "07".repeat(32)
    );
    let all = json::parse(include_str!("client/tempo.json")).unwrap();
    let splits = splits.replace("0xaAB4A9ED5ab9c0C03B8B2bbE15Ea4b6F4a1BfBa7", text(&all, "second"));
    let mut host = payer();
    let asked = ask_signer(&mut host, &asks("c1", &splits, ""));
    let order = asked.get("sign").unwrap().get("transaction").unwrap();
    assert_eq!(order.get("calls").unwrap().as_array().unwrap().len(), 3);
    assert_eq!(held(&host), ["reserved 60000"]);
    assert_fails(
        &host.copy().on(&signed(&fixture("good", "c1"))),
        "transaction_differs",
        "none",
    );
    assert_eq!(
        text(&host.on(&signed(&fixture("good", "splits"))), "type"),
        "send"
    );
    // Whoever is not on the list gets no share.
    let mut host = payer_with(&format!(r#","recipients":["{SELLER}"]"#), 0);
    host.fetch(URL);
    assert_fails(&host.on(&asks("c1", &splits, "")), "recipient_forbidden", "none");
}

#[test]
fn a_sponsor_pays_the_fee() {
    let mut host = payer();
    let asked = ask_signer(&mut host, &asks("c1", r#","feePayer":true"#, ""));
    let order = asked.get("sign").unwrap().get("transaction").unwrap();
    assert_eq!((order.get("feeToken"), order.get("maxFee")), (None, None));
    assert_fails(
        &host.copy().on(&signed(&fixture("good", "c1"))),
        "transaction_differs",
        "none",
    );
    assert_eq!(
        text(&host.on(&signed(&fixture("good", "sponsored"))), "type"),
        "send"
    );
    // The sponsor signs after the payer: there is no hash to ask for.
    let read = host.on(TIMEOUT);
    assert_eq!(read.get("read").unwrap().get("hash"), None);
    let hash = format!("0x{}", "5e".repeat(32));
    host.on(&Told {
        logged: &[&hash],
        ..NOTHING
    }
    .of(&read));
    assert_eq!(
        (host.states(), text(&attempt(&host), "transaction")),
        (vec!["paid".to_owned()], hash.as_str())
    );
}

#[test]
fn what_is_not_taken() {
    let details = |details: &str| asks("c1", details, "");
    let swap = |from: &str, to: &str| asks("c1", "", "").replace(from, to);
    let terms = |amount: &str| swap(&request("10000", ""), &request(amount, ""));
    let cases = [
        (
            details(&format!(r#","memo":"0x{}""#, "11".repeat(32))),
            "no_supported_payment_option",
        ),
        (
            details(r#","supportedModes":["push"]"#),
            "no_supported_payment_option",
        ),
        (
            details(r#","supportedModes":"pull""#),
            "no_supported_payment_option",
        ),
        (details(r#","feePayer":"yes""#), "challenge_invalid"),
        (details(r#","memo":"0x11""#), "challenge_invalid"),
        (
            details(&format!(
                r#","splits":[{{"amount":"1","memo":"{}","recipient":"{OTHER}"}}]"#,
                fixture("memos", "c1")
            )),
            "challenge_invalid",
        ),
        (terms("0"), "challenge_invalid"),
        (terms("60001"), "over_cap"),
        (swap("charge", "session"), "no_supported_payment_option"),
        (
            asks("c1", "", r#", expires="2026-09-21T14:13:20Z""#),
            "challenge_expired",
        ),
        (
            swap(r#"method=\"tempo\""#, r#"method=\"tempoo\""#),
            "no_supported_payment_option",
        ),
    ];
    for (answer, code) in cases {
        let mut host = payer();
        host.fetch(URL);
        assert_fails(&host.on(&answer), code, "none");
        assert!(host.rows.is_empty(), "{code}");
    }
    // Another chain, or another token there, than the policy lists.
    let mut host = payer();
    host.config = host.config.replace(
        r#""asset":"0x20C0000000000000000000000000000000000001""#,
        r#""asset":"0x20C0000000000000000000000000000000000002""#,
    );
    host.fetch(URL);
    assert_fails(&host.on(&asks("c1", "", "")), "unknown_asset", "none");
    for (from, to) in [
        (r#","signsTempo":true"#, ""),
        (
            r#""signsTempo":true"#,
            r#""signsTempo":true,"contractWallet":true"#,
        ),
        (
            r#","assets":[{"network":"eip155:42431","asset":"0x20C0000000000000000000000000000000000001"}]"#,
            "",
        ),
    ] {
        let mut host = payer();
        assert!(host.config.contains(from));
        host.config = host.config.replace(from, to);
        host.fetch(URL);
        assert_fails(
            &host.on(&asks("c1", "", "")),
            "no_supported_payment_option",
            "none",
        );
    }
}

#[test]
fn the_window_is_short_whatever_the_policy_allows() {
    let mut host = payer();
    // A seller whose clock runs ahead moves nothing.
    let ahead = asks("c1", "", "").replace(
        r#""headers":{"#,
        r#""headers":{"date":"Mon, 21 Sep 2026 14:15:20 GMT","#,
    );
    let asked = ask_signer(&mut host, &ahead);
    let order = asked.get("sign").unwrap().get("transaction").unwrap();
    assert_eq!(
        order.get("validBefore").unwrap().to_text(),
        (NOW + 25).to_string()
    );
    let mut late = host.copy();
    host.now += 24;
    late.now += 25;
    assert_eq!(text(&host.on(&signed(&fixture("good", "c1"))), "type"), "send");
    assert_fails(
        &late.on(&signed(&fixture("good", "c1"))),
        "expired_before_send",
        "none",
    );
    // Ten seconds from NOW, by the challenge or by the policy.
    let mut host = payer();
    ask_signer(&mut host, &asks("c1", "", r#", expires="2026-09-21T14:13:30Z""#));
    assert_eq!(text(&host.on(&signed(&fixture("good", "ends"))), "type"), "send");
    let mut host = payer();
    host.config = host.config.replace(r#""maxWindow":60"#, r#""maxWindow":10"#);
    ask_signer(&mut host, &asks("c1", "", ""));
    assert_eq!(text(&host.on(&signed(&fixture("good", "ends"))), "type"), "send");
}

/// A payer that trusts no source could never say what became of a payment there.
#[test]
fn what_can_never_be_proven_is_not_signed() {
    let trusting = |mut host: Host| {
        host.config = host
            .config
            .replace(r#""readable":"#, r#""trustedBlocks":[],"readable":"#);
        host
    };
    let mut host = trusting(payer());
    host.fetch(URL);
    let end = host.on(&asks("c1", "", ""));
    assert_fails(&end, "rail_not_provable", "none");
    let field = text(end.get("error").unwrap(), "field");
    assert_eq!(field, "challenges[0].method");
    assert!(!host.rows.keys().any(|key| key.starts_with("intent/")));
    // Nor a second time, where the first was signed before that.
    let (mut host, _) = lost_answer();
    host.now += 600;
    let mut host = trusting(host.copy());
    let mut end = host.fetch(URL);
    while text(&end, "type") == "read_chain" {
        let dead = Told {
            time: NOW + 600,
            ..NOTHING
        };
        end = host.on(&dead.of(&end));
    }
    assert_fails(&end, "outcome_unknown", "possible");
}
