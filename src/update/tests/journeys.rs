//! Installations from begin to end: progress, resuming, commit, fallback, rollback, floor and keys.

use super::world::{IMAGES, KEYS, KINDS, Kind, images, new_bundle, send, updater};
use crate::{
    Error, Updater,
    manifest::Payload,
    sim_disk::SimDisk,
    slots::{
        Restart, SlotName, TrialReport,
        dir::{Root, Selector},
    },
    testing::{self, contents, head_of, noise},
};
use std::sync::Arc;

fn start(kind: Kind, disk: &SimDisk, running: SlotName) -> Updater {
    updater(disk, kind.slots(disk, running, 1)).unwrap()
}

/// An updater on trial of version 1.0.2 in slot B.
fn on_trial(kind: Kind) -> (SimDisk, Updater) {
    let disk = kind.machine();
    let old = start(kind, &disk, SlotName::A);
    let id = send(&old, new_bundle(kind.payload()), 1 << 20).unwrap();
    old.stage(&id).unwrap();
    let tryboot = old.try_staged().unwrap() != Restart::Exit;
    let running = kind.boot(&disk, tryboot).unwrap();
    assert_eq!(running, SlotName::B);
    let new = updater(&disk, kind.slots(&disk, running, 2)).unwrap();
    (disk, new)
}

#[test]
fn a_bundle_is_installed_tried_and_committed() {
    for kind in KINDS {
        let (disk, new) = on_trial(kind);
        let status = new.status().unwrap();
        assert!(status.trial && status.state == "trying" && status.floor == 1, "{status:?}");
        assert_eq!(status.running.version, "1.0.2");
        assert_eq!(status.other.unwrap().version, "1.0.1");
        assert!(new.can_install().is_err() && new.begin(head_of(new_bundle(kind.payload())).unwrap()).is_err());
        new.confirm().unwrap();
        let status = new.status().unwrap();
        assert!(!status.trial && status.state == "committed" && status.floor == 2, "{status:?}");
        assert_eq!(status.last_outcome.unwrap().what, "committed");
        assert_eq!(kind.boot(&disk, false).unwrap(), SlotName::B);
        assert!(kind.content(&disk, SlotName::B, 1) == images(kind.payload(), 1));
        // A second confirmation finds nothing to confirm.
        assert!(matches!(new.confirm(), Err(Error::Busy(_))));
        // By hand one gets back; the floor stays.
        new.rollback().unwrap();
        assert_eq!(kind.boot(&disk, false).unwrap(), SlotName::A);
        let status = start(kind, &disk, SlotName::A).status().unwrap();
        assert_eq!(
            (status.state, status.floor, status.last_outcome.unwrap().what.as_str()),
            ("idle", 2, "rolled_back")
        );
    }
}

#[test]
fn a_trial_that_is_not_confirmed_falls_back_and_says_why() {
    for kind in KINDS {
        // Its health fails.
        let (disk, new) = on_trial(kind);
        new.fail("The page did not answer.").unwrap();
        assert!(new.pending_fallback().unwrap().is_some());
        assert_eq!(kind.boot(&disk, false).unwrap(), SlotName::A);
        let status = updater(&disk, kind.slots(&disk, SlotName::A, 3)).unwrap().status().unwrap();
        assert_eq!((status.state, status.floor), ("failed", 1));
        let outcome = status.last_outcome.unwrap();
        assert_eq!((outcome.why.as_str(), outcome.version.as_str()), ("The page did not answer.", "1.0.2"));
        assert!(outcome.tried);
        // It goes away without a word.
        let (disk, _) = on_trial(kind);
        assert_eq!(kind.boot(&disk, false).unwrap(), SlotName::A);
        let old = updater(&disk, kind.slots(&disk, SlotName::A, 3)).unwrap();
        let status = old.status().unwrap();
        assert_eq!((status.state, status.floor), ("failed", 1));
        let why = status.last_outcome.unwrap().why;
        assert!(why.starts_with("The new version, 1.0.2, started and was not confirmed in time"), "{kind:?}: {why}");
        // There is no way "back" into the version that failed.
        assert!(matches!(old.rollback(), Err(Error::Busy(_))));
        // It can be tried again, and nothing needs to be fetched for that.
        let plan = old.begin(head_of(new_bundle(kind.payload())).unwrap()).unwrap();
        assert_eq!(plan.needed_bytes, 0, "{kind:?}");
        old.stage(&plan.id).unwrap();
        old.try_staged().unwrap();
    }
}

