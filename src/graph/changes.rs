//! Facts and entities that people and their models add, correct and delete.

use crate::{
    EntityView, FactView, Graph,
    extract::{SELF, is_self},
    records::{self, ALIASES, ALL_FACTS, FACTS, FactOrigin, FactRecord, KIND, NAME, SUMMARY, VALUE},
    scope,
    views::entity_view,
};
use store::{Entry, Error as StoreError, Stamp, Tx, rejected};
use tool::{Cx, Error, Id, Result};

/// A fact to add.
#[derive(Debug, Clone, Default)]
pub struct NewFact {
    pub subject: String,
    pub subject_kind: Option<String>,
    pub predicate: String,
    pub object: String,
    /// What the object is; `value` for no entity.
    pub object_kind: Option<String>,
    pub confidence: Option<f32>,
    pub from: Option<String>,
    pub to: Option<String>,
}

/// Changes of a fact; an empty date removes it.
#[derive(Debug, Clone, Default)]
pub struct FactChange {
    pub predicate: Option<String>,
    pub object: Option<String>,
    pub confidence: Option<f32>,
    pub from: Option<String>,
    pub to: Option<String>,
}

/// Changes of an entity.
#[derive(Debug, Clone, Default)]
pub struct EntityChange {
    pub name: Option<String>,
    pub kind: Option<String>,
    pub summary: Option<String>,
    /// All of its aliases.
    pub aliases: Option<Vec<String>>,
    /// Another entity that is the same.
    pub merge: Option<String>,
}

fn line(what: &str, text: &str, most: usize) -> Result<String> {
    records::line(text, most).ok_or_else(|| Error::bad_args(format!("`{what}` must have 1 to {most} characters")))
}

/// A person's words for themselves are the name of their entity.
fn entity_name(what: &str, text: &str) -> Result<String> {
    let name = line(what, text, NAME)?;
    Ok(if is_self(&name) { SELF.into() } else { name })
}

fn kind(what: &str, given: Option<&str>) -> Result<String> {
    given.map_or(Ok(String::new()), |kind| line(what, &kind.to_lowercase(), KIND))
}

/// A date, a month or a year.
fn date(what: &str, text: &str) -> Result<String> {
    let text = text.trim();
    let day = match text.len() {
        4 => format!("{text}-01-01"),
        7 => format!("{text}-01"),
        _ => text.to_owned(),
    };
    let plain = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-') && !text.starts_with(['-', '0']);
    let fits = text.is_empty() || plain && day.len() == 10 && day.parse::<jiff::civil::Date>().is_ok();
    if fits {
        Ok(text.to_owned())
    } else {
        Err(Error::bad_args(format!("`{what}` must be a date, such as 2024-05-31, 2024-05 or 2024")))
    }
}

fn confidence(given: Option<f32>) -> Result<Option<f32>> {
    match given {
        Some(given) if !(0.0..=1.0).contains(&given) => Err(Error::bad_args("`confidence` must be 0 to 1")),
        given => Ok(given),
    }
}

fn in_order(from: &str, to: &str) -> store::Result<()> {
    let length = from.len().min(to.len());
    if !from.is_empty() && !to.is_empty() && from[..length] > to[..length] {
        return Err(rejected(format!("the fact would end on {to}, before it begins on {from}")));
    }
    Ok(())
}

impl Graph {
    /// Adds a fact; what it is about is found by name, or made.
    ///
    /// # Errors
    /// `BadArgs` for texts that are empty or too long, dates that are none, and a full graph.
    pub async fn add_fact(&self, cx: &Cx, new: NewFact) -> Result<FactView> {
        let subject = entity_name("subject", &new.subject)?;
        let predicate = line("predicate", &new.predicate.to_lowercase(), KIND * 2)?;
        let (subject_kind, object_kind) =
            (kind("subjectType", new.subject_kind.as_deref())?, kind("objectType", new.object_kind.as_deref())?);
        let is_value = object_kind == "value";
        let object = if is_value { line("object", &new.object, VALUE)? } else { entity_name("object", &new.object)? };
        let confidence = confidence(new.confidence)?.unwrap_or(1.0);
        let (from, to) = (
            date("validFrom", new.from.as_deref().unwrap_or_default())?,
            date("validTo", new.to.as_deref().unwrap_or_default())?,
        );
        in_order(&from, &to)?;
        if !is_value && subject.to_lowercase() == object.to_lowercase() {
            return Err(Error::bad_args("subject and object are the same: a fact is about two things"));
        }
        let (this, id, stamp) = (self.clone(), Id::new(), self.facts.stamp(cx, "add_knowledge_fact"));
        let job = move |tx: &Tx| {
            if this.facts.count_in(tx, stamp.scope, ALL_FACTS, &[])? >= FACTS {
                return Err(rejected(format!("the graph has {FACTS} facts, which is the most: delete some first")));
            }
            let of = |name: &str, kind: &str| {
                let kind = if name == SELF { "person" } else { kind };
                this.entity_in(tx, &stamp, name, kind, true).map(|entry| entry.id)
            };
            let (object_id, value) =
                if is_value { (Id::NIL, object.clone()) } else { (of(&object, &object_kind)?, String::new()) };
            let record = FactRecord {
                subject: of(&subject, &subject_kind)?,
                predicate: predicate.clone(),
                object: object_id,
                value,
                confidence,
                origin: FactOrigin::Hand,
                source: Id::NIL,
                at_ms: Id::now_ms(),
                quote: String::new(),
                from: from.clone(),
                to: to.clone(),
                retracted: false,
            };
            // The same fact again changes nothing.
            let same = |other: &Entry<FactRecord>| {
                let it = &other.value;
                (it.predicate == record.predicate, it.object, &it.value, &it.from, &it.to)
                    == (true, record.object, &record.value, &record.from, &record.to)
            };
            let there = this.facts.find(tx, stamp.scope, crate::records::BY_SUBJECT, record.subject.as_bytes())?;
            match there.into_iter().find(|other| same(other)) {
                Some(other) => Ok(other),
                None => this.facts.put(tx, id, &stamp, &record),
            }
        };
        let added = self.facts.store().write(job).await?;
        self.embed_entities(cx.user(), vec![added.value.subject, added.value.object]).await;
        self.one(cx, &added)
    }

