//! System calls that no safe crate here wraps. All unsafe code of this crate is in this file.
//!
//! Except for [`fork`] and [`clone_namespaces`], each takes only borrowed descriptors, strings and numbers that outlive the call.
//! Those two are called in a process with one thread, which is what makes them safe.

#![allow(unsafe_code)]

use libc::{c_int, c_long, c_uint, c_ulong};
use std::{
    ffi::{CStr, CString},
    io,
    os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd},
    ptr,
};

pub const MOUNT_READ_ONLY: u64 = 1;
pub const MOUNT_NO_SETUID: u64 = 2;
pub const MOUNT_NO_DEVICES: u64 = 4;
pub const MOUNT_NO_EXEC: u64 = 8;
const MOUNT_ID_MAP: u64 = 0x0010_0000;
const RECURSIVE: c_uint = 0x8000;
const CLOSE_ON_EXEC: c_uint = 0o2_000_000;
const FROM_EMPTY_PATH: c_uint = 0x4;
const TO_EMPTY_PATH: c_uint = 0x40;

#[repr(C)]
#[derive(Default)]
struct MountAttr {
    set: u64,
    clear: u64,
    propagation: u64,
    user_namespace: u64,
}

fn check(result: c_long) -> io::Result<c_long> {
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

fn number(result: c_long) -> io::Result<c_int> {
    check(result).map(|value| c_int::try_from(value).unwrap_or(c_int::MAX))
}

fn owned(result: c_long) -> io::Result<OwnedFd> {
    // SAFETY: the kernel has just made this descriptor for us.
    number(result).map(|fd| unsafe { OwnedFd::from_raw_fd(fd) })
}

/// The standard input, which is the socket to Hob.
pub fn control() -> BorrowedFd<'static> {
    // SAFETY: it is open from the start, and never closed while it is used.
    unsafe { BorrowedFd::borrow_raw(0) }
}

/// Forks a process with one thread. The child's number in the parent, `None` in the child.
pub fn fork() -> io::Result<Option<c_int>> {
    // SAFETY: there is one thread, so the child finds no lock taken.
    number(unsafe { libc::fork() }.into()).map(|pid| (pid != 0).then_some(pid))
}

/// As [`fork`], with the child in new namespaces.
pub fn clone_namespaces(flags: c_int) -> io::Result<Option<c_int>> {
    let flags = flags | libc::SIGCHLD;
    // SAFETY: without a stack of its own and CLONE_VM it is a fork; there is one thread.
    number(unsafe { libc::syscall(libc::SYS_clone, flags as c_ulong, 0, 0, 0, 0) }).map(|pid| (pid != 0).then_some(pid))
}

/// Ends this process at once, without any clean-up of the process it was copied from.
pub fn exit(code: c_int) -> ! {
    // SAFETY: it does not return.
    unsafe { libc::_exit(code) }
}

/// Closes every descriptor from `first` on.
pub fn close_from(first: c_uint) -> io::Result<()> {
    // SAFETY: callers own no descriptor from there on.
    check(unsafe { libc::syscall(libc::SYS_close_range, first, c_uint::MAX, 0) }).map(drop)
}

/// Marks every descriptor from `first` on to be closed by exec.
pub fn close_from_on_exec(first: c_uint) -> io::Result<()> {
    // SAFETY: no descriptor is closed now.
    check(unsafe { libc::syscall(libc::SYS_close_range, first, c_uint::MAX, 4 as c_uint) }).map(drop)
}

/// Makes `target` another number for `fd`, inherited by exec.
pub fn duplicate_to(fd: BorrowedFd<'_>, target: RawFd) -> io::Result<()> {
    // SAFETY: `target` is 0, 1 or 2, of which this process owns no handle.
    check(unsafe { libc::dup2(fd.as_raw_fd(), target) }.into()).map(drop)
}

/// A copy of the tree of mounts at `path`, which is relative to `folder` and may be empty for the handle itself.
pub fn clone_tree(folder: BorrowedFd<'_>, path: &CStr, recursive: bool) -> io::Result<OwnedFd> {
    let flags = 1 | CLOSE_ON_EXEC | libc::AT_EMPTY_PATH as c_uint | libc::AT_SYMLINK_NOFOLLOW as c_uint;
    let flags = if recursive { flags | RECURSIVE } else { flags };
    // SAFETY: see the head of the file.
    owned(unsafe { libc::syscall(libc::SYS_open_tree, folder.as_raw_fd(), path.as_ptr(), flags) })
}

/// Adds attributes to all mounts of a tree.
pub fn set_mount(tree: BorrowedFd<'_>, set: u64) -> io::Result<()> {
    set_attributes(tree, &MountAttr { set, ..MountAttr::default() }, RECURSIVE)
}

