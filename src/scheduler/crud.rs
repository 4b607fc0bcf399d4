//! Creating, changing and listing schedules: for a person, and as part of another record's write.

use crate::{
    Kind, Missed, Recurrence, Run, Schedule, Scheduler,
    record::{BY_NAME, BY_SCHEDULE},
    transitions,
};
use jiff::Zoned;
use serde_json::json;
use store::{Audience, Entry, Stamp, Tx, Visit, Walk, order};
use text_kit::{join_and, moment_words, plural, which_one};
use tool::{AgentId, Cx, Error, Id, Label, PreauthorizedCall, Result, Scope, UserId};

/// Maximum number of schedules per person.
const MOST: usize = 20_000;
/// Retries of a schedule that belongs to another record.
const RETRIES: u32 = 3;
/// How many candidates an ambiguous name lists.
const NAMED: usize = 5;

/// A schedule to create.
#[derive(Debug, Clone)]
pub struct New {
    /// Display name.
    pub name: String,
    /// Short description.
    pub description: String,
    /// The recurrence as written.
    pub written: String,
    /// The parsed recurrence.
    pub recurrence: Recurrence,
    /// The call it makes.
    pub action: PreauthorizedCall,
    /// Whether it is active.
    pub enabled: bool,
    /// Policy for missed times.
    pub missed: Missed,
    /// How often a failed run is retried.
    pub retries: u32,
    /// Delay before the first retry, in milliseconds.
    pub retry_delay_ms: i64,
    /// No due times after this moment.
    pub ends_ms: Option<i64>,
    /// No due times after this many runs; 0 means unlimited.
    pub max_runs: u32,
}

/// Changes to a schedule; `None` leaves a field as it is.
#[derive(Debug, Clone, Default)]
pub struct Change {
    /// Display name.
    pub name: Option<String>,
    /// Short description.
    pub description: Option<String>,
    /// The recurrence as written, and parsed.
    pub recurrence: Option<(String, Recurrence)>,
    /// The call it makes.
    pub action: Option<PreauthorizedCall>,
    /// Whether it is active.
    pub enabled: Option<bool>,
    /// Policy for missed times.
    pub missed: Option<Missed>,
    /// How often a failed run is retried.
    pub retries: Option<u32>,
    /// Delay before the first retry, in milliseconds.
    pub retry_delay_ms: Option<i64>,
    /// No due times after this moment; `Some(None)` removes the limit.
    pub ends_ms: Option<Option<i64>>,
    /// No due times after this many runs; 0 means unlimited.
    pub max_runs: Option<u32>,
}

/// A schedule owned by another record and created in that record's write; hidden from lists.
#[derive(Debug, Clone)]
pub struct Planned {
    /// The person it runs for.
    pub user: UserId,
    /// The agent acting for them.
    pub agent: AgentId,
    /// The id of the owning record, which becomes the schedule's id.
    pub key: Id,
    /// Its purpose; not [`Kind::Task`].
    pub kind: Kind,
    /// Name in events and the log.
    pub name: String,
    /// The recurrence as written.
    pub written: String,
    /// The parsed recurrence.
    pub recurrence: Recurrence,
    /// The call it makes.
    pub action: PreauthorizedCall,
    /// Policy for missed times.
    pub missed: Missed,
    /// The label of the owning record.
    pub label: Label,
}

/// A notice to a person at a given time, on behalf of another record.
#[derive(Debug, Clone)]
pub struct Reminder {
    /// The recipient.
    pub user: UserId,
    /// The agent acting for them.
    pub agent: AgentId,
    /// The id of the owning record.
    pub key: Id,
    /// When to send it.
    pub at: jiff::Timestamp,
    /// Title.
    pub title: String,
    /// Text.
    pub text: String,
    /// The label of the owning record.
    pub label: Label,
}

impl Scheduler {
    /// Creates a schedule for this caller, in one commit.
    ///
    /// # Errors
    /// `BadArgs` if it would never run or the caller has too many; `Unavailable` if the disk is full.
    pub async fn create(&self, cx: &Cx, new: New) -> Result<Entry<Schedule>> {
        let now = self.now();
        let mut schedule = Schedule::new(new.name, new.written, &new.recurrence, cx.agent(), &new.action);
        schedule.description = new.description;
        schedule.enabled = new.enabled;
        schedule.missed = new.missed;
        (schedule.retries, schedule.retry_delay_ms) = (new.retries, new.retry_delay_ms);
        (schedule.ends_ms, schedule.max_runs, schedule.changed_ms) = (new.ends_ms, new.max_runs, now);
        schedule.next_ms = transitions::next(&schedule, now, &self.0.ports.clock.zone());
        if schedule.next_ms.is_none() {
            return Err(Error::bad_args("it ends before its first time: give a later end, or an earlier time"));
        }
        self.room(cx)?;
        let kept = self.0.schedules.insert(cx, "create_scheduled_task", schedule).await?;
        self.planned(&kept, "added");
        Ok(kept)
    }

