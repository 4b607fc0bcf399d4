//! Sentence embeddings.

use futures::future::BoxFuture;
use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicBool, Ordering},
};

/// Embeds a text as a unit vector; the error is a sentence.
pub(crate) type Embed = Arc<dyn Fn(String) -> BoxFuture<'static, Result<Vec<f32>, String>> + Send + Sync>;

/// The model with its last result: a question and the approval of it embed the same text.
pub(crate) struct Meaning {
    embed: Embed,
    last: Mutex<Option<(String, Vec<f32>)>>,
    warned: AtomicBool,
}

impl Meaning {
    pub fn new(embed: Embed) -> Self {
        Self { embed, last: Mutex::default(), warned: AtomicBool::new(false) }
    }

    /// The embedding of a text; `None` if the model fails.
    pub async fn of(&self, text: &str) -> Option<Vec<f32>> {
        let known = self.last.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some((_, vector)) = known.filter(|(last, _)| last == text) {
            return Some(vector);
        }
        let answer = (self.embed)(text.to_owned()).await;
        let vector = answer.map_err(|why| self.warn(&why)).ok().filter(|v| v.iter().all(|x| x.is_finite()))?;
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some((text.to_owned(), vector.clone()));
        Some(vector)
    }

    /// Logs a failure once, not for every sentence.
    fn warn(&self, why: &str) {
        if !self.warned.swap(true, Ordering::Relaxed) {
            tracing::warn!("sentences are placed by templates and words only: {why}");
        }
    }
}
