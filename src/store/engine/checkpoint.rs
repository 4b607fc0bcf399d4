//! Checkpoints: puts what is only in the log into the data file, on a thread of its own while more is appended to the log.

use super::{Engine, LOG_AGAIN, MOST_MEMORY, Writing};
use crate::{
    Result,
    log::{Growth, Log, LogContent, LogMark},
    log_record::log_header,
    meta::save,
    overlay::{Batch, Overlay},
    snapshot::Snapshot,
};
use redb::ReadableDatabase;
use std::{
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};

/// After how long a checkpoint that failed is tried again.
const CHECKPOINT_AGAIN: Duration = Duration::from_secs(30);

/// A commit of the data file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Attempt {
    pub mark: Option<LogMark>,
    /// Whether it has all changes, or only those before its mark.
    pub all: bool,
}

/// A checkpoint that is being made.
pub(super) struct Checkpoint {
    number: u64,
    /// The changes it writes, and the first record that is not among them.
    changes: Overlay,
    mark: LogMark,
    growth: Option<Growth>,
    /// The batches that became durable since, oldest first.
    later: Vec<Arc<Batch>>,
}

impl Checkpoint {
    /// The memory of the changes since.
    pub fn bytes_since(&self, changes: &Overlay) -> usize {
        changes.bytes().saturating_sub(self.changes.bytes())
    }

    /// Adds a batch that is not in it.
    pub fn add(&mut self, batch: Batch) {
        self.later.push(Arc::new(batch));
    }
}

impl Engine {
    /// Begins a checkpoint when it is time for one: when much of the log is used, or half of it and nobody writes (`idle`).
    /// Returns whether [`Engine::make_checkpoint`] is to be called, on any thread.
    pub fn begin_checkpoint(&self, idle: bool) -> bool {
        let mut writing = self.writing();
        let (Some(log), Some(_), None) = (&writing.log, writing.mark, &writing.checkpoint) else { return false };
        // The rest is for those who write meanwhile.
        let limit = if idle { log.size() / 2 } else { log.size() / 8 * 5 };
        let wanted = log.used() >= limit || writing.changes.bytes() >= MOST_MEMORY;
        if !wanted || writing.no_checkpoint_before.is_some_and(|at| at > Instant::now()) {
            return false;
        }
        let (mark, growth) = (log.mark(), log.growth(self.medium.log_size()));
        writing.checkpoints += 1;
        let (number, changes) = (writing.checkpoints, writing.changes.clone());
        writing.checkpoint = Some(Checkpoint { number, changes, mark, growth, later: vec![] });
        true
    }

    /// Makes the checkpoint that was begun.
    pub fn make_checkpoint(&self) {
        let begun = self.writing().checkpoint.as_mut().map(|begun| (begun.number, begun.growth.take()));
        let Some((number, growth)) = begun else { return };
        let grown = growth.map(|growth| growth.run());
        if let Some(Err(error)) = &grown {
            tracing::warn!(%error, "there is no room for a larger log");
        }
        let Some((changes, mark)) = self.writing().attempt(number, grown.and_then(|size| size.ok())) else { return };
        self.changes.note_all(&changes);
        let saved = self.with(|open| save(&open.db, &changes, self.device, Some(mark)));
        drop(changes);
        // Most of what came since is put in order before others have to wait for the rest.
        let mut rest = Overlay::default();
        let later = self.writing().later(number, 0);
        later.iter().for_each(|batch| rest.set_all(batch));
        let mut writing = self.writing();
        if writing.checkpoint.as_ref().is_none_or(|under_way| under_way.number != number) {
            return;
        }
        let published = saved.and_then(|()| {
            writing.later(number, later.len()).iter().for_each(|batch| rest.set_all(batch));
            rest.set_all(&writing.pending);
            self.with(|open| {
                *open.now() = Snapshot::new(Arc::new(open.db.begin_read()?), rest.clone());
                Ok(())
            })
        });
        match published {
            Ok(()) => {
                writing.settle(Attempt { mark: Some(mark), all: false });
                (writing.changes, writing.bases) = (rest, writing.bases + 1);
            }
            Err(error) => {
                tracing::warn!(%error, "the log could not be put into the data file yet; nothing in it is lost");
                writing.no_checkpoint_before = Some(Instant::now() + CHECKPOINT_AGAIN);
                writing.checkpoint = None;
                self.try_reopen(&mut writing);
            }
        }
        drop(writing);
        self.ended.notify_all();
    }

    /// Writes all changes into the data file while no checkpoint is being made; with `complete` the file needs no log after
    /// it.
    pub(super) fn write_through(&self, writing: &mut Writing, changes: &Overlay, complete: bool) -> Result<()> {
        let mark = if complete { None } else { self.next_mark(writing) };
        let attempt = Attempt { mark, all: true };
        writing.attempted = Some(attempt);
        self.changes.note_all(changes);
        self.with(|open| {
            save(&open.db, changes, self.device, mark)?;
            let stored = Snapshot::stored(&open.db)?;
            *open.now() = stored;
            Ok(())
        })?;
        self.version.fetch_add(1, Ordering::Release);
        writing.settle(attempt);
        writing.bases += 1;
        Ok(())
    }

