//! The announced data, and the thread that announces it.

use mdns_sd::ServiceDaemon;
use std::{
    net::IpAddr,
    sync::{Mutex, PoisonError},
};

/// The announced data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Announced {
    /// The device's name.
    pub name: String,
    /// The device's id: it identifies answers of the same Hob.
    pub id: String,
    /// The version of the program.
    pub version: String,
    /// The port of the page and the API.
    pub port: u16,
    /// The encrypted door, where there is one.
    pub tls: Option<Tls>,
    /// The port at which it hears sentences by voice, where it does.
    pub voice: Option<u16>,
    /// Whether it is claimed.
    pub claimed: bool,
    /// The address it listens at: only reachable addresses are announced.
    pub listens: IpAddr,
}

/// The encrypted door.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tls {
    /// Its port.
    pub port: u16,
    /// SHA-256 of its certificate, in hexadecimal, with or without colons.
    pub fingerprint: String,
}

/// The running mDNS daemon, if any, and the lock of whoever browses with it.
#[derive(Default)]
pub(crate) struct SharedDaemon {
    daemon: Mutex<Option<ServiceDaemon>>,
    pub(crate) turn: tokio::sync::Mutex<()>,
}

impl SharedDaemon {
    pub(crate) fn set(&self, daemon: Option<ServiceDaemon>) {
        *self.daemon.lock().unwrap_or_else(PoisonError::into_inner) = daemon;
    }
    pub(crate) fn get(&self) -> Option<ServiceDaemon> {
        self.daemon.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
