//! Answers that are kept for a while: a bounded number, the oldest first out.

use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

/// Answers by what was asked.
pub(crate) struct Cache<V> {
    entries: Mutex<VecDeque<(String, Instant, V)>>,
    most: usize,
    age: Duration,
}

impl<V: Clone> Cache<V> {
    /// At most this many answers, each for this long.
    pub fn new(most: usize, age: Duration) -> Self {
        Self { entries: Mutex::default(), most, age }
    }

    /// The answer to `question`, if it is still fresh.
    pub fn get(&self, question: &str) -> Option<V> {
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let fresh = entries.iter().find(|(asked, at, _)| asked == question && at.elapsed() < self.age);
        fresh.map(|(.., answer)| answer.clone())
    }

    /// Keeps an answer.
    pub fn put(&self, question: String, answer: V) {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries.retain(|(asked, at, _)| *asked != question && at.elapsed() < self.age);
        if entries.len() >= self.most {
            entries.pop_front();
        }
        entries.push_back((question, Instant::now(), answer));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_few_and_fresh() {
        let cache = Cache::new(2, Duration::from_secs(60));
        for (question, answer) in [("a", 1), ("b", 2), ("a", 3), ("c", 4)] {
            cache.put(question.to_owned(), answer);
        }
        assert_eq!([cache.get("a"), cache.get("b"), cache.get("c")], [Some(3), None, Some(4)]);
        let stale = Cache::new(2, Duration::ZERO);
        stale.put("a".to_owned(), 1);
        assert_eq!(stale.get("a"), None);
    }
}
