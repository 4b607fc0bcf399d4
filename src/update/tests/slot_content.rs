//! Trials that no installation began: of packages, of what failed before, and of what the machine chooses by itself.

use super::world::{KEYS, KINDS, Kind, new_bundle, send, updater, updater_in};
use crate::{
    Error, Updater,
    manifest::Payload,
    sim_disk::SimDisk,
    slots::{Restart, SlotManifest, SlotName},
    testing::{self, contents, head_of, noise},
};
use semver::Version;

fn start(kind: Kind, disk: &SimDisk, running: SlotName) -> Updater {
    updater(disk, kind.slots(disk, running, 1)).unwrap()
}

/// A machine whose trial of version 1.0.2 in slot B failed in the attempt `first`, and which runs A again.
fn failed(kind: Kind) -> SimDisk {
    let disk = kind.machine();
    let old = start(kind, &disk, SlotName::A);
    let id = send(&old, new_bundle(kind.payload()), 1 << 20).unwrap();
    old.stage(&id).unwrap();
    let tryboot = old.try_staged().unwrap() != Restart::Exit;
    assert_eq!(kind.boot(&disk, tryboot).unwrap(), SlotName::B);
    let new = updater_in(&disk, kind.slots(&disk, SlotName::B, 2), "first").unwrap();
    new.fail("The page did not answer.").unwrap();
    assert_eq!(kind.boot(&disk, false).unwrap(), SlotName::A);
    assert_eq!(start(kind, &disk, SlotName::A).status().unwrap().state, "failed");
    disk
}

/// Puts a version that a package brought into slot B, and starts its trial.
fn package(disk: &SimDisk, version: Version) -> Updater {
    let slots = Kind::Dir.slots(disk, SlotName::A, 1);
    let writer = slots.writer(SlotName::B, "hob", 4).unwrap();
    writer.write_at(0, b"new!").unwrap();
    writer.sync().unwrap();
    slots.finish(SlotName::B, &SlotManifest::of_version(version)).unwrap();
    slots.set_trial(Some(SlotName::B)).unwrap();
    assert_eq!(Kind::Dir.boot(disk, false).unwrap(), SlotName::B);
    start(Kind::Dir, disk, SlotName::B)
}

#[test]
fn a_package_is_tried_in_the_slot_where_something_else_failed() {
    let disk = failed(Kind::Dir);
    let packaged = package(&disk, Version::new(1, 0, 4));
    assert!(packaged.pending_fallback().unwrap().is_none());
    let status = packaged.status().unwrap();
    assert_eq!((status.state, status.release.unwrap().version), ("trying", Version::new(1, 0, 4)));
    packaged.confirm().unwrap();
    assert_eq!(packaged.status().unwrap().floor, 1, "a package has no serial");
    // An older version is no longer installed, whatever its serial.
    let refused = |version| {
        let mut about = contents(Payload::App, 90);
        about.version = version;
        let bundle = testing::bundle(about, &[&noise(6, 50_000)], &[], &[KEYS.signing()]).unwrap();
        packaged.begin(head_of(&bundle).unwrap())
    };
    let error = refused(Version::new(1, 0, 3)).unwrap_err();
    assert!(matches!(&error, Error::Refused(why) if why.contains("older than 1.0.4")), "{error}");
    assert_eq!((packaged.newest_version().unwrap(), packaged.newest_serial().unwrap()), (Version::new(1, 0, 4), 1));
    refused(Version::new(1, 0, 5)).unwrap();
}

