//! Facts that memories state: read again whenever a memory changes, and gone with it.

use crate::{
    Graph,
    extract::{StatedObject, Statement, statements},
    model::quote,
    records::{ALL_FACTS, BY_SOURCE, FACTS, FactOrigin, FactRecord, VALUE, fact_id},
};
use std::collections::HashMap;
use store::{Audience, Entry, Stamp, Tx};
use tool::{Id, Label, Result, Scope, UserId};

/// How sure a fact is that rules read.
const BY_RULES: f32 = 0.8;
/// The same of one that a model read.
const BY_MODEL: f32 = 0.6;

/// A memory, as far as facts need it.
#[derive(Debug, Clone)]
pub struct MemoryText {
    pub text: String,
    pub label: Label,
    /// When it was written: milliseconds since 1970.
    pub at_ms: u64,
}

impl Graph {
    /// Takes the facts of a memory over that was just changed, or removes them where it is gone (`None`). Returns whether
    /// anything changed.
    ///
    /// # Errors
    /// `Failed` when the data cannot be read, `Unavailable` when the disk is full.
    pub async fn read_memory(&self, owner: UserId, memory: Id, content: Option<MemoryText>) -> Result<bool> {
        self.follow(owner, memory, content, true).await
    }

    /// The same of a memory that may have been changed unnoticed: what it states is not newer for that.
    ///
    /// # Errors
    /// As [`Graph::read_memory`].
    pub async fn compare_memory(&self, owner: UserId, memory: Id, content: Option<MemoryText>) -> Result<bool> {
        self.follow(owner, memory, content, false).await
    }

    async fn follow(&self, owner: UserId, memory: Id, content: Option<MemoryText>, edited: bool) -> Result<bool> {
        let scope = Scope::User(owner);
        let stated = content.as_ref().map(|content| statements(&content.text)).unwrap_or_default();
        let there = self.of_source(scope, memory)?;
        let wanted: HashMap<Id, Statement> = stated.into_iter().map(|it| (fact_id(memory, &key(&it)), it)).collect();
        // A fact that a model read stays while its text is the same.
        let is_same = |quoted: &str| content.as_ref().is_some_and(|content| quote(&content.text) == quoted);
        let read_by_model = |fact: &FactRecord| fact.origin == FactOrigin::Model && is_same(&fact.quote);
        let is_gone = |fact: &Entry<FactRecord>| !wanted.contains_key(&fact.id) && !read_by_model(&fact.value);
        let label = content.as_ref().map_or(Label::Own, |content| content.label);
        let at_ms = content.as_ref().map_or(0, |content| content.at_ms);
        // When somebody vouches for a memory, its facts are as old as before.
        let is_newer = |fact: &Entry<FactRecord>| edited && label.max(fact.label) == label && fact.value.at_ms < at_ms;
        let is_behind = |fact: &Entry<FactRecord>| {
            !fact.value.retracted && !is_gone(fact) && (fact.label != label || is_newer(fact))
        };
        // Most memories state nothing, and most changes change no fact: then nothing is written.
        let gone: Vec<Id> = there.iter().filter(|fact| is_gone(fact)).map(|fact| fact.id).collect();
        let behind: Vec<(Id, bool)> =
            there.iter().filter(|fact| is_behind(fact)).map(|fact| (fact.id, is_newer(fact))).collect();
        let new: Vec<(Id, Statement)> = wanted
            .iter()
            .filter(|(id, _)| !there.iter().any(|fact| fact.id == **id))
            .map(|(id, it)| (*id, it.clone()))
            .collect();
        if gone.is_empty() && new.is_empty() && behind.is_empty() {
            return Ok(false);
        }
        let stamp = Stamp { scope, owner, audience: Audience::Private, label, source: "memory".into() };
        let this = self.clone();
        let written = self.facts.store().write(move |tx| {
            let mut touched = vec![];
            for id in &gone {
                if let Some(fact) = this.facts.read(tx, scope, *id)? {
                    touched.extend([fact.value.subject, fact.value.object]);
                    this.facts.remove(tx, scope, *id)?;
                }
            }
            for (id, newer) in &behind {
                if let Some(mut fact) = this.facts.read(tx, scope, *id)?.filter(|fact| !fact.value.retracted) {
                    fact.value.at_ms = if *newer { at_ms } else { fact.value.at_ms };
                    this.facts.put(tx, *id, &stamp, &fact.value)?;
                    this.vouch_in(tx, scope, &[fact.value.subject, fact.value.object])?;
                }
            }
            touched.extend(this.put_statements(tx, &stamp, (memory, at_ms), FactOrigin::Memory, &new)?);
            this.remove_lonely_in(tx, scope, &touched)?;
            Ok(touched)
        });
        let touched = store::without_change(written).await?;
        self.embed_entities(owner, touched).await;
        Ok(true)
    }