#[test]
fn a_trial_that_never_ran_is_told_from_one_that_was_not_confirmed() {
    for kind in KINDS {
        let disk = kind.machine();
        // A start of its own each, by the number of the machine's start.
        let on = |slot: SlotName, number: u64| updater(&disk, kind.slots(&disk, slot, number)).unwrap();
        let told = |number: u64| {
            assert_eq!(kind.boot(&disk, false).unwrap(), SlotName::A);
            on(SlotName::A, number).status().unwrap().last_outcome.unwrap()
        };
        let tried = |number: u64| {
            let old = on(SlotName::A, number);
            let id = send(&old, new_bundle(kind.payload()), 1 << 20).unwrap();
            old.stage(&id).unwrap();
            let tryboot = old.try_staged().unwrap() != Restart::Exit;
            assert_eq!(kind.boot(&disk, tryboot).unwrap(), SlotName::B);
        };
        // The second time nothing is left of what was noted before.
        for number in [10, 20] {
            tried(number);
            assert_eq!(on(SlotName::B, number + 1).status().unwrap().state, "trying");
            let outcome = told(number + 2);
            assert!(outcome.why.contains("started and was not confirmed in time"), "{kind:?}: {outcome:?}");
            // Its kernel or its Hob never came up.
            tried(number + 3);
            let outcome = told(number + 5);
            assert!(
                outcome.why.contains("did not start, or the power failed before it was up"),
                "{kind:?}: {outcome:?}"
            );
            assert!(outcome.tried);
        }
    }
}

#[test]
fn what_the_initramfs_noted_about_a_trial_is_the_reason() {
    let kind = Kind::Uboot;
    let disk = kind.machine();
    // The note of an earlier attempt.
    disk.put("/boot/slot.why", b"b its root is empty\n");
    let old = start(kind, &disk, SlotName::A);
    let id = send(&old, new_bundle(kind.payload()), 1 << 20).unwrap();
    old.stage(&id).unwrap();
    old.try_staged().unwrap();
    assert_eq!(kind.boot(&disk, true).unwrap(), SlotName::B);
    assert_eq!(disk.content("/boot/slot.why"), None);
    disk.put("/boot/slot.why", b"b its root cannot be mounted\n");
    assert_eq!(kind.boot(&disk, false).unwrap(), SlotName::A);
    let told = start(kind, &disk, SlotName::A).status().unwrap().last_outcome.unwrap();
    assert_eq!(told.why, "The new version did not start (its root cannot be mounted). It was tried once.");
}

#[test]
fn the_supervisors_report_is_the_reason() {
    let (disk, _) = on_trial(Kind::Dir);
    let why = "The new version ended with exit code 3 before it was confirmed.";
    let report = Some(TrialReport { slot: SlotName::B, why: why.into(), at: 5, stopped: false });
    let root = Root::new(Arc::new(disk.clone()), "/root".into());
    root.set_selector(&Selector { active: SlotName::A, trial: None, report }).unwrap();
    let status = start(Kind::Dir, &disk, SlotName::A).status().unwrap();
    assert_eq!(status.last_outcome.unwrap().why, why);
}

