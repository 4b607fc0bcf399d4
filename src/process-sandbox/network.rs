//! The guarded network of a job: an HTTP proxy on its loopback interface, served by Hob, which makes each connection by a [`Gate`].

use futures::future::BoxFuture;
use std::{
    io,
    net::{Ipv4Addr, TcpListener as StdListener},
    sync::Arc,
    time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, copy_bidirectional},
    net::{TcpListener, TcpStream},
    sync::Semaphore,
    time::timeout,
};

/// Decides about connections, and makes them.
pub trait Gate: Send + Sync + 'static {
    /// Connects to a host by name or address. The text of an error is answered to the program.
    fn connect<'a>(&'a self, host: &'a str, port: u16) -> BoxFuture<'a, io::Result<Box<dyn Connection>>>;
}

/// Bytes in both directions.
pub trait Connection: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Connection for T {}

/// The proxy's port on the loopback inside.
pub const PORT: u16 = 3128;
/// Connections of one job at once; further ones wait.
const CONNECTIONS: usize = 64;
/// The longest request head.
const HEAD: usize = 32 << 10;
const HEAD_TIME: Duration = Duration::from_secs(20);

/// What programs look for in their environment.
pub fn environment() -> Vec<(String, String)> {
    let proxy = format!("http://{}:{PORT}", Ipv4Addr::LOCALHOST);
    let mut all: Vec<(String, String)> =
        ["http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"].map(|name| (name.to_owned(), proxy.clone())).into();
    all.extend(["no_proxy", "NO_PROXY"].map(|name| (name.to_owned(), "localhost,127.0.0.1,::1".to_owned())));
    all.push(("NODE_USE_ENV_PROXY".to_owned(), "1".to_owned()));
    all
}

