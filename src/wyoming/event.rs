//! Events, and how they are read and written.

use crate::{Error, Result};
use serde_json::{Map, Value};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};

/// The longest name of an event.
const TYPE: usize = 64;

/// The most bytes of each part of an event. Memory is taken as bytes arrive, not as a length announces.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// The line of JSON.
    pub header: usize,
    /// The data after it.
    pub data: usize,
    /// The binary payload.
    pub payload: usize,
}

impl Limits {
    /// For servers that somebody chose: the list of all voices of a server is long, and so is a second of audio.
    pub const CLIENT: Self = Self { header: 512 << 10, data: 1 << 20, payload: 1 << 20 };
    /// For strangers who send a sentence.
    pub const SERVER: Self = Self { header: 16 << 10, data: 16 << 10, payload: 64 << 10 };
}

/// One message of the protocol.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Event {
    /// Its type, such as `describe`.
    pub kind: String,
    /// Its data.
    pub data: Map<String, Value>,
    /// Its payload, such as audio.
    pub payload: Vec<u8>,
}

impl Event {
    /// An event without a payload; `data` is an object, and anything else counts as none.
    pub fn new(kind: &str, data: Value) -> Self {
        let data = if let Value::Object(data) = data { data } else { Map::new() };
        Self { kind: kind.to_owned(), data, payload: vec![] }
    }

    /// A text of its data.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.data.get(key).and_then(Value::as_str)
    }
}

/// Reads events from a connection.
pub struct EventReader<R> {
    from: BufReader<R>,
    limits: Limits,
}

impl<R: AsyncRead + Unpin> EventReader<R> {
    /// Reads from `from` within limits.
    pub fn new(from: R, limits: Limits) -> Self {
        Self { from: BufReader::new(from), limits }
    }

    /// The next event; `None` when the other side has closed the connection between two events. After an error, or when the
    /// call was dropped, the connection is of no more use.
    ///
    /// # Errors
    /// `Io`, `TooLong` and `Malformed`.
    pub async fn read(&mut self) -> Result<Option<Event>> {
        let limit = self.limits.header;
        let mut line = vec![];
        // One more byte distinguishes a line that is too long from one that ends at the limit.
        (&mut self.from).take(limit as u64 + 1).read_until(b'\n', &mut line).await?;
        if line.is_empty() {
            return Ok(None);
        }
        if line.pop_if(|last| *last == b'\n').is_none() {
            return Err(match line.len() > limit {
                true => Error::TooLong { part: "header", limit },
                false => Error::Malformed("it ends within its header"),
            });
        }
        let Ok(Value::Object(mut header)) = serde_json::from_slice(&line) else {
            return Err(Error::Malformed("its header is no JSON object"));
        };
        let Some(Value::String(kind)) = header.remove("type") else {
            return Err(Error::Malformed("it has no `type`"));
        };
        if kind.len() > TYPE {
            return Err(Error::Malformed("its `type` is too long"));
        }
        let data_length = length(&header, "data_length", "data", self.limits.data)?;
        let payload_length = length(&header, "payload_length", "payload", self.limits.payload)?;
        let mut data = match header.remove("data") {
            None | Some(Value::Null) => Map::new(),
            Some(Value::Object(data)) => data,
            Some(_) => return Err(Error::Malformed("its data are no JSON object")),
        };
        if data_length > 0 {
            // Data after the line override those in it, as in the reference implementation.
            match serde_json::from_slice(&self.exactly(data_length).await?) {
                Ok(Value::Object(more)) => data.extend(more),
                _ => return Err(Error::Malformed("its data are no JSON object")),
            }
        }
        let payload = self.exactly(payload_length).await?;
        Ok(Some(Event { kind, data, payload }))
    }

    async fn exactly(&mut self, length: usize) -> Result<Vec<u8>> {
        let mut bytes = vec![];
        (&mut self.from).take(length as u64).read_to_end(&mut bytes).await?;
        if bytes.len() < length {
            return Err(Error::Malformed("it is shorter than its lengths say"));
        }
        Ok(bytes)
    }
}

fn length(header: &Map<String, Value>, key: &str, part: &'static str, limit: usize) -> Result<usize> {
    match header.get(key) {
        None | Some(Value::Null) => Ok(0),
        Some(value) => {
            let length = value.as_u64().ok_or(Error::Malformed("a length is no whole number"))?;
            usize::try_from(length).ok().filter(|length| *length <= limit).ok_or(Error::TooLong { part, limit })
        }
    }
}

