//! Making, changing and looking at schedules: as a person, and as part of another record's write.

use crate::{
    Kind, Missed, Recurrence, Run, Schedule, Scheduler,
    record::{BY_NAME, BY_SCHEDULE},
    transitions,
};
use serde_json::json;
use store::{Audience, Entry, Stamp, Tx, Visit, Walk, order};
use tool::{AgentId, Cx, Error, Id, Label, PreauthorizedCall, Result, Scope, UserId};

/// How many schedules one person may have.
const MOST: usize = 20_000;
/// How often what belongs to another record is tried again.
const RETRIES: u32 = 3;
/// How many candidates are named when a name fits several.
const NAMED: usize = 5;

/// A schedule to be made.
#[derive(Debug, Clone)]
pub struct New {
    /// What it is called.
    pub name: String,
    /// A word about it.
    pub description: String,
    /// When, as it was written.
    pub written: String,
    /// When.
    pub recurrence: Recurrence,
    /// The call it makes.
    pub action: PreauthorizedCall,
    /// Whether its times count.
    pub enabled: bool,
    /// What becomes of missed times.
    pub missed: Missed,
    /// How often a run that went wrong is tried again.
    pub retries: u32,
    /// How long until the first of these, in milliseconds.
    pub retry_delay_ms: i64,
    /// After this moment it has no more times.
    pub ends_ms: Option<i64>,
    /// After so many runs it has no more times; 0 is any number.
    pub max_runs: u32,
}

/// What is to be another about a schedule; what is `None` stays.
#[derive(Debug, Clone, Default)]
pub struct Change {
    /// What it is called.
    pub name: Option<String>,
    /// A word about it.
    pub description: Option<String>,
    /// When, as it was written, and as it was read.
    pub recurrence: Option<(String, Recurrence)>,
    /// The call it makes.
    pub action: Option<PreauthorizedCall>,
    /// Whether its times count.
    pub enabled: Option<bool>,
    /// What becomes of missed times.
    pub missed: Option<Missed>,
    /// How often a run that went wrong is tried again.
    pub retries: Option<u32>,
    /// How long until the first of these, in milliseconds.
    pub retry_delay_ms: Option<i64>,
    /// After this moment it has no more times; `Some(None)` is never.
    pub ends_ms: Option<Option<i64>>,
    /// After so many runs it has no more times; 0 is any number.
    pub max_runs: Option<u32>,
}

/// A schedule that belongs to another record, in whose write it is made: nobody sees it among their own.
#[derive(Debug, Clone)]
pub struct Planned {
    /// Whose it is.
    pub user: UserId,
    /// The agent that acts for them.
    pub agent: AgentId,
    /// The id of the record it belongs to, which becomes its own.
    pub key: Id,
    /// What it is for: not [`Kind::Task`].
    pub kind: Kind,
    /// What it is called, for events and the log.
    pub name: String,
    /// When, as it was written.
    pub written: String,
    /// When.
    pub recurrence: Recurrence,
    /// The call it makes.
    pub action: PreauthorizedCall,
    /// What becomes of missed times.
    pub missed: Missed,
    /// Where the record's content came from.
    pub label: Label,
}

/// Something a person is to be told at a moment, on account of another record.
#[derive(Debug, Clone)]
pub struct Reminder {
    /// Who is told.
    pub user: UserId,
    /// The agent that acts for them.
    pub agent: AgentId,
    /// The id of the record it belongs to.
    pub key: Id,
    /// When.
    pub at: jiff::Timestamp,
    /// The heading.
    pub title: String,
    /// What they are told.
    pub text: String,
    /// Where it came from.
    pub label: Label,
}

impl Scheduler {
    /// Keeps a schedule of this caller, in one commit.
    ///
    /// # Errors
    /// `BadArgs` when it would never run, or there are too many; `Unavailable` when the disk is full.
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

