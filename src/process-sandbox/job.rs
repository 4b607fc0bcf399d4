//! The types of a job: what is run, what it sees, what it may use, and how it ended.

use crate::network::Gate;
use serde::{Deserialize, Serialize};
use std::{ffi::OsString, fmt, os::fd::OwnedFd, path::PathBuf, sync::Arc, time::Duration};

/// What every job of this Hob has in common.
#[derive(Debug, Clone)]
pub struct Config {
    /// Folders and files that every job sees, read-only, at the same path. Links are copied as links, and missing ones are left out.
    pub base: Vec<PathBuf>,
    /// Folders and sockets that no job ever sees, whatever it mounts: the data folder, the local socket. Judged by identity.
    pub protected: Vec<PathBuf>,
    /// Folders within `protected` that a mount may name, such as the workspaces in the data folder.
    pub mountable: Vec<PathBuf>,
}

impl Default for Config {
    fn default() -> Self {
        let base = [
            "/usr",
            "/bin",
            "/sbin",
            "/lib",
            "/lib32",
            "/lib64",
            "/opt",
            "/etc/alternatives",
            "/etc/ca-certificates",
            "/etc/fonts",
            "/etc/ld.so.cache",
            "/etc/ld.so.conf",
            "/etc/ld.so.conf.d",
            "/etc/localtime",
            "/etc/magic",
            "/etc/mime.types",
            "/etc/pki",
            "/etc/protocols",
            "/etc/python3",
            "/etc/services",
            "/etc/ssl/certs",
            "/etc/ssl/openssl.cnf",
        ];
        Self { base: base.iter().map(PathBuf::from).collect(), protected: Vec::new(), mountable: Vec::new() }
    }
}

/// One program to run.
#[derive(Debug)]
pub struct Job {
    /// Its path inside; [`crate::ProcessSandbox::find`] gives it by name.
    pub program: PathBuf,
    /// A part of Hob's own binary that runs in place of a program; see [`crate::Part`].
    pub part: Option<&'static str>,
    /// Without the program's name.
    pub args: Vec<OsString>,
    /// All of the environment, except that `PATH`, `HOME`, `TMPDIR`, `LANG`, `USER` and `LOGNAME` have defaults.
    pub env: Vec<(String, String)>,
    /// The working folder inside.
    pub dir: PathBuf,
    pub mounts: Vec<Mount>,
    pub limits: Limits,
    pub network: Network,
    pub stdin: Stdin,
    /// With a size the program gets a terminal in place of three pipes.
    pub terminal: Option<TerminalSize>,
}

impl Job {
    /// A program with nothing but the base: no arguments, mounts, network or input, in `/tmp`.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            part: None,
            args: Vec::new(),
            env: Vec::new(),
            dir: PathBuf::from("/tmp"),
            mounts: Vec::new(),
            limits: Limits::default(),
            network: Network::None,
            stdin: Stdin::Empty,
            terminal: None,
        }
    }

    /// A part of Hob's own binary. It sees no files at all, may only read its input, write its output and use memory, and is one
    /// process.
    pub fn part(name: &'static str) -> Self {
        let limits = Limits { processes: 1, ..Limits::default() };
        Self { part: Some(name), limits, dir: PathBuf::from("/"), ..Self::new("") }
    }

    #[must_use]
    pub fn args(mut self, args: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }
}

/// A folder or file of the host that a job sees.
#[derive(Debug)]
pub struct Mount {
    /// An `O_PATH` handle. The mount is of this folder or file, and fails if its path leads to another one by now.
    pub source: OwnedFd,
    /// The absolute path inside.
    pub target: PathBuf,
    pub access: Access,
    /// Paths below `target`, relative to it, that are empty and closed inside.
    pub covered: Vec<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    ReadOnly,
    ReadWrite,
}

/// What a job may use. Each bound holds for all processes of the job together, unless it says otherwise.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Time on the clock; then [`Ended::TimedOut`].
    pub wall: Duration,
    /// Time on processors; then [`Ended::TimedOut`].
    pub cpu: Duration,
    /// Bytes of memory, with what `/tmp` and `/dev/shm` hold.
    pub memory: u64,
    /// Processes and threads at once.
    pub processes: u32,
    /// Bytes of output in all; then [`Ended::OutputLimit`].
    pub output: u64,
    /// Bytes of one file.
    pub file_size: u64,
    /// Open files of one process.
    pub open_files: u32,
    /// By how many bytes the free space of a mounted file system may shrink meanwhile; then [`Ended::DiskFull`].
    pub disk: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            wall: Duration::from_secs(30),
            cpu: Duration::from_secs(30),
            memory: 512 << 20,
            processes: 128,
            output: 1 << 20,
            file_size: 256 << 20,
            open_files: 1024,
            disk: 1 << 30,
        }
    }
}

/// What a job reaches of the network.
#[derive(Clone, Default)]
pub enum Network {
    /// A loopback interface of its own, and nothing else.
    #[default]
    None,
    /// An HTTP proxy on that loopback, named in the environment; each connection is decided and made by the gate.
    Guarded(Arc<dyn Gate>),
}

impl fmt::Debug for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "None",
            Self::Guarded(_) => "Guarded",
        })
    }
}

/// The standard input. With a terminal, `Bytes` are typed into it, and it stays open.
#[derive(Debug, Clone, Default)]
pub enum Stdin {
    #[default]
    Empty,
    Bytes(Vec<u8>),
    /// Written by [`crate::Process::write`].
    Open,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TerminalSize {
    pub rows: u16,
    pub columns: u16,
}

/// Output of a job, as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    pub stream: Stream,
    pub bytes: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    Out,
    Err,
    /// Both, through a terminal.
    Terminal,
}

/// How a job ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ended {
    /// The program ended with this code.
    Exited(i32),
    /// A signal ended the program.
    Signaled(i32),
    /// The time was up, on the clock or on processors.
    TimedOut,
    OutOfMemory,
    OutputLimit,
    /// It wrote too much to a mounted file system.
    DiskFull,
    /// Somebody stopped it.
    Stopped,
}

/// A job that has ended, with its output. With a terminal, all of it is in `out`.
#[derive(Debug, Clone)]
pub struct Finished {
    pub ended: Ended,
    pub out: Vec<u8>,
    pub err: Vec<u8>,
    /// Whether output is missing because it was too much.
    pub truncated: bool,
    pub wall: Duration,
    pub cpu: Duration,
}

/// Whether a layer of protection holds on this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayerState {
    /// A word or two: `namespaces`, `system calls`.
    pub name: String,
    pub holds: bool,
    /// What it does, or why it is not here.
    pub reason: String,
}
