//! State transitions of a schedule, as pure functions over the record.

use crate::{Missed, Run, Schedule, Status, clock::EARLIEST, record::RecurrenceKind, when::CompiledRecurrence};
use jiff::tz::TimeZone;
use tool::Id;

/// How late a run may start and still count as on time, in milliseconds.
const GRACE: i64 = 60_000;
/// How many missed times get a run of their own.
const MOST: u32 = 100;
/// How far a clock may be set back without repeating runs. A clock set back further had been wrong: what ran then ran at
/// the wrong time, and waiting until the clock is there again would mean hours without runs.
const REPEATS: i64 = 3_600_000;

/// A run to store.
pub(crate) type NewRun = (Id, Run);

/// Takes everything due up to `now` and advances to the next due time. Returns the runs to store; the one that
/// `schedule.running` names, if any, is to be executed. `free` is whether it can start at once.
pub(crate) fn take(id: Id, schedule: &mut Schedule, now: i64, household: &TimeZone, free: bool) -> Vec<NewRun> {
    if schedule.due().is_none_or(|due| due > now) {
        return vec![];
    }
    schedule.revision = Id::new();
    let Some(work) = schedule.recurrence().and_then(|recurrence| recurrence.compile(household)) else {
        schedule.next_ms = None;
        return vec![];
    };
    let mut runs = vec![];
    match schedule.next_ms.filter(|next| *next <= now) {
        Some(first) => {
            // A new due time replaces a retry.
            schedule.retry_ms = None;
            let last = handle_due(id, schedule, &work, first, now, free, &mut runs);
            schedule.taken_ms = schedule.taken_ms.max(Some(last));
            schedule.next_ms = work.next_after(last).filter(|next| schedule.ends_ms.is_none_or(|ends| *next <= ends));
        }
        None => {
            let (slot, attempt) = (schedule.retry_slot_ms, schedule.retry_attempt);
            schedule.retry_ms = None;
            runs.push(begin(id, schedule, slot, 1, attempt, now, free));
        }
    }
    if schedule.max_runs > 0 && schedule.runs >= schedule.max_runs {
        schedule.next_ms = None;
    }
    // Missed for good.
    if schedule.next_ms.is_none() && schedule.running.is_none() {
        schedule.enabled = false;
    }
    runs
}

/// Handles the due times from `first` up to `now` according to the missed policy. Returns the last one handled.
fn handle_due(
    id: Id,
    schedule: &mut Schedule,
    work: &CompiledRecurrence,
    first: i64,
    now: i64,
    free: bool,
    runs: &mut Vec<NewRun>,
) -> i64 {
    let until = schedule.ends_ms.map_or(now, |ends| now.min(ends));
    let latest = work.latest(first, until);
    let count = work.count(first, latest);
    let noted = |status, scheduled_ms, count| {
        let run = Run { schedule: id, scheduled_ms, finished_ms: Some(now), status, count, ..blank() };
        (Id::new(), run)
    };
    let mut miss = |schedule: &mut Schedule, scheduled_ms, count| {
        schedule.ended_as(Status::Missed);
        schedule.last_ms = schedule.last_ms.max(Some(scheduled_ms));
        runs.push(noted(Status::Missed, scheduled_ms, count));
    };
    match schedule.missed {
        Missed::All => {
            let slot = match count > MOST {
                true => (1..MOST).fold(latest, |slot, _| work.latest(first, slot - 1)),
                false => first,
            };
            if slot > first {
                let before = work.latest(first, slot - 1);
                miss(schedule, before, work.count(first, before));
            }
            runs.push(begin(id, schedule, slot, 1, 1, now, free));
            slot
        }
        Missed::Skip if now.saturating_sub(latest) > GRACE => {
            miss(schedule, latest, count);
            latest
        }
        policy => {
            let mut stands_for = count;
            if policy == Missed::Skip && count > 1 {
                miss(schedule, work.latest(first, latest - 1), count - 1);
                stands_for = 1;
            }
            match schedule.running {
                Some(_) => runs.push(noted(Status::Skipped, latest, stands_for)),
                None => runs.push(begin(id, schedule, latest, stands_for, 1, now, free)),
            }
            latest
        }
    }
}

