//! Starts the engine: one listener for pins, one for events, one clock.

use super::Rules;
use crate::definition::Trigger as Waits;
use board::Edge;
use futures::{
    FutureExt,
    future::{BoxFuture, ready},
};
use records::Undoer;
use std::sync::PoisonError;
use store::Part;
use tokio::sync::broadcast::{Receiver, error::RecvError};
use tokio_util::sync::CancellationToken;
use tool::{BusEvent, Scope, prelude::*};

impl Undoer for Rules {
    fn after<'a>(&'a self, _: &'a Cx, part: &'a Part) -> BoxFuture<'a, ()> {
        if let (Some(Scope::User(owner)), Some(id)) = (part.scope(), part.id()) {
            self.take_over(owner, id);
        }
        ready(()).boxed()
    }
}

impl Rules {
    /// Listens for pins and events and follows the clock until `closing`.
    ///
    /// # Errors
    /// `Failed` if the rules cannot be read.
    pub fn watch(&self, closing: &CancellationToken) -> Result<()> {
        *self.0.closing.lock().unwrap_or_else(PoisonError::into_inner) = closing.clone();
        let mut all = vec![];
        self.0.shelf.records().scan(|entry| all.push(entry))?;
        all.iter().for_each(|entry| self.put(entry));
        self.recover()?;
        let (events, clock) = (self.clone(), self.clone());
        let mut listener = self.0.ports.bus.listen(None);
        let hears = async move {
            while let Some(heard) = listener.next().await {
                match heard {
                    BusEvent::Event(event) => events.hear(&event),
                    BusEvent::Resync => {
                        tracing::warn!("there were more events than rules could follow; some were missed");
                        events.forget_states(false);
                    }
                }
            }
        };
        let pins = self.clone().hear_pins(self.0.home.board.edges());
        tokio::spawn(closing.clone().run_until_cancelled_owned(hears));
        tokio::spawn(closing.clone().run_until_cancelled_owned(pins));
        tokio::spawn(closing.clone().run_until_cancelled_owned(async move { clock.look().await }));
        Ok(())
    }

    /// Forgets what may have changed while events were lost: states that have to last begin again, and so do thresholds. Of pins
    /// only, or of all that the bus reports.
    pub(crate) fn forget_states(&self, pins: bool) {
        for live in self.all_live() {
            for (at, trigger) in live.definition.triggers.iter().enumerate() {
                if matches!(trigger, Waits::Pin { .. }) != pins {
                    continue;
                }
                self.end_hold(&live, at);
                live.watch(at, |watch| (watch.known, watch.beyond) = (None, None));
            }
        }
    }

    /// Follows the pins straight from the board, ahead of everybody who listens to the bus.
    async fn hear_pins(self, mut edges: Receiver<Edge>) {
        let (mut missed, mut said) = (0_u64, tokio::time::Instant::now());
        loop {
            match edges.recv().await {
                Ok(edge) => self.edge(edge.pin.number(), edge.high),
                Err(RecvError::Lagged(count)) => {
                    missed = missed.saturating_add(count);
                    self.forget_states(true);
                }
                Err(RecvError::Closed) => return,
            }
            if missed > 0 && said.elapsed() >= std::time::Duration::from_secs(10) {
                tracing::warn!(missed, "a pin changes faster than rules follow; the newest changes count");
                (missed, said) = (0, tokio::time::Instant::now());
            }
        }
    }
}
