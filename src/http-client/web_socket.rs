//! WebSocket: messages of a bounded size over a connection of one of this crate's clients.

use crate::{
    Error, Guarded, Result,
    guarded::{headers, parse},
};
use bytes::Bytes;
use futures::{SinkExt, StreamExt};
use reqwest::{RequestBuilder, StatusCode, Upgraded, header};
use std::time::Duration;
use tokio::time::timeout;
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{
        self, Utf8Bytes,
        handshake::{client::generate_key, derive_accept_key},
        protocol::{Role, WebSocketConfig},
    },
};
use url::Url;

/// The most that waits to be sent, in bytes.
const WAITING: usize = 1 << 20;
/// The bytes that are read at once.
const READ: usize = 32 * 1024;
/// How long a closing handshake is waited for.
const CLOSING: Duration = Duration::from_secs(1);

/// The bounds of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SocketLimits {
    /// How long the handshake may take, after the connection came about.
    pub handshake: Duration,
    /// The largest message that is received, in bytes.
    pub message: usize,
}

/// A message that was received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message {
    Text(Utf8Bytes),
    Binary(Bytes),
}

/// A WebSocket after its handshake. Dropping it closes the connection.
pub struct WebSocket {
    stream: WebSocketStream<Upgraded>,
    host: String,
    largest: usize,
}

impl WebSocket {
    /// Sends the request of a handshake and checks the answer. No redirect is followed.
    pub(crate) async fn open(request: RequestBuilder, host: &str, limits: SocketLimits) -> Result<Self> {
        let key = generate_key();
        let request = request
            .header(header::CONNECTION, "Upgrade")
            .header(header::UPGRADE, "websocket")
            .header(header::SEC_WEBSOCKET_VERSION, "13")
            .header(header::SEC_WEBSOCKET_KEY, &key);
        let after = limits.handshake;
        let late = |_| Error::TimedOut { host: host.to_owned(), what: "did not begin to answer", after };
        let send = async |request: RequestBuilder| {
            timeout(after, request.send()).await.map_err(late)?.map_err(|why| Error::of(host, &why))
        };
        let again = request.try_clone();
        let mut answer = send(request).await;
        // A pooled connection of an earlier answer may be closed by now.
        if matches!(answer, Err(Error::Broken { .. }))
            && let Some(again) = again
        {
            answer = send(again).await;
        }
        let answer = answer?;
        let text = |name: header::HeaderName| answer.headers().get(name).and_then(|value| value.to_str().ok());
        if answer.status().is_redirection() {
            return Err(elsewhere(host, text(header::LOCATION).unwrap_or_default()));
        }
        if answer.status() != StatusCode::SWITCHING_PROTOCOLS {
            let (status, date) = (answer.status().as_u16(), text(header::DATE).map(str::to_owned));
            return Err(Error::NotWebSocket { host: host.to_owned(), status, date });
        }
        if text(header::SEC_WEBSOCKET_ACCEPT) != Some(derive_accept_key(key.as_bytes()).as_str()) {
            let why = "its answer belongs to another handshake".to_owned();
            return Err(Error::Broken { host: host.to_owned(), why });
        }
        let upgraded = timeout(after, answer.upgrade()).await.map_err(late)?.map_err(|why| Error::of(host, &why))?;
        let config = WebSocketConfig::default()
            .max_message_size(Some(limits.message))
            .max_frame_size(Some(limits.message))
            .read_buffer_size(READ)
            .write_buffer_size(0)
            .max_write_buffer_size(WAITING);
        let stream = WebSocketStream::from_raw_socket(upgraded, Role::Client, Some(config)).await;
        Ok(Self { stream, host: host.to_owned(), largest: limits.message })
    }

    /// The next message; `None` once the other side has closed. Pings are answered. Dropping the future loses no message.
    ///
    /// # Errors
    /// `TooLarge` for a message beyond the limit, `Broken`. The connection is of no more use then.
    pub async fn receive(&mut self) -> Result<Option<Message>> {
        loop {
            match self.stream.next().await {
                Some(Ok(tungstenite::Message::Text(text))) => return Ok(Some(Message::Text(text))),
                Some(Ok(tungstenite::Message::Binary(bytes))) => return Ok(Some(Message::Binary(bytes))),
                Some(Ok(tungstenite::Message::Close(_))) | None => return Ok(None),
                Some(Ok(_)) => {}
                Some(Err(error)) => return Err(self.error(&error)),
            }
        }
    }

    /// Sends a text.
    ///
    /// # Errors
    /// `Broken`.
    pub async fn send(&mut self, text: String) -> Result<()> {
        self.stream.send(tungstenite::Message::text(text)).await.map_err(|error| self.error(&error))
    }

    /// Takes leave of the other side, which may take a second to answer.
    pub async fn close(mut self) {
        let _ = timeout(CLOSING, self.stream.close(None)).await;
    }

    fn error(&self, error: &tungstenite::Error) -> Error {
        let host = self.host.clone();
        match error {
            tungstenite::Error::Capacity(_) => Error::TooLarge { host, limit: self.largest },
            error => Error::Broken { host, why: error.to_string().chars().take(200).collect() },
        }
    }
}

impl Guarded {
    /// Opens a WebSocket through the guard, which judges the address before anything is sent; over TLS where the URL is `https`.
    ///
    /// # Errors
    /// `BadRequest` for an unusable URL or header; `Blocked` by the guard; `NotWebSocket`, `Redirected`, `TimedOut`,
    /// `Unreachable`, `Broken`.
    pub async fn web_socket(&self, url: &str, with: Vec<(String, String)>, limits: SocketLimits) -> Result<WebSocket> {
        let url = parse(url)?;
        let request = self.client(&url)?.get(url.clone()).headers(headers(with)?);
        WebSocket::open(request, url.host_str().unwrap_or_default(), limits).await
    }
}

