//! Auditing many documents at once.

use std::sync::{Mutex, PoisonError};

use super::core::KEYS;
use super::jws::Asked;
use super::Input;
use crate::audit::{
    self, across, Canonical, Found, Given, Join, Kind, Names, Read, Reader, Summary, Verdict,
};
use crate::error::{Code, Error};
use crate::hex;
use crate::json::Json;

/// Answers the call when its name belongs here.
pub(super) fn call(name: &str, input: &Input) -> Option<Result<Json, Error>> {
    Some(match name {
        "auditLines" => listed(input, lines),
        "auditVerdicts" => listed(input, verdicts),
        "auditNames" => names(input),
        "auditHold" => hold(input),
        "auditAcross" => groups(&input.json),
        "auditSummary" => summary(&input.json).map(|summary| summary.to_json()),
        _ => return None,
    })
}

/// The lines of a call: its bytes, parted by line feeds, else the texts in `lines`.
fn texts(input: &Input) -> Result<Vec<&[u8]>, Error> {
    match input.bytes.as_deref() {
        Some(bytes) => Ok(bytes.split(|byte| *byte == b'\n').collect()),
        None => input
            .json
            .read("lines", |list| list.as_list(|text| Ok(text.as_str()?.as_bytes()))),
    }
}

/// The lines of one call, read.
struct Held {
    number: u64,
    input: String,
    broken: Option<u64>,
    /// Each with its place in the call.
    read: Vec<(usize, Read)>,
}

/// Lines whose names were asked for, until what was found under them is known; and how often that was.
struct Hold {
    times: u64,
    held: Option<Held>,
}

static HOLD: Mutex<Hold> = Mutex::new(Hold { times: 0, held: None });

/// Input `{input, given?, first?, numbers?, found?, blank?, broken?, answers?}` and the lines. Their numbers are in `numbers`, else they count from `first`,
/// else from 1. `found`: for each null, `{sha256, length?, canonical?}` or `"unreadable"`, what the host found of its answer; `canonical` false is no JSON. Blank lines get no
/// verdict unless `blank` is true. `broken`: from this line on the input could not be read. With `{held, found?}` the lines are those that
/// [`hold`] keeps under this number.
fn lines(input: &Input, asked: &Asked) -> Result<Vec<Verdict>, Error> {
    let json = &input.json;
    let held = match json.read_opt("held", Json::as_u64)? {
        None => self::read(input)?,
        Some(number) => {
            let mut hold = HOLD.lock().unwrap_or_else(PoisonError::into_inner);
            let held = hold.held.take_if(|held| held.number == number);
            let held = held.ok_or_else(|| Error::new(Code::MissingField, "held"))?;
            for task in held.read.iter().filter_map(|(_, read)| read.elsewhere()) {
                asked.made(&task);
            }
            if asked.is_open() {
                // The call comes again, with what the other module answers.
                hold.held = Some(held);
                return Ok(Vec::new());
            }
            held
        }
    };
    let Held {
        input: name,
        broken,
        read,
        ..
    } = held;
    let found = json
        .read_opt("found", |list| list.as_list(found))?
        .unwrap_or_default();
    let read = read.into_iter().map(|(at, mut read)| {
        read.found = found.get(at).copied().flatten();
        read
    });
    let mut keys = KEYS.lock().unwrap_or_else(PoisonError::into_inner);
    let mut verdicts = audit::judge(&name, read.collect(), &mut keys, &|task| asked.made(task));
    verdicts.extend(broken.map(|line| Verdict::unreadable(&name, line)));
    Ok(verdicts)
}

fn read(input: &Input) -> Result<Held, Error> {
    let json = &input.json;
    let name = json.read("input", Json::as_string)?;
    let given = json.read_opt("given", Given::from_json)?.unwrap_or_default();
    let first = json.read_opt("first", Json::as_u64)?.unwrap_or(1);
    let blank = json.read_opt("blank", Json::as_bool)?.unwrap_or(false);
    let broken = json.read_opt("broken", Json::as_u64)?;
    let numbers = json.read_opt("numbers", |list| list.as_list(Json::as_u64))?;
    let (mut reader, mut read) = (Reader::new(&given), Vec::new());
    for (at, bytes) in self::texts(input)?.into_iter().enumerate() {
        let number = match &numbers {
            None => first.saturating_add(at as u64),
            Some(numbers) => *numbers
                .get(at)
                .ok_or_else(|| Error::new(Code::MissingField, "numbers"))?,
        };
        if blank || !bytes.trim_ascii().is_empty() {
            read.push((at, reader.read(number, bytes)));
        }
    }
    Ok(Held {
        number: 0,
        input: name,
        broken,
        read,
    })
}

/// Reads the lines of [`lines`] and keeps them, so that they are read once: `{held, names, unless}`, the number under which they are kept until
/// other lines are, what [`names`] gives, and for each line the digest of an answer of which no canonical text is wanted: null where it never is, empty where
/// it always is.
fn hold(input: &Input) -> Result<Json, Error> {
    let mut held = read(input)?;
    let count = texts(input)?.len();
    let (mut names, mut unless) = (vec![Json::Null; count], vec![Json::Null; count]);
    for (at, read) in &held.read {
        if let (Some(name), Some(unless)) = (names.get_mut(*at), unless.get_mut(*at)) {
            *name = named(read.names());
            *unless = match read.canonical() {
                Canonical::Never => Json::Null,
                Canonical::Unless(sha256) => Json::text(hex::encode(sha256)),
                Canonical::Always => Json::text(""),
            };
        }
    }
    let mut hold = HOLD.lock().unwrap_or_else(PoisonError::into_inner);
    hold.times += 1;
    held.number = hold.times;
    hold.held = Some(held);
    Ok(Json::object([
        ("held", Json::number(hold.times)),
        ("names", Json::Array(names)),
        ("unless", Json::Array(unless)),
    ]))
}

