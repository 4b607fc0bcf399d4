//! What the broker has been notified of, so that only changes are published, and what is gone is cleared.

use super::{
    announce,
    command::{RetainedState, STATES},
};
use ::mqtt::{Message, Mqtt, Subscription};
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};
use tokio::time::Instant;
use tools_home::mqtt::{MqttSettings, object_id};

/// How many components are removed in one message, and from how many bytes on it has nothing else.
const REMOVED: usize = 300;
const LONG: usize = 32 * 1024;
/// How long after a connection retained states are read, and how many of them are remembered: a broker sends them at once.
const READ_FOR: Duration = Duration::from_secs(10);
const FOUND: usize = 1000;

/// What the broker of one connection has been notified of.
#[derive(Default)]
pub(super) struct Published {
    /// Which connection this is: they are counted.
    connection: u64,
    states: BTreeMap<String, String>,
    /// The announcement, and its components with their platforms.
    config: Option<Value>,
    components: BTreeMap<String, String>,
    subscriptions: Vec<Subscription>,
    subscribed: BTreeSet<String>,
    /// The states that the broker had retained, and the subscriptions that bring them.
    found: BTreeSet<RetainedState>,
    reading: Option<(Instant, Vec<Subscription>)>,
}

impl Published {
    /// Begins anew where this is another connection than before: its broker knows nothing. Returns whether it is.
    pub fn begin(&mut self, connection: u64) -> bool {
        let is_new = self.connection != connection;
        if is_new {
            *self = Self { connection, ..Self::default() };
        }
        is_new
    }

    /// Subscribes to commands, to what Home Assistant says of itself, to the announcement that the broker has retained, and for a
    /// moment to retained states.
    pub fn follow(&mut self, client: &Mqtt, settings: &MqttSettings, device: tool::Id) {
        let base = &settings.config.base;
        let filters = [
            format!("{base}/pin/+/set"),
            format!("{base}/rule/+/set"),
            format!("{base}/rule/+/run"),
            format!("{}/status", settings.discovery),
            config_topic(settings, device),
        ];
        if self.subscribed.iter().ne(BTreeSet::from(filters.clone()).iter()) {
            self.subscriptions = filters.iter().filter_map(|filter| client.subscribe(filter).ok()).collect();
            self.subscribed = filters.into();
            let states = STATES.iter().filter_map(|kind| client.subscribe(&format!("{base}/{kind}/+/state")).ok());
            self.reading = Some((Instant::now() + READ_FOR, states.collect()));
        }
        // Otherwise each state that is published would come back.
        if let Some((until, states)) = &mut self.reading
            && Instant::now() >= *until
        {
            states.clear();
        }
    }

    /// Everything is published again: Home Assistant has started.
    pub fn renew(&mut self) {
        self.states.clear();
        self.config = None;
    }

    /// A state that the broker had retained.
    pub fn found(&mut self, state: RetainedState) {
        if self.found.len() < FOUND {
            self.found.insert(state);
        }
    }

    /// Clears the retained states of what is no longer there: whether something is, by its kind and id.
    pub fn clear_others(&mut self, client: &Mqtt, base: &str, is_there: impl Fn(&str, &str) -> bool) {
        let own = self.states.keys().filter_map(|topic| {
            let rest = topic.strip_prefix(base)?.strip_prefix('/')?.strip_suffix("/state")?;
            let (kind, id) = rest.split_once('/')?;
            let kind = STATES.into_iter().find(|known| *known == kind)?;
            Some(RetainedState { kind, id: id.to_owned() })
        });
        let all: BTreeSet<RetainedState> = own.chain(self.found.iter().cloned()).collect();
        for gone in all.into_iter().filter(|state| !is_there(state.kind, &state.id)) {
            let topic = format!("{base}/{}/{}/state", gone.kind, gone.id);
            // Where the queue is full, it is cleared at the next look.
            if client.publish(Message::state(topic.clone(), "")).is_ok() {
                self.states.remove(&topic);
                self.found.remove(&gone);
            }
        }
    }

    /// Components of an earlier announcement, which the broker has retained: those that are gone are to be removed.
    pub fn left_over(&mut self, components: BTreeMap<String, String>) {
        let new = components.iter().any(|(key, _)| !self.components.contains_key(key));
        if new {
            self.components.extend(components);
            self.config = None;
        }
    }

    pub fn announce(&mut self, client: &Mqtt, settings: &MqttSettings, device: tool::Id, config: Option<Value>) {
        let topic = config_topic(settings, device);
        let Some(config) = config else {
            if !self.components.is_empty() && client.publish(Message::state(topic, "")).is_ok() {
                self.components.clear();
                self.config = None;
            }
            return;
        };
        if self.config.as_ref() == Some(&config) {
            return;
        }
        let now: BTreeMap<String, String> = announce::components(&config);
        let gone: Vec<_> = self.components.iter().filter(|(key, _)| !now.contains_key(*key)).collect();
        // Home Assistant removes a component that is only a platform. Not retained, so that it stays in the queue beside the
        // announcement without it. Beside a long announcement there is no place for it.
        let is_long = config.to_string().len() > LONG;
        for some in gone.chunks(REMOVED) {
            let mut removing = config.clone();
            if is_long {
                removing["cmps"] = json!({});
            }
            for (key, platform) in some {
                removing["cmps"][*key] = json!({"p": platform});
            }
            if client.publish(Message::event(topic.clone(), removing.to_string())).is_err() {
                return;
            }
        }
        if client.publish(Message::state(topic, config.to_string())).is_ok() {
            (self.components, self.config) = (now, Some(config));
        }
    }

    pub fn state(&mut self, client: &Mqtt, topic: String, state: String) {
        if self.states.get(&topic) != Some(&state)
            && client.publish(Message::state(topic.clone(), state.clone())).is_ok()
        {
            self.states.insert(topic, state);
        }
    }
}

/// Where this Hob announces itself.
fn config_topic(settings: &MqttSettings, device: tool::Id) -> String {
    format!("{}/device/{}/config", settings.discovery, object_id(device))
}
