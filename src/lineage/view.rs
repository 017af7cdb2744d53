//! The lineage as it is shown: rows in the order of the tree, what each cost, and what a person has to do first.

use std::collections::BTreeMap;

use super::chain::Chain;
use super::cost::{self, Cost, Costs, Slot, Slots, Standing, Token};
use super::family::{signed_at, time, Family, Member};
use super::running::Running;
use super::{drift, node, Options, Sources};
use crate::amount::Amount;
use crate::conflict::purchase::{SlotKey, Transfer};
use crate::conflict::{self, Purchases};
use crate::error::{Code, Error, Next};
use crate::finding::{Finding, Severity};
use crate::hex;
use crate::json::Json;
use crate::receipt::record::Attempt;
use crate::sorting::{map, set, sort_by};

/// The words for a state.
const NEEDS_APPROVAL: &str = "needs_approval";
const PREPARED: &str = "prepared";
const SENT: &str = "sent";
const UNKNOWN: &str = "unknown";
const SETTLED: &str = "settled";
const FAILED: &str = "failed";
const REFUNDED: &str = "refunded";

/// One attempt as it is shown.
struct Told<'b, 'a> {
    attempt: &'b Attempt<'a>,
    token: Option<Token>,
    state: &'static str,
    /// Who says so.
    by: Option<&'static str>,
    cost: Cost,
    /// Its transfer was not the first for what was bought: it is owed back, or all of it is back.
    owed: Option<Back>,
}

/// How a transfer that is owed back stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Back {
    Open,
    Returned,
}

struct Shown<'b, 'a> {
    slots: &'b Slots<'b, 'a>,
    cumulative: BTreeMap<String, Costs>,
    findings: &'b [Finding],
    /// The findings about an intent, and those about an attempt.
    about: BTreeMap<&'b str, Vec<&'b Finding>>,
    /// What is owed back, by the nonce under which it moved.
    owed: BTreeMap<&'b SlotKey, Back>,
    running: Running,
    rows: Vec<Json>,
}

/// See [`super::lineage`].
pub(super) fn view(
    family: &Family,
    purchases: &Purchases,
    sources: &Sources,
    options: &Options,
) -> Result<Json, Error> {
    let (mut findings, back) = conflict::findings(purchases, &options.refunds);
    let slots = cost::slots(purchases);
    findings.extend(drift::findings(family, &slots, options));
    let own = cost::own(purchases, &slots, &back);
    let walked = family.walk(options.root.as_deref());
    let members: Vec<&Member> = walked.iter().map(|(member, _)| *member).collect();
    let shown = set(members.iter().map(|member| member.id));
    findings.retain(|finding| finding.intents.iter().any(|id| shown.contains(id.as_str())));
    let mut about: BTreeMap<&str, Vec<&Finding>> = BTreeMap::new();
    for finding in &findings {
        for id in set(finding.intents.iter().chain(&finding.attempts)) {
            about.entry(id).or_default().push(finding);
        }
    }
    let mut view = Shown {
        slots: &slots,
        cumulative: cost::cumulative(family, &own),
        findings: &findings,
        about,
        owed: map(back.iter().map(|one| {
            let returned = one.refunded >= one.amount.0;
            (&one.slot, if returned { Back::Returned } else { Back::Open })
        })),
        running: Running::default(),
        rows: Vec::new(),
    };
    let mut actions = Vec::new();
    for (member, depth) in &walked {
        view.member(member, *depth, &mut actions);
    }
    let mut alerts: Vec<Json> = view
        .findings
        .iter()
        .filter(|finding| finding.severity == Severity::Alert)
        .map(Finding::to_json)
        .collect();
    // What a person has to answer comes before what only waits.
    let waits = |action: &Json| action.get("next") != Some(&Json::text(Next::AskHuman.as_str()));
    sort_by(&mut actions, |one, other| waits(one).cmp(&waits(other)));
    alerts.extend(actions);
    let total = cost::total(members.iter().filter_map(|member| own.get(member.id)));
    let roots: Vec<&str> = walked
        .iter()
        .filter(|(_, depth)| *depth == 0)
        .map(|(member, _)| member.id)
        .collect();
    let root = match roots.as_slice() {
        [only] => only,
        _ => "",
    };
    let count = |code: &[Code]| {
        let found = view
            .findings
            .iter()
            .filter(|finding| code.contains(&finding.code));
        Json::number(
            found
                .filter(|finding| finding.severity == Severity::Alert)
                .count() as u64,
        )
    };
    let rows = |state: &str| {
        let here = view
            .rows
            .iter()
            .filter(|row| row.get("attemptId").is_some() || state == NEEDS_APPROVAL);
        Json::number(
            here.filter(|row| row.get("state") == Some(&Json::text(state)))
                .count() as u64,
        )
    };
    let undelivered = Json::text(Code::PaidNotDelivered.as_str());
    let undelivered = alerts
        .iter()
        .filter(|action| action.get("code") == Some(&undelivered))
        .count();
    let counters = Json::object([
        ("needsApproval", rows(NEEDS_APPROVAL)),
        ("unknown", rows(UNKNOWN)),
        (
            "conflict",
            count(&[
                Code::PaymentConflict,
                Code::TransactionClaimedTwice,
                Code::PaidWrongTerms,
            ]),
        ),
        ("duplicateCharge", count(&[Code::DuplicateCharge])),
        ("notDelivered", Json::number(undelivered as u64)),
        // An alert as long as not all of it is back; of one on other terms the amount is not known, and it is owed as well.
        ("refundOwed", count(&[Code::DuplicateCharge])),
    ]);
    let nodes = match options.nodeless {
        true => Vec::new(),
        false => node::nodes(family, &members, &back)?,
    };
    let given = sources.as_given();
    let journals = given
        .iter()
        .filter_map(|source| source.chain.as_ref())
        .map(journal);
    Ok(Json::object([
        ("root", Json::text(root)),
        ("nodes", Json::Array(nodes)),
        (
            "totals",
            Json::Array(
                total
                    .iter()
                    .map(|(token, cost)| {
                        cost.to_json(token)
                            .with("claimed", claimed(token, &alerts).to_json())
                    })
                    .collect(),
            ),
        ),
        ("counters", counters),
        ("actions", Json::Array(alerts)),
        (
            "flags",
            Json::Array(view.findings.iter().map(Finding::to_json).collect()),
        ),
        ("rows", Json::Array(view.rows)),
        ("journals", Json::Array(journals.collect())),
    ]))
}

