//! Record types as values: what the store does with records is compiled once and not once for each type.

use crate::{
    Error, Result,
    checksum::SUMMED,
    entry::Entry,
    record::{Key, Level, Record, decode_padded},
};
use std::any::Any;

/// A record whose type only its [`Kind`] knows.
pub(crate) type Erased = Box<dyn Any + Send + Sync>;

/// A record, and the bytes after it.
type Decoded = (Erased, Vec<u8>);

/// A type of records.
pub(crate) struct Kind {
    pub name: &'static str,
    pub word: &'static str,
    pub version: u8,
    pub level: Level,
    pub by_members: bool,
    pub keys: fn(&dyn Any) -> Vec<Key>,
    /// The version of the searched text; 0 when there is no index of words.
    pub words_version: u8,
    pub words: fn(&dyn Any) -> String,
    /// Appends the bytes of a record.
    pub encode: fn(&dyn Any, Vec<u8>) -> Result<Vec<u8>>,
    /// Reads a record, and what a newer Hob wrote behind it.
    pub decode: fn(&[u8]) -> Option<Decoded>,
}

impl Kind {
    pub fn of<T: Record>() -> &'static Self {
        const {
            assert!(T::VERSION & SUMMED == 0, "the highest bit of the version is taken");
            &Self {
                name: T::NAME,
                word: T::WORD,
                version: T::VERSION,
                level: T::LEVEL,
                by_members: T::BY_MEMBERS,
                keys: |value| value.downcast_ref::<T>().map(T::keys).unwrap_or_default(),
                words_version: T::WORDS,
                words: |value| value.downcast_ref::<T>().map(T::words).unwrap_or_default(),
                encode: |value, bytes| {
                    let value = value.downcast_ref::<T>().ok_or_else(mixed_up)?;
                    postcard::to_extend(value, bytes)
                        .map_err(|e| Error::Io(format!("a {} could not be written: {e}", T::WORD)))
                },
                decode: |bytes| {
                    let (value, tail) = decode_padded::<T>(bytes)?;
                    Some((Box::new(value), tail))
                },
            }
        }
    }
}

/// Never happens: a kind is only used with its own records.
pub(crate) fn mixed_up() -> Error {
    Error::Io("a record is of another type than its collection".into())
}

impl Entry<Erased> {
    /// The record with its type.
    pub(crate) fn typed<T: Record>(self) -> Result<Entry<T>> {
        let (value, rest) = self.split();
        Ok(rest.with(*value.downcast::<T>().map_err(|_| mixed_up())?))
    }
}
