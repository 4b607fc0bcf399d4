//! Programs that run now. What they write has their label from its first byte on, and not only once they have ended; a record of
//! each outlives Hob, so that a start marks what one wrote that was cut off.

use crate::{
    Shared,
    entry::changed_ns,
    path::RelPath,
    records::{RunningRecord, path_key},
    watch::{Snapshot, Was},
};
use rustix::fs::Stat;
use std::{
    collections::HashMap,
    pin::pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Wake, Waker},
    thread::{Thread, current, park},
    time::Duration,
};
use store::{Listing, Stamp, Tx};
use tool::{Id, Label, Result, Scope, UserId};

/// The most paths whose changes by others are told from those of one program.
const TOUCHED: usize = 10_000;
/// What two clocks of the system may differ by: files have the time of its last tick.
const TICK_NS: i64 = 20_000_000;

/// When the record of a program that can read nothing from outside is on the disk at last.
const SOON: Duration = Duration::from_secs(5);

/// A program that runs, or one that ran when Hob ended.
pub(crate) struct Running {
    pub id: Id,
    /// Who runs it.
    reader: UserId,
    /// The places that it can read.
    reads: Vec<String>,
    /// Those that it can write, as they were; none for a program of an earlier start.
    pub writes: Vec<(String, Option<Arc<Snapshot>>)>,
    /// The worst label of anything it could read so far.
    label: Mutex<Label>,
    pub since_ns: i64,
    touched: Mutex<HashMap<Vec<u8>, i64>>,
}

/// All of them.
#[derive(Default)]
pub(crate) struct Programs(Mutex<Vec<Arc<Running>>>);

pub(crate) fn now_ns() -> i64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(now.as_nanos()).unwrap_or(i64::MAX)
}

fn held<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Running {
    pub fn new(reader: UserId, reads: Vec<String>, writes: Vec<Arc<Snapshot>>, since_ns: i64) -> Self {
        let writes = writes.into_iter().map(|before| (before.place.key.clone(), Some(before))).collect();
        let (label, touched) = (Mutex::new(Label::Own), Mutex::default());
        Self { id: Id::new(), reader, reads, writes, label, since_ns, touched }
    }

    pub(crate) fn stored(id: Id, record: &RunningRecord) -> Self {
        Self {
            id,
            reader: record.reader,
            reads: record.reads.clone(),
            writes: record.writes.iter().map(|place| (place.clone(), None)).collect(),
            label: Mutex::new(record.stored_label()),
            since_ns: record.since_ns,
            touched: Mutex::default(),
        }
    }

    fn record(&self) -> RunningRecord {
        let writes = self.writes.iter().map(|(place, _)| place.clone()).collect();
        RunningRecord::new(self.reader, self.reads.clone(), writes, *held(&self.label), self.since_ns)
    }

    /// Whether it may have written what is at a path: of a folder, whether it may have made it.
    fn wrote(&self, place: &str, path: &str, stat: Option<&Stat>) -> bool {
        let Some((_, before)) = self.writes.iter().find(|(key, _)| key == place) else { return false };
        let Some(stat) = stat else { return true };
        match before {
            Some(before) => before.files.get(path).is_none_or(|was| was.is_changed(&Was::of(stat, None))),
            None => self.was_after(changed_ns(stat)),
        }
    }

    /// Whether a change at this time may be its own.
    pub fn was_after(&self, at_ns: i64) -> bool {
        at_ns >= self.since_ns.saturating_sub(TICK_NS)
    }

    /// When Hob itself changed this path, or a folder that it is in, since it began.
    pub fn touched(&self, place: &str, path: &str) -> Option<i64> {
        let touched = held(&self.touched);
        if touched.is_empty() {
            return None;
        }
        let mut at = Some(RelPath::parse(path).ok()?);
        let mut last = None;
        while let Some(path) = at {
            last = last.max(touched.get(&path_key(place, &path.text(), 0)).copied());
            at = path.parent();
        }
        last
    }
}

/// Whether a file that Hob changed at `touched_ns` was changed again since.
pub(crate) fn is_later(changed: i64, touched_ns: i64) -> bool {
    changed > touched_ns.saturating_add(TICK_NS)
}

/// A label as this reader has it.
fn label_for(label: Label, reader: UserId) -> Label {
    if label == Label::Member(reader) { Label::Own } else { label }
}

impl Programs {
    fn all(&self) -> Vec<Arc<Running>> {
        held(&self.0).clone()
    }

    pub fn add(&self, running: Arc<Running>) {
        held(&self.0).push(running);
    }

    pub fn remove(&self, id: Id) {
        held(&self.0).retain(|running| running.id != id);
    }

    /// Notes that Hob itself changed a path just now.
    pub fn touch(&self, place: &str, path: &str) {
        for running in self.all().iter().filter(|running| running.writes.iter().any(|(key, _)| key == place)) {
            let mut touched = held(&running.touched);
            if touched.len() < TOUCHED {
                touched.insert(path_key(place, path, 0), now_ns());
            }
        }
    }
}

impl Shared {
    /// Knows the programs that ran when Hob ended: what they wrote has no marks yet.
    pub(crate) fn load_running(&self) -> Result<()> {
        for entry in self.runs.list_in(Scope::Household, &Listing::default())? {
            self.programs.add(Arc::new(Running::stored(entry.id, &entry.value)));
        }
        Ok(())
    }

