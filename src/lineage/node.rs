//! The graph behind the view: one content-addressed node for each thing that was done, one hash chain for each writer.
//!
//! A node is `{v, id, kind, at, actor, intentId, …, parents, prev?}`; `id` is the digest with the tag `counterfoil/lineage-node/v1` over the node without it. `parents` are the
//! nodes that it follows from, of whatever writer; `prev` is the one that the same actor wrote before. So whoever knows one id knows all that it rests on.

use std::collections::BTreeMap;

use super::family::{list, time, Family, Member};
use crate::conflict::OwedBack;
use crate::digest;
use crate::error::Error;
use crate::hex;
use crate::json::Json;
use crate::receipt::record::{Attempt, Record};
use crate::sorting::sort_by;
use crate::time::Seconds;

/// Domain tag of a node's id.
const TAG: &str = "counterfoil/lineage-node/v1";

/// A node before its place in a chain is known.
struct Draft {
    at: Seconds,
    actor: String,
    body: Json,
    /// Drafts that it follows from.
    parents: Vec<usize>,
    /// Where it stands in somebody's trace: told beside the node, and no part of it.
    traceparent: Option<Json>,
}

/// Drafts in the making.
struct Drafts<'a> {
    list: Vec<Draft>,
    /// The authorizations, by attempt and place in it.
    signed: BTreeMap<(&'a str, usize), usize>,
}

impl Drafts<'_> {
    fn add(
        &mut self,
        kind: &str,
        at: Seconds,
        member: &Member,
        actor: String,
        parents: &[usize],
        facts: &[(&str, Option<Json>)],
    ) -> usize {
        let mut body = Json::object([
            ("v", Json::number(1)),
            ("kind", Json::text(kind)),
            ("at", Json::number(at)),
            ("actor", Json::text(actor.as_str())),
            ("intentId", Json::text(member.id)),
        ]);
        for (name, fact) in facts {
            body = body.with_some(name, fact.clone());
        }
        self.list.push(Draft {
            at,
            actor,
            body,
            parents: parents.to_vec(),
            traceparent: None,
        });
        self.list.len() - 1
    }

    /// A node whose time and facts are members of `told`.
    fn copied(
        &mut self,
        kind: &str,
        told: &Json,
        member: &Member,
        actor: Option<String>,
        parent: usize,
        names: &[&str],
    ) {
        let at = time(told, "at").unwrap_or(0);
        let actor = actor.unwrap_or_else(|| member.agent(at));
        let facts: Vec<_> = names
            .iter()
            .map(|name| (*name, told.get(name).cloned()))
            .collect();
        self.add(kind, at, member, actor, &[parent], &facts);
    }
}

/// The nodes of these members, whom each follows before it, and of what went back. Error: `number_out_of_range`.
pub(super) fn nodes(family: &Family, members: &[&Member], back: &[OwedBack]) -> Result<Vec<Json>, Error> {
    let mut drafts = Drafts {
        list: Vec::new(),
        signed: BTreeMap::new(),
    };
    let mut approvals: BTreeMap<&str, Vec<&Json>> = BTreeMap::new();
    for approval in &family.approvals {
        if let Some(id) = approval.get("intentId").and_then(|id| id.as_str().ok()) {
            approvals.entry(id).or_default().push(approval);
        }
    }
    let mut returned: BTreeMap<&str, Vec<&OwedBack>> = BTreeMap::new();
    for one in back {
        returned.entry(&one.intent_id).or_default().push(one);
    }
    let mut intents: BTreeMap<&str, usize> = BTreeMap::new();
    // Parents come before their children in a walk.
    for member in members {
        let above = family.above(member.id);
        let parents: Vec<usize> = above
            .get(1)
            .and_then(|id| intents.get(id))
            .copied()
            .into_iter()
            .collect();
        let at = member.created_at;
        let record = member.records.first();
        let place = member.place.as_ref();
        let request = record.and_then(|record| record.json.get("request").cloned());
        let intent = drafts.add(
            "intent",
            at,
            member,
            member.agent(at),
            &parents,
            &[
                ("principal", Some(member.payer.to_json())),
                ("parent", member.parent.as_deref().map(Json::text)),
                ("purpose", member.purpose().map(Json::text)),
                (
                    "budget",
                    place
                        .and_then(|place| place.budget)
                        .map(|budget| budget.to_json()),
                ),
                (
                    "expiresAt",
                    place.and_then(|place| place.expires_at).map(Json::number),
                ),
                ("request", request),
            ],
        );
        intents.insert(member.id, intent);
        if let Some(handed) = member.handed() {
            let from = handed
                .get("from")
                .and_then(|from| from.as_string().ok())
                .unwrap_or_default();
            let names = ["to", "serial", "hash", "takenAt"];
            drafts.copied("hand_over", handed, member, Some(from), intent, &names);
        }
        for record in &member.records {
            of_record(member, record, intent, &mut drafts);
        }
        for approval in approvals.remove(member.id).unwrap_or_default() {
            let names = ["amount", "network", "asset", "expiresAt", "request", "hash"];
            let person = Some("person".to_owned());
            drafts.copied("approval", approval, member, person, intent, &names);
        }
        if let Some(refusal) = member.refused {
            let person = Some("person".to_owned());
            drafts.copied("refusal", refusal, member, person, intent, &["request", "hash"]);
        }
        for one in returned.remove(member.id).unwrap_or_default() {
            refunds(member, one, intent, &mut drafts);
        }
    }
    chained(drafts.list)
}

