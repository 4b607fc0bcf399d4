//! The event bus: numbers events, buffers the latest, and delivers them to listeners.

use crate::UserId;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};
use tokio::sync::broadcast;

/// How many events are buffered for listeners that connect late.
const BUFFERED: usize = 1000;
/// More events than one second can bring; multiplied by seconds since 1970 it still fits a JavaScript number.
const PER_SECOND: u64 = 1 << 20;

/// An event.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Event {
    /// Its number: grows by one, and by more at a restart.
    pub seq: u64,
    /// Its topic: `tool:after`, `chat:text`, `pin:changed`.
    pub topic: String,
    /// When.
    #[schemars(with = "String")]
    pub at: Timestamp,
    /// Its data.
    pub data: Value,
    /// The person it is for; `None` is the whole household.
    #[serde(skip)]
    pub to: Option<UserId>,
}

/// The topics of a listener: names, and patterns in which `*` matches anything, such as `tool:*` or `*:changed`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Topics(Vec<String>);

impl Topics {
    /// Parses patterns separated by commas; an empty text means every topic.
    ///
    /// # Errors
    /// `BadArgs` when there are too many, or one is not a topic.
    pub fn parse(text: &str) -> crate::Result<Self> {
        let all: Vec<String> = text.split(',').map(str::trim).filter(|t| !t.is_empty()).map(str::to_owned).collect();
        let fits = |t: &String| t.len() <= 64 && t.bytes().all(|b| b.is_ascii_alphanumeric() || b":*_-.".contains(&b));
        match all.iter().find(|t| !fits(t)) {
            Some(wrong) => {
                let wrong: String = wrong.chars().take(64).collect();
                let text = format!("`{wrong}` is no topic: write it as `tool:after`, `tool:*` or `*:changed`");
                Err(crate::Error::BadArgs(text.into()))
            }
            None if all.len() > 32 => Err(crate::Error::bad_args("name 32 topics at most, or use `*`")),
            None => Ok(Self(all)),
        }
    }

    /// Whether they include this topic.
    pub fn hear(&self, topic: &str) -> bool {
        self.0.is_empty() || self.0.iter().any(|pattern| matches(pattern, topic))
    }
}

/// Whether a text matches a pattern in which `*` matches anything.
fn matches(pattern: &str, text: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(mut text) = text.strip_prefix(first) else { return false };
    let mut parts = rest.split('*').peekable();
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return text.ends_with(part);
        }
        match text.find(part) {
            Some(at) => text = &text[at + part.len()..],
            None => return false,
        }
    }
    true
}

/// The next item of a listener.
#[derive(Debug, Clone)]
pub enum BusEvent {
    /// The next event.
    Event(Arc<Event>),
    /// Events were missed: read the state again and continue from here.
    Resync,
}

struct Shared {
    buffer: Mutex<(u64, VecDeque<Arc<Event>>)>,
    live: broadcast::Sender<Arc<Event>>,
}

/// A handle to the one bus of a process; cheap to clone.
#[derive(Clone)]
pub struct Bus(Arc<Shared>);

impl Default for Bus {
    fn default() -> Self {
        // Numbers start beyond those of any earlier start, so that a listener from before receives a `Resync`.
        let first = Timestamp::now().as_second().max(0) as u64 * PER_SECOND;
        Self(Arc::new(Shared { buffer: Mutex::new((first, VecDeque::new())), live: broadcast::channel(BUFFERED).0 }))
    }
}

impl Bus {
    /// Publishes an event to everybody (`to` = `None`) or to one person's listeners. Never blocks.
    pub fn publish(&self, topic: impl Into<String>, to: Option<UserId>, data: Value) {
        let mut buffer = self.0.buffer.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        buffer.0 += 1;
        let event = Arc::new(Event { seq: buffer.0, topic: topic.into(), at: Timestamp::now(), data, to });
        if buffer.1.len() == BUFFERED {
            buffer.1.pop_front();
        }
        buffer.1.push_back(event.clone());
        // Sent under the lock, so that a listener that catches up misses no event and gets none twice.
        let _ = self.0.live.send(event);
    }