    /// Refuses to exceed the limit; so many schedules are probably a loop.
    fn room(&self, cx: &Cx) -> Result<()> {
        let mut counts = self.0.counts.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let count = match counts.get_mut(&cx.user()) {
            Some(count) => count,
            None => {
                let have = self.0.schedules.count(cx, &Walk::prefix(BY_NAME, []))?;
                counts.entry(cx.user()).or_insert(have)
            }
        };
        if *count >= MOST {
            return Err(Error::bad_args(format!(
                "you have {MOST} scheduled tasks, which is the limit: delete some; `list_scheduled_tasks` shows them"
            )));
        }
        *count += 1;
        Ok(())
    }

    /// Changes one of the caller's schedules, by id or name.
    ///
    /// # Errors
    /// As [`Scheduler::find`]; `BadArgs` if it is to be active but would never run.
    pub async fn update(&self, cx: &Cx, which: &str, change: Change) -> Result<Entry<Schedule>> {
        let found = self.find(cx, which)?;
        let (now, zone, this) = (self.now(), self.0.ports.clock.zone(), self.clone());
        let (scope, label, id) = (Scope::User(cx.user()), cx.label(), found.id);
        let changed = self.0.schedules.store().write(move |tx| {
            this.0.schedules.change(tx, scope, label, id, &mut |schedule: &mut Schedule| {
                apply(schedule, &change, now, &zone);
                match schedule.enabled && schedule.next_ms.is_none() && schedule.running.is_none() {
                    true => Err(store::Error::Conflict(
                        "its time has passed, or it ends before its next time: give it another schedule or a later end"
                            .into(),
                    )),
                    false => Ok(()),
                }
            })
        });
        let changed = changed.await?;
        self.planned(&changed, "changed");
        Ok(changed)
    }

    /// Deletes one of the caller's schedules, with its history.
    ///
    /// # Errors
    /// As [`Scheduler::find`].
    pub async fn delete(&self, cx: &Cx, which: &str) -> Result<Entry<Schedule>> {
        let found = self.find(cx, which)?;
        let (this, user, id) = (self.clone(), cx.user(), found.id);
        if !self.0.schedules.store().write(move |tx| this.remove(tx, user, id)).await? {
            return Err(not_found(which));
        }
        self.plan().forget(id);
        let mut counts = self.0.counts.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(count) = counts.get_mut(&user) {
            *count = count.saturating_sub(1);
        }
        drop(counts);
        self.tell(user, id, "deleted");
        Ok(found)
    }

    /// Deletes a schedule and its runs.
    pub(crate) fn remove(&self, tx: &Tx, user: UserId, id: Id) -> store::Result<bool> {
        let scope = Scope::User(user);
        for run in self.0.runs.find(tx, scope, BY_SCHEDULE, id.as_bytes())? {
            self.0.runs.remove(tx, scope, run.id)?;
        }
        self.0.schedules.remove(tx, scope, id)
    }

    /// Finds one of the caller's schedules by id, exact name, or words of the name.
    ///
    /// # Errors
    /// `NotFound`; `BadArgs` if several match, with their ids.
    pub fn find(&self, cx: &Cx, which: &str) -> Result<Entry<Schedule>> {
        let which = which.trim();
        if let Ok(id) = which.parse::<Id>() {
            let found = self.0.schedules.peek(cx, id)?.filter(|found| found.value.kind == Kind::Task);
            let found = found.ok_or_else(|| not_found(which))?;
            cx.taint(found.label);
            return Ok(found);
        }
        if which.is_empty() {
            let text = "say which scheduled task: by its id, which `list_scheduled_tasks` shows, or by its name";
            return Err(Error::bad_args(text).say("Which reminder?"));
        }
        let exact = self.0.schedules.walk(cx, &Walk::prefix(BY_NAME, order::text(which)), |_| Visit::Yes)?;
        let wanted = words(which);
        let fits = |entry: &Entry<Schedule>| {
            let name = words(&entry.value.name);
            if !wanted.is_empty() && wanted.iter().all(|word| name.contains(word)) { Visit::Yes } else { Visit::No }
        };
        let found = match exact.is_empty() {
            true => self.0.schedules.walk(cx, &Walk::prefix(BY_NAME, []), fits)?,
            false => exact,
        };
        let open: Vec<_> = found.iter().filter(|entry| !entry.value.is_over()).cloned().collect();
        let mut meant = if open.is_empty() { found } else { open };
        match meant.len() {
            0 => Err(not_found(which)),
            1 => Ok(meant.remove(0)),
            _ => Err(several(which, &meant, &cx.ports().clock.local())),
        }
    }

