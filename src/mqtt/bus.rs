//! Messages on the event bus: only those that somebody wants, at a bounded rate.

use crate::{incoming::Incoming, matches};
use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
    time::Instant,
};
use tool::Bus;

/// Events a second in the long run, and at once.
const PER_SECOND: f64 = 100.0;
const BURST: f64 = 200.0;
/// Topics that wait; of each only the newest message.
const WAITING: usize = 1000;
/// The longest payload in an event, in bytes.
const PAYLOAD: usize = 4096;

pub(crate) struct BusFeed {
    bus: Bus,
    tokens: f64,
    filled: Instant,
    order: VecDeque<Arc<str>>,
    waiting: HashMap<Arc<str>, Incoming>,
    /// How many messages were replaced by newer ones before they were published, or found no place.
    pub skipped: u64,
}

impl BusFeed {
    pub fn new(bus: Bus) -> Self {
        let now = Instant::now();
        Self { bus, tokens: BURST, filled: now, order: VecDeque::new(), waiting: HashMap::new(), skipped: 0 }
    }

    /// Takes a message that one of the wanted filters covers.
    pub fn take(&mut self, wanted: &[String], message: &Incoming) {
        if !wanted.iter().any(|filter| matches(filter, &message.topic)) {
            return;
        }
        if let Some(older) = self.waiting.get_mut(&message.topic) {
            *older = message.clone();
            self.skipped += 1;
        } else if self.waiting.len() >= WAITING {
            self.skipped += 1;
        } else {
            self.order.push_back(message.topic.clone());
            self.waiting.insert(message.topic.clone(), message.clone());
        }
        self.flush(Instant::now());
    }

    /// Publishes what the rate allows.
    pub fn flush(&mut self, now: Instant) {
        let seconds = now.saturating_duration_since(self.filled).as_secs_f64();
        self.tokens = (self.tokens + seconds * PER_SECOND).min(BURST);
        self.filled = now;
        while self.tokens >= 1.0 {
            let Some(message) = self.order.pop_front().and_then(|topic| self.waiting.remove(&topic)) else { return };
            self.tokens -= 1.0;
            let part = &message.payload[..message.payload.len().min(PAYLOAD)];
            let payload = String::from_utf8_lossy(part);
            let data = serde_json::json!({"topic": *message.topic, "payload": payload, "retained": message.retain});
            self.bus.publish("mqtt:message", None, data);
        }
    }

    pub fn has_waiting(&self) -> bool {
        !self.order.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use tool::{BusEvent, Listener};

    fn message(topic: &str, payload: String) -> Incoming {
        Incoming { topic: topic.into(), payload: payload.into(), retain: false, at: Instant::now() }
    }

    async fn take(listener: &mut Listener) -> serde_json::Value {
        match listener.next().await {
            Some(BusEvent::Event(event)) => event.data.clone(),
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn a_flood_is_thinned_to_the_newest_value() {
        let bus = Bus::default();
        let (mut listener, mut feed) = (bus.listen(None), BusFeed::new(bus));
        let wanted = ["a/#".to_owned()];
        feed.take(&wanted, &message("b", "no".into()));
        for n in 0..5000 {
            feed.take(&wanted, &message("a/x", n.to_string()));
        }
        assert_eq!(take(&mut listener).await, serde_json::json!({"topic": "a/x", "payload": "0", "retained": false}));
        feed.flush(Instant::now() + Duration::from_secs(60));
        let mut last = String::new();
        let mut count = 1;
        while let Ok(data) = tokio::task::unconstrained(tokio::time::timeout(Duration::ZERO, take(&mut listener))).await
        {
            (last, count) = (data["payload"].as_str().unwrap().to_owned(), count + 1);
        }
        assert_eq!(last, "4999");
        assert!(count < 1000, "{count}");
        assert_eq!(feed.skipped + count, 5000);
        assert!(!feed.has_waiting());
    }
}
