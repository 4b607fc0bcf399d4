//! Process 1 of the job's namespaces: builds its world, starts the program, and ends everything when the program, Hob or the time has
//! ended.

use super::{
    Named, Never, Step, fail,
    ids::{Ids, USER},
    outer::Prepared,
    payload, root, watch,
};
use crate::{
    job::LayerState,
    network::PORT,
    sys,
    wire::{self, Problem, Report, Spec},
};
use rustix::fs::{CWD, Mode, OFlags, openat};
use std::{
    io::Read,
    net::{Ipv4Addr, TcpListener},
    os::fd::{AsFd, BorrowedFd, OwnedFd},
};

pub fn run(spec: &Spec, prepared: Prepared) -> ! {
    match start(spec, prepared) {
        Ok(never) => match never {},
        Err(problem) => fail(problem),
    }
}

fn start(spec: &Spec, mut prepared: Prepared) -> Step<Never> {
    sys::control_process(libc::PR_SET_PDEATHSIG, libc::SIGKILL as libc::c_ulong).named("follow the parent")?;
    prepared.mapped.read_exact(&mut [0]).named("wait for the users")?;
    // Nothing of this process, which is Hob's binary, shall be open to the program.
    sys::control_process(libc::PR_SET_DUMPABLE, 0).named("close the memory")?;
    root::build(spec, &mut prepared)?;
    // A service may keep its processes from setting names; then the machine's shows.
    let _ = sys::set_host_name("hob");
    sys::loopback_up().named("start the loopback")?;
    let listener = spec.proxy.then(listen).transpose()?;
    let (terminal, peer) = terminal(spec, prepared.ids)?.unzip();
    let layers = layers(&prepared);
    let signals = sys::child_signals().named("wait for signals")?;

    let (mut failed, report) = std::io::pipe().named("make a pipe")?;
    let stdio = std::mem::take(&mut prepared.stdio);
    let Some(pid) = sys::fork().named("start a process")? else {
        drop(failed);
        payload::run(spec, &stdio, peer.as_ref(), prepared.ids, report)
    };
    // The other sides notice the end of the program only if nothing is open here.
    drop((stdio, peer, report));
    let mut problem = Vec::new();
    failed.read_to_end(&mut problem).named("start the program")?;
    if !problem.is_empty() {
        let unknown = || Problem::Step("start the program".into(), libc::EPROTO);
        return Err(postcard::from_bytes(&problem).unwrap_or_else(|_| unknown()));
    }
    let fds: Vec<BorrowedFd<'_>> = terminal.iter().map(AsFd::as_fd).chain(listener.iter().map(AsFd::as_fd)).collect();
    wire::send_all(sys::control(), &Report::Started(layers), &fds).named("report the start")?;
    drop((terminal, listener));

    let how = watch::until_end(spec, pid, &signals);
    let ended = Report::Ended { how, cpu_ms: sys::children_cpu_ms() };
    let _ = wire::send_all(sys::control(), &ended, &[]);
    sys::exit(0)
}

/// The socket of the proxy. Hob accepts from it, outside.
fn listen() -> Step<TcpListener> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, PORT)).named("open the proxy")?;
    listener.set_nonblocking(true).named("open the proxy")?;
    Ok(listener)
}

/// Both sides of a new terminal in the job's own `/dev/pts`.
fn terminal(spec: &Spec, ids: Ids) -> Step<Option<(OwnedFd, OwnedFd)>> {
    let Some(size) = spec.terminal else { return Ok(None) };
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    let terminal = openat(CWD, "/dev/pts/ptmx", flags, Mode::empty()).named("make a terminal")?;
    let peer = sys::open_terminal_peer(terminal.as_fd()).named("open the terminal")?;
    sys::set_terminal_size(terminal.as_fd(), size.rows, size.columns).named("size the terminal")?;
    if ids.is_own() {
        give(&peer).named("give the terminal")?;
    }
    Ok(Some((terminal, peer)))
}

/// Makes the program's user the owner.
pub fn give(fd: &OwnedFd) -> rustix::io::Result<()> {
    let (user, group) = (rustix::fs::Uid::from_raw(USER), rustix::fs::Gid::from_raw(USER));
    rustix::fs::fchown(fd, Some(user), Some(group))
}

/// What holds here. The layers without which nothing runs are named as well.
fn layers(prepared: &Prepared) -> Vec<LayerState> {
    let layer = |name: &str, holds: bool, yes: &str, no: &str| LayerState {
        name: name.to_owned(),
        holds,
        reason: if holds { yes } else { no }.to_owned(),
    };
    let always = |name: &str, text: &str| layer(name, true, text, "");
    let version = sys::landlock_version();
    vec![
        always("namespaces", "a program sees its own users, files, processes, network and names only"),
        always("files", "a read-only base, and the folders of the job alone"),
        always("system calls", "a filter (seccomp) refuses what sandboxes have been left by"),
        always("rights", "no capabilities, and no new ones by set-user-ID programs"),
        always("limits", "time, memory, processes, output and file sizes are bounded"),
        layer(
            "landlock",
            version > 0,
            "a second judge of what is written where",
            "this kernel has no Landlock; mounts alone decide what is written",
        ),
        layer("keyring", prepared.keyring, "an empty session keyring", "this kernel has no keyrings to separate"),
        layer(
            "own user",
            prepared.ids.is_own(),
            "programs run as a user of their own",
            "programs run as Hob's own user, because only root can give them another; namespaces separate them",
        ),
    ]
}
