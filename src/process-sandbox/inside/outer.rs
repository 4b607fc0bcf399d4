//! The process between Hob and the namespaces: prepares what only Hob's own rights can do, makes the namespaces, maps the users, and
//! waits.

use super::{
    Named, Never, Step,
    ids::Ids,
    init,
    mountinfo::{self, Location},
};
use crate::{
    sys,
    wire::{MountSpec, Problem, Spec},
};
use std::{
    ffi::CString,
    fs,
    io::{PipeReader, Read, Write},
    os::fd::{AsFd, OwnedFd},
};

/// What init is given beside the job.
pub struct Prepared {
    /// The standard input, output and error.
    pub stdio: Vec<OwnedFd>,
    /// Where the protected folders are.
    pub hidden: Vec<Location>,
    /// The trees of the mounts, where Hob is root.
    pub trees: Vec<OwnedFd>,
    pub ids: Ids,
    /// Gives one byte when the users are mapped.
    pub mapped: PipeReader,
    pub keyring: bool,
}

const NAMESPACES: i32 = libc::CLONE_NEWUSER
    | libc::CLONE_NEWNS
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWCGROUP;

pub fn run(spec: &Spec, stdio: Vec<OwnedFd>) -> Step<Never> {
    // Hob's own files are closed to others; the root of a job is not.
    rustix::process::umask(rustix::fs::Mode::from(0o022));
    let ids = Ids::choose();
    let keyring = sys::leave_keyring().is_ok();
    // Of all processes of the machine, those of jobs end first when memory runs out.
    let _ = fs::write("/proc/self/oom_score_adj", "900");
    let hidden = hidden(spec)?;
    let trees = match ids.is_own() {
        true => spec.mounts.iter().map(own_tree).collect::<Step<Vec<_>>>()?,
        false => Vec::new(),
    };
    let (mapped, mut done) = std::io::pipe().named("make a pipe")?;
    let Some(pid) = sys::clone_namespaces(NAMESPACES).named("make namespaces")? else {
        drop(done);
        init::run(spec, Prepared { stdio, hidden, trees, ids, mapped, keyring })
    };
    if let Err(problem) = map_users(pid, ids.maps()) {
        sys::kill(pid);
        return Err(problem);
    }
    done.write_all(b"m").named("start the first process")?;
    // The other sides of pipes and sockets notice the end of the job only if nothing is open here.
    drop((stdio, trees, mapped, done));
    let _ = sys::close_from(0);
    while let Ok(Some(_)) = sys::reap(true) {}
    sys::exit(0)
}

fn map_users(pid: i32, [users, groups]: [String; 2]) -> Step<()> {
    let write = |name: &str, text: &str| fs::write(format!("/proc/{pid}/{name}"), text).named("map users");
    // Nobody inside shall give up a group that denies something.
    write("setgroups", if rustix::process::geteuid().is_root() { "allow" } else { "deny" })?;
    write("gid_map", &groups)?;
    write("uid_map", &users)
}

/// Finds the protected folders, and refuses mounts of what is in them.
fn hidden(spec: &Spec) -> Step<Vec<Location>> {
    if spec.protected.is_empty() {
        return Ok(Vec::new());
    }
    let mounts = mountinfo::read().named("read the mounts")?;
    let locate =
        |sources: &[_]| sources.iter().map(|source| mountinfo::locate(source, &mounts)).collect::<Step<Vec<_>>>();
    let (hidden, mountable) = (locate(&spec.protected)?, locate(&spec.mountable)?);
    for mount in &spec.mounts {
        let source = mountinfo::locate(&mount.source, &mounts)?;
        let within = |places: &[Location]| places.iter().any(|place| source.is_within(place));
        if within(&hidden) && !within(&mountable) {
            let path = String::from_utf8_lossy(&mount.source.path).into_owned();
            return Err(Problem::Job(format!("{path} is Hob's own, and no program sees it")));
        }
    }
    Ok(hidden)
}

/// The tree of a mount, with the files of root as the program's.
fn own_tree(mount: &MountSpec) -> Step<OwnedFd> {
    let handle = mountinfo::open(&mount.source)?;
    let tree = sys::clone_tree(handle.as_fd(), c"", true).named("copy a mount")?;
    let users = files_namespace()?;
    match sys::map_owners(tree.as_fd(), users.as_fd()) {
        Ok(()) => {}
        // Without that the program reads what everybody may read.
        Err(_) if mount.read_only => {}
        Err(_) => {
            let path = String::from_utf8_lossy(&mount.source.path).into_owned();
            return Err(Problem::Job(format!(
                "the file system of {path} cannot show its files to the sandbox's own user; put the folder on ext4, xfs, \
                 btrfs or a stick, or run Hob as an ordinary user"
            )));
        }
    }
    Ok(tree)
}

/// A user namespace that maps root's files to the program's user. It lives in a process that waits, until it is opened.
fn files_namespace() -> Step<OwnedFd> {
    let (mut wait, done) = std::io::pipe().named("make a pipe")?;
    let Some(pid) = sys::clone_namespaces(libc::CLONE_NEWUSER).named("make a user namespace")? else {
        drop(done);
        let _ = wait.read(&mut [0]);
        sys::exit(0)
    };
    let opened = map_users(pid, [Ids::files_map(), Ids::files_map()])
        .and_then(|()| fs::File::open(format!("/proc/{pid}/ns/user")).named("open a user namespace"));
    sys::kill(pid);
    drop(done);
    let _ = sys::reap(true);
    opened.map(OwnedFd::from)
}

/// A path as the kernel takes it.
pub fn c_string(bytes: &[u8]) -> Step<CString> {
    CString::new(bytes).map_err(|_| Problem::Job("a path or argument has a null byte".into()))
}
