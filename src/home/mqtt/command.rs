//! Messages to this Hob.

use super::announce;
use serde_json::Value;
use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use things::Verb;
use tokio::sync::Notify;
use tools_home::mqtt::{MqttHome, MqttSettings, object_id};

/// What a message asks for.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Request {
    /// Switch a pin.
    Pin(String, Verb),
    /// Enable or disable a rule.
    EnableRule(String, bool),
    /// Run a rule.
    RunRule(String),
    /// Home Assistant has started: announce everything again.
    Renew,
    /// The components that the broker has retained from an earlier announcement.
    Announced(BTreeMap<String, String>),
    /// A state of a pin or rule that the broker has retained: its kind and its id.
    Retained(RetainedState),
}

/// A retained state below the base topic: `pin/17/state`, `rule/ID/state`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RetainedState {
    pub kind: &'static str,
    pub id: String,
}

impl Request {
    /// Whether an older request means nothing any more: the last word of several counts.
    fn replaces(&self, older: &Self) -> bool {
        match (self, older) {
            (Self::Pin(pin, Verb::TurnOn | Verb::TurnOff), Self::Pin(other, _)) => pin == other,
            (Self::EnableRule(rule, _), Self::EnableRule(other, _)) => rule == other,
            (Self::Retained(state), Self::Retained(other)) => state == other,
            (Self::Renew, Self::Renew) | (Self::Announced(_), Self::Announced(_)) => true,
            _ => false,
        }
    }
}

/// What has states that go when it goes.
pub(super) const STATES: [&str; 2] = ["pin", "rule"];
/// How many requests may wait, and from how many on older ones that mean nothing any more are dropped. Others keep their order.
const MOST: usize = 256;
const MANY: usize = 32;

/// The requests that wait.
#[derive(Clone, Default)]
pub(super) struct Requests(Arc<(Mutex<VecDeque<Request>>, Notify)>);

impl Requests {
    fn waiting(&self) -> MutexGuard<'_, VecDeque<Request>> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, request: Request) {
        let mut waiting = self.waiting();
        if waiting.len() >= MANY {
            waiting.retain(|older| !request.replaces(older));
        }
        if waiting.len() >= MOST {
            return tracing::debug!("a command over MQTT was dropped: there are too many");
        }
        waiting.push_back(request);
        drop(waiting);
        self.0.1.notify_one();
    }

    /// Whether a command for this pin waits.
    pub fn has_pin(&self, pin: &str) -> bool {
        self.waiting().iter().any(|request| matches!(request, Request::Pin(other, _) if other == pin))
    }

    /// Waits for the next one.
    pub async fn next(&self) -> Request {
        loop {
            if let Some(request) = self.waiting().pop_front() {
                return request;
            }
            self.0.1.notified().await;
        }
    }
}

/// Passes requests on.
pub(super) fn listen(home: &MqttHome, requests: Requests) {
    let own = object_id(home.device());
    home.on_message(move |settings, message| {
        if let Some(request) = read(settings, &own, &message.topic, &message.payload, message.retain) {
            requests.push(request);
        }
    });
}

/// A pin by its number.
fn pin_number(text: &str) -> Option<String> {
    text.parse::<u8>().ok().filter(|pin| *pin < 64).map(|pin| pin.to_string())
}

/// A rule by its id.
fn rule_id(text: &str) -> Option<String> {
    text.parse::<tool::Id>().ok().map(|_| text.to_owned())
}