#[test]
fn a_restart_before_the_trial_offers_it_again() {
    for kind in KINDS {
        let disk = kind.machine();
        let old = start(kind, &disk, SlotName::A);
        let id = send(&old, new_bundle(kind.payload()), 1 << 20).unwrap();
        old.stage(&id).unwrap();
        assert_eq!(old.status().unwrap().state, "staged");
        old.try_staged().unwrap();
        // The process comes back without a boot of the machine.
        let again = start(kind, &disk, SlotName::A);
        assert_eq!(again.status().unwrap().state, "staged", "{kind:?}");
        assert_eq!(kind.boot(&disk, false).unwrap(), SlotName::A);
        assert!(matches!(again.rollback(), Err(Error::Busy(_))), "what was never confirmed is no way back");
        again.discard(&id).unwrap();
        let status = again.status().unwrap();
        assert!(status.state == "idle" && status.other.is_none(), "{status:?}");
    }
}

#[test]
fn an_upload_resumes_in_any_pieces() {
    let bundle = new_bundle(Payload::App);
    let head = head_of(bundle).unwrap();
    let disk = Kind::Dir.machine();
    let old = start(Kind::Dir, &disk, SlotName::A);
    let plan = old.begin(head).unwrap();
    assert!(plan.needed_bytes > 20_000 && plan.needed_bytes < 60_000, "{plan:?}");
    assert_eq!(plan.total_bytes, bundle.len() as u64);
    assert_eq!((plan.version.as_str(), plan.notes.as_str()), ("1.0.2", "Notes of 2."));
    assert_eq!(old.begin(head).unwrap(), plan);
    let range = plan.needed[0];
    let piece = |from: u64, to: u64| &bundle[from as usize..to as usize];
    // Only begun: nothing is written, and the same piece again is fine.
    old.put(&plan.id, range.offset, piece(range.offset, range.offset + 100)).unwrap();
    old.put(&plan.id, range.offset + 50, piece(range.offset + 50, range.offset + 200)).unwrap();
    assert_eq!(old.status().unwrap().progress.unwrap().received, 200);
    // A hole, what is not needed, too much, nothing, another upload.
    for (offset, length) in
        [(range.offset + 300, 10), (0, 10), (range.offset, MAX + 1), (range.offset, 0), (1 << 40, 5)]
    {
        let error = old.put(&plan.id, offset, &vec![0; length]).unwrap_err();
        assert!(matches!(error, Error::BadRequest(_)), "{offset} {error}");
    }
    assert!(matches!(old.put("other", range.offset, b"x"), Err(Error::NotFound(_))));
    assert!(matches!(old.stage(&plan.id), Err(Error::Busy(_))));
    // Wrong bytes are refused; the right ones are taken afterwards.
    let last = plan.needed.last().unwrap();
    let length = last.length as usize;
    let error = old.put(&plan.id, last.offset, &noise(9, length)).unwrap_err();
    assert!(error.to_string().contains("damaged or exchanged"), "{error}");
    // After a restart the rest is asked for: the chunks that arrived whole are there.
    let half = &bundle[range.offset as usize..][..range.length as usize];
    for (at, piece) in half.chunks(3_000).enumerate() {
        old.put(&plan.id, range.offset + 3_000 * at as u64, piece).unwrap();
    }
    let again = start(Kind::Dir, &disk, SlotName::A);
    assert_eq!(again.status().unwrap().state, "writing");
    let rest = again.plan(&plan.id).unwrap();
    assert_eq!(rest.needed_bytes, plan.needed_bytes - range.length);
    let id = send(&again, bundle, 999).unwrap();
    again.stage(&id).unwrap();
    assert_eq!(again.stage(&id).unwrap().id, id);
    assert_eq!(disk.content("/root/slots/b/hob").unwrap(), IMAGES.hob[1]);
    assert!(disk.content("/root/incoming.head").is_none());
}

const MAX: usize = crate::MAX_PIECE;