/// Refunds are written by nobody here: the chain shows them.
fn refunds(member: &Member, owed: &OwedBack, intent: usize, drafts: &mut Drafts) {
    let (attempt_id, part) = (owed.attempt.0.as_str(), owed.attempt.1);
    let charged = drafts.signed.get(&(attempt_id, part)).copied().unwrap_or(intent);
    let (_, asset, network) = &owed.amount;
    for returned in &owed.returns {
        drafts.add(
            "refund",
            returned.seen,
            member,
            "chain".to_owned(),
            &[charged],
            &[
                ("attemptId", Some(Json::text(attempt_id))),
                ("amount", Some(returned.amount.to_json())),
                ("network", Some(network.to_json())),
                ("asset", Some(asset.to_json())),
                ("transaction", Some(Json::text(returned.transaction.as_str()))),
            ],
        );
    }
}

fn of_record<'a>(member: &Member<'a>, record: &'a Record<'a>, intent: usize, drafts: &mut Drafts<'a>) {
    let mut quotes = BTreeMap::new();
    let quoted = list(record.json, "quotes");
    for (quote, json) in record.quotes.iter().zip(quoted) {
        let at = time(json, "seenAt").unwrap_or(0);
        let terms = quote.offered.terms().ok();
        let node = drafts.add(
            "quote",
            at,
            member,
            member.agent(at),
            &[intent],
            &[
                ("quoteHash", Some(Json::text(hex::encode(quote.hash)))),
                ("amount", terms.as_ref().map(|terms| terms.amount.to_json())),
                ("network", terms.as_ref().map(|terms| terms.network.to_json())),
                ("asset", terms.as_ref().map(|terms| terms.asset.to_json())),
                ("payTo", terms.as_ref().map(|terms| terms.pay_to.to_json())),
            ],
        );
        quotes.insert(quote.hash, node);
    }
    for attempt in &record.attempts {
        let quote = quotes.get(&attempt.quote_hash).copied().unwrap_or(intent);
        of_attempt(member, attempt, quote, drafts);
    }
    let Some(last) = drafts.list.len().checked_sub(1) else {
        return;
    };
    if let Some(delivery) = record.json.get("delivery") {
        let names = ["sha256", "length", "status"];
        drafts.copied("receipt", delivery, member, None, last, &names);
    }
    if let Some(claim) = record.json.get("claim") {
        let names = ["quoteHash", "transaction", "why"];
        drafts.copied("claim", claim, member, None, intent, &names);
    }
}

