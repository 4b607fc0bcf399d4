//! The engine's part of timers: rings them when due, silences them after a while, and moves them with the clock.

use super::{ENGINE, Timer, TimerState};
use crate::{Reminder, Scheduler};
use std::sync::PoisonError;
use store::{Entry, Tx};
use text_kit::clock_words;
use tool::{AgentId, Id, Scope};

/// How long a timer may have been due, in milliseconds, when Hob was last running.
const OVERDUE_MS: i64 = 5000;

impl Scheduler {
    /// Plans the timers after a start. With a clock that is not set yet, the time that was left when Hob was last running is
    /// left then too. `newest` is the newest time seen before.
    pub(crate) async fn load_timers(&self, now: i64, newest: i64, trusted: bool) -> store::Result<()> {
        if !trusted && newest > now {
            // A second start before the clock is set finds times of this clock: those stay.
            let is_ahead = move |timer: &Timer| match timer.state {
                TimerState::Running => timer.ends_ms.saturating_add(OVERDUE_MS) >= newest,
                TimerState::Paused => false,
                TimerState::Ringing => timer.rang_ms > now,
            };
            self.shift_timers_where(now - newest, is_ahead).await?;
        }
        self.plan_timers();
        Ok(())
    }

    /// When a timer has to ring, or to stop ringing.
    pub(crate) fn next_timer(&self) -> Option<i64> {
        *self.0.timers_due.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Rings the timers that are due, and ends those that have rung for long enough: in one write, so that a power cut
    /// leaves each either as it was, and due again, or moved on.
    pub(crate) async fn ring_timers(&self, now: i64) -> store::Result<()> {
        if self.next_timer().is_none_or(|next| next > now) {
            return Ok(());
        }
        let due: Vec<Id> = self.all_timers()?.iter().filter(|e| is_due(e, now)).map(|e| e.id).collect();
        let this = self.clone();
        let moved = self.0.timers.store().write(move |tx| {
            let mut moved = vec![];
            for id in &due {
                moved.extend(this.move_on(tx, *id, now)?);
            }
            Ok(moved)
        });
        let moved = moved.await;
        self.plan_timers();
        for (entry, state) in &moved? {
            self.publish_timer(entry, state);
        }
        Ok(())
    }

    /// Moves on one timer that is due, unless somebody changed it meanwhile.
    fn move_on(&self, tx: &Tx, id: Id, now: i64) -> store::Result<Option<(Entry<Timer>, &'static str)>> {
        let timers = &self.0.timers;
        let Some(entry) = timers.read(tx, Scope::Household, id)?.filter(|entry| is_due(entry, now)) else {
            return Ok(None);
        };
        if entry.value.state == TimerState::Running {
            let ring = &mut |timer: &mut Timer| {
                timer.ring(now);
                Ok(())
            };
            return Ok(Some((timers.change(tx, Scope::Household, ENGINE, id, ring)?, "ringing")));
        }
        timers.remove(tx, Scope::Household, id)?;
        self.remind(tx, self.unanswered(&entry, now))?;
        Ok(Some((entry, "ended")))
    }

    /// The notice to the person who set a timer that nobody stopped.
    fn unanswered(&self, entry: &Entry<Timer>, now: i64) -> Reminder {
        let at = |ms| jiff::Timestamp::from_millisecond(ms).unwrap_or_else(|_| self.0.ports.clock.now());
        let due = at(entry.value.ends_ms).to_zoned(self.0.ports.clock.zone());
        let title = entry.value.title();
        Reminder {
            user: entry.owner,
            agent: AgentId::GENERAL,
            key: Id::new(),
            at: at(now),
            text: format!("{title}: done at {}, and nobody stopped it.", clock_words(due.time())),
            title,
            label: entry.label,
        }
    }

    /// Moves all timers along with a clock that was set by `by_ms`: they follow elapsed time.
    pub(crate) async fn shift_timers(&self, by_ms: i64) -> store::Result<()> {
        self.shift_timers_where(by_ms, |_| true).await
    }

    async fn shift_timers_where(&self, by_ms: i64, moves: impl Fn(&Timer) -> bool) -> store::Result<()> {
        let all: Vec<Id> =
            self.all_timers()?.iter().filter(|entry| moves(&entry.value)).map(|entry| entry.id).collect();
        let timers = self.0.timers.clone();
        let moved = self.0.timers.store().write(move |tx| {
            let mut moved = vec![];
            for id in &all {
                let mut changed = false;
                let shift = &mut |timer: &mut Timer| {
                    changed = timer.shift(by_ms);
                    Ok(())
                };
                match timers.change(tx, Scope::Household, ENGINE, *id, shift) {
                    Ok(entry) if changed => moved.push(entry),
                    Ok(_) | Err(store::Error::Missing(_)) => {}
                    Err(error) => return Err(error),
                }
            }
            Ok(moved)
        });
        let moved = moved.await?;
        self.plan_timers();
        moved.iter().for_each(|entry| self.publish_timer(entry, entry.value.state.word()));
        Ok(())
    }
}

fn is_due(entry: &Entry<Timer>, now: i64) -> bool {
    entry.value.due().is_some_and(|due| due <= now)
}
