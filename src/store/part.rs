//! The parts of a journaled change: one for each record, or thing outside the store.

use crate::kind::Kind;
use serde::{Deserialize, Serialize};
use tool::{Id, Scope};

/// One record of a change. Its shape never changes: it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// The collection; or for something outside the store, such as a pin, the name of its kind.
    pub table: String,
    /// Scope and id of the record; for something outside the store its name.
    pub key: Vec<u8>,
    /// The stored record before the change, with its header; `None` where there was none.
    pub before: Option<Vec<u8>>,
    /// A digest of the record after the change; empty where there is none any more.
    pub after: Vec<u8>,
    /// [`Record::title`], shortened.
    pub title: String,
    /// [`Record::on_list`], shortened.
    pub list: String,
    /// Whether the household sees the record.
    pub shared: bool,
}

/// The effect of a change on a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Did {
    /// Added it.
    Added,
    /// Changed it.
    Changed,
    /// Deleted it.
    Deleted,
}

impl Part {
    /// The effect of the change on it.
    pub fn did(&self) -> Did {
        match (self.before.is_some(), self.after.is_empty()) {
            (false, _) => Did::Added,
            (true, false) => Did::Changed,
            (true, true) => Did::Deleted,
        }
    }

    /// The scope of the record; `None` for something outside the store.
    pub fn scope(&self) -> Option<Scope> {
        Scope::from_key(self.key.get(..self.key.len().checked_sub(16)?)?)
    }

    /// The id of the record; `None` for something outside the store.
    pub fn id(&self) -> Option<Id> {
        self.scope().and_then(|_| self.key.last_chunk::<16>().map(|id| Id::from_bytes(*id)))
    }
}

/// A record that a job has written, for the journal.
pub(crate) struct Noted {
    pub kind: &'static Kind,
    pub key: Vec<u8>,
    pub before: Option<Vec<u8>>,
}
