//! The log: changes are appended here and synced once, before they are in the data file.
//!
//! A record holds the changes of one batch. It begins on a block of its own, so that a block that was acknowledged is never
//! written again: a card may destroy the sector it is writing. Records have numbers, and the data file names the first one that
//! it lacks ([`LogMark`]); the room of those before it is used again, in a ring. Each record has a checksum, and holds that of
//! the one before.
//!
//! The first block is a header with the generation, the mark of one use of the log. It is on the disk before the data file
//! names that generation: a log without it was overwritten.
//!
//! A record at the end that is not whole was never acknowledged, and is dropped. One that is followed by a sound one is
//! damage.

use crate::{
    Error, Result,
    log_record::{BLOCK, Generation, HEADER, Record, RecordStart, Sum, decode, generation_of, log_header},
    medium::Backend,
    overlay::{Batch, Overlay},
};
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

/// The first record is behind the header.
const START: u64 = BLOCK as u64;
/// The bytes of one write while the log is made larger.
static ZEROS: [u8; 64 << 10] = [0; 64 << 10];

/// The first record that the data file lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LogMark {
    pub generation: Generation,
    /// Its number, its position, and the checksum of the one before it. Where it does not fit before the end of the log, it is
    /// at the start.
    pub number: u64,
    pub at: u64,
    pub previous: Sum,
    /// The bytes of the log that are in use.
    pub size: u64,
    /// For a log from before there were headers: the generation of the record in its first block when this one began.
    pub before: Option<Generation>,
}

impl LogMark {
    /// Whether there can be such a place.
    pub fn is_possible(&self) -> bool {
        self.at.is_multiple_of(START) && (START..=self.size).contains(&self.at)
    }
}

/// The log while the store is open.
pub(crate) struct Log {
    disk: Arc<Backend>,
    size: u64,
    generation: Generation,
    /// The number of the next record, where the last one ends, and its checksum.
    number: u64,
    at: u64,
    previous: Sum,
    /// The position of the first record that the data file lacks, and the bytes from there to the next record.
    tail: u64,
    used: u64,
    /// Counts the bytes that go to the disk.
    written: Arc<AtomicU64>,
}

