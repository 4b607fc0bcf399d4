//! How far a run may go, how it ends there, and how long conversations are kept.

use persona::prompt::Options;
use serde::{Deserialize, Serialize};
use store::Coded;
use tool::prelude::{JsonSchema, schemars};

/// What is configured of the agent.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// How often the model may be asked in one run.
    pub max_turns: u32,
    /// How many tools it may call in one run.
    pub max_tool_calls: u32,
    /// How many messages of a conversation the model is shown at most.
    pub max_messages: usize,
    /// How many tokens of a conversation the model is shown at most (a token is taken as four characters).
    pub max_tokens: usize,
    /// Who the agent is: the first words of its instructions; Hob's own when empty.
    pub prompt: String,
    /// How many tokens one answer may have; the model's own limit when it is left out.
    pub answer_tokens: Option<u32>,
    /// How freely the model chooses its words, 0 to 2; its own when it is left out.
    pub temperature: Option<f32>,
    /// How long conversations are kept.
    pub persistence: Persistence,
    /// What the model is told before a conversation, and how much.
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
            answer_tokens: None,
            temperature: None,
            persistence: Persistence::Persistent,
            sections: Options::default(),
        }
    }
}

/// How long a conversation is kept. It holds for those that begin while it is chosen.
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

/// How a run goes: one engine, two ways.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Preset {
    /// As far as it is configured, calls side by side; at a limit it ends with an error.
    #[default]
    Agent,
    /// Ten turns, one call after the other; at the limit it ends with what was said last.
    Orchestrator,
}

impl Coded for Preset {
    const ALL: &'static [Self] = &[Preset::Agent, Preset::Orchestrator];
    const UNKNOWN: Self = Preset::Agent;
}

/// How far one run may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How often the model may be asked.
    pub turns: u32,
    /// How many tools it may call.
    pub calls: u32,
    /// Whether the calls of one turn are made side by side.
    pub parallel: bool,
    /// Whether a run that reaches its last turn ends with what was said last, and not with an error.
    pub completes: bool,
}

/// How often an orchestrator asks the model.
const ITERATIONS: u32 = 10;

impl Preset {
    /// The limits of a run, given what is configured.
    pub fn limits(self, config: &Config) -> Limits {
        let calls = config.max_tool_calls;
        match self {
            Preset::Agent => Limits { turns: config.max_turns, calls, parallel: true, completes: false },
            Preset::Orchestrator => Limits { turns: ITERATIONS, calls, parallel: false, completes: true },
        }
    }
}
