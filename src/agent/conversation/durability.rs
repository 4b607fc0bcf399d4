//! When a step of a run is on disk.
//!
//! Each step is stored, where every reader sees it, before the next begins. On disk they are in the same order, so a power
//! cut leaves a beginning of the run, which resumes where that ends. A step is on disk
//!
//! - before anybody sees it: the answer of a run, the message before a client has its ids ([`crate::RunHandle::stored`]), and
//!   everything that an answer of the API shows;
//! - before anything happens outside the store: the note of a call that acts there. Its result is on disk at once, for
//!   nobody could say otherwise how it ended;
//! - with the effect of a call that only changes the store: the note, and all before it, are in the commit of the effect, or
//!   in an earlier one;
//! - otherwise with the next commit, at the latest after the times below. So a turn is one commit when its model is quick.

use std::time::Duration;

/// A message that no client has the id of, and the result of a call that only changed the store: without it the model
/// learns that the call was completed, but not what it returned.
pub(crate) const SOON: Duration = Duration::from_millis(400);
/// A step that is simply made again: a turn of the model, or the result of a call that changed nothing.
pub(crate) const REPEATABLE: Duration = Duration::from_secs(2);
