//! Layer 3: tools that run programs in the process sandbox: shell commands and code, and sessions for those that go on.
//!
//! ```text
//! exec, code, packages ─┬─▶ program (files, limits, marks) ─▶ process_sandbox ◀─ git (over one repository)
//!                       └─▶ sessions (what goes on after its call)
//! credentialed, cli_tools, coding ─▶ program, with what Hob gives (given) and a gate to some hosts (gate)
//! deny, destroys ─▶ words: what a command would do, judged by its words before it runs
//! ```

mod args;
mod cli_tools;
mod code;
mod coding;
mod credentialed;
mod deny;
mod destroys;
mod exec;
mod gate;
mod git;
mod given;
mod languages;
mod output;
mod packages;
mod program;
mod registry;
mod result;
mod sessions;
mod verify;
mod words;

pub use self::{
    cli_tools::{CliToolSettings, CliToolView, CliTools, RiskLevel, ToolPolicy, cli_tools},
    code::code,
    coding::{AgentSettings, AgentSettingsView, CodingAgentView, CodingAgents, coding_agents},
    credentialed::{BinarySettings, BinaryView, Credentialed, Files, Preset, credentialed},
    deny::check as check_command,
    exec::{commands, would_destroy},
    git::family as git,
    program::{Details, Program, Ran},
    result::{Form, answer},
    sessions::{Part, Session, Sessions, Status},
};

use process_sandbox::{Gate, Limits, ProcessSandbox};
use scrub::Scrubber;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use tokio::sync::Semaphore;
use workspace::Workspaces;

/// How many programs run at once whose calls wait for them; others wait for their turn.
const AT_ONCE: usize = 12;

/// The section `[workshop]` of hob.toml.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The engine of JavaScript.
    pub javascript: JavaScript,
    /// How much memory a program may use, in MB.
    pub memory_mb: u64,
    /// Further folders that programs see, read-only, such as one with a compiler.
    pub folders: Vec<String>,
}

impl Default for Config {
    fn default() -> Self {
        Self { javascript: JavaScript::Sandbox, memory_mb: 512, folders: vec![] }
    }
}

impl Config {
    /// Checks what types cannot express.
    ///
    /// # Errors
    /// With what is wrong and how to write it.
    pub fn check(&self) -> Result<(), String> {
        if !(32..=1 << 20).contains(&self.memory_mb) {
            return Err("`workshop.memory_mb` is no size for a program: use 32 or more".into());
        }
        match self.folders.iter().find(|folder| !folder.starts_with('/')) {
            Some(folder) => {
                Err(format!("`workshop.folders`: `{folder}` is no absolute path: write it as /opt/compiler"))
            }
            None => Ok(()),
        }
    }
}

/// The engine of JavaScript.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum JavaScript {
    /// The interpreter that runs custom tools, without files and network.
    Sandbox,
    /// Node, with the files of the workspace.
    Node,
}

/// The state of the tools. Cheap to clone.
#[derive(Clone)]
pub struct Workshop {
    /// Runs programs.
    pub sandbox: ProcessSandbox,
    /// The files that they see.
    pub workspaces: Workspaces,
    /// Programs that go on after their call.
    pub sessions: Sessions,
    /// How programs with network access reach it.
    pub gate: Arc<dyn Gate>,
    /// Removes secrets from what programs print.
    pub scrubber: Scrubber,
    /// Runs JavaScript without a program.
    pub javascript: sandbox::Sandbox,
    /// The section of hob.toml.
    pub config: Config,
    turns: Arc<Semaphore>,
    registries: registry::Registries,
}

impl Workshop {
    /// The state over its parts.
    pub fn new(
        sandbox: ProcessSandbox,
        workspaces: Workspaces,
        sessions: Sessions,
        gate: Arc<dyn Gate>,
        scrubber: Scrubber,
        javascript: sandbox::Sandbox,
        config: Config,
    ) -> Self {
        let turns = Arc::new(Semaphore::new(AT_ONCE));
        Self {
            sandbox,
            workspaces,
            sessions,
            gate,
            scrubber,
            javascript,
            config,
            turns,
            registries: Default::default(),
        }
    }

    /// The limits of a program, where its tool sets no others.
    pub fn limits(&self) -> Limits {
        Limits { memory: self.config.memory_mb << 20, ..Limits::default() }
    }
}
