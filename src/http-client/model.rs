//! The client for model servers: an address the person configured, so anywhere, this device included.

use crate::{
    Error, Lazy, Result, Streaming,
    stream::{Clock, Patience},
};
use bytes::Bytes;
use reqwest::{Method, RequestBuilder};
use std::sync::Arc;
use url::Url;

/// A client for model servers. It follows no redirect, so a key goes to the configured host and nowhere else.
#[derive(Clone)]
pub struct ModelHttp {
    client: Arc<Lazy>,
    patience: Patience,
}

impl Default for ModelHttp {
    fn default() -> Self {
        Self::new(Patience::default())
    }
}

impl ModelHttp {
    /// A client that waits as long as `patience` says.
    pub fn new(patience: Patience) -> Self {
        Self { client: Arc::new(Lazy::new(|builder| builder)), patience }
    }

    /// The same client, connections included, with another patience.
    pub fn patient(&self, patience: Patience) -> Self {
        Self { client: self.client.clone(), patience }
    }

    /// Posts `body` as JSON and hands over the answer as it comes, whatever its status.
    ///
    /// # Errors
    /// `BadRequest` for an unusable URL or header, `Unreachable`, `TimedOut`, `Broken`, and `Redirected` when the
    /// server sends one elsewhere.
    pub async fn post_stream(
        &self,
        url: &str,
        headers: &[(String, String)],
        body: impl Into<Bytes>,
    ) -> Result<Streaming> {
        self.post(url, headers, "application/json", body).await
    }

    /// The same for a body of another type, such as a form with files.
    ///
    /// # Errors
    /// As [`ModelHttp::post_stream`].
    pub async fn post(
        &self,
        url: &str,
        headers: &[(String, String)],
        content_type: &str,
        body: impl Into<Bytes>,
    ) -> Result<Streaming> {
        let body = body.into();
        self.send(Method::POST, url, headers, |request| {
            request.header("content-type", content_type).body(reqwest::Body::from(body))
        })
        .await
    }

    /// Gets `url`: lists of models, health.
    ///
    /// # Errors
    /// As [`ModelHttp::post_stream`].
    pub async fn get(&self, url: &str, headers: &[(String, String)]) -> Result<Streaming> {
        self.send(Method::GET, url, headers, |request| request).await
    }

    async fn send(
        &self,
        method: Method,
        url: &str,
        headers: &[(String, String)],
        finish: impl FnOnce(RequestBuilder) -> RequestBuilder,
    ) -> Result<Streaming> {
        let not_http =
            || Error::BadRequest("the model's address is not a URL: write it as http://host:port/path".into());
        let url = Url::parse(url).ok().filter(|u| matches!(u.scheme(), "http" | "https")).ok_or_else(not_http)?;
        let host = url.host_str().unwrap_or_default().to_owned();
        let mut request = self.client.get()?.request(method, url);
        for (name, value) in headers {
            request = request.header(name, value);
        }
        let (first_byte, clock) = (Some(self.patience.first_byte), Clock::of(&self.patience));
        let answer = Streaming::begin(finish(request), &host, first_byte, clock).await?;
        if let (300..400, Some(to)) = (answer.status, answer.header("location")) {
            let to = Url::parse(to).ok().and_then(|to| to.host_str().map(str::to_owned)).unwrap_or(host.clone());
            return Err(Error::Redirected(format!(
                "the model server `{host}` sends requests on to `{to}`, and a key is not sent along: \
                 put the final address into the settings"
            )));
        }
        Ok(answer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Server, answer};
    use futures::TryStreamExt;
    use std::time::Duration;

    fn hasty() -> ModelHttp {
        let ms = Duration::from_millis;
        ModelHttp::new(Patience { first_byte: ms(300), idle: ms(300), overall: ms(900) })
    }

    #[tokio::test]
    async fn pieces_arrive_as_they_are_sent() {
        let server = Server::start(|request| {
            assert!(request.contains("authorization: Bearer k"), "{request}");
            assert!(request.ends_with("{\"a\":1}"), "{request}");
            let chunk = |text: &str| format!("{:x}\r\n{text}\r\n", text.len()).into_bytes();
            let head = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\nX-Some: thing\r\n\r\n".to_vec();
            vec![head, chunk("data: one\n\n"), chunk("data: two\n\n"), b"0\r\n\r\n".to_vec()]
        })
        .await;
        let headers = [("authorization".to_owned(), "Bearer k".to_owned())];
        let answer = hasty().post_stream(&server.url("/v1"), &headers, "{\"a\":1}").await.unwrap();
        assert_eq!((answer.status, answer.header("x-some")), (200, Some("thing")));
        let pieces: Vec<_> = answer.into_stream().try_collect().await.unwrap();
        assert_eq!(pieces.concat(), b"data: one\n\ndata: two\n\n");
        assert!(pieces.len() >= 2, "{pieces:?}");
    }

    #[tokio::test]
    async fn a_server_that_hangs_is_noticed() {
        let silent = Server::start(|_| vec![]).await;
        let error = hasty().post_stream(&silent.url("/"), &[], "").await.unwrap_err();
        assert!(matches!(error, Error::TimedOut { what: "did not begin to answer", .. }), "{error}");

        let stuck = Server::start(|_| vec![b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nab".to_vec()]).await;
        let answer = hasty().post_stream(&stuck.url("/"), &[], "").await.unwrap();
        let error = answer.bytes(99).await.unwrap_err();
        assert!(matches!(error, Error::TimedOut { what: "sent nothing more", .. }), "{error}");
    }

    #[tokio::test]
    async fn an_endless_answer_ends() {
        let head = b"HTTP/1.1 200 OK\r\ncontent-length: 999\r\n\r\n".to_vec();
        let drip =
            Server::start(move |_| std::iter::once(head.clone()).chain(vec![b"x".to_vec(); 200]).collect()).await;
        let error = hasty().post_stream(&drip.url("/"), &[], "").await.unwrap().bytes(9999).await.unwrap_err();
        assert!(matches!(error, Error::TimedOut { what: "did not finish", .. }), "{error}");
    }

    #[tokio::test]
    async fn a_key_does_not_follow_a_redirect() {
        let thief = Server::start(|_| answer("200 OK", "", "")).await;
        let to = format!("location: {}\r\n", thief.url("/"));
        let server = Server::start(move |_| answer("307 Temporary Redirect", &to, "")).await;
        let error = hasty().post_stream(&server.url("/"), &[], "").await.unwrap_err();
        assert!(matches!(error, Error::Redirected(_)), "{error}");
        assert_eq!(thief.hits(), 0);
    }

    #[tokio::test]
    async fn what_cannot_be_asked_says_so() {
        let gone = Server::start(|_| vec![]).await.stop();
        for (url, expected) in
            [("not a url", "http://host"), ("ftp://x/", "http://host"), (&*gone, "cannot be reached")]
        {
            let error = hasty().get(url, &[]).await.unwrap_err().to_string();
            assert!(error.contains(expected), "{url}: {error}");
        }
        let broken = [("a b".to_owned(), "c".to_owned())];
        assert!(matches!(hasty().get("http://127.0.0.1:1/", &broken).await, Err(Error::BadRequest(_))));
    }
}
