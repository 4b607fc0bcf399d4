//! Shares memory and processor time among calls, so that all instances together stay within one budget.
//!
//! An instance can grow only while it computes. A call therefore reserves memory up to its limit for each turn, and returns
//! the part it did not use when the turn ends: calls that wait for a server hold only what they have touched. A turn is
//! granted its whole need at once, so the call that was granted a turn last can always have another one, and calls never
//! wait for each other in a circle.

use crate::{Fault, Limits};
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::sync::oneshot;

/// Memory of an instance beside its linear memory: tables, pending answers, its share of the interpreter's stacks.
const OVERHEAD: usize = 2 << 20;
/// The most that all instances use together, however large the machine is.
const MOST: usize = 256 << 20;

/// The budget of a machine with `total` bytes of memory: a quarter, at least enough for two calls, at most 256 MB.
pub fn memory_budget(total: u64) -> usize {
    let least = 2 * (Limits::default().memory + OVERHEAD);
    usize::try_from(total / 4).unwrap_or(MOST).clamp(least, MOST)
}

/// The kind of request for memory. Calls in progress come before new ones, so that those that hold memory end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Caller {
    /// A call that nothing waits for but its caller.
    New,
    /// A call that another tool's call waits for.
    Nested,
    /// A call that has run before and has an answer to take.
    Resumed,
}

impl Caller {
    /// How long it waits. Nested calls hold up a call that has memory itself, so they give up earlier.
    pub(crate) fn patience(self) -> Duration {
        match self {
            Caller::New => Duration::from_secs(20),
            Caller::Nested => Duration::from_secs(10),
            Caller::Resumed => Duration::from_secs(30),
        }
    }
}

pub(crate) struct Budget {
    memory: usize,
    state: Mutex<State>,
}

struct State {
    free_memory: usize,
    free_slots: usize,
    under_way: VecDeque<Waiter>,
    new: VecDeque<Waiter>,
}

struct Waiter {
    bytes: usize,
    granted: oneshot::Sender<Turn>,
}

/// The right to compute, and memory to grow into. Dropping it returns both.
pub(crate) struct Turn {
    budget: Arc<Budget>,
    bytes: usize,
}

/// The memory of an instance between its turns. Dropping it returns the memory, so it must outlive the instance.
pub(crate) struct Reservation {
    budget: Arc<Budget>,
    bytes: usize,
}

impl Budget {
    /// `memory` is in bytes; `slots` is how many calls compute at the same time.
    pub(crate) fn new(memory: usize, slots: usize) -> Arc<Self> {
        let state = State { free_memory: memory, free_slots: slots, under_way: VecDeque::new(), new: VecDeque::new() };
        Arc::new(Self { memory, state: Mutex::new(state) })
    }

    /// The reservation of a call that has no instance yet.
    pub(crate) fn reservation(self: &Arc<Self>) -> Reservation {
        Reservation { budget: self.clone(), bytes: 0 }
    }

