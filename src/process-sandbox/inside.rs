//! The side of the sandbox that runs in processes of its own: from Hob's binary, started again, to the program of the job.
//!
//! Everything here has one thread, no runtime and an empty environment, and talks to Hob by the socket that is its standard input.

mod ids;
mod init;
mod mountinfo;
mod outer;
mod payload;
mod root;
mod watch;

use crate::{
    sys,
    wire::{self, Problem, Report, Spec},
};
use std::{io, sync::OnceLock};

/// The name under which Hob starts itself to make a sandbox.
pub const NAME: &str = "hob-sandbox";

/// A part of this binary that jobs may run in place of a program ([`crate::Job::part`]): a function that reads the standard input,
/// writes the standard output, and returns an exit code. It runs in one thread, and opens and starts nothing.
#[derive(Debug, Clone, Copy)]
pub struct Part {
    pub name: &'static str,
    pub run: fn() -> i32,
}

/// The parts of this binary.
static PARTS: OnceLock<&'static [Part]> = OnceLock::new();

/// Makes a sandbox, runs its program and ends this process, if Hob started it for that; else returns. Comes first in `main`.
pub fn enter_if_asked() {
    enter_with(&[]);
}

/// The same for a binary with parts that jobs may run.
pub fn enter_with(parts: &'static [Part]) {
    if std::env::args_os().next().is_none_or(|name| name != NAME) {
        return;
    }
    // Called once in a process.
    let _ = PARTS.set(parts);
    let mut fds = Vec::new();
    let Ok(spec) = wire::receive_one::<Spec>(sys::control(), &mut fds) else { sys::exit(1) };
    let problem = match outer::run(&spec, fds) {
        Ok(never) => match never {},
        Err(problem) => problem,
    };
    fail(problem)
}

fn part(name: &str) -> Step<Part> {
    let parts = PARTS.get().copied().unwrap_or_default();
    let found = parts.iter().find(|part| part.name == name).copied();
    found.ok_or_else(|| Problem::Job(format!("this binary has no part `{name}`")))
}

/// Nothing has this type: the function does not return.
enum Never {}

type Step<T> = Result<T, Problem>;

/// Reports a problem, and ends this process.
fn fail(problem: Problem) -> ! {
    // Without Hob nobody wants to know.
    let _ = wire::send_all(sys::control(), &Report::Failed(problem), &[]);
    sys::exit(1)
}

/// Names the step in which an error happened.
trait Named<T> {
    fn named(self, step: &str) -> Step<T>;
}

impl<T, E: Into<io::Error>> Named<T> for Result<T, E> {
    fn named(self, step: &str) -> Step<T> {
        self.map_err(|error| {
            let error: io::Error = error.into();
            Problem::Step(step.to_owned(), error.raw_os_error().unwrap_or(libc::EINVAL))
        })
    }
}
