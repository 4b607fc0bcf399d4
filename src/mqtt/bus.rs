//! Messages on the event bus: only those that somebody wants, at a bounded rate. In a flood the topics take turns, each with its
//! newest messages, so that a meter that reports a thousand times a second drowns no button.

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
/// Topics that wait, how many of the newest messages of each, and the most bytes of all.
const WAITING: usize = 1000;
const EACH: usize = 4;
const BYTES: usize = 2 << 20;
/// The longest payload in an event, in bytes.
const PAYLOAD: usize = 4096;

pub(crate) struct BusFeed {
    bus: Bus,
    tokens: f64,
    filled: Instant,
    order: VecDeque<Arc<str>>,
    waiting: HashMap<Arc<str>, VecDeque<Incoming>>,
    bytes: usize,
    /// How many messages were replaced by newer ones before they were published, or found no place.
    pub skipped: u64,
}

impl BusFeed {
    pub fn new(bus: Bus) -> Self {
        Self {
            bus,
            tokens: BURST,
            filled: Instant::now(),
            order: VecDeque::new(),
            waiting: HashMap::new(),
            bytes: 0,
            skipped: 0,
        }
    }

    /// Takes a message that one of the wanted filters covers.
    pub fn take(&mut self, wanted: &[String], message: &Incoming) {
        if !wanted.iter().any(|filter| matches(filter, &message.topic)) {
            return;
        }
        let mut message = message.clone();
        if message.payload.len() > PAYLOAD {
            // Not a view, which would hold all of it.
            message.payload = bytes::Bytes::copy_from_slice(&message.payload[..PAYLOAD]);
        }
        let is_full = self.bytes + message.payload.len() > BYTES;
        if let Some(older) = self.waiting.get_mut(&message.topic) {
            if (older.len() >= EACH || is_full)
                && let Some(oldest) = older.pop_front()
            {
                self.bytes -= oldest.payload.len();
                self.skipped += 1;
            }
            self.bytes += message.payload.len();
            older.push_back(message);
        } else if self.waiting.len() >= WAITING || is_full {
            self.skipped += 1;
        } else {
            self.bytes += message.payload.len();
            self.order.push_back(message.topic.clone());
            self.waiting.insert(message.topic.clone(), VecDeque::from([message]));
        }
        self.flush(Instant::now());
    }

    /// Publishes what the rate allows, one message of each topic in turn.
    pub fn flush(&mut self, now: Instant) {
        let seconds = now.saturating_duration_since(self.filled).as_secs_f64();
        self.tokens = (self.tokens + seconds * PER_SECOND).min(BURST);
        self.filled = now;
        while self.tokens >= 1.0 {
            let Some(topic) = self.order.pop_front() else { return };
            let Some(messages) = self.waiting.get_mut(&topic) else { continue };
            let message = messages.pop_front();
            match messages.is_empty() {
                true => drop(self.waiting.remove(&topic)),
                false => self.order.push_back(topic),
            }
            let Some(message) = message else { continue };
            self.bytes -= message.payload.len();
            self.tokens -= 1.0;
            let payload = String::from_utf8_lossy(&message.payload);
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

    #[tokio::test]
    async fn a_noisy_topic_drowns_no_button() {
        let bus = Bus::default();
        let (mut listener, mut feed) = (bus.listen(None), BusFeed::new(bus));
        let wanted = ["meter/#".to_owned(), "button".to_owned()];
        for n in 0..5000 {
            feed.take(&wanted, &message(&format!("meter/{}", n % 20), n.to_string()));
            // A press, and that it is over, as zigbee2mqtt reports it.
            if n == 2500 {
                feed.take(&wanted, &message("button", "single".into()));
                feed.take(&wanted, &message("button", String::new()));
            }
        }
        let mut pressed = vec![];
        for second in 1..20 {
            feed.flush(Instant::now() + Duration::from_secs(second));
            while let Ok(data) =
                tokio::task::unconstrained(tokio::time::timeout(Duration::ZERO, take(&mut listener))).await
            {
                pressed.extend((data["topic"] == "button").then(|| data["payload"].clone()));
            }
        }
        assert_eq!(pressed, ["single", ""]);
        assert_eq!((feed.bytes, feed.has_waiting()), (0, false));
    }

    #[test]
    fn what_waits_is_bounded_in_bytes() {
        let mut feed = BusFeed::new(Bus::default());
        for n in 0..20_000 {
            feed.take(&["#".to_owned()], &message(&format!("t/{}", n % 2000), "x".repeat(60_000)));
        }
        assert!(feed.bytes <= BYTES, "{}", feed.bytes);
        assert_eq!(feed.bytes, feed.waiting.values().flatten().map(|one| one.payload.len()).sum::<usize>());
    }
}
