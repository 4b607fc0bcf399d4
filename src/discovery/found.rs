//! Services on the network, truncated and cleaned: any device can announce anything.

use mdns_sd::ResolvedService;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// The most addresses of one service.
const ADDRESSES: usize = 8;

/// The kind of a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Another Hob, or this one.
    Hob,
    /// A Home Assistant.
    HomeAssistant,
    /// A service that speaks Wyoming: speech to text, text to speech, wake words.
    Wyoming,
    /// A broker of MQTT.
    Mqtt,
    /// A device that runs ESPHome.
    Esphome,
    /// A printer.
    Printer,
}

impl Kind {
    pub(crate) const ALL: [Self; 6] =
        [Self::Hob, Self::HomeAssistant, Self::Wyoming, Self::Mqtt, Self::Esphome, Self::Printer];

    /// The service type.
    pub(crate) fn service(self) -> &'static str {
        match self {
            Self::Hob => "_hob._tcp.local.",
            Self::HomeAssistant => "_home-assistant._tcp.local.",
            Self::Wyoming => "_wyoming._tcp.local.",
            Self::Mqtt => "_mqtt._tcp.local.",
            Self::Esphome => "_esphomelib._tcp.local.",
            Self::Printer => "_ipp._tcp.local.",
        }
    }

    /// Whether a server for models may run on the same machine: not on a printer.
    pub fn may_host_models(self) -> bool {
        !matches!(self, Self::Esphome | Self::Printer)
    }

    pub(crate) fn of(service: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.service() == service)
    }
}

/// One service on the network. Its texts are untrusted, without control characters and of bounded length.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DiscoveredService {
    /// Its name.
    pub name: String,
    /// Its kind.
    pub kind: Kind,
    /// Its host, such as `kitchen.local`.
    pub host: String,
    /// Its addresses; IPv4 first.
    pub addresses: Vec<IpAddr>,
    /// The port of the service.
    pub port: u16,
    /// The address to open: `http://…`, or by its protocol `tcp://…` (Wyoming), `mqtt://…`, `esphome://…`, `ipp://…`.
    pub url: String,
    /// The id of a Hob, also at its voice door, or of a Home Assistant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The version of its program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Whether a Hob is claimed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claimed: Option<bool>,
    /// The port of a Hob's encrypted door.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls_port: Option<u16>,
    /// SHA-256 of its certificate: hexadecimal pairs in capitals with colons between them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
}

impl DiscoveredService {
    /// `None` for an unreachable or unsupported service.
    pub(crate) fn new(service: &ResolvedService) -> Option<Self> {
        let text = |key: &str, most: usize| {
            let said = service.get_property_val_str(key).map(|text| clean(text, most));
            said.filter(|text| !text.is_empty())
        };
        let kind = Kind::of(&service.ty_domain)?;
        let name = clean(service.fullname.strip_suffix(&format!(".{}", service.ty_domain))?, 63);
        let host = clean_host(&service.host)?;
        let mut addresses: Vec<IpAddr> = service.addresses.iter().map(|a| a.to_ip_addr()).filter(reachable).collect();
        addresses.sort();
        addresses.dedup();
        addresses.truncate(ADDRESSES);
        let (port, first) = (service.port, *addresses.first()?);
        if port == 0 || name.is_empty() {
            return None;
        }
        let at = match first {
            IpAddr::V4(ip) => format!("{ip}:{port}"),
            IpAddr::V6(ip) => format!("[{ip}]:{port}"),
        };
        let hob = kind == Kind::Hob;
        let url = match kind {
            Kind::Hob => format!("http://{host}:{port}"),
            Kind::HomeAssistant => ["internal_url", "base_url"]
                .into_iter()
                .filter_map(|key| service.get_property_val_str(key).and_then(clean_url))
                .find(|url| is_near(url, &host, &addresses))
                .unwrap_or(format!("http://{at}")),
            Kind::Wyoming => format!("tcp://{at}"),
            Kind::Mqtt => format!("mqtt://{at}"),
            Kind::Esphome => format!("esphome://{at}"),
            Kind::Printer => format!("ipp://{at}"),
        };
        Some(Self {
            name: match kind {
                Kind::HomeAssistant => text("location_name", 63),
                Kind::Esphome => text("friendly_name", 63),
                _ => None,
            }
            .unwrap_or(name),
            kind,
            host,
            addresses,
            port,
            url,
            id: match kind {
                Kind::Hob | Kind::Wyoming => text("id", 64),
                Kind::HomeAssistant => text("uuid", 64),
                Kind::Mqtt | Kind::Esphome | Kind::Printer => None,
            },
            version: text(if hob { "ver" } else { "version" }, 32),
            claimed: text("claimed", 8).filter(|_| hob).map(|text| text == "1"),
            tls_port: text("tls", 5).filter(|_| hob).and_then(|text| text.parse().ok()).filter(|port| *port != 0),
            fingerprint: service.get_property_val_str("fp").filter(|_| hob).and_then(with_colons),
        })
    }
}

