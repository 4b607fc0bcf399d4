//! A client of the running daemon, over its unix socket.

use crate::{Lazy, Result, Streaming, error::Error, stream::Clock};
use reqwest::{Method, RequestBuilder, header};
use serde_json::Value;
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

/// A client of the daemon that listens on a unix socket. Nothing leaves the device.
#[derive(Clone)]
pub struct Local {
    client: Arc<Lazy>,
    path: PathBuf,
}

impl Local {
    /// A client of the socket at `path`.
    pub fn new(path: impl AsRef<Path>) -> Self {
        let (path, socket) = (path.as_ref().to_owned(), path.as_ref().to_owned());
        // No certificates are needed on a socket, and reading them would cost each command its time.
        let client = Lazy::new(move |builder| builder.unix_socket(socket.as_path()).tls_certs_only([]));
        Self { client: Arc::new(client), path }
    }

    /// Sends one request, with `body` as JSON, and hands over the answer as it comes. Nothing limits its time:
    /// a person waits at the other end, and can interrupt.
    ///
    /// # Errors
    /// `Unreachable` when no daemon listens there, `BadRequest` for an unknown method or unusable path, `Broken`.
    pub async fn request(&self, method: &str, path_and_query: &str, body: Option<Value>) -> Result<Streaming> {
        let request = self.to(method, path_and_query)?;
        self.begin(if let Some(body) = body { request.json(&body) } else { request }).await
    }

    /// The same with a body of any bytes.
    ///
    /// # Errors
    /// Those of [`Local::request`].
    pub async fn send(&self, method: &str, path_and_query: &str, bytes: Vec<u8>) -> Result<Streaming> {
        let request = self.to(method, path_and_query)?.header(header::CONTENT_TYPE, "application/octet-stream");
        self.begin(request.body(bytes)).await
    }

    fn to(&self, method: &str, path_and_query: &str) -> Result<RequestBuilder> {
        let method = Method::from_bytes(method.as_bytes()).map_err(|_| {
            Error::BadRequest(format!("`{method}` is not an HTTP method: use GET, POST, PUT or DELETE"))
        })?;
        if !path_and_query.starts_with('/') {
            return Err(Error::BadRequest(format!("the path `{path_and_query}` must begin with a slash")));
        }
        Ok(self.client.get()?.request(method, format!("http://localhost{path_and_query}")))
    }

    async fn begin(&self, request: RequestBuilder) -> Result<Streaming> {
        Streaming::begin(request, &self.path.to_string_lossy(), None, Clock::NONE).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{answer, scratch, serve_unix};
    use serde_json::json;

    #[tokio::test]
    async fn requests_go_through_the_socket() {
        let folder = scratch("local");
        let path = folder.join("hob.sock");
        let local = Local::new(&path);
        let error = local.request("GET", "/healthz", None).await.unwrap_err();
        assert!(matches!(error, Error::Unreachable { .. }), "{error}");

        serve_unix(&path, |request| {
            assert!(request.starts_with("POST /api/v1/chat?x=1 HTTP/1.1\r\n"), "{request}");
            assert!(request.ends_with("{\"message\":\"hi\"}"), "{request}");
            answer("201 Created", "", "hello")
        });
        let answer = local.request("POST", "/api/v1/chat?x=1", Some(json!({"message": "hi"}))).await.unwrap();
        assert_eq!(answer.status, 201);
        assert_eq!(answer.text(100).await.unwrap(), "hello");
        for (method, path) in [("G T", "/"), ("GET", "healthz"), ("GET", "")] {
            assert!(matches!(local.request(method, path, None).await, Err(Error::BadRequest(_))), "{method} {path}");
        }
        std::fs::remove_dir_all(folder).unwrap();
    }
}
