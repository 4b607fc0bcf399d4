//! Vectors are added, replaced and deleted.

use crate::{
    Vectors,
    collections::CollectionInfo,
    fields::bytes_of,
    filter::metadata,
    records::{
        COLLECTION_MEMORY, CollectionRecord, NAME, TEXT, VectorRecord, collection_bytes, most_vectors, vector_id,
    },
    values::{Values, checked},
};
use serde_json::{Map, Value};
use std::collections::HashSet;
use store::{Did, Entry, Part, Stamp, Tx, rejected};
use tool::{Cx, Error, Id, Result, Scope};

/// The most vectors of one call.
pub const BATCH: usize = 100;

/// A vector to add or to replace: a text, its numbers, or both.
#[derive(Debug, Clone, Default)]
pub struct Item {
    /// A new one where it is not given.
    pub id: Option<String>,
    pub text: String,
    pub vector: Option<Vec<f32>>,
    pub metadata: Map<String, Value>,
}

/// The result of a change.
#[derive(Debug, Clone)]
pub struct Upserted {
    /// The ids, in the order of the items.
    pub ids: Vec<String>,
    pub added: usize,
    pub replaced: usize,
    pub collection: CollectionInfo,
}

impl Vectors {
    /// Adds or replaces vectors in one commit: all or none.
    ///
    /// # Errors
    /// `NotFound`, `BadArgs` for an item that cannot be stored or a full collection, `Unavailable` without the model.
    pub async fn upsert(&self, cx: &Cx, which: &str, items: Vec<Item>) -> Result<Upserted> {
        if items.is_empty() || items.len() > BATCH {
            return Err(Error::bad_args(format!("pass 1 to {BATCH} vectors in one call; there are {}", items.len())));
        }
        let entry = self.find_own(cx, which)?;
        let entry = self.ready(entry).await?;
        let mut records: Vec<(Id, VectorRecord)> = vec![];
        let mut keys = HashSet::new();
        // Everything is checked before the first text is embedded.
        for (n, item) in items.iter().enumerate() {
            check_item(&entry.value, n, item)?;
            if item.id.as_ref().is_some_and(|id| !keys.insert(id.trim().to_owned())) {
                return Err(Error::bad_args(format!(
                    "vector {} has the id of another one in this call: give each its own",
                    n + 1
                )));
            }
        }
        for (n, item) in items.into_iter().enumerate() {
            let what = named(n, &item);
            let key = item.id.map_or_else(|| Id::new().to_string(), |id| id.trim().to_owned());
            let metadata = metadata(&item.metadata, &what)?;
            let values = match &item.vector {
                Some(vector) => Values::exact(vector),
                None => Values::compact(&self.embed(&item.text).await?.0),
            };
            let (collection, generation) = (entry.id, entry.value.generation);
            let record = VectorRecord { collection, key, text: item.text, metadata, values, generation };
            records.push((vector_id(collection, &record.key), record));
        }
        let ids: Vec<String> = records.iter().map(|(_, record)| record.key.clone()).collect();
        let changed: Vec<Id> = records.iter().map(|(id, _)| *id).collect();
        let stamp = Stamp { scope: Scope::User(entry.owner), ..self.vectors.stamp(cx, "upsert_vectors") };
        let (this, was) = (self.clone(), entry.clone());
        let work = async move {
            let (here, collection) = (this.clone(), was.clone());
            let written = this.vectors.store().write(move |tx| here.put_all(tx, &collection, &stamp, &records));
            // They can be computed again, and would push all else out of the journal of changes.
            let written = store::without_change(written).await;
            // After a failure too: the commit may be on disk all the same.
            this.apply(&was, changed).await;
            written
        };
        let (added, count) = self.to_end(work).await??;
        let mut now = entry;
        now.value.count = count;
        let replaced = ids.len() - added;
        Ok(Upserted { ids, added, replaced, collection: CollectionInfo::of(cx, &now) })
    }

