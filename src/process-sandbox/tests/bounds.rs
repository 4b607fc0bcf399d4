//! Bombs of every kind, each against its bound.

use super::{handle, run, sandbox, shell, text};
use crate::{Access, Ended, Finished, Job, Limits, Mount, Stream, TerminalSize};
use std::time::{Duration, Instant};

fn python(code: &str) -> Job {
    Job::new("/usr/bin/python3").args(["-c", code])
}

fn limited(job: Job, change: impl FnOnce(&mut Limits)) -> Job {
    let mut job = job;
    job.limits.wall = Duration::from_secs(20);
    change(&mut job.limits);
    job
}

fn out(done: &Finished) -> &str {
    text(&done.out).trim()
}

#[tokio::test]
async fn processes_are_bounded_and_a_fork_bomb_ends() {
    let bomb = limited(shell("f() { f | f & }; f; sleep 60"), |limits| {
        limits.processes = 32;
        limits.wall = Duration::from_secs(2);
    });
    let done = run(bomb).await;
    assert!(matches!(done.ended, Ended::TimedOut | Ended::Exited(_)), "{:?}", done.ended);
    assert!(done.wall < Duration::from_secs(6), "{:?}", done.wall);
    let count = "import os\nn=0\ntry:\n  while True:\n    if os.fork()==0:\n      import time; time.sleep(60)\n    n+=1\nexcept OSError: print(n)";
    let done = run(limited(python(count), |limits| limits.processes = 20)).await;
    let forks: u32 = out(&done).parse().unwrap();
    assert!((15..=20).contains(&forks), "{forks}");
}

#[tokio::test]
async fn memory_is_bounded_for_one_and_for_all_together() {
    let small = |limits: &mut Limits| limits.memory = 128 << 20;
    let done = run(limited(python("x=bytearray(1<<30)"), small)).await;
    assert!(
        text(&done.err).contains("MemoryError") || done.ended == Ended::OutOfMemory,
        "{:?} {}",
        done.ended,
        text(&done.err)
    );
    let together = "import os,time\nfor _ in range(8):\n  if os.fork()==0:\n    x=bytearray(b'x')*(40<<20)\n    time.sleep(60)\ntime.sleep(60)";
    let done = run(limited(python(together), small)).await;
    assert_eq!(done.ended, Ended::OutOfMemory);
    // Pages that are shared after a fork count once.
    let shared = "import os,time\nx=bytearray(b'x')*(60<<20)\nfor _ in range(6):\n  if os.fork()==0:\n    time.sleep(0.5); os._exit(0)\ntime.sleep(0.7)\nprint('fine')";
    assert_eq!(out(&run(limited(python(shared), small)).await), "fine");
}

#[tokio::test]
async fn folders_in_memory_are_bounded() {
    let script = "head -c 200000000 /dev/zero > /tmp/x; stat -c %s /tmp/x; rm /tmp/x; head -c 200000000 /dev/zero > /dev/shm/x; stat -c %s /dev/shm/x";
    let done = run(limited(shell(script), |limits| limits.memory = 64 << 20)).await;
    let sizes: Vec<u64> = out(&done).lines().map(|line| line.parse().unwrap()).collect();
    assert_eq!(sizes, [32 << 20, 16 << 20]);
    let files = "import os\nn=0\ntry:\n  while n<200000:\n    os.close(os.open('/tmp/%d'%n,os.O_CREAT)); n+=1\nexcept OSError: pass\nprint(n)";
    let made: u32 = out(&run(limited(python(files), |_| ())).await).parse().unwrap();
    assert!(made < 65_536, "{made}");
}