    /// The caller's schedules that pass `wanted`: those with a due time first, soonest first.
    ///
    /// # Errors
    /// `Failed` if the data cannot be read.
    pub fn list(&self, cx: &Cx, wanted: impl Fn(&Schedule) -> bool) -> Result<Vec<Entry<Schedule>>> {
        let keep = |entry: &Entry<Schedule>| if wanted(&entry.value) { Visit::Yes } else { Visit::No };
        let mut all = self.0.schedules.walk(cx, &Walk::prefix(BY_NAME, []), keep)?;
        all.sort_by_key(|entry| (entry.value.next_ms.filter(|_| entry.value.enabled).unwrap_or(i64::MAX), entry.id));
        Ok(all)
    }

    /// The latest runs of a schedule, newest first.
    ///
    /// # Errors
    /// `Failed` if the data cannot be read.
    pub fn history(&self, cx: &Cx, schedule: Id, limit: usize) -> Result<Vec<Entry<Run>>> {
        let mut kept = 0;
        let keep = |_: &Entry<Run>| {
            kept += 1;
            if kept > limit { Visit::Stop } else { Visit::Yes }
        };
        Ok(self.0.runs.walk(cx, &Walk::prefix(BY_SCHEDULE, schedule.as_bytes()).down(), keep)?)
    }

    /// Creates or replaces the schedule of a record, within that record's write.
    ///
    /// # Errors
    /// Any store error.
    pub fn plan_in(&self, tx: &Tx, planned: &Planned) -> store::Result<()> {
        let (user, key) = (planned.user, planned.key);
        let recurrence = &planned.recurrence;
        let mut schedule =
            Schedule::new(planned.name.clone(), planned.written.clone(), recurrence, planned.agent, &planned.action);
        (schedule.kind, schedule.missed, schedule.retries) = (planned.kind, planned.missed, RETRIES);
        schedule.changed_ms = self.now();
        schedule.next_ms = match recurrence {
            // A moment that has just passed still runs.
            Recurrence::Once { at, .. } => Some(*at),
            _ => transitions::next(&schedule, self.now(), &self.0.ports.clock.zone()),
        };
        let stamp = Stamp {
            scope: Scope::User(user),
            owner: user,
            audience: Audience::Private,
            label: planned.label,
            source: "schedule".into(),
        };
        self.0.schedules.put(tx, key, &stamp, &schedule)?;
        self.plan().announce(user, key, schedule.revision, false);
        self.0.changed.notify_one();
        Ok(())
    }

    /// Deletes the schedule of a record with its runs, within that record's write; does nothing if there is none.
    ///
    /// # Errors
    /// Any store error.
    pub fn forget(&self, tx: &Tx, user: UserId, key: Id) -> store::Result<()> {
        if self.remove(tx, user, key)? {
            self.plan().announce(user, key, Id::new(), true);
            self.0.changed.notify_one();
        }
        Ok(())
    }

    /// Within the write that makes a schedule what it was before a change, or removes it: plans its next due time. Times that
    /// passed meanwhile are not made up for.
    ///
    /// # Errors
    /// Any store error.
    pub fn put_back_in(&self, tx: &Tx, user: UserId, id: Id) -> store::Result<()> {
        let (scope, now, zone) = (Scope::User(user), self.now(), self.0.ports.clock.zone());
        let Some(found) = self.0.schedules.read(tx, scope, id)? else {
            for run in self.0.runs.find(tx, scope, BY_SCHEDULE, id.as_bytes())? {
                self.0.runs.remove(tx, scope, run.id)?;
            }
            self.plan().announce(user, id, Id::new(), true);
            return Ok(());
        };
        let planned = self.0.schedules.change(tx, scope, Label::Own, found.id, &mut |schedule: &mut Schedule| {
            let done = schedule.max_runs > 0 && schedule.runs >= schedule.max_runs;
            schedule.next_ms = transitions::next(schedule, now, &zone).filter(|_| !done);
            schedule.enabled &= schedule.next_ms.is_some() || schedule.running.is_some();
            schedule.revision = Id::new();
            Ok(())
        })?;
        self.plan().announce(user, id, planned.value.revision, false);
        Ok(())
    }

    /// After such a write.
    pub fn was_put_back(&self) {
        // Counted again with the next one that is created.
        self.0.counts.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clear();
        self.0.changed.notify_one();
    }

    /// Creates or replaces the reminder of a record, within that record's write.
    ///
    /// # Errors
    /// Any store error.
    pub fn remind(&self, tx: &Tx, reminder: Reminder) -> store::Result<()> {
        let Reminder { user, agent, key, at, title, text, label } = reminder;
        let args = json!({"text": text, "title": title});
        let action = PreauthorizedCall { tool: "notify".into(), version: 0, args, digest: [0; 32], consented: false };
        let recurrence = Recurrence::Once { at: at.as_millisecond(), zone: None };
        self.plan_in(
            tx,
            &Planned {
                user,
                agent,
                key,
                kind: Kind::Reminder,
                name: title,
                written: at.to_string(),
                recurrence,
                action,
                missed: Missed::Once,
                label,
            },
        )
    }

