//! Notes the calls of a run that begin before they run, for recovery after a power cut.

use crate::conversation::{
    Begun, Conversations,
    durability::{REPEATABLE, SOON},
};
use futures::future::BoxFuture;
use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use tool::{Begins, Error, Id, Result, Tool, UserId};

/// The journal of one run.
pub(crate) struct CallJournal {
    conversations: Conversations,
    user: UserId,
    run: Id,
    /// Calls of this turn that are stored already, with the tool that ran.
    noted: Mutex<HashMap<(String, String), Noted>>,
    /// Whether a person was asked about a call of this run.
    asked: AtomicBool,
}

/// The facts that decide whether an interrupted call is made again.
#[derive(Clone, Copy)]
struct Noted {
    /// Whether it only changes the store, whose mark shows if it did.
    confined: bool,
    repeatable: bool,
}

impl CallJournal {
    pub fn new(conversations: Conversations, user: UserId, run: Id) -> Arc<Self> {
        Arc::new(Self { conversations, user, run, noted: Mutex::default(), asked: AtomicBool::new(false) })
    }

    /// A person is asked about a call of this run.
    pub fn ask(&self) {
        self.asked.store(true, Ordering::Relaxed);
    }

    /// Within which time the result of a call has to be on disk; `None` is before the run continues.
    pub fn result_within(&self, call: &str) -> Option<Duration> {
        let noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
        let its: Vec<Noted> = noted.iter().filter(|((of, _), _)| of == call).map(|(_, noted)| *noted).collect();
        // An approved call is not made again, not even one that could be.
        let again = |noted: &Noted| noted.repeatable && self.asked.load(Ordering::Relaxed);
        match its.as_slice() {
            [] => Some(REPEATABLE).filter(|_| !self.asked.load(Ordering::Relaxed)),
            its => Some(SOON).filter(|_| its.iter().all(|noted| noted.confined && !again(noted))),
        }
    }

    /// Starts the next turn, whose calls may repeat earlier ids.
    pub fn next_turn(&self) {
        self.noted.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

/// The journal as dispatch sees it.
pub(crate) struct JournalHandle(pub Arc<CallJournal>);

impl Begins for JournalHandle {
    fn begins(&self, model_call: &str, tool: &Tool) -> BoxFuture<'static, Result<()>> {
        let journal = self.0.clone();
        let (call, tool, repeatable, confined) =
            (model_call.to_owned(), tool.name.to_string(), tool.idempotent, tool.is_confined());
        let begun = Begun { call, tool, repeatable, confined };
        Box::pin(async move {
            let key = (begun.call.clone(), begun.tool.clone());
            if journal.noted.lock().unwrap_or_else(PoisonError::into_inner).contains_key(&key) {
                return Ok(());
            }
            // The note of a call that only changes the store is on disk with the effect.
            let within = confined.then_some(REPEATABLE);
            let (conversations, user, run) = (&journal.conversations, journal.user, journal.run);
            let stored = conversations.change_run_within(within, user, run, move |run| run.begins(&begun)).await;
            stored.map_err(|e| {
                Error::unavailable(format!("the call was not made: its start could not be stored: {e}"))
            })?;
            journal.noted.lock().unwrap_or_else(PoisonError::into_inner).insert(key, Noted { confined, repeatable });
            Ok(())
        })
    }
}
