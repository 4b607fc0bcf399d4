//! The log: changes are appended here and synced once, before they are in the data file.
//!
//! A record holds the changes of one batch. It begins on a block of its own, so that a block that was acknowledged is never
//! written again: a card may destroy the sector it is writing. The data file names the generation of the records that it
//! lacks; records of other generations are already in it. Each record has a checksum, and holds that of the one before.
//!
//! A record at the end that is not whole was never acknowledged, and is dropped. One that is followed by a sound one is
//! damage.

use crate::{
    Error, Result,
    medium::Backend,
    overlay::{Batch, Overlay},
};
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

/// Marks the records whose position in the log is on the file: one run of the log between two checkpoints.
pub(crate) type Generation = [u8; 16];

/// Records begin on multiples of this: a page of the system and of most cards.
pub(crate) const BLOCK: usize = 4096;
const MAGIC: &[u8; 8] = b"hob.log1";
const SUM: usize = 16;
/// Magic, generation, number, newest time, length of the changes, checksum of the record before, own checksum.
const HEADER: usize = 8 + 16 + 8 + 8 + 4 + SUM + SUM;
/// The length that stands for a removed row.
const REMOVED: u32 = u32::MAX;

type Sum = [u8; SUM];

/// The log while the store is open.
pub(crate) struct Log {
    disk: Backend,
    size: u64,
    generation: Generation,
    /// The position and the number of the next record, and the checksum of the one before it.
    at: u64,
    number: u64,
    previous: Sum,
    /// The generation of the record in the first block, if there is a sound one.
    first: Generation,
    /// Counts the bytes that go to the disk.
    written: Arc<AtomicU64>,
}

/// The outcome of an append.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Appended {
    Durable,
    /// There is no room for it in this generation; nothing was written.
    NoRoom,
}

/// The content of a log.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LogContent {
    /// Commits that are in the log alone.
    pub commits: u64,
    /// The bytes they take.
    pub bytes: u64,
    /// When the newest of them was made: milliseconds since 1970; 0 when there is none.
    pub newest_ms: u64,
}

impl Log {
    /// A log whose records are all in the data file already, or that has none yet.
    pub fn empty(disk: Backend, written: Arc<AtomicU64>) -> std::io::Result<Self> {
        let size = disk.len()? / BLOCK as u64 * BLOCK as u64;
        let mut log =
            Self { disk, size, generation: [0; 16], at: 0, number: 0, previous: [0; SUM], first: [0; 16], written };
        log.first = log.record_at(0)?.map_or([0; 16], |record| record.generation);
        Ok(log)
    }

    pub fn size(&self) -> u64 {
        self.size
    }

    /// The bytes in use.
    pub fn used(&self) -> u64 {
        self.at
    }

    /// The generation of the record in the first block. It is stored with the next generation, to distinguish an old log from
    /// that of another data file.
    pub fn first(&self) -> Generation {
        self.first
    }

    /// Begins a generation at the start: the data file has all earlier records.
    pub fn begin(&mut self, generation: Generation) {
        (self.generation, self.at, self.number, self.previous) = (generation, 0, 0, [0; SUM]);
    }

    /// Appends the changes of a batch and syncs them. After an error nobody knows whether the disk has them: this generation
    /// must not be continued.
    pub fn append(&mut self, batch: &Batch, newest_ms: u64) -> std::io::Result<Appended> {
        let mut bytes = Vec::with_capacity(BLOCK);
        bytes.extend(MAGIC);
        bytes.extend(self.generation);
        bytes.extend(self.number.to_le_bytes());
        bytes.extend(newest_ms.to_le_bytes());
        bytes.extend([0; 4]);
        bytes.extend(self.previous);
        bytes.extend([0; SUM]);
        let Some(()) = encode(batch, &mut bytes, self.size - self.at) else { return Ok(Appended::NoRoom) };
        let length = (bytes.len() - HEADER) as u32;
        bytes[40..44].copy_from_slice(&length.to_le_bytes());
        let sum = sum_of(&bytes);
        bytes[HEADER - SUM..HEADER].copy_from_slice(&sum);
        bytes.resize(bytes.len().next_multiple_of(BLOCK), 0);
        if bytes.len() as u64 > self.size - self.at {
            return Ok(Appended::NoRoom);
        }
        self.disk.write(self.at, &bytes)?;
        self.disk.sync_data()?;
        self.written.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        if self.at == 0 {
            self.first = self.generation;
        }
        self.at += bytes.len() as u64;
        self.number += 1;
        self.previous = sum;
        Ok(Appended::Durable)
    }

