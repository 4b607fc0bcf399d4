//! What was read lately, within bounds of number, size and age.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

/// How long an entry counts.
const AGE: Duration = Duration::from_secs(15 * 60);
/// How many entries there are, and how many bytes all have.
const ENTRIES: usize = 64;
const BYTES: usize = 4 * 1024 * 1024;

/// A cache; the oldest entries make room.
pub(crate) struct Cache<T>(Mutex<VecDeque<Entry<T>>>);

struct Entry<T> {
    key: String,
    since: Instant,
    bytes: usize,
    value: Arc<T>,
}

impl<T> Default for Cache<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T> Cache<T> {
    /// The entry of this key that still counts.
    pub fn get(&self, key: &str) -> Option<Arc<T>> {
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        entries.retain(|entry| entry.since.elapsed() < AGE);
        entries.iter().find(|entry| entry.key == key).map(|entry| entry.value.clone())
    }

    /// Keeps a value of about so many bytes; one that takes more than a quarter of the cache is not kept.
    pub fn put(&self, key: String, bytes: usize, value: Arc<T>) {
        let bytes = bytes + key.len();
        if bytes > BYTES / 4 {
            return;
        }
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        entries.retain(|entry| entry.key != key && entry.since.elapsed() < AGE);
        entries.push_back(Entry { key, since: Instant::now(), bytes, value });
        while entries.len() > ENTRIES || entries.iter().map(|entry| entry.bytes).sum::<usize>() > BYTES {
            entries.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_make_room() {
        let cache = Cache::default();
        for n in 0..100 {
            cache.put(format!("k{n}"), 10, Arc::new(n));
        }
        assert_eq!((cache.get("k35"), cache.get("k36").as_deref()), (None, Some(&36)));
        cache.put("k99".into(), 10, Arc::new(7));
        assert_eq!(cache.get("k99").as_deref(), Some(&7));
        for n in 0..9 {
            cache.put(format!("large{n}"), BYTES / 5, Arc::new(n));
        }
        assert_eq!((cache.get("large3"), cache.get("large8").as_deref()), (None, Some(&8)));
        cache.put("too large".into(), BYTES / 2, Arc::new(0));
        assert_eq!(cache.get("too large"), None);
    }
}
