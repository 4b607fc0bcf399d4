//! How a browser reaches the network: through the guard, and into the house only where the household allowed it and the page itself
//! was opened by name. So a page from the internet cannot use what the household allowed for itself.

use futures::future::BoxFuture;
use http_client::Guarded;
use process_sandbox::{Connection, Gate};
use std::{
    io,
    net::Ipv6Addr,
    sync::{Mutex, MutexGuard, PoisonError},
};
use tool::{Consult, Cx, Error, Result, Risk, prelude::json};

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

/// The gate of one browser.
pub(crate) struct PageGate {
    outside: Guarded,
    web: Guarded,
    /// Whoever opened the browser: what they may reach, it may.
    cx: Cx,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The host and port of the page that was opened last.
    opened: (String, u16),
    refusals: Vec<Refusal>,
}

/// A connection that was not made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub host: String,
    pub port: u16,
    pub why: String,
}

impl PageGate {
    pub fn new(web: Guarded, cx: Cx) -> Self {
        Self { outside: web.allowing::<&str>([]), web, cx, state: Mutex::default() }
    }

    /// A page is opened by name; what was refused before is forgotten.
    pub fn open(&self, host: &str, port: u16) {
        *self.state() = State { opened: (plain(host), port), refusals: vec![] };
    }

    /// What was refused since the last look.
    pub fn take_refusals(&self) -> Vec<Refusal> {
        std::mem::take(&mut self.state().refusals)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a connection is to the server of the page that was opened, or to where such a server sends browsers on for
    /// encryption.
    fn is_opened(&self, host: &str, port: u16) -> bool {
        let state = self.state();
        state.opened.0 == plain(host) && (state.opened.1 == port || (state.opened.1, port) == (80, 443))
    }

    async fn reach(&self, host: &str, port: u16) -> Result<Box<dyn Connection>> {
        if is_own_call(host) && !self.is_opened(host, port) {
            return Err(Error::denied("the browser asks this host for nothing that a page needs"));
        }
        may_reach(&self.cx, host).await?;
        let refused = match self.outside.connect(host, port).await {
            Ok(stream) => return Ok(Box::new(stream)),
            Err(error @ (http_client::Error::Blocked { .. } | http_client::Error::BadRequest(_))) => error,
            Err(error) => return Err(error.into()),
        };
        if self.is_opened(host, port) {
            return Ok(Box::new(self.web.connect(host, port).await?));
        }
        let url = match host.parse::<Ipv6Addr>() {
            Ok(_) => format!("https://[{host}]:{port}/"),
            Err(_) => format!("https://{host}:{port}/"),
        };
        // The household allowed it, and the page in the browser is another one's.
        if self.web.check(&url).is_ok() && self.outside.check(&url).is_err() {
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
}
