//! Compares entities, facts and vectors with one another, and corrects what disagrees. The index rows by which they are found are
//! compared and rebuilt by `store::Store::check`, as those of every record.

use crate::{
    Graph, WORK,
    records::{BY_OBJECT, BY_SUBJECT, EntityRecord, FactRecord},
};
use store::{Collection, Compared, Entry, Record, Until, Visit, Walk};
use tool::{Id, Result, Scope, UserId, blocking};

/// The most records of a kind that one pass removes.
const MOST: usize = 10_000;
/// How many of them one commit removes.
const AT_ONCE: usize = 200;

#[derive(Default)]
struct Comparison {
    found: Compared,
    /// Facts about an entity that is gone.
    dangling: Vec<(UserId, Id)>,
    /// Vectors without an entity.
    orphans: Vec<(UserId, Id)>,
}

/// Whether a record is there; one that cannot be read is.
fn is_there<T: Record>(records: &Collection<T>, owner: UserId, id: Id) -> store::Result<bool> {
    match records.get_in(Scope::User(owner), id) {
        Err(store::Error::Damaged(_)) => Ok(true),
        read => Ok(read?.is_some()),
    }
}

/// The entities that a fact is about.
fn ends(fact: &FactRecord) -> impl Iterator<Item = Id> {
    [fact.subject, fact.object].into_iter().filter(|id| *id != Id::NIL)
}

impl Graph {
    /// Compares facts and vectors with the entities they belong to. Blocks.
    ///
    /// # Errors
    /// `Failed` when the data cannot be read.
    pub fn check(&self, until: Until) -> Result<Compared> {
        Ok(self.compare(until)?.found)
    }

    /// The same without a limit of time; then removes facts and vectors whose entity is gone. Memories state their facts again when
    /// they are compared, and [`Graph::complete_entities`] computes vectors that are missing.
    ///
    /// # Errors
    /// `Failed` when the data cannot be read, `Unavailable` when the disk is full.
    pub async fn repair(&self) -> Result<Compared> {
        let this = self.clone();
        let Comparison { found, dangling, orphans } = blocking(WORK, move || this.compare(Until::DONE)).await?;
        for some in dangling.chunks(AT_ONCE) {
            let (this, some) = (self.clone(), some.to_vec());
            let written = self.facts.store().write(move |tx| {
                for (owner, id) in &some {
                    let scope = Scope::User(*owner);
                    let Some(fact) = this.facts.read(tx, scope, *id)?.filter(|fact| !fact.value.retracted) else {
                        continue;
                    };
                    let mut gone = false;
                    for entity in ends(&fact.value) {
                        gone |= this.entities.read(tx, scope, entity)?.is_none();
                    }
                    if gone {
                        this.facts.remove(tx, scope, *id)?;
                        this.remove_lonely_in(tx, scope, &[fact.value.subject, fact.value.object])?;
                    }
                }
                Ok(())
            });
            store::without_change(written).await?;
        }
        for some in orphans.chunks(AT_ONCE) {
            let (this, some) = (self.clone(), some.to_vec());
            let written = self.vectors.store().write(move |tx| {
                for (owner, id) in &some {
                    if this.entities.read(tx, Scope::User(*owner), *id)?.is_none() {
                        this.vectors.remove(tx, Scope::User(*owner), *id)?;
                    }
                }
                Ok(())
            });
            store::without_change(written).await?;
        }
        Ok(found)
    }

    fn compare(&self, until: Until) -> Result<Comparison> {
        let mut all = Comparison::default();
        let ended = self.facts.each_page(until, &mut |page| {
            all.found.compared += page.len() as u64;
            for fact in page.iter().filter(|fact| !fact.value.retracted) {
                if self.is_dangling(fact)? {
                    all.found.wrong += 1;
                    all.dangling.extend(Some((fact.owner, fact.id)).filter(|_| all.dangling.len() < MOST));
                }
            }
            Ok(())
        })? && self.vectors.each_page(until, &mut |page| {
            all.found.compared += page.len() as u64;
            for vector in &page {
                // Both go in one write: the vector is read last.
                let gone = !is_there(&self.entities, vector.owner, vector.id)?;
                if gone && is_there(&self.vectors, vector.owner, vector.id)? {
                    all.found.wrong += 1;
                    all.orphans.extend(Some((vector.owner, vector.id)).filter(|_| all.orphans.len() < MOST));
                }
            }
            Ok(())
        })? && self.entities.each_page(until, &mut |page| {
            all.found.compared += page.len() as u64;
            for entity in &page {
                all.found.pending += u64::from(!self.has_vector(entity)? || self.is_lonely(entity)?);
            }
            Ok(())
        })?;
        all.found.cut_short = !ended;
        Ok(all)
    }

