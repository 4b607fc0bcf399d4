//! Searches: candidates from memory, compared exactly with what is stored.

use crate::{
    Vectors, WORK,
    filter::Filter,
    index::{Index, Query},
    label_for,
    records::{CollectionRecord, LOADED, Metric, VectorRecord, collection_bytes},
    values::checked,
};
use serde_json::{Map, Value};
use store::Entry;
use tool::{Cx, Error, Id, Result, Scope, blocking};

/// The vectors that one read of the store returns while a collection is read into memory.
const READ_AT_ONCE: usize = 2000;
/// The most exact comparisons before the best are picked.
const COMPARED_AT_ONCE: usize = 500;

/// A search.
#[derive(Debug, Clone, Default)]
pub struct Search {
    /// Embedded by Hob where there is no vector.
    pub text: String,
    pub vector: Option<Vec<f32>>,
    /// How many of the best.
    pub most: usize,
    /// A condition on the metadata; see the tool's description.
    pub filter: Option<Map<String, Value>>,
    /// Only hits with at least this score; for distances, at most this distance.
    pub threshold: Option<f32>,
    /// Whether to compare every vector instead of a first pass by signs.
    pub exact: bool,
}

/// A vector that was found.
#[derive(Debug, Clone)]
pub struct Hit {
    /// The id that its caller gave it.
    pub id: String,
    /// Cosine or dot product, higher is nearer; or the distance, where lower is nearer.
    pub score: f32,
    pub text: String,
    pub metadata: Map<String, Value>,
    pub vector: Vec<f32>,
}

/// The result of a search.
#[derive(Debug, Clone)]
pub struct Searched {
    pub collection: String,
    pub metric: Metric,
    /// How many vectors were searched.
    pub searched: usize,
    /// Best first.
    pub hits: Vec<Hit>,
}

impl Vectors {
    /// Searches a collection of this caller, or one shared with them.
    ///
    /// # Errors
    /// `NotFound`, `BadArgs` for a vector or filter that cannot be used, `Unavailable` while another model takes over.
    pub async fn search(&self, cx: &Cx, which: &str, search: Search) -> Result<Searched> {
        let entry = self.find(cx, which)?;
        let filter = search.filter.as_ref().map(Filter::read).transpose()?;
        if search.threshold.is_some_and(|threshold| !threshold.is_finite()) {
            return Err(Error::bad_args("the threshold is not a number"));
        }
        let entry = self.ready(entry).await?;
        let dimensions = entry.value.dimensions as usize;
        let vector = match search.vector {
            Some(vector) => {
                checked(&vector, dimensions, "the query's vector")?;
                vector
            }
            None if !entry.value.embeds => {
                let text = format!(
                    "the vectors of `{}` are made by {}, which Hob cannot run: pass `vector`, made by the same model",
                    entry.value.name, entry.value.model
                );
                return Err(Error::bad_args(text));
            }
            None => self.embed_query(&search.text).await?,
        };
        let (this, asked, most, exact) = (self.clone(), entry.clone(), search.most, search.exact);
        let threshold = search.threshold;
        let found =
            blocking(WORK, move || this.best(&asked, &Query::new(vector), filter.as_ref(), (most, exact, threshold)));
        let (searched, found) = found.await?;
        let hits = found.into_iter().map(|(score, found)| {
            cx.taint(label_for(cx, &found));
            let (metadata, vector) = (found.value.fields(), found.value.values.floats());
            Hit { id: found.value.key, score, text: found.value.text, metadata, vector }
        });
        Ok(Searched { metric: entry.value.metric, searched, hits: hits.collect(), collection: entry.value.name })
    }

    /// The best vectors with their scores, and how many there are. Blocks.
    #[allow(clippy::type_complexity)]
    pub(crate) fn best(
        &self,
        entry: &Entry<CollectionRecord>,
        query: &Query,
        filter: Option<&Filter>,
        (most, exact, threshold): (usize, bool, Option<f32>),
    ) -> Result<(usize, Vec<(f32, Entry<VectorRecord>)>)> {
        let scope = Scope::User(entry.owner);
        let metric = entry.value.metric;
        let (candidates, count) = self.pool.with(
            entry.id,
            collection_bytes(&entry.value),
            || self.load(entry),
            |index| (index.search(query, filter, most, exact), index.len()),
        )?;
        // The best so far; candidates come with the likeliest first, so the rest is soon out of reach.
        let mut best: Vec<(f32, Entry<VectorRecord>)> = vec![];
        let empty = Index::new(entry.id, metric, entry.value.dimensions as usize);
        for part in candidates.chunks(COMPARED_AT_ONCE.min(most.max(1) * 4)) {
            let reachable =
                |most_rank: f32| best.len() < most || best.last().is_none_or(|(rank, _)| most_rank >= *rank);
            let ids: Vec<Id> = part.iter().filter(|c| reachable(c.most)).map(|c| c.id).collect();
            if ids.is_empty() {
                break;
            }
            for found in self.vectors.get_all_in(scope, &ids)? {
                let vector = found.value.values.floats();
                if found.value.generation == entry.value.generation && vector.len() == entry.value.dimensions as usize {
                    best.push((empty.rank(query, &vector), found));
                }
            }
            best.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.value.key.cmp(&b.1.value.key)));
            best.truncate(most);
        }
        let scored = best.into_iter().map(|(rank, found)| {
            let score = if metric == Metric::L2 { (-rank).max(0.0).sqrt() } else { rank };
            (score, found)
        });
        let near = |score: f32| threshold.is_none_or(|t| if metric == Metric::L2 { score <= t } else { score >= t });
        Ok((count, scored.filter(|(score, _)| near(*score)).collect()))
    }

    /// Reads a collection into memory. Blocks.
    pub(crate) fn load(&self, entry: &Entry<CollectionRecord>) -> Result<Index> {
        let (scope, it) = (Scope::User(entry.owner), &entry.value);
        let mut index = Index::new(entry.id, it.metric, it.dimensions as usize);
        let mut before = None;
        loop {
            let page = self.page(scope, entry.id, before, READ_AT_ONCE)?;
            let last = page.len() < READ_AT_ONCE;
            before = page.last().map(|entry| entry.id);
            for found in page.iter().filter(|found| found.value.generation == it.generation) {
                index.put(found.id, &found.value);
            }
            // Names of fields are not counted when vectors are stored.
            if index.bytes() > LOADED {
                return Err(Error::unavailable(format!(
                    "the collection `{}` takes more than {} MB in memory, too much to search it: delete vectors, or store them \
                     again with fewer fields in their metadata",
                    it.name,
                    LOADED >> 20
                )));
            }
            if last {
                return Ok(index);
            }
        }
    }

    /// Takes the stored state of changed vectors over, if their collection is in memory.
    pub(crate) async fn apply(&self, entry: &Entry<CollectionRecord>, ids: Vec<Id>) {
        let (this, scope, collection) = (self.clone(), Scope::User(entry.owner), entry.id);
        let generation = entry.value.generation;
        let applied = blocking(WORK, move || {
            this.pool.update(collection, |index| {
                for id in &ids {
                    match this.vectors.get_in(scope, *id) {
                        Ok(Some(found)) if found.value.generation == generation => index.put(*id, &found.value),
                        Ok(_) => index.remove(*id),
                        Err(error) => {
                            tracing::warn!(%error, "a changed vector could not be read: its collection is read again");
                            return false;
                        }
                    }
                }
                true
            });
            Ok(())
        });
        if let Err(error) = applied.await {
            tracing::error!(%error, "a collection in memory could not be updated");
        }
    }
}
