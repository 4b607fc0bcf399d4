//! Timers: countdowns that the whole household sees. A timer is a record; the engine moves it on when it is due.

mod record;
mod ring;

pub use record::{Timer, TimerState};

use crate::Scheduler;
use record::ALL;
use serde_json::{Value, json};
use std::sync::PoisonError;
use store::{Audience, Entry, Listing, Stamp, Tx};
use tool::{Cx, Error, Id, Label, Result, Scope};

/// Maximum number of timers of the household.
const MOST: usize = 50;
/// The topic of their events.
const TOPIC: &str = "timer";

/// The household's timers; cheap to clone.
#[derive(Clone)]
pub struct Timers(Scheduler);

impl Scheduler {
    /// The household's timers.
    pub fn timers(&self) -> Timers {
        Timers(self.clone())
    }
}

impl Timers {
    /// All timers, the oldest first. Names by other members taint the run.
    ///
    /// # Errors
    /// `Failed` if the data cannot be read.
    pub fn list(&self, cx: &Cx) -> Result<Vec<Entry<Timer>>> {
        let mut all = self.0.0.timers.list(cx, &Listing { before: None, limit: 2 * MOST, by: None })?;
        all.reverse();
        Ok(all)
    }

    /// Sets a timer: the existing one `again` to a new length, or a new one.
    ///
    /// # Errors
    /// `BadArgs` if there are too many; `NotFound` if `again` has ended meanwhile; `Unavailable` if the disk is full.
    pub async fn set(&self, cx: &Cx, again: Option<Id>, name: String, duration_ms: i64) -> Result<Entry<Timer>> {
        let now = self.0.now();
        if let Some(id) = again {
            let restart = move |timer: &mut Timer| {
                timer.restart(duration_ms, now);
                if !name.is_empty() && !name.eq_ignore_ascii_case(&timer.name) {
                    timer.name.clone_from(&name);
                }
                Ok(())
            };
            return self.change(cx, id, restart).await;
        }
        let (timers, id) = (self.0.0.timers.clone(), Id::new());
        let stamp = Stamp { audience: Audience::Household, ..timers.stamp(cx, "set_timer") };
        let stored = self.0.0.timers.store().write(move |tx| {
            if timers.find(tx, Scope::Household, ALL, &[])?.len() >= MOST {
                let full = format!("there are {MOST} timers already: cancel one first");
                return Err(store::Error::Conflict(full));
            }
            timers.put(tx, id, &stamp, &Timer::new(name.clone(), duration_ms, now))
        });
        let stored = stored.await?;
        self.moved(&stored, stored.value.state.word());
        Ok(stored)
    }

    /// Changes a timer. `change` may refuse with `Conflict`, which reaches the caller as `BadArgs`.
    ///
    /// # Errors
    /// `NotFound` if it has ended meanwhile; the error of `change`; `Unavailable` if the disk is full.
    pub async fn change(
        &self,
        cx: &Cx,
        id: Id,
        change: impl FnMut(&mut Timer) -> store::Result<()> + Send + 'static,
    ) -> Result<Entry<Timer>> {
        let changed = self.0.0.timers.update_in(Scope::Household, cx.label(), id, change).await;
        let changed = changed.map_err(|error| match error {
            store::Error::Missing(_) => ended(),
            other => other.into(),
        })?;
        self.moved(&changed, changed.value.state.word());
        Ok(changed)
    }

    /// Ends timers and publishes how: `cancelled` or `stopped`. Those that have ended meanwhile are skipped.
    ///
    /// # Errors
    /// `NotFound` if all of them have ended meanwhile; `Unavailable` if the disk is full.
    pub async fn end(&self, ids: &[Id], how: &str) -> Result<Vec<Entry<Timer>>> {
        let (timers, ids) = (self.0.0.timers.clone(), ids.to_vec());
        let ended = self.0.0.timers.store().write(move |tx: &Tx| {
            let mut ended = vec![];
            for id in &ids {
                ended.extend(timers.read(tx, Scope::Household, *id)?);
                timers.remove(tx, Scope::Household, *id)?;
            }
            Ok(ended)
        });
        let gone = ended.await?;
        gone.iter().for_each(|timer| self.moved(timer, how));
        if gone.is_empty() { Err(self::ended()) } else { Ok(gone) }
    }

    /// After an undo made a timer what it was before, or removed it.
    pub fn was_put_back(&self, id: Id) {
        match self.0.0.timers.get_in(Scope::Household, id) {
            Ok(Some(now)) => self.moved(&now, now.value.state.word()),
            Ok(None) => {
                self.0.plan_timers();
                self.0.0.ports.bus.publish(TOPIC, None, json!({"id": id, "state": "cancelled", "durationSeconds": 0}));
            }
            Err(error) => tracing::error!(%error, "a timer could not be read after an undo"),
        }
    }

    /// The form of a timer on the wire; `state` is its own, or how it ended.
    pub fn view(&self, entry: &Entry<Timer>, state: &str) -> Value {
        view(entry, state, self.0.now())
    }

    /// Updates the plan and publishes an event after a timer changed.
    fn moved(&self, entry: &Entry<Timer>, state: &str) {
        self.0.plan_timers();
        self.0.publish_timer(entry, state);
    }
}

impl Scheduler {
    /// Every timer, for the engine.
    fn all_timers(&self) -> store::Result<Vec<Entry<Timer>>> {
        let mut all = vec![];
        self.0.timers.scan(|entry| all.push(entry))?;
        Ok(all)
    }

    /// Looks up when the engine has to see to a timer next.
    fn plan_timers(&self) {
        // Looked up under the lock: of two changes at once, the later reader sees both.
        let mut next = self.0.timers_due.lock().unwrap_or_else(PoisonError::into_inner);
        match self.all_timers() {
            Ok(all) => *next = all.iter().filter_map(|entry| entry.value.due()).min(),
            // The engine looks again at once.
            Err(error) => {
                tracing::error!(%error, "the timers could not be read");
                *next = Some(self.now());
            }
        }
        drop(next);
        self.0.changed.notify_one();
    }

    fn publish_timer(&self, entry: &Entry<Timer>, state: &str) {
        self.0.ports.bus.publish(TOPIC, None, view(entry, state, self.now()));
    }
}

fn view(entry: &Entry<Timer>, state: &str, now: i64) -> Value {
    let timer = &entry.value;
    let moment = |ms| jiff::Timestamp::from_millisecond(ms).ok().map(|at| at.to_string());
    let mut view = json!({
        "id": entry.id,
        "name": timer.name,
        "title": timer.title(),
        "state": state,
        "durationSeconds": timer.duration_ms / 1000,
        "remainingSeconds": timer.left_ms(now).saturating_add(999) / 1000,
        "setBy": entry.owner,
        "now": moment(now),
    });
    let ends = if timer.state == TimerState::Paused { None } else { moment(timer.ends_ms) };
    if let (Some(ends), Some(fields)) = (ends, view.as_object_mut()) {
        fields.insert("endsAt".into(), ends.into());
        if timer.state == TimerState::Ringing {
            fields.insert("rangAt".into(), moment(timer.rang_ms).into());
            fields.insert("late".into(), timer.is_late().into());
        }
    }
    view
}

fn ended() -> Error {
    Error::not_found("that timer has ended meanwhile")
}

/// A label for what the engine itself writes.
const ENGINE: Label = Label::Own;