    /// Updates the plan and publishes an event after a person's schedule changed.
    fn planned(&self, entry: &Entry<Schedule>, change: &str) {
        self.plan().put(entry.id, entry.owner, &entry.value);
        self.0.changed.notify_one();
        self.tell(entry.owner, entry.id, change);
    }

    pub(crate) fn tell(&self, user: UserId, id: Id, change: &str) {
        self.0.ports.bus.publish("schedules:changed", Some(user), json!({"id": id, "change": change}));
    }

    pub(crate) fn now(&self) -> i64 {
        self.0.ports.clock.now().as_millisecond()
    }
}

/// Applies `change`; a changed recurrence counts from `now`.
fn apply(schedule: &mut Schedule, change: &Change, now: i64, zone: &jiff::tz::TimeZone) {
    let set = |field: &mut String, value: &Option<String>| value.iter().for_each(|v| field.clone_from(v));
    set(&mut schedule.name, &change.name);
    set(&mut schedule.description, &change.description);
    schedule.missed = change.missed.unwrap_or(schedule.missed);
    schedule.retries = change.retries.unwrap_or(schedule.retries);
    schedule.retry_delay_ms = change.retry_delay_ms.unwrap_or(schedule.retry_delay_ms);
    schedule.ends_ms = change.ends_ms.unwrap_or(schedule.ends_ms);
    schedule.max_runs = change.max_runs.unwrap_or(schedule.max_runs);
    if let Some(action) = &change.action {
        schedule.set_action(action);
    }
    // A finished schedule with a new recurrence becomes active again.
    let on = change.enabled.unwrap_or(schedule.enabled || (change.recurrence.is_some() && schedule.is_over()));
    if let Some((written, recurrence)) = &change.recurrence {
        schedule.set_recurrence(written.clone(), recurrence);
    }
    let again = (on && !schedule.enabled) || change.recurrence.is_some();
    schedule.enabled = on;
    if again || change.ends_ms.is_some() || change.max_runs.is_some() {
        let done = schedule.max_runs > 0 && schedule.runs >= schedule.max_runs;
        let from = if again { now } else { schedule.next_ms.map_or(now, |next| next - 1) };
        schedule.next_ms = transitions::next(schedule, from, zone).filter(|_| on && !done);
    }
    if again || change.action.is_some() {
        (schedule.retry_ms, schedule.refused) = (None, 0);
        schedule.stopped.clear();
    }
    schedule.changed_ms = now;
    schedule.revision = Id::new();
}

fn words(text: &str) -> Vec<String> {
    let all = text.to_lowercase();
    all.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty()).map(str::to_owned).collect()
}

fn not_found(which: &str) -> Error {
    let which: String = which.chars().take(80).collect();
    let said = match which.to_lowercase().as_str() {
        "alarm" => "No alarm is set.".to_owned(),
        "reminder" => "There is no reminder.".to_owned(),
        _ => format!("I found no reminder called “{which}”."),
    };
    Error::not_found(format!("there is no scheduled task `{which}`: `list_scheduled_tasks` lists them with ids"))
        .say(said)
}

fn several(which: &str, meant: &[Entry<Schedule>], now: &Zoned) -> Error {
    let named: Vec<String> =
        meant.iter().take(NAMED).map(|entry| format!("`{}` ({})", entry.value.name, entry.id)).collect();
    let rest = if meant.len() > NAMED { ", …" } else { "" };
    let which: String = which.chars().take(80).collect();
    let count = meant.len();
    let text = format!("{count} scheduled tasks fit `{which}`; name one by its id: {}{rest}", named.join(", "));
    let first = &meant[0].value.name;
    let is_alike = meant.iter().all(|entry| entry.value.name == *first);
    let called = |entry: &Entry<Schedule>| match entry.value.recurrence() {
        Some(Recurrence::Once { at, .. }) if is_alike => {
            let at = jiff::Timestamp::from_millisecond(at).unwrap_or_else(|_| now.timestamp());
            moment_words(&at.to_zoned(now.time_zone().clone()), now)
        }
        Some(recurrence) if is_alike => recurrence.text(now),
        _ => entry.value.name.clone(),
    };
    let all: Vec<String> = meant.iter().take(NAMED).map(called).collect();
    let noun = if which.eq_ignore_ascii_case("alarm") { "alarm" } else { "reminder" };
    Error::bad_args(text).say(match is_alike {
        true => format!("There are {count} {}: {}. Choose one on the page.", plural(noun), join_and(&all)),
        false => which_one(noun, &all),
    })
}
