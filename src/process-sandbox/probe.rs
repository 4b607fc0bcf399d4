//! What this machine gives: a trial run tells which layers hold, or why nothing can be run.

use crate::{
    Error, Result,
    frame::{Frame, source},
    inside::NAME,
    job::{Config, Finished, Job, LayerState},
    process::{self, Process},
};
use rustix::fs::{CWD, Mode, OFlags, openat};
use std::{
    fs,
    os::{
        fd::OwnedFd,
        unix::{ffi::OsStrExt, fs::PermissionsExt},
    },
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};
use tokio_util::sync::CancellationToken;

/// Runs programs. Cheap to clone.
#[derive(Debug, Clone)]
pub struct ProcessSandbox(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    config: Config,
    /// Handles of the protected folders that existed at the start: they stay protected under another name.
    protected: Vec<OwnedFd>,
    /// Where programs are looked for.
    path: Vec<PathBuf>,
    /// The layers that hold, or the refusal. Found out when first asked, because that takes as long as a job's start.
    found: OnceLock<std::result::Result<Vec<LayerState>, String>>,
}

impl ProcessSandbox {
    /// For this machine: what holds here is found out by one sandbox, made when it is first asked for.
    pub fn probe(config: Config) -> Self {
        let protected = config.protected.iter().filter_map(|path| handle(path)).collect();
        let path = path(&config);
        Self(Arc::new(Inner { config, protected, path, found: OnceLock::new() }))
    }

    /// Which layers of protection hold. Empty if nothing can be run. The first call blocks for some milliseconds.
    pub fn layers(&self) -> Vec<LayerState> {
        self.0.found().clone().unwrap_or_default()
    }

    /// Why nothing can be run here, and what to do; `None` if programs can be run. The first call blocks for some milliseconds.
    pub fn refusal(&self) -> Option<String> {
        self.0.found().clone().err()
    }

    /// The path inside of a program of the base, by its name.
    pub fn find(&self, program: &str) -> Option<PathBuf> {
        if program.is_empty() || program.contains(['/', '\0']) {
            return None;
        }
        self.0.path.iter().map(|folder| folder.join(program)).find(|path| self.0.is_program(path))
    }

    /// Starts a program; it runs until it ends, its time is up, it is stopped, or the [`Process`] is dropped.
    pub async fn start(&self, job: Job) -> Result<Process> {
        if self.0.found.get().is_none() {
            let inner = self.0.clone();
            let _ = tokio::task::spawn_blocking(move || inner.found().is_ok()).await;
        }
        if let Err(reason) = self.0.found() {
            return Err(Error::Unavailable(reason.clone()));
        }
        let frame = self.0.frame()?;
        Ok(process::start(frame, job).await?.0)
    }

    /// Runs a program to its end and collects its output.
    pub async fn run(&self, job: Job, cancel: &CancellationToken) -> Result<Finished> {
        self.start(job).await?.collect(cancel).await
    }
}

impl Inner {
    fn found(&self) -> &std::result::Result<Vec<LayerState>, String> {
        self.found.get_or_init(|| trial(self).map_err(|error| error.to_string()))
    }

    fn frame(&self) -> Result<Frame> {
        let mut protected = Vec::new();
        for handle in &self.protected {
            protected.extend(source(handle)?);
        }
        // Those that came later, or took the place of one.
        for handle in self.config.protected.iter().filter_map(|path| handle(path)) {
            protected.extend(source(&handle)?);
        }
        protected.sort_by(|a, b| a.path.cmp(&b.path));
        protected.dedup_by(|a, b| a.path == b.path);
        let mut mountable = Vec::new();
        for handle in self.config.mountable.iter().filter_map(|path| handle(path)) {
            mountable.extend(source(&handle)?);
        }
        let base = self.config.base.iter().map(|path| path.as_os_str().as_bytes().to_vec()).collect();
        let path = self.path.iter().map(|path| path.to_string_lossy()).collect::<Vec<_>>().join(":");
        Ok(Frame { base, protected, mountable, path })
    }

    /// Whether this is an executable file that the base shows, also where links lead.
    fn is_program(&self, path: &Path) -> bool {
        let Ok(real) = fs::canonicalize(path) else { return false };
        let shown =
            self.config.base.iter().filter_map(|base| fs::canonicalize(base).ok()).any(|base| real.starts_with(base));
        shown && fs::metadata(&real).is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
    }
}

/// The folders of programs in the base: the usual ones, then those of folders that were added.
fn path(config: &Config) -> Vec<PathBuf> {
    let usual = ["/usr/local/bin", "/usr/bin", "/bin", "/usr/local/sbin", "/usr/sbin", "/sbin"].map(PathBuf::from);
    let added = config.base.iter().map(|base| base.join("bin")).filter(|folder| folder.is_dir());
    let mut all: Vec<PathBuf> = Vec::new();
    for folder in usual.into_iter().chain(added) {
        if !all.contains(&folder) {
            all.push(folder);
        }
    }
    all
}

fn handle(path: &Path) -> Option<OwnedFd> {
    openat(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).ok()
}

/// Makes a sandbox in which nothing is executed, on a thread of its own because there may be no runtime yet.
fn trial(inner: &Inner) -> Result<Vec<LayerState>> {
    // The protected folders do not matter, and may be too many or gone.
    let frame = Frame { protected: Vec::new(), mountable: Vec::new(), ..inner.frame()? };
    let failed = |error: std::io::Error| Error::Failed(error.to_string());
    let work = move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
        runtime.block_on(async {
            let (mut process, layers) = process::start(frame, Job::new("")).await?;
            process.wait().await;
            Ok(layers)
        })
    };
    let thread = std::thread::Builder::new().name(NAME.into()).spawn(work).map_err(failed)?;
    match thread.join() {
        Ok(Ok(layers)) => Ok(layers),
        Ok(Err(Error::Failed(text))) => Err(Error::Unavailable(text)),
        Ok(Err(error)) => Err(error),
        Err(_) => Err(Error::Failed("the trial run of the sandbox broke off".into())),
    }
}
