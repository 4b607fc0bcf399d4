//! Edges: what drivers and calls report is debounced, coalesced and broadcast.
//!
//! The first edge after a pause is reported at once. Edges during the debounce time after it are counted as its bounce; at the end
//! of that time the level is compared, and reported if it is another. A pin that keeps flapping is reported less often, so that it
//! costs neither memory nor the time of others: each pin has one slot, and the broadcast has a bounded buffer.

use crate::{Pin, alarm::Alarm};
use rustix::time::{ClockId, clock_gettime};
use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant, SystemTime},
};
use tokio::sync::broadcast;

/// How many edges a slow listener may fall behind.
const BUFFERED: usize = 256;
/// The debounce time of pins without one.
const DEBOUNCE: Duration = Duration::from_millis(5);
/// The shortest time between two edges that are reported, in nanoseconds.
const SHORTEST: u64 = 1_000_000;
/// A pin that has reported this many edges without a pause is reported only so often.
const RUN: u16 = 50;
const PAUSE: u64 = 60_000_000;
const SLOW: u64 = 20_000_000;

/// A level that changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Edge {
    /// Which pin.
    pub pin: Pin,
    /// Its level now. With `active_low`, whether it is on.
    pub high: bool,
    /// When, in nanoseconds of the monotonic clock.
    pub at_ns: u64,
    /// When, by the clock on the wall.
    pub wall: SystemTime,
    /// How many edges since the last one were not reported: bounce, or a flapping line.
    pub coalesced: u32,
    /// Whether Hob drives the pin.
    pub driven: bool,
}

/// An edge as a driver reports it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RawEdge {
    pub pin: Pin,
    /// The electrical level.
    pub high: bool,
    /// Of the monotonic clock.
    pub at_ns: u64,
    /// How many edges before it were lost.
    pub lost: u32,
}

/// The edges of a pin since the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EdgeCount {
    /// Those that were reported.
    pub reported: u64,
    /// Those that were coalesced into others.
    pub coalesced: u64,
}

#[derive(Default)]
struct Line {
    reported: Option<bool>,
    /// The last level, and when it came.
    now: bool,
    now_at: u64,
    /// Until when edges are bounce.
    quiet_until: u64,
    /// Whether an edge came in that time.
    pending: bool,
    coalesced: u32,
    debounce: Option<u64>,
    active_low: bool,
    told_at: u64,
    run: u16,
    count: EdgeCount,
}

/// The levels that were reported, and who is reported.
pub(crate) struct Tracker {
    lines: Mutex<Vec<Line>>,
    edges: broadcast::Sender<Edge>,
    alarm: Arc<Alarm>,
    /// Raised with every level that is reported, and every other brightness.
    version: AtomicU64,
}

/// Now, in nanoseconds of the monotonic clock.
pub(crate) fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    (now.tv_sec as u64).saturating_mul(1_000_000_000).saturating_add(now.tv_nsec as u64)
}

impl Line {
    fn quiet(&self) -> u64 {
        let own = self.debounce.unwrap_or(DEBOUNCE.as_nanos() as u64).max(SHORTEST);
        if self.run > RUN { own.max(SLOW) } else { own }
    }

    /// Takes an edge; whether it is to be reported now.
    fn take(&mut self, high: bool, at: u64) -> bool {
        (self.now, self.now_at) = (high, at);
        if at < self.quiet_until {
            self.pending = true;
            self.coalesced = self.coalesced.saturating_add(1);
            return false;
        }
        self.reported != Some(high)
    }

    /// The edge at the end of a bounce, where the next one comes before the thread that reports it: on a busy machine a press
    /// would be lost.
    fn settle(&mut self, pin: Pin, at: u64) -> Option<Edge> {
        if !self.pending || at < self.quiet_until {
            return None;
        }
        self.pending = false;
        if self.reported == Some(self.now) {
            return None;
        }
        self.coalesced = self.coalesced.saturating_sub(1);
        let edge = self.report(pin, false);
        self.quiet_until += self.quiet();
        Some(edge)
    }

