//! Hob at the MQTT broker of the home: its named pins, readings and rules as one device in Home Assistant, and plain topics for
//! other programs.
//!
//! Below the base topic (`hob/NAME`): `status`, `pin/N/state`, `pin/N/set`, `sensor/ID`, `rule/ID/state|set|run`, `update`, and
//! `event/…`. Only named pins obey, by calls like any other: as a member, over [`Channel::Machine`], so that what opens or unlocks
//! is refused.

mod announce;
mod command;

use ::mqtt::{Message, Mqtt, Phase, Subscription};
use announce::{Announcement, Rule, announcement};
use board::Device;
use command::Request;
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};
use things::{Thing, Things};
use tokio::{sync::mpsc, task::JoinHandle, time::Instant};
use tokio_util::sync::CancellationToken;
use tool::{AgentId, BusEvent, Channel, Cx, Peer, Principal, Role, Topics, UserId, Via};
use tools_home::mqtt::{MqttHome, MqttSettings, object_id};

/// Requests that wait; in a flood the others are dropped.
const REQUESTS: usize = 64;
/// How often everything is looked at again, and how often readings are published.
const LOOK_EVERY: Duration = Duration::from_secs(5);
const READ_EVERY: Duration = Duration::from_secs(60);
/// The least time between two looks at the pins: a flapping pin is one message then.
const LOOK_AGAIN: Duration = Duration::from_millis(5);
/// What Home Assistant gets as events, and other programs as `event/…`.
const EVENTS: [&str; 2] = ["pin:press", "rule:fired"];
/// The most rules that are announced.
const RULES: usize = 200;

/// What the door needs.
#[derive(Clone)]
pub struct Door {
    /// The client and its settings.
    pub home: MqttHome,
    /// The things of this home; its pins are announced.
    pub things: Things,
    /// Readings of the device.
    pub device: Device,
    /// The name of this Hob now.
    pub name: Arc<dyn Fn() -> String + Send + Sync>,
    /// The version of this Hob.
    pub version: &'static str,
    /// Other versions of it.
    pub updates: Arc<dyn Fn() -> UpdateState + Send + Sync>,
}

/// The state of Home Assistant's update entity. It installs nothing: a person does, at the page or the command line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UpdateState {
    /// The version that runs; empty: the program's own.
    pub installed: String,
    /// The newest version that the channel offers, or the one that is being installed.
    pub latest: Option<String>,
    /// Whether another version is being written or tried.
    pub in_progress: bool,
    /// The release notes, or why the last one was taken back.
    pub summary: String,
}

/// The longest summary that Home Assistant takes, in characters.
const SUMMARY: usize = 255;

impl UpdateState {
    fn message(&self, version: &str) -> Value {
        let version = if self.installed.is_empty() { version } else { &self.installed };
        let mut message = json!({"installed_version": version, "latest_version": self.latest.as_deref().unwrap_or(version),
                                 "title": "Hob", "in_progress": self.in_progress});
        if !self.summary.is_empty() {
            message["release_summary"] = self.summary.chars().take(SUMMARY).collect::<String>().into();
        }
        message
    }
}

impl Door {
    /// Connects and announces until `closing`. The returned task ends once the broker has been notified of `offline`.
    pub fn start(self, closing: &CancellationToken) -> JoinHandle<()> {
        let client = self.home.clone().run(closing.clone());
        let announcing = closing.clone().run_until_cancelled_owned(self.run());
        tokio::spawn(async move {
            tokio::join!(client, announcing);
        })
    }

