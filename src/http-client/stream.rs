//! An answer whose body arrives piece by piece.

use crate::{Error, Result};
use bytes::Bytes;
use futures::stream::{self, Stream};
use reqwest::{RequestBuilder, Response};
use std::time::Duration;
use tokio::time::{Instant, timeout, timeout_at};

/// How long to wait for a model server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// Until the answer begins. A small machine may read a long prompt for minutes.
    pub first_byte: Duration,
    /// Between two pieces of the answer.
    pub idle: Duration,
    /// For all of it.
    pub overall: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self { first_byte: seconds(180), idle: seconds(90), overall: seconds(300) }
    }
}

/// An answer that has begun: the status and headers are here, the body follows.
#[derive(Debug)]
pub struct Streaming {
    /// The HTTP status.
    pub status: u16,
    response: Response,
    host: String,
    clock: Clock,
}

/// How long is waited for what, and since when.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    idle: Option<Duration>,
    overall: Option<(Instant, Duration)>,
}

impl Clock {
    /// No limit at all: for an answer that may be quiet for hours.
    pub(crate) const NONE: Clock = Clock { idle: None, overall: None };

    /// All of it must be done `within` from now on.
    pub(crate) fn within(within: Duration) -> Self {
        Self { idle: None, overall: Some((Instant::now() + within, within)) }
    }

    /// The limits of a patience, from now on.
    pub(crate) fn of(patience: &Patience) -> Self {
        Self { idle: Some(patience.idle), ..Self::within(patience.overall) }
    }

    /// Waits for `future`, at most `first` (else the idle time) and never beyond the end.
    async fn wait<T>(
        &self,
        host: &str,
        first: Option<Duration>,
        what: &'static str,
        future: impl Future<Output = T>,
    ) -> Result<T> {
        let late = |what, after| Error::TimedOut { host: host.to_owned(), what, after };
        let patient = async {
            match first {
                Some(limit) => timeout(limit, future).await.map_err(|_| late(what, limit)),
                None => Ok(future.await),
            }
        };
        match self.overall {
            Some((end, limit)) => timeout_at(end, patient).await.map_err(|_| late("did not finish", limit))?,
            None => patient.await,
        }
    }
}

impl Streaming {
    /// Sends a request and waits for the head of its answer.
    pub(crate) async fn begin(
        request: RequestBuilder,
        host: &str,
        first_byte: Option<Duration>,
        clock: Clock,
    ) -> Result<Self> {
        let sent = clock.wait(host, first_byte, "did not begin to answer", request.send()).await?;
        let response = sent.map_err(|why| Error::of(host, &why))?;
        Ok(Self { status: response.status().as_u16(), response, host: host.to_owned(), clock })
    }

    /// Whether the status is one of success.
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// The words that usually go with the status: "Not Found".
    pub fn status_text(&self) -> &'static str {
        self.response.status().canonical_reason().unwrap_or_default()
    }

    /// The first header of this name, in any case, where it is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.response.headers().get(name)?.to_str().ok()
    }

    /// All headers in order, names in lower case; bytes that are not UTF-8 are replaced.
    pub fn headers(&self) -> Vec<(String, String)> {
        let text = |value: &reqwest::header::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
        self.response.headers().iter().map(|(name, value)| (name.to_string(), text(value))).collect()
    }

    /// The next piece of the body, already decompressed; `None` at its end.
    ///
    /// # Errors
    /// `TimedOut` when nothing comes for too long, `Broken` when the connection ends early.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>> {
        let piece = self.clock.wait(&self.host, self.clock.idle, "sent nothing more", self.response.chunk()).await?;
        piece.map_err(|why| Error::of(&self.host, &why))
    }

    /// The body as a stream of pieces.
    pub fn into_stream(self) -> impl Stream<Item = Result<Bytes>> + Send + 'static {
        stream::try_unfold(self, |mut this| async move { Ok(this.chunk().await?.map(|piece| (piece, this))) })
    }

    /// The whole body, which may have `limit` bytes after decompression.
    ///
    /// # Errors
    /// As [`Streaming::chunk`]; `TooLarge` as soon as the limit is passed, before the rest is read.
    pub async fn bytes(mut self, limit: usize) -> Result<Vec<u8>> {
        let too_large = |host: &str| Error::TooLarge { host: host.to_owned(), limit };
        if self.response.content_length().is_some_and(|length| length > limit as u64) {
            return Err(too_large(&self.host));
        }
        let mut all = Vec::new();
        while let Some(piece) = self.chunk().await? {
            if all.len() + piece.len() > limit {
                return Err(too_large(&self.host));
            }
            all.extend_from_slice(&piece);
        }
        Ok(all)
    }

    /// The whole body as text; bytes that are not UTF-8 are replaced.
    ///
    /// # Errors
    /// As [`Streaming::bytes`].
    pub async fn text(self, limit: usize) -> Result<String> {
        Ok(String::from_utf8_lossy(&self.bytes(limit).await?).into_owned())
    }
}
