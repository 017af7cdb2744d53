//! A store, a token, a facilitator, buyers and workers, all driven by one seed and by the same calls that the gateway makes.

use std::collections::BTreeMap;

use counterfoil::json::{self, Json};
use counterfoil::{base64, digest, hex, signing, wasm};

pub const TOKEN: &str = "0x036CbD53842c5426634e7929541eC2318f3dCF7e";
pub const SELLER: &str = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C";
const USED: &str = "0x98de503528ee59b575ef0c0a2576a82497bfc029a5685b209e9ec333479b10a5";
const TRANSFER: &str = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";
pub const FINAL_LAG: u64 = 20;
pub const WINDOW: u64 = 120;
pub const LEASE: u64 = 15;
const PURCHASES: usize = 3;
const START: u64 = 1_790_000_000;

/// How likely each fault is, in percent of its occasions.
#[derive(Clone, Default)]
pub struct Chaos {
    /// A worker dies between two steps.
    pub die: u64,
    /// The facilitator's answer is lost after the broadcast.
    pub lose: u64,
    /// A broadcast lands later.
    pub late: u64,
    /// A broadcast never lands.
    pub never: u64,
    /// The facilitator refuses before any broadcast.
    pub refuse: u64,
    /// The chain can't be read, or is behind.
    pub bad_rpc: u64,
    /// The handler fails.
    pub fail: u64,
    /// Nobody tells when a broadcast begins.
    pub unwatched: bool,
}

/// A purchase that a buyer wants: one id, one request.
struct Purchase {
    id: String,
    key: [u8; 32],
    /// Payments made for it, as headers, the first first.
    headers: Vec<String>,
    answer: Option<String>,
}

/// Where the worker of one request is.
enum At {
    Admit,
    Evidence {
        read: Json,
    },
    Handler {
        process: Json,
    },
    Settle {
        process: Json,
    },
    Broadcast {
        process: Json,
    },
    Told {
        process: Json,
        result: Json,
    },
    Answer {
        process: Json,
        status: u64,
        paid: bool,
        headers: String,
    },
}

struct Request {
    purchase: usize,
    input: Json,
    at: At,
}

struct Landed {
    at: u64,
    purchase: usize,
    payer: String,
    transaction: String,
}

pub struct World {
    random: u64,
    chaos: Chaos,
    now: u64,
    rows: BTreeMap<String, Json>,
    /// When a row is looked at again, of those that are.
    pub due: BTreeMap<String, u64>,
    /// Caps per wallet, as the configuration has them.
    pub caps: String,
    purchases: Vec<Purchase>,
    requests: Vec<Request>,
    /// By nonce.
    landed: BTreeMap<String, Landed>,
    /// Broadcast, and on its way: when, purchase, authorization.
    pending: Vec<(u64, usize, Json)>,
    story: Vec<String>,
    pub seen: BTreeMap<String, u64>,
}

fn text(json: &Json, name: &str) -> String {
    json.require(name).unwrap().as_str().unwrap().to_owned()
}

fn parse(text: &str) -> Json {
    json::parse(text).unwrap()
}

