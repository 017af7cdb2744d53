//! The graph as a PROV-JSON document (W3C Member Submission of 24 April 2013), for whoever reads provenance and not this package.
//!
//! What was done is an activity: attempts, sends, observations, resolutions, hand-overs. What it was done with or left behind is an entity. Of a node and one that it
//! follows from, the kinds say the relation: `used`, `wasGeneratedBy`, `wasDerivedFrom`, `wasInformedBy`. Everything is its actor's, who acts for the payer, for whoever
//! wrote the intent above, and for whoever handed the intent over.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::family::{list, time};
use crate::json::Json;
use crate::time::to_rfc3339;

const ACTIVITIES: [&str; 5] = ["attempt", "send", "observation", "resolution", "hand_over"];
/// Members of a node that are said in PROV's own words.
const SAID: [&str; 6] = ["id", "at", "actor", "parents", "prev", "takenAt"];

type Members = Vec<(String, Json)>;

/// A document in the making.
#[derive(Default)]
struct Document {
    entities: Members,
    activities: Members,
    /// The type of each agent.
    agents: BTreeMap<String, &'static str>,
    /// Who acts for whom.
    delegates: BTreeSet<(String, String)>,
    relations: BTreeMap<&'static str, Members>,
}

/// The document of these nodes, each of which stands behind what it follows from.
pub(super) fn document(nodes: &[Json]) -> Json {
    let mut document = Document::default();
    // By the node's id: what it is; by that of an intent: its payer and who wrote it.
    let mut activities: BTreeMap<&str, bool> = BTreeMap::new();
    let mut intents: BTreeMap<&str, (&str, &str)> = BTreeMap::new();
    for node in nodes.iter().filter(|node| word(node, "kind") == "intent") {
        let (payer, actor) = (word(node, "principal"), word(node, "actor"));
        document.agents.insert(agent(payer), "cf:payer");
        intents.insert(word(node, "intentId"), (payer, actor));
    }
    for node in nodes {
        let (id, kind, actor) = (word(node, "id"), word(node, "kind"), word(node, "actor"));
        let active = ACTIVITIES.contains(&kind);
        let name = qualified(id);
        document.node(&name, node, active);
        document.agent(
            actor,
            if kind == "approval" || kind == "refusal" {
                "prov:Person"
            } else {
                "prov:SoftwareAgent"
            },
        );
        document.relate(
            match active {
                true => ("wasAssociatedWith", "prov:activity", "prov:agent"),
                false => ("wasAttributedTo", "prov:entity", "prov:agent"),
            },
            &name,
            agent(actor),
            None,
        );
        for parent in list(node, "parents").iter().filter_map(|id| id.as_str().ok()) {
            let at = time(node, "at").and_then(to_rfc3339);
            let from = activities.get(parent).copied().unwrap_or(false);
            let (relation, at) = match (active, from) {
                (true, false) => (("used", "prov:activity", "prov:entity"), at),
                (true, true) => (("wasInformedBy", "prov:informed", "prov:informant"), None),
                (false, true) => (("wasGeneratedBy", "prov:entity", "prov:activity"), at),
                (false, false) => (
                    ("wasDerivedFrom", "prov:generatedEntity", "prov:usedEntity"),
                    None,
                ),
            };
            document.relate(relation, &name, qualified(parent), at);
        }
        activities.insert(id, active);
        match kind {
            // A person's word is nobody else's.
            "approval" | "refusal" => {}
            "hand_over" => document.delegate(word(node, "to"), actor),
            _ => {
                let owner = intents.get(word(node, "intentId"));
                let above = intents.get(word(node, "parent"));
                let for_whom = owner
                    .map(|(payer, _)| payer)
                    .into_iter()
                    .chain(above.map(|(_, actor)| actor));
                for_whom.for_each(|whom| document.delegate(actor, whom));
            }
        }
    }
    document.finish()
}

