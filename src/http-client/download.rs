//! The client for files that are verified by their signature, such as updates: from an address that a person configured.

use crate::{
    Error, Lazy, Result, Streaming,
    stream::{Clock, Patience},
};
use reqwest::{header, redirect};
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

/// A client that fetches files, whole or by range. It sends no credentials and follows redirects, because the content is verified
/// and not its source. It asks for no compression, so that ranges are those of the file.
#[derive(Clone)]
pub struct DownloadHttp(Arc<Lazy>);

impl Default for DownloadHttp {
    fn default() -> Self {
        Self(Arc::new(Lazy::new(|builder| builder.no_gzip().redirect(redirect::Policy::limited(MAX_REDIRECTS)))))
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
    }
}
