//! The thread that waits for edges of the GPIO character device. It sleeps until the kernel has one.

use crate::{Error, Pin, Result, driver::Sink, edges::RawEdge};
use gpiocdev::{Request, line::EdgeKind};
use rustix::{
    event::{EventfdFlags, PollFd, PollFlags, eventfd, poll},
    fd::{AsFd, OwnedFd},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// How many edges are read at once.
const BATCH: usize = 16;
/// With more edges than this in such a time, a line flaps: the thread then pauses, and the kernel keeps the latest edges.
const MANY: u32 = 200;
const WITHIN: Duration = Duration::from_millis(100);
const REST: Duration = Duration::from_millis(5);
/// How long is waited for the thread to let go of a line.
const LET_GO: Duration = Duration::from_millis(200);

/// A requested line.
pub(crate) trait Watched: AsFd + Send + Sync {
    /// Reads edges that are there and reports them; how many. `last` is the number of the last one before.
    fn report(&self, pin: Pin, last: &mut u32, sink: &Sink) -> Result<u32, String>;
}

impl Watched for Request {
    fn report(&self, pin: Pin, last: &mut u32, sink: &Sink) -> Result<u32, String> {
        let failed = |why: gpiocdev::Error| why.to_string();
        let each = self.edge_event_u64_size();
        let mut buffer = vec![0_u64; each * BATCH];
        let words = self.read_edge_events_into_slice(&mut buffer).map_err(failed)?;
        let mut count = 0;
        for event in buffer[..words].chunks_exact(each) {
            let event = self.edge_event_from_slice(event).map_err(failed)?;
            // Their numbers follow one another, unless the kernel dropped some.
            let lost = event.line_seqno.saturating_sub(last.saturating_add(1));
            *last = event.line_seqno;
            count += 1;
            sink(RawEdge { pin, high: event.kind == EdgeKind::Rising, at_ns: event.timestamp_ns, lost });
        }
        Ok(count)
    }
}

type Lines = BTreeMap<Pin, Arc<dyn Watched>>;

#[derive(Default)]
struct State {
    lines: Lines,
    /// Raised when a line is removed, and the number that the thread has seen: it then holds no line that is not in `lines`.
    removed: u64,
    let_go: u64,
    /// The lines that are no longer watched because they failed, until that was asked for.
    lost: BTreeSet<Pin>,
    closed: bool,
    ended: bool,
}

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    /// Written when the lines changed.
    wake: OwnedFd,
    sink: Sink,
}

/// Waits for the edges of all watched lines; ends when it is dropped.
pub(crate) struct EdgeThread(Arc<Shared>);

impl EdgeThread {
    pub fn start(sink: Sink) -> Result<Self> {
        let failed = |why: std::io::Error| Error::Unsupported(format!("edges cannot be waited for here: {why}"));
        let wake = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC).map_err(|why| failed(why.into()))?;
        let shared = Arc::new(Shared { state: Mutex::default(), changed: Condvar::new(), wake, sink });
        let own = shared.clone();
        std::thread::Builder::new().name("edges".into()).spawn(move || own.run()).map_err(failed)?;
        Ok(Self(shared))
    }

    /// Watches a line.
    pub fn add(&self, pin: Pin, line: Arc<dyn Watched>) {
        let mut state = self.0.state();
        state.lost.remove(&pin);
        state.lines.insert(pin, line);
        drop(state);
        self.0.wake();
    }

    /// Watches a line no longer. The thread has let go of it afterwards, so that it can be requested again; if the thread does
    /// not answer for long, that is not waited for.
    pub fn remove(&self, pin: Pin) {
        let mut state = self.0.state();
        state.lost.remove(&pin);
        // A line that failed may still be held by the thread, too.
        state.lines.remove(&pin);
        state.removed += 1;
        let (wanted, until) = (state.removed, Instant::now() + LET_GO);
        self.0.wake();
        while state.let_go < wanted && !state.ended {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                tracing::warn!(%pin, "the thread of the edges still holds this line");
                return;
            }
            state = self.0.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// The lines that are no longer watched because they failed; each is returned once.
    pub fn lost(&self) -> Vec<Pin> {
        std::mem::take(&mut self.0.state().lost).into_iter().collect()
    }

    /// Whether it still waits for edges.
    pub fn is_running(&self) -> bool {
        !self.0.state().ended
    }
}

impl Drop for EdgeThread {
    fn drop(&mut self) {
        self.0.state().closed = true;
        self.0.wake();
    }
}

