//! The latest message of each topic, as far as they fit.

use crate::{incoming::Incoming, matches};
use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

/// The most topics, and the most bytes.
const TOPICS: usize = 2000;
const BYTES: usize = 2 * 1024 * 1024;

#[derive(Default)]
pub(crate) struct Latest {
    by_topic: HashMap<Arc<str>, (u64, Incoming)>,
    by_age: BTreeMap<u64, Arc<str>>,
    next: u64,
    bytes: usize,
}

impl Latest {
    pub fn put(&mut self, message: Incoming) {
        self.remove(&message.topic.clone());
        // A retained message without a payload removes the value.
        if message.payload.is_empty() && message.retain {
            return;
        }
        self.bytes += size(&message);
        self.next += 1;
        self.by_age.insert(self.next, message.topic.clone());
        self.by_topic.insert(message.topic.clone(), (self.next, message));
        while self.by_topic.len() > TOPICS || self.bytes > BYTES {
            let Some(oldest) = self.by_age.first_key_value().map(|(_, topic)| topic.clone()) else { return };
            self.remove(&oldest);
        }
    }

    pub fn remove(&mut self, topic: &str) {
        if let Some((age, old)) = self.by_topic.remove(topic) {
            self.by_age.remove(&age);
            self.bytes -= size(&old);
        }
    }

    /// The latest messages that a filter covers, newest first.
    pub fn find(&self, filter: &str, most: usize) -> Vec<Incoming> {
        if let Some((_, exact)) = self.by_topic.get(filter) {
            return vec![exact.clone()];
        }
        let newest_first = self.by_age.values().rev().filter(|topic| matches(filter, topic));
        newest_first.take(most).filter_map(|topic| Some(self.by_topic.get(topic)?.1.clone())).collect()
    }

    /// Forgets topics that nobody subscribes to any more: their values would grow old unseen.
    pub fn retain(&mut self, still: impl Fn(&str) -> bool) {
        let gone: Vec<Arc<str>> = self.by_topic.keys().filter(|topic| !still(topic)).cloned().collect();
        gone.iter().for_each(|topic| self.remove(topic));
    }

    pub fn clear(&mut self) {
        *self = Self::default();
    }
}

fn size(message: &Incoming) -> usize {
    message.topic.len() + message.payload.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    fn message(topic: &str, payload: &str, retain: bool) -> Incoming {
        Incoming { topic: topic.into(), payload: payload.to_owned().into(), retain, at: Instant::now() }
    }

    #[test]
    fn the_oldest_topics_go_first() {
        let mut latest = Latest::default();
        for n in 0..TOPICS + 5 {
            latest.put(message(&format!("t/{n}"), "x", false));
            latest.put(message("t/same", &n.to_string(), false));
        }
        assert_eq!(latest.by_topic.len(), TOPICS);
        assert_eq!(latest.by_age.len(), TOPICS);
        assert_eq!(latest.find("t/same", 1)[0].payload, (TOPICS + 4).to_string());
        assert!(latest.find("t/0", 1).is_empty());
        let newest: Vec<_> = latest.find("t/+", 2).iter().map(|m| m.topic.to_string()).collect();
        assert_eq!(newest, ["t/same".to_owned(), format!("t/{}", TOPICS + 4)]);
        latest.put(message("t/same", "", true));
        assert!(latest.find("t/same", 1).is_empty());
        latest.retain(|topic| topic == "t/7");
        assert_eq!((latest.by_topic.len(), latest.bytes), (1, 4));
    }

    #[test]
    fn bytes_are_bounded() {
        let mut latest = Latest::default();
        let big = "y".repeat(BYTES / 4);
        (0..9).for_each(|n| latest.put(message(&n.to_string(), &big, false)));
        assert!(latest.bytes <= BYTES && latest.by_topic.len() == 3);
    }
}
