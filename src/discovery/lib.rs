//! How Hob is found on the network, and finds others: multicast DNS.
//!
//! An [`Announcer`] announces this Hob as `NAME.local`, `_http._tcp`, `_hob._tcp` and, with its voice door, `_wyoming._tcp`;
//! [`browse`] looks for other Hobs, Home Assistant, Wyoming services, MQTT brokers, ESPHome devices and printers. Both use one thread of `mdns-sd`, where they meet in one process.

mod announce_task;
mod announced;
mod announcer;
mod browse;
mod error;
mod found;
mod interface;
mod name;
mod neighbours;
mod responder;

pub use announced::{Announced, Tls};
pub use announcer::Announcer;
pub use browse::browse;
pub use error::{Error, Result};
pub use found::{DiscoveredService, Kind};
pub use interface::{IGNORED, Interface, addresses, fit};
pub use neighbours::neighbours;
