//! Layer 2: media. Pictures, sound and video are read and made by providers in the cloud, by servers in the home, or by the model that
//! answers. Each task has a chain of them (`providers.toml`); the next one is asked when one fails, but not when it refuses the
//! content.

mod anthropic;
mod api;
mod catalogue;
mod chain;
mod dashscope;
mod edge;
mod elevenlabs;
mod failure;
mod gemini;
mod job;
mod minimax;
mod openai;
mod poll;
mod suno;
#[cfg(test)]
mod tests;
mod voice_servers;
mod wav;

pub use catalogue::{ORDERS, Provider, Wire, links, providers};
pub use chain::{Done, Options};
pub use job::{Blob, Compose, Draw, Film, Job, Look, Made, MadeFile, Speak, Task, Transcribe};
pub use voice_servers::{Finder, SERVICE as VOICE_SERVICE, VoiceServers};

use futures::future::BoxFuture;
use http_client::{Guarded, ModelHttp};
use std::sync::{Arc, OnceLock};
use tokio::sync::Semaphore;
use tool::{Cx, Result, Settings};

/// How many jobs run at once: each has its files in memory. Those that take minutes do not keep the others waiting.
const AT_ONCE: usize = 2;
const LONG_AT_ONCE: usize = 2;

/// The keys of models, which serve for media too.
pub trait Keys: Send + Sync {
    /// The address and key of a provider of models.
    fn key(&self, provider: &str) -> Option<(String, String)>;
}

/// What requests cost, against the daily budget.
pub trait Costs: Send + Sync {
    /// Reserves the expected cost in US dollars until the result is dropped. A sentence where the budget is spent.
    fn reserve(&self, dollars: f64) -> BoxFuture<'static, Result<Box<dyn Send>, String>>;
    /// Counts a request of `provider/model` with its input and output tokens and its cost in US dollars; `None` where that is
    /// unknown.
    fn book(&self, model: &str, tokens: (u64, u64), cost: Option<f64>);
}

/// The model that answers in chats.
pub trait ChatModel: Send + Sync {
    /// Whether it is there and sees pictures.
    fn sees(&self) -> bool;
    /// Its answer to a question about pictures, and its name.
    fn look(&self, cx: Cx, look: Look) -> BoxFuture<'static, Result<(String, String)>>;
}

/// The parts that others provide.
pub struct Deps {
    pub keys: Arc<dyn Keys>,
    pub costs: Arc<dyn Costs>,
    pub voices: VoiceServers,
}

/// The providers; cheap to clone.
#[derive(Clone)]
pub struct Media(Arc<Inner>);

struct Inner {
    http: ModelHttp,
    /// For a service whose address no person entered.
    web: Guarded,
    deps: Deps,
    model: OnceLock<Arc<dyn ChatModel>>,
    turns: Semaphore,
    long_turns: Semaphore,
}

/// Where and how a provider is reached.
#[derive(Clone)]
pub(crate) struct Endpoint {
    pub provider: &'static Provider,
    pub url: String,
    pub key: Option<String>,
}

impl Media {
    pub fn new(deps: Deps) -> Self {
        let (turns, long_turns) = (Semaphore::new(AT_ONCE), Semaphore::new(LONG_AT_ONCE));
        let (http, web, model) = (ModelHttp::default(), Guarded::default(), OnceLock::new());
        Self(Arc::new(Inner { http, web, deps, model, turns, long_turns }))
    }

    /// Sets the model that answers in chats, which exists later than this.
    pub fn set_model(&self, model: Arc<dyn ChatModel>) {
        let _ = self.0.model.set(model);
    }

    /// Whether something turns speech into text, and text into speech.
    pub async fn offers(&self, settings: &dyn Settings) -> (bool, bool) {
        let (hears, speaks) = self.0.deps.voices.offers(settings).await;
        let by_key = |task| {
            let chain = catalogue::chain(task, settings).unwrap_or_default();
            let mut set_up = chain.iter().filter_map(|link| self.endpoint(settings, &link.provider));
            set_up.any(|endpoint| endpoint.provider.is_service())
        };
        (hears || by_key(Task::Transcription), speaks || by_key(Task::Speech))
    }

    /// The address and key of a provider, where it is set up: by its own service, else by the key of models.
    /// One without a key is set up where an admin has switched it on.
    fn endpoint(&self, settings: &dyn Settings, id: &str) -> Option<Endpoint> {
        let provider = catalogue::provider(id)?;
        match provider.wire {
            Wire::Model => {
                let sees = self.0.model.get().is_some_and(|model| model.sees());
                return sees.then(|| Endpoint { provider, url: String::new(), key: None });
            }
            Wire::Wyoming => return Some(Endpoint { provider, url: String::new(), key: None }),
            _ => {}
        }
        let entry = settings.entry(id, None).unwrap_or_default();
        let text = |field: &str| {
            let value = entry.get(field).and_then(serde_json::Value::as_str).map(str::trim);
            value.filter(|value| !value.is_empty()).map(str::to_owned)
        };
        let (key, url) = (text("api_key"), text("base_url"));
        if provider.keyless {
            let is_on = entry.get("enabled").and_then(serde_json::Value::as_bool) == Some(true);
            let url = url.unwrap_or_else(|| provider.url.clone());
            return is_on.then_some(Endpoint { provider, url, key: None });
        }
        if key.is_some() || url.is_some() {
            let url = url.unwrap_or_else(|| provider.url.clone());
            return (!url.is_empty()).then_some(Endpoint { provider, url, key });
        }
        let (url, key) = self.0.deps.keys.key(&provider.models).filter(|_| !provider.models.is_empty())?;
        let url = if url.is_empty() { provider.url.clone() } else { url };
        Some(Endpoint { provider, url, key: Some(key) })
    }
}
