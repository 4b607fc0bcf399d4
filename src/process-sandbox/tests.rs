//! Programs in the sandbox: what they see and get.

mod attempts;
mod bounds;
mod escapes;
mod proxy;

use crate::{Access, Config, Ended, Finished, Job, Limits, Mount, ProcessSandbox, Stdin};
use rustix::fs::{CWD, Mode, OFlags, openat};
use std::{os::fd::OwnedFd, path::Path, sync::OnceLock, time::Duration};
use tokio_util::sync::CancellationToken;

crate::enter_in_tests!(PARTS);

/// What a part may and may not do.
const PARTS: &[crate::Part] = &[
    crate::Part { name: "upper", run: upper },
    crate::Part { name: "open", run: || i32::from(std::fs::File::open("/proc/self/maps").is_ok()) },
    crate::Part { name: "start", run: || i32::from(std::process::Command::new("/bin/true").status().is_ok()) },
    crate::Part { name: "connect", run: || i32::from(std::net::UdpSocket::bind("127.0.0.1:0").is_ok()) },
    crate::Part { name: "hoard", run: hoard },
    crate::Part {
        name: "spin",
        run: || loop {
            std::hint::spin_loop()
        },
    },
];

fn upper() -> i32 {
    use std::io::{Read, Write};
    let mut text = String::new();
    let read = std::io::stdin().read_to_string(&mut text);
    i32::from(read.and_then(|_| std::io::stdout().write_all(text.to_uppercase().as_bytes())).is_err())
}

fn hoard() -> i32 {
    let mut all = Vec::new();
    loop {
        all.push(vec![1_u8; 1 << 20]);
        if all.len() > 4096 {
            return all.len() as i32;
        }
    }
}

#[tokio::test]
async fn a_part_of_the_binary_computes_and_does_nothing_else() {
    let job = Job { stdin: Stdin::Bytes(vec![b'x'; 300_000]), ..Job::part("upper") };
    let done = run(job).await;
    assert_eq!((done.out.len(), done.out[0], done.ended), (300_000, b'X', Ended::Exited(0)));
    for name in ["open", "start", "connect"] {
        assert_eq!(run(Job::part(name)).await.ended, Ended::Exited(0), "{name}");
    }
    let limits = Limits { memory: 32 << 20, processes: 1, ..Limits::default() };
    let hoarded = run(Job { limits, ..Job::part("hoard") }).await.ended;
    assert!(matches!(hoarded, Ended::Signaled(libc::SIGABRT) | Ended::OutOfMemory), "{hoarded:?}");
    let limits = Limits { cpu: Duration::from_millis(300), processes: 1, ..Limits::default() };
    assert_eq!(run(Job { limits, ..Job::part("spin") }).await.ended, Ended::TimedOut);
    let error = sandbox().run(Job::part("none"), &CancellationToken::new()).await.unwrap_err();
    assert!(error.to_string().contains("no part `none`"), "{error}");
}

pub fn sandbox() -> &'static ProcessSandbox {
    static SANDBOX: OnceLock<ProcessSandbox> = OnceLock::new();
    SANDBOX.get_or_init(|| {
        let sandbox = ProcessSandbox::probe(Config::default());
        assert_eq!(sandbox.refusal(), None);
        sandbox
    })
}

pub fn handle(path: &Path) -> OwnedFd {
    openat(CWD, path, OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW, Mode::empty()).unwrap()
}

pub fn shell(script: &str) -> Job {
    Job::new("/bin/sh").args(["-c", script])
}

pub async fn run(job: Job) -> Finished {
    sandbox().run(job, &CancellationToken::new()).await.unwrap()
}

pub fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

#[tokio::test]
async fn output_and_code_come_back() {
    let done = run(shell("echo out; echo err >&2; exit 3")).await;
    assert_eq!((text(&done.out), text(&done.err), done.ended), ("out\n", "err\n", Ended::Exited(3)));
}

#[tokio::test]
async fn input_is_read_and_ends() {
    let done = run(Job { stdin: Stdin::Bytes(vec![b'x'; 300_000]), ..shell("wc -c") }).await;
    assert_eq!((text(&done.out).trim(), done.ended), ("300000", Ended::Exited(0)));
    assert_eq!(text(&run(shell("wc -c")).await.out).trim(), "0");
}