/// The error of a server that sends one elsewhere: what a request holds is for the configured host alone.
pub(crate) fn elsewhere(host: &str, location: &str) -> Error {
    let to = Url::parse(location).ok().and_then(|to| to.host_str().map(str::to_owned)).unwrap_or(host.to_owned());
    Error::Redirected(format!(
        "`{host}` sends requests on to `{to}`, and the token is not sent along: put the final address into the settings"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Server, answer};

    const LIMITS: SocketLimits = SocketLimits { handshake: Duration::from_secs(10), message: 1_000 };

    /// A server whose answer to the handshake is right, followed by these bytes.
    async fn server(then: Vec<Vec<u8>>) -> Server {
        Server::start(move |request| {
            let is_key = |line: &&str| line.to_lowercase().starts_with("sec-websocket-key: ");
            let Some(key) = request.lines().find(is_key).and_then(|line| line.split(": ").nth(1)) else {
                return answer("400 Bad Request", "", &request);
            };
            let accept = derive_accept_key(key.as_bytes());
            let head = format!(
                "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-accept: {accept}\r\n\r\n"
            );
            std::iter::once(head.into_bytes()).chain(then.clone()).collect()
        })
        .await
    }

    async fn open(server: &Server, limits: SocketLimits) -> Result<WebSocket> {
        let web = Guarded::new(vec![format!("127.0.0.1:{}", server.port)]);
        web.web_socket(&server.url("/x"), vec![("x-mine".into(), "1".into())], limits).await
    }

    #[tokio::test]
    async fn messages_come_whole_and_in_order() {
        let pieces = [&b"\x81\x02hi"[..], b"\x89\x01p\x02\x01a", b"\x80\x01b\x88\x00"].map(<[u8]>::to_vec).to_vec();
        let mut socket = open(&server(pieces).await, LIMITS).await.unwrap();
        assert_eq!(socket.receive().await.unwrap(), Some(Message::Text("hi".into())));
        assert_eq!(socket.receive().await.unwrap(), Some(Message::Binary("ab".into())));
        assert_eq!(socket.receive().await.unwrap(), None);
        socket.close().await;
    }

    #[tokio::test]
    async fn what_is_too_large_or_no_frame_ends_it() {
        // A frame that says it is huge, and a message whose frames never end.
        let many = std::iter::once(b"\x02\x7d".to_vec()).chain(std::iter::repeat_n(b"\x00\x7d".to_vec(), 20));
        let endless: Vec<u8> = many.flat_map(|head| [head, vec![0; 125]].concat()).collect();
        for bytes in [b"\x82\x7f\x00\x00\x00\xff\x00\x00\x00\x00".to_vec(), endless] {
            let error = open(&server(vec![bytes]).await, LIMITS).await.unwrap().receive().await.unwrap_err();
            assert!(matches!(error, Error::TooLarge { limit: 1_000, .. }), "{error}");
        }
        for bytes in [&b"\x83\x00"[..], b"\xc1\x00", b"\x81\x02\xff\xfe", b"GET / HTTP/1.1\r\n"] {
            let error = open(&server(vec![bytes.to_vec()]).await, LIMITS).await.unwrap().receive().await.unwrap_err();
            assert!(matches!(error, Error::Broken { .. }), "{error}");
        }
    }

    #[tokio::test]
    async fn what_is_no_web_socket_says_what_it_is() {
        let refusing = Server::start(|_| answer("403 Forbidden", "date: Tue, 24 Nov 2026 08:00:00 GMT\r\n", "")).await;
        let error = open(&refusing, LIMITS).await.err().unwrap();
        let date = Some("Tue, 24 Nov 2026 08:00:00 GMT".to_owned());
        assert_eq!(error, Error::NotWebSocket { host: "127.0.0.1".into(), status: 403, date });
        let wrong = Server::start(|_| {
            answer(
                "101 Switching Protocols",
                "upgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-accept: x\r\n",
                "",
            )
        });
        assert!(matches!(open(&wrong.await, LIMITS).await, Err(Error::Broken { .. })));
        let away = Server::start(|_| answer("302 Found", "location: https://elsewhere.example/\r\n", "")).await;
        assert!(matches!(open(&away, LIMITS).await, Err(Error::Redirected(why)) if why.contains("elsewhere.example")));
        let silent = Server::start(|_| vec![]).await;
        let hasty = SocketLimits { handshake: Duration::from_millis(200), ..LIMITS };
        assert!(matches!(open(&silent, hasty).await, Err(Error::TimedOut { .. })));
    }

    #[tokio::test]
    async fn the_guard_judges_before_anything_is_sent() {
        let server = server(vec![]).await;
        for url in [server.url("/x"), server.url("/x").replace("127.0.0.1", "localhost")] {
            let error = Guarded::default().web_socket(&url, vec![], LIMITS).await.err().unwrap();
            assert!(matches!(error, Error::Blocked { .. }), "{error}");
        }
        let allowing = Guarded::new(vec![format!("127.0.0.1:{}", server.port)]);
        for (name, value) in [("host", "x"), ("upgrade", "x"), ("a b", "x"), ("a", "x\r\nb: c")] {
            let with = vec![(name.to_owned(), value.to_owned())];
            let error = allowing.web_socket(&server.url("/x"), with, LIMITS).await.err().unwrap();
            assert!(matches!(error, Error::BadRequest(_)), "{error}");
        }
        let error = allowing.web_socket("ws://127.0.0.1/", vec![], LIMITS).await.err().unwrap();
        assert!(matches!(error, Error::BadRequest(_)), "{error}");
        assert_eq!(server.hits(), 0);
    }
}
