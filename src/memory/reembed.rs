//! Computes the vectors that are missing: of memories stored while the model was not available, and of all after the household has
//! chosen another model.
//!
//! Each commit replaces some vectors, so that a restart continues after the last one. Meanwhile the index has only vectors of the
//! new model; the other memories are found by their words. A vector of the old model stays until its successor is stored: the
//! old model, put back, finds them.

use crate::{Memories, records::Vector};
use std::sync::PoisonError;
use tool::{Result, Scope};

/// How many memories without a vector get one in one commit.
const BACKFILLED: usize = 32;

/// How far the embedding of all memories is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Embedding {
    /// Whether the memories have been counted since the start.
    pub counted: bool,
    /// How many memories there are.
    pub total: usize,
    /// How many have no vector of the current model.
    pub missing: usize,
    /// Why the last attempt ended early.
    pub problem: Option<String>,
}

impl Memories {
    /// How far the embedding of all memories is, and why the model cannot be used.
    pub fn embedding(&self) -> Embedding {
        let embedding = self.embedding.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Embedding { problem: self.embedder.problem().or(embedding.problem.clone()), ..embedding }
    }

    /// The model that makes the vectors: its name, and whether it is the one inside the program.
    pub fn embedding_model(&self) -> (&str, bool) {
        let name = self.model.name.split_once('#').map_or(&*self.model.name, |(name, _)| name);
        (name, self.embedder.is_built_in())
    }

    /// Computes missing vectors: of memories stored without the model, or with another model. Returns their number.
    ///
    /// # Errors
    /// `Unavailable` when the model fails; `Failed` when the data cannot be read or written. The vectors until then are stored.
    pub async fn backfill_embeddings(&self) -> Result<usize> {
        let filled = self.fill().await;
        let problem = filled.as_ref().err().map(ToString::to_string);
        self.embedding.lock().unwrap_or_else(PoisonError::into_inner).problem = problem;
        filled
    }

    async fn fill(&self) -> Result<usize> {
        let (total, without) = self.index.with(|index, _| (index.len(), index.without_vector())).await?;
        self.progress(|embedding| {
            (embedding.counted, embedding.total, embedding.missing) = (true, total, without.len());
        });
        if total == 0 && !self.embedder.is_built_in() {
            // Nothing has shown yet that the model works.
            self.embedder.embed("a memory").await.map_err(|error| tool::Error::unavailable(error.to_string()))?;
        }
        let mut count = 0;
        for some in without.chunks(BACKFILLED) {
            let (mut found, mut failed) = (vec![], None);
            for (owner, id) in some {
                let entry = crate::unless_damaged(self.records.get_in(Scope::User(*owner), *id))?;
                let Some(entry) = entry else { continue };
                match self.embedder.embed_quantized(&entry.value.content).await {
                    Ok(vector) => found.push((entry, Vector::of(&vector, &self.model))),
                    // Nothing in it can be embedded: the others can.
                    Err(embed::Error::Empty | embed::Error::TooLong(_)) => {}
                    Err(error) => {
                        failed = Some(error);
                        break;
                    }
                }
            }
            count += self.add_vectors(found).await?;
            if let Some(error) = failed {
                return Err(tool::Error::unavailable(error.to_string()));
            }
            self.progress(|embedding| embedding.missing = embedding.missing.saturating_sub(some.len()));
        }
        Ok(count)
    }

    fn progress(&self, change: impl FnOnce(&mut Embedding)) {
        change(&mut self.embedding.lock().unwrap_or_else(PoisonError::into_inner));
    }
}
