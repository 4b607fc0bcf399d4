//! The service `mqtt` of the Config Center.

use config_center::Required;
use mqtt::{Config, Tls, is_filter, topic_word};
use serde_json::{Map, Value, json};
use tool::{Id, Result};

pub(crate) const SERVICE: &str = "mqtt";

/// What is set up.
#[derive(Debug, Clone, PartialEq)]
pub struct MqttSettings {
    /// The broker.
    pub config: Config,
    /// Where devices announce themselves: `homeassistant`.
    pub discovery: String,
    /// Whether Hob's pins and rules appear in Home Assistant.
    pub announce: bool,
    /// Whether pins may be switched from there.
    pub control: bool,
    /// Whether devices that announce themselves are things of this home.
    pub adopt: bool,
    /// Whether rules that only the owner sees appear at the broker, too.
    pub private_rules: bool,
    /// The topics that tools may publish to; empty for all.
    pub allowed: Vec<String>,
    /// The topics that need a person's approval.
    pub guarded: Vec<String>,
}

/// The service as the Config Center shows it.
///
/// # Errors
/// `BadArgs` when its definition is invalid.
pub fn mqtt_service() -> Result<Vec<Required>> {
    let field = |name: &str, label: &str, kind: &str, about: &str| json!({"name": name, "label": label, "type": kind, "description": about});
    let with = |mut field: Value, key: &str, value: Value| {
        field[key] = value;
        field
    };
    let fields = json!([
        with(field("host", "Host", "string", "Name or address of the broker."), "required", true.into()),
        with(field("port", "Port", "number", "1883, or 8883 with TLS."), "default", 1883.into()),
        field("username", "User name", "string", "Left out where the broker asks for none."),
        field("password", "Password", "secret", "It is encrypted and never shown again."),
        field("tls", "TLS", "boolean", "Encrypt the connection."),
        field(
            "ca",
            "Certificate",
            "string",
            "The certificate of the broker's authority in PEM, or its own self-signed one."
        ),
        field("base", "Base topic", "string", "Where Hob's own topics begin: hob/NAME_ID where left out."),
        with(
            field("discovery_prefix", "Discovery prefix", "string", "Where devices announce themselves."),
            "default",
            "homeassistant".into()
        ),
        with(
            field(
                "announce",
                "Show Hob in Home Assistant",
                "boolean",
                "Named pins, sensors and rules appear there by themselves."
            ),
            "default",
            true.into()
        ),
        with(
            field("control", "Let others switch pins", "boolean", "Named pins obey their set topic."),
            "default",
            true.into()
        ),
        with(
            field(
                "adopt",
                "Use announced devices",
                "boolean",
                "Devices that announce themselves on this broker are things of this home."
            ),
            "default",
            true.into()
        ),
        with(
            field(
                "private_rules",
                "Show private rules",
                "boolean",
                "The owner's private rules appear in Home Assistant, too: everybody who reads at the broker sees their names, and \
                 can run them where others may switch."
            ),
            "default",
            true.into()
        ),
        field("publish", "Topics to publish to", "string", "Separated by commas; all where left out."),
        field("guarded", "Guarded topics", "string", "Publishing to these opens something, so a person is asked."),
    ]);
    Required::parse_list(&json!([{"name": SERVICE, "displayName": "MQTT", "category": "Home", "config_schema": fields,
        "description": "The MQTT broker of this home: devices, Home Assistant and Node-RED meet there."}]))
}