/// Writes an event, its data after the line.
///
/// # Errors
/// `Io`.
pub async fn write(to: &mut (impl AsyncWrite + Unpin), event: &Event) -> Result<()> {
    let data = match event.data.is_empty() {
        true => vec![],
        false => serde_json::to_vec(&event.data).map_err(std::io::Error::other)?,
    };
    let mut header = Map::new();
    header.insert("type".into(), event.kind.clone().into());
    if !data.is_empty() {
        header.insert("data_length".into(), data.len().into());
    }
    if !event.payload.is_empty() {
        header.insert("payload_length".into(), event.payload.len().into());
    }
    let mut bytes = serde_json::to_vec(&header).map_err(std::io::Error::other)?;
    bytes.push(b'\n');
    bytes.extend(data);
    bytes.extend(&event.payload);
    to.write_all(&bytes).await?;
    to.flush().await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const SMALL: Limits = Limits { header: 200, data: 100, payload: 50 };

    async fn all(bytes: &[u8]) -> Result<Vec<Event>> {
        let (mut reader, mut events) = (EventReader::new(bytes, SMALL), vec![]);
        while let Some(event) = reader.read().await? {
            events.push(event);
        }
        Ok(events)
    }

    #[tokio::test]
    async fn data_are_read_in_the_line_and_after_it() {
        let read = all(b"{\"type\":\"describe\"}\n\
            {\"type\":\"transcript\",\"data\":{\"text\":\"a\",\"language\":\"en\"},\"version\":\"1.5.4\"}\n\
            {\"type\":\"transcript\",\"data\":{\"text\":\"a\",\"language\":\"en\"},\"data_length\":12}\n{\"text\":\"b\"}\
            {\"type\":\"audio-chunk\",\"data_length\":null,\"payload_length\":3}\n\x00\n\xff\
            {\"type\":\"audio-stop\",\"data\":null}\n")
        .await
        .unwrap();
        let expected = [
            Event::new("describe", json!({})),
            Event::new("transcript", json!({"text": "a", "language": "en"})),
            Event::new("transcript", json!({"text": "b", "language": "en"})),
            Event { payload: vec![0, b'\n', 255], ..Event::new("audio-chunk", json!({})) },
            Event::new("audio-stop", json!({})),
        ];
        assert_eq!(read, expected);
    }

    #[tokio::test]
    async fn what_is_written_is_read_again() {
        let events = [
            Event::new("describe", json!(null)),
            Event::new("handled", json!({"text": "Grüß Gott, \"Anna\"\n"})),
            Event { payload: vec![10, 0, 123], ..Event::new("audio-chunk", json!({"rate": 16000})) },
        ];
        let mut bytes = vec![];
        for event in &events {
            write(&mut bytes, event).await.unwrap();
        }
        assert_eq!(all(&bytes).await.unwrap(), events);
    }

    #[tokio::test]
    async fn bad_input_is_an_error_and_takes_no_memory() {
        let long = format!("{{\"type\":\"{}\"}}\n", "x".repeat(65));
        let endless = "x".repeat(201);
        let nested = format!("{{\"type\":\"a\",\"data\":{}\n", "[".repeat(150));
        for (bytes, part) in [
            ("\n", "no JSON object"),
            ("\r\n", "no JSON object"),
            ("GET / HTTP/1.1\r\n\r\n", "no JSON object"),
            ("[]\n", "no JSON object"),
            ("{\"type\":1}\n", "no `type`"),
            ("{}\n", "no `type`"),
            (&long, "`type` is too long"),
            (&endless, "header of an event is longer than 200"),
            (&nested, "no JSON object"),
            ("{\"type\":\"a\"", "ends within its header"),
            ("{\"type\":\"a\",\"data\":[1]}\n", "data are no JSON object"),
            ("{\"type\":\"a\",\"data_length\":2}\n[]", "data are no JSON object"),
            ("{\"type\":\"a\",\"data_length\":2}\n{", "shorter than its lengths"),
            ("{\"type\":\"a\",\"data_length\":-1}\n", "no whole number"),
            ("{\"type\":\"a\",\"data_length\":1.5}\n", "no whole number"),
            ("{\"type\":\"a\",\"data_length\":\"9\"}\n", "no whole number"),
            ("{\"type\":\"a\",\"data_length\":101}\n", "data of an event is longer than 100"),
            ("{\"type\":\"a\",\"payload_length\":51}\n", "payload of an event is longer than 50"),
            ("{\"type\":\"a\",\"payload_length\":18446744073709551615}\n", "longer than 50"),
            ("{\"type\":\"a\",\"payload_length\":99999999999999999999999}\n", "no whole number"),
            ("{\"type\":\"a\",\"payload_length\":3}\nab", "shorter than its lengths"),
        ] {
            let error = all(bytes.as_bytes()).await.unwrap_err().to_string();
            assert!(error.contains(part), "{bytes:?}: {error}");
        }
        // A length within the limit reserves nothing: the bytes have to come.
        let limits = Limits { payload: usize::MAX, ..SMALL };
        let mut reader = EventReader::new(&b"{\"type\":\"a\",\"payload_length\":1000000000000}\nabc"[..], limits);
        assert!(matches!(reader.read().await, Err(Error::Malformed(_))));
    }

    #[tokio::test]
    async fn mutilated_events_never_panic() {
        let whole = b"{\"type\":\"transcript\",\"data\":{\"a\":1},\"data_length\":12,\"payload_length\":3}\n{\"text\":\"b\"}abc";
        for at in 0..whole.len() {
            let cut = all(&whole[..at]).await;
            assert!(at == 0 || cut.is_err(), "{at}");
            for byte in [0, b'\n', b'"', b'9', b'{', 0xff] {
                let mut other = whole.to_vec();
                other[at] = byte;
                let _ = all(&other).await;
            }
        }
    }
}
