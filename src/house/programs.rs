//! The sandbox for programs (shell, Python, git), and the doctor's line about it.

use care::Check;
use process_sandbox::{Config, ProcessSandbox};
use std::path::Path;

/// The folder in the data folder with the workspaces, which programs may see.
const WORKSPACES: &str = "workspace";

/// Finds out what this machine gives. No program sees the data folder, nor the local socket in it.
pub fn sandbox(data: &Path) -> ProcessSandbox {
    ProcessSandbox::probe(Config {
        protected: vec![data.to_owned()],
        mountable: vec![data.join(WORKSPACES)],
        ..Config::default()
    })
}

/// Which layers hold, in plain words.
pub fn check(sandbox: &ProcessSandbox) -> Check {
    if let Some(reason) = sandbox.refusal() {
        let text = "Programs (shell, Python, git) are not run on this device.";
        return Check::careful("programs", text, reason);
    }
    let (holds, missing): (Vec<_>, Vec<_>) = sandbox.layers().into_iter().partition(|layer| layer.holds);
    let names: Vec<&str> = holds.iter().map(|layer| layer.name.as_str()).collect();
    let mut text = format!("Programs run apart from everything else: {}.", names.join(", "));
    for layer in missing {
        text.push_str(&format!(" Without \"{}\": {}.", layer.name, layer.reason));
    }
    Check::well("programs", text)
}
