//! The in-memory plan: which schedule is due when. Built from the store at start-up and updated with every change.

use crate::Schedule;
use std::{
    collections::{BTreeSet, HashMap},
    time::{Duration, Instant},
};
use tool::{Id, UserId};

/// How long to wait for an announced change; after that its write was rolled back.
const ANNOUNCE_TIMEOUT: Duration = Duration::from_secs(30);

/// Due times by schedule.
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
    /// Of two updates of one schedule the newer revision wins, in whatever order they arrive.
    revision: Id,
}

/// A change announced by a write in progress.
#[derive(Clone, Copy)]
pub(crate) struct Announced {
    pub user: UserId,
    pub id: Id,
    /// The revision it will have, or the moment of its deletion.
    pub revision: Id,
    pub gone: bool,
    since: Instant,
}

impl Plan {
    /// Adds or updates a schedule.
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

    /// Removes a schedule.
    pub fn forget(&mut self, id: Id) {
        if let Some(known) = self.known.remove(&id)
            && let Some(due) = known.due
        {
            self.due.remove(&(due, id));
        }
    }

    /// Due schedules, oldest first; only those independent of the wall clock unless `trusted`.
    pub fn due(&self, now: i64, trusted: bool, most: usize) -> Vec<(Id, UserId)> {
        let come =
            self.due.iter().take_while(|(due, _)| *due <= now).filter_map(|(_, id)| Some((*id, self.known.get(id)?)));
        come.filter(|(_, known)| trusted || !known.needs_clock).take(most).map(|(id, known)| (id, known.user)).collect()
    }

    /// The schedules of a person that are due before `until`, with their times, soonest first.
    pub fn of(&self, user: UserId, until: i64, most: usize) -> Vec<(i64, Id)> {
        let theirs = |(_, id): &&(i64, Id)| self.known.get(id).is_some_and(|known| known.user == user);
        self.due.iter().take_while(|(due, _)| *due < until).filter(theirs).take(most).copied().collect()
    }

    /// The next due time, if anything is planned.
    pub fn next(&self) -> Option<i64> {
        self.due.first().map(|(due, _)| *due)
    }

    /// All schedules with a due time.
    pub fn all(&self) -> Vec<(Id, UserId)> {
        self.due.iter().filter_map(|(_, id)| Some((*id, self.known.get(id)?.user))).collect()
    }

    /// Announces that a write in progress changes or deletes a schedule.
    pub fn announce(&mut self, user: UserId, id: Id, revision: Id, gone: bool) {
        self.announced.push(Announced { user, id, revision, gone, since: Instant::now() });
    }

    /// Takes the announced changes that have not been seen yet.
    pub fn announced(&mut self) -> Vec<Announced> {
        std::mem::take(&mut self.announced)
    }

    /// Puts back a change that is not visible yet, to look for it again for a while.
    pub fn put_back(&mut self, announced: Announced) {
        if announced.since.elapsed() < ANNOUNCE_TIMEOUT {
            self.announced.push(announced);
        }
    }

    /// Whether an announced change is still outstanding.
    pub fn has_announced(&self) -> bool {
        !self.announced.is_empty()
    }
}
