//! The state that the connection and its users share.

use crate::{Access, Change, Connection, Entity, Settings, model::Model};
use http_client::{Fingerprint, ServiceHttp};
use serde_json::{Map, Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock},
    time::Duration,
};
use tokio::sync::watch;
use tool::Bus;

/// The most types of events that are subscribed to.
const TYPES: usize = 50;
/// The most attributes in an event of the bus, and the longest text among them.
const SHOWN: usize = 20;
const TEXT: usize = 40;

/// How long the connection waits.
#[derive(Debug, Clone, Copy)]
pub struct Timing {
    /// For one answer: the handshake, a pong.
    pub answer: Duration,
    /// For all entities after signing in.
    pub sync: Duration,
    /// Between two pings, while nothing arrives.
    pub ping: Duration,
    /// Before the first new attempt; each next one takes twice as long.
    pub first_retry: Duration,
    /// The most before a new attempt.
    pub last_retry: Duration,
    /// Before a refused token is tried again.
    pub refused: Duration,
    /// Until changed registries are read again: they change in bursts.
    pub settle: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self {
            answer: seconds(15),
            sync: seconds(90),
            ping: seconds(30),
            first_retry: seconds(1),
            last_retry: seconds(60),
            refused: seconds(3600),
            settle: seconds(2),
        }
    }
}

type OnChange = Arc<dyn Fn(&Change) + Send + Sync>;

pub(crate) struct Shared {
    /// The client, and the certificate that it accepts.
    http: Mutex<(Option<Fingerprint>, ServiceHttp)>,
    pub bus: Bus,
    pub timing: Timing,
    pub settings: watch::Sender<Option<Arc<Settings>>>,
    pub wanted: watch::Sender<BTreeSet<String>>,
    wanted_by: Mutex<BTreeMap<String, BTreeSet<String>>>,
    model: Mutex<Model>,
    connection: watch::Sender<Connection>,
    listeners: RwLock<Vec<OnChange>>,
}

impl Shared {
    /// The client for these settings.
    pub fn http(&self, settings: &Settings) -> ServiceHttp {
        let mut made = self.http.lock().unwrap_or_else(PoisonError::into_inner);
        if made.0 != settings.fingerprint {
            let http = settings.fingerprint.map(ServiceHttp::pinned).unwrap_or_default();
            *made = (settings.fingerprint, http);
        }
        made.1.clone()
    }

    pub fn new(bus: Bus, timing: Timing) -> Self {
        Self {
            http: Mutex::default(),
            bus,
            timing,
            settings: watch::channel(None).0,
            wanted: watch::channel(BTreeSet::new()).0,
            wanted_by: Mutex::default(),
            model: Mutex::default(),
            connection: watch::channel(Connection::Off).0,
            listeners: RwLock::default(),
        }
    }

    pub fn model(&self) -> MutexGuard<'_, Model> {
        self.model.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn connection(&self) -> Connection {
        self.connection.borrow().clone()
    }

    pub fn watch_connection(&self) -> watch::Receiver<Connection> {
        self.connection.subscribe()
    }

    /// Notes the state of the connection, and publishes it where it changed.
    pub fn set_connection(&self, new: Connection) {
        let changed = self.connection.send_if_modified(|old| {
            let changed = *old != new;
            old.clone_from(&new);
            changed
        });
        if changed {
            tracing::info!(state = new.word(), why = new.why().unwrap_or_default(), "Home Assistant");
            let data = json!({"state": new.word(), "connected": new == Connection::Connected, "why": new.why()});
            self.bus.publish("ha:connection", None, data);
        }
    }

    pub fn on_change(&self, f: OnChange) {
        self.listeners.write().unwrap_or_else(PoisonError::into_inner).push(f);
    }

    /// The types of events that `who` waits for.
    pub fn want(&self, who: &str, types: impl IntoIterator<Item = String>) {
        let mut by = self.wanted_by.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = |kind: &String| !kind.is_empty() && kind.len() <= 64 && kind != "*" && kind != "state_changed";
        by.insert(who.to_owned(), types.into_iter().filter(fits).collect());
        let all: BTreeSet<String> = by.values().flatten().take(TYPES).cloned().collect();
        self.wanted.send_if_modified(|old| {
            let changed = *old != all;
            *old = all;
            changed
        });
    }

    /// Publishes changed entities, except those that Hob may not read. An event of the bus is short:
    /// attributes that changed and are numbers, truth values or words.
    pub fn publish(&self, changes: Vec<Change>, access: &Access) {
        let listeners = self.listeners.read().unwrap_or_else(PoisonError::into_inner).clone();
        for change in changes {
            let Some(entity) = change.entity().filter(|entity| access.read.fit(&entity.id)) else { continue };
            let before = change.before.as_ref().map(|before| before.state.as_str());
            let state = change.now.as_ref().map(|now| now.state.as_str());
            let attributes = changed_attributes(change.now.as_deref(), change.before.as_deref());
            if state != before || !attributes.is_empty() {
                let mut data = json!({"entity": &*entity.id, "state": state, "before": before});
                if !attributes.is_empty() {
                    data["attributes"] = attributes.into();
                }
                self.bus.publish("ha:state", None, data);
            }
            listeners.iter().for_each(|f| f(&change));
        }
    }
}

fn changed_attributes(now: Option<&Entity>, before: Option<&Entity>) -> Map<String, Value> {
    let (Some(now), Some(before)) = (now, before) else { return Map::new() };
    let plain = |value: &Value| match value {
        Value::Number(_) | Value::Bool(_) => true,
        Value::String(text) => text.len() <= TEXT && !text.contains(char::is_whitespace),
        _ => false,
    };
    let changed =
        now.attributes.iter().filter(|(name, value)| plain(value) && before.attributes.get(name) != Some(value));
    changed.take(SHOWN).map(|(name, value)| (name.to_owned(), value.clone())).collect()
}
