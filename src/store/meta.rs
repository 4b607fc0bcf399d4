//! The metadata of the data file: format, device, newest time, and whether its last changes are in the log.

use crate::{
    Error, FORMAT, Result, checksum,
    log::LogMark,
    overlay::Overlay,
    snapshot::{Snapshot, Table},
};
use redb::{Database, Durability, ReadableDatabase};
use tool::Id;

/// The metadata table.
pub(crate) const META: &str = "meta";
pub(crate) const META_FORMAT: &[u8] = b"format";
pub(crate) const META_DEVICE: &[u8] = b"device";
/// The newest time seen, so that ids never go back with the clock.
pub(crate) const META_LAST: &[u8] = b"last";
/// A copy of [`META_LAST`] in the same commit. Code that does not know it writes [`META_LAST`] alone.
const META_LAST_COPY: &[u8] = b"last-copy";
/// The lineage; see [`crate::Store::lineage`].
pub(crate) const META_LINEAGE: &[u8] = b"lineage";
/// The checksum of the format and the device.
const META_SUM: &[u8] = b"sum";
/// The first record of the log that the file lacks; see [`log_row`].
const META_LOG: &[u8] = b"log";

/// The format of a file that is complete without a log. Hob from before there was a log reads it.
pub(crate) const COMPLETE: u32 = 1;
/// The format of a file whose last changes are in a log without a header. It is read, and no longer written.
const WITH_OLD_LOG: u32 = 2;
/// The format of a file whose last changes are in the log.
pub(crate) const WITH_LOG: u32 = 3;

/// A file's metadata.
#[derive(Default)]
pub(crate) struct Meta {
    pub format: Option<u32>,
    pub device: Option<Id>,
    pub last_ms: u64,
    /// `None` when the file is complete.
    pub log: Option<LogMark>,
    sum: Option<Vec<u8>>,
}

/// Identifies a state of a data file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Saved {
    /// `None` when the file is complete.
    pub mark: Option<LogMark>,
    /// The newest time in it, which no two commits in a row share.
    pub last_ms: u64,
}

impl Meta {
    pub fn saved(&self) -> Saved {
        Saved { mark: self.log, last_ms: self.last_ms }
    }

    fn expected_sum(&self) -> [u8; checksum::LENGTH] {
        let format = self.format.unwrap_or_default().to_le_bytes();
        checksum::of(META, META_SUM, &format, self.device.as_ref().map_or(&[], |id| &id.as_bytes()[..]), &[])
    }

    /// Checks the checksum; older files have none and always pass.
    pub fn check(&self) -> Result<(), ()> {
        match &self.sum {
            Some(sum) if *sum != self.expected_sum() => Err(()),
            _ if self.format.is_some_and(needs_log) && self.log.is_none() => Err(()),
            _ => Ok(()),
        }
    }

    /// The metadata of this format, and its rows.
    fn of(device: Id, log: Option<LogMark>) -> Self {
        let format = if log.is_some() { WITH_LOG } else { COMPLETE };
        Self { format: Some(format), device: Some(device), log, ..Self::default() }
    }
}

pub(crate) fn read_meta(db: &impl ReadableDatabase) -> Result<Meta> {
    let tx = Snapshot::stored(db)?;
    let fixed = |key| Ok::<_, Error>(tx.get(META, key)?.unwrap_or_default());
    let format = fixed(META_FORMAT)?.try_into().ok().map(u32::from_le_bytes);
    let log = fixed(META_LOG)?;
    let log = match format {
        Some(WITH_LOG) => log_mark(&log),
        Some(WITH_OLD_LOG) => old_log_mark(&log),
        _ => None,
    };
    Ok(Meta {
        format,
        device: fixed(META_DEVICE)?.try_into().ok().map(Id::from_bytes),
        last_ms: fixed(META_LAST)?.try_into().map_or(0, u64::from_le_bytes),
        log,
        sum: tx.get(META, META_SUM)?,
    })
}

fn needs_log(format: u32) -> bool {
    [WITH_OLD_LOG, WITH_LOG].contains(&format)
}

/// Generation, number, position, checksum of the record before, and size of the log.
fn log_row(mark: &LogMark) -> Vec<u8> {
    let (number, at, size) = (mark.number.to_le_bytes(), mark.at.to_le_bytes(), mark.size.to_le_bytes());
    [&mark.generation[..], &number, &at, &mark.previous, &size].concat()
}

fn log_mark(row: &[u8]) -> Option<LogMark> {
    let (generation, row) = row.split_first_chunk::<16>()?;
    let (number, row) = row.split_first_chunk::<8>()?;
    let (at, row) = row.split_first_chunk::<8>()?;
    let (previous, size) = row.split_first_chunk::<16>()?;
    let (number, at) = (u64::from_le_bytes(*number), u64::from_le_bytes(*at));
    let size = u64::from_le_bytes(size.try_into().ok()?);
    let mark = LogMark { generation: *generation, number, at, previous: *previous, size, before: None };
    mark.is_possible().then_some(mark)
}

