//! The proofs beside a source's answers: what they show must be what the source says, and they count as far as the header
//! above them is trusted.

use super::bitmap_proof;
use super::header::Header;
use super::receipt_proof;
use super::rpc::{member, quantity, Block, Reason, Receipt, Source, Word};
use super::storage_proof::{self, State};
use super::Context;
use crate::eip3009::Authorization;
use crate::hex;
use crate::json::Json;
use crate::permit2::Permit;

/// The blocks, by hash, that proofs of a source lead to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Proofs {
    /// Of the authorization's state.
    pub state: Option<Word>,
    /// Of the receipt.
    pub receipt: Option<Word>,
    /// There is a proof of the state, and the token's code is not known.
    pub code_unknown: bool,
}

impl Proofs {
    /// Reads the proofs of one source, if it has any.
    pub fn read(
        json: &Json,
        source: &Source,
        context: &Context,
        of: &Authorization,
    ) -> Result<Proofs, Reason> {
        let mut proofs = Proofs::default();
        if let Some(token) = json.get("storageProof") {
            let header = state_header(json, &source.block)?;
            let answers = (token, json.get("implementationProof"));
            let shown =
                storage_proof::prove(&header.state_root, answers, &context.layouts, &context.asset, of)?;
            match shown {
                State::CodeUnknown => proofs.code_unknown = true,
                shown if source.used == (shown == State::Used) => proofs.state = Some(header.hash),
                _ => return Err("state_proof_disagrees"),
            }
        }
        if let Some(proof) = json.get("receiptProof") {
            let receipt = source.receipt.as_ref().ok_or("receipt_missing")?;
            proofs.receipt = Some(receipt_header(proof, receipt)?.hash);
        }
        Ok(proofs)
    }

    /// Reads the proofs of one source about a nonce of Permit2. A use is proven by the word of the bitmap on both sides of the block in which
    /// the receipt stands: `usedWithin.by.storageProof` under that block's header, and `usedWithin.after: {header, storageProof}` under the one before it.
    pub fn of_permit(
        json: &Json,
        (block, word): (&Block, &Word),
        receipt: Option<&Receipt>,
        context: &Context,
        permit: &Permit,
    ) -> Result<Proofs, Reason> {
        let mut proofs = Proofs::default();
        let mut shows = |header: &Header, json: &Json, said: &Word| {
            let answer = json.get("storageProof").ok_or("storage_proof_missing")?;
            match bitmap_proof::prove(&header.state_root, answer, &context.layouts, permit)? {
                None => proofs.code_unknown = true,
                Some(word) if word == *said => return Ok(true),
                Some(_) => return Err("state_proof_disagrees"),
            }
            Ok(false)
        };
        let mut state = None;
        if json.get("storageProof").is_some() {
            let header = state_header(json, block)?;
            state = shows(&header, json, word)?.then_some(header.hash);
        }
        let mut used = None;
        if let Some(proof) = json.get("receiptProof") {
            let receipt = receipt.ok_or("receipt_missing")?;
            let header = receipt_header(proof, receipt)?;
            let end = |name: &str| json.get("usedWithin").and_then(|within| within.get(name));
            if let (Some(after), Some(by)) = (end("after"), end("by")) {
                let told = |end: &Json| {
                    let number = member(end, "number").and_then(quantity);
                    let word = member(end, "nonceBitmap").and_then(|word| hex::decode_array(word).ok());
                    number.zip(word).ok_or("state_malformed")
                };
                let ((before, unset), (at, set)) = (told(after)?, told(by)?);
                if after.get("storageProof").is_some() && by.get("storageProof").is_some() {
                    let parent = self::header(after)?;
                    if at != header.number || parent.number != before || parent.hash != header.parent_hash {
                        return Err("header_disagrees");
                    }
                    let both = shows(&parent, after, &unset)? & shows(&header, by, &set)?;
                    used = both.then_some(header.hash);
                }
            }
        }
        proofs.state = state;
        proofs.receipt = used;
        Ok(proofs)
    }

    /// What either of two sources proves.
    pub fn or(self, other: Proofs) -> Proofs {
        Proofs {
            state: self.state.or(other.state),
            receipt: self.receipt.or(other.receipt),
            code_unknown: self.code_unknown || other.code_unknown,
        }
    }
}

fn header(json: &Json) -> Result<Header, Reason> {
    let header = json.get("header").ok_or("header_missing")?;
    Header::from_json(header).map_err(|error| match error.code.as_str() {
        known @ "header_hash_mismatch" => known,
        _ => "header_invalid",
    })
}

/// The header of the block at which the state was read.
fn state_header(json: &Json, block: &Block) -> Result<Header, Reason> {
    let header = header(json)?;
    let root = json.get("block").and_then(|block| block.get("stateRoot"));
    let same_root = root.is_none_or(|root| {
        let root = root.as_str().and_then(hex::decode_array);
        root == Ok(header.state_root)
    });
    let same = (header.hash, header.number, header.timestamp) == (block.hash, block.number, block.timestamp);
    match same && same_root {
        true => Ok(header),
        false => Err("header_disagrees"),
    }
}

/// The block in which the receipt is proven to stand.
pub(super) fn receipt_block(json: &Json, receipt: &Receipt) -> Result<Word, Reason> {
    receipt_header(json, receipt).map(|header| header.hash)
}

/// The header of the block in which the receipt stands, once the receipt is proven to be in it.
fn receipt_header(json: &Json, receipt: &Receipt) -> Result<Header, Reason> {
    const MALFORMED: Reason = "receipt_proof_malformed";
    let header = header(json)?;
    if (header.hash, header.number) != (receipt.block_hash, receipt.block_number) {
        return Err("header_disagrees");
    }
    let index = member(json, "index").and_then(quantity).ok_or(MALFORMED)?;
    let nodes = json.read("proof", |nodes| nodes.as_list(|node| hex::decode(node.as_str()?)));
    let proven = receipt_proof::prove(&header, index, &nodes.map_err(|_| MALFORMED)?)?;
    let mut pairs = receipt.logs.iter().zip(&proven.logs);
    let same = |(said, proven): (&super::rpc::Log, &receipt_proof::Event)| {
        (said.address, &said.topics, &said.data) == (proven.address, &proven.topics, &proven.data)
    };
    let alike =
        receipt.succeeded == proven.succeeded && receipt.logs.len() == proven.logs.len() && pairs.all(same);
    match alike {
        true => Ok(header),
        false => Err("receipt_proof_disagrees"),
    }
}
