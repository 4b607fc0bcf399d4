//! What the model would be told now, and how much that is.

use crate::agent::Agent;
use llm::ToolDefinition;
use persona::prompt::Prompt;
use tool::{Cx, Result};

/// The system prompt as the model would be told it now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptPreview {
    /// The prompt, and what it is made of.
    pub prompt: Prompt,
    /// How many tools go with it in a request.
    pub tool_count: usize,
    /// How many instructions people wrote are in it: documents, the system prompt, learned notes.
    pub instruction_count: usize,
    /// Whether date and time are in it.
    pub has_time_context: bool,
}

impl Agent {
    /// What the model would be told now, in answer to `message`, in a conversation that begins with it.
    ///
    /// # Errors
    /// None so far: what cannot be read is left out, and logged.
    pub async fn prompt(&self, cx: &Cx, message: &str) -> Result<PromptPreview> {
        let provider = self.provider();
        let sections = self.sections(cx, provider.as_ref(), message, true).await;
        let instruction_count = sections.instruction_count();
        let prompt = self.composed(&sections, provider.as_ref());
        let has_time_context = prompt.sections.iter().any(|section| section.name == "time" && section.shown);
        let tool_count = self.everyday_tools(cx).len();
        Ok(PromptPreview { prompt, tool_count, instruction_count, has_time_context })
    }

    /// About how many tokens the first request of a conversation that begins with `message` has: prompt, tools and message.
    ///
    /// # Errors
    /// As [`Agent::prompt`].
    pub async fn request_tokens(&self, cx: &Cx, message: &str) -> Result<u64> {
        let prompt = self.prompt(cx, message).await?.prompt.text;
        let tool = |t: &ToolDefinition| t.name.len() + t.description.len() + t.parameters.to_string().len();
        let tools: usize = self.everyday_tools(cx).iter().map(tool).sum();
        Ok(((prompt.len() + tools + message.len()) as u64).div_ceil(4))
    }

    /// The tools that every request offers to this caller.
    fn everyday_tools(&self, cx: &Cx) -> Vec<ToolDefinition> {
        let registry = &self.parts.registry;
        let found = registry::EVERYDAY.iter().filter_map(|name| registry.get(name));
        let shown = found.filter(|t| t.enabled && registry.may_ever(cx, t));
        shown
            .map(|t| ToolDefinition {
                name: t.name.to_string(),
                description: t.description.to_string(),
                parameters: t.parameters.clone(),
            })
            .collect()
    }
}
