//! The knowledge graph as tools: search it, add facts, correct and delete them.

#[cfg(test)]
mod tests;

use graph::{EntityChange, EntityView, FactChange, FactView, Found, Graph, NewFact, SELF, Search};
use records::truncate;
use text_kit::{counted, listing};
use tool::prelude::*;

/// The default and the largest number of entities, and steps around them.
const ENTITIES: (u32, u32) = (10, 50);
const DEPTH: (u32, u32) = (1, 3);

/// The knowledge graph.
pub fn family(graph: &Graph) -> Family<Graph> {
    Family::new("knowledge", "Facts about people, and available skills.", graph.clone())
        .title("Knowledge")
        .category("Knowledge")
        .area(Area::Memory)
        .phrases(include_str!("../graph.en"))
        .tool("knowledge_graph_search", Risk::Observe, search)
        .page(ENTITIES)
        .tags("entities relations people facts who related family graph connection")
        .example(json!({"query": "Where does my sister work?"}))
        .example(json!({"query": "Anna", "to": "Siemens"}))
        .tool("add_knowledge_fact", Risk::Write, add)
        .additive()
        .tags("entity relation people fact graph remember who")
        .example(json!({"subject": "Anna", "subjectType": "person", "predicate": "works at", "object": "Siemens",
                        "objectType": "organisation", "validFrom": "2021"}))
        .tool("update_knowledge_fact", Risk::Write, change_fact)
        .tags("correct fact relation graph edit change")
        .persists_instructions()
        .tool("update_knowledge_entity", Risk::Write, change_entity)
        .tags("rename alias merge duplicate entity person graph edit change")
        .persists_instructions()
        .tool("delete_knowledge", Risk::Destroy, delete)
        .tags("remove forget fact relation entity person graph")
}

/// Search the knowledge graph for entities (people, places, organisations, things) and the facts around them, by name, alias,
/// words or meaning; or find how two of them are connected.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct SearchArgs {
    /// A question, a name or words; * for everything.
    query: String,
    /// Only entities of this type, such as person, place, organisation, animal or thing.
    entity_type: Option<String>,
    /// Begin at this entity: an id or a name.
    entity_id: Option<String>,
    /// Find the shortest connection to this entity: an id or a name.
    to: Option<String>,
    /// How many steps around the entities that are found, 3 at most.
    #[serde(default = "depth", alias = "depth")]
    max_depth: u32,
    /// Which facts count as current: those of this day (2026-01-31), today by default.
    at: Option<String>,
    limit: Option<u32>,
}

fn depth() -> u32 {
    DEPTH.0
}

async fn search(graph: Graph, cx: Cx, args: SearchArgs) -> Result<Output> {
    let today = || cx.ports().clock.local().date().to_string();
    let query = if args.query.trim().is_empty() && args.entity_id.is_some() { "*".into() } else { args.query };
    let search = Search {
        query,
        kind: args.entity_type.map(|kind| kind.trim().to_lowercase()).filter(|kind| !kind.is_empty()),
        entity: args.entity_id,
        to: args.to,
        depth: args.max_depth.min(DEPTH.1),
        at: args.at.filter(|at| !at.trim().is_empty()).map_or_else(today, |at| at.trim().to_owned()),
        most: args.limit.unwrap_or(ENTITIES.0).clamp(1, ENTITIES.1) as usize,
    };
    let asked_for_path = search.to.is_some();
    let found = graph.search(&cx, &search).await?;
    let sentence = sentence(&found, asked_for_path);
    let mut content = json!({"count": found.entities.len(), "entities": found.entities, "facts": found.facts});
    if asked_for_path {
        content["path"] = json!(found.path);
    }
    Ok(Output::json(content)?.say(sentence))
}

/// Current facts in words, or the connection.
fn sentence(found: &Found, asked_for_path: bool) -> String {
    if asked_for_path {
        return match &found.path {
            None => "I know of no connection between the two.".to_owned(),
            Some(path) => listing("They are connected", &path.iter().map(FactView::words).collect::<Vec<_>>(), false),
        };
    }
    let current: Vec<String> = found.facts.iter().filter(|fact| fact.current).map(FactView::words).collect();
    match (found.entities.as_slice(), current.as_slice()) {
        ([], _) => "I know nothing about that.".to_owned(),
        ([one, ..], []) => format!("I know {}, and nothing more about it.", name(&one.name)),
        (_, facts) => listing("I know", &facts.iter().take(10).cloned().collect::<Vec<_>>(), facts.len() > 10),
    }
}

