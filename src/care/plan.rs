//! When and where backups are made by themselves.

use jiff::{ToSpan, Zoned, civil::Weekday};
use serde::{Deserialize, Serialize};
use std::path::{Component, Path, PathBuf};
use store::{Coded, Level, Record};
use tool::{
    Error, Result,
    prelude::{JsonSchema, schemars},
};

/// The folder in the data folder for backups without another place.
pub(crate) const FOLDER: &str = "backups";
/// The hour at which backups are made by default, and how many stay.
const HOUR: u8 = 3;
const KEEP: u32 = 7;
const MAX_KEEP: u32 = 100;
/// The shortest passphrase, in characters: whoever finds the file can try as often as they like.
const PASSPHRASE: usize = 8;
const MAX_PASSPHRASE: usize = 1024;
const MAX_FOLDER: usize = 500;

/// How often.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Every {
    /// Only by hand.
    #[default]
    Off,
    /// Each night.
    Day,
    /// In the night to Monday.
    Week,
}

impl Coded for Every {
    const ALL: &'static [Self] = &[Every::Off, Every::Day, Every::Week];
    const UNKNOWN: Self = Every::Day;
}

/// A stored time; 0 when it is more than a day after now, because the clock was wrong then.
pub(crate) fn believable(stored_ms: u64, now_ms: u64) -> u64 {
    if stored_ms > now_ms.saturating_add(24 * 3_600_000) { 0 } else { stored_ms }
}

/// The stored plan. New fields go last.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct BackupPlan {
    #[serde(with = "store::coded")]
    pub every: Every,
    /// Empty: in the data folder.
    pub folder: String,
    pub keep: u32,
    pub hour: u8,
    /// Whether they are encrypted; the passphrase is sealed.
    pub encrypted: bool,
    /// When it was made: milliseconds since 1970. Nothing before that is made up for.
    pub since_ms: u64,
    /// Whether the folder was on another disk than the data then. If it is not, that disk is missing.
    pub other_disk: bool,
    /// Whether the files of the workspace are left out.
    pub without_files: bool,
}

impl Record for BackupPlan {
    const NAME: &'static str = "backup-plan";
    const WORD: &'static str = "plan of backups";
    const LEVEL: Level = Level::Household;
}

/// When and where backups are made by themselves.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlanView {
    every: Every,
    /// The folder; empty is the folder `backups` in the data folder.
    pub folder: String,
    /// How many stay.
    keep: u32,
    /// The hour of the day in the household's time zone.
    hour: u8,
    /// Whether they are encrypted, and contain keys and passwords.
    encrypted: bool,
    /// Whether they contain the files of the workspace.
    files: bool,
}

/// A new plan.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct PlanChange {
    /// How often.
    pub every: Every,
    /// An existing folder, such as that of a USB stick; empty for the folder `backups` in the data folder.
    #[serde(default)]
    pub folder: String,
    /// How many stay, 1 to 100; 7 when left out.
    pub keep: Option<u32>,
    /// The hour of the day, 0 to 23; 3 when left out.
    pub hour: Option<u8>,
    /// The passphrase they are encrypted with, at least 8 characters; empty: they are not encrypted and contain no keys. Left
    /// out, it stays as it is.
    pub passphrase: Option<String>,
    /// Whether they contain the files of the workspace. Left out, that stays as it is: at first they do.
    pub files: Option<bool>,
}

/// Refuses a passphrase that is no protection.
///
/// # Errors
/// `BadArgs`.
pub(crate) fn check_passphrase(passphrase: &str) -> Result<()> {
    let length = passphrase.chars().count();
    if length < PASSPHRASE || passphrase.trim().is_empty() {
        return Err(Error::bad_args(format!(
            "the passphrase is too short: use at least {PASSPHRASE} characters, such as four words"
        )));
    }
    if length > MAX_PASSPHRASE {
        return Err(Error::bad_args(format!("the passphrase is too long: use at most {MAX_PASSPHRASE} characters")));
    }
    Ok(())
}

