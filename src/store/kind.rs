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
    /// Present where changes are journaled.
    pub undo: Option<UndoKind>,
}

/// The part of a type that undoing needs.
pub(crate) struct UndoKind {
    pub part: bool,
    pub title: fn(&dyn Any) -> String,
    pub on_list: fn(&dyn Any) -> String,
    /// A copy without the fields that Hob changes by itself.
    pub settled: fn(&dyn Any) -> Result<Erased>,
    pub revive: fn(&mut dyn Any, Option<&dyn Any>),
}

impl UndoKind {
    const fn of<T: Record>() -> Self {
        Self {
            part: T::PART,
            title: |value| value.downcast_ref::<T>().map(T::title).unwrap_or_default(),
            on_list: |value| value.downcast_ref::<T>().map(T::on_list).unwrap_or_default(),
            settled: |value| {
                let mut copy = value.downcast_ref::<T>().ok_or_else(mixed_up)?.clone();
                copy.settle();
                Ok(Box::new(copy))
            },
            revive: |value, now| {
                if let Some(value) = value.downcast_mut::<T>() {
                    value.revive(now.and_then(|now| now.downcast_ref::<T>()));
                }
            },
        }
    }
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
                undo: if T::UNDO { Some(UndoKind::of::<T>()) } else { None },
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
