//! A client of Home Assistant: REST for actions, WebSocket for the live state of its entities.
//!
//! [`HomeAssistant`] keeps one connection for as long as the service is set up: it connects, receives all entities
//! (`subscribe_entities`), applies their changes, and connects again when the connection is lost. A refused token stops it until
//! the settings change. Everything is in memory and bounded: 10,000 entities, and what one of them may say
//! ([`Attributes`]). What changes is published on the bus: `ha:state`, `ha:event`, `ha:connection`.

mod access;
mod attributes;
mod client;
mod connection;
mod entity;
#[cfg(test)]
mod fake;
mod model;
mod opening;
mod registries;
mod rest;
mod session;
mod settings;
mod shared;
#[cfg(test)]
mod tests;
mod wire;

pub use access::{Access, Patterns};
pub use attributes::Attributes;
pub use client::HomeAssistant;
pub use connection::Connection;
pub use entity::{Area, Change, Details, Entity, domain_of};
pub use model::{Facts, ServiceFields};
pub use settings::Settings;
pub use shared::Timing;
