//! A run that the engine has claimed.

use crate::Schedule;
use tool::{Id, Label, UserId};

/// A run to execute.
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
    /// Whether the request to start it arrived over a connection that others can read.
    pub clear: bool,
}
