//! Hearing of a run by callbacks, and having a word in its calls: the other face of [`crate::Running::steps`].

use crate::{RunEvent, step::CallRecord};
use futures::future::BoxFuture;
use llm::ToolCall;
use std::fmt;

/// Who watches a run. Every method does nothing by itself.
pub trait Watch: Send + Sync + 'static {
    /// A call the model wants is about to be made. An error is the reason why it is not; the model reads it as the result.
    fn before_tool_call<'a>(&'a self, _call: &'a ToolCall) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(std::future::ready(Ok(())))
    }
    /// A tool begins.
    fn on_tool_start(&self, _call: &ToolCall) {}
    /// A tool ended.
    fn on_tool_end(&self, _call_id: &str, _record: &CallRecord) {}
    /// Something is under way: a short phrase for people.
    fn on_progress(&self, _note: &str) {}
    /// The model says more of its answer.
    fn on_chunk(&self, _delta: &str) {}
    /// Anything that happens, also what has a method of its own.
    fn on_step(&self, _step: &RunEvent) {}
}

impl fmt::Debug for dyn Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Watch")
    }
}
