//! The process that becomes the program: gives up every right, in the order in which each can still be given up.

use super::{
    Named, Never, Step,
    ids::{Ids, USER},
    init,
    outer::c_string,
    root,
};
use crate::{
    landlock, seccomp, sys,
    wire::{Problem, Spec},
};
use std::{
    ffi::CString,
    io::{PipeWriter, Write},
    os::fd::{AsFd, OwnedFd},
};

pub fn run(spec: &Spec, stdio: &[OwnedFd], terminal: Option<&OwnedFd>, ids: Ids, mut report: PipeWriter) -> ! {
    let outcome = prepare(spec, stdio, terminal, ids).and_then(|()| match &spec.part {
        Some(name) => super::part(name).map(Some),
        None => Ok(None),
    });
    let problem = match outcome {
        Ok(Some(part)) => {
            // As exec would.
            drop(report);
            let _ = sys::close_from(3);
            match sys::filter_system_calls(&seccomp::confined()) {
                Ok(()) => sys::exit((part.run)()),
                Err(_) => sys::exit(127),
            }
        }
        Ok(None) => match execute(spec) {
            Ok(never) => match never {},
            Err(problem) => problem,
        },
        Err(problem) => problem,
    };
    // On success exec closes the pipe without a word.
    if let Ok(bytes) = postcard::to_stdvec(&problem) {
        let _ = report.write_all(&bytes);
    }
    sys::exit(127)
}

/// Gives up everything that the program must not have.
fn prepare(spec: &Spec, stdio: &[OwnedFd], terminal: Option<&OwnedFd>, ids: Ids) -> Step<()> {
    let writable = root::writable(spec)?;

    sys::reset_signals();
    sys::new_session(terminal.map(AsFd::as_fd)).named("begin a session")?;
    // All three, because the first is the socket to Hob up to here.
    let stdio: Vec<&OwnedFd> = terminal.map_or_else(|| stdio.iter().collect(), |terminal| vec![terminal; 3]);
    if stdio.len() != 3 {
        return Err(Problem::Step("pass the input and output".into(), libc::EBADF));
    }
    for (target, fd) in (0..3).zip(stdio) {
        if ids.is_own() && terminal.is_none() {
            // Opened again by its name in /proc; what cannot be given stays as it is.
            let _ = init::give(fd);
        }
        sys::duplicate_to(fd.as_fd(), target).named("pass the input and output")?;
    }
    sys::close_from_on_exec(3).named("close files")?;
    limits(spec)?;
    sys::bound_capabilities().named("bound capabilities")?;
    if ids.is_own() {
        sys::become_user(USER, USER).named("become another user")?;
    }
    sys::drop_capabilities().named("drop capabilities")?;
    sys::control_process(libc::PR_SET_NO_NEW_PRIVS, 1).named("refuse new rights")?;
    let dir = c_string(&spec.dir)?;
    rustix::process::chdir(&dir).map_err(|_| {
        Problem::Job(format!("the folder {} does not exist inside, or is closed", String::from_utf8_lossy(&spec.dir)))
    })?;
    if sys::landlock_version() > 0 {
        let writable: Vec<_> = writable.iter().map(|(path, is_folder)| (path.as_c_str(), *is_folder)).collect();
        landlock::restrict(&writable).named("restrict files")?;
    }
    sys::filter_system_calls(&seccomp::filter()).named("filter system calls")
}

fn execute(spec: &Spec) -> Step<Never> {
    let strings = |all: &[Vec<u8>]| all.iter().map(|text| c_string(text)).collect::<Step<Vec<CString>>>();
    let (program, env) = (c_string(&spec.program)?, strings(&spec.env)?);
    let args = [vec![program.clone()], strings(&spec.args)?].concat();
    if spec.program.is_empty() {
        // A trial: everything up to here works.
        sys::exit(0)
    }
    let error = sys::execute(&program, &args, &env);
    Err(Problem::Exec(error.raw_os_error().unwrap_or(libc::EINVAL)))
}

/// Bounds of each process; those of all together are counted by init.
fn limits(spec: &Spec) -> Step<()> {
    let limits = &spec.limits;
    let cpu = limits.cpu.as_secs().saturating_add(1);
    let same = |value: u64| (value, value);
    for (resource, (soft, hard)) in [
        (libc::RLIMIT_CPU, (cpu, cpu.saturating_add(2))),
        (libc::RLIMIT_FSIZE, same(limits.file_size)),
        (libc::RLIMIT_NOFILE, same(limits.open_files.into())),
        // With init.
        (libc::RLIMIT_NPROC, same(u64::from(limits.processes) + 1)),
        (libc::RLIMIT_DATA, same(limits.memory)),
        (libc::RLIMIT_CORE, same(0)),
        (libc::RLIMIT_MEMLOCK, same(1 << 20)),
        (libc::RLIMIT_MSGQUEUE, same(0)),
        (libc::RLIMIT_NICE, same(0)),
        (libc::RLIMIT_RTPRIO, same(0)),
    ] {
        let outcome = sys::limit(resource, soft, hard);
        // Hob's own bound may be lower.
        if outcome.as_ref().is_err_and(|error| error.raw_os_error() == Some(libc::EPERM)) {
            continue;
        }
        outcome.named("set a limit")?;
    }
    Ok(())
}
