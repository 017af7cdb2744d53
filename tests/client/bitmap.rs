//! What an RPC endpoint says of a nonce of Permit2.

use super::host::{text, NOW, SELLER, TOKEN, TRANSFER};
use counterfoil::json::Json;

const PERMIT2: &str = "0x000000000022d473030f116ddee9f6b43ac78ba3";
const INVALIDATION: &str = "0x3704902f963766a4e561bbaab6e6cdc1b1dd12f6e9e99648da8843b3f46b918d";

/// The word of the bitmap with the bit of a nonce, and the number of the word.
fn bit_of(nonce: &str) -> (String, String) {
    let nonce = counterfoil::amount::Amount::parse(nonce).unwrap().to_be_bytes();
    let mut word = [0_u8; 32];
    word[31 - usize::from(nonce[31] / 8)] = 1 << (nonce[31] % 8);
    let mut number = [0_u8; 32];
    number[1..].copy_from_slice(&nonce[..31]);
    (counterfoil::hex::encode(word), counterfoil::hex::encode(number))
}

/// The nonce is unused at a block of this time.
pub fn unused(read: &Json, time: u64) -> String {
    let tag = text(read.get("read").unwrap(), "tag");
    let (hash, zero) = (format!("0x{}", "ab".repeat(32)), format!("0x{}", "00".repeat(32)));
    format!(
        r#"{{"chainId":"0x14a34","block":{{"number":"0x78","hash":"{hash}","timestamp":"{time:#x}","tag":"{tag}"}},"nonceBitmap":"{zero}","logs":[],"logsRange":{{"from":"0x0","to":"0x78"}},"receipt":null}}"#
    )
}

/// The nonce was used in block 0x64, by a transfer of this value or by an invalidation.
pub fn used(read: &Json, transfer: Option<u64>) -> String {
    let read = read.get("read").unwrap();
    let (tag, payer) = (text(read, "tag"), text(read, "payer"));
    let (word, number) = bit_of(text(read, "nonce"));
    let (hash, zero) = (format!("0x{}", "ab".repeat(32)), format!("0x{}", "00".repeat(32)));
    let pad = |digits: &str| format!("0x{:0>64}", digits.trim_start_matches("0x").to_lowercase());
    let (address, topics, data) = match transfer {
        Some(value) => (
            TOKEN,
            format!(r#""{TRANSFER}","{}","{}""#, pad(payer), pad(SELLER)),
            pad(&format!("{value:x}")),
        ),
        None => (
            PERMIT2,
            format!(r#""{INVALIDATION}","{}""#, pad(payer)),
            format!("{number}{}", word.trim_start_matches("0x")),
        ),
    };
    let log = format!(
        r#"{{"address":"{address}","blockNumber":"0x64","blockHash":"{hash}","transactionHash":"{hash}","logIndex":"0x0","removed":false,"topics":[{topics}],"data":"{data}"}}"#
    );
    format!(
        r#"{{"chainId":"0x14a34","block":{{"number":"0x78","hash":"{hash}","timestamp":"{NOW:#x}","tag":"{tag}"}},"nonceBitmap":"{word}","usedWithin":{{"after":{{"number":"0x63","nonceBitmap":"{zero}"}},"by":{{"number":"0x64","nonceBitmap":"{word}"}}}},"logs":[{log}],"logsRange":{{"from":"0x64","to":"0x64"}},"receipt":{{"status":"0x1","transactionHash":"{hash}","blockNumber":"0x64","blockHash":"{hash}","logs":[{log}]}}}}"#
    )
}