fn name(name: &str) -> String {
    if name == SELF { "you".to_owned() } else { truncate(name, 80) }
}

/// Add a fact to the knowledge graph. Entities with these names or aliases are used, others are created.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Add {
    /// What the fact is about; "me" for the person.
    subject: String,
    /// Its type, such as person, place, organisation, animal or thing.
    subject_type: Option<String>,
    /// The relation in a few words, such as "works at" or "sister of".
    predicate: String,
    /// The other entity, or a value.
    object: String,
    /// Its type; "value" for a plain value such as a date or a number.
    object_type: Option<String>,
    /// How sure it is, 0 to 1.
    confidence: Option<f32>,
    /// From when it holds: a date, a month or a year.
    valid_from: Option<String>,
    /// Until when it holds.
    valid_to: Option<String>,
}

async fn add(graph: Graph, cx: Cx, args: Add) -> Result<Output> {
    let new = NewFact {
        subject: args.subject,
        subject_kind: args.subject_type,
        predicate: args.predicate,
        object: args.object,
        object_kind: args.object_type,
        confidence: args.confidence,
        from: args.valid_from,
        to: args.valid_to,
    };
    let fact = graph.add_fact(&cx, new).await?;
    let sentence = format!("Noted: {}.", fact.words());
    Ok(Output::json(fact)?.say(sentence))
}

/// Correct a fact of the knowledge graph, or end it with validTo.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct ChangeFact {
    /// The id of the fact.
    fact_id: Id,
    predicate: Option<String>,
    /// The other entity, or the value.
    object: Option<String>,
    /// How sure it is, 0 to 1.
    confidence: Option<f32>,
    /// A date, a month or a year; an empty text removes it.
    valid_from: Option<String>,
    /// A date, a month or a year; an empty text removes it.
    valid_to: Option<String>,
}

async fn change_fact(graph: Graph, cx: Cx, args: ChangeFact) -> Result<Output> {
    let ChangeFact { fact_id, predicate, object, confidence, valid_from, valid_to } = args;
    let change = FactChange { predicate, object, confidence, from: valid_from, to: valid_to };
    let fact = graph.change_fact(&cx, fact_id, change).await?;
    let sentence = format!("Corrected: {}.", fact.words());
    Ok(Output::json(fact)?.say(sentence))
}

/// Rename or describe an entity of the knowledge graph, give it aliases, or merge a duplicate into it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct ChangeEntity {
    /// The entity: an id or a name.
    entity: String,
    /// Its new name; the old one becomes an alias.
    name: Option<String>,
    /// Its type, such as person, place, organisation, animal or thing.
    r#type: Option<String>,
    /// All of its other names.
    aliases: Option<Vec<String>>,
    /// A short description.
    summary: Option<String>,
    /// Another entity that is the same, an id or a name: its facts and names move to this one.
    merge_with: Option<String>,
}

async fn change_entity(graph: Graph, cx: Cx, args: ChangeEntity) -> Result<Output> {
    let merged = args.merge_with.clone();
    let change = EntityChange {
        name: args.name,
        kind: args.r#type,
        summary: args.summary,
        aliases: args.aliases,
        merge: args.merge_with,
    };
    let entity: EntityView = graph.change_entity(&cx, &args.entity, change).await?;
    let sentence = match merged {
        Some(_) => format!("The two are one now: {}.", name(&entity.name)),
        None => format!("I changed {}.", name(&entity.name)),
    };
    Ok(Output::json(entity)?.say(sentence))
}

/// Delete a fact, or an entity with all of its facts, from the knowledge graph. This can be undone. Memories stay; a fact that
/// one states does not come back.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Delete {
    /// The id of a fact.
    fact_id: Option<Id>,
    /// An entity: an id or a name.
    entity: Option<String>,
}

async fn delete(graph: Graph, cx: Cx, args: Delete) -> Result<Output> {
    match (args.fact_id, args.entity) {
        (Some(id), None) => {
            let fact = graph.delete_fact(&cx, id).await?;
            let sentence = format!("I deleted the fact: {}.", fact.words());
            Ok(Output::json(json!({"deleted": true, "fact": fact}))?.say(sentence))
        }
        (None, Some(which)) => {
            let (entity, facts) = graph.delete_entity(&cx, &which).await?;
            let sentence = format!("I deleted {} with {}.", name(&entity.name), counted(facts, "fact"));
            Ok(Output::json(json!({"deleted": true, "entity": entity, "facts": facts}))?.say(sentence))
        }
        _ => Err(Error::bad_args("pass factId to delete a fact, or entity to delete an entity with its facts")),
    }
}
