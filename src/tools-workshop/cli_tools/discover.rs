//! Which command-line tools are installed, and in which version.

use crate::{
    cli_tools::{CliTools, catalogue::CliTool},
    given::{self, GIVEN},
    output,
    registry::PackageManager,
};
use futures::{StreamExt, stream};
use process_sandbox::{Access, Ended, Job, Limits, Mount};
use regex::Regex;
use std::{
    collections::{BTreeMap, HashMap},
    fs,
    path::{Path, PathBuf},
    sync::{Arc, LazyLock, Mutex, PoisonError},
    time::{Duration, SystemTime},
};
use tokio_util::sync::CancellationToken;
use tool::Result;

/// How many tools are asked for their version at once, and how long one may take.
const AT_ONCE: usize = 4;
const PATIENCE: Duration = Duration::from_secs(10);
/// The most versions in memory.
const REMEMBERED: usize = 500;
/// How much of a version's output is read, and the longest version.
const OUTPUT: u64 = 64 * 1024;
const VERSION: usize = 40;

static NUMBER: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\d+(\.\d+)+[0-9A-Za-z.+-]*").ok());

/// A program as it was when it was asked: its path and time.
type Asked = (PathBuf, SystemTime);

/// Versions in memory.
#[derive(Clone, Default)]
pub(super) struct Versions(Arc<Mutex<HashMap<Asked, Option<String>>>>);

/// A tool that is installed.
#[derive(Debug, Clone)]
pub(super) struct Installed {
    /// Its path on this device.
    pub path: PathBuf,
    /// Its path in the sandbox.
    pub inside: PathBuf,
    /// Whether Hob installed it.
    pub by_hob: bool,
    pub version: Option<String>,
    /// The hosts that it may reach.
    pub hosts: Vec<String>,
}

impl CliTools {
    /// The folder of a tool that Hob installed or would install.
    pub(super) fn folder_of(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Where a tool is; one that Hob installed comes first.
    pub(super) fn locate(&self, tool: &CliTool) -> Option<Installed> {
        let below = Path::new("node_modules/.bin").join(tool.program());
        let own = self.folder_of(&tool.name).join(&below);
        if !tool.package.is_empty() && fs::metadata(&own).is_ok_and(|facts| facts.is_file()) {
            let inside = Path::new(GIVEN).join("tools").join(&tool.name).join(below);
            return Some(Installed { path: own, inside, by_hob: true, version: None, hosts: tool.hosts.clone() });
        }
        let found = self.workshop.sandbox.find(tool.program())?;
        Some(Installed { path: found.clone(), inside: found, by_hob: false, version: None, hosts: tool.hosts.clone() })
    }

    /// The hosts that a tool may reach.
    ///
    /// # Errors
    /// `Unavailable` where npm names no registry.
    pub(super) async fn hosts_of(&self, tool: &CliTool) -> Result<Vec<String>> {
        let mut hosts = tool.hosts.clone();
        if tool.npm_registry {
            hosts.extend(self.workshop.registry(PackageManager::Npm).await?.hosts.iter().cloned());
        }
        Ok(hosts)
    }

    /// What a program sees of a tool that Hob installed.
    pub(super) fn mounts(&self, tool: &CliTool, installed: &Installed) -> Result<Vec<Mount>> {
        if !installed.by_hob {
            return Ok(vec![]);
        }
        let folder = self.folder_of(&tool.name);
        Ok(vec![given::folder(&folder, Path::new(GIVEN).join("tools").join(&tool.name), Access::ReadOnly)?])
    }

    /// The installed ones of these tools, by name.
    pub(super) async fn discover<'a>(
        &self,
        tools: impl IntoIterator<Item = &'a CliTool>,
    ) -> BTreeMap<String, Installed> {
        let found: Vec<(CliTool, Installed)> =
            tools.into_iter().filter_map(|tool| Some((tool.clone(), self.locate(tool)?))).collect();
        let asked = stream::iter(found).map(|(tool, installed)| async move {
            let version = self.version(&tool, &installed).await;
            // Without its registry it is listed all the same.
            let hosts = self.hosts_of(&tool).await.unwrap_or_default();
            (tool.name, Installed { version, hosts, ..installed })
        });
        asked.buffer_unordered(AT_ONCE).collect().await
    }

    /// The program of a tool by its name, as a program inside sees it; none where it is not installed.
    ///
    /// # Errors
    /// `NotFound` for a tool that is not known; `Unavailable` where its folder cannot be opened.
    pub(crate) fn program_of(&self, name: &str) -> Result<Option<(PathBuf, Vec<Mount>)>> {
        let tool = self.get(name)?;
        let Some(installed) = self.locate(&tool) else { return Ok(None) };
        let mounts = self.mounts(&tool, &installed)?;
        Ok(Some((installed.inside, mounts)))
    }

    /// The version of a tool by its name, where it is installed and says it.
    pub(crate) async fn version_of(&self, name: &str) -> Option<String> {
        let tool = self.get(name).ok()?;
        let installed = self.locate(&tool)?;
        self.version(&tool, &installed).await
    }

    /// What a tool says of its version.
    async fn version(&self, tool: &CliTool, installed: &Installed) -> Option<String> {
        let time = fs::metadata(&installed.path).and_then(|facts| facts.modified()).ok()?;
        let key = (installed.path.clone(), time);
        if let Some(known) = self.versions.0.lock().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return known.clone();
        }
        let mut job = Job::new(&installed.inside).args(tool.version_args());
        job.mounts = self.mounts(tool, installed).ok()?;
        job.limits = Limits { wall: PATIENCE, cpu: PATIENCE, output: OUTPUT, ..Limits::default() };
        let finished = self.workshop.sandbox.run(job, &CancellationToken::new()).await.ok()?;
        let text = |bytes: &[u8]| output::harmless(&String::from_utf8_lossy(bytes), output::Keep::Text);
        let version = match finished.ended {
            Ended::Exited(_) => number_in(&text(&finished.out)).or_else(|| number_in(&text(&finished.err))),
            _ => None,
        };
        let mut versions = self.versions.0.lock().unwrap_or_else(PoisonError::into_inner);
        if versions.len() >= REMEMBERED {
            versions.clear();
        }
        versions.insert(key, version.clone());
        version
    }
}

/// The version number in what a program says.
fn number_in(text: &str) -> Option<String> {
    let number =
        NUMBER.as_ref()?.find(text.lines().take(5).collect::<Vec<_>>().join("\n").as_str())?.as_str().to_owned();
    Some(text_kit::truncate(&number, VERSION))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_in_what_tools_say() {
        for (text, version) in [
            ("jq-1.7.1\n", Some("1.7.1")),
            ("git version 2.43.0 (Apple Git-1)", Some("2.43.0")),
            ("ffmpeg version n6.1.1-3ubuntu5 Copyright", Some("6.1.1-3ubuntu5")),
            ("v20.11.0", Some("20.11.0")),
            ("usage: x [file]", None),
            ("", None),
        ] {
            assert_eq!(number_in(text).as_deref(), version, "{text}");
        }
    }
}
