//! The proofs beside a source's answers: what they show must be what the source says, and they count as far as the header
//! above them is trusted.

use super::bitmap_proof;
use super::header::Header;
use super::permit2;
use super::receipt_proof::{self, Event};
use super::rpc::{member, quantity, Block, Log, Reason, Receipt, Source, Word};
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

    /// Reads the proofs of one source about a nonce of Permit2. A use is proven by the block in which it was: by the word of the bitmap under
    /// that block's header (`usedWithin.by: {header, storageProof, receipts}`) and under the one before it (`usedWithin.after: {header, storageProof}`), and
    /// by all receipts of the block, which hold every Transfer and invalidation that it could be, and no other than the source's `logs`.
    pub fn of_permit(
        json: &Json,
        (block, word, logs): (&Block, &Word, &[Log]),
        context: &Context,
        permit: &Permit,
    ) -> Result<Proofs, Reason> {
        let mut proofs = Proofs::default();
        if json.get("storageProof").is_some() {
            let header = state_header(json, block)?;
            let known = shows(&header, json, word, context, permit)?;
            proofs.state = known.then_some(header.hash);
            proofs.code_unknown = !known;
        }
        let end = |name: &str| json.get("usedWithin").and_then(|within| within.get(name));
        let proven = |end: &&Json| end.get("storageProof").is_some();
        let (after, by) = (end("after").filter(proven), end("by").filter(proven));
        if let (Some(after), Some(by)) = (after, by) {
            if let Some(receipts) = by.get("receipts") {
                let (header, known) = use_block(after, by, context, permit)?;
                let events = receipt_proof::events(&header, receipts)?;
                same_events(&header, &events, logs, context, permit)?;
                proofs.receipt = known.then_some(header.hash);
                proofs.code_unknown |= !known;
            }
        }
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

/// Whether Permit2's code in this block is known, so that what the bitmap holds there, which must be what is said, means something.
fn shows(
    header: &Header,
    json: &Json,
    said: &Word,
    context: &Context,
    permit: &Permit,
) -> Result<bool, Reason> {
    let answer = json.get("storageProof").ok_or("storage_proof_missing")?;
    match bitmap_proof::prove(&header.state_root, answer, &context.layouts, permit)? {
        None => Ok(false),
        Some(word) if word == *said => Ok(true),
        Some(_) => Err("state_proof_disagrees"),
    }
}

/// The block in which the bit was set, next after the one in which it was not, and whether Permit2's code is known in both.
fn use_block(after: &Json, by: &Json, context: &Context, permit: &Permit) -> Result<(Header, bool), Reason> {
    let told = |end: &Json| {
        let number = member(end, "number").and_then(quantity);
        let word = member(end, "nonceBitmap").and_then(|word| hex::decode_array(word).ok());
        number.zip(word).ok_or("state_malformed")
    };
    let ((before, unset), (at, set)) = (told(after)?, told(by)?);
    let (parent, header) = (self::header(after)?, self::header(by)?);
    if (before, at) != (parent.number, header.number) || parent.hash != header.parent_hash {
        return Err("header_disagrees");
    }
    let known = shows(&parent, after, &unset, context, permit)? & shows(&header, by, &set, context, permit)?;
    Ok((header, known))
}

/// The source's logs of that block are those that its receipts hold, as far as the question goes.
fn same_events(
    header: &Header,
    events: &[Event],
    logs: &[Log],
    context: &Context,
    permit: &Permit,
) -> Result<(), Reason> {
    let asked = |address: &[u8; 20], topics: &[Word]| permit2::asks(address, topics, context, permit);
    let mut proven = events.iter().filter(|event| asked(&event.address, &event.topics));
    let mut said = logs
        .iter()
        .filter(|log| log.block_number == header.number && asked(&log.address, &log.topics));
    let alike =
        said.all(|log| log.block_hash == header.hash && proven.next().is_some_and(|event| event.is(log)));
    match alike && proven.next().is_none() {
        true => Ok(()),
        false => Err("receipts_disagree"),
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
    let alike = receipt.succeeded == proven.succeeded
        && receipt.logs.len() == proven.logs.len()
        && pairs.all(|(said, proven)| proven.is(said));
    match alike {
        true => Ok(header),
        false => Err("receipt_proof_disagrees"),
    }
}
