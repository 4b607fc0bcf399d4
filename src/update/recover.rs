//! Bringing the journal in line with the slots after a start, whatever moment the power failed at.

use crate::{
    error::Result,
    journal::{Journal, Outcome, Phase, Previous, Release},
    slots::{Running, SlotManifest, SlotName, Slots},
};
use semver::Version;

/// Unix seconds.
pub(crate) fn now() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| i64::try_from(since.as_secs()).unwrap_or_default())
}

/// The end of an installation.
pub(crate) fn outcome(what: &str, why: impl Into<String>, version: &Version) -> Option<Outcome> {
    Some(Outcome { what: what.into(), why: why.into(), at: now(), version: version.to_string(), tried: false })
}

/// The end of a version that was started and failed.
pub(crate) fn tried_outcome(why: impl Into<String>, version: &Version) -> Option<Outcome> {
    outcome("failed", why, version).map(|outcome| Outcome { tried: true, ..outcome })
}

/// Notes a commit: the only place where the floor rises. `before` is the content of the slot that was active.
pub(crate) fn committed(journal: &mut Journal, release: Release, before: Option<SlotManifest>) {
    if let Some(replaced) = journal.replaced.take() {
        // This one was installed earlier, and the outcome says why it runs. The one that does not start is no way back.
        journal.previous = None;
        journal.phase = Phase::Failed(replaced);
        journal.failed_in.clear();
        return;
    }
    journal.previous = before.map(|about| Previous { id: about.id, version: about.version });
    journal.floor = journal.floor.max(release.serial);
    let is_packaged = release.id.is_empty();
    if is_packaged && journal.floor_version.as_ref().is_none_or(|floor| *floor < release.version) {
        journal.floor_version = Some(release.version.clone());
    }
    // The announced key stays trusted as long as its releases come; a release by another key that announces none withdraws it.
    if release.next_key.is_some() || !(is_packaged || release.by_announced) {
        journal.announced_key = release.next_key.clone();
    }
    journal.outcome = outcome("committed", format!("Version {} is installed.", release.version), &release.version);
    journal.phase = Phase::Committed(release);
}

/// Notes a return to the version before. `left` is the content of the slot that was active.
pub(crate) fn rolled_back(journal: &mut Journal, version: &Version, left: Option<SlotManifest>) {
    journal.previous = left.map(|about| Previous { id: about.id, version: about.version });
    journal.outcome = outcome("rolled_back", format!("A person went back to version {version}."), version);
    journal.phase = Phase::Idle;
    journal.going_back = false;
}

/// Notes a trial that ended without a commit.
fn failed(journal: &mut Journal, release: Release, why: String) {
    journal.outcome = tried_outcome(why, &release.version);
    journal.phase = Phase::Failed(release);
    journal.failed_in.clear();
    journal.replaced = None;
}

/// Why a trial ended of which only its absence is known. The version that is tried notes its own start; one that finds itself not
/// well says why itself.
fn unconfirmed(version: &Version, began: i64) -> String {
    let what = match began {
        0 => "did not start, or the power failed before it was up",
        _ => "started and was not confirmed in time: it hung or ended, or the power failed",
    };
    format!("The new version, {version}, {what}. It was tried once, and the device came back with the version before.")
}

/// The version of a slot. Whose key signed it is known while it is installed only.
fn release_in(slot: SlotName, about: SlotManifest) -> Release {
    let next_key = about.bundle.and_then(|bundle| bundle.next_key);
    Release { id: about.id, version: about.version, serial: about.serial, slot, next_key, by_announced: false }
}

/// Notes that the boot loader started `this` in place of the active version, if so.
fn note_replaced(slots: &dyn Slots, this: &Version, journal: &mut Journal) -> Result<()> {
    journal.replaced = None;
    let Some(found) = slots.stands_in()? else { return Ok(()) };
    let active = slots.active()?;
    let Some(about) = slots.manifest(active)? else { return Ok(()) };
    let found = if found.is_empty() { String::new() } else { format!(" ({found})") };
    let why =
        format!("It does not start any more{found}. Version {this}, which was confirmed before, runs in its place.");
    journal.outcome = tried_outcome(why, &about.version);
    journal.replaced = Some(release_in(active, about));
    Ok(())
}

