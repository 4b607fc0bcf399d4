//! Pages of databases in the store: each is a row of one table, by database and number, with a checksum.
//!
//! All pages that a write puts are on disk together or not at all, as with every write. [`Store::pages`] reads one state.

use crate::{
    Error, Result, Store, Tx, checksum,
    snapshot::{Snapshot, View},
};
use std::ops::Bound;
use tool::Id;

/// The table. Code from before there was one neither counts nor checks a table with this ending.
pub(crate) const TABLE: &str = "sql-databases.pages.index";
/// The most bytes of a page: with its key and its checksum a row just fills a page of the data file.
pub const PAGE_BYTES: usize = 4040;
/// The most rows that a commit removes.
const REMOVED: usize = 500;

fn key(database: Id, page: u32) -> [u8; 20] {
    let mut key = [0; 20];
    key[..16].copy_from_slice(database.as_bytes());
    key[16..].copy_from_slice(&page.to_be_bytes());
    key
}

/// The database and the number in a key.
fn parts(key: &[u8]) -> Option<(Id, u32)> {
    let (database, page) = key.split_first_chunk::<16>()?;
    Some((Id::from_bytes(*database), u32::from_be_bytes(page.try_into().ok()?)))
}

/// The page in a row; `None` when its checksum does not match.
fn content<'r>(key: &[u8], row: &'r [u8]) -> Option<&'r [u8]> {
    let (sum, data) = row.split_first_chunk::<{ checksum::LENGTH }>()?;
    (checksum::of(TABLE, key, &[], &[], data) == *sum).then_some(data)
}

/// Whether a row of the table is intact.
pub(crate) fn is_sound(key: &[u8], row: &[u8]) -> bool {
    parts(key).is_some() && content(key, row).is_some()
}

/// The pages of one database in one state of the store.
pub struct Pages {
    table: Option<View>,
    database: Id,
    count: u32,
}

impl Pages {
    fn new(tx: &Snapshot, database: Id) -> Result<Self> {
        let table = tx.open(TABLE)?;
        let count = table.as_ref().map(|table| count(table, database)).transpose()?.unwrap_or_default();
        Ok(Self { table, database, count })
    }

    /// The number after the last page; 0 where there is none.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// The bytes of a page; `None` where it was never written.
    ///
    /// # Errors
    /// `Damaged` when its checksum does not match; as every read.
    pub fn read(&self, page: u32) -> Result<Option<Vec<u8>>> {
        let key = key(self.database, page);
        let Some(row) = self.table.as_ref().map(|table| table.get(&key)).transpose()?.flatten() else {
            return Ok(None);
        };
        let found = content(&key, &row).map(<[u8]>::to_vec);
        found.map(Some).ok_or_else(|| Error::Damaged(format!("page {page} of a database does not match its checksum")))
    }
}

/// The number after the last page of a database.
fn count(table: &View, database: Id) -> Result<u32> {
    let bounds = (&key(database, 0)[..], &key(database, u32::MAX)[..]);
    let last = table.range((Bound::Included(bounds.0), Bound::Included(bounds.1)))?.next_back().transpose()?;
    Ok(last.and_then(|(key, _)| parts(&key)).map_or(0, |(_, page)| page.saturating_add(1)))
}

impl Tx<'_> {
    /// Stores a page, of [`PAGE_BYTES`] at most.
    ///
    /// # Errors
    /// `Io` when it is longer; as every write.
    pub fn put_page(&self, database: Id, page: u32, data: &[u8]) -> Result<()> {
        if data.len() > PAGE_BYTES {
            return Err(Error::Io(format!("a page of {} bytes is too long to store", data.len())));
        }
        let key = key(database, page);
        let sum = checksum::of(TABLE, &key, &[], &[], data);
        self.put_raw(TABLE, &key, &[&sum[..], data].concat())
    }

    /// Removes the pages of a database from a number on.
    ///
    /// # Errors
    /// As every write.
    pub fn cut_pages(&self, database: Id, from: u32) -> Result<()> {
        for key in self.keys_raw(TABLE, database.as_bytes())? {
            if parts(&key).is_none_or(|(_, page)| page >= from) {
                self.remove_raw(TABLE, &key)?;
            }
        }
        Ok(())
    }
}

impl Store {
    /// The pages of a database as they are now; later writes do not change what it reads. It should not live long: a data file
    /// grows while old states are read.
    ///
    /// # Errors
    /// As every read.
    pub fn pages(&self, database: Id) -> Result<Pages> {
        self.0.engine.read(|tx| Pages::new(tx, database))
    }

    /// The databases that have pages.
    ///
    /// # Errors
    /// As every read.
    pub fn databases_with_pages(&self) -> Result<Vec<Id>> {
        self.0.engine.read(|tx| {
            let (Some(table), mut all) = (tx.open(TABLE)?, vec![]) else { return Ok(vec![]) };
            let mut after: Option<[u8; 20]> = None;
            loop {
                let from = after.as_ref().map_or(Bound::Unbounded, |key| Bound::Excluded(&key[..]));
                let Some((key, _)) = table.range((from, Bound::Unbounded))?.next().transpose()? else { return Ok(all) };
                let Some((database, _)) = parts(&key) else { return Ok(all) };
                all.push(database);
                after = Some(self::key(database, u32::MAX));
            }
        })
    }

