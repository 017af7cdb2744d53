//! The intents of the bundles put together, each once, and who stands above whom.

use std::collections::BTreeMap;

use super::Options;
use crate::address::Address;
use crate::error::{Code, Error};
use crate::json::Json;
use crate::receipt::record::Record;
use crate::sorting::sort_by;
use crate::time::Seconds;
use crate::tree::{self, Broken, Limits, Place};

/// Everything that the bundles say of one intent.
pub(super) struct Member<'a> {
    pub id: &'a str,
    pub payer: Address,
    pub records: Vec<&'a Record<'a>>,
    pub place: Option<Place>,
    /// The intent above it; the first that is named, where several are.
    pub parent: Option<String>,
    /// Two parents are named for it.
    pub torn: bool,
    /// What a person is asked about it.
    pub asked: Option<&'a Json>,
    /// A person's no to what was asked.
    pub refused: Option<&'a Json>,
    pub created_at: Seconds,
}

/// The intents by id.
pub(super) struct Family<'a> {
    members: BTreeMap<&'a str, Member<'a>>,
    pub approvals: Vec<&'a Json>,
}

impl<'a> Family<'a> {
    /// `place`: in which text a bundle stands. Errors: those of the places, with their path.
    pub fn new(
        read: &'a [(Address, Vec<Record<'a>>)],
        bundles: &'a [Json],
        place: &dyn Fn(usize) -> usize,
    ) -> Result<Family<'a>, Error> {
        let mut family = Family {
            members: BTreeMap::new(),
            approvals: Vec::new(),
        };
        for (_, records) in read {
            for record in records {
                let member = family.member(record.intent_id, record.principal);
                member.seen(time(record.json, "createdAt"));
                member.name_parent(record.parent);
                member.records.push(record);
            }
        }
        for (index, (bundle, (payer, _))) in bundles.iter().zip(read).enumerate() {
            let within = |error: Error| error.within(&format!("bundles[{}]", place(index)));
            for json in list(bundle, "places") {
                let place = Place::from_json(json).map_err(|e| within(e.within("places")))?;
                let id = json.read("intentId", Json::as_str)?;
                let member = family.member(id, *payer);
                member.seen(Some(place.at));
                // A hand-over from another journal has no parent here; the record says whose child it is.
                member.name_parent(place.parent.as_deref());
                member.place = Some(match member.place.take() {
                    None => place,
                    Some(known) => narrowest(known, place),
                });
            }
            for json in list(bundle, "asked") {
                if let Some(id) = json.get("intentId").and_then(|id| id.as_str().ok()) {
                    let member = family.member(id, *payer);
                    member.asked = Some(json);
                    member.seen(time(json, "at"));
                }
            }
            for json in list(bundle, "refused") {
                let id = json.get("intentId").and_then(|id| id.as_str().ok());
                if let Some((id, refusal)) = id.zip(json.get("refusal")) {
                    let member = family.member(id, *payer);
                    member.refused = Some(refusal);
                    member.seen(time(refusal, "at"));
                }
            }
            for approval in list(bundle, "approvals") {
                if !family.approvals.contains(&approval) {
                    family.approvals.push(approval);
                }
            }
        }
        for member in family.members.values_mut() {
            // Nothing says when it began.
            if member.created_at == Seconds::MAX {
                member.created_at = 0;
            }
        }
        Ok(family)
    }

    /// The same, where the intent that is asked for is among them. Errors: those of [`Family::new`], `intent_unknown`.
    pub fn rooted(
        read: &'a [(Address, Vec<Record<'a>>)],
        bundles: &'a [Json],
        options: &Options,
        place: &dyn Fn(usize) -> usize,
    ) -> Result<Family<'a>, Error> {
        let family = Family::new(read, bundles, place)?;
        let unknown = |root: &String| family.get(root).is_none();
        match options.root.as_ref().is_some_and(unknown) {
            true => Err(Error::new(Code::IntentUnknown, "root")),
            false => Ok(family),
        }
    }

    fn member(&mut self, id: &'a str, payer: Address) -> &mut Member<'a> {
        self.members.entry(id).or_insert_with(|| Member {
            id,
            payer,
            records: Vec::new(),
            place: None,
            parent: None,
            torn: false,
            asked: None,
            refused: None,
            created_at: Seconds::MAX,
        })
    }

    pub fn get(&self, id: &str) -> Option<&Member<'a>> {
        self.members.get(id)
    }

    pub fn all(&self) -> impl Iterator<Item = &Member<'a>> {
        self.members.values()
    }

    /// From an intent up to its root, itself first. Errors: those of [`tree::path`].
    pub fn path<'b>(&'b self, id: &'b str) -> Result<Vec<&'b str>, Broken> {
        tree::path(id, |id| self.get(id).map(|member| member.parent.as_deref()))
    }

    /// The same, as far as it goes: where it breaks, the intent is shown as a root.
    pub fn above<'b>(&'b self, id: &'b str) -> Vec<&'b str> {
        self.path(id).unwrap_or_else(|_| vec![id])
    }

    /// Every intent with its depth, each behind the one above it, the older first.
    pub fn walk(&self, root: Option<&str>) -> Vec<(&Member<'a>, usize)> {
        let mut below: BTreeMap<&str, Vec<&Member>> = BTreeMap::new();
        let mut roots = Vec::new();
        for member in self.all() {
            match (root, self.above(member.id).get(1)) {
                (Some(root), _) if root == member.id => roots.push(member),
                (None, None) => roots.push(member),
                (_, Some(parent)) => below.entry(parent).or_default().push(member),
                (Some(_), None) => {}
            }
        }
        let in_order = |members: &mut Vec<&Member<'a>>| {
            // Taken from the end.
            sort_by(members, |one, other| {
                (other.created_at, other.id).cmp(&(one.created_at, one.id))
            });
        };
        in_order(&mut roots);
        let mut open: Vec<(&Member, usize)> = roots.into_iter().map(|member| (member, 0)).collect();
        let mut found = Vec::new();
        while let Some((member, depth)) = open.pop() {
            found.push((member, depth));
            let mut children = below.remove(member.id).unwrap_or_default();
            in_order(&mut children);
            open.extend(children.into_iter().map(|child| (child, depth + 1)));
        }
        found
    }
}

