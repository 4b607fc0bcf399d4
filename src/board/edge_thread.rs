//! The thread that waits for edges of the GPIO character device. It sleeps until the kernel has one.

use crate::{Error, Pin, Result, driver::Sink, edges::RawEdge};
use gpiocdev::{Request, line::EdgeKind};
use rustix::{
    event::{EventfdFlags, PollFd, PollFlags, eventfd, poll},
    fd::OwnedFd,
};
use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

/// How many edges are read at once.
const BATCH: usize = 16;
/// With more edges than this in such a time, a line flaps: the thread then pauses, and the kernel keeps the latest edges.
const MANY: u32 = 200;
const WITHIN: Duration = Duration::from_millis(100);
const REST: Duration = Duration::from_millis(5);

struct Shared {
    requests: Mutex<BTreeMap<Pin, Arc<Request>>>,
    /// Written when the requests changed.
    wake: OwnedFd,
    closed: AtomicBool,
    sink: Sink,
}

/// Waits for the edges of all watched lines; ends when it is dropped.
pub(crate) struct EdgeThread(Arc<Shared>);

impl EdgeThread {
    pub fn start(sink: Sink) -> Result<Self> {
        let failed = |why: std::io::Error| Error::Unsupported(format!("edges cannot be waited for here: {why}"));
        let wake = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC).map_err(|why| failed(why.into()))?;
        let shared = Arc::new(Shared { requests: Mutex::default(), wake, closed: AtomicBool::new(false), sink });
        let own = shared.clone();
        std::thread::Builder::new().name("edges".into()).spawn(move || own.run()).map_err(failed)?;
        Ok(Self(shared))
    }

    pub fn add(&self, pin: Pin, request: Arc<Request>) {
        self.0.requests().insert(pin, request);
        self.0.wake();
    }

    pub fn remove(&self, pin: Pin) {
        if self.0.requests().remove(&pin).is_some() {
            self.0.wake();
        }
    }
}

impl Drop for EdgeThread {
    fn drop(&mut self) {
        self.0.closed.store(true, Ordering::Release);
        self.0.wake();
    }
}

impl Shared {
    fn requests(&self) -> MutexGuard<'_, BTreeMap<Pin, Arc<Request>>> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wake(&self) {
        // It is full only when the thread has not yet woken.
        let _ = rustix::io::write(&self.wake, &1_u64.to_ne_bytes());
    }

    fn run(&self) {
        let (mut many, mut since) = (0_u32, Instant::now());
        let mut seen: BTreeMap<Pin, u32> = BTreeMap::new();
        while !self.closed.load(Ordering::Acquire) {
            let watched: Vec<(Pin, Arc<Request>)> = self.requests().iter().map(|(p, r)| (*p, r.clone())).collect();
            seen.retain(|pin, _| watched.iter().any(|(watched, _)| watched == pin));
            let mut waits = vec![PollFd::new(&self.wake, PollFlags::IN)];
            waits.extend(watched.iter().map(|(_, request)| PollFd::new(request.as_ref(), PollFlags::IN)));
            if let Err(why) = poll(&mut waits, None)
                && why != rustix::io::Errno::INTR
            {
                tracing::error!(%why, "edges can no longer be waited for");
                return;
            }
            let ready: Vec<bool> = waits.iter().map(|wait| !wait.revents().is_empty()).collect();
            drop(waits);
            if ready.first() == Some(&true) {
                let _ = rustix::io::read(&self.wake, &mut [0; 8]);
            }
            for (pin, request) in watched.iter().zip(&ready[1..]).filter(|(_, ready)| **ready).map(|(line, _)| line) {
                match self.read(*pin, request, seen.entry(*pin).or_default()) {
                    Ok(edges) => many += edges,
                    Err(error) => {
                        tracing::warn!(%pin, %error, "a line is no longer watched");
                        self.requests().remove(pin);
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

    fn read(&self, pin: Pin, request: &Request, last: &mut u32) -> gpiocdev::Result<u32> {
        let each = request.edge_event_u64_size();
        let mut buffer = vec![0_u64; each * BATCH];
        let words = request.read_edge_events_into_slice(&mut buffer)?;
        let mut count = 0;
        for event in buffer[..words].chunks_exact(each) {
            let event = request.edge_event_from_slice(event)?;
            // Their numbers follow one another, unless the kernel dropped some.
            let lost = event.line_seqno.saturating_sub(last.saturating_add(1));
            *last = event.line_seqno;
            count += 1;
            (self.sink)(RawEdge { pin, high: event.kind == EdgeKind::Rising, at_ns: event.timestamp_ns, lost });
        }
        Ok(count)
    }
}