#[tokio::test]
async fn time_is_up() {
    let limits = Limits { wall: Duration::from_millis(300), ..Limits::default() };
    let done = run(Job { limits, ..shell("sleep 60 & sleep 60") }).await;
    assert_eq!(done.ended, Ended::TimedOut);
    assert!(done.wall < Duration::from_secs(2), "{:?}", done.wall);
}

#[tokio::test]
async fn mounts_are_writable_or_not() {
    let folder = std::env::temp_dir().join(format!("hob-sandbox-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("secret")).unwrap();
    std::fs::write(folder.join("in"), "hello").unwrap();
    std::fs::write(folder.join("secret/key"), "key").unwrap();
    let mount = |access, target: &str| Mount {
        source: handle(&folder),
        target: target.into(),
        access,
        covered: vec!["secret".into()],
    };
    let job = Job {
        mounts: vec![mount(Access::ReadWrite, "/workspace"), mount(Access::ReadOnly, "/places/usb")],
        dir: "/workspace".into(),
        ..shell("cat in; echo more > new; cat secret/key; echo x > /places/usb/no; stat -c %U new; touch /usr/x /x")
    };
    let done = run(job).await;
    assert_eq!(text(&done.out), "hellohob\n", "{}", text(&done.err));
    assert_eq!(std::fs::read_to_string(folder.join("new")).unwrap(), "more\n");
    assert!(!folder.join("no").exists());
    std::fs::remove_dir_all(folder).unwrap();
}

#[tokio::test]
async fn problems_are_said_in_words() {
    let error = |job| async { sandbox().run(job, &CancellationToken::new()).await.unwrap_err().to_string() };
    assert_eq!(
        error(Job::new("/usr/bin/no-such")).await,
        "could not run /usr/bin/no-such: it, or the interpreter it names, is not in the sandbox"
    );
    assert!(error(Job::new("/usr")).await.contains("no executable file"));
    let nowhere = Job { dir: "/nowhere".into(), ..shell("true") };
    assert_eq!(error(nowhere).await, "the folder /nowhere does not exist inside, or is closed");
    assert!(error(Job { dir: "x".into(), ..shell("true") }).await.contains("no absolute path"));
    assert!(error(Job { env: vec![("A=B".into(), "x".into())], ..shell("true") }).await.contains("no name"));
    for target in ["/", "relative", "/a/../b", "/usr/new", "/bin/x"] {
        let mount = Mount {
            source: handle(Path::new("/usr")),
            target: target.into(),
            access: Access::ReadOnly,
            covered: Vec::new(),
        };
        let problem = error(Job { mounts: vec![mount], ..shell("true") }).await;
        assert!(problem.contains("path for a mount") || problem.contains("there is no"), "{target}: {problem}");
    }
}

#[tokio::test]
async fn programs_are_found_by_name() {
    assert_eq!(sandbox().find("sh"), Some("/usr/bin/sh".into()));
    for name in ["", "../sh", "no-such-program", "/bin/sh"] {
        assert_eq!(sandbox().find(name), None, "{name}");
    }
    let layers = sandbox().layers();
    assert!(layers.iter().any(|layer| layer.name == "system calls" && layer.holds), "{layers:?}");
}

#[tokio::test]
async fn a_run_can_be_cancelled() {
    let cancel = CancellationToken::new();
    let later = cancel.clone();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(200)).await;
        later.cancel();
    });
    let done = sandbox().run(shell("echo begun; exec sleep 60"), &cancel).await.unwrap();
    assert_eq!((text(&done.out), done.ended), ("begun\n", Ended::Stopped));
}

#[tokio::test]
async fn the_environment_is_only_what_the_job_names() {
    let job = Job {
        env: vec![("MINE".into(), "x".into()), ("HOME".into(), "/workspace".into())],
        ..Job::new("/usr/bin/env")
    };
    let done = run(job).await;
    let mut names: Vec<&str> = text(&done.out).lines().filter_map(|line| line.split('=').next()).collect();
    names.sort_unstable();
    assert_eq!(names, ["HOME", "LANG", "LOGNAME", "MINE", "PATH", "TMPDIR", "USER"]);
    assert!(text(&done.out).contains("HOME=/workspace\n"));
}
