//! Tests of a provider: its list of models, a real answer, and the model to begin with.

use crate::{
    Models,
    endpoints::{normalize_patch, unknown_provider},
    views::{ProviderPatch, ProviderTest, ProviderTrial},
};
use futures::StreamExt;
use llm::{Delta, Endpoint, Message, Metered, Patience, Preset, Problem, Provider, Request};
use std::{cmp::Ordering, time::Duration};
use tool::{Error, Result};

/// The question of a test: the answer may be anything.
const QUESTION: &str = "Say hello in one word.";
/// The longest answer to it, in tokens; models that reason need some before their first word.
const ANSWER: u32 = 256;
/// A server of one's own may have to load the model first.
const PATIENCE: Patience =
    Patience { first_byte: Duration::from_secs(60), idle: Duration::from_secs(30), overall: Duration::from_secs(90) };
/// Parts of the names of models that do not chat.
const NO_CHAT: [&str; 15] = [
    "embed",
    "bge-",
    "rerank",
    "whisper",
    "tts",
    "dall-e",
    "image",
    "audio",
    "realtime",
    "moderation",
    "guard",
    "ocr",
    "transcribe",
    "search",
    "sora",
];
/// Families of open models that call tools well, the best first.
const OPEN_MODELS: [&str; 8] = ["qwen3", "gpt-oss", "gemma-4", "gemma4", "mistral", "llama3", "llama-3", "qwen"];

impl Models {
    /// Asks a provider for its models, as if the trial's address and key were stored; with `model` also for an answer.
    ///
    /// # Errors
    /// `NotFound` for an unknown provider, `BadArgs` for values that cannot be used.
    pub async fn test_provider(&self, id: &str, trial: ProviderTrial) -> Result<ProviderTest> {
        let preset = llm::preset(id).ok_or_else(|| Error::not_found(unknown_provider(id).message().to_owned()))?;
        let ProviderTrial { url, key, model } = trial;
        let mut patch = ProviderPatch { url, key };
        normalize_patch(&mut patch)?;
        // Any name works: the model is not asked for the list.
        let endpoint = self.endpoint(&format!("{}/any", preset.id), &patch)?;
        if endpoint.key.is_none() && preset.needs_key {
            let message = format!("{} answers nobody without a key. {}", preset.name, preset.key_hint);
            return Ok(ProviderTest { message, problem: Some(Problem::Key), ..ProviderTest::default() });
        }
        let models = match llm::models_of(&endpoint).await {
            Ok(models) => models,
            // Some servers have no list.
            Err(error) if model.is_some() && Problem::of(&error) == Problem::Refused => vec![],
            Err(error) => return Ok(failed(vec![], &error)),
        };
        let suggested = self.suggest(preset, &models);
        let Some(asked) = model else {
            let message = match models.len() {
                0 => format!("{} answers, and offers no models.", preset.name),
                1 => format!("{} answers, and offers one model.", preset.name),
                n => format!("{} answers, and offers {n} models.", preset.name),
            };
            return Ok(ProviderTest { ok: true, models, message, suggested, ..ProviderTest::default() });
        };
        let Some(name) = Some(asked.trim().to_owned()).filter(|name| !name.is_empty()).or(suggested.clone()) else {
            let message = format!("{} answers, and offers no models: load one there first.", preset.name);
            return Ok(ProviderTest { message, problem: Some(Problem::Refused), models, ..ProviderTest::default() });
        };
        let model = format!("{}/{name}", preset.id);
        let endpoint = self.endpoint(&model, &patch)?;
        Ok(match self.answers(&model, endpoint).await {
            Ok(()) => {
                let message = format!("{} answers with {name}.", preset.name);
                ProviderTest { ok: true, models, message, suggested, answered: Some(name), problem: None }
            }
            Err(error) => ProviderTest { suggested, ..failed(models, &error) },
        })
    }

    /// Waits for the first word of a model. It counts as any other request, in the budget too.
    async fn answers(&self, model: &str, endpoint: Endpoint) -> Result<(), llm::Error> {
        let price = self.price_at(model, &endpoint);
        let endpoint = Endpoint { retries: 0, patience: PATIENCE, ..endpoint };
        let provider = Metered::new(llm::connect(endpoint), self.0.deps.ledger.clone(), price);
        let messages = vec![Message::user(QUESTION)].into();
        let mut answer = provider.stream(Request { messages, max_tokens: Some(ANSWER), ..Request::default() });
        while let Some(delta) = answer.next().await {
            match delta? {
                Delta::Text(text) | Delta::Thinking(text) if !text.is_empty() => break,
                _ => {}
            }
        }
        Ok(())
    }

    /// The model to begin with: the provider's default, else the best balance of what is offered and known.
    pub(crate) fn suggest(&self, preset: &Preset, offered: &[String]) -> Option<String> {
        let usual = preset.default_model;
        if !usual.is_empty() && (offered.is_empty() || offered.iter().any(|name| name == usual)) {
            return Some(usual.to_owned());
        }
        let catalogue = self.catalogue();
        let is_offered = |name: &str| offered.is_empty() || offered.iter().any(|one| one == name);
        let known = catalogue.all().filter(|m| m.provider() == preset.id && m.tools && is_offered(&m.name));
        let best = known.max_by(|a, b| worth(a).partial_cmp(&worth(b)).unwrap_or(Ordering::Equal));
        best.map(|model| model.name.clone()).or_else(|| open_model(offered))
    }
}

fn failed(models: Vec<String>, error: &llm::Error) -> ProviderTest {
    let problem = Some(Problem::of(error));
    ProviderTest { models, message: error.to_string(), problem, ..ProviderTest::default() }
}

/// Quality first, as long as a household can afford it.
fn worth(model: &llm::Model) -> f64 {
    // An answer of a hundredth of a dollar, about 10,000 tokens in and 500 out, halves the second part.
    let cost = (model.input_price.unwrap_or(5.0) * 10_000.0 + model.output_price.unwrap_or(15.0) * 500.0) / 1e6;
    0.5 * f64::from(model.quality.unwrap_or(50)) + 50.0 * 0.01 / (0.01 + cost)
}

/// The first of the families that is offered, else the first model that chats.
fn open_model(offered: &[String]) -> Option<String> {
    let chats = |name: &&String| !NO_CHAT.iter().any(|part| name.to_lowercase().contains(part));
    let rank = |name: &&String| {
        let name = name.to_lowercase();
        OPEN_MODELS.iter().position(|family| name.contains(family)).unwrap_or(OPEN_MODELS.len())
    };
    offered.iter().filter(chats).min_by_key(rank).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_open_model_that_chats_and_calls_tools_is_suggested() {
        for (offered, expected) in [
            (vec!["nomic-embed-text:latest", "llama3.2:3b", "qwen3:8b"], Some("qwen3:8b")),
            (vec!["phi4:14b", "bge-m3"], Some("phi4:14b")),
            (vec!["whisper-large"], None),
            (vec![], None),
        ] {
            let offered: Vec<String> = offered.into_iter().map(str::to_owned).collect();
            assert_eq!(open_model(&offered).as_deref(), expected, "{offered:?}");
        }
    }
}