    fn report(&mut self, pin: Pin, driven: bool) -> Edge {
        self.run = if self.now_at.saturating_sub(self.told_at) < PAUSE { self.run.saturating_add(1) } else { 0 };
        self.told_at = self.now_at;
        self.reported = Some(self.now);
        self.pending = false;
        // The edge that settles a bounce is reported itself.
        let coalesced = std::mem::take(&mut self.coalesced);
        self.count.reported += 1;
        self.count.coalesced += u64::from(coalesced);
        let ago = Duration::from_nanos(now_ns().saturating_sub(self.now_at));
        let wall = SystemTime::now().checked_sub(ago).unwrap_or_else(SystemTime::now);
        Edge { pin, high: self.now, at_ns: self.now_at, wall, coalesced, driven }
    }
}

impl Tracker {
    pub fn new(alarm: Arc<Alarm>) -> Self {
        let lines = Pin::all().map(|_| Line::default()).collect();
        Self { lines: Mutex::new(lines), edges: broadcast::channel(BUFFERED).0, alarm, version: AtomicU64::new(0) }
    }

    fn lines(&self) -> MutexGuard<'_, Vec<Line>> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn subscribe(&self) -> broadcast::Receiver<Edge> {
        self.edges.subscribe()
    }

    pub fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// Something about a pin has changed that is no level: its brightness.
    pub fn touch(&self) {
        self.version.fetch_add(1, Ordering::AcqRel);
    }

    fn send(&self, edge: Edge) {
        self.version.fetch_add(1, Ordering::AcqRel);
        // An error only means that there is no receiver.
        let _ = self.edges.send(edge);
    }

    /// How a pin is debounced, and which level is on.
    pub fn set(&self, pin: Pin, debounce: Option<Duration>, active_low: bool) {
        let mut lines = self.lines();
        let Some(line) = lines.get_mut(usize::from(pin.number())) else { return };
        line.debounce = debounce.map(|time| time.as_nanos() as u64);
        if line.active_low != active_low {
            line.active_low = active_low;
            line.reported = None;
            self.version.fetch_add(1, Ordering::AcqRel);
        }
    }

    /// The last level that was reported.
    pub fn level(&self, pin: Pin) -> Option<bool> {
        self.lines().get(usize::from(pin.number())).and_then(|line| line.reported)
    }

    pub fn count(&self, pin: Pin) -> EdgeCount {
        self.lines().get(usize::from(pin.number())).map(|line| line.count).unwrap_or_default()
    }

    /// Takes an edge from a driver.
    pub fn edge(&self, raw: RawEdge) {
        let (settled, reported, due) = {
            let mut lines = self.lines();
            let Some(line) = lines.get_mut(usize::from(raw.pin.number())) else { return };
            let settled = line.settle(raw.pin, raw.at_ns);
            let high = raw.high != line.active_low;
            line.coalesced = line.coalesced.saturating_add(raw.lost);
            if line.reported.is_none() && !line.pending && line.told_at == 0 {
                // An edge says what was before it.
                line.reported = Some(!high);
            }
            if line.take(high, raw.at_ns) {
                let edge = line.report(raw.pin, false);
                line.quiet_until = raw.at_ns + line.quiet();
                (settled, Some(edge), None)
            } else {
                (settled, None, line.pending.then_some(line.quiet_until))
            }
        };
        if let Some(edge) = settled {
            self.send(edge);
        }
        if let Some(edge) = reported {
            self.send(edge);
        }
        if let Some(at) = due {
            self.alarm.set(instant(at));
        }
    }

    /// Takes a level that was read or written, which is reported at once if it is another. The first sight of a pin by reading is
    /// no change.
    pub fn seen(&self, pin: Pin, high: bool, driven: bool) {
        let reported = {
            let mut lines = self.lines();
            let Some(line) = lines.get_mut(usize::from(pin.number())) else { return };
            if line.reported == Some(high) {
                return;
            }
            let first = line.reported.is_none();
            (line.now, line.now_at) = (high, now_ns());
            if first && !driven {
                line.reported = Some(high);
                None
            } else {
                Some(line.report(pin, driven))
            }
        };
        match reported {
            Some(edge) => self.send(edge),
            None => drop(self.version.fetch_add(1, Ordering::AcqRel)),
        }
    }

    /// Reports the levels whose debounce time is over, and returns the next such time.
    pub fn due(&self) -> Option<Instant> {
        let now = now_ns();
        let (mut reported, mut next) = (vec![], None::<u64>);
        {
            let mut lines = self.lines();
            for (pin, line) in Pin::all().zip(lines.iter_mut()).filter(|(_, line)| line.pending) {
                if line.quiet_until > now {
                    next = Some(next.map_or(line.quiet_until, |at| at.min(line.quiet_until)));
                    continue;
                }
                line.pending = false;
                if line.reported != Some(line.now) {
                    // The edge that is reported is none that is coalesced.
                    line.coalesced = line.coalesced.saturating_sub(1);
                    reported.push(line.report(pin, false));
                    line.quiet_until = now + line.quiet();
                }
            }
        }
        reported.into_iter().for_each(|edge| self.send(edge));
        next.map(instant)
    }
}

