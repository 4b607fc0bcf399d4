//! The next due schedules of a person, for a view of the day: from the plan in memory, which knows when each is due.

use crate::{Kind, Schedule, Scheduler};
use store::Entry;
use tool::{Cx, Result};

/// The most schedules that are read.
const READ: usize = 200;

/// The next due schedules, soonest first.
#[derive(Debug)]
pub struct Upcoming {
    /// Each with its next time, in milliseconds since 1970.
    pub schedules: Vec<(i64, Entry<Schedule>)>,
    /// Whether there are more.
    pub more: bool,
}

impl Scheduler {
    /// The caller's scheduled calls of `tool` that are due before `until` (milliseconds since 1970), `most` at most.
    ///
    /// # Errors
    /// `Failed` if the data cannot be read.
    pub fn upcoming(&self, cx: &Cx, tool: &str, until: i64, most: usize) -> Result<Upcoming> {
        let planned = self.plan().of(cx.user(), until, READ + 1);
        let (mut found, mut more) = (vec![], planned.len() > READ);
        for (due, id) in planned.into_iter().take(READ) {
            let fits = |entry: &Entry<Schedule>| entry.value.kind == Kind::Task && entry.value.tool == tool;
            let Some(entry) = self.0.schedules.peek(cx, id)?.filter(fits) else { continue };
            if found.len() == most {
                more = true;
                break;
            }
            found.push((due, entry));
        }
        found.iter().for_each(|(_, entry)| cx.taint(entry.label));
        Ok(Upcoming { schedules: found, more })
    }
}
