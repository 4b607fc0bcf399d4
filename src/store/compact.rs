//! Compaction: replaces the data file with a copy that has no free space in it, while reads and writes continue.
//!
//! The file grows and never shrinks by itself. Rows are copied in small steps, each from the newest state; rows that change
//! meanwhile are noted ([`Noting`]) and copied again at the end. Only the last part excludes reads and writes: the last
//! changes, one sync, and a rename. The original is complete until the rename and the copy is complete before it, so a power
//! cut at any point leaves one of the two; the other is removed at the next start.

use crate::{
    Error, Result, Store, changes::Changed, engine::Engine, folder, meta::META, snapshot::Table,
    staged_backend::StagedBackend,
};
use redb::{
    Database, Durability, ReadTransaction, ReadableDatabase, ReadableTableMetadata, TableHandle, backends::FileBackend,
};
use serde::{Deserialize, Serialize};
use std::{
    cell::Cell,
    fs,
    ops::Bound,
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};
use tool::Id;

/// The most rows and bytes of one step.
const ROWS: usize = 4096;
const BYTES: usize = 1 << 20;
/// The longest pause between two steps: the card also serves others.
const LONGEST_PAUSE: Duration = Duration::from_millis(200);
/// Compaction pays off when so much of the file is free: a share in percent, and bytes.
const WORTH_PERCENT: u64 = 30;
const WORTH_BYTES: u64 = 16 << 20;
/// Space on the disk that a compaction leaves to other writes: a part of the disk, and at least and at most so many bytes. On a
/// small disk it may be the only way to get room.
const RESERVE_PART: u64 = 32;
const LEAST_RESERVE: u64 = 4 << 20;
const MOST_RESERVE: u64 = 32 << 20;
/// With at most so many changed rows left, the rest is copied while nobody reads or writes.
const FEW: usize = 500;
/// How often changed rows are copied again before a compaction gives up.
const ROUNDS: usize = 20;
/// The key of the last result in the metadata table.
const LAST: &[u8] = b"compacted";

/// The size of the data file on the disk, and how much of it is free.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Space {
    /// Bytes the file takes on the disk. Parts of it that were never written take none.
    pub size: u64,
    /// Bytes of them that hold no data.
    pub free: u64,
}

/// A completed compaction. New fields go last.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compacted {
    /// When it ended: milliseconds since 1970.
    pub at_ms: u64,
    /// Bytes of the file on the disk before.
    pub before: u64,
    /// Bytes of the file on the disk after.
    pub after: u64,
    /// How long reads and writes waited at its end, in milliseconds.
    #[serde(default)]
    pub blocked_ms: u64,
}

/// The state of compaction.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Compaction {
    /// The progress of the one under way, in percent.
    pub running: Option<u8>,
    /// The last one that was completed.
    pub last: Option<Compacted>,
    /// Why the last attempt was not completed.
    pub problem: Option<String>,
    /// The space as last measured.
    pub space: Option<Space>,
}

impl Space {
    /// Whether compaction pays off. `last` is the previous one: what it could not free, another cannot either.
    pub fn is_worth_compacting(&self, last: Option<&Compacted>) -> bool {
        let grown = last.is_none_or(|last| self.size >= last.after.saturating_add(WORTH_BYTES));
        grown && self.free >= WORTH_BYTES && self.free.saturating_mul(100) >= self.size.saturating_mul(WORTH_PERCENT)
    }
}

/// Progress and results, for those who ask.
#[derive(Default)]
pub(crate) struct Progress(Mutex<Compaction>);

impl Progress {
    fn state(&self) -> MutexGuard<'_, Compaction> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Store {
    /// The state of compaction, including the last result of an earlier start.
    ///
    /// # Errors
    /// As every read.
    pub fn compaction(&self) -> Result<Compaction> {
        let mut state = self.0.progress.state().clone();
        if state.last.is_none() {
            let stored = self.0.engine.read(|tx| tx.get(META, LAST))?;
            // A result in the form of an older or newer Hob counts as none.
            state.last = stored.and_then(|text| serde_json::from_slice(&text).ok());
        }
        Ok(state)
    }

    /// Measures the free space of the data file. Reads all of its pages, but no record.
    ///
    /// # Errors
    /// As every read.
    pub async fn measure_space(&self) -> Result<Space> {
        let this = self.clone();
        blocking(move || {
            let space = space(&this.0.engine)?;
            this.0.progress.state().space = Some(space);
            Ok(space)
        })
        .await
    }

