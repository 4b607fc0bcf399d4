//! The MQTT side of the home: the client with its settings, and the things behind its topics.

use super::{
    announced,
    entity::Entity,
    plan,
    record::MqttThing,
    settings::{self, MqttSettings, SERVICE},
};
use mqtt::{Incoming, Mqtt, Subscription};
use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use store::{Collection, Listing, Store};
use things::{Command, PlannedCall, Source, Thing};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tool::{Id, Ports, Result, Scope, prelude::json};

/// The most things that announce themselves.
const ANNOUNCED: usize = 2000;
/// How long announcements are gathered.
const INDEX_AFTER: Duration = Duration::from_millis(100);

/// The MQTT client of this home, its settings and its things; cheap to clone.
#[derive(Clone)]
pub struct MqttHome(Arc<Inner>);

struct Inner {
    client: Mqtt,
    ports: Ports,
    device: Id,
    object_id: String,
    records: Collection<MqttThing>,
    settings: Mutex<Option<Arc<MqttSettings>>>,
    state: Mutex<Entities>,
    /// Announcements came or went: topics are to be subscribed to again.
    stale: Notify,
}

#[derive(Default)]
struct Entities {
    /// By key; those of people before those that announce themselves.
    own: BTreeMap<String, Entity>,
    announced: BTreeMap<String, Entity>,
    /// The keys that each announcement brought, by its topic.
    by_config: HashMap<Arc<str>, Vec<String>>,
    /// The keys of the entities that listen to a topic.
    by_topic: HashMap<String, Vec<String>>,
    subscriptions: HashMap<String, Subscription>,
    config_subscriptions: Vec<Subscription>,
    /// What [`Source::things`] returns; made again after a change.
    things: Option<Arc<[Thing]>>,
    /// How many announcements found no place.
    refused: u64,
    /// The name of this Hob.
    name: String,
}

impl Entities {
    /// Whether an entity is one that an earlier installation of this Hob left at the broker: of the same name, and not there.
    fn is_left_over(&self, entity: &Entity) -> bool {
        entity.hob.as_ref().is_some_and(|hob| *hob == super::entity::short(&self.name))
            && entity.available != Some(true)
    }

    fn get(&self, key: &str) -> Option<&Entity> {
        self.own.get(key).or_else(|| self.announced.get(key))
    }

    /// Rebuilds the index; returns the topics that are no longer subscribed to, to be dropped without the lock.
    fn index(&mut self, client: &Mqtt) -> Vec<Subscription> {
        self.things = None;
        self.by_topic.clear();
        for entity in self.own.values().chain(self.announced.values()) {
            for topic in entity.topics() {
                let keys = self.by_topic.entry(topic.to_owned()).or_default();
                if !keys.contains(&entity.key) {
                    keys.push(entity.key.clone());
                }
            }
        }
        let gone: Vec<String> =
            self.subscriptions.keys().filter(|topic| !self.by_topic.contains_key(*topic)).cloned().collect();
        let gone = gone.iter().filter_map(|topic| self.subscriptions.remove(topic)).collect();
        for topic in self.by_topic.keys() {
            if !self.subscriptions.contains_key(topic)
                && let Ok(subscription) = client.subscribe(topic)
            {
                self.subscriptions.insert(topic.clone(), subscription);
            }
        }
        gone
    }
}

impl MqttHome {
    /// The MQTT side of the home, without a broker yet.
    pub fn new(store: &Store, ports: Ports) -> Self {
        let client = Mqtt::new(ports.bus.clone());
        let inner = Inner {
            client: client.clone(),
            ports,
            device: store.device_id(),
            object_id: object_id(store.device_id()),
            records: store.collection(),
            settings: Mutex::default(),
            state: Mutex::default(),
            stale: Notify::new(),
        };
        let home = Self(Arc::new(inner));
        let listening = Arc::downgrade(&home.0);
        client.on_message(move |message| {
            if let Some(inner) = listening.upgrade() {
                Self(inner).receive(message);
            }
        });
        home
    }