    async fn run(self) {
        let (requests, mut waiting) = mpsc::channel(REQUESTS);
        command::listen(&self.home, requests);
        let topics =
            Topics::parse("pin:*,pin-names:*,things:*,rule*,config:*,mqtt-things:*,mqtt:connection,settings:*,update:*");
        let mut events = self.home.ports().bus.listen_to(None, topics.unwrap_or_default());
        let mut status = self.home.client().watch();
        let mut published = Published::default();
        let (mut rules, mut rules_are_old) = (vec![], true);
        let mut next_reading = Instant::now();
        let mut settings_are_old = true;
        loop {
            if std::mem::take(&mut settings_are_old) {
                self.home.refresh(&(self.name)());
                // Also after an undo.
                self.home.load();
            }
            let settings = self.home.settings();
            let connected = status.borrow_and_update().state == Phase::Connected;
            if let Some(settings) = settings.as_ref().filter(|_| connected) {
                if rules_are_old {
                    (rules, rules_are_old) = (self.rules().await, false);
                }
                published.follow(self.home.client(), settings, self.home.device());
                self.publish(&mut published, settings, &rules);
                if Instant::now() >= next_reading {
                    self.publish_readings(settings).await;
                    next_reading = Instant::now() + READ_EVERY;
                }
            } else {
                published = Published::default();
                rules_are_old = true;
                next_reading = Instant::now();
            }
            tokio::select! {
                event = events.next() => match event {
                    Some(BusEvent::Event(event)) => {
                        rules_are_old |= event.topic.starts_with("rule") && event.topic != "rule:fired";
                        settings_are_old = ["config:", "settings:"].iter().any(|part| event.topic.starts_with(part));
                        if event.topic.starts_with("mqtt-things:") {
                            self.home.load();
                        }
                        if let Some(settings) = settings.as_ref().filter(|_| connected) {
                            self.forward(settings, &event.topic, &event.data);
                        }
                        // Pins may change thousands of times a second.
                        tokio::time::sleep(LOOK_AGAIN).await;
                    }
                    Some(BusEvent::Resync) => (rules_are_old, settings_are_old) = (true, true),
                    None => return,
                },
                request = waiting.recv() => match request {
                    Some(Request::Renew) => published.renew(),
                    Some(Request::Announced(keys)) => published.left_over(keys),
                    Some(request) => {
                        if let Some(settings) = &settings {
                            self.obey(settings, request).await;
                        }
                    }
                    None => return,
                },
                _ = status.changed() => {}
                () = tokio::time::sleep(LOOK_EVERY) => settings_are_old = true,
            }
        }
    }

    /// The pins that have a name.
    fn pins(&self) -> Vec<Thing> {
        self.things.all().into_iter().filter(|thing| thing.address.source == "pin").collect()
    }

    fn publish(&self, published: &mut Published, settings: &MqttSettings, rules: &[Rule]) {
        let pins = self.pins();
        let name = (self.name)();
        let whole = Announcement { pins: &pins, rules, name: &name, version: self.version, device: self.home.device() };
        let base = &settings.config.base;
        let config = settings.announce.then(|| announcement(&whole, settings));
        published.announce(self.home.client(), settings, self.home.device(), config);
        for pin in &pins {
            // Nothing is claimed of a pin that was not read.
            if let Some(active) = pin.state.active {
                let state = if active { "ON" } else { "OFF" };
                published.state(self.home.client(), format!("{base}/pin/{}/state", pin.address.key), state.to_owned());
            }
        }
        for rule in rules {
            let state = if rule.enabled { "ON" } else { "OFF" };
            published.state(self.home.client(), format!("{base}/rule/{}/state", rule.id), state.to_owned());
        }
        let update = (self.updates)().message(self.version).to_string();
        published.state(self.home.client(), format!("{base}/update"), update);
    }

    async fn publish_readings(&self, settings: &MqttSettings) {
        let Ok(state) = self.device.state().await else { return };
        for reading in announce::READINGS {
            if let Some(value) = (reading.read)(&state) {
                let topic = format!("{}/sensor/{}", settings.config.base, reading.id);
                let _ = self.home.client().publish(Message::state(topic, format!("{value:.1}")));
            }
        }
    }