    /// Within a write: stores statements that are not there yet, as far as there is room; returns the ends of their facts.
    fn put_statements(
        &self,
        tx: &Tx,
        stamp: &Stamp,
        (memory, at_ms): (Id, u64),
        origin: FactOrigin,
        new: &[(Id, Statement)],
    ) -> store::Result<Vec<Id>> {
        let mut ends = vec![];
        if new.is_empty() {
            return Ok(ends);
        }
        let room = FACTS.saturating_sub(self.facts.count_in(tx, stamp.scope, ALL_FACTS, &[])?);
        for (id, it) in new.iter().take(room) {
            // One that a person deleted stays so.
            if self.facts.read(tx, stamp.scope, *id)?.is_some() {
                continue;
            }
            let subject = self.entity_in(tx, stamp, &it.subject.name, it.subject.kind, false)?.id;
            let (object, value) = match &it.object {
                StatedObject::Entity(mention) => {
                    (self.entity_in(tx, stamp, &mention.name, mention.kind, false)?.id, String::new())
                }
                StatedObject::Value(value) => (Id::NIL, value.chars().take(VALUE).collect()),
            };
            ends.extend([subject, object]);
            let record = FactRecord {
                subject,
                predicate: it.predicate.clone(),
                object,
                value,
                confidence: if origin == FactOrigin::Model { BY_MODEL } else { BY_RULES },
                origin,
                source: memory,
                at_ms,
                quote: it.quote.clone(),
                from: it.from.clone(),
                to: it.to.clone(),
                // Two names of one entity: noted so that it is not tried again.
                retracted: subject == object,
            };
            self.facts.put(tx, *id, stamp, &record)?;
        }
        Ok(ends)
    }

    /// Whether a model should read a memory: rules found nothing, and no model has read it as it is.
    ///
    /// # Errors
    /// `Failed` when the data cannot be read.
    pub fn wants_model(&self, owner: UserId, memory: Id) -> Result<bool> {
        Ok(self.of_source(Scope::User(owner), memory)?.is_empty())
    }

    /// Adds the statements that a model read in a memory.
    ///
    /// # Errors
    /// As [`Graph::read_memory`].
    pub async fn add_from_model(
        &self,
        owner: UserId,
        memory: Id,
        content: &MemoryText,
        stated: Vec<Statement>,
    ) -> Result<()> {
        let stamp = Stamp {
            scope: Scope::User(owner),
            owner,
            audience: Audience::Private,
            label: content.label,
            source: "memory".into(),
        };
        let (this, at_ms) = (self.clone(), content.at_ms);
        let new: Vec<(Id, Statement)> =
            stated.into_iter().map(|it| (fact_id(memory, &format!("model\0{}", key(&it))), it)).collect();
        let written = self.facts.store().write(move |tx| {
            let ends = this.put_statements(tx, &stamp, (memory, at_ms), FactOrigin::Model, &new)?;
            this.remove_lonely_in(tx, stamp.scope, &ends)?;
            Ok(ends)
        });
        let touched = store::without_change(written).await?;
        self.embed_entities(owner, touched).await;
        Ok(())
    }

    /// The facts of a memory, with those that were retracted.
    pub(crate) fn of_source(&self, scope: Scope, memory: Id) -> Result<Vec<Entry<FactRecord>>> {
        let by = Some((BY_SOURCE, memory.as_bytes().to_vec()));
        Ok(self.facts.list_in(scope, &store::Listing { by, ..store::Listing::default() })?)
    }

    /// The memories that facts come from, for comparing them with those that there are.
    ///
    /// # Errors
    /// `Failed` when the data cannot be read.
    pub fn sources(&self) -> Result<Vec<(UserId, Id)>> {
        let mut found = vec![];
        self.facts.scan(|fact| {
            if fact.value.source != Id::NIL && found.last() != Some(&(fact.owner, fact.value.source)) {
                found.push((fact.owner, fact.value.source));
            }
        })?;
        found.sort_unstable();
        found.dedup();
        Ok(found)
    }
}

/// A statement as text: the same in every reading.
fn key(it: &Statement) -> String {
    let object = match &it.object {
        StatedObject::Entity(mention) => &mention.name,
        StatedObject::Value(value) => value,
    };
    format!("{}\0{}\0{object}\0{}\0{}", it.subject.name, it.predicate, it.from, it.to)
}
