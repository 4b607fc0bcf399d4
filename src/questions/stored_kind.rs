//! The operations on the stored questions of a kind that need not know its type.

use serde_json::Value;
use store::Tx;
use tool::{Id, Result, UserId};

/// The stored questions of one kind, whose type the service does not know.
pub(crate) trait StoredKind: Send + Sync {
    /// Topic and data of the event that a question expired; `None` when it is not stored.
    fn expiry_event(&self, user: UserId, id: Id) -> Option<(&'static str, Value)>;
    /// Writes with one of the next commits that a question expired.
    fn expire_later(&self, user: UserId, id: Id);
    /// The part of a write that deletes a conversation's questions.
    fn removal(&self, user: UserId, conversation: Id) -> Result<Removal>;
    /// Deletes the oldest settled questions of every person.
    fn prune(&self) -> Result<()>;
}

/// Deletes questions within a write.
pub(crate) type Removal = Box<dyn FnMut(&Tx) -> store::Result<()> + Send>;
