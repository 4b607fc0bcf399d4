//! API keys for tools, without access to their values.
//!
//! `utils.getApiKey` returns a placeholder. The host inserts the real value, and only into requests to the service's
//! own hosts. A tricked or malicious tool therefore has no secret to leak.

use config_center::{hosts, origin};
use serde_json::{Map, Value};
use text_kit::percent_decode;
use tool::{Settings, sounds_secret};

const MARK: &str = "HOBSECRET";

/// Only letters, digits and underscores, so that no encoding changes it.
fn placeholder(service: &str, field: &str, label: &str) -> String {
    let hex = |text: &str| text.bytes().map(|b| format!("{b:02x}")).collect::<String>();
    format!("{MARK}_{}_{}_{}_END", hex(service), hex(field), hex(label))
}

/// The entries of a service for a tool, the default first: secrets are placeholders, unless a person marked the entry
/// `raw`.
pub(crate) fn masked(service: &str, settings: &dyn Settings) -> Vec<(String, Map<String, Value>)> {
    let mask = |(label, entry): (String, Map<String, Value>)| {
        if entry.get("raw") == Some(&Value::Bool(true)) {
            return (label, entry);
        }
        let mask = |(field, value): (String, Value)| {
            let value = match settings.is_secret(service, &field) {
                true => placeholder(service, &field, &label).into(),
                false => without_secrets(value),
            };
            (field, value)
        };
        let entry = entry.into_iter().map(mask).collect();
        (label, entry)
    };
    settings.entries(service).into_iter().map(mask).collect()
}

/// Nested secrets have no placeholder and are omitted.
fn without_secrets(value: Value) -> Value {
    match value {
        Value::Object(inner) => {
            inner.into_iter().filter(|(field, _)| !sounds_secret(field)).map(|(f, v)| (f, without_secrets(v))).collect()
        }
        Value::Array(all) => all.into_iter().map(without_secrets).collect(),
        plain => plain,
    }
}

/// The secrets used in a request, with their placeholders.
#[derive(Default)]
pub(crate) struct UsedSecrets(Vec<(String, String)>);

impl UsedSecrets {
    /// A response text with repeated secrets masked.
    pub fn masked(&self, text: &str) -> String {
        let hide = |text: String, (secret, placeholder): &(String, String)| match secret.as_str() {
            "" => text,
            secret => text.replace(secret, placeholder),
        };
        self.0.iter().fold(text.to_owned(), hide)
    }

    /// Whether a URL contains one of the secrets, plain or percent-encoded.
    pub fn is_in(&self, url: &str) -> bool {
        let plain = percent_decode(url);
        self.0.iter().any(|(secret, _)| !secret.is_empty() && (url.contains(secret) || plain.contains(secret)))
    }
}

/// Whether a text contains a placeholder.
pub(crate) fn has_placeholder(text: &str) -> bool {
    text.match_indices(MARK).any(|(at, _)| read(&text[at..]).is_some())
}

/// Replace placeholders with real values in one part of a request for `url` at `host`: over TLS, or at the exact
/// origin of the entry's `base_url`.
///
/// # Errors
/// A sentence for the tool when a secret would go to a host of another service.
pub(crate) fn unmask(
    text: &str,
    url: &str,
    host: &str,
    settings: &dyn Settings,
    used: &mut UsedSecrets,
) -> Result<String, String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(MARK) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let Some(([service, field, label], length)) = read(rest) else {
            out.push_str(MARK);
            rest = &rest[MARK.len()..];
            continue;
        };
        let entry = settings.entry(&service, Some(&label)).unwrap_or_default();
        if !hosts(&entry).iter().any(|own| own == host) {
            return Err(format!(
                "the secret `{field}` of `{service}` is only sent to that service's own hosts, and `{host}` is none of them: \
                 a person can add it to `hosts`"
            ));
        }
        let own_origin = entry.get("base_url").and_then(Value::as_str).is_some_and(|base| origin(base) == origin(url));
        if !own_origin && !url.to_lowercase().starts_with("https://") {
            return Err(format!("the secret `{field}` of `{service}` is not sent unencrypted: use https"));
        }
        let secret = match entry.get(&field) {
            Some(Value::String(secret)) => secret.clone(),
            Some(other) => other.to_string(),
            None => String::new(),
        };
        out.push_str(&secret);
        used.0.push((secret, rest[..length].to_owned()));
        rest = &rest[length..];
    }
    out.push_str(rest);
    Ok(out)
}

