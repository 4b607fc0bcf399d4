//! The trigger engine: one event listener, one timer for conditions, and the firing itself.

use super::{
    causes::happened,
    matching::{Op, at, compare, fill_placeholders, fits},
    record::{BY_TRIGGER, Call, Config, Firing, Status, Trigger},
};
use crate::action::PROMPT;
use futures::{
    FutureExt,
    future::{BoxFuture, ready},
};
use jiff::{SignedDuration, Timestamp};
use records::{RecordStore, Undoer};
use registry::Registry;
use scheduler::{Scheduler, Who};
use std::{
    collections::{BTreeSet, HashMap, VecDeque},
    hash::{DefaultHasher, Hash, Hasher},
    sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock},
    time::Duration,
};
use store::{Collection, Entry, Part, Stamp, Store, Visit, Walk};
use tokio::{sync::Notify, time::Instant};
use tokio_util::sync::CancellationToken;
use tool::{AgentId, BusEvent, Event, Label, Ports, PreauthorizedCall, Scope, UserId, prelude::*};

/// Stored firings per trigger.
const FIRINGS_KEPT: usize = 100;
/// Maximum length of a stored result, in characters.
const MAX_RESULT: usize = 500;
/// The household's triggers; cheap to clone.
#[derive(Clone)]
pub struct Triggers(Arc<Inner>);

pub(crate) struct Inner {
    pub shelf: RecordStore<Trigger>,
    pub firings: Collection<Firing>,
    pub registry: Registry,
    pub scheduler: Scheduler,
    ports: Ports,
    live: RwLock<HashMap<Id, Arc<Live>>>,
    changed: Notify,
    closing: Mutex<CancellationToken>,
}

/// An active trigger.
pub(super) struct Live {
    id: Id,
    owner: UserId,
    config: Config,
    check: Option<Call>,
    label: Label,
    cooldown: SignedDuration,
    per_hour: usize,
    state: Mutex<State>,
}

struct State {
    busy: bool,
    /// Sequence number of an event; events up to it may be the trigger's own effects and are ignored.
    ignore_until: u64,
    recent: VecDeque<Timestamp>,
    /// When a condition is checked next.
    next: Instant,
    checking: bool,
    /// The last observation; see [`Trigger::seen`].
    seen: Option<Value>,
}

impl Live {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Claims the trigger for a firing, if its limits allow one now; it is busy until released.
    fn take(&self, now: Timestamp) -> bool {
        let mut state = self.state();
        let hour = SignedDuration::from_hours(1);
        while state.recent.front().is_some_and(|first| now.duration_since(*first) >= hour) {
            state.recent.pop_front();
        }
        // A clock that was set back must not block it.
        state.recent.retain(|at| *at <= now);
        let rests = state.recent.back().is_some_and(|last| now.duration_since(*last) < self.cooldown);
        if state.busy || rests || state.recent.len() >= self.per_hour {
            return false;
        }
        state.busy = true;
        state.recent.push_back(now);
        true
    }
}

/// On whose authority a firing runs.
#[derive(Clone, Copy)]
pub(crate) enum FiredBy<'a> {
    /// Unattended: runs as pre-authorized, after reading data with this label.
    Agreed(Label),
    /// A caller, as their own call.
    Caller(&'a Cx),
}

/// The result of a firing.
pub(crate) struct Fired {
    pub status: Status,
    pub result: Result<Output>,
}

impl Undoer for Triggers {
    fn after<'a>(&'a self, _: &'a Cx, part: &'a Part) -> BoxFuture<'a, ()> {
        if let (Some(Scope::User(owner)), Some(id)) = (part.scope(), part.id()) {
            self.take_over(owner, id);
        }
        ready(()).boxed()
    }
}

impl Triggers {
    /// Opens the triggers in `store`. They fire once [`Triggers::watch`] runs.
    pub fn new(store: &Store, registry: Registry, scheduler: Scheduler, ports: Ports) -> Self {
        Self(Arc::new(Inner {
            shelf: RecordStore::new(store),
            firings: store.collection(),
            registry,
            scheduler,
            ports,
            live: RwLock::default(),
            changed: Notify::new(),
            closing: Mutex::default(),
        }))
    }

