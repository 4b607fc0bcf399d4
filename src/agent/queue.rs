//! Admission of runs: one run at a time in a conversation, because two would mix their messages.

mod counts;

pub(crate) use counts::RunCounts;
pub use counts::RunStats;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tool::{Error, Id, Result, UserId};

/// Maximum number of runs of one person.
const MAX_RUNS: usize = 16;
/// Maximum number of messages that wait for one conversation.
const MAX_WAITING: usize = 8;

/// A run, or an exclusive change, in a conversation or waiting for it.
pub(crate) struct QueuedRun {
    /// The run's id; a change such as a deletion has an id of its own.
    pub run: Id,
    pub user: UserId,
    pub conversation: Option<Id>,
    pub cancel: CancellationToken,
    /// False for an exclusive change such as a deletion.
    pub is_run: bool,
    /// Whether it waits for its turn.
    pub waits: bool,
    /// Whether the person stopped it, rather than the shutdown.
    pub stopped: bool,
}

impl QueuedRun {
    pub fn new(run: Id, user: UserId, conversation: Option<Id>, cancel: CancellationToken, is_run: bool) -> Self {
        Self { run, user, conversation, cancel, is_run, waits: false, stopped: false }
    }
}

/// The admission of a run when the conversation is busy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AdmissionPolicy {
    /// Refuse.
    Now,
    /// Wait, unless too many wait already.
    Wait,
    /// Wait without a limit, because the run was admitted before.
    Resume,
}

/// All admitted runs in order of arrival; cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct RunQueue {
    all: Arc<Mutex<(u64, BTreeMap<u64, QueuedRun>)>>,
    /// Notified when a slot is released.
    released: Arc<Notify>,
    /// Cancelled at shutdown.
    pub closing: CancellationToken,
}

impl RunQueue {
    fn lock(&self) -> MutexGuard<'_, (u64, BTreeMap<u64, QueuedRun>)> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Admits a run, which leaves when the slot is dropped. When it has to wait, [`RunSlot::turn`] resolves at its turn.
    ///
    /// # Errors
    /// `Unavailable` when the conversation is busy or too many runs are under way.
    pub fn enter(&self, mut entry: QueuedRun, policy: AdmissionPolicy) -> Result<RunSlot> {
        if self.closing.is_cancelled() {
            return Err(Error::unavailable("Hob is shutting down: try again when it has started again"));
        }
        let mut all = self.lock();
        let in_conversation =
            || all.1.values().filter(|p| entry.conversation.is_some() && p.conversation == entry.conversation);
        let (busy, waiting) = (in_conversation().next().is_some(), in_conversation().filter(|p| p.waits).count());
        if busy && policy == AdmissionPolicy::Now {
            return Err(Error::unavailable(
                "this conversation is still answering: wait for it, stop it, or begin another one",
            ));
        }
        if policy == AdmissionPolicy::Wait && waiting >= MAX_WAITING {
            return Err(Error::unavailable(format!(
                "{MAX_WAITING} messages wait for this conversation already: wait until some of them are answered"
            )));
        }
        let own = all.1.values().filter(|p| p.is_run && p.user == entry.user).count();
        if entry.is_run && policy != AdmissionPolicy::Resume && own >= MAX_RUNS {
            return Err(Error::unavailable(format!(
                "{MAX_RUNS} answers of yours are under way: wait for one of them, or stop it"
            )));
        }
        entry.waits = busy;
        all.0 += 1;
        let position = all.0;
        all.1.insert(position, entry);
        Ok(RunSlot { queue: self.clone(), position, waits: busy })
    }

    /// Stops a run of this person; `false` when there is no run of that id.
    pub fn stop(&self, user: UserId, run: Id) -> bool {
        let mut all = self.lock();
        let mut found = false;
        for place in all.1.values_mut().filter(|p| p.is_run && p.run == run && p.user == user) {
            (place.stopped, found) = (true, true);
            place.cancel.cancel();
        }
        found
    }

    /// This person's runs: id, conversation, and whether it waits.
    pub fn runs_of(&self, user: UserId) -> Vec<(Id, Option<Id>, bool)> {
        let all = self.lock();
        all.1.values().filter(|p| p.is_run && p.user == user).map(|p| (p.run, p.conversation, p.waits)).collect()
    }