#[tokio::test]
async fn files_and_disks_are_bounded() {
    let folder = std::env::temp_dir().join(format!("hob-disk-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let mount = || Mount {
        source: handle(&folder),
        target: "/workspace".into(),
        access: Access::ReadWrite,
        covered: Vec::new(),
    };
    let one = limited(shell("head -c 50000000 /dev/zero > /workspace/one"), |limits| limits.file_size = 1 << 20);
    let done = run(Job { mounts: vec![mount()], ..one }).await;
    assert_eq!(std::fs::metadata(folder.join("one")).unwrap().len(), 1 << 20, "{:?}", done.ended);
    let script = "i=0; while :; do head -c 8000000 /dev/zero > /workspace/many$i; sync; i=$((i+1)); done";
    let done = run(Job { mounts: vec![mount()], ..limited(shell(script), |limits| limits.disk = 64 << 20) }).await;
    std::fs::remove_dir_all(folder).unwrap();
    assert_eq!(done.ended, Ended::DiskFull);
}

#[tokio::test]
async fn output_time_and_open_files_are_bounded() {
    let done = run(limited(shell("yes"), |limits| limits.output = 100_000)).await;
    assert_eq!((done.ended, done.out.len(), done.truncated), (Ended::OutputLimit, 100_000, true));
    let done = run(limited(shell("for i in 1 2 3; do (while :; do :; done) & done; wait"), |limits| {
        limits.cpu = Duration::from_secs(1)
    }))
    .await;
    assert_eq!(done.ended, Ended::TimedOut);
    assert!(done.wall < Duration::from_secs(8), "{:?}", done.wall);
    let files = "import os\nn=0\ntry:\n  while True: os.dup(0); n+=1\nexcept OSError: print(n)";
    assert!(out(&run(limited(python(files), |limits| limits.open_files = 64)).await).parse::<u32>().unwrap() < 64);
}

#[tokio::test]
async fn what_is_left_in_the_background_ends_with_the_program() {
    let began = Instant::now();
    let done = run(shell("sleep 60 & nohup setsid sleep 60 & echo started")).await;
    assert_eq!((out(&done), done.ended), ("started", Ended::Exited(0)));
    assert!(began.elapsed() < Duration::from_secs(5));
}

/// Reads a terminal until it shows this text.
async fn until(process: &mut crate::Process, expected: &str) -> String {
    let mut shown = Vec::new();
    while !String::from_utf8_lossy(&shown).contains(expected) {
        let chunk = process.next().await.unwrap_or_else(|| panic!("{}", String::from_utf8_lossy(&shown)));
        assert_eq!(chunk.stream, Stream::Terminal);
        shown.extend(chunk.bytes);
    }
    String::from_utf8_lossy(&shown).into_owned()
}

#[tokio::test]
async fn a_terminal_is_typed_into_and_resized() {
    let size = TerminalSize { rows: 30, columns: 100 };
    let script = "stty size; tty; read line; echo \"got $line\"; stty size; printf '\\033]0;title\\007\\033[31mred\\n'; exec cat";
    let mut process = sandbox().start(Job { terminal: Some(size), ..shell(script) }).await.unwrap();
    let shown = until(&mut process, "/dev/pts/0").await;
    assert!(shown.contains("30 100"), "{shown}");
    process.resize(TerminalSize { rows: 50, columns: 80 });
    process.write(b"hello\n").await.unwrap();
    let shown = until(&mut process, "red").await;
    // Sequences are passed on as bytes: whoever shows them decides.
    assert!(
        shown.contains("got hello") && shown.contains("50 80") && shown.contains("\u{1b}]0;title\u{7}"),
        "{shown:?}"
    );
    // Ctrl-C is a signal to what runs there. dash loses one that comes while it starts a program.
    tokio::time::sleep(Duration::from_millis(500)).await;
    process.write(b"\x03").await.unwrap();
    assert_eq!(process.wait().await, Ended::Signaled(2));
    let typed = Job { terminal: Some(size), stdin: crate::Stdin::Bytes(b"from bytes\n\x04".to_vec()), ..shell("cat") };
    let done = run(typed).await;
    assert!(text(&done.out).contains("from bytes"), "{}", text(&done.out));
}
