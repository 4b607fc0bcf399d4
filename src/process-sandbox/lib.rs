//! Programs (shell, Python, compilers, git) in namespaces of their own.
//!
//! [`ProcessSandbox::start`] starts Hob's own binary again, under the name `hob-sandbox` and with an empty environment. Its `main`
//! calls [`enter_if_asked`] first, which makes the namespaces, builds the file system of the job, drops every right, and executes
//! the program. The program sees a read-only base, the mounts of its job, and a `/proc` and `/dev` of its own; all its processes
//! die with it, with [`Process`], and with Hob.
//!
//! A job may also run a [`Part`] of Hob's own binary in place of a program, such as the decoders of documents: it is called where a
//! program would be executed, sees no file at all, and a second filter leaves it memory, its input and its output.
//!
//! Where the kernel does not give the namespaces, [`ProcessSandbox::refusal`] says so, and nothing is run at all.
//!
//! ```text
//! hob ── socket ── outer (Hob's namespaces; writes the user map, waits)
//!                    └── init (process 1 of the job's namespaces; mounts, counts, ends all)
//!                          └── the program
//! ```

mod explain;
mod frame;
mod inside;
mod job;
mod landlock;
mod network;
mod peer;
mod probe;
mod process;
mod seccomp;
mod sys;
#[cfg(test)]
mod tests;
mod wire;

pub use crate::{
    inside::{Part, enter_if_asked, enter_with},
    job::{
        Access, Chunk, Config, Ended, Finished, Job, LayerState, Limits, Mount, Network, Stdin, Stream, TerminalSize,
    },
    network::{Connection, Gate, PORT as PROXY_PORT},
    peer::is_inside_sandbox,
    probe::ProcessSandbox,
    process::{Process, Stopper},
};

/// Why a program was not started.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Nothing can be run on this machine: the reason, and what to do.
    #[error("{0}")]
    Unavailable(String),
    /// The job cannot be run as it is.
    #[error("{0}")]
    BadJob(String),
    /// The program is not in the sandbox, or cannot be executed.
    #[error("could not run {program}: {problem}")]
    NotExecutable { program: String, problem: String },
    /// A step failed that works elsewhere.
    #[error("could not start the sandbox: {0}")]
    Failed(String),
}

pub type Result<T> = std::result::Result<T, Error>;

/// Lets a test binary enter the sandbox: tests have no `main` of their own that calls [`enter_if_asked`]. For the top of a crate's
/// tests; not for programs.
#[macro_export]
macro_rules! enter_in_tests {
    () => {
        $crate::enter_in_tests!(&[]);
    };
    ($parts:expr) => {
        #[allow(unsafe_code)]
        #[used]
        #[unsafe(link_section = ".init_array")]
        static ENTER_SANDBOX: extern "C" fn() = {
            extern "C" fn enter() {
                $crate::enter_with($parts);
            }
            enter
        };
    };
}
