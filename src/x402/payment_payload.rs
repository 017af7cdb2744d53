//! The payment: a signed authorization and what it answers.

use super::payment_required::{Offer, PaymentRequired, Signing};
use super::{
    decode_header, fee_split, payment_identifier, shape, version, MAX_HEADER, PAYMENT_SIGNATURE, X_PAYMENT,
};
use crate::authorization::Authorization as Signed;
use crate::base64;
use crate::eip3009::Authorization;
use crate::error::{Code, Error};
use crate::hex;
use crate::json::Json;
use crate::permit2::Permit;

/// Builds the payment for one offer of a price. Version 2 has the members `x402Version, payload, extensions, resource,
/// accepted` in the order of the official packages, extensions echoed and `accepted` verbatim; version 1 has
/// `x402Version, scheme, network, payload`. The payment id is added where the seller declares the extension, and only
/// there; what the seller wrote is never changed. Errors in this order: those of [`Offer::terms`],
/// `payment_payload_invalid` (authorization of another amount or recipient), `signature_invalid` (no hexadecimal text),
/// `payment_id_invalid`, `missing_field` (an id is demanded), `network_invalid` (no version 1 name).
pub fn build(
    required: &PaymentRequired,
    offer: &Offer,
    authorization: &Authorization,
    signature: &str,
    payment_id: Option<&str>,
) -> Result<Json, Error> {
    build_parts(required, offer, &[(authorization, signature)], payment_id)
}

/// The same of every part of a price: the second authorization of a split payment goes into `payload.feeAuthorization`. Besides the
/// errors of [`build`], after those of the terms: `split_unsupported` (another number of parts than signed for, version 1).
fn build_parts(
    required: &PaymentRequired,
    offer: &Offer,
    signed: &[(&Authorization, &str)],
    payment_id: Option<&str>,
) -> Result<Json, Error> {
    let terms = offer.terms()?;
    terms.domain()?;
    let split = terms.shares.len() > 1;
    if signed.len() != terms.shares.len() || split && required.version != 2 {
        return Err(Error::new(Code::SplitUnsupported, "extra.fee_split"));
    }
    let mut payload = Json::object([]);
    for (index, ((authorization, signature), share)) in signed.iter().zip(&terms.shares).enumerate() {
        let within = |error: Error| match index {
            0 => error,
            _ => error.within(fee_split::AUTHORIZATION),
        };
        if authorization.to != share.to {
            return Err(within(Error::new(
                Code::PaymentPayloadInvalid,
                "authorization.to",
            )));
        }
        if authorization.value != share.amount {
            return Err(within(Error::new(
                Code::PaymentPayloadInvalid,
                "authorization.value",
            )));
        }
        let pair = Json::object([
            ("authorization", authorization.to_json()),
            ("signature", signature_text(signature).map_err(within)?),
        ]);
        payload = match index {
            0 => pair,
            _ => payload.with(fee_split::AUTHORIZATION, pair),
        };
    }
    if required.version == 1 {
        let name = terms
            .network
            .v1_name()
            .ok_or_else(|| Error::new(Code::NetworkInvalid, "network"))?;
        return Ok(Json::object([
            ("x402Version", Json::number(1)),
            ("scheme", Json::text("exact")),
            ("network", Json::text(name)),
            ("payload", payload),
        ]));
    }
    version_2(required, offer, payload, payment_id)
}

/// As [`build`], of a permit; only version 2 knows the method. Errors in this order: those of [`Offer::terms`],
/// `no_supported_payment_option` (another method, version 1), `payment_payload_invalid` (a permit of another token, amount or
/// recipient), then those of [`build`].
pub fn build_permit2(
    required: &PaymentRequired,
    offer: &Offer,
    permit: &Permit,
    signature: &str,
    payment_id: Option<&str>,
) -> Result<Json, Error> {
    let terms = offer.terms()?;
    let facilitator = match terms.signing {
        Signing::Permit2 => None,
        Signing::Upto(facilitator) => Some(facilitator),
        Signing::Eip3009(_) | Signing::Tempo(_) => {
            return Err(Error::new(Code::NoSupportedOption, "extra.assetTransferMethod"))
        }
    };
    if required.version != 2 {
        return Err(Error::new(Code::NoSupportedOption, "extra.assetTransferMethod"));
    }
    for (field, same) in [
        ("permitted.token", permit.token == terms.asset),
        ("permitted.amount", permit.amount == terms.amount),
        ("witness.to", permit.to == terms.pay_to),
        ("spender", permit.facilitator.is_some() == facilitator.is_some()),
        ("witness.facilitator", permit.facilitator == facilitator),
    ] {
        if !same {
            let field = format!("permit2Authorization.{field}");
            return Err(Error::new(Code::PaymentPayloadInvalid, field));
        }
    }
    let payload = Json::object([
        ("signature", signature_text(signature)?),
        ("permit2Authorization", permit.to_json()),
    ]);
    version_2(required, offer, payload, payment_id)
}

