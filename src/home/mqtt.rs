//! Hob at the MQTT broker of the home: its named pins, readings and rules as one device in Home Assistant, and plain topics for
//! other programs.
//!
//! Below the base (`hob/NAME_ID`): `status`, `pin/N/state`, `pin/N/set`, `pin/N/press`, `sensor/ID`, `rule/ID/state|set|run`,
//! `rule/fired`, `update`, and `event/…`. Only named pins obey, by calls like any other: as a member, over
//! [`Channel::Machine`], so that what opens or unlocks is refused.

mod announce;
mod command;
mod postponed;
mod published;
#[cfg(test)]
mod tests;

use ::mqtt::{Message, Phase};
use announce::{Announcement, Rule, announcement};
use board::Device;
use command::{Request, Requests};
use postponed::{Postponed, Repeated};
use published::Published;
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};
use things::{Thing, Things};
use tokio::{
    task::{JoinHandle, JoinSet},
    time::Instant,
};
use tokio_util::sync::CancellationToken;
use tool::{AgentId, BusEvent, Channel, Cx, Error, Peer, Principal, Role, Topics, UserId, Via};
use tools_home::mqtt::{MqttHome, MqttSettings};

/// How often everything is looked at again, and how often readings are published.
const LOOK_EVERY: Duration = Duration::from_secs(5);
const READ_EVERY: Duration = Duration::from_secs(60);
/// The least time between two looks at the pins: a flapping pin is one message then.
const LOOK_AGAIN: Duration = Duration::from_millis(5);
/// How long changes of rules are gathered before the rules are read again.
const READ_RULES_AFTER: Duration = Duration::from_millis(200);
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
        // The rules, once they have been read, and when they are read again.
        let (mut rules, mut rules_at) = (None, Some(Instant::now()));
        let mut next_reading = Instant::now();
        let (mut settings_are_old, mut known_settings) = (true, None);
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
            if settings != known_settings {
                // Other rules may be shown now, and none that may no longer be.
                (rules, rules_at, look_at) = (None, Some(now), Some(now));
                known_settings.clone_from(&settings);
            }
            if let (Some(repeated), Some(settings)) = (postponed.due(now), &settings)
                && !requests.has_pin(&repeated.pin)
            {
                self.switch(settings, repeated, &mut postponed).await;
            }
            let (connected, connections) = {
                let status = status.borrow_and_update();
                (status.state == Phase::Connected, status.connections)
            };
            // Also a connection that was lost and made again meanwhile: the broker may have forgotten everything.
            if published.begin(connections) {
                rules_at = Some(now);
                next_reading = now;
                look_at = Some(now);
            }
            if let Some(settings) = settings.as_ref().filter(|_| connected) {
                if look_at.into_iter().chain(rules_at).any(|at| now >= at) {
                    look_at = None;
                    if rules_at.is_some_and(|at| now >= at) {
                        match self.rules(settings).await {
                            Ok(read) => (rules, rules_at) = (Some(read), None),
                            // Those from before stay.
                            Err(error) => {
                                rules_at = Some(now + LOOK_EVERY);
                                tracing::info!(%error, "the rules could not be announced over MQTT");
                            }
                        }
                    }
                    published.follow(self.home.client(), settings, self.home.device());
                    self.publish(&mut published, settings, rules.as_deref());
                }
                if now >= next_reading {
                    self.publish_readings(settings).await;
                    next_reading = now + READ_EVERY;
                }
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
                            self.forward(settings, rules.as_deref().unwrap_or_default(), &event.topic, &event.data);
                        }
                    }
                    Some(BusEvent::Resync) => (rules_at, settings_are_old) = (Some(Instant::now()), true),
                    None => return,
                },
                request = requests.next() => match request {
                    Request::Renew => published.renew(),
                    Request::Announced(keys) => published.left_over(keys),
                    Request::Retained(state) => published.found(state),
                    Request::Pin(pin, verb) => {
                        postponed.supersede(&pin);
                        if let Some(settings) = &settings {
                            self.switch(settings, Repeated::first(pin, verb), &mut postponed).await;
                        }
                    }
                    request => {
                        if let Some(settings) = &settings {
                            self.obey(settings, rules.as_deref().unwrap_or_default(), request, &mut running).await;
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

    fn publish(&self, published: &mut Published, settings: &MqttSettings, read: Option<&[Rule]>) {
        let (pins, rules) = (self.pins(), read.unwrap_or_default());
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
        // Nothing is cleared while it is not known which rules there are.
        let is_there = |kind: &str, id: &str| match kind {
            "pin" => pins.iter().any(|pin| pin.address.key == id),
            _ => read.is_none_or(|rules| rules.iter().any(|rule| rule.id == id)),
        };
        published.clear_others(self.home.client(), base, is_there);
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
    fn forward(&self, settings: &MqttSettings, rules: &[Rule], topic: &str, data: &Value) {
        let is_of_rule = topic != "pin:press";
        if !EVENTS.contains(&topic) || is_of_rule && !is_shown(settings, rules, data["id"].as_str().unwrap_or_default())
        {
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
        self.cx_as(UserId::OWNER, Role::Member)
    }

    fn cx_as(&self, user: UserId, role: Role) -> Cx {
        let principal = Principal { user, role, agent: AgentId::GENERAL };
        let via = Via { peer: Peer::Machine, clear: true, chat: Some("mqtt".into()), ..Via::direct(Channel::Machine) };
        Cx::root(self.home.ports().clone(), principal, via)
    }

    /// The rules that everybody in the household sees, or all of the owner's where the settings say so: whoever reads at the
    /// broker learns their names.
    async fn rules(&self, settings: &MqttSettings) -> tool::Result<Vec<Rule>> {
        let mut all: Vec<Rule> = vec![];
        let cx = if settings.private_rules { self.cx() } else { self.cx_as(UserId::SOMEBODY, Role::Viewer) };
        for offset in (0..RULES).step_by(PAGE) {
            let page = cx.call("list_rules", json!({"limit": PAGE, "offset": offset})).await?.content;
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

    async fn obey(&self, settings: &MqttSettings, rules: &[Rule], request: Request, running: &mut JoinSet<()>) {
        let (Request::EnableRule(rule, _) | Request::RunRule(rule)) = &request else { return };
        if !settings.control || !is_shown(settings, rules, rule) {
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
            _ => return,
        };
        if let Err(error) = made {
            refused(&error);
        }
    }
}

/// Whether this rule is one that the broker may know of.
fn is_shown(settings: &MqttSettings, rules: &[Rule], id: &str) -> bool {
    settings.private_rules || rules.iter().any(|rule| rule.id == id)
}

fn refused(error: &Error) {
    tracing::info!(%error, "a command over MQTT was refused");
}
