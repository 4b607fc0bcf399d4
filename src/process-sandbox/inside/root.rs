//! The file system of a job: a root in memory with the base, the mounts, `/proc`, `/dev`, and a private `/tmp`.

use super::{
    Named, Step,
    ids::{Ids, USER},
    mountinfo::{self, Location, MountEntry},
    outer::{Prepared, c_string},
};
use crate::{
    sys::{self, MOUNT_NO_DEVICES, MOUNT_NO_EXEC, MOUNT_NO_SETUID, MOUNT_READ_ONLY},
    wire::{Problem, Spec},
};
use rustix::fs::{AtFlags, CWD, Mode, OFlags, fstat, mkdirat, openat, readlinkat, statat, symlinkat, unlinkat};
use std::{
    collections::HashSet,
    ffi::{CString, OsStr},
    io::Write,
    os::{
        fd::{AsFd, OwnedFd},
        unix::ffi::OsStrExt,
    },
    path::{Component, Path},
};

const QUIET: u64 = MOUNT_NO_SETUID | MOUNT_NO_DEVICES;
/// Devices that say nothing about the machine.
const DEVICES: &[&str] = &["null", "zero", "full", "random", "urandom", "tty"];
const DEVICE_LINKS: &[(&str, &str)] = &[
    ("fd", "/proc/self/fd"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"),
    ("ptmx", "pts/ptmx"),
];
/// What of `/proc` tells about the machine or changes it. What does not exist is left out.
const PROC_COVERED: &[&str] = &[
    "acpi",
    "asound",
    "bus",
    "driver",
    "dynamic_debug",
    "fs",
    "interrupts",
    "iomem",
    "ioports",
    "irq",
    "kallsyms",
    "kcore",
    "key-users",
    "keys",
    "kmsg",
    "kpagecgroup",
    "kpagecount",
    "kpageflags",
    "latency_stats",
    "mtrr",
    "partitions",
    "pressure",
    "sched_debug",
    "schedstat",
    "scsi",
    "slabinfo",
    "softirqs",
    "swaps",
    "sysrq-trigger",
    "sysvipc",
    "timer_list",
    "tty",
    "vmallocinfo",
    "vmstat",
    "zoneinfo",
];
/// A name in the new root while it is built.
const COVERS: &str = ".covers";

/// A tree that is not mounted yet.
struct Tree {
    fd: OwnedFd,
    /// Relative to the root.
    target: Vec<u8>,
    is_folder: bool,
}

/// The root while it is built.
struct Root {
    fd: OwnedFd,
    device: u64,
}

/// Builds the root and enters it.
pub fn build(spec: &Spec, prepared: &mut Prepared) -> Step<()> {
    sys::make_mounts_private().named("separate the mounts")?;
    // Before anything is mounted over what they lead to.
    let (mut base, mut links) = (Vec::new(), Vec::new());
    for path in &spec.base {
        base_tree(path, &mut base, &mut links)?;
    }
    let mounts = job_trees(spec, std::mem::take(&mut prepared.trees))?;
    let devices = DEVICES.iter().filter_map(|name| device(name)).collect::<Vec<_>>();

    let root = Root::new()?;
    for (path, to) in &links {
        root.link(path, to)?;
    }
    for tree in &base {
        root.attach(tree, QUIET | MOUNT_READ_ONLY)?;
    }
    root.files()?;
    root.covers()?;
    root.devices(&devices)?;
    // Programs that write into /tmp write into the job's memory.
    let (memory, user) = (spec.limits.memory, prepared.ids);
    root.memory_folder("tmp", memory / 2, user)?;
    root.memory_folder("dev/shm", memory / 4, user)?;
    root.proc()?;
    for (tree, mount) in mounts.iter().zip(&spec.mounts) {
        root.attach(tree, QUIET | if mount.read_only { MOUNT_READ_ONLY } else { 0 })?;
    }
    for (tree, mount) in mounts.iter().zip(&spec.mounts) {
        for covered in &mount.covered {
            root.cover(&[&tree.target[..], b"/", covered].concat(), None)?;
        }
    }
    root.hide(&prepared.hidden, &mounts)?;
    root.enter()
}

/// The paths that are written, for the second judge, and whether they are folders.
pub fn writable(spec: &Spec) -> Step<Vec<(CString, bool)>> {
    let mut all = vec![(c"/tmp".to_owned(), true), (c"/dev".to_owned(), true)];
    for mount in spec.mounts.iter().filter(|mount| !mount.read_only) {
        all.push((c_string(&mount.target)?, mount.is_folder));
    }
    Ok(all)
}

/// A path of the base: a link is noted, a folder or file copied, and what does not exist left out.
fn base_tree(path: &[u8], trees: &mut Vec<Tree>, links: &mut Vec<(Vec<u8>, CString)>) -> Step<()> {
    let name = c_string(path)?;
    let Ok(stat) = statat(CWD, &name, AtFlags::SYMLINK_NOFOLLOW) else { return Ok(()) };
    let kind = rustix::fs::FileType::from_raw_mode(stat.st_mode);
    if kind.is_symlink() {
        links.push((relative(path)?, readlinkat(CWD, &name, Vec::new()).named("read a link of the base")?));
    } else {
        let fd = sys::clone_tree(CWD, &name, true).named("copy the base")?;
        trees.push(Tree { fd, target: relative(path)?, is_folder: kind.is_dir() });
    }
    Ok(())
}

/// The trees of the job's mounts, checked once more against what Hob has handles of.
fn job_trees(spec: &Spec, own: Vec<OwnedFd>) -> Step<Vec<Tree>> {
    let mut own = own.into_iter();
    let mut trees = Vec::new();
    for mount in &spec.mounts {
        let fd = match own.next() {
            Some(tree) => tree,
            None => {
                let handle = mountinfo::open(&mount.source)?;
                sys::clone_tree(handle.as_fd(), c"", true).named("copy a mount")?
            }
        };
        if mountinfo::identity(&fd).named("look at a mount")? != mount.source.identity {
            let path = String::from_utf8_lossy(&mount.source.path).into_owned();
            return Err(Problem::Job(format!("{path} was replaced")));
        }
        trees.push(Tree { fd, target: relative(&mount.target)?, is_folder: mount.is_folder });
    }
    Ok(trees)
}

fn device(name: &str) -> Option<Tree> {
    let path = CString::new(format!("/dev/{name}")).ok()?;
    let fd = sys::clone_tree(CWD, &path, false).ok()?;
    Some(Tree { fd, target: format!("dev/{name}").into_bytes(), is_folder: false })
}

/// A path without its leading slash. Only plain names are in it.
fn relative(path: &[u8]) -> Step<Vec<u8>> {
    let text = || String::from_utf8_lossy(path).into_owned();
    let bad = || Problem::Job(format!("{} is no path for a mount", text()));
    let path = Path::new(OsStr::from_bytes(path)).strip_prefix("/").map_err(|_| bad())?;
    match path.components().next().is_some() && path.components().all(|part| matches!(part, Component::Normal(_))) {
        true => Ok(path.as_os_str().as_bytes().to_vec()),
        false => Err(bad()),
    }
}

const FOLDER: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC).union(OFlags::DIRECTORY);
const ANY: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