    pub fn sync(&self) -> std::io::Result<()> {
        self.disk.sync_data()
    }

    /// Reads the records of a generation, which the data file lacks, and continues behind them. `before` and `size` are those
    /// of the log when the generation began.
    ///
    /// # Errors
    /// `Damaged` when a record between others is not sound, when the log was cut off, or when it belongs to another data
    /// file.
    pub fn replay(
        disk: Backend,
        generation: Generation,
        (before, size): (Generation, u64),
        written: Arc<AtomicU64>,
    ) -> Result<(Self, Overlay, LogContent)> {
        let io = |e| Error::io("read the log", &e);
        let mut log = Self::empty(disk, written).map_err(io)?;
        // Its size never changes while it is in use.
        if log.size < size {
            return Err(cut_off());
        }
        log.generation = generation;
        let (mut changes, mut content) = (Overlay::default(), LogContent::default());
        while let Some(record) = log.record_at(log.at).map_err(io)? {
            if record.generation != generation {
                // At the start it is older than this generation, or from elsewhere; behind that it was overwritten in part.
                if log.at == 0 && record.generation != before {
                    return Err(foreign());
                }
                break;
            }
            if (record.number, record.previous) != (log.number, log.previous) {
                return Err(damaged(log.at));
            }
            decode(&record.changes, &mut changes).ok_or_else(|| damaged(log.at))?;
            content.newest_ms = record.newest_ms;
            log.at += (HEADER + record.changes.len()).next_multiple_of(BLOCK) as u64;
            log.number += 1;
            log.previous = record.sum;
        }
        // A record is begun only after the one before it was synced.
        let mut behind = log.at + BLOCK as u64;
        while behind < log.size {
            if log.is_begun_at(behind, generation).map_err(io)? && log.record_at(behind).map_err(io)?.is_some() {
                return Err(damaged(log.at));
            }
            behind += BLOCK as u64;
        }
        (content.commits, content.bytes) = (log.number, log.at);
        Ok((log, changes, content))
    }

    /// Whether a block begins like a record of a generation.
    fn is_begun_at(&self, at: u64, generation: Generation) -> std::io::Result<bool> {
        let mut start = [0; 24];
        self.disk.read(at, &mut start)?;
        Ok(start[..8] == *MAGIC && start[8..] == generation)
    }

    /// The record that begins in a block; `None` unless it is whole.
    fn record_at(&self, at: u64) -> std::io::Result<Option<Record>> {
        let mut header = [0; HEADER];
        if at + BLOCK as u64 > self.size {
            return Ok(None);
        }
        self.disk.read(at, &mut header)?;
        let length = u64::from(number(&header[40..44]) as u32);
        if header[..8] != *MAGIC || HEADER as u64 + length > self.size - at {
            return Ok(None);
        }
        let mut bytes = vec![0; HEADER + length as usize];
        self.disk.read(at, &mut bytes)?;
        let sum = sum_of(&bytes);
        if bytes[HEADER - SUM..HEADER] != sum {
            return Ok(None);
        }
        Ok(Some(Record {
            generation: fixed(&bytes[8..24]),
            number: number(&bytes[24..32]),
            newest_ms: number(&bytes[32..40]),
            previous: fixed(&bytes[44..44 + SUM]),
            sum,
            changes: bytes.split_off(HEADER),
        }))
    }
}

