//! Reading the chain and verifying receipts.

use super::jws::Asked;
use super::Input;
use crate::conflict::Given;
use crate::eip3009::Authorization;
use crate::error::{Code, Error};
use crate::evidence::{self, Context, Refund};
use crate::json::{self, Json};
use crate::mpp::challenge::Challenge;
use crate::mpp::tempo;
use crate::network::Network;
use crate::permit2::Permit;
use crate::tempo::Transaction;
use crate::{claim, conflict, hex, lineage, receipt};

/// Answers the call when its name belongs here.
pub(super) fn call(name: &str, input: &Input) -> Option<Result<Json, Error>> {
    match name {
        "resolve" => Some(resolve(&input.json)),
        "resolveTempo" => Some(resolve_tempo(&input.json)),
        "refundClosed" => Some(refund_closed(&input.json)),
        "verifyReceipt" => Some(verify_receipt(input)),
        "claimDigest" => Some(claim_digest(&input.json)),
        "claimPaymentIdHash" => Some(
            input
                .json
                .read("id", |id| claim::payment_id_hash(id.as_str()?))
                .map(|hash| Json::text(hex::encode(hash))),
        ),
        "findConflicts" => Some(find_conflicts(input)),
        "verifyLineage" => Some(input.json.require("bundle").and_then(|bundle| {
            lineage::verify(
                Documents::of(input)
                    .text(bundle)
                    .map_err(|error| error.within("bundle"))?,
            )
        })),
        "lineage" => Some(lineage_of(input, lineage::lineage)),
        "lineageProv" => Some(lineage_of(input, lineage::prov)),
        "bundleEvidenceTargets" => Some(
            input
                .json
                .read("receipt", Json::as_str)
                .and_then(receipt::evidence_targets),
        ),
        _ => None,
    }
}

fn resolve(input: &Json) -> Result<Json, Error> {
    // All siblings are of the first one's method: they share a nonce.
    let permits = input.read("authorizations", |list| {
        Ok(list
            .as_array()?
            .first()
            .is_some_and(|one| one.get("permitted").is_some()))
    })?;
    if permits {
        let permits = input.read("authorizations", |list| list.as_list(Permit::from_json))?;
        let context = input.read("ctx", Context::from_json)?;
        let evidence = input.read("evidence", Json::as_array)?;
        return Ok(evidence::resolve_permits(&permits, &context, evidence).to_json());
    }
    let authorizations = input.read("authorizations", |list| list.as_list(Authorization::from_json))?;
    let context = input.read("ctx", Context::from_json)?;
    let evidence = input.read("evidence", Json::as_array)?;
    Ok(evidence::resolve(&authorizations, &context, evidence).to_json())
}

/// Input `{transaction, challenge, ctx: {trustSafe?, trustedBlocks?}, evidence: []}`; network and token are the challenge's.
fn resolve_tempo(input: &Json) -> Result<Json, Error> {
    let transaction = input.read("transaction", Transaction::from_json)?;
    let challenge = input.read("challenge", Challenge::from_json)?;
    let payment = tempo::read(&transaction, &challenge)?;
    let network = Network::parse(&format!("eip155:{}", payment.chain_id))?;
    let mut context = Context::new(network, payment.currency);
    if let Some(ctx) = input.get("ctx") {
        let at = |error: Error| error.within("ctx");
        let trust_safe = ctx.read_opt("trustSafe", Json::as_bool).map_err(at)?;
        context.trust_safe = trust_safe.unwrap_or(false);
        context.trusted_blocks = ctx
            .read_opt("trustedBlocks", evidence::block_hashes)
            .map_err(at)?;
    }
    let evidence = input.read("evidence", Json::as_array)?;
    Ok(evidence::resolve_tempo(&payment, &context, evidence).to_json())
}

