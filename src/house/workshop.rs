//! Assembly of what runs programs: the process sandbox, the workspaces and the sessions.

use super::gate::WebGate;
use http_client::Guarded;
use process_sandbox::ProcessSandbox;
use sandbox::Sandbox;
use scrub::Scrubber;
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};
use store::Store;
use tools_workshop::{Config, Sessions, Workshop};
use workspace::Workspaces;

/// The folders in the data folder with the command-line tools that were installed, and with files that programs are given.
pub const TOOLS: &str = "tools";
pub const GIVEN: &str = "given";

/// The state of the tools that run programs. These see the workspaces in the data folder and nothing else of it.
pub fn workshop(
    config: &Config,
    data: &Path,
    store: &Store,
    workspaces: &Workspaces,
    web: &Guarded,
    scrubber: &Scrubber,
    javascript: &Sandbox,
) -> Workshop {
    let mut sandbox = process_sandbox::Config::default();
    sandbox.base.extend(config.folders.iter().map(PathBuf::from));
    sandbox.protected.push(data.to_owned());
    sandbox.mountable.extend([workspaces.folder().to_owned(), data.join(TOOLS), data.join(GIVEN)]);
    Workshop::new(
        ProcessSandbox::probe(sandbox),
        workspaces.clone(),
        Sessions::new(store, scrubber.clone()),
        Arc::new(WebGate(web.clone())),
        scrubber.clone(),
        javascript.clone(),
        config.clone(),
    )
}