impl Member<'_> {
    /// It was there at that time.
    fn seen(&mut self, at: Option<Seconds>) {
        self.created_at = at.map_or(self.created_at, |at| self.created_at.min(at));
    }

    fn name_parent(&mut self, parent: Option<&str>) {
        match (&self.parent, parent) {
            (Some(known), Some(parent)) if known != parent => self.torn = true,
            (None, Some(parent)) => self.parent = Some(parent.to_owned()),
            _ => {}
        }
    }

    /// Who worked on it at that time: where it was handed over, the giver before and the taker since.
    pub fn agent(&self, at: Seconds) -> String {
        let handed = self.handed();
        let text = |name: &str| handed?.get(name)?.as_str().ok();
        let time = |name: &str| handed?.get(name)?.as_u64().ok();
        let placed = self.place.as_ref().and_then(|place| place.actor.clone());
        let asking = || self.asked?.get("actor")?.as_string().ok();
        let named = placed.or_else(asking);
        match (text("from"), text("to"), time("takenAt")) {
            (_, Some(to), Some(taken)) if at >= taken => to.to_owned(),
            (Some(from), ..) => from.to_owned(),
            _ => named.unwrap_or_else(|| self.payer.to_string()),
        }
    }

    /// The last hand-over that a record knows.
    pub fn handed(&self) -> Option<&Json> {
        let known = self
            .records
            .iter()
            .filter_map(|record| record.json.get("handOver"));
        known.max_by_key(|handed| {
            let number = |name: &str| handed.get(name).and_then(|number| number.as_u64().ok());
            (number("serial"), number("takenAt"))
        })
    }

    /// Display only.
    pub fn purpose(&self) -> Option<&str> {
        let recorded = self
            .records
            .iter()
            .find_map(|record| record.json.get("purpose")?.as_str().ok());
        recorded.or_else(|| self.place.as_ref()?.purpose.as_deref())
    }
}

/// Of two places of one intent what both allow: a limit is not lifted by a bundle that says another.
fn narrowest(known: Place, other: Place) -> Place {
    let Limits {
        recipients,
        expires_at,
    } = known.bounds().and(other.bounds());
    Place {
        recipients,
        expires_at,
        at: known.at.min(other.at),
        ..known.narrowed(other.budget)
    }
}

/// A member that is a time.
pub(super) fn time(json: &Json, name: &str) -> Option<Seconds> {
    json.get(name)?.as_u64().ok()
}

/// When an attempt was signed, or else planned.
pub(super) fn signed_at(attempt: &Json) -> Option<Seconds> {
    time(attempt, "signedAt").or(time(attempt, "plannedAt"))
}

/// A member that is a list; empty where it is not there.
pub(super) fn list<'a>(json: &'a Json, name: &str) -> &'a [Json] {
    let found = json.get(name).and_then(|list| list.as_array().ok());
    found.unwrap_or_default()
}
