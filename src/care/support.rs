//! The support bundle: one text that a person can read before it is sent, without secrets and without anything personal.
//!
//! It holds what Hob itself says about the device. What people wrote, and whom they know, is never read for it; the log and the
//! crash files, in which other programs and people may have had a part, pass the scrubber and the mask.

use crate::{Check, LogRing, mask::Mask, writes::size};
use board::{Description, State};
use jiff::Zoned;
use scrub::{How, Scrubber};
use std::{
    fmt::Write,
    fs,
    path::{Path, PathBuf},
};
use store::StoreStats;

/// The largest part of a crash file, and how many are in the bundle.
const CRASH: u64 = 64 << 10;
const CRASHES: usize = 5;
/// How many lines of a crash file are in it.
const CRASH_LINES: usize = 120;
/// Names of the data folder that are Hob's own; anything else may be called after a person.
const KNOWN: [&str; 14] = [
    "hob.redb",
    "hob.wal",
    "hob.toml",
    "uploads",
    "backups",
    "crash",
    "memory.index",
    "device.key",
    "hob.sock",
    "claim-code",
    "rules.toml",
    "terminals.json",
    "restore.pending",
    "slots",
];

/// Everything that the bundle is made of.
pub struct Input {
    pub now: Zoned,
    pub version: &'static str,
    /// The start of this process: milliseconds since 1970.
    pub started_ms: u64,
    pub board: Description,
    pub state: Option<State>,
    /// The configuration without what is personal.
    pub config: String,
    pub checks: Vec<Check>,
    pub stats: Option<StoreStats>,
    pub logs: LogRing,
    /// The data folder.
    pub data: Option<PathBuf>,
    /// What must not be in it: names of people, of the home and its things, of contacts.
    pub names: Vec<String>,
    pub scrubber: Scrubber,
}

/// Writes the bundle. Reads a few small files.
pub fn bundle(input: Input) -> String {
    let mask = Mask::new(input.names);
    let scrub = |text: &str| input.scrubber.text(text, How::All).into_owned();
    let mut out = String::new();
    let part = |out: &mut String, title: &str, text: &str| {
        let _ = write!(out, "\n== {title} ==\n{}\n", text.trim_end());
    };
    out.push_str("Hob support bundle. Read it before you send it: it should hold no secrets and no names.\n");
    let made = format!(
        "made     {}\nversion  {}\nstarted  {} ms since 1970",
        input.now.timestamp(),
        input.version,
        input.started_ms
    );
    part(&mut out, "Hob", &made);
    part(&mut out, "Device", &device(input.state.as_ref(), &input.board));
    let checks: Vec<String> = input.checks.iter().map(line).collect();
    part(&mut out, "Doctor", &mask.names(&checks.join("\n")));
    part(&mut out, "Configuration that differs from the defaults", &input.config);
    part(&mut out, "Data", &data(input.data.as_deref(), input.stats.as_ref()));
    let crashes = input.data.as_deref().map(|data| crashes(&data.join("crash"), &mask)).unwrap_or_default();
    part(&mut out, "Crashes", if crashes.is_empty() { "none" } else { &crashes });
    let logs: Vec<String> = input.logs.all().iter().map(|line| mask.line(line)).collect();
    part(&mut out, "The last lines of the log", if logs.is_empty() { "none" } else { "" });
    out.push_str(&logs.join("\n"));
    out.push('\n');
    scrub(&out)
}

/// "disk     Careful: The disk is nearly full. To do: …"
fn line(check: &Check) -> String {
    let word = match check.outcome {
        crate::Outcome::Well => "",
        crate::Outcome::Careful => "Careful: ",
        crate::Outcome::Wrong => "Wrong: ",
    };
    let todo = check.todo.as_ref().map(|todo| format!(" To do: {todo}.")).unwrap_or_default();
    format!("{:<8} {word}{}{todo}", check.name, check.text)
}

fn device(state: Option<&State>, board: &Description) -> String {
    let mut out = format!("pins     {} ({}), {} pins\n", board.driver, board.why, board.pins.len());
    let Some(state) = state else { return out };
    let State {
        model, os, kernel, arch, cpus, load, memory, own_memory, temperature, throttling, wear, uptime, ..
    } = state;
    let _ = writeln!(out, "model    {}", model.as_deref().unwrap_or("not known"));
    let _ = writeln!(out, "system   {os}, Linux {kernel}, {arch}, {cpus} processors, load {load:?}");
    let _ = writeln!(
        out,
        "memory   {} in all, {} available, {} used by Hob",
        size(memory.total),
        size(memory.available),
        size(*own_memory)
    );
    if let Some(disk) = &state.disk {
        let _ = writeln!(out, "disk     {} in all, {} free", size(disk.total), size(disk.free));
    }
    let _ = writeln!(out, "heat     {temperature:?}\npower    {throttling:?}\nwear     {wear:?}\nuptime   {uptime} s");
    let wifi = state.wifi.as_ref().map(|wifi| wifi.signal_dbm);
    let _ = writeln!(out, "wifi     {wifi:?} dBm");
    out
}

