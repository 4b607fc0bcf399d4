//! The settings of the service `home_assistant`.

use crate::Access;
use http_client::Fingerprint;
use serde_json::{Map, Value, json};
use tool::{Error, Result};

/// The address of Home Assistant, the token for it, and the permissions of Hob there.
#[derive(Clone, PartialEq, Eq)]
pub struct Settings {
    /// Its address without a slash at the end: `http://homeassistant.local:8123`.
    pub url: String,
    /// The long-lived access token.
    pub token: String,
    /// The permissions of Hob there.
    pub access: Access,
    /// The certificate that a person confirmed, where no authority has signed it.
    pub fingerprint: Option<Fingerprint>,
}

impl Settings {
    /// The name of the service in the Config Center.
    pub const SERVICE: &str = "home_assistant";

    /// From the values of an entry of the service.
    ///
    /// # Errors
    /// `BadArgs` when address or token is missing or unusable.
    pub fn read(entry: &Map<String, Value>) -> Result<Self> {
        let text = |name: &str| entry.get(name).and_then(Value::as_str).unwrap_or_default().trim();
        let url = text("url").trim_end_matches('/');
        // People copy the address of the page, or of the API.
        let url = url.strip_suffix("/api").or(url.strip_suffix("/lovelace/0")).unwrap_or(url);
        let host = url.strip_prefix("http://").or(url.strip_prefix("https://"));
        let fits = |host: &str| !host.is_empty() && !host.contains(['@', '?', '#', ' ']);
        if !host.is_some_and(fits) {
            return Err(Error::bad_args("the address of Home Assistant must be like http://homeassistant.local:8123"));
        }
        let token = text("token");
        if token.is_empty() || token.len() > 2000 || token.contains(|c: char| c.is_whitespace() || c.is_control()) {
            return Err(Error::bad_args(
                "Home Assistant needs a long-lived access token: make one in its page, under your name, Security",
            ));
        }
        let access = Access::parse(text("read"), text("act"), text("ask"), text("events"));
        let fingerprint = match text("fingerprint") {
            "" => None,
            _ if url.starts_with("http://") => {
                return Err(Error::bad_args(
                    "a fingerprint belongs to an address with https: change the address, or leave the fingerprint empty",
                ));
            }
            text => Some(text.parse::<Fingerprint>().map_err(|why| Error::bad_args(why.to_string()))?),
        };
        Ok(Self { url: url.to_owned(), token: token.to_owned(), access, fingerprint })
    }

    /// The service as the Config Center lists it before it is set up: in the form of `required_api_keys`.
    pub fn service() -> Value {
        let field = |name: &str, label: &str, kind: &str, about: &str| {
            let required = matches!(name, "url" | "token");
            json!({"name": name, "label": label, "type": kind, "required": required, "description": about})
        };
        json!([{
            "name": Self::SERVICE,
            "displayName": "Home Assistant",
            "description": "Lets Hob see and control what Home Assistant has: lights, covers, heating, media, scenes.",
            "category": "Home",
            "docsUrl": "https://www.home-assistant.io/docs/authentication/",
            "configSchema": [
                field("url", "Address", "url", "Such as http://homeassistant.local:8123."),
                field("token", "Long-lived access token", "secret", "Made in Home Assistant under your name, Security."),
                field("fingerprint", "Certificate fingerprint", "string", "Only for https with a certificate that no authority has signed: its SHA-256. The connection's state shows it; compare it with the certificate itself, then enter it here. Another one later needs the token again."),
                field("read", "May read", "string", "Entities or domains, such as `light, sensor.outside_*`; all if empty. `!` excludes: `!camera`."),
                field("act", "May control", "string", "Entities or domains, in the same way; lights, switches, covers, climate, media and the like if empty."),
                field("ask", "Always ask about", "string", "Entities or domains a person approves each time, besides locks, alarms, doors and gates."),
                field("events", "Events it may fire", "string", "Event types, such as `hob_*`; only those if empty."),
            ],
        }])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(entry: Value) -> Result<Settings> {
        Settings::read(entry.as_object().unwrap())
    }

    #[test]
    fn an_entry_is_read() {
        for url in [
            "http://ha.local:8123",
            " http://ha.local:8123/ ",
            "http://ha.local:8123/lovelace/0",
            "http://ha.local:8123/api/",
        ] {
            let settings = read(json!({"url": url, "token": "t"})).unwrap();
            assert_eq!((settings.url.as_str(), settings.access), ("http://ha.local:8123", Access::default()), "{url}");
        }
        let some = read(json!({"url": "https://h/sub", "token": "t", "act": "light", "read": "!camera"})).unwrap();
        assert_eq!(some.url, "https://h/sub");
        assert!(
            some.access.act.fit("light.a") && !some.access.act.fit("switch.a") && !some.access.read.fit("camera.a")
        );
    }

    #[test]
    fn a_fingerprint_is_read() {
        let fingerprint = "AB:".repeat(31) + "CD";
        let read = |url: &str, text: &str| read(json!({"url": url, "token": "t", "fingerprint": text}));
        assert_eq!(read("https://h", "").unwrap().fingerprint, None);
        let known = read("https://h", &fingerprint.to_lowercase()).unwrap().fingerprint.unwrap();
        assert_eq!(known.to_string(), fingerprint);
        for (url, text, says) in [("http://h", &*fingerprint, "https"), ("https://h", "AB:CD", "SHA-256")] {
            let error = read(url, text).err().unwrap();
            assert!(matches!(&error, Error::BadArgs(said) if said.contains(says)), "{url} {text}: {error}");
        }
    }

    #[test]
    fn an_unusable_entry_says_what_to_do() {
        for (entry, says) in [
            (json!({"token": "t"}), "http://homeassistant.local:8123"),
            (json!({"url": "ha.local", "token": "t"}), "http://homeassistant.local:8123"),
            (json!({"url": "http://u:p@ha.local", "token": "t"}), "http://homeassistant.local:8123"),
            (json!({"url": "http://ha.local"}), "long-lived access token"),
            (json!({"url": "http://ha.local", "token": "a\nb"}), "long-lived access token"),
        ] {
            let error = read(entry.clone()).err().unwrap();
            assert!(matches!(&error, Error::BadArgs(said) if said.contains(says)), "{entry}: {error}");
        }
    }
}
