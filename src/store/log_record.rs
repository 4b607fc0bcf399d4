//! The bytes of the log: its header, and records with the changes of a batch.

use crate::overlay::{Batch, Overlay};
use std::sync::Arc;

/// Marks the records of one use of the log, from the first write after a start to a clean stop.
pub(crate) type Generation = [u8; 16];
/// The checksum of a record.
pub(crate) type Sum = [u8; 16];

/// Records begin on multiples of this: a page of the system and of most cards.
pub(crate) const BLOCK: usize = 4096;
/// Magic, generation, number, newest time, length of the changes, checksum of the record before, own checksum.
pub(crate) const HEADER: usize = 8 + 16 + 8 + 8 + 4 + SUM + SUM;
const MAGIC: &[u8; 8] = b"hob.log1";
/// The magic of the log's own header, which is its first block: magic, generation, checksum.
const LOG_MAGIC: &[u8; 8] = b"hob.logh";
const SUM: usize = 16;
/// The length that stands for a removed row.
const REMOVED: u32 = u32::MAX;

/// A record as it is on the disk.
pub(crate) struct Record {
    pub generation: Generation,
    pub number: u64,
    pub newest_ms: u64,
    pub previous: Sum,
    pub sum: Sum,
    pub changes: Vec<u8>,
}

/// The part of a record that is known before its changes are.
pub(crate) struct RecordStart {
    pub generation: Generation,
    pub number: u64,
    pub newest_ms: u64,
    pub previous: Sum,
}

/// The first block of a log.
pub(crate) fn log_header(generation: Generation) -> Vec<u8> {
    let mut block = [&LOG_MAGIC[..], &generation].concat();
    let sum = blake3::hash(&block);
    block.extend(&sum.as_bytes()[..SUM]);
    block.resize(BLOCK, 0);
    block
}

/// The generation that a log's first block names; `None` unless the block is sound.
pub(crate) fn generation_of(block: &[u8]) -> Option<Generation> {
    let (start, rest) = block.split_at_checked(24)?;
    let sum = blake3::hash(start);
    (start[..8] == *LOG_MAGIC && rest.starts_with(&sum.as_bytes()[..SUM])).then(|| fixed(&start[8..]))
}

impl Record {
    /// The blocks of a record; `None` when it takes more than `room`. Returns its checksum too.
    pub fn bytes(start: &RecordStart, batch: &Batch, room: u64) -> Option<(Vec<u8>, Sum)> {
        let mut bytes = Vec::with_capacity(BLOCK);
        bytes.extend(MAGIC);
        bytes.extend(start.generation);
        bytes.extend(start.number.to_le_bytes());
        bytes.extend(start.newest_ms.to_le_bytes());
        bytes.extend([0; 4]);
        bytes.extend(start.previous);
        bytes.extend([0; SUM]);
        encode(batch, &mut bytes, room)?;
        let length = (bytes.len() - HEADER) as u32;
        bytes[40..44].copy_from_slice(&length.to_le_bytes());
        let sum = sum_of(&bytes);
        bytes[HEADER - SUM..HEADER].copy_from_slice(&sum);
        bytes.resize(bytes.len().next_multiple_of(BLOCK), 0);
        (bytes.len() as u64 <= room).then_some((bytes, sum))
    }

    /// The length of a record with this start of a block, without what fills its last block; `None` when none begins there.
    pub fn length(start: &[u8; HEADER]) -> Option<u64> {
        (start[..8] == *MAGIC).then(|| HEADER as u64 + number(&start[40..44]))
    }

    /// Whether a block begins like a record of this generation with this number or a later one.
    pub fn is_begun(start: &[u8; HEADER], generation: Generation, from: u64) -> bool {
        start[..8] == *MAGIC && start[8..24] == generation && number(&start[24..32]) >= from
    }

    /// A record from its bytes; `None` unless it is sound.
    pub fn read(mut bytes: Vec<u8>) -> Option<Self> {
        let sum = sum_of(&bytes);
        (bytes[HEADER - SUM..HEADER] == sum).then(|| Self {
            generation: fixed(&bytes[8..24]),
            number: number(&bytes[24..32]),
            newest_ms: number(&bytes[32..40]),
            previous: fixed(&bytes[44..44 + SUM]),
            sum,
            changes: bytes.split_off(HEADER),
        })
    }

    /// The bytes it takes in the log.
    pub fn size(&self) -> u64 {
        (HEADER + self.changes.len()).next_multiple_of(BLOCK) as u64
    }
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
pub(crate) fn decode(mut bytes: &[u8], changes: &mut Overlay) -> Option<()> {
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
