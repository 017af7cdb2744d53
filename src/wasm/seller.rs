//! Calls of the selling side.

use super::Input;
use crate::admission::{self, AdmissionRecord, AdmissionRequest};
use crate::error::{Code, Error};
use crate::json::Json;
use crate::order::{self, Event, Order};
use crate::time::Seconds;

/// Answers the call when its name belongs here.
pub(super) fn call(name: &str, input: &Input) -> Option<Result<Json, Error>> {
    Some(match name {
        "admit" => admit(&input.json),
        "admissionTakeOver" => take_over(&input.json),
        "advanceOrder" => advance_order(&input.json),
        _ => return None,
    })
}

fn admit(json: &Json) -> Result<Json, Error> {
    let record = json.read_opt("record", AdmissionRecord::from_json)?;
    let request = json.read("request", AdmissionRequest::from_json)?;
    let now = json.read("now", Json::as_u64)?;
    let poll = json.read_opt("poll", Json::as_str)?;
    admission::admit(record.as_ref(), &request, now, lease(json)?, poll).map(|admission| admission.to_json())
}

fn take_over(json: &Json) -> Result<Json, Error> {
    let record = json.read("record", AdmissionRecord::from_json)?;
    let request = json.read("request", AdmissionRequest::from_json)?;
    let now = json.read("now", Json::as_u64)?;
    admission::take_over(&record, &request, now, lease(json)?).map(|record| record.to_json())
}

/// `null` is no absent lease: JSON makes it of NaN and Infinity. Error: `lease_invalid`.
fn lease(json: &Json) -> Result<Option<Seconds>, Error> {
    json.as_object()?
        .iter()
        .find(|(name, _)| name == "lease")
        .map(|(_, lease)| {
            lease
                .as_u64()
                .map_err(|_| Error::new(Code::LeaseInvalid, "lease"))
        })
        .transpose()
}

fn advance_order(json: &Json) -> Result<Json, Error> {
    let order = json.read("order", Order::from_json)?;
    let event = json.read("event", Event::from_json)?;
    let now = json.read("now", Json::as_u64)?;
    let (order, effects) = order::advance(order, &event, now)?;
    let effects = effects.iter().map(|effect| Json::text(effect.as_str())).collect();
    Ok(Json::object([
        ("order", order.to_json()),
        ("effects", Json::Array(effects)),
    ]))
}