    /// Passes on what happens once.
    fn forward(&self, settings: &MqttSettings, topic: &str, data: &Value) {
        if !EVENTS.contains(&topic) {
            return;
        }
        let base = &settings.config.base;
        let publish = |topic: String, data: &Value| {
            let _ = self.home.client().publish(Message::event(topic, data.to_string()));
        };
        publish(format!("{base}/event/{}", topic.replace(':', "/")), data);
        if let ("pin:press", Some(pin), Some(kind)) = (topic, data["pin"].as_u64(), data["kind"].as_str()) {
            publish(format!("{base}/pin/{pin}/press"), &json!({"event_type": kind}));
        }
    }

    fn cx(&self) -> Cx {
        let principal = Principal { user: UserId::OWNER, role: Role::Member, agent: AgentId::GENERAL };
        let via = Via { peer: Peer::Machine, clear: true, chat: Some("mqtt".into()), ..Via::direct(Channel::Machine) };
        Cx::root(self.home.ports().clone(), principal, via)
    }

    /// The rules of the household; none while there are no rules here.
    async fn rules(&self) -> Vec<Rule> {
        match self.cx().call("list_rules", json!({"limit": 50})).await {
            Ok(output) => announce::rules(&output.content, RULES),
            Err(_) => vec![],
        }
    }

    async fn obey(&self, settings: &MqttSettings, request: Request) {
        if !settings.control {
            return;
        }
        let made = match request {
            Request::Pin(pin, verb) => {
                let Some(thing) = self.pins().into_iter().find(|thing| thing.address.key == pin) else { return };
                match announce::obeys(&thing).then(|| self.things.plan(&thing, &things::Command::new(verb))).flatten() {
                    Some(Ok(planned)) => self.cx().call(planned.tool, planned.args).await,
                    _ => return,
                }
            }
            Request::EnableRule(rule, enabled) => {
                self.cx().call("update_rule", json!({"ruleId": rule, "enabled": enabled})).await
            }
            Request::RunRule(rule) => self.cx().call("run_rule", json!({"ruleId": rule})).await,
            Request::Renew | Request::Announced(_) => return,
        };
        if let Err(error) = made {
            tracing::info!(%error, "a command over MQTT was refused");
        }
    }
}

/// What the broker has been notified of, so that only changes are published.
#[derive(Default)]
struct Published {
    states: BTreeMap<String, String>,
    /// The announcement, and its components with their platforms.
    config: Option<Value>,
    components: BTreeMap<String, String>,
    subscriptions: Vec<Subscription>,
    subscribed: BTreeSet<String>,
}

impl Published {
    /// Subscribes to commands, to what Home Assistant says of itself, and to the announcement that the broker has retained.
    fn follow(&mut self, client: &Mqtt, settings: &MqttSettings, device: tool::Id) {
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
        }
    }

    /// Everything is published again: Home Assistant has started.
    fn renew(&mut self) {
        self.states.clear();
        self.config = None;
    }

    /// Components of an earlier announcement, which the broker has retained: those that are gone are to be removed.
    fn left_over(&mut self, components: BTreeMap<String, String>) {
        let new = components.iter().any(|(key, _)| !self.components.contains_key(key));
        if new {
            self.components.extend(components);
            self.config = None;
        }
    }

    fn announce(&mut self, client: &Mqtt, settings: &MqttSettings, device: tool::Id, config: Option<Value>) {
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
        if !gone.is_empty() {
            // Home Assistant removes a component that is only a platform. Not retained, so that it stays in the queue beside
            // the announcement without it.
            let mut removing = config.clone();
            for (key, platform) in gone {
                removing["cmps"][key] = json!({"p": platform});
            }
            if client.publish(Message::event(topic.clone(), removing.to_string())).is_err() {
                return;
            }
        }
        if client.publish(Message::state(topic, config.to_string())).is_ok() {
            (self.components, self.config) = (now, Some(config));
        }
    }

    fn state(&mut self, client: &Mqtt, topic: String, state: String) {
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