/// Adds attributes to one mount, and not to those in it.
pub fn set_one_mount(mount: BorrowedFd<'_>, set: u64) -> io::Result<()> {
    set_attributes(mount, &MountAttr { set, ..MountAttr::default() }, 0)
}

/// Shows the owners in a tree that is not mounted yet as the user namespace maps them.
pub fn map_owners(tree: BorrowedFd<'_>, user_namespace: BorrowedFd<'_>) -> io::Result<()> {
    let user_namespace = u64::try_from(user_namespace.as_raw_fd()).unwrap_or(u64::MAX);
    set_attributes(tree, &MountAttr { set: MOUNT_ID_MAP, user_namespace, ..MountAttr::default() }, RECURSIVE)
}

fn set_attributes(tree: BorrowedFd<'_>, attributes: &MountAttr, recursive: c_uint) -> io::Result<()> {
    let flags = libc::AT_EMPTY_PATH as c_uint | recursive;
    // SAFETY: see the head of the file; the size is that of the structure.
    check(unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            tree.as_raw_fd(),
            c"".as_ptr(),
            flags,
            ptr::from_ref(attributes),
            size_of::<MountAttr>(),
        )
    })
    .map(drop)
}

/// Mounts a tree onto the folder or file that `target` is a handle of.
pub fn attach(tree: BorrowedFd<'_>, target: BorrowedFd<'_>) -> io::Result<()> {
    let flags = FROM_EMPTY_PATH | TO_EMPTY_PATH;
    // SAFETY: see the head of the file.
    check(unsafe {
        libc::syscall(libc::SYS_move_mount, tree.as_raw_fd(), c"".as_ptr(), target.as_raw_fd(), c"".as_ptr(), flags)
    })
    .map(drop)
}

/// A new file system of this type that is not mounted yet.
pub fn new_file_system(kind: &CStr, options: &[(&CStr, CString)], attributes: u64) -> io::Result<OwnedFd> {
    // SAFETY (all four): see the head of the file.
    let context = owned(unsafe { libc::syscall(libc::SYS_fsopen, kind.as_ptr(), 1) })?;
    for (key, value) in options {
        let set = 1 as c_uint;
        check(unsafe { libc::syscall(libc::SYS_fsconfig, context.as_raw_fd(), set, key.as_ptr(), value.as_ptr(), 0) })?;
    }
    let create = 6 as c_uint;
    let none = ptr::null::<u8>();
    check(unsafe { libc::syscall(libc::SYS_fsconfig, context.as_raw_fd(), create, none, none, 0) })?;
    owned(unsafe { libc::syscall(libc::SYS_fsmount, context.as_raw_fd(), 1, attributes as c_uint) })
}

/// Keeps what is mounted here from showing in other namespaces, and the other way round.
pub fn make_mounts_private() -> io::Result<()> {
    let none = ptr::null();
    // SAFETY: see the head of the file.
    check(unsafe { libc::mount(none, c"/".as_ptr(), none, libc::MS_REC | libc::MS_PRIVATE, ptr::null()) }.into())
        .map(drop)
}

/// Makes the working folder the root, and lets go of the old one.
pub fn enter_root() -> io::Result<()> {
    // SAFETY: see the head of the file.
    check(unsafe { libc::syscall(libc::SYS_pivot_root, c".".as_ptr(), c".".as_ptr()) })?;
    // SAFETY: see the head of the file.
    check(unsafe { libc::umount2(c".".as_ptr(), libc::MNT_DETACH) }.into()).map(drop)
}

pub fn set_host_name(name: &str) -> io::Result<()> {
    // SAFETY: see the head of the file.
    check(unsafe { libc::sethostname(name.as_ptr().cast(), name.len()) }.into()).map(drop)
}

/// A `prctl` that takes numbers only.
pub fn control_process(option: c_int, value: c_ulong) -> io::Result<()> {
    // SAFETY: callers name options that take a number.
    check(unsafe { libc::prctl(option, value, 0, 0, 0) }.into()).map(drop)
}

/// Leaves the session keyring of Hob for an empty one.
pub fn leave_keyring() -> io::Result<()> {
    let join = 1;
    // SAFETY: a null name makes an anonymous keyring.
    check(unsafe { libc::syscall(libc::SYS_keyctl, join, ptr::null::<u8>()) }).map(drop)
}

