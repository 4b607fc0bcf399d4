//! Facts that memories state: read again whenever a memory changes, and gone with it.

use crate::{
    Graph,
    extract::{StatedObject, Statement, statements},
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
    /// Takes the facts of a memory over, or removes them where it is gone (`None`). Returns whether anything changed.
    ///
    /// # Errors
    /// `Failed` when the data cannot be read, `Unavailable` when the disk is full.
    pub async fn read_memory(&self, owner: UserId, memory: Id, content: Option<MemoryText>) -> Result<bool> {
        let scope = Scope::User(owner);
        let stated = content.as_ref().map(|content| statements(&content.text)).unwrap_or_default();
        let there = self.of_source(scope, memory)?;
        let wanted: HashMap<Id, Statement> = stated.into_iter().map(|it| (fact_id(memory, &key(&it)), it)).collect();
        // A fact that a model read stays while its text begins as it did.
        let read_by_model = |fact: &FactRecord| {
            let begins = |content: &MemoryText| content.text.starts_with(&fact.quote);
            fact.origin == FactOrigin::Model && content.as_ref().is_some_and(begins)
        };
        // Most memories state nothing, and most changes change no fact: then nothing is written.
        let is_gone = |fact: &&Entry<FactRecord>| !wanted.contains_key(&fact.id) && !read_by_model(&fact.value);
        let gone: Vec<Id> = there.iter().filter(is_gone).map(|fact| fact.id).collect();
        let new: Vec<(Id, Statement)> =
            wanted.into_iter().filter(|(id, _)| !there.iter().any(|fact| fact.id == *id)).collect();
        if gone.is_empty() && new.is_empty() {
            return Ok(false);
        }
        let label = content.as_ref().map_or(Label::Own, |content| content.label);
        let at_ms = content.map_or(0, |content| content.at_ms);
        let stamp = Stamp { scope, owner, audience: Audience::Private, label, source: "memory".into() };
        let this = self.clone();
        let written = self.facts.store().write(move |tx| {
            let mut left = vec![];
            for id in &gone {
                if let Some(fact) = this.facts.read(tx, scope, *id)? {
                    left.extend([fact.value.subject, fact.value.object]);
                    this.facts.remove(tx, scope, *id)?;
                }
            }
            let mut touched = vec![];
            let room = FACTS.saturating_sub(if new.is_empty() {
                0
            } else {
                this.facts.find(tx, scope, ALL_FACTS, &[])?.len()
            });
            for (id, statement) in new.iter().take(room) {
                let fact = this.put_statement(tx, &stamp, (*id, memory, at_ms), FactOrigin::Memory, statement)?;
                touched.extend([fact.value.subject, fact.value.object]);
            }
            touched.extend(&left);
            this.remove_lonely_in(tx, scope, &left)?;
            Ok(touched)
        });
        let touched = store::without_change(written).await?;
        self.embed_entities(owner, touched).await;
        Ok(true)
    }

    fn put_statement(
        &self,
        tx: &Tx,
        stamp: &Stamp,
        (id, memory, at_ms): (Id, Id, u64),
        origin: FactOrigin,
        it: &Statement,
    ) -> store::Result<Entry<FactRecord>> {
        let subject = self.entity_in(tx, stamp, &it.subject.name, it.subject.kind, false)?.id;
        let (object, value) = match &it.object {
            StatedObject::Entity(mention) => {
                (self.entity_in(tx, stamp, &mention.name, mention.kind, false)?.id, String::new())
            }
            StatedObject::Value(value) => (Id::NIL, value.chars().take(VALUE).collect()),
        };
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
            retracted: false,
        };
        self.facts.put(tx, id, stamp, &record)
    }

    pub(crate) async fn put_from_model(
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
        let written = self.facts.store().write(move |tx| {
            let mut touched = vec![];
            let room = FACTS.saturating_sub(this.facts.find(tx, stamp.scope, ALL_FACTS, &[])?.len());
            for statement in stated.iter().take(room) {
                let id = fact_id(memory, &format!("model\0{}", key(statement)));
                // One that a person deleted stays so.
                if this.facts.read(tx, stamp.scope, id)?.is_none() {
                    let fact = this.put_statement(tx, &stamp, (id, memory, at_ms), FactOrigin::Model, statement)?;
                    touched.extend([fact.value.subject, fact.value.object]);
                }
            }
            Ok(touched)
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