impl Root {
    /// An empty root, mounted over `/usr`, of which the copies are already made.
    fn new() -> Step<Self> {
        let options = [(c"mode", c"0755".to_owned()), (c"size", c"1m".to_owned()), (c"nr_inodes", c"2048".to_owned())];
        let tree = sys::new_file_system(c"tmpfs", &options, QUIET).named("make the root")?;
        let place = openat(CWD, c"/usr", FOLDER, Mode::empty()).named("find /usr")?;
        sys::attach(tree.as_fd(), place.as_fd()).named("mount the root")?;
        let device = fstat(&tree).named("look at the root")?.st_dev;
        Ok(Self { fd: tree, device })
    }

    /// The folder in which the last name of `path` is, and that name. Missing folders are made, but only in the root itself. No link
    /// is followed.
    fn parent<'a>(&self, path: &'a [u8]) -> Step<(OwnedFd, &'a [u8])> {
        let shown = || String::from_utf8_lossy(path).into_owned();
        let mut folder = self.fd.try_clone().named("open the root")?;
        let mut names = path.split(|byte| *byte == b'/').filter(|name| !name.is_empty()).peekable();
        while let Some(name) = names.next() {
            if names.peek().is_none() {
                return Ok((folder, name));
            }
            folder = match openat(&folder, name, FOLDER, Mode::empty()) {
                Err(rustix::io::Errno::NOENT) if self.is_ours(&folder) => {
                    mkdirat(&folder, name, Mode::from(0o755)).named("make a folder")?;
                    openat(&folder, name, FOLDER, Mode::empty()).named("open a folder")?
                }
                other => other.map_err(|_| Problem::Job(format!("there is no folder for /{} inside", shown())))?,
            };
        }
        Err(Problem::Job("a mount has an empty path".into()))
    }

    fn is_ours(&self, folder: impl AsFd) -> bool {
        fstat(folder).is_ok_and(|stat| stat.st_dev == self.device)
    }

    /// A place to mount onto, made if it is missing.
    fn place(&self, path: &[u8], is_folder: bool) -> Step<OwnedFd> {
        let (folder, name) = self.parent(path)?;
        let open = || openat(&folder, name, if is_folder { FOLDER } else { ANY }, Mode::empty());
        match open() {
            Ok(place) => Ok(place),
            Err(rustix::io::Errno::NOENT) if self.is_ours(&folder) => {
                if is_folder {
                    mkdirat(&folder, name, Mode::from(0o755)).named("make a folder")?;
                } else {
                    let make = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
                    openat(&folder, name, make, Mode::from(0o444)).named("make a file")?;
                }
                open().named("open a place for a mount")
            }
            Err(_) => Err(Problem::Job(format!("there is no place for /{} inside", String::from_utf8_lossy(path)))),
        }
    }

    fn attach(&self, tree: &Tree, attributes: u64) -> Step<()> {
        sys::set_mount(tree.fd.as_fd(), attributes).named("protect a mount")?;
        let place = self.place(&tree.target, tree.is_folder)?;
        sys::attach(tree.fd.as_fd(), place.as_fd()).named("mount")
    }

    fn link(&self, path: &[u8], to: &CString) -> Step<()> {
        let (folder, name) = self.parent(path)?;
        symlinkat(to.as_c_str(), &folder, name).named("make a link")
    }

    fn file(&self, path: &str, text: &str) -> Step<()> {
        let (folder, name) = self.parent(path.as_bytes())?;
        let make = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let file = openat(&folder, name, make, Mode::from(0o644)).named("make a file")?;
        std::fs::File::from(file).write_all(text.as_bytes()).named("write a file")
    }

    /// What programs look up about users and names.
    fn files(&self) -> Step<()> {
        let users = format!(
            "root:x:0:0:root:/:/bin/sh\nhob:x:{USER}:{USER}:hob:/tmp:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n"
        );
        self.file("etc/passwd", &users)?;
        self.file("etc/group", &format!("root:x:0:\nhob:x:{USER}:\nnogroup:x:65534:\n"))?;
        self.file("etc/hosts", "127.0.0.1 localhost hob\n::1 localhost\n")?;
        self.file("etc/hostname", "hob\n")?;
        self.file("etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n")?;
        for empty in [&b"run/x"[..], b"home/x", b"sys/x", b"var/x"] {
            self.parent(empty)?;
        }
        self.link(b"var/tmp", &c"/tmp".to_owned())
    }

    /// Makes the folder and the file that are mounted over what is covered.
    fn covers(&self) -> Step<()> {
        let (folder, _) = self.parent(format!("{COVERS}/x").as_bytes())?;
        mkdirat(&folder, "folder", Mode::empty()).named("make a cover")?;
        let make = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
        openat(&folder, "file", make, Mode::empty()).named("make a cover").map(drop)
    }

    /// Covers what is at `path`. What does not exist, or what the program could not reach either, needs no cover. With an identity,
    /// only that is covered.
    fn cover(&self, path: &[u8], only: Option<&Location>) -> Step<()> {
        let mut place = self.fd.try_clone().named("open the root")?;
        for name in path.split(|byte| *byte == b'/').filter(|name| !name.is_empty()) {
            place = match openat(&place, name, ANY, Mode::empty()) {
                Ok(next) => next,
                Err(rustix::io::Errno::NOENT | rustix::io::Errno::ACCESS | rustix::io::Errno::NOTDIR) => return Ok(()),
                Err(error) => return Err(error).named("cover a folder"),
            };
        }
        if only.is_some_and(|only| mountinfo::identity(&place).is_ok_and(|found| found != only.identity)) {
            return Ok(());
        }
        let kind = rustix::fs::FileType::from_raw_mode(fstat(&place).named("look at what is covered")?.st_mode);
        if kind.is_symlink() {
            // Where it leads to is covered by itself if it has to be.
            return Ok(());
        }
        let cover = format!("{COVERS}/{}", if kind.is_dir() { "folder" } else { "file" });
        let cover = sys::clone_tree(self.fd.as_fd(), &c_string(cover.as_bytes())?, false).named("copy a cover")?;
        sys::set_mount(cover.as_fd(), QUIET | MOUNT_READ_ONLY | MOUNT_NO_EXEC).named("protect a cover")?;
        sys::attach(cover.as_fd(), place.as_fd()).named("cover a folder")
    }

    fn devices(&self, devices: &[Tree]) -> Step<()> {
        for device in devices {
            self.attach(device, MOUNT_NO_SETUID | MOUNT_NO_EXEC)?;
        }
        for (name, to) in DEVICE_LINKS {
            self.link(format!("dev/{name}").as_bytes(), &c_string(to.as_bytes())?)?;
        }
        let options = [(c"ptmxmode", c"0666".to_owned()), (c"mode", c"0600".to_owned())];
        let attributes = MOUNT_NO_SETUID | MOUNT_NO_EXEC;
        let terminals = sys::new_file_system(c"devpts", &options, attributes).named("make terminals")?;
        let place = self.place(b"dev/pts", true)?;
        sys::attach(terminals.as_fd(), place.as_fd()).named("mount terminals")
    }

    /// A folder in memory for the program's user.
    fn memory_folder(&self, path: &str, bytes: u64, ids: Ids) -> Step<()> {
        let text = |text: String| CString::new(text).unwrap_or_default();
        let mut options = vec![
            (c"mode", c"1777".to_owned()),
            (c"size", text(bytes.max(64 << 10).to_string())),
            (c"nr_inodes", c"65536".to_owned()),
        ];
        if ids.is_own() {
            options.extend([(c"uid", text(USER.to_string())), (c"gid", text(USER.to_string()))]);
        }
        let tree = sys::new_file_system(c"tmpfs", &options, QUIET).named("make a folder in memory")?;
        let place = self.place(path.as_bytes(), true)?;
        sys::attach(tree.as_fd(), place.as_fd()).named("mount a folder in memory")
    }

    /// Shows only the processes of the program's user, and nothing of the machine.
    fn proc(&self) -> Step<()> {
        let options = [(c"hidepid", c"invisible".to_owned())];
        let attributes = QUIET | MOUNT_NO_EXEC;
        let proc = sys::new_file_system(c"proc", &options, attributes).named("mount /proc")?;
        let place = self.place(b"proc", true)?;
        sys::attach(proc.as_fd(), place.as_fd()).named("mount /proc")?;
        let settings = sys::clone_tree(self.fd.as_fd(), c"proc/sys", false).named("copy /proc/sys")?;
        let settings = Tree { fd: settings, target: b"proc/sys".to_vec(), is_folder: true };
        self.attach(&settings, attributes | MOUNT_READ_ONLY)?;
        for name in PROC_COVERED {
            self.cover(format!("proc/{name}").as_bytes(), None)?;
        }
        Ok(())
    }

    /// Covers the protected folders wherever a mount shows them.
    fn hide(&self, hidden: &[Location], mounts: &[Tree]) -> Step<()> {
        if hidden.is_empty() {
            return Ok(());
        }
        let all = mountinfo::read().named("read the mounts")?;
        let root = mountinfo::mount_id(&self.fd).named("find the root")?;
        let root_point = all.iter().find(|mount| mount.id == root).map(|mount| mount.point.clone());
        let root_point = root_point.ok_or_else(|| Problem::Step("find the root".into(), libc::ENOENT))?;
        let chosen: HashSet<&[u8]> = mounts.iter().map(|tree| &tree.target[..]).collect();
        for mount in within(&all, root) {
            let Ok(point) = mount.point.strip_prefix(&root_point) else { continue };
            for location in hidden.iter().filter(|location| location.device == mount.device) {
                if let Ok(below) = location.path.strip_prefix(&mount.root) {
                    let path = if below.as_os_str().is_empty() { point.to_owned() } else { point.join(below) };
                    self.cover(path.as_os_str().as_bytes(), Some(location))?;
                } else if mount.root.starts_with(&location.path) && !chosen.contains(point.as_os_str().as_bytes()) {
                    // A mount below a chosen folder that shows part of a protected one.
                    self.cover(point.as_os_str().as_bytes(), None)?;
                }
            }
        }
        Ok(())
    }

    /// Makes it the root of this process, for good and read-only.
    fn enter(self) -> Step<()> {
        let covers = openat(&self.fd, COVERS, FOLDER, Mode::empty()).named("open the covers")?;
        unlinkat(&covers, "folder", AtFlags::REMOVEDIR).named("remove a cover")?;
        unlinkat(&covers, "file", AtFlags::empty()).named("remove a cover")?;
        unlinkat(&self.fd, COVERS, AtFlags::REMOVEDIR).named("remove the covers")?;
        rustix::process::fchdir(&self.fd).named("enter the root")?;
        sys::enter_root().named("change the root")?;
        sys::set_one_mount(self.fd.as_fd(), MOUNT_READ_ONLY).named("protect the root")?;
        rustix::process::chdir("/").named("enter the root")
    }
}

/// The mounts at or below the one with this number.
fn within(all: &[MountEntry], root: u64) -> Vec<&MountEntry> {
    let mut ids = HashSet::from([root]);
    loop {
        let before = ids.len();
        ids.extend(all.iter().filter(|mount| ids.contains(&mount.parent)).map(|mount| mount.id).collect::<Vec<_>>());
        if ids.len() == before {
            return all.iter().filter(|mount| ids.contains(&mount.id)).collect();
        }
    }
}
