//! How the house is reached: its names, its addresses, and the certificate behind the encrypted door.

use crate::host_check::is_plain;
use std::{
    net::{IpAddr, SocketAddr},
    sync::{Arc, PoisonError, RwLock},
};

/// How many names are remembered: a hostile network could make us take ever new ones.
const NAMES: usize = 64;

/// An address as it stands in a URL.
pub fn bracketed(ip: IpAddr) -> String {
    if ip.is_ipv6() { format!("[{ip}]") } else { ip.to_string() }
}

/// The encrypted door.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tls {
    /// Where it listens.
    pub port: u16,
    /// SHA-256 of the device's certificate, in hexadecimal pairs with colons between them.
    pub fingerprint: String,
}

#[derive(Debug, Default)]
struct NetworkState {
    listens: Option<SocketAddr>,
    tls: Option<Tls>,
    /// Its name on the network, while it is announced: `kitchen.local`.
    hostname: Option<String>,
    /// Names it answers to, in lower case; those of the configuration come first.
    names: Vec<String>,
    configured: usize,
}

/// How the house is reached; cheap to clone, and kept up to date by the assembly.
#[derive(Debug, Clone, Default)]
pub struct Network(Arc<RwLock<NetworkState>>);

impl Network {
    /// A house that also answers to the names in `hosts`.
    pub fn new(hosts: &[String]) -> Self {
        let names: Vec<String> =
            hosts.iter().map(|h| h.trim().to_lowercase()).filter(|h| !h.is_empty()).take(NAMES / 2).collect();
        let configured = names.len();
        Self(Arc::new(RwLock::new(NetworkState { names, configured, ..NetworkState::default() })))
    }

    /// The doors are open: in clear text at `listens`, and encrypted where there is a `tls`.
    pub fn opened(&self, listens: SocketAddr, tls: Option<Tls>) {
        self.change(|known| (known.listens, known.tls) = (Some(listens), tls));
    }

    /// It is announced under this name from now on; the names before it stay good.
    pub fn announced(&self, hostname: &str) {
        let hostname = hostname.trim_end_matches('.').to_lowercase();
        self.answer_to(&hostname);
        self.answer_to(hostname.trim_end_matches(".local"));
        self.change(|known| known.hostname = Some(hostname));
    }

    /// It answers to this name.
    pub fn answer_to(&self, name: &str) {
        let name = name.to_lowercase();
        self.change(|known| {
            if !known.names.contains(&name) {
                if known.names.len() >= NAMES {
                    known.names.remove(known.configured);
                }
                known.names.push(name);
            }
        });
    }

    /// Where the clear-text door listens.
    pub fn listens(&self) -> Option<SocketAddr> {
        self.read(|known| known.listens)
    }

    /// The encrypted door.
    pub fn tls(&self) -> Option<Tls> {
        self.read(|known| known.tls.clone())
    }

    /// Its name on the network: `kitchen.local`.
    pub fn hostname(&self) -> Option<String> {
        self.read(|known| known.hostname.clone())
    }

    /// Whether a request for this host is meant for us. An address always is.
    pub(crate) fn answers_to(&self, name: &str) -> bool {
        let name = name.trim_end_matches('.');
        is_plain(name) || self.read(|known| known.names.iter().any(|n| n == name))
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
    fn the_house_knows_its_names() {
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
