//! The start of a run: at once, or at its turn in the queue.

use super::{Progress, Run, cancelled};
use crate::conversation::{Reads, State};
use llm::{Content, Message};
use std::time::Instant;
use tool::{Result, Scope};

impl Run {
    /// Stores the person's message, and returns the history the model reads.
    pub async fn store_message(&self, message: &Content) -> Result<Vec<Message>> {
        let conversation = self.conversation.unwrap_or_default();
        let stored = self.stored(conversation, State::Running);
        let conversations = &self.agent.conversations;
        let after = self.agent.summarised_until(&self.cx, conversation)?;
        conversations.begin(&self.cx, conversation, message, stored, self.reads(), after).await
    }

    /// How much of its conversation a run reads: more than the model is shown, because long exchanges are shortened and their
    /// first message must be found.
    fn reads(&self) -> Reads {
        match self.provider.reads_context() {
            true => Reads::Last(self.agent.config.max_messages * 4),
            false => Reads::Exchange,
        }
    }

    /// How much a resumed run reads: its own messages too.
    pub(super) fn reads_own(&self) -> Reads {
        match self.reads() {
            Reads::Last(most) => Reads::Last(most + 2 * self.agent.config.max_tool_calls as usize),
            Reads::Exchange => Reads::Exchange,
        }
    }

    /// Waits for the run's turn in the queue, then starts it.
    pub async fn start_at_turn(mut self, message: Content) {
        let began = Instant::now();
        if !self.slot.turn().await {
            return self.end(Err(cancelled()), began).await;
        }
        self.provider = self.agent.provider();
        self.start_queued(message, began).await;
    }

    /// Starts a run that was queued, unless its conversation was deleted or the run stopped meanwhile.
    pub async fn start_queued(self, message: Content, began: Instant) {
        let exists = self.agent.conversations.check(&self.cx, self.conversation.unwrap_or_default());
        let stored = match exists {
            Ok(()) => self.store_message(&message).await,
            Err(error) => Err(error),
        };
        match stored {
            Ok(history) => self.go(history, Progress::default()).await,
            Err(_) if self.was_stopped() => self.end(Err(cancelled()), began).await,
            Err(error) => self.end(Err(error.into()), began).await,
        }
    }

    fn was_stopped(&self) -> bool {
        let found = self.agent.conversations.runs.get_in(Scope::User(self.cx.user()), self.run);
        found.is_ok_and(|found| found.is_some_and(|e| e.value.state == State::Cancelled))
    }
}