    /// Runs a write and the update of memory to their end, also when the caller stops waiting.
    async fn to_end<T: Send + 'static>(&self, work: impl Future<Output = T> + Send + 'static) -> Result<T> {
        let ended = tokio::spawn(store::inherit_effect(work)).await;
        ended.map_err(|error| Error::failed(format!("the write of vectors stopped: {error}")))
    }

    /// Within a write: returns how many are new, and how many there are then.
    fn put_all(
        &self,
        tx: &Tx,
        was: &Entry<CollectionRecord>,
        stamp: &Stamp,
        records: &[(Id, VectorRecord)],
    ) -> store::Result<(usize, u64)> {
        let mut now = self.there(tx, was)?;
        let (mut added, before) = (0, now.clone());
        for (id, record) in records {
            match self.vectors.read(tx, stamp.scope, *id)? {
                Some(there) if there.value.key != record.key => {
                    return Err(rejected(format!("the id `{}` cannot be used here: choose another one", record.key)));
                }
                Some(there) => now.metadata = now.metadata.saturating_sub(bytes_of(&there.value.fields()) as u64),
                None => added += 1,
            }
            now.metadata += bytes_of(&record.fields()) as u64;
            self.vectors.put(tx, *id, stamp, record)?;
        }
        now.count += added as u64;
        let most = most_vectors(now.dimensions as usize);
        if now.count > most as u64 {
            return Err(rejected(format!(
                "the collection `{}` is full: {most} vectors of {} dimensions are the most; delete some, or start another collection",
                now.name, now.dimensions
            )));
        }
        let bytes = collection_bytes(&now);
        if bytes > COLLECTION_MEMORY && bytes > collection_bytes(&before) {
            return Err(rejected(format!(
                "the collection `{}` is full: with their metadata its vectors would take more than {} MB in memory; delete some, \
                 or start another collection",
                now.name,
                COLLECTION_MEMORY >> 20
            )));
        }
        if now != before {
            self.count_in(tx, stamp.scope, was.id, (now.count, now.metadata))?;
        }
        Ok((added, now.count))
    }

    /// Within a write: the collection as it is, unless it was deleted or another model took over.
    fn there(&self, tx: &Tx, was: &Entry<CollectionRecord>) -> store::Result<CollectionRecord> {
        let now = self.collections.read(tx, Scope::User(was.owner), was.id)?.map(|entry| entry.value);
        match now.filter(|now| !now.gone) {
            Some(now) if now.generation == was.value.generation => Ok(now),
            Some(_) => Err(rejected("another model took the collection over meanwhile: try again")),
            None => Err(store::Error::Missing(format!("the collection `{}` was deleted meanwhile", was.value.name))),
        }
    }

    pub(crate) fn count_in(
        &self,
        tx: &Tx,
        scope: Scope,
        collection: Id,
        (count, metadata): (u64, u64),
    ) -> store::Result<()> {
        // The labels of vectors do not taint their collection.
        let label = tool::Label::Own;
        let set = self.collections.change(tx, scope, label, collection, &mut |it| {
            (it.count, it.metadata) = (count, metadata);
            Ok(())
        });
        set.map(drop)
    }

    /// Deletes vectors by the ids that their caller gave them; returns the ids that there were.
    ///
    /// # Errors
    /// `NotFound` for the collection, `BadArgs` for too many ids.
    pub async fn delete(&self, cx: &Cx, which: &str, keys: Vec<String>) -> Result<(Vec<String>, CollectionInfo)> {
        if keys.is_empty() || keys.len() > BATCH {
            return Err(Error::bad_args(format!("pass 1 to {BATCH} ids in one call; there are {}", keys.len())));
        }
        let entry = self.find_own(cx, which)?;
        let (this, was, scope) = (self.clone(), entry.clone(), Scope::User(entry.owner));
        let ids: Vec<Id> = keys.iter().map(|key| vector_id(entry.id, key.trim())).collect();
        let changed = ids.clone();
        let job = move |tx: &Tx| {
            let now = this.collections.read(tx, scope, was.id)?.filter(|now| !now.value.gone);
            let Some(now) = now else {
                return Err(store::Error::Missing(format!(
                    "the collection `{}` was deleted meanwhile",
                    was.value.name
                )));
            };
            let (mut deleted, mut metadata) = (vec![], now.value.metadata);
            for (id, key) in ids.iter().zip(&keys) {
                let Some(there) = this.vectors.read(tx, scope, *id)? else { continue };
                metadata = metadata.saturating_sub(bytes_of(&there.value.fields()) as u64);
                this.vectors.remove(tx, scope, *id)?;
                deleted.push(key.trim().to_owned());
            }
            let count = now.value.count.saturating_sub(deleted.len() as u64);
            if !deleted.is_empty() {
                this.count_in(tx, scope, was.id, (count, metadata))?;
            }
            Ok((deleted, count))
        };
        let (this, was) = (self.clone(), entry.clone());
        let work = async move {
            let written = this.vectors.store().write(job).await;
            this.apply(&was, changed).await;
            written
        };
        let (deleted, count) = self.to_end(work).await??;
        let mut now = entry;
        now.value.count = count;
        Ok((deleted, CollectionInfo::of(cx, &now)))
    }

    /// Within a write that puts back or removes a vector: its collection must be there, and counts it.
    ///
    /// # Errors
    /// `Conflict` when the collection was deleted since.
    pub fn put_back_in(&self, tx: &Tx, part: &Part, collection: Option<Id>) -> store::Result<()> {
        let (Some(scope), Some(collection)) = (part.scope(), collection) else { return Ok(()) };
        let Some(now) = self.collections.read(tx, scope, collection)?.filter(|now| !now.value.gone) else {
            return Err(rejected("nothing was undone: the collection was deleted since"));
        };
        // Vectors are journaled only when they are deleted.
        if part.did() != Did::Deleted {
            return Ok(());
        }
        let back = part.id().map(|id| self.vectors.read(tx, scope, id)).transpose()?.flatten();
        let metadata = back.map_or(0, |back| bytes_of(&back.value.fields()) as u64);
        self.count_in(tx, scope, collection, (now.value.count + 1, now.value.metadata + metadata))
    }

    /// Within a write: the collection of a vector.
    ///
    /// # Errors
    /// As every read.
    pub fn collection_of(&self, tx: &Tx, part: &Part) -> store::Result<Option<Id>> {
        let (Some(scope), Some(id)) = (part.scope(), part.id()) else { return Ok(None) };
        Ok(self.vectors.read(tx, scope, id)?.map(|entry| entry.value.collection))
    }

    /// After a write that put back or removed a vector.
    pub async fn was_put_back(&self, part: &Part) {
        let (Some(scope), Some(id)) = (part.scope(), part.id()) else { return };
        let prefix = &id.as_bytes()[..crate::records::PREFIX];
        let mut collections = vec![];
        let scanned = self.collections.scan(|entry| {
            if entry.id.as_bytes().starts_with(prefix) && Scope::User(entry.owner) == scope {
                collections.push(entry);
            }
        });
        if let Err(error) = scanned {
            tracing::warn!(%error, "the collection of a restored vector could not be read");
        }
        for collection in collections {
            self.apply(&collection, vec![id]).await;
        }
    }
}

