//! The rule engine: rules in memory by what they wait for.
//!
//! `watch.rs` starts it; `hear.rs` and `look.rs` notice causes; `decide.rs` evaluates conditions; `run.rs` makes the calls;
//! `notes.rs` stores what happened; `recover.rs` handles runs that a stop interrupted.

pub(crate) mod decide;
mod hear;
mod live;
mod look;
mod notes;
mod recover;
mod run;
mod watch;

pub(crate) use live::{Cause, Live, Stop, definition_of};

use crate::{
    definition::Trigger as Waits,
    home::Home,
    record::{Firing, Trigger},
};
use records::RecordStore;
use registry::Registry;
use scheduler::Scheduler;
use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, Mutex, PoisonError, RwLock},
};
use store::{Collection, Entry, Store};
use tokio::sync::{Notify, Semaphore};
use tokio_util::sync::CancellationToken;
use tool::{Label, Ports, Scope, UserId, prelude::*};

/// How many calls of rules run at once, apart from those that a pin caused, and how many of those.
const CALLS: usize = 32;

/// The household's rules; cheap to clone.
#[derive(Clone)]
pub struct Rules(Arc<Inner>);

pub(crate) struct Inner {
    pub shelf: RecordStore<Trigger>,
    pub firings: Collection<Firing>,
    pub registry: Registry,
    pub scheduler: Scheduler,
    pub home: Home,
    pub ports: Ports,
    /// Errors of `rules.toml`.
    pub file_errors: Mutex<Vec<String>>,
    live: RwLock<Active>,
    changed: Notify,
    closing: Mutex<CancellationToken>,
    calls: Semaphore,
    pin_calls: Semaphore,
}

/// The active rules.
#[derive(Default)]
struct Active {
    all: HashMap<Id, Arc<Live>>,
    /// Rules that wait for a pin, each with the number of its trigger.
    by_pin: HashMap<u8, Vec<(Arc<Live>, usize)>>,
    /// Rules that wait for anything on the bus.
    on_bus: Vec<Arc<Live>>,
}

impl Active {
    fn index(&mut self) {
        self.by_pin.clear();
        self.on_bus.clear();
        for live in self.all.values() {
            let mut hears = false;
            for (at, trigger) in live.definition.triggers.iter().enumerate() {
                match trigger {
                    Waits::Pin { pin, press: None, .. } => {
                        self.by_pin.entry(*pin).or_default().push((live.clone(), at));
                    }
                    Waits::Schedule { .. } | Waits::Sun { .. } | Waits::Check { .. } => {}
                    _ => hears = true,
                }
            }
            if hears {
                self.on_bus.push(live.clone());
            }
        }
    }
}

/// On whose authority a rule runs.
#[derive(Clone, Copy)]
pub(crate) enum FiredBy<'a> {
    /// Unattended: runs as pre-authorized, after reading data with this label.
    Agreed(Label),
    /// A caller, as their own call.
    Caller(&'a Cx),
}

/// The cause of a run by hand.
pub(crate) fn by_hand(cx: &Cx) -> Cause {
    let about = json!({"topic": "manual", "data": {}, "at": cx.ports().clock.now().to_string()});
    let (label, at) = (cx.label(), tokio::time::Instant::now());
    Cause { why: "it was fired by hand".into(), about, label, prompt: false, at, found: Value::Null }
}

/// The result of a run.
pub(crate) struct Fired {
    pub status: crate::record::Status,
    pub result: Result<Output>,
}

impl Rules {
    /// Opens the rules in `store`. They run once [`Rules::watch`] does.
    pub fn new(store: &Store, registry: Registry, scheduler: Scheduler, home: Home, ports: Ports) -> Self {
        Self(Arc::new(Inner {
            shelf: RecordStore::new(store),
            firings: store.collection(),
            registry,
            scheduler,
            home,
            ports,
            file_errors: Mutex::default(),
            live: RwLock::default(),
            changed: Notify::new(),
            closing: Mutex::default(),
            calls: Semaphore::new(CALLS),
            pin_calls: Semaphore::new(CALLS),
        }))
    }

    pub(crate) fn parts(&self) -> &Inner {
        &self.0
    }