/// Input `{refund, ctx: {trustSafe?, trustedBlocks?}, evidence: []}`; answer `{closed: true, transaction, logIndexes}` or `{closed: false, reason}`.
fn refund_closed(input: &Json) -> Result<Json, Error> {
    let refund = input.read("refund", Refund::from_json)?;
    let mut context = Context::new(refund.network.clone(), refund.asset);
    if let Some(ctx) = input.get("ctx") {
        let at = |error: Error| error.within("ctx");
        context.trust_safe = ctx
            .read_opt("trustSafe", Json::as_bool)
            .map_err(at)?
            .unwrap_or(false);
        context.trusted_blocks = ctx
            .read_opt("trustedBlocks", evidence::block_hashes)
            .map_err(at)?;
    }
    let evidence = input.read("evidence", Json::as_array)?;
    Ok(match evidence::refunded(&refund, &context, evidence) {
        Ok(refunded) => Json::object([
            ("closed", Json::Bool(true)),
            ("transaction", Json::text(hex::encode(refunded.transaction))),
            (
                "logIndexes",
                Json::Array(refunded.transfers.into_iter().map(Json::number).collect()),
            ),
        ]),
        Err(reason) => Json::object([("closed", Json::Bool(false)), ("reason", Json::text(reason))]),
    })
}

/// Input `{receipt, material?, answers?}`; answer the report, or what [`Asked`] needs first.
fn verify_receipt(input: &Input) -> Result<Json, Error> {
    let none = Json::Object(Vec::new());
    let receipt = input.json.read("receipt", Json::as_str)?;
    let asked = Asked::read(&input.json)?;
    let report = receipt::verify(
        receipt,
        input.json.get("material").unwrap_or(&none),
        input.bytes.as_deref(),
        &|task| asked.made(task),
    )?;
    Ok(asked.needs().unwrap_or(report))
}

/// Input `{claim: text}`; answer `{body, digest, typedData, keccak256}`: what its payer signs, and the hash of exactly this text.
fn claim_digest(input: &Json) -> Result<Json, Error> {
    let text = input.read("claim", Json::as_str)?;
    let (claim, _) = claim::parse(text).map_err(|error| error.within("claim"))?;
    Ok(Json::object([
        ("body", Json::text(hex::encode(claim.body()?))),
        ("digest", Json::text(hex::encode(claim.digest()?))),
        ("typedData", claim.typed_data()?),
        ("keccak256", Json::text(hex::encode(claim::file_hash(text)))),
    ]))
}

/// Input `{bundles: [text], refunds?: [{refund, evidence}]}`; answer the findings.
fn find_conflicts(input: &Input) -> Result<Json, Error> {
    let bundles = Documents::of(input).list("bundles")?;
    let given = input
        .json
        .read_opt("refunds", |list| list.as_list(Given::from_json))?;
    let found = conflict::find_conflicts_refunded(&bundles, &given.unwrap_or_default())?;
    Ok(conflict::to_json(&found))
}

type Shown = fn(&[&str], &lineage::Options) -> Result<Json, Error>;

/// Input `{bundles: [text], root?, refunds?, threshold?}`; answer the view, or the PROV-JSON document.
fn lineage_of(input: &Input, shown: Shown) -> Result<Json, Error> {
    let bundles = Documents::of(input).list("bundles")?;
    shown(&bundles, &lineage::Options::from_json(&input.json)?)
}

/// The documents of a call. A text stands in the parameters, or beside them in the attached bytes, one after the other: then the parameters have its length. So the
/// limit of one JSON text is not that of a journal, which is many.
struct Documents<'a> {
    json: &'a Json,
    rest: &'a [u8],
}

impl<'a> Documents<'a> {
    fn of(input: &'a Input) -> Documents<'a> {
        let rest = input.bytes.as_deref().unwrap_or_default();
        super::take_room(rest.len());
        Documents {
            json: &input.json,
            rest,
        }
    }

    /// Errors: `invalid_type`, `number_out_of_range` (fewer bytes are there), `json_invalid` where they are no UTF-8.
    fn text(&mut self, place: &'a Json) -> Result<&'a str, Error> {
        let Json::Number(_) = place else {
            return place.as_str();
        };
        let length = usize::try_from(place.as_u64()?).ok();
        let split = length.and_then(|length| self.rest.split_at_checked(length));
        let (own, rest) = split.ok_or_else(|| Error::new(Code::NumberOutOfRange, ""))?;
        self.rest = rest;
        json::utf8(own)
    }

    /// Errors: `missing_field`, `invalid_type`, those of [`Documents::text`].
    fn list(mut self, name: &str) -> Result<Vec<&'a str>, Error> {
        let places = self.json.read(name, Json::as_array)?;
        let texts = places.iter().enumerate().map(|(index, place)| {
            let text = self.text(place);
            text.map_err(|error| error.within(&format!("{name}[{index}]")))
        });
        texts.collect()
    }
}
