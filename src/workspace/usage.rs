//! How much each place holds, and its quota.

use crate::{Shared, places::PlaceRef, tree};
use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};
use tool::{Error, Result};

/// How long a count is believed: programs and people change folders too.
const BELIEVED: Duration = Duration::from_secs(600);
/// The most counts that are remembered.
const REMEMBERED: usize = 1000;

/// Counted bytes by place.
#[derive(Default)]
pub(crate) struct Usage {
    counts: Mutex<HashMap<String, (u64, Instant)>>,
    /// New content that has no name yet; it is not in the counts.
    staged: Mutex<HashMap<String, u64>>,
}

impl Usage {
    fn counts(&self) -> std::sync::MutexGuard<'_, HashMap<String, (u64, Instant)>> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds bytes to what is staged for a place, if all of that fits into its room.
    pub fn stage(&self, key: &str, bytes: u64, room: Option<u64>) -> bool {
        let mut staged = self.staged.lock().unwrap_or_else(PoisonError::into_inner);
        let all = staged.get(key).copied().unwrap_or(0).saturating_add(bytes);
        if room.is_some_and(|room| all > room) {
            return false;
        }
        staged.insert(key.to_owned(), all);
        true
    }

    pub fn unstage(&self, key: &str, bytes: u64) {
        let mut staged = self.staged.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(all) = staged.get_mut(key) {
            *all = all.saturating_sub(bytes);
            if *all == 0 {
                staged.remove(key);
            }
        }
    }

    /// The bytes that are staged for a place.
    pub fn staged(&self, key: &str) -> u64 {
        self.staged.lock().unwrap_or_else(PoisonError::into_inner).get(key).copied().unwrap_or(0)
    }

    /// The bytes of a place, if they were counted.
    pub fn known(&self, key: &str) -> Option<u64> {
        self.counts().get(key).map(|(bytes, _)| *bytes)
    }

    /// Adds to a count, or takes off it.
    pub fn add(&self, key: &str, bytes: i64) {
        if let Some((count, _)) = self.counts().get_mut(key) {
            *count = count.saturating_add_signed(bytes);
        }
    }

    /// It is counted again.
    pub fn forget(&self, key: &str) {
        self.counts().remove(key);
    }
}

impl Shared {
    /// The bytes in a place with its trash; counts them where that was not done for a while. Blocks on the disk.
    pub(crate) fn used(&self, place: &PlaceRef) -> Result<u64> {
        if let Some((bytes, at)) = self.usage.counts().get(&place.key)
            && at.elapsed() < BELIEVED
        {
            return Ok(*bytes);
        }
        let bytes = tree::size(self.root(place)?.fd, c".").map(|(bytes, _)| bytes).unwrap_or(0);
        self.counted(place, bytes)
    }

    /// Stores the bytes of a place that were counted just now; returns them with those of its trash.
    pub(crate) fn counted(&self, place: &PlaceRef, bytes: u64) -> Result<u64> {
        let held = self.held_folder_if(place, false)?;
        let held = held.map_or(0, |fd| tree::size(fd, c".").map(|(bytes, _)| bytes).unwrap_or(0));
        let bytes = bytes + held.saturating_sub(self.usage.staged(&place.key));
        let mut counts = self.usage.counts();
        if counts.len() >= REMEMBERED {
            counts.clear();
        }
        counts.insert(place.key.clone(), (bytes, Instant::now()));
        Ok(bytes)
    }

    /// How many more bytes fit into a place; none where nothing bounds it. Blocks on the disk.
    pub(crate) fn room(&self, place: &PlaceRef) -> Result<Option<u64>> {
        if !place.is_counted() || self.config.quota_mb == 0 {
            return Ok(None);
        }
        Ok(Some((self.config.quota_mb << 20).saturating_sub(self.used(place)?)))
    }

    pub(crate) fn full(&self, place: &PlaceRef) -> Error {
        Error::unavailable(format!(
            "`{}` is full: its quota is {} MB with what is in the trash; delete something, and empty the trash",
            place.id, self.config.quota_mb
        ))
    }
}
