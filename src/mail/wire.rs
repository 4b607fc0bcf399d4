//! A connection to a mail server: lines and counted bytes, encrypted or not. Everything that is read is bounded in size and time.

use crate::{Error, Result, Security, Server};
use http_client::{TlsStream, start_tls};
use std::{net::IpAddr, time::Duration};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpStream, lookup_host},
    time::{Instant, timeout, timeout_at},
};

/// How long a connection may take to come about, with its encryption.
const CONNECT: Duration = Duration::from_secs(15);
/// How long a server may be silent.
const PATIENCE: Duration = Duration::from_secs(30);
/// How much is read at once, in bytes.
const CHUNK: usize = 16 * 1024;

enum Stream {
    Plain(TcpStream),
    Tls(Box<TlsStream>),
}

/// A connection.
pub(crate) struct Wire {
    host: String,
    local: Option<IpAddr>,
    stream: Stream,
    buffer: Vec<u8>,
    /// How much of the buffer was used already.
    used: usize,
    deadline: Instant,
    /// How many more bytes may come.
    left: usize,
}

impl Wire {
    /// Connects, encrypted from the start where the server is set up so.
    pub async fn connect(server: &Server) -> Result<Self> {
        let (host, port) = (server.host.as_str(), server.port);
        let silent = || Error::Unavailable(format!("{host}:{port} did not answer within {} s", CONNECT.as_secs()));
        let connecting = async {
            let found = lookup_host((host, port)).await.map_err(|error| {
                Error::Unavailable(format!("the mail server {host} was not found ({error}): check its name"))
            })?;
            let addresses: Vec<_> = found.collect();
            let stream = TcpStream::connect(&addresses[..]).await.map_err(|error| {
                Error::Unavailable(format!("{host}:{port} cannot be reached ({error}): check the port and the network"))
            })?;
            let _ = stream.set_nodelay(true);
            let peer = stream.peer_addr().map(|address| address.ip()).ok();
            if server.security == Security::None && !peer.is_some_and(is_at_home) {
                return Err(Error::BadArgs(format!(
                    "{host} is not in the home, and a password goes there only encrypted: set `security` to tls or starttls"
                )));
            }
            let local = stream.local_addr().map(|address| address.ip()).ok();
            let stream = match server.security {
                Security::Tls => Stream::Tls(Box::new(start_tls(stream, host, &server.trust).await?)),
                Security::StartTls | Security::None => Stream::Plain(stream),
            };
            Ok(Self {
                host: host.to_owned(),
                local,
                stream,
                buffer: vec![],
                used: 0,
                deadline: Instant::now() + PATIENCE,
                left: CHUNK,
            })
        };
        timeout(CONNECT, connecting).await.map_err(|_| silent())?
    }

    /// Encrypts the connection, after the server agreed to STARTTLS.
    pub async fn secured(self, server: &Server) -> Result<Self> {
        let Stream::Plain(stream) = self.stream else { return Ok(self) };
        if self.used < self.buffer.len() {
            // Somebody on the way may have added answers that would count as those of the encrypted connection.
            return Err(Error::Unavailable(format!(
                "{} sent more before the encryption began: the connection was given up",
                self.host
            )));
        }
        let securing = timeout(CONNECT, start_tls(stream, &self.host, &server.trust));
        let silent = |_| Error::Unavailable(format!("{} did not begin the encryption", server.host));
        let stream = Stream::Tls(Box::new(securing.await.map_err(silent)??));
        Ok(Self { stream, ..self })
    }

    /// The server's name.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// This device's address on the connection.
    pub fn local(&self) -> Option<IpAddr> {
        self.local
    }

    /// How long the next exchange may take, and how many bytes may come in it.
    pub fn allow(&mut self, time: Duration, bytes: usize) {
        self.deadline = Instant::now() + time;
        self.left = bytes;
    }

    /// The next line, without its end.
    pub async fn line(&mut self, most: usize) -> Result<Vec<u8>> {
        let mut searched = 0;
        loop {
            let unread = &self.buffer[self.used..];
            if let Some(end) = memchr::memchr(b'\n', &unread[searched..]).map(|at| searched + at) {
                let line = unread[..end].strip_suffix(b"\r").unwrap_or(&unread[..end]).to_vec();
                self.used += end + 1;
                return Ok(line);
            }
            searched = unread.len();
            if searched > most {
                return Err(Error::Unavailable(format!("{} sent a line of more than {most} bytes", self.host)));
            }
            self.fill().await?;
        }
    }

