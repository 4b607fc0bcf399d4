//! Preview of the system prompt and its size.

use crate::agent::Agent;
use llm::Tools;
use persona::prompt::Prompt;
use tool::{Cx, Result};

/// The current system prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptPreview {
    /// The prompt and its sections.
    pub prompt: Prompt,
    /// Number of tools in a request.
    pub tool_count: usize,
    /// Number of instructions by people: documents, the system prompt, learned notes.
    pub instruction_count: usize,
    /// Whether it contains date and time.
    pub has_time_context: bool,
}

impl Agent {
    /// Composes the system prompt of a new conversation that begins with `message`.
    ///
    /// # Errors
    /// None so far: unreadable parts are left out and logged.
    pub async fn prompt(&self, cx: &Cx, message: &str) -> Result<PromptPreview> {
        let provider = self.provider();
        let sections = self.sections(cx, provider.as_ref(), message, true).await;
        let instruction_count = sections.instruction_count();
        let prompt = self.composed(&sections, provider.as_ref());
        let has_time_context = prompt.sections.iter().any(|section| section.name == "time" && section.shown);
        let tool_count = self.everyday_tools(cx).len();
        Ok(PromptPreview { prompt, tool_count, instruction_count, has_time_context })
    }

    /// Estimates the tokens of the first request of a conversation that begins with `message`: prompt, tools and message.
    ///
    /// # Errors
    /// As [`Agent::prompt`].
    pub async fn request_tokens(&self, cx: &Cx, message: &str) -> Result<u64> {
        let prompt = self.prompt(cx, message).await?.prompt.text;
        let tools: usize = self.everyday_tools(cx).sizes().iter().sum();
        Ok(((prompt.len() + tools + message.len()) as u64).div_ceil(4))
    }

    /// The everyday tools this caller may use.
    fn everyday_tools(&self, cx: &Cx) -> Tools {
        let registry = &self.parts.registry;
        let everyday = registry.everyday().into_iter();
        self.offer(everyday.filter(|t| t.enabled && registry.may_ever(cx, t)).collect(), None).1
    }
}