    pub(crate) fn parts(&self) -> &Inner {
        &self.0
    }

    /// Listens for events and checks conditions until `closing`.
    ///
    /// # Errors
    /// `Failed` if the triggers cannot be read.
    pub fn watch(&self, closing: &CancellationToken) -> Result<()> {
        *self.0.closing.lock().unwrap_or_else(PoisonError::into_inner) = closing.clone();
        let mut all = vec![];
        self.0.shelf.records().scan(|entry| all.push(entry))?;
        all.iter().for_each(|entry| self.put(entry));
        self.recover()?;
        let (events, conditions) = (self.clone(), self.clone());
        let mut listener = self.0.ports.bus.listen(None);
        let hears = async move {
            while let Some(heard) = listener.next().await {
                if let BusEvent::Event(event) = heard {
                    events.hear(&event);
                }
            }
        };
        tokio::spawn(closing.clone().run_until_cancelled_owned(hears));
        tokio::spawn(closing.clone().run_until_cancelled_owned(async move { conditions.look().await }));
        Ok(())
    }

    /// Adds or updates a trigger.
    pub(crate) fn put(&self, entry: &Entry<Trigger>) {
        let trigger = &entry.value;
        let config = serde_json::from_str(&trigger.config).unwrap_or_default();
        let mut live = self.0.live.write().unwrap_or_else(PoisonError::into_inner);
        let before = live.remove(&entry.id);
        let Ok(config) = Config::read(trigger.kind, &config) else { return };
        if !trigger.enabled {
            return;
        }
        // Recent firings still count after a change.
        let recent = before.map(|b| b.state().recent.clone()).unwrap_or_default();
        let state = State {
            busy: false,
            ignore_until: 0,
            recent,
            next: Instant::now(),
            checking: false,
            seen: serde_json::from_str(&trigger.seen).ok(),
        };
        let waiting = Live {
            id: entry.id,
            owner: entry.owner,
            config,
            check: trigger.check.clone(),
            label: entry.label,
            cooldown: SignedDuration::from_secs(trigger.cooldown_s.into()),
            per_hour: trigger.per_hour as usize,
            state: Mutex::new(state),
        };
        live.insert(entry.id, Arc::new(waiting));
        self.0.changed.notify_one();
    }

    /// The pins whose changes triggers wait for, by number.
    pub fn awaited_pins(&self) -> BTreeSet<i64> {
        let all = self.all_live();
        let awaited = all.iter().filter_map(|live| match &live.config {
            Config::Event { topics, conditions } if topics.hear("pin:changed") => {
                conditions.iter().find(|one| one.path == "pin" && one.op == Op::Eq)?.value.as_i64()
            }
            _ => None,
        });
        awaited.collect()
    }

    /// Starts or stops watching a trigger after an undo.
    pub(super) fn take_over(&self, owner: UserId, id: Id) {
        match self.0.shelf.records().get_in(Scope::User(owner), id) {
            Ok(Some(entry)) => self.put(&entry),
            Ok(None) => self.drop_live(id),
            Err(error) => tracing::warn!(trigger = %id, %error, "a trigger could not be read"),
        }
    }

    /// Removes a deleted trigger.
    pub(crate) fn drop_live(&self, id: Id) {
        self.0.live.write().unwrap_or_else(PoisonError::into_inner).remove(&id);
    }

    fn all_live(&self) -> Vec<Arc<Live>> {
        self.0.live.read().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }

    /// Fires the triggers that match an event; never on events of triggers themselves or on a trigger's own effects.
    fn hear(&self, event: &Event) {
        if event.topic.starts_with("trigger") {
            return;
        }
        for live in self.all_live() {
            let Config::Event { topics, conditions } = &live.config else { continue };
            let concerns = event.to.is_none_or(|to| to == live.owner);
            let own_doing = event.seq <= live.state().ignore_until;
            if !concerns || own_doing || !topics.hear(&event.topic) || !fits(conditions, &event.data) {
                continue;
            }
            let about = json!({"topic": event.topic, "data": event.data, "at": event.at.to_string()});
            self.fire_later(live.clone(), happened(&event.topic, &event.data), about, Label::Own);
        }
    }