/// Generation, that of the record that was first in the log when it began, and size of the log.
fn old_log_mark(row: &[u8]) -> Option<LogMark> {
    let (generation, row) = row.split_first_chunk::<16>()?;
    let (before, size) = row.split_first_chunk::<16>()?;
    let size = u64::from_le_bytes(size.try_into().ok()?);
    Some(LogMark { generation: *generation, number: 0, at: 0, previous: [0; 16], size, before: Some(*before) })
}

/// Writes the metadata of a new data file; returns the device id.
pub(crate) fn found(db: &Database) -> Result<Id> {
    let device = Id::new();
    let tx = db.begin_write()?;
    tx.open_table(Table::new(META))?.insert(META_DEVICE, &device.as_bytes()[..])?;
    write(&tx, &Meta::of(device, None))?;
    tx.commit()?;
    Ok(device)
}

/// Adds the checksum to a file from before there were checksums.
pub(crate) fn add_sum(db: &Database, meta: &Meta) -> Result<()> {
    if meta.sum.is_some() {
        return Ok(());
    }
    let tx = db.begin_write()?;
    tx.open_table(Table::new(META))?.insert(META_SUM, &meta.expected_sum()[..])?;
    Ok(tx.commit()?)
}

/// Makes a copy complete that says that changes of it are in a log: it has no log.
pub(crate) fn forget_log(db: &Database) -> Result<()> {
    let meta = read_meta(db)?;
    let (true, Some(device)) = (meta.format.is_some_and(needs_log), meta.device) else { return Ok(()) };
    let tx = db.begin_write()?;
    write(&tx, &Meta::of(device, None))?;
    Ok(tx.commit()?)
}

fn write(tx: &redb::WriteTransaction, meta: &Meta) -> Result<()> {
    let mut table = tx.open_table(Table::new(META))?;
    table.insert(META_FORMAT, &meta.format.unwrap_or(COMPLETE).to_le_bytes()[..])?;
    table.insert(META_SUM, &meta.expected_sum()[..])?;
    match meta.log {
        Some(mark) => {
            drop(table.insert(META_LOG, &log_row(&mark)[..])?);
        }
        None => drop(table.remove(META_LOG)?),
    }
    Ok(())
}

/// Writes all changes into the data file in one durable commit, together with where later ones are going to be.
pub(crate) fn save(db: &Database, changes: &Overlay, device: Id, saved: Saved) -> Result<()> {
    let mut tx = db.begin_write()?;
    tx.set_durability(Durability::Immediate).map_err(|e| Error::Io(e.to_string()))?;
    // Opening after a power cut takes milliseconds instead of a scan of the whole file. It costs bytes that grow with the
    // file, but only once for a whole log.
    tx.set_quick_repair(true);
    for (name, rows) in changes.tables() {
        let mut table = tx.open_table(Table::new(name))?;
        for (key, value) in rows {
            match value {
                Some(value) => drop(table.insert(&**key, &**value)?),
                None => drop(table.remove(&**key)?),
            }
        }
    }
    write_last(&tx, &saved.last_ms.to_le_bytes())?;
    write(&tx, &Meta::of(device, saved.mark))?;
    Ok(tx.commit()?)
}

fn write_last(tx: &redb::WriteTransaction, last: &[u8]) -> Result<()> {
    let mut table = tx.open_table(Table::new(META))?;
    table.insert(META_LAST, last)?;
    table.insert(META_LAST_COPY, last)?;
    Ok(())
}

/// Ends the lineage of restored data: the next opening begins a new one.
pub(crate) fn end_lineage(db: &Database) -> Result<()> {
    let tx = db.begin_write()?;
    tx.open_table(Table::new(META))?.insert(META_LAST_COPY, &b"restored"[..])?;
    Ok(tx.commit()?)
}

/// The lineage. A new one begins when the last commit was made by code that does not know of lineages, or the file is a
/// restored backup.
pub(crate) fn lineage_of(db: &Database) -> Result<Id> {
    let tx = Snapshot::stored(db)?;
    let last = tx.get(META, META_LAST)?;
    if last == tx.get(META, META_LAST_COPY)? {
        let lineage = tx.get(META, META_LINEAGE)?;
        return Ok(lineage.and_then(|bytes| bytes.try_into().ok()).map_or(Id::NIL, Id::from_bytes));
    }
    let lineage = Id::new();
    let tx = db.begin_write()?;
    tx.open_table(Table::new(META))?.insert(META_LINEAGE, &lineage.as_bytes()[..])?;
    write_last(&tx, &last.unwrap_or_default())?;
    tx.commit()?;
    Ok(lineage)
}

/// Refuses the metadata of a file that this code cannot use; `shown` is its name.
pub(crate) fn device_of(meta: &Meta, shown: &str) -> Result<Id> {
    match (meta.format, meta.device, meta.check()) {
        (Some(found), ..) if found > FORMAT => Err(Error::Newer { file: shown.into(), found, ours: FORMAT }),
        (Some(_), Some(device), Ok(())) => Ok(device),
        _ => Err(Error::Damaged(format!(
            "{shown} is damaged or not a Hob data file (what it says about itself does not match): restore a backup with `hob restore FILE`; the damaged file is left as it is"
        ))),
    }
}
