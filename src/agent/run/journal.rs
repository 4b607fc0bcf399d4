//! Notes the calls of a run that begin before they run, for recovery after a power cut.

use crate::conversation::{Begun, Conversations};
use futures::future::BoxFuture;
use std::{
    collections::HashSet,
    sync::{Arc, Mutex, PoisonError},
};
use tool::{Begins, Error, Id, Result, Tool, UserId};

/// The journal of one run.
pub(crate) struct CallJournal {
    conversations: Conversations,
    user: UserId,
    run: Id,
    /// Calls of this turn that are stored already, with the tool that ran.
    noted: Mutex<HashSet<(String, String)>>,
}

impl CallJournal {
    pub fn new(conversations: Conversations, user: UserId, run: Id) -> Arc<Self> {
        Arc::new(Self { conversations, user, run, noted: Mutex::default() })
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
            if journal.noted.lock().unwrap_or_else(PoisonError::into_inner).contains(&key) {
                return Ok(());
            }
            let stored =
                journal.conversations.change_run(journal.user, journal.run, move |run| run.begins(&begun)).await;
            stored.map_err(|e| {
                Error::unavailable(format!("the call was not made: its start could not be stored: {e}"))
            })?;
            journal.noted.lock().unwrap_or_else(PoisonError::into_inner).insert(key);
            Ok(())
        })
    }
}
