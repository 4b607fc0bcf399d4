//! The model catalogue: context sizes, prices, abilities, quality and speed.
//!
//! A small catalogue is built in; a newer one is read at run time ([`Catalogue::read`]). Prices are estimates: the
//! provider's bill is authoritative.

mod name;
mod reading;

use crate::{Facts, Usage, presets};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, sync::Arc};
use tool::prelude::{JsonSchema, schemars};

/// The built-in catalogue.
const BUILT_IN: &str = include_str!("models.json");
/// Anthropic's price of a five-minute cache write, as a multiple of the input price.
const ANTHROPIC_CACHE_WRITE: f64 = 1.25;
/// Ollama's default context size. It silently drops the beginning of longer requests, instructions first.
const OLLAMA_CONTEXT: u32 = 4096;

/// Facts about one model.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct Model {
    /// As `provider/model`.
    pub model: String,
    /// The provider's name for it.
    pub name: String,
    /// Context size in tokens, input and output together; 0 if unknown.
    pub context: u32,
    /// Maximum output in tokens; 0 if unknown.
    pub output: u32,
    /// US dollars per million input tokens.
    pub input_price: Option<f64>,
    /// US dollars per million cached input tokens.
    pub cached_price: Option<f64>,
    /// US dollars per million input tokens written to the cache.
    #[serde(skip)]
    pub cache_write_price: Option<f64>,
    /// US dollars per million output tokens.
    pub output_price: Option<f64>,
    /// Whether it supports native tool calls.
    pub tools: bool,
    /// Whether it accepts images.
    pub images: bool,
    /// Whether it accepts audio.
    pub audio: bool,
    /// Whether it accepts files such as PDF.
    pub files: bool,
    /// Relative quality, 0 to 100.
    pub quality: Option<u8>,
    /// Relative speed, 0 to 100.
    pub speed: Option<u8>,
}

impl Model {
    /// The provider's id.
    pub fn provider(&self) -> &str {
        self.model.split_once('/').map_or("", |(provider, _)| provider)
    }

    /// Its limits and abilities.
    pub fn facts(&self) -> Facts {
        let Self { context, output, tools, images, audio, files, .. } = *self;
        Facts { context, output, tools, images, audio, files }
    }

    /// Its price.
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

/// The price of a model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Price {
    /// Free: it runs locally, or its provider charges nothing.
    Free,
    /// US dollars per million tokens.
    Known {
        /// Input.
        input: f64,
        /// Cached input.
        cached: f64,
        /// Input written to the cache.
        cache_write: f64,
        /// Output.
        output: f64,
    },
    /// Unknown; treated as not free.
    Unknown,
}

impl Price {
    /// The cost of a usage, in US dollars; `None` if the price is unknown.
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

    /// The estimated cost of so many input and output tokens, in US dollars.
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

/// All known models by `provider/model`; cheap to clone.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Catalogue {
    models: Arc<BTreeMap<String, Model>>,
    as_of: String,
}

impl Catalogue {
    /// The built-in catalogue.
    pub fn built_in() -> Self {
        // A test parses every entry; if it were broken, no model would be known and all be tried.
        reading::document(BUILT_IN.as_bytes()).map(reading::Document::alone).unwrap_or_default()
    }

    /// Merges a newer document over the built-in catalogue: Hob's own format, or models.dev's `api.json`. Invalid
    /// entries are skipped. Facts a document omits stay as they were.
    ///
    /// # Errors
    /// `BadArgs` if it has neither format, names no model of a known provider, or is larger than 8 MB.
    pub fn read(document: impl AsRef<[u8]>) -> tool::Result<Self> {
        let document = reading::document(document.as_ref())?;
        Ok(document.over(Self::built_in()))
    }

    /// Converts a document to Hob's own format without the built-in part, for storage; a later version may merge it
    /// over a newer built-in catalogue.
    ///
    /// # Errors
    /// As [`Catalogue::read`].
    pub fn compact(document: impl AsRef<[u8]>) -> tool::Result<String> {
        let document = reading::document(document.as_ref())?;
        serde_json::to_string(&document)
            .map_err(|e| tool::Error::failed(format!("the catalogue of models cannot be written down: {e}")))
    }

    /// Looks up a model by `provider/model`, ignoring dates and release suffixes.
    pub fn get(&self, model: &str) -> Option<&Model> {
        let (provider, name) = model.split_once('/')?;
        let provider = presets::preset(provider).map_or(provider, |p| p.id);
        self.by_name(provider, name).or_else(|| {
            // OpenRouter resells other vendors' models.
            let (vendor, name) = name.split_once('/').filter(|_| provider == "openrouter")?;
            self.by_name(name::vendor(vendor), name.split(':').next().unwrap_or(name))
        })
    }

    fn by_name(&self, provider: &str, name: &str) -> Option<&Model> {
        let exact = format!("{provider}/{name}");
        if let Some(found) = self.models.get(&exact) {
            return Some(found);
        }
        // Ollama's tags name size and quantization.
        let wanted = name::base(if provider == "ollama" { name.split(':').next().unwrap_or(name) } else { name });
        let of_provider = self.models.range(format!("{provider}/")..format!("{provider}0"));
        // Of several dates the last in order, the newest.
        of_provider.rev().map(|(_, model)| model).find(|model| name::base(&model.name) == wanted)
    }

    /// Known limits and abilities of a model.
    pub fn facts(&self, model: &str) -> Facts {
        match self.get(model) {
            Some(known) => known.facts(),
            None if model.starts_with("ollama/") => Facts { context: OLLAMA_CONTEXT, ..Facts::default() },
            None => Facts::default(),
        }
    }

    /// The price of a model. Local models and reflex are free.
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

    /// The cost of a usage of a model, in US dollars; `None` if its price is unknown.
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