    /// Checks each condition when it is due.
    async fn look(&self) {
        loop {
            let now = Instant::now();
            let conditions = self.all_live().into_iter().filter(|l| matches!(l.config, Config::Condition { .. }));
            let (due, later): (Vec<_>, Vec<_>) = conditions.partition(|l| l.state().next <= now);
            for live in due {
                let Config::Condition { every, .. } = &live.config else { continue };
                let mut state = live.state();
                state.next = now + *every;
                // A slow check is not started again while it runs.
                if std::mem::replace(&mut state.checking, true) {
                    continue;
                }
                drop(state);
                let this = self.clone();
                tokio::spawn(async move {
                    this.check_one(&live).await;
                    live.state().checking = false;
                });
            }
            let next = later.iter().map(|l| l.state().next).min().unwrap_or(now + Duration::from_secs(10));
            tokio::select! {
                () = tokio::time::sleep_until(next.min(now + Duration::from_secs(10))) => {}
                () = self.0.changed.notified() => {}
            }
        }
    }

    /// Checks every condition now.
    #[cfg(test)]
    pub(super) async fn check_now(&self) {
        for live in self.all_live() {
            self.check_one(&live).await;
        }
    }

    /// One check: fires if the condition became true. The first check only stores the observation.
    async fn check_one(&self, live: &Arc<Live>) {
        let (Config::Condition { check, .. }, Some(call)) = (&live.config, &live.check) else { return };
        let answer = match self.perform(live.owner, &call.armed(), live.label, None).await {
            Ok(answer) => answer,
            Err(error) => return tracing::warn!(trigger = %live.id, %error, "a condition could not be checked"),
        };
        let value = at(&answer.content, &check.path).cloned().unwrap_or(Value::Null);
        // Store only what the next check needs: writing a changing value each time would wear out the SD card.
        let sees = match check.op {
            Op::Changed => shortened(&value),
            op => Value::Bool(compare(&value, op, &check.value)),
        };
        let before = live.state().seen.replace(sees.clone());
        if before.as_ref() == Some(&sees) {
            return;
        }
        self.remember(live, &sees);
        let fires = before.is_some() && (check.op == Op::Changed || sees == Value::Bool(true));
        if fires {
            let shown: String = value.to_string().chars().take(80).collect();
            let about = json!({"value": value, "at": self.0.ports.clock.now().to_string()});
            self.fire_later(live.clone(), format!("it is {shown} now"), about, answer.label);
        }
    }

    fn remember(&self, live: &Live, sees: &Value) {
        let (seen, records) = (sees.to_string(), self.0.shelf.records().clone());
        let (scope, id) = (Scope::User(live.owner), live.id);
        self.0.shelf.records().store().write_later(move |tx| {
            if records.read(tx, scope, id)?.is_none() {
                return Ok(());
            }
            let change = &mut |t: &mut Trigger| {
                t.seen.clone_from(&seen);
                Ok(())
            };
            records.change(tx, scope, Label::Own, id, change).map(drop)
        });
    }

    fn fire_later(&self, live: Arc<Live>, why: String, about: Value, label: Label) {
        if !live.take(self.0.ports.clock.now()) {
            return tracing::debug!(trigger = %live.id, "rests");
        }
        let this = self.clone();
        tokio::spawn(async move {
            match this.0.shelf.records().get_in(Scope::User(live.owner), live.id) {
                Ok(Some(entry)) => drop(this.fire(&entry, why, &about, FiredBy::Agreed(label)).await),
                Ok(None) => {}
                Err(error) => tracing::warn!(trigger = %live.id, %error, "a trigger could not be read"),
            }
            this.rest(&live);
        });
    }

    /// Listens again from now on; events already published are ignored.
    pub(super) fn rest(&self, live: &Live) {
        let mut state = live.state();
        (state.busy, state.ignore_until) = (false, self.0.ports.bus.newest());
    }

