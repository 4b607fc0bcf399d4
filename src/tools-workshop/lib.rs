//! Layer 3: tools that run programs in the process sandbox: shell commands and code, and sessions for those that go on.

use process_sandbox::{Gate, ProcessSandbox};
use scrub::Scrubber;
use std::sync::Arc;
use workspace::Workspaces;

/// The state of the tools. Cheap to clone.
#[derive(Clone)]
pub struct Workshop {
    /// Where programs run.
    pub sandbox: ProcessSandbox,
    /// The files that they see.
    pub workspaces: Workspaces,
    /// How programs with network access reach it.
    pub gate: Arc<dyn Gate>,
    /// Removes secrets from what programs print.
    pub scrubber: Scrubber,
}
