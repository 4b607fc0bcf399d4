//! An open write transaction.

use crate::{Result, compact::Changes, engine::Table};
use redb::{ReadableTable, WriteTransaction};
use std::{cell::RefCell, collections::HashMap};

type OpenTable<'a> = redb::Table<'a, &'static [u8], &'static [u8]>;

/// An open write transaction, as jobs see it. Tables stay open from their first use to the end of the batch.
pub struct Tx<'a> {
    tx: &'a WriteTransaction,
    open: RefCell<HashMap<String, OpenTable<'a>>>,
    changes: &'a Changes,
}

impl<'a> Tx<'a> {
    pub(crate) fn new(tx: &'a WriteTransaction, changes: &'a Changes) -> Self {
        Self { tx, open: RefCell::default(), changes }
    }

    fn with<T>(&self, table: &str, f: impl FnOnce(&mut OpenTable<'a>) -> Result<T>) -> Result<T> {
        let mut open = self.open.borrow_mut();
        if let Some(table) = open.get_mut(table) {
            return f(table);
        }
        let opened = self.tx.open_table(Table::new(table))?;
        f(open.entry(table.to_owned()).or_insert(opened))
    }

    pub(crate) fn get_raw(&self, table: &str, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.with(table, |table| Ok(table.get(key)?.map(|v| v.value().to_vec())))
    }

    pub(crate) fn put_raw(&self, table: &str, key: &[u8], value: &[u8]) -> Result<()> {
        self.changes.note(table, key);
        self.with(table, |table| Ok(table.insert(key, value).map(drop)?))
    }

    pub(crate) fn remove_raw(&self, table: &str, key: &[u8]) -> Result<bool> {
        self.changes.note(table, key);
        self.with(table, |table| Ok(table.remove(key)?.is_some()))
    }

    /// The keys that begin with `prefix`, in order.
    pub(crate) fn keys_raw(&self, table: &str, prefix: &[u8]) -> Result<Vec<Vec<u8>>> {
        self.with(table, |table| {
            let mut keys = vec![];
            for entry in table.range::<&[u8]>(prefix..)? {
                let (key, _) = entry?;
                if !key.value().starts_with(prefix) {
                    break;
                }
                keys.push(key.value().to_vec());
            }
            Ok(keys)
        })
    }
}