fn found(json: &Json) -> Result<Option<Found>, Error> {
    match json {
        Json::Null => Ok(None),
        Json::String(text) if text == "unreadable" => Ok(Some(Found::Unreadable)),
        found => Ok(Some(Found::Answer {
            sha256: found.read("sha256", Json::as_hex)?,
            length: found.read_opt("length", Json::as_u64)?,
            canonical: found.read_opt("canonical", |canonical| match canonical {
                Json::Bool(false) => Ok(None),
                digest => digest.as_hex().map(Some),
            })?,
        })),
    }
}

/// The lines are verdicts that were written down.
fn verdicts(input: &Input, _: &Asked) -> Result<Vec<Verdict>, Error> {
    let lines = texts(input)?;
    let read = |(at, line): (usize, &&[u8])| {
        Verdict::from_line(line).map_err(|error| error.within(&format!("lines[{at}]")))
    };
    lines.iter().enumerate().map(read).collect()
}

type Judged = fn(&Input, &Asked) -> Result<Vec<Verdict>, Error>;

/// `{verdicts, summary}`, or what [`Asked`] needs first.
fn listed(input: &Input, judged: Judged) -> Result<Json, Error> {
    let asked = Asked::read(&input.json)?;
    let verdicts = judged(input, &asked)?;
    if let Some(needs) = asked.needs() {
        return Ok(needs);
    }
    Ok(Json::object([
        (
            "verdicts",
            Json::Array(verdicts.iter().map(Verdict::to_json).collect()),
        ),
        ("summary", sum(&verdicts).to_json()),
    ]))
}

fn sum(verdicts: &[Verdict]) -> Summary {
    let mut summary = Summary::default();
    verdicts.iter().for_each(|verdict| summary.add(verdict));
    summary
}

/// The same in the form that costs least to read: the length of a JSON text and of the verdicts' lines, 4 bytes each, little end first;
/// the text, `{"ok": {summary}}`, `{"ok": {needs}}` or `{"error"}`; the lines, each with its line feed; and each key of each line, as the 4 bytes of its place
/// among them and its 16 bytes.
#[cfg_attr(not(target_arch = "wasm32"), allow(dead_code))]
pub(super) fn packed(input: &Input, again: bool) -> Result<(Json, String, Vec<u8>), Error> {
    let asked = Asked::read(&input.json)?;
    let judged: Judged = if again { verdicts } else { lines };
    let verdicts = judged(input, &asked)?;
    let (mut text, mut keys) = (String::new(), Vec::new());
    if let Some(needs) = asked.needs() {
        return Ok((needs, text, keys));
    }
    let (mut shared, mut places) = (Vec::new(), Vec::new());
    for (at, verdict) in (0_u32..).zip(&verdicts) {
        verdict.write(&mut text);
        text.push('\n');
        shared.extend(verdict.shared());
        places.resize(shared.len(), at);
    }
    for (key, at) in Join::of_all(&shared).into_iter().zip(places) {
        keys.extend(at.to_le_bytes());
        keys.extend(key.0);
    }
    let head = Json::object([("summary", sum(&verdicts).to_json())]);
    Ok((head, text, keys))
}

/// For each line the name under which the host finds its answer, or a list of names of which it may have one, or null.
fn names(input: &Input) -> Result<Json, Error> {
    let given = Given::default();
    let mut reader = Reader::new(&given);
    let names = texts(input)?
        .into_iter()
        .map(|line| named(reader.read(1, line).names()));
    Ok(Json::Array(names.collect()))
}

fn named(names: Names) -> Json {
    match names {
        Names::None => Json::Null,
        Names::Said(name) => Json::String(name),
        Names::Any(names) => Json::Array(names.into_iter().map(Json::String).collect()),
    }
}

/// Input `{groups: [{kind, count?, verdicts}]}`, where the kind is the first byte of the key; answer the findings.
fn groups(json: &Json) -> Result<Json, Error> {
    let group = |group: &Json| {
        let kind = group.read("kind", |kind| {
            let kind = kind.as_u64()?;
            let found = Kind::ALL.into_iter().find(|one| u64::from(one.byte()) == kind);
            found.ok_or_else(|| Error::new(Code::NumberOutOfRange, ""))
        })?;
        let verdicts = group.read("verdicts", |list| list.as_list(Verdict::from_json))?;
        let count = group.read_opt("count", Json::as_u64)?;
        Ok(across(kind, &verdicts, count.unwrap_or(verdicts.len() as u64)))
    };
    let found = json.read("groups", |list| list.as_list(group))?;
    Ok(Json::Array(found.into_iter().flatten().collect()))
}

/// Input `{summaries: [], inputs?: []}`; answer them all as one.
fn summary(json: &Json) -> Result<Summary, Error> {
    let mut all = Summary::default();
    for summary in json.read("summaries", |list| list.as_list(Summary::from_json))? {
        all.merge(&summary);
    }
    if let Some(inputs) = json.read_opt("inputs", Json::as_array)? {
        for (at, input) in inputs.iter().enumerate() {
            all.read_from(input)
                .map_err(|error| error.within(&format!("inputs[{at}]")))?;
        }
    }
    Ok(all)
}
