//! How a browser reaches the network: through the guard, either to the internet or to one host of the house, never to both. Which of
//! its pages makes a connection nobody can tell, so none of them may have what another one must not use.

use futures::future::BoxFuture;
use http_client::Guarded;
use process_sandbox::{Connection, Gate};
use std::{
    io,
    net::Ipv6Addr,
    sync::{Mutex, MutexGuard, PoisonError},
};
use tool::{Consult, Cx, Error, Result, Risk, prelude::json};
use url::Url;

/// The most refusals that are noted.
const REFUSALS: usize = 20;
/// Hosts that Chromium asks by itself, for no page: updates, experiments, safe browsing, hints, messages. The context of its pages
/// has a way to the network, and Chromium itself has none; these are refused besides.
const OWN_CALLS: [&str; 12] = [
    "android.clients.google.com",
    "clients2.google.com",
    "clients4.google.com",
    "clientservices.googleapis.com",
    "content-autofill.googleapis.com",
    "edgedl.me.gvt1.com",
    "mtalk.google.com",
    "optimizationguide-pa.googleapis.com",
    "redirector.gvt1.com",
    "safebrowsing.googleapis.com",
    "safebrowsing.google.com",
    "update.googleapis.com",
];

/// Where a browser is: all that its pages reach.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    /// The internet, and nothing of the house.
    Internet,
    /// This host and port, which the household allowed, and nothing else.
    House(String, u16),
}

impl Place {
    /// Where the page of an address is opened.
    ///
    /// # Errors
    /// Those of the guard.
    pub async fn of(web: &Guarded, url: &Url) -> Result<Self> {
        let (host, port) = (url.host_str().unwrap_or_default(), url.port_or_known_default().unwrap_or_default());
        Ok(if web.is_inside(url.as_str()).await? { Self::House(plain(host), port) } else { Self::Internet })
    }

    /// Whether a page at `other` can be opened in the browser of this place: such a server may send browsers on for encryption.
    pub fn has(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Internet, Self::Internet) => true,
            (Self::House(host, port), Self::House(to, to_port)) => {
                host == to && (port == to_port || (*port, *to_port) == (80, 443))
            }
            _ => false,
        }
    }

    /// Its name for people.
    pub fn name(&self) -> String {
        match self {
            Self::Internet => "the internet".into(),
            Self::House(host, port) => format!("`{host}:{port}`"),
        }
    }
}

/// The gate of one browser.
pub(crate) struct PageGate {
    outside: Guarded,
    web: Guarded,
    /// Whoever opened the browser: what they may reach, it may.
    cx: Cx,
    place: Place,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The host of the page that was opened last.
    opened: String,
    refusals: Vec<Refusal>,
}

/// A connection that was not made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub host: String,
    pub port: u16,
    pub why: String,
}

impl Refusal {
    /// Whether it was the connection for this address.
    pub fn is_of(&self, url: &Url) -> bool {
        plain(url.host_str().unwrap_or_default()) == self.host && url.port_or_known_default() == Some(self.port)
    }
}

impl PageGate {
    pub fn new(web: Guarded, cx: Cx, place: Place) -> Self {
        Self { outside: web.allowing::<&str>([]), web, cx, place, state: Mutex::default() }
    }

    /// Where its browser is.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// A page is opened by name; what was refused before is forgotten.
    pub fn open(&self, host: &str) {
        *self.state() = State { opened: plain(host), refusals: vec![] };
    }

