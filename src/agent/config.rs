//! Configuration: limits of runs, presets, and how long conversations are stored.

use persona::{AgentType, prompt::Options};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use store::Coded;
use tool::prelude::{JsonSchema, schemars};

/// The agent's configuration.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Maximum number of model turns in a run.
    pub max_turns: u32,
    /// Maximum number of tool calls in a run.
    pub max_tool_calls: u32,
    /// Maximum number of messages of a conversation in a request.
    pub max_messages: usize,
    /// Maximum number of tokens of a conversation in a request (four characters count as a token).
    pub max_tokens: usize,
    /// The beginning of the system prompt; Hob's own when empty.
    pub prompt: String,
    /// Maximum number of tokens in an answer; 0 is the model's own limit.
    pub answer_tokens: u32,
    /// The sampling temperature.
    pub temperature: Temperature,
    /// How long conversations are stored.
    pub persistence: Persistence,
    /// The owners of the agent's context files.
    #[serde(rename = "type")]
    pub kind: AgentType,
    /// Sections of the system prompt and their limits.
    pub sections: Options,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            max_turns: 50,
            max_tool_calls: 200,
            max_messages: 100,
            max_tokens: 100_000,
            prompt: String::new(),
            answer_tokens: 0,
            temperature: Temperature::Auto,
            persistence: Persistence::Persistent,
            kind: AgentType::default(),
            sections: Options::default(),
        }
    }
}

/// The sampling temperature: `"auto"` in the file, or a number.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Temperature {
    /// The model's default.
    #[default]
    Auto,
    /// 0 to 2.
    Fixed(f32),
}

impl Temperature {
    /// Highest temperature that models accept.
    const HIGHEST: f32 = 2.0;

    /// The value for a request.
    pub fn value(self) -> Option<f32> {
        match self {
            Temperature::Auto => None,
            Temperature::Fixed(temperature) => Some(temperature),
        }
    }
}

impl Serialize for Temperature {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Temperature::Auto => serializer.serialize_str("auto"),
            Temperature::Fixed(temperature) => serializer.serialize_f32(*temperature),
        }
    }
}

impl<'de> Deserialize<'de> for Temperature {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = Temperature;
            fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
                f.write_str("\"auto\" or a number from 0 to 2")
            }
            fn visit_str<E: de::Error>(self, word: &str) -> Result<Temperature, E> {
                let wrong = || E::invalid_value(de::Unexpected::Str(word), &self);
                (word == "auto").then_some(Temperature::Auto).ok_or_else(wrong)
            }
            fn visit_f64<E: de::Error>(self, number: f64) -> Result<Temperature, E> {
                let good = (0.0..=f64::from(Temperature::HIGHEST)).contains(&number);
                let wrong = || E::invalid_value(de::Unexpected::Float(number), &self);
                good.then_some(Temperature::Fixed(number as f32)).ok_or_else(wrong)
            }
            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Temperature, E> {
                self.visit_f64(number as f64)
            }
            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Temperature, E> {
                self.visit_f64(number as f64)
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

/// How long a conversation is stored. Applies to conversations that begin while it is configured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Persistence {
    /// Until somebody deletes it.
    #[default]
    Persistent,
    /// Until Hob starts again.
    Session,
    /// Until its run has ended.
    None,
}

impl Coded for Persistence {
    const ALL: &'static [Self] = &[Persistence::Persistent, Persistence::Session, Persistence::None];
    const UNKNOWN: Self = Persistence::Persistent;
}

/// The limits of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Preset {
    /// Configured limits and parallel calls; ends with an error at a limit.
    #[default]
    Agent,
    /// Ten turns and sequential calls; ends with the last text at the limit.
    Orchestrator,
}

impl Coded for Preset {
    const ALL: &'static [Self] = &[Preset::Agent, Preset::Orchestrator];
    const UNKNOWN: Self = Preset::Agent;
}

/// The limits of one run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of model turns.
    pub turns: u32,
    /// Maximum number of tool calls.
    pub calls: u32,
    /// Whether the calls of a turn are made in parallel.
    pub parallel: bool,
    /// Whether a run that reaches its last turn ends with the last text instead of an error.
    pub completes: bool,
}

/// Number of turns of an orchestrator.
const ORCHESTRATOR_TURNS: u32 = 10;

impl Preset {
    /// The limits of a run with this configuration.
    pub fn limits(self, config: &Config) -> Limits {
        let calls = config.max_tool_calls;
        match self {
            Preset::Agent => Limits { turns: config.max_turns, calls, parallel: true, completes: false },
            Preset::Orchestrator => Limits { turns: ORCHESTRATOR_TURNS, calls, parallel: false, completes: true },
        }
    }
}