    /// Whether a fact is about an entity that is gone. An entity goes in one write with its facts: the fact is read last.
    fn is_dangling(&self, fact: &Entry<FactRecord>) -> store::Result<bool> {
        for entity in ends(&fact.value) {
            if !is_there(&self.entities, fact.owner, entity)? {
                let now = self.facts.get_in(Scope::User(fact.owner), fact.id)?;
                return Ok(now.is_some_and(|now| !now.value.retracted && ends(&now.value).any(|id| id == entity)));
            }
        }
        Ok(false)
    }

    fn has_vector(&self, entity: &Entry<EntityRecord>) -> store::Result<bool> {
        match self.vectors.get_in(Scope::User(entity.owner), entity.id) {
            Err(store::Error::Damaged(_)) => Ok(false),
            read => Ok(read?.is_some_and(|vector| vector.value.model == self.embedder.model())),
        }
    }

    /// Whether nobody made an entity by hand, and no fact is about it.
    fn is_lonely(&self, entity: &Entry<EntityRecord>) -> store::Result<bool> {
        if entity.value.by_hand {
            return Ok(false);
        }
        for index in [BY_SUBJECT, BY_OBJECT] {
            let mut found = false;
            self.facts.walk_in(Scope::User(entity.owner), &Walk::prefix(index, entity.id.as_bytes()), |_| {
                found = true;
                Visit::Stop
            })?;
            if found {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        MemoryText,
        records::VectorRecord,
        tests::{house, memory, search, words},
    };
    use store::Stamp;
    use tool::Label;

    fn found(graph: &Graph) -> (u64, u64) {
        let found = graph.check(Until::DONE).unwrap();
        assert!(!found.cut_short, "{found:?}");
        (found.wrong, found.pending)
    }

    #[tokio::test]
    async fn facts_and_vectors_without_their_entity_are_found_and_removed() {
        let (graph, cx) = house();
        let text = "Anna is my sister. Anna works at Siemens.";
        let source = memory(&graph, text, 1).await;
        graph.complete_entities().await.unwrap();
        assert_eq!(found(&graph), (0, 0));
        assert!(graph.check(Until::within(std::time::Duration::ZERO)).unwrap().cut_short);
        // The record of an entity goes, and its facts and its vector stay; another vector is nobody's, a third one is lost.
        let ids: Vec<(String, Id)> = {
            let mut all = vec![];
            graph.entities.scan(|entity| all.push((entity.value.name, entity.id))).unwrap();
            all
        };
        let id = |name: &str| ids.iter().find(|(of, _)| of == name).unwrap().1;
        let (anna, siemens, this, scope) = (id("Anna"), id("Siemens"), graph.clone(), Scope::User(UserId::OWNER));
        let spoil = move |tx: &store::Tx<'_>| {
            let stamp = Stamp { scope, ..Stamp::household("t") };
            this.entities.remove(tx, scope, anna)?;
            this.vectors.put(tx, Id::new(), &stamp, &VectorRecord { model: "m".into(), bytes: vec![] })?;
            this.vectors.remove(tx, scope, siemens)
        };
        graph.entities.store().write(spoil).await.unwrap();
        assert_eq!(found(&graph), (4, 1));
        assert_eq!(graph.repair().await.unwrap().wrong, 4);
        assert_eq!(found(&graph).0, 0);
        // The memory states them again.
        let content = MemoryText { text: text.into(), label: Label::Own, at_ms: 1 };
        assert!(graph.compare_memory(UserId::OWNER, source, Some(content)).await.unwrap());
        graph.complete_entities().await.unwrap();
        assert_eq!(found(&graph), (0, 0));
        let facts = graph.search(&cx, &search("Anna")).await.unwrap().facts;
        assert_eq!(words(&facts), ["Anna is your sister", "Anna works at Siemens"]);
    }
}
