//! Requests to a service with a JSON interface: one host, no redirects, within time and size.

use http_client::{Fetch, Guarded, Streamed};
use serde::de::DeserializeOwned;
use std::time::Duration;
use tool::{Cx, Error, Label, Result};
use url::Url;

/// How long a request may take, and how large its answer may be, in bytes.
const TIMEOUT: Duration = Duration::from_secs(15);
const LIMIT: usize = 1024 * 1024;
/// How much of a refusal is quoted, in characters.
const QUOTE: usize = 160;

/// A service at one address.
#[derive(Clone)]
pub(crate) struct Api {
    /// Its name for people.
    who: &'static str,
    base: Url,
    web: Guarded,
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
        Ok(Self { who, base, web: web.allowing(allowed) })
    }

    /// Gets `path` with these query parameters.
    ///
    /// # Errors
    /// As [`Api::send`].
    pub async fn get(&self, cx: &Cx, path: &str, query: &[(&str, &str)], headers: &[(&str, &str)]) -> Result<Answer> {
        let mut url = self.url(path)?;
        url.query_pairs_mut().extend_pairs(query);
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        self.send(cx, Fetch { url: url.into(), headers, ..Fetch::default() }).await
    }

    fn url(&self, path: &str) -> Result<Url> {
        self.base.join(path).map_err(|_| Error::failed(format!("the address of {} cannot be used", self.who)))
    }

    /// Sends a request; the run is tainted by whatever comes back.
    async fn send(&self, cx: &Cx, fetch: Fetch) -> Result<Answer> {
        let who = self.who;
        cx.taint(Label::Outside);
        let work = async {
            // The URL may hold a key: errors of the client name hosts only.
            let streamed = self.web.stream_once(fetch, TIMEOUT).await.map_err(unavailable)?;
            let Streamed::Done(answer) = streamed else {
                return Err(Error::unavailable(format!(
                    "{who} sends requests on to another address, which is not followed: an admin can check its address"
                )));
            };
            let status = answer.status;
            let body = answer.bytes(LIMIT).await.map_err(unavailable)?;
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
fn unavailable(error: http_client::Error) -> Error {
    Error::unavailable(error.to_string())
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

    /// The error of a refusal: what its status means, and the text that the service gives under one of `keys`.
    pub fn refusal(&self, keys: &[&str]) -> Error {
        let who = self.who;
        let body: serde_json::Value = serde_json::from_slice(&self.body).unwrap_or_default();
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
