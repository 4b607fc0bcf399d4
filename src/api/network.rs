//! The names and addresses under which Hob is reached, and its certificate.

use crate::host_check::is_address_or_localhost;
use std::{
    net::{IpAddr, SocketAddr},
    sync::{Arc, PoisonError, RwLock},
};

/// The maximum number of names: a hostile network could announce new ones without end.
const MAX_NAMES: usize = 64;

/// Formats an address for a URL.
pub fn bracketed(ip: IpAddr) -> String {
    if ip.is_ipv6() { format!("[{ip}]") } else { ip.to_string() }
}

/// The TLS listener.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tls {
    /// Its port.
    pub port: u16,
    /// SHA-256 of the device's certificate, in hexadecimal pairs with colons between them.
    pub fingerprint: String,
}

#[derive(Debug, Default)]
struct NetworkState {
    listens: Option<SocketAddr>,
    tls: Option<Tls>,
    /// The listener for voice.
    voice: Option<SocketAddr>,
    /// Its name on the network, while it is announced: `kitchen.local`.
    hostname: Option<String>,
    /// Names it answers to, in lower case; those of the configuration come first.
    names: Vec<String>,
    configured: usize,
}

/// The names and addresses; cheap to clone, and updated by the root.
#[derive(Debug, Clone, Default)]
pub struct Network(Arc<RwLock<NetworkState>>);

impl Network {
    /// Also answers to the names in `hosts`.
    pub fn new(hosts: &[String]) -> Self {
        let names: Vec<String> =
            hosts.iter().map(|h| h.trim().to_lowercase()).filter(|h| !h.is_empty()).take(MAX_NAMES / 2).collect();
        let configured = names.len();
        Self(Arc::new(RwLock::new(NetworkState { names, configured, ..NetworkState::default() })))
    }

    /// Sets the addresses of the listeners.
    pub fn opened(&self, listens: SocketAddr, tls: Option<Tls>) {
        self.change(|known| (known.listens, known.tls) = (Some(listens), tls));
    }

    /// Sets the address of the listener for voice.
    pub fn voice_opened(&self, at: SocketAddr) {
        self.change(|known| known.voice = Some(at));
    }

    /// The address of the listener for voice.
    pub fn voice(&self) -> Option<SocketAddr> {
        self.read(|known| known.voice)
    }

    /// Sets the announced name; earlier ones stay valid.
    pub fn announced(&self, hostname: &str) {
        let hostname = hostname.trim_end_matches('.').to_lowercase();
        self.answer_to(&hostname);
        self.answer_to(hostname.trim_end_matches(".local"));
        self.change(|known| known.hostname = Some(hostname));
    }

    /// Adds a name.
    pub fn answer_to(&self, name: &str) {
        let name = name.to_lowercase();
        self.change(|known| {
            if !known.names.contains(&name) {
                if known.names.len() >= MAX_NAMES {
                    known.names.remove(known.configured);
                }
                known.names.push(name);
            }
        });
    }

    /// The address of the clear-text listener.
    pub fn listens(&self) -> Option<SocketAddr> {
        self.read(|known| known.listens)
    }

    /// The TLS listener.
    pub fn tls(&self) -> Option<Tls> {
        self.read(|known| known.tls.clone())
    }

    /// Its name on the network: `kitchen.local`.
    pub fn hostname(&self) -> Option<String> {
        self.read(|known| known.hostname.clone())
    }

    /// Whether this host is one of our names; an address always is.
    pub(crate) fn answers_to(&self, name: &str) -> bool {
        let name = name.trim_end_matches('.');
        is_address_or_localhost(name) || self.read(|known| known.names.iter().any(|n| n == name))
    }

    fn read<T>(&self, f: impl FnOnce(&NetworkState) -> T) -> T {
        f(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn change(&self, f: impl FnOnce(&mut NetworkState)) {
        f(&mut self.0.write().unwrap_or_else(PoisonError::into_inner));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_names_are_answered() {
        let network = Network::new(&["Hob.Example.org ".into()]);
        network.announced("Kitchen.local.");
        for name in ["127.0.0.1", "[::1]", "localhost", "hob.example.org", "kitchen.local", "kitchen", "kitchen.local."]
        {
            assert!(network.answers_to(name), "{name}");
        }
        for name in ["example.org", "evil.local", "kitchen.evil", "", "xkitchen"] {
            assert!(!network.answers_to(name), "{name}");
        }
    }
}