/// The outcome of an append.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Appended {
    Durable,
    /// There is no room for it now; nothing was written.
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
    pub fn new(disk: Backend, written: Arc<AtomicU64>) -> std::io::Result<Self> {
        let size = disk.len()? / START * START;
        let (disk, generation, previous) = (Arc::new(disk), [0; 16], [0; 16]);
        Ok(Self { disk, size, generation, number: 0, at: START, previous, tail: START, used: 0, written })
    }

    pub fn size(&self) -> u64 {
        self.size
    }

    /// The bytes in use.
    pub fn used(&self) -> u64 {
        self.used
    }

    /// The number of the next record.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The mark of a data file that has all records so far.
    pub fn mark(&self) -> LogMark {
        let Self { generation, number, at, previous, size, .. } = *self;
        LogMark { generation, number, at, previous, size, before: None }
    }

    /// Begins a generation. The data file must need no record of the log.
    pub fn begin(&mut self, generation: Generation) -> std::io::Result<()> {
        let header = log_header(generation);
        self.disk.write(0, &header)?;
        self.disk.sync_data()?;
        self.written.fetch_add(header.len() as u64, Ordering::Relaxed);
        self.has_begun(generation);
        Ok(())
    }

    /// The same for a new log that has the header already.
    pub fn has_begun(&mut self, generation: Generation) {
        (self.generation, self.number, self.previous) = (generation, 0, [0; 16]);
        (self.at, self.tail, self.used) = (START, START, 0);
    }

    /// The data file has the records before a mark: their room is free.
    pub fn free(&mut self, mark: &LogMark) {
        self.size = mark.size;
        self.tail = mark.at;
        self.used = match mark.number == self.number {
            true => 0,
            false if self.at > mark.at => self.at - mark.at,
            false => self.size - mark.at + self.at - START,
        };
    }

    /// The position of a record of this length; `None` where there is no room.
    fn place(&self, length: u64) -> Option<u64> {
        let (before_end, from_start) = (self.size.saturating_sub(self.at), self.tail.min(self.size) - START);
        match self.used {
            0 if length <= before_end => Some(self.at),
            0 => (length <= self.size - START).then_some(START),
            _ if self.at <= self.tail => (length <= self.tail - self.at).then_some(self.at),
            _ if length <= before_end => Some(self.at),
            _ => (length <= from_start).then_some(START),
        }
    }

    /// Appends the changes of a batch and syncs them. After an error nobody knows whether the disk has them: this generation
    /// must not be continued.
    pub fn append(&mut self, batch: &Batch, newest_ms: u64) -> std::io::Result<Appended> {
        let start =
            RecordStart { generation: self.generation, number: self.number, newest_ms, previous: self.previous };
        let Some((bytes, sum)) = Record::bytes(&start, batch, self.size - START) else { return Ok(Appended::NoRoom) };
        let length = bytes.len() as u64;
        let Some(at) = self.place(length) else { return Ok(Appended::NoRoom) };
        self.disk.write(at, &bytes)?;
        self.disk.sync_data()?;
        self.written.fetch_add(length, Ordering::Relaxed);
        self.go_behind(at, length, sum);
        Ok(Appended::Durable)
    }

    /// Continues behind a record.
    fn go_behind(&mut self, at: u64, length: u64, sum: Sum) {
        match self.used {
            0 => (self.tail, self.used) = (at, length),
            _ if at == self.at => self.used += length,
            // The rest before the end is used up too.
            _ => self.used += self.size.saturating_sub(self.at) + length,
        }
        (self.at, self.previous) = (at + length, sum);
        self.number += 1;
    }

    pub fn sync(&self) -> std::io::Result<()> {
        self.disk.sync_data()
    }

    /// Overwrites what is behind the header. The data file must need no record of the log.
    pub fn wipe(&self) -> std::io::Result<()> {
        let (mut at, end, mut wiped) = (START, self.disk.len()? / START * START, 0);
        let mut part = ZEROS;
        while at < end {
            let part = &mut part[..(end - at).min(ZEROS.len() as u64) as usize];
            self.disk.read(at, part)?;
            // A card wears by writes, and not by reads.
            let is_used = |block: &[u8]| block.iter().any(|byte| *byte != 0);
            if let Some(first) = part.chunks(BLOCK).position(is_used) {
                let last = part.chunks(BLOCK).rposition(is_used).unwrap_or(first);
                let used = &ZEROS[..(last + 1 - first) * BLOCK];
                self.disk.write(at + (first * BLOCK) as u64, used)?;
                wiped += used.len() as u64;
            }
            at += part.len() as u64;
        }
        if wiped > 0 {
            self.disk.sync_data()?;
        }
        self.written.fetch_add(wiped, Ordering::Relaxed);
        Ok(())
    }

    /// The step that makes this log larger, while it is in use; `None` when it is large enough.
    pub fn growth(&self, size: u64) -> Option<Growth> {
        let grow = size > self.size;
        grow.then(|| Growth { disk: self.disk.clone(), from: self.size, to: size, written: self.written.clone() })
    }

    /// Reads the records that the data file lacks, and continues behind them.
    ///
    /// # Errors
    /// `Damaged` when a record between others is not sound, when the log was cut off or overwritten, or when it belongs to
    /// another data file.
    pub fn replay(disk: Backend, mark: &LogMark, written: Arc<AtomicU64>) -> Result<(Self, Overlay, LogContent)> {
        let io = |e| Error::io("read the log", &e);
        let mut log = Self::new(disk, written).map_err(io)?;
        if log.size < mark.size {
            return Err(cut_off());
        }
        let start = if mark.before.is_some() { 0 } else { START };
        (log.size, log.generation, log.number) = (mark.size, mark.generation, mark.number);
        (log.at, log.tail, log.previous) = (mark.at, mark.at, mark.previous);
        let (mut changes, mut content) = (Overlay::default(), LogContent::default());
        while let Some((at, record)) = log.next_record(start)? {
            decode(&record.changes, &mut changes).ok_or_else(|| damaged(at))?;
            content.newest_ms = record.newest_ms;
            log.go_behind(at, record.size(), record.sum);
        }
        // A record is begun only after the one before it was synced.
        let mut at = start;
        while at + START <= log.size {
            let begun = Record::is_begun(&log.start_at(at)?, log.generation, log.number);
            if begun && log.record_at(at)?.is_some() {
                return Err(damaged(log.at));
            }
            at += START;
        }
        content.commits = log.number - mark.number;
        if content.commits == 0 {
            log.check_owner(mark)?;
        }
        content.bytes = log.used;
        Ok((log, changes, content))
    }

    /// Whether a log without records that count belongs to the data file.
    fn check_owner(&self, mark: &LogMark) -> Result<()> {
        let Some(before) = mark.before else {
            let mut block = [0; BLOCK];
            self.disk.read(0, &mut block).map_err(|e| unreadable(0, &e))?;
            return match generation_of(&block) {
                Some(generation) if generation == mark.generation => Ok(()),
                Some(_) => Err(foreign()),
                None => Err(overwritten()),
            };
        };
        let first = self.record_at(0)?.map(|record| record.generation);
        if first.is_some_and(|first| first != before) { Err(foreign()) } else { Ok(()) }
    }

    /// The next record and its position: behind the last one, or at the start.
    fn next_record(&self, start: u64) -> Result<Option<(u64, Record)>> {
        for at in [self.at, start] {
            let is_next = |record: &Record| {
                (record.generation, record.number, record.previous) == (self.generation, self.number, self.previous)
            };
            if let Some(record) = self.record_at(at)?.filter(is_next) {
                return Ok(Some((at, record)));
            }
        }
        Ok(None)
    }

    fn start_at(&self, at: u64) -> Result<[u8; HEADER]> {
        let mut start = [0; HEADER];
        self.disk.read(at, &mut start).map_err(|e| unreadable(at, &e))?;
        Ok(start)
    }

    /// The record that begins in a block; `None` unless it is sound.
    fn record_at(&self, at: u64) -> Result<Option<Record>> {
        if at + START > self.size {
            return Ok(None);
        }
        let Some(length) = Record::length(&self.start_at(at)?).filter(|length| *length <= self.size - at) else {
            return Ok(None);
        };
        let mut bytes = vec![0; length as usize];
        self.disk.read(at, &mut bytes).map_err(|e| unreadable(at, &e))?;
        Ok(Record::read(bytes))
    }
}

