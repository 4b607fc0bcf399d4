//! What is known of models: what they read and cost, how good and how fast they are.
//!
//! A small catalogue is in the binary; a newer one is read at run time ([`Catalogue::read`]). Prices are estimates: a
//! provider changes them when it likes, and bills what it bills.

mod name;
mod reading;

use crate::{Facts, Usage, presets};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, sync::Arc};
use tool::prelude::{JsonSchema, schemars};

/// The catalogue in the binary.
const BUILT_IN: &str = include_str!("models.json");
/// What Anthropic takes for a token it keeps for five minutes, as a multiple of one it reads.
const ANTHROPIC_CACHE_WRITE: f64 = 1.25;
/// What Ollama reads of a conversation unless it was told otherwise. It drops the beginning of what is longer, instructions
/// first, without a word.
const OLLAMA_CONTEXT: u32 = 4096;

/// What is known of one model.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct Model {
    /// As `provider/model`.
    pub model: String,
    /// As its provider calls it.
    pub name: String,
    /// How many tokens it reads and writes in all; 0 is not known.
    pub context: u32,
    /// How many tokens one answer may have; 0 is not known.
    pub output: u32,
    /// US dollars for a million tokens read.
    pub input_price: Option<f64>,
    /// US dollars for a million tokens read from the provider's cache.
    pub cached_price: Option<f64>,
    /// US dollars for a million tokens read and written to the provider's cache.
    #[serde(skip)]
    pub cache_write_price: Option<f64>,
    /// US dollars for a million tokens written.
    pub output_price: Option<f64>,
    /// Whether it calls tools in its provider's format.
    pub tools: bool,
    /// Whether it sees pictures.
    pub images: bool,
    /// Whether it hears sound.
    pub audio: bool,
    /// Whether it reads files such as PDF.
    pub files: bool,
    /// How good its answers are beside those of others: 0 to 100.
    pub quality: Option<u8>,
    /// How soon and fast it answers beside others: 0 to 100.
    pub speed: Option<u8>,
}

impl Model {
    /// The provider's id.
    pub fn provider(&self) -> &str {
        self.model.split_once('/').map_or("", |(provider, _)| provider)
    }

    /// What it reads and does.
    pub fn facts(&self) -> Facts {
        let Self { context, output, tools, images, audio, files, .. } = *self;
        Facts { context, output, tools, images, audio, files }
    }

    /// What it costs.
    pub fn price(&self) -> Price {
        match (self.input_price, self.output_price) {
            (Some(0.0), Some(0.0)) => Price::Free,
            (Some(input), Some(output)) => {
                let usual = if self.provider() == "anthropic" { input * ANTHROPIC_CACHE_WRITE } else { input };
                let (cached, cache_write) =
                    (self.cached_price.unwrap_or(input), self.cache_write_price.unwrap_or(usual));
                Price::Known { input, cached, cache_write, output }
            }
            _ => Price::Unknown,
        }
    }
}

/// What a model costs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Price {
    /// Nothing: it runs at home, or its provider gives it away.
    Free,
    /// US dollars for a million tokens.
    Known {
        /// Read.
        input: f64,
        /// Read from the provider's cache.
        cached: f64,
        /// Read and written to the provider's cache.
        cache_write: f64,
        /// Written.
        output: f64,
    },
    /// Nobody said; it counts as costing something.
    Unknown,
}

impl Price {
    /// What so many tokens cost, in US dollars; `None` where nobody knows.
    pub fn cost(&self, usage: &Usage) -> Option<f64> {
        match *self {
            Price::Free => Some(0.0),
            Price::Known { input, cached, cache_write, output } => {
                let from_cache = usage.cached_tokens.min(usage.prompt_tokens);
                let to_cache = usage.written_to_cache.min(usage.prompt_tokens - from_cache);
                let plain = usage.prompt_tokens - from_cache - to_cache;
                let read = plain as f64 * input + from_cache as f64 * cached + to_cache as f64 * cache_write;
                Some((read + usage.completion_tokens as f64 * output) / 1e6)
            }
            Price::Unknown => None,
        }
    }

