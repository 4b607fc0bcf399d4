//! A thread that wakes at deadlines: debounce times, and pins that have been on for long enough. It does not depend on the
//! runtime, so nothing that blocks a task keeps a pump running.

use std::{
    io,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

#[derive(Default)]
struct State {
    at: Option<Instant>,
    started: bool,
    closed: bool,
}

/// The next deadline.
#[derive(Default)]
pub(crate) struct Alarm {
    state: Mutex<State>,
    changed: Condvar,
    /// The work at a deadline; it returns the next one.
    #[allow(clippy::type_complexity)]
    due: Mutex<Option<Box<dyn Fn() -> Option<Instant> + Send>>>,
}

impl Alarm {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the work at each deadline.
    pub fn on_due(&self, due: impl Fn() -> Option<Instant> + Send + 'static) {
        *self.due.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(due));
    }

    /// Wakes the thread at this time, or earlier. The first call starts it.
    pub fn set(self: &Arc<Self>, at: Instant) {
        self.set_with(at, |run| std::thread::Builder::new().name("pins".into()).spawn(run).map(drop));
    }

    fn set_with(self: &Arc<Self>, at: Instant, spawn: impl FnOnce(Box<dyn FnOnce() + Send>) -> io::Result<()>) {
        let mut state = self.state();
        let at = state.at.map_or(at, |before| before.min(at));
        if state.started && state.at == Some(at) {
            return;
        }
        state.at = Some(at);
        if !state.started {
            let this = self.clone();
            // If it fails, the deadline stays, and the next call tries again.
            match spawn(Box::new(move || this.run())) {
                Ok(()) => state.started = true,
                Err(error) => tracing::error!(%error, "the thread of the pins could not be started"),
            }
        }
        self.changed.notify_one();
    }

    /// Ends the thread.
    pub fn close(&self) {
        self.state().closed = true;
        self.changed.notify_one();
    }

    fn run(&self) {
        loop {
            let mut state = self.state();
            loop {
                let wait = match state.at {
                    _ if state.closed => return,
                    Some(at) => at.saturating_duration_since(Instant::now()),
                    None => Duration::from_secs(3600),
                };
                if wait.is_zero() {
                    break;
                }
                state = self.changed.wait_timeout(state, wait).unwrap_or_else(PoisonError::into_inner).0;
            }
            state.at = None;
            drop(state);
            let next = {
                let due = self.due.lock().unwrap_or_else(PoisonError::into_inner);
                due.as_ref().and_then(|due| due())
            };
            if let Some(next) = next {
                let mut state = self.state();
                state.at = Some(state.at.map_or(next, |at| at.min(next)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn a_thread_that_could_not_be_started_is_started_by_the_next_deadline() {
        let alarm = Arc::<Alarm>::default();
        let (told, due) = mpsc::channel();
        alarm.on_due(move || {
            let _ = told.send(());
            None
        });
        let soon = Instant::now() + Duration::from_millis(1);
        alarm.set_with(soon, |_| Err(io::Error::other("no threads left")));
        // A later deadline does not make the first one late.
        alarm.set(Instant::now() + Duration::from_secs(3000));
        due.recv_timeout(Duration::from_secs(20)).unwrap();
        alarm.close();
    }
}
