//! The events of a run on their way to its listener. The first are held back while the model does not pause, so that a
//! message and an answer that is there at once are stored together before a client has either.

use crate::events::RunEvent;
use std::{
    mem,
    sync::{Mutex, MutexGuard, PoisonError},
};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio_util::sync::CancellationToken;

/// The sender of a run's events.
pub(crate) struct Outbox {
    to: UnboundedSender<RunEvent>,
    /// The events so far; `None` once they were released.
    held: Mutex<Option<Vec<RunEvent>>>,
    /// Cancelled when they are.
    released: CancellationToken,
}

impl Outbox {
    /// An outbox that holds the first events back, and its listener's end.
    pub fn holding() -> (Self, UnboundedReceiver<RunEvent>) {
        let (to, steps) = unbounded_channel();
        (Self { to, held: Mutex::new(Some(vec![])), released: CancellationToken::new() }, steps)
    }

    /// An outbox that holds nothing back.
    pub fn open() -> (Self, UnboundedReceiver<RunEvent>) {
        let (outbox, steps) = Self::holding();
        outbox.release();
        (outbox, steps)
    }

    /// Cancelled once the first events were released.
    pub fn released(&self) -> CancellationToken {
        self.released.clone()
    }

    fn held(&self) -> MutexGuard<'_, Option<Vec<RunEvent>>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends an event, or holds it back. The run continues without a listener.
    pub fn send(&self, event: RunEvent) {
        match &mut *self.held() {
            Some(held) => held.push(event),
            None => drop(self.to.send(event)),
        }
    }

    /// Whether any event is held back.
    pub fn holds_any(&self) -> bool {
        self.held().as_ref().is_some_and(|held| !held.is_empty())
    }

    /// Releases the events that are held back; with none, the next are still held.
    pub fn release_held(&self) {
        if self.holds_any() {
            self.release();
        }
    }

    /// Holds back nothing from now on.
    pub fn release(&self) {
        let mut held = self.held();
        mem::take(&mut *held).into_iter().flatten().for_each(|event| drop(self.to.send(event)));
        self.released.cancel();
    }

    /// Whether nobody listens.
    pub fn is_closed(&self) -> bool {
        self.to.is_closed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(n: u8) -> RunEvent {
        RunEvent::Text { delta: n.to_string() }
    }

    #[test]
    fn the_first_events_wait_and_keep_their_order() {
        let (outbox, mut steps) = Outbox::holding();
        outbox.release_held();
        assert!(!outbox.released().is_cancelled() && !outbox.holds_any());
        (0..2).for_each(|n| outbox.send(text(n)));
        assert!(steps.try_recv().is_err() && outbox.holds_any());
        outbox.release_held();
        outbox.send(text(2));
        let got: Vec<String> = std::iter::from_fn(|| steps.try_recv().ok())
            .map(|step| if let RunEvent::Text { delta } = step { delta } else { panic!() })
            .collect();
        assert_eq!(got, ["0", "1", "2"]);
        assert!(outbox.released().is_cancelled() && !outbox.holds_any());
    }
}