    /// What it would cost to read and write so many tokens, in US dollars.
    pub fn estimate(&self, input: u64, output: u64) -> Option<f64> {
        let total = input.saturating_add(output);
        self.cost(&Usage {
            prompt_tokens: input,
            completion_tokens: output,
            total_tokens: total,
            cached_tokens: 0,
            micros: None,
            written_to_cache: 0,
        })
    }
}

/// All models something is known of, by `provider/model`; cheap to clone.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Catalogue {
    models: Arc<BTreeMap<String, Model>>,
    as_of: String,
}

impl Catalogue {
    /// The one in the binary.
    pub fn built_in() -> Self {
        // A test reads every line of it; were it broken all the same, nothing would be known and all be tried.
        reading::document(BUILT_IN.as_bytes()).map(reading::Document::alone).unwrap_or_default()
    }

    /// A newer one over the one in the binary: a document of Hob's own form, or of models.dev's (`api.json`). Entries that
    /// make no sense are left out. What the document does not say of a model stays as it was.
    ///
    /// # Errors
    /// `BadArgs` when it is no such document, has no model in it that Hob could ask, or is larger than 8 MB.
    pub fn read(document: impl AsRef<[u8]>) -> tool::Result<Self> {
        let document = reading::document(document.as_ref())?;
        Ok(document.over(Self::built_in()))
    }

    /// What a document says in Hob's own form, without what is in the binary: to be kept, and read again by a Hob that may
    /// know more.
    ///
    /// # Errors
    /// As [`Catalogue::read`].
    pub fn compact(document: impl AsRef<[u8]>) -> tool::Result<String> {
        let document = reading::document(document.as_ref())?;
        serde_json::to_string(&document)
            .map_err(|e| tool::Error::failed(format!("the catalogue of models cannot be written down: {e}")))
    }

    /// What is known of a model by its name, `provider/model`; dates and the like at its end are looked past.
    pub fn get(&self, model: &str) -> Option<&Model> {
        let (provider, name) = model.split_once('/')?;
        let provider = presets::preset(provider).map_or(provider, |p| p.id);
        self.by_name(provider, name).or_else(|| {
            // OpenRouter hands on what others make.
            let (vendor, name) = name.split_once('/').filter(|_| provider == "openrouter")?;
            self.by_name(name::vendor(vendor), name.split(':').next().unwrap_or(name))
        })
    }

    fn by_name(&self, provider: &str, name: &str) -> Option<&Model> {
        let exact = format!("{provider}/{name}");
        if let Some(found) = self.models.get(&exact) {
            return Some(found);
        }
        // Ollama's tags say which size and packing of a model.
        let wanted = name::base(if provider == "ollama" { name.split(':').next().unwrap_or(name) } else { name });
        let of_provider = self.models.range(format!("{provider}/")..format!("{provider}0"));
        // Of several dates the last in order, which is the newest.
        of_provider.rev().map(|(_, model)| model).find(|model| name::base(&model.name) == wanted)
    }

    /// What a model reads and does, as far as that is known.
    pub fn facts(&self, model: &str) -> Facts {
        match self.get(model) {
            Some(known) => known.facts(),
            None if model.starts_with("ollama/") => Facts { context: OLLAMA_CONTEXT, ..Facts::default() },
            None => Facts::default(),
        }
    }

    /// What a model costs. One that runs at home costs nothing, and neither does reflex.
    pub fn price(&self, model: &str) -> Price {
        if model == "reflex" || (model.starts_with("openrouter/") && model.ends_with(":free")) {
            return Price::Free;
        }
        let at_home = || presets::preset(model.split('/').next().unwrap_or_default()).is_some_and(|p| p.local);
        match self.get(model).map(Model::price) {
            Some(known @ (Price::Known { .. } | Price::Free)) => known,
            _ if at_home() => Price::Free,
            _ => Price::Unknown,
        }
    }

    /// What a use of a model cost, in US dollars; `None` where its price is not known.
    pub fn cost(&self, model: &str, usage: &Usage) -> Option<f64> {
        self.price(model).cost(usage)
    }

    /// All models, by provider and name.
    pub fn all(&self) -> impl ExactSizeIterator<Item = &Model> {
        self.models.values()
    }
}

#[cfg(test)]
mod tests;