/// What an entry of the service says; `None` without a host. `name` and `device` are those of this Hob.
pub(crate) fn read(entry: &Map<String, Value>, name: &str, device: Id) -> Option<MqttSettings> {
    let text = |field: &str| {
        let text = entry.get(field)?.as_str()?.trim();
        (!text.is_empty()).then(|| text.to_owned())
    };
    let yes = |field: &str, usual: bool| match entry.get(field) {
        Some(Value::Bool(yes)) => *yes,
        Some(Value::String(text)) => matches!(text.trim(), "true" | "yes" | "on" | "1"),
        _ => usual,
    };
    let filters = |field: &str| -> Vec<String> {
        let all = text(field).unwrap_or_default();
        all.split([',', '\n']).map(str::trim).filter(|filter| is_filter(filter)).map(str::to_owned).collect()
    };
    let level = |field: &str| {
        text(field)
            .map(|text| text.trim_matches('/').to_owned())
            .filter(|text| mqtt::is_topic(text) && text.len() <= 100)
    };
    let (mut host, mut scheme_tls, mut url_port) = (text("host")?, None, None);
    // People paste addresses.
    for (scheme, tls) in [("mqtt://", false), ("tcp://", false), ("mqtts://", true), ("ssl://", true)] {
        if let Some(rest) = host.strip_prefix(scheme).map(|rest| rest.trim_end_matches('/').to_owned()) {
            (host, scheme_tls) = (rest, Some(tls));
        }
    }
    if let Some((name, port)) = host.rsplit_once(':')
        && !name.contains(':')
        && let Ok(port) = port.parse::<u16>()
    {
        (host, url_port) = (name.to_owned(), Some(port));
    }
    let tls = yes("tls", scheme_tls.unwrap_or_default());
    let port = match entry.get("port") {
        Some(Value::Number(n)) => n.as_f64().map(|n| n as u16),
        Some(Value::String(text)) => text.trim().parse().ok(),
        _ => None,
    };
    let port = url_port.or(port).filter(|port| *port != 0).unwrap_or(if tls { 8883 } else { 1883 });
    let id: String = device.to_string().chars().filter(char::is_ascii_alphanumeric).collect();
    let short = id[id.len().saturating_sub(16)..].to_lowercase();
    let piece = &short[short.len().saturating_sub(4)..];
    Some(MqttSettings {
        config: Config {
            host,
            port,
            username: text("username"),
            password: text("password"),
            tls: match (tls, text("ca")) {
                (false, _) => Tls::Off,
                (true, None) => Tls::System,
                (true, Some(pem)) => Tls::Authority(pem),
            },
            client_id: format!("hob-{short}"),
            // Two Hobs of one name would obey each other's commands, and overwrite each other's states.
            base: level("base").unwrap_or_else(|| format!("hob/{}_{piece}", topic_word(name))),
        },
        discovery: level("discovery_prefix").unwrap_or_else(|| "homeassistant".to_owned()),
        announce: yes("announce", true),
        control: yes("control", true),
        adopt: yes("adopt", true),
        private_rules: yes("private_rules", true),
        allowed: filters("publish"),
        guarded: filters("guarded"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(entry: Value) -> Option<MqttSettings> {
        read(entry.as_object().unwrap(), "Kitchen Pi", Id::from_bytes([7; 16]))
    }

    #[test]
    fn an_entry_is_read_with_defaults() {
        assert!(of(json!({})).is_none() && of(json!({"host": " "})).is_none());
        let plain = of(json!({"host": "10.0.0.5"})).unwrap();
        assert_eq!(
            (plain.config.port, &*plain.config.base, &*plain.discovery),
            (1883, "hob/kitchen_pi_0707", "homeassistant")
        );
        assert!(plain.announce && plain.adopt && plain.control && plain.private_rules && plain.allowed.is_empty());
        assert!(plain.config.client_id.starts_with("hob-") && plain.config.client_id.len() <= 23);
        for (entry, port, tls) in [
            (json!({"host": "b", "tls": true}), 8883, Tls::System),
            (json!({"host": "mqtts://b:8884/"}), 8884, Tls::System),
            (json!({"host": "b", "port": "1884"}), 1884, Tls::Off),
            (json!({"host": "b", "tls": true, "port": 5, "ca": "PEM"}), 5, Tls::Authority("PEM".into())),
        ] {
            let settings = of(entry.clone()).unwrap();
            assert_eq!(
                (&*settings.config.host, settings.config.port, settings.config.tls),
                ("b", port, tls),
                "{entry}"
            );
        }
        let other = read(json!({"host": "b"}).as_object().unwrap(), "Kitchen Pi", Id::from_bytes([8; 16])).unwrap();
        assert_ne!(other.config.base, plain.config.base, "two Hobs of one name");
        assert_eq!(of(json!({"host": "b", "base": "/my/pi/"})).unwrap().config.base, "my/pi");
        let wild = of(json!({"host": "b", "base": "a/#", "publish": "a/#, b/+ ,bad#", "guarded": "x"})).unwrap();
        assert_eq!(
            (&*wild.config.base, wild.allowed, wild.guarded),
            ("hob/kitchen_pi_0707", vec!["a/#".to_owned(), "b/+".into()], vec!["x".to_owned()])
        );
    }

    #[test]
    fn the_service_is_valid() {
        let service = mqtt_service().unwrap().remove(0);
        assert_eq!(service.name, SERVICE);
        assert_eq!(service.config_schema.unwrap().len(), 14);
    }
}