    /// All programs with the worst label of what each could read so far. What one writes, others that see its place read.
    fn labelled(&self) -> Result<Vec<(Arc<Running>, Label)>> {
        let mut all = vec![];
        for running in self.programs.all() {
            let mut label = *held(&running.label);
            for place in running.reads.iter().filter_map(|key| self.place_by_key(key)) {
                if label != Label::Outside {
                    label = label.max(self.worst_marked(running.reader, &place, &RelPath::default())?);
                }
            }
            all.push((running, label));
        }
        for _ in 0..all.len() {
            let mut is_settled = true;
            for at in 0..all.len() {
                let reads = |(other, _): &&(Arc<Running>, Label)| {
                    other.writes.iter().any(|(place, _)| all[at].0.reads.contains(place))
                };
                let reader = all[at].0.reader;
                let worst =
                    all.iter().filter(reads).fold(all[at].1, |worst, (_, label)| worst.max(label_for(*label, reader)));
                is_settled &= worst == all[at].1;
                all[at].1 = worst;
            }
            if is_settled {
                break;
            }
        }
        Ok(all)
    }

    /// The programs that write a place now, with their labels; without those whose words are the household's own.
    pub(crate) fn running_in(&self, place: &str) -> Result<Vec<(Arc<Running>, Label)>> {
        if !self.programs.all().iter().any(|running| running.writes.iter().any(|(key, _)| key == place)) {
            return Ok(vec![]);
        }
        let mut all = self.labelled()?;
        all.retain(|(running, label)| *label != Label::Own && running.writes.iter().any(|(key, _)| key == place));
        Ok(all)
    }

    /// The label that what is at a path has by programs that run; without its facts, by any that writes the place.
    pub(crate) fn running_label(&self, place: &str, path: &str, stat: Option<&Stat>) -> Result<Label> {
        let running = self.running_in(place)?;
        Ok(label_by(&running, place, path, stat, None))
    }

    /// Remembers the worst label so far of each program, before marks may go.
    pub(crate) async fn remember_labels(self: &Arc<Self>) {
        if self.programs.all().is_empty() {
            return;
        }
        let labelled = match self.labelled() {
            Ok(labelled) => labelled,
            Err(error) => {
                tracing::warn!(%error, "what programs can read could not be looked at: it counts as from outside");
                self.programs.all().into_iter().map(|running| (running, Label::Outside)).collect()
            }
        };
        for (running, label) in labelled {
            let is_worse = {
                let mut known = held(&running.label);
                let (old, now) = (*known, label.max(*known));
                *known = now;
                old != now
            };
            if is_worse && let Err(error) = store::without_change(self.store.write(self.keep(&running))).await {
                tracing::warn!(%error, "the label of a program could not be stored");
            }
        }
    }

    fn keep(self: &Arc<Self>, running: &Arc<Running>) -> impl FnMut(&Tx) -> store::Result<()> + Send + 'static + use<> {
        let (shared, running) = (self.clone(), running.clone());
        move |tx: &Tx| {
            if running.writes.is_empty() {
                return Ok(());
            }
            shared.runs.put(tx, running.id, &Stamp::household("workspace"), &running.record()).map(drop)
        }
    }

    /// A program begins: returns the worst label of what it can read. `label` is that of what else it reads. Blocks on the disk.
    pub(crate) fn begin(self: &Arc<Self>, running: &Arc<Running>, label: Label) -> Result<Label> {
        *held(&running.label) = label;
        self.programs.add(running.clone());
        let begun = self.label_now(running).and_then(|label| {
            let mut known = held(&running.label);
            *known = label.max(*known);
            drop(known);
            if running.writes.is_empty() {
                return Ok(label);
            }
            let keep = self.keep(running);
            match label {
                // The mark of what may taint it later is a write after this one, and so never on the disk without it.
                Label::Own => wait(store::without_change(self.store.write_soon(SOON, keep)))?,
                _ => wait(store::without_change(self.store.write(keep)))?,
            }
            Ok(label)
        });
        if begun.is_err() {
            self.programs.remove(running.id);
        }
        begun
    }

    /// The worst label of what a program could read so far.
    pub(crate) fn label_now(&self, running: &Running) -> Result<Label> {
        let all = self.labelled()?;
        let found = all.into_iter().find(|(other, _)| other.id == running.id).map(|(_, label)| label);
        Ok(found.unwrap_or(Label::Outside).max(*held(&running.label)))
    }

    /// A program is over, and what it wrote is marked.
    pub(crate) fn end_later(self: &Arc<Self>, id: Id) {
        self.programs.remove(id);
        let shared = self.clone();
        self.store.write_later(move |tx: &Tx| shared.runs.remove(tx, Scope::Household, id).map(drop));
    }

    /// A program is over, and that is stored at once: what others write from now on is not its own, also after a crash.
    pub(crate) async fn end(self: &Arc<Self>, id: Id) -> Result<()> {
        let shared = self.clone();
        let remove = move |tx: &Tx| shared.runs.remove(tx, Scope::Household, id).map(drop);
        store::without_change(self.store.write(remove)).await?;
        self.programs.remove(id);
        Ok(())
    }
}

/// The worst label that programs give to what is at a path.
pub(crate) fn label_by(
    running: &[(Arc<Running>, Label)],
    place: &str,
    path: &str,
    stat: Option<&Stat>,
    reader: Option<UserId>,
) -> Label {
    let writers = running.iter().filter(|(running, _)| running.wrote(place, path, stat));
    writers.fold(Label::Own, |worst, (_, label)| worst.max(reader.map_or(*label, |reader| label_for(*label, reader))))
}

/// Waits on this thread for a write, which another thread makes.
fn wait<F: Future>(work: F) -> F::Output {
    struct Unparks(Thread);
    impl Wake for Unparks {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unparks(current())));
    let mut work = pin!(work);
    loop {
        match work.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(done) => return done,
            Poll::Pending => park(),
        }
    }
}