/// Serves the proxy until it is dropped.
pub async fn serve(listener: StdListener, gate: Arc<dyn Gate>) {
    let Ok(listener) = TcpListener::from_std(listener) else { return };
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    let mut connections = tokio::task::JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        let Ok(place) = places.clone().acquire_owned().await else { return };
        match listener.accept().await {
            Ok((client, _)) => {
                let gate = gate.clone();
                connections.spawn(async move {
                    let _place = place;
                    // A connection that breaks is the program's to notice.
                    let _ = proxy(client, &*gate).await;
                });
            }
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
}

/// Where a request goes, and what is sent on of it.
#[derive(Debug, PartialEq, Eq)]
struct Request {
    host: String,
    port: u16,
    /// For anything but CONNECT: the head without the host in its first line, and for one request only.
    forward: Option<Vec<u8>>,
}

async fn proxy(mut client: TcpStream, gate: &dyn Gate) -> io::Result<()> {
    let (head, rest) = match timeout(HEAD_TIME, read_head(&mut client)).await {
        Ok(Ok(Some(parts))) => parts,
        Ok(Ok(None)) => {
            return answer(&mut client, "431 Request Header Fields Too Large", "the request is too long").await;
        }
        Ok(Err(error)) => return Err(error),
        Err(_) => return Ok(()),
    };
    let Some(request) = parse(&head) else {
        let text = "this proxy takes CONNECT and requests with a whole http:// address";
        return answer(&mut client, "400 Bad Request", text).await;
    };
    let mut server = match gate.connect(&request.host, request.port).await {
        Ok(server) => server,
        Err(error) => return answer(&mut client, "403 Forbidden", &error.to_string()).await,
    };
    match &request.forward {
        Some(head) => server.write_all(head).await?,
        None => client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await?,
    }
    server.write_all(&rest).await?;
    copy_bidirectional(&mut client, &mut server).await.map(drop)
}

/// Reads up to the empty line; the second part is what came after it. `None` if it is too long.
async fn read_head(client: &mut TcpStream) -> io::Result<Option<(Vec<u8>, Vec<u8>)>> {
    let mut head = Vec::new();
    loop {
        if let Some(end) = head.windows(4).position(|four| four == b"\r\n\r\n") {
            let rest = head.split_off(end + 4);
            return Ok(Some((head, rest)));
        }
        if head.len() > HEAD {
            return Ok(None);
        }
        if client.read_buf(&mut head).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
}

async fn answer(client: &mut TcpStream, status: &str, text: &str) -> io::Result<()> {
    let text = format!("{text}\n");
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        text.len()
    );
    client.write_all(head.as_bytes()).await?;
    client.write_all(text.as_bytes()).await?;
    client.shutdown().await
}

fn parse(head: &[u8]) -> Option<Request> {
    let text = std::str::from_utf8(head).ok()?;
    let (first, headers) = text.split_once("\r\n")?;
    let mut words = first.split(' ');
    let (method, target, version) = (words.next()?, words.next()?, words.next()?);
    if words.next().is_some() || !version.starts_with("HTTP/1.") {
        return None;
    }
    if method == "CONNECT" {
        let (host, port) = authority(target, None)?;
        return Some(Request { host, port, forward: None });
    }
    let target = target.strip_prefix("http://")?;
    let end = target.find(['/', '?', '#']).unwrap_or(target.len());
    let (place, path) = target.split_at(end);
    let (host, port) = authority(place, Some(80))?;
    let slash = if path.starts_with('/') { "" } else { "/" };
    let mut forward = format!("{method} {slash}{path} {version}\r\n");
    // Another request on this connection might name another host: one is all.
    for line in headers.split("\r\n").take_while(|line| !line.is_empty()) {
        let name = line.split(':').next().unwrap_or_default().trim().to_ascii_lowercase();
        if !matches!(
            name.as_str(),
            "connection" | "proxy-connection" | "proxy-authorization" | "keep-alive" | "upgrade"
        ) {
            forward.push_str(line);
            forward.push_str("\r\n");
        }
    }
    forward.push_str("Connection: close\r\n\r\n");
    Some(Request { host, port, forward: Some(forward.into_bytes()) })
}

fn authority(text: &str, port: Option<u16>) -> Option<(String, u16)> {
    // A name and password in front of the host are for nobody here.
    let text = text.rsplit_once('@').map_or(text, |(_, host)| host);
    let (host, given) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, "")) => (host, None),
        Some((host, rest)) => (host, Some(rest.strip_prefix(':')?)),
        None => text.split_once(':').map_or((text, None), |(host, port)| (host, Some(port))),
    };
    let port = match given {
        Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            digits.parse().ok().filter(|port| *port > 0)?
        }
        Some(_) => return None,
        None => port?,
    };
    let is_host =
        !host.is_empty() && host.len() <= 253 && host.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'/');
    is_host.then(|| (host.to_owned(), port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_read() {
        let to = |head: &str| parse(head.as_bytes()).map(|request| (request.host, request.port));
        let forward =
            |head: &str| parse(head.as_bytes()).and_then(|r| r.forward).map(|f| String::from_utf8(f).unwrap());
        for (head, expected) in [
            ("CONNECT example.org:443 HTTP/1.1\r\n\r\n", Some(("example.org", 443))),
            ("CONNECT [::1]:443 HTTP/1.1\r\n\r\n", Some(("::1", 443))),
            ("CONNECT example.org HTTP/1.1\r\n\r\n", None),
            ("CONNECT example.org:0 HTTP/1.1\r\n\r\n", None),
            ("CONNECT example.org:+44 HTTP/1.1\r\n\r\n", None),
            ("CONNECT :443 HTTP/1.1\r\n\r\n", None),
            ("GET http://example.org/a HTTP/1.1\r\n\r\n", Some(("example.org", 80))),
            ("GET http://a:b@example.org:81 HTTP/1.1\r\n\r\n", Some(("example.org", 81))),
            ("GET https://example.org/a HTTP/1.1\r\n\r\n", None),
            ("GET /a HTTP/1.1\r\n\r\n", None),
            ("GET http://example.org/a b HTTP/1.1\r\n\r\n", None),
            ("GET http://example.org/ HTTP/2\r\n\r\n", None),
        ] {
            assert_eq!(to(head), expected.map(|(host, port): (&str, u16)| (host.to_owned(), port)), "{head}");
        }
        assert_eq!(
            forward(
                "GET http://h?q HTTP/1.1\r\nHost: h\r\nProxy-Connection: keep-alive\r\nConnection: keep-alive\r\n\r\n"
            ),
            Some("GET /?q HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n".to_owned())
        );
    }
}