    /// The number of the newest event.
    pub fn newest(&self) -> u64 {
        self.0.buffer.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).0
    }

    /// Listens from now on, or from just after event `after` where that is still buffered.
    pub fn listen(&self, after: Option<u64>) -> Listener {
        self.listen_to(after, Topics::default())
    }

    /// The same for some topics.
    pub fn listen_to(&self, after: Option<u64>, topics: Topics) -> Listener {
        let buffer = self.0.buffer.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let live = self.0.live.subscribe();
        let Some(after) = after else { return Listener { missed: VecDeque::new(), live, topics } };
        let mut missed: VecDeque<BusEvent> =
            buffer.1.iter().filter(|e| e.seq > after).map(|e| BusEvent::Event(e.clone())).collect();
        // Events between `after` and the first buffered one were dropped, or are from before a restart.
        let next = buffer.1.front().map_or(buffer.0 + 1, |first| first.seq);
        if after > buffer.0 || after + 1 < next {
            missed.push_front(BusEvent::Resync);
        }
        Listener { missed, live, topics }
    }
}

/// A subscription to the bus.
pub struct Listener {
    missed: VecDeque<BusEvent>,
    live: broadcast::Receiver<Arc<Event>>,
    topics: Topics,
}

impl Listener {
    /// Waits for the next item. `None` once the bus is gone.
    pub async fn next(&mut self) -> Option<BusEvent> {
        loop {
            match self.any().await? {
                BusEvent::Event(event) if !self.topics.hear(&event.topic) => {}
                heard => return Some(heard),
            }
        }
    }

    async fn any(&mut self) -> Option<BusEvent> {
        if let Some(heard) = self.missed.pop_front() {
            return Some(heard);
        }
        match self.live.recv().await {
            Ok(event) => Some(BusEvent::Event(event)),
            Err(broadcast::error::RecvError::Lagged(_)) => Some(BusEvent::Resync),
            Err(broadcast::error::RecvError::Closed) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn seqs(mut listener: Listener, n: usize) -> Vec<u64> {
        let mut all = vec![];
        for _ in 0..n {
            match listener.next().await {
                Some(BusEvent::Event(e)) => all.push(e.seq % PER_SECOND),
                Some(BusEvent::Resync) => all.push(0),
                None => break,
            }
        }
        all
    }

    /// The number before the first event.
    fn first(bus: &Bus) -> u64 {
        bus.0.buffer.lock().unwrap().0 / PER_SECOND * PER_SECOND
    }

    #[tokio::test]
    async fn a_listener_catches_up_without_gap_or_repeat() {
        let bus = Bus::default();
        for _ in 0..3 {
            bus.publish("t", None, Value::Null);
        }
        let late = bus.listen(Some(first(&bus) + 1));
        bus.publish("t", None, Value::Null);
        assert_eq!(seqs(late, 3).await, [2, 3, 4]);
    }

    #[tokio::test]
    async fn some_topics_are_heard_alone() {
        let rows = [
            ("", "tool:after", true),
            ("tool:*", "tool:after", true),
            ("tool:*", "tools:changed", false),
            ("*:changed", "tools:changed", true),
            ("run:started, chat:*", "run:started", true),
            ("run:started", "run:ended", false),
            ("*", "anything", true),
            ("t*l:*r", "tool:after", true),
            ("t*l:*x", "tool:after", false),
            ("a*a", "a", false),
        ];
        for (topics, topic, heard) in rows {
            assert_eq!(Topics::parse(topics).unwrap().hear(topic), heard, "{topics} {topic}");
        }
        for wrong in ["a b", "tool:(", &"x".repeat(65), &"a,".repeat(33)] {
            assert!(Topics::parse(wrong).is_err(), "{wrong}");
        }
        let bus = Bus::default();
        let some = bus.listen_to(Some(first(&bus)), Topics::parse("b:*").unwrap());
        for topic in ["a:1", "b:1", "a:2", "b:2"] {
            bus.publish(topic, None, Value::Null);
        }
        assert_eq!(seqs(some, 2).await, [2, 4]);
    }

    #[tokio::test]
    async fn late_listeners_receive_resync() {
        let bus = Bus::default();
        let slow = bus.listen(None);
        for _ in 0..2 * BUFFERED {
            bus.publish("t", None, Value::Null);
        }
        assert_eq!(seqs(slow, 1).await, [0]);
        assert_eq!(seqs(bus.listen(Some(first(&bus) + 2)), 2).await, [0, 1001]);
        let restarted = [u64::MAX, 0, 2];
        for after in restarted {
            assert_eq!(seqs(bus.listen(Some(after)), 1).await, [0], "{after}");
        }
        assert_eq!(seqs(Bus::default().listen(Some(5)), 1).await, [0], "also when nothing happened yet");
    }
}