    /// The client.
    pub fn client(&self) -> &Mqtt {
        &self.0.client
    }

    /// Calls `handler` with each message while a broker is set up. It must be quick and must not block.
    pub fn on_message(&self, handler: impl Fn(&MqttSettings, &Incoming) + Send + Sync + 'static) {
        let listening = Arc::downgrade(&self.0);
        self.0.client.on_message(move |message| {
            if let Some(settings) = listening.upgrade().and_then(|inner| Self(inner).settings()) {
                handler(&settings, message);
            }
        });
    }

    /// The id of this device.
    pub fn device(&self) -> Id {
        self.0.device
    }

    /// The ports of its calls.
    pub fn ports(&self) -> &Ports {
        &self.0.ports
    }

    /// What is set up.
    pub fn settings(&self) -> Option<Arc<MqttSettings>> {
        self.0.settings.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Reads the settings again. `name` is the name of this Hob.
    pub fn refresh(&self, name: &str) {
        {
            let mut state = self.state();
            if state.name != name {
                name.clone_into(&mut state.name);
                state.things = None;
            }
        }
        let entry = self.0.ports.settings.entry(SERVICE, None);
        let new = entry.and_then(|entry| settings::read(&entry, name, self.0.device)).map(Arc::new);
        let changed = {
            let mut settings = self.0.settings.lock().unwrap_or_else(PoisonError::into_inner);
            let changed = *settings != new;
            settings.clone_from(&new);
            changed
        };
        if changed {
            self.0.client.configure(new.as_ref().map(|settings| settings.config.clone()));
            self.restart(new.as_deref());
        }
    }

    /// Forgets announced things, and subscribes to announcements.
    fn restart(&self, settings: Option<&MqttSettings>) {
        let adopt = settings.filter(|settings| settings.adopt).map(|settings| settings.discovery.clone());
        let filters = adopt.into_iter().flat_map(|at| [format!("{at}/+/+/config"), format!("{at}/+/+/+/config")]);
        let new: Vec<_> = filters.filter_map(|filter| self.0.client.subscribe(&filter).ok()).collect();
        let gone = {
            let mut state = self.state();
            state.announced.clear();
            state.by_config.clear();
            let old = std::mem::replace(&mut state.config_subscriptions, new);
            (old, state.index(&self.0.client))
        };
        drop(gone);
    }

    /// Reads the things that people described from the store.
    pub fn load(&self) {
        let stored = match self.0.records.list_in(Scope::Household, &Listing::default()) {
            Ok(stored) => stored,
            Err(error) => return tracing::warn!(%error, "MQTT things could not be read"),
        };
        let gone = {
            let mut state = self.state();
            let mut old = std::mem::take(&mut state.own);
            let mut same = old.len() == stored.len();
            for entry in stored {
                let mut new = entry.value.entity();
                match old.remove(&new.key) {
                    // Its state stays.
                    Some(before) => {
                        let (known, available) = (before.state.clone(), before.available);
                        let unchanged = Entity { state: new.state.clone(), available: None, ..before } == new;
                        if unchanged {
                            (new.state, new.available) = (known, available);
                        }
                        same &= unchanged;
                    }
                    None => same = false,
                }
                state.own.insert(new.key.clone(), new);
            }
            if same {
                return;
            }
            state.index(&self.0.client)
        };
        drop(gone);
    }

    pub(crate) fn records(&self) -> &Collection<MqttThing> {
        &self.0.records
    }

    /// How many things announce themselves, and how many found no place.
    pub(crate) fn announced(&self) -> (usize, u64) {
        let state = self.state();
        (state.announced.len(), state.refused)
    }

    /// Whether a message opens or unlocks one of the things, or goes to a topic that a person marked.
    pub(crate) fn opens(&self, topic: &str, payload: &str) -> bool {
        let marked = self.settings().is_some_and(|s| s.guarded.iter().any(|filter| mqtt::matches(filter, topic)));
        let state = self.state();
        marked || state.own.values().chain(state.announced.values()).any(|entity| plan::opens(entity, topic, payload))
    }

    fn state(&self) -> MutexGuard<'_, Entities> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[cfg(test)]
    pub(crate) fn index_now(&self) {
        drop(self.state().index(&self.0.client));
    }

    #[cfg(test)]
    pub(crate) fn deliver(&self, message: &Incoming) {
        self.receive(message);
    }

    fn receive(&self, message: &Incoming) {
        if let Some(settings) = self.settings()
            && settings.adopt
            && let Some(rest) = message.topic.strip_prefix(&*settings.discovery).and_then(|rest| rest.strip_prefix('/'))
            && !rest.contains(&self.0.object_id)
            && let Some(entities) = announced::read(rest, &message.text())
        {
            return self.announce(&message.topic, entities);
        }
        let mut state = self.state();
        let Entities { own, announced, by_topic, things, .. } = &mut *state;
        for key in by_topic.get(&*message.topic).into_iter().flatten() {
            if let Some(entity) = own.get_mut(key).or_else(|| announced.get_mut(key))
                && entity.apply(message)
            {
                *things = None;
            }
        }
    }

    fn announce(&self, topic: &Arc<str>, entities: Vec<Entity>) {
        {
            let mut state = self.state();
            let old: HashSet<String> = state.by_config.remove(topic).unwrap_or_default().into_iter().collect();
            let mut keys = vec![];
            for mut entity in entities {
                let known = old.contains(&entity.key);
                // Nobody replaces what another announcement brought.
                if (!known && state.announced.contains_key(&entity.key)) || keys.contains(&entity.key) {
                    continue;
                }
                if !known && state.announced.len() >= ANNOUNCED {
                    state.refused += 1;
                    continue;
                }
                if let Some(before) = state.announced.get(&entity.key) {
                    (entity.state, entity.available) = (before.state.clone(), before.available);
                }
                keys.push(entity.key.clone());
                state.announced.insert(entity.key.clone(), entity);
            }
            for key in old.iter().filter(|key| !keys.contains(key)) {
                state.announced.remove(key);
            }
            if !keys.is_empty() {
                state.by_config.insert(topic.clone(), keys);
            }
            state.things = None;
        }
        self.0.stale.notify_one();
    }

    /// Stays connected until `closing`.
    pub async fn run(self, closing: CancellationToken) {
        let client = self.0.client.clone().run(closing.clone());
        let indexing = closing.run_until_cancelled(async {
            loop {
                self.0.stale.notified().await;
                // A broker sends what it has retained at once: hundreds of announcements.
                tokio::time::sleep(INDEX_AFTER).await;
                let gone = self.state().index(&self.0.client);
                drop(gone);
                self.0.ports.bus.publish("things:changed", None, json!({"source": "mqtt"}));
            }
        });
        tokio::join!(client, indexing);
    }
}

/// The id under which this Hob announces itself.
pub fn object_id(device: Id) -> String {
    let id: String = device.to_string().chars().filter(char::is_ascii_alphanumeric).collect();
    format!("hob_{}", id[id.len().saturating_sub(16)..].to_lowercase())
}

impl Source for MqttHome {
    fn id(&self) -> &'static str {
        "mqtt"
    }

    fn things(&self) -> Arc<[Thing]> {
        let mut state = self.state();
        if let Some(things) = &state.things {
            return things.clone();
        }
        let there = state.announced.values().filter(|entity| !state.is_left_over(entity));
        let things: Arc<[Thing]> = state.own.values().chain(there).map(Entity::thing).collect();
        state.things = Some(things.clone());
        things
    }

    fn plan(&self, thing: &Thing, command: &Command) -> Result<PlannedCall> {
        let state = self.state();
        let entity = state
            .get(&thing.address.key)
            .ok_or_else(|| tool::Error::not_found(format!("`{}` is no longer there", thing.address)))?;
        let (topic, payload) = plan::message(entity, command)?;
        let mut args = json!({"topic": topic, "payload": payload});
        if entity.retain {
            args["retain"] = true.into();
        }
        Ok(PlannedCall { tool: "mqtt_publish", args })
    }
}
