//! What is announced, and the thread that announces it.

use mdns_sd::ServiceDaemon;
use std::{
    net::IpAddr,
    sync::{Mutex, PoisonError},
};

/// What the network is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Announced {
    /// The device's name.
    pub name: String,
    /// The device's id: by it others know that two answers are of one Hob.
    pub id: String,
    /// The version of the program.
    pub version: String,
    /// The port of the page and the API.
    pub port: u16,
    /// The encrypted door, where there is one.
    pub tls: Option<Tls>,
    /// Whether it belongs to somebody.
    pub claimed: bool,
    /// The address it listens at: only what can be reached is told.
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

/// The thread that speaks, while there is one, and whose turn it is to ask with it.
#[derive(Default)]
pub(crate) struct Voice {
    daemon: Mutex<Option<ServiceDaemon>>,
    pub(crate) turn: tokio::sync::Mutex<()>,
}

impl Voice {
    pub(crate) fn set(&self, daemon: Option<ServiceDaemon>) {
        *self.daemon.lock().unwrap_or_else(PoisonError::into_inner) = daemon;
    }
    pub(crate) fn get(&self) -> Option<ServiceDaemon> {
        self.daemon.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
