//! What this machine gives: a trial run at the start tells which layers hold, or why nothing can be run.

use crate::{
    Error, Result,
    inside::NAME,
    job::{Config, Finished, Job, LayerState},
    process::{self, Process},
    wire::{Identity, Problem, Source},
};
use rustix::fs::{CWD, Mode, OFlags, fstat, openat};
use std::{
    fs,
    os::{
        fd::{AsRawFd, OwnedFd},
        unix::{ffi::OsStrExt, fs::PermissionsExt},
    },
    path::{Path, PathBuf},
    sync::Arc,
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
    layers: Vec<LayerState>,
    refusal: Option<String>,
}

impl ProcessSandbox {
    /// Makes one sandbox, to learn what holds here. Takes about as long as a job's start.
    pub fn probe(config: Config) -> Self {
        let protected = config.protected.iter().filter_map(|path| handle(path)).collect();
        let path = path(&config);
        let mut inner = Inner { config, protected, path, layers: Vec::new(), refusal: None };
        match trial(&inner) {
            Ok(layers) => inner.layers = layers,
            Err(error) => inner.refusal = Some(error.to_string()),
        }
        Self(Arc::new(inner))
    }

    /// Which layers of protection hold. Empty if nothing can be run.
    pub fn layers(&self) -> Vec<LayerState> {
        self.0.layers.clone()
    }

    /// Why nothing can be run here, and what to do; `None` if programs can be run.
    pub fn refusal(&self) -> Option<String> {
        self.0.refusal.clone()
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
        if let Some(reason) = &self.0.refusal {
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

/// What every job has in common, at this moment.
#[derive(Debug, Default)]
pub struct Frame {
    pub base: Vec<Vec<u8>>,
    pub protected: Vec<Source>,
    pub mountable: Vec<Source>,
    /// The default of `PATH`.
    pub path: String,
}

impl Inner {
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

/// The path of a handle now, and its identity. `None` if it was deleted.
pub fn source(handle: &OwnedFd) -> Result<Option<Source>> {
    let failed = |error: std::io::Error| Error::Failed(format!("a folder cannot be looked at: {error}"));
    let stat = fstat(handle).map_err(|error| failed(error.into()))?;
    let path = fs::read_link(format!("/proc/self/fd/{}", handle.as_raw_fd())).map_err(failed)?;
    let identity = Identity { device: stat.st_dev, inode: stat.st_ino };
    let path = path.as_os_str().as_bytes().to_vec();
    Ok((stat.st_nlink > 0 && path.starts_with(b"/")).then_some(Source { path, identity }))
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

/// Says a problem in words.
pub fn explain(problem: Problem, program: &str) -> Error {
    match problem {
        Problem::Job(text) => Error::BadJob(text),
        Problem::Exec(number) => Error::NotExecutable {
            program: program.to_owned(),
            problem: match number {
                libc::ENOENT => "it, or the interpreter it names, is not in the sandbox".into(),
                libc::EACCES => "it is no executable file, or may not be executed there".into(),
                libc::ENOEXEC => "it is no program for this machine; name its interpreter".into(),
                libc::E2BIG => "its arguments and environment are too long".into(),
                _ => std::io::Error::from_raw_os_error(number).to_string(),
            },
        },
        Problem::Step(step, number) => {
            let error = std::io::Error::from_raw_os_error(number);
            Error::Failed(format!(
                "programs cannot be run safely here: the step \"{step}\" failed ({error}). {}",
                advice(number)
            ))
        }
    }
}

/// What to do where the kernel refuses.
fn advice(number: i32) -> &'static str {
    let is = |path: &str, value: &str| fs::read_to_string(path).is_ok_and(|text| text.trim() == value);
    if is("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1") {
        "AppArmor keeps programs from making user namespaces: set kernel.apparmor_restrict_unprivileged_userns=0 with sysctl, or \
         give Hob a profile with `userns`"
    } else if is("/proc/sys/kernel/unprivileged_userns_clone", "0") {
        "Set kernel.unprivileged_userns_clone=1 with sysctl"
    } else if is("/proc/sys/user/max_user_namespaces", "0") || number == libc::ENOSPC {
        "Set user.max_user_namespaces=10000 with sysctl"
    } else {
        "Hob needs a kernel from 5.12 on with user namespaces, and a service or container that lets it make them"
    }
}
