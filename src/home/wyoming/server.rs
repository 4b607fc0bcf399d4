//! The listener.

use super::{
    answers::{Answers, voice_cx},
    conversations::{Conversations, LASTS},
    limits::Limits,
    session::Session,
};
use agent::Agent;
use identity::Identity;
use std::{sync::Arc, time::Duration};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tool::{Ports, Result};

/// How long to wait after the system refused a connection.
const PAUSE: Duration = Duration::from_millis(200);
/// The most conversations that are deleted in one step at a start.
const PAGE: usize = 100;

/// The parts that the server needs; cheap to clone.
#[derive(Clone)]
pub struct Parts {
    /// Answers sentences.
    pub agent: Agent,
    /// Knows which addresses may speak.
    pub identity: Identity,
    /// The ports of every call.
    pub ports: Ports,
    /// The device's name, as it is now.
    pub name: Arc<dyn Fn() -> String + Send + Sync>,
}

/// Deletes the conversations from before the last stop, before any run resumes: a lamp must not go on minutes after somebody
/// asked for it.
///
/// # Errors
/// `Failed` when the data cannot be read, `Unavailable` when the disk is full.
pub async fn clear(agent: &Agent, ports: &Ports) -> Result<()> {
    let cx = voice_cx(ports, None);
    loop {
        let page = agent.conversations(&cx, "", None, 0, PAGE).await?.conversations;
        for conversation in &page {
            agent.delete_conversation(&cx, conversation.id).await?;
        }
        if page.len() < PAGE {
            return Ok(());
        }
    }
}

/// Answers connections until `closing`.
pub async fn serve(listener: TcpListener, parts: Parts, closing: CancellationToken) {
    let answers =
        Answers { agent: parts.agent.clone(), ports: parts.ports.clone(), conversations: Conversations::default() };
    let limits = Limits::default();
    tokio::spawn(closing.clone().run_until_cancelled_owned(delete_expired(answers.clone())));
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = closing.cancelled() => return,
        };
        let (stream, address) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "a connection by voice was not accepted");
                tokio::time::sleep(PAUSE).await;
                continue;
            }
        };
        let _ = stream.set_nodelay(true);
        let address = address.ip().to_canonical();
        let Some(place) = limits.enter(address, !parts.identity.may_speak(address)) else {
            tracing::debug!(%address, "too many connections by voice");
            continue;
        };
        let session = Session { parts: parts.clone(), answers: answers.clone(), limits: limits.clone(), address };
        tokio::spawn(closing.clone().run_until_cancelled_owned(async move {
            let (reader, writer) = tokio::io::split(stream);
            session.run(reader, writer).await;
            drop(place);
        }));
    }
}

/// Deletes conversations some minutes after their last sentence.
async fn delete_expired(answers: Answers) {
    loop {
        tokio::time::sleep(LASTS / 5).await;
        answers.delete(answers.conversations.expired());
    }
}
