//! Messages to this Hob.

use super::announce;
use serde_json::Value;
use std::collections::BTreeMap;
use things::Verb;
use tokio::sync::mpsc;
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
}

/// Passes requests on; those that find no place are dropped.
pub(super) fn listen(home: &MqttHome, requests: mpsc::Sender<Request>) {
    let own = object_id(home.device());
    home.on_message(move |settings, message| {
        if let Some(request) = read(settings, &own, &message.topic, &message.payload, message.retain) {
            let _ = requests.try_send(request);
        }
    });
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
        return None;
    }
    let text = std::str::from_utf8(payload).ok()?.trim();
    let switched = match text.to_ascii_uppercase().as_str() {
        "ON" | "1" | "TRUE" => Some(Verb::TurnOn),
        "OFF" | "0" | "FALSE" => Some(Verb::TurnOff),
        "TOGGLE" => Some(Verb::Toggle),
        _ => None,
    };
    match rest.split('/').collect::<Vec<_>>()[..] {
        ["pin", pin, "set"] => Some(Request::Pin(pin.to_owned(), switched?)),
        ["rule", rule, "set"] => match switched? {
            Verb::TurnOn => Some(Request::EnableRule(rule.to_owned(), true)),
            Verb::TurnOff => Some(Request::EnableRule(rule.to_owned(), false)),
            _ => None,
        },
        ["rule", rule, "run"] => Some(Request::RunRule(rule.to_owned())),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            allowed: vec![],
            guarded: vec![],
        };
        let pin = |verb| Some(Request::Pin("17".into(), verb));
        for (topic, payload, retained, request) in [
            ("hob/k/pin/17/set", "ON", false, pin(Verb::TurnOn)),
            ("hob/k/pin/17/set", "off", false, pin(Verb::TurnOff)),
            ("hob/k/pin/17/set", " toggle\n", false, pin(Verb::Toggle)),
            ("hob/k/pin/17/set", "ON", true, None),
            ("hob/k/pin/17/set", "open the door", false, None),
            ("hob/k/pin/17/state", "ON", false, None),
            ("hob/kk/pin/17/set", "ON", false, None),
            ("hob/k/call", "gpio_write", false, None),
            ("hob/k/rule/a/set", "ON", false, Some(Request::EnableRule("a".into(), true))),
            ("hob/k/rule/a/run", "PRESS", false, Some(Request::RunRule("a".into()))),
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
