//! The section `[model]` of hob.toml.

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Every key is documented in `hob.toml`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    pub name: String,
    pub url: String,
    pub fallback: Fallback,
    pub strategy: llm::Strategy,
    pub prefer_reflex: bool,
    pub daily_budget: f64,
    pub context: u32,
    pub max_tokens: u32,
    pub retries: u32,
    pub retry_delay_ms: u64,
    pub first_word_seconds: u64,
    pub silence_seconds: u64,
    pub answer_seconds: u64,
    pub recheck_seconds: u64,
    pub reads_memories: MemoryReading,
}

/// Which models read new memories in the background, for the knowledge graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MemoryReading {
    /// Those on this device or in the local network.
    #[default]
    SelfHosted,
    Always,
    Never,
}

/// The models that answer when the first one does not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, expecting = "`fallback` is \"auto\" or a list of models, each as provider/model")]
pub enum Fallback {
    /// Those whose keys are in the environment.
    Auto(Auto),
    /// These; none when the list is empty.
    Models(Vec<String>),
}

/// The word `auto`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Auto {
    Auto,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            name: String::new(),
            url: String::new(),
            fallback: Fallback::Auto(Auto::Auto),
            // A person who names a model means that one.
            strategy: llm::Strategy::Fallback,
            prefer_reflex: false,
            daily_budget: 0.0,
            context: 0,
            max_tokens: 0,
            retries: 3,
            retry_delay_ms: 1000,
            first_word_seconds: 120,
            silence_seconds: 60,
            answer_seconds: 300,
            recheck_seconds: 60,
            reads_memories: MemoryReading::default(),
        }
    }
}

impl Config {
    /// Checks what the types cannot express.
    ///
    /// # Errors
    /// `BadArgs` for a budget that is no amount.
    pub fn check(&self) -> tool::Result<()> {
        if self.daily_budget < 0.0 || !self.daily_budget.is_finite() {
            return Err(tool::Error::bad_args(
                "`model.daily_budget` is not an amount: give US dollars, or 0 for no limit",
            ));
        }
        Ok(())
    }

    /// The timeouts of a request.
    pub(crate) fn patience(&self) -> llm::Patience {
        let seconds = Duration::from_secs;
        llm::Patience {
            first_byte: seconds(self.first_word_seconds),
            idle: seconds(self.silence_seconds),
            overall: seconds(self.answer_seconds),
        }
    }

    /// The first pause before a model that does not answer is looked at again.
    pub(crate) fn recheck(&self) -> Duration {
        Duration::from_secs(self.recheck_seconds.max(1))
    }

    /// The first pause before a retry.
    pub(crate) fn retry_delay(&self) -> Duration {
        Duration::from_millis(self.retry_delay_ms)
    }
}
