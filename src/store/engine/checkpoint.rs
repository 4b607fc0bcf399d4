//! Checkpoints: puts what is only in the log into the data file, on a thread of its own while more is appended to the log.

use super::{Engine, LOG_AGAIN, MOST_MEMORY, Open, Writing, caught};
use crate::{
    Error, Result,
    log::{Growth, Log, LogContent, LogMark},
    log_record::log_header,
    meta::{Saved, save},
    overlay::{Batch, Overlay},
    snapshot::Snapshot,
};
use redb::ReadableDatabase;
use std::{
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};
use tool::Id;

/// After how long a checkpoint that failed is tried again.
const CHECKPOINT_AGAIN: Duration = Duration::from_secs(30);

/// A commit of the data file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Attempt {
    pub saved: Saved,
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
        let (Some(log), Some(_), None) = (&writing.log, writing.saved.mark, &writing.checkpoint) else { return false };
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
        let Some(attempted) = self.attempt(number, grown.and_then(|size| size.ok())) else { return };
        let saved = attempted
            .as_ref()
            .map_or_else(|error| Err(error.clone()), |(open, changes, attempt)| self.save(open, changes, *attempt));
        let attempt = attempted.ok().map(|(.., attempt)| attempt);
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
        match (published, attempt) {
            (Ok(()), Some(attempt)) => {
                writing.settle(attempt);
                (writing.changes, writing.bases) = (rest, writing.bases + 1);
            }
            (failed, attempt) => {
                if let Err(error) = failed {
                    tracing::warn!(%error, "the log could not be put into the data file yet; nothing in it is lost");
                }
                writing.checkpoint = None;
                let found = attempt.is_some_and(|attempt| self.find_out(&mut writing, attempt));
                writing.no_checkpoint_before = (!found).then(|| Instant::now() + CHECKPOINT_AGAIN);
            }
        }
        drop(writing);
        self.ended.notify_all();
    }

    /// The changes that a checkpoint writes, and the file for them; from now on they may be on the disk. `None` when it is no
    /// longer the one under way.
    fn attempt(&self, number: u64, grown: Option<u64>) -> Option<Result<(Arc<Open>, Overlay, Attempt)>> {
        let mut writing = self.writing();
        let writable = self.make_writable(&mut writing);
        let under_way = writing.checkpoint.as_mut().filter(|under_way| under_way.number == number)?;
        if let Err(error) = writable {
            return Some(Err(error));
        }
        under_way.mark.size = grown.unwrap_or(under_way.mark.size);
        let (mark, changes) = (under_way.mark, under_way.changes.clone());
        let attempt = Attempt { saved: writing.next_saved(Some(mark)), all: false };
        writing.attempted = Some(attempt);
        Some(Ok((self.opened(), changes, attempt)))
    }

    /// Commits changes to the data file.
    fn save(&self, open: &Open, changes: &Overlay, attempt: Attempt) -> Result<()> {
        self.changes.note_all(changes);
        caught(|| save(&open.db, changes, self.device, attempt.saved))
    }

    /// Writes all changes into the data file while no checkpoint is being made; with `complete` the file needs no log after
    /// it. Callers know all changes only once the file may be written to, or no commit of it is unclear.
    pub(super) fn write_through(&self, writing: &mut Writing, changes: &Overlay, complete: bool) -> Result<()> {
        self.make_writable(writing)?;
        let mark = if complete { None } else { self.next_mark(writing) };
        let attempt = Attempt { saved: writing.next_saved(mark), all: true };
        writing.attempted = Some(attempt);
        let open = self.opened();
        let saved = self.save(&open, changes, attempt).and_then(|()| {
            let stored = Snapshot::stored(&open.db)?;
            *open.now() = stored;
            Ok(())
        });
        match saved {
            Ok(()) => {
                writing.settle(attempt);
                writing.bases += 1;
                Ok(())
            }
            Err(error) if self.find_out(writing, attempt) => {
                tracing::warn!(%error, "a commit seemed to fail, and is on the disk");
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// The mark of a data file that has everything; `None` when there is no log.
    fn next_mark(&self, writing: &mut Writing) -> Option<LogMark> {
        match (&mut writing.log, writing.saved.mark) {
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
            match log.begin(generation) {
                Ok(()) => return Ok(log),
                Err(error) => tracing::warn!(%error, "the log cannot be used any more: it is made anew"),
            }
        }
        let mut log = Log::new(self.medium.make_log(&log_header(generation))?, self.written.clone())?;
        self.written.fetch_add(log.size(), Ordering::Relaxed);
        log.has_begun(generation);
        Ok(log)
    }

    /// Puts what is only in the log into the data file now.
    pub fn checkpoint(&self) -> Result<()> {
        self.empty_log(&mut self.quiet())
    }

    fn empty_log(&self, writing: &mut Writing) -> Result<()> {
        // It may find more changes in the data file.
        self.make_writable(writing)?;
        if writing.saved.mark.is_none() || writing.changes.tables().next().is_none() {
            return Ok(());
        }
        let changes = writing.changes.clone();
        self.write_through(writing, &changes, false)
    }

    /// The same, and removes from the log what the data file has: it may have been deleted from there.
    pub fn wipe_log(&self) -> Result<()> {
        let mut writing = self.quiet();
        self.empty_log(&mut writing)?;
        match &writing.log {
            Some(log) if log.used() == 0 => log.wipe().map_err(|e| Error::io("wipe the log", &e)),
            _ => Ok(()),
        }
    }

    /// Whether [`Engine::begin_checkpoint`] has something to do once nobody writes.
    pub fn wants_idle(&self) -> bool {
        let writing = self.writing();
        writing.saved.mark.is_some() && writing.log.as_ref().is_some_and(|log| log.used() >= log.size() / 2)
    }

    /// Makes the data file complete without its log, so that an older Hob can read it too.
    pub fn complete(&self) -> Result<()> {
        let mut writing = self.quiet();
        if writing.saved.mark.is_none() || self.medium.path().is_none() {
            return Ok(());
        }
        self.make_writable(&mut writing)?;
        let changes = writing.changes.clone();
        self.write_through(&mut writing, &changes, true)?;
        // Nothing needs it now, and deleted text may still be in it.
        let log = match &writing.log {
            Some(log) => log.wipe(),
            None => match self.medium.log() {
                Ok(Some(disk)) => Log::new(disk, self.written()).and_then(|log| log.wipe()),
                other => other.map(drop),
            },
        };
        if let Err(error) = log {
            tracing::warn!(%error, "the log could not be wiped; it is not needed any more");
        }
        Ok(())
    }
}

impl Writing {
    /// A state of the data file that it had never before.
    fn next_saved(&self, mark: Option<LogMark>) -> Saved {
        let now = Id::now_ms();
        Saved { mark, last_ms: if now == self.saved.last_ms { now + 1 } else { now } }
    }

    /// The batches that came after a checkpoint was begun, without the first ones.
    fn later(&self, number: u64, known: usize) -> Vec<Arc<Batch>> {
        let under_way = self.checkpoint.as_ref().filter(|under_way| under_way.number == number);
        under_way.and_then(|under_way| under_way.later.get(known..)).unwrap_or_default().to_vec()
    }

    /// The data file has what a commit of it was to write.
    pub(super) fn settle(&mut self, done: Attempt) {
        (self.saved, self.attempted, self.checkpoint) = (done.saved, None, None);
        self.no_checkpoint_before = None;
        if done.all {
            (self.changes, self.pending) = (Overlay::default(), Batch::new());
        }
        if let (Some(log), Some(mark)) = (&mut self.log, &done.saved.mark) {
            log.free(mark);
        }
        self.count();
    }

    /// Counts what is in the log alone.
    pub(super) fn count(&mut self) {
        let newest_ms = self.content.newest_ms;
        self.content = match (&self.log, self.saved.mark) {
            (Some(log), Some(mark)) if log.used() > 0 => {
                LogContent { commits: log.number() - mark.number, bytes: log.used(), newest_ms }
            }
            _ => LogContent::default(),
        };
    }
}