#[test]
fn what_failed_is_tried_again_when_the_machine_starts_it_once_more() {
    for kind in KINDS {
        let disk = failed(kind);
        // The process that failed comes back in its attempt, and is to leave at once.
        let again = kind.slots(&disk, SlotName::B, 2);
        let same = kind.machine();
        let old = start(kind, &same, SlotName::A);
        let id = send(&old, new_bundle(kind.payload()), 1 << 20).unwrap();
        old.stage(&id).unwrap();
        let tryboot = old.try_staged().unwrap() != Restart::Exit;
        kind.boot(&same, tryboot).unwrap();
        updater_in(&same, kind.slots(&same, SlotName::B, 2), "first").unwrap().fail("It hangs.").unwrap();
        let back = updater_in(&same, kind.slots(&same, SlotName::B, 2), "first").unwrap();
        assert!(back.pending_fallback().unwrap().is_some(), "{kind:?}");
        assert_eq!(back.status().unwrap().state, "failed");
        // Another start of the same content: the active slot is broken, say.
        for attempt in ["second", ""] {
            let chosen = updater_in(&disk, again.clone(), attempt).unwrap();
            assert!(chosen.pending_fallback().unwrap().is_none(), "{kind:?}");
            assert_eq!(chosen.status().unwrap().state, "trying", "{kind:?}");
            chosen.fail("The page did not answer.").unwrap();
        }
        let chosen = updater_in(&disk, again, "third").unwrap();
        chosen.confirm().unwrap();
        assert_eq!(kind.boot(&disk, false).unwrap(), SlotName::B);
    }
}

#[test]
fn a_trial_of_other_content_is_not_confirmed_as_the_one_before() {
    let disk = Kind::Dir.machine();
    let old = start(Kind::Dir, &disk, SlotName::A);
    let id = send(&old, new_bundle(Payload::App), 1 << 20).unwrap();
    old.stage(&id).unwrap();
    old.try_staged().unwrap();
    Kind::Dir.boot(&disk, false).unwrap();
    // The power fails in the trial, and a package comes first.
    let packaged = package(&disk, Version::new(1, 0, 4));
    assert_eq!(packaged.confirm().unwrap().version, Version::new(1, 0, 4));
    assert_eq!(packaged.status().unwrap().floor, 1, "the serial of what was never confirmed counts for nothing");
}

#[test]
fn chunks_that_were_fetched_and_read_back_wrong_are_fetched_again() {
    // Nothing of it is in the running slot; its middle comes twice.
    let part = noise(71, 150_000);
    let hob = [&noise(70, 150_000)[..], &part, &part, &noise(72, 10_000)].concat();
    let bundle = testing::app_bundle(2, &hob, KEYS.signing()).unwrap();
    let disk = Kind::Dir.machine();
    let old = start(Kind::Dir, &disk, SlotName::A);
    let id = send(&old, &bundle, 1 << 20).unwrap();
    let before = old.status().unwrap().progress.unwrap();
    let file = crate::disk::Disk::open(&disk, "/root/slots/b/hob.new".as_ref(), crate::disk::Mode::Write).unwrap();
    let break_at = |places: &[u64]| places.iter().for_each(|at| file.write_at(*at, b"flipped").unwrap());
    break_at(&[70_000, 225_000, 375_000]);
    let error = old.stage(&id).unwrap_err();
    // If chunks repeat, the first look finds the broken copy, and the rest when the slot is read back.
    assert!(error.to_string().contains("storage may be failing") || matches!(error, Error::Busy(_)), "{error}");
    for _ in 0..2 {
        let plan = old.plan(&id).unwrap();
        assert!(plan.needed_bytes > 0 && plan.needed_bytes < hob.len() as u64, "{plan:?}");
        let progress = old.status().unwrap().progress.unwrap();
        assert_eq!(progress.needed - progress.received, plan.needed_bytes);
        assert_eq!(progress.needed, before.needed);
        send(&old, &bundle, 999).unwrap();
        assert_eq!(old.plan(&id).unwrap().needed_bytes, 0);
        match old.stage(&id) {
            Ok(_) => break,
            Err(error) => assert!(error.to_string().contains("storage may be failing"), "{error}"),
        }
    }
    assert_eq!(old.stage(&id).unwrap().id, id);
    assert!(disk.content("/root/slots/b/hob").unwrap() == hob);
}