    /// Numbers of running and of waiting runs.
    pub fn counts(&self) -> (u64, u64) {
        let all = self.lock();
        let runs = |waits: bool| all.1.values().filter(|p| p.is_run && p.waits == waits).count() as u64;
        (runs(false), runs(true))
    }

    /// Cancels all runs and refuses new ones; `true` once none is left.
    pub fn stop_all(&self) -> bool {
        self.closing.cancel();
        let all = self.lock();
        all.1.values().for_each(|place| place.cancel.cancel());
        all.1.is_empty()
    }
}

/// A place in the queue; dropping it releases the conversation.
pub(crate) struct RunSlot {
    queue: RunQueue,
    position: u64,
    waits: bool,
}

impl RunSlot {
    /// Whether the run had to wait.
    pub fn waits(&self) -> bool {
        self.waits
    }

    /// Whether the person stopped this run.
    pub fn stopped(&self) -> bool {
        self.queue.lock().1.get(&self.position).is_some_and(|p| p.stopped)
    }

    /// Waits until all earlier runs have left the conversation; `false` when the run was stopped meanwhile.
    pub async fn turn(&self) -> bool {
        loop {
            let released = self.queue.released.notified();
            tokio::pin!(released);
            // Register before the check, so that no release is missed.
            released.as_mut().enable();
            let cancel = {
                let mut all = self.queue.lock();
                let Some(own) = all.1.get(&self.position).map(|p| (p.conversation, p.cancel.clone())) else {
                    return false;
                };
                let before = own.0.is_some() && all.1.range(..self.position).any(|(_, p)| p.conversation == own.0);
                if own.1.is_cancelled() {
                    return false;
                }
                if !before {
                    if let Some(place) = all.1.get_mut(&self.position) {
                        place.waits = false;
                    }
                    return true;
                }
                own.1
            };
            tokio::select! {
                () = released => {}
                () = cancel.cancelled() => return false,
            }
        }
    }
}

impl Drop for RunSlot {
    fn drop(&mut self) {
        self.queue.lock().1.remove(&self.position);
        self.queue.released.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run_in(conversation: Id) -> QueuedRun {
        QueuedRun::new(Id::new(), UserId::OWNER, Some(conversation), CancellationToken::new(), true)
    }

    #[tokio::test]
    async fn turns_come_in_the_order_of_coming() {
        let (queue, conversation) = (RunQueue::default(), Id::new());
        let first = queue.enter(run_in(conversation), AdmissionPolicy::Now).unwrap();
        assert!(queue.enter(run_in(conversation), AdmissionPolicy::Now).is_err());
        let waiting: Vec<RunSlot> =
            (0..MAX_WAITING).map(|_| queue.enter(run_in(conversation), AdmissionPolicy::Wait).unwrap()).collect();
        assert!(queue.enter(run_in(conversation), AdmissionPolicy::Wait).is_err());
        assert!(queue.enter(run_in(Id::new()), AdmissionPolicy::Now).is_ok());
        assert!(first.turn().await && !first.waits() && waiting[0].waits());
        let order = Arc::new(Mutex::new(vec![]));
        let tasks: Vec<_> = waiting
            .into_iter()
            .enumerate()
            .rev()
            .map(|(n, busy)| {
                let order = order.clone();
                tokio::spawn(async move {
                    assert!(busy.turn().await);
                    order.lock().unwrap().push(n);
                })
            })
            .collect();
        tokio::task::yield_now().await;
        assert!(order.lock().unwrap().is_empty());
        drop(first);
        for task in tasks {
            task.await.unwrap();
        }
        assert_eq!(*order.lock().unwrap(), (0..MAX_WAITING).collect::<Vec<_>>());
    }

    #[tokio::test]
    async fn waiting_runs_can_be_stopped_and_a_closed_queue_admits_none() {
        let (queue, conversation) = (RunQueue::default(), Id::new());
        let _first = queue.enter(run_in(conversation), AdmissionPolicy::Now).unwrap();
        let second = run_in(conversation);
        let run = second.run;
        let second = queue.enter(second, AdmissionPolicy::Wait).unwrap();
        assert!(!queue.stop(UserId(Id::new()), run), "another person's");
        assert!(queue.stop(UserId::OWNER, run));
        assert!(!second.turn().await && second.stopped());
        drop(second);
        assert!(!queue.stop_all());
        assert!(queue.enter(run_in(Id::new()), AdmissionPolicy::Resume).is_err());
    }
}