fn call(name: &str, input: &Json, secret: Option<&[u8]>) -> Json {
    let secret = secret.map(|secret| zeroize::Zeroizing::new(secret.to_vec()));
    wasm::call(name, &input.to_text(), None, secret).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The input of a step by the worker that a decision made.
pub fn worker(decision: &Json) -> Json {
    Json::object([
        ("sale", decision.require("sale").unwrap().clone()),
        ("turn", decision.require("turn").unwrap().clone()),
        ("poll", Json::text("/counterfoil/payments/x")),
    ])
}

impl World {
    pub fn new(seed: u64, chaos: Chaos) -> World {
        let mut world = World {
            random: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
            chaos,
            now: START,
            rows: BTreeMap::new(),
            due: BTreeMap::new(),
            caps: "[]".to_owned(),
            purchases: Vec::new(),
            requests: Vec::new(),
            landed: BTreeMap::new(),
            pending: Vec::new(),
            story: Vec::new(),
            seen: BTreeMap::new(),
        };
        // Behind each purchase stands a stranger who uses its id for a purchase of their own.
        for index in 0..2 * PURCHASES {
            let who = if index < PURCHASES { index % 2 } else { 9 };
            let key = digest::sha256(format!("buyer {who}").as_bytes());
            world.purchases.push(Purchase {
                id: format!("pay_{seed:016}_{}", index % PURCHASES),
                key,
                headers: Vec::new(),
                answer: None,
            });
        }
        world
    }

    pub fn story(&self) -> String {
        self.story.join("\n")
    }

    fn next(&mut self) -> u64 {
        // xorshift64*, enough to pick faults with.
        self.random ^= self.random >> 12;
        self.random ^= self.random << 25;
        self.random ^= self.random >> 27;
        self.random.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.next() % 100 < percent
    }

    fn tell(&mut self, line: impl Into<String>) {
        self.story.push(format!("{} {}", self.now - START, line.into()));
    }

    fn met(&mut self, what: &str) {
        *self.seen.entry(what.to_owned()).or_default() += 1;
    }

    /// Faults for a while, then an honest world in which everything has to come to its end.
    pub fn play(&mut self) -> Result<(), String> {
        for _ in 0..120 {
            if self.requests.len() < 4 && self.chance(30) {
                self.ask();
            } else if self.requests.is_empty() {
                self.pass(3);
            } else {
                let index = self.next() as usize % self.requests.len();
                self.advance(index)?;
            }
            if self.chance(20) {
                let seconds = self.next() % 12;
                self.pass(seconds);
            }
        }
        self.chaos = Chaos {
            unwatched: self.chaos.unwatched,
            ..Chaos::default()
        };
        self.requests.clear();
        // Everything that was broadcast has landed or can't any more, and the end is final.
        self.pass(WINDOW + LEASE + FINAL_LAG + 1);
        for purchase in 0..2 * PURCHASES {
            self.ends(purchase)?;
        }
        Ok(())
    }

    /// A purchase of which money moved is delivered by asking again, and not charged again.
    fn ends(&mut self, purchase: usize) -> Result<(), String> {
        let paid = self.transfers(purchase);
        if paid == 0 {
            return Ok(());
        }
        self.tell(format!("purchase {purchase} asks for its answer"));
        for _ in 0..4 {
            let input = self.payment(purchase);
            self.requests.push(Request {
                purchase,
                input,
                at: At::Admit,
            });
            while !self.requests.is_empty() {
                self.advance(0)?;
            }
            self.pass(LEASE + 1);
        }
        match self.purchases[purchase].answer {
            Some(_) => Ok(()),
            None => Err(format!("purchase {purchase} is paid and was never delivered")),
        }
    }

    fn transfers(&self, purchase: usize) -> usize {
        self.landed
            .values()
            .filter(|landed| landed.purchase == purchase)
            .count()
    }

    pub fn pass(&mut self, seconds: u64) {
        self.now += seconds;
        let now = self.now;
        let (due, waiting): (Vec<_>, Vec<_>) = self.pending.drain(..).partition(|(at, ..)| *at <= now);
        self.pending = waiting;
        for (_, purchase, authorization) in due {
            self.land(purchase, &authorization);
        }
    }

    /// What the token contract does: one transfer a nonce, within the window.
    pub fn land(&mut self, purchase: usize, authorization: &Json) -> Option<String> {
        let nonce = text(authorization, "nonce");
        let before: u64 = text(authorization, "validBefore").parse().unwrap();
        if self.landed.contains_key(&nonce) || self.now >= before {
            return None;
        }
        let transaction = hex::encode(digest::sha256(nonce.as_bytes()));
        self.tell(format!("token: transfer for purchase {purchase}"));
        self.landed.insert(
            nonce,
            Landed {
                at: self.now,
                purchase,
                payer: text(authorization, "from"),
                transaction: transaction.clone(),
            },
        );
        Some(transaction)
    }

    /// A request arrives: mostly for a purchase, now and then a stranger's under the same id.
    fn ask(&mut self) {
        let foreign = self.chance(8);
        let purchase = self.next() as usize % PURCHASES + if foreign { PURCHASES } else { 0 };
        let input = self.payment(purchase);
        self.tell(format!("request for purchase {purchase}"));
        self.requests.push(Request {
            purchase,
            input,
            at: At::Admit,
        });
    }

    /// The step's input: the first payment again, or a fresh one.
    pub fn payment(&mut self, purchase: usize) -> Json {
        let again = self.chance(60);
        let known = self.purchases[purchase].headers.first().cloned();
        let header = match known.filter(|_| again) {
            Some(header) => header,
            None => self.sign(purchase),
        };
        self.purchases[purchase].headers.push(header.clone());
        let read = Json::object([
            ("header", Json::text(header.as_str())),
            ("method", Json::text("GET")),
            (
                "url",
                Json::text(format!("https://shop.example/report/{}", purchase % PURCHASES)),
            ),
        ]);
        let told = call("saleRead", &read, None);
        let id = Json::object([
            ("id", Json::text(self.purchases[purchase].id.as_str())),
            ("keyId", Json::text("k1")),
        ]);
        let id = call("saleId", &id, Some(&[9; 32]));
        let header = Json::object([
            ("name", Json::text("payment-signature")),
            ("value", Json::text(header)),
        ]);
        told.with("ids", Json::Array(vec![id]))
            .with("header", header)
            .with("poll", Json::text("/counterfoil/payments/x"))
    }

    fn sign(&mut self, purchase: usize) -> String {
        let nonce = hex::encode(digest::sha256(&self.next().to_be_bytes()));
        let key = self.purchases[purchase].key;
        let payer = signing::address_of_key(&key).unwrap().to_string();
        let authorization = parse(&format!(
            r#"{{"from":"{payer}","to":"{SELLER}","value":"10000","validAfter":"0","validBefore":"{}","nonce":"{nonce}"}}"#,
            self.now + WINDOW
        ));
        let domain = parse(&format!(
            r#"{{"name":"USDC","version":"2","chainId":84532,"verifyingContract":"{TOKEN}"}}"#
        ));
        let sign = Json::object([("authorization", authorization.clone()), ("domain", domain)]);
        let signature = text(
            &Json::object([("s", call("signAuthorization", &sign, Some(&key)))]),
            "s",
        );
        let id = &self.purchases[purchase].id;
        let payment = format!(
            r#"{{"x402Version":2,"payload":{{"authorization":{},"signature":"{signature}"}},"extensions":{{"payment-identifier":{{"info":{{"required":false,"id":"{id}"}}}}}},"accepted":{{"scheme":"exact","network":"eip155:84532","asset":"{TOKEN}","amount":"10000","payTo":"{SELLER}","maxTimeoutSeconds":{WINDOW},"extra":{{"name":"USDC","version":"2"}}}}}}"#,
            authorization.to_text()
        );
        base64::encode(payment.as_bytes())
    }

    /// One transaction on the store.
    pub fn step(&mut self, name: &str, input: &Json) -> Json {
        let config = parse(&format!(
            r#"{{"lease":{LEASE},"retention":86400,"watched":{},"walletCaps":{}}}"#,
            !self.chaos.unwatched, self.caps
        ));
        let base = Json::object([
            ("step", Json::text(name)),
            ("now", Json::number(self.now)),
            ("config", config),
            ("input", input.clone()),
        ]);
        let mut keys = call("saleKeys", &base, None);
        loop {
            let rows = keys.as_array().unwrap().iter();
            let rows = rows
                .map(|key| {
                    self.rows
                        .get(key.as_str().unwrap())
                        .cloned()
                        .unwrap_or(Json::Null)
                })
                .collect();
            let run = base
                .clone()
                .with("keys", keys.clone())
                .with("rows", Json::Array(rows));
            let told = call("saleStep", &run, None);
            let result = told.require("result").unwrap().clone();
            if let Some(again) = result.get("again") {
                keys = again.clone();
                continue;
            }
            for put in told.require("puts").unwrap().as_array().unwrap() {
                let key = text(put, "key");
                match put.get("expiresAt") {
                    Some(due) => self.due.insert(key, due.as_u64().unwrap()),
                    None => self.due.remove(&key),
                };
                match put.get("value") {
                    Some(value) => self.rows.insert(text(put, "key"), value.clone()),
                    None => self.rows.remove(&text(put, "key")),
                };
            }
            return result;
        }
    }

    /// What the chain says of every payment that a decision wants read, as the next step's input.
    pub fn reading(&mut self, read: &Json) -> Json {
        let reads = read.require("reads").unwrap().as_array().unwrap();
        let evidence = reads
            .iter()
            .map(|one| {
                let nonce = text(one, "nonce");
                let found = self.evidence(&nonce, &text(read, "tag"), &text(one, "payer"));
                Json::object([
                    ("slot", one.require("slot").unwrap().clone()),
                    ("evidence", Json::Array(vec![found])),
                ])
            })
            .collect();
        worker(read)
            .with("tag", read.require("tag").unwrap().clone())
            .with("evidence", Json::Array(evidence))
    }

    fn advance(&mut self, index: usize) -> Result<(), String> {
        if self.chance(self.chaos.die) {
            let purchase = self.requests.remove(index).purchase;
            self.tell(format!("a worker of purchase {purchase} dies"));
            return Ok(());
        }
        let Request { purchase, input, at } = self.requests.remove(index);
        if let Some(at) = self.work(purchase, &input, at)? {
            self.requests.push(Request { purchase, input, at });
        }
        Ok(())
    }

    fn work(&mut self, purchase: usize, input: &Json, at: At) -> Result<Option<At>, String> {
        match at {
            At::Admit => {
                let decision = self.step("admit", input);
                self.follow(purchase, decision)
            }
            At::Evidence { read } => {
                let step = self.reading(&read);
                let decision = self.step("evidence", &step);
                self.follow(purchase, decision)
            }
            At::Handler { process } => {
                let answer = |status| {
                    Some(At::Answer {
                        process: process.clone(),
                        status,
                        paid: false,
                        headers: "{}".to_owned(),
                    })
                };
                if self.chance(self.chaos.fail) {
                    self.tell("the handler fails");
                    return Ok(answer(500));
                }
                let charged = process.get("charged") == Some(&Json::Bool(true));
                let authorization = Self::authorization(&process);
                let before = authorization.as_ref().map(|one| text(one, "validBefore"));
                // The facilitator verifies before the handler runs; one that was paid before is not asked.
                if !charged && before.is_none_or(|before| self.now >= before.parse().unwrap()) {
                    self.tell("the facilitator refuses: too late");
                    return Ok(answer(402));
                }
                Ok(Some(match self.chaos.unwatched {
                    true => At::Broadcast { process },
                    false => At::Settle { process },
                }))
            }
            At::Settle { process } => {
                let leave = self.step("settling", &worker(&process));
                Ok(Some(match text(&leave, "decision").as_str() {
                    "settle" => At::Broadcast { process },
                    "settled" => At::Answer {
                        process,
                        status: 200,
                        paid: true,
                        headers: "{}".to_owned(),
                    },
                    _ => At::Answer {
                        process,
                        status: 402,
                        paid: false,
                        headers: "{}".to_owned(),
                    },
                }))
            }
            At::Broadcast { process } => Ok(Some(self.broadcast(purchase, process))),
            At::Told { process, result } => {
                let paid = result.get("success") == Some(&Json::Bool(true));
                let headers = Self::told_by_middleware(&result, paid);
                if !self.chaos.unwatched {
                    self.step("settled", &worker(&process).with("settlement", result));
                }
                Ok(Some(At::Answer {
                    process,
                    status: if paid { 200 } else { 402 },
                    paid,
                    headers,
                }))
            }
            At::Answer {
                process,
                status,
                paid,
                headers,
            } => {
                let body = format!("{purchase} {}", self.next());
                let sha256 = hex::encode(digest::sha256(body.as_bytes()));
                let answer = parse(&format!(
                    r#"{{"status":{status},"headers":{headers},"sha256":"{sha256}","length":{}}}"#,
                    body.len()
                ));
                let decision = self.step("answer", &worker(&process).with("answer", answer));
                if text(&decision, "decision") != "send" {
                    return self.follow(purchase, decision);
                }
                match (status, paid) {
                    (200, true) => self.delivered(purchase, &sha256, "delivered")?,
                    (200, false) => return Err("an answer was sent that nobody paid".to_owned()),
                    _ => {
                        self.met("failed");
                        self.tell(format!("purchase {purchase} hears {status}"));
                    }
                }
                Ok(None)
            }
        }
    }

    /// The headers that the seller's middleware puts beside its answer: the settlement, or the price with what was wrong.
    fn told_by_middleware(result: &Json, paid: bool) -> String {
        let text = match paid {
            true => result.to_text(),
            false => format!(
                r#"{{"x402Version":2,"error":{},"resource":{{"url":"https://shop.example/"}},"accepts":[{{"scheme":"exact","network":"eip155:84532","asset":"{TOKEN}","amount":"10000","payTo":"{SELLER}","maxTimeoutSeconds":{WINDOW},"extra":{{"name":"USDC","version":"2"}}}}]}}"#,
                result.require("errorReason").unwrap().to_text()
            ),
        };
        let name = if paid {
            "payment-response"
        } else {
            "payment-required"
        };
        format!(r#"{{"{name}":"{}"}}"#, base64::encode(text.as_bytes()))
    }

    pub fn authorization(process: &Json) -> Option<Json> {
        let header = process.get("header")?;
        let payment = base64::decode_header(&text(header, "value")).unwrap();
        let payment = json::parse_bytes(&payment).unwrap();
        Some(
            payment
                .require("payload")
                .unwrap()
                .require("authorization")
                .unwrap()
                .clone(),
        )
    }

    /// The facilitator's settle call, which may do anything.
    fn broadcast(&mut self, purchase: usize, process: Json) -> At {
        let authorization = Self::authorization(&process).expect("a payment to broadcast");
        let said = |success: bool, reason: &str, transaction: &str| {
            parse(&format!(
                r#"{{"success":{success},"errorReason":"{reason}","transaction":"{transaction}","network":"eip155:84532"}}"#
            ))
        };
        let lost = At::Answer {
            process: process.clone(),
            status: 402,
            paid: false,
            headers: "{}".to_owned(),
        };
        if self.chance(self.chaos.refuse) {
            self.tell("the facilitator refuses");
            let result = said(false, "insufficient_funds", "");
            return At::Told { process, result };
        }
        if self.chance(self.chaos.never) {
            self.tell("a broadcast is lost");
            return lost;
        }
        if self.chance(self.chaos.late) {
            let at = self.now + 5 + self.next() % WINDOW;
            self.tell("a broadcast is on its way");
            self.pending.push((at, purchase, authorization));
            return lost;
        }
        let landed = self.land(purchase, &authorization);
        match landed {
            Some(_) if self.chance(self.chaos.lose) => {
                self.tell("the facilitator's answer is lost");
                // Exception text with no transaction is what the official facilitator says of a broken connection.
                match self.chance(50) {
                    true => lost,
                    false => At::Told {
                        process,
                        result: said(false, "socket hang up", ""),
                    },
                }
            }
            Some(transaction) => At::Told {
                process,
                result: said(true, "", &transaction),
            },
            None => At::Told {
                process,
                result: said(false, "invalid_exact_evm_transaction_failed", ""),
            },
        }
    }

    fn follow(&mut self, purchase: usize, decision: Json) -> Result<Option<At>, String> {
        if self.transfers(purchase) > 1 {
            return Err(format!("purchase {purchase} was charged twice"));
        }
        match text(&decision, "decision").as_str() {
            "process" => Ok(Some(At::Handler { process: decision })),
            "read" => Ok(Some(At::Evidence { read: decision })),
            "admit" => Ok(Some(At::Admit)),
            "replay" => {
                let row = self.rows.get(&text(&decision, "answer"));
                let sale = text(row.ok_or("the stored answer is gone")?, "sale");
                let kept = self.rows.get(&format!("sale/{sale}")).ok_or("the sale is gone")?;
                let sha256 = text(
                    kept.require("record").unwrap().require("response").unwrap(),
                    "bodySha256",
                );
                self.delivered(purchase, &sha256, "replayed")?;
                Ok(None)
            }
            "problem" => {
                let problem = decision.require("problem").unwrap();
                let what = match text(problem, "code").as_str() {
                    "payment_in_flight" => "in flight",
                    "payment_identifier_conflict" => "conflict",
                    // Paid, and nothing here can keep the middleware from refusing the spent payment.
                    "answer_not_stored" if self.chaos.unwatched => {
                        self.purchases[purchase].answer.get_or_insert_default();
                        "receipt"
                    }
                    code => return Err(format!("purchase {purchase} hears {code}")),
                };
                self.met(what);
                self.tell(format!("purchase {purchase} hears {what}"));
                Ok(None)
            }
            other => Err(format!("unexpected decision {other}")),
        }
    }

    /// An answer went out: somebody paid for it, once, and it is the one that went out before.
    fn delivered(&mut self, purchase: usize, sha256: &str, how: &str) -> Result<(), String> {
        self.met(how);
        self.tell(format!("purchase {purchase} is {how}"));
        if self.transfers(purchase) != 1 {
            return Err(format!("{how} after {} transfers", self.transfers(purchase)));
        }
        let answer = &mut self.purchases[purchase].answer;
        match answer {
            Some(known) if known != sha256 => Err("two answers for one purchase".to_owned()),
            _ => {
                *answer = Some(sha256.to_owned());
                Ok(())
            }
        }
    }

    /// What an RPC says of a nonce; a bad one is unreachable, or behind by minutes.
    fn evidence(&mut self, nonce: &str, tag: &str, payer: &str) -> Json {
        let bad = self.chance(self.chaos.bad_rpc);
        if bad && self.chance(50) {
            return parse(r#"{"error":"unreachable"}"#);
        }
        let lag = if bad { 200 } else { 0 };
        let time = self.now - lag - if tag == "finalized" { FINAL_LAG } else { 0 };
        let number = format!("{:#x}", time - 1_780_000_000);
        let hash = |number: &str| hex::encode(digest::sha256(number.as_bytes()));
        let block = format!(
            r#"{{"number":"{number}","hash":"{}","timestamp":"{time:#x}","tag":"{tag}"}}"#,
            hash(&number)
        );
        let used = self.landed.get(nonce).filter(|landed| landed.at <= time);
        let word = hex::encode([&[0; 31][..], &[u8::from(used.is_some())]].concat());
        let range = format!(r#"{{"from":"0x0","to":"{number}"}}"#);
        let Some(landed) = used else {
            return parse(&format!(
                r#"{{"chainId":"0x14a34","block":{block},"authorizationState":"{word}","logs":[],"logsRange":{range},"receipt":null}}"#
            ));
        };
        let pad = |hex: &str| format!("0x{:0>64}", hex.trim_start_matches("0x").to_ascii_lowercase());
        let at = format!("{:#x}", landed.at - 1_780_000_000);
        let place = |index: u64| {
            format!(
                r#""address":"{TOKEN}","blockNumber":"{at}","blockHash":"{}","transactionHash":"{}","transactionIndex":"0x0","logIndex":"{index:#x}","removed":false"#,
                hash(&at),
                landed.transaction
            )
        };
        assert_eq!(landed.payer, payer);
        let log = format!(
            r#"{{{},"topics":["{USED}","{}","{nonce}"],"data":"0x"}}"#,
            place(0),
            pad(payer)
        );
        let transfer = format!(
            r#"{{{},"topics":["{TRANSFER}","{}","{}"],"data":"{}"}}"#,
            place(1),
            pad(payer),
            pad(SELLER),
            pad("0x2710")
        );
        parse(&format!(
            r#"{{"chainId":"0x14a34","block":{block},"authorizationState":"{word}","logs":[{log}],"logsRange":{range},"receipt":{{"status":"0x1","transactionHash":"{}","blockNumber":"{at}","blockHash":"{}","transactionIndex":"0x0","logs":[{log},{transfer}]}}}}"#,
            landed.transaction,
            hash(&at)
        ))
    }
}
