//! The providers that are set up, and their services in the Config Center.

use super::{brave, duckduckgo, query::Query, searxng, tavily};
use crate::found::Hit;
use config_center::Required;
use http_client::Fetch;
use serde_json::{Map, Value, json};
use tool::{Result, Settings};
use url::Url;

/// The largest answer that is read: small values take a hundred times their text.
const LARGEST: usize = 1024 * 1024;
/// The service with the order and the usual country and language.
const SERVICE: &str = "web_search";
/// The order where none is set.
const ORDER: &str = "brave, tavily, searxng, duckduckgo";

/// A kind of provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Brave,
    Tavily,
    Searxng,
    DuckDuckGo,
}

impl Kind {
    const ALL: [Kind; 4] = [Kind::Brave, Kind::Tavily, Kind::Searxng, Kind::DuckDuckGo];

    /// Its name, which is that of its service.
    pub fn name(self) -> &'static str {
        match self {
            Self::Brave => "brave",
            Self::Tavily => "tavily",
            Self::Searxng => "searxng",
            Self::DuckDuckGo => "duckduckgo",
        }
    }

    /// Where it is unless an admin entered another address; empty where one is needed.
    fn usual_url(self) -> &'static str {
        match self {
            Self::Brave => brave::URL,
            Self::Tavily => tavily::URL,
            Self::Searxng => "",
            Self::DuckDuckGo => duckduckgo::URL,
        }
    }

    fn needs_key(self) -> bool {
        matches!(self, Self::Brave | Self::Tavily)
    }

    /// The reason why it gave no results.
    pub fn explains(self, status: u16) -> String {
        match (self, status) {
            (Self::Brave | Self::Tavily, 401 | 403) => {
                format!("it refuses the key ({status}): an admin can enter another")
            }
            (Self::Brave | Self::Tavily, 402 | 432 | 433) => format!("its quota is used up ({status})"),
            (Self::Searxng, 403) => {
                "it does not answer in JSON (403): add `json` to `search.formats` of its settings".into()
            }
            (Self::DuckDuckGo, 202 | 403) => format!("it wants to see a person ({status}): try again later"),
            (_, status) => format!("it answered {status}"),
        }
    }

    /// The results in an answer.
    ///
    /// # Errors
    /// Why there are none that can be read.
    pub fn read(self, text: &str, base: &Url) -> Result<Vec<Hit>, String> {
        if text.len() > LARGEST {
            return Err(format!("its answer is larger than {} KB", LARGEST / 1024));
        }
        let json = || serde_json::from_str::<Value>(text).map_err(|_| "its answer is no JSON".to_owned());
        match self {
            Self::Brave => brave::read(&json()?),
            Self::Tavily => tavily::read(&json()?),
            Self::Searxng => searxng::read(&json()?),
            Self::DuckDuckGo => duckduckgo::read(text, base),
        }
    }
}

/// A provider that is set up.
pub(crate) struct Provider {
    pub kind: Kind,
    pub url: Url,
    key: String,
    /// The host and port that an admin entered.
    pub own_host: Option<String>,
}

impl Provider {
    fn of(kind: Kind, settings: &dyn Settings) -> Option<Self> {
        let entry = settings.entry(kind.name(), None).unwrap_or_default();
        let key = text(&entry, "api_key");
        let own = text(&entry, "base_url");
        if kind.needs_key() && key.is_empty() {
            return None;
        }
        let address = if own.is_empty() { kind.usual_url() } else { &own };
        let url = Url::parse(address).ok().filter(|url| matches!(url.scheme(), "http" | "https"))?;
        let own_host = (!own.is_empty()).then(|| {
            let port = url.port_or_known_default().map(|port| format!(":{port}")).unwrap_or_default();
            format!("{}{port}", url.host_str().unwrap_or_default())
        });
        Some(Self { kind, url, key, own_host })
    }

    /// The request, and the parameters it cannot carry.
    ///
    /// # Errors
    /// When the address cannot take a path.
    pub fn request(&self, query: &Query) -> Result<(Fetch, Vec<&'static str>), String> {
        match self.kind {
            Kind::Brave => brave::request(&self.url, &self.key, query),
            Kind::Tavily => tavily::request(&self.url, &self.key, query),
            Kind::Searxng => searxng::request(&self.url, query),
            Kind::DuckDuckGo => duckduckgo::request(&self.url, query),
        }
    }
}

/// `path` below the address of a provider.
pub(super) fn below(base: &Url, path: &str) -> Result<Url, String> {
    let mut url = base.clone();
    url.set_query(None);
    url.set_fragment(None);
    let at = base.path().trim_end_matches('/');
    // People paste the address of the page itself.
    let at = at.strip_suffix(path.trim_end_matches('/')).unwrap_or(at);
    url.set_path(&format!("{}{path}", at.trim_end_matches('/')));
    Ok(url)
}

/// The providers in their order.
pub(crate) struct Chain {
    pub providers: Vec<Provider>,
    pub country: Option<String>,
    pub language: Option<String>,
}

