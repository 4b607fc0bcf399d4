//! The client for files that are verified by their signature, such as updates: from an address that a person configured.

use crate::{
    Error, Lazy, Result, Streaming,
    guard::{Allow, check},
    stream::{Clock, Patience},
};
use reqwest::{
    header,
    redirect::{Attempt, Policy},
};
use std::{sync::Arc, time::Duration};
use url::Url;

/// How long a download may take: a slow line may need an hour for a whole system.
const PATIENCE: Patience = Patience {
    first_byte: Duration::from_secs(30),
    idle: Duration::from_secs(60),
    overall: Duration::from_secs(2 * 3600),
};
/// Releases are often behind a redirect or two.
const MAX_REDIRECTS: usize = 5;

/// Why a redirect is not followed. A server on the internet must not make this device ask one in the house, where a GET may switch
/// something, and https must not end in http.
fn refusal(previous: &[Url], to: &Url) -> Option<Error> {
    let first = previous.first()?;
    let host = to.host_str().unwrap_or_default();
    let circle = previous.len() > MAX_REDIRECTS;
    let downgrade = previous.iter().any(|url| url.scheme() == "https") && to.scheme() != "https";
    let inside = check(first, &Allow::default()).is_ok() && check(to, &Allow::default()).is_err();
    let why = match (circle, downgrade, inside) {
        (true, ..) => format!("the server redirects in a circle or too often, last to `{host}`"),
        (_, true, _) => format!("the server redirects from https to http, to `{host}`"),
        (_, _, true) => format!("the server redirects into the house, to `{host}`"),
        _ => return None,
    };
    Some(Error::Redirected(format!("{why}: check the address")))
}

fn follow(attempt: Attempt<'_>) -> reqwest::redirect::Action {
    match refusal(attempt.previous(), attempt.url()) {
        Some(why) => attempt.error(why),
        None => attempt.follow(),
    }
}

/// A client that fetches files, whole or by range. It sends no credentials and follows redirects, because the content is verified
/// and not its source. It asks for no compression, so that ranges are those of the file.
#[derive(Clone)]
pub struct DownloadHttp(Arc<Lazy>);

impl Default for DownloadHttp {
    fn default() -> Self {
        Self(Arc::new(Lazy::new(|builder| builder.no_gzip().redirect(Policy::custom(follow)))))
    }
}

impl DownloadHttp {
    /// Gets a file, or `length` bytes of it from `offset` on. The answer may have any status; 206 has the range, and 200 the whole
    /// file all the same.
    ///
    /// # Errors
    /// `BadRequest` for an unusable URL, `Unreachable`, `TimedOut`, `Broken`.
    pub async fn get(&self, url: &str, range: Option<(u64, u64)>) -> Result<Streaming> {
        let parsed = Url::parse(url).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
        let url = parsed.ok_or_else(|| {
            Error::BadRequest(format!("`{url}` is not the address of a file: write it as https://host/path"))
        })?;
        let host = url.host_str().unwrap_or_default().to_owned();
        let mut request = self.0.get()?.get(url);
        if let Some((offset, length)) = range {
            let last = offset.saturating_add(length.saturating_sub(1));
            request = request.header(header::RANGE, format!("bytes={offset}-{last}"));
        }
        Streaming::begin(request, &host, Some(PATIENCE.first_byte), Clock::of(&PATIENCE)).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Server, answer};

    #[tokio::test]
    async fn ranges_are_asked_for_and_redirects_followed() {
        let files = Server::start(|request| match request.contains("range: bytes=5-14\r\n") {
            true => answer("206 Partial Content", "", "0123456789"),
            false => answer("200 OK", "", "whole"),
        })
        .await;
        let to = format!("location: {}\r\n", files.url("/file"));
        let server = Server::start(move |_| answer("302 Found", &to, "")).await;
        let http = DownloadHttp::default();
        let got = http.get(&server.url("/latest"), Some((5, 10))).await.unwrap();
        assert_eq!(got.status, 206);
        assert_eq!(got.text(20).await.unwrap(), "0123456789");
        assert_eq!(http.get(&server.url("/latest"), None).await.unwrap().text(20).await.unwrap(), "whole");
        for url in ["ftp://x/y", "nothing", "file:///etc/passwd"] {
            assert!(matches!(http.get(url, None).await.unwrap_err(), Error::BadRequest(_)), "{url}");
        }
        // Round in a circle.
        let circle = Server::start(|_| answer("302 Found", "location: /again\r\n", "")).await;
        let error = http.get(&circle.url("/"), None).await.unwrap_err();
        assert!(matches!(&error, Error::Redirected(why) if why.contains("in a circle")), "{error}");
    }

    #[test]
    fn redirects_lead_neither_into_the_house_nor_out_of_tls() {
        for (from, to, part) in [
            ("https://example.org/stable.json", "https://cdn.example.net/x", None),
            ("http://example.org/stable.json", "https://example.org/stable.json", None),
            ("http://192.168.1.2/stable.json", "http://192.168.1.3/x", None),
            ("http://192.168.1.2/stable.json", "https://example.org/x", None),
            ("https://example.org/stable.json", "http://example.org/x", Some("from https to http")),
            ("https://example.org/stable.json", "https://192.168.1.3/x", Some("into the house")),
            ("http://example.org/stable.json", "http://127.0.0.1/x", Some("into the house")),
            ("http://example.org/stable.json", "http://plug.local/cm?cmnd=on", Some("into the house")),
        ] {
            let url = |text: &str| Url::parse(text).unwrap();
            let why = refusal(&[url(from)], &url(to)).map(|why| why.to_string());
            assert_eq!(why.is_some(), part.is_some(), "{from} {to}: {why:?}");
            assert!(part.is_none_or(|part| why.unwrap().contains(part)), "{from} {to}");
        }
    }
}
