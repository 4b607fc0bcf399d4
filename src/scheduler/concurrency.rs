//! How many calls are made at once: prompts, which take minutes, are counted apart, so that no reminder waits for them.

use std::sync::Arc;
use tokio::sync::Semaphore;

/// How many calls are made at once, besides prompts.
const CALLS: usize = 12;
/// How many prompts are answered at once.
const PROMPTS: usize = 4;
/// The tool a prompt is given to.
pub(crate) const PROMPT: &str = "run_prompt";

/// The turns there are.
pub(crate) struct Turns {
    calls: Arc<Semaphore>,
    prompts: Arc<Semaphore>,
}

impl Default for Turns {
    fn default() -> Self {
        Self { calls: Arc::new(Semaphore::new(CALLS)), prompts: Arc::new(Semaphore::new(PROMPTS)) }
    }
}

impl Turns {
    /// Those for calls of this tool.
    pub fn of(&self, tool: &str) -> &Arc<Semaphore> {
        if tool == PROMPT { &self.prompts } else { &self.calls }
    }

    /// How many are free.
    pub fn free(&self) -> Free {
        Free { calls: self.calls.available_permits(), prompts: self.prompts.available_permits() }
    }
}

/// How many turns are free.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Free {
    calls: usize,
    prompts: usize,
}

impl Free {
    /// Of those for calls of this tool.
    pub fn of(&mut self, tool: &str) -> &mut usize {
        if tool == PROMPT { &mut self.prompts } else { &mut self.calls }
    }
}