impl BackupPlan {
    /// The plan that a person wants; the disk of its folder is looked at by the caller.
    ///
    /// # Errors
    /// `BadArgs`.
    pub fn changed(&self, change: &PlanChange, now_ms: u64) -> Result<Self> {
        let folder = change.folder.trim();
        if folder.chars().count() > MAX_FOLDER || folder.chars().any(char::is_control) {
            return Err(Error::bad_args("the folder is no path: write it as /media/usb/hob"));
        }
        let is_plain = Path::new(folder).components().all(|part| part != Component::ParentDir);
        if !(folder.is_empty() || Path::new(folder).is_absolute() && is_plain) {
            return Err(Error::bad_args("the folder must be an absolute path: write it as /media/usb/hob"));
        }
        if ["/dev", "/proc"].iter().any(|system| Path::new(folder).starts_with(system)) {
            return Err(Error::bad_args(
                "what is in this folder is gone after a restart: choose one on a disk, such as /media/usb/hob",
            ));
        }
        let keep = change.keep.unwrap_or(KEEP);
        if !(1..=MAX_KEEP).contains(&keep) {
            return Err(Error::bad_args(format!("keep 1 to {MAX_KEEP} backups")));
        }
        let hour = change.hour.unwrap_or(HOUR);
        if hour > 23 {
            return Err(Error::bad_args("the hour must be 0 to 23"));
        }
        let encrypted = match change.passphrase.as_deref() {
            None => self.encrypted,
            Some("") => false,
            Some(passphrase) => check_passphrase(passphrase).map(|()| true)?,
        };
        let since_ms = if self.every == change.every && self.hour == hour { self.since_ms } else { now_ms };
        let folder = folder.to_owned();
        let without_files = change.files.map_or(self.without_files, |files| !files);
        let (every, other_disk) = (change.every, self.other_disk);
        Ok(Self { every, folder, keep, hour, encrypted, since_ms, other_disk, without_files })
    }

    pub fn view(&self) -> PlanView {
        PlanView {
            every: self.every,
            folder: self.folder.clone(),
            keep: if self.keep == 0 { KEEP } else { self.keep },
            hour: if self.keep == 0 { HOUR } else { self.hour },
            encrypted: self.encrypted,
            files: !self.without_files,
        }
    }

    /// The folder for a device with this data folder.
    pub fn folder(&self, data: &Path) -> PathBuf {
        if self.folder.is_empty() { data.join(FOLDER) } else { PathBuf::from(&self.folder) }
    }

    /// The latest time before `now` at which one should have been made, and the next one after it.
    fn times(&self, now: &Zoned) -> Option<(Zoned, Zoned)> {
        let step = match self.every {
            Every::Off => return None,
            Every::Day => 1.day(),
            Every::Week => 7.days(),
        };
        let hour = i8::try_from(self.hour).unwrap_or(0);
        let mut day = now.date();
        if self.every == Every::Week {
            while day.weekday() != Weekday::Monday {
                day = day.yesterday().ok()?;
            }
        }
        // Where the clocks skip this hour, the next one.
        let at = |day: jiff::civil::Date| day.at(hour, 0, 0, 0).to_zoned(now.time_zone().clone()).ok();
        let mut last = at(day)?;
        if last > *now {
            day = day.checked_sub(step).ok()?;
            last = at(day)?;
        }
        Some((last, at(day.checked_add(step).ok()?)?))
    }

    /// Whether one is due, of which the last attempt was at `tried_ms`. What was missed while the device was off is made up.
    pub fn is_due(&self, now: &Zoned, tried_ms: u64) -> bool {
        let Some((last, _)) = self.times(now) else { return false };
        let ms = |at: &Zoned| u64::try_from(at.timestamp().as_millisecond()).unwrap_or(0);
        let now_ms = ms(now);
        ms(&last) > believable(tried_ms, now_ms).max(believable(self.since_ms, now_ms))
    }