    /// A fact as it is today, for the caller.
    fn one(&self, cx: &Cx, fact: &Entry<FactRecord>) -> Result<FactView> {
        let today = cx.ports().clock.local().date().to_string();
        let mut views = self.views_for(cx, std::slice::from_ref(fact), &today)?;
        views.pop().ok_or_else(|| Error::failed("the fact could not be read"))
    }

    /// Corrects a fact. One that was read in a memory counts as stated by hand from then on.
    ///
    /// # Errors
    /// `NotFound`, `BadArgs` as [`Graph::add_fact`].
    pub async fn change_fact(&self, cx: &Cx, id: Id, change: FactChange) -> Result<FactView> {
        let predicate =
            change.predicate.as_deref().map(|text| line("predicate", &text.to_lowercase(), KIND * 2)).transpose()?;
        let object = change.object.as_deref().map(|text| line("object", text, VALUE)).transpose()?;
        let confidence = confidence(change.confidence)?;
        let from = change.from.as_deref().map(|text| date("validFrom", text)).transpose()?;
        let to = change.to.as_deref().map(|text| date("validTo", text)).transpose()?;
        if predicate.is_none() && object.is_none() && confidence.is_none() && from.is_none() && to.is_none() {
            return Err(Error::bad_args("say what to change: predicate, object, confidence, validFrom or validTo"));
        }
        let (this, new_id, stamp) = (self.clone(), Id::new(), self.facts.stamp(cx, "update_knowledge_fact"));
        let job = move |tx: &Tx| {
            let Some(was) = this.facts.read(tx, stamp.scope, id)?.filter(|fact| !fact.value.retracted) else {
                return Err(StoreError::Missing(
                    "there is no such fact: `knowledge_graph_search` shows facts with their ids".into(),
                ));
            };
            let (mut it, old) = (was.value.clone(), was.value.object);
            if let Some(object) = &object {
                if it.object == Id::NIL {
                    it.value.clone_from(object);
                } else {
                    let kind = this
                        .entities
                        .read(tx, stamp.scope, it.object)?
                        .map(|entry| entry.value.kind)
                        .unwrap_or_default();
                    let object = entity_name("object", object).map_err(|error| rejected(error.message()))?;
                    it.object = this.entity_in(tx, &stamp, &object, &kind, true)?.id;
                    if it.object == it.subject {
                        return Err(rejected("subject and object would be the same: a fact is about two things"));
                    }
                }
            }
            it.predicate = predicate.clone().unwrap_or(it.predicate);
            it.confidence = confidence.unwrap_or(it.confidence);
            it.from = from.clone().unwrap_or(it.from);
            it.to = to.clone().unwrap_or(it.to);
            in_order(&it.from, &it.to)?;
            it.at_ms = Id::now_ms();
            // What of it came from outside is still in it.
            let stamp = Stamp { label: stamp.label.max(was.label), ..stamp.clone() };
            let changed = if was.value.origin == FactOrigin::Hand {
                let it = it.clone();
                this.facts.change(tx, stamp.scope, stamp.label, id, &mut |fact| {
                    fact.clone_from(&it);
                    Ok(())
                })?
            } else {
                // Its memory still states what was wrong.
                this.drop_fact(tx, stamp.scope, stamp.label, &was)?;
                let it = FactRecord { origin: FactOrigin::Hand, source: Id::NIL, quote: String::new(), ..it.clone() };
                this.facts.put(tx, new_id, &stamp, &it)?
            };
            this.remove_lonely_in(tx, stamp.scope, &[old])?;
            Ok((changed, old))
        };
        let (changed, old) = self.facts.store().write(job).await?;
        self.embed_entities(cx.user(), vec![changed.value.subject, changed.value.object, old]).await;
        self.one(cx, &changed)
    }

