//! Entities and facts as people and models see them.

use crate::{
    Graph,
    extract::SELF,
    records::{BY_SUBJECT, EntityRecord, FactOrigin, FactRecord},
    scope,
};
use serde::Serialize;
use std::collections::{HashMap, HashSet};
use store::{Entry, Visit, Walk};
use tool::{Cx, Id, Label, Result, Scope, prelude::JsonSchema, prelude::schemars};

/// An entity.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EntityView {
    pub id: Id,
    pub name: String,
    #[serde(rename = "type")]
    pub kind: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub summary: String,
    /// How it was found: `name`, `words`, `meaning`, `all`, or `neighbour` with the distance.
    pub why: String,
    /// Steps from the entities that were searched for.
    pub distance: u32,
}

/// An end of a fact.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct NodeRef {
    /// Absent for a value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<Id>,
    pub name: String,
}

/// Where a fact comes from.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SourceView {
    #[serde(rename = "type")]
    pub origin: FactOrigin,
    /// The memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<Id>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub quote: String,
}

/// A fact.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FactView {
    pub id: Id,
    pub subject: NodeRef,
    pub predicate: String,
    pub object: NodeRef,
    /// 0 to 1.
    #[serde(serialize_with = "tool::as_shortest")]
    #[schemars(with = "f32")]
    pub confidence: f32,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub valid_from: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub valid_to: String,
    /// Whether it holds at the time that was asked for, and no newer fact takes its place.
    pub current: bool,
    pub source: SourceView,
}

impl FactView {
    /// The fact as words: `Tom works at Siemens`.
    pub fn words(&self) -> String {
        let name = |node: &NodeRef| if node.name == SELF { "you".to_owned() } else { node.name.clone() };
        let (subject, object) = (name(&self.subject), name(&self.object));
        let is_self = self.subject.name == SELF;
        let (verb, rest) = self.predicate.split_once(' ').unwrap_or((&self.predicate, ""));
        // "sister of", "occupation", "phone".
        if let Some(relation) = self.predicate.strip_suffix(" of") {
            let whose = if self.object.name == SELF { "your".to_owned() } else { format!("{object}’s") };
            let is = if is_self { "are" } else { "is" };
            format!("{subject} {is} {whose} {relation}")
        } else if verb.ends_with('s') && !verb.ends_with("ss") {
            let verb = if is_self { of_you(verb) } else { verb.to_owned() };
            [subject.as_str(), &verb, rest, &object]
                .into_iter()
                .filter(|word| !word.is_empty())
                .collect::<Vec<_>>()
                .join(" ")
        } else {
            format!("{subject}: {} {object}", self.predicate)
        }
    }
}

/// A verb of the third person as it is said of "you".
fn of_you(verb: &str) -> String {
    match verb {
        "is" => return "are".into(),
        "was" => return "were".into(),
        "has" => return "have".into(),
        _ => {}
    }
    if let Some(stem) = verb.strip_suffix("ies").filter(|stem| stem.len() > 1) {
        return format!("{stem}y");
    }
    let stem = verb.strip_suffix('s').unwrap_or(verb);
    let long = ["che", "she", "sse", "xe", "zze", "oe"].iter().any(|end| stem.ends_with(end));
    if long { stem.trim_end_matches('e').to_owned() } else { stem.to_owned() }
}

pub(crate) fn entity_view(entry: &Entry<EntityRecord>, why: &str, distance: u32) -> EntityView {
    let it = &entry.value;
    EntityView {
        id: entry.id,
        name: it.name.clone(),
        kind: it.kind.clone(),
        aliases: it.aliases.clone(),
        summary: it.summary.clone(),
        why: why.to_owned(),
        distance,
    }
}

/// Predicates of which the newest fact alone holds.
pub(crate) const SINGLE: &[&str] =
    &["works at", "lives in", "lives at", "phone", "email", "address", "birthday", "married to"];

impl Graph {
    /// Facts for a caller, whose run is tainted with what they and the names of their ends say.
    pub(crate) fn views_for(&self, cx: &Cx, facts: &[Entry<FactRecord>], at: &str) -> Result<Vec<FactView>> {
        facts.iter().for_each(|fact| cx.taint(fact.label));
        self.fact_views(scope(cx), facts, at, &|label| cx.taint(label))
    }

    /// Facts with the names of their ends, whose labels are passed to `read`. A fact is not current where `at` is outside of
    /// its dates, or a newer one of the same subject and a predicate that holds once takes its place.
    pub(crate) fn fact_views(
        &self,
        scope: Scope,
        facts: &[Entry<FactRecord>],
        at: &str,
        read: &dyn Fn(Label),
    ) -> Result<Vec<FactView>> {
        let mut ids: Vec<Id> = facts.iter().flat_map(|fact| [fact.value.subject, fact.value.object]).collect();
        ids.sort_unstable();
        ids.dedup();
        ids.retain(|id| *id != Id::NIL);
        let ends = self.entities.get_all_in(scope, &ids)?;
        ends.iter().for_each(|entry| read(entry.label));
        let names: HashMap<Id, String> = ends.into_iter().map(|entry| (entry.id, entry.value.name)).collect();
        let newest = self.newest(scope, facts, at)?;
        let node = |id: Id, value: &str| match names.get(&id) {
            Some(name) => NodeRef { id: Some(id), name: name.clone() },
            None => NodeRef { id: None, name: value.to_owned() },
        };
        let view = |fact: &Entry<FactRecord>| {
            let it = &fact.value;
            let newer = newest.get(&(it.subject, it.predicate.clone())).is_some_and(|time| *time > it.at_ms);
            FactView {
                id: fact.id,
                subject: node(it.subject, ""),
                predicate: it.predicate.clone(),
                object: node(it.object, &it.value),
                confidence: it.confidence,
                valid_from: it.from.clone(),
                valid_to: it.to.clone(),
                current: holds(it, at) && !newer,
                source: SourceView {
                    origin: it.origin,
                    id: (it.source != Id::NIL).then_some(it.source),
                    quote: it.quote.clone(),
                },
            }
        };
        Ok(facts.iter().map(view).collect())
    }

    /// The time of the newest fact of each subject and predicate that holds once, of those that these facts are about.
    fn newest(&self, scope: Scope, facts: &[Entry<FactRecord>], at: &str) -> Result<HashMap<(Id, String), u64>> {
        let is_single = |fact: &FactRecord| SINGLE.contains(&fact.predicate.as_str());
        let subjects: HashSet<Id> =
            facts.iter().map(|fact| &fact.value).filter(|fact| is_single(fact)).map(|fact| fact.subject).collect();
        let mut newest: HashMap<(Id, String), u64> = HashMap::new();
        for subject in subjects {
            self.facts.walk_in(scope, &Walk::prefix(BY_SUBJECT, subject.as_bytes()), |fact| {
                if is_single(&fact.value) && holds(&fact.value, at) {
                    let time = newest.entry((subject, fact.value.predicate.clone())).or_default();
                    *time = (*time).max(fact.value.at_ms);
                }
                Visit::No
            })?;
        }
        Ok(newest)
    }
}

/// Whether a day is between the dates of a fact; a year or month contains all of its days.
fn holds(fact: &FactRecord, at: &str) -> bool {
    let begins = |bound: &str| at.get(..bound.len()).unwrap_or(at);
    (fact.from.is_empty() || begins(&fact.from) >= fact.from.as_str())
        && (fact.to.is_empty() || begins(&fact.to) <= fact.to.as_str())
}
