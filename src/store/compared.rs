//! Compares records with what is derived from them: indexes, vectors, copies. A page of records at a time, so that it needs little
//! memory however many there are.

use crate::{Collection, Entry, Record, Result, rows};
use std::{
    ops::AddAssign,
    time::{Duration, Instant},
};

/// The number of records that are read at once.
const PAGE: usize = 200;

/// The findings of a comparison.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Compared {
    /// Records and entries that were compared.
    pub compared: u64,
    /// Entries that do not agree with their records, or have none.
    pub wrong: u64,
    /// Entries that are missing and are made in the background: that is no fault.
    pub pending: u64,
    /// Whether the time was over before everything was compared.
    pub cut_short: bool,
}

impl AddAssign for Compared {
    fn add_assign(&mut self, other: Self) {
        self.compared += other.compared;
        self.wrong += other.wrong;
        self.pending += other.pending;
        self.cut_short |= other.cut_short;
    }
}

/// The time that a comparison has.
#[derive(Debug, Clone, Copy)]
pub struct Until(Option<Instant>);

impl Until {
    /// As long as it takes.
    pub const DONE: Self = Self(None);

    /// At most this long from now on; a duration beyond the clock's range is no limit.
    pub fn within(time: Duration) -> Self {
        Self(Instant::now().checked_add(time))
    }

    /// Whether the time is over.
    pub fn is_over(self) -> bool {
        self.0.is_some_and(|until| Instant::now() >= until)
    }
}

impl<T: Record> Collection<T> {
    /// Calls `each` with all records in key order, in every scope, some at a time. Leaves out those that cannot be read. Between two
    /// calls others may write: who finds a disagreement reads again. Returns whether the end was reached in time.
    ///
    /// # Errors
    /// As every read; the error of `each`.
    pub fn each_page(&self, until: Until, each: &mut dyn FnMut(Vec<Entry<T>>) -> Result<()>) -> Result<bool> {
        let mut after: Option<Vec<u8>> = None;
        loop {
            if until.is_over() {
                return Ok(false);
            }
            let read = |tx: &_| rows::page(self.kind(), tx, after.as_deref(), PAGE);
            let (found, last) = self.store.0.engine.read(read)?;
            let page = found.into_iter().map(Entry::typed).collect::<Result<Vec<_>>>()?;
            if !page.is_empty() {
                each(page)?;
            }
            match last {
                Some(last) => after = Some(last),
                None => return Ok(true),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Level, Store};
    use serde::{Deserialize, Serialize};
    use tool::Id;

    #[derive(Clone, Serialize, Deserialize)]
    struct Word(u32);

    impl Record for Word {
        const NAME: &'static str = "words";
        const WORD: &'static str = "word";
        const LEVEL: Level = Level::Household;
    }

    #[tokio::test]
    async fn pages_have_every_record_once_and_end_in_time() {
        let store = Store::in_memory().unwrap();
        let words = store.collection::<Word>();
        let pages = |until| {
            let (mut seen, mut pages) = (vec![], 0);
            let ended = words.each_page(until, &mut |page| {
                pages += 1;
                seen.extend(page.into_iter().map(|entry: Entry<Word>| entry.value.0));
                Ok(())
            });
            seen.sort_unstable();
            (ended.unwrap(), pages, seen)
        };
        assert_eq!(pages(Until::DONE), (true, 0, vec![]));
        for count in [PAGE as u32, 1, PAGE as u32] {
            let (all, stamp) = (words.clone(), crate::Stamp::household("t"));
            let before = pages(Until::DONE).2.len() as u32;
            let put = move |tx: &crate::Tx<'_>| {
                (before..before + count).try_for_each(|n| all.put(tx, Id::new(), &stamp, &Word(n)).map(drop))
            };
            store.write(put).await.unwrap();
            let count = before + count;
            let (ended, read, seen) = pages(Until::DONE);
            assert_eq!((ended, seen), (true, (0..count).collect::<Vec<_>>()));
            assert_eq!(read, count.div_ceil(PAGE as u32));
        }
        assert_eq!(pages(Until::within(Duration::ZERO)), (false, 0, vec![]));
        assert!(!Until::within(Duration::MAX).is_over());
    }
}
