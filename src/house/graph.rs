//! Keeps the knowledge graph in step with memories: each changed one is read again, and at a start those that were missed. Where
//! rules find nothing in a new memory and there is a model, that reads it too.

use agent::Agent;
use graph::{Graph, MemoryText, model_prompt, model_statements};
use memory::Memories;
use std::{
    collections::{HashSet, VecDeque},
    time::{Duration, Instant},
};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tool::{AgentId, Channel, Cx, Id, Ports, Principal, Role, UserId, Via};

/// The most changed memories that wait; when more change at once, all are compared afterwards.
const WAITING: usize = 1024;
/// Delay after a start before memories and facts are compared, and the pause between two memories then.
const COMPARE_AFTER: Duration = Duration::from_secs(45);
const PAUSE: Duration = Duration::from_millis(2);

/// The most memories that wait for a model, and for how long they do: a person may still correct what they said.
const WAITING_FOR_MODEL: usize = 64;
const MODEL_AFTER: Duration = Duration::from_secs(120);
/// The most memories that a model reads in an hour, and the fewest characters that are worth it.
const BY_MODEL: usize = 30;
const HOUR: Duration = Duration::from_secs(3600);
const WORTH_IT: usize = 20;

/// Reads memories with the model that answers.
struct Reader {
    graph: Graph,
    memories: Memories,
    agent: Agent,
    ports: Ports,
    /// When it read the last ones.
    read: VecDeque<Instant>,
}

/// Follows memories until `closing`.
pub(super) fn follow_memories(
    graph: Graph,
    memories: Memories,
    (agent, ports): (Agent, Ports),
    closing: CancellationToken,
) {
    let (changed, mut waiting) = mpsc::channel::<(UserId, Id)>(WAITING);
    let (overflow, mut overflowed) = mpsc::channel::<()>(1);
    memories.observe(move |owner, id| {
        if changed.try_send((owner, id)).is_err() {
            // One message is enough, however many did not fit.
            let _ = overflow.try_send(());
        }
    });
    let (to_model, for_model) = mpsc::channel(WAITING_FOR_MODEL);
    let reader = Reader { graph: graph.clone(), memories: memories.clone(), agent, ports, read: VecDeque::new() };
    tokio::spawn(closing.clone().run_until_cancelled_owned(reader.work(for_model)));
    let follow = async move {
        let compare = tokio::time::sleep(COMPARE_AFTER);
        tokio::pin!(compare);
        let mut compared = false;
        loop {
            tokio::select! {
                Some((owner, id)) = waiting.recv() => {
                    let content = read(&graph, &memories, owner, id).await;
                    if content.is_some_and(|content| content.text.chars().count() >= WORTH_IT) {
                        // Where too many wait already, the rules are all there is.
                        let _ = to_model.try_send((Instant::now(), owner, id));
                    }
                }
                Some(()) = overflowed.recv() => compare_all(&graph, &memories).await,
                () = &mut compare, if !compared => {
                    compared = true;
                    compare_all(&graph, &memories).await;
                }
                else => return,
            }
        }
    };
    tokio::spawn(closing.run_until_cancelled_owned(follow));
}

/// Takes the facts of a memory over; returns its text.
async fn read(graph: &Graph, memories: &Memories, owner: UserId, id: Id) -> Option<MemoryText> {
    let read = match memories.text_of(owner, id) {
        Ok(found) => {
            let content = found.map(|(text, label, at_ms)| MemoryText { text, label, at_ms });
            graph.read_memory(owner, id, content.clone()).await.map(|_| content)
        }
        Err(error) => Err(error),
    };
    read.unwrap_or_else(|error| {
        tracing::warn!(%error, "the facts of a memory could not be read; they are at the next start");
        None
    })
}

impl Reader {
    async fn work(mut self, mut waiting: mpsc::Receiver<(Instant, UserId, Id)>) {
        while let Some((since, owner, id)) = waiting.recv().await {
            tokio::time::sleep(MODEL_AFTER.saturating_sub(since.elapsed())).await;
            if let Err(error) = self.read(owner, id).await {
                tracing::warn!(%error, "a model's facts of a memory could not be stored");
            }
        }
    }

    /// Lets the model read a memory in which rules found nothing.
    async fn read(&mut self, owner: UserId, id: Id) -> tool::Result<()> {
        while self.read.front().is_some_and(|at| at.elapsed() > HOUR) {
            self.read.pop_front();
        }
        if self.read.len() >= BY_MODEL || !self.graph.wants_model(owner, id)? {
            return Ok(());
        }
        let Some((text, label, at_ms)) = self.memories.text_of(owner, id)? else { return Ok(()) };
        let content = MemoryText { text, label, at_ms };
        let principal = Principal { user: owner, role: Role::Viewer, agent: AgentId::GENERAL };
        let cx = Cx::root(self.ports.clone(), principal, Via::direct(Channel::Machine));
        match self.agent.answer_only(&cx, &model_prompt(&content.text)).await {
            Ok((answer, _)) => {
                self.read.push_back(Instant::now());
                let stated = model_statements(&content.text, &answer);
                // It may have been forgotten meanwhile.
                let same = self.memories.text_of(owner, id)?.is_some_and(|(text, ..)| text == content.text);
                if same && !stated.is_empty() {
                    self.graph.add_from_model(owner, id, &content, stated).await?;
                }
            }
            // Without a model the rules are all there is.
            Err(error) => tracing::debug!(%error, "no model read a memory for the knowledge graph"),
        }
        Ok(())
    }
}

/// Reads every memory, and removes the facts of those that are gone.
async fn compare_all(graph: &Graph, memories: &Memories) {
    let (sources, all) = (graph.clone(), memories.clone());
    let ids = tokio::task::spawn_blocking(move || {
        let mut ids: HashSet<(UserId, Id)> = sources.sources()?.into_iter().collect();
        all.each_id(|owner, id| {
            ids.insert((owner, id));
        })?;
        Ok::<_, tool::Error>(ids)
    });
    match ids.await {
        Ok(Ok(ids)) => {
            for (owner, id) in ids {
                read(graph, memories, owner, id).await;
                tokio::time::sleep(PAUSE).await;
            }
        }
        Ok(Err(error)) => tracing::warn!(%error, "memories and facts could not be compared"),
        Err(error) => tracing::error!(%error, "comparing memories and facts stopped"),
    }
}
