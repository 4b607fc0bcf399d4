//! Compares collections with their vectors, and what is in memory with what is stored.

use crate::{
    Vectors,
    records::{CollectionRecord, VectorRecord},
};
use std::{collections::HashMap, sync::PoisonError};
use store::Entry;
use tool::{Id, Result, Scope};

/// Disagreements of collections, vectors and memory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Disagreements {
    /// Collections that count more or fewer vectors than they have.
    pub counts: usize,
    /// Vectors whose collection is gone.
    pub orphans: usize,
    /// Vectors that are in memory and not stored, or stored and not in memory.
    pub memory: usize,
}

impl Vectors {
    /// Looks for disagreements. Blocks.
    ///
    /// # Errors
    /// `Failed` when the data cannot be read.
    pub fn check(&self) -> Result<Disagreements> {
        let (collections, stored, orphans) = self.stored()?;
        let mut found = Disagreements { orphans: orphans.len(), ..Disagreements::default() };
        for entry in &collections {
            let ids = stored.get(&entry.id).map(Vec::as_slice).unwrap_or_default();
            found.counts += usize::from(entry.value.count != ids.len() as u64);
            self.pool.update(entry.id, |index| {
                let missing = ids.iter().filter(|id| !index.has(**id)).count();
                found.memory += missing + (index.len() + missing).saturating_sub(ids.len());
                true
            });
        }
        Ok(found)
    }

    /// Corrects counts, removes vectors whose collection is gone, and what is left of deleted collections.
    ///
    /// # Errors
    /// `Failed` when the data cannot be read, `Unavailable` when the disk is full.
    pub async fn repair(&self) -> Result<Disagreements> {
        let found = self.repair_all().await?;
        if found != Disagreements::default() {
            tracing::warn!(?found, "collections of vectors disagreed with their records, and were corrected");
        }
        *self.repaired.lock().unwrap_or_else(PoisonError::into_inner) += found.counts + found.orphans;
        Ok(found)
    }

    /// How many disagreements were corrected since the start.
    pub fn repaired(&self) -> usize {
        *self.repaired.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn repair_all(&self) -> Result<Disagreements> {
        self.sweep().await?;
        let this = self.clone();
        let (collections, stored, orphans) = crate::blocking(move || this.stored()).await?;
        let mut found = Disagreements { orphans: orphans.len(), ..Disagreements::default() };
        for part in orphans.chunks(500) {
            let (this, part) = (self.clone(), part.to_vec());
            let written = self.vectors.store().write(move |tx| {
                part.iter().try_for_each(|(scope, id)| this.vectors.remove(tx, *scope, *id).map(drop))
            });
            store::without_change(written).await?;
        }
        for entry in collections {
            let count = stored.get(&entry.id).map_or(0, Vec::len) as u64;
            if entry.value.count == count {
                continue;
            }
            found.counts += 1;
            let (this, scope, was) = (self.clone(), Scope::User(entry.owner), entry.value.count);
            let written = self.collections.store().write(move |tx| {
                let now = this.collections.read(tx, scope, entry.id)?;
                // Unless it changed since.
                if now.is_some_and(|now| now.value.count == was) {
                    this.count_in(tx, scope, entry.id, count)
                } else {
                    Ok(())
                }
            });
            store::without_change(written).await?;
        }
        Ok(found)
    }

    /// The collections, the ids of their vectors, and the vectors without one.
    #[allow(clippy::type_complexity)]
    fn stored(&self) -> Result<(Vec<Entry<CollectionRecord>>, HashMap<Id, Vec<Id>>, Vec<(Scope, Id)>)> {
        let mut collections = vec![];
        self.collections.scan(|entry| collections.push(entry))?;
        collections.retain(|entry| !entry.value.gone);
        let there: HashMap<Id, _> = collections.iter().map(|entry| (entry.id, entry.owner)).collect();
        let (mut stored, mut orphans): (HashMap<Id, Vec<Id>>, Vec<(Scope, Id)>) = Default::default();
        self.vectors.scan(|entry: Entry<VectorRecord>| {
            let collection = entry.value.collection;
            if there.get(&collection) == Some(&entry.owner) {
                stored.entry(collection).or_default().push(entry.id);
            } else {
                orphans.push((Scope::User(entry.owner), entry.id));
            }
        })?;
        Ok((collections, stored, orphans))
    }
}
