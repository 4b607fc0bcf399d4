//! Connections for programs that speak for themselves: the same guard, and bytes in both directions.

use crate::{
    CONNECT, Error, Guarded, Result,
    guard::{Resolver, Way},
};
use std::net::{IpAddr, SocketAddr};
use tokio::{net::TcpStream, time::timeout};
use url::{Host, Url};

/// The ports outside that programs reach: those of web servers.
const PORTS: [u16; 2] = [80, 443];

impl Guarded {
    /// Connects to a host, by name or address, and a port: outside to web servers only, and in the house where a person allowed it.
    ///
    /// # Errors
    /// `BadRequest` for what is no host, or another port; `Blocked` by the guard; `TimedOut`, `Unreachable`.
    pub async fn connect(&self, host: &str, port: u16) -> Result<TcpStream> {
        let bracketed = if host.parse::<std::net::Ipv6Addr>().is_ok() { format!("[{host}]") } else { host.to_owned() };
        let no_host = || Error::BadRequest("this is no name or address of a host".into());
        let url = Url::parse(&format!("https://{bracketed}:{port}/")).map_err(|_| no_host())?;
        if url.path() != "/" || url.query().is_some() || url.fragment().is_some() {
            return Err(no_host());
        }
        let (way, lookup) = self.way(&url)?;
        if way == Way::Outside && !PORTS.contains(&port) {
            return Err(Error::BadRequest(format!(
                "port {port} of `{host}` is no web server's: only 80 and 443 are reached"
            )));
        }
        let addresses = match url.host() {
            Some(Host::Domain(name)) => Resolver { way, lookup }.addresses(name).await?,
            Some(Host::Ipv4(ip)) => vec![IpAddr::V4(ip)],
            Some(Host::Ipv6(ip)) => vec![IpAddr::V6(ip)],
            None => return Err(no_host()),
        };
        let addresses: Vec<SocketAddr> = addresses.into_iter().map(|ip| SocketAddr::new(ip, port)).collect();
        let host = host.to_owned();
        match timeout(CONNECT, TcpStream::connect(&addresses[..])).await {
            Ok(Ok(stream)) => Ok(stream),
            Ok(Err(why)) => Err(Error::Unreachable { host, why: why.to_string() }),
            Err(_) => Err(Error::TimedOut { host, what: "did not answer", after: CONNECT }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Server, answer};

    #[tokio::test]
    async fn programs_reach_what_tools_may_reach() {
        let server = Server::start(|_| answer("200 OK", "", "secret")).await;
        for (host, port) in [
            ("127.0.0.1", server.port),
            ("localhost", 80),
            ("::1", 80),
            ("10.1.2.3", 443),
            ("169.254.169.254", 80),
            ("nas.local", 80),
        ] {
            let error = Guarded::default().connect(host, port).await.unwrap_err();
            assert!(matches!(error, Error::Blocked { .. }), "{host}: {error}");
        }
        for (host, port) in
            [("example.com", 25), ("8.8.8.8", 22), ("a/b", 443), ("a?b", 443), ("user@host", 443), ("", 443)]
        {
            let error = Guarded::default().connect(host, port).await.unwrap_err();
            assert!(matches!(error, Error::BadRequest(_)), "{host}: {error}");
        }
        assert_eq!(server.hits(), 0);
        let allowing = Guarded::new(vec![format!("127.0.0.1:{}", server.port)]);
        assert!(allowing.connect("127.0.0.1", server.port).await.is_ok());
        assert!(matches!(allowing.connect("127.0.0.1", 1).await, Err(Error::Blocked { .. })));
    }
}
