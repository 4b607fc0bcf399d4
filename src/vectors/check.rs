//! Compares collections with their vectors, and what is in memory with what is stored.

use crate::{
    Vectors,
    fields::bytes_of,
    records::{CollectionRecord, VectorRecord},
};
use std::{
    collections::{HashMap, HashSet},
    sync::PoisonError,
};
use store::Entry;
use tool::{Id, Result, Scope, UserId};

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
        let Stored { collections, vectors, orphans } = self.stored()?;
        let mut found = Disagreements { orphans: orphans.len(), ..Disagreements::default() };
        for entry in &collections {
            let (ids, metadata) = vectors.get(&entry.id).map_or((&[][..], 0), |(ids, metadata)| (&ids[..], *metadata));
            found.counts += usize::from((entry.value.count, entry.value.metadata) != (ids.len() as u64, metadata));
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
        let Stored { collections, vectors, orphans } = crate::blocking(move || this.stored()).await?;
        let mut found = Disagreements::default();
        for part in orphans.chunks(500) {
            let (this, part) = (self.clone(), part.to_vec());
            let written = self.vectors.store().write(move |tx| {
                let mut removed = 0;
                for (scope, id) in &part {
                    let Some(vector) = this.vectors.read(tx, *scope, *id)? else { continue };
                    let collection = this.collections.read(tx, *scope, vector.value.collection)?;
                    // A deleted collection takes its vectors along.
                    if collection.is_none() {
                        removed += usize::from(this.vectors.remove(tx, *scope, *id)?);
                    }
                }
                Ok(removed)
            });
            found.orphans += store::without_change(written).await?;
        }
        for entry in collections {
            let (count, metadata) =
                vectors.get(&entry.id).map_or((0, 0), |(ids, metadata)| (ids.len() as u64, *metadata));
            if (entry.value.count, entry.value.metadata) == (count, metadata) {
                continue;
            }
            let (this, scope, was) = (self.clone(), Scope::User(entry.owner), entry);
            let written = self.collections.store().write(move |tx| {
                let now = this.collections.read(tx, scope, was.id)?;
                // Unless it changed since.
                let same = now.is_some_and(|now| now.value == was.value && now.updated_ms == was.updated_ms);
                if same {
                    this.count_in(tx, scope, was.id, (count, metadata))?;
                }
                Ok(same)
            });
            found.counts += usize::from(store::without_change(written).await?);
        }
        Ok(found)
    }

    /// What is stored, as far as it did not change while it was read.
    fn stored(&self) -> Result<Stored> {
        let all = || {
            let mut collections = vec![];
            self.collections.scan(|entry| collections.push(entry))?;
            collections.retain(|entry: &Entry<CollectionRecord>| !entry.value.gone);
            Ok::<_, tool::Error>(collections)
        };
        let before: HashMap<Id, _> = all()?.into_iter().map(|entry| (entry.id, entry)).collect();
        let mut vectors: HashMap<Id, (Vec<Id>, u64)> = HashMap::new();
        let mut owners: Vec<(UserId, Id, Id)> = vec![];
        self.vectors.scan(|entry: Entry<VectorRecord>| {
            let of = vectors.entry(entry.value.collection).or_default();
            of.0.push(entry.id);
            of.1 += bytes_of(&entry.value.fields()) as u64;
            if before.get(&entry.value.collection).is_none_or(|collection| collection.owner != entry.owner) {
                owners.push((entry.owner, entry.value.collection, entry.id));
            }
        })?;
        // A collection may have been made and filled meanwhile.
        let mut collections = all()?;
        let there: HashSet<(UserId, Id)> = collections.iter().map(|entry| (entry.owner, entry.id)).collect();
        owners.retain(|(owner, collection, _)| !there.contains(&(*owner, *collection)));
        let same = |was: &Entry<CollectionRecord>, now: &Entry<CollectionRecord>| {
            was.value == now.value && was.updated_ms == now.updated_ms
        };
        collections.retain(|now| before.get(&now.id).is_some_and(|was| same(was, now)));
        let orphans = owners.into_iter().map(|(owner, _, id)| (Scope::User(owner), id)).collect();
        Ok(Stored { collections, vectors, orphans })
    }
}

struct Stored {
    collections: Vec<Entry<CollectionRecord>>,
    /// The vectors of each collection, and the bytes of their metadata.
    vectors: HashMap<Id, (Vec<Id>, u64)>,
    /// Vectors without a collection.
    orphans: Vec<(Scope, Id)>,
}
