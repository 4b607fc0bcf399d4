//! Requests to a provider: its address and key, JSON and forms, and answers within bounds.

use crate::{
    Endpoint,
    catalogue::{Link, Wire},
    failure::{Failure, of_status},
    job::Blob,
};
use bytes::Bytes;
use http_client::{ModelHttp, Patience, Streaming};
use serde_json::Value;
use std::time::Duration;
use tool::Id;

/// The largest answer with files in it, and with words only, in bytes.
pub(crate) const FILES: usize = 40 * 1024 * 1024;
pub(crate) const WORDS: usize = 4 * 1024 * 1024;
/// The largest answer that says what went wrong.
const ERROR: usize = 64 * 1024;
/// How long nothing may come in the middle of an answer.
const IDLE: Duration = Duration::from_secs(60);

/// A provider as it is asked for one job.
pub(crate) struct Api<'a> {
    http: ModelHttp,
    pub link: &'a Link,
    pub endpoint: &'a Endpoint,
    headers: Vec<(String, String)>,
}

/// A form of several parts.
pub(crate) struct Form {
    boundary: String,
    body: Vec<u8>,
}

impl Form {
    pub fn new() -> Self {
        Self { boundary: format!("hob-{}", Id::new()), body: vec![] }
    }

    pub fn text(mut self, name: &str, value: &str) -> Self {
        self.begin(name, None);
        self.body.extend_from_slice(value.as_bytes());
        self.body.extend_from_slice(b"\r\n");
        self
    }

    /// The same, where there is a value.
    pub fn optional(self, name: &str, value: Option<&str>) -> Self {
        match value {
            Some(value) => self.text(name, value),
            None => self,
        }
    }

    pub fn file(mut self, name: &str, file: &Blob) -> Self {
        self.begin(name, Some(file));
        self.body.extend_from_slice(&file.bytes);
        self.body.extend_from_slice(b"\r\n");
        self
    }

    fn begin(&mut self, name: &str, file: Option<&Blob>) {
        let mut head = format!("--{}\r\ncontent-disposition: form-data; name=\"{name}\"", self.boundary);
        if let Some(file) = file {
            // Quotes and line breaks would end the header.
            let plain = |c: &char| c.is_ascii_alphanumeric() || "._- ".contains(*c);
            let name: String = file.name.chars().filter(plain).take(100).collect();
            let kind: String = file.media_type.chars().filter(|c| plain(c) || "/+".contains(*c)).collect();
            head += &format!("; filename=\"{name}\"\r\ncontent-type: {kind}");
        }
        self.body.extend_from_slice(head.as_bytes());
        self.body.extend_from_slice(b"\r\n\r\n");
    }

    fn finish(mut self) -> (String, Vec<u8>) {
        self.body.extend_from_slice(format!("--{}--\r\n", self.boundary).as_bytes());
        (format!("multipart/form-data; boundary={}", self.boundary), self.body)
    }
}

impl<'a> Api<'a> {
    pub fn new(http: &ModelHttp, link: &'a Link, endpoint: &'a Endpoint) -> Self {
        let overall = Duration::from_secs(link.seconds);
        let http = http.patient(Patience { first_byte: overall, idle: IDLE, overall });
        let key = endpoint.key.clone().unwrap_or_default();
        let headers = match (key.is_empty(), endpoint.provider.wire) {
            (true, _) => vec![],
            (_, Wire::Gemini) => vec![("x-goog-api-key", key)],
            (_, Wire::Anthropic) => vec![("x-api-key", key), ("anthropic-version", "2023-06-01".to_owned())],
            (_, Wire::ElevenLabs) => vec![("xi-api-key", key)],
            _ => vec![("authorization", format!("Bearer {key}"))],
        };
        let headers = headers.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        Self { http, link, endpoint, headers }
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.endpoint.url.trim_end_matches('/'))
    }

    /// Posts JSON and reads JSON of at most so many bytes.
    pub async fn json(&self, path: &str, body: &Value, most: usize) -> Result<Value, Failure> {
        let answer = self.http.post_stream(&self.url(path), &self.headers, body.to_string()).await?;
        self.read(answer, most).await
    }

    /// Posts a form and reads JSON.
    pub async fn form(&self, path: &str, form: Form, most: usize) -> Result<Value, Failure> {
        let (kind, body) = form.finish();
        let answer = self.http.post(&self.url(path), &self.headers, &kind, body).await?;
        self.read(answer, most).await
    }

    pub async fn get(&self, path: &str) -> Result<Value, Failure> {
        let answer = self.http.get(&self.url(path), &self.headers).await?;
        self.read(answer, WORDS).await
    }

    /// Posts JSON and reads a file whose media type begins so.
    pub async fn file(&self, path: &str, body: &Value, kind: &str) -> Result<Bytes, Failure> {
        let answer = self.http.post_stream(&self.url(path), &self.headers, body.to_string()).await?;
        if !answer.is_success() {
            return Err(self.failed(answer).await);
        }
        let told = answer.header("content-type").unwrap_or_default().to_ascii_lowercase();
        if !told.starts_with(kind) && !told.starts_with("application/octet-stream") {
            let told: String = told.chars().take(60).collect();
            return Err(Failure::Odd(format!("answered with `{told}` where {kind}… was expected")));
        }
        let bytes = answer.bytes(FILES).await?;
        if bytes.is_empty() { Err(Failure::Odd("answered with an empty file".into())) } else { Ok(bytes.into()) }
    }

    async fn read(&self, answer: Streaming, most: usize) -> Result<Value, Failure> {
        if !answer.is_success() {
            return Err(self.failed(answer).await);
        }
        let bytes = answer.bytes(most).await?;
        serde_json::from_slice(&bytes).map_err(|_| Failure::Odd("answered with something that is no JSON".into()))
    }

    async fn failed(&self, answer: Streaming) -> Failure {
        let status = answer.status;
        let body = answer.bytes(ERROR).await.ok();
        let body = body.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or(Value::Null);
        let failure = of_status(status, &body);
        tracing::debug!(provider = self.link.provider, model = self.link.model, status, "a media provider refused");
        failure
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_cannot_be_broken_by_names() {
        let name = "a\"\r\nx: y.png".to_owned();
        let file = Blob { name, media_type: "image/png\r\nx: y".into(), bytes: Bytes::from_static(b"123") };
        let form = Form::new().text("model", "m").optional("size", None).file("image", &file);
        let (kind, body) = form.finish();
        let boundary = kind.strip_prefix("multipart/form-data; boundary=").unwrap().to_owned();
        let text = String::from_utf8(body).unwrap();
        assert_eq!(text.matches(&boundary).count(), 3, "{text}");
        assert!(text.contains("filename=\"ax y.png\"\r\ncontent-type: image/pngx y\r\n\r\n123\r\n"), "{text}");
        assert!(
            text.starts_with(&format!("--{boundary}\r\ncontent-disposition: form-data; name=\"model\"\r\n\r\nm\r\n"))
        );
        assert!(text.ends_with(&format!("--{boundary}--\r\n")) && !text.contains("size"));
    }
}