    /// The mark of a data file that has everything; `None` when there is no log.
    fn next_mark(&self, writing: &mut Writing) -> Option<LogMark> {
        match (&mut writing.log, writing.mark) {
            (Some(log), Some(_)) => return Some(log.mark()),
            // The data file needs the log that failed until it has everything.
            (None, Some(_)) => return None,
            (None, None) if writing.no_log_before.is_some_and(|at| at > Instant::now()) => return None,
            (_, None) => {}
        }
        match self.begin_log(writing.log.take()) {
            Ok(log) => Some(writing.log.insert(log).mark()),
            Err(error) => {
                tracing::warn!(%error, "there is no room for the log, or it cannot be used: every write goes into the data file, which wears the disk more");
                writing.no_log_before = Some(Instant::now() + LOG_AGAIN);
                None
            }
        }
    }

    /// Begins a generation of the log, which no data file needs; opens or makes it first.
    fn begin_log(&self, open: Option<Log>) -> std::io::Result<Log> {
        let mut generation = [0; 16];
        getrandom::fill(&mut generation).map_err(std::io::Error::other)?;
        let there = match open {
            Some(log) => Some(log),
            None => self.medium.log()?.map(|disk| Log::new(disk, self.written.clone())).transpose()?,
        };
        let usable = there.filter(|log| log.size() >= self.medium.new_log_size());
        if let Some(mut log) = usable {
            log.begin(generation)?;
            return Ok(log);
        }
        let mut log = Log::new(self.medium.make_log(&log_header(generation))?, self.written.clone())?;
        self.written.fetch_add(log.size(), Ordering::Relaxed);
        log.has_begun(generation);
        Ok(log)
    }

    /// Puts what is only in the log into the data file now.
    pub fn checkpoint(&self) -> Result<()> {
        let mut writing = self.quiet();
        if writing.mark.is_none() || writing.changes.tables().next().is_none() {
            return Ok(());
        }
        let changes = writing.changes.clone();
        self.write_through(&mut writing, &changes, false).inspect_err(|_| self.try_reopen(&mut writing))
    }

    /// Whether [`Engine::begin_checkpoint`] has something to do once nobody writes.
    pub fn wants_idle(&self) -> bool {
        let writing = self.writing();
        writing.mark.is_some() && writing.log.as_ref().is_some_and(|log| log.used() >= log.size() / 2)
    }

    /// Makes the data file complete without its log, so that an older Hob can read it too.
    pub fn complete(&self) -> Result<()> {
        let mut writing = self.quiet();
        if writing.mark.is_none() || self.medium.path().is_none() {
            return Ok(());
        }
        let changes = writing.changes.clone();
        let done = self.write_through(&mut writing, &changes, true);
        if done.is_err() {
            self.try_reopen(&mut writing);
        }
        done
    }
}

impl Writing {
    /// The changes that a checkpoint writes; from now on they may be on the disk. `None` when it is no longer the one under way.
    fn attempt(&mut self, number: u64, grown: Option<u64>) -> Option<(Overlay, LogMark)> {
        let under_way = self.checkpoint.as_mut().filter(|under_way| under_way.number == number)?;
        under_way.mark.size = grown.unwrap_or(under_way.mark.size);
        self.attempted = Some(Attempt { mark: Some(under_way.mark), all: false });
        Some((under_way.changes.clone(), under_way.mark))
    }

    /// The batches that came after a checkpoint was begun, without the first ones.
    fn later(&self, number: u64, known: usize) -> Vec<Arc<Batch>> {
        let under_way = self.checkpoint.as_ref().filter(|under_way| under_way.number == number);
        under_way.and_then(|under_way| under_way.later.get(known..)).unwrap_or_default().to_vec()
    }

    /// The data file has what a commit of it was to write.
    pub(super) fn settle(&mut self, done: Attempt) {
        (self.mark, self.attempted, self.checkpoint) = (done.mark, None, None);
        self.no_checkpoint_before = None;
        if done.all {
            (self.changes, self.pending) = (Overlay::default(), Batch::new());
        }
        if let (Some(log), Some(mark)) = (&mut self.log, &done.mark) {
            log.free(mark);
        }
        self.count();
    }

    /// Counts what is in the log alone.
    pub(super) fn count(&mut self) {
        let newest_ms = self.content.newest_ms;
        self.content = match (&self.log, self.mark) {
            (Some(log), Some(mark)) if log.used() > 0 => {
                LogContent { commits: log.number() - mark.number, bytes: log.used(), newest_ms }
            }
            _ => LogContent::default(),
        };
    }
}
