//! What is written to the disk each day, by Hob and by the whole device, against what a card bears.
//!
//! Figures are sampled in memory and stored seldom: with another write, and at a stop. A power cut loses some hours of Hob's
//! own figure; the disk's is counted by the kernel since the start of the machine.

use crate::DiskIo;
use jiff::civil::Date;
use serde::{Deserialize, Serialize};
use std::{
    fs::File,
    os::unix::fs::FileExt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};
use store::{Collection, Level, Record, Stamp, Store};
use tool::{
    Id, Scope,
    prelude::{JsonSchema, schemars},
};

/// How many days are kept.
const DAYS: usize = 30;
/// The days that an average is over.
const AVERAGE: usize = 7;
/// How often the figures are stored.
const STORE_EVERY: Duration = Duration::from_secs(6 * 3600);
/// A card bears about this many writes of each cell, of which small writes of a file system use several; and it should last
/// this many days.
const CYCLES: u64 = 300;
const AMPLIFICATION: u64 = 4;
const LIFE_DAYS: u64 = 5 * 365;
/// The id of the only record.
const ONE: Id = Id::from_bytes([0, 0, 0, 0, 0, 0, 0x70, 0, 0x80, 0, 0, 0, 0, 0, 0, 7]);

/// Counts what this process has written. It is opened before the process hides its memory from others, after which the
/// kernel lets only root open it.
#[derive(Debug, Default)]
pub struct OwnWrites(Option<File>);

impl OwnWrites {
    pub fn open() -> Self {
        Self(File::open("/proc/self/io").ok())
    }

    /// The same once more.
    pub(crate) fn again(&self) -> Self {
        Self(self.0.as_ref().and_then(|file| file.try_clone().ok()))
    }

    /// Bytes that this process has sent to disks.
    fn bytes(&self) -> Option<u64> {
        let mut text = [0; 512];
        let read = self.0.as_ref()?.read_at(&mut text, 0).ok()?;
        let text = std::str::from_utf8(&text[..read]).ok()?;
        text.lines().find_map(|line| line.strip_prefix("write_bytes: "))?.trim().parse().ok()
    }
}

/// The figures of the last days. New fields go last.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct WriteLog {
    /// The start of the machine that `seen` is of.
    boot: String,
    /// Bytes written to the disk since that start, as last seen.
    seen: u64,
    /// The days, as days since 1970, with the bytes of each by Hob and by all.
    days: Vec<u32>,
    own: Vec<u64>,
    all: Vec<u64>,
    /// The day on which the household was last told.
    told: u32,
}

impl Record for WriteLog {
    const NAME: &'static str = "disk-writes";
    const WORD: &'static str = "count of writes";
    const LEVEL: Level = Level::Household;
    // It is about this device's card.
    const STAYS: bool = true;
}

impl WriteLog {
    /// Adds to a day, and drops the oldest.
    fn add(&mut self, day: u32, own: u64, all: u64) {
        if self.days.last() != Some(&day) {
            self.days.push(day);
            self.own.push(0);
            self.all.push(0);
        }
        let last = self.days.len().min(self.own.len()).min(self.all.len());
        self.days.truncate(last);
        self.own.truncate(last);
        self.all.truncate(last);
        if let (Some(before), Some(total)) = (self.own.last_mut(), self.all.last_mut()) {
            *before = before.saturating_add(own);
            *total = total.saturating_add(all);
        }
        let over = last.saturating_sub(DAYS);
        self.days.drain(..over);
        self.own.drain(..over);
        self.all.drain(..over);
    }

    /// Of these figures: those of today, and the average of the whole days before it.
    fn of(&self, figures: &[u64], day: u32) -> (u64, Option<u64>) {
        let today = self.days.iter().zip(figures).find(|(d, _)| **d == day).map_or(0, |(_, bytes)| *bytes);
        let before: Vec<u64> =
            self.days.iter().zip(figures).rev().filter(|(d, _)| **d < day).take(AVERAGE).map(|(_, b)| *b).collect();
        let average = (!before.is_empty()).then(|| before.iter().sum::<u64>() / before.len() as u64);
        (today, average)
    }
}

/// What is written, and what the card bears.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WriteReport {
    /// The disk of the data folder; null where it is not known, as in a container.
    pub device: Option<String>,
    /// "SD card", "eMMC", "USB disk" or "disk".
    pub kind: Option<String>,
    /// Its size in bytes.
    pub size: u64,
    /// Bytes that Hob has written today.
    pub own_today: u64,
    /// Bytes that all programs have written to the disk today, while Hob ran or since the machine started.
    pub all_today: u64,
    /// The average of the days before, up to seven; null on the first day.
    pub own_average: Option<u64>,
    pub all_average: Option<u64>,
    /// How many bytes a day the disk bears for about five years; 0 where that is not known.
    pub budget: u64,
    /// Whether more is written than that.
    pub exceeded: bool,
    /// Errors of the file system; null where it does not say.
    pub errors: Option<u64>,
    /// The same in a sentence.
    pub say: String,
}

