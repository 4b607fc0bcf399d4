//! The client for a service on the local network that an admin set up: the address is one they entered.

use crate::{
    Error, Fingerprint, Lazy, Result, Streaming,
    pinned::Pin,
    stream::{Clock, Patience},
    web_socket::{SocketLimits, WebSocket, elsewhere},
};
use reqwest::{Method, header};
use std::{sync::Arc, time::Duration};
use url::Url;

/// How long a request may take: a person waits, and the service is in the house.
const PATIENCE: Patience =
    Patience { first_byte: Duration::from_secs(20), idle: Duration::from_secs(15), overall: Duration::from_secs(40) };

/// A client for services in the home, such as Home Assistant. It follows no redirect, so a token goes to the configured host
/// and nowhere else.
#[derive(Clone)]
pub struct ServiceHttp {
    http: Arc<Lazy>,
    /// The only certificate that is accepted; else those of known authorities are.
    pin: Option<Arc<Pin>>,
}

impl Default for ServiceHttp {
    fn default() -> Self {
        Self { http: Arc::new(Lazy::new(|builder| builder)), pin: None }
    }
}

impl ServiceHttp {
    /// A client that accepts the certificate with this fingerprint, which a person confirmed, and no other.
    pub fn pinned(fingerprint: Fingerprint) -> Self {
        Self::with_pin(Pin::new(Some(fingerprint)))
    }

    fn with_pin(pin: Arc<Pin>) -> Self {
        let accepts = pin.clone();
        let http = Lazy::new(move |builder| match accepts.clone().config() {
            Some(config) => builder.tls_backend_preconfigured(config),
            None => builder.tls_certs_only([]),
        });
        Self { http: Arc::new(http), pin: Some(pin) }
    }

    /// Adds the certificate that the server shows to an error that came of it.
    async fn explained(&self, error: Error, url: &Url) -> Error {
        let Error::Unreachable { host, why } = &error else { return error };
        match &self.pin {
            Some(pin) => match pin.take_refused() {
                Some(fingerprint) => Error::ChangedCertificate { host: host.clone(), fingerprint },
                None => error,
            },
            None if url.scheme() == "https" && why.contains("certificate") => {
                // Asks for it once more, and sends nothing: no certificate is accepted.
                let pin = Pin::new(None);
                let Some(asked) = Self::with_pin(pin.clone()).http.get().ok().map(|http| http.head(url.clone())) else {
                    return error;
                };
                let _ = tokio::time::timeout(PATIENCE.first_byte, asked.send()).await;
                match pin.take_refused() {
                    Some(fingerprint) => {
                        Error::UnknownCertificate { host: host.clone(), why: why.clone(), fingerprint }
                    }
                    None => error,
                }
            }
            None => error,
        }
    }

    /// Sends one request, with `body` as JSON, and returns the answer of any status as it comes.
    ///
    /// # Errors
    /// `BadRequest` for an unusable URL or method, `Unreachable`, `UnknownCertificate`, `ChangedCertificate`, `TimedOut`,
    /// `Broken`, and `Redirected` when the service sends one elsewhere.
    pub async fn request(&self, method: &str, url: &str, token: &str, body: Option<String>) -> Result<Streaming> {
        let (url, host) = parse(url)?;
        let method = Method::from_bytes(method.as_bytes())
            .map_err(|_| Error::BadRequest(format!("`{method}` is not an HTTP method: use GET or POST")))?;
        let mut request = self.http.get()?.request(method, url.clone()).bearer_auth(token);
        if let Some(body) = body {
            request = request.header(header::CONTENT_TYPE, "application/json").body(body);
        }
        let clock = Clock::of(&PATIENCE);
        let answer = match Streaming::begin(request, &host, Some(PATIENCE.first_byte), clock).await {
            Ok(answer) => answer,
            Err(error) => return Err(self.explained(error, &url).await),
        };
        if (300..400).contains(&answer.status) {
            return Err(elsewhere(&host, answer.header("location").unwrap_or_default()));
        }
        Ok(answer)
    }

    /// Opens a WebSocket, over TLS where the URL is `https`; the largest message it receives has so many bytes.
    ///
    /// # Errors
    /// As [`ServiceHttp::request`]; `NotWebSocket` when the server does not speak it there.
    pub async fn web_socket(&self, url: &str, largest: usize) -> Result<WebSocket> {
        let (url, host) = parse(url)?;
        let limits = SocketLimits { handshake: PATIENCE.first_byte, message: largest };
        match WebSocket::open(self.http.get()?.get(url.clone()), &host, limits).await {
            Ok(socket) => Ok(socket),
            Err(error) => Err(self.explained(error, &url).await),
        }
    }
}

fn parse(url: &str) -> Result<(Url, String)> {
    let url = Url::parse(url).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
    let url = url.ok_or_else(|| {
        Error::BadRequest("the address of the service is not a URL: write it as http://host:port".into())
    })?;
    let host = url.host_str().unwrap_or_default().to_owned();
    Ok((url, host))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Server, answer};

    #[tokio::test]
    async fn a_token_goes_to_the_configured_host_only() {
        let thief = Server::start(|_| answer("200 OK", "", "")).await;
        let to = format!("location: {}\r\n", thief.url("/"));
        let server = Server::start(move |request| {
            assert!(request.contains("authorization: Bearer t0ken"), "{request}");
            match request.starts_with("POST /api/x ") {
                true => answer("200 OK", "", "yes"),
                false => answer("302 Found", &to, ""),
            }
        })
        .await;
        let http = ServiceHttp::default();
        let said = http.request("POST", &server.url("/api/x"), "t0ken", Some("{}".into())).await.unwrap();
        assert_eq!(said.text(10).await.unwrap(), "yes");
        let error = http.request("GET", &server.url("/"), "t0ken", None).await.unwrap_err();
        assert!(matches!(error, Error::Redirected(_)), "{error}");
        assert_eq!(thief.hits(), 0);
    }

    #[tokio::test]
    async fn a_server_without_websocket_says_so() {
        let server = Server::start(|_| answer("200 OK", "", "hello")).await;
        let error = ServiceHttp::default().web_socket(&server.url("/api/websocket"), 1_000).await.err().unwrap();
        assert!(error.to_string().contains("it answered 200 where a WebSocket was expected"), "{error}");
        for url in ["ws://x/", "nothing"] {
            let error = ServiceHttp::default().web_socket(url, 1_000).await.err().unwrap();
            assert!(matches!(error, Error::BadRequest(_)), "{error}");
        }
    }
}
