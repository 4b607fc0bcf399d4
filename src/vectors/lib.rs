//! Collections of vectors with metadata, searched by similarity.
//!
//! A vector is a record of its own. [`Vectors::search`] reads a collection into memory at its first use (bytes, a bit a number,
//! and the rows of each value of the metadata), picks candidates there and compares those exactly with what is stored. Memory
//! has a budget; collections that nobody uses are dropped. A collection knows the model of its vectors, and compares none
//! of another one.

mod check;
mod collections;
mod fields;
mod filter;
mod index;
mod pool;
mod records;
mod reembed;
mod search;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_kills;
mod upsert;
mod values;

pub use collections::{CollectionInfo, NewCollection};
pub use records::{Metric, TABLE};
pub use search::{Hit, Search, Searched};
pub use upsert::{BATCH, Item, Upserted};

use embed::Embedder;
use pool::Pool;
use records::{CollectionRecord, TEXT, VectorRecord};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};
use store::{Collection, Entry, Store};
use tool::{Cx, Error, Id, Label, Result, UserId};

/// The vector collections of the household; cheap to clone.
#[derive(Clone)]
pub struct Vectors {
    pub(crate) collections: Collection<CollectionRecord>,
    pub(crate) vectors: Collection<VectorRecord>,
    embedder: Embedder,
    pub(crate) pool: Arc<Pool>,
    /// How many vectors of a collection that another model takes over are done, of how many.
    reembedding: Arc<Mutex<HashMap<Id, (u64, u64)>>>,
}

impl Vectors {
    /// The collections in `store`.
    pub fn new(store: &Store, embedder: Embedder) -> Self {
        Self {
            collections: store.collection(),
            vectors: store.collection(),
            embedder,
            pool: Arc::default(),
            reembedding: Arc::default(),
        }
    }

    /// The unit vector of a text, and how many tokens it has.
    ///
    /// # Errors
    /// `BadArgs` when there is nothing to embed or too much, `Unavailable` without the model.
    pub async fn embed(&self, text: &str) -> Result<(Vec<f32>, usize)> {
        fits(text)?;
        self.embedder.embed_whole(text).await.map_err(refused)
    }

    /// The unit vector of a text that is searched for.
    pub(crate) async fn embed_query(&self, text: &str) -> Result<Vec<f32>> {
        fits(text)?;
        self.embedder.embed_whole_query(text).await.map(|(vector, _)| vector).map_err(refused)
    }

    /// The name of the model that Hob embeds texts with, and its dimensions. The name is empty while the household's model cannot
    /// be used.
    pub fn model(&self) -> (String, usize) {
        (self.embedder.model().to_owned(), self.embedder.dimensions())
    }

    /// The similarity in meaning of two texts: about 0 for unrelated ones, 1 for the same.
    ///
    /// # Errors
    /// As [`Vectors::embed`].
    pub async fn similarity(&self, one: &str, other: &str) -> Result<f32> {
        let (one, other) = (self.embed(one).await?.0, self.embed(other).await?.0);
        Ok(values::dot(&one, &other).clamp(-1.0, 1.0))
    }

    /// Drops collections from memory that were not used for a while. To be called now and then.
    pub fn maintain(&self) {
        self.pool.drop_idle();
    }
}

/// The label of a record for a reader: another member's words are labelled as theirs.
fn label_for<T>(cx: &Cx, entry: &Entry<T>) -> Label {
    if entry.owner != cx.user() && entry.owner != UserId::OWNER {
        return entry.label.max(Label::Member(entry.owner));
    }
    entry.label
}

fn fits(text: &str) -> Result<()> {
    if text.len() > TEXT {
        return Err(Error::bad_args(format!(
            "the text has {} bytes, and {TEXT} are the most: embed it in parts",
            text.len()
        )));
    }
    Ok(())
}

fn refused(error: embed::Error) -> Error {
    match error {
        embed::Error::Empty | embed::Error::TooLong(_) => Error::bad_args(error.to_string()),
        other => Error::unavailable(other.to_string()),
    }
}

/// The work that an error names.
const WORK: &str = "the work on vectors";