fn instant(at_ns: u64) -> Instant {
    Instant::now() + Duration::from_nanos(at_ns.saturating_sub(now_ns()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pin() -> Pin {
        Pin::new(4).unwrap()
    }

    fn reported(edges: &mut broadcast::Receiver<Edge>) -> Vec<(bool, u32)> {
        std::iter::from_fn(|| edges.try_recv().ok()).map(|edge| (edge.high, edge.coalesced)).collect()
    }

    /// A tracker without a thread: the test calls `due` itself.
    fn tracker() -> (Tracker, broadcast::Receiver<Edge>) {
        let tracker = Tracker::new(Arc::default());
        let edges = tracker.subscribe();
        (tracker, edges)
    }

    fn edge(tracker: &Tracker, high: bool, at_ns: u64) {
        tracker.edge(RawEdge { pin: pin(), high, at_ns, lost: 0 });
    }

    #[test]
    fn the_first_edge_is_told_at_once_and_its_bounce_counted() {
        let (tracker, mut edges) = tracker();
        tracker.alarm.close();
        let began = now_ns();
        for (n, high) in [true, false, true, false, true].into_iter().enumerate() {
            edge(&tracker, high, began + n as u64 * 100_000);
        }
        assert_eq!(reported(&mut edges), [(true, 0)]);
        std::thread::sleep(DEBOUNCE);
        tracker.due();
        assert_eq!(reported(&mut edges), [], "it is high as before");
        edge(&tracker, false, began + 50_000_000);
        assert_eq!(reported(&mut edges), [(false, 4)]);
        assert_eq!(tracker.count(pin()), EdgeCount { reported: 2, coalesced: 4 });
    }

    #[test]
    fn another_level_after_the_bounce_is_told() {
        let (tracker, mut edges) = tracker();
        tracker.alarm.close();
        let began = now_ns();
        edge(&tracker, true, began);
        edge(&tracker, false, began + 1000);
        std::thread::sleep(DEBOUNCE);
        tracker.due();
        assert_eq!(reported(&mut edges), [(true, 0), (false, 0)]);
    }

    #[test]
    fn a_level_after_a_bounce_is_told_though_the_thread_is_late() {
        let (tracker, mut edges) = tracker();
        tracker.alarm.close();
        let began = now_ns();
        edge(&tracker, true, began);
        edge(&tracker, false, began + 1_000_000);
        // Nobody has called `due` since.
        edge(&tracker, true, began + 25_000_000);
        assert_eq!(reported(&mut edges), [(true, 0), (false, 0), (true, 0)]);
    }

    #[test]
    fn active_low_is_on_at_low() {
        let (tracker, mut edges) = tracker();
        tracker.set(pin(), None, true);
        edge(&tracker, false, now_ns());
        assert_eq!(reported(&mut edges), [(true, 0)]);
        assert_eq!(tracker.level(pin()), Some(true));
    }

    #[test]
    fn a_line_that_flaps_is_told_less_often() {
        let (tracker, mut edges) = tracker();
        tracker.alarm.close();
        tracker.set(pin(), Some(Duration::ZERO), false);
        let began = now_ns();
        // Ten seconds at 10 kHz: 200,000 edges, in simulated time.
        let mut most = 0;
        for n in 0..200_000_u64 {
            edge(&tracker, n % 2 == 0, began + n * 50_000);
            most += reported(&mut edges).len();
        }
        assert!((RUN as usize..700).contains(&most), "{most} edges were reported");
        let count = tracker.count(pin());
        assert!(count.reported + count.coalesced <= 200_000 && count.coalesced > 198_000, "{count:?}");
    }

    #[test]
    fn levels_that_are_read_are_told_once_and_the_first_sight_is_none() {
        let (tracker, mut edges) = tracker();
        for high in [false, false, true, true, false] {
            tracker.seen(pin(), high, false);
        }
        assert_eq!(reported(&mut edges), [(true, 0), (false, 0)]);
    }
}
