//! A client of an MQTT broker.
//!
//! [`Mqtt`] is a handle; [`Mqtt::run`] connects, reconnects with growing pauses, and subscribes again. It announces itself by
//! `BASE/status` (`online`, and `offline` as last will). Everything is bounded: the queue of outgoing messages, the latest
//! messages it remembers, subscriptions, and the size of a message.

mod bus;
mod client;
mod config;
mod incoming;
mod latest;
mod outbox;
mod session;
mod shared;
mod topic;

pub use client::{Mqtt, Subscription};
pub use config::{Config, Tls};
pub use incoming::Incoming;
pub use outbox::{Message, Qos};
pub use shared::{Phase, Status};
pub use topic::{MAX_TOPIC, is_filter, is_topic, matches, topic_word};

/// The largest payload that is sent or handed over, in bytes.
pub const MAX_PAYLOAD: usize = 64 * 1024;