/// What was paid of a token and not delivered, by what is told of it.
fn claimed((network, asset): &Token, told: &[Json]) -> Amount {
    let undelivered = Json::text(Code::PaidNotDelivered.as_str());
    let (network, asset) = (network.to_json(), asset.to_json());
    let own = told.iter().filter(|action| {
        action.get("code") == Some(&undelivered)
            && action.get("network") == Some(&network)
            && action.get("asset") == Some(&asset)
    });
    own.filter_map(|action| Amount::from_json(action.get("amount")?).ok())
        .fold(Amount::ZERO, Amount::saturating_add)
}

/// What a journal's chain says of itself.
fn journal(chain: &Chain) -> Json {
    let (seq, hash) = chain.head;
    Json::object([
        ("seq", Json::number(seq)),
        ("hash", Json::text(hex::encode(hash))),
    ])
    .with_some("fault", chain.fault.map(|(fault, _)| Json::text(fault.as_str())))
    .with_some("line", chain.fault.map(|(_, line)| Json::number(line)))
    .with("torn", Json::Bool(chain.torn))
}

impl Shown<'_, '_> {
    fn member(&mut self, member: &Member, depth: usize, actions: &mut Vec<Json>) {
        let attempts = self.attempts(member);
        let states: Vec<&str> = attempts.iter().map(|told| told.state).collect();
        let state = match member.asked {
            Some(_) => NEEDS_APPROVAL,
            None if member.refused.is_some() && states.is_empty() => FAILED,
            None => [UNKNOWN, SENT, SETTLED, REFUNDED, PREPARED, FAILED]
                .into_iter()
                .find(|state| states.contains(state))
                .unwrap_or(PREPARED),
        };
        let spent = self.cumulative.get(member.id).cloned().unwrap_or_default();
        let place = member.place.as_ref();
        let request = member
            .records
            .first()
            .map(|record| Json::text(format!("{} {}", record.request.method, record.request.url)));
        let label = member.purpose().map(Json::text).or(request);
        let updated = member
            .records
            .iter()
            .filter_map(|record| time(record.json, "updatedAt"))
            .max();
        let budget = place.and_then(|place| place.budget);
        self.running.below(depth, budget);
        let over = |budget: Amount| spent.values().any(|cost| cost.spent() > budget);
        let mut flags = self.flags(member.id);
        if budget.is_some_and(over) {
            flags.push(Json::text(Code::OverBudget.as_str()));
        }
        if member.refused.is_some() {
            flags.push(Json::text(Code::ApprovalDenied.as_str()));
        }
        let row = Json::object([
            ("kind", Json::text("intent")),
            ("intentId", Json::text(member.id)),
            ("depth", Json::number(depth as u64)),
            (
                "agent",
                Json::text(member.agent(updated.unwrap_or(member.created_at))),
            ),
            ("state", Json::text(state)),
            ("at", Json::number(member.created_at)),
        ])
        .with_some("parent", member.parent.as_deref().map(Json::text))
        .with_some("label", label)
        .with_some("endedAt", updated.map(Json::number))
        .with_some("budget", budget.map(|budget| budget.to_json()))
        .with_some(
            "expiresAt",
            place.and_then(|place| place.expires_at).map(Json::number),
        )
        .with(
            "spent",
            Json::Array(spent.iter().map(|(token, cost)| cost.to_json(token)).collect()),
        )
        .with("flags", Json::Array(flags));
        self.rows.push(row);
        if let Some(asked) = member.asked {
            actions.push(action(member.id, Code::ApprovalNeeded, Some(asked)));
        }
        if let Some(handed) = member.handed() {
            self.hand_over(member, handed, depth + 1);
        }
        self.purchase(member, attempts, depth + 1, actions);
    }

