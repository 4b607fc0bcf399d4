//! Requests to a service with a JSON interface: one host, no redirects, within time and size.

use http_client::{Fetch, Guarded, Streamed};
use serde::de::DeserializeOwned;
use std::time::Duration;
use tool::{Cx, Error, Label, Result};
use url::Url;

/// How long a request may take, and how large its answer may be, in bytes.
const TIMEOUT: Duration = Duration::from_secs(15);
const LIMIT: usize = 1024 * 1024;
/// The largest body of a refusal that is read.
const REFUSAL: usize = 64 * 1024;
/// How much of a refusal is quoted, in characters.
const QUOTE: usize = 160;

/// A service at one address.
#[derive(Clone)]
pub(crate) struct Api {
    /// Its name for people.
    who: &'static str,
    base: Url,
    web: Guarded,
    timeout: Duration,
}

/// An answer of any status.
pub(crate) struct Answer {
    pub status: u16,
    body: Vec<u8>,
    who: &'static str,
}

impl Api {
    /// The service at the address that a person configured, which may be inside the house, else at the public one.
    ///
    /// # Errors
    /// `Unavailable` when the configured address cannot be used.
    pub fn new(web: &Guarded, who: &'static str, configured: Option<&str>, public: &str) -> Result<Self> {
        let address = configured.unwrap_or(public).trim().trim_end_matches('/');
        let base = Url::parse(&format!("{address}/")).ok().filter(|url| {
            matches!(url.scheme(), "http" | "https")
                && url.has_host()
                && url.query().is_none()
                && url.username().is_empty()
        });
        let base = base.ok_or_else(|| {
            Error::unavailable(format!(
                "the address of {who} in the Config Center is not a URL: an admin can write it as https://host/path"
            ))
        })?;
        let allowed = configured.and_then(|_| {
            let (host, port) = (base.host_str()?, base.port_or_known_default()?);
            Some(format!("{host}:{port}"))
        });
        Ok(Self { who, base, web: web.allowing(allowed), timeout: TIMEOUT })
    }

    /// The same service, with more time for an answer.
    pub fn patient(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }

    /// Posts `body` as JSON to `path`.
    ///
    /// # Errors
    /// As [`Api::get`].
    pub async fn post(
        &self,
        cx: &Cx,
        path: &str,
        body: &serde_json::Value,
        headers: &[(&str, &str)],
    ) -> Result<Answer> {
        let json = ("content-type".to_owned(), "application/json".to_owned());
        let headers =
            headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).chain([json]).collect();
        let (url, method) = (self.url(path)?.into(), "POST".to_owned());
        self.send(cx, Fetch { url, method, headers, body: Some(body.to_string()) }).await
    }

    /// Gets `path` with these query parameters.
    ///
    /// # Errors
    /// `Unavailable` when it does not answer within time and size, or sends one elsewhere; `Failed` when the call was stopped.
    pub async fn get(&self, cx: &Cx, path: &str, query: &[(&str, &str)], headers: &[(&str, &str)]) -> Result<Answer> {
        let mut url = self.url(path)?;
        // Without pairs it would leave a bare question mark.
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        self.send(cx, Fetch { url: url.into(), headers, ..Fetch::default() }).await
    }

    /// Its host.
    pub fn host(&self) -> &str {
        self.base.host_str().unwrap_or_default()
    }

    /// The path below the address that `endpoint` means: a path, or a whole URL there.
    ///
    /// # Errors
    /// `BadArgs` when it leads elsewhere.
    pub fn path_of(&self, endpoint: &str) -> Result<String> {
        let endpoint = endpoint.trim();
        let elsewhere = || {
            let host = self.host();
            Error::bad_args(format!(
                "`endpoint` is not below the address of the server at `{host}`: pass a path such as /chat/completions; an admin can \
                 enter other servers in the Config Center"
            ))
        };
        let base = self.base.path();
        let url = match endpoint.contains("://") {
            true => Url::parse(endpoint),
            // The path may repeat the end of the address: /v1/models below …/v1.
            false => {
                let path = format!("/{}", endpoint.trim_start_matches('/'));
                let below = path.strip_prefix(base).unwrap_or(&path[1..]);
                self.base.join(&format!("./{below}"))
            }
        };
        let url = url.map_err(|_| elsewhere())?;
        let path = url
            .path()
            .strip_prefix(base)
            .filter(|path| !path.is_empty() && !path.starts_with('/'))
            .ok_or_else(elsewhere)?;
        let is_here = url.origin() == self.base.origin() && url.username().is_empty() && url.password().is_none();
        // What a server reads as a step up is none here.
        let lower = path.to_lowercase();
        if !is_here || endpoint.contains('\\') || ["%2e", "%2f", "%5c"].iter().any(|code| lower.contains(code)) {
            return Err(elsewhere());
        }
        Ok(match url.query() {
            Some(query) => format!("{path}?{query}"),
            None => path.to_owned(),
        })
    }

    /// The URL of a path below the address. Whatever the path is, the key goes nowhere else.
    fn url(&self, path: &str) -> Result<Url> {
        let url = self.base.join(&format!("./{path}")).ok();
        url.filter(|url| url.origin() == self.base.origin() && url.path().starts_with(self.base.path()))
            .ok_or_else(|| Error::bad_args(format!("this path is not below the address of {}", self.who)))
    }

    /// Sends a request; the run is tainted by whatever comes back.
    async fn send(&self, cx: &Cx, fetch: Fetch) -> Result<Answer> {
        let (who, timeout) = (self.who, self.timeout);
        cx.taint(Label::Outside);
        let work = async {
            // The URL may hold a key: errors of the client name hosts only.
            let streamed = self.web.stream_once(fetch, timeout).await.map_err(|error| unavailable(who, error))?;
            let Streamed::Done(answer) = streamed else {
                return Err(Error::unavailable(format!(
                    "{who} sends requests on to another address, which is not followed: an admin can check its address"
                )));
            };
            let status = answer.status;
            let body = answer.bytes(LIMIT).await.map_err(|error| unavailable(who, error))?;
            Ok(Answer { status, body, who })
        };
        tokio::select! {
            biased;
            () = cx.cancel().cancelled() => Err(Error::failed(format!("stopped while {who} was asked"))),
            done = work => done,
        }
    }
}