#[test]
fn an_announced_key_is_trusted_until_a_release_by_another_one_withdraws_it() {
    let (next, again, public) = testing::key_twice().unwrap();
    let line = public.lines().last().unwrap().to_owned();
    let disk = Kind::Dir.machine();
    let install = |about, seed, key, running: SlotName| {
        let bundle = testing::bundle(about, &[&noise(seed, 50_000)], &[], &[key]).unwrap();
        let old = start(Kind::Dir, &disk, running);
        let id = send(&old, &bundle, 1 << 20)?;
        old.stage(&id)?;
        old.try_staged()?;
        assert_eq!(Kind::Dir.boot(&disk, false)?, running.other());
        start(Kind::Dir, &disk, running.other()).confirm().map(drop)
    };
    let mut announcing = contents(Payload::App, 2);
    announcing.next_key = Some(line);
    install(announcing, 60, KEYS.signing(), SlotName::A).unwrap();
    install(contents(Payload::App, 3), 61, next, SlotName::B).unwrap();
    let packaged = package(&disk, Version::new(1, 0, 4));
    packaged.confirm().unwrap();
    install(contents(Payload::App, 5), 62, again, SlotName::B).unwrap();
    install(contents(Payload::App, 6), 63, KEYS.signing(), SlotName::A).unwrap();
    assert!(start(Kind::Dir, &disk, SlotName::B).status().unwrap().floor == 6);
    assert_eq!(
        crate::journal::JournalFile::new(std::sync::Arc::new(disk), "/root".as_ref())
            .unwrap()
            .load()
            .unwrap()
            .unwrap()
            .announced_key,
        None
    );
}

#[test]
fn going_back_gives_an_upload_up_only_when_there_is_a_way_back() {
    let disk = Kind::Dir.machine();
    let old = start(Kind::Dir, &disk, SlotName::A);
    let plan = old.begin(head_of(new_bundle(Payload::App)).unwrap()).unwrap();
    assert!(matches!(old.rollback(), Err(Error::NotFound(_))));
    assert_eq!(old.status().unwrap().state, "writing");
    assert_eq!(old.plan(&plan.id).unwrap().needed_bytes, plan.needed_bytes);
}

#[test]
fn a_lost_record_of_the_slots_is_not_taken_for_a_person() {
    for kind in [Kind::Dir, Kind::Uboot] {
        for asked in [false, true] {
            let disk = kind.machine();
            let old = start(kind, &disk, SlotName::A);
            let id = send(&old, new_bundle(kind.payload()), 1 << 20).unwrap();
            old.stage(&id).unwrap();
            old.try_staged().unwrap();
            kind.boot(&disk, false).unwrap();
            let new = start(kind, &disk, SlotName::B);
            new.confirm().unwrap();
            let state = disk.content("/root/state.json").unwrap();
            if asked {
                new.rollback().unwrap();
                // The power fails before the journal has it.
                let text = String::from_utf8(state).unwrap();
                disk.put(
                    "/root/state.json",
                    text.replacen("\"goingBack\": false", "\"goingBack\": true", 1).as_bytes(),
                );
            } else {
                kind.slots(&disk, SlotName::B, 1).commit(SlotName::A).unwrap();
            }
            let back = start(kind, &disk, SlotName::A);
            let outcome = back.status().unwrap().last_outcome.unwrap();
            match asked {
                true => assert!(outcome.what == "rolled_back" && outcome.version == "1.0.1", "{outcome:?}"),
                false => {
                    assert!(outcome.what == "failed" && outcome.why.contains("was lost or changed"), "{outcome:?}")
                }
            }
            assert_eq!(back.status().unwrap().state, "idle");
            // The version that was confirmed is a way back.
            back.rollback().unwrap();
        }
    }
}

