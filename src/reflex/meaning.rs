//! Sentence embeddings.

use futures::future::BoxFuture;
use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicBool, Ordering},
};

/// Embeds a text as a unit vector; the error is a sentence.
pub(crate) type Embed = Arc<dyn Fn(String) -> BoxFuture<'static, Result<Vec<f32>, String>> + Send + Sync>;

/// The probabilities of a sentence's intents by their names; the error is a sentence.
pub(crate) type Intents =
    Arc<dyn Fn(String) -> BoxFuture<'static, Result<Vec<(&'static str, f32)>, String>> + Send + Sync>;

/// The model with its last result: a question and the approval of it embed the same text.
pub(crate) struct Meaning {
    embed: Embed,
    intents: Option<Intents>,
    last: Mutex<Option<(String, Vec<f32>)>>,
    warned: AtomicBool,
}

impl Meaning {
    pub fn new(embed: Embed) -> Self {
        Self { embed, intents: None, last: Mutex::default(), warned: AtomicBool::new(false) }
    }

    /// The model of this program.
    pub fn of_model(embedder: embed::Embedder) -> Self {
        let of_intents = embedder.clone();
        let embed: Embed = Arc::new(move |text| {
            let embedder = embedder.clone();
            Box::pin(async move { embedder.embed(&text).await.map_err(|e| e.to_string()) })
        });
        let names: Arc<[&'static str]> = embed::intent_names().into();
        let intents: Intents = Arc::new(move |text| {
            let (embedder, names) = (of_intents.clone(), names.clone());
            Box::pin(async move {
                let shares = embedder.intents(&text).await.map_err(|e| e.to_string())?;
                Ok(names.iter().copied().zip(shares).collect())
            })
        });
        Self { intents: Some(intents), ..Self::new(embed) }
    }

    /// The probabilities of a sentence's intents; `None` without the model.
    pub async fn intents(&self, text: &str) -> Option<Vec<(&'static str, f32)>> {
        let answer = (self.intents.as_ref()?)(text.to_owned()).await;
        answer.map_err(|why| self.warn(&why)).ok().filter(|all| all.iter().all(|(_, share)| share.is_finite()))
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
