//! What comes after a payment, on every rail: a confirmation that comes twice, a second charge, one that lands late, an answer that
//! never comes. What is owed stays open until evidence closes it.

#[path = "client/bitmap.rs"]
mod bitmap;
#[path = "client/host.rs"]
mod host;

use std::collections::BTreeMap;

use counterfoil::conflict::{self, find_conflicts};
use counterfoil::finding::Finding;
use counterfoil::json::{self, Json};
use counterfoil::{base64, wasm};
use host::{
    assert_fails, chain_at, held, priced, record, signed, text, Host, KEY, NOW, SELLER, SEPOLIA, TOKEN,
    TRANSFER, URL,
};

const FEE: &str = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
const TIMEOUT: &str = r#"{"type":"answer","answer":{"transport":"timeout"}}"#;
/// After every window that a test signs for.
const LATER: u64 = NOW + 1_000;

/// One way to pay 10000, and how much of it moves to whom.
#[derive(Clone, Copy)]
struct Rail {
    name: &'static str,
    price: fn(&str) -> String,
    moves: &'static [(&'static str, u64)],
    bitmap: bool,
    /// The challenge dictates the nonce: two of them are two nonces.
    dictated: bool,
}

const RAILS: [Rail; 5] = [
    Rail {
        name: "eip3009",
        price: |_| offer("exact", ""),
        moves: &[(SELLER, 10_000)],
        bitmap: false,
        dictated: false,
    },
    Rail {
        name: "permit2",
        price: |_| offer("exact", r#","assetTransferMethod":"permit2""#),
        moves: &[(SELLER, 10_000)],
        bitmap: true,
        dictated: false,
    },
    Rail {
        name: "upto",
        price: |_| {
            offer(
                "upto",
                r#","assetTransferMethod":"permit2","facilitatorAddress":"0x70997970C51812dc3A010C7d01b50e0d17dc79C8""#,
            )
        },
        moves: &[(SELLER, 7_000)],
        bitmap: true,
        dictated: false,
    },
    Rail {
        name: "split",
        price: |_| {
            offer(
                "exact",
                r#","fee_split":{"v":1,"fee_to":"0x70997970C51812dc3A010C7d01b50e0d17dc79C8","fee_amount":"300","merchant_amount":"9700"}"#,
            )
        },
        moves: &[(SELLER, 9_700), (FEE, 300)],
        bitmap: false,
        dictated: false,
    },
    Rail {
        name: "mpp",
        price: challenge,
        moves: &[(SELLER, 10_000)],
        bitmap: false,
        dictated: true,
    },
];

fn offer(scheme: &str, more: &str) -> String {
    priced(&format!(
        r#"{{"x402Version":2,"resource":{{"url":"{URL}"}},"accepts":[{{"scheme":"{scheme}","network":"eip155:84532","amount":"10000","asset":"{TOKEN}","payTo":"{SELLER}","maxTimeoutSeconds":60,"extra":{{"name":"USDC","version":"2"{more}}}}}]}}"#
    ))
}

fn challenge(id: &str) -> String {
    let request = base64::encode_url(
        format!(
            r#"{{"amount":"10000","currency":"{TOKEN}","methodDetails":{{"chainId":84532,"credentialTypes":["authorization"]}},"recipient":"{SELLER}"}}"#
        )
        .as_bytes(),
    );
    let header = format!(
        r#"Payment id=\"{id}\", realm=\"api.example\", method=\"evm\", intent=\"charge\", request=\"{request}\""#
    );
    format!(
        r#"{{"type":"answer","answer":{{"status":402,"headers":{{"www-authenticate":"{header}"}},"body":"{{}}"}}}}"#
    )
}

/// What the chain is to say of every nonce.
#[derive(Clone, Copy, PartialEq)]
enum Fate {
    Open,
    Dead,
    /// In the block and the transaction that this digit names.
    Paid(char),
}

/// A payer on one rail, with what it signed by nonce.
struct Walk {
    rail: Rail,
    host: Host,
    signed: Vec<String>,
    reads: BTreeMap<String, String>,
}

impl Walk {
    fn on(rail: Rail) -> Walk {
        let policy = format!(
            r#"{{"perCall":"50000","maxWindow":60,"upto":true,"assets":[{{"network":"eip155:84532","asset":"{TOKEN}"}}]}}"#
        );
        Walk {
            rail,
            host: Host::new(&policy, true),
            signed: Vec::new(),
            reads: BTreeMap::new(),
        }
    }

    /// Paid for, and the answer is lost: the chain is asked.
    fn sent(rail: Rail, secret: u8, id: &str) -> (Walk, Json) {
        let mut walk = Walk::on(rail);
        walk.host.secret = secret;
        walk.host.fetch(URL);
        let effect = walk.host.on(&(rail.price)(id));
        let effect = walk.go(effect, Fate::Open);
        assert_eq!(
            text(&effect, "type"),
            "send",
            "{}: {}",
            rail.name,
            effect.to_text()
        );
        let read = walk.host.on(TIMEOUT);
        (walk, read)
    }

    /// Sent, and every nonce has this fate.
    fn ended(rail: Rail, secret: u8, id: &str, fate: Fate) -> (Walk, Json) {
        let (mut walk, read) = Walk::sent(rail, secret, id);
        let end = walk.go(read, fate);
        (walk, end)
    }

    /// Signs what is asked for and answers every read, until the machine wants something else.
    fn go(&mut self, mut effect: Json, fate: Fate) -> Json {
        loop {
            let event = match text(&effect, "type") {
                "read_chain" => {
                    let told = self.told(&effect, fate);
                    let nonce = text(effect.get("read").unwrap(), "nonce").to_owned();
                    self.reads.insert(nonce, told.clone());
                    format!(r#"{{"type":"evidence","evidence":[{told}]}}"#)
                }
                "sign" => {
                    let sign = effect.get("sign").unwrap();
                    let one = sign.get("authorization").or(sign.get("permit2Authorization"));
                    let nonce = one.map(|one| text(one, "nonce").to_owned());
                    self.signed.extend(nonce);
                    signed(&effect, &KEY)
                }
                _ => return effect,
            };
            effect = self.host.on(&event);
        }
    }

    fn told(&self, read: &Json, fate: Fate) -> String {
        let nonce = text(read.get("read").unwrap(), "nonce");
        let part = self.signed.iter().position(|one| one == nonce).unwrap_or(0);
        let (to, value) = self.rail.moves[part % self.rail.moves.len()];
        let told = match (self.rail.bitmap, fate) {
            (true, Fate::Open) => bitmap::unused(read, NOW),
            (true, Fate::Dead) => bitmap::unused(read, LATER),
            (true, Fate::Paid(_)) => bitmap::used(read, Some(value)),
            (false, Fate::Open) => chain_at(NOW, SEPOLIA, read, 0, None),
            (false, Fate::Dead) => chain_at(LATER, SEPOLIA, read, 0, None),
            (false, Fate::Paid(_)) => chain_at(NOW, SEPOLIA, read, 1, Some((to, value))),
        };
        let told = named(&told, nonce);
        match fate {
            Fate::Paid(digit) => {
                let told = told.replace(&"ab".repeat(32), &format!("a{digit}").repeat(32));
                // A later transaction stands in a later block.
                match digit {
                    'c' => told
                        .replace(r#""0x64""#, r#""0x66""#)
                        .replace(r#""0x63""#, r#""0x65""#),
                    _ => told,
                }
            }
            _ => told,
        }
    }

    /// What was read last of every nonce.
    fn evidence(&self) -> String {
        let reads: Vec<&str> = self.reads.values().map(String::as_str).collect();
        format!("[{}]", reads.join(","))
    }

    fn bundle(&self) -> String {
        let record = record(&self.host);
        Json::object([
            ("type", Json::text("counterfoil/bundle")),
            ("v", Json::number(1)),
            ("payer", record.get("principal").unwrap().clone()),
            ("intents", Json::Array(vec![record])),
        ])
        .to_text()
    }

    fn total(&self) -> u64 {
        self.rail.moves.iter().map(|(_, value)| value).sum()
    }
}

/// The evidence with its nonce, in the form of one word.
fn named(evidence: &str, nonce: &str) -> String {
    let word = match nonce.starts_with("0x") {
        true => nonce.to_owned(),
        false => {
            let number = counterfoil::amount::Amount::parse(nonce).unwrap();
            counterfoil::hex::encode(number.to_be_bytes())
        }
    };
    json::parse(evidence)
        .unwrap()
        .with("nonce", Json::text(word))
        .to_text()
}

fn verify(document: &str, evidence: &str) -> Json {
    let material = json::parse(&format!(r#"{{"evidence":{evidence}}}"#)).unwrap();
    let input = Json::object([("receipt", Json::text(document)), ("material", material)]);
    wasm::call("verifyReceipt", &input.to_text(), None, None).unwrap()
}

fn amount(finding: &Finding) -> String {
    let amount = finding.amount.as_ref();
    amount.map(|(amount, ..)| amount.to_string()).unwrap_or_default()
}

/// Code, severity and amount of every finding.
fn told(bundles: &[&str]) -> Vec<(String, String, String)> {
    let found = find_conflicts(bundles).unwrap();
    let row = |one: &Finding| {
        (
            one.code.as_str().to_owned(),
            one.severity.as_str().to_owned(),
            amount(one),
        )
    };
    found.iter().map(row).collect()
}

fn rows(code: &str, severity: &str, amounts: &[String]) -> Vec<(String, String, String)> {
    let row = |amount: &String| (code.to_owned(), severity.to_owned(), amount.clone());
    amounts.iter().map(row).collect()
}

#[test]
fn paid_without_delivery_is_a_claim_that_stays_open_until_it_is_closed() {
    for rail in RAILS {
        let (mut walk, end) = Walk::ended(rail, 7, "c1", Fate::Paid('b'));
        assert_fails(&end, "paid_not_delivered", "proven");
        let sum = walk.total().to_string();
        assert_eq!(held(&walk.host), [format!("settled {sum}")], "{}", rail.name);
        let open = rows("paid_not_delivered", "alert", core::slice::from_ref(&sum));
        assert_eq!(told(&[&walk.bundle()]), open, "{}", rail.name);

        let evidence = walk.evidence();
        let asked = walk.host.intent("claim");
        let done = walk.go(asked, Fate::Paid('b'));
        assert_eq!(text(&done, "type"), "done", "{}: {}", rail.name, done.to_text());
        let claim = text(done.get("resolution").unwrap(), "claim").to_owned();
        let report = verify(&claim, &evidence);
        assert_eq!(
            text(&report, "verdict"),
            "verified",
            "{}: {}",
            rail.name,
            report.to_text()
        );
        let facts = report.get("facts").unwrap();
        assert_eq!(
            (text(facts, "amount"), text(facts, "payTo")),
            (sum.as_str(), SELLER)
        );
        assert_eq!(
            text(&verify(&claim, "[]"), "verdict"),
            "incomplete",
            "{}",
            rail.name
        );
        let report = verify(&walk.bundle(), &evidence);
        assert_eq!(
            text(&report, "verdict"),
            "verified",
            "{}: {}",
            rail.name,
            report.to_text()
        );

        // The next call buys nothing, and the claim is as open as before; a release closes it, in words.
        let again = walk.host.fetch(URL);
        assert_fails(&again, "paid_not_delivered", "proven");
        assert_eq!(told(&[&walk.bundle()]), open, "{}", rail.name);
        let id = host::intent_id(&walk.host);
        walk.host
            .start(&format!(r#"{{"mode":"release","intentId":"{id}"}}"#));
        let closed = rows("paid_not_delivered", "info", &[sum]);
        assert_eq!(told(&[&walk.bundle()]), closed, "{}", rail.name);
    }
}

#[test]
fn a_confirmation_that_comes_twice_is_one_payment() {
    for rail in RAILS {
        let (mut walk, _) = Walk::ended(rail, 7, "c1", Fate::Paid('b'));
        let before = (record(&walk.host), held(&walk.host), told(&[&walk.bundle()]));
        let again = walk.host.intent("resume");
        walk.go(again, Fate::Paid('b'));
        let after = (record(&walk.host), held(&walk.host), told(&[&walk.bundle()]));
        assert_eq!(after.1, before.1, "{}", rail.name);
        assert_eq!(after.2, before.2, "{}", rail.name);
        let attempts = |record: &Json| record.get("attempts").unwrap().clone();
        assert_eq!(attempts(&after.0), attempts(&before.0), "{}", rail.name);
        // The same record in two bundles, and the same payment read by two journals.
        let (other, _) = Walk::ended(rail, 7, "c1", Fate::Paid('b'));
        let (mine, theirs) = (walk.bundle(), other.bundle());
        for bundles in [[&mine, &mine], [&mine, &theirs]] {
            let bundles = bundles.map(String::as_str);
            assert_eq!(told(&bundles), before.2, "{}", rail.name);
        }
    }
}

/// The receipt of a charge, or of a refund of so much to the payer.
fn receipt(digit: char, block: u64, from: &str, to: &str, value: u64) -> String {
    let word = |text: &str| format!("0x{:0>64}", text.trim_start_matches("0x").to_lowercase());
    let hash = format!("0x{}", format!("a{digit}").repeat(32));
    let place = format!(r#""blockNumber":"{block:#x}","blockHash":"{hash}","transactionHash":"{hash}""#);
    let log = format!(
        r#"{{"address":"{TOKEN}",{place},"logIndex":"0x1","removed":false,"topics":["{TRANSFER}","{}","{}"],"data":"{}"}}"#,
        word(from),
        word(to),
        word(&format!("{value:x}"))
    );
    format!(r#"{{"status":"0x1",{place},"logs":[{log}]}}"#)
}

#[test]
fn a_second_charge_is_owed_back_until_the_chain_shows_that_it_went_back() {
    for rail in RAILS {
        // Two journals that derive different nonces, or that were challenged twice.
        let (secret, id) = match rail.dictated {
            true => (7, "c2"),
            false => (8, "c1"),
        };
        let (first, _) = Walk::ended(rail, 7, "c1", Fate::Paid('b'));
        let (second, _) = Walk::ended(rail, secret, id, Fate::Paid('c'));
        let bundles = [first.bundle(), second.bundle()];
        let bundles: Vec<&str> = bundles.iter().map(String::as_str).collect();
        let mut amounts: Vec<String> = rail.moves.iter().map(|(_, value)| value.to_string()).collect();
        amounts.sort();
        let charged = |found: &[Finding]| {
            let duplicates = found.iter().filter(|one| one.code.as_str() == "duplicate_charge");
            let row = |one: &Finding| (amount(one), one.severity.as_str(), one.next.as_str());
            let mut rows: Vec<_> = duplicates.map(row).collect();
            rows.sort();
            rows
        };
        let open: Vec<_> = amounts
            .iter()
            .map(|amount| (amount.clone(), "alert", "ask_human"))
            .collect();
        let found = find_conflicts(&bundles).unwrap();
        assert_eq!(charged(&found), open, "{}", rail.name);
        // In the other order the same.
        let mut swapped = bundles.clone();
        swapped.reverse();
        assert_eq!(find_conflicts(&swapped).unwrap(), found, "{}", rail.name);

        let payer = text(&record(&second.host), "principal").to_owned();
        let owed = format!("0x{}", "ac".repeat(32));
        let refund = |part: usize, value: u64, tag: &str| {
            let (to, charged) = rail.moves[part];
            let digit = char::from(b'd' + u8::try_from(part).unwrap());
            let (hash, block) = (format!("0x{}", "f7".repeat(32)), 0x90);
            let evidence = format!(
                r#"{{"chainId":"{SEPOLIA}","block":{{"number":"{block:#x}","hash":"{hash}","timestamp":"{LATER:#x}","tag":"{tag}"}},"receipt":{},"charge":{}}}"#,
                receipt(digit, 0x80, to, &payer, value),
                receipt('c', 0x66, &payer, to, charged)
            );
            let given = format!(
                r#"{{"refund":{{"payer":"{payer}","network":"eip155:84532","asset":"{TOKEN}","amount":"{charged}","transaction":"{owed}"}},"evidence":{evidence}}}"#
            );
            conflict::Given::from_json(&json::parse(&given).unwrap()).unwrap()
        };
        let all = |value: &dyn Fn(u64) -> u64, tag: &str| -> Vec<_> {
            let parts = rail.moves.iter().enumerate();
            let given: Vec<_> = parts
                .map(|(part, (_, charged))| refund(part, value(*charged), tag))
                .collect();
            charged(&conflict::find_conflicts_refunded(&bundles, &given).unwrap())
        };
        // Too little, or not final: as open as before.
        assert_eq!(all(&|charged| charged - 1, "finalized"), open, "{}", rail.name);
        assert_eq!(all(&|charged| charged, "latest"), open, "{}", rail.name);
        let closed: Vec<_> = amounts
            .iter()
            .map(|amount| (amount.clone(), "info", "stop"))
            .collect();
        assert_eq!(all(&|charged| charged, "finalized"), closed, "{}", rail.name);
    }
}

#[test]
fn a_transfer_that_lands_after_its_attempt_was_called_dead_is_told() {
    for rail in RAILS {
        let (dead, _) = Walk::ended(rail, 7, "c1", Fate::Dead);
        assert_eq!(dead.host.states(), ["dead"], "{}", rail.name);
        assert_eq!(told(&[&dead.bundle()]), [], "{}", rail.name);
        // The proof was wrong: another journal saw the very same authorization land.
        let (landed, _) = Walk::ended(rail, 7, "c1", Fate::Paid('b'));
        let late: Vec<_> = told(&[&dead.bundle(), &landed.bundle()])
            .into_iter()
            .filter(|(code, ..)| code == "late_confirmation")
            .collect();
        let mut amounts: Vec<String> = rail.moves.iter().map(|(_, value)| value.to_string()).collect();
        amounts.sort();
        let mut told: Vec<_> = late;
        told.sort();
        assert_eq!(
            told,
            rows("late_confirmation", "alert", &amounts),
            "{}",
            rail.name
        );
    }
}

/// What the seller alone says counts as a transfer, whatever field it says it in.
#[test]
fn a_charge_that_the_seller_alone_tells_of_is_told() {
    for rail in RAILS {
        let (mut walk, read) = Walk::sent(rail, 7, "c1");
        walk.go(read, Fate::Open);
        let mut record = record(&walk.host);
        let hash = format!("0x{}", "ac".repeat(32));
        let said = match rail.dictated {
            true => (
                "receipt",
                base64::encode_url(
                    format!(r#"{{"status":"success","method":"evm","timestamp":"2026-09-21T14:14:20Z","reference":"{hash}","challengeId":"c1"}}"#).as_bytes(),
                ),
            ),
            false => (
                "settlement",
                base64::encode(
                    format!(r#"{{"success":true,"transaction":"{hash}","network":"eip155:84532"}}"#).as_bytes(),
                ),
            ),
        };
        let attempt = record.get("attempts").unwrap().as_array().unwrap()[0].clone();
        let attempt = attempt.with(said.0, Json::text(said.1));
        record.set("attempts", Json::Array(vec![attempt]));
        let bundle = Json::object([
            ("type", Json::text("counterfoil/bundle")),
            ("v", Json::number(1)),
            ("payer", record.get("principal").unwrap().clone()),
            ("intents", Json::Array(vec![record])),
        ])
        .to_text();
        let codes: Vec<String> = told(&[&bundle]).into_iter().map(|(code, ..)| code).collect();
        assert_eq!(codes, ["paid_not_delivered"], "{}", rail.name);
        let (second, _) = Walk::ended(rail, 8, "c2", Fate::Paid('b'));
        let codes: Vec<String> = told(&[&bundle, &second.bundle()])
            .into_iter()
            .map(|(code, ..)| code)
            .collect();
        let twice = codes.iter().filter(|code| *code == "duplicate_charge").count();
        assert_eq!(twice, rail.moves.len(), "{}", rail.name);
    }
}

/// With trusted blocks no source's word ends anything: neither a payment nor its death, on any rail.
#[test]
fn what_no_trusted_block_proves_decides_nothing() {
    for rail in RAILS {
        // Behind the final block the latest one is read, where a death decides nothing anyway.
        let fates = [
            (Fate::Paid('b'), "evidence_unreadable"),
            (Fate::Dead, "outcome_unknown"),
        ];
        for (fate, code) in fates {
            let mut walk = Walk::on(rail);
            walk.host.fetch(URL);
            let effect = walk.host.on(&(rail.price)("c1"));
            let sent = walk.go(effect, Fate::Open);
            assert_eq!(text(&sent, "type"), "send", "{}: {}", rail.name, sent.to_text());
            // From here on no source is trusted: on Tempo nothing would have been signed.
            let trusting = walk.host.config.trim_end_matches('}').to_owned();
            walk.host.config = format!(r#"{trusting},"trustedBlocks":[]}}"#);
            let read = walk.host.on(TIMEOUT);
            let end = walk.go(read, fate);
            assert_fails(&end, code, "possible");
            assert_eq!(walk.host.states(), ["sent"], "{}", rail.name);
            assert_eq!(held(&walk.host), ["reserved 10000"], "{}", rail.name);
        }
    }
}