    fn hand_over(&mut self, member: &Member, handed: &Json, depth: usize) {
        let text = |name: &str| {
            handed
                .get(name)
                .and_then(|name| name.as_str().ok())
                .unwrap_or_default()
        };
        let state = if handed.get("takenAt").is_some() {
            "taken"
        } else {
            "given"
        };
        self.rows.push(
            Json::object([
                ("kind", Json::text("hand_over")),
                ("intentId", Json::text(member.id)),
                ("depth", Json::number(depth as u64)),
                ("agent", Json::text(format!("{} → {}", text("from"), text("to")))),
                ("state", Json::text(state)),
                ("at", Json::number(time(handed, "at").unwrap_or(0))),
            ])
            .with_some("endedAt", handed.get("takenAt").cloned())
            .with("flags", Json::Array(Vec::new())),
        );
    }

    /// Each attempt once, with its state, who says so, and what it cost of its token.
    fn attempts<'b, 'c>(&self, member: &'b Member<'c>) -> Vec<Told<'b, 'c>> {
        let known = self.slots.get(member.id);
        let mut seen: Vec<&Attempt> = Vec::new();
        for attempt in member.records.iter().flat_map(|record| &record.attempts) {
            if !seen
                .iter()
                .any(|known| known.id == attempt.id && known.authorization == attempt.authorization)
            {
                seen.push(attempt);
            }
        }
        let told = seen.into_iter().map(|attempt| {
            let signed = |slot: &&Slot| {
                slot.attempts
                    .iter()
                    .any(|one| attempt.slots().any(|own| own.authorization == one.authorization))
            };
            let slots = known.into_iter().flatten().filter(signed);
            let mut token = None;
            let mut worst = None;
            let mut owed = None;
            let mut sum = Cost::NONE;
            for Slot {
                key,
                attempts,
                moved,
                standing,
                ..
            } in slots
            {
                token = token.or(Some((key.network.clone(), key.asset)));
                let own = attempts.iter().find(|one| one.id == attempt.id);
                let value = own.map_or(Amount::ZERO, |one| one.authorization.bounded_cost());
                let mine = moved.is_none_or(|moved| moved.attempt.id == attempt.id);
                // Of what competes for one nonce at most one lands: the largest is held.
                let largest = attempts
                    .iter()
                    .max_by_key(|one| (one.authorization.bounded_cost(), one.id));
                let held = match largest.is_some_and(|one| one.id == attempt.id) {
                    true => value,
                    false => Amount::ZERO,
                };
                let (state, by) = match *standing {
                    Standing::Moved(by) if mine => {
                        owed = owed.or(self.owed.get(key).copied());
                        let cost = moved.and_then(Transfer::cost);
                        sum.settled = sum.settled.saturating_add(cost.unwrap_or(value));
                        (SETTLED, Some(by.as_str()))
                    }
                    // Another authorization of the same nonce took its place.
                    Standing::Moved(_) => (FAILED, Some("chain")),
                    Standing::Void => (FAILED, Some("chain")),
                    Standing::Unsigned => (PREPARED, None),
                    Standing::Sent => {
                        sum.reserved = sum.reserved.saturating_add(held);
                        (SENT, None)
                    }
                    Standing::Unknown => {
                        sum.reserved = sum.reserved.saturating_add(held);
                        (UNKNOWN, None)
                    }
                };
                let rank = |state: &str| {
                    [UNKNOWN, SENT, FAILED, PREPARED, SETTLED]
                        .iter()
                        .position(|one| *one == state)
                };
                worst = match worst {
                    Some((known, by)) if rank(known) <= rank(state) => Some((known, by)),
                    _ => Some((state, by)),
                };
            }
            let (state, by) = worst.unwrap_or((PREPARED, None));
            Told {
                attempt,
                token,
                state,
                by,
                cost: sum,
                owed,
            }
        });
        let mut told: Vec<Told> = told.collect();
        // What stands as the payment comes before what is owed back, else by time.
        let order = |told: &Told| (told.owed.is_some(), signed_at(told.attempt.json));
        sort_by(&mut told, |one, other| order(one).cmp(&order(other)));
        told
    }

