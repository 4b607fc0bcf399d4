//! The open questions in memory: who waits for each, and how many there may be.

use crate::{Header, SuspendedRun, now_ms, stored_kind::StoredKind};
use serde_json::Value;
use std::{collections::HashMap, sync::Arc};
use tokio::sync::watch;
use tool::{Id, UserId};

/// How many questions one person may have open.
const OPEN: usize = 50;
/// How many of them one run and one conversation may hold, so that a model that asks without end leaves room for others to
/// ask. Few people answer more than a handful at once; a conversation may have a suspended run beside the current one.
const OPEN_IN_RUN: usize = 5;
const OPEN_IN_CONVERSATION: usize = 10;

/// An open question.
pub(crate) struct Open {
    pub kind: Arc<dyn StoredKind>,
    pub user: UserId,
    pub header: Header,
    pub label: String,
    /// How many calls wait for the answer; none while the run is suspended.
    pub waiters: u32,
    /// Set with the answer as the person gave it. The channel closes when the question ends without one.
    pub answer: watch::Sender<Option<Value>>,
}

impl Open {
    pub fn new(kind: Arc<dyn StoredKind>, user: UserId, header: Header, label: String) -> Self {
        let answer = watch::Sender::new(None);
        Self { kind, user, header, label, waiters: 0, answer }
    }

    /// Whether its time is over. A call that waits ends its question itself.
    pub fn is_late(&self) -> bool {
        self.waiters == 0 && self.header.expires_ms <= now_ms()
    }

    /// The run that is suspended on it.
    pub fn suspended_run(&self) -> Option<SuspendedRun> {
        let run = self.header.run.filter(|_| self.header.suspends && self.waiters == 0)?;
        Some(SuspendedRun { user: self.user, run })
    }
}

/// Why a person cannot be asked another question, where too many are open.
pub(crate) fn limit_reached(open: &HashMap<Id, Open>, user: UserId, header: &Header) -> Option<String> {
    let count = |fits: &dyn Fn(&Header) -> bool| {
        open.values().filter(|o| o.user == user && !o.is_late() && fits(&o.header)).count()
    };
    let then = "ask no more until they have answered";
    if header.run.is_some() && count(&|o| o.run == header.run) >= OPEN_IN_RUN {
        return Some(format!("{OPEN_IN_RUN} questions of this run wait for the person already: {then}"));
    }
    if header.conversation.is_some() && count(&|o| o.conversation == header.conversation) >= OPEN_IN_CONVERSATION {
        let open = format!("{OPEN_IN_CONVERSATION} questions of this conversation wait for the person already");
        return Some(format!("{open}: {then} some of them"));
    }
    (count(&|_| true) >= OPEN).then(|| format!("{OPEN} questions wait for this person already: {then} some of them"))
}