#[test]
fn another_bundle_replaces_an_unfinished_upload() {
    let disk = Kind::Dir.machine();
    let old = start(Kind::Dir, &disk, SlotName::A);
    let first = old.begin(head_of(new_bundle(Payload::App)).unwrap()).unwrap();
    let other = testing::app_bundle(3, &noise(7, 90_000), KEYS.signing()).unwrap();
    let id = send(&old, &other, 1 << 20).unwrap();
    assert!(matches!(old.plan(&first.id), Err(Error::NotFound(_))));
    old.stage(&id).unwrap();
    assert_eq!(disk.content("/root/slots/b/hob").unwrap(), noise(7, 90_000));
    // A rollback while bytes arrive gives the upload up, and leaves the old version of that slot alone.
    let (disk, new) = on_trial(Kind::Dir);
    new.confirm().unwrap();
    new.begin(head_of(&other).unwrap()).unwrap();
    new.rollback().unwrap();
    assert_eq!(Kind::Dir.boot(&disk, false).unwrap(), SlotName::A);
    assert_eq!(disk.content("/root/slots/a/hob").unwrap(), IMAGES.hob[0]);
}

#[test]
fn a_slot_that_reads_back_wrong_is_not_staged() {
    for kind in [Kind::Dir, Kind::Uboot] {
        let disk = kind.machine();
        let old = start(kind, &disk, SlotName::A);
        let id = send(&old, new_bundle(kind.payload()), 1 << 20).unwrap();
        let file = if kind == Kind::Dir { "/root/slots/b/hob.new" } else { "/dev/x6" };
        let open = crate::disk::Disk::open(&disk, file.as_ref(), crate::disk::Mode::Write).unwrap();
        open.write_at(100_000, b"flipped").unwrap();
        // One part differs, and only that one is fetched again or copied.
        let staged = old.stage(&id);
        if let Err(error) = staged {
            assert!(error.to_string().contains("storage may be failing"), "{error}");
            assert_eq!(old.status().unwrap().state, "writing");
            send(&old, new_bundle(kind.payload()), 1 << 20).unwrap();
            old.stage(&id).unwrap();
        }
        assert!(kind.content(&disk, SlotName::B, 1) != images(kind.payload(), 0));
        let path = if kind == Kind::Dir { "/root/slots/b/hob" } else { "/dev/x6" };
        assert_eq!(disk.content(path).unwrap()[..IMAGES.hob[1].len()], IMAGES.hob[1]);
    }
}

#[test]
fn a_damaged_journal_starts_again_with_the_floor_of_the_slots() {
    let (disk, new) = on_trial(Kind::Dir);
    new.confirm().unwrap();
    disk.put("/root/state.json", b"{ not json");
    let status = start(Kind::Dir, &disk, SlotName::B).status().unwrap();
    assert_eq!((status.state, status.floor), ("idle", 2));
}

#[test]
fn a_bundle_may_announce_the_next_key() {
    let (next, again, public) = testing::key_twice().unwrap();
    let third = |key| testing::app_bundle(3, &noise(8, 50_000), key).unwrap();
    let line = public.lines().last().unwrap().to_owned();
    let mut about = contents(Payload::App, 2);
    about.next_key = Some(line);
    let second = testing::bundle(about, &[&IMAGES.hob[1]], &[], &[KEYS.signing()]).unwrap();
    let disk = Kind::Dir.machine();
    let old = start(Kind::Dir, &disk, SlotName::A);
    // Before the announcement is committed the key counts for nothing.
    let error = old.begin(head_of(&third(next)).unwrap()).unwrap_err();
    assert!(error.to_string().contains("does not trust"), "{error}");
    let id = send(&old, &second, 1 << 20).unwrap();
    old.stage(&id).unwrap();
    old.try_staged().unwrap();
    assert_eq!(Kind::Dir.boot(&disk, false).unwrap(), SlotName::B);
    let new = start(Kind::Dir, &disk, SlotName::B);
    new.confirm().unwrap();
    new.begin(head_of(&third(again)).unwrap()).unwrap();
}
