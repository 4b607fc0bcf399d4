//! Within a write: entities are found by their names, made, merged, and removed with their last fact.

use crate::{
    Graph,
    records::{ALIASES, ALL, BY_NAME, BY_OBJECT, BY_SUBJECT, ENTITIES, EntityRecord, FactOrigin, FactRecord},
};
use store::{Entry, Error as StoreError, Stamp, Tx, order, rejected};
use tool::{Id, Label, Scope};

/// Whether something of this kind may be the same as something of that one: a thing may turn out to be anything.
fn fits(one: &str, other: &str) -> bool {
    let open = |kind: &str| kind.is_empty() || kind == "thing";
    one == other || open(one) || open(other)
}

impl Graph {
    /// The entity with this name or alias, of this kind.
    pub(crate) fn named_in(
        &self,
        tx: &Tx,
        scope: Scope,
        name: &str,
        kind: &str,
    ) -> store::Result<Option<Entry<EntityRecord>>> {
        let mut found = self.entities.find(tx, scope, BY_NAME, &order::text(name))?;
        found.retain(|entry| fits(&entry.value.kind, kind));
        // Its own name before an alias, the same kind before another one, then the oldest.
        let lower = name.to_lowercase();
        found.sort_by_key(|entry| (entry.value.name.to_lowercase() != lower, entry.value.kind != kind, entry.id));
        Ok(found.into_iter().next())
    }

    /// The same, or a new one.
    pub(crate) fn entity_in(
        &self,
        tx: &Tx,
        stamp: &Stamp,
        name: &str,
        kind: &str,
        by_hand: bool,
    ) -> store::Result<Entry<EntityRecord>> {
        if let Some(entry) = self.named_in(tx, stamp.scope, name, kind)? {
            // A thing of which the kind is known now.
            if entry.value.kind == "thing" && !matches!(kind, "" | "thing") {
                let kind = kind.to_owned();
                return self.entities.change(tx, stamp.scope, stamp.label, entry.id, &mut |it| {
                    it.kind.clone_from(&kind);
                    Ok(())
                });
            }
            return Ok(entry);
        }
        if self.entities.count_in(tx, stamp.scope, ALL, &[])? >= ENTITIES {
            return Err(rejected(format!("the graph has {ENTITIES} entities, which is the most: delete some first")));
        }
        let kind = if kind.is_empty() { "thing" } else { kind };
        let record = EntityRecord { name: name.to_owned(), kind: kind.to_owned(), by_hand, ..EntityRecord::default() };
        self.entities.put(tx, Id::new(), stamp, &record)
    }

    /// The facts that an entity is an end of.
    pub(crate) fn facts_of_in(&self, tx: &Tx, scope: Scope, entity: Id) -> store::Result<Vec<Entry<FactRecord>>> {
        let mut all = self.facts.find(tx, scope, BY_SUBJECT, entity.as_bytes())?;
        all.extend(
            self.facts
                .find(tx, scope, BY_OBJECT, entity.as_bytes())?
                .into_iter()
                .filter(|fact| fact.value.subject != entity),
        );
        Ok(all)
    }

    /// Whether an entity is an end of a fact.
    pub(crate) fn has_facts_in(&self, tx: &Tx, scope: Scope, entity: Id) -> store::Result<bool> {
        let count = |index| self.facts.count_in(tx, scope, index, entity.as_bytes());
        Ok(count(BY_SUBJECT)? + count(BY_OBJECT)? > 0)
    }

    /// Entities that were read in memories alone are from outside no longer than those are.
    pub(crate) fn vouch_in(&self, tx: &Tx, scope: Scope, entities: &[Id]) -> store::Result<()> {
        for id in entities.iter().filter(|id| **id != Id::NIL) {
            let entity = self.entities.read(tx, scope, *id)?;
            let doubted = entity.is_some_and(|entity| !entity.value.by_hand && entity.label != Label::Own);
            if doubted && self.facts_of_in(tx, scope, *id)?.iter().all(|fact| fact.label == Label::Own) {
                self.entities.vouch(tx, scope, *id)?;
            }
        }
        Ok(())
    }

    /// Removes a fact, or keeps its memory from stating it again.
    pub(crate) fn drop_fact(&self, tx: &Tx, scope: Scope, label: Label, fact: &Entry<FactRecord>) -> store::Result<()> {
        if fact.value.origin == FactOrigin::Hand {
            return self.facts.remove(tx, scope, fact.id).map(drop);
        }
        let retracted = self.facts.change(tx, scope, label, fact.id, &mut |fact| {
            fact.retracted = true;
            Ok(())
        });
        retracted.map(drop)
    }

    /// Removes those entities that nobody made by hand and that are in no fact any more.
    pub(crate) fn remove_lonely_in(&self, tx: &Tx, scope: Scope, entities: &[Id]) -> store::Result<()> {
        for id in entities.iter().filter(|id| **id != Id::NIL) {
            let derived = self.entities.read(tx, scope, *id)?.is_some_and(|entry| !entry.value.by_hand);
            if derived && !self.has_facts_in(tx, scope, *id)? {
                self.entities.remove(tx, scope, *id)?;
                self.vectors.remove(tx, scope, *id)?;
            }
        }
        Ok(())
    }

    /// Makes one entity of two: the facts, names and summary of `gone` become those of `stays`.
    pub(crate) fn merge_in(
        &self,
        tx: &Tx,
        scope: Scope,
        label: Label,
        stays: Id,
        gone: Id,
    ) -> store::Result<Entry<EntityRecord>> {
        let Some(other) = self.entities.read(tx, scope, gone)?.filter(|_| stays != gone) else {
            return Err(StoreError::Missing("there is no second entity to merge".into()));
        };
        for fact in self.facts_of_in(tx, scope, gone)? {
            let moved = |id: Id| if id == gone { stays } else { id };
            let (subject, object) = (moved(fact.value.subject), moved(fact.value.object));
            // A fact between the two says nothing any more.
            if subject == object {
                self.drop_fact(tx, scope, label, &fact)?;
                continue;
            }
            self.facts.change(tx, scope, label, fact.id, &mut |it| {
                (it.subject, it.object) = (subject, object);
                Ok(())
            })?;
        }
        let label = label.max(other.label);
        let merged = self.entities.change(tx, scope, label, stays, &mut |it| {
            for name in other.value.names() {
                let known = it.names().any(|own| own.to_lowercase() == name.to_lowercase());
                if !known && it.aliases.len() < ALIASES {
                    it.aliases.push(name.clone());
                }
            }
            if it.summary.is_empty() {
                it.summary.clone_from(&other.value.summary);
            }
            if it.kind == "thing" {
                it.kind.clone_from(&other.value.kind);
            }
            it.by_hand = true;
            Ok(())
        })?;
        self.entities.remove(tx, scope, gone)?;
        self.vectors.remove(tx, scope, gone)?;
        Ok(merged)
    }
}
