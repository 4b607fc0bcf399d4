//! The escape suite: each attempt runs in a sandbox whose outside is watched.

use super::{attempts::ATTEMPTS, handle, text};
use crate::{Access, Config, Ended, Job, Limits, Mount, ProcessSandbox};
use std::{
    fs,
    io::ErrorKind,
    net::TcpListener,
    os::{
        linux::net::SocketAddrExt,
        unix::{
            fs::{PermissionsExt, chown, symlink},
            net::{SocketAddr, UnixDatagram, UnixListener},
            process::CommandExt,
        },
    },
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};
use tokio_util::sync::CancellationToken;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    Shell,
    Python,
    C,
}

const SECRET: &str = "the-secret-of-7731";
const MARKER: &str = "86399.7731";
/// An ordinary user, as whom the suite runs once more where it runs as root.
const NOBODY: u32 = 65_534;

const PYTHON: &str = "import os, socket, sys\n\
def attempt(f):\n    try: r = f()\n    except (OSError, PermissionError): return\n    print('ESCAPED', r)\n";

const HEADERS: &str = r#"#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/fsuid.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/msg.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <sys/timex.h>
#include <sys/uio.h>
#include <time.h>
#define ESCAPED printf("ESCAPED line %d: %s\n", __LINE__, strerror(errno))
int sub(void *x) { _exit(0); }
int main() {
"#;

/// What is outside, and must stay as it is.
pub struct World {
    pub folder: PathBuf,
    victim: Child,
    port: TcpListener,
    abstract_name: String,
    abstract_socket: UnixListener,
    abstract_datagrams: UnixDatagram,
    hob: UnixListener,
    pub sandbox: ProcessSandbox,
}

impl World {
    pub fn new(name: &str) -> Self {
        assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some(), "one of the attempts looks for it");
        let folder = std::env::temp_dir().join(format!("hob-escapes-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        for sub in ["parent/data/workspace/deep/private", "parent/other", "read", "out"] {
            fs::create_dir_all(folder.join(sub)).unwrap();
        }
        let data = folder.join("parent/data");
        fs::set_permissions(&data, fs::Permissions::from_mode(0o700)).unwrap();
        for (file, content) in [
            ("parent/data/secret", SECRET),
            ("parent/data/workspace/deep/private/key", SECRET),
            ("parent/data/workspace/closed", SECRET),
            ("read/canary", "alive"),
            ("out/canary", "alive"),
        ] {
            fs::write(folder.join(file), content).unwrap();
        }
        let listen = |listener: &UnixListener| listener.set_nonblocking(true).unwrap();
        let hob = UnixListener::bind(data.join("hob.sock")).unwrap();
        let abstract_name = format!("hob-escape-{name}-{}", std::process::id());
        let address = |name: &str| SocketAddr::from_abstract_name(name).unwrap();
        let abstract_socket = UnixListener::bind_addr(&address(&abstract_name)).unwrap();
        let abstract_datagrams = UnixDatagram::bind_addr(&address(&format!("{abstract_name}-d"))).unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap();
        port.set_nonblocking(true).unwrap();
        abstract_datagrams.set_nonblocking(true).unwrap();
        listen(&hob);
        listen(&abstract_socket);
        let victim = Command::new("sleep").arg(MARKER).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let sandbox = ProcessSandbox::probe(Config {
            protected: vec![data.clone(), data.join("hob.sock")],
            mountable: vec![data.join("workspace")],
            ..Config::default()
        });
        assert_eq!(sandbox.refusal(), None);
        Self { folder, victim, port, abstract_name, abstract_socket, abstract_datagrams, hob, sandbox }
    }

    pub fn data(&self) -> PathBuf {
        self.folder.join("parent/data")
    }

    fn workspace(&self) -> PathBuf {
        self.data().join("workspace")
    }

    /// A job with everything that an attempt may try itself at.
    pub fn job(&self, program: &str, args: &[&str]) -> Job {
        let mount = |path: PathBuf, target: &str, access, covered: &[&str]| Mount {
            source: handle(&path),
            target: target.into(),
            access,
            covered: covered.iter().map(PathBuf::from).collect(),
        };
        Job {
            mounts: vec![
                mount(self.workspace(), "/workspace", Access::ReadWrite, &["deep/private", "closed"]),
                mount(self.folder.join("read"), "/places/read", Access::ReadOnly, &[]),
                mount(self.folder.join("parent"), "/places/parent", Access::ReadWrite, &[]),
            ],
            dir: "/workspace".into(),
            limits: Limits { wall: Duration::from_secs(20), ..Limits::default() },
            ..Job::new(program).args(args)
        }
    }

    fn fill(&self, code: &str) -> String {
        [
            ("{data}", self.data().display().to_string()),
            ("{out}", self.folder.join("out").display().to_string()),
            ("{port}", self.port.local_addr().unwrap().port().to_string()),
            ("{abstract}", self.abstract_name.clone()),
            ("{victim}", self.victim.id().to_string()),
            ("{hob}", std::process::id().to_string()),
            ("{marker}", MARKER.to_owned()),
        ]
        .iter()
        .fold(code.to_owned(), |code, (name, value)| code.replace(name, value))
    }

    /// The job of an attempt. Programs in C are compiled outside.
    fn attempt(&self, language: Language, code: &str, index: usize) -> Job {
        let code = self.fill(code);
        match language {
            Language::Shell => self.job("/bin/sh", &["-c", &format!("{code}\necho TRIED")]),
            Language::Python => self.job("/usr/bin/python3", &["-c", &format!("{PYTHON}{code}\nprint('TRIED')\n")]),
            Language::C => {
                let (source, program) = (self.folder.join("out/try.c"), format!("try-{index}"));
                fs::write(&source, format!("{HEADERS}{code}\nputs(\"TRIED\"); return 0; }}\n")).unwrap();
                let mut gcc = Command::new("gcc");
                gcc.args(["-w", "-o"]).arg(self.workspace().join(&program)).arg(&source);
                assert!(gcc.status().unwrap().success(), "{code}");
                self.job(&format!("/workspace/{program}"), &[])
            }
        }
    }

    /// Asserts that nothing outside has changed or heard anything.
    fn is_intact(&mut self, after: &str) {
        assert!(self.victim.try_wait().unwrap().is_none(), "{after}: a process outside has ended");
        for canary in ["read/canary", "out/canary"] {
            assert_eq!(fs::read_to_string(self.folder.join(canary)).unwrap(), "alive", "{after}: {canary}");
        }
        assert_eq!(fs::read_to_string(self.data().join("secret")).unwrap(), SECRET, "{after}");
        let nobody = |kind: ErrorKind, what: &str| assert_eq!(kind, ErrorKind::WouldBlock, "{after}: {what}");
        nobody(self.port.accept().unwrap_err().kind(), "the port");
        nobody(self.abstract_socket.accept().unwrap_err().kind(), "the abstract socket");
        nobody(self.abstract_datagrams.recv(&mut [0; 8]).unwrap_err().kind(), "the abstract datagrams");
        nobody(self.hob.accept().unwrap_err().kind(), "Hob's socket");
        for file in walk(&self.workspace()) {
            let mode = fs::symlink_metadata(&file).unwrap().permissions().mode();
            assert_eq!(mode & 0o6000, 0, "{after}: {} has mode {mode:o}", file.display());
        }
    }
}

fn walk(folder: &Path) -> Vec<PathBuf> {
    let (mut all, mut open) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            if entry.file_type().unwrap().is_dir() {
                open.push(entry.path());
            }
            all.push(entry.path());
        }
    }
    all
}