impl DiscoveredService {
    /// Whether its TXT record was received too, and not only its address.
    pub(crate) fn is_whole(&self) -> bool {
        self.id.is_some() || !matches!(self.kind, Kind::Hob | Kind::HomeAssistant)
    }
}

/// Removes characters that move a cursor, break a line or change the direction of writing.
fn clean(text: &str, most: usize) -> String {
    let hidden = |c: &char| {
        c.is_control()
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
    };
    let kept: String = text.chars().filter(|c| !hidden(c)).take(most).collect();
    kept.trim().to_owned()
}

fn clean_host(host: &str) -> Option<String> {
    let host = host.trim_end_matches('.').to_lowercase();
    let plain = host.chars().all(|c| c.is_ascii_alphanumeric() || "-._".contains(c));
    (plain && !host.is_empty() && host.len() <= 253).then_some(host)
}

fn clean_url(text: &str) -> Option<String> {
    let rest = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"))?;
    let plain = rest.chars().all(|c| c.is_ascii_alphanumeric() || "-._~:/[]%".contains(c));
    (plain && !rest.is_empty() && text.len() <= 200).then(|| text.to_owned())
}

/// Whether a URL leads to the machine that announces it, or to one of the local network: an announcement must not send people, and
/// the token they enter, to a server on the internet.
fn is_near(url: &str, host: &str, addresses: &[IpAddr]) -> bool {
    let Some((_, rest)) = url.split_once("://") else { return false };
    let authority = rest.split('/').next().unwrap_or_default();
    let name = match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    };
    let name = name.trim_end_matches('.').to_lowercase();
    match name.parse::<IpAddr>() {
        Ok(address) => addresses.contains(&address) || is_private(&address),
        // `0x8080808` is an address too.
        Err(_) if !name.contains('.') => name.starts_with(|c: char| c.is_ascii_alphabetic()),
        Err(_) => name == host || LOCAL.iter().any(|end| name.ends_with(end)),
    }
}

/// Ends of names that the internet does not know.
const LOCAL: &[&str] = &[".local", ".lan", ".home.arpa", ".internal", ".home"];

fn is_private(address: &IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(ip) => ip.is_private() || ip.is_link_local(),
        IpAddr::V6(ip) => ip.is_unique_local() || ip.is_unicast_link_local(),
    }
}

fn with_colons(hex: &str) -> Option<String> {
    let plain = hex.len() == 64 && hex.chars().all(|c| c.is_ascii_hexdigit());
    plain.then(|| {
        let hex: Vec<char> = hex.to_uppercase().chars().collect();
        hex.chunks(2).map(String::from_iter).collect::<Vec<_>>().join(":")
    })
}

fn reachable(address: &IpAddr) -> bool {
    !address.is_loopback() && !address.is_unspecified() && !address.is_multicast()
}

#[cfg(test)]
mod tests {
    use super::*;
    use mdns_sd::ServiceInfo;

    fn service(kind: Kind, name: &str, host: &str, ip: &str, port: u16, txt: &[(&str, &str)]) -> ResolvedService {
        ServiceInfo::new(kind.service(), name, host, ip, port, txt).unwrap().as_resolved_service()
    }

    #[test]
    fn a_hob_is_read_whole() {
        let fp = "ab".repeat(32);
        let txt = [("id", "01X"), ("ver", "0.1.0"), ("claimed", "1"), ("tls", "4621"), ("fp", &fp), ("path", "/")];
        let found = DiscoveredService::new(&service(
            Kind::Hob,
            "kitchen",
            "Kitchen.local.",
            "192.168.1.5,10.0.0.5",
            4620,
            &txt,
        ));
        let found = found.unwrap();
        assert_eq!((found.name.as_str(), found.host.as_str()), ("kitchen", "kitchen.local"));
        assert_eq!(found.url, "http://kitchen.local:4620");
        assert_eq!(found.addresses, ["10.0.0.5".parse::<IpAddr>().unwrap(), "192.168.1.5".parse().unwrap()]);
        assert_eq!((found.id.as_deref(), found.version.as_deref()), (Some("01X"), Some("0.1.0")));
        assert_eq!((found.claimed, found.tls_port), (Some(true), Some(4621)));
        assert_eq!(found.fingerprint.unwrap(), ["AB"; 32].join(":"));
    }

    #[test]
    fn home_assistant_and_wyoming_are_read() {
        let txt = [
            ("location_name", "Home"),
            ("uuid", "u1"),
            ("version", "2024.12.5"),
            ("internal_url", "http://192.168.1.9:8123"),
        ];
        let home =
            DiscoveredService::new(&service(Kind::HomeAssistant, "Home", "abc.local.", "192.168.1.9", 8123, &txt))
                .unwrap();
        assert_eq!((home.name.as_str(), home.id.as_deref(), home.claimed), ("Home", Some("u1"), None));
        assert_eq!((home.url.as_str(), home.version.as_deref()), ("http://192.168.1.9:8123", Some("2024.12.5")));
        let bare =
            DiscoveredService::new(&service(Kind::HomeAssistant, "Home", "abc.local.", "fe80::9", 8123, &[])).unwrap();
        assert_eq!(bare.url, "http://[fe80::9]:8123");
        let whisper =
            DiscoveredService::new(&service(Kind::Wyoming, "whisper", "w.local.", "192.168.1.7", 10300, &[])).unwrap();
        assert_eq!((whisper.url.as_str(), whisper.id), ("tcp://192.168.1.7:10300", None));
    }

