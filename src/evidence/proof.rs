//! The proofs beside a source's answers: what they show must be what the source says, and they count as far as the header
//! above them is trusted.

use super::header::Header;
use super::receipt_proof;
use super::rpc::{member, quantity, Reason, Receipt, Source, Word};
use super::storage_proof::{self, State};
use super::Context;
use crate::eip3009::Authorization;
use crate::hex;
use crate::json::Json;

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
            let header = state_header(json, source)?;
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
fn state_header(json: &Json, source: &Source) -> Result<Header, Reason> {
    let header = header(json)?;
    let block = &source.block;
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
