//! Layer 4: runs. A message becomes a run: prompt, model, tools, and again, until there is an answer.
//!
//! A run is a task of its own: it continues when its listener leaves, each of its messages is stored when it happens,
//! and it sends its [`RunEvent`]s as they occur.
//!
//! Modules use only those before them: [`config`], [`events`], `watch`; `conversation` (stored conversations and
//! runs); `queue` (admission of runs); `agent` (the parts, and conversations for people); `context` (the model's
//! context); `run` (one run: model turns, calls, recovery); then the modules that start and show runs: `chat`,
//! `complete`, `resume`, `runs`, `run_prompt`.

mod agent;
mod chat;
mod complete;
mod config;
mod context;
mod conversation;
mod events;
mod offered_tools;
mod queue;
mod resume;
mod run;
mod run_prompt;
mod runs;
mod watch;

pub use agent::{Agent, Forgotten, Parts, ProgramTips};
pub use chat::{ChatRequest, WhileBusy};
pub use complete::Complete;
pub use config::{Config, Limits, Persistence, Preset};
pub use context::{Compacted, PromptPreview};
pub use conversation::{
    Conversation, ConversationPage, ConversationPatch, ConversationSummary, Cursor, Exported, ExportedMessage, FORMAT,
    MessagePage, State, StoredCall, StoredMedia, StoredMessage, StoredResult,
};
pub use events::{Answer, CallRecord, FinishReason, RunEvent};
pub use queue::RunStats;
pub use run::{RunHandle, RunStatus};
pub use run_prompt::family;
pub use runs::{CallState, RunDetails, RunError, RunPage, RunShown, RunStep};
pub use watch::Watch;

#[cfg(test)]
mod tests;