    /// Removes all pages of a database that nobody uses any more, some in each commit.
    ///
    /// # Errors
    /// As [`Store::write`].
    pub async fn remove_pages(&self, database: Id) -> Result<()> {
        loop {
            let keys = self.0.engine.read(|tx| {
                let Some(table) = tx.open(TABLE)? else { return Ok(vec![]) };
                let bounds = (&key(database, 0)[..], &key(database, u32::MAX)[..]);
                let rows = table.range((Bound::Included(bounds.0), Bound::Included(bounds.1)))?;
                rows.take(REMOVED).map(|row| Ok(row?.0.to_vec())).collect::<Result<Vec<_>>>()
            })?;
            if keys.is_empty() {
                return Ok(());
            }
            self.write(move |tx| keys.iter().try_for_each(|key| tx.remove_raw(TABLE, key).map(drop))).await?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn pages_are_stored_read_in_one_state_cut_and_removed() {
        let store = Store::in_memory().unwrap();
        let (one, other) = (Id::new(), Id::new());
        assert_eq!((store.pages(one).unwrap().count(), store.databases_with_pages().unwrap()), (0, vec![]));
        let put = |database, pages: std::ops::Range<u32>, byte: u8| {
            let write = store
                .write(move |tx| pages.clone().try_for_each(|page| tx.put_page(database, page, &[byte; PAGE_BYTES])));
            async move { write.await.unwrap() }
        };
        put(one, 0..REMOVED as u32 * 2 + 3, 1).await;
        put(other, 5..6, 2).await;
        let before = store.pages(one).unwrap();
        assert_eq!((before.count(), store.pages(other).unwrap().count()), (1003, 6));
        put(one, 7..8, 9).await;
        store.write(move |tx| tx.cut_pages(one, 9)).await.unwrap();
        let after = store.pages(one).unwrap();
        assert_eq!((before.count(), after.count()), (1003, 9));
        assert_eq!(before.read(7).unwrap().unwrap()[0], 1, "a state does not change");
        assert_eq!(after.read(7).unwrap().unwrap(), [9; PAGE_BYTES]);
        assert_eq!((after.read(9).unwrap(), store.pages(other).unwrap().read(4).unwrap()), (None, None));
        let mut known = vec![one, other];
        known.sort();
        assert_eq!(store.databases_with_pages().unwrap(), known);
        put(one, 9..REMOVED as u32 + 20, 1).await;
        store.remove_pages(one).await.unwrap();
        assert_eq!((store.pages(one).unwrap().count(), store.pages(other).unwrap().count()), (0, 6));
        let long = store.write(move |tx| tx.put_page(one, 0, &[0; PAGE_BYTES + 1])).await;
        assert!(long.unwrap_err().to_string().contains("too long"));
        assert!(store.check().await.unwrap().damaged.is_empty());
        assert!(!store.stats().unwrap().records.contains_key(TABLE));
    }

    #[tokio::test]
    async fn a_flipped_bit_or_a_page_in_the_wrong_place_is_noticed() {
        let store = Store::in_memory().unwrap();
        let id = Id::new();
        let spoil = store.write(move |tx| {
            tx.put_page(id, 0, b"first")?;
            let row = tx.get_raw(TABLE, &key(id, 0))?.unwrap_or_default();
            tx.put_raw(TABLE, &key(id, 1), &row)?;
            let mut flipped = row;
            flipped[10] ^= 1;
            tx.put_raw(TABLE, &key(id, 2), &flipped)
        });
        spoil.await.unwrap();
        let pages = store.pages(id).unwrap();
        assert_eq!(pages.read(0).unwrap().unwrap(), b"first");
        for page in [1, 2] {
            assert!(matches!(pages.read(page), Err(Error::Damaged(_))), "{page}");
        }
        let found = store.check().await.unwrap();
        assert_eq!((found.damages, found.damaged[0].key.clone()), (2, key(id, 1).to_vec()));
        assert!(found.damaged[0].problem.contains("database"), "{:?}", found.damaged[0]);
    }

    #[tokio::test]
    async fn a_row_fills_a_page_of_the_data_file_and_no_more() {
        let dir = std::env::temp_dir().join(format!("hob-pages-{}", Id::new()));
        let (store, id) = (Store::open(&dir).unwrap(), Id::new());
        for from in (0..4000).step_by(400) {
            let write = store.write(move |tx| {
                (from..from + 400).try_for_each(|page| tx.put_page(id, page, &[page as u8; PAGE_BYTES]))
            });
            write.await.unwrap();
        }
        let file = dir.join("copy");
        let size = store.backup(file).await.unwrap();
        assert!(size < 4000 * 4096 * 5 / 4, "{size} bytes for 4000 pages");
        let wanted = [7, 4000].map(|page| (TABLE.to_owned(), key(id, page).to_vec()));
        assert_eq!(crate::backup_has(&dir.join("copy"), &wanted).unwrap(), [true, false]);
        drop(store);
        std::fs::remove_dir_all(dir).unwrap();
    }
}