/// Starts a run, or queues it. The first attempt counts as a run of the schedule.
pub(crate) fn begin(
    id: Id,
    schedule: &mut Schedule,
    scheduled_ms: i64,
    count: u32,
    attempt: u32,
    now: i64,
    free: bool,
) -> NewRun {
    let (run, status) = (Id::new(), if free { Status::Started } else { Status::Waiting });
    schedule.running = Some(run);
    if attempt == 1 {
        schedule.runs = schedule.runs.saturating_add(1);
    }
    (run, Run { schedule: id, scheduled_ms, started_ms: free.then_some(now), status, count, attempt, ..blank() })
}

/// A run with default values.
pub(crate) fn blank() -> Run {
    Run {
        schedule: Id::NIL,
        scheduled_ms: 0,
        started_ms: None,
        finished_ms: None,
        status: Status::Waiting,
        attempt: 1,
        count: 1,
        result: String::new(),
        error: String::new(),
        by_hand: false,
        repeats: 0,
        keyed: true,
        clear: false,
    }
}

/// Recomputes the due times after the clock was set or became trusted. `shift` moves times that follow elapsed time.
/// Returns whether the schedule changed.
pub(crate) fn replan(schedule: &mut Schedule, now: i64, shift: Option<i64>, household: &TimeZone) -> bool {
    let before = (schedule.next_ms, schedule.retry_ms);
    if let Some(by) = shift {
        let moved = |at: i64| at.saturating_add(by);
        schedule.retry_ms = schedule.retry_ms.map(moved);
        if !schedule.needs_clock() {
            schedule.next_ms = schedule.next_ms.map(moved);
            schedule.at_ms = moved(schedule.at_ms);
        }
    }
    match schedule.sort {
        RecurrenceKind::Cron => {
            let ran = schedule.taken_ms.filter(|last| *last > now && last.saturating_sub(now) <= REPEATS);
            let next = next(schedule, ran.unwrap_or(now), household);
            // A missed time stays, and is handled when it is taken.
            if schedule.next_ms.is_some_and(|planned| planned > now) {
                schedule.next_ms = next;
            }
        }
        // A wait longer than the interval was computed on a clock ahead of time.
        RecurrenceKind::Every if schedule.next_ms.is_some_and(|next| next.saturating_sub(now) > schedule.every_ms) => {
            schedule.at_ms = now;
            schedule.next_ms = Some(now.saturating_add(schedule.every_ms));
        }
        _ => {}
    }
    let changed = before != (schedule.next_ms, schedule.retry_ms);
    if changed {
        schedule.revision = Id::new();
    }
    changed
}

/// Adjusts a schedule loaded at start-up to the current clock. `newest` is the newest time seen before.
pub(crate) fn resume(schedule: &mut Schedule, now: i64, newest: i64, trusted: bool, household: &TimeZone) -> bool {
    let Some(next) = schedule.next_ms.filter(|_| schedule.enabled) else { return false };
    if schedule.needs_clock() {
        return trusted && replan(schedule, now, None, household);
    }
    let left = match (trusted, next < EARLIEST) {
        // The rest of the interval at the time when Hob last ran.
        (false, _) => next.saturating_sub(newest).clamp(0, schedule.every_ms.max(0)),
        // Planned on a clock that had not been set.
        (true, true) => schedule.every_ms.max(0),
        (true, false) => return replan(schedule, now, None, household),
    };
    schedule.next_ms = Some(now.saturating_add(left));
    schedule.at_ms = now.saturating_add(left);
    schedule.revision = Id::new();
    true
}

/// The first due time after `after` within the schedule's end.
pub(crate) fn next(schedule: &Schedule, after: i64, household: &TimeZone) -> Option<i64> {
    let next = schedule.recurrence()?.compile(household)?.next_after(after)?;
    Some(next).filter(|next| schedule.ends_ms.is_none_or(|ends| *next <= ends))
}

#[cfg(test)]
mod tests;