/// Says that the thread has ended, however it did.
struct Ends<'a>(&'a Shared);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        let lost = std::mem::take(&mut state.lines);
        state.lost.extend(lost.keys());
        state.ended = true;
        drop(state);
        drop(lost);
        self.0.changed.notify_all();
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wake(&self) {
        // It is full only when the thread has not yet woken.
        let _ = rustix::io::write(&self.wake, &1_u64.to_ne_bytes());
    }

    /// The lines to wait for; nothing else is held from now on. `None` at the end.
    fn lines(&self) -> Option<Vec<(Pin, Arc<dyn Watched>)>> {
        let mut state = self.state();
        state.let_go = state.removed;
        self.changed.notify_all();
        (!state.closed).then(|| state.lines.iter().map(|(pin, line)| (*pin, line.clone())).collect())
    }

    /// Watches a line no longer that failed, unless another request has taken its place.
    fn lose(&self, pin: Pin, line: &Arc<dyn Watched>) {
        let mut state = self.state();
        if state.lines.get(&pin).is_some_and(|now| Arc::ptr_eq(now, line)) {
            state.lines.remove(&pin);
            state.lost.insert(pin);
        }
    }

    fn run(&self) {
        let _ends = Ends(self);
        let (mut many, mut since) = (0_u32, Instant::now());
        let mut seen: BTreeMap<Pin, u32> = BTreeMap::new();
        while let Some(watched) = self.lines() {
            seen.retain(|pin, _| watched.iter().any(|(watched, _)| watched == pin));
            let mut waits = vec![PollFd::new(&self.wake, PollFlags::IN)];
            waits.extend(watched.iter().map(|(_, line)| PollFd::from_borrowed_fd(line.as_fd(), PollFlags::IN)));
            match poll(&mut waits, None) {
                Ok(_) => {}
                Err(rustix::io::Errno::INTR) => continue,
                Err(why) => {
                    tracing::error!(%why, "edges can no longer be waited for");
                    return;
                }
            }
            let ready: Vec<bool> = waits.iter().map(|wait| !wait.revents().is_empty()).collect();
            drop(waits);
            if ready.first() == Some(&true) {
                let _ = rustix::io::read(&self.wake, &mut [0; 8]);
            }
            for ((pin, line), _) in watched.iter().zip(&ready[1..]).filter(|(_, ready)| **ready) {
                match line.report(*pin, seen.entry(*pin).or_default(), &self.sink) {
                    Ok(edges) => many += edges,
                    Err(error) => {
                        tracing::warn!(%pin, %error, "a line is no longer watched, and read now and then");
                        self.lose(*pin, line);
                    }
                }
            }
            if since.elapsed() > WITHIN {
                (many, since) = (0, Instant::now());
            } else if many > MANY {
                std::thread::sleep(REST);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fd::BorrowedFd;

    /// A line whose edges are what is written to it, or that fails.
    struct Fake(OwnedFd, bool);

    impl Fake {
        fn new(fails: bool) -> Arc<Self> {
            Arc::new(Self(eventfd(0, EventfdFlags::NONBLOCK).unwrap(), fails))
        }
        fn edge(&self) {
            rustix::io::write(&self.0, &1_u64.to_ne_bytes()).unwrap();
        }
    }
    impl AsFd for Fake {
        fn as_fd(&self) -> BorrowedFd<'_> {
            self.0.as_fd()
        }
    }
    impl Watched for Fake {
        fn report(&self, pin: Pin, last: &mut u32, sink: &Sink) -> Result<u32, String> {
            if self.1 {
                return Err("gone".into());
            }
            rustix::io::read(&self.0, &mut [0; 8]).map_err(|why| why.to_string())?;
            *last += 1;
            sink(RawEdge { pin, high: true, at_ns: 0, lost: 0 });
            Ok(1)
        }
    }

    fn pin(n: i64) -> Pin {
        Pin::new(n).unwrap()
    }

    #[test]
    fn a_line_that_is_removed_is_free_for_another_request() {
        let (told, edges) = std::sync::mpsc::channel();
        let thread = EdgeThread::start(Arc::new(move |edge| told.send(edge.pin).unwrap_or_default())).unwrap();
        for _ in 0..200 {
            let line = Fake::new(false);
            thread.add(pin(4), line.clone());
            line.edge();
            // It waits with the line by now.
            assert_eq!(edges.recv_timeout(Duration::from_secs(20)).unwrap(), pin(4));
            thread.remove(pin(4));
            assert_eq!(Arc::strong_count(&line), 1, "only this test holds it");
        }
        thread.remove(pin(5));
        assert!(thread.is_running() && thread.lost().is_empty());
    }

    #[test]
    fn a_line_that_fails_is_told_and_may_be_added_again() {
        let (told, edges) = std::sync::mpsc::channel();
        let thread = EdgeThread::start(Arc::new(move |edge| told.send(edge.pin).unwrap_or_default())).unwrap();
        let (good, bad) = (Fake::new(false), Fake::new(true));
        thread.add(pin(4), bad.clone());
        thread.add(pin(5), good.clone());
        bad.edge();
        let until = Instant::now() + Duration::from_secs(20);
        let mut lost = vec![];
        while lost.is_empty() && Instant::now() < until {
            std::thread::yield_now();
            lost = thread.lost();
        }
        assert_eq!((lost, thread.lost()), (vec![pin(4)], vec![]));
        good.edge();
        assert_eq!(edges.recv_timeout(Duration::from_secs(20)).unwrap(), pin(5), "others are still watched");
        thread.remove(pin(4));
        assert_eq!(Arc::strong_count(&bad), 1);
        let again = Fake::new(false);
        thread.add(pin(4), again.clone());
        again.edge();
        assert_eq!(edges.recv_timeout(Duration::from_secs(20)).unwrap(), pin(4));
    }
}
