//! Keys that tools use without seeing them.
//!
//! `utils.getApiKey` gives a placeholder. The host puts the real value in its place, and only in requests to the
//! service's own hosts, so a tool that is tricked or spiteful has nothing to give away.

use serde_json::{Map, Value};
use tool::Settings;

const MARK: &str = "HOBSECRET";
/// Field names that hold a secret.
const SECRET: &[&str] = &["key", "token", "secret", "pass", "credential", "auth"];

/// Whether a field is told as a placeholder.
pub(crate) fn is_secret(field: &str) -> bool {
    let field = field.to_lowercase();
    SECRET.iter().any(|word| field.contains(word))
}

/// Letters, digits and underscores, so that no encoding on the way changes it.
fn placeholder(service: &str, field: &str) -> String {
    let hex = |text: &str| text.bytes().map(|b| format!("{b:02x}")).collect::<String>();
    format!("{MARK}_{}_{}_END", hex(service), hex(field))
}

/// An entry as a tool sees it: secrets as placeholders, unless a person marked the service `raw`.
pub(crate) fn masked(service: &str, entry: Map<String, Value>) -> Map<String, Value> {
    if entry.get("raw") == Some(&Value::Bool(true)) {
        return entry;
    }
    let mask = |(field, value): (String, Value)| {
        let value = if is_secret(&field) { placeholder(service, &field).into() } else { without_secrets(value) };
        (field, value)
    };
    entry.into_iter().map(mask).collect()
}

/// Secrets further down have no placeholder and are left out.
fn without_secrets(value: Value) -> Value {
    match value {
        Value::Object(inner) => {
            inner.into_iter().filter(|(field, _)| !is_secret(field)).map(|(f, v)| (f, without_secrets(v))).collect()
        }
        Value::Array(all) => all.into_iter().map(without_secrets).collect(),
        plain => plain,
    }
}

/// The secrets a request was made with, each with its placeholder.
#[derive(Default)]
pub(crate) struct Used(Vec<(String, String)>);

impl Used {
    /// What came back, with placeholders again where it repeats a secret.
    pub fn masked(&self, text: &str) -> String {
        let hide = |text: String, (secret, placeholder): &(String, String)| match secret.as_str() {
            "" => text,
            secret => text.replace(secret, placeholder),
        };
        self.0.iter().fold(text.to_owned(), hide)
    }
}

/// Puts real values in the place of placeholders in one part of a request for `url`, at `host`: over TLS, or at the very
/// origin of the service's `base_url`.
///
/// # Errors
/// A sentence for the tool when a secret would go to a host that is not its service's.
pub(crate) fn unmask(
    text: &str,
    url: &str,
    host: &str,
    settings: &dyn Settings,
    used: &mut Used,
) -> Result<String, String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(MARK) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let Some((service, field, length)) = read(rest) else {
            out.push_str(MARK);
            rest = &rest[MARK.len()..];
            continue;
        };
        let entry = settings.entry(&service, None).unwrap_or_default();
        if !hosts(&entry).iter().any(|own| own == host) {
            return Err(format!(
                "the secret `{field}` of `{service}` is only sent to that service's own hosts, and `{host}` is none of them: \
                 a person can add it to `hosts`"
            ));
        }
        let own_origin = entry.get("base_url").and_then(Value::as_str).is_some_and(|base| {
            let origin = |url: &str| url.splitn(4, '/').take(3).collect::<Vec<_>>().join("/").to_lowercase();
            origin(base) == origin(url)
        });
        if !own_origin && !url.to_lowercase().starts_with("https://") {
            return Err(format!("the secret `{field}` of `{service}` is not sent in the clear: use https"));
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

/// The service, the field and the length of a placeholder at the beginning of `text`.
fn read(text: &str) -> Option<(String, String, usize)> {
    let inner = text.strip_prefix(MARK)?.strip_prefix('_')?;
    let (service, after) = inner.split_once('_')?;
    let (field, _) = after.split_once("_END")?;
    let plain = |hex: &str| {
        let bytes: Option<Vec<u8>> = (0..hex.len())
            .step_by(2)
            .map(|i| hex.get(i..i + 2).and_then(|pair| u8::from_str_radix(pair, 16).ok()))
            .collect();
        String::from_utf8(bytes?).ok()
    };
    let length = MARK.len() + 1 + service.len() + 1 + field.len() + "_END".len();
    Some((plain(service)?, plain(field)?, length))
}

/// The hosts a service's secrets may go to: of its `base_url`, and those listed in `hosts`.
fn hosts(entry: &Map<String, Value>) -> Vec<String> {
    let base = entry.get("base_url").and_then(Value::as_str).and_then(host_of);
    let listed = entry.get("hosts").and_then(Value::as_array).into_iter().flatten();
    base.into_iter().chain(listed.filter_map(Value::as_str).map(str::to_lowercase)).collect()
}

/// Whether a person set up a service at this host.
pub(crate) fn is_a_services_host(host: &str, settings: &dyn Settings) -> bool {
    let entries = settings.services().into_iter().flat_map(|s| settings.entries(&s));
    entries.into_iter().any(|(_, entry)| hosts(&entry).iter().any(|own| own == host))
}

fn host_of(url: &str) -> Option<String> {
    let (_, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let host = authority.rsplit_once('@').map_or(authority, |(_, h)| h);
    let host = if host.starts_with('[') { host.split(']').next()? } else { host.split(':').next()? };
    Some(host.trim_start_matches('[').to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    struct One(Value);
    impl Settings for One {
        fn entries(&self, service: &str) -> Vec<(String, Map<String, Value>)> {
            let entry = self.0.as_object().cloned().unwrap_or_default();
            if service == "weather" { vec![("default".into(), entry)] } else { vec![] }
        }
    }

    #[test]
    fn a_key_goes_only_home() {
        let mut used = Used::default();
        let settings = One(
            json!({"api_key": "s3cret", "base_url": "https://api.weather.org/v1", "hosts": ["b.org"], "city": "Graz"}),
        );
        let entry = masked("weather", settings.entry("weather", None).unwrap());
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
            One(json!({"token": 12345, "base_url": "http://nas.local:8080/api", "more": {"password": "p", "port": 1}}));
        let entry = masked("weather", lan.entry("weather", None).unwrap());
        assert_eq!(entry["more"], json!({"port": 1}));
        let token = entry["token"].as_str().unwrap();
        assert_eq!(unmask(token, "http://nas.local:8080/x", "nas.local", &lan, &mut used).unwrap(), "12345");
        assert!(unmask(token, "http://nas.local/x", "nas.local", &lan, &mut used).is_err());
        assert_eq!(unmask("HOBSECRET_zz no", &url, "evil.org", &settings, &mut used).unwrap(), "HOBSECRET_zz no");
        assert_eq!(used.masked("echo s3cret 12345"), format!("echo {masked_key} {token}"));
        let raw = masked("weather", json!({"api_key": "k", "raw": true}).as_object().cloned().unwrap());
        assert_eq!(raw["api_key"], "k");
    }
}