/// An item in messages.
fn named(n: usize, item: &Item) -> String {
    match &item.id {
        Some(id) => format!("vector `{}`", id.chars().take(40).collect::<String>()),
        None => format!("vector {}", n + 1),
    }
}

fn check_item(collection: &CollectionRecord, n: usize, item: &Item) -> Result<()> {
    let what = named(n, item);
    if let Some(id) = &item.id
        && (id.trim().is_empty() || id.chars().count() > NAME || id.chars().any(char::is_control))
    {
        return Err(Error::bad_args(format!(
            "the id of vector {} must have 1 to {NAME} characters in one line",
            n + 1
        )));
    }
    if item.text.len() > TEXT {
        return Err(Error::bad_args(format!("the text of {what} has more than {TEXT} bytes: store it in parts")));
    }
    metadata(&item.metadata, &what)?;
    match &item.vector {
        Some(vector) => checked(vector, collection.dimensions as usize, &what),
        None if item.text.trim().is_empty() => Err(Error::bad_args(format!("{what} has neither `text` nor `vector`"))),
        None if !collection.embeds => Err(Error::bad_args(format!(
            "{what} has a text alone, but the vectors of `{}` are made by {}, which Hob cannot run: pass `vector`",
            collection.name, collection.model
        ))),
        None => Ok(()),
    }
}
