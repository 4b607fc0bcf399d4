//! The writer thread: it batches jobs into durable commits, because a commit costs a card far more than the bytes in it, and
//! puts the log into the data file.

use crate::{ChangeSource, EffectSource, Error, Result, effects, engine::Engine, journal, tx::Tx};
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
/// After how long without a write the store counts as idle.
const IDLE: Duration = Duration::from_secs(60);
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
    /// The change this belongs to.
    change: Option<ChangeSource>,
    value: Option<Value>,
    to: Option<oneshot::Sender<Result<Value>>>,
}

impl Job {
    fn run(&mut self, tx: &Tx) -> Result<()> {
        tx.begin(self.change.is_some());
        self.value = Some((self.work)(tx)?);
        self.change.as_ref().map_or(Ok(()), |change| journal::store(tx, change))?;
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
    /// Store everything, and make the data file complete without its log.
    Complete(oneshot::Sender<Result<()>>),
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
        let job = Job { work, source: effects::current(), change: journal::source(), value: None, to: Some(to) };
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

    /// Stores the jobs that wait, and makes the data file complete without its log.
    pub async fn complete(&self) -> Result<()> {
        let (to, answer) = oneshot::channel();
        self.send(Urgency::Complete(to))?;
        answer.await.unwrap_or_else(|_| Err(closed()))
    }

    pub fn write_later<F>(&self, job: F)
    where
        F: FnMut(&Tx) -> Result<()> + Send + 'static,
    {
        let _ = self.send(Urgency::Later(Job { work: erase(job), source: None, change: None, value: None, to: None }));
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
    // Returns when the last checkpoint has ended.
    thread::scope(|checkpoints| {
        // It is written while later batches are appended.
        let tidy = |idle| {
            if engine.begin_checkpoint(idle) {
                let named = thread::Builder::new().name("store-checkpoint".into());
                if named.spawn_scoped(checkpoints, || engine.make_checkpoint()).is_err() {
                    engine.make_checkpoint();
                }
            }
        };
        work_with(engine, inbox, shown, &tidy);
    });
}

fn work_with(engine: &Engine, inbox: &mpsc::Receiver<Urgency>, shown: &AtomicBool, tidy: &dyn Fn(bool)) {
    let mut patient: Vec<Job> = vec![];
    // When the next durable commit has to be made at the latest, and whether a visible commit waits for it.
    let (mut due, mut unsynced) = (None::<Instant>, false);
    // Whether the last durable commit failed: then no write is only visible, or they would gather without bound.
    let mut failing = false;
    let mut company = Company::default();
    loop {
        let next = match due {
            None if engine.wants_idle() => inbox.recv_timeout(IDLE),
            None => inbox.recv().map_err(|_| mpsc::RecvTimeoutError::Disconnected),
            Some(due) => inbox.recv_timeout(due.saturating_duration_since(Instant::now())),
        };
        let closing = matches!(next, Err(mpsc::RecvTimeoutError::Disconnected));
        if due.is_none() && matches!(next, Err(mpsc::RecvTimeoutError::Timeout)) {
            tidy(true);
        }
        let (mut batch, mut syncs, mut complete) = (vec![], vec![], vec![]);
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
                    urgent |= failing;
                    batch.push(job);
                }
                Urgency::Complete(to) => (urgent, _) = (true, complete.push(to)),
                Urgency::Later(job) => {
                    by(PATIENCE);
                    patient.push(job);
                }
                Urgency::Sync(to) => syncs.push(to),
            }
            waiting = if batch.len() < BATCH { company.next(inbox, batch.len()) } else { None };
        }
        let visible = !batch.is_empty();
        let wanted = !syncs.is_empty() && (visible || unsynced);
        let mut synced = Ok(());
        if urgent || closing || wanted || due.is_some_and(|due| due <= Instant::now()) {
            // Deferred jobs first: a caller that waits for this commit may drop the store afterwards.
            patient.append(&mut batch);
            let jobs = std::mem::take(&mut patient);
            synced = company.measure(jobs.len(), || commit(engine, jobs, true));
            failing = synced.is_err();
            unsynced &= failing;
            // Visible writes are tried again.
            due = unsynced.then(|| Instant::now() + PATIENCE);
        } else if visible {
            // Before anybody reads what it writes.
            shown.store(true, Ordering::Release);
            unsynced |= commit(engine, batch, false).is_ok();
        }
        shown.store(unsynced, Ordering::Release);
        syncs.into_iter().for_each(|to| drop(to.send(synced.clone())));
        // After the callers have their answers.
        tidy(false);
        if !complete.is_empty() {
            let done = engine.complete();
            complete.into_iter().for_each(|to| drop(to.send(done.clone())));
        }
        if closing {
            if let Err(error) = engine.complete() {
                tracing::warn!(%error, "the last writes stay in the log; the next start reads them from there");
            }
            return;
        }
    }
}

/// How long a batch waits for more jobs. Callers that were answered together often write again together; without a short wait,
/// the first of them would have a commit alone, and the others the next one.
#[derive(Default)]
struct Company {
    /// How many jobs the last batch had.
    expected: usize,
    /// The longest wait: a part of what the last commit took.
    wait: Duration,
    until: Option<Instant>,
}

impl Company {
    const LONGEST: Duration = Duration::from_millis(1);

    /// The next job for a batch that has `so_far`.
    fn next(&mut self, inbox: &mpsc::Receiver<Urgency>, so_far: usize) -> Option<Urgency> {
        if let Ok(job) = inbox.try_recv() {
            return Some(job);
        }
        if so_far == 0 || so_far >= self.expected {
            return None;
        }
        let until = *self.until.get_or_insert_with(|| Instant::now() + self.wait);
        inbox.recv_timeout(until.saturating_duration_since(Instant::now())).ok()
    }

    fn measure<T>(&mut self, jobs: usize, commit: impl FnOnce() -> T) -> T {
        let begun = Instant::now();
        let done = commit();
        (self.expected, self.wait, self.until) = (jobs, (begun.elapsed() / 2).min(Self::LONGEST), None);
        done
    }
}

/// Stores what all jobs change together, durably or only visibly. A failed job is undone alone.
fn commit(engine: &Engine, mut batch: Vec<Job>, durable: bool) -> Result<()> {
    let mut failed: Vec<Option<Error>> = batch.iter().map(|_| None).collect();
    let stored = engine.commit(durable, &mut |tx| {
        for (job, failed) in batch.iter_mut().zip(&mut failed) {
            let ran = catch_unwind(AssertUnwindSafe(|| job.run(tx)));
            let error = match ran {
                Ok(Ok(())) => {
                    tx.keep();
                    continue;
                }
                Ok(Err(error)) => error,
                Err(_) => Error::Io("a write panicked; nothing of it was stored".into()),
            };
            tx.undo();
            if tx.is_unreadable() {
                return Err(error);
            }
            *failed = Some(error);
        }
        Ok(())
    });
    for (job, failed) in batch.into_iter().zip(failed) {
        job.answer(failed.map_or_else(|| stored.clone(), Err));
    }
    stored
}
