//! The request to the model: messages, tools and sampling.

use super::Run;
use crate::context::{definition_of, load_media};
use llm::{Message, Request, ToolChoice, ToolDefinition};

impl Run {
    pub(super) async fn request(
        &self,
        messages: &[Message],
        tools: Vec<ToolDefinition>,
        tool_choice: ToolChoice,
    ) -> Request {
        let mut messages = messages.to_vec();
        if self.provider.reads_context() {
            load_media(&self.agent.parts.uploads, &self.cx, &mut messages).await;
        }
        let config = &self.agent.config;
        let max_tokens = Some(config.answer_tokens).filter(|most| *most > 0);
        let temperature = config.temperature.value();
        let (sampling, format) = (self.client.sampling.clone(), self.client.format.clone());
        Request { messages, tools, tool_choice, max_tokens, temperature, sampling, format, user: Some(self.cx.user()) }
    }

    /// The everyday tools and the client's. A client's tool replaces one of ours with the same name. When the client demands a
    /// call of its own tools, ours are left out.
    pub(super) fn tools(&self) -> Vec<ToolDefinition> {
        let of_client = self.client.tools.iter().cloned();
        let asked_for = match &self.tool_choice {
            ToolChoice::Required if !self.client.tools.is_empty() => return of_client.collect(),
            ToolChoice::Named { name } if self.client.has(name) => return of_client.collect(),
            ToolChoice::Named { name } if !registry::EVERYDAY.contains(&name.as_str()) => Some(name.as_str()),
            _ => None,
        };
        let shown = registry::EVERYDAY.iter().copied().chain(asked_for);
        let cx = self.cx.bounded(self.bounds(None, &self.attribution(), None));
        shown
            .filter(|name| !self.client.has(name))
            .filter_map(|name| self.agent.parts.registry.get(name))
            .filter(|t| self.agent.parts.registry.may_ever(&cx, t))
            .inspect(|t| self.cx.taint(t.label))
            .map(|t| definition_of(&t))
            .chain(of_client)
            .collect()
    }
}