struct State {
    log: WriteLog,
    /// Bytes of this process, as last seen.
    own_seen: u64,
    stored_at: Instant,
}

/// The counts; cheap to clone.
#[derive(Clone)]
pub struct Writes(Arc<Inner>);

struct Inner {
    own: OwnWrites,
    stored: Collection<WriteLog>,
    /// A day's budget in bytes; 0: computed from the size of the card.
    budget: u64,
    state: Mutex<State>,
}

impl Writes {
    /// Continues the stored counts.
    pub fn open(store: &Store, own: OwnWrites, budget_mb: u64) -> Self {
        let stored: Collection<WriteLog> = store.collection();
        // Damaged figures are no reason not to start.
        let log = stored.get_in(Scope::Household, ONE).ok().flatten().map(|entry| entry.value).unwrap_or_default();
        let state = State { log, own_seen: 0, stored_at: Instant::now() };
        let budget = budget_mb.saturating_mul(1_000_000);
        Self(Arc::new(Inner { own, stored, budget, state: Mutex::new(state) }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds what was written since the last sample. `boot` names the start of the machine.
    fn sample(&self, day: u32, boot: &str, disk: Option<&DiskIo>) {
        let own = self.0.own.bytes().unwrap_or(0);
        let mut state = self.state();
        let all = disk.map_or(0, |disk| {
            let before = if state.log.boot == boot { state.log.seen } else { 0 };
            state.log.boot = boot.to_owned();
            state.log.seen = disk.written;
            disk.written.saturating_sub(before)
        });
        let new = own.saturating_sub(state.own_seen);
        state.own_seen = own;
        // The first look at a disk that has run for weeks says nothing about today.
        let all = if state.log.days.is_empty() { 0 } else { all };
        state.log.add(day, new, all);
    }

    /// Looks at the disk, and returns what is known.
    pub fn look(&self, today: Date, disk: Option<DiskIo>) -> WriteReport {
        let day = day_number(today);
        let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        self.sample(day, boot.trim(), disk.as_ref());
        self.report(day, disk)
    }

    fn report(&self, day: u32, disk: Option<DiskIo>) -> WriteReport {
        let state = self.state();
        let (own_today, own_average) = state.log.of(&state.log.own, day);
        let (all_today, all_average) = state.log.of(&state.log.all, day);
        let size = disk.as_ref().map_or(0, |disk| disk.size);
        let budget = match (&disk, self.0.budget) {
            (Some(disk), 0) if disk.wears => daily_budget(disk.size),
            (_, budget) => budget,
        };
        // One busy day is no habit.
        let exceeded = budget > 0 && (all_average.is_some_and(|bytes| bytes > budget) || all_today > 2 * budget);
        let mut report = WriteReport {
            device: disk.as_ref().map(|disk| disk.device.clone()),
            kind: disk.as_ref().map(|disk| disk.kind.to_owned()),
            size,
            own_today,
            all_today,
            own_average,
            all_average,
            budget,
            exceeded,
            errors: disk.and_then(|disk| disk.errors),
            say: String::new(),
        };
        report.say = sentence(&report);
        report
    }

    /// Whether the figures are due to be stored.
    pub fn is_due(&self) -> bool {
        self.state().stored_at.elapsed() >= STORE_EVERY
    }

    /// Stores the figures with the next write of something else.
    pub fn save(&self) {
        let mut state = self.state();
        state.stored_at = Instant::now();
        let (stored, log) = (self.0.stored.clone(), state.log.clone());
        drop(state);
        self.0.stored.store().write_later(move |tx| stored.put(tx, ONE, &Stamp::household("care"), &log).map(drop));
    }

    /// Whether the household should be told today that too much is written: at most once a week.
    pub fn should_tell(&self, today: Date) -> bool {
        let (mut state, day) = (self.state(), day_number(today));
        let due = day >= state.log.told.saturating_add(AVERAGE as u32);
        if due {
            state.log.told = day;
        }
        due
    }
}

/// The bytes that may be written each day, so that a card of this size lasts.
fn daily_budget(size: u64) -> u64 {
    size / AMPLIFICATION * CYCLES / LIFE_DAYS
}

/// Days since 1970.
fn day_number(date: Date) -> u32 {
    let first = jiff::civil::date(1970, 1, 1);
    u32::try_from(date.duration_since(first).as_hours() / 24).unwrap_or(0)
}

fn sentence(report: &WriteReport) -> String {
    let own = size(report.own_average.unwrap_or(report.own_today));
    let all = size(report.all_average.unwrap_or(report.all_today));
    let when = if report.own_average.is_some() { "a day" } else { "today" };
    let (Some(kind), Some(device)) = (&report.kind, &report.device) else {
        return format!("Hob wrote {own} {when}. Which disk that is on cannot be seen here.");
    };
    let wrote = format!("Hob wrote {own} {when}, and everything on this device {all}, to the {kind} ({device})");
    match (report.budget, report.exceeded) {
        (0, _) => format!("{wrote}."),
        (budget, false) => {
            format!("{wrote}. With up to {} a day, {} last about five years.", size(budget), a_card(report, kind))
        }
        (budget, true) => format!(
            "{wrote}. That is more than the {} a day with which {} last about five years: find the program that writes so much, or move the data to a larger card or a disk.",
            size(budget),
            a_card(report, kind)
        ),
    }
}

/// "32 GB of SD card".
fn a_card(report: &WriteReport, kind: &str) -> String {
    format!("{} of {kind}", size(report.size))
}

/// "240 MB", "1.3 GB".
pub(crate) fn size(bytes: u64) -> String {
    match bytes {
        0..1_000_000 => format!("{} KB", bytes.div_ceil(1000)),
        1_000_000..1_000_000_000 => format!("{} MB", bytes.div_ceil(1_000_000)),
        1_000_000_000..10_000_000_000 => format!("{:.1} GB", bytes as f64 / 1e9),
        _ => format!("{:.0} GB", bytes as f64 / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;

    const MB: u64 = 1_000_000;

    fn disk(written: u64) -> DiskIo {
        let device = "mmcblk0".into();
        DiskIo { device, kind: "SD card", wears: true, size: 32_000 * MB, written, errors: Some(0) }
    }

    #[tokio::test]
    async fn days_are_counted_over_restarts_of_hob_and_of_the_machine() {
        let store = Store::in_memory().unwrap();
        let open = || Writes::open(&store, OwnWrites(None), 0);
        let today = date(2026, 11, 26);
        let (day, writes) = (day_number(today), open());
        assert_eq!(day, 20_783);
        // The machine has run for a while: only what comes from now on counts.
        writes.sample(day, "boot 1", Some(&disk(5_000 * MB)));
        writes.sample(day, "boot 1", Some(&disk(5_040 * MB)));
        writes.save();
        store.flush().await.unwrap();
        // Another start of Hob, then one of the machine.
        let writes = open();
        writes.sample(day, "boot 1", Some(&disk(5_100 * MB)));
        writes.sample(day, "boot 2", Some(&disk(20 * MB)));
        let report = writes.report(day, Some(disk(20 * MB)));
        assert_eq!((report.all_today, report.all_average, report.exceeded), (120 * MB, None, false));
        assert_eq!(report.budget / MB, 1315, "32 GB: 1.3 GB a day");
        let expected = "Hob wrote 0 KB today, and everything on this device 120 MB, to the SD card (mmcblk0). \
                        With up to 1.3 GB a day, 32 GB of SD card last about five years.";
        assert_eq!(report.say, expected);
        // A day on which too much is written, the average, and what is forgotten.
        writes.sample(day + 1, "boot 2", Some(&disk(3_000 * MB)));
        let report = writes.report(day + 1, Some(disk(3_000 * MB)));
        assert!(report.exceeded && report.say.contains("more than the 1.3 GB a day"), "{}", report.say);
        assert_eq!(report.all_average, Some(120 * MB));
        assert!(writes.should_tell(today) && !writes.should_tell(today));
        (2..100).for_each(|n| writes.sample(day + n, "boot 2", Some(&disk(3_000 * MB))));
        let log = writes.state().log.clone();
        assert_eq!((log.days.len(), log.own.len(), log.all.len()), (DAYS, DAYS, DAYS));
        assert_eq!(writes.report(day + 99, Some(disk(3_000 * MB))).all_average, Some(0));
    }

    #[test]
    fn a_budget_of_hob_toml_counts_for_any_disk() {
        let store = Store::in_memory().unwrap();
        let writes = Writes::open(&store, OwnWrites::open(), 100);
        let plain = DiskIo { kind: "disk", wears: false, ..disk(0) };
        assert_eq!(writes.report(1, Some(plain.clone())).budget, 100 * MB);
        assert_eq!(writes.report(1, None).budget, 100 * MB);
        assert!(writes.report(1, None).say.contains("cannot be seen"));
        let unset = Writes::open(&store, OwnWrites::open(), 0);
        assert_eq!((unset.report(1, Some(plain)).budget, unset.0.own.bytes().is_some()), (0, true));
    }
}