fn of_attempt<'a>(member: &Member, attempt: &'a Attempt<'a>, quote: usize, drafts: &mut Drafts<'a>) {
    let json = attempt.json;
    let planned = time(json, "plannedAt").unwrap_or(0);
    let given = json.get("givenBy").and_then(|by| by.as_string().ok());
    let actor = |at: Seconds| given.clone().unwrap_or_else(|| member.agent(at));
    let node = drafts.add(
        "attempt",
        planned,
        member,
        actor(planned),
        &[quote],
        &[
            ("attemptId", Some(Json::text(attempt.id))),
            ("generation", Some(Json::number(attempt.generation))),
        ],
    );
    if let Some(draft) = drafts.list.get_mut(node) {
        draft.traceparent = json.get("traceparent").cloned();
    }
    let mut last = node;
    for (part, slot) in attempt.slots().enumerate() {
        let signed = &slot.authorization;
        let at = time(json, "signedAt").unwrap_or(planned);
        let network = signed.network().ok();
        last = drafts.add(
            "authorization",
            at,
            member,
            actor(at),
            &[node],
            &[
                ("attemptId", Some(Json::text(attempt.id))),
                ("payer", Some(signed.from().to_json())),
                ("payTo", Some(signed.to().to_json())),
                ("amount", Some(signed.value().to_json())),
                ("network", network.map(|network| network.to_json())),
                ("asset", Some(signed.asset().to_json())),
                ("nonce", Some(Json::text(signed.nonce_text()))),
                ("validBefore", Some(signed.valid_before().to_json())),
                ("signed", Some(Json::Bool(slot.signature.is_some()))),
            ],
        );
        drafts.signed.insert((attempt.id, part), last);
        if let Some(verdict) = slot.verdict() {
            let read = json.get("verdict").and_then(|verdict| time(verdict, "readAt"));
            let at = read.unwrap_or(at);
            drafts.add(
                "resolution",
                at,
                member,
                member.agent(at),
                &[last],
                &[
                    ("attemptId", Some(Json::text(attempt.id))),
                    ("verdict", Some(Json::text(verdict))),
                    ("transaction", slot.transaction.map(Json::text)),
                    ("reads", Some(Json::number(slot.evidence.len() as u64))),
                ],
            );
        }
    }
    for at in list(json, "sends").iter().filter_map(|at| at.as_u64().ok()) {
        drafts.add(
            "send",
            at,
            member,
            actor(at),
            &[last],
            &[("attemptId", Some(Json::text(attempt.id)))],
        );
    }
    for seen in list(json, "observations") {
        let at = time(seen, "at").unwrap_or(0);
        let fact = |name: &str| seen.get(name).cloned();
        drafts.add(
            "observation",
            at,
            member,
            actor(at),
            &[last],
            &[
                ("attemptId", Some(Json::text(attempt.id))),
                ("outcome", fact("outcome")),
                ("code", fact("code")),
                ("status", fact("status")),
                ("transport", fact("transport")),
                ("transaction", fact("transaction")),
            ],
        );
    }
}

/// Ids and chains: in order of time, but never before what a node follows from. Equal nodes of two bundles are one.
fn chained(drafts: Vec<Draft>) -> Result<Vec<Json>, Error> {
    let mut order: Vec<usize> = (0..drafts.len()).collect();
    let at = |index: &usize| drafts.get(*index).map(|draft| draft.at);
    sort_by(&mut order, |one, other| (at(one), one).cmp(&(at(other), other)));
    let mut ids: BTreeMap<usize, String> = BTreeMap::new();
    let mut heads: BTreeMap<&str, String> = BTreeMap::new();
    let mut known: BTreeMap<String, String> = BTreeMap::new();
    let mut nodes = Vec::new();
    for first in order {
        let mut open = vec![first];
        while let Some(index) = open.last().copied() {
            let Some(draft) = drafts.get(index).filter(|_| !ids.contains_key(&index)) else {
                open.pop();
                continue;
            };
            let missing = draft.parents.iter().find(|parent| !ids.contains_key(parent));
            if let Some(parent) = missing {
                open.push(*parent);
                continue;
            }
            open.pop();
            let parents = draft.parents.iter().filter_map(|parent| ids.get(parent));
            let body = draft
                .body
                .clone()
                .with("parents", Json::Array(parents.map(Json::text).collect()));
            let content = body.to_canonical()?;
            if let Some(id) = known.get(&content) {
                ids.insert(index, id.clone());
                continue;
            }
            let body = body.with_some("prev", heads.get(draft.actor.as_str()).map(Json::text));
            let id = hex::encode(digest::tagged(TAG, &body)?);
            let node = body.with("id", Json::text(id.as_str()));
            nodes.push(node.with_some("traceparent", draft.traceparent.clone()));
            known.insert(content, id.clone());
            heads.insert(&draft.actor, id.clone());
            ids.insert(index, id);
        }
    }
    Ok(nodes)
}
