//! The answer to a sentence of an approved address.

use super::{
    conversations::{Conversations, Speaker},
    plain::spoken,
};
use agent::{Agent, ChatRequest, RunEvent, RunHandle, WhileBusy};
use std::{net::IpAddr, time::Duration};
use tokio::time::{Instant, timeout_at};
use tool::{Channel, Cx, Id, Peer, Ports, Principal, Via};

/// How long an answer may take: a person is waiting for it.
const PATIENCE: Duration = Duration::from_secs(60);
/// The name of this door among chats, for the policy.
const CHAT: &str = "voice";

/// Answers sentences; cheap to clone.
#[derive(Clone)]
pub(crate) struct Answers {
    pub agent: Agent,
    pub ports: Ports,
    pub conversations: Conversations,
}

/// The spoken text, and whether the sentence was handled.
pub(crate) struct Spoken {
    pub text: String,
    pub handled: bool,
}

impl Spoken {
    pub fn refusal(text: impl Into<String>) -> Self {
        Self { text: text.into(), handled: false }
    }
}

/// The context of whoever speaks. Anybody on the network can read the connection, unless it does not leave this machine.
pub(crate) fn voice_cx(ports: &Ports, address: Option<IpAddr>) -> Cx {
    let clear = address.is_none_or(|address| !address.is_loopback());
    let via = Via { channel: Channel::Api, chat: Some(CHAT.into()), peer: Peer::Voice, clear, token: None };
    Cx::root(ports.clone(), Principal::voice(), via)
}

impl Answers {
    /// Answers a sentence in the conversation of its speaker.
    pub async fn answer(&self, speaker: Speaker, text: &str) -> Spoken {
        let cx = voice_cx(&self.ports, Some(speaker.0));
        let mut started = self.start(&cx, text, self.conversations.get(&speaker)).await;
        if matches!(started, Err(tool::Error::NotFound(_))) {
            // Somebody deleted the conversation.
            self.conversations.forget(&speaker);
            started = self.start(&cx, text, None).await;
        }
        let run = match started {
            Ok(run) => run,
            Err(error) => return Spoken::refusal(error.message()),
        };
        if let Some(conversation) = run.conversation {
            self.delete(self.conversations.used(speaker, conversation));
        }
        self.wait(&cx, run).await
    }

    async fn start(&self, cx: &Cx, text: &str, conversation: Option<Id>) -> tool::Result<RunHandle> {
        let (message, while_busy) = (text.into(), WhileBusy::Queue);
        let request = ChatRequest { message, conversation, while_busy, ..ChatRequest::default() };
        self.agent.chat(cx, request).await
    }

    /// Waits for the end of a run. Nobody can be asked by voice: a run that asks is stopped.
    async fn wait(&self, cx: &Cx, mut run: RunHandle) -> Spoken {
        let until = Instant::now() + PATIENCE;
        let why = loop {
            match timeout_at(until, run.steps.recv()).await {
                Ok(Some(RunEvent::Done(answer))) if answer.waiting.is_empty() => {
                    let text = spoken(&answer.response);
                    return Spoken { handled: !text.is_empty(), text };
                }
                Ok(Some(RunEvent::Error { message, .. })) => return Spoken::refusal(message),
                Ok(Some(
                    RunEvent::Done(_) | RunEvent::Approval { .. } | RunEvent::Ask { .. } | RunEvent::Ui { .. },
                )) => {
                    break "That needs an answer that cannot be given by voice. Use the page of Hob.";
                }
                Ok(Some(_)) => {}
                Ok(None) => return Spoken::refusal("Hob is closing. Try again in a moment."),
                Err(_) => break "That takes too long. Try again, or ask on the page of Hob.",
            }
        };
        if let Err(error) = self.agent.stop(cx, run.run).await {
            tracing::debug!(%error, "a run by voice had ended already");
        }
        Spoken::refusal(why)
    }

    /// Deletes conversations that have ended.
    pub fn delete(&self, ended: Vec<Id>) {
        if ended.is_empty() {
            return;
        }
        let (agent, cx) = (self.agent.clone(), voice_cx(&self.ports, None));
        tokio::spawn(async move {
            for conversation in ended {
                if let Err(error) = agent.delete_conversation(&cx, conversation).await {
                    tracing::debug!(%error, "a conversation by voice stays until the next start");
                }
            }
        });
    }
}