    /// Too many schedules are a mistake, of a loop perhaps.
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
                "you have {MOST} scheduled tasks, and there is no room for more: delete some, `list_scheduled_tasks` shows them"
            )));
        }
        *count += 1;
        Ok(())
    }

    /// Changes the schedule this caller means, by its id or its name.
    ///
    /// # Errors
    /// As [`Scheduler::find`]; `BadArgs` when it would never run any more although it is to.
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

    /// Deletes the schedule this caller means, with its history.
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

    /// A schedule and its runs go.
    pub(crate) fn remove(&self, tx: &Tx, user: UserId, id: Id) -> store::Result<bool> {
        let scope = Scope::User(user);
        for run in self.0.runs.find(tx, scope, BY_SCHEDULE, id.as_bytes())? {
            self.0.runs.remove(tx, scope, run.id)?;
        }
        self.0.schedules.remove(tx, scope, id)
    }

    /// The schedule this caller means: an id, or a name (the whole of it, else some words of it).
    ///
    /// # Errors
    /// `NotFound`; `BadArgs` when several fit, with their ids.
    pub fn find(&self, cx: &Cx, which: &str) -> Result<Entry<Schedule>> {
        let which = which.trim();
        if let Ok(id) = which.parse::<Id>() {
            let found = self.0.schedules.peek(cx, id)?.filter(|found| found.value.kind == Kind::Task);
            let found = found.ok_or_else(|| not_found(which))?;
            cx.taint(found.label);
            return Ok(found);
        }
        if which.is_empty() {
            return Err(Error::bad_args(
                "say which scheduled task: by its id, which `list_scheduled_tasks` shows, or by its name",
            ));
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
            _ => Err(several(which, &meant)),
        }
    }

    /// The schedules of this caller that `wanted` lets through: those with a next time first, the soonest of them before
    /// the others.
    ///
    /// # Errors
    /// `Failed` when the data cannot be read.
    pub fn list(&self, cx: &Cx, wanted: impl Fn(&Schedule) -> bool) -> Result<Vec<Entry<Schedule>>> {
        let keep = |entry: &Entry<Schedule>| if wanted(&entry.value) { Visit::Yes } else { Visit::No };
        let mut all = self.0.schedules.walk(cx, &Walk::prefix(BY_NAME, []), keep)?;
        all.sort_by_key(|entry| (entry.value.next_ms.filter(|_| entry.value.enabled).unwrap_or(i64::MAX), entry.id));
        Ok(all)
    }

    /// The latest runs of a schedule, the newest first.
    ///
    /// # Errors
    /// `Failed` when the data cannot be read.
    pub fn history(&self, cx: &Cx, schedule: Id, limit: usize) -> Result<Vec<Entry<Run>>> {
        let mut kept = 0;
        let keep = |_: &Entry<Run>| {
            kept += 1;
            if kept > limit { Visit::Stop } else { Visit::Yes }
        };
        Ok(self.0.runs.walk(cx, &Walk::prefix(BY_SCHEDULE, schedule.as_bytes()).down(), keep)?)
    }

    /// Within the write of the record it belongs to: keeps a schedule under that record's id, in the place of an earlier
    /// one.
    ///
    /// # Errors
    /// As every write.
    pub fn plan_in(&self, tx: &Tx, planned: &Planned) -> store::Result<()> {
        let (user, key) = (planned.user, planned.key);
        let recurrence = &planned.recurrence;
        let mut schedule =
            Schedule::new(planned.name.clone(), planned.written.clone(), recurrence, planned.agent, &planned.action);
        (schedule.kind, schedule.missed, schedule.retries) = (planned.kind, planned.missed, RETRIES);
        schedule.changed_ms = self.now();
        schedule.next_ms = match recurrence {
            // A moment that has just passed is made up for, and not forgotten.
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

    /// Within the write of the record it belonged to: forgets the schedule, with its runs; nothing happens where there is
    /// none.
    ///
    /// # Errors
    /// As every write.
    pub fn forget(&self, tx: &Tx, user: UserId, key: Id) -> store::Result<()> {
        if self.remove(tx, user, key)? {
            self.plan().announce(user, key, Id::new(), true);
            self.0.changed.notify_one();
        }
        Ok(())
    }

    /// Within the write of the record it belongs to: tells a person something at a moment, in the place of an earlier
    /// reminder of the same record.
    ///
    /// # Errors
    /// As every write.
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

    /// A schedule of a person is new or another: the plan and whoever listens hear of it.
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

/// Changes a schedule; where its times are others, they count from `now` on.
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
    // What is over and gets another time is to run then.
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
    Error::not_found(format!(
        "there is no scheduled task `{which}`: `list_scheduled_tasks` shows what there is, with ids"
    ))
}

fn several(which: &str, meant: &[Entry<Schedule>]) -> Error {
    let named: Vec<String> =
        meant.iter().take(NAMED).map(|entry| format!("`{}` ({})", entry.value.name, entry.id)).collect();
    let rest = if meant.len() > NAMED { ", …" } else { "" };
    let which: String = which.chars().take(80).collect();
    Error::bad_args(format!(
        "{} scheduled tasks fit `{which}`; name one by its id: {}{rest}",
        meant.len(),
        named.join(", ")
    ))
}