    /// Fires a trigger whose time has come.
    ///
    /// # Errors
    /// `Unavailable` if it is paused, busy, or over its hourly limit.
    pub(crate) async fn fire_on_schedule(&self, entry: &Entry<Trigger>, about: &Value, label: Label) -> Result<Fired> {
        let live = self.0.live.read().unwrap_or_else(PoisonError::into_inner).get(&entry.id).cloned();
        let Some(live) = live.filter(|live| live.take(self.0.ports.clock.now())) else {
            let name = &entry.value.name;
            return Err(Error::denied(format!("the trigger `{name}` is paused, busy, or over its hourly limit")));
        };
        let fired = self.fire(entry, "it was time".into(), about, FiredBy::Agreed(label)).await;
        self.rest(&live);
        Ok(fired)
    }

    /// Stores that a trigger fires, makes its call, and stores the result.
    pub(crate) async fn fire(&self, entry: &Entry<Trigger>, why: String, about: &Value, by: FiredBy<'_>) -> Fired {
        let label = match by {
            FiredBy::Agreed(label) => label,
            FiredBy::Caller(cx) => cx.label(),
        };
        let resumable = matches!(by, FiredBy::Agreed(_));
        let noted = self.note(entry, why, label, about, resumable);
        let noted = match resumable {
            true => noted.await,
            // Not resumable, so storing it does not count as an effect of the call that fires it.
            false => store::with_effect(None, noted).await,
        };
        match noted {
            Ok(firing) => self.go(entry, firing, about, by).await,
            Err(error) => self.fired(entry, Status::Failed, Err(error)),
        }
    }

    /// Makes the call of a stored firing, and stores its result.
    pub(super) async fn go(&self, entry: &Entry<Trigger>, firing: Id, about: &Value, by: FiredBy<'_>) -> Fired {
        let result = self.act(entry, about, by, firing).await;
        let status = if result.is_ok() { Status::Ok } else { Status::Failed };
        if matches!((by, &result), (FiredBy::Agreed(_), Err(Error::Unavailable(_)))) && self.closing().is_cancelled() {
            // The next start recovers it.
            return Fired { status: Status::Interrupted, result };
        }
        self.note_end(entry, firing, status, &result).await;
        self.fired(entry, status, result)
    }

    pub(super) fn fired(&self, entry: &Entry<Trigger>, status: Status, result: Result<Output>) -> Fired {
        let data = json!({"id": entry.id, "name": entry.value.name, "status": status});
        self.0.ports.bus.publish("trigger:fired", Some(entry.owner), data);
        Fired { status, result }
    }