/// Becomes another user without groups beside its own.
pub fn become_user(uid: u32, gid: u32) -> io::Result<()> {
    // SAFETY: they take numbers only, and there is one thread.
    unsafe {
        check(libc::syscall(libc::SYS_setgroups, 0, ptr::null::<libc::gid_t>()))?;
        check(libc::syscall(libc::SYS_setresgid, gid, gid, gid))?;
        check(libc::syscall(libc::SYS_setresuid, uid, uid, uid)).map(drop)
    }
}

/// Gives up every capability for all programs to come.
pub fn bound_capabilities() -> io::Result<()> {
    for capability in 0..64 {
        match control_process(libc::PR_CAPBSET_DROP, capability) {
            // No further ones are known here.
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => break,
            other => other?,
        }
    }
    Ok(())
}

/// Gives up every capability now.
pub fn drop_capabilities() -> io::Result<()> {
    control_process(libc::PR_CAP_AMBIENT, libc::PR_CAP_AMBIENT_CLEAR_ALL as c_ulong)?;
    let (header, none) = ([0x2008_0522_u32, 0], [0_u32; 6]);
    // SAFETY: version 3 of the header goes with two sets of three words.
    check(unsafe { libc::syscall(libc::SYS_capset, header.as_ptr(), none.as_ptr()) }).map(drop)
}

/// Bounds a resource for good.
pub fn limit(resource: c_uint, soft: u64, hard: u64) -> io::Result<()> {
    let limit = libc::rlimit { rlim_cur: soft, rlim_max: hard };
    // SAFETY: see the head of the file.
    check(unsafe { libc::syscall(libc::SYS_prlimit64, 0, resource, ptr::from_ref(&limit), ptr::null::<u8>()) })
        .map(drop)
}

/// Signals as a new program expects them: none is blocked or ignored.
pub fn reset_signals() {
    // SAFETY: SIG_DFL is a valid handler for each; failures (KILL, STOP) change nothing.
    unsafe {
        for signal in 1..=64 {
            libc::signal(signal, libc::SIG_DFL);
        }
        let mut none = std::mem::zeroed::<libc::sigset_t>();
        libc::sigemptyset(&raw mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, ptr::null_mut());
    }
}

/// A handle that is readable when a child has ended; the signal itself is blocked.
pub fn child_signals() -> io::Result<OwnedFd> {
    // SAFETY: the set is initialised before it is used.
    unsafe {
        let mut set = std::mem::zeroed::<libc::sigset_t>();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, libc::SIGCHLD);
        libc::sigprocmask(libc::SIG_BLOCK, &raw const set, ptr::null_mut());
        owned(libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK).into())
    }
}

/// The next child that has ended, with its raw status; `None` if none has, or if there is none at all.
pub fn reap(wait: bool) -> io::Result<Option<(c_int, c_int)>> {
    let mut status = 0;
    let flags = if wait { 0 } else { libc::WNOHANG };
    loop {
        // SAFETY: `status` outlives the call.
        match number(unsafe { libc::waitpid(-1, &raw mut status, flags | libc::__WALL) }.into()) {
            Ok(0) => return Ok(None),
            Ok(pid) => return Ok(Some((pid, status))),
            Err(error) if error.raw_os_error() == Some(libc::ECHILD) => return Ok(None),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// The processor time of all children that have been waited for, in milliseconds.
pub fn children_cpu_ms() -> u64 {
    // SAFETY: a zeroed structure of numbers is valid.
    let mut usage = unsafe { std::mem::zeroed::<libc::rusage>() };
    // SAFETY: see the head of the file.
    if unsafe { libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut usage) } != 0 {
        return 0;
    }
    let ms = |time: libc::timeval| {
        u64::try_from(time.tv_sec).unwrap_or(0) * 1000 + u64::try_from(time.tv_usec).unwrap_or(0) / 1000
    };
    ms(usage.ru_utime) + ms(usage.ru_stime)
}

/// Ends every other process of this process namespace.
pub fn kill_all() {
    // SAFETY: it takes numbers only; process 1 of the namespace is the caller.
    unsafe { libc::kill(-1, libc::SIGKILL) };
}

pub fn kill(pid: c_int) {
    // SAFETY: it takes numbers only.
    unsafe { libc::kill(pid, libc::SIGKILL) };
}

/// Ticks of a second in `/proc/*/stat`, and bytes of a page.
pub fn units() -> (u64, u64) {
    // SAFETY: it takes numbers only.
    let of = |name| u64::try_from(unsafe { libc::sysconf(name) }).unwrap_or(1).max(1);
    (of(libc::_SC_CLK_TCK), of(libc::_SC_PAGESIZE))
}

/// Begins a session of its own, with `terminal` as its terminal.
pub fn new_session(terminal: Option<BorrowedFd<'_>>) -> io::Result<()> {
    // SAFETY: they take numbers only.
    unsafe {
        check(libc::setsid().into())?;
        match terminal {
            Some(terminal) => check(libc::ioctl(terminal.as_raw_fd(), libc::TIOCSCTTY, 0).into()).map(drop),
            None => Ok(()),
        }
    }
}

/// Unlocks the other side of a new terminal, and opens it.
pub fn open_terminal_peer(terminal: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    let unlock: c_int = 0;
    // SAFETY: `unlock` outlives the call.
    check(unsafe { libc::ioctl(terminal.as_raw_fd(), libc::TIOCSPTLCK, &raw const unlock) }.into())?;
    // SAFETY: it takes numbers only.
    owned(unsafe { libc::ioctl(terminal.as_raw_fd(), libc::TIOCGPTPEER, libc::O_RDWR | libc::O_NOCTTY) }.into())
}

/// Waits for a descriptor with the runtime of the caller.
pub fn watched(fd: OwnedFd) -> io::Result<tokio::io::unix::AsyncFd<OwnedFd>> {
    // SAFETY: it owns the descriptor, which stays the same and open for as long.
    Ok(unsafe { tokio::io::unix::AsyncFd::register(fd) }?)
}

pub fn set_terminal_size(terminal: BorrowedFd<'_>, rows: u16, columns: u16) -> io::Result<()> {
    let size = libc::winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: `size` outlives the call.
    check(unsafe { libc::ioctl(terminal.as_raw_fd(), libc::TIOCSWINSZ, &raw const size) }.into()).map(drop)
}

/// Switches the loopback interface of this network namespace on.
pub fn loopback_up() -> io::Result<()> {
    // SAFETY: a zeroed request is valid, and its name is shorter than the field.
    unsafe {
        let socket = owned(libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0).into())?;
        let mut request = std::mem::zeroed::<libc::ifreq>();
        request.ifr_name[0] = b'l' as libc::c_char;
        request.ifr_name[1] = b'o' as libc::c_char;
        request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
        check(libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw const request).into()).map(drop)
    }
}