    /// Compacts the data file while reads and writes continue; `None` in memory. Stops with an error once `go_on` is
    /// false. The file is the old one then.
    ///
    /// # Errors
    /// `Full` and `Io` when the disk has not enough room or fails, `Damaged` when the file contradicts itself,
    /// `Conflict` when a compaction is under way, when it was stopped, or when too much is written meanwhile.
    pub async fn compact(&self, go_on: impl Fn() -> bool + Send + 'static) -> Result<Option<Compacted>> {
        let this = self.clone();
        let stops = self.clone();
        let done = blocking(move || this.compact_now(&|| go_on() && !stops.is_restoring())).await;
        if let Ok(Some(done)) = &done
            && let Ok(text) = serde_json::to_vec(done)
        {
            let noted = self.write(move |tx| tx.put_raw(META, LAST, &text)).await;
            if let Err(error) = noted {
                tracing::warn!(%error, "the result of the compaction was not stored");
            }
        }
        done
    }

    fn compact_now(&self, go_on: &dyn Fn() -> bool) -> Result<Option<Compacted>> {
        {
            let mut state = self.0.progress.state();
            if state.running.is_some() {
                return Err(Error::Conflict("the data file is being compacted already".into()));
            }
            state.running = Some(0);
        }
        let progress = |percent| self.0.progress.state().running = Some(percent);
        let done = compact(&self.0.engine, go_on, &progress);
        let mut state = self.0.progress.state();
        state.running = None;
        match &done {
            Ok(Some(done)) => {
                (state.last, state.problem) = (Some(*done), None);
                state.space = Some(Space { size: done.after, free: 0 });
            }
            Ok(None) => {}
            Err(error) => state.problem = Some(error.to_string()),
        }
        done
    }
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|e| Err(Error::Io(format!("compacting the data file broke off: {e}"))))
}

pub(crate) fn on_disk(path: &Path) -> Result<u64> {
    let about = fs::metadata(path).map_err(|e| Error::io(format!("look at {}", path.display()), &e))?;
    Ok(about.blocks() * 512)
}

/// Measures table by table, so that no snapshot is held for long.
fn space(engine: &Engine) -> Result<Space> {
    let Some(path) = engine.path() else { return Ok(Space::default()) };
    // Deletions may be in the log alone.
    engine.checkpoint()?;
    let mut used = 0;
    for (name, _) in tables(engine)? {
        used += engine.with_data_file(|db| {
            let tx = db.begin_read()?;
            let stats = open(&tx, &name)?.map(|table| table.stats()).transpose()?;
            Ok(stats.map_or(0, |stats| stats.stored_bytes() + stats.metadata_bytes() + stats.fragmented_bytes()))
        })?;
    }
    let size = on_disk(path)?;
    Ok(Space { size, free: size.saturating_sub(used) })
}

type Stored = redb::ReadOnlyTable<&'static [u8], &'static [u8]>;

fn open(tx: &ReadTransaction, table: &str) -> Result<Option<Stored>> {
    match tx.open_table(Table::new(table)) {
        Ok(table) => Ok(Some(table)),
        Err(redb::TableError::TableDoesNotExist(_)) => Ok(None),
        Err(e) => Err(e.into()),
    }
}

/// The tables of the data file with their numbers of rows.
fn tables(engine: &Engine) -> Result<Vec<(String, u64)>> {
    engine.with_data_file(lengths)
}

fn lengths(db: &Database) -> Result<Vec<(String, u64)>> {
    let tx = db.begin_read()?;
    let names = tx.list_tables()?.map(|table| table.name().to_owned());
    names.map(|name| Ok((open(&tx, &name)?.map_or(Ok(0), |table| table.len())?, name))).map(flip).collect()
}

fn flip(row: Result<(u64, String)>) -> Result<(String, u64)> {
    row.map(|(length, name)| (name, length))
}

/// Changed rows are noted as long as this lives.
struct Noting(Arc<Engine>);

impl Noting {
    /// Begins at a moment when no write is under way: its first rows would not be noted.
    fn start(engine: &Arc<Engine>) -> Self {
        engine.between_writes(|| engine.changes().want(true));
        Self(engine.clone())
    }

    /// The rows noted since the last time. Taken between writes: rows are noted before their commit, and must be read after it.
    fn take(&self) -> Result<Changed> {
        self.0.between_writes(|| self.0.changes().take())
    }

    /// The same while the caller excludes writes already.
    fn rest(&self) -> Result<Changed> {
        self.0.changes().take()
    }
}

impl Drop for Noting {
    fn drop(&mut self) {
        self.0.changes().want(false);
    }
}

/// A row: its key, and its value or `None` where it was removed.
type Row = (Vec<u8>, Option<Vec<u8>>);