    /// Adds or updates a rule.
    pub(crate) fn put(&self, entry: &Entry<Trigger>) {
        let mut active = self.0.live.write().unwrap_or_else(PoisonError::into_inner);
        let before = active.all.remove(&entry.id);
        let mut pins = BTreeSet::new();
        if let Some(live) = Live::new(entry, before.as_deref()) {
            pins = live.awaited_pins();
            active.all.insert(entry.id, Arc::new(live));
        }
        active.index();
        drop(active);
        // Not a moment later: somebody who makes a rule presses the button to try it.
        for pin in pins.into_iter().filter_map(board::Pin::new) {
            self.0.home.board.watch(pin);
        }
        if let Some(before) = before {
            before.retire();
        }
        self.0.changed.notify_one();
    }

    /// Removes a deleted rule.
    pub(crate) fn drop_live(&self, id: Id) {
        let mut active = self.0.live.write().unwrap_or_else(PoisonError::into_inner);
        let before = active.all.remove(&id);
        active.index();
        drop(active);
        if let Some(before) = before {
            before.retire();
        }
    }

    /// An active rule.
    pub(crate) fn live(&self, id: Id) -> Option<Arc<Live>> {
        self.0.live.read().unwrap_or_else(PoisonError::into_inner).all.get(&id).cloned()
    }

    fn all_live(&self) -> Vec<Arc<Live>> {
        self.0.live.read().unwrap_or_else(PoisonError::into_inner).all.values().cloned().collect()
    }

    /// The pins whose changes rules wait for, by number.
    pub fn awaited_pins(&self) -> BTreeSet<i64> {
        self.all_live().iter().flat_map(|live| live.awaited_pins()).collect()
    }

    /// The MQTT topics, with wildcards, whose messages rules wait for.
    pub fn awaited_topics(&self) -> BTreeSet<String> {
        let topic = |trigger: &Waits| match trigger {
            Waits::Mqtt { topic, .. } => Some(topic.clone()),
            Waits::Threshold { topic, .. } => topic.clone(),
            _ => None,
        };
        self.all_live()
            .iter()
            .flat_map(|live| live.definition.triggers.iter().filter_map(topic).collect::<Vec<_>>())
            .collect()
    }

    /// The types of events of Home Assistant that rules wait for.
    pub fn awaited_home_events(&self) -> BTreeSet<String> {
        let mut types = BTreeSet::new();
        for live in self.all_live() {
            for at in 0..live.definition.triggers.len() {
                if let Some((topics, conditions)) = live.event(at)
                    && topics.hear("ha:event")
                {
                    let one = conditions.iter().find(|one| one.path == "type" && one.op == crate::matching::Op::Eq);
                    types.extend(one.and_then(|one| one.value.as_str()).map(str::to_owned));
                }
            }
        }
        types
    }

    /// Starts or stops watching a rule after an undo.
    fn take_over(&self, owner: UserId, id: Id) {
        match self.0.shelf.records().get_in(Scope::User(owner), id) {
            Ok(Some(entry)) => self.put(&entry),
            Ok(None) => self.drop_live(id),
            Err(error) => tracing::warn!(rule = %id, %error, "a rule could not be read"),
        }
    }

    fn closing(&self) -> CancellationToken {
        self.0.closing.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[cfg(test)]
impl Rules {
    /// An active rule by its name.
    pub(crate) fn live_named(&self, name: &str) -> Arc<Live> {
        self.all_live().into_iter().find(|live| live.entry.value.name == name).unwrap()
    }

    /// How many of its runs go on or wait.
    pub(crate) fn live_runs(&self, name: &str) -> usize {
        let (running, waiting) = self.live_named(name).running();
        running + waiting
    }

    pub(crate) fn live_count(&self) -> usize {
        self.all_live().len()
    }

    /// Deletes the rules whose time is over.
    pub(crate) fn clear_now(&self) {
        self.all_live().iter().for_each(|live| self.clear_if_over(live));
    }

    /// Looks at the sun for the first trigger of a rule.
    pub(crate) fn look_at_sun_now(&self, live: &Arc<Live>) {
        let now = self.0.ports.clock.now();
        self.look_at_sun(live, 0, &live.definition.triggers[0].clone(), now);
    }
}
