//! Installing a tool from npm into Hob's own folder: in the sandbox, with the package registry as its only host, and without
//! running what the package brings.

use crate::{
    cli_tools::{CliTools, catalogue::CliTool},
    gate, given, output,
    program::sandbox_error,
    registry::{PackageManager, host_of},
};
use process_sandbox::{Access, Ended, Job, Limits};
use std::{fs, io, path::Path, path::PathBuf, time::Duration};
use tool::{Cx, Error, Result};

/// Where a package is installed, in the sandbox.
const TARGET: &str = "/run/hob/install";
/// The end of the name of a folder that is being installed.
const PART: &str = ".part";
/// How long an installation may take, how much it may write, and how much memory it may use.
pub(super) const PATIENCE: Duration = Duration::from_secs(300);
const DISK: u64 = 600 << 20;
const MEMORY: u64 = 1 << 30;
/// The most tools that are installed.
const INSTALLED: usize = 30;
/// How much of what npm says an error shows.
const SHOWN: usize = 600;

impl CliTools {
    /// Installs the package of a tool, or its newest version in place of the one that is there.
    ///
    /// # Errors
    /// `BadArgs` where it has no package; `Unavailable` without npm or a sandbox; `Failed` where npm fails. Nothing has changed
    /// then.
    pub(super) async fn install(&self, cx: &Cx, tool: &CliTool) -> Result<()> {
        if tool.package.is_empty() {
            return Err(Error::bad_args(format!(
                "`{}` has no npm package: an admin can install it for the system, such as with apt-get install",
                tool.name
            )));
        }
        let npm = self.workshop.find("npm")?;
        let Ok(_installing) = self.installing.try_lock() else {
            return Err(Error::unavailable("another tool is being installed: try again when that is done"));
        };
        let (folder, part) = (self.folder_of(&tool.name), self.folder_of(&format!(".{}{PART}", tool.name)));
        self.check_room(&folder)?;
        let fresh = part.clone();
        blocking(move || {
            remove_all(&fresh)?;
            fs::create_dir_all(&fresh)
        })
        .await
        .map_err(|error| Error::failed(format!("the folder of the tool cannot be made: {error}")))?;
        let installed = self.run_npm(cx, tool, npm, &part).await;
        let program = part.join("node_modules/.bin").join(tool.program());
        let installed = match installed {
            Ok(()) if !fs::metadata(&program).is_ok_and(|facts| facts.is_file()) => Err(Error::failed(format!(
                "the package `{}` was installed, but brings no program `{}`: an admin can name another `program`",
                tool.package,
                tool.program()
            ))),
            other => other,
        };
        let done = blocking(move || match installed {
            Ok(()) => {
                remove_all(&part.join(".npm"))?;
                remove_all(&folder)?;
                fs::rename(&part, &folder).map(Ok)
            }
            Err(error) => remove_all(&part).map(|()| Err(error)),
        });
        done.await.map_err(|error| Error::failed(format!("the tool could not be put in its place: {error}")))?
    }

    /// Removes a tool that Hob installed.
    ///
    /// # Errors
    /// `Denied` for anybody but an admin; `NotFound` where Hob did not install it.
    pub async fn uninstall(&self, cx: &Cx, name: &str) -> Result<()> {
        super::check_admin(cx)?;
        let _installing = self.installing.lock().await;
        let tool = self.get(name)?;
        let folder = self.folder_of(&tool.name);
        if !folder.is_dir() {
            return Err(Error::not_found(format!("Hob did not install `{name}`: there is nothing to remove")));
        }
        let removed = blocking(move || remove_all(&folder)).await;
        removed.map_err(|error| Error::failed(format!("the tool could not be removed: {error}")))
    }

    fn check_room(&self, folder: &Path) -> Result<()> {
        let there = fs::read_dir(&self.folder).map_or(0, |all| all.flatten().count());
        match there >= INSTALLED && !folder.is_dir() {
            true => {
                Err(Error::unavailable(format!("{INSTALLED} tools are installed, the most: an admin can remove one")))
            }
            false => Ok(()),
        }
    }

    async fn run_npm(&self, cx: &Cx, tool: &CliTool, npm: PathBuf, part: &Path) -> Result<()> {
        let (registry, hosts) = if tool.registry.is_empty() {
            let npms = self.workshop.registry(PackageManager::Npm).await?;
            (&*npms.index, npms.hosts.clone())
        } else {
            let host = host_of(&tool.registry);
            let host = host.ok_or_else(|| Error::bad_args("the registry of the tool is not an address"))?;
            (&*tool.registry, vec![host])
        };
        let mut job = Job::new(npm).args([
            "install",
            "--prefix",
            TARGET,
            "--ignore-scripts",
            "--no-audit",
            "--no-fund",
            "--omit=dev",
            "--install-links",
            "--",
            &tool.package,
        ]);
        let own = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        job.env = [
            ("npm_config_registry", registry),
            ("npm_config_cache", "/run/hob/install/.npm"),
            ("npm_config_update_notifier", "false"),
            ("npm_config_noproxy", ""),
            ("NO_UPDATE_NOTIFIER", "1"),
            ("NO_COLOR", "1"),
        ]
        .map(own)
        .into();
        job.dir = PathBuf::from(TARGET);
        job.mounts = vec![given::folder(part, job.dir.clone(), Access::ReadWrite)?];
        job.limits = Limits { wall: PATIENCE, cpu: PATIENCE, memory: MEMORY, disk: DISK, ..Limits::default() };
        job.network = gate::network(&self.workshop, cx, "install_cli_tool", hosts);
        cx.progress(&format!("installing {}", tool.package));
        let finished = self.workshop.sandbox.run(job, cx.cancel()).await.map_err(sandbox_error)?;
        let why = match finished.ended {
            Ended::Exited(0) => return Ok(()),
            Ended::TimedOut => "it took too long".to_owned(),
            Ended::DiskFull => format!("it is larger than {} MB", DISK >> 20),
            Ended::OutOfMemory => "it needs too much memory".to_owned(),
            Ended::Stopped => "it was stopped".to_owned(),
            _ => {
                let said = output::finished(&finished.err, output::breaks_off(finished.ended), &self.workshop.scrubber);
                text_kit::truncate(&text_kit::one_line(&said), SHOWN)
            }
        };
        // What npm says comes from the registry.
        cx.taint(tool::Label::Outside);
        Err(Error::failed(format!("npm could not install `{}`: {why}", tool.package)))
    }
}

/// Removes what installations left that a power cut ended.
pub(super) fn remove_parts(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        if name.to_string_lossy().ends_with(PART)
            && let Err(error) = remove_all(&entry.path())
        {
            tracing::warn!(%error, "what is left of an installation could not be removed");
        }
    }
}

/// Removes a folder, if it is there.
fn remove_all(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> io::Result<T> + Send + 'static) -> io::Result<T> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|_| Err(io::Error::other("the work was interrupted")))
}