/// Whether the journal is about the trial that runs: of this content of the slot, and a failure of this very attempt.
fn knows_trial(journal: &Journal, running: Running, about: &SlotManifest, attempt: &str) -> bool {
    match &journal.phase {
        Phase::Trying(release) => release.slot == running.slot && release.is_in(about),
        Phase::Failed(release) => {
            release.slot == running.slot && release.is_in(about) && !attempt.is_empty() && journal.failed_in == attempt
        }
        _ => false,
    }
}

/// Compares the journal with the slots and corrects it. The slots decide: they are what the machine starts from. `attempt` names
/// this start.
pub(crate) fn settle(slots: &dyn Slots, running: Running, journal: &mut Journal, attempt: &str) -> Result<()> {
    let going_back = std::mem::take(&mut journal.going_back);
    // A trial that the journal does not know: a package brought the version, the boot loader found the active slot broken, what
    // failed before is tried once more, or the journal was lost.
    if running.trial
        && let Some(about) = slots.manifest(running.slot)?
        && !knows_trial(journal, running, &about, attempt)
    {
        note_replaced(slots, &about.version, journal)?;
        journal.phase = Phase::Trying(release_in(running.slot, about));
    }
    match journal.phase.clone() {
        Phase::Trying(release) if running.slot == release.slot => {
            if running.trial {
                // Noted before anything can go wrong with it.
                journal.trial_began = if journal.trial_began == 0 { now().max(1) } else { journal.trial_began };
            } else {
                // The commit of the slot was the last thing done.
                let before = slots.manifest(release.slot.other())?;
                committed(journal, release, before);
            }
        }
        Phase::Trying(_) if journal.replaced.as_ref().is_some_and(|active| active.slot == running.slot) => {
            // The power failed while the other one ran in its place, and now it did start.
            journal.replaced = None;
            journal.outcome = None;
            journal.phase = Phase::Idle;
        }
        Phase::Trying(release) => {
            if slots.next_trial()? == Some(release.slot) {
                // The machine did not restart into the trial; it is offered again, not begun behind anybody's back.
                slots.set_trial(None)?;
                journal.phase = Phase::Staged(release);
                return Ok(());
            }
            let report = slots.trial_report()?.filter(|report| report.slot == release.slot);
            let why = report.map_or_else(|| unconfirmed(&release.version, journal.trial_began), |report| report.why);
            failed(journal, release, why);
        }
        Phase::Writing(release) if release.slot == running.slot => journal.phase = Phase::Idle,
        Phase::Staged(release) => {
            let complete = slots.manifest(release.slot)?.is_some_and(|about| about.id == release.id);
            if !complete || release.slot == running.slot {
                let why = "The slot of the new version lost its content. Install it again.";
                journal.outcome = outcome("failed", why, &release.version);
                journal.phase = Phase::Failed(release);
            }
        }
        Phase::Committed(release) if slots.active()? != release.slot => {
            if let Some(report) = slots.trial_report()?.filter(|report| report.slot == release.slot) {
                // The supervisor could not start it any more.
                failed(journal, release, report.why);
                return Ok(());
            }
            let left = slots.manifest(release.slot)?;
            let version = slots.manifest(slots.active()?)?.map_or(release.version.clone(), |about| about.version);
            // Either the return to the version before was cut short after the slots had changed, or nobody asked for it.
            rolled_back(journal, &version, left);
            if !going_back {
                let why =
                    format!("The record of which slot starts was lost or changed, so version {version} starts again.");
                journal.outcome = outcome("failed", why, &release.version);
            }
        }
        Phase::Idle | Phase::Writing(_) | Phase::Committed(_) | Phase::Failed(_) => {}
    }
    if !matches!(journal.phase, Phase::Trying(_)) {
        journal.trial_began = 0;
    }
    Ok(())
}
