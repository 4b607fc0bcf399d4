//! The writer thread: it batches jobs into durable commits, because a commit costs a card far more than the bytes in it.

use crate::{
    EffectSource, Error, Result, effects,
    engine::{self, Engine},
    tx::Tx,
};
use redb::Durability;
use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};
use tokio::sync::oneshot;

/// At most this many jobs share a commit.
const BATCH: usize = 256;
/// How long a deferred job waits for a commit to share.
const PATIENCE: Duration = Duration::from_secs(5);

/// The result of a job. The caller restores its type, so that the code between is compiled once.
type Value = Box<dyn Any + Send>;
type Work = Box<dyn FnMut(&Tx) -> Result<Value> + Send>;

/// A job and the channel for its result.
struct Job {
    work: Work,
    /// The call whose effect this is.
    source: Option<EffectSource>,
    value: Option<Value>,
    to: Option<oneshot::Sender<Result<Value>>>,
}

impl Job {
    fn run(&mut self, tx: &Tx) -> Result<()> {
        self.value = Some((self.work)(tx)?);
        self.source.as_ref().map_or(Ok(()), |source| effects::mark(tx, source))
    }

    fn answer(self, committed: Result<()>) {
        let Self { work, value, to, .. } = self;
        // A job may hold a handle to the store: drop it before the caller goes on, who may drop the last one.
        drop(work);
        let answer = committed.and_then(|()| value.ok_or_else(lost));
        match to {
            // The caller may have gone; the write stands all the same.
            Some(to) => drop(to.send(answer)),
            None => {
                if let Err(e) = answer {
                    tracing::warn!(error = %e, "a deferred write was lost");
                }
            }
        }
    }
}

fn lost() -> Error {
    Error::Io("a write was lost".into())
}

fn closed() -> Error {
    Error::Io("the store is closed".into())
}

fn restored<T: 'static>(value: Value) -> Result<T> {
    value.downcast().map(|value| *value).map_err(|_| lost())
}

fn erase<T, F>(mut job: F) -> Work
where
    T: Send + 'static,
    F: FnMut(&Tx) -> Result<T> + Send + 'static,
{
    Box::new(move |tx| Ok(Box::new(job(tx)?)))
}

enum Urgency {
    /// Durable before it is answered.
    Now(Job),
    /// Answered as soon as it is visible; durable with the next commit, at the latest after this time.
    Soon(Job, Duration),
    /// Run with the next durable commit.
    Later(Job),
    /// Answered once everything before it is durable.
    Sync(oneshot::Sender<Result<()>>),
}