/// A machine on which version 1.0.2 was confirmed in slot B, after 1.0.1 in slot A; slot B does not start any more.
fn broken() -> SimDisk {
    let disk = Kind::Uboot.machine();
    let old = start(Kind::Uboot, &disk, SlotName::A);
    let id = send(&old, new_bundle(Payload::System), 1 << 20).unwrap();
    old.stage(&id).unwrap();
    old.try_staged().unwrap();
    Kind::Uboot.boot(&disk, false).unwrap();
    start(Kind::Uboot, &disk, SlotName::B).confirm().unwrap();
    disk.put("/boot/slot.why", b"b its root cannot be mounted\n");
    disk
}

#[test]
fn a_version_that_stands_in_for_one_that_does_not_start_says_why() {
    let disk = broken();
    let is_told = |updater: &Updater| {
        let outcome = updater.status().unwrap().last_outcome.unwrap();
        assert_eq!((outcome.what.as_str(), outcome.version.as_str(), outcome.tried), ("failed", "1.0.2", true));
        let why =
            "It does not start any more (its root cannot be mounted). Version 1.0.1, which was confirmed before, runs";
        assert!(outcome.why.starts_with(why), "{outcome:?}");
    };
    let first = start(Kind::Uboot, &disk, SlotName::A);
    assert_eq!(first.status().unwrap().state, "trying");
    is_told(&first);
    // The power fails before it is confirmed.
    let again = start(Kind::Uboot, &disk, SlotName::A);
    is_told(&again);
    assert_eq!(again.confirm().unwrap().version, Version::new(1, 0, 1));
    for stays in [again, start(Kind::Uboot, &disk, SlotName::A)] {
        is_told(&stays);
        let status = stays.status().unwrap();
        assert_eq!((status.state, status.trial, status.floor), ("failed", false, 2));
        assert_eq!(status.release.unwrap().version, Version::new(1, 0, 2));
        assert!(matches!(stays.rollback(), Err(Error::Busy(_))), "what does not start is no way back");
    }
    // It may be installed again.
    let repaired = start(Kind::Uboot, &disk, SlotName::A);
    let id = send(&repaired, new_bundle(Payload::System), 1 << 20).unwrap();
    repaired.stage(&id).unwrap();
    repaired.try_staged().unwrap();
    assert_eq!(Kind::Uboot.boot(&disk, false).unwrap(), SlotName::B);
    let repaired = start(Kind::Uboot, &disk, SlotName::B);
    repaired.confirm().unwrap();
    let status = repaired.status().unwrap();
    assert_eq!((status.state, status.last_outcome.unwrap().what.as_str()), ("committed", "committed"));
    repaired.rollback().unwrap();
}

#[test]
fn a_power_cut_does_not_turn_a_version_that_stands_in_into_one_that_was_installed() {
    let disk = broken();
    start(Kind::Uboot, &disk, SlotName::A);
    // Between the commit of the slots and that of the journal.
    Kind::Uboot.slots(&disk, SlotName::A, 1).commit(SlotName::A).unwrap();
    let status = start(Kind::Uboot, &disk, SlotName::A).status().unwrap();
    let outcome = status.last_outcome.unwrap();
    assert_eq!((status.state, outcome.what.as_str(), outcome.version.as_str()), ("failed", "failed", "1.0.2"));
}

#[test]
fn an_active_version_that_starts_after_all_was_not_replaced() {
    let disk = broken();
    start(Kind::Uboot, &disk, SlotName::A);
    let active = start(Kind::Uboot, &disk, SlotName::B);
    let status = active.status().unwrap();
    assert_eq!((status.state, status.trial, status.floor, status.last_outcome), ("idle", false, 2, None));
    active.rollback().unwrap();
}

#[test]
fn a_version_that_fails_while_it_stands_in_is_the_one_that_failed() {
    let disk = broken();
    let standing_in = start(Kind::Uboot, &disk, SlotName::A);
    standing_in.fail("The page did not answer.").unwrap();
    let outcome = start(Kind::Uboot, &disk, SlotName::B).status().unwrap().last_outcome.unwrap();
    assert_eq!((outcome.version.as_str(), outcome.why.as_str()), ("1.0.1", "The page did not answer."));
}
