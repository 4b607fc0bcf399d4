//! Entities and facts as people and models see them.

use crate::{
    Graph,
    extract::SELF,
    records::{EntityRecord, FactOrigin, FactRecord},
};
use serde::Serialize;
use std::collections::HashMap;
use store::Entry;
use tool::{Id, Result, Scope, prelude::JsonSchema, prelude::schemars};

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
    /// How it was found: `name`, `words`, `meaning`, or `neighbour` with the distance.
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
        match self.predicate.as_str() {
            // "sister of", "occupation", "phone".
            relation if relation.ends_with(" of") => {
                let relation = relation.trim_end_matches(" of");
                let whose = if object == "you" { "your".to_owned() } else { format!("{object}’s") };
                format!("{subject} is {whose} {relation}")
            }
            predicate if predicate.ends_with("s at") || predicate.ends_with("s in") || predicate.ends_with("s") => {
                format!("{subject} {predicate} {object}")
            }
            predicate => format!("{subject}: {predicate} {object}"),
        }
    }
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
    /// Facts with the names of their ends. A fact is not current where `at` is outside of its dates, or a newer one of the same
    /// subject and a predicate that holds once takes its place.
    pub(crate) fn fact_views(&self, scope: Scope, facts: &[Entry<FactRecord>], at: &str) -> Result<Vec<FactView>> {
        let mut ids: Vec<Id> = facts.iter().flat_map(|fact| [fact.value.subject, fact.value.object]).collect();
        ids.sort_unstable();
        ids.dedup();
        ids.retain(|id| *id != Id::NIL);
        let names: HashMap<Id, String> =
            self.entities.get_all_in(scope, &ids)?.into_iter().map(|entry| (entry.id, entry.value.name)).collect();
        let mut newest: HashMap<(Id, &str), u64> = HashMap::new();
        for fact in
            facts.iter().filter(|fact| SINGLE.contains(&fact.value.predicate.as_str()) && holds(&fact.value, at))
        {
            let time = newest.entry((fact.value.subject, fact.value.predicate.as_str())).or_default();
            *time = (*time).max(fact.value.at_ms);
        }
        let node = |id: Id, value: &str| match names.get(&id) {
            Some(name) => NodeRef { id: Some(id), name: name.clone() },
            None => NodeRef { id: None, name: value.to_owned() },
        };
        let view = |fact: &Entry<FactRecord>| {
            let it = &fact.value;
            let newer = newest.get(&(it.subject, it.predicate.as_str())).is_some_and(|time| *time > it.at_ms);
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
}

/// Whether a day is between the dates of a fact; a year or month contains all of its days.
fn holds(fact: &FactRecord, at: &str) -> bool {
    let begins = |bound: &str| at.get(..bound.len()).unwrap_or(at);
    (fact.from.is_empty() || begins(&fact.from) >= fact.from.as_str())
        && (fact.to.is_empty() || begins(&fact.to) <= fact.to.as_str())
}
