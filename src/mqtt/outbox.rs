//! The queue of outgoing messages: bounded, and nobody waits for a place in it.

use bytes::Bytes;
use std::collections::VecDeque;
use tokio::sync::oneshot;
use tool::{Error, Result};

/// The most messages in the queue, and the most bytes of their topics and payloads.
const MESSAGES: usize = 1000;
const BYTES: usize = 4 * 1024 * 1024;

/// How surely a message is delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Qos {
    /// Sent once; may be lost.
    AtMostOnce,
    /// Sent until the broker confirms it.
    #[default]
    AtLeastOnce,
}

/// A message to publish.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Topic.
    pub topic: String,
    /// Payload.
    pub payload: Bytes,
    /// Delivery.
    pub qos: Qos,
    /// Whether the broker gives it to those who subscribe later.
    pub retain: bool,
}

impl Message {
    /// The current value of something: retained, and confirmed by the broker.
    pub fn state(topic: impl Into<String>, payload: impl Into<Bytes>) -> Self {
        Self { topic: topic.into(), payload: payload.into(), qos: Qos::AtLeastOnce, retain: true }
    }
    /// Something that happens once.
    pub fn event(topic: impl Into<String>, payload: impl Into<Bytes>) -> Self {
        Self { topic: topic.into(), payload: payload.into(), qos: Qos::AtLeastOnce, retain: false }
    }
    fn size(&self) -> usize {
        self.topic.len() + self.payload.len()
    }
}

/// A message in the queue, and whoever waits for the broker to confirm it.
#[derive(Debug)]
pub(crate) struct Queued {
    pub message: Message,
    pub confirm: Option<oneshot::Sender<()>>,
}

impl Queued {
    /// Whether nobody waits for it any more: a command that was given up must not act later.
    fn is_given_up(&self) -> bool {
        self.confirm.as_ref().is_some_and(oneshot::Sender::is_closed)
    }
}

#[derive(Debug, Default)]
pub(crate) struct Outbox {
    queue: VecDeque<Queued>,
    bytes: usize,
    /// How many messages were dropped because the queue was full.
    pub dropped: u64,
}

impl Outbox {
    pub fn len(&self) -> usize {
        self.queue.len()
    }

    /// Adds a message. A retained one takes the place of an earlier one of its topic. Where the queue is full, the oldest
    /// message that may be lost is dropped.
    ///
    /// # Errors
    /// `Unavailable` where nothing in the full queue may be lost, and neither may this.
    pub fn push(&mut self, queued: Queued) -> Result<()> {
        let message = &queued.message;
        if message.retain && queued.confirm.is_none() {
            let older = |other: &Queued| {
                other.message.retain && other.confirm.is_none() && other.message.topic == message.topic
            };
            if let Some(at) = self.queue.iter().position(older) {
                self.take(at);
            }
        }
        while !self.queue.is_empty() && (self.queue.len() >= MESSAGES || self.bytes + message.size() > BYTES) {
            let may_be_lost = |other: &Queued| other.message.qos == Qos::AtMostOnce || other.is_given_up();
            match self.queue.iter().position(may_be_lost) {
                Some(at) => drop(self.take(at)),
                None if message.qos == Qos::AtMostOnce => {
                    self.dropped += 1;
                    return Ok(());
                }
                None => {
                    self.dropped += 1;
                    return Err(Error::unavailable(
                        "the MQTT broker takes messages more slowly than they arrive: try again later",
                    ));
                }
            }
            self.dropped += 1;
        }
        self.bytes += message.size();
        self.queue.push_back(queued);
        Ok(())
    }

    /// Puts back a message that the broker did not confirm.
    pub fn put_back(&mut self, queued: Queued) {
        let newer = |other: &Queued| other.message.retain && other.message.topic == queued.message.topic;
        if queued.message.retain && self.queue.iter().any(newer) {
            return;
        }
        self.bytes += queued.message.size();
        self.queue.push_front(queued);
    }

    /// The next message.
    pub fn pop(&mut self) -> Option<Queued> {
        loop {
            let queued = self.take(0)?;
            if !queued.is_given_up() {
                return Some(queued);
            }
        }
    }

    /// Drops everything, because it was meant for another broker.
    pub fn clear(&mut self) {
        self.queue.clear();
        self.bytes = 0;
    }

    fn take(&mut self, at: usize) -> Option<Queued> {
        let queued = self.queue.remove(at)?;
        self.bytes -= queued.message.size();
        Some(queued)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queued(topic: &str, qos: Qos, retain: bool) -> Queued {
        Queued { message: Message { topic: topic.into(), payload: Bytes::from("x"), qos, retain }, confirm: None }
    }
    fn topics(outbox: &mut Outbox) -> Vec<String> {
        std::iter::from_fn(|| outbox.pop()).map(|q| q.message.topic).collect()
    }

    #[test]
    fn a_full_queue_drops_the_oldest_that_may_be_lost() {
        let mut outbox = Outbox::default();
        outbox.push(queued("sure", Qos::AtLeastOnce, false)).unwrap();
        for n in 0..MESSAGES + 9 {
            outbox.push(queued(&n.to_string(), Qos::AtMostOnce, false)).unwrap();
        }
        assert_eq!((outbox.len(), outbox.dropped), (MESSAGES, 10));
        let left = topics(&mut outbox);
        assert_eq!((&*left[0], &*left[1], left.last().unwrap().as_str()), ("sure", "10", "1008"));
        for n in 0..MESSAGES {
            outbox.push(queued(&n.to_string(), Qos::AtLeastOnce, false)).unwrap();
        }
        assert!(matches!(outbox.push(queued("more", Qos::AtLeastOnce, false)), Err(Error::Unavailable(_))));
        outbox.push(queued("lost", Qos::AtMostOnce, false)).unwrap();
        assert_eq!((outbox.len(), outbox.dropped), (MESSAGES, 12));
    }

    #[test]
    fn bytes_are_bounded_and_given_back() {
        let mut outbox = Outbox::default();
        let big = |n: usize| Queued {
            message: Message {
                payload: vec![0; BYTES / 4].into(),
                ..queued(&n.to_string(), Qos::AtMostOnce, false).message
            },
            confirm: None,
        };
        (0..20).for_each(|n| outbox.push(big(n)).unwrap());
        assert_eq!(topics(&mut outbox), ["17", "18", "19"]);
        assert_eq!(outbox.bytes, 0);
    }

    #[test]
    fn only_the_newest_state_is_sent() {
        let mut outbox = Outbox::default();
        for topic in ["a", "b", "a"] {
            outbox.push(queued(topic, Qos::AtLeastOnce, true)).unwrap();
        }
        outbox.put_back(queued("a", Qos::AtLeastOnce, true));
        outbox.put_back(queued("c", Qos::AtLeastOnce, true));
        assert_eq!(topics(&mut outbox), ["c", "b", "a"]);
    }

    #[test]
    fn what_was_given_up_is_not_sent_later() {
        let mut outbox = Outbox::default();
        let (confirm, waits) = oneshot::channel();
        outbox.push(Queued { confirm: Some(confirm), ..queued("a", Qos::AtLeastOnce, false) }).unwrap();
        drop(waits);
        assert!(outbox.pop().is_none());
    }
}
