//! The request to the model: messages, tools and sampling.

use super::Run;
use crate::context::{has_media, load_media};
use llm::{Messages, Request, ToolChoice, Tools};
use std::sync::Arc;
use tool::Tool;

impl Run {
    pub(super) async fn request(&self, mut messages: Messages, tools: Tools, tool_choice: ToolChoice) -> Request {
        if self.provider.reads_context() && has_media(&messages) {
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
    pub(super) fn tools(&self) -> Tools {
        let (of_client, registry) = (self.client.tools.iter().cloned(), &self.agent.parts.registry);
        let asked_for = match &self.tool_choice {
            ToolChoice::Required if !self.client.tools.is_empty() => return of_client.collect(),
            ToolChoice::Named { name } if self.client.has(name) => return of_client.collect(),
            ToolChoice::Named { name } => registry.get(name),
            _ => None,
        };
        let cx = self.cx.bounded(self.bounds(None, &self.attribution(), None));
        let may_offer = |t: &Arc<Tool>| !self.client.has(&t.name) && registry.may_ever(&cx, t);
        let candidates = registry.everyday().into_iter().filter(may_offer).collect();
        let (offered, tools) = self.agent.offer(candidates, asked_for.filter(may_offer));
        offered.iter().for_each(|t| self.cx.taint(t.label));
        if self.client.tools.is_empty() { tools } else { tools.with(of_client) }
    }
}
