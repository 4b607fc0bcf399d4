//! The guard: which URLs a tool may ask for, and which addresses their names may turn out to be.

use crate::{
    Error, Result,
    address::{AddressClass, place},
};
use futures::future::BoxFuture;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use std::{
    io,
    net::{IpAddr, SocketAddr},
    sync::Arc,
};
use url::{Host, Url};

/// A host a person allowed: a name or address, with a port or for all ports.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Allowed {
    host: Host,
    port: Option<u16>,
}

/// The hosts inside the house that a person allowed.
#[derive(Debug, Clone, Default)]
pub(crate) struct Allow(Arc<[Allowed]>);

/// Which way a URL may be fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// Its name must turn out to be outside.
    Outside,
    /// A person allowed it: its name may turn out to be inside the house.
    House,
}

impl Allow {
    /// Reads `name`, `name:port`, `ip`, `ip:port`, `[ip6]` and `[ip6]:port`. An unreadable entry allows nothing.
    pub(crate) fn new(entries: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        let read = |entry: &str| {
            let entry = entry.trim();
            // A bare IPv6 address has colons of its own.
            if let Ok(IpAddr::V6(ip)) = entry.parse() {
                return Some(Allowed { host: Host::Ipv6(ip), port: None });
            }
            // Read as a URL is read, so that both come out alike; but the URL would forget a `:80`.
            let url = Url::parse(&format!("http://{entry}")).ok()?;
            let explicit = entry.rsplit_once(':').and_then(|(_, port)| port.parse().ok());
            (url.path() == "/" && url.username().is_empty() && url.query().is_none())
                .then(|| url.host().map(|host| Allowed { host: bare(host), port: explicit }))?
        };
        let all = entries.into_iter().filter_map(|entry| {
            let allowed = read(entry.as_ref());
            if allowed.is_none() {
                tracing::warn!(entry = entry.as_ref(), "not a host or host:port: it allows nothing");
            }
            allowed
        });
        Self(all.collect())
    }

    fn has(&self, host: &Host, port: Option<u16>) -> bool {
        self.0.iter().any(|a| a.host == *host && (a.port.is_none() || a.port == port))
    }
}

/// The host without the dot that may end a name.
fn bare(host: Host<&str>) -> Host {
    match host {
        Host::Domain(name) => Host::Domain(name.trim_end_matches('.').to_ascii_lowercase()),
        Host::Ipv4(ip) => Host::Ipv4(ip),
        // The same machine, however it is written.
        Host::Ipv6(ip) => ip.to_ipv4_mapped().map_or(Host::Ipv6(ip), Host::Ipv4),
    }
}

/// Checks whether a tool may request `url`, before its name is resolved.
///
/// # Errors
/// `BadRequest` for anything but HTTP; `Blocked` for an address in the house that is not allowed.
pub(crate) fn check(url: &Url, allow: &Allow) -> Result<Way> {
    if !matches!(url.scheme(), "http" | "https") {
        return Err(Error::BadRequest(format!("`{}:` is not http or https: only these can be fetched", url.scheme())));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(Error::BadRequest(
            "a URL must not hold a user name or password: send them in an `authorization` header".into(),
        ));
    }
    let Some(host) = url.host().map(bare) else {
        return Err(Error::BadRequest("the URL names no host: write it as https://host/path".into()));
    };
    if allow.has(&host, url.port_or_known_default()) {
        return Ok(Way::House);
    }
    let why = match &host {
        Host::Domain(name) => house_name(name),
        Host::Ipv4(ip) => not_outside((*ip).into()),
        Host::Ipv6(ip) => not_outside((*ip).into()),
    };
    match why {
        None => Ok(Way::Outside),
        Some(why) => Err(Error::Blocked { host: host.to_string(), why }),
    }
}

fn not_outside(ip: IpAddr) -> Option<&'static str> {
    Some(place(ip)).filter(|place| *place != AddressClass::Outside).map(AddressClass::why)
}

/// Names that by their form are local. Other names that resolve into the house are blocked at connect.
fn house_name(name: &str) -> Option<&'static str> {
    const ENDINGS: [&str; 11] = [
        "local",
        "localdomain",
        "internal",
        "intranet",
        "lan",
        "home",
        "home.arpa",
        "corp",
        "private",
        "onion",
        "test",
    ];
    let below = |end: &str| name.strip_suffix(end).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
    if below("localhost") {
        Some(AddressClass::Device.why())
    } else if !name.contains('.') || ENDINGS.iter().any(|end| below(end)) {
        Some("is a name inside the house")
    } else {
        None
    }
}

/// Looking up the addresses of a name; the system's way, or a script in tests.
pub(crate) trait Lookup: Send + Sync + 'static {
    /// All addresses of `name`.
    fn lookup(&self, name: String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>>;
}

