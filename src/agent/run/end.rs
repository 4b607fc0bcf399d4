//! The end of a run: stores its outcome, frees the conversation, and notifies listeners.

use super::{Progress, Run, Stop};
use crate::{
    conversation::{State, StoredRun, durability::SOON},
    events::{Answer, RunEvent},
};
use serde_json::json;
use std::time::Instant;
use tool::{Channel, Error};

impl Run {
    /// Ends the run.
    pub async fn end(self, end: Result<Answer, Stop>, began: Instant) {
        let end = end.map_err(|stop| match stop.0 {
            "cancelled" if self.interrupted_by_shutdown() => match self.agent.own_answers.is_restoring() {
                true => Stop("closing", store::Error::Restoring.to_string()),
                false => closing(self.conversation.is_some()),
            },
            _ => stop,
        });
        if let Err(error) = self.store_end(&end).await {
            tracing::warn!(run = %self.run, %error, "the end of a run was not stored");
        }
        let event = match end {
            Ok(answer) => RunEvent::Done(answer),
            Err(Stop(code, message)) => RunEvent::Error { code, message },
        };
        let outcome = if let RunEvent::Error { code, .. } = &event { code } else { "ok" };
        tracing::info!(run = %self.run, outcome, ms = began.elapsed().as_millis() as u64, "run ended");
        let suspended = matches!(&event, RunEvent::Done(answer) if !answer.waiting.is_empty());
        self.agent.counts.ended(if suspended { "suspended" } else { outcome });
        self.publish("run:ended", json!({"outcome": outcome}));
        if self.events.is_closed() && self.cx.channel() == Channel::Machine {
            self.notify_person(&event).await;
        }
        let (events, watch) = (self.events.clone(), self.watch.clone());
        // Free the conversation before the end is announced.
        drop(self);
        if let Some(watch) = watch {
            watch.on_step(&event);
        }
        events.release();
        events.send(event);
    }

    /// Stores the cost of a turn that produced no message.
    pub(super) async fn store_cost(&self, progress: &Progress) {
        let Some(_) = self.conversation else { return };
        let (usage, turns) = (progress.usage, if self.interrupted_by_shutdown() { 0 } else { progress.turns });
        let routing = progress.routing.clone();
        let cost = move |run: &mut StoredRun| {
            run.set_cost(turns, &usage);
            run.set_routing(routing.as_ref());
        };
        let (user, conversations) = (self.cx.user(), &self.agent.conversations);
        // The end follows.
        if let Err(error) = conversations.change_run_within(Some(SOON), user, self.run, cost).await {
            tracing::warn!(run = %self.run, %error, "the cost of a run was not stored");
        }
    }

    async fn store_end(&self, end: &Result<Answer, Stop>) -> Result<(), Error> {
        let Some(conversation) = self.conversation else { return Ok(()) };
        let conversations = &self.agent.conversations;
        let user = self.cx.user();
        match end {
            // The state was stored with the last message.
            Ok(_) => {}
            Err(Stop("closing", _)) => {
                conversations.change_run(user, self.run, |run| run.interrupted_by_shutdown = true).await?;
                return Ok(());
            }
            Err(Stop(code, error)) => {
                let (code, error) = (*code, error.clone());
                let state = if code == "cancelled" { State::Cancelled } else { State::Failed };
                conversations.change_run(user, self.run, move |run| run.ends(state, code, &error)).await?;
                // An answer to its open questions would have no effect any more.
                self.agent.end_questions_of(user, self.run);
            }
        }
        let suspended = matches!(end, Ok(answer) if !answer.waiting.is_empty());
        if suspended { Ok(()) } else { self.agent.finish(user, self.run, conversation).await }
    }
}

fn closing(resumes: bool) -> Stop {
    let then = if resumes { "this continues by itself when it has started again" } else { "ask again in a moment" };
    Stop("closing", format!("Hob is shutting down: {then}"))
}