    /// The next `count` bytes. Memory grows with what comes, and not with what was announced.
    pub async fn bytes(&mut self, count: usize) -> Result<Vec<u8>> {
        if count > self.left.saturating_add(self.buffer.len() - self.used) {
            return Err(self.too_much());
        }
        let mut bytes = Vec::with_capacity(count.min(CHUNK));
        while bytes.len() < count {
            if self.used == self.buffer.len() {
                self.fill().await?;
            }
            let unread = &self.buffer[self.used..];
            let some = unread.len().min(count - bytes.len());
            bytes.extend_from_slice(&unread[..some]);
            self.used += some;
        }
        Ok(bytes)
    }

    /// Counts memory that what came takes beyond its bytes.
    pub fn charge(&mut self, bytes: usize) -> Result<()> {
        self.left = self.left.checked_sub(bytes).ok_or_else(|| self.too_much())?;
        Ok(())
    }

    /// Waits until something comes; `false` where nothing does in this time.
    pub async fn is_coming(&mut self, time: Duration) -> Result<bool> {
        if self.used < self.buffer.len() {
            return Ok(true);
        }
        self.deadline = Instant::now() + time + PATIENCE;
        match timeout(time, self.read()).await {
            Err(_) => Ok(false),
            Ok(read) => read.map(|()| true),
        }
    }

    /// Sends bytes.
    pub async fn send(&mut self, bytes: &[u8]) -> Result<()> {
        let sending = async {
            match &mut self.stream {
                Stream::Plain(stream) => stream.write_all(bytes).await,
                Stream::Tls(stream) => match stream.write_all(bytes).await {
                    Ok(()) => stream.flush().await,
                    failed => failed,
                },
            }
        };
        match timeout_at(self.deadline, sending).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(Error::Unavailable(format!("the connection to {} broke ({error})", self.host))),
            Err(_) => Err(self.silent()),
        }
    }

    /// Reads more within what is allowed.
    async fn fill(&mut self) -> Result<()> {
        let until = self.deadline.min(Instant::now() + PATIENCE);
        match timeout_at(until, self.read()).await {
            Ok(read) => read,
            Err(_) => Err(self.silent()),
        }
    }

    async fn read(&mut self) -> Result<()> {
        if self.left == 0 {
            return Err(self.too_much());
        }
        if self.used > 0 {
            self.buffer.drain(..self.used);
            self.used = 0;
        }
        let mut chunk = [0; CHUNK];
        let most = CHUNK.min(self.left);
        let read = match &mut self.stream {
            Stream::Plain(stream) => stream.read(&mut chunk[..most]).await,
            Stream::Tls(stream) => stream.read(&mut chunk[..most]).await,
        };
        match read {
            Ok(0) => Err(Error::Unavailable(format!("{} closed the connection", self.host))),
            Ok(count) => {
                self.left -= count;
                self.buffer.extend_from_slice(&chunk[..count]);
                Ok(())
            }
            Err(error) => Err(Error::Unavailable(format!("the connection to {} broke ({error})", self.host))),
        }
    }

    fn silent(&self) -> Error {
        Error::Unavailable(format!("{} did not answer in time: it may be busy or down; try again later", self.host))
    }

    fn too_much(&self) -> Error {
        Error::Unavailable(format!("{} sent more than was asked for: the connection was given up", self.host))
    }
}

/// Whether an address is on this device or in its home.
fn is_at_home(ip: IpAddr) -> bool {
    match ip.to_canonical() {
        IpAddr::V4(ip) => ip.is_loopback() || ip.is_private() || ip.is_link_local(),
        IpAddr::V6(ip) => ip.is_loopback() || ip.is_unique_local() || ip.is_unicast_link_local(),
    }
}

#[cfg(test)]
mod tests {
    use super::is_at_home;

    #[test]
    fn only_the_home_is_reached_without_encryption() {
        for (ip, expected) in [
            ("127.0.0.1", true),
            ("192.168.1.4", true),
            ("10.1.2.3", true),
            ("fd00::1", true),
            ("::1", true),
            ("::ffff:8.8.8.8", false),
            ("8.8.8.8", false),
            ("2001:db8::1", false),
            ("172.32.0.1", false),
        ] {
            assert_eq!(is_at_home(ip.parse().unwrap()), expected, "{ip}");
        }
    }
}