impl Chain {
    pub fn of(settings: &dyn Settings) -> Self {
        let entry = settings.entry(SERVICE, None).unwrap_or_default();
        let order = Some(text(&entry, "order")).filter(|order| !order.is_empty()).unwrap_or_else(|| ORDER.to_owned());
        let mut kinds: Vec<Kind> = vec![];
        for name in order.split([',', ' ', ';', '\n']).map(|name| name.trim().to_lowercase()) {
            kinds.extend(Kind::ALL.into_iter().find(|kind| kind.name() == name && !kinds.contains(kind)));
        }
        let usual = |field: &str| Some(text(&entry, field)).filter(|text| !text.is_empty());
        let providers = kinds.into_iter().filter_map(|kind| Provider::of(kind, settings)).collect();
        Self { providers, country: usual("country"), language: usual("language") }
    }
}

fn text(entry: &Map<String, Value>, field: &str) -> String {
    entry.get(field).and_then(Value::as_str).map(str::trim).unwrap_or_default().to_owned()
}

/// The services as the Config Center shows them.
///
/// # Errors
/// `BadArgs` when a definition is invalid.
pub fn services() -> Result<Vec<Required>> {
    let field = |name: &str, label: &str, kind: &str, about: &str| json!({"name": name, "label": label, "type": kind, "description": about});
    let address = |about: &str| field("base_url", "Address", "url", about);
    let service = |name: &str, title: &str, about: &str, docs: Option<&str>, fields: Value| {
        let mut it = json!({"name": name, "displayName": title, "category": "Search", "description": about, "config_schema": fields});
        if let Some(docs) = docs {
            it["docsUrl"] = docs.into();
        }
        it
    };
    let key = |about: &str| {
        let mut key = field("api_key", "API key", "secret", about);
        key["required"] = true.into();
        key
    };
    let mut searxng =
        address("Address of the server, such as http://nas.local:8080. Its `search.formats` must contain `json`.");
    searxng["required"] = true.into();
    Required::parse_list(&json!([
        service(
            SERVICE,
            "Web search",
            "In which order search services are asked, and where to search from.",
            None,
            json!([
                {"name": "order", "label": "Order", "type": "string", "default": ORDER,
                 "description": "Services that are left out are not asked. DuckDuckGo needs no key."},
                field("country", "Country", "string", "Two letters, such as DE."),
                field("language", "Language", "string", "Two letters, such as de."),
            ]),
        ),
        service(
            Kind::Brave.name(),
            "Brave Search",
            "Web search by Brave.",
            Some("https://api-dashboard.search.brave.com/"),
            json!([key("A subscription token of the search API."), address("Left out, it is Brave's own.")]),
        ),
        service(
            Kind::Tavily.name(),
            "Tavily",
            "Web search by Tavily.",
            Some("https://docs.tavily.com/"),
            json!([key("It begins with tvly-."), address("Left out, it is Tavily's own.")]),
        ),
        service(
            Kind::Searxng.name(),
            "SearXNG",
            "Web search by a SearXNG server, perhaps in this home.",
            Some("https://docs.searxng.org/"),
            json!([searxng]),
        ),
        service(
            Kind::DuckDuckGo.name(),
            "DuckDuckGo",
            "Web search without a key.",
            None,
            json!([address("Left out, it is DuckDuckGo's own.")]),
        ),
    ]))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Entries(Value);
    impl Settings for Entries {
        fn entries(&self, service: &str) -> Vec<(String, Map<String, Value>)> {
            self.0[service].as_object().map(|entry| ("Default".to_owned(), entry.clone())).into_iter().collect()
        }
    }

    fn names(entries: Value) -> String {
        let chain = Chain::of(&Entries(entries));
        chain.providers.iter().map(|p| p.kind.name()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn the_chain_is_what_is_set_up() {
        assert_eq!(names(json!({})), "duckduckgo");
        assert_eq!(names(json!({"tavily": {"api_key": "k"}, "brave": {"api_key": " "}})), "tavily duckduckgo");
        let own = json!({"searxng": {"base_url": "http://nas.local:8080/"}, "brave": {"api_key": "k"},
                         "web_search": {"order": "SearXNG; brave brave nothing"}});
        assert_eq!(names(own.clone()), "searxng brave");
        let chain = Chain::of(&Entries(own));
        assert_eq!(chain.providers[0].own_host.as_deref(), Some("nas.local:8080"));
        assert_eq!(chain.providers[1].own_host, None);
        assert_eq!(names(json!({"web_search": {"order": "brave"}, "searxng": {"base_url": "x"}})), "");
        assert_eq!(services().unwrap().len(), 5);
    }

    #[test]
    fn addresses_are_completed_once() {
        for (base, expected) in [
            ("http://a.org", "http://a.org/search"),
            ("http://a.org/", "http://a.org/search"),
            ("http://a.org/sub/?q=x#y", "http://a.org/sub/search"),
            ("http://a.org/search", "http://a.org/search"),
        ] {
            assert_eq!(below(&Url::parse(base).unwrap(), "/search").unwrap().as_str(), expected, "{base}");
        }
    }
}
