//! Compares collections with their vectors, and what is in memory with what is stored; corrects what disagrees.

use crate::{
    Vectors, WORK,
    fields::bytes_of,
    records::{CollectionRecord, VectorRecord},
};
use std::{collections::HashMap, time::Duration};
use store::{Compared, Entry, Until};
use tool::{Id, Result, Scope, UserId, blocking};

/// The most vectors without a collection that one pass removes.
const MOST: usize = 10_000;
/// How many of them one commit removes.
const AT_ONCE: usize = 500;

/// How long a write may take to reach memory.
const PAUSE: Duration = Duration::from_millis(200);

/// A collection by its owner.
type Collections = HashMap<(UserId, Id), Entry<CollectionRecord>>;

/// The vectors of a collection.
#[derive(Default)]
struct Counted {
    count: u64,
    /// The bytes of their metadata.
    metadata: u64,
    /// How many are not in memory, where the collection is.
    missing: usize,
}

/// A collection whose record says something else.
struct Miscounted {
    entry: Entry<CollectionRecord>,
    count: u64,
    metadata: u64,
}

#[derive(Default)]
struct Comparison {
    found: Compared,
    miscounted: Vec<Miscounted>,
    /// Vectors without a collection.
    orphans: Vec<(UserId, Id)>,
    /// Collections that are in memory in another way than they are stored.
    stale: Vec<Id>,
}

impl Vectors {
    /// Compares the collections with their vectors, and those in memory with what is stored. Blocks.
    ///
    /// # Errors
    /// `Failed` when the data cannot be read.
    pub fn check(&self, until: Until) -> Result<Compared> {
        Ok(self.compare(until)?.found)
    }

    /// The same without a limit of time; then corrects counts, removes vectors without a collection, and what is left of deleted
    /// collections.
    ///
    /// # Errors
    /// `Failed` when the data cannot be read, `Unavailable` when the disk is full.
    pub async fn repair(&self) -> Result<Compared> {
        self.sweep().await?;
        let this = self.clone();
        let Comparison { found, miscounted, orphans, stale } =
            blocking(WORK, move || this.compare(Until::DONE)).await?;
        stale.into_iter().for_each(|collection| self.pool.drop_one(collection));
        for part in orphans.chunks(AT_ONCE) {
            let (this, part) = (self.clone(), part.to_vec());
            let written = self.vectors.store().write(move |tx| {
                for (owner, id) in &part {
                    let scope = Scope::User(*owner);
                    let Some(vector) = this.vectors.read(tx, scope, *id)? else { continue };
                    if this.collections.read(tx, scope, vector.value.collection)?.is_none() {
                        this.vectors.remove(tx, scope, *id)?;
                    }
                }
                Ok(())
            });
            store::without_change(written).await?;
        }
        for Miscounted { entry: was, count, metadata } in miscounted {
            let (this, scope) = (self.clone(), Scope::User(was.owner));
            let written = self.collections.store().write(move |tx| {
                // Unless it changed since.
                if this.collections.read(tx, scope, was.id)?.is_some_and(|now| is_same(&was, &now)) {
                    this.count_in(tx, scope, was.id, (count, metadata))?;
                }
                Ok(())
            });
            store::without_change(written).await?;
        }
        Ok(found)
    }

    fn compare(&self, until: Until) -> Result<Comparison> {
        let before = self.all_collections()?;
        let mut all = Comparison::default();
        let mut counted: HashMap<Id, Counted> = HashMap::new();
        let ended = self.vectors.each_page(until, &mut |page| {
            all.found.compared += page.len() as u64;
            for entry in &page {
                let collection = entry.value.collection;
                if before.contains_key(&(entry.owner, collection)) {
                    let of = counted.entry(collection).or_default();
                    of.count += 1;
                    of.metadata += bytes_of(&entry.value.fields()) as u64;
                } else if self.has_no_collection(entry)? {
                    all.found.wrong += 1;
                    all.orphans.extend(Some((entry.owner, entry.id)).filter(|_| all.orphans.len() < MOST));
                }
            }
            // Those of one collection follow one another.
            for some in page.chunk_by(|a, b| a.value.collection == b.value.collection) {
                let Some(collection) = some.first().map(|entry| entry.value.collection) else { continue };
                self.pool.update(collection, |index| {
                    let missing = some.iter().filter(|entry| !index.has(entry.id)).count();
                    counted.entry(collection).or_default().missing += missing;
                    true
                });
            }
            Ok(())
        })?;
        if !ended {
            all.found.cut_short = true;
            return Ok(all);
        }
        let now = self.all_collections()?;
        // Of one that changed meanwhile the vectors were counted at different times.
        let unchanged =
            |was: &Entry<CollectionRecord>| now.get(&(was.owner, was.id)).is_some_and(|now| is_same(was, now));
        for entry in before.into_values().filter(unchanged) {
            all.found.compared += 1;
            let Counted { count, metadata, missing } = counted.remove(&entry.id).unwrap_or_default();
            let mut in_memory = 0;
            self.pool.update(entry.id, |index| {
                in_memory = missing + (index.len() + missing).saturating_sub(count as usize);
                true
            });
            if in_memory > 0 {
                // What was just written is taken over a moment later.
                std::thread::sleep(PAUSE);
                in_memory = self.in_memory(&entry)?;
            }
            if in_memory > 0 {
                all.found.wrong += in_memory as u64;
                all.stale.push(entry.id);
            }
            if (entry.value.count, entry.value.metadata) != (count, metadata) {
                all.found.wrong += 1;
                all.miscounted.push(Miscounted { entry, count, metadata });
            }
        }
        Ok(all)
    }

    /// How many vectors of a collection are in memory and not stored, or stored and not in memory.
    fn in_memory(&self, collection: &Entry<CollectionRecord>) -> Result<usize> {
        let (mut count, mut missing, mut others) = (0, 0, 0);
        self.each(collection, |vector| {
            count += 1;
            self.pool.update(collection.id, |index| {
                missing += usize::from(!index.has(vector.id));
                true
            });
        })?;
        self.pool.update(collection.id, |index| {
            others = (index.len() + missing).saturating_sub(count);
            true
        });
        Ok(missing + others)
    }

    /// The collections that are there. Those of a person are few.
    fn all_collections(&self) -> Result<Collections> {
        let mut all = HashMap::new();
        self.collections.scan(|entry| {
            if !entry.value.gone {
                all.insert((entry.owner, entry.id), entry);
            }
        })?;
        Ok(all)
    }

    /// Whether a vector is stored and its collection is not; one that is being deleted takes its vectors along.
    fn has_no_collection(&self, vector: &Entry<VectorRecord>) -> store::Result<bool> {
        let scope = Scope::User(vector.owner);
        match self.collections.get_in(scope, vector.value.collection) {
            Err(store::Error::Damaged(_)) => Ok(false),
            read => Ok(read?.is_none() && self.vectors.get_in(scope, vector.id)?.is_some()),
        }
    }
}

fn is_same(was: &Entry<CollectionRecord>, now: &Entry<CollectionRecord>) -> bool {
    was.value == now.value && was.updated_ms == now.updated_ms
}