/// An error of the client: another service may answer.
fn unavailable(who: &str, error: http_client::Error) -> Error {
    Error::unavailable(error.to_string())
        .say(format!("I got no answer from {who}: check the network, or try again later."))
}

impl Answer {
    /// The body as JSON of this type.
    ///
    /// # Errors
    /// `Unavailable` when it is not.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T> {
        serde_json::from_slice(&self.body).map_err(|_| {
            Error::unavailable(format!("{} answered something that Hob does not understand: try again later", self.who))
        })
    }

    /// The length of the body in bytes.
    pub fn length(&self) -> usize {
        self.body.len()
    }

    /// The body as text; `None` when it is none.
    pub fn text(&self) -> Option<&str> {
        std::str::from_utf8(&self.body).ok()
    }

    /// The error of a refusal: what its status means, and the text that the service gives under one of `keys`.
    pub fn refusal(&self, keys: &[&str]) -> Error {
        let who = self.who;
        // A long answer is no error message.
        let body = Some(&*self.body).filter(|body| body.len() <= REFUSAL);
        let body: serde_json::Value = body.and_then(|body| serde_json::from_slice(body).ok()).unwrap_or_default();
        let text = keys.iter().find_map(|key| body.get(*key)?.as_str());
        let why = match self.status {
            401 | 403 => format!("{who} does not accept the key: an admin can enter another in the Config Center"),
            429 => format!("{who} has had too many requests for now: try again later"),
            status => format!("{who} answered with status {status}"),
        };
        Error::unavailable(match text {
            Some(text) => format!("{why} ({})", text_kit::plain_name(text, QUOTE)),
            None => why,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_people_and_public_ones() {
        let web = Guarded::default();
        let url = |configured: Option<&str>, path: &str| {
            Api::new(&web, "X", configured, "https://api.example.org/v1").map(|api| api.url(path).unwrap().to_string())
        };
        assert_eq!(url(None, "forecast").unwrap(), "https://api.example.org/v1/forecast");
        assert_eq!(url(Some(" http://10.0.0.2:5000/lt/ "), "languages").unwrap(), "http://10.0.0.2:5000/lt/languages");
        for odd in ["", "example.org", "ftp://example.org", "https://a:b@example.org", "https://example.org/?x=1"] {
            assert!(matches!(url(Some(odd), "x"), Err(Error::Unavailable(_))), "{odd}");
        }
    }

    #[test]
    fn endpoints_stay_below_their_address() {
        let api = Api::new(&Guarded::default(), "X", Some("https://ai.example.org/v1"), "").unwrap();
        for (endpoint, path) in [
            ("/chat/completions", "chat/completions"),
            ("chat/completions", "chat/completions"),
            ("/v1/models", "models"),
            ("https://ai.example.org/v1/models?x=1", "models?x=1"),
            ("a/../b", "b"),
        ] {
            assert_eq!(api.path_of(endpoint).unwrap(), path, "{endpoint}");
            assert!(api.url(path).unwrap().as_str().starts_with("https://ai.example.org/v1/"));
        }
        for odd in [
            "",
            "/",
            "..",
            "../admin",
            "a/../../admin",
            "%2e%2e/admin",
            "a%2F..%2Fadmin",
            "..\\admin",
            "https://ai.example.org/admin",
            "http://ai.example.org/v1/models",
            "https://ai.example.org:8443/v1/models",
            "https://x@ai.example.org/v1/models",
            "https://evil.example.org/v1/models",
            "/v1///evil.example.org/x",
            "/v1//evil.example.org",
            "https://ai.example.org/v1///evil.example.org/x",
        ] {
            assert!(matches!(api.path_of(odd), Err(Error::BadArgs(_))), "{odd}: {:?}", api.path_of(odd));
        }
        assert_eq!(api.path_of("//evil.example.org/x").unwrap(), "evil.example.org/x", "a path below it");
        // What looks like another address is a path, and what gets past all of this is refused where the key is added.
        let path = api.path_of("https:evil.example.org/x").unwrap();
        assert_eq!(api.url(&path).unwrap().as_str(), "https://ai.example.org/v1/https:evil.example.org/x");
        assert!(matches!(api.url("../admin"), Err(Error::BadArgs(_))));
    }

    #[test]
    fn refusals_say_what_to_do() {
        let answer = |status, body: &str| Answer { status, body: body.into(), who: "Some Service" };
        for (status, body, expected) in [
            (401, "{\"message\": \"Invalid API key\"}", "another in the Config Center (Invalid API key)"),
            (429, "", "Some Service has had too many requests for now: try again later"),
            (
                400,
                "{\"message\": 7, \"reason\": \"no\\nsuch <b>\"}",
                "Some Service answered with status 400 (no such b)",
            ),
            (500, "[", "Some Service answered with status 500"),
        ] {
            let error = answer(status, body).refusal(&["message", "reason"]);
            assert!(error.message().ends_with(expected), "{error}");
        }
        assert!(answer(200, "{\"x\": 1}").json::<Vec<u8>>().is_err());
    }
}