struct Record {
    generation: Generation,
    number: u64,
    newest_ms: u64,
    previous: Sum,
    sum: Sum,
    changes: Vec<u8>,
}

fn damaged(at: u64) -> Error {
    Error::Damaged(format!(
        "the log hob.wal is damaged at byte {at}, and later writes in it depend on that place: restore a backup with `hob restore FILE`. Nothing was changed"
    ))
}

fn foreign() -> Error {
    Error::Damaged(
        "the log hob.wal belongs to another state of the data than hob.redb: put the two files back as they were together, or restore a backup with `hob restore FILE`. Nothing was changed"
            .into(),
    )
}

fn cut_off() -> Error {
    Error::Damaged(
        "the log hob.wal was cut off, and the last writes may be in it alone: put it back as it was, or restore a backup with `hob restore FILE` (a copy of hob.redb itself is one, without those writes). Nothing was changed"
            .into(),
    )
}

/// The error when a data file says that its last writes are in a log, and there is none.
pub(crate) fn missing() -> Error {
    Error::Damaged(
        "the log hob.wal is missing, although the last writes may be in it alone: put it back, or restore a backup with `hob restore FILE` (a copy of hob.redb itself is one, without those writes). Nothing was changed"
            .into(),
    )
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |n, byte| n << 8 | u64::from(*byte))
}

fn fixed(bytes: &[u8]) -> [u8; 16] {
    let mut all = [0; 16];
    all.copy_from_slice(bytes);
    all
}

/// The checksum of a record: over everything but itself.
fn sum_of(bytes: &[u8]) -> Sum {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&bytes[..HEADER - SUM]).update(&bytes[HEADER..]);
    let mut sum = [0; SUM];
    sum.copy_from_slice(&hasher.finalize().as_bytes()[..SUM]);
    sum
}

/// Writes tables, each with its rows; `None` when they need more than `room`.
fn encode(batch: &Batch, bytes: &mut Vec<u8>, room: u64) -> Option<()> {
    let part = |bytes: &mut Vec<u8>, part: &[u8]| {
        bytes.extend((part.len() as u32).to_le_bytes());
        bytes.extend(part);
    };
    for (table, rows) in batch {
        part(bytes, table.as_bytes());
        bytes.extend((rows.len() as u32).to_le_bytes());
        for (key, value) in rows {
            // Before it is copied: a batch may be far larger than the log.
            let needed = bytes.len() + key.len() + value.as_ref().map_or(0, |value| value.len()) + 8;
            if needed as u64 > room {
                return None;
            }
            part(bytes, key);
            match value {
                Some(value) => part(bytes, value),
                None => bytes.extend(REMOVED.to_le_bytes()),
            }
        }
    }
    Some(())
}

/// Adds the rows of a record to an overlay; `None` when the bytes make no sense.
fn decode(mut bytes: &[u8], changes: &mut Overlay) -> Option<()> {
    fn length(bytes: &mut &[u8]) -> Option<u32> {
        let (length, rest) = bytes.split_first_chunk::<4>()?;
        *bytes = rest;
        Some(u32::from_le_bytes(*length))
    }
    fn part<'b>(bytes: &mut &'b [u8], length: u32) -> Option<&'b [u8]> {
        let (part, rest) = bytes.split_at_checked(length as usize)?;
        *bytes = rest;
        Some(part)
    }
    while !bytes.is_empty() {
        let name = length(&mut bytes)?;
        let table: Arc<str> = std::str::from_utf8(part(&mut bytes, name)?).ok()?.into();
        for _ in 0..length(&mut bytes)? {
            let key = length(&mut bytes)?;
            let key = part(&mut bytes, key)?.into();
            let value = match length(&mut bytes)? {
                REMOVED => None,
                value => Some(part(&mut bytes, value)?.into()),
            };
            changes.set(&table, key, value);
        }
    }
    Some(())
}