/// As [`build`] or [`build_permit2`], by the authorizations' method: one for each part of the price, in the order of the terms'
/// shares. Besides their errors: `split_unsupported` for another number of parts than the offer asks for.
pub fn build_signed(
    required: &PaymentRequired,
    offer: &Offer,
    signed: &[(&Signed, &str)],
    payment_id: Option<&str>,
) -> Result<Json, Error> {
    if let [(Signed::Permit2(permit, _), signature)] = signed {
        return build_permit2(required, offer, permit, signature, payment_id);
    }
    let mut parts = Vec::new();
    for (one, signature) in signed {
        match one {
            Signed::Eip3009(one, _) => parts.push((one, *signature)),
            Signed::Permit2(..) | Signed::Tempo(_) => {
                return Err(Error::new(Code::SplitUnsupported, "extra.fee_split"))
            }
        }
    }
    build_parts(required, offer, &parts, payment_id)
}

fn signature_text(signature: &str) -> Result<Json, Error> {
    match hex::decode(signature) {
        Ok(bytes) if !bytes.is_empty() => Ok(Json::text(signature)),
        _ => Err(Error::new(Code::SignatureInvalid, "signature")),
    }
}

fn version_2(
    required: &PaymentRequired,
    offer: &Offer,
    payload: Json,
    payment_id: Option<&str>,
) -> Result<Json, Error> {
    Ok(
        Json::object([("x402Version", Json::number(2)), ("payload", payload)])
            .with_some("extensions", echoed(required, payment_id)?)
            .with_some("resource", required.resource.clone())
            .with("accepted", offer.requirements.clone()),
    )
}

fn echoed(required: &PaymentRequired, payment_id: Option<&str>) -> Result<Option<Json>, Error> {
    if payment_id.is_some_and(|id| !payment_identifier::is_valid(id)) {
        return Err(Error::new(Code::PaymentIdInvalid, "paymentId"));
    }
    let mut extensions = required.extensions.clone();
    let (Some(demanded), Some(object)) = (payment_identifier::declared(required), extensions.as_mut()) else {
        return Ok(extensions);
    };
    let Some(id) = payment_id else {
        let missing = Error::new(Code::MissingField, "paymentId");
        return if demanded { Err(missing) } else { Ok(extensions) };
    };
    let mut extension = object.require(payment_identifier::KEY)?.clone();
    let mut info = extension.require("info")?.clone();
    // The seller's own members win: an id it wrote there is not ours to replace.
    if info.get("id").is_none() {
        info.set("id", Json::text(id));
        extension.set("info", info);
        object.set(payment_identifier::KEY, extension);
    }
    Ok(extensions)
}

/// The header that carries a payment: its name and its value. The text is the JSON verbatim. Errors:
/// `payment_payload_invalid`, `unsupported_version`, those of the authorization, `too_large`.
pub fn encode(payment: &Json) -> Result<(&'static str, String), Error> {
    let name = match check(payment)? {
        1 => X_PAYMENT,
        _ => PAYMENT_SIGNATURE,
    };
    let text = payment.to_text();
    // Four characters carry three bytes.
    if text.len() > MAX_HEADER / 4 * 3 {
        return Err(Error::new(Code::TooLarge, "payload"));
    }
    Ok((name, base64::encode(text.as_bytes())))
}

/// The payment in a header, of either version, verbatim. Errors: `too_large`, `base64_invalid`, those of the JSON
/// reader, those of [`encode`].
pub fn parse(value: &str) -> Result<Json, Error> {
    let payment = decode_header(value)?;
    check(&payment)?;
    Ok(payment)
}

fn check(payment: &Json) -> Result<u8, Error> {
    check_shape(payment).map_err(shape(Code::PaymentPayloadInvalid))
}

fn check_shape(payment: &Json) -> Result<u8, Error> {
    payment.as_object()?;
    let version = version(payment, Code::PaymentPayloadInvalid)?;
    payment.read("payload", |payload| {
        payload.as_object()?;
        payload.read_opt("signature", Json::as_str)?;
        payload.read_opt("authorization", Authorization::from_json)
    })?;
    if version == 1 {
        payment.read("scheme", Json::as_str)?;
        payment.read("network", Json::as_str)?;
    }
    for name in ["accepted", "resource", "extensions"] {
        payment.read_opt(name, Json::as_object)?;
    }
    Ok(version)
}
