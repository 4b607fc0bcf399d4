//! What is due when, in memory: made from the store at the start, and kept true by every change.

use crate::Schedule;
use std::{
    collections::{BTreeSet, HashMap},
    time::{Duration, Instant},
};
use tool::{Id, UserId};

/// How long a change is waited for that was announced within a write: then the write was undone.
const UNDONE: Duration = Duration::from_secs(30);

/// What is due when.
#[derive(Default)]
pub(crate) struct Plan {
    due: BTreeSet<(i64, Id)>,
    known: HashMap<Id, PlannedTime>,
    announced: Vec<Announced>,
}

struct PlannedTime {
    user: UserId,
    due: Option<i64>,
    needs_clock: bool,
    /// Of two reports about one schedule the newer counts, in whatever order they come.
    revision: Id,
}

/// A change that a write in progress will make.
#[derive(Clone, Copy)]
pub(crate) struct Announced {
    pub user: UserId,
    pub id: Id,
    /// The revision it will have, or the moment it was taken away.
    pub revision: Id,
    pub gone: bool,
    since: Instant,
}

impl Plan {
    /// How a schedule stands.
    pub fn put(&mut self, id: Id, user: UserId, schedule: &Schedule) {
        let (due, needs_clock, revision) = (schedule.due(), schedule.needs_clock(), schedule.revision);
        let known = self.known.entry(id).or_insert(PlannedTime { user, due: None, needs_clock, revision: Id::NIL });
        if known.revision > revision {
            return;
        }
        if let Some(before) = known.due {
            self.due.remove(&(before, id));
        }
        *known = PlannedTime { user, due, needs_clock, revision };
        self.due.extend(due.map(|due| (due, id)));
    }

    /// A schedule is gone.
    pub fn forget(&mut self, id: Id) {
        if let Some(known) = self.known.remove(&id)
            && let Some(due) = known.due
        {
            self.due.remove(&(due, id));
        }
    }

    /// Those whose time has come, the oldest first; without those that go by the wall unless `believed`.
    pub fn due(&self, now: i64, believed: bool, most: usize) -> Vec<(Id, UserId)> {
        let come =
            self.due.iter().take_while(|(due, _)| *due <= now).filter_map(|(_, id)| Some((*id, self.known.get(id)?)));
        come.filter(|(_, known)| believed || !known.needs_clock)
            .take(most)
            .map(|(id, known)| (id, known.user))
            .collect()
    }

    /// When the next is due; `None` when nothing is planned.
    pub fn next(&self) -> Option<i64> {
        self.due.first().map(|(due, _)| *due)
    }

    /// All that have a time.
    pub fn all(&self) -> Vec<(Id, UserId)> {
        self.due.iter().filter_map(|(_, id)| Some((*id, self.known.get(id)?.user))).collect()
    }

    /// A write in progress changes a schedule, or takes it away.
    pub fn announce(&mut self, user: UserId, id: Id, revision: Id, gone: bool) {
        self.announced.push(Announced { user, id, revision, gone, since: Instant::now() });
    }

    /// What was announced and has not been seen yet.
    pub fn announced(&mut self) -> Vec<Announced> {
        std::mem::take(&mut self.announced)
    }

    /// It cannot be seen yet: it is looked for again, for a while.
    pub fn not_yet(&mut self, announced: Announced) {
        if announced.since.elapsed() < UNDONE {
            self.announced.push(announced);
        }
    }

    /// Whether something announced is still to be seen.
    pub fn expects(&self) -> bool {
        !self.announced.is_empty()
    }
}