/// Sizes of Hob's own files, and how many records there are of each kind.
fn data(folder: Option<&Path>, stats: Option<&StoreStats>) -> String {
    let mut out = String::new();
    let mut others = (0u64, 0u64);
    for entry in folder.and_then(|folder| fs::read_dir(folder).ok()).into_iter().flatten().flatten() {
        let (name, bytes) = (entry.file_name().to_string_lossy().into_owned(), bytes_of(&entry.path()));
        if KNOWN.contains(&name.as_str()) || name.contains(".before-restore") && name.starts_with("hob.") {
            let _ = writeln!(out, "{name:<24} {bytes}");
        } else {
            others = (others.0 + 1, others.1 + bytes);
        }
    }
    let _ = writeln!(out, "{} other files: {} bytes", others.0, others.1);
    if let Some(stats) = stats {
        let _ = writeln!(out, "commits {}, bytes written {}", stats.commits, stats.bytes_written);
        for (name, count) in &stats.records {
            let _ = writeln!(out, "{name:<24} {count} records");
        }
    }
    out
}

/// The size of a file, or of the files in a folder.
fn bytes_of(path: &Path) -> u64 {
    match path.symlink_metadata() {
        Ok(about) if about.is_file() => about.len(),
        Ok(about) if about.is_dir() => {
            let files = fs::read_dir(path).into_iter().flatten().flatten();
            files.filter_map(|file| file.metadata().ok()).map(|about| about.len()).sum()
        }
        _ => 0,
    }
}

/// Where Hob's parts failed: versions, places in the code, and the calls that led there. Messages are left out: they quote what
/// was being read.
fn crashes(folder: &Path, mask: &Mask) -> String {
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder).into_iter().flatten().flatten().map(|file| file.path()).collect();
    // Names begin with the time.
    files.sort();
    let mut out = String::new();
    for file in files.iter().rev().take(CRASHES) {
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mut text = String::new();
        let read = store::open_plain(file)
            .and_then(|file| std::io::Read::read_to_string(&mut std::io::Read::take(file, CRASH), &mut text));
        if read.is_err() {
            continue;
        }
        let _ = writeln!(out, "--- {name}");
        let is_shape = |line: &&str| {
            let line = line.trim_start();
            let is_frame =
                line.split_once(": ").is_some_and(|(n, _)| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()));
            is_frame || line.starts_with("at ") || line.starts_with("hob ") || line.starts_with("panicked at ")
        };
        for line in text.lines().filter(is_shape).take(CRASH_LINES) {
            let _ = writeln!(out, "{}", mask.line(line));
        }
    }
    out
}

/// How many crashes of the last week there are.
pub fn recent_crashes(data: &Path, now_ms: u64) -> usize {
    const WEEK_MS: u64 = 7 * 24 * 3_600_000;
    let files = fs::read_dir(data.join("crash")).into_iter().flatten().flatten();
    let made = |file: fs::DirEntry| -> Option<u64> {
        Some(file.path().file_stem()?.to_str()?.parse::<tool::Id>().ok()?.millis())
    };
    files.filter_map(made).filter(|at| now_ms.saturating_sub(*at) < WEEK_MS).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_says_how_hob_is_and_nothing_about_people() {
        let folder = std::env::temp_dir().join(format!("hob-support-{}", tool::Id::new()));
        fs::create_dir_all(folder.join("crash")).unwrap();
        let crash = "hob 0.1.0\npanicked at src/x.rs:1:2:\nbyte index 3 is inside 'é' of `dear Annika`\n   0: std::panic\n             at /rustc/x.rs:1\n  message of Annika\n";
        fs::write(folder.join("crash").join(format!("{}.txt", tool::Id::new())), crash).unwrap();
        fs::write(folder.join("annikas-diary.txt"), "dear diary").unwrap();
        fs::write(folder.join("hob.toml"), "x").unwrap();
        let (logs, scrubber) = (LogRing::default(), Scrubber::default());
        scrubber.add("of-the-vault-7714");
        logs.push("INFO hob: ready key=of-the-vault-7714 person=Annika text=\"meet at eight\"");
        let input = Input {
            now: "2026-11-26T20:30:00[UTC]".parse().unwrap(),
            version: "0.1.0",
            started_ms: 1,
            board: Description { driver: "sim", why: "simulated, as asked".into(), pins: vec![] },
            state: None,
            config: "[model]\nurl = (set)".into(),
            checks: vec![Check::wrong("disk", "The disk is full.", "delete something")],
            stats: Some(StoreStats::default()),
            logs,
            data: Some(folder.clone()),
            names: vec!["Annika".into()],
            scrubber,
        };
        let text = bundle(input);
        assert_eq!(recent_crashes(&folder, tool::Id::now_ms()), 1);
        assert_eq!(recent_crashes(&folder, tool::Id::now_ms() + 8 * 24 * 3_600_000), 0);
        fs::remove_dir_all(&folder).unwrap();
        for absent in ["nnika", "7714", "diary", "eight", "é"] {
            assert!(!text.contains(absent), "{absent}: {text}");
        }
        for present in [
            "version  0.1.0",
            "disk     Wrong: The disk is full. To do: delete something.",
            "url = (set)",
            "hob.toml",
            "1 other files: 10 bytes",
            "panicked at src/x.rs:1:2:",
            "0: std::panic",
            "INFO hob: ready",
            "person=[name]",
        ] {
            assert!(text.contains(present), "{present}: {text}");
        }
    }
}
