//! A run that the engine has claimed.

use crate::Schedule;
use tool::{Id, Label, UserId};

/// A run that is to be made.
#[derive(Debug, Clone)]
pub(crate) struct Claimed {
    pub user: UserId,
    pub id: Id,
    pub run: Id,
    pub scheduled_ms: i64,
    pub schedule: Box<Schedule>,
    pub label: Label,
    /// Whether an earlier process claimed it.
    pub recovered: bool,
    /// Whether others can read along with whoever began it.
    pub clear: bool,
}