pub(crate) struct Writer {
    /// Whether all writes are refused.
    sealed: AtomicBool,
    /// Whether a visible commit may not be durable yet.
    unsynced: Arc<AtomicBool>,
    jobs: Option<mpsc::Sender<Urgency>>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Writer {
    pub fn start(engine: Arc<Engine>) -> Result<Self> {
        let (jobs, inbox) = mpsc::channel();
        let unsynced = Arc::new(AtomicBool::new(false));
        let shown = unsynced.clone();
        let thread = thread::Builder::new()
            .name("store-writer".into())
            .spawn(move || work(&engine, &inbox, &shown))
            .map_err(|e| Error::io("start the writer", &e))?;
        Ok(Self { sealed: AtomicBool::new(false), unsynced, jobs: Some(jobs), thread: Some(thread) })
    }

    /// Refuses every write from now on.
    pub fn seal(&self) {
        self.sealed.store(true, Ordering::SeqCst);
    }

    pub fn is_sealed(&self) -> bool {
        self.sealed.load(Ordering::SeqCst)
    }

    pub async fn write<T, F>(&self, job: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnMut(&Tx) -> Result<T> + Send + 'static,
    {
        self.send_write(erase(job), effects::sync_within()).await.and_then(restored)
    }

    pub async fn write_soon<T, F>(&self, within: Duration, job: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnMut(&Tx) -> Result<T> + Send + 'static,
    {
        self.send_write(erase(job), Some(within)).await.and_then(restored)
    }

    async fn send_write(&self, work: Work, within: Option<Duration>) -> Result<Value> {
        if self.is_sealed() { Err(Error::Restoring) } else { self.send_job(work, within).await }
    }

    /// A durable write, also when writes are refused.
    pub async fn commit<T, F>(&self, job: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnMut(&Tx) -> Result<T> + Send + 'static,
    {
        self.send_job(erase(job), None).await.and_then(restored)
    }

    /// Runs a job and returns its value once it is durable, or visible when it is to be durable `within` a time.
    async fn send_job(&self, work: Work, within: Option<Duration>) -> Result<Value> {
        let (to, answer) = oneshot::channel();
        let job = Job { work, source: effects::current(), value: None, to: Some(to) };
        self.send(match within {
            Some(within) => Urgency::Soon(job, within),
            None => Urgency::Now(job),
        })?;
        answer.await.unwrap_or_else(|_| Err(closed()))
    }

    /// Waits until everything written so far is durable; makes no commit where it is already.
    pub async fn sync(&self) -> Result<()> {
        if !self.unsynced.load(Ordering::Acquire) {
            return Ok(());
        }
        let (to, answer) = oneshot::channel();
        self.send(Urgency::Sync(to))?;
        answer.await.unwrap_or_else(|_| Err(closed()))
    }

    fn send(&self, job: Urgency) -> Result<()> {
        self.jobs.as_ref().ok_or_else(closed)?.send(job).map_err(|_| closed())
    }

    pub fn write_later<F>(&self, job: F)
    where
        F: FnMut(&Tx) -> Result<()> + Send + 'static,
    {
        let _ = self.send(Urgency::Later(Job { work: erase(job), source: None, value: None, to: None }));
    }
}

impl Drop for Writer {
    /// Commits the waiting jobs, then releases the file.
    fn drop(&mut self) {
        self.jobs.take();
        if let Some(thread) = self.thread.take()
            // A job may hold the last handle and drop it on the writer's own thread, which then just ends.
            && thread.thread().id() != thread::current().id()
        {
            let _ = thread.join();
        }
    }
}

fn work(engine: &Engine, inbox: &mpsc::Receiver<Urgency>, shown: &AtomicBool) {
    let mut patient: Vec<Job> = vec![];
    // When the next durable commit has to be made at the latest, and whether a visible commit waits for it.
    let (mut due, mut unsynced) = (None::<Instant>, false);
    // Why visible commits were lost; every sync returns it until a durable commit succeeds.
    let mut lost = None::<Error>;
    loop {
        let next = match due {
            None => inbox.recv().map_err(|_| mpsc::RecvTimeoutError::Disconnected),
            Some(due) => inbox.recv_timeout(due.saturating_duration_since(Instant::now())),
        };
        let closing = matches!(next, Err(mpsc::RecvTimeoutError::Disconnected));
        let (mut batch, mut syncs) = (vec![], vec![]);
        let (mut urgent, mut waiting) = (false, next.ok());
        let mut by = |after: Duration| {
            let at = Instant::now() + after;
            due = Some(due.map_or(at, |due| due.min(at)));
        };
        while let Some(job) = waiting {
            match job {
                Urgency::Now(job) => (urgent, _) = (true, batch.push(job)),
                Urgency::Soon(job, within) => {
                    by(within);
                    batch.push(job);
                }
                Urgency::Later(job) => {
                    by(PATIENCE);
                    patient.push(job);
                }
                Urgency::Sync(to) => syncs.push(to),
            }
            waiting = if batch.len() < BATCH { inbox.try_recv().ok() } else { None };
        }
        let visible = !batch.is_empty();
        let wanted = !syncs.is_empty() && (visible || unsynced);
        let had_lost = lost.clone();
        if urgent || closing || wanted || due.is_some_and(|due| due <= Instant::now()) {
            // Deferred jobs first: a caller that waits for this commit may drop the store afterwards.
            patient.append(&mut batch);
            due = None;
            lost = commit(engine, std::mem::take(&mut patient), true, unsynced).err().filter(|_| visible || unsynced);
            unsynced = false;
        } else if visible {
            // Before anybody reads what it writes.
            shown.store(true, Ordering::Release);
            // After a failure the file is opened again, as the last durable commit left it.
            lost = commit(engine, batch, false, false).err().or(lost);
            unsynced = lost.is_none();
        }
        shown.store(unsynced || lost.is_some(), Ordering::Release);
        let synced = had_lost.or_else(|| lost.clone()).map_or(Ok(()), Err);
        syncs.into_iter().for_each(|to| drop(to.send(synced.clone())));
        if closing {
            return;
        }
    }
}

/// Commits all jobs together, durably or only visibly. A failed job is removed and the others run again. With no job left
/// there is a commit only if `unsynced` ones wait for it.
fn commit(engine: &Engine, mut batch: Vec<Job>, durable: bool, unsynced: bool) -> Result<()> {
    while unsynced || !batch.is_empty() {
        match engine.with(|db| try_commit(db, &mut batch, durable)) {
            Ok(None) => {
                if durable {
                    engine.committed();
                }
                batch.into_iter().for_each(|job| job.answer(Ok(())));
                return Ok(());
            }
            Ok(Some((bad, error))) => batch.remove(bad).answer(Err(error)),
            Err(error) => {
                tracing::error!(%error, jobs = batch.len(), "a commit failed");
                if let Err(e) = engine.reopen() {
                    tracing::error!(error = %e, "the data file could not be opened again yet");
                }
                batch.into_iter().for_each(|job| job.answer(Err(error.clone())));
                return Err(error);
            }
        }
    }
    Ok(())
}

/// `Ok(Some((index, why)))` when a job failed and nothing was written.
fn try_commit(db: &redb::Database, batch: &mut [Job], durable: bool) -> Result<Option<(usize, Error)>> {
    let mut tx = db.begin_write()?;
    let durability = if durable { Durability::Immediate } else { Durability::None };
    tx.set_durability(durability).map_err(|e| Error::Io(e.to_string()))?;
    // Opening after a power cut takes milliseconds instead of a scan of the whole file.
    tx.set_quick_repair(durable);
    let ran = run(&Tx::new(&tx), batch);
    match ran {
        Ok(None) => {
            tx.commit()?;
            Ok(None)
        }
        Ok(bad) => {
            tx.abort()?;
            Ok(bad)
        }
        Err(error) => {
            drop(tx.abort());
            Err(error)
        }
    }
}

/// Runs the jobs within a transaction; returns the first that failed. A disk error fails the whole batch.
fn run(tx: &Tx, batch: &mut [Job]) -> Result<Option<(usize, Error)>> {
    for (i, job) in batch.iter_mut().enumerate() {
        let failed = match catch_unwind(AssertUnwindSafe(|| job.run(tx))) {
            Ok(Ok(())) => continue,
            Ok(Err(e @ (Error::Full | Error::Io(_)))) => return Err(e),
            Ok(Err(e)) => e,
            Err(_) => Error::Io("a write panicked; nothing of it was stored".into()),
        };
        return Ok(Some((i, failed)));
    }
    tx.put_raw(engine::META, engine::META_LAST, &tool::Id::now_ms().to_le_bytes())?;
    Ok(None)
}
