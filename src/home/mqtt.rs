//! Hob at the MQTT broker of the home: its named pins, readings and rules as one device in Home Assistant, and plain topics for
//! other programs.
//!
//! Below the base (`hob/NAME_ID`): `status`, `pin/N/state`, `pin/N/set`, `pin/N/press`, `sensor/ID`, `rule/ID/state|set|run`,
//! `rule/fired`, `update`, and `event/…`. Only named pins obey, by calls like any other: as a member, over
//! [`Channel::Machine`], so that what opens or unlocks is refused.

mod announce;
mod command;
mod postponed;

use ::mqtt::{Message, Mqtt, Phase, Subscription};
use announce::{Announcement, Rule, announcement};
use board::Device;
use command::{Request, Requests};
use postponed::{Postponed, Repeated};
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};
use things::{Thing, Things};
use tokio::{
    task::{JoinHandle, JoinSet},
    time::Instant,
};
use tokio_util::sync::CancellationToken;
use tool::{AgentId, BusEvent, Channel, Cx, Error, Peer, Principal, Role, Topics, UserId, Via};
use tools_home::mqtt::{MqttHome, MqttSettings, object_id};

/// How often everything is looked at again, and how often readings are published.
const LOOK_EVERY: Duration = Duration::from_secs(5);
const READ_EVERY: Duration = Duration::from_secs(60);
/// The least time between two looks at the pins: a flapping pin is one message then.
const LOOK_AGAIN: Duration = Duration::from_millis(5);
/// How long changes of rules are gathered before the rules are read again.
const READ_RULES_AFTER: Duration = Duration::from_millis(200);
/// How many components are removed in one message, and from how many bytes on it has nothing else.
const REMOVED: usize = 300;
const LONG: usize = 32 * 1024;
/// What Home Assistant gets as events, and other programs as `event/…`.
const EVENTS: [&str; 3] = ["pin:press", "rule:fired", "trigger:fired"];
/// The most rules that are announced, and how many of them are read at once.
const RULES: usize = 200;
const PAGE: usize = 50;
/// How many rules run at once that a message started: one may wait for minutes.
const RUNNING: usize = 16;

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
        let requests = Requests::default();
        command::listen(&self.home, requests.clone());
        let topics = Topics::parse(
            "pin:*,pin-names:*,things:*,rule*,trigger*,config:*,mqtt-things:*,mqtt:connection,settings:*,update:*",
        );
        let mut events = self.home.ports().bus.listen_to(None, topics.unwrap_or_default());
        let mut status = self.home.client().watch();
        let mut published = Published::default();
        // When the rules are read again.
        let (mut rules, mut rules_at) = (vec![], Some(Instant::now()));
        let mut next_reading = Instant::now();
        let mut settings_are_old = true;
        let mut running = JoinSet::new();
        let mut postponed = Postponed::default();
        // Pins may change hundreds of times a second, and events are passed on without a pause.
        let (mut look_at, mut refresh_at) = (Some(Instant::now()), Instant::now() + LOOK_EVERY);
        loop {
            let now = Instant::now();
            if now >= refresh_at {
                (settings_are_old, look_at, refresh_at) = (true, Some(now), now + LOOK_EVERY);
            }
            if std::mem::take(&mut settings_are_old) {
                self.home.refresh(&(self.name)());
                // Also after an undo.
                self.home.load();
            }
            let settings = self.home.settings();
            if let (Some(repeated), Some(settings)) = (postponed.due(now), &settings)
                && !requests.has_pin(&repeated.pin)
            {
                self.switch(settings, repeated, &mut postponed).await;
            }
            let connected = status.borrow_and_update().state == Phase::Connected;
            if let Some(settings) = settings.as_ref().filter(|_| connected) {
                if look_at.into_iter().chain(rules_at).any(|at| now >= at) {
                    look_at = None;
                    if rules_at.is_some_and(|at| now >= at) {
                        match self.rules().await {
                            Ok(read) => (rules, rules_at) = (read, None),
                            // Those from before stay.
                            Err(error) => {
                                rules_at = Some(now + LOOK_EVERY);
                                tracing::info!(%error, "the rules could not be announced over MQTT");
                            }
                        }
                    }
                    published.follow(self.home.client(), settings, self.home.device());
                    self.publish(&mut published, settings, &rules);
                }
                if now >= next_reading {
                    self.publish_readings(settings).await;
                    next_reading = now + READ_EVERY;
                }
            } else {
                published = Published::default();
                rules_at = Some(now);
                next_reading = now;
                look_at = Some(now);
            }
            let looks = if connected && settings.is_some() { look_at.into_iter().chain(rules_at).min() } else { None };
            let wake = looks.into_iter().chain(postponed.next_at()).fold(refresh_at, Instant::min);
            tokio::select! {
                event = events.next() => match event {
                    Some(BusEvent::Event(event)) => {
                        if ["rules:", "triggers:"].iter().any(|part| event.topic.starts_with(part)) {
                            rules_at.get_or_insert_with(|| Instant::now() + READ_RULES_AFTER);
                        }
                        settings_are_old |= ["config:", "settings:"].iter().any(|part| event.topic.starts_with(part));
                        if event.topic.starts_with("mqtt-things:") {
                            self.home.load();
                        }
                        // What happens to one member alone is not for everybody at the broker.
                        let shown = event.to.is_none_or(|to| to == UserId::OWNER);
                        if let Some(settings) = settings.as_ref().filter(|_| connected && shown) {
                            self.forward(settings, &event.topic, &event.data);
                        }
                    }
                    Some(BusEvent::Resync) => (rules_at, settings_are_old) = (Some(Instant::now()), true),
                    None => return,
                },
                request = requests.next() => match request {
                    Request::Renew => published.renew(),
                    Request::Announced(keys) => published.left_over(keys),
                    Request::Pin(pin, verb) => {
                        postponed.supersede(&pin);
                        if let Some(settings) = &settings {
                            self.switch(settings, Repeated::first(pin, verb), &mut postponed).await;
                        }
                    }
                    request => {
                        if let Some(settings) = &settings {
                            self.obey(settings, request, &mut running).await;
                        }
                    }
                },
                _ = status.changed() => {}
                Some(_) = running.join_next() => continue,
                () = tokio::time::sleep_until(wake) => continue,
            }
            look_at = look_at.or_else(|| Some(Instant::now() + LOOK_AGAIN));
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
            if let Err(error) = self.home.client().publish(Message::event(topic, data.to_string())) {
                tracing::debug!(%error, "an event was not passed on over MQTT");
            }
        };
        publish(format!("{base}/event/{}", topic.replace(':', "/")), data);
        if topic == "pin:press" {
            if let (Some(pin), Some(kind)) = (data["pin"].as_u64(), data["kind"].as_str()) {
                publish(format!("{base}/pin/{pin}/press"), &json!({"event_type": kind}));
            }
        } else if let Some(status) = data["status"].as_str() {
            let fired = json!({"event_type": status, "rule": data["name"], "rule_id": data["id"]});
            publish(format!("{base}/rule/fired"), &fired);
        }
    }

    fn cx(&self) -> Cx {
        let principal = Principal { user: UserId::OWNER, role: Role::Member, agent: AgentId::GENERAL };
        let via = Via { peer: Peer::Machine, clear: true, chat: Some("mqtt".into()), ..Via::direct(Channel::Machine) };
        Cx::root(self.home.ports().clone(), principal, via)
    }

    /// The rules that the owner of this Hob sees. Private ones are among them, so the broker has their names, too.
    async fn rules(&self) -> tool::Result<Vec<Rule>> {
        let mut all: Vec<Rule> = vec![];
        for offset in (0..RULES).step_by(PAGE) {
            let page = self.cx().call("list_rules", json!({"limit": PAGE, "offset": offset})).await?.content;
            all.extend(announce::rules(&page, PAGE));
            if page["hasMore"] != true {
                break;
            }
        }
        Ok(all)
    }

    /// Switches a pin, and keeps the command where the pin is switched too fast.
    async fn switch(&self, settings: &MqttSettings, command: Repeated, postponed: &mut Postponed) {
        let Some(thing) = self.pins().into_iter().find(|thing| thing.address.key == command.pin) else { return };
        if !settings.control || !announce::obeys(&thing) {
            return;
        }
        let Some(Ok(planned)) = self.things.plan(&thing, &things::Command::new(command.verb)) else { return };
        if let Err(error) = self.cx().call(planned.tool, planned.args).await
            && !postponed.keep(command, &error, Instant::now())
        {
            refused(&error);
        }
    }

    async fn obey(&self, settings: &MqttSettings, request: Request, running: &mut JoinSet<()>) {
        if !settings.control {
            return;
        }
        let made = match request {
            Request::EnableRule(rule, enabled) => {
                self.cx().call("update_rule", json!({"ruleId": rule, "enabled": enabled})).await
            }
            Request::RunRule(rule) => {
                // It may wait for minutes, and pins obey meanwhile.
                if running.len() >= RUNNING {
                    return tracing::info!(rule, "a rule was not run over MQTT: {RUNNING} of them run already");
                }
                let cx = self.cx();
                running.spawn(async move {
                    if let Err(error) = cx.call("run_rule", json!({"ruleId": rule})).await {
                        tracing::info!(rule, %error, "a rule that was run over MQTT failed");
                    }
                });
                return;
            }
            Request::Pin(..) | Request::Renew | Request::Announced(_) => return,
        };
        if let Err(error) = made {
            refused(&error);
        }
    }
}

fn refused(error: &Error) {
    tracing::info!(%error, "a command over MQTT was refused");
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
