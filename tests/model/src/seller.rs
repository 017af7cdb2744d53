//! What a seller, or the network before it, can say. None of it binds the seller: money moves apart from it.

use counterfoil::base64;
use counterfoil::client::Event;
use counterfoil::json::{self, Json};

pub const TOKEN: &str = "0x036CbD53842c5426634e7929541eC2318f3dCF7e";
pub const OTHER_TOKEN: &str = "0x9999999999999999999999999999999999999999";
const SELLER: &str = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C";
const OTHER_SELLER: &str = "0x90F79bf6EB2c4f870365E785982E1f101E93b906";

/// Answers to the unpaid request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Quote {
    /// The price.
    Usual,
    /// A higher price.
    Dearer,
    /// The price, to another recipient.
    OtherRecipient,
    /// The price, in another token.
    OtherRail,
    /// The price, of which a part goes to another recipient.
    Split,
    /// The price, as a challenge of the Payment scheme, which dictates the nonce.
    Challenge,
    /// Another challenge, with a nonce of its own.
    OtherChallenge,
    /// None.
    Lost,
}

/// Answers to the paid request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Answer {
    /// None, though the bytes arrived.
    Lost,
    /// None, and the bytes did not arrive.
    NotSent,
    /// 200, settled, with a transaction.
    Settled,
    /// 200, without a word about the settlement.
    Unconfirmed,
    /// 200, and not settled.
    Unsettled,
    /// 402 with a refusal of verification and a price.
    Refused,
    /// 402, the nonce is used.
    Used,
    /// 402, another price.
    NewPrice,
    /// 402, another challenge.
    Challenged,
    /// 409, another request holds the id.
    Conflict,
    /// 409, still at work.
    InFlight,
    /// 500.
    Broken,
}

fn price(quote: Quote, error: &str) -> String {
    let (asset, name, to, amount) = match quote {
        Quote::Dearer => (TOKEN, "USDC", SELLER, 20_000),
        Quote::OtherRecipient => (TOKEN, "USDC", OTHER_SELLER, 10_000),
        Quote::OtherRail => (OTHER_TOKEN, "OTHER", SELLER, 10_000),
        _ => (TOKEN, "USDC", SELLER, 10_000),
    };
    let split = match quote {
        Quote::Split => format!(
            r#","fee_split":{{"v":1,"fee_to":"{OTHER_SELLER}","fee_amount":"300","merchant_amount":"9700"}}"#
        ),
        _ => String::new(),
    };
    let error = if error.is_empty() {
        String::new()
    } else {
        format!(r#""error":"{error}","#)
    };
    let required = format!(
        r#"{{"x402Version":2,{error}"resource":{{"url":"https://api.example/x"}},"accepts":[{{"scheme":"exact","network":"eip155:84532","amount":"{amount}","asset":"{asset}","payTo":"{to}","maxTimeoutSeconds":60,"extra":{{"name":"{name}","version":"2"{split}}}}}],"extensions":{{"payment-identifier":{{"info":{{"required":false}},"schema":{{}}}}}}}}"#
    );
    base64::encode(required.as_bytes())
}

fn answer(text: &str) -> Event {
    let answer = json::parse(text)
        .and_then(|json| counterfoil::outcome::Answer::from_json(&json))
        .expect("an answer");
    Event::Answer {
        answer: Box::new(answer),
        redirected: false,
    }
}

fn payment_required(quote: Quote, error: &str) -> Event {
    let price = price(quote, error);
    answer(&format!(
        r#"{{"status":402,"headers":{{"payment-required":"{price}"}},"body":"{{}}"}}"#
    ))
}

fn challenged(id: &str) -> Event {
    let request = base64::encode_url(
        format!(
            r#"{{"amount":"10000","currency":"{TOKEN}","methodDetails":{{"chainId":84532,"credentialTypes":["authorization"]}},"recipient":"{SELLER}"}}"#
        )
        .as_bytes(),
    );
    let challenge = format!(
        r#"Payment id="{id}", realm="api.example", method="evm", intent="charge", request="{request}""#
    );
    let headers = Json::object([("www-authenticate", Json::text(challenge))]);
    let told = Json::object([
        ("status", Json::number(402)),
        ("headers", headers),
        ("body", Json::text("{}")),
    ]);
    answer(&told.to_text())
}

impl Quote {
    pub fn event(self) -> Event {
        match self {
            Quote::Lost => answer(r#"{"transport":"reset"}"#),
            Quote::Challenge => challenged("c1"),
            Quote::OtherChallenge => challenged("c2"),
            _ => payment_required(self, ""),
        }
    }
}

impl Answer {
    pub fn event(self) -> Event {
        let settlement = |success: bool| {
            let transaction = if success {
                format!("0x{}", "ab".repeat(32))
            } else {
                String::new()
            };
            let response = Json::object([
                ("success", Json::Bool(success)),
                ("transaction", Json::text(transaction)),
                ("network", Json::text("eip155:84532")),
            ]);
            let value = base64::encode(response.to_text().as_bytes());
            answer(&format!(
                r#"{{"status":200,"headers":{{"payment-response":"{value}"}}}}"#
            ))
        };
        let code = |status: u64, code: &str| {
            answer(&format!(
                r#"{{"status":{status},"body":"{{\"code\":\"{code}\"}}"}}"#
            ))
        };
        match self {
            Answer::Lost => answer(r#"{"transport":"timeout"}"#),
            Answer::NotSent => answer(r#"{"transport":"refused_before_send"}"#),
            Answer::Settled => settlement(true),
            Answer::Unsettled => settlement(false),
            Answer::Unconfirmed => answer(r#"{"status":200}"#),
            Answer::Refused => payment_required(Quote::Usual, "insufficient_funds"),
            Answer::Used => payment_required(Quote::Usual, "invalid_exact_evm_nonce_already_used"),
            Answer::NewPrice => payment_required(Quote::Dearer, ""),
            Answer::Challenged => challenged("c2"),
            Answer::Conflict => code(409, "payment_identifier_conflict"),
            Answer::InFlight => code(409, "payment_in_flight"),
            Answer::Broken => answer(r#"{"status":500,"body":"oops"}"#),
        }
    }

    /// Whether the seller has the bytes afterwards.
    pub fn arrived(self) -> bool {
        self != Answer::NotSent
    }
}