fn compact(engine: &Arc<Engine>, go_on: &dyn Fn() -> bool, progress: &dyn Fn(u8)) -> Result<Option<Compacted>> {
    let Some(path) = engine.path() else { return Ok(None) };
    if path.symlink_metadata().is_ok_and(|about| about.is_symlink()) {
        return Err(Error::Io(format!("{} is a link to another place, so it is not compacted", path.display())));
    }
    let before = space(engine)?;
    has_room(path, &before)?;
    let part = folder::new_data_file(path);
    let made = copy_and_swap(engine, path, &part, go_on, progress);
    if made.is_err() {
        let _ = fs::remove_file(&part);
    }
    let blocked = made?;
    if let Err(error) = engine.wipe_log() {
        tracing::warn!(%error, "the log still has what was written before the data file was compacted");
    }
    let done = Compacted {
        at_ms: Id::new().millis(),
        before: before.size,
        after: on_disk(path)?,
        blocked_ms: blocked.as_millis() as u64,
    };
    tracing::info!(
        before = done.before,
        after = done.after,
        blocked_ms = done.blocked_ms,
        "the data file was compacted"
    );
    Ok(Some(done))
}

/// Refuses when the disk would be full for a while: other writes would be refused meanwhile.
fn has_room(path: &Path, space: &Space) -> Result<()> {
    let folder = path.parent().filter(|d| !d.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let Ok(disk) = rustix::fs::statvfs(folder) else { return Ok(()) };
    let bytes = |blocks: u64| blocks.saturating_mul(disk.f_frsize);
    let (needed, free) = (room_for(space, bytes(disk.f_blocks)), bytes(disk.f_bavail));
    if free >= needed {
        return Ok(());
    }
    let mb = |bytes: u64| bytes.div_ceil(1 << 20);
    let text = format!("compacting needs {} MB for a while, and {} MB are free", mb(needed), mb(free));
    Err(Error::Io(format!("{text}: make room on the disk first")))
}

/// The bytes that must be free on a disk of this size: for the copy, which grows in steps, and for other writes.
fn room_for(space: &Space, disk: u64) -> u64 {
    let used = space.size.saturating_sub(space.free);
    used + used / 4 + (disk / RESERVE_PART).clamp(LEAST_RESERVE, MOST_RESERVE)
}

fn stopped() -> Error {
    Error::Conflict("compacting was stopped; it begins anew another time".into())
}

/// Copies the data into `part` and puts that in the place of the data file; returns how long reads and writes waited.
fn copy_and_swap(
    engine: &Arc<Engine>,
    path: &Path,
    part: &Path,
    go_on: &dyn Fn() -> bool,
    progress: &dyn Fn(u8),
) -> Result<Duration> {
    // From here on every changed row is noted. No write is under way at this moment.
    let noting = Noting::start(engine);
    let copy = create(part, engine)?;
    let all = tables(engine)?;
    let (total, mut copied) = (all.iter().map(|(_, rows)| rows).sum::<u64>().max(1), 0);
    for (name, _) in &all {
        let mut after: Option<Vec<u8>> = None;
        loop {
            if !go_on() {
                return Err(stopped());
            }
            let began = Instant::now();
            let rows = engine.with_data_file(|db| next_rows(db, name, after.as_deref()))?;
            apply(&copy, &[(name.clone(), &rows)])?;
            let Some((last, _)) = rows.last() else { break };
            after = Some(last.clone());
            copied += rows.len() as u64;
            progress((copied * 100 / total).min(99) as u8);
            std::thread::sleep(began.elapsed().min(LONGEST_PAUSE));
        }
    }
    for round in 0.. {
        let changed = noting.take()?;
        let few = changed.len() <= FEW;
        copy_changed(engine, &copy, &changed, go_on)?;
        if few {
            break;
        }
        if round == ROUNDS {
            return Err(Error::Conflict("too much is being written to compact the data file now".into()));
        }
    }
    swap(engine, path, part, copy, &noting, go_on)
}

/// The next rows of a table after a key.
fn next_rows(db: &Database, table: &str, after: Option<&[u8]>) -> Result<Vec<Row>> {
    let tx = db.begin_read()?;
    let Some(table) = open(&tx, table)? else { return Ok(vec![]) };
    let from = after.map_or(Bound::Unbounded, Bound::Excluded);
    let (mut rows, mut bytes) = (vec![], 0);
    for row in table.range::<&[u8]>((from, Bound::Unbounded))? {
        let (key, value) = row?;
        bytes += key.value().len() + value.value().len();
        rows.push((key.value().to_vec(), Some(value.value().to_vec())));
        if rows.len() == ROWS || bytes >= BYTES {
            break;
        }
    }
    Ok(rows)
}

/// Writes rows into the copy, on the disk when this returns; a table without rows is created too.
fn apply(copy: &Database, all: &[(String, &Vec<Row>)]) -> Result<()> {
    let mut tx = copy.begin_write()?;
    tx.set_durability(Durability::Immediate).map_err(|e| Error::Io(e.to_string()))?;
    for (name, rows) in all {
        let mut table = tx.open_table(Table::new(name))?;
        for (key, value) in rows.iter() {
            match value {
                Some(value) => drop(table.insert(key.as_slice(), value.as_slice())?),
                None => drop(table.remove(key.as_slice())?),
            }
        }
    }
    Ok(tx.commit()?)
}

/// The present state of changed rows, table by table.
fn present(db: &Database, changed: &[(String, Vec<Vec<u8>>)]) -> Result<Vec<(String, Vec<Row>)>> {
    let tx = db.begin_read()?;
    let mut all = vec![];
    for (name, keys) in changed {
        let table = open(&tx, name)?;
        let value = |key: &Vec<u8>| -> Result<Row> {
            let found = table.as_ref().map(|table| table.get(key.as_slice())).transpose()?.flatten();
            Ok((key.clone(), found.map(|value| value.value().to_vec())))
        };
        // A table that a failed write would have created does not exist.
        if table.is_some() {
            all.push((name.clone(), keys.iter().map(value).collect::<Result<_>>()?));
        }
    }
    Ok(all)
}

fn copy_changed(engine: &Engine, copy: &Database, changed: &Changed, go_on: &dyn Fn() -> bool) -> Result<()> {
    for some in changed.in_pieces(ROWS / 8) {
        if !go_on() {
            return Err(stopped());
        }
        let rows = engine.with_data_file(|db| present(db, &some))?;
        apply(copy, &rows.iter().map(|(name, rows)| (name.clone(), rows)).collect::<Vec<_>>())?;
    }
    Ok(())
}

/// While nobody reads or writes: copies the last changes, compares, and renames.
fn swap(
    engine: &Arc<Engine>,
    path: &Path,
    part: &Path,
    copy: Database,
    noting: &Noting,
    go_on: &dyn Fn() -> bool,
) -> Result<Duration> {
    let failed =
        |e: std::io::Error| Error::io(format!("put the compacted file in the place of {}", path.display()), &e);
    if !go_on() {
        return Err(stopped());
    }
    let (began, blocked) = (Cell::new(Instant::now()), Cell::new(Duration::ZERO));
    let prepare = |db: &Database| {
        began.set(Instant::now());
        for some in noting.rest()?.in_pieces(ROWS) {
            let rows = present(db, &some)?;
            apply(&copy, &rows.iter().map(|(name, rows)| (name.clone(), rows)).collect::<Vec<_>>())?;
        }
        copy_meta(db, &copy)?;
        // Damaged pages could hide rows: then the copy would lose them for good.
        if lengths(db)? != lengths(&copy)? {
            return Err(Error::Damaged(
                "the data file contradicts itself, so it was not compacted: stop Hob and run `hob doctor`".into(),
            ));
        }
        // Closing records the free space, so that opening takes milliseconds.
        drop(copy);
        fs::File::open(part).and_then(|file| file.sync_all()).map_err(failed)?;
        engine.open_copy(part)
    };
    let publish = || {
        fs::rename(part, path).map_err(failed)?;
        // Until the folder is on the disk, a power cut may bring the old file back, which has the same content as long as
        // nothing is written.
        let folder = path.parent().filter(|d| !d.as_os_str().is_empty()).unwrap_or(Path::new("."));
        if let Err(error) = fs::File::open(folder).and_then(|folder| folder.sync_all()) {
            tracing::error!(%error, "the folder of the data file could not be synced");
        }
        blocked.set(began.get().elapsed());
        Ok(())
    };
    engine.replace(prepare, publish)?;
    Ok(blocked.get())
}

/// Copies the metadata, which changes with every commit and is small.
fn copy_meta(db: &Database, copy: &Database) -> Result<()> {
    let rows = next_rows(db, META, None)?;
    let mut all = next_rows(copy, META, None)?;
    all.retain(|(key, _)| rows.iter().all(|(kept, _)| kept != key));
    all.iter_mut().for_each(|(_, value)| *value = None);
    all.extend(rows);
    apply(copy, &[(META.to_owned(), &all)])
}

/// A new data file that only this process knows.
fn create(part: &Path, engine: &Engine) -> Result<Database> {
    let mut options = fs::OpenOptions::new();
    let file = options.read(true).write(true).create_new(true).mode(0o600).open(part);
    let file = file.map_err(|e| Error::io(format!("make {}", part.display()), &e))?;
    let failed = |e: redb::DatabaseError| match e {
        redb::DatabaseError::Storage(e) => e.into(),
        other => Error::Io(format!("could not make {}: {other}", part.display())),
    };
    let backend = StagedBackend::new(Box::new(FileBackend::new(file).map_err(failed)?), engine.written());
    let backend = backend.map_err(|e| Error::io(format!("make {}", part.display()), &e))?;
    backend.trust().map_err(|e| Error::io(format!("make {}", part.display()), &e))?;
    Database::builder().set_cache_size(crate::open::CACHE_BYTES).create_with_backend(backend).map_err(failed)
}

#[cfg(test)]
mod tests;
