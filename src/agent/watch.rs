//! Callbacks of a run, which may also veto its calls; an alternative to [`crate::RunHandle::steps`].

use crate::events::{CallRecord, RunEvent};
use futures::future::BoxFuture;
use llm::ToolCall;
use std::fmt;

/// Callbacks of a run; each does nothing by default.
pub trait Watch: Send + Sync + 'static {
    /// Before a call. An error vetoes the call; the model reads it as the result.
    fn before_tool_call<'a>(&'a self, _call: &'a ToolCall) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(std::future::ready(Ok(())))
    }
    /// A call begins.
    fn on_tool_start(&self, _call: &ToolCall) {}
    /// A call has ended.
    fn on_tool_end(&self, _call_id: &str, _record: &CallRecord) {}
    /// A short phrase for people about the progress.
    fn on_progress(&self, _note: &str) {}
    /// More text of the answer.
    fn on_chunk(&self, _delta: &str) {}
    /// Every event, including those with a method of their own.
    fn on_step(&self, _step: &RunEvent) {}
}

impl fmt::Debug for dyn Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Watch")
    }
}