    /// What was refused since the last look.
    pub fn take_refusals(&self) -> Vec<Refusal> {
        std::mem::take(&mut self.state().refusals)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn reach(&self, host: &str, port: u16) -> Result<Box<dyn Connection>> {
        if let Place::House(..) = &self.place {
            if !self.place.has(&Place::House(plain(host), port)) {
                let name = self.place.name();
                let why = format!("only {name} is reached from its pages; open others with browser_navigate");
                return Err(Error::denied(why));
            }
            may_reach(&self.cx, host).await?;
            return Ok(Box::new(self.web.connect(host, port).await?));
        }
        if is_own_call(host) && self.state().opened != plain(host) {
            return Err(Error::denied("the browser asks this host for nothing that a page needs"));
        }
        may_reach(&self.cx, host).await?;
        let refused = match self.outside.connect(host, port).await {
            Ok(stream) => return Ok(Box::new(stream)),
            Err(error @ (http_client::Error::Blocked { .. } | http_client::Error::BadRequest(_))) => error,
            Err(error) => return Err(error.into()),
        };
        let url = match host.parse::<Ipv6Addr>() {
            Ok(_) => format!("https://[{host}]:{port}/"),
            Err(_) => format!("https://{host}:{port}/"),
        };
        // The household allowed it, and this browser is another place's.
        if self.web.is_inside(&url).await.is_ok_and(|is_inside| is_inside) {
            return Err(Error::denied(format!(
                "`{host}` is in the house, and only a page that was opened there by browser_navigate reaches it"
            )));
        }
        Err(refused.into())
    }
}

impl Gate for PageGate {
    fn connect<'a>(&'a self, host: &'a str, port: u16) -> BoxFuture<'a, io::Result<Box<dyn Connection>>> {
        Box::pin(async move {
            tracing::debug!(host, port, "the browser connects");
            self.reach(host, port).await.map_err(|error| {
                let mut state = self.state();
                if state.refusals.len() < REFUSALS && !is_own_call(host) {
                    let why = error.message().to_owned();
                    state.refusals.push(Refusal { host: plain(host), port, why });
                }
                io::Error::other(error.message().to_owned())
            })
        })
    }
}

/// A host as it is compared.
fn plain(host: &str) -> String {
    host.trim_start_matches('[').trim_end_matches(']').trim_end_matches('.').to_ascii_lowercase()
}

fn is_own_call(host: &str) -> bool {
    OWN_CALLS.contains(&plain(host).as_str())
}

/// Asks the rules for this person about a host.
pub(crate) async fn may_reach(cx: &Cx, host: &str) -> Result<()> {
    let consult = Consult {
        tool: "browser_navigate".into(),
        version: 0,
        action: "fetch",
        details: json!({"host": host}),
        risk: Risk::Send,
        ask: false,
        about: String::new(),
        reason: String::new(),
    };
    cx.ports().ask.consult(cx.clone(), consult).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_compared_as_they_are_meant() {
        for (host, expected) in [("NAS.Local.", "nas.local"), ("[::1]", "::1"), ("10.0.0.1", "10.0.0.1")] {
            assert_eq!(plain(host), expected);
        }
        assert!(is_own_call("Update.GoogleAPIs.com.") && !is_own_call("fonts.googleapis.com"));
    }

    #[tokio::test]
    async fn a_browser_is_on_the_internet_or_at_one_host() {
        let web = Guarded::new(vec!["nas".into(), "10.0.0.7:8080".into(), "8.8.8.8".into()]);
        let house = |host: &str, port| Place::House(host.into(), port);
        for (url, expected) in [
            ("http://NAS./a", house("nas", 80)),
            ("https://nas/", house("nas", 443)),
            ("http://10.0.0.7:8080/", house("10.0.0.7", 8080)),
            ("http://8.8.8.8/", Place::Internet),
            ("https://example.org/", Place::Internet),
        ] {
            assert_eq!(Place::of(&web, &Url::parse(url).unwrap()).await.unwrap(), expected, "{url}");
        }
        assert!(Place::of(&web, &Url::parse("http://10.0.0.8/").unwrap()).await.is_err());
        let nas = house("nas", 80);
        assert!(nas.has(&nas) && nas.has(&house("nas", 443)) && Place::Internet.has(&Place::Internet));
        for other in [house("nas", 81), house("other", 80), Place::Internet] {
            assert!(!nas.has(&other) && !other.has(&nas), "{other:?}");
        }
        assert!(!house("nas", 443).has(&nas));
    }
}