/// What a message asks for; `None` for any other message. A command that the broker has retained is old, and not obeyed.
fn read(settings: &MqttSettings, own: &str, topic: &str, payload: &[u8], retained: bool) -> Option<Request> {
    if let Some(rest) = topic.strip_prefix(&*settings.discovery).and_then(|rest| rest.strip_prefix('/')) {
        if rest == "status" {
            return (payload == b"online" && !retained).then_some(Request::Renew);
        }
        let kept = rest.strip_prefix("device/")?.strip_suffix("/config")?;
        let config: Value = serde_json::from_slice(payload).ok().filter(|_| kept == own && retained)?;
        return Some(Request::Announced(announce::components(&config)));
    }
    let rest = topic.strip_prefix(&*settings.config.base)?.strip_prefix('/')?;
    if retained {
        // An empty payload is no state.
        let (rest, false) = (rest.strip_suffix("/state")?, payload.is_empty()) else { return None };
        let (kind, id) = rest.split_once('/').filter(|(_, id)| !id.contains('/'))?;
        let kind = STATES.into_iter().find(|known| *known == kind)?;
        return Some(Request::Retained(RetainedState { kind, id: id.to_owned() }));
    }
    let text = std::str::from_utf8(payload).ok()?.trim();
    let switched = match text.to_ascii_uppercase().as_str() {
        "ON" | "1" | "TRUE" => Some(Verb::TurnOn),
        "OFF" | "0" | "FALSE" => Some(Verb::TurnOff),
        "TOGGLE" => Some(Verb::Toggle),
        _ => None,
    };
    match rest.split('/').collect::<Vec<_>>()[..] {
        ["pin", pin, "set"] => Some(Request::Pin(pin_number(pin)?, switched?)),
        ["rule", rule, "set"] => match switched? {
            Verb::TurnOn => Some(Request::EnableRule(rule_id(rule)?, true)),
            Verb::TurnOff => Some(Request::EnableRule(rule_id(rule)?, false)),
            _ => None,
        },
        ["rule", rule, "run"] => Some(Request::RunRule(rule_id(rule)?)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: &str = "01a219a7-69e5-7000-9d90-7bad2cb79742";

    #[tokio::test]
    async fn in_a_flood_the_last_word_counts() {
        let requests = Requests::default();
        let pin = |pin: &str, verb| Request::Pin(pin.into(), verb);
        // As many as people send keep their order.
        for verb in [Verb::TurnOn, Verb::Toggle, Verb::TurnOff] {
            requests.push(pin("4", verb));
        }
        for verb in [Verb::TurnOn, Verb::Toggle, Verb::TurnOff] {
            assert_eq!(requests.next().await, pin("4", verb));
        }
        requests.push(Request::RunRule(RULE.into()));
        for n in 0..100_000 {
            requests.push(pin("17", if n % 2 == 0 { Verb::TurnOn } else { Verb::TurnOff }));
            requests.push(Request::EnableRule(RULE.into(), n % 2 == 0));
            requests.push(Request::Renew);
        }
        assert!(requests.waiting().len() <= MANY);
        let mut left = vec![];
        while !requests.waiting().is_empty() {
            left.push(requests.next().await);
        }
        assert_eq!(left[0], Request::RunRule(RULE.into()));
        let last = |wanted: fn(&Request) -> bool| left.iter().rfind(|request| wanted(request)).cloned();
        assert_eq!(last(|request| matches!(request, Request::Pin(..))), Some(pin("17", Verb::TurnOff)));
        let armed = last(|request| matches!(request, Request::EnableRule(..)));
        assert_eq!(armed, Some(Request::EnableRule(RULE.into(), false)));
        (0..10 * MOST).for_each(|_| requests.push(Request::RunRule(RULE.into())));
        assert_eq!(requests.waiting().len(), MOST);
    }

    #[test]
    fn messages_are_read_strictly() {
        let settings = MqttSettings {
            config: ::mqtt::Config {
                host: "b".into(),
                port: 1,
                username: None,
                password: None,
                tls: ::mqtt::Tls::Off,
                client_id: "c".into(),
                base: "hob/k".into(),
            },
            discovery: "homeassistant".into(),
            announce: true,
            control: true,
            adopt: true,
            private_rules: false,
            allowed: vec![],
            guarded: vec![],
        };
        let pin = |verb| Some(Request::Pin("17".into(), verb));
        let state = |kind, id: &str| Some(Request::Retained(RetainedState { kind, id: id.to_owned() }));
        for (topic, payload, retained, request) in [
            ("hob/k/pin/17/set", "ON", false, pin(Verb::TurnOn)),
            ("hob/k/pin/17/set", "off", false, pin(Verb::TurnOff)),
            ("hob/k/pin/17/set", " toggle\n", false, pin(Verb::Toggle)),
            ("hob/k/pin/17/set", "ON", true, None),
            ("hob/k/pin/17/set", "open the door", false, None),
            ("hob/k/pin/17/state", "ON", false, None),
            ("hob/k/pin/17/state", "ON", true, state("pin", "17")),
            ("hob/k/rule/x/state", "OFF", true, state("rule", "x")),
            ("hob/k/rule/x/state", "", true, None),
            ("hob/k/rule/x/y/state", "ON", true, None),
            ("hob/k/sensor/x/state", "ON", true, None),
            ("hob/k/pin/17", "ON", true, None),
            ("hob/kk/pin/17/set", "ON", false, None),
            ("hob/k/call", "gpio_write", false, None),
            ("hob/k/pin/lamp/set", "ON", false, None),
            (
                "hob/k/rule/01a219a7-69e5-7000-9d90-7bad2cb79742/set",
                "ON",
                false,
                Some(Request::EnableRule(RULE.into(), true)),
            ),
            (
                "hob/k/rule/01a219a7-69e5-7000-9d90-7bad2cb79742/run",
                "PRESS",
                false,
                Some(Request::RunRule(RULE.into())),
            ),
            ("hob/k/rule/Evening/run", "PRESS", false, None),
            ("homeassistant/status", "online", false, Some(Request::Renew)),
            ("homeassistant/status", "online", true, None),
            ("homeassistant/status", "offline", false, None),
            ("homeassistant/device/other/config", r#"{"cmps":{}}"#, true, None),
            (
                "homeassistant/device/me/config",
                r#"{"cmps":{"a":{"p":"switch"},"b":1}}"#,
                true,
                Some(Request::Announced([("a".to_owned(), "switch".to_owned())].into())),
            ),
        ] {
            assert_eq!(read(&settings, "me", topic, payload.as_bytes(), retained), request, "{topic} {payload}");
        }
        assert_eq!(read(&settings, "me", "hob/k/pin/17/set", &[0xff], false), None);
    }
}
