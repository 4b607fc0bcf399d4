//! The sandbox for programs (shell, Python, git), and the doctor's line about it.

use browser::Chromium;
use care::Check;
use process_sandbox::ProcessSandbox;
use std::path::{Path, PathBuf};
use tools_workshop::Config;
use workspace::Workspaces;

/// The folders in the data folder with the command-line tools that were installed, with files that programs are given, and with
/// what browsers download.
pub const TOOLS: &str = "tools";
pub const GIVEN: &str = "given";
pub const BROWSER: &str = "browser";

/// The one sandbox. Of the data folder programs see the workspaces and these folders, and neither the rest nor the local
/// socket in it.
pub fn sandbox(config: &Config, data: &Path, workspaces: &Workspaces) -> ProcessSandbox {
    let mut sandbox = process_sandbox::Config::default();
    sandbox.base.extend(config.folders.iter().map(PathBuf::from));
    sandbox.protected.push(data.to_owned());
    sandbox.mountable.extend([workspaces.folder().to_owned(), data.join(TOOLS), data.join(GIVEN), data.join(BROWSER)]);
    ProcessSandbox::probe(sandbox)
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

/// Whether there is a browser.
pub fn check_browser(chromium: &Chromium) -> Check {
    match chromium.find() {
        Ok(program) => Check::well("browser", format!("Web pages are opened with {}.", program.display())),
        // Everything but the browser tools works without one.
        Err(why) => Check::well("browser", format!("No browser opens web pages: {why}.")),
    }
}