    fn purchase(&mut self, member: &Member, attempts: Vec<Told>, depth: usize, actions: &mut Vec<Json>) {
        for told in attempts {
            let Told {
                attempt,
                token,
                state,
                by,
                cost,
                owed,
            } = told;
            let json = attempt.json;
            let at = signed_at(json);
            let ended = super::family::list(json, "observations")
                .iter()
                .filter_map(|seen| time(seen, "at"))
                .max();
            let mut flags = self.flags(attempt.id);
            if attempt.is_void() && matches!(state, UNKNOWN | SENT) {
                flags.push(Json::text("unproven_state"));
            }
            let given = json.get("givenBy").and_then(|by| by.as_string().ok());
            let back = owed == Some(Back::Returned);
            let state = if back && state == SETTLED { REFUNDED } else { state };
            let mut row = Json::object([
                ("kind", Json::text("attempt")),
                ("intentId", Json::text(member.id)),
                ("attemptId", Json::text(attempt.id)),
                ("depth", Json::number(depth as u64)),
                (
                    "agent",
                    Json::text(given.unwrap_or_else(|| member.agent(at.unwrap_or(0)))),
                ),
                ("state", Json::text(state)),
                ("at", Json::number(at.unwrap_or(0))),
                ("payTo", attempt.authorization.to().to_json()),
            ])
            .with_some("endedAt", ended.map(Json::number))
            .with_some("by", by.map(Json::text))
            .with_some("transaction", attempt.transaction.map(Json::text))
            .with_some("traceparent", json.get("traceparent").cloned())
            .with_some("owedBack", owed.map(|owed| Json::Bool(owed == Back::Open)));
            if let Some(token) = token {
                let (running, passes) = self.running.add(&token, cost.spent());
                row = row
                    .with("network", token.0.to_json())
                    .with("asset", token.1.to_json())
                    .with("cost", cost.spent().to_json())
                    .with("counts", Json::Bool(cost.spent() > Amount::ZERO))
                    .with("runningTotal", running.to_json())
                    .with_some("passesBudget", passes.then_some(Json::Bool(true)));
            }
            self.rows.push(row.with("flags", Json::Array(flags)));
            if state == UNKNOWN {
                actions.push(
                    action(member.id, Code::OutcomeUnknown, None)
                        .with("attempts", Json::Array(vec![Json::text(attempt.id)])),
                );
            }
        }
    }

    /// The codes of the findings about an intent or an attempt.
    fn flags(&self, id: &str) -> Vec<Json> {
        let mut flags = Vec::new();
        for finding in self.about.get(id).into_iter().flatten() {
            let flag = Json::text(finding.code.as_str());
            if !flags.contains(&flag) {
                flags.push(flag);
            }
        }
        flags
    }
}

/// Why a person is asked: codes that are known, whatever else the document says.
fn reasons(asked: &Json) -> Option<Json> {
    let known = |reason: &&Json| Code::ALL.iter().any(|code| reason.as_str() == Ok(code.as_str()));
    let reasons = asked.get("reasons")?.as_array().ok()?;
    Some(Json::Array(reasons.iter().filter(known).cloned().collect()))
}

/// Something to do that no finding tells of.
fn action(intent_id: &str, code: Code, asked: Option<&Json>) -> Json {
    let fact = |name: &str| asked.and_then(|asked| asked.get(name)).cloned();
    Json::object([
        ("code", Json::text(code.as_str())),
        ("severity", Json::text("info")),
        ("intents", Json::Array(vec![Json::text(intent_id)])),
        ("attempts", Json::Array(Vec::new())),
    ])
    .with_some("amount", fact("amount"))
    .with_some("asset", fact("asset"))
    .with_some("network", fact("network"))
    .with_some("payTo", fact("payTo"))
    .with_some("reasons", asked.and_then(reasons))
    .with("next", Json::text(code.next().as_str()))
    .with("why", Json::text(code.meaning()))
}