    pub(super) fn closing(&self) -> CancellationToken {
        self.0.closing.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Marks a trigger as busy while one of its firings is resumed, until released.
    pub(super) fn mark_busy(&self, trigger: Id) -> Option<Arc<Live>> {
        let live = self.0.live.read().unwrap_or_else(PoisonError::into_inner).get(&trigger).cloned()?;
        live.state().busy = true;
        Some(live)
    }

    async fn act(&self, entry: &Entry<Trigger>, about: &Value, by: FiredBy<'_>, firing: Id) -> Result<Output> {
        let mut armed = entry.value.action.armed();
        let (args, brought) = fill_placeholders(&armed.args, about);
        armed.args = args;
        if armed.tool == PROMPT && !armed.consented && !entry.value.conversation.is_empty() {
            armed.args["conversationId"] = json!(entry.value.conversation);
        }
        let result = match by {
            FiredBy::Caller(cx) => cx.call(&armed.tool, armed.args.clone()).await,
            FiredBy::Agreed(label) => {
                // A text from an event may come from a stranger.
                let label = if brought { Label::Outside } else { label.max(entry.label) };
                self.perform(entry.owner, &armed, label, Some(firing)).await
            }
        };
        if let (true, Ok(answer)) = (armed.tool == PROMPT, &result)
            && let Some(id) = answer.content["conversationId"].as_str().map(str::to_owned)
            && id != entry.value.conversation
        {
            let records = self.0.shelf.records();
            let kept = records.update_in(Scope::User(entry.owner), Label::Own, entry.id, move |t| {
                t.conversation.clone_from(&id);
                Ok(())
            });
            if let Err(error) = kept.await {
                tracing::warn!(%error, "a trigger's conversation could not be stored");
            }
        }
        result
    }

    async fn perform(
        &self,
        user: UserId,
        armed: &PreauthorizedCall,
        label: Label,
        effect: Option<Id>,
    ) -> Result<Output> {
        let who = Who { user, agent: AgentId::GENERAL, clear: false };
        self.0.scheduler.perform(&who, armed, label, &self.closing(), effect).await
    }

    async fn note(
        &self,
        entry: &Entry<Trigger>,
        why: String,
        label: Label,
        about: &Value,
        resumable: bool,
    ) -> Result<Id> {
        let (shelf, firings) = (self.0.shelf.records().clone(), self.0.firings.clone());
        let stamp = Stamp {
            scope: Scope::User(entry.owner),
            owner: entry.owner,
            audience: store::Audience::Private,
            label: label.max(entry.label),
            source: "trigger".into(),
        };
        let (id, trigger, now) = (Id::new(), entry.id, self.0.ports.clock.now().as_millisecond().max(0) as u64);
        let firing = Firing {
            trigger,
            why,
            status: Status::Interrupted,
            finished_ms: 0,
            result: String::new(),
            error: String::new(),
            resumable,
            about: if resumable { about.to_string() } else { String::new() },
            resumed: 0,
        };
        let noted = self.0.shelf.records().store().write(move |tx| {
            shelf.change(tx, stamp.scope, Label::Own, trigger, &mut |t| {
                (t.count, t.last_ms) = (t.count.saturating_add(1), now);
                Ok(())
            })?;
            firings.put(tx, id, &stamp, &firing).map(drop)
        });
        noted.await?;
        Ok(id)
    }

    pub(super) async fn note_end(&self, entry: &Entry<Trigger>, id: Id, status: Status, result: &Result<Output>) {
        let (told, error) = match result {
            Ok(output) => (output.say.clone().unwrap_or_else(|| output.model_text()), String::new()),
            Err(error) => (String::new(), error.message().to_owned()),
        };
        let cut = |text: String| text.chars().take(MAX_RESULT).collect::<String>();
        let (told, error) = (cut(told), cut(error));
        let (shelf, firings) = (self.0.shelf.records().clone(), self.0.firings.clone());
        let read = result.as_ref().map_or(Label::Own, |output| output.label);
        let (scope, trigger, label) = (Scope::User(entry.owner), entry.id, entry.label.max(read));
        let now = self.0.ports.clock.now().as_millisecond().max(0) as u64;
        let old = self.stored_firings(entry).into_iter().skip(FIRINGS_KEPT).collect::<Vec<_>>();
        let noted = self.0.shelf.records().store().write(move |tx| {
            firings.store().forget_effect(tx, id)?;
            firings.change(tx, scope, label, id, &mut |f| {
                (f.status, f.finished_ms, f.resumable) = (status, now, false);
                f.about.clear();
                f.result.clone_from(&told);
                f.error.clone_from(&error);
                Ok(())
            })?;
            old.iter().try_for_each(|id| firings.remove(tx, scope, *id).map(drop))?;
            // It may have been deleted meanwhile.
            if status == Status::Failed && shelf.read(tx, scope, trigger)?.is_some() {
                shelf.change(tx, scope, Label::Own, trigger, &mut |t| {
                    t.failures = t.failures.saturating_add(1);
                    Ok(())
                })?;
            }
            Ok(())
        });
        if let Err(error) = noted.await {
            tracing::warn!(trigger = %entry.id, %error, "a trigger's result could not be stored");
        }
    }

    /// The ids of its stored firings, newest first.
    fn stored_firings(&self, entry: &Entry<Trigger>) -> Vec<Id> {
        let walk = Walk::prefix(BY_TRIGGER, entry.id.as_bytes()).down();
        let found = self.0.firings.walk_in(Scope::User(entry.owner), &walk, |_| Visit::Yes);
        found.map(|all| all.into_iter().map(|f| f.id).collect()).unwrap_or_default()
    }
}

/// A value as it is stored: a long one as a hash.
fn shortened(value: &Value) -> Value {
    let text = value.to_string();
    if text.len() <= 200 {
        return value.clone();
    }
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    json!({"bytes": text.len(), "hash": hasher.finish()})
}