    /// When the next one is made: milliseconds since 1970.
    pub fn next_ms(&self, now: &Zoned) -> Option<u64> {
        u64::try_from(self.times(now)?.1.timestamp().as_millisecond()).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(every: Every, hour: u8) -> BackupPlan {
        BackupPlan { every, hour, keep: 7, ..BackupPlan::default() }
    }

    fn at(text: &str) -> Zoned {
        format!("{text}[Europe/Vienna]").parse().unwrap()
    }

    fn ms(text: &str) -> u64 {
        at(text).timestamp().as_millisecond() as u64
    }

    #[test]
    fn one_is_due_once_after_its_hour_and_when_it_was_missed() {
        let daily = plan(Every::Day, 3);
        for (now, tried, due) in [
            ("2026-11-26T02:59:00", "2026-11-25T03:00:01", false),
            ("2026-11-26T03:00:00", "2026-11-25T03:00:01", true),
            ("2026-11-26T21:00:00", "2026-11-26T03:00:01", false),
            // Off for some days.
            ("2026-11-26T01:00:00", "2026-11-20T03:00:01", true),
            // 3:00 at the end of summer time comes once; in spring 2:00 does not exist.
            ("2026-10-25T03:00:00", "2026-10-24T03:00:01", true),
        ] {
            assert_eq!(daily.is_due(&at(now), ms(tried)), due, "{now} after {tried}");
        }
        assert!(plan(Every::Day, 2).is_due(&at("2026-03-29T03:30:00"), ms("2026-03-28T02:00:01")));
        let weekly = plan(Every::Week, 3);
        // Monday, 23 November.
        assert!(!weekly.is_due(&at("2026-11-26T12:00:00"), ms("2026-11-23T03:00:01")));
        assert!(weekly.is_due(&at("2026-11-30T03:00:00"), ms("2026-11-23T03:00:01")));
        assert_eq!(weekly.next_ms(&at("2026-11-26T12:00:00")), Some(ms("2026-11-30T03:00:00")));
        assert_eq!(weekly.next_ms(&at("2026-11-23T02:00:00")), Some(ms("2026-11-23T03:00:00")));
        assert!(!plan(Every::Off, 3).is_due(&at("2026-11-26T12:00:00"), 0));
        // A plan that was just made begins with its next time.
        let fresh = BackupPlan { since_ms: ms("2026-11-26T12:00:00"), ..daily };
        assert!(!fresh.is_due(&at("2026-11-26T12:00:01"), 0) && fresh.is_due(&at("2026-11-27T03:00:00"), 0));
    }

    #[test]
    fn times_from_when_the_clock_was_years_ahead_count_for_nothing() {
        let (daily, now) = (plan(Every::Day, 3), at("2026-11-26T12:00:00"));
        assert!(daily.is_due(&now, ms("2038-01-19T03:00:00")));
        let since = |since: &str| BackupPlan { since_ms: ms(since), ..daily.clone() };
        assert!(since("2038-01-19T03:00:00").is_due(&now, 0));
        // A clock that was set back by some hours is no such.
        assert!(!daily.is_due(&now, ms("2026-11-26T20:00:00")) && !since("2026-11-26T20:00:00").is_due(&now, 0));
    }

    #[test]
    fn what_cannot_work_is_refused() {
        let before = BackupPlan { encrypted: true, ..plan(Every::Day, 3) };
        let change = |folder: &str, keep, hour, passphrase: Option<&str>| {
            let passphrase = passphrase.map(str::to_owned);
            let change = PlanChange { every: Every::Week, folder: folder.into(), keep, hour, passphrase, files: None };
            before.changed(&change, 5)
        };
        for (folder, keep, hour, passphrase, part) in [
            ("usb", None, None, None, "absolute path"),
            ("/media/../etc", None, None, None, "absolute path"),
            ("/dev/shm", None, None, None, "gone after a restart"),
            ("/a\nb", None, None, None, "no path"),
            ("", Some(0), None, None, "1 to 100"),
            ("", None, Some(24), None, "0 to 23"),
            ("", None, None, Some("short"), "at least 8"),
            ("", None, None, Some("          "), "at least 8"),
        ] {
            let why = change(folder, keep, hour, passphrase).unwrap_err().to_string();
            assert!(why.contains(part), "{folder}: {why}");
        }
        let kept = change("/media/usb", None, None, None).unwrap();
        assert_eq!((kept.encrypted, kept.keep, kept.hour, kept.since_ms), (true, KEEP, HOUR, 5));
        assert!(!change("", None, None, Some("")).unwrap().encrypted);
    }
}