/// Makes a log larger while records are appended to the part that is in use.
pub(crate) struct Growth {
    disk: Arc<Backend>,
    from: u64,
    to: u64,
    written: Arc<AtomicU64>,
}

impl Growth {
    /// Returns the new size once it is on the disk. After an error the log is as large as before.
    pub fn run(&self) -> std::io::Result<u64> {
        // A part of it would only take room from the data.
        self.fill().inspect_err(|_| self.disk.set_len(self.from).unwrap_or_default())?;
        self.written.fetch_add(self.to - self.from, Ordering::Relaxed);
        Ok(self.to)
    }

    fn fill(&self) -> std::io::Result<()> {
        let mut at = self.from;
        while at < self.to {
            let part = &ZEROS[..(self.to - at).min(ZEROS.len() as u64) as usize];
            let end = at + part.len() as u64;
            if self.disk.len()? < end {
                self.disk.set_len(end)?;
            }
            // Real zeros: an append into a hole would also write the file system's tables.
            self.disk.write(at, part)?;
            at = end;
        }
        self.disk.sync_data()
    }
}

fn unreadable(at: u64, e: &std::io::Error) -> Error {
    Error::Io(format!(
        "could not read the log hob.wal at byte {at} ({e}), and the last writes may be in it alone: start Hob again; if that does not help, check the disk, and restore a backup with `hob restore FILE` (a copy of hob.redb itself is one, without those writes). Nothing was changed"
    ))
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

fn overwritten() -> Error {
    Error::Damaged(
        "the log hob.wal was overwritten, and the last writes may have been in it alone: put it back as it was, or restore a backup with `hob restore FILE` (a copy of hob.redb itself is one, without those writes). Nothing was changed"
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        medium::Medium,
        sim_disk::{Dice, SimDisk},
    };
    use std::collections::{BTreeMap, VecDeque};

    /// The rows of records that the data file lacks.
    type Rows = VecDeque<BTreeMap<Vec<u8>, Vec<u8>>>;

    fn replayed(disk: &SimDisk, mark: &LogMark) -> (Log, BTreeMap<Vec<u8>, Vec<u8>>, LogContent) {
        let (log, changes, content) = Log::replay(disk.log().unwrap().unwrap(), mark, Arc::default()).unwrap();
        let rows = changes.table("t").into_iter().flatten();
        (log, rows.map(|(key, value)| (key.to_vec(), value.as_ref().unwrap().to_vec())).collect(), content)
    }

    #[test]
    fn the_room_of_records_is_used_again_and_none_that_counts_is_overwritten() {
        let (mut wrapped, mut full) = (0, 0);
        for seed in 0..40 {
            let (disk, mut dice) = (SimDisk::with_log(seed, (64 << 10, 96 << 10)), Dice(seed));
            let made = disk.make_log(&log_header([7; 16])).unwrap();
            let mut log = Log::new(made, Arc::default()).unwrap();
            log.has_begun([7; 16]);
            let (mut stored, mut rows, mut under_way) = (log.mark(), Rows::new(), None::<(LogMark, usize)>);
            for n in 0..300u64 {
                let length = [10, 3000, 5000, 20_000][dice.roll(4) as usize] + dice.roll(3000) as usize;
                let record = BTreeMap::from([((n % 50).to_be_bytes().to_vec(), vec![n as u8; length])]);
                let changed = record.iter().map(|(k, v)| (k.as_slice().into(), Some(v.as_slice().into()))).collect();
                let before = log.mark();
                match log.append(&Batch::from([("t".into(), changed)]), n).unwrap() {
                    Appended::Durable => rows.push_back(record),
                    Appended::NoRoom => full += 1,
                }
                wrapped += u64::from(log.mark().at < before.at);
                // A checkpoint begins, or one that began earlier ends.
                under_way = match under_way {
                    None if dice.roll(4) == 0 => Some((log.mark(), rows.len())),
                    Some((mut mark, records)) if dice.roll(4) == 0 => {
                        if let Some(growth) = log.growth(96 << 10).filter(|_| dice.roll(9) == 0) {
                            mark.size = growth.run().unwrap();
                        }
                        log.free(&mark);
                        stored = mark;
                        drop(rows.drain(..records));
                        None
                    }
                    other => other,
                };
                let (again, found, content) = replayed(&disk, &stored);
                assert_eq!(found, rows.iter().flatten().map(|(k, v)| (k.clone(), v.clone())).collect());
                assert_eq!((content.commits, content.bytes), (rows.len() as u64, again.used()));
                if dice.roll(10) == 0 {
                    (log, under_way) = (again, None);
                }
            }
        }
        assert!(wrapped > 100 && full > 100, "{wrapped} times at the start again, {full} times full");
    }
}