/// The system's resolver.
pub(crate) struct System;

impl Lookup for System {
    fn lookup(&self, name: String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        Box::pin(async move { Ok(tokio::net::lookup_host((name, 0)).await?.map(|a| a.ip()).collect()) })
    }
}

/// The resolver a guarded client connects by. It hands out only permitted addresses, and the connection is made
/// to exactly these: there is no second look-up that could answer otherwise (DNS rebinding).
#[derive(Clone)]
pub(crate) struct Resolver {
    pub(crate) way: Way,
    pub(crate) lookup: Arc<dyn Lookup>,
}

impl Resolver {
    fn permits(&self, name: &str, place: AddressClass) -> bool {
        match place {
            AddressClass::Outside => true,
            AddressClass::House => self.way == Way::House,
            // Only `localhost` itself may be this device: an allowed name of the LAN may be answered by anybody there.
            AddressClass::Device => self.way == Way::House && name == "localhost",
            AddressClass::Nowhere => false,
        }
    }

    /// The permitted addresses of a name.
    pub(crate) async fn addresses(&self, name: &str) -> Result<Vec<IpAddr>> {
        let name = name.trim_end_matches('.').to_ascii_lowercase();
        let found = self.lookup.lookup(name.clone()).await;
        let found = found.map_err(|why| Error::Unreachable { host: name.clone(), why: why.to_string() })?;
        let (good, bad): (Vec<_>, Vec<_>) = found.into_iter().partition(|ip| self.permits(&name, place(*ip)));
        if good.is_empty()
            && let Some(first) = bad.first()
        {
            let why = match place(*first) {
                AddressClass::Device => "leads to this device itself",
                AddressClass::House => "leads to an address inside the house",
                _ => "leads to an address no tool has business with",
            };
            return Err(Error::Blocked { host: name, why });
        }
        Ok(good)
    }
}

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        let (this, name) = (self.clone(), name.as_str().to_owned());
        Box::pin(async move {
            let good =
                this.addresses(&name).await.map_err(|why| Box::new(why) as Box<dyn std::error::Error + Send + Sync>)?;
            Ok(Box::new(good.into_iter().map(|ip| SocketAddr::new(ip, 0))) as Addrs)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(url: &str, allow: &[&str]) -> String {
        match Url::parse(url) {
            Err(_) => "unreadable".into(),
            Ok(url) => match check(&url, &Allow::new(allow)) {
                Ok(Way::Outside) => "outside".into(),
                Ok(Way::House) => "house".into(),
                Err(Error::Blocked { .. }) => "blocked".into(),
                Err(Error::BadRequest(_)) => "bad".into(),
                Err(other) => other.to_string(),
            },
        }
    }

    #[test]
    fn urls_are_judged_after_they_are_read() {
        let table = [
            ("http://example.com/", "outside"),
            ("https://example.com:8443/a?b#c", "outside"),
            ("http://8.8.8.8/", "outside"),
            ("http://[2606:4700::1111]/", "outside"),
            ("http://[::ffff:8.8.8.8]/", "outside"),
            ("http://localhost.example.com/", "outside"),
            ("http://notlocal/", "blocked"),
            ("http://mylocal.com/", "outside"),
            ("http://127.0.0.1/", "blocked"),
            ("http://127.1/", "blocked"),
            ("http://127.0.1/", "blocked"),
            ("http://2130706433/", "blocked"),
            ("http://0x7f000001/", "blocked"),
            ("http://0x7f.1/", "blocked"),
            ("http://017700000001/", "blocked"),
            ("http://0177.0.0.1/", "blocked"),
            ("http://127.0.0.1./", "blocked"),
            ("http://127。0。0。1/", "blocked"),
            ("http://①②⑦.0.0.1/", "blocked"),
            ("http://%31%32%37.0.0.1/", "blocked"),
            ("http://0/", "blocked"),
            ("http://0.0.0.0:80/", "blocked"),
            ("http://[::]/", "blocked"),
            ("http://[::1]:80/", "blocked"),
            ("http://[0:0:0:0:0:ffff:7f00:1]/", "blocked"),
            ("http://[::ffff:127.0.0.1]/", "blocked"),
            ("http://[::ffff:a9fe:a9fe]/", "blocked"),
            ("http://[64:ff9b::a9fe:a9fe]/", "blocked"),
            ("http://[fe80::1]/", "blocked"),
            ("http://[fd00:ec2::254]/", "blocked"),
            ("http://169.254.169.254/latest/meta-data/", "blocked"),
            ("http://2852039166/", "blocked"),
            ("http://192.168.1.1/", "blocked"),
            ("http://3232235777/", "blocked"),
            ("http://10.0.0.1/", "blocked"),
            ("http://172.16.5.4/", "blocked"),
            ("http://100.64.0.1/", "blocked"),
            ("http://localhost/", "blocked"),
            ("http://LOCALHOST./", "blocked"),
            ("http://ＬＯＣＡＬＨＯＳＴ/", "blocked"),
            ("http://a.b.localhost/", "blocked"),
            ("http://nas.local/", "blocked"),
            ("http://NAS.LOCAL./", "blocked"),
            ("http://router/", "blocked"),
            ("http://ip6-localhost/", "blocked"),
            ("http://metadata.google.internal/", "blocked"),
            ("http://x.home.arpa/", "blocked"),
            ("http://x.lan/", "blocked"),
            ("http://user@example.com/", "bad"),
            ("http://user:word@example.com/", "bad"),
            ("http://example.com@127.0.0.1/", "bad"),
            ("ftp://example.com/", "bad"),
            ("file:///etc/passwd", "bad"),
            ("gopher://127.0.0.1/", "bad"),
            ("data:text/plain,x", "bad"),
            ("javascript:alert(1)", "bad"),
            ("http://", "unreadable"),
            ("http://1.2.3.4.5/", "unreadable"),
            ("http://256.0.0.1/", "unreadable"),
        ];
        for (url, expected) in table {
            assert_eq!(verdict(url, &[]), expected, "{url}");
        }
    }

    #[test]
    fn a_person_allows_hosts_one_by_one() {
        let table: [(&[&str], &str, &str); 16] = [
            (&["nas.local"], "http://nas.local/", "house"),
            (&["NAS.local."], "http://nas.local:8080/", "house"),
            (&["nas.local"], "http://other.local/", "blocked"),
            (&["nas.local"], "http://nas.local.evil.com/", "outside"),
            (&["nas.local:8080"], "http://nas.local:8080/", "house"),
            (&["nas.local:8080"], "http://nas.local/", "blocked"),
            (&["nas.local:80"], "http://nas.local/", "house"),
            (&["nas.local:80"], "https://nas.local/", "blocked"),
            (&["192.168.1.5"], "http://192.168.1.5:99/", "house"),
            (&["192.168.1.5"], "http://3232235781/", "house"),
            (&["192.168.1.5"], "http://[::ffff:192.168.1.5]/", "house"),
            (&["192.168.1.5"], "http://192.168.1.50/", "blocked"),
            (&["192.168.1.5:80"], "http://192.168.1.5:81/", "blocked"),
            (&["fd00::5"], "http://[fd00::5]/", "house"),
            (&["[fd00::5]:81"], "http://[fd00::5]/", "blocked"),
            (&["", "*", "http://nas.local/", "nas.local/x", "u@nas.local"], "http://nas.local/", "blocked"),
        ];
        for (allow, url, expected) in table {
            assert_eq!(verdict(url, allow), expected, "{allow:?} {url}");
        }
    }

    struct Script(Vec<&'static str>);
    impl Lookup for Script {
        fn lookup(&self, _: String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
            let all = self.0.iter().map(|ip| ip.parse().unwrap()).collect();
            Box::pin(async move { Ok(all) })
        }
    }

    #[tokio::test]
    async fn a_name_leads_only_where_its_way_permits() {
        use Way::*;
        let table: [(Way, &str, &[&str], &str); 11] = [
            (Outside, "a.com", &["8.8.8.8"], "8.8.8.8"),
            (Outside, "a.com", &["10.0.0.1", "8.8.8.8"], "8.8.8.8"),
            (Outside, "a.com", &["10.0.0.1"], "blocked"),
            (Outside, "a.com", &["127.0.0.1", "::1"], "blocked"),
            (Outside, "a.com", &["::ffff:127.0.0.1"], "blocked"),
            (Outside, "a.com", &[], ""),
            (House, "nas.local", &["192.168.1.5"], "192.168.1.5"),
            (House, "nas.local", &["127.0.0.1"], "blocked"),
            (House, "nas.local", &["169.254.169.254"], "blocked"),
            (House, "localhost", &["127.0.0.1"], "127.0.0.1"),
            (House, "nas.example.com", &["203.0.113.1", "8.8.8.8"], "8.8.8.8"),
        ];
        for (way, name, addresses, expected) in table {
            let resolver = Resolver { way, lookup: Arc::new(Script(addresses.to_vec())) };
            let found = match resolver.resolve(name.parse().unwrap()).await {
                Ok(found) => found.map(|a| a.ip().to_string()).collect::<Vec<_>>().join(" "),
                Err(e) => match e.downcast_ref::<Error>() {
                    Some(Error::Blocked { .. }) => "blocked".into(),
                    _ => e.to_string(),
                },
            };
            assert_eq!(found, expected, "{way:?} {name} {addresses:?}");
        }
    }
}