/// Parse a placeholder at the start of `text`: service, field, label and its length.
fn read(text: &str) -> Option<([String; 3], usize)> {
    let inner = text.strip_prefix(MARK)?.strip_prefix('_')?;
    let (hex, _) = inner.split_once("_END")?;
    let plain = |hex: &str| {
        let bytes: Option<Vec<u8>> = (0..hex.len())
            .step_by(2)
            .map(|i| hex.get(i..i + 2).and_then(|pair| u8::from_str_radix(pair, 16).ok()))
            .collect();
        String::from_utf8(bytes?).ok()
    };
    let parts: Vec<String> = hex.split('_').map(plain).collect::<Option<_>>()?;
    Some((parts.try_into().ok()?, MARK.len() + 1 + hex.len() + "_END".len()))
}

/// The services that a person set up at this host.
pub(crate) fn services_at(host: &str, settings: &dyn Settings) -> Vec<String> {
    let is_there = |service: &String| {
        settings.entries(service).iter().any(|(_, entry)| hosts(entry).iter().any(|own| own == host))
    };
    settings.services().into_iter().filter(is_there).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// The entries of `weather`.
    struct Weather(Vec<(&'static str, Value)>);
    impl Settings for Weather {
        fn entries(&self, service: &str) -> Vec<(String, Map<String, Value>)> {
            let entry = |(label, e): &(&str, Value)| (label.to_string(), e.as_object().cloned().unwrap_or_default());
            if service == "weather" { self.0.iter().map(entry).collect() } else { vec![] }
        }
        fn is_secret(&self, _: &str, field: &str) -> bool {
            field == "word" || sounds_secret(field)
        }
    }

    fn one(entry: Value) -> Weather {
        Weather(vec![("default", entry)])
    }

    fn first(settings: &dyn Settings) -> Map<String, Value> {
        masked("weather", settings).remove(0).1
    }

    #[test]
    fn a_key_goes_only_home() {
        let mut used = UsedSecrets::default();
        let settings = one(
            json!({"api_key": "s3cret", "base_url": "https://api.weather.org/v1", "hosts": ["b.org"], "city": "Graz"}),
        );
        let entry = first(&settings);
        let masked_key = entry["api_key"].as_str().unwrap().to_owned();
        assert_eq!(entry["city"], "Graz");
        assert!(!masked_key.contains("s3cret"));
        let url = format!("https://x/?key={masked_key}&q=1&again={masked_key}");
        for host in ["api.weather.org", "b.org"] {
            assert_eq!(
                unmask(&url, &url, host, &settings, &mut used).unwrap(),
                "https://x/?key=s3cret&q=1&again=s3cret"
            );
        }
        assert!(unmask(&url, &url, "evil.org", &settings, &mut used).unwrap_err().contains("evil.org"));
        for clear in ["http://api.weather.org/", "http://b.org/"] {
            let host = clear.trim_start_matches("http://").trim_end_matches('/');
            assert!(unmask(&url, clear, host, &settings, &mut used).unwrap_err().contains("use https"), "{clear}");
        }
        let lan =
            one(json!({"token": 12345, "base_url": "http://nas.local:8080/api", "more": {"password": "p", "port": 1}}));
        let entry = first(&lan);
        assert_eq!(entry["more"], json!({"port": 1}));
        let token = entry["token"].as_str().unwrap();
        assert_eq!(unmask(token, "http://nas.local:8080/x", "nas.local", &lan, &mut used).unwrap(), "12345");
        assert!(unmask(token, "http://nas.local/x", "nas.local", &lan, &mut used).is_err());
        for no in ["HOBSECRET_zz no", "HOBSECRET_61_62_END", "HOBSECRET_6_62_63_END", "HOBSECRET"] {
            assert_eq!(unmask(no, &url, "evil.org", &settings, &mut used).unwrap(), no);
        }
        assert_eq!(used.masked("echo s3cret 12345"), format!("echo {masked_key} {token}"));
        assert_eq!(first(&one(json!({"api_key": "k", "raw": true})))["api_key"], "k");
    }

    #[test]
    fn each_entry_has_its_own_secrets_and_hosts() {
        let settings = Weather(vec![
            ("home", json!({"word": "one", "base_url": "https://a.org"})),
            ("my work", json!({"word": "two", "base_url": "https://b.org"})),
        ]);
        let all = masked("weather", &settings);
        let word = |n: usize| all[n].1["word"].as_str().unwrap();
        let sent = |text: &str, host: &str| {
            unmask(text, &format!("https://{host}/"), host, &settings, &mut UsedSecrets::default())
        };
        assert_eq!((all[0].0.as_str(), all[1].0.as_str()), ("home", "my work"));
        assert_eq!((sent(word(0), "a.org").unwrap(), sent(word(1), "b.org").unwrap()), ("one".into(), "two".into()));
        assert!(sent(word(0), "b.org").is_err() && sent(word(1), "a.org").is_err());
    }
}
