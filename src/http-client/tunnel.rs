//! Connections for programs that speak for themselves: the same guard, and bytes in both directions.

use crate::{
    CONNECT, Error, Guarded, Result,
    guard::{Allow, Resolver, Way, check},
    guarded::parse,
};
use std::net::{IpAddr, SocketAddr};
use tokio::{net::TcpStream, time::timeout};
use url::{Host, Url};

/// The ports outside that programs reach: those of web servers.
const PORTS: [u16; 2] = [80, 443];

impl Guarded {
    /// Whether a URL is reached only because a person allowed its host: it leads into the house, by the form of its host or by what
    /// its name turns out to be, or to a port that is no web server's.
    ///
    /// # Errors
    /// `BadRequest` or `Blocked`, as [`Guarded::check`]; `Unreachable` where an allowed name cannot be looked up.
    pub async fn is_inside(&self, url: &str) -> Result<bool> {
        let url = parse(url)?;
        let (way, lookup) = self.way(&url)?;
        let is_web = url.port_or_known_default().is_some_and(|port| PORTS.contains(&port));
        match (way, url.host()) {
            (Way::Outside, _) => Ok(false),
            (Way::House, _) if !is_web || check(&url, &Allow::default()).is_err() => Ok(true),
            (Way::House, Some(Host::Domain(name))) => {
                match (Resolver { way: Way::Outside, lookup }).addresses(name).await {
                    Err(Error::Blocked { .. }) => Ok(true),
                    found => found.map(|_| false),
                }
            }
            (Way::House, _) => Ok(false),
        }
    }

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
    use crate::{
        guard::Lookup,
        testing::{Server, answer},
    };
    use futures::future::BoxFuture;
    use std::{io, sync::Arc};

    /// A name for each kind of answer.
    struct Names;

    impl Lookup for Names {
        fn lookup(&self, name: String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
            let (inside, outside) = (IpAddr::from([192, 168, 7, 7]), IpAddr::from([93, 184, 215, 14]));
            Box::pin(async move {
                match name.as_str() {
                    "inside.example.org" => Ok(vec![inside]),
                    "both.example.org" => Ok(vec![inside, outside]),
                    "outside.example.org" => Ok(vec![outside]),
                    _ => Err(io::ErrorKind::NotFound.into()),
                }
            })
        }
    }

    #[tokio::test]
    async fn what_is_reached_by_permission_alone_is_inside() {
        let allow = [
            "inside.example.org",
            "both.example.org",
            "outside.example.org",
            "gone.example.org",
            "192.168.7.7",
            "nas.local",
        ];
        let web = Guarded::with_lookup(allow.map(str::to_owned).to_vec(), Arc::new(Names));
        for (url, expected) in [
            ("http://inside.example.org/", true),
            ("http://both.example.org/", false),
            ("https://outside.example.org/a", false),
            ("https://outside.example.org:8443/", true),
            ("http://192.168.7.7/", true),
            ("http://[::ffff:192.168.7.7]:81/", true),
            ("http://NAS.local./", true),
            ("http://8.8.8.8/", false),
            ("http://other.example.org/", false),
        ] {
            assert_eq!(web.is_inside(url).await.unwrap(), expected, "{url}");
        }
        assert!(matches!(web.is_inside("http://gone.example.org/").await, Err(Error::Unreachable { .. })));
        assert!(matches!(web.is_inside("http://192.168.7.8/").await, Err(Error::Blocked { .. })));
    }

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