    /// Deletes a fact, and entities that are in no other one; returns it.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn delete_fact(&self, cx: &Cx, id: Id) -> Result<FactView> {
        let missing = || Error::not_found("there is no such fact: `knowledge_graph_search` shows facts with their ids");
        let fact = self
            .facts
            .get(cx, id)?
            .filter(|fact| fact.owner == cx.user() && !fact.value.retracted)
            .ok_or_else(missing)?;
        let view = self.one(cx, &fact)?;
        let ends = vec![fact.value.subject, fact.value.object];
        let (this, stamp, left) = (self.clone(), self.facts.stamp(cx, "delete_knowledge"), ends.clone());
        let job = move |tx: &Tx| {
            this.drop_fact(tx, stamp.scope, stamp.label, &fact)?;
            this.remove_lonely_in(tx, stamp.scope, &left)
        };
        self.facts.store().write(job).await?;
        self.embed_entities(cx.user(), ends).await;
        Ok(view)
    }

    /// Deletes an entity with all of its facts; returns it, and their number.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn delete_entity(&self, cx: &Cx, which: &str) -> Result<(EntityView, usize)> {
        let entity = self.entity(cx, which)?;
        cx.taint(entity.label);
        let view = entity_view(&entity, "name", 0);
        let (this, stamp, id) = (self.clone(), self.facts.stamp(cx, "delete_knowledge"), entity.id);
        let job = move |tx: &Tx| {
            let facts = this.facts_of_in(tx, stamp.scope, id)?;
            let mut left = vec![];
            for fact in &facts {
                left.extend([fact.value.subject, fact.value.object]);
                this.drop_fact(tx, stamp.scope, stamp.label, fact)?;
            }
            this.entities.remove(tx, stamp.scope, id)?;
            this.vectors.remove(tx, stamp.scope, id)?;
            left.retain(|other| *other != id);
            this.remove_lonely_in(tx, stamp.scope, &left)?;
            Ok((facts.len(), left))
        };
        let (count, left) = self.facts.store().write(job).await?;
        self.embed_entities(cx.user(), left).await;
        Ok((view, count))
    }

    /// Renames, describes or merges an entity.
    ///
    /// # Errors
    /// `NotFound`, `BadArgs` for texts that are empty or too long.
    pub async fn change_entity(&self, cx: &Cx, which: &str, change: EntityChange) -> Result<EntityView> {
        let entity = self.entity(cx, which)?;
        let name = change.name.as_deref().map(|name| line("name", name, NAME)).transpose()?;
        let kind = change.kind.as_deref().map(|kind| line("type", &kind.to_lowercase(), KIND)).transpose()?;
        let aliases = change
            .aliases
            .map(|all| all.iter().map(|alias| line("aliases", alias, NAME)).collect::<Result<Vec<_>>>())
            .transpose()?;
        if aliases.as_ref().is_some_and(|all| all.len() > ALIASES) {
            return Err(Error::bad_args(format!("an entity has {ALIASES} aliases at most")));
        }
        if change.summary.as_ref().is_some_and(|text| text.chars().count() > SUMMARY) {
            return Err(Error::bad_args(format!("`summary` has more than {SUMMARY} characters: shorten it")));
        }
        let merge = change.merge.as_deref().map(|other| self.entity(cx, other)).transpose()?.map(|other| other.id);
        if name.is_none() && kind.is_none() && aliases.is_none() && change.summary.is_none() && merge.is_none() {
            return Err(Error::bad_args("say what to change: name, type, aliases, summary or mergeWith"));
        }
        if merge == Some(entity.id) {
            return Err(Error::bad_args("an entity cannot be merged with itself: name two"));
        }
        let (this, id, scope, label, summary) = (self.clone(), entity.id, scope(cx), cx.label(), change.summary);
        let job = move |tx: &Tx| {
            let mut names = vec![];
            if let Some(other) = merge {
                names.extend(this.merge_in(tx, scope, label, id, other)?.value.aliases);
            }
            // Another entity of this kind with such a name is the same one.
            let own_kind = kind.clone().unwrap_or_else(|| entity.value.kind.clone());
            for alias in aliases.iter().flatten().chain(&name) {
                if let Some(other) = this.named_in(tx, scope, alias, &own_kind)?.filter(|other| other.id != id) {
                    names.extend(this.merge_in(tx, scope, label, id, other.id)?.value.aliases);
                }
            }
            this.entities.change(tx, scope, label, id, &mut |it| {
                if let Some(name) = name.clone() {
                    // Texts will still call it so.
                    names.push(std::mem::replace(&mut it.name, name));
                }
                it.kind = kind.clone().unwrap_or_else(|| it.kind.clone());
                if let Some(aliases) = &aliases {
                    it.aliases.clone_from(aliases);
                }
                if let Some(summary) = &summary {
                    it.summary = summary.trim().to_owned();
                }
                it.aliases.append(&mut names);
                let mut seen = std::collections::HashSet::from([it.name.to_lowercase()]);
                it.aliases.retain(|alias| seen.insert(alias.to_lowercase()));
                it.aliases.truncate(ALIASES);
                it.by_hand = true;
                Ok(())
            })
        };
        let changed = self.entities.store().write(job).await?;
        cx.taint(changed.label);
        self.embed_entities(cx.user(), vec![changed.id]).await;
        Ok(entity_view(&changed, "name", 0))
    }
}