    #[test]
    fn what_else_is_in_a_home_is_read() {
        let txt = [("friendly_name", "Garage door"), ("version", "2024.11.1"), ("mac", "aabbcc")];
        for (kind, name, port, expected) in [
            (Kind::Mqtt, "mosquitto", 1883, "mosquitto mqtt://192.168.1.7:1883"),
            (Kind::Esphome, "garage-1a2b", 6053, "Garage door esphome://192.168.1.7:6053"),
            (Kind::Printer, "Laser (2)", 631, "Laser (2) ipp://192.168.1.7:631"),
        ] {
            let found = DiscoveredService::new(&service(kind, name, "x.local.", "192.168.1.7", port, &txt)).unwrap();
            assert_eq!(format!("{} {}", found.name, found.url), expected);
            assert!(found.is_whole() && found.id.is_none());
        }
        let hob = service(Kind::Wyoming, "kitchen", "k.local.", "192.168.1.5", 10620, &[("id", "01X")]);
        assert_eq!(DiscoveredService::new(&hob).unwrap().id.as_deref(), Some("01X"));
    }

    #[test]
    fn hostile_texts_are_cut_and_cleaned() {
        let long = "y".repeat(200);
        let txt = [
            ("id", "a\nb\u{1b}[31mc"),
            ("ver", long.as_str()),
            ("claimed", "yes\u{0}"),
            ("tls", "99999"),
            ("fp", "../.."),
        ];
        let name = "evil\u{1b}[2J\u{202e}\r\nname";
        let found = DiscoveredService::new(&service(Kind::Hob, name, "h.local.", "192.168.1.5", 80, &txt)).unwrap();
        assert_eq!(found.name, "evil[2Jname");
        assert_eq!((found.id.as_deref(), found.version.unwrap().len()), (Some("ab[31mc"), 32));
        assert_eq!((found.claimed, found.tls_port, found.fingerprint), (Some(false), None, None));
        for url in ["javascript:alert(1)", "http://", "http://a\"onclick=", "http://a b", "ftp://a"] {
            let home = service(Kind::HomeAssistant, "x", "h.local.", "10.0.0.1", 1, &[("internal_url", url)]);
            assert_eq!(DiscoveredService::new(&home).unwrap().url, "http://10.0.0.1:1", "{url}");
        }
    }

    #[test]
    fn an_announced_url_stays_in_the_local_network() {
        for (url, stays) in [
            ("http://192.168.1.9:8123", true),
            ("https://homeassistant.local:8123/", true),
            ("http://ha:8123", true),
            ("http://ha.fritz.box:8123", false),
            ("http://[fd00::9]:8123", true),
            ("http://8.8.4.4:8123", true),
            ("http://8.8.8.8:8123", false),
            ("http://0x08080808/", false),
            ("http://134744072", false),
            ("http://[2001:db8::1]:8123", false),
            ("http://[::ffff:8.8.8.8]/", false),
            ("http://evil.example.com:8123/", false),
            ("http://evil.example.com.:8123/", false),
            ("http://local.evil.com/.local", false),
        ] {
            let home = service(Kind::HomeAssistant, "x", "h.local.", "8.8.4.4", 1, &[("internal_url", url)]);
            let found = DiscoveredService::new(&home).unwrap().url;
            assert_eq!(found, if stays { url } else { "http://8.8.4.4:1" }, "{url}");
        }
        let both = [("internal_url", "http://evil.example.com"), ("base_url", "http://10.0.0.7:8123")];
        let home = service(Kind::HomeAssistant, "x", "h.local.", "10.0.0.1", 1, &both);
        assert_eq!(DiscoveredService::new(&home).unwrap().url, "http://10.0.0.7:8123");
    }

    #[test]
    fn what_cannot_be_reached_is_not_shown() {
        for (host, ip, port) in [
            ("h.local.", "127.0.0.1", 80),
            ("h.local.", "0.0.0.0", 80),
            ("h.local.", "224.0.0.1", 80),
            ("h.local.", "", 80),
            ("h.local.", "10.0.0.1", 0),
            ("h/../x.local.", "10.0.0.1", 80),
            ("h@evil.local.", "10.0.0.1", 80),
        ] {
            assert!(
                DiscoveredService::new(&service(Kind::Hob, "n", host, ip, port, &[])).is_none(),
                "{host} {ip} {port}"
            );
        }
    }
}
