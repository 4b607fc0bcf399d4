//! Who is at work in which conversation, and who waits for their turn: two runs at once would mix their messages.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tool::{Error, Id, Result, UserId};

/// How many runs one person may have under way.
const AT_ONCE: usize = 16;
/// How many messages may wait for one conversation.
const WAITING: usize = 8;

/// Somebody at work in a conversation, or waiting for their turn.
pub(crate) struct QueuedRun {
    /// The run; a deletion and the like has an id of its own.
    pub run: Id,
    pub user: UserId,
    pub conversation: Option<Id>,
    pub cancel: CancellationToken,
    /// Whether it is a run: a deletion keeps a conversation to itself too.
    pub is_run: bool,
    /// Whether it waits for its turn.
    pub waits: bool,
    /// Whether the person stopped it, and not the end of the house.
    pub stopped: bool,
}

/// How somebody comes in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AdmissionPolicy {
    /// At once or not at all.
    Now,
    /// Behind whoever is there, unless too many wait already.
    Behind,
    /// Behind whoever is there, however many: what was begun goes on.
    GoesOn,
}

/// All of them, in the order they came; cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct RunQueue {
    all: Arc<Mutex<(u64, BTreeMap<u64, QueuedRun>)>>,
    left: Arc<Notify>,
    /// Cancelled when the house closes.
    pub closing: CancellationToken,
}

impl RunQueue {
    fn lock(&self) -> MutexGuard<'_, (u64, BTreeMap<u64, QueuedRun>)> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a place, which is left when the guard is dropped. Where it waits, [`Busy::turn`] tells when its turn has come.
    ///
    /// # Errors
    /// `Unavailable` when the conversation is busy or too many runs are under way.
    pub fn enter(&self, mut place: QueuedRun, entering: AdmissionPolicy) -> Result<RunSlot> {
        if self.closing.is_cancelled() {
            return Err(Error::unavailable("Hob is closing: try again when it has started again"));
        }
        let mut all = self.lock();
        let there = || all.1.values().filter(|p| place.conversation.is_some() && p.conversation == place.conversation);
        let (busy, waiting) = (there().next().is_some(), there().filter(|p| p.waits).count());
        if busy && entering == AdmissionPolicy::Now {
            return Err(Error::unavailable(
                "this conversation is still answering: wait for it, stop it, or begin another one",
            ));
        }
        if entering == AdmissionPolicy::Behind && waiting >= WAITING {
            return Err(Error::unavailable(format!(
                "{WAITING} messages wait for this conversation already: wait until some of them are answered"
            )));
        }
        let own = all.1.values().filter(|p| p.is_run && p.user == place.user).count();
        if place.is_run && entering != AdmissionPolicy::GoesOn && own >= AT_ONCE {
            return Err(Error::unavailable(format!(
                "{AT_ONCE} answers of yours are under way: wait for one of them, or stop it"
            )));
        }
        place.waits = busy;
        all.0 += 1;
        let seat = all.0;
        all.1.insert(seat, place);
        Ok(RunSlot { places: self.clone(), seat, waits: busy })
    }

    /// Stops a run of this person; `false` when none of that id is there.
    pub fn stop(&self, user: UserId, run: Id) -> bool {
        let mut all = self.lock();
        let mut found = false;
        for place in all.1.values_mut().filter(|p| p.is_run && p.run == run && p.user == user) {
            (place.stopped, found) = (true, true);
            place.cancel.cancel();
        }
        found
    }

    /// What is known of every place of this person's runs: the run, its conversation, and whether it waits.
    pub fn runs_of(&self, user: UserId) -> Vec<(Id, Option<Id>, bool)> {
        let all = self.lock();
        all.1.values().filter(|p| p.is_run && p.user == user).map(|p| (p.run, p.conversation, p.waits)).collect()
    }

    /// How many runs are under way, and how many wait.
    pub fn counts(&self) -> (u64, u64) {
        let all = self.lock();
        let runs = |waits: bool| all.1.values().filter(|p| p.is_run && p.waits == waits).count() as u64;
        (runs(false), runs(true))
    }

    /// Stops everything there is; `true` when nobody is there any more.
    pub fn stop_all(&self) -> bool {
        self.closing.cancel();
        let all = self.lock();
        all.1.values().for_each(|place| place.cancel.cancel());
        all.1.is_empty()
    }
}

/// A place that is taken; it is left when dropped.
pub(crate) struct RunSlot {
    places: RunQueue,
    seat: u64,
    waits: bool,
}

impl RunSlot {
    /// Whether it waited when it was taken.
    pub fn waits(&self) -> bool {
        self.waits
    }

    /// Whether the person stopped this run.
    pub fn stopped(&self) -> bool {
        self.places.lock().1.get(&self.seat).is_some_and(|p| p.stopped)
    }

    /// Waits until everybody who was in the conversation before has left. `false` when it was stopped meanwhile.
    pub async fn turn(&self) -> bool {
        loop {
            let left = self.places.left.notified();
            tokio::pin!(left);
            // From here on nobody leaves unheard.
            left.as_mut().enable();
            let cancel = {
                let mut all = self.places.lock();
                let Some(own) = all.1.get(&self.seat).map(|p| (p.conversation, p.cancel.clone())) else { return false };
                let before = own.0.is_some() && all.1.range(..self.seat).any(|(_, p)| p.conversation == own.0);
                if own.1.is_cancelled() {
                    return false;
                }
                if !before {
                    if let Some(place) = all.1.get_mut(&self.seat) {
                        place.waits = false;
                    }
                    return true;
                }
                own.1
            };
            tokio::select! {
                () = left => {}
                () = cancel.cancelled() => return false,
            }
        }
    }
}

impl Drop for RunSlot {
    fn drop(&mut self) {
        self.places.lock().1.remove(&self.seat);
        self.places.left.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(conversation: Id) -> QueuedRun {
        let (run, user, cancel) = (Id::new(), UserId::OWNER, CancellationToken::new());
        QueuedRun { run, user, conversation: Some(conversation), cancel, is_run: true, waits: false, stopped: false }
    }

    #[tokio::test]
    async fn turns_come_in_the_order_of_coming() {
        let (places, conversation) = (RunQueue::default(), Id::new());
        let first = places.enter(place(conversation), AdmissionPolicy::Now).unwrap();
        assert!(places.enter(place(conversation), AdmissionPolicy::Now).is_err());
        let waiting: Vec<RunSlot> =
            (0..WAITING).map(|_| places.enter(place(conversation), AdmissionPolicy::Behind).unwrap()).collect();
        assert!(places.enter(place(conversation), AdmissionPolicy::Behind).is_err());
        assert!(places.enter(place(Id::new()), AdmissionPolicy::Now).is_ok());
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
        assert_eq!(*order.lock().unwrap(), (0..WAITING).collect::<Vec<_>>());
    }

    #[tokio::test]
    async fn who_waits_can_be_stopped_and_nobody_comes_when_it_closes() {
        let (places, conversation) = (RunQueue::default(), Id::new());
        let _first = places.enter(place(conversation), AdmissionPolicy::Now).unwrap();
        let second = place(conversation);
        let run = second.run;
        let second = places.enter(second, AdmissionPolicy::Behind).unwrap();
        assert!(!places.stop(UserId(Id::new()), run), "another person's");
        assert!(places.stop(UserId::OWNER, run));
        assert!(!second.turn().await && second.stopped());
        drop(second);
        assert!(!places.stop_all());
        assert!(places.enter(place(Id::new()), AdmissionPolicy::GoesOn).is_err());
    }
}
