//! What the handle and the connection share: the state, the queue, subscriptions, and the latest messages.

use crate::{Config, bus::BusFeed, incoming::Incoming, is_topic, latest::Latest, matches, outbox::Outbox};
use serde::Serialize;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, RwLock,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};
use tokio::sync::{Notify, watch};
use tool::{Bus, Error, Result};

/// The most filters at a time.
const FILTERS: usize = 8000;

/// How the connection is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// No broker is set up.
    #[default]
    Off,
    /// It is being connected, or waits for the next attempt.
    Connecting,
    /// It is connected.
    Connected,
    /// The broker refuses the user name or password.
    Refused,
}

/// The state of the connection.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    /// How the connection is.
    pub state: Phase,
    /// Host and port of the broker.
    pub broker: String,
    /// Why there is no connection; empty while there is one.
    pub why: String,
    /// How often it was connected.
    pub connections: u64,
    /// Messages received, confirmed or sent, and dropped because a queue was full or a message too large.
    pub received: u64,
    /// Messages sent.
    pub sent: u64,
    /// Messages dropped.
    pub dropped: u64,
    /// Messages that wait to be sent.
    pub waiting: usize,
    /// Filters that are subscribed to.
    pub subscriptions: usize,
}

pub(crate) type Handler = Arc<dyn Fn(&Incoming) + Send + Sync>;

pub(crate) struct Shared {
    pub config: watch::Sender<Option<Config>>,
    pub status: watch::Sender<Status>,
    pub outbox: Mutex<Outbox>,
    /// There is something to send or to subscribe to.
    pub work: Notify,
    pub filters: Mutex<Filters>,
    pub latest: Mutex<Latest>,
    pub arrived: Notify,
    pub handlers: RwLock<Vec<Handler>>,
    pub feed: Mutex<BusFeed>,
    pub bus: Bus,
    pub received: AtomicU64,
    pub sent: AtomicU64,
    pub too_large: AtomicU64,
}

/// The filters that somebody subscribed to, and what the broker does not know of them yet.
#[derive(Default)]
pub(crate) struct Filters {
    counts: BTreeMap<String, Count>,
    pub fresh: BTreeSet<String>,
    pub gone: BTreeSet<String>,
    /// Those with wildcards.
    wild: BTreeSet<String>,
    /// Those whose messages go to the bus.
    pub bus: Arc<[String]>,
}

#[derive(Default, Clone, Copy)]
struct Count {
    all: usize,
    bus: usize,
}

impl Filters {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.counts.len()
    }

    /// After a connection the broker knows none of them.
    pub fn renew(&mut self) {
        self.gone.clear();
        self.fresh = self.counts.keys().cloned().collect();
    }

    pub fn add(&mut self, filter: &str, bus: bool) -> Result<()> {
        if self.counts.len() >= FILTERS && !self.counts.contains_key(filter) {
            return Err(Error::unavailable(format!("{FILTERS} MQTT topics are subscribed to, the maximum")));
        }
        if !is_topic(filter) {
            self.wild.insert(filter.to_owned());
        }
        let count = self.counts.entry(filter.to_owned()).or_default();
        count.all += 1;
        count.bus += usize::from(bus);
        // Subscribing again makes the broker send retained messages again.
        self.fresh.insert(filter.to_owned());
        self.gone.remove(filter);
        if bus {
            self.list();
        }
        Ok(())
    }

    /// Whether nobody subscribes to it any more.
    pub fn remove(&mut self, filter: &str, bus: bool) -> bool {
        let Some(count) = self.counts.get_mut(filter) else { return false };
        count.all = count.all.saturating_sub(1);
        count.bus = count.bus.saturating_sub(usize::from(bus));
        let last = count.all == 0;
        if last {
            self.counts.remove(filter);
            self.wild.remove(filter);
            self.fresh.remove(filter);
            self.gone.insert(filter.to_owned());
        }
        if bus {
            self.list();
        }
        last
    }

    pub fn covers(&self, topic: &str) -> bool {
        self.counts.contains_key(topic) || self.wild.iter().any(|filter| matches(filter, topic))
    }

    fn list(&mut self) {
        self.bus = self.counts.iter().filter(|(_, count)| count.bus > 0).map(|(filter, _)| filter.clone()).collect();
    }
}

impl Shared {
    pub fn set_phase(&self, state: Phase, broker: &str, why: &str) {
        let changed = self.status.send_if_modified(|now| {
            let changed = now.state != state || now.why != why || now.broker != broker;
            now.connections += u64::from(state == Phase::Connected);
            (now.state, now.broker, now.why) = (state, broker.to_owned(), why.to_owned());
            changed
        });
        if changed {
            self.bus.publish(
                "mqtt:connection",
                None,
                serde_json::json!({"state": state, "broker": broker, "why": why}),
            );
        }
    }

    /// Hands a message over to everybody.
    pub fn receive(&self, message: Incoming) {
        self.received.fetch_add(1, Relaxed);
        let bus = lock(&self.filters).bus.clone();
        if !bus.is_empty() {
            lock(&self.feed).take(&bus, &message);
        }
        for handler in self.handlers.read().unwrap_or_else(PoisonError::into_inner).iter() {
            handler(&message);
        }
        lock(&self.latest).put(message);
        self.arrived.notify_waiters();
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
