//! A message that arrived.

use bytes::Bytes;
use std::{sync::Arc, time::Instant};

/// A message that arrived.
#[derive(Debug, Clone)]
pub struct Incoming {
    /// Topic.
    pub topic: Arc<str>,
    /// Payload.
    pub payload: Bytes,
    /// Whether the broker had retained it, so that it may be old.
    pub retain: bool,
    /// When it arrived.
    pub at: Instant,
}

impl Incoming {
    /// The payload as text; bytes that are none become `U+FFFD`.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.payload).into_owned()
    }
}
