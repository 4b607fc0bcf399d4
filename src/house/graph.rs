//! Keeps the knowledge graph in step with memories: each changed one is read again, and at a start those that were missed.

use graph::{Graph, MemoryText};
use memory::Memories;
use std::{collections::HashSet, time::Duration};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tool::{Id, UserId};

/// The most changed memories that wait; when more change at once, all are compared afterwards.
const WAITING: usize = 1024;
/// Delay after a start before memories and facts are compared, and the pause between two memories then.
const COMPARE_AFTER: Duration = Duration::from_secs(45);
const PAUSE: Duration = Duration::from_millis(2);

/// Follows memories until `closing`.
pub(super) fn follow_memories(graph: Graph, memories: Memories, closing: CancellationToken) {
    let (changed, mut waiting) = mpsc::channel::<(UserId, Id)>(WAITING);
    let (overflow, mut overflowed) = mpsc::channel::<()>(1);
    memories.observe(move |owner, id| {
        if changed.try_send((owner, id)).is_err() {
            // One message is enough, however many did not fit.
            let _ = overflow.try_send(());
        }
    });
    let follow = async move {
        let compare = tokio::time::sleep(COMPARE_AFTER);
        tokio::pin!(compare);
        let mut compared = false;
        loop {
            tokio::select! {
                Some((owner, id)) = waiting.recv() => read(&graph, &memories, owner, id).await,
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

async fn read(graph: &Graph, memories: &Memories, owner: UserId, id: Id) {
    let read = match memories.text_of(owner, id) {
        Ok(found) => {
            let content = found.map(|(text, label, at_ms)| MemoryText { text, label, at_ms });
            graph.read_memory(owner, id, content).await.map(drop)
        }
        Err(error) => Err(error),
    };
    if let Err(error) = read {
        tracing::warn!(%error, "the facts of a memory could not be read; they are at the next start");
    }
}

/// Reads every memory, and removes the facts of those that are gone.
async fn compare_all(graph: &Graph, memories: &Memories) {
    let (sources, all) = (graph.clone(), memories.clone());
    let ids = tokio::task::spawn_blocking(move || {
        let mut ids: HashSet<(UserId, Id)> = sources.sources()?.into_iter().collect();
        all.each_id(|owner, id| drop(ids.insert((owner, id))))?;
        tool::Result::Ok(ids)
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
