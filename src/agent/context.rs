//! The context of a model in a run: the system prompt, and the part of the conversation that fits.

mod compact;
mod media;
mod one_answer;
mod preview;
mod prompt;
mod topics;
mod window;

pub use compact::Compacted;
pub(crate) use media::{has_media, load_media, store_media, store_model_media};
pub use preview::PromptPreview;
pub(crate) use window::{cost, fit};

use crate::agent::Agent;
use compact::compact_history;
use llm::{Message, Provider, Usage};
use persona::prompt::ConversationState;
use tool::{Cx, Id};
use window::window;

/// Tokens reserved for the answer when a model does not declare its limit.
const ANSWER_RESERVE: usize = 4_096;
/// Tokens that the everyday tools take in a request.
const TOOLS: usize = 700;

/// The inputs from which the context of a run is built.
pub(crate) struct ContextRequest<'a> {
    pub agent: &'a Agent,
    pub cx: &'a Cx,
    pub provider: &'a dyn Provider,
    /// The stored conversation; `None` when the client keeps it.
    pub conversation: Option<Id>,
    /// The person's message, for which memories and goals are looked up.
    pub text: &'a str,
    /// Instructions of the client.
    pub instructions: &'a str,
    pub may_call: bool,
    /// Whether the run continues after an interruption; its history may then reach back into the summary.
    pub resumed: bool,
}

/// Older messages that were summarised just now.
pub(crate) struct Compaction {
    pub messages: usize,
    /// Length of the summary, in characters.
    pub summary_length: usize,
}

impl ContextRequest<'_> {
    /// Builds the messages a run starts with: the system prompt, and as much of `history` as fits. A history that is too long
    /// is summarised first, which adds to `usage`. Of a run that begins, the history is the part after the summary
    /// (see [`Agent::summarised_until`]).
    pub async fn build(&self, history: Vec<Message>, usage: &mut Usage) -> (Vec<Message>, Option<Compaction>) {
        let (mut shown, mut state, mut compaction) = (history, ConversationState::default(), None);
        if let Some(conversation) = self.conversation.filter(|_| self.provider.reads_context()) {
            match compact_history(self, conversation, &shown, usage).await {
                Ok(Some((part, now, made))) => {
                    shown = part.unwrap_or(shown);
                    (state, compaction) = (now, made);
                }
                Ok(None) => {}
                // The newest messages can be shown all the same.
                Err(error) => tracing::warn!(run = ?self.cx.run(), %error, "a conversation could not be summarised"),
            }
            state.messages = state.messages.max(shown.len());
            state.topics = topics::topics(&shown, &state.summary);
            state.task = topics::current_task(&shown);
        }
        let prompt = Message::System(self.prompt(state).await);
        let left = budget(self.agent, self.provider).saturating_sub(cost(std::slice::from_ref(&prompt)));
        tracing::debug!(run = ?self.cx.run(), user = %self.cx.user(), tokens = left, "room for the conversation");
        let mut messages = window(shown, self.agent.config.max_messages, left);
        messages.insert(0, prompt);
        (messages, compaction)
    }
}

/// Maximum number of tokens in a request, with the system prompt.
pub(crate) fn budget(agent: &Agent, provider: &dyn Provider) -> usize {
    let facts = provider.facts();
    let (context, limit) = (facts.context as usize, agent.config.max_tokens);
    if context == 0 {
        return limit;
    }
    let output = if facts.output == 0 { ANSWER_RESERVE } else { facts.output as usize };
    // At most half of a small context is reserved.
    let reserved = output.min(context / 4) + TOOLS.min(context / 4);
    limit.min(context - reserved)
}

/// Maximum number of tokens of the conversation in a request.
fn history_budget(agent: &Agent, provider: &dyn Provider) -> usize {
    let prompt = agent.config.sections.within(provider.facts().context).max_length / 4;
    let all = budget(agent, provider);
    // A tiny configured budget leaves half for the conversation.
    all.saturating_sub(prompt).max(all / 2)
}