impl Document {
    fn node(&mut self, name: &str, node: &Json, active: bool) {
        let kind = word(node, "kind");
        let mut told: Members = vec![("prov:type".to_owned(), typed(&format!("cf:{kind}")))];
        let mut tell =
            |name: &str, value: Option<Json>| told.extend(value.map(|value| (name.to_owned(), value)));
        tell("prov:label", node.get("purpose").cloned());
        let at = |name: &str| time(node, name).and_then(to_rfc3339).map(Json::String);
        match active {
            true => {
                tell("prov:startTime", at("at"));
                tell(
                    "prov:endTime",
                    at("takenAt").or(at("at").filter(|_| kind != "hand_over")),
                );
            }
            false => tell("cf:at", at("at")),
        }
        tell(
            "cf:prev",
            node.get("prev")
                .and_then(|id| Some(typed(&qualified(id.as_str().ok()?)))),
        );
        for (name, value) in node.as_object().unwrap_or_default() {
            match value {
                _ if SAID.contains(&name.as_str()) => {}
                Json::Object(members) => {
                    for (part, value) in members {
                        tell(&format!("cf:{name}.{part}"), Some(value.clone()));
                    }
                }
                value => tell(&format!("cf:{name}"), Some(value.clone())),
            }
        }
        let list = if active {
            &mut self.activities
        } else {
            &mut self.entities
        };
        list.push((name.to_owned(), Json::Object(told)));
    }

    fn agent(&mut self, name: &str, kind: &'static str) {
        self.agents.entry(agent(name)).or_insert(kind);
    }

    fn delegate(&mut self, who: &str, whom: &str) {
        if who != whom {
            self.agent(who, "prov:SoftwareAgent");
            self.delegates.insert((agent(who), agent(whom)));
        }
    }

    fn relate(
        &mut self,
        (kind, from, to): (&'static str, &str, &str),
        one: &str,
        other: String,
        at: Option<String>,
    ) {
        let told = Json::object([(from, Json::text(one)), (to, Json::String(other))]);
        let known = self.relations.entry(kind).or_default();
        known.push((
            format!("_:{kind}{}", known.len() + 1),
            told.with_some("prov:time", at.map(Json::String)),
        ));
    }

    fn finish(mut self) -> Json {
        for (who, whom) in core::mem::take(&mut self.delegates) {
            self.relate(
                ("actedOnBehalfOf", "prov:delegate", "prov:responsible"),
                &who,
                whom,
                None,
            );
        }
        let prefixes = Json::object([
            ("cf", Json::text("urn:counterfoil:lineage:")),
            ("node", Json::text("urn:counterfoil:node:")),
            ("actor", Json::text("urn:counterfoil:actor:")),
        ]);
        let agents = self
            .agents
            .into_iter()
            .map(|(name, kind)| (name, Json::object([("prov:type", typed(kind))])));
        let mut document = Json::object([
            ("prefix", prefixes),
            ("entity", Json::Object(self.entities)),
            ("activity", Json::Object(self.activities)),
            ("agent", Json::Object(agents.collect())),
        ]);
        for (kind, relations) in self.relations {
            document.set(kind, Json::Object(relations));
        }
        document
    }
}

/// A text of a node; empty where it has none.
fn word<'a>(node: &'a Json, name: &str) -> &'a str {
    node.get(name)
        .and_then(|word| word.as_str().ok())
        .unwrap_or_default()
}

fn qualified(id: &str) -> String {
    format!("node:{id}")
}

/// The name of an actor as the local part of a qualified name: what is no letter or digit is written in percent.
fn agent(actor: &str) -> String {
    let mut name = "actor:".to_owned();
    for byte in actor.bytes() {
        match byte {
            b'_' | b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' => name.push(char::from(byte)),
            other => drop(write!(name, "%{other:02X}")),
        }
    }
    name
}

fn typed(name: &str) -> Json {
    Json::object([("$", Json::text(name)), ("type", Json::text("xsd:QName"))])
}