/// Executes a program; returns only if that failed.
pub fn execute(program: &CStr, args: &[CString], env: &[CString]) -> io::Error {
    let pointers =
        |strings: &[CString]| strings.iter().map(|text| text.as_ptr()).chain([ptr::null()]).collect::<Vec<_>>();
    let (args, env) = (pointers(args), pointers(env));
    // SAFETY: both lists end with null, and their strings outlive the call.
    unsafe { libc::execve(program.as_ptr(), args.as_ptr(), env.as_ptr()) };
    io::Error::last_os_error()
}

/// Installs a filter of system calls for this process and all that come from it.
pub fn filter_system_calls(filter: &[libc::sock_filter]) -> io::Result<()> {
    let length = u16::try_from(filter.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
    let program = libc::sock_fprog { len: length, filter: filter.as_ptr().cast_mut() };
    // SAFETY: the kernel reads `len` instructions, and writes nothing.
    check(unsafe { libc::syscall(libc::SYS_seccomp, 1, 0, ptr::from_ref(&program)) }).map(drop)
}

#[repr(C)]
pub struct LandlockRuleset {
    pub files: u64,
    pub network: u64,
    pub scoped: u64,
}

#[repr(C, packed)]
struct LandlockBeneath {
    allowed: u64,
    parent: c_int,
}

/// The version of Landlock of this kernel; 0 without it.
pub fn landlock_version() -> c_int {
    // SAFETY: asks for the version only.
    number(unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, ptr::null::<u8>(), 0, 1) }).unwrap_or(0)
}

pub fn landlock_ruleset(ruleset: &LandlockRuleset, size: usize) -> io::Result<OwnedFd> {
    let size = size.min(size_of::<LandlockRuleset>());
    // SAFETY: the size is at most that of the structure.
    owned(unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, ptr::from_ref(ruleset), size, 0) })
}

pub fn landlock_allow(ruleset: BorrowedFd<'_>, beneath: impl AsFd, allowed: u64) -> io::Result<()> {
    let rule = LandlockBeneath { allowed, parent: beneath.as_fd().as_raw_fd() };
    // SAFETY: 1 is the kind of this structure, which outlives the call.
    check(unsafe { libc::syscall(libc::SYS_landlock_add_rule, ruleset.as_raw_fd(), 1, &raw const rule, 0) }).map(drop)
}

pub fn landlock_restrict(ruleset: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: it takes numbers only.
    check(unsafe { libc::syscall(libc::SYS_landlock_restrict_self, ruleset.as_raw_fd(), 0) }).map(drop)
}
