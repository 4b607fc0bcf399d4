//! When another model takes over, texts are embedded again in the background; until then their collection is not searched.

use crate::{
    Vectors, WORK,
    records::{CollectionRecord, VectorRecord, most_vectors},
    values::Values,
};
use std::{sync::PoisonError, time::Duration};
use store::Entry;
use tool::{Error, Id, Result, Scope, blocking};

/// How many vectors one commit replaces.
const AT_ONCE: usize = 32;
/// How long a call waits for a small collection.
const PATIENCE: Duration = Duration::from_secs(5);

/// Ends a pass, also one that panics.
struct Ending(Vectors, Id);

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.end(self.1);
    }
}

impl Vectors {
    /// The collection once its vectors are those of the model that embeds its texts.
    pub(crate) async fn ready(&self, entry: Entry<CollectionRecord>) -> Result<Entry<CollectionRecord>> {
        let (model, dimensions) = self.model();
        if !entry.value.embeds || (entry.value.model == model && !entry.value.behind) {
            return Ok(entry);
        }
        // Without a usable model nothing takes over, and whoever passes vectors is served; but not where a part of the stored ones is
        // of another model.
        if model.is_empty() {
            return match self.embedder.problem().filter(|_| entry.value.behind) {
                Some(problem) => Err(Error::unavailable(problem)),
                None => Ok(entry),
            };
        }
        if self.begin(entry.id) {
            let (this, was, model) = (self.clone(), entry.clone(), model.clone());
            tokio::spawn(async move {
                let _ending = Ending(this.clone(), was.id);
                let ended = this.take_over(was, model, dimensions).await;
                if let Err(error) = ended {
                    tracing::warn!(%error, "a vector collection was not embedded again");
                }
            });
        }
        let until = tokio::time::Instant::now() + PATIENCE;
        while tokio::time::Instant::now() < until {
            if self.progress(entry.id).is_none() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        let name = &entry.value.name;
        if let Some((done, of)) = self.progress(entry.id) {
            return Err(Error::unavailable(format!(
                "the texts of `{name}` are being embedded by {model}, because vectors of different models cannot be \
                 compared ({done} of {of}): try again in a while"
            )));
        }
        if let Some(problem) = self.embedder.problem() {
            return Err(Error::unavailable(problem));
        }
        let now = self.collections.get_in(Scope::User(entry.owner), entry.id)?;
        match now.filter(|now| !now.value.gone) {
            Some(now) if now.value.model == model && !now.value.behind => Ok(now),
            Some(now) => Err(Error::unavailable(format!(
                "the vectors of `{name}` are made by {}, and texts are embedded by {model} now; some of its vectors have no \
                 text to embed again, and vectors of different models cannot be compared: delete those, or start another \
                 collection",
                now.value.model
            ))),
            None => Err(Error::not_found(format!("the collection `{name}` was deleted meanwhile"))),
        }
    }

    /// Calls `each` with the vectors of a collection.
    pub(crate) fn each(
        &self,
        entry: &Entry<CollectionRecord>,
        mut each: impl FnMut(&Entry<VectorRecord>),
    ) -> Result<()> {
        let mut before = None;
        loop {
            let page = self.page(Scope::User(entry.owner), entry.id, before, 500)?;
            page.iter().for_each(&mut each);
            before = page.last().map(|entry| entry.id);
            if page.len() < 500 {
                return Ok(());
            }
        }
    }

    /// Embeds all texts again; resumes at what is left of an interrupted pass.
    async fn take_over(&self, was: Entry<CollectionRecord>, model: String, dimensions: usize) -> Result<()> {
        let (this, of) = (self.clone(), was.clone());
        let counted = blocking(WORK, move || {
            let (mut all, mut without_text) = (0, 0);
            this.each(&of, |found| {
                all += 1;
                without_text += usize::from(found.value.text.trim().is_empty());
            })?;
            Ok((all, without_text))
        });
        let (all, without_text) = counted.await?;
        if without_text > 0 || all > most_vectors(dimensions) {
            return Ok(());
        }
        // A model that fails takes nothing over: the one before may come back.
        self.embed("a text").await?;
        let scope = Scope::User(was.owner);
        let entry = if was.value.model == model {
            was
        } else {
            let (this, id) = (self.clone(), was.id);
            let written = self.collections.store().write(move |tx| {
                this.collections.change(tx, scope, tool::Label::Own, id, &mut |it| {
                    if it.model != model {
                        it.model.clone_from(&model);
                        it.dimensions = dimensions as u32;
                        it.generation += 1;
                        it.behind = true;
                    }
                    Ok(())
                })
            });
            store::without_change(written).await?
        };
        self.pool.drop_one(entry.id);
        let (mut before, mut done) = (None, 0);
        loop {
            let page = self.page(scope, entry.id, before, AT_ONCE)?;
            let last = page.len() < AT_ONCE;
            before = page.last().map(|found| found.id);
            done += page.len() as u64;
            let mut changed = vec![];
            for found in page.into_iter().filter(|found| found.value.generation < entry.value.generation) {
                let values = Values::compact(&self.embed(&found.value.text).await?.0);
                changed.push((found.id, found.value.text, values));
            }
            let (this, generation) = (self.clone(), entry.value.generation);
            let written = self.vectors.store().write(move |tx| {
                for (id, text, values) in &changed {
                    let now = this.vectors.read(tx, scope, *id)?;
                    // One that was replaced meanwhile is new already.
                    if now.is_some_and(|now| now.value.text == *text && now.value.generation < generation) {
                        this.vectors.change(tx, scope, tool::Label::Own, *id, &mut |it| {
                            (it.values, it.generation) = (values.clone(), generation);
                            Ok(())
                        })?;
                    }
                }
                Ok(())
            });
            store::without_change(written).await?;
            self.note(entry.id, done, all as u64);
            if last {
                break;
            }
        }
        let (this, id) = (self.clone(), entry.id);
        let written = self.collections.store().write(move |tx| {
            this.collections.change(tx, scope, tool::Label::Own, id, &mut |it| {
                it.behind = false;
                Ok(())
            })
        });
        store::without_change(written).await?;
        self.pool.drop_one(entry.id);
        Ok(())
    }

    fn begin(&self, collection: Id) -> bool {
        let mut all = self.reembedding.lock().unwrap_or_else(PoisonError::into_inner);
        if all.contains_key(&collection) {
            return false;
        }
        all.insert(collection, (0, 0));
        true
    }

    fn note(&self, collection: Id, done: u64, of: u64) {
        let mut all = self.reembedding.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(collection, (done, of));
    }

    fn end(&self, collection: Id) {
        self.reembedding.lock().unwrap_or_else(PoisonError::into_inner).remove(&collection);
    }

    fn progress(&self, collection: Id) -> Option<(u64, u64)> {
        self.reembedding.lock().unwrap_or_else(PoisonError::into_inner).get(&collection).copied()
    }
}