    /// Waits for a turn in which the instance behind `held` may grow to `limit` bytes of linear memory.
    ///
    /// # Errors
    /// [`Fault::Busy`] when none came within the caller's patience.
    pub(crate) async fn turn(
        self: &Arc<Self>,
        held: &Reservation,
        limit: usize,
        caller: Caller,
        patience: Duration,
    ) -> Result<Turn, Fault> {
        let bytes = (limit + OVERHEAD).saturating_sub(held.bytes);
        let busy = Fault::Busy { memory: self.memory, started: caller == Caller::Resumed };
        // Others may be next when this wait ends in vain; dropped after the receiver.
        let _others = AdmitOnDrop(self.clone());
        let (granted, turn) = oneshot::channel();
        {
            let mut state = self.state();
            let queue = if caller == Caller::New { &mut state.new } else { &mut state.under_way };
            queue.push_back(Waiter { bytes, granted });
        }
        self.admit();
        match tokio::time::timeout(patience, turn).await {
            Ok(Ok(turn)) => Ok(turn),
            _ => Err(busy),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[cfg(test)]
    pub(crate) fn free_slots(&self) -> usize {
        self.state().free_slots
    }

    /// Grants turns to those who can have one now.
    fn admit(self: &Arc<Self>) {
        loop {
            let Some(Waiter { bytes, granted }) = self.state().next() else { return };
            // If the waiter is gone, the turn is dropped, which returns its memory.
            drop(granted.send(Turn { budget: self.clone(), bytes }));
        }
    }

    fn release(self: &Arc<Self>, bytes: usize, slots: usize) {
        {
            let mut state = self.state();
            state.free_memory += bytes;
            state.free_slots += slots;
        }
        self.admit();
    }
}

impl State {
    /// Takes the next waiter whose turn can begin off its queue, and what it needs off the budget: of the calls under way the
    /// first that fits; a new call in the order they came, when no call under way waits.
    fn next(&mut self) -> Option<Waiter> {
        self.under_way.retain(|waiter| !waiter.granted.is_closed());
        self.new.retain(|waiter| !waiter.granted.is_closed());
        if self.free_slots == 0 {
            return None;
        }
        let waiter = if self.under_way.is_empty() {
            let fits = self.new.front().is_some_and(|waiter| waiter.bytes <= self.free_memory);
            if fits { self.new.pop_front() } else { None }
        } else {
            let fits = self.under_way.iter().position(|waiter| waiter.bytes <= self.free_memory);
            fits.and_then(|at| self.under_way.remove(at))
        }?;
        self.free_memory -= waiter.bytes;
        self.free_slots -= 1;
        Some(waiter)
    }
}

impl Turn {
    /// Ends the turn. The reservation shrinks to the memory the instance uses, `linear` bytes of linear memory.
    pub(crate) fn end(mut self, held: &mut Reservation, linear: usize) {
        let granted = held.bytes + self.bytes;
        held.bytes = (linear + OVERHEAD).min(granted);
        self.bytes = granted - held.bytes;
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.budget.release(self.bytes, 1);
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.budget.release(self.bytes, 0);
    }
}

struct AdmitOnDrop(Arc<Budget>);

impl Drop for AdmitOnDrop {
    fn drop(&mut self) {
        self.0.admit();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MB: usize = 1 << 20;
    const SOON: Duration = Duration::from_millis(50);

    fn free(budget: &Budget) -> (usize, usize) {
        let state = budget.state();
        (state.free_memory, state.free_slots)
    }

    #[test]
    fn a_quarter_of_the_machine_within_bounds() {
        for (total, budget) in [(256, 104), (512, 128), (1000, 250), (4096, 256), (65_536, 256)] {
            assert_eq!(memory_budget(total << 20), budget << 20, "{total} MB");
        }
    }

    #[tokio::test]
    async fn a_turn_takes_its_limit_and_keeps_what_was_used() {
        let budget = Budget::new(100 * MB, 2);
        let (mut a, b) = (budget.reservation(), budget.reservation());
        let first = budget.turn(&a, 58 * MB, Caller::New, SOON).await.unwrap();
        let busy = Fault::Busy { memory: 100 * MB, started: false };
        assert_eq!(budget.turn(&b, 58 * MB, Caller::New, SOON).await.err(), Some(busy), "60 of 100 MB are taken");
        first.end(&mut a, 8 * MB);
        assert_eq!((a.bytes, free(&budget)), (10 * MB, (90 * MB, 2)));
        let second = budget.turn(&b, 58 * MB, Caller::New, SOON).await.unwrap();
        let again = budget.turn(&a, 58 * MB, Caller::Resumed, SOON).await.err();
        assert_eq!(again, Some(Fault::Busy { memory: 100 * MB, started: true }));
        drop((second, a, b));
        assert_eq!(free(&budget), (100 * MB, 2));
    }

    #[tokio::test]
    async fn calls_under_way_come_first_and_new_ones_in_order() {
        let budget = Budget::new(60 * MB, 2);
        let holder = budget.reservation();
        let turn = budget.turn(&holder, 58 * MB, Caller::New, SOON).await.unwrap();
        let order = Arc::new(Mutex::new(vec![]));
        let mut tasks = vec![];
        for (name, caller) in [("new 1", Caller::New), ("new 2", Caller::New), ("nested", Caller::Nested)] {
            let (budget, order) = (budget.clone(), order.clone());
            tasks.push(tokio::spawn(async move {
                let held = budget.reservation();
                let turn = budget.turn(&held, 58 * MB, caller, Duration::from_secs(5)).await.unwrap();
                order.lock().unwrap().push(name);
                drop(turn);
            }));
            tokio::task::yield_now().await;
        }
        drop(turn);
        for task in tasks {
            task.await.unwrap();
        }
        assert_eq!(*order.lock().unwrap(), ["nested", "new 1", "new 2"]);
    }

    #[tokio::test]
    async fn whoever_goes_away_makes_room() {
        let budget = Budget::new(60 * MB, 2);
        let (a, b, c) = (budget.reservation(), budget.reservation(), budget.reservation());
        let turn = budget.turn(&a, 28 * MB, Caller::New, SOON).await.unwrap();
        // A nested call that cannot fit holds new ones back for as long as it waits, and no longer.
        let (nested, new) = tokio::join!(
            budget.turn(&b, 58 * MB, Caller::Nested, SOON),
            budget.turn(&c, 28 * MB, Caller::New, Duration::from_secs(5)),
        );
        assert!(nested.is_err() && new.is_ok());
        drop(new);
        // A wait that is dropped takes nothing, whether or not it had been granted.
        let waits = budget.turn(&b, 58 * MB, Caller::New, Duration::from_secs(5));
        assert!(tokio::time::timeout(SOON, waits).await.is_err());
        drop(turn);
        assert_eq!(free(&budget), (60 * MB, 2));
    }
}
