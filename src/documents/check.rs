//! Compares memory documents with their indexes, and has those that disagree computed again.

use crate::{
    MemoryDocuments,
    index::{BY_PATH, DocumentIndex},
    memory::Stored,
    path::{FOLDER, fold},
};
use store::{Compared, Entry, Tx, Until, Visit, Walk, order};
use tool::{Id, Result, Scope};

/// The most indexes that one pass removes.
const MOST: usize = 10_000;

#[derive(Default)]
struct Comparison {
    found: Compared,
    /// Indexes that are not those of their documents, or have none.
    wrong: Vec<(Scope, Id)>,
}

impl Comparison {
    fn add(&mut self, scope: Scope, index: Id) {
        self.found.wrong += 1;
        self.wrong.extend(Some((scope, index)).filter(|_| self.wrong.len() < MOST));
    }
}

impl MemoryDocuments {
    /// Compares the documents with their indexes. Blocks.
    ///
    /// # Errors
    /// `Failed` when the data cannot be read.
    pub fn check(&self, until: Until) -> Result<Compared> {
        Ok(self.compare(until)?.found)
    }

    /// The same without a limit of time; then removes indexes that disagree, and computes those that are missing.
    ///
    /// # Errors
    /// `Failed` when the data cannot be read, `Unavailable` when the disk is full.
    pub async fn repair(&self) -> Result<Compared> {
        let this = self.clone();
        let compare = move || this.compare(Until::DONE);
        let Comparison { found, wrong } = tool::blocking("the comparison of memory documents", compare).await?;
        if !wrong.is_empty() {
            let this = self.clone();
            let remove =
                move |tx: &Tx| wrong.iter().try_for_each(|(scope, id)| this.indexes.remove(tx, *scope, *id).map(drop));
            store::without_change(self.indexes.store().write(remove)).await?;
            self.backfill().await?;
        }
        Ok(found)
    }

    fn compare(&self, until: Until) -> Result<Comparison> {
        let mut all = Comparison::default();
        let ended = self.records.each_page(until, &mut |page| {
            for document in page {
                // A document may be long.
                if until.is_over() {
                    all.found.cut_short = true;
                    return Ok(());
                }
                all.found.compared += 1;
                self.compare_one(&document, &mut all)?;
            }
            Ok(())
        })? && self.indexes.each_page(until, &mut |page| {
            all.found.compared += page.len() as u64;
            for index in page.iter().filter(|index| index.value.path.starts_with(FOLDER)) {
                let scope = index.value.scope(index.owner);
                // Both go in one write: the index is read last.
                let gone = self.document_in(scope, &index.value.path)?.is_none() && self.is_whole_in(scope)?;
                if gone && self.indexes.get_in(scope, index.id)?.is_some() {
                    all.add(scope, index.id);
                }
            }
            Ok(())
        })?;
        all.found.cut_short |= !ended;
        Ok(all)
    }

    fn compare_one(&self, document: &Entry<Stored>, all: &mut Comparison) -> store::Result<()> {
        let scope = document.value.scope(document.owner);
        let path = fold(&document.value.path);
        let Some(index) = self.index_in(scope, &path)? else {
            all.found.pending += u64::from(self.is_as_before(scope, document)?);
            return Ok(());
        };
        if !index.value.has_words_of(&document.value.index()) {
            // Both change in one write: the document is read last.
            if self.is_as_before(scope, document)? {
                all.add(scope, index.id);
            }
        } else {
            all.found.pending += u64::from(!index.value.has_vectors(&self.embedder));
        }
        Ok(())
    }

    fn is_as_before(&self, scope: Scope, was: &Entry<Stored>) -> store::Result<bool> {
        Ok(self.records.get_in(scope, was.id)?.is_some_and(|now| now.value == was.value))
    }

    fn index_in(&self, scope: Scope, path: &str) -> store::Result<Option<Entry<DocumentIndex>>> {
        Ok(self.indexes.walk_in(scope, &Walk::prefix(BY_PATH, order::name(path)), |_| Visit::Yes)?.pop())
    }

    fn document_in(&self, scope: Scope, path: &str) -> store::Result<Option<Entry<Stored>>> {
        Ok(self.records.walk_in(scope, &Walk::prefix(BY_PATH, order::name(path)), |_| Visit::Yes)?.pop())
    }

    /// Whether every document of a scope can be read: the index of one that cannot be stays.
    fn is_whole_in(&self, scope: Scope) -> store::Result<bool> {
        self.records.is_whole_in(scope)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        AgentType,
        tests::{OWN, house, person, search},
    };
    use store::Stamp;
    use tool::Role;

    #[tokio::test]
    async fn wrong_indexes_are_found_and_computed_again() {
        let (house, cx) = (house(AgentType::Predefined), person(Role::Member));
        for (path, text) in [
            ("memory/boat.md", "The anchor weighs 12 kg."),
            ("memory/Food.md", "Paella needs saffron."),
            ("memory/pet.md", "The cat is called Mia."),
        ] {
            house.files.write(&cx, path, text, OWN).await.unwrap();
        }
        let documents = house.files.memory().clone();
        let found = || {
            let found = documents.check(Until::DONE).unwrap();
            assert!(!found.cut_short, "{found:?}");
            (found.wrong, found.pending)
        };
        assert_eq!(found(), (0, 0));
        assert!(documents.check(Until::within(std::time::Duration::ZERO)).unwrap().cut_short);
        let mut all = vec![];
        documents.indexes.scan(|index| all.push(index)).unwrap();
        let of = |path: &str| all.iter().find(|index| index.value.path == path).unwrap().clone();
        let (boat, pet) = (of("memory/boat.md"), of("memory/pet.md"));
        // One has the words of another text, one is nobody's, and one is missing.
        let (this, scope) = (documents.clone(), boat.value.scope(boat.owner));
        let spoil = move |tx: &Tx| {
            let stamp = Stamp { scope, owner: boat.owner, ..Stamp::household("t") };
            let words = DocumentIndex::of("memory/boat.md".into(), (boat.value.agent, false), "something else");
            this.indexes.put(tx, boat.id, &stamp, &words)?;
            let nobodys = DocumentIndex::of("memory/none.md".into(), (boat.value.agent, false), "nothing");
            this.indexes.put(tx, Id::new(), &stamp, &nobodys)?;
            this.indexes.remove(tx, scope, pet.id).map(drop)
        };
        house.store.write(spoil).await.unwrap();
        assert_eq!(found(), (2, 1));
        assert_eq!(documents.repair().await.unwrap().wrong, 2);
        assert_eq!(found(), (0, 0));
        for (question, path) in [("anchor", "memory/boat.md"), ("cat", "memory/pet.md")] {
            assert_eq!(search(&house, &cx, question).await[0].path, path);
        }
    }
}
