//! Wires undoing to the families whose records have effects beyond the store, and removes old changes.

use board::Board;
use documents::{MemoryDocuments, VirtualFiles};
use futures::{
    FutureExt,
    future::{BoxFuture, ready},
};
use memory::Memories;
use records::{Undo, Undoer};
use rules::Rules;
use scheduler::{Scheduler, Timers};
use std::{sync::Arc, time::Duration};
use store::{Did, Part, Record, Store, Tx};
use tokio_util::sync::CancellationToken;
use tool::{Cx, Id, Result, Scope, UserId};
use workspace::Workspaces;

/// How long changes can be undone, and deleted records restored.
const KEPT: Duration = Duration::from_secs(30 * 24 * 3600);
/// Interval of removing old changes, and the delay after a start.
const PRUNED_EVERY: Duration = Duration::from_secs(3600);

struct UndoesMemories(Memories);

struct UndoesSchedules(Scheduler);

struct UndoesDocuments(MemoryDocuments);

struct UndoesTimers(Timers);

struct UndoesFiles(Workspaces);

fn place(part: &Part) -> Option<(UserId, Id)> {
    match (part.scope(), part.id()) {
        (Some(Scope::User(user)), Some(id)) => Some((user, id)),
        _ => None,
    }
}

impl Undoer for UndoesMemories {
    fn within(&self, tx: &Tx, part: &Part, _: Option<Id>) -> store::Result<()> {
        place(part).map_or(Ok(()), |(owner, id)| self.0.put_back_in(tx, owner, id))
    }
    fn after<'a>(&'a self, _: &'a Cx, part: &'a Part) -> BoxFuture<'a, ()> {
        async move {
            if let Some((owner, id)) = place(part) {
                self.0.was_put_back(owner, id).await;
            }
        }
        .boxed()
    }
}

impl Undoer for UndoesSchedules {
    fn within(&self, tx: &Tx, part: &Part, _: Option<Id>) -> store::Result<()> {
        place(part).map_or(Ok(()), |(owner, id)| self.0.put_back_in(tx, owner, id))
    }
    fn after<'a>(&'a self, _: &'a Cx, _: &'a Part) -> BoxFuture<'a, ()> {
        self.0.was_put_back();
        ready(()).boxed()
    }
}

impl Undoer for UndoesDocuments {
    fn after<'a>(&'a self, _: &'a Cx, part: &'a Part) -> BoxFuture<'a, ()> {
        self.0.was_put_back(part).boxed()
    }
}

/// Undoes changes of memory documents: their index follows.
pub(super) fn documents(files: &VirtualFiles) -> Arc<dyn Undoer> {
    Arc::new(UndoesDocuments(files.memory().clone()))
}

impl Undoer for UndoesTimers {
    fn after<'a>(&'a self, _: &'a Cx, part: &'a Part) -> BoxFuture<'a, ()> {
        part.id().into_iter().for_each(|id| self.0.was_put_back(id));
        ready(()).boxed()
    }
    // An old timer has nothing left to ring for.
    fn is_in_bin(&self) -> bool {
        false
    }
    fn words(&self, part: &Part) -> Option<String> {
        let now = match part.did() {
            Did::Added => "cancelled",
            Did::Changed => "as it was before",
            Did::Deleted => "back",
        };
        Some(format!("the {} is {now}", part.title))
    }
}

impl Undoer for UndoesFiles {
    fn outside<'a>(&'a self, cx: &'a Cx, part: &'a Part) -> BoxFuture<'a, Result<bool>> {
        self.0.undo(cx, part).boxed()
    }
    fn remains<'a>(&'a self, cx: &'a Cx, part: &'a Part) -> BoxFuture<'a, Option<String>> {
        async move { self.0.is_in_repository(cx, part).await.then(|| "What was committed stays in git.".to_owned()) }
            .boxed()
    }
    fn words(&self, part: &Part) -> Option<String> {
        Some(self.0.undone_words(part))
    }
    fn why_kept(&self, part: &Part) -> Option<String> {
        self.0.why_kept(part)
    }
}

/// Undoes changes of files in the workspace.
pub(super) fn files(workspaces: &Workspaces) -> Arc<dyn Undoer> {
    Arc::new(UndoesFiles(workspaces.clone()))
}

/// Undoes changes of all families; see [`Undoer`] for when one has to register.
pub(super) fn undo(
    store: &Store,
    memories: &Memories,
    scheduler: &Scheduler,
    rules: &Rules,
    pins: &tools_hardware::Pins,
    board: &Board,
) -> Undo {
    let undo = Undo::new(store);
    undo.register(memory::COLLECTION, Arc::new(UndoesMemories(memories.clone())));
    undo.register(scheduler::Schedule::NAME, Arc::new(UndoesSchedules(scheduler.clone())));
    undo.register(scheduler::Timer::NAME, Arc::new(UndoesTimers(scheduler.timers())));
    undo.register(rules::TRIGGERS, Arc::new(rules.clone()));
    let (records, tables) = tools_data::undo_tables(store);
    undo.register(records, tables);
    let (switched, driven) = tools_hardware::undo_pins(board);
    undo.register(switched, driven);
    let (names, settings) = pins.undoer();
    undo.register(names, settings);
    undo
}

/// Removes old changes now and then.
pub(super) fn schedule_pruning(store: Store, closing: CancellationToken) {
    let prune = async move {
        loop {
            tokio::time::sleep(PRUNED_EVERY).await;
            let before = Id::now_ms().saturating_sub(KEPT.as_millis() as u64);
            if let Err(error) = store.prune_changes(before).await {
                tracing::warn!(%error, "old changes could not be removed");
            }
        }
    };
    tokio::spawn(closing.run_until_cancelled_owned(prune));
}
