//! Counts what all processes of the job use together, and ends them.

use crate::{
    job::Ended,
    sys,
    wire::{STOP, Spec},
};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fs::statvfs,
};
use std::{
    ffi::OsStr,
    fs,
    os::{
        fd::{AsFd, OwnedFd},
        unix::ffi::OsStrExt,
    },
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

/// How often is counted; more often at first, because short programs end soon.
const FIRST: Duration = Duration::from_millis(20);
const LATER: Duration = Duration::from_millis(60);

/// Waits until the program has ended or must, and ends all others.
pub fn until_end(spec: &Spec, program: i32, signals: &OwnedFd) -> Ended {
    let (began, disks) = (Instant::now(), Disks::new(spec));
    let mut status = None;
    let mut next = began + FIRST;
    let how = loop {
        let pause = next.saturating_duration_since(Instant::now());
        let mut ready = [
            PollFd::from_borrowed_fd(sys::control(), PollFlags::IN),
            PollFd::from_borrowed_fd(signals.as_fd(), PollFlags::IN),
        ];
        let timeout = Timespec { tv_sec: 0, tv_nsec: pause.subsec_nanos().into() };
        if poll(&mut ready, Some(&timeout)).is_err() {
            continue;
        }
        let has = |index: usize| !ready[index].revents().is_empty();
        if has(0) {
            let mut byte = [0];
            match rustix::io::read(sys::control(), &mut byte) {
                Ok(1) if byte[0] == STOP => break Ended::Stopped,
                // Hob has gone: the kernel ends all others with this process.
                _ => sys::exit(1),
            }
        }
        if has(1) {
            let _ = rustix::io::read(signals, &mut [0; 1024]);
            while let Ok(Some((pid, code))) = sys::reap(false) {
                if pid == program {
                    status = Some(code);
                }
            }
        }
        if let Some(status) = status {
            break ended(status);
        }
        let now = Instant::now();
        if now >= next {
            next = now + if now - began < 5 * FIRST { FIRST } else { LATER };
            if let Some(limit) = exceeded(spec, &disks) {
                break limit;
            }
        }
    };
    sys::kill_all();
    while let Ok(Some(_)) = sys::reap(true) {}
    how
}

fn ended(status: i32) -> Ended {
    match libc::WIFEXITED(status) {
        true => Ended::Exited(libc::WEXITSTATUS(status)),
        false if libc::WTERMSIG(status) == libc::SIGXCPU => Ended::TimedOut,
        false => Ended::Signaled(libc::WTERMSIG(status)),
    }
}

fn exceeded(spec: &Spec, disks: &Disks) -> Option<Ended> {
    let limits = &spec.limits;
    let mut usage = usage(anonymous_by_pages);
    if usage.memory + in_memory_folders() > limits.memory {
        // Pages that processes share were counted for each of them.
        usage.memory = self::usage(anonymous_by_share).memory;
    }
    if usage.memory + in_memory_folders() > limits.memory {
        return Some(Ended::OutOfMemory);
    }
    if Duration::from_millis(usage.cpu_ms + sys::children_cpu_ms()) > limits.cpu {
        return Some(Ended::TimedOut);
    }
    disks.have_shrunk(limits.disk).then_some(Ended::DiskFull)
}

#[derive(Default)]
struct Usage {
    memory: u64,
    cpu_ms: u64,
}

/// What the processes that run use.
fn usage(memory: fn(&Path, u64) -> Option<u64>) -> Usage {
    let (ticks, page) = sys::units();
    let mut all = Usage::default();
    let Ok(entries) = fs::read_dir("/proc") else { return all };
    for entry in entries.flatten() {
        let name = entry.file_name();
        if name == "1" || !name.as_bytes().iter().all(u8::is_ascii_digit) {
            continue;
        }
        let folder = entry.path();
        all.memory += memory(&folder, page).unwrap_or(0);
        all.cpu_ms += cpu_ticks(&folder).unwrap_or(0) * 1000 / ticks;
    }
    all
}

/// Time of a process and of its children that it has waited for.
fn cpu_ticks(folder: &Path) -> Option<u64> {
    let stat = fs::read_to_string(folder.join("stat")).ok()?;
    // The name in parentheses may hold anything.
    let fields = stat.rsplit_once(") ")?.1.split(' ');
    Some(fields.skip(11).take(4).filter_map(|field| field.parse::<u64>().ok()).sum())
}

/// Fast: resident pages that are not of files.
fn anonymous_by_pages(folder: &Path, page: u64) -> Option<u64> {
    let statm = fs::read_to_string(folder.join("statm")).ok()?;
    let mut fields = statm.split(' ').skip(1).map(|field| field.parse::<u64>().unwrap_or(0));
    let (resident, of_files) = (fields.next()?, fields.next()?);
    Some(resident.saturating_sub(of_files) * page)
}

/// Exact: each page counts for the share of it.
fn anonymous_by_share(folder: &Path, page: u64) -> Option<u64> {
    let Ok(rollup) = fs::read_to_string(folder.join("smaps_rollup")) else { return anonymous_by_pages(folder, page) };
    let line = rollup.lines().find_map(|line| line.strip_prefix("Pss_Anon:"));
    let kb = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kb.map(|kb| kb * 1024).or_else(|| anonymous_by_pages(folder, page))
}

fn in_memory_folders() -> u64 {
    let used = |path: &str| statvfs(path).map_or(0, |stat| stat.f_blocks.saturating_sub(stat.f_bfree) * stat.f_frsize);
    used("/tmp") + used("/dev/shm")
}

/// The file systems that the job writes to, with what was free at first.
struct Disks(Vec<(PathBuf, u64)>);

impl Disks {
    fn new(spec: &Spec) -> Self {
        let written = spec.mounts.iter().filter(|mount| !mount.read_only);
        let paths = written.map(|mount| PathBuf::from(OsStr::from_bytes(&mount.target)));
        Self(paths.filter_map(|path| free(&path).map(|free| (path, free))).collect())
    }

    fn have_shrunk(&self, by: u64) -> bool {
        self.0.iter().any(|(path, before)| free(path).is_some_and(|now| before.saturating_sub(now) > by))
    }
}

fn free(path: &Path) -> Option<u64> {
    statvfs(path).ok().map(|stat| stat.f_bavail * stat.f_frsize)
}