impl Drop for World {
    fn drop(&mut self) {
        let _ = self.victim.kill();
        let _ = self.victim.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_attempt_escapes() {
    let mut world = World::new("all");
    let mut failures = Vec::new();
    assert!(ATTEMPTS.len() >= 60, "{}", ATTEMPTS.len());
    for (index, (name, language, code)) in ATTEMPTS.iter().enumerate() {
        let job = world.attempt(*language, code, index);
        let done = world.sandbox.run(job, &CancellationToken::new()).await.unwrap();
        let (out, err) = (String::from_utf8_lossy(&done.out), String::from_utf8_lossy(&done.err));
        let tried = out.contains("TRIED") && done.ended == Ended::Exited(0);
        if out.contains("ESCAPED") || out.contains(SECRET) || err.contains(SECRET) || !tried {
            failures.push(format!("{name}: {:?}\n{out}{err}", done.ended));
        }
        world.is_intact(name);
    }
    assert!(failures.is_empty(), "{} of {}:\n{}", failures.len(), ATTEMPTS.len(), failures.join("\n"));
}

/// Runs this test binary once more, with only the tests of this name.
fn again(test: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture"]).stdin(Stdio::null());
    command
}

#[test]
fn no_attempt_escapes_an_ordinary_user() {
    // As another user the tests above were of one already.
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let folder = std::env::temp_dir().join(format!("hob-escapes-nobody-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    chown(&folder, Some(NOBODY), Some(NOBODY)).unwrap();
    let mut command = again("tests::escapes::no_attempt_escapes");
    command.uid(NOBODY).gid(NOBODY).env("TMPDIR", &folder).env("HOME", &folder);
    // Its groups are those of nobody.
    let done = command.output().unwrap();
    fs::remove_dir_all(&folder).unwrap();
    let shown = format!("{}{}", text(&done.stdout), text(&done.stderr));
    assert!(done.status.success() && shown.contains("1 passed"), "{shown}");
}

#[tokio::test]
async fn a_folder_that_was_replaced_is_not_mounted() {
    let world = World::new("replaced");
    let (place, aside) = (world.folder.join("place"), world.folder.join("aside"));
    for replaced_by_link in [true, false] {
        fs::create_dir(&place).unwrap();
        let mut job = world.job("/bin/ls", &["/places/x"]);
        job.mounts.push(Mount {
            source: handle(&place),
            target: "/places/x".into(),
            access: Access::ReadWrite,
            covered: Vec::new(),
        });
        // The handle follows the folder; its old name may lead anywhere.
        fs::rename(&place, &aside).unwrap();
        if replaced_by_link {
            symlink(world.folder.join("out"), &place).unwrap();
        } else {
            fs::create_dir(&place).unwrap();
            fs::write(place.join("canary"), "").unwrap();
        }
        let done = world.sandbox.run(job, &CancellationToken::new()).await.unwrap();
        assert_eq!((text(&done.out), done.ended), ("", Ended::Exited(0)));
        let removed = if replaced_by_link { fs::remove_file(&place) } else { fs::remove_dir_all(&place) };
        removed.unwrap();
        fs::remove_dir(&aside).unwrap();
    }
}

#[tokio::test]
async fn hobs_own_folders_are_not_mounted() {
    let world = World::new("own");
    for (path, fits) in [("parent/data", false), ("parent/data/secret", false), ("parent/data/workspace/deep", true)] {
        let mut job = Job { dir: "/tmp".into(), ..world.job("/bin/true", &[]) };
        job.mounts = vec![Mount {
            source: handle(&world.folder.join(path)),
            target: "/places/x".into(),
            access: Access::ReadOnly,
            covered: Vec::new(),
        }];
        let done = world.sandbox.run(job, &CancellationToken::new()).await;
        assert_eq!(done.is_ok(), fits, "{path}: {done:?}");
    }
    // Also under a new name.
    fs::rename(world.folder.join("parent/data"), world.folder.join("parent/moved")).unwrap();
    let mut job = world.job_of_parent("cat /places/parent/moved/secret /places/parent/data/secret");
    job.mounts.truncate(1);
    let done = world.sandbox.run(job, &CancellationToken::new()).await.unwrap();
    assert!(!text(&done.out).contains(SECRET), "{}", text(&done.err));
    fs::rename(world.folder.join("parent/moved"), world.folder.join("parent/data")).unwrap();
}

impl World {
    fn job_of_parent(&self, script: &str) -> Job {
        let mount = Mount {
            source: handle(&self.folder.join("parent")),
            target: "/places/parent".into(),
            access: Access::ReadWrite,
            covered: Vec::new(),
        };
        Job { mounts: vec![mount], ..Job::new("/bin/sh").args(["-c", script]) }
    }
}

/// The data folder is reached by a bind mount as well: hidden by what it is, not by its name.
#[test]
fn a_bind_mount_of_the_data_folder_shows_nothing() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let mut command = Command::new("unshare");
    command.arg("-m").arg(std::env::current_exe().unwrap());
    command.args(["--exact", "tests::escapes::behind_bind_mounts", "--nocapture", "--include-ignored"]);
    let done = command.output().unwrap();
    let shown = format!("{}{}", text(&done.stdout), text(&done.stderr));
    assert!(done.status.success() && shown.contains("1 passed"), "{shown}");
}

#[tokio::test]
#[ignore = "in a mount namespace of its own: see a_bind_mount_of_the_data_folder_shows_nothing"]
async fn behind_bind_mounts() {
    let world = World::new("bind");
    let bind = |from: &str, to: &str| {
        fs::create_dir_all(world.folder.join(to)).unwrap();
        let mut command = Command::new("mount");
        command.arg("--bind").arg(world.folder.join(from)).arg(world.folder.join(to));
        assert!(command.status().unwrap().success());
    };
    bind("parent/data", "parent/other/a");
    fs::create_dir(world.data().join("keys")).unwrap();
    fs::write(world.data().join("keys/key"), SECRET).unwrap();
    bind("parent/data/keys", "parent/other/b");
    bind("parent", "again");
    let script = "find / -name secret -o -name key 2>/dev/null | xargs cat; cat /places/*/data/secret /places/*/other/*/* \
                  /places/*/other/*/keys/*; ls /places/parent/other";
    let mut job = world.job_of_parent(script);
    job.mounts.push(Mount {
        source: handle(&world.folder.join("again")),
        target: "/places/again".into(),
        access: Access::ReadOnly,
        covered: Vec::new(),
    });
    let done = world.sandbox.run(job, &CancellationToken::new()).await.unwrap();
    assert!(!text(&done.out).contains(SECRET), "{}", text(&done.out));
    assert!(text(&done.out).ends_with("a\nb\n"), "{} {}", text(&done.out), text(&done.err));
    for from in ["again", "parent/other/b", "parent/other/a"] {
        assert!(Command::new("umount").arg(world.folder.join(from)).status().unwrap().success());
    }
}

/// A local socket in a folder that a job writes can be reached, but its other side learns who is there.
#[tokio::test]
async fn a_peer_from_inside_is_known_for_one() {
    let world = World::new("peer");
    let listener = UnixListener::bind(world.data().join("workspace/socket")).unwrap();
    fs::set_permissions(world.data().join("workspace/socket"), fs::Permissions::from_mode(0o777)).unwrap();
    let code = "import socket\ns=socket.socket(socket.AF_UNIX)\ns.connect('/workspace/socket')\ns.recv(1)";
    let mut process = world.sandbox.start(world.job("/usr/bin/python3", &["-c", code])).await.unwrap();
    let accepted = tokio::task::spawn_blocking(move || listener.accept().unwrap().0).await.unwrap();
    let peer = rustix::net::sockopt::socket_peercred(&accepted).unwrap();
    assert!(crate::is_inside_sandbox(peer.pid.as_raw_nonzero().get()));
    process.stop();
    assert_eq!(process.wait().await, Ended::Stopped);
}

/// Ends with its test process, which is killed: see [`everything_dies_with_hob`].
#[tokio::test]
#[ignore = "runs until it is killed"]
async fn a_job_that_writes_for_ever() {
    let folder = PathBuf::from(std::env::var_os("HOB_SANDBOX_TEST_FOLDER").unwrap());
    let job = heartbeat(&folder);
    let sandbox = ProcessSandbox::probe(Config::default());
    sandbox.run(job, &CancellationToken::new()).await.unwrap();
}

/// A program that ignores signals, and leaves behind others that write.
fn heartbeat(folder: &Path) -> Job {
    let script = "trap '' TERM INT HUP QUIT; (setsid sh -c 'trap \"\" TERM HUP; while :; do date +%N > /workspace/beat; sleep 0.02; done' &) ; \
                  while :; do date +%N > /workspace/beat2; sleep 0.02; done";
    let mount =
        Mount { source: handle(folder), target: "/workspace".into(), access: Access::ReadWrite, covered: Vec::new() };
    let limits = Limits { wall: Duration::from_secs(600), ..Limits::default() };
    Job { mounts: vec![mount], limits, ..Job::new("/bin/sh").args(["-c", script]) }
}

fn beats(folder: &Path) -> [String; 2] {
    ["beat", "beat2"].map(|name| fs::read_to_string(folder.join(name)).unwrap_or_default())
}

async fn until_beating(folder: &Path) {
    let began = Instant::now();
    while beats(folder).iter().any(String::is_empty) {
        assert!(began.elapsed() < Duration::from_secs(20), "the job does not run");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn assert_silence(folder: &Path) {
    // What is on its way arrives.
    tokio::time::sleep(Duration::from_millis(500)).await;
    let before = beats(folder);
    tokio::time::sleep(Duration::from_millis(400)).await;
    assert_eq!(before, beats(folder));
}

#[tokio::test]
async fn everything_dies_when_stopped_or_dropped() {
    let folder = std::env::temp_dir().join(format!("hob-beat-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let sandbox = super::sandbox();
    for dropped in [false, true] {
        let mut process = sandbox.start(heartbeat(&folder)).await.unwrap();
        until_beating(&folder).await;
        let began = Instant::now();
        if dropped {
            drop(process);
        } else {
            process.stop();
            assert_eq!(process.wait().await, Ended::Stopped);
        }
        assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
        assert_silence(&folder).await;
        for name in ["beat", "beat2"] {
            fs::remove_file(folder.join(name)).unwrap();
        }
    }
    fs::remove_dir_all(folder).unwrap();
}

#[tokio::test]
async fn everything_dies_with_hob() {
    let folder = std::env::temp_dir().join(format!("hob-orphans-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let mut command = again("tests::escapes::a_job_that_writes_for_ever");
    let mut hob = command
        .arg("--include-ignored")
        .env("HOB_SANDBOX_TEST_FOLDER", &folder)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    until_beating(&folder).await;
    hob.kill().unwrap();
    hob.wait().unwrap();
    assert_silence(&folder).await;
    fs::remove_dir_all(folder).unwrap();
}
