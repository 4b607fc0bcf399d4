//! Assembly of what runs programs: the process sandbox, the workspaces and the sessions.

use super::gate::WebGate;
use http_client::Guarded;
use process_sandbox::ProcessSandbox;
use sandbox::Sandbox;
use scrub::Scrubber;
use std::sync::Arc;
use store::Store;
use tools_workshop::{Config, Sessions, Workshop};
use workspace::Workspaces;

/// The state of the tools that run programs.
pub fn workshop(
    config: &Config,
    sandbox: ProcessSandbox,
    store: &Store,
    workspaces: &Workspaces,
    web: &Guarded,
    scrubber: &Scrubber,
    javascript: &Sandbox,
) -> Workshop {
    Workshop::new(
        sandbox,
        workspaces.clone(),
        Sessions::new(store, scrubber.clone()),
        Arc::new(WebGate(web.clone())),
        scrubber.clone(),
        javascript.clone(),
        config.clone(),
    )
}
